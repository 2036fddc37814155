/* Multinomial logistic regression from the proportions of bags.
 *
 * For any bags, E[answer] = mu_B(theta), a vector with an entry for each class, and Cov[answer] =
 * a_B + c_B P, where c_B is the variance of the noise in one proportion and P takes the mean off:
 * the proportions that the model predicts have sum 1, so the part of the noise that changes the sum
 * is known and removed from the answers.  The equation
 *
 *     sum_B J_B' diag(n_B / (mu_B + l_B)) (answer_B - mu_B) - penalty theta = 0
 *
 * has expectation 0 at the truth (except for the penalty).  n_B is the size of the bag: its number
 * of rows where they all have the same probabilities, and otherwise what makes diag(mu)/n agree
 * with a_B on average over the classes; l_B = n_B c_B is the noise.  Without noise and with equal
 * rows its weights are the inverse of the covariance, up to a direction in which nothing varies; in
 * general they are near it, and covariance.c computes what that costs.  With sizes frozen it is the
 * gradient of
 *
 *     sum_B n_B sum_c (answer + l_B) log(mu + l_B) - penalty
 *
 * which is a likelihood, so that Levenberg-Marquardt finds its maximum from any start, rare classes
 * included.  The sizes are refreshed until a refresh changes nothing.  Bags of one row have size 1:
 * the event estimator is the same fit with every row a bag, its answer that of the row's bag. */
#include "classes/fit.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "data/fit_options.h"
#include "try.h"

#define INNER_STEPS 10
#define STEPS_A_STEP 5
#define INNER_SLACK 1e-2
#define ENOUGH_REFRESHES 25
#define NEAR 1e-3
#define FULL_REFRESHES                                                                             \
    8                     /* of the sizes; later ones move them partly (see fit/aggregate/quasi.c) \
                           */
#define LEAST_MEAN 1e-300 /* of a class whose exponential underflows */
#define PRIOR_SPREAD 4.0  /* variance of the log odds of two classes that the ridge expects */
#define LEVEL_SPREAD 25.0 /* the same of an intercept about that of the constant model */
#define ROUNDING 1e-14

/* ---- The quasi-likelihood with sizes frozen -------------------------------------------------- */

double pboost_class_weight(const class_fit *fit, size_t bag, double mean)
{
    return fit->size[bag] / fmax(mean + fit->blur[bag], LEAST_MEAN);
}

double pboost_class_penalty_at(const class_fit *fit, const double *x)
{
    size_t width = fit->pass.width;
    double sum = 0.0;
    for (size_t j = 0; j < width; j++)
        for (size_t a = 1; a < fit->classes; a++)
            for (size_t b = 1; b < fit->classes; b++) {
                size_t i = (a - 1) * width + j, k = (b - 1) * width + j;
                sum += pboost_class_penalty(fit, a, b, j) * (x[i] - fit->start[i]) *
                       (x[k] - fit->start[k]);
            }
    return 0.5 * sum;
}

/* Half the deviance of the answers.  The constant that makes it 0 where a mean is its answer keeps
 * the value, and so what counts as converged, of the size of what the fit can change. */
double pboost_class_loss(const class_fit *fit, const double *mean)
{
    size_t n = fit->classes;
    double sum = 0.0;
    for (size_t b = 0; b < fit->pass.n_bags; b++)
        for (size_t i = b * n; fit->size[b] > 0.0 && i < (b + 1) * n; i++) {
            double y = fit->answer[i] + fit->blur[b];
            double to = fmax(mean[i] + fit->blur[b], LEAST_MEAN);
            sum += fit->size[b] * (y > 0.0 ? y * log(y / to) : -y * log(to));
        }
    return sum;
}

static double attempt(void *self, const double *x)
{
    class_fit *fit = self;
    fit->access->run(&fit->trial, fit, x);
    double value = pboost_class_loss(fit, fit->trial.mean) + pboost_class_penalty_at(fit, x);
    return isfinite(value) ? value : INFINITY;
}

void pboost_class_set_slopes(class_fit *fit)
{
    size_t n = fit->classes;
    for (size_t b = 0; b < fit->pass.n_bags; b++)
        for (size_t i = b * n; i < (b + 1) * n; i++)
            fit->slope[i] = (fit->answer[i] - fit->point.mean[i]) *
                            pboost_class_weight(fit, b, fit->point.mean[i]);
}

