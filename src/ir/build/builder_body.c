/* The public builder (vyre/builder.h): expressions, which are trees in a pool until a statement uses them, and
 * statements. */
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

/* ---- using values ---- */

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

/* Whether a value in use has the type; reports an error if not. True for VY_POISON. */
static int expect_type(vyre_builder *b, uint32_t index, vyre_type type, const char *user, const char *role) {
    if (index == VY_POISON || b->nodes.items[index].type == type)
        return 1;
    char text[96];
    vy_builder_error(b, VY_B003, VY_FIX("convert it: vyre_cast(b, the type %s, value)", vyre_type_name(type)),
                     "the %s of %s (statement %u), %s, is not of type %s", role, user, b->stmt_count,
                     vy_builder_describe(b, index, text), vyre_type_name(type));
    return 0;
}

static int expect_integer(vyre_builder *b, uint32_t index, const char *user, const char *role) {
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

/* Rounded by the evaluator, by the rules of the language. */
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

/* Derives scope and depth of a node from its operands, which are in use; returns 0 if the node would be too deep. */
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
    if (!expect_integer(b, node.b, "load", "index") || node.a == VY_POISON || node.b == VY_POISON)
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
                         VY_FIX("pass operands of one type that `%s` accepts; convert with vyre_cast", info->name),
                         "`%s` (statement %u) does not accept (%s)", info->name, b->stmt_count, list);
}

/* The result type of an op by the rule of its row. */
static vyre_type result_type(const vyre_builder *b, const vyre_op_info *info, const uint32_t *operands) {
    if (info->rule == VYRE_RULE_COMPARE || info->rule == VYRE_RULE_TEST)
        return VYRE_TYPE_BOOL;
    return (vyre_type)b->nodes.items[operands[info->rule == VYRE_RULE_SELECT ? 1 : 0]].type;
}

/* Whether the operand types match each other and the row. */
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

/* type: of the result for cast and bitcast, else VYRE_TYPE_COUNT. */
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

/* ---- writing trees to the draft ---- */

/* Recursion is bounded by the depth that derive_scope_and_depth allows. */
static uint32_t emit_tree(vyre_builder *b, uint32_t index) {
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
        return vy_irb_load(&b->draft, b->memories.items[node.a].index, emit_tree(b, node.b));
    case VY_EXPR_OP: {
        uint32_t x = emit_tree(b, node.a), y = emit_tree(b, node.b), z = emit_tree(b, node.c);
        return vy_irb_op(&b->draft, (vyre_op)node.op, (vyre_type)node.type, x, y, z);
    }
    case VY_EXPR_ALIGN_OFFSET: /* level legal: never created */
    case VY_EXPR_KIND_COUNT:
        break;
    }
    return VY_NONE;
}

/* ---- statements ----
 *
 * Every statement is built in the same way: open_stmt checks that it is allowed at this point, its operands are used
 * and checked in the order of model.h, and close_stmt writes their trees and the statement to the draft, unless an
 * error was reported before. */

/* A statement under construction. */
typedef struct statement {
    vyre_builder *b;
    const char *name; /* for messages */
    vy_stmt stmt;     /* a, b, c are nodes until close_stmt */
    int is_good;
} statement;

static statement open_stmt(vyre_builder *b, vy_stmt_kind kind, const char *name) {
    statement s = {.b = b, .name = name, .stmt = vy_irb_blank_stmt(kind), .is_good = 1};
    b->stmt_count++;
    if (b->scope == VY_SCOPE_ENTRY && b->draft.program->kind == VYRE_PROGRAM_LIBRARY) {
        vy_builder_error(b, VY_B009, "begin a function first: a library has no statements outside functions",
                         "%s (statement %u) is outside a function", name, b->stmt_count);
        s.is_good = 0;
        return s;
    }
    vy_builder_flush_declarations(b);
    return s;
}

static uint32_t use_value(statement *s, vyre_value value, const char *role) {
    uint32_t node = vy_builder_use_value(s->b, value, s->name, role);
    s->is_good &= node != VY_POISON;
    return node;
}

static uint32_t use_typed(statement *s, vyre_value value, vyre_type type, const char *role) {
    uint32_t node = use_value(s, value, role);
    s->is_good &= expect_type(s->b, node, type, s->name, role);
    return node;
}

