/* The pieces for a cluster give what the trainer, the partition and the event fit give in one. */
#include "testing.h"

#include <priorboost/cluster.h>

static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static void keys_are_those_of_the_ids(void **unused)
{
    const int64_t number[] = {0, 7, -12, 1234567890123, INT64_MIN, INT64_MAX};
    enum { N = sizeof number / sizeof *number };
    char text[N * 24] = "", digits[24];
    int32_t start[N + 1] = {0};
    uint64_t by_text[N], by_number[N];
    (void)unused;

    for (size_t i = 0; i < N; i++) {
        start[i + 1] = start[i] + snprintf(text + start[i], sizeof text - (size_t)start[i], "%lld",
                                           (long long)number[i]);
    }
    pboost_text_keys(by_text, text, start, N);
    pboost_number_keys(by_number, number, N);
    for (size_t i = 0; i < N; i++) {
        snprintf(digits, sizeof digits, "%lld", (long long)number[i]);
        assert_true(by_text[i] == pboost_id_key(digits));
        assert_true(by_number[i] == by_text[i]);
    }
}

/* An oracle that notes which rows each round asks about. */
typedef struct {
    size_t n, *row;
} diary;

static pboost_status note(void *self, size_t round, const pboost_bags *bags, double *answer,
                          pboost_error *err)
{
    diary *d = self;
    (void)round;
    (void)err;
    for (size_t b = 0; b < bags->n_bags; b++) {
        answer[b] = 0.5;
        for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++)
            d->row[d->n++] = bags->row[i];
    }
    return PBOOST_OK;
}

static pboost_status no_score(void *self, const size_t *row, size_t n, double *score,
                              pboost_error *err)
{
    (void)self;
    (void)row;
    (void)err;
    memset(score, 0, n * sizeof *score);
    return PBOOST_OK;
}

static pboost_status no_fit(void *self, const pboost_answers *answers, size_t first,
                            pboost_error *err)
{
    (void)self;
    (void)answers;
    (void)first;
    (void)err;
    return PBOOST_OK;
}

/* Slices and random bags from keys alone are those of the trainer. */
static void the_trainer_shuffles_by_these_keys(void **unused)
{
    enum { N = 500, ROUNDS = 3, K = 7 };
    uint64_t id[N], key[N];
    size_t order[N], expected[N], asked[N], slice[ROUNDS + 1], at = 0;
    diary d = {0, asked};
    pboost_oracle oracle = {.rules = PBOOST_RULES_INIT, .self = &d, .ask = note};
    pboost_learner learner = {NULL, no_score, no_fit};
    pboost_trainer_options o = PBOOST_TRAINER_OPTIONS_INIT;
    pboost_trainer *trainer = NULL;
    (void)unused;

    for (size_t i = 0; i < N; i++)
        id[i] = (uint64_t)(uniform() * 1e18);
    oracle.rules.min_bag = K;
    o.bags = PBOOST_BAGS_RANDOM;
    o.rounds = ROUNDS;
    o.row_key = id;
    o.seed = 99;
    assert_int_equal(pboost_trainer_create(&trainer, N, &oracle, &learner, &o, NULL), PBOOST_OK);
    assert_int_equal(pboost_trainer_run(trainer, NULL), PBOOST_OK);
    pboost_trainer_free(trainer);

    pboost_shuffle_keys(key, N, 99, 0, id, 0);
    assert_int_equal(pboost_order_keys(order, key, N, 1, NULL), PBOOST_OK);
    assert_int_equal(pboost_slices(slice, PBOOST_EQUAL, N, ROUNDS, K, NULL), PBOOST_OK);
    for (size_t t = 0; t < ROUNDS; t++) {
        size_t n = slice[t + 1] - slice[t], place[N];
        uint64_t seed;
        pboost_shuffle_keys(&seed, 1, 99, 1, NULL, t);
        pboost_shuffle_keys(key, n, seed, 0, NULL, 0);
        assert_int_equal(pboost_order_keys(place, key, n, 1, NULL), PBOOST_OK);
        for (size_t i = 0; i < n; i++)
            expected[at++] = order[slice[t] + place[i]];
    }
    assert_memory_equal(asked, expected, sizeof asked);
}

