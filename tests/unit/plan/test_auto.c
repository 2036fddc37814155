/* Running what the plan recommends, with choices of the caller kept. */
#include "plan_support.h"

#include "fit/estimator.h"
#include "train/glm.h"

/* Without noise the plan is followed as it is; under noise there is a small first round, and its
 * results decide about the rest. */
static void test_choice(void **state)
{
    (void)state;
    pboost_error err;
    pboost_choice choice;
    table t = make_table(PBOOST_LINEAR, 17000, 0);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, NULL, 16);
    assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
    assert_false(choice.pilot);
    assert_int_equal(choice.rounds, 1);
    assert_int_equal(choice.bag_size, 16);
    assert_int_equal(choice.estimator, PBOOST_AGGREGATE);
    assert_int_equal(choice.algorithm, PBOOST_PBPREFIX);
    assert_true(isnan(choice.learnt.dispersion));
    pboost_choice_free(&choice);

    /* A thousand rows under noise would say nothing: there is no first round. */
    o = plan_options(PBOOST_LINEAR, "1", 16);
    assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
    assert_false(choice.pilot);
    assert_true(choice.bag_size > 16);
    pboost_choice_free(&choice);
    free_table(&t);

    t = make_table(PBOOST_LINEAR, 68000, 0);
    assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
    assert_true(choice.pilot);
    assert_int_equal(choice.rounds, 2);
    assert_int_equal(choice.schedule, PBOOST_GEOMETRIC);
    assert_true(choice.planned_bag_size > choice.bag_size); /* 4000 rows must make 32 bags */
    assert_in_range(choice.bag_size, 16, 125);

    pboost_memory_oracle_options held = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    held.simulated = held.clamp = true;
    pboost_memory_oracle *labels;
    pboost_glm *glm;
    pboost_trainer *trainer;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_trainer_options run = PBOOST_TRAINER_OPTIONS_INIT;
    fit.estimator = choice.estimator;
    run.algorithm = choice.algorithm;
    run.bags = choice.bags;
    run.schedule = choice.schedule;
    run.rounds = choice.rounds;
    run.bag_size = choice.bag_size;
    run.x = &t.matrix;
    assert_ok(pboost_memory_oracle_create(&labels, t.y, t.n, &o.rules, &held, &err), err);
    assert_ok(pboost_glm_create(&glm, PLAIN(t.matrix), &fit, &err), err);
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    pboost_learner learner = pboost_glm_learner(glm);
    const pboost_coef *coef = pboost_glm_coef(glm);
    assert_ok(pboost_trainer_create(&trainer, t.n, &oracle, &learner, &run, &err), err);
    assert_ok(pboost_choice_revise(&choice, trainer, PLAIN(t.matrix), coef, &o, &err), err);
    assert_true(isnan(choice.learnt.dispersion)); /* there was no first round yet */
    assert_ok(pboost_trainer_step(trainer, &err), err);
    assert_ok(pboost_choice_revise(&choice, trainer, PLAIN(t.matrix), coef, &o, &err), err);
    assert_true(choice.learnt.dispersion > 0.0 && choice.learnt.model_error >= 0.0);
    assert_false(choice.plan.default_coef);
    assert_ok(pboost_trainer_run(trainer, &err), err);
    const pboost_round *last = &pboost_trainer_history(trainer)[1];
    assert_int_equal(last->bags, last->rows / choice.bag_size);
    assert_true(choice.bag_size > 31);
    pboost_trainer_free(trainer);
    pboost_glm_free(glm);
    pboost_memory_oracle_free(labels);
    pboost_choice_free(&choice);

    /* Too few rows for a pilot: the plan uses the assumptions. */
    t.matrix.rows = 2000;
    assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), t.y, &o, &err), err);
    assert_false(choice.pilot);
    assert_int_equal(choice.schedule, PBOOST_EQUAL);
    pboost_choice_free(&choice);
    o.rules.min_bag = 5000;
    assert_fails(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), PBOOST_BAD_DATA, err,
                 "min_bag is 5000");
    pboost_choice_free(&choice);
    free_table(&t);
}

