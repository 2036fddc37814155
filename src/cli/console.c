/* Messages of the commands: notes and a progress bar on stderr, JSON on stdout. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

void cli_note(const cli_context *cli, const char *format, ...)
{
    if (cli->quiet)
        return;
    va_list args;
    va_start(args, format);
    fprintf(stderr, "priorboost %s: ", cli->command);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

double cli_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

pboost_status cli_read_secret(char out[CLI_SECRET], const cli_context *cli, const char *option,
                              const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    struct stat info;
    FILE *file = fopen(path, "re");

    out[0] = '\0';
    if (file == NULL)
        FAIL(err, PBOOST_BAD_DATA, "cannot open %s %s: %s", option, path, strerror(errno));
    if (fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 077) != 0)
        cli_note(cli, "warning: other users can read %s; chmod 600 protects the token", path);
    if (fgets(out, CLI_SECRET, file) == NULL)
        out[0] = '\0';
    out[strcspn(out, " \t\r\n")] = '\0';
    if (out[0] == '\0')
        FAIL(err, PBOOST_BAD_DATA, "%s holds no token on its first line", path);
done:
    if (file != NULL)
        fclose(file);
    return st;
}

enum { BAR_WIDTH = 32 };

/* Starts a line of progress; does nothing if stderr is not a terminal or the last line is recent.
 */
static bool begin_progress(const cli_context *cli, bool finished)
{
    static double last_shown;

    if (cli->quiet || !isatty(STDERR_FILENO))
        return false;
    double now = cli_seconds();
    if (!finished && now - last_shown < 0.1)
        return false;
    last_shown = now;
    fprintf(stderr, "\r\033[K");
    return !finished;
}

static void print_bar(const char *what, double share)
{
    int filled = (int)(BAR_WIDTH * fmin(fmax(share, 0.0), 1.0));
    fprintf(stderr, "%s [%.*s%*s]", what, filled, "################################",
            BAR_WIDTH - filled, "");
}

void cli_progress(const cli_context *cli, const char *what, size_t done, size_t total)
{
    if (!begin_progress(cli, done == total))
        return;
    print_bar(what, (double)done / (double)total);
    fprintf(stderr, " %zu/%zu", done, total);
}

void cli_progress_left(const cli_context *cli, const char *what, double done, double total,
                       double seconds_left)
{
    if (!begin_progress(cli, done >= total))
        return;
    print_bar(what, done / total);
    fprintf(stderr, " %3.0f %%", 100.0 * done / total);
    if (!(seconds_left < 3600.0 * 24.0))
        return;
    long left = lround(seconds_left);
    if (left < 60)
        fprintf(stderr, ", %ld s left", left);
    else
        fprintf(stderr, ", %ld min %02ld s left", left / 60, left % 60);
}

/* Atomic, because the handler runs in the thread that receives the signal, which may be any. */
static atomic_bool interrupted;
_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a handler may not wait for a lock");

static void on_signal(int signal_number)
{
    (void)signal_number;
    atomic_store(&interrupted, true);
}

/* The first call starts to listen. */
bool cli_interrupted(void)
{
    static bool listening;
    if (!listening) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_RESETHAND};
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        listening = true;
    }
    return atomic_load(&interrupted);
}

pboost_status cli_flush(pboost_error *err)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return pboost_fail(err, PBOOST_OUTPUT, "standard output: %s", strerror(errno));
    return PBOOST_OK;
}

pboost_status cli_print_json(json_t *object, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(report_json_check(object, err));
    if (json_dumpf(object, stdout, JSON_REAL_PRECISION(17) | JSON_COMPACT) != 0 ||
        fputc('\n', stdout) == EOF)
        FAIL(err, PBOOST_OUTPUT, "standard output: %s", strerror(errno));
    TRY(cli_flush(err));
done:
    json_decref(object);
    return st;
}
