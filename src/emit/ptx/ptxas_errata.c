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
    for (unsigned i = x->op == VYRE_OP_SELECT; i < vy_ptx_arity(x); i++) {
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

/* ---- loop errata: which loops ptxas may unroll ----
 *
 * ptxas computes the trip count of a loop whose only exit compares an induction variable, and unrolls by it. But it
 * assumes that nothing wraps (E13, docs/internals/ptx.md). So a loop is left to ptxas only if no exit is such a
 * comparison, or if all computed values fit in the type. Any other loop has a pragma that forbids unrolling, which
 * costs nothing if ptxas would not have unrolled; and ptxas cannot determine the initial value of its induction
 * variable.
 *
 * Conservative: 1 is returned only for loops that are proved safe. */
void vy_ptx_bind_body_label(vy_ptx *e, uint32_t label, int is_right) {
    vy_ptx_bind_label(e, label);
    if (!is_right && (e->target.errata & VY_PTX_ERRATUM_TRIP_COUNTS))
        vy_ptx_write(e, ".pragma \"nounroll\"");
}

/* The unrolled step, the value after the last iteration, and the values on the way there must be in the range of the
 * type. */
int vy_ptx_trip_count_is_safe(const vy_ptx_trip_count *c) {
    vy_interval whole = vy_interval_whole(c->type);
    vy_wide magnitude = c->step < 0 ? -c->step : c->step;
    int includes_end = c->goes_on == VYRE_OP_LE || c->goes_on == VYRE_OP_GE;
    if (c->goes_on == VYRE_OP_NE)
        return magnitude == 1;
    if (!magnitude || magnitude > whole.high >> 5)
        return 0;
    if (c->goes_on == VYRE_OP_LT || c->goes_on == VYRE_OP_LE)
        return c->step > 0 && c->to.high + c->step - 1 + includes_end <= whole.high &&
               c->to.high - c->from.low + includes_end <= whole.high;
    return c->step < 0 && c->to.low + c->step + 1 - includes_end >= whole.low &&
           c->from.high - c->to.low + includes_end <= whole.high;
}

/* ---- changes of values from iteration to iteration ---- */

enum { LOOKS = 512, MOST_SEEN = 32 };

typedef struct view {
    vy_ptx *emitter;
    const vyre_program *program;
    uint32_t loop, end;       /* statements: the loop itself, and the end of its body */
    uint32_t last_exit;       /* after its last `break` or `return`; 0 */
    unsigned looks;           /* number of visited expressions */
    uint32_t seen[MOST_SEEN]; /* variables that were visited below the current condition */
    unsigned seen_count;
} view;

/* The change of a value from iteration to iteration: none; a multiple of a varying value; varying; a varying value
 * plus an amount; or unknown before the iteration. */
typedef enum change { STEADY, SCALED, VARYING, STEPPED, LOADED } change;

static const vy_expr *expr_at(const view *w, uint32_t expr) {
    return vy_expr_at(w->program, expr);
}

static const vy_stmt *stmt_at(const view *w, uint32_t stmt) {
    return vy_stmt_at(w->program, stmt);
}

static int is_value(const vy_stmt *s) {
    return s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR || s->kind == VY_STMT_ASSIGN;
}

/* The first statement at or after `i` that assigns a variable in the loop; the loop's end if there is none. */
static uint32_t where_set(const view *w, uint32_t variable, uint32_t i) {
    uint32_t at = vy_ptx_next_def(w->emitter, variable, i);
    return at < w->end ? at : w->end;
}

/* An expression, or the expression of the `let` of the loop that it names. */
static uint32_t resolve(const view *w, uint32_t expr) {
    for (unsigned k = 0; k < VY_LIMIT_EXPRESSION_DEPTH && expr_at(w, expr)->kind == VY_EXPR_VARIABLE; k++) {
        uint32_t at = where_set(w, expr_at(w, expr)->a, w->loop);
        if (at == w->end || stmt_at(w, at)->kind != VY_STMT_LET)
            break;
        expr = stmt_at(w, at)->a;
    }
    return expr;
}

static int is_private(const view *w, const vy_expr *load) {
    return vy_memory_at(w->program, load->a)->space == VY_SPACE_PRIVATE;
}

static change change_of(view *w, uint32_t expr);

static change change_of_variable(view *w, const vy_expr *x) {
    uint32_t at = where_set(w, x->a, w->loop);
    if (at == w->end)
        return STEADY;
    const vy_stmt *s = stmt_at(w, at);
    if (vyre_type_class((vyre_type)x->type) == VYRE_CLASS_FLOAT)
        return LOADED;
    if (s->kind == VY_STMT_LET)
        return change_of(w, s->a);
    return is_value(s) || s->kind == VY_STMT_FOR ? VARYING : LOADED;
}

/* Whether multiplication, division or a shift by this operand changes a number. */
static int scales(const view *w, const vy_expr *x, uint32_t by) {
    const vy_expr *factor = expr_at(w, by);
    if (factor->kind != VY_EXPR_LITERAL)
        return 0;
    uint64_t mask = vy_type_layouts[x->type].mask;
    if (x->op == VYRE_OP_SHL || x->op == VYRE_OP_SHR)
        return (factor->bits & (vyre_type_bits((vyre_type)x->type) - 1)) != 0;
    return factor->bits > 1 && factor->bits != mask;
}

static change change_of_op(view *w, const vy_expr *x) {
    const uint32_t *operands = VY_EXPR_OPERANDS(x);
    change of[3] = {STEADY, STEADY, STEADY}, most = STEADY;
    for (unsigned i = 0; i < vy_ptx_arity(x); i++) {
        of[i] = change_of(w, operands[i]);
        most = of[i] > most ? of[i] : most;
    }
    if (most == STEADY || most == LOADED)
        return most;
    switch (x->op) {
    case VYRE_OP_ADD:
    case VYRE_OP_SUB:
        return most == SCALED && (of[0] == STEADY || of[1] == STEADY) ? SCALED : STEPPED;
    case VYRE_OP_MUL:
        return scales(w, x, x->a) || scales(w, x, x->b) ? SCALED : most;
    case VYRE_OP_DIV:
    case VYRE_OP_SHL:
    case VYRE_OP_SHR:
        return scales(w, x, x->b) ? SCALED : most;
    default:
        return most;
    }
}

/* Recursion is bounded by the number of visited expressions. */
static change change_of(view *w, uint32_t expr) {
    const vy_expr *x = expr_at(w, expr);
    if (w->looks++ >= LOOKS)
        return STEPPED;
    if (x->kind == VY_EXPR_VARIABLE)
        return change_of_variable(w, x);
    if (x->kind == VY_EXPR_LOAD)
        return is_private(w, x) ? VARYING : LOADED;
    return x->kind == VY_EXPR_OP ? change_of_op(w, x) : STEADY;
}

/* ---- jumps ---- */

/* One past the last jump of that kind in statements [first, end) that concerns the loop; 0 if there is none. */
static uint32_t last_jump(const view *w, uint32_t first, uint32_t end, vy_stmt_kind kind) {
    uint32_t last = 0, inner = first; /* the end of an inner loop, whose jumps do not count */
    for (uint32_t i = first; i < end; i++) {
        const vy_stmt *s = stmt_at(w, i);
        if (s->kind == kind && (i >= inner || kind == VY_STMT_RETURN))
            last = i + 1;
        if (vy_stmt_is_loop(s->kind) && s->end > inner)
            inner = s->end;
    }
    return last;
}

/* The statements of the loop that contain one of its statements, the innermost first; returns their number. */
static unsigned find_around(const view *w, uint32_t at, uint32_t around[VY_LIMIT_NESTING]) {
    unsigned count = 0;
    for (at = vy_ptx_parent(w->emitter, at); at != VY_NONE && at > w->loop && count < VY_LIMIT_NESTING;
         at = vy_ptx_parent(w->emitter, at))
        around[count++] = at;
    return count;
}

/* Whether every iteration executes a statement: it is in the body itself, and no `continue` precedes it. */
static int is_in_every_trip(const view *w, uint32_t at) {
    uint32_t around[VY_LIMIT_NESTING];
    for (unsigned i = 0, count = find_around(w, at, around); i < count; i++)
        if (stmt_at(w, around[i])->kind != VY_STMT_REGION)
            return 0;
    return !last_jump(w, w->loop + 1, at, VY_STMT_CONTINUE);
}

/* ---- operands of conditions ---- */

static int is_counted(view *w, uint32_t expr);

static int any_is_counted(view *w, const vy_stmt *s) {
    const uint32_t *operands = VY_STMT_OPERANDS(s);
    for (unsigned i = 0; i < 3; i++)
        if (operands[i] != VY_NONE && is_counted(w, operands[i]))
            return 1;
    return 0;
}

/* Whether a statement of the loop makes a variable an induction variable, by its value or by the conditions
 * around it. */
static int makes_counted(view *w, uint32_t at) {
    const vy_stmt *s = stmt_at(w, at);
    if (!is_value(s) && s->kind != VY_STMT_FOR)
        return 0;
    if ((s->kind == VY_STMT_ASSIGN && change_of(w, s->a) == STEPPED) || any_is_counted(w, s))
        return 1;
    uint32_t around[VY_LIMIT_NESTING];
    for (unsigned i = s->kind == VY_STMT_LET ? 0 : find_around(w, at, around); i-- > 0;)
        if (any_is_counted(w, stmt_at(w, around[i])))
            return 1;
    return 0;
}

/* Whether a variable is assigned a value in every iteration that is unknown before: then ptxas cannot count by it. */
static int is_loaded(view *w, uint32_t variable) {
    for (uint32_t at = where_set(w, variable, w->loop + 1); at < w->end; at = where_set(w, variable, at + 1))
        if (is_value(stmt_at(w, at)) && change_of(w, stmt_at(w, at)->a) == LOADED && is_in_every_trip(w, at))
            return 1;
    return 0;
}

static int is_counted_variable(view *w, uint32_t variable) {
    for (unsigned i = 0; i < w->seen_count; i++)
        if (w->seen[i] == variable)
            return 0;
    if (w->seen_count == MOST_SEEN)
        return 1;
    w->seen[w->seen_count++] = variable;
    if (is_loaded(w, variable))
        return 0;
    for (uint32_t at = where_set(w, variable, w->loop); at < w->end; at = where_set(w, variable, at + 1))
        if (at == w->loop || makes_counted(w, at))
            return 1;
    return 0;
}

/* Whether an expression depends on a value that changes by the same amount in every iteration. Recursion is bounded by
 * the number of visited expressions and variables. */
static int is_counted(view *w, uint32_t expr) {
    const vy_expr *x = expr_at(w, expr);
    if (w->looks++ >= LOOKS)
        return 1;
    if (x->kind == VY_EXPR_VARIABLE)
        return is_counted_variable(w, x->a);
    if (x->kind == VY_EXPR_LOAD)
        return is_private(w, x);
    if (x->kind != VY_EXPR_OP)
        return 0;
    const uint32_t *operands = VY_EXPR_OPERANDS(x);
    for (unsigned i = 0; i < vy_ptx_arity(x); i++)
        if (is_counted(w, operands[i]))
            return 1;
    return 0;
}

static int is_made_of_counted(view *w, uint32_t expr) {
    w->seen_count = 0;
    return is_counted(w, expr);
}

/* ---- comparisons ---- */

static vy_interval interval_of(const view *w, uint32_t expr) {
    const vy_expr *x = expr_at(w, expr);
    vy_wide number = vy_integer_of(x->type, x->bits);
    return x->kind == VY_EXPR_LITERAL ? (vy_interval){number, number} : vy_interval_whole(x->type);
}

/* Whether statement `at` is certainly the last that was executed for its variable when control reaches the loop. */
static int leads_to_loop(const view *w, uint32_t at) {
    for (uint32_t i = vy_ptx_parent(w->emitter, at); i != VY_NONE; i = vy_ptx_parent(w->emitter, i)) {
        const vy_stmt *s = stmt_at(w, i);
        if (s->end <= w->loop || (s->middle > at && s->middle <= w->loop))
            return 0;
    }
    for (uint32_t i = vy_ptx_parent(w->emitter, w->loop); i != VY_NONE && i > at; i = vy_ptx_parent(w->emitter, i))
        if (vy_stmt_is_loop(stmt_at(w, i)->kind))
            return 0;
    return 1;
}

/* The range of a variable when control reaches the loop. */
static vy_interval start_of(const view *w, uint32_t variable) {
    uint32_t at = vy_ptx_last_def(w->emitter, variable, w->loop);
    int is_known = at != VY_NONE && is_value(stmt_at(w, at)) && leads_to_loop(w, at);
    return is_known ? interval_of(w, stmt_at(w, at)->a) : vy_interval_whole(vy_variable_at(w->program, variable)->type);
}

/* The amount that adding a literal increases a number by; negative if it wraps. */
static vy_wide step_of(const vy_expr *literal) {
    unsigned unused = 64 - vyre_type_bits((vyre_type)literal->type);
    return (int64_t)(literal->bits << unused) >> unused;
}

/* The step of a variable whose only assignment is `v = v + 3`, at most once per iteration; else 0. */
static vy_wide only_step(const view *w, uint32_t variable) {
    uint32_t at = where_set(w, variable, w->loop);
    if (at == w->end || stmt_at(w, at)->kind != VY_STMT_ASSIGN || where_set(w, variable, at + 1) != w->end)
        return 0;
    uint32_t around[VY_LIMIT_NESTING];
    for (unsigned i = 0, count = find_around(w, at, around); i < count; i++)
        if (vy_stmt_is_loop(stmt_at(w, around[i])->kind))
            return 0;
    const vy_expr *x = expr_at(w, resolve(w, stmt_at(w, at)->a));
    if (x->kind != VY_EXPR_OP || (x->op != VYRE_OP_ADD && x->op != VYRE_OP_SUB))
        return 0;
    const vy_expr *a = expr_at(w, resolve(w, x->a)), *b = expr_at(w, resolve(w, x->b));
    if (x->op == VYRE_OP_ADD && a->kind == VY_EXPR_LITERAL) {
        const vy_expr *swap = a;
        a = b;
        b = swap;
    }
    if (a->kind != VY_EXPR_VARIABLE || a->a != variable || b->kind != VY_EXPR_LITERAL)
        return 0;
    return x->op == VYRE_OP_ADD ? step_of(b) : -step_of(b);
}

/* The start and the step of a side of a comparison: a variable, possibly plus or minus an unchanging value. Returns 0
 * if it is any other expression. */
static int follow(view *w, uint32_t expr, vy_ptx_trip_count *c) {
    const vy_expr *x = expr_at(w, expr = resolve(w, expr));
    int is_sum = 0, is_back = 0;
    while (x->kind == VY_EXPR_OP && (x->op == VYRE_OP_ADD || x->op == VYRE_OP_SUB)) {
        int first = change_of(w, x->a) != STEADY, second = change_of(w, x->b) != STEADY;
        if (first == second)
            return 0;
        is_sum = 1;
        is_back ^= second && x->op == VYRE_OP_SUB;
        x = expr_at(w, expr = resolve(w, first ? x->a : x->b));
    }
    if (x->kind != VY_EXPR_VARIABLE)
        return 0;
    const vy_stmt *loop = stmt_at(w, w->loop);
    int is_own = loop->kind == VY_STMT_FOR && loop->variable == x->a;
    if (is_own && loop->c != VY_NONE && expr_at(w, loop->c)->kind != VY_EXPR_LITERAL)
        return 0;
    c->step = !is_own ? only_step(w, x->a) : loop->c == VY_NONE ? 1 : step_of(expr_at(w, loop->c));
    c->step = is_back ? -c->step : c->step;
    c->from = is_sum ? vy_interval_whole(c->type) : is_own ? interval_of(w, loop->a) : start_of(w, x->a);
    return c->step != 0;
}

/* A comparison that must be `wanted` for the loop to continue. */
static int comparison_is_right(view *w, const vy_expr *x, int wanted) {
    vyre_op goes_on = wanted ? (vyre_op)x->op : vy_op_opposite((vyre_op)x->op);
    int is_left = !is_made_of_counted(w, x->b);
    uint32_t side = is_left ? x->a : x->b, other = is_left ? x->b : x->a;
    vy_ptx_trip_count c = {.type = expr_at(w, side)->type, .goes_on = is_left ? goes_on : vy_op_mirrored(goes_on)};
    if (goes_on == VYRE_OP_COUNT || goes_on == VYRE_OP_EQ || !vy_is_integer(c.type) ||
        vyre_type_bits((vyre_type)c.type) < 32 || is_made_of_counted(w, other))
        return 0;
    c.to = interval_of(w, other);
    return follow(w, side, &c) && vy_ptx_trip_count_is_safe(&c);
}

/* A condition that must be `wanted` for the loop to continue. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH and by
 * the number of visited expressions. */
static int condition_is_right(view *w, uint32_t expr, int wanted) {
    if (!is_made_of_counted(w, expr))
        return 1;
    if (w->looks >= LOOKS)
        return 0;
    const vy_expr *x = expr_at(w, resolve(w, expr));
    if (x->kind != VY_EXPR_OP)
        return 0;
    if (x->op == VYRE_OP_LNOT)
        return condition_is_right(w, x->a, !wanted);
    if (x->op == VYRE_OP_LAND || x->op == VYRE_OP_LOR)
        return condition_is_right(w, x->a, wanted) && condition_is_right(w, x->b, wanted);
    return comparison_is_right(w, x, wanted);
}

/* ---- exits ---- */

static uint32_t last_exit(const view *w, uint32_t first, uint32_t end) {
    uint32_t breaks = last_jump(w, first, end, VY_STMT_BREAK), returns = last_jump(w, first, end, VY_STMT_RETURN);
    return breaks > returns ? breaks : returns;
}

/* An `if` that may decide whether there is another iteration: a `continue` in it skips the exits after it. */
static int if_is_right(view *w, uint32_t at) {
    const vy_stmt *s = stmt_at(w, at);
    int then_leaves = last_exit(w, at + 1, s->middle) != 0, else_leaves = last_exit(w, s->middle, s->end) != 0;
    int skips = w->last_exit > at && last_jump(w, at + 1, s->end, VY_STMT_CONTINUE) != 0;
    if ((then_leaves && else_leaves) || skips)
        return !is_made_of_counted(w, s->a);
    return (!then_leaves && !else_leaves) || condition_is_right(w, s->a, else_leaves);
}

static view view_of(vy_ptx *e, uint32_t loop) {
    return (view){.emitter = e, .program = e->program, .loop = loop, .end = vy_stmt_at(e->program, loop)->end};
}

int vy_ptx_exits_are_safe(vy_ptx *e, uint32_t loop) {
    const vy_stmt *s = vy_stmt_at(e->program, loop);
    view w = view_of(e, loop);
    w.last_exit = last_exit(&w, loop + 1, s->end);
    if (s->kind == VY_STMT_WHILE && !condition_is_right(&w, s->a, 1))
        return 0;
    for (uint32_t i = loop + 1; i < w.last_exit; i++)
        if (stmt_at(&w, i)->kind == VY_STMT_IF && !if_is_right(&w, i))
            return 0;
    return 1;
}

/* ---- hiding of induction variables ---- */

/* Whether a statement steps an integer from outside the loop that was not visited before. */
static int is_to_be_hidden(view *w, uint32_t at) {
    const vy_stmt *s = stmt_at(w, at);
    if (s->kind != VY_STMT_ASSIGN || !vy_is_integer(expr_at(w, s->a)->type) || change_of(w, s->a) != STEPPED)
        return 0;
    for (unsigned i = 0; i < w->seen_count; i++)
        if (w->seen[i] == s->variable)
            return 0;
    uint32_t first = where_set(w, s->variable, w->loop);
    if (first == w->end || stmt_at(w, first)->kind != VY_STMT_ASSIGN)
        return 0;
    if (w->seen_count < MOST_SEEN)
        w->seen[w->seen_count++] = s->variable;
    return 1;
}

void vy_ptx_hide_constants(vy_ptx *e, uint32_t loop) {
    view w = view_of(e, loop);
    if (!(e->target.errata & VY_PTX_ERRATUM_TRIP_COUNTS))
        return;
    for (uint32_t i = loop + 1; i < w.end; i++) {
        if (!is_to_be_hidden(&w, i))
            continue;
        vy_ptx_value v = e->variables[stmt_at(&w, i)->variable], zero = vy_ptx_zero(e);
        int is_wide = vyre_type_bits((vyre_type)v.type) == 64;
        zero = is_wide ? zero : vy_ptx_cast(e, VYRE_TYPE_U32, zero);
        vy_ptx_write(e, "add.%s %s, %s, %s", is_wide ? "u64" : "u32", vy_ptx_name(e, v), vy_ptx_name(e, v),
                     vy_ptx_name(e, zero));
    }
}
