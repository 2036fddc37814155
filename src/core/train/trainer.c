/* The adaptive loop of the paper (Algorithm PriorBoost) and its two relatives.
 *
 * The rows are put in an order that depends only on the seed and on each row's key, and
 * cut into T slices.  Each round scores its slice with the last model, bags it, asks, and refits.
 * Within a slice the rows keep that random order, so a stable sort by score breaks ties at random.
 * Where the table has parts, such as the rows of each of several oracles, a slice has a group of
 * each part, and bags are made group by group: none has rows of two parts.
 *
 * The trainer holds no labels: it knows rows by number, the model through the learner interface and
 * the labels through the oracle interface; it uses features only to make bags from them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bags/bags.h"
#include "bags/sort.h"
#include "base/cancel.h"
#include "base/names.h"
#include "base/options.h"
#include "base/rng.h"
#include "data/answers.h"
#include "large.h"
#include "train/schedule.h"
#include "train/trainer.h"
#include "try.h"

struct pboost_trainer {
    pboost_oracle oracle;
    pboost_learner learner;
    pboost_trainer_options options;
    size_t n_rows;
    size_t *order; /* the table's rows, shuffled */
    size_t *group; /* by round, by part: its first row in `order` */
    double *score; /* of the current slice */
    pboost_workspace work;
    pboost_answers answers;
    pboost_round *history;
    size_t round;         /* rounds done so far */
    pboost_bags recalled; /* of the next round, by position in its slice; no bags: none */
    double within;        /* of the last bags that were answered */
};

/* Rows of one round: all, or a group; score is NULL where there is no model to score them. */
typedef struct {
    const size_t *row;
    size_t n;
    const double *score;
    const pboost_matrix *x;
    pboost_family family;
    size_t bag_size;
    uint64_t seed;
    int threads;
    pboost_workspace *work; /* of the trainer */
    const pboost_cancel *cancel;
} slice;

/* ---- Algorithms ------------------------------------------------------------------------------ */

static const char *const ALGORITHMS[] = {"priorboost", "oneshot", "pbprefix"};
#define N_ALGORITHMS (sizeof ALGORITHMS / sizeof *ALGORITHMS)

PBOOST_NAMES(pboost_algorithm, ALGORITHMS, "algorithm")

/* PriorBoost forgets the answers of earlier rounds, whose bags were worse; PBPrefix keeps them. */
static size_t first_bag_to_use(const pboost_trainer *t)
{
    return t->options.algorithm == PBOOST_PBPREFIX ? 0 : t->answers.round_start[t->round];
}

/* ---- Bag strategies -------------------------------------------------------------------------- */

static pboost_status random_bags(pboost_bags *out, const slice *s, pboost_error *err)
{
    return pboost_bags_random_in(s->work, out, s->n, s->bag_size, s->seed, err);
}

/* Where every row is a bag, no order of them is better than another, and none is sought. */
static pboost_status single_bags(pboost_bags *out, const slice *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (pboost_bags){.n_rows = s->n, .n_bags = s->n};
    NEED(out->row = pboost_acquire(s->work, s->n, sizeof *out->row), err);
    NEED(out->start = pboost_acquire(s->work, s->n + 1, sizeof *out->start), err);
    for (size_t i = 0; i < s->n; i++) {
        out->row[i] = out->start[i] = i;
        if (!isfinite(s->score[i]))
            FAIL(err, PBOOST_BAD_DATA, "score %zu is %g; every score must be a finite number", i,
                 s->score[i]);
    }
    out->start[s->n] = s->n;
done:
    if (st != PBOOST_OK)
        pboost_bags_release(s->work, out);
    return st;
}

static pboost_status prior_bags(pboost_bags *out, const slice *s, pboost_error *err)
{
    if (s->score == NULL)
        return random_bags(out, s, err);
    if (s->bag_size == 1)
        return single_bags(out, s, err);
    return pboost_bags_optimal_in(s->work, out, s->score, s->n, s->bag_size, s->threads, err);
}

static pboost_status feature_bags(pboost_bags *out, const slice *s, pboost_error *err)
{
    pboost_samples samples = {.x = s->x, .row = s->row, .n = s->n};
    return pboost_bags_features(out, &samples, s->bag_size, s->threads, s->cancel, err);
}

static pboost_status hybrid_bags(pboost_bags *out, const slice *s, pboost_error *err)
{
    pboost_samples samples = {.x = s->x, .row = s->row, .n = s->n};
    if (s->score == NULL)
        return feature_bags(out, s, err);
    return pboost_bags_hybrid(out, &samples, s->family, s->score, s->bag_size, s->threads,
                              s->cancel, err);
}

