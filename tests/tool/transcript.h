/* Transcript tests: commands and their expected output.
 *
 *   $ vyre run saxpy.vyre a=2 x=1 y=2
 *   y : f32, 1 element
 *     0:  4.0
 *   $ vyre run nothing.vyre
 *   ...
 *   [exit 4]
 *
 * Each command runs under sh with `vyre` in its path, in a new folder with copies of examples/ and of
 * tests/tool/programs/. Its standard output and error, in the order written, must equal the lines that follow. A line
 * `...` matches any lines, `[...]` in a line matches any text. `[exit N]` follows a command that does not exit with 0.
 * Lines that start with # before the first command are comments.
 *
 * In a Markdown file only blocks that open with ```sh are run, and `make` in them only prints its commands.
 *
 * With VYRE_UPDATE set in the environment, files are rewritten with the actual output: read the difference before you
 * keep it. */
#ifndef VY_TESTS_TRANSCRIPT_H
#define VY_TESTS_TRANSCRIPT_H

#include "support/test.h"

#include "base/file.h"
#include "base/string.h"

#include <sys/wait.h>
#include <unistd.h>

/* Makes the folder for one transcript and enters it. The path is kept in `folder`. */
static inline void transcript_enter(char folder[256]) {
    char line[2048], resolved[1024];

    snprintf(folder, 256, "%s", "/tmp/vyre-transcript-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_non_null(realpath(vy_test_command(), resolved));
    snprintf(line, sizeof line, "mkdir .bin && ln -s '%s' .bin/vyre && cp -r '%s/examples' . && chmod -R u+w examples",
             resolved, vy_test_source_dir());
    assert_int_equal(system(line), 0);
    snprintf(line, sizeof line, "cp -r '%s/tests/tool/programs/.' . && cp '%s/Makefile' '%s/docs/math-digests.txt' .",
             vy_test_source_dir(), vy_test_source_dir(), vy_test_source_dir());
    assert_int_equal(system(line), 0);
}

static inline void transcript_leave(const char *folder) {
    char line[300];

    assert_int_equal(chdir("/"), 0);
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    assert_int_equal(system(line), 0);
}

/* Runs one command; its output, then `[exit N]` if that is not 0. */
static inline void transcript_run(const char *command, vy_string *out) {
    static const char setup[] =
        "PATH=\"$PWD/.bin:$PATH\"; export PATH; LC_ALL=C; export LC_ALL; unset VYRE_UPDATE MAKEFLAGS MAKELEVEL\n"
        "unset VYRE_SOURCE_DIR VYRE_BINARY_DIR VYRE_COMMAND VYRE_VECTORS VYRE_EFFORT "
        "VYRE_SEED\n" /* for tests: doctor would name them */
        "VYRE_BACKEND=${TRANSCRIPT_BACKEND-reference}; export "
        "VYRE_BACKEND\n" /* what else there is differs from machine to machine */
        "make() { command make -n \"$@\" >/dev/null; }\nexec 2>&1\n";
    vy_string script = {0};
    char buffer[4096];
    size_t count;
    FILE *pipe;
    int status;

    vy_string_format(&script, "%s%s\n", setup, command);
    assert_false(script.failed);
    fflush(NULL);
    setenv("TRANSCRIPT", script.text, 1);
    pipe = popen("eval \"$TRANSCRIPT\"", "r");
    assert_non_null(pipe);
    while ((count = fread(buffer, 1, sizeof buffer, pipe)) > 0)
        vy_string_append(out, buffer, count);
    status = pclose(pipe);
    vy_string_free(&script);
    if (out->length > 0 && out->text[out->length - 1] != '\n')
        vy_string_char(out, '\n');
    if (WIFSIGNALED(status))
        vy_string_format(out, "[signal %d]\n", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        vy_string_format(out, "[exit %d]\n", WEXITSTATUS(status));
}

static inline size_t transcript_line(const char *text) {
    return strcspn(text, "\n");
}

/* Whether a line of the transcript, with `[...]` for any text, matches one that came out. */
static inline int transcript_line_matches(const char *want, size_t want_length, const char *got, size_t got_length) {
    static const char any[] = "[...]";

    for (; want_length > 0; want++, want_length--) {
        if (want_length >= 5 && memcmp(want, any, 5) == 0) {
            for (size_t skip = 0; skip <= got_length; skip++)
                if (transcript_line_matches(want + 5, want_length - 5, got + skip, got_length - skip))
                    return 1;
            return 0;
        }
        if (got_length == 0 || *want != *got)
            return 0;
        got++;
        got_length--;
    }
    return got_length == 0;
}

static inline int transcript_matches(const char *want, const char *got) {
    size_t want_length = transcript_line(want), got_length = transcript_line(got);

    if (*want == '\0')
        return *got == '\0';
    if (want_length == 3 && memcmp(want, "...", 3) == 0) {
        for (const char *at = got;; at += transcript_line(at) + 1) {
            if (transcript_matches(want + 4, at))
                return 1;
            if (*at == '\0')
                return 0;
        }
    }
    return *got && transcript_line_matches(want, want_length, got, got_length) &&
           transcript_matches(want + want_length + 1, got + got_length + 1);
}

/* Plays one file. Every command is run even if an earlier one came out wrong, so that one run shows everything. */
static inline void transcript_play(const char *path, int is_markdown) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vy_string updated = {0}, got = {0}, want = {0};
    int update = getenv("VYRE_UPDATE") != NULL, wrong = 0, in_block = !is_markdown;
    char folder[256], *text;

    assert_int_equal(vy_file_read(path, SIZE_MAX, &bytes, NULL), VYRE_OK);
    assert_int_equal(vyre_bytes_resize(&bytes, bytes.size + 1, NULL), VYRE_OK);
    transcript_enter(folder);
    for (text = bytes.data; *text;) {
        size_t length = transcript_line(text);
        char *next = text + length + (text[length] != '\0'), *command;

        if (is_markdown && strncmp(text, "```", 3) == 0)
            in_block = !in_block && strncmp(text, "```sh\n", 6) == 0;
        vy_string_append(&updated, text, (size_t)(next - text));
        if (!in_block || strncmp(text, "$ ", 2) != 0) {
            text = next;
            continue;
        }
        command = text + 2;
        while (next[-2] == '\\') { /* goes on in the next line */
            length = transcript_line(next) + 1;
            vy_string_append(&updated, next, length);
            next += length;
        }
        next[-1] = '\0';
        text = next;
        want.length = got.length = 0;
        while (*text && strncmp(text, "$ ", 2) != 0 && (!is_markdown || strncmp(text, "```", 3) != 0)) {
            length = transcript_line(text);
            vy_string_append(&want, text, length + (text[length] != '\0'));
            text += length + (text[length] != '\0');
        }
        transcript_run(command, &got);
        vy_string_append(&got, "", 0);
        vy_string_append(&want, "", 0);
        if (transcript_matches(want.length ? want.text : "", got.length ? got.text : "")) {
            vy_string_append(&updated, want.length ? want.text : "", want.length);
            continue;
        }
        vy_string_append(&updated, got.length ? got.text : "", got.length);
        wrong++;
        if (!update)
            printf("%s:\n$ %s\n---- expected\n%s---- came out\n%s----\n", path, command, want.length ? want.text : "",
                   got.length ? got.text : "");
    }
    transcript_leave(folder);
    if (update && wrong) {
        assert_int_equal(vy_file_write(path, updated.text, updated.length, NULL), VYRE_OK);
        printf("%s: rewrote %d command(s)\n", path, wrong);
    }
    vy_string_free(&updated);
    vy_string_free(&got);
    vy_string_free(&want);
    vyre_bytes_free(&bytes);
    if (wrong && !update)
        fail_msg("%s: %d command(s) came out differently", path, wrong);
}

#endif
