/* Random statements: blocks, control flow and the simple kinds. All programs terminate: a `for` has few trips by its
 * bounds; a `while` consumes fuel or counts to a near end. */
#include "generate/generator.h"
#include "ir/eval.h"
#include "ir/op_tables.h"

static void gen_block(vy_gen *g, unsigned count);

/* ---- blocks ---- */

enum { MAX_NESTING = 6 };

/* A share of the remaining statements for a nested block. */
static unsigned block_size(vy_gen *g) {
    return 1 + vy_gen_below(g, g->left / 3 < 8 ? g->left / 3 + 1 : 8);
}

static int may_nest(const vy_gen *g) {
    return g->place.nesting < MAX_NESTING && g->left > 0;
}

/* Writes a nested block. `uniform`: the whole workgroup enters it together. The phases are restored at its end. */
static void write_block(vy_gen *g, int uniform, unsigned count) {
    vy_gen_context place = g->place;
    vy_gen_ownership ownership[VY_GEN_MEMORIES];
    memcpy(ownership, g->ownership, sizeof ownership);
    g->place.uniform = (uint8_t)(place.uniform && uniform);
    g->place.nesting++;
    gen_block(g, count);
    vy_gen_restore_phases(g, ownership);
    g->place = place;
}

/* A condition, uniform with some probability if the caller can use that; *uniform is set then. */
static uint32_t condition(vy_gen *g, int *uniform) {
    *uniform = g->place.uniform && (*uniform || vy_gen_chance(g, 1, 2));
    unsigned depth = g->depth > 2 ? g->depth - 1 : g->depth;
    if (*uniform)
        return vy_gen_uniform_expr(g, VYRE_TYPE_BOOL, depth);
    return vy_gen_draws_idiom(g, VY_GEN_EDGES) ? vy_gen_lane_condition(g) : vy_gen_expr(g, VYRE_TYPE_BOOL, depth);
}

static int gen_if(vy_gen *g) {
    if (!may_nest(g))
        return 0;
    int uniform = 0;
    uint32_t test = condition(g, &uniform);
    vy_irb_if(&g->draft, test);
    write_block(g, uniform, block_size(g));
    if (g->left && vy_gen_chance(g, 2, 5)) {
        vy_irb_else(&g->draft);
        write_block(g, uniform, block_size(g));
    }
    vy_irb_end_block(&g->draft);
    return 1;
}

static int gen_region(vy_gen *g) {
    static const char *const names[] = {"math.exp", "vec.dot", "scan", "a.b.c"};
    if (!may_nest(g))
        return 0;
    const char *name = names[vy_gen_below(g, sizeof names / sizeof *names)];
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_REGION);
    stmt.name = vy_irb_intern(&g->draft, name, strlen(name));
    vy_irb_stmt(&g->draft, &stmt, NULL, 0, NULL, NULL);
    /* Control continues straight, so phases need not be restored. */
    g->place.nesting++;
    gen_block(g, block_size(g));
    g->place.nesting--;
    vy_irb_end_block(&g->draft);
    return 1;
}

/* ---- loops ---- */

static int may_loop(const vy_gen *g) {
    return may_nest(g) && g->left > 1 && g->place.times * 4 <= VY_GEN_TRIPS && g->work < g->work_limit;
}

