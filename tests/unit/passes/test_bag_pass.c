/* Passes over bags give the same whatever the table looks like: rows side by side or picked by
 * number, columns side by side, single precision, shifted. */
#include "answers_support.h"

#include "passes/bag_pass.h"

enum { ROWS = 330, BAG = 11, BAGS = ROWS / BAG };

/* The same values, that floats can hold, in every layout. */
typedef struct {
    test_table table;
    double *turned;
    float *single;
    pboost_matrix layout[3];
    size_t row[ROWS], start[BAGS + 1];
} fixture;

static fixture make(size_t d)
{
    fixture f = {.table = make_table(PBOOST_LOGISTIC, ROWS, d, d)};
    double *x = f.table.x;
    f.turned = malloc(ROWS * d * sizeof *f.turned);
    f.single = malloc(ROWS * d * sizeof *f.single);
    for (size_t i = 0; i < ROWS; i++) {
        f.row[i] = i;
        for (size_t j = 0; j < d; j++) {
            f.single[i * d + j] = (float)x[i * d + j];
            x[i * d + j] = f.turned[j * ROWS + i] = (double)f.single[i * d + j];
        }
    }
    for (size_t b = 0; b <= BAGS; b++)
        f.start[b] = b * BAG;
    f.layout[0] = pboost_matrix_f64(x, ROWS, d);
    f.layout[1] = (pboost_matrix){f.turned, PBOOST_F64, ROWS, d, 1, ROWS};
    f.layout[2] = (pboost_matrix){f.single, PBOOST_F32, ROWS, d, (ptrdiff_t)d, 1};
    return f;
}

static void fixture_free(fixture *f)
{
    free(f->turned);
    free(f->single);
    free_table(&f->table);
}

static void check_moments(fixture *f, size_t layout, bool by_number, const bag_units *units)
{
    pboost_error err = {0};
    size_t d = f->table.d;
    double parameter[32];
    bag_pass pass;
    bag_moments at;
    bag_rows rows = {.x = &f->layout[layout],
                     .offset = f->table.offset,
                     .n_bags = BAGS,
                     .start = f->start,
                     .row = by_number ? f->row : NULL};
    for (size_t j = 0; j <= d; j++)
        parameter[j] = 0.3 - 0.05 * (double)j;
    assert_int_equal(pboost_bagpass_init(&pass, &rows, PBOOST_LOGISTIC, true, units, 1, &err),
                     PBOOST_OK);
    assert_int_equal(pboost_bag_moments_init(&at, &pass, &err), PBOOST_OK);
    pboost_bagpass_run(&at, &pass, parameter);
    for (size_t b = 0; b < BAGS; b++) {
        double mean = 0.0, slope[32] = {0};
        for (size_t i = b * BAG; i < (b + 1) * BAG; i++) {
            double eta = parameter[0] + f->table.offset[i], z[32];
            for (size_t j = 0; j < d; j++) {
                z[j] = f->table.x[i * d + j];
                if (units != NULL)
                    z[j] = (z[j] - units->shift[j] - units->center[j]) / units->scale[j];
                eta += parameter[j + 1] * z[j];
            }
            double mu = 1.0 / (1.0 + exp(-eta));
            mean += mu / BAG;
            for (size_t j = 0; j < d; j++)
                slope[j] += mu * (1.0 - mu) * z[j] / BAG;
        }
        assert_near(at.mean[b], mean, 1e-12);
        for (size_t j = 0; j < d; j++)
            assert_near(at.jacobian[b * pass.stride + 1 + j], slope[j], 1e-12);
    }
    pboost_bag_moments_free(&at);
    pboost_bagpass_free(&pass);
}

static void moments_do_not_depend_on_the_layout(void **state)
{
    (void)state;
    size_t cols[] = {3, 8, 9, 16, 21};
    double shift[32], center[32], scale[32];
    for (size_t j = 0; j < 32; j++) {
        shift[j] = 0.5 + (double)j;
        center[j] = 0.25;
        scale[j] = 2.0;
    }
    bag_units units = {shift, center, scale};
    for (size_t c = 0; c < 5; c++) {
        fixture f = make(cols[c]);
        for (size_t layout = 0; layout < 3; layout++)
            for (int by_number = 0; by_number < 2; by_number++) {
                check_moments(&f, layout, by_number, NULL);
                check_moments(&f, layout, by_number, &units);
            }
        fixture_free(&f);
    }
}

