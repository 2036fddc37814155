/* A figure in a page: legend, panels, caption, and its numbers as a table.
 *
 * The table serves those who cannot see the curves, those who want the numbers, and the page's
 * script, which reads the values from it; so they stand in the page once.  Column i of a panel's
 * table is its series i. */
#include <math.h>

#include "page.h"
#include "panel.h"

/* ---- Legend ---------------------------------------------------------------------------------- */

static void write_entry(FILE *out, char kind, size_t number, legend_entry entry)
{
    fprintf(out, "<span class=\"key\" data-%c=\"%zu\"><i class=\"c%d %s\"></i>", kind, number,
            panel_colour(entry.colour), panel_dash(entry.dash));
    text_escape(out, entry.key);
    fputs("</span>\n", out);
}

static void start_group(FILE *out, const char *name)
{
    fputs("<div class=\"keys\" role=\"group\" aria-label=\"", out);
    text_escape(out, name != NULL ? name : "series");
    fputs("\">\n", out);
    if (name == NULL)
        return;
    fputs("<b>", out);
    text_escape(out, name);
    fputs("</b>\n", out);
}

static void write_legend(FILE *out, const chart_figure *figure, const legend *l)
{
    fputs("<div class=\"legend\">\n", out);
    for (legend_kind kind = 0; kind < LEGEND_KINDS; kind++) {
        bool colour = kind == LEGEND_COLOUR;
        if (l->n[kind] == 0)
            continue;
        start_group(out, colour ? figure->colour_name : figure->dash_name);
        for (size_t i = 0; i < l->n[kind]; i++)
            write_entry(out, colour ? 'c' : 'd', i, legend_at(l, kind, i));
        fputs("</div>\n", out);
    }
    fputs("</div>\n", out);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* The least x beyond after (NAN: the least of all) in any series; NAN when there is none. */
static double next_x(const chart_panel *panel, double after)
{
    double next = NAN;
    for (size_t s = 0; s < panel->n_series; s++)
        for (size_t i = 0; i < panel->series[s].n; i++) {
            double x = panel->series[s].x[i];
            if (!(x <= after) && !(x >= next) && !isnan(x))
                next = x;
        }
    return next;
}

static void write_value(FILE *out, const chart_series *s, double x)
{
    size_t i = 0;
    char text[TEXT_NUMBER];
    while (i < s->n && !(s->x[i] == x))
        i++;
    fputs("<td>", out);
    if (i == s->n)
        return;
    text_value(text, s->y[i]);
    fputs(text, out);
    if (s->low == NULL || s->high == NULL || isnan(s->low[i]) || isnan(s->high[i]))
        return;
    text_value(text, s->low[i]);
    fprintf(out, " (%s", text);
    text_value(text, s->high[i]);
    fprintf(out, " to %s)", text);
}

/* </th>, </td> and </tr> may be left out in HTML; in a table of thousands of cells this saves much
 * space. */
static void write_numbers(FILE *out, const chart_panel *panel)
{
    fputs("<div class=\"scroll\" tabindex=\"0\"><table class=\"data\"><caption>", out);
    text_escape(out, panel->title);
    for (size_t i = 0; i < panel->n_marks; i++) {
        char x[TEXT_NUMBER];
        if (panel->marks[i].label == NULL)
            continue;
        text_value(x, panel->marks[i].x);
        fputs(i == 0 && panel->title == NULL ? "" : "; ", out);
        text_escape(out, panel->marks[i].label);
        fprintf(out, " at %s", x);
    }
    fputs("</caption>\n<thead><tr><th scope=\"col\">", out);
    text_escape(out, panel->x.label);
    for (size_t s = 0; s < panel->n_series; s++) {
        fputs("<th scope=\"col\">", out);
        panel_series_name(out, &panel->series[s]);
    }
    fputs("\n<tbody>\n", out);
    double x = NAN;
    while (x = next_x(panel, x), !isnan(x)) {
        char text[TEXT_NUMBER];
        text_value(text, x);
        bool named = panel->x.names != NULL && x >= 1.0 && x <= (double)panel->x.n_names;
        fprintf(out, named ? "<tr><th scope=\"row\" data-x=\"%s\">" : "<tr><th scope=\"row\">%s",
                text);
        if (named)
            text_escape(out, panel->x.names[(size_t)x - 1]);
        for (size_t s = 0; s < panel->n_series; s++)
            write_value(out, &panel->series[s], x);
        fputc('\n', out);
    }
    fputs("</table></div>\n", out);
}

/* ---- The whole ------------------------------------------------------------------------------- */

void page_figure(FILE *out, const chart_figure *figure)
{
    legend l = legend_of(figure);

    fprintf(out, "<figure id=\"%s\">\n", figure->id);
    if (figure->title != NULL) {
        fputs("<h3>", out);
        text_escape(out, figure->title);
        fputs("</h3>\n", out);
    }
    write_legend(out, figure, &l);
    fputs("<div class=\"panels\">\n", out);
    for (size_t i = 0; i < figure->n_panels; i++) {
        fputs("<div class=\"box\">", out);
        panel_write(out, figure, &l, i, -1, -1);
        fputs("</div>\n", out);
    }
    fputs("</div>\n<figcaption>", out);
    text_escape(out, figure->caption);
    fputs("</figcaption>\n<details><summary>The numbers</summary>\n", out);
    for (size_t i = 0; i < figure->n_panels; i++)
        write_numbers(out, &figure->panels[i]);
    fputs("</details>\n</figure>\n", out);
}