/* ---- Cuts ------------------------------------------------------------------------------------ */

/* As a cluster does it: all chunks separately, then spliced, solved again if they do not fit. */
static size_t cut_in_pieces(size_t *cut, const double *x, size_t n, size_t k, size_t *resolved)
{
    size_t n_chunks, overlap, at = 1, *part = malloc((n / k + 2) * sizeof *part), m;
    double scale = pboost_cut_scale(x[0], x[n - 1]);

    pboost_cut_grid(&n_chunks, &overlap, n, k);
    cut[0] = 0;
    if (n_chunks == 1) {
        assert_int_equal(pboost_cut_piece(cut, &m, x, n, k, scale, PBOOST_CUT_REST, 1, NULL),
                         PBOOST_OK);
        free(part);
        return m;
    }
    for (size_t c = 0; c < n_chunks; c++) {
        size_t share = n / n_chunks, last = c + 1 == n_chunks ? n : (c + 1) * share;
        size_t first = c == 0 ? 0 : c * share - overlap, before = at, i = 0;
        bool again = false;
        pboost_cut how = c + 1 == n_chunks ? PBOOST_CUT_TO_END : PBOOST_CUT_COMMON;
        assert_int_equal(
            pboost_cut_piece(part, &m, x + first, last - first, k, scale, how, 1, NULL), PBOOST_OK);
        while (i < m && first + part[i] != cut[at - 1])
            i++;
        if (i == m) {
            first = cut[at - 1];
            (*resolved)++;
            again = true;
            assert_int_equal(
                pboost_cut_piece(part, &m, x + first, last - first, k, scale, how, 1, NULL),
                PBOOST_OK);
            i = 0;
        }
        for (i++; i < m; i++)
            cut[at++] = first + part[i];
        if (again && at == before) {
            first = cut[at - 1];
            assert_int_equal(pboost_cut_piece(part, &m, x + first, n - first, k, scale,
                                              PBOOST_CUT_REST, 1, NULL),
                             PBOOST_OK);
            for (i = 1; i < m; i++)
                cut[at++] = first + part[i];
            break;
        }
    }
    free(part);
    return at;
}

static void pieces_are_cut_as_the_whole(void **unused)
{
    enum { N = 600000 };
    double *x = malloc(N * sizeof *x);
    const size_t sizes[] = {600000, 300000, 40000, 900, 11}, ks[] = {2, 5, 64};
    size_t resolved = 0;
    (void)unused;

    for (int shape = 0; shape < 3; shape++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t j = 0; j < sizeof ks / sizeof *ks; j++) {
                size_t n = sizes[s], k = ks[j], m;
                if (n < 2 * k)
                    continue;
                /* smooth, with many ties, with ties alone */
                double at = -1e3;
                for (size_t i = 0; i < n; i++) {
                    at += shape == 0 ? uniform() : shape == 1 ? uniform() < 0.1 : 0.0;
                    x[i] = at;
                }
                pboost_bags bags = {0};
                size_t *cut = malloc((n / k + 2) * sizeof *cut);
                assert_int_equal(pboost_bags_optimal(&bags, x, n, k, 2, NULL), PBOOST_OK);
                m = cut_in_pieces(cut, x, n, k, &resolved);
                assert_int_equal(m, bags.n_bags + 1);
                assert_memory_equal(cut, bags.start, m * sizeof *cut);
                pboost_bags_free(&bags);
                free(cut);
            }
    assert_true(resolved > 0); /* the ties alone have no common cut */
    free(x);
}

static void pieces_too_small_are_refused(void **unused)
{
    double x[4] = {0};
    size_t cut[8], m;
    (void)unused;
    assert_int_equal(pboost_cut_piece(cut, &m, x, 4, 1, 1, PBOOST_CUT_REST, 1, NULL),
                     PBOOST_INVALID);
    assert_int_equal(pboost_cut_piece(cut, &m, x, 4, 5, 1, PBOOST_CUT_REST, 1, NULL),
                     PBOOST_INVALID);
}

/* ---- Fits ------------------------------------------------------------------------------------ */

