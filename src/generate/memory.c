/* Random loads, stores, atomics and barriers under the ownership phases of generator.h. */
#include "generate/generator.h"
#include "ir/eval.h"
#include "ir/op_tables.h"

static uint32_t u32(vy_gen *g, uint32_t value) {
    return vy_irb_literal(&g->draft, VYRE_TYPE_U32, value);
}

static uint32_t op2(vy_gen *g, vyre_op op, uint32_t a, uint32_t b) {
    return vy_irb_op(&g->draft, op, VYRE_TYPE_U32, a, b, VY_NONE);
}

/* A u32 without a load, so that nested indices end. */
static uint32_t plain_index(vy_gen *g) {
    const vy_gen_variable *variable = vy_gen_chance(g, 3, 4) ? vy_gen_find_variable(g, VYRE_TYPE_U32, 0) : NULL;
    return variable ? vy_irb_variable(&g->draft, variable->variable) : u32(g, vy_gen_below(g, 12));
}

/* ---- indices ---- */

/* The number of invocations of the base: of the workgroup, or of the grid. */
static uint32_t base_size(vy_gen *g, vy_gen_base base) {
    return base == VY_GEN_BASE_GLOBAL ? vy_irb_variable(&g->draft, g->span) : u32(g, g->size);
}

static uint32_t mapped(vy_gen *g, const vy_gen_ownership *hold) {
    vy_gen_base base = (vy_gen_base)hold->base;
    uint32_t start = base == VY_GEN_BASE_GLOBAL ? g->linear : g->local;
    uint32_t a;
    switch ((vy_gen_map)hold->map) {
    case VY_GEN_MAP_REVERSE:
        a = vy_gen_with_literal(g, VYRE_OP_SUB, VYRE_TYPE_U32, base_size(g, base), 1);
        return op2(g, VYRE_OP_SUB, a, vy_irb_variable(&g->draft, start));
    case VY_GEN_MAP_ROTATE:
        a = vy_gen_with_literal(g, VYRE_OP_ADD, VYRE_TYPE_U32, vy_irb_variable(&g->draft, start), hold->k);
        return op2(g, VYRE_OP_REM, a, base_size(g, base));
    case VY_GEN_MAP_XOR:
        return vy_gen_with_literal(g, VYRE_OP_XOR, VYRE_TYPE_U32, vy_irb_variable(&g->draft, start), hold->k);
    case VY_GEN_MAP_OFFSET:
        return vy_gen_with_literal(g, VYRE_OP_ADD, VYRE_TYPE_U32, vy_irb_variable(&g->draft, start), hold->k);
    case VY_GEN_MAP_SCATTER:
        return vy_gen_with_literal(g, VYRE_OP_MUL, VYRE_TYPE_U32, vy_irb_variable(&g->draft, start), hold->k);
    case VY_GEN_MAP_IDENTITY:
        break;
    }
    return base == VY_GEN_BASE_LOCAL && vy_gen_chance(g, 1, 4) ? vy_irb_builtin(&g->draft, VYRE_BUILTIN_LOCAL_INDEX, 0)
                                                               : vy_irb_variable(&g->draft, start);
}

/* An upper bound of the owned indices, to find the narrower types that can hold them. */
static uint64_t index_bound(const vy_gen *g, const vy_gen_ownership *hold) {
    uint64_t bound = hold->base == VY_GEN_BASE_LOCAL ? g->size : g->total;
    if (hold->map == VY_GEN_MAP_SCATTER)
        return UINT32_MAX;
    return (bound + hold->k + 1) * 2 * hold->stride;
}

static uint32_t in_other_type(vy_gen *g, uint32_t index, uint64_t bound) {
    vyre_type type = vy_gen_integer_type(g);
    if (type == VYRE_TYPE_U32 || bound >> (vy_type_layouts[type].bits - 1))
        return index;
    return vy_irb_op(&g->draft, VYRE_OP_CAST, type, index, VY_NONE, VY_NONE);
}

