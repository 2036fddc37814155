/* The trainer's invariants, seen from both sides of its two interfaces: a learner written here that
 * is not a GLM, and an oracle that records every question. */
#include "testing.h"

#include "data/answers.h"
#include "train/glm.h"

enum { ROWS = 4000, FEATURES = 3, MIN_BAG = 5 };

/* ---- A table, an oracle and a learner that record their calls -------------------------------- */

typedef struct {
    double x[ROWS * FEATURES], y[ROWS], theta[FEATURES];
    pboost_memory_oracle *labels;
    pboost_oracle inner;
    unsigned times_asked[ROWS];
    size_t questions, smallest_bag;
    pboost_status answer_with; /* not PBOOST_OK: fail the next question so */
    uint32_t part[ROWS];
    size_t mixed_bags; /* that have rows of two parts */
    size_t asked_of[3];
} table;

static pboost_status note_and_ask(void *self, size_t round, const pboost_bags *bags, double *answer,
                                  pboost_error *err)
{
    table *t = self;
    assert_int_equal(round, t->questions);
    t->questions++;
    if (t->answer_with != PBOOST_OK)
        return pboost_fail(err, t->answer_with, "the line is dead");
    for (size_t b = 0; b < bags->n_bags; b++) {
        size_t size = bags->start[b + 1] - bags->start[b];
        t->smallest_bag = size < t->smallest_bag ? size : t->smallest_bag;
        uint32_t first = t->part[bags->row[bags->start[b]]];
        bool mixed = false;
        for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++)
            mixed = mixed || t->part[bags->row[i]] != first;
        t->mixed_bags += mixed;
        t->asked_of[first] += round == 0 ? size : 0;
    }
    for (size_t i = 0; i < bags->n_rows; i++)
        t->times_asked[bags->row[i]]++;
    return t->inner.ask(t->inner.self, round, bags, answer, err);
}

static pboost_oracle table_open(table *t, size_t min_bag)
{
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_error err;

    memset(t, 0, sizeof *t);
    t->smallest_bag = SIZE_MAX;
    s.features = FEATURES;
    s.seed = 11;
    rules.min_bag = min_bag;
    assert_ok(pboost_synthetic_theta(t->theta, &s, &err), err);
    assert_ok(pboost_synthetic_rows(t->x, t->y, &s, t->theta, 0, 0, ROWS, 1, &err), err);
    assert_ok(pboost_memory_oracle_create(&t->labels, t->y, ROWS, &rules, NULL, &err), err);
    t->inner = pboost_memory_oracle_interface(t->labels);
    return (pboost_oracle){.rules = t->inner.rules, .self = t, .ask = note_and_ask};
}

static void table_close(table *t)
{
    pboost_memory_oracle_free(t->labels);
}

/* Predicts the mean of the answers it was last given, plus the row's first feature: enough to see
 * that scores come from the last fit and decide the bags. */
typedef struct {
    const table *t;
    double level;
    size_t fits, first_bag[64], n_bags[64], scored;
} plain_learner;

static pboost_status plain_score(void *self, const size_t *row, size_t n, double *score,
                                 pboost_error *err)
{
    (void)err;
    plain_learner *p = self;
    p->scored += n;
    for (size_t i = 0; i < n; i++)
        score[i] = p->level + p->t->x[row[i] * FEATURES];
    return PBOOST_OK;
}

static pboost_status plain_fit(void *self, const pboost_answers *answers, size_t first_bag,
                               pboost_error *err)
{
    (void)err;
    plain_learner *p = self;
    double sum = 0.0;
    for (size_t b = first_bag; b < answers->n_bags; b++)
        sum += answers->mean[b];
    p->level = sum / (double)(answers->n_bags - first_bag);
    p->first_bag[p->fits] = first_bag;
    p->n_bags[p->fits++] = answers->n_bags;
    return PBOOST_OK;
}

