/* Dates and times as people write them, without time zones. */
#ifndef PBOOST_DATE_H
#define PBOOST_DATE_H

#include <priorboost/io.h>

/* Reads all of text as a date, with or without a time: 2024-03-31, 2024/03/31, 31.03.2024,
 * 2024-03-31T12:30, 2024-03-31 12:30:05.25, with or without a final Z.  *seconds is the time since
 * 1970-01-01 00:00.  03/31/2024 and 31/03/2024 are ambiguous and are not read. */
bool pboost_date_parse(int64_t *seconds, const char *text);

typedef struct {
    int64_t year;
    int month, day; /* from 1 */
    int weekday;    /* 0: Monday */
    int hour;
} calendar;

calendar pboost_date_calendar(int64_t seconds);

/* The parts of a date, in the order of their columns. */
typedef struct {
    const char *name;
    pboost_date_part bit;
    size_t values; /* 0: a number */
    int first;     /* value, which is the reference */
} date_part;

enum { DATE_PARTS = 5 };
extern const date_part PBOOST_DATE_PARTS[DATE_PARTS];

/* A part of a date, in seconds since 1970, as a number. */
double pboost_date_number(double seconds, const date_part *part);

/* Columns that the i-th part makes. */
size_t pboost_date_part_columns(size_t i);

/* The name of the i-th of the parts of a date; NULL where there are fewer. */
const char *pboost_date_part_name(unsigned parts, size_t i);

#endif
