/* priorboost/priorboost.h — all of priorboost: training, planning, theory and files. */
#ifndef PRIORBOOST_PRIORBOOST_H
#define PRIORBOOST_PRIORBOOST_H

#include <priorboost/core.h>
#include <priorboost/io.h>
#include <priorboost/plan.h>
#include <priorboost/theory.h>

#endif
