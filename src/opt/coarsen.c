/* Thread coarsening (coarsen.h): writes the guards, a fast path for all lanes in lockstep, and a slow path that loops
 * over the lanes.
 *
 *   let size = groups_x * 256                        invocations of the original: below 2^32
 *   let base = global_id.x * 4                       wraps only where global_id.x > size / 4
 *   if global_id.x < size / 4 && base < len(y) && len(y) - base >= 4 {
 *     …                                              the fast path: base … base + 3 in lockstep
 *   } else if global_id.x <= size / 4 {
 *     for lane in 0 .. min(size - base, 4) {
 *       let id = base + lane
 *       …                                            the slow path
 *     }
 *   }
 *
 * Invariant: no test wraps. */
#include "opt/coarsen.h"

#include "base/status.h"
#include "ir/build/builder_internal.h"
#include "ir/walk.h"
#include "opt/clone.h"
#include "opt/pass_manager.h"

/* ---- the body for several lanes ---- Statements are written for all lanes in lockstep where control is uniform
 * over the lanes, and lane by lane where it is not. Lanes are invocations of a program without races, so any order
 * between them is correct. In lockstep a statement first loads the consecutive elements that all lanes need and is
 * then written once per lane, so that accesses to adjacent elements are adjacent. A uniform value is written once.
 *
 * Invariant: expressions are appended right before the statement that uses them, in the order a, b, c. The
 * output has no `return`: the statements after an `if` that returns are written in its other branch. */

typedef struct writer {
    vy_cloner copy;
    vy_coarsen_plan *plan;
    uint32_t *lanes[VY_COARSEN_MAX]; /* by lane: from variables of the program to those of the draft */
    uint32_t *hoisted; /* by load and remainder of the current statement: the variable of lane 0, or VY_NONE */
    uint32_t groups, size, base; /* variables of the draft: groups_x and invocation count of the original, id of lane
                                  * 0 */
    uint32_t element;            /* slow path: the variable that is global_id.x; VY_NONE in the fast path */
    uint32_t starts[VY_COARSEN_STARTS]; /* a remainder whose lanes are consecutive, or VY_NONE, and the variable of
                                         * lane 0 */
    uint32_t row, row_first; /* at the start of the program: the `let`s do not exist yet, so their values are written
                              * instead */
    uint8_t is_early;        /* at the start of the program: a `let` is not there yet, its value is */
    uint8_t ended;           /* the last statement of the block was a jump */
} writer;

/* Lanes [first, first + count). */
typedef struct group {
    uint32_t first, count;
} group;

/* Statements that follow the block being written, innermost first. */
typedef struct rest {
    uint32_t first, end;
    const struct rest *next;
} rest;

static const vy_stmt *stmt_at(const writer *w, uint32_t index) {
    return vy_stmt_at(w->copy.from, index);
}

static uint32_t u32(writer *w, uint64_t value) {
    return vy_irb_literal(&w->copy.draft, VYRE_TYPE_U32, value);
}

static uint32_t binary(writer *w, vyre_op op, uint32_t left, uint32_t right) {
    return vy_irb_op(&w->copy.draft, op, VYRE_TYPE_U32, left, right, VY_NONE);
}

/* ---- names ---- */

/* vy_cloner_name for the same statement in successive lanes. *tried counts the names that were taken for earlier
 * lanes (0 at first); no scope ends between the calls. */
static vy_symbol next_name(writer *w, const char *text, uint32_t *tried) {
    char candidate[VY_LIMIT_NAME + 1];
    while (++*tried > 1 && !w->copy.draft.failed) {
        size_t length = vy_name_suffixed(candidate, text, VY_LIMIT_NAME, *tried);
        vy_symbol name = vy_irb_intern(&w->copy.draft, candidate, length);
        candidate[length] = 0;
        if (name >= w->copy.visible.count || !w->copy.visible.items[name])
            return vy_cloner_name(&w->copy, candidate);
    }
    return vy_cloner_name(&w->copy, text);
}

static const char *text_of(const writer *w, uint32_t variable) {
    return vy_symbol_name(w->copy.from, vy_variable_at(w->copy.from, variable)->name);
}

/* ---- expressions ---- */

/* A variable plus a distance. */
static uint32_t beside(writer *w, uint32_t variable, int64_t distance) {
    uint32_t at = vy_irb_variable(&w->copy.draft, variable);
    if (distance == 0)
        return at;
    return binary(w, distance > 0 ? VYRE_OP_ADD : VYRE_OP_SUB, at,
                  u32(w, (uint64_t)(distance < 0 ? -distance : distance)));
}

static uint32_t write_id(writer *w, uint32_t lane) {
    return w->element != VY_NONE ? vy_irb_variable(&w->copy.draft, w->element) : beside(w, w->base, lane);
}

static uint32_t write_local_id(writer *w, uint32_t lane) {
    uint32_t id = write_id(w, lane);
    return binary(w, VYRE_OP_REM, id, u32(w, w->copy.from->workgroup[0]));
}

