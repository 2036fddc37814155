/* The covariance of a fit of classes.
 *
 * With A the matrix of the equation (sum J'WJ + penalty) and V_B = a_B + P c_B P the covariance of
 * an answer, the estimate varies about the truth with covariance
 *
 *     A^-1 (sum J' W V W J + penalty) A^-1
 *
 * the variance of the equation, and the bias of the ridge if the penalty is the precision of the
 * prior of the weights.  Where W is the inverse of V this is A^-1.  If the model's variances are
 * not those of the answers, V is estimated by the squares of the residuals. */
#include <math.h>
#include <string.h>

#include "classes/fit.h"
#include "try.h"

#define NO_PIVOT 1e-11 /* of its diagonal entry: rounding alone */

typedef struct {
    const class_fit *fit;
    double *misfit; /* by bag: r' V^-1 r */
} meat_task;

/* v (n x n) = P diag(noise) P added: the noise of proportions whose sum is set to 1. */
static void add_noise(double *v, const double *noise, size_t n)
{
    double mean = 0.0, inverse = 1.0 / (double)n;
    for (size_t c = 0; c < n; c++)
        mean += noise[c] * inverse;
    for (size_t c = 0; c < n; c++)
        for (size_t k = 0; k < n; k++)
            v[c * n + k] += (c == k ? noise[c] : 0.0) - (noise[c] + noise[k] - mean) * inverse;
}

/* v becomes its Cholesky factor, lower triangle; 0 columns where it has no rank. */
static void factor(double *v, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        double whole = v[j * n + j], pivot = whole;
        for (size_t k = 0; k < j; k++)
            pivot -= v[j * n + k] * v[j * n + k];
        double root = pivot > NO_PIVOT * whole ? sqrt(pivot) : 0.0;
        v[j * n + j] = root;
        for (size_t i = j + 1; i < n; i++) {
            double sum = v[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= v[i * n + k] * v[j * n + k];
            v[i * n + j] = root > 0.0 ? sum / root : 0.0;
        }
    }
}

/* r' V^-1 r from the factor; r has sum 0, as the rows of V have, so the class without a pivot adds
 * nothing. */
static double squared_distance(const double *l, const double *answer, const double *mean, size_t n)
{
    double sum = 0.0, z[PBOOST_MAX_CLASSES];
    for (size_t c = 0; c < n; c++) {
        double rest = answer[c] - mean[c];
        for (size_t k = 0; k < c; k++)
            rest -= l[c * n + k] * z[k];
        z[c] = l[c * n + c] > 0.0 ? rest / l[c * n + c] : 0.0;
        sum += z[c] * z[c];
    }
    return sum;
}

/* Rows L' W J, with V = L L'. */
static size_t of_model(const void *self, double *combine, size_t bag, const double *covariance)
{
    const meat_task *task = self;
    const class_fit *fit = task->fit;
    size_t n = fit->classes;
    const double *mean = fit->point.mean + bag * n;
    double v[PBOOST_MAX_CLASSES * PBOOST_MAX_CLASSES];

    task->misfit[bag] = 0.0;
    if (!(fit->size[bag] > 0.0))
        return 0;
    memcpy(v, covariance, n * n * sizeof *v);
    if (fit->noise != NULL)
        add_noise(v, fit->noise + bag * n, n);
    factor(v, n);
    task->misfit[bag] = squared_distance(v, fit->answer + bag * n, mean, n);
    for (size_t c = 0; c < n; c++)
        for (size_t r = 0; r <= c; r++)
            combine[r * n + c] = v[c * n + r] * pboost_class_weight(fit, bag, mean[c]);
    return n;
}

void pboost_class_meat(double *meat, double *misfit, class_fit *fit)
{
    meat_task task = {fit, misfit};
    pboost_class_pass_gram(meat, NULL, &fit->pass, fit->point.parameter,
                           (class_rows){&task, of_model}, NULL);
}

/* The one row r' W J. */
static size_t of_residuals(const void *self, double *combine, size_t bag, const double *covariance)
{
    const class_fit *fit = self;
    (void)covariance;
    memcpy(combine, fit->slope + bag * fit->classes, fit->classes * sizeof *combine);
    return 1;
}

void pboost_class_scores(double *squares, class_fit *fit)
{
    pboost_class_pass_gram(squares, NULL, &fit->pass, fit->point.parameter,
                           (class_rows){fit, of_residuals}, NULL);
}

/* Both triangles of a matrix of which the lower is there. */
static void mirror(double *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            a[j * n + i] = a[i * n + j];
}

