/* What a test orders a PostgreSQL server's disk to do, in memory that both map. */
#ifndef PBOOST_POSTGRESQL_FAULTS_H
#define PBOOST_POSTGRESQL_FAULTS_H

#include <stdatomic.h>

enum { FAULT_NONE, FAULT_WRITE, FAULT_SPACE, FAULT_SYNC };

typedef struct {
    atomic_int what;
    atomic_int left; /* operations of that kind until one fails, once */
    atomic_int hits;
} fault_order;

#endif
