/* Option structs of callers that were built against an older header.
 *
 * The first field of such a struct is its struct_size.  A new field goes to the end, beyond the old
 * sizeof: padding of an older caller may hold anything. */
#ifndef PBOOST_OPTIONS_H
#define PBOOST_OPTIONS_H

#include <priorboost/core.h>

/* Copies the fields that `given` has over those of *out, which holds the defaults (init).  Nothing
 * beyond given->struct_size is read.  A size that no older header had and one that is larger than
 * today's are refused. */
#define OPTIONS_READ(out, given, init, err)                                                        \
    pboost_options_read(out, sizeof *(out), given, #init, err)

/* Refuses a struct inside another that does not have the size of this version: the fields after it
 * would be read from the wrong place. */
#define OPTIONS_INSIDE(inner, init, err)                                                           \
    pboost_options_inside((inner)->struct_size, sizeof *(inner), #init, err)

pboost_status pboost_options_read(void *out, size_t size, const void *given, const char *init,
                                  pboost_error *err);
pboost_status pboost_options_inside(size_t struct_size, size_t size, const char *init,
                                    pboost_error *err);

#endif
