/* Plan of unrolling loops over private arrays (unroll_arrays.h). A region is transparent: its statements count as
 * statements of the enclosing block. */
#include "opt/unroll_arrays.h"

#include "base/status.h"
#include "ir/walk.h"
#include "opt/pass_manager.h"

/* How far loops are written out: those over private arrays, and others, which are inside those. Legal programs have
 * more nodes than what they were made of (vy_opt_unroll_aggressive). */
enum { PRIVATE_COST = 12288, TRIPS = 16, COST = 96, ROOM = 30000 };

/* Values that stand where they are used make no larger tree than this. */
enum { TOGETHER = 128 };

/* Statements between a name and its last use, beyond which nobody looks: large programs must not take time in the
 * square of their size. */
enum { FAR = 1024 };

typedef struct planner {
    vy_unroll_arrays_plan *plan;
    const vyre_program *p;
    uint32_t room;
    /* By statement. */
    uint8_t *touches;  /* it has accesses to private arrays */
    uint8_t *is_first; /* a loop that writes zeros into an array before anything else is done with it */
    uint32_t *block;   /* the block it stands in */
    /* By variable. */
    uint32_t *declared, *assigned;  /* the statement; of assignments the last */
    uint32_t *first_use, *last_use; /* statements; VY_NONE, 0: none */
    uint8_t *assignments, *uses;    /* 0, 1, 2: more */
    uint32_t *alias_of;             /* what it is another name of; VY_NONE */
    uint8_t *is_static;             /* a literal in every trip */
    /* By memory. */
    uint32_t *last_store; /* statements */
    uint32_t *first_load;
} planner;

static int is_private(const vyre_program *p, uint32_t memory) {
    return memory != VY_NONE && p->memories.items[memory].space == VY_SPACE_PRIVATE;
}

int vy_unroll_arrays_takes(const vyre_program *program) {
    int has_private = 0;
    for (uint32_t i = 0; i < program->memories.count; i++)
        has_private |= is_private(program, i);
    return has_private && program->functions.count == 1 && vy_program_has_entry(program);
}

/* ---- loops ---- */

int vy_unroll_arrays_pays(int touches_private, uint32_t trips, uint64_t body) {
    uint64_t size = body * trips;
    return trips <= 1 || (touches_private ? trips <= VY_TRIPS && size <= PRIVATE_COST : trips <= TRIPS && size <= COST);
}

/* The statements of a body are planned already. */
static int is_unrollable(const planner *r, uint32_t loop) {
    const vy_stmt *stmts = r->p->stmts.items;
    for (uint32_t i = loop + 1; i < stmts[loop].end;) {
        int is_loop = vy_stmt_is_loop(stmts[i].kind);
        if (stmts[i].kind == VY_STMT_BREAK || stmts[i].kind == VY_STMT_CONTINUE ||
            (is_loop && r->touches[i] && r->plan->becomes[i] != VY_UNROLL_ITERATIONS))
            return 0;
        i = is_loop ? stmts[i].end : i + 1;
    }
    return 1;
}

static int is_fill(const planner *r, uint32_t loop) {
    const vyre_program *p = r->p;
    const vy_stmt *s = &p->stmts.items[loop], *store = s + 1;
    return s->kind == VY_STMT_FOR && s->end == loop + 2 && r->block[loop] == 0 && store->kind == VY_STMT_STORE &&
           is_private(p, store->memory) && p->exprs.items[store->a].kind == VY_EXPR_VARIABLE &&
           p->exprs.items[store->a].a == s->variable && p->exprs.items[store->b].kind == VY_EXPR_LITERAL &&
           p->exprs.items[store->b].bits == 0;
}

static unsigned trips_of(const vyre_program *p, const vy_stmt *s, uint64_t at[VY_TRIPS]) {
    return vy_count_trips(&vy_opt_unroll_aggressive, &p->exprs.items[s->a], &p->exprs.items[s->b],
                          s->c == VY_NONE ? NULL : &p->exprs.items[s->c], at);
}

