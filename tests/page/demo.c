/* Writes a page like a real report from made-up numbers, to look at and for the browser test:
 *
 *     page_demo DIR    writes DIR/report.html and DIR/FIGURE.svg
 *
 * The curves have the shape of the paper's figures; nothing here is a result. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "page.h"

enum { BAGS = 7, STEPS = 256, EPSILONS = 14, SIZES = 6, ALGORITHMS = 3 };

static const char *const bag_key[BAGS] = {"k = 1",  "k = 2",  "k = 4", "k = 8",
                                          "k = 16", "k = 32", "k = 64"};
static const char *const algorithm_key[ALGORITHMS] = {"PriorBoost", "OneShot", "PBPrefix"};
static const chart_dash algorithm_dash[ALGORITHMS] = {CHART_SOLID, CHART_DOTTED, CHART_DASHED};

static double wobble(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / 16777216.0 - 0.5;
}

static chart_series series(int bag, int algorithm, size_t n, const double *x, const double *y)
{
    return (chart_series){.colour_key = bag_key[bag],
                          .dash_key = algorithm_key[algorithm],
                          .colour = bag,
                          .dash = algorithm_dash[algorithm],
                          .n = n,
                          .x = x,
                          .y = y};
}

/* ---- Files ----------------------------------------------------------------------------------- */

static FILE *create(const char *directory, const char *name, const char *ending)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s", directory, name, ending);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    return file;
}

static void finish(FILE *file)
{
    if (ferror(file) | fclose(file)) {
        perror("page_demo");
        exit(1);
    }
}

static void write_figure(FILE *page, const char *directory, const chart_figure *figure)
{
    FILE *svg = create(directory, figure->id, ".svg");
    chart_write_svg(svg, figure);
    finish(svg);
    page_figure(page, figure);
}

/* ---- Steps: two panels of 14 curves ---------------------------------------------------------- */

typedef struct {
    double x[STEPS], y[BAGS][ALGORITHMS][STEPS];
    chart_series series[2][2 * BAGS];
    chart_panel panels[2];
} steps;

static void fill_steps(steps *d, double floor, double height)
{
    unsigned state = 1;
    for (int t = 0; t < STEPS; t++)
        d->x[t] = t + 1;
    for (int b = 0; b < BAGS; b++) {
        double k = ldexp(1, b), lost = (1 - 1 / k) * (1 - 1 / k);
        for (int t = 0; t < STEPS; t++) {
            double left = exp(-2.2 * t / k), noise = 1 + 0.06 * wobble(&state);
            d->y[b][0][t] = floor * noise + height * lost * left;
            d->y[b][1][t] = floor + height * lost;
            d->y[b][2][t] = floor * noise + height * lost * (0.3 * k / (k + t) + 0.7 * left);
        }
    }
}

static void write_steps(FILE *page, const char *directory, const char *id, const char *title,
                        const char *caption, const char *y_label, steps *d)
{
    static const char *const panel_title[2] = {"PriorBoost and OneShot", "PriorBoost and PBPrefix"};
    for (int p = 0; p < 2; p++) {
        for (int b = 0; b < BAGS; b++) {
            d->series[p][b] = series(b, 0, STEPS, d->x, d->y[b][0]);
            d->series[p][BAGS + b] = series(b, p + 1, STEPS, d->x, d->y[b][p + 1]);
        }
        d->panels[p] = (chart_panel){.title = panel_title[p],
                                     .x = {.label = "step t"},
                                     .y = {.label = y_label, .scale = CHART_LOG},
                                     .series = d->series[p],
                                     .n_series = 2 * BAGS};
    }
    chart_figure figure = {id, title, caption, "bag size", "algorithm", d->panels, 2};
    write_figure(page, directory, &figure);
}

/* ---- Privacy: error bars and infinity -------------------------------------------------------- */

