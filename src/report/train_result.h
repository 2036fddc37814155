/* The result of a training, as text, as JSON, as a model file and as a page. */
#ifndef PBOOST_TRAIN_RESULT_H
#define PBOOST_TRAIN_RESULT_H

#include <stdio.h>

#include <jansson.h>

#include <priorboost/priorboost.h>

/* The bags of a round. */
typedef struct train_bags {
    size_t smallest, largest;
    double
        spread; /* root mean square of predictions about their bag's mean, by the round's model */
} train_bags;

/* One line of the warnings of the fit or of the plan's. */
#define TRAIN_MAX_WARNINGS (PBOOST_MAX_WARNINGS + PBOOST_MAX_PLAN_WARNINGS)
#define TRAIN_MAX_ASSUMPTIONS 3
typedef struct train_warning {
    char text[300];
} train_warning;

/* What a feature does to predictions. */
enum { EFFECT_POINTS = 20, MAX_EFFECTS = 8 };
typedef struct train_effect {
    size_t feature;
    double change; /* root mean square of the change of predictions when its cells are shuffled */
    size_t n;      /* points of the curve; 0: none */
    double at[EFFECT_POINTS];     /* numbers; NaN: a category or date, by its text */
    char text[EFFECT_POINTS][32]; /* of the cell */
    double mean[EFFECT_POINTS];   /* mean prediction where every row has this cell */
} train_effect;

/* What a run gave. */
typedef struct train_result {
    pboost_trainer_options options;
    pboost_rules rules;
    pboost_estimator estimator;
    bool given; /* the bags were */
    pboost_fit_options fit_options;
    pboost_fixed fixed;                        /* what the command line says of how to ask */
    double *covariance;                        /* in the units of the file; NULL: unknown */
    double *bag_deviance, *bag_deviance_ahead; /* by round: after it, and predicted before it */
    pboost_coef *path;                         /* by round, in the units of the file */
    pboost_class_coef *class_path;             /* the same of classes; NULL: there are none */
    pboost_round *history;
    train_bags *bags_asked; /* by round */
    size_t rounds, rows_spent;
    pboost_fit_report fit;
    double *curve_freedom;                     /* by curve; NULL: there are none */
    train_warning warning[TRAIN_MAX_WARNINGS]; /* the warnings */
    size_t n_warnings;
    const char *assumption[TRAIN_MAX_ASSUMPTIONS]; /* of given bags without all of their rows */
    size_t n_assumptions;
    bool usable; /* the last fit; if it is not, the first warning says why */
    bool simulated;
    size_t unavailable, same_unit; /* rows left out */
    double seconds;
    pboost_choice choice;   /* with method auto, but for given bags */
    const char *model;      /* the word of --model */
    pboost_mixture mixture; /* n 0: the GLM of the last round; in the units of the file */
    double misfit[PBOOST_MEMBER_KINDS]; /* of bags left out, by kind of member; NaN: unknown */
    double mixture_misfit;
    pboost_calibration by_bag; /* predicted against answered, in groups of bags; no groups: few */
    train_effect *effect;      /* by feature, the largest change first */
    size_t n_effects;
} train_result;

/* A result and its description, for the output.  Everything is borrowed. */
typedef struct train_description {
    const train_result *result;
    pboost_family family;
    bool automatic; /* method auto */
    bool intercept, tested, has_seed;
    uint64_t seed;
    size_t rows;
    const pboost_encoding *encoding;
    /* Of sparse rows: the model, of which encoding and the last of path are the heaviest weights.
     */
    const pboost_model_sparse *sparse;
    const pboost_coef *sparse_coef;
    const double *scale; /* by column, what x was divided by; NULL: nothing */
    const char *label, *positive,
        *offset;                   /* columns, and the level that counts as 1; may be NULL */
    const char *const *class_name; /* of the classes that labels are; NULL: they are numbers */
    size_t classes;
    const char *const *oracle; /* URLs of the labels, and how many; 0: in this process */
    size_t oracles;
    bool leaves_out; /* rows may be left out: not available, or another row of the unit is used */
    const char *out; /* the model file; NULL: none is written */
} train_description;

void train_print(FILE *out, const train_description *d);
json_t *train_json(const train_description *d);
/* Both commit or discard the output; a page is that of 'priorboost report'. */
pboost_status train_write_model(pboost_output *output, const train_description *d,
                                pboost_error *err);
pboost_status train_write_page(pboost_output *output, const train_description *d,
                               pboost_error *err);

#endif
