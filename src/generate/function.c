/* Random functions, their calls, and the entry.
 *
 * A function is written before its callers, and may call functions written before it. The phase of a memory parameter
 * determines what the function may do with the memory: the caller passes only a memory in that phase and, for an OWN
 * parameter, the element that the invocation owns. */
#include "generate/generator.h"
#include "generate/interesting_values.h"
#include "ir/eval.h"

/* ---- signatures ---- */

static vy_gen_function_param *add_param(vy_gen_function *function) {
    return function->param_count < VY_GEN_FUNCTION_PARAMS ? &function->params[function->param_count++] : NULL;
}

static void add_scalar_param(vy_gen *g, vy_gen_function *function) {
    vy_gen_function_param *param = add_param(function);
    if (param)
        *param = (vy_gen_function_param){.type = (uint8_t)vy_gen_type(g)};
}

/* Draws the phase in which a function receives a memory like this one of the plan. */
static vy_gen_phase draw_phase(vy_gen *g, const vy_gen_memory *memory, const vy_gen_ownership *hold) {
    if (memory->space != VY_SPACE_WORKGROUP || !(g->features & VY_GEN_SYNC)) /* without barriers phases cannot change */
        return (vy_gen_phase)hold->phase;
    if (memory->atomic != VYRE_ATOMIC_COUNT && vy_gen_chance(g, 1, 3))
        return VY_GEN_PHASE_ATOMIC;
    return vy_gen_chance(g, 1, 2) ? VY_GEN_PHASE_OWN : VY_GEN_PHASE_SHARED;
}

static int has_plan(const vy_gen_function *function, unsigned m) {
    for (unsigned i = 0; i < function->param_count; i++)
        if (function->params[i].is_memory && function->params[i].plan == m)
            return 1;
    return 0;
}

static void add_memory_param(vy_gen *g, vy_gen_function *function) {
    static const uint8_t slot_types[] = {VYRE_TYPE_U32, VYRE_TYPE_U32, VYRE_TYPE_I64, VYRE_TYPE_U64};
    if (g->plan_count == 0 || function->param_count + 2 > VY_GEN_FUNCTION_PARAMS)
        return;
    unsigned m = vy_gen_below(g, g->plan_count);
    const vy_gen_memory *memory = &g->plan[m];
    vy_gen_phase phase = draw_phase(g, memory, &g->planned_ownership[m]);
    /* A function does not have the chunk of its workgroup. */
    if (memory->space == VY_SPACE_PRIVATE || (phase != VY_GEN_PHASE_READ && has_plan(function, m)) ||
        (phase == VY_GEN_PHASE_ATOMIC && g->planned_ownership[m].base == VY_GEN_BASE_CHUNK))
        return;
    unsigned at = function->param_count;
    *add_param(function) =
        (vy_gen_function_param){.is_memory = 1,
                                .type = memory->type,
                                .space = memory->space == VY_SPACE_CONSTANT ? VY_SPACE_BUFFER : memory->space,
                                .access = memory->access,
                                .phase = (uint8_t)phase,
                                .atomic = memory->atomic,
                                .plan = (uint8_t)m};
    if (phase == VY_GEN_PHASE_OWN)
        *add_param(function) = (vy_gen_function_param){
            .type = slot_types[vy_gen_below(g, sizeof slot_types)], .is_slot = 1, .slot_of = (uint8_t)at};
}

static void draw_signature(vy_gen *g, vy_gen_function *function) {
    *function = (vy_gen_function){.has_sync = (g->features & VY_GEN_SYNC) && vy_gen_chance(g, 1, 3)};
    unsigned scalars = vy_gen_below(g, 4), memories = vy_gen_below(g, 3);
    while (scalars + memories) {
        if (vy_gen_below(g, scalars + memories) < scalars) {
            add_scalar_param(g, function);
            scalars--;
        } else {
            add_memory_param(g, function);
            memories--;
        }
    }
    function->result_count = (uint8_t)vy_gen_below(g, VY_GEN_RESULTS + 1);
    if (function->result_count == 0 && vy_gen_chance(g, 3, 4))
        function->result_count = 1;
    for (unsigned i = 0; i < function->result_count; i++)
        function->results[i] = (uint8_t)vy_gen_type(g);
}

