/* Type inference of expressions, and appending of pure trees to the draft.
 *
 * A tree made of literals without suffix is untyped until its context has a type; each untyped tree gets its type once.
 * The recursion of both walks is bounded by VY_LIMIT_EXPRESSION_DEPTH, which the parser enforces. */
#include "ir/text/lower.h"

#include <inttypes.h>
#include <stdio.h>

static int has_type(uint8_t type) {
    return type < VYRE_TYPE_COUNT;
}

/* ---- messages ---- */

/* Whether the type represents the literal exactly; reports nothing. Not inlined, like the other helpers for
 * messages, because the callers recurse. */
static __attribute__((noinline)) int literal_fits(const vy_ast_node *node, vyre_type type) {
    vy_diag_sink ignored = {0};
    uint64_t bits;
    return type != VYRE_TYPE_BOOL && vy_number_bits(&ignored, node->number, node->negative, type, node->at, &bits);
}

/* Writes a literal of the type, with the type as its suffix. An integer as a float is written in decimal: in
 * `0x2f32` the suffix would be read as digits. */
static const char *literal_spelling(const vy_ast_node *node, vyre_type type, char text[96]) {
    const char *sign = node->negative ? "-" : "", *suffix = vyre_type_name(type);
    if (vyre_type_class(type) == VYRE_CLASS_FLOAT && !node->number->is_float)
        snprintf(text, 96, "%s%" PRIu64 ".0%s", sign, node->number->value, suffix);
    else
        snprintf(text, 96, "%s%.*s%s", sign, node->number->length < 60 ? node->number->length : 60, node->number->text,
                 suffix);
    return text;
}

typedef char short_text[96];

/* The spelling of a tree in a fix: a name, literal, builtin, length or element, or an ellipsis. */
static __attribute__((noinline)) const char *spelling(const vy_lowering *l, const vy_ast_node *node, short_text text) {
    int length = 0;
    switch (node->kind) {
    case VY_AST_NAME:
        length = snprintf(text, sizeof(short_text), "%s", vy_lower_text(l, node->name));
        break;
    case VY_AST_NUMBER:
        if (node->number->type < VYRE_TYPE_COUNT)
            length = (int)strlen(literal_spelling(node, node->number->type, text));
        break;
    case VY_AST_BUILTIN:
        length = snprintf(text, sizeof(short_text), vy_builtins[node->op].has_axes ? "%s.%c" : "%s",
                          vyre_builtin_name(node->op), "xyz"[node->axis]);
        break;
    case VY_AST_BITS:
        if (node->type_name == VYRE_TYPE_BOOL)
            length = snprintf(text, sizeof(short_text), "%s", node->value ? "true" : "false");
        break;
    case VY_AST_LEN:
        length = snprintf(text, sizeof(short_text), "len(%s)", vy_lower_text(l, node->name));
        break;
    case VY_AST_INDEX:
        if (node->a && !node->b && (node->a->kind == VY_AST_NAME || node->a->kind == VY_AST_BUILTIN)) {
            short_text index;
            length = snprintf(text, sizeof(short_text), "%s[%.60s]", vy_lower_text(l, node->name),
                              spelling(l, node->a, index));
        }
        break;
    default:
        break;
    }
    return length > 0 && length <= 60 ? text : "…";
}

/* A value converted to a number type, as in `f32(n)`; for a literal, one of that type. */
static __attribute__((noinline)) const char *converted(const vy_lowering *l, const vy_ast_node *node, uint8_t to,
                                                       short_text out) {
    short_text text;
    if (node->kind == VY_AST_NUMBER && literal_fits(node, to))
        return literal_spelling(node, to, out);
    snprintf(out, sizeof(short_text), "%s(%.60s)", vyre_type_name(to), spelling(l, node, text));
    return out;
}

__attribute__((noinline)) const char *vy_lower_conversion(vy_lowering *l, const vy_ast_node *node, uint8_t to) {
    short_text text;
    if (to == VYRE_TYPE_BOOL)
        return VY_DIAG_SINK_FIX(l->report, "write a comparison: `%.60s != 0`", spelling(l, node, text));
    return VY_DIAG_SINK_FIX(
        l->report, "%s `%s`",
        node->kind == VY_AST_NUMBER && literal_fits(node, to) ? "write" : "convert it:", converted(l, node, to, text));
}

