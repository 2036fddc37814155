/* The paper's empirical claims, each with a verdict computed from the results.
 *
 * A claim is a function that looks at the curves, writes down the numbers that decide, and returns a
 * verdict.  Some claims depend on how the penalty is read: lambda = 10 on the sum of losses weighs
 * 256 times as much on a slice as on all rows.  Such a claim is tested under both readings. */
#include "claims.h"

#include <math.h>
#include <string.h>

#include "try.h"

#define NEAR 1.10   /* a loss within 10 % of another is near it */
#define MATCH 0.05  /* two losses that differ by at most 5 % match */
#define ERRORS 2.0  /* a difference counts from two standard errors on */
#define SLACK 0.05  /* and a reversal of a trend if it is also more than 5 % */
#define FROM_BAG 16 /* the bag size from which the paper says so */
#define FROM_EPSILON 0.3
#define REMAINS 0.02 /* of the excess after the first step: the rest is gone */

/* What a claim sees: one experiment's results, and where to write the numbers. */
typedef struct {
    const repro_results *results;
    experiment_id id;
    const repro_result *r;
    const experiment_setup *setup;
    FILE *out;
} view;

/* ---- Reading curves ---------------------------------------------------------------------------- */

static const repro_curve *find(const view *v, pboost_algorithm algorithm,
                               experiment_penalty penalty, size_t k)
{
    return repro_results_find(v->results, v->id, algorithm, penalty, k);
}

static double final(const view *v, pboost_algorithm algorithm, experiment_penalty penalty, size_t k)
{
    const repro_curve *c = find(v, algorithm, penalty, k);
    return c != NULL ? repro_curve_last(v->results, v->id, c) : NAN;
}

/* Whether the bag sizes 1 and at least one other were run. */
static bool has_one(const view *v)
{
    return v->setup->min_bag[0] == 1 && v->setup->n_bags > 1;
}

/* a exceeds b by more than chance may explain. */
static bool exceeds(const view *v, const repro_curve *a, const repro_curve *b, size_t i, size_t j)
{
    double n = (double)v->setup->realizations;
    double error = sqrt((a->sd[i] * a->sd[i] + b->sd[j] * b->sd[j]) / n);
    return a->mean[i] > b->mean[j] + ERRORS * error;
}

static bool reverses(const view *v, const repro_curve *a, const repro_curve *b, size_t i, size_t j)
{
    return exceeds(v, a, b, i, j) && a->mean[i] > (1.0 + SLACK) * b->mean[j];
}

static void print_finals(const view *v, pboost_algorithm algorithm, experiment_penalty penalty)
{
    for (size_t i = 0; i < v->setup->n_bags; i++)
        fprintf(v->out, "%s%.4g", i > 0 ? ", " : "",
                final(v, algorithm, penalty, v->setup->min_bag[i]));
    fprintf(v->out, " (k = %zu to %zu)", v->setup->min_bag[0],
            v->setup->min_bag[v->setup->n_bags - 1]);
}

/* The verdict where a claim was tested under two readings. */
static page_verdict combine(bool first, bool second)
{
    return first && second   ? PAGE_HOLDS
           : first || second ? PAGE_HOLDS_ONE_READING
                             : PAGE_DOES_NOT_HOLD;
}

/* ---- Figures 1 and 2: steps -------------------------------------------------------------------- */

/* PriorBoost's final loss at every k is within 10 % of `target`; writes the ratios. */
static bool converges_to(const view *v, double target)
{
    bool all = true;
    for (size_t i = 0; i < v->setup->n_bags; i++) {
        size_t k = v->setup->min_bag[i];
        double ratio = final(v, PBOOST_PRIORBOOST, PENALTY_SUM, k) / target;
        all = all && ratio <= NEAR;
        fprintf(v->out, "%sk=%zu: %.3f", i > 0 ? ", " : "", k, ratio);
    }
    return all;
}