/* x + sx * (y + sy * z) */
static uint32_t write_local_index(writer *w, uint32_t lane) {
    const uint32_t *size = w->copy.from->workgroup;
    uint32_t x = write_local_id(w, lane);
    if (size[1] * size[2] == 1)
        return x;
    uint32_t width = u32(w, size[0]), y = vy_irb_builtin(&w->copy.draft, VYRE_BUILTIN_LOCAL_ID, 1);
    uint32_t height = u32(w, size[1]), z = vy_irb_builtin(&w->copy.draft, VYRE_BUILTIN_LOCAL_ID, 2);
    uint32_t row = binary(w, VYRE_OP_ADD, y, binary(w, VYRE_OP_MUL, height, z));
    return binary(w, VYRE_OP_ADD, x, binary(w, VYRE_OP_MUL, width, row));
}

static uint32_t write_builtin(writer *w, uint32_t lane, const vy_expr *e) {
    if (e->op == VYRE_BUILTIN_LOCAL_INDEX)
        return write_local_index(w, lane);
    if (e->axis != 0)
        return vy_irb_expr(&w->copy.draft, e);
    uint32_t id;
    switch ((vyre_builtin)e->op) {
    case VYRE_BUILTIN_GLOBAL_ID:
        return write_id(w, lane);
    case VYRE_BUILTIN_LOCAL_ID:
        return write_local_id(w, lane);
    case VYRE_BUILTIN_GROUP_ID:
        id = write_id(w, vy_coarsen_stays_in_group(w->copy.from) ? 0 : lane);
        return binary(w, VYRE_OP_DIV, id, u32(w, w->copy.from->workgroup[0]));
    case VYRE_BUILTIN_GROUP_COUNT:
        return vy_irb_variable(&w->copy.draft, w->groups);
    case VYRE_BUILTIN_GLOBAL_SIZE:
        return vy_irb_variable(&w->copy.draft, w->size);
    default:
        return vy_irb_expr(&w->copy.draft, e);
    }
}

static uint32_t write_expr(writer *w, uint32_t lane, uint32_t root);

/* An index that is proven in bounds has the form start + literal, from which the range analysis proves it again. */
static uint32_t write_index(writer *w, uint32_t lane, uint32_t memory, uint32_t index) {
    uint32_t start;
    int32_t offset;
    if (w->element == VY_NONE && vy_coarsen_index(w->plan, memory, index, &start, &offset))
        return beside(w, w->starts[start], (int64_t)offset + lane);
    return write_expr(w, lane, index);
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH, or by the size of early values. */
static uint32_t write_expr(writer *w, uint32_t lane, uint32_t root) {
    if (root == VY_NONE)
        return VY_NONE;
    vy_irb *d = &w->copy.draft;
    vy_expr e = w->copy.from->exprs.items[root];
    switch ((vy_expr_kind)e.kind) {
    case VY_EXPR_VARIABLE:
        if (w->is_early && vy_let_value(&w->plan->uses, e.a) != VY_NONE)
            return write_expr(w, lane, vy_let_value(&w->plan->uses, e.a));
        e.a = w->lanes[lane][e.a];
        break;
    case VY_EXPR_BUILTIN:
        return write_builtin(w, lane, &e);
    case VY_EXPR_LEN:
        e.a = w->copy.memories[e.a];
        break;
    case VY_EXPR_LOAD:
        if (w->hoisted[root] != VY_NONE)
            return vy_irb_variable(d, w->hoisted[root] + lane);
        e.b = write_index(w, lane, e.a, e.b);
        e.a = w->copy.memories[e.a];
        break;
    case VY_EXPR_OP:
        if (root == w->row)
            return beside(w, w->row_first, lane);
        if (w->hoisted[root] != VY_NONE)
            return vy_irb_variable(d, w->hoisted[root] + lane);
        e.a = write_expr(w, lane, e.a);
        e.b = write_expr(w, lane, e.b);
        e.c = write_expr(w, lane, e.c);
        break;
    default:
        break;
    }
    vy_position at = vy_expr_position(w->copy.from, root);
    if (at.line)
        d->position = at;
    return vy_irb_expr(d, &e);
}

/* Writes an early expression for the statement that follows directly. */
static uint32_t write_early(writer *w, uint32_t expr) {
    w->is_early = 1;
    uint32_t made = write_expr(w, 0, expr);
    w->is_early = 0;
    return made;
}

/* A condition without the operands whose truth is known. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static uint32_t write_condition(writer *w, uint32_t lane, uint32_t root) {
    const vy_expr *e = vy_expr_at(w->copy.from, root);
    if (w->element != VY_NONE || e->kind != VY_EXPR_OP || (e->op != VYRE_OP_LAND && e->op != VYRE_OP_LOR))
        return write_expr(w, lane, root);
    if (vy_coarsen_truth(w->plan, e->a) >= 0) /* the known operand is neutral; otherwise the whole condition would be
                                               * known */
        return write_condition(w, lane, e->b);
    if (vy_coarsen_truth(w->plan, e->b) >= 0)
        return write_condition(w, lane, e->a);
    uint32_t a = write_condition(w, lane, e->a), b = write_condition(w, lane, e->b);
    return vy_irb_op(&w->copy.draft, (vyre_op)e->op, VYRE_TYPE_BOOL, a, b, VY_NONE);
}

