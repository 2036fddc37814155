/* Options of callers that were built against another header. */
#include "testing.h"

#include "data/answers.h"

#include <sys/mman.h>
#include <unistd.h>

#include "train/glm.h"

enum { ROWS = 64, COLS = 2 };

static double x_data[ROWS * COLS], y[ROWS];
static pboost_matrix x;

static void make_table(void)
{
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    double theta[COLS];
    s.features = COLS;
    assert_int_equal(pboost_synthetic_theta(theta, &s, NULL), PBOOST_OK);
    assert_int_equal(pboost_synthetic_rows(x_data, y, &s, theta, 0, 0, ROWS, 1, NULL), PBOOST_OK);
    x = pboost_matrix_f64(x_data, ROWS, COLS);
}

/* ---- A struct at the end of a page ----------------------------------------------------------- */

static unsigned char *page; /* the one after it cannot be read or written */
static size_t page_size;

static void open_page(void)
{
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    page = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    assert_int_equal(mprotect(page + page_size, page_size, PROT_NONE), 0);
}

static void close_page(void)
{
    munmap(page, 2 * page_size);
}

/* The first `size` bytes of a struct, as an older header has it: nothing can be read after them. */
static void *older(const void *whole, size_t size)
{
    void *at = page + page_size - size;
    memcpy(at, whole, size);
    memcpy(at, &size, sizeof size);
    return at;
}

/* ---- One call that takes each struct --------------------------------------------------------- */

typedef pboost_status takes(const void *options, pboost_error *err);

static pboost_status take_fit(const void *options, pboost_error *err)
{
    double theta[COLS] = {0};
    pboost_coef coef = {COLS, theta, 0.0};
    pboost_samples samples = {.x = &x, .n = ROWS, .target = y};
    return pboost_event_fit(&coef, NULL, &samples, options, err);
}

static pboost_status take_answers_fit(const void *options, pboost_error *err)
{
    double theta[COLS] = {0};
    pboost_coef coef = {COLS, theta, 0.0};
    pboost_bags bags;
    pboost_answers answers = {0};
    assert_ok(pboost_bags_random(&bags, ROWS, 1, 1, err), *err);
    assert_ok(pboost_answers_append(&answers, &bags, y, NULL, err), *err);
    pboost_status st = pboost_answers_fit(&coef, NULL, NULL, PLAIN(x), &answers, 0, options, err);
    pboost_bags_free(&bags);
    pboost_answers_clear(&answers);
    return st;
}

static pboost_status take_glm(const void *options, pboost_error *err)
{
    pboost_glm *glm;
    pboost_status st = pboost_glm_create(&glm, PLAIN(x), options, err);
    pboost_glm_free(glm);
    return st;
}

static pboost_status take_rules(const void *rules, pboost_error *err)
{
    pboost_memory_oracle *oracle;
    pboost_status st = pboost_memory_oracle_create(&oracle, y, ROWS, rules, NULL, err);
    pboost_memory_oracle_free(oracle);
    return st;
}

static pboost_status take_holder(const void *options, pboost_error *err)
{
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_memory_oracle *oracle;
    pboost_status st = pboost_memory_oracle_create(&oracle, y, ROWS, &rules, options, err);
    pboost_memory_oracle_free(oracle);
    return st;
}

static pboost_status open_run(const void *fit, const void *trainer, pboost_error *err)
{
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_memory_oracle *labels;
    pboost_run *run;
    assert_ok(pboost_memory_oracle_create(&labels, y, ROWS, &rules, NULL, err), *err);
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    pboost_status st = pboost_run_create(&run, PLAIN(x), &oracle, fit, trainer, err);
    pboost_run_free(run);
    pboost_memory_oracle_free(labels);
    return st;
}

static pboost_status take_run_fit(const void *options, pboost_error *err)
{
    pboost_trainer_options trainer = PBOOST_TRAINER_OPTIONS_INIT;
    return open_run(options, &trainer, err);
}

static pboost_status take_run_trainer(const void *options, pboost_error *err)
{
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    return open_run(&fit, options, err);
}

static pboost_status take_trainer(const void *options, pboost_error *err)
{
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_memory_oracle *labels;
    pboost_glm *glm;
    pboost_trainer *trainer;
    assert_ok(pboost_memory_oracle_create(&labels, y, ROWS, &rules, NULL, err), *err);
    assert_ok(pboost_glm_create(&glm, PLAIN(x), &fit, err), *err);
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    pboost_learner learner = pboost_glm_learner(glm);
    pboost_status st = pboost_trainer_create(&trainer, ROWS, &oracle, &learner, options, err);
    pboost_trainer_free(trainer);
    pboost_glm_free(glm);
    pboost_memory_oracle_free(labels);
    return st;
}