static void plan_loop(planner *r, uint32_t index) {
    vy_unroll_arrays_plan *plan = r->plan;
    const vy_stmt *s = &r->p->stmts.items[index];
    uint64_t at[VY_TRIPS], body = plan->size[index];
    if (s->kind != VY_STMT_FOR || !is_unrollable(r, index) || is_fill(r, index))
        return;
    unsigned trips = trips_of(r->p, s, at);
    plan->may_be_counted[index] = trips > VY_TRIPS && !r->touches[index];
    if (trips > VY_TRIPS || !vy_unroll_arrays_pays(r->touches[index], trips, body) || trips * body > r->room)
        return;
    r->room -= trips > 1 ? (uint32_t)(trips * body) : 0;
    plan->becomes[index] = VY_UNROLL_ITERATIONS;
    plan->size[index] = (uint32_t)(trips * body);
}

static int touches_private(const planner *r, uint32_t index) {
    const vyre_program *p = r->p;
    if (is_private(p, p->stmts.items[index].memory))
        return 1;
    for (uint32_t i = r->plan->first_expr[index]; i < r->plan->first_expr[index + 1]; i++)
        if (p->exprs.items[i].kind == VY_EXPR_LOAD && is_private(p, p->exprs.items[i].a))
            return 1;
    return 0;
}

/* Inner statements come behind their loop. */
static void plan_loops(planner *r) {
    const vy_stmt *stmts = r->p->stmts.items;
    vy_unroll_arrays_plan *plan = r->plan;
    for (uint32_t i = r->p->stmts.count; i-- > 0;) {
        uint32_t own = plan->first_expr[i + 1] - plan->first_expr[i] + 1, inside = 0;
        r->touches[i] = (uint8_t)touches_private(r, i);
        for (uint32_t k = i + 1; k < stmts[i].end; k = stmts[k].end) {
            inside += plan->size[k];
            r->touches[i] |= r->touches[k];
        }
        plan->size[i] = vy_stmt_is_loop(stmts[i].kind) ? inside : own + inside;
        if (vy_stmt_is_loop(stmts[i].kind))
            plan_loop(r, i);
    }
}

/* ---- blocks and uses ---- */

/* Numbers the blocks. Recursion is bounded by VY_LIMIT_NESTING. */
static void number_block(planner *r, uint32_t first, uint32_t end, uint32_t block, uint32_t *count) {
    const vy_stmt *stmts = r->p->stmts.items;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        r->block[i] = block;
        if (!vy_stmt_is_structured(stmts[i].kind))
            continue;
        number_block(r, i + 1, stmts[i].middle, stmts[i].kind == VY_STMT_REGION ? block : ++*count, count);
        if (stmts[i].middle != stmts[i].end)
            number_block(r, stmts[i].middle, stmts[i].end, ++*count, count);
    }
}

static void note_uses(planner *r) {
    const vyre_program *p = r->p;
    memset(r->first_use, 0xff, p->variables.count * sizeof *r->first_use);
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        for (uint32_t k = r->plan->first_expr[i]; k < r->plan->first_expr[i + 1]; k++) {
            uint32_t variable = p->exprs.items[k].a;
            if (p->exprs.items[k].kind != VY_EXPR_VARIABLE)
                continue;
            if (r->first_use[variable] == VY_NONE)
                r->first_use[variable] = i;
            r->uses[variable] += r->uses[variable] < 2;
            r->last_use[variable] = i;
        }
        if (s->kind == VY_STMT_ASSIGN) {
            r->assigned[s->variable] = i;
            r->assignments[s->variable] += r->assignments[s->variable] < 2;
        } else if (s->kind == VY_STMT_VAR) {
            r->declared[s->variable] = i;
        }
    }
}

/* A variable that is assigned once, in the block that declares it and before anybody uses it, is declared there. */
static void plan_variables(planner *r) {
    const vyre_program *p = r->p;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        if (s->kind != VY_STMT_VAR || r->assignments[s->variable] != 1)
            continue;
        uint32_t at = r->assigned[s->variable];
        if (r->block[at] == r->block[i] && r->first_use[s->variable] > at) {
            r->plan->becomes[i] = VY_UNROLL_NOTHING;
            r->plan->becomes[at] = VY_UNROLL_LET;
        }
    }
}