static double worst_final(const view *v)
{
    double worst = 0.0;
    for (size_t i = 0; i < v->setup->n_bags; i++)
        worst = fmax(worst, final(v, PBOOST_PRIORBOOST, PENALTY_SUM, v->setup->min_bag[i]));
    return worst;
}

/* What random bags cost in the first step is all but gone in the last; writes what remains. */
static bool excess_vanishes(const view *v, double target)
{
    bool all = true;
    for (size_t i = 1; i < v->setup->n_bags; i++) {
        size_t k = v->setup->min_bag[i];
        const repro_curve *c = find(v, PBOOST_PRIORBOOST, PENALTY_SUM, k);
        double left = (repro_curve_last(v->results, v->id, c) - target) / (c->mean[0] - target);
        all = all && left <= REMAINS;
        fprintf(v->out, "%sk=%zu: %.2f %%", i > 1 ? ", " : "", k, 100.0 * fmax(left, 0.0));
    }
    return all;
}

static page_verdict linear_convergence(const view *v)
{
    double one = final(v, PBOOST_PRIORBOOST, PENALTY_SUM, 1);
    if (!has_one(v))
        return PAGE_NOT_TESTED;
    fprintf(v->out, "Final MSE over that of k = 1, which is %.5f: ", one);
    bool near = converges_to(v, one);
    fputs(". Of the excess over it after the first step there remains: ", v->out);
    bool vanishes = excess_vanishes(v, one);
    fprintf(v->out,
            ". Read as 'within 10 %% after %zu steps' it %s; as 'at most 2 %% of the excess "
            "remains' it %s.",
            v->r->n_points, near ? "holds" : "does not hold", vanishes ? "holds" : "does not hold");
    return combine(near, vanishes);
}

static page_verdict logistic_convergence(const view *v)
{
    double one = final(v, PBOOST_PRIORBOOST, PENALTY_SUM, 1);
    double all_labels = final(v, PBOOST_ONESHOT, PENALTY_SUM, 1);
    double per_row = final(v, PBOOST_ONESHOT, PENALTY_PER_ROW, 1);

    if (!has_one(v))
        return PAGE_NOT_TESTED;
    fprintf(v->out, "Optimal read as PriorBoost's own loss at k = 1 (%.4f), ratios: ", one);
    bool own = converges_to(v, one);
    fprintf(
        v->out,
        ". Read as the loss of one fit to all labels: with λ on the sum of losses that is "
        "%.4f, and PriorBoost ends at %.2f to %.2f times it; with λ per row it is %.4f, ratios: ",
        all_labels, one / all_labels, worst_final(v) / all_labels, per_row);
    bool rows = converges_to(v, per_row);
    fputc('.', v->out);
    return combine(own && rows, worst_final(v) / all_labels <= NEAR);
}

static bool increases(const view *v, experiment_penalty penalty)
{
    bool all = true;
    for (size_t i = 1; i < v->setup->n_bags; i++)
        all = all && final(v, PBOOST_ONESHOT, penalty, v->setup->min_bag[i]) >
                         final(v, PBOOST_ONESHOT, penalty, v->setup->min_bag[i - 1]);
    return all;
}

static page_verdict linear_oneshot(const view *v)
{
    fputs("OneShot: ", v->out);
    print_finals(v, PBOOST_ONESHOT, PENALTY_SUM);
    fputc('.', v->out);
    return increases(v, PENALTY_SUM) ? PAGE_HOLDS : PAGE_DOES_NOT_HOLD;
}

static page_verdict logistic_oneshot(const view *v)
{
    fputs("λ on the sum: ", v->out);
    print_finals(v, PBOOST_ONESHOT, PENALTY_SUM);
    fputs("; λ per row: ", v->out);
    print_finals(v, PBOOST_ONESHOT, PENALTY_PER_ROW);
    fputc('.', v->out);
    return combine(increases(v, PENALTY_SUM), increases(v, PENALTY_PER_ROW));
}

/* The first step whose loss is at most `level`; 0: none. */
static size_t first_step(const view *v, const repro_curve *c, double level)
{
    for (size_t i = 0; i < v->r->n_points; i++)
        if (c->mean[i] <= level)
            return i + 1;
    return 0;
}

