/* Mixtures for classes: constant, straight, smooth and trees, weighed by bags left out.
 *
 * As src/core/mixture for one number: all members are fitted to the same answers; each is fitted
 * without each fold of the bags in turn, and the weights are those with which the mean of the
 * members predicts the answers of the bags left out best.  An answer has a number for each class;
 * each counts with the variance mu / s of a proportion, so that the sum over the classes of a bag
 * is that of its multinomial distribution. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/options.h"
#include "classes/fit.h"
#include "data/answers.h"
#include "data/curve.h"
#include "data/matrix.h"
#include "fit/aggregate/aggregate.h"
#include "fit/estimator.h"
#include "mixture/weights.h"
#include "try.h"

enum { LINEAR_KINDS = PBOOST_MEMBER_SMOOTH + 1, KINDS = PBOOST_MEMBER_TREES + 1 };

#define FOLDS 5
#define FEWEST_BAGS (2 * FOLDS) /* fewer cannot compare models */
#define LEAST_SHARE 0.1         /* of the mean of all answers: where the GLM is too sure */

typedef struct {
    const pboost_features *features; /* all columns, those of curves last */
    pboost_features straight;        /* without them */
    const pboost_columns *columns;
    const pboost_answers *answers;
    size_t first_bag, n_bags, classes;
    const pboost_mixture_options *options;
    unsigned char *fold;                  /* by bag */
    double *left_out[KINDS];              /* by bag and class: what a fit without it predicts */
    double *precision;                    /* the same: 1 / V */
    pboost_class_coef coef[LINEAR_KINDS]; /* fitted to all bags */
    pboost_mixture trees;
    bool usable[KINDS];
    double weight[KINDS];
    pboost_mixture_report *report;
} class_mixture;

static const pboost_features *features_of(const class_mixture *f, size_t kind)
{
    return kind == PBOOST_MEMBER_SMOOTH ? f->features : &f->straight;
}

/* ---- Members with linear predictors ---------------------------------------------------------- */

/* A class that no answer has gets half a row. */
static void fit_constant(pboost_class_coef *coef, const pboost_answers *a, size_t first_bag)
{
    size_t n = coef->classes;
    double rows[PBOOST_MAX_CLASSES] = {0};
    for (size_t b = first_bag; b < a->n_bags; b++)
        for (size_t c = 0; c < n; c++)
            rows[c] += a->mean[b * n + c] * (double)(a->start[b + 1] - a->start[b]);
    for (size_t c = 0; c < n; c++)
        coef->theta[c * (coef->cols + 1) + coef->cols] =
            log(fmax(rows[c], 0.5) / fmax(rows[0], 0.5));
}

static pboost_status fit_linear(pboost_class_coef *coef, pboost_fit_report *report,
                                const class_mixture *f, size_t kind, const pboost_answers *answers,
                                size_t first_bag, pboost_error *err)
{
    pboost_fit_options o = f->options->fit;

    if (kind == PBOOST_MEMBER_CONSTANT) {
        fit_constant(coef, answers, first_bag);
        return PBOOST_OK;
    }
    o.estimator = PBOOST_AGGREGATE;
    o.curves = kind == PBOOST_MEMBER_SMOOTH ? o.curves : 0;
    return pboost_classes_fit(coef, report, NULL, features_of(f, kind), answers, first_bag, &o,
                              err);
}

/* mean, by bag and class = what coef predicts of the answers. */
static pboost_status predict_bags(double *mean, const class_mixture *f, size_t kind,
                                  const pboost_answers *a, size_t first_bag,
                                  const pboost_class_coef *coef, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = f->classes, first = a->start[first_bag];
    pboost_samples rows = {
        .x = &features_of(f, kind)->x, .row = a->row + first, .n = a->start[a->n_bags] - first};
    double *p = NULL;

    NEED(p = pboost_alloc(rows.n * n, sizeof *p), err);
    TRY(pboost_classes_predict(p, &rows, coef, f->options->fit.threads, err));
    memset(mean, 0, (a->n_bags - first_bag) * n * sizeof *mean);
    for (size_t b = first_bag; b < a->n_bags; b++)
        for (size_t i = a->start[b]; i < a->start[b + 1]; i++)
            for (size_t c = 0; c < n; c++)
                mean[(b - first_bag) * n + c] +=
                    p[(i - first) * n + c] / (double)(a->start[b + 1] - a->start[b]);
done:
    free(p);
    return st;
}

/* Starts where the fit to all bags ended, which is nearer than any other point and does not change
 * where this one ends.  A member that has no solution without some fold takes no part. */
