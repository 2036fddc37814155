/* The ridges of a fit of classes, by the likelihood of the answers.
 *
 * The weights of a group of columns (the straight ones; those of each curve) are normal about 0
 * with a variance of their own, phi / lambda.  With G and b the information and the right-hand side
 * of the quadratic approximation of the quasi-likelihood at the point, P the penalty, A = G + P and
 * theta = A^-1 b, the likelihood of the answers is stationary where, for each group g,
 *
 *     lambda_g  =  phi (n_g - tr A^-1 P_g) / (theta' P_g theta / lambda_g):
 *
 * the number of weights that the answers know, over the square of what they say.  The equation is
 * iterated on the approximation, which is then made again at the new point, until nothing changes.
 *
 * Where the form of the model is wrong, residuals are larger than it expects, by a factor phi of
 * their squares, and the answers know less.  They also know something else: what bags differ in is
 * not what the rows of a bag differ in.  Bags left out do not show this.  So phi is taken twice,
 * which changes nothing where the form is right; measurements are in docs/classes.md.
 *
 * Why not the usual ridge: columns that say almost the same (length and width) need weights much
 * larger than it expects.  Under noise larger weights move the point to where the answers look
 * more informative than they are, so there no ridge is weaker than the usual one. */
#include <math.h>
#include <string.h>

#include "classes/fit.h"
#include "try.h"

#define STEPS 6       /* on one approximation */
#define STILL 0.03    /* a change of a logarithm that counts as 0 */
#define REFRESHES 12  /* of the approximation, at most */
#define PLAIN 2       /* refreshes of the sizes with the usual ridge, before */
#define WEAKEST 1e-4  /* over the usual ridge */
#define STRONG 10.0   /* the same, of straight columns without noise */
#define STRONGEST 1e4 /* the same, of all others */

static size_t straight_columns(const class_fit *fit)
{
    return fit->pass.cols - fit->options->curves;
}

static size_t group_of(const class_fit *fit, size_t column)
{
    const pboost_fit_options *o = fit->options;
    if (column < straight_columns(fit))
        return 0;
    return 1 + (o->curve_of != NULL ? o->curve_of[column - straight_columns(fit)] : 0);
}

/* The penalty of a column over the ridge of its group: the functions of a curve have the same
 * ridge in the units of x (smooth/curve.c). */
static double share_of(const class_fit *fit, size_t column)
{
    double scale = fit->units.scale[column];
    return column < straight_columns(fit) ? 1.0 : 1.0 / (scale * scale);
}

/* The first group whose ridge is found.  Two classes are a logistic model, whose straight columns
 * have the usual one. */
static size_t first_found(const class_fit *fit)
{
    return fit->given || fit->classes == 2;
}

static void set_penalties(class_fit *fit)
{
    size_t first = fit->given ? straight_columns(fit) : 0; /* those before have what is given */
    for (size_t j = first; j < fit->pass.cols; j++)
        fit->penalty[j + fit->pass.intercept] = fit->ridge[group_of(fit, j)] * share_of(fit, j);
    fit->lambda = fit->given ? fit->lambda : fit->ridge[0];
}

pboost_status pboost_class_ridges_init(class_fit *fit, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = fit->pass.n_parameters, curves = fit->options->curves;

    fit->n_ridges = curves == 0 ? 1 : group_of(fit, fit->pass.cols - 1) + 1;
    NEED(fit->ridge = pboost_alloc(fit->n_ridges, sizeof(double)), err);
    NEED(fit->evidence = pboost_alloc(3 * n * n + 4 * n + fit->n_ridges, sizeof(double)), err);
done:
    return st;
}

/* The quadratic approximation, and memory to work with. */
typedef struct {
    class_fit *fit;
    double *information; /* G, both triangles */
    double *right;       /* b */
    double *inverse, *theta;
    pboost_cholesky factor;
    double *next; /* by group */
} evidence;

static evidence lay_out(class_fit *fit)
{
    size_t n = fit->pass.n_parameters;
    evidence e = {.fit = fit, .information = fit->evidence};
    e.inverse = e.information + n * n;
    e.factor = (pboost_cholesky){.n = n, .l = e.inverse + n * n};
    e.factor.scale = e.factor.l + n * n;
    e.right = e.factor.scale + n;
    e.theta = e.right + n;
    e.factor.dropped = (unsigned char *)(e.theta + n);
    e.next = e.theta + 2 * n;
    return e;
}

/* m += sign times the penalty. */
static void add_penalty(double *m, const class_fit *fit, double sign)
{
    size_t width = fit->pass.width, n = fit->pass.n_parameters;
    for (size_t j = 0; j < width; j++)
        for (size_t a = 1; a < fit->classes; a++)
            for (size_t b = 1; b < fit->classes; b++)
                m[((a - 1) * width + j) * n + (b - 1) * width + j] +=
                    sign * pboost_class_penalty(fit, a, b, j);
}

