/* Output files: whole or not there, on every kind of path. */
#include <errno.h>

#include "io_testing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

static pboost_output *open_at(const char *path)
{
    pboost_error err = {0};
    pboost_output *o;

    assert_ok(pboost_output_open(&o, path, &err), err);
    return o;
}

static void write_to(const char *path, const char *text)
{
    pboost_output *o = open_at(path);
    pboost_error err = {0};

    fputs(text, pboost_output_stream(o));
    assert_ok(pboost_output_commit(o, &err), err);
}

static void appears_on_commit(void **state)
{
    char *path = path_in(*state, "out");
    pboost_output *o = open_at(path);
    pboost_error err = {0};
    struct stat info;
    mode_t mask = umask(027);

    fputs("text", pboost_output_stream(o));
    fflush(pboost_output_stream(o));
    assert_int_equal(access(path, F_OK), -1);
    assert_ok(pboost_output_commit(o, &err), err);
    assert_string_equal(read_text(path), "text");
    assert_int_equal(count_files(*state), 1);
    unlink(path);
    write_to(path, "x");
    umask(mask);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
}

static void replaces_on_commit_and_keeps_the_mode(void **state)
{
    char *path = path_in(*state, "out");
    pboost_output *o;
    struct stat info;
    pboost_error err = {0};

    write_file(path, "old", 3);
    assert_int_equal(chmod(path, 0604), 0);
    o = open_at(path);
    fputs("new", pboost_output_stream(o));
    fflush(pboost_output_stream(o));
    assert_string_equal(read_text(path), "old");
    assert_ok(pboost_output_commit(o, &err), err);
    assert_string_equal(read_text(path), "new");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0604);
    assert_int_equal(count_files(*state), 1);
}

static void discard_leaves_no_trace(void **state)
{
    char *path = path_in(*state, "out");
    pboost_output *o = open_at(path);

    fputs("text", pboost_output_stream(o));
    pboost_output_discard(o);
    assert_int_equal(count_files(*state), 0);
    write_file(path, "old", 3);
    o = open_at(path);
    fputs("text", pboost_output_stream(o));
    pboost_output_discard(o);
    assert_string_equal(read_text(path), "old");
    assert_int_equal(count_files(*state), 1);
    pboost_output_discard(NULL);
}