/* The first literal without suffix, in the order of the text. */
static const vy_ast_node *first_untyped(const vy_ast_node *node) {
    for (;;) {
        const vy_ast_node *operands[3] = {node->a, node->b, node->c}, *found = NULL;
        if (node->kind != VY_AST_OP)
            return node;
        for (unsigned i = 0; i < 3 && !found; i++)
            if (operands[i] && operands[i]->type == VY_TYPE_UNTYPED)
                found = operands[i];
        if (!found)
            return node;
        node = found;
    }
}

/* Whether every op of an untyped tree supports the type, and the type represents every literal of the tree exactly. */
static int tree_fits(const vy_ast_node *node, vyre_type type) {
    const vy_ast_node *operands[3] = {node->a, node->b, node->c};
    if (node->kind == VY_AST_NUMBER)
        return literal_fits(node, type);
    if (node->kind != VY_AST_OP)
        return 0;
    for (unsigned i = 0; i < 3; i++)
        if (operands[i] && operands[i]->type == VY_TYPE_UNTYPED && !tree_fits(operands[i], type))
            return 0;
    return node->op == VYRE_OP_SELECT || (vyre_op_get(node->op)->classes & vyre_type_class(type));
}

/* The type that a fix suggests for untyped trees: the first candidate of the set that fits all of them;
 * VYRE_TYPE_COUNT if none does. */
static vyre_type type_for_untyped(const vy_ast_node *const trees[3], unsigned types) {
    static const uint8_t usual[] = {VYRE_TYPE_U32, VYRE_TYPE_U64, VYRE_TYPE_I32, VYRE_TYPE_I64,
                                    VYRE_TYPE_F32, VYRE_TYPE_F64, VYRE_TYPE_F16, VYRE_TYPE_BF16,
                                    VYRE_TYPE_U16, VYRE_TYPE_I16, VYRE_TYPE_U8,  VYRE_TYPE_I8};
    for (unsigned i = 0; i < sizeof usual; i++) {
        int fits = types >> usual[i] & 1;
        for (unsigned k = 0; k < 3; k++)
            fits &= !trees[k] || tree_fits(trees[k], usual[i]);
        if (fits)
            return usual[i];
    }
    return VYRE_TYPE_COUNT;
}

static __attribute__((noinline)) void report_untyped(vy_lowering *l, const vy_ast_node *node, vyre_type type,
                                                     const char *keyword, const char *name) {
    int is_whole = node->kind == VY_AST_NUMBER;
    const vy_ast_node *literal = first_untyped(node);
    char text[96];
    const char *fix = NULL;
    if (literal->kind != VY_AST_NUMBER) {
        vy_lower_error(l, VY_T030, literal->at, NULL, "expression without a type");
        return;
    }
    if (type < VYRE_TYPE_COUNT)
        literal_spelling(literal, type, text);
    if (type < VYRE_TYPE_COUNT && !keyword)
        fix = VY_DIAG_SINK_FIX(l->report, "write `%s`", text);
    else if (type < VYRE_TYPE_COUNT && is_whole)
        fix = VY_DIAG_SINK_FIX(l->report, "write `%s`, or `%s %.60s : %s = %s%.*s`", text, keyword, name,
                               vyre_type_name(type), literal->negative ? "-" : "",
                               literal->number->length < 60 ? literal->number->length : 60, literal->number->text);
    else if (type < VYRE_TYPE_COUNT)
        fix = VY_DIAG_SINK_FIX(l->report, "write `%s`, or `%s %.60s : %s = …`", text, keyword, name,
                               vyre_type_name(type));
    else
        fix = "convert a part of the expression: no type represents all its literals and supports all its ops";
    vy_lower_error(l, VY_T030, literal->at, fix, "literal %s%.*s without a type", literal->negative ? "-" : "",
                   literal->number->length < 60 ? literal->number->length : 60, literal->number->text);
}

enum {
    SUGGESTED_TYPES = 1 << VYRE_TYPE_U32 | 1 << VYRE_TYPE_U64 | 1 << VYRE_TYPE_I32 | 1 << VYRE_TYPE_I64 |
                      1 << VYRE_TYPE_F32 | 1 << VYRE_TYPE_F64
};

static void report_untyped_tree(vy_lowering *l, const vy_ast_node *node, const char *keyword, const char *name) {
    report_untyped(l, node, type_for_untyped((const vy_ast_node *const[3]){node, NULL, NULL}, SUGGESTED_TYPES), keyword,
                   name);
}

