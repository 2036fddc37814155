/* The mechanism: a public grid of labels and exact discrete Laplace noise on it.
 *
 * Everything up to the release of S + Z is integer arithmetic: floating-point sums and samplers
 * leak through their rounding (Mironov 2012; Casacuberta et al. 2022).  The mean is computed from
 * what was released.  The in-memory oracle and the service use these same functions. */
#ifndef PBOOST_MECHANISM_H
#define PBOOST_MECHANISM_H

#include <priorboost/core.h>

#include "base/rng.h"

__extension__ typedef unsigned __int128 pboost_u128;
__extension__ typedef __int128 pboost_i128;

/* Labels as integer multiples of step, from lower to upper; |lower|, |upper| <= 2^53. */
typedef struct {
    int64_t lower, upper;
    double step;
} label_grid;

/* The grid of bounded rules that passed pboost_rules_check. */
label_grid pboost_grid(const pboost_rules *rules);

/* Refuses a grid on which the labels of n rows could sum to more than 2^62. */
pboost_status pboost_grid_check_rows(const label_grid *grid, size_t n, pboost_error *err);

/* The point of the grid nearest to a finite label. */
int64_t pboost_grid_place(const label_grid *grid, double label);

/* The same for many.  Where the step is a power of two, dividing by it is multiplying. */
void pboost_grid_place_all(int64_t *point, const label_grid *grid, const double *label, size_t n);

/* total * step / size */
double pboost_grid_mean(const label_grid *grid, int64_t total, size_t size);

/* The sign of total * step / size - 1/2, exactly: -1, 0 or 1. */
int pboost_grid_side_of_half(const label_grid *grid, int64_t total, size_t size);

/* The largest total of `size` labels whose mean is at most 1/2, and whether it is 1/2; not known if
 * it is too large for exact doubles. */
typedef struct {
    bool known, exact;
    int64_t total;
} grid_half;

grid_half pboost_grid_half(const label_grid *grid, size_t size);

uint64_t pboost_gcd(uint64_t a, uint64_t b);

/* num / den, the scale of noise: z has probability proportional to exp(-|z| den / num).
 * num is positive and below 2^118, den positive, num / den at most 2^52. */
typedef struct {
    pboost_u128 num;
    uint64_t den;
} laplace_scale;

/* The sensitivity of a sum on the grid over epsilon, in lowest terms.  One label substituted moves
 * the sum by at most upper - lower. */
laplace_scale pboost_laplace_scale(const label_grid *grid, pboost_rational epsilon);

/* The two draws that all noise is made of, exact for any words.  Uniform on 0 .. n-1; and true with
 * probability a/b, 0 <= a < b < 2^118. */
pboost_status pboost_uniform_below(uint64_t *out, uint64_t n, rng_source *source,
                                   pboost_error *err);
pboost_status pboost_coin_ratio(bool *out, pboost_u128 a, pboost_u128 b, rng_source *source,
                                pboost_error *err);

/* Values of a scale that the sampler needs; computed once for many draws. */
typedef struct {
    laplace_scale scale;
    uint64_t block; /* floor(num / den), at least 1 */
    uint64_t whole; /* block * den / num = whole + rest / num */
    pboost_u128 rest;
} laplace_sampler;

laplace_sampler pboost_laplace_sampler(laplace_scale scale);
pboost_status pboost_laplace_draw(int64_t *out, const laplace_sampler *sampler, rng_source *source,
                                  pboost_error *err);

/* True with probability exp(-a/b); b is positive, a and b are below 2^118. */
pboost_status pboost_coin_exp(bool *out, pboost_u128 a, pboost_u128 b, rng_source *source,
                              pboost_error *err);

/* Discrete Gaussian noise: z has probability proportional to exp(-z^2 / (2 sigma^2)). */
typedef struct {
    uint64_t num, den; /* sigma^2 */
    uint64_t most;     /* draws beyond it are not proposed: their probability is below exp(-128) */
    laplace_sampler proposal;
} gaussian_sampler;

/* sigma^2 = sensitivity^2 / (2 rho), rounded up; sensitivity in steps.  PBOOST_INVALID: sigma would
 * be above 2^27 steps. */
pboost_status pboost_gaussian_sampler(gaussian_sampler *out, double sensitivity,
                                      pboost_rational rho, pboost_error *err);
double pboost_gaussian_variance(const gaussian_sampler *sampler); /* of the draws */
pboost_status pboost_gaussian_draw(int64_t *out, const gaussian_sampler *sampler,
                                   rng_source *source, pboost_error *err);

/* The largest rho, of 30 bits, for which rho-zCDP is (epsilon, delta)-differential privacy by
 * rho + 2 sqrt(rho log(1/delta)) <= epsilon (Bun and Steinke 2016). */
pboost_rational pboost_gaussian_rho(pboost_rational epsilon, pboost_rational delta);

/* One number of an answer: a sum on a grid, and the noise that is added to it. */
typedef struct {
    label_grid grid; /* of bounded rules */
    bool noisy;
    pboost_mechanism mechanism;
    laplace_sampler noise;
    gaussian_sampler gaussian;
} answer_number;

/* By number, `width` of them; rules that passed pboost_rules_check.  Free with free(). */
pboost_status pboost_numbers_make(answer_number **out, const pboost_rules *rules,
                                  pboost_error *err);

/* Adds the noise to the sum of a bag: what is released of it. */
pboost_status pboost_number_release(int64_t *total, const answer_number *number, rng_source *source,
                                    pboost_error *err);

/* The sign of z - bar for a draw z.  Only the sign is drawn, with a few words instead of about ten;
 * use it if nothing else about z will be released.  |bar| is below 2^63. */
pboost_status pboost_laplace_side(int *out, const laplace_sampler *sampler, int64_t bar,
                                  rng_source *source, pboost_error *err);

#endif
