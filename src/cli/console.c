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

double cli_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Progress -------------------------------------------------------------------------------- */

enum { BAR_WIDTH = 32, STAGE_MAX = 80 };
#define SHOW_AFTER 1.0 /* seconds; shorter work needs no bar */
#define SHOW_EVERY 0.1

/* The one bar of the program. */
static struct {
    bool on_screen;
    double first, last; /* when a stage first told of itself; when the bar was last drawn */
    char stage[STAGE_MAX];
    double began, done_then; /* of the stage */
} bar;

void cli_progress_end(void)
{
    if (bar.on_screen)
        fprintf(stderr, "\r\033[K");
    bar.on_screen = false;
}

/* Whether it is time to draw the bar again; a new stage is shown sooner. */
static bool is_due(const cli_context *cli, bool finished, bool changed, double now)
{
    if (cli->quiet || !isatty(STDERR_FILENO))
        return false;
    bar.first = bar.first > 0.0 ? bar.first : now;
    if (finished) {
        cli_progress_end();
        return false;
    }
    if (now - bar.first < SHOW_AFTER || now - bar.last < (changed ? 0.2 : 1.0) * SHOW_EVERY)
        return false;
    bar.last = now;
    return true;
}

static void print_amount(double done, double total)
{
    int filled = (int)(BAR_WIDTH * fmin(fmax(done / total, 0.0), 1.0));

    if (total > 0.0)
        fprintf(stderr, " [%.*s%*s] %3.0f %%", filled, "################################",
                BAR_WIDTH - filled, "", 100.0 * done / total);
    else if (done >= 1e6)
        fprintf(stderr, " %.1f million", 1e-6 * done);
    else if (done > 0.0)
        fprintf(stderr, " %.0f", done);
}

static void print_left(double seconds)
{
    if (!(seconds < 3600.0 * 24.0))
        return;
    long left = lround(seconds);
    if (left < 60)
        fprintf(stderr, ", %ld s left", left);
    else
        fprintf(stderr, ", %ld min %02ld s left", left / 60, left % 60);
}

static void draw(const cli_context *cli, const char *stage, double done, double total,
                 double seconds_left)
{
    bar.on_screen = true;
    fprintf(stderr, "\r\033[K");
    if (cli->rounds > 0)
        fprintf(stderr, "round %zu of %zu: ", cli->round, cli->rounds);
    fprintf(stderr, "%s", stage);
    print_amount(done, total);
    print_left(seconds_left);
    fflush(stderr);
}

void cli_progress_left(const cli_context *cli, const char *stage, double done, double total,
                       double seconds_left)
{
    if (is_due(cli, total > 0.0 && done >= total, false, cli_seconds()))
        draw(cli, stage, done, total, seconds_left);
}

void cli_progress(const cli_context *cli, const char *stage, double done, double total)
{
    double now = cli_seconds();
    bool changed = strncmp(bar.stage, stage, STAGE_MAX - 1) != 0;

    if (changed || done < bar.done_then) {
        snprintf(bar.stage, sizeof bar.stage, "%s", stage);
        bar.began = now;
        bar.done_then = done;
    }
    double speed = (done - bar.done_then) / (now - bar.began);
    if (is_due(cli, total > 0.0 && done >= total, changed, now))
        draw(cli, stage, done, total, speed > 0.0 && total > 0.0 ? (total - done) / speed : NAN);
}

static void show_stage(void *user, const char *stage, double done, double total)
{
    const cli_context *cli = user;
    bool reading = strcmp(stage, "reading") == 0;

    cli_progress(cli, reading && cli->reading != NULL ? cli->reading : stage, done, total);
}

static bool never(void *user)
{
    (void)user;
    return false;
}

static bool is_interrupted(void *user)
{
    (void)user;
    return cli_interrupted();
}

void cli_watch_begin(cli_context *cli)
{
    cli->watch = (pboost_cancel){never, cli, show_stage};
    cli->interrupt = (pboost_cancel){is_interrupted, cli, show_stage};
}

/* ---- Messages -------------------------------------------------------------------------------- */

FILE *cli_text(const cli_context *cli)
{
    cli_progress_end();
    return cli->standard_output != NULL ? stderr : stdout;
}

void cli_note(const cli_context *cli, const char *format, ...)
{
    if (cli->quiet)
        return;
    va_list args;
    va_start(args, format);
    cli_progress_end();
    fprintf(stderr, "priorboost %s: ", cli->command);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

pboost_status cli_read_secret(char out[CLI_SECRET], const cli_context *cli, const char *option,
                              const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    struct stat info;
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");

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
    if (file != NULL && !standard)
        fclose(file);
    return st;
}

/* ---- Interruption and output ----------------------------------------------------------------- */

/* Atomic, because the handler runs in the thread that receives the signal, which may be any. */
static atomic_bool interrupted;
_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a handler may not wait for a lock");

static void on_signal(int signal_number)
{
    (void)signal_number;
    atomic_store(&interrupted, true);
}

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

    cli_progress_end();
    TRY(report_json_check(object, err));
    if (json_dumpf(object, stdout, JSON_REAL_PRECISION(17) | JSON_COMPACT) != 0 ||
        fputc('\n', stdout) == EOF)
        FAIL(err, PBOOST_OUTPUT, "standard output: %s", strerror(errno));
    TRY(cli_flush(err));
done:
    json_decref(object);
    return st;
}
