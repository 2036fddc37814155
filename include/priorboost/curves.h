/* priorboost/curves.h — models that are not a straight line: boosted trees, and mixtures of models.
 * Conventions are those of core.h. */
#ifndef PRIORBOOST_CURVES_H
#define PRIORBOOST_CURVES_H

#include <priorboost/trainer.h>

PBOOST_BEGIN

/* ---- Columns --------------------------------------------------------------------------------- */

/* One column of a table as trees take it, borrowed: numbers or a category. */
typedef struct pboost_column {
    const double *number; /* cell of row i: number[i * stride]; not finite: missing */
    ptrdiff_t stride;
    const uint32_t *code; /* NULL: numbers; else the category by row.  A code that is not below
                             `levels` is missing, or was not seen in training. */
    size_t levels;
} pboost_column;

typedef struct pboost_columns {
    size_t rows, n;
    const pboost_column *column;
} pboost_columns;

/* ---- Boosted trees --------------------------------------------------------------------------- */

#define PBOOST_LEAF UINT32_MAX

typedef struct pboost_node {
    uint32_t column;      /* that is split; PBOOST_LEAF: none */
    uint32_t left, right; /* nodes of the forest, both after this one */
    uint32_t set, n_set;  /* category: forest->code[set .. set + n_set) go left, ascending; 0 codes
                             for a column of numbers */
    bool missing_left;    /* where missing numbers go; missing categories go right */
    double value;         /* number: cells <= value go left; leaf: added to the predictor */
} pboost_node;

typedef struct pboost_forest {
    size_t n_columns, n_trees, n_nodes, n_codes;
    uint32_t *root; /* node, by tree */
    pboost_node *node;
    uint32_t *code;
} pboost_forest;

void pboost_forest_free(pboost_forest *forest); /* frees what it points to */

/* eta[i] += the sum of the trees at sample i, which is row row[i], or row i where row is NULL. */
pboost_status pboost_forest_add(double *eta, const pboost_forest *forest,
                                const pboost_columns *columns, const size_t *row, size_t n,
                                int threads, pboost_error *err);

typedef struct pboost_forest_options {
    size_t struct_size;
    pboost_family family;
    size_t trees; /* how many; 0: as many as predict bags left out best, up to max_trees */
    size_t max_trees;
    size_t leaves;   /* of a tree, at most */
    size_t min_rows; /* of a leaf, at least, among all that the tree could be grown from */
    double rate;     /* how much of each tree is taken */
    double l2;       /* of leaf values */
    /* The fractions of bags and columns that a tree is grown from; leaf values are from all bags.
     */
    double bag_fraction, column_fraction;
    size_t folds;
    int threads;
    uint64_t seed;
    const pboost_cancel *cancel; /* checked before each tree, and told how many there are */
    const unsigned char *fold;   /* by bag, below `folds`; NULL: made from seed */
    /* By fold: the start of the forest that leaves the fold out, from a model that has not seen it
     * either; the result goes with the mean of these starts.  NULL: `start`, which should not come
     * from the answers: bags that it has seen cannot say how many trees are best.  Only with
     * `fold`.
     */
    const double *const *fold_start;
} pboost_forest_options;

#define PBOOST_FOREST_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(pboost_forest_options), PBOOST_LINEAR, 0, 400, 8, 50, 0.1, 1.0, 0.5, 0.5, 5, 1, 0,  \
            NULL, NULL, NULL                                                                       \
    }

typedef struct pboost_forest_report {
    size_t trees, bags; /* trees of each forest whose mean it is */
    double dispersion;
    /* The sum of r^2 / V of the bags left out (folds 0: of all bags), by the forest and without
     * trees; V is that without trees. */
    double misfit, constant_misfit;
    bool worse_than_constant; /* the same sum on its own bags is larger than without trees */
} pboost_forest_report;

/* Fits trees to the answers from first_bag on.  start, by row, is where the predictor starts: the
 * offset, and the linear predictor of a GLM; NULL: 0.  weight, by row, divides the variance of a
 * label; NULL: 1.  *intercept is the best constant beside start and trees.  left_out (by bag from
 * first_bag, NULL: not wanted) gets the mean that the bag's answer was predicted to be by a forest
 * that had not seen it.  With folds the result is the mean of the folds' forests, which is better
 * than one forest from all bags; folds 0 gives such a forest, of a number of trees that is given.
 * After a failure *out is empty. */