static pboost_learner plain(plain_learner *p)
{
    return (pboost_learner){.self = p, .score = plain_score, .fit = plain_fit};
}

static pboost_trainer_options options_of(pboost_algorithm algorithm, size_t rounds)
{
    pboost_trainer_options o = PBOOST_TRAINER_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.rounds = rounds;
    o.seed = 3;
    o.threads = 1;
    return o;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void every_row_is_asked_exactly_once(void **state)
{
    (void)state;
    static table t;
    pboost_error err;
    const pboost_schedule schedules[] = {PBOOST_EQUAL, PBOOST_GEOMETRIC};
    const size_t bag_sizes[] = {0, MIN_BAG, 17};
    for (int s = 0; s < 2; s++) {
        for (int b = 0; b < 3; b++) {
            pboost_oracle oracle = table_open(&t, MIN_BAG);
            plain_learner p = {.t = &t};
            pboost_learner learner = plain(&p);
            pboost_trainer_options o = options_of(PBOOST_PRIORBOOST, 13);
            pboost_trainer *trainer;
            o.schedule = schedules[s];
            o.bag_size = bag_sizes[b];
            assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), err);
            assert_ok(pboost_trainer_run(trainer, &err), err);
            for (size_t i = 0; i < ROWS; i++)
                assert_int_equal(t.times_asked[i], 1);
            assert_int_equal(t.questions, 13);
            assert_true(t.smallest_bag >= (bag_sizes[b] > 0 ? bag_sizes[b] : MIN_BAG));
            assert_int_equal(pboost_memory_oracle_rows_spent(t.labels), ROWS);
            pboost_trainer_free(trainer);
            table_close(&t);
        }
    }
}

/* Two large parts, and one with rows for the last round only; bags of 17 rows, or of all that a
 * part has in a round. */
static void no_bag_has_rows_of_two_parts(void **state)
{
    (void)state;
    static table t;
    pboost_error err;
    for (int bags = PBOOST_BAGS_PRIOR; bags <= PBOOST_BAGS_HYBRID; bags++) {
        pboost_oracle oracle = table_open(&t, MIN_BAG);
        plain_learner p = {.t = &t};
        pboost_learner learner = plain(&p);
        pboost_trainer_options o = options_of(PBOOST_PRIORBOOST, 4);
        pboost_matrix x = pboost_matrix_f64(t.x, ROWS, FEATURES);
        pboost_trainer *trainer;
        for (size_t i = 0; i < ROWS; i++)
            t.part[i] = i < MIN_BAG + 1 ? 2 : (uint32_t)(i % 7 > 2);
        o.part = t.part;
        o.parts = 3;
        o.bags = (pboost_strategy)bags;
        o.x = &x;
        o.bag_size = 17;
        assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), err);
        assert_ok(pboost_trainer_run(trainer, &err), err);
        for (size_t i = 0; i < ROWS; i++)
            assert_int_equal(t.times_asked[i], 1);
        assert_int_equal(t.mixed_bags, 0);
        assert_int_equal(t.smallest_bag, MIN_BAG + 1);
        for (uint32_t part = 0; part < 3; part++) { /* each has its own slices */
            size_t n = 0;
            for (size_t i = 0; i < ROWS; i++)
                n += t.part[i] == part;
            assert_true(part == 2 ? t.asked_of[part] == 0 : t.asked_of[part] == (n + 3) / 4);
        }
        pboost_trainer_free(trainer);
        table_close(&t);
    }
}

/* The same rows and bags as without parts. */
static void one_part_is_the_whole_table(void **state)
{
    (void)state;
    static table t;
    pboost_error err;
    double level[2];
    for (int with = 0; with < 2; with++) {
        pboost_oracle oracle = table_open(&t, MIN_BAG);
        plain_learner p = {.t = &t};
        pboost_learner learner = plain(&p);
        pboost_trainer_options o = options_of(PBOOST_PRIORBOOST, 5);
        pboost_trainer *trainer;
        if (with)
            o.part = t.part;
        o.parts = (size_t)with;
        assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), err);
        assert_ok(pboost_trainer_run(trainer, &err), err);
        level[with] = p.level;
        pboost_trainer_free(trainer);
        table_close(&t);
    }
    assert_true(level[0] == level[1]);
}

