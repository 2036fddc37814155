/* A table that a query of a database gives:
 *
 *     sqlite:FILE?query=SELECT ...
 *     postgresql://[USER@]HOST[:PORT]/DATABASE?[PARAMETER=VALUE&...]query=SELECT ...
 *
 * The query is the rest of the text, one statement, which can only read. */
#ifndef PBOOST_CLI_QUERY_H
#define PBOOST_CLI_QUERY_H

#include "cli.h"

typedef struct query query;

/* Whether a source is meant to be a query rather than a file. */
bool query_is(const char *path);

pboost_status query_open(query **out, const char *url, pboost_error *err);
const pboost_rows *query_rows(const query *q);
/* For messages: the source without the query. */
const char *query_name(const query *q);
void query_close(query *q);

#endif
