/* What k and epsilon cost: text, JSON, chart and page. */
#include "plan_costs.h"

#include <math.h>
#include <string.h>

#include "page.h"
#include "plan_page.h"
#include "report_json.h"
#include "try.h"

enum { CELL = 40, SENTENCE = 400 };

/* ---- Figures as people write them ------------------------------------------------------------ */

static const char *measure_title(const char *measure)
{
    static const char *const TITLES[][2] = {{"r2", "R2"}, {"auc", "AUC"}, {"d2", "D2"}};
    for (size_t i = 0; i < sizeof TITLES / sizeof *TITLES; i++)
        if (strcmp(measure, TITLES[i][0]) == 0)
            return TITLES[i][1];
    return measure;
}

/* A whole number, with commas between thousands. */
static void count_text(char out[CELL], double value)
{
    char digits[CELL];
    int n = snprintf(digits, sizeof digits, "%.0f", value);
    size_t at = 0;
    for (int i = 0; i < n && at + 2 < CELL; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
}

/* The same in two digits: 12,000. */
static void about_text(char out[CELL], double value)
{
    double unit = value >= 100.0 ? pow(10.0, floor(log10(value)) - 1.0) : 1.0;
    count_text(out, round(value / unit) * unit);
}

static void kept_text(char out[CELL], double kept)
{
    if (isnan(kept))
        snprintf(out, CELL, "-");
    else if (kept < 0.0)
        snprintf(out, CELL, "none");
    else
        snprintf(out, CELL, "%.1f %%", floor(1000.0 * kept) / 10.0); /* 100.0 is all */
}

static void labels_text(char out[CELL], const pboost_plan *plan, const pboost_cost *cost)
{
    char about[CELL];
    about_text(about, cost->labels);
    if (cost->labels > 0.0)
        snprintf(out, CELL, "%s", about);
    else
        snprintf(out, CELL, "below %zu", plan->n_columns + 1);
}

static void needed_text(char out[CELL], double rows)
{
    if (isinf(rows))
        snprintf(out, CELL, "no number");
    else
        about_text(out, rows);
}

/* ---- Sentences ------------------------------------------------------------------------------- */

static void cost_sentence(char out[SENTENCE], const pboost_plan *plan)
{
    const pboost_cost *cost = &plan->cost[0];
    char kept[CELL], labels[CELL], rows[CELL];
    kept_text(kept, cost->kept);
    labels_text(labels, plan, cost);
    count_text(rows, (double)plan->rows);
    snprintf(
        out, SENTENCE,
        "Expected on new rows: loss %.4g (all labels %.4g, constant model %.4g), %s %.3f (all "
        "labels %.3f). That keeps %s of what all labels gain over the constant model, and is as "
        "good as the labels of %s of the %s rows.",
        cost->loss, plan->loss_all_labels, plan->loss_constant, measure_title(plan->measure),
        cost->measure, plan->measure_all_labels, kept, labels, rows);
}

/* What reaches the target with this k; "" where epsilon was not looked for. */
static void epsilon_sentence(char out[SENTENCE], const plan_set *set, size_t i)
{
    const pboost_plan *plan = &set->plan[i];
    double percent = 100.0 * set->target;
    out[0] = '\0';
    if (plan->n_points == 0)
        return;
    if (isnan(plan->least_epsilon))
        snprintf(out, SENTENCE,
                 "The smallest epsilon for k = %zu needs --bounds LO,HI: the noise depends on the "
                 "range of the labels.",
                 set->min_bag[i]);
    else if (isinf(plan->least_epsilon))
        snprintf(out, SENTENCE,
                 "With k = %zu, no epsilon is within %g %% of all labels on these rows: ask for a "
                 "smaller k or more rows.",
                 set->min_bag[i], percent);
    else
        snprintf(out, SENTENCE,
                 "With k = %zu, epsilon %g is the smallest that is within %g %% of all labels.",
                 set->min_bag[i], plan->least_epsilon, percent);
}

static void needed_sentence(char out[SENTENCE], const plan_set *set)
{
    const pboost_cost *cost = &set->plan[set->first].cost[0];
    char enough[2 * CELL] = "no number of rows is enough", rows[CELL], epsilon[PLAN_EPSILON_TEXT];
    needed_text(rows, cost->rows_needed);
    if (isfinite(cost->rows_needed))
        snprintf(enough, sizeof enough, "about %s rows like these are enough", rows);
    plan_epsilon_text(epsilon, set->epsilon[0]);
    snprintf(out, SENTENCE, "With k = %zu and epsilon %s, %s to be within %g %% of all labels.",
             set->min_bag[set->first], epsilon, enough, 100.0 * set->target);
}

/* Whether trees want smaller bags than the plan has for some pair. */
static bool trees_want_less(const plan_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        for (size_t e = 0; e < set->plan[i].n_costs; e++) {
            const pboost_plan *plan = &set->plan[i];
            size_t point = plan->cost[e].point;
            if (pboost_plan_tree_bag_size(plan, point, set->min_bag[i]) !=
                plan->point[point].bag_size)
                return true;
        }
    return false;
}

/* What trees change in the recommendation; "": nothing, or there will be none. */
static void model_sentence(char out[SENTENCE], const plan_set *set)
{
    const pboost_plan *plan = &set->plan[set->first];
    const pboost_plan_point *best = &plan->point[plan->best];
    size_t size = pboost_plan_tree_bag_size(plan, plan->best, set->min_bag[set->first]);
    bool open = set->model == NULL, several = set->n * set->n_epsilon > 1;
    bool trees = open || strcmp(set->model, "trees") == 0 || strcmp(set->model, "auto") == 0;

    bool less = trees && trees_want_less(set);

    out[0] = '\0';
    if (!trees || (open && !less))
        return;
    if (!less)
        snprintf(out, SENTENCE,
                 "With --model %s train asks for the same bags. The forecasts are those of a GLM.",
                 set->model);
    else if (several)
        snprintf(out, SENTENCE,
                 "%s%s: ask for smaller bags in some of these cases, because trees need more "
                 "answers than a GLM; plan says the size if it has one k and one epsilon. The "
                 "forecasts are those of a GLM.",
                 open ? "If you choose the model later" : "--model ", open ? "" : set->model);
    else if (open)
        snprintf(out, SENTENCE,
                 "If you choose the model later, ask for bags of %zu rows (--bag-size %zu): trees "
                 "(--model trees or auto) need more answers than a GLM.",
                 size, size);
    else
        snprintf(
            out, SENTENCE,
            "With --model %s train asks for bags of %zu rows, not %zu: trees need more answers "
            "than a GLM. The forecasts are those of a GLM.",
            set->model, size, best->bag_size);
}

/* ---- For people ------------------------------------------------------------------------------ */

static void print_wrapped(FILE *out, const char *text)
{
    enum { WIDTH = 96 };
    size_t column = 0;
    for (const char *word = text; *word != '\0';) {
        size_t n = strcspn(word, " ");
        if (column > 0 && column + 1 + n > WIDTH) {
            fputc('\n', out);
            column = 0;
        }
        fprintf(out, "%s%.*s", column > 0 ? " " : "", (int)n, word);
        column += n + (column > 0);
        word += n + (word[n] == ' ');
    }
    fputc('\n', out);
}

static void print_targets(FILE *out, const plan_set *set)
{
    char text[SENTENCE];
    for (size_t i = 0; i < set->n; i++) {
        epsilon_sentence(text, set, i);
        if (text[0] != '\0')
            print_wrapped(out, text);
    }
}

static void print_model(FILE *out, const plan_set *set)
{
    char text[SENTENCE];
    model_sentence(text, set);
    if (text[0] != '\0')
        print_wrapped(out, text);
}

static void print_row(FILE *out, const plan_set *set, size_t i, size_t e)
{
    const pboost_plan *plan = &set->plan[i];
    const pboost_cost *cost = &plan->cost[e];
    char epsilon[PLAN_EPSILON_TEXT], kept[CELL], labels[CELL], needed[CELL];
    plan_epsilon_text(epsilon, set->epsilon[e]);
    kept_text(kept, cost->kept);
    labels_text(labels, plan, cost);
    needed_text(needed, cost->rows_needed);
    fprintf(out, "%10zu %8s %9zu %10.4g %8s %14s %8.3f", set->min_bag[i], epsilon,
            plan->point[cost->point].bag_size, cost->loss, kept, labels, cost->measure);
    fprintf(out, set->target > 0.0 ? " %14s\n" : "\n", needed);
}

void plan_costs_print(FILE *out, const plan_set *set)
{
    const pboost_plan *first = &set->plan[set->first];
    char rows[CELL];
    fprintf(out, "%10s %8s %9s %10s %8s %14s %8s", "k", "epsilon", "bag size", "loss", "kept",
            "as good as", measure_title(first->measure));
    fprintf(out, set->target > 0.0 ? " %14s\n" : "\n", "rows needed");
    for (size_t i = 0; i < set->n; i++) {
        if (set->plan[i].n_points == 0)
            fprintf(out, "%10zu   larger than the table, which has %zu rows\n", set->min_bag[i],
                    set->rows);
        for (size_t e = 0; e < set->plan[i].n_costs; e++)
            print_row(out, set, i, e);
    }
    count_text(rows, (double)first->rows);
    fprintf(out, "%-29s %10.4g %8s %14s %8.3f\n", "all labels", first->loss_all_labels, "100 %",
            rows, first->measure_all_labels);
    fprintf(out, "%-29s %10.4g %8s %14s %8.3f\n\n", "constant model", first->loss_constant, "0 %",
            "-", first->measure_constant);
    if (set->target > 0.0) {
        print_targets(out, set);
        fprintf(out, "'rows needed' is the number of rows like these that is within %g %%.\n\n",
                100.0 * set->target);
    }
    fprintf(
        out,
        "'loss' and '%s' are expected on new rows; 'kept' is the part that is kept of what all\n"
        "labels gain over a model that knows only the mean; 'as good as' is the number of\n"
        "labelled rows that would do as well.  All if the model is right and effects are as\n"
        "assumed: nothing here was checked on labels.\n",
        measure_title(first->measure));
    print_model(out, set);
}

void plan_cost_print(FILE *out, const plan_set *set)
{
    char text[SENTENCE];
    cost_sentence(text, &set->plan[set->first]);
    fputc('\n', out);
    print_wrapped(out, text);
    print_model(out, set);
    if (!(set->target > 0.0))
        return;
    needed_sentence(text, set);
    print_wrapped(out, text);
    print_targets(out, set);
}

/* ---- For programs ---------------------------------------------------------------------------- */

static json_t *describe_cost(const plan_set *set, size_t i, size_t e)
{
    const pboost_plan *plan = &set->plan[i];
    const pboost_cost *cost = &plan->cost[e];
    const pboost_plan_point *p = &plan->point[cost->point];
    return json_pack(
        "{s:I, s:o, s:b, s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "min_bag",
        (json_int_t)set->min_bag[i], "epsilon", report_json_epsilon(p->epsilon), "possible", 1,
        "bags", pboost_strategy_name(p->bags), "rounds", (json_int_t)p->rounds, "bag_size",
        (json_int_t)p->bag_size, "tree_bag_size",
        (json_int_t)pboost_plan_tree_bag_size(plan, cost->point, set->min_bag[i]), "excess",
        report_json_number(p->excess), "cautious", report_json_number(p->cautious), "loss",
        report_json_number(cost->loss), "kept", report_json_number(cost->kept), "as_good_as_labels",
        report_json_number(cost->labels), "measure", report_json_number(cost->measure),
        "rows_needed", report_json_number(cost->rows_needed));
}

static json_t *describe_impossible(const plan_set *set, size_t i, size_t e)
{
    return json_pack("{s:I, s:o, s:b}", "min_bag", (json_int_t)set->min_bag[i], "epsilon",
                     report_json_epsilon(set->epsilon[e]), "possible", 0);
}

json_t *plan_costs_json(json_t *object, const plan_set *set)
{
    const pboost_plan *first = &set->plan[set->first];
    json_t *costs = json_array(), *targets = json_array();
    for (size_t i = 0; i < set->n; i++) {
        const pboost_plan *plan = &set->plan[i];
        for (size_t e = 0; costs != NULL && e < set->n_epsilon; e++)
            json_array_append_new(costs, plan->n_points > 0 ? describe_cost(set, i, e)
                                                            : describe_impossible(set, i, e));
        if (targets != NULL && set->target > 0.0)
            json_array_append_new(
                targets,
                json_pack("{s:I, s:o}", "min_bag", (json_int_t)set->min_bag[i], "least_epsilon",
                          report_json_number(plan->n_points > 0 ? plan->least_epsilon : NAN)));
    }
    json_t *more =
        json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "costs", costs, "measure",
                  first->measure, "loss_all_labels", report_json_number(first->loss_all_labels),
                  "loss_constant", report_json_number(first->loss_constant), "measure_all_labels",
                  report_json_number(first->measure_all_labels), "measure_constant",
                  report_json_number(first->measure_constant), "target",
                  report_json_number(set->target > 0.0 ? set->target : NAN), "targets", targets);
    json_object_update(object, more);
    json_decref(more);
    return object;
}

