/* Runs a program twice, directly by the oracle and as the launches of its split, and compares all that can be seen:
 * status, trap, output bytes and prints. It does what the driver's boundary has to do, with the oracle as the device.
 * */
#ifndef VY_TESTS_SPLIT_SPLIT_RUNNER_H
#define VY_TESTS_SPLIT_SPLIT_RUNNER_H

#include "support/test.h"

#include "ir/dispatch_resolve.h"
#include "split/grid_split.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

enum { RUNNER_BUFFERS = 64, RUNNER_PRINTS = 1 << 14 };

/* What a run delivers. */
typedef struct runner_result {
    vyre_status status;
    vyre_trap trap;
    vyre_bytes outputs[RUNNER_BUFFERS];
    char prints[RUNNER_PRINTS];
    uint32_t launches;
    uint64_t launched; /* bit set of segments */
    vyre_error error;
} runner_result;

static inline void runner_free(runner_result *result) {
    for (int i = 0; i < RUNNER_BUFFERS; i++)
        vyre_bytes_free(&result->outputs[i]);
}

static inline void runner_print(void *user, uint64_t invocation, const char *text) {
    runner_result *result = user;
    size_t used = strlen(result->prints);
    snprintf(result->prints + used, sizeof result->prints - used, "%llu:%s\n", (unsigned long long)invocation, text);
}

static inline vyre_oracle_options runner_options(vyre_oracle_options options, runner_result *result) {
    options.print = runner_print;
    options.print_user = result;
    options.threads = 1;
    return options;
}

static inline void runner_direct(vyre_program *program, const vyre_arguments *arguments, vyre_oracle_options options,
                                 runner_result *result) {
    vyre_oracle *oracle = NULL;
    vyre_oracle_report report = {0};
    memset(result, 0, sizeof *result);
    options = runner_options(options, result);
    result->status = vyre_oracle_new(program, &oracle, &result->error);
    if (result->status == VYRE_OK)
        result->status = vyre_oracle_run(oracle, arguments, &options, result->outputs, &report, NULL, &result->error);
    result->trap = report.trap;
    vyre_oracle_free(oracle);
}

/* ---- the split ---- */

typedef struct runner_state {
    const vy_split *split;
    vy_resolved_dispatch launch;
    vyre_bytes buffers[RUNNER_BUFFERS]; /* of the program, then the hidden ones */
    uint32_t buffer_count;
    vyre_scalar params[VY_LIMIT_PARAMS];
    uint32_t param_count;
} runner_state;

static inline vyre_status runner_bind(runner_state *state, vyre_program *program, vyre_error *error) {
    uint64_t elements[VY_SPLIT_BUFFERS];
    vyre_status status = vy_split_elements(state->split, &state->launch, elements, error);
    for (uint32_t i = 0; i < program->buffer_count && status == VYRE_OK; i++) {
        const vy_resolved_buffer *buffer = &state->launch.buffers[i];
        status = vyre_bytes_resize(&state->buffers[i], buffer->bytes, error);
        if (status == VYRE_OK && buffer->data)
            memcpy(state->buffers[i].data, buffer->data, buffer->bytes);
    }
    for (uint32_t i = 0; i < state->split->buffer_count && status == VYRE_OK; i++)
        status = vyre_bytes_resize(&state->buffers[program->buffer_count + i],
                                   elements[i] * vyre_type_size(state->split->buffers[i].type), error);
    state->buffer_count = program->buffer_count + state->split->buffer_count;
    return status;
}

/* One launch: every buffer is an input, the writable ones come back. */
static inline vyre_status runner_launch(runner_state *state, const vy_split_step *step,
                                        const vyre_oracle_options *options, vyre_oracle_report *report,
                                        vyre_error *error) {
    vyre_program *segment = state->split->segments[step->segment];
    vyre_span inputs[RUNNER_BUFFERS];
    vyre_bytes outputs[RUNNER_BUFFERS] = {{0}};
    vyre_oracle *oracle;
    uint32_t output = 0;
    for (uint32_t i = 0; i < state->buffer_count; i++)
        inputs[i] = (vyre_span){state->buffers[i].data, state->buffers[i].size};
    for (uint32_t i = 0; i < state->split->param_count; i++)
        state->params[state->param_count + i] = step->params[i];
    vyre_arguments arguments = {.params = state->params,
                                .param_count = state->param_count + state->split->param_count,
                                .inputs = inputs,
                                .input_count = state->buffer_count,
                                .geometry = {VYRE_GEOMETRY_GROUPS, {0}}};
    memcpy(arguments.geometry.size, state->launch.groups, sizeof state->launch.groups);
    assert_int_equal(vyre_program_input_count(segment), state->buffer_count);
    vyre_status status = vyre_oracle_new(segment, &oracle, error);
    if (status == VYRE_OK) {
        status = vyre_oracle_run(oracle, &arguments, options, outputs, report, NULL, error);
        vyre_oracle_free(oracle);
    }
    for (uint32_t i = 0; i < state->buffer_count; i++) {
        vyre_buffer_info info;
        vyre_program_buffer(segment, i, &info);
        if (info.access != VYRE_ACCESS_READ_WRITE)
            continue;
        if (status == VYRE_OK && outputs[output].size)
            memcpy(state->buffers[i].data, outputs[output].data, outputs[output].size);
        vyre_bytes_free(&outputs[output++]);
    }
    return status;
}

