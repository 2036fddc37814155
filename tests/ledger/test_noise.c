/* The noise where it is really drawn: answers of pboost_ledger_ask, with the system's randomness.
 *
 * The labels are known here, so the noise of every answer is too.  It must follow the law exactly
 * (chi-square), be independent between the bags of a request, between requests and across an
 * opening of the store, and protect one label as epsilon says (an audit on neighbouring data).
 *
 * The draws are random, so the checks may fail by chance: all of them together less than once in
 * 50,000 runs.  Each of 27 distances may be 5 deviates, and the limits of the audit are 5.5. */
#include "ledger_testing.h"
#include "privacy/law.h"

enum { REQUESTS = 40, BAGS = 2500, DRAWS = REQUESTS * BAGS, LARGEST = 3 };
#define DEVIATES 5.0
#define AUDIT_DEVIATES 5.5

typedef struct {
    int64_t noise[DRAWS]; /* by request, then by bag */
    int64_t total[DRAWS]; /* the answer less what the bag's other labels add */
} answers;

/* ---- Asking ---------------------------------------------------------------------------------- */

/* In about half of the bags the first label is the upper bound, in the others the lower. */
static bool is_changed(size_t draw)
{
    return (draw * 2654435761u >> 7 & 1) != 0;
}

static double label_in(const pboost_rules *rules, size_t draw, size_t at)
{
    if (at > 0)
        return rules->lower + (double)at * rules->step;
    return is_changed(draw) ? rules->upper : rules->lower;
}

static pboost_ledger *store_of(test_store *t, const pboost_ledger_rules *rules)
{
    double *label = calloc((size_t)DRAWS * LARGEST, sizeof *label);
    assert_non_null(label);
    for (size_t i = 0; i < (size_t)DRAWS * LARGEST; i++)
        label[i] = label_in(&rules->rules, i / LARGEST, i % LARGEST);
    pboost_ledger *ledger = make_ledger(t, rules, (size_t)DRAWS * LARGEST, label);
    free(label);
    return ledger;
}

/* Row numbers start at 1; a bag of 2 leaves its third row unasked. */
static void ask_request(answers *out, pboost_ledger *ledger, const pboost_token *token,
                        size_t request, size_t size)
{
    pboost_error err = {0};
    pboost_reply reply;
    label_grid grid = ledger->number->grid;
    int64_t row[BAGS * LARGEST];
    char name[32];

    for (size_t i = 0; i < BAGS * size; i++)
        row[i] = 1 + (int64_t)((request * BAGS + i / size) * LARGEST + i % size);
    snprintf(name, sizeof name, "round-%zu", request);
    assert_ok(ask(&reply, ledger, token, name, row, BAGS * size, size, NULL, &err), err);
    for (size_t b = 0; b < BAGS; b++) {
        size_t draw = request * BAGS + b;
        double steps = mean_of(&reply, b) * (double)size / grid.step;
        assert_true(fabs(steps - round(steps)) < 1e-3); /* a point of the grid */
        out->total[draw] = llround(steps);
        for (size_t i = 1; i < size; i++)
            out->total[draw] -= grid.lower + (int64_t)i;
        out->noise[draw] = out->total[draw] - (is_changed(draw) ? grid.upper : grid.lower);
    }
    pboost_reply_free(&reply);
}

/* All requests, the second half of them after the store was closed and opened.  Their bags are of 2
 * rows, 3, ... in turn: so many sizes. */
static answers *ask_all(const pboost_ledger_rules *rules, size_t sizes)
{
    answers *out = calloc(1, sizeof *out);
    test_store t;
    pboost_ledger *ledger = store_of(&t, rules);
    pboost_token token = plain_token(ledger, "a");

    assert_non_null(out);
    for (size_t r = 0; r < REQUESTS; r++) {
        if (r == REQUESTS / 2) {
            pboost_ledger_close(ledger);
            ledger = open_store(&t);
        }
        ask_request(out, ledger, &token, r, 2 + r % sizes);
    }
    pboost_ledger_close(ledger);
    drop_store(&t);
    return out;
}

static pboost_ledger_rules noisy_rules(pboost_rational epsilon, double lower, double upper,
                                       double step)
{
    pboost_ledger_rules rules = plain_rules();
    rules.rules.min_bag = 2;
    rules.rules.epsilon = epsilon;
    rules.rules.lower = lower;
    rules.rules.upper = upper;
    rules.rules.step = step;
    rules.no_noise = false;
    return rules;
}

/* ---- The law, independence, the audit -------------------------------------------------------- */

static const pboost_rational EPSILONS[] = {{1, 2}, {1, 1}, {7, 3}};
enum { N_EPSILONS = sizeof EPSILONS / sizeof *EPSILONS };

typedef struct {
    double epsilon, rate;
    label_grid grid;
    answers *answers;
} run;

static int ask_runs(void **state)
{
    run *runs = calloc(N_EPSILONS, sizeof *runs);

    assert_non_null(runs);
    for (size_t i = 0; i < N_EPSILONS; i++) {
        pboost_ledger_rules rules = noisy_rules(EPSILONS[i], -1, 2, 0.25);
        runs[i].grid = pboost_grid(&rules.rules);
        runs[i].epsilon = pboost_rational_value(EPSILONS[i]);
        runs[i].rate = runs[i].epsilon / (double)(runs[i].grid.upper - runs[i].grid.lower);
        runs[i].answers = ask_all(&rules, 2);
    }
    *state = runs;
    return 0;
}

