/* See boost.h. */
#include "trees/boost.h"

#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/sizes.h"
#include "data/answer_error.h"
#include "large.h"
#include "try.h"

#define ROW_NS 5.0 /* what a row takes on one thread */

#define LARGEST_STEP 1.0 /* of a leaf, where b is curved: the quadratic does not reach further */
#define HALVINGS 20

/* ---- A pass over the bags -------------------------------------------------------------------- */

typedef struct {
    booster *b; /* whose predictor it starts from */
    const unsigned char *leaf;
    const double *value; /* what a leaf adds to the predictor of its rows; NULL: nothing */
    bag_point *out;
} pass_task;

typedef struct {
    double mean, variance, v;
} bag_sums;

static void close_bag(const pass_task *t, size_t bag, double size, bag_sums s)
{
    t->out->mean[bag] = s.mean / size;
    t->out->variance[bag] = s.variance / (size * size);
    t->b->sum[bag] = s.v / size;
}

static double by_weight(const boost_problem *p, double v, size_t i)
{
    double w = p->weight != NULL ? p->weight[p->row[i]] : 1.0;
    return w > 0.0 ? v / w : INFINITY;
}

static void pass_chunk(void *context, size_t chunk, int worker)
{
    (void)worker;
    const pass_task *t = context;
    const boost_problem *p = t->b->problem;
    double mean[GLM_BLOCK], v[GLM_BLOCK], trial[GLM_BLOCK];
    size_t bag = p->chunk[chunk], end = p->start[p->chunk[chunk + 1]];
    size_t bag_end = p->start[bag + 1];
    double size = (double)(bag_end - p->start[bag]);
    bag_sums sums = {0};

    for (size_t at = p->start[bag]; at < end; at += GLM_BLOCK) {
        size_t n = smaller(GLM_BLOCK, end - at);
        const double *eta = t->b->eta + at;
        for (size_t i = 0; t->value != NULL && i < n; i++)
            trial[i] = eta[i] + t->value[t->leaf[at + i]];
        p->kernels->moments(mean, v, t->value != NULL ? trial : eta, n);
        for (size_t i = 0; i < n; i++) {
            if (at + i == bag_end) {
                close_bag(t, bag++, size, sums);
                bag_end = p->start[bag + 1];
                size = (double)(bag_end - p->start[bag]);
                sums = (bag_sums){0};
            }
            sums.mean += mean[i];
            sums.v += v[i];
            sums.variance += p->weight != NULL ? by_weight(p, v[i], at + i) : v[i];
            t->b->v[at + i] = (float)(v[i] / size);
        }
    }
    close_bag(t, bag, size, sums);
}

/* For a walk over all rows. */
static int threads_for(const boost_problem *p, int threads)
{
    return p->n_chunks == 1 ? 1 : pboost_threads_for(threads, ROW_NS * (double)p->rows);
}

static void pass(const pass_task *t, int threads)
{
    const boost_problem *p = t->b->problem;
    pboost_parallel(p->n_chunks, threads_for(p, threads), pass_chunk, (void *)(uintptr_t)t);
}

/* ---- The objective --------------------------------------------------------------------------- */

void pboost_booster_freeze(booster *b)
{
    const boost_problem *p = b->problem;
    for (size_t i = 0; i < p->bags; i++) {
        double a = fmax(b->point.variance[i], p->least_variance[i]);
        double v = p->noise[i] > 0.0 ? a + p->noise[i] / p->phi : a;
        b->residual[i] = p->answer[i] - b->point.mean[i];
        b->target[i] = p->answer[i];
        if (p->laplace && p->noise[i] > 0.0) {
            answer_error error = {p->phi * a, p->noise[i], true};
            working_residual w = pboost_working_residual(b->residual[i], error);
            v = w.variance / p->phi;
            b->residual[i] = w.residual;
            b->target[i] = b->point.mean[i] + w.residual;
        }
        b->weight[i] = v > 0.0 ? 1.0 / v : 0.0; /* 0 also where V is infinite */
    }
}

static double objective(const booster *b, const bag_point *at)
{
    const boost_problem *p = b->problem;
    double sum = 0.0;
    for (size_t i = 0; i < p->bags; i++) {
        double r = b->target[i] - at->mean[i];
        sum += pboost_left_out(b, i) ? 0.0 : r * r * b->weight[i];
    }
    return sum;
}

/* ---- Slopes ---------------------------------------------------------------------------------- */

typedef struct {
    const booster *b;
    boost_work *work;
    size_t n_leaves;
} sums_task;