static void write_privacy(FILE *page, const char *directory)
{
    static double x[EPSILONS], y[2][BAGS][EPSILONS], low[2][BAGS][EPSILONS],
        high[2][BAGS][EPSILONS];
    static chart_series all[2 * BAGS];
    for (int i = 0; i < EPSILONS; i++)
        x[i] = i == EPSILONS - 1 ? INFINITY : 0.01 * pow(10, i / 3.0);
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < BAGS; b++) {
            double k = ldexp(1, b), best = a == 0 ? 0.105 : 0.04 + 0.6 * (1 - 1 / k);
            for (int i = 0; i < EPSILONS; i++) {
                double noisy = isinf(x[i]) ? 0 : 1 / (1 + pow(x[i] * (a == 0 ? k : 1), 1.2));
                y[a][b][i] = best + (0.69 - best) * noisy;
                low[a][b][i] = y[a][b][i] - 0.03 * noisy - 0.002;
                high[a][b][i] = y[a][b][i] + 0.03 * noisy + 0.002;
            }
            all[a * BAGS + b] = series(b, a, EPSILONS, x, y[a][b]);
            all[a * BAGS + b].points = true;
            all[a * BAGS + b].low = low[a][b];
            all[a * BAGS + b].high = high[a][b];
        }
    chart_panel panel = {.x = {.label = "privacy budget ε", .scale = CHART_LOG},
                         .y = {.label = "test log loss", .scale = CHART_LOG},
                         .series = all,
                         .n_series = 2 * BAGS};
    chart_figure figure = {"privacy",
                           "Figure 3: label differential privacy",
                           "Final test log loss by privacy budget, mean and standard deviation of "
                           "10 realizations; ∞ is without noise.",
                           "bag size",
                           "algorithm",
                           &panel,
                           1};
    write_figure(page, directory, &figure);
}

/* ---- Bag size: powers of two and rings ------------------------------------------------------- */

static void write_bag_size(FILE *page, const char *directory)
{
    static double x[SIZES], y[BAGS][SIZES], low[BAGS][SIZES], high[BAGS][SIZES];
    static chart_series all[BAGS];
    static chart_mark best[SIZES];
    for (int i = 0; i < SIZES; i++)
        x[i] = ldexp(1, 15 + i);
    for (int b = 0; b < BAGS; b++) {
        for (int i = 0; i < SIZES; i++) {
            double k = ldexp(1, b), n = x[i] / 65536;
            y[b][i] = 0.12 + 0.35 / (k * sqrt(n)) + 0.01 * k / n;
            low[b][i] = 0.95 * y[b][i];
            high[b][i] = 1.05 * y[b][i];
        }
        all[b] = series(b, 0, SIZES, x, y[b]);
        all[b].dash_key = NULL;
        all[b].points = true;
        all[b].low = low[b];
        all[b].high = high[b];
    }
    for (int i = 0; i < SIZES; i++) {
        int b = 0;
        for (int other = 1; other < BAGS; other++)
            b = y[other][i] < y[b][i] ? other : b;
        best[i] = (chart_mark){x[i], y[b][i], b, bag_key[b], NULL, "optimal bag size"};
    }
    chart_rule floor = {0.12, "without noise, k = 1"};
    chart_panel panel = {.x = {.label = "rows n", .scale = CHART_LOG2},
                         .y = {.label = "test log loss", .scale = CHART_LOG},
                         .series = all,
                         .n_series = BAGS,
                         .marks = best,
                         .n_marks = SIZES,
                         .rules = &floor,
                         .n_rules = 1};
    chart_figure figure = {"bag-size",
                           "Figure 4: the optimal bag size grows with n",
                           "Test log loss at ε = 1 by number of rows; a ring marks the best bag "
                           "size for each n.",
                           "bag size",
                           NULL,
                           &panel,
                           1};
    write_figure(page, directory, &figure);
}

/* ---- Theory: formula, bound, simulation ------------------------------------------------------ */

static void write_theory(FILE *page, const char *directory)
{
    static double x[BAGS], risk[BAGS], bound[BAGS], simulated[BAGS], low[BAGS], high[BAGS];
    for (int b = 0; b < BAGS; b++) {
        x[b] = ldexp(1, b);
        risk[b] = 8e-6 + 2e-6 * x[b] * x[b];
        bound[b] = 3 * risk[b];
        simulated[b] = risk[b] * (1 + 0.04 * sin(3.0 * b));
        low[b] = 0.8 * simulated[b];
        high[b] = 1.2 * simulated[b];
    }
    chart_series all[] = {
        {.dash_key = "risk formula", .colour = 2, .n = BAGS, .x = x, .y = risk},
        {.dash_key = "bound", .colour = 6, .dash = CHART_DASHED, .n = BAGS, .x = x, .y = bound},
        {.dash_key = "simulation",
         .dash = CHART_NO_LINE,
         .n = BAGS,
         .x = x,
         .y = simulated,
         .low = low,
         .high = high},
    };
    chart_panel panel = {.x = {.label = "bag size k", .scale = CHART_LOG2},
                         .y = {.label = "risk", .scale = CHART_LOG},
                         .series = all,
                         .n_series = 3};
    chart_figure figure = {"theory", "Risk by bag size", "Formula, bound and simulation.",
                           NULL,     "quantity",         &panel,
                           1};
    write_figure(page, directory, &figure);
}

