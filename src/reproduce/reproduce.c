/* The paper's experiments, from settings to a folder with figures and a report.
 * results.json is written last, so that it exists only beside everything else. */
#include "reproduce.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

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

/* Makes the folder unless it is there; refuses one that holds anything. */
static pboost_status open_folder(const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    DIR *dir = NULL;

    if ((mkdir(path, 0777) != 0 && errno != EEXIST) || (dir = opendir(path)) == NULL)
        FAIL(err, PBOOST_OUTPUT, "%s: %s", path, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            FAIL(err, PBOOST_INVALID,
                 "--out: the folder %s is not empty (it holds '%s'); name an empty or a new one",
                 path, entry->d_name);
done:
    if (dir != NULL)
        closedir(dir);
    return st;
}

pboost_status repro_reproduce(repro_outcome *out, const repro_settings *settings, const char *dir,
                              const repro_host *host, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    repro_plan plan = {0};
    double start = host->seconds();

    *out = (repro_outcome){0};
    TRY(repro_settings_check(settings, err));
    TRY(repro_plan_make(&plan, settings, err));
    TRY(open_folder(dir, err));
    TRY(repro_run(&plan, settings, host, err));
    TRY(repro_theory_make(&out->theory, settings, err));
    TRY(repro_results_make(&out->results, &plan, settings, host->seconds() - start, err));
    TRY(repro_claims_make(&out->claims, &out->results, err));
    const repro_findings findings = repro_outcome_findings(out);
    TRY(repro_write_all(dir, &findings, err));
done:
    repro_plan_free(&plan);
    if (st != PBOOST_OK)
        repro_outcome_free(out);
    return st;
}
