/* The entry: declares the plan with size expressions that give the planned numbers, writes the body, and makes the arguments. */
#include "generate/generator.h"
#include "generate/interesting_values.h"
#include "ir/eval.h"

/* ---- size expressions ----
 *
 * Made backwards from the number they must give, so that no draw has to be thrown away. A param that no size uses yet takes whatever
 * value is asked of it. */

static uint32_t size_leaf(vy_gen *g, uint64_t value) {
    uint32_t draw = vy_gen_below(g, 3);
    for (unsigned i = 0; draw == 0 && i < g->param_count; i++) {
        vy_gen_param *param = &g->params[i];
        const vy_type_layout *layout = &vy_type_layouts[param->type];
        if (!(layout->classes & VYRE_CLASS_INTEGER) || value > layout->mask >> (layout->classes == VYRE_CLASS_SIGNED) ||
            (param->is_set && param->bits != value))
            continue;
        param->is_set = 1;
        param->bits = value;
        return vy_irb_size(&g->draft, VY_SIZE_PARAM, param->variable, VY_NONE, 0);
    }
    for (unsigned m = 0; draw == 1 && m < g->memory_count; m++)
        if (g->memories[m].space == VY_SPACE_BUFFER && g->memories[m].count == value)
            return vy_irb_size(&g->draft, VY_SIZE_LEN, g->memories[m].memory, VY_NONE, 0);
    return vy_irb_size(&g->draft, VY_SIZE_LITERAL, VY_NONE, VY_NONE, value);
}

static uint32_t size_expr(vy_gen *g, uint64_t value, unsigned depth) {
    if (depth == 0 || vy_gen_chance(g, 1, 2))
        return size_leaf(g, value);
    uint64_t k = 1 + vy_gen_below(g, 7), left, right;
    vy_size_kind kind = (vy_size_kind)(VY_SIZE_ADD + vy_gen_below(g, VY_SIZE_KIND_COUNT - VY_SIZE_ADD));
    switch (kind) {
    case VY_SIZE_ADD:
        left = vy_gen_below(g, (uint32_t)value + 1);
        right = value - left;
        break;
    case VY_SIZE_SUB:
        left = value + k;
        right = k;
        break;
    case VY_SIZE_MUL:
        right = value % k ? 1 : k;
        left = value / right;
        break;
    case VY_SIZE_DIV:
        left = value * k + vy_gen_below(g, (uint32_t)k);
        right = k;
        break;
    case VY_SIZE_REM:
        right = value + k;
        left = right * vy_gen_below(g, 3) + value;
        break;
    case VY_SIZE_MIN:
        left = value;
        right = value + k;
        break;
    case VY_SIZE_MAX:
        left = value;
        right = value > k ? value - k : 0;
        break;
    case VY_SIZE_DIV_CEIL:
        left = value ? value * k - vy_gen_below(g, (uint32_t)k) : 0;
        right = k;
        break;
    default:
        return size_leaf(g, value);
    }
    uint32_t a = size_expr(g, left, depth - 1);
    uint32_t b = size_expr(g, right, depth - 1);
    return vy_irb_size(&g->draft, kind, a, b, 0);
}

/* ---- declarations ---- */

static void declare_params(vy_gen *g) {
    for (unsigned i = 0; i < g->param_count; i++) {
        vy_gen_param *param = &g->params[i];
        param->variable = vy_irb_scalar_param(&g->draft, vy_gen_name(g, 'p'), (vyre_type)param->type);
        vy_gen_declare(g, param->variable, (vyre_type)param->type, 0, 1);
    }
}

static void declare_memories(vy_gen *g) {
    for (unsigned m = 0; m < g->plan_count; m++) {
        vy_gen_memory *memory = &g->memories[m];
        *memory = g->plan[m];
        g->ownership[m] = g->planned_ownership[m];
        vyre_type type = (vyre_type)memory->type;
        if (memory->space == VY_SPACE_BUFFER) {
            uint32_t size = memory->is_open ? VY_NONE : size_expr(g, memory->count, vy_gen_below(g, 3));
            memory->memory = vy_irb_memory_param(&g->draft, vy_gen_name(g, 'b'), VY_SPACE_BUFFER, type,
                                                 (vyre_access)memory->access, size);
        } else {
            memory->memory = vy_irb_array(&g->draft, vy_gen_name(g, 's'), (vy_space)memory->space, type, memory->count);
        }
        g->memory_count++;
    }
}

