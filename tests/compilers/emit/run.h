/* Runs compiled code on memory that ends, and begins, at a page that nobody may touch: a lane that does not execute
 * and still loads is found. */
#ifndef VY_TESTS_COMPILERS_EMIT_RUN_H
#define VY_TESTS_COMPILERS_EMIT_RUN_H

#include "compilers/code.h"

#include "compile/pipeline.h"
#include "compilers/llvm/llvm_session.h"
#include "opt/pass_manager.h"
#include "opt/policies.h"
#include "support/guarded.h"
#include "vyre/transform.h"

#include <llvm-c/Analysis.h>

/* Memory of the frame is aligned; what is behind it is a guard to within that. */
static inline guarded frame_memory(uint64_t bytes) {
    return guarded_make(vy_cpu_align(bytes), 1);
}

/* The word that stops a run, and whether a run was stopped. */
static uint32_t run_cancel;
static int run_stopped;
/* An element of the last buffer, of words, that also stops a run for which it is chosen: the program stops itself.
 * VY_NONE: programs are run to their end. */
static uint32_t run_stop_at = VY_NONE;
static int run_stops_itself;

/* Calls the code for the whole grid, in two halves, the later one first. */
static inline void outcome_guarded(const code *code, const vyre_arguments *arguments, int at_end, outcome *out) {
    static vy_resolved_dispatch launch;
    static guarded memory[VY_LIMIT_BUFFERS];
    vy_cpu_buffer buffers[VY_LIMIT_BUFFERS];
    const uint32_t never = 0, *stop = &never;
    const vyre_program *program = code->legal;
    memset(out, 0, sizeof *out);
    out->status = vy_resolve_dispatch(program, arguments, &launch, &out->error);
    if (out->status != VYRE_OK)
        return;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        vyre_buffer_info info;
        vyre_program_buffer(program, i, &info);
        memory[i] = guarded_make(launch.buffers[i].bytes, at_end);
        buffers[i] = (vy_cpu_buffer){memory[i].data, (uint32_t)launch.buffers[i].count,
                                     (uint32_t)((uintptr_t)memory[i].data % 16 / vyre_type_size(info.type))};
        if (launch.buffers[i].data && launch.buffers[i].bytes)
            memcpy(memory[i].data, launch.buffers[i].data, launch.buffers[i].bytes);
        else
            memset(memory[i].data, 0, launch.buffers[i].bytes);
    }
    if (run_stops_itself)
        stop = (const uint32_t *)(const void *)memory[program->buffer_count - 1].data + run_stop_at;
    guarded workgroup = frame_memory(code->object.header.workgroup_bytes),
            spill = frame_memory(code->object.header.spill_bytes);
    vy_cpu_frame frame = {.buffers = buffers,
                          .params = launch.params,
                          .workgroup = workgroup.data,
                          .spill = spill.data,
                          .cancel = &run_cancel,
                          .stop = stop,
                          .trap_invocation = UINT64_MAX,
                          .groups = {launch.groups[0], launch.groups[1], launch.groups[2]}};
    code_call(code, &frame, launch.group_count, 1);
    code_call(code, &frame, launch.group_count, 0);
    run_stopped = (int)frame.stopped;
    out->status = frame.trap_invocation != UINT64_MAX ? VYRE_TRAPPED : VYRE_OK;
    out->trap = (vyre_trap){frame.trap_invocation, frame.trap_code};
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        uint32_t output = launch.buffers[i].output;
        if (output != VY_NONE && output < CODE_OUTPUTS && out->status == VYRE_OK) {
            assert_int_equal(vyre_bytes_resize(&out->outputs[output], launch.buffers[i].bytes, NULL), VYRE_OK);
            if (launch.buffers[i].bytes)
                memcpy(out->outputs[output].data, memory[i].data, launch.buffers[i].bytes);
        }
        guarded_free(&memory[i]);
    }
    guarded_free(&workgroup);
    guarded_free(&spill);
}

/* As the backend does it: optimised or not, that it can be stopped or not, for one of the processors. */
typedef struct manner {
    const processor *processor;
    uint8_t optimised, cancellable;
} manner;

static inline vyre_status manner_lower(vyre_program *program, const manner *m, code *out, vyre_error *error) {
    const vy_target_desc target = {.exact = vy_cpu_numerics(vy_cpu_features() & m->processor->features),
                                   .native_collectives = 1,
                                   .cancellable = m->cancellable};
    vyre_program *better = NULL;
    vyre_status status = VYRE_OK;
    if (m->optimised)
        status = vy_optimize_by(program, &(vyre_optimize_options){.level = 2}, opt_policy_of(POLICY_CPU), &better, NULL,
                                error);
    else
        better = vyre_program_retain(program);
    if (status == VYRE_OK)
        status = vy_legalize(better, &target, &out->legal, error);
    vyre_program_release(better);
    return status == VYRE_OK ? vyre_wire_encode(out->legal, 0, &out->wire, error) : status;
}

