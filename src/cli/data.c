/* From a file to features, labels and keys. */
#include "data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "large.h"
#include "query.h"

static void names_free(cli_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->name[i]);
    free(names->name);
}

void table_reading_free(table_reading *t)
{
    names_free(&t->text);
    names_free(&t->numbers);
    names_free(&t->unused);
    query_close(t->query);
    *t = (table_reading){0};
}

static pboost_status names_add(cli_names *names, const char *name, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    GROW(names->name, names->capacity, names->n + 1, err);
    NEED(names->name[names->n] = strndup(name, n), err);
    names->n++;
done:
    return st;
}

pboost_status table_reading_add_n(table_reading *t, const char *name, size_t n, bool text,
                                  pboost_error *err)
{
    return names_add(text ? &t->text : &t->numbers, name, n, err);
}

pboost_status table_reading_leave_out(table_reading *t, const char *name, pboost_error *err)
{
    return names_add(&t->unused, name, strlen(name), err);
}

pboost_status table_reading_add(table_reading *t, const char *name, pboost_error *err)
{
    return table_reading_add_n(t, name, strlen(name), true, err);
}

pboost_status table_reading_add_encoding(table_reading *t, const pboost_encoding *encoding,
                                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    for (size_t i = 0; i < encoding->n_features; i++) {
        const pboost_feature *f = &encoding->feature[i];
        TRY(table_reading_add_n(t, f->name, strlen(f->name), f->n_levels > 0 || f->date != 0, err));
    }
done:
    return st;
}

pboost_status table_reading_add_sparse(table_reading *t, const pboost_model_sparse *sparse,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_hashing *h = &sparse->hashing;

    for (size_t i = 0; i < h->n_columns; i++)
        TRY(table_reading_add_n(t, h->column[i].name, strlen(h->column[i].name),
                                !h->column[i].number, err));
    if (h->bits == 0 && sparse->columns > 0) {
        t->svmlight = t->has_base = true;
        t->index_base = sparse->index_base;
        t->sparse_columns = sparse->columns;
    }
done:
    return st;
}

pboost_status table_reading_add_model(table_reading *t, const pboost_model *model,
                                      pboost_error *err)
{
    pboost_status st = table_reading_add_encoding(t, &model->encoding, err);
    return st != PBOOST_OK ? st : table_reading_add_sparse(t, &model->sparse, err);
}

/* Fills t->options; *name is what messages call the table. */
static pboost_status begin_reading(const char **name, table_reading *t, const char *path,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_table_options defaults = PBOOST_TABLE_OPTIONS_INIT;

    *name = path;
    t->options = defaults;
    t->options.text = (const char *const *)t->text.name;
    t->options.n_text = t->text.n;
    t->options.numbers = (const char *const *)t->numbers.name;
    t->options.n_numbers = t->numbers.n;
    t->options.missing = t->missing;
    t->options.n_missing = t->n_missing;
    t->options.only_named = t->only_named;
    t->options.unused = (const char *const *)t->unused.name;
    t->options.n_unused = t->unused.n;
    t->options.svmlight = t->svmlight;
    t->options.index_base = t->has_base ? t->index_base : PBOOST_INDEX_BASE_AUTO;
    t->options.sparse_columns = t->sparse_columns;
    t->options.cancel = t->cli != NULL ? &t->cli->watch : NULL;
    if (query_is(path)) {
        TRY(query_open(&t->query, path, err));
        t->options.rows = query_rows(t->query);
        *name = query_name(t->query);
    }
done:
    return st;
}

pboost_status table_reading_read(pboost_table **out, table_reading *t, const char *path,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = NULL;
    TRY(begin_reading(&path, t, path, err));
    TRY(pboost_table_read(out, path, &t->options, err));
done:
    return st;
}

/* Cells of features in a block: a few megabytes. */
enum { BLOCK_CELLS = 1 << 20, MAX_BLOCK_ROWS = 1 << 14, MIN_BLOCK_ROWS = 64 };

