/* priorboost/priorboost.h — all of priorboost: the algorithms and the files. */
#ifndef PRIORBOOST_PRIORBOOST_H
#define PRIORBOOST_PRIORBOOST_H

#include <priorboost/core.h>
#include <priorboost/io.h>

#endif
