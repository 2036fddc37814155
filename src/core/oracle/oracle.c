/* The in-memory oracle: the only file of the library that can reach a label by row.
 *
 * A question passes every rule before a label is read, so that refusals cannot depend on labels.
 * Rows are marked as spent after the last answer is ready, and a question that fails before that
 * returns no answer at all: otherwise a learner could get two answers about a row. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bags/bags.h"
#include "base/options.h"
#include "base/rng.h"
#include "mean.h"
#include "oracle/mechanism.h"
#include "try.h"

struct pboost_memory_oracle {
    pboost_rules rules;
    pboost_memory_oracle_options options;
    size_t n;
    int64_t *point; /* by row: its class; or by row, `width` each: bounded labels, in steps */
    double *value;  /* by row, `width` each: labels without bounds */
    answer_number *number;        /* by number of an answer */
    pboost_label_column *columns; /* those of the rules, copied */
    int64_t *count;               /* of the rows of a bag, by class */
    uint64_t *spent;              /* one bit by row */
    unsigned char *seen;          /* the same, for the check of a question */
    size_t rows_spent;
    uint64_t questions; /* answered so far: each has its own stream of simulated noise */
};

/* ---- Labels ---------------------------------------------------------------------------------- */

/* " in column 3", where there are several. */
static const char *column_name(char text[32], const pboost_memory_oracle *o, size_t number)
{
    text[0] = '\0';
    if (o->rules.width > 1)
        snprintf(text, 32, " in column %zu", number);
    return text;
}

/* Of one number of the answers, whose rules are `rules`. */
static pboost_status check_labels(const pboost_memory_oracle *o, const double *label, size_t number,
                                  const pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char column[32];
    size_t stride = o->rules.width;
    bool bound = rules->bounded && !o->options.clamp;
    double lower = bound ? rules->lower : -DBL_MAX, upper = bound ? rules->upper : DBL_MAX;
    size_t outside = 0;

    label += number;
    for (size_t row = 0; row < o->n; row++)
        outside += !(label[row * stride] >= lower && label[row * stride] <= upper);
    for (size_t row = 0; outside > 0 && row < o->n; row++) {
        double value = label[row * stride];
        if (!isfinite(value))
            FAIL(err, PBOOST_BAD_DATA, "the label of row %zu%s is %g; it must be a finite number",
                 row, column_name(column, o, number), value);
        if (value < lower || value > upper)
            FAIL(err, PBOOST_BAD_DATA,
                 "the label of row %zu%s is %g; it must be within the bounds [%g, %g], or be "
                 "clamped",
                 row, column_name(column, o, number), value, lower, upper);
    }
done:
    return st;
}

/* Grids and noise of all numbers, and the labels checked by them. */
static pboost_status prepare_numbers(pboost_memory_oracle *o, const double *label,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rules rules;

    TRY(pboost_numbers_make(&o->number, &o->rules, err));
    for (size_t j = 0; j < o->rules.width; j++) {
        TRY(pboost_rules_number(&rules, &o->rules, j, err));
        if (o->rules.answer != PBOOST_ANSWER_CLASSES)
            TRY(check_labels(o, label, j, &rules, err));
        if (rules.bounded)
            TRY(pboost_grid_check_rows(&o->number[j].grid, o->n, err));
    }
done:
    return st;
}

static pboost_status take_classes(pboost_memory_oracle *o, const double *label, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    NEED(o->point = pboost_alloc(o->n, sizeof *o->point), err);
    NEED(o->count = pboost_alloc(o->rules.width, sizeof *o->count), err);
    for (size_t row = 0; row < o->n; row++) {
        if (!(label[row] >= 0 && label[row] < (double)o->rules.width) ||
            label[row] != floor(label[row]))
            FAIL(err, PBOOST_BAD_DATA,
                 "the class of row %zu is %g; it must be a whole number from 0 to %zu", row,
                 label[row], o->rules.width - 1);
        o->point[row] = (int64_t)label[row];
    }
done:
    return st;
}

static pboost_status take_numbers(pboost_memory_oracle *o, const double *label, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t width = o->rules.width, items;

    if (__builtin_mul_overflow(o->n, width, &items))
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
    if (!o->rules.bounded) {
        NEED(o->value = pboost_alloc(items, sizeof *o->value), err);
        memcpy(o->value, label, items * sizeof *label);
        goto done;
    }
    NEED(o->point = pboost_alloc(items, sizeof *o->point), err);
    if (width == 1)
        pboost_grid_place_all(o->point, &o->number[0].grid, label, o->n);
    for (size_t i = 0; width > 1 && i < items; i++)
        o->point[i] = pboost_grid_place(&o->number[i % width].grid, label[i]);
done:
    return st;
}

