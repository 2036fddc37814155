/* The paper's experiments, from settings to a folder with figures and a report.
 *
 * While series are missing, `dir` holds nothing but the folder `partial`.  results.json is written
 * last, so that it exists only beside everything else. */
#include "reproduce.h"

#include "try.h"

pboost_status repro_reproduce(repro_results *out, const repro_settings *settings, const char *dir,
                              const repro_watch *watch, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    repro_plan plan = {0};
    repro_store *store = NULL;
    double seconds = 0.0;

    *out = (repro_results){0};
    TRY(repro_settings_check(settings, err));
    TRY(repro_plan_make(&plan, settings, err));
    TRY(repro_store_open(&store, dir, settings, &plan, &seconds, err));
    TRY(repro_run(&plan, settings, store, watch, &seconds, err));
    TRY(repro_results_make(out, &plan, settings, seconds, err));
    TRY(repro_store_finish(store, err));
done:
    repro_store_close(store);
    repro_plan_free(&plan);
    if (st != PBOOST_OK)
        repro_results_free(out);
    return st;
}