uint32_t vy_gen_own_index(vy_gen *g, unsigned m, int any_type) {
    const vy_gen_ownership *hold = &g->ownership[m];
    if (hold->base == VY_GEN_BASE_PARAM)
        return vy_irb_variable(&g->draft, hold->k);
    uint32_t index;
    if (hold->base == VY_GEN_BASE_CHUNK) {
        uint32_t chunk = vy_irb_variable(&g->draft, g->chunk);
        index = op2(g, VYRE_OP_ADD, chunk, mapped(g, hold));
    } else {
        index = mapped(g, hold);
    }
    if (hold->stride > 1) {
        index = vy_gen_with_literal(g, VYRE_OP_MUL, VYRE_TYPE_U32, index, hold->stride);
        if (vy_gen_chance(g, 1, 2)) {
            index = vy_gen_with_literal(g, VYRE_OP_ADD, VYRE_TYPE_U32, index, vy_gen_below(g, hold->stride));
        } else {
            uint32_t which = vy_gen_with_literal(g, VYRE_OP_REM, VYRE_TYPE_U32, plain_index(g), hold->stride);
            index = op2(g, VYRE_OP_ADD, index, which);
        }
    }
    return any_type && vy_gen_chance(g, 1, 4) ? in_other_type(g, index, index_bound(g, hold)) : index;
}

static uint32_t any_index(vy_gen *g, unsigned m, unsigned depth) {
    if (!g->only_uniform && vy_gen_draws_idiom(g, VY_GEN_EDGES))
        return vy_gen_edge_index(g, m);
    if (!g->only_uniform && (g->features & VY_GEN_CHOICES) && vy_gen_chance(g, 1, 2))
        return vy_gen_lane_index(g); /* contiguous: an operand in memory of a vector instruction */
    switch (vy_gen_below(g, 8)) {
    case 0:
    case 1:
    case 2:
        return plain_index(g);
    case 3:
    case 4:
    case 5: {
        uint32_t index = depth ? vy_gen_expr(g, VYRE_TYPE_U32, depth - 1) : plain_index(g);
        return op2(g, VYRE_OP_REM, index, vy_irb_len(&g->draft, g->memories[m].memory));
    }
    case 6:
        return u32(g, vy_gen_below(g, g->memories[m].count + 2));
    default: /* any index */
        return depth ? vy_gen_expr(g, vy_gen_integer_type(g), depth - 1) : vy_gen_literal(g, vy_gen_integer_type(g));
    }
}

/* Any element of the workgroup's chunk. */
static uint32_t chunk_index(vy_gen *g, unsigned m) {
    uint32_t stride = g->ownership[m].stride;
    uint32_t first = vy_gen_with_literal(g, VYRE_OP_MUL, VYRE_TYPE_U32, vy_irb_variable(&g->draft, g->chunk), stride);
    uint32_t inside = vy_gen_with_literal(g, VYRE_OP_REM, VYRE_TYPE_U32, plain_index(g), (uint64_t)g->size * stride);
    return op2(g, VYRE_OP_ADD, first, inside);
}

/* ---- loads ---- */

static int may_load(const vy_gen *g, unsigned m) {
    vy_gen_phase phase = (vy_gen_phase)g->ownership[m].phase;
    if (!vy_accesses[g->memories[m].access].loads || phase == VY_GEN_PHASE_ATOMIC)
        return 0;
    return !g->only_uniform || phase == VY_GEN_PHASE_READ;
}

static uint32_t load_from(vy_gen *g, unsigned m, unsigned depth) {
    uint32_t index;
    if (g->ownership[m].phase == VY_GEN_PHASE_OWN)
        index = vy_gen_own_index(g, m, 1);
    else if (g->ownership[m].phase == VY_GEN_PHASE_SHARED && g->ownership[m].base == VY_GEN_BASE_CHUNK)
        index = chunk_index(g, m);
    else
        index = any_index(g, m, depth);
    return vy_irb_load(&g->draft, g->memories[m].memory, index);
}

/* CONDITION ? load : 0 or another literal; an out-of-bounds load also yields 0. */
static uint32_t guarded_load(vy_gen *g, unsigned m, unsigned depth) {
    vyre_type type = (vyre_type)g->memories[m].type;
    int is_free = g->ownership[m].phase == VY_GEN_PHASE_READ && vy_gen_chance(g, 3, 4); /* any element may be loaded */
    uint32_t guard = vy_gen_lane_condition(g), load, other;
    load = is_free ? vy_irb_load(&g->draft, g->memories[m].memory, vy_gen_edge_index(g, m)) : load_from(g, m, depth);
    other = vy_gen_chance(g, 2, 3) ? vy_irb_literal(&g->draft, type, 0) : vy_gen_literal(g, type);
    return vy_irb_op(&g->draft, VYRE_OP_SELECT, type, guard, load, other);
}

