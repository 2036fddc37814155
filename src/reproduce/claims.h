/* The paper's empirical claims, each with a verdict computed from the results. */
#ifndef PBOOST_REPRODUCE_CLAIMS_H
#define PBOOST_REPRODUCE_CLAIMS_H

#include "page.h"
#include "results.h"

typedef struct {
    const char *id; /* "linear-convergence" */
    experiment_id experiment;
    const char *text;      /* what the paper says */
    const char *criterion; /* when it counts as true */
    page_verdict verdict;
    const char *reading[2]; /* what the claim can mean; NULL: there is one reading, the text */
    page_verdict under[2];  /* the verdicts on them */
    char *measured;         /* the numbers that decide */
} repro_claim;

typedef struct {
    size_t n;
    repro_claim *claim;
} repro_claims;

/* The claims about the experiments of the run. */
pboost_status repro_claims_make(repro_claims *out, const repro_results *results, pboost_error *err);

/* Whether the verdict depends on the reading. */
bool repro_claim_is_split(const repro_claim *claim);
void repro_claims_free(repro_claims *claims);

#endif
