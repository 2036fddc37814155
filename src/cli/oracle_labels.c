/* What a label is: one number, one of several classes, or several columns. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "oracle.h"

/* ---- Options --------------------------------------------------------------------------------- */

/* The next part of a list with commas, of `length` bytes; NULL: there is none.  Spaces around it do
 * not belong to it. */
static const char *next_part(const char **list, size_t *length)
{
    const char *part = *list;

    if (part == NULL)
        return NULL;
    *length = strcspn(part, ",");
    *list = part[*length] == ',' ? part + *length + 1 : NULL;
    while (*length > 0 && *part == ' ') {
        part++;
        (*length)--;
    }
    while (*length > 0 && part[*length - 1] == ' ')
        (*length)--;
    return part;
}

static pboost_status add_name(pboost_ledger_rules *rules, const char *option, const char *name,
                              size_t length, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t used = strlen(rules->names);

    if (length == 0)
        FAIL(err, PBOOST_INVALID, "%s has an empty name; write names with one comma between them",
             option);
    if (used + length + 2 > sizeof rules->names)
        FAIL(err, PBOOST_INVALID, "%s has more than %zu bytes of names", option,
             sizeof rules->names - 1);
    if (used > 0)
        rules->names[used++] = '\n';
    memcpy(rules->names + used, name, length);
    rules->names[used + length] = '\0';
    rules->rules.width++;
done:
    return st;
}

/* Two classes are a mean of labels 0 and 1. */
static pboost_status set_classes(pboost_ledger_rules *rules, const char *list, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *part;
    size_t length;

    if (rules->rules.bounded || rules->rules.step != 0)
        FAIL(err, PBOOST_INVALID,
             "--classes is given together with --bounds or --step; classes have none");
    rules->rules.width = 0;
    while ((part = next_part(&list, &length)) != NULL)
        TRY(add_name(rules, "--classes", part, length, err));
    if (rules->rules.width < 2)
        FAIL(err, PBOOST_INVALID, "--classes names %zu class; there must be at least 2",
             rules->rules.width);
    if (rules->rules.width > 2) {
        rules->rules.answer = PBOOST_ANSWER_CLASSES;
        goto done;
    }
    rules->rules.width = 1;
    rules->rules.bounded = true;
    rules->rules.lower = 0;
    rules->rules.upper = rules->rules.step = 1;
done:
    return st;
}

/* "LO:HI" or "LO:HI:Q" up to the end of the part. */
static bool read_bounds(pboost_label_column *out, const char *text, const char *stop)
{
    double *const into[] = {&out->lower, &out->upper, &out->step};
    size_t n = 0;
    char *end = NULL;

    out->step = 0;
    for (; n < 3; n++) {
        errno = 0;
        *into[n] = strtod(text, &end);
        if (end == text || end > stop || errno != 0)
            return false;
        text = end + 1;
        if (end == stop || *end != ':')
            break;
    }
    return end == stop && n >= 1 && (n < 2 || out->step > 0);
}

static pboost_status add_column(pboost_ledger_rules *rules, const char *part, size_t length,
                                bool may_be_free, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *equals = memchr(part, '=', length);
    size_t name = equals != NULL ? (size_t)(equals - part) : length;

    if (rules->rules.width == PBOOST_LABEL_COLUMNS_MAX)
        FAIL(err, PBOOST_INVALID, "--labels names more than %d columns", PBOOST_LABEL_COLUMNS_MAX);
    pboost_label_column *column = &rules->column[rules->rules.width];
    *column = (pboost_label_column){rules->rules.lower, rules->rules.upper, rules->rules.step, 1};
    TRY(add_name(rules, "--labels", part, name, err));
    if (equals != NULL && !read_bounds(column, equals + 1, part + length))
        FAIL(
            err, PBOOST_INVALID,
            "--labels: '%.*s' must be COL=LO:HI or COL=LO:HI:Q with numbers, such as visits=0:20:1",
            (int)(length < 100 ? length : 100), part);
    if (equals == NULL && !rules->rules.bounded && !may_be_free)
        FAIL(err, PBOOST_INVALID,
             "--labels: column '%.*s' has no bounds; write COL=LO:HI, or give --bounds for all",
             (int)(name < 100 ? name : 100), part);
done:
    return st;
}

