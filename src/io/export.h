/* What the files that write an ONNX model share. */
#ifndef PBOOST_EXPORT_H
#define PBOOST_EXPORT_H

#include "date.h"
#include "onnx.h"

/* A source column in the graph. */
typedef struct {
    const pboost_feature *feature;
    const date_part *part; /* of a date; NULL: none */
    size_t levels;
    onnx_value raw;            /* numbers with NaN, or the places of a category */
    onnx_value value;          /* numbers as the linear predictor takes them */
    size_t at, n;              /* its encoded columns */
    const pboost_curve *curve; /* NULL: it has none */
    size_t curve_at;           /* its columns */
    size_t splits, wide; /* category: the splits by it; the first of their columns for trees */
} input;

typedef struct {
    onnx_graph graph;
    const pboost_model *model;
    input *input;
    size_t n;
    onnx_value offset, zeros;
} exporter;

/* *sum += term. */
static inline void add(onnx_graph *g, onnx_value *sum, onnx_value term)
{
    *sum = ONNX(g, "Add", *sum, term);
}

/* export_trees.c: *eta += the trees. */
pboost_status pboost_export_trees(exporter *e, onnx_value *eta, const pboost_forest *forest,
                                  pboost_error *err);

#endif
