/* Failures under a ledger on PostgreSQL, the n-th of each kind for every n: the connection
 * before and after the n-th call, the backend, the whole server, libpq's memory, our own memory,
 * and the server's n-th write, its disk's space and its n-th fsync (postgresql_faults.c).  A
 * question is then answered or not, but never in part: asked again, by the same process and by a
 * new one, it has one answer and its rows are spent once.  Runs under with_postgresql.sh. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "fault/ledger_question.h"
#include "ledger/postgresql_faults.h"

/* ---- Calls that fail on demand --------------------------------------------------------------- */

typedef enum {
    NOTHING,
    LOST_BEFORE, /* the connection is cut before the call */
    LOST_AFTER,  /* after it: the server gets the statement, its reply is lost */
    TERMINATED,  /* the backend ends */
    CRASHED,     /* the server ends at once and starts again */
    NO_MEMORY    /* libpq has none */
} call_fault;

static struct {
    call_fault what;
    long left; /* calls until one fails; 0: none will */
    bool hit;
} call;

int __real_PQsendQueryParams(PGconn *c, const char *sql, int n, const Oid *type,
                             const char *const *data, const int *length, const int *format,
                             int result_format);
int __wrap_PQsendQueryParams(PGconn *c, const char *sql, int n, const Oid *type,
                             const char *const *data, const int *length, const int *format,
                             int result_format);
PGresult *__real_PQgetResult(PGconn *c);
PGresult *__wrap_PQgetResult(PGconn *c);
int __real_PQputCopyData(PGconn *c, const char *data, int n);
int __wrap_PQputCopyData(PGconn *c, const char *data, int n);
int __real_PQputCopyEnd(PGconn *c, const char *message);
int __wrap_PQputCopyEnd(PGconn *c, const char *message);

/* Returns when the backend is gone or after a while. */
static void terminate(const PGconn *c)
{
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d, 5000)", PQbackendPID(c));
    PGconn *other = PQconnectdb(getenv("PBOOST_TEST_STORE"));
    PQclear(PQexec(other, sql));
    PQfinish(other);
}

static void crash_server(void)
{
    if (system("\"$PBOOST_TEST_CRASH\"") != 0)
        fail_msg("the server does not start again");
}

/* Whether this call must fail for lack of memory; the other faults happen here. */
static bool call_fails(const PGconn *c)
{
    if (call.left == 0 || --call.left > 0)
        return false;
    call.hit = true;
    if (call.what == LOST_BEFORE)
        shutdown(PQsocket(c), SHUT_RDWR);
    else if (call.what == TERMINATED)
        terminate(c);
    else if (call.what == CRASHED)
        crash_server();
    return call.what == NO_MEMORY;
}

static void after_call(const PGconn *c, bool chosen)
{
    if (chosen && call.what == LOST_AFTER)
        shutdown(PQsocket(c), SHUT_RDWR);
}

static bool chosen_now(void)
{
    return call.left == 1;
}

int __wrap_PQsendQueryParams(PGconn *c, const char *sql, int n, const Oid *type,
                             const char *const *data, const int *length, const int *format,
                             int result_format)
{
    bool chosen = chosen_now();
    if (call_fails(c))
        return 0;
    int sent = __real_PQsendQueryParams(c, sql, n, type, data, length, format, result_format);
    after_call(c, chosen);
    return sent;
}

/* What libpq returns where it has no memory for a result: one without a message.  The server has
 * done its part by then. */
PGresult *__wrap_PQgetResult(PGconn *c)
{
    bool chosen = chosen_now();
    bool fails = call_fails(c);
    PGresult *result = __real_PQgetResult(c);
    after_call(c, chosen);
    if (!fails || result == NULL)
        return result;
    PQclear(result);
    return PQmakeEmptyPGresult(NULL, PGRES_FATAL_ERROR);
}

int __wrap_PQputCopyData(PGconn *c, const char *data, int n)
{
    bool chosen = chosen_now();
    if (call_fails(c))
        return -1;
    int put = __real_PQputCopyData(c, data, n);
    after_call(c, chosen);
    return put;
}

int __wrap_PQputCopyEnd(PGconn *c, const char *message)
{
    bool chosen = chosen_now();
    if (call_fails(c))
        return -1;
    int put = __real_PQputCopyEnd(c, message);
    after_call(c, chosen);
    return put;
}

/* ---- The question under a fault -------------------------------------------------------------- */

static pboost_ledger *fresh(test_store *t, pboost_token *token)
{
    make_question_store(t, token);
    return open_store(t);
}

