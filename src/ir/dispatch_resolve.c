/* Dispatch resolution (dispatch_resolve.h).
 *
 * The order matters: params first, since sizes may use them; then the inputs, whose counts follow from their bytes;
 * then the `write` buffers, whose sizes may use any count resolved so far; then the comparison of the inputs' counts
 * with those in the program; last the grid. */
#include "ir/dispatch_resolve.h"

#include "base/status.h"
#include "ir/eval.h"
#include "ir/op_tables.h"

#include <inttypes.h>
#include <stdio.h>

#define MAX_COUNT UINT32_MAX     /* elements of a buffer */
#define MAX_DIMENSION UINT32_MAX /* invocations along one dimension: global_size is a u32, too */
#define UNKNOWN UINT64_MAX       /* a count not resolved yet: above MAX_COUNT */

static const vy_memory *buffer_at(const vyre_program *program, uint32_t index) {
    return &program->memories.items[vy_program_entry(program)->first_memory + index];
}

static const char *buffer_name(const vyre_program *program, uint32_t index) {
    return vy_symbol_name(program, buffer_at(program, index)->name);
}

/* ---- properties of the program ---- */

size_t vyre_program_input_count(const vyre_program *program) {
    return program ? program->input_count : 0;
}

size_t vyre_program_output_count(const vyre_program *program) {
    return program ? program->output_count : 0;
}

/* Whether a buffer's count is an expression that the resolver has to compute. */
static int is_computed(const vy_memory *buffer) {
    return !vy_accesses[buffer->access].is_input && buffer->size != VY_NONE;
}

/* Whether a size uses only counts that the caller supplies or that belong to a buffer before `index`. The validator
 * bounds the recursion. */
static int is_ordered(const vyre_program *program, uint32_t root, uint32_t index) {
    const vy_size *size = &program->sizes.items[root];
    if (size->kind == VY_SIZE_LITERAL || size->kind == VY_SIZE_PARAM)
        return 1;
    if (size->kind == VY_SIZE_LEN)
        return size->a - vy_program_entry(program)->first_memory < index ||
               !is_computed(&program->memories.items[size->a]);
    return is_ordered(program, size->a, index) && is_ordered(program, size->b, index);
}

void vy_program_cache_dispatch_info(vyre_program *program) {
    program->input_count = program->output_count = 0;
    program->is_ordered = 1, program->has_counts = 0;
    if (!vy_program_entry(program))
        return;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const vy_memory *buffer = buffer_at(program, i);
        program->input_count += vy_accesses[buffer->access].is_input;
        program->output_count += vy_accesses[buffer->access].is_output;
        program->has_counts |= buffer->size != VY_NONE;
        if (is_computed(buffer) && !is_ordered(program, buffer->size, i))
            program->is_ordered = 0;
    }
}

/* ---- size expressions ---- */

typedef enum size_result { SIZE_OK, SIZE_UNRESOLVED, SIZE_ERROR } size_result;

typedef struct size_context {
    const vyre_program *program;
    const vy_resolved_dispatch *launch;
    uint32_t buffer; /* the buffer whose count it is, or VY_NONE: the grid's */
    int axis;
    vyre_error *error;
} size_context;

/* "count of `x`" or "grid (x)", for messages. */
typedef struct size_name {
    char text[VY_LIMIT_NAME + 16];
} size_name;

static size_name describe_size(const size_context *context) {
    size_name name;
    if (context->buffer == VY_NONE)
        snprintf(name.text, sizeof name.text, "grid (%c)", "xyz"[context->axis]);
    else
        snprintf(name.text, sizeof name.text, "count of `%s`", buffer_name(context->program, context->buffer));
    return name;
}

static size_result size_fail(const size_context *context, const char *problem, uint64_t a, const char *symbol,
                             uint64_t b) {
    size_name name = describe_size(context);
    vy_fail(context->error, VYRE_INVALID_ARGUMENT,
            VY_FIX("pass params and inputs for which the %s is from 0 to 2^64 - 1", name.text),
            "the %s has %s: %" PRIu64 " %s %" PRIu64, name.text, problem, a, symbol, b);
    return SIZE_ERROR;
}

