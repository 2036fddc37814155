/* Cells as entries of a sparse row, in a column that a hash of their text names.
 *
 * The key of a cell is pboost_id_key of NAME=VALUE, so it depends on nothing but this text.  Keys
 * of similar texts are similar; the finaliser of SplitMix64 (Steele, Lea and Flood 2014) makes all
 * bits of column and sign depend on all bits of the key.  The sign makes what meets in a column by
 * chance cancel on average. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "copy.h"
#include "table.h"
#include "try.h"

void pboost_hashing_free(pboost_hashing *h)
{
    for (size_t i = 0; h->column != NULL && i < h->n_columns; i++)
        free(h->column[i].name);
    free(h->column);
    free(h->cross);
    *h = (pboost_hashing){0};
}

/* ---- Learning -------------------------------------------------------------------------------- */

static pboost_status learn_column(pboost_hash_column *out, const pboost_table *table, size_t col,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const double *number;
    double sum = 0.0, squares = 0.0, n = 0.0;

    NEED(out->name = pboost_copy(pboost_table_name(table, col)), err);
    out->scale = 1.0;
    out->number = !pboost_table_is_text(table, col);
    if (!out->number)
        goto done;
    TRY(pboost_table_numbers(&number, table, col, true, err));
    for (size_t i = 0; i < table->rows; i++)
        if (!isnan(number[i])) {
            sum += number[i];
            n++;
        }
    out->mean = n > 0.0 ? sum / n : 0.0;
    for (size_t i = 0; i < table->rows; i++)
        if (!isnan(number[i]))
            squares += (number[i] - out->mean) * (number[i] - out->mean);
    if (!isfinite(squares))
        FAIL(err, PBOOST_BAD_DATA,
             "%s: the numbers of column '%s' are too large for their variance to be a number",
             table->path, pboost_shown_text(out->name).text);
    if (squares > 0.0)
        out->scale = sqrt(squares / n);
done:
    return st;
}

/* The column whose name is text[0 .. n); SIZE_MAX: there is none. */
static size_t find_column(const pboost_hashing *h, const char *text, size_t n)
{
    for (size_t i = 0; i < h->n_columns; i++)
        if (strlen(h->column[i].name) == n && memcmp(h->column[i].name, text, n) == 0)
            return i;
    return SIZE_MAX;
}

/* "a*b"; a name may have a '*' of its own. */
static pboost_status learn_cross(pboost_hash_cross *out, const pboost_hashing *h,
                                 const pboost_table *table, const char *text, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = strlen(text);

    *out = (pboost_hash_cross){SIZE_MAX, SIZE_MAX};
    for (const char *star = strchr(text, '*'); star != NULL; star = strchr(star + 1, '*')) {
        size_t before = (size_t)(star - text), a = find_column(h, text, before);
        size_t b = find_column(h, star + 1, n - before - 1);
        if (a != SIZE_MAX && b != SIZE_MAX && a != b)
            *out = (pboost_hash_cross){a, b};
    }
    if (out->a == SIZE_MAX)
        FAIL(err, PBOOST_INVALID,
             "the cross is '%s'; it must be A*B with the names of two features of %s",
             pboost_shown_text(text).text, table->path);
    for (size_t i = 0; i < 2; i++) {
        const pboost_hash_column *c = &h->column[i == 0 ? out->a : out->b];
        if (c->number)
            FAIL(err, PBOOST_INVALID,
                 "the cross '%s' has the column '%s' of numbers; it must be of categories",
                 pboost_shown_text(text).text, pboost_shown_text(c->name).text);
    }
done:
    return st;
}