static void print_step(FILE *out, size_t step)
{
    if (step > 0)
        fprintf(out, "step %zu", step);
    else
        fputs("never", out);
}

/* At every k >= from PBPrefix ends above PriorBoost and comes near the optimum later or never. */
static bool prefix_loses(const view *v, experiment_penalty penalty, size_t from)
{
    double level = NEAR * final(v, PBOOST_PRIORBOOST, PENALTY_SUM, 1);
    bool all = true;
    const char *between = "";

    for (size_t i = 0; i < v->setup->n_bags; i++) {
        size_t k = v->setup->min_bag[i];
        const repro_curve *boost = find(v, PBOOST_PRIORBOOST, PENALTY_SUM, k);
        const repro_curve *prefix = find(v, PBOOST_PBPREFIX, penalty, k);
        if (k == 1)
            continue;
        double a = repro_curve_last(v->results, v->id, boost);
        double b = repro_curve_last(v->results, v->id, prefix);
        size_t near_a = first_step(v, boost, level), near_b = first_step(v, prefix, level);
        bool later = near_b == 0 || (near_a != 0 && near_b >= near_a);
        fprintf(v->out, "%sk=%zu: %.4g (", between, k, b);
        print_step(v->out, near_b);
        fprintf(v->out, ") / %.4g (", a);
        print_step(v->out, near_a);
        fputc(')', v->out);
        all = all && (k < from || (b > a && later));
        between = ", ";
    }
    return all;
}

static page_verdict linear_prefix(const view *v)
{
    if (!has_one(v))
        return PAGE_NOT_TESTED;
    fputs("Final MSE (first step within 10 % of the k = 1 loss) of PBPrefix / PriorBoost: ",
          v->out);
    bool all = prefix_loses(v, PENALTY_SUM, 2);
    fputc('.', v->out);
    return all ? PAGE_HOLDS : PAGE_DOES_NOT_HOLD;
}

static page_verdict logistic_prefix(const view *v)
{
    if (!has_one(v))
        return PAGE_NOT_TESTED;
    fputs("Final log loss (first step within 10 % of PriorBoost's k = 1 loss) of PBPrefix / "
          "PriorBoost. λ on the sum: ",
          v->out);
    bool sum = prefix_loses(v, PENALTY_SUM, FROM_BAG);
    fputs(". λ per row: ", v->out);
    bool rows = prefix_loses(v, PENALTY_PER_ROW, FROM_BAG);
    fputs(". (With λ on the sum PBPrefix is penalised less and less as it gathers rows.)", v->out);
    return combine(sum, rows);
}

/* ---- Figure 3: privacy ------------------------------------------------------------------------- */

static void print_epsilon(FILE *out, double epsilon)
{
    if (isfinite(epsilon))
        fprintf(out, "%g", epsilon);
    else
        fputs("∞", out);
}

/* The first point whose epsilon is at least `epsilon`. */
static size_t point_from(const view *v, double epsilon)
{
    size_t i = 0;
    while (i < v->r->n_points && v->r->x[i] < epsilon)
        i++;
    return i;
}

static page_verdict privacy_epsilon(const view *v)
{
    size_t violations = 0, steps = 0, by_errors = 0;
    for (size_t c = 0; c < v->r->n_curves; c++)
        for (size_t i = 1; v->r->curves[c].penalty == PENALTY_SUM && i < v->r->n_points; i++) {
            const repro_curve *curve = &v->r->curves[c];
            steps++;
            by_errors += exceeds(v, curve, curve, i, i - 1);
            if (reverses(v, curve, curve, i, i - 1)) {
                violations++;
                fprintf(v->out, "%s at k=%zu rises from %.4g to %.4g at ε = ",
                        pboost_algorithm_name(curve->algorithm), curve->min_bag, curve->mean[i - 1],
                        curve->mean[i]);
                print_epsilon(v->out, v->r->x[i]);
                fputs("; ", v->out);
            }
        }
    if (steps == 0)
        return PAGE_NOT_TESTED;
    fprintf(
        v->out,
        "Of %zu steps to a larger ε %zu raise the loss by more than two standard errors, %zu of "
        "these by more than 5 %%.",
        steps, by_errors, violations);
    return violations == 0 ? PAGE_HOLDS : PAGE_DOES_NOT_HOLD;
}

