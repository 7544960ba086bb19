/* The builder's expressions: a pool of trees that statements take from (vyre/builder.h, builder_internal.h). */
#include "ir/build/builder_internal.h"
#include "ir/eval.h"
#include "ir/op_tables.h"

#include <stdio.h>

static vyre_value poison(const vyre_builder *b) {
    return (vyre_value){b, VY_POISON};
}

static vyre_value add_node(vyre_builder *b, vy_builder_node node) {
    vy_builder_node *item = VY_PUSH(&b->nodes);
    if (!item) {
        vy_builder_no_memory(b);
        return poison(b);
    }
    *item = node;
    return (vyre_value){b, b->nodes.count - 1};
}

/* ---- taking ---- */

static int is_leaf(const vy_builder_node *node) {
    return node->kind != VY_EXPR_OP && node->kind != VY_EXPR_LOAD;
}

const char *vy_builder_describe(const vyre_builder *b, uint32_t index, char buffer[96]) {
    const vy_builder_node *node = &b->nodes.items[index];
    const char *type = vyre_type_name((vyre_type)node->type);
    const vyre_op_info *info = node->kind == VY_EXPR_OP ? vyre_op_get((vyre_op)node->op) : NULL;
    if (node->kind == VY_EXPR_VARIABLE)
        snprintf(buffer, 96, "`%s` (%s)", vy_builder_symbol_name(b, b->variables.items[node->a].name), type);
    else
        snprintf(buffer, 96, "value %u (%s, %s)", index,
                 info                            ? info->name
                 : node->kind == VY_EXPR_LOAD    ? "load"
                 : node->kind == VY_EXPR_LITERAL ? "literal"
                                                 : "id or length",
                 type);
    return buffer;
}

uint32_t vy_builder_use_value(vyre_builder *b, vyre_value value, const char *user, const char *role) {
    if (vy_builder_is_poisoned(b, value.builder, value.index))
        return VY_POISON;
    if (value.builder != b || value.index >= b->nodes.count) {
        vy_builder_error(b, VY_B001, NULL, "the %s of %s (statement %u) %s", role, user, b->stmt_count,
                         vy_builder_handle_problem(b, value.builder));
        return VY_POISON;
    }
    vy_builder_node *node = &b->nodes.items[value.index];
    char text[96];
    if (node->scope != VY_NONE && node->scope != b->scope) {
        vy_builder_error(b, VY_B011, NULL, "the %s of %s (statement %u), %s, belongs to another function", role, user,
                         b->stmt_count, vy_builder_describe(b, value.index, text));
        return VY_POISON;
    }
    if (node->is_used) {
        vy_builder_error(b, VY_B002, NULL, "%s is used twice, the second time as %s of %s (statement %u)",
                         vy_builder_describe(b, value.index, text), role, user, b->stmt_count);
        return VY_POISON;
    }
    node->is_used = !is_leaf(node);
    return value.index;
}

int vy_builder_expect(vyre_builder *b, uint32_t index, vyre_type type, const char *user, const char *role) {
    if (index == VY_POISON || b->nodes.items[index].type == type)
        return 1;
    char text[96];
    vy_builder_error(b, VY_B003, VY_FIX("convert it: vyre_cast(b, the type %s, value)", vyre_type_name(type)),
                     "the %s of %s (statement %u), %s, is not of type %s", role, user, b->stmt_count,
                     vy_builder_describe(b, index, text), vyre_type_name(type));
    return 0;
}

int vy_builder_expect_integer(vyre_builder *b, uint32_t index, const char *user, const char *role) {
    if (index == VY_POISON || vyre_type_class((vyre_type)b->nodes.items[index].type) & VYRE_CLASS_INTEGER)
        return 1;
    char text[96];
    vy_builder_error(b, VY_B003, "convert it: vyre_cast(b, VYRE_TYPE_U32, value)",
                     "the %s of %s (statement %u), %s, is not an integer", role, user, b->stmt_count,
                     vy_builder_describe(b, index, text));
    return 0;
}

