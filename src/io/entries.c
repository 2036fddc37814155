/* Sparse rows that own their memory. */
#include "entries.h"

#include <string.h>

#include "try.h"

void pboost_entries_free(pboost_entries *entries)
{
    free(entries->start);
    free(entries->column);
    free(entries->value);
    *entries = (pboost_entries){0};
}

/* ---- Making them ----------------------------------------------------------------------------- */

void pboost_entry_list_free(entry_list *list)
{
    free(list->start);
    free(list->column);
    free(list->value);
    *list = (entry_list){0};
}

pboost_status pboost_entry_list_add(entry_list *list, uint32_t column, double value,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    GROW(list->column, list->column_capacity, list->n + 1, err);
    GROW(list->value, list->value_capacity, list->n + 1, err);
    list->column[list->n] = column;
    list->value[list->n++] = value;
done:
    return st;
}

pboost_status pboost_entry_list_end_row(entry_list *list, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    GROW(list->start, list->start_capacity, list->rows + 2, err);
    list->start[0] = 0;
    list->start[++list->rows] = list->n;
done:
    return st;
}

/* A smaller block, or the same where there is none. */
static void *shrunk(void *block, size_t bytes)
{
    void *smaller = block != NULL ? realloc(block, bytes > 0 ? bytes : 1) : NULL;
    return smaller != NULL ? smaller : block;
}

/* Values as floats where no bit is lost; nothing where all are 1.  A float is written behind or on
 * the double that was read last, so both can share the block. */
static void pack_values(pboost_entries *e, size_t n)
{
    const double *value = e->value;
    bool ones = true, floats = true;

    for (size_t i = 0; i < n; i++) {
        ones = ones && value[i] == 1.0;
        floats = floats && (double)(float)value[i] == value[i];
    }
    if (ones) {
        free(e->value);
        e->value = NULL;
        return;
    }
    for (size_t i = 0; floats && i < n; i++) {
        float packed = (float)value[i];
        memcpy((char *)e->value + i * sizeof packed, &packed, sizeof packed);
    }
    e->x.type = floats ? PBOOST_F32 : PBOOST_F64;
    e->value = shrunk(e->value, n * (floats ? sizeof(float) : sizeof(double)));
}

pboost_status pboost_entry_list_finish(pboost_entries *out, entry_list *list, size_t cols,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = list->n;

    GROW(list->start, list->start_capacity, list->rows + 1, err); /* where there are no rows */
    list->start[0] = 0;
    *out = (pboost_entries){.x = {.rows = list->rows, .cols = cols, .start_bytes = 8},
                            .start = list->start,
                            .column = shrunk(list->column, n * sizeof *list->column),
                            .value = list->value};
    *list = (entry_list){0};
    pack_values(out, n);
    out->x.start = out->start;
    out->x.column = out->column;
    out->x.value = out->value;
done:
    return st;
}

/* ---- Some of their rows ---------------------------------------------------------------------- */

static uint64_t start_of(const pboost_sparse *x, size_t row)
{
    return x->start_bytes == 4 ? ((const uint32_t *)x->start)[row]
                               : ((const uint64_t *)x->start)[row];
}

pboost_status pboost_entries_gather(pboost_entries *out, const pboost_sparse *x, const size_t *row,
                                    size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t size = x->type == PBOOST_F32 ? sizeof(float) : sizeof(double), total = 0;

    *out = (pboost_entries){.x = *x};
    for (size_t i = 0; i < n; i++)
        total += start_of(x, row[i] + 1) - start_of(x, row[i]);
    NEED(out->start = pboost_alloc(n + 1, sizeof *out->start), err);
    NEED(out->column = pboost_alloc(total, sizeof *out->column), err);
    if (x->value != NULL)
        NEED(out->value = pboost_alloc(total, size), err);
    out->start[0] = 0;
    for (size_t i = 0; i < n; i++) {
        size_t from = start_of(x, row[i]), count = start_of(x, row[i] + 1) - from;
        memcpy(out->column + out->start[i], x->column + from, count * sizeof *out->column);
        if (x->value != NULL)
            memcpy((char *)out->value + out->start[i] * size, (const char *)x->value + from * size,
                   count * size);
        out->start[i + 1] = out->start[i] + count;
    }
    out->x.rows = n;
    out->x.start = out->start;
    out->x.start_bytes = 8;
    out->x.column = out->column;
    out->x.value = out->value;
done:
    if (st != PBOOST_OK)
        pboost_entries_free(out);
    return st;
}
