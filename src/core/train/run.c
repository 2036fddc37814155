/* Training a generalised linear model: round by round with any oracle, or in one call on labels in
 * hand. */
#include <string.h>

#include "base/options.h"
#include "train/glm.h"
#include "try.h"

void pboost_run_close(pboost_run *run)
{
    pboost_trainer_free(run->trainer);
    pboost_glm_free(run->glm);
    free(run->path); /* NOLINT(clang-analyzer-unix.Malloc): a closed run holds NULL */
    *run = (pboost_run){0};
}

pboost_status pboost_run_open(pboost_run *out, const pboost_features *features,
                              const pboost_oracle *oracle, const pboost_fit_options *fit,
                              const pboost_trainer_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_trainer_options o = PBOOST_TRAINER_OPTIONS_INIT;
    pboost_fit_options f = PBOOST_FIT_OPTIONS_INIT;

    *out = (pboost_run){0};
    TRY(OPTIONS_READ(&o, options, PBOOST_TRAINER_OPTIONS_INIT, err));
    TRY(OPTIONS_READ(&f, fit, PBOOST_FIT_OPTIONS_INIT, err));
    out->rounds = o.rounds;
    TRY(pboost_glm_create(&out->glm, features, &f, err));
    if (oracle->rules.round && f.estimator != PBOOST_EVENT)
        FAIL(err, PBOOST_INVALID,
             "the oracle rounds its answers to 0 or 1; the %s estimator needs means as they are",
             pboost_estimator_name(f.estimator));
    pboost_learner learner = pboost_glm_learner(out->glm);
    o.x = &pboost_glm_features(out->glm)->x;
    TRY(pboost_trainer_create(&out->trainer, features->x.rows, oracle, &learner, &o, err));
    NEED(out->path = pboost_alloc(o.rounds * (features->x.cols + 1), sizeof *out->path), err);
    out->coef = pboost_glm_coef(out->glm);
    out->history = pboost_trainer_history(out->trainer);
    out->report = pboost_glm_report(out->glm);
done:
    if (st != PBOOST_OK)
        pboost_run_close(out);
    return st;
}

pboost_status pboost_run_rounds(pboost_run *run, size_t rounds, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t d = run->coef->n;

    for (; rounds > 0 && !pboost_trainer_done(run->trainer); rounds--) {
        size_t done = pboost_trainer_rounds_done(run->trainer);
        double *kept = run->path + done * (d + 1);
        st = pboost_trainer_step(run->trainer, err);
        if (pboost_trainer_rounds_done(run->trainer) > done) { /* on_round may stop it after that */
            memcpy(kept, run->coef->theta, d * sizeof *kept);
            kept[d] = run->coef->intercept;
            run->covariance =
                pboost_glm_covariance(run->glm); /* cross-validation may choose anew */
        }
        TRY(st);
    }
    if (pboost_trainer_done(run->trainer))
        TRY(pboost_glm_judge(run->glm, pboost_trainer_answers(run->trainer), err));
done:
    return st;
}

static void copy_outcome(pboost_outcome *out, const pboost_run *run, const pboost_matrix *x,
                         const pboost_fit_options *fit)
{
    size_t n = x->cols + 1;

    if (out->report != NULL)
        *out->report = *run->report;
    if (out->history != NULL)
        memcpy(out->history, run->history, run->rounds * sizeof *run->history);
    if (out->path != NULL)
        memcpy(out->path, run->path, run->rounds * n * sizeof *run->path);
    if (out->covariance != NULL && run->covariance != NULL)
        memcpy(out->covariance, run->covariance, n * n * sizeof *run->covariance);
    out->warnings = pboost_warnings(
        NULL, &(pboost_fitted){.report = run->report, .options = fit, .x = x, .coef = run->coef});
}

static pboost_status read_simulation(pboost_simulation *out, const pboost_simulation *given,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    *out = (pboost_simulation)PBOOST_SIMULATION_INIT;
    TRY(OPTIONS_READ(out, given, PBOOST_SIMULATION_INIT, err));
    TRY(OPTIONS_INSIDE(&out->rules, PBOOST_RULES_INIT, err));
    TRY(OPTIONS_INSIDE(&out->holder, PBOOST_MEMORY_ORACLE_OPTIONS_INIT, err));
    TRY(OPTIONS_INSIDE(&out->fit, PBOOST_FIT_OPTIONS_INIT, err));
    TRY(OPTIONS_INSIDE(&out->trainer, PBOOST_TRAINER_OPTIONS_INIT, err));
done:
    return st;
}

pboost_status pboost_simulate(pboost_outcome *out, const pboost_features *features,
                              const double *label, const pboost_simulation *simulation,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_memory_oracle *labels = NULL;
    pboost_run run = {0};
    pboost_simulation s;

    TRY(read_simulation(&s, simulation, err));
    TRY(pboost_memory_oracle_create(&labels, label, features->x.rows, &s.rules, &s.holder, err));
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    TRY(pboost_run_open(&run, features, &oracle, &s.fit, &s.trainer, err));
    TRY(pboost_run_rounds(&run, s.trainer.rounds, err));
    copy_outcome(out, &run, &features->x, &s.fit);
done:
    pboost_run_close(&run);
    pboost_memory_oracle_free(labels);
    return st;
}
