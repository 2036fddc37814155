/* The parts of a page other than figures. */
#include "page.h"

#include <stdarg.h>

#include "assets.h"
#include "text.h"

static void element(FILE *out, const char *open, const char *text, const char *close)
{
    fputs(open, out);
    text_escape(out, text);
    fputs(close, out);
}

void page_begin(FILE *out, const char *title, const char *subtitle)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n",
          out);
    element(out, "<title>", title, "</title>\n");
    fprintf(out, "<style>\n%s%s</style>\n</head>\n<body>\n<header>\n", asset_chart_css,
            asset_page_css);
    element(out, "<h1>", title, "</h1>\n");
    if (subtitle != NULL)
        element(out, "<p class=\"subtitle\">", subtitle, "</p>\n");
    fputs("</header>\n<main>\n", out);
}

void page_end(FILE *out)
{
    fprintf(out, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", asset_page_js);
}

void page_contents(FILE *out, const page_entry *entries, size_t n)
{
    fputs("<nav aria-label=\"Contents\"><ul>\n", out);
    for (size_t i = 0; i < n; i++) {
        element(out, "<li><a href=\"#", entries[i].id, "\">");
        element(out, "", entries[i].title, "</a></li>\n");
    }
    fputs("</ul></nav>\n", out);
}

void page_section(FILE *out, const char *id, const char *title)
{
    element(out, "<h2 id=\"", id, "\">");
    element(out, "", title, "</h2>\n");
}

void page_paragraph(FILE *out, const char *text)
{
    element(out, "<p>", text, "</p>\n");
}

void page_code(FILE *out, const char *text)
{
    element(out, "<pre tabindex=\"0\"><code>", text, "</code></pre>\n");
}

void page_notice(FILE *out, const char *text)
{
    element(out, "<p class=\"notice\" role=\"note\">", text, "</p>\n");
}

void page_facts(FILE *out, const page_fact *facts, size_t n)
{
    fputs("<dl>\n", out);
    for (size_t i = 0; i < n; i++) {
        element(out, "<div><dt>", facts[i].term, "</dt>");
        element(out, "<dd>", facts[i].value, "</dd></div>\n");
    }
    fputs("</dl>\n", out);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static const struct {
    const char *name, *sign, *class;
} verdicts[] = {
    [PAGE_NO_VERDICT] = {"", "", ""},
    [PAGE_HOLDS] = {"holds", "✓", "holds"},
    [PAGE_HOLDS_ONE_READING] = {"holds under one reading", "◐", "partly"},
    [PAGE_DOES_NOT_HOLD] = {"does not hold", "✗", "fails"},
    [PAGE_NOT_TESTED] = {"not tested", "–", "untested"},
};

const char *page_verdict_name(page_verdict verdict)
{
    return verdicts[verdict].name;
}

/* A table of words becomes one card per row where the screen is narrow; one of numbers scrolls. */
static bool of_words(const page_column *columns, size_t n)
{
    size_t words = 0;
    for (size_t i = 0; i < n; i++)
        words += !columns[i].number;
    return words > 1;
}

page_table page_table_begin(FILE *out, const char *caption, const page_column *columns,
                            size_t n_columns)
{
    fprintf(out, "<div class=\"scroll\" tabindex=\"0\"><table%s>",
            of_words(columns, n_columns) ? " class=\"cards\"" : "");
    if (caption != NULL)
        element(out, "<caption>", caption, "</caption>");
    fputs("\n<thead><tr>", out);
    for (size_t i = 0; i < n_columns; i++) {
        fprintf(out, "<th scope=\"col\"%s>", columns[i].number ? " class=\"number\"" : "");
        element(out, "", columns[i].heading, "</th>");
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    return (page_table){out, columns, n_columns, 0};
}

void page_cell_verdict(page_table *t, page_verdict verdict, const char *text)
{
    const page_column *column = &t->columns[t->at];
    bool head = t->at == 0;

    fputs(head ? "<tr><th scope=\"row\"" : "<td", t->out);
    if (column->number)
        fputs(" class=\"number\"", t->out);
    element(t->out, " data-heading=\"", column->heading, "\">");
    if (verdict != PAGE_NO_VERDICT)
        fprintf(t->out, "<b class=\"verdict %s\"><span aria-hidden=\"true\">%s</span> %s</b> ",
                verdicts[verdict].class, verdicts[verdict].sign, verdicts[verdict].name);
    element(t->out, "", text, head ? "</th>" : "</td>");
    t->at = (t->at + 1) % t->n_columns;
    if (t->at == 0)
        fputs("</tr>\n", t->out);
}

void page_cell_text(page_table *t, const char *text)
{
    page_cell_verdict(t, PAGE_NO_VERDICT, text);
}

void page_cell(page_table *t, const char *format, ...)
{
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    page_cell_text(t, text);
}

void page_cell_number(page_table *t, double value)
{
    char text[TEXT_NUMBER];
    text_value(text, value);
    page_cell_text(t, *text != '\0' ? text : "–");
}

void page_table_end(page_table *t)
{
    fputs("</tbody></table></div>\n", t->out);
}