/* At one call after the other, or at every step-th; returns how many faults made the question fail.
 */
static long fail_calls(call_fault what, long step, pboost_status expected)
{
    long refused = 0;

    call.hit = true;
    for (long n = 1; call.hit; n += step) {
        test_store t;
        pboost_token token;
        pboost_ledger *ledger = fresh(&t, &token);
        pboost_error err = {0};
        pboost_reply reply;

        call.what = what;
        call.left = n;
        call.hit = false;
        pboost_status st = put_question(&reply, ledger, &token, &err);
        call.left = 0;
        if (st != PBOOST_OK) {
            refused++;
            assert_true(call.hit);
            assert_null(reply.body);
            if (st != expected && st != PBOOST_ORACLE)
                fail_msg("call %ld: %s", n, err.message);
        }
        settle_twice(ledger, &t, &token, &reply);
    }
    return refused;
}

static void the_connection_may_be_lost_at_any_call(void **state)
{
    (void)state;
    assert_true(fail_calls(LOST_BEFORE, 1, PBOOST_ORACLE) >= 20);
    assert_true(fail_calls(LOST_AFTER, 1, PBOOST_ORACLE) >= 10);
}

static void the_backend_may_end_at_any_call(void **state)
{
    (void)state;
    assert_true(fail_calls(TERMINATED, 1, PBOOST_ORACLE) >= 10);
}

/* Faults that the whole server must recover from take seconds: main sets these to 1 for "all". */
static long crash_step = 6;
static int disk_step = 2;

static void the_server_may_crash_at_any_call(void **state)
{
    (void)state;
    assert_true(fail_calls(CRASHED, crash_step, PBOOST_ORACLE) >= 8 / crash_step);
}

static void libpq_may_lack_memory_at_any_call(void **state)
{
    (void)state;
    assert_true(fail_calls(NO_MEMORY, 1, PBOOST_NO_MEMORY) >= 10);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_allocations(fresh) >= 5);
}

/* ---- The server's disk ----------------------------------------------------------------------- */

static fault_order *order;

static int map_orders(void **state)
{
    (void)state;
    int fd = open(getenv("PBOOST_TEST_FAULT_FILE"), O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return 1;
    order = mmap(NULL, sizeof *order, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return order == MAP_FAILED;
}

/* A server that cannot write its log ends and recovers; one that cannot grow a table says so. */
static long fail_disk(int what)
{
    long refused = 0;
    bool hit = true;

    for (int n = 1; hit && n < 60; n += disk_step) {
        test_store t;
        pboost_token token;
        pboost_ledger *ledger = fresh(&t, &token);
        pboost_error err = {0};
        pboost_reply reply;

        atomic_store(&order->hits, 0);
        atomic_store(&order->left, n);
        atomic_store(&order->what, what);
        pboost_status st = put_question(&reply, ledger, &token, &err);
        atomic_store(&order->what, FAULT_NONE);
        hit = atomic_load(&order->hits) > 0;
        if (hit) /* where it was another process of the server that failed, all end a little later
                  */
            nanosleep(&(struct timespec){0, 300000000}, NULL);
        if (st != PBOOST_OK) {
            refused++;
            assert_true(hit);
            assert_null(reply.body);
            if (st != PBOOST_ORACLE && (st != PBOOST_OUTPUT || what != FAULT_SPACE))
                fail_msg("operation %d: %s", n, err.message);
        }
        settle_twice(ledger, &t, &token, &reply);
    }
    return refused;
}

static void any_write_of_the_server_may_fail(void **state)
{
    (void)state;
    assert_true(fail_disk(FAULT_WRITE) >= 1);
}

static void its_disk_may_be_full(void **state)
{
    (void)state;
    assert_true(fail_disk(FAULT_SPACE) >= 1);
}

static void any_fsync_of_the_server_may_fail(void **state)
{
    (void)state;
    assert_true(fail_disk(FAULT_SYNC) >= 1);
}

/* With the argument "all" the server crashes at every call, and each write and fsync fails. */
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "all") == 0)
        crash_step = disk_step = 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_connection_may_be_lost_at_any_call),
        cmocka_unit_test(the_backend_may_end_at_any_call),
        cmocka_unit_test(the_server_may_crash_at_any_call),
        cmocka_unit_test(libpq_may_lack_memory_at_any_call),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(any_write_of_the_server_may_fail),
        cmocka_unit_test(its_disk_may_be_full),
        cmocka_unit_test(any_fsync_of_the_server_may_fail),
    };
    return cmocka_run_group_tests(tests, map_orders, NULL);
}
