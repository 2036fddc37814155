/* Decimal text to the nearest double. */
#ifndef PBOOST_NUMBER_H
#define PBOOST_NUMBER_H

#include <stddef.h>

typedef enum {
    NUMBER_FINITE,
    NUMBER_NOT_FINITE, /* nan, inf, infinity in any case, or too large for a double */
    NUMBER_NONE        /* not a number */
} number_kind;

/* Reads all of text[0 .. n): sign, digits with at most one point, exponent.  *out is the double
 * nearest to it, ties to even, whatever the locale; it is set only where the result is finite. */
number_kind pboost_number_parse(double *out, const char *text, size_t n);

#endif
