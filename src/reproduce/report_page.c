/* report.html: how the run was made, the verdicts, the figures, the theory. */
#include "page.h"

#include <math.h>
#include <string.h>

#include "figures.h"
#include "output.h"
#include "try.h"

/* ---- The run --------------------------------------------------------------------------------- */

static void write_facts(FILE *out, const repro_results *results)
{
    char seed[32], seconds[64], threads[32], scale[96];
    double s = results->seconds;

    snprintf(seed, sizeof seed, "%llu", (unsigned long long)results->settings.seed);
    if (s < 120.0)
        snprintf(seconds, sizeof seconds, "%.1f s", s);
    else
        snprintf(seconds, sizeof seconds, "%.0f min %02.0f s", floor(s / 60.0), fmod(s, 60.0));
    snprintf(threads, sizeof threads, "%s", pboost_version());
    snprintf(scale, sizeof scale, "%s%s", repro_scale_name(results->settings.scale),
             results->settings.scale == SCALE_SMALL ? " (the paper's own is --scale paper)" : "");
    const page_fact facts[] = {{"priorboost", threads},
                               {"machine", results->machine},
                               {"scale", scale},
                               {"seed", seed},
                               {"time taken", seconds}};
    page_facts(out, facts, sizeof facts / sizeof *facts);
}

/* ---- Claims ---------------------------------------------------------------------------------- */

/* All claims with their criteria; or those about one experiment, with what was measured. */
static void write_claims(FILE *out, const repro_claims *claims, const experiment_id *about)
{
    const page_column columns[] = {{"Verdict", false},
                                   {"The paper says", false},
                                   {about == NULL ? "It counts as true when" : "Measured", false}};
    page_table t = page_table_begin(out, about == NULL ? NULL : "The numbers behind the verdicts",
                                    columns, sizeof columns / sizeof *columns);

    for (size_t i = 0; i < claims->n; i++) {
        const repro_claim *c = &claims->claim[i];
        if (about != NULL && c->experiment != *about)
            continue;
        page_cell_verdict(&t, c->verdict, NULL);
        page_cell_text(&t, c->text);
        page_cell_text(&t, about == NULL ? c->criterion : c->measured);
        for (size_t j = 0; j < 2 && about == NULL && repro_claim_is_split(c); j++) {
            page_cell_verdict(&t, c->under[j], NULL);
            page_cell_text(&t, "… if it means:");
            page_cell_text(&t, c->reading[j]);
        }
    }
    page_table_end(&t);
}

/* ---- Figures --------------------------------------------------------------------------------- */

static const char *curve_name(const repro_curve *curve)
{
    static const char *const NAMES[][2] = {[PBOOST_PRIORBOOST] = {"PriorBoost", "PriorBoost"},
                                           [PBOOST_ONESHOT] = {"OneShot", "OneShot, λ per row"},
                                           [PBOOST_PBPREFIX] = {"PBPrefix", "PBPrefix, λ per row"}};
    return NAMES[curve->algorithm][curve->penalty];
}

/* The last point of every curve: a row per algorithm, a column per bag size. */
static pboost_status write_finals(FILE *out, const repro_results *results, experiment_id id,
                                  pboost_error *err)
{
    static const char *const CAPTIONS[] = {"Test loss after the last step",
                                           "Test loss at the largest ε",
                                           "Test loss with the most rows"};
    pboost_status st = PBOOST_OK;
    const experiment_info *info = repro_experiment(id);
    const experiment_setup *setup = &results->settings.setup[id];
    size_t width = setup->n_bags + 1;
    char(*heading)[32] = NULL;
    page_column *columns = NULL;

    NEED(columns = calloc(width, sizeof *columns), err);
    NEED(heading = calloc(width, sizeof *heading), err);
    columns[0].heading = "algorithm";
    for (size_t i = 0; i < setup->n_bags; i++) {
        snprintf(heading[i], sizeof *heading, "k = %zu", setup->min_bag[i]);
        columns[i + 1] = (page_column){heading[i], true};
    }
    page_table t = page_table_begin(out, CAPTIONS[info->axis], columns, width);
    for (size_t m = 0; m < info->n_methods; m++) {
        const experiment_method *method = &info->method[m];
        const repro_curve named = {.algorithm = method->algorithm, .penalty = method->penalty};
        page_cell_text(&t, curve_name(&named));
        for (size_t i = 0; i < setup->n_bags; i++) {
            const repro_curve *c = repro_results_find(results, id, method->algorithm,
                                                      method->penalty, setup->min_bag[i]);
            if (c != NULL)
                page_cell(&t, "%.4g", repro_curve_last(results, id, c));
            else
                page_cell_text(&t, "–");
        }
    }
    page_table_end(&t);
done:
    free(columns);
    free(heading);
    return st;
}

static pboost_status write_experiment(FILE *out, const repro_findings *f, experiment_id id,
                                      pboost_error *err)
{
    static const char *const TEXTS[N_EXPERIMENTS] = {
        [EXPERIMENT_LINEAR] =
            "y = xᵀθ* + noise. Each round asks about a fresh slice, in bags of rows with "
            "similar predictions by the last round's model; OneShot asks once, about random bags "
            "of all rows.",
        [EXPERIMENT_LOGISTIC] =
            "The same rows, with labels round(sigmoid(xᵀθ* + noise)); the oracle rounds the mean "
            "of every bag to 0 or 1. The table also has the other reading of the penalty: λ for a "
            "slice, growing with the rows of a fit.",
        [EXPERIMENT_PRIVACY] = ("Laplace noise on the answers makes every label ε-differentially "
                                "private. The loss is that of the last model."),
        [EXPERIMENT_BAG_SIZE] =
            "The same with more features and ε = 1, as the rows grow in number."};
    pboost_status st = PBOOST_OK;
    repro_figure figure = {0};

    TRY(repro_figure_make(&figure, f->results, id, err));
    page_section(out, repro_experiment(id)->name, repro_experiment(id)->title);
    page_paragraph(out, TEXTS[id]);
    page_figure(out, &figure.chart);
    TRY(write_finals(out, f->results, id, err));
    write_claims(out, f->claims, &id);
done:
    repro_figure_free(&figure);
    return st;
}

