/* The paper's experiments as tables. */
#include "settings.h"

#include <math.h>

#include "try.h"

static const experiment_info EXPERIMENTS[N_EXPERIMENTS] = {
    [EXPERIMENT_LINEAR] = {"linear",
                           "Linear regression",
                           PBOOST_LINEAR,
                           AXIS_STEP,
                           3,
                           {{PBOOST_PRIORBOOST, PENALTY_SUM, 0},
                            {PBOOST_ONESHOT, PENALTY_SUM, 0},
                            {PBOOST_PBPREFIX, PENALTY_SUM, 0}}},
    [EXPERIMENT_LOGISTIC] = {"logistic",
                             "Logistic regression",
                             PBOOST_LOGISTIC,
                             AXIS_STEP,
                             5,
                             {{PBOOST_PRIORBOOST, PENALTY_SUM, 0},
                              {PBOOST_ONESHOT, PENALTY_SUM, 0},
                              {PBOOST_PBPREFIX, PENALTY_SUM, 0},
                              {PBOOST_ONESHOT, PENALTY_PER_ROW, 0},
                              {PBOOST_PBPREFIX, PENALTY_PER_ROW, 0}}},
    [EXPERIMENT_PRIVACY] = {"privacy",
                            "Label differential privacy",
                            PBOOST_LOGISTIC,
                            AXIS_EPSILON,
                            3,
                            {{PBOOST_PRIORBOOST, PENALTY_SUM, 0},
                             {PBOOST_ONESHOT, PENALTY_SUM, 0},
                             {PBOOST_ONESHOT, PENALTY_PER_ROW, 1}}},
    [EXPERIMENT_BAG_SIZE] = {"bag-size",
                             "Optimal bag size",
                             PBOOST_LOGISTIC,
                             AXIS_ROWS,
                             1,
                             {{PBOOST_PRIORBOOST, PENALTY_SUM, 0}}},
};

const experiment_info *repro_experiment(experiment_id id)
{
    return &EXPERIMENTS[id];
}

const char *repro_axis_name(experiment_axis axis)
{
    static const char *const NAMES[] = {"step", "epsilon", "n"};
    return NAMES[axis];
}

const char *repro_scale_name(repro_scale scale)
{
    return scale == SCALE_PAPER ? "paper" : "small";
}

/* ---- Defaults -------------------------------------------------------------------------------- */

/* Thirteen values in geometric progression, and the 0.3 that the paper's text names. */
static const char *const EPSILONS[] = {"0.01", "0.0215", "0.0464", "0.1", "0.215", "0.3",  "0.464",
                                       "1",    "2.15",   "4.64",   "10",  "21.5",  "46.4", "100"};
#define N_EPSILONS (sizeof EPSILONS / sizeof *EPSILONS)

static const size_t BAGS[] = {1, 2, 4, 8, 16, 32, 64};
#define N_BAGS (sizeof BAGS / sizeof *BAGS)

/* What differs between the experiments and between the scales. */
typedef struct {
    unsigned log2_rows, log2_test_rows, first_log2_size; /* 0: one size */
    size_t features, rounds, realizations;
    double l2;
} defaults;

static const defaults DEFAULTS[][N_EXPERIMENTS] = {
    [SCALE_SMALL] = {[EXPERIMENT_LINEAR] = {16, 16, 0, 8, 32, 1, 0.0},
                     [EXPERIMENT_LOGISTIC] = {16, 16, 0, 8, 32, 1, 10.0},
                     [EXPERIMENT_PRIVACY] = {16, 16, 0, 8, 32, 3, 10.0},
                     [EXPERIMENT_BAG_SIZE] = {17, 16, 12, 16, 32, 3, 10.0}},
    [SCALE_PAPER] = {[EXPERIMENT_LINEAR] = {20, 20, 0, 8, 256, 1, 0.0},
                     [EXPERIMENT_LOGISTIC] = {20, 20, 0, 8, 256, 1, 10.0},
                     [EXPERIMENT_PRIVACY] = {20, 20, 0, 8, 256, 10, 10.0},
                     [EXPERIMENT_BAG_SIZE] = {19, 18, 14, 64, 128, 10, 10.0}},
};

static pboost_status set_epsilons(experiment_setup *setup, experiment_id id, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_rational none = {0, 0};

    setup->n_epsilons = 0;
    if (id == EXPERIMENT_PRIVACY)
        for (size_t i = 0; i < N_EPSILONS; i++)
            TRY(pboost_rational_parse(&setup->epsilon[setup->n_epsilons++], EPSILONS[i], err));
    setup->epsilon[setup->n_epsilons++] =
        id == EXPERIMENT_BAG_SIZE ? (pboost_rational){1, 1} : none;
done:
    return st;
}