/* Whether a variable has one value from where it can be used. */
static int is_fixed(const planner *r, uint32_t variable) {
    return !r->p->variables.items[variable].is_mutable ||
           (r->assignments[variable] == 1 && r->plan->becomes[r->assigned[variable]] == VY_UNROLL_LET);
}

/* Whether `of`, which may change, is the same from statement `let` to the last use of `variable`, which is a `let` of
 * it. A use in a loop is one in each of its trips. */
static int is_same_until(const planner *r, uint32_t let, uint32_t variable, uint32_t of) {
    const vy_stmt *stmts = r->p->stmts.items;
    uint32_t last = r->last_use[variable], end = vy_stmt_is_loop(stmts[last].kind) ? stmts[last].end : last;
    for (uint32_t i = let + 1; i < end; i++) {
        if (i - let > FAR || (stmts[i].kind == VY_STMT_ASSIGN && stmts[i].variable == of))
            return 0;
        if (vy_stmt_is_loop(stmts[i].kind) && stmts[i].end > end)
            end = stmts[i].end;
    }
    return 1;
}

/* From the last on: whoever uses another name uses what it stands for. */
static void plan_aliases(planner *r) {
    const vyre_program *p = r->p;
    for (uint32_t i = p->stmts.count; i-- > 0;) {
        const vy_stmt *s = &p->stmts.items[i];
        if (s->kind != VY_STMT_LET || p->exprs.items[s->a].kind != VY_EXPR_VARIABLE)
            continue;
        uint32_t of = p->exprs.items[s->a].a;
        if (!is_fixed(r, of) && !is_same_until(r, i, s->variable, of))
            continue;
        r->plan->becomes[i] = VY_UNROLL_ALIAS;
        r->alias_of[s->variable] = of;
        r->uses[of] = 2;
        if (r->last_use[s->variable] > r->last_use[of])
            r->last_use[of] = r->last_use[s->variable];
    }
}

/* ---- arrays ---- */

static int literal_after(const planner *r, const vy_expr *e) {
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_LITERAL:
        return 1;
    case VY_EXPR_VARIABLE:
        return r->is_static[e->a];
    case VY_EXPR_OP:
        return r->plan->is_known[e->a] && (e->b == VY_NONE || r->plan->is_known[e->b]) &&
               (e->c == VY_NONE || r->plan->is_known[e->c]);
    default:
        return 0;
    }
}

static void refuse(planner *r, uint32_t memory) {
    if (memory != VY_NONE)
        r->plan->array[memory] = VY_ARRAY_STAYS;
}

static void see_exprs(planner *r, uint32_t stmt) {
    const vyre_program *p = r->p;
    for (uint32_t i = r->plan->first_expr[stmt]; i < r->plan->first_expr[stmt + 1]; i++) {
        const vy_expr *e = &p->exprs.items[i];
        r->plan->is_known[i] = (uint8_t)literal_after(r, e);
        if (e->kind == VY_EXPR_LEN || e->kind == VY_EXPR_ALIGN_OFFSET)
            refuse(r, e->a);
        if (e->kind != VY_EXPR_LOAD)
            continue;
        if (r->first_load[e->a] == VY_NONE)
            r->first_load[e->a] = stmt;
        if (!r->plan->is_known[e->b] || (e->c != VY_NONE && !r->plan->is_known[e->c]) || e->op != VY_BOUNDS_UNCHECKED)
            refuse(r, e->a);
    }
}

/* Whether a store may be one of those that make an array one of literals: always done, and before any load. */
static int stores_literal(const planner *r, uint32_t stmt, const vy_stmt *s) {
    return r->block[stmt] == 0 && r->p->exprs.items[s->a].kind == VY_EXPR_LITERAL &&
           r->p->exprs.items[s->b].kind == VY_EXPR_LITERAL && r->first_load[s->memory] == VY_NONE;
}

