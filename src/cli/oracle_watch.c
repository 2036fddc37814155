/* priorboost oracle status, audit and export-ledger. */
#include <stdio.h>
#include <string.h>

#include "oracle.h"

/* ---- status ---------------------------------------------------------------------------------- */

static const cli_usage STATUS = {
    .synopsis = "--store S",
    .text = "Shows the data sheet, the rules, rows spent and left, and the chain's head.",
    .operand = NULL};

/* The epsilon that the answers have cost the most used row, or unit. */
static pboost_status find_spending(double *out, pboost_ledger *ledger, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_token *token = NULL;
    uint64_t most, *uses = NULL;
    size_t n;

    TRY(pboost_token_list(&token, &n, ledger, err));
    NEED(uses = pboost_alloc(n, sizeof *uses), err);
    TRY(pboost_ledger_uses(&most, uses, ledger, token, n, err));
    *out =
        most == 0 ? 0 : pboost_rules_epsilon(&pboost_ledger_get_rules(ledger)->rules, (size_t)most);
done:
    free(token);
    free(uses);
    return st;
}

static pboost_status print_status(const cli_context *cli, const pboost_ledger_rules *rules,
                                  const pboost_ledger_status *s, double spent, bool whole,
                                  pboost_error *err)
{
    static const char *const NAMES[] = PBOOST_SHEET_NAMES;
    const pboost_rules *r = &rules->rules;
    char epsilon[100], labels[ORACLE_LABELS_TEXT], step[40] = "";

    if (cli->json)
        return cli_print_json(
            json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:s}", "store", s->store,
                      "rules", oracle_rules_json(rules), "rows", (json_int_t)s->rows, "spent",
                      (json_int_t)s->spent, "left", (json_int_t)(s->rows - s->spent), "forgotten",
                      (json_int_t)s->forgotten, "answers", (json_int_t)s->answers, "bags",
                      (json_int_t)s->bags, "entries", (json_int_t)s->entries, "epsilon_spent",
                      rules->no_noise ? json_null() : json_real(spent), "head", s->head),
            err);
    for (size_t i = 0; i < PBOOST_SHEET_FIELDS; i++)
        if (rules->sheet.text[i][0] != '\0')
            printf("%-9s %s\n", NAMES[i], rules->sheet.text[i]);
    snprintf(epsilon, sizeof epsilon, "epsilon %g per row", pboost_rational_value(r->epsilon));
    if (r->mechanism == PBOOST_GAUSSIAN)
        snprintf(epsilon, sizeof epsilon, "epsilon %g at delta %g per row (rho %g, Gaussian noise)",
                 pboost_rational_value(r->epsilon), pboost_rational_value(r->delta),
                 pboost_rational_value(r->rho));
    if (rules->names[0] == '\0')
        snprintf(step, sizeof step, " in steps of %g", r->step);
    printf("rules     bags of at least %zu rows; %s%s; %s\n", r->min_bag,
           oracle_labels_text(labels, rules), step,
           rules->no_noise ? "no noise, no differential privacy" : epsilon);
    if (rules->units)
        printf("units     each in at most %zu answered bags%s%s\n", rules->unit_rows,
               *rules->scope_rows != '\0' ? "; by scope " : "", rules->scope_rows);
    printf("rows      %llu, of which %llu spent (%llu forgotten) and %llu left\n",
           (unsigned long long)s->rows, (unsigned long long)s->spent,
           (unsigned long long)s->forgotten, (unsigned long long)(s->rows - s->spent));
    if (!rules->no_noise)
        printf("epsilon   %g spent by the most used %s, of at most %g\n", spent,
               rules->units ? "unit" : "row", pboost_rules_epsilon(r, rules->unit_rows));
    printf("answers   %llu questions, %llu bags\n", (unsigned long long)s->answers,
           (unsigned long long)s->bags);
    if (rules->stores > 0)
        printf("stores    %s%zu of %zu of oracle %s\n", whole ? "1 to " : "only ",
               whole ? rules->stores : rules->store, rules->stores, rules->oracle);
    printf("ledger    %llu entries, head %s\n", (unsigned long long)s->entries, s->head);
    return cli_flush(err);
}

