/* The results that a claim is tested on. */
#include "claim_view.h"

#include <math.h>

#define ERRORS 2.0 /* a difference counts from two standard errors on */
#define SLACK 0.05 /* and a reversal of a trend if it is also more than 5 % */

const repro_curve *view_find(const view *v, pboost_algorithm algorithm, experiment_penalty penalty,
                             size_t k)
{
    return repro_results_find(v->results, v->id, algorithm, penalty, k);
}

double view_final(const view *v, pboost_algorithm algorithm, experiment_penalty penalty, size_t k)
{
    const repro_curve *c = view_find(v, algorithm, penalty, k);
    return c != NULL ? repro_curve_last(v->results, v->id, c) : NAN;
}

bool view_has_one(const view *v)
{
    return v->setup->min_bag[0] == 1 && v->setup->n_bags > 1;
}

bool view_exceeds(const view *v, const repro_curve *a, const repro_curve *b, size_t i, size_t j)
{
    double n = (double)v->setup->realizations;
    double error = sqrt((a->sd[i] * a->sd[i] + b->sd[j] * b->sd[j]) / n);
    return a->mean[i] > b->mean[j] + ERRORS * error;
}

bool view_reverses(const view *v, const repro_curve *a, const repro_curve *b, size_t i, size_t j)
{
    return view_exceeds(v, a, b, i, j) && a->mean[i] > (1.0 + SLACK) * b->mean[j];
}

void view_print_finals(const view *v, pboost_algorithm algorithm, experiment_penalty penalty)
{
    for (size_t i = 0; i < v->setup->n_bags; i++)
        fprintf(v->out, "%s%.4g", i > 0 ? ", " : "",
                view_final(v, algorithm, penalty, v->setup->min_bag[i]));
    fprintf(v->out, " (k = %zu to %zu)", v->setup->min_bag[0],
            v->setup->min_bag[v->setup->n_bags - 1]);
}

page_verdict view_combine(const view *v, bool first, bool second)
{
    v->under[0] = first ? PAGE_HOLDS : PAGE_DOES_NOT_HOLD;
    v->under[1] = second ? PAGE_HOLDS : PAGE_DOES_NOT_HOLD;
    return first && second   ? PAGE_HOLDS
           : first || second ? PAGE_HOLDS_ONE_READING
                             : PAGE_DOES_NOT_HOLD;
}