static uint32_t planned_elements(vy_gen *g, int axis) {
    uint32_t size = g->workgroup[axis];
    return g->groups[axis] ? g->groups[axis] * size - vy_gen_below(g, size) : 0;
}

static void declare_grid(vy_gen *g) {
    vy_grid *grid = &g->draft.program->grid;
    memcpy(g->draft.program->workgroup, g->workgroup, sizeof g->workgroup);
    grid->kind = g->grid_kind;
    if (g->grid_kind == VYRE_GRID_OVER || g->grid_kind == VYRE_GRID_INDIRECT)
        grid->memory = g->memories[g->grid_memory].memory;
    if (g->grid_kind == VYRE_GRID_INDIRECT)
        grid->offset = g->grid_offset;
    int is_elements = g->grid_kind == VYRE_GRID_ELEMENTS;
    if (is_elements || g->grid_kind == VYRE_GRID_GROUPS) {
        int axes = g->groups[2] != 1 || g->workgroup[2] != 1 ? 3 : g->groups[1] != 1 || g->workgroup[1] != 1 ? 2 : 1;
        for (int axis = 0; axis < axes; axis++)
            grid->sizes[axis] = size_expr(g, is_elements ? planned_elements(g, axis) : g->groups[axis], 2);
    }
    g->geometry.kind = (vyre_geometry_kind)g->geometry_kind;
    for (int axis = 0; axis < 3 && g->geometry_kind != VYRE_GEOMETRY_PROGRAM; axis++)
        g->geometry.size[axis] = g->geometry_kind == VYRE_GEOMETRY_GROUPS ? g->groups[axis] : planned_elements(g, axis);
}

/* ---- the indices everything owned is computed from ---- */

static uint32_t let_u32(vy_gen *g, uint32_t value, int is_uniform) {
    uint32_t variable = vy_irb_let(&g->draft, vy_gen_name(g, 'v'), VYRE_TYPE_U32, value);
    vy_gen_declare(g, variable, VYRE_TYPE_U32, 0, is_uniform);
    return variable;
}

static uint32_t op2(vy_gen *g, vyre_op op, uint32_t a, uint32_t b) {
    return vy_irb_op(&g->draft, op, VYRE_TYPE_U32, a, b, VY_NONE);
}

/* id.x + count.x * (id.y + count.y * id.z), for groups (group_id, group_count) or invocations (global_id, global_size). */
static uint32_t linear_index(vy_gen *g, vyre_builtin id, vyre_builtin count) {
    uint32_t x = vy_irb_builtin(&g->draft, id, 0);
    uint32_t columns = vy_irb_builtin(&g->draft, count, 0);
    uint32_t y = vy_irb_builtin(&g->draft, id, 1);
    uint32_t rows = vy_irb_builtin(&g->draft, count, 1);
    uint32_t z = vy_irb_builtin(&g->draft, id, 2);
    z = op2(g, VYRE_OP_MUL, rows, z);
    y = op2(g, VYRE_OP_ADD, y, z);
    y = op2(g, VYRE_OP_MUL, columns, y);
    return op2(g, VYRE_OP_ADD, x, y);
}

static uint32_t grid_size(vy_gen *g) {
    uint32_t x = vy_irb_builtin(&g->draft, VYRE_BUILTIN_GLOBAL_SIZE, 0);
    uint32_t y = vy_irb_builtin(&g->draft, VYRE_BUILTIN_GLOBAL_SIZE, 1);
    x = op2(g, VYRE_OP_MUL, x, y);
    return op2(g, VYRE_OP_MUL, x, vy_irb_builtin(&g->draft, VYRE_BUILTIN_GLOBAL_SIZE, 2));
}

