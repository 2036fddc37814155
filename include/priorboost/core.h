/* priorboost/core.h — train a generalised linear model, as a C library.
 *
 * A label holder answers only with the mean response of bags of at least k rows, and uses each
 * label in one answer only.  A learner has the features of those rows and wants a model of
 * individuals.  This header serves both parties: it has an oracle that enforces the rules, and a
 * run that chooses the bags and fits the answers.  predict.h uses and evaluates the model.
 * trainer.h has the parts of a run, for your own bags, answers or models.
 *
 * Conventions
 *   - Every call that can fail returns pboost_status and takes a caller-owned pboost_error last,
 *     which may be NULL.  On failure outputs are empty and safe to free, inputs are as they were,
 *     and the call may be repeated.  Calls that change an object say below what is left of it.
 *   - Options and rules are plain structs that start from their _INIT macro, which sets their
 *     struct_size.  A smaller struct_size, that of an older header, is accepted: fields beyond it
 *     have their defaults.  A larger one is refused.  A struct inside another must have
 *     the size of this version.
 *   - The library never prints, exits, or reads the environment.  Progress is a callback.
 *   - Argument order: out, object, inputs, options, error.
 *   - threads: 0 means one per core.  Results have the same bits for any number of threads.
 *   - Each _free accepts NULL (opaque objects) or {0} (structs). */
#ifndef PRIORBOOST_CORE_H
#define PRIORBOOST_CORE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#define PBOOST_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define PBOOST_PRINTF(fmt, first)
#endif

/* Around the declarations of a header: C linkage, and exported by the library. */
#ifdef __cplusplus
#define PBOOST_BEGIN                                                                               \
    extern "C" {                                                                                   \
    _Pragma("GCC visibility push(default)")
#define PBOOST_END                                                                                 \
    _Pragma("GCC visibility pop")                                                                  \
    }
#else
#define PBOOST_BEGIN _Pragma("GCC visibility push(default)")
#define PBOOST_END _Pragma("GCC visibility pop")
#endif

PBOOST_BEGIN

/* The version of the library that is loaded, such as "0.1.0". */
const char *pboost_version(void);

/* ---- Status and error ------------------------------------------------------------------------ */

typedef enum pboost_status {
    PBOOST_OK = 0,
    PBOOST_INVALID,   /* an argument or option is not valid */
    PBOOST_BAD_DATA,  /* the input is missing, unreadable or wrong, or too small for the request */
    PBOOST_NO_MEMORY, /* an allocation failed */
    PBOOST_OUTPUT,    /* an output could not be written */
    PBOOST_ORACLE,    /* the oracle, or the connection to it, failed */
    PBOOST_REFUSED,   /* a privacy rule forbids the question */
    PBOOST_CANCELLED, /* a callback asked to stop */
    PBOOST_INTERNAL,  /* a bug in priorboost */
    PBOOST_UNUSABLE   /* the fit must not be used (pboost_fit_usable) */
} pboost_status;

typedef struct pboost_error {
    pboost_status status;
    char message[512]; /* what was wrong, the value seen, and what would be right */
} pboost_error;

/* The name of a status, such as "bad-data". */
const char *pboost_status_name(pboost_status status);

/* Fills err (if not NULL) and returns status, so that a user's own oracle or learner can write
 * `return pboost_fail(err, PBOOST_ORACLE, "no answer from %s", url);`. */
pboost_status pboost_fail(pboost_error *err, pboost_status status, const char *format, ...)
    PBOOST_PRINTF(3, 4);

/* Watches long work.  The library calls both from time to time, in the thread that called the
 * library.  If stop returns true, the work ends with PBOOST_CANCELLED; once true it must stay true.
 * progress (NULL: not wanted) is told how much of a stage, such as "bags", is done; a total of 0 is
 * not known.  The text of the stage lasts. */
typedef struct pboost_cancel {
    bool (*stop)(void *user);
    void *user;
    void (*progress)(void *user, const char *stage, double done, double total);
} pboost_cancel;

/* ---- Data ------------------------------------------------------------------------------------ */

typedef enum pboost_type {
    PBOOST_F64,
    PBOOST_F32,
    PBOOST_CURVED /* data is a pboost_curved (smooth.h); strides are not used */
} pboost_type;

