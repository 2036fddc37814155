/* A figure as a file of its own: title, panels side by side, legend below. */
#include "chart.h"

#include <math.h>
#include <string.h>

#include "assets.h"
#include "panel.h"

enum { ROW = 3, TITLE_ROOM = 34, LINE = 22, SAMPLE = 22, GAP = 14, EDGE = 12 };

/* Guessed, a little generous: the file does not know which font will show it. */
static double width_of(const char *text)
{
    return 7.0 * (double)text_length(text);
}

/* Where the next legend entry goes; an entry that would not fit starts a new line. */
typedef struct {
    double left, right, x, y;
} pen;

static void draw_entry(FILE *out, const pen *p, legend_entry entry)
{
    double y = p->y - 4.5;
    fprintf(out, "<g class=\"c%d\">", panel_colour(entry.colour));
    if (entry.dash == CHART_NO_LINE)
        fprintf(out, "<path class=\"p\" d=\"M%.1f %.1fh0\"/></g>", p->x + 0.5 * SAMPLE, y);
    else
        fprintf(out, "<path class=\"l %s\" d=\"M%.1f %.1fh%d\"/></g>", panel_dash(entry.dash), p->x,
                y, SAMPLE);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">", p->x + SAMPLE + 6, p->y);
    text_escape(out, entry.key);
    fputs("</text>\n", out);
}

static void add_entry(FILE *out, pen *p, legend_entry entry)
{
    double width = SAMPLE + 6 + width_of(entry.key);
    if (p->x + width > p->right && p->x > p->left) {
        p->x = p->left;
        p->y += LINE;
    }
    if (out != NULL)
        draw_entry(out, p, entry);
    p->x += width + GAP;
}

static void start_group(FILE *out, pen *p, const char *name)
{
    p->x = p->left;
    p->y += LINE;
    if (out != NULL)
        panel_text(out, "t", EDGE, p->y, name);
}

/* Draws the legend below top and returns its foot; with out NULL it only measures. */
static double add_legend(FILE *out, const chart_figure *f, const legend *l, double right,
                         double top)
{
    double heads = fmax(width_of(f->colour_name), width_of(f->dash_name));
    double left = heads > 0 ? EDGE + 1.1 * heads + GAP : EDGE;
    pen p = {left, right, left, top};
    for (legend_kind kind = 0; kind < LEGEND_KINDS; kind++) {
        if (l->n[kind] > 0)
            start_group(out, &p, kind == LEGEND_COLOUR ? f->colour_name : f->dash_name);
        for (size_t i = 0; i < l->n[kind]; i++)
            add_entry(out, &p, legend_at(l, kind, i));
    }
    return p.y;
}

void chart_write_svg(FILE *out, const chart_figure *figure)
{
    legend l = legend_of(figure);
    size_t across = figure->n_panels < ROW ? figure->n_panels : ROW;
    size_t down = (figure->n_panels + ROW - 1) / ROW;
    double top = figure->title != NULL ? TITLE_ROOM : EDGE;
    double width = PANEL_WIDTH * (double)(across > 0 ? across : 1);
    double legend_top = top + PANEL_HEIGHT * (double)down;
    double height = add_legend(NULL, figure, &l, width - EDGE, legend_top) + EDGE;

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
            width, height, width, height);
    fputs("<title>", out);
    text_escape(out, figure->title);
    fputs("</title>\n<desc>", out);
    text_escape(out, figure->caption);
    fprintf(out, "</desc>\n<style>\n%s%s</style>\n", asset_chart_css, asset_light_css);
    fputs("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", out);
    panel_text(out, "title", EDGE, 22, figure->title);
    for (size_t i = 0; i < figure->n_panels; i++) {
        size_t row = i / ROW, column = i % ROW;
        panel_write(out, figure, &l, i, PANEL_WIDTH * (double)column,
                    top + PANEL_HEIGHT * (double)row);
    }
    add_legend(out, figure, &l, width - EDGE, legend_top);
    fputs("</svg>\n", out);
}

bool chart_names_svg(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".svg") == 0;
}