/* A pilot's fit that predicts means that overflow teaches nothing: the first plan stays. */
static void test_choice_after_a_fit_that_overflows(void **state)
{
    (void)state;
    pboost_error err;
    pboost_choice choice;
    table t = make_table(PBOOST_POISSON, 68000, 0);
    pboost_plan_options o = plan_options(PBOOST_POISSON, "1", 16);
    assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
    assert_true(choice.pilot);

    pboost_memory_oracle_options held = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    held.simulated = held.clamp = true;
    pboost_memory_oracle *labels;
    pboost_run *run;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    fit.family = options.family = PBOOST_POISSON;
    fit.estimator = choice.estimator;
    options.algorithm = choice.algorithm;
    options.bags = choice.bags;
    options.schedule = choice.schedule;
    options.rounds = choice.rounds;
    options.bag_size = choice.bag_size;
    assert_ok(pboost_memory_oracle_create(&labels, t.y, t.n, &o.rules, &held, &err), err);
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    assert_ok(pboost_run_create(&run, PLAIN(t.matrix), &oracle, &fit, &options, &err), err);
    assert_ok(pboost_run_rounds(run, 1, &err), err);
    double theta[4] = {300.0, -300.0, 300.0, 300.0};
    pboost_coef far = {4, theta, 0.0};
    size_t planned = choice.planned_bag_size;
    assert_ok(
        pboost_choice_revise(&choice, pboost_run_trainer(run), PLAIN(t.matrix), &far, &o, &err),
        err);
    assert_true(isnan(choice.learnt.dispersion));
    assert_true(choice.plan.default_coef);
    assert_int_equal(choice.bag_size, planned);
    assert_ok(pboost_run_rounds(run, 1, &err), err);
    assert_int_equal(pboost_trainer_history(pboost_run_trainer(run))[1].bags,
                     pboost_trainer_history(pboost_run_trainer(run))[1].rows / planned);
    pboost_run_free(run);
    pboost_memory_oracle_free(labels);
    pboost_choice_free(&choice);
    free_table(&t);
}

static void assert_kept(const pboost_choice *choice, const pboost_plan_options *o)
{
    const pboost_fixed *f = &o->fixed;
    assert_true(choice->plan.n_points > 0);
    assert_true(f->rounds == 0 || choice->rounds == f->rounds);
    assert_true(f->bag_size == 0 || choice->bag_size == f->bag_size);
    assert_true(!f->has_bags || choice->bags == f->bags);
    assert_true(!f->has_schedule || choice->schedule == f->schedule);
    assert_int_equal(choice->estimator, f->has_estimator ? f->estimator : PBOOST_AGGREGATE);
    assert_int_equal(choice->algorithm, PBOOST_PBPREFIX);
    for (size_t i = 0; i < choice->plan.n_points; i++) {
        const pboost_plan_point *p = &choice->plan.point[i];
        assert_true(f->rounds == 0 || p->rounds == f->rounds);
        assert_true(f->bag_size == 0 || p->bag_size == f->bag_size);
        assert_true(!f->has_bags || p->bags == f->bags);
        assert_true(isfinite(p->excess) && isfinite(p->cautious) && !p->comparison_only);
    }
}

/* What the caller has fixed is kept, alone and together, and the rest is planned. */
static void test_fixed_choices_are_kept(void **state)
{
    (void)state;
    pboost_error err;
    table t = make_table(PBOOST_LOGISTIC, 1200, 0);
    const size_t rounds[] = {0, 1, 2, 5}, sizes[] = {0, 30};
    for (unsigned i = 0; i < 2 * 2 * 4 * 5 * 3 * 2; i++) {
        unsigned bags = i / 16 % 5, schedule = i / 80 % 3;
        pboost_choice choice;
        pboost_plan_options o = plan_options(PBOOST_LOGISTIC, i % 2 ? "2" : NULL, 16);
        o.fixed.bag_size = sizes[i / 2 % 2];
        o.fixed.rounds = rounds[i / 4 % 4];
        o.fixed.has_bags = bags > 0;
        o.fixed.bags = bags > 0 ? (pboost_strategy)(bags - 1) : PBOOST_BAGS_PRIOR;
        o.fixed.has_schedule = schedule > 0;
        o.fixed.schedule = schedule == 2 ? PBOOST_GEOMETRIC : PBOOST_EQUAL;
        o.fixed.has_estimator = i / 240 % 2;
        o.fixed.estimator = PBOOST_INTERPOLATED;
        assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
        assert_kept(&choice, &o);
        assert_true((strstr(choice.plan.reason, "aggregate estimator") != NULL) ==
                    o.fixed.has_estimator);
        if (o.fixed.bag_size > 0) /* the caller's, not the noise's */
            assert_null(strstr(choice.plan.reason, "reduce the noise"));
        pboost_choice_free(&choice);
    }

    /* No pilot where it could not change the size of the bags, or is not wanted. */
    free_table(&t);
    t = make_table(PBOOST_LINEAR, 68000, 0);
    for (int i = 0; i < 4; i++) {
        pboost_choice choice;
        pboost_plan_options o = plan_options(PBOOST_LINEAR, "1", 16);
        o.fixed.rounds = i == 1;
        o.fixed.bag_size = i == 2 ? 64 : 0;
        o.fixed.has_schedule = i == 3;
        assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
        assert_true(choice.pilot == (i == 0));
        pboost_choice_free(&choice);
    }
    free_table(&t);
}

