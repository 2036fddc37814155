/* priorboost plan on sparse rows: what bags are expected to keep, through the sketch.
 *
 * Some rows are kept out of the bags and the forecast is for them.  All other rows are used: a part
 * of them would have another number of columns, and a forecast for it could not be scaled. */
#include "plan_wide.h"

#include <math.h>
#include <string.h>

#include "plan_text.h"
#include "report_json.h"
#include "train_wide.h"

enum { MOST_OTHER_ROWS = 4096, OTHER_PART = 8 };

/* Ways of making bags, the recommended first. */
enum { FEATURES, RANDOM, WAYS };
static const char *const WAY[WAYS] = {"features", "random"};

typedef struct {
    size_t min_bag;
    pboost_rational epsilon;
    size_t n_bags;
    double excess[WAYS], kept[WAYS];
} wide_point;

typedef struct {
    const pboost_wide_features *features;
    float *sketch;
    pboost_matrix narrow;
    size_t *row, n;         /* in bags */
    size_t *other, n_other; /* that are forecast */
    uint64_t seed;
    pboost_wide_assumptions assumed;
    bool default_mean;
    double all_labels, constant; /* excess losses */
    size_t n_points;
    wide_point *point;
} wide_plan;

static void wide_plan_free(wide_plan *p)
{
    free(p->sketch);
    free(p->row);
    free(p->other);
    free(p->point);
}

/* Every so many-th row is kept out of the bags. */
static pboost_status divide_rows(wide_plan *p, size_t rows, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t others = rows / OTHER_PART < MOST_OTHER_ROWS ? rows / OTHER_PART : MOST_OTHER_ROWS;

    if (others == 0)
        FAIL(err, PBOOST_BAD_DATA, "the table has %zu rows; a forecast for sparse rows needs %d",
             rows, OTHER_PART);
    NEED(p->row = pboost_alloc(rows, sizeof *p->row), err);
    NEED(p->other = pboost_alloc(others, sizeof *p->other), err);
    for (size_t i = 0; i < rows; i++) {
        if (p->n_other < others && i == p->n_other * (rows / others))
            p->other[p->n_other++] = i;
        else
            p->row[p->n++] = i;
    }
done:
    return st;
}

/* Bags of p->row; bag_size 1: every row on its own. */
static pboost_status make_bags(pboost_bags *out, const wide_plan *p, int way, size_t bag_size,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_samples samples = {.x = &p->narrow, .row = p->row, .n = p->n};

    if (way == FEATURES && bag_size > 1)
        TRY(pboost_bags_features(out, &samples, bag_size, p->assumed.threads, p->assumed.cancel,
                                 err));
    else
        TRY(pboost_bags_random(out, p->n, bag_size, p->seed, err));
    for (size_t i = 0; i < out->n_rows; i++)
        out->row[i] = p->row[out->row[i]];
done:
    return st;
}

static pboost_status forecast(pboost_wide_forecast *out, const wide_plan *p,
                              const pboost_bags *bags, const pboost_rules *rules, pboost_error *err)
{
    pboost_wide_assumptions assumed = p->assumed;
    assumed.rules = rules;
    return pboost_wide_forecast_bags(out, p->features, bags, p->other, p->n_other, &assumed, err);
}

static pboost_status forecast_all_labels(wide_plan *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_bags bags = {0};
    pboost_wide_forecast found;

    TRY(make_bags(&bags, p, RANDOM, 1, err));
    TRY(forecast(&found, p, &bags, NULL, err));
    p->all_labels = found.excess;
    p->constant = found.constant;
    if (!(p->constant > p->all_labels))
        FAIL(err, PBOOST_BAD_DATA,
             "with all labels of %zu rows no model is expected to be better than the mean; the "
             "rows are too few for their columns",
             p->n);
done:
    pboost_bags_free(&bags);
    return st;
}

/* The points of one k: one for each epsilon. */
static pboost_status forecast_bag_size(wide_plan *p, const plan_wide_options *o, size_t min_bag,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_bags bags = {0};
    wide_point *point = p->point + p->n_points;

    for (int way = 0; way < WAYS; way++) {
        pboost_bags_free(&bags);
        TRY(make_bags(&bags, p, way, min_bag, err));
        for (size_t e = 0; e < o->n_epsilon; e++) {
            pboost_wide_forecast found;
            pboost_rules rules = o->rules;
            rules.min_bag = min_bag;
            rules.epsilon = o->epsilon[e];
            TRY(forecast(&found, p, &bags, rules.epsilon.den > 0 ? &rules : NULL, err));
            point[e].min_bag = min_bag;
            point[e].epsilon = o->epsilon[e];
            point[e].n_bags = bags.n_bags;
            point[e].excess[way] = found.excess;
            point[e].kept[way] = (p->constant - found.excess) / (p->constant - p->all_labels);
        }
    }
    p->n_points += o->n_epsilon;
done:
    pboost_bags_free(&bags);
    return st;
}

