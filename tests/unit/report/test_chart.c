/* Charts and pages: text, axes, legend, what is drawn and what is written. */
#include "testing.h"

#include "page.h"
#include "panel.h"
#include "scale.h"
#include "text.h"

/* What a writer writes, as a string to be freed. */
#define WRITTEN(text, call)                                                                        \
    char *text = NULL;                                                                             \
    do {                                                                                           \
        size_t written_size;                                                                       \
        FILE *out = open_memstream(&text, &written_size);                                          \
        assert_non_null(out);                                                                      \
        call;                                                                                      \
        assert_int_equal(fclose(out), 0);                                                          \
    } while (0)

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        n++;
    return n;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in:\n%.3000s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    const char *at = strstr(text, part);
    if (at != NULL)
        fail_msg("\"%s\" is in: %.80s", part, at);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void assert_escaped(const char *text, const char *expected)
{
    WRITTEN(written, text_escape(out, text));
    assert_string_equal(written, expected);
    free(written);
}

static void escaping(void **state)
{
    (void)state;
    assert_escaped("a<b>&\"c\"'d'", "a&lt;b&gt;&amp;&quot;c&quot;&#39;d&#39;");
    assert_escaped("ε ≤ 1, 2¹⁶ 😀", "ε ≤ 1, 2¹⁶ 😀");
    assert_escaped(NULL, "");
    assert_escaped("a\x01"
                   "b\x7f\n\t",
                   "a b \n\t");
}