static void write_loop_body(vy_gen *g, int uniform, unsigned trips) {
    vy_gen_context place = g->place;
    g->place.in_loop = 1;
    g->place.loop_uniform = (uint8_t)(place.uniform && uniform);
    g->place.times *= trips ? trips : 1;
    memcpy(g->place.loop_ownership, g->ownership, sizeof g->ownership);
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

static int is_signed_type(vyre_type type) {
    return vy_type_layouts[type].classes == VYRE_CLASS_SIGNED;
}

static uint64_t lowest_of(vyre_type type) {
    return is_signed_type(type) ? UINT64_C(1) << (vy_type_layouts[type].bits - 1) : 0;
}

static uint64_t highest_of(vyre_type type) {
    return is_signed_type(type) ? lowest_of(type) - 1 : vy_type_layouts[type].mask;
}

/* Literals at the ends of the type or near zero, in either direction, sometimes the wrong one. */
static for_bounds literal_bounds(vy_gen *g, vyre_type type) {
    int is_signed = is_signed_type(type);
    uint64_t lowest = lowest_of(type), highest = highest_of(type);
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
    if (vy_gen_chance(g, 1, 12)) { /* no trip: reversed bounds */
        uint64_t swap = from;
        from = to;
        to = swap;
    }
    if (vy_gen_chance(g, 1, 16))
        step = 0;
    made.from = vy_irb_literal(&g->draft, type, from);
    made.to = vy_irb_literal(&g->draft, type, to);
    if (step != 1 || vy_gen_chance(g, 1, 2))
        made.step = vy_irb_literal(&g->draft, type, step);
    return made;
}

/* Computed bounds, masked to be small; the step, too, which may be zero. */
static for_bounds masked_bounds(vy_gen *g, vyre_type type, int uniform) {
    for_bounds made = {.step = VY_NONE, .trips = 4};
    made.from = vy_gen_with_literal(g, VYRE_OP_AND, type, bound(g, type, uniform, 2), 3);
    made.to = vy_gen_with_literal(g, VYRE_OP_AND, type, bound(g, type, uniform, 2), 7);
    if (vy_gen_chance(g, 1, 2))
        made.step = vy_gen_with_literal(g, VYRE_OP_AND, type, bound(g, type, uniform, 1), 3);
    return made;
}

/* Arbitrary bounds, with a step so large that the type has room for four trips, so that nothing wraps. */
static for_bounds wide_bounds(vy_gen *g, vyre_type type, int uniform) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    uint64_t step = (UINT64_C(1) << (layout->bits - 2)) + vy_gen_below(g, 8);
    if (layout->classes == VYRE_CLASS_SIGNED && vy_gen_chance(g, 1, 2))
        step = 0 - step;
    for_bounds made = {.trips = 4};
    made.from = bound(g, type, uniform, 2);
    made.to = bound(g, type, uniform, 2);
    made.step = vy_irb_literal(&g->draft, type, step);
    return made;
}

/* Makes the number of trips and the counter observable in a variable outside the loop. */
static void count_trip(vy_gen *g, uint32_t counter, vyre_type type, uint32_t variable) {
    uint32_t sum = vy_irb_variable(&g->draft, counter), now;
    sum = vy_gen_with_literal(g, VYRE_OP_ROTL, type, sum, 5);
    now = vy_irb_variable(&g->draft, variable);
    sum = vy_irb_op(&g->draft, VYRE_OP_XOR, type, sum, now, VY_NONE);
    vy_irb_assign(&g->draft, counter, sum);
}

static void write_for(vy_gen *g, vyre_type type, const for_bounds *bounds, int uniform, uint32_t counter) {
    uint32_t variable = vy_irb_for(&g->draft, vy_gen_name(g, 'k'), type, bounds->from, bounds->to, bounds->step);
    uint32_t scope = g->variables.count;
    vy_gen_declare(g, variable, type, 0, uniform);
    if (counter != VY_NONE)
        count_trip(g, counter, type, variable);
    write_loop_body(g, uniform, bounds->trips);
    g->variables.count = scope;
    vy_irb_end_block(&g->draft);
}

/* ---- loops over local ids ----
 *
 * The trip counts of invocations differ, as in strided loops of a workgroup, and some invocations skip the loop:
 *
 *     var v = …
 *     if CONDITION { for k in local_index .. 100 step 32 { v = rotl(v, 5) ^ k … } } */

static uint32_t local_id(vy_gen *g, vyre_type type, uint32_t axis) {
    uint32_t id = vy_gen_local_id(g, axis);
    return type == VYRE_TYPE_U32 ? id : vy_irb_op(&g->draft, VYRE_OP_CAST, type, id, VY_NONE, VY_NONE);
}

