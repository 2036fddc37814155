/* An oracle at an address, as the trainer's oracle.
 *
 * Bags name rows by number; the remote oracle holds the table from numbers to ids.  A round is sent
 * in as many questions as its size needs; each has a request id made from its content, so that a
 * question sent again is answered with the same bytes. */
#ifndef PBOOST_NET_REMOTE_H
#define PBOOST_NET_REMOTE_H

#include "http.h"
#include "wire.h"

typedef struct pboost_remote pboost_remote;

typedef struct pboost_remote_options {
    http_options http;
    const char *checkpoint; /* a folder that is there before the first question; NULL: none */
    const char *token_file; /* the last head is kept beside it: see head.h; NULL: nowhere */
} pboost_remote_options;

/* Connects and reads the rules. */
pboost_status pboost_remote_open(pboost_remote **out, const char *url,
                                 const pboost_remote_options *options, pboost_error *err);
void pboost_remote_close(pboost_remote *remote);

const wire_config *pboost_remote_config(const pboost_remote *remote);

/* available[i]: row i may still be asked about. */
pboost_status pboost_remote_available(bool *available, pboost_remote *remote, const pboost_id *id,
                                      size_t n, pboost_error *err);

/* How many rows the token may still have answered; UINT64_MAX: there is no limit. */
pboost_status pboost_remote_rows_left(uint64_t *out, pboost_remote *remote, pboost_error *err);

/* Row i of the bags to come is id[i], borrowed.  Ids that all are numbers are sent as such. */
void pboost_remote_set_rows(pboost_remote *remote, const pboost_id *id, size_t n);

/* The bags that the checkpoint holds of a round (from 0); none, if that was not begun. */
pboost_status pboost_remote_recall(pboost_bags *out, const pboost_remote *remote, size_t round,
                                   pboost_error *err);

/* Writes the bags of a round to the checkpoint, before they are asked about.  replace: what it has
 * of that round was never sent; otherwise it must be the same. */
pboost_status pboost_remote_keep(const pboost_remote *remote, size_t round, const pboost_bags *bags,
                                 bool replace, pboost_error *err);

/* The interface to it; valid as long as the remote.  A question that failed may be asked again,
 * also after some of its parts were answered: those are not lost. */
pboost_oracle pboost_remote_interface(pboost_remote *remote);

/* The id of a text: a number if the text is the decimal form of one. */
pboost_id pboost_remote_id(const char *text);

#endif
