/* Structured statements and the ways out of them. All of it ends: a `for` makes few trips by its bounds, a `while` burns fuel. */
#include "generate/gen.h"
#include "ir/eval.h"

/* ---- blocks ---- */

enum { MAX_NESTING = 6 };

/* A share of what is left for a nested block. */
static unsigned block_size(vy_gen *g) {
    return 1 + vy_gen_below(g, g->left / 3 < 8 ? g->left / 3 + 1 : 8);
}

static int may_nest(const vy_gen *g) {
    return g->place.nesting < MAX_NESTING && g->left > 0;
}

/* A nested block: `uniform` says whether the whole workgroup goes in together. The phases are brought back at the end. */
static void write_block(vy_gen *g, int uniform, unsigned count) {
    vy_gen_place place = g->place;
    vy_hold holds[VY_GEN_MEMORIES];
    memcpy(holds, g->holds, sizeof holds);
    g->place.uniform = (uint8_t)(place.uniform && uniform);
    g->place.nesting++;
    vy_gen_block(g, count);
    vy_gen_settle(g, holds);
    g->place = place;
}

/* A condition: uniform if the caller can use that and luck has it; *uniform says so. */
static uint32_t condition(vy_gen *g, int *uniform) {
    *uniform = g->place.uniform && (*uniform || vy_gen_chance(g, 1, 2));
    unsigned depth = g->depth > 2 ? g->depth - 1 : g->depth;
    return *uniform ? vy_gen_uniform_expr(g, VYRE_TYPE_BOOL, depth) : vy_gen_expr(g, VYRE_TYPE_BOOL, depth);
}

int vy_gen_if(vy_gen *g) {
    if (!may_nest(g))
        return 0;
    int uniform = 0;
    uint32_t test = condition(g, &uniform);
    vy_draft_if(&g->draft, test);
    write_block(g, uniform, block_size(g));
    if (g->left && vy_gen_chance(g, 2, 5)) {
        vy_draft_else(&g->draft);
        write_block(g, uniform, block_size(g));
    }
    vy_draft_end(&g->draft);
    return 1;
}

int vy_gen_region(vy_gen *g) {
    static const char *const names[] = {"math.exp", "vec.dot", "scan", "a.b.c"};
    if (!may_nest(g))
        return 0;
    const char *name = names[vy_gen_below(g, sizeof names / sizeof *names)];
    vy_stmt stmt = vy_draft_blank(VY_STMT_REGION);
    stmt.name = vy_draft_name(&g->draft, name, strlen(name));
    vy_draft_stmt(&g->draft, &stmt, NULL, 0, NULL, NULL);
    /* Straight on: phases need no way back. */
    g->place.nesting++;
    vy_gen_block(g, block_size(g));
    g->place.nesting--;
    vy_draft_end(&g->draft);
    return 1;
}

/* ---- loops ---- */

static int may_loop(const vy_gen *g) {
    return may_nest(g) && g->left > 1 && g->place.times * 4 <= VY_GEN_TRIPS && g->work < g->work_limit;
}

static void write_loop_body(vy_gen *g, int uniform, unsigned trips) {
    vy_gen_place place = g->place;
    g->place.in_loop = 1;
    g->place.loop_uniform = (uint8_t)(place.uniform && uniform);
    g->place.times *= trips ? trips : 1;
    memcpy(g->place.loop_holds, g->holds, sizeof g->holds);
    write_block(g, uniform, 1 + block_size(g));
    g->place = place;
}

typedef struct for_bounds {
    uint32_t from, to, step;
    unsigned trips;
} for_bounds;

static uint32_t bound(vy_gen *g, vyre_type type, int uniform, unsigned depth) {
    return uniform ? vy_gen_uniform_expr(g, type, depth) : vy_gen_expr(g, type, depth);
}

