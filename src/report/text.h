/* Text for SVG and HTML: escaping, and numbers as people write them. */
#ifndef PBOOST_REPORT_TEXT_H
#define PBOOST_REPORT_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Writes text so that it is itself inside an element and inside a quoted attribute, in HTML and in
 * XML.  What is not UTF-8 becomes U+FFFD, control characters a space.  NULL is empty. */
void text_escape(FILE *out, const char *text);

/* How many characters text has, for guessing its width. */
size_t text_length(const char *text);

/* A value of the data: four digits, ∞, or "" for NaN. */
enum { TEXT_NUMBER = 32 };
void text_value(char out[TEXT_NUMBER], double value);

/* base to the power, the power in superscript: 10⁻², 2¹⁶. */
void text_power(char out[TEXT_NUMBER], int base, int power);

#endif
