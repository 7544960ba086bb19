/* Check versioning (version_checks.h). Two kinds of regions are versioned:
 *
 *  - an innermost loop over a variable v up to a bound, `for v in a .. bound`, `while v < bound`, or
 *    `while bound - v >= count` if the body then adds at most `count` to v: its checks `v + c < limit`;
 *  - the last statements of the program, without loops and barriers: their checks `global_id + c < limit`. A compiler
 *    that runs the invocations of a workgroup in a loop vectorises it without masks if all of them are in bounds.
 *
 * A limit is a length or a param, which does not change. The test of a loop is `bound <= limit - reach`, that of ids is
 * `first <= limit - reach`, with the first id of the workgroup, each with `limit >= reach`. Nothing wraps in it. If it
 * holds, no v + c or global_id + c wraps, and the checks have a known result in the version under the test. The other
 * version is the original.
 *
 * An id of the workgroup's first invocation may itself have wrapped; those of the others then continue from it. */
#include "opt/version_checks.h"

#include "analysis/affine_index.h"
#include "analysis/def_use.h"
#include "base/status.h"
#include "ir/walk.h"
#include "opt/rewriter.h"

enum {
    TESTS = 4,    /* most of a region; other checks stay */
    REACH = 1024, /* c of a check is less */
    STEPS = 64,   /* most `let`s and sums that are followed */
    NODES = 512   /* most statements and expressions of a region */
};

/* The variable of the loop, or global_id of an axis, plus an offset modulo 2^32. */
typedef struct sum {
    uint32_t axis, offset;
} sum;

/* Decides checks of sums that differ in the offset only. */
typedef struct test {
    sum greatest;
    uint32_t limit; /* an expression */
} test;

typedef struct region {
    uint32_t first, end;
    /* Of a loop: the variable, else VY_NONE; the bound, an expression; in every iteration bound - variable >= count. */
    uint32_t variable, bound, count;
    int tests_start; /* that holds only if the variable starts below the bound */
    uint32_t test_count;
    test tests[TESTS];
    uint32_t clamped_count;
    uint32_t clamped[TESTS]; /* expressions: lengths that the test compares with 0, of buffers with clamped indices */
} region;

enum { UNKNOWN, IS_FALSE, IS_TRUE };
enum { OUTSIDE, TESTED, ORIGINAL };

typedef struct versions {
    const vyre_program *program;
    const vy_function *entry;
    vy_def_use uses;
    vy_arena arena;
    VY_VECTOR(region) regions;      /* in order, disjoint */
    uint8_t *known;                 /* by expression: in the tested version */
    uint8_t *known_lets;            /* by variable: of a `let` */
    uint32_t next;                  /* the next region to be written */
    uint32_t end;                   /* of the last one */
    uint8_t where;                  /* what is being written */
    uint8_t clamps;                 /* whether the remaining checks become clamped indices */
    uint32_t bound, bound_variable; /* an expression, and the variable of the draft that replaces it; VY_NONE */
} versions;

static const vy_expr *expr_at(const versions *v, uint32_t expr) {
    return &v->program->exprs.items[expr];
}
static const vy_stmt *stmt_at(const versions *v, uint32_t stmt) {
    return &v->program->stmts.items[stmt];
}

/* ---- checks ---- */

/* The sum that an expression of statement `at` is. Each step leads to an operand or an earlier statement. */
static int sum_of(const versions *v, const region *r, uint32_t expr, uint32_t at, sum *out) {
    vy_affine_index index = {expr, 0};
    for (unsigned steps = 0; steps < STEPS; steps++) {
        const vy_expr *e = expr_at(v, index.base);
        if (vy_affine_index_peel(v->program, &index))
            continue;
        *out = (sum){e->kind == VY_EXPR_BUILTIN ? e->axis : 0, index.offset};
        if (e->kind == VY_EXPR_BUILTIN)
            return r->variable == VY_NONE && e->op == VYRE_BUILTIN_GLOBAL_ID && index.offset < REACH;
        if (e->kind != VY_EXPR_VARIABLE)
            return 0;
        if (e->a == r->variable)
            return vy_next_definition(&v->uses, e->a, r->first + 1) >= at && index.offset < REACH;
        if (vy_let_value(&v->uses, e->a) == VY_NONE)
            return 0;
        at = v->uses.declarations[e->a];
        index.base = stmt_at(v, at)->a;
        if (r->variable != VY_NONE && at < r->first)
            return 0;
    }
    return 0;
}