/* Half of the size, among those that are forecast for the same way of asking and the same epsilon;
 * not below 64 and k, and not where a GLM would lose more than a hundredth of 100 - 20.  Where
 * effects and dispersion were learnt, any size from 32 and k on. */
static void test_bag_size_for_trees(void **state)
{
    (void)state;
    pboost_rational one = {1, 1}, third = {1, 3}, none = {0, 0};
    const struct {
        size_t size;   /* recommended, with an excess of 30 */
        size_t other;  /* another that is forecast */
        double excess; /* of it */
        pboost_rational epsilon, other_epsilon;
        pboost_strategy other_bags;
        size_t min_bag, want, learnt;
    } CASES[] = {
        {256, 128, 30.7, one, one, PBOOST_BAGS_FEATURES, 8, 128, 128},
        {256, 128, 30.7, third, third, PBOOST_BAGS_FEATURES, 128, 128, 128},
        {128, 64, 29.0, one, one, PBOOST_BAGS_FEATURES, 8, 64, 64},
        {256, 128, 30.9, one, one, PBOOST_BAGS_FEATURES, 8, 256, 256},   /* too much noise */
        {256, 128, NAN, one, one, PBOOST_BAGS_FEATURES, 8, 256, 256},    /* not known */
        {256, 64, 30.0, one, one, PBOOST_BAGS_FEATURES, 8, 256, 64},     /* a quarter */
        {64, 32, 30.0, one, one, PBOOST_BAGS_FEATURES, 8, 64, 32},       /* below 64 */
        {64, 16, 30.0, one, one, PBOOST_BAGS_FEATURES, 8, 64, 64},       /* below 32 */
        {256, 128, 30.0, one, one, PBOOST_BAGS_FEATURES, 200, 256, 256}, /* below k */
        {128, 256, 20.0, one, one, PBOOST_BAGS_FEATURES, 8, 128, 128},   /* larger */
        {256, 128, 30.0, none, none, PBOOST_BAGS_FEATURES, 8, 256, 256},
        {256, 128, 30.0, one, third, PBOOST_BAGS_FEATURES, 8, 256, 256},
        {256, 128, 30.0, one, one, PBOOST_BAGS_HYBRID, 8, 256, 256},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        pboost_plan_point point[2] = {{.bags = CASES[i].other_bags,
                                       .rounds = 1,
                                       .bag_size = CASES[i].other,
                                       .epsilon = CASES[i].other_epsilon,
                                       .excess = CASES[i].excess},
                                      {.bags = PBOOST_BAGS_FEATURES,
                                       .rounds = 1,
                                       .bag_size = CASES[i].size,
                                       .epsilon = CASES[i].epsilon,
                                       .excess = 30.0}};
        pboost_plan plan = {.n_points = 2,
                            .point = point,
                            .constant = 100.0,
                            .all_labels = 20.0,
                            .default_coef = true};
        assert_int_equal(pboost_plan_tree_bag_size(&plan, 1, CASES[i].min_bag), CASES[i].want);
        plan.family = PBOOST_POISSON;
        assert_int_equal(pboost_plan_tree_bag_size(&plan, 1, CASES[i].min_bag), CASES[i].want);
        plan.default_coef = false;
        assert_int_equal(pboost_plan_tree_bag_size(&plan, 1, CASES[i].min_bag), CASES[i].learnt);
        plan.default_dispersion = true; /* counts vary more than is assumed */
        assert_int_equal(pboost_plan_tree_bag_size(&plan, 1, CASES[i].min_bag), CASES[i].size);
    }
}