/* ---- bodies ---- */

/* Resets variables, memories and context for a new function. */
static void gen_start_function(vy_gen *g, const vy_gen_function *function, unsigned statements) {
    g->function = function;
    g->variables.count = 0;
    g->memory_count = 0;
    g->place = (vy_gen_context){.times = 1};
    g->work = 0;
    g->inlined = 0;
    g->left = statements;
    g->only_uniform = 0;
}

static void declare_params(vy_gen *g, const vy_gen_function *function) {
    unsigned memory_of[VY_GEN_FUNCTION_PARAMS] = {0};
    for (unsigned i = 0; i < function->param_count; i++) {
        const vy_gen_function_param *param = &function->params[i];
        if (!param->is_memory) {
            uint32_t variable = vy_irb_scalar_param(&g->draft, vy_gen_name(g, 'a'), (vyre_type)param->type);
            vy_gen_declare(g, variable, (vyre_type)param->type, 0, 0);
            if (param->is_slot) {
                unsigned m = memory_of[param->slot_of];
                g->memories[m].slot = variable;
                g->ownership[m].k = variable;
            }
            continue;
        }
        unsigned m = g->memory_count++;
        memory_of[i] = m;
        g->memories[m] = (vy_gen_memory){.space = param->space,
                                         .type = param->type,
                                         .access = param->access,
                                         .atomic = param->atomic,
                                         .count = 8,
                                         .slot = VY_NONE};
        g->memories[m].memory = vy_irb_memory_param(&g->draft, vy_gen_name(g, 'm'), (vy_space)param->space,
                                                    (vyre_type)param->type, (vyre_access)param->access, VY_NONE);
        g->ownership[m] = param->phase == VY_GEN_PHASE_OWN
                              ? (vy_gen_ownership){.phase = VY_GEN_PHASE_OWN, .base = VY_GEN_BASE_PARAM, .stride = 1}
                              : (vy_gen_ownership){.phase = param->phase};
    }
}

static void declare_private_array(vy_gen *g) {
    unsigned m = g->memory_count++;
    vyre_type type = vy_gen_data_type(g);
    uint32_t count = 1 + vy_gen_below(g, 9);
    g->memories[m] = (vy_gen_memory){.space = VY_SPACE_PRIVATE,
                                     .type = (uint8_t)type,
                                     .access = VYRE_ACCESS_READ_WRITE,
                                     .atomic = VYRE_ATOMIC_COUNT,
                                     .count = count,
                                     .slot = VY_NONE};
    g->ownership[m] = (vy_gen_ownership){.phase = VY_GEN_PHASE_PRIVATE};
    g->memories[m].memory = vy_irb_array(&g->draft, vy_gen_name(g, 's'), VY_SPACE_PRIVATE, type, count);
}

uint32_t vy_gen_declare_table(vy_gen *g, vyre_type type, uint32_t count) {
    unsigned char bytes[VY_GEN_TABLE * sizeof(uint64_t)];
    count = count < VY_GEN_TABLE ? count : VY_GEN_TABLE;
    vy_interesting_fill(&g->rng, type, bytes, count);
    uint32_t table = vy_irb_table(&g->draft, type, count, bytes);
    return vy_irb_constant(&g->draft, vy_gen_name(g, 'k'), type, count, table);
}

static void declare_own_table(vy_gen *g) {
    unsigned m = g->memory_count++;
    vyre_type type = vy_gen_data_type(g);
    uint32_t count = 1 + vy_gen_below(g, 9);
    g->memories[m] = (vy_gen_memory){.space = VY_SPACE_CONSTANT,
                                     .type = (uint8_t)type,
                                     .access = VYRE_ACCESS_READ,
                                     .atomic = VYRE_ATOMIC_COUNT,
                                     .count = count,
                                     .slot = VY_NONE};
    g->ownership[m] = (vy_gen_ownership){.phase = VY_GEN_PHASE_READ};
    g->memories[m].memory = vy_gen_declare_table(g, type, count);
}

