/* Fits a forest to answers.
 *
 * One forest is grown for every fold of the bags, from the others.  They grow together, a tree at a
 * time: so the bags left out say after each tree how large the dispersion is and whether one more
 * tree predicts them better, and nothing has to be fitted twice.  The result is the mean of these
 * forests: its members have seen different bags, which makes it better than one forest from all
 * bags. */
#include <math.h>
#include <string.h>

#include <priorboost/curves.h>

#include "base/cancel.h"
#include "base/options.h"
#include "base/parallel.h"
#include "base/sizes.h"
#include "data/answer_error.h"
#include "data/answers.h"
#include "fit/aggregate/aggregate.h"
#include "fit/aggregate/dispersion.h"
#include "trees/boost.h"
#include "trees/checks.h"
#include "trees/fit.h"
#include "try.h"

#define LEAST_VARIANCE 0.02 /* of what it is at the mean of all answers */
#define CHUNK_ROWS ((size_t)1 << 14)
#define MAX_CHUNKS ((size_t)32)
/* Tables of fewer rows than this give a forest to each thread, larger ones all threads to a
 * forest. */
#define LARGE_TABLE ((size_t)1 << 17)

typedef struct {
    boost_problem problem;
    pboost_forest_options options;
    size_t n_forests, n_works;
    booster *forest;
    boost_work *work;
    unsigned char *fold;                            /* by bag; NULL: none is left out */
    double *mean, *variance, *residual;             /* by bag: of the forest that left it out */
    double *first_mean, *first_size, *first_weight; /* by bag: before the first tree; 1/V there */
    double first_phi, *first_sampling;              /* by bag: phi a_B there */
    double first_own;   /* sum of r^2 / V of the forests on the bags that they have seen */
    size_t trees, best; /* grown; that predict best */
    double best_score, *best_mean, best_own;
} forest_fit;

/* ---- The problem ----------------------------------------------------------------------------- */

/* Bags in chunks of about as many rows. */
static pboost_status cut_chunks(boost_problem *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t most = larger(1, smaller(smaller(p->rows / CHUNK_ROWS, MAX_CHUNKS), p->bags));
    NEED(p->chunk = pboost_alloc(most + 1, sizeof *p->chunk), err);
    p->chunk[0] = 0;
    for (size_t b = 1, c = 1; b <= p->bags; b++)
        if (b == p->bags || p->start[b] >= p->rows * c / most) {
            p->chunk[++p->n_chunks] = b;
            while (p->rows * c / most <= p->start[b])
                c++;
        }
done:
    return st;
}

/* The weights of bags, and a part of a_B of a model that predicts one mean for all. */
static pboost_status weigh_bags(boost_problem *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    NEED(p->total = calloc(p->bags, sizeof *p->total), err);
    NEED(p->least_variance = pboost_alloc(p->bags, sizeof *p->least_variance), err);
    for (size_t b = 0; b < p->bags; b++)
        for (size_t i = p->start[b]; i < p->start[b + 1]; i++)
            p->total[b] += p->weight != NULL ? p->weight[p->row[i]] : 1.0;
    double v = p->family->variance_at(pboost_mean_answer(p, NULL, 0));
    for (size_t b = 0; b < p->bags; b++)
        p->least_variance[b] = LEAST_VARIANCE * v / (double)(p->start[b + 1] - p->start[b]);
done:
    return st;
}

static pboost_status open_problem(boost_problem *p, const bag_data *data,
                                  const pboost_columns *columns, const double *weight,
                                  const pboost_forest_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const bag_rows *rows = &data->rows;
    size_t first = rows->start[0];

    *p = (boost_problem){.family = pboost_family_info(options->family),
                         .kernels = &pboost_glm_kernels()->family[options->family],
                         .rows = rows->start[rows->n_bags] - first,
                         .bags = rows->n_bags,
                         .row = rows->row + first,
                         .answer = data->answer,
                         .noise = data->noise,
                         .laplace = data->laplace,
                         .weight = weight,
                         .options = options,
                         .phi = 1.0};
    NEED(p->start = pboost_alloc(p->bags + 1, sizeof *p->start), err);
    for (size_t b = 0; b <= p->bags; b++)
        p->start[b] = rows->start[b] - first;
    for (size_t b = 0; b < p->bags; b++)
        p->noisy = p->noisy || p->noise[b] > 0.0;
    TRY(cut_chunks(p, err));
    TRY(weigh_bags(p, err));
    TRY(pboost_bin(&p->data, columns, p->row, p->rows, options->threads, err));
done:
    return st;
}