/* A choice follows it, but for a size that is fixed. */
static void test_bags_for_trees(void **state)
{
    (void)state;
    pboost_error err;
    table t = make_table(PBOOST_LOGISTIC, 16384, 0);
    const char *epsilon[] = {"0.3", "0.01", NULL}; /* little noise, too much, none */

    for (size_t i = 0; i < 3; i++) {
        pboost_plan_options o = plan_options(PBOOST_LOGISTIC, epsilon[i], 8);
        pboost_choice glm, trees;
        o.fixed.rounds = 1;
        assert_ok(pboost_choice_make(&glm, PLAIN(t.matrix), NULL, &o, &err), err);
        o.trees = true;
        assert_ok(pboost_choice_make(&trees, PLAIN(t.matrix), NULL, &o, &err), err);
        if (epsilon[i] != NULL)
            assert_true(glm.bag_size >= 128); /* or the test shows nothing */
        assert_int_equal(trees.bag_size, i == 0 ? glm.bag_size / 2 : glm.bag_size);
        pboost_choice_free(&trees);
        o.fixed.bag_size = 256;
        assert_ok(pboost_choice_make(&trees, PLAIN(t.matrix), NULL, &o, &err), err);
        assert_int_equal(trees.bag_size, 256);
        pboost_choice_free(&trees);
        pboost_choice_free(&glm);
    }
    free_table(&t);
}

/* Counts get the bags of a GLM, unless their dispersion is known. */
static void test_bags_for_trees_of_counts(void **state)
{
    (void)state;
    pboost_error err;
    table t = make_table(PBOOST_POISSON, 16384, 0);
    pboost_plan_options o = plan_options(PBOOST_POISSON, "3", 8);

    o.fixed.rounds = 1;
    for (int known = 0; known < 2; known++) {
        pboost_choice glm, trees;
        o.assumed.dispersion = known ? 2.0 : NAN;
        o.trees = false;
        assert_ok(pboost_choice_make(&glm, PLAIN(t.matrix), NULL, &o, &err), err);
        o.trees = true;
        assert_ok(pboost_choice_make(&trees, PLAIN(t.matrix), NULL, &o, &err), err);
        assert_true(glm.bag_size >= 128); /* or the test shows nothing */
        assert_int_equal(trees.bag_size, known ? glm.bag_size / 2 : glm.bag_size);
        pboost_choice_free(&trees);
        pboost_choice_free(&glm);
    }
    free_table(&t);
}

/* Fixed bags whose usual number of rounds the table is too small for are asked in fewer. */
static void test_fixed_bags_of_a_small_table(void **state)
{
    (void)state;
    pboost_error err;
    table t = make_table(PBOOST_LINEAR, 50, 0);
    for (int bags = PBOOST_BAGS_PRIOR; bags <= PBOOST_BAGS_HYBRID; bags++) {
        pboost_choice choice;
        pboost_plan_options o = plan_options(PBOOST_LINEAR, NULL, 30);
        o.fixed.has_bags = true;
        o.fixed.bags = (pboost_strategy)bags;
        assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
        assert_int_equal(choice.rounds, 1);
        pboost_choice_free(&choice);
    }
    free_table(&t);
}

static void test_fixed_choices_that_cannot_be(void **state)
{
    (void)state;
    pboost_error err;
    pboost_choice choice;
    table t = make_table(PBOOST_LINEAR, 64, 0);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, NULL, 8);
    o.fixed.rounds = 9;
    assert_fails(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), PBOOST_BAD_DATA, err,
                 "rounds is 9, but 64 rows in equal slices of at least 8 allow at most 8 rounds");
    o.fixed.rounds = SIZE_MAX;
    assert_fails(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), PBOOST_BAD_DATA, err,
                 "allow at most 8 rounds");
    o.fixed = (pboost_fixed){.bag_size = 65};
    assert_fails(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), PBOOST_BAD_DATA, err,
                 "bags must have at least 65 rows, but the table has 64 rows");
    o.fixed = (pboost_fixed){.bag_size = 7};
    assert_fails(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), PBOOST_REFUSED, err,
                 "bag_size is 7, but the oracle answers no bag of fewer than 8 rows");
    o.fixed = (pboost_fixed){.has_estimator = true, .estimator = PBOOST_EVENT};
    assert_fails(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), PBOOST_INVALID, err,
                 "cannot be made for the event estimator");
    free_table(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_choice_after_a_fit_that_overflows),
        cmocka_unit_test(test_fixed_choices_are_kept),
        cmocka_unit_test(test_bag_size_for_trees),
        cmocka_unit_test(test_bags_for_trees),
        cmocka_unit_test(test_bags_for_trees_of_counts),
        cmocka_unit_test(test_fixed_bags_of_a_small_table),
        cmocka_unit_test(test_fixed_choices_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