/* ---- The chart ------------------------------------------------------------------------------- */

enum { MOST = 64 };

typedef struct {
    char name[CELL];
    double x[MOST], loss[MOST], labels[MOST];
    size_t n;
} cost_curve;

static double epsilon_place(pboost_rational epsilon)
{
    return epsilon.den == 0 ? INFINITY : pboost_rational_value(epsilon);
}

/* Adds a point in ascending x. */
static void insert(cost_curve *c, double x, const pboost_cost *cost)
{
    size_t at = c->n++;
    for (; at > 0 && c->x[at - 1] > x; at--) {
        c->x[at] = c->x[at - 1];
        c->loss[at] = c->loss[at - 1];
        c->labels[at] = c->labels[at - 1];
    }
    c->x[at] = x;
    c->loss[at] = cost->loss;
    c->labels[at] = cost->labels > 0.0 ? cost->labels : NAN;
}

/* A curve for each k over epsilon; if there is one epsilon, one curve over k. */
static size_t collect(cost_curve *curve, const plan_set *set)
{
    bool over_epsilon = set->n_epsilon > 1;
    size_t n = 0;
    for (size_t i = 0; i < set->n; i++) {
        const pboost_plan *plan = &set->plan[i];
        if (plan->n_points == 0)
            continue;
        cost_curve *c = &curve[over_epsilon ? n++ : 0];
        char epsilon[PLAN_EPSILON_TEXT];
        plan_epsilon_text(epsilon, set->epsilon[0]);
        if (over_epsilon)
            snprintf(c->name, sizeof c->name, "%zu", set->min_bag[i]);
        else
            snprintf(c->name, sizeof c->name, "%s", epsilon);
        for (size_t e = 0; e < plan->n_costs && c->n < MOST; e++)
            insert(c, over_epsilon ? epsilon_place(set->epsilon[e]) : (double)set->min_bag[i],
                   &plan->cost[e]);
    }
    return over_epsilon ? n : 1;
}

