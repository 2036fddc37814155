/* Results: series averaged over realizations. */
#include "results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/parallel.h"
#include "try.h"

/* ---- The machine ----------------------------------------------------------------------------- */

/* The value of the first line of /proc/cpuinfo that starts with "model name", where there is one.
 */
static void find_processor(char *out, size_t size)
{
    char line[256];
    FILE *stream = fopen("/proc/cpuinfo", "r");

    out[0] = '\0';
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        snprintf(out, size, "%s", colon + 2);
        out[strcspn(out, "\n")] = '\0';
        break;
    }
    if (stream != NULL)
        fclose(stream);
}

static void describe_machine(char *out, size_t size, int threads)
{
    struct utsname name = {0};
    char processor[128] = "";

    uname(&name);
    find_processor(processor, sizeof processor);
    snprintf(out, size, "%s%s%s %s, %d of %d cores", processor, processor[0] != '\0' ? ", " : "",
             name.sysname, name.machine, pboost_threads(threads), pboost_threads(0));
}

/* ---- Averages -------------------------------------------------------------------------------- */

static pboost_status average(repro_curve *curve, const repro_plan *plan, experiment_id id,
                             size_t n_points, size_t realizations, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    NEED(curve->mean = calloc(n_points, sizeof *curve->mean), err);
    NEED(curve->sd = calloc(n_points, sizeof *curve->sd), err);
    for (size_t r = 0; r < realizations; r++) { /* Welford's update */
        const repro_series *s =
            repro_plan_find(plan, id, curve->algorithm, curve->penalty, curve->min_bag, r);
        for (size_t i = 0; i < n_points; i++) {
            double step = s->loss[i] - curve->mean[i];
            curve->mean[i] += step / (double)(r + 1);
            curve->sd[i] += step * (s->loss[i] - curve->mean[i]);
        }
    }
    for (size_t i = 0; i < n_points; i++)
        curve->sd[i] = realizations > 1 ? sqrt(curve->sd[i] / (double)(realizations - 1)) : 0.0;
done:
    return st;
}

static pboost_status make_result(repro_result *out, const repro_plan *plan,
                                 const repro_settings *settings, experiment_id id,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const experiment_info *info = repro_experiment(id);
    const experiment_setup *setup = &settings->setup[id];

    out->n_points = repro_n_points(settings, id);
    NEED(out->x = pboost_alloc(out->n_points, sizeof *out->x), err);
    for (size_t i = 0; i < out->n_points; i++)
        out->x[i] = repro_point(settings, id, i);
    NEED(out->curves = calloc(info->n_methods * setup->n_bags, sizeof *out->curves), err);
    for (size_t m = 0; m < info->n_methods; m++) {
        const experiment_method *method = &info->method[m];
        for (size_t i = 0; i < setup->n_bags; i++) {
            if (method->only_bag != 0 && method->only_bag != setup->min_bag[i])
                continue;
            repro_curve *curve = &out->curves[out->n_curves++];
            *curve =
                (repro_curve){method->algorithm, method->penalty, setup->min_bag[i], NULL, NULL};
            TRY(average(curve, plan, id, out->n_points, setup->realizations, err));
        }
    }
done:
    return st;
}

pboost_status repro_results_make(repro_results *out, const repro_plan *plan,
                                 const repro_settings *settings, double seconds, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (repro_results){.settings = *settings, .seconds = seconds};
    describe_machine(out->machine, sizeof out->machine, settings->threads);
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++)
        if (settings->wanted[id])
            TRY(make_result(&out->result[id], plan, settings, id, err));
done:
    if (st != PBOOST_OK)
        repro_results_free(out);
    return st;
}

void repro_results_free(repro_results *results)
{
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++) {
        repro_result *r = &results->result[id];
        for (size_t i = 0; i < r->n_curves; i++) {
            free(r->curves[i].mean);
            free(r->curves[i].sd);
        }
        free(r->curves);
        free(r->x);
    }
    *results = (repro_results){0};
}

/* ---- Looking up ------------------------------------------------------------------------------ */

const repro_curve *repro_results_find(const repro_results *results, experiment_id experiment,
                                      pboost_algorithm algorithm, experiment_penalty penalty,
                                      size_t min_bag)
{
    const repro_result *r = &results->result[experiment];
    for (size_t i = 0; i < r->n_curves; i++) {
        const repro_curve *c = &r->curves[i];
        if (c->algorithm == algorithm && c->penalty == penalty && c->min_bag == min_bag)
            return c;
    }
    return NULL;
}

double repro_curve_last(const repro_results *results, experiment_id experiment,
                        const repro_curve *curve)
{
    return curve->mean[results->result[experiment].n_points - 1];
}

size_t repro_best_bag(const repro_results *results, experiment_id experiment, size_t point)
{
    const repro_result *r = &results->result[experiment];
    const repro_curve *best = &r->curves[0];
    for (size_t i = 1; i < r->n_curves; i++)
        if (r->curves[i].mean[point] < best->mean[point])
            best = &r->curves[i];
    return best->min_bag;
}