static void see_store(planner *r, uint32_t stmt, const vy_stmt *s) {
    if (!is_private(r->p, s->memory))
        return;
    if (!r->plan->is_known[s->a] || s->bounds_check != VY_BOUNDS_UNCHECKED)
        refuse(r, s->memory);
    else if (!stores_literal(r, stmt, s) && r->plan->array[s->memory] == VY_ARRAY_LITERALS)
        r->plan->array[s->memory] = VY_ARRAY_VARIABLES;
    r->last_store[s->memory] = stmt;
}

/* A fill that nothing came before but other fills. What it ends at may be loaded. */
static int is_first_fill(planner *r, uint32_t stmt) {
    uint32_t memory = r->p->stmts.items[stmt].kind == VY_STMT_FOR ? r->p->stmts.items[stmt + 1].memory : VY_NONE;
    if (memory == VY_NONE || !is_fill(r, stmt) || r->first_load[memory] != VY_NONE || r->last_store[memory] != VY_NONE)
        return 0;
    see_exprs(r, stmt);
    return r->is_first[stmt] = 1;
}

static void see_stmt(planner *r, uint32_t index) {
    const vy_stmt *s = &r->p->stmts.items[index];
    see_exprs(r, index);
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET:
        r->is_static[s->variable] = r->plan->is_known[s->a];
        break;
    case VY_STMT_ASSIGN:
        if (r->plan->becomes[index] == VY_UNROLL_LET)
            r->is_static[s->variable] = r->plan->is_known[s->a];
        break;
    case VY_STMT_FOR:
        r->is_static[s->variable] = r->plan->becomes[index] == VY_UNROLL_ITERATIONS;
        break;
    case VY_STMT_STORE:
        see_store(r, index, s);
        break;
    default:
        refuse(r, s->memory);
        break;
    }
}

static void place_elements(planner *r) {
    const vyre_program *p = r->p;
    vy_unroll_arrays_plan *plan = r->plan;
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->memories.count; i++) {
        uint32_t elements = p->memories.items[i].elements;
        if (plan->array[i] && elements > VY_UNROLL_ARRAYS_ELEMENTS - count)
            plan->array[i] = VY_ARRAY_STAYS;
        plan->first_element[i] = count;
        count += plan->array[i] ? elements : 0;
    }
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (r->is_first[i] && plan->array[p->stmts.items[i + 1].memory])
            plan->becomes[i] = VY_UNROLL_NOTHING;
}

/* Those of an array of literals are read now; the last store of an element counts. */
static void take_literals(planner *r) {
    const vyre_program *p = r->p;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        if (s->kind != VY_STMT_STORE || r->plan->array[s->memory] != VY_ARRAY_LITERALS || (i && r->is_first[i - 1]))
            continue;
        uint64_t at = p->exprs.items[s->a].bits;
        if (at < p->memories.items[s->memory].elements)
            r->plan->elements[r->plan->first_element[s->memory] + at] = p->exprs.items[s->b].bits;
        r->plan->becomes[i] = VY_UNROLL_NOTHING;
    }
}

static void plan_arrays(planner *r) {
    const vyre_program *p = r->p;
    memset(r->first_load, 0xff, p->memories.count * sizeof *r->first_load);
    memset(r->last_store, 0xff, p->memories.count * sizeof *r->last_store);
    for (uint32_t i = 0; i < p->memories.count; i++)
        r->plan->array[i] = is_private(p, i) ? VY_ARRAY_LITERALS : VY_ARRAY_STAYS;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (is_first_fill(r, i))
            i++;
        else
            see_stmt(r, i);
    place_elements(r);
    take_literals(r);
}

/* ---- rows ---- */

