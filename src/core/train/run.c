/* Training a generalised linear model: round by round with any oracle, or in one call on labels in
 * memory. */
#include <string.h>

#include <priorboost/predict.h>

#include "base/options.h"
#include "data/curve.h"
#include "data/fit_options.h"
#include "train/glm.h"
#include "try.h"

struct pboost_run {
    pboost_glm *glm; /* the model, a learner */
    pboost_trainer *trainer;
    pboost_matrix straight; /* the columns that bags are made from: not those of curves */
    double *path;           /* by round: theta and, last, the intercept */
};

void pboost_run_free(pboost_run *run)
{
    if (run == NULL)
        return;
    pboost_trainer_free(run->trainer);
    pboost_glm_free(run->glm);
    free(run->path);
    free(run);
}

pboost_status pboost_run_create(pboost_run **out, const pboost_features *features,
                                const pboost_oracle *oracle, const pboost_fit_options *fit,
                                const pboost_trainer_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_trainer_options o = PBOOST_TRAINER_OPTIONS_INIT;
    pboost_fit_options f = PBOOST_FIT_OPTIONS_INIT;
    pboost_run *run = NULL;

    *out = NULL;
    TRY(OPTIONS_READ(&o, options, PBOOST_TRAINER_OPTIONS_INIT, err));
    TRY(OPTIONS_READ(&f, fit, PBOOST_FIT_OPTIONS_INIT, err));
    NEED(run = calloc(1, sizeof *run), err);
    TRY(pboost_glm_create(&run->glm, features, &f, err));
    if (oracle->rules.round && f.estimator != PBOOST_EVENT)
        FAIL(err, PBOOST_INVALID,
             "the oracle rounds its answers to 0 or 1; the %s estimator needs means as they are",
             pboost_estimator_name(f.estimator));
    pboost_learner learner = pboost_glm_learner(run->glm);
    run->straight = pboost_matrix_first(&features->x, features->x.cols - f.curves);
    o.x = &run->straight;
    o.width = 1;
    TRY(pboost_trainer_create(&run->trainer, o.x->rows, oracle, &learner, &o, err));
    NEED(run->path = pboost_alloc(o.rounds * (features->x.cols + 1), sizeof *run->path), err);
    *out = run;
    run = NULL;
done:
    pboost_run_free(run);
    return st;
}

pboost_status pboost_run_rounds(pboost_run *run, size_t rounds, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_coef *coef = pboost_glm_coef(run->glm);

    for (; rounds > 0 && !pboost_trainer_done(run->trainer); rounds--) {
        size_t done = pboost_trainer_rounds_done(run->trainer);
        double *kept = run->path + done * (coef->n + 1);
        st = pboost_trainer_step(run->trainer, err);
        if (pboost_trainer_rounds_done(run->trainer) > done) { /* on_round may stop it after that */
            memcpy(kept, coef->theta, coef->n * sizeof *kept);
            kept[coef->n] = coef->intercept;
        }
        TRY(st);
    }
    if (pboost_trainer_done(run->trainer))
        TRY(pboost_glm_judge(run->glm, pboost_trainer_answers(run->trainer), err));
done:
    return st;
}

const pboost_coef *pboost_run_coef(const pboost_run *run)
{
    return pboost_glm_coef(run->glm);
}

const pboost_fit_report *pboost_run_report(const pboost_run *run)
{
    return pboost_glm_report(run->glm);
}

const double *pboost_run_covariance(const pboost_run *run)
{
    bool fitted = pboost_trainer_rounds_done(run->trainer) > 0;
    return fitted ? pboost_glm_covariance(run->glm) : NULL;
}

pboost_coef pboost_run_coef_after(const pboost_run *run, size_t round)
{
    size_t n = pboost_glm_coef(run->glm)->n;
    double *theta = run->path + (round - 1) * (n + 1);
    return (pboost_coef){n, theta, theta[n]};
}

pboost_trainer *pboost_run_trainer(const pboost_run *run)
{
    return run->trainer;
}

void pboost_run_outcome(pboost_outcome *out, const pboost_run *run)
{
    const pboost_coef *coef = pboost_glm_coef(run->glm);
    const double *covariance = pboost_run_covariance(run);
    size_t n = coef->n + 1, rounds = pboost_trainer_rounds_done(run->trainer);
    pboost_fitted fit = {.report = pboost_glm_report(run->glm),
                         .options = pboost_glm_options(run->glm),
                         .x = &pboost_glm_features(run->glm)->x,
                         .coef = coef};

    if (out->report != NULL)
        *out->report = *fit.report;
    if (out->history != NULL)
        memcpy(out->history, pboost_trainer_history(run->trainer), rounds * sizeof *out->history);
    if (out->path != NULL)
        memcpy(out->path, run->path, rounds * n * sizeof *run->path);
    if (out->covariance != NULL && covariance != NULL)
        memcpy(out->covariance, covariance, n * n * sizeof *covariance);
    out->warnings = pboost_warnings(NULL, &fit);
}

pboost_status pboost_simulate(pboost_outcome *out, const pboost_features *features,
                              const double *label, const pboost_simulation *simulation,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_memory_oracle *labels = NULL;
    pboost_run *run = NULL;
    pboost_simulation s;

    TRY(pboost_simulation_read(&s, simulation, err));
    TRY(pboost_memory_oracle_create(&labels, label, features->x.rows, &s.rules, &s.holder, err));
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    TRY(pboost_run_create(&run, features, &oracle, &s.fit, &s.trainer, err));
    TRY(pboost_run_rounds(run, s.trainer.rounds, err));
    pboost_run_outcome(out, run);
done:
    pboost_run_free(run);
    pboost_memory_oracle_free(labels);
    return st;
}
