/* priorboost/plan.h — what each way of asking is expected to give, before a label is used.
 * Conventions are those of core.h. */
#ifndef PRIORBOOST_PLAN_H
#define PRIORBOOST_PLAN_H

#include <priorboost/core.h>

PBOOST_BEGIN

/* I(theta) = sum_B J_B J_B' / (phi a_B + c_B): the information of the answers about these bags,
 * before any is asked.  information gets (n+1) x (n+1) entries, those of the intercept last (0
 * where there is none); its inverse is the covariance of the unpenalised aggregate estimator.  Only
 * x, weight and offset of samples are used; bags name rows of x. */
pboost_status pboost_information(double *information, pboost_family family,
                                 const pboost_samples *samples, const pboost_bags *bags,
                                 const pboost_rules *rules, const pboost_coef *coef,
                                 double dispersion, bool intercept, int threads, pboost_error *err);

/* What is assumed before anything is asked.  Where nothing is given (NULL, NaN), the plan assumes a
 * modest effect in no particular direction: it says so. */
typedef struct pboost_assumptions {
    const pboost_coef *coef; /* a model of the rows */
    double mean;             /* of the labels; used if coef is NULL */
    double dispersion;       /* phi: the labels' variance is phi b'' */
    double model_error;      /* variance of answers about any model, which no bag averages out */
} pboost_assumptions;

/* What the caller has decided about how to ask; the plan chooses the rest. */
typedef struct pboost_fixed {
    size_t rounds, bag_size; /* 0: open */
    bool has_estimator, has_bags, has_schedule;
    pboost_estimator estimator; /* any but event; forecasts are those of aggregate */
    pboost_strategy bags;
    pboost_schedule schedule; /* open: equal, and geometric where there is a pilot */
} pboost_fixed;

typedef struct pboost_plan_options {
    size_t struct_size;
    pboost_family family;
    pboost_rules rules;             /* min_bag, epsilon and bounds of the oracle */
    const pboost_rational *epsilon; /* further values to forecast for; den == 0: no noise */
    size_t n_epsilon;
    bool intercept;
    pboost_l2 l2; /* as in pboost_fit_options, for the aggregate estimator */
    pboost_assumptions assumed;
    size_t max_rows; /* forecasts are made on this many rows and scaled */
    bool brief;      /* only ways of asking that are ever recommended: faster */
    uint64_t seed;
    int threads;
    const pboost_cancel *cancel; /* checked before each forecast and in long ones; NULL: none */
    pboost_fixed fixed;          /* only ways of asking that agree with it are forecast */
    bool costs;                  /* also say what every epsilon costs: pboost_plan.cost */
    double target;               /* with costs: 1 - kept that is wanted, such as 0.05; 0: none */
    bool trees; /* a choice: trees will be fitted too, which want smaller bags if there is noise */
} pboost_plan_options;

#define PBOOST_PLAN_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(pboost_plan_options), PBOOST_LINEAR, PBOOST_RULES_INIT, NULL, 0, true,              \
            {PBOOST_L2_AUTO, 0.0}, {NULL, NAN, NAN, NAN}, (size_t)1 << 15, false, 0, 0, NULL,      \
            {0, 0, false, false, false, PBOOST_AGGREGATE, PBOOST_BAGS_FEATURES, PBOOST_EQUAL},     \
            false, 0.0, false                                                                      \
    }

/* How a forecast was made. */
typedef enum pboost_forecast {
    PBOOST_FORECAST_INFORMATION, /* (1/2) tr M H (docs/planner-appendix.md): exact for linear, else
                                    asymptotic */
    PBOOST_FORECAST_THEOREM,     /* the paper's exact risk: linear, no ridge, no noise */
    PBOOST_FORECAST_GRADIENT     /* the paper's gradient norm, turned into loss by the Hessian */
} pboost_forecast;

/* One way of asking, and what it is expected to give. */
typedef struct pboost_plan_point {
    pboost_estimator estimator;
    pboost_strategy bags;
    size_t rounds, bag_size, n_bags;
    pboost_rational epsilon;
    pboost_forecast forecast;
    double excess;   /* expected test loss above that of the best theta, if the model is right */
    double cautious; /* the same with the model error; recommended is the smallest worst ratio to
                        the best of both */
    double se;       /* root mean square standard error of weights on standardised features */
    bool comparison_only; /* never recommended */
} pboost_plan_point;