/* A borrowed matrix; strides count elements. */
typedef struct pboost_matrix {
    const void *data;
    pboost_type type;
    size_t rows, cols;
    ptrdiff_t row_stride, col_stride;
} pboost_matrix;

/* A contiguous row-major matrix of doubles. */
pboost_matrix pboost_matrix_f64(const double *data, size_t rows, size_t cols);

/* Mean and standard deviation (of n, not n-1) of each column. */
pboost_status pboost_matrix_moments(double *mean, double *sd, const pboost_matrix *x,
                                    pboost_error *err);

/* The learner's data about every row of a table, borrowed.  sparse.h has those of sparse features.
 */
typedef struct pboost_features {
    pboost_matrix x;
    const double *weight; /* by row; NULL: 1 */
    const double *offset; /* by row, added to the linear predictor; NULL: 0 */
} pboost_features;

/* Some rows of a table.  Sample i is row row[i] of x, or row i where row is NULL. */
typedef struct pboost_samples {
    const pboost_matrix *x;
    const size_t *row;
    size_t n;
    const double *target; /* by sample */
    const double *weight; /* by row of x; NULL: 1 */
    const double *offset; /* by row of x, added to the linear predictor; NULL: 0 */
} pboost_samples;

/* A partition of rows into bags B_1 to B_m: the rows of bag b are row[start[b] .. start[b+1]). */
typedef struct pboost_bags {
    size_t n_rows, n_bags;
    size_t *row, *start;
} pboost_bags;

void pboost_bags_free(pboost_bags *bags);

/* The model's parameter theta: one weight per feature column, and an intercept. */
typedef struct pboost_coef {
    size_t n;
    double *theta;
    double intercept;
} pboost_coef;

pboost_status pboost_coef_init(pboost_coef *out, size_t n, pboost_error *err);
void pboost_coef_free(pboost_coef *coef);

/* ---- Choices --------------------------------------------------------------------------------- */

/* The response's distribution: it fixes b, the mean b' and the variance b''. */
typedef enum pboost_family { PBOOST_LINEAR, PBOOST_LOGISTIC, PBOOST_POISSON } pboost_family;

/* How answers become a model. */
typedef enum pboost_estimator {
    PBOOST_EVENT,        /* eq. (1): every row's target is its bag's answer */
    PBOOST_AGGREGATE,    /* each bag's mean prediction is fitted to its answer; unbiased */
    PBOOST_INTERPOLATED, /* (1 - rho) times the unweighted bag-level loss + rho times event's */
    PBOOST_ESTIMATOR_CV  /* the one of these that predicts bags left out of the fit best */
} pboost_estimator;

typedef enum pboost_algorithm {
    PBOOST_PRIORBOOST, /* each round trains on its own slice alone */
    PBOOST_ONESHOT,    /* one round of random bags */
    PBOOST_PBPREFIX    /* each round trains on all slices so far */
} pboost_algorithm;

typedef enum pboost_schedule {
    PBOOST_EQUAL,    /* slices differ by at most one row */
    PBOOST_GEOMETRIC /* slices grow in geometric progression; the last is 16 times the first */
} pboost_schedule;

typedef enum pboost_strategy {
    PBOOST_BAGS_PRIOR, /* optimal for the last model's scores; random where there is no model yet */
    PBOOST_BAGS_RANDOM,
    PBOOST_BAGS_FEATURES, /* bags of rows with similar features (pboost_bags_features) */
    PBOOST_BAGS_HYBRID    /* with the last model's scores; `features` where there is none yet */
} pboost_strategy;

/* Their words, such as "logistic"; "unknown" for a value outside the enum. */
const char *pboost_family_name(pboost_family family);
const char *pboost_estimator_name(pboost_estimator estimator);
const char *pboost_algorithm_name(pboost_algorithm algorithm);
const char *pboost_schedule_name(pboost_schedule schedule);
const char *pboost_strategy_name(pboost_strategy strategy);
pboost_status pboost_family_parse(pboost_family *out, const char *name, pboost_error *err);
pboost_status pboost_estimator_parse(pboost_estimator *out, const char *name, pboost_error *err);
pboost_status pboost_algorithm_parse(pboost_algorithm *out, const char *name, pboost_error *err);
pboost_status pboost_schedule_parse(pboost_schedule *out, const char *name, pboost_error *err);
pboost_status pboost_strategy_parse(pboost_strategy *out, const char *name, pboost_error *err);

