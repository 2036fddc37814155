/* Graphs of ONNX: values, constants and operators as messages.
 *
 * The numbers of fields and types are those of onnx.proto.  A value is named by a number; the names
 * "priorboost/7" cannot be those of columns that a person chose. */
#ifndef PBOOST_ONNX_H
#define PBOOST_ONNX_H

#include "protobuf.h"

typedef enum { ONNX_INT64 = 7, ONNX_STRING = 8, ONNX_DOUBLE = 11 } onnx_type;

typedef struct {
    message body; /* a GraphProto */
    size_t values;
} onnx_graph;

/* A tensor of the graph. */
typedef struct {
    char name[40];
} onnx_value;

/* An input or output of one column, with a row for each sample. */
void pboost_onnx_put_column(onnx_graph *g, bool output, const char *name, onnx_type type);

/* A constant of these rows and columns; 0 columns: a vector; 0 rows as well: one number. */
onnx_value pboost_onnx_doubles(onnx_graph *g, const double *v, size_t rows, size_t cols);
onnx_value pboost_onnx_double(onnx_graph *g, double v);
onnx_value pboost_onnx_int64s(onnx_graph *g, const int64_t *v, size_t n);

/* Attributes of an operator. */
void pboost_onnx_put_int(message *attributes, const char *name, int64_t v);
void pboost_onnx_put_text(message *attributes, const char *name, const char *v);
void pboost_onnx_put_ints(message *attributes, const char *name, const int64_t *v, size_t n);
void pboost_onnx_put_texts(message *attributes, const char *name, const char *const *v, size_t n);
void pboost_onnx_put_doubles(message *attributes, const char *name, const double *v, size_t n);

/* An operator with n inputs and one output, which is a new value or `output`.  The attributes
 * (NULL: none) are freed.  Those of ml_ are operators of ai.onnx.ml. */
onnx_value pboost_onnx_op(onnx_graph *g, const char *op, message *attributes, const onnx_value *in,
                          size_t n);
onnx_value pboost_onnx_ml_op(onnx_graph *g, const char *op, message *attributes,
                             const onnx_value *in);
/* The column of an input as a value. */
onnx_value pboost_onnx_input(onnx_graph *g, const char *name);
/* Gives a value the name of an output. */
void pboost_onnx_name_output(onnx_graph *g, onnx_value v, const char *name);

#define ONNX(g, op, ...)                                                                           \
    pboost_onnx_op((g), (op), NULL, (const onnx_value[]){__VA_ARGS__},                             \
                   sizeof((const onnx_value[]){__VA_ARGS__}) / sizeof(onnx_value))

/* The file; frees the graph. */
message pboost_onnx_model(onnx_graph *g, const char *name, const char *version);

#endif