static pboost_status take_labels(pboost_memory_oracle *o, const double *label, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(prepare_numbers(o, label, err));
    TRY(o->rules.answer == PBOOST_ANSWER_CLASSES ? take_classes(o, label, err)
                                                 : take_numbers(o, label, err));
done:
    return st;
}

void pboost_memory_oracle_free(pboost_memory_oracle *oracle)
{
    if (oracle == NULL)
        return;
    free(oracle->point);
    free(oracle->value);
    free(oracle->number);
    free(oracle->columns);
    free(oracle->count);
    free(oracle->spent);
    free(oracle->seen);
    free(oracle);
}

pboost_status pboost_memory_oracle_create(pboost_memory_oracle **out, const double *label, size_t n,
                                          const pboost_rules *rules,
                                          const pboost_memory_oracle_options *options,
                                          pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_memory_oracle *o = NULL;

    *out = NULL;
    NEED(o = calloc(1, sizeof *o), err);
    o->rules = (pboost_rules)PBOOST_RULES_INIT;
    o->options = (pboost_memory_oracle_options)PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    o->n = n;
    if (options != NULL)
        TRY(OPTIONS_READ(&o->options, options, PBOOST_MEMORY_ORACLE_OPTIONS_INIT, err));
    TRY(OPTIONS_READ(&o->rules, rules, PBOOST_RULES_INIT, err));
    TRY(pboost_rules_check(&o->rules, err));
    if (o->rules.columns != NULL) {
        size_t bytes = o->rules.width * sizeof *o->columns;
        NEED(o->columns = malloc(bytes), err);
        o->rules.columns = memcpy(o->columns, o->rules.columns, bytes);
    }
    if (n < o->rules.min_bag)
        FAIL(err, PBOOST_BAD_DATA, "min_bag is %zu, but there are only %zu labels",
             o->rules.min_bag, n);
    TRY(take_labels(o, label, err));
    NEED(o->spent = calloc(n / 64 + 1, sizeof *o->spent), err);
    NEED(o->seen = calloc(n / 8 + 1, 1), err);
    *out = o;
done:
    if (st != PBOOST_OK)
        pboost_memory_oracle_free(o);
    return st;
}

/* ---- Which rows may be asked about ----------------------------------------------------------- */

static bool is_spent(const pboost_memory_oracle *o, size_t row)
{
    return o->spent[row / 64] >> row % 64 & 1;
}

/* pboost_bags_check reports what is wrong with the bags themselves. */
static pboost_status check_question(const pboost_memory_oracle *o, const pboost_bags *bags,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_bags_check_in(o->seen, bags, o->n, o->rules.min_bag, err));
    for (size_t b = 0; b < bags->n_bags; b++)
        for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++)
            if (is_spent(o, bags->row[i]))
                FAIL(err, PBOOST_REFUSED,
                     "row %zu in bag %zu is spent; each label can be used in one answer only",
                     bags->row[i], b);
done:
    return st;
}

static void spend(pboost_memory_oracle *o, const pboost_bags *bags)
{
    for (size_t i = 0; i < bags->n_rows; i++)
        o->spent[bags->row[i] / 64] |= UINT64_C(1) << bags->row[i] % 64;
    o->rows_spent += bags->n_rows;
    o->questions++;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* 0 or 1.  A simulated coin depends on the seed and on which rows are in the bag, not on their
 * order or on when it is asked about. */
static pboost_status toss(double *out, const pboost_memory_oracle *o, const size_t *row,
                          size_t size, rng_source *source, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint64_t word = 0;

    if (o->options.simulated) {
        uint64_t content = 0;
        for (size_t i = 0; i < size; i++)
            content += pboost_rng_key(o->options.seed, RNG_COIN, 0, row[i]);
        word = pboost_rng_key(o->options.seed, RNG_COIN, content | 1, 0);
    } else {
        TRY(pboost_rng_next(&word, source, err));
    }
    *out = (double)(word >> 63);
done:
    return st;
}

static pboost_status round_mean(double *answer, int side_of_half, const pboost_memory_oracle *o,
                                const size_t *row, size_t size, rng_source *source,
                                pboost_error *err)
{
    if (side_of_half == 0)
        return toss(answer, o, row, size, source, err);
    *answer = side_of_half > 0 ? 1 : 0;
    return PBOOST_OK;
}

/* Values that depend only on the size of a bag; neighbours often have the same size. */
typedef struct {
    size_t size;
    grid_half half;
} size_rule;

/* Whether the noisy mean is above 1/2.  Nothing else about the noise is released, so nothing else
 * is drawn if possible. */
static pboost_status find_side(int *out, const pboost_memory_oracle *o, int64_t total,
                               const size_rule *rule, rng_source *source, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool noisy = o->rules.epsilon.den != 0;
    int64_t noise = 0;

    *out = 0;
    if (rule->half.known) {
        int64_t bar = rule->half.total - total;
        if (noisy)
            TRY(pboost_laplace_side(out, &o->number->noise, bar, source, err));
        else
            *out = (bar < 0) - (bar > 0);
        if (*out == 0 && !rule->half.exact)
            *out = -1;
    } else {
        if (noisy)
            TRY(pboost_laplace_draw(&noise, &o->number->noise, source, err));
        *out = pboost_grid_side_of_half(&o->number->grid, total + noise, rule->size);
    }
done:
    return st;
}

/* The mean of a noisy sum: one number of an answer. */
static pboost_status release(double *answer, const pboost_memory_oracle *o, size_t number,
                             int64_t total, size_t size, rng_source *source, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_number_release(&total, &o->number[number], source, err));
    *answer = pboost_grid_mean(&o->number[number].grid, total, size);
done:
    return st;
}