static void bytes_that_are_not_utf8(void **state)
{
    (void)state;
    assert_escaped("a\xff"
                   "b",
                   "a\xef\xbf\xbd"
                   "b");
    assert_escaped("\xc3", "\xef\xbf\xbd");                 /* cut short */
    assert_escaped("\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd"); /* overlong '<' */
    assert_escaped("\xe0\x80\xbc", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_escaped("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* surrogate */
    assert_escaped("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_escaped("\xef\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* U+FFFF */
}

static void numbers(void **state)
{
    char text[TEXT_NUMBER];
    (void)state;
    text_value(text, 0.0123456);
    assert_string_equal(text, "0.01235");
    text_value(text, 1048576);
    assert_string_equal(text, "1048576");
    text_value(text, INFINITY);
    assert_string_equal(text, "∞");
    text_value(text, NAN);
    assert_string_equal(text, "");
    text_value(text, -1.7976931348623157e308);
    assert_string_equal(text, "-1.798e+308");
    text_power(text, 10, -12);
    assert_string_equal(text, "10⁻¹²");
    text_power(text, 2, 20);
    assert_string_equal(text, "2²⁰");
    assert_int_equal(text_length("10⁻²"), 4);
    assert_int_equal(text_length(NULL), 0);
}

/* ---- Axes ------------------------------------------------------------------------------------ */

static scale fitted(chart_scale kind, double lo, double hi, double margin)
{
    scale s;
    chart_axis axis = {.scale = kind};
    scale_extent extent = SCALE_EMPTY;
    scale_extend(&extent, kind, lo);
    scale_extend(&extent, kind, hi);
    scale_fit(&s, &axis, &extent, margin);
    s.from = 0;
    s.to = 100;
    return s;
}

static void assert_labels(const scale *s, const char *expected)
{
    char all[SCALE_TICKS * (TEXT_NUMBER + 1)] = "";
    for (size_t i = 0; i < s->n_ticks; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i > 0 ? " " : "",
                 s->tick[i].label);
    assert_string_equal(all, expected);
}

static void labels_of_axes(void **state)
{
    static const struct {
        chart_scale kind;
        double lo, hi;
        const char *labels;
    } axes[] = {
        {CHART_LINEAR, 1, 256, "50 100 150 200 250"},
        {CHART_LINEAR, 0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"},
        {CHART_LINEAR, -0.03, 0.02, "-0.03 -0.02 -0.01 0.00 0.01 0.02"},
        {CHART_LINEAR, 0, 5e6, "0 1e+06 2e+06 3e+06 4e+06 5e+06"},
        {CHART_LINEAR, 1.000001, 1.000003, "1.000001 1.0000015 1.000002 1.0000025 1.000003"},
        {CHART_LOG, 0.01, 100, "0.01 0.1 1 10 100"},
        {CHART_LOG, 1e-6, 1e-2, "10⁻⁶ 10⁻⁵ 10⁻⁴ 10⁻³ 10⁻²"},
        {CHART_LOG, 0.04, 0.7, "0.05 0.1 0.2 0.5"},
        {CHART_LOG, 4e-6, 7e-5, "5×10⁻⁶ 10⁻⁵ 2×10⁻⁵ 5×10⁻⁵"},
        {CHART_LOG, 0.103, 0.13, "0.105 0.110 0.115 0.120 0.125 0.130"},
        {CHART_LOG, 1e-20, 1e20, "10⁻²⁰ 10⁻¹⁵ 10⁻¹⁰ 10⁻⁵ 10⁰ 10⁵ 10¹⁰ 10¹⁵ 10²⁰"},
        {CHART_LOG2, 1, 64, "1 2 4 8 16 32 64"},
        {CHART_LOG2, 32768, 1048576, "2¹⁵ 2¹⁶ 2¹⁷ 2¹⁸ 2¹⁹ 2²⁰"},
        {CHART_LOG2, 1, 1048576, "2⁰ 2³ 2⁶ 2⁹ 2¹² 2¹⁵ 2¹⁸"},
        {CHART_LOG2, 10, 15, "10 11 12 13 14 15"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++) {
        scale s = fitted(axes[i].kind, axes[i].lo, axes[i].hi, 0);
        assert_labels(&s, axes[i].labels);
    }
}

/* Whatever the range: labels inside it, ascending, all different, enough and not too many. */
static void any_range_has_ticks(void **state)
{
    unsigned seed = 7;
    (void)state;
    for (int trial = 0; trial < 30000; trial++) {
        double u[2];
        for (int i = 0; i < 2; i++) {
            seed = seed * 1664525u + 1013904223u;
            u[i] = (seed >> 8) / 16777216.0;
        }
        chart_scale kind = (chart_scale)(trial % 3);
        double lo = pow(10, 40 * u[0] - 20), hi = lo * pow(10, trial % 7 * 2 * u[1]);
        if (kind == CHART_LINEAR && trial % 2 == 1)
            lo = -lo;
        scale s = fitted(kind, lo, hi, 0.05);
        assert_true(s.lo < s.hi && s.lo <= lo && s.hi >= hi);
        assert_in_range(s.n_ticks, 2, 12);
        for (size_t i = 0; i < s.n_ticks; i++) {
            double at = scale_position(&s, s.tick[i].value);
            assert_true(at > -1e-3 && at < 100 + 1e-3);
            if (i == 0)
                continue;
            assert_true(s.tick[i].value > s.tick[i - 1].value);
            assert_string_not_equal(s.tick[i].label, s.tick[i - 1].label);
        }
    }
}

static void unusual_ranges(void **state)
{
    (void)state;
    scale s = fitted(CHART_LOG, 0.5, 0.5, 0.05); /* one value stands in the middle */
    assert_close(scale_position(&s, 0.5), 50, 1e-9);
    s = fitted(CHART_LOG, 1e10, 1e10 * (1 + 1e-12), 0.05);
    assert_true(s.hi / s.lo > 1.5);
    s = fitted(CHART_LINEAR, 0, 0, 0.05);
    assert_close(scale_position(&s, 0), 50, 1e-9);
    s = fitted(CHART_LINEAR, -3, -3, 0.05);
    assert_close(scale_position(&s, -3), 50, 1e-9);
    s = fitted(CHART_LOG, NAN, -1, 0.05); /* nothing that a logarithm shows */
    assert_close(s.lo, 0.1, 1e-12);
    assert_close(s.hi, 1, 1e-12);
    s = fitted(CHART_LOG, 1e-320, 1e308, 0.05);
    assert_true(isfinite(s.hi) && s.lo > 0 && s.n_ticks >= 3);
    assert_int_equal(s.n_minor, 0); /* hundreds of strokes: none */
    s = fitted(CHART_LINEAR, -1e308, 1e308, 0.05);
    assert_true(isfinite(s.hi - s.lo) && s.n_ticks >= 2);

    chart_axis axis = {.scale = CHART_LINEAR, .lo = 1e17, .hi = 1e17 + 16};
    scale_extent none = SCALE_EMPTY;
    scale_fit(&s, &axis, &none, 0); /* too narrow for doubles to count across */
    assert_true(s.n_ticks >= 2);
    axis = (chart_axis){.scale = CHART_LOG, .lo = 0.25, .hi = 4};
    scale_fit(&s, &axis, &none, 0.05);
    assert_close(s.lo, 0.25, 1e-12);
    assert_close(s.hi, 4, 1e-12);
    axis.lo = -1; /* not for a logarithm: as if not given */
    scale_fit(&s, &axis, &none, 0.05);
    assert_close(s.lo, 0.1, 1e-12);
    axis = (chart_axis){.scale = CHART_LINEAR, .lo = 1, .hi = 3, .whole = true};
    scale_fit(&s, &axis, &none, 0);
    assert_labels(&s, "1 2 3");
}

static void positions(void **state)
{
    (void)state;
    scale s = fitted(CHART_LOG, 0.01, 100, 0);
    assert_close(scale_position(&s, 1), 50, 1e-9);
    assert_close(scale_position(&s, 0.1), 25, 1e-9);
    assert_true(isnan(scale_position(&s, 0)));
    assert_true(isnan(scale_position(&s, -1)));
    assert_true(isnan(scale_position(&s, NAN)));
    assert_true(isnan(scale_position(&s, INFINITY)));
    s.infinity = 120;
    assert_close(scale_position(&s, INFINITY), 120, 1e-12);
}

/* ---- Legend ---------------------------------------------------------------------------------- */

static const double x3[] = {1, 2, 3}, y3[] = {0.1, 1, 10};

static chart_series curve(const char *colour_key, int colour, const char *dash_key, chart_dash dash)
{
    return (chart_series){.colour_key = colour_key,
                          .colour = colour,
                          .dash_key = dash_key,
                          .dash = dash,
                          .n = 3,
                          .x = x3,
                          .y = y3};
}

static void legend_lists_each_key_once(void **state)
{
    char k1[] = "k = 1", again[] = "k = 1"; /* the same key by its letters, not by its address */
    chart_series a[] = {curve(k1, 0, "PriorBoost", CHART_SOLID),
                        curve("k = 4", 2, "PriorBoost", CHART_SOLID),
                        curve(again, 0, "OneShot", CHART_DOTTED)};
    chart_series b[] = {curve(NULL, 5, "bound", CHART_DASHED), curve("only colour", 3, NULL, 2)};
    chart_panel panels[] = {{.series = a, .n_series = 3}, {.series = b, .n_series = 2}};
    chart_figure figure = {.id = "f", .panels = panels, .n_panels = 2};
    (void)state;

    legend l = legend_of(&figure);
    assert_int_equal(l.n[LEGEND_COLOUR], 3);
    assert_int_equal(l.n[LEGEND_DASH], 3);
    assert_string_equal(legend_at(&l, LEGEND_COLOUR, 1).key, "k = 4");
    assert_int_equal(legend_at(&l, LEGEND_COLOUR, 1).colour, 2);
    assert_int_equal(legend_at(&l, LEGEND_COLOUR, 1).dash, CHART_SOLID);
    assert_int_equal(legend_at(&l, LEGEND_DASH, 1).colour, 0); /* told by dash: neutral ink */
    assert_int_equal(legend_at(&l, LEGEND_DASH, 1).dash, CHART_DOTTED);
    assert_int_equal(legend_at(&l, LEGEND_DASH, 2).colour,
                     5); /* has no other key: its own colour */
    assert_int_equal(legend_at(&l, LEGEND_COLOUR, 2).dash, CHART_DASHED);
}

static void more_keys_than_the_legend_holds(void **state)
{
    enum { MANY = LEGEND_KEYS + 9 };
    char key[MANY][16];
    chart_series s[MANY];
    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(key[i], sizeof key[i], "k%d", i);
        s[i] = curve(key[i], i - 3, key[i], CHART_SOLID);
    }
    chart_panel panel = {.series = s, .n_series = MANY};
    chart_figure figure = {.id = "f", .panels = &panel, .n_panels = 1};
    assert_int_equal(legend_of(&figure).n[LEGEND_COLOUR], LEGEND_KEYS);
    WRITTEN(text, page_figure(out, &figure));
    assert_int_equal(count(text, "<g class=\"s c"), MANY);
    assert_lacks(text, "c-"); /* a negative colour wraps around, too */
    free(text);
}

/* ---- What is drawn --------------------------------------------------------------------------- */

static chart_figure figure_of(const chart_panel *panel)
{
    return (chart_figure){.id = "fig",
                          .title = "A <title>",
                          .caption = "A & caption",
                          .colour_name = "bag size",
                          .dash_name = "algorithm",
                          .panels = panel,
                          .n_panels = 1};
}

/* The d attribute of the first path of that class, to be freed. */
static char *path_of(const chart_panel *panel, const char *class)
{
    chart_figure figure = figure_of(panel);
    char start[64];
    WRITTEN(text, chart_write_svg(out, &figure));
    snprintf(start, sizeof start, "class=\"%s\" d=\"", class);
    const char *from = strstr(text, start);
    if (from == NULL)
        fail_msg("no path of class %s in:\n%.3000s", class, text);
    from += strlen(start);
    char *path = strndup(from, strcspn(from, "\""));
    free(text);
    return path;
}

static void lines_break_at_gaps(void **state)
{
    double x[] = {1, 2, 3, 4, 5, 6, 7, INFINITY}, y[] = {1, 2, NAN, 2, 0, 3, 4, 5};
    chart_series s = {.n = 8, .x = x, .y = y};
    chart_panel panel = {.y = {.scale = CHART_LOG}, .series = &s, .n_series = 1};
    (void)state;
    char *path = path_of(&panel, "l solid");
    assert_int_equal(count(path, "M"), 4); /* 1-2, 4, 6-7 and infinity */
    assert_int_equal(count(path, "L"), 2);
    assert_int_equal(count(path, "h22"), 1);
    free(path);
    panel.y.scale = CHART_LINEAR; /* zero has a place there */
    path = path_of(&panel, "l solid");
    assert_int_equal(count(path, "M"), 3);
    free(path);
}

static void infinity_breaks_the_axis(void **state)
{
    double x[] = {0.01, 1, 100, INFINITY}, y[] = {1, 2, 3, 4};
    chart_series s = {.n = 4, .x = x, .y = y};
    chart_panel panel = {.x = {.scale = CHART_LOG}, .series = &s, .n_series = 1};
    chart_figure figure = figure_of(&panel);
    (void)state;
    WRITTEN(with, page_figure(out, &figure));
    assert_has(with, ">∞</text>");
    assert_has(with, "<th scope=\"row\">∞<td>4");
    s.n = 3;
    WRITTEN(without, page_figure(out, &figure));
    assert_lacks(without, "∞");
    free(with);
    free(without);
}

static void error_bars_and_dots(void **state)
{
    double low[] = {0.05, -1, NAN}, high[] = {0.2, 2, 11};
    chart_series s = curve("k = 1", 0, NULL, CHART_NO_LINE);
    chart_panel panel = {.y = {.scale = CHART_LOG}, .series = &s, .n_series = 1};
    chart_figure figure = figure_of(&panel);
    (void)state;
    s.low = low;
    s.high = high;
    char *bars = path_of(&panel, "bar");
    assert_int_equal(count(bars, "V"), 2); /* the third has no lower end */
    free(bars);
    char *dots = path_of(&panel, "p");
    assert_int_equal(count(dots, "h0"), 3);
    free(dots);
    WRITTEN(text, page_figure(out, &figure));
    assert_lacks(text, "class=\"l ");
    assert_has(text, "<td>0.1 (0.05 to 0.2)");
    assert_has(text, "<td>1 (-1 to 2)");
    assert_has(text, "<td>10\n");
    assert_lacks(text, " data-d="); /* it has no such key */
    free(text);
}

static void marks_and_rules(void **state)
{
    chart_series s[] = {curve("k = 1", 0, "A", CHART_SOLID), curve("k = 2", 1, "A", CHART_SOLID)};
    chart_mark marks[] = {{2, 1, 1, "k = 2", "A", "best <k>"}, {NAN, 1, 0, NULL, NULL, NULL}};
    chart_rule rules[] = {{0.5, "floor & bound"}, {-1, "not on a logarithm"}};
    chart_panel panel = {.y = {.scale = CHART_LOG},
                         .series = s,
                         .n_series = 2,
                         .marks = marks,
                         .n_marks = 2,
                         .rules = rules,
                         .n_rules = 2};
    chart_figure figure = figure_of(&panel);
    (void)state;
    WRITTEN(text, page_figure(out, &figure));
    assert_int_equal(count(text, "<circle"), 1);
    assert_has(text, "data-c=\"1\" data-d=\"0\" data-label=\"best &lt;k&gt;\"");
    assert_has(text, "best &lt;k&gt; at 2");
    assert_int_equal(count(text, "class=\"rule\""), 1);
    assert_has(text, ">floor &amp; bound</text>");
    assert_lacks(text, "not on a logarithm");
    free(text);
}

/* No data, whatever they are, put anything but finite numbers into a drawing. */
static void hostile_data(void **state)
{
    static const double odd[] = {NAN,    -INFINITY, -1e308, -1,    -0.0,  0,
                                 5e-324, 1e-300,    1,      1e300, 1e308, INFINITY};
    enum { N = sizeof odd / sizeof odd[0] };
    (void)state;
    for (int kind = 0; kind < 9; kind++)
        for (int shift = 0; shift < N; shift++) {
            double x[N], y[N];
            for (int i = 0; i < N; i++) {
                x[i] = odd[i];
                y[i] = odd[(i + shift) % N];
            }
            chart_series s = {.n = N, .x = x, .y = y, .low = x, .high = y, .points = true};
            chart_mark m = {x[shift], y[0], 0, NULL, NULL, "m"};
            chart_rule r = {y[shift], "r"};
            chart_panel panel = {.x = {.scale = (chart_scale)(kind % 3)},
                                 .y = {.scale = (chart_scale)(kind / 3)},
                                 .series = &s,
                                 .n_series = 1,
                                 .marks = &m,
                                 .n_marks = 1,
                                 .rules = &r,
                                 .n_rules = 1};
            chart_figure figure = {.id = "f", .panels = &panel, .n_panels = 1};
            WRITTEN(text, chart_write_svg(out, &figure));
            assert_lacks(text, "nan");
            assert_lacks(strstr(text, "</style>"), "inf");
            free(text);
        }
}

static void nothing_to_draw(void **state)
{
    chart_panel panel = {.title = "empty"};
    chart_figure figure = figure_of(&panel);
    (void)state;
    WRITTEN(text, page_figure(out, &figure));
    assert_has(text, ">no data</text>");
    free(text);
    figure.n_panels = 0;
    WRITTEN(none, chart_write_svg(out, &figure));
    assert_has(none, "viewBox=\"0 0 440 ");
    assert_has(none, "</svg>");
    free(none);
}

/* Points beyond a given range are clipped, not thrown far away. */
static void given_range(void **state)
{
    double x[] = {1, 2, 3}, y[] = {1, 1e9, -1e9};
    chart_series s = {.n = 3, .x = x, .y = y};
    chart_panel panel = {.y = {.lo = 0, .hi = 2}, .series = &s, .n_series = 1};
    (void)state;
    char *path = path_of(&panel, "l solid");
    assert_has(path, " -2000.0");
    assert_has(path, " 2000.0");
    free(path);
}

static void one_svg_per_panel(void **state)
{
    chart_series s = curve("k = 1", 0, "A", CHART_SOLID);
    chart_panel panels[] = {{.title = "left", .series = &s, .n_series = 1},
                            {.title = "right", .series = &s, .n_series = 1}};
    chart_figure figure = figure_of(panels);
    (void)state;
    figure.n_panels = 2;
    WRITTEN(page, page_figure(out, &figure));
    assert_int_equal(count(page, "<svg "), 2);
    assert_int_equal(count(page, "<table"), 2);
    assert_int_equal(count(page, "role=\"img\""), 2);
    assert_int_equal(count(page, "class=\"key\""), 2);
    assert_has(page, "<title id=\"fig-1-title\">A &lt;title&gt;: right</title>");
    WRITTEN(file, chart_write_svg(out, &figure));
    assert_int_equal(count(file, "<svg "), 3);
    assert_int_equal(count(file, "xmlns="), 1);
    assert_int_equal(count(file, "http"), 1);
    assert_has(file, "viewBox=\"0 0 880 ");
    assert_lacks(file, "data-x"); /* the script's */
    free(page);
    free(file);
}

/* ---- Pages ----------------------------------------------------------------------------------- */

static void page_is_self_contained(void **state)
{
    chart_series s = curve("k = 1", 0, "A", CHART_SOLID);
    chart_panel panel = {.series = &s, .n_series = 1};
    chart_figure figure = figure_of(&panel);
    (void)state;
    WRITTEN(text, page_begin(out, "T & t", "S < s"); page_figure(out, &figure); page_end(out));
    assert_int_equal(count(text, "http"), count(text, "xmlns=\"http://www.w3.org/2000/svg\""));
    assert_has(text, "<html lang=\"en\">");
    assert_has(text, "name=\"viewport\"");
    assert_has(text, "<title>T &amp; t</title>");
    assert_has(text, "S &lt; s");
    assert_int_equal(count(text, "<script"), 1);
    assert_int_equal(count(text, "</script>"), 1);
    assert_int_equal(count(text, "<style"), 1);
    assert_has(text, "</html>\n");
    free(text);
}

static void verdicts_are_words(void **state)
{
    page_column columns[] = {{"claim", false}, {"verdict", false}, {"n", true}};
    (void)state;
    WRITTEN(text, {
        page_table t = page_table_begin(out, "C <c>", columns, 3);
        for (int verdict = PAGE_HOLDS; verdict <= PAGE_NOT_TESTED; verdict++) {
            page_cell(&t, "%c", 'a' + verdict);
            page_cell_verdict(&t, (page_verdict)verdict,
                              verdict == PAGE_HOLDS_ONE_READING ? "why" : NULL);
            page_cell_text(&t, NULL);
        }
        page_table_end(&t);
    });
    assert_has(text, "<caption>C &lt;c&gt;</caption>");
    assert_has(text, "✓</span> holds</b>");
    assert_has(text, "◐</span> holds under one reading</b> why");
    assert_has(text, "✗</span> does not hold</b>");
    assert_has(text, "–</span> not tested</b>");
    assert_int_equal(count(text, "<tr>"), 5);
    assert_int_equal(count(text, "<td"), 8);
    assert_int_equal(count(text, "scope=\"row\""), 4);
    assert_has(text, "class=\"cards\"");
    assert_has(text, "<td class=\"number\" data-heading=\"n\"></td>");
    free(text);
    columns[1].number = true; /* one column of words: scrolls instead */
    WRITTEN(narrow, {
        page_table t = page_table_begin(out, NULL, columns, 3);
        page_cell_number(&t, 0.25);
        page_cell_number(&t, NAN);
        page_cell_number(&t, INFINITY);
        page_table_end(&t);
    });
    assert_has(narrow, ">0.25</th><td class=\"number\" data-heading=\"verdict\">–</td>");
    assert_has(narrow, "data-heading=\"n\">∞</td></tr>\n</tbody>");
    assert_lacks(narrow, "class=\"cards\"");
    assert_lacks(narrow, "<caption>");
    free(narrow);
    assert_string_equal(page_verdict_name(PAGE_HOLDS_ONE_READING), "holds under one reading");
    assert_string_equal(page_verdict_name(PAGE_NO_VERDICT), "");
}

static void all_text_is_escaped(void **state)
{
    static const char bad[] = "<script>alert('x\"&')</script>";
    page_entry entry = {bad, bad};
    page_fact fact = {bad, bad};
    page_column column = {bad, false};
    double x[] = {1}, y[] = {1};
    chart_series s = {.colour_key = bad, .dash_key = bad, .n = 1, .x = x, .y = y};
    chart_mark mark = {1, 1, 0, bad, bad, bad};
    chart_rule rule = {1, bad};
    chart_panel panel = {bad, {.label = bad}, {.label = bad}, &s, 1, &mark, 1, &rule, 1};
    chart_figure figure = {"f", bad, bad, bad, bad, &panel, 1};
    (void)state;
    WRITTEN(text, {
        page_contents(out, &entry, 1);
        page_section(out, bad, bad);
        page_paragraph(out, bad);
        page_code(out, bad);
        page_notice(out, bad);
        page_facts(out, &fact, 1);
        page_table t = page_table_begin(out, bad, &column, 1);
        page_cell_text(&t, bad);
        page_cell(&t, "%s", bad);
        page_table_end(&t);
        page_figure(out, &figure);
        chart_write_svg(out, &figure);
    });
    assert_lacks(text, "<script");
    assert_lacks(text, "alert('");
    assert_lacks(text, "x\"&");
    assert_int_equal(count(text, "&lt;script&gt;alert(&#39;x&quot;&amp;&#39;)"),
                     count(text, "alert("));
    assert_true(count(text, "alert(") >= 30);
    free(text);
}

/* The table holds every x of any series, in order, and a cell for each series. */
static void table_of_numbers(void **state)
{
    double xa[] = {1, 3}, ya[] = {0.5, NAN}, xb[] = {2, 3}, yb[] = {0.25, 0.125};
    chart_series s[] = {{.dash_key = "A", .colour_key = "k = 1", .n = 2, .x = xa, .y = ya},
                        {.dash_key = "B", .n = 2, .x = xb, .y = yb}};
    chart_panel panel = {.title = "P", .x = {.label = "n"}, .series = s, .n_series = 2};
    chart_figure figure = figure_of(&panel);
    (void)state;
    WRITTEN(text, page_figure(out, &figure));
    assert_has(text, "<th scope=\"col\">n<th scope=\"col\">A, k = 1<th scope=\"col\">B\n");
    assert_has(text, "<tr><th scope=\"row\">1<td>0.5<td>\n"
                     "<tr><th scope=\"row\">2<td><td>0.25\n"
                     "<tr><th scope=\"row\">3<td><td>0.125\n</table>");
    free(text);
}

/* Columns of a table instead of numbers: slanted at the axis, whole in the table of numbers, from
 * which the script takes their places. */
static void axis_of_names(void **state)
{
    static const char *const NAMES[] = {"age", "a < b", "neighbourhood=Überlingen"};
    chart_series s = curve("run", 1, NULL, CHART_NO_LINE);
    chart_panel panel = {
        .x = {.label = "column", .lo = 0.5, .hi = 3.5, .names = NAMES, .n_names = 3},
        .y = {.label = "weight"},
        .series = &s,
        .n_series = 1};
    chart_figure figure = {.id = "f", .panels = &panel, .n_panels = 1};
    (void)state;

    WRITTEN(text, page_figure(out, &figure));
    assert_non_null(strstr(text, "rotate(-60)\">age</text>"));
    assert_non_null(strstr(text, "rotate(-60)\">a &lt; b</text>"));
    assert_non_null(strstr(text, "rotate(-60)\">neighb…rlingen</text>"));
    assert_non_null(strstr(text, "<th scope=\"row\" data-x=\"3\">neighbourhood=Überlingen"));
    assert_null(strstr(text, ">3</text>")); /* no numbers beside them */
    free(text);

    /* Where there is no room for all, every second or third is named. */
    const char *many[60];
    for (size_t i = 0; i < 60; i++)
        many[i] = i % 3 == 0 ? "named" : "left out";
    panel.x.names = many;
    panel.x.n_names = 60;
    panel.x.hi = 60.5;
    WRITTEN(dense, page_figure(out, &figure));
    size_t n = 0;
    for (const char *at = dense; (at = strstr(at, ">named</text>")) != NULL; at++)
        n++;
    assert_int_equal(n, 20);
    assert_null(strstr(dense, "left out</text>"));
    free(dense);
}

static void a_full_disk_is_seen(void **state)
{
    chart_series s = curve("k = 1", 0, "A", CHART_SOLID);
    chart_panel panel = {.series = &s, .n_series = 1};
    chart_figure figure = figure_of(&panel);
    FILE *full = fopen("/dev/full", "w");
    (void)state;
    if (full == NULL)
        skip();
    setvbuf(full, NULL, _IONBF, 0);
    chart_write_svg(full, &figure);
    assert_true(ferror(full));
    fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escaping),
        cmocka_unit_test(bytes_that_are_not_utf8),
        cmocka_unit_test(numbers),
        cmocka_unit_test(labels_of_axes),
        cmocka_unit_test(any_range_has_ticks),
        cmocka_unit_test(unusual_ranges),
        cmocka_unit_test(positions),
        cmocka_unit_test(legend_lists_each_key_once),
        cmocka_unit_test(more_keys_than_the_legend_holds),
        cmocka_unit_test(lines_break_at_gaps),
        cmocka_unit_test(infinity_breaks_the_axis),
        cmocka_unit_test(error_bars_and_dots),
        cmocka_unit_test(marks_and_rules),
        cmocka_unit_test(hostile_data),
        cmocka_unit_test(nothing_to_draw),
        cmocka_unit_test(given_range),
        cmocka_unit_test(one_svg_per_panel),
        cmocka_unit_test(page_is_self_contained),
        cmocka_unit_test(verdicts_are_words),
        cmocka_unit_test(all_text_is_escaped),
        cmocka_unit_test(table_of_numbers),
        cmocka_unit_test(axis_of_names),
        cmocka_unit_test(a_full_disk_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
