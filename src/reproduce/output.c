/* The files of a finished run: tables, figures, the report, and results.json last. */
#include "output.h"

#include <limits.h>
#include <math.h>

#include <priorboost/io.h>

#include "figures.h"
#include "try.h"

/* ---- results.json ---------------------------------------------------------------------------- */

/* The value, or NULL where something could not be put in. */
static json_t *unless_bad(json_t *value, int bad)
{
    if (bad == 0)
        return value;
    json_decref(value);
    return NULL;
}

static json_t *json_point(experiment_axis axis, double x)
{
    if (axis == AXIS_EPSILON)
        return isfinite(x) ? json_real(x) : json_string("inf");
    return json_integer((json_int_t)x);
}

/* Curves of one reading of the penalty as rows. */
static json_t *json_rows(const repro_results *results, experiment_id id, experiment_penalty penalty)
{
    const repro_result *r = &results->result[id];
    const experiment_info *info = repro_experiment(id);
    json_t *rows = json_array();
    int bad = 0;

    for (size_t c = 0; c < r->n_curves; c++)
        for (size_t i = 0; r->curves[c].penalty == penalty && i < r->n_points; i++) {
            const repro_curve *curve = &r->curves[c];
            json_t *row =
                json_pack("{s:s, s:I, s:o, s:f, s:f, s:I}", "algorithm",
                          pboost_algorithm_name(curve->algorithm), "k", (json_int_t)curve->min_bag,
                          repro_axis_name(info->axis), json_point(info->axis, r->x[i]), "mean",
                          curve->mean[i], "sd", curve->sd[i], "realizations",
                          (json_int_t)results->settings.setup[id].realizations);
            bad |= json_array_append_new(rows, row);
        }
    return unless_bad(rows, bad);
}

/* [{"reading", "verdict"}, ...]; empty where there is one reading. */
static json_t *json_readings(const repro_claim *c)
{
    json_t *array = json_array();
    int bad = 0;
    for (size_t i = 0; i < 2 && c->reading[i] != NULL; i++)
        bad |= json_array_append_new(array, json_pack("{s:s, s:s}", "reading", c->reading[i],
                                                      "verdict", page_verdict_name(c->under[i])));
    return unless_bad(array, bad);
}

static json_t *json_claims(const repro_claims *claims)
{
    json_t *array = json_array();
    int bad = 0;
    for (size_t i = 0; i < claims->n; i++) {
        const repro_claim *c = &claims->claim[i];
        json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:s}", "id", c->id, "experiment",
                                repro_experiment(c->experiment)->name, "claim", c->text,
                                "criterion", c->criterion, "verdict", page_verdict_name(c->verdict),
                                "readings", json_readings(c), "measured", c->measured);
        bad |= json_array_append_new(array, row);
    }
    return unless_bad(array, bad);
}

static json_t *json_risk(const theory_risk *r)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "bias", r->risk.bias, "variance",
                     r->risk.variance, "bound", r->bound, "simulated", r->simulated,
                     "standard_error", r->simulated_error);
}

static json_t *json_theory(const repro_theory *theory)
{
    json_t *array = json_array();
    int bad = 0;
    for (size_t i = 0; i < theory->n; i++) {
        const theory_row *r = &theory->row[i];
        json_t *row = json_pack(
            "{s:I, s:o, s:o, s:f, s:f, s:{s:f, s:f, s:f, s:f, s:f}, s:{s:f, s:f, s:b}}", "k",
            (json_int_t)r->min_bag, "curated", json_risk(&r->curated), "random",
            json_risk(&r->random), "random_lower_bound", r->lower_bound, "mismatch", r->mismatch,
            "gradient", "bias", r->gradient.bias, "variance", r->gradient.variance, "bound",
            r->gradient_bound, "simulated", r->gradient_simulated, "standard_error",
            r->gradient_error, "variance_check", "bags_per_feature", r->variance.bags_per_feature,
            "variance_ratio", r->variance.variance_ratio, "droppable", (int)r->variance.droppable);
        bad |= json_array_append_new(array, row);
    }
    return unless_bad(array, bad);
}