pboost_status pboost_forest_fit(pboost_forest *out, double *intercept, pboost_forest_report *report,
                                double *left_out, const pboost_columns *columns,
                                const double *start, const double *weight,
                                const pboost_answers *answers, size_t first_bag,
                                const pboost_forest_options *options, pboost_error *err);

/* Trees as the model under a trainer.  A fit uses the answers of all rounds, as bag-level fits are
 * right for any bags. */
typedef struct pboost_trees pboost_trees;

/* Columns, start and weight are borrowed; what a fit would always refuse is refused here. */
pboost_status pboost_trees_create(pboost_trees **out, const pboost_columns *columns,
                                  const double *start, const double *weight,
                                  const pboost_forest_options *options, pboost_error *err);
void pboost_trees_free(pboost_trees *trees);
pboost_learner pboost_trees_learner(pboost_trees *trees);
/* Of the last fit; valid until the next one. */
const pboost_forest *pboost_trees_forest(const pboost_trees *trees);
double pboost_trees_intercept(const pboost_trees *trees);
const pboost_forest_report *pboost_trees_report(const pboost_trees *trees);

/* ---- Mixtures -------------------------------------------------------------------------------- */

typedef enum pboost_member_kind {
    PBOOST_MEMBER_CONSTANT, /* the mean of the answers */
    PBOOST_MEMBER_GLM,
    PBOOST_MEMBER_SMOOTH, /* a GLM with the columns of curves */
    PBOOST_MEMBER_TREES,
    PBOOST_MEMBER_GLM_TREES /* trees that start from the GLM */
} pboost_member_kind;

#define PBOOST_MEMBER_KINDS 5

const char *pboost_member_kind_name(pboost_member_kind kind);
pboost_status pboost_member_kind_parse(pboost_member_kind *out, const char *name,
                                       pboost_error *err);

/* A member predicts b'(x theta + intercept + offset + the sum of its trees). */
typedef struct pboost_member {
    pboost_member_kind kind;
    double weight;        /* in the mean of the members' predictions; the weights sum to 1 */
    pboost_coef coef;     /* over the encoded columns; 0 for those it does not use */
    pboost_forest forest; /* n_trees 0: none */
} pboost_member;

typedef struct pboost_mixture {
    size_t n;
    pboost_member *member;
} pboost_mixture;

void pboost_mixture_free(pboost_mixture *mixture);

/* mean[i] = the weighted mean of the members' predictions for sample i. */
pboost_status pboost_mixture_predict(double *mean, pboost_family family,
                                     const pboost_samples *samples, const pboost_columns *columns,
                                     const pboost_mixture *mixture, int threads, pboost_error *err);

typedef struct pboost_mixture_options {
    size_t struct_size;
    unsigned members; /* kinds that may be members, bits 1 << kind; the constant always is */
    pboost_fit_options fit;
    pboost_forest_options forest; /* family, threads, seed, folds and cancel are those of fit */
} pboost_mixture_options;

#define PBOOST_MIXTURE_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(pboost_mixture_options), (1u << PBOOST_MEMBER_KINDS) - 1, PBOOST_FIT_OPTIONS_INIT,  \
            PBOOST_FOREST_OPTIONS_INIT                                                             \
    }

typedef struct pboost_member_report {
    bool fitted;
    double weight;
    double misfit; /* sum of r^2 / V over bags left out of its fits */
    size_t trees;
} pboost_member_report;

typedef struct pboost_mixture_report {
    size_t bags;
    double dispersion;                                /* of the GLM */
    double misfit;                                    /* of the mixture */
    bool worse_than_constant;                         /* its misfit is larger than the constant's */
    pboost_member_report member[PBOOST_MEMBER_KINDS]; /* by kind */
} pboost_mixture_report;

/* Fits all members to the answers from first_bag on and weighs them by bags left out.  The last
 * options->fit.curves columns of features are those of curves. */
pboost_status pboost_mixture_fit(pboost_mixture *out, pboost_mixture_report *report,
                                 const pboost_features *features, const pboost_columns *columns,
                                 const pboost_answers *answers, size_t first_bag,
                                 const pboost_mixture_options *options, pboost_error *err);

PBOOST_END

#endif