static void priorboost_forgets_and_pbprefix_does_not(void **state)
{
    (void)state;
    static table t;
    pboost_error err;
    const pboost_algorithm algorithms[] = {PBOOST_PRIORBOOST, PBOOST_PBPREFIX};
    for (int a = 0; a < 2; a++) {
        pboost_oracle oracle = table_open(&t, MIN_BAG);
        plain_learner p = {.t = &t};
        pboost_learner learner = plain(&p);
        pboost_trainer_options o = options_of(algorithms[a], 8);
        pboost_trainer *trainer;
        assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), err);
        assert_ok(pboost_trainer_run(trainer, &err), err);
        assert_int_equal(p.fits, 8);
        for (size_t i = 1; i < 8; i++)
            assert_int_equal(p.first_bag[i],
                             algorithms[a] == PBOOST_PBPREFIX ? 0 : p.n_bags[i - 1]);
        assert_int_equal(p.scored, ROWS - ROWS / 8); /* all slices but the first */
        assert_int_equal(pboost_trainer_answers(trainer)->n_rounds, 8);
        pboost_trainer_free(trainer);
        table_close(&t);
    }
}

static void bags_are_optimal_for_the_last_scores(void **state)
{
    (void)state;
    static table t;
    pboost_error err;
    pboost_oracle oracle = table_open(&t, MIN_BAG);
    plain_learner p = {.t = &t};
    pboost_learner learner = plain(&p);
    pboost_trainer_options o = options_of(PBOOST_PRIORBOOST, 4);
    pboost_trainer *trainer;
    assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), err);
    assert_ok(pboost_trainer_run(trainer, &err), err);

    const pboost_answers *answers = pboost_trainer_answers(trainer);
    const pboost_round *history = pboost_trainer_history(trainer);
    assert_true(isnan(history[0].within));
    for (size_t r = 1; r < 4; r++) {
        size_t first = answers->round_start[r], last = answers->round_start[r + 1];
        double score[ROWS];
        size_t n = 0;
        for (size_t i = answers->start[first]; i < answers->start[last]; i++)
            score[n++] = t.x[answers->row[i] * FEATURES];
        pboost_bags best;
        assert_ok(pboost_bags_optimal(&best, score, n, MIN_BAG, 1, &err), err);
        assert_close(history[r].within, pboost_bags_cost(&best, score), 1e-9);
        assert_int_equal(history[r].bags, last - first);
        assert_int_equal(history[r].rows, n);
        pboost_bags_free(&best);
    }
    pboost_trainer_free(trainer);
    table_close(&t);
}

static void a_prior_replaces_the_random_bags_of_round_one(void **state)
{
    (void)state;
    static table t;
    pboost_error err;
    double within[2];
    for (int warm = 0; warm < 2; warm++) {
        pboost_oracle oracle = table_open(&t, MIN_BAG);
        plain_learner p = {.t = &t};
        pboost_learner learner = plain(&p);
        pboost_trainer_options o = options_of(PBOOST_PRIORBOOST, 2);
        pboost_trainer *trainer;
        o.prior_score = warm ? t.y : NULL;
        assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), err);
        assert_ok(pboost_trainer_run(trainer, &err), err);
        within[warm] = pboost_trainer_history(trainer)[0].within;
        pboost_trainer_free(trainer);
        table_close(&t);
    }
    assert_true(isnan(within[0]));
    assert_true(within[1] > 0.0 && within[1] < 0.01 * ROWS);
}

typedef struct {
    size_t stop_after, calls;
} stopper;

static bool stop(void *user, pboost_round *round)
{
    stopper *s = user;
    s->calls++;
    round->test_loss = (double)round->round;
    return round->round != s->stop_after;
}