enum { ROWS = 3000, COLS = 11, BAG = 6 };

typedef struct {
    double x[ROWS * COLS], target[ROWS], answer[ROWS / BAG], noise[ROWS / BAG];
    size_t start[ROWS / BAG + 1];
    pboost_matrix matrix;
    pboost_family family;
    const double *shift;
    size_t calls, fail_at;
} table;

static const size_t BORDER[] = {0, 17, 1000, 1001, ROWS};

static pboost_samples part_of(const table *t, size_t p)
{
    static size_t row[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        row[i] = i;
    return (pboost_samples){.x = &t->matrix,
                            .row = row + BORDER[p],
                            .n = BORDER[p + 1] - BORDER[p],
                            .target = t->target + BORDER[p]};
}

static pboost_status sums(void *self, const pboost_coef *coef, bool hessian, double *out,
                          pboost_error *err)
{
    table *t = self;
    double one[PBOOST_PART_SIZE(COLS, true)];
    size_t size = PBOOST_PART_SIZE(COLS, hessian);

    if (++t->calls == t->fail_at)
        return pboost_fail(err, PBOOST_ORACLE, "a machine is gone");
    assert_true(t->fail_at == 0 || t->calls < t->fail_at);
    memset(out, 0, size * sizeof *out);
    for (size_t p = 0; p < 4; p++) {
        pboost_samples part = part_of(t, p);
        pboost_status st = pboost_part_sums(one, t->family, &part, coef, t->shift, hessian, 1, err);
        if (st != PBOOST_OK)
            return st;
        for (size_t i = 0; i < size; i++)
            out[i] += one[i];
    }
    return PBOOST_OK;
}

static pboost_status direction(void *self, const pboost_coef *coef, double out[3],
                               pboost_error *err)
{
    table *t = self;
    double one[3];
    memset(out, 0, 3 * sizeof *out);
    for (size_t p = 0; p < 4; p++) {
        pboost_samples part = part_of(t, p);
        pboost_status st = pboost_part_direction(one, t->family, &part, coef, t->shift, 1, err);
        if (st != PBOOST_OK)
            return st;
        out[0] = fmax(out[0], one[0]);
        out[1] += one[1];
        out[2] += one[2];
    }
    return PBOOST_OK;
}

static void fill(table *t, pboost_family family)
{
    *t = (table){.family = family};
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLS; j++)
            t->x[i * COLS + j] = uniform() - 0.5 + (j == 3 ? 2000.0 : 0.0);
    for (size_t b = 0; b < ROWS / BAG; b++) {
        t->answer[b] = family == PBOOST_LOGISTIC ? 0.1 + 0.8 * uniform() : 3 * uniform();
        t->start[b + 1] = (b + 1) * BAG;
        for (size_t i = 0; i < BAG; i++)
            t->target[b * BAG + i] = t->answer[b];
    }
    t->matrix = pboost_matrix_f64(t->x, ROWS, COLS);
}

static void parts_are_fitted_as_the_whole(void **unused)
{
    table *t = malloc(sizeof *t);
    double theta[COLS], theta2[COLS], shift[COLS];
    (void)unused;

    for (pboost_family family = PBOOST_LINEAR; family <= PBOOST_POISSON; family++)
        for (int intercept = 0; intercept < 2; intercept++)
            for (int warm = 0; warm < 2; warm++) {
                fill(t, family);
                pboost_samples all = {.x = &t->matrix, .n = ROWS, .target = t->target};
                pboost_parts parts = {t, sums, direction};
                pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
                pboost_coef a = {COLS, theta, 0}, b = {COLS, theta2, 0};
                pboost_fit_report report;
                pboost_error err = {0};
                o.family = family;
                o.intercept = intercept;
                for (size_t j = 0; j < COLS; j++)
                    theta[j] = theta2[j] = warm ? (j == 3 ? 0.0 : 0.1) : 0.0;
                t->shift = intercept && pboost_part_shift(shift, &all) ? shift : NULL;
                assert_true((t->shift != NULL) == intercept);
                if (!intercept)
                    for (size_t i = 0; i < ROWS; i++)
                        t->x[i * COLS + 3] -= 2000.0;
                assert_int_equal(pboost_event_fit(&a, NULL, &all, &o, &err), PBOOST_OK);
                assert_int_equal(pboost_parts_fit(&b, &report, &parts, ROWS / BAG, t->start,
                                                  t->answer, t->noise, t->shift, &o, &err),
                                 PBOOST_OK);
                assert_true(report.converged);
                assert_true(t->calls < 12);
                for (size_t j = 0; j < COLS; j++)
                    assert_true(fabs(theta[j] - theta2[j]) < 1e-8);
                assert_true(fabs(a.intercept - b.intercept) < 1e-4);
            }
    free(t);
}

