/* The rules of an oracle: what contradicts itself is refused, defaults are filled in, and each
 * number of an answer has rules of its own.
 *
 * An answer is one number or several.  Each of them is a sum on a grid with noise of its own, as if
 * it were a mean that is asked for alone with a part of epsilon (pboost_rules_number); so checks,
 * noise and variances are those of one number. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/options.h"
#include "data/answers.h"
#include "oracle/mechanism.h"
#include "try.h"

static const char *const ANSWERS[] = {"mean", "classes", "columns"};
PBOOST_NAMES(pboost_answer, ANSWERS, "answer")

static const char *const MECHANISMS[] = {"laplace", "gaussian"};
PBOOST_NAMES(pboost_mechanism, MECHANISMS, "mechanism")

#define GRID_LIMIT 0x1p53 /* integers up to here are exact as doubles */
enum { DEFAULT_STEP_BITS = 20, NOISE_SCALE_BITS = 52, SHARE_BITS = 20 };

/* ---- One number ------------------------------------------------------------------------------ */

static pboost_status check_bounds(const pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double lower = rules->lower, upper = rules->upper;

    if (!isfinite(lower) || !isfinite(upper) || !isfinite(upper - lower))
        FAIL(err, PBOOST_INVALID, "bounds are [%g, %g]; they must be finite", lower, upper);
    if (lower >= upper)
        FAIL(err, PBOOST_INVALID, "bounds are [%g, %g]; the lower must be less than the upper",
             lower, upper);
done:
    return st;
}

static pboost_status check_step(pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double span = rules->upper - rules->lower;
    double far = fmax(fabs(rules->lower), fabs(rules->upper));
    double step = rules->step;

    if (step == 0) {
        int exponent;
        frexp(span, &exponent);
        step = ldexp(1.0, exponent - 1 - DEFAULT_STEP_BITS);
    }
    if (!isfinite(step) || step < DBL_MIN)
        FAIL(err, PBOOST_INVALID, "step is %g; it must be a positive number, or 0 for the default",
             step);
    if (step > span)
        FAIL(err, PBOOST_INVALID, "step is %g, larger than the range of the bounds [%g, %g], %g",
             step, rules->lower, rules->upper, span);
    if (far / step > GRID_LIMIT)
        FAIL(err, PBOOST_INVALID,
             "step is %g, but the bounds [%g, %g] are then more than 2^53 steps from 0; "
             "it must be at least %g",
             step, rules->lower, rules->upper, far / GRID_LIMIT);
    rules->step = step;
done:
    return st;
}

static pboost_status check_epsilon(const pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rational epsilon = rules->epsilon;

    if (epsilon.num == 0)
        FAIL(err, PBOOST_INVALID, "epsilon is 0; it must be a positive number such as 0.5");
    if (!rules->bounded)
        FAIL(err, PBOOST_INVALID,
             "epsilon is %g, but labels have no bounds; the noise depends on the smallest and the "
             "largest possible label",
             pboost_rational_value(epsilon));
    label_grid grid = pboost_grid(rules);
    if (rules->mechanism == PBOOST_GAUSSIAN) {
        gaussian_sampler sampler;
        TRY(pboost_gaussian_sampler(&sampler, (double)(grid.upper - grid.lower), rules->rho, err));
        goto done;
    }
    laplace_scale scale = pboost_laplace_scale(&grid, epsilon);
    if (scale.num > (pboost_u128)scale.den << NOISE_SCALE_BITS)
        FAIL(err, PBOOST_INVALID,
             "epsilon is %g on a grid of %g steps; their ratio must be at least 2^-52",
             pboost_rational_value(epsilon), (double)(grid.upper - grid.lower));
done:
    return st;
}

static pboost_status check_number(pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (rules->bounded) {
        TRY(check_bounds(rules, err));
        TRY(check_step(rules, err));
    } else if (rules->step != 0) {
        FAIL(err, PBOOST_INVALID, "step is %g, but labels have no bounds; a step needs bounds",
             rules->step);
    }
    if (rules->epsilon.den != 0)
        TRY(check_epsilon(rules, err));
    else if (rules->epsilon.num != 0)
        FAIL(err, PBOOST_INVALID,
             "epsilon is %llu/0; the denominator must not be 0, and 0/0 means no noise",
             (unsigned long long)rules->epsilon.num);
done:
    return st;
}

