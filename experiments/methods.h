/* Ways of learning from a label holder, on one interface. */
#ifndef STUDY_METHODS_H
#define STUDY_METHODS_H

#include <priorboost/priorboost.h>

#include <try.h>

/* A table cut in two, and the label holder's rules. */
typedef struct {
    pboost_family family;
    size_t n, test_n, d;
    double *x, *y, *test_x, *test_y;
    pboost_rules rules;
    uint64_t seed;
} problem;

typedef struct method {
    const char *name;
    pboost_status (*run)(double *test_loss, const problem *p, const struct method *how,
                         pboost_error *err);
    pboost_algorithm algorithm;
    pboost_estimator estimator;
    pboost_strategy bags;
    size_t rounds; /* 0: the default */
} method;

extern const method METHODS[];
extern const size_t N_METHODS;

#endif
