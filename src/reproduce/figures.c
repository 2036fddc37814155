/* Results as charts in the manner of the paper's figures: one colour per bag size, one dash per
 * algorithm, logarithmic axes. */
#include "figures.h"

#include <math.h>
#include <string.h>

#include "try.h"

/* ---- What the figures look like -------------------------------------------------------------- */

typedef struct {
    pboost_algorithm algorithm;
    const char *name;
    chart_dash dash;
} algorithm_style;

/* As in the paper: solid; dotted beside steps and dashed beside epsilons; dashed. */
static const algorithm_style STYLES[] = {{PBOOST_PRIORBOOST, "PriorBoost", CHART_SOLID},
                                         {PBOOST_ONESHOT, "OneShot", CHART_DOTTED},
                                         {PBOOST_PBPREFIX, "PBPrefix", CHART_DASHED}};

/* One panel of an experiment: PriorBoost and perhaps a rival. */
typedef struct {
    const char *title;
    size_t n;
    pboost_algorithm algorithm[2];
} panel_plan;

typedef struct {
    const char *title, *x_label, *y_label;
    chart_scale x_scale;
    size_t n_panels;
    panel_plan panel[2];
} figure_plan;

static const figure_plan PLANS[N_EXPERIMENTS] = {
    [EXPERIMENT_LINEAR] = {"Figure 1: linear regression",
                           "step t",
                           "test mean squared error",
                           CHART_LOG,
                           2,
                           {{"PriorBoost and OneShot", 2, {PBOOST_PRIORBOOST, PBOOST_ONESHOT}},
                            {"PriorBoost and PBPrefix", 2, {PBOOST_PRIORBOOST, PBOOST_PBPREFIX}}}},
    [EXPERIMENT_LOGISTIC] =
        {"Figure 2: logistic regression",
         "step t",
         "test log loss",
         CHART_LOG,
         2,
         {{"PriorBoost and OneShot", 2, {PBOOST_PRIORBOOST, PBOOST_ONESHOT}},
          {"PriorBoost and PBPrefix", 2, {PBOOST_PRIORBOOST, PBOOST_PBPREFIX}}}},
    [EXPERIMENT_PRIVACY] = {"Figure 3: label differential privacy",
                            "privacy budget ε",
                            "test log loss",
                            CHART_LOG,
                            1,
                            {{NULL, 2, {PBOOST_PRIORBOOST, PBOOST_ONESHOT}}}},
    [EXPERIMENT_BAG_SIZE] = {"Figure 4: optimal bag size",
                             "rows n",
                             "test log loss",
                             CHART_LOG2,
                             1,
                             {{NULL, 1, {PBOOST_PRIORBOOST}}}},
};

/* ---- Building -------------------------------------------------------------------------------- */

static size_t bag_index(const experiment_setup *setup, size_t min_bag)
{
    size_t i = 0;
    while (setup->min_bag[i] != min_bag)
        i++;
    return i;
}

static chart_series make_series(const repro_figure *f, const repro_results *results,
                                experiment_id id, const repro_curve *curve)
{
    const repro_result *r = &results->result[id];
    const experiment_setup *setup = &results->settings.setup[id];
    const algorithm_style *style = &STYLES[curve->algorithm];
    size_t k = bag_index(setup, curve->min_bag), n = r->n_points;
    bool bars = setup->realizations > 1 && repro_experiment(id)->axis != AXIS_STEP;
    const double *low = f->bars + 2 * n * (size_t)(curve - r->curves);
    bool dashed = repro_experiment(id)->axis == AXIS_EPSILON && style->dash == CHART_DOTTED;

    return (chart_series){.colour_key = f->bag_name[k],
                          .dash_key = style->name,
                          .colour = (int)k,
                          .dash = dashed ? CHART_DASHED : style->dash,
                          .points = repro_experiment(id)->axis != AXIS_STEP,
                          .n = n,
                          .x = r->x,
                          .y = curve->mean,
                          .low = bars ? low : NULL,
                          .high = bars ? low + n : NULL};
}

static void make_panel(repro_figure *f, size_t panel, const repro_results *results,
                       experiment_id id)
{
    const figure_plan *plan = &PLANS[id];
    const repro_result *r = &results->result[id];
    chart_panel *p = &f->panel[panel];

    *p = (chart_panel){.title = plan->panel[panel].title,
                       .x = {.label = plan->x_label, .scale = plan->x_scale},
                       .y = {.label = plan->y_label, .scale = CHART_LOG},
                       .series = f->series[panel]};
    for (size_t a = 0; a < plan->panel[panel].n; a++)
        for (size_t c = 0; c < r->n_curves; c++)
            if (r->curves[c].algorithm == plan->panel[panel].algorithm[a] &&
                r->curves[c].penalty == PENALTY_SUM)
                f->series[panel][p->n_series++] = make_series(f, results, id, &r->curves[c]);
}

