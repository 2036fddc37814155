/* The threads of the service that wait for the ledger. */
#include "testing.h"

#include "service.h"

static void never(request *r)
{
    (void)r;
    abort();
}

/* A connection may hand over a request while the service stops.  Suspended with nobody left to
 * resume it, it would abort the whole service (MHD_stop_daemon). */
static void what_comes_after_the_stop_is_refused(void **state)
{
    (void)state;
    workers w = {0};
    request r = {.http = NULL}; /* not looked at: libmicrohttpd would crash */
    pboost_error err;

    assert_ok(pboost_workers_start(&w, never, &err), err);
    pboost_workers_stop(&w);
    assert_false(pboost_workers_submit(&w, &r));
    assert_null(w.first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_comes_after_the_stop_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