static uint32_t use_integer(statement *s, vyre_value value, const char *role) {
    uint32_t node = use_value(s, value, role);
    s->is_good &= expect_integer(s->b, node, s->name, role);
    return node;
}

static uint32_t use_memory(statement *s, vyre_memory memory) {
    uint32_t index = vy_builder_use_memory(s->b, memory, s->name);
    s->is_good &= index != VY_POISON;
    return index;
}

static vyre_type type_of(const vyre_builder *b, uint32_t node) {
    return (vyre_type)b->nodes.items[node].type;
}

/* Writes the statement; args are nodes, or memories of the builder. Returns the first variable that it declares. */
static uint32_t close_stmt(statement *s, vy_arg *args, uint32_t arg_count, const vy_symbol *names,
                           const vyre_type *types) {
    vyre_builder *b = s->b;
    if (vy_stmt_is_structured(s->stmt.kind)) {
        vy_open_block *block = VY_PUSH(&b->blocks);
        if (block)
            *block = (vy_open_block){.kind = s->stmt.kind, .stmt = b->stmt_count};
        else
            vy_builder_no_memory(b);
    }
    if (!s->is_good || !vy_builder_is_valid(b))
        return VY_NONE;
    s->stmt.a = emit_tree(b, s->stmt.a);
    s->stmt.b = emit_tree(b, s->stmt.b);
    s->stmt.c = emit_tree(b, s->stmt.c);
    for (uint32_t i = 0; i < arg_count; i++)
        args[i].index = args[i].is_memory ? b->memories.items[args[i].index].index : emit_tree(b, args[i].index);
    if (s->stmt.memory != VY_NONE)
        s->stmt.memory = b->memories.items[s->stmt.memory].index;
    uint32_t index = vy_irb_stmt(&b->draft, &s->stmt, args, arg_count, names, types);
    return index == VY_NONE ? VY_NONE : b->draft.program->stmts.items[index].variable;
}

/* Writes a statement that declares one variable, and returns the variable. */
static vyre_value close_declaring(statement *s, const char *name, const char *what, vyre_type type) {
    vyre_builder *b = s->b;
    vy_symbol interned = vy_builder_intern(b, name, what, 0);
    s->stmt.result_count = 1;
    uint32_t variable = close_stmt(s, NULL, 0, &interned, &type);
    return s->is_good ? vy_builder_add_variable(b, interned, type, s->stmt.kind == VY_STMT_VAR, 0, variable)
                      : poison(b);
}

/* ---- variables and memory ---- */

static vyre_value declare(vyre_builder *b, vy_stmt_kind kind, const char *what, const char *name, vyre_value value) {
    if (!b)
        return vyre_no_value();
    statement s = open_stmt(b, kind, what);
    s.stmt.a = use_value(&s, value, "value");
    return close_declaring(&s, name, "a variable", s.is_good ? type_of(b, s.stmt.a) : VYRE_TYPE_BOOL);
}

vyre_value vyre_let(vyre_builder *b, const char *name, vyre_value value) {
    return declare(b, VY_STMT_LET, "let", name, value);
}

vyre_value vyre_var(vyre_builder *b, const char *name, vyre_value value) {
    return declare(b, VY_STMT_VAR, "var", name, value);
}

void vyre_builder_assign(vyre_builder *b, vyre_value var, vyre_value value) {
    if (!b)
        return;
    statement s = open_stmt(b, VY_STMT_ASSIGN, "assign");
    uint32_t target = use_value(&s, var, "variable");
    const vy_builder_node *node = target == VY_POISON ? NULL : &b->nodes.items[target];
    if (node && (node->kind != VY_EXPR_VARIABLE || !b->variables.items[node->a].is_mutable)) {
        char text[96];
        vy_builder_error(b, VY_B006, "make it with vyre_var",
                         "assign (statement %u) is given %s, which is not a variable made by vyre_var", b->stmt_count,
                         vy_builder_describe(b, target, text));
        s.is_good = 0;
    }
    s.stmt.a = node && s.is_good ? use_typed(&s, value, (vyre_type)node->type, "value") : use_value(&s, value, "value");
    if (s.is_good)
        s.stmt.variable = b->variables.items[b->nodes.items[target].a].index;
    close_stmt(&s, NULL, 0, NULL, NULL);
}