json_t *repro_results_json(const repro_findings *f)
{
    const repro_results *results = f->results;
    json_t *object = json_object();
    int bad = 0;

    for (experiment_id id = 0; id < N_EXPERIMENTS; id++) {
        const experiment_info *info = repro_experiment(id);
        if (results->settings.wanted[id])
            bad |= json_object_set_new(object, info->name, json_rows(results, id, PENALTY_SUM));
        bool both = false;
        for (size_t m = 0; m < info->n_methods; m++)
            both = both || info->method[m].penalty == PENALTY_PER_ROW;
        if (results->settings.wanted[id] && both) {
            char key[64];
            snprintf(key, sizeof key, "%s-l2-per-row", info->name);
            bad |= json_object_set_new(object, key, json_rows(results, id, PENALTY_PER_ROW));
        }
    }
    bad |= json_object_set_new(object, "claims", json_claims(f->claims));
    bad |= json_object_set_new(object, "theory", json_theory(f->theory));
    bad |= json_object_set_new(object, "machine", json_string(results->machine));
    bad |= json_object_set_new(object, "version", json_string(pboost_version()));
    bad |= json_object_set_new(object, "scale",
                               json_string(repro_scale_name(results->settings.scale)));
    bad |= json_object_set_new(object, "seed", json_integer((json_int_t)results->settings.seed));
    bad |= json_object_set_new(object, "seconds", json_real(results->seconds));
    return unless_bad(object, bad);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void write_csv(FILE *out, const repro_findings *f, experiment_id id)
{
    const repro_results *results = f->results;
    const repro_result *r = &results->result[id];
    const experiment_info *info = repro_experiment(id);

    fprintf(out, "algorithm,l2,k,%s,mean,sd,realizations\n", repro_axis_name(info->axis));
    for (size_t c = 0; c < r->n_curves; c++)
        for (size_t i = 0; i < r->n_points; i++) {
            const repro_curve *curve = &r->curves[c];
            fprintf(out, "%s,%s,%zu,%.17g,%.17g,%.17g,%zu\n",
                    pboost_algorithm_name(curve->algorithm),
                    curve->penalty == PENALTY_PER_ROW ? "per-row" : "sum", curve->min_bag, r->x[i],
                    curve->mean[i], curve->sd[i], results->settings.setup[id].realizations);
        }
}

static void write_theory_csv(FILE *out, const repro_findings *f, experiment_id id)
{
    const repro_theory *theory = f->theory;

    (void)id;
    fprintf(out, "k,bags,bias,variance,bound,simulated,standard_error,random_lower_bound\n");
    for (size_t i = 0; i < theory->n; i++) {
        const theory_row *r = &theory->row[i];
        const theory_risk *risk[] = {&r->curated, &r->random};
        for (size_t j = 0; j < 2; j++)
            fprintf(out, "%zu,%s,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", r->min_bag,
                    j == 0 ? "curated" : "random", risk[j]->risk.bias, risk[j]->risk.variance,
                    risk[j]->bound, risk[j]->simulated, risk[j]->simulated_error, r->lower_bound);
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

static pboost_status open_file(pboost_output **out, const char *dir, const char *name,
                               const char *ending, pboost_error *err)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s%s", dir, name, ending);
    if (n < 0 || (size_t)n >= sizeof path)
        return pboost_fail(err, PBOOST_INVALID, "the path %s is too long", dir);
    return pboost_output_open(out, path, err);
}

/* A figure: its numbers, written by `table`, and its chart. */
static pboost_status
write_figure(const char *dir, const repro_figure *figure,
             void (*table)(FILE *out, const repro_findings *f, experiment_id id),
             const repro_findings *findings, experiment_id id, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;

    TRY(open_file(&output, dir, figure->chart.id, ".csv", err));
    table(pboost_output_stream(output), findings, id);
    TRY(pboost_output_commit(output, err));
    TRY(open_file(&output, dir, figure->chart.id, ".svg", err));
    chart_write_svg(pboost_output_stream(output), &figure->chart);
    TRY(pboost_output_commit(output, err));
done:
    return st;
}

static pboost_status write_figures(const char *dir, const repro_findings *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    repro_figure figure = {0};

    for (experiment_id id = 0; id < N_EXPERIMENTS; id++) {
        if (!f->results->settings.wanted[id])
            continue;
        TRY(repro_figure_make(&figure, f->results, id, err));
        TRY(write_figure(dir, &figure, write_csv, f, id, err));
        repro_figure_free(&figure);
    }
    TRY(repro_figure_theory(&figure, f->theory, err));
    TRY(write_figure(dir, &figure, write_theory_csv, f, N_EXPERIMENTS, err));
done:
    repro_figure_free(&figure);
    return st;
}

static pboost_status write_report(const char *dir, const repro_findings *findings,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;

    TRY(open_file(&output, dir, "report", ".html", err));
    TRY(repro_write_page(pboost_output_stream(output), findings, err));
    st = pboost_output_commit(output, err);
    output = NULL;
done:
    pboost_output_discard(output);
    return st;
}

static pboost_status write_json(const char *dir, const repro_findings *findings, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;
    json_t *object = NULL;

    NEED(object = repro_results_json(findings), err);
    TRY(open_file(&output, dir, "results", ".json", err));
    json_dumpf(object, pboost_output_stream(output), JSON_REAL_PRECISION(17) | JSON_INDENT(1));
    fputc('\n', pboost_output_stream(output));
    TRY(pboost_output_commit(output, err));
done:
    json_decref(object);
    return st;
}

pboost_status repro_write_all(const char *dir, const repro_findings *findings, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(write_figures(dir, findings, err));
    TRY(write_report(dir, findings, err));
    TRY(write_json(dir, findings, err));
done:
    return st;
}