static const char *const STRATEGIES[] = {"prior", "random", "features", "hybrid"};
static pboost_status (*const BUILD[])(pboost_bags *out, const slice *s, pboost_error *err) = {
    prior_bags, random_bags, feature_bags, hybrid_bags};
static const bool NEEDS_FEATURES[] = {false, false, true, true};
#define N_STRATEGIES (sizeof STRATEGIES / sizeof *STRATEGIES)

PBOOST_NAMES(pboost_strategy, STRATEGIES, "bags")

/* ---- The loop -------------------------------------------------------------------------------- */

/* y~ of the slice: from the last round's model, or in round 1 from the user's prior if any. */
static pboost_status score_slice(pboost_trainer *t, slice *s, pboost_error *err)
{
    const double *prior = t->options.prior_score;

    s->score = NULL;
    if (t->round == 0 && prior == NULL)
        return PBOOST_OK;
    s->score = t->score;
    if (t->round > 0)
        return t->learner.score(t->learner.self, s->row, s->n, t->score, err);
    for (size_t i = 0; i < s->n; i++)
        t->score[i] = prior[s->row[i]];
    return PBOOST_OK;
}

/* The first row of a round in `order`. */
static size_t slice_start(const pboost_trainer *t, size_t round)
{
    return t->group[round * t->options.parts];
}

static slice next_slice(pboost_trainer *t)
{
    size_t first = slice_start(t, t->round);
    return (slice){.row = t->order + first,
                   .n = slice_start(t, t->round + 1) - first,
                   .x = t->options.x,
                   .family = t->options.family,
                   .bag_size = t->options.bag_size,
                   .threads = t->options.threads,
                   .work = &t->work,
                   .cancel = t->options.cancel};
}

/* The rows of part p in the slice. */
static slice group_of(const pboost_trainer *t, const slice *s, size_t p)
{
    size_t g = t->round * t->options.parts + p, first = t->group[g] - slice_start(t, t->round);
    slice own = *s;

    own.row = s->row + first;
    own.n = t->group[g + 1] - t->group[g];
    own.score = s->score != NULL ? s->score + first : NULL;
    own.seed = pboost_rng_key(t->options.seed, RNG_SHUFFLE, 1, g);
    if (t->options.parts > 1 && own.bag_size > own.n) /* one bag; it has min_bag rows */
        own.bag_size = own.n;
    return own;
}

/* Bags of each group after those of the group before. */
static pboost_status bags_by_part(pboost_bags *out, pboost_trainer *t, const slice *s,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_bags bags = {0};

    NEED(out->row = pboost_acquire(&t->work, s->n, sizeof *out->row), err);
    NEED(out->start =
             pboost_acquire(&t->work, s->n / t->oracle.rules.min_bag + 1, sizeof *out->start),
         err);
    for (size_t p = 0; p < t->options.parts; p++) {
        slice group = group_of(t, s, p);
        if (group.n == 0)
            continue;
        TRY(BUILD[t->options.bags](&bags, &group, err));
        for (size_t b = 0; b <= bags.n_bags; b++)
            out->start[out->n_bags + b] = out->n_rows + bags.start[b];
        for (size_t i = 0; i < bags.n_rows; i++)
            out->row[out->n_rows + i] = (size_t)(group.row - s->row) + bags.row[i];
        out->n_bags += bags.n_bags;
        out->n_rows += bags.n_rows;
        pboost_bags_release(&t->work, &bags);
    }
done:
    pboost_bags_release(&t->work, &bags);
    return st;
}

/* The bags of the slice: those that an earlier run asked about, or new ones. */
static pboost_status make_bags(pboost_bags *out, pboost_trainer *t, const slice *s,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_bags *recalled = &t->recalled;
    const slice whole = group_of(t, s, 0);

    if (recalled->n_bags == 0)
        return t->options.parts > 1 ? bags_by_part(out, t, s, err)
                                    : BUILD[t->options.bags](out, &whole, err);
    *out = (pboost_bags){.n_rows = recalled->n_rows, .n_bags = recalled->n_bags};
    NEED(out->row = pboost_acquire(&t->work, out->n_rows, sizeof *out->row), err);
    NEED(out->start = pboost_acquire(&t->work, out->n_bags + 1, sizeof *out->start), err);
    memcpy(out->row, recalled->row, out->n_rows * sizeof *out->row);
    memcpy(out->start, recalled->start, (out->n_bags + 1) * sizeof *out->start);
done:
    return st;
}

