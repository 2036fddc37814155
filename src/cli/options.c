/* Options: a table per command, one reader per kind of value. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

pboost_status cli_read_text(void *target, const char *option, const char *text, pboost_error *err)
{
    if (*text == '\0')
        return pboost_fail(err, PBOOST_INVALID, "%s is empty", option);
    *(const char **)target = text;
    return PBOOST_OK;
}

/* A whole number in decimal digits that is at most `most`. */
static bool read_whole(uint64_t *out, const char *text, uint64_t most)
{
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *out = value;
    return errno == 0 && *end == '\0' && value <= most;
}

pboost_status cli_read_count(void *target, const char *option, const char *text, pboost_error *err)
{
    uint64_t value;
    if (!read_whole(&value, text, SIZE_MAX / 2) || value == 0)
        return pboost_fail(err, PBOOST_INVALID,
                           "%s is '%s'; it must be a whole number of at least 1", option, text);
    *(size_t *)target = (size_t)value;
    return PBOOST_OK;
}

pboost_status cli_read_threads(void *target, const char *option, const char *text,
                               pboost_error *err)
{
    uint64_t value;
    if (!read_whole(&value, text, 1024))
        return pboost_fail(err, PBOOST_INVALID,
                           "%s is '%s'; it must be a whole number from 0 (all cores) to 1024",
                           option, text);
    *(int *)target = (int)value;
    return PBOOST_OK;
}

pboost_status cli_read_seed(void *target, const char *option, const char *text, pboost_error *err)
{
    uint64_t value;
    if (!read_whole(&value, text, UINT64_MAX))
        return pboost_fail(err, PBOOST_INVALID,
                           "%s is '%s'; it must be a whole number from 0 to 2^64-1", option, text);
    *(uint64_t *)target = value;
    return PBOOST_OK;
}

static bool read_double(double *out, const char *text)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out);
}

pboost_status cli_read_number(void *target, const char *option, const char *text, pboost_error *err)
{
    if (!read_double(target, text))
        return pboost_fail(err, PBOOST_INVALID, "%s is '%s'; it must be a finite number", option,
                           text);
    return PBOOST_OK;
}

pboost_status cli_read_not_negative(void *target, const char *option, const char *text,
                                    pboost_error *err)
{
    double value;
    if (!read_double(&value, text) || value < 0.0)
        return pboost_fail(err, PBOOST_INVALID, "%s is '%s'; it must be a number of at least 0",
                           option, text);
    *(double *)target = value;
    return PBOOST_OK;
}

pboost_status cli_read_positive(void *target, const char *option, const char *text,
                                pboost_error *err)
{
    double value;
    if (!read_double(&value, text) || value <= 0.0)
        return pboost_fail(err, PBOOST_INVALID, "%s is '%s'; it must be a number greater than 0",
                           option, text);
    *(double *)target = value;
    return PBOOST_OK;
}

void cli_list_free(cli_list *list)
{
    if (list->item != NULL)
        free((void *)(uintptr_t)list->item[0]);
    free(list->item);
    *list = (cli_list){0};
}

pboost_status cli_read_list(void *target, const char *option, const char *text, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    cli_list list = {0};
    char *copy = NULL;
    size_t n = 1;

    for (const char *c = text; *c != '\0'; c++)
        n += *c == ',';
    NEED(copy = strdup(text), err);
    NEED(list.item = pboost_alloc(n, sizeof *list.item), err);
    list.item[0] = copy;
    for (char *rest = copy; rest != NULL;) {
        char *comma = strchr(rest, ',');
        if (comma != NULL)
            *comma = '\0';
        if (*rest == '\0')
            FAIL(err, PBOOST_INVALID,
                 "%s is '%s'; it must be values with commas between them, none of them empty",
                 option, text);
        list.item[list.n++] = rest;
        rest = comma != NULL ? comma + 1 : NULL;
    }
    cli_list_free(target); /* the last of a repeated option counts */
    *(cli_list *)target = list;
    return PBOOST_OK;
done:
    free(list.item);
    free(copy);
    return st;
}

pboost_status cli_texts_add(cli_texts *texts, const char *text, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    GROW(texts->item, texts->capacity, texts->n + 1, err);
    texts->item[texts->n++] = text;
done:
    return st;
}

pboost_status cli_read_each(void *target, const char *option, const char *text, pboost_error *err)
{
    if (*text == '\0')
        return pboost_fail(err, PBOOST_INVALID, "%s is empty", option);
    return cli_texts_add(target, text, err);
}

pboost_status cli_read_bounds(void *target, const char *option, const char *text, pboost_error *err)
{
    cli_bounds *bounds = target;
    char *end;
    bounds->lower = strtod(text, &end);
    if (end == text || *end != ',' || !read_double(&bounds->upper, end + 1) ||
        !isfinite(bounds->lower) || !(bounds->lower < bounds->upper))
        return pboost_fail(err, PBOOST_INVALID,
                           "%s is '%s'; it must be LO,HI with LO < HI, such as 0,1 or -15,15",
                           option, text);
    return PBOOST_OK;
}

pboost_status cli_read_epsilon(void *target, const char *option, const char *text,
                               pboost_error *err)
{
    (void)option;
    return pboost_rational_parse(target, text, err);
}

pboost_status cli_read_family(void *target, const char *option, const char *text, pboost_error *err)
{
    (void)option;
    return pboost_family_parse(target, text, err);
}

/* ---- Help ------------------------------------------------------------------------------------ */

static void print_option(const char *name, const char *value, const char *help)
{
    char left[64];
    snprintf(left, sizeof left, "%s%s%s", name, value != NULL ? " " : "",
             value != NULL ? value : "");
    int width = 26;
    printf("  %-*s", width, left);
    if (strlen(left) + 2 > (size_t)width)
        printf("\n  %*s", width, "");
    /* Lines of the help text after the first are indented below it. */
    for (const char *c = help; *c != '\0'; c++) {
        putchar(*c);
        if (*c == '\n')
            printf("  %*s", width, "");
    }
    putchar('\n');
}

