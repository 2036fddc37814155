/* priorboost/priorboost.h — all of priorboost: training, curves, sparse rows, predicting,
 * planning, theory and files. */
#ifndef PRIORBOOST_PRIORBOOST_H
#define PRIORBOOST_PRIORBOOST_H

#include <priorboost/classes.h>
#include <priorboost/core.h>
#include <priorboost/curves.h>
#include <priorboost/io.h>
#include <priorboost/plan.h>
#include <priorboost/predict.h>
#include <priorboost/smooth.h>
#include <priorboost/sparse.h>
#include <priorboost/theory.h>
#include <priorboost/trainer.h>

#endif