uint32_t vy_gen_load(vy_gen *g, vyre_type type, unsigned depth) {
    uint32_t start = g->memory_count ? vy_gen_below(g, g->memory_count) : 0;
    for (uint32_t i = 0; i < g->memory_count; i++) {
        unsigned m = (start + i) % g->memory_count;
        if (g->memories[m].type != type || !may_load(g, m))
            continue;
        return depth == 0 || g->only_uniform || !vy_gen_draws_idiom(g, VY_GEN_EDGES) ? load_from(g, m, depth)
                                                                                     : guarded_load(g, m, depth - 1);
    }
    return VY_NONE;
}

uint32_t vy_gen_choice_load(vy_gen *g, vyre_type type) {
    for (unsigned m = 0; m < g->memory_count && !g->only_uniform; m++)
        if (vy_gen_is_choice_input(&g->memories[m]) && g->memories[m].type == type)
            return vy_irb_load(&g->draft, g->memories[m].memory, vy_gen_local_id(g, 3));
    return VY_NONE;
}

uint32_t vy_gen_guarded_load(vy_gen *g, vyre_type *type) {
    uint32_t start = g->memory_count ? vy_gen_below(g, g->memory_count) : 0;
    for (uint32_t i = 0; i < g->memory_count; i++) {
        unsigned m = (start + i) % g->memory_count;
        if (!may_load(g, m) || (*type != VYRE_TYPE_COUNT && g->memories[m].type != *type))
            continue;
        *type = (vyre_type)g->memories[m].type;
        return guarded_load(g, m, 1);
    }
    return VY_NONE;
}

/* ---- stores ---- */

/* Moves an owned index out of bounds, still different for every invocation: below zero, or beyond any generated
 * buffer. */
static uint32_t out_of_bounds(vy_gen *g, unsigned m) {
    if (vy_gen_chance(g, 1, 2) && g->ownership[m].base != VY_GEN_BASE_PARAM &&
        g->ownership[m].map != VY_GEN_MAP_SCATTER)
        return vy_gen_with_literal(g, VYRE_OP_ADD, VYRE_TYPE_U32, vy_gen_own_index(g, m, 0), UINT32_C(1) << 31);
    uint32_t minus_one = vy_irb_literal(&g->draft, VYRE_TYPE_I64, UINT64_MAX);
    uint32_t index = vy_irb_op(&g->draft, VYRE_OP_CAST, VYRE_TYPE_I64, vy_gen_own_index(g, m, 0), VY_NONE, VY_NONE);
    return vy_irb_op(&g->draft, VYRE_OP_SUB, VYRE_TYPE_I64, minus_one, index, VY_NONE);
}

static int may_store(const vy_gen *g, unsigned m) {
    vy_gen_phase phase = (vy_gen_phase)g->ownership[m].phase;
    return vy_accesses[g->memories[m].access].stores && (phase == VY_GEN_PHASE_PRIVATE || phase == VY_GEN_PHASE_OWN);
}

int vy_gen_store_to(vy_gen *g, unsigned m, int digest) {
    if (!may_store(g, m))
        return 0;
    uint32_t index;
    if (g->ownership[m].phase == VY_GEN_PHASE_PRIVATE)
        index = any_index(g, m, g->depth / 2);
    else
        index = vy_gen_chance(g, 1, 16) ? out_of_bounds(g, m) : vy_gen_own_index(g, m, 1);
    vyre_type type = (vyre_type)g->memories[m].type;
    int is_integer = (vy_type_layouts[type].classes & VYRE_CLASS_INTEGER) != 0;
    uint32_t value = VY_NONE;
    if (digest && g->memories[m].is_choice)
        value = vy_gen_choice(g, type);
    else if (digest && is_integer)
        value = vy_gen_digest(g, type);
    else if (vy_gen_draws_idiom(g, VY_GEN_EDGES))
        value = vy_gen_guarded_load(g, &type);
    if (value == VY_NONE)
        value = vy_gen_expr(g, type, g->depth);
    vy_irb_store(&g->draft, g->memories[m].memory, index, value);
    return 1;
}

/* Opens an `if` around an access that is inactive for some lanes. Returns whether it did. */
static int open_guard(vy_gen *g) {
    int is_open = vy_gen_draws_idiom(g, VY_GEN_EDGES);
    if (is_open)
        vy_irb_if(&g->draft, vy_gen_lane_condition(g));
    return is_open;
}

int vy_gen_store(vy_gen *g) {
    uint32_t start = g->memory_count ? vy_gen_below(g, g->memory_count) : 0;
    for (uint32_t i = 0; i < g->memory_count; i++) {
        unsigned m = (start + i) % g->memory_count;
        if (!may_store(g, m))
            continue;
        int is_open = open_guard(g);
        vy_gen_store_to(g, m, 0);
        if (is_open)
            vy_irb_end_block(&g->draft);
        return 1;
    }
    return 0;
}