/* Of a mean.  The variance of discrete Laplace noise is 2p/(1-p)^2 with p = exp(-1/scale). */
static double noise_variance(const pboost_rules *rules, size_t size)
{
    if (rules->epsilon.den == 0)
        return 0;
    label_grid grid = pboost_grid(rules);
    if (rules->mechanism == PBOOST_GAUSSIAN) {
        gaussian_sampler s;
        double step = grid.step / (double)size;
        (void)pboost_gaussian_sampler(&s, (double)(grid.upper - grid.lower), rules->rho, NULL);
        return pboost_gaussian_variance(&s) * step * step;
    }
    double rate = pboost_rational_value(rules->epsilon) / (double)(grid.upper - grid.lower);
    double unit = grid.step / (double)size / expm1(-rate);
    return 2 * exp(-rate) * unit * unit;
}

/* ---- Which rules a number has ---------------------------------------------------------------- */

/* epsilon (or rho) * share / total, in lowest terms. */
static pboost_status divide_epsilon(pboost_rational *epsilon, uint64_t share, uint64_t total,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rational whole = *epsilon;
    uint64_t common = pboost_gcd(share, total);

    if (whole.den == 0 || whole.num == 0)
        goto done;
    share /= common;
    total /= common;
    common = pboost_gcd(whole.num, total);
    epsilon->num /= common;
    total /= common;
    common = pboost_gcd(epsilon->den, share);
    epsilon->den /= common;
    share /= common;
    if (__builtin_mul_overflow(epsilon->num, share, &epsilon->num) ||
        __builtin_mul_overflow(epsilon->den, total, &epsilon->den))
        FAIL(err, PBOOST_INVALID,
             "epsilon is %g, which cannot be divided exactly between the numbers of an answer; "
             "write it with fewer digits",
             pboost_rational_value(whole));
done:
    return st;
}

static uint64_t total_shares(const pboost_rules *rules)
{
    uint64_t total = 0;
    for (size_t j = 0; j < rules->width; j++)
        total += rules->columns != NULL ? rules->columns[j].share : 1;
    return total;
}

/* The rules of a number whose sum of shares is known. */
static pboost_status number_rules(pboost_rules *out, const pboost_rules *rules, size_t number,
                                  uint64_t shares, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint64_t share = 1;

    *out = *rules;
    out->answer = PBOOST_ANSWER_MEAN;
    out->width = 1;
    out->columns = NULL;
    if (rules->answer == PBOOST_ANSWER_COLUMNS && rules->columns != NULL) {
        const pboost_label_column *column = &rules->columns[number];
        out->lower = column->lower;
        out->upper = column->upper;
        out->step = column->step;
        share = column->share;
    }
    if (rules->answer != PBOOST_ANSWER_MEAN)
        TRY(divide_epsilon(out->mechanism == PBOOST_GAUSSIAN ? &out->rho : &out->epsilon, share,
                           shares, err));
    TRY(check_number(out, err));
done:
    return st;
}

