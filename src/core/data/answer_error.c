/* The density of the sum of a normal variable of variance s^2 and a Laplace variable of scale b is
 *
 *     p(r) = exp(-r^2 / 2s^2) (w(x) + w(y)) / 4b,   w(t) = exp(t^2) erfc(t)
 *
 * with x = (s/b - r/s) / sqrt 2 and y = (s/b + r/s) / sqrt 2, and its score is
 * psi(r) = (w(x) - w(y)) / (w(x) + w(y)) / b. */
#include "data/answer_error.h"

#include <math.h>

#define PI 3.14159265358979323846
#define SQRT_HALF 0.70710678118654752440
#define LEAST_RATIO 1e-4 /* of the sampling variance to that of the noise; below it, this */
#define MOST_RATIO 50.0  /* beyond it the sum is normal: 1 / I is V to 1e-5 */
#define LARGE 25.0       /* where erfc is almost too small for a double */

static double scaled_erfc(double t)
{
    if (t < LARGE)
        return exp(t * t) * erfc(t);
    double y = 0.5 / (t * t);
    return (1.0 - y * (1.0 - 3.0 * y)) / (t * sqrt(PI));
}

typedef struct {
    double s, b, ratio;
    double near, far; /* w(x) and w(y) at |r|; near overflows far from 0 */
} laplace_point;

static bool is_normal(answer_error e)
{
    return !e.laplace || !(e.noise > 0.0) || !(e.sampling < MOST_RATIO * e.noise);
}

static laplace_point point_at(double r, answer_error e)
{
    laplace_point p = {.b = sqrt(0.5 * e.noise), .ratio = fmax(e.sampling / e.noise, LEAST_RATIO)};
    p.s = sqrt(p.ratio * e.noise);
    p.near = scaled_erfc((p.s / p.b - fabs(r) / p.s) * SQRT_HALF);
    p.far = scaled_erfc((p.s / p.b + fabs(r) / p.s) * SQRT_HALF);
    return p;
}

/* I V as a function of the ratio: a polynomial fitted to its integral, right to 0.0002. */
static double efficiency(double ratio)
{
    static const double C[] = {1.999985,  -3.187298,  1.776832,  3.550105, -12.19294,
                               37.367312, -62.774551, 48.146101, -13.68571};
    double root = sqrt(fmax(ratio, LEAST_RATIO)), x = root / (1.0 + root), sum = 0.0;
    for (int i = (int)(sizeof C / sizeof *C) - 1; i >= 0; i--)
        sum = sum * x + C[i];
    return fmax(sum, 1.0);
}

double pboost_working_variance(answer_error e)
{
    double v = e.sampling + e.noise;
    return is_normal(e) ? v : v / efficiency(e.sampling / e.noise);
}

working_residual pboost_working_residual(double r, answer_error e)
{
    working_residual w = {r, pboost_working_variance(e)};
    if (!is_normal(e)) {
        laplace_point p = point_at(r, e);
        double q = p.far / p.near; /* 0 where near overflows */
        w.residual = copysign((1.0 - q) / (1.0 + q) / p.b * w.variance, r);
    }
    return w;
}

double pboost_residual_log_density(double r, answer_error e)
{
    double v = e.sampling + e.noise;
    if (is_normal(e))
        return -0.5 * (r * r / v + log(2.0 * PI * v));
    laplace_point p = point_at(r, e);
    if (isinf(p.near)) /* w(x) = 2 exp(x^2) */
        return p.ratio - fabs(r) / p.b - log(2.0 * p.b);
    return log(p.near + p.far) - 0.5 * (r / p.s) * (r / p.s) - log(4.0 * p.b);
}