static pboost_status take_information(const void *rules, pboost_error *err)
{
    double theta[COLS] = {0}, information[(COLS + 1) * (COLS + 1)];
    pboost_coef coef = {COLS, theta, 0.0};
    pboost_samples samples = {.x = &x, .n = ROWS};
    pboost_bags bags;
    assert_ok(pboost_bags_random(&bags, ROWS, 4, 1, err), *err);
    pboost_status st = pboost_information(information, PBOOST_LINEAR, &samples, &bags, rules, &coef,
                                          1.0, true, 1, err);
    pboost_bags_free(&bags);
    return st;
}

static pboost_status take_plan(const void *options, pboost_error *err)
{
    pboost_plan plan;
    pboost_status st = pboost_plan_make(&plan, PLAIN(x), options, err);
    pboost_plan_free(&plan);
    return st;
}

static pboost_status take_choice(const void *options, pboost_error *err)
{
    pboost_choice choice;
    pboost_status st = pboost_choice_make(&choice, PLAIN(x), NULL, options, err);
    pboost_choice_free(&choice);
    return st;
}

static pboost_status take_synthetic(const void *options, pboost_error *err)
{
    double theta[8], row[8], label;
    pboost_status st = pboost_synthetic_theta(theta, options, err);
    if (st != PBOOST_OK)
        return st;
    return pboost_synthetic_rows(row, &label, options, theta, 0, 0, 1, 1, err);
}

static pboost_status take_simulation(const void *options, pboost_error *err)
{
    pboost_fit_report report;
    pboost_round history;
    double path[COLS + 1];
    pboost_outcome outcome = {&report, &history, path, NULL, 0};
    return pboost_simulate(&outcome, PLAIN(x), y, options, err);
}

static const pboost_fit_options FIT = PBOOST_FIT_OPTIONS_INIT;
static const pboost_trainer_options TRAINER = PBOOST_TRAINER_OPTIONS_INIT;
static const pboost_plan_options PLAN = PBOOST_PLAN_OPTIONS_INIT;
static const pboost_rules RULES = PBOOST_RULES_INIT;
static const pboost_memory_oracle_options HOLDER = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
static const pboost_synthetic SYNTHETIC = PBOOST_SYNTHETIC_INIT;
static const pboost_simulation SIMULATION = PBOOST_SIMULATION_INIT;

static const struct {
    const char *name;
    const void *init;
    size_t size;
    takes *call;
} CASES[] = {
    {"fit", &FIT, sizeof FIT, take_fit},
    {"fit of answers", &FIT, sizeof FIT, take_answers_fit},
    {"glm", &FIT, sizeof FIT, take_glm},
    {"run, fit", &FIT, sizeof FIT, take_run_fit},
    {"run, trainer", &TRAINER, sizeof TRAINER, take_run_trainer},
    {"trainer", &TRAINER, sizeof TRAINER, take_trainer},
    {"information", &RULES, sizeof RULES, take_information},
    {"plan", &PLAN, sizeof PLAN, take_plan},
    {"choice", &PLAN, sizeof PLAN, take_choice},
    {"rules", &RULES, sizeof RULES, take_rules},
    {"holder", &HOLDER, sizeof HOLDER, take_holder},
    {"synthetic", &SYNTHETIC, sizeof SYNTHETIC, take_synthetic},
    {"simulation", &SIMULATION, sizeof SIMULATION, take_simulation},
};
enum { N_CASES = sizeof CASES / sizeof *CASES };

/* Every older size is accepted, and nothing after it is read. */
static void test_older(void **state)
{
    (void)state;
    pboost_error err;
    open_page();
    for (size_t i = 0; i < N_CASES; i++)
        for (size_t size = 16; size <= CASES[i].size; size += 8)
            if (CASES[i].call(older(CASES[i].init, size), &err) != PBOOST_OK)
                fail_msg("%s, %zu of %zu bytes: %s", CASES[i].name, size, CASES[i].size,
                         err.message);
    close_page();
}

