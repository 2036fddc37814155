#include "onnx.h"

#include <stdio.h>

enum { IR_VERSION = 8, OPSET = 13, ML_OPSET = 3 };
enum { ATTRIBUTE_INT = 2, ATTRIBUTE_STRING = 3, ATTRIBUTE_TENSOR = 4 };
enum { ATTRIBUTE_INTS = 7, ATTRIBUTE_STRINGS = 8 };

static onnx_value new_value(onnx_graph *g)
{
    onnx_value v;
    snprintf(v.name, sizeof v.name, "priorboost/%zu", g->values++);
    return v;
}

void pboost_onnx_put_column(onnx_graph *g, bool output, const char *name, onnx_type type)
{
    message info = {0}, of = {0}, tensor = {0}, shape = {0}, rows = {0}, cols = {0};

    put_string(&rows, 2, "N");
    put_number(&cols, 1, 1);
    put_message(&shape, 1, &rows);
    put_message(&shape, 1, &cols);
    put_number(&tensor, 1, type);
    put_message(&tensor, 2, &shape);
    put_message(&of, 1, &tensor);
    put_string(&info, 1, name);
    put_message(&info, 2, &of);
    put_message(&g->body, output ? 12 : 11, &info);
}

/* ---- Constants ------------------------------------------------------------------------------- */

/* Raw data is little-endian, as is every machine that the program runs on. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors are written as they are");

static message make_tensor(onnx_type type, const void *v, size_t rows, size_t cols)
{
    message t = {0};
    size_t n = rows == 0 ? 1 : cols == 0 ? rows : rows * cols;

    if (rows > 0)
        put_number(&t, 1, (int64_t)rows);
    if (cols > 0)
        put_number(&t, 1, (int64_t)cols);
    put_number(&t, 2, type);
    put_bytes(&t, 9, v, n * 8);
    return t;
}

static onnx_value put_tensor(onnx_graph *g, message tensor)
{
    onnx_value v = new_value(g);
    put_string(&tensor, 8, v.name);
    put_message(&g->body, 5, &tensor);
    return v;
}

onnx_value pboost_onnx_doubles(onnx_graph *g, const double *v, size_t rows, size_t cols)
{
    return put_tensor(g, make_tensor(ONNX_DOUBLE, v, rows, cols));
}

onnx_value pboost_onnx_double(onnx_graph *g, double v)
{
    return pboost_onnx_doubles(g, &v, 0, 0);
}

onnx_value pboost_onnx_int64s(onnx_graph *g, const int64_t *v, size_t n)
{
    return put_tensor(g, make_tensor(ONNX_INT64, v, n, 0));
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static void put_attribute(message *attributes, const char *name, int type, message *value)
{
    put_string(value, 1, name);
    put_number(value, 20, type);
    put_message(attributes, 5, value);
}

void pboost_onnx_put_int(message *attributes, const char *name, int64_t v)
{
    message value = {0};
    put_number(&value, 3, v);
    put_attribute(attributes, name, ATTRIBUTE_INT, &value);
}

void pboost_onnx_put_text(message *attributes, const char *name, const char *v)
{
    message value = {0};
    put_string(&value, 4, v);
    put_attribute(attributes, name, ATTRIBUTE_STRING, &value);
}

void pboost_onnx_put_ints(message *attributes, const char *name, const int64_t *v, size_t n)
{
    message value = {0};
    for (size_t i = 0; i < n; i++)
        put_number(&value, 8, v[i]);
    put_attribute(attributes, name, ATTRIBUTE_INTS, &value);
}

void pboost_onnx_put_texts(message *attributes, const char *name, const char *const *v, size_t n)
{
    message value = {0};
    for (size_t i = 0; i < n; i++)
        put_string(&value, 9, v[i]);
    put_attribute(attributes, name, ATTRIBUTE_STRINGS, &value);
}

void pboost_onnx_put_doubles(message *attributes, const char *name, const double *v, size_t n)
{
    message value = {0}, tensor = make_tensor(ONNX_DOUBLE, v, n, 0);
    put_message(&value, 5, &tensor);
    put_attribute(attributes, name, ATTRIBUTE_TENSOR, &value);
}

/* ---- Operators ------------------------------------------------------------------------------- */

static void put_node(onnx_graph *g, const char *op, const char *domain, message *attributes,
                     const onnx_value *in, size_t n, const char *out)
{
    message node = {0};

    for (size_t i = 0; i < n; i++)
        put_string(&node, 1, in[i].name);
    put_string(&node, 2, out);
    put_string(&node, 3, out);
    put_string(&node, 4, op);
    if (attributes != NULL) { /* fields of the node already */
        put_raw(&node, attributes->data, attributes->n);
        node.failed = node.failed || attributes->failed;
        free(attributes->data);
    }
    if (domain != NULL)
        put_string(&node, 7, domain);
    put_message(&g->body, 1, &node);
}

onnx_value pboost_onnx_op(onnx_graph *g, const char *op, message *attributes, const onnx_value *in,
                          size_t n)
{
    onnx_value out = new_value(g);
    put_node(g, op, NULL, attributes, in, n, out.name);
    return out;
}

onnx_value pboost_onnx_ml_op(onnx_graph *g, const char *op, message *attributes,
                             const onnx_value *in)
{
    onnx_value out = new_value(g);
    put_node(g, op, "ai.onnx.ml", attributes, in, 1, out.name);
    return out;
}

onnx_value pboost_onnx_input(onnx_graph *g, const char *name)
{
    onnx_value out = new_value(g);
    message node = {0};

    put_string(&node, 1, name);
    put_string(&node, 2, out.name);
    put_string(&node, 4, "Identity");
    put_message(&g->body, 1, &node);
    return out;
}

void pboost_onnx_name_output(onnx_graph *g, onnx_value v, const char *name)
{
    put_node(g, "Identity", NULL, NULL, &v, 1, name);
}

message pboost_onnx_model(onnx_graph *g, const char *name, const char *version)
{
    message model = {0}, opset = {0}, ml = {0};

    put_number(&model, 1, IR_VERSION);
    put_string(&model, 2, "priorboost");
    put_string(&model, 3, version);
    put_string(&g->body, 2, name);
    put_message(&model, 7, &g->body);
    put_string(&opset, 1, "");
    put_number(&opset, 2, OPSET);
    put_message(&model, 8, &opset);
    put_string(&ml, 1, "ai.onnx.ml");
    put_number(&ml, 2, ML_OPSET);
    put_message(&model, 8, &ml);
    return model;
}
