/* An axis: from values to positions, and its ticks. */
#ifndef PBOOST_REPORT_SCALE_H
#define PBOOST_REPORT_SCALE_H

#include <stdbool.h>

#include "chart.h"
#include "text.h"

enum { SCALE_TICKS = 16, SCALE_MINOR = 128 };

typedef struct {
    double value;
    char label[TEXT_NUMBER];
} scale_tick;

typedef struct {
    chart_scale kind;
    bool whole;      /* labels are whole numbers */
    double lo, hi;   /* the range shown */
    double from, to; /* positions of lo and hi */
    double infinity; /* position of x = INFINITY; NAN when the axis has no place for it */
    size_t n_ticks, n_minor;
    scale_tick tick[SCALE_TICKS]; /* labelled, with a grid line */
    double minor[SCALE_MINOR];    /* a short stroke at the axis */
} scale;

/* The range of the values to show, extended value by value; begins as SCALE_EMPTY. */
typedef struct {
    double lo, hi;
    bool infinite; /* +INFINITY was among the values */
} scale_extent;
#define SCALE_EMPTY ((scale_extent){INFINITY, -INFINITY, false})

/* Whether the axis has a place for this finite value: a logarithm has none for v <= 0. */
bool scale_shows(chart_scale kind, double value);

void scale_extend(scale_extent *extent, chart_scale kind, double value);

/* The range and ticks for an axis; margin is the fraction of the range left free at either end. */
void scale_fit(scale *s, const chart_axis *axis, const scale_extent *extent, double margin);

/* Where value stands.  NAN for a value that the axis cannot show. */
double scale_position(const scale *s, double value);

#endif