/* A ring around the best bag size at every n. */
static void mark_best(repro_figure *f, const repro_results *results, experiment_id id)
{
    const repro_result *r = &results->result[id];
    const experiment_setup *setup = &results->settings.setup[id];

    for (size_t i = 0; i < r->n_points; i++) {
        size_t best = repro_best_bag(results, id, i), k = bag_index(setup, best);
        const repro_curve *curve =
            repro_results_find(results, id, PBOOST_PRIORBOOST, PENALTY_SUM, best);
        f->marks[i] = (chart_mark){r->x[i],        curve->mean[i], (int)k,
                                   f->bag_name[k], STYLES[0].name, "best bag size"};
    }
    f->panel[0].marks = f->marks;
    f->panel[0].n_marks = r->n_points;
}

static void write_caption(repro_figure *f, const repro_results *results, experiment_id id)
{
    const experiment_setup *s = &results->settings.setup[id];
    char size[64], shown[160] = "";

    if (s->n_sizes > 0)
        snprintf(size, sizeof size, "%zu to %zu", s->size[0], s->size[s->n_sizes - 1]);
    else
        snprintf(size, sizeof size, "%zu", s->rows);
    if (s->realizations > 1)
        snprintf(shown, sizeof shown, " Means of %zu realizations; %s are one standard deviation.",
                 s->realizations,
                 repro_experiment(id)->axis == AXIS_STEP ? "deviations in the CSV" : "error bars");
    snprintf(f->caption, sizeof f->caption,
             "n = %s rows, d = %zu, T = %zu, σ = %g, λ = %g%s, tested on %zu rows.%s%s", size,
             s->features, s->rounds, s->noise, s->l2, id == EXPERIMENT_BAG_SIZE ? ", ε = 1" : "",
             s->test_rows, shown,
             id == EXPERIMENT_BAG_SIZE ? " Rings mark the best bag size at each n." : "");
}

static pboost_status name_bags(repro_figure *f, const experiment_setup *setup, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    NEED(f->bag_name = calloc(setup->n_bags, sizeof *f->bag_name), err);
    for (size_t i = 0; i < setup->n_bags; i++)
        snprintf(f->bag_name[i], sizeof *f->bag_name, "k = %zu", setup->min_bag[i]);
done:
    return st;
}

static pboost_status make_bars(repro_figure *f, const repro_result *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = r->n_points;

    NEED(f->bars = pboost_alloc(2 * n * r->n_curves, sizeof *f->bars), err);
    for (size_t c = 0; c < r->n_curves; c++)
        for (size_t i = 0; i < n; i++) {
            f->bars[2 * n * c + i] = r->curves[c].mean[i] - r->curves[c].sd[i];
            f->bars[2 * n * c + n + i] = r->curves[c].mean[i] + r->curves[c].sd[i];
        }
done:
    return st;
}

static void set_chart(repro_figure *f, const char *id, const char *title, const char *colour,
                      const char *dash, size_t n_panels)
{
    f->chart = (chart_figure){.id = id,
                              .title = title,
                              .caption = f->caption,
                              .colour_name = colour,
                              .dash_name = dash,
                              .panels = f->panel,
                              .n_panels = n_panels};
}

pboost_status repro_figure_make(repro_figure *out, const repro_results *results, experiment_id id,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const repro_result *r = &results->result[id];
    const experiment_setup *setup = &results->settings.setup[id];

    *out = (repro_figure){0};
    TRY(name_bags(out, setup, err));
    TRY(make_bars(out, r, err));
    for (size_t p = 0; p < PLANS[id].n_panels; p++) {
        NEED(out->series[p] = pboost_alloc(r->n_curves, sizeof **out->series), err);
        make_panel(out, p, results, id);
    }
    if (id == EXPERIMENT_BAG_SIZE) {
        NEED(out->marks = pboost_alloc(r->n_points, sizeof *out->marks), err);
        mark_best(out, results, id);
    }
    if (id == EXPERIMENT_LINEAR && setup->noise > 0.0) {
        snprintf(out->rule_label, sizeof out->rule_label, "σ² = %g", setup->noise * setup->noise);
        out->rule = (chart_rule){setup->noise * setup->noise, out->rule_label};
        for (size_t p = 0; p < PLANS[id].n_panels; p++) {
            out->panel[p].rules = &out->rule;
            out->panel[p].n_rules = 1;
        }
    }
    write_caption(out, results, id);
    set_chart(out, repro_experiment(id)->name, PLANS[id].title, "bag size", "algorithm",
              PLANS[id].n_panels);
done:
    if (st != PBOOST_OK)
        repro_figure_free(out);
    return st;
}

