/* make_store STORE MIN_BAG EPSILON|none LO HI UNIT_ROWS|0 SHEET TOKEN... < rows: a store for a
 * test.
 *
 * SHEET is the data sheet, its fields with | between them.
 * Rows are lines of ID LABEL [UNIT [SCOPE]], '-' for none.  TOKEN is
 * NAME:ROLE:EXPIRES:MAX_ROWS:SCOPE[:pending]; the secrets are printed one a line. */
#include <priorboost/ledger.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(pboost_status st, const pboost_error *err)
{
    if (st != PBOOST_OK) {
        fprintf(stderr, "make_store: %s\n", err->message);
        exit(1);
    }
}

static char *keep(const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL)
        exit(1);
    return copy;
}

static void import_rows(pboost_ledger *ledger, bool units)
{
    enum { MOST = 2000000 };
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id *id = calloc(3 * (size_t)MOST, sizeof *id), *unit = id + MOST, *scope = unit + MOST;
    double *label = calloc(MOST, sizeof *label);
    char line[900], name[4][260];
    bool scoped = false;

    while (id != NULL && label != NULL && in.n < MOST && fgets(line, sizeof line, stdin) != NULL) {
        int n = sscanf(line, "%255s %255s %255s %255s", name[0], name[1], name[2], name[3]);
        if (n < 2)
            continue;
        id[in.n].text = keep(name[0]);
        label[in.n] = strtod(name[1], NULL);
        unit[in.n].text = keep(n > 2 ? name[2] : name[0]);
        scope[in.n].text = keep(n > 3 ? name[3] : "none");
        scoped = scoped || n > 3;
        in.n++;
    }
    in.id = id;
    in.label = label;
    in.unit = units ? unit : NULL;
    in.scope = scoped ? scope : NULL;
    require(pboost_ledger_import(&report, ledger, &in, &err), &err);
    for (size_t i = 0; i < in.n; i++) {
        free((void *)(uintptr_t)id[i].text);
        free((void *)(uintptr_t)unit[i].text);
        free((void *)(uintptr_t)scope[i].text);
    }
    free(id);
    free(label);
}

static void read_sheet(pboost_sheet *out, char *text)
{
    pboost_error err = {0};
    for (size_t i = 0; i < PBOOST_SHEET_FIELDS; i++) {
        char *field = strsep(&text, "|");
        require(pboost_sheet_set(out, i, field != NULL ? field : "", &err), &err);
    }
}

static void print_token(pboost_ledger *ledger, char *text)
{
    pboost_error err = {0};
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    char secret[PBOOST_TOKEN_TEXT];
    char *part[6];

    for (int i = 0; i < 6; i++)
        part[i] = strsep(&text, ":");
    if (part[4] == NULL)
        exit(2);
    options.pending = part[5] != NULL && strcmp(part[5], "pending") == 0;
    options.name = part[0];
    if (!pboost_role_read(&options.role, part[1]))
        exit(2);
    options.expires = strtoll(part[2], NULL, 10);
    options.max_rows = strtoull(part[3], NULL, 10);
    options.scope = *part[4] != '\0' ? part[4] : NULL;
    require(pboost_token_create(secret, ledger, &options, &err), &err);
    puts(secret);
}

int main(int argc, char **argv)
{
    pboost_error err = {0};
    pboost_ledger *ledger;
    pboost_ledger_rules rules = PBOOST_LEDGER_RULES_INIT;

    if (argc < 8)
        return 2;
    rules.rules.min_bag = strtoull(argv[2], NULL, 10);
    rules.no_noise = strcmp(argv[3], "none") == 0;
    if (!rules.no_noise)
        require(pboost_rational_parse(&rules.rules.epsilon, argv[3], &err), &err);
    rules.rules.bounded = true;
    rules.rules.lower = strtod(argv[4], NULL);
    rules.rules.upper = strtod(argv[5], NULL);
    rules.unit_rows = strtoull(argv[6], NULL, 10);
    rules.units = rules.unit_rows > 0;
    if (!rules.units)
        rules.unit_rows = 1;
    read_sheet(&rules.sheet, argv[7]);
    require(pboost_ledger_create(argv[1], &rules, NULL, &err), &err);
    require(pboost_ledger_open(&ledger, argv[1], NULL, &err), &err);
    import_rows(ledger, rules.units);
    for (int i = 8; i < argc; i++)
        print_token(ledger, argv[i]);
    pboost_ledger_close(ledger);
    return 0;
}