static size_result size_param(const size_context *context, uint32_t variable, uint64_t *out) {
    const vyre_program *program = context->program;
    uint32_t param = variable - vy_program_entry(program)->first_variable;
    const vy_variable *declared = &program->variables.items[variable];
    uint64_t bits = context->launch->params[param];
    const vy_type_layout *layout = &vy_type_layouts[declared->type];
    if (layout->classes == VYRE_CLASS_SIGNED && bits >> (layout->bits - 1)) {
        int64_t value = (int64_t)(bits | ~layout->mask);
        size_name name = describe_size(context);
        vy_fail(context->error, VYRE_INVALID_ARGUMENT,
                VY_FIX("pass a value of at least 0 for `%s`", vy_symbol_name(program, declared->name)),
                "the %s uses param `%s`, which is negative (%" PRId64 ")", name.text,
                vy_symbol_name(program, declared->name), value);
        return SIZE_ERROR;
    }
    *out = bits;
    return SIZE_OK;
}

static size_result size_combine(const size_context *context, vy_size_kind kind, uint64_t a, uint64_t b, uint64_t *out) {
    switch (kind) {
    case VY_SIZE_ADD:
        return __builtin_add_overflow(a, b, out) ? size_fail(context, "a sum over 2^64 - 1", a, "+", b) : SIZE_OK;
    case VY_SIZE_SUB:
        return __builtin_sub_overflow(a, b, out) ? size_fail(context, "a difference below 0", a, "-", b) : SIZE_OK;
    case VY_SIZE_MUL:
        return __builtin_mul_overflow(a, b, out) ? size_fail(context, "a product over 2^64 - 1", a, "*", b) : SIZE_OK;
    case VY_SIZE_MIN:
        *out = a < b ? a : b;
        return SIZE_OK;
    case VY_SIZE_MAX:
        *out = a > b ? a : b;
        return SIZE_OK;
    default:
        break;
    }
    if (b == 0)
        return size_fail(context, "a division by zero", a, kind == VY_SIZE_REM ? "%" : "/", b);
    *out = kind == VY_SIZE_REM ? a % b : a / b + (kind == VY_SIZE_DIV_CEIL && a % b != 0);
    return SIZE_OK;
}

/* Recursion is bounded by the depth that the validator allows. */
static size_result size_evaluate(const size_context *context, uint32_t root, uint64_t *out) {
    const vy_size *size = &context->program->sizes.items[root];
    switch ((vy_size_kind)size->kind) {
    case VY_SIZE_LITERAL:
        *out = size->value;
        return SIZE_OK;
    case VY_SIZE_PARAM:
        return size_param(context, size->a, out);
    case VY_SIZE_LEN:
        *out = context->launch->buffers[size->a - vy_program_entry(context->program)->first_memory].count;
        return *out == UNKNOWN ? SIZE_UNRESOLVED : SIZE_OK;
    default:
        break;
    }
    uint64_t a, b;
    size_result result = size_evaluate(context, size->a, &a);
    if (result != SIZE_OK)
        return result;
    result = size_evaluate(context, size->b, &b);
    return result != SIZE_OK ? result : size_combine(context, (vy_size_kind)size->kind, a, b, out);
}

/* ---- params ---- */

static inline int resolve_params_fast(const vyre_program *program, const vyre_arguments *arguments,
                                      vy_resolved_dispatch *launch) {
    if (arguments->param_count != program->param_count || (program->param_count && !arguments->params))
        return 0;
    if (program->param_count == 0)
        return 1;
    const vy_variable *variables = program->variables.items + vy_program_entry(program)->first_variable;
    for (uint32_t i = 0; i < program->param_count; i++) {
        const vyre_scalar *given = &arguments->params[i];
        if (given->type != (vyre_type)variables[i].type)
            return 0;
        launch->params[i] = vy_value_canonicalize(given->type, given->bits);
    }
    return 1;
}