/* ---- The page -------------------------------------------------------------------------------- */

static void write_cost(page_table *t, const plan_set *set, size_t i, size_t e)
{
    const pboost_plan *plan = &set->plan[i];
    const pboost_cost *cost = &plan->cost[e];
    char text[CELL], epsilon[PLAN_EPSILON_TEXT];
    plan_epsilon_text(epsilon, set->epsilon[e]);
    page_cell(t, "%zu", set->min_bag[i]);
    page_cell_text(t, epsilon);
    page_cell(t, "%zu", plan->point[cost->point].bag_size);
    page_cell(t, "%.4g", cost->loss);
    kept_text(text, cost->kept);
    page_cell_text(t, text);
    labels_text(text, plan, cost);
    page_cell(t, "%s rows", text);
    page_cell(t, "%.3f", cost->measure);
    needed_text(text, cost->rows_needed);
    if (set->target > 0.0)
        page_cell_text(t, text);
}

static void write_table(FILE *out, const plan_set *set)
{
    const pboost_plan *first = &set->plan[set->first];
    const page_column columns[] = {{"k", true},
                                   {"epsilon", true},
                                   {"bag size", true},
                                   {"loss", true},
                                   {"kept", true},
                                   {"as good as labels of", true},
                                   {measure_title(first->measure), true},
                                   {"rows needed", true}};
    size_t n_columns = set->target > 0.0 ? 8 : 7;
    page_table t = page_table_begin(out, "Every k and epsilon", columns, n_columns);
    for (size_t i = 0; i < set->n; i++) {
        for (size_t e = 0; e < set->plan[i].n_costs; e++)
            write_cost(&t, set, i, e);
        if (set->plan[i].n_points > 0)
            continue;
        page_cell(&t, "%zu", set->min_bag[i]);
        page_cell_text(&t, "any");
        page_cell_text(&t, "too few rows");
        for (size_t j = 3; j < n_columns; j++)
            page_cell_text(&t, "–");
    }
    page_table_end(&t);
}