/* One label substituted leaves one class and enters another: two counts change by 1. */
static uint64_t shares_of(const pboost_rules *rules)
{
    return rules->answer == PBOOST_ANSWER_CLASSES ? 2 : total_shares(rules);
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static pboost_status check_width(pboost_rules *rules, pboost_error *err)
{
    static const size_t LEAST[] = {1, 3, 1};
    pboost_status st = PBOOST_OK;
    size_t kind = (size_t)rules->answer;

    if (kind >= sizeof LEAST / sizeof *LEAST)
        FAIL(err, PBOOST_INVALID, "answer %zu is unknown; it must be 0, 1 or 2", kind);
    if (rules->answer == PBOOST_ANSWER_MEAN && rules->width == 0)
        rules->width = 1;
    if (rules->answer == PBOOST_ANSWER_MEAN && rules->width != 1)
        FAIL(err, PBOOST_INVALID, "width is %zu, but a mean is 1 number", rules->width);
    if (rules->answer == PBOOST_ANSWER_CLASSES && rules->width == 2)
        FAIL(err, PBOOST_INVALID,
             "width is 2; two classes are a mean of labels 0 and 1, which needs half the noise");
    if (rules->width < LEAST[kind] || rules->width > PBOOST_WIDTH_MAX)
        FAIL(err, PBOOST_INVALID, "width is %zu; for %s it must be from %zu to %d", rules->width,
             ANSWERS[kind], LEAST[kind], PBOOST_WIDTH_MAX);
    if (rules->answer != PBOOST_ANSWER_MEAN && rules->round)
        FAIL(err, PBOOST_INVALID, "answers of %s cannot be rounded to 0 or 1", ANSWERS[kind]);
done:
    return st;
}

/* A count is a sum of zeros and ones. */
static pboost_status set_class_bounds(pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (rules->bounded && (rules->lower != 0 || rules->upper != 1))
        FAIL(err, PBOOST_INVALID, "bounds are [%g, %g]; classes have none, or [0, 1]", rules->lower,
             rules->upper);
    if (rules->step != 0 && rules->step != 1)
        FAIL(err, PBOOST_INVALID, "step is %g; classes have none, or 1", rules->step);
    rules->bounded = true;
    rules->lower = 0;
    rules->upper = rules->step = 1;
done:
    return st;
}

/* rho is filled in; one that is given may only be smaller. */
static pboost_status check_mechanism(pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_rational delta = rules->delta;

    if ((size_t)rules->mechanism >= sizeof MECHANISMS / sizeof *MECHANISMS)
        FAIL(err, PBOOST_INVALID, "mechanism %d is unknown; it must be 0 or 1",
             (int)rules->mechanism);
    if (rules->mechanism == PBOOST_LAPLACE) {
        if (delta.den != 0 || rules->rho.den != 0)
            FAIL(err, PBOOST_INVALID, "delta or rho is given, but the noise is Laplace");
        goto done;
    }
    if (rules->round)
        FAIL(err, PBOOST_INVALID, "answers with Gaussian noise cannot be rounded to 0 or 1");
    if (rules->epsilon.den == 0 || rules->epsilon.num == 0)
        FAIL(err, PBOOST_INVALID, "Gaussian noise needs epsilon and delta, but epsilon is none");
    if (delta.den == 0 || delta.num == 0 || delta.num >= delta.den)
        FAIL(err, PBOOST_INVALID,
             "delta is %g; Gaussian noise needs one between 0 and 1, such as 1e-6",
             delta.den == 0 ? 0.0 : pboost_rational_value(delta));
    pboost_rational most = pboost_gaussian_rho(rules->epsilon, delta);
    if (most.den == 0)
        FAIL(err, PBOOST_INVALID, "epsilon is %g, too small or too large for Gaussian noise",
             pboost_rational_value(rules->epsilon));
    if (rules->rho.den == 0)
        rules->rho = most;
    if (rules->rho.num == 0 ||
        pboost_rational_value(rules->rho) > pboost_rational_value(most) * (1 + 1e-12))
        FAIL(err, PBOOST_INVALID, "rho is %g; for this epsilon and delta it may be at most %g",
             pboost_rational_value(rules->rho), pboost_rational_value(most));
done:
    return st;
}

static pboost_status check_columns(const pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (rules->answer != PBOOST_ANSWER_COLUMNS)
        FAIL(err, PBOOST_INVALID, "label columns are given, but an answer is %s",
             ANSWERS[rules->answer]);
    if (!rules->bounded)
        FAIL(err, PBOOST_INVALID, "label columns have bounds each, but bounded is false");
    for (size_t j = 0; j < rules->width; j++)
        if (rules->columns[j].share < 1 || rules->columns[j].share > UINT64_C(1) << SHARE_BITS)
            FAIL(err, PBOOST_INVALID,
                 "the share of label column %zu in epsilon is %llu; it must be from 1 to 2^20", j,
                 (unsigned long long)rules->columns[j].share);
done:
    return st;
}

static pboost_status check_rules(pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rules number;

    if (rules->min_bag == 0)
        FAIL(err, PBOOST_INVALID, "min_bag is 0; it must be at least 1");
    TRY(check_width(rules, err));
    TRY(check_mechanism(rules, err));
    if (rules->columns != NULL)
        TRY(check_columns(rules, err));
    if (rules->answer == PBOOST_ANSWER_CLASSES)
        TRY(set_class_bounds(rules, err));
    uint64_t shares = shares_of(rules);
    size_t different = rules->columns != NULL ? rules->width : 1;
    for (size_t j = 0; j < different; j++)
        TRY(number_rules(&number, rules, j, shares, err));
    if (rules->columns == NULL)
        rules->step = number.step;
done:
    return st;
}

pboost_status pboost_rules_check(pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rules own = PBOOST_RULES_INIT;

    TRY(OPTIONS_READ(&own, rules, PBOOST_RULES_INIT, err));
    TRY(check_rules(&own, err));
    own.struct_size = rules->struct_size;
    memcpy(rules, &own, own.struct_size); /* an older caller's struct ends there */
done:
    return st;
}

pboost_status pboost_rules_check_scalar(const pboost_rules *rules, const char *who,
                                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (rules->width != 1)
        FAIL(err, PBOOST_INVALID, "the oracle answers with %s, %zu numbers a bag; %s needs means",
             pboost_answer_name(rules->answer), rules->width, who);
done:
    return st;
}

/* ---- What they mean -------------------------------------------------------------------------- */

pboost_status pboost_rules_number(pboost_rules *out, const pboost_rules *rules, size_t number,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rules own = PBOOST_RULES_INIT;

    *out = own;
    TRY(OPTIONS_READ(&own, rules, PBOOST_RULES_INIT, err));
    TRY(check_rules(&own, err));
    if (number >= own.width)
        FAIL(err, PBOOST_INVALID, "number %zu of an answer is asked for, but the last is %zu",
             number, own.width - 1);
    TRY(number_rules(out, &own, number, shares_of(&own), err));
done:
    return st;
}

pboost_status pboost_numbers_make(answer_number **out, const pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rules own;
    answer_number *number = NULL;

    *out = NULL;
    NEED(number = calloc(rules->width, sizeof *number), err);
    for (size_t j = 0; j < rules->width; j++) {
        TRY(number_rules(&own, rules, j, shares_of(rules), err));
        if (!own.bounded)
            continue;
        number[j].grid = pboost_grid(&own);
        number[j].noisy = own.epsilon.den != 0;
        number[j].mechanism = own.mechanism;
        if (number[j].noisy && own.mechanism == PBOOST_GAUSSIAN)
            TRY(pboost_gaussian_sampler(&number[j].gaussian,
                                        (double)(number[j].grid.upper - number[j].grid.lower),
                                        own.rho, err));
        else if (number[j].noisy)
            number[j].noise =
                pboost_laplace_sampler(pboost_laplace_scale(&number[j].grid, own.epsilon));
    }
    *out = number;
    number = NULL;
done:
    free(number);
    return st;
}

pboost_status pboost_number_release(int64_t *total, const answer_number *number, rng_source *source,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    int64_t noise = 0;

    if (number->noisy)
        TRY(number->mechanism == PBOOST_GAUSSIAN
                ? pboost_gaussian_draw(&noise, &number->gaussian, source, err)
                : pboost_laplace_draw(&noise, &number->noise, source, err));
    *total += noise;
done:
    return st;
}

double pboost_rules_epsilon(const pboost_rules *rules, size_t answers)
{
    pboost_rules own = PBOOST_RULES_INIT;

    if (OPTIONS_READ(&own, rules, PBOOST_RULES_INIT, NULL) != PBOOST_OK)
        return NAN;
    if (own.mechanism != PBOOST_GAUSSIAN)
        return (double)answers * pboost_rational_value(own.epsilon);
    if (check_mechanism(&own, NULL) != PBOOST_OK)
        return NAN;
    double rho = (double)answers * pboost_rational_value(own.rho);
    double l = log((double)own.delta.den / (double)own.delta.num);
    return rho + 2 * sqrt(rho * l);
}

double pboost_rules_noise_variance(const pboost_rules *rules, size_t size)
{
    pboost_rules own = PBOOST_RULES_INIT, number;

    if (OPTIONS_READ(&own, rules, PBOOST_RULES_INIT, NULL) != PBOOST_OK || own.width > 1)
        return NAN;
    if (own.epsilon.den == 0)
        return 0;
    if (pboost_rules_number(&number, &own, 0, NULL) != PBOOST_OK)
        return NAN;
    return noise_variance(&number, size);
}

pboost_status pboost_rules_noise_variances(double *out, const pboost_rules *rules, size_t size,
                                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rules own = PBOOST_RULES_INIT, number;

    TRY(OPTIONS_READ(&own, rules, PBOOST_RULES_INIT, err));
    TRY(check_rules(&own, err));
    uint64_t shares = shares_of(&own);
    for (size_t j = 0; j < own.width; j++) {
        TRY(number_rules(&number, &own, j, shares, err));
        out[j] = noise_variance(&number, size);
    }
done:
    return st;
}
