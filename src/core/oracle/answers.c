/* The log of bags and answers.
 *
 * Room for the whole round is made before the oracle is asked, so that nothing can fail between
 * the moment rows are spent and the moment their answers are in the log. */
#include "data/answers.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bags/bags.h"
#include "base/options.h"
#include "try.h"

/* Makes room for `need` items in an array of *capacity, at least doubling it. */
static pboost_status grow(void **array, size_t item, size_t need, size_t capacity,
                          pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t bytes;
    void *grown = NULL;

    if (need <= capacity)
        goto done;
    if (!__builtin_mul_overflow(need, item, &bytes))
        grown = realloc(*array, bytes);
    NEED(grown, err);
    *array = grown;
done:
    return st;
}

#define RESERVE(array, need, capacity, err)                                                        \
    do {                                                                                           \
        void *grow_array = (array);                                                                \
        TRY(grow(&grow_array, sizeof *(array), (need), (capacity), (err)));                        \
        (array) = grow_array;                                                                      \
    } while (0)

/* At least `need`, and at least twice what there was if that is not enough. */
static size_t next_capacity(size_t capacity, size_t need)
{
    if (need <= capacity)
        return capacity;
    return capacity > need / 2 && capacity <= SIZE_MAX / 2 ? 2 * capacity : need;
}

void pboost_answers_clear(pboost_answers *answers)
{
    free(answers->round_start);
    free(answers->start);
    free(answers->row);
    free(answers->mean);
    free(answers->noise_variance);
    *answers = (pboost_answers){0};
}

/* A log without rounds may still change its width. */
static pboost_status set_width(pboost_answers *a, size_t width, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (a->n_rounds > 0 && a->width != width)
        FAIL(err, PBOOST_INVALID,
             "answers of %zu numbers a bag are added to a log of answers of %zu; use another log",
             width, a->width);
    a->width = width;
done:
    return st;
}

pboost_status pboost_answers_reserve(pboost_answers *a, size_t width, size_t rounds, size_t bags,
                                     size_t rows, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n_bags, n_rows, n_numbers;

    TRY(set_width(a, width, err));
    if (__builtin_add_overflow(rounds, a->n_rounds, &rounds) ||
        __builtin_add_overflow(rounds, (size_t)1, &rounds) ||
        __builtin_add_overflow(a->n_bags, bags, &n_bags) ||
        __builtin_add_overflow(n_bags, (size_t)1, &n_bags) ||
        __builtin_add_overflow(a->n_rows, rows, &n_rows))
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
    rounds = next_capacity(a->round_capacity, rounds);
    n_bags = next_capacity(a->bag_capacity, n_bags);
    n_rows = next_capacity(a->row_capacity, n_rows);

    RESERVE(a->round_start, rounds, a->round_capacity, err);
    a->round_capacity = rounds;
    RESERVE(a->start, n_bags, a->bag_capacity, err);
    a->bag_capacity = n_bags;
    if (__builtin_mul_overflow(n_bags, width, &n_numbers))
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
    RESERVE(a->mean, n_numbers, a->number_capacity, err);
    RESERVE(a->noise_variance, n_numbers, a->number_capacity, err);
    a->number_capacity = n_numbers;
    RESERVE(a->row, n_rows, a->row_capacity, err);
    a->row_capacity = n_rows;
done:
    return st;
}

pboost_status pboost_answers_create(pboost_answers **out, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    NEED(*out = calloc(1, sizeof **out), err);
done:
    return st;
}

void pboost_answers_free(pboost_answers *answers)
{
    if (answers == NULL)
        return;
    pboost_answers_clear(answers);
    free(answers);
}

/* Counts in the bags whose means and noise are already at the end of the log. */
static void append(pboost_answers *a, const pboost_bags *bags)
{
    a->round_start[0] = 0;
    a->start[0] = 0;
    for (size_t b = 0; b < bags->n_bags; b++)
        a->start[a->n_bags + b + 1] = a->n_rows + bags->start[b + 1];
    if (bags->n_rows > 0)
        memcpy(a->row + a->n_rows, bags->row, bags->n_rows * sizeof *a->row);
    a->n_rows += bags->n_rows;
    a->n_bags += bags->n_bags;
    a->n_rounds++;
    a->round_start[a->n_rounds] = a->n_bags;
}

/* Bags of the same size, which often are neighbours, have the same noise. */
static pboost_status set_noise(pboost_answers *a, const pboost_bags *bags,
                               const pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *variance = a->noise_variance + a->n_bags * a->width, *last = NULL;
    size_t last_size = 0;

    for (size_t b = 0; b < bags->n_bags; b++, variance += a->width) {
        size_t size = bags->start[b + 1] - bags->start[b];
        if (size == last_size && last != NULL)
            memcpy(variance, last, a->width * sizeof *variance);
        else
            TRY(pboost_rules_noise_variances(variance, rules, size, err));
        last = variance;
        last_size = size;
    }
done:
    return st;
}

/* ", number 3", the number within an answer, where answers have several. */
static const char *number_name(char text[32], size_t i, size_t width)
{
    text[0] = '\0';
    if (width > 1)
        snprintf(text, 32, ", number %zu", i % width);
    return text;
}

/* What can fail is done before the oracle is asked: the rows of an answer that is not in the log
 * would be lost. */