static void close_problem(boost_problem *p)
{
    free(p->start);
    free(p->chunk);
    free(p->total);
    free(p->least_variance);
    pboost_binned_free(&p->data);
}

/* ---- Bags left out --------------------------------------------------------------------------- */

/* The weight of the rows of bags outside a fold. */
static double weight_without(const boost_problem *p, const unsigned char *fold, size_t out)
{
    double sum = 0.0;
    for (size_t b = 0; b < p->bags; b++)
        sum += fold[b] != out ? p->total[b] : 0.0;
    return sum;
}

/* Folds of equal size, at most one a bag; fewer than two: no bag is left out. */
static pboost_status make_folds(forest_fit *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_forest_options *o = &f->options;
    size_t bags = f->problem.bags;

    f->n_forests = 1;
    if (o->folds < 2 || bags < 2)
        goto done;
    NEED(f->fold = pboost_alloc(bags, 1), err);
    f->n_forests = o->fold != NULL ? o->folds : smaller(o->folds, bags);
    if (o->fold != NULL)
        memcpy(f->fold, o->fold, bags);
    else
        pboost_crossval_folds(f->fold, bags, f->n_forests, o->seed);
    for (size_t i = 0; i < f->n_forests; i++)
        if (!(weight_without(&f->problem, f->fold, i) > 0.0))
            FAIL(err, PBOOST_BAD_DATA, "without the bags of fold %zu no row has a weight", i);
done:
    return st;
}

/* What is predicted of each bag by the forest that left it out (or by the one forest). */
static void look(forest_fit *f)
{
    const boost_problem *p = &f->problem;
    for (size_t b = 0; b < p->bags; b++) {
        const booster *forest = &f->forest[f->fold != NULL ? f->fold[b] : 0];
        f->mean[b] = forest->point.mean[b];
        f->variance[b] = fmax(forest->point.variance[b], p->least_variance[b]);
        f->residual[b] = p->answer[b] - f->mean[b];
    }
}

static double misfit(const forest_fit *f, const double *mean)
{
    const boost_problem *p = &f->problem;
    double sum = 0.0;
    for (size_t b = 0; b < p->bags; b++) {
        double r = p->answer[b] - mean[b];
        sum += r * r * f->first_weight[b];
    }
    return sum;
}

/* The same of all forests on the bags that they are grown from. */
static double own_misfit(const forest_fit *f)
{
    const boost_problem *p = &f->problem;
    double sum = 0.0;
    for (size_t i = 0; i < f->n_forests; i++)
        for (size_t b = 0; b < p->bags; b++) {
            double r = p->answer[b] - f->forest[i].point.mean[b];
            sum += pboost_left_out(&f->forest[i], b) ? 0.0 : r * r * f->first_weight[b];
        }
    return sum;
}

/* As the aggregate estimator: labels of 0 and 1 have dispersion 1, counts that of Poisson or more,
 * and it is not below its own standard error where there is noise.  Without bags left out the trees
 * have used up some freedom; more than half of the bags is not believed. */
static void refresh_dispersion(forest_fit *f)
{
    boost_problem *p = &f->problem;
    bag_errors errors = {p->bags, f->residual, f->variance, p->noise};
    double bags = (double)p->bags;
    double used =
        f->fold != NULL ? 1.0 : 1.0 + f->options.rate * (double)(f->trees * f->options.leaves);
    if (p->family->family == PBOOST_LOGISTIC)
        return;
    double phi = pboost_dispersion(&errors, fmax(bags - fmin(used, 0.5 * bags), 1.0));
    if (p->noisy)
        phi = fmax(phi, pboost_dispersion_error(&errors, phi));
    if (p->family->family == PBOOST_POISSON)
        phi = fmax(phi, 1.0);
    p->phi = phi > 0.0 ? phi : p->phi;
}