/* ---- Theory ---------------------------------------------------------------------------------- */

static void add_risk(page_table *t, const theory_risk *r)
{
    page_cell(t, "%.3g", r->risk.bias);
    page_cell(t, "%.3g", r->risk.variance);
    page_cell(t, "%.4g", r->risk.bias + r->risk.variance);
    page_cell(t, "%.4g ± %.1g", r->simulated, 2.0 * r->simulated_error);
}

static void write_risks(FILE *out, const repro_theory *theory)
{
    static const page_column COLUMNS[] = {
        {"k", true},    {"bags", false},     {"bias", true},        {"variance", true},
        {"risk", true}, {"simulated", true}, {"upper bound", true}, {"(1−1/k)²|θ*|²", true}};
    page_table t =
        page_table_begin(out, "Linear regression: E|θ^ − θ*|², exactly and in simulation", COLUMNS,
                         sizeof COLUMNS / sizeof *COLUMNS);

    for (size_t i = 0; i < theory->n; i++) {
        const theory_row *r = &theory->row[i];
        const theory_risk *risk[] = {&r->curated, &r->random};
        for (size_t j = 0; j < 2; j++) {
            page_cell(&t, "%zu", r->min_bag);
            page_cell_text(&t, j == 0 ? "curated" : "random");
            add_risk(&t, risk[j]);
            page_cell(&t, "%.3g", risk[j]->bound);
            if (j == 0)
                page_cell_text(&t, "–");
            else
                page_cell(&t, "%.3g", r->lower_bound);
        }
    }
    page_table_end(&t);
}

static void write_gradients(FILE *out, const repro_theory *theory)
{
    static const page_column COLUMNS[] = {
        {"k", true},         {"bias", true},        {"variance", true}, {"sum", true},
        {"simulated", true}, {"upper bound", true}, {"m/d", true},      {"max v/min v", true}};
    page_table t = page_table_begin(
        out, "Logistic regression: E|gradient of the mean loss at θ*|², curated bags", COLUMNS,
        sizeof COLUMNS / sizeof *COLUMNS);

    for (size_t i = 0; i < theory->n; i++) {
        const theory_row *r = &theory->row[i];
        page_cell(&t, "%zu", r->min_bag);
        page_cell(&t, "%.3g", r->gradient.bias);
        page_cell(&t, "%.3g", r->gradient.variance);
        page_cell(&t, "%.4g", r->gradient.bias + r->gradient.variance);
        page_cell(&t, "%.4g ± %.1g", r->gradient_simulated, 2.0 * r->gradient_error);
        page_cell(&t, "%.3g", r->gradient_bound);
        page_cell(&t, "%.4g", r->variance.bags_per_feature);
        page_cell(&t, "%.3g", r->variance.variance_ratio);
    }
    page_table_end(&t);
}

static pboost_status write_theory(FILE *out, const repro_theory *theory, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    repro_figure figure = {0};

    TRY(repro_figure_theory(&figure, theory, err));
    page_section(out, "theory", "Theory");
    page_paragraph(out,
                   "The exact risk of the event-level fit, its upper bound, and the mean of "
                   "simulations with the same rows and fresh noise: for bags made with θ*, and for "
                   "random ones, whose bias tends to (1−1/k)²|θ*|² as the rows grow in number and "
                   "never vanishes. Below, the same for the gradient of the logistic loss. The "
                   "variance term of that bound does not depend on the bags where m/d is at least "
                   "max v/min v.");
    page_figure(out, &figure.chart);
    write_risks(out, theory);
    write_gradients(out, theory);
done:
    repro_figure_free(&figure);
    return st;
}

/* ---- The page -------------------------------------------------------------------------------- */

static void write_contents(FILE *out, const repro_settings *settings)
{
    page_entry entries[N_EXPERIMENTS + 2];
    size_t n = 0;

    entries[n++] = (page_entry){"claims", "Claims"};
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++)
        if (settings->wanted[id])
            entries[n++] = (page_entry){repro_experiment(id)->name, repro_experiment(id)->title};
    entries[n++] = (page_entry){"theory", "Theory"};
    page_contents(out, entries, n);
}

pboost_status repro_write_page(FILE *out, const repro_findings *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const repro_settings *settings = &f->results->settings;

    page_begin(out, "PriorBoost, reproduced",
               "The experiments of the paper, repeated, with a verdict on each claim");
    write_facts(out, f->results);
    write_contents(out, settings);
    page_section(out, "claims", "Claims");
    if (settings->scale == SCALE_SMALL)
        page_notice(out, "This is a trial at small scale: claims about convergence at large k need "
                         "the paper's 256 rounds and 2^20 rows (--scale paper).");
    write_claims(out, f->claims, NULL);
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++)
        if (settings->wanted[id])
            TRY(write_experiment(out, f, id, err));
    TRY(write_theory(out, f->theory, err));
    page_end(out);
done:
    return st;
}
