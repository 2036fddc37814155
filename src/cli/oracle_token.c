/* priorboost oracle token: create, list, revoke. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "oracle.h"

static const cli_usage USAGE = {.synopsis =
                                    "create|list|revoke --store S [--name NAME] [OPTION...]",
                                .text = "Manages who may ask.  The secret of a new token is shown "
                                        "once; the store keeps only its hash.",
                                .operand = "create|list|revoke"};

typedef struct {
    oracle_place place;
    const char *expires, *role;
    pboost_token_options token;
    size_t rows;
} arguments;

/* The beginning of that day, UTC; false where there is no such day. */
static bool read_date(int64_t *out, const char *text)
{
    struct tm date = {0}, back;
    int year, month, day, end = 0;

    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &end) != 3 || text[end] != '\0')
        return false;
    date.tm_year = year - 1900;
    date.tm_mon = month - 1;
    date.tm_mday = day;
    time_t seconds = timegm(&date); /* takes February 30 for March 2 */
    *out = (int64_t)seconds;
    return gmtime_r(&seconds, &back) != NULL && back.tm_year == year - 1900 &&
           back.tm_mon == month - 1 && back.tm_mday == day;
}

/* "30d", "12h", "90m", "60s" from now. */
static bool read_duration(int64_t *out, const char *text, int64_t now)
{
    static const struct {
        char letter;
        int64_t seconds;
    } UNITS[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
    char *rest;

    errno = 0;
    long long number = strtoll(text, &rest, 10);
    for (size_t i = 0; errno == 0 && i < sizeof UNITS / sizeof *UNITS; i++)
        if (number >= 0 && number < 1000000000 && rest != text && rest[0] == UNITS[i].letter &&
            rest[1] == '\0') {
            *out = now + number * UNITS[i].seconds;
            return true;
        }
    return false;
}

static pboost_status read_expiry(int64_t *out, const char *text, pboost_error *err)
{
    int64_t now = (int64_t)time(NULL);

    if (!read_date(out, text) && !read_duration(out, text, now))
        return pboost_fail(err, PBOOST_INVALID,
                           "--expires is '%s'; it must be like 30d, 12h, 90m or 2027-01-31", text);
    if (*out <= now)
        return pboost_fail(err, PBOOST_INVALID,
                           "--expires is '%s', which is past; the token could never be used", text);
    return PBOOST_OK;
}

static pboost_status create(cli_context *cli, pboost_ledger *ledger, arguments *a,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char secret[PBOOST_TOKEN_TEXT] = "";

    if (a->expires != NULL)
        TRY(read_expiry(&a->token.expires, a->expires, err));
    if (strcmp(a->role, "operator") == 0)
        a->token.role = PBOOST_OPERATOR;
    else if (strcmp(a->role, "learner") != 0)
        FAIL(err, PBOOST_INVALID, "--role is '%s'; it must be learner or operator", a->role);
    a->token.max_rows = a->rows;
    TRY(pboost_token_create(secret, ledger, &a->token, err));
    if (cli->json)
        TRY(cli_print_json(
            json_pack("{s:s, s:s, s:s}", "token", secret, "name", a->token.name, "role", a->role),
            err));
    else
        printf("%s\n", secret);
    TRY(cli_flush(err));
    cli_note(cli, "token '%s' created; this is the only time its secret is shown", a->token.name);
done:
    memset(secret, 0, sizeof secret);
    return st;
}

static json_t *token_json(const pboost_token *t)
{
    return json_pack(
        "{s:s, s:s, s:I, s:o, s:I, s:o, s:o, s:b}", "name", t->name, "role",
        t->role == PBOOST_OPERATOR ? "operator" : "learner", "created", (json_int_t)t->created,
        "expires", t->expires != 0 ? json_integer((json_int_t)t->expires) : json_null(),
        "rows_used", (json_int_t)t->rows_used, "rows",
        t->max_rows != 0 ? json_integer((json_int_t)t->max_rows) : json_null(), "scope",
        report_json_text(t->scoped ? t->scope : NULL), "revoked", t->state == PBOOST_TOKEN_REVOKED);
}

static pboost_status list(cli_context *cli, pboost_ledger *ledger, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_token *token = NULL;
    json_t *array = json_array();
    size_t n;
    char expires[ORACLE_TIME_TEXT];

    TRY(pboost_token_list(&token, &n, ledger, err));
    if (!cli->json)
        printf("%-20s %-9s %-21s %12s %12s %-12s %s\n", "name", "role", "expires", "rows used",
               "of", "scope", "");
    for (size_t i = 0; i < n; i++) {
        const pboost_token *t = &token[i];
        char most[24] = "any";
        if (t->max_rows != 0)
            snprintf(most, sizeof most, "%llu", (unsigned long long)t->max_rows);
        if (cli->json && json_array_append_new(array, token_json(t)) != 0)
            FAIL(err, PBOOST_NO_MEMORY, "out of memory");
        if (!cli->json)
            printf("%-20s %-9s %-21s %12llu %12s %-12s %s\n", t->name,
                   t->role == PBOOST_OPERATOR ? "operator" : "learner",
                   oracle_time(expires, t->expires), (unsigned long long)t->rows_used, most,
                   t->scoped ? t->scope : "all", t->state == PBOOST_TOKEN_REVOKED ? "revoked" : "");
    }
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:O}", "tokens", array), err));
    TRY(cli_flush(err));
done:
    json_decref(array);
    free(token);
    return st;
}

static pboost_status revoke(cli_context *cli, pboost_ledger *ledger, const char *name,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_token_revoke(ledger, name, err));
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:s}", "revoked", name), err));
    else
        cli_note(cli, "token '%s' revoked", name);
done:
    return st;
}

pboost_status oracle_token(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    arguments a = {.role = "learner", .token = PBOOST_TOKEN_OPTIONS_INIT};
    const char *what = "";
    pboost_ledger *ledger = NULL;
    const cli_option options[] = {
        ORACLE_PLACE(a.place),
        {"--name", "NAME", cli_read_text, &a.token.name, NULL,
         "name of the token; it cannot be used again"},
        {"--role", "learner|operator", cli_read_text, &a.role, NULL,
         "learner (default), who asks; or operator, who monitors"},
        {"--expires", "D", cli_read_text, &a.expires, NULL,
         "30d, 12h, 90m or a date; default: never"},
        {"--rows", "MAX", cli_read_count, &a.rows, NULL, "how many rows the token may ask about"},
        {"--scope", "GROUP", cli_read_text, &a.token.scope, NULL,
         "only rows imported with this scope"},
    };

    TRY(cli_parse(cli, &what, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    bool listing = strcmp(what, "list") == 0, revoking = strcmp(what, "revoke") == 0;
    if (*what == '\0')
        FAIL(err, PBOOST_INVALID, "an action is missing; it must be create, list or revoke");
    if (!listing && !revoking && strcmp(what, "create") != 0)
        FAIL(err, PBOOST_INVALID, "action '%s' is unknown; it must be create, list or revoke",
             what);
    if (!listing && a.token.name == NULL)
        FAIL(err, PBOOST_INVALID, "--name is required; see 'priorboost oracle token --help'");
    TRY(oracle_open(&ledger, cli, &a.place, ORACLE_CHANGE, err));
    TRY(listing    ? list(cli, ledger, err)
        : revoking ? revoke(cli, ledger, a.token.name, err)
                   : create(cli, ledger, &a, err));
done:
    pboost_ledger_close(ledger);
    return st;
}