static void run_pass(double *mean, double *jacobian, const bag_rows *rows, const bag_units *units)
{
    pboost_error err = {0};
    double parameter[32];
    bag_pass pass;
    bag_moments at;
    for (size_t j = 0; j < 32; j++)
        parameter[j] = 0.3 - 0.05 * (double)j;
    assert_int_equal(pboost_bagpass_init(&pass, rows, PBOOST_LOGISTIC, true, units, 1, &err),
                     PBOOST_OK);
    assert_int_equal(pboost_bag_moments_init(&at, &pass, &err), PBOOST_OK);
    pboost_bagpass_run(&at, &pass, parameter);
    memcpy(mean, at.mean, BAGS * sizeof *mean);
    memcpy(jacobian, at.jacobian, BAGS * pass.stride * sizeof *jacobian);
    pboost_bag_moments_free(&at);
    pboost_bagpass_free(&pass);
}

/* Rows that a pass takes from all over the table give the bits of rows side by side. */
static void scattered_rows_have_the_same_bits(void **state)
{
    (void)state;
    enum { COLS = 20, STRIDE = 24 };
    fixture f = make(COLS);
    double center[COLS] = {0.5}, scale[COLS], mean[2][BAGS], jacobian[2][BAGS * STRIDE];
    for (size_t j = 0; j < COLS; j++)
        scale[j] = 1.5;
    bag_units units = {NULL, center, scale};
    bag_rows rows = {.x = &f.layout[0], .n_bags = BAGS, .start = f.start};
    assert_true(pboost_bagpass_takes_rows(rows.x));
    run_pass(mean[0], jacobian[0], &rows, &units);

    double *moved = malloc(ROWS * COLS * sizeof *moved);
    pboost_matrix scattered = pboost_matrix_f64(moved, ROWS, COLS);
    for (size_t i = 0; i < ROWS; i++) {
        f.row[i] = i * 7 % ROWS;
        memcpy(moved + f.row[i] * COLS, f.table.x + i * COLS, COLS * sizeof *moved);
    }
    rows.x = &scattered;
    rows.row = f.row;
    run_pass(mean[1], jacobian[1], &rows, &units);
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(jacobian[0], jacobian[1], sizeof jacobian[0]);
    free(moved);
    fixture_free(&f);
}

static void narrow_and_turned_tables_are_copied(void **state)
{
    (void)state;
    fixture f = make(8), wide = make(9);
    assert_false(pboost_bagpass_takes_rows(&f.layout[0]));
    assert_false(pboost_bagpass_takes_rows(&wide.layout[1]));
    assert_false(pboost_bagpass_takes_rows(&wide.layout[2]));
    fixture_free(&f);
    fixture_free(&wide);
}

/* Standardised on the way, each layout in its own manner. */
static void fits_do_not_depend_on_the_layout(void **state)
{
    (void)state;
    for (size_t d = 3; d <= 12; d += 9) {
        fixture f = make(d);
        pboost_fit_options o = options_for(PBOOST_LOGISTIC, pboost_l2_fixed(1.5));
        pboost_answers a = make_answers(&f.table, 3, 0.0, true, d);
        fitted first = fit_or_fail(&f.layout[0], NULL, f.table.offset, &a, &o);
        for (size_t layout = 1; layout < 3; layout++) {
            fitted other = fit_or_fail(&f.layout[layout], NULL, f.table.offset, &a, &o);
            assert_same_coef(&other.coef, &first.coef, 1e-12);
            fitted_free(&other);
        }
        fitted_free(&first);
        pboost_answers_clear(&a);
        fixture_free(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_do_not_depend_on_the_layout),
        cmocka_unit_test(scattered_rows_have_the_same_bits),
        cmocka_unit_test(narrow_and_turned_tables_are_copied),
        cmocka_unit_test(fits_do_not_depend_on_the_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