static void slope_chunk(void *context, size_t chunk, int worker)
{
    (void)worker;
    const sums_task *t = context;
    const booster *b = t->b;
    const boost_problem *p = b->problem;
    row_slope *slope = t->work->grow.slope;
    for (size_t bag = p->chunk[chunk]; bag < p->chunk[chunk + 1]; bag++) {
        float g = (float)(b->residual[bag] * b->weight[bag]);
        float h = (float)(b->sum[bag] * b->weight[bag]);
        for (size_t i = p->start[bag]; i < p->start[bag + 1]; i++)
            slope[i] = (row_slope){b->v[i] * g, b->v[i] * h};
    }
}

/* ---- What a tree is grown from --------------------------------------------------------------- */

/* Keeps a fraction of those out[i] that are 1, exactly and rounded up, and sets the others to 0. */
static void draw(unsigned char *out, size_t n, double fraction, const booster *b, uint64_t stream)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        left += out[i];
    size_t need = (size_t)ceil(fraction * (double)left);
    for (size_t i = 0; i < n; i++) {
        if (!out[i])
            continue;
        uint64_t key = pboost_rng_key(b->problem->options->seed, RNG_TREES, stream, i);
        out[i] = (double)(key >> 11) * 0x1p-53 * (double)left < (double)need;
        need -= out[i];
        left--;
    }
}

/* Draws bags and columns.  Trees from different halves err in different ways, which makes their sum
 * better than that of trees from all. */
static void draw_all(booster *b, boost_work *work, size_t tree, double bags, double columns)
{
    const boost_problem *p = b->problem;
    uint64_t stream = (uint64_t)tree * 512 + b->out * 2;
    for (size_t bag = 0; bag < p->bags; bag++)
        work->drawn[bag] = !pboost_left_out(b, bag);
    draw(work->drawn, p->bags, bags, b, stream);
    memset(work->column, 1, p->data.n_columns);
    draw(work->column, p->data.n_columns, columns, b, stream + 1);
}

/* Rows of bags that were drawn, then the others.  Returns how many the first are. */
static size_t gather_rows(const boost_problem *p, boost_work *work)
{
    uint32_t *row = work->grow.row;
    size_t n = 0, inside = 0;
    for (size_t bag = 0; bag < p->bags; bag++)
        inside += work->drawn[bag] ? p->start[bag + 1] - p->start[bag] : 0;
    size_t m = inside;
    for (size_t bag = 0; bag < p->bags; bag++) {
        size_t *at = work->drawn[bag] ? &n : &m;
        for (size_t i = p->start[bag]; i < p->start[bag + 1]; i++)
            row[(*at)++] = (uint32_t)i;
    }
    return inside;
}

/* The structure of a tree.  Where the bags and columns that were drawn allow no split, all are
 * used; false: not even they do. */
static bool grow_tree(booster *b, boost_work *work, size_t tree, int threads)
{
    const boost_problem *p = b->problem;
    const pboost_forest_options *o = p->options;
    pboost_forest *f = &b->forest.forest;
    size_t nodes = f->n_nodes;

    for (int all = 0; all < 2; all++) {
        split_rule rule = {o->l2, (double)o->min_rows * (all ? 1.0 : o->bag_fraction)};
        draw_all(b, work, tree, all ? 1.0 : o->bag_fraction, all ? 1.0 : o->column_fraction);
        pboost_grow(&b->forest, &work->grow, &p->data, gather_rows(p, work), o->leaves, &rule,
                    b->order, work->column, threads);
        if (work->grow.n_leaves > 1)
            return true;
        f->n_trees--;
        f->n_nodes = nodes;
    }
    return false;
}

/* ---- Values of leaves ------------------------------------------------------------------------ */

/* Adds the bags of a chunk to the normal equations of the leaves' values: J'WJ and J'Wr. */
static void normal_chunk(void *context, size_t chunk, int worker)
{
    (void)worker;
    const sums_task *t = context;
    const booster *b = t->b;
    const boost_problem *p = b->problem;
    const unsigned char *leaf = t->work->grow.leaf;
    size_t n = t->n_leaves, stride = p->options->leaves;
    double *matrix = t->work->sums + chunk * stride * (stride + 1), *vector = matrix + n * n;
    double *j = t->work->bag + chunk * stride;
    unsigned char touched[MAX_BINS + 1]; /* the place after the last is written too */

    memset(matrix, 0, (n * n + n) * sizeof *matrix);
    memset(j, 0, n * sizeof *j);
    for (size_t bag = p->chunk[chunk]; bag < p->chunk[chunk + 1]; bag++) {
        size_t n_touched = 0;
        if (pboost_left_out(b, bag) || b->weight[bag] == 0.0)
            continue;
        for (size_t i = p->start[bag]; i < p->start[bag + 1]; i++) {
            touched[n_touched] = leaf[i];
            n_touched += j[leaf[i]] == 0.0 && b->v[i] > 0.0f;
            j[leaf[i]] += (double)b->v[i];
        }
        for (size_t x = 0; x < n_touched; x++) {
            double wj = b->weight[bag] * j[touched[x]];
            vector[touched[x]] += wj * b->residual[bag];
            for (size_t y = 0; y < n_touched; y++)
                matrix[touched[x] * n + touched[y]] += wj * j[touched[y]];
        }
        for (size_t x = 0; x < n_touched; x++)
            j[touched[x]] = 0.0;
    }
}