/* ---- leaves ---- */

static const vy_builder_node blank = {.scope = VY_NONE, .a = VY_NONE, .b = VY_NONE, .c = VY_NONE};

vyre_value vyre_literal(vyre_builder *b, vyre_type type, uint64_t bits) {
    if (!b)
        return vyre_no_value();
    if (!vy_builder_check_enum(b, type, VYRE_TYPE_COUNT, "the type of a literal"))
        return poison(b);
    vy_builder_node node = blank;
    node.kind = VY_EXPR_LITERAL;
    node.type = (uint8_t)type;
    node.bits = vy_value_canonicalize(type, bits);
    return add_node(b, node);
}

/* Rounded by the evaluator, so by the rules of the language. */
static vyre_value from_double(vyre_builder *b, vyre_type type, double value) {
    return vyre_literal(b, type,
                        vyre_op_evaluate(VYRE_OP_CAST, type, VYRE_TYPE_F64, vyre_scalar_f64(value).bits, 0, 0));
}

vyre_value vyre_f16(vyre_builder *b, double value) {
    return from_double(b, VYRE_TYPE_F16, value);
}

vyre_value vyre_bf16(vyre_builder *b, double value) {
    return from_double(b, VYRE_TYPE_BF16, value);
}

vyre_value vyre_f32(vyre_builder *b, float value) {
    return vyre_literal(b, VYRE_TYPE_F32, vyre_scalar_f32(value).bits);
}

vyre_value vyre_f64(vyre_builder *b, double value) {
    return vyre_literal(b, VYRE_TYPE_F64, vyre_scalar_f64(value).bits);
}

vyre_value vyre_builtin_value(vyre_builder *b, vyre_builtin builtin, unsigned axis) {
    if (!b)
        return vyre_no_value();
    if (!vy_builder_check_enum(b, builtin, VYRE_BUILTIN_COUNT, "the builtin") ||
        !vy_builder_check_enum(b, axis, vy_builtins[builtin].has_axes ? 3 : 1, "the axis"))
        return poison(b);
    vy_builder_node node = blank;
    node.kind = VY_EXPR_BUILTIN;
    node.type = VYRE_TYPE_U32;
    node.op = (uint8_t)builtin;
    node.axis = (uint8_t)axis;
    return add_node(b, node);
}

vyre_value vyre_len(vyre_builder *b, vyre_memory memory) {
    if (!b)
        return vyre_no_value();
    vy_builder_node node = blank;
    node.kind = VY_EXPR_LEN;
    node.type = VYRE_TYPE_U32;
    node.scope = b->scope;
    node.a = vy_builder_use_memory(b, memory, "len");
    return node.a == VY_POISON ? poison(b) : add_node(b, node);
}

vyre_value vy_builder_add_variable(vyre_builder *b, vy_symbol name, vyre_type type, int is_mutable, int is_param,
                                   uint32_t index) {
    vy_built_variable *variable = VY_PUSH(&b->variables);
    if (!variable) {
        vy_builder_no_memory(b);
        return poison(b);
    }
    *variable = (vy_built_variable){.name = name,
                                    .type = (uint8_t)type,
                                    .is_mutable = (uint8_t)is_mutable,
                                    .is_param = (uint8_t)is_param,
                                    .scope = b->scope,
                                    .index = index};
    vy_builder_node node = blank;
    node.kind = VY_EXPR_VARIABLE;
    node.type = (uint8_t)type;
    node.scope = b->scope;
    node.a = b->variables.count - 1;
    return add_node(b, node);
}

/* ---- computed values ---- */