/* Down from the id; up to it; a few elements from it on; or from it in strides, usually of all ids. At most four
 * trips. */
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
        made.to = vy_irb_literal(&g->draft, type, count - 1 - (uint64_t)reach);
        made.step = vy_irb_literal(&g->draft, type, 0 - (uint64_t)stride);
    } else if (draw == 1) {
        made.from = vy_irb_literal(&g->draft, type, vy_gen_below(g, 3));
        made.to = local_id(g, type, axis);
        made.step = vy_irb_literal(&g->draft, type, (count + TRIPS - 1) / TRIPS);
    } else if (draw == 2) {
        made.from = local_id(g, type, axis);
        made.to = local_id(g, type, axis);
        uint32_t length = vy_gen_with_literal(g, VYRE_OP_AND, type, vy_gen_expr(g, type, 1), 3);
        made.to = vy_irb_op(&g->draft, VYRE_OP_ADD, type, made.to, length, VY_NONE);
    } else {
        made.from = local_id(g, type, axis);
        made.to = vy_irb_literal(&g->draft, type, reach - vy_gen_below(g, stride));
        made.step = vy_irb_literal(&g->draft, type, stride);
    }
    return made;
}

/* A condition per invocation, often true for half of them. */
static uint32_t local_condition(vy_gen *g) {
    if (vy_gen_chance(g, 1, 2))
        return vy_gen_expr(g, VYRE_TYPE_BOOL, 2);
    vyre_type type = vy_gen_integer_type(g);
    uint32_t bit = vy_gen_with_literal(g, VYRE_OP_AND, type, vy_gen_expr(g, type, 1), 1), zero;
    zero = vy_irb_literal(&g->draft, type, 0);
    return vy_irb_op(&g->draft, VYRE_OP_EQ, VYRE_TYPE_BOOL, bit, zero, VY_NONE);
}

/* Writes the counter and the loop; in two of three cases under a condition. */
static void write_for_locals(vy_gen *g) {
    vyre_type type = vy_gen_integer_type(g);
    if (vy_type_layouts[type].bits < 16) /* ids and strides do not fit */
        type = VYRE_TYPE_U32;
    uint32_t counter = vy_irb_var(&g->draft, vy_gen_name(g, 'v'), type, vy_gen_expr(g, type, 1));
    vy_gen_declare(g, counter, type, 1, 0);
    vy_gen_context place = g->place;
    int is_open = vy_gen_chance(g, 2, 3);
    g->left -= 2u + (unsigned)is_open;
    if (is_open) {
        vy_irb_if(&g->draft, local_condition(g));
        g->place.uniform = 0;
        g->place.nesting++;
    }
    for_bounds bounds = local_bounds(g, type);
    write_for(g, type, &bounds, 0, counter);
    if (is_open)
        vy_irb_end_block(&g->draft);
    g->place = place;
}

static int gen_for(vy_gen *g) {
    if (!may_loop(g))
        return 0;
    if (g->left > 4 && vy_gen_chance(g, 1, 4)) {
        write_for_locals(g);
        return 1;
    }
    vyre_type type = vy_gen_integer_type(g);
    /* A loop with uniform bounds is not uniform if single lanes may leave it. */
    int uniform = g->place.uniform && vy_gen_chance(g, 2, 3);
    uint32_t draw = vy_gen_below(g, 10);
    for_bounds bounds = draw < 5   ? literal_bounds(g, type)
                        : draw < 8 ? masked_bounds(g, type, uniform)
                                   : wide_bounds(g, type, uniform);
    write_for(g, type, &bounds, uniform, VY_NONE);
    return 1;
}

/* ---- while loops with a counter ----
 *
 *     var v = …
 *     var n = FROM
 *     while n < TO { n = n + STEP, v = rotl(v, 5) ^ n … }
 *
 * Cases that trip-count analyses of compilers may get wrong: large steps, distances over half of the range, wrapping,
 * and the value before the step. At most seven trips. */

typedef struct counting {
    vyre_type type;
    vyre_op goes_on;
    uint64_t step;
    uint32_t variable; /* of the end; VY_NONE: the literal `end` */
    uint64_t end;
    uint32_t from;
} counting;

static uint32_t end_of(vy_gen *g, const counting *c) {
    return c->variable == VY_NONE ? vy_irb_literal(&g->draft, c->type, c->end)
                                  : vy_irb_variable(&g->draft, c->variable);
}