/* ---- hoisted loads of consecutive elements, and remainders ---- */

static void hoist_load(writer *w, group lanes, uint32_t load) {
    const vyre_program *from = w->copy.from;
    const vy_expr *e = vy_expr_at(from, load);
    const char *memory = vy_symbol_name(from, vy_memory_at(from, e->a)->name);
    char text[VY_LIMIT_NAME + 1];
    uint32_t start, first = VY_NONE, tried = 0;
    int32_t offset;
    if (!vy_coarsen_index(w->plan, e->a, e->b, &start, &offset))
        return;
    size_t kept = strnlen(memory, VY_LIMIT_NAME - 3);
    memcpy(text, memory, kept);
    memcpy(text + kept, "_at", sizeof "_at");
    for (uint32_t lane = 0; lane < lanes.count && !w->copy.draft.failed; lane++) {
        vy_symbol name = next_name(w, text, &tried);
        uint32_t index = beside(w, w->starts[start], (int64_t)offset + lane);
        uint32_t value = vy_irb_load(&w->copy.draft, w->copy.memories[e->a], index);
        uint32_t variable = vy_irb_let(&w->copy.draft, name, (vyre_type)e->type, value);
        first = lane ? first : variable;
    }
    w->hoisted[load] = first;
}

static uint32_t write_remainder(writer *w, uint32_t root, uint32_t lane) {
    uint32_t start, divisor = vy_expr_at(w->copy.from, root)->b;
    int32_t offset;
    vy_coarsen_remainder(w->plan, root, &start, &offset);
    uint32_t value = beside(w, w->starts[start], (int64_t)offset + lane);
    return binary(w, VYRE_OP_REM, value, write_expr(w, 0, divisor));
}

/* Remainders of consecutive numbers. If r = x % d, then (x + 1) % d is r + 1, or 0 if r + 1 == d. That is min(r + 1,
 * r + 1 - d), because a negative difference wraps to a large number. If d is 0, both forms are r + 1 = x + 1. */
static void hoist_remainder(writer *w, group lanes, uint32_t root) {
    enum { CHAIN = 8 }; /* a longer chain costs more than another remainder */
    vy_irb *d = &w->copy.draft;
    uint32_t divisor = vy_expr_at(w->copy.from, root)->b, start, before = VY_NONE, first = VY_NONE, value, tried = 0;
    int32_t offset;
    if (root == w->row || !vy_coarsen_remainder(w->plan, root, &start, &offset))
        return;
    for (uint32_t lane = 0; lane < lanes.count && !d->failed; lane++) {
        if (lane % CHAIN == 0) {
            value = write_remainder(w, root, lane);
        } else {
            uint32_t next = beside(w, before, 1), wrapped = beside(w, before, 1);
            value = binary(w, VYRE_OP_MIN, next, binary(w, VYRE_OP_SUB, wrapped, write_expr(w, 0, divisor)));
        }
        before = vy_irb_let(d, next_name(w, "remainder", &tried), VYRE_TYPE_U32, value);
        first = lane ? first : before;
    }
    w->hoisted[root] = first;
}

/* Hoists the loads that execute unconditionally; a speculative load costs more than it saves. Recursion is bounded
 * by VY_LIMIT_EXPRESSION_DEPTH. */
static void hoist_loads(writer *w, group lanes, uint32_t root) {
    if (root == VY_NONE)
        return;
    const vy_expr *e = vy_expr_at(w->copy.from, root);
    if (e->kind == VY_EXPR_LOAD) {
        hoist_loads(w, lanes, e->b);
        hoist_load(w, lanes, root);
    } else if (e->kind == VY_EXPR_OP) {
        int may_skip = e->op == VYRE_OP_SELECT || e->op == VYRE_OP_LAND || e->op == VYRE_OP_LOR;
        hoist_loads(w, lanes, e->a);
        hoist_loads(w, lanes, may_skip ? VY_NONE : e->b);
        hoist_loads(w, lanes, may_skip ? VY_NONE : e->c);
        hoist_remainder(w, lanes, root);
    }
}

/* After the statement: an expression that is written again elsewhere must load again. */
static void forget_loads(writer *w, uint32_t root) {
    VY_EACH_EXPR (w->copy.from, i, root)
        w->hoisted[i] = VY_NONE;
}

/* ---- simple statements ---- */

static void set_variable(writer *w, group lanes, uint32_t variable, uint32_t made) {
    for (uint32_t lane = lanes.first; lane < lanes.first + lanes.count; lane++)
        w->lanes[lane][variable] = made;
}