static void accept(void *self)
{
    class_fit *fit = self;
    class_moments old = fit->point;
    fit->point = fit->trial;
    fit->trial = old;
    pboost_class_set_slopes(fit);
}

/* Rows of J times the roots of the weights. */
static size_t weigh(const void *self, double *combine, size_t bag, const double *covariance)
{
    const class_fit *fit = self;
    size_t n = fit->classes;
    (void)covariance;
    for (size_t c = 0; c < n; c++)
        combine[c * n + c] = sqrt(pboost_class_weight(fit, bag, fit->point.mean[bag * n + c]));
    return fit->size[bag] > 0.0 ? n : 0;
}

static void local_run(class_moments *out, class_fit *fit, const double *parameter)
{
    pboost_class_pass_run(out, &fit->pass, parameter);
}

static void local_gram(double *gram, double *vector, class_fit *fit)
{
    pboost_class_pass_gram(gram, vector, &fit->pass, fit->point.parameter, (class_rows){fit, weigh},
                           fit->slope);
}

const class_access PBOOST_CLASS_LOCAL = {local_run, local_gram, pboost_class_meat,
                                         pboost_class_scores};

void pboost_class_penalise(double *gradient, double *matrix, const class_fit *fit, const double *x)
{
    size_t width = fit->pass.width, n = fit->pass.n_parameters;
    for (size_t j = 0; j < width; j++)
        for (size_t a = 1; a < fit->classes; a++)
            for (size_t b = 1; b < fit->classes; b++) {
                size_t i = (a - 1) * width + j, k = (b - 1) * width + j;
                double p = pboost_class_penalty(fit, a, b, j);
                gradient[i] += p * (x[k] - fit->start[k]);
                if (k <= i)
                    matrix[i * n + k] += p;
            }
}

static double here(void *self, const double *x, double *gradient, double *matrix)
{
    class_fit *fit = self;
    fit->access->gram(matrix, gradient, fit);
    for (size_t i = 0; i < fit->pass.n_parameters; i++)
        gradient[i] = -gradient[i];
    pboost_class_penalise(gradient, matrix, fit, x);
    return pboost_class_loss(fit, fit->point.mean) + pboost_class_penalty_at(fit, x);
}

