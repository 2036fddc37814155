/* Text for SVG and HTML.
 *
 * XML 1.0 has no way to write most control characters, not even escaped, and no reader accepts
 * bytes that are not UTF-8; so both are replaced rather than passed on: a file name or a machine's
 * name must not be able to make a report unreadable. */
#include "text.h"

#include <math.h>
#include <string.h>

/* The length of the well-formed UTF-8 sequence at s, or 0.  Overlong forms, surrogates and what
 * lies beyond U+10FFFF are not well-formed; U+FFFE and U+FFFF are no characters of XML. */
static size_t sequence(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    unsigned long code = s[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
        (code & 0xfffe) == 0xfffe)
        return 0;
    return n;
}

static void escape_ascii(FILE *out, int c)
{
    switch (c) {
    case '&':
        fputs("&amp;", out);
        break;
    case '<':
        fputs("&lt;", out);
        break;
    case '>':
        fputs("&gt;", out);
        break;
    case '"':
        fputs("&quot;", out);
        break;
    case '\'':
        fputs("&#39;", out);
        break;
    default:
        fputc((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? ' ' : c, out);
    }
}

void text_escape(FILE *out, const char *text)
{
    if (text == NULL)
        return;
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
        size_t n = sequence(s);
        if (n == 0)
            fputs("\xef\xbf\xbd", out);
        else if (n == 1)
            escape_ascii(out, *s);
        else
            fwrite(s, 1, n, out);
        s += n > 0 ? n : 1;
    }
}

size_t text_length(const char *text)
{
    size_t n = 0;
    for (; text != NULL && *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void text_value(char out[TEXT_NUMBER], double value)
{
    if (isnan(value))
        out[0] = '\0';
    else if (isinf(value))
        snprintf(out, TEXT_NUMBER, "%s", value > 0 ? "∞" : "−∞");
    else if (value == floor(value) && fabs(value) < 1e15)
        snprintf(out, TEXT_NUMBER, "%.0f", value);
    else
        snprintf(out, TEXT_NUMBER, "%.4g", value);
}

void text_power(char out[TEXT_NUMBER], int base, int power)
{
    static const char *const superscript[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char digits[16];
    int n = snprintf(out, TEXT_NUMBER, "%d%s", base, power < 0 ? "⁻" : "");
    snprintf(digits, sizeof digits, "%d", power < 0 ? -power : power);
    for (const char *d = digits; *d != '\0' && n < TEXT_NUMBER; d++)
        n += snprintf(out + n, (size_t)(TEXT_NUMBER - n), "%s", superscript[*d - '0']);
}
