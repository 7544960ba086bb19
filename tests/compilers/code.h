/* Compiles programs in this process, maps the code, calls it, and compares what it delivers with the oracle. */
#ifndef VY_TESTS_COMPILERS_CODE_H
#define VY_TESTS_COMPILERS_CODE_H

#include "support/test.h"

#include "backends/cpu/code_object.h"
#include "backends/cpu/frame_pool.h"
#include "compile/pipeline.h"
#include "compilers/llvm/compile.h"
#include "emit/llvm/kernel.h"
#include "ir/dispatch_resolve.h"
#include "vyre/oracle.h"
#include "vyre/text.h"
#include "vyre/wire.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

enum { CODE_OUTPUTS = 64, CODE_STEPS = 300000, CODE_SECONDS = 2 };

/* ---- processors ---- */

typedef struct processor {
    const char *name;
    uint32_t width;
    uint64_t features; /* wanted; tests run with those that the machine has, and only if it has `needs` */
    uint64_t needs;
} processor;

#define BASE_FEATURES (VY_CPU_FEATURE_X86_64 | VY_CPU_FEATURE_AARCH64 | VY_CPU_FEATURE_NEON | VY_CPU_FEATURE_LSE)
#define SSE_FEATURES                                                                                                   \
    (BASE_FEATURES | VY_CPU_FEATURE_SSE3 | VY_CPU_FEATURE_SSSE3 | VY_CPU_FEATURE_SSE41 | VY_CPU_FEATURE_SSE42 |        \
     VY_CPU_FEATURE_POPCNT)
#define AVX2_FEATURES                                                                                                  \
    (SSE_FEATURES | VY_CPU_FEATURE_LZCNT | VY_CPU_FEATURE_BMI | VY_CPU_FEATURE_BMI2 | VY_CPU_FEATURE_AVX |             \
     VY_CPU_FEATURE_F16C | VY_CPU_FEATURE_FMA | VY_CPU_FEATURE_AVX2)

/* Every width also on a processor that has no such registers: LLVM splits vectors then. */
static inline const processor *processor_at(unsigned index) {
    static processor list[10];
    if (!list[0].name) {
        list[0] = (processor){"4 lanes, nothing but the architecture", 4, BASE_FEATURES, 0};
        list[1] = (processor){"4 lanes, SSE4.2", 4, SSE_FEATURES, 0};
        list[2] = (processor){"8 lanes, AVX2", 8, AVX2_FEATURES, VY_CPU_FEATURE_AVX2};
        list[3] = (processor){"16 lanes, AVX-512", 16, UINT64_MAX, VY_CPU_FEATURE_AVX512F};
        list[4] = (processor){"16 lanes, SSE4.2", 16, SSE_FEATURES, 0};
        list[5] = (processor){"4 lanes, all there is", 4, UINT64_MAX, 0};
        list[6] = (processor){"32 lanes, all there is", 32, UINT64_MAX, 0};
        list[7] = (processor){"64 lanes, all there is", 64, UINT64_MAX, 0};
        list[8] = (processor){"64 lanes, SSE4.2", 64, SSE_FEATURES, 0};
        list[9] = (processor){"lanes that fit the program", 0, UINT64_MAX, 0};
    }
    return index < 10 ? &list[index] : NULL;
}

static inline int processor_is_here(const processor *p) {
    return (vy_cpu_features() & p->needs) == p->needs;
}

/* ---- compiling ---- */

typedef struct code {
    vyre_program *legal;
    vyre_bytes wire, bytes;
    vy_cpu_code_object object;
} code;

static inline void code_free(code *code) {
    vy_cpu_code_object_unload(&code->object);
    vyre_program_release(code->legal);
    vyre_bytes_free(&code->wire);
    vyre_bytes_free(&code->bytes);
    memset(code, 0, sizeof *code);
}

static inline vy_jit_request code_request(const code *code, const processor *p) {
    return (vy_jit_request){.struct_size = sizeof(vy_jit_request),
                            .width = p->width,
                            .features = vy_cpu_features() & p->features,
                            .wire = {code->wire.data, code->wire.size},
                            .name = "kernel"};
}

