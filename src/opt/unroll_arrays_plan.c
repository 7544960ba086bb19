/* Plan of unrolling loops over private arrays (unroll_arrays.h). Invariant: a region is transparent, so its
 * statements count as statements of the enclosing block. */
#include "opt/unroll_arrays.h"

#include "analysis/control_flow.h"
#include "base/status.h"
#include "ir/walk.h"
#include "opt/pass_manager.h"

/* Size limits for unrolling loops over private arrays, and other loops inside those. Legal programs have more nodes
 * than their sources (vy_target_desc.unroll_late). */
enum { PRIVATE_COST = 12288, TRIPS = 16, COST = 96, ROOM = 30000 };

/* Inlined values make no tree larger than this. */
enum { TOGETHER = 128 };

/* Most statements scanned from an alias to its last use, so that the time is not quadratic in the program size. */
enum { FAR = 1024 };

typedef struct planner {
    vy_unroll_arrays_plan *plan;
    const vyre_program *p;
    vy_def_use uses; /* reads of an alias count as reads of its variable */
    uint32_t room;
    /* By statement. */
    uint8_t *touches;  /* it accesses private arrays */
    uint8_t *is_first; /* a loop that zeroes an array before its first use */
    uint32_t *block;   /* the block of the statement */
    /* By variable. */
    uint32_t *alias_of; /* the variable that it is an alias of; VY_NONE */
    uint8_t *is_static; /* literal in every iteration */
    /* By memory. */
    uint32_t *last_store; /* statement indices */
    uint32_t *first_load;
} planner;

static int is_private(const vyre_program *p, uint32_t memory) {
    return memory != VY_NONE && vy_memory_at(p, memory)->space == VY_SPACE_PRIVATE;
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

/* Requires the plan of the statements of the body. */
static int is_unrollable(const planner *r, uint32_t loop) {
    const vy_stmt *stmts = r->p->stmts.items;
    for (uint32_t i = loop + 1; i < stmts[loop].end;) {
        int is_loop = vy_stmt_is_loop(stmts[i].kind);
        if (is_loop && r->touches[i] && r->plan->becomes[i] != VY_UNROLL_ITERATIONS)
            return 0;
        i = is_loop ? stmts[i].end : i + 1;
    }
    return !vy_block_has_loop_jump(r->p, loop + 1, stmts[loop].end);
}

static int is_fill(const planner *r, uint32_t loop) {
    const vyre_program *p = r->p;
    const vy_stmt *s = vy_stmt_at(p, loop), *store = s + 1;
    return s->kind == VY_STMT_FOR && s->end == loop + 2 && r->block[loop] == 0 && store->kind == VY_STMT_STORE &&
           is_private(p, store->memory) && vy_expr_at(p, store->a)->kind == VY_EXPR_VARIABLE &&
           vy_expr_at(p, store->a)->a == s->variable && vy_expr_at(p, store->b)->kind == VY_EXPR_LITERAL &&
           vy_expr_at(p, store->b)->bits == 0;
}

static unsigned trips_of(const vyre_program *p, const vy_stmt *s, uint64_t at[VY_TRIPS]) {
    return vy_count_trips(&vy_opt_default, vy_expr_at(p, s->a), vy_expr_at(p, s->b),
                          s->c == VY_NONE ? NULL : vy_expr_at(p, s->c), at);
}

static void plan_loop(planner *r, uint32_t index) {
    vy_unroll_arrays_plan *plan = r->plan;
    const vy_stmt *s = vy_stmt_at(r->p, index);
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
    if (is_private(p, vy_stmt_at(p, index)->memory))
        return 1;
    for (uint32_t i = r->plan->first_expr[index]; i < r->plan->first_expr[index + 1]; i++)
        if (vy_expr_at(p, i)->kind == VY_EXPR_LOAD && is_private(p, vy_expr_at(p, i)->a))
            return 1;
    return 0;
}

/* In reverse, so that inner statements are planned before their loop. */
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

/* ---- blocks, variables, aliases ---- */

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

/* The only assignment to a variable; VY_NONE if there is none or several. */
static uint32_t only_assignment(const planner *r, uint32_t variable) {
    const uint32_t *first = &r->uses.first_definition[variable];
    return first[1] - first[0] == 2 ? r->uses.definitions[first[0] + 1] : VY_NONE;
}

/* A variable that is assigned once, in the block that declares it and before its first use, is declared by that
 * assignment. */
static void plan_variables(planner *r) {
    const vyre_program *p = r->p;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        const vy_stmt *s = vy_stmt_at(p, i);
        uint32_t at = s->kind == VY_STMT_VAR ? only_assignment(r, s->variable) : VY_NONE;
        if (at != VY_NONE && r->block[at] == r->block[i] && r->uses.first_read[s->variable] > at) {
            r->plan->becomes[i] = VY_UNROLL_NOTHING;
            r->plan->becomes[at] = VY_UNROLL_LET;
        }
    }
}

