/* A small host against the hostile corpus: a process with a stack of 512 KiB, 1 GB of address space and a deadline of
 * two seconds survives every input, with the reference's bits or with an error that says what to do. Programs that
 * cannot end by themselves, but for the first of them, get a shorter deadline, unless there is time.
 *
 * Each case runs in a child process, so that a crash or a hang is a failed test and not the end of the run. Address
 * space is not limited in sanitized builds, whose shadow memory needs all of it, and stacks are larger there. Times are
 * printed and not asserted; a child that has not answered after HANG_SECONDS, many times its deadline, hangs. */
#include "hostile/corpus.h"

#include "vyre/cache.h"
#include "vyre/driver.h"
#include "vyre/text.h"
#include "vyre/transform.h"
#include "vyre/wire.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_KIB = VY_SANITIZED ? 4096 : 512,
    ADDRESS_MIB = 1024,
    DEADLINE_MS = 2000,
    ENDLESS_DEADLINE_MS = 400,
    HANG_SECONDS = VY_SANITIZED ? 240 : 60
};

/* What a child tells of its case. */
typedef struct answer {
    char step[16];
    vyre_status status;
    uint64_t digest; /* of the outputs of a dispatch that ended well */
    uint64_t elapsed_ms;
    vyre_error error;
} answer;

typedef struct attempt {
    const corpus_text *text;
    const char *backend;
    unsigned deadline_ms;
    answer answer;
} attempt;

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- in the child ---- */

static uint64_t digest_of(const vyre_outputs *outputs) {
    uint64_t digest = 14695981039346656037u;
    for (size_t i = 0; i < outputs->count; i++)
        for (size_t k = 0; k < outputs->items[i].size; k++)
            digest = (digest ^ ((const uint8_t *)outputs->items[i].data)[k]) * 1099511628211u;
    return digest;
}

static vyre_status dispatch(attempt *a, vyre_program *program) {
    static uint32_t input[CORPUS_ELEMENTS];
    for (uint32_t i = 0; i < CORPUS_ELEMENTS; i++)
        input[i] = i * 2654435761u;
    vyre_backend *backend = NULL;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_span inputs[8];
    for (size_t i = 0; i < 8; i++)
        inputs[i] = (vyre_span){input, sizeof input};
    size_t count = vyre_program_input_count(program); /* more of them than there are here: an error */
    const vyre_arguments arguments = {.inputs = inputs, .input_count = count < 8 ? count : 8};
    const vyre_dispatch_config config = {.timeout_ns = UINT64_C(1000000) * a->deadline_ms};
    vyre_status status = vyre_acquire(a->backend, &backend, &a->answer.error);
    if (status == VYRE_OK)
        status = vyre_backend_dispatch(backend, program, &arguments, &config, &outputs, NULL, &a->answer.error);
    if (status == VYRE_OK)
        a->answer.digest = digest_of(&outputs);
    vyre_outputs_free(&outputs);
    vyre_backend_release(backend);
    return status;
}

/* Printed, parsed again, encoded and decoded: the same program each time, or an error. */
static vyre_status round_trip(attempt *a, vyre_program **program) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_program *decoded = NULL;
    vyre_status status = vyre_text_print(*program, &bytes, &a->answer.error);
    if (status == VYRE_OK)
        status = vyre_wire_encode(*program, 0, &bytes, &a->answer.error);
    if (status == VYRE_OK)
        status = vyre_wire_decode(bytes.data, bytes.size, NULL, &decoded, &a->answer.error);
    vyre_bytes_free(&bytes);
    if (status == VYRE_OK) {
        vyre_program_release(*program);
        *program = decoded;
    }
    return status;
}