void vy_lower_untyped_argument(vy_lowering *l, const vy_ast_node *node, unsigned types) {
    report_untyped(l, node, type_for_untyped((const vy_ast_node *const[3]){node, NULL, NULL}, types), NULL, NULL);
}

void vy_lower_untyped_range(vy_lowering *l, vy_ast_node *const bounds[3]) {
    vyre_type type = type_for_untyped((const vy_ast_node *const[3]){bounds[0], bounds[1], bounds[2]}, SUGGESTED_TYPES);
    if (type < VYRE_TYPE_COUNT && vyre_type_class(type) == VYRE_CLASS_FLOAT)
        vy_lower_error(l, VY_T035, bounds[0]->at, "count with an integer and convert it inside the loop",
                       "expected integers for the range of `for`, found a number with a fraction");
    else
        report_untyped(l, bounds[0], type, NULL, NULL);
}

/* ---- assigning types to untyped trees ---- */

static void assign_literal_type(vy_lowering *l, vy_ast_node *node, uint8_t type) {
    if (type == VYRE_TYPE_BOOL) {
        vy_lower_error(l, VY_T035, node->at, "write `true` or `false`", "expected bool, found a number");
        node->type = VY_TYPE_BAD;
        return;
    }
    node->is_literal = 1;
    if (!vy_number_bits(l->report, node->number, node->negative, type, node->at, &node->bits)) {
        node->type = VY_TYPE_BAD;
        l->live = 0;
    }
}

static const struct {
    unsigned classes;
    const char *name;
} class_names[] = {
    {VYRE_CLASS_BOOL, "bool"},
    {VYRE_CLASS_INTEGER, "integers"},
    {VYRE_CLASS_FLOAT, "floats"},
    {VYRE_CLASS_NUMBER, "numbers"},
};

static const char *class_name(unsigned classes) {
    for (unsigned i = 0; i < sizeof class_names / sizeof *class_names; i++)
        if (class_names[i].classes == classes)
            return class_names[i].name;
    return "other types";
}

/* Checks that the op supports operands of the type. */
static __attribute__((noinline)) int check_class(vy_lowering *l, const vy_ast_node *node, uint8_t type) {
    const vyre_op_info *row = vyre_op_get(node->op);
    const char *written = row->symbol ? row->symbol : row->name, *fix = NULL;
    if (!has_type(type) || (row->classes & vyre_type_class(type)))
        return 1;
    short_text text;
    const char *value = spelling(l, node->a, text);
    if (node->op == VYRE_OP_REM)
        fix = "write `remainder(a, b)` for the IEEE remainder";
    else if (row->classes == VYRE_CLASS_BOOL && node->op == VYRE_OP_LNOT)
        fix = VY_DIAG_SINK_FIX(l->report, "write `%.60s == 0`", value);
    else if (row->classes == VYRE_CLASS_BOOL)
        fix = VY_DIAG_SINK_FIX(l->report, "write a comparison: `%.60s != 0`", value);
    else if (type == VYRE_TYPE_BOOL && node->op == VYRE_OP_NOT)
        fix = "write `!` for the logical not";
    else if (type == VYRE_TYPE_BOOL && (node->op == VYRE_OP_AND || node->op == VYRE_OP_OR))
        fix = VY_DIAG_SINK_FIX(l->report, "write `%s%s`", row->symbol, row->symbol);
    else if (type == VYRE_TYPE_BOOL && node->op == VYRE_OP_XOR)
        fix = "write `!=`";
    else if (node->op == VYRE_OP_XOR && vyre_type_class(type) == VYRE_CLASS_FLOAT)
        fix = "write `pow(v, 2.0)` or a product for a power; `^` is the exclusive or";
    else if (row->classes == VYRE_CLASS_FLOAT)
        fix = VY_DIAG_SINK_FIX(l->report, "convert the operand: `f32(%.60s)`", value);
    else if (row->classes == VYRE_CLASS_INTEGER && vyre_type_class(type) == VYRE_CLASS_FLOAT)
        fix = VY_DIAG_SINK_FIX(l->report, "convert the operand: `i32(%.60s)`, or `bitcast` for its bits", value);
    else if (type == VYRE_TYPE_BOOL)
        fix = VY_DIAG_SINK_FIX(l->report, "convert the operand%s: `u32(%.60s)`", node->b ? "s" : "", value);
    vy_lower_error(l, VY_T034, node->at, fix, "`%s` requires %s, found %s", written, class_name(row->classes),
                   vyre_type_name(type));
    return 0;
}