static size_t best_bag(const view *v, size_t point)
{
    const repro_curve *best = find(v, PBOOST_PRIORBOOST, PENALTY_SUM, v->setup->min_bag[0]);
    for (size_t b = 1; b < v->setup->n_bags; b++) {
        const repro_curve *c = find(v, PBOOST_PRIORBOOST, PENALTY_SUM, v->setup->min_bag[b]);
        best = c->mean[point] < best->mean[point] ? c : best;
    }
    return best->min_bag;
}

/* "64 up to ε = 0.215 (0.36; k = 1: 0.6), 32 up to ...", with PriorBoost's losses there. */
static void print_best_bags(const view *v)
{
    const char *between = "";
    for (size_t i = 0; i < v->r->n_points; i++) {
        size_t best = best_bag(v, i);
        if (i + 1 < v->r->n_points && best_bag(v, i + 1) == best)
            continue;
        fprintf(v->out, "%s%zu up to ε = ", between, best);
        print_epsilon(v->out, v->r->x[i]);
        fprintf(v->out, " (%.4g; k = 1: %.4g)",
                find(v, PBOOST_PRIORBOOST, PENALTY_SUM, best)->mean[i],
                find(v, PBOOST_PRIORBOOST, PENALTY_SUM, v->setup->min_bag[0])->mean[i]);
        between = ", ";
    }
}

static page_verdict privacy_priorboost(const view *v)
{
    size_t strict_until = 0, n = v->r->n_points, bags = v->setup->n_bags;
    bool strict = true, saturating = true;

    if (!has_one(v) || isfinite(v->r->x[n - 1]))
        return PAGE_NOT_TESTED;
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 1; b < bags; b++) {
            const repro_curve *small =
                find(v, PBOOST_PRIORBOOST, PENALTY_SUM, v->setup->min_bag[b - 1]);
            const repro_curve *large =
                find(v, PBOOST_PRIORBOOST, PENALTY_SUM, v->setup->min_bag[b]);
            bool worse = exceeds(v, large, small, i, i);
            strict = strict && !worse;
            saturating = saturating && (!worse || large->mean[i] <= NEAR * large->mean[n - 1]);
        }
        strict_until = strict ? i + 1 : strict_until;
    }
    fputs("Every doubling of k improves the loss, within two standard errors, ", v->out);
    if (strict_until == 0) {
        fputs("at no ε", v->out);
    } else {
        fputs("for ε up to ", v->out);
        print_epsilon(v->out, v->r->x[strict_until - 1]);
    }
    fputs(". Best k: ", v->out);
    print_best_bags(v);
    fprintf(v->out,
            ". Read as 'improves until it is within 10 %% of its own loss without noise' it %s.",
            saturating ? "holds" : "does not hold either");
    return combine(strict, saturating);
}

static page_verdict privacy_oneshot(const view *v)
{
    size_t violations = 0, steps = 0, by_errors = 0, bags = v->setup->n_bags;

    for (size_t i = 0; i < v->r->n_points; i++)
        for (size_t b = 1; b < bags; b++) {
            const repro_curve *small =
                find(v, PBOOST_ONESHOT, PENALTY_SUM, v->setup->min_bag[b - 1]);
            const repro_curve *large = find(v, PBOOST_ONESHOT, PENALTY_SUM, v->setup->min_bag[b]);
            steps++;
            by_errors += exceeds(v, small, large, i, i);
            if (reverses(v, small, large, i, i)) {
                violations++;
                fprintf(v->out, "k=%zu improves on k=%zu at ε = ", v->setup->min_bag[b],
                        v->setup->min_bag[b - 1]);
                print_epsilon(v->out, v->r->x[i]);
                fprintf(v->out, " (%.4g, %.4g); ", large->mean[i], small->mean[i]);
            }
        }
    if (steps == 0)
        return PAGE_NOT_TESTED;
    fprintf(
        v->out,
        "Of %zu doublings of k %zu lower the loss by more than two standard errors, %zu of these "
        "by more than 5 %%. Without noise: ",
        steps, by_errors, violations);
    print_finals(v, PBOOST_ONESHOT, PENALTY_SUM);
    fputc('.', v->out);
    return violations == 0 ? PAGE_HOLDS : PAGE_DOES_NOT_HOLD;
}

