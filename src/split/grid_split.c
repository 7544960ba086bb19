/* Grid split (grid_split.h): makes the segments, and finds the launches of a dispatch. */
#include "split/grid_split.h"

#include "analysis/trip_count.h"
#include "opt/pass_manager.h"

#include <inttypes.h>

/* ---- making a split ---- */

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

/* A segment of a valid program can only exceed a limit: the added code is correct. */
static vyre_status explain(const vy_split *split, vyre_status status, vyre_error *error) {
    if (status != VYRE_INVALID_PROGRAM)
        return status;
    return vy_fail_limit(error, "move grid_barrier to the top level, or make the program smaller",
                         VY_FIX("`%s` cannot be split at its grid barriers", vyre_program_name(split->plan->program)));
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
    vy_pass_count();
    vy_split *split = vy_allocate_zero(sizeof *split);
    vy_split_plan *plan = vy_allocate_zero(sizeof *plan);
    vyre_status status = VYRE_NO_MEMORY;
    if (split && plan) {
        split->plan = plan;
        status = vy_split_plan_make(plan, program, error);
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

/* ---- the launches of a dispatch: the host interpreter ----
 *
 * If the split is driven by the host, the host runs the slice of the program that the plan marked, from one grid
 * barrier to the next: it enters marked blocks, executes marked assignments, and skips all other statements. Values
 * are bits, and ops are evaluated by the evaluator (ir/eval.h). */

/* Far above the steps that a computed number of iterations needs, and less than a second. */
enum { MOST_STEPS = 1 << 24 };

typedef struct frame {
    uint32_t stmt;
    uint32_t end;   /* of the branch or body */
    vy_trips trips; /* of a `for` */
} frame;

struct vy_split_cursor {
    const vy_split *split;
    const vyre_program *program;
    vy_resolved_dispatch launch;
    int has_started, is_done;
    uint32_t at;      /* the next statement */
    uint64_t *values; /* by host slot */
    size_t values_size;
    vyre_scalar params[VY_LIMIT_PARAMS];
    frame open[VY_LIMIT_NESTING + 1];
    uint32_t depth;
    uint32_t steps; /* since the last launch */
};

/* ---- expressions ---- */

static uint64_t length_of(const vy_split_cursor *c, uint32_t memory) {
    return memory < c->program->buffer_count ? c->launch.buffers[memory].count
                                             : vy_memory_at(c->program, memory)->elements;
}

static uint64_t builtin_of(const vy_split_cursor *c, const vy_expr *e) {
    uint32_t size = c->program->workgroup[e->axis], groups = c->launch.groups[e->axis];
    switch (e->op) {
    case VYRE_BUILTIN_WORKGROUP_SIZE:
        return size;
    case VYRE_BUILTIN_GROUP_COUNT:
        return groups;
    default:
        return size * groups;
    }
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static uint64_t evaluate(const vy_split_cursor *c, uint32_t root) {
    if (root == VY_NONE)
        return 0;
    const vy_expr *e = vy_expr_at(c->program, root);
    switch (e->kind) {
    case VY_EXPR_LITERAL:
        return e->bits;
    case VY_EXPR_VARIABLE:
        return e->a < c->program->param_count ? c->launch.params[e->a] : c->values[c->split->plan->host_slots[e->a]];
    case VY_EXPR_LEN:
        return length_of(c, e->a);
    case VY_EXPR_BUILTIN:
        return builtin_of(c, e);
    default:
        break;
    }
    const uint64_t values[3] = {evaluate(c, e->a), evaluate(c, e->b), evaluate(c, e->c)};
    return vy_op_value(c->program, e, values);
}

/* ---- blocks ---- */

static uint64_t *value_of(const vy_split_cursor *c, uint32_t variable) {
    return &c->values[c->split->plan->host_slots[variable]];
}

static void open_block(vy_split_cursor *c, uint32_t stmt, uint32_t first, uint32_t end) {
    c->open[c->depth++] = (frame){.stmt = stmt, .end = end};
    c->at = first;
}

/* Advances to the next iteration; returns 0 at the end. */
static int next_trip(const vy_split_cursor *c, const vy_stmt *s, vy_trips *trips) {
    trips->next += trips->step;
    if (!vy_trips_remain(trips))
        return 0;
    *value_of(c, s->variable) =
        (uint64_t)trips->next & vy_type_layouts[vy_variable_at(c->program, s->variable)->type].mask;
    return 1;
}

static void start_for(vy_split_cursor *c, uint32_t index, const vy_stmt *s) {
    vyre_type type = (vyre_type)vy_variable_at(c->program, s->variable)->type;
    uint64_t from = evaluate(c, s->a), to = evaluate(c, s->b), step = s->c == VY_NONE ? 1 : evaluate(c, s->c);
    c->at = s->end;
    vy_trips trips = vy_trips_from((uint8_t)type, from, to, step);
    if (!vy_trips_remain(&trips))
        return;
    *value_of(c, s->variable) = from;
    open_block(c, index, index + 1, s->end);
    c->open[c->depth - 1].trips = trips;
}

/* At the end of the innermost block: continues with the next iteration or the next statement. A loop of one iteration
 * was left by a jump, which the host does not follow. */
static void close_block(vy_split_cursor *c) {
    frame *f = &c->open[c->depth - 1];
    const vy_stmt *s = vy_stmt_at(c->program, f->stmt);
    int again = 0;
    if (c->split->plan->marks[f->stmt] & VY_MARK_ONE_TRIP)
        again = 0;
    else if (s->kind == VY_STMT_FOR)
        again = next_trip(c, s, &f->trips);
    else if (s->kind == VY_STMT_WHILE)
        again = evaluate(c, s->a) != 0;
    if (again) {
        c->at = f->stmt + 1;
        return;
    }
    c->at = s->end;
    c->depth--;
}

static void jump(vy_split_cursor *c, int is_break) {
    while (!vy_stmt_is_loop(vy_stmt_at(c->program, c->open[c->depth - 1].stmt)->kind))
        c->depth--;
    const frame *loop = &c->open[c->depth - 1];
    c->at = loop->end;
    if (is_break)
        c->depth--;
}

/* ---- statements ---- */

/* Returns whether the statement is a grid barrier, after which it continues. */
static int run_stmt(vy_split_cursor *c) {
    uint32_t index = c->at;
    const vy_stmt *s = vy_stmt_at(c->program, index);
    c->at = s->end;
    if (!(c->split->plan->marks[index] & VY_MARK_HOST))
        return 0;
    switch (s->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
    case VY_STMT_ASSIGN:
        *value_of(c, s->variable) = evaluate(c, s->a);
        break;
    case VY_STMT_IF:
        if (evaluate(c, s->a))
            open_block(c, index, index + 1, s->middle);
        else
            open_block(c, index, s->middle, s->end);
        break;
    case VY_STMT_WHILE:
        if (evaluate(c, s->a))
            open_block(c, index, index + 1, s->end);
        break;
    case VY_STMT_FOR:
        start_for(c, index, s);
        break;
    case VY_STMT_REGION:
        open_block(c, index, index + 1, s->end);
        break;
    case VY_STMT_BREAK:
    case VY_STMT_CONTINUE:
        jump(c, s->kind == VY_STMT_BREAK);
        break;
    case VY_STMT_RETURN:
        c->depth = 0;
        c->at = c->program->stmts.count;
        break;
    default:
        return 1;
    }
    return 0;
}

/* Runs to the next grid barrier; *segment is VY_NONE if there is none. */
static vyre_status find_next(vy_split_cursor *c, uint32_t *segment, vyre_error *error) {
    const vy_split_plan *plan = c->split->plan;
    *segment = VY_NONE;
    for (c->steps = 0; c->steps < MOST_STEPS; c->steps++) {
        if (c->depth && c->at == c->open[c->depth - 1].end) {
            close_block(c);
        } else if (c->at == c->program->stmts.count) {
            return VYRE_OK;
        } else if (run_stmt(c)) {
            *segment = vy_plan_ordinal(plan, c->at - 1) + 1;
            return VYRE_OK;
        }
    }
    return vy_fail(error, VYRE_LIMIT, "compute the number of trips without a loop, or in another dispatch",
                   "finding the next launch of `%s` needs more than %d steps of the host",
                   vyre_program_name(c->program), MOST_STEPS);
}

/* ---- the cursor ---- */

vyre_status vy_split_start(const vy_split *split, const vy_resolved_dispatch *launch, vy_split_cursor **out,
                           vyre_error *error) {
    size_t values_size = vy_array_size((size_t)split->plan->host_count + 1, sizeof(uint64_t));
    vy_split_cursor *c = vy_allocate_zero(sizeof *c);
    uint64_t *values = vy_allocate_zero(values_size);
    *out = NULL;
    if (!c || !values) {
        vy_release(c, sizeof *c);
        vy_release(values, values_size);
        return vy_fail_memory(error, "a cursor over launches");
    }
    c->split = split;
    c->program = split->plan->program;
    memcpy(c->launch.params, launch->params, c->program->param_count * sizeof *launch->params);
    memcpy(c->launch.buffers, launch->buffers, c->program->buffer_count * sizeof *launch->buffers);
    memcpy(c->launch.groups, launch->groups, sizeof launch->groups);
    c->values = values;
    c->values_size = values_size;
    c->is_done = launch->group_count == 0; /* no launch runs, so none would write a decision */
    *out = c;
    return VYRE_OK;
}

static void fill_params(vy_split_cursor *c) {
    const vy_split_plan *plan = c->split->plan;
    for (uint32_t i = 0; i < plan->host_param_count; i++) {
        uint32_t variable = plan->host_params[i];
        c->params[i] = (vyre_scalar){(vyre_type)vy_variable_at(c->program, variable)->type, *value_of(c, variable)};
    }
}

vyre_status vy_split_next(vy_split_cursor *c, uint32_t decision, vy_split_step *step, vyre_error *error) {
    uint32_t segment = 0;
    *step = (vy_split_step){.is_done = 1};
    if (c->is_done)
        return VYRE_OK;
    if (c->has_started && c->split->decision != VY_NONE) {
        if (decision >= c->split->segment_count)
            return vy_fail(error, VYRE_INVALID_ARGUMENT, "pass what the last launch left in the decision buffer",
                           "the decision (%u) names none of the segments (%u)", decision, c->split->segment_count);
        segment = decision ? decision : VY_NONE;
    } else if (c->has_started) {
        vyre_status status = find_next(c, &segment, error);
        if (status != VYRE_OK)
            return status;
    }
    c->has_started = 1;
    c->is_done = segment == VY_NONE;
    if (c->is_done)
        return VYRE_OK;
    fill_params(c);
    *step = (vy_split_step){.segment = segment, .params = c->params};
    return VYRE_OK;
}

void vy_split_free_cursor(vy_split_cursor *c) {
    if (!c)
        return;
    vy_release(c->values, c->values_size);
    vy_release(c, sizeof *c);
}
