/* Constant folding (constant_fold.h), and the pass that consists of it. Invariant: a folded tree has the bits that
 * the evaluator returns.
 *
 * The pass replaces an op of literals by the literal that the evaluator returns. The length of an array, of a buffer
 * with a constant count and the size of a workgroup are literals. A variable that is a `let` of a literal becomes
 * the literal at each use. A load beyond the end of an array or of such a buffer is zero. */
#include "opt/constant_fold.h"

#include "base/status.h"
#include "ir/walk.h"
#include "opt/pass_manager.h"

/* ---- which expressions fold ---- */

int vy_fold_op(const vyre_program *p, const vy_expr *e, uint64_t *bits) {
    const uint32_t *operands = VY_EXPR_OPERANDS(e);
    uint64_t args[3] = {0};
    for (int i = 0; i < 3 && operands[i] != VY_NONE; i++) {
        const vy_expr *operand = vy_literal_at(p, operands[i]);
        if (!operand)
            return 0;
        args[i] = operand->bits;
    }
    *bits = vy_op_value(p, e, args);
    return 1;
}

/* Along an axis with one invocation every id is 0. Library functions have no workgroup size. */
static int fold_builtin(const vyre_program *from, const vy_expr *e, uint64_t *bits) {
    const uint32_t *size = from->workgroup;
    if (!vy_program_has_entry(from))
        return 0;
    *bits = e->op == VYRE_BUILTIN_WORKGROUP_SIZE ? size[e->axis] : 0;
    return e->op == VYRE_BUILTIN_WORKGROUP_SIZE || (e->op == VYRE_BUILTIN_LOCAL_ID && size[e->axis] == 1) ||
           (e->op == VYRE_BUILTIN_LOCAL_INDEX && vy_workgroup_invocations(from) == 1);
}

/* Whether a literal index is outside `length` elements. The index is compared as a mathematical integer, so a
 * negative one is outside. */
static int is_outside(const vy_expr *index, uint64_t length) {
    vy_wide at = vy_integer_of(index->type, index->bits);
    return at < 0 || at >= (vy_wide)length;
}

int vy_fold_constant_element(const vyre_program *p, const vy_expr *load, uint8_t index_type, uint64_t index,
                             uint64_t *bits) {
    const vy_memory *m = vy_memory_at(p, load->a);
    if (m->space != VY_SPACE_CONSTANT || load->c != VY_NONE)
        return 0;
    vy_wide at = vy_integer_of(index_type, index);
    *bits = at < 0 || at >= (vy_wide)m->elements
                ? 0
                : vy_value_load((vyre_type)m->type,
                                vy_constant_bytes(p, m) + (size_t)at * vyre_type_size((vyre_type)m->type));
    return 1;
}

static int fold_load(const vyre_program *p, const vy_expr *e, uint64_t *bits) {
    const vy_expr *index = vy_expr_at(p, e->b);
    uint64_t length = index->kind == VY_EXPR_LITERAL ? vy_memory_known_length(p, e->a) : 0;
    *bits = 0;
    if (!length)
        return 0;
    return is_outside(index, length) || vy_fold_constant_element(p, e, index->type, index->bits, bits);
}

/* Whether an expression of `p`, the source or the draft, folds to a literal. Selections are handled separately
 * below. */
static int fold_expr(const vy_rewrite *rw, const vyre_program *p, const vy_expr *e, uint64_t *bits) {
    switch (e->kind) {
    case VY_EXPR_OP:
        return vy_expr_at(p, e->a)->kind == VY_EXPR_LITERAL && vy_fold_op(p, e, bits);
    case VY_EXPR_BUILTIN:
        return fold_builtin(rw->from, e, bits);
    case VY_EXPR_LEN:
        *bits = vy_memory_known_length(p, e->a);
        return *bits != 0;
    case VY_EXPR_LOAD:
        return fold_load(p, e, bits);
    default:
        return 0;
    }
}

static int is_select_of_literal(const vyre_program *p, const vy_expr *e) {
    return e->kind == VY_EXPR_OP && e->op == VYRE_OP_SELECT && vy_expr_at(p, e->a)->kind == VY_EXPR_LITERAL;
}

/* Whether an expression of the source that is not a variable folds without its operands being rewritten. An op with
 * a non-literal left operand, the common case, does not. */
static int folds(const vy_rewrite *rw, uint32_t expr) {
    const vy_expr *e = vy_expr_at(rw->from, expr);
    uint64_t bits;
    return is_select_of_literal(rw->from, e) || fold_expr(rw, rw->from, e, &bits);
}

/* ---- writing: a folded tree replaces its operands, which are the last expressions written ---- */

void vy_fold_slide(vyre_program *p, uint32_t first, uint32_t end, uint32_t to) {
    uint32_t by = first - to;
    for (vy_expr *e = p->exprs.items + first, *last = p->exprs.items + end, *at = p->exprs.items + to; e < last;
         e++, at++) {
        *at = *e;
        if (at->kind != VY_EXPR_OP && at->kind != VY_EXPR_LOAD)
            continue;
        at->a -= at->kind == VY_EXPR_OP ? by : 0;
        at->b -= at->b == VY_NONE ? 0 : by;
        at->c -= at->c == VY_NONE ? 0 : by;
    }
    if (p->expr_positions.items)
        memmove(p->expr_positions.items + to, p->expr_positions.items + first,
                (end - first) * sizeof *p->expr_positions.items);
}