static page_verdict privacy_large_bag(const view *v)
{
    size_t k = v->setup->min_bag[v->setup->n_bags - 1], from = point_from(v, FROM_EPSILON);
    size_t last = v->r->n_points - 1;
    const repro_curve *c = find(v, PBOOST_PRIORBOOST, PENALTY_SUM, k);
    bool all = true;
    const char *between = "";

    if (from >= last || isfinite(v->r->x[last]))
        return PAGE_NOT_TESTED;
    fprintf(v->out, "k = %zu, loss over the non-private %.4f: ", k, c->mean[last]);
    for (size_t i = from > 0 ? from - 1 : 0; i < last; i++) {
        double ratio = c->mean[i] / c->mean[last];
        all = all && (i < from || ratio <= NEAR);
        fprintf(v->out, "%sε=", between);
        print_epsilon(v->out, v->r->x[i]);
        fprintf(v->out, ": %.3f", ratio);
        between = ", ";
    }
    fputc('.', v->out);
    return all ? PAGE_HOLDS : PAGE_DOES_NOT_HOLD;
}

/* PriorBoost and OneShot at k = 1 under one reading of the penalty; writes where they part. */
static bool matches(const view *v, experiment_penalty penalty)
{
    const repro_curve *boost = find(v, PBOOST_PRIORBOOST, PENALTY_SUM, 1);
    const repro_curve *shot = find(v, PBOOST_ONESHOT, penalty, 1);
    double gap = 0.0;
    size_t apart = 0;

    for (size_t i = 0; i < v->r->n_points; i++) {
        double here = fabs(boost->mean[i] / shot->mean[i] - 1.0);
        gap = fmax(gap, here);
        if (here <= MATCH)
            continue;
        fputs(apart++ > 0 ? ", ε=" : "they part at ε=", v->out);
        print_epsilon(v->out, v->r->x[i]);
        fprintf(v->out, ": %.4g / %.4g", boost->mean[i], shot->mean[i]);
    }
    if (apart == 0)
        fprintf(v->out, "they match at every ε, within %.1f %%", 100.0 * gap);
    return apart == 0;
}

static page_verdict privacy_match(const view *v)
{
    if (v->setup->min_bag[0] != 1)
        return PAGE_NOT_TESTED;
    fputs("PriorBoost / OneShot at k = 1. λ on the sum: ", v->out);
    bool sum = matches(v, PENALTY_SUM);
    fputs(". λ per row: ", v->out);
    bool rows = matches(v, PENALTY_PER_ROW);
    fputc('.', v->out);
    return combine(sum, rows);
}

/* ---- Figure 4: the best bag size --------------------------------------------------------------- */

/* Whether the best bag size falls from point i-1 to i by more than chance may explain. */
static bool falls(const view *v, size_t i, bool beyond_chance)
{
    size_t before = repro_best_bag(v->results, v->id, i - 1);
    size_t here = repro_best_bag(v->results, v->id, i);
    if (here >= before)
        return false;
    return !beyond_chance || exceeds(v, find(v, PBOOST_PRIORBOOST, PENALTY_SUM, before),
                                     find(v, PBOOST_PRIORBOOST, PENALTY_SUM, here), i, i);
}

