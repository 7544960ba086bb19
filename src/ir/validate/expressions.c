/* Expressions: every node has the type its row of the op table gives it, and reads only what may be read here. */
#include "ir/eval.h"
#include "ir/op_tables.h"
#include "ir/validate/statements.h"

static const char *type_name(uint8_t type) {
    return vyre_type_name((vyre_type)type);
}

static int is_integer(uint8_t type) {
    return (vyre_type_class((vyre_type)type) & VYRE_CLASS_INTEGER) != 0;
}

void vy_body_type_mismatch(vy_body_verifier *body, vy_diag_code code, vy_position at, const char *what, uint8_t given,
                           uint8_t wanted) {
    const char *fix = given == VYRE_TYPE_BOOL || wanted == VYRE_TYPE_BOOL
                          ? VY_FIX("give a value of type %s", type_name(wanted))
                          : VY_FIX("convert it: %s(...)", type_name(wanted));
    vy_verifier_error(body->verifier, code, at, fix, "%s is of type %s, but %s is wanted here", what, type_name(given),
                      type_name(wanted));
}

int vy_body_is_visible(const vy_body_verifier *body, uint32_t variable) {
    return variable < body->next_variable && body->stmt < body->visible_until[variable];
}

static void check_result(vy_body_verifier *body, uint32_t index, uint8_t wanted) {
    uint8_t given = vy_body_expr_type(body, index);
    if (given != wanted)
        vy_verifier_error(body->verifier, VY_V051, vy_body_expr_position(body, index), NULL,
                          "an expression says it is of type %s, but it gives %s", type_name(given), type_name(wanted));
}

static void check_variable(vy_body_verifier *body, uint32_t index, const vy_expr *e) {
    const vy_variable *v = &body->program->variables.items[e->a];
    if (!vy_body_is_visible(body, e->a))
        vy_verifier_error(body->verifier, VY_V052, vy_body_expr_position(body, index), NULL, "`%s` is used %s",
                          vy_verifier_name(body->verifier, v->name),
                          e->a < body->next_variable ? "outside the block that declares it" : "before it is declared");
    check_result(body, index, v->type);
}

/* Signed literals below zero are out of bounds too. */
static int literal_is_below(const vy_expr *e, uint64_t bound) {
    unsigned bits = vyre_type_bits((vyre_type)e->type);
    int is_negative = vyre_type_class((vyre_type)e->type) == VYRE_CLASS_SIGNED && (e->bits >> (bits - 1) & 1);
    return !is_negative && e->bits < bound;
}

void vy_verify_level(vy_body_verifier *body, vy_position at, const char *fix, const char *what) {
    if (body->program->level != VYRE_LEVEL_LEGAL)
        vy_verifier_error(body->verifier, VY_V020, at, fix, "%s stands in a program of level source", what);
}

void vy_verify_index(vy_body_verifier *body, vy_position at, uint32_t memory, uint32_t index, uint8_t guard) {
    const vy_expr *e = &body->program->exprs.items[index];
    const char *name = vy_verifier_name(body->verifier, body->program->memories.items[memory].name);
    if (guard == VY_BOUNDS_UNCHECKED) {
        vy_verify_level(body, at, "leave the `!` out: a load out of bounds gives zero, a store does nothing",
                        "an unguarded access");
        if (e->type != VYRE_TYPE_U32)
            vy_body_type_mismatch(body, VY_V053, vy_body_expr_position(body, index), "the index of an unguarded access",
                                  e->type, VYRE_TYPE_U32);
        return;
    }
    if (!is_integer(e->type)) {
        vy_verifier_error(body->verifier, VY_V053, vy_body_expr_position(body, index), NULL,
                          "an index of `%s` is of type %s", name, type_name(e->type));
        return;
    }
    uint64_t length = vy_memory_known_length(body->program, memory);
    if (e->kind == VY_EXPR_LITERAL && length && !literal_is_below(e, length))
        vy_verifier_warning(body->verifier, VY_V059, vy_body_expr_position(body, index), NULL,
                            "a constant index of `%s` is out of bounds (the length is %llu)", name,
                            (unsigned long long)length);
}

static void check_load(vy_body_verifier *body, uint32_t index, const vy_expr *e) {
    const vy_memory *m = &body->program->memories.items[e->a];
    if (!vy_access_loads(m->access))
        vy_verifier_error(body->verifier, VY_V054, vy_body_expr_position(body, index), NULL,
                          "`%s` is loaded, but its access is `%s`", vy_verifier_name(body->verifier, m->name),
                          vy_access_name(m->access));
    vy_verify_index(body, vy_body_expr_position(body, index), e->a, e->b, e->op);
    if (e->c != VY_NONE && vy_body_expr_type(body, e->c) != VYRE_TYPE_BOOL)
        vy_body_type_mismatch(body, VY_V063, vy_body_expr_position(body, e->c), "the condition of a load",
                              vy_body_expr_type(body, e->c), VYRE_TYPE_BOOL);
    check_result(body, index, m->type);
}