/* ---- The page -------------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    page_verdict verdict;
} cell;

static void write_table(FILE *page, const char *caption, const page_column *columns,
                        size_t n_columns, const cell *cells, size_t n_rows)
{
    page_table t = page_table_begin(page, caption, columns, n_columns);
    for (size_t i = 0; i < n_rows * n_columns; i++)
        page_cell_verdict(&t, cells[i].verdict, cells[i].text);
    page_table_end(&t);
}

static void write_claims(FILE *page)
{
    static const page_column columns[] = {
        {"claim", false}, {"figure", false}, {"measured", false}, {"verdict", false}};
    static const cell cells[] = {
        {.text = "PriorBoost converges to the loss of k = 1 for all bag sizes"},
        {.text = "1"},
        {.text = "worst final MSE / MSE at k = 1: 1.03 (k = 64)"},
        {.verdict = PAGE_HOLDS},
        {.text = "For k = 1 PriorBoost and OneShot match"},
        {.text = "3"},
        {.text = "ε ≤ 1: within 3 %; ε = 100: 0.105 against 0.039"},
        {.verdict = PAGE_HOLDS_ONE_READING, .text = "λ fixed on the sum weighs more on a slice"},
        {.text = "Crossovers of the optimal k spread out"},
        {.text = "4"},
        {.text = "8 at 2¹⁶, 8 at 2¹⁷, 16 at 2¹⁸"},
        {.verdict = PAGE_DOES_NOT_HOLD},
        {.text = "Text is escaped: <b>&amp; \"quotes\" 'single'</b>"},
        {.text = "–"},
        {.text = NULL},
        {.verdict = PAGE_NOT_TESTED}};
    write_table(page, "The paper's claims and what this run found", columns, 4, cells, 4);
}

static void write_top(FILE *page)
{
    static const page_entry contents[] = {{"claims", "Claims"},
                                          {"figures", "Figures"},
                                          {"theory-section", "Theory"},
                                          {"run", "This run"}};
    static const page_column columns[] = {
        {"k", true}, {"PriorBoost", true}, {"OneShot", true}, {"PBPrefix", true}};
    static const cell cells[] = {{.text = "1"},      {.text = "0.0100"}, {.text = "0.0100"},
                                 {.text = "0.0100"}, {.text = "64"},     {.text = "0.0103"},
                                 {.text = "3.3812"}, {.text = "0.4612"}};
    page_begin(page, "PriorBoost, reproduced",
               "Every experiment of the paper, from made-up numbers: a page to look at");
    page_notice(page, "Made-up numbers: nothing on this page is a result.");
    page_contents(page, contents, 4);
    page_section(page, "claims", "Claims");
    write_claims(page);
    write_table(page, "Final test loss", columns, 4, cells, 2);
}

static void write_run(FILE *page)
{
    static const page_fact facts[] = {
        {"machine", "2 cores, 8 GiB"}, {"version", "0.1.0"}, {"seed", "1"}, {"time taken", "41 s"}};
    page_section(page, "run", "This run");
    page_facts(page, facts, 4);
    page_code(page, "priorboost reproduce all --scale small --seed 1 --out results");
}

int main(int argc, char **argv)
{
    static steps linear, logistic;
    if (argc != 2) {
        fprintf(stderr, "usage: page_demo DIR\n");
        return 2;
    }
    FILE *page = create(argv[1], "report", ".html");
    write_top(page);
    page_section(page, "figures", "Figures");
    page_paragraph(page, "Curves in the shape of the paper's figures.");
    fill_steps(&linear, 0.01, 3.47);
    write_steps(page, argv[1], "linear", "Figure 1: linear regression",
                "Test mean squared error at each step. n = 2²⁰, d = 8, T = 256, σ = 0.1.",
                "test MSE", &linear);
    fill_steps(&logistic, 0.105, 0.5);
    write_steps(page, argv[1], "logistic", "Figure 2: logistic regression",
                "Test log loss at each step. n = 2²⁰, d = 8, T = 256, λ = 10.", "test log loss",
                &logistic);
    write_privacy(page, argv[1]);
    write_bag_size(page, argv[1]);
    page_section(page, "theory-section", "Theory");
    write_theory(page, argv[1]);
    write_run(page);
    page_end(page);
    finish(page);
    return 0;
}