/* The gain in log quasi-likelihood of the answers over the model before the first tree.  The size
 * of a bag, and phi, are the same for all numbers of trees.  Where there is Laplace noise, it is
 * the likelihood itself. */
static double score(const forest_fit *f)
{
    const boost_problem *p = &f->problem;
    double sum = 0.0;
    for (size_t b = 0; b < p->bags; b++) {
        double first = f->first_mean[b], now = f->mean[b], y = p->answer[b];
        answer_error error = {f->first_sampling[b], p->noise[b], p->laplace};
        if (!(f->first_weight[b] > 0.0))
            continue;
        sum += p->laplace && p->noise[b] > 0.0
                   ? pboost_residual_log_density(y - now, error) -
                         pboost_residual_log_density(y - first, error)
                   : p->family->quasi(y, first, now, f->first_size[b] / f->first_phi, p->noise[b]);
    }
    return sum;
}

/* ---- Growing --------------------------------------------------------------------------------- */

typedef struct {
    forest_fit *fit;
    size_t tree;
    int threads;
} grow_all;

static void grow_one(void *context, size_t i, int worker)
{
    const grow_all *g = context;
    pboost_boost(&g->fit->forest[i], &g->fit->work[worker], g->tree, g->threads);
}

static bool all_done(const forest_fit *f)
{
    for (size_t i = 0; i < f->n_forests; i++)
        if (!f->forest[i].done)
            return false;
    return true;
}

/* One more tree of every forest, unless no leaf of any can be split. */
static pboost_status add_trees(forest_fit *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    grow_all task = {f, f->trees, f->n_works > 1 ? 1 : f->options.threads};
    for (size_t i = 0; i < f->n_forests; i++)
        TRY(pboost_forest_reserve(&f->forest[i].forest, f->options.leaves, err));
    if (f->n_works > 1)
        pboost_parallel(f->n_forests, (int)f->n_works, grow_one, &task);
    for (size_t i = 0; f->n_works == 1 && i < f->n_forests; i++) {
        TRY(pboost_cancel_check(f->options.cancel, err));
        grow_one(&task, i, 0);
    }
    if (all_done(f))
        goto done;
    f->trees++;
    look(f);
    refresh_dispersion(f);
done:
    return st;
}

static pboost_status grow_forests(forest_fit *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_forest_options *o = &f->options;
    size_t most = o->trees > 0 ? o->trees : o->max_trees;

    f->best_score = 0.0;
    while (f->trees < most) {
        TRY(pboost_cancel_check(o->cancel, err));
        pboost_progress(o->cancel, "trees", (double)f->trees, (double)most);
        TRY(add_trees(f, err));
        if (all_done(f))
            break;
        double now = score(f);
        if (o->trees > 0 || now > f->best_score) {
            f->best = f->trees;
            f->best_score = now;
            f->best_own = own_misfit(f);
            memcpy(f->best_mean, f->mean, f->problem.bags * sizeof *f->mean);
        }
        if (f->trees >= f->best + larger(30, f->best / 2))
            break;
    }
done:
    return st;
}

static pboost_status start_forest(forest_fit *f, size_t i, const double *start,
                                  const forest_starts *starts, const pboost_columns *columns,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const boost_problem *p = &f->problem;
    const double *from = f->options.fold_start != NULL ? f->options.fold_start[i] : start;
    double *own = NULL;

    if (starts != NULL) {
        NEED(own = pboost_alloc(columns->rows, sizeof *own), err);
        TRY(starts->fill(own, starts->self, i, err));
        TRY(pboost_forest_rows_check(columns, own, NULL, p->row, p->rows, err));
        from = own;
    }
    TRY(pboost_booster_init(&f->forest[i], p, f->fold, i, from, f->options.threads, err));
    f->forest[i].from = NULL; /* the predictors begin with it */
done:
    free(own);
    return st;
}

