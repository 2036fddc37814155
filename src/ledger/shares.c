/* Shares of a unit's uses by scope. */
#include "shares.h"

#include <errno.h>
#include <string.h>

void pboost_shares_free(unit_shares *shares)
{
    pboost_ids_free(&shares->scope);
    free(shares->first);
    *shares = (unit_shares){0};
}

/* One "NAME=ROWS" of n bytes; *rows gets its number. */
static pboost_status take_share(unit_shares *s, size_t *rows, const char *text, size_t n,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *equals = memchr(text, '=', n);
    size_t length = equals != NULL ? (size_t)(equals - text) : 0;
    char name[PBOOST_ID_MAX + 1], *end = NULL;
    uint32_t number;
    bool added, printable = true;

    for (size_t i = 0; i < length; i++)
        printable &= text[i] > ' ' && text[i] != 127;
    errno = 0;
    unsigned long value =
        equals != NULL && equals[1] >= '1' && equals[1] <= '9' ? strtoul(equals + 1, &end, 10) : 0;
    if (length == 0 || length > PBOOST_ID_MAX || !printable || end != text + n || errno != 0 ||
        value > 1000000)
        FAIL(err, PBOOST_INVALID,
             "scope_rows has '%.*s'; each part must be SCOPE=ROWS with 1 to 1000000 rows and no "
             "blank, comma or = in the scope's name",
             n < 80 ? (int)n : 80, text);
    memcpy(name, text, length);
    name[length] = '\0';
    TRY(pboost_ids_add(&number, &added, &s->scope, (pboost_id){name, 0}, err));
    if (!added)
        FAIL(err, PBOOST_INVALID, "scope_rows names scope '%.60s' twice", name);
    *rows = value;
done:
    return st;
}

pboost_status pboost_shares_parse(unit_shares *out, const char *text, size_t unit_rows,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t most = 2, total = 0;

    *out = (unit_shares){.named = *text != '\0'};
    for (const char *c = text; *c != '\0'; c++)
        most += *c == ',';
    NEED(out->first = calloc(most, sizeof *out->first), err);
    while (out->named) {
        size_t n = strcspn(text, ","), rows;
        TRY(take_share(out, &rows, text, n, err));
        total += rows;
        out->first[++out->n] = (uint32_t)total;
        if (text[n] == '\0')
            break;
        text += n + 1;
    }
    if (total > unit_rows)
        FAIL(err, PBOOST_INVALID, "scope_rows has %zu rows in all; unit_rows allows %zu", total,
             unit_rows);
    if (!out->named) {
        out->n = 1;
        out->first[1] = (uint32_t)unit_rows;
    }
done:
    if (st != PBOOST_OK)
        pboost_shares_free(out);
    return st;
}

uint32_t pboost_shares_find(const unit_shares *shares, const char *scope)
{
    return shares->named ? pboost_ids_find(&shares->scope, (pboost_id){scope, 0}) : 0;
}

uint32_t pboost_shares_of_use(const unit_shares *shares, int64_t use)
{
    for (uint32_t s = 0; s < shares->n; s++)
        if (use >= shares->first[s] && use < shares->first[s + 1])
            return s;
    return NO_NUMBER;
}
