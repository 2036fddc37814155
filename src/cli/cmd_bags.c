/* priorboost bags: one score per line in, one bag id per line out. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const cli_usage USAGE = {
    .synopsis = "--min-bag K [--strategy optimal|random] [FILE|-]",
    .text = "Reads one score per line and prints one bag id per line.  The optimal bags have the\n"
            "least total within-bag sum of squares among all partitions into bags of at least K;\n"
            "ids count from 0 in the order of the scores.",
    .operand = "FILE"};

typedef struct {
    size_t min_bag;
    const char *strategy, *out;
    uint64_t seed;
    int threads;
} arguments;

typedef struct {
    double *value;
    size_t n, capacity;
} scores;

static pboost_status read_scores(scores *out, const cli_context *cli, const char *path,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    FILE *stream = standard ? stdin : fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t length;

    if (stream == NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s: %s", name, strerror(errno));
    while (errno = 0, (length = getline(&line, &size, stream)) >= 0) {
        char *end;
        double value = strtod(line, &end);
        bool empty = end == line;
        while (*end == ' ' || *end == '\t' || *end == '\r' || *end == '\n')
            end++;
        if (empty || end != line + length || !isfinite(value)) {
            line[strcspn(line, "\r\n")] = '\0';
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: score is '%.60s'; it must be a finite number", name,
                 out->n + 1, line);
        }
        GROW(out->value, out->capacity, out->n + 1, err);
        out->value[out->n++] = value;
        if (out->n % 65536 == 0)
            cli_progress(cli, "reading", (double)out->n, 0.0);
    }
    if (ferror(stream))
        FAIL(err, PBOOST_BAD_DATA, "%s: %s", name, strerror(errno));
done:
    free(line);
    if (stream != NULL && !standard)
        fclose(stream);
    return st;
}

static pboost_status write_ids(const char *path, const size_t *id, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;

    TRY(pboost_output_open(&output, path, err));
    for (size_t i = 0; i < n; i++)
        fprintf(pboost_output_stream(output), "%zu\n", id[i]);
    st = pboost_output_commit(output, err);
done:
    return st;
}

static pboost_status print_bags(cli_context *cli, const arguments *a, const pboost_bags *bags,
                                const double *score, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *id = NULL;

    NEED(id = pboost_alloc(bags->n_rows, sizeof *id), err);
    for (size_t b = 0; b < bags->n_bags; b++)
        for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++)
            id[bags->row[i]] = b;
    if (a->out != NULL || !cli->json)
        TRY(write_ids(a->out != NULL ? a->out : "-", id, bags->n_rows, err));
    if (cli->json) {
        json_t *ids = json_array();
        for (size_t i = 0; ids != NULL && a->out == NULL && i < bags->n_rows; i++)
            json_array_append_new(ids, json_integer((json_int_t)id[i]));
        TRY(cli_print_json(json_pack("{s:I, s:I, s:I, s:s, s:f, s:o}", "rows",
                                     (json_int_t)bags->n_rows, "bags", (json_int_t)bags->n_bags,
                                     "min_bag", (json_int_t)a->min_bag, "strategy", a->strategy,
                                     "cost", pboost_bags_cost(bags, score), "bag", ids),
                           err));
    }
done:
    free(id);
    return st;
}

pboost_status cli_bags(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    arguments a = {.strategy = "optimal"};
    const char *path = "-";
    scores s = {0};
    pboost_bags bags = {0};
    const cli_option options[] = {
        {"--min-bag", "K", cli_read_count, &a.min_bag, NULL, "least rows in a bag"},
        {"--strategy", "optimal|random", cli_read_text, &a.strategy, NULL,
         "how to make bags; default optimal"},
        {"--seed", "S", cli_read_seed, &a.seed, NULL, "seed of random bags; default 0"},
        {"--out", "FILE", cli_read_text, &a.out, NULL, "the bag ids; default: stdout"},
        {"--threads", "N", cli_read_threads, &a.threads, NULL, "default: all cores"},
    };

    TRY(cli_parse(cli, &path, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    if (a.min_bag == 0)
        FAIL(err, PBOOST_INVALID, "--min-bag is required; see 'priorboost bags --help'");
    bool random = strcmp(a.strategy, "random") == 0;
    if (!random && strcmp(a.strategy, "optimal") != 0)
        FAIL(err, PBOOST_INVALID, "--strategy is '%s'; it must be optimal or random", a.strategy);
    TRY(read_scores(&s, cli, path, err));
    cli_progress(cli, "bags", 0.0, 0.0);
    if (random)
        TRY(pboost_bags_random(&bags, s.n, a.min_bag, a.seed, err));
    else
        TRY(pboost_bags_optimal(&bags, s.value, s.n, a.min_bag, a.threads, err));
    TRY(print_bags(cli, &a, &bags, s.value, err));
done:
    pboost_bags_free(&bags);
    free(s.value);
    return st;
}
