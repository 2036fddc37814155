/* The last head of the oracle's ledger that this learner has seen, kept from fit to fit.
 *
 * It is in FILE.head beside the token file FILE: the oracle is shown it with every question, and
 * refuses if its store was put back to before it.  A head belongs to a token: one of another token
 * is not sent. */
#ifndef PBOOST_NET_HEAD_H
#define PBOOST_NET_HEAD_H

#include <priorboost/ledger.h>

/* The head that is kept for this token; "": none. */
pboost_status pboost_head_read(char out[PBOOST_HEAD_TEXT], const char *token_file,
                               const char *token, pboost_error *err);

/* On the disk when it returns.  A token that is not in a file of a folder keeps none. */
pboost_status pboost_head_write(const char *head, const char *token_file, const char *token,
                                pboost_error *err);

#endif