static vyre_status resolve_params(const vyre_program *program, const vyre_arguments *arguments,
                                  vy_resolved_dispatch *launch, vyre_error *error) {
    if (resolve_params_fast(program, arguments, launch))
        return VYRE_OK;
    if (arguments->param_count != program->param_count || !arguments->params)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("pass one value per `param` of `%s`, in declaration order", vyre_program_name(program)),
                       "the dispatch has %zu params (%u expected)",
                       arguments->params ? arguments->param_count : (size_t)0, program->param_count);
    const vy_variable *declared = program->variables.items + vy_program_entry(program)->first_variable;
    const vyre_scalar *given = arguments->params, *last = given + program->param_count - 1;
    while (given < last && given->type == (vyre_type)declared->type)
        given++, declared++;
    const char *name = vy_symbol_name(program, declared->name), *type = vyre_type_name((vyre_type)declared->type);
    return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("pass `%s` as %s", name, type),
                   "param `%s` is given as %s, the program declares %s", name, vyre_type_name(given->type), type);
}

/* ---- buffers ---- */

static vyre_status fail_count_limit(const char *name, uint64_t count, vyre_error *error) {
    return vy_fail(error, VYRE_LIMIT, "bind smaller ranges, or split the work into several dispatches",
                   "buffer `%s` has %" PRIu64 " elements, over the limit (%" PRIu32 ")", name, count, MAX_COUNT);
}

static vyre_status resolve_input(const vyre_program *program, uint32_t index, const vyre_span *span,
                                 vy_resolved_dispatch *launch, vyre_error *error) {
    const vy_memory *memory = buffer_at(program, index);
    const char *name = buffer_name(program, index);
    unsigned size = vy_type_layouts[memory->type].size; /* a power of two, so no division is needed */
    vy_resolved_buffer *buffer = &launch->buffers[index];
    if (span->size && !span->data)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("point the span of `%s` at its bytes", name),
                       "input `%s` has %zu bytes at a NULL pointer", name, span->size);
    if (span->size & (size - 1))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("pass a multiple of %u bytes for `%s`", size, name),
                       "input `%s` has %zu bytes, not a whole number of %s elements (%u bytes each)", name, span->size,
                       vyre_type_name((vyre_type)memory->type), size);
    buffer->data = span->size ? span->data : NULL;
    buffer->count = span->size >> __builtin_ctz(size);
    buffer->bytes = span->size;
    return buffer->count > MAX_COUNT ? fail_count_limit(name, buffer->count, error) : VYRE_OK;
}

static vyre_status resolve_inputs(const vyre_program *program, const vyre_arguments *arguments,
                                  vy_resolved_dispatch *launch, vyre_error *error) {
    size_t expected = vyre_program_input_count(program);
    if (arguments->input_count != expected || (expected && !arguments->inputs))
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("pass one span per read, uniform and read_write buffer of `%s`, in declaration order",
                              vyre_program_name(program)),
                       "the dispatch has %zu inputs (%zu expected)",
                       arguments->inputs ? arguments->input_count : (size_t)0, expected);
    uint32_t inputs = 0, outputs = 0;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        uint8_t access = buffer_at(program, i)->access;
        vy_resolved_buffer *buffer = &launch->buffers[i];
        *buffer = (vy_resolved_buffer){.count = UNKNOWN,
                                       .input = vy_accesses[access].is_input ? inputs++ : VY_NONE,
                                       .output = vy_accesses[access].is_output ? outputs++ : VY_NONE};
        if (buffer->input == VY_NONE)
            continue;
        vyre_status status = resolve_input(program, i, &arguments->inputs[buffer->input], launch, error);
        if (status != VYRE_OK)
            return status;
    }
    return VYRE_OK;
}