static pboost_status make_plan(wide_plan *p, const plan_wide_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    NEED(p->point = calloc(o->n * o->n_epsilon, sizeof *p->point), err);
    for (size_t i = 0; i < o->n; i++)
        if (o->min_bag[i] > p->n)
            FAIL(err, PBOOST_BAD_DATA,
                 "--min-bag is %zu, but the bags have %zu rows; the other %zu are forecast",
                 o->min_bag[i], p->n, p->n_other);
    TRY(train_wide_sketch(&p->sketch, &p->narrow, &p->features->x, p->seed, p->assumed.threads,
                          p->assumed.cancel, err));
    TRY(forecast_all_labels(p, err));
    for (size_t i = 0; i < o->n; i++)
        TRY(forecast_bag_size(p, o, o->min_bag[i], err));
done:
    return st;
}

/* ---- Output ---------------------------------------------------------------------------------- */

static void print(FILE *out, const wide_plan *p)
{
    fprintf(out,
            "%zu rows in bags, %zu others to forecast for; %zu columns; mean label %g%s\n\n"
            "kept: the part of what all labels gain over a model that knows only the mean\n\n"
            "%6s %9s %9s %13s %13s\n",
            p->n, p->n_other, p->features->x.cols, p->assumed.mean,
            p->default_mean ? " (assumed; --mean M says it)" : "", "K", "epsilon", "answers",
            "features kept", "random kept");
    for (size_t i = 0; i < p->n_points; i++) {
        const wide_point *at = &p->point[i];
        char epsilon[PLAN_EPSILON_TEXT];
        plan_epsilon_text(epsilon, at->epsilon);
        fprintf(out, "%6zu %9s %9zu %11.0f %% %11.0f %%\n", at->min_bag, epsilon, at->n_bags,
                100.0 * at->kept[FEATURES], 100.0 * at->kept[RANDOM]);
    }
    fprintf(out, "\nWeights are assumed to be equally likely in all directions.  In docs/sparse.md "
                 "the forecast is\ncompared with what was measured.\n");
}

static json_t *points_json(const wide_plan *p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < p->n_points; i++) {
        const wide_point *at = &p->point[i];
        for (int way = 0; way < WAYS; way++)
            json_array_append_new(list,
                                  json_pack("{s:I, s:o, s:s, s:I, s:f, s:f}", "min_bag",
                                            (json_int_t)at->min_bag, "epsilon",
                                            report_json_epsilon(at->epsilon), "bags", WAY[way],
                                            "n_bags", (json_int_t)at->n_bags, "excess",
                                            at->excess[way], "kept", at->kept[way]));
    }
    return list;
}

static pboost_status show(const cli_context *cli, const wide_plan *p, pboost_error *err)
{
    if (cli->json)
        return cli_print_json(
            json_pack("{s:I, s:I, s:I, s:f, s:b, s:f, s:f, s:f, s:s, s:o}", "rows",
                      (json_int_t)p->n, "other_rows", (json_int_t)p->n_other, "columns",
                      (json_int_t)p->features->x.cols, "mean", p->assumed.mean, "default_mean",
                      p->default_mean, "dispersion", p->assumed.dispersion, "all_labels",
                      p->all_labels, "constant", p->constant, "bags", WAY[FEATURES], "points",
                      points_json(p)),
            err);
    if (!cli->quiet)
        print(cli_text(cli), p);
    return cli_flush(err);
}

pboost_status plan_wide(cli_context *cli, const train_arguments *a, const plan_wide_options *o,
                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    static const double MEAN[] = {
        [PBOOST_LINEAR] = 0.0, [PBOOST_LOGISTIC] = 0.5, [PBOOST_POISSON] = 1.0};
    train_data data = {0};
    wide_plan p = {.seed = a->seed};

    TRY(train_data_load(&data, cli, a, err));
    pboost_wide_features features = {.x = data.wide_x};
    p.features = &features;
    p.default_mean = isnan(o->mean);
    p.assumed = (pboost_wide_assumptions){.family = a->family,
                                          .mean = p.default_mean ? MEAN[a->family] : o->mean,
                                          .dispersion = isnan(o->dispersion) ? 1.0 : o->dispersion,
                                          .threads = a->threads,
                                          .cancel = &cli->watch};
    TRY(divide_rows(&p, data.rows, err));
    TRY(make_plan(&p, o, err));
    TRY(show(cli, &p, err));
done:
    wide_plan_free(&p);
    train_data_free(&data);
    return st;
}