static void a_callback_sees_each_round_and_can_stop(void **state)
{
    (void)state;
    static table t;
    pboost_error err;
    pboost_oracle oracle = table_open(&t, MIN_BAG);
    plain_learner p = {.t = &t};
    pboost_learner learner = plain(&p);
    stopper s = {.stop_after = 3};
    pboost_trainer_options o = options_of(PBOOST_PRIORBOOST, 8);
    pboost_trainer *trainer;
    o.on_round = stop;
    o.user = &s;
    assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), err);
    assert_fails(pboost_trainer_run(trainer, &err), PBOOST_CANCELLED, err, "round 3 of 8");
    assert_int_equal(s.calls, 3);
    assert_int_equal(pboost_trainer_rounds_done(trainer), 3);
    assert_int_equal(t.questions, 3);
    assert_true(pboost_trainer_history(trainer)[1].test_loss == 2.0);
    assert_ok(pboost_trainer_step(trainer, &err), err); /* and can continue */
    pboost_trainer_free(trainer);
    table_close(&t);
}

static void an_oracle_that_fails_stops_the_training(void **state)
{
    (void)state;
    static table t;
    pboost_error err;
    pboost_oracle oracle = table_open(&t, MIN_BAG);
    plain_learner p = {.t = &t};
    pboost_learner learner = plain(&p);
    pboost_trainer_options o = options_of(PBOOST_PRIORBOOST, 8);
    pboost_trainer *trainer;
    assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), err);
    assert_ok(pboost_trainer_step(trainer, &err), err);
    t.answer_with = PBOOST_ORACLE;
    assert_fails(pboost_trainer_step(trainer, &err), PBOOST_ORACLE, err, "the line is dead");
    assert_int_equal(pboost_trainer_rounds_done(trainer), 1);
    assert_int_equal(pboost_trainer_answers(trainer)->n_rounds, 1);
    pboost_trainer_free(trainer);
    table_close(&t);
}

/* Bags of single rows need no sort, which else refuses such scores. */
static void scores_that_are_no_numbers_are_refused(void **state)
{
    (void)state;
    static table t;
    pboost_error err;
    for (size_t bag = 1; bag <= MIN_BAG; bag += MIN_BAG - 1) {
        pboost_oracle oracle = table_open(&t, bag);
        plain_learner p = {.t = &t};
        pboost_learner learner = plain(&p);
        pboost_trainer_options o = options_of(PBOOST_PRIORBOOST, 4);
        pboost_trainer *trainer;
        assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), err);
        assert_ok(pboost_trainer_step(trainer, &err), err);
        p.level = NAN;
        assert_fails(pboost_trainer_step(trainer, &err), PBOOST_BAD_DATA, err, "score 0 is nan");
        assert_int_equal(t.questions, 1);
        pboost_trainer_free(trainer);
        table_close(&t);
    }
}

/* Fails at every odd call with `with`, and fits at the others. */
typedef struct {
    pboost_learner inner;
    pboost_status with;
    size_t calls;
} moody_learner;

static pboost_status moody_score(void *self, const size_t *row, size_t n, double *score,
                                 pboost_error *err)
{
    moody_learner *m = self;
    return m->inner.score(m->inner.self, row, n, score, err);
}

static pboost_status moody_fit(void *self, const pboost_answers *answers, size_t first_bag,
                               pboost_error *err)
{
    moody_learner *m = self;
    if (m->calls++ % 2 == 0)
        return pboost_fail(err, m->with, "not now");
    return m->inner.fit(m->inner.self, answers, first_bag, err);
}