pboost_status pboost_hashing_learn(pboost_hashing *out, const pboost_table *table, const bool *use,
                                   unsigned bits, const char *const *cross, size_t n_crosses,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (pboost_hashing){.bits = bits};
    if (bits < 1 || bits > PBOOST_HASH_BITS)
        FAIL(err, PBOOST_INVALID, "bits is %u; it must be from 1 to %d", bits, PBOOST_HASH_BITS);
    NEED(out->column = calloc(table->cols > 0 ? table->cols : 1, sizeof *out->column), err);
    NEED(out->cross = calloc(n_crosses > 0 ? n_crosses : 1, sizeof *out->cross), err);
    for (size_t j = 0; j < table->cols; j++)
        if (use == NULL || use[j])
            TRY(learn_column(&out->column[out->n_columns++], table, j, err));
    for (size_t i = 0; i < n_crosses; i++)
        TRY(learn_cross(&out->cross[out->n_crosses++], out, table, cross[i], err));
done:
    if (st != PBOOST_OK)
        pboost_hashing_free(out);
    return st;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t key)
{
    key = (key ^ (key >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94d049bb133111eb);
    return key ^ (key >> 31);
}

/* The key of a pair: that of its second part is turned, so that a*b and b*a differ. */
static uint64_t pair_key(uint64_t a, uint64_t b)
{
    return mix(a) ^ ((b << 32) | (b >> 32));
}

/* One column of the hashing in a table. */
typedef struct {
    const double *number;
    const uint32_t *code;
    size_t col, n_levels;
    uint64_t *key;    /* of a category, by level */
    uint64_t missing; /* the key of a missing cell */
    uint64_t own;     /* of a number */
} cells;

/* An entry, and the column or (from n_columns on) cross that it comes from. */
typedef struct {
    uint32_t column;
    float value;
    bool minus; /* the sign of the hash */
    size_t from;
} item;

/* A table and room for one row. */
typedef struct {
    const pboost_hashing *h;
    const pboost_table *table;
    cells *cells; /* by column of h */
    item *item;   /* of a row */
    size_t n;
} walk;

static void walk_free(walk *w)
{
    for (size_t i = 0; w->cells != NULL && i < w->h->n_columns; i++)
        free(w->cells[i].key);
    free(w->cells);
    free(w->item);
}

/* NAME=VALUE, or NAME= where value is NULL; allocated for the caller. */
static char *cell_text(const char *name, const char *value)
{
    size_t n = strlen(name) + (value != NULL ? strlen(value) : 0) + 2;
    char *text = malloc(n);

    if (text != NULL)
        snprintf(text, n, "%s=%s", name, value != NULL ? value : "");
    return text;
}

static pboost_status text_key(uint64_t *out, const char *name, const char *value, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *text = cell_text(name, value);

    NEED(text, err);
    *out = pboost_id_key(text);
done:
    free(text);
    return st;
}

static pboost_status open_cells(cells *c, const pboost_hash_column *h, const pboost_table *table,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_table_find(&c->col, table, h->name, err));
    c->own = pboost_id_key(h->name);
    TRY(text_key(&c->missing, h->name, NULL, err));
    if (h->number) {
        TRY(pboost_table_numbers(&c->number, table, c->col, true, err));
        goto done;
    }
    if (!pboost_table_is_text(table, c->col))
        FAIL(err, PBOOST_BAD_DATA,
             "%s: column '%s' was read as numbers, but in training it was a category", table->path,
             pboost_shown_text(h->name).text);
    c->code = pboost_table_codes(table, c->col);
    c->n_levels = pboost_table_n_levels(table, c->col);
    NEED(c->key = pboost_alloc(c->n_levels, sizeof *c->key), err);
    for (size_t i = 0; i < c->n_levels; i++)
        TRY(text_key(&c->key[i], h->name, pboost_table_level(table, c->col, (uint32_t)i), err));
done:
    return st;
}

