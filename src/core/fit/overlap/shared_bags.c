/* Bags that share rows, prepared for a fit.
 *
 * A bag of one row without noise is a known label.  It is subtracted from every other bag that
 * holds the row: a linear change of the answers that loses nothing, after which known labels are
 * independent of the rest, however many there are.
 *
 * Margins of one table depend on each other: each of them adds up to the same total.  An answer
 * without noise whose rows are a combination of those of others must be the same combination of
 * their answers.  If it is, it is left out; if it is not, some answer is wrong. */
#include <math.h>
#include <string.h>

#include "fit/overlap/overlap.h"
#include "try.h"

#define SAME 1e-6  /* relative difference of sums that may be rounding in a file */
#define TINY 1e-11 /* difference of means that may be rounding here, relative to the largest */

/* ---- Known labels ---------------------------------------------------------------------------- */

/* By row of the table: the first bag that is this row alone, without noise; SIZE_MAX: none. */
static void find_known(size_t *known, const bag_data *data)
{
    const bag_rows *rows = &data->rows;
    for (size_t i = 0; i < rows->x->rows; i++)
        known[i] = SIZE_MAX;
    for (size_t b = rows->n_bags; b-- > 0;)
        if (rows->start[b + 1] - rows->start[b] == 1 && data->noise[b] == 0.0)
            known[rows->row[rows->start[b]]] = b;
}

/* Appends bag b without its known rows; nothing where none is left. */
static pboost_status take_bag(shared_bags *out, const bag_data *data, size_t b, const size_t *known,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const bag_rows *rows = &data->rows;
    size_t end = out->start[out->n], size = rows->start[b + 1] - rows->start[b];
    double sum = data->answer[b] * (double)size, taken = 0.0, size_of_terms = fabs(sum);

    for (size_t i = rows->start[b]; i < rows->start[b + 1]; i++) {
        size_t row = rows->row[i];
        if (known[row] == SIZE_MAX || known[row] == b) {
            out->row[end++] = row;
            continue;
        }
        taken += data->answer[known[row]];
        size_of_terms += fabs(data->answer[known[row]]);
    }
    double left = (double)(end - out->start[out->n]);
    if (left == 0.0) {
        if (data->noise[b] == 0.0 && fabs(sum - taken) > SAME * size_of_terms)
            FAIL(err, PBOOST_BAD_DATA,
                 "bag %zu has sum %.10g, but the labels of all its rows are known, and their sum "
                 "is %.10g",
                 b, sum, taken);
        out->redundant++;
        goto done;
    }
    out->answer[out->n] = (sum - taken) / left;
    out->noise[out->n] = data->noise[b] * ((double)size / left) * ((double)size / left);
    out->origin[out->n] = b;
    out->start[++out->n] = end;
done:
    return st;
}

