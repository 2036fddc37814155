/* Parts of the page that compares runs. */
#ifndef PBOOST_RUN_PAGE_H
#define PBOOST_RUN_PAGE_H

#include "page.h"
#include "run_record.h"

/* Whether their losses can be compared at all. */
bool run_one_family(const run_record *runs, size_t n);

/* run_rounds.c: losses and bags by round, and losses by the least bag allowed where that differs.
 */
pboost_status run_write_losses(FILE *out, const run_record *runs, size_t n, pboost_error *err);
pboost_status run_write_by_bag(FILE *out, const run_record *runs, size_t n, pboost_error *err);
pboost_status run_write_bags(FILE *out, const run_record *runs, size_t n, pboost_error *err);

/* run_curves.c: nothing where no run has curves. */
pboost_status run_write_curves(FILE *out, const run_record *runs, size_t n, pboost_error *err);

/* run_model.c: predictions against answers; members of mixtures, and what columns do to them. */
pboost_status run_write_answered(FILE *out, const run_record *runs, size_t n, pboost_error *err);
pboost_status run_write_effects(FILE *out, const run_record *runs, size_t n, pboost_error *err);

/* run_weights.c */
pboost_status run_write_weights(FILE *out, const run_record *runs, size_t n, pboost_error *err);

#endif
