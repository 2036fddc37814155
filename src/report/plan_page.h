/* A plan in words and as a page. */
#ifndef PBOOST_PLAN_PAGE_H
#define PBOOST_PLAN_PAGE_H

#include <priorboost/priorboost.h>

enum { PLAN_EPSILON_TEXT = 32, PLAN_OPTIONS_TEXT = 128 };

const char *plan_basis_name(pboost_forecast forecast);
void plan_epsilon_text(char out[PLAN_EPSILON_TEXT], pboost_rational epsilon); /* "none": no noise */
/* What is recommended, as options of train. */
void plan_options_text(char out[PLAN_OPTIONS_TEXT], const pboost_plan *plan);

/* The chart of losses by bag size: alone where the name ends in .svg, otherwise in a page with the
 * recommendation, every forecast and what was assumed. */
pboost_status plan_write(const char *path, const pboost_plan *plan, pboost_error *err);

#endif
