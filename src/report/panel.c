/* One panel as SVG.
 *
 * Colours, widths and dashes are classes, so that a page can follow light and dark while a file of
 * its own carries fixed ones; geometry is numbers, so that the drawing stands without any script.
 * A dot is a path of no length with round ends: 256 of them cost no more than the line. */
#include "panel.h"

#include <math.h>
#include <string.h>

/* ---- Legend ---------------------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static const char *key_of(const chart_series *s, legend_kind kind)
{
    return kind == LEGEND_COLOUR ? s->colour_key : s->dash_key;
}

/* The number of a key, n when the legend has none such. */
static size_t key_number(const legend *l, legend_kind kind, const char *key)
{
    size_t i = 0;
    while (i < l->n[kind] && !same(key_of(l->shows[kind][i], kind), key))
        i++;
    return i;
}

legend legend_of(const chart_figure *figure)
{
    legend l = {0};
    for (size_t p = 0; p < figure->n_panels; p++)
        for (size_t i = 0; i < figure->panels[p].n_series; i++)
            for (legend_kind kind = 0; kind < LEGEND_KINDS; kind++) {
                const chart_series *s = &figure->panels[p].series[i];
                const char *key = key_of(s, kind);
                if (key != NULL && l.n[kind] < LEGEND_KEYS &&
                    key_number(&l, kind, key) == l.n[kind])
                    l.shows[kind][l.n[kind]++] = s;
            }
    return l;
}

legend_entry legend_at(const legend *l, legend_kind kind, size_t i)
{
    const chart_series *s = l->shows[kind][i];
    bool colour = kind == LEGEND_COLOUR || s->colour_key == NULL;
    bool dash = kind == LEGEND_DASH || s->dash_key == NULL;
    return (legend_entry){key_of(s, kind), colour ? s->colour : 0, dash ? s->dash : CHART_SOLID};
}

void panel_series_name(FILE *out, const chart_series *series)
{
    text_escape(out, series->dash_key);
    if (series->dash_key != NULL && series->colour_key != NULL)
        fputs(", ", out);
    text_escape(out, series->colour_key);
}

/* ---- Layout ---------------------------------------------------------------------------------- */

/* The plot's rectangle in the panel, and its two axes. */
typedef struct {
    const chart_figure *figure;
    const legend *legend;
    const chart_panel *panel;
    size_t number;
    double left, right, top, bottom;
    scale x, y;
    bool broken;   /* the x axis has a place for infinity after a break */
    size_t stride; /* every stride-th name of the x axis has room; 0: it has numbers */
} plot;

/* Widths in a font of 13 units; a digit is 0.56 em wide in the usual sans fonts. */
static const double text_size = 13, digit_width = 7.4;
static const double infinity_room = 46;

/* Names of an x axis are slanted, so that NAMES_MOST of them fit beside each other; longer ones are
 * cut. */
enum { NAME_LETTERS = 14, NAMES_MOST = 24, NAME_SLANT = 60 };

static void extend_by_series(const chart_panel *p, const chart_series *s, scale_extent *x,
                             scale_extent *y)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!scale_shows(p->y.scale, s->y[i]))
            continue;
        scale_extend(x, p->x.scale, s->x[i]);
        scale_extend(y, p->y.scale, s->y[i]);
        if (s->low != NULL && s->high != NULL) {
            scale_extend(y, p->y.scale, s->low[i]);
            scale_extend(y, p->y.scale, s->high[i]);
        }
    }
}

static void fit_axes(plot *q)
{
    const chart_panel *p = q->panel;
    scale_extent x = SCALE_EMPTY, y = SCALE_EMPTY;

    for (size_t i = 0; i < p->n_series; i++)
        extend_by_series(p, &p->series[i], &x, &y);
    for (size_t i = 0; i < p->n_marks; i++) {
        scale_extend(&x, p->x.scale, p->marks[i].x);
        scale_extend(&y, p->y.scale, p->marks[i].y);
    }
    for (size_t i = 0; i < p->n_rules; i++)
        scale_extend(&y, p->y.scale, p->rules[i].y);
    scale_fit(&q->x, &p->x, &x, 0.025);
    scale_fit(&q->y, &p->y, &y, 0.05);
    q->broken = x.infinite;
    if (p->x.names != NULL) {
        q->x.n_ticks = q->x.n_minor = 0;
        q->stride = 1 + (p->x.n_names - 1) / NAMES_MOST;
    }
}