/* Follows `let`s of a length or param. */
static uint32_t limit_of(const versions *v, uint32_t expr) {
    const uint32_t limit = vy_see_through_lets(&v->uses, expr, STEPS);
    const vy_expr *e = expr_at(v, limit);
    const int is_param = e->kind == VY_EXPR_VARIABLE && e->a - v->entry->first_variable < v->program->param_count;
    return is_param || e->kind == VY_EXPR_LEN ? limit : VY_NONE;
}

/* Whether an expression of statement `at` is a check: its sum, its limit, and its value if the sum is below that. */
static int check_of(const versions *v, const region *r, uint32_t expr, uint32_t at, test *out, uint8_t *value) {
    const vy_expr *e = expr_at(v, expr);
    if (e->kind != VY_EXPR_OP ||
        (e->op != VYRE_OP_LT && e->op != VYRE_OP_GE && e->op != VYRE_OP_GT && e->op != VYRE_OP_LE) ||
        expr_at(v, e->a)->type != VYRE_TYPE_U32)
        return 0;
    const int is_left = e->op == VYRE_OP_LT || e->op == VYRE_OP_GE;
    *value = e->op == VYRE_OP_LT || e->op == VYRE_OP_GT ? IS_TRUE : IS_FALSE;
    out->limit = limit_of(v, is_left ? e->b : e->a);
    return out->limit != VY_NONE && sum_of(v, r, is_left ? e->a : e->b, at, &out->greatest);
}

/* The index of the test that decides a check, or that count. */
static uint32_t test_of(const versions *v, const region *r, const test *check) {
    uint32_t i = 0;
    while (i < r->test_count && (r->tests[i].greatest.axis != check->greatest.axis ||
                                 !vy_expr_equal(v->program, r->tests[i].limit, check->limit)))
        i++;
    return i;
}

/* The statements that may have checks: of a loop, those of its body. */
static uint32_t checked_from(const region *r) {
    return r->first + (r->variable != VY_NONE);
}

/* ---- clamped indices ----
 *
 * The index of a load in a loop may depend on the value of a previous load. The test cannot decide the check of such a
 * load. In the tested version the load always executes, on element 0 if the check fails, so there is no branch between
 * the two loads. This requires that the buffer is not empty. */

/* The length in the check `index < len(buffer)` of a load, if the program does not write the buffer; otherwise VY_NONE.
 * Legal programs have no select of less than 32 bits, so narrow loads are excluded. */
static uint32_t checked_length(const versions *v, const vy_expr *load) {
    const vy_memory *m = vy_memory_at(v->program, load->a);
    if (load->kind != VY_EXPR_LOAD || load->c == VY_NONE || m->space != VY_SPACE_BUFFER ||
        vy_accesses[m->access].is_output || vyre_type_bits((vyre_type)load->type) < 32)
        return VY_NONE;
    const vy_expr *check = expr_at(v, vy_see_through_lets(&v->uses, load->c, STEPS));
    if (check->kind != VY_EXPR_OP || check->op != VYRE_OP_LT || !vy_expr_equal(v->program, check->a, load->b))
        return VY_NONE;
    return expr_at(v, check->b)->kind == VY_EXPR_LEN && expr_at(v, check->b)->a == load->a ? check->b : VY_NONE;
}

/* Whether the test of the region includes that a length is not 0. */
static int is_clamped(const versions *v, const region *r, uint32_t length) {
    for (uint32_t i = 0; length != VY_NONE && i < r->clamped_count; i++)
        if (expr_at(v, r->clamped[i])->a == expr_at(v, length)->a)
            return 1;
    return 0;
}