static void *live(void *user) {
    attempt *a = user;
    vyre_module *module = NULL;
    uint64_t start = now_ms();
    strcpy(a->answer.step, "parse");
    a->answer.status = vyre_text_parse(a->text->data, a->text->size, NULL, NULL, &module, &a->answer.error);
    if (a->answer.status == VYRE_OK) {
        vyre_program *program = vyre_program_retain(vyre_module_program(module, 0));
        vyre_module_free(module);
        strcpy(a->answer.step, "round trip");
        a->answer.status = round_trip(a, &program);
        if (a->answer.status == VYRE_OK) {
            strcpy(a->answer.step, "dispatch");
            a->answer.status = dispatch(a, program);
        }
        vyre_program_release(program);
    }
    a->answer.elapsed_ms = now_ms() - start;
    return NULL;
}

static void limit(int resource, rlim_t value) {
    (void)setrlimit((__rlimit_resource_t)resource, &(struct rlimit){value, value});
}

static _Noreturn void child(attempt *a, int out) {
    pthread_t thread;
    pthread_attr_t attributes;
    limit(RLIMIT_CORE, 0);
    if (!VY_SANITIZED)
        limit(RLIMIT_AS, (rlim_t)ADDRESS_MIB << 20);
    (void)vyre_cache_set_folder("", NULL);
    if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, (size_t)STACK_KIB << 10) ||
        pthread_create(&thread, &attributes, live, a) || pthread_join(thread, NULL))
        _exit(3);
    _exit(write(out, &a->answer, sizeof a->answer) == (ssize_t)sizeof a->answer ? 0 : 4);
}

/* ---- in the test ---- */

static answer run(const char *name, const corpus_text *text, unsigned deadline_ms, const char *backend,
                  const char *width) {
    int ends[2], state = 0;
    attempt a = {.text = text, .backend = backend, .deadline_ms = deadline_ms};
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        if (width)
            setenv("VYRE_CPU_WIDTH", width, 1);
        child(&a, ends[1]);
    }
    close(ends[1]);
    int answered = poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, HANG_SECONDS * 1000);
    if (answered != 1)
        kill(pid, SIGKILL);
    ssize_t got = answered == 1 ? read(ends[0], &a.answer, sizeof a.answer) : 0;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &state, 0), pid);
    if (answered != 1)
        fail_msg("%s on %s (width %s): no answer after %d s", name, backend, width ? width : "any", HANG_SECONDS);
    if (WIFSIGNALED(state))
        fail_msg("%s on %s (width %s): signal %d", name, backend, width ? width : "any", WTERMSIG(state));
    if (got != (ssize_t)sizeof a.answer || WEXITSTATUS(state))
        fail_msg("%s on %s (width %s): exit status %d", name, backend, width ? width : "any", WEXITSTATUS(state));
    printf("%-36s %-9s %-3s %-10s %-16s %6llu ms %.90s\n", name, backend, width ? width : "", a.answer.step,
           vyre_status_name(a.answer.status), (unsigned long long)a.answer.elapsed_ms,
           a.answer.status ? a.answer.error.message : "");
    return a.answer;
}

static void check(const corpus_case *c, const char *backend, const answer *a) {
    if (a->status == VYRE_OK && (c->outcome == CORPUS_ERROR || c->outcome == CORPUS_ENDLESS))
        fail_msg("%s on %s: a result, and not an error", c->name, backend);
    if (a->status != VYRE_OK && c->outcome == CORPUS_RESULT)
        fail_msg("%s on %s: %s: %s", c->name, backend, vyre_status_name(a->status), a->error.message);
    if (a->status != VYRE_OK && (!a->error.message[0] || !a->error.fix[0]))
        fail_msg("%s on %s: %s without a message and a fix", c->name, backend, vyre_status_name(a->status));
}

/* Whether `cpu` can compile here: asked in a child, so that the children of the cases inherit nothing of a backend. */
static int has_cpu(void) {
    static int known = -1;
    corpus_text text = {0};
    if (known < 0) {
        corpus_start(&text);
        corpus_end(&text);
        known = run("a plain program", &text, DEADLINE_MS, "cpu", NULL).status == VYRE_OK;
        free(text.data);
    }
    return known;
}