/* How far below the axis its labels reach. */
static double label_room(const plot *q)
{
    size_t longest = 0;
    for (size_t i = 0; q->stride > 0 && i < q->panel->x.n_names; i += q->stride) {
        size_t length = text_length(q->panel->x.names[i]);
        longest = length > longest ? length : longest;
    }
    longest = longest < NAME_LETTERS ? longest : NAME_LETTERS;
    return q->stride > 0 ? 16 + 0.87 * digit_width * (double)longest : 18;
}

static plot lay_out(const chart_figure *figure, const legend *l, size_t number)
{
    plot q = {.figure = figure, .legend = l, .panel = &figure->panels[number], .number = number};
    size_t widest = 0;

    fit_axes(&q);
    for (size_t i = 0; i < q.y.n_ticks; i++) {
        size_t length = text_length(q.y.tick[i].label);
        widest = length > widest ? length : widest;
    }
    q.left = 34 + digit_width * (double)widest;
    q.right = PANEL_WIDTH - 12;
    q.top = q.panel->title != NULL ? 32 : 12;
    q.bottom = PANEL_HEIGHT - 28 - label_room(&q);
    q.x.from = q.left;
    q.x.to = q.broken ? q.right - infinity_room : q.right;
    q.x.infinity = q.broken ? q.right - infinity_room / 2 + 4 : NAN;
    q.y.from = q.bottom;
    q.y.to = q.top;
    return q;
}

/* Far outside the plot is as good as just outside: keeps a given range from making huge numbers.
 * NAN stays NAN. */
static double clamp(double v)
{
    return v < -2000 ? -2000 : v > 2000 ? 2000 : v;
}

static double px(const plot *q, double value)
{
    return clamp(scale_position(&q->x, value));
}

static double py(const plot *q, double value)
{
    return clamp(scale_position(&q->y, value));
}

static bool drawable(const plot *q, const chart_series *s, size_t i)
{
    return isfinite(scale_position(&q->x, s->x[i])) && scale_shows(q->y.kind, s->y[i]);
}

/* ---- Frame ----------------------------------------------------------------------------------- */

static void write_grid(FILE *out, const plot *q)
{
    fputs("<path class=\"grid\" d=\"", out);
    for (size_t i = 0; i < q->x.n_ticks; i++)
        fprintf(out, "M%.1f %.1fV%.1f", px(q, q->x.tick[i].value), q->top, q->bottom);
    for (size_t i = 0; i < q->y.n_ticks; i++)
        fprintf(out, "M%.1f %.1fH%.1f", q->left, py(q, q->y.tick[i].value), q->right);
    if (q->broken)
        fprintf(out, "M%.1f %.1fV%.1f", q->x.infinity, q->top, q->bottom);
    fputs("\"/>\n", out);
}

/* The frame's two axes with ticks; a broken x axis has two slanted strokes in its gap. */
static void write_axes(FILE *out, const plot *q)
{
    fprintf(out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f", q->left, q->top, q->bottom,
            q->broken ? q->x.to + 4 : q->right);
    if (q->broken)
        fprintf(out, "m-3 5l6 -10m1 10l6 -10m-3 5H%.1fM%.1f %.1fv5", q->right, q->x.infinity,
                q->bottom);
    for (size_t i = 0; i < q->x.n_ticks; i++)
        fprintf(out, "M%.1f %.1fv5", px(q, q->x.tick[i].value), q->bottom);
    for (size_t i = 0; i < q->x.n_minor; i++)
        fprintf(out, "M%.1f %.1fv3", px(q, q->x.minor[i]), q->bottom);
    for (size_t i = 0; i < q->y.n_ticks; i++)
        fprintf(out, "M%.1f %.1fh-5", q->left, py(q, q->y.tick[i].value));
    for (size_t i = 0; i < q->y.n_minor; i++)
        fprintf(out, "M%.1f %.1fh-3", q->left, py(q, q->y.minor[i]));
    fputs("\"/>\n", out);
}

void panel_text(FILE *out, const char *class, double x, double y, const char *text)
{
    if (text == NULL)
        return;
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
    text_escape(out, text);
    fputs("</text>\n", out);
}