pboost_status oracle_status(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    oracle_place place = {0};
    pboost_ledger *ledger = NULL;
    pboost_ledger_status status;
    double spent = 0;
    const cli_option options[] = {ORACLE_PLACE(place)};

    TRY(cli_parse(cli, NULL, argc, argv, &STATUS, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    TRY(oracle_open(&ledger, cli, &place, ORACLE_INSPECT, err));
    TRY(pboost_ledger_get_status(&status, ledger, err));
    TRY(find_spending(&spent, ledger, err));
    TRY(print_status(cli, pboost_ledger_get_rules(ledger), &status, spent,
                     pboost_ledger_check_whole(ledger, NULL) == PBOOST_OK, err));
done:
    pboost_ledger_close(ledger);
    return st;
}

/* ---- audit ----------------------------------------------------------------------------------- */

static const cli_usage AUDIT = {
    .synopsis = "--store S [--head HEX]",
    .text =
        "Checks the chain from the rules to its head and recomputes what can be recomputed:\n"
        "claims, bag sizes, replies, quotas, and sums where there is no noise.  With --head it\n"
        "also checks that the ledger once had that head; an older copy of the ledger never had "
        "it.\n"
        "With all stores of an oracle it also compares the answers to the claims in other stores.",
    .operand = NULL};

static pboost_status print_audit(const cli_context *cli, const pboost_audit *a, pboost_error *err)
{
    if (cli->json)
        return cli_print_json(
            json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "sound",
                      a->problems == 0, "entries", (json_int_t)a->entries, "answers",
                      (json_int_t)a->answers, "rows", (json_int_t)a->rows, "bags",
                      (json_int_t)a->bags, "sums", (json_int_t)a->sums, "rows_imported",
                      (json_int_t)a->rows_imported, "interrupted", (json_int_t)a->interrupted,
                      "problems", (json_int_t)a->problems, "first_problem",
                      report_json_text(a->problems > 0 ? a->first_problem : NULL)),
            err);
    printf(
        "%llu entries, %llu answers about %llu rows in %llu bags, %llu sums computed again: %s\n",
        (unsigned long long)a->entries, (unsigned long long)a->answers, (unsigned long long)a->rows,
        (unsigned long long)a->bags, (unsigned long long)a->sums,
        a->problems == 0 ? "sound" : "NOT SOUND");
    if (a->interrupted > 0)
        printf(
            "%llu claims have no answer: a crash came between the commits of two stores, and their"
            " rows stay spent\n",
            (unsigned long long)a->interrupted);
    return cli_flush(err);
}

pboost_status oracle_audit(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    oracle_place place = {0};
    const char *head = NULL;
    pboost_ledger *ledger = NULL;
    pboost_audit audit;
    bool known = true;
    const cli_option options[] = {
        ORACLE_PLACE(place),
        {"--head", "HEX", cli_read_text, &head, NULL, "a head that a reply carried"}};

    TRY(cli_parse(cli, NULL, argc, argv, &AUDIT, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    if (head != NULL && (strlen(head) != PBOOST_HEAD_TEXT - 1 ||
                         strspn(head, "0123456789abcdefABCDEF") != PBOOST_HEAD_TEXT - 1))
        FAIL(err, PBOOST_INVALID, "--head is '%.80s'; a head has %d hexadecimal digits", head,
             PBOOST_HEAD_TEXT - 1);
    TRY(oracle_open(&ledger, cli, &place, ORACLE_INSPECT, err));
    TRY(pboost_ledger_audit(&audit, ledger, err));
    if (head != NULL)
        TRY(pboost_ledger_knows(&known, ledger, head, err));
    if (!known && audit.problems++ == 0)
        snprintf(
            audit.first_problem, sizeof audit.first_problem,
            "the ledger has never had the head %.64s: the store is an older copy or another store",
            head);
    TRY(print_audit(cli, &audit, err));
    if (audit.problems > 0)
        FAIL(err, PBOOST_BAD_DATA, "%llu %s; the first: %s", (unsigned long long)audit.problems,
             audit.problems == 1 ? "problem" : "problems", audit.first_problem);
done:
    pboost_ledger_close(ledger);
    return st;
}

/* ---- export-ledger --------------------------------------------------------------------------- */

static const cli_usage EXPORT = {
    .synopsis = "--store S [--out FILE]",
    .text =
        "Prints the ledger as one JSON object a line: first the entries of the chain, with all\n"
        "that their hashes cover, then which entry claimed which row.  It holds no label.",
    .operand = NULL};

typedef struct {
    FILE *stream;
    bool failed;
} printing;

static bool print_line(printing *p, json_t *line)
{
    if (line == NULL || json_dumpf(line, p->stream, JSON_COMPACT) != 0 ||
        fputc('\n', p->stream) == EOF)
        p->failed = true;
    json_decref(line);
    return !p->failed;
}

static void hex(char *out, const unsigned char *data, size_t length)
{
    for (size_t i = 0; i < length; i++)
        snprintf(out + 2 * i, 3, "%02x", data[i]);
    out[2 * length] = '\0';
}

static bool print_entry(void *user, const pboost_ledger_entry *e)
{
    char data[2 * 2048 + 1] = "", seal[65];

    if (e->data_length <= 2048)
        hex(data, e->data, e->data_length);
    hex(seal, e->seal, 32);
    return print_line(user, json_pack("{s:I, s:s, s:I, s:o, s:o, s:I, s:I, s:s, s:s, s:s}", "entry",
                                      (json_int_t)e->number, "kind", e->kind, "time",
                                      (json_int_t)e->time, "token", report_json_text(e->token),
                                      "request_id", report_json_text(e->request_id), "rows",
                                      (json_int_t)e->rows, "bags", (json_int_t)e->bags, "data",
                                      data, "head", e->head, "seal", seal));
}

static bool print_claim(void *user, const char *id, uint64_t entry)
{
    return print_line(
        user, json_pack("{s:o, s:I}", "row", report_json_text(id), "entry", (json_int_t)entry));
}

pboost_status oracle_export(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    oracle_place place = {0};
    const char *out = "-";
    pboost_ledger *ledger = NULL;
    pboost_output *output = NULL;
    const cli_option options[] = {
        ORACLE_PLACE(place),
        {"--out", "FILE", cli_read_text, &out, NULL, "default: standard output"}};

    TRY(cli_parse(cli, NULL, argc, argv, &EXPORT, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    TRY(oracle_open_one(&ledger, cli, &place, ORACLE_INSPECT, err));
    TRY(pboost_output_open(&output, out, err));
    printing p = {pboost_output_stream(output), false};
    TRY(pboost_ledger_entries(ledger, 0, UINT64_MAX, print_entry, &p, err));
    if (!p.failed)
        TRY(pboost_ledger_claims(ledger, print_claim, &p, err));
    if (p.failed)
        FAIL(err, PBOOST_OUTPUT, "%s could not be written", out);
    pboost_output *whole = output;
    output = NULL;
    TRY(pboost_output_commit(whole, err));
done:
    pboost_output_discard(output);
    pboost_ledger_close(ledger);
    return st;
}
