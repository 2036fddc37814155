/* Several oracles as one: each has the labels of some rows, its part of the table.
 *
 * A bag's answer is one noisy sum of all its rows, so a bag has rows of one part only, and is asked
 * about at one oracle; sums of parts of a bag are never added up.  All are asked at the same time.
 *
 * With a checkpoint each oracle has its questions and answers in a folder of its own,
 * DIR/oracle-1, DIR/oracle-2, ...; DIR/round-R says that the bags of round R are in all of them:
 * before it is there, none of them was sent.  A single oracle has DIR itself. */
#ifndef PBOOST_NET_GROUP_H
#define PBOOST_NET_GROUP_H

#include "remote.h"

enum { PBOOST_GROUP_MAX = 64 };

typedef struct pboost_group pboost_group;

/* Connects to each url[i], with options[i], whose checkpoint is set here; `checkpoint` NULL: none.
 * Refuses oracles whose rules do not go together: all but min_bag, the form of units and the limits
 * of a question must be equal. */
pboost_status pboost_group_open(pboost_group **out, const char *const *url,
                                const pboost_remote_options *options, size_t n,
                                const char *checkpoint, pboost_error *err);
void pboost_group_close(pboost_group *group);

size_t pboost_group_size(const pboost_group *group);
pboost_remote *pboost_group_member(pboost_group *group, size_t i);
const char *pboost_group_url(const pboost_group *group, size_t i);
/* Prefixes the message of member i with its number and address, where there are several. */
pboost_status pboost_group_explain(const pboost_group *group, size_t i, pboost_status status,
                                   pboost_error *err);

/* Row i of the bags to come is id[i], whose label is at oracle part[i] (NULL: there is one);
 * borrowed. */
void pboost_group_set_rows(pboost_group *group, const pboost_id *id, const uint32_t *part,
                           size_t n);

/* As those of a remote; the rules have the largest min_bag. */
pboost_status pboost_group_recall(pboost_bags *out, pboost_group *group, size_t round,
                                  pboost_error *err);
pboost_oracle pboost_group_interface(pboost_group *group);

/* Whether the checkpoint has an answer of the first round; true also where that is not known. */
bool pboost_group_answered(const pboost_group *group);

#endif