void repro_figure_free(repro_figure *figure)
{
    for (size_t p = 0; p < FIGURE_PANELS; p++)
        free(figure->series[p]);
    free(figure->marks);
    free(figure->bag_name);
    free(figure->bars);
    *figure = (repro_figure){0};
}

/* ---- Theory ---------------------------------------------------------------------------------- */

enum { THEORY_CURVES = 3 }; /* of a panel: formula, bound, simulation */

static void add_theory_panel(repro_figure *f, size_t panel, const char *title, const char *y_label,
                             const double *x, const double *y, const double *low,
                             const double *high, size_t n, const char *bound_name)
{
    const char *name[THEORY_CURVES] = {"exact formula", bound_name, "simulation"};
    const chart_dash dash[THEORY_CURVES] = {CHART_SOLID, CHART_DASHED, CHART_DOTTED};

    for (size_t c = 0; c < THEORY_CURVES; c++)
        f->series[panel][c] = (chart_series){.dash_key = name[c],
                                             .colour = (int)c,
                                             .dash = dash[c],
                                             .points = c == 2,
                                             .n = n,
                                             .x = x,
                                             .y = y + c * n,
                                             .low = c == 2 ? low : NULL,
                                             .high = c == 2 ? high : NULL};
    f->panel[panel] = (chart_panel){.title = title,
                                    .x = {.label = "bag size k", .scale = CHART_LOG2},
                                    .y = {.label = y_label, .scale = CHART_LOG},
                                    .series = f->series[panel],
                                    .n_series = THEORY_CURVES};
}

/* values: x, then for each panel formula, bound, simulation and its error bars' ends */
static double *panel_values(double *values, size_t n, size_t panel)
{
    return values + n + panel * 5 * n;
}

static void fill_panel(double *v, size_t n, size_t i, double exact, double bound, double simulated,
                       double error)
{
    v[i] = exact;
    v[n + i] = bound;
    v[2 * n + i] = simulated;
    v[3 * n + i] = simulated - 2.0 * error;
    v[4 * n + i] = simulated + 2.0 * error;
}

pboost_status repro_figure_theory(repro_figure *out, const repro_theory *theory, pboost_error *err)
{
    static const char *const TITLES[FIGURE_PANELS] = {"curated bags, linear", "random bags, linear",
                                                      "curated bags, logistic"};
    pboost_status st = PBOOST_OK;
    size_t n = theory->n;

    *out = (repro_figure){0};
    NEED(out->bars = pboost_alloc((1 + 5 * FIGURE_PANELS) * n, sizeof *out->bars), err);
    for (size_t i = 0; i < n; i++) {
        const theory_row *r = &theory->row[i];
        const theory_risk *c = &r->curated, *a = &r->random;
        out->bars[i] = (double)r->min_bag;
        fill_panel(panel_values(out->bars, n, 0), n, i, c->risk.bias + c->risk.variance, c->bound,
                   c->simulated, c->simulated_error);
        fill_panel(panel_values(out->bars, n, 1), n, i, a->risk.bias + a->risk.variance,
                   r->lower_bound, a->simulated, a->simulated_error);
        fill_panel(panel_values(out->bars, n, 2), n, i, r->gradient.bias + r->gradient.variance,
                   r->gradient_bound, r->gradient_simulated, r->gradient_error);
    }
    for (size_t p = 0; p < FIGURE_PANELS; p++) {
        double *v = panel_values(out->bars, n, p);
        NEED(out->series[p] = pboost_alloc(THEORY_CURVES, sizeof **out->series), err);
        add_theory_panel(out, p, TITLES[p], p < 2 ? "E|θ^ − θ*|²" : "E|gradient at θ*|²", out->bars,
                         v, v + 3 * n, v + 4 * n, n, "bound");
    }
    snprintf(out->caption, sizeof out->caption,
             "n = %zu rows, d = %zu, σ = %g, %zu simulations with error bars of two standard "
             "errors. The bound is an upper one for curated bags and a lower one for random bags.",
             theory->rows, theory->features, theory->noise, theory->simulations);
    set_chart(out, "theory", "Theory: formula, bound and simulation", NULL, "quantity",
              FIGURE_PANELS);
done:
    if (st != PBOOST_OK)
        repro_figure_free(out);
    return st;
}
