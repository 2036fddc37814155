/* What k and epsilon cost: one table and one chart of the plans for several of them. */
#ifndef PBOOST_PLAN_COSTS_H
#define PBOOST_PLAN_COSTS_H

#include "plan_text.h"

/* Plans of one table, one for each k, with costs.  Borrowed. */
typedef struct {
    size_t n, rows;
    const size_t *min_bag;
    const pboost_plan *plan; /* plan[i].n_points == 0: k is larger than the table */
    size_t first;            /* that can be made; the others have the same assumptions */
    size_t n_epsilon;
    const pboost_rational *epsilon;
    double target;     /* 0: none */
    const char *model; /* of train --model; NULL: not chosen yet */
} plan_set;

/* The table, and what reaches the target. */
void plan_costs_print(FILE *out, const plan_set *set);
/* One sentence about the recommendation of a single plan, and what reaches the target. */
void plan_cost_print(FILE *out, const plan_set *set);
/* Adds costs, measure, losses and targets to the JSON of the first plan; takes the reference. */
json_t *plan_costs_json(json_t *object, const plan_set *set);
/* The chart alone where the name ends in .svg, otherwise a page. */
pboost_status plan_costs_write(const char *path, const plan_set *set, pboost_error *err);
/* The sentence and the target as paragraphs of the page of one plan. */
void plan_cost_paragraphs(FILE *out, const plan_set *set);

#endif