/* Assigns a type to an untyped tree. */
static void assign_type(vy_lowering *l, vy_ast_node *node, uint8_t type) {
    if (node->type != VY_TYPE_UNTYPED)
        return;
    node->type = type;
    if (node->kind == VY_AST_NUMBER && has_type(type)) {
        assign_literal_type(l, node, type);
        return;
    }
    if (node->kind != VY_AST_OP)
        return;
    vy_ast_node *operands[3] = {node->a, node->b, node->c};
    if (!check_class(l, node, type))
        type = VY_TYPE_BAD;
    for (unsigned i = 0; i < 3; i++)
        if (operands[i])
            assign_type(l, operands[i], type);
    node->type = type;
}

/* ---- unification ---- */

/* The type to which operands of two number types are converted: the type that the context requires, or else the one
 * that represents more values; VYRE_TYPE_COUNT if either one is right. */
static vyre_type common_type(vyre_type left, vyre_type right, uint8_t hint, unsigned classes) {
    unsigned left_class = vyre_type_class(left), right_class = vyre_type_class(right);
    if (has_type(hint) && (vyre_type_class(hint) & classes & VYRE_CLASS_NUMBER))
        return hint;
    if (!(left_class & classes) && !(right_class & classes))
        return classes == VYRE_CLASS_FLOAT ? VYRE_TYPE_F32 : VYRE_TYPE_U32;
    if (!(left_class & classes) || !(right_class & classes))
        return left_class & classes ? left : right;
    if ((left_class == VYRE_CLASS_FLOAT) != (right_class == VYRE_CLASS_FLOAT))
        return left_class == VYRE_CLASS_FLOAT ? left : right;
    if (vyre_type_bits(left) != vyre_type_bits(right))
        return vyre_type_bits(left) > vyre_type_bits(right) ? left : right;
    return VYRE_TYPE_COUNT;
}

static __attribute__((noinline)) const char *mismatch_fix(vy_lowering *l, const vy_ast_node *left,
                                                          const vy_ast_node *right, uint8_t hint, unsigned classes) {
    short_text one, other;
    if (left->type == VYRE_TYPE_BOOL || right->type == VYRE_TYPE_BOOL) {
        const vy_ast_node *truth = left->type == VYRE_TYPE_BOOL ? left : right, *number = truth == left ? right : left;
        if ((classes & VYRE_CLASS_BOOL) && (!has_type(hint) || hint == VYRE_TYPE_BOOL))
            return VY_DIAG_SINK_FIX(l->report, "write a comparison: `(%.60s != 0)`", spelling(l, number, one));
        return VY_DIAG_SINK_FIX(l->report, "convert it: `%s`", converted(l, truth, number->type, one));
    }
    vyre_type common = common_type(left->type, right->type, hint, classes);
    if (common == left->type || common == right->type)
        return vy_lower_conversion(l, common == left->type ? right : left, common);
    int both = common < VYRE_TYPE_COUNT;
    return VY_DIAG_SINK_FIX(l->report, "convert %s: `%s` %s `%s`", both ? "both" : "one of them",
                            converted(l, left, both ? common : right->type, one), both ? "and" : "or",
                            converted(l, right, both ? common : left->type, other));
}

/* The hint for the operands: if a call among them may need it, the type of an operand that has one. */
static uint8_t operand_hint(vy_lowering *l, vy_ast_node *const nodes[3], uint8_t hint) {
    int has_call = 0;
    for (unsigned i = 0; i < 3; i++)
        has_call |= nodes[i] && nodes[i]->has_call;
    for (unsigned i = 0; has_call && i < 3; i++) {
        uint8_t type = nodes[i] ? vy_lower_predict(l, nodes[i]) : VY_TYPE_UNTYPED;
        if (has_type(type))
            return type;
    }
    return hint;
}

