/* The command on a terminal: colour, and progress that is erased. Both only where a person sees them. */
#include "../backends/cpu/compile_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT = 1 << 16 };

/* Which streams are the terminal; the others are one pipe. */
typedef enum shown { SHOWN_NONE = 0, SHOWN_OUTPUT = 1, SHOWN_ERROR = 2, SHOWN_BOTH = 3 } shown;

typedef struct run {
    char terminal[OUTPUT], pipe[OUTPUT];
    int code;
} run;

static void become(const char *name, int to_pipe, shown streams, const char *settings, const char *words) {
    char line[4096];
    int terminal = open(name, O_RDWR | O_NOCTTY);
    if (terminal < 0)
        _exit(90);
    dup2(streams & SHOWN_OUTPUT ? terminal : to_pipe, STDOUT_FILENO);
    dup2(streams & SHOWN_ERROR ? terminal : to_pipe, STDERR_FILENO);
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    snprintf(line, sizeof line, "cd '%s' && %s exec '%s' %s", vy_test_path(""), settings, vy_test_command(), words);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(91);
}

static size_t take(int from, char *out, size_t used) {
    ssize_t count = used + 1 < OUTPUT ? read(from, out + used, OUTPUT - 1 - used) : 0;
    return count > 0 ? (size_t)count : 0;
}

static const char *until; /* the command is ended when the terminal shows this; NULL: it ends by itself */