pboost_status data_blocks_open(data_blocks *out, table_reading *t, const char *path, size_t columns,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t rows = BLOCK_CELLS / (columns + 1);

    *out = (data_blocks){.rows = rows > MAX_BLOCK_ROWS   ? MAX_BLOCK_ROWS
                                 : rows < MIN_BLOCK_ROWS ? MIN_BLOCK_ROWS
                                                         : rows};
    t->only_named = true;
    TRY(begin_reading(&path, t, path, err));
    TRY(pboost_table_reader_open(&out->reader, path, &t->options, err));
done:
    return st;
}

pboost_status data_blocks_next(const pboost_table **out, data_blocks *blocks, pboost_error *err)
{
    return pboost_table_reader_next(out, blocks->reader, blocks->rows, err);
}

void data_blocks_close(data_blocks *blocks)
{
    pboost_table_reader_close(blocks->reader);
    *blocks = (data_blocks){0};
}

pboost_status data_room(double **out, size_t columns, const pboost_table *table, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t cells;

    if (__builtin_mul_overflow(pboost_table_rows(table), columns, &cells))
        cells = SIZE_MAX;
    NEED(*out = pboost_alloc_large(cells, sizeof **out), err);
done:
    return st;
}

pboost_status data_features(double **out, pboost_unseen *unseen, const pboost_encoding *encoding,
                            const pboost_table *table, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *x = NULL;

    *out = NULL;
    TRY(data_room(&x, encoding->n_columns, table, err));
    TRY(pboost_encoding_apply(x, unseen, encoding, table, err));
    *out = x;
    x = NULL;
done:
    free(x);
    return st;
}

pboost_status data_sparse(pboost_sparse *x, pboost_entries *own, const pboost_model_sparse *sparse,
                          const pboost_table *table, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_table_sparse entries;

    *own = (pboost_entries){0};
    if (sparse->hashing.bits > 0) {
        TRY(pboost_hashing_apply(own, &sparse->hashing, table, err));
        *x = own->x;
    } else if (pboost_table_entries(&entries, table)) {
        *x = entries.x;
    } else {
        FAIL(err, PBOOST_BAD_DATA,
             "%s is no svmlight file, but the model was trained on one: it has %zu columns without "
             "names",
             pboost_table_path(table), sparse->columns);
    }
done:
    return st;
}

pboost_status data_check_hash(const pboost_model *model, size_t bits, const char *path,
                              pboost_error *err)
{
    if (bits == 0 || bits == model->sparse.hashing.bits)
        return PBOOST_OK;
    if (model->sparse.hashing.bits == 0)
        return pboost_fail(err, PBOOST_INVALID,
                           "--hash is %zu, but %s was trained without --hash; leave it out", bits,
                           path);
    return pboost_fail(err, PBOOST_INVALID,
                       "--hash is %zu, but %s was trained with --hash %u; leave it out, or train "
                       "again",
                       bits, path, model->sparse.hashing.bits);
}

void unseen_cells_add(unseen_cells *all, const pboost_unseen *unseen,
                      const pboost_encoding *encoding, const pboost_table *table)
{
    if (unseen->cells > 0 && all->n == 0) {
        const pboost_feature *f = &encoding->feature[unseen->feature];
        snprintf(all->first, sizeof all->first,
                 "the first is '%.80s' in column '%.80s', %.80s:%zu, which counts as '%.80s'",
                 unseen->level, f->name, pboost_table_row_path(table, unseen->row),
                 pboost_table_line(table, unseen->row), f->level[0]);
    }
    all->n += unseen->cells;
}

void unseen_cells_note(const cli_context *cli, const unseen_cells *all)
{
    if (all->n > 0)
        cli_note(cli,
                 "note: %zu cell%s a category that was not in training and count%s as the first "
                 "level%s; %s",
                 all->n, all->n == 1 ? " has" : "s have", all->n == 1 ? "s" : "",
                 all->trees ? " (for trees: as missing)" : "", all->first);
}

