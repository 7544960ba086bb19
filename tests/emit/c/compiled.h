/* Emitted C, compiled and run: cases are collected, the programs of a batch are compiled as one file, and each case is
 * compared with the oracle, status, trap and bytes.
 *
 *   compiled c = {.compilers = ...};
 *   compiled_add(&c, "what it is", program, &arguments);   any number of times; 0 if the oracle does not say
 *   compiled_run(&c);                                      what differs is shown and fails the test
 *
 * Programs of a file share the functions of ops: a paragraph that two files have is there once. */
#ifndef VY_TESTS_EMIT_C_COMPILED_H
#define VY_TESTS_EMIT_C_COMPILED_H

#include "backends/conform.h"
#include "emit/paragraphs.h"

#include "base/string.h"
#include "ir/dispatch_resolve.h"
#include "vyre/emit.h"

#include <dlfcn.h>
#include <sys/mman.h>

typedef int compiled_call(void *const *buffers, const uint64_t *counts, const uint64_t *params, const uint32_t *groups,
                          uint64_t *trap);

typedef struct compiled_case {
    vyre_case *given;
    char name[64];
    unsigned program;
    conform_result expected;
} compiled_case;

typedef struct compiled {
    const char *const *compilers; /* command lines, up to NULL; taken in turns by the batches if `in_turns` */
    int in_turns, cancellable;
    size_t limit; /* cases of a batch; 0: no bound */
    conform oracle;
    VY_VECTOR(compiled_case) cases;
    VY_VECTOR(vyre_program *) programs;
    vy_string text, functions;
    paragraphs shared;
    unsigned batches, refused;
    uint64_t judged, trapped;
} compiled;

/* What every file of the emitter says alike, and how the test calls a function. */
static const char compiled_head[] =
    "enum { ENDED, AT_BARRIER, AT_GRID_BARRIER };\n"
    "__attribute__((unused)) static float param_f32(uint64_t bits) {\n"
    "    uint32_t b = (uint32_t)bits; float v; memcpy(&v, &b, 4); return v; }\n"
    "__attribute__((unused)) static double param_f64(uint64_t bits) { double v; memcpy(&v, &bits, 8); return v; }\n";

static inline int compiled_has(const char *compiler) {
    char command[128];
    snprintf(command, sizeof command, "command -v %.*s > /dev/null", (int)strcspn(compiler, " "), compiler);
    return system(command) == 0;
}

static inline char *compiled_emit(compiled *c, vyre_program *program) {
    const vyre_emit_options options = {.struct_size = sizeof options, .cancellable = c->cancellable};
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = vyre_emit(program, "c", &options, &out, &error);
    if (status != VYRE_OK) {
        printf("REFUSED %s: %s\n", vyre_program_name(program), error.message);
        return NULL;
    }
    char *text = calloc(out.size + 1, 1);
    assert_non_null(text);
    memcpy(text, out.data, out.size);
    vyre_bytes_free(&out);
    return text;
}

/* A function of one signature that calls the program's: its arguments are in the order of the fields. */
static inline void compiled_wrap(compiled *c, const vyre_program *program, const char *text, unsigned number) {
    vyre_param_info param;
    vyre_buffer_info buffer;
    vy_string_format(
        &c->text,
        "int p%u_call(void *const *buffers, const uint64_t *counts, const uint64_t *params, const uint32_t "
        "*groups, uint64_t *trap);\n"
        "int p%u_call(void *const *buffers, const uint64_t *counts, const uint64_t *params, const uint32_t "
        "*groups, uint64_t *trap) {\n(void)buffers, (void)counts, (void)params;\n"
        "struct p%u_arguments a = {",
        number, number, number);
    for (size_t i = 0; vyre_program_param(program, i, &param); i++) {
        const char *convert = param.type == VYRE_TYPE_F32   ? "param_f32"
                              : param.type == VYRE_TYPE_F64 ? "param_f64"
                                                            : "";
        vy_string_format(&c->text, "%s(params[%zu]), ", convert, i);
    }
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++)
        vy_string_format(&c->text, "buffers[%zu], counts[%zu], ", i, i);
    vy_string_format(&c->text, "{groups[0], groups[1], groups[2]}");
    vy_string_format(&c->text, "%s};\n", strstr(text, "uint64_t trap_invocation;") ? ", 0, 0" : "");
    vy_string_format(&c->text, "int status = p%u_run(&a);\n", number);
    if (strstr(text, "uint64_t trap_invocation;"))
        vy_string_add(&c->text, "trap[0] = a.trap_invocation, trap[1] = a.trap_code;\n");
    vy_string_add(&c->text, "(void)trap;\nreturn status;\n}\n");
}

