/* The table of families. */
#include "data/family.h"

#include <math.h>
#include <string.h>

#include "base/names.h"
#include "data/matrix.h"
#include "try.h"

/* a log(1 + x), and 0 log(0) = 0. */
static double times_log1p(double a, double x)
{
    return a == 0.0 ? 0.0 : a * log1p(x);
}

/* ---- Linear ---------------------------------------------------------------------------------- */

static bool any_finite(double y)
{
    return isfinite(y);
}

static double identity(double value)
{
    return value;
}

static double constant_variance(double mean)
{
    (void)mean;
    return 1.0;
}

static double linear_quasi(double y, double from, double to, double n, double c)
{
    return (to - from) * (y - 0.5 * (from + to)) / (1.0 / n + c);
}

static double linear_slope(double y, double v)
{
    (void)y;
    return v == 0.0 ? 0.0 : INFINITY;
}

/* ---- Logistic -------------------------------------------------------------------------------- */

static bool zero_or_one(double y)
{
    return y == 0.0 || y == 1.0;
}

static double logistic_mean(double eta)
{
    return 1.0 / (1.0 + exp(-eta));
}

static double logistic_eta(double mean)
{
    return log(mean / (1.0 - mean));
}

static double logistic_variance(double mean)
{
    return mean * (1.0 - mean);
}

/* t (1 - t) + n c = (t + low) (1 - t + low): with noise it is the likelihood of a proportion that
 * lies between -low and 1 + low. */
static double logistic_quasi(double y, double from, double to, double n, double c)
{
    double low = n * c / (0.5 + sqrt(0.25 + n * c));
    double gain = times_log1p(y + low, (to - from) / (from + low)) +
                  times_log1p(1.0 - y + low, (from - to) / (1.0 - from + low));
    return n / (1.0 + 2.0 * low) * gain;
}

static double logistic_slope(double y, double v)
{
    return v > 0.0 ? (1.0 - y) * v : -y * v;
}

/* ---- Poisson: the mean is exp, the link log, and the variance is the mean -------------------- */

static bool not_negative(double y)
{
    return isfinite(y) && y >= 0.0;
}

static double poisson_quasi(double y, double from, double to, double n, double c)
{
    return n * (times_log1p(y + n * c, (to - from) / (from + n * c)) - (to - from));
}

/* exp grows faster than any line, so the slope is infinite.  It is a large finite number here,
 * because a v that should be 0 may have a rounding error. */
static double poisson_slope(double y, double v)
{
    return v > 0.0 ? (1e3 + fabs(y)) * v : -y * v;
}

/* ---- The table ------------------------------------------------------------------------------- */

static const family_info FAMILIES[] = {
    {PBOOST_LINEAR, "linear", "finite", "finite", any_finite, -INFINITY, INFINITY, identity,
     identity, constant_variance, linear_quasi, false, 1e-12, linear_slope, 0.0, true},
    {PBOOST_LOGISTIC, "logistic", "0 or 1", "between 0 and 1", zero_or_one, 0.0, 1.0, logistic_mean,
     logistic_eta, logistic_variance, logistic_quasi, true, 1e-9, logistic_slope, 4.0, false},
    {PBOOST_POISSON, "poisson", "finite and not negative", "positive", not_negative, 0.0, INFINITY,
     exp, log, identity, poisson_quasi, true, 1e-6, poisson_slope, 1.0, true},
};

#define N_FAMILIES (sizeof FAMILIES / sizeof *FAMILIES)

const family_info *pboost_family_info(pboost_family family)
{
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (FAMILIES[i].family == family)
            return &FAMILIES[i];
    return NULL;
}

pboost_status pboost_family_check(pboost_family family, pboost_error *err)
{
    if (pboost_family_info(family) == NULL)
        return pboost_fail(err, PBOOST_INVALID, "%d is not a family; see pboost_family",
                           (int)family);
    return PBOOST_OK;
}

const char *pboost_family_name(pboost_family family)
{
    const family_info *info = pboost_family_info(family);
    return info != NULL ? info->name : "unknown";
}

bool pboost_family_allows(pboost_family family, double label)
{
    const family_info *info = pboost_family_info(family);
    return info != NULL && info->label_ok(label);
}

const char *pboost_family_labels(pboost_family family)
{
    const family_info *info = pboost_family_info(family);
    return info != NULL ? info->labels : "unknown";
}

pboost_status pboost_family_parse(pboost_family *out, const char *name, pboost_error *err)
{
    const char *names[N_FAMILIES];
    size_t i = 0;
    for (size_t f = 0; f < N_FAMILIES; f++)
        names[f] = FAMILIES[f].name;
    pboost_status st = pboost_name_parse(&i, names, N_FAMILIES, "family", name, err);
    *out = FAMILIES[i].family;
    return st;
}

pboost_status pboost_family_check_labels(pboost_family family, const pboost_samples *samples,
                                         pboost_error *err)
{
    const family_info *info = pboost_family_info(family);
    for (size_t i = 0; i < samples->n; i++)
        if (!info->label_ok(samples->target[i]))
            return pboost_fail(err, PBOOST_BAD_DATA,
                               "the label of sample %zu (row %zu) is %.17g; %s labels are %s", i,
                               pboost_samples_row(samples, i), samples->target[i], info->name,
                               info->labels);
    return PBOOST_OK;
}

const glm_kernels *pboost_glm_kernels(void)
{
#ifdef PBOOST_SIMD_X86
    static const glm_kernels *const levels[SIMD_LEVELS] = {
        &pboost_glm_kernels_plain, &pboost_glm_kernels_avx2, &pboost_glm_kernels_avx512};
    return levels[pboost_simd_level()];
#else
    return &pboost_glm_kernels_plain;
#endif
}

/* ---- Coefficients ---------------------------------------------------------------------------- */

pboost_status pboost_coef_init(pboost_coef *out, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    *out = (pboost_coef){0};
    NEED(out->theta = pboost_alloc(n, sizeof *out->theta), err);
    memset(out->theta, 0, n * sizeof *out->theta);
    out->n = n;
done:
    return st;
}

void pboost_coef_free(pboost_coef *coef)
{
    if (coef == NULL)
        return;
    free(coef->theta);
    *coef = (pboost_coef){0};
}