/* Legalises a program unless it is legal, and encodes it. */
static inline vyre_status code_lower(vyre_program *program, const processor *p, code *out, vyre_error *error) {
    const vy_target_desc target = {
        .exact = vy_cpu_numerics(vy_cpu_features() & p->features), .native_collectives = 1, .cancellable = 1};
    vyre_status status = VYRE_OK;
    if (vyre_program_level(program) == VYRE_LEVEL_LEGAL)
        out->legal = vyre_program_retain(program);
    else
        status = vy_legalize(program, &target, &out->legal, error);
    return status == VYRE_OK ? vyre_wire_encode(out->legal, 0, &out->wire, error) : status;
}

static inline vyre_status code_make(vyre_program *program, const processor *p, code *out, vyre_error *error) {
    vyre_status status = code_lower(program, p, out, error);
    vy_jit_request request = code_request(out, p);
    if (status == VYRE_OK)
        status = vy_llvm_compile(&request, &out->bytes, error);
    if (status == VYRE_OK)
        status = vy_cpu_code_object_load((vyre_span){out->bytes.data, out->bytes.size}, request.features, "kernel",
                                         &out->object, error);
    return status;
}

/* ---- running ---- */

typedef struct outcome {
    vyre_status status;
    vyre_trap trap;
    vyre_bytes outputs[CODE_OUTPUTS];
    vyre_error error;
} outcome;

static inline void outcome_free(outcome *out) {
    for (int i = 0; i < CODE_OUTPUTS; i++)
        vyre_bytes_free(&out->outputs[i]);
}

static inline void outcome_of_oracle(vyre_program *program, const vyre_arguments *arguments, outcome *out) {
    vyre_oracle_options options = {.threads = 1, .budget = CODE_STEPS};
    vyre_oracle_report report = {0};
    vyre_oracle *oracle = NULL;
    memset(out, 0, sizeof *out);
    out->status = vyre_oracle_new(program, &oracle, &out->error);
    if (out->status == VYRE_OK)
        out->status = vyre_oracle_run(oracle, arguments, &options, out->outputs, &report, NULL, &out->error);
    out->trap = report.trap;
    vyre_oracle_free(oracle);
}

static inline void *code_memory(uint64_t bytes) {
    uint64_t size = (bytes + VY_CPU_ALIGNMENT) / VY_CPU_ALIGNMENT * VY_CPU_ALIGNMENT;
    void *memory = aligned_alloc(VY_CPU_ALIGNMENT, size);
    assert_non_null(memory);
    memset(memory, 0xa5, size);
    return memory;
}

/* Set when code has run for too long: then its next poll ends it. */
static volatile uint32_t code_stop;
static inline void code_is_late(int signal) {
    (void)signal;
    code_stop = 1;
}

/* Calls the entry on a stack of its own and looks whether it went below what its header says. A signal handler may
 * have. */
static inline void code_enter(const code *code, vy_cpu_frame *frame, uint64_t first, uint64_t end) {
    enum { BELOW = 64 << 10, PAINT = 0xa5 };
    static vy_cpu_stack stack;
    static uint8_t paint[BELOW];
    uint64_t need = code->object.header.stack_bytes;
    assert_true(vy_cpu_stack_reserve(&stack, need));
    uint8_t *below = (uint8_t *)stack.map + stack.size - need - BELOW;
    memset(below, PAINT, BELOW);
    memset(paint, PAINT, BELOW);
    vy_cpu_stack_call(&stack, code->object.entry, frame, first, end);
    if (!code_stop && memcmp(below, paint, BELOW) != 0)
        fail_msg("the code uses more stack than its header says (%" PRIu64 " bytes)", need);
}

/* One half of the grid: the cut is anywhere in a workgroup that has parts. If there is code with fewer lanes, it runs
 * the first half, and the cut is between two workgroups. */
