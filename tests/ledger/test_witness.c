/* The witness: it has every entry before its reply is sent, and a service without it ends. */
#include <errno.h>
#include <fcntl.h>

#include "integrity_testing.h"

static off_t size_of(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_size;
}

/* A crash after the commit leaves the store ahead, by whole records or by part of one. */
static void a_witness_catches_up(void **state)
{
    (void)state;
    test_store t;
    pboost_token a;
    char path[500];
    pboost_ledger *ledger = make_store(&t, &a);
    snprintf(path, sizeof path, "%s", ledger->witness.path);
    off_t before = size_of(path);
    answered(ledger, &a, "first", FIRST);
    off_t one = size_of(path);
    answered(ledger, &a, "second", SECOND);
    pboost_ledger_close(ledger);
    off_t both = size_of(path);
    assert_true(before < one && one < both);
    assert_int_equal(chmod(path, 0600), 0);
    for (off_t size = before; size < both; size += 13) {
        assert_int_equal(truncate(path, size), 0);
        ledger = open_store(&t);
        pboost_ledger_close(ledger);
        assert_int_equal(size_of(path), both);
    }
    FILE *f = fopen(path, "a"); /* part of a record that never was */
    fputs("some bytes that are not a record, as a crash may leave", f);
    fclose(f);
    ledger = open_store(&t);
    assert_int_equal(size_of(path), both);
    answered(ledger, &a, "third", THIRD);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    assert_true(size_of(path) > both);
    drop_store(&t);
}

static void a_damaged_witness_is_refused(void **state)
{
    (void)state;
    test_store t[2];
    pboost_token a;
    char path[2][500], moved[520];

    for (int i = 0; i < 2; i++) {
        pboost_ledger *ledger = make_store(&t[i], &a);
        snprintf(path[i], sizeof path[i], "%s", ledger->witness.path);
        answered(ledger, &a, "first", FIRST);
        pboost_ledger_close(ledger);
    }
    snprintf(moved, sizeof moved, "%s.moved", path[0]);
    int fd = open(path[0], O_RDWR);
    char byte = 0;
    assert_int_equal(pread(fd, &byte, 1, 100), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, 100), 1);
    assert_not_opened(&t[0], PBOOST_BAD_DATA, "damaged at byte 64");
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, 100), 1);
    close(fd);
    pboost_ledger_close(open_store(&t[0]));
    assert_int_equal(rename(path[0], moved), 0);
    assert_int_equal(link(path[1], path[0]), 0);
    assert_not_opened(&t[0], PBOOST_BAD_DATA, "not the witness of this store");
    assert_int_equal(rename(moved, path[0]), 0);
    pboost_ledger_close(open_store(&t[0]));
    drop_store(&t[0]);
    drop_store(&t[1]);
}

/* A witness that is taken away under a running service stops it before the reply. */
static void a_witness_that_is_gone_stops_the_service(void **state)
{
    (void)state;
    test_store t;
    pboost_token a;
    char path[500], moved[520];
    pboost_ledger *ledger = make_store(&t, &a);
    pboost_error err = {0};
    pboost_reply reply;

    snprintf(path, sizeof path, "%s", ledger->witness.path);
    snprintf(moved, sizeof moved, "%s.moved", path);
    assert_int_equal(rename(path, moved), 0);
    assert_fails(ask(&reply, ledger, &a, "first", FIRST, 4, 4, NULL, &err), PBOOST_ORACLE, err,
                 "moved, deleted or replaced");
    assert_null(reply.body);
    assert_true(pboost_ledger_broken(ledger));
    assert_non_null(strstr(pboost_ledger_why_broken(ledger), "witness"));
    pboost_ledger_close(ledger);
    assert_int_equal(rename(moved, path), 0);
    ledger = open_store(&t); /* the answer that was committed is there for the retry */
    assert_ok(ask(&reply, ledger, &a, "first", FIRST, 4, 4, NULL, &err), err);
    assert_true(reply.retried);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* ---- A disk that fails under the witness ------------------------------------------------------
 */

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
static int failing = -1; /* the file that cannot be synced; -1: none */

int __wrap_fdatasync(int fd)
{
    if (fd == failing) {
        errno = EIO;
        return -1;
    }
    return __real_fdatasync(fd);
}

/* What is not on the disk is not answered, and the process must end. */
static void a_witness_that_cannot_be_synced_stops_the_service(void **state)
{
    (void)state;
    test_store t;
    pboost_token a;
    pboost_ledger *ledger = make_store(&t, &a);
    pboost_error err = {0};
    pboost_reply reply;

    failing = ledger->witness.fd;
    pboost_status st = ask(&reply, ledger, &a, "first", FIRST, 4, 4, NULL, &err);
    failing = -1;
    assert_int_equal(st, PBOOST_ORACLE);
    assert_null(reply.body);
    assert_true(pboost_ledger_broken(ledger));
    pboost_ledger_close(ledger);
    ledger = open_store(&t);
    assert_ok(ask(&reply, ledger, &a, "first", FIRST, 4, 4, NULL, &err), err);
    assert_true(reply.retried);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* Two services on one store write to one witness. */
static void a_witness_is_shared(void **state)
{
    (void)state;
    test_store t;
    pboost_token a;
    pboost_ledger *one = make_store(&t, &a), *two = open_store(&t);
    pboost_error err = {0};
    pboost_reply reply;
    bool found;

    answered(one, &a, "first", FIRST);
    assert_ok(pboost_ledger_find(&reply, &found, two, &a, "first", &err), err);
    assert_true(found);
    pboost_reply_free(&reply);
    answered(two, &a, "second", SECOND);
    answered(one, &a, "third", THIRD);
    assert_int_equal(one->witness.last.number, two->witness.last.number + 1);
    assert_int_equal(one->witness.last.number, one->labels.link.number);
    assert_sound(one);
    assert_sound(two);
    pboost_ledger_close(one);
    pboost_ledger_close(two);
    pboost_ledger_close(open_store(&t));
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_witness_catches_up),
        cmocka_unit_test(a_damaged_witness_is_refused),
        cmocka_unit_test(a_witness_that_is_gone_stops_the_service),
        cmocka_unit_test(a_witness_that_cannot_be_synced_stops_the_service),
        cmocka_unit_test(a_witness_is_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
