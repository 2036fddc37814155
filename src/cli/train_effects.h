/* priorboost train: what each feature does to the predictions of a model. */
#ifndef PBOOST_CLI_TRAIN_EFFECTS_H
#define PBOOST_CLI_TRAIN_EFFECTS_H

#include "train.h"

/* Fills in the effects of a mixture. */
pboost_status train_effects(train_result *result, const train_data *data, pboost_error *err);

#endif