/* Writes a statement for one lane of a row of lanes (next_name). */
static void write_lane(writer *w, uint32_t lane, uint32_t index, uint32_t *tried) {
    const vy_stmt *s = stmt_at(w, index);
    vy_stmt stmt = *s;
    int declares = s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR, has_index = s->memory != VY_NONE;
    vy_symbol name = declares ? next_name(w, text_of(w, s->variable), tried) : 0;
    vyre_type type = declares ? (vyre_type)vy_variable_at(w->copy.from, s->variable)->type : VYRE_TYPE_U32;
    stmt.a = has_index ? write_index(w, lane, s->memory, s->a) : write_expr(w, lane, s->a);
    stmt.b = write_expr(w, lane, s->b);
    stmt.c = write_expr(w, lane, s->c);
    stmt.name = 0;
    if (has_index)
        stmt.memory = w->copy.memories[s->memory];
    else if (s->kind == VY_STMT_ASSIGN)
        stmt.variable = w->lanes[lane][s->variable];
    w->copy.draft.position = vy_stmt_position(w->copy.from, index);
    uint32_t made = w->copy.draft.failed ? VY_NONE : vy_irb_stmt(&w->copy.draft, &stmt, NULL, 0, &name, &type);
    if (declares && made != VY_NONE)
        w->lanes[lane][s->variable] = vy_stmt_at(w->copy.draft.program, made)->variable;
    w->ended |= s->kind == VY_STMT_BREAK || s->kind == VY_STMT_CONTINUE;
}

static void write_lanes(writer *w, group lanes, uint32_t index) {
    const vy_stmt *s = stmt_at(w, index);
    if (lanes.count > 1) {
        int is_load = s->kind == VY_STMT_LET && vy_expr_at(w->copy.from, s->a)->kind == VY_EXPR_LOAD;
        hoist_loads(w, lanes, is_load ? vy_expr_at(w->copy.from, s->a)->b : s->a);
        hoist_loads(w, lanes, s->b);
        hoist_loads(w, lanes, s->c);
    }
    for (uint32_t lane = lanes.first, tried = 0; lane < lanes.first + lanes.count; lane++)
        write_lane(w, lane, index, &tried);
    for (int i = 0; i < 3; i++)
        forget_loads(w, VY_STMT_OPERANDS(s)[i]);
}

/* ---- consecutive remainders ---- `key[i % len(key)]`: the length of a key is often a multiple of the access width.
 * If the first remainder is aligned to that width and all remainders are below the length, they are consecutive and
 * one wide load suffices:
 *
 *   let row = remainder & 0xfffffff0
 *   if row == remainder && row < len(key) && len(key) - row >= 16 { … key[row + lane] … } else { … } */

/* Finds a remainder by a length that is computed unconditionally, or VY_NONE. Recursion is bounded by
 * VY_LIMIT_EXPRESSION_DEPTH. */
static uint32_t find_row(writer *w, uint32_t root) {
    const vy_expr *exprs = w->copy.from->exprs.items, *e = root == VY_NONE ? NULL : &exprs[root];
    uint32_t start, found;
    int32_t offset;
    if (!e)
        return VY_NONE;
    if (e->kind == VY_EXPR_LOAD)
        return find_row(w, e->b);
    if (e->kind != VY_EXPR_OP)
        return VY_NONE;
    if (vy_coarsen_remainder(w->plan, root, &start, &offset) && exprs[e->b].kind == VY_EXPR_LEN)
        return root;
    if (e->op == VYRE_OP_SELECT || e->op == VYRE_OP_LAND || e->op == VYRE_OP_LOR)
        return find_row(w, e->a);
    found = find_row(w, e->a);
    found = found == VY_NONE ? find_row(w, e->b) : found;
    return found == VY_NONE ? find_row(w, e->c) : found;
}

static void write_test_of_row(writer *w, uint32_t lanes, uint32_t root, uint32_t remainder) {
    vy_irb *d = &w->copy.draft;
    uint32_t divisor = vy_expr_at(w->copy.from, root)->b, row = beside(w, w->row_first, 0);
    uint32_t all = vy_irb_op(d, VYRE_OP_EQ, VYRE_TYPE_BOOL, row, beside(w, remainder, 0), VY_NONE);
    row = beside(w, w->row_first, 0);
    uint32_t test = vy_irb_op(d, VYRE_OP_LT, VYRE_TYPE_BOOL, row, write_expr(w, 0, divisor), VY_NONE);
    all = vy_irb_op(d, VYRE_OP_LAND, VYRE_TYPE_BOOL, all, test, VY_NONE);
    uint32_t end = write_expr(w, 0, divisor), room = binary(w, VYRE_OP_SUB, end, beside(w, w->row_first, 0));
    test = vy_irb_op(d, VYRE_OP_GE, VYRE_TYPE_BOOL, room, u32(w, lanes), VY_NONE);
    vy_irb_if(d, vy_irb_op(d, VYRE_OP_LAND, VYRE_TYPE_BOOL, all, test, VY_NONE));
}

