/* Workarounds for ptxas errata: ops that ptxas, the driver's compiler, miscompiles in the form of the op table, and
 * their replacements. docs/internals/ptx.md lists the defects. A replacement that costs time is used only in programs
 * with code that triggers the defect. */
#include "emit/ptx/emitter.h"

#include "ir/eval.h"

/* ---- which errata a program may trigger ---- */

/* A 64-bit difference, or an expression that may become one: ~x + 1. */
static int is_difference(const vy_expr *x) {
    return x->kind == VY_EXPR_OP && (x->type == VYRE_TYPE_I64 || x->type == VYRE_TYPE_U64) &&
           (x->op == VYRE_OP_SUB || x->op == VYRE_OP_NEG || x->op == VYRE_OP_MUL || x->op == VYRE_OP_NOT ||
            x->op == VYRE_OP_XOR);
}

/* The minimum or maximum of two integers, for which ptxas searches negated operands. */
static int is_extreme(vyre_op op, vyre_type type) {
    return (op == VYRE_OP_MIN || op == VYRE_OP_MAX) && (type == VYRE_TYPE_I32 || type == VYRE_TYPE_U32);
}

static int is_real(uint8_t type) {
    return type == VYRE_TYPE_F32 || type == VYRE_TYPE_F64;
}

/* A bit for each float op that ptxas combines with the others. */
static unsigned sign_of(const vy_expr *x) {
    if (x->kind != VY_EXPR_OP || !is_real(x->type))
        return 0;
    return x->op == VYRE_OP_MIN ? 1 : x->op == VYRE_OP_MAX ? 2 : x->op == VYRE_OP_ABS ? 4 : 0;
}

static int is_zero(const vyre_program *p, uint32_t expr) {
    const vy_expr *x = vy_expr_at(p, expr);
    return x->kind == VY_EXPR_LITERAL && is_real(x->type) && x->bits == 0;
}

/* The maximum of a value and 0, which may also be a selection of 0. */
static int is_floor(const vyre_program *p, const vy_expr *x) {
    return sign_of(x) == 2 ||
           (x->kind == VY_EXPR_OP && x->op == VYRE_OP_SELECT && (is_zero(p, x->b) || is_zero(p, x->c)));
}

/* One literal above 0 suffices: ptxas does not treat a value compared with it as known. */
static int is_order(const vyre_program *p, const vy_expr *x) {
    int is_one = x->kind == VY_EXPR_OP &&
                 (x->op == VYRE_OP_LT || x->op == VYRE_OP_LE || x->op == VYRE_OP_GT || x->op == VYRE_OP_GE);
    if (!is_one || vy_expr_at(p, x->a)->type != VYRE_TYPE_F32)
        return 0;
    const vy_expr *sides[2] = {vy_expr_at(p, x->a), vy_expr_at(p, x->b)};
    for (int i = 0; i < 2; i++)
        if (sides[i]->kind == VY_EXPR_LITERAL && sides[i]->bits - 1 < 0x7f800000)
            return 0;
    return 1;
}

/* A comparison or a classification of floats. */
static int is_question(const vyre_program *p, const vy_expr *x) {
    return x->type == VYRE_TYPE_BOOL && vy_ptx_is_float((vyre_type)vy_expr_at(p, x->a)->type);
}

/* 1 or 0, depending on a bool. */
static int maybe_bool(const vyre_program *p, const vy_expr *x) {
    const vy_expr *exprs = p->exprs.items;
    if (x->op == VYRE_OP_CAST)
        return exprs[x->a].type == VYRE_TYPE_BOOL;
    return x->op == VYRE_OP_SELECT && exprs[x->b].kind == VY_EXPR_LITERAL && exprs[x->c].kind == VY_EXPR_LITERAL &&
           (exprs[x->b].bits ^ exprs[x->c].bits) == 1;
}

static int is_one_bit(const vy_expr *x) {
    return x->kind == VY_EXPR_LITERAL && x->bits == 1;
}

/* The ops that these tests may concern, of any type or of 64-bit integers only. Most ops of a large program are not
 * among them. */