static void find_clamped(const versions *v, region *r) {
    const uint32_t *exprs = v->uses.first_expr;
    for (uint32_t k = exprs[checked_from(r)]; k < exprs[r->end] && r->clamped_count < TESTS; k++) {
        const vy_expr *e = expr_at(v, k);
        const uint32_t length =
            e->kind == VY_EXPR_LOAD && e->c != VY_NONE && !v->known[e->c] ? checked_length(v, e) : VY_NONE;
        if (length != VY_NONE && !is_clamped(v, r, length))
            r->clamped[r->clamped_count++] = length;
    }
}

/* ---- regions ---- */

static void find_checks(const versions *v, region *r) {
    const uint32_t *exprs = v->uses.first_expr;
    uint8_t value;
    test check;
    r->test_count = 0;
    for (uint32_t i = checked_from(r); i < r->end; i++)
        for (uint32_t k = exprs[i]; k < exprs[i + 1]; k++) {
            if (!check_of(v, r, k, i, &check, &value))
                continue;
            const uint32_t t = test_of(v, r, &check);
            if (t == TESTS)
                continue;
            if (t == r->test_count || check.greatest.offset > r->tests[t].greatest.offset)
                r->tests[t] = check;
            r->test_count += t == r->test_count;
        }
}

/* The value of an expression of statement `at` in the tested version. Its operands have theirs. */
static uint8_t value_of(const versions *v, const region *r, uint32_t expr, uint32_t at) {
    const vy_expr *e = expr_at(v, expr);
    uint8_t value;
    test check;
    if (e->type != VYRE_TYPE_BOOL)
        return UNKNOWN;
    if (e->kind == VY_EXPR_VARIABLE)
        return v->known_lets[e->a];
    if (check_of(v, r, expr, at, &check, &value))
        return test_of(v, r, &check) < r->test_count ? value : UNKNOWN;
    if (e->kind != VY_EXPR_OP || (e->op != VYRE_OP_LAND && e->op != VYRE_OP_LOR))
        return UNKNOWN;
    const uint8_t a = v->known[e->a], b = v->known[e->b], decides = e->op == VYRE_OP_LAND ? IS_FALSE : IS_TRUE;
    return a == decides || b == decides ? decides : a == b ? a : UNKNOWN;
}

static void find_values(versions *v, const region *r) {
    for (uint32_t i = checked_from(r); i < r->end; i++) {
        for (uint32_t k = v->uses.first_expr[i]; k < v->uses.first_expr[i + 1]; k++)
            v->known[k] = value_of(v, r, k, i);
        if (stmt_at(v, i)->kind == VY_STMT_LET)
            v->known_lets[stmt_at(v, i)->variable] = v->known[stmt_at(v, i)->a];
    }
}

/* Adds the region if it has checks and is small. Returns 0 if out of memory. */
static int add_region(versions *v, region *r) {
    const uint32_t *exprs = v->uses.first_expr;
    if (r->end - r->first + exprs[r->end] - exprs[r->first] > NODES)
        return 1;
    find_checks(v, r);
    if (!r->test_count)
        return 1;
    region *made = VY_PUSH(&v->regions);
    if (!made)
        return 0;
    *made = *r;
    find_values(v, made);
    if (v->clamps)
        find_clamped(v, made);
    return 1;
}

/* Whether one of the statements may not be in a region: a loop, or one that orders memory. */
static int ends_regions(const versions *v, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++)
        if (vy_stmt_is_loop(stmt_at(v, i)->kind) || vy_stmt_orders(stmt_at(v, i)))
            return 1;
    return 0;
}

/* ---- loops ---- */

static int is_fixed(const versions *v, uint32_t expr) {
    const vy_expr *e = expr_at(v, expr);
    return e->kind == VY_EXPR_LITERAL || e->kind == VY_EXPR_LEN ||
           (e->kind == VY_EXPR_VARIABLE && !v->program->variables.items[e->a].is_mutable);
}