pboost_status pboost_answers_ask(pboost_answers *answers, const pboost_oracle *oracle,
                                 const pboost_bags *bags, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *mean;
    char number[32];
    pboost_rules rules = oracle->rules;

    TRY(OPTIONS_INSIDE(&rules, PBOOST_RULES_INIT, err));
    TRY(pboost_rules_check(&rules, err));
    TRY(pboost_answers_reserve(answers, rules.width, 1, bags->n_bags, bags->n_rows, err));
    TRY(pboost_bags_check_starts(bags, rules.min_bag, err));
    TRY(set_noise(answers, bags, &rules, err));
    mean = answers->mean + answers->n_bags * rules.width;
    TRY(oracle->ask(oracle->self, answers->n_rounds, bags, mean, err));
    for (size_t i = 0; i < bags->n_bags * rules.width; i++)
        if (!isfinite(mean[i]))
            FAIL(err, PBOOST_ORACLE, "the oracle answered %g for bag %zu%s; it must be finite",
                 mean[i], i / rules.width, number_name(number, i, rules.width));
    append(answers, bags);
    answers->rounded = answers->rounded || rules.round;
    answers->other_noise = answers->other_noise || rules.mechanism != PBOOST_LAPLACE;
done:
    return st;
}

static pboost_status check_given(const pboost_bags *bags, size_t width, const double *mean,
                                 const double *noise_variance, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char number[32];

    if (width < 1 || width > PBOOST_WIDTH_MAX)
        FAIL(err, PBOOST_INVALID, "width is %zu; it must be from 1 to %d", width, PBOOST_WIDTH_MAX);
    TRY(pboost_bags_check_starts(bags, 0, err));
    for (size_t i = 0; i < bags->n_bags * width; i++) {
        double noise = noise_variance != NULL ? noise_variance[i] : 0.0;
        size_t b = i / width;
        if (bags->start[b + 1] <= bags->start[b])
            FAIL(err, PBOOST_BAD_DATA, "bag %zu has no rows", b);
        if (!isfinite(mean[i]))
            FAIL(err, PBOOST_BAD_DATA, "the mean of bag %zu%s is %g; it must be finite", b,
                 number_name(number, i, width), mean[i]);
        if (!(noise >= 0.0) || isinf(noise))
            FAIL(err, PBOOST_BAD_DATA,
                 "the noise variance of bag %zu%s is %g; it must be finite and not negative", b,
                 number_name(number, i, width), noise);
    }
done:
    return st;
}

pboost_status pboost_answers_append_vectors(pboost_answers *answers, const pboost_bags *bags,
                                            size_t width, const double *mean,
                                            const double *noise_variance, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(check_given(bags, width, mean, noise_variance, err));
    TRY(pboost_answers_reserve(answers, width, 1, bags->n_bags, bags->n_rows, err));
    for (size_t i = 0, at = answers->n_bags * width; i < bags->n_bags * width; i++) {
        answers->mean[at + i] = mean[i];
        answers->noise_variance[at + i] = noise_variance != NULL ? noise_variance[i] : 0.0;
        answers->other_noise = answers->other_noise || answers->noise_variance[at + i] > 0.0;
    }
    append(answers, bags);
done:
    return st;
}

pboost_status pboost_answers_append(pboost_answers *answers, const pboost_bags *bags,
                                    const double *mean, const double *noise_variance,
                                    pboost_error *err)
{
    return pboost_answers_append_vectors(answers, bags, 1, mean, noise_variance, err);
}

/* Round by round, so that a learner that forgets earlier rounds can. */
static pboost_status copy_number(pboost_answers *to, const pboost_answers *from, size_t number,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t width = pboost_answers_width(from);

    TRY(pboost_answers_reserve(to, 1, from->n_rounds, from->n_bags, from->n_rows, err));
    to->start[0] = to->round_start[0] = 0;
    for (size_t b = 0; b < from->n_bags; b++) {
        to->start[b + 1] = from->start[b + 1];
        to->mean[b] = from->mean[b * width + number];
        to->noise_variance[b] = from->noise_variance[b * width + number];
    }
    if (from->n_rows > 0)
        memcpy(to->row, from->row, from->n_rows * sizeof *to->row);
    for (size_t t = 0; t < from->n_rounds; t++)
        to->round_start[t + 1] = from->round_start[t + 1];
    to->n_rounds = from->n_rounds;
    to->n_bags = from->n_bags;
    to->n_rows = from->n_rows;
    to->rounded = from->rounded;
    to->other_noise = from->other_noise;
done:
    return st;
}

pboost_status pboost_answers_number(pboost_answers **out, const pboost_answers *answers,
                                    size_t number, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_answers *own = NULL;

    *out = NULL;
    if (number >= pboost_answers_width(answers))
        FAIL(err, PBOOST_INVALID, "number %zu of the answers is asked for, but the last is %zu",
             number, pboost_answers_width(answers) - 1);
    TRY(pboost_answers_create(&own, err));
    TRY(copy_number(own, answers, number, err));
    *out = own;
    own = NULL;
done:
    pboost_answers_free(own);
    return st;
}

/* ---- What is in it --------------------------------------------------------------------------- */

pboost_bags pboost_answers_bags(const pboost_answers *answers)
{
    return (pboost_bags){answers->n_rows, answers->n_bags, answers->row, answers->start};
}

size_t pboost_answers_rounds(const pboost_answers *answers)
{
    return answers->n_rounds;
}

size_t pboost_answers_round_start(const pboost_answers *answers, size_t round)
{
    return round < answers->n_rounds ? answers->round_start[round] : answers->n_bags;
}

const double *pboost_answers_mean(const pboost_answers *answers)
{
    return answers->mean;
}

const double *pboost_answers_noise_variance(const pboost_answers *answers)
{
    return answers->noise_variance;
}

size_t pboost_answers_width(const pboost_answers *answers)
{
    return answers->width > 0 ? answers->width : 1;
}

pboost_status pboost_answers_check_scalar(const pboost_answers *answers, const char *who,
                                          pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (pboost_answers_width(answers) != 1)
        FAIL(err, PBOOST_INVALID, "the answers have %zu numbers a bag; %s needs one",
             answers->width, who);
done:
    return st;
}