/* Scope and depth of a node from its operands, which are taken; 0 if the node would be too deep. */
static int derive_scope_and_depth(vyre_builder *b, vy_builder_node *node, const char *name) {
    const uint32_t operands[3] = {node->kind == VY_EXPR_OP ? node->a : VY_NONE, node->b, node->c};
    unsigned depth = 0;
    for (int i = 0; i < 3; i++) {
        if (operands[i] == VY_NONE)
            continue;
        const vy_builder_node *operand = &b->nodes.items[operands[i]];
        depth = operand->depth > depth ? operand->depth : depth;
        if (operand->scope != VY_NONE)
            node->scope = operand->scope;
    }
    if (depth > VY_LIMIT_EXPRESSION_DEPTH) {
        vy_builder_error(b, VY_B010, NULL, "`%s` (statement %u) makes an expression deeper than the limit (%d)", name,
                         b->stmt_count, VY_LIMIT_EXPRESSION_DEPTH);
        return 0;
    }
    node->depth = (uint16_t)(depth + 1);
    return 1;
}

vyre_value vyre_load(vyre_builder *b, vyre_memory memory, vyre_value index) {
    if (!b)
        return vyre_no_value();
    vy_builder_node node = blank;
    node.kind = VY_EXPR_LOAD;
    node.scope = b->scope;
    node.a = vy_builder_use_memory(b, memory, "load");
    node.b = vy_builder_use_value(b, index, "load", "index");
    if (!vy_builder_expect_integer(b, node.b, "load", "index") || node.a == VY_POISON || node.b == VY_POISON)
        return poison(b);
    node.type = b->memories.items[node.a].type;
    return derive_scope_and_depth(b, &node, "load") ? add_node(b, node) : poison(b);
}

static void report_types(vyre_builder *b, const vyre_op_info *info, const uint32_t *operands, unsigned count,
                         vyre_type result) {
    char list[200] = "";
    size_t used = 0;
    for (unsigned i = 0; i < count; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 vyre_type_name((vyre_type)b->nodes.items[operands[i]].type));
    if (result < VYRE_TYPE_COUNT)
        vy_builder_error(b, VY_B003, NULL, "`%s` (statement %u) does not turn %s into %s", info->name, b->stmt_count,
                         list, vyre_type_name(result));
    else
        vy_builder_error(b, VY_B003,
                         VY_FIX("give `%s` operands of one type it takes; convert with vyre_cast", info->name),
                         "`%s` (statement %u) does not take (%s)", info->name, b->stmt_count, list);
}

/* The type of an op's result by the rule of its row. */
static vyre_type result_type(const vyre_builder *b, const vyre_op_info *info, const uint32_t *operands) {
    if (info->rule == VYRE_RULE_COMPARE || info->rule == VYRE_RULE_TEST)
        return VYRE_TYPE_BOOL;
    return (vyre_type)b->nodes.items[operands[info->rule == VYRE_RULE_SELECT ? 1 : 0]].type;
}

/* Whether the operands agree with each other and with the row. */
static int types_fit(const vyre_builder *b, vyre_op op, const vyre_op_info *info, const uint32_t *operands,
                     vyre_type result) {
    unsigned first = info->rule == VYRE_RULE_SELECT ? 1 : 0;
    uint8_t type = b->nodes.items[operands[first]].type;
    for (unsigned i = first; i < info->arity; i++)
        if (b->nodes.items[operands[i]].type != type)
            return 0;
    if (first && b->nodes.items[operands[0]].type != VYRE_TYPE_BOOL)
        return 0;
    return vyre_op_accepts(op, (vyre_type)type, result);
}