/* A bag as its oracle answers about it. */
typedef struct {
    const size_t *row;
    size_t size;
    size_rule *rule;
} asked_bag;

static pboost_status answer_on_grid(double *answer, const pboost_memory_oracle *o,
                                    const asked_bag *bag, rng_source *source, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t width = o->rules.width;
    int64_t total = 0;
    int side;

    for (size_t j = 0; j < width; j++) {
        const int64_t *point = o->point + j;
        total = 0;
        for (size_t i = 0; i < bag->size; i++)
            total += point[bag->row[i] * width];
        if (!o->rules.round)
            TRY(release(&answer[j], o, j, total, bag->size, source, err));
    }
    if (o->rules.round) { /* the answer is one number */
        if (bag->rule->size != bag->size)
            *bag->rule = (size_rule){bag->size, pboost_grid_half(&o->number->grid, bag->size)};
        TRY(find_side(&side, o, total, bag->rule, source, err));
        TRY(round_mean(answer, side, o, bag->row, bag->size, source, err));
    }
done:
    return st;
}

static pboost_status answer_classes(double *answer, const pboost_memory_oracle *o,
                                    const asked_bag *bag, rng_source *source, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    memset(o->count, 0, o->rules.width * sizeof *o->count);
    for (size_t i = 0; i < bag->size; i++)
        o->count[o->point[bag->row[i]]]++;
    for (size_t j = 0; j < o->rules.width; j++)
        TRY(release(&answer[j], o, j, o->count[j], bag->size, source, err));
done:
    return st;
}

static pboost_status answer_plain(double *answer, const pboost_memory_oracle *o,
                                  const asked_bag *bag, rng_source *source, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t width = o->rules.width;

    for (size_t j = 0; j < width; j++) {
        running_mean mean = {0};
        for (size_t i = 0; i < bag->size; i++)
            running_mean_add(&mean, o->value[bag->row[i] * width + j]);
        answer[j] = running_mean_value(&mean);
    }
    if (o->rules.round) {
        int side = (*answer > 0.5) - (*answer < 0.5);
        TRY(round_mean(answer, side, o, bag->row, bag->size, source, err));
    }
done:
    return st;
}

static pboost_status ask(void *self, size_t round, const pboost_bags *bags, double *answer,
                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_memory_oracle *o = self;
    rng_source source;
    size_rule rule = {0};
    size_t width = o->rules.width;
    (void)round;

    if (o->options.simulated)
        pboost_rng_source_seeded(&source, o->options.seed, RNG_NOISE, o->questions);
    else
        pboost_rng_source_system(&source);

    TRY(check_question(o, bags, err));
    for (size_t b = 0; b < bags->n_bags; b++) {
        asked_bag bag = {bags->row + bags->start[b], bags->start[b + 1] - bags->start[b], &rule};
        double *to = answer + b * width;
        TRY(o->rules.answer == PBOOST_ANSWER_CLASSES ? answer_classes(to, o, &bag, &source, err)
            : o->rules.bounded                       ? answer_on_grid(to, o, &bag, &source, err)
                                                     : answer_plain(to, o, &bag, &source, err));
    }
    spend(o, bags);
done:
    if (st != PBOOST_OK && bags->n_bags > 0)
        memset(answer, 0, bags->n_bags * width * sizeof *answer);
    pboost_rng_source_wipe(&source);
    return st;
}

pboost_oracle pboost_memory_oracle_interface(pboost_memory_oracle *oracle)
{
    return (pboost_oracle){.rules = oracle->rules, .self = oracle, .ask = ask};
}

size_t pboost_memory_oracle_rows_spent(const pboost_memory_oracle *oracle)
{
    return oracle->rows_spent;
}
