/* A plan as a page. */
#ifndef PBOOST_PLAN_PAGE_H
#define PBOOST_PLAN_PAGE_H

#include "plan_costs.h"

/* The chart of losses by bag size: alone where the name ends in .svg, otherwise in a page with the
 * recommendation, what it costs, every forecast and what was assumed.  The plan is set's first. */
pboost_status plan_write(const char *path, const plan_set *set, pboost_error *err);

/* The facts that a plan assumes. */
void plan_page_assumptions(FILE *out, const pboost_plan *plan);

#endif