static void write_indices(vy_gen *g) {
    g->local = let_u32(g, vy_irb_builtin(&g->draft, VYRE_BUILTIN_LOCAL_INDEX, 0), 0);
    uint32_t group = linear_index(g, VYRE_BUILTIN_GROUP_ID, VYRE_BUILTIN_GROUP_COUNT);
    uint32_t chunk = vy_gen_with_literal(g, VYRE_OP_MUL, VYRE_TYPE_U32, group, g->size);
    g->chunk = let_u32(g, chunk, 1);
    g->span = let_u32(g, grid_size(g), 1);
    int flat = g->workgroup[1] * g->workgroup[2] == 1 && g->groups[1] == 1 && g->groups[2] == 1;
    if (flat && vy_gen_chance(g, 1, 2)) {
        g->linear = let_u32(g, vy_irb_builtin(&g->draft, VYRE_BUILTIN_GLOBAL_ID, 0), 0);
    } else if (vy_gen_chance(g, 1, 2)) {
        g->linear = let_u32(g, linear_index(g, VYRE_BUILTIN_GLOBAL_ID, VYRE_BUILTIN_GLOBAL_SIZE), 0);
    } else {
        uint32_t linear = vy_irb_variable(&g->draft, g->chunk);
        g->linear = let_u32(g, op2(g, VYRE_OP_ADD, linear, vy_irb_variable(&g->draft, g->local)), 0);
    }
}

/* ---- the body ---- */

/* From here on no invocation meets another, so that some may leave early. Buffers go back to what they were planned as. */
static void start_tail(vy_gen *g) {
    vy_gen_ownership ownership[VY_GEN_MEMORIES];
    memcpy(ownership, g->ownership, sizeof ownership);
    for (unsigned m = 0; m < g->memory_count; m++)
        if (g->memories[m].space == VY_SPACE_BUFFER)
            ownership[m] = g->planned_ownership[m];
    vy_gen_restore_phases(g, ownership);
    vy_gen_call_rest(g);
    g->place.sync = g->place.uniform = 0;
}

static void write_body(vy_gen *g) {
    write_indices(g);
    if (g->features & VY_GEN_SYNC) {
        g->place.sync = g->place.uniform = 1;
        vy_gen_statements(g, g->left * 3 / 4);
        start_tail(g);
    } else {
        vy_gen_statements(g, g->left * 3 / 4);
        vy_gen_call_rest(g);
    }
    vy_gen_statements(g, g->left);
    /* What was computed must be seen: every output gets a last value. */
    for (unsigned m = 0; m < g->memory_count; m++) {
        vy_gen_start_statement(g);
        if (g->memories[m].space == VY_SPACE_BUFFER)
            vy_gen_store_to(g, m, 1);
    }
}

/* ---- arguments ---- */

static int is_input(const vy_gen_memory *memory) {
    return memory->space == VY_SPACE_BUFFER && memory->access != VYRE_ACCESS_WRITE;
}

static void fill_params(vy_gen *g) {
    for (unsigned i = 0; i < g->param_count; i++)
        if (!g->params[i].is_set)
            g->params[i].bits = vy_value_canonicalize((vyre_type)g->params[i].type,
                                                      vy_interesting_value(&g->rng, (vyre_type)g->params[i].type));
}

static vyre_status fill_data(vy_gen *g, vyre_error *error) {
    size_t size = 0;
    for (unsigned m = 0; m < g->memory_count; m++)
        if (is_input(&g->memories[m])) {
            g->memories[m].data_offset = (uint32_t)size;
            size += (size_t)g->memories[m].count * vy_type_layouts[g->memories[m].type].size;
        }
    g->data_size = size;
    if (size && !(g->data = vy_allocate(size)))
        return vy_fail_memory(error, "the inputs of a case");
    for (unsigned m = 0; m < g->memory_count; m++) {
        const vy_gen_memory *memory = &g->memories[m];
        if (!is_input(memory) || !memory->count)
            continue;
        vy_interesting_fill(&g->rng, (vyre_type)memory->type, g->data + memory->data_offset, memory->count);
        if (g->grid_kind == VYRE_GRID_INDIRECT && m == g->grid_memory)
            memcpy(g->data + memory->data_offset + g->grid_offset * sizeof *g->groups, g->groups, sizeof g->groups);
    }
    return VYRE_OK;
}

vyre_status vy_gen_entry(vy_gen *g, vyre_error *error) {
    uint32_t written = g->draft.program->stmts.count; /* by the functions, from the same number */
    vy_irb_begin_entry(&g->draft);
    vy_gen_start_function(g, NULL, g->statements > 2 * written ? g->statements - written : g->statements / 2 + 1);
    g->work_limit = g->statements * 6;
    declare_params(g);
    declare_memories(g);
    declare_grid(g);
    write_body(g);
    vy_irb_end_function(&g->draft);
    fill_params(g);
    return fill_data(g, error);
}