pboost_status repro_settings_init(repro_settings *out, repro_scale scale, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (repro_settings){.scale = scale};
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++) {
        const defaults *d = &DEFAULTS[scale][id];
        experiment_setup *setup = &out->setup[id];
        *setup = (experiment_setup){.rows = (size_t)1 << d->log2_rows,
                                    .test_rows = (size_t)1 << d->log2_test_rows,
                                    .features = d->features,
                                    .rounds = d->rounds,
                                    .realizations = d->realizations,
                                    .noise = 0.1,
                                    .l2 = d->l2,
                                    .n_bags = N_BAGS};
        for (size_t i = 0; i < N_BAGS; i++)
            setup->min_bag[i] = BAGS[i];
        if (d->first_log2_size > 0)
            for (unsigned log2 = d->first_log2_size; log2 <= d->log2_rows; log2++)
                setup->size[setup->n_sizes++] = (size_t)1 << log2;
        TRY(set_epsilons(setup, id, err));
    }
done:
    return st;
}

/* ---- Checking -------------------------------------------------------------------------------- */

static pboost_status check_setup(const experiment_setup *s, const experiment_info *info,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 1; i < s->n_bags; i++)
        if (s->min_bag[i] <= s->min_bag[i - 1])
            FAIL(err, PBOOST_INVALID, "the bag sizes must ascend, but %zu comes after %zu",
                 s->min_bag[i], s->min_bag[i - 1]);
    for (size_t i = 1; i < s->n_epsilons; i++)
        if (!(pboost_rational_value(s->epsilon[i]) > pboost_rational_value(s->epsilon[i - 1])))
            FAIL(err, PBOOST_INVALID, "the epsilons must ascend, but %g comes after %g",
                 pboost_rational_value(s->epsilon[i]), pboost_rational_value(s->epsilon[i - 1]));
    for (size_t i = 1; i < s->n_sizes; i++)
        if (s->size[i] <= s->size[i - 1])
            FAIL(err, PBOOST_INVALID, "the sizes must ascend, but %zu comes after %zu", s->size[i],
                 s->size[i - 1]);
    size_t least = s->n_sizes > 0 ? s->size[0] : s->rows;
    size_t bag = s->min_bag[s->n_bags - 1];
    if (least / s->rounds < bag)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: %zu rows in %zu rounds are slices of %zu rows, fewer than the largest bag size "
             "of %zu; at most %zu rounds are possible",
             info->name, least, s->rounds, least / s->rounds, bag, least / bag);
    if (s->l2 == 0.0 && least / s->rounds <= s->features)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: %zu rows in %zu rounds are slices of %zu rows, too few for %zu features without "
             "a penalty",
             info->name, least, s->rounds, least / s->rounds, s->features);
done:
    return st;
}

pboost_status repro_settings_check(const repro_settings *settings, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++)
        if (settings->wanted[id])
            TRY(check_setup(&settings->setup[id], &EXPERIMENTS[id], err));
done:
    return st;
}

/* ---- Points ---------------------------------------------------------------------------------- */

size_t repro_n_points(const repro_settings *settings, experiment_id id)
{
    const experiment_setup *s = &settings->setup[id];
    switch (EXPERIMENTS[id].axis) {
    case AXIS_STEP:
        return s->rounds;
    case AXIS_EPSILON:
        return s->n_epsilons;
    default:
        return s->n_sizes;
    }
}

double repro_point(const repro_settings *settings, experiment_id id, size_t i)
{
    const experiment_setup *s = &settings->setup[id];
    switch (EXPERIMENTS[id].axis) {
    case AXIS_STEP:
        return (double)(i + 1);
    case AXIS_EPSILON:
        return pboost_rational_value(s->epsilon[i]);
    default:
        return (double)s->size[i];
    }
}

/* ---- Seeds ----------------------------------------------------------------------------------- */

/* The finaliser of SplitMix64 (Steele et al. 2014): a bijection that spreads every bit. */
static uint64_t spread(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t repro_mix(uint64_t seed, uint64_t a, uint64_t b)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    return spread(spread(spread(seed + golden) + golden + a) + golden + b);
}

uint64_t repro_realization_seed(const repro_settings *settings, size_t realization)
{
    return realization == 0 ? settings->seed : repro_mix(settings->seed, 1, realization);
}