/* The first failure ends the fit, with its own words. */
static void a_machine_that_fails_ends_the_fit(void **unused)
{
    table *t = malloc(sizeof *t);
    double theta[COLS] = {0};
    pboost_parts parts = {t, sums, direction};
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    (void)unused;

    o.family = PBOOST_LOGISTIC;
    for (size_t at = 1; at < 3; at++) {
        pboost_coef coef = {COLS, theta, 0};
        pboost_error err = {0};
        fill(t, o.family);
        t->fail_at = at;
        assert_int_equal(pboost_parts_fit(&coef, NULL, &parts, ROWS / BAG, t->start, t->answer,
                                          t->noise, NULL, &o, &err),
                         PBOOST_ORACLE);
        assert_string_equal(err.message, "a machine is gone");
    }
    free(t);
}

/* The cancel is checked before every pass over the machines, and there is no pass after a stop. */
static void a_watch_ends_the_fit(void **unused)
{
    table *t = malloc(sizeof *t);
    double theta[COLS];
    pboost_parts parts = {t, sums, direction};
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    (void)unused;

    o.family = PBOOST_LOGISTIC;
    for (size_t most = 0; most < 2; most++) { /* the fit needs two passes */
        pboost_coef coef = {COLS, theta, 0};
        pboost_error err = {0};
        look_limit limit = {0, most};
        pboost_cancel cancel = {.stop = runs_out, .user = &limit};
        fill(t, o.family);
        memset(theta, 0, sizeof theta);
        o.cancel = &cancel;
        assert_int_equal(pboost_parts_fit(&coef, NULL, &parts, ROWS / BAG, t->start, t->answer,
                                          t->noise, NULL, &o, &err),
                         PBOOST_CANCELLED);
        assert_string_equal(err.message, "stopped as asked");
        assert_true(t->calls <= most);
        assert_true(coef.theta[0] == 0.0 && coef.intercept == 0.0);
    }
    free(t);
}

static void wrong_requests_are_refused(void **unused)
{
    table *t = malloc(sizeof *t);
    double theta[COLS] = {0}, out[PBOOST_PART_SIZE(COLS, true)];
    pboost_parts parts = {t, sums, direction};
    pboost_coef coef = {COLS, theta, 0}, small = {COLS - 1, theta, 0};
    pboost_fit_options good = PBOOST_FIT_OPTIONS_INIT, o = good;
    (void)unused;

    fill(t, PBOOST_LINEAR);
    pboost_samples all = part_of(t, 2);
    assert_int_equal(pboost_part_sums(out, PBOOST_LINEAR, &all, &small, NULL, true, 1, NULL),
                     PBOOST_INVALID);
    o.struct_size = 1;
    assert_int_equal(
        pboost_parts_fit(&coef, NULL, &parts, 2, t->start, t->answer, t->noise, NULL, &o, NULL),
        PBOOST_INVALID);
    o = good;
    o.estimator = PBOOST_AGGREGATE;
    assert_int_equal(
        pboost_parts_fit(&coef, NULL, &parts, 2, t->start, t->answer, t->noise, NULL, &o, NULL),
        PBOOST_INVALID);
    o = good;
    o.l2 = pboost_l2_fixed(-3);
    assert_int_equal(
        pboost_parts_fit(&coef, NULL, &parts, 2, t->start, t->answer, t->noise, NULL, &o, NULL),
        PBOOST_INVALID);
    assert_int_equal(
        pboost_parts_fit(&coef, NULL, &parts, 0, t->start, t->answer, t->noise, NULL, &good, NULL),
        PBOOST_BAD_DATA);
    t->start[2] = t->start[1];
    assert_int_equal(
        pboost_parts_fit(&coef, NULL, &parts, 2, t->start, t->answer, t->noise, NULL, &good, NULL),
        PBOOST_BAD_DATA);
    t->start[2] = 2 * BAG;
    t->answer[1] = NAN;
    assert_int_equal(
        pboost_parts_fit(&coef, NULL, &parts, 2, t->start, t->answer, t->noise, NULL, &good, NULL),
        PBOOST_BAD_DATA);
    t->answer[1] = 1.0;
    theta[2] = NAN;
    assert_int_equal(
        pboost_parts_fit(&coef, NULL, &parts, 2, t->start, t->answer, t->noise, NULL, &good, NULL),
        PBOOST_INVALID);
    free(t);
}