/* Whether a variable has a single value over all its uses. */
static int is_fixed(const planner *r, uint32_t variable) {
    uint32_t at = vy_variable_at(r->p, variable)->is_mutable ? only_assignment(r, variable) : VY_NONE;
    return !vy_variable_at(r->p, variable)->is_mutable || (at != VY_NONE && r->plan->becomes[at] == VY_UNROLL_LET);
}

/* Whether `of`, which is mutable, is unchanged from statement `let` to the last use of its alias `variable`. A use
 * in a loop counts as a use in each iteration. */
static int is_same_until(const planner *r, uint32_t let, uint32_t variable, uint32_t of) {
    const vy_stmt *stmts = r->p->stmts.items;
    uint32_t last = r->uses.last_read[variable], end = vy_stmt_is_loop(stmts[last].kind) ? stmts[last].end : last;
    uint32_t assigned = vy_next_definition(&r->uses, of, let + 1);
    for (uint32_t i = let + 1; i < end; i++) {
        if (i - let > FAR || i == assigned)
            return 0;
        if (vy_stmt_is_loop(stmts[i].kind) && stmts[i].end > end)
            end = stmts[i].end;
    }
    return 1;
}

/* In reverse, so that uses of an alias are counted for the variable at the end of the chain. */
static void plan_aliases(planner *r) {
    const vyre_program *p = r->p;
    for (uint32_t i = p->stmts.count; i-- > 0;) {
        const vy_stmt *s = vy_stmt_at(p, i);
        if (s->kind != VY_STMT_LET || vy_expr_at(p, s->a)->kind != VY_EXPR_VARIABLE)
            continue;
        uint32_t of = vy_expr_at(p, s->a)->a;
        if (!is_fixed(r, of) && !is_same_until(r, i, s->variable, of))
            continue;
        r->plan->becomes[i] = VY_UNROLL_ALIAS;
        r->alias_of[s->variable] = of;
        r->uses.reads[of] = 2;
        if (r->uses.last_read[s->variable] > r->uses.last_read[of])
            r->uses.last_read[of] = r->uses.last_read[s->variable];
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
        const vy_expr *e = vy_expr_at(p, i);
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

/* Whether a store can be part of the initialisation of an array of literals: executed unconditionally, and before
 * any load. */
static int stores_literal(const planner *r, uint32_t stmt, const vy_stmt *s) {
    return r->block[stmt] == 0 && vy_expr_at(r->p, s->a)->kind == VY_EXPR_LITERAL &&
           vy_expr_at(r->p, s->b)->kind == VY_EXPR_LITERAL && r->first_load[s->memory] == VY_NONE;
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

/* Whether a statement is a fill loop that only other fills precede. Its bounds may contain loads. */
static int is_first_fill(planner *r, uint32_t stmt) {
    uint32_t memory = vy_stmt_at(r->p, stmt)->kind == VY_STMT_FOR ? vy_stmt_at(r->p, stmt + 1)->memory : VY_NONE;
    if (memory == VY_NONE || !is_fill(r, stmt) || r->first_load[memory] != VY_NONE || r->last_store[memory] != VY_NONE)
        return 0;
    see_exprs(r, stmt);
    return r->is_first[stmt] = 1;
}

static void see_stmt(planner *r, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(r->p, index);
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
        uint32_t elements = vy_memory_at(p, i)->elements;
        if (plan->array[i] && elements > VY_UNROLL_ARRAYS_ELEMENTS - count)
            plan->array[i] = VY_ARRAY_STAYS;
        plan->first_element[i] = count;
        count += plan->array[i] ? elements : 0;
    }
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (r->is_first[i] && plan->array[vy_stmt_at(p, i + 1)->memory])
            plan->becomes[i] = VY_UNROLL_NOTHING;
}

/* Collects the elements of arrays of literals; the last store to an element wins. */
static void take_literals(planner *r) {
    const vyre_program *p = r->p;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        const vy_stmt *s = vy_stmt_at(p, i);
        if (s->kind != VY_STMT_STORE || r->plan->array[s->memory] != VY_ARRAY_LITERALS || (i && r->is_first[i - 1]))
            continue;
        uint64_t at = vy_expr_at(p, s->a)->bits;
        if (at < vy_memory_at(p, s->memory)->elements)
            r->plan->elements[r->plan->first_element[s->memory] + at] = vy_expr_at(p, s->b)->bits;
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

/* ---- loops that become straight-line code ---- */

/* Whether the unrolled body has no remaining block and no jump. Inner loops follow their loop, so they are already
 * planned. */
static int is_row(const planner *r, uint32_t loop) {
    const vy_stmt *stmts = r->p->stmts.items;
    for (uint32_t i = loop + 1; i < stmts[loop].end; i++) {
        int is_block = vy_stmt_is_loop(stmts[i].kind) ? r->plan->becomes[i] != VY_UNROLL_ITERATIONS
                                                      : stmts[i].kind == VY_STMT_IF && !r->plan->is_known[stmts[i].a];
        if (is_block || vy_stmt_is_jump(stmts[i].kind))
            return 0;
    }
    return 1;
}

/* Whether the value of statement `let` is the same at statement `use`: it loads nothing, and its variables are not
 * assigned in between. */
static int is_same_at(const planner *r, uint32_t let, uint32_t use) {
    const vyre_program *p = r->p;
    for (uint32_t i = r->plan->first_expr[let]; i < r->plan->first_expr[let + 1]; i++) {
        uint32_t variable = vy_expr_at(p, i)->a;
        if (vy_expr_at(p, i)->kind == VY_EXPR_LOAD)
            return 0;
        if (vy_expr_at(p, i)->kind != VY_EXPR_VARIABLE)
            continue;
        while (r->alias_of[variable] != VY_NONE)
            variable = r->alias_of[variable];
        if (!is_fixed(r, variable) && vy_next_definition(&r->uses, variable, let + 1) < use)
            return 0;
    }
    return 1;
}

/* Inlines values that are used once, in the same block. In reverse, so that the final location of each use is known. */
static void place_values(planner *r, uint32_t loop) {
    const vyre_program *p = r->p;
    vy_unroll_arrays_plan *plan = r->plan;
    for (uint32_t i = vy_stmt_at(p, loop)->end; i-- > loop + 1;) {
        const vy_stmt *s = vy_stmt_at(p, i);
        int is_let =
            (s->kind == VY_STMT_LET && plan->becomes[i] == VY_UNROLL_KEEP) || plan->becomes[i] == VY_UNROLL_LET;
        uint32_t use = is_let && r->uses.reads[s->variable] == 1 ? r->uses.last_read[s->variable] : VY_NONE;
        if (use == VY_NONE || r->block[use] != r->block[i])
            continue;
        while (plan->becomes[use] == VY_UNROLL_INLINE)
            use = r->uses.last_read[vy_stmt_at(p, use)->variable];
        if (use - i > FAR || vy_stmt_is_loop(vy_stmt_at(p, use)->kind) ||
            plan->exprs[i] + plan->exprs[use] > TOGETHER || !is_same_at(r, i, use))
            continue;
        plan->becomes[i] = VY_UNROLL_INLINE;
        plan->there[s->variable] = i;
        plan->exprs[use] += plan->exprs[i];
    }
}

/* Records the loads of a statement and its known trees: of several trees with the same start, the largest is last. */
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
        row = vy_stmt_at(p, i)->end;
        place_values(r, i);
    }
}

/* ---- the plan ---- */

static void *array(vy_unroll_arrays_plan *plan, int *failed, uint32_t count, size_t size) {
    void *memory = vy_arena_allocate(&plan->arena, vy_array_size(count + 1u, size));
    *failed |= !memory;
    return memory;
}

#define ARRAY(of, count) (of) = array(plan, &failed, (count), sizeof *(of))

/* Plans the loops only. */
static int start(planner *r, vy_unroll_arrays_plan *plan, const vyre_program *program) {
    uint32_t stmts = program->stmts.count, blocks = 0;
    int failed = 0;
    *r = (planner){.plan = plan, .p = program, .uses = {.program = program, .arena = &plan->arena}, .room = ROOM};
    ARRAY(plan->becomes, stmts);
    ARRAY(plan->may_be_counted, stmts);
    ARRAY(plan->holds, stmts);
    ARRAY(plan->size, stmts);
    ARRAY(r->touches, stmts);
    ARRAY(r->block, stmts);
    if (failed || !vy_def_use_need(&r->uses, VY_DEF_USE_EXPRS))
        return 0;
    plan->first_expr = r->uses.first_expr;
    number_block(r, 0, stmts, 0, &blocks);
    plan_loops(r);
    plan->room = r->room;
    for (uint32_t i = 0; i < stmts; i = vy_stmt_at(program, i)->end)
        plan->nodes += plan->size[i];
    return 1;
}

static int go_on(planner *r, vy_unroll_arrays_plan *plan) {
    uint32_t variables = r->p->variables.count, memories = r->p->memories.count;
    int failed = 0;
    ARRAY(plan->array, memories);
    ARRAY(plan->first_element, memories);
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
    if (failed || !vy_def_use_need(&r->uses, VY_DEF_USE_DEFINITIONS | VY_DEF_USE_READS))
        return 0;
    memset(plan->there, 0xff, variables * sizeof *plan->there);
    memset(plan->known_from, 0xff, r->p->exprs.count * sizeof *plan->known_from);
    memset(r->alias_of, 0xff, variables * sizeof *r->alias_of);
    plan_variables(r);
    plan_aliases(r);
    plan_arrays(r);
    plan_rows(r);
    return 1;
}

vyre_status vy_unroll_arrays_plan_make(vy_unroll_arrays_plan *plan, const vyre_program *program, vyre_error *error) {
    planner r;
    *plan = (vy_unroll_arrays_plan){0};
    return start(&r, plan, program) && go_on(&r, plan) ? VYRE_OK : vy_fail_memory(error, "loop unrolling");
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
    return is_planned ? VYRE_OK : vy_fail_memory(error, "loop unrolling");
}

void vy_unroll_arrays_plan_free(vy_unroll_arrays_plan *plan) {
    vy_arena_free(&plan->arena);
}
