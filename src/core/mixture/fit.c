/* The fit of a mixture.
 *
 * All members are fitted to the same answers; nothing more is asked.  Bags fall into folds.  Each
 * member is fitted without each fold in turn and predicts the answers of the bags left out; the
 * weights of the members are those with which the mixture predicts these answers best (weights.c).
 * The members of the result are fitted to all bags; a forest is the mean of those of the folds.
 *
 * Trees on a GLM start from its linear predictor.  The forest that leaves a fold out starts from
 * the GLM that does, so that nothing in its predictions has seen these bags. */
#include <math.h>
#include <string.h>

#include <priorboost/curves.h>

#include "base/options.h"
#include "data/answer_error.h"
#include "data/curve.h"
#include "fit/aggregate/constant.h"
#include "fit/estimator.h"
#include "fit/predict.h"
#include "mixture/weights.h"
#include "trees/fit.h"
#include "try.h"

#define N_KINDS PBOOST_MEMBER_KINDS

/* A forest is the mean of those of the folds: more folds are better, and each costs a forest. */
#define MOST_FOLDS 10
#define LARGE_FOLDS 5 /* of a large table */
#define LARGE_ROWS 100000
#define FEWEST_BAGS (2 * LARGE_FOLDS) /* fewer cannot compare models */

#define LEAST_VARIANCE_SHARE 0.1
#define WEIGH_TURNS 4 /* of the weights and what they are found with */

typedef struct {
    const pboost_features *features; /* all columns, those of curves last */
    pboost_features straight;        /* without them */
    const pboost_columns *columns;
    const pboost_answers *answers;
    size_t first_bag, n_bags;
    const pboost_mixture_options *options;
    unsigned char *fold, folds;    /* by bag; number of them */
    double *left_out[N_KINDS];     /* by bag: what a fit without it predicts */
    double *sampling;              /* by bag: the variance of answers without noise */
    double *target, *precision;    /* by bag: the answer and 1 / V, as weights are found with */
    pboost_coef start[MOST_FOLDS]; /* the GLM that left the fold out, where trees start */
    pboost_member member[N_KINDS]; /* fitted to all bags */
    bool usable[N_KINDS];          /* fitted in every fold */
    double expected[N_KINDS];      /* weights before the answers are seen, up to a factor */
    pboost_mixture_report *report;
} mixture_fit;

static bool wanted(const mixture_fit *f, pboost_member_kind kind)
{
    return f->options->members >> kind & 1;
}

/* ---- Members with a linear predictor --------------------------------------------------------- */

/* The columns that a kind uses: a prefix of all. */
static const pboost_features *features_of(const mixture_fit *f, pboost_member_kind kind)
{
    return kind == PBOOST_MEMBER_SMOOTH ? f->features : &f->straight;
}

static pboost_fit_options options_of(const mixture_fit *f, pboost_member_kind kind)
{
    pboost_fit_options o = f->options->fit;
    o.estimator = PBOOST_AGGREGATE;
    o.curves = kind == PBOOST_MEMBER_SMOOTH ? o.curves : 0;
    o.curve_freedom = NULL;
    return o;
}

static pboost_status fit_linear(pboost_coef *coef, pboost_fit_report *report, mixture_fit *f,
                                pboost_member_kind kind, const pboost_answers *answers,
                                size_t first_bag, pboost_error *err)
{
    pboost_fit_options o = options_of(f, kind);
    const pboost_features *x = features_of(f, kind);

    if (kind == PBOOST_MEMBER_CONSTANT) {
        bag_data data = pboost_bag_data(x, answers, first_bag);
        answer_mean mean = pboost_answer_mean(&data, NULL, o.family);
        coef->intercept = pboost_constant_intercept(&data.rows, o.family, mean.nearest);
        return PBOOST_OK;
    }
    return pboost_answers_fit(coef, report, NULL, x, answers, first_bag, &o, err);
}

/* Predicts the bags of one fold, which are in `held`. */
static pboost_status predict_fold(mixture_fit *f, pboost_member_kind kind, unsigned char which,
                                  const pboost_answers *held, const pboost_coef *coef,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_features *features = features_of(f, kind);
    pboost_fit_options o = options_of(f, kind);
    fit_task task = {features, held, 0, &o, NULL};
    fit_explained e = {0};
    size_t at = 0;

    TRY(pboost_fit_explain(&e, &task, held->n_bags, coef, err));
    for (size_t b = 0; b < f->n_bags; b++)
        if (f->fold[b] == which) {
            f->left_out[kind][b] = e.at.mean[at++];
            f->usable[kind] &= isfinite(f->left_out[kind][b]);
        }
done:
    pboost_fit_explained_free(&e);
    return st;
}

