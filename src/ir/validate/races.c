/* Static detection of races that occur in every run. The reference interpreter finds the others.
 *
 * A valid program must never be rejected, so only the following accesses are considered:
 *
 *  - Accesses in statements directly in the body of the program, in a workgroup of more than one invocation, as long as
 *    no earlier statement may have trapped, returned or looped forever. Every invocation executes them, unless the grid
 *    is empty.
 *  - Accesses in the same region: a barrier, a collective, an atomic that is not relaxed, or a block or call that
 *    contains one of these may order memory and ends the region.
 *  - Accesses to memories of known length (an out-of-bounds access has no effect), at indices that are constants, or
 *    the linear local index plus a constant (global_id counts as local_id, because they are equal in the first
 *    workgroup).
 *  - Loads that are evaluated unconditionally: not in `? :`, `&&` or `||`.
 *
 * Two accesses collide if two different invocations access the same element in bounds, one access is a store, and at
 * least one is not atomic. */
#include "ir/validate/verifier.h"

enum {
    REGION_ACCESSES = 32 /* accesses kept per barrier region; later accesses are compared with the first ones only */
};

/* An index as a function of the linear local index l, modulo 2^32. */
typedef struct form {
    enum { UNKNOWN, CONSTANT, LINEAR } kind; /* offset; l + offset */
    uint32_t offset;
} form;

typedef struct access {
    uint32_t memory, stmt;
    form index;
    uint8_t writes, is_atomic;
} access;

typedef struct races {
    vy_verifier *verifier;
    const vyre_program *program;
    uint32_t invocations;
    form *forms; /* by variable of the entry */
    const vy_function *entry;
    access region[REGION_ACCESSES];
    uint32_t count;
} races;

/* ---- indices ---- */

static form builtin_form(const races *r, const vy_expr *e) {
    const uint32_t *size = r->program->workgroup;
    if (e->op == VYRE_BUILTIN_LOCAL_INDEX)
        return (form){LINEAR, 0};
    /* The workgroup extends along this axis only, so the id is the linear index. */
    if ((e->op == VYRE_BUILTIN_LOCAL_ID || e->op == VYRE_BUILTIN_GLOBAL_ID) && size[e->axis] == r->invocations)
        return (form){LINEAR, 0};
    return (form){UNKNOWN, 0};
}

static form sum_form(form a, form b, int minus) {
    if (a.kind == UNKNOWN || b.kind == UNKNOWN || (b.kind == LINEAR && (minus || a.kind == LINEAR)))
        return (form){UNKNOWN, 0};
    return (form){a.kind == LINEAR || b.kind == LINEAR ? LINEAR : CONSTANT,
                  minus ? a.offset - b.offset : a.offset + b.offset};
}

static form form_of(const races *r, uint32_t expr);