static void survives(const corpus_case *c) {
    static const char *const widths[] = {"64", "8", "32", "16", "4"}; /* in `make test` the first two */
    const size_t count = VY_SANITIZED ? 1 : vy_test_effort() > 1 ? 5 : 2;
    const unsigned deadline_ms =
        c->outcome == CORPUS_ENDLESS && vy_test_effort() == 1 ? ENDLESS_DEADLINE_MS : DEADLINE_MS;
    corpus_text text = {0};
    c->make(&text);
    answer expected = run(c->name, &text, deadline_ms, "reference", NULL);
    check(c, "reference", &expected);
    /* A text that does not parse reaches no backend. */
    if (expected.status == VYRE_OK || !strcmp(expected.step, "dispatch"))
        for (size_t k = 0; k < (c->every_width ? count : 1) && has_cpu(); k++) {
            const char *width = c->every_width ? widths[k] : NULL;
            answer got = run(c->name, &text, deadline_ms, "cpu", width);
            /* On a slow machine the compiler meets the short deadline; it is the run that has to. */
            if (deadline_ms < DEADLINE_MS && strstr(got.error.message, "was not compiled"))
                got = run(c->name, &text, DEADLINE_MS, "cpu", width);
            check(c, "cpu", &got);
            if (got.status == VYRE_OK && expected.status == VYRE_OK && got.digest != expected.digest)
                fail_msg("%s on cpu: other bits than the reference", c->name);
        }
    free(text.data);
}

static void one_case(void **state) {
    survives(*state);
    if (!has_cpu())
        VY_SKIP("backend cpu: it cannot compile here");
}

/* Encoded programs with random bytes changed: a program or an error. All in one child. */
static void changed_wire_forms(void **state) {
    (void)state;
    corpus_text text = {0};
    many_barriers(&text);
    vyre_module *module = NULL;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error;
    int ended = 0;
    assert_int_equal(vyre_text_parse(text.data, text.size, NULL, NULL, &module, &error), VYRE_OK);
    assert_int_equal(vyre_wire_encode(vyre_module_program(module, 0), 0, &bytes, &error), VYRE_OK);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        vy_random random = vy_random_start(19);
        uint8_t *data = bytes.data;
        limit(RLIMIT_CORE, 0);
        if (!VY_SANITIZED)
            limit(RLIMIT_AS, (rlim_t)ADDRESS_MIB << 20);
        for (unsigned k = 0; k < (VY_SANITIZED ? 200u : 2000u) * vy_test_effort(); k++) {
            vyre_program *program = NULL;
            size_t at = vy_random_below(&random, k % 2 ? 64 : bytes.size);
            uint8_t was = data[at];
            data[at] = (uint8_t)vy_random_next(&random);
            if (vyre_wire_decode(bytes.data, k % 3 ? bytes.size : at, NULL, &program, &error) != VYRE_OK &&
                (!error.message[0] || !error.fix[0]))
                _exit(1);
            vyre_program_release(program);
            data[at] = was;
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_int_equal(ended, 0);
    vyre_bytes_free(&bytes);
    vyre_module_free(module);
    free(text.data);
}

int main(int argc, char **argv) {
    static struct CMUnitTest tests[CORPUS_CASES + 1];
    size_t count = 0;
    for (size_t i = 0; i < CORPUS_CASES; i++)
        if (argc < 2 || !strcmp(argv[1], corpus[i].name))
            tests[count++] = (struct CMUnitTest){corpus[i].name, one_case, NULL, NULL, (void *)(uintptr_t)&corpus[i]};
    if (argc < 2)
        tests[count++] = (struct CMUnitTest)cmocka_unit_test(changed_wire_forms);
    return _cmocka_run_group_tests("hostile", tests, count, NULL, NULL);
}
