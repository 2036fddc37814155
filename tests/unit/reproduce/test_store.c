/* What a stopped run leaves behind, and what may be made of it. */
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"
#include "testing.h"

static char dir[] = "/tmp/pboost-store-XXXXXX";
static char path[128];
static repro_settings settings;
static repro_plan plan;

static const char *in_dir(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* A folder that does not exist, and a plan of nine series. */
static int set_up(void **state)
{
    (void)state;
    pboost_error err = {0};
    strcpy(dir + sizeof dir - 7, "XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(rmdir(dir), 0);
    assert_ok(repro_settings_init(&settings, SCALE_SMALL, &err), err);
    settings.wanted[EXPERIMENT_LINEAR] = true;
    settings.setup[EXPERIMENT_LINEAR].n_bags = 3;
    settings.setup[EXPERIMENT_LINEAR].rounds = 4;
    assert_ok(repro_plan_make(&plan, &settings, &err), err);
    assert_int_equal(plan.n, 9);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    repro_plan_free(&plan);
    unlink(in_dir("partial/settings"));
    unlink(in_dir("partial/series"));
    rmdir(in_dir("partial"));
    unlink(in_dir("other"));
    rmdir(dir);
    return 0;
}

static repro_store *open_store(double *seconds)
{
    pboost_error err = {0};
    repro_store *store;
    repro_plan_free(&plan);
    assert_ok(repro_plan_make(&plan, &settings, &err), err);
    assert_ok(repro_store_open(&store, dir, &settings, &plan, seconds, &err), err);
    return store;
}

static void add(repro_store *store, size_t i, double seconds)
{
    pboost_error err = {0};
    for (size_t j = 0; j < plan.series[i].n_points; j++)
        plan.series[i].loss[j] = 1.0 / (double)(3 + 10 * i + j);
    assert_ok(repro_store_add(store, &plan.series[i], seconds, &err), err);
}

/* Two series in the folder, and the store closed. */
static void leave_two(void)
{
    double seconds;
    repro_store *store = open_store(&seconds);
    assert_true(seconds == 0.0);
    add(store, 1, 2.5);
    add(store, 4, 7.25);
    repro_store_close(store);
}

static void test_series_come_back_with_the_same_bits(void **state)
{
    (void)state;
    double seconds;
    leave_two();
    repro_store *store = open_store(&seconds);
    assert_true(seconds == 7.25);
    for (size_t i = 0; i < plan.n; i++)
        assert_int_equal(plan.series[i].done, i == 1 || i == 4);
    for (size_t j = 0; j < 4; j++)
        assert_true(plan.series[4].loss[j] == 1.0 / (double)(43 + j));
    repro_store_close(store);
}

/* Whatever the length at which a write was torn, whole lines count and the rest is cut off. */
static void test_a_torn_line_is_cut_off(void **state)
{
    (void)state;
    struct stat info;
    double seconds;
    leave_two();
    assert_int_equal(stat(in_dir("partial/series"), &info), 0);
    for (off_t length = info.st_size - 1; length > info.st_size / 2; length -= 7) {
        assert_int_equal(truncate(in_dir("partial/series"), length), 0);
        repro_store *store = open_store(&seconds);
        assert_true(plan.series[1].done && !plan.series[4].done);
        add(store, 4, 9.0);
        repro_store_close(store);
        store = open_store(&seconds);
        assert_true(plan.series[1].done && plan.series[4].done && seconds == 9.0);
        repro_store_close(store);
    }
}

static void test_a_changed_digit_is_noticed(void **state)
{
    (void)state;
    double seconds;
    leave_two();
    FILE *file = fopen(in_dir("partial/series"), "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 20, SEEK_SET), 0);
    int c = fgetc(file);
    assert_int_equal(fseek(file, 20, SEEK_SET), 0);
    fputc(c == '7' ? '8' : '7', file);
    fclose(file);
    repro_store *store = open_store(&seconds);
    for (size_t i = 0; i < plan.n; i++)
        assert_false(plan.series[i].done);
    repro_store_close(store);
}

static void test_other_settings_are_refused(void **state)
{
    (void)state;
    pboost_error err;
    repro_store *store;
    double seconds;
    leave_two();
    settings.seed++;
    assert_fails(repro_store_open(&store, dir, &settings, &plan, &seconds, &err), PBOOST_INVALID,
                 err, "other settings");
    settings.seed--;
    settings.setup[EXPERIMENT_LINEAR].noise = 0.25;
    assert_fails(repro_store_open(&store, dir, &settings, &plan, &seconds, &err), PBOOST_INVALID,
                 err, dir);
    assert_null(store);
}

static void test_a_folder_with_something_else_is_refused(void **state)
{
    (void)state;
    pboost_error err;
    repro_store *store;
    double seconds;
    assert_int_equal(mkdir(dir, 0777), 0);
    FILE *file = fopen(in_dir("other"), "w");
    fclose(file);
    assert_fails(repro_store_open(&store, dir, &settings, &plan, &seconds, &err), PBOOST_INVALID,
                 err, dir);
    assert_int_equal(access(in_dir("partial"), F_OK), -1); /* and left as it is */
}

/* Stopped between making the folder and writing the settings. */
static void test_a_partial_folder_without_settings_is_begun_anew(void **state)
{
    (void)state;
    double seconds;
    assert_int_equal(mkdir(dir, 0777), 0);
    assert_int_equal(mkdir(in_dir("partial"), 0777), 0);
    repro_store_close(open_store(&seconds));
    assert_int_equal(access(in_dir("partial/settings"), F_OK), 0);
}

static void test_a_second_run_is_kept_out(void **state)
{
    (void)state;
    pboost_error err;
    double seconds;
    repro_store *second, *first = open_store(&seconds);
    assert_fails(repro_store_open(&second, dir, &settings, &plan, &seconds, &err), PBOOST_INVALID,
                 err, "in use");
    repro_store_close(first);
}

static void test_finishing_leaves_nothing_partial(void **state)
{
    (void)state;
    pboost_error err = {0};
    double seconds;
    leave_two();
    repro_store *store = open_store(&seconds);
    assert_ok(repro_store_finish(store, &err), err);
    repro_store_close(store);
    assert_int_equal(access(in_dir("partial"), F_OK), -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_series_come_back_with_the_same_bits),
        TEST(test_a_torn_line_is_cut_off),
        TEST(test_a_changed_digit_is_noticed),
        TEST(test_other_settings_are_refused),
        TEST(test_a_folder_with_something_else_is_refused),
        TEST(test_a_partial_folder_without_settings_is_begun_anew),
        TEST(test_a_second_run_is_kept_out),
        TEST(test_finishing_leaves_nothing_partial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