enum { ANY_TYPE = 1, LONG_TYPE = 2 };
static const uint8_t concerned_ops[VYRE_OP_COUNT] = {
    [VYRE_OP_MIN] = ANY_TYPE,    [VYRE_OP_MAX] = ANY_TYPE,       [VYRE_OP_ABS] = ANY_TYPE,  [VYRE_OP_LT] = ANY_TYPE,
    [VYRE_OP_LE] = ANY_TYPE,     [VYRE_OP_GT] = ANY_TYPE,        [VYRE_OP_GE] = ANY_TYPE,   [VYRE_OP_EQ] = ANY_TYPE,
    [VYRE_OP_NE] = ANY_TYPE,     [VYRE_OP_SELECT] = ANY_TYPE,    [VYRE_OP_CAST] = ANY_TYPE, [VYRE_OP_IS_NAN] = ANY_TYPE,
    [VYRE_OP_IS_INF] = ANY_TYPE, [VYRE_OP_IS_FINITE] = ANY_TYPE, [VYRE_OP_NOT] = LONG_TYPE, [VYRE_OP_XOR] = LONG_TYPE,
    [VYRE_OP_SUB] = LONG_TYPE,   [VYRE_OP_NEG] = LONG_TYPE,      [VYRE_OP_MUL] = LONG_TYPE};

static int is_concerned(const vy_expr *x) {
    unsigned types = x->type == VYRE_TYPE_I64 || x->type == VYRE_TYPE_U64 ? ANY_TYPE | LONG_TYPE : ANY_TYPE;
    return x->kind == VY_EXPR_OP && (concerned_ops[x->op] & types);
}

void vy_ptx_scan_errata(vy_ptx *e) {
    unsigned signs = 0;
    int has_questions = 0, calls = 0;
    const vy_expr *x = e->exprs; /* a program without expressions has no array */
    for (uint32_t left = e->program->exprs.count; left; left--, x++) {
        if (!is_concerned(x))
            continue;
        e->has_differences |= is_difference(x);
        e->has_extremes |= is_extreme((vyre_op)x->op, (vyre_type)x->type);
        e->has_orders |= is_order(e->program, x);
        e->has_floors |= is_floor(e->program, x);
        has_questions |= is_question(e->program, x);
        e->has_flags |= maybe_bool(e->program, x);
        signs |= sign_of(x);
    }
    for (uint32_t i = 0; i < e->program->stmts.count; i++) {
        const vy_stmt *s = vy_stmt_at(e->program, i);
        calls |= s->kind == VY_STMT_CALL;
        if (s->kind != VY_STMT_VAR && s->kind != VY_STMT_ASSIGN)
            continue;
        e->has_floors |= is_zero(e->program, s->a); /* … by a branch that assigns it */
        e->has_flags |= is_one_bit(&e->exprs[s->a]);
    }
    e->has_signs = (signs & (signs - 1)) != 0;
    e->has_flags &= has_questions;
    if (calls) /* of ops with code, which may have any of these */
        e->has_differences = e->has_extremes = e->has_orders = e->has_floors = e->has_flags = e->has_signs = 1;
    const uint32_t errata = e->target.errata;
    e->has_differences &= (errata & VY_PTX_ERRATUM_HIGH_PRODUCTS) != 0;
    e->has_extremes &= (errata & VY_PTX_ERRATUM_NEGATED_EXTREMES) != 0;
    e->has_signs &= (errata & VY_PTX_ERRATUM_BOUNDS) != 0;
    e->has_floors &= (errata & VY_PTX_ERRATUM_BOUNDS) != 0;
    e->has_orders &= (errata & VY_PTX_ERRATUM_ABS) != 0;
    e->has_flags &= (errata & VY_PTX_ERRATUM_FLAGS) != 0;
    e->plain_types = e->has_extremes || e->has_flags ? 0 : 2;
}

/* ---- replacements ---- */

/* Combined with a zero that ptxas cannot recognise. */
static vy_ptx_value hidden(vy_ptx *e, vyre_type type, vy_ptx_value v) {
    if (v.is_literal)
        v.type = (uint8_t)vy_ptx_integer_of(type);
    return vy_ptx_two(e, "or", vy_ptx_bits(type), type, v, vy_ptx_cast(e, vy_ptx_integer_of(type), vy_ptx_zero(e)));
}

/* min(min(a, -b), c) is one instruction on sm_90 and sm_100, and ptxas 13.0 drops the minus sign of the second operand
 * (E4, docs/internals/ptx.md). So the negated operand is put first, or, if both may be negated, the second is hidden.
 * (ptxas would recognise a comparison and a selection as the minimum, for u32.) */
static vy_ptx_value extreme(vy_ptx *e, vyre_op op, vyre_type type, vy_ptx_value a, vy_ptx_value b) {
    const char *name = op == VYRE_OP_MIN ? "min" : "max";
    int may_a = a.maybe_negated || a.is_variable, may_b = b.maybe_negated || b.is_variable;
    if (may_a && may_b)
        return vy_ptx_two(e, name, vy_ptx_type(type), type, a, hidden(e, type, b));
    return may_b ? vy_ptx_two(e, name, vy_ptx_type(type), type, b, a)
                 : vy_ptx_two(e, name, vy_ptx_type(type), type, a, b);
}

