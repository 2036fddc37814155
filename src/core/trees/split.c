/* See split.h. */
#include "trees/split.h"

static double score(hist_cell c, double l2)
{
    return c.g * c.g / (c.h + l2);
}

static hist_cell minus(hist_cell a, hist_cell b)
{
    return (hist_cell){a.g - b.g, a.h - b.h, a.n - b.n};
}

static hist_cell plus(hist_cell a, hist_cell b)
{
    return (hist_cell){a.g + b.g, a.h + b.h, a.n + b.n};
}

/* Twice the gain of splitting the sums of `left` from the total; 0 where a leaf would be too small.
 */
static double gain_of(hist_cell left, hist_cell total, const split_rule *rule)
{
    hist_cell right = minus(total, left);
    if (left.n < rule->min_rows || right.n < rule->min_rows || !(left.h > 0.0) || !(right.h > 0.0))
        return 0.0;
    return score(left, rule->l2) + score(right, rule->l2) - score(total, rule->l2);
}

/* Bins in their order; missing cells on the right, then on the left. */
static void split_column(node_split *best, size_t column, const bin_column *c, const uint8_t *order,
                         const hist_cell *hist, hist_cell total, const split_rule *rule)
{
    bool some_missing = hist[0].n > 0.0;
    for (int missing_left = 0; missing_left < 1 + some_missing; missing_left++) {
        hist_cell left = missing_left ? hist[0] : (hist_cell){0};
        size_t end = some_missing && !missing_left ? c->n : c->n - 1;
        for (size_t i = 1; i < end; i++) {
            const hist_cell *bin = &hist[order != NULL ? order[i] : i];
            left = plus(left, *bin);
            if (bin->n == 0.0)
                continue;
            double gain = gain_of(left, total, rule);
            if (gain > best->gain)
                *best = (node_split){.gain = gain,
                                     .column = column,
                                     .left = left,
                                     .missing_left = missing_left != 0,
                                     .last = i};
        }
    }
}

/* The bins that go left.  Missing categories go right, so that the levels
 * which go left are all named; where a node has no missing numbers, they go with most rows. */
static void set_bins(node_split *s, const bin_column *c, const uint8_t *order,
                     const hist_cell *hist, hist_cell total)
{
    bool turn = c->category && s->missing_left;
    if (turn) {
        s->left = minus(total, s->left);
        s->missing_left = false;
    }
    if (!c->category && hist[0].n == 0.0)
        s->missing_left = 2.0 * s->left.n > total.n;
    for (size_t i = turn ? s->last + 1 : 1; i <= (turn ? c->n - 1 : s->last); i++) {
        size_t b = order != NULL ? order[i] : i;
        s->set[b / 64] |= (uint64_t)1 << (b % 64);
    }
    s->set[0] |= s->missing_left;
}

node_split pboost_best_split(const binned *data, const hist_cell *hist, hist_cell total,
                             const split_rule *rule, const uint8_t *order, const unsigned char *use)
{
    node_split best = {0};
    for (size_t j = 0; j < data->n_columns; j++) {
        const bin_column *c = &data->column[j];
        if (use[j])
            split_column(&best, j, c, c->category ? order + c->first : NULL, hist + c->first, total,
                         rule);
    }
    if (best.gain > 0.0) {
        const bin_column *c = &data->column[best.column];
        set_bins(&best, c, c->category ? order + c->first : NULL, hist + c->first, total);
    }
    return best;
}