/* An intercept would diverge if the mean of the answers is not a mean of the family: as on one
 * machine, the model is then constant, one standard error of the mean inside the range. */
static void answers_out_of_range_leave_a_constant(void **unused)
{
    table *t = malloc(sizeof *t);
    double theta[COLS];
    pboost_parts parts = {t, sums, direction};
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    (void)unused;

    o.family = PBOOST_POISSON;
    fill(t, o.family);
    for (size_t j = 0; j < COLS; j++)
        theta[j] = 0.1;
    for (size_t b = 0; b < ROWS / BAG; b++) {
        t->answer[b] -= 3;
        t->noise[b] = 4;
    }
    pboost_coef coef = {COLS, theta, 0};
    pboost_fit_report report;
    pboost_error err = {0};
    assert_int_equal(pboost_parts_fit(&coef, &report, &parts, ROWS / BAG, t->start, t->answer,
                                      t->noise, NULL, &o, &err),
                     PBOOST_OK);
    assert_true(report.mean_masked && report.converged);
    assert_string_equal(err.message, "");
    assert_int_equal(t->calls, 0);
    for (size_t j = 0; j < COLS; j++)
        assert_true(theta[j] == 0.0);
    assert_true(fabs(coef.intercept - log(2.0 / sqrt(ROWS / BAG))) < 1e-12);
    o.intercept = false; /* nothing runs away */
    assert_int_equal(pboost_parts_fit(&coef, &report, &parts, ROWS / BAG, t->start, t->answer,
                                      t->noise, NULL, &o, &err),
                     PBOOST_OK);
    assert_false(report.mean_masked);
    free(t);
}

/* Without a penalty separable data have no minimiser, in parts as in one. */
static void separable_parts_are_recognised(void **unused)
{
    table *t = malloc(sizeof *t);
    double theta[COLS] = {0};
    pboost_parts parts = {t, sums, direction};
    pboost_coef coef = {COLS, theta, 0};
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    pboost_error err = {0};
    (void)unused;

    fill(t, PBOOST_LOGISTIC);
    for (size_t i = 0; i < ROWS; i++) {
        t->x[i * COLS + 3] -= 2000.0;
        t->target[i] = t->answer[i / BAG] = i / BAG % 2;
        t->x[i * COLS] = i / BAG % 2 ? 1.0 + uniform() : -1.0 - uniform();
    }
    o.family = PBOOST_LOGISTIC;
    o.l2 = pboost_l2_fixed(0);
    assert_int_equal(pboost_parts_fit(&coef, NULL, &parts, ROWS / BAG, t->start, t->answer,
                                      t->noise, NULL, &o, &err),
                     PBOOST_BAD_DATA);
    assert_non_null(strstr(err.message, "separable"));
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_those_of_the_ids),
        cmocka_unit_test(the_trainer_shuffles_by_these_keys),
        cmocka_unit_test(pieces_are_cut_as_the_whole),
        cmocka_unit_test(pieces_too_small_are_refused),
        cmocka_unit_test(parts_are_fitted_as_the_whole),
        cmocka_unit_test(a_machine_that_fails_ends_the_fit),
        cmocka_unit_test(a_watch_ends_the_fit),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(answers_out_of_range_leave_a_constant),
        cmocka_unit_test(separable_parts_are_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
