/* The paper's experiments, from settings to a folder with figures and a report.
 *
 * While series are missing, `dir` holds nothing but the folder `partial`.  results.json is written
 * last, so that it exists only beside everything else. */
#include "reproduce.h"

#include "try.h"

void repro_outcome_free(repro_outcome *outcome)
{
    repro_results_free(&outcome->results);
    repro_claims_free(&outcome->claims);
    repro_theory_free(&outcome->theory);
}

repro_findings repro_outcome_findings(const repro_outcome *outcome)
{
    return (repro_findings){&outcome->results, &outcome->claims, &outcome->theory};
}

pboost_status repro_reproduce(repro_outcome *out, const repro_settings *settings, const char *dir,
                              const repro_host *host, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    repro_plan plan = {0};
    repro_store *store = NULL;
    double seconds = 0.0;

    *out = (repro_outcome){0};
    TRY(repro_settings_check(settings, err));
    TRY(repro_plan_make(&plan, settings, err));
    TRY(repro_store_open(&store, dir, settings, &plan, &seconds, err));
    TRY(repro_run(&plan, settings, store, host, &seconds, err));
    double start = host->seconds();
    TRY(repro_theory_make(&out->theory, settings, err));
    seconds += host->seconds() - start;
    TRY(repro_results_make(&out->results, &plan, settings, seconds, err));
    TRY(repro_claims_make(&out->claims, &out->results, err));
    const repro_findings findings = repro_outcome_findings(out);
    TRY(repro_write_all(dir, &findings, err));
    TRY(repro_store_finish(store, err));
done:
    repro_store_close(store);
    repro_plan_free(&plan);
    if (st != PBOOST_OK)
        repro_outcome_free(out);
    return st;
}