static form op_form(const races *r, const vy_expr *e) {
    if (e->type != VYRE_TYPE_U32 || (e->op != VYRE_OP_ADD && e->op != VYRE_OP_SUB))
        return (form){UNKNOWN, 0};
    return sum_form(form_of(r, e->a), form_of(r, e->b), e->op == VYRE_OP_SUB);
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static form form_of(const races *r, uint32_t expr) {
    const vy_expr *e = &r->program->exprs.items[expr];
    switch (e->kind) {
    case VY_EXPR_LITERAL: {
        /* The bits of a non-negative literal are its value; values from 2^31 on exceed every known length. */
        int fits = (vyre_type_class((vyre_type)e->type) & VYRE_CLASS_INTEGER) &&
                   e->bits < UINT64_C(1) << (vyre_type_bits((vyre_type)e->type) - 1) && e->bits <= INT32_MAX;
        return fits ? (form){CONSTANT, (uint32_t)e->bits} : (form){UNKNOWN, 0};
    }
    case VY_EXPR_VARIABLE:
        return r->forms[e->a - r->entry->first_variable];
    case VY_EXPR_BUILTIN:
        return builtin_form(r, e);
    case VY_EXPR_OP:
        return op_form(r, e);
    default:
        return (form){UNKNOWN, 0};
    }
}

/* ---- collisions ---- */

/* Whether different invocations l, l' < n have one(l) = other(l') < length. */
static int collide(form one, form other, uint32_t n, uint64_t length) {
    if (one.kind == CONSTANT && other.kind == LINEAR)
        return collide(other, one, n, length);
    if (other.kind ==
        CONSTANT) /* one(l) equals the constant for l = c - offset, and all other invocations access it, too */
        return other.offset < length &&
               (one.kind == CONSTANT ? one.offset == other.offset : other.offset - one.offset < n);
    int32_t distance = (int32_t)(one.offset - other.offset); /* l' = l + distance */
    uint32_t apart = distance < 0 ? 0u - (uint32_t)distance : (uint32_t)distance;
    if (apart == 0 || apart >= n)
        return 0;
    /* l has n - apart values. The accessed elements are consecutive from `first`, so one is in bounds if the first
     * is, or if they wrap around to 0. */
    uint32_t first = (distance < 0 ? apart : 0) + one.offset;
    return first < length || first + (n - apart - 1) < first;
}

static const char *access_word(const access *a) {
    return a->is_atomic ? "an atomic" : a->writes ? "a store" : "a load";
}

static void report_pair(races *r, const access *earlier, const access *later) {
    const vyre_program *p = r->program;
    vy_position at = vy_stmt_position(p, later->stmt), before = vy_stmt_position(p, earlier->stmt);
    const char *name = vy_verifier_name(r->verifier, p->memories.items[later->memory].name);
    char line[32] = "";
    if (before.line)
        vy_fix_format(line, sizeof line, " in line %u", before.line);
    int has_atomic = earlier->is_atomic || later->is_atomic;
    /* A statement evaluates its loads first, so no barrier fits between the two. */
    const char *fix =
        earlier->stmt == later->stmt
            ? VY_FIX("load the element first, as in `let v = %.60s[i]`, then add a `barrier`, and %s after it", name,
                     has_atomic ? "apply the atomic" : "store")
            : NULL;
    vy_verifier_error(
        r->verifier, has_atomic ? VY_V104 : VY_V103, at, fix,
        "%s of `%s` and %s%s access the same element from different invocations without a barrier between them",
        access_word(later), name, access_word(earlier), line);
}

static void add_access(races *r, uint32_t stmt, uint32_t memory, uint32_t index, int writes, int is_atomic) {
    const vyre_program *p = r->program;
    uint64_t length = vy_memory_known_length(p, memory);
    access now = {memory, stmt, form_of(r, index), (uint8_t)writes, (uint8_t)is_atomic};
    if (now.index.kind == UNKNOWN || length == 0 || p->memories.items[memory].space == VY_SPACE_PRIVATE)
        return;
    if (now.index.kind == CONSTANT && writes && !is_atomic && now.index.offset < length) {
        const char *name = vy_verifier_name(r->verifier, p->memories.items[memory].name);
        const char *fix = vy_memory_has_atomics(p, memory)
                              ? VY_FIX("store from one invocation: `if local_index == 0 { … }`, or use an atomic, such "
                                       "as `atomic_add(%.60s[i], v)`",
                                       name)
                              : NULL;
        vy_verifier_error(r->verifier, VY_V102, vy_stmt_position(p, stmt), fix,
                          "all %u invocations of the workgroup store to element %u of `%s`", r->invocations,
                          now.index.offset, name);
        return;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        const access *a = &r->region[i];
        if (a->memory == memory && (a->writes || writes) && !(a->is_atomic && is_atomic) &&
            collide(a->index, now.index, r->invocations, length)) {
            report_pair(r, a, &now);
            return;
        }
    }
    if (r->count < REGION_ACCESSES)
        r->region[r->count++] = now;
}

/* ---- statements ---- */

/* Adds the loads of a statement, unless some of its expressions are evaluated conditionally. */
static void add_loads(races *r, uint32_t stmt, uint32_t first, uint32_t end) {
    const vy_expr *exprs = r->program->exprs.items;
    for (uint32_t i = first; i < end; i++)
        if (exprs[i].kind == VY_EXPR_OP &&
            (exprs[i].op == VYRE_OP_SELECT || exprs[i].op == VYRE_OP_LAND || exprs[i].op == VYRE_OP_LOR))
            return;
    for (uint32_t i = first; i < end; i++)
        if (exprs[i].kind == VY_EXPR_LOAD)
            add_access(r, stmt, exprs[i].a, exprs[i].b, 0, 0);
}

typedef enum effect { NOTHING, ORDERS, MAY_END } effect; /* MAY_END: the following statements may not be executed */

/* The effect of a statement, including its block, on the following statements. A call has the effect of its body, so
 * that inlining does not change the result. */
static effect effect_of(const races *r, const vy_stmt *s) {
    const vy_callee_summary *callee =
        s->kind == VY_STMT_CALL && s->callee != VY_NONE ? &r->verifier->callees[s->callee] : NULL;
    uint32_t facts = callee ? callee->facts : vy_stmt_flags(s);
    int may_loop = callee ? (int)callee->may_loop : vy_stmt_may_loop(s);
    if (s->kind == VY_STMT_RETURN || may_loop || (facts & (VY_PROGRAM_HAS_TRAP | VY_PROGRAM_HAS_OP_CALL)))
        return MAY_END;
    return (callee ? (int)callee->orders : vy_stmt_orders(s)) ? ORDERS : NOTHING;
}

static effect effect_of_block(const races *r, uint32_t first, uint32_t end) {
    effect strongest = NOTHING;
    for (uint32_t i = first; i < end; i++) {
        effect one = effect_of(r, &r->program->stmts.items[i]);
        strongest = one > strongest ? one : strongest;
    }
    return strongest;
}

/* Returns the first expression after the statement and its block. */
static uint32_t skip_block(const races *r, uint32_t first, uint32_t end, uint32_t expr) {
    for (uint32_t i = first; i < end; i++)
        expr = vy_stmt_exprs_end(r->program, &r->program->stmts.items[i], expr);
    return expr;
}

static void run_stmt(races *r, uint32_t index, uint32_t first_expr, uint32_t end_expr) {
    const vy_stmt *s = &r->program->stmts.items[index];
    /* The condition of a `while` is evaluated again after the body; arguments of a call move into the inlined
     * region. */
    if (s->kind != VY_STMT_WHILE && (s->kind != VY_STMT_CALL || s->callee == VY_NONE))
        add_loads(r, index, first_expr, end_expr);
    if (s->kind == VY_STMT_LET)
        r->forms[s->variable - r->entry->first_variable] = form_of(r, s->a);
    else if (s->kind == VY_STMT_STORE)
        add_access(r, index, s->memory, s->a, 1, 0);
    else if (s->kind == VY_STMT_ATOMIC)
        add_access(r, index, s->memory, s->a, s->op != VYRE_ATOMIC_LOAD, 1);
}

/* Evaluates a size that is the same in every run; returns 0 for other sizes. Recursion is bounded by
 * VY_LIMIT_EXPRESSION_DEPTH. */
static int size_known(const vyre_program *p, uint32_t index, uint64_t *value) {
    const vy_size *size = &p->sizes.items[index];
    uint64_t a = 0, b = 0;
    if (size->kind <= VY_SIZE_LEN) {
        *value = size->value;
        return size->kind == VY_SIZE_LITERAL;
    }
    int left = size_known(p, size->a, &a), right = size_known(p, size->b, &b);
    int left_is_zero = left && a == 0, right_is_zero = right && b == 0;
    *value = 0;
    switch (size->kind) {
    case VY_SIZE_MUL:
        return left_is_zero || right_is_zero || (left && right && !__builtin_mul_overflow(a, b, value));
    case VY_SIZE_MIN:
        *value = a < b ? a : b;
        return left_is_zero || right_is_zero || (left && right);
    case VY_SIZE_MAX:
        *value = a > b ? a : b;
        return left && right;
    case VY_SIZE_ADD:
        return left && right && !__builtin_add_overflow(a, b, value);
    case VY_SIZE_SUB:
        return left_is_zero || (left && right && !__builtin_sub_overflow(a, b, value));
    default:
        break;
    }
    if (left_is_zero || !left || !right || b == 0)
        return left_is_zero;
    *value = size->kind == VY_SIZE_REM ? a % b : a / b + (size->kind == VY_SIZE_DIV_CEIL && a % b != 0);
    return 1;
}

/* Whether the grid of the program is always empty. */
static int is_empty(const vyre_program *p) {
    const vy_grid *grid = &p->grid;
    if (grid->kind != VYRE_GRID_GROUPS && grid->kind != VYRE_GRID_ELEMENTS)
        return 0;
    for (int i = 0; i < 3; i++) {
        uint64_t size;
        if (grid->sizes[i] != VY_NONE && size_known(p, grid->sizes[i], &size) && size == 0)
            return 1;
    }
    return 0;
}

void vy_verify_races(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    races r = {.verifier = verifier, .program = p, .entry = vy_program_entry(p)};
    if (!r.entry || is_empty(p))
        return;
    r.invocations = p->workgroup[0] * p->workgroup[1] * p->workgroup[2];
    if (r.invocations == 1 || !(r.forms = vy_verifier_scratch(verifier, r.entry->variable_count, sizeof *r.forms)))
        return;
    uint32_t expr = verifier->first_expr[p->functions.count - 1];
    for (uint32_t i = r.entry->first_stmt; i < r.entry->end_stmt; i = p->stmts.items[i].end) {
        const vy_stmt *s = &p->stmts.items[i];
        uint32_t end_expr = vy_stmt_exprs_end(p, s, expr);
        effect what = effect_of_block(&r, i, s->end);
        if (what == ORDERS)
            r.count = 0;
        run_stmt(&r, i, expr, end_expr);
        if (what == MAY_END)
            return;
        if (what == ORDERS)
            r.count = 0;
        expr = skip_block(&r, i + 1, s->end, end_expr);
    }
}