/* type: the result's for cast and bitcast, VYRE_TYPE_COUNT for the rest. */
static vyre_value make_op(vyre_builder *b, vyre_op op, vyre_type type, const vyre_value *values, unsigned count) {
    if (!b)
        return vyre_no_value();
    const vyre_op_info *info = vyre_op_get(op);
    if (!info) {
        vy_builder_check_enum(b, op, VYRE_OP_COUNT, "the op");
        return poison(b);
    }
    if (!vy_builder_check_level(b, info->level, info->name))
        return poison(b);
    static const char *const roles[] = {"first operand", "second operand", "third operand"};
    uint32_t operands[3] = {VY_NONE, VY_NONE, VY_NONE};
    int is_good = 1;
    for (unsigned i = 0; i < count; i++) {
        operands[i] = vy_builder_use_value(b, values[i], info->name, roles[i]);
        is_good &= operands[i] != VY_POISON;
    }
    int names_type = op == VYRE_OP_CAST || op == VYRE_OP_BITCAST;
    if (info->arity != count || names_type != (type < VYRE_TYPE_COUNT)) {
        vy_builder_error(b, VY_B008,
                         names_type ? "call vyre_cast or vyre_bitcast" : VY_FIX("call vyre_op%u", info->arity),
                         "`%s` (statement %u) is given %u operands (%u expected%s)", info->name, b->stmt_count, count,
                         info->arity, names_type ? ", and a type" : "");
        return poison(b);
    }
    if (!is_good)
        return poison(b);
    vyre_type result = names_type ? type : result_type(b, info, operands);
    if (!types_fit(b, op, info, operands, result)) {
        report_types(b, info, operands, count, type);
        return poison(b);
    }
    vy_builder_node node = {.kind = VY_EXPR_OP,
                            .type = (uint8_t)result,
                            .op = (uint8_t)op,
                            .scope = VY_NONE,
                            .a = operands[0],
                            .b = operands[1],
                            .c = operands[2]};
    return derive_scope_and_depth(b, &node, info->name) ? add_node(b, node) : poison(b);
}

vyre_value vyre_op1(vyre_builder *b, vyre_op op, vyre_value x) {
    return make_op(b, op, VYRE_TYPE_COUNT, &x, 1);
}

vyre_value vyre_op2(vyre_builder *b, vyre_op op, vyre_value x, vyre_value y) {
    return make_op(b, op, VYRE_TYPE_COUNT, (const vyre_value[]){x, y}, 2);
}

vyre_value vyre_op3(vyre_builder *b, vyre_op op, vyre_value x, vyre_value y, vyre_value z) {
    return make_op(b, op, VYRE_TYPE_COUNT, (const vyre_value[]){x, y, z}, 3);
}

static vyre_value convert(vyre_builder *b, vyre_op op, vyre_type type, vyre_value x) {
    if (b && !vy_builder_check_enum(b, type, VYRE_TYPE_COUNT, "the type to convert to"))
        return poison(b);
    return make_op(b, op, type, &x, 1);
}

vyre_value vyre_cast(vyre_builder *b, vyre_type type, vyre_value x) {
    return convert(b, VYRE_OP_CAST, type, x);
}

vyre_value vyre_bitcast(vyre_builder *b, vyre_type type, vyre_value x) {
    return convert(b, VYRE_OP_BITCAST, type, x);
}

/* ---- into the draft ---- */

/* Recursion is bounded by the depth that derive_scope_and_depth allows. */
uint32_t vy_builder_emit(vyre_builder *b, uint32_t index) {
    if (index == VY_NONE)
        return VY_NONE;
    vy_builder_node node = b->nodes.items[index];
    switch ((vy_expr_kind)node.kind) {
    case VY_EXPR_LITERAL:
        return vy_irb_literal(&b->draft, (vyre_type)node.type, node.bits);
    case VY_EXPR_VARIABLE:
        return vy_irb_variable(&b->draft, b->variables.items[node.a].index);
    case VY_EXPR_LEN:
        return vy_irb_len(&b->draft, b->memories.items[node.a].index);
    case VY_EXPR_BUILTIN:
        return vy_irb_builtin(&b->draft, (vyre_builtin)node.op, node.axis);
    case VY_EXPR_LOAD:
        return vy_irb_load(&b->draft, b->memories.items[node.a].index, vy_builder_emit(b, node.b));
    case VY_EXPR_OP: {
        uint32_t x = vy_builder_emit(b, node.a), y = vy_builder_emit(b, node.b), z = vy_builder_emit(b, node.c);
        return vy_irb_op(&b->draft, (vyre_op)node.op, (vyre_type)node.type, x, y, z);
    }
    case VY_EXPR_ALIGN_OFFSET: /* of level legal: never made */
    case VY_EXPR_KIND_COUNT:
        break;
    }
    return VY_NONE;
}