pboost_status data_numbers(double **out, const pboost_table *table, const char *name,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const double *number;
    size_t col, n = pboost_table_rows(table);

    *out = NULL;
    if (name == NULL)
        return PBOOST_OK;
    TRY(pboost_table_find(&col, table, name, err));
    TRY(pboost_table_numbers(&number, table, col, false, err));
    NEED(*out = pboost_alloc(n, sizeof **out), err);
    memcpy(*out, number, n * sizeof **out);
done:
    return st;
}

pboost_status data_weights(double **out, const pboost_table *table, const char *name,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(data_numbers(out, table, name, err));
    for (size_t i = 0; *out != NULL && i < pboost_table_rows(table); i++)
        if ((*out)[i] < 0.0)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: weight '%s' is %.17g; it must be at least 0",
                 pboost_table_row_path(table, i), pboost_table_line(table, i), name, (*out)[i]);
    return PBOOST_OK;
done:
    free(*out);
    *out = NULL;
    return st;
}

/* The first row whose id another row before it has; rows and levels are in order of appearance, so
 * a row that repeats is one whose code is not new. */
static bool find_repeat(size_t *row, size_t *earlier, const uint32_t *code, size_t n)
{
    uint32_t next = 0;
    for (size_t i = 0; i < n; i++) {
        if (code[i] == next) {
            next++;
            continue;
        }
        *row = i;
        for (*earlier = 0; code[*earlier] != code[i];)
            ++*earlier;
        return true;
    }
    return false;
}

pboost_status data_row_keys(uint64_t **out, const pboost_table *table, const char *name,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint64_t *key = NULL;
    size_t col, row, earlier, n = pboost_table_rows(table);

    *out = NULL;
    if (name == NULL)
        return PBOOST_OK;
    TRY(pboost_table_find(&col, table, name, err));
    const uint32_t *code = pboost_table_codes(table, col);
    for (size_t i = 0; i < n; i++)
        if (code[i] == UINT32_MAX)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: id '%s' is missing",
                 pboost_table_row_path(table, i), pboost_table_line(table, i), name);
    if (find_repeat(&row, &earlier, code, n))
        FAIL(err, PBOOST_BAD_DATA, "%s:%zu: id '%s' is '%s', as on line %zu; ids must be unique",
             pboost_table_row_path(table, row), pboost_table_line(table, row), name,
             pboost_table_level(table, col, code[row]), pboost_table_line(table, earlier));
    NEED(key = pboost_alloc(n, sizeof *key), err);
    for (size_t i = 0; i < n; i++)
        key[i] = pboost_id_key(pboost_table_level(table, col, code[i]));
    *out = key;
    key = NULL;
done:
    free(key);
    return st;
}

/* ---- Ids in blocks --------------------------------------------------------------------------- */

void key_set_free(key_set *set)
{
    free(set->slot);
    *set = (key_set){0};
}

/* The slot of a key, or where it belongs. */
static uint64_t *find_slot(const key_set *set, uint64_t key)
{
    size_t i = (size_t)key & (set->n_slots - 1);

    while (set->slot[i] != 0 && set->slot[i] != key)
        i = (i + 1) & (set->n_slots - 1);
    return &set->slot[i];
}

static pboost_status grow_set(key_set *set, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    key_set grown = {.n = set->n, .n_slots = set->n_slots > 0 ? 2 * set->n_slots : 1024};

    NEED(grown.slot = calloc(grown.n_slots, sizeof *grown.slot), err);
    for (size_t i = 0; i < set->n_slots; i++)
        if (set->slot[i] != 0)
            *find_slot(&grown, set->slot[i]) = set->slot[i];
    free(set->slot);
    *set = grown;
done:
    return st;
}

/* Keys are 64 random bits: among a hundred million different ids two are equal once in 4000 tables.
 */
