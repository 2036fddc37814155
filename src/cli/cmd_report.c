/* priorboost report: a page that compares runs of train. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "run_chart.h"

enum { MAX_RUNS = 32 };

static const cli_usage USAGE = {
    .synopsis = "RUN... --out FILE",
    .text = "Compares runs in one self-contained page: loss by round, bags, weights with their\n"
            "intervals, what was spent, and what the plan had forecast.  A RUN is a model file\n"
            "that train wrote; for other model files the page shows only what they contain.",
    .operand = "RUN..."};

/* Two runs with the same name get a number. */
static void tell_apart(run_record *runs, size_t n)
{
    bool shared[MAX_RUNS] = {false};
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            shared[i] = shared[i] || (k != i && strcmp(runs[k].name, runs[i].name) == 0);
    for (size_t i = 0; i < n; i++) {
        char name[sizeof runs->name];
        snprintf(name, sizeof name, "%zu: %.50s", i + 1, runs[i].name);
        if (shared[i])
            memcpy(runs[i].name, name, sizeof name);
    }
}

/* The page, or the chart alone if the name ends in .svg. */
static pboost_status write_runs(FILE *out, const char *path, const run_record *runs, size_t n,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    run_chart chart = {0};

    if (!chart_names_svg(path))
        return run_write_page(out, runs, n, err);
    TRY(run_chart_make(&chart, runs, n, err));
    if (chart.panel.n_series == 0)
        FAIL(err, PBOOST_BAD_DATA,
             "no run with bags of at least 2 rows has a test loss; train with --test");
    for (size_t i = 1; i < n; i++)
        if (!run_same_family(&runs[i], &runs[0]))
            FAIL(err, PBOOST_BAD_DATA, "the losses of %s and %s cannot be compared",
                 run_family(&runs[0]), run_family(&runs[i]));
    chart_write_svg(out, &chart.figure);
done:
    run_chart_free(&chart);
    return st;
}

static pboost_status print_json(const run_record *runs, size_t n, const char *out,
                                pboost_error *err)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < n; i++)
        json_array_append_new(array, json_pack("{s:s, s:s, s:I, s:o}", "name", runs[i].name,
                                               "family", run_family(&runs[i]), "rounds",
                                               (json_int_t)run_rounds(&runs[i]), "test_loss",
                                               report_json_number(run_loss(&runs[i]))));
    return cli_print_json(json_pack("{s:o, s:s}", "runs", array, "out", out), err);
}

pboost_status cli_report(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *out = NULL, **path = NULL;
    run_record *runs = NULL;
    pboost_output *output = NULL;
    size_t n = 0, loaded = 0;
    const cli_option options[] = {{"--out", "FILE", cli_read_text, &out, NULL,
                                   "the page, HTML; if the name ends in .svg, only the chart of\n"
                                   "test loss by least rows in a bag"}};

    NEED(path = calloc((size_t)argc + 1, sizeof *path), err);
    TRY(cli_parse(cli, path, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        goto done;
    while (path[n] != NULL)
        n++;
    if (n == 0 || out == NULL)
        FAIL(err, PBOOST_INVALID, "%s is required; see 'priorboost report --help'",
             n == 0 ? "a RUN" : "--out");
    if (n > MAX_RUNS)
        FAIL(err, PBOOST_INVALID, "there are %zu runs; a page compares up to %d", n, (int)MAX_RUNS);
    NEED(runs = calloc(n, sizeof *runs), err);
    for (; loaded < n; loaded++)
        TRY(run_load(&runs[loaded], path[loaded], err));
    tell_apart(runs, n);
    TRY(pboost_output_open(&output, out, err));
    TRY(write_runs(pboost_output_stream(output), out, runs, n, err));
    st = pboost_output_commit(output, err);
    output = NULL;
    TRY(st);
    if (cli->json)
        TRY(print_json(runs, n, out, err));
    else
        cli_note(cli, "%zu run%s compared in %s", n, n > 1 ? "s" : "", out);
done:
    pboost_output_discard(output);
    for (size_t i = 0; i < loaded; i++)
        run_free(&runs[i]);
    free(runs);
    free(path);
    return st;
}
