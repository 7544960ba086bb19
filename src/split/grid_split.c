/* The grid split (grid_split.h): the plan, then the segments. */
#include "split/grid_split_plan.h"

#include <inttypes.h>

vyre_status vy_plan_array(vy_split_plan *plan, size_t count, size_t size, void *array, vyre_error *error) {
    void *memory = vy_arena_allocate(&plan->arena, vy_array_size(count, size));
    if (!memory)
        return vy_fail_memory(error, "the plan of a split");
    memcpy(array, &memory, sizeof memory); /* some T **; no pointer type can alias them all */
    return VYRE_OK;
}

static vyre_status make_plan(vy_split_plan *plan, const vyre_program *program, vyre_error *error) {
    vyre_status status = vy_plan_canonical(program, &plan->program, error);
    vyre_status (*const parts[])(vy_split_plan *, vyre_error *) = {vy_plan_liveness, vy_plan_uniform, vy_plan_slice,
                                                                   vy_plan_spill_slots};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == VYRE_OK; i++)
        status = parts[i](plan, error);
    return status;
}

static void add_buffer(vy_split *split, vy_split_buffer buffer) {
    split->buffers[split->buffer_count++] = buffer;
}

static vyre_status list_buffers(vy_split *split, vyre_error *error) {
    static const vyre_type types[VY_WIDTHS] = {VYRE_TYPE_U8, VYRE_TYPE_U16, VYRE_TYPE_U32, VYRE_TYPE_U64};
    const vy_split_plan *plan = split->plan;
    for (int w = 0; w < VY_WIDTHS; w++)
        if (plan->per_invocation[w] || plan->per_group[w])
            add_buffer(split, (vy_split_buffer){types[w], plan->per_invocation[w], plan->per_group[w], 0});
    split->decision = VY_NONE;
    if (!plan->is_host_driven) {
        split->decision = split->buffer_count;
        add_buffer(split, (vy_split_buffer){VYRE_TYPE_U32, 0, 0, 1});
    }
    split->param_count = plan->host_param_count;
    uint32_t declared = plan->program->buffer_count;
    if (declared + split->buffer_count > VY_LIMIT_BUFFERS)
        return vy_fail(error, VYRE_LIMIT, VY_FIX("declare at most %u buffers", VY_LIMIT_BUFFERS - split->buffer_count),
                       "`%s` has %u buffers and its grid barriers need %u more, over the limit (%d)",
                       vyre_program_name(plan->program), declared, split->buffer_count, VY_LIMIT_BUFFERS);
    return VYRE_OK;
}

/* A segment of a valid program can only break a limit: what it adds to the program is correct. */
static vyre_status explain(const vy_split *split, vyre_status status, vyre_error *error) {
    if (status != VYRE_INVALID_PROGRAM)
        return status;
    char reason[sizeof error->message] = "";
    if (error)
        memcpy(reason, error->message, sizeof reason);
    return vy_fail(error, VYRE_LIMIT, "move grid_barrier to the top level, or make the program smaller",
                   "`%s` cannot be split at its grid barriers: %s", vyre_program_name(split->plan->program), reason);
}

static vyre_status make_segments(vy_split *split, vyre_error *error) {
    vy_split_plan *plan = split->plan;
    vyre_status status = list_buffers(split, error);
    uint64_t total = 0;
    if (status == VYRE_OK)
        status = vy_plan_array(plan, (size_t)plan->barrier_count + 1, sizeof *split->segments, &split->segments, error);
    for (uint32_t i = 0; i <= plan->barrier_count && status == VYRE_OK; i++) {
        status = explain(split, vy_segment_make(split, i ? i - 1 : VY_NONE, &split->segments[i], error), error);
        if (status != VYRE_OK)
            break;
        split->segment_count = i + 1;
        total += split->segments[i]->stmts.count;
        if (total > VY_LIMIT_STATEMENTS)
            status = vy_fail(error, VYRE_LIMIT, "move grid_barrier out of large loops",
                             "the segments of `%s` have more statements than the limit (%d)",
                             vyre_program_name(plan->program), VY_LIMIT_STATEMENTS);
    }
    return status;
}

vyre_status vy_grid_split(const vyre_program *program, vy_split **out, vyre_error *error) {
    *out = NULL;
    if (!vy_program_entry(program))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "split a `program`, not a file of functions",
                       "a library has no entry to split");
    vy_split *split = vy_allocate_zero(sizeof *split);
    vy_split_plan *plan = vy_allocate_zero(sizeof *plan);
    vyre_status status = VYRE_NO_MEMORY;
    if (split && plan) {
        split->plan = plan;
        status = make_plan(plan, program, error);
        if (status == VYRE_OK)
            status = make_segments(split, error);
    } else {
        vy_fail_memory(error, "a split");
        vy_release(plan, sizeof *plan);
    }
    if (status == VYRE_OK)
        *out = split;
    else
        vy_split_free(split);
    return status;
}

void vy_split_free(vy_split *split) {
    if (!split)
        return;
    for (uint32_t i = 0; i < split->segment_count; i++)
        vyre_program_release(split->segments[i]);
    if (split->plan) {
        vyre_program_release(split->plan->program);
        vy_arena_free(&split->plan->arena);
        vy_release(split->plan, sizeof *split->plan);
    }
    vy_release(split, sizeof *split);
}

vyre_status vy_split_elements(const vy_split *split, const vy_resolved_dispatch *launch,
                              uint64_t elements[VY_SPLIT_BUFFERS], vyre_error *error) {
    for (uint32_t i = 0; i < split->buffer_count; i++) {
        const vy_split_buffer *buffer = &split->buffers[i];
        uint64_t invocations, groups;
        int over = __builtin_mul_overflow(launch->invocations, (uint64_t)buffer->per_invocation, &invocations);
        over |= __builtin_mul_overflow(launch->group_count, (uint64_t)buffer->per_group, &groups);
        over |= __builtin_add_overflow(invocations, groups, &elements[i]);
        over |= __builtin_add_overflow(elements[i], (uint64_t)buffer->fixed, &elements[i]);
        if (over || elements[i] > UINT32_MAX)
            return vy_fail(
                error, VYRE_LIMIT, "dispatch fewer workgroups, or keep less alive over grid barriers",
                "the grid barriers of `%s` keep %u %s elements for each of %" PRIu64
                " invocations and %u for each of %" PRIu64 " workgroups, over the limit of a buffer (%" PRIu32 ")",
                vyre_program_name(split->plan->program), buffer->per_invocation, vyre_type_name(buffer->type),
                launch->invocations, buffer->per_group, launch->group_count, UINT32_MAX);
    }
    return VYRE_OK;
}