static void write_rows(writer *w, group lanes, uint32_t index, uint32_t root) {
    vy_irb *d = &w->copy.draft;
    uint32_t value = write_remainder(w, root, 0);
    uint32_t remainder = vy_irb_let(d, vy_cloner_name(&w->copy, "remainder"), VYRE_TYPE_U32, value);
    value = beside(w, remainder, 0);
    value = binary(w, VYRE_OP_AND, value, u32(w, UINT32_MAX - (lanes.count - 1)));
    w->row_first = vy_irb_let(d, vy_cloner_name(&w->copy, "row"), VYRE_TYPE_U32, value);
    write_test_of_row(w, lanes.count, root, remainder);
    uint32_t mark = vy_cloner_open(&w->copy);
    w->row = root;
    write_lanes(w, lanes, index);
    w->row = VY_NONE;
    vy_cloner_close(&w->copy, mark);
    vy_irb_else(d);
    mark = vy_cloner_open(&w->copy);
    write_lanes(w, lanes, index);
    vy_cloner_close(&w->copy, mark);
    vy_irb_end_block(d);
}

static void write_simple(writer *w, group lanes, uint32_t index) {
    const vy_stmt *s = stmt_at(w, index);
    uint32_t row = VY_NONE;
    if (s->kind == VY_STMT_LET && w->plan->is_shared[s->a]) {
        write_lane(w, lanes.first, index, &(uint32_t){0});
        set_variable(w, lanes, s->variable, w->lanes[lanes.first][s->variable]);
        return;
    }
    if (lanes.count > 1 && s->kind == VY_STMT_STORE)
        row = find_row(w, s->b);
    if (row != VY_NONE)
        write_rows(w, lanes, index, row);
    else
        write_lanes(w, lanes, index);
}

/* ---- control ---- */

static void write_block(writer *w, group lanes, uint32_t first, uint32_t end, const rest *then);

/* Writes a block in its own scope. */
static void write_branch(writer *w, group lanes, uint32_t first, uint32_t end, const rest *then) {
    uint32_t mark = vy_cloner_open(&w->copy);
    write_block(w, lanes, first, end, then);
    vy_cloner_close(&w->copy, mark);
    w->ended = 0;
}

/* The copies of an `if` without `else` whose body is long are enclosed in an `if` that tests whether any lane executes
 * the body. If the body executes rarely, a single branch then skips all lanes. */
enum { LONG_BODY = 48 }; /* expressions */

static int is_long_if(const writer *w, uint32_t index) {
    const vy_stmt *s = stmt_at(w, index);
    uint32_t exprs = 0;
    if (s->kind != VY_STMT_IF || s->middle != s->end)
        return 0;
    for (uint32_t i = index + 1; i < s->end; i++) {
        uint32_t first = vy_stmt_exprs_first(w->copy.from, stmt_at(w, i));
        exprs += vy_stmt_exprs_end(w->copy.from, stmt_at(w, i), first) - first;
    }
    return exprs >= LONG_BODY;
}

static uint32_t open_any(writer *w, group lanes, uint32_t root) {
    uint32_t any = write_condition(w, lanes.first, root);
    for (uint32_t lane = 1; lane < lanes.count; lane++) {
        uint32_t condition = write_condition(w, lanes.first + lane, root);
        any = vy_irb_op(&w->copy.draft, VYRE_OP_LOR, VYRE_TYPE_BOOL, any, condition, VY_NONE);
    }
    vy_irb_if(&w->copy.draft, any);
    return vy_cloner_open(&w->copy);
}

static void close_any(writer *w, uint32_t mark) {
    vy_cloner_close(&w->copy, mark);
    vy_irb_end_block(&w->copy.draft);
}

/* An `if` or `for` with divergent control is written lane by lane, but the loads in its operands are hoisted for all
 * lanes first. The condition of a `while` is not hoisted. */
static void each_lane(writer *w, group lanes, uint32_t index, const rest *then,
                      void (*write)(writer *, group, uint32_t, const rest *)) {
    const vy_stmt *s = stmt_at(w, index);
    for (int i = 0; i < 3 && s->kind != VY_STMT_WHILE; i++)
        hoist_loads(w, lanes, VY_STMT_OPERANDS(s)[i]);
    int is_long = is_long_if(w, index) && !then;
    uint32_t mark = is_long ? open_any(w, lanes, s->a) : 0;
    for (uint32_t lane = 0; lane < lanes.count; lane++)
        write(w, (group){lanes.first + lane, 1}, index, then);
    if (is_long)
        close_any(w, mark);
    for (int i = 0; i < 3; i++)
        forget_loads(w, VY_STMT_OPERANDS(s)[i]);
}

/* `if !c { … }` for `if c { return } …` */
static void write_instead(writer *w, group lanes, const vy_stmt *s, uint32_t condition, const rest *then) {
    vy_irb_if(&w->copy.draft, vy_irb_op(&w->copy.draft, VYRE_OP_LNOT, VYRE_TYPE_BOOL, condition, VY_NONE, VY_NONE));
    write_branch(w, lanes, s->middle, s->end, then);
    vy_irb_end_block(&w->copy.draft);
}