static pboost_status set_shares(pboost_ledger_rules *rules, const char *list, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *part, *all = list;
    size_t length, n = 0;

    for (; (part = next_part(&list, &length)) != NULL; n++) {
        char *end;
        errno = 0;
        unsigned long long share = strtoull(part, &end, 10);
        if (errno != 0 || length == 0 || *part == '-' || end != part + length ||
            n >= rules->rules.width)
            break;
        rules->column[n].share = share;
    }
    if (part != NULL || n != rules->rules.width)
        FAIL(err, PBOOST_INVALID,
             "--shares is '%.60s'; it must have one whole number for each of the %zu columns of "
             "--labels, with commas between them",
             all, rules->rules.width);
done:
    return st;
}

pboost_status oracle_set_labels(pboost_ledger_rules *rules, const label_arguments *a,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *list = a->columns, *part;
    size_t length;

    if (a->classes != NULL && a->columns != NULL)
        FAIL(err, PBOOST_INVALID, "--classes and --labels contradict each other; leave one out");
    if (a->shares != NULL && a->columns == NULL)
        FAIL(err, PBOOST_INVALID, "--shares is '%.60s', but there is no --labels", a->shares);
    if (a->classes != NULL)
        TRY(set_classes(rules, a->classes, err));
    if (list == NULL)
        goto done;
    rules->rules.answer = PBOOST_ANSWER_COLUMNS;
    rules->rules.width = 0;
    while ((part = next_part(&list, &length)) != NULL)
        TRY(add_column(rules, part, length, a->may_be_free, err));
    rules->rules.bounded = true;
    rules->rules.lower = rules->rules.upper = rules->rules.step = 0; /* each column has its own */
    if (a->shares != NULL)
        TRY(set_shares(rules, a->shares, err));
done:
    return st;
}

/* ---- What is shown --------------------------------------------------------------------------- */

const char *oracle_labels_text(char out[ORACLE_LABELS_TEXT], const pboost_ledger_rules *rules)
{
    const pboost_rules *r = &rules->rules;
    size_t n = pboost_lines_count(rules->names), used = 0;
    char name[LINE_TEXT];

    if (n == 0) {
        snprintf(out, ORACLE_LABELS_TEXT, "labels in [%g, %g]", r->lower, r->upper);
        return out;
    }
    used = (size_t)snprintf(out, ORACLE_LABELS_TEXT, "%zu %s (", n,
                            r->answer == PBOOST_ANSWER_COLUMNS ? "label columns" : "classes");
    for (size_t i = 0; i < n; i++) {
        (void)pboost_line_copy(name, rules->names, i);
        bool fits = used + strlen(name) + 10 < ORACLE_LABELS_TEXT;
        used += (size_t)snprintf(out + used, ORACLE_LABELS_TEXT - used, "%s%s", i > 0 ? ", " : "",
                                 fits ? name : "...");
        if (!fits)
            break;
    }
    snprintf(out + used, ORACLE_LABELS_TEXT - used, ")");
    return out;
}

json_t *oracle_names_json(const pboost_ledger_rules *rules)
{
    json_t *list = json_array();
    char name[LINE_TEXT];

    for (size_t i = 0; i < pboost_lines_count(rules->names); i++) {
        const pboost_label_column *c = &rules->column[i];
        (void)pboost_line_copy(name, rules->names, i);
        json_array_append_new(list, rules->rules.answer == PBOOST_ANSWER_COLUMNS
                                        ? json_pack("{s:s, s:[f,f], s:f, s:I}", "name", name,
                                                    "bounds", c->lower, c->upper, "step", c->step,
                                                    "share", (json_int_t)c->share)
                                        : json_string(name));
    }
    return list;
}