static page_verdict bag_size_grows(const view *v)
{
    bool strictly = true, but_for_chance = true;
    size_t last = v->r->n_points - 1;

    if (v->r->n_points < 2 || v->setup->n_bags < 2)
        return PAGE_NOT_TESTED;
    fputs("Best k: ", v->out);
    for (size_t i = 0; i <= last; i++) {
        strictly = strictly && !(i > 0 && falls(v, i, false));
        but_for_chance = but_for_chance && !(i > 0 && falls(v, i, true));
        fprintf(v->out, "%s%zu at n = %.0f", i > 0 ? ", " : "",
                repro_best_bag(v->results, v->id, i), v->r->x[i]);
    }
    fprintf(v->out, "; %s.",
            strictly         ? "it never falls"
            : but_for_chance ? "where it falls, the two losses are within two standard errors"
                             : "it falls by more than two standard errors explain");
    bool grows = repro_best_bag(v->results, v->id, last) > repro_best_bag(v->results, v->id, 0);
    return combine(strictly && grows, but_for_chance && grows);
}

/* log2 of the n from which on `large` is better than `small`, between two points by the straight
 * line through their log losses; NaN where the curves do not cross. */
static double crossover(const view *v, const repro_curve *small, const repro_curve *large)
{
    double at = NAN;
    for (size_t i = 1; i < v->r->n_points; i++) {
        double before = log(large->mean[i - 1] / small->mean[i - 1]);
        double after = log(large->mean[i] / small->mean[i]);
        if (before > 0.0 && after <= 0.0)
            at = log2(v->r->x[i - 1]) +
                 before / (before - after) * log2(v->r->x[i] / v->r->x[i - 1]);
    }
    return at;
}

static page_verdict bag_size_spread(const view *v)
{
    double last = NAN, last_gap = NAN, last_gap_log = NAN;
    bool in_rows = true, in_logs = true;
    size_t gaps = 0, crossings = 0;

    fputs("Crossovers: ", v->out);
    for (size_t b = 1; b < v->setup->n_bags; b++) {
        size_t small = v->setup->min_bag[b - 1], large = v->setup->min_bag[b];
        double at = crossover(v, find(v, PBOOST_PRIORBOOST, PENALTY_SUM, small),
                              find(v, PBOOST_PRIORBOOST, PENALTY_SUM, large));
        if (isnan(at))
            continue;
        fprintf(v->out, "%sfrom k=%zu to %zu at n = 2^%.2f", crossings++ > 0 ? ", " : "", small,
                large, at);
        if (!isnan(last)) {
            double gap = exp2(at) - exp2(last), gap_log = at - last;
            in_rows = in_rows && gap > 0.0 && !(gaps > 0 && gap <= last_gap);
            in_logs = in_logs && gap_log > 0.0 && !(gaps > 0 && gap_log <= last_gap_log);
            last_gap = gap;
            last_gap_log = gap_log;
            gaps++;
        }
        last = at;
    }
    if (crossings == 0)
        fputs("none", v->out);
    if (gaps < 2) {
        fputs("; at least three in a row are needed to compare their distances.", v->out);
        return PAGE_NOT_TESTED;
    }
    fprintf(v->out, ". Their distances in n %s; in log n %s.", in_rows ? "grow" : "do not all grow",
            in_logs ? "they grow too" : "they do not");
    return combine(in_rows, in_logs);
}

/* ---- The table --------------------------------------------------------------------------------- */

typedef struct {
    const char *id;
    experiment_id experiment;
    const char *text, *criterion;
    page_verdict (*test)(const view *v);
} claim;

