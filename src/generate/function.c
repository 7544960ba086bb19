/* Functions and their calls.
 *
 * A function is written before its callers and may call those written before it. What it may do to a memory it is given is fixed by the
 * phase of the parameter: the caller passes only a memory that is in that phase, and with an OWN parameter the element it owns. */
#include "generate/generator.h"

/* ---- signatures ---- */

static vy_gen_function_param *add_param(vy_gen_function *function) {
    return function->param_count < VY_GEN_FUNCTION_PARAMS ? &function->params[function->param_count++] : NULL;
}

static void add_scalar_param(vy_gen *g, vy_gen_function *function) {
    vy_gen_function_param *param = add_param(function);
    if (param)
        *param = (vy_gen_function_param){.type = (uint8_t)vy_gen_type(g)};
}

/* The phase in which a function gets a memory like this one of the plan. */
static vy_gen_phase draw_phase(vy_gen *g, const vy_gen_memory *memory, const vy_gen_ownership *hold) {
    if (memory->space != VY_SPACE_WORKGROUP || !(g->features & VY_GEN_SYNC)) /* without barriers phases stay */
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
    /* The function does not know the chunk of its workgroup. */
    if (memory->space == VY_SPACE_PRIVATE || (phase != VY_GEN_PHASE_READ && has_plan(function, m)) ||
        (phase == VY_GEN_PHASE_ATOMIC && g->planned_ownership[m].base == VY_GEN_BASE_CHUNK))
        return;
    unsigned at = function->param_count;
    *add_param(function) = (vy_gen_function_param){.is_memory = 1,
                                                   .type = memory->type,
                                                   .space = memory->space,
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

void vy_gen_start_function(vy_gen *g, const vy_gen_function *function, unsigned statements) {
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
    vy_gen_start_function(g, function, statements);
    declare_params(g, function);
    for (unsigned i = 0; i < function->result_count; i++)
        vy_irb_result(&g->draft, function->result_count > 1 || vy_gen_chance(g, 1, 2) ? vy_gen_name(g, 'r') : 0,
                      (vyre_type)function->results[i]);
    if ((g->features & VY_GEN_PRIVATE) && vy_gen_chance(g, 1, 2))
        declare_private_array(g);
    if (function->has_sync) {
        vy_gen_ownership ownership[VY_GEN_MEMORIES];
        memcpy(ownership, g->ownership, sizeof ownership);
        g->place.uniform = g->place.sync = 1;
        vy_gen_statements(g, statements * 2 / 3);
        vy_gen_restore_phases(g, ownership);
        g->place.sync = g->place.uniform = 0; /* some may leave now, and what they miss is no longer uniform */
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
    unsigned most = 1 + g->statements / 8; /* a short program has few */
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
    if (memory->space != param->space || memory->type != param->type || g->ownership[m].phase != param->phase)
        return 0;
    if (param->phase == VY_GEN_PHASE_READ) /* read and uniform are both never written */
        return 1;
    if (memory->access != param->access)
        return 0;
    if (param->phase == VY_GEN_PHASE_ATOMIC)
        return memory->atomic == param->atomic && g->ownership[m].base != VY_GEN_BASE_CHUNK;
    return 1;
}

/* A memory for every memory parameter, no written one twice; 0 if there is none. */
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

/* Whether what the calls become stays in proportion: calls of calls multiply. */
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

/* The memories of the plan, brought into the phases the function wants. */
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

void vy_gen_call_rest(vy_gen *g) {
    vy_gen_start_statement(g);
    for (unsigned i = g->function_count; i-- > 0;)
        if (!g->functions[i].is_called)
            call_planned(g, &g->functions[i]);
}
