/* The results that a claim is tested on, and the functions that test claims. */
#ifndef PBOOST_REPRODUCE_CLAIM_VIEW_H
#define PBOOST_REPRODUCE_CLAIM_VIEW_H

#include "page.h"
#include "results.h"

#define NEAR 1.10  /* a loss within 10 % of another is near it */
#define MATCH 0.05 /* two losses that differ by at most 5 % match */

/* One experiment's results, and where to write the numbers that decide. */
typedef struct {
    const repro_results *results;
    experiment_id id;
    const repro_result *r;
    const experiment_setup *setup;
    FILE *out;
    page_verdict *under; /* the verdicts on two readings */
} view;

const repro_curve *view_find(const view *v, pboost_algorithm algorithm, experiment_penalty penalty,
                             size_t k);
/* The last mean of that curve; NaN where there is none. */
double view_final(const view *v, pboost_algorithm algorithm, experiment_penalty penalty, size_t k);
void view_print_finals(const view *v, pboost_algorithm algorithm, experiment_penalty penalty);

/* Whether the bag sizes 1 and at least one other were run. */
bool view_has_one(const view *v);

/* Curve a at point i exceeds b at j by more than two standard errors; and also by more than 5 %. */
bool view_exceeds(const view *v, const repro_curve *a, const repro_curve *b, size_t i, size_t j);
bool view_reverses(const view *v, const repro_curve *a, const repro_curve *b, size_t i, size_t j);

/* The verdict where a claim was tested under two readings, which are noted. */
page_verdict view_combine(const view *v, bool first, bool second);

page_verdict claim_linear_convergence(const view *v);
page_verdict claim_logistic_convergence(const view *v);
page_verdict claim_linear_oneshot(const view *v);
page_verdict claim_logistic_oneshot(const view *v);
page_verdict claim_linear_prefix(const view *v);
page_verdict claim_logistic_prefix(const view *v);
page_verdict claim_privacy_epsilon(const view *v);
page_verdict claim_privacy_priorboost(const view *v);
page_verdict claim_privacy_oneshot(const view *v);
page_verdict claim_privacy_large_bag(const view *v);
page_verdict claim_privacy_match(const view *v);
page_verdict claim_bag_size_grows(const view *v);
page_verdict claim_bag_size_spread(const view *v);

#endif
