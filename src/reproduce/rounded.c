/* The oracle of the paper's logistic experiments.  See rounded.h.
 *
 * Let c = size/2 - ones, which is what the noise must exceed for a mean above 1/2, and let Z be the
 * noise of the sum: discrete Laplace on steps of 1/g, with q = exp(-epsilon/g).  For c >= 0
 *
 *     P(Z > c) + P(Z = c)/2 = q^(gc) (q + (1 - q)/2) / (1 + q) = exp(-epsilon c) / 2,
 *
 * whatever g is, and the rest follows from symmetry. */
#include "rounded.h"

#include <math.h>

#include "base/rng.h"
#include "try.h"

#define ALWAYS ((uint64_t)1 << 63) /* of 2^63: as many as words have without their last bit */

struct repro_rounded {
    const unsigned char *label;
    pboost_rules rules;
    double epsilon; /* INFINITY: no noise */
    uint64_t seed, questions;
    size_t reach;       /* the chances below are for lead <= reach */
    uint64_t chance[1]; /* by lead + reach */
};

/* Of 2^63, that the answer is 1.  lead = ones - zeros. */
static uint64_t find_chance(double epsilon, double lead)
{
    double other = lead == 0.0 ? 0.5 : 0.5 * exp(-0.5 * epsilon * fabs(lead));
    uint64_t less = (uint64_t)(other * (double)ALWAYS);
    return lead > 0.0 ? ALWAYS - less : less;
}

pboost_rational repro_rounded_epsilon(pboost_rational epsilon)
{
    bool changes = find_chance(pboost_rational_value(epsilon), -1.0) > 0;
    return changes ? epsilon : (pboost_rational){0, 0};
}

/* Optimal bags are smaller than two of the least. */
pboost_status repro_rounded_create(repro_rounded **out, const unsigned char *label, size_t min_bag,
                                   pboost_rational epsilon, uint64_t seed, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    repro_rounded *o = NULL;
    size_t reach = 2 * min_bag;

    NEED(o = calloc(1, sizeof *o + 2 * reach * sizeof *o->chance), err);
    o->label = label;
    o->rules = (pboost_rules)PBOOST_RULES_INIT;
    o->rules.min_bag = min_bag;
    o->rules.round = true;
    o->epsilon = pboost_rational_value(epsilon);
    o->seed = seed;
    o->reach = reach;
    for (size_t i = 0; i <= 2 * reach; i++)
        o->chance[i] = find_chance(o->epsilon, (double)i - (double)reach);
done:
    *out = o;
    return st;
}

void repro_rounded_free(repro_rounded *oracle)
{
    free(oracle);
}

/* The library's coin for a tie without noise: it depends on the rows, not on their order or on when
 * they are asked about. */
static double toss(const repro_rounded *o, const size_t *row, size_t size)
{
    uint64_t content = 0;
    for (size_t i = 0; i < size; i++)
        content += pboost_rng_key(o->seed, RNG_COIN, 0, row[i]);
    return (double)(pboost_rng_key(o->seed, RNG_COIN, content | 1, 0) >> 63);
}

static uint64_t chance_of(const repro_rounded *o, const size_t *row, size_t size)
{
    size_t ones = 0;
    for (size_t i = 0; i < size; i++)
        ones += o->label[row[i]];
    if (size > o->reach)
        return find_chance(o->epsilon, 2.0 * (double)ones - (double)size);
    return o->chance[o->reach + 2 * ones - size];
}

static pboost_status ask(void *self, size_t round, const pboost_bags *bags, double *answer,
                         pboost_error *err)
{
    enum { BLOCK = 256 };
    repro_rounded *o = self;
    uint64_t word[BLOCK];
    bool ties = isinf(o->epsilon); /* are tossed */

    (void)round;
    (void)err;
    for (size_t first = 0; first < bags->n_bags; first += BLOCK) {
        size_t count = bags->n_bags - first < BLOCK ? bags->n_bags - first : BLOCK;
        pboost_rng_fill(word, (count + 1) / 2, o->seed, RNG_NOISE, o->questions, first / 2);
        for (size_t b = first; b < first + count; b++) {
            const size_t *row = bags->row + bags->start[b];
            size_t size = bags->start[b + 1] - bags->start[b];
            uint64_t chance = chance_of(o, row, size);
            /* whether the word is below the chance, without a branch that nothing can predict */
            answer[b] = (double)(int64_t)(((word[b - first] >> 1) - chance) >> 63);
            if (ties && chance == ALWAYS / 2)
                answer[b] = toss(o, row, size);
        }
    }
    o->questions++;
    return PBOOST_OK;
}

pboost_oracle repro_rounded_interface(repro_rounded *oracle)
{
    return (pboost_oracle){.rules = oracle->rules, .self = oracle, .ask = ask};
}
