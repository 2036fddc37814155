/* priorboost generate: the paper's data as a CSV, or a click log. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "generate.h"

static const cli_usage USAGE = {
    .synopsis =
        "--family F --rows N --features D [--noise S] [--round-labels] --seed S\n"
        "           --out data.csv [--test-rows M --test-out test.csv] [--truth truth.json]\n"
        "       priorboost generate --design clicks --rows N --seed S --out clicks.csv [OPTION...]",
    .text =
        "Draws theta* ~ N(0, I) (poisson: scaled to norm 1/2) and rows x ~ N(0, I) with labels y\n"
        "of the family, and writes columns x1 .. xD, y with 9 decimals.  The test rows share\n"
        "theta*.\n"
        "--design clicks: a log with columns click, n1 .. n13, c1 .. c26.  The r-th value of a\n"
        "category comes with a probability of about 1/r; every third category has a vocabulary\n"
        "for each of 8 segments of visitors; 5 % of the numbers are missing.  A click has the\n"
        "probability sigmoid(intercept + weights of the values + numbers times weights); two\n"
        "thirds of the values weigh nothing."};

char *generate_decimal(char *out, double value)
{
    if (!(fabs(value) < 9e8))
        return out + sprintf(out, "%.17g", value);
    long long scaled = llround(value * 1e9);
    if (scaled < 0) {
        *out++ = '-';
        scaled = -scaled;
    }
    unsigned long long whole = (unsigned long long)scaled / 1000000000ULL;
    unsigned fraction = (unsigned)((unsigned long long)scaled % 1000000000ULL);
    char digits[20];
    int n = 0;
    do
        digits[n++] = (char)('0' + whole % 10);
    while ((whole /= 10) > 0);
    while (n > 0)
        *out++ = digits[--n];
    if (fraction > 0) {
        *out++ = '.';
        for (uint64_t rest = fraction; rest > 0; rest = rest % 100000000 * 10)
            *out++ = (char)('0' + rest / 100000000);
    }
    return out;
}

static void print_rows(FILE *stream, const double *x, const double *y, size_t n, size_t d,
                       size_t first_id, bool with_ids)
{
    char cell[64];
    for (size_t i = 0; i < n; i++) {
        if (with_ids)
            fprintf(stream, "%zu,", first_id + i);
        for (size_t j = 0; j < d; j++) {
            char *end = generate_decimal(cell, x[i * d + j]);
            *end++ = ',';
            fwrite(cell, 1, (size_t)(end - cell), stream);
        }
        char *end = generate_decimal(cell, y[i]);
        *end++ = '\n';
        fwrite(cell, 1, (size_t)(end - cell), stream);
    }
}

static pboost_status write_table(cli_context *cli, const generate_arguments *a, const double *theta,
                                 const char *path, size_t rows, uint64_t stream_number,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;
    size_t d = a->synthetic.features;
    double *x = NULL, *y = NULL;

    NEED(x = pboost_alloc(GENERATE_ROWS_AT_ONCE * d, sizeof *x), err);
    NEED(y = pboost_alloc(GENERATE_ROWS_AT_ONCE, sizeof *y), err);
    TRY(pboost_output_open(&output, path, err));
    FILE *stream = pboost_output_stream(output);
    if (a->with_ids)
        fputs("id,", stream);
    for (size_t j = 1; j <= d; j++)
        fprintf(stream, "x%zu,", j);
    fputs("y\n", stream);
    for (size_t first = 0; first < rows; first += GENERATE_ROWS_AT_ONCE) {
        size_t n = rows - first < GENERATE_ROWS_AT_ONCE ? rows - first : GENERATE_ROWS_AT_ONCE;
        TRY(pboost_synthetic_rows(x, y, &a->synthetic, theta, stream_number, first, n, a->threads,
                                  err));
        print_rows(stream, x, y, n, d, first + 1, a->with_ids);
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
    free(x);
    free(y);
    return st;
}

static json_t *describe(const generate_arguments *a, const double *theta)
{
    double norm2 = 0.0;
    for (size_t j = 0; j < a->synthetic.features; j++)
        norm2 += theta[j] * theta[j];
    return json_pack("{s:s, s:I, s:I, s:I, s:f, s:b, s:I, s:o, s:f}", "family",
                     pboost_family_name(a->synthetic.family), "rows", (json_int_t)a->rows,
                     "test_rows", (json_int_t)a->test_rows, "features",
                     (json_int_t)a->synthetic.features, "noise", a->synthetic.noise, "round_labels",
                     (int)a->synthetic.round_labels, "seed", (json_int_t)a->synthetic.seed, "theta",
                     report_json_numbers(theta, a->synthetic.features), "norm2", norm2);
}

/* Takes the reference. */
pboost_status generate_write_truth(const char *path, json_t *truth, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;

    NEED(truth, err);
    TRY(pboost_output_open(&output, path, err));
    json_dumpf(truth, pboost_output_stream(output), JSON_REAL_PRECISION(17) | JSON_INDENT(2));
    fputc('\n', pboost_output_stream(output));
    st = pboost_output_commit(output, err);
done:
    json_decref(truth);
    return st;
}