static pboost_status take_bags(shared_bags *out, const bag_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const bag_rows *rows = &data->rows;
    size_t n = rows->n_bags, *known = NULL, *last = NULL;

    NEED(known = pboost_alloc(rows->x->rows, sizeof *known), err);
    NEED(last = calloc(rows->x->rows, sizeof *last), err);
    NEED(out->row = pboost_alloc(rows->start[n] - rows->start[0], sizeof *out->row), err);
    NEED(out->start = calloc(n + 1, sizeof *out->start), err);
    NEED(out->answer = pboost_alloc(n, sizeof *out->answer), err);
    NEED(out->noise = pboost_alloc(n, sizeof *out->noise), err);
    NEED(out->origin = pboost_alloc(n, sizeof *out->origin), err);
    for (size_t b = 0; b < n; b++)
        for (size_t i = rows->start[b]; i < rows->start[b + 1]; i++) {
            if (last[rows->row[i]] == b + 1)
                FAIL(err, PBOOST_BAD_DATA, "bag %zu has row %zu twice", b, rows->row[i]);
            if (rows->weight != NULL && !(rows->weight[rows->row[i]] > 0.0))
                FAIL(err, PBOOST_BAD_DATA,
                     "row %zu has weight 0; where bags share rows, every weight must be positive",
                     rows->row[i]);
            last[rows->row[i]] = b + 1;
        }
    find_known(known, data);
    for (size_t b = 0; b < n; b++)
        TRY(take_bag(out, data, b, known, err));
done:
    free(known);
    free(last);
    return st;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* The first bag of the block of b, as far as blocks are joined; paths are halved on the way. */
static size_t find_root(size_t *parent, size_t b)
{
    while (parent[b] != b) {
        parent[b] = parent[parent[b]];
        b = parent[b];
    }
    return b;
}

/* order = bags by block, blocks and the bags in them in the order of the bags; block borders. */
static pboost_status find_blocks(size_t *order, shared_bags *bags, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = bags->n, *parent = NULL, *first = NULL, *next = NULL;

    NEED(parent = pboost_alloc(n, sizeof *parent), err);
    NEED(next = calloc(n + 1, sizeof *next), err);
    NEED(first = pboost_alloc(bags->table->x->rows, sizeof *first), err);
    for (size_t i = 0; i < bags->table->x->rows; i++)
        first[i] = SIZE_MAX;
    for (size_t b = 0; b < n; b++) {
        parent[b] = b;
        for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++) {
            size_t *holder = &first[bags->row[i]];
            *holder = *holder == SIZE_MAX ? b : *holder;
            size_t one = find_root(parent, *holder), other = find_root(parent, b);
            parent[one > other ? one : other] = one < other ? one : other;
        }
    }
    for (size_t b = 0; b < n; b++) /* sizes, by root */
        next[find_root(parent, b) + 1]++;
    bags->n_blocks = 0;
    for (size_t b = 0; b < n; b++) {
        size_t size = next[b + 1];
        if (size > MOST_SHARED)
            FAIL(err, PBOOST_BAD_DATA,
                 "%zu answers are about rows that they share with each other; at most %zu can be "
                 "fitted together: leave out those about the smallest groups",
                 size, MOST_SHARED);
        if (size > 0)
            bags->block[bags->n_blocks++] = next[b];
        next[b + 1] += next[b];
    }
    bags->block[bags->n_blocks] = n;
    for (size_t b = 0; b < n; b++)
        order[next[find_root(parent, b)]++] = b;
done:
    free(parent);
    free(first);
    free(next);
    return st;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* used, at, and which bags hold each row. */
static pboost_status index_rows(shared_bags *bags, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t rows = bags->table->x->rows, entries = bags->start[bags->n], *position = NULL;

    NEED(position = calloc(rows + 1, sizeof *position), err);
    for (size_t i = 0; i < entries; i++)
        position[bags->row[i]] = 1;
    bags->n_rows = 0;
    for (size_t i = 0; i < rows; i++)
        if (position[i] > 0) {
            bags->used[bags->n_rows] = i;
            position[i] = bags->n_rows++;
        }
    memset(bags->holder_start, 0, (bags->n_rows + 2) * sizeof *bags->holder_start);
    for (size_t i = 0; i < entries; i++) {
        bags->at[i] = position[bags->row[i]];
        bags->holder_start[bags->at[i] + 2]++;
    }
    for (size_t i = 2; i < bags->n_rows + 2; i++)
        bags->holder_start[i] += bags->holder_start[i - 1];
    for (size_t b = 0; b < bags->n; b++)
        for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++)
            bags->holder[bags->holder_start[bags->at[i] + 1]++] = b;
done:
    free(position);
    return st;
}

/* bags = its bags order[0 .. n). */
static pboost_status reorder(shared_bags *bags, const size_t *order, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t entries = 0, *row = NULL, *start = NULL, *origin = NULL;
    double *number = NULL;

    NEED(row = pboost_alloc(bags->start[bags->n], sizeof *row), err);
    NEED(start = pboost_alloc(n + 1, sizeof *start), err);
    NEED(origin = pboost_alloc(n, sizeof *origin), err);
    NEED(number = pboost_alloc(2 * n, sizeof *number), err);
    for (size_t b = 0; b < n; b++) {
        size_t from = bags->start[order[b]], size = bags->start[order[b] + 1] - from;
        memcpy(row + entries, bags->row + from, size * sizeof *row);
        start[b] = entries;
        entries += size;
        origin[b] = bags->origin[order[b]];
        number[b] = bags->answer[order[b]];
        number[n + b] = bags->noise[order[b]];
    }
    start[n] = entries;
    memcpy(bags->row, row, entries * sizeof *row);
    memcpy(bags->start, start, (n + 1) * sizeof *start);
    memcpy(bags->origin, origin, n * sizeof *origin);
    memcpy(bags->answer, number, n * sizeof *number);
    memcpy(bags->noise, number + n, n * sizeof *number);
    bags->n = n;
done:
    free(row);
    free(start);
    free(origin);
    free(number);
    return st;
}

pboost_status pboost_shared_bags_keep(shared_bags *bags, const size_t *order, size_t n,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *by_block = NULL;

    NEED(by_block = pboost_alloc(n, sizeof *by_block), err);
    TRY(reorder(bags, order, n, err));
    TRY(find_blocks(by_block, bags, err));
    TRY(reorder(bags, by_block, n, err));
    TRY(index_rows(bags, err));
done:
    free(by_block);
    return st;
}

/* ---- Redundant answers ----------------------------------------------------------------------- */

/* Bag b of the block, which was dropped, must be the combination of the others that its rows are.
 * combination: as many numbers as the block has bags. */