void vy_gen_return_values(vy_gen *g) {
    vy_arg args[VY_GEN_RESULTS];
    unsigned count = g->function ? g->function->result_count : 0;
    for (unsigned i = 0; i < count; i++)
        args[i] = (vy_arg){0, vy_gen_expr(g, (vyre_type)g->function->results[i], g->depth)};
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_RETURN);
    vy_irb_stmt(&g->draft, &stmt, args, count, NULL, NULL);
}

static void write_function(vy_gen *g, vy_gen_function *function, unsigned statements) {
    uint32_t before = g->draft.program->exprs.count;
    function->index = vy_irb_begin_function(&g->draft, vy_gen_name(g, 'g'));
    gen_start_function(g, function, statements);
    declare_params(g, function);
    for (unsigned i = 0; i < function->result_count; i++)
        vy_irb_result(&g->draft, function->result_count > 1 || vy_gen_chance(g, 1, 2) ? vy_gen_name(g, 'r') : 0,
                      (vyre_type)function->results[i]);
    if ((g->features & VY_GEN_PRIVATE) && vy_gen_chance(g, 1, 2))
        declare_private_array(g);
    if ((g->features & VY_GEN_TABLES) && vy_gen_chance(g, 1, 2))
        declare_own_table(g);
    if (function->has_sync) {
        vy_gen_ownership ownership[VY_GEN_MEMORIES];
        memcpy(ownership, g->ownership, sizeof ownership);
        g->place.uniform = g->place.sync = 1;
        vy_gen_statements(g, statements * 2 / 3);
        vy_gen_restore_phases(g, ownership);
        g->place.sync = g->place.uniform = 0; /* some invocations may return from here on, so control is divergent */
    }
    vy_gen_statements(g, statements);
    if (function->result_count)
        vy_gen_return_values(g);
    vy_irb_end_function(&g->draft);
    function->work = g->work + 1;
    function->size = g->inlined + g->draft.program->exprs.count - before;
}

void vy_gen_functions(vy_gen *g) {
    if (!(g->features & VY_GEN_CALLS))
        return;
    unsigned most = 1 + g->statements / 8; /* a short program has few functions */
    unsigned count = 1 + vy_gen_below(g, most < VY_GEN_FUNCTIONS ? most : VY_GEN_FUNCTIONS);
    unsigned statements = g->statements / 3 / count;
    g->work_limit = 3 * statements + 6;
    for (unsigned i = 0; i < count; i++) {
        vy_gen_function *function = &g->functions[i];
        draw_signature(g, function);
        write_function(g, function, 1 + vy_gen_below(g, statements + 1));
        g->function_count++;
    }
}

/* ---- calls ---- */

static int fits(const vy_gen *g, const vy_gen_function_param *param, unsigned m) {
    const vy_gen_memory *memory = &g->memories[m];
    int is_table = memory->space == VY_SPACE_CONSTANT && param->space == VY_SPACE_BUFFER; /* a buffer that is read */
    if ((memory->space != param->space && !is_table) || memory->type != param->type ||
        g->ownership[m].phase != param->phase)
        return 0;
    if (param->phase == VY_GEN_PHASE_READ) /* read and uniform are both never written */
        return 1;
    if (memory->access != param->access)
        return 0;
    if (param->phase == VY_GEN_PHASE_ATOMIC)
        return memory->atomic == param->atomic && g->ownership[m].base != VY_GEN_BASE_CHUNK;
    return 1;
}

/* Chooses a memory for every memory parameter, no written one twice; returns 0 if that is impossible. */
static int choose_memories(vy_gen *g, const vy_gen_function *function, uint8_t *chosen) {
    uint32_t used = 0;
    for (unsigned i = 0; i < function->param_count; i++) {
        if (!function->params[i].is_memory)
            continue;
        uint32_t start = vy_gen_below(g, g->memory_count), tried = 0;
        for (; tried < g->memory_count; tried++) {
            unsigned m = (start + tried) % g->memory_count;
            if (!(used >> m & 1) && fits(g, &function->params[i], m)) {
                chosen[i] = (uint8_t)m;
                used |= (uint32_t)(function->params[i].phase != VY_GEN_PHASE_READ) << m;
                break;
            }
        }
        if (tried == g->memory_count)
            return 0;
    }
    return 1;
}

