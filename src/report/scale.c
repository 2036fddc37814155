/* An axis: its range, its ticks and the map from values to positions.
 *
 * Ticks are chosen by trying the sparsest kind that still leaves three labels, for fewer do not
 * tell a scale: on decades 1, 10, 100, then 1, 2, 5, 10, then steps of a linear axis; on powers of
 * two the powers, then linear steps. */
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

/* ---- Range ------------------------------------------------------------------------------------- */

static void set_range(scale *s, const chart_axis *axis, const scale_extent *extent, double margin)
{
    bool given = axis->lo < axis->hi && scale_shows(s->kind, axis->lo) && isfinite(axis->hi);
    if (given) {
        s->lo = axis->lo;
        s->hi = axis->hi;
        return;
    }
    if (extent->lo > extent->hi) { /* nothing to show */
        s->lo = logarithmic(s->kind) ? 0.1 : 0;
        s->hi = 1;
        return;
    }
    double lo = along(s->kind, extent->lo), hi = along(s->kind, extent->hi);
    double room = margin * (hi - lo);
    /* A single value, or one so nearly single that its ticks could not be told apart. */
    double least = logarithmic(s->kind) ? 0.01 : 1e-9 * fmax(fabs(lo), fabs(hi));
    if (hi - lo <= least)
        room = logarithmic(s->kind) ? 0.3 : lo == 0 && hi == 0 ? 1 : 0.5 * fmax(fabs(lo), fabs(hi));
    s->lo = back(s->kind, fmax(lo - room, logarithmic(s->kind) ? -300 : -1e300));
    s->hi = back(s->kind, fmin(hi + room, logarithmic(s->kind) ? 300 : 1e300));
}

/* ---- Ticks ------------------------------------------------------------------------------------- */

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
        strcpy(out, ten);
    else
        snprintf(out, TEXT_NUMBER, "%d×%.20s", count, ten);
}

/* 1, 2 or 5 times a power of ten, the least that leaves at most LABELS_WANTED steps. */
static void linear_ticks(scale *s)
{
    double step = (s->hi - s->lo) / LABELS_WANTED;
    int power = (int)floor(log10(step));
    double unit = pow(10, power);
    int factor = step <= unit ? 1 : step <= 2 * unit ? 2 : step <= 5 * unit ? 5 : 10;
    step = factor * unit;
    int decimals = factor == 10 ? -power - 1 : -power;
    bool plain = fabs(s->lo) < 1e6 && fabs(s->hi) < 1e6 && decimals <= 4;

    s->n_ticks = s->n_minor = 0;
    for (double i = ceil(s->lo / step - slack); i <= s->hi / step + slack; i++) {
        char label[TEXT_NUMBER];
        if (plain)
            snprintf(label, sizeof label, "%.*f", decimals > 0 ? decimals : 0, i * step + 0.0);
        else
            snprintf(label, sizeof label, "%.4g", i * step + 0.0);
        add_tick(s, i * step, label);
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
    *s = (scale){.kind = axis->scale, .infinity = NAN};
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
    if (s->n_ticks < LABELS_LEAST)
        linear_ticks(s);
}