/* Turns positions in the slice into rows of the table. */
static void renumber(pboost_bags *bags, const pboost_trainer *t, const slice *s)
{
    if (!t->options.in_order) {
        pboost_bags_renumber(bags, s->row);
        return;
    }
    for (size_t i = 0; i < bags->n_rows; i++)
        bags->row[i] += s->row[0];
}

/* Scores the slice with the prior, makes bags and asks. */
static pboost_status ask_slice(pboost_trainer *t, slice *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_bags bags = {0};

    pboost_progress(t->options.cancel, "bags", 0.0, 0.0);
    TRY(score_slice(t, s, err));
    TRY(make_bags(&bags, t, s, err));
    pboost_progress(t->options.cancel, "asking", 0.0, 0.0);
    double within = s->score != NULL ? pboost_bags_cost(&bags, s->score) : NAN;
    renumber(&bags, t, s);
    TRY(pboost_cancel_check(t->options.cancel, err)); /* before labels are spent */
    TRY(pboost_answers_ask(&t->answers, &t->oracle, &bags, err));
    t->within = within;
    pboost_bags_free(&t->recalled);
done:
    pboost_bags_release(&t->work, &bags);
    return st;
}

/* Writes the round into the history and calls the caller's on_round, which may stop the training.
 */
static pboost_status report_round(pboost_trainer *t, const slice *s, pboost_error *err)
{
    const size_t *bag = t->answers.round_start + t->round;
    pboost_round *record = &t->history[t->round];
    *record = (pboost_round){.round = t->round + 1,
                             .rounds = t->options.rounds,
                             .rows = s->n,
                             .bags = bag[1] - bag[0],
                             .within = t->within,
                             .test_loss = NAN};
    t->round++;
    if (t->options.on_round != NULL && !t->options.on_round(t->options.user, record))
        return pboost_fail(err, PBOOST_CANCELLED, "stopped after round %zu of %zu", record->round,
                           record->rounds);
    return PBOOST_OK;
}

/* What only rounds need; after the last one the answers stay. */
static void free_round_memory(pboost_trainer *t)
{
    pboost_workspace_free(&t->work);
    free(t->order);
    free(t->score);
    t->order = NULL;
    t->score = NULL;
}

/* One round: score the next slice with the prior, make bags, ask, refit.  A row is in exactly one
 * slice, so its label is used once.  If a step fails after it has asked, the answers are in the
 * log, and the next step fits them. */
pboost_status pboost_trainer_step(pboost_trainer *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    slice s = {0};

    if (pboost_trainer_done(t))
        FAIL(err, PBOOST_INVALID, "all %zu rounds are done", t->options.rounds);
    s = next_slice(t);
    if (t->answers.n_rounds == t->round)
        TRY(ask_slice(t, &s, err));
    TRY(t->learner.fit(t->learner.self, &t->answers, first_bag_to_use(t), err));
    TRY(report_round(t, &s, err));
    if (pboost_trainer_done(t))
        free_round_memory(t);
done:
    return st;
}

pboost_status pboost_trainer_run(pboost_trainer *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    while (!pboost_trainer_done(t))
        TRY(pboost_trainer_step(t, err));
done:
    return st;
}

/* ---- Continuing an earlier run --------------------------------------------------------------- */

/* Turns the rows of bags into positions in the slice; each position must occur once. */
static pboost_status place_rows(size_t *row, const pboost_trainer *t, const slice *s,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *position = NULL; /* by row of the table; SIZE_MAX: not in the slice, or seen already */

    NEED(position = pboost_alloc_large(t->n_rows, sizeof *position), err);
    for (size_t i = 0; i < t->n_rows; i++)
        position[i] = SIZE_MAX;
    for (size_t i = 0; i < s->n; i++)
        position[s->row[i]] = i;
    for (size_t i = 0; i < s->n; i++) {
        size_t at = row[i] < t->n_rows ? position[row[i]] : SIZE_MAX;
        if (at == SIZE_MAX)
            FAIL(err, PBOOST_INVALID,
                 "the bags of round %zu hold row %zu, which is not in that round or is there twice",
                 t->round + 1, row[i]);
        position[row[i]] = SIZE_MAX;
        row[i] = at;
    }
done:
    free(position);
    return st;
}