static inline vyre_status manner_compile(vyre_program *program, const manner *m, code *out, vyre_error *error) {
    vyre_status status = manner_lower(program, m, out, error);
    vy_jit_request request = code_request(out, m->processor);
    if (status == VYRE_OK)
        status = vy_llvm_compile(&request, &out->bytes, error);
    if (status == VYRE_OK)
        status = vy_cpu_code_object_load((vyre_span){out->bytes.data, out->bytes.size}, request.features, "kernel",
                                         &out->object, error);
    return status;
}

typedef enum verdict { SAME, UNJUDGED, DIFFERENT } verdict;

static inline vyre_status write_module(vy_llvm_session *job, void *user) {
    const vy_llvm_options options = {.width = job->width,
                                     .register_lanes = job->target.register_lanes,
                                     .errata = job->target.errata,
                                     .name = job->request->name,
                                     .gathers = (job->request->features & VY_CPU_FEATURE_AVX2) != 0};
    char *words = NULL;
    (void)user;
    vyre_status status = vy_llvm_machine_make(job);
    if (status == VYRE_OK)
        status = vy_llvm_emit(job->program, job->uniform, &options, job->module, &job->sizes, job->error);
    if (status != VYRE_OK)
        return status;
    status = vy_llvm_check(job, !LLVMVerifyModule(job->module, LLVMReturnStatusAction, &words), "take it", words);
    LLVMDisposeMessage(words);
    return status;
}

/* The program is lowered and emitted, and LLVM takes what was: nothing is refused. */
static inline verdict judge_module(vyre_program *program, const manner *m, char *why, size_t size) {
    code code = {0};
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = manner_lower(program, m, &code, &error);
    const vy_jit_request request = code_request(&code, m->processor);
    vy_llvm_session job = {.request = &request,
                           .program = code.legal,
                           .target = vy_cpu_target(request.features, 0),
                           .width = request.width,
                           .error = &error};
    if (status == VYRE_OK)
        status = vy_uniform_make_with_uniform_polls(code.legal, &job.uniform, &error);
    if (status == VYRE_OK && !job.width)
        status = vy_llvm_choose_width(code.legal, job.uniform, &job.target, &job.width, &job.narrow, &error);
    if (status == VYRE_OK)
        status = vy_llvm_session_run(&job, write_module, NULL);
    vy_uniform_free(job.uniform);
    if (status != VYRE_OK)
        snprintf(why, size, "refused: %.400s", error.message);
    code_free(&code);
    return status == VYRE_OK ? SAME : DIFFERENT;
}

/* Compares with the oracle; what takes it too long is not judged. Nothing is refused. */
static inline verdict judge(vyre_program *program, const vyre_arguments *arguments, const manner *m, char *why,
                            size_t size) {
    static outcome want, got;
    code code = {0};
    vyre_error error = VYRE_ERROR_INIT;
    verdict v = SAME;
    if (program->facts & VY_PROGRAM_HAS_GRID_BARRIER) { /* is split before it is compiled */
        snprintf(why, size, "it has a barrier of the grid");
        return UNJUDGED;
    }
    outcome_of_oracle(program, arguments, &want);
    if (want.status != VYRE_OK && want.status != VYRE_TRAPPED) {
        snprintf(why, size, "%s", want.error.message);
        v = UNJUDGED;
    } else if (manner_compile(program, m, &code, &error) != VYRE_OK) {
        snprintf(why, size, "refused: %.400s", error.message);
        v = DIFFERENT;
    }
    for (int turn = 0; turn < (m->cancellable && run_stop_at != VY_NONE ? 3 : 2) && v == SAME; turn++) {
        run_stops_itself = turn == 2;
        outcome_guarded(&code, arguments, turn & 1, &got);
        const char *text = run_stops_itself && run_stopped ? NULL : outcome_differs(&want, &got);
        run_stops_itself = 0;
        if (text) {
            snprintf(why, size, "%s", text);
            v = DIFFERENT;
        }
        outcome_free(&got);
    }
    outcome_free(&want);
    code_free(&code);
    return v;
}

/* One of many. With sanitizers every eighth is run, since neither LLVM nor the code it makes has any inside; of the
 * others the module is made, which is what ours do. Builds without run them all. */
static inline verdict judge_next(vyre_program *program, const vyre_arguments *arguments, const manner *m, char *why,
                                 size_t size) {
    static unsigned turn;
    if (VY_SANITIZED && turn++ % 8 && !(program->facts & VY_PROGRAM_HAS_GRID_BARRIER))
        return judge_module(program, m, why, size);
    return judge(program, arguments, m, why, size);
}

#endif
