/* LLVM errata (src/emit/llvm/emitter.h). The reproducer of every row is compiled as it is, and a row that the linked
 * LLVM no longer needs is reported. The program of every row, compiled as the backend does, gives the bits of the
 * oracle, for every ISA level of the machine and every width. */
#include "compilers/code.h"

#include "base/file.h"
#include "compilers/ir.h"

#include <sys/resource.h>
#include <sys/wait.h>

typedef struct row {
    const char *name, *versions, *avoidance;
} row;
#define X(name, versions, avoidance) {name, versions, avoidance},
static const row rows[] = {VY_LLVM_ERRATA(X)};
#undef X
enum { ROWS = sizeof rows / sizeof *rows };

/* A file of a row: its text ends with a zero. */
static vyre_bytes text_of(const row *row, const char *ending) {
    char path[256];
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    snprintf(path, sizeof path, "tests/compilers/errata/%s.%s", row->name, ending);
    if (vy_file_read(vy_test_path(path), UINT64_MAX, &text, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    size_t size = text.size;
    assert_int_equal(vyre_bytes_resize(&text, size + 1, NULL), VYRE_OK);
    ((char *)text.data)[size] = 0;
    return text;
}

/* ---- programs ---- */

enum { COUNT = 257, BUFFERS = 8 };

typedef struct given {
    uint64_t data[BUFFERS][COUNT];
    vyre_span inputs[BUFFERS];
    vyre_arguments arguments;
} given;

/* Inputs of any bytes. */
static const vyre_arguments *arguments_of(const vyre_program *program, given *out) {
    vy_random random = vy_random_start(1);
    size_t count = 0;
    for (size_t i = 0; i < vyre_program_buffer_count(program); i++) {
        vyre_buffer_info info;
        assert_true(i < BUFFERS && vyre_program_buffer(program, i, &info));
        if (info.access == VYRE_ACCESS_WRITE)
            continue;
        for (int k = 0; k < COUNT; k++)
            out->data[i][k] = vy_random_next(&random);
        assert_true(!info.has_count || (info.is_static && info.count <= COUNT));
        uint64_t elements = info.has_count ? info.count : COUNT;
        out->inputs[count++] = (vyre_span){out->data[i], elements * (vyre_type_bits(info.type) / 8)};
    }
    out->arguments =
        (vyre_arguments){.inputs = out->inputs, .input_count = count, .geometry = {VYRE_GEOMETRY_PROGRAM, {0, 0, 0}}};
    return &out->arguments;
}

static void compare(const row *row, vyre_program *program, const processor *p) {
    static given given;
    static outcome want, got;
    code code = {0};
    vyre_error error = VYRE_ERROR_INIT;
    const vyre_arguments *arguments = arguments_of(program, &given);
    outcome_of_oracle(program, arguments, &want);
    if (want.status != VYRE_OK)
        fail_msg("%s: %s", row->name, want.error.message);
    if (code_make(program, p, &code, &error) != VYRE_OK)
        fail_msg("%s, %s, %u lanes: %s", row->name, p->name, (unsigned)p->width, error.message);
    outcome_of_code(&code, arguments, &got);
    const char *text = outcome_differs(&want, &got);
    if (text) {
        code_show(code.legal);
        fail_msg("%s, %s, %u lanes: %s", row->name, p->name, (unsigned)p->width, text);
    }
    outcome_free(&want);
    outcome_free(&got);
    code_free(&code);
}

static void compare_widths(const row *row, vyre_program *program, const char *name, uint64_t features) {
    for (uint32_t width = VY_CPU_WIDTH_MIN; width <= VY_CPU_WIDTH_MAX; width *= 2)
        compare(row, program, &(processor){name, width, features, features});
}

static void programs_give_the_bits_of_the_oracle(void **state) {
    (void)state;
    uint64_t has = vy_cpu_features();
    for (unsigned i = 0; i < ROWS; i++) {
        vyre_bytes text = text_of(&rows[i], "vyre");
        vyre_program *program = vy_test_parse(text.data);
        if (!(has & VY_CPU_FEATURE_X86_64))
            compare_widths(&rows[i], program, "host", has);
        for (unsigned level = 0; level < VY_CPU_LEVEL_COUNT; level++)
            if ((vy_cpu_level_features(level) & ~has) == 0)
                compare_widths(&rows[i], program, vy_cpu_level_name(level), vy_cpu_level_features(level));
        vyre_program_release(program);
        vyre_bytes_free(&text);
    }
}

/* ---- reproducers ---- */

/* How a child ends: with the result of the function, which is 0 where LLVM is right, or without one. */
enum { RIGHT = 0, WRONG = 1, NOT_RUN = 2, CPU_SECONDS = 2 };

/* What follows "; name: " in a line of the file; "" if there is no such line. */
static const char *setting(const char *text, const char *name) {
    static char value[64];
    char start[64];
    int length = snprintf(start, sizeof start, "; %s: ", name);
    const char *at = strstr(text, start);
    value[0] = 0;
    if (at)
        snprintf(value, sizeof value, "%.*s", (int)strcspn(at + length, "\n"), at + length);
    return value;
}

/* In a child, since LLVM may crash or never return. */
static _Noreturn void compile_and_run(const char *text) {
    static uint8_t memory[4096];
    uint64_t features = 0;
    struct rlimit limit = {CPU_SECONDS, CPU_SECONDS}, no_core = {0, 0};
    setrlimit(RLIMIT_CPU, &limit);
    setrlimit(RLIMIT_CORE, &no_core);
    freopen("/dev/null", "w", stderr);
    ir_stop_if(vy_cpu_isa_find(setting(text, "level"), &features, NULL) != VYRE_OK, "level", setting(text, "level"));
    ir_code code = ir_compile(text, "errata", features, setting(text, "passes"), 0);
    if ((vy_cpu_features() & features) != features)
        _exit(NOT_RUN);
    memset(memory, 0xff, sizeof memory);
    uint32_t (*function)(void *) = (uint32_t(*)(void *))(uintptr_t)code.entry;
    _exit(function(memory) ? WRONG : RIGHT);
}

static void reproducers_are_reported_that_llvm_compiles_correctly(void **state) {
    (void)state;
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
#if !defined(__x86_64__)
    VY_SKIP("the reproducers are for x86-64");
#endif
    for (unsigned i = 0; i < ROWS; i++) {
        vyre_bytes text = text_of(&rows[i], "ll");
        int status = 0;
        fflush(stdout);
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child)
            compile_and_run(text.data);
        assert_int_equal(waitpid(child, &status, 0), child);
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
        printf("errata %s (LLVM %s; %s), LLVM %u.%u.%u: %s\n", rows[i].name, rows[i].versions, rows[i].avoidance, major,
               minor, patch,
               code == RIGHT          ? "NO LONGER NEEDED: the reproducer is compiled correctly"
               : code == NOT_RUN      ? "unknown: compiled, but this machine cannot run it"
               : code == IR_UNLINKED  ? "needed: the code calls a function of the C library"
               : !WIFSIGNALED(status) ? "needed: wrong result"
               : WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL ? "needed: LLVM does not end"
                                                                            : "needed: LLVM ends the process");
        assert_int_not_equal(code, IR_REFUSED);
        vyre_bytes_free(&text);
    }
}

/* ---- documentation ---- */

static void every_row_is_documented(void **state) {
    (void)state;
    vyre_bytes text = VYRE_BYTES_INIT;
    assert_int_equal(vy_file_read(vy_test_path("docs/internals/cpu.md"), UINT64_MAX, &text, NULL), VYRE_OK);
    for (unsigned i = 0; i < ROWS; i++) {
        char start[128];
        int length = snprintf(start, sizeof start, "\n| `%s` | %s |", rows[i].name, rows[i].versions);
        if (!memmem(text.data, text.size, start, (size_t)length))
            fail_msg("docs/internals/cpu.md has no row that begins with%s", start);
    }
    vyre_bytes_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_give_the_bits_of_the_oracle),
        cmocka_unit_test(reproducers_are_reported_that_llvm_compiles_correctly),
        cmocka_unit_test(every_row_is_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
