/* Workarounds for ptxas errata: ops that ptxas, the driver's compiler, compiles wrongly as the op table writes them,
 * and their replacements. docs/internals/ptx.md lists the defects. A replacement that costs anything is used only in
 * programs that have the code that triggers the defect. */
#include "emit/ptx/emitter.h"

/* ---- what a program has ---- */

/* Of 64 bits, or what may become one: ~x + 1. */
static int is_difference(const vy_expr *x) {
    return x->kind == VY_EXPR_OP && (x->type == VYRE_TYPE_I64 || x->type == VYRE_TYPE_U64) &&
           (x->op == VYRE_OP_SUB || x->op == VYRE_OP_NEG || x->op == VYRE_OP_MUL || x->op == VYRE_OP_NOT ||
            x->op == VYRE_OP_XOR);
}

/* The smaller or larger of two integers, which is what opposites are found out for. */
static int is_extreme(vyre_op op, vyre_type type) {
    return (op == VYRE_OP_MIN || op == VYRE_OP_MAX) && (type == VYRE_TYPE_I32 || type == VYRE_TYPE_U32);
}

static int is_real(uint8_t type) {
    return type == VYRE_TYPE_F32 || type == VYRE_TYPE_F64;
}

/* A bit for each of the ops of floats that ptxas thinks about together. */
static unsigned sign_of(const vy_expr *x) {
    if (x->kind != VY_EXPR_OP || !is_real(x->type))
        return 0;
    return x->op == VYRE_OP_MIN ? 1 : x->op == VYRE_OP_MAX ? 2 : x->op == VYRE_OP_ABS ? 4 : 0;
}

static int is_zero(const vyre_program *p, uint32_t expr) {
    const vy_expr *x = &p->exprs.items[expr];
    return x->kind == VY_EXPR_LITERAL && is_real(x->type) && x->bits == 0;
}

/* The larger of something and 0, which may also be a selection of 0. */
static int is_floor(const vyre_program *p, const vy_expr *x) {
    return sign_of(x) == 2 ||
           (x->kind == VY_EXPR_OP && x->op == VYRE_OP_SELECT && (is_zero(p, x->b) || is_zero(p, x->c)));
}

/* One literal above 0 is enough: what is compared with that ptxas does not take for known. */
static int is_order(const vyre_program *p, const vy_expr *x) {
    int is_one = x->kind == VY_EXPR_OP &&
                 (x->op == VYRE_OP_LT || x->op == VYRE_OP_LE || x->op == VYRE_OP_GT || x->op == VYRE_OP_GE);
    if (!is_one || p->exprs.items[x->a].type != VYRE_TYPE_F32)
        return 0;
    const vy_expr *sides[2] = {&p->exprs.items[x->a], &p->exprs.items[x->b]};
    for (int i = 0; i < 2; i++)
        if (sides[i]->kind == VY_EXPR_LITERAL && sides[i]->bits - 1 < 0x7f800000)
            return 0;
    return 1;
}

/* A comparison of floats, or another question about one. */
static int is_question(const vyre_program *p, const vy_expr *x) {
    return x->type == VYRE_TYPE_BOOL && vy_ptx_is_float((vyre_type)p->exprs.items[x->a].type);
}

/* 1 or 0, by a bool. */
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

/* By type, the ops that any of these is: most of a large program is none. */
#define OP(ID) (UINT64_C(1) << VYRE_OP_##ID)
#define ANY                                                                                                            \
    (OP(MIN) | OP(MAX) | OP(ABS) | OP(LT) | OP(LE) | OP(GT) | OP(GE) | OP(EQ) | OP(NE) | OP(SELECT) | OP(CAST) |       \
     OP(IS_NAN) | OP(IS_INF) | OP(IS_FINITE))
#define LONG (ANY | OP(NOT) | OP(XOR) | OP(SUB) | OP(NEG) | OP(MUL))
static const uint64_t looked_at[VYRE_TYPE_COUNT] = {ANY, ANY, ANY, ANY, ANY, ANY, ANY, LONG, LONG, ANY, ANY, ANY, ANY};
_Static_assert(VYRE_OP_COUNT <= 64 && VYRE_TYPE_I64 == 7 && VYRE_TYPE_U64 == 8, "a bit for each, at its place");

