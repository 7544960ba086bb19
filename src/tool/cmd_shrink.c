/* vyre shrink: reduces a failing test case; a command tests each candidate.
 *
 * The command runs in a separate process group with a time limit. The group is killed when the command ends, when its
 * time expires, and when this process is interrupted, so no process outlives its test. */
#include "base/thread.h"
#include "tool/bindings.h"
#include "tool/load.h"
#include "tool/terminal.h"
#include "tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct shrink_options {
    const char *output, *program, *grid, *elements;
    tool_list defines, counts;
    uint64_t tries, timeout;
    int timeout_fails, verbose;
} shrink_options;

enum { FIRST_SECONDS = 60, MIN_SECONDS = 2, TIMES_LONGER = 10 };
#define SECOND_NS UINT64_C(1000000000)
#define KILL_NS (2 * SECOND_NS) /* maximum time until a killed process ends */

static const tool_option options_table[] = {
    {"output", 'o', "BASE", TOOL_TEXT, offsetof(shrink_options, output),
     "write the result to BASE.vyre, BASE.args and .npy files (FILE with .min)"},
    TOOL_OPTION_PROGRAM(shrink_options),
    TOOL_OPTION_DEFINE(shrink_options),
    {"count", 0, "NAME=N", TOOL_LIST, offsetof(shrink_options, counts),
     "element count of a write buffer for which the program has none"},
    {"grid", 0, "X,Y,Z", TOOL_TEXT, offsetof(shrink_options, grid),
     "number of workgroups; overrides the grid of the program"},
    {"elements", 0, "X,Y,Z", TOOL_TEXT, offsetof(shrink_options, elements),
     "number of invocations, rounded up to whole workgroups"},
    {"tries", 0, "N", TOOL_AMOUNT, offsetof(shrink_options, tries), "maximum number of candidates (2000)"},
    {"timeout", 0, "SECONDS", TOOL_SECONDS, offsetof(shrink_options, timeout),
     "time limit of COMMAND, after which it is killed and passes (2 plus ten times the duration of the original case)"},
    {"timeout-fails", 0, NULL, TOOL_FLAG, offsetof(shrink_options, timeout_fails),
     "COMMAND fails if it exceeds --timeout, and passes otherwise: reduces a hang"},
    {"verbose", 'v', NULL, TOOL_FLAG, offsetof(shrink_options, verbose), "show the output of COMMAND"},
    TOOL_OPTION_END,
};

/* The test of a candidate. */
typedef struct shrink_test {
    const tool_list *command;
    const shrink_options *options;
    const char *base; /* path of the candidate, without its suffix */
    tool_progress *progress;
    uint64_t limit_ns; /* of one run of the command */
    unsigned long long tested, timeouts;
    vyre_error error; /* set if a test could not be run: the search ends */
    int broken;
} shrink_test;

/* ---- one run of the command ---- */

/* Replaces {} by the .vyre file of the candidate, and {args} by @ and its argument file. */
static char *substitute(const char *word, const char *base, vy_arena *arena) {
    vy_string out = {0};
    char *copy = NULL;

    for (; *word; word++) {
        if (strncmp(word, "{}", 2) == 0) {
            vy_string_format(&out, "%s.vyre", base);
            word += 1;
        } else if (strncmp(word, "{args}", 6) == 0) {
            vy_string_format(&out, "@%s.args", base);
            word += 5;
        } else {
            vy_string_char(&out, *word);
        }
    }
    if (!out.failed)
        copy = vy_arena_copy(arena, out.text ? out.text : "", out.length);
    vy_string_free(&out);
    return copy;
}

static char **make_words(const shrink_test *j, vy_arena *arena) {
    char **words = vy_arena_allocate(arena, vy_array_size(j->command->count + 1, sizeof *words));

    for (uint32_t i = 0; words && i < j->command->count; i++)
        if (!(words[i] = substitute(j->command->items[i], j->base, arena)))
            return NULL;
    return words;
}

enum { NOT_STARTED = 126, NO_SUCH_COMMAND = 127 };

