/* The inner loops of the partition; see kernels/partition.c. */
#ifndef PBOOST_KERNELS_PARTITION_H
#define PBOOST_KERNELS_PARTITION_H

#include <stddef.h>
#include <stdint.h>

struct pboost_workspace;

/* Constants by bag size, shared by all chunks of one problem. */
typedef struct {
    size_t min_bag, length;
    struct pboost_workspace *memory; /* what it is taken from */
    double *number;                  /* t */
    double *inverse;                 /* 1/t */
    double *ratio;                   /* t/(t-1), 0 for t < 2 */
    double *weight;                  /* 1/t for k <= t < 2k, infinity elsewhere */
} partition_table;

/* Vectors may read or write this many items beyond the end. */
#define PARTITION_PAD 8

/* Finds cost[0 .. rows) and step[0 .. rows) from cost[-(2k-1) .. -1] and step[-1]; x[-(2k-1) ..
 * rows-1) are the rows before and between these cuts: row x[t] lies between cuts t and t+1 of cost.
 */
typedef void partition_kernel(double *cost, uint32_t *step, const double *x, size_t rows,
                              const partition_table *table, double *scratch);

partition_kernel pboost_partition_few_plain, pboost_partition_many_plain;
partition_kernel pboost_partition_few_avx2, pboost_partition_many_avx2;
partition_kernel pboost_partition_few_avx512, pboost_partition_many_avx512;

/* Subtracts the least of cost[0 .. n) from all of them. */
typedef void partition_rebase(double *cost, size_t n);

partition_rebase pboost_partition_rebase_plain, pboost_partition_rebase_avx2,
    pboost_partition_rebase_avx512;

/* Doubles of scratch that a kernel needs. */
#define PARTITION_SCRATCH(k) (8 * (size_t)(k) + 8 * PARTITION_PAD)

#endif