uint8_t vy_lower_unify(vy_lowering *l, vy_ast_node *const nodes[3], uint8_t hint, unsigned classes, vy_position at,
                       const char *what) {
    const vy_ast_node *anchor = NULL;
    uint8_t expected = operand_hint(l, nodes, hint);
    int is_bad = 0;
    for (unsigned i = 0; i < 3; i++) {
        if (!nodes[i])
            continue;
        uint8_t type = vy_lower_type(l, nodes[i], anchor ? anchor->type : expected);
        is_bad |= type == VY_TYPE_BAD;
        if (!has_type(type))
            continue;
        if (!anchor) {
            anchor = nodes[i];
        } else if (anchor->type != type && !is_bad) {
            vy_lower_error(
                l, VY_T033, at, mismatch_fix(l, anchor, nodes[i], l->is_cast_operand ? VY_TYPE_UNTYPED : hint, classes),
                "mismatched types in `%s`: %s and %s", what, vyre_type_name(anchor->type), vyre_type_name(type));
            is_bad = 1;
        }
    }
    uint8_t type = is_bad ? VY_TYPE_BAD : anchor ? anchor->type : VY_TYPE_UNTYPED;
    for (unsigned i = 0; type != VY_TYPE_UNTYPED && i < 3; i++)
        if (nodes[i]) {
            assign_type(l, nodes[i], type);
            if (nodes[i]->type == VY_TYPE_BAD)
                is_bad = 1;
        }
    return is_bad ? VY_TYPE_BAD : type;
}

/* ---- ops ---- */

static uint8_t type_condition(vy_lowering *l, vy_ast_node *node) {
    return vy_lower_expect(l, node, VYRE_TYPE_BOOL, "the condition of", "? :") ? VYRE_TYPE_BOOL : VY_TYPE_BAD;
}

static uint8_t type_select(vy_lowering *l, vy_ast_node *node, uint8_t hint) {
    uint8_t condition = type_condition(l, node->a);
    vy_ast_node *const arms[3] = {node->b, node->c, NULL};
    vy_effect_ban before = l->effect_ban;
    if (!before)
        l->effect_ban = VY_EFFECT_BAN_ARM;
    uint8_t type = vy_lower_unify(l, arms, hint, VYRE_CLASS_ANY, node->at, "? :");
    l->effect_ban = before;
    return condition == VY_TYPE_BAD ? VY_TYPE_BAD : type;
}

/* `&&` and `||`: only the left operand can have effects. */
static uint8_t type_logic(vy_lowering *l, vy_ast_node *node) {
    const char *symbol = vyre_op_get(node->op)->symbol;
    int is_good = vy_lower_expect(l, node->a, VYRE_TYPE_BOOL, "an operand of", symbol);
    vy_effect_ban before = l->effect_ban;
    if (!before)
        l->effect_ban = VY_EFFECT_BAN_LOGIC;
    is_good &= vy_lower_expect(l, node->b, VYRE_TYPE_BOOL, "an operand of", symbol);
    l->effect_ban = before;
    return is_good ? VYRE_TYPE_BOOL : VY_TYPE_BAD;
}

static uint8_t type_op(vy_lowering *l, vy_ast_node *node, uint8_t hint) {
    const vyre_op_info *row = vyre_op_get(node->op);
    if (node->op == VYRE_OP_SELECT)
        return type_select(l, node, hint);
    if (node->op == VYRE_OP_LAND || node->op == VYRE_OP_LOR)
        return type_logic(l, node);
    vy_ast_node *const operands[3] = {node->a, node->b, node->c};
    int is_same = row->rule == VYRE_RULE_SAME;
    uint8_t type = vy_lower_unify(l, operands, is_same ? hint : VY_TYPE_UNTYPED, row->classes, node->at,
                                  row->symbol ? row->symbol : row->name);
    if (type == VY_TYPE_UNTYPED && is_same)
        return type;
    if (type == VY_TYPE_UNTYPED) {
        report_untyped_tree(l, node, NULL, NULL);
        return VY_TYPE_BAD;
    }
    if (type == VY_TYPE_BAD || !check_class(l, node, type))
        return VY_TYPE_BAD;
    return is_same ? type : VYRE_TYPE_BOOL;
}

static __attribute__((noinline)) void report_bool_cast(vy_lowering *l, const vy_ast_node *node) {
    short_text text;
    vy_lower_error(l, VY_T036, node->at,
                   VY_DIAG_SINK_FIX(l->report, "write `(%.60s != 0)`", spelling(l, node->a, text)),
                   "conversion to bool");
}