pboost_status key_set_add_block(key_set *set, const pboost_table *table, const char *name,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint64_t *keys = NULL;
    size_t col;

    TRY(data_row_keys(&keys, table, name, err));
    for (size_t i = 0; keys != NULL && i < pboost_table_rows(table); i++) {
        uint64_t key = keys[i] != 0 ? keys[i] : 1;
        if (set->n >= set->n_slots / 8 * 7)
            TRY(grow_set(set, err));
        uint64_t *slot = find_slot(set, key);
        if (*slot == key) {
            TRY(pboost_table_find(&col, table, name, err));
            FAIL(err, PBOOST_BAD_DATA,
                 "%s:%zu: id '%s' is '%.100s', as in a row far above; ids must be unique",
                 pboost_table_row_path(table, i), pboost_table_line(table, i), name,
                 pboost_table_level(table, col, pboost_table_codes(table, col)[i]));
        }
        *slot = key;
        set->n++;
    }
done:
    free(keys);
    return st;
}

/* ---- Predictions ----------------------------------------------------------------------------- */

void predictions_free(predictions *p)
{
    free(p->mean);
    free(p->lower);
    free(p->upper);
    *p = (predictions){0};
}

pboost_status data_model_of_numbers(pboost_model *out, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_model_load(out, path, err));
    if (out->classes.n > 0) {
        pboost_model_free(out);
        FAIL(err, PBOOST_BAD_DATA, "%s is a model of classes; a prior must predict numbers", path);
    }
done:
    return st;
}

/* Trees take the columns of the table as they are. */
pboost_status data_mean(double *mean, const pboost_model *model, const pboost_table *table,
                        const pboost_samples *samples, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_sources sources = {0};

    if (model->mixture.n == 0)
        return pboost_predict(mean, model->family, samples, &model->coef, threads, err);
    TRY(pboost_sources_read(&sources, NULL, &model->encoding, table, err));
    TRY(pboost_mixture_predict(mean, model->family, samples, &sources.columns, &model->mixture,
                               threads, err));
done:
    pboost_sources_free(&sources);
    return st;
}

static pboost_status predict_sparse(double *mean, const pboost_model *model,
                                    const pboost_table *table, const double *offset, int threads,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_entries own = {0};
    pboost_sparse x;

    TRY(data_sparse(&x, &own, &model->sparse, table, err));
    pboost_wide_samples samples = {.x = &x, .n = pboost_table_rows(table), .offset = offset};
    TRY(pboost_wide_predict(mean, model->family, &samples, &model->coef, threads, err));
done:
    pboost_entries_free(&own);
    return st;
}

static pboost_status check_means(const double *mean, const pboost_table *table, pboost_error *err)
{
    for (size_t i = 0; i < pboost_table_rows(table); i++)
        if (!isfinite(mean[i]))
            return pboost_fail(
                err, PBOOST_BAD_DATA,
                "%s:%zu: the model predicts %g; its weights are too large for these features",
                pboost_table_row_path(table, i), pboost_table_line(table, i), mean[i]);
    return PBOOST_OK;
}

pboost_status data_predict(predictions *out, const pboost_model *model, const pboost_table *table,
                           double level, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *x = NULL, *offset = NULL;
    size_t n = pboost_table_rows(table);

    *out = (predictions){0};
    TRY(data_numbers(&offset, table, model->offset, err));
    NEED(out->mean = pboost_alloc(n, sizeof *out->mean), err);
    if (model->sparse.columns > 0) {
        TRY(predict_sparse(out->mean, model, table, offset, threads, err));
        TRY(check_means(out->mean, table, err));
        goto done;
    }
    TRY(data_features(&x, &out->unseen, &model->encoding, table, err));
    pboost_matrix matrix = pboost_matrix_f64(x, n, model->encoding.n_columns);
    pboost_samples samples = {.x = &matrix, .n = n, .offset = offset};
    TRY(data_mean(out->mean, model, table, &samples, threads, err));
    TRY(check_means(out->mean, table, err));
    if (level > 0.0) {
        NEED(out->lower = pboost_alloc(n, sizeof *out->lower), err);
        NEED(out->upper = pboost_alloc(n, sizeof *out->upper), err);
        TRY(pboost_predict_interval(out->lower, out->upper, model->family, &samples, &model->coef,
                                    model->covariance, level, threads, err));
    }
done:
    free(x);
    free(offset);
    if (st != PBOOST_OK)
        predictions_free(out);
    return st;
}
