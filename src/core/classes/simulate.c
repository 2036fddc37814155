/* Training on labels in memory, with the oracle in the same process. */
#include <string.h>

#include <priorboost/classes.h>

#include "data/fit_options.h"
#include "try.h"

static pboost_status read_simulation(pboost_simulation *out, const pboost_simulation *given,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_simulation_read(out, given, err));
    if (out->rules.answer != PBOOST_ANSWER_CLASSES)
        FAIL(err, PBOOST_INVALID, "the answers are those of %s, not of classes",
             pboost_answer_name(out->rules.answer));
done:
    return st;
}

static void take_outcome(pboost_class_outcome *out, const pboost_classes *model,
                         const pboost_trainer *trainer)
{
    const pboost_class_coef *coef = pboost_classes_coef(model);
    const double *covariance = pboost_classes_covariance(model);
    size_t n = pboost_class_weights(coef->classes, coef->cols);

    if (out->report != NULL)
        *out->report = *pboost_classes_report(model);
    if (out->history != NULL)
        memcpy(out->history, pboost_trainer_history(trainer),
               pboost_trainer_rounds_done(trainer) * sizeof *out->history);
    if (out->theta != NULL)
        memcpy(out->theta, coef->theta, coef->classes * (coef->cols + 1) * sizeof *out->theta);
    if (out->covariance != NULL && covariance != NULL)
        memcpy(out->covariance, covariance, n * n * sizeof *covariance);
}

pboost_status pboost_classes_simulate(pboost_class_outcome *out, const pboost_features *features,
                                      const double *label, const pboost_simulation *simulation,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_memory_oracle *labels = NULL;
    pboost_classes *model = NULL;
    pboost_trainer *trainer = NULL;
    pboost_simulation s;

    TRY(read_simulation(&s, simulation, err));
    TRY(pboost_classes_create(&model, features, s.rules.width, &s.fit, err));
    TRY(pboost_memory_oracle_create(&labels, label, features->x.rows, &s.rules, &s.holder, err));
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    pboost_learner learner = pboost_classes_learner(model);
    s.trainer.x = &features->x;
    s.trainer.family = PBOOST_LINEAR; /* of the scores: a direction of probabilities */
    s.trainer.width = s.rules.width;
    TRY(pboost_trainer_create(&trainer, features->x.rows, &oracle, &learner, &s.trainer, err));
    TRY(pboost_trainer_run(trainer, err));
    take_outcome(out, model, trainer);
done:
    pboost_trainer_free(trainer);
    pboost_classes_free(model);
    pboost_memory_oracle_free(labels);
    return st;
}