static uint8_t type_cast(vy_lowering *l, vy_ast_node *node) {
    uint8_t before = l->is_cast_operand;
    l->is_cast_operand = 1;
    uint8_t from = vy_lower_type(l, node->a, node->type_name);
    l->is_cast_operand = before;
    node->axis = 0;
    if (node->type_name == VYRE_TYPE_BOOL) {
        report_bool_cast(l, node);
        return VY_TYPE_BAD;
    }
    if (from == VY_TYPE_UNTYPED) {
        assign_type(l, node->a, node->type_name);
        node->axis = 1; /* `u32(5)` is the literal 5u32 */
    }
    return node->a->type == VY_TYPE_BAD ? VY_TYPE_BAD : node->type_name;
}

static vyre_type unsigned_of(unsigned bits) {
    return bits == 8 ? VYRE_TYPE_U8 : bits == 16 ? VYRE_TYPE_U16 : bits == 32 ? VYRE_TYPE_U32 : VYRE_TYPE_U64;
}

static uint8_t type_bitcast(vy_lowering *l, vy_ast_node *node) {
    unsigned bits = vyre_type_bits(node->type_name);
    uint8_t from = vy_lower_type(l, node->a, VY_TYPE_UNTYPED);
    if (from == VY_TYPE_UNTYPED && first_untyped(node->a)->kind == VY_AST_NUMBER &&
        !first_untyped(node->a)->number->is_float) {
        assign_type(l, node->a, unsigned_of(bits)); /* a bit pattern */
        from = node->a->type;
    }
    if (from == VY_TYPE_UNTYPED) {
        report_untyped_tree(l, node->a, NULL, NULL);
        return VY_TYPE_BAD;
    }
    if (from == VY_TYPE_BAD)
        return from;
    if (node->type_name == VYRE_TYPE_BOOL || from == VYRE_TYPE_BOOL) {
        vy_lower_error(l, VY_T036, node->at, "compare with `!=`, or convert with `u32(x)`", "bitcast from or to bool");
        return VY_TYPE_BAD;
    }
    if (vyre_type_bits(from) != bits) {
        vy_lower_error(l, VY_T036, node->at, VY_DIAG_SINK_FIX(l->report, "convert to a type of %u bits first", bits),
                       "bitcast between different widths: %s has %u bits and %s has %u", vyre_type_name(from),
                       vyre_type_bits(from), vyre_type_name(node->type_name), bits);
        return VY_TYPE_BAD;
    }
    return node->type_name;
}

/* ---- names ---- */

static uint8_t type_name(vy_lowering *l, vy_ast_node *node) {
    const vy_binding *binding = vy_lower_find(l, node->name);
    const char *text = vy_lower_text(l, node->name);
    if (binding && binding->kind == VY_BINDING_MEMORY) {
        vy_lower_error(l, VY_T028, node->at, VY_DIAG_SINK_FIX(l->report, "write `%s[i]`", text),
                       "`%s` is a buffer or array, not a value", text);
        return VY_TYPE_BAD;
    }
    if (binding && binding->kind == VY_BINDING_BROKEN)
        return VY_TYPE_BAD;
    if (binding && l->effect_ban == VY_EFFECT_BAN_CONST) {
        vy_lower_error(l, VY_T047, node->at, NULL, "`%s` is not constant", text);
        return VY_TYPE_BAD;
    }
    if (binding) {
        node->variable = binding->index;
        return binding->type;
    }
    const vy_global *global = vy_lower_global(l, node->name);
    if (!global || !global->constant) {
        vy_lower_unknown(l, node->name, node->at);
        return VY_TYPE_BAD;
    }
    if (global->constant->is_array) {
        vy_lower_error(l, VY_T028, node->at, VY_DIAG_SINK_FIX(l->report, "write `%s[i]`", text),
                       "`%s` is a constant array, not a value", text);
        return VY_TYPE_BAD;
    }
    if (!global->constant->is_known) {
        vy_lower_error(l, VY_T048, node->at, NULL, "const `%s` used before its declaration in line %u", text,
                       global->constant->at.line);
        return VY_TYPE_BAD;
    }
    node->is_literal = 1;
    node->bits = global->constant->bits;
    return global->constant->type;
}

/* Checks that the tree is an index: of any integer type, or u32 if it is untyped. */
static int check_index(vy_lowering *l, vy_ast_node *node) {
    uint8_t before = l->is_cast_operand;
    l->is_cast_operand = 0;
    uint8_t type = vy_lower_require_typed(l, node, VYRE_TYPE_U32);
    l->is_cast_operand = before;
    if (type == VY_TYPE_BAD)
        return 0;
    if (vyre_type_class(type) & VYRE_CLASS_INTEGER)
        return 1;
    vy_lower_error(l, VY_T035, node->at, vy_lower_conversion(l, node, VYRE_TYPE_U32),
                   "expected an integer for the index, found %s", vyre_type_name(type));
    return 0;
}