/* The number of a program in the batch; UINT_MAX: it was refused. */
static inline unsigned compiled_program(compiled *c, vyre_program *program) {
    for (unsigned i = 0; i < c->programs.count; i++)
        if (vyre_program_equal(c->programs.items[i], program))
            return i;
    char *text = compiled_emit(c, program);
    if (!text)
        return UINT32_MAX;
    vyre_program **slot = VY_PUSH(&c->programs);
    assert_non_null(slot);
    *slot = vyre_program_retain(program);
    const char *name = vyre_program_name(program);
    unsigned number = c->programs.count - 1;
    char *fields = paragraphs_find(text, "struct "), *prelude = paragraphs_find(text, "#if defined __FAST_MATH__");
    char *functions = paragraphs_find(text, "/* ---- operations ---- */\n\n");
    char *body = paragraphs_find(text, "/* ---- the program ---- */\n\n"), *end = NULL;
    for (char *at = body; (at = strstr(at, "#if defined __GNUC__\n#pragma GCC diagnostic pop")); at++)
        end = at;
    assert_non_null(end);
    if (number == 0) {
        vy_string_add(&c->functions, "#include <stdbool.h>\n#include <stdint.h>\n");
        vy_string_append(&c->functions, prelude, (size_t)(functions - prelude));
        vy_string_add(&c->functions, compiled_head);
    }
    paragraphs_share(&c->shared, &c->functions, functions + strlen("/* ---- operations ---- */\n\n"), body);
    paragraphs_rename(&c->text, fields, paragraphs_find(text, "\n#ifndef VYRE_DECLARATIONS"), name, number);
    char *ends = strstr(body, "enum { ENDED");
    if (ends)
        memset(ends, ' ', strcspn(ends, "\n"));
    paragraphs_rename(&c->text, body, end, name, number);
    compiled_wrap(c, program, text, number);
    free(text);
    return number;
}

/* ---- running ---- */

static inline void compiled_differ(const compiled_case *given, const char *compiler, const char *format, ...)
    VY_PRINTF(3, 4);
static inline void compiled_differ(const compiled_case *given, const char *compiler, const char *format, ...) {
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    printf("%s, compiled by `%s`: %s\n", given->name, compiler, what);
    conform_show(vyre_case_program(given->given));
    mkdir("campaign-failures", 0777);
    write_case(given->given, "campaign-failures/emit-c");
    fail_msg("%s: emitted C and the oracle differ: %s", given->name, what);
}

/* Buffers end at a guard page. */
static inline void compiled_judge(const compiled_case *given, const char *compiler, compiled_call *call) {
    static vy_resolved_dispatch launch;
    static guarded memory[VY_LIMIT_BUFFERS];
    static void *buffers[VY_LIMIT_BUFFERS];
    static uint64_t counts[VY_LIMIT_BUFFERS];
    vyre_program *program = vyre_case_program(given->given);
    uint64_t trap[2] = {0, 0};
    vyre_buffer_info buffer;
    size_t count = 0, output = 0;
    assert_int_equal(vy_resolve_dispatch(program, vyre_case_arguments(given->given), &launch, NULL), VYRE_OK);
    for (; vyre_program_buffer(program, count, &buffer); count++) {
        memory[count] = guarded_make(launch.buffers[count].bytes, 1);
        buffers[count] = memory[count].data;
        counts[count] = launch.buffers[count].count;
        if (launch.buffers[count].data)
            memcpy(buffers[count], launch.buffers[count].data, launch.buffers[count].bytes);
        else if (launch.buffers[count].bytes)
            memset(buffers[count], CONFORM_MARK, launch.buffers[count].bytes);
    }
    int status = call(buffers, counts, launch.params, launch.groups, trap);
    if (given->expected.status == VYRE_TRAPPED) {
        if (status != 1 || trap[0] != given->expected.trap.invocation || trap[1] != given->expected.trap.code)
            compiled_differ(given, compiler,
                            "it gives %d, invocation %llu, code %llu; expected is a trap of %llu with %u", status,
                            (unsigned long long)trap[0], (unsigned long long)trap[1],
                            (unsigned long long)given->expected.trap.invocation, given->expected.trap.code);
    } else if (status != 0) {
        compiled_differ(given, compiler, "it gives %d, trap of %llu with %llu", status, (unsigned long long)trap[0],
                        (unsigned long long)trap[1]);
    } else {
        for (size_t i = 0; i < count; i++) {
            if (launch.buffers[i].output == VY_NONE)
                continue;
            const vyre_bytes *want = &given->expected.outputs[output++];
            assert_int_equal(want->size, launch.buffers[i].bytes);
            for (size_t k = 0; k < want->size; k++)
                if (((const uint8_t *)want->data)[k] != ((const uint8_t *)buffers[i])[k])
                    compiled_differ(given, compiler, "byte %zu of buffer %zu is %02x instead of %02x", k, i,
                                    ((const uint8_t *)buffers[i])[k], ((const uint8_t *)want->data)[k]);
        }
    }
    for (size_t i = 0; i < count; i++)
        guarded_free(&memory[i]);
}

