/* Charts in the manner of a paper's figure, as SVG.
 *
 * A figure is one or more panels side by side that share a legend.  The colour of a series shows
 * one key (a bag size), its dash another (an algorithm).  The legend lists each key once, in the
 * order of first use, so 21 curves need 7 + 3 entries; a page's legend buttons switch the same
 * keys.
 *
 * Everything is lent by the caller and nothing is allocated.  Functions here do not fail: a write
 * error stays in the stream, and the caller checks it on closing.  All texts are UTF-8 and are
 * escaped here.  Optional texts and arrays may be NULL. */
#ifndef PBOOST_CHART_H
#define PBOOST_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { CHART_COLOURS = 8 }; /* colours of the palette; an index beyond wraps around */

/* CHART_NO_LINE: dots alone, such as a simulation beside its formula. */
typedef enum { CHART_SOLID, CHART_DOTTED, CHART_DASHED, CHART_NO_LINE } chart_dash;

typedef enum {
    CHART_LINEAR,
    CHART_LOG,  /* decades */
    CHART_LOG2, /* powers of two: bag sizes, numbers of rows */
} chart_scale;

typedef struct {
    const char *label;
    chart_scale scale;
    double lo, hi; /* the range shown; lo == hi: what the data need */
    bool whole;    /* labels are whole numbers, as of rounds */
    /* Of the values 1 .. n_names of an x axis, instead of numbers: columns of a table. */
    const char *const *names;
    size_t n_names;
} chart_axis;

/* Points in ascending x.  x = INFINITY is drawn at the right end, after a break of the axis.  A y
 * that is not finite, or not positive on a logarithmic axis, interrupts the line. */
typedef struct {
    const char *colour_key; /* such as "k = 4"; NULL: its colour is not in the legend */
    const char *dash_key;   /* such as "PriorBoost"; NULL: its dash is not in the legend */
    int colour;             /* one per colour_key: 0 is the neutral ink, 1.. are hues */
    chart_dash dash;        /* one per dash_key */
    bool points;            /* a dot at every point */
    size_t n;
    const double *x, *y;
    const double *low, *high; /* error bars from low to high, both or neither */
    bool band;                /* one area from low to high instead of bars */
} chart_series;

/* A ring around one point: the optimum.  Toggled with the series of the same keys. */
typedef struct {
    double x, y;
    int colour;
    const char *colour_key, *dash_key;
    const char *label; /* shown with the values of the point and in the data table's note */
} chart_mark;

/* A thin horizontal line across the panel, labelled at its right end: a floor, a bound. */
typedef struct {
    double y;
    const char *label; /* may be NULL */
} chart_rule;

typedef struct {
    const char *title;
    chart_axis x, y;
    const chart_series *series;
    size_t n_series;
    const chart_mark *marks;
    size_t n_marks;
    const chart_rule *rules;
    size_t n_rules;
} chart_panel;

typedef struct {
    const char *id;          /* letters, digits and '-'; unique in a page */
    const char *title;       /* "Figure 1: linear regression" */
    const char *caption;     /* below the figure; also its accessible description */
    const char *colour_name; /* heads the legend's colours: "bag size" */
    const char *dash_name;   /* heads the legend's dashes: "algorithm" */
    const chart_panel *panels;
    size_t n_panels;
} chart_figure;

/* A file of its own: one SVG, the panels side by side, at most three in a row. */
void chart_write_svg(FILE *out, const chart_figure *figure);

/* Whether a file of this name is a chart alone (.svg) rather than a page. */
bool chart_names_svg(const char *path);

#endif