/* Where trees on a GLM start in this fold; the member has the mean of these GLMs, as it has the
 * mean of the forests. */
static pboost_status start_trees(mixture_fit *f, unsigned char which, const pboost_coef *glm,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_coef *mean = &f->member[PBOOST_MEMBER_GLM_TREES].coef;

    TRY(pboost_coef_init(&f->start[which], glm->n, err));
    memcpy(f->start[which].theta, glm->theta, glm->n * sizeof *glm->theta);
    f->start[which].intercept = glm->intercept;
    for (size_t j = 0; j < glm->n; j++)
        mean->theta[j] += glm->theta[j] / f->folds;
    mean->intercept += glm->intercept / f->folds;
done:
    return st;
}

/* A member that has no solution without some fold takes no part. */
static pboost_status leave_out(mixture_fit *f, pboost_member_kind kind, unsigned char which,
                               const pboost_answers *rest, const pboost_answers *held,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_coef coef = {0};

    TRY(pboost_coef_init(&coef, features_of(f, kind)->x.cols, err));
    st = fit_linear(&coef, NULL, f, kind, rest, 0, err);
    if (st == PBOOST_BAD_DATA) {
        f->usable[kind] = false;
        st = PBOOST_OK;
        goto done;
    }
    TRY(st);
    TRY(predict_fold(f, kind, which, held, &coef, err));
    if (kind == PBOOST_MEMBER_GLM && f->usable[PBOOST_MEMBER_GLM_TREES])
        TRY(start_trees(f, which, &coef, err));
done:
    pboost_coef_free(&coef);
    return st;
}

static pboost_status run_fold(mixture_fit *f, unsigned char which, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_answers rest = {0}, held = {0};

    TRY(pboost_fold_bags(&rest, f->answers, f->first_bag, f->fold, which, false, err));
    TRY(pboost_fold_bags(&held, f->answers, f->first_bag, f->fold, which, true, err));
    for (unsigned kind = 0; kind <= PBOOST_MEMBER_SMOOTH; kind++)
        if (f->usable[kind])
            TRY(leave_out(f, (pboost_member_kind)kind, which, &rest, &held, err));
done:
    pboost_answers_clear(&rest);
    pboost_answers_clear(&held);
    return st;
}

/* Fits to all bags; theta of columns that the kind does not use is 0. */
static pboost_status fit_whole(mixture_fit *f, pboost_member_kind kind, pboost_fit_report *report,
                               pboost_error *err)
{
    pboost_coef *whole = &f->member[kind].coef;
    size_t all = f->features->x.cols;

    whole->n = features_of(f, kind)->x.cols; /* the rest stays 0 */
    pboost_status st = fit_linear(whole, report, f, kind, f->answers, f->first_bag, err);
    whole->n = all;
    return st;
}

/* The sampling variance of all bags is that of the GLM: the same for all members, so that none can
 * look better by larger variances.  Where the GLM is too sure, it is a part of that of the constant
 * model. */
static pboost_status set_sampling(mixture_fit *f, double phi, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options o = options_of(f, PBOOST_MEMBER_GLM);
    fit_task task = {&f->straight, f->answers, f->first_bag, &o, NULL};
    fit_explained e = {0}, constant = {0};
    pboost_coef coef = f->member[PBOOST_MEMBER_GLM].coef;
    pboost_coef mean = f->member[PBOOST_MEMBER_CONSTANT].coef;

    coef.n = mean.n = f->straight.x.cols;
    TRY(pboost_fit_explain(&e, &task, f->answers->n_bags, &coef, err));
    TRY(pboost_fit_explain(&constant, &task, f->answers->n_bags, &mean, err));
    for (size_t b = 0; b < f->n_bags; b++) {
        double a = fmax(e.at.variance[b], LEAST_VARIANCE_SHARE * constant.at.variance[b]);
        f->sampling[b] = phi * a;
    }
done:
    pboost_fit_explained_free(&e);
    pboost_fit_explained_free(&constant);
    return st;
}