static inline vyre_status runner_loop(runner_state *state, const vyre_oracle_options *options, runner_result *result) {
    const vy_split *split = state->split;
    vy_split_cursor *cursor;
    vy_split_step step;
    vyre_oracle_report report = {0};
    uint32_t decision = 0;
    vyre_status status = vy_split_start(split, &state->launch, &cursor, &result->error);
    while (status == VYRE_OK && (status = vy_split_next(cursor, decision, &step, &result->error)) == VYRE_OK &&
           !step.is_done) {
        result->launches++;
        result->launched |= UINT64_C(1) << (step.segment & 63);
        status = runner_launch(state, &step, options, &report, &result->error);
        if (split->decision != VY_NONE)
            memcpy(&decision, state->buffers[state->buffer_count - split->buffer_count + split->decision].data,
                   sizeof decision);
    }
    result->trap = report.trap;
    vy_split_free_cursor(cursor);
    return status;
}

static inline void runner_split(vyre_program *program, const vy_split *split, const vyre_arguments *arguments,
                                vyre_oracle_options options, runner_result *result) {
    static runner_state state;
    memset(&state, 0, sizeof state);
    memset(result, 0, sizeof *result);
    state.split = split;
    state.param_count = program->param_count;
    if (program->param_count)
        memcpy(state.params, arguments->params, program->param_count * sizeof *state.params);
    options = runner_options(options, result);
    result->status = vy_resolve_dispatch(program, arguments, &state.launch, &result->error);
    if (result->status == VYRE_OK)
        result->status = runner_bind(&state, program, &result->error);
    if (result->status == VYRE_OK)
        result->status = runner_loop(&state, &options, result);
    for (uint32_t i = 0; i < program->buffer_count && result->status == VYRE_OK; i++)
        if (state.launch.buffers[i].output != VY_NONE) {
            result->outputs[state.launch.buffers[i].output] = state.buffers[i];
            state.buffers[i] = (vyre_bytes)VYRE_BYTES_INIT;
        }
    for (uint32_t i = 0; i < RUNNER_BUFFERS; i++)
        vyre_bytes_free(&state.buffers[i]);
}

/* ---- comparing ---- */

static inline void runner_show(const char *title, const vyre_program *program) {
    vyre_bytes text = VYRE_BYTES_INIT;
    if (vyre_text_print(program, &text, NULL) == VYRE_OK)
        printf("---- %s ----\n%.*s", title, (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
}

static inline void runner_show_all(const vyre_program *program, const vy_split *split) {
    char title[32];
    runner_show("program", program);
    for (uint32_t i = 0; split && i < split->segment_count; i++) {
        snprintf(title, sizeof title, "segment %u", i);
        runner_show(title, split->segments[i]);
    }
}

/* What differs, or NULL. */
static inline const char *runner_compare(const vyre_program *program, const runner_result *direct,
                                         const runner_result *split) {
    static char text[2048];
    if (direct->status != split->status) {
        snprintf(text, sizeof text, "status %s directly (%s), %s split (%s)", vyre_status_name(direct->status),
                 direct->status ? direct->error.message : "", vyre_status_name(split->status),
                 split->status ? split->error.message : "");
        return text;
    }
    if (strcmp(direct->prints, split->prints) != 0) {
        snprintf(text, sizeof text, "prints differ:\n%.500s----\n%.500s", direct->prints, split->prints);
        return text;
    }
    if (direct->status == VYRE_TRAPPED &&
        (direct->trap.invocation != split->trap.invocation || direct->trap.code != split->trap.code)) {
        snprintf(text, sizeof text, "trap %u of invocation %llu directly, %u of %llu split", direct->trap.code,
                 (unsigned long long)direct->trap.invocation, split->trap.code,
                 (unsigned long long)split->trap.invocation);
        return text;
    }
    for (size_t i = 0; direct->status == VYRE_OK && i < vyre_program_output_count(program); i++) {
        const vyre_bytes *a = &direct->outputs[i], *b = &split->outputs[i];
        size_t at = 0;
        if (a->size != b->size) {
            snprintf(text, sizeof text, "output %zu has %zu bytes directly, %zu split", i, a->size, b->size);
            return text;
        }
        while (at < a->size && ((const uint8_t *)a->data)[at] == ((const uint8_t *)b->data)[at])
            at++;
        if (at < a->size) {
            snprintf(text, sizeof text, "output %zu differs from byte %zu of %zu on: %02x directly, %02x split", i, at,
                     a->size, ((const uint8_t *)a->data)[at], ((const uint8_t *)b->data)[at]);
            return text;
        }
    }
    return NULL;
}

#endif
