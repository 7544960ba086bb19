/* Linking of programs for a backend: the bodies of ops, or the code of dialects for the target that the backend
 * compiles (`code_target`).
 *
 * Code is compared with the body on the backend before a program uses it: a trial (dialect/lowering_trial.h) is
 * compiled, dispatched and checked, once per process and backend. A program whose code returns other results than the
 * body is refused; code that the backend cannot compile is not used. */
#include "driver/op_code.h"

#include "base/status.h"
#include "dialect/load.h"
#include "dialect/lowering_trial.h"
#include "driver/backend.h"
#include "driver/pipeline.h"

#include <inttypes.h>
#include <stdio.h>

static vyre_status run_trial(const vy_lowering_trial *trial, vyre_pipeline *pipeline, vyre_outputs *outputs,
                             vyre_error *error) {
    vyre_span inputs[VY_LOWERING_LIMIT_OPERANDS];
    uint64_t counts[VY_LOWERING_LIMIT_OPERANDS];
    for (uint32_t k = 0; k < trial->op->input_count; k++)
        inputs[k] = (vyre_span){trial->inputs[k].data, trial->inputs[k].size};
    for (uint32_t k = 0; k < trial->op->output_count; k++)
        counts[k] = trial->rows;
    const vyre_arguments arguments = {.inputs = inputs,
                                      .input_count = trial->op->input_count,
                                      .counts = counts,
                                      .count_count = trial->op->output_count};
    vyre_status status = vyre_pipeline_dispatch(pipeline, &arguments, NULL, outputs, NULL, error);
    return status == VYRE_OK ? vy_lowering_trial_judge(trial, outputs->items, error) : status;
}

static vyre_status try_on(vyre_backend *backend, vy_lowering_trial *trial, vyre_target target, vyre_error *error) {
    const vy_lowering_policy policy = {vy_lowering_trial_use, trial};
    vyre_program *lowered = NULL;
    vyre_pipeline *pipeline = NULL;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_status status = vy_lowering_trial_fill(trial, error);
    if (status == VYRE_OK)
        status = vy_program_lower_ops(trial->program, target, &policy, &lowered, error);
    if (status == VYRE_OK)
        status = vyre_compile(backend, lowered, NULL, &pipeline, error);
    if (status == VYRE_OK)
        status = run_trial(trial, pipeline, &outputs, error);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    vyre_program_release(lowered);
    return status;
}

static vyre_status use_tried(void *user, vyre_dialects_guard guard, const vyre_op_definition *op,
                             const vyre_lowering *lowering, int *is_usable, vyre_error *error) {
    vyre_backend *backend = user;
    char where[VY_BACKEND_ID + 32];
    vy_lowering_trial trial;
    snprintf(where, sizeof where, "%s %" PRIu64, backend->id, backend->owner);
    *is_usable = 1;
    if (vy_lowering_is_known(guard, op, lowering, where))
        return VYRE_OK;
    vyre_status status = vy_lowering_trial_open(guard, op, lowering, where, &trial, error);
    if (status != VYRE_OK)
        return status;
    if (!vy_lowering_trial_is_known(&trial))
        status = try_on(backend, &trial, vy_lowering_target(lowering), error);
    if (status == VYRE_OK) {
        vy_lowering_trial_remember(&trial);
        vy_lowering_remember(guard, op, lowering, where);
    }
    vy_lowering_trial_close(&trial);
    *is_usable = status == VYRE_OK;
    return status == VYRE_UNSUPPORTED || status == VYRE_LIMIT ? VYRE_OK : status;
}

vyre_target vy_backend_query_code_target(const vyre_backend *backend) {
    const char *name = backend->calls.code_target ? backend->calls.code_target(backend->self) : NULL;
    vyre_target target;
    if (!name || vyre_target_parse(name, strlen(name), &target, NULL) != VYRE_OK || !vy_lowering_has_language(target))
        return VYRE_TARGET_COUNT;
    return target;
}

int vy_backend_must_resolve(const vyre_backend *backend, const vyre_program *program) {
    const int may_have_code = program->keepalive && backend->code_target != VYRE_TARGET_COUNT;
    return (program->facts & VY_PROGRAM_HAS_OP_CALL) || may_have_code;
}

vyre_status vy_backend_resolve(vyre_backend *backend, vyre_program *program, vyre_program **out, vyre_error *error) {
    const vy_lowering_policy policy = {use_tried, backend};
    vyre_program *resolved;
    vyre_status status = vy_program_resolve_newest(program, &resolved, error);
    *out = resolved;
    if (status != VYRE_OK || backend->code_target == VYRE_TARGET_COUNT)
        return status;
    status = vy_program_lower_ops(resolved, backend->code_target, &policy, out, error);
    vyre_program_release(resolved);
    return status;
}