/* The child. It does not allocate, since another thread may have held the lock of the allocator during the fork. */
static void exec_child(char **words, pid_t parent, int verbose) {
    int nothing = open("/dev/null", O_RDWR);
    /* Standard input is not the terminal: reading it would stop a background process group. */
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    if (nothing >= 0 && !verbose) {
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
    }
    setpgid(0, 0); /* so that processes it starts can be killed with it */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(NOT_STARTED);
    signal(SIGPIPE, SIG_DFL);
    execvp(words[0], words);
    _exit(errno == ENOENT ? NO_SUCH_COMMAND : NOT_STARTED);
}

/* The signal that interrupted this process; 0: none. */
static volatile sig_atomic_t interrupted;

static void interrupt(int number) {
    interrupted = number;
}

/* Whether the child has ended. It is not reaped yet, so that the id of its process group is not reused before the group
 * is killed. */
static int has_ended(pid_t child) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child;
}

/* Waits until the child ends, `ns` have passed or this process is interrupted; returns whether the child has ended. */
static int wait_for(pid_t child, uint64_t ns, int may_interrupt) {
    struct timespec nap = {0, 500000};
    uint64_t start = vy_clock_now();

    while (!has_ended(child)) {
        if (vy_clock_now() - start >= ns || (may_interrupt && interrupted))
            return 0;
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < 10000000)
            nap.tv_nsec *= 2;
    }
    return 1;
}

static pid_t start(shrink_test *j) {
    vy_arena arena = {0};
    char **words = make_words(j, &arena);
    pid_t child = -1, self = getpid();

    if (!words) {
        vy_fail_memory(&j->error, "building the command");
    } else {
        fflush(NULL);
        child = fork();
        if (child == 0)
            exec_child(words, self, j->options->verbose);
        if (child < 0)
            vy_fail(&j->error, VYRE_IO, "end other processes, or raise `ulimit -u`",
                    "the command cannot be started (%s)", strerror(errno));
        else
            setpgid(child, child); /* in both processes, whichever runs first */
    }
    vy_arena_free(&arena);
    return child;
}

typedef enum test_result { PASSES, FAILS, NO_RESULT } test_result;

/* Runs the command on the candidate that was written. NO_RESULT: j->error is set, or this process was interrupted. */
static test_result run_test(shrink_test *j) {
    pid_t child = start(j);
    int status = 0;

    if (child < 0)
        return NO_RESULT;
    int is_done = wait_for(child, j->limit_ns, 1);
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    if (!wait_for(child, KILL_NS, 0)) {
        vy_fail(&j->error, VYRE_IO, "end the process; /proc/PID/wchan shows what it waits for",
                "the command (process %d) was killed, but does not end", (int)child);
        return NO_RESULT;
    }
    waitpid(child, &status, 0);
    if (!is_done && interrupted)
        return NO_RESULT;
    j->timeouts += !is_done;
    if (!is_done)
        return j->options->timeout_fails ? FAILS : PASSES;
    if (WIFEXITED(status) && (WEXITSTATUS(status) == NO_SUCH_COMMAND || WEXITSTATUS(status) == NOT_STARTED)) {
        vy_fail(&j->error, VYRE_IO, "use an existing command; a shell command needs `sh -c '...'`",
                "`%s` cannot be run", j->command->items[0]);
        return NO_RESULT;
    }
    return status != 0 && !j->options->timeout_fails ? FAILS : PASSES;
}

static int still_fails(void *user, const vyre_case *candidate) {
    shrink_test *j = user;
    test_result v = NO_RESULT;

    if (j->broken || interrupted)
        return 0;
    if (tool_case_write(candidate, j->base, &j->error) == VYRE_OK)
        v = run_test(j);
    tool_case_remove(candidate, j->base);
    tool_progress_step(j->progress, ++j->tested);
    j->broken = v == NO_RESULT && !interrupted;
    return v == FAILS;
}

/* Tests the original case. Without --timeout, its duration determines the limit for candidates. */
static int start_fails(shrink_test *j, const vyre_case *start) {
    uint64_t begun = vy_clock_now();
    int fails;

    j->limit_ns = j->options->timeout ? j->options->timeout : FIRST_SECONDS * SECOND_NS;
    fails = still_fails(j, start);
    if (fails && !j->options->timeout)
        j->limit_ns = MIN_SECONDS * SECOND_NS + TIMES_LONGER * (vy_clock_now() - begun);
    return fails;
}

/* ---- the command ---- */