/* The oracle refuses a spent row, and every row is asked about. */
static void answers_that_were_bought_are_fitted_after_a_failure(void **state)
{
    (void)state;
    static table t;
    pboost_error err;
    enum { ROUNDS = 6 };
    const pboost_status failures[] = {PBOOST_CANCELLED, PBOOST_NO_MEMORY};
    pboost_round undisturbed[ROUNDS];
    for (int f = -1; f < 2; f++) { /* first without a failure */
        pboost_oracle oracle = table_open(&t, MIN_BAG);
        plain_learner p = {.t = &t};
        moody_learner m = {.inner = plain(&p), .with = f < 0 ? PBOOST_OK : failures[f]};
        pboost_learner learner = {.self = &m, .score = moody_score, .fit = moody_fit};
        pboost_trainer_options o = options_of(PBOOST_PRIORBOOST, ROUNDS);
        pboost_trainer *trainer;
        if (f < 0)
            learner = m.inner;
        assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), err);
        for (size_t r = 0; r < ROUNDS; r++) {
            if (f >= 0) {
                assert_fails(pboost_trainer_step(trainer, &err), failures[f], err, "not now");
                assert_int_equal(pboost_trainer_rounds_done(trainer), r);
                assert_int_equal(pboost_trainer_answers(trainer)->n_rounds, r + 1);
            }
            assert_ok(pboost_trainer_step(trainer, &err), err);
            assert_int_equal(pboost_trainer_rounds_done(trainer), r + 1);
            assert_int_equal(t.questions, r + 1);
        }
        for (size_t i = 0; i < ROWS; i++)
            assert_int_equal(t.times_asked[i], 1);
        const pboost_round *history = pboost_trainer_history(trainer);
        if (f < 0)
            memcpy(undisturbed, history, sizeof undisturbed);
        for (size_t r = 0; r < ROUNDS; r++) {
            assert_int_equal(history[r].bags, undisturbed[r].bags);
            assert_true(r == 0 || history[r].within == undisturbed[r].within);
        }
        pboost_trainer_free(trainer);
        table_close(&t);
    }
}

static pboost_bags bags_of_round(const pboost_answers *a, size_t round)
{
    size_t first = a->round_start[round], begin = a->start[first];
    pboost_bags bags = {.n_bags = a->round_start[round + 1] - first};
    bags.n_rows = a->start[a->round_start[round + 1]] - begin;
    bags.row = malloc(bags.n_rows * sizeof *bags.row);
    bags.start = malloc((bags.n_bags + 1) * sizeof *bags.start);
    memcpy(bags.row, a->row + begin, bags.n_rows * sizeof *bags.row);
    for (size_t b = 0; b <= bags.n_bags; b++)
        bags.start[b] = a->start[first + b] - begin;
    return bags;
}