/* Where character n of a text begins. */
static const char *letter(const char *text, size_t n)
{
    for (; *text != '\0'; text++)
        if (((unsigned char)*text & 0xc0) != 0x80 && n-- == 0)
            break;
    return text;
}

/* The name; of a long one both ends, because levels of a category differ at the end. */
static void write_name(FILE *out, const char *name)
{
    char begin[4 * NAME_LETTERS];
    size_t length = text_length(name), half = NAME_LETTERS / 2;
    if (length <= NAME_LETTERS) {
        text_escape(out, name);
        return;
    }
    size_t bytes = (size_t)(letter(name, half - 1) - name);
    snprintf(begin, sizeof begin, "%.*s", (int)bytes, name);
    text_escape(out, begin);
    fputs("…", out);
    text_escape(out, letter(name, length - half));
}

static void write_column_names(FILE *out, const plot *q)
{
    for (size_t i = 0; q->stride > 0 && i < q->panel->x.n_names; i += q->stride) {
        double x = px(q, (double)(i + 1));
        fprintf(out, "<path class=\"axis\" d=\"M%.1f %.1fv5\"/>", x, q->bottom);
        fprintf(out, "<text class=\"e name\" transform=\"translate(%.1f %.1f)rotate(-%d)\">", x + 4,
                q->bottom + 15, NAME_SLANT);
        write_name(out, q->panel->x.names[i]);
        fputs("</text>\n", out);
    }
}

static void write_labels(FILE *out, const plot *q)
{
    write_column_names(out, q);
    for (size_t i = 0; i < q->x.n_ticks; i++)
        panel_text(out, "m", px(q, q->x.tick[i].value), q->bottom + 18, q->x.tick[i].label);
    if (q->broken)
        panel_text(out, "m", q->x.infinity, q->bottom + 18, "∞");
    for (size_t i = 0; i < q->y.n_ticks; i++)
        panel_text(out, "e", q->left - 8, py(q, q->y.tick[i].value) + 0.35 * text_size,
                   q->y.tick[i].label);
    panel_text(out, "t", q->left, 18, q->panel->title);
    panel_text(out, "m", (q->left + q->right) / 2, PANEL_HEIGHT - 9, q->panel->x.label);
    if (q->panel->y.label == NULL)
        return;
    fprintf(out, "<text class=\"m\" transform=\"translate(14 %.1f)rotate(-90)\">",
            (q->top + q->bottom) / 2);
    text_escape(out, q->panel->y.label);
    fputs("</text>\n", out);
}

/* ---- Data ------------------------------------------------------------------------------------ */

const char *panel_dash(chart_dash dash)
{
    static const char *const class[] = {"solid", "dotted", "dashed", "dots"};
    return class[dash];
}

int panel_colour(int colour)
{
    return ((colour % CHART_COLOURS) + CHART_COLOURS) % CHART_COLOURS;
}

/* The line, and at infinity a level stroke: the two are not one curve, yet both show the dash. */
static void write_line(FILE *out, const plot *q, const chart_series *s)
{
    bool down = false;
    fprintf(out, "<path class=\"l %s\" d=\"", panel_dash(s->dash));
    for (size_t i = 0; i < s->n; i++) {
        if (!drawable(q, s, i)) {
            down = false;
        } else if (isinf(s->x[i])) {
            fprintf(out, "M%.1f %.1fh22", q->x.infinity - 11, py(q, s->y[i]));
            down = false;
        } else {
            fprintf(out, "%c%.1f %.1f", down ? 'L' : 'M', px(q, s->x[i]), py(q, s->y[i]));
            down = true;
        }
    }
    fputs("\"/>", out);
}

static void write_points(FILE *out, const plot *q, const chart_series *s)
{
    fputs("<path class=\"p\" d=\"", out);
    for (size_t i = 0; i < s->n; i++)
        if (drawable(q, s, i))
            fprintf(out, "M%.1f %.1fh0", px(q, s->x[i]), py(q, s->y[i]));
    fputs("\"/>", out);
}

static void write_error_bars(FILE *out, const plot *q, const chart_series *s)
{
    fputs("<path class=\"bar\" d=\"", out);
    for (size_t i = 0; i < s->n; i++) {
        if (!drawable(q, s, i) || isnan(s->low[i]) || isnan(s->high[i]))
            continue;
        /* On a logarithmic axis a bar that reaches zero leaves the plot at its foot. */
        double low = scale_shows(q->y.kind, s->low[i]) ? py(q, s->low[i]) : q->bottom + 9;
        double high = scale_shows(q->y.kind, s->high[i]) ? py(q, s->high[i]) : q->top - 9;
        fprintf(out, "M%.1f %.1fh5m-2.5 0V%.1fm-2.5 0h5", px(q, s->x[i]) - 2.5, low, high);
    }
    fputs("\"/>", out);
}