static void writes_through_links(void **state)
{
    char file[512], link[512], chain[512], loop[512];
    struct stat info;
    pboost_error err;
    pboost_output *o;

    strcpy(file, path_in(*state, "file"));
    strcpy(link, path_in(*state, "link"));
    strcpy(chain, path_in(*state, "chain"));
    strcpy(loop, path_in(*state, "loop"));
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(symlink(link, chain), 0);
    write_to(chain, "one"); /* the target is not there yet */
    assert_string_equal(read_text(file), "one");
    write_to(chain, "two");
    assert_string_equal(read_text(file), "two");
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(lstat(chain, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(count_files(*state), 3);
    assert_int_equal(symlink("loop", loop), 0);
    assert_fails(pboost_output_open(&o, loop, &err), PBOOST_OUTPUT, err, strerror(ELOOP));
}

static void bad_path(const char *path, const char *part)
{
    pboost_output *o;
    pboost_error err;

    assert_fails(pboost_output_open(&o, path, &err), PBOOST_OUTPUT, err, part);
    assert_non_null(strstr(err.message, path));
    assert_null(o);
}

static void refuses_bad_paths(void **state)
{
    char path[600];

    write_file(path_in(*state, "file"), "x", 1);
    snprintf(path, sizeof path, "%s/file/out", (char *)*state);
    bad_path(path, "Not a directory");
    snprintf(path, sizeof path, "%s/none/out", (char *)*state);
    bad_path(path, "No such file or directory");
    bad_path(*state, "Is a directory");
    snprintf(path, sizeof path, "%s/none/", (char *)*state);
    bad_path(path, "");
    bad_path("", "No such file or directory");
    if (geteuid() != 0) {
        chmod(path_in(*state, "file"), 0400);
        bad_path(path_in(*state, "file"), "Permission denied");
    }
    assert_int_equal(count_files(*state), 1);
}

static void notices_a_full_device(void **unused)
{
    pboost_output *o = open_at("/dev/full");
    pboost_error err;

    (void)unused;
    fputs("text", pboost_output_stream(o));
    assert_fails(pboost_output_commit(o, &err), PBOOST_OUTPUT, err,
                 "cannot write /dev/full: No space left on device");
    o = open_at("/dev/full");
    for (int i = 0; i < 100000; i++)
        fputs("more than a buffer\n", pboost_output_stream(o));
    assert_fails(pboost_output_commit(o, &err), PBOOST_OUTPUT, err, "/dev/full");
    write_to("/dev/null", "text");
}

static void leaves_nothing_when_the_disk_is_full(void **state)
{
    char *path = path_in(*state, "out");
    struct rlimit old, small;
    pboost_output *o;
    pboost_error err = {0};
    pboost_status st;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

    write_file(path, "old", 3);
    o = open_at(path);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 1000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 10000; i++)
        fputs("more than the limit\n", pboost_output_stream(o));
    st = pboost_output_commit(o, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    assert_int_equal(st, PBOOST_OUTPUT);
    assert_non_null(strstr(err.message, path));
    assert_string_equal(read_text(path), "old");
    assert_int_equal(count_files(*state), 1);
}

/* An error that a flush in between met and forgot is still noticed. */
static void remembers_an_early_error(void **state)
{
    char *path = path_in(*state, "out");
    pboost_output *o = open_at(path);
    FILE *stream = pboost_output_stream(o);
    int saved = dup(fileno(stream)), full = open("/dev/full", O_WRONLY);
    pboost_error err;

    assert_true(saved >= 0 && full >= 0);
    dup2(full, fileno(stream));
    fputs("lost", stream);
    assert_int_not_equal(fflush(stream), 0);
    dup2(saved, fileno(stream));
    close(saved);
    close(full);
    assert_fails(pboost_output_commit(o, &err), PBOOST_OUTPUT, err, path);
    assert_int_equal(count_files(*state), 0);
}

static void writes_pipes_as_they_are(void **state)
{
    char *path = path_in(*state, "pipe");
    char text[8] = "";
    struct stat info;
    int fd;

    assert_int_equal(mkfifo(path, 0600), 0);
    fd = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(fd >= 0);
    write_to(path, "text");
    assert_int_equal(read(fd, text, sizeof text), 4);
    assert_string_equal(text, "text");
    close(fd);
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
}

static void dash_is_standard_output(void **state)
{
    char *path = path_in(*state, "out");
    int saved, fd = open(path, O_WRONLY | O_CREAT, 0600), full = open("/dev/full", O_WRONLY);
    pboost_error err = {0};
    pboost_status good, bad;
    pboost_output *o;

    fflush(stdout);
    saved = dup(STDOUT_FILENO);
    assert_true(saved >= 0 && fd >= 0 && full >= 0);
    dup2(fd, STDOUT_FILENO);
    o = open_at("-");
    fputs("text", pboost_output_stream(o));
    good = pboost_output_commit(o, &err);
    dup2(full, STDOUT_FILENO);
    o = open_at("-");
    fputs("lost", pboost_output_stream(o));
    bad = pboost_output_commit(o, &err);
    dup2(saved, STDOUT_FILENO);
    clearerr(stdout);
    close(saved);
    close(fd);
    close(full);
    assert_int_equal(good, PBOOST_OK);
    assert_string_equal(read_text(path), "text");
    assert_int_equal(bad, PBOOST_OUTPUT);
    assert_string_equal(err.message, "cannot write standard output: No space left on device");
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, enter_directory, leave_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(appears_on_commit),
        IN_DIRECTORY(replaces_on_commit_and_keeps_the_mode),
        IN_DIRECTORY(discard_leaves_no_trace),
        IN_DIRECTORY(writes_through_links),
        IN_DIRECTORY(refuses_bad_paths),
        cmocka_unit_test(notices_a_full_device),
        IN_DIRECTORY(leaves_nothing_when_the_disk_is_full),
        IN_DIRECTORY(remembers_an_early_error),
        IN_DIRECTORY(writes_pipes_as_they_are),
        IN_DIRECTORY(dash_is_standard_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