static const claim CLAIMS[] = {
    {"linear-convergence", EXPERIMENT_LINEAR,
     "PriorBoost converges to optimal model quality (the loss when k = 1) for all bag sizes k.",
     "The final MSE at every k is at most 1.10 times that at k = 1; or: at most 2 % of the excess "
     "over it after the first step remains.",
     linear_convergence},
    {"linear-oneshot", EXPERIMENT_LINEAR, "OneShot's test loss gets worse as k increases.",
     "OneShot's MSE rises with every doubling of k.", linear_oneshot},
    {"linear-pbprefix", EXPERIMENT_LINEAR,
     "PBPrefix converges much slower than PriorBoost, and to suboptimal solutions.",
     "At every k ≥ 2 its final MSE is above PriorBoost's, and it comes within 10 % of the k = 1 "
     "loss no earlier.",
     linear_prefix},
    {"logistic-convergence", EXPERIMENT_LOGISTIC,
     "PriorBoost converges to optimality for all bag sizes.",
     "The final log loss at every k is at most 1.10 times the optimal one.", logistic_convergence},
    {"logistic-oneshot", EXPERIMENT_LOGISTIC, "OneShot steadily degrades as k increases.",
     "OneShot's log loss rises with every doubling of k.", logistic_oneshot},
    {"logistic-pbprefix", EXPERIMENT_LOGISTIC,
     "PBPrefix converges slower and to suboptimal solutions for k ≥ 16.",
     "At every k ≥ 16 its final log loss is above PriorBoost's, and it comes within 10 % of the "
     "k = 1 loss no earlier.",
     logistic_prefix},
    {"privacy-epsilon", EXPERIMENT_PRIVACY,
     "As ε increases, the test loss decreases for each value of k.",
     "No step to a larger ε raises the mean loss by more than 5 % and two standard errors.",
     privacy_epsilon},
    {"privacy-priorboost", EXPERIMENT_PRIVACY,
     "For each ε, PriorBoost improves as the bag size k increases.",
     "At no ε does a doubling of k raise the mean loss by more than two standard errors; or: "
     "unless the larger bag is already within 10 % of its own loss without noise.",
     privacy_priorboost},
    {"privacy-oneshot", EXPERIMENT_PRIVACY, "For each ε, OneShot degrades as k increases.",
     "At no ε does a doubling of k lower the mean loss by more than 5 % and two standard errors.",
     privacy_oneshot},
    {"privacy-large-bags", EXPERIMENT_PRIVACY,
     "With k = 64 PriorBoost already nearly achieves the non-private loss for ε ≥ 0.3.",
     "At every ε ≥ 0.3 the largest k's loss is at most 1.10 times its loss without noise.",
     privacy_large_bag},
    {"privacy-match", EXPERIMENT_PRIVACY, "For k = 1, PriorBoost and OneShot match.",
     "Their mean losses at k = 1 differ by at most 5 % at every ε.", privacy_match},
    {"bag-size-grows", EXPERIMENT_BAG_SIZE, "The optimal bag size grows with n.",
     "The best k never falls from one n to the next (or: never by more than two standard errors of "
     "the losses explain), and is larger at the last than at the first.",
     bag_size_grows},
    {"bag-size-spread", EXPERIMENT_BAG_SIZE,
     "The crossover points for optimal k become farther apart as n grows.",
     "The distances between successive crossovers grow.", bag_size_spread},
};
#define N_CLAIMS (sizeof CLAIMS / sizeof *CLAIMS)

static pboost_status test_claim(repro_claim *out, const claim *c, const repro_results *results,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t length;
    view v = {results, c->experiment, &results->result[c->experiment],
              &results->settings.setup[c->experiment], NULL};

    *out = (repro_claim){c->id, c->experiment, c->text, c->criterion, PAGE_NOT_TESTED, NULL};
    NEED(v.out = open_memstream(&out->measured, &length), err);
    out->verdict = c->test(&v);
    if (fclose(v.out) != 0)
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
done:
    return st;
}

pboost_status repro_claims_make(repro_claims *out, const repro_results *results, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (repro_claims){0};
    NEED(out->claim = calloc(N_CLAIMS, sizeof *out->claim), err);
    for (size_t i = 0; i < N_CLAIMS; i++)
        if (results->settings.wanted[CLAIMS[i].experiment])
            TRY(test_claim(&out->claim[out->n++], &CLAIMS[i], results, err));
done:
    if (st != PBOOST_OK)
        repro_claims_free(out);
    return st;
}

void repro_claims_free(repro_claims *claims)
{
    for (size_t i = 0; i < claims->n; i++)
        free(claims->claim[i].measured);
    free(claims->claim);
    *claims = (repro_claims){0};
}
