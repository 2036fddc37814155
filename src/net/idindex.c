/* Pointers to the ids, sorted: numbers before texts. */
#include "idindex.h"

#include <string.h>

#include "try.h"

static int compare(const void *left, const void *right)
{
    const pboost_id *a = *(const pboost_id *const *)left, *b = *(const pboost_id *const *)right;

    if (a->text != NULL && b->text != NULL)
        return strcmp(a->text, b->text);
    if (a->text != NULL || b->text != NULL)
        return a->text != NULL ? 1 : -1;
    return (a->number > b->number) - (a->number < b->number);
}

pboost_status pboost_id_index_make(id_index *out, const pboost_id *id, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (id_index){.id = id, .n = n};
    NEED(out->sorted = pboost_alloc(n, sizeof *out->sorted), err);
    for (size_t i = 0; i < n; i++)
        out->sorted[i] = &id[i];
    qsort(out->sorted, n, sizeof *out->sorted, compare);
done:
    return st;
}

void pboost_id_index_free(id_index *index)
{
    free(index->sorted);
    *index = (id_index){0};
}

size_t pboost_id_index_find(const id_index *index, const pboost_id *id)
{
    const pboost_id *const *found =
        bsearch(&id, index->sorted, index->n, sizeof *index->sorted, compare);
    return found != NULL ? (size_t)(*found - index->id) : SIZE_MAX;
}