pboost_status pboost_trainer_recall(pboost_trainer *t, const pboost_bags *bags, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_bags own = {.n_rows = bags->n_rows, .n_bags = bags->n_bags};
    slice s = {0};

    if (pboost_trainer_done(t) || t->answers.n_rounds > t->round)
        FAIL(err, PBOOST_INVALID, "round %zu of %zu is answered already", t->answers.n_rounds,
             t->options.rounds);
    s = next_slice(t);
    if (bags->n_rows != s.n)
        FAIL(err, PBOOST_INVALID, "the bags of round %zu hold %zu rows, but that round has %zu",
             t->round + 1, bags->n_rows, s.n);
    TRY(pboost_bags_check(bags, t->n_rows, t->oracle.rules.min_bag, err));
    NEED(own.row = pboost_alloc_large(own.n_rows, sizeof *own.row), err);
    NEED(own.start = pboost_alloc(own.n_bags + 1, sizeof *own.start), err);
    memcpy(own.row, bags->row, own.n_rows * sizeof *own.row);
    memcpy(own.start, bags->start, (own.n_bags + 1) * sizeof *own.start);
    TRY(place_rows(own.row, t, &s, err));
    pboost_bags_free(&t->recalled);
    t->recalled = own;
    own = (pboost_bags){0};
done:
    pboost_bags_free(&own);
    return st;
}

/* ---- Setting up ------------------------------------------------------------------------------ */

static pboost_status check_options(pboost_trainer_options *o, size_t rows,
                                   const pboost_rules *rules, pboost_error *err)
{
    if (o->part == NULL)
        o->parts = 1;
    for (size_t i = 0; o->part != NULL && i < rows; i++)
        if (o->part[i] >= o->parts)
            return pboost_fail(err, PBOOST_INVALID,
                               "row %zu is in part %u; it must be below %zu, the number of parts",
                               i, o->part[i], o->parts);
    if ((size_t)o->algorithm >= N_ALGORITHMS || (size_t)o->bags >= N_STRATEGIES)
        return pboost_fail(err, PBOOST_INVALID, "algorithm %d or bags %d is unknown",
                           (int)o->algorithm, (int)o->bags);
    if (o->algorithm == PBOOST_ONESHOT) {
        if (o->rounds != 1)
            return pboost_fail(err, PBOOST_INVALID,
                               "rounds is %zu, but oneshot has one round by definition", o->rounds);
        o->bags = PBOOST_BAGS_RANDOM;
    }
    if (NEEDS_FEATURES[o->bags] && (o->x == NULL || o->x->rows != rows))
        return pboost_fail(err, PBOOST_INVALID,
                           "%s bags are made from features, but x has %zu rows, not %zu",
                           STRATEGIES[o->bags], o->x != NULL ? o->x->rows : 0, rows);
    if (o->bag_size == 0)
        o->bag_size = rules->min_bag;
    if (o->bag_size < rules->min_bag)
        return pboost_fail(err, PBOOST_REFUSED,
                           "bag_size is %zu, but the oracle answers no bag of fewer than %zu rows",
                           o->bag_size, rules->min_bag);
    return PBOOST_OK;
}

/* An oracle or a learner of the user has not been checked before. */
static pboost_status check_parties(pboost_oracle *oracle, const pboost_learner *learner,
                                   size_t width, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (oracle->ask == NULL)
        FAIL(err, PBOOST_INVALID, "the oracle has no function ask");
    if (learner->score == NULL || learner->fit == NULL)
        FAIL(err, PBOOST_INVALID, "the learner has no function %s",
             learner->score == NULL ? "score" : "fit");
    TRY(OPTIONS_INSIDE(&oracle->rules, PBOOST_RULES_INIT, err));
    TRY(pboost_rules_check(&oracle->rules, err));
    if (oracle->rules.width != (width > 0 ? width : 1))
        FAIL(err, PBOOST_INVALID,
             "the oracle answers with %s, %zu numbers a bag, but the learner fits %zu",
             pboost_answer_name(oracle->rules.answer), oracle->rules.width, width > 0 ? width : 1);
done:
    return st;
}

/* Before any label is spent. */
static pboost_status check_prior(const double *score, size_t rows, pboost_error *err)
{
    for (size_t i = 0; score != NULL && i < rows; i++)
        if (!isfinite(score[i]))
            return pboost_fail(err, PBOOST_BAD_DATA,
                               "the prior score of row %zu is %g; it must be finite", i, score[i]);
    return PBOOST_OK;
}

/* The rows in the order of a key that depends on the seed and the row alone; or as they are. */
static pboost_status shuffle_rows(size_t *order, size_t n, const pboost_trainer_options *o,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint64_t *key = NULL;

    if (o->in_order) {
        for (size_t i = 0; i < n; i++)
            order[i] = i;
        return PBOOST_OK;
    }
    NEED(key = pboost_alloc_large(n, sizeof *key), err);
    if (o->row_key == NULL)
        pboost_rng_keys(key, n, o->seed, RNG_SHUFFLE, 0);
    for (size_t i = 0; o->row_key != NULL && i < n; i++)
        key[i] = pboost_rng_key(o->seed, RNG_SHUFFLE, 0, o->row_key[i]);
    TRY(pboost_sort_keys(order, key, n, o->threads, NULL, err));
done:
    free(key);
    return st;
}