static pboost_status start_forests(forest_fit *f, const double *start, const forest_starts *starts,
                                   const pboost_columns *columns, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    boost_problem *p = &f->problem;
    size_t m = p->bags, threads = (size_t)pboost_threads(f->options.threads);

    TRY(make_folds(f, err));
    f->n_works = p->rows < LARGE_TABLE ? smaller(f->n_forests, threads) : 1;
    NEED(f->forest = calloc(f->n_forests, sizeof *f->forest), err);
    NEED(f->work = calloc(f->n_works, sizeof *f->work), err);
    NEED(f->mean = pboost_alloc(m, sizeof(double)), err);
    NEED(f->variance = pboost_alloc(m, sizeof(double)), err);
    NEED(f->residual = pboost_alloc(m, sizeof(double)), err);
    NEED(f->first_mean = pboost_alloc(m, sizeof(double)), err);
    NEED(f->first_size = pboost_alloc(m, sizeof(double)), err);
    NEED(f->first_sampling = pboost_alloc(m, sizeof(double)), err);
    NEED(f->first_weight = pboost_alloc(m, sizeof(double)), err);
    NEED(f->best_mean = pboost_alloc(m, sizeof(double)), err);
    for (size_t i = 0; i < f->n_forests; i++)
        TRY(start_forest(f, i, start, starts, columns, err));
    for (size_t i = 0; i < f->n_works; i++)
        TRY(pboost_boost_work_init(&f->work[i], p, err));
    look(f);
    refresh_dispersion(f);
    f->first_phi = p->phi;
    for (size_t i = 0; i < f->n_forests; i++)
        TRY(pboost_order_levels(&f->forest[i], f->options.threads, err));
    memcpy(f->first_mean, f->mean, m * sizeof *f->mean);
    memcpy(f->best_mean, f->mean, m * sizeof *f->mean);
    for (size_t b = 0; b < m; b++) {
        double v = p->phi * f->variance[b] + p->noise[b];
        f->first_sampling[b] = p->phi * f->variance[b];
        f->first_size[b] = p->family->variance_at(f->mean[b]) / f->variance[b];
        f->first_weight[b] = v > 0.0 ? 1.0 / v : 0.0;
    }
    f->first_own = f->best_own = own_misfit(f);
done:
    return st;
}

static void close_fit(forest_fit *f)
{
    for (size_t i = 0; f->forest != NULL && i < f->n_forests; i++)
        pboost_booster_free(&f->forest[i]);
    for (size_t i = 0; f->work != NULL && i < f->n_works; i++)
        pboost_boost_work_free(&f->work[i]);
    free(f->forest);
    free(f->work);
    free(f->fold);
    free(f->mean);
    free(f->variance);
    free(f->residual);
    free(f->first_mean);
    free(f->first_size);
    free(f->first_sampling);
    free(f->first_weight);
    free(f->best_mean);
    close_problem(&f->problem);
}

/* ---- The result ------------------------------------------------------------------------------ */

/* The nodes of the first n trees are the first ones: those before the root of the next tree. */
static size_t nodes_of(const pboost_forest *f, size_t trees)
{
    return trees < f->n_trees ? f->root[trees] : f->n_nodes;
}

static void append_tree_nodes(pboost_forest *out, const pboost_forest *f, size_t trees, double part)
{
    uint32_t nodes = (uint32_t)out->n_nodes;
    size_t n = nodes_of(f, trees);
    for (size_t t = 0; t < smaller(trees, f->n_trees); t++)
        out->root[out->n_trees++] = f->root[t] + nodes;
    for (size_t i = 0; i < n; i++) {
        pboost_node node = f->node[i];
        if (node.column == PBOOST_LEAF) {
            node.value *= part;
        } else {
            node.left += nodes;
            node.right += nodes;
            if (node.n_set > 0) {
                memcpy(out->code + out->n_codes, f->code + node.set, node.n_set * sizeof *f->code);
                node.set = (uint32_t)out->n_codes;
                out->n_codes += node.n_set;
            }
        }
        out->node[out->n_nodes++] = node;
    }
}

