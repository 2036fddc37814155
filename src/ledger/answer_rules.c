/* What answers a store gives: a mean, the counts of classes, the means of label columns. */
#include "answer_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lines.h"
#include "utf8.h"

/* ---- Names ----------------------------------------------------------------------------------- */

static pboost_status check_names(const pboost_ledger_rules *rules, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char name[LINE_TEXT];
    const char *what = rules->rules.answer == PBOOST_ANSWER_COLUMNS ? "label column" : "class";

    if (pboost_lines_count(rules->names) != n)
        FAIL(err, PBOOST_INVALID, "there are %zu names, but %zu of %s",
             pboost_lines_count(rules->names), n, what);
    for (size_t i = 0; i < n; i++) {
        if (!pboost_line_copy(name, rules->names, i) || name[0] == '\0' ||
            !pboost_utf8_printable(name))
            FAIL(err, PBOOST_INVALID,
                 "the name of %s %zu must be 1 to %d bytes of UTF-8 text on one line", what, i + 1,
                 LINE_TEXT - 1);
        if (pboost_line_find(rules->names, name) != i)
            FAIL(err, PBOOST_INVALID, "%s '%.60s' occurs twice", what, name);
    }
done:
    return st;
}

/* ---- Rules ----------------------------------------------------------------------------------- */

pboost_rules pboost_ledger_rules_core(const pboost_ledger_rules *rules)
{
    pboost_rules core = rules->rules;
    if (core.answer == PBOOST_ANSWER_COLUMNS)
        core.columns = rules->column;
    return core;
}

pboost_status pboost_answer_check(pboost_ledger_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rules core = pboost_ledger_rules_core(rules), number;
    size_t n = core.answer != PBOOST_ANSWER_MEAN ? core.width
               : *rules->names != '\0'           ? 2 /* of labels 0 and 1 */
                                                 : 0;

    if (memchr(rules->names, '\0', sizeof rules->names) == NULL)
        FAIL(err, PBOOST_INVALID, "the names of classes or label columns have more than %zu bytes",
             sizeof rules->names - 1);
    if (core.answer == PBOOST_ANSWER_COLUMNS && core.width > PBOOST_LABEL_COLUMNS_MAX)
        FAIL(err, PBOOST_INVALID, "there are %zu label columns; the most is %d", core.width,
             PBOOST_LABEL_COLUMNS_MAX);
    if (core.answer == PBOOST_ANSWER_MEAN && core.mechanism != PBOOST_LAPLACE)
        FAIL(err, PBOOST_INVALID, /* a learner of before would take it for Laplace noise */
             "Gaussian noise (--mechanism) is for --classes and --labels; one column is enough");
    TRY(pboost_rules_check(&core, err));
    TRY(check_names(rules, n, err));
    if (core.answer == PBOOST_ANSWER_MEAN && n == 2 &&
        (core.lower != 0 || core.upper != 1 || core.step != 1))
        FAIL(err, PBOOST_INVALID,
             "two classes are labels 0 and 1: bounds are [%g, %g] and step %g, but must be [0, 1] "
             "and 1",
             core.lower, core.upper, core.step);
    for (size_t j = 0; core.columns != NULL && j < core.width; j++) { /* default steps */
        TRY(pboost_rules_number(&number, &core, j, err));
        rules->column[j].step = number.step;
    }
    core.columns = NULL;
    rules->rules = core;
done:
    return st;
}

/* ---- In the first entry ---------------------------------------------------------------------- */

void pboost_answer_print(char out[ANSWER_TEXT], const pboost_ledger_rules *rules)
{
    const pboost_rules *r = &rules->rules;
    int used = 0;

    out[0] = '\0';
    if (pboost_answer_has_names(rules))
        used =
            snprintf(out, ANSWER_TEXT, " answer %s %zu", pboost_answer_name(r->answer), r->width);
    if (r->mechanism != PBOOST_LAPLACE)
        snprintf(out + used, ANSWER_TEXT - (size_t)used,
                 " mechanism %s delta %" PRIu64 "/%" PRIu64 " rho %" PRIu64 "/%" PRIu64,
                 pboost_mechanism_name(r->mechanism), r->delta.num, r->delta.den, r->rho.num,
                 r->rho.den);
}

void pboost_answer_read(pboost_ledger_rules *rules, const char *text)
{
    pboost_rules *r = &rules->rules;
    char name[16];
    size_t width;
    int used = 0;

    if (sscanf(text, " answer %15s %zu%n", name, &width, &used) != 2 ||
        pboost_answer_parse(&r->answer, name, NULL) != PBOOST_OK)
        return;
    r->width = width;
    rules->names[0] = '\n'; /* until they are read: the entry has some */
    if (sscanf(text + used,
               " mechanism %15s delta %" SCNu64 "/%" SCNu64 " rho %" SCNu64 "/%" SCNu64, name,
               &r->delta.num, &r->delta.den, &r->rho.num, &r->rho.den) != 5 ||
        pboost_mechanism_parse(&r->mechanism, name, NULL) != PBOOST_OK)
        r->delta = r->rho = (pboost_rational){0, 0};
}

bool pboost_answer_has_names(const pboost_ledger_rules *rules)
{
    return *rules->names != '\0';
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double read_double(record_reader *r)
{
    uint64_t bits = pboost_read_number(r);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void pboost_names_write(record *out, const pboost_ledger_rules *rules)
{
    bool columns = rules->rules.answer == PBOOST_ANSWER_COLUMNS;

    pboost_record_text(out, rules->names);
    for (size_t j = 0; columns && j < rules->rules.width; j++) {
        pboost_record_number(out, bits_of(rules->column[j].lower));
        pboost_record_number(out, bits_of(rules->column[j].upper));
        pboost_record_number(out, bits_of(rules->column[j].step));
        pboost_record_number(out, rules->column[j].share);
    }
}

void pboost_names_read(pboost_ledger_rules *rules, record_reader *r)
{
    bool columns = rules->rules.answer == PBOOST_ANSWER_COLUMNS;
    const char *names = pboost_read_text(r);

    if (strlen(names) >= sizeof rules->names ||
        (columns && rules->rules.width > PBOOST_LABEL_COLUMNS_MAX)) {
        r->bad = true;
        return;
    }
    memcpy(rules->names, names, strlen(names) + 1);
    for (size_t j = 0; columns && j < rules->rules.width; j++) {
        pboost_label_column *c = &rules->column[j];
        c->lower = read_double(r);
        c->upper = read_double(r);
        c->step = read_double(r);
        c->share = pboost_read_number(r);
    }
}
