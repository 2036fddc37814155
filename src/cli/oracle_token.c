/* priorboost oracle token: create, list, prepare, approve, revoke. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "oracle.h"

#define ROLES "learner|operator|auditor|approver"

static const cli_usage USAGE = {
    .synopsis = "create|list|prepare|approve|revoke --store S [--name NAME] [OPTION...]",
    .text =
        "Manages who may ask.  The secret of a new token is shown once; the store keeps only its\n"
        "hash.  With prepare its future holder makes the secret, without a store, and gives the\n"
        "label holder the registration that is printed: nobody else sees the secret.  A pending\n"
        "token can do nothing until an approver other than its creator has approved it.",
    .operand = "create|list|prepare|approve|revoke"};

typedef struct {
    oracle_place place;
    const char *expires, *role, *creator, *approver, *out;
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

static pboost_status create_token(cli_context *cli, pboost_ledger *ledger, arguments *a,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char secret[PBOOST_TOKEN_TEXT] = "", creator[CLI_SECRET] = "";
    pboost_token made;

    if (a->expires != NULL)
        TRY(read_expiry(&a->token.expires, a->expires, err));
    if (!pboost_role_read(&a->token.role, a->role))
        FAIL(err, PBOOST_INVALID, "--role is '%s'; it must be one of " ROLES, a->role);
    a->token.max_rows = a->rows;
    if (a->creator != NULL)
        TRY(cli_read_secret(creator, cli, "--creator-token", a->creator, err));
    a->token.creator = a->creator != NULL ? creator : NULL;
    a->token.made = &made;
    TRY(pboost_token_create(secret, ledger, &a->token, err));
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:o, s:s, s:s}", "token",
                                     report_json_text(secret[0] != '\0' ? secret : NULL), "name",
                                     a->token.name, "role", a->role),
                           err));
    else if (secret[0] != '\0')
        printf("%s\n", secret);
    TRY(cli_flush(err));
    cli_note(cli, "token '%s' created%s%s", a->token.name,
             made.state == PBOOST_TOKEN_PENDING ? ", pending until it is approved" : "",
             secret[0] != '\0' ? "; this is the only time its secret is shown" : "");
done:
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(creator, sizeof creator);
    return st;
}

/* What one row or unit can have lost to these uses; null: there is no noise. */
static json_t *epsilon_json(const pboost_ledger_rules *rules, uint64_t uses)
{
    return rules->no_noise ? json_null()
                           : json_real(pboost_rational_value(rules->rules.epsilon) * (double)uses);
}

static json_t *token_json(const pboost_token *t, const pboost_ledger_rules *rules, uint64_t uses)
{
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "name", t->name, "role",
        pboost_role_name(t->role), "state", pboost_token_state_name(t->state), "created",
        (json_int_t)t->created, "expires",
        t->expires != 0 ? json_integer((json_int_t)t->expires) : json_null(), "rows_used",
        (json_int_t)t->rows_used, "rows",
        t->max_rows != 0 ? json_integer((json_int_t)t->max_rows) : json_null(), "epsilon",
        epsilon_json(rules, uses), "scope", report_json_text(t->scoped ? t->scope : NULL),
        "created_by", report_json_text(t->created_by[0] != '\0' ? t->created_by : NULL),
        "approved_by", report_json_text(t->approved_by[0] != '\0' ? t->approved_by : NULL));
}

static void print_token(const pboost_token *t, const pboost_ledger_rules *rules, uint64_t uses)
{
    char expires[ORACLE_TIME_TEXT], most[24] = "any", epsilon[24] = "none";

    if (t->max_rows != 0)
        snprintf(most, sizeof most, "%llu", (unsigned long long)t->max_rows);
    if (!rules->no_noise)
        snprintf(epsilon, sizeof epsilon, "%g",
                 pboost_rational_value(rules->rules.epsilon) * (double)uses);
    printf("%-20s %-9s %-8s %-21s %12llu %12s %8s %-12s %s\n", t->name, pboost_role_name(t->role),
           pboost_token_state_name(t->state), oracle_time(expires, t->expires),
           (unsigned long long)t->rows_used, most, t->role == PBOOST_LEARNER ? epsilon : "",
           t->scoped ? t->scope : "all", t->approved_by);
}

static pboost_status list_tokens(cli_context *cli, pboost_ledger *ledger, arguments *a,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_ledger_rules *rules = pboost_ledger_get_rules(ledger);
    pboost_token *token = NULL;
    json_t *array = json_array();
    uint64_t most, *uses = NULL;
    size_t n;
    (void)a;

    TRY(pboost_token_list(&token, &n, ledger, err));
    NEED(uses = pboost_alloc(n, sizeof *uses), err);
    TRY(pboost_ledger_uses(&most, uses, ledger, token, n, err));
    if (!cli->json)
        printf("%-20s %-9s %-8s %-21s %12s %12s %8s %-12s %s\n", "name", "role", "state", "expires",
               "rows used", "of", "epsilon", "scope", "approved by");
    for (size_t i = 0; i < n; i++) {
        if (cli->json && json_array_append_new(array, token_json(&token[i], rules, uses[i])) != 0)
            FAIL(err, PBOOST_NO_MEMORY, "out of memory");
        if (!cli->json)
            print_token(&token[i], rules, uses[i]);
    }
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:O}", "tokens", array), err));
    TRY(cli_flush(err));