double pboost_class_rounding(const class_fit *fit)
{
    double sum = 0.0;
    for (size_t i = 0; i < fit->pass.n_bags * fit->classes; i++)
        sum += fabs(fit->slope[i]) * ROUNDING * fit->point.mean[i];
    return sum;
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

/* n_B with sum over classes of a_cc / mu_c = (C - 1) / n_B; 0: the bag has infinite variance. */
static double bag_size(const class_fit *fit, size_t bag)
{
    size_t n = fit->classes;
    const double *mean = fit->point.mean + bag * n, *variance = fit->point.variance + bag * n;
    double rows = (double)(fit->pass.start[bag + 1] - fit->pass.start[bag]), sum = 0.0;
    for (size_t c = 0; c < n; c++)
        sum += mean[c] > LEAST_MEAN ? variance[c] / mean[c] : 0.0;
    if (isinf(sum))
        return 0.0;
    return sum > LEAST_MEAN ? (double)(n - 1) / sum : rows;
}

static void refresh_sizes(class_fit *fit, size_t refreshes)
{
    size_t shorter = (refreshes - 1) / FULL_REFRESHES;
    double part = 1.0 / (1.0 + (double)shorter);
    size_t n = fit->classes;
    for (size_t b = 0; b < fit->pass.n_bags; b++) {
        double size = bag_size(fit, b), noise = 0.0;
        for (size_t c = 0; fit->noise != NULL && c < n; c++)
            noise += fit->noise[b * n + c] / (double)n;
        fit->size[b] = part < 1.0 ? pow(fit->size[b], 1.0 - part) * pow(size, part) : size;
        fit->blur[b] = fit->size[b] * noise;
    }
    pboost_class_set_slopes(fit);
}

static double freeze_here(void *self, size_t refreshes)
{
    refresh_sizes(self, refreshes);
    return pboost_class_rounding(self);
}

/* ---- Solving --------------------------------------------------------------------------------- */

static double move_to(class_fit *fit, const double *x)
{
    fit->access->run(&fit->point, fit, x);
    return pboost_class_loss(fit, fit->point.mean);
}

/* The rows of a class according to the answers; a class that none has gets half a row. */
static double class_rows_in(const class_fit *fit, size_t class)
{
    const size_t *start = fit->pass.start;
    double sum = 0.0;
    for (size_t b = 0; b < fit->pass.n_bags; b++)
        sum += fit->answer[b * fit->classes + class] * (double)(start[b + 1] - start[b]);
    return fmax(sum, 0.5);
}

void pboost_class_set_start(class_fit *fit)
{
    double base = class_rows_in(fit, 0);
    memset(fit->start, 0, fit->pass.n_parameters * sizeof *fit->start);
    for (size_t c = 1; fit->pass.intercept && c < fit->classes; c++)
        fit->start[(c - 1) * fit->pass.width] = log(class_rows_in(fit, c) / base);
}

/* Starts from the constant model or, where that explains the answers better, from coef. */
static void start(class_fit *fit, const pboost_class_coef *coef)
{
    size_t bytes = fit->pass.n_parameters * sizeof *fit->start;
    pboost_class_set_start(fit);
    memcpy(fit->parameter, fit->start, bytes);
    (void)move_to(fit, fit->parameter);
    refresh_sizes(fit, 1);
    double constant = pboost_class_loss(fit, fit->point.mean);
    if (pboost_is_zero(coef->theta, coef->classes * (coef->cols + 1)))
        return;
    pboost_class_enter(fit->lm.trial, fit, coef);
    if (move_to(fit, fit->lm.trial) < constant)
        memcpy(fit->parameter, fit->lm.trial, bytes);
    else
        (void)move_to(fit, fit->parameter);
}

/* The usual lambda, as for a logistic model: the weights of standardised features share the
 * variance that the log odds of two classes are expected to have. */
double pboost_class_set_penalty(class_fit *fit)
{
    const pboost_fit_options *o = fit->options;
    bool event = o->estimator == PBOOST_EVENT;
    pboost_l2 l2 = event && o->l2.mode == PBOOST_L2_AUTO ? pboost_l2_fixed(1.0) : o->l2;
    double usual = (double)(fit->pass.cols - o->curves) / PRIOR_SPREAD;
    fit->penalty[0] = 1.0 / LEVEL_SPREAD;
    fit->given = l2.mode == PBOOST_L2_FIXED || fit->multiple > 0.0;
    if (fit->given) {
        fit->lambda = pboost_l2_or(l2, fit->multiple * usual);
        pboost_units_penalty(fit->penalty + fit->pass.intercept, &fit->units, l2, fit->lambda);
    }
    pboost_class_ridges_start(fit, usual);
    return usual;
}

pboost_status pboost_class_minimise(class_fit *fit, pboost_fit_report *report,
                                    const levenberg_problem *problem,
                                    double (*freeze)(void *self, size_t refreshes), double usual,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    levenberg_report last = {0};
    const pboost_fit_options *o = fit->options;
    size_t most = o->max_iterations * STEPS_A_STEP;

    for (size_t refreshes = 1;; refreshes++) {
        double rounding = freeze(problem->self, refreshes);
        size_t left = most - report->iterations;
        levenberg_options options = {.max_steps = left < INNER_STEPS ? left : INNER_STEPS,
                                     .tolerance = o->tolerance,
                                     .slack = INNER_SLACK,
                                     .rounding = rounding,
                                     .cancel = o->cancel};
        pboost_levenberg(fit->parameter, &last, &fit->lm, problem, &options, fit->lambda == 0.0);
        TRY(pboost_cancel_check(o->cancel, err));
        report->iterations += last.steps;
        bool near = refreshes >= ENOUGH_REFRESHES && last.first <= NEAR * NEAR;
        bool settled = fit->ridges_settled;
        pboost_class_ridges_refresh(fit, usual);
        report->converged = settled && (near || (last.converged && last.steps == 0));
        if (report->converged || report->iterations >= most || refreshes >= most ||
            (settled && last.stuck && last.steps == 0))
            break;
    }
    report->objective = last.value;
    report->gradient_norm = last.gradient_norm;
done:
    return st;
}

pboost_status pboost_class_solve(class_fit *fit, pboost_fit_report *report,
                                 const pboost_class_coef *coef, pboost_error *err)
{
    levenberg_problem problem = {fit->pass.n_parameters, fit, attempt, accept, here};
    double usual = pboost_class_set_penalty(fit);
    start(fit, coef);
    return pboost_class_minimise(fit, report, &problem, freeze_here, usual, err);
}
