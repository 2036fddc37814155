/* An axis: its range, its ticks and the map from values to positions.
 *
 * Ticks are chosen by trying the sparsest kind that still leaves three labels, because fewer do not
 * show the scale: on decades 1, 10, 100, then 1, 2, 5, 10, then steps of a linear axis; on powers
 * of two the powers, then linear steps. */
#include "scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_WANTED = 6, LABELS_LEAST = 3, LABELS_MOST = 9 };

/* Ticks at the very end of a range count as inside in spite of rounding. */
static const double slack = 1e-9;

static bool logarithmic(chart_scale kind)
{
    return kind != CHART_LINEAR;
}

static double along(chart_scale kind, double value)
{
    return logarithmic(kind) ? log10(value) : value;
}

static double back(chart_scale kind, double position)
{
    return logarithmic(kind) ? pow(10.0, position) : position;
}

bool scale_shows(chart_scale kind, double value)
{
    return isfinite(value) && (!logarithmic(kind) || value > 0);
}

void scale_extend(scale_extent *extent, chart_scale kind, double value)
{
    if (value == INFINITY)
        extent->infinite = true;
    if (!scale_shows(kind, value))
        return;
    extent->lo = fmin(extent->lo, value);
    extent->hi = fmax(extent->hi, value);
}

double scale_position(const scale *s, double value)
{
    if (value == INFINITY)
        return s->infinity;
    if (!scale_shows(s->kind, value))
        return NAN;
    double lo = along(s->kind, s->lo), hi = along(s->kind, s->hi);
    return s->from + (s->to - s->from) * (along(s->kind, value) - lo) / (hi - lo);
}

/* ---- Range ----------------------------------------------------------------------------------- */

static void set_range(scale *s, const chart_axis *axis, const scale_extent *extent, double margin)
{
    scale_extent given = SCALE_EMPTY;
    if (axis->lo < axis->hi && scale_shows(s->kind, axis->lo) && isfinite(axis->hi)) {
        given = (scale_extent){axis->lo, axis->hi, false};
        extent = &given;
        margin = 0;
    }
    if (extent->lo > extent->hi) { /* nothing to show */
        s->lo = logarithmic(s->kind) ? 0.1 : 0;
        s->hi = 1;
        return;
    }
    /* Within these limits differences neither overflow nor vanish; beyond them nothing is seen. */
    double most = logarithmic(s->kind) ? 270 : 1e300;
    double lo = fmax(along(s->kind, extent->lo), -most);
    double hi = fmin(along(s->kind, extent->hi), most);
    lo = fmin(lo, most);
    hi = fmax(hi, -most);
    double size = fmax(fabs(lo), fabs(hi)), room = margin * (hi - lo);
    /* A single value, or values so close that their ticks would have the same label. */
    if (hi - lo <= (logarithmic(s->kind) ? 1e-6 : fmax(1e-9 * size, 1e-300)))
        room = logarithmic(s->kind) ? 0.3 : size > 1e-300 ? 0.5 * size : 1;
    s->lo = back(s->kind, lo - room);
    s->hi = back(s->kind, hi + room);
}

/* ---- Ticks ----------------------------------------------------------------------------------- */

static bool within(const scale *s, double value)
{
    double lo = along(s->kind, s->lo), hi = along(s->kind, s->hi), v = along(s->kind, value);
    return v >= lo - slack * (hi - lo) && v <= hi + slack * (hi - lo);
}

static void add_tick(scale *s, double value, const char *label)
{
    if (s->n_ticks == SCALE_TICKS || !within(s, value))
        return;
    scale_tick *tick = &s->tick[s->n_ticks++];
    tick->value = value;
    snprintf(tick->label, sizeof tick->label, "%s", label);
}

static void add_minor(scale *s, double value)
{
    if (s->n_minor < SCALE_MINOR && within(s, value))
        s->minor[s->n_minor++] = value;
}