/* A newer size is refused, and so is what no header ever had. */
static void test_other_sizes(void **state)
{
    (void)state;
    pboost_error err;
    for (size_t i = 0; i < N_CASES; i++) {
        const size_t wrong[] = {0, 1, 8, CASES[i].size - 1, CASES[i].size + 8, SIZE_MAX - 7};
        unsigned char larger[sizeof SIMULATION + 8] = {0};
        memcpy(larger, CASES[i].init, CASES[i].size);
        for (size_t j = 0; j < sizeof wrong / sizeof *wrong; j++) {
            char said[40];
            memcpy(larger, &wrong[j], sizeof wrong[j]);
            snprintf(said, sizeof said, "struct_size is %zu", wrong[j]);
            assert_fails(CASES[i].call(larger, &err), PBOOST_INVALID, err, said);
            if (wrong[j] > CASES[i].size)
                assert_non_null(strstr(err.message, "built for a newer library"));
        }
    }
}

/* Fields that the caller has count; the others have their defaults, whatever is in memory. */
static void test_fields(void **state)
{
    (void)state;
    pboost_error err;
    pboost_memory_oracle *oracle;
    pboost_rules rules = {.struct_size = sizeof rules,
                          .min_bag = 4,
                          .bounded = true,
                          .lower = -100.0,
                          .upper = 100.0,
                          .round = true};
    rules.struct_size = offsetof(pboost_rules, step);
    rules.step = 7.5; /* beyond the size, and not to be seen */
    assert_ok(pboost_memory_oracle_create(&oracle, y, ROWS, &rules, NULL, &err), err);
    pboost_rules seen = pboost_memory_oracle_interface(oracle).rules;
    pboost_memory_oracle_free(oracle);
    assert_int_equal(seen.struct_size, sizeof seen);
    assert_int_equal(seen.min_bag, 4);
    assert_true(seen.upper == 100.0);
    assert_true(seen.step == 0x1p-13); /* the default for these bounds */
    assert_false(seen.round);
    assert_true(isnan(pboost_rules_noise_variance(&(pboost_rules){.struct_size = 1}, 4)));
}

/* pboost_rules_check writes the step, but only where the caller's struct has it. */
static void test_rules_check(void **state)
{
    (void)state;
    pboost_error err;
    pboost_rules rules = {.struct_size = sizeof rules,
                          .min_bag = 4,
                          .bounded = true,
                          .lower = -100.0,
                          .upper = 100.0};
    open_page();
    pboost_rules *cut = older(&rules, offsetof(pboost_rules, step));
    assert_ok(pboost_rules_check(cut, &err), err);
    assert_int_equal(cut->struct_size, offsetof(pboost_rules, step));
    assert_true(pboost_rules_noise_variance(cut, 4) == 0.0);
    pboost_rules *whole = older(&rules, sizeof rules);
    assert_ok(pboost_rules_check(whole, &err), err);
    assert_true(whole->step == 0x1p-13);
    close_page();
}

/* A struct inside another must have the size of this version, or the fields after it are read from
 * the wrong place. */
static void test_inside(void **state)
{
    (void)state;
    pboost_error err;
    pboost_plan_options plan = PLAN;
    plan.rules.struct_size -= 8;
    assert_fails(take_plan(&plan, &err), PBOOST_INVALID, err, "inside another struct");
    for (int i = 0; i < 4; i++) {
        pboost_simulation s = SIMULATION;
        size_t *size[] = {&s.rules.struct_size, &s.holder.struct_size, &s.fit.struct_size,
                          &s.trainer.struct_size};
        *size[i] -= 8;
        assert_fails(take_simulation(&s, &err), PBOOST_INVALID, err, "inside another struct");
    }
}

/* The warnings of a fit look at its options too. */
static void test_warnings(void **state)
{
    (void)state;
    double theta[COLS] = {0};
    pboost_coef coef = {COLS, theta, 0.0};
    pboost_fit_report report = {.converged = true, .first_dropped = SIZE_MAX};
    open_page();
    pboost_fitted fitted = {.report = &report, .options = older(&FIT, 16), .x = &x, .coef = &coef};
    pboost_fitted full = fitted;
    full.options = &FIT;
    assert_int_equal(pboost_warnings(NULL, &fitted), pboost_warnings(NULL, &full));
    close_page();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older),  cmocka_unit_test(test_other_sizes),
        cmocka_unit_test(test_fields), cmocka_unit_test(test_rules_check),
        cmocka_unit_test(test_inside), cmocka_unit_test(test_warnings),
    };
    make_table();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