static void check_builtin(vy_body_verifier *body, uint32_t index, const vy_expr *e) {
    unsigned axes = vy_builtins[e->op].has_axes ? 3 : 1;
    if (e->axis >= axes)
        vy_verifier_error(body->verifier, VY_V057, vy_body_expr_position(body, index), NULL,
                          "axis %u of `%s` does not exist (it has %u)", e->axis, vyre_builtin_name((vyre_builtin)e->op),
                          axes);
    check_result(body, index, VYRE_TYPE_U32);
}

static const char *spelling(const vyre_op_info *info) {
    return info->symbol ? info->symbol : info->name;
}

/* Operands that must have one type: all of them, but for the condition of a select. */
static int check_same(vy_body_verifier *body, uint32_t index, const vyre_op_info *info, const uint32_t operands[3],
                      unsigned first) {
    uint8_t wanted = vy_body_expr_type(body, operands[first]);
    for (unsigned i = first + 1; i < 3 && i < info->arity; i++) {
        uint8_t given = vy_body_expr_type(body, operands[i]);
        if (given == wanted)
            continue;
        vy_verifier_error(body->verifier, VY_V050, vy_body_expr_position(body, index),
                          VY_FIX("convert one of them: %s(...) or %s(...)", type_name(wanted), type_name(given)),
                          "`%s` takes operands of one type, but these are %s and %s", spelling(info), type_name(wanted),
                          type_name(given));
        return 0;
    }
    return 1;
}

/* The type the row gives for these operands; VYRE_TYPE_COUNT if the row lets the program say. */
static uint8_t result_type(const vyre_op_info *info, uint8_t operand) {
    switch ((vyre_op_rule)info->rule) {
    case VYRE_RULE_COMPARE:
    case VYRE_RULE_TEST:
        return VYRE_TYPE_BOOL;
    case VYRE_RULE_SAME:
    case VYRE_RULE_SELECT:
        return operand;
    case VYRE_RULE_CAST:
    case VYRE_RULE_BITCAST:
        break;
    }
    return VYRE_TYPE_COUNT;
}

static void check_op(vy_body_verifier *body, uint32_t index, const vy_expr *e) {
    const vyre_op_info *info = vyre_op_get((vyre_op)e->op);
    const uint32_t operands[3] = {e->a, e->b, e->c};
    if (info->level == VYRE_LEVEL_LEGAL)
        vy_verify_level(body, vy_body_expr_position(body, index),
                        e->op == VYRE_OP_APPROX_DIV ? "write `a / b`" : "write `sqrt(a)`", VY_FIX("`%s`", info->name));
    unsigned first = info->rule == VYRE_RULE_SELECT;
    if (first && vy_body_expr_type(body, e->a) != VYRE_TYPE_BOOL) {
        vy_body_type_mismatch(body, VY_V063, vy_body_expr_position(body, e->a), "the condition of a select",
                              vy_body_expr_type(body, e->a), VYRE_TYPE_BOOL);
        return;
    }
    if (!check_same(body, index, info, operands, first))
        return;
    uint8_t operand = vy_body_expr_type(body, operands[first]);
    uint8_t wanted = result_type(info, operand);
    if (!vyre_op_accepts((vyre_op)e->op, (vyre_type)operand,
                         (vyre_type)(wanted == VYRE_TYPE_COUNT ? e->type : wanted))) {
        if (wanted == VYRE_TYPE_COUNT)
            vy_verifier_error(body->verifier, VY_V050, vy_body_expr_position(body, index), NULL,
                              "`%s` does not turn %s into %s", spelling(info), type_name(operand), type_name(e->type));
        else
            vy_verifier_error(body->verifier, VY_V050, vy_body_expr_position(body, index), NULL,
                              "`%s` does not take operands of type %s", spelling(info), type_name(operand));
    } else if (wanted != VYRE_TYPE_COUNT)
        check_result(body, index, wanted);
}

static void check_literal(vy_body_verifier *body, uint32_t index, const vy_expr *e) {
    if (vy_value_canonicalize((vyre_type)e->type, e->bits) != e->bits)
        vy_verifier_error(body->verifier, VY_V056, vy_body_expr_position(body, index), NULL,
                          "the bits 0x%llx are no value of type %s", (unsigned long long)e->bits, type_name(e->type));
}

void vy_verify_expression(vy_body_verifier *body, uint32_t index) {
    const vy_expr *e = &body->program->exprs.items[index];
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_LITERAL:
        check_literal(body, index, e);
        break;
    case VY_EXPR_VARIABLE:
        check_variable(body, index, e);
        break;
    case VY_EXPR_LOAD:
        check_load(body, index, e);
        break;
    case VY_EXPR_ALIGN_OFFSET:
        vy_verify_level(body, vy_body_expr_position(body, index),
                        "leave it out: how memory lies is the library's concern", "`misalignment`"); /* fall through */
    case VY_EXPR_LEN:
        check_result(body, index, VYRE_TYPE_U32);
        break;
    case VY_EXPR_BUILTIN:
        check_builtin(body, index, e);
        break;
    case VY_EXPR_OP:
        check_op(body, index, e);
        break;
    case VY_EXPR_KIND_COUNT:
        break;
    }
}