static void write_targets(FILE *out, const plan_set *set)
{
    char text[SENTENCE];
    for (size_t i = 0; i < set->n; i++) {
        epsilon_sentence(text, set, i);
        if (text[0] != '\0')
            page_paragraph(out, text);
    }
}

static void write_model(FILE *out, const plan_set *set)
{
    char text[SENTENCE];
    model_sentence(text, set);
    if (text[0] != '\0')
        page_paragraph(out, text);
}

void plan_cost_paragraphs(FILE *out, const plan_set *set)
{
    char text[SENTENCE];
    cost_sentence(text, &set->plan[set->first]);
    page_paragraph(out, text);
    write_model(out, set);
    if (!(set->target > 0.0))
        return;
    needed_sentence(text, set);
    page_paragraph(out, text);
    write_targets(out, set);
}

static void write_page(FILE *out, const plan_set *set, const chart_figure *figure)
{
    const pboost_plan *first = &set->plan[set->first];
    char ends[SENTENCE];

    page_begin(out, "Plan", "what k and epsilon are expected to cost");
    page_section(out, "costs", "What k and epsilon cost");
    for (size_t i = 0; i < first->n_warnings; i++)
        page_notice(out, first->warning[i]);
    page_figure(out, figure);
    write_table(out, set);
    snprintf(
        ends, sizeof ends,
        "All labels: loss %.4g, %s %.3f. A model that knows only the mean: loss %.4g, %s %.3f. "
        "Kept is the part that is kept of what all labels gain over that model.",
        first->loss_all_labels, measure_title(first->measure), first->measure_all_labels,
        first->loss_constant, measure_title(first->measure), first->measure_constant);
    page_paragraph(out, ends);
    write_model(out, set);
    if (set->target > 0.0) {
        page_section(out, "target", "What reaches the target");
        write_targets(out, set);
    }
    page_section(out, "assumed", "What this rests on");
    page_paragraph(out, "Losses and measures are expected on new rows, if the model is right and "
                        "effects are as assumed. Nothing here was checked on labels.");
    plan_page_assumptions(out, first);
    page_end(out);
}