/* Whether nothing in the body of a loop stays a block, or jumps. Inner loops come behind theirs, and are planned. */
static int is_row(const planner *r, uint32_t loop) {
    const vy_stmt *stmts = r->p->stmts.items;
    for (uint32_t i = loop + 1; i < stmts[loop].end; i++) {
        int is_block = vy_stmt_is_loop(stmts[i].kind) ? r->plan->becomes[i] != VY_UNROLL_ITERATIONS
                                                      : stmts[i].kind == VY_STMT_IF && !r->plan->is_known[stmts[i].a];
        if (is_block || stmts[i].kind == VY_STMT_RETURN || stmts[i].kind == VY_STMT_BREAK ||
            stmts[i].kind == VY_STMT_CONTINUE)
            return 0;
    }
    return 1;
}

/* Whether the value of statement `let` is the same at statement `use`: it loads nothing, and what it uses is not
 * assigned in between. */
static int is_same_at(const planner *r, uint32_t let, uint32_t use) {
    const vyre_program *p = r->p;
    for (uint32_t i = r->plan->first_expr[let]; i < r->plan->first_expr[let + 1]; i++) {
        uint32_t variable = p->exprs.items[i].a;
        if (p->exprs.items[i].kind == VY_EXPR_LOAD)
            return 0;
        if (p->exprs.items[i].kind != VY_EXPR_VARIABLE)
            continue;
        while (r->alias_of[variable] != VY_NONE)
            variable = r->alias_of[variable];
        for (uint32_t k = let + 1; k < use && !is_fixed(r, variable); k++)
            if (p->stmts.items[k].kind == VY_STMT_ASSIGN && p->stmts.items[k].variable == variable)
                return 0;
    }
    return 1;
}

/* Values that are used once, in the same block, stand there. From the last on, so that it is known where the user of a
 * value stands itself. */
static void place_values(planner *r, uint32_t loop) {
    const vyre_program *p = r->p;
    vy_unroll_arrays_plan *plan = r->plan;
    for (uint32_t i = p->stmts.items[loop].end; i-- > loop + 1;) {
        const vy_stmt *s = &p->stmts.items[i];
        int is_let =
            (s->kind == VY_STMT_LET && plan->becomes[i] == VY_UNROLL_KEEP) || plan->becomes[i] == VY_UNROLL_LET;
        uint32_t use = is_let && r->uses[s->variable] == 1 ? r->last_use[s->variable] : VY_NONE;
        if (use == VY_NONE || r->block[use] != r->block[i])
            continue;
        while (plan->becomes[use] == VY_UNROLL_INLINE)
            use = r->last_use[p->stmts.items[use].variable];
        if (use - i > FAR || vy_stmt_is_loop(p->stmts.items[use].kind) ||
            plan->exprs[i] + plan->exprs[use] > TOGETHER || !is_same_at(r, i, use))
            continue;
        plan->becomes[i] = VY_UNROLL_INLINE;
        plan->there[s->variable] = i;
        plan->exprs[use] += plan->exprs[i];
    }
}

/* Notes the loads of a statement, and what is known of it: of trees with one start, the largest comes last. */
static void note_trees(planner *r, uint32_t stmt) {
    const vy_expr *exprs = r->p->exprs.items;
    for (uint32_t i = r->plan->first_expr[stmt]; i < r->plan->first_expr[stmt + 1]; i++)
        if (exprs[i].kind == VY_EXPR_LOAD && r->plan->array[exprs[i].a] == VY_ARRAY_STAYS)
            r->plan->loads[stmt] = 1;
        else if (exprs[i].kind == VY_EXPR_LOAD || (exprs[i].kind == VY_EXPR_OP && r->plan->is_known[i]))
            r->plan->known_from[vy_expr_first(r->p, i)] = i;
}

static void plan_rows(planner *r) {
    const vyre_program *p = r->p;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        r->plan->exprs[i] = r->plan->first_expr[i + 1] - r->plan->first_expr[i];
        note_trees(r, i);
    }
    for (uint32_t i = 0, row = 0; i < p->stmts.count; i++) {
        r->plan->holds[i] = r->plan->becomes[i] == VY_UNROLL_ITERATIONS && is_row(r, i);
        if (!r->plan->holds[i] || i < row)
            continue;
        row = p->stmts.items[i].end;
        place_values(r, i);
    }
}