void vy_ptx_scan_errata(vy_ptx *e) {
    unsigned signs = 0;
    int has_questions = 0;
    const vy_expr *x = e->exprs; /* of a program without any there is no end */
    for (uint32_t left = e->program->exprs.count; left; left--, x++) {
        if (x->kind != VY_EXPR_OP || !(looked_at[x->type] >> x->op & 1))
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
        const vy_stmt *s = &e->program->stmts.items[i];
        if (s->kind != VY_STMT_VAR && s->kind != VY_STMT_ASSIGN)
            continue;
        e->has_floors |= is_zero(e->program, s->a); /* … by a branch that assigns it */
        e->has_flags |= is_one_bit(&e->exprs[s->a]);
    }
    e->has_signs = (signs & (signs - 1)) != 0;
    e->has_flags &= has_questions;
    e->plain_types = e->has_extremes || e->has_flags ? 0 : 2;
}

/* ---- what is written instead ---- */

/* With a zero that ptxas does not know for one. */
static vy_ptx_value hidden(vy_ptx *e, vyre_type type, vy_ptx_value v) {
    if (v.is_literal)
        v.type = (uint8_t)vy_ptx_integer_of(type);
    return vy_ptx_two(e, "or", vy_ptx_bits(type), type, v, vy_ptx_cast(e, vy_ptx_integer_of(type), vy_ptx_zero(e)));
}

/* The smaller of the smaller of a and -b, and c, is one instruction on sm_90 and sm_100, and ptxas 13.0 forgets the
 * minus sign if it stands in the second place (docs/internals/ptx.md): so it stands in the first, or, if both may have
 * one, the second is hidden. (A comparison that chooses would be taken for the smaller of two again, of u32.) */
static vy_ptx_value extreme(vy_ptx *e, vyre_op op, vyre_type type, vy_ptx_value a, vy_ptx_value b) {
    const char *name = op == VYRE_OP_MIN ? "min" : "max";
    int may_a = a.maybe_negated || a.is_variable, may_b = b.maybe_negated || b.is_variable;
    if (may_a && may_b)
        return vy_ptx_two(e, name, vy_ptx_type(type), type, a, hidden(e, type, b));
    return may_b ? vy_ptx_two(e, name, vy_ptx_type(type), type, b, a)
                 : vy_ptx_two(e, name, vy_ptx_type(type), type, a, b);
}

/* The larger of x and -0: x, unless it has a sign or is no number. Of that, and the smaller of it and 1, ptxas makes a
 * sum that saturates, and -0 becomes 0. */
static vy_ptx_value not_below(vy_ptx *e, vy_ptx_value x, vy_ptx_value negative_zero) {
    vy_ptx_value p = vy_ptx_new(e, VYRE_TYPE_BOOL);
    x = vy_ptx_in_register(e, x);
    vy_ptx_write(e, "setp.le.u32 %s, %s, 0x7f800000", vy_ptx_name(e, p), vy_ptx_name(e, x));
    return vy_ptx_choose(e, VYRE_TYPE_F32, (const vy_ptx_value[]){p, x, negative_zero});
}

/* Of mul.hi.u32, made a u64, minus x ptxas makes a product with a sum (IMAD.HI), and forgets to carry where the lower
 * half of x is 0. It takes the upper half of a product of 64 bits for nothing of the kind. */
static vy_ptx_value upper_half(vy_ptx *e, vy_ptx_value a, vy_ptx_value b) {
    vy_ptx_value all = vy_ptx_two(e, "mul.wide", "u32", VYRE_TYPE_U64, a, b), upper = vy_ptx_new(e, VYRE_TYPE_U64);
    vy_ptx_write(e, "shr.u64 %s, %s, 32", vy_ptx_name(e, upper), vy_ptx_name(e, all));
    return vy_ptx_cast(e, VYRE_TYPE_U32, upper);
}

static int is_negative_zero(vy_ptx_value v) {
    return v.is_literal && vy_ptx_is_float((vyre_type)v.type) && v.bits == vy_ptx_sign_bit((vyre_type)v.type);
}

/* Not NaN, and not -0. */
static int is_number(vy_ptx_value v) {
    vyre_type type = (vyre_type)v.type;
    return v.is_literal && (v.bits & (vy_ptx_sign_bit(type) - 1)) <= vy_type_layouts[type].infinity &&
           !is_negative_zero(v);
}

static int is_one(vy_ptx_value v) {
    return v.is_literal && v.bits == (v.type == VYRE_TYPE_F64 ? 0x3ff0000000000000 : 0x3f800000);
}

/* 0 or more. */
static int never_negative(vy_ptx_value v) {
    return v.never_negative || (is_number(v) && v.bits < vy_ptx_sign_bit((vyre_type)v.type));
}