static pboost_status check(generate_arguments *a, pboost_error *err)
{
    if (!a->has_family || a->rows == 0 || a->synthetic.features == 0 || a->out == NULL ||
        !a->has_seed)
        return pboost_fail(err, PBOOST_INVALID,
                           "--family, --rows, --features, --seed and --out are required; see "
                           "'priorboost generate --help'");
    if (a->has_rate)
        return pboost_fail(err, PBOOST_INVALID, "--rate needs --design clicks");
    if (a->synthetic.round_labels && a->synthetic.family != PBOOST_LOGISTIC)
        return pboost_fail(err, PBOOST_INVALID,
                           "--round-labels is for the logistic family, not for %s",
                           pboost_family_name(a->synthetic.family));
    if (!a->has_noise) /* the paper's, where its data have any */
        a->synthetic.noise =
            a->synthetic.family == PBOOST_LINEAR || a->synthetic.round_labels ? 0.1 : 0.0;
    return PBOOST_OK;
}

static pboost_status generate(cli_context *cli, const generate_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *theta = NULL;

    NEED(theta = pboost_alloc(a->synthetic.features, sizeof *theta), err);
    TRY(pboost_synthetic_theta(theta, &a->synthetic, err));
    TRY(write_table(cli, a, theta, a->out, a->rows, GENERATE_TRAIN_STREAM, err));
    if (a->test_out != NULL)
        TRY(write_table(cli, a, theta, a->test_out, a->test_rows, GENERATE_TEST_STREAM, err));
    if (a->truth != NULL)
        TRY(generate_write_truth(a->truth, describe(a, theta), err));
    if (cli->json)
        TRY(cli_print_json(describe(a, theta), err));
done:
    free(theta);
    return st;
}

pboost_status cli_generate(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    generate_arguments a = {.rate = 0.05, .synthetic = PBOOST_SYNTHETIC_INIT};
    a.synthetic.features = 0;
    const cli_option options[] = {
        {"--design", "paper|clicks", cli_read_text, &a.design, NULL,
         "paper (default), or a click log: 26 columns of categories\n"
         "with 8 to a million values, 13 of numbers, and 'click'"},
        {"--family", CLI_FAMILIES, cli_read_family, &a.synthetic.family, &a.has_family,
         "linear, logistic or poisson"},
        {"--rows", "N", cli_read_count, &a.rows, NULL, "rows to write"},
        {"--features", "D", cli_read_count, &a.synthetic.features, NULL, "feature columns"},
        {"--noise", "S", cli_read_not_negative, &a.synthetic.noise, &a.has_noise,
         "standard deviation of the noise added to x theta*;\n"
         "default 0.1 for linear and --round-labels, else 0"},
        {"--round-labels", NULL, NULL, &a.synthetic.round_labels, NULL,
         "logistic: y = round(sigmoid(x theta* + noise)), as in the\n"
         "paper, instead of a coin with that probability"},
        {"--rate", "R", cli_read_positive, &a.rate, &a.has_rate,
         "clicks: mean probability of a click; default 0.05"},
        {"--ids", NULL, NULL, &a.with_ids, NULL, "write a column 'id' first: 1, 2, ..."},
        {"--seed", "S", cli_read_seed, &a.synthetic.seed, &a.has_seed, "seed of all random draws"},
        {"--out", "FILE", cli_read_text, &a.out, NULL,
         "the table; clicks: svmlight if the name ends in .svm"},
        {"--test-rows", "M", cli_read_count, &a.test_rows, NULL, "rows of a test table"},
        {"--test-out", "FILE", cli_read_text, &a.test_out, NULL, "the test table"},
        {"--truth", "FILE", cli_read_text, &a.truth, NULL, "write theta* and the options as JSON"},
        {"--threads", "N", cli_read_threads, &a.threads, NULL, "default: all cores"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    if ((a.test_rows > 0) != (a.test_out != NULL))
        FAIL(err, PBOOST_INVALID, "--test-rows and --test-out must be given together");
    bool clicks = a.design != NULL && strcmp(a.design, "clicks") == 0;
    if (a.design != NULL && !clicks && strcmp(a.design, "paper") != 0)
        FAIL(err, PBOOST_INVALID, "--design is '%s'; it must be paper or clicks", a.design);
    TRY(clicks ? generate_clicks_check(&a, err) : check(&a, err));
    TRY(clicks ? generate_clicks(cli, &a, err) : generate(cli, &a, err));
done:
    return st;
}