/* Literals at the ends of the type or near zero, either direction, sometimes the wrong one. */
static for_bounds literal_bounds(vy_gen *g, vyre_type type) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    int is_signed = layout->classes == VYRE_CLASS_SIGNED;
    uint64_t lowest = is_signed ? UINT64_C(1) << (layout->bits - 1) : 0;
    uint64_t highest = is_signed ? lowest - 1 : layout->mask;
    unsigned trips = vy_gen_below(g, 5), stride = 1 + vy_gen_below(g, 7);
    uint64_t reach = (uint64_t)trips * stride;
    for_bounds made = {.step = VY_NONE, .trips = trips};
    uint64_t from, to, step = stride;
    if (is_signed && vy_gen_chance(g, 1, 3)) { /* down */
        to = vy_gen_chance(g, 1, 2) ? lowest + vy_gen_below(g, 3) : 0 - (uint64_t)vy_gen_below(g, 5);
        from = to + reach;
        step = 0 - step;
    } else {
        to = vy_gen_chance(g, 1, 3) ? highest - vy_gen_below(g, 3) : reach + vy_gen_below(g, stride);
        from = to - reach;
    }
    if (vy_gen_chance(g, 1, 12)) { /* no trip: the other way round */
        uint64_t swap = from;
        from = to;
        to = swap;
    }
    if (vy_gen_chance(g, 1, 16))
        step = 0;
    made.from = vy_draft_literal(&g->draft, type, from);
    made.to = vy_draft_literal(&g->draft, type, to);
    if (step != 1 || vy_gen_chance(g, 1, 2))
        made.step = vy_draft_literal(&g->draft, type, step);
    return made;
}

/* Computed bounds, masked to be small; the step too, and it may be zero. */
static for_bounds masked_bounds(vy_gen *g, vyre_type type, int uniform) {
    for_bounds made = {.step = VY_NONE, .trips = 4};
    made.from = vy_gen_with(g, VYRE_OP_AND, type, bound(g, type, uniform, 2), 3);
    made.to = vy_gen_with(g, VYRE_OP_AND, type, bound(g, type, uniform, 2), 7);
    if (vy_gen_chance(g, 1, 2))
        made.step = vy_gen_with(g, VYRE_OP_AND, type, bound(g, type, uniform, 1), 3);
    return made;
}

/* Any bounds at all, with a step so wide that the type has room for four trips: nothing may wrap at its end. */
static for_bounds wide_bounds(vy_gen *g, vyre_type type, int uniform) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    uint64_t step = (UINT64_C(1) << (layout->bits - 2)) + vy_gen_below(g, 8);
    if (layout->classes == VYRE_CLASS_SIGNED && vy_gen_chance(g, 1, 2))
        step = 0 - step;
    for_bounds made = {.trips = 4};
    made.from = bound(g, type, uniform, 2);
    made.to = bound(g, type, uniform, 2);
    made.step = vy_draft_literal(&g->draft, type, step);
    return made;
}

/* Lets the number of trips and what they count be seen in a variable from outside. */
static void count_trip(vy_gen *g, uint32_t counter, vyre_type type, uint32_t variable) {
    uint32_t sum = vy_draft_variable(&g->draft, counter), now;
    sum = vy_gen_with(g, VYRE_OP_ROTL, type, sum, 5);
    now = vy_draft_variable(&g->draft, variable);
    sum = vy_draft_op(&g->draft, VYRE_OP_XOR, type, sum, now, VY_NONE);
    vy_draft_assign(&g->draft, counter, sum);
}

static void write_for(vy_gen *g, vyre_type type, const for_bounds *bounds, int uniform, uint32_t counter) {
    uint32_t variable = vy_draft_for(&g->draft, vy_gen_name(g, 'k'), type, bounds->from, bounds->to, bounds->step);
    uint32_t scope = g->variables.count;
    vy_gen_declare(g, variable, type, 0, uniform);
    if (counter != VY_NONE)
        count_trip(g, counter, type, variable);
    write_loop_body(g, uniform, bounds->trips);
    g->variables.count = scope;
    vy_draft_end(&g->draft);
}

/* ---- loops along local ids ----
 *
 * Every invocation has trips of its own, as where a workgroup goes through something in strides, and some do not come there at all:
 *
 *     var v = …
 *     if CONDITION { for k in local_index .. 100 step 32 { v = rotl(v, 5) ^ k … } } */

/* A local id: axis 3 is the index in the workgroup. */
static uint32_t local_id(vy_gen *g, vyre_type type, uint32_t axis) {
    uint32_t id = axis == 3 ? vy_draft_builtin(&g->draft, VYRE_BUILTIN_LOCAL_INDEX, 0)
                            : vy_draft_builtin(&g->draft, VYRE_BUILTIN_LOCAL_ID, axis);
    return type == VYRE_TYPE_U32 ? id : vy_draft_op(&g->draft, VYRE_OP_CAST, type, id, VY_NONE, VY_NONE);
}