/* ---- all of it ---- */

static void *array(vy_unroll_arrays_plan *plan, int *failed, uint32_t count, size_t size) {
    void *memory = vy_arena_allocate(&plan->arena, vy_array_size(count + 1u, size));
    *failed |= !memory;
    return memory;
}

#define ARRAY(of, count) (of) = array(plan, &failed, (count), sizeof *(of))

/* Loops alone. */
static int start(planner *r, vy_unroll_arrays_plan *plan, const vyre_program *program) {
    uint32_t stmts = program->stmts.count, blocks = 0, expr = 0;
    int failed = 0;
    *r = (planner){.plan = plan, .p = program, .room = ROOM};
    ARRAY(plan->first_expr, stmts);
    ARRAY(plan->becomes, stmts);
    ARRAY(plan->may_be_counted, stmts);
    ARRAY(plan->holds, stmts);
    ARRAY(plan->size, stmts);
    ARRAY(r->touches, stmts);
    ARRAY(r->block, stmts);
    if (failed)
        return 0;
    for (uint32_t i = 0; i < stmts; i++) {
        plan->first_expr[i] = expr;
        expr = vy_stmt_exprs_end(program, &program->stmts.items[i], expr);
    }
    plan->first_expr[stmts] = expr;
    number_block(r, 0, stmts, 0, &blocks);
    plan_loops(r);
    plan->room = r->room;
    for (uint32_t i = 0; i < stmts; i = program->stmts.items[i].end)
        plan->nodes += plan->size[i];
    return 1;
}

static int go_on(planner *r, vy_unroll_arrays_plan *plan) {
    uint32_t variables = r->p->variables.count, memories = r->p->memories.count;
    int failed = 0;
    ARRAY(plan->array, memories);
    ARRAY(plan->first_element, memories);
    ARRAY(r->declared, variables);
    ARRAY(r->assigned, variables);
    ARRAY(r->first_use, variables);
    ARRAY(r->last_use, variables);
    ARRAY(r->assignments, variables);
    ARRAY(r->uses, variables);
    ARRAY(r->alias_of, variables);
    ARRAY(plan->there, variables);
    ARRAY(plan->exprs, r->p->stmts.count);
    ARRAY(plan->loads, r->p->stmts.count);
    ARRAY(plan->known_from, r->p->exprs.count);
    ARRAY(r->is_static, variables);
    ARRAY(plan->is_known, r->p->exprs.count);
    ARRAY(r->is_first, r->p->stmts.count);
    ARRAY(r->last_store, memories);
    ARRAY(r->first_load, memories);
    if (failed)
        return 0;
    memset(plan->there, 0xff, variables * sizeof *plan->there);
    memset(plan->known_from, 0xff, r->p->exprs.count * sizeof *plan->known_from);
    memset(r->alias_of, 0xff, variables * sizeof *r->alias_of);
    note_uses(r);
    plan_variables(r);
    plan_aliases(r);
    plan_arrays(r);
    plan_rows(r);
    return 1;
}

vyre_status vy_unroll_arrays_plan_make(vy_unroll_arrays_plan *plan, const vyre_program *program, vyre_error *error) {
    planner r;
    *plan = (vy_unroll_arrays_plan){0};
    return start(&r, plan, program) && go_on(&r, plan) ? VYRE_OK : vy_fail_memory(error, "what is written out");
}

vyre_status vy_unroll_arrays_size(const vyre_program *program, uint64_t *nodes, vyre_error *error) {
    vy_unroll_arrays_plan plan = {0};
    planner r;
    int is_planned = 1;
    *nodes = 0;
    if (vy_unroll_arrays_takes(program)) {
        is_planned = start(&r, &plan, program);
        *nodes = plan.nodes;
    }
    vy_unroll_arrays_plan_free(&plan);
    return is_planned ? VYRE_OK : vy_fail_memory(error, "what is written out");
}

void vy_unroll_arrays_plan_free(vy_unroll_arrays_plan *plan) {
    vy_arena_free(&plan->arena);
}