/* Solves (J'WJ + l2) value = J'Wr and takes `rate` of it. */
static void solve_leaves(const booster *b, boost_work *work, size_t n, int threads)
{
    const boost_problem *p = b->problem;
    sums_task task = {b, work, n};
    size_t stride = p->options->leaves, size = n * n + n;
    double *sum = work->sums, rate = p->options->rate;
    double limit = p->family->curved ? LARGEST_STEP : INFINITY;

    pboost_parallel(p->n_chunks, threads_for(p, threads), normal_chunk, &task);
    for (size_t c = 1; c < p->n_chunks; c++)
        for (size_t i = 0; i < size; i++)
            sum[i] += sum[c * stride * (stride + 1) + i];
    for (size_t l = 0; l < n; l++)
        sum[l * n + l] += p->options->l2;
    memset(work->dropped, 0, n);
    pboost_cholesky factor = {n, sum, work->scale, work->dropped};
    pboost_cholesky_factor(&factor, pboost_rank_tolerance(n), true);
    pboost_cholesky_solve(work->value, &factor, sum + n * n);
    for (size_t l = 0; l < n; l++)
        work->value[l] = fmin(fmax(rate * work->value[l], -limit), limit);
}

/* ---- A tree ---------------------------------------------------------------------------------- */

static void add_chunk(void *context, size_t chunk, int worker)
{
    (void)worker;
    const sums_task *t = context;
    const boost_problem *p = t->b->problem;
    const unsigned char *leaf = t->work->grow.leaf;
    double *eta = t->b->eta;
    size_t end = p->start[p->chunk[chunk + 1]];
    for (size_t i = p->start[p->chunk[chunk]]; i < end; i++)
        eta[i] += t->work->value[leaf[i]];
}

/* Adds the values to the predictor.  Where the objective at frozen V would rise, half of them, and
 * so on: the quadratic is right near the point only. */
static void take_step(booster *b, boost_work *work, size_t n, int threads)
{
    pass_task task = {b, work->grow.leaf, work->value, &b->trial};
    sums_task taken = {b, work, n};
    const boost_problem *p = b->problem;
    double here = objective(b, &b->point);
    for (int halvings = 0;; halvings++) {
        pass(&task, threads);
        if (objective(b, &b->trial) <= here * (1.0 + 1e-12))
            break;
        for (size_t l = 0; l < n; l++)
            work->value[l] = halvings < HALVINGS ? 0.5 * work->value[l] : 0.0;
    }
    pboost_parallel(p->n_chunks, threads_for(p, threads), add_chunk, &taken);
    bag_point point = b->point;
    b->point = b->trial;
    b->trial = point;
}

void pboost_boost(booster *b, boost_work *work, size_t tree, int threads)
{
    const boost_problem *p = b->problem;
    grow_work *grow = &work->grow;
    sums_task task = {b, work, 0};

    if (b->done)
        return;
    pboost_booster_freeze(b);
    pboost_parallel(p->n_chunks, threads_for(p, threads), slope_chunk, &task);
    b->done = !grow_tree(b, work, tree, threads);
    if (b->done)
        return;
    solve_leaves(b, work, grow->n_leaves, threads);
    take_step(b, work, grow->n_leaves, threads);
    for (size_t l = 0; l < grow->n_leaves; l++)
        b->forest.forest.node[grow->leaves[l].node].value = work->value[l];
}

/* ---- The start ------------------------------------------------------------------------------- */

double pboost_mean_answer(const boost_problem *p, const unsigned char *fold, size_t out)
{
    double total = 0.0, sum = 0.0, noise = 0.0;
    for (size_t b = 0; b < p->bags; b++) {
        if (fold != NULL && fold[b] == out)
            continue;
        total += p->total[b];
        sum += p->total[b] * p->answer[b];
        noise += p->total[b] * p->total[b] * p->noise[b];
    }
    double inside = fmin(fmax(sqrt(noise), 0.5) / total, 0.5);
    return fmin(fmax(sum / total, p->family->least_mean + inside), p->family->most_mean - inside);
}