/* Cuts the shuffled rows into slices, and where there are parts these into groups. */
static pboost_status cut_slices(pboost_trainer *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_trainer_options *o = &t->options;
    size_t *count = NULL;

    if (o->parts == 1) {
        TRY(pboost_schedule_slices(t->group, o->schedule, t->n_rows, o->rounds, o->bag_size, err));
        goto done;
    }
    NEED(count = calloc(o->parts, sizeof *count), err);
    for (size_t i = 0; i < t->n_rows; i++)
        count[o->part[i]]++;
    TRY(pboost_schedule_groups(t->group, o->schedule, count, o->parts, o->rounds,
                               t->oracle.rules.min_bag, err));
done:
    free(count);
    return st;
}

static size_t longest_slice(const pboost_trainer *t)
{
    size_t longest = 0;
    for (size_t round = 0; round < t->options.rounds; round++) {
        size_t n = slice_start(t, round + 1) - slice_start(t, round);
        longest = n > longest ? n : longest;
    }
    return longest;
}

pboost_status pboost_trainer_create(pboost_trainer **out, size_t rows, const pboost_oracle *oracle,
                                    const pboost_learner *learner,
                                    const pboost_trainer_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_trainer *t = NULL;

    *out = NULL;
    NEED(t = calloc(1, sizeof *t), err);
    t->oracle = *oracle;
    t->learner = *learner;
    t->options = (pboost_trainer_options)PBOOST_TRAINER_OPTIONS_INIT;
    t->n_rows = rows;
    TRY(OPTIONS_READ(&t->options, options, PBOOST_TRAINER_OPTIONS_INIT, err));
    TRY(check_parties(&t->oracle, &t->learner, t->options.width, err));
    TRY(check_options(&t->options, rows, &t->oracle.rules, err));
    TRY(check_prior(t->options.prior_score, rows, err));

    size_t rounds = t->options.rounds;
    if (rounds > rows) /* before anything of that size is allocated */
        rounds = rows + 1;
    size_t groups;
    if (__builtin_mul_overflow(rounds, t->options.parts, &groups))
        groups = SIZE_MAX - 1;
    NEED(t->group = pboost_alloc(groups + 1, sizeof *t->group), err);
    TRY(cut_slices(t, err));
    NEED(t->history = pboost_alloc(rounds, sizeof *t->history), err);
    NEED(t->order = pboost_alloc_large(rows, sizeof *t->order), err);
    NEED(t->score = pboost_alloc(longest_slice(t), sizeof *t->score), err);
    TRY(pboost_answers_reserve(&t->answers, t->oracle.rules.width, rounds,
                               rows / t->options.bag_size, rows, err));
    TRY(shuffle_rows(t->order, rows, &t->options, err));
    if (t->options.parts > 1)
        TRY(pboost_schedule_arrange(t->order, t->group, t->options.part, t->options.parts, rounds,
                                    err));
    *out = t;
    t = NULL;
done:
    pboost_trainer_free(t);
    return st;
}

pboost_status pboost_trainer_ask_for(pboost_trainer *t, pboost_strategy bags, size_t bag_size,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_trainer_options options = t->options;

    options.bags = bags;
    options.bag_size = bag_size;
    TRY(check_options(&options, t->n_rows, &t->oracle.rules, err));
    for (size_t round = t->round; round < options.rounds; round++) {
        size_t n = slice_start(t, round + 1) - slice_start(t, round);
        if (n < options.bag_size)
            FAIL(err, PBOOST_BAD_DATA, "bag_size is %zu, but round %zu has %zu rows",
                 options.bag_size, round + 1, n);
    }
    t->options = options;
done:
    return st;
}

void pboost_trainer_free(pboost_trainer *t)
{
    if (t == NULL)
        return;
    pboost_answers_clear(&t->answers);
    pboost_bags_free(&t->recalled);
    free_round_memory(t);
    free(t->group);
    free(t->history);
    free(t);
}

bool pboost_trainer_done(const pboost_trainer *t)
{
    return t->round == t->options.rounds;
}

size_t pboost_trainer_rounds_done(const pboost_trainer *t)
{
    return t->round;
}

const pboost_round *pboost_trainer_history(const pboost_trainer *t)
{
    return t->history;
}

const pboost_answers *pboost_trainer_answers(const pboost_trainer *t)
{
    return &t->answers;
}