void vyre_builder_store(vyre_builder *b, vyre_memory memory, vyre_value index, vyre_value value) {
    if (!b)
        return;
    statement s = open_stmt(b, VY_STMT_STORE, "store");
    s.stmt.memory = use_memory(&s, memory);
    s.stmt.a = use_integer(&s, index, "index");
    s.stmt.b = s.stmt.memory == VY_POISON
                   ? use_value(&s, value, "value")
                   : use_typed(&s, value, (vyre_type)b->memories.items[s.stmt.memory].type, "value");
    close_stmt(&s, NULL, 0, NULL, NULL);
}

/* Uses the first `operands` of x and y; the others must be empty. */
static void use_operands(statement *s, unsigned count, const vyre_value values[2], const vyre_type types[2],
                         uint32_t *const to[2]) {
    static const char *const roles[2] = {"first operand", "second operand"};
    for (unsigned i = 0; i < 2; i++) {
        if (i < count)
            *to[i] = types[i] < VYRE_TYPE_COUNT ? use_typed(s, values[i], types[i], roles[i])
                                                : use_value(s, values[i], roles[i]);
        else if (values[i].builder) {
            vy_builder_error(s->b, VY_B008, NULL, "%s (statement %u) has too many operands (%u expected)", s->name,
                             s->b->stmt_count, count);
            s->is_good = 0;
        }
    }
}

vyre_value vyre_builder_atomic(vyre_builder *b, const char *name, vyre_atomic atomic, vyre_memory memory,
                               vyre_value index, vyre_value x, vyre_value y, vyre_order order, vyre_scope scope) {
    if (!b)
        return vyre_no_value();
    int is_known = vy_builder_check_enum(b, atomic, VYRE_ATOMIC_COUNT, "the atomic");
    statement s = open_stmt(b, VY_STMT_ATOMIC, is_known ? vyre_atomic_name(atomic) : "atomic");
    s.is_good &= is_known;
    s.is_good &= vy_builder_check_enum(b, order, VYRE_ORDER_COUNT, "the order");
    s.is_good &= vy_builder_check_enum(b, scope, VYRE_SCOPE_COUNT, "the scope");
    s.stmt.memory = use_memory(&s, memory);
    s.stmt.a = use_integer(&s, index, "index");
    if (!s.is_good)
        return poison(b);
    vyre_type type = (vyre_type)b->memories.items[s.stmt.memory].type;
    use_operands(&s, vy_atomics[atomic].operands, (const vyre_value[2]){x, y}, (const vyre_type[2]){type, type},
                 (uint32_t *const[2]){&s.stmt.b, &s.stmt.c});
    s.stmt.op = (uint8_t)atomic;
    s.stmt.order = (uint8_t)order;
    s.stmt.scope = (uint8_t)scope;
    if (name)
        return close_declaring(&s, name, "the value of an atomic", type);
    close_stmt(&s, NULL, 0, NULL, NULL);
    return vyre_no_value();
}

vyre_value vyre_builder_collective(vyre_builder *b, const char *name, vyre_collective collective, vyre_op combine,
                                   unsigned width, vyre_value x, vyre_value y) {
    if (!b)
        return vyre_no_value();
    int is_known = vy_builder_check_enum(b, collective, VYRE_COLLECTIVE_COUNT, "the collective") &&
                   vy_builder_check_level(b, vy_collectives[collective].level, vy_collectives[collective].name);
    statement s = open_stmt(b, VY_STMT_COLLECTIVE, is_known ? vyre_collective_name(collective) : "collective");
    s.is_good &= is_known && vy_builder_check_enum(b, width, 65, "the width");
    if (s.is_good && vy_collectives[collective].combines) {
        s.is_good = vy_builder_check_enum(b, combine, VYRE_OP_COUNT, "the op that combines");
        s.stmt.combine = (uint8_t)combine;
    }
    if (!s.is_good)
        return poison(b);
    int is_bool =
        collective == VYRE_COLLECTIVE_ANY || collective == VYRE_COLLECTIVE_ALL || collective == VYRE_COLLECTIVE_BALLOT;
    use_operands(&s, vy_collectives[collective].operands, (const vyre_value[2]){x, y},
                 (const vyre_type[2]){is_bool ? VYRE_TYPE_BOOL : VYRE_TYPE_COUNT, VYRE_TYPE_U32},
                 (uint32_t *const[2]){&s.stmt.a, &s.stmt.b});
    s.stmt.op = (uint8_t)collective;
    s.stmt.width = (uint8_t)width;
    vyre_type type = collective == VYRE_COLLECTIVE_BALLOT ? VYRE_TYPE_U64
                     : s.is_good                          ? type_of(b, s.stmt.a)
                                                          : VYRE_TYPE_BOOL;
    return close_declaring(&s, name, "the result of a collective", type);
}

