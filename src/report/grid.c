/* Cells of a table, printed one after another. */
#include "grid.h"

#include <stdarg.h>
#include <stdio.h>

#include "text.h"
#include "try.h"

void grid_free(grid *g)
{
    free(g->text);
    free(g->cell);
    *g = (grid){0};
}

pboost_status grid_make(grid *out, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    *out = (grid){0};
    NEED(out->text = calloc(n, sizeof *out->text), err);
    NEED(out->cell = calloc(n, sizeof *out->cell), err);
done:
    return st;
}

void grid_add(grid *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(g->text[g->n], sizeof *g->text, format, args);
    va_end(args);
    g->cell[g->n].text = g->text[g->n];
    g->n++;
}

void grid_add_number(grid *g, double value)
{
    char text[TEXT_NUMBER];
    text_value(text, value);
    grid_add(g, "%s", *text != '\0' ? text : "–");
}