/* Whether a label may be this number; and what labels may be, in words such as "0 or 1". */
bool pboost_family_allows(pboost_family family, double label);
const char *pboost_family_labels(pboost_family family);

/* ---- The label holder: rules and oracle ------------------------------------------------------ */

/* An exact fraction; den == 0 means "none". */
typedef struct pboost_rational {
    uint64_t num, den;
} pboost_rational;

/* Reads decimal text such as "0.1" or "1e-2" exactly; refuses zero, negatives and what does not
 * fit. */
pboost_status pboost_rational_parse(pboost_rational *out, const char *text, pboost_error *err);
double pboost_rational_value(pboost_rational r); /* infinity for "none" */

/* What an answer about a bag is. */
typedef enum pboost_answer {
    PBOOST_ANSWER_MEAN,    /* the mean of its labels */
    PBOOST_ANSWER_CLASSES, /* by class: the proportion of its rows in that class */
    PBOOST_ANSWER_COLUMNS  /* by label column: the mean of that column */
} pboost_answer;

const char *pboost_answer_name(pboost_answer answer);
pboost_status pboost_answer_parse(pboost_answer *out, const char *name, pboost_error *err);

/* The noise of answers; Gaussian pays where a person has many labels: some ten columns x rows. */
typedef enum pboost_mechanism {
    PBOOST_LAPLACE, /* discrete Laplace: epsilon-differential privacy */
    PBOOST_GAUSSIAN /* discrete Gaussian: rho-zCDP, and so (epsilon, delta) */
} pboost_mechanism;

const char *pboost_mechanism_name(pboost_mechanism mechanism);
pboost_status pboost_mechanism_parse(pboost_mechanism *out, const char *name, pboost_error *err);

/* A label column: public bounds and step as in pboost_rules, and its part of epsilon, which is
 * share / (sum of all shares). */
typedef struct pboost_label_column {
    double lower, upper, step;
    uint64_t share; /* from 1 to 2^20 */
} pboost_label_column;

#define PBOOST_WIDTH_MAX 1024

/* What the label holder will answer; fixed before the first question. */
typedef struct pboost_rules {
    size_t struct_size;
    size_t min_bag;          /* k, the least rows in a bag */
    pboost_rational epsilon; /* of label differential privacy per row; none: no noise */
    bool bounded;            /* labels are within the public [lower, upper] */
    double lower, upper;
    double step; /* q: labels are its multiples; 0: largest power of two <= (upper-lower)/2^20 */
    bool round;  /* answer 0 or 1, whichever is nearer to the noisy mean; a coin at 1/2 */
    /* Numbers in an answer: 1, the classes (at least 3: two classes are a mean), or the label
     * columns; 0 with a mean: 1. */
    size_t width;
    pboost_answer answer; /* with classes, bounds may be left out: a count is of zeros and ones */
    pboost_mechanism mechanism;
    /* By label column, borrowed; NULL: all have the bounds above, and equal parts of epsilon. */
    const pboost_label_column *columns;
    pboost_rational delta; /* Gaussian noise: with epsilon, what one answer about a row costs */
    pboost_rational rho;   /* Gaussian noise: of zCDP; none: from epsilon and delta, rounded down */
} pboost_rules;

#define PBOOST_RULES_INIT                                                                          \
    {                                                                                              \
        sizeof(pboost_rules), 1, {0, 0}, false, 0.0, 0.0, 0.0, false, 1, PBOOST_ANSWER_MEAN,       \
            PBOOST_LAPLACE, NULL, {0, 0},                                                          \
        {                                                                                          \
            0, 0                                                                                   \
        }                                                                                          \
    }

/* Refuses rules that contradict themselves and fills in the default step. */
pboost_status pboost_rules_check(pboost_rules *rules, pboost_error *err);

/* The rules of one number of an answer, as those of a mean that is asked for alone: its bounds, its
 * step and its part of epsilon, which add up to epsilon over the columns.  One label substituted
 * changes two of the classes' counts by 1, so each count has epsilon / 2, however many there are.
 * With Gaussian noise it is rho that is divided. */
pboost_status pboost_rules_number(pboost_rules *out, const pboost_rules *rules, size_t number,
                                  pboost_error *err);