/* ---- calls ---- */

/* The arguments as nodes and memories; NULL if out of memory or a count exceeds its limit. The caller releases `count`
 * of them. */
static vy_arg *use_arguments(statement *s, const vyre_operand *arguments, size_t count) {
    if (count > VY_LIMIT_PARAMS || (count && !arguments)) {
        vy_builder_error(s->b, VY_B008, NULL, "%s (statement %u) is given %zu arguments (at most %d, and not NULL)",
                         s->name, s->b->stmt_count, count, VY_LIMIT_PARAMS);
        s->is_good = 0;
        return NULL;
    }
    vy_arg *args = count ? vy_allocate_zero(count * sizeof *args) : NULL;
    if (count && !args) {
        vy_builder_no_memory(s->b);
        s->is_good = 0;
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        args[i].is_memory = arguments[i].memory.builder != NULL;
        args[i].index =
            args[i].is_memory ? use_memory(s, arguments[i].memory) : use_value(s, arguments[i].value, "argument");
    }
    return args;
}

/* Checks the arguments against the parameters of a function of the builder. */
static void check_arguments(statement *s, const vy_built_function *function, const vy_arg *args, size_t count) {
    vyre_builder *b = s->b;
    const char *name = vy_builder_symbol_name(b, function->name);
    if (count != function->param_count) {
        vy_builder_error(b, VY_B008, NULL, "call (statement %u) passes `%s` %zu arguments (%u expected)", b->stmt_count,
                         name, count, function->param_count);
        s->is_good = 0;
        return;
    }
    for (uint32_t i = 0; i < function->param_count; i++) {
        vy_built_param param = b->params.items[function->first_param + i];
        if (param.is_memory != args[i].is_memory) {
            vy_builder_error(b, VY_B003,
                             param.is_memory ? "pass it with vyre_operand_memory" : "pass it with vyre_operand_value",
                             "argument %u of `%s` (statement %u) is a %s (a %s is expected)", i + 1, name,
                             b->stmt_count, param.is_memory ? "value" : "memory", param.is_memory ? "memory" : "value");
            s->is_good = 0;
        } else if (!param.is_memory)
            s->is_good &=
                expect_type(b, args[i].index, (vyre_type)b->variables.items[param.index].type, name, "argument");
    }
}

/* Completes a call: declares the results if they have names. */
static void close_call(statement *s, vy_arg *args, size_t arg_count, const char *const *names, const vyre_type *types,
                       size_t count, vyre_value *results) {
    vyre_builder *b = s->b;
    vy_symbol interned[VY_LIMIT_RESULTS];
    uint32_t first = VY_NONE;
    if (names)
        s->stmt.result_count = (uint8_t)count;
    for (size_t i = 0; names && i < count; i++)
        interned[i] = vy_builder_intern(b, names[i], "a result", 0);
    if (s->is_good)
        first = close_stmt(s, args, (uint32_t)arg_count, interned, types);
    for (size_t i = 0; names && results && i < count; i++)
        results[i] = s->is_good ? vy_builder_add_variable(b, interned[i], types[i], 0, 0,
                                                          first == VY_NONE ? VY_NONE : first + (uint32_t)i)
                                : poison(b);
    vy_release(args, arg_count * sizeof *args);
}