/* The area between low and high: forth along one, back along the other. */
static void write_band(FILE *out, const plot *q, const chart_series *s)
{
    fputs("<path class=\"band\" d=\"", out);
    for (size_t i = 0; i < 2 * s->n; i++) {
        size_t k = i < s->n ? i : 2 * s->n - 1 - i;
        double y = i < s->n ? s->low[k] : s->high[k];
        if (!isfinite(s->x[k]) || !scale_shows(q->y.kind, y))
            continue;
        fprintf(out, "%c%.1f %.1f", i > 0 ? 'L' : 'M', px(q, s->x[k]), py(q, y));
    }
    fputs("Z\"/>", out);
}

/* The numbers of the keys that switch this element, for the page's script. */
static void write_keys(FILE *out, const plot *q, const char *colour_key, const char *dash_key)
{
    size_t c = key_number(q->legend, LEGEND_COLOUR, colour_key);
    size_t d = key_number(q->legend, LEGEND_DASH, dash_key);
    if (c < q->legend->n[LEGEND_COLOUR])
        fprintf(out, " data-c=\"%zu\"", c);
    if (d < q->legend->n[LEGEND_DASH])
        fprintf(out, " data-d=\"%zu\"", d);
}

static void write_series(FILE *out, const plot *q, const chart_series *s)
{
    fprintf(out, "<g class=\"s c%d\"", panel_colour(s->colour));
    write_keys(out, q, s->colour_key, s->dash_key);
    fputc('>', out);
    if (s->low != NULL && s->high != NULL)
        (s->band ? write_band : write_error_bars)(out, q, s);
    if (s->dash != CHART_NO_LINE)
        write_line(out, q, s);
    if (s->points || s->dash == CHART_NO_LINE)
        write_points(out, q, s);
    fputs("</g>\n", out);
}

static void write_mark(FILE *out, const plot *q, const chart_mark *m)
{
    double x = scale_position(&q->x, m->x), y = scale_position(&q->y, m->y);
    if (!isfinite(x) || !isfinite(y))
        return;
    fprintf(out, "<circle class=\"s ring c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"7\"",
            panel_colour(m->colour), clamp(x), clamp(y));
    write_keys(out, q, m->colour_key, m->dash_key);
    if (m->label != NULL) {
        fputs(" data-label=\"", out);
        text_escape(out, m->label);
        fputc('"', out);
    }
    fputs("/>\n", out);
}

static void write_rule(FILE *out, const plot *q, const chart_rule *r)
{
    double y = scale_position(&q->y, r->y);
    if (isfinite(y))
        fprintf(out, "<path class=\"rule\" d=\"M%.1f %.1fH%.1f\"/>\n", q->left, clamp(y), q->right);
}

/* How often curves pass through the box, looked at where each is halfway and at its points. */
static size_t crossings(const plot *q, double left, double right, double top, double bottom)
{
    size_t n = 0;
    for (size_t s = 0; s < q->panel->n_series; s++) {
        const chart_series *c = &q->panel->series[s];
        double x0 = NAN, y0 = NAN;
        for (size_t i = 0; i < c->n; i++) {
            double x = px(q, c->x[i]), y = py(q, c->y[i]);
            for (int part = 1; part <= 4; part++) {
                double w = part / 4.0;
                double at = isnan(x0) ? x : x0 + w * (x - x0);
                double height = isnan(y0) ? y : y0 + w * (y - y0);
                n += at >= left && at <= right && height >= top && height <= bottom;
            }
            x0 = x;
            y0 = y;
        }
    }
    return n;
}