static pboost_status leave_out(class_mixture *f, size_t kind, unsigned char which,
                               const pboost_answers *rest, const pboost_answers *held,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_class_coef *whole = &f->coef[kind];
    pboost_class_coef coef = {0};
    double *mean = NULL;
    size_t n = f->classes, at = 0;

    TRY(pboost_class_coef_init(&coef, n, whole->cols, err));
    memcpy(coef.theta, whole->theta, n * (whole->cols + 1) * sizeof *coef.theta);
    st = fit_linear(&coef, NULL, f, kind, rest, 0, err);
    if (st == PBOOST_BAD_DATA) {
        f->usable[kind] = false;
        st = PBOOST_OK;
        goto done;
    }
    TRY(st);
    NEED(mean = pboost_alloc(held->n_bags * n + 1, sizeof *mean), err);
    TRY(predict_bags(mean, f, kind, held, 0, &coef, err));
    for (size_t b = 0; b < f->n_bags; b++)
        if (f->fold[b] == which)
            memcpy(f->left_out[kind] + b * n, mean + n * at++, n * sizeof *mean);
done:
    pboost_class_coef_free(&coef);
    free(mean);
    return st;
}

static pboost_status run_fold(class_mixture *f, unsigned char which, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_answers rest = {0}, held = {0};

    TRY(pboost_fold_bags(&rest, f->answers, f->first_bag, f->fold, which, false, err));
    TRY(pboost_fold_bags(&held, f->answers, f->first_bag, f->fold, which, true, err));
    for (size_t kind = 0; kind < LINEAR_KINDS; kind++)
        if (f->usable[kind])
            TRY(leave_out(f, kind, which, &rest, &held, err));
done:
    pboost_answers_clear(&rest);
    pboost_answers_clear(&held);
    return st;
}

/* V is that of the GLM, the same for all members, so that none can look better by larger variances.
 */
static pboost_status set_precision(class_mixture *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_answers *a = f->answers;
    size_t n = f->classes;
    double *constant = NULL;

    NEED(constant = pboost_alloc(f->n_bags * n, sizeof *constant), err);
    TRY(predict_bags(f->precision, f, PBOOST_MEMBER_GLM, a, f->first_bag,
                     &f->coef[PBOOST_MEMBER_GLM], err));
    TRY(predict_bags(constant, f, PBOOST_MEMBER_CONSTANT, a, f->first_bag,
                     &f->coef[PBOOST_MEMBER_CONSTANT], err));
    for (size_t i = 0; i < f->n_bags * n; i++) {
        size_t b = f->first_bag + i / n;
        double rows = (double)(a->start[b + 1] - a->start[b]);
        double mean = fmax(f->precision[i], LEAST_SHARE * constant[i]);
        f->precision[i] = 1.0 / (mean / rows + a->noise_variance[f->first_bag * n + i]);
    }
done:
    free(constant);
    return st;
}

/* ---- Trees ----------------------------------------------------------------------------------- */