void vyre_builder_call(vyre_builder *b, vyre_function function, const vyre_operand *arguments, size_t argument_count,
                       const char *const *names, vyre_value *results) {
    if (!b)
        return;
    statement s = open_stmt(b, VY_STMT_CALL, "call");
    vyre_type types[VY_LIMIT_RESULTS] = {0};
    uint32_t count = 0;
    if (!vy_builder_is_poisoned(b, function.builder, function.index) &&
        (function.builder != b || function.index >= b->functions.count)) {
        vy_builder_error(b, VY_B001, NULL, "the function of call (statement %u) %s", b->stmt_count,
                         vy_builder_handle_problem(b, function.builder));
        function.index = VY_POISON;
    }
    s.is_good &= function.index != VY_POISON;
    vy_arg *args = use_arguments(&s, arguments, argument_count);
    if (function.index != VY_POISON) {
        const vy_built_function *callee = &b->functions.items[function.index];
        count = callee->result_count;
        if (s.is_good)
            check_arguments(&s, callee, args, argument_count);
        if (count > VY_LIMIT_RESULTS) {
            vy_builder_error(b, VY_B008, "return fewer values, or write them to a memory parameter",
                             "function `%s` has %u results (at most %d)", vy_builder_symbol_name(b, callee->name),
                             count, VY_LIMIT_RESULTS);
            s.is_good = 0;
            count = 0;
        }
        for (uint32_t i = 0; i < count; i++)
            types[i] = (vyre_type)b->results.items[callee->first_result + i].type;
    }
    s.stmt.callee = function.index;
    close_call(&s, args, args ? argument_count : 0, names, types, count, results);
}

void vyre_builder_call_op(vyre_builder *b, const char *id, const vyre_operand *arguments, size_t argument_count,
                          const char *const *names, const vyre_type *types, size_t result_count, vyre_value *results) {
    if (!b)
        return;
    statement s = open_stmt(b, VY_STMT_CALL, "call");
    vy_arg *args = use_arguments(&s, arguments, argument_count);
    if (result_count > VY_LIMIT_RESULTS || (result_count && (!types || !names))) {
        vy_builder_error(b, VY_B008, "pass names and types for at most 16 results",
                         "call (statement %u) binds %zu results (at most %d, with names and types)", b->stmt_count,
                         result_count, VY_LIMIT_RESULTS);
        s.is_good = 0;
        result_count = 0;
    }
    for (size_t i = 0; i < result_count; i++)
        s.is_good &= vy_builder_check_enum(b, types[i], VYRE_TYPE_COUNT, "the type of a result");
    s.stmt.name = vy_builder_intern(b, id, "an op", 0);
    close_call(&s, args, args ? argument_count : 0, names, types, result_count, results);
}

/* ---- effects and jumps ---- */

void vyre_builder_barrier(vyre_builder *b, vyre_scope scope) {
    if (!b)
        return;
    statement s = open_stmt(b, VY_STMT_BARRIER, "barrier");
    s.is_good &= vy_builder_check_enum(b, scope, VYRE_SCOPE_COUNT, "the scope");
    s.stmt.scope = (uint8_t)scope;
    close_stmt(&s, NULL, 0, NULL, NULL);
}

void vyre_builder_trap(vyre_builder *b, vyre_value code) {
    if (!b)
        return;
    statement s = open_stmt(b, VY_STMT_TRAP, "trap");
    s.stmt.a = use_typed(&s, code, VYRE_TYPE_U32, "code");
    close_stmt(&s, NULL, 0, NULL, NULL);
}

/* Completes a print or return with its values. */
static void close_with_values(statement *s, const vyre_value *values, size_t count, const vy_result *results) {
    if (count > VY_LIMIT_PARAMS || (count && !values)) {
        vy_builder_error(s->b, VY_B008, NULL, "%s (statement %u) is given %zu values (at most %d, and not NULL)",
                         s->name, s->b->stmt_count, count, VY_LIMIT_PARAMS);
        return;
    }
    vy_arg args[VY_LIMIT_PARAMS] = {{0, 0}};
    for (size_t i = 0; i < count; i++)
        args[i].index =
            results ? use_typed(s, values[i], (vyre_type)results[i].type, "value") : use_value(s, values[i], "value");
    close_stmt(s, args, (uint32_t)count, NULL, NULL);
}

void vyre_builder_print(vyre_builder *b, const char *format, const vyre_value *values, size_t count) {
    if (!b)
        return;
    statement s = open_stmt(b, VY_STMT_PRINT, "print");
    s.stmt.name = format ? vy_irb_intern(&b->draft, format, strlen(format)) : 0;
    if (!format)
        vy_builder_error(b, VY_B007, "pass a text with one {} per value", "the format of print (statement %u) is NULL",
                         b->stmt_count);
    close_with_values(&s, values, count, NULL);
}

