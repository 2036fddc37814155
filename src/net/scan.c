/* Reads JSON from the front to the back. */
#include "scan.h"

#include <string.h>

#include "try.h"

static void skip_space(pboost_scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
        s->at++;
}

bool pboost_scan_take(pboost_scan *s, char c)
{
    skip_space(s);
    if (s->at == s->end || *s->at != (unsigned char)c)
        return false;
    s->at++;
    return true;
}

static pboost_status unexpected(const pboost_scan *s, const char *wanted, pboost_error *err)
{
    size_t where = (size_t)(s->at - s->begin);
    if (s->at == s->end)
        return pboost_fail(err, PBOOST_BAD_DATA, "the JSON ends at byte %zu, where %s is expected",
                           where, wanted);
    return pboost_fail(err, PBOOST_BAD_DATA, "byte %zu of the JSON is 0x%02x, where %s is expected",
                       where, *s->at, wanted);
}

pboost_status pboost_scan_expect(pboost_scan *s, char c, pboost_error *err)
{
    char wanted[] = {'\'', c, '\'', '\0'};
    return pboost_scan_take(s, c) ? PBOOST_OK : unexpected(s, wanted, err);
}

bool pboost_scan_null(pboost_scan *s)
{
    skip_space(s);
    if (s->end - s->at < 4 || memcmp(s->at, "null", 4) != 0)
        return false;
    s->at += 4;
    return true;
}

pboost_status pboost_scan_finish(pboost_scan *s, pboost_error *err)
{
    skip_space(s);
    return s->at == s->end ? PBOOST_OK : unexpected(s, "the end", err);
}

/* The ranges of the second byte are those of the Unicode standard's table 3-7: no overlong forms,
 * no surrogates, nothing above U+10FFFF. */
size_t pboost_utf8_length(const unsigned char *at, const unsigned char *end)
{
    unsigned char first = *at, low = 0x80, high = 0xbf;
    size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (first == 0 || first > 0xf4 || n == 0 || (size_t)(end - at) < n)
        return 0;
    if (n == 1)
        return 1;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    if (at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (at[i] < 0x80 || at[i] > 0xbf)
            return 0;
    return n;
}

/* Four hexadecimal digits. */
static bool scan_hex(unsigned *out, pboost_scan *s)
{
    unsigned value = 0;
    if (s->end - s->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        unsigned char c = s->at[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit > 15)
            return false;
        value = value << 4 | digit;
    }
    s->at += 4;
    *out = value;
    return true;
}

static void put_utf8(pboost_scan *s, unsigned c)
{
    if (c < 0x80) {
        *s->text++ = (char)c;
        return;
    }
    if (c < 0x800) {
        *s->text++ = (char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *s->text++ = (char)(0xe0 | c >> 12);
        } else {
            *s->text++ = (char)(0xf0 | c >> 18);
            *s->text++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *s->text++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *s->text++ = (char)(0x80 | (c & 0x3f));
}

/* What follows "\u"; a character beyond the basic plane takes two of them. */
static bool scan_unicode(pboost_scan *s)
{
    unsigned c, low;

    if (!scan_hex(&c, s) || c == 0 || (c >= 0xdc00 && c <= 0xdfff))
        return false;
    if (c >= 0xd800 && c <= 0xdbff) {
        if (s->end - s->at < 6 || s->at[0] != '\\' || s->at[1] != 'u')
            return false;
        s->at += 2;
        if (!scan_hex(&low, s) || low < 0xdc00 || low > 0xdfff)
            return false;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    put_utf8(s, c);
    return true;
}

static bool scan_escape(pboost_scan *s)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";

    if (s->at == s->end)
        return false;
    unsigned char c = *s->at++;
    if (c == 'u')
        return scan_unicode(s);
    const char *found = c != '\0' ? strchr(names, c) : NULL;
    if (found == NULL)
        return false;
    *s->text++ = values[found - names];
    return true;
}

pboost_status pboost_scan_string(const char **out, pboost_scan *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = s->text;
    if (!pboost_scan_take(s, '"'))
        return unexpected(s, "a string", err);
    for (;;) {
        while (s->at < s->end && *s->at >= 0x20 && *s->at < 0x80 && *s->at != '"' && *s->at != '\\')
            *s->text++ = (char)*s->at++;
        if (s->at == s->end || *s->at < 0x20)
            return unexpected(s, "the rest of a string", err);
        unsigned char c = *s->at;
        if (c == '"') {
            s->at++;
            break;
        }
        if (c == '\\') {
            s->at++;
            if (!scan_escape(s))
                FAIL(err, PBOOST_BAD_DATA,
                     "byte %zu of the JSON: the escape is unknown, a zero or half a character",
                     (size_t)(s->at - s->begin));
            continue;
        }
        size_t n = pboost_utf8_length(s->at, s->end);
        if (n == 0)
            return unexpected(s, "a character in UTF-8", err);
        memcpy(s->text, s->at, n);
        s->text += n;
        s->at += n;
    }
    *s->text++ = '\0';
done:
    return st;
}