/* Down from the id; up to it; a few elements from it on; or from it in strides, mostly of all ids. Never more than four trips. */
static for_bounds local_bounds(vy_gen *g, vyre_type type) {
    enum { TRIPS = 4 };
    uint32_t axis = vy_gen_below(g, 6), draw = vy_gen_below(g, 6);
    axis = axis > 3 ? 3 : axis;
    uint32_t count = axis == 3 ? g->size : g->workgroup[axis];
    uint32_t stride = vy_gen_chance(g, 1, 2) ? count : 1 + vy_gen_below(g, count + 3);
    uint32_t reach = stride * (1 + vy_gen_below(g, TRIPS));
    for_bounds made = {.step = VY_NONE, .trips = TRIPS};
    if (draw == 0 && vy_type_layouts[type].classes == VYRE_CLASS_SIGNED) {
        made.from = local_id(g, type, axis);
        made.to = vy_draft_literal(&g->draft, type, count - 1 - (uint64_t)reach);
        made.step = vy_draft_literal(&g->draft, type, 0 - (uint64_t)stride);
    } else if (draw == 1) {
        made.from = vy_draft_literal(&g->draft, type, vy_gen_below(g, 3));
        made.to = local_id(g, type, axis);
        made.step = vy_draft_literal(&g->draft, type, (count + TRIPS - 1) / TRIPS);
    } else if (draw == 2) {
        made.from = local_id(g, type, axis);
        made.to = local_id(g, type, axis);
        uint32_t length = vy_gen_with(g, VYRE_OP_AND, type, vy_gen_expr(g, type, 1), 3);
        made.to = vy_draft_op(&g->draft, VYRE_OP_ADD, type, made.to, length, VY_NONE);
    } else {
        made.from = local_id(g, type, axis);
        made.to = vy_draft_literal(&g->draft, type, reach - vy_gen_below(g, stride));
        made.step = vy_draft_literal(&g->draft, type, stride);
    }
    return made;
}

/* Of each invocation: often one that half of them meet. */
static uint32_t local_condition(vy_gen *g) {
    if (vy_gen_chance(g, 1, 2))
        return vy_gen_expr(g, VYRE_TYPE_BOOL, 2);
    vyre_type type = vy_gen_integer_type(g);
    uint32_t bit = vy_gen_with(g, VYRE_OP_AND, type, vy_gen_expr(g, type, 1), 1), zero;
    zero = vy_draft_literal(&g->draft, type, 0);
    return vy_draft_op(&g->draft, VYRE_OP_EQ, VYRE_TYPE_BOOL, bit, zero, VY_NONE);
}

/* The counter, and the loop: in two of three cases under a condition. */
static void write_for_locals(vy_gen *g) {
    vyre_type type = vy_gen_integer_type(g);
    if (vy_type_layouts[type].bits < 16) /* ids and strides do not fit */
        type = VYRE_TYPE_U32;
    uint32_t counter = vy_draft_var(&g->draft, vy_gen_name(g, 'v'), type, vy_gen_expr(g, type, 1));
    vy_gen_declare(g, counter, type, 1, 0);
    vy_gen_place place = g->place;
    int is_open = vy_gen_chance(g, 2, 3);
    g->left -= 2u + (unsigned)is_open;
    if (is_open) {
        vy_draft_if(&g->draft, local_condition(g));
        g->place.uniform = 0;
        g->place.nesting++;
    }
    for_bounds bounds = local_bounds(g, type);
    write_for(g, type, &bounds, 0, counter);
    if (is_open)
        vy_draft_end(&g->draft);
    g->place = place;
}

int vy_gen_for(vy_gen *g) {
    if (!may_loop(g))
        return 0;
    if (g->left > 4 && vy_gen_chance(g, 1, 4)) {
        write_for_locals(g);
        return 1;
    }
    vyre_type type = vy_gen_integer_type(g);
    /* A loop with uniform bounds that lanes may leave on their own is not uniform. */
    int uniform = g->place.uniform && vy_gen_chance(g, 2, 3);
    uint32_t draw = vy_gen_below(g, 10);
    for_bounds bounds = draw < 5   ? literal_bounds(g, type)
                        : draw < 8 ? masked_bounds(g, type, uniform)
                                   : wide_bounds(g, type, uniform);
    write_for(g, type, &bounds, uniform, VY_NONE);
    return 1;
}