static int drop_runs(void **state)
{
    run *runs = *state;
    for (size_t i = 0; i < N_EPSILONS; i++)
        free(runs[i].answers);
    free(runs);
    return 0;
}

static void noise_follows_its_law(void **state)
{
    const run *runs = *state;
    for (size_t i = 0; i < N_EPSILONS; i++) {
        double off = distance(runs[i].answers->noise, DRAWS, runs[i].rate);
        print_message("epsilon %g: %.1f deviates from the law\n", runs[i].epsilon, off);
        if (!(off < DEVIATES))
            fail_msg("epsilon %g: noise is %.1f deviates from its law", runs[i].epsilon, off);
    }
}

static void check_pairs(const char *what, const int64_t *a, const int64_t *b, size_t n, double rate)
{
    double off = dependence(a, b, n, rate);
    if (!(off < DEVIATES))
        fail_msg("%s: the noise of two is %.1f deviates from independent", what, off);
}

static void check_first_and_last(const answers *a, double rate)
{
    int64_t *first = calloc(DRAWS, sizeof *first), *last = first + DRAWS / 2;

    assert_non_null(first);
    for (size_t r = 0, n = 0; r < REQUESTS; r++)
        for (size_t b = 0; b < BAGS / 2; b++, n++) {
            first[n] = a->noise[r * BAGS + b];
            last[n] = a->noise[r * BAGS + BAGS - 1 - b];
        }
    check_pairs("first and last bags", first, last, DRAWS / 2, rate);
    free(first);
}

static void noise_is_independent(void **state)
{
    static const struct {
        const char *what;
        size_t lag;
    } LAGS[] = {
        {"neighbouring bags", 1},
        {"bags two apart", 2},
        {"bags three apart", 3},
        {"halves of a request", BAGS / 2},
        {"the same bag, next request", BAGS},
        {"the same bag, request after the next", 2 * BAGS},
        {"the same bag and request after opening again", DRAWS / 2},
    };
    const run *runs = *state;

    for (size_t i = 0; i < N_EPSILONS; i++) {
        const int64_t *z = runs[i].answers->noise;
        for (size_t j = 0; j < sizeof LAGS / sizeof *LAGS; j++)
            check_pairs(LAGS[j].what, z, z + LAGS[j].lag, DRAWS - LAGS[j].lag, runs[i].rate);
        check_first_and_last(runs[i].answers, runs[i].rate);
    }
}

static double audit(const answers *a, const label_grid *grid)
{
    int64_t *total[2] = {calloc(DRAWS, sizeof(int64_t)), calloc(DRAWS, sizeof(int64_t))};
    size_t n[2] = {0, 0};
    int64_t range = grid->upper - grid->lower;

    assert_true(total[0] != NULL && total[1] != NULL);
    for (size_t i = 0; i < DRAWS; i++)
        total[is_changed(i)][n[is_changed(i)]++] = a->total[i];
    double gain = observed_gain((observed){n[0], total[0]}, (observed){n[1], total[1]},
                                grid->lower - range, grid->upper + range, AUDIT_DEVIATES);
    free(total[0]);
    free(total[1]);
    return gain;
}

/* An audit without power would pass any noise: its estimate must also come near epsilon. */
static void an_observer_gains_no_more_than_epsilon(void **state)
{
    const run *runs = *state;
    for (size_t i = 0; i < N_EPSILONS; i++) {
        double epsilon = runs[i].epsilon, gain = audit(runs[i].answers, &runs[i].grid);
        print_message("epsilon %g: the observer gains %.3f\n", epsilon, gain);
        if (!(gain <= epsilon && gain > 0.8 * epsilon))
            fail_msg("epsilon is %g, but the observer gains %g", epsilon, gain);
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Noise of scale 2^49 steps: two of a hundred thousand draws are equal or opposite with a
 * probability of 5e-6, so any noise that is used twice, anywhere, is found.  Means of bags of 2 are
 * exact up to 2^53 steps. */
static void no_noise_is_used_twice(void **state)
{
    (void)state;
    pboost_ledger_rules rules = noisy_rules((pboost_rational){1, UINT64_C(1) << 29}, 0, 1, 0x1p-20);
    answers *a = ask_all(&rules, 1);

    for (size_t i = 0; i < DRAWS; i++)
        a->noise[i] = llabs(a->noise[i]);
    qsort(a->noise, DRAWS, sizeof *a->noise, by_value);
    for (size_t i = 1; i < DRAWS; i++)
        if (a->noise[i] == a->noise[i - 1])
            fail_msg("two answers have noise of %lld steps", (long long)a->noise[i]);
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_follows_its_law),
        cmocka_unit_test(noise_is_independent),
        cmocka_unit_test(an_observer_gains_no_more_than_epsilon),
        cmocka_unit_test(no_noise_is_used_twice),
    };
    return cmocka_run_group_tests(tests, ask_runs, drop_runs);
}