/* max(x, -0) is x, unless x is negative or NaN. ptxas turns it, followed by the minimum with 1, into a saturating sum,
 * and -0 becomes 0 (E5). */
static vy_ptx_value not_below(vy_ptx *e, vy_ptx_value x, vy_ptx_value negative_zero) {
    vy_ptx_value p = vy_ptx_new(e, VYRE_TYPE_BOOL);
    x = vy_ptx_in_register(e, x);
    vy_ptx_write(e, "setp.le.u32 %s, %s, 0x7f800000", vy_ptx_name(e, p), vy_ptx_name(e, x));
    return vy_ptx_choose(e, VYRE_TYPE_F32, (const vy_ptx_value[]){p, x, negative_zero});
}

/* ptxas turns mul.hi.u32, extended to u64, minus x into a multiply-add (IMAD.HI), and loses the carry if the lower
 * half of x is 0 (E11). It does not do so for the upper half of a 64-bit product. */
static vy_ptx_value upper_half(vy_ptx *e, vy_ptx_value a, vy_ptx_value b) {
    vy_ptx_value all = vy_ptx_two(e, "mul.wide", "u32", VYRE_TYPE_U64, a, b), upper = vy_ptx_new(e, VYRE_TYPE_U64);
    vy_ptx_write(e, "shr.u64 %s, %s, 32", vy_ptx_name(e, upper), vy_ptx_name(e, all));
    return vy_ptx_cast(e, VYRE_TYPE_U32, upper);
}

static int is_negative_zero(vy_ptx_value v) {
    return v.is_literal && vy_ptx_is_float((vyre_type)v.type) && v.bits == vy_ptx_sign_bit((vyre_type)v.type);
}

/* A literal other than NaN and -0. */
static int is_number(vy_ptx_value v) {
    vyre_type type = (vyre_type)v.type;
    return v.is_literal && (v.bits & (vy_ptx_sign_bit(type) - 1)) <= vy_type_layouts[type].infinity &&
           !is_negative_zero(v);
}

static int is_one(vy_ptx_value v) {
    return v.is_literal && v.bits == (v.type == VYRE_TYPE_F64 ? 0x3ff0000000000000 : 0x3f800000);
}

/* A literal that is 0 or more. */
static int never_negative(vy_ptx_value v) {
    return v.never_negative || (is_number(v) && v.bits < vy_ptx_sign_bit((vyre_type)v.type));
}

/* The minimum of a value and 1 may start a saturation, in which NaN becomes 0 instead of 1 (E6). */
static int may_saturate(vy_ptx_value a, vy_ptx_value b) {
    return (is_one(a) && !never_negative(b)) || (is_one(b) && !never_negative(a));
}

/* Whether ptxas compiles every use of this minimum or maximum correctly: one operand is a known number, or no other op
 * is combined with it. */
static int is_harmless(const vy_ptx *e, vyre_op op, vy_ptx_value a, vy_ptx_value b) {
    return (!e->has_signs || is_number(a) || is_number(b)) && !(op == VYRE_OP_MIN && may_saturate(a, b));
}

/* ptxas combines sequences of minimum, maximum and abs into code that is correct only for numbers, and not always for
 * -0 (E6 to E8, docs/internals/ptx.md). A zero that it does not recognise separates them. */
static vy_ptx_value bound(vy_ptx *e, vyre_op op, vyre_type type, vy_ptx_value a, vy_ptx_value b) {
    vy_ptx_value d = vy_ptx_two(e, op == VYRE_OP_MIN ? "min" : "max", vy_ptx_type(type), type, a, b);
    if (!is_harmless(e, op, a, b))
        return hidden(e, type, d);
    d.never_negative = op == VYRE_OP_MAX && (never_negative(a) || never_negative(b));
    return d;
}

vy_ptx_value vy_ptx_selection(vy_ptx *e, vyre_type type, const vy_ptx_value *args) {
    vy_ptx_value d = vy_ptx_choose(e, type, args);
    return is_real(type) && e->has_floors && may_saturate(args[1], args[2]) ? hidden(e, type, d) : d;
}

vy_ptx_value vy_ptx_assigned(vy_ptx *e, vy_ptx_value value) {
    vyre_type type = (vyre_type)value.type;
    return is_real(type) && e->has_floors && is_one(value) ? hidden(e, type, value) : value;
}

/* ptxas assumes that abs is 0 or more, also for NaN, for which no comparison holds (E9). It makes no such assumption
 * about bits. */
