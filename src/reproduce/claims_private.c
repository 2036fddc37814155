/* The claims about label differential privacy: figures 3 and 4. */
#include <math.h>

#include "claim_view.h"

#define FROM_EPSILON 0.3 /* from which the paper says so */

/* ---- Figure 3: privacy ----------------------------------------------------------------------- */

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

enum { MOST_NAMED = 6 }; /* exceptions that are listed; the others are only counted */

page_verdict claim_privacy_epsilon(const view *v)
{
    size_t violations = 0, steps = 0, by_errors = 0;
    for (size_t c = 0; c < v->r->n_curves; c++)
        for (size_t i = 1; v->r->curves[c].penalty == PENALTY_SUM && i < v->r->n_points; i++) {
            const repro_curve *curve = &v->r->curves[c];
            steps++;
            by_errors += view_exceeds(v, curve, curve, i, i - 1);
            if (view_reverses(v, curve, curve, i, i - 1) && violations++ < MOST_NAMED) {
                fprintf(v->out, "%s at k=%zu rises from %.4g to %.4g at ε = ",
                        pboost_algorithm_name(curve->algorithm), curve->min_bag, curve->mean[i - 1],
                        curve->mean[i]);
                print_epsilon(v->out, v->r->x[i]);
                fputs("; ", v->out);
            }
        }
    if (steps == 0)
        return PAGE_NOT_TESTED;
    if (violations > MOST_NAMED)
        fprintf(v->out, "and %zu more. ", violations - MOST_NAMED);
    fprintf(
        v->out,
        "Of %zu steps to a larger ε %zu raise the loss by more than two standard errors, %zu of "
        "these by more than 5 %%.",
        steps, by_errors, violations);
    return violations == 0 ? PAGE_HOLDS : PAGE_DOES_NOT_HOLD;
}

static size_t best_bag(const view *v, size_t point)
{
    const repro_curve *best = view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, v->setup->min_bag[0]);
    for (size_t b = 1; b < v->setup->n_bags; b++) {
        const repro_curve *c = view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, v->setup->min_bag[b]);
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
                view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, best)->mean[i],
                view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, v->setup->min_bag[0])->mean[i]);
        between = ", ";
    }
}

page_verdict claim_privacy_priorboost(const view *v)
{
    size_t strict_until = 0, n = v->r->n_points, bags = v->setup->n_bags;
    bool strict = true, saturating = true;

    if (!view_has_one(v) || isfinite(v->r->x[n - 1]))
        return PAGE_NOT_TESTED;
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 1; b < bags; b++) {
            const repro_curve *small =
                view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, v->setup->min_bag[b - 1]);
            const repro_curve *large =
                view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, v->setup->min_bag[b]);
            bool worse = view_exceeds(v, large, small, i, i);
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
    return view_combine(v, strict, saturating);
}

page_verdict claim_privacy_oneshot(const view *v)
{
    size_t violations = 0, steps = 0, by_errors = 0, bags = v->setup->n_bags;

    for (size_t i = 0; i < v->r->n_points; i++)
        for (size_t b = 1; b < bags; b++) {
            const repro_curve *small =
                view_find(v, PBOOST_ONESHOT, PENALTY_SUM, v->setup->min_bag[b - 1]);
            const repro_curve *large =
                view_find(v, PBOOST_ONESHOT, PENALTY_SUM, v->setup->min_bag[b]);
            steps++;
            by_errors += view_exceeds(v, small, large, i, i);
            if (view_reverses(v, small, large, i, i)) {
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
    view_print_finals(v, PBOOST_ONESHOT, PENALTY_SUM);
    fputc('.', v->out);
    return violations == 0 ? PAGE_HOLDS : PAGE_DOES_NOT_HOLD;
}

page_verdict claim_privacy_large_bag(const view *v)
{
    size_t k = v->setup->min_bag[v->setup->n_bags - 1], from = point_from(v, FROM_EPSILON);
    size_t last = v->r->n_points - 1;
    const repro_curve *c = view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, k);
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

/* PriorBoost and OneShot at k = 1 under one reading of the penalty; writes where they differ. */
static bool matches(const view *v, experiment_penalty penalty)
{
    const repro_curve *boost = view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, 1);
    const repro_curve *shot = view_find(v, PBOOST_ONESHOT, penalty, 1);
    double gap = 0.0;
    size_t differences = 0;

    for (size_t i = 0; i < v->r->n_points; i++) {
        double here = fabs(boost->mean[i] / shot->mean[i] - 1.0);
        gap = fmax(gap, here);
        if (here <= MATCH)
            continue;
        fputs(differences++ > 0 ? ", ε=" : "they differ at ε=", v->out);
        print_epsilon(v->out, v->r->x[i]);
        fprintf(v->out, ": %.4g / %.4g", boost->mean[i], shot->mean[i]);
    }
    if (differences == 0)
        fprintf(v->out, "they match at every ε, within %.1f %%", 100.0 * gap);
    return differences == 0;
}

page_verdict claim_privacy_match(const view *v)
{
    if (v->setup->min_bag[0] != 1)
        return PAGE_NOT_TESTED;
    fputs("PriorBoost / OneShot at k = 1. λ on the sum: ", v->out);
    bool sum = matches(v, PENALTY_SUM);
    fputs(". λ per row: ", v->out);
    bool rows = matches(v, PENALTY_PER_ROW);
    fputc('.', v->out);
    return view_combine(v, sum, rows);
}

/* ---- Figure 4: the best bag size ------------------------------------------------------------- */

/* Whether the best bag size falls from point i-1 to i by more than chance may explain. */
static bool falls(const view *v, size_t i, bool beyond_chance)
{
    size_t before = repro_best_bag(v->results, v->id, i - 1);
    size_t here = repro_best_bag(v->results, v->id, i);
    if (here >= before)
        return false;
    return !beyond_chance || view_exceeds(v, view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, before),
                                          view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, here), i, i);
}

page_verdict claim_bag_size_grows(const view *v)
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
                             : "it falls by more than two standard errors");
    bool grows = repro_best_bag(v->results, v->id, last) > repro_best_bag(v->results, v->id, 0);
    return view_combine(v, strictly && grows, but_for_chance && grows);
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

/* Crossovers along the lower envelope: from one best bag size to the next. */
page_verdict claim_bag_size_spread(const view *v)
{
    double last = NAN, gap = 0.0, gap_log = 0.0;
    bool in_rows = true, in_logs = true;
    size_t crossings = 0;

    fputs("Crossovers of the best k: ", v->out);
    for (size_t i = 1; i < v->r->n_points; i++) {
        size_t from = repro_best_bag(v->results, v->id, i - 1);
        size_t to = repro_best_bag(v->results, v->id, i);
        if (from == to)
            continue;
        double at = crossover(v, view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, from),
                              view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, to));
        fprintf(v->out, "%sfrom %zu to %zu at n = 2^%.2f", crossings++ > 0 ? ", " : "", from, to,
                at);
        if (crossings > 1) {
            double next = exp2(at) - exp2(last), next_log = at - last;
            in_rows = in_rows && next > gap;
            in_logs = in_logs && next_log > gap_log;
            gap = next;
            gap_log = next_log;
        }
        last = at;
    }
    if (crossings < 3) {
        fprintf(v->out, "%s; at least three are needed to compare their distances.",
                crossings == 0 ? "none" : "");
        return PAGE_NOT_TESTED;
    }
    fprintf(v->out, ". Their distances %s in n and %s in log n.",
            in_rows ? "grow" : "do not all grow", in_logs ? "grow" : "do not all grow");
    return view_combine(v, in_rows, in_logs);
}
