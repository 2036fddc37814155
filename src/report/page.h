/* Self-contained HTML pages: text, tables with verdicts, figures.
 *
 * A page needs no network and no script: styles are inline, a figure's curves are static SVG and
 * its numbers a table that opens on demand.  Where scripts run, pointing at a figure shows the
 * values of the nearest point and the legend switches series.  The only URL in the page is the SVG
 * namespace.
 *
 * Call page_begin, then the others in the order in which they appear, then page_end.  As in
 * chart.h, texts are escaped here, nothing is allocated, and a write error stays in the stream. */
#ifndef PBOOST_PAGE_H
#define PBOOST_PAGE_H

#include <priorboost/core.h>

#include "chart.h"

void page_begin(FILE *out, const char *title, const char *subtitle);
void page_end(FILE *out);

/* Links to the sections to come. */
typedef struct {
    const char *id, *title;
} page_entry;
void page_contents(FILE *out, const page_entry *entries, size_t n);

void page_section(FILE *out, const char *id, const char *title);
void page_paragraph(FILE *out, const char *text);
void page_code(FILE *out, const char *text);   /* set as typed: a command line */
void page_notice(FILE *out, const char *text); /* must not be overlooked: "incomplete" */

/* What is known about the run: machine, version, seed, time. */
typedef struct {
    const char *term, *value;
} page_fact;
void page_facts(FILE *out, const page_fact *facts, size_t n);

/* A verdict is shown as a sign and words, so that it can be read without colour. */
typedef enum {
    PAGE_NO_VERDICT,
    PAGE_HOLDS,             /* "holds" */
    PAGE_HOLDS_ONE_READING, /* "holds under one reading" */
    PAGE_DOES_NOT_HOLD,     /* "does not hold" */
    PAGE_NOT_TESTED,        /* "not tested" */
} page_verdict;

const char *page_verdict_name(page_verdict verdict); /* the words above; "" for none */

typedef struct {
    const char *heading;
    bool number; /* aligned right, digits of equal width */
} page_column;

/* A table: begin it, write its cells row after row, end it. */
typedef struct {
    FILE *out;
    const page_column *columns;
    size_t n_columns, at; /* column of the next cell */
} page_table;

page_table page_table_begin(FILE *out, const char *caption, const page_column *columns,
                            size_t n_columns);
void page_cell(page_table *table, const char *format, ...) PBOOST_PRINTF(2, 3); /* short */
void page_cell_text(page_table *table, const char *text); /* of any length; NULL: empty */
void page_cell_number(page_table *table, double value);   /* a dash for NaN */
void page_cell_verdict(page_table *table, page_verdict verdict, const char *text); /* and why */
void page_table_end(page_table *table);

/* The figure with its legend, caption and data table. */
void page_figure(FILE *out, const chart_figure *figure);

#endif