/* The path of the result without its suffix: --output, or the name of the file with .min. */
static void add_result_base(vy_string *out, const shrink_options *options, const char *file) {
    size_t length = strlen(file);

    if (options->output)
        vy_string_add(out, options->output);
    else
        vy_string_format(out, "%.*s.min",
                         (int)(length > 5 && strcmp(file + length - 5, ".vyre") == 0 ? length - 5 : length), file);
}

/* Checks before the search, which may be long, that the result can be written. */
static int check_folder(const shrink_options *options, const char *file) {
    vy_string base = {0};
    vyre_error error;
    char *slash;
    int code = TOOL_OK;

    add_result_base(&base, options, file);
    slash = base.text ? strrchr(base.text, '/') : NULL;
    if (slash)
        slash[slash == base.text] = '\0';
    if (slash && access(base.text, W_OK | X_OK) != 0) {
        vy_fail(&error, VYRE_IO, "create the folder, or use another one with --output",
                "the result cannot be written to the folder `%s` (%s)", base.text, strerror(errno));
        code = tool_error(&error);
    }
    vy_string_free(&base);
    return code;
}

static int write_result(const shrink_options *options, const char *file, const vyre_case *small) {
    vyre_program_stats stats;
    vy_string base = {0};
    vyre_error error;
    int code = TOOL_SYSTEM;

    add_result_base(&base, options, file);
    if (base.failed)
        vy_fail_memory(&error, "naming the result");
    if (base.failed || tool_case_write(small, base.text, &error) != VYRE_OK) {
        tool_error(&error);
    } else {
        vyre_program_get_stats(vyre_case_program(small), &stats);
        tool_write(stderr, "note: %u statement%s left\n", stats.statements, stats.statements == 1 ? "" : "s");
        printf("%s.vyre @%s.args\n", base.text, base.text);
        code = TOOL_OK;
    }
    vy_string_free(&base);
    return code;
}

/* Reports why the original case does not fail. */
static int refuse(const tool_command *self, const shrink_test *j) {
    vyre_error error;

    if (j->timeouts > 0) {
        vy_fail(&error, VYRE_TIMEOUT,
                "raise --timeout, or reduce the work of the command; to reduce a hang, add --timeout-fails",
                "the case does not fail: the command was killed after %.1f seconds, which counts as passing",
                (double)j->limit_ns / SECOND_NS);
        return tool_error(&error);
    }
    if (j->options->timeout_fails)
        tool_usage(self, "lower --timeout, or remove --timeout-fails",
                   "the case does not fail: the command ends within %g second%s",
                   (double)j->options->timeout / SECOND_NS, j->options->timeout == SECOND_NS ? "" : "s");
    else
        tool_usage(self, "use a COMMAND that exits with a non-zero status on this case",
                   "the case does not fail: the command exits with 0");
    return TOOL_FAILED;
}

static int shrink(const tool_command *self, const shrink_options *options, const char *file, shrink_test *j,
                  const vyre_case *start) {
    tool_progress progress;
    vyre_case *small = NULL;
    vyre_error error;
    vyre_status status = VYRE_OK;
    int fails, code;

    j->progress = &progress;
    tool_progress_start(&progress, "shrinking", options->tries);
    fails = start_fails(j, start);
    if (fails)
        status = vyre_shrink(start, still_fails, j, (unsigned)options->tries, &small, &error);
    tool_progress_stop(&progress);
    if (j->broken) {
        vyre_case_free(small);
        return tool_error(&j->error);
    }
    if (!fails)
        return interrupted ? TOOL_SYSTEM : refuse(self, j);
    if (status != VYRE_OK)
        return tool_error(&error);
    if (interrupted)
        tool_write(stderr, "note: interrupted after %llu candidate%s; this is the smallest case so far\n",
                   j->tested - 1, j->tested == 2 ? "" : "s");
    if (j->timeouts > 0 && !options->timeout_fails)
        tool_write(stderr, "note: %llu of %llu commands were killed after %.1f seconds, which counts as passing\n",
                   j->timeouts, j->tested, (double)j->limit_ns / SECOND_NS);
    code = write_result(options, file, small);
    vyre_case_free(small);
    return code;
}

/* ---- interruption ---- */

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { END_SIGNALS = sizeof end_signals / sizeof *end_signals };