static vyre_status set_count(const vyre_program *program, uint32_t index, uint64_t count, vy_resolved_dispatch *launch,
                             vyre_error *error) {
    if (count > MAX_COUNT)
        return fail_count_limit(buffer_name(program, index), count, error);
    launch->buffers[index].count = count;
    launch->buffers[index].bytes = count * vy_type_layouts[buffer_at(program, index)->type].size;
    return VYRE_OK;
}

/* Resolves the `write` buffers whose count is an argument of the dispatch. */
static vyre_status resolve_open_counts(const vyre_program *program, const vyre_arguments *arguments,
                                       vy_resolved_dispatch *launch, vyre_error *error) {
    size_t open = 0, given = arguments->counts ? arguments->count_count : 0;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        if (launch->buffers[i].input != VY_NONE || buffer_at(program, i)->size != VY_NONE)
            continue;
        if (open >= given)
            return vy_fail(
                error, VYRE_INVALID_ARGUMENT,
                VY_FIX("pass the number of elements of `%s`, or write `count …` in the program",
                       buffer_name(program, i)),
                "the count of `%s` is left open by the program and missing in the dispatch (%zu counts given)",
                buffer_name(program, i), given);
        vyre_status status = set_count(program, i, arguments->counts[open++], launch, error);
        if (status != VYRE_OK)
            return status;
    }
    if (open != given)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("pass %zu counts, one per `write` buffer without `count`", open),
                       "the dispatch has %zu counts (%zu expected)", given, open);
    return VYRE_OK;
}

/* The count that the program states for a buffer; SIZE_UNRESOLVED if it depends on an unresolved one. */
static size_result stated_count(const vyre_program *program, uint32_t index, const vy_resolved_dispatch *launch,
                                uint64_t *out, vyre_error *error) {
    size_context context = {program, launch, index, 0, error};
    return size_evaluate(&context, buffer_at(program, index)->size, out);
}

/* Resolves the `write` buffers whose count is an expression. Counts may depend on each other in any order, so passes
 * run until a fixpoint. */
static vyre_status resolve_stated_counts(const vyre_program *program, vy_resolved_dispatch *launch, vyre_error *error) {
    uint32_t stuck = VY_NONE;
    int changed;
    do {
        changed = 0;
        stuck = VY_NONE;
        for (uint32_t i = 0; i < program->buffer_count; i++) {
            uint64_t count = 0;
            if (launch->buffers[i].count != UNKNOWN)
                continue;
            size_result result = stated_count(program, i, launch, &count, error);
            if (result == SIZE_ERROR)
                return VYRE_INVALID_ARGUMENT;
            if (result == SIZE_UNRESOLVED) {
                stuck = i;
                continue;
            }
            vyre_status status = set_count(program, i, count, launch, error);
            if (status != VYRE_OK)
                return status;
            changed = 1;
        }
    } while (changed && stuck != VY_NONE);
    if (stuck != VY_NONE)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "state one of the counts without `len` of the other",
                       "the count of `%s` depends on itself", buffer_name(program, stuck));
    return VYRE_OK;
}

static vyre_status check_stated_inputs(const vyre_program *program, const vy_resolved_dispatch *launch,
                                       vyre_error *error) {
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const vy_resolved_buffer *buffer = &launch->buffers[i];
        uint64_t count;
        if (buffer->input == VY_NONE || buffer_at(program, i)->size == VY_NONE)
            continue;
        if (stated_count(program, i, launch, &count, error) != SIZE_OK)
            return VYRE_INVALID_ARGUMENT;
        if (count != buffer->count)
            return vy_fail(error, VYRE_INVALID_ARGUMENT,
                           VY_FIX("pass exactly %" PRIu64 " elements for `%s`", count, buffer_name(program, i)),
                           "input `%s` has %" PRIu64 " elements, the program states %" PRIu64, buffer_name(program, i),
                           buffer->count, count);
    }
    return VYRE_OK;
}

