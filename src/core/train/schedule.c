/* Slices: how many rows each round uses.
 *
 * The border after round t is the fraction of the table that the schedule gives to rounds 1 .. t,
 * rounded down, so that every row is in exactly one slice. */
#include "train/schedule.h"

#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/workspace.h"
#include "large.h"
#include "try.h"

/* Last slice over first in a geometric schedule. */
#define GROWTH 16.0

static size_t equal_border(size_t rows, size_t rounds, size_t t)
{
    size_t longer = rows % rounds; /* this many slices have one row more */
    return rows / rounds * t + (t < longer ? t : longer);
}

/* Slices proportional to 1, r, r^2, ... with r^(T-1) = GROWTH. */
static size_t geometric_border(size_t rows, size_t rounds, size_t t)
{
    if (rounds == 1 || t == rounds)
        return t == 0 ? 0 : rows;
    double log_r = log(GROWTH) / (double)(rounds - 1);
    double share = expm1(log_r * (double)t) / expm1(log_r * (double)rounds);
    return (size_t)(share * (double)rows);
}

static const char *const NAMES[] = {"equal", "geometric"};
static size_t (*const BORDER[])(size_t rows, size_t rounds, size_t t) = {equal_border,
                                                                         geometric_border};
#define N_SCHEDULES (sizeof NAMES / sizeof *NAMES)

PBOOST_NAMES(pboost_schedule, NAMES, "schedule")

/* Both schedules give the first slice the fewest rows, up to rounding. */
static size_t smallest_slice(pboost_schedule schedule, size_t rows, size_t rounds)
{
    size_t least = rows;
    for (size_t t = 0; t < rounds && t < 3; t++) {
        size_t n = BORDER[schedule](rows, rounds, t + 1) - BORDER[schedule](rows, rounds, t);
        least = n < least ? n : least;
    }
    size_t last = rows - BORDER[schedule](rows, rounds, rounds - 1);
    return last < least ? last : least;
}

static size_t most_rounds(pboost_schedule schedule, size_t rows, size_t least_rows)
{
    size_t fits = 1, too_many = rows / least_rows + 1;
    while (too_many - fits > 1) {
        size_t middle = fits + (too_many - fits) / 2;
        if (smallest_slice(schedule, rows, middle) >= least_rows)
            fits = middle;
        else
            too_many = middle;
    }
    return fits;
}

pboost_status pboost_schedule_check(pboost_schedule schedule, size_t rows, size_t rounds,
                                    size_t least_rows, pboost_error *err)
{
    if (rounds == 0)
        return pboost_fail(err, PBOOST_INVALID, "rounds is 0; it must be at least 1");
    if ((size_t)schedule >= N_SCHEDULES)
        return pboost_fail(err, PBOOST_INVALID, "schedule %d is unknown", (int)schedule);
    if (least_rows == 0)
        return pboost_fail(err, PBOOST_INVALID, "a slice of 0 rows; it must have at least 1");
    if (rows < least_rows)
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "bags must have at least %zu rows, but the table has %zu rows",
                           least_rows, rows);
    if (rounds > rows || smallest_slice(schedule, rows, rounds) < least_rows)
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "rounds is %zu, but %zu rows in %s slices of at least %zu allow at "
                           "most %zu rounds",
                           rounds, rows, pboost_schedule_name(schedule), least_rows,
                           most_rounds(schedule, rows, least_rows));
    return PBOOST_OK;
}

pboost_status pboost_schedule_slices(size_t *start, pboost_schedule schedule, size_t rows,
                                     size_t rounds, size_t least_rows, pboost_error *err)
{
    pboost_status st = pboost_schedule_check(schedule, rows, rounds, least_rows, err);
    for (size_t t = 0; st == PBOOST_OK && t <= rounds; t++)
        start[t] = BORDER[schedule](rows, rounds, t);
    return st;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

/* A part may have few rows, but not none in the first round where all have. */
static pboost_status check_counts(const size_t *count, size_t parts, pboost_schedule schedule,
                                  size_t rounds, size_t min_bag, pboost_error *err)
{
    size_t largest = 0;

    for (size_t p = 0; p < parts; p++) {
        largest = count[p] > largest ? count[p] : largest;
        if (count[p] > 0 && count[p] < min_bag)
            return pboost_fail(err, PBOOST_BAD_DATA,
                               "part %zu has %zu rows, but bags must have at least %zu, and rows of"
                               " different parts share no bag",
                               p, count[p], min_bag);
    }
    return pboost_schedule_check(schedule, largest, rounds, min_bag, err);
}

pboost_status pboost_schedule_groups(size_t *group, pboost_schedule schedule, const size_t *count,
                                     size_t parts, size_t rounds, size_t min_bag, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(check_counts(count, parts, schedule, rounds, min_bag, err));
    for (size_t p = 0; p < parts; p++) {
        size_t own = count[p] > 0 ? most_rounds(schedule, count[p], min_bag) : rounds;
        size_t without = own < rounds ? rounds - own : 0;
        for (size_t t = 0; t < rounds; t++)
            group[t * parts + p + 1] =
                t < without ? 0
                            : BORDER[schedule](count[p], rounds - without, t - without + 1) -
                                  BORDER[schedule](count[p], rounds - without, t - without);
    }
    group[0] = 0; /* from sizes to places */
    for (size_t g = 0; g < parts * rounds; g++)
        group[g + 1] += group[g];
done:
    return st;
}

pboost_status pboost_schedule_arrange(size_t *order, const size_t *group, const uint32_t *part,
                                      size_t parts, size_t rounds, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = group[parts * rounds];
    size_t *sorted = NULL, *next = NULL; /* rows by part; by part: the next of its rows there */

    NEED(sorted = pboost_alloc_large(n, sizeof *sorted), err);
    NEED(next = calloc(parts + 1, sizeof *next), err);
    for (size_t i = 0; i < n; i++)
        next[part[i] + 1]++;
    for (size_t p = 0; p < parts; p++)
        next[p + 1] += next[p];
    for (size_t i = 0; i < n; i++)
        sorted[next[part[order[i]]]++] = order[i];
    for (size_t p = parts; p > 0; p--) /* back to where each part begins */
        next[p] = next[p - 1];
    next[0] = 0;
    for (size_t g = 0; g < parts * rounds; g++) {
        size_t rows = group[g + 1] - group[g];
        memcpy(order + group[g], sorted + next[g % parts], rows * sizeof *order);
        next[g % parts] += rows;
    }
done:
    free(sorted);
    free(next);
    return st;
}

size_t pboost_rounds_default(size_t rows, size_t features, size_t min_bag)
{
    size_t least = 20 * features > min_bag ? 20 * features : min_bag;
    for (size_t rounds = 16; rounds > 1; rounds /= 2)
        if (rows / rounds >= least)
            return rounds;
    return 1;
}