static void write_branches(writer *w, group lanes, uint32_t index, uint32_t condition, const rest *then) {
    const vy_stmt *s = stmt_at(w, index);
    vy_irb_if(&w->copy.draft, condition);
    write_branch(w, lanes, index + 1, s->middle, then);
    if (s->middle != s->end || then) {
        vy_irb_else(&w->copy.draft);
        write_branch(w, lanes, s->middle, s->end, then);
    }
    vy_irb_end_block(&w->copy.draft);
}

static void write_if(writer *w, group lanes, uint32_t index, const rest *then) {
    const vy_stmt *s = stmt_at(w, index);
    int truth = w->element == VY_NONE ? vy_coarsen_truth(w->plan, s->a) : -1;
    if (truth >= 0) {
        write_block(w, lanes, truth ? index + 1 : s->middle, truth ? s->middle : s->end, then);
        return;
    }
    if (lanes.count > 1 && !vy_coarsen_agrees(w->plan, s->a)) {
        each_lane(w, lanes, index, then, write_if);
        return;
    }
    uint32_t condition = write_condition(w, lanes.first, s->a);
    w->copy.draft.position = vy_stmt_position(w->copy.from, index);
    if (s->middle != index + 1 && stmt_at(w, index + 1)->kind == VY_STMT_RETURN)
        write_instead(w, lanes, s, condition, then);
    else
        write_branches(w, lanes, index, condition, then);
}

static void write_loop(writer *w, group lanes, uint32_t index, const rest *then) {
    const vy_stmt *s = stmt_at(w, index);
    vy_irb *d = &w->copy.draft;
    if (lanes.count > 1 && !vy_coarsen_loop_agrees(w->plan, index)) {
        each_lane(w, lanes, index, then, write_loop);
        return;
    }
    uint32_t mark = vy_cloner_open(&w->copy);
    uint32_t a = write_expr(w, lanes.first, s->a), b = write_expr(w, lanes.first, s->b),
             c = write_expr(w, lanes.first, s->c);
    d->position = vy_stmt_position(w->copy.from, index);
    if (s->kind == VY_STMT_FOR) {
        vyre_type type = (vyre_type)vy_variable_at(w->copy.from, s->variable)->type;
        vy_symbol name = vy_cloner_name(&w->copy, text_of(w, s->variable));
        set_variable(w, lanes, s->variable, vy_irb_for(d, name, type, a, b, c));
    } else {
        vy_irb_while(d, a);
    }
    write_branch(w, lanes, index + 1, s->end, NULL);
    vy_cloner_close(&w->copy, mark);
    vy_irb_end_block(d);
}

static void write_region(writer *w, group lanes, uint32_t index) {
    const vy_stmt *s = stmt_at(w, index);
    const char *text = vy_symbol_name(w->copy.from, s->name);
    vy_stmt region = vy_irb_blank_stmt(VY_STMT_REGION);
    region.name = vy_irb_intern(&w->copy.draft, text, strlen(text));
    w->copy.draft.position = vy_stmt_position(w->copy.from, index);
    vy_irb_stmt(&w->copy.draft, &region, NULL, 0, NULL, NULL);
    uint32_t mark = vy_cloner_open(&w->copy);
    write_block(w, lanes, index + 1, s->end, NULL);
    vy_cloner_close(&w->copy, mark);
    vy_irb_end_block(&w->copy.draft);
}

static void write_stmt(writer *w, group lanes, uint32_t index) {
    switch (stmt_at(w, index)->kind) {
    case VY_STMT_IF:
        write_if(w, lanes, index, NULL);
        break;
    case VY_STMT_FOR:
    case VY_STMT_WHILE:
        write_loop(w, lanes, index, NULL);
        break;
    case VY_STMT_REGION:
        write_region(w, lanes, index);
        break;
    default:
        write_simple(w, lanes, index);
        break;
    }
}

/* Writes a block and the statements that follow it. Recursion is bounded by VY_LIMIT_NESTING and by MOST_RETURNS. */
static void write_block(writer *w, group lanes, uint32_t first, uint32_t end, const rest *then) {
    for (uint32_t i = first; i < end && !w->copy.draft.failed && !w->ended; i = stmt_at(w, i)->end) {
        const vy_stmt *s = stmt_at(w, i);
        rest after = {s->end, end, then};
        if (s->kind == VY_STMT_RETURN)
            return;
        if (!vy_stmt_is_structured(s->kind) || !vy_coarsen_returns(w->copy.from, i, s->end)) {
            write_stmt(w, lanes, i);
            continue;
        }
        if (s->kind == VY_STMT_IF)
            write_if(w, lanes, i, &after);
        else /* a region */
            write_block(w, lanes, i + 1, s->end, &after);
        return;
    }
    if (then && !w->ended)
        write_block(w, lanes, then->first, then->end, then->next);
}