/* Whether the only assignment to the variable in the loop adds a literal up to `most`. */
static int adds_at_most(const versions *v, uint32_t loop, uint32_t variable, uint64_t most) {
    const uint32_t at = vy_next_definition(&v->uses, variable, loop + 1), end = stmt_at(v, loop)->end;
    if (at >= end)
        return 1;
    vy_affine_index next = {stmt_at(v, at)->a, 0};
    return vy_next_definition(&v->uses, variable, at + 1) >= end && vy_affine_index_peel(v->program, &next) &&
           expr_at(v, next.base)->kind == VY_EXPR_VARIABLE && expr_at(v, next.base)->a == variable &&
           next.offset <= most;
}

/* Reads a condition of a `while`: it, or a part that holds in every iteration, is `v < bound` or `bound - v >= count`.
 * Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static int find_bound(const versions *v, region *r, uint32_t condition) {
    const vy_expr *e = expr_at(v, condition);
    if (e->kind != VY_EXPR_OP)
        return 0;
    if (e->op == VYRE_OP_LAND)
        return find_bound(v, r, e->a) || find_bound(v, r, e->b);
    if ((e->op != VYRE_OP_LT && e->op != VYRE_OP_GE) || expr_at(v, e->a)->type != VYRE_TYPE_U32)
        return 0;
    const vy_expr *left = expr_at(v, e->a), *right = expr_at(v, e->b);
    r->tests_start = e->op == VYRE_OP_GE;
    r->bound = r->tests_start ? left->a : e->b;
    r->count = r->tests_start ? (uint32_t)right->bits : 1;
    if (r->tests_start) {
        if (left->kind != VY_EXPR_OP || left->op != VYRE_OP_SUB || right->kind != VY_EXPR_LITERAL || !right->bits)
            return 0;
        left = expr_at(v, left->b);
    }
    r->variable = left->a;
    return left->kind == VY_EXPR_VARIABLE && is_fixed(v, r->bound) &&
           (!r->tests_start || adds_at_most(v, r->first, r->variable, r->count));
}

static int add_loop(versions *v, uint32_t loop) {
    const vy_stmt *s = stmt_at(v, loop);
    region r = {.first = loop, .end = s->end, .variable = s->variable, .bound = s->b, .count = 1};
    const int is_counted = s->kind == VY_STMT_FOR ? expr_at(v, s->b)->type == VYRE_TYPE_U32 : find_bound(v, &r, s->a);
    return !is_counted || ends_regions(v, loop + 1, s->end) || add_region(v, &r);
}

/* The last statements begin with the first one that has a check, after all loops and barriers. */
static int add_last(versions *v) {
    region r = {.first = v->entry->first_stmt, .end = v->entry->end_stmt, .variable = VY_NONE};
    const uint32_t end = r.end;
    for (uint32_t i = r.first; i < end; i = stmt_at(v, i)->end)
        if (ends_regions(v, i, stmt_at(v, i)->end))
            r.first = stmt_at(v, i)->end;
    for (; r.first < end; r.first = r.end) {
        r.end = stmt_at(v, r.first)->end;
        find_checks(v, &r);
        if (r.test_count)
            break;
    }
    r.end = end;
    return add_region(v, &r);
}

static int plan(versions *v, int with_last) {
    const vyre_program *p = v->program;
    v->uses = (vy_def_use){.program = p, .arena = &v->arena};
    v->known = vy_arena_allocate(&v->arena, p->exprs.count + (size_t)1);
    v->known_lets = vy_arena_allocate(&v->arena, p->variables.count + (size_t)1);
    if (!v->known || !v->known_lets ||
        !vy_def_use_need(&v->uses, VY_DEF_USE_EXPRS | VY_DEF_USE_DECLARATIONS | VY_DEF_USE_DEFINITIONS))
        return 0;
    for (uint32_t i = v->entry->first_stmt; i < v->entry->end_stmt; i++)
        if (vy_stmt_is_loop(stmt_at(v, i)->kind) && !add_loop(v, i))
            return 0;
    return !with_last || add_last(v);
}

/* ---- writing ---- */

static uint32_t u32(vy_irb *draft, uint32_t value) {
    return vy_irb_literal(draft, VYRE_TYPE_U32, value);
}

