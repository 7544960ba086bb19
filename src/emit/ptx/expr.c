/* Variables and expressions as PTX registers and instructions. */
#include "emit/ptx/emitter.h"

/* ---- variables ---- */

static vy_ptx_value given(vy_ptx_value v) {
    return v.is_opaque = 1, v;
}

static vy_ptx_value without_part(vy_ptx_value v) {
    return v.part = 0, v;
}

/* Behind a label, a variable may come from elsewhere. A param is_variable until somebody asks for it. */
vy_ptx_value vy_ptx_variable(vy_ptx *e, uint32_t index) {
    vy_ptx_value *v = &e->variables[index];
    uint32_t param = index - e->body->first_variable;
    if (!v->is_variable)
        return *v;
    if (param < e->program->param_count)
        return *v = given(vy_ptx_param(e, param));
    return e->noted[index] != e->places ? without_part(*v) : *v;
}

void vy_ptx_note_subword(vy_ptx *e, uint32_t variable, vy_ptx_value value) {
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
    const vy_expr *x = &e->exprs[expr];
    return x->kind == VY_EXPR_OP && x->op == VYRE_OP_NOT;
}

static vy_ptx_value without(vy_ptx *e, const vy_expr *x, uint32_t complement, uint32_t other) {
    const char *bits = vy_ptx_bits((vyre_type)x->type);
    vy_ptx_value a = vy_ptx_in_register(e, vy_ptx_expr(e, e->exprs[complement].a));
    vy_ptx_value b = vy_ptx_expr(e, other);
    vy_ptx_value both = vy_ptx_new(e, (vyre_type)x->type), d = vy_ptx_new(e, (vyre_type)x->type);
    VY_PTX_INSTRUCT(e, "and", bits, both, a, b);
    VY_PTX_INSTRUCT(e, "xor", bits, d, both, b);
    return d;
}

/* `v = v << 8`, then `v | byte`: nothing meets, so it is a sum, and the driver's compiler makes one op of both. */
static int fills(const vy_ptx *e, const vy_expr *x) {
    const vy_expr *exprs = e->exprs, *v = &exprs[x->a], *part = &exprs[x->b];
    if (v->kind != VY_EXPR_VARIABLE || v->a != e->shifted || part->kind != VY_EXPR_OP || part->op != VYRE_OP_CAST)
        return 0;
    vyre_type narrow = (vyre_type)exprs[part->a].type;
    return vy_type_layouts[narrow].classes == VYRE_CLASS_UNSIGNED && vy_type_layouts[narrow].bits <= e->room;
}

void vy_ptx_note_shift(vy_ptx *e, const vy_stmt *s) {
    const vy_expr *exprs = e->exprs, *x = &exprs[s->a];
    if (e->shifted == s->variable)
        e->shifted = VY_NONE;
    int is_shift = x->kind == VY_EXPR_OP && x->op == VYRE_OP_SHL && exprs[x->b].kind == VY_EXPR_LITERAL;
    int is_word = x->type == VYRE_TYPE_U32 || x->type == VYRE_TYPE_U64;
    if (!is_shift || !is_word || !e->guard.is_literal || exprs[x->b].bits >= vy_type_layouts[x->type].bits)
        return;
    e->shifted = s->variable;
    e->room = (uint32_t)exprs[x->b].bits;
}

/* ---- ops of two words ----
 *
 * Most of a large program: one line each, written without asking for what is true of other ops alone (op.c). What
 * those would write is the same. */

/* A bit for neither operand, the first, the second. Both never are literals. */
enum { NEITHER = 1 << 0, FIRST = 1 << 1, SECOND = 1 << 2, ONE_AT_MOST = NEITHER | FIRST | SECOND };

/* "\tadd.u32 ", and which operands may be literals, if a line is all there is to the op. Of 32 bytes: found without a
 * product, and put by one store. */
typedef struct plain {
    alignas(32) char word[16];
    uint8_t length, literals;
    uint8_t is_rotation; /* a shift through two words, which are one */
} plain;

#define PLAIN(word, literals)                                                                                          \
    { word, sizeof(word) - 1, literals, 0 }
#define ROTATION(word)                                                                                                 \
    { word, sizeof(word) - 1, NEITHER | SECOND, 1 }
#define NONE                                                                                                           \
    { "", 0, 0, 0 }

/* By op, and by type: i32, u32. All give the type of their operands. Of an exclusive or no operand is a literal, which
 * would be all ones. Amounts are unsigned. */
static const plain plains[VYRE_OP_COUNT][2] = {
    [VYRE_OP_ADD] = {PLAIN("\tadd.s32 ", ONE_AT_MOST), PLAIN("\tadd.u32 ", ONE_AT_MOST)},
    [VYRE_OP_SUB] = {PLAIN("\tsub.s32 ", ONE_AT_MOST), PLAIN("\tsub.u32 ", ONE_AT_MOST)},
    [VYRE_OP_AND] = {PLAIN("\tand.b32 ", ONE_AT_MOST), PLAIN("\tand.b32 ", ONE_AT_MOST)},
    [VYRE_OP_OR] = {PLAIN("\tor.b32 ", ONE_AT_MOST), PLAIN("\tor.b32 ", ONE_AT_MOST)},
    [VYRE_OP_XOR] = {PLAIN("\txor.b32 ", NEITHER), PLAIN("\txor.b32 ", NEITHER)},
    [VYRE_OP_SHL] = {NONE, PLAIN("\tshl.b32 ", ONE_AT_MOST)},
    [VYRE_OP_SHR] = {NONE, PLAIN("\tshr.u32 ", ONE_AT_MOST)},
    [VYRE_OP_ROTL] = {NONE, ROTATION("\tshf.l.wrap.b32 ")},
    [VYRE_OP_ROTR] = {NONE, ROTATION("\tshf.r.wrap.b32 ")},
};
_Static_assert(VYRE_TYPE_U32 == VYRE_TYPE_I32 + 1, "the types of the table");