static void name_end(vy_gen *g, counting *c, uint32_t value, int uniform) {
    c->variable = vy_irb_let(&g->draft, vy_gen_name(g, 'e'), c->type, value);
    vy_gen_declare(g, c->variable, c->type, 0, uniform);
}

/* A start that is some steps before a number: a few, by a literal; or as many as a value of the invocation. */
static uint32_t steps_before(vy_gen *g, const counting *c, uint32_t number, int uniform) {
    uint32_t steps = vy_gen_chance(g, 1, 3)
                         ? vy_irb_literal(&g->draft, c->type, vy_gen_below(g, 6))
                         : vy_gen_with_literal(g, VYRE_OP_AND, c->type, bound(g, c->type, uniform, 1), 3);
    steps = vy_gen_with_literal(g, VYRE_OP_MUL, c->type, steps, c->step);
    return vy_irb_op(&g->draft, VYRE_OP_SUB, c->type, number, steps, VY_NONE);
}

/* To a number that is reached exactly, however often the counter wraps. */
static void count_to_meet(vy_gen *g, counting *c, int uniform) {
    const vy_type_layout *layout = &vy_type_layouts[c->type];
    uint64_t far = (UINT64_C(1) << (layout->bits - 2)) + vy_gen_below(g, 8);
    uint64_t near = 1 + vy_gen_below(g, 3), step = vy_gen_chance(g, 2, 3) ? far : near;
    c->goes_on = VYRE_OP_NE;
    c->step = vy_gen_chance(g, 1, 2) ? step : 0 - step;
    c->end = vy_gen_chance(g, 1, 2) ? lowest_of(c->type) + vy_gen_below(g, 5) : vy_gen_below(g, 200);
    if (vy_gen_chance(g, 1, 2))
        name_end(g, c, bound(g, c->type, uniform, 2), uniform);
    c->from = steps_before(g, c, end_of(g, c), uniform);
}

/* From any start, by steps of a quarter of the range, to an end after which there is room for one step. */
static void count_far(vy_gen *g, counting *c, int uniform) {
    uint64_t quarter = UINT64_C(1) << (vy_type_layouts[c->type].bits - 2), step = quarter - vy_gen_below(g, 8);
    int is_up = (int)vy_gen_below(g, 2), is_strict = (int)vy_gen_below(g, 2);
    c->goes_on = is_up ? (is_strict ? VYRE_OP_LT : VYRE_OP_LE) : (is_strict ? VYRE_OP_GT : VYRE_OP_GE);
    c->step = is_up ? step : 0 - step;
    c->end = vy_gen_below(g, 3);
    c->end = is_up ? highest_of(c->type) - step - c->end : lowest_of(c->type) + step + c->end;
    if (vy_gen_chance(g, 1, 2)) {
        uint32_t end = vy_gen_with_literal(g, VYRE_OP_SHR, c->type, bound(g, c->type, uniform, 2), 1);
        if (!is_up && !is_signed_type(c->type))
            end = vy_gen_with_literal(g, VYRE_OP_OR, c->type, end, quarter);
        name_end(g, c, end, uniform);
    }
    c->from = vy_gen_chance(g, 1, 3)
                  ? vy_irb_literal(&g->draft, c->type, is_up ? lowest_of(c->type) : highest_of(c->type))
                  : bound(g, c->type, uniform, 2);
}

/* From near an end of the range, across it. */
static void count_to_wrap(vy_gen *g, counting *c, int uniform) {
    uint64_t step = 1 + vy_gen_below(g, 7);
    int is_up = (int)vy_gen_below(g, 2), is_strict = (int)vy_gen_below(g, 2);
    uint64_t last = is_up ? highest_of(c->type) : lowest_of(c->type);
    c->goes_on = is_up ? (is_strict ? VYRE_OP_GT : VYRE_OP_GE) : (is_strict ? VYRE_OP_LT : VYRE_OP_LE);
    c->step = is_up ? step : 0 - step;
    c->end = last - 8 * c->step;
    c->from = steps_before(g, c, vy_irb_literal(&g->draft, c->type, last), uniform);
}