static uint32_t both(vy_irb *draft, uint32_t a, uint32_t b) {
    return a == VY_NONE ? b : vy_irb_op(draft, VYRE_OP_LAND, VYRE_TYPE_BOOL, a, b, VY_NONE);
}

static uint32_t copy(vy_rewrite *rw, uint32_t expr) {
    const versions *v = rw->user;
    return expr == v->bound ? vy_irb_variable(&rw->draft, v->bound_variable)
                            : vy_irb_clone_expr(&rw->draft, rw->from, expr, rw->variables, rw->memories);
}

/* `test` and limit >= reach && first <= limit - reach */
static uint32_t write_test(vy_rewrite *rw, const region *r, const test *t, uint32_t before) {
    vy_irb *d = &rw->draft;
    const uint32_t axis = t->greatest.axis, size = rw->from->workgroup[axis], needed = t->greatest.offset + 1;
    const uint32_t reach = r->variable == VY_NONE ? t->greatest.offset + size
                           : needed > r->count    ? needed - r->count
                                                  : 0;
    uint32_t first;
    if (reach) {
        const uint32_t limit = copy(rw, t->limit);
        before = both(d, before, vy_irb_op(d, VYRE_OP_GE, VYRE_TYPE_BOOL, limit, u32(d, reach), VY_NONE));
    }
    if (r->variable != VY_NONE) {
        first = copy(rw, r->bound);
    } else {
        first = vy_irb_builtin(d, VYRE_BUILTIN_GROUP_ID, axis);
        first = vy_irb_op(d, VYRE_OP_MUL, VYRE_TYPE_U32, first, u32(d, size), VY_NONE);
    }
    uint32_t limit = copy(rw, t->limit);
    if (reach)
        limit = vy_irb_op(d, VYRE_OP_SUB, VYRE_TYPE_U32, limit, u32(d, reach), VY_NONE);
    return both(d, before, vy_irb_op(d, VYRE_OP_LE, VYRE_TYPE_BOOL, first, limit, VY_NONE));
}

static void write_version(vy_rewrite *rw, const region *r, uint8_t where) {
    const uint32_t mark = vy_rewrite_open(rw);
    ((versions *)rw->user)->where = where;
    vy_rewrite_block(rw, r->first, r->end);
    vy_rewrite_close(rw, mark);
}

static void write_versions(vy_rewrite *rw, const region *r) {
    versions *v = rw->user;
    uint32_t condition = VY_NONE;
    rw->changes++;
    rw->draft.position = vy_stmt_position(rw->from, r->first);
    if (r->variable != VY_NONE && !is_fixed(v, r->bound)) { /* that of a `for` is evaluated once */
        v->bound_variable = vy_rewrite_let(rw, vy_rewrite_read(rw, r->bound));
        v->bound = r->bound;
    }
    if (r->tests_start) {
        const uint32_t start = vy_irb_variable(&rw->draft, rw->variables[r->variable]), bound = copy(rw, r->bound);
        condition = vy_irb_op(&rw->draft, VYRE_OP_LE, VYRE_TYPE_BOOL, start, bound, VY_NONE);
    }
    for (uint32_t i = 0; i < r->test_count; i++)
        condition = write_test(rw, r, &r->tests[i], condition);
    for (uint32_t i = 0; i < r->clamped_count; i++) {
        const uint32_t length = copy(rw, r->clamped[i]), zero = u32(&rw->draft, 0);
        condition =
            both(&rw->draft, condition, vy_irb_op(&rw->draft, VYRE_OP_NE, VYRE_TYPE_BOOL, length, zero, VY_NONE));
    }
    vy_irb_if(&rw->draft, condition);
    write_version(rw, r, TESTED);
    vy_irb_else(&rw->draft);
    write_version(rw, r, ORIGINAL);
    vy_irb_end_block(&rw->draft);
    v->where = OUTSIDE;
    v->end = r->end;
    v->bound = VY_NONE;
    rw->ended = 0;
}