/* Most literals are amounts. */
static inline char *put_operand(char *at, const vy_ptx_value *v) {
    return v->is_literal && v->bits < 100 ? vy_write_decimal(at, v->bits) : vy_ptx_put(at, *v);
}

/* Nothing is known of what such an op gives beside its type. */
static vy_ptx_value write_plain(vy_ptx *e, const plain *p, vyre_type type, const vy_ptx_value *a,
                                const vy_ptx_value *b) {
    vy_ptx_value d = vy_ptx_new_of(e, VY_PTX_B32, type);
    char *at = vy_ptx_room(e);
    memcpy(at, p->word, sizeof p->word);
    at = vy_write_text(vy_ptx_put(at + p->length, d), ", ");
    at = vy_write_text(vy_ptx_put(at, *a), ", ");
    if (p->is_rotation)
        at = vy_write_text(vy_ptx_put(at, *a), ", ");
    vy_ptx_end_line(e, put_operand(at, b));
    return d;
}

/* ---- any expression ---- */

/* Not part of op, as most are plain. */
static __attribute__((noinline)) vy_ptx_value any_op(vy_ptx *e, const vy_expr *x, const vy_ptx_value *a,
                                                     const vy_ptx_value *b) {
    vy_ptx_value args[3] = {*a, *b, vy_ptx_literal(VYRE_TYPE_BOOL, 0)};
    if (x->c != VY_NONE)
        args[2] = vy_ptx_expr(e, x->c);
    vyre_type operand = (vyre_type)e->exprs[x->op == VYRE_OP_SELECT ? x->b : x->a].type;
    return vy_ptx_op(e, x, operand, args);
}

static vy_ptx_value op(vy_ptx *e, const vy_expr *x);

static __attribute__((noinline)) vy_ptx_value other(vy_ptx *e, uint32_t expr, const vy_expr *x) {
    if (x->kind == VY_EXPR_VARIABLE)
        return vy_ptx_variable(e, x->a);
    if (x->kind == VY_EXPR_LOAD)
        return vy_ptx_load(e, expr);
    return x->kind == VY_EXPR_BUILTIN ? vy_ptx_builtin(e, (vyre_builtin)x->op, x->axis) : length(e, x);
}

/* Where the value is: that of a variable where it is kept, any other in `made`. What is asked for first is what most
 * are. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static inline const vy_ptx_value *value_of(vy_ptx *e, uint32_t expr, vy_ptx_value *made) {
    const vy_expr *x = &e->exprs[expr];
    if (x->kind == VY_EXPR_VARIABLE && !e->variables[x->a].is_variable)
        return &e->variables[x->a];
    if (x->kind == VY_EXPR_OP)
        *made = op(e, x);
    else
        *made = x->kind == VY_EXPR_LITERAL ? vy_ptx_literal((vyre_type)x->type, x->bits) : other(e, expr, x);
    return made;
}

static vy_ptx_value op(vy_ptx *e, const vy_expr *x) {
    if (x->op == VYRE_OP_OR && fills(e, x)) {
        vy_expr sum = *x;
        sum.op = VYRE_OP_ADD;
        return op(e, &sum);
    }
    if (x->op == VYRE_OP_AND && vy_type_layouts[x->type].bits >= 32 &&
        (is_complement(e, x->a) || is_complement(e, x->b)))
        return is_complement(e, x->a) ? without(e, x, x->a, x->b) : without(e, x, x->b, x->a);
    vy_ptx_value made[2];
    static const vy_ptx_value none = {.type = VYRE_TYPE_BOOL, .is_literal = 1};
    const vy_ptx_value *a = value_of(e, x->a, &made[0]), *b = x->b == VY_NONE ? &none : value_of(e, x->b, &made[1]);
    unsigned column = x->type - (unsigned)VYRE_TYPE_I32;
    const plain *p = &plains[x->op][column & 1];
    int is_plain = column < e->plain_types && p->literals >> (a->is_literal + 2 * b->is_literal) & 1 && !a->part;
    return is_plain ? write_plain(e, p, (vyre_type)x->type, a, b) : any_op(e, x, a, b);
}

vy_ptx_value vy_ptx_expr(vy_ptx *e, uint32_t expr) {
    vy_ptx_value made;
    return *value_of(e, expr, &made);
}

vy_ptx_value vy_ptx_expr_kept(vy_ptx *e, uint32_t expr) {
    vy_ptx_value v = vy_ptx_expr(e, expr);
    if (!v.is_variable)
        return v;
    vy_ptx_value made = vy_ptx_new(e, (vyre_type)v.type);
    vy_ptx_move(e, made, v);
    made.part = v.part;
    made.maybe_negated = 1; /* as what is assigned may be */
    return made;
}