static pboost_status check_dropped(double *combination, const shared_bags *bags,
                                   const correlation *c, size_t block, size_t b, pboost_error *err)
{
    pboost_cholesky factor = pboost_correlation_block(c, bags, block);
    size_t first = bags->block[block], n = factor.n, k = b - first;
    double size = (double)(bags->start[b + 1] - bags->start[b]), expected = 0.0, terms = 0.0;
    double largest = 0.0;

    for (size_t j = 0; j < n; j++) /* C is above the diagonal */
        combination[j] = j == k ? c->own[b] : j < k ? factor.l[j * n + k] : factor.l[k * n + j];
    pboost_cholesky_solve(combination, &factor, combination);
    for (size_t j = 0; j < n; j++) {
        double term = combination[j] * bags->answer[first + j];
        expected += term;
        terms += fabs(term);
    }
    /* Where all of these are 0, what is expected may still be rounding. */
    for (size_t j = 0; j < n; j++)
        largest = fmax(largest, fabs(bags->answer[first + j]));
    if (fabs(expected - bags->answer[b]) <= SAME * (fabs(bags->answer[b]) + terms) + TINY * largest)
        return PBOOST_OK;
    return pboost_fail(
        err, PBOOST_BAD_DATA,
        "bag %zu has sum %.10g, but its rows are a combination of those of other "
        "bags, and from their answers the sum is %.10g; if answers have noise or are "
        "rounded, give its variance",
        bags->origin[b], size * bags->answer[b], size * expected);
}

/* Whether an answer follows from others depends only on which rows they are about, so labels of
 * equal variance show it. */
static pboost_status leave_out_redundant(shared_bags *bags, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    correlation c = {0};
    size_t *kept = NULL, n = 0;
    double *combination = NULL;

    NEED(kept = pboost_alloc(bags->n, sizeof *kept), err);
    NEED(combination = pboost_alloc(bags->n, sizeof *combination), err);
    TRY(pboost_correlation_init(&c, bags, threads, err));
    pboost_correlation_set(&c, bags, NULL, 1.0, true);
    for (size_t block = 0; block < bags->n_blocks; block++)
        for (size_t b = bags->block[block]; b < bags->block[block + 1]; b++) {
            if (!c.dropped[b])
                kept[n++] = b;
            else if (bags->noise[b] == 0.0)
                TRY(check_dropped(combination, bags, &c, block, b, err));
        }
    bags->redundant += bags->n - n;
    if (n < bags->n)
        TRY(pboost_shared_bags_keep(bags, kept, n, err));
done:
    pboost_correlation_free(&c);
    free(kept);
    free(combination);
    return st;
}

/* ---- All of it ------------------------------------------------------------------------------- */

pboost_status pboost_shared_bags_init(shared_bags *out, const bag_data *data, int threads,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *all = NULL;

    *out = (shared_bags){.table = &data->rows};
    TRY(take_bags(out, data, err));
    size_t entries = out->start[out->n];
    NEED(out->block = pboost_alloc(out->n + 1, sizeof *out->block), err);
    NEED(out->used = pboost_alloc(entries, sizeof *out->used), err);
    NEED(out->at = pboost_alloc(entries, sizeof *out->at), err);
    NEED(out->holder_start = pboost_alloc(entries + 2, sizeof *out->holder_start), err);
    NEED(out->holder = pboost_alloc(entries, sizeof *out->holder), err);
    NEED(all = pboost_alloc(out->n, sizeof *all), err);
    for (size_t b = 0; b < out->n; b++)
        all[b] = b;
    TRY(pboost_shared_bags_keep(out, all, out->n, err));
    TRY(leave_out_redundant(out, threads, err));
done:
    free(all);
    if (st != PBOOST_OK)
        pboost_shared_bags_free(out);
    return st;
}

void pboost_shared_bags_free(shared_bags *bags)
{
    free(bags->start);
    free(bags->row);
    free(bags->answer);
    free(bags->noise);
    free(bags->origin);
    free(bags->block);
    free(bags->used);
    free(bags->at);
    free(bags->holder_start);
    free(bags->holder);
    *bags = (shared_bags){0};
}

/* Whether a row is in two bags; a row that is twice in one bag does not count. */
static pboost_status look_by_bag(bool *out, const bag_rows *rows, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *last = NULL;

    NEED(last = calloc(rows->x->rows, sizeof *last), err);
    for (size_t b = 0; b < rows->n_bags && !*out; b++)
        for (size_t i = rows->start[b]; i < rows->start[b + 1]; i++) {
            size_t row = rows->row[i];
            if (row >= rows->x->rows) /* the fit refuses it */
                continue;
            *out = *out || (last[row] != 0 && last[row] != b + 1);
            last[row] = b + 1;
        }
done:
    free(last);
    return st;
}

/* Most bags have each row once, and a bit for each row shows that: a table of bits stays in the
 * cache. */
pboost_status pboost_bags_share_rows(bool *out, const bag_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const bag_rows *rows = &data->rows;
    unsigned char *seen = NULL;
    unsigned repeated = 0;

    *out = false;
    if (rows->n_bags == 0)
        goto done;
    NEED(seen = calloc(rows->x->rows / 8 + 1, 1), err);
    for (size_t i = rows->start[0]; i < rows->start[rows->n_bags]; i++) {
        size_t row = rows->row[i];
        if (row >= rows->x->rows) /* the fit refuses it */
            continue;
        repeated |= seen[row / 8] >> row % 8 & 1;
        seen[row / 8] |= (unsigned char)(1 << row % 8);
    }
    if (repeated)
        TRY(look_by_bag(out, rows, err));
done:
    free(seen);
    return st;
}