/* Fuel is a variable of its own that nothing else assigns, burned first thing in the body, so that `continue` cannot skip it. */
int vy_gen_while(vy_gen *g) {
    if (!may_loop(g) || g->left < 3)
        return 0;
    g->left--; /* the fuel is a statement too */
    int uniform = g->place.uniform && vy_gen_chance(g, 1, 2);
    vyre_type type = vy_gen_integer_type(g);
    unsigned trips = 1 + vy_gen_below(g, 4);
    uint32_t fuel = vy_draft_var(&g->draft, vy_gen_name(g, 'w'), type, vy_draft_literal(&g->draft, type, trips));
    vy_gen_declare(g, fuel, type, 0, uniform);
    uint32_t zero, test;
    test = vy_draft_variable(&g->draft, fuel);
    zero = vy_draft_literal(&g->draft, type, 0);
    test = vy_draft_op(&g->draft, VYRE_OP_NE, VYRE_TYPE_BOOL, test, zero, VY_NONE);
    if (vy_gen_chance(g, 1, 2)) {
        uint32_t more = bound(g, VYRE_TYPE_BOOL, uniform, 2);
        test = vy_draft_op(&g->draft, VYRE_OP_LAND, VYRE_TYPE_BOOL, test, more, VY_NONE);
    }
    vy_draft_while(&g->draft, test);
    uint32_t burned = vy_gen_with(g, VYRE_OP_SUB, type, vy_draft_variable(&g->draft, fuel), 1);
    vy_draft_assign(&g->draft, fuel, burned);
    write_loop_body(g, uniform, trips);
    vy_draft_end(&g->draft);
    return 1;
}

/* ---- ways out ---- */

/* if CONDITION { one statement or none, then the way out } */
static void open_exit(vy_gen *g, int uniform) {
    uint32_t test = condition(g, &uniform);
    vy_draft_if(&g->draft, test);
    if (g->left && vy_gen_chance(g, 1, 3)) {
        vy_gen_place place = g->place;
        g->place.uniform = 0; /* no barrier between here and the way out: phases stay */
        g->place.nesting++;
        vy_gen_block(g, 1);
        g->place = place;
    }
}

int vy_gen_leave_loop(vy_gen *g, vy_stmt_kind kind) {
    if (!g->place.in_loop || !may_nest(g))
        return 0;
    if (g->place.loop_uniform &&
        (!g->place.uniform || memcmp(g->holds, g->place.loop_holds, g->memory_count * sizeof *g->holds) != 0))
        return 0;
    open_exit(g, g->place.loop_uniform);
    vy_draft_simple(&g->draft, kind);
    vy_draft_end(&g->draft);
    return 1;
}

int vy_gen_return(vy_gen *g) {
    if ((g->place.sync && !g->place.uniform) || !may_nest(g))
        return 0;
    /* A grid barrier needs every workgroup, also those that would have gone. */
    if (g->place.sync && !g->function && (g->features & VY_GEN_GRID_BARRIER))
        return 0;
    open_exit(g, g->place.sync);
    vy_gen_return_values(g);
    vy_draft_end(&g->draft);
    return 1;
}

/* Rarely met: a few of a hundred programs have a trap, and it waits for a few invocations or a rare value. */
int vy_gen_trap(vy_gen *g) {
    if (!may_nest(g))
        return 0;
    uint32_t test, value;
    if (vy_gen_chance(g, 1, 2)) {
        test = vy_draft_builtin(&g->draft, VYRE_BUILTIN_GLOBAL_ID, 0);
        value = vy_draft_literal(&g->draft, VYRE_TYPE_U32, vy_gen_below(g, g->total + 1));
    } else {
        vyre_type type = vy_gen_integer_type(g);
        test = vy_gen_leaf(g, type, 1);
        value = vy_gen_literal(g, type);
    }
    test = vy_draft_op(&g->draft, VYRE_OP_EQ, VYRE_TYPE_BOOL, test, value, VY_NONE);
    vy_draft_if(&g->draft, test);
    vy_stmt stmt = vy_draft_blank(VY_STMT_TRAP);
    stmt.a = vy_gen_expr(g, VYRE_TYPE_U32, 1);
    vy_draft_stmt(&g->draft, &stmt, NULL, 0, NULL, NULL);
    vy_draft_end(&g->draft);
    return 1;
}