const cli_option CLI_COMMON_OPTIONS[CLI_COMMON] = {
    {"--json", NULL, NULL, NULL, NULL, "print one JSON object on standard output"},
    {"--quiet", NULL, NULL, NULL, NULL, "print no messages"},
    {"--help", NULL, NULL, NULL, NULL, "print this page"},
};

const char CLI_EXIT_CODES[] =
    "0 done; 1 internal error, or output that cannot be written; 2 usage;\n"
    "3 bad input; 4 oracle or network; 5 refused by a privacy rule;\n"
    "6 a fit that must not be used.";

static void print_help(void *to, const cli_page *page)
{
    (void)to;
    printf("Usage: priorboost %s %s\n\n%s\n\nOptions:\n", page->command, page->usage->synopsis,
           page->usage->text);
    for (size_t i = 0; i < page->n_options; i++)
        print_option(page->options[i].name, page->options[i].value, page->options[i].help);
    for (size_t i = 0; i < CLI_COMMON; i++)
        print_option(CLI_COMMON_OPTIONS[i].name, NULL, CLI_COMMON_OPTIONS[i].help);
    printf("\nExit codes: %s\n", CLI_EXIT_CODES);
}

/* ---- Parsing --------------------------------------------------------------------------------- */

static const cli_option *find_option(const cli_option *options, size_t n, const char *name,
                                     size_t length)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(options[i].name) == length && memcmp(options[i].name, name, length) == 0)
            return &options[i];
    return NULL;
}

/* An option, or an operand, whose file is "-".  What is read or written twice would be mixed. */
static pboost_status take_standard(cli_context *cli, const char *name, pboost_error *err)
{
    static const char *const OUTPUTS[] = {"--out", "--test-out", "--truth", "--report"};
    bool output = false;

    for (size_t i = 0; i < sizeof OUTPUTS / sizeof *OUTPUTS; i++)
        output = output || strcmp(name, OUTPUTS[i]) == 0;
    const char **taken = output ? &cli->standard_output : &cli->standard_input;
    if (*taken != NULL)
        return pboost_fail(err, PBOOST_INVALID, "%s and %s are both '-', standard %s; name a file",
                           *taken, name, output ? "output" : "input");
    *taken = name;
    return PBOOST_OK;
}

/* Takes argv[*i] (and the value after it) as an option. */
static pboost_status take_option(cli_context *cli, int *i, int argc, char **argv,
                                 const cli_option *options, size_t n, pboost_error *err)
{
    bool *const common[CLI_COMMON] = {&cli->json, &cli->quiet, &cli->help};
    const char *name = argv[*i];
    const char *equals = strchr(name, '=');
    size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const cli_option *option = find_option(options, n, name, length);

    bool *flag = option != NULL ? option->target : NULL;

    if (option == NULL) {
        option = find_option(CLI_COMMON_OPTIONS, CLI_COMMON, name, length);
        flag = option != NULL ? common[option - CLI_COMMON_OPTIONS] : NULL;
    }
    if (option == NULL)
        return pboost_fail(err, PBOOST_INVALID,
                           "option '%.*s' is unknown; see 'priorboost %s --help'", (int)length,
                           name, cli->command);
    if (option->given != NULL)
        *option->given = true;
    if (option->read == NULL) {
        if (equals != NULL)
            return pboost_fail(err, PBOOST_INVALID, "%s takes no value", option->name);
        *flag = true;
        return PBOOST_OK;
    }
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (value == NULL && option->value[0] == '[') { /* may be left out; it is a number */
        const char *next = *i + 1 < argc ? argv[*i + 1] : "";
        if ((*next < '0' || *next > '9') && *next != '.')
            return PBOOST_OK;
    }
    if (value == NULL) {
        if (*i + 1 >= argc)
            return pboost_fail(err, PBOOST_INVALID, "%s needs a value: %s %s", option->name,
                               option->name, option->value);
        value = argv[++*i];
    }
    pboost_status st = option->read(option->target, option->name, value, err);
    return st == PBOOST_OK && strcmp(option->value, "FILE") == 0 && strcmp(value, "-") == 0
               ? take_standard(cli, option->name, err)
               : st;
}

bool cli_asks_for_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

pboost_status cli_parse(cli_context *cli, const char **operand, int argc, char **argv,
                        const cli_usage *usage, const cli_option *options, size_t n_options,
                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool many = usage->operand != NULL && strstr(usage->operand, "...") != NULL;
    size_t taken = 0;

    for (int i = 1; i < argc; i++) { /* help wins over everything else on the line */
        if (cli_asks_for_help(argv[i])) {
            const cli_page page = {cli->command, usage, options, n_options};
            cli->help = true;
            (cli->write_page != NULL ? cli->write_page : print_help)(cli->to, &page);
            return cli_flush(err);
        }
    }
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1] != '\0') {
            TRY(take_option(cli, &i, argc, argv, options, n_options, err));
        } else if (usage->operand == NULL || (taken > 0 && !many)) {
            FAIL(err, PBOOST_INVALID, "argument '%s' is not expected; see 'priorboost %s --help'",
                 argv[i], cli->command);
        } else {
            if (strcmp(argv[i], "-") == 0)
                TRY(take_standard(cli, usage->operand, err));
            operand[taken++] = argv[i];
        }
    }
    if (cli->json && cli->standard_output != NULL)
        FAIL(err, PBOOST_INVALID, "--json and %s - both write to standard output; name a file",
             cli->standard_output);
done:
    return st;
}
