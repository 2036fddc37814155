/* priorboost generate --design clicks: a click log, as CSV or as svmlight. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "generate.h"

enum { NUMBERS = PBOOST_CLICKS_NUMBERS, CATEGORIES = PBOOST_CLICKS_CATEGORIES };

/* One table that is written. */
typedef struct {
    const generate_arguments *a;
    pboost_clicks clicks;
    double intercept;
    size_t first[CATEGORIES]; /* svmlight: the index of level 0 */
    uint32_t *level;
    double *number, *label;
    bool svm;
} job;

static void print_header(FILE *out, const job *j)
{
    fputs(j->a->with_ids ? "id,click" : "click", out);
    for (int i = 1; i <= NUMBERS; i++)
        fprintf(out, ",n%d", i);
    for (int i = 1; i <= CATEGORIES; i++)
        fprintf(out, ",c%d", i);
    fputc('\n', out);
}

static void print_row(FILE *out, const job *j, size_t i, size_t id)
{
    const double *number = j->number + i * NUMBERS;
    const uint32_t *level = j->level + i * CATEGORIES;
    char cell[64];

    if (j->a->with_ids)
        fprintf(out, "%zu,", id);
    fputc(j->label[i] > 0.0 ? '1' : '0', out);
    for (size_t k = 0; k < NUMBERS; k++) {
        char *end = isnan(number[k]) ? cell : generate_decimal(cell, number[k]);
        fputc(',', out);
        fwrite(cell, 1, (size_t)(end - cell), out);
    }
    for (size_t k = 0; k < CATEGORIES; k++)
        fprintf(out, ",v%u", level[k]);
    fputc('\n', out);
}

/* Index k+1 is number k; each level of each category has one of its own. */
static void print_svm_row(FILE *out, const job *j, size_t i, size_t id)
{
    const double *number = j->number + i * NUMBERS;
    char cell[64];

    fputc(j->label[i] > 0.0 ? '1' : '0', out);
    for (size_t k = 0; k < NUMBERS; k++)
        if (!isnan(number[k])) {
            *generate_decimal(cell, number[k]) = '\0';
            fprintf(out, " %zu:%s", k + 1, cell);
        }
    for (size_t k = 0; k < CATEGORIES; k++)
        fprintf(out, " %zu:1", j->first[k] + j->level[i * CATEGORIES + k]);
    if (j->a->with_ids)
        fprintf(out, " # %zu", id);
    fputc('\n', out);
}

static pboost_status write_log(cli_context *cli, job *j, const char *path, size_t rows,
                               uint64_t stream_number, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;

    j->svm = pboost_names_svmlight(path);
    TRY(pboost_output_open(&output, path, err));
    FILE *stream = pboost_output_stream(output);
    if (!j->svm)
        print_header(stream, j);
    for (size_t first = 0, n; first < rows; first += n) {
        n = rows - first < GENERATE_ROWS_AT_ONCE ? rows - first : GENERATE_ROWS_AT_ONCE;
        TRY(pboost_clicks_rows(j->level, j->number, j->label, &j->clicks, j->intercept,
                               stream_number, first, n, j->a->threads, err));
        for (size_t i = 0; i < n; i++)
            (j->svm ? print_svm_row : print_row)(stream, j, i, first + i + 1);
        if (ferror(stream)) /* such as a full disk: commit says what */
            break;
        if (cli_interrupted())
            FAIL(err, PBOOST_CANCELLED, "stopped by the user");
        cli_progress(cli, path, (double)(first + n), (double)rows);
    }
    st = pboost_output_commit(output, err);
    output = NULL;
done:
    pboost_output_discard(output);
    return st;
}

/* The weights of levels are drawn when they are needed: there are two million. */
static json_t *describe(const job *j)
{
    double weight[NUMBERS];
    for (size_t k = 0; k < NUMBERS; k++)
        weight[k] = pboost_clicks_number_weight(&j->clicks, k);
    return json_pack("{s:s, s:s, s:I, s:I, s:f, s:I, s:f, s:o}", "design", "clicks", "family",
                     "logistic", "rows", (json_int_t)j->a->rows, "test_rows",
                     (json_int_t)j->a->test_rows, "rate", j->clicks.rate, "seed",
                     (json_int_t)j->clicks.seed, "intercept", j->intercept, "number_weights",
                     report_json_numbers(weight, NUMBERS));
}

pboost_status generate_clicks_check(const generate_arguments *a, pboost_error *err)
{
    const struct {
        bool given;
        const char *name;
    } of_paper[] = {{a->synthetic.features > 0, "--features"},
                    {a->has_noise, "--noise"},
                    {a->synthetic.round_labels, "--round-labels"},
                    {a->has_family && a->synthetic.family != PBOOST_LOGISTIC, "another --family"}};

    for (size_t i = 0; i < sizeof of_paper / sizeof *of_paper; i++)
        if (of_paper[i].given)
            return pboost_fail(err, PBOOST_INVALID,
                               "%s cannot be used with --design clicks, which is logistic and has "
                               "%d columns",
                               of_paper[i].name, NUMBERS + CATEGORIES);
    if (a->rows == 0 || a->out == NULL || !a->has_seed)
        return pboost_fail(err, PBOOST_INVALID,
                           "--rows, --seed and --out are required; see 'priorboost generate "
                           "--help'");
    if (!(a->rate < 1.0))
        return pboost_fail(err, PBOOST_INVALID, "--rate is %g; it must be between 0 and 1",
                           a->rate);
    return PBOOST_OK;
}

pboost_status generate_clicks(cli_context *cli, const generate_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    job j = {.a = a, .clicks = PBOOST_CLICKS_INIT};

    j.clicks.rate = a->rate;
    j.clicks.seed = a->synthetic.seed;
    j.first[0] = NUMBERS + 1;
    for (size_t k = 1; k < CATEGORIES; k++)
        j.first[k] = j.first[k - 1] + pboost_clicks_levels(k - 1);
    NEED(j.level = pboost_alloc(GENERATE_ROWS_AT_ONCE * CATEGORIES, sizeof *j.level), err);
    NEED(j.number = pboost_alloc(GENERATE_ROWS_AT_ONCE * NUMBERS, sizeof *j.number), err);
    NEED(j.label = pboost_alloc(GENERATE_ROWS_AT_ONCE, sizeof *j.label), err);
    TRY(pboost_clicks_intercept(&j.intercept, &j.clicks, a->threads, err));
    TRY(write_log(cli, &j, a->out, a->rows, GENERATE_TRAIN_STREAM, err));
    if (a->test_out != NULL)
        TRY(write_log(cli, &j, a->test_out, a->test_rows, GENERATE_TEST_STREAM, err));
    if (a->truth != NULL)
        TRY(generate_write_truth(a->truth, describe(&j), err));
    if (cli->json)
        TRY(cli_print_json(describe(&j), err));
done:
    free(j.level);
    free(j.number);
    free(j.label);
    return st;
}