/* value = count * 10^power: plain while that is short, else with the power written out. */
static void decimal_label(char out[TEXT_NUMBER], int count, int power, bool plain)
{
    if (plain) {
        snprintf(out, TEXT_NUMBER, "%.*f", power < 0 ? -power : 0, count * pow(10, power));
        return;
    }
    char ten[TEXT_NUMBER];
    text_power(ten, 10, power);
    if (count == 1)
        snprintf(out, TEXT_NUMBER, "%s", ten);
    else
        snprintf(out, TEXT_NUMBER, "%d×%.20s", count, ten);
}

/* 1, 2 or 5 times a power of ten, the least that leaves at most LABELS_WANTED steps. */
static void linear_ticks(scale *s)
{
    double step = fmax((s->hi - s->lo) / LABELS_WANTED, s->whole ? 1.0 : 0.0);
    int power = (int)floor(log10(step));
    double unit = pow(10, power);
    int factor = step <= unit ? 1 : step <= 2 * unit ? 2 : step <= 5 * unit ? 5 : 10;
    step = factor * unit;
    int decimals = factor == 10 ? -power - 1 : -power;
    double largest = fmax(fabs(s->lo), fabs(s->hi));
    bool plain = largest < 1e6 && decimals <= 4;
    int digits = 1 + (int)fmax(1, ceil(log10(largest / step))); /* neighbours must differ */

    s->n_ticks = s->n_minor = 0;
    /* set_range keeps the range above 1e-9 of its ends, so that these are far from overflow. */
    long long first = (long long)ceil(s->lo / step - slack);
    long long last = (long long)floor(s->hi / step + slack);
    for (long long i = first; i <= last; i++) {
        char label[TEXT_NUMBER];
        double value = (double)i * step;
        if (plain)
            snprintf(label, sizeof label, "%.*f", decimals > 0 ? decimals : 0, value);
        else
            snprintf(label, sizeof label, "%.*g", digits, value);
        add_tick(s, value, label);
    }
}

static void decade_ticks(scale *s, bool between)
{
    int first = (int)floor(log10(s->lo) - slack), last = (int)ceil(log10(s->hi) + slack);
    int stride = 1 + (last - first - 1) / LABELS_MOST;
    bool plain = s->lo >= 0.9e-3 && s->hi < 1.1e4;

    s->n_ticks = s->n_minor = 0;
    for (int power = first; power <= last; power++)
        for (int count = 1; count <= 9; count++) {
            double value = count * pow(10, power);
            bool labelled =
                count == 1 ? power % stride == 0 : between && (count == 2 || count == 5);
            if (labelled) {
                char label[TEXT_NUMBER];
                decimal_label(label, count, power, plain);
                add_tick(s, value, label);
            } else if (stride == 1 || count == 1) {
                add_minor(s, value);
            }
        }
}

static void power_of_two_ticks(scale *s)
{
    int first = (int)ceil(log2(s->lo) - slack), last = (int)floor(log2(s->hi) + slack);
    int stride = 1 + (last - first) / LABELS_MOST;
    bool plain = s->lo >= 0.9 && s->hi <= 4096;

    s->n_ticks = s->n_minor = 0;
    for (int power = first; power <= last; power++) {
        char label[TEXT_NUMBER];
        if (plain)
            snprintf(label, sizeof label, "%.0f", ldexp(1, power));
        else
            text_power(label, 2, power);
        if ((power - first) % stride == 0)
            add_tick(s, ldexp(1, power), label);
        else
            add_minor(s, ldexp(1, power));
    }
}

void scale_fit(scale *s, const chart_axis *axis, const scale_extent *extent, double margin)
{
    *s = (scale){.kind = axis->scale, .whole = axis->whole, .infinity = NAN};
    set_range(s, axis, extent, margin);
    switch (s->kind) {
    case CHART_LINEAR:
        linear_ticks(s);
        break;
    case CHART_LOG:
        decade_ticks(s, false);
        if (s->n_ticks < LABELS_LEAST)
            decade_ticks(s, true);
        break;
    case CHART_LOG2:
        power_of_two_ticks(s);
        break;
    }
    /* Two powers of two are enough: numbers between them would not be bag sizes. */
    if (s->n_ticks < (s->kind == CHART_LOG2 ? 2 : LABELS_LEAST))
        linear_ticks(s);
    if (s->n_minor == SCALE_MINOR) /* all or none: a part would look like a change of scale */
        s->n_minor = 0;
}
