/* Every address of the service, one line each.  openapi.json describes the same. */
#include <stdio.h>
#include <string.h>

#include "service.h"

#define BAGS_TYPES WIRE_JSON_TYPE " " WIRE_BINARY_TYPE

/* clang-format off */
const route pboost_routes[] = {
    {"POST", "/v1/queries",      "query",     LEARNER,   true,  BAGS_TYPES,     false, pboost_handle_query},
    {"GET",  "/v1/queries/",     "find",      LEARNER,   true,  NULL,           false, pboost_handle_find},
    {"POST", "/v1/available",    "available", LEARNER,   true,  WIRE_JSON_TYPE, false, pboost_handle_available},
    {"GET",  "/v1/config",       "config",    ANY_TOKEN, true,  NULL,           false, pboost_handle_config},
    {"GET",  "/v1/status",       "status",    ANY_TOKEN, true,  NULL,           false, pboost_handle_status},
    {"GET",  "/v1/audit/",       "audit",     AUDITORS,  true,  NULL,           false, pboost_handle_audit},
    {"POST", "/v1/approvals/",   "approve",   APPROVER,  true,  NULL,           false, pboost_handle_approve},
    {"GET",  "/v1/openapi.json", "openapi",   ANYONE,    false, NULL,           false, pboost_handle_openapi},
    {"GET",  "/healthz",         "healthz",   ANYONE,    false, NULL,           true,  pboost_handle_healthy},
    {"GET",  "/readyz",          "readyz",    ANYONE,    true,  NULL,           true,  pboost_handle_ready},
    {"GET",  "/metrics",         "metrics",   AUDITORS,  true,  NULL,           true,  pboost_handle_metrics},
    {"GET",  "/",                "page",      ANYONE,    false, NULL,           false, pboost_handle_page},
    {"GET",  "/page.css",        "page.css",  ANYONE,    false, NULL,           false, pboost_handle_page_css},
    {"GET",  "/page.js",         "page.js",   ANYONE,    false, NULL,           false, pboost_handle_page_js},
    {"GET",  "/icon.svg",        "icon.svg",  ANYONE,    false, NULL,           false, pboost_handle_icon},
};
/* clang-format on */
const size_t pboost_n_routes = sizeof pboost_routes / sizeof *pboost_routes;
_Static_assert(sizeof pboost_routes / sizeof *pboost_routes <= MAX_ROUTES, "metrics have no room");

/* Whether the path is the route's; *tail gets the last segment of one that takes any. */
static bool matches(const char **tail, const route *known, const char *path)
{
    size_t n = strlen(known->path);

    *tail = NULL;
    if (n == 1 || known->path[n - 1] != '/')
        return strcmp(known->path, path) == 0;
    if (strncmp(known->path, path, n) != 0 || path[n] == '\0')
        return false;
    *tail = path + n;
    return true;
}

const route *pboost_route_find(const char **tail, char *allow, size_t size, const char *method,
                               const char *path)
{
    size_t used = 0;

    *allow = '\0';
    for (size_t i = 0; i < pboost_n_routes; i++) {
        const route *known = &pboost_routes[i];
        bool is_get = strcmp(known->method, "GET") == 0;
        if (!matches(tail, known, path))
            continue;
        if (strcmp(known->method, method) == 0 || (is_get && strcmp(method, "HEAD") == 0))
            return known;
        if (used < size)
            used += (size_t)snprintf(allow + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     is_get ? "GET, HEAD" : known->method);
    }
    *tail = NULL;
    return NULL;
}