/* ---- the grid ---- */

static vyre_status grid_sizes(const vyre_program *program, const vy_resolved_dispatch *launch, uint64_t size[3],
                              vyre_error *error) {
    for (int d = 0; d < 3; d++) {
        size[d] = 1;
        if (program->grid.sizes[d] == VY_NONE)
            continue;
        size_context context = {program, launch, VY_NONE, d, error};
        if (size_evaluate(&context, program->grid.sizes[d], &size[d]) != SIZE_OK)
            return VYRE_INVALID_ARGUMENT;
    }
    return VYRE_OK;
}

static vyre_status grid_indirect(const vyre_program *program, const vy_resolved_dispatch *launch, uint64_t size[3],
                                 vyre_error *error) {
    uint32_t index = program->grid.memory - vy_program_entry(program)->first_memory;
    const vy_resolved_buffer *buffer = &launch->buffers[index];
    uint64_t end = (uint64_t)program->grid.offset + 3;
    if (!buffer->data || buffer->count < end)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("pass at least %" PRIu64 " elements for `%s`", end, buffer_name(program, index)),
                       "the grid is read from `%s` at elements %" PRIu32 " to %" PRIu64 ", but it has %" PRIu64,
                       buffer_name(program, index), program->grid.offset, end - 1, buffer->data ? buffer->count : 0);
    for (int d = 0; d < 3; d++)
        size[d] = vy_value_load(VYRE_TYPE_U32, (const uint8_t *)buffer->data + ((size_t)program->grid.offset + d) * 4);
    return VYRE_OK;
}

/* The grid that the program states, in workgroups, or in invocations if *elements. */
static vyre_status program_grid(const vyre_program *program, const vy_resolved_dispatch *launch, uint64_t size[3],
                                int *elements, vyre_error *error) {
    switch ((vyre_grid_kind)program->grid.kind) {
    case VYRE_GRID_OVER:
        *elements = 1;
        size[0] = launch->buffers[program->grid.memory - vy_program_entry(program)->first_memory].count;
        size[1] = size[2] = 1;
        return VYRE_OK;
    case VYRE_GRID_GROUPS:
    case VYRE_GRID_ELEMENTS:
        *elements = program->grid.kind == VYRE_GRID_ELEMENTS;
        return grid_sizes(program, launch, size, error);
    case VYRE_GRID_INDIRECT:
        return grid_indirect(program, launch, size, error);
    default:
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "pass groups or elements with the dispatch, or write `grid …` in the program",
                       "neither the dispatch nor the program `%s` names a grid", vyre_program_name(program));
    }
}

static vyre_status set_grid(const vyre_program *program, const uint64_t size[3], int elements,
                            vy_resolved_dispatch *launch, vyre_error *error) {
    static const char axis[] = "xyz";
    launch->group_size = program->workgroup[0] * program->workgroup[1] * program->workgroup[2];
    launch->group_count = 1;
    launch->grid_buffer = 0;
    int empty = 0, overflow = 0;
    for (int d = 0; d < 3; d++) {
        uint64_t wide = program->workgroup[d], groups = size[d];
        if (elements && wide > 1) /* usually two of the three dimensions are 1, and divisions are slow */
            groups = size[d] / wide + (size[d] % wide != 0);
        /* The first bound keeps the second product within 64 bits. */
        if (groups > MAX_DIMENSION || groups * wide > MAX_DIMENSION)
            return vy_fail(error, VYRE_LIMIT,
                           VY_FIX("use at most %" PRIu64 " workgroups of %" PRIu64
                                  " along %c: split the work into several dispatches, or use another dimension too",
                                  MAX_DIMENSION / wide, wide, axis[d]),
                           "the grid has %" PRIu64 " workgroup%s of %" PRIu64 " along %c, over the limit (%" PRIu32
                           " invocations)",
                           groups, groups == 1 ? "" : "s", wide, axis[d], MAX_DIMENSION);
        launch->groups[d] = (uint32_t)groups;
        empty |= groups == 0;
        overflow |= __builtin_mul_overflow(launch->group_count, groups, &launch->group_count);
    }
    if (empty)
        launch->group_count = 0, overflow = 0;
    overflow |= __builtin_mul_overflow(launch->group_count, (uint64_t)launch->group_size, &launch->invocations);
    if (overflow)
        return vy_fail(error, VYRE_LIMIT, "split the work into several dispatches",
                       "the grid of %" PRIu32 " x %" PRIu32 " x %" PRIu32 " workgroups has over 2^64 - 1 invocations",
                       launch->groups[0], launch->groups[1], launch->groups[2]);
    return VYRE_OK;
}