/* The mean of the forests, of `best` trees each. */
static pboost_status average(pboost_forest *out, double *intercept, const forest_fit *f,
                             pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t trees = 0, nodes = 0, codes = 0;
    double part = 1.0 / (double)f->n_forests;

    for (size_t i = 0; i < f->n_forests; i++) {
        const pboost_forest *one = &f->forest[i].forest.forest;
        trees += smaller(f->best, one->n_trees);
        nodes += nodes_of(one, f->best);
        codes += one->n_codes;
        *intercept += part * f->forest[i].intercept;
    }
    if (nodes > UINT32_MAX / 2 || codes > UINT32_MAX / 2)
        FAIL(err, PBOOST_BAD_DATA, "%zu trees are more than a forest can have", trees);
    out->n_columns = f->problem.data.n_columns;
    NEED(out->root = pboost_alloc(trees, sizeof *out->root), err);
    NEED(out->node = pboost_alloc(nodes, sizeof *out->node), err);
    NEED(out->code = pboost_alloc(codes, sizeof *out->code), err);
    for (size_t i = 0; i < f->n_forests; i++)
        append_tree_nodes(out, &f->forest[i].forest.forest, f->best, part);
done:
    return st;
}

pboost_status pboost_forest_fit_from(pboost_forest *out, double *intercept,
                                     pboost_forest_report *report, double *left_out,
                                     const pboost_columns *columns, const double *start,
                                     const forest_starts *starts, const double *weight,
                                     const pboost_answers *answers, size_t first_bag,
                                     const pboost_forest_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    forest_fit f = {.options = PBOOST_FOREST_OPTIONS_INIT};
    pboost_matrix none = {0};
    pboost_features features = {.x = none, .weight = weight, .offset = start};

    *out = (pboost_forest){0};
    *intercept = 0.0;
    TRY(OPTIONS_READ(&f.options, options, PBOOST_FOREST_OPTIONS_INIT, err));
    TRY(pboost_forest_options_check(&f.options, err));
    TRY(pboost_answers_check_scalar(answers, "a forest", err));
    if (first_bag >= answers->n_bags)
        FAIL(err, PBOOST_BAD_DATA, "there are no bags to fit");
    bag_data data = pboost_bag_data(&features, answers, first_bag);
    TRY(pboost_forest_data_check(&data, columns, answers, &f.options, err));
    TRY(open_problem(&f.problem, &data, columns, weight, &f.options, err));
    TRY(start_forests(&f, start, starts, columns, err));
    TRY(grow_forests(&f, err));
    TRY(average(out, intercept, &f, err));
    if (left_out != NULL)
        memcpy(left_out, f.best_mean, f.problem.bags * sizeof *left_out);
    if (report != NULL)
        *report = (pboost_forest_report){.trees = f.best,
                                         .bags = f.problem.bags,
                                         .dispersion = f.problem.phi,
                                         .misfit = misfit(&f, f.best_mean),
                                         .constant_misfit = misfit(&f, f.first_mean),
                                         .worse_than_constant = !(f.best_own <= f.first_own)};
done:
    close_fit(&f);
    if (st != PBOOST_OK)
        pboost_forest_free(out);
    return st;
}

pboost_status pboost_forest_fit(pboost_forest *out, double *intercept, pboost_forest_report *report,
                                double *left_out, const pboost_columns *columns,
                                const double *start, const double *weight,
                                const pboost_answers *answers, size_t first_bag,
                                const pboost_forest_options *options, pboost_error *err)
{
    return pboost_forest_fit_from(out, intercept, report, left_out, columns, start, NULL, weight,
                                  answers, first_bag, options, err);
}
