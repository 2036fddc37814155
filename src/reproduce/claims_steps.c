/* The claims about loss by step: figures 1 and 2. */
#include <math.h>

#include "claim_view.h"

#define FROM_BAG 16  /* the bag size from which the paper says so */
#define REMAINS 0.02 /* of the excess after the first step: the rest is gone */

/* PriorBoost's final loss at every k is within 10 % of `target`; writes the ratios. */
static bool converges_to(const view *v, double target)
{
    bool all = true;
    for (size_t i = 0; i < v->setup->n_bags; i++) {
        size_t k = v->setup->min_bag[i];
        double ratio = view_final(v, PBOOST_PRIORBOOST, PENALTY_SUM, k) / target;
        all = all && ratio <= NEAR;
        fprintf(v->out, "%sk=%zu: %.3f", i > 0 ? ", " : "", k, ratio);
    }
    return all;
}

static double worst_final(const view *v)
{
    double worst = 0.0;
    for (size_t i = 0; i < v->setup->n_bags; i++)
        worst = fmax(worst, view_final(v, PBOOST_PRIORBOOST, PENALTY_SUM, v->setup->min_bag[i]));
    return worst;
}

/* Almost nothing of the excess in the first step, with random bags, remains in the last; writes
 * what remains. */
static bool excess_vanishes(const view *v, double target)
{
    bool all = true;
    for (size_t i = 1; i < v->setup->n_bags; i++) {
        size_t k = v->setup->min_bag[i];
        const repro_curve *c = view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, k);
        double left = (repro_curve_last(v->results, v->id, c) - target) / (c->mean[0] - target);
        all = all && left <= REMAINS;
        fprintf(v->out, "%sk=%zu: %.2f %%", i > 1 ? ", " : "", k, 100.0 * fmax(left, 0.0));
    }
    return all;
}

page_verdict claim_linear_convergence(const view *v)
{
    double one = view_final(v, PBOOST_PRIORBOOST, PENALTY_SUM, 1);
    if (!view_has_one(v))
        return PAGE_NOT_TESTED;
    fprintf(v->out, "Final MSE over that of k = 1, which is %.5f: ", one);
    bool near = converges_to(v, one);
    fputs(". Of the excess over it after the first step there remains: ", v->out);
    bool vanishes = excess_vanishes(v, one);
    fprintf(v->out,
            ". Read as 'within 10 %% after %zu steps' it %s; as 'at most 2 %% of the excess "
            "remains' it %s.",
            v->r->n_points, near ? "holds" : "does not hold", vanishes ? "holds" : "does not hold");
    return view_combine(v, near, vanishes);
}

page_verdict claim_logistic_convergence(const view *v)
{
    double one = view_final(v, PBOOST_PRIORBOOST, PENALTY_SUM, 1);
    double all_labels = view_final(v, PBOOST_ONESHOT, PENALTY_SUM, 1);
    double per_row = view_final(v, PBOOST_ONESHOT, PENALTY_PER_ROW, 1);

    if (!view_has_one(v))
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
    return view_combine(v, own && rows, worst_final(v) / all_labels <= NEAR);
}

static bool increases(const view *v, experiment_penalty penalty)
{
    bool all = true;
    for (size_t i = 1; i < v->setup->n_bags; i++)
        all = all && view_final(v, PBOOST_ONESHOT, penalty, v->setup->min_bag[i]) >
                         view_final(v, PBOOST_ONESHOT, penalty, v->setup->min_bag[i - 1]);
    return all;
}

page_verdict claim_linear_oneshot(const view *v)
{
    fputs("OneShot: ", v->out);
    view_print_finals(v, PBOOST_ONESHOT, PENALTY_SUM);
    fputc('.', v->out);
    return increases(v, PENALTY_SUM) ? PAGE_HOLDS : PAGE_DOES_NOT_HOLD;
}

page_verdict claim_logistic_oneshot(const view *v)
{
    fputs("λ on the sum: ", v->out);
    view_print_finals(v, PBOOST_ONESHOT, PENALTY_SUM);
    fputs("; λ per row: ", v->out);
    view_print_finals(v, PBOOST_ONESHOT, PENALTY_PER_ROW);
    fputc('.', v->out);
    return view_combine(v, increases(v, PENALTY_SUM), increases(v, PENALTY_PER_ROW));
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
    double level = NEAR * view_final(v, PBOOST_PRIORBOOST, PENALTY_SUM, 1);
    bool all = true;
    const char *between = "";

    for (size_t i = 0; i < v->setup->n_bags; i++) {
        size_t k = v->setup->min_bag[i];
        const repro_curve *boost = view_find(v, PBOOST_PRIORBOOST, PENALTY_SUM, k);
        const repro_curve *prefix = view_find(v, PBOOST_PBPREFIX, penalty, k);
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

page_verdict claim_linear_prefix(const view *v)
{
    if (!view_has_one(v))
        return PAGE_NOT_TESTED;
    fputs("Final MSE (first step within 10 % of the k = 1 loss) of PBPrefix / PriorBoost: ",
          v->out);
    bool all = prefix_loses(v, PENALTY_SUM, 2);
    fputc('.', v->out);
    return all ? PAGE_HOLDS : PAGE_DOES_NOT_HOLD;
}

page_verdict claim_logistic_prefix(const view *v)
{
    if (!view_has_one(v))
        return PAGE_NOT_TESTED;
    fputs("Final log loss (first step within 10 % of PriorBoost's k = 1 loss) of PBPrefix / "
          "PriorBoost. λ on the sum: ",
          v->out);
    bool sum = prefix_loses(v, PENALTY_SUM, FROM_BAG);
    fputs(". λ per row: ", v->out);
    bool rows = prefix_loses(v, PENALTY_PER_ROW, FROM_BAG);
    fputs(". (With λ on the sum PBPrefix is penalised less and less as it gathers rows.)", v->out);
    return view_combine(v, sum, rows);
}