/* The workgroups of one dimension in the common cases, `grid over` and a literal. 0: an empty dimension or another
 * case. */
static inline uint64_t linear_grid_groups(const vyre_program *program, const vy_resolved_dispatch *launch) {
    const vy_grid *grid = &program->grid;
    uint32_t wide = program->workgroup[0];
    if (grid->kind == VYRE_GRID_OVER) {
        uint64_t count = launch->buffers[grid->memory - vy_program_entry(program)->first_memory].count;
        return wide & (wide - 1) ? (count + wide - 1) / wide : (count + wide - 1) >> __builtin_ctz(wide);
    }
    if (grid->kind != VYRE_GRID_GROUPS || grid->sizes[0] == VY_NONE || grid->sizes[1] != VY_NONE ||
        grid->sizes[2] != VY_NONE)
        return 0;
    const vy_size *size = &program->sizes.items[grid->sizes[0]];
    return size->kind == VY_SIZE_LITERAL && size->value <= MAX_DIMENSION ? size->value : 0;
}

/* Returns 0 in all other cases and on errors, which resolve_grid reports. */
static inline int set_linear_grid(const vyre_program *program, const vyre_geometry *geometry,
                                  vy_resolved_dispatch *launch) {
    if (geometry->kind != VYRE_GEOMETRY_PROGRAM)
        return 0;
    uint64_t groups = linear_grid_groups(program, launch);
    uint32_t wide = program->workgroup[0];
    if (groups == 0 || groups * wide > MAX_DIMENSION)
        return 0;
    launch->groups[0] = (uint32_t)groups;
    launch->groups[1] = launch->groups[2] = 1;
    launch->group_count = groups;
    launch->group_size = program->workgroup[0] * program->workgroup[1] * program->workgroup[2];
    launch->invocations = groups * launch->group_size; /* both have 32 bits */
    launch->grid_buffer = 0;
    return 1;
}

static vyre_status resolve_grid(const vyre_program *program, const vyre_geometry *geometry,
                                vy_resolved_dispatch *launch, vyre_error *error) {
    uint64_t size[3] = {0, 0, 0};
    int elements = 0;
    if (geometry->kind == VYRE_GEOMETRY_PROGRAM) {
        vyre_status status = program_grid(program, launch, size, &elements, error);
        if (status != VYRE_OK)
            return status;
    } else if (geometry->kind == VYRE_GEOMETRY_GROUPS || geometry->kind == VYRE_GEOMETRY_ELEMENTS) {
        elements = geometry->kind == VYRE_GEOMETRY_ELEMENTS;
        for (int d = 0; d < 3; d++)
            size[d] = geometry->size[d];
    } else {
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "use a value of vyre_geometry_kind",
                       "the kind of the geometry (%d) is unknown", (int)geometry->kind);
    }
    return set_grid(program, size, elements, launch, error);
}

vyre_status vy_program_check_grid(const vyre_program *program, const uint32_t groups[3], vyre_error *error) {
    const uint64_t size[3] = {groups[0], groups[1], groups[2]};
    vy_resolved_dispatch launch; /* only errors of the grid are reported */
    return set_grid(program, size, 0, &launch, error);
}

