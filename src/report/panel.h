/* One panel as SVG, and the legend that a figure's panels share. */
#ifndef PBOOST_REPORT_PANEL_H
#define PBOOST_REPORT_PANEL_H

#include "chart.h"
#include "scale.h"

enum { PANEL_WIDTH = 440, PANEL_HEIGHT = 320, LEGEND_KEYS = 32 };

/* The keys of a figure in the order of first use, each with a series that shows it.  Keys beyond
 * LEGEND_KEYS are drawn but not listed. */
typedef enum { LEGEND_COLOUR, LEGEND_DASH, LEGEND_KINDS } legend_kind;

typedef struct {
    size_t n[LEGEND_KINDS];
    const chart_series *shows[LEGEND_KINDS][LEGEND_KEYS];
} legend;

legend legend_of(const chart_figure *figure);

/* What an entry's sample looks like: a key that only has a colour shows the series' own dash, and
 * the other way round; otherwise the other property is neutral. */
typedef struct {
    const char *key;
    int colour;
    chart_dash dash;
} legend_entry;
legend_entry legend_at(const legend *l, legend_kind kind, size_t i);

/* Writes <svg>…</svg> of PANEL_WIDTH by PANEL_HEIGHT.  x >= 0: nested in a larger SVG at x, y;
 * x < 0: an element of a page. */
void panel_write(FILE *out, const chart_figure *figure, const legend *l, size_t panel, double x,
                 double y);

/* <text>, escaped; nothing for NULL.  Classes: m middle, e end, t bold. */
void panel_text(FILE *out, const char *class, double x, double y, const char *text);

/* The classes that style a line: its dash, and the N of cN for its colour. */
const char *panel_dash(chart_dash dash);
int panel_colour(int colour);

/* "PriorBoost, k = 4", escaped. */
void panel_series_name(FILE *out, const chart_series *series);

#endif