/* A second trainer gets the bags of the first one's rounds, which it would not make itself. */
static void bags_of_an_earlier_run_are_asked_about_again(void **state)
{
    (void)state;
    static table t;
    pboost_error err;
    plain_learner p = {.t = &t};
    pboost_learner learner = plain(&p);
    pboost_trainer *trainer;
    pboost_bags asked[2], wrong;
    pboost_trainer_options o = options_of(PBOOST_PRIORBOOST, 4);
    pboost_oracle oracle = table_open(&t, MIN_BAG);
    assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), err);
    assert_ok(pboost_trainer_run(trainer, &err), err);
    for (size_t r = 0; r < 2; r++)
        asked[r] = bags_of_round(pboost_trainer_answers(trainer), r);
    double within = pboost_trainer_history(trainer)[1].within;
    pboost_trainer_free(trainer);
    table_close(&t);

    oracle = table_open(&t, MIN_BAG);
    o.bag_size = 3 * MIN_BAG;
    p = (plain_learner){.t = &t};
    assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), err);
    assert_fails(pboost_trainer_recall(trainer, &asked[1], &err), PBOOST_INVALID, err,
                 "not in that round");
    assert_ok(pboost_trainer_recall(trainer, &asked[0], &err), err);
    t.answer_with = PBOOST_ORACLE; /* a failure does not make it forget them */
    assert_fails(pboost_trainer_step(trainer, &err), PBOOST_ORACLE, err, "the line is dead");
    t.answer_with = PBOOST_OK;
    t.questions = 0;
    assert_ok(pboost_trainer_step(trainer, &err), err);
    assert_int_equal(pboost_trainer_history(trainer)[0].bags, asked[0].n_bags);

    wrong = asked[1];
    wrong.n_rows--;
    assert_fails(pboost_trainer_recall(trainer, &wrong, &err), PBOOST_INVALID, err, "999 rows");
    wrong = asked[1];
    size_t kept = wrong.row[0];
    wrong.row[0] = wrong.row[1];
    assert_fails(pboost_trainer_recall(trainer, &wrong, &err), PBOOST_REFUSED, err, "twice");
    wrong.row[0] = kept;
    wrong.start[1] = 1;
    assert_fails(pboost_trainer_recall(trainer, &wrong, &err), PBOOST_REFUSED, err, "min_bag");
    wrong.start[1] = wrong.start[2] - MIN_BAG;
    assert_ok(pboost_trainer_recall(trainer, &wrong, &err), err);
    assert_ok(pboost_trainer_step(trainer, &err), err);
    assert_true(pboost_trainer_history(trainer)[1].within > 0.5 * within);
    assert_ok(pboost_trainer_run(trainer, &err), err);
    assert_true(pboost_trainer_history(trainer)[2].bags <= ROWS / 4 / o.bag_size);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(t.times_asked[i], 1);
    assert_fails(pboost_trainer_recall(trainer, &wrong, &err), PBOOST_INVALID, err,
                 "answered already");
    pboost_trainer_free(trainer);
    table_close(&t);
    pboost_bags_free(&asked[0]);
    pboost_bags_free(&asked[1]);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    static table t;
    pboost_error err;
    pboost_oracle oracle = table_open(&t, MIN_BAG);
    plain_learner p = {.t = &t};
    pboost_learner learner = plain(&p);
    pboost_trainer *trainer;

    pboost_trainer_options o = options_of(PBOOST_ONESHOT, 2);
    assert_fails(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), PBOOST_INVALID,
                 err, "oneshot has one round");
    assert_null(trainer);
    o = options_of(PBOOST_PRIORBOOST, ROWS / MIN_BAG + 1);
    assert_fails(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err),
                 PBOOST_BAD_DATA, err, "at most 800 rounds");
    o = options_of(PBOOST_PRIORBOOST, SIZE_MAX);
    assert_fails(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err),
                 PBOOST_BAD_DATA, err, "at most 800 rounds");
    o = options_of(PBOOST_PRIORBOOST, 2);
    o.bag_size = MIN_BAG - 1;
    assert_fails(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), PBOOST_REFUSED,
                 err, "bag_size is 4");
    o = options_of(PBOOST_PRIORBOOST, 2);
    o.struct_size = sizeof o + 8; /* a caller built for a newer library */
    assert_fails(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), PBOOST_INVALID,
                 err, "struct_size");
    o = options_of(PBOOST_PRIORBOOST, 1);
    o.part = t.part;
    o.parts = 2;
    t.part[7] = 2;
    assert_fails(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), PBOOST_INVALID,
                 err, "row 7 is in part 2; it must be below 2");
    t.part[7] = 1;
    assert_fails(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err),
                 PBOOST_BAD_DATA, err, "part 1 has 1 rows, but bags must have at least 5");
    for (size_t i = 0; i < ROWS; i++)
        t.part[i] = i % 2;
    o.rounds = ROWS / 2 / MIN_BAG + 1;
    assert_fails(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err),
                 PBOOST_BAD_DATA, err, "at most 400 rounds");
    assert_int_equal(t.questions, 0);
    table_close(&t);
}

/* ---- With the GLM learner -------------------------------------------------------------------- */

