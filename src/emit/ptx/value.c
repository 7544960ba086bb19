/* Registers, literals, variables, expressions. */
#include "emit/ptx/op.h"

/* ---- types ---- */

const vy_ptx_type_row vy_ptx_types[VYRE_TYPE_COUNT] = {
    [VYRE_TYPE_BOOL] = {"pred", "pred", "%p", VY_PTX_PRED}, [VYRE_TYPE_I8] = {"s32", "b32", "%r", VY_PTX_B32},
    [VYRE_TYPE_U8] = {"u32", "b32", "%r", VY_PTX_B32},      [VYRE_TYPE_I16] = {"s32", "b32", "%r", VY_PTX_B32},
    [VYRE_TYPE_U16] = {"u32", "b32", "%r", VY_PTX_B32},     [VYRE_TYPE_I32] = {"s32", "b32", "%r", VY_PTX_B32},
    [VYRE_TYPE_U32] = {"u32", "b32", "%r", VY_PTX_B32},     [VYRE_TYPE_I64] = {"s64", "b64", "%d", VY_PTX_B64},
    [VYRE_TYPE_U64] = {"u64", "b64", "%d", VY_PTX_B64},     [VYRE_TYPE_F16] = {"f16", "b16", "%h", VY_PTX_B16},
    [VYRE_TYPE_BF16] = {"bf16", "b16", "%h", VY_PTX_B16},   [VYRE_TYPE_F32] = {"f32", "b32", "%r", VY_PTX_B32},
    [VYRE_TYPE_F64] = {"f64", "b64", "%d", VY_PTX_B64},
};

/* ---- registers and literals ---- */

/* A signed literal of fewer than 64 bits as the number it is. */
static int64_t extended(vyre_type type, uint64_t bits) {
    unsigned unused = 64 - vyre_type_bits(type);
    return (int64_t)(bits << unused) >> unused;
}

static __attribute__((noinline)) char *put_literal(char *at, vy_ptx_value v) {
    vyre_type type = (vyre_type)v.type;
    int is_signed = vyre_type_class(type) == VYRE_CLASS_SIGNED;
    int64_t number = is_signed ? extended(type, v.bits) : 0;
    if (type == VYRE_TYPE_BOOL)
        return vy_put_text(at, v.bits ? "-1" : "0");
    if (type == VYRE_TYPE_F32)
        return vy_put_hex_capital(vy_put_text(at, "0f"), v.bits, 8);
    if (type == VYRE_TYPE_F64)
        return vy_put_hex_capital(vy_put_text(at, "0d"), v.bits, 16);
    if (number < 0 && number != INT64_MIN)
        return vy_put_decimal(vy_put_text(at, "-"), (uint64_t)-number);
    if (v.bits < 1 << 20 || (is_signed && number >= 0))
        return vy_put_decimal(at, v.bits);
    return vy_put_hex(vy_put_text(at, "0x"), v.bits, 1);
}

/* Most literals are small, and positive in all types of integers. */
char *vy_ptx_put_other(char *at, vy_ptx_value v) {
    if (v.is_literal && v.bits <= INT8_MAX && vy_type_layouts[v.type].classes & VYRE_CLASS_INTEGER)
        return vy_put_digits(at, vy_digits_of((uint32_t)v.bits));
    return v.is_literal ? put_literal(at, v) : vy_put_decimal(vy_put_text(at, vy_ptx_types[v.type].start), v.number);
}

const char *vy_ptx_name(vy_ptx *e, vy_ptx_value v) {
    char *text = e->names[e->next_name++ % VY_PTX_NAMES];
    *vy_ptx_put(text, v) = 0;
    return text;
}

/* Bits are moved, those of floats too. */
void vy_ptx_move_if(vy_ptx *e, vy_ptx_value condition, vy_ptx_value to, vy_ptx_value from) {
    static const uint8_t integers[VY_PTX_CLASS_COUNT] = {VYRE_TYPE_BOOL, VYRE_TYPE_U16, VYRE_TYPE_U32, VYRE_TYPE_U64};
    if (from.is_literal && vyre_type_class((vyre_type)from.type) == VYRE_CLASS_FLOAT)
        from.type = integers[vy_ptx_class_of((vyre_type)from.type)];
    char *at = vy_ptx_line_if(e, vy_ptx_guarded(e, condition));
    at = vy_put_text(vy_put_text(at, "mov."), vy_ptx_bits((vyre_type)to.type));
    *at = ' ';
    at = vy_put_text(vy_ptx_put(at + 1, to), ", ");
    vy_ptx_end_line(e, vy_ptx_put(at, from));
}