/* The smaller of something and 1 may be the beginning of a saturation that makes 0 of NaN, not 1. */
static int may_saturate(vy_ptx_value a, vy_ptx_value b) {
    return (is_one(a) && !never_negative(b)) || (is_one(b) && !never_negative(a));
}

/* Whether ptxas does right whatever becomes of the smaller or larger of two: it has one number that we know, or
 * nothing that is thought about with it. */
static int is_harmless(const vy_ptx *e, vyre_op op, vy_ptx_value a, vy_ptx_value b) {
    return (!e->has_signs || is_number(a) || is_number(b)) && !(op == VYRE_OP_MIN && may_saturate(a, b));
}

/* Of the smaller, the larger and abs, one behind the other, ptxas makes what is right for numbers alone, and for -0
 * not always (docs/internals/ptx.md). A zero that it does not know for one stands between them. */
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

/* Of abs ptxas believes that it is 0 or more, also where it is NaN, which no comparison holds for. Of bits it knows no
 * such thing. */
static vy_ptx_value without_sign(vy_ptx *e, vy_ptx_value a) {
    vy_ptx_value d = vy_ptx_masked(e, VYRE_TYPE_F32, a, INT32_MAX);
    return d.type = VYRE_TYPE_F32, d;
}

/* Of numbers that it finds out the driver's compiler makes the sum itself, and rounds it wrongly if their signs differ
 * and it lies half-way between two floats (docs/internals/ptx.md). A product with 1 or -1 and its sum it leaves to the
 * device, which takes no longer. */
static vy_ptx_value sum(vy_ptx *e, vyre_op op, vy_ptx_value a, vy_ptx_value b) {
    if (op == VYRE_OP_SUB && b.is_literal) { /* which needs no register where it is added */
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
    if (is_extreme(op, operand))
        *out = extreme(e, op, operand, args[0], args[1]);
    else if (op == VYRE_OP_ABS && operand == VYRE_TYPE_F32 && e->has_orders)
        *out = without_sign(e, args[0]);
    else if ((op == VYRE_OP_ADD || op == VYRE_OP_SUB) && operand == VYRE_TYPE_F32 && !args[0].is_opaque &&
             !args[1].is_opaque)
        *out = sum(e, op, args[0], args[1]);
    else if (op == VYRE_OP_MUL_HIGH && operand == VYRE_TYPE_U32 && e->has_differences)
        *out = upper_half(e, args[0], args[1]);
    else if (op == VYRE_OP_MAX && operand == VYRE_TYPE_F32 && is_negative_zero(args[1]))
        *out = not_below(e, args[0], args[1]);
    else if (op == VYRE_OP_MAX && operand == VYRE_TYPE_F32 && is_negative_zero(args[0]))
        *out = not_below(e, args[1], args[0]);
    else if (is_one_of_two && vy_ptx_is_float(operand) && (e->has_signs || e->has_floors))
        *out = bound(e, op, operand, args[0], args[1]);
    else
        return 0;
    return 1;
}

/* Whether the driver's compiler may find out that an integer is the opposite of a number. What is made of such a thing
 * may be one again: x | 0 with a 0 that only the compiler knows, or ~x + 1. What is made of a variable and a literal
 * is none, for our own passes would have left the op out; nor is the smaller or larger of two. */
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

/* 1 where a comparison of floats holds, else 0, taken for the bits of a float, is a number near 0, or 0. Of some such
 * bits ptxas 13.0 makes a comparison that gives 1.0 or 0.0 (docs/internals/ptx.md). Whatever is made of such an
 * integer may be one again, by ops that the compiler leaves out; so may a variable. */
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

/* Whether what is made of something that only the run knows is such a thing: not where an operand may decide alone, as
 * the larger of anything and infinity. Nor what is made of integers: behind a branch that asks whether one is 5 the
 * compiler takes it for 5, and finds out what becomes of it. It does not of floats. */
int vy_ptx_keeps_opaque(vyre_op op) {
    static const uint8_t keeps[VYRE_OP_COUNT] = {
        [VYRE_OP_ADD] = 1, [VYRE_OP_SUB] = 1,  [VYRE_OP_MUL] = 1, [VYRE_OP_FMA] = 1,  [VYRE_OP_DIV] = 1,
        [VYRE_OP_NEG] = 1, [VYRE_OP_SQRT] = 1, [VYRE_OP_ABS] = 1, [VYRE_OP_CAST] = 1,
    };
    return keeps[op];
}