/* A user's own oracle may have any rules; nothing is asked before they are valid. */
static void senseless_parties_are_refused(void **state)
{
    (void)state;
    static table t;
    pboost_error err;
    pboost_oracle good = table_open(&t, MIN_BAG), oracle = good;
    plain_learner p = {.t = &t};
    pboost_learner learner = plain(&p);
    pboost_trainer_options o = options_of(PBOOST_PRIORBOOST, 2);
    pboost_trainer *trainer;
    const struct {
        pboost_rules rules;
        const char *message;
    } wrong[] = {
        {{0}, "struct_size is 0"},
        {{.struct_size = sizeof(pboost_rules),
          .min_bag = 0,
          .epsilon = {0, 0},
          .bounded = false,
          .lower = 0,
          .upper = 0,
          .step = 0},
         "min_bag is 0"},
        {{.struct_size = sizeof(pboost_rules),
          .min_bag = 5,
          .epsilon = {0, 0},
          .bounded = true,
          .lower = 2,
          .upper = 1,
          .step = 0},
         "bounds are [2, 1]"},
        {{.struct_size = sizeof(pboost_rules),
          .min_bag = 5,
          .epsilon = {0, 0},
          .bounded = true,
          .lower = NAN,
          .upper = 1,
          .step = 0},
         "bounds are [nan, 1]"},
        {{.struct_size = sizeof(pboost_rules),
          .min_bag = 5,
          .epsilon = {0, 0},
          .bounded = true,
          .lower = 0,
          .upper = 1,
          .step = NAN},
         "step is nan"},
        {{.struct_size = sizeof(pboost_rules),
          .min_bag = 5,
          .epsilon = {0, 3},
          .bounded = true,
          .lower = 0,
          .upper = 1,
          .step = 0},
         "epsilon is 0"},
        {{.struct_size = sizeof(pboost_rules),
          .min_bag = 5,
          .epsilon = {3, 0},
          .bounded = true,
          .lower = 0,
          .upper = 1,
          .step = 0},
         "epsilon is 3/0"},
        {{.struct_size = sizeof(pboost_rules),
          .min_bag = 5,
          .epsilon = {1, 1},
          .bounded = false,
          .lower = 0,
          .upper = 1,
          .step = 0},
         "labels have no bounds"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        oracle.rules = wrong[i].rules;
        assert_fails(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err),
                     PBOOST_INVALID, err, wrong[i].message);
        assert_null(trainer);
    }
    oracle = good;
    oracle.ask = NULL;
    assert_fails(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &o, &err), PBOOST_INVALID,
                 err, "the oracle has no function ask");
    learner.fit = NULL;
    assert_fails(pboost_trainer_create(&trainer, ROWS, &good, &learner, &o, &err), PBOOST_INVALID,
                 err, "the learner has no function fit");
    learner = plain(&p);
    double *prior = calloc(ROWS, sizeof *prior);
    prior[ROWS - 1] = NAN;
    o.prior_score = prior;
    assert_fails(pboost_trainer_create(&trainer, ROWS, &good, &learner, &o, &err), PBOOST_BAD_DATA,
                 err, "the prior score of row 3999 is nan");
    free(prior);
    table_close(&t);
}

static void train_glm(double *theta, const table *t, const pboost_oracle *oracle,
                      const pboost_trainer_options *o)
{
    pboost_error err;
    pboost_matrix x = pboost_matrix_f64(t->x, ROWS, FEATURES);
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_glm *glm;
    pboost_trainer *trainer;
    fit.threads = o->threads;
    assert_ok(pboost_glm_create(&glm, PLAIN(x), &fit, &err), err);
    pboost_learner learner = pboost_glm_learner(glm);
    assert_ok(pboost_trainer_create(&trainer, ROWS, oracle, &learner, o, &err), err);
    assert_ok(pboost_trainer_run(trainer, &err), err);
    memcpy(theta, pboost_glm_coef(glm)->theta, FEATURES * sizeof *theta);
    pboost_trainer_free(trainer);
    pboost_glm_free(glm);
}