static uint32_t goes_on(vy_gen *g, const counting *c, uint32_t variable) {
    uint32_t now = vy_irb_variable(&g->draft, variable), end = end_of(g, c);
    return vy_irb_op(&g->draft, c->goes_on, VYRE_TYPE_BOOL, now, end, VY_NONE);
}

static void step_on(vy_gen *g, const counting *c, uint32_t variable) {
    uint32_t now = vy_irb_variable(&g->draft, variable);
    int is_taken = vy_gen_chance(g, 1, 2);
    now = vy_gen_with_literal(g, is_taken ? VYRE_OP_SUB : VYRE_OP_ADD, c->type, now, is_taken ? 0 - c->step : c->step);
    vy_irb_assign(&g->draft, variable, now);
}

static void break_unless(vy_gen *g, uint32_t test) {
    vy_irb_if(&g->draft, vy_irb_op(&g->draft, VYRE_OP_LNOT, VYRE_TYPE_BOOL, test, VY_NONE, VY_NONE));
    vy_irb_simple(&g->draft, VY_STMT_BREAK);
    vy_irb_end_block(&g->draft);
}

static void write_counted(vy_gen *g, int uniform) {
    counting c = {.type = vy_gen_integer_type(g), .variable = VY_NONE};
    uint32_t form = vy_gen_below(g, 3), way = vy_gen_below(g, uniform ? 3 : 5), old;
    g->left -= 3;
    uint32_t counter = vy_irb_var(&g->draft, vy_gen_name(g, 'v'), c.type, vy_gen_expr(g, c.type, 1));
    vy_gen_declare(g, counter, c.type, 1, 0);
    if (form == 0)
        count_to_meet(g, &c, uniform);
    else if (form == 1)
        count_far(g, &c, uniform);
    else
        count_to_wrap(g, &c, uniform);
    uint32_t n = vy_irb_var(&g->draft, vy_gen_name(g, 'n'), c.type, c.from);
    vy_gen_declare(g, n, c.type, 0, uniform);
    vy_irb_while(&g->draft, way < 3 ? goes_on(g, &c, n) : vy_irb_literal(&g->draft, VYRE_TYPE_BOOL, 1));
    switch (way) {
    case 0: /* no statement of the body can skip the step */
        step_on(g, &c, n);
        count_trip(g, counter, c.type, n);
        write_loop_body(g, uniform, 6);
        break;
    case 3:
        count_trip(g, counter, c.type, n);
        break_unless(g, goes_on(g, &c, n));
        step_on(g, &c, n);
        break;
    case 4:
        old = vy_irb_let(&g->draft, vy_gen_name(g, 'o'), c.type, vy_irb_variable(&g->draft, n));
        step_on(g, &c, n);
        count_trip(g, counter, c.type, n);
        break_unless(g, goes_on(g, &c, old));
        break;
    default:
        count_trip(g, counter, c.type, n);
        step_on(g, &c, n);
    }
    vy_irb_end_block(&g->draft);
}

/* Fuel is a separate variable that no other statement assigns. It is decremented first in the body, so that `continue`
 * cannot skip it. */
static int gen_while(vy_gen *g) {
    if (!may_loop(g) || g->left < 3)
        return 0;
    int uniform = g->place.uniform && vy_gen_chance(g, 1, 2);
    if (g->left > 5 && vy_gen_chance(g, 2, 5)) {
        write_counted(g, uniform);
        return 1;
    }
    g->left--; /* the fuel is a statement, too */
    vyre_type type = vy_gen_integer_type(g);
    unsigned trips = 1 + vy_gen_below(g, 4);
    uint32_t fuel = vy_irb_var(&g->draft, vy_gen_name(g, 'w'), type, vy_irb_literal(&g->draft, type, trips));
    vy_gen_declare(g, fuel, type, 0, uniform);
    uint32_t zero, test;
    test = vy_irb_variable(&g->draft, fuel);
    zero = vy_irb_literal(&g->draft, type, 0);
    test = vy_irb_op(&g->draft, VYRE_OP_NE, VYRE_TYPE_BOOL, test, zero, VY_NONE);
    if (vy_gen_chance(g, 1, 2)) {
        uint32_t more = bound(g, VYRE_TYPE_BOOL, uniform, 2);
        test = vy_irb_op(&g->draft, VYRE_OP_LAND, VYRE_TYPE_BOOL, test, more, VY_NONE);
    }
    vy_irb_while(&g->draft, test);
    uint32_t burned = vy_gen_with_literal(g, VYRE_OP_SUB, type, vy_irb_variable(&g->draft, fuel), 1);
    vy_irb_assign(&g->draft, fuel, burned);
    write_loop_body(g, uniform, trips);
    vy_irb_end_block(&g->draft);
    return 1;
}