/* ---- Trees ----------------------------------------------------------------------------------- */

static pboost_status fill_start(double *eta, void *self, size_t fold, pboost_error *err)
{
    const mixture_fit *f = self;
    pboost_samples rows = {
        .x = &f->straight.x, .n = f->straight.x.rows, .offset = f->straight.offset};
    return pboost_predict_eta(eta, &rows, &f->start[fold], f->options->fit.threads, err);
}

static pboost_status fit_trees(mixture_fit *f, pboost_member_kind kind, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_forest_options o = f->options->forest;
    pboost_forest_report report;
    pboost_member *member = &f->member[kind];
    forest_starts starts = {f, fill_start};
    double intercept;

    o.family = f->options->fit.family;
    o.threads = f->options->fit.threads;
    o.seed = f->options->fit.seed;
    o.folds = f->folds;
    o.fold = f->fold;
    o.cancel = f->options->fit.cancel;
    TRY(pboost_forest_fit_from(&member->forest, &intercept, &report, f->left_out[kind], f->columns,
                               f->features->offset,
                               kind == PBOOST_MEMBER_GLM_TREES ? &starts : NULL,
                               f->features->weight, f->answers, f->first_bag, &o, err));
    member->coef.intercept += intercept;
    f->report->member[kind].trees = report.trees;
    if (report.trees == 0) { /* it is what it starts from: the GLM takes its place */
        f->usable[kind] = false;
        if (kind == PBOOST_MEMBER_GLM_TREES)
            f->expected[PBOOST_MEMBER_GLM] += f->expected[kind];
    }
done:
    return st;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void mixture_fit_free(mixture_fit *f)
{
    for (size_t k = 0; k < N_KINDS; k++) {
        free(f->left_out[k]);
        pboost_coef_free(&f->member[k].coef);
        pboost_forest_free(&f->member[k].forest);
    }
    free(f->fold);
    for (size_t i = 0; i < MOST_FOLDS; i++)
        pboost_coef_free(&f->start[i]);
    free(f->sampling);
    free(f->target);
    free(f->precision);
}

static pboost_status mixture_fit_init(mixture_fit *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    NEED(f->fold = pboost_alloc(f->n_bags, 1), err);
    pboost_crossval_folds(f->fold, f->n_bags, f->folds, f->options->fit.seed);
    NEED(f->sampling = pboost_alloc(f->n_bags, sizeof(double)), err);
    NEED(f->target = pboost_alloc(f->n_bags, sizeof(double)), err);
    NEED(f->precision = pboost_alloc(f->n_bags, sizeof(double)), err);
    for (unsigned k = 0; k < N_KINDS; k++) {
        f->member[k].kind = (pboost_member_kind)k;
        f->expected[k] = pboost_mixture_expected[k];
        TRY(pboost_coef_init(&f->member[k].coef, f->features->x.cols, err));
        NEED(f->left_out[k] = calloc(f->n_bags, sizeof(double)), err);
        f->usable[k] = wanted(f, (pboost_member_kind)k);
    }
    f->usable[PBOOST_MEMBER_CONSTANT] = true;
    f->usable[PBOOST_MEMBER_GLM] = true; /* V and the start of trees need it */
    f->usable[PBOOST_MEMBER_SMOOTH] &= f->options->fit.curves > 0;
done:
    return st;
}

/* Fits every member that can be fitted; phi of the GLM says how large V is. */
static pboost_status fit_members(mixture_fit *f, const pboost_fit_report *glm, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(set_sampling(f, glm->dispersion, err));
    for (unsigned char which = 0; which < f->folds; which++)
        TRY(run_fold(f, which, err));
    if (f->usable[PBOOST_MEMBER_SMOOTH])
        TRY(fit_whole(f, PBOOST_MEMBER_SMOOTH, NULL, err));
    f->usable[PBOOST_MEMBER_GLM_TREES] &= f->usable[PBOOST_MEMBER_GLM];
    for (unsigned k = PBOOST_MEMBER_TREES; k < N_KINDS; k++)
        if (f->usable[k])
            TRY(fit_trees(f, (pboost_member_kind)k, err));
done:
    return st;
}

/* Answers and precisions for the weights: the working residuals of the mixture that the report has
 * (data/answer_error.h); it has none before the first turn. */
static void set_targets(mixture_fit *f, const double *const *predicted, const size_t *kind,
                        size_t n, bool first)
{
    const double *answer = f->answers->mean + f->first_bag;
    const double *noise = f->answers->noise_variance + f->first_bag;

    for (size_t b = 0; b < f->n_bags; b++) {
        answer_error error = {f->sampling[b], noise[b], !first && !f->answers->other_noise};
        double at = 0.0;
        for (size_t i = 0; i < n; i++)
            at += f->report->member[kind[i]].weight * predicted[i][b];
        working_residual w = pboost_working_residual(answer[b] - at, error);
        f->target[b] = error.laplace && noise[b] > 0.0 ? at + w.residual : answer[b];
        f->precision[b] = isfinite(w.variance) ? 1.0 / fmax(w.variance, 1e-300) : 0.0;
    }
}

/* Sets the weights and what the report says of them. */
static void weigh(mixture_fit *f)
{
    const double *predicted[N_KINDS];
    size_t kind[N_KINDS], n = 0;

    for (size_t k = 0; k < N_KINDS; k++) {
        if (!f->usable[k] || !(wanted(f, (pboost_member_kind)k) || k == PBOOST_MEMBER_CONSTANT))
            continue;
        predicted[n] = f->left_out[k];
        kind[n++] = k;
    }
    left_out_bags bags = {n, f->n_bags, predicted, f->target, f->precision};
    for (int turn = 0; turn < WEIGH_TURNS; turn++) {
        set_targets(f, predicted, kind, n, turn == 0);
        pboost_mixture_weigh(f->report, f->expected, kind, &bags);
    }
    for (size_t i = 0; i < n; i++)
        f->member[kind[i]].weight = f->report->member[kind[i]].weight;
}

/* Moves the members that have a weight. */
static pboost_status take_members(pboost_mixture *out, mixture_fit *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    NEED(out->member = calloc(N_KINDS, sizeof *out->member), err);
    for (size_t k = 0; k < N_KINDS; k++)
        if (f->member[k].weight > 0.0) {
            out->member[out->n++] = f->member[k];
            f->member[k] = (pboost_member){0};
        }
done:
    return st;
}

pboost_status pboost_mixture_fit(pboost_mixture *out, pboost_mixture_report *report,
                                 const pboost_features *features, const pboost_columns *columns,
                                 const pboost_answers *answers, size_t first_bag,
                                 const pboost_mixture_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_mixture_options own = PBOOST_MIXTURE_OPTIONS_INIT;
    pboost_fit_report glm;
    mixture_fit f = {.features = features, .straight = *features, .columns = columns};

    *out = (pboost_mixture){0};
    *report = (pboost_mixture_report){0};
    TRY(OPTIONS_READ(&own, options, PBOOST_MIXTURE_OPTIONS_INIT, err));
    TRY(pboost_answers_check_scalar(answers, "a mixture", err));
    if (first_bag >= answers->n_bags)
        FAIL(err, PBOOST_BAD_DATA, "there are no bags to fit");
    f.options = &own;
    f.report = report;
    f.answers = answers;
    f.first_bag = first_bag;
    f.n_bags = report->bags = answers->n_bags - first_bag;
    f.straight.x = pboost_matrix_first(&features->x, features->x.cols - own.fit.curves);
    f.folds = features->x.rows > LARGE_ROWS || f.n_bags < 2 * MOST_FOLDS ? LARGE_FOLDS : MOST_FOLDS;
    TRY(mixture_fit_init(&f, err));
    TRY(fit_whole(&f, PBOOST_MEMBER_CONSTANT, NULL, err));
    TRY(fit_whole(&f, PBOOST_MEMBER_GLM, &glm, err));
    report->dispersion = glm.dispersion;
    if (f.n_bags < FEWEST_BAGS || glm.mean_masked) {
        f.member[PBOOST_MEMBER_GLM].weight = report->member[PBOOST_MEMBER_GLM].weight = 1.0;
    } else {
        TRY(fit_members(&f, &glm, err));
        weigh(&f);
    }
    TRY(take_members(out, &f, err));
done:
    mixture_fit_free(&f);
    if (st != PBOOST_OK)
        pboost_mixture_free(out);
    return st;
}