/* The label stands at the end of the line, and on the side of it, that is least crossed. */
static void write_rule_label(FILE *out, const plot *q, const chart_rule *r)
{
    double y = scale_position(&q->y, r->y), width = digit_width * (double)text_length(r->label);
    size_t least = (size_t)-1;
    const char *class = NULL;
    double at = 0, foot = 0;

    if (r->label == NULL || !(y >= q->top - 0.5 && y <= q->bottom + 0.5))
        return;
    for (int place = 0; place < 4; place++) {
        bool left = place & 1, below = place & 2;
        double base = below ? y + 13 : y - 5, start = left ? q->left + 4 : q->right - 4 - width;
        if (base - 11 < q->top || base + 3 > q->bottom)
            continue;
        size_t n = crossings(q, start - 3, start + width + 3, base - 11, base + 3);
        if (n < least) {
            least = n;
            class = left ? "halo" : "e halo";
            at = left ? q->left + 4 : q->right - 4;
            foot = base;
        }
    }
    if (class != NULL)
        panel_text(out, class, at, foot, r->label);
}

static void write_data(FILE *out, const plot *q)
{
    const chart_panel *p = q->panel;
    size_t shown = 0;

    /* Three units beyond the frame, so that a line along its edge keeps its full width. */
    fprintf(out,
            "<clipPath id=\"%s-%zu-clip\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"/></clipPath>\n<g clip-path=\"url(#%s-%zu-clip)\">\n",
            q->figure->id, q->number, q->left - 3, q->top - 3, q->right - q->left + 6,
            q->bottom - q->top + 6, q->figure->id, q->number);
    for (size_t i = p->n_series; i-- > 0;) {
        write_series(out, q, &p->series[i]);
        for (size_t j = 0; j < p->series[i].n; j++)
            shown += drawable(q, &p->series[i], j);
    }
    for (size_t i = 0; i < p->n_marks; i++)
        write_mark(out, q, &p->marks[i]);
    fputs("</g>\n", out);
    for (size_t i = 0; i < p->n_rules; i++)
        write_rule_label(out, q, &p->rules[i]);
    if (shown == 0)
        panel_text(out, "m", (q->left + q->right) / 2, (q->top + q->bottom) / 2, "no data");
}

/* ---- The whole ------------------------------------------------------------------------------- */

static const char *const scale_name[] = {"linear", "log", "log"};

/* What the page's script needs to find the nearest point: scale, range, positions. */
static void write_geometry(FILE *out, const plot *q)
{
    fprintf(out, " data-x=\"%s %.9g %.9g %.1f %.1f", scale_name[q->x.kind], q->x.lo, q->x.hi,
            q->x.from, q->x.to);
    if (q->broken)
        fprintf(out, " %.1f", q->x.infinity);
    fprintf(out, "\" data-y=\"%s %.9g %.9g %.1f %.1f\"", scale_name[q->y.kind], q->y.lo, q->y.hi,
            q->y.from, q->y.to);
}

static void write_names(FILE *out, const plot *q)
{
    const chart_panel *p = q->panel;
    fprintf(out, "<title id=\"%s-%zu-title\">", q->figure->id, q->number);
    text_escape(out, q->figure->title);
    if (q->figure->title != NULL && p->title != NULL)
        fputs(": ", out);
    text_escape(out, p->title);
    fprintf(out, "</title>\n<desc id=\"%s-%zu-desc\">", q->figure->id, q->number);
    text_escape(out, p->y.label != NULL ? p->y.label : "value");
    fputs(" by ", out);
    text_escape(out, p->x.label != NULL ? p->x.label : "position");
    fprintf(out, ", %zu curve%s. ", p->n_series, p->n_series == 1 ? "" : "s");
    text_escape(out, q->figure->caption);
    fputs("</desc>\n", out);
}

void panel_write(FILE *out, const chart_figure *figure, const legend *l, size_t panel, double x,
                 double y)
{
    plot q = lay_out(figure, l, panel);

    if (x >= 0)
        fprintf(out, "<svg x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\"", x, y, PANEL_WIDTH,
                PANEL_HEIGHT);
    else
        fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"panel\"", out);
    fprintf(out,
            " viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-%zu-title\" "
            "aria-describedby=\"%s-%zu-desc\"",
            PANEL_WIDTH, PANEL_HEIGHT, figure->id, panel, figure->id, panel);
    if (x < 0)
        write_geometry(out, &q);
    fputs(">\n", out);
    write_names(out, &q);
    write_grid(out, &q);
    for (size_t i = 0; i < q.panel->n_rules; i++)
        write_rule(out, &q, &q.panel->rules[i]);
    write_axes(out, &q);
    write_data(out, &q);
    write_labels(out, &q);
    fputs("</svg>\n", out);
}
