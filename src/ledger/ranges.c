/* What an import brought, and whether the store still has it. */
#include "ranges.h"

#include <string.h>

const range_info RANGES[RANGE_KINDS] = {
    [RANGE_ROWS] = {"ledger_row", "priorboost rows 2",
                    "SELECT slot, id, digest, unit, scope FROM ledger_row ORDER BY slot"},
    [RANGE_UNITS] = {"ledger_unit", "priorboost units 2",
                     "SELECT unit, id, digest FROM ledger_unit ORDER BY unit"},
    [RANGE_SCOPES] = {"ledger_scope", "priorboost scopes 2",
                      "SELECT scope, name, NULL FROM ledger_scope ORDER BY scope"},
};

void pboost_ranges_write(record *r, const name_ranges *ranges)
{
    for (int k = 0; k < RANGE_KINDS; k++) {
        pboost_record_number(r, (uint64_t)ranges->of[k].first);
        pboost_record_number(r, (uint64_t)ranges->of[k].n);
        pboost_record_bytes(r, ranges->of[k].hash.byte, sizeof ranges->of[k].hash.byte);
    }
}

name_ranges pboost_ranges_read(record_reader *r)
{
    name_ranges ranges;

    for (int k = 0; k < RANGE_KINDS; k++) {
        int64_t first = (int64_t)pboost_read_number(r), n = (int64_t)pboost_read_number(r);
        ranges.of[k] = (name_range){first, n, pboost_read_digest(r), CHAIN_VERSION, false};
    }
    return ranges;
}

typedef struct {
    name_range *range;
    size_t n, at;
    int64_t total;
    range_kind kind;
    const ledger_keys *keys;
    hasher h;
} hashing;

static uint32_t number_or_none(const store_value *value)
{
    return value->kind == VALUE_NUMBER ? (uint32_t)value->number : NO_NUMBER;
}

static void add_item(hashing *g, name_range *range, const store_value *value)
{
    pboost_id id = {value[1].kind == VALUE_TEXT ? value[1].data : "", 0};
    bool is_row = g->kind == RANGE_ROWS;
    digest d;

    range->erased = range->erased || value[1].kind != VALUE_TEXT;
    if (range->version == 1) {
        pboost_hash_row(&g->h, id, number_or_none(&value[3]), number_or_none(&value[4]));
        return;
    }
    if (value[1].kind != VALUE_TEXT && value[2].length == sizeof d.byte)
        memcpy(d.byte, value[2].data, sizeof d.byte);
    else
        d = pboost_name_digest(g->keys, RANGES[g->kind].table, id);
    if (is_row)
        pboost_hash_row_digest(&g->h, &d, number_or_none(&value[3]), number_or_none(&value[4]));
    else
        pboost_hash_bytes(&g->h, d.byte, sizeof d.byte);
}

/* number, id, digest; of a row also its unit and scope */
static pboost_status take_item(void *user, const store_value *value, size_t n, pboost_error *err)
{
    hashing *g = user;
    int64_t number = value[0].number;
    (void)n, (void)err;

    g->total++;
    while (g->at < g->n && number >= g->range[g->at].first + g->range[g->at].n)
        g->at++;
    if (g->at == g->n || number < g->range[g->at].first)
        return PBOOST_OK;
    name_range *range = &g->range[g->at];
    if (number == range->first)
        pboost_hash_start(&g->h, range->version == 1 ? "priorboost rows 1" : RANGES[g->kind].what);
    add_item(g, range, value);
    if (number == range->first + range->n - 1)
        range->hash = pboost_hash_end(&g->h);
    return PBOOST_OK;
}

pboost_status pboost_ranges_hash(name_range *range, size_t n, int64_t *total, range_kind kind,
                                 store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    hashing g = {.range = range, .n = n, .kind = kind, .keys = s->keys};

    for (size_t i = 0; i < n; i++) {
        range[i].erased = false;
        pboost_hash_start(&g.h, RANGES[kind].what); /* of a range with nothing in it */
        range[i].hash = range[i].n == 0 ? pboost_hash_end(&g.h) : (digest){{0}};
    }
    TRY(s->class->run(s, RANGES[kind].sql, NULL, 0, take_item, &g, err));
    *total = g.total;
done:
    return st;
}
