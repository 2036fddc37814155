/* Tables of a page whose cells are printed one after another. */
#ifndef PBOOST_REPORT_GRID_H
#define PBOOST_REPORT_GRID_H

#include <priorboost/core.h>

#include "page.h"

enum { GRID_TEXT = 160 };

typedef struct grid {
    char (*text)[GRID_TEXT];
    page_cell *cell; /* each points to its text */
    size_t n;
} grid;

pboost_status grid_make(grid *out, size_t n, pboost_error *err);
void grid_free(grid *g);

void grid_add(grid *g, const char *format, ...) PBOOST_PRINTF(2, 3);
void grid_add_number(grid *g, double value); /* a dash for NaN */

#endif
