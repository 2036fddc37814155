/* UTF-8 as Unicode has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#include "utf8.h"

#include <stdint.h>
#include <string.h>

/* The length of the character that byte a begins, and the range of its second byte; 0 if none. */
static size_t lead(unsigned char a, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xbf;
    if (a >= 0xc2 && a <= 0xdf)
        return 2;
    if (a >= 0xe0 && a <= 0xef) {
        if (a == 0xe0)
            *low = 0xa0;
        if (a == 0xed)
            *high = 0x9f;
        return 3;
    }
    if (a >= 0xf0 && a <= 0xf4) {
        if (a == 0xf0)
            *low = 0x90;
        if (a == 0xf4)
            *high = 0x8f;
        return 4;
    }
    return a >= 0x01 && a <= 0x7f ? 1 : 0;
}

static bool eight_plain(const char *text)
{
    uint64_t v;
    memcpy(&v, text, sizeof v);
    /* Where no top bit is set, v - 1 borrows into one exactly below a zero byte. */
    return ((v | (v - 0x0101010101010101u)) & 0x8080808080808080u) == 0;
}

bool pboost_utf8_bad(size_t *valid, const char *text, size_t n)
{
    size_t i = 0;

    while (i < n) {
        unsigned char low, high;
        size_t length;

        while (n - i >= 8 && eight_plain(text + i))
            i += 8;
        *valid = i;
        if (i == n)
            break;
        length = lead((unsigned char)text[i], &low, &high);
        if (length == 0)
            return true;
        for (size_t k = 1; k < length; k++) {
            if (i + k == n)
                return false;
            if ((unsigned char)text[i + k] < low || (unsigned char)text[i + k] > high)
                return true;
            low = 0x80;
            high = 0xbf;
        }
        i += length;
    }
    *valid = i;
    return false;
}

/* Control characters: U+0000 to U+001F, U+007F to U+009F, and those that turn the direction of text
 * (U+202A to U+202E, U+2066 to U+2069). */
bool pboost_utf8_printable(const char *text)
{
    size_t n = strlen(text), valid = 0;

    if (pboost_utf8_bad(&valid, text, n) || valid != n)
        return false;
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        if (*c < ' ' || *c == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0) ||
            (c[0] == 0xe2 && c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
            (c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9))
            return false;
    return true;
}
