/* A plan as a page.  The chart shows the plan's own epsilon; the table shows all. */
#include "plan_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page.h"
#include "try.h"

/* ---- The chart ------------------------------------------------------------------------------- */

enum { MAX_SERIES = 32, MAX_POINTS = 32, CURVE_NAME = 64 };

/* One curve: a way of asking, over bag sizes. */
typedef struct {
    char name[CURVE_NAME];
    double size[MAX_POINTS], excess[MAX_POINTS];
    size_t n;
} curve;

static bool same_rational(pboost_rational a, pboost_rational b)
{
    return a.num == b.num && a.den == b.den;
}

static void name_curve(char out[CURVE_NAME], const pboost_plan_point *p)
{
    snprintf(out, CURVE_NAME, "%s, %s, %zu round%s", pboost_estimator_name(p->estimator),
             pboost_strategy_name(p->bags), p->rounds, p->rounds == 1 ? "" : "s");
}

static size_t find_curve(const curve *curves, size_t n, const char *name)
{
    size_t at = 0;
    while (at < n && strcmp(curves[at].name, name) != 0)
        at++;
    return at;
}

static size_t collect_curves(curve *curves, const pboost_plan *plan)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->n_points; i++) {
        const pboost_plan_point *p = &plan->point[i];
        char name[CURVE_NAME];
        if (!same_rational(p->epsilon, plan->point[plan->best].epsilon))
            continue;
        name_curve(name, p);
        size_t at = find_curve(curves, n, name);
        if (at == MAX_SERIES || (at < n && curves[at].n == MAX_POINTS))
            continue;
        if (at == n)
            memcpy(curves[n++].name, name, sizeof name);
        curves[at].size[curves[at].n] = (double)p->bag_size;
        curves[at].excess[curves[at].n++] = p->cautious;
    }
    return n;
}

/* ---- The page -------------------------------------------------------------------------------- */

static void write_points(FILE *out, const pboost_plan *plan)
{
    static const page_column COLUMNS[] = {
        {"way of asking", false}, {"bag size", true}, {"bags", true},      {"epsilon", true},
        {"excess", true},         {"cautious", true}, {"std. error", true}};
    page_table t =
        page_table_begin(out, "Every way of asking", COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < plan->n_points; i++) {
        const pboost_plan_point *p = &plan->point[i];
        char epsilon[PLAN_EPSILON_TEXT], name[CURVE_NAME];
        plan_epsilon_text(epsilon, p->epsilon);
        name_curve(name, p);
        page_cell(&t, "%s%s%s%s", name,
                  p->forecast != PBOOST_FORECAST_INFORMATION ? "; by the " : "",
                  p->forecast != PBOOST_FORECAST_INFORMATION ? plan_basis_name(p->forecast) : "",
                  i == plan->best ? " (recommended)" : "");
        page_cell(&t, "%zu", p->bag_size);
        page_cell(&t, "%zu", p->n_bags);
        page_cell_text(&t, epsilon);
        page_cell_number(&t, p->excess);
        page_cell_number(&t, p->cautious);
        page_cell_number(&t, p->se);
    }
    page_table_end(&t);
}

void plan_page_assumptions(FILE *out, const pboost_plan *plan)
{
    char rows[64], mean[32], dispersion[64], error[64];
    const page_fact facts[] = {{"rows", rows},
                               {"weights", plan->default_coef
                                               ? "an effect of modest size, assumed (no --prior)"
                                               : "those of the prior"},
                               {"mean label", mean},
                               {"dispersion", dispersion},
                               {"model error", error}};

    snprintf(rows, sizeof rows, "%zu, forecast from a sample of %zu", plan->rows,
             plan->sample_rows);
    snprintf(mean, sizeof mean, "%.6g", plan->mean);
    snprintf(dispersion, sizeof dispersion, "%.3g%s", plan->dispersion,
             plan->default_dispersion ? ", assumed" : "");
    snprintf(error, sizeof error, "%.3g", plan->model_error);
    page_facts(out, facts, sizeof facts / sizeof *facts);
}

static void write_page(FILE *out, const plan_set *set, const chart_figure *figure)
{
    const pboost_plan *plan = &set->plan[set->first];
    char options[PLAN_OPTIONS_TEXT], because[sizeof plan->reason + 16];

    plan_options_text(options, plan);
    snprintf(because, sizeof because, "because %s.", plan->reason);
    page_begin(out, "Plan", "what each way of asking is expected to cost");
    page_section(out, "recommendation", "Recommendation");
    page_code(out, options);
    page_paragraph(out, because);
    plan_cost_paragraphs(out, set);
    for (size_t i = 0; i < plan->n_warnings; i++)
        page_notice(out, plan->warning[i]);
    page_section(out, "forecast", "Forecast");
    page_figure(out, figure);
    write_points(out, plan);
    page_section(out, "assumed", "What this rests on");
    page_paragraph(out,
                   "The excess is the expected test loss above that of the best model of this "
                   "form, if that form is right; cautious adds a model error, which larger bags do "
                   "not average out, and is what the chart shows; recommended is the way "
                   "whose worst ratio to the best is smallest. "
                   "Nothing here was checked on labels.");
    plan_page_assumptions(out, plan);
    page_end(out);
}

pboost_status plan_write(const char *path, const plan_set *set, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_plan *plan = &set->plan[set->first];
    pboost_output *output = NULL;
    curve *curves = NULL;
    chart_series *series = NULL;
    const pboost_plan_point *best = &plan->point[plan->best];

    NEED(curves = calloc(MAX_SERIES, sizeof *curves), err);
    NEED(series = calloc(MAX_SERIES, sizeof *series), err);
    size_t n = collect_curves(curves, plan);
    for (size_t i = 0; i < n; i++)
        series[i] = (chart_series){.colour_key = curves[i].name,
                                   .colour = (int)i + 1,
                                   .points = true,
                                   .n = curves[i].n,
                                   .x = curves[i].size,
                                   .y = curves[i].excess};
    char name[CURVE_NAME];
    name_curve(name, best);
    chart_mark mark = {.x = (double)best->bag_size,
                       .y = best->cautious,
                       .colour = (int)find_curve(curves, n, name) + 1,
                       .colour_key = name,
                       .label = "recommended"};
    chart_rule rules[] = {{plan->all_labels, "all labels"}, {plan->constant, "constant model"}};
    chart_panel panel = {.x = {.label = "bag size", .scale = CHART_LOG2},
                         .y = {.label = "expected excess loss", .scale = CHART_LOG},
                         .series = series,
                         .n_series = n,
                         .marks = &mark,
                         .n_marks = 1,
                         .rules = rules,
                         .n_rules = 2};
    char epsilon[PLAN_EPSILON_TEXT], caption[128];
    plan_epsilon_text(epsilon, best->epsilon);
    snprintf(caption, sizeof caption, "The cautious forecast, epsilon %s.", epsilon);
    bool svg = chart_names_svg(path);
    chart_figure figure = {.id = "plan",
                           .title = "Expected excess loss by bag size",
                           .caption = svg ? plan->reason : caption,
                           .colour_name = "way of asking",
                           .panels = &panel,
                           .n_panels = 1};
    TRY(pboost_output_open(&output, path, err));
    if (svg)
        chart_write_svg(pboost_output_stream(output), &figure);
    else
        write_page(pboost_output_stream(output), set, &figure);
    st = pboost_output_commit(output, err);
done:
    free(curves);
    free(series);
    return st;
}