/* The nearest 1, 2 or 5 times a power of ten that is at most value. */
static double round_below(double value)
{
    double unit = pow(10.0, floor(log10(value * (1.0 + 1e-9)))),
           factor = value / unit * (1.0 + 1e-9);
    return unit * (factor >= 5.0 ? 5.0 : factor >= 2.0 ? 2.0 : 1.0);
}

/* A range of epsilon that begins and ends at labels of the axis. */
static void set_range(chart_axis *axis, const plan_set *set)
{
    double least = INFINITY, most = 0.0;
    for (size_t e = 0; e < set->n_epsilon; e++)
        if (set->epsilon[e].den > 0) {
            least = fmin(least, epsilon_place(set->epsilon[e]));
            most = fmax(most, epsilon_place(set->epsilon[e]));
        }
    if (!(most > 0.0))
        return;
    axis->lo = round_below(least);
    axis->hi = 1.0 / round_below(1.0 / most);
    if (axis->hi < 4.0 * axis->lo) {
        axis->lo = round_below(0.9 * axis->lo);
        axis->hi = 1.0 / round_below(0.9 / axis->hi);
    }
}

/* One panel of losses, and one of the labels that would do as well: they differ where all losses
 * are close to that of all labels. */
static chart_panel cost_panel(const plan_set *set, const chart_series *series, size_t n,
                              const char *label, chart_scale scale)
{
    bool over_epsilon = set->n_epsilon > 1;
    chart_panel panel = {.x = {.label = over_epsilon ? "epsilon" : "k, least rows in a bag",
                               .scale = over_epsilon ? CHART_LOG : CHART_LOG2},
                         .y = {.label = label, .scale = scale},
                         .series = series,
                         .n_series = n};
    if (over_epsilon)
        set_range(&panel.x, set);
    return panel;
}

