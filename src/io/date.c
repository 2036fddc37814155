/* Dates: the days between them and 1970-01-01 are counted in years that begin in March, so that a
 * leap day is the last day of its year. */
#include "date.h"

#include <math.h>

#include <string.h>

enum { DAY = 86400, DAYS_OF_400_YEARS = 146097 };

/* Days from 0000-03-01 to 1970-01-01. */
static const int64_t EPOCH = 719468;

static int64_t days_of(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = y / 400, of_era = y % 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * DAYS_OF_400_YEARS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH;
}

calendar pboost_date_calendar(int64_t seconds)
{
    int64_t days = seconds / DAY - (seconds % DAY < 0);
    int64_t z = days + EPOCH;
    int64_t era = (z >= 0 ? z : z - (DAYS_OF_400_YEARS - 1)) / DAYS_OF_400_YEARS;
    int64_t of_era = z - era * DAYS_OF_400_YEARS;
    int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * of_year + 2) / 153;
    calendar c;

    c.day = (int)(of_year - (153 * m + 2) / 5 + 1);
    c.month = (int)(m < 10 ? m + 3 : m - 9);
    c.year = y + era * 400 + (c.month <= 2);
    c.weekday = (int)(((days + 3) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
    c.hour = (int)((seconds - days * DAY) / 3600);
    return c;
}

/* Exactly n digits. */
static bool take_digits(const char **p, int n, int *out)
{
    int value = 0;
    for (int i = 0; i < n; i++) {
        if (**p < '0' || **p > '9')
            return false;
        value = 10 * value + (*(*p)++ - '0');
    }
    *out = value;
    return true;
}

static bool take(const char **p, char letter)
{
    if (**p != letter)
        return false;
    ++*p;
    return true;
}

/* HH:MM, HH:MM:SS, HH:MM:SS.fraction */
static bool take_time(const char **p, int *seconds)
{
    int hour, minute, second = 0;

    if (!take_digits(p, 2, &hour) || !take(p, ':') || !take_digits(p, 2, &minute))
        return false;
    if (take(p, ':') && !take_digits(p, 2, &second))
        return false;
    if (take(p, '.'))
        while (**p >= '0' && **p <= '9')
            ++*p;
    *seconds = hour * 3600 + minute * 60 + second;
    return hour < 24 && minute < 60 && second < 61;
}

static bool exists(int year, int month, int day)
{
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month >= 1 && month <= 12 && day >= 1 && day <= DAYS[month - 1] + (leap && month == 2);
}

bool pboost_date_parse(int64_t *seconds, const char *text)
{
    int year, month, day, time = 0;
    const char *p = text;
    char separator = '.';

    if (take_digits(&p, 4, &year)) {
        separator = *p;
        if ((separator != '-' && separator != '/') || !take(&p, separator) ||
            !take_digits(&p, 2, &month) || !take(&p, separator) || !take_digits(&p, 2, &day))
            return false;
    } else {
        p = text;
        if (!take_digits(&p, 2, &day) || !take(&p, '.') || !take_digits(&p, 2, &month) ||
            !take(&p, '.') || !take_digits(&p, 4, &year))
            return false;
    }
    if (!exists(year, month, day))
        return false;
    if ((*p == 'T' || *p == ' ') && (++p, !take_time(&p, &time)))
        return false;
    (void)take(&p, 'Z');
    *seconds = days_of(year, month, day) * DAY + time;
    return *p == '\0';
}

/* ---- Parts ----------------------------------------------------------------------------------- */

const date_part PBOOST_DATE_PARTS[DATE_PARTS] = {
    {"days", PBOOST_DATE_DAYS, 0, 0},    {"year", PBOOST_DATE_YEAR, 0, 0},
    {"month", PBOOST_DATE_MONTH, 12, 1}, {"weekday", PBOOST_DATE_WEEKDAY, 7, 0},
    {"hour", PBOOST_DATE_HOUR, 24, 0},
};

double pboost_date_number(double seconds, const date_part *part)
{
    calendar at = pboost_date_calendar((int64_t)floor(seconds));
    const double number[DATE_PARTS] = {seconds / 86400.0, (double)at.year, at.month, at.weekday,
                                       at.hour};
    return number[part - PBOOST_DATE_PARTS];
}

size_t pboost_date_part_columns(size_t i)
{
    size_t values = PBOOST_DATE_PARTS[i].values;
    return values == 0 ? 1 : values - 1;
}

pboost_status pboost_date_parts_parse(unsigned *out, const char *text, pboost_error *err)
{
    *out = 0;
    while (*text != '\0') {
        size_t n = strcspn(text, "+,"), i = 0;
        while (i < DATE_PARTS && (strlen(PBOOST_DATE_PARTS[i].name) != n ||
                                  memcmp(PBOOST_DATE_PARTS[i].name, text, n) != 0))
            i++;
        if (i == DATE_PARTS)
            return pboost_fail(err, PBOOST_INVALID,
                               "'%.*s' is not a part of a date; the parts are days, year, month, "
                               "weekday and hour",
                               (int)(n < 40 ? n : 40), text);
        *out |= PBOOST_DATE_PARTS[i].bit;
        text += n + (text[n] != '\0');
    }
    if (*out == 0)
        return pboost_fail(err, PBOOST_INVALID,
                           "a date needs a part: days, year, month, weekday "
                           "or hour");
    return PBOOST_OK;
}

const char *pboost_date_part_name(unsigned parts, size_t i)
{
    for (size_t k = 0; k < DATE_PARTS; k++)
        if (parts & PBOOST_DATE_PARTS[k].bit && i-- == 0)
            return PBOOST_DATE_PARTS[k].name;
    return NULL;
}