vyre_status vy_resolve_dispatch(const vyre_program *program, const vyre_arguments *arguments,
                                vy_resolved_dispatch *launch, vyre_error *error) {
    if (!vy_program_entry(program))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "dispatch a `program`, not a file of functions",
                       "a library has no entry to dispatch");
    vyre_status status = resolve_params(program, arguments, launch, error);
    if (status == VYRE_OK)
        status = resolve_inputs(program, arguments, launch, error);
    if (status == VYRE_OK)
        status = resolve_open_counts(program, arguments, launch, error);
    if (status == VYRE_OK)
        status = resolve_stated_counts(program, launch, error);
    if (status == VYRE_OK)
        status = check_stated_inputs(program, launch, error);
    if (status == VYRE_OK)
        status = set_linear_grid(program, &arguments->geometry, launch)
                     ? (vyre_status)VYRE_OK
                     : resolve_grid(program, &arguments->geometry, launch, error);
    return status;
}

/* ---- fast path ---- */

static int resolve_bytes_fast(const vyre_program *program, vy_resolved_dispatch *launch) {
    static const unsigned char nonnull_placeholder;
    const vy_memory *buffers = buffer_at(program, 0);
    uint32_t inputs = 0, outputs = 0;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const vy_access_row *access = &vy_accesses[buffers[i].access];
        vy_resolved_buffer *buffer = &launch->buffers[i];
        unsigned size = vy_type_layouts[buffers[i].type].size; /* a power of two */
        buffer->count = buffer->bytes >> __builtin_ctz(size);
        if ((buffer->bytes & (size - 1)) || buffer->count > MAX_COUNT)
            return 0;
        buffer->data = access->is_input && buffer->bytes ? &nonnull_placeholder : NULL;
        buffer->input = access->is_input ? inputs++ : VY_NONE;
        buffer->output = access->is_output ? outputs++ : VY_NONE;
    }
    return 1;
}

/* All counts are resolved, so each stated count is compared with its expression. If no count depends on itself, this
 * has one solution. */
static int counts_match(const vyre_program *program, const vy_resolved_dispatch *launch) {
    const vy_memory *buffers = buffer_at(program, 0);
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        uint64_t count;
        if (buffers[i].size != VY_NONE &&
            (stated_count(program, i, launch, &count, NULL) != SIZE_OK || count != launch->buffers[i].count))
            return 0;
    }
    return 1;
}

int vy_resolve_dispatch_fast_sized(const vyre_program *program, const vyre_arguments *arguments,
                                   vy_resolved_dispatch *launch) {
    int is_indirect = arguments->geometry.kind == VYRE_GEOMETRY_PROGRAM && program->grid.kind == VYRE_GRID_INDIRECT;
    if (!vy_program_has_entry(program) || !program->is_ordered || is_indirect ||
        !resolve_params_fast(program, arguments, launch) || (program->has_counts && !counts_match(program, launch)))
        return 0;
    return set_linear_grid(program, &arguments->geometry, launch) ||
           resolve_grid(program, &arguments->geometry, launch, NULL) == VYRE_OK;
}

int vy_resolve_dispatch_fast(const vyre_program *program, const vyre_arguments *arguments,
                             vy_resolved_dispatch *launch) {
    return (!program->buffer_count || resolve_bytes_fast(program, launch)) &&
           vy_resolve_dispatch_fast_sized(program, arguments, launch);
}

/* ---- traps ---- */

vyre_status vy_fail_trapped(const vyre_program *program, uint32_t stmt, const vyre_trap *trap, vyre_error *error) {
    vy_position at = vy_stmt_position(program, stmt);
    vyre_status status = vy_fail(error, VYRE_TRAPPED, NULL, "invocation %" PRIu64 " trapped with code %" PRIu32,
                                 trap->invocation, trap->code);
    if (at.line)
        vy_fail_where(error, "%s:%" PRIu32 ":%" PRIu32, vy_source_name(program->source), at.line, at.column);
    return status;
}
