/* A plan as a page. */
#ifndef PBOOST_PLAN_PAGE_H
#define PBOOST_PLAN_PAGE_H

#include "plan_text.h"

/* The chart of losses by bag size: alone where the name ends in .svg, otherwise in a page with the
 * recommendation, every forecast and what was assumed. */
pboost_status plan_write(const char *path, const pboost_plan *plan, pboost_error *err);

#endif
