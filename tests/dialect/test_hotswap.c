/* examples/hotswap, end to end: a loop of dispatches in another process picks up an op that is edited, and no dispatch
 * sees half of a change. */
#include "dialect/manifests.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

typedef struct loop {
    pid_t process;
    FILE *lines;
    const char *folder;
    unsigned factor; /* of the latest line */
    unsigned long long generation, number;
} loop;

static void make_text(char text[512], unsigned factor) {
    snprintf(text, 512,
             "dialect = \"tone\"\nversion = \"1.0.0\"\n[[op]]\nid = \"map\"\nsignature = \"fn map(x: u32) -> u32\"\n"
             "body = \"fn map(x: u32) -> u32 { return x * %u }\"\n",
             factor);
}

static void swap(const loop *loop, unsigned factor) {
    char text[512];
    make_text(text, factor);
    manifests_swap(loop->folder, "tone.toml", text);
}

static void start(loop *loop, const char *folder, unsigned factor) {
    const char *build = getenv("VYRE_BINARY_DIR");
    char path[1024];
    int ends[2];
    snprintf(path, sizeof path, "%s/examples/hotswap", build ? build : VYRE_BINARY_DIR);
    *loop = (struct loop){.folder = folder, .factor = factor};
    swap(loop, factor);
    assert_int_equal(pipe(ends), 0);
    loop->process = fork();
    if (loop->process == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        if (!freopen("/dev/null", "w", stderr))
            _exit(126);
        execl(path, path, folder, "1000000", (char *)NULL);
        _exit(127);
    }
    assert_true(loop->process > 0);
    close(ends[1]);
    loop->lines = fdopen(ends[0], "r");
}

/* The next dispatch: whole, in order, and of a generation that is not older. */
static void step(loop *loop) {
    char line[256], word[16];
    unsigned long long number, generation;
    unsigned factor;
    if (!fgets(line, sizeof line, loop->lines))
        fail_msg("the loop ended");
    if (sscanf(line, "%llu: generation %llu, %15s %u", &number, &generation, word, &factor) != 4)
        fail_msg("not a line of the loop: %s", line);
    assert_string_equal(word, "times"); /* every sample by the same factor */
    assert_true(loop->number == 0 || number == loop->number + 1);
    assert_true(generation >= loop->generation);
    if (generation == loop->generation && factor != loop->factor)
        fail_msg("generation %llu has two ops: times %u and times %u", generation, loop->factor, factor);
    loop->number = number;
    loop->generation = generation;
    loop->factor = factor;
}

/* Only the old one, then the new one. */
static void expect_change(loop *loop, unsigned factor) {
    unsigned before = loop->factor;
    for (unsigned i = 0; i < 20000 && loop->factor != factor; i++) {
        step(loop);
        assert_true(loop->factor == before || loop->factor == factor);
    }
    assert_int_equal(loop->factor, factor);
}

static void expect_same(loop *loop, unsigned steps) {
    unsigned before = loop->factor;
    for (unsigned i = 0; i < steps; i++) {
        step(loop);
        assert_int_equal(loop->factor, before);
    }
}

static void stop(loop *loop) {
    kill(loop->process, SIGKILL);
    waitpid(loop->process, NULL, 0);
    fclose(loop->lines);
}

static void an_edited_op_is_picked_up_between_two_dispatches(void **state) {
    loop loop;
    char text[512];
    start(&loop, *state, 2);
    expect_same(&loop, 20);
    make_text(text, 3);
    manifests_write(loop.folder, "tone.toml", text); /* in place */
    expect_change(&loop, 3);
    expect_same(&loop, 20);
    swap(&loop, 5);
    expect_change(&loop, 5);
    expect_same(&loop, 20);
    stop(&loop);
}

static void half_a_manifest_a_bad_one_and_none_change_nothing(void **state) {
    loop loop;
    char text[512], path[600];
    start(&loop, *state, 2);
    expect_same(&loop, 5);
    snprintf(path, sizeof path, "%s/tone.toml", loop.folder);
    make_text(text, 3);
    size_t half = (size_t)(strstr(text, "body") - text);
    int file = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(write(file, text, half), (ssize_t)half);
    expect_same(&loop, 60);
    assert_int_equal(write(file, text + half, strlen(text) - half), (ssize_t)(strlen(text) - half));
    close(file);
    expect_change(&loop, 3);
    manifests_swap(loop.folder, "tone.toml", "dialect = tone");
    expect_same(&loop, 60);
    manifests_unlink(loop.folder, "tone.toml"); /* the program holds the ops it was resolved with */
    expect_same(&loop, 5);
    for (unsigned long long until = loop.number + 60; loop.number < until;)
        step(&loop), assert_int_equal(loop.factor, 3);
    swap(&loop, 7);
    expect_change(&loop, 7);
    stop(&loop);
}

static void a_link_is_an_edit(void **state) {
    loop loop;
    char text[512], path[600], target[600];
    start(&loop, *state, 2);
    expect_same(&loop, 5);
    snprintf(path, sizeof path, "%s/tone.toml", loop.folder);
    snprintf(target, sizeof target, "%s/other", loop.folder);
    make_text(text, 9);
    manifests_write(loop.folder, "other", text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(target, path), 0);
    expect_change(&loop, 9);
    stop(&loop);
}

static void rapid_edits_are_seen_in_order_and_the_last_one_stays(void **state) {
    enum { EDITS = 400, FIRST = 100 };
    loop loop;
    start(&loop, *state, FIRST);
    expect_same(&loop, 5);
    unsigned changes = 0, next = FIRST + 1, last = FIRST + EDITS;
    for (unsigned i = 0; i < 50000 && loop.factor != last; i++) {
        unsigned before = loop.factor;
        for (unsigned burst = 0; burst < 4 && next <= last; burst++)
            swap(&loop, next++);
        step(&loop);
        assert_true(loop.factor >= before && loop.factor < next);
        changes += loop.factor != before;
    }
    assert_int_equal(loop.factor, last);
    assert_true(changes > 0);
    stop(&loop);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MANIFESTS_TEST(an_edited_op_is_picked_up_between_two_dispatches),
        MANIFESTS_TEST(half_a_manifest_a_bad_one_and_none_change_nothing),
        MANIFESTS_TEST(a_link_is_an_edit),
        MANIFESTS_TEST(rapid_edits_are_seen_in_order_and_the_last_one_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