/* The epsilon of `answers` answers about one row or unit together, at delta if that is given. */
double pboost_rules_epsilon(const pboost_rules *rules, size_t answers);

/* c_B: the variance that the mechanism adds to the mean of a bag of `size` rows.  NaN for rules
 * that pboost_rules_check refuses, and for answers of more than one number. */
double pboost_rules_noise_variance(const pboost_rules *rules, size_t size);
/* The same by number of an answer: `width` of them. */
pboost_status pboost_rules_noise_variances(double *out, const pboost_rules *rules, size_t size,
                                           pboost_error *err);

/* The interface through which every label is reached: in memory, remote, or a user's own. */
typedef struct pboost_oracle {
    pboost_rules rules;
    void *self;
    /* answer[b * width + j] = the (noisy) mean label of bag b, or the proportion of its class j, or
     * the mean of its label column j.  All bags are answered or none: after a failure no row is
     * spent, or the same question gets the same answers. */
    pboost_status (*ask)(void *self, size_t round, const pboost_bags *bags, double *answer,
                         pboost_error *err);
} pboost_oracle;

/* For oracles of your own: refuses bags that are malformed, that name a row outside a table of
 * table_rows or twice, or that hold fewer than min_bag rows. */
pboost_status pboost_bags_check(const pboost_bags *bags, size_t table_rows, size_t min_bag,
                                pboost_error *err);

/* The in-memory oracle: holds the labels, checks every question, remembers which rows are spent. */
typedef struct pboost_memory_oracle pboost_memory_oracle;

typedef struct pboost_memory_oracle_options {
    size_t struct_size;
    bool clamp;     /* move labels outside the bounds to the nearest bound instead of refusing */
    bool simulated; /* noise and coins from `seed` rather than from the operating system */
    uint64_t seed;
} pboost_memory_oracle_options;

#define PBOOST_MEMORY_ORACLE_OPTIONS_INIT                                                          \
    {                                                                                              \
        sizeof(pboost_memory_oracle_options), false, false, 0                                      \
    }

/* The labels are copied: one by row; with classes the number of the class, from 0 to width - 1;
 * with columns `width` by row. */
pboost_status pboost_memory_oracle_create(pboost_memory_oracle **out, const double *label, size_t n,
                                          const pboost_rules *rules,
                                          const pboost_memory_oracle_options *options,
                                          pboost_error *err);
void pboost_memory_oracle_free(pboost_memory_oracle *oracle);
/* The interface to it; valid as long as the oracle. */
pboost_oracle pboost_memory_oracle_interface(pboost_memory_oracle *oracle);
size_t pboost_memory_oracle_rows_spent(const pboost_memory_oracle *oracle);

/* ---- The learner: how to fit ----------------------------------------------------------------- */

typedef enum pboost_l2_mode {
    PBOOST_L2_AUTO,  /* event, interpolated: 1; aggregate: from the answers (docs/estimators.md) */
    PBOOST_L2_FIXED, /* the value given */
    PBOOST_L2_CV     /* aggregate: by cross-validation over bags */
} pboost_l2_mode;

/* lambda: adds (lambda/2) |theta|^2 to the sum of losses. */
typedef struct pboost_l2 {
    pboost_l2_mode mode;
    double value; /* of PBOOST_L2_FIXED; 0 with the other modes */
} pboost_l2;

pboost_l2 pboost_l2_fixed(double value);

/* How the covariance of an aggregate fit is estimated. */
typedef enum pboost_covariance {
    PBOOST_COVARIANCE_MODEL,   /* from the model's own variances: right if the model is */
    PBOOST_COVARIANCE_SANDWICH /* from the residuals (HC2): right also if the variances are not */
} pboost_covariance;