/* From the matrix and the gradient of the last step: A theta - gradient is b. */
static void approximate(evidence *e)
{
    class_fit *fit = e->fit;
    size_t n = fit->pass.n_parameters;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++)
            e->information[i * n + k] = e->information[k * n + i] = fit->lm.matrix[i * n + k];
    for (size_t i = 0; i < n; i++) {
        e->right[i] = -fit->lm.gradient[i];
        for (size_t k = 0; k < n; k++)
            e->right[i] += e->information[i * n + k] * (fit->parameter[k] - fit->start[k]);
    }
    add_penalty(e->information, fit, -1.0);
}

/* tr(A^-1 M) / tr(A^-1 G), where M is the sum of the squares of what bags add to the equation: how
 * much larger they are than the model expects, in the directions that the answers say least of.
 * A residual over its variance has no bound where a class is almost impossible; this has. */
static double spread_of_scores(evidence *e)
{
    class_fit *fit = e->fit;
    size_t n = fit->pass.n_parameters;
    double found = 0.0, expected = 0.0;

    fit->access->scores(e->factor.l, fit);
    pboost_cholesky_invert(e->inverse, &fit->lm.factor);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++) {
            double twice = (i == k ? 1.0 : 2.0) * e->inverse[i * n + k];
            found += twice * e->factor.l[i * n + k];
            expected += twice * e->information[i * n + k];
        }
    return expected > 0.0 ? fmax(1.0, found / expected) : 1.0;
}

/* What the equation gives for a group, from the inverse of A and theta. */
static double ridge_of(const evidence *e, size_t group, double phi)
{
    const class_fit *fit = e->fit;
    size_t n = fit->pass.n_parameters, width = fit->pass.width;
    double known = 0.0, square = 0.0;

    for (size_t column = 0; column < fit->pass.cols; column++) {
        size_t j = column + fit->pass.intercept;
        if (group_of(fit, column) != group)
            continue;
        known += (double)(fit->classes - 1);
        for (size_t a = 1; a < fit->classes; a++)
            for (size_t b = 1; b < fit->classes; b++) {
                size_t i = (a - 1) * width + j, k = (b - 1) * width + j;
                double p = pboost_class_penalty(fit, a, b, j);
                known -= p * e->inverse[i * n + k];
                square += p * e->theta[i] * e->theta[k] / fit->ridge[group];
            }
    }
    return phi * fmax(known, 0.0) / fmax(square, 1e-300);
}

/* One step of the equation for all groups; returns the largest change of a logarithm. */
static double improve(evidence *e, double phi, double usual)
{
    class_fit *fit = e->fit;
    size_t n = fit->pass.n_parameters;
    double change = 0.0;

    memcpy(e->factor.l, e->information, n * n * sizeof(double));
    add_penalty(e->factor.l, fit, 1.0);
    memset(e->factor.dropped, 0, n);
    pboost_cholesky_factor(&e->factor, pboost_rank_tolerance(n), false);
    pboost_cholesky_solve(e->theta, &e->factor, e->right);
    pboost_cholesky_invert(e->inverse, &e->factor);
    for (size_t g = first_found(fit); g < fit->n_ridges; g++) {
        double least = fit->noisy ? usual : WEAKEST * usual;
        double most = (g == 0 && !fit->noisy ? STRONG : STRONGEST) * usual;
        e->next[g] = fmin(fmax(ridge_of(e, g, phi), least), most);
        change = fmax(change, fabs(log(e->next[g] / fit->ridge[g])));
    }
    for (size_t g = first_found(fit); g < fit->n_ridges; g++)
        fit->ridge[g] = e->next[g];
    set_penalties(fit);
    return change;
}

void pboost_class_ridges_start(class_fit *fit, double usual)
{
    for (size_t g = 0; g < fit->n_ridges; g++)
        fit->ridge[g] = usual;
    fit->ridge_refreshes = 0;
    fit->ridges_settled = !(usual > 0.0) || first_found(fit) == fit->n_ridges;
    set_penalties(fit);
}

void pboost_class_ridges_refresh(class_fit *fit, double usual)
{
    size_t n = fit->n_ridges;
    double phi, moved = 0.0, before[1 + PBOOST_MAX_CLASS_WEIGHTS];
    evidence e = lay_out(fit);

    if (fit->ridges_settled || ++fit->ridge_refreshes <= PLAIN)
        return;
    memcpy(before, fit->ridge, n * sizeof *before);
    approximate(&e);
    phi = spread_of_scores(&e);
    phi *= phi;
    for (int i = 0; i < STEPS && improve(&e, phi, usual) > STILL; i++)
        ;
    for (size_t g = 0; g < n; g++)
        moved = fmax(moved, fabs(log(fit->ridge[g] / before[g])));
    fit->ridges_settled = moved <= STILL || fit->ridge_refreshes >= PLAIN + REFRESHES;
}
