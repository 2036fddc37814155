/* Parts of the result of a training that train_result.c puts together. */
#ifndef PBOOST_TRAIN_MEMBERS_H
#define PBOOST_TRAIN_MEMBERS_H

#include "train_result.h"

/* Of a mixture: its members, and what its columns do. */
void train_print_members(FILE *out, const train_description *d);
void train_print_effects(FILE *out, const train_description *d);

/* What is known of any model beyond its weights. */
void train_describe_model(json_t *report, const train_description *d);

#endif
