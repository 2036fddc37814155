/* A plan as text and as JSON. */
#ifndef PBOOST_PLAN_TEXT_H
#define PBOOST_PLAN_TEXT_H

#include <stdio.h>

#include <jansson.h>

#include <priorboost/priorboost.h>

enum { PLAN_EPSILON_TEXT = 32, PLAN_OPTIONS_TEXT = 128 };

const char *plan_basis_name(pboost_forecast forecast);
void plan_epsilon_text(char out[PLAN_EPSILON_TEXT], pboost_rational epsilon); /* "none": no noise */
/* What is recommended, as options of train. */
void plan_options_text(char out[PLAN_OPTIONS_TEXT], const pboost_plan *plan);

void plan_print(FILE *out, const pboost_plan *plan);
/* column: the names of the plan's columns. */
json_t *plan_json(const pboost_plan *plan, pboost_family family, size_t min_bag,
                  const char *const *column);

#endif