/* The constant that makes the mean prediction of the bags that count the target: Newton's method on
 * a function that rises, kept inside a bracket. */
static double best_intercept(booster *b, double target, int threads)
{
    const boost_problem *p = b->problem;
    double low = -INFINITY, high = INFINITY, at = 0.0;
    pass_task task = {.b = b, .out = &b->point};

    for (int i = 0; i < 200; i++) {
        double mean = 0.0, slope = 0.0, total = 0.0;
        for (size_t r = 0; r < p->rows; r++)
            b->eta[r] = b->from[p->row[r]] + at;
        pass(&task, threads);
        for (size_t bag = 0; bag < p->bags; bag++) {
            double count = pboost_left_out(b, bag) ? 0.0 : p->total[bag];
            total += count;
            mean += count > 0.0 ? count * b->point.mean[bag] : 0.0;
            slope += count > 0.0 ? count * b->sum[bag] : 0.0;
        }
        double error = target - mean / total, step = error * total / slope;
        low = error > 0.0 ? at : low;
        high = error < 0.0 ? at : high;
        step = p->family->curved ? fmin(fmax(step, -4.0), 4.0) : step;
        double next = at + (isfinite(step) ? step : error > 0.0 ? 4.0 : -4.0);
        if (!(next > low && next < high) && isfinite(low) && isfinite(high))
            next = 0.5 * (low + high);
        if (fabs(next - at) <= 1e-12 * fmax(1.0, fabs(at)) || error == 0.0)
            break;
        at = next;
    }
    return at;
}

pboost_status pboost_booster_init(booster *out, const boost_problem *p, const unsigned char *fold,
                                  size_t left_out, const double *from, int threads,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = p->bags;

    *out = (booster){.problem = p, .fold = fold, .out = left_out, .from = from};
    NEED(out->eta = pboost_alloc_large(p->rows, sizeof *out->eta), err);
    NEED(out->v = pboost_alloc_large(p->rows, sizeof *out->v), err);
    NEED(out->point.mean = pboost_alloc(m, sizeof(double)), err);
    NEED(out->point.variance = pboost_alloc(m, sizeof(double)), err);
    NEED(out->trial.mean = pboost_alloc(m, sizeof(double)), err);
    NEED(out->trial.variance = pboost_alloc(m, sizeof(double)), err);
    NEED(out->residual = pboost_alloc(m, sizeof(double)), err);
    NEED(out->weight = pboost_alloc(m, sizeof(double)), err);
    NEED(out->sum = pboost_alloc(m, sizeof(double)), err);
    NEED(out->target = pboost_alloc(m, sizeof(double)), err);
    double target = pboost_mean_answer(p, fold, left_out);
    out->intercept = from != NULL ? best_intercept(out, target, threads) : p->family->eta(target);
    for (size_t i = 0; i < p->rows; i++)
        out->eta[i] = (from != NULL ? from[p->row[i]] : 0.0) + out->intercept;
    pass(&(pass_task){.b = out, .out = &out->point}, threads);
    out->forest.forest.n_columns = p->data.n_columns;
done:
    return st;
}

void pboost_booster_free(booster *b)
{
    free(b->eta);
    free(b->v);
    free(b->point.mean);
    free(b->point.variance);
    free(b->trial.mean);
    free(b->trial.variance);
    free(b->residual);
    free(b->weight);
    free(b->sum);
    free(b->target);
    free(b->order);
    pboost_forest_free(&b->forest.forest);
    *b = (booster){0};
}

pboost_status pboost_boost_work_init(boost_work *out, const boost_problem *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t leaves = p->options->leaves;

    *out = (boost_work){0};
    TRY(pboost_grow_init(&out->grow, &p->data, leaves, err));
    NEED(out->sums = pboost_alloc(p->n_chunks, leaves * (leaves + 1) * sizeof *out->sums), err);
    NEED(out->bag = pboost_alloc(p->n_chunks, leaves * sizeof *out->bag), err);
    NEED(out->value = pboost_alloc(leaves, sizeof *out->value), err);
    NEED(out->scale = pboost_alloc(leaves, sizeof *out->scale), err);
    NEED(out->dropped = calloc(leaves, 1), err);
    NEED(out->drawn = calloc(p->bags, 1), err);
    NEED(out->column = calloc(p->data.n_columns, 1), err);
done:
    return st;
}

void pboost_boost_work_free(boost_work *w)
{
    pboost_grow_free(&w->grow);
    free(w->sums);
    free(w->bag);
    free(w->value);
    free(w->scale);
    free(w->dropped);
    free(w->drawn);
    free(w->column);
    *w = (boost_work){0};
}