pboost_status plan_costs_write(const char *path, const plan_set *set, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_plan *first = &set->plan[set->first];
    bool over_epsilon = set->n_epsilon > 1, svg = chart_names_svg(path);
    pboost_output *output = NULL;
    chart_series *series = NULL;
    cost_curve *curve = NULL;

    NEED(curve = calloc(set->n, sizeof *curve), err);
    NEED(series = calloc(2 * set->n, sizeof *series), err);
    size_t n = collect(curve, set);
    for (size_t i = 0; i < n; i++) {
        series[i] = (chart_series){.colour_key = curve[i].name,
                                   .colour = (int)i + 1,
                                   .points = true,
                                   .n = curve[i].n,
                                   .x = curve[i].x,
                                   .y = curve[i].loss};
        series[n + i] = series[i];
        series[n + i].y = curve[i].labels;
    }
    double gain = first->loss_constant - first->loss_all_labels;
    const chart_rule losses[] = {{first->loss_all_labels, "all labels"},
                                 {first->loss_constant, "constant model"},
                                 {first->loss_all_labels + set->target * gain, "target"}};
    const chart_rule labels = {(double)first->rows, "all labels"};
    chart_panel panels[] = {
        cost_panel(set, series, n, "expected loss on new rows", CHART_LINEAR),
        cost_panel(set, series + n, n, "labelled rows that do as well", CHART_LOG)};
    panels[0].rules = losses;
    panels[0].n_rules = set->target > 0.0 ? 3 : 2;
    panels[1].rules = &labels;
    panels[1].n_rules = 1;
    chart_figure figure = {.id = "costs",
                           .title = "Expected loss, and labels that would do as well",
                           .caption = over_epsilon
                                          ? "The smaller epsilon, the stronger the noise; ∞ is no "
                                            "noise. Forecast, not measured."
                                          : "Forecast, not measured.",
                           .colour_name = over_epsilon ? "k" : "epsilon",
                           .panels = panels,
                           .n_panels = 2};
    TRY(pboost_output_open(&output, path, err));
    if (svg)
        chart_write_svg(pboost_output_stream(output), &figure);
    else
        write_page(pboost_output_stream(output), set, &figure);
    st = pboost_output_commit(output, err);
done:
    free(curve);
    free(series);
    return st;
}