typedef struct pboost_fit_options {
    size_t struct_size;
    pboost_family family;
    pboost_l2 l2;
    bool intercept;        /* fit one, unpenalised */
    int threads;           /* 0: one per core */
    size_t max_iterations; /* of Newton's method */
    double tolerance;      /* on the Newton decrement relative to the objective */
    pboost_estimator estimator;
    double rho; /* interpolated: 0 is the bag-level loss, 1 the event-level loss */
    pboost_covariance covariance;
    uint64_t seed;               /* of the folds of cross-validation */
    const pboost_cancel *cancel; /* checked in every iteration; NULL: none */
    /* Aggregate: the last `curves` columns are functions of curves (smooth.h), for which the fit
     * finds ridges of its own from the answers; 0: none. */
    size_t curves;
    const size_t *curve_of; /* by such a column: its curve, from 0 upwards; NULL: all are of one */
    double *curve_freedom;  /* gets effective degrees of freedom by curve; NULL: not wanted */
    /* Aggregate: bags (districts) differ by more than the features of their rows explain. */
    bool bag_effects;
    /* Aggregate, by column: the category whose level it indicates, from 1 upwards; 0: a number or a
     * curve.  The columns of a category follow each other, and a ridge that the fit chooses shrinks
     * their weights equally; NULL: columns are standardised one by one. */
    const size_t *category_of;
} pboost_fit_options;

#define PBOOST_FIT_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(pboost_fit_options), PBOOST_LINEAR, {PBOOST_L2_AUTO, 0.0}, true, 1, 100, 1e-14,     \
            PBOOST_EVENT, 0.5, PBOOST_COVARIANCE_MODEL, 0, NULL, 0, NULL, NULL, false, NULL        \
    }

typedef struct pboost_fit_report {
    bool converged;
    size_t iterations;
    double objective;     /* sum of losses plus penalty; of the event fit it may be what the last */
    double gradient_norm; /* step was predicted to reach, as may the gradient's largest entry */
    size_t rank;          /* directions of theta that the data and the penalty determine */
    size_t first_dropped; /* first column that adds nothing to those before it; SIZE_MAX: none */
    double l2;            /* lambda in use */
    bool l2_standardized; /* it is on features standardised */
    /* For the aggregate estimator; NaN, 0 or false for the others. */
    size_t bags;
    double dispersion; /* phi in use: the labels' variance is phi b'' */
    double pearson;    /* the residuals' mean square over its expectation; 1 where all is right */
    double freedom;    /* effective degrees of freedom, the intercept's included */
    double eta_sd;     /* standard deviation of the linear predictor over the rows */
    bool separable;    /* eta_sd is above 8: predictions are almost 0 or 1 */
    bool dispersion_floored; /* noise masks the dispersion: its standard error is used */
    bool undercovers; /* b'' varies, noise, bags as mixed as random ones: intervals are too short */
    /* Of all estimators. */
    bool mean_masked; /* noise, or too few events, hide even the mean: the model is constant */
    bool worse_than_constant;   /* the mean of the answers explains them better than the model */
    pboost_estimator estimator; /* the one that fitted; cross-validation may have chosen it */
    bool noisy;                 /* answers have noise; of the aggregate estimator and mean_masked */
    double bag_effect_sd;       /* of the linear predictor between bags, with bag_effects; else 0 */
    size_t redundant;           /* answers about shared rows left out: they follow from others */
} pboost_fit_report;

/* ---- The learner: how to ask ----------------------------------------------------------------- */

/* What one round did. */
typedef struct pboost_round {
    size_t round, rounds; /* 1 .. T, and T */
    size_t rows, bags;
    double within;    /* within-bag sum of squares of the scores; NaN where nothing was scored */
    double test_loss; /* what on_round stored there; NaN otherwise */
} pboost_round;

typedef struct pboost_trainer_options {
    size_t struct_size;
    pboost_algorithm algorithm;
    pboost_strategy bags;
    pboost_schedule schedule;
    size_t rounds;             /* T */
    size_t bag_size;           /* least rows in a bag, >= the oracle's min_bag; 0: min_bag */
    const double *prior_score; /* by row: a prior's scores for round 1 (warm start); NULL: none */
    uint64_t seed;             /* of slices, random bags and ties */
    const uint64_t *row_key;   /* the key of a row in the shuffle; NULL: its number */
    bool in_order;             /* no shuffle: the table's rows are in random order already */
    int threads;
    const pboost_matrix *x; /* what `features` and `hybrid` bags are made from; a run sets it */
    pboost_family family;   /* of the scores, for `hybrid` */
    /* Called after every round; may set test_loss; false stops the training (PBOOST_CANCELLED). */
    bool (*on_round)(void *user, pboost_round *round);
    void *user;
    /* Checked while bags are made and, for the last time in a round, before they are asked about;
     * NULL: none.  The fit has its own. */
    const pboost_cancel *cancel;
    size_t
        width; /* numbers in an answer that the learner can fit; an oracle of others is refused */
    /* Rows of different parts share no bag: each oracle of several has the labels of one part. A
     * part with too few rows for every round has rows in the last rounds only, and bags of fewer
     * than bag_size rows, but of min_bag, where its rows of a round are fewer. */
    const uint32_t *part; /* by row, from 0; NULL: there is one part */
    size_t parts;         /* how many; 0: one */
} pboost_trainer_options;