static pboost_status fit_trees(class_mixture *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_forest_options o = f->options->forest;
    pboost_forest_report *report = NULL;
    size_t trees = 0;

    o.threads = f->options->fit.threads;
    o.seed = f->options->fit.seed;
    o.cancel = f->options->fit.cancel;
    o.folds = FOLDS;
    o.fold = f->fold;
    NEED(report = calloc(f->classes, sizeof *report), err);
    TRY(pboost_class_forests(&f->trees, report, f->left_out[PBOOST_MEMBER_TREES], f->columns,
                             f->features->x.cols, f->features->weight, f->answers, f->first_bag, &o,
                             err));
    for (size_t c = 0; c < f->classes; c++)
        trees += f->trees.member[c].forest.n_trees;
    f->report->member[PBOOST_MEMBER_TREES].trees = trees;
    f->usable[PBOOST_MEMBER_TREES] = trees > 0; /* without any it is the constant model */
done:
    free(report);
    return st;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void class_mixture_free(class_mixture *f)
{
    for (size_t k = 0; k < KINDS; k++)
        free(f->left_out[k]);
    for (size_t k = 0; k < LINEAR_KINDS; k++)
        pboost_class_coef_free(&f->coef[k]);
    pboost_mixture_free(&f->trees);
    free(f->fold);
    free(f->precision);
}

/* Smooth takes no part if it would have more weights than a fit takes. */
static pboost_status class_mixture_init(class_mixture *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t cols = f->features->x.cols;

    NEED(f->fold = pboost_alloc(f->n_bags, 1), err);
    pboost_crossval_folds(f->fold, f->n_bags, FOLDS, f->options->fit.seed);
    NEED(f->precision = pboost_alloc(f->n_bags * f->classes, sizeof(double)), err);
    for (size_t k = 0; k < KINDS; k++) {
        f->usable[k] = f->options->members >> k & 1;
        NEED(f->left_out[k] = calloc(f->n_bags * f->classes, sizeof(double)), err);
    }
    f->usable[PBOOST_MEMBER_CONSTANT] = f->usable[PBOOST_MEMBER_GLM] = true;
    f->usable[PBOOST_MEMBER_SMOOTH] &=
        f->options->fit.curves > 0 &&
        pboost_class_weights(f->classes, cols) <= PBOOST_MAX_CLASS_WEIGHTS;
    for (size_t k = 0; k < LINEAR_KINDS; k++)
        TRY(pboost_class_coef_init(&f->coef[k], f->classes, features_of(f, k)->x.cols, err));
done:
    return st;
}

static pboost_status fit_members(class_mixture *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(set_precision(f, err));
    if (f->usable[PBOOST_MEMBER_SMOOTH])
        TRY(fit_linear(&f->coef[PBOOST_MEMBER_SMOOTH], NULL, f, PBOOST_MEMBER_SMOOTH, f->answers,
                       f->first_bag, err));
    for (unsigned char which = 0; which < FOLDS; which++)
        TRY(run_fold(f, which, err));
    if (f->usable[PBOOST_MEMBER_TREES])
        TRY(fit_trees(f, err));
done:
    return st;
}

/* Sets the weights and what the report says of them. */
static void weigh(class_mixture *f)
{
    const double *predicted[KINDS], *answer = f->answers->mean + f->first_bag * f->classes;
    size_t kind[KINDS], n = 0;

    for (size_t k = 0; k < KINDS; k++)
        if (f->usable[k] && (k == PBOOST_MEMBER_CONSTANT || f->options->members >> k & 1)) {
            predicted[n] = f->left_out[k];
            kind[n++] = k;
        }
    left_out_bags numbers = {n, f->n_bags * f->classes, predicted, answer, f->precision};
    pboost_mixture_weigh(f->report, pboost_mixture_expected, kind, &numbers);
    for (size_t i = 0; i < n; i++)
        f->weight[kind[i]] = f->report->member[kind[i]].weight;
}

/* The log odds of a class against all others in the constant model: its members are like those of
 * trees. */
static double against_others(const pboost_class_coef *coef, size_t class)
{
    size_t width = coef->cols + 1;
    const double *intercept = coef->theta + coef->cols;
    double others = 0.0;
    for (size_t c = 0; c < coef->classes; c++)
        others += c == class ? 0.0 : exp(intercept[c * width] - intercept[class * width]);
    return -log(fmax(others, DBL_MIN)); /* finite for a class that all rows have */
}

/* The members of a kind, one for each class. */
static pboost_status take_kind(pboost_mixture *out, class_mixture *f, size_t kind,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t cols = f->features->x.cols;

    for (size_t c = 0; c < f->classes; c++) {
        pboost_member *m = &out->member[out->n++];
        if (kind == PBOOST_MEMBER_TREES) {
            *m = f->trees.member[c];
            f->trees.member[c] = (pboost_member){0};
        } else {
            const pboost_class_coef *coef = &f->coef[kind];
            const double *theta = coef->theta + c * (coef->cols + 1);
            m->kind = (pboost_member_kind)kind;
            TRY(pboost_coef_init(&m->coef, cols, err)); /* 0 for columns that it does not use */
            memcpy(m->coef.theta, theta, coef->cols * sizeof *theta);
            m->coef.intercept =
                kind == PBOOST_MEMBER_CONSTANT ? against_others(coef, c) : theta[coef->cols];
        }
        m->weight = f->weight[kind] / (double)f->classes;
    }
done:
    return st;
}

pboost_status pboost_classes_fit_mixture(pboost_mixture *out, pboost_mixture_report *report,
                                         const pboost_features *features,
                                         const pboost_columns *columns,
                                         const pboost_answers *answers, size_t first_bag,
                                         const pboost_mixture_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_mixture_options own = PBOOST_MIXTURE_OPTIONS_INIT;
    pboost_fit_report glm;
    class_mixture f = {.features = features, .straight = *features, .columns = columns};

    *out = (pboost_mixture){0};
    *report = (pboost_mixture_report){0};
    TRY(OPTIONS_READ(&own, options, PBOOST_MIXTURE_OPTIONS_INIT, err));
    f.classes = pboost_answers_width(answers);
    if (f.classes < 3 || f.classes > PBOOST_MAX_CLASSES)
        FAIL(err, PBOOST_INVALID, "the answers have %zu numbers a bag; classes are 3 to %d",
             f.classes, PBOOST_MAX_CLASSES);
    if (first_bag >= answers->n_bags)
        FAIL(err, PBOOST_BAD_DATA, "there are no bags to fit");
    TRY(pboost_fit_curves_check(&own.fit, features->x.cols, err));
    f.options = &own;
    f.report = report;
    f.answers = answers;
    f.first_bag = first_bag;
    f.n_bags = report->bags = answers->n_bags - first_bag;
    f.straight.x = pboost_matrix_first(&features->x, features->x.cols - own.fit.curves);
    TRY(class_mixture_init(&f, err));
    fit_constant(&f.coef[PBOOST_MEMBER_CONSTANT], answers, first_bag);
    TRY(fit_linear(&f.coef[PBOOST_MEMBER_GLM], &glm, &f, PBOOST_MEMBER_GLM, answers, first_bag,
                   err));
    report->dispersion = glm.pearson;
    if (f.n_bags < FEWEST_BAGS) {
        f.weight[PBOOST_MEMBER_GLM] = report->member[PBOOST_MEMBER_GLM].weight = 1.0;
    } else {
        TRY(fit_members(&f, err));
        weigh(&f);
    }
    NEED(out->member = calloc(KINDS * f.classes, sizeof *out->member), err);
    for (size_t kind = 0; kind < KINDS; kind++)
        if (f.weight[kind] > 0.0)
            TRY(take_kind(out, &f, kind, err));
done:
    class_mixture_free(&f);
    if (st != PBOOST_OK)
        pboost_mixture_free(out);
    return st;
}

/* ---- Predictions ----------------------------------------------------------------------------- */

/* Its classes share a softmax; those of trees and constants are divided by their sum. */
static bool is_linear(const pboost_member *member)
{
    return member->kind == PBOOST_MEMBER_GLM || member->kind == PBOOST_MEMBER_SMOOTH;
}

/* The members of one kind: the weights of classes as a fit has them. */
static pboost_status predict_linear(double *probability, const pboost_samples *samples,
                                    const pboost_member *member, size_t classes, int threads,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_class_coef coef = {0};
    size_t cols = member[0].coef.n;

    TRY(pboost_class_coef_init(&coef, classes, cols, err));
    for (size_t c = 0; c < classes; c++) {
        if (member[c].coef.n != cols)
            FAIL(err, PBOOST_INVALID, "a class has %zu weights, another %zu", member[c].coef.n,
                 cols);
        memcpy(coef.theta + c * (cols + 1), member[c].coef.theta, cols * sizeof(double));
        coef.theta[c * (cols + 1) + cols] = member[c].coef.intercept;
    }
    TRY(pboost_classes_predict(probability, samples, &coef, threads, err));
done:
    pboost_class_coef_free(&coef);
    return st;
}

pboost_status pboost_classes_check_mixture(const pboost_mixture *mixture, size_t classes,
                                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (classes == 0 || mixture->n == 0 || mixture->n % classes != 0)
        FAIL(err, PBOOST_BAD_DATA,
             "the model has %zu members and %zu classes; each kind of member must have one for "
             "each class",
             mixture->n, classes);
    for (size_t i = 0; i < mixture->n; i++) {
        const pboost_member *m = &mixture->member[i], *first = m - i % classes;
        if (m->kind == PBOOST_MEMBER_GLM_TREES || is_linear(m) != is_linear(first) ||
            m->weight != first->weight)
            FAIL(err, PBOOST_BAD_DATA,
                 "member %zu is of the kind '%s' with weight %g, member %zu of '%s' with %g; the "
                 "classes of a kind must be of it (glm, smooth, or trees and constant), with one "
                 "weight",
                 i + 1, pboost_member_kind_name(m->kind), m->weight, i - i % classes + 1,
                 pboost_member_kind_name(first->kind), first->weight);
    }
done:
    return st;
}

pboost_status pboost_classes_predict_mixture(double *probability, const pboost_mixture *mixture,
                                             size_t classes, const pboost_samples *samples,
                                             const pboost_columns *columns, int threads,
                                             pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t cells;
    double *p = NULL;

    TRY(pboost_classes_check_mixture(mixture, classes, err));
    if (__builtin_mul_overflow(samples->n, classes, &cells))
        cells = SIZE_MAX;
    NEED(p = pboost_alloc(cells, sizeof *p), err);
    memset(probability, 0, cells * sizeof *probability);
    for (size_t i = 0; i < mixture->n; i += classes) {
        const pboost_member *member = &mixture->member[i];
        pboost_mixture kind = {classes, mixture->member + i};
        TRY(is_linear(member) ? predict_linear(p, samples, member, classes, threads, err)
                              : pboost_classes_predict_trees(p, &kind, columns, samples->row,
                                                             samples->n, threads, err));
        double weight = mixture->n == classes ? 1.0 : (double)classes * member->weight;
        for (size_t j = 0; j < cells; j++)
            probability[j] += weight * p[j];
    }
done:
    free(p);
    return st;
}