/* In a constant expression, which has no memories. */
static uint8_t type_constant_index(vy_lowering *l, vy_ast_node *node) {
    const vy_ast_const *table = vy_lower_find_table(l, node->name);
    if (table)
        return check_index(l, node->a) ? vy_lower_table_element(l, node, table) : VY_TYPE_BAD;
    if (vy_lower_memory(l, node->name, node->at))
        vy_lower_error(l, VY_T047, node->at, NULL, "`%s[…]` is not constant", vy_lower_text(l, node->name));
    return VY_TYPE_BAD;
}

static uint8_t type_index(vy_lowering *l, vy_ast_node *node) {
    if (l->effect_ban == VY_EFFECT_BAN_CONST && !node->b)
        return type_constant_index(l, node);
    const vy_binding *memory = vy_lower_memory(l, node->name, node->at);
    uint8_t type = memory ? memory->type : VY_TYPE_BAD;
    node->variable = memory ? memory->index : VY_NONE;
    int is_good = check_index(l, node->a);
    if (node->b)
        is_good &= vy_lower_expect(l, node->b, VYRE_TYPE_BOOL, "the condition of a load", NULL);
    return is_good ? type : VY_TYPE_BAD;
}

static uint8_t type_of(vy_lowering *l, vy_ast_node *node, uint8_t hint) {
    switch (node->kind) {
    case VY_AST_NUMBER:
        if (node->number->type == VYRE_TYPE_COUNT)
            return VY_TYPE_UNTYPED;
        node->type = node->number->type;
        assign_literal_type(l, node, node->type);
        return node->type;
    case VY_AST_BITS:
        node->is_literal = 1;
        node->bits = node->value;
        return node->type_name;
    case VY_AST_NAME:
        return type_name(l, node);
    case VY_AST_INDEX:
        return type_index(l, node);
    case VY_AST_ALIGN_OFFSET:
    case VY_AST_LEN: {
        const vy_ast_node *named = node->kind == VY_AST_LEN ? node : node->a;
        node->is_literal = node->kind == VY_AST_LEN && vy_lower_table_length(l, node->name, &node->bits);
        if (node->is_literal)
            return VYRE_TYPE_U32;
        if (l->effect_ban == VY_EFFECT_BAN_CONST && vy_lower_find(l, named->name)) {
            vy_lower_error(l, VY_T047, node->at, NULL, "`len(%s)` is not constant", vy_lower_text(l, named->name));
            return VY_TYPE_BAD;
        }
        const vy_binding *memory = vy_lower_memory(l, named->name, named->at);
        node->variable = memory ? memory->index : VY_NONE;
        return memory ? VYRE_TYPE_U32 : VY_TYPE_BAD;
    }
    case VY_AST_BUILTIN:
        if (l->effect_ban != VY_EFFECT_BAN_CONST)
            return VYRE_TYPE_U32;
        vy_lower_error(l, VY_T047, node->at, NULL, "`%s` is not constant", vyre_builtin_name(node->op));
        return VY_TYPE_BAD;
    case VY_AST_OP:
        return type_op(l, node, hint);
    case VY_AST_CAST:
        return type_cast(l, node);
    case VY_AST_BITCAST:
        return type_bitcast(l, node);
    case VY_AST_BAD:
        return VY_TYPE_BAD;
    default:
        return vy_lower_hoist(l, node, hint);
    }
}

uint8_t vy_lower_type(vy_lowering *l, vy_ast_node *node, uint8_t hint) {
    if (!node) { /* the parser has reported why */
        l->live = 0;
        return VY_TYPE_BAD;
    }
    vy_lower_resolve_callee(l, node);
    node->is_literal = 0;
    node->variable = VY_NONE;
    node->type = VY_TYPE_BAD;
    node->type = type_of(l, node, hint);
    if (node->type == VY_TYPE_BAD)
        l->live = 0;
    return node->type;
}

/* ---- required types ---- */

