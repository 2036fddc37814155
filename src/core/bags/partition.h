/* Cuts a sorted list into bags of least total within-bag sum of squares (paper, eq. 1dimKmeans).
 *
 * A cut is a position between rows, 0 .. n; a bag is the rows between two cuts that follow each
 * other.  The whole problem is a shortest path from cut 0 to cut n, where a step from i to j costs
 * the sum of squares of rows i .. j-1 about their mean and j - i is at least k.  A bag of 2k rows
 * or more can be halved without loss, so only steps of k .. 2k-1 are needed.
 *
 * It can be solved in independent pieces (by threads here, by machines in a cluster):
 *   - a chunk is a shortest-path tree from its first cut as far as its last;
 *   - any path to the far end has a cut among the 2k-1 positions that end at the chunk's last, so a
 *     cut that the tree's paths to all of these share (the chunk's last common cut) is on a
 * shortest path to anywhere beyond, provided that the chunk's first cut is;
 *   - pieces overlap: if the last common cut q of one chunk is among the common cuts of the next,
 *     then all that the next chunk found after q holds as if it had started at q, since parts of
 *     shortest paths are shortest.  Otherwise the next chunk must be solved again, from q.
 * The last common cut is about k^2 rows before the end, so this is worthwhile if n is many times
 * k^2. Otherwise the path is searched from both ends: among the 2k-1 positions in the middle is the
 * cut at which the sum of both costs is least. */
#ifndef PBOOST_PARTITION_H
#define PBOOST_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <priorboost/core.h>

#include "base/workspace.h"
#include "kernels/partition.h"

/* The longest step is 2k-1, stored less k in 32 bits. */
#define PARTITION_MAX_MIN_BAG ((size_t)1 << 31)

pboost_status pboost_partition_table_init(partition_table *out, size_t min_bag,
                                          pboost_workspace *memory, pboost_error *err);
void pboost_partition_table_free(partition_table *table);

/* Memory for solving chunks of up to max_rows rows; one per thread. */
typedef struct {
    size_t max_rows;
    pboost_workspace *memory; /* what it is taken from */
    double *x;                /* the rows around the current window */
    double *cost;    /* least cost up to each cut around the current window, less a constant */
    double *scratch; /* of the kernels */
    uint32_t *step;  /* by cut: length of the last step of its path, less k */
    unsigned char *mark;
    const double *end; /* of the last sweep: end[-t] is the cost of the t-th cut before its last */
} partition_work;

pboost_status pboost_partition_work_init(partition_work *out, size_t max_rows, size_t min_bag,
                                         pboost_workspace *memory, pboost_error *err);
void pboost_partition_work_free(partition_work *work);

/* Rows first .. last-1 of a sorted list, each multiplied by scale. */
typedef struct {
    const double *x;
    size_t first, last;
    double scale;
    bool backward; /* from last to first: a shortest path is one in either direction */
} partition_piece;

/* Finds the shortest paths from the first cut of the piece to all others, or with backward from the
 * last one. */
void pboost_partition_sweep(partition_work *work, const partition_table *table,
                            const partition_piece *piece);

/* Ascending cuts. */
typedef struct {
    size_t n_cuts;
    size_t *cut; /* caller's memory, for rows / k + 2 cuts */
} partition_cuts;

/* Sweeps forward and gives the common cuts from the first of the piece on, or with to_end those of
 * the shortest path to its last. */
void pboost_partition_chunk(partition_cuts *out, partition_work *work, const partition_table *table,
                            const partition_piece *piece, bool to_end);

/* Appends to cuts what chunk says beyond the last of cuts; false if that is not a cut of the chunk,
 * so that the chunk must be solved again from there. */
bool pboost_partition_splice(partition_cuts *cuts, const partition_cuts *chunk);

/* How a problem is cut into chunks: by its size alone.  Chunk c ends at (c+1)*n/n_chunks and starts
 * `overlap` rows before the end of the one before. */
typedef struct {
    size_t n_chunks, overlap;
} partition_grid;

partition_grid pboost_partition_grid(size_t n, size_t min_bag);

/* How many entries `start` below must have room for: n / k + 1, or a few more. */
size_t pboost_partition_room(size_t n, size_t min_bag);

/* All of it: start[0 .. *n_bags] of the best bags of sorted x[0 .. n), n >= k >= 1. */
pboost_status pboost_partition(size_t *start, size_t *n_bags, const double *x, size_t n,
                               size_t min_bag, int threads, pboost_workspace *memory,
                               pboost_error *err);

/* For pieces of one list that are solved separately: the scale of the whole list, and the common
 * cuts of a piece, or with to_end the path to its end, found with both_ends as pboost_partition
 * finds it where it has one chunk.  out->cut is for n / k + 2 cuts; k >= 2, n >= k. */
double pboost_partition_scale(double lowest, double highest);
pboost_status pboost_partition_piece(partition_cuts *out, const double *x, size_t n, size_t min_bag,
                                     double scale, bool to_end, bool both_ends, int threads,
                                     pboost_error *err);

#endif
