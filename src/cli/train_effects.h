/* priorboost train: what each feature does to the predictions of a model. */
#ifndef PBOOST_CLI_TRAIN_EFFECTS_H
#define PBOOST_CLI_TRAIN_EFFECTS_H

#include "train.h"

/* Fills in the effects of a mixture. */
pboost_status train_effects(train_result *result, const train_data *data, pboost_error *err);

/* Says so if bags left out show that a curved model would be better than the GLM of coef.  A
 * failure here is no failure of the training. */
void train_hint(const cli_context *cli, const train_result *result, const train_data *data,
                const pboost_answers *answers, const pboost_coef *coef);

#endif