void vy_ptx_move(vy_ptx *e, vy_ptx_value to, vy_ptx_value from) {
    vy_ptx_move_if(e, vy_ptx_literal(VYRE_TYPE_BOOL, 1), to, from);
}

vy_ptx_value vy_ptx_in_register(vy_ptx *e, vy_ptx_value v) {
    if (!v.is_literal)
        return v;
    vy_ptx_value made = vy_ptx_new(e, (vyre_type)v.type);
    vy_ptx_move(e, made, v);
    return made;
}

const char *vy_ptx_register(vy_ptx *e, vy_ptx_value v) {
    return vy_ptx_name(e, vy_ptx_in_register(e, v));
}

/* ---- variables ---- */

static vy_ptx_value given(vy_ptx_value v) {
    return v.is_given = 1, v;
}

static vy_ptx_value without_part(vy_ptx_value v) {
    return v.part = 0, v;
}

/* Behind a label, a variable may come from elsewhere. */
vy_ptx_value vy_ptx_variable(vy_ptx *e, uint32_t index) {
    uint32_t param = index - e->body->first_variable;
    if (param < e->program->param_count)
        return given(vy_ptx_param(e, param));
    const vy_ptx_value *v = &e->variables[index];
    return v->is_variable && e->noted[index] != e->places ? without_part(*v) : *v;
}

void vy_ptx_note_part(vy_ptx *e, uint32_t variable, vy_ptx_value value) {
    e->variables[variable].part = e->guard.is_literal ? value.part : 0;
    e->noted[variable] = e->places;
}

/* A variable that is never assigned is its value, wherever that is; others have a register of their own. */
void vy_ptx_declare(vy_ptx *e, uint32_t index, vy_ptx_value value) {
    const vy_variable *v = &e->program->variables.items[index];
    if (!v->is_mutable) {
        e->variables[index] = value;
        return;
    }
    if (e->shifted == index)
        e->shifted = VY_NONE;
    e->variables[index] = vy_ptx_new(e, (vyre_type)v->type);
    e->variables[index].is_variable = 1;
    vy_ptx_move(e, e->variables[index], vy_ptx_assigned(e, value));
}

/* ---- expressions ---- */

static vy_ptx_value length(vy_ptx *e, const vy_expr *x) {
    const vy_memory *m = &e->program->memories.items[x->a];
    uint32_t buffer = x->a - e->body->first_memory;
    if (m->space != VY_SPACE_BUFFER)
        return vy_ptx_literal(VYRE_TYPE_U32, x->kind == VY_EXPR_LEN ? m->elements : 0);
    return x->kind == VY_EXPR_LEN ? vy_ptx_count(e, buffer) : vy_ptx_misalignment(e, buffer);
}

/* ~a & b is (a & b) ^ b: ops that the driver's compiler makes one of, with whatever stands around them. */
static int is_complement(const vy_ptx *e, uint32_t expr) {
    const vy_expr *x = &e->program->exprs.items[expr];
    return x->kind == VY_EXPR_OP && x->op == VYRE_OP_NOT;
}

static vy_ptx_value without(vy_ptx *e, const vy_expr *x, uint32_t complement, uint32_t other) {
    const char *bits = vy_ptx_bits((vyre_type)x->type);
    vy_ptx_value a = vy_ptx_in_register(e, vy_ptx_expr(e, e->program->exprs.items[complement].a));
    vy_ptx_value b = vy_ptx_expr(e, other);
    vy_ptx_value both = vy_ptx_new(e, (vyre_type)x->type), d = vy_ptx_new(e, (vyre_type)x->type);
    VY_PTX_INSTRUCT(e, "and", bits, both, a, b);
    VY_PTX_INSTRUCT(e, "xor", bits, d, both, b);
    return d;
}