#define PBOOST_TRAINER_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(pboost_trainer_options), PBOOST_PRIORBOOST, PBOOST_BAGS_PRIOR, PBOOST_EQUAL, 1, 0,  \
            NULL, 0, NULL, false, 0, NULL, PBOOST_LINEAR, NULL, NULL, NULL, 1, NULL, 0             \
    }

/* The default number of rounds for n rows, d features, bags of k: the largest power of two <= 16
 * that leaves max(k, 20 d) rows a slice, else 1. */
size_t pboost_rounds_default(size_t rows, size_t features, size_t min_bag);

/* The row_key of a row whose id is this text. */
uint64_t pboost_id_key(const char *id);

/* ---- Training -------------------------------------------------------------------------------- */

/* A generalised linear model under training. */
typedef struct pboost_run pboost_run;

/* The arrays of features and the oracle are borrowed.  Options that contradict themselves and
 * values that are not finite are refused here, before any label is spent. */
pboost_status pboost_run_create(pboost_run **out, const pboost_features *features,
                                const pboost_oracle *oracle, const pboost_fit_options *fit,
                                const pboost_trainer_options *options, pboost_error *err);
void pboost_run_free(pboost_run *run);

/* Runs this many rounds, or as many as are left.  After a failure the rounds that are done are
 * kept, and it may be called again: see pboost_trainer_step. */
pboost_status pboost_run_rounds(pboost_run *run, size_t rounds, pboost_error *err);

/* Of the last fit; borrowed until the next round.  covariance is (n+1) x (n+1), the intercept last,
 * or NULL where there is none. */
const pboost_coef *pboost_run_coef(const pboost_run *run);
const pboost_fit_report *pboost_run_report(const pboost_run *run);
const double *pboost_run_covariance(const pboost_run *run);
/* The model after a round that is done (from 1), borrowed from the run. */
pboost_coef pboost_run_coef_after(const pboost_run *run, size_t round);
/* For its history and answers, and to recall bags (trainer.h); the run steps and frees it. */
typedef struct pboost_trainer pboost_trainer;
pboost_trainer *pboost_run_trainer(const pboost_run *run);

/* The results of a training, in the caller's memory.  NULL: not wanted. */
typedef struct pboost_outcome {
    pboost_fit_report *report; /* of the last fit */
    pboost_round *history;     /* by round */
    double *path;              /* by round: cols + 1 entries, the intercept last */
    double *covariance;        /* (cols+1) x (cols+1), left alone where the estimator has none */
    size_t warnings;           /* number of pboost_warnings about the last fit */
} pboost_outcome;

/* Copies the results of the rounds so far. */
void pboost_run_outcome(pboost_outcome *out, const pboost_run *run);

/* Both parties in one process: the rules and the keeper of the labels, and how they are learnt
 * from. */
typedef struct pboost_simulation {
    size_t struct_size;
    pboost_rules rules;
    pboost_memory_oracle_options holder;
    pboost_fit_options fit;
    pboost_trainer_options trainer;
} pboost_simulation;

#define PBOOST_SIMULATION_INIT                                                                     \
    {                                                                                              \
        sizeof(pboost_simulation), PBOOST_RULES_INIT, PBOOST_MEMORY_ORACLE_OPTIONS_INIT,           \
            PBOOST_FIT_OPTIONS_INIT, PBOOST_TRAINER_OPTIONS_INIT                                   \
    }

/* Trains on labels in memory, by row, through all rounds.  After a failure *out and what it points
 * to are as they were. */
pboost_status pboost_simulate(pboost_outcome *out, const pboost_features *features,
                              const double *label, const pboost_simulation *simulation,
                              pboost_error *err);

PBOOST_END

#endif