/* In the tested version: `let`s with a known value are not needed, and of an `if` one branch remains. */
static int write_known(vy_rewrite *rw, uint32_t stmt) {
    const versions *v = rw->user;
    const vy_stmt *s = stmt_at(v, stmt);
    if (s->kind == VY_STMT_LET && v->known[s->a])
        return 1;
    if (s->kind != VY_STMT_IF || !v->known[s->a])
        return 0;
    const uint32_t mark = vy_rewrite_open(rw);
    if (v->known[s->a] == IS_TRUE)
        vy_rewrite_block(rw, stmt + 1, s->middle);
    else if (s->middle < s->end)
        vy_rewrite_block(rw, s->middle, s->end);
    vy_rewrite_close(rw, mark);
    return 1;
}

static int write_stmt(vy_rewrite *rw, uint32_t stmt) {
    versions *v = rw->user;
    if (v->where != OUTSIDE)
        return v->where == TESTED && write_known(rw, stmt);
    if (v->next < v->regions.count && v->regions.items[v->next].first == stmt) {
        write_versions(rw, &v->regions.items[v->next++]);
        return 1;
    }
    return stmt < v->end;
}

/* Writes `let loaded = buffer[check ? index : 0]`; returns `check ? loaded : 0`. */
static uint32_t clamped_load(vy_rewrite *rw, const vy_expr *load) {
    const vyre_type type = (vyre_type)load->type;
    vy_expr e = *load;
    if (!rw->may_bind || rw->in_arm)
        return VY_NONE;
    const uint32_t check = vy_rewrite_make_leaf(rw, vy_rewrite_read(rw, load->c)), index = vy_rewrite_read(rw, load->b);
    const uint32_t first = vy_rewrite_make_literal(rw, VYRE_TYPE_U32, 0);
    e.a = rw->memories[e.a];
    e.b = vy_rewrite_make_op(rw, VYRE_OP_SELECT, VYRE_TYPE_U32, check, index, first);
    e.c = VY_NONE;
    const uint32_t loaded = vy_rewrite_make_leaf(rw, vy_rewrite_make_expr(rw, &e));
    return vy_rewrite_make_op(rw, VYRE_OP_SELECT, type, check, loaded, vy_rewrite_make_literal(rw, type, 0));
}

static uint32_t replace(vy_rewrite *rw, uint32_t expr) {
    const versions *v = rw->user;
    vy_expr e = *expr_at(v, expr);
    if (expr == v->bound)
        return vy_rewrite_make_variable(rw, v->bound_variable);
    if (v->where != TESTED)
        return VY_NONE;
    if (v->known[expr])
        return vy_rewrite_make_literal(rw, VYRE_TYPE_BOOL, v->known[expr] == IS_TRUE);
    if (e.kind != VY_EXPR_LOAD || e.c == VY_NONE)
        return VY_NONE;
    if (!v->known[e.c] && is_clamped(v, &v->regions.items[v->next - 1], checked_length(v, &e)))
        return clamped_load(rw, &e);
    if (v->known[e.c] != IS_TRUE)
        return VY_NONE;
    e.a = rw->memories[e.a];
    e.b = vy_rewrite_read(rw, e.b);
    e.c = VY_NONE;
    return vy_rewrite_make_expr(rw, &e);
}

vyre_status vy_version_checks(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                              vyre_error *error) {
    static const vy_rewriter hooks = {.stmt = write_stmt, .tree = replace};
    versions v = {.program = program,
                  .entry = vy_program_entry(program),
                  .bound = VY_NONE,
                  .clamps = target->version_checks == VY_VERSIONS_OF_LOOPS};
    uint64_t changes;
    vyre_status status = VYRE_OK;
    *out = NULL;
    if (target->version_checks && !plan(&v, !v.clamps))
        status = vy_fail_memory(error, "a pass");
    else if (v.regions.count)
        status = vy_rewrite_run(program, &hooks, &v, NULL, out, &changes, error);
    else
        *out = vyre_program_retain((vyre_program *)program);
    VY_VECTOR_FREE(&v.regions);
    vy_arena_free(&v.arena);
    return status;
}