/* `v = v << 8`, then `v | byte`: nothing meets, so it is a sum, and the driver's compiler makes one op of both. */
static int fills(const vy_ptx *e, const vy_expr *x) {
    if (x->op != VYRE_OP_OR)
        return 0;
    const vy_expr *exprs = e->program->exprs.items, *v = &exprs[x->a], *part = &exprs[x->b];
    if (v->kind != VY_EXPR_VARIABLE || v->a != e->shifted || part->kind != VY_EXPR_OP || part->op != VYRE_OP_CAST)
        return 0;
    vyre_type narrow = (vyre_type)exprs[part->a].type;
    return vyre_type_class(narrow) == VYRE_CLASS_UNSIGNED && vyre_type_bits(narrow) <= e->room;
}

void vy_ptx_note_shift(vy_ptx *e, const vy_stmt *s) {
    const vy_expr *exprs = e->program->exprs.items, *x = &exprs[s->a];
    if (e->shifted == s->variable)
        e->shifted = VY_NONE;
    int is_shift = x->kind == VY_EXPR_OP && x->op == VYRE_OP_SHL && exprs[x->b].kind == VY_EXPR_LITERAL;
    int is_word = x->type == VYRE_TYPE_U32 || x->type == VYRE_TYPE_U64;
    if (!is_shift || !is_word || !e->guard.is_literal || exprs[x->b].bits >= vyre_type_bits((vyre_type)x->type))
        return;
    e->shifted = s->variable;
    e->room = (uint32_t)exprs[x->b].bits;
}

/* Not part of op, as most are plain. */
static __attribute__((noinline)) vy_ptx_value any_op(vy_ptx *e, const vy_expr *x, vy_ptx_value a, vy_ptx_value b) {
    vy_ptx_value c = x->c == VY_NONE ? vy_ptx_literal(VYRE_TYPE_BOOL, 0) : vy_ptx_expr(e, x->c);
    vyre_type operand = (vyre_type)e->program->exprs.items[x->op == VYRE_OP_SELECT ? x->b : x->a].type;
    return vy_ptx_op(e, x, operand, (const vy_ptx_value[]){a, b, c});
}

/* Not part of vy_ptx_expr, which most often is asked for a literal or a variable and needs no registers of the host to be saved for that. */
static __attribute__((noinline)) vy_ptx_value op(vy_ptx *e, const vy_expr *x) {
    if (fills(e, x)) {
        vy_expr sum = *x;
        sum.op = VYRE_OP_ADD;
        return op(e, &sum);
    }
    if (x->op == VYRE_OP_AND && vyre_type_bits((vyre_type)x->type) >= 32 &&
        (is_complement(e, x->a) || is_complement(e, x->b)))
        return is_complement(e, x->a) ? without(e, x, x->a, x->b) : without(e, x, x->b, x->a);
    vy_ptx_value a = vy_ptx_expr(e, x->a);
    vy_ptx_value b = x->b == VY_NONE ? vy_ptx_literal(VYRE_TYPE_BOOL, 0) : vy_ptx_expr(e, x->b);
    return vy_ptx_is_plain(e, x, a, b) ? vy_ptx_plain(e, x, a, b) : any_op(e, x, a, b);
}

/* What is asked for first is what most are. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
vy_ptx_value vy_ptx_expr(vy_ptx *e, uint32_t expr) {
    const vy_expr *x = &e->program->exprs.items[expr];
    if (x->kind == VY_EXPR_OP)
        return op(e, x);
    if (x->kind == VY_EXPR_VARIABLE)
        return vy_ptx_variable(e, x->a);
    if (x->kind == VY_EXPR_LITERAL)
        return vy_ptx_literal((vyre_type)x->type, x->bits);
    if (x->kind == VY_EXPR_LOAD)
        return vy_ptx_load(e, expr);
    return x->kind == VY_EXPR_BUILTIN ? vy_ptx_builtin(e, (vyre_builtin)x->op, x->axis) : length(e, x);
}

vy_ptx_value vy_ptx_expr_kept(vy_ptx *e, uint32_t expr) {
    vy_ptx_value v = vy_ptx_expr(e, expr);
    if (!v.is_variable)
        return v;
    vy_ptx_value made = vy_ptx_new(e, (vyre_type)v.type);
    vy_ptx_move(e, made, v);
    made.part = v.part;
    made.is_opposite = 1; /* as what is assigned may be */
    return made;
}