static uint32_t slot_argument(vy_gen *g, unsigned m, vyre_type type) {
    uint32_t index = vy_gen_own_index(g, m, 0);
    if (index == VY_NONE || g->draft.program->exprs.items[index].type == type)
        return index;
    return vy_irb_op(&g->draft, VYRE_OP_CAST, type, index, VY_NONE, VY_NONE);
}

static void write_call(vy_gen *g, vy_gen_function *function, const uint8_t *chosen) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_CALL);
    vy_arg args[VY_GEN_FUNCTION_PARAMS];
    vy_symbol names[VY_GEN_RESULTS];
    vyre_type types[VY_GEN_RESULTS];
    for (unsigned i = 0; i < function->param_count; i++) {
        const vy_gen_function_param *param = &function->params[i];
        if (param->is_memory)
            args[i] = (vy_arg){1, g->memories[chosen[i]].memory};
        else if (param->is_slot)
            args[i] = (vy_arg){0, slot_argument(g, chosen[param->slot_of], (vyre_type)param->type)};
        else
            args[i] = (vy_arg){0, vy_gen_expr(g, (vyre_type)param->type, g->depth > 1 ? g->depth - 1 : 1)};
    }
    if (function->result_count && !vy_gen_chance(g, 1, 6))
        stmt.result_count = function->result_count;
    for (unsigned i = 0; i < stmt.result_count; i++) {
        names[i] = vy_gen_name(g, 'x');
        types[i] = (vyre_type)function->results[i];
    }
    stmt.callee = function->index;
    function->is_called = 1;
    uint32_t index = vy_irb_stmt(&g->draft, &stmt, args, function->param_count, names, types);
    if (index == VY_NONE)
        return;
    for (unsigned i = 0; i < stmt.result_count; i++)
        vy_gen_declare(g, g->draft.program->stmts.items[index].variable + i, types[i], 0, 0);
    g->work += g->place.times * function->work;
    g->inlined += function->size;
}

/* Whether the inlined size stays below the limit: nested calls multiply it. */
static int is_small_enough(const vy_gen *g, const vy_gen_function *function) {
    unsigned most = 100 * g->statements < VY_GEN_SIZE ? 100 * g->statements + 1000 : VY_GEN_SIZE;
    return g->work + g->place.times * function->work <= g->work_limit * 2 && g->inlined + function->size <= most;
}

int vy_gen_call(vy_gen *g) {
    uint8_t chosen[VY_GEN_FUNCTION_PARAMS];
    uint32_t start = g->function_count ? vy_gen_below(g, g->function_count) : 0;
    for (uint32_t i = 0; i < g->function_count; i++) {
        vy_gen_function *function = &g->functions[(start + i) % g->function_count];
        if ((function->has_sync && !(g->place.uniform && g->place.sync)) || !is_small_enough(g, function) ||
            !choose_memories(g, function, chosen))
            continue;
        write_call(g, function, chosen);
        return 1;
    }
    return 0;
}

/* Brings the memories of the plan into the phases that the function requires, and calls it. */
static void call_planned(vy_gen *g, vy_gen_function *function) {
    uint8_t chosen[VY_GEN_FUNCTION_PARAMS] = {0};
    vy_gen_ownership ownership[VY_GEN_MEMORIES];
    memcpy(ownership, g->ownership, sizeof ownership);
    for (unsigned i = 0; i < function->param_count; i++) {
        const vy_gen_function_param *param = &function->params[i];
        if (!param->is_memory)
            continue;
        chosen[i] = param->plan;
        if (ownership[param->plan].phase == param->phase)
            continue;
        ownership[param->plan] = param->phase == VY_GEN_PHASE_OWN
                                     ? vy_gen_draw_ownership(g, &g->memories[param->plan], VY_GEN_BASE_LOCAL)
                                     : (vy_gen_ownership){.phase = param->phase};
    }
    vy_gen_restore_phases(g, ownership);
    write_call(g, function, chosen);
}

/* Calls from the entry every function that has no caller yet; in uniform control, before the last barrier. */
static void gen_call_rest(vy_gen *g) {
    vy_gen_start_statement(g);
    for (unsigned i = g->function_count; i-- > 0;)
        if (!g->functions[i].is_called)
            call_planned(g, &g->functions[i]);
}