/* ---- atomics ---- */

static void write_atomic(vy_gen *g, unsigned m) {
    const vy_gen_memory *memory = &g->memories[m];
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_ATOMIC);
    stmt.op = memory->atomic;
    stmt.memory = memory->memory;
    /* Between workgroups only device scope orders. A chunk belongs to one workgroup. */
    int own_group = memory->space == VY_SPACE_WORKGROUP || g->ownership[m].base == VY_GEN_BASE_CHUNK;
    stmt.scope = own_group && vy_gen_chance(g, 1, 2) ? VYRE_SCOPE_WORKGROUP : VYRE_SCOPE_DEVICE;
    stmt.order = (uint8_t)vy_gen_below(g, stmt.op == VYRE_ATOMIC_LOAD ? VYRE_ORDER_RELEASE : VYRE_ORDER_COUNT);
    stmt.a = g->ownership[m].base == VY_GEN_BASE_CHUNK ? chunk_index(g, m) : any_index(g, m, g->depth / 2);
    if (stmt.op != VYRE_ATOMIC_LOAD)
        stmt.b = vy_gen_expr(g, (vyre_type)memory->type, g->depth);
    vy_irb_stmt(&g->draft, &stmt, NULL, 0, NULL, NULL);
}

int vy_gen_atomic(vy_gen *g) {
    uint32_t start = g->memory_count ? vy_gen_below(g, g->memory_count) : 0;
    for (uint32_t i = 0; i < g->memory_count; i++) {
        unsigned m = (start + i) % g->memory_count;
        if (g->ownership[m].phase != VY_GEN_PHASE_ATOMIC)
            continue;
        int is_open = open_guard(g);
        write_atomic(g, m);
        if (is_open)
            vy_irb_end_block(&g->draft);
        return 1;
    }
    return 0;
}

/* ---- barriers ---- */

vy_gen_ownership vy_gen_draw_ownership(vy_gen *g, const vy_gen_memory *memory, vy_gen_base base) {
    vy_gen_ownership hold = {.phase = VY_GEN_PHASE_OWN, .base = (uint8_t)base, .stride = 1};
    uint32_t size = base == VY_GEN_BASE_GLOBAL ? g->total : g->size;
    hold.map = (uint8_t)vy_gen_below(g, base == VY_GEN_BASE_CHUNK ? VY_GEN_MAP_OFFSET : VY_GEN_MAP_SCATTER + 1);
    /* Usually the identity: owned elements that exist. Indices must stay in the chunk, so xor requires a power of two
     * there. */
    if (vy_gen_chance(g, 2, 5) || (base == VY_GEN_BASE_CHUNK && hold.map == VY_GEN_MAP_XOR && (size & (size - 1))))
        hold.map = VY_GEN_MAP_IDENTITY;
    if (hold.map == VY_GEN_MAP_SCATTER && vy_gen_chance(g, 3, 4))
        hold.map = VY_GEN_MAP_ROTATE;
    if (hold.map == VY_GEN_MAP_ROTATE || hold.map == VY_GEN_MAP_XOR || hold.map == VY_GEN_MAP_OFFSET)
        hold.k = vy_gen_below(g, size + 1);
    if (hold.map == VY_GEN_MAP_XOR)
        hold.k &= base == VY_GEN_BASE_CHUNK ? size - 1 : 63;
    if (hold.map == VY_GEN_MAP_SCATTER)
        hold.k = (uint32_t)vy_rng_next(&g->rng) | 1; /* odd: a bijection of u32 */
    if (hold.map != VY_GEN_MAP_SCATTER && memory->count > 2 * size && vy_gen_chance(g, 1, 2))
        hold.stride = (uint8_t)vy_gen_below(g, 3) + 1;
    return hold;
}

static int may_change(const vy_gen *g, unsigned m, vyre_scope scope) {
    const vy_gen_memory *memory = &g->memories[m];
    if (memory->space == VY_SPACE_WORKGROUP)
        return 1;
    if (memory->space != VY_SPACE_BUFFER || memory->access != VYRE_ACCESS_READ_WRITE || g->function)
        return 0;
    if (g->ownership[m].phase != VY_GEN_PHASE_OWN && g->ownership[m].phase != VY_GEN_PHASE_SHARED)
        return 0;
    return g->ownership[m].base == VY_GEN_BASE_CHUNK || scope == VYRE_SCOPE_DEVICE;
}