static inline void code_call(const code *code, vy_cpu_frame *frame, uint64_t groups, int half) {
    const vy_cpu_header *header = &code->object.header;
    uint64_t units = groups * header->parts, middle = header->narrow_parts ? groups / 2 * header->parts : units / 2;
    frame->is_narrow = !half && header->narrow_parts;
    if (frame->is_narrow)
        middle = groups / 2 * header->narrow_parts;
    code_enter(code, frame, half ? middle : 0, half ? units : middle);
}

/* Calls the code for the whole grid, in two halves as two workers would. */
static inline void outcome_of_code(const code *code, const vyre_arguments *arguments, outcome *out) {
    static vy_resolved_dispatch launch;
    vy_cpu_buffer buffers[VY_LIMIT_BUFFERS];
    const uint32_t never = 0;
    const vyre_program *program = code->legal;
    memset(out, 0, sizeof *out);
    out->status = vy_resolve_dispatch(program, arguments, &launch, &out->error);
    if (out->status != VYRE_OK)
        return;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        buffers[i] = (vy_cpu_buffer){code_memory(launch.buffers[i].bytes), (uint32_t)launch.buffers[i].count, 0};
        if (launch.buffers[i].data)
            memcpy(buffers[i].data, launch.buffers[i].data, launch.buffers[i].bytes);
        else
            memset(buffers[i].data, 0, launch.buffers[i].bytes);
    }
    vy_cpu_frame frame = {.buffers = buffers,
                          .params = launch.params,
                          .workgroup = code_memory(code->object.header.workgroup_bytes),
                          .spill = code_memory(code->object.header.spill_bytes),
                          .cancel = &never,
                          .stop = (const uint32_t *)&code_stop,
                          .trap_invocation = UINT64_MAX,
                          .groups = {launch.groups[0], launch.groups[1], launch.groups[2]}};
    code_stop = 0;
    signal(SIGALRM, code_is_late);
    alarm(CODE_SECONDS);
    code_call(code, &frame, launch.group_count, 1);
    frame.private_set = UINT32_MAX; /* no other thread is here: buffers are this one's own */
    code_call(code, &frame, launch.group_count, 0);
    alarm(0);
    out->status = frame.stopped ? VYRE_TIMEOUT : frame.trap_invocation != UINT64_MAX ? VYRE_TRAPPED : VYRE_OK;
    out->trap = (vyre_trap){frame.trap_invocation, frame.trap_code};
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        uint32_t output = launch.buffers[i].output;
        if (output != VY_NONE && output < CODE_OUTPUTS && out->status == VYRE_OK) {
            assert_int_equal(vyre_bytes_resize(&out->outputs[output], launch.buffers[i].bytes, NULL), VYRE_OK);
            if (launch.buffers[i].bytes)
                memcpy(out->outputs[output].data, buffers[i].data, launch.buffers[i].bytes);
        }
        free(buffers[i].data);
    }
    free(frame.workgroup);
    free(frame.spill);
}

/* What differs, or NULL. */
static inline const char *outcome_differs(const outcome *want, const outcome *got) {
    static char text[256];
    if (want->status != got->status) {
        snprintf(text, sizeof text, "status %s, must be %s", vyre_status_name(got->status),
                 vyre_status_name(want->status));
        return text;
    }
    if (want->status == VYRE_TRAPPED)
        return want->trap.invocation == got->trap.invocation && want->trap.code == got->trap.code ? NULL
                                                                                                  : "traps differ";
    for (int i = 0; i < CODE_OUTPUTS; i++) {
        const uint8_t *a = want->outputs[i].data, *b = got->outputs[i].data;
        if (want->outputs[i].size != got->outputs[i].size)
            return "sizes differ";
        for (size_t k = 0; k < want->outputs[i].size; k++)
            if (a[k] != b[k]) {
                snprintf(text, sizeof text, "output %d differs at byte %zu: %02x, must be %02x", i, k, b[k], a[k]);
                return text;
            }
    }
    return NULL;
}

/* ---- texts ---- */

static inline void code_show(const vyre_program *program) {
    vyre_bytes text = VYRE_BYTES_INIT;
    if (vyre_text_print(program, &text, NULL) == VYRE_OK)
        printf("%.*s", (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
}

#endif