/* Writes the body for this many lanes, from lane 0, in the current block. */
static void write_body(writer *w, uint32_t lanes) {
    w->ended = 0;
    write_block(w, (group){0, lanes}, w->copy.entry->first_stmt, w->copy.entry->end_stmt, NULL);
}

/* ---- the frame around the two copies of the body ---- */

static uint32_t read(writer *w, uint32_t variable) {
    return vy_irb_variable(&w->copy.draft, variable);
}

static uint32_t test(writer *w, vyre_op op, uint32_t left, uint32_t right) {
    return vy_irb_op(&w->copy.draft, op, VYRE_TYPE_BOOL, left, right, VY_NONE);
}

static uint32_t let(writer *w, const char *text, uint32_t value) {
    return vy_irb_let(&w->copy.draft, vy_cloner_new_name(&w->copy, text), VYRE_TYPE_U32, value);
}

/* `global_id.x op size / factor` */
static uint32_t test_grid(writer *w, vyre_op comparison) {
    uint32_t id = vy_irb_builtin(&w->copy.draft, VYRE_BUILTIN_GLOBAL_ID, 0), size = read(w, w->size);
    return test(w, comparison, id, binary(w, VYRE_OP_DIV, size, u32(w, w->plan->factor)));
}

static void declare_starts(writer *w) {
    for (uint32_t i = 0; i < w->plan->start_count; i++) {
        const vy_sum *sum = &w->plan->starts[i].sum;
        w->starts[i] = w->base;
        if (!sum->count && !sum->constant)
            continue;
        uint32_t value = read(w, w->base);
        if (sum->constant)
            value = binary(w, VYRE_OP_ADD, value, u32(w, sum->constant));
        for (uint32_t t = 0; t < sum->count; t++) {
            uint32_t term = write_early(w, sum->terms[t]);
            value = binary(w, sum->minus[t] ? VYRE_OP_SUB : VYRE_OP_ADD, value, term);
        }
        w->starts[i] = let(w, "start", value);
    }
}

static uint32_t write_limit(writer *w, const vy_coarsen_limit *limit) {
    if (limit->value)
        return u32(w, limit->value);
    if (limit->memory != VY_NONE)
        return vy_irb_len(&w->copy.draft, w->copy.memories[limit->memory]);
    return write_early(w, limit->expr);
}

/* `start < limit && limit - start >= n`, where start + n - 1 is the last element that the last lane accesses. */
static uint32_t test_limit(writer *w, uint32_t all, const vy_coarsen_limit *limit) {
    int64_t needed = (int64_t)limit->offset + w->plan->factor;
    uint32_t start = read(w, w->starts[limit->start]);
    all = test(w, VYRE_OP_LAND, all, test(w, VYRE_OP_LT, start, write_limit(w, limit)));
    if (needed <= 1)
        return all;
    uint32_t end = write_limit(w, limit), room = binary(w, VYRE_OP_SUB, end, read(w, w->starts[limit->start]));
    return test(w, VYRE_OP_LAND, all, test(w, VYRE_OP_GE, room, u32(w, (uint64_t)needed)));
}

static uint32_t write_tests(writer *w) {
    uint32_t all = test_grid(w, VYRE_OP_LT);
    for (uint32_t i = 0; i < w->plan->start_count; i++)
        if (w->plan->starts[i].low) {
            uint32_t start = read(w, w->starts[i]);
            all = test(w, VYRE_OP_LAND, all, test(w, VYRE_OP_GE, start, u32(w, w->plan->starts[i].low)));
        }
    for (uint32_t i = 0; i < w->plan->limit_count; i++)
        all = test_limit(w, all, &w->plan->limits[i]);
    return all;
}

static void write_slow_path(writer *w) {
    vy_irb *d = &w->copy.draft;
    vy_irb_if(d, test_grid(w, VYRE_OP_LE));
    uint32_t mark = vy_cloner_open(&w->copy);
    uint32_t none = u32(w, 0), size = read(w, w->size), left = binary(w, VYRE_OP_SUB, size, read(w, w->base));
    uint32_t trips = binary(w, VYRE_OP_MIN, left, u32(w, w->plan->factor));
    uint32_t lane = vy_irb_for(d, vy_cloner_new_name(&w->copy, "lane"), VYRE_TYPE_U32, none, trips, VY_NONE);
    uint32_t base = read(w, w->base);
    w->element = let(w, "id", binary(w, VYRE_OP_ADD, base, read(w, lane)));
    write_body(w, 1);
    vy_irb_end_block(d);
    vy_cloner_close(&w->copy, mark);
    vy_irb_end_block(d);
}

static void write_frame(writer *w) {
    vy_irb *d = &w->copy.draft;
    uint32_t groups = read(w, w->groups);
    w->size = let(w, "size", binary(w, VYRE_OP_MUL, groups, u32(w, w->copy.from->workgroup[0])));
    uint32_t id = vy_irb_builtin(d, VYRE_BUILTIN_GLOBAL_ID, 0);
    w->base = let(w, "base", binary(w, VYRE_OP_MUL, id, u32(w, w->plan->factor)));
    declare_starts(w);
    vy_irb_if(d, write_tests(w));
    uint32_t mark = vy_cloner_open(&w->copy);
    write_body(w, w->plan->factor);
    vy_cloner_close(&w->copy, mark);
    vy_irb_else(d);
    d->position = w->copy.entry->position;
    write_slow_path(w);
    vy_irb_end_block(d);
}