static pboost_status walk_open(walk *w, const pboost_hashing *h, const pboost_table *table,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *w = (walk){.h = h, .table = table};
    if (table->svm != NULL)
        FAIL(err, PBOOST_BAD_DATA,
             "%s is an svmlight file, but the model takes columns by name (--hash %u): it needs a "
             "table that has them",
             table->path, h->bits);
    NEED(w->cells = calloc(h->n_columns > 0 ? h->n_columns : 1, sizeof *w->cells), err);
    NEED(w->item = pboost_alloc(h->n_columns + h->n_crosses, sizeof *w->item), err);
    for (size_t i = 0; i < h->n_columns; i++)
        TRY(open_cells(&w->cells[i], &h->column[i], table, err));
done:
    return st;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static uint64_t category_key(const cells *c, size_t row)
{
    uint32_t code = c->code[row];
    return code == DICTIONARY_NONE ? c->missing : c->key[code];
}

static void add_item(walk *w, uint64_t key, double value, size_t from)
{
    uint64_t mixed = mix(key);

    w->item[w->n++] = (item){.column = (uint32_t)(mixed & ((UINT64_C(1) << w->h->bits) - 1)),
                             .value = (float)(mixed >> 63 ? -value : value),
                             .minus = mixed >> 63 != 0,
                             .from = from};
}

/* The entries of a row, in the order of the hashing. */
static void read_row(walk *w, size_t row)
{
    const pboost_hashing *h = w->h;

    w->n = 0;
    for (size_t i = 0; i < h->n_columns; i++) {
        const cells *c = &w->cells[i];
        if (!h->column[i].number)
            add_item(w, category_key(c, row), 1.0, i);
        else if (isnan(c->number[row]))
            add_item(w, c->missing, 1.0, i);
        else
            add_item(w, c->own, (c->number[row] - h->column[i].mean) / h->column[i].scale, i);
    }
    for (size_t i = 0; i < h->n_crosses; i++)
        add_item(w,
                 pair_key(category_key(&w->cells[h->cross[i].a], row),
                          category_key(&w->cells[h->cross[i].b], row)),
                 1.0, h->n_columns + i);
}

static int by_column(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return x->from < y->from ? -1 : 1;
}

/* Rows of click logs are short, so that inserting beats qsort. */
static void sort_items(item *item_of, size_t n)
{
    enum { SHORT = 64 };

    if (n > SHORT) {
        qsort(item_of, n, sizeof *item_of, by_column);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        item moved = item_of[i];
        size_t j = i;
        for (; j > 0 && item_of[j - 1].column > moved.column; j--)
            item_of[j] = item_of[j - 1];
        item_of[j] = moved;
    }
}

/* Adds up the entries of each column. */
static pboost_status end_row(entry_list *list, walk *w, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    sort_items(w->item, w->n);
    for (size_t i = 0; i < w->n;) {
        uint32_t at = w->item[i].column;
        float sum = 0.0F;
        for (; i < w->n && w->item[i].column == at; i++)
            sum += w->item[i].value;
        if (sum != 0.0F)
            TRY(pboost_entry_list_add(list, at, (double)sum, err));
    }
    TRY(pboost_entry_list_end_row(list, err));
done:
    return st;
}

pboost_status pboost_hashing_apply(pboost_entries *out, const pboost_hashing *h,
                                   const pboost_table *table, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    enum { STEP = 8192 };
    entry_list list = {0};
    walk w = {.h = h};

    *out = (pboost_entries){0};
    TRY(walk_open(&w, h, table, err));
    for (size_t i = 0; i < table->rows; i++) {
        if (i % STEP == 0)
            pboost_table_progress(table, "encoding", (double)i, (double)table->rows);
        read_row(&w, i);
        for (size_t k = 0; k < w.n; k++)
            if (!isfinite(w.item[k].value))
                FAIL(err, PBOOST_BAD_DATA, "%s: column '%s' is too far from its mean in training",
                     pboost_place(table, i).text,
                     pboost_shown_text(h->column[w.item[k].from].name).text);
        TRY(end_row(&list, &w, err));
    }
    TRY(pboost_entry_list_finish(out, &list, (size_t)1 << h->bits, err));
done:
    pboost_entry_list_free(&list);
    walk_free(&w);
    return st;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Whether text[0 .. n) is NAME=VALUE of a column, or NAME where that is a number. */
static bool is_cell(const pboost_hash_column *c, const char *text, size_t n)
{
    size_t name = strlen(c->name);
    return n >= name && memcmp(text, c->name, name) == 0 &&
           (n == name ? c->number : text[name] == '=');
}

/* The key of a cross of this text; there may be a '*' in its values. */
static bool cross_key(uint64_t *key, const pboost_hashing *h, const pboost_hash_cross *cross,
                      char *text)
{
    bool found = false;

    for (char *star = strchr(text, '*'); star != NULL && !found; star = strchr(star + 1, '*')) {
        found = is_cell(&h->column[cross->a], text, (size_t)(star - text)) &&
                is_cell(&h->column[cross->b], star + 1, strlen(star + 1));
        if (!found)
            continue;
        *star = '\0';
        *key = pair_key(pboost_id_key(text), pboost_id_key(star + 1));
        *star = '*';
    }
    return found;
}

pboost_status pboost_hashing_find(uint32_t *out, double *sign, const pboost_hashing *h,
                                  const char *text, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint64_t key = pboost_id_key(text);
    char *copy = NULL;
    bool found = false;

    NEED(copy = pboost_copy(text), err);
    for (size_t i = 0; i < h->n_crosses && !found; i++)
        found = cross_key(&key, h, &h->cross[i], copy);
    for (size_t i = 0; i < h->n_columns && !found; i++)
        found = is_cell(&h->column[i], text, strlen(text));
    if (!found)
        FAIL(err, PBOOST_INVALID,
             "'%s' is not hashed; it must be the name of a column of numbers, NAME=VALUE, or "
             "A=VALUE*B=VALUE of a cross",
             pboost_shown_text(text).text);
    uint64_t mixed = mix(key);
    *out = (uint32_t)(mixed & ((UINT64_C(1) << h->bits) - 1));
    *sign = mixed >> 63 ? -1.0 : 1.0;
done:
    free(copy);
    return st;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static const char *level_of(const cells *c, const pboost_table *table, size_t row)
{
    uint32_t code = c->code[row];
    return code == DICTIONARY_NONE ? NULL : pboost_table_level(table, c->col, code);
}

/* The text of an entry; allocated for the caller. */
static char *item_text(const walk *w, const item *it, size_t row)
{
    const pboost_hashing *h = w->h;

    if (it->from < h->n_columns) {
        const pboost_hash_column *c = &h->column[it->from];
        const cells *at = &w->cells[it->from];
        if (c->number && !isnan(at->number[row]))
            return pboost_copy(c->name);
        return cell_text(c->name, c->number ? NULL : level_of(at, w->table, row));
    }
    const pboost_hash_cross *cross = &h->cross[it->from - h->n_columns];
    char *a = cell_text(h->column[cross->a].name, level_of(&w->cells[cross->a], w->table, row)),
         *b = cell_text(h->column[cross->b].name, level_of(&w->cells[cross->b], w->table, row)),
         *both = NULL;
    if (a != NULL && b != NULL && (both = malloc(strlen(a) + strlen(b) + 2)) != NULL)
        sprintf(both, "%s*%s", a, b);
    free(a);
    free(b);
    return both;
}

static const char OTHERS[] = " and others";

/* Notes what an entry of a column is called, unless that is known already. */
static pboost_status note_name(char **name, const walk *w, const item *it, size_t row,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = *name != NULL ? strlen(*name) : 0, tail = sizeof OTHERS - 1;
    char *text = NULL, *grown;

    if (n > tail && strcmp(*name + n - tail, OTHERS) == 0)
        goto done;
    NEED(text = item_text(w, it, row), err);
    if (*name == NULL) {
        *name = text;
        text = NULL;
    } else if (strcmp(*name, text) != 0) {
        NEED(grown = realloc(*name, n + sizeof OTHERS), err);
        *name = grown;
        memcpy(grown + n, OTHERS, sizeof OTHERS);
    }
done:
    free(text);
    return st;
}

static int compare_columns(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

pboost_status pboost_hashing_names(char **name, double *sign, const uint32_t *among, size_t n,
                                   const pboost_hashing *h, const pboost_table *table,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    walk w = {.h = h};

    for (size_t i = 0; i < n; i++) {
        name[i] = NULL;
        sign[i] = 1.0;
    }
    TRY(walk_open(&w, h, table, err));
    for (size_t i = 0; i < table->rows; i++) {
        read_row(&w, i);
        for (size_t k = 0; k < w.n; k++) {
            const uint32_t *found =
                n > 0 ? bsearch(&w.item[k].column, among, n, sizeof *among, compare_columns) : NULL;
            if (found == NULL)
                continue;
            if (name[found - among] == NULL && w.item[k].minus)
                sign[found - among] = -1.0;
            TRY(note_name(&name[found - among], &w, &w.item[k], i, err));
        }
    }
done:
    walk_free(&w);
    for (size_t i = 0; st != PBOOST_OK && i < n; i++) {
        free(name[i]);
        name[i] = NULL;
    }
    return st;
}