/* Draws the ownership of a memory after a barrier. */
static vy_gen_ownership draw_hold(vy_gen *g, unsigned m) {
    const vy_gen_memory *memory = &g->memories[m];
    vy_gen_ownership now = g->ownership[m];
    vy_gen_ownership shared = {.phase = VY_GEN_PHASE_SHARED, .base = now.base, .stride = now.stride};
    if (memory->space == VY_SPACE_BUFFER) {
        vy_gen_ownership own = vy_gen_draw_ownership(g, memory, (vy_gen_base)now.base);
        if (now.base == VY_GEN_BASE_CHUNK)
            own.stride = now.stride; /* another stride would move the chunk to elements of other workgroups */
        return vy_gen_chance(g, 1, 2) ? own : shared;
    }
    if (memory->atomic != VYRE_ATOMIC_COUNT && vy_gen_chance(g, 1, 3))
        return (vy_gen_ownership){.phase = VY_GEN_PHASE_ATOMIC};
    if (g->function) /* only the element of the caller is known to be owned */
        return memory->slot != VY_NONE && vy_gen_chance(g, 1, 2) ? (vy_gen_ownership){.phase = VY_GEN_PHASE_OWN,
                                                                                      .base = VY_GEN_BASE_PARAM,
                                                                                      .stride = 1,
                                                                                      .k = memory->slot}
                                                                 : (vy_gen_ownership){.phase = VY_GEN_PHASE_SHARED};
    return vy_gen_chance(g, 1, 2) ? vy_gen_draw_ownership(g, memory, VY_GEN_BASE_LOCAL)
                                  : (vy_gen_ownership){.phase = VY_GEN_PHASE_SHARED};
}

static void write_barrier(vy_gen *g, vyre_scope scope) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_BARRIER);
    stmt.scope = (uint8_t)scope;
    vy_irb_stmt(&g->draft, &stmt, NULL, 0, NULL, NULL);
}

static void let_loaded(vy_gen *g, unsigned m) {
    vyre_type type = (vyre_type)g->memories[m].type;
    uint32_t value = load_from(g, m, 1);
    uint32_t variable = vy_irb_let(&g->draft, vy_gen_name(g, 'v'), type, value);
    vy_gen_declare(g, variable, type, 0, 0);
}

int vy_gen_barrier(vy_gen *g) {
    if (!g->place.uniform || !g->place.sync)
        return 0;
    vyre_scope scope = VYRE_SCOPE_WORKGROUP;
    if ((g->features & VY_GEN_GRID_BARRIER) && g->place.nesting == 0 && !g->function)
        scope = vy_gen_chance(g, 1, 2) ? VYRE_SCOPE_DEVICE : VYRE_SCOPE_WORKGROUP;
    /* Makes the barrier matter: writes before it, and reads by other invocations after it. */
    for (unsigned m = 0; m < g->memory_count; m++)
        if (may_change(g, m, scope) && vy_gen_chance(g, 1, 2))
            vy_gen_store_to(g, m, 0);
    write_barrier(g, scope);
    uint32_t fresh =
        0; /* memories that are shared now; loaded after all phases are set, because an index may contain a load, too */
    for (unsigned m = 0; m < g->memory_count; m++) {
        vy_gen_phase before = (vy_gen_phase)g->ownership[m].phase;
        if (!may_change(g, m, scope) || vy_gen_chance(g, 1, 3))
            continue;
        g->ownership[m] = draw_hold(g, m);
        fresh |= (uint32_t)(g->ownership[m].phase == VY_GEN_PHASE_SHARED && before != VY_GEN_PHASE_SHARED) << m;
    }
    for (unsigned m = 0; m < g->memory_count; m++)
        if ((fresh >> m & 1) && vy_gen_chance(g, 2, 3))
            let_loaded(g, m);
    return 1;
}

void vy_gen_restore_phases(vy_gen *g, const vy_gen_ownership *ownership) {
    if (memcmp(g->ownership, ownership, g->memory_count * sizeof *ownership) == 0)
        return;
    int grid = 0;
    for (unsigned m = 0; m < g->memory_count; m++)
        grid |= g->memories[m].space == VY_SPACE_BUFFER && ownership[m].base == VY_GEN_BASE_GLOBAL &&
                memcmp(&g->ownership[m], &ownership[m], sizeof *ownership) != 0;
    write_barrier(g, grid ? VYRE_SCOPE_DEVICE : VYRE_SCOPE_WORKGROUP);
    memcpy(g->ownership, ownership, g->memory_count * sizeof *ownership);
}
