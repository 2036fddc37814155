/* Names as lines of one text, such as those of classes: "a\nb\nc"; "" has none. */
#ifndef PBOOST_LINES_H
#define PBOOST_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LINE_TEXT = 256 }; /* bytes, with the final zero */

static inline size_t pboost_lines_count(const char *text)
{
    size_t n = *text != '\0';
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

/* Line i and its length; NULL: there is none. */
static inline const char *pboost_line_start(size_t *length, const char *text, size_t i)
{
    for (; i > 0; i--) {
        text = strchr(text, '\n');
        if (text == NULL)
            return NULL;
        text++;
    }
    *length = strcspn(text, "\n");
    return text;
}

/* Line i; false: there is none, or it does not fit. */
static inline bool pboost_line_copy(char out[LINE_TEXT], const char *text, size_t i)
{
    size_t length = 0;
    const char *line = pboost_line_start(&length, text, i);

    out[0] = '\0';
    if (line == NULL || *text == '\0' || length >= LINE_TEXT)
        return false;
    memcpy(out, line, length);
    out[length] = '\0';
    return true;
}

/* Which line this is; SIZE_MAX: none. */
static inline size_t pboost_line_find(const char *text, const char *line)
{
    size_t n = pboost_lines_count(text), length = strlen(line), at = 0;

    for (size_t i = 0; i < n; i++, text += at + 1) {
        at = strcspn(text, "\n");
        if (at == length && memcmp(text, line, length) == 0)
            return i;
    }
    return SIZE_MAX;
}

#endif
