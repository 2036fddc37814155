/* Logs: one JSON object a line on standard error.
 *
 * They say which token asked about how many rows, and the status of the reply.  No handler has a
 * label, so none can be logged; bodies, tokens and ids are left out too. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "service.h"

static void begin(pboost_buffer *b, const char *level, const char *event)
{
    struct timespec now;
    struct tm utc;
    char text[40];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    pboost_buffer_format(b, "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"event\":\"%s\"", text,
                         now.tv_nsec / 1000000, level, event);
}

/* One write, so that lines of several threads do not mix. */
static void end(pboost_buffer *b)
{
    unsigned char *text;
    size_t length;

    pboost_buffer_text(b, "}\n");
    if (pboost_buffer_take(&text, &length, b, NULL) != PBOOST_OK)
        return;
    ssize_t written = write(STDERR_FILENO, text, length);
    (void)written; /* there is nowhere else to complain */
    free(text);
}

void pboost_log_event(const char *level, const char *event, const char *format, ...)
{
    pboost_buffer b = {0};
    char text[600];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    begin(&b, level, event);
    pboost_buffer_text(&b, ",\"message\":");
    pboost_buffer_json(&b, text);
    end(&b);
}

void pboost_log_request(const request *r, unsigned status, double seconds)
{
    pboost_buffer b = {0};

    begin(&b, status >= 500 ? "error" : "info", "request");
    pboost_buffer_format(&b, ",\"route\":\"%s\",\"status\":%u,\"ms\":%.3f",
                         r->route != NULL ? r->route->name : "none", status, 1e3 * seconds);
    if (r->problem != NULL)
        pboost_buffer_format(&b, ",\"problem\":\"%s\"", r->problem);
    if (r->has_token) {
        pboost_buffer_text(&b, ",\"token\":");
        pboost_buffer_json(&b, r->token.name);
    }
    if (r->bags > 0)
        pboost_buffer_format(&b, ",\"bags\":%zu,\"rows\":%zu,\"retried\":%s", r->bags, r->rows,
                             r->retried ? "true" : "false");
    pboost_buffer_format(&b, ",\"received\":%zu,\"sent\":%zu", r->length, r->reply.length);
    end(&b);
}