/* What one epsilon costs, in figures that people know.  They hold if the model is right and effects
 * are as assumed (docs/planner.md). */
typedef struct pboost_cost {
    size_t point;       /* of the plan: what is recommended at this epsilon */
    double loss;        /* expected test loss, as pboost_evaluate measures it */
    double kept;        /* of what all labels gain over the constant model: 1 is as good as they */
    double labels;      /* as good as the labels of this many rows; 0: fewer than parameters */
    double measure;     /* expected value of the plan's measure */
    double rows_needed; /* rows like these that reach the target, about; NaN: no target was set;
                           INFINITY: no number does */
} pboost_cost;

#define PBOOST_MAX_PLAN_WARNINGS 2

typedef struct pboost_plan {
    size_t n_points;
    pboost_plan_point *point;
    size_t best;      /* the point recommended, for the rules' own epsilon */
    size_t n_columns; /* of x */
    double *se;       /* expected standard error of each weight there, in the units of x */
    double all_labels, constant; /* excess with every label, and of a model that knows the mean */
    double dispersion, model_error, mean;  /* as used */
    bool default_coef, default_dispersion; /* nothing was given: these are defaults */
    bool no_better_than_mean; /* no way of asking is expected to beat the constant model clearly */
    bool rare;                /* fewer than ten events a weight are expected */
    double events;            /* expected number of the rarer outcome; NaN for linear */
    size_t rows, sample_rows;
    char reason[256];                            /* of the recommendation */
    char warning[PBOOST_MAX_PLAN_WARNINGS][256]; /* a sentence each */
    size_t n_warnings;
    size_t n_costs;      /* 0: they were not asked for */
    pboost_cost *cost;   /* by epsilon, the rules' own first */
    const char *measure; /* "r2", "auc" or "d2", as pboost_evaluate names it */
    double loss_all_labels, loss_constant, measure_all_labels, measure_constant;
    double least_epsilon; /* that reaches the target, two digits; NaN: not looked for (it needs a
                             target and bounds); INFINITY: none up to 1000 does */
    pboost_family family;
} pboost_plan;

/* Forecasts every way of asking about the rows and recommends.  Weights are ignored, here and
 * below. */
pboost_status pboost_plan_make(pboost_plan *out, const pboost_features *features,
                               const pboost_plan_options *options, pboost_error *err);
void pboost_plan_free(pboost_plan *plan);

/* The size of bags to ask for if trees will, or may later, be fitted to the answers, instead of
 * that of a point of the plan.  A plan is for a GLM.  Trees need more answers: under noise it is
 * half of the point's size, but not below 64 and min_bag, and only if a GLM is forecast to keep all
 * but a hundredth of what all labels gain (docs/models.md).  Otherwise it is the point's; so it is
 * for counts whose dispersion was assumed. */
size_t pboost_plan_tree_bag_size(const pboost_plan *plan, size_t point, size_t min_bag);

/* The plan's recommendation, as options of trainer and fit. */
typedef struct pboost_choice {
    pboost_plan plan;
    pboost_estimator estimator;
    pboost_algorithm algorithm;
    pboost_strategy bags;
    pboost_schedule schedule;
    size_t rounds, bag_size;
    size_t planned_bag_size;   /* what the first plan recommended */
    bool pilot;                /* round 1 is a pilot: revise after it */
    pboost_assumptions learnt; /* what was learnt from it; NaN: nothing */
} pboost_choice;

/* Plans and chooses what options->fixed leaves open.  Under noise, if the table is large enough and
 * rounds, bag size and schedule are open, a first round of one row in seventeen is a pilot.
 * prior_score (by row, NULL: none) gives the mean label.  options->brief is ignored. */
pboost_status pboost_choice_make(pboost_choice *out, const pboost_features *features,
                                 const double *prior_score, const pboost_plan_options *options,
                                 pboost_error *err);
/* After the first round, coef being the fit to it: plans again with what was learnt and changes how
 * the trainer asks.  If coef cannot be used for a plan (its predictions overflow), the first plan
 * stays and choice->learnt is NaN.  Does nothing if that round was not a pilot.  After a failure
 * the trainer asks as before, and may continue or be revised again. */
pboost_status pboost_choice_revise(pboost_choice *choice, pboost_trainer *trainer,
                                   const pboost_features *features, const pboost_coef *coef,
                                   const pboost_plan_options *options, pboost_error *err);
void pboost_choice_free(pboost_choice *choice);

PBOOST_END

#endif