/* ---- break, continue, return, trap ---- */

/* if CONDITION { at most one statement, then the jump } */
static void open_exit(vy_gen *g, int uniform) {
    uint32_t test = condition(g, &uniform);
    vy_irb_if(&g->draft, test);
    if (g->left && vy_gen_chance(g, 1, 3)) {
        vy_gen_context place = g->place;
        g->place.uniform = 0; /* no barrier before the jump, so phases stay */
        g->place.nesting++;
        gen_block(g, 1);
        g->place = place;
    }
}

static int gen_leave_loop(vy_gen *g, vy_stmt_kind kind) {
    if (!g->place.in_loop || !may_nest(g))
        return 0;
    if (g->place.loop_uniform && (!g->place.uniform || memcmp(g->ownership, g->place.loop_ownership,
                                                              g->memory_count * sizeof *g->ownership) != 0))
        return 0;
    open_exit(g, g->place.loop_uniform);
    vy_irb_simple(&g->draft, kind);
    vy_irb_end_block(&g->draft);
    return 1;
}

static int gen_return(vy_gen *g) {
    if ((g->place.sync && !g->place.uniform) || !may_nest(g))
        return 0;
    /* A grid barrier requires every workgroup, including workgroups that would have returned. */
    if (g->place.sync && !g->function && (g->features & VY_GEN_GRID_BARRIER))
        return 0;
    open_exit(g, g->place.sync);
    vy_gen_return_values(g);
    vy_irb_end_block(&g->draft);
    return 1;
}

/* Rarely executed: few of a hundred programs have a trap, which depends on a few invocations or a rare value. */
static int gen_trap(vy_gen *g) {
    if (!may_nest(g))
        return 0;
    uint32_t test, value;
    if (vy_gen_chance(g, 1, 2)) {
        test = vy_irb_builtin(&g->draft, VYRE_BUILTIN_GLOBAL_ID, 0);
        value = vy_irb_literal(&g->draft, VYRE_TYPE_U32, vy_gen_below(g, g->total + 1));
    } else {
        vyre_type type = vy_gen_integer_type(g);
        test = vy_gen_leaf(g, type, 1);
        value = vy_gen_literal(g, type);
    }
    test = vy_irb_op(&g->draft, VYRE_OP_EQ, VYRE_TYPE_BOOL, test, value, VY_NONE);
    vy_irb_if(&g->draft, test);
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_TRAP);
    stmt.a = vy_gen_expr(g, VYRE_TYPE_U32, 1);
    vy_irb_stmt(&g->draft, &stmt, NULL, 0, NULL, NULL);
    vy_irb_end_block(&g->draft);
    return 1;
}

/* ---- simple statements ---- */

/* ---- let, var, assign ---- */

/* The value of a declaration, uniform in a third of the cases where that is possible; sets *is_uniform. */
static uint32_t value(vy_gen *g, vyre_type type, int *is_uniform) {
    *is_uniform = g->place.uniform && vy_gen_chance(g, 1, 3);
    return *is_uniform ? vy_gen_uniform_expr(g, type, g->depth) : vy_gen_expr(g, type, g->depth);
}

static int write_declaration(vy_gen *g, int is_mutable) {
    if (g->op_count && vy_gen_chance(g, 1, 3) && vy_gen_op_call(g))
        return 1;
    vyre_type type = VYRE_TYPE_COUNT;
    int is_uniform = 0;
    uint32_t a = vy_gen_draws_idiom(g, VY_GEN_EDGES) ? vy_gen_guarded_load(g, &type) : VY_NONE;
    if (a == VY_NONE) {
        type = vy_gen_type(g);
        a = value(g, type, &is_uniform);
    }
    vy_symbol name = vy_gen_name(g, 'v');
    uint32_t variable = is_mutable ? vy_irb_var(&g->draft, name, type, a) : vy_irb_let(&g->draft, name, type, a);
    vy_gen_declare(g, variable, type, is_mutable, is_uniform);
    return 1;
}