/* Lets signals that end this process run the clean-up first. Signals that were ignored at the start stay ignored. */
static void catch_signals(struct sigaction before[END_SIGNALS]) {
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < END_SIGNALS; i++) {
        sigaction(end_signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(end_signals[i], &action, NULL);
    }
}

/* Ends this process by the signal that interrupted it, so that a shell also ends its script. */
static void release_signals(const struct sigaction before[END_SIGNALS]) {
    for (int i = 0; i < END_SIGNALS; i++)
        sigaction(end_signals[i], &before[i], NULL);
    if (interrupted) {
        fflush(NULL);
        raise(interrupted);
    }
}

/* Creates a temporary folder for candidates, and runs the search. */
static int with_folder(const tool_command *self, const shrink_options *options, const char *file,
                       const tool_list *command, const vyre_case *start) {
    const char *root = getenv("TMPDIR");
    vy_string folder = {0}, base = {0};
    shrink_test j = {.command = command, .options = options};
    struct sigaction before[END_SIGNALS];
    int code;

    catch_signals(before);
    vy_string_format(&folder, "%s/vyre-shrink-XXXXXX", root && *root ? root : "/tmp");
    if (folder.failed || !mkdtemp(folder.text)) {
        vy_fail(&j.error, VYRE_IO, "set TMPDIR to a writable folder", "a temporary folder cannot be created (%s)",
                strerror(errno));
        code = tool_error(&j.error);
    } else {
        vy_string_format(&base, "%s/candidate", folder.text);
        j.base = base.text ? base.text : "";
        code = shrink(self, options, file, &j, start);
        rmdir(folder.text);
    }
    vy_string_free(&folder);
    vy_string_free(&base);
    release_signals(before);
    return code;
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const shrink_options *options = given;
    const char *path = args->words.count ? args->words.items[0] : NULL;
    tool_file file = {0};
    tool_bindings bindings = {0};
    vyre_program *program;
    vyre_case *start = NULL;
    vyre_error error;
    int code;

    if (!path || args->after.count == 0)
        return tool_usage(self, "use `vyre shrink FILE @FILE.args -- COMMAND {} {args}`",
                          "a file is required, and after -- a command");
    if (options->timeout_fails && !options->timeout)
        return tool_usage(self, "add --timeout SECONDS: more than the command needs without a hang",
                          "--timeout-fails needs --timeout");
    code = tool_load_program(self, path, options->program, &options->defines, &file, &program);
    if (code == TOOL_OK) {
        tool_request request = {args->words.items + 1, args->words.count - 1, &options->counts, options->grid,
                                options->elements,     options->program,      &options->defines};
        code = tool_bindings_make(self, program, path, &request, &bindings);
    }
    if (code == TOOL_OK && vyre_case_new(program, &bindings.arguments, &start, &error) != VYRE_OK)
        code = tool_error(&error);
    if (code == TOOL_OK)
        code = check_folder(options, path);
    if (code == TOOL_OK)
        code = with_folder(self, options, path, &args->after, start);
    vyre_case_free(start);
    tool_bindings_free(&bindings);
    tool_file_free(&file);
    return code;
}

static const shrink_options defaults = {.tries = 2000};

const tool_command tool_cmd_shrink = {
    .name = "shrink",
    .summary = "reduce a failing test case",
    .usage = "FILE [NAME=VALUE ...] [OPTIONS] -- COMMAND...",
    .details = "Repeatedly simplifies the program and its inputs, keeping each candidate for which COMMAND still fails "
               "(exits\n"
               "with a non-zero status). COMMAND must fail on the original case. In COMMAND, {} is replaced by the "
               "candidate's\n"
               ".vyre file and {args} by @ followed by its argument file. NAME=VALUE is written as for `vyre run`. "
               "COMMAND and\n"
               "the processes it starts are killed when its time expires. Ctrl-C ends the search and writes the "
               "smallest case\n"
               "so far.\n",
    .examples = "  vyre shrink case-7.vyre @case-7.args -- ./compare.sh {} {args}\n"
                "  vyre shrink race.vyre x=iota:64 -- vyre run {} {args} --check races\n"
                "  vyre shrink endless.vyre x=iota:64 --timeout 5 --timeout-fails -- vyre run {} {args}\n",
    .options = options_table,
    .reads_argument_files = 1,
    .runs_command = 1,
    .options_size = sizeof(shrink_options),
    .defaults = &defaults,
    .run = run_command,
};