/* ---- the program ---- */

static int allocate(writer *w, vy_arena *arena) {
    const vyre_program *p = w->plan->program;
    size_t variables = vy_array_size(p->variables.count + 1u, sizeof(uint32_t));
    w->hoisted = vy_arena_allocate(arena, vy_array_size(p->exprs.count + 1u, sizeof(uint32_t)));
    w->copy.memories = vy_arena_allocate(arena, vy_array_size(p->memories.count + 1u, sizeof(uint32_t)));
    int is_complete = w->hoisted && w->copy.memories;
    for (uint32_t lane = 0; lane < w->plan->factor; lane++)
        is_complete &= (w->lanes[lane] = vy_arena_allocate(arena, variables)) != NULL;
    if (is_complete)
        memset(w->hoisted, 0xff, vy_array_size(p->exprs.count, sizeof(uint32_t)));
    w->copy.variables = w->lanes[0];
    return is_complete;
}

static vyre_status write_program(writer *w, vyre_program **out, vyre_error *error) {
    const vyre_program *from = w->plan->program;
    vyre_status status = vy_cloner_start(&w->copy, from, vyre_program_name(from), error);
    if (status != VYRE_OK)
        return status;
    w->copy.draft.skip_verify = 1;
    vy_cloner_params(&w->copy);
    w->copy.draft.position = w->copy.entry->position;
    w->groups = vy_irb_scalar_param(&w->copy.draft, vy_cloner_new_name(&w->copy, "groups_x"), VYRE_TYPE_U32);
    vy_cloner_buffers(&w->copy, 0);
    vy_cloner_arrays(&w->copy); /* constant arrays */
    for (uint32_t lane = 1; lane < w->plan->factor; lane++)
        memcpy(w->lanes[lane], w->lanes[0], from->variables.count * sizeof(uint32_t));
    w->copy.draft.position = w->copy.entry->position;
    w->element = VY_NONE;
    write_frame(w);
    return vy_cloner_finish(&w->copy, out, error);
}

static const char too_large[] = "it would be over a limit of the language";

/* If the result would exceed a limit of the language, the program is left unchanged. */
static vyre_status rewrite(vy_coarsen_plan *plan, vy_arena *arena, vy_coarsened *out, vyre_error *error) {
    writer w = {.plan = plan, .row = VY_NONE};
    vyre_status status =
        allocate(&w, arena) ? write_program(&w, &out->program, error) : vy_fail_memory(error, "a coarsened program");
    vy_cloner_discard(&w.copy);
    if (status == VYRE_INVALID_PROGRAM || status == VYRE_LIMIT) {
        plan->reason = too_large;
        return VYRE_OK;
    }
    return status;
}

static vyre_status coarsen(const vyre_program *inlined, const vy_target_desc *target, vy_coarsened *out,
                           vyre_error *error) {
    vy_arena arena = {0};
    vy_coarsen_plan plan;
    vyre_status status = vy_coarsen_make_plan(&plan, inlined, target, &arena, error);
    if (status == VYRE_OK && !plan.reason)
        status = rewrite(&plan, &arena, out, error);
    vy_arena_free(&arena);
    out->factor = plan.reason ? 1 : plan.factor;
    out->reason = plan.reason;
    return status;
}

vyre_status vy_coarsen_unverified(vyre_program *inlined, const vy_target_desc *target, vy_coarsened *out,
                                  vyre_error *error) {
    *out = (vy_coarsened){.factor = 1};
    vy_pass_count();
    vyre_status status = coarsen(inlined, target, out, error);
    if (status == VYRE_OK && !out->program)
        out->program = vyre_program_retain(inlined);
    return status;
}

vyre_status vy_coarsen(vyre_program *program, const vy_target_desc *target, vy_coarsened *out, vyre_error *error) {
    vyre_program *inlined;
    *out = (vy_coarsened){.factor = 1};
    vyre_status status = vyre_program_inline(program, &inlined, error);
    if (status == VYRE_OK) {
        status = vy_coarsen_unverified(inlined, target, out, error);
        vyre_program_release(inlined);
        if (status == VYRE_OK)
            status = vy_program_finalize(out->program, error);
    }
    if (status == VYRE_OK && out->factor > 1)
        return VYRE_OK;
    vyre_program_release(out->program);
    out->program = NULL;
    if (status == VYRE_INVALID_PROGRAM || status == VYRE_LIMIT) {
        *out = (vy_coarsened){.factor = 1, .reason = too_large};
        status = VYRE_OK;
    }
    if (status == VYRE_OK)
        out->program = vyre_program_retain(program);
    return status;
}