void vyre_builder_return(vyre_builder *b, const vyre_value *values, size_t count) {
    if (!b)
        return;
    statement s = open_stmt(b, VY_STMT_RETURN, "return");
    const vy_built_function *function = b->scope == VY_SCOPE_ENTRY ? NULL : &b->functions.items[b->scope];
    uint32_t expected = function ? function->result_count : 0;
    if (count != expected) {
        vy_builder_error(b, VY_B008,
                         function ? "return one value per result" : "write the results of the program to a buffer",
                         "return (statement %u) has %zu values (%u expected)", b->stmt_count, count, expected);
        return;
    }
    close_with_values(&s, values, count, function && expected ? &b->results.items[function->first_result] : NULL);
}

static void jump(vyre_builder *b, vy_stmt_kind kind, const char *name) {
    if (!b)
        return;
    statement s = open_stmt(b, kind, name);
    close_stmt(&s, NULL, 0, NULL, NULL);
}

void vyre_builder_break(vyre_builder *b) {
    jump(b, VY_STMT_BREAK, "break");
}

void vyre_builder_continue(vyre_builder *b) {
    jump(b, VY_STMT_CONTINUE, "continue");
}

/* ---- blocks ---- */

static void begin_conditional(vyre_builder *b, vy_stmt_kind kind, const char *name, vyre_value condition) {
    if (!b)
        return;
    statement s = open_stmt(b, kind, name);
    s.stmt.a = use_typed(&s, condition, VYRE_TYPE_BOOL, "condition");
    close_stmt(&s, NULL, 0, NULL, NULL);
}

void vyre_builder_begin_if(vyre_builder *b, vyre_value condition) {
    begin_conditional(b, VY_STMT_IF, "if", condition);
}

void vyre_builder_begin_while(vyre_builder *b, vyre_value condition) {
    begin_conditional(b, VY_STMT_WHILE, "while", condition);
}

vyre_value vyre_builder_begin_for(vyre_builder *b, const char *name, vyre_value from, vyre_value to, vyre_value step) {
    if (!b)
        return vyre_no_value();
    statement s = open_stmt(b, VY_STMT_FOR, "for");
    s.stmt.a = use_integer(&s, from, "start");
    vyre_type type = s.stmt.a == VY_POISON ? VYRE_TYPE_COUNT : type_of(b, s.stmt.a);
    s.stmt.b = type < VYRE_TYPE_COUNT ? use_typed(&s, to, type, "end") : use_value(&s, to, "end");
    if (step.builder)
        s.stmt.c = type < VYRE_TYPE_COUNT ? use_typed(&s, step, type, "step") : use_value(&s, step, "step");
    return close_declaring(&s, name, "a loop variable", type);
}

void vyre_builder_begin_region(vyre_builder *b, const char *name) {
    if (!b)
        return;
    statement s = open_stmt(b, VY_STMT_REGION, "region");
    s.stmt.name = vy_builder_intern(b, name, "a region", 0);
    close_stmt(&s, NULL, 0, NULL, NULL);
}

void vyre_builder_else(vyre_builder *b) {
    if (!b)
        return;
    vy_open_block *block = b->blocks.count ? &b->blocks.items[b->blocks.count - 1] : NULL;
    if (!block || block->kind != VY_STMT_IF || block->has_else) {
        vy_builder_error(b, VY_B005, NULL, "else after statement %u belongs to no if: %s", b->stmt_count,
                         !block            ? "no block is open"
                         : block->has_else ? "the innermost one has an else"
                                           : "the innermost block is another");
        return;
    }
    block->has_else = 1;
    if (vy_builder_is_valid(b))
        vy_irb_else(&b->draft);
}

void vyre_builder_end(vyre_builder *b) {
    if (!b)
        return;
    if (!b->blocks.count) {
        vy_builder_error(b, VY_B005, NULL, "an end after statement %u closes nothing: no block is open", b->stmt_count);
        return;
    }
    b->blocks.count--;
    if (vy_builder_is_valid(b))
        vy_irb_end_block(&b->draft);
}