uint32_t vy_fold_select(vyre_program *p, const vy_expr *e) {
    uint32_t first = vy_expr_at(p, e->a)->bits ? e->a + 1 : e->b + 1, end = vy_expr_at(p, e->a)->bits ? e->b : e->c;
    vy_fold_slide(p, first, end + 1, e->a);
    return e->a + (end + 1 - first);
}

/* The first operand; the position of the expression itself if it has none. */
static uint32_t first_operand(const vy_expr *e, uint32_t here) {
    return e->kind == VY_EXPR_OP ? e->a : e->kind == VY_EXPR_LOAD ? e->b : here;
}

/* Writes a non-leaf expression of the source at `to`, after its operands. Returns one past it. */
static uint32_t fold_one(vy_rewrite *rw, uint32_t first, uint32_t expr, uint32_t to) {
    vyre_program *p = rw->draft.program;
    uint64_t bits;
    vy_expr e = vy_rewritten_expr(rw, first, rw->from->exprs.items[expr]);
    if (e.kind != VY_EXPR_OP || vy_expr_at(p, e.a)->kind == VY_EXPR_LITERAL) {
        /* Fast path: most ops have a non-literal left operand, so they neither fold nor select an arm. */
        if (is_select_of_literal(p, &e)) {
            rw->changes++;
            return vy_fold_select(p, &e);
        }
        if (fold_expr(rw, p, &e, &bits)) {
            rw->changes++;
            to = first_operand(&e, to);
            e = vy_literal_expr((vyre_type)e.type, bits);
        }
    }
    p->exprs.items[to] = e;
    if (vy_irb_keeps_expr_positions(&rw->draft))
        p->expr_positions.items[to] = vy_expr_position(rw->from, expr);
    return to + 1;
}

/* Writes a literal or variable of the source, or the literal that the variable equals. */
static void put_leaf(vy_rewrite *rw, const vy_literals *literals, uint32_t expr, uint32_t to) {
    vyre_program *p = rw->draft.program;
    vy_expr *e = &p->exprs.items[to];
    *e = rw->from->exprs.items[expr];
    if (e->kind == VY_EXPR_VARIABLE && literals->is_known[e->a]) {
        rw->changes++;
        *e = vy_literal_expr((vyre_type)e->type, literals->bits[e->a]);
    } else if (e->kind == VY_EXPR_VARIABLE) {
        e->a = rw->variables[e->a];
    }
    if (vy_irb_keeps_expr_positions(&rw->draft))
        p->expr_positions.items[to] = vy_expr_position(rw->from, expr);
}

void vy_fold_exprs(vy_rewrite *rw, const vy_literals *literals, uint32_t first, uint32_t end) {
    vyre_program *p = rw->draft.program;
    uint32_t to = vy_rewrite_start_exprs(rw, end - first), *row = rw->row.items;
    if (to == VY_NONE)
        return;
    for (uint32_t i = first; i < end; i++) {
        uint8_t kind = vy_expr_at(rw->from, i)->kind;
        if (kind == VY_EXPR_LITERAL || kind == VY_EXPR_VARIABLE)
            put_leaf(rw, literals, i, to++);
        else
            to = fold_one(rw, first, i, to);
        *row++ = to - 1;
    }
    p->exprs.count = to;
    if (vy_irb_keeps_expr_positions(&rw->draft))
        p->expr_positions.count = to;
}

/* ---- the pass ---- */

/* Operands precede their op, so the first expression that folds has unmodified operands. */
static uint32_t find_folded(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vy_literals *literals = rw->user;
    const vy_expr *exprs = rw->from->exprs.items;
    for (uint32_t i = first; i < end; i++) {
        const vy_expr *e = &exprs[i];
        if (e->kind == VY_EXPR_LITERAL || (e->kind == VY_EXPR_OP && exprs[e->a].kind != VY_EXPR_LITERAL))
            continue; /* the common case */
        if (e->kind == VY_EXPR_VARIABLE ? literals->is_known[e->a] : folds(rw, i))
            return i;
    }
    return end;
}

static void fold_row(vy_rewrite *rw, uint32_t first, uint32_t end) {
    vy_fold_exprs(rw, rw->user, first, end);
}

vyre_status vy_pass_const_fold(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out,
                               uint64_t *changes, vyre_error *error) {
    (void)rules;
    static const vy_rewriter hooks = {
        .rewrite_exprs = fold_row, .keeps_names = 1, .keeps_blocks = 1, .find = find_folded, .only_shrinks = 1};
    size_t count = from->variables.count + 1u, size = vy_array_size(count, sizeof(uint64_t) + 1);
    vy_literals literals = {.bits = vy_allocate(size)};
    *out = NULL;
    *changes = 0;
    if (!literals.bits)
        return vy_fail_memory(error, "a pass");
    literals.is_known = (uint8_t *)(literals.bits + count);
    memset(literals.is_known, 0, count);
    for (uint32_t i = 0; i < from->stmts.count; i++) {
        const vy_stmt *s = vy_stmt_at(from, i);
        if (s->kind != VY_STMT_LET || !vy_literal_at(from, s->a))
            continue;
        literals.bits[s->variable] = vy_expr_at(from, s->a)->bits;
        literals.is_known[s->variable] = 1;
    }
    vyre_status status = vy_rewrite_run(from, &hooks, &literals, NULL, out, changes, error);
    vy_release(literals.bits, size);
    return status;
}