static void the_last_bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    static table t;
    double theta[3][FEATURES];
    const int threads[] = {1, 2, 4};
    for (int i = 0; i < 3; i++) {
        pboost_oracle oracle = table_open(&t, MIN_BAG);
        pboost_trainer_options o = options_of(PBOOST_PRIORBOOST, 4);
        o.threads = threads[i];
        train_glm(theta[i], &t, &oracle, &o);
        table_close(&t);
    }
    assert_memory_equal(theta[0], theta[1], sizeof theta[0]);
    assert_memory_equal(theta[0], theta[2], sizeof theta[0]);
}

/* With keys for the rows, their order in the table changes only rounding. */
static void keys_make_the_run_independent_of_row_order(void **state)
{
    (void)state;
    static table t;
    static uint64_t key[ROWS];
    double theta[2][FEATURES];
    for (int reversed = 0; reversed < 2; reversed++) {
        pboost_oracle oracle = table_open(&t, MIN_BAG);
        for (size_t i = 0; i < ROWS; i++)
            key[i] = i;
        if (reversed) {
            for (size_t i = 0; i < ROWS / 2; i++) {
                size_t k = ROWS - 1 - i;
                for (size_t j = 0; j < FEATURES; j++) {
                    double swap = t.x[i * FEATURES + j];
                    t.x[i * FEATURES + j] = t.x[k * FEATURES + j];
                    t.x[k * FEATURES + j] = swap;
                }
                double swap = t.y[i];
                t.y[i] = t.y[k];
                t.y[k] = swap;
            }
            for (size_t i = 0; i < ROWS; i++)
                key[i] = ROWS - 1 - i;
            pboost_error err;
            pboost_memory_oracle_free(t.labels);
            assert_ok(pboost_memory_oracle_create(&t.labels, t.y, ROWS, &oracle.rules, NULL, &err),
                      err);
            t.inner = pboost_memory_oracle_interface(t.labels);
        }
        pboost_trainer_options o = options_of(PBOOST_PRIORBOOST, 4);
        o.row_key = key;
        train_glm(theta[reversed], &t, &oracle, &o);
        table_close(&t);
    }
    for (size_t j = 0; j < FEATURES; j++)
        assert_close(theta[0][j], theta[1][j], 1e-12);
}

static void oneshot_is_one_round_of_random_bags(void **state)
{
    (void)state;
    static table t;
    double theta[FEATURES];
    pboost_oracle oracle = table_open(&t, MIN_BAG);
    pboost_trainer_options o = options_of(PBOOST_ONESHOT, 1);
    train_glm(theta, &t, &oracle, &o);
    for (size_t j = 0; j < FEATURES; j++) /* shrunk to 1/k of the truth, as the theory says */
        assert_close(theta[j], t.theta[j] / MIN_BAG, 0.05);
    assert_int_equal(t.questions, 1);
    table_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_asked_exactly_once),
        cmocka_unit_test(no_bag_has_rows_of_two_parts),
        cmocka_unit_test(one_part_is_the_whole_table),
        cmocka_unit_test(priorboost_forgets_and_pbprefix_does_not),
        cmocka_unit_test(bags_are_optimal_for_the_last_scores),
        cmocka_unit_test(a_prior_replaces_the_random_bags_of_round_one),
        cmocka_unit_test(a_callback_sees_each_round_and_can_stop),
        cmocka_unit_test(an_oracle_that_fails_stops_the_training),
        cmocka_unit_test(scores_that_are_no_numbers_are_refused),
        cmocka_unit_test(answers_that_were_bought_are_fitted_after_a_failure),
        cmocka_unit_test(bags_of_an_earlier_run_are_asked_about_again),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(senseless_parties_are_refused),
        cmocka_unit_test(the_last_bits_do_not_depend_on_threads),
        cmocka_unit_test(keys_make_the_run_independent_of_row_order),
        cmocka_unit_test(oneshot_is_one_round_of_random_bags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
