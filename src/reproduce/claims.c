/* The paper's empirical claims, each with a verdict computed from the results.
 *
 * A claim is a function that looks at the curves, writes down the numbers that decide, and returns
 * a verdict.  Some claims depend on how the penalty is read: lambda = 10 on the sum of losses
 * weighs 256 times as much on a slice as on all rows.  Such a claim is tested under both readings.
 */
#include "claims.h"

#include "claim_view.h"
#include "try.h"

typedef struct {
    const char *id;
    experiment_id experiment;
    const char *text, *criterion;
    page_verdict (*test)(const view *v);
    const char *reading[2];
} claim;

#define PENALTIES                                                                                  \
    {                                                                                              \
        "λ on the sum of losses", "λ per row"                                                     \
    }

static const claim CLAIMS[] = {
    {"linear-convergence",
     EXPERIMENT_LINEAR,
     "PriorBoost converges to optimal model quality (the loss when k = 1) for all bag sizes k.",
     "The final MSE at every k is at most 1.10 times that at k = 1; or: at most 2 % of the excess "
     "over it after the first step remains.",
     claim_linear_convergence,
     {"within 10 % of the loss at k = 1 after the last step",
      "at most 2 % of the excess over it remains"}},
    {"linear-oneshot",
     EXPERIMENT_LINEAR,
     "OneShot's test loss gets worse as k increases.",
     "OneShot's MSE rises with every doubling of k.",
     claim_linear_oneshot,
     {NULL, NULL}},
    {"linear-pbprefix",
     EXPERIMENT_LINEAR,
     "PBPrefix converges much slower than PriorBoost, and to suboptimal solutions.",
     "At every k ≥ 2 its final MSE is above PriorBoost's, and it comes within 10 % of the k = 1 "
     "loss no earlier.",
     claim_linear_prefix,
     {NULL, NULL}},
    {"logistic-convergence",
     EXPERIMENT_LOGISTIC,
     "PriorBoost converges to optimality for all bag sizes.",
     "The final log loss at every k is at most 1.10 times the optimal one.",
     claim_logistic_convergence,
     {"optimal is the loss at k = 1, or of one fit to all labels with λ per row",
      "optimal is the loss of one fit to all labels with λ on the sum"}},
    {"logistic-oneshot", EXPERIMENT_LOGISTIC, "OneShot steadily degrades as k increases.",
     "OneShot's log loss rises with every doubling of k.", claim_logistic_oneshot, PENALTIES},
    {"logistic-pbprefix", EXPERIMENT_LOGISTIC,
     "PBPrefix converges slower and to suboptimal solutions for k ≥ 16.",
     "At every k ≥ 16 its final log loss is above PriorBoost's, and it comes within 10 % of the "
     "k = 1 loss no earlier.",
     claim_logistic_prefix, PENALTIES},
    {"privacy-epsilon",
     EXPERIMENT_PRIVACY,
     "As ε increases, the test loss decreases for each value of k.",
     "No step to a larger ε raises the mean loss by more than 5 % and two standard errors.",
     claim_privacy_epsilon,
     {NULL, NULL}},
    {"privacy-priorboost",
     EXPERIMENT_PRIVACY,
     "For each ε, PriorBoost improves as the bag size k increases.",
     "At no ε does a doubling of k raise the mean loss by more than two standard errors; or: "
     "unless the larger bag is already within 10 % of its own loss without noise.",
     claim_privacy_priorboost,
     {"every doubling of k improves the loss",
      "it does until the loss is within 10 % of that without noise"}},
    {"privacy-oneshot",
     EXPERIMENT_PRIVACY,
     "For each ε, OneShot degrades as k increases.",
     "At no ε does a doubling of k lower the mean loss by more than 5 % and two standard errors.",
     claim_privacy_oneshot,
     {NULL, NULL}},
    {"privacy-large-bags",
     EXPERIMENT_PRIVACY,
     "With k = 64 PriorBoost already nearly achieves the non-private loss for ε ≥ 0.3.",
     "At every ε ≥ 0.3 the largest k's loss is at most 1.10 times its loss without noise.",
     claim_privacy_large_bag,
     {NULL, NULL}},
    {"privacy-match", EXPERIMENT_PRIVACY, "For k = 1, PriorBoost and OneShot match.",
     "Their mean losses at k = 1 differ by at most 5 % at every ε.", claim_privacy_match,
     PENALTIES},
    {"bag-size-grows",
     EXPERIMENT_BAG_SIZE,
     "The optimal bag size grows with n.",
     "The best k never falls from one n to the next (or: never by more than two standard errors of "
     "the losses explain), and is larger at the last than at the first.",
     claim_bag_size_grows,
     {"the best k never falls", "where it falls, the losses are within two standard errors"}},
    {"bag-size-spread",
     EXPERIMENT_BAG_SIZE,
     "The crossover points for optimal k become farther apart as n grows.",
     "The distances between successive crossovers from one best k to the next grow, in n and in "
     "log n.",
     claim_bag_size_spread,
     {"the distances grow in n", "the distances grow in log n"}},
};
#define N_CLAIMS (sizeof CLAIMS / sizeof *CLAIMS)

static pboost_status test_claim(repro_claim *out, const claim *c, const repro_results *results,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t length;
    view v = {results,
              c->experiment,
              &results->result[c->experiment],
              &results->settings.setup[c->experiment],
              NULL,
              out->under};

    *out = (repro_claim){.id = c->id,
                         .experiment = c->experiment,
                         .text = c->text,
                         .criterion = c->criterion,
                         .verdict = PAGE_NOT_TESTED,
                         .reading = {c->reading[0], c->reading[1]},
                         .under = {PAGE_NOT_TESTED, PAGE_NOT_TESTED}};
    NEED(v.out = open_memstream(&out->measured, &length), err);
    out->verdict = c->test(&v);
    if (fclose(v.out) != 0)
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
done:
    return st;
}

pboost_status repro_claims_make(repro_claims *out, const repro_results *results, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (repro_claims){0};
    NEED(out->claim = calloc(N_CLAIMS, sizeof *out->claim), err);
    for (size_t i = 0; i < N_CLAIMS; i++)
        if (results->settings.wanted[CLAIMS[i].experiment])
            TRY(test_claim(&out->claim[out->n++], &CLAIMS[i], results, err));
done:
    if (st != PBOOST_OK)
        repro_claims_free(out);
    return st;
}

bool repro_claim_is_split(const repro_claim *c)
{
    return c->verdict == PAGE_HOLDS_ONE_READING;
}

void repro_claims_free(repro_claims *claims)
{
    for (size_t i = 0; i < claims->n; i++)
        free(claims->claim[i].measured);
    free(claims->claim);
    *claims = (repro_claims){0};
}
