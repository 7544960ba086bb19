/* Several programs as one text of OpenCL C: program i is the kernel pI_kernel. Functions of ops are there once. */
#ifndef VY_TESTS_EMIT_OPENCL_JOINED_H
#define VY_TESTS_EMIT_OPENCL_JOINED_H

#include "emit/paragraphs.h"

#include "compile/pipeline.h"
#include "emit/opencl/opencl.h"

typedef struct joined_program {
    vyre_program *program;
    vy_opencl_code code;
} joined_program;

typedef struct joined {
    vy_opencl_device target;
    int cancellable, is_plain; /* is_plain: not optimised */
    VY_VECTOR(joined_program) programs;
    vy_string text;
    paragraphs functions;
} joined;

static inline vyre_status joined_emit(const joined *j, vyre_program *program, vy_opencl_code *code, vyre_error *error) {
    vy_target_desc target = vy_opencl_target(&j->target, program, j->cancellable);
    vy_compiled compiled = {.program = NULL};
    target.optimise = j->is_plain ? 0 : target.optimise;
    vyre_status status = vy_opencl_check(program, &j->target, error);
    if (status == VYRE_OK)
        status = vy_compile_pipeline(program, &target, NULL, &compiled, error);
    if (status == VYRE_OK)
        status = vy_opencl_emit(compiled.program, &j->target, code, error);
    vyre_program_release(compiled.program);
    return status;
}

/* The number of a program in the batch; UINT_MAX: it was refused. */
static inline unsigned joined_add(joined *j, vyre_program *program) {
    vyre_error error = VYRE_ERROR_INIT;
    for (unsigned i = 0; i < j->programs.count; i++)
        if (vyre_program_equal(j->programs.items[i].program, program))
            return i;
    joined_program *made = VY_PUSH(&j->programs);
    assert_non_null(made);
    memset(made, 0, sizeof *made);
    if (joined_emit(j, program, &made->code, &error) != VYRE_OK) {
        printf("REFUSED %s: %s\n", vyre_program_name(program), error.message);
        j->programs.count--;
        return UINT32_MAX;
    }
    made->program = vyre_program_retain(program);
    static const char operations[] = "/* ---- operations ---- */\n\n", own[] = "/* ---- the program ---- */\n\n";
    vyre_bytes *bytes = &made->code.text;
    assert_int_equal(vyre_bytes_resize(bytes, bytes->size + 1, NULL), VYRE_OK);
    char *text = (char *)bytes->data;
    text[bytes->size - 1] = 0;
    char *functions = paragraphs_find(text, operations), *body = paragraphs_find(text, own);
    const char *pragmas = paragraphs_find(text, "#pragma OPENCL");
    vy_string_append(&j->text, pragmas, (size_t)(functions - pragmas));
    paragraphs_share(&j->functions, &j->text, functions + strlen(operations), body);
    paragraphs_rename(&j->text, body + strlen(own), text + bytes->size - 1, vyre_program_name(program),
                      j->programs.count - 1);
    return j->programs.count - 1;
}

/* The latest standard that any of the programs needs. */
static inline const char *joined_standard(const joined *j) {
    const char *standard = "-cl-std=CL1.2";
    for (size_t i = 0; i < j->programs.count; i++)
        if (strcmp(j->programs.items[i].code.standard, standard) > 0)
            standard = j->programs.items[i].code.standard;
    return standard;
}

/* Keeps the target. */
static inline void joined_clear(joined *j) {
    for (size_t i = 0; i < j->programs.count; i++) {
        vy_opencl_free(&j->programs.items[i].code);
        vyre_program_release(j->programs.items[i].program);
    }
    VY_VECTOR_FREE(&j->programs);
    vy_string_free(&j->text);
    paragraphs_free(&j->functions);
}

#endif