static int write_let(vy_gen *g) {
    return write_declaration(g, 0);
}

static int write_var(vy_gen *g) {
    return write_declaration(g, 1);
}

static int write_assign(vy_gen *g) {
    for (int i = 0; i < 4; i++) {
        const vy_gen_variable *found = vy_gen_find_variable(g, vy_gen_type(g), 1);
        /* A uniform variable is assigned only in uniform control flow, and only a uniform value. */
        if (!found || (found->is_uniform && !g->place.uniform))
            continue;
        uint32_t variable = found->variable;
        vyre_type type = (vyre_type)found->type;
        uint32_t a = found->is_uniform ? vy_gen_uniform_expr(g, type, g->depth) : vy_gen_expr(g, type, g->depth);
        vy_irb_assign(&g->draft, variable, a);
        return 1;
    }
    return 0;
}

/* ---- collectives ---- */

static vyre_op draw_combine(vy_gen *g, vyre_type type) {
    for (;;) {
        vyre_op op = (vyre_op)vy_combine_ops[vy_gen_below(g, VY_COMBINE_COUNT)];
        if (vyre_op_get(op)->classes & vy_type_layouts[type].classes)
            return op;
    }
}

static int write_collective(vy_gen *g) {
    if (!g->place.uniform || !g->place.sync)
        return 0;
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_COLLECTIVE);
    /* Combining collectives have many variants, so they are half of the draws. */
    int combines = vy_gen_chance(g, 1, 2);
    vyre_collective op = (vyre_collective)vy_gen_below(g, combines ? VYRE_COLLECTIVE_ANY : VY_SOURCE_COLLECTIVES);
    const vy_collective_row *row = &vy_collectives[op];
    stmt.op = (uint8_t)op;
    stmt.width = !row->over[0] || (row->over[1] && vy_gen_chance(g, 1, 2)) ? (uint8_t)(2u << vy_gen_below(g, 6)) : 0;
    int votes = op == VYRE_COLLECTIVE_ANY || op == VYRE_COLLECTIVE_ALL || op == VYRE_COLLECTIVE_BALLOT;
    vyre_type type = votes ? VYRE_TYPE_BOOL : row->combines ? vy_gen_data_type(g) : vy_gen_type(g);
    if (row->combines)
        stmt.combine = (uint8_t)draw_combine(g, type);
    stmt.a = vy_gen_expr(g, type, g->depth);
    if (row->operands > 1) {
        int uniform = op == VYRE_COLLECTIVE_BROADCAST;
        if (vy_gen_chance(g, 3, 4)) /* a lane that may exist */
            stmt.b = vy_gen_with_literal(g, VYRE_OP_REM, VYRE_TYPE_U32,
                                         uniform ? vy_gen_uniform_expr(g, VYRE_TYPE_U32, 1)
                                                 : vy_gen_expr(g, VYRE_TYPE_U32, 1),
                                         stmt.width ? stmt.width : g->size);
        else
            stmt.b = uniform ? vy_gen_uniform_expr(g, VYRE_TYPE_U32, 2) : vy_gen_expr(g, VYRE_TYPE_U32, 2);
    }
    vyre_type result = op == VYRE_COLLECTIVE_BALLOT ? VYRE_TYPE_U64 : type;
    stmt.result_count = 1;
    vy_symbol name = vy_gen_name(g, 'c');
    uint32_t index = vy_irb_stmt(&g->draft, &stmt, NULL, 0, &name, &result);
    if (index == VY_NONE)
        return 1;
    int scan = op == VYRE_COLLECTIVE_SCAN_INCLUSIVE || op == VYRE_COLLECTIVE_SCAN_EXCLUSIVE;
    vy_gen_declare(g, g->draft.program->stmts.items[index].variable, result, 0, stmt.width == 0 && !scan);
    return 1;
}