const char *vy_lower_integer_fix(vy_lowering *l, vy_ast_node *const nodes[3]) {
    for (unsigned i = 0; i < 3; i++)
        if (nodes[i] && has_type(nodes[i]->type) && nodes[i]->kind != VY_AST_NUMBER)
            return vy_lower_conversion(l, nodes[i], VYRE_TYPE_U32);
    return "count with an integer and convert it inside the loop";
}

uint8_t vy_lower_type_value(vy_lowering *l, vy_ast_node *node, uint8_t hint) {
    uint8_t before = l->is_cast_operand;
    l->is_cast_operand = 0;
    uint8_t type = vy_lower_type(l, node, hint);
    l->is_cast_operand = before;
    return type;
}

int vy_lower_expect(vy_lowering *l, vy_ast_node *node, uint8_t type, const char *what, const char *name) {
    (void)vy_lower_type_value(l, node, type);
    return vy_lower_assign(l, node, type, what, name);
}

int vy_lower_assign(vy_lowering *l, vy_ast_node *node, uint8_t type, const char *what, const char *name) {
    uint8_t given = node ? node->type : VY_TYPE_BAD;
    if (given == VY_TYPE_UNTYPED) {
        assign_type(l, node, type);
        return node->type != VY_TYPE_BAD;
    }
    if (given == VY_TYPE_BAD || type == VY_TYPE_BAD)
        return 0;
    if (given == type)
        return 1;
    vy_lower_error(l, VY_T035, node->at, vy_lower_conversion(l, node, type), "expected %s for %s%s%s%s%s, found %s",
                   vyre_type_name(type), what ? what : "", what && name ? " " : "", name ? "`" : "", name ? name : "",
                   name ? "`" : "", vyre_type_name(given));
    return 0;
}

uint8_t vy_lower_require_typed(vy_lowering *l, vy_ast_node *node, uint8_t hint) {
    uint8_t type = vy_lower_type(l, node, hint);
    if (type != VY_TYPE_UNTYPED)
        return type;
    if (has_type(hint)) {
        assign_type(l, node, hint);
        return node->type;
    }
    report_untyped_tree(l, node, NULL, NULL);
    return VY_TYPE_BAD;
}

uint8_t vy_lower_initializer(vy_lowering *l, vy_ast_node *node, const char *keyword, uint32_t name) {
    uint8_t type = vy_lower_type(l, node, VY_TYPE_UNTYPED);
    if (type != VY_TYPE_UNTYPED)
        return type;
    report_untyped_tree(l, node, keyword, vy_lower_text(l, name));
    return VY_TYPE_BAD;
}

/* ---- appending ---- */

/* Operands precede their operator. */
uint32_t vy_lower_append(vy_lowering *l, const vy_ast_node *node) {
    uint32_t a = VY_NONE, b = VY_NONE, c = VY_NONE;
    vy_irb *draft = &l->draft;
    if (!l->live || !node)
        return VY_NONE;
    if (node->kind == VY_AST_CAST && node->axis)
        return vy_lower_append(l, node->a);
    if (node->kind == VY_AST_INDEX || node->kind == VY_AST_OP || node->kind == VY_AST_CAST ||
        node->kind == VY_AST_BITCAST) {
        a = vy_lower_append(l, node->a);
        b = vy_lower_append(l, node->b);
        c = vy_lower_append(l, node->c);
    }
    draft->position = node->at;
    if (node->is_literal)
        return vy_irb_literal(draft, node->type, node->bits);
    switch (node->kind) {
    case VY_AST_INDEX:
        return node->op == VY_BOUNDS_CHECKED ? vy_irb_load(draft, node->variable, a)
                                             : vy_irb_load_unchecked(draft, node->variable, a, b);
    case VY_AST_ALIGN_OFFSET:
        return vy_irb_align_offset(draft, node->variable);
    case VY_AST_LEN:
        return vy_irb_len(draft, node->variable);
    case VY_AST_BUILTIN:
        return vy_irb_builtin(draft, node->op, node->axis);
    case VY_AST_OP:
        return vy_irb_op(draft, node->op, node->type, a, b, c);
    case VY_AST_CAST:
        return vy_irb_op(draft, VYRE_OP_CAST, node->type, a, VY_NONE, VY_NONE);
    case VY_AST_BITCAST:
        return vy_irb_op(draft, VYRE_OP_BITCAST, node->type, a, VY_NONE, VY_NONE);
    default:
        return vy_irb_variable(draft, node->variable); /* a name, or a hoisted effect */
    }
}