/* settings: NAME=VALUE words, before the command. */
static run *play(shown streams, const char *settings, const char *words) {
    static run r;
    int pipes[2], status, master = posix_openpt(O_RDWR | O_NOCTTY);
    size_t shown_bytes = 0, piped = 0;
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        VY_SKIP("there are no pseudo-terminals here");
    char *name = ptsname(master);
    int keep = open(name, O_RDWR | O_NOCTTY); /* so that reading does not end before the command has begun */
    assert_true(keep >= 0 && pipe(pipes) == 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        become(name, pipes[1], streams, settings, words);
    close(pipes[1]);
    for (int ended = 0, idle = 0; !idle;) {
        struct pollfd from[2] = {{.fd = master, .events = POLLIN}, {.fd = pipes[0], .events = POLLIN}};
        ended |= waitpid(child, &status, WNOHANG) == child;
        poll(from, 2, ended ? 0 : 20);
        size_t more = from[0].revents & POLLIN ? take(master, r.terminal, shown_bytes) : 0;
        size_t other = from[1].revents & POLLIN ? take(pipes[0], r.pipe, piped) : 0;
        shown_bytes += more;
        piped += other;
        r.terminal[shown_bytes] = '\0';
        if (until && !ended && strstr(r.terminal, until))
            kill(child, SIGKILL);
        idle = ended && !more && !other;
    }
    close(keep);
    close(master);
    close(pipes[0]);
    r.terminal[shown_bytes] = r.pipe[piped] = '\0';
    assert_true(until || WIFEXITED(status));
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return &r;
}

static void expect(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("`%s` is not in:\n%s", part, text);
}

static void expect_none(const char *text, const char *part) {
    if (strstr(text, part))
        fail_msg("`%s` is in:\n%s", part, text);
}

/* ---- colour ---- */

#define WRONG "check examples/mistakes/types.vyre"

static void findings_are_coloured_on_a_terminal(void **state) {
    (void)state;
    run *r = play(SHOWN_BOTH, "", WRONG);
    assert_int_equal(r->code, 1);
    expect(r->terminal, "\033[1mexamples/mistakes/types.vyre:10:16:\033[0m \033[1;31merror T033:\033[0m ");
    expect(r->terminal, "\033[1;31m^\033[0m");
    expect(r->terminal, "\033[1;32mFix:\033[0m convert it");
}

static void errors_and_notes_are_coloured(void **state) {
    (void)state;
    expect(play(SHOWN_BOTH, "", "run --nothing")->terminal, "\033[1;31mvyre run:\033[0m unknown option");
    expect(play(SHOWN_BOTH, "", "nothing")->terminal, "\033[1;31mvyre:\033[0m unknown command");
    expect(play(SHOWN_BOTH, "", "run examples/saxpy.vyre a=2 x=1 y=1 --backend reference")->terminal,
           "\033[1;36mnote:\033[0m saxpy ran");
    run *r = play(SHOWN_BOTH, "", "run tests/tool/programs/trap.vyre x=7 --backend reference");
    expect(r->terminal, "\033[1;31mvyre:\033[0m TRAPPED");
    expect(r->terminal, "\033[1;31m^~~~\033[0m");
}

static void reports_are_coloured(void **state) {
    (void)state;
    expect(play(SHOWN_BOTH, "", "doctor")->terminal, "\033[1mlibrary\033[0m");
    expect(play(SHOWN_BOTH, "", "doctor")->terminal, "\033[1;32mverdict: fine\033[0m");
    run *r = play(SHOWN_BOTH, "VYRE_BACKEND=reference", "backends");
    expect(r->terminal, "\033[1mreference\033[0m");
    expect(r->terminal, "\033[1;32mchosen:\033[0m reference");
}

/* Each stream by itself: findings go to standard error. */
static void what_is_no_terminal_has_no_colour(void **state) {
    (void)state;
    run *r = play(SHOWN_NONE, "", WRONG);
    expect(r->pipe, "error T033");
    expect_none(r->pipe, "\033");
    r = play(SHOWN_OUTPUT, "", WRONG);
    expect(r->pipe, "error T033");
    expect_none(r->pipe, "\033");
    r = play(SHOWN_ERROR, "", "doctor");
    expect(r->pipe, "verdict:");
    expect_none(r->pipe, "\033");
    r = play(SHOWN_ERROR, "", WRONG);
    expect(r->terminal, "\033[1;31merror T033");
}

static void the_environment_and_the_option_decide(void **state) {
    static const struct {
        const char *settings, *words;
        int has_color;
    } cases[] = {
        {"", WRONG, 1},
        {"NO_COLOR=1", WRONG, 0},
        {"NO_COLOR=", WRONG, 1},
        {"TERM=dumb", WRONG, 0},
        {"TERM=", WRONG, 0},
        {"", WRONG " --color=never", 0},
        {"", WRONG " --color=auto", 1},
        {"NO_COLOR=1", WRONG " --color=always", 1},
        {"TERM=dumb", WRONG " --color always", 1},
        {"", WRONG " --json", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run *r = play(SHOWN_BOTH, cases[i].settings, cases[i].words);
        assert_int_equal(r->code, 1);
        if (!!strchr(r->terminal, '\033') != cases[i].has_color)
            fail_msg("%s vyre %s:\n%s", cases[i].settings, cases[i].words, r->terminal);
    }
    expect(play(SHOWN_NONE, "", WRONG " --color=always")->pipe, "\033[1;31merror T033");
    expect_none(play(SHOWN_OUTPUT, "", "doctor --json --color=always")->terminal, "\033");
}

/* ---- progress ---- */

#define ERASED "\r\033[K"

static char program[] = "/tmp/vyre-terminal-XXXXXX";

/* Writes a program, and returns the arguments that run it with a limit of 1.6 s. */
static const char *run_slow(const char *text, const char *words) {
    static char line[512];
    FILE *file = fopen(program, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    snprintf(line, sizeof line, "run %s --backend cpu --timeout 1.6 %s", program, words);
    return line;
}

static const char *spin(void) {
    return run_slow("program spin {\n param stop : u32\n buffer x : u32 read_write\n workgroup 4\n grid over x\n"
                    " var i = 0u32\n while i != stop { i = i + 2 }\n x[global_id.x] = i\n}\n",
                    "stop=1 x=0,0,0");
}

/* The compile server of the tests delays the compile of a program with this name by 4 s. */
#define SLOW "program sleep_4 {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n x[global_id.x] = 1\n}\n"

static void a_long_run_shows_its_time_and_erases_it(void **state) {
    vyre_error error;
    (void)state;
    if (vy_cpu_compiler_check(&error) != VYRE_OK)
        VY_SKIP("there is no compiler in this build");
    run *r = play(SHOWN_BOTH, "", spin());
    assert_int_equal(r->code, 4);
    expect(r->terminal, "\rrunning: 1 s ");
    char *last = strstr(r->terminal, ERASED);
    assert_non_null(last);
    expect(last, "TIMEOUT");
    expect_none(last, "running:");
    expect_none(play(SHOWN_OUTPUT, "", spin())->pipe, "running:");
    expect_none(play(SHOWN_BOTH, "TERM=dumb", spin())->terminal, "running:");
}

static void a_long_compile_shows_its_time_and_erases_it(void **state) {
    char settings[4200];
    (void)state;
    NEEDS_SERVER();
    snprintf(settings, sizeof settings, "VYRE_CACHE_DIR= VYRE_COMPILER='%s'", server_path("hostile"));
    run *r = play(SHOWN_BOTH, settings, run_slow(SLOW, "x=0,0"));
    assert_int_equal(r->code, 4);
    expect(r->terminal, "\rcompiling: 1 s ");
    char *last = strstr(r->terminal, ERASED);
    assert_non_null(last);
    expect(last, "TIMEOUT");
    expect_none(last, "compiling:");
    r = play(SHOWN_BOTH, settings, run_slow(SLOW, "x=0,0 -q"));
    expect_none(r->terminal, "compiling:");
}

/* Compilers have no deadline here: the command is killed when it has shown the expected text. */
static void a_long_emit_shows_its_time(void **state) {
    char settings[4200], words[256];
    (void)state;
    NEEDS_SERVER();
    run_slow(SLOW, "");
    snprintf(settings, sizeof settings, "VYRE_COMPILER='%s'", server_path("hostile"));
    snprintf(words, sizeof words, "emit %s --target asm", program);
    until = "\rcompiling: 1 s ";
    run *r = play(SHOWN_BOTH, settings, words);
    until = NULL;
    expect(r->terminal, "\rcompiling: 1 s ");
}

static void a_short_run_shows_no_progress(void **state) {
    (void)state;
    run *r = play(SHOWN_BOTH, "", "run examples/saxpy.vyre a=2 x=1 y=1 --backend reference");
    assert_int_equal(r->code, 0);
    expect_none(r->terminal, "running:");
    expect_none(r->terminal, ERASED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_are_coloured_on_a_terminal),
        cmocka_unit_test(errors_and_notes_are_coloured),
        cmocka_unit_test(reports_are_coloured),
        cmocka_unit_test(what_is_no_terminal_has_no_colour),
        cmocka_unit_test(the_environment_and_the_option_decide),
        cmocka_unit_test(a_long_run_shows_its_time_and_erases_it),
        cmocka_unit_test(a_long_compile_shows_its_time_and_erases_it),
        cmocka_unit_test(a_long_emit_shows_its_time),
        cmocka_unit_test(a_short_run_shows_no_progress),
    };
    int file = mkstemp(program);
    if (file < 0)
        return 1;
    close(file);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(program);
    return failed;
}