static inline void compiled_file(const compiled *c, const char *path) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_false(c->functions.failed || c->text.failed);
    fwrite(c->functions.text, 1, c->functions.length, file);
    fwrite(c->text.text, 1, c->text.length, file);
    assert_int_equal(fclose(file), 0);
}

static inline void compiled_with(compiled *c, const char *compiler, const char *folder) {
    char source[256], object[256], command[1024];
    snprintf(source, sizeof source, "%s/emitted.c", folder);
    snprintf(object, sizeof object, "%s/emitted.so", folder);
    snprintf(command, sizeof command, "%s -Wall -Wextra -Werror -fPIC -shared -o %s %s -lm 2>&1", compiler, object,
             source);
    if (system(command) != 0) {
        snprintf(command, sizeof command, "mkdir -p campaign-failures && cp %s campaign-failures/emitted.c", source);
        if (system(command) != 0)
            printf("not kept\n");
        fail_msg("`%s` does not compile campaign-failures/emitted.c", compiler);
    }
    void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail_msg("%s", dlerror());
    for (size_t i = 0; i < c->cases.count; i++) {
        snprintf(command, sizeof command, "p%u_call", c->cases.items[i].program);
        compiled_call *call = (compiled_call *)(uintptr_t)dlsym(handle, command);
        assert_non_null(call);
        compiled_judge(&c->cases.items[i], compiler, call);
    }
    dlclose(handle);
    unlink(object);
}

static inline void compiled_clear(compiled *c) {
    for (size_t i = 0; i < c->cases.count; i++) {
        vyre_case_free(c->cases.items[i].given);
        for (size_t k = 0; k < CONFORM_BUFFERS; k++)
            vyre_bytes_free(&c->cases.items[i].expected.outputs[k]);
    }
    for (size_t i = 0; i < c->programs.count; i++)
        vyre_program_release(c->programs.items[i]);
    for (size_t k = 0; k < CONFORM_BUFFERS; k++)
        vyre_bytes_free(&c->oracle.expected.outputs[k]);
    VY_VECTOR_FREE(&c->cases);
    VY_VECTOR_FREE(&c->programs);
    vy_string_free(&c->text);
    vy_string_free(&c->functions);
    paragraphs_free(&c->shared);
}

static inline void compiled_run(compiled *c) {
    char folder[] = "/tmp/vyre-test-XXXXXX", source[64];
    unsigned first = 0, count = 0;
    while (c->compilers[count])
        count++;
    if (c->cases.count) {
        assert_non_null(mkdtemp(folder));
        snprintf(source, sizeof source, "%s/emitted.c", folder);
        compiled_file(c, source);
        first = c->in_turns ? c->batches++ % count : 0;
        for (unsigned i = 0; i < (c->in_turns ? 1 : count); i++)
            if (compiled_has(c->compilers[first + i]))
                compiled_with(c, c->compilers[first + i], folder);
            else
                printf("note: no `%s`: not tried\n", c->compilers[first + i]);
        unlink(source);
        rmdir(folder);
    }
    compiled_clear(c);
}

/* 1 if the oracle says what the case gives; it is judged by the next compiled_run, at the latest when the batch is
 * full. */
static inline int compiled_add(compiled *c, const char *name, vyre_program *program, const vyre_arguments *arguments) {
    if (!conform_expect(&c->oracle, program, arguments))
        return 0;
    unsigned number = compiled_program(c, program);
    c->refused += number == UINT32_MAX;
    if (number == UINT32_MAX)
        return 1;
    c->judged++;
    c->trapped += c->oracle.expected.status == VYRE_TRAPPED;
    compiled_case *made = VY_PUSH(&c->cases);
    assert_non_null(made);
    made->program = number;
    made->expected = c->oracle.expected;
    memset(&c->oracle.expected, 0, sizeof c->oracle.expected); /* moved */
    snprintf(made->name, sizeof made->name, "%s", name);
    assert_int_equal(vyre_case_new(program, arguments, &made->given, NULL), VYRE_OK);
    if (c->limit && c->cases.count >= c->limit)
        compiled_run(c);
    return 1;
}

#endif
