/* Trees as a learner: scores rows with the forest and fits it again on the oracle's answers. */
#include <priorboost/curves.h>

#include "base/options.h"
#include "data/family.h"
#include "trees/checks.h"
#include "try.h"

struct pboost_trees {
    pboost_columns columns;
    const double *start, *weight;
    pboost_forest_options options;
    pboost_forest forest;
    double intercept;
    pboost_forest_report report;
};

pboost_status pboost_trees_create(pboost_trees **out, const pboost_columns *columns,
                                  const double *start, const double *weight,
                                  const pboost_forest_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_trees *t = NULL;
    pboost_forest_options own = PBOOST_FOREST_OPTIONS_INIT;

    *out = NULL;
    TRY(OPTIONS_READ(&own, options, PBOOST_FOREST_OPTIONS_INIT, err));
    TRY(pboost_forest_options_check(&own, err));
    TRY(pboost_columns_check(columns, NULL, columns->rows, err));
    TRY(pboost_forest_rows_check(columns, start, weight, NULL, columns->rows, err));
    NEED(t = calloc(1, sizeof *t), err);
    *t = (pboost_trees){.columns = *columns, .start = start, .weight = weight, .options = own};
    *out = t;
done:
    return st;
}

void pboost_trees_free(pboost_trees *trees)
{
    if (trees == NULL)
        return;
    pboost_forest_free(&trees->forest);
    free(trees);
}

const pboost_forest *pboost_trees_forest(const pboost_trees *trees)
{
    return &trees->forest;
}

double pboost_trees_intercept(const pboost_trees *trees)
{
    return trees->intercept;
}

const pboost_forest_report *pboost_trees_report(const pboost_trees *trees)
{
    return &trees->report;
}

static pboost_status score(void *self, const size_t *row, size_t n, double *out, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_trees *t = self;
    for (size_t i = 0; i < n; i++)
        out[i] = (t->start != NULL ? t->start[row[i]] : 0.0) + t->intercept;
    TRY(pboost_forest_add(out, &t->forest, &t->columns, row, n, t->options.threads, err));
    pboost_glm_kernels()->family[t->options.family].mean(out, out, n);
    pboost_limit_scores(out, n);
done:
    return st;
}

static pboost_status fit(void *self, const pboost_answers *answers, size_t first_bag,
                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_trees *t = self;
    pboost_forest forest = {0};
    double intercept;

    (void)first_bag;
    TRY(pboost_forest_fit(&forest, &intercept, &t->report, NULL, &t->columns, t->start, t->weight,
                          answers, 0, &t->options, err));
    pboost_forest_free(&t->forest);
    t->forest = forest;
    t->intercept = intercept;
done:
    return st;
}

pboost_learner pboost_trees_learner(pboost_trees *trees)
{
    return (pboost_learner){.self = trees, .score = score, .fit = fit};
}