static vy_ptx_value without_sign(vy_ptx *e, vy_ptx_value a) {
    vy_ptx_value d = vy_ptx_masked(e, VYRE_TYPE_F32, a, INT32_MAX);
    return d.type = VYRE_TYPE_F32, d;
}

/* ptxas evaluates a sum of numbers that it can determine, and rounds it incorrectly if their signs differ and it is
 * half-way between two floats (E10, docs/internals/ptx.md). It leaves a multiply-add by 1 or -1 to the device, at the
 * same cost. */
static vy_ptx_value sum(vy_ptx *e, vyre_op op, vy_ptx_value a, vy_ptx_value b) {
    if (op == VYRE_OP_SUB && b.is_literal) { /* which needs no register in the addition */
        b.bits ^= vy_ptx_sign_bit(VYRE_TYPE_F32);
        op = VYRE_OP_ADD;
    }
    int is_second = op == VYRE_OP_SUB || a.is_literal;
    vy_ptx_value factor = is_second ? b : a, other = is_second ? a : b;
    const char *product = vy_ptx_register(e, factor);
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_F32);
    vy_ptx_write(e, "fma.rn.f32 %s, %s, %s, %s", vy_ptx_name(e, d), product,
                 op == VYRE_OP_ADD ? "0f3F800000" : "0fBF800000", vy_ptx_name(e, other));
    return d;
}

const uint8_t vy_ptx_has_errata[VYRE_OP_COUNT] = {[VYRE_OP_MIN] = 1, [VYRE_OP_MAX] = 1, [VYRE_OP_ABS] = 1,
                                                  [VYRE_OP_ADD] = 1, [VYRE_OP_SUB] = 1, [VYRE_OP_MUL_HIGH] = 1};

int vy_ptx_errata_replace(vy_ptx *e, vyre_op op, vyre_type operand, const vy_ptx_value *args, vy_ptx_value *out) {
    int is_one_of_two = op == VYRE_OP_MIN || op == VYRE_OP_MAX;
    int splits_zeros =
        op == VYRE_OP_MAX && operand == VYRE_TYPE_F32 && (e->target.errata & VY_PTX_ERRATUM_NEGATIVE_ZERO);
    if (e->has_extremes && is_extreme(op, operand))
        *out = extreme(e, op, operand, args[0], args[1]);
    else if (op == VYRE_OP_ABS && operand == VYRE_TYPE_F32 && e->has_orders)
        *out = without_sign(e, args[0]);
    else if ((op == VYRE_OP_ADD || op == VYRE_OP_SUB) && operand == VYRE_TYPE_F32 && !args[0].is_opaque &&
             !args[1].is_opaque && (e->target.errata & VY_PTX_ERRATUM_SUMS))
        *out = sum(e, op, args[0], args[1]);
    else if (op == VYRE_OP_MUL_HIGH && operand == VYRE_TYPE_U32 && e->has_differences)
        *out = upper_half(e, args[0], args[1]);
    else if (splits_zeros && is_negative_zero(args[1]))
        *out = not_below(e, args[0], args[1]);
    else if (splits_zeros && is_negative_zero(args[0]))
        *out = not_below(e, args[1], args[0]);
    else if (is_one_of_two && vy_ptx_is_float(operand) && (e->has_signs || e->has_floors))
        *out = bound(e, op, operand, args[0], args[1]);
    else
        return 0;
    return 1;
}

/* Whether ptxas may find that an integer is the negation of a value. A result computed from such an integer may be one
 * again: x | 0 with a 0 that only ptxas recognises, or ~x + 1. The result for a variable and a literal is not, because
 * our passes would have removed the op; nor is a minimum or maximum. */
int vy_ptx_may_be_negated(const vy_expr *x, vyre_type operand, const vy_ptx_value *args) {
    enum { BY_OPERANDS, ALWAYS, NEVER };
    static const uint8_t rules[VYRE_OP_COUNT] = {
        [VYRE_OP_NEG] = ALWAYS, [VYRE_OP_SUB] = ALWAYS, [VYRE_OP_MUL] = ALWAYS,
        [VYRE_OP_NOT] = ALWAYS, [VYRE_OP_MIN] = NEVER,  [VYRE_OP_MAX] = NEVER,
    };
    uint64_t ones = x->op == VYRE_OP_XOR ? vy_type_layouts[operand].mask : 0;
    unsigned has_opposite = 0, has_variable = 0, has_literal = 0;
    if (rules[x->op] || vy_ptx_is_float(operand))
        return rules[x->op] == ALWAYS;
    for (unsigned i = x->op == VYRE_OP_SELECT; i < vy_expr_arity(x); i++) {
        has_opposite |= args[i].maybe_negated || (ones && args[i].is_literal && args[i].bits == ones);
        has_variable |= args[i].is_variable;
        has_literal |= args[i].is_literal;
    }
    return has_opposite || (has_variable && !has_literal);
}