/* ---- which kind comes next ---- */

static int write_break(vy_gen *g) {
    return gen_leave_loop(g, VY_STMT_BREAK);
}

static int write_continue(vy_gen *g) {
    return gen_leave_loop(g, VY_STMT_CONTINUE);
}

/* One row per kind: its writer (returns 0 if not possible here), its weight, the features it needs, and the stress that
 * multiplies the weight. print is not generated, because only the oracle supports it. */
typedef struct kind_row {
    int (*write)(vy_gen *g);
    uint16_t weight;
    uint16_t needs, stress;
} kind_row;

static const kind_row kinds[VY_STMT_KIND_COUNT] = {
    [VY_STMT_LET] = {write_let, 14, 0, VYRE_STRESS_INTEGERS | VYRE_STRESS_FLOATS},
    [VY_STMT_VAR] = {write_var, 8, 0, 0},
    [VY_STMT_ASSIGN] = {write_assign, 14, 0, VYRE_STRESS_CONTROL},
    [VY_STMT_STORE] = {vy_gen_store, 14, 0, VYRE_STRESS_MEMORY},
    [VY_STMT_ATOMIC] = {vy_gen_atomic, 10, VY_GEN_ATOMICS, VYRE_STRESS_ATOMICS},
    [VY_STMT_COLLECTIVE] = {write_collective, 11, VY_GEN_SYNC, VYRE_STRESS_COLLECTIVES},
    [VY_STMT_CALL] = {vy_gen_call, 10, VY_GEN_CALLS, VYRE_STRESS_FUNCTIONS},
    [VY_STMT_BARRIER] = {vy_gen_barrier, 6, VY_GEN_SYNC, VYRE_STRESS_MEMORY},
    [VY_STMT_TRAP] = {gen_trap, 3, VY_GEN_TRAP, 0},
    [VY_STMT_IF] = {gen_if, 9, 0, VYRE_STRESS_CONTROL},
    [VY_STMT_FOR] = {gen_for, 6, VY_GEN_CONTROL, VYRE_STRESS_CONTROL},
    [VY_STMT_WHILE] = {gen_while, 4, VY_GEN_CONTROL, VYRE_STRESS_CONTROL},
    [VY_STMT_BREAK] = {write_break, 6, VY_GEN_CONTROL, VYRE_STRESS_CONTROL},
    [VY_STMT_CONTINUE] = {write_continue, 6, VY_GEN_CONTROL, VYRE_STRESS_CONTROL},
    [VY_STMT_RETURN] = {gen_return, 2, 0, VYRE_STRESS_CONTROL | VYRE_STRESS_FUNCTIONS},
    [VY_STMT_REGION] = {gen_region, 2, 0, 0},
};

void vy_gen_set_weights(vy_gen *g) {
    g->weight_sum = 0;
    for (int kind = 0; kind < VY_STMT_KIND_COUNT; kind++) {
        const kind_row *row = &kinds[kind];
        uint32_t weight = (g->features & row->needs) == row->needs ? row->weight : 0;
        g->weights[kind] = weight * (g->stress & row->stress ? 3 : 1);
        g->weight_sum += g->weights[kind];
    }
}

static void write_statement(vy_gen *g) {
    g->left--;
    g->work += g->place.times;
    vy_gen_start_statement(g);
    for (int i = 0; i < 6; i++) {
        uint32_t draw = vy_gen_below(g, g->weight_sum);
        int kind = 0;
        while (draw >= g->weights[kind])
            draw -= g->weights[kind++];
        if (kinds[kind].write(g))
            return;
    }
    write_let(g);
}

void vy_gen_statements(vy_gen *g, unsigned count) {
    unsigned stop = g->left > count ? g->left - count : 0;
    while (g->left > stop && !g->draft.failed)
        write_statement(g);
}

static void gen_block(vy_gen *g, unsigned count) {
    uint32_t scope = g->variables.count;
    unsigned names = g->name_count;
    vy_gen_statements(g, count);
    g->variables.count = scope;
    if (vy_gen_chance(g, 1, 2))
        g->name_count = names; /* names can be reused after their block has ended */
}