/* The entry: declares the plan with size expressions that evaluate to the planned numbers, writes the body, and makes
 * the arguments. */

/* ---- size expressions ----
 *
 * Derived backwards from the required result, so that no draw is discarded. A param that no size uses yet is set to the
 * value that is needed. */

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

static void declare_entry_params(vy_gen *g) {
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
            uint32_t size = VY_NONE;
            if (vy_gen_is_choice_input(memory))
                size = vy_irb_size(&g->draft, VY_SIZE_LITERAL, VY_NONE, VY_NONE, memory->count);
            else if (!memory->is_open)
                size = size_expr(g, memory->count, vy_gen_below(g, 3));
            memory->memory = vy_irb_memory_param(&g->draft, vy_gen_name(g, 'b'), VY_SPACE_BUFFER, type,
                                                 (vyre_access)memory->access, size);
        } else if (memory->space == VY_SPACE_CONSTANT) {
            memory->memory = vy_gen_declare_table(g, type, memory->count);
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

/* ---- indices that ownership is based on ---- */

static uint32_t let_u32(vy_gen *g, uint32_t value, int is_uniform) {
    uint32_t variable = vy_irb_let(&g->draft, vy_gen_name(g, 'v'), VYRE_TYPE_U32, value);
    vy_gen_declare(g, variable, VYRE_TYPE_U32, 0, is_uniform);
    return variable;
}

static uint32_t op2(vy_gen *g, vyre_op op, uint32_t a, uint32_t b) {
    return vy_irb_op(&g->draft, op, VYRE_TYPE_U32, a, b, VY_NONE);
}

/* id.x + count.x * (id.y + count.y * id.z), for groups (group_id, group_count) or invocations (global_id,
 * global_size). */
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

/* From here on invocations do not synchronise, so some may return early. Buffers return to their planned phases. */
static void start_tail(vy_gen *g) {
    vy_gen_ownership ownership[VY_GEN_MEMORIES];
    memcpy(ownership, g->ownership, sizeof ownership);
    for (unsigned m = 0; m < g->memory_count; m++)
        if (g->memories[m].space == VY_SPACE_BUFFER)
            ownership[m] = g->planned_ownership[m];
    vy_gen_restore_phases(g, ownership);
    gen_call_rest(g);
    g->place.sync = g->place.uniform = 0;
}

/* A variable of the type of the choice input, which may be none of the program's types. */
static void write_choice_variable(vy_gen *g) {
    for (unsigned m = 0; m < g->memory_count; m++)
        if (vy_gen_is_choice_input(&g->memories[m])) {
            vyre_type type = (vyre_type)g->memories[m].type;
            uint32_t value = vy_irb_variable(&g->draft, g->linear);
            value = vy_gen_with_literal(g, VYRE_OP_MUL, VYRE_TYPE_U32, value, vy_rng_next(&g->rng) & UINT32_MAX);
            if (type != VYRE_TYPE_U32)
                value = vy_irb_op(&g->draft, VYRE_OP_CAST, type, value, VY_NONE, VY_NONE);
            vy_gen_declare(g, vy_irb_let(&g->draft, vy_gen_name(g, 'v'), type, value), type, 0, 0);
        }
}

static void write_body(vy_gen *g) {
    write_indices(g);
    write_choice_variable(g);
    if (g->features & VY_GEN_SYNC) {
        g->place.sync = g->place.uniform = 1;
        vy_gen_statements(g, g->left * 3 / 4);
        start_tail(g);
    } else {
        vy_gen_statements(g, g->left * 3 / 4);
        gen_call_rest(g);
    }
    vy_gen_op_call(g);
    vy_gen_statements(g, g->left);
    /* Every output receives a final value, so that computed values are observable. */
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
    uint32_t written = g->draft.program->stmts.count; /* by the functions, from the same budget */
    vy_irb_begin_entry(&g->draft);
    gen_start_function(g, NULL, g->statements > 2 * written ? g->statements - written : g->statements / 2 + 1);
    g->work_limit = g->statements * 6;
    declare_entry_params(g);
    declare_memories(g);
    declare_grid(g);
    write_body(g);
    vy_irb_end_function(&g->draft);
    fill_params(g);
    return fill_data(g, error);
}