/* Whether an integer may be the 0 or 1 of a float comparison, used as the bits of a float (0 or a number near 0).
 * ptxas 13.0 compiles some such bits into a comparison that yields 1.0 or 0.0 (E12, docs/internals/ptx.md). A result
 * computed from such an integer may be one again, by ops that ptxas removes; so may a variable. */
int vy_ptx_may_be_bool(const vy_expr *x, const vy_ptx_value *args) {
    if (vy_ptx_is_float((vyre_type)x->type) || x->type == VYRE_TYPE_BOOL)
        return 0;
    int is_choice = x->op == VYRE_OP_SELECT && args[1].is_literal && args[2].is_literal;
    return (x->op == VYRE_OP_CAST && args[0].type == VYRE_TYPE_BOOL) || is_choice || args[0].maybe_bool ||
           args[1].maybe_bool || args[2].maybe_bool;
}

vy_ptx_value vy_ptx_normalize_bool(vy_ptx *e, vyre_type to, vy_ptx_value v) {
    int may_be = e->has_flags && vy_ptx_is_float(to) && !v.is_literal && !vy_ptx_is_float((vyre_type)v.type);
    if (!may_be || !(v.maybe_bool || v.is_variable))
        return v;
    vyre_type type = (vyre_type)v.type;
    v = hidden(e, vy_ptx_class_of(type) == VY_PTX_B64 ? VYRE_TYPE_U64 : VYRE_TYPE_U32, v);
    v.type = (uint8_t)type;
    return v;
}

/* Whether the result of an op is unknown to ptxas if an operand is: not if the other operand alone may determine it,
 * as in the maximum with infinity. Not for integers either: in a branch that tests whether an integer is 5, ptxas
 * replaces it by 5 and propagates that. It does not do so for floats. */
int vy_ptx_keeps_opaque(vyre_op op) {
    static const uint8_t keeps[VYRE_OP_COUNT] = {
        [VYRE_OP_ADD] = 1, [VYRE_OP_SUB] = 1,  [VYRE_OP_MUL] = 1, [VYRE_OP_FMA] = 1,  [VYRE_OP_DIV] = 1,
        [VYRE_OP_NEG] = 1, [VYRE_OP_SQRT] = 1, [VYRE_OP_ABS] = 1, [VYRE_OP_CAST] = 1,
    };
    return keeps[op];
}

/* ---- loop errata: which loops ptxas may unroll (emit/ptxas_loops.h) ----
 *
 * A loop that ptxas might count wrongly has a pragma that forbids unrolling, which costs nothing if ptxas would not
 * have unrolled; and ptxas cannot determine the initial value of its induction variable. */
void vy_ptx_bind_body_label(vy_ptx *e, uint32_t label, int is_right) {
    vy_ptx_bind_label(e, label);
    if (!is_right && (e->target.errata & VY_PTX_ERRATUM_TRIP_COUNTS))
        vy_ptx_write(e, ".pragma \"nounroll\"");
}

int vy_ptx_exits_are_safe(vy_ptx *e, uint32_t loop) {
    return vy_ptx_need_uses(e, VY_PTXAS_LOOPS_NEED) && vy_ptxas_exits_are_safe(&e->uses, loop);
}

void vy_ptx_hide_constants(vy_ptx *e, uint32_t loop) {
    const uint32_t end = vy_stmt_at(e->program, loop)->end;
    if (!(e->target.errata & VY_PTX_ERRATUM_TRIP_COUNTS) || !vy_ptx_need_uses(e, VY_PTXAS_LOOPS_NEED))
        return;
    for (uint32_t i = loop + 1; i < end; i++) {
        if (!vy_ptxas_steps_first(&e->uses, loop, i))
            continue;
        vy_ptx_value v = e->variables[vy_stmt_at(e->program, i)->variable], zero = vy_ptx_zero(e);
        int is_wide = vyre_type_bits((vyre_type)v.type) == 64;
        zero = is_wide ? zero : vy_ptx_cast(e, VYRE_TYPE_U32, zero);
        vy_ptx_write(e, "add.%s %s, %s, %s", is_wide ? "u64" : "u32", vy_ptx_name(e, v), vy_ptx_name(e, v),
                     vy_ptx_name(e, zero));
    }
}
