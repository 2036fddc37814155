/* A sketch: narrow features that stand for wide ones where bags are made. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/sizes.h"
#include "sparse/csr.h"
#include "try.h"

#define CHUNK_ROWS ((size_t)1 << 12)

typedef struct {
    float *out;
    const pboost_sparse *x;
    size_t dims;
    uint64_t seed;
} sketch_task;

static void sketch_chunk(void *context, size_t chunk, int worker)
{
    sketch_task *t = context;
    size_t end = smaller((chunk + 1) * CHUNK_ROWS, t->x->rows);
    (void)worker;
    for (size_t i = chunk * CHUNK_ROWS; i < end; i++) {
        float *row = t->out + i * t->dims;
        memset(row, 0, t->dims * sizeof *row);
        for (size_t p = pboost_csr_start(t->x, i); p < pboost_csr_start(t->x, i + 1); p++) {
            uint64_t word = pboost_rng_key(t->seed, RNG_SKETCH, 0, t->x->column[p]);
            double v = pboost_csr_value(t->x, p);
            row[(word >> 1) % t->dims] += (float)((word & 1) != 0 ? v : -v);
        }
    }
}

pboost_status pboost_sparse_sketch(float *out, const pboost_sparse *x, size_t dims, uint64_t seed,
                                   int threads, const pboost_cancel *cancel, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    sketch_task task = {out, x, dims, seed};
    if (dims == 0)
        FAIL(err, PBOOST_INVALID, "dims is 0; a sketch has at least 1 column");
    if (threads < 0)
        FAIL(err, PBOOST_INVALID, "threads is %d; it must not be negative", threads);
    TRY(pboost_csr_check_shape(x, err));
    TRY(pboost_cancel_check(cancel, err));
    pboost_parallel((x->rows + CHUNK_ROWS - 1) / CHUNK_ROWS, threads, sketch_chunk, &task);
    TRY(pboost_cancel_check(cancel, err));
done:
    return st;
}