static void invert(double *inverse, const pboost_cholesky *c)
{
    size_t n = c->n;
    memset(inverse, 0, n * n * sizeof *inverse);
    for (size_t i = 0; i < n; i++) {
        inverse[i * n + i] = c->dropped[i] ? 0.0 : 1.0;
        pboost_cholesky_solve(inverse + i * n, c, inverse + i * n);
    }
    for (size_t i = 0; i < n; i++) /* equal to the last bit on both sides */
        for (size_t j = 0; j < i; j++)
            inverse[i * n + j] = inverse[j * n + i] =
                0.5 * (inverse[i * n + j] + inverse[j * n + i]);
}

/* out = a b for symmetric a and b, whose rows are their columns. */
static void multiply(double *out, const double *a, const double *b, size_t n)
{
    const glm_kernels *kernels = pboost_glm_kernels();
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            out[i * n + j] = kernels->dot(a + i * n, b + j * n, n);
}

/* Adds the penalty to m and returns tr(inverse penalty). */
static double add_penalty(double *m, const double *inverse, const class_fit *fit)
{
    size_t width = fit->pass.width, n = fit->pass.n_parameters;
    double trace = 0.0;
    for (size_t j = 0; j < width; j++)
        for (size_t a = 1; a < fit->classes; a++)
            for (size_t b = 1; b < fit->classes; b++) {
                size_t i = (a - 1) * width + j, k = (b - 1) * width + j;
                m[i * n + k] += pboost_class_penalty(fit, a, b, j);
                trace += inverse[i * n + k] * pboost_class_penalty(fit, a, b, j);
            }
    return trace;
}

/* What a vector of a class in standard units is in those of x, with the intercept last. */
static void leave_units(double *out, size_t out_step, const double *in, size_t in_step,
                        const class_fit *fit)
{
    const standard_units *u = &fit->units;
    size_t d = u->cols;
    bool intercept = fit->pass.intercept;
    double level = intercept ? in[0] : 0.0;
    for (size_t j = 0; j < d; j++) {
        double weight = u->constant[j] ? 0.0 : in[(j + intercept) * in_step] / u->scale[j];
        out[j * out_step] = weight;
        if (intercept)
            level -= weight * (u->shift[j] + u->center[j]);
    }
    out[d * out_step] = level;
}

/* work: parameters x weights. */
static void change_units(double *out, const double *standard, double *work, const class_fit *fit)
{
    size_t width = fit->pass.width, p = fit->pass.n_parameters, d = fit->pass.cols + 1;
    size_t n = pboost_class_weights(fit->classes, fit->pass.cols);
    for (size_t i = 0; i < p; i++)
        for (size_t c = 0; c + 1 < fit->classes; c++)
            leave_units(work + i * n + c * d, 1, standard + i * p + c * width, 1, fit);
    for (size_t k = 0; k < n; k++)
        for (size_t c = 0; c + 1 < fit->classes; c++)
            leave_units(out + c * d * n + k, n, work + c * width * n + k, n, fit);
    mirror(out, n);
}

pboost_status pboost_class_covariance(double *covariance, class_fit *fit, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = fit->pass.n_parameters, m = fit->n_bags, others = fit->classes - 1;
    size_t all = pboost_class_weights(fit->classes, fit->pass.cols);
    double *inverse = NULL, *meat = NULL, *work = NULL, bags = (double)m, sum = 0.0;
    meat_task task = {.fit = fit};

    NEED(inverse = pboost_alloc(n * n, sizeof *inverse), err);
    NEED(meat = pboost_alloc(n * n, sizeof *meat), err);
    NEED(work = pboost_alloc(n * all, sizeof *work), err);
    NEED(task.misfit = pboost_alloc(m, sizeof *task.misfit), err);
    invert(inverse, &fit->lm.factor);
    fit->access->meat(meat, task.misfit, fit);
    for (size_t b = 0; b < m; b++)
        sum += task.misfit[b];
    memset(work, 0, n * n * sizeof *work);
    fit->freedom = (double)fit->lm.rank - add_penalty(work, inverse, fit);
    fit->pearson = sum / fmax(bags * (double)others - fit->freedom, 1.0);
    if (covariance == NULL)
        goto done;
    if (fit->options->covariance == PBOOST_COVARIANCE_SANDWICH) {
        double left = fmax(bags - fit->freedom / (double)others, 1.0);
        fit->access->scores(meat, fit);
        for (size_t i = 0; i < n * n; i++)
            meat[i] *= bags / left;
        mirror(meat, n);
    } else {
        mirror(meat, n);
        (void)add_penalty(meat, inverse, fit);
    }
    multiply(work, inverse, meat, n); /* work = A^-1 M; its rows times A^-1 are symmetric */
    multiply(meat, work, inverse, n);
    change_units(covariance, meat, work, fit);
done:
    free(inverse);
    free(meat);
    free(work);
    free(task.misfit);
    return st;
}
