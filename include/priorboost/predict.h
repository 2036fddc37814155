/* priorboost/predict.h — what a model predicts, how good it is, and whether it may be used.
 * Conventions are those of core.h. */
#ifndef PRIORBOOST_PREDICT_H
#define PRIORBOOST_PREDICT_H

#include <priorboost/core.h>

PBOOST_BEGIN

/* mean[i] = b'(x_i theta + intercept + offset_i), the predicted response of sample i.  It is
 * infinite where it overflows.  Weights that are not finite are refused (PBOOST_BAD_DATA), and so
 * is a linear predictor that is NaN because its terms overflow in both directions. */
pboost_status pboost_predict(double *mean, pboost_family family, const pboost_samples *samples,
                             const pboost_coef *coef, int threads, pboost_error *err);

/* The confidence interval of the mean response of each sample, given the covariance of the
 * coefficients: b' of the ends of the interval of the linear predictor. */
pboost_status pboost_predict_interval(double *lower, double *upper, pboost_family family,
                                      const pboost_samples *samples, const pboost_coef *coef,
                                      const double *covariance, double level, int threads,
                                      pboost_error *err);

/* loss[j] = mean loss of coef[j] on the samples: squared error, log loss, or mu - y log mu.
 * One pass over the samples serves all models. */
pboost_status pboost_losses(double *loss, pboost_family family, const pboost_samples *samples,
                            const pboost_coef *coef, size_t n_coef, int threads, pboost_error *err);

typedef struct pboost_measure {
    const char *name; /* such as "r2" or "auc" */
    double value;     /* NaN where it is not defined */
} pboost_measure;

#define PBOOST_MAX_MEASURES 8

/* How well predicted means fit labels: `loss` first, then the family's usual measures. */
typedef struct pboost_evaluation {
    size_t rows, n_measures;
    pboost_measure measure[PBOOST_MAX_MEASURES];
} pboost_evaluation;

pboost_status pboost_evaluate(pboost_evaluation *out, pboost_family family,
                              const pboost_samples *samples, const pboost_coef *coef, int threads,
                              pboost_error *err);

/* The same where samples come in blocks, of which only the linear predictors are kept (logistic: 8
 * bytes a sample), or means and labels (others: 16 bytes).  Weights come with every block or with
 * none. */
typedef struct pboost_evaluator pboost_evaluator;

pboost_status pboost_evaluator_create(pboost_evaluator **out, pboost_family family,
                                      pboost_error *err);
/* After a failure the evaluator can only be freed. */
pboost_status pboost_evaluator_add(pboost_evaluator *evaluator, const pboost_samples *samples,
                                   const pboost_coef *coef, int threads, pboost_error *err);
/* The same from the predicted means of samples, of any model; x of samples is not used. */
pboost_status pboost_evaluator_add_means(pboost_evaluator *evaluator, const pboost_samples *samples,
                                         const double *mean, pboost_error *err);
pboost_status pboost_evaluator_finish(pboost_evaluation *out, pboost_evaluator *evaluator,
                                      pboost_error *err);
void pboost_evaluator_free(pboost_evaluator *evaluator);

/* Whether predicted means are right on average where they are small, and where they are large:
 * samples in the order of their means, cut into groups of about as many each.  Samples with equal
 * means are in one group. */
typedef struct pboost_reliability {
    size_t rows;
    double predicted, observed; /* mean prediction, mean label */
    double error;               /* standard error of the latter; NaN for one row */
} pboost_reliability;

#define PBOOST_MAX_GROUPS 20

typedef struct pboost_calibration {
    double ratio;          /* sum of the predictions over the sum of the labels; NaN: that is 0 */
    double expected_error; /* mean over the rows of |predicted - observed| of their group */
    size_t n_groups;
    pboost_reliability group[PBOOST_MAX_GROUPS];
} pboost_calibration;

pboost_status pboost_calibrate(pboost_calibration *out, const double *mean, const double *label,
                               size_t n, size_t groups, pboost_error *err);
/* The same of the samples of an evaluator; no groups if a mean is not finite. */
pboost_status pboost_evaluator_calibrate(pboost_calibration *out, pboost_evaluator *evaluator,
                                         size_t groups, pboost_error *err);

/* The warnings about a fit. */
typedef enum pboost_warning_kind {
    /* The first three say that the fit must not be used: */
    PBOOST_WARNING_CONVERGENCE, /* it did not converge */
    PBOOST_WARNING_FINITE,      /* a weight is not a finite number */
    PBOOST_WARNING_CONSTANT,    /* a constant model explains its answers better */
    PBOOST_WARNING_RANK,        /* a column adds nothing */
    PBOOST_WARNING_SEPARABLE,   /* only the penalty limits the weights */
    PBOOST_WARNING_DISPERSION,  /* noise masks the dispersion */
    PBOOST_WARNING_INTERVALS,   /* intervals are too short */
    PBOOST_WARNING_MEAN,        /* noise masks even the mean */
    PBOOST_WARNING_FREEDOM,     /* the answers say almost nothing about the weights */
    PBOOST_WARNING_BAGS,        /* too few bags for the parameters */
    PBOOST_WARNING_FORM,        /* bag residuals are larger than the model predicts */
    PBOOST_WARNING_ONE_ROW      /* the answer of a bag that was given is a label */
} pboost_warning_kind;

#define PBOOST_MAX_WARNINGS 12 /* at most one of each kind */

typedef struct pboost_warning {
    pboost_warning_kind kind;
    char text[300]; /* one line, for people */
} pboost_warning;

/* A fit, and the names that messages use.  All is borrowed. */
typedef struct pboost_fitted {
    const pboost_fit_report *report;
    const pboost_fit_options *options;
    const pboost_matrix *x;
    const pboost_coef *coef;   /* in the units of x */
    size_t one_row_bags;       /* among those that were given */
    const char *const *column; /* names of the columns; NULL: x0, x1, ... */
    /* The options for bags from features and for the sandwich covariance; NULL: their names in C.
     */
    const char *feature_bags, *sandwich;
} pboost_fitted;

/* Returns how many warnings there are; out, if not NULL, has room for PBOOST_MAX_WARNINGS. */
size_t pboost_warnings(pboost_warning *out, const pboost_fitted *fit);

/* Whether the fit may be used.  If not, the first of its warnings says why.  Only the report and
 * coef of the fit are used. */
bool pboost_fit_usable(const pboost_fitted *fit);

PBOOST_END

#endif