done:
    json_decref(array);
    free(token);
    free(uses);
    return st;
}

/* A new file of mode 0600 with the secret; its registration is printed. */
static pboost_status prepare_token(cli_context *cli, pboost_ledger *ledger, arguments *a,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char secret[PBOOST_TOKEN_TEXT] = "", registration[PBOOST_REGISTRATION_TEXT];
    int fd = -1;
    (void)ledger;

    if (a->out == NULL)
        FAIL(err, PBOOST_INVALID, "--out is required: the file that gets the secret");
    TRY(pboost_token_prepare(secret, registration, err));
    if (strcmp(a->out, "-") == 0)
        FAIL(err, PBOOST_INVALID,
             "--out is '-'; it must be a file, because standard output has the registration");
    fd = open(a->out, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 || dprintf(fd, "%s\n", secret) < 0 || fsync(fd) != 0)
        FAIL(err, PBOOST_OUTPUT, "cannot write --out %s: %s", a->out, strerror(errno));
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:s}", "registration", registration), err));
    else
        printf("%s\n", registration);
    TRY(cli_flush(err));
done:
    if (fd >= 0)
        close(fd);
    explicit_bzero(secret, sizeof secret);
    return st;
}

static pboost_status approve_token(cli_context *cli, pboost_ledger *ledger, arguments *a,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char secret[CLI_SECRET] = "";
    pboost_token token;
    pboost_problem problem;

    if (a->approver == NULL)
        FAIL(err, PBOOST_INVALID,
             "--approver-token is required: the file with the token of an approver");
    TRY(cli_read_secret(secret, cli, "--approver-token", a->approver, err));
    TRY(pboost_token_approve(&token, &problem, ledger, a->token.name, secret, err));
    if (cli->json)
        TRY(cli_print_json(
            json_pack("{s:s, s:s}", "approved", token.name, "approved_by", token.approved_by),
            err));
    else
        cli_note(cli, "token '%s' approved by '%s'", token.name, token.approved_by);
done:
    explicit_bzero(secret, sizeof secret);
    return st;
}

static pboost_status revoke_token(cli_context *cli, pboost_ledger *ledger, arguments *a,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *name = a->token.name;

    TRY(pboost_token_revoke(ledger, name, err));
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:s}", "revoked", name), err));
    else
        cli_note(cli, "token '%s' revoked", name);
done:
    return st;
}

typedef struct {
    const char *name;
    bool store, token; /* whether it needs a store, and the name of a token */
    pboost_status (*run)(cli_context *cli, pboost_ledger *ledger, arguments *a, pboost_error *err);
} action;

static const action ACTIONS[] = {{"create", true, true, create_token},
                                 {"list", true, false, list_tokens},
                                 {"prepare", false, false, prepare_token},
                                 {"approve", true, true, approve_token},
                                 {"revoke", true, true, revoke_token}};

static const action *find_action(const char *name)
{
    for (size_t i = 0; i < sizeof ACTIONS / sizeof *ACTIONS; i++)
        if (strcmp(ACTIONS[i].name, name) == 0)
            return &ACTIONS[i];
    return NULL;
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
        {"--role", ROLES, cli_read_text, &a.role, NULL,
         "learner (default) asks; operator monitors; auditor reads\nthe ledger; approver approves "
         "tokens"},
        {"--expires", "D", cli_read_text, &a.expires, NULL,
         "30d, 12h, 90m or a date; default: never"},
        {"--rows", "MAX", cli_read_count, &a.rows, NULL, "how many rows the token may ask about"},
        {"--scope", "GROUP", cli_read_text, &a.token.scope, NULL,
         "only rows imported with this scope"},
        {"--pending", NULL, NULL, &a.token.pending, NULL,
         "create: it can do nothing until it is approved"},
        {"--registration", "HEX", cli_read_text, &a.token.registration, NULL,
         "create: what prepare printed for its holder"},
        {"--out", "FILE", cli_read_text, &a.out, NULL, "prepare: new file for the secret"},
        {"--creator-token", "FILE", cli_read_text, &a.creator, NULL,
         "create: the operator or approver who creates it, and\nwho cannot approve it"},
        {"--approver-token", "FILE", cli_read_text, &a.approver, NULL,
         "approve: the token of the approver"},
    };

    TRY(cli_parse(cli, &what, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    if (*what == '\0')
        FAIL(err, PBOOST_INVALID,
             "an action is missing; it must be create, list, prepare, approve or revoke");
    const action *todo = find_action(what);
    if (todo == NULL)
        FAIL(err, PBOOST_INVALID,
             "action '%s' is unknown; it must be create, list, prepare, approve or revoke", what);
    if (todo->token && a.token.name == NULL)
        FAIL(err, PBOOST_INVALID, "--name is required; see 'priorboost oracle token --help'");
    if (todo->store)
        TRY(oracle_open(&ledger, cli, &a.place, ORACLE_CHANGE, err));
    TRY(todo->run(cli, ledger, &a, err));
done:
    pboost_ledger_close(ledger);
    return st;
}
