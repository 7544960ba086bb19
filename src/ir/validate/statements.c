/* Statement and expression verifier: types, scopes and control flow, in one pass over the statements of each function.
 *
 * Shadowing is not allowed: a name can be declared again only after the block that declared it has ended. So a name has
 * at most one visible declaration, and a table from names to their last declaration is the whole scope. */
#include "ir/eval.h"
#include "ir/identifiers.h"
#include "ir/model.h"
#include "ir/op_tables.h"
#include "ir/validate/verifier.h"

#include <string.h>

typedef struct body_verifier {
    vy_verifier *verifier;
    const vyre_program *program;
    const vy_function *function;
    uint32_t stmt;               /* the statement being checked */
    uint32_t next_expr;          /* its first expression */
    uint32_t next_variable;      /* variables from here on are not declared yet */
    uint32_t *visible_until;     /* by variable: the end of the block that declares it */
    uint32_t *last_declarations; /* by name: its last declaration (declaration_key) */
} body_verifier;

static vy_position stmt_position(const body_verifier *body) {
    return vy_stmt_position(body->program, body->stmt);
}

static uint8_t expr_type(const body_verifier *body, uint32_t expr) {
    return body->program->exprs.items[expr].type;
}

/* The position of an expression, or of its statement if the expression has none. */
static vy_position expr_position(const body_verifier *body, uint32_t expr) {
    vy_position at = vy_expr_position(body->program, expr);
    return at.line ? at : stmt_position(body);
}

/* ---- expressions ---- */

static const char *type_name(uint8_t type) {
    return vyre_type_name((vyre_type)type);
}

static int is_integer(uint8_t type) {
    return (vyre_type_class((vyre_type)type) & VYRE_CLASS_INTEGER) != 0;
}

static void type_mismatch(body_verifier *body, vy_diag_code code, vy_position at, const char *what, uint8_t given,
                          uint8_t wanted) {
    const char *fix = given == VYRE_TYPE_BOOL || wanted == VYRE_TYPE_BOOL
                          ? VY_FIX("use a value of type %s", type_name(wanted))
                          : VY_FIX("convert it: %s(...)", type_name(wanted));
    vy_verifier_error(body->verifier, code, at, fix, "expected %s for %s, found %s", type_name(wanted), what,
                      type_name(given));
}

static int is_visible(const body_verifier *body, uint32_t variable) {
    return variable < body->next_variable && body->stmt < body->visible_until[variable];
}

static void check_result(body_verifier *body, uint32_t index, uint8_t wanted) {
    uint8_t given = expr_type(body, index);
    if (given != wanted)
        vy_verifier_error(body->verifier, VY_V051, expr_position(body, index), NULL,
                          "wrong type of an expression: expected %s, found %s", type_name(wanted), type_name(given));
}

static void check_variable(body_verifier *body, uint32_t index, const vy_expr *e) {
    const vy_variable *v = &body->program->variables.items[e->a];
    if (!is_visible(body, e->a))
        vy_verifier_error(body->verifier, VY_V052, expr_position(body, index), NULL, "`%s` is used %s",
                          vy_verifier_name(body->verifier, v->name),
                          e->a < body->next_variable ? "outside the block that declares it" : "before it is declared");
    check_result(body, index, v->type);
}

/* Negative literals are out of bounds, too. */
static int literal_is_below(const vy_expr *e, uint64_t bound) {
    unsigned bits = vyre_type_bits((vyre_type)e->type);
    int is_negative = vyre_type_class((vyre_type)e->type) == VYRE_CLASS_SIGNED && (e->bits >> (bits - 1) & 1);
    return !is_negative && e->bits < bound;
}

static void require_level_legal(body_verifier *body, vy_position at, const char *fix, const char *what) {
    if (body->program->level != VYRE_LEVEL_LEGAL)
        vy_verifier_error(body->verifier, VY_V020, at, fix, "%s in a program of level source", what);
}

static void check_index(body_verifier *body, vy_position at, uint32_t memory, uint32_t index, uint8_t guard) {
    const vy_expr *e = &body->program->exprs.items[index];
    const char *name = vy_verifier_name(body->verifier, body->program->memories.items[memory].name);
    if (guard == VY_BOUNDS_UNCHECKED) {
        require_level_legal(body, at,
                            "remove the `!`: an out-of-bounds load returns zero, an out-of-bounds store is ignored",
                            "unchecked access");
        if (e->type != VYRE_TYPE_U32)
            type_mismatch(body, VY_V053, expr_position(body, index), "the index of an unchecked access", e->type,
                          VYRE_TYPE_U32);
        return;
    }
    if (!is_integer(e->type)) {
        vy_verifier_error(body->verifier, VY_V053, expr_position(body, index), NULL,
                          "expected an integer for the index of `%s`, found %s", name, type_name(e->type));
        return;
    }
    uint64_t length = vy_memory_known_length(body->program, memory);
    if (e->kind == VY_EXPR_LITERAL && length && !literal_is_below(e, length))
        vy_verifier_warning(body->verifier, VY_V059, expr_position(body, index), NULL,
                            "constant index of `%s` out of bounds (length %llu)", name, (unsigned long long)length);
}

static void check_load(body_verifier *body, uint32_t index, const vy_expr *e) {
    const vy_memory *m = &body->program->memories.items[e->a];
    if (!vy_access_loads(m->access))
        vy_verifier_error(body->verifier, VY_V054, expr_position(body, index), NULL,
                          "load from `%s`, whose access is `%s`", vy_verifier_name(body->verifier, m->name),
                          vy_access_name(m->access));
    check_index(body, expr_position(body, index), e->a, e->b, e->op);
    if (e->c != VY_NONE && expr_type(body, e->c) != VYRE_TYPE_BOOL)
        type_mismatch(body, VY_V063, expr_position(body, e->c), "the condition of a load", expr_type(body, e->c),
                      VYRE_TYPE_BOOL);
    check_result(body, index, m->type);
}

static void check_builtin(body_verifier *body, uint32_t index, const vy_expr *e) {
    unsigned axes = vy_builtins[e->op].has_axes ? 3 : 1;
    if (e->axis >= axes)
        vy_verifier_error(body->verifier, VY_V057, expr_position(body, index), NULL,
                          "invalid axis %u of `%s`, which has %u", e->axis, vyre_builtin_name((vyre_builtin)e->op),
                          axes);
    check_result(body, index, VYRE_TYPE_U32);
}

static const char *spelling(const vyre_op_info *info) {
    return info->symbol ? info->symbol : info->name;
}

/* Checks that all operands have the same type, except for the condition of a select. */
static int check_same(body_verifier *body, uint32_t index, const vyre_op_info *info, const uint32_t operands[3],
                      unsigned first) {
    uint8_t wanted = expr_type(body, operands[first]);
    for (unsigned i = first + 1; i < 3 && i < info->arity; i++) {
        uint8_t given = expr_type(body, operands[i]);
        if (given == wanted)
            continue;
        vy_verifier_error(body->verifier, VY_V050, expr_position(body, index),
                          VY_FIX("convert one of them: %s(...) or %s(...)", type_name(wanted), type_name(given)),
                          "mismatched types in `%s`: %s and %s", spelling(info), type_name(wanted), type_name(given));
        return 0;
    }
    return 1;
}

/* The result type for these operands; VYRE_TYPE_COUNT if the program states it. */
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

static void check_op(body_verifier *body, uint32_t index, const vy_expr *e) {
    const vyre_op_info *info = vyre_op_get((vyre_op)e->op);
    const uint32_t operands[3] = {e->a, e->b, e->c};
    if (info->level == VYRE_LEVEL_LEGAL)
        require_level_legal(body, expr_position(body, index),
                            e->op == VYRE_OP_APPROX_DIV ? "write `a / b`" : "write `sqrt(a)`",
                            VY_FIX("`%s`", info->name));
    unsigned first = info->rule == VYRE_RULE_SELECT;
    if (first && expr_type(body, e->a) != VYRE_TYPE_BOOL) {
        type_mismatch(body, VY_V063, expr_position(body, e->a), "the condition of a select", expr_type(body, e->a),
                      VYRE_TYPE_BOOL);
        return;
    }
    if (!check_same(body, index, info, operands, first))
        return;
    uint8_t operand = expr_type(body, operands[first]);
    uint8_t wanted = result_type(info, operand);
    if (!vyre_op_accepts((vyre_op)e->op, (vyre_type)operand,
                         (vyre_type)(wanted == VYRE_TYPE_COUNT ? e->type : wanted))) {
        if (wanted == VYRE_TYPE_COUNT)
            vy_verifier_error(body->verifier, VY_V050, expr_position(body, index), NULL, "`%s` cannot convert %s to %s",
                              spelling(info), type_name(operand), type_name(e->type));
        else
            vy_verifier_error(body->verifier, VY_V050, expr_position(body, index), NULL, "`%s` does not support %s",
                              spelling(info), type_name(operand));
    } else if (wanted != VYRE_TYPE_COUNT)
        check_result(body, index, wanted);
}

static void check_literal(body_verifier *body, uint32_t index, const vy_expr *e) {
    if (vy_value_canonicalize((vyre_type)e->type, e->bits) != e->bits)
        vy_verifier_error(body->verifier, VY_V056, expr_position(body, index), NULL,
                          "the bits 0x%llx are not a value of type %s", (unsigned long long)e->bits,
                          type_name(e->type));
}

static void check_expression(body_verifier *body, uint32_t index) {
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
        require_level_legal(body, expr_position(body, index), "remove it: the library manages the alignment of memory",
                            "`misalignment`"); /* fall through */
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

/* ---- memory operations, collectives, calls ---- */

static const char *memory_name(const body_verifier *body, uint32_t memory) {
    return vy_verifier_name(body->verifier, body->program->memories.items[memory].name);
}

static void check_result_type(body_verifier *body, const vy_stmt *s, uint32_t result, uint8_t wanted) {
    const vy_variable *v = &body->program->variables.items[s->variable + result];
    if (v->type != wanted)
        vy_verifier_error(body->verifier, VY_V060, stmt_position(body), NULL,
                          "`%s` has type %s, but the statement returns %s", vy_verifier_name(body->verifier, v->name),
                          type_name(v->type), type_name(wanted));
}

/* ---- stores ---- */

static void check_stores(body_verifier *body, uint32_t memory, const vy_memory *m) {
    const char *name = memory_name(body, memory);
    if (m->space == VY_SPACE_CONSTANT)
        vy_verifier_error(body->verifier, VY_V055, stmt_position(body),
                          VY_FIX("store to a private array or a buffer instead of `%s`", name),
                          "store to `%s`, which is a constant array", name);
    else if (!vy_access_stores(m->access))
        vy_verifier_error(body->verifier, VY_V055, stmt_position(body), NULL, "store to `%s`, whose access is `%s`",
                          name, vy_access_name(m->access));
}

static void check_store(body_verifier *body, const vy_stmt *s) {
    const vy_memory *m = &body->program->memories.items[s->memory];
    check_stores(body, s->memory, m);
    check_index(body, stmt_position(body), s->memory, s->a, s->bounds_check);
    if (expr_type(body, s->b) != m->type)
        type_mismatch(body, VY_V062, expr_position(body, s->b), "the stored value", expr_type(body, s->b), m->type);
}

/* ---- wide accesses ---- */

/* Checks that a wide access covers a power of two of elements and at most 16 bytes. */
static void check_wide(body_verifier *body, const vy_stmt *s, uint32_t count) {
    const vy_memory *m = &body->program->memories.items[s->memory];
    if (body->program->level != VYRE_LEVEL_LEGAL) {
        require_level_legal(body, stmt_position(body),
                            "access the elements one by one; the library combines accesses where possible",
                            "wide access");
        return;
    }
    check_index(body, stmt_position(body), s->memory, s->a, VY_BOUNDS_UNCHECKED);
    if (count < 2 || (count & (count - 1)) != 0 || count * vyre_type_bits((vyre_type)m->type) > 8 * VY_LIMIT_WIDE)
        vy_verifier_error(body->verifier, VY_V024, stmt_position(body), NULL,
                          "invalid wide access of %u elements of type %s", count, type_name(m->type));
}

static void check_load_wide(body_verifier *body, const vy_stmt *s) {
    const vy_memory *m = &body->program->memories.items[s->memory];
    if (!vy_access_loads(m->access))
        vy_verifier_error(body->verifier, VY_V054, stmt_position(body), NULL, "load from `%s`, whose access is `%s`",
                          memory_name(body, s->memory), vy_access_name(m->access));
    check_wide(body, s, s->result_count);
    for (uint32_t i = 0; i < s->result_count; i++)
        check_result_type(body, s, i, m->type);
}

static void check_store_wide(body_verifier *body, const vy_stmt *s) {
    const vy_memory *m = &body->program->memories.items[s->memory];
    check_stores(body, s->memory, m);
    check_wide(body, s, s->arg_count);
    for (uint32_t i = 0; i < s->arg_count; i++) {
        uint32_t value = body->program->args.items[s->args + i].index;
        if (expr_type(body, value) != m->type)
            type_mismatch(body, VY_V062, expr_position(body, value), "the stored value", expr_type(body, value),
                          m->type);
    }
}

static void check_poll(body_verifier *body, const vy_stmt *s) {
    require_level_legal(body, stmt_position(body), "remove it: deadlines and cancellation require no code in a program",
                        "`poll`");
    check_result_type(body, s, 0, VYRE_TYPE_BOOL);
}

/* ---- atomics ---- */

/* Float support and valid memory orders of each atomic. */
typedef struct atomic_rule {
    uint8_t floats;
    uint8_t orders; /* bit set of 1 << vyre_order */
} atomic_rule;

enum { ANY_ORDER = (1 << VYRE_ORDER_COUNT) - 1 };

static const atomic_rule atomic_rules[VYRE_ATOMIC_COUNT] = {
    [VYRE_ATOMIC_LOAD] = {1, 1 << VYRE_ORDER_RELAXED | 1 << VYRE_ORDER_ACQUIRE},
    [VYRE_ATOMIC_STORE] = {1, 1 << VYRE_ORDER_RELAXED | 1 << VYRE_ORDER_RELEASE},
    [VYRE_ATOMIC_ADD] = {1, ANY_ORDER},
    [VYRE_ATOMIC_AND] = {0, ANY_ORDER},
    [VYRE_ATOMIC_OR] = {0, ANY_ORDER},
    [VYRE_ATOMIC_XOR] = {0, ANY_ORDER},
    [VYRE_ATOMIC_MIN] = {1, ANY_ORDER},
    [VYRE_ATOMIC_MAX] = {1, ANY_ORDER},
    [VYRE_ATOMIC_EXCHANGE] = {1, ANY_ORDER},
    [VYRE_ATOMIC_COMPARE_EXCHANGE] = {0, ANY_ORDER},
};

static void check_atomic_element(body_verifier *body, const vy_stmt *s, const vy_memory *m) {
    const char *name = vyre_atomic_name((vyre_atomic)s->op);
    vyre_type type = (vyre_type)m->type;
    unsigned bits = vyre_type_bits(type);
    if (vyre_type_class(type) == VYRE_CLASS_FLOAT && bits >= 32 && atomic_rules[s->op].floats) {
        /* Numerics is a property of the program, so a function of a library is checked in each program that calls
         * it. */
        if (body->program->numerics == VYRE_NUMERICS_STRICT && body->program->kind == VYRE_PROGRAM_ENTRY)
            vy_verifier_error(body->verifier, VY_V073, stmt_position(body), NULL,
                              "`%s` on %s elements under strict numerics", name, type_name(m->type));
    } else if (!(vyre_type_class(type) & VYRE_CLASS_INTEGER) || bits < 32)
        vy_verifier_error(body->verifier, VY_V072, stmt_position(body), NULL, "`%s` does not support %s elements", name,
                          type_name(m->type));
}

static void check_atomic(body_verifier *body, const vy_stmt *s) {
    const vy_memory *m = &body->program->memories.items[s->memory];
    const char *name = vyre_atomic_name((vyre_atomic)s->op);
    vy_position at = stmt_position(body);
    check_index(body, stmt_position(body), s->memory, s->a, s->bounds_check);
    if (m->space == VY_SPACE_CONSTANT)
        vy_verifier_error(
            body->verifier, VY_V071, at,
            VY_FIX("use a read_write buffer or a workgroup array instead of `%s`", memory_name(body, s->memory)),
            "`%s` on `%s`, which is a constant array", name, memory_name(body, s->memory));
    else if (m->space == VY_SPACE_PRIVATE || m->access != VYRE_ACCESS_READ_WRITE)
        vy_verifier_error(body->verifier, VY_V071, at, NULL, "`%s` on `%s`, which is a %s%s%s", name,
                          memory_name(body, s->memory), vy_space_name(m->space),
                          m->space == VY_SPACE_BUFFER ? " with access " : "",
                          m->space == VY_SPACE_BUFFER ? vy_access_name(m->access) : "");
    check_atomic_element(body, s, m);
    if (!(atomic_rules[s->op].orders >> s->order & 1))
        vy_verifier_error(body->verifier, VY_V074, at, NULL, "`%s` does not support the order `%s`", name,
                          vyre_order_name((vyre_order)s->order));
    const uint32_t operands[2] = {s->b, s->c};
    for (int i = 0; i < 2; i++)
        if (operands[i] != VY_NONE && expr_type(body, operands[i]) != m->type)
            type_mismatch(body, VY_V075, expr_position(body, operands[i]), "the operand of an atomic",
                          expr_type(body, operands[i]), m->type);
    if (s->result_count && !vy_atomics[s->op].gives)
        vy_verifier_error(body->verifier, VY_V076, at, NULL, "`%s` returns no value, but a variable is bound to it",
                          name);
    else if (s->result_count)
        check_result_type(body, s, 0, m->type);
}

/* ---- collectives ---- */

/* Operand and result types of a collective. */
typedef enum value_rule {
    TAKES_NUMBER, /* T → T, combined */
    TAKES_BOOL,   /* bool → bool */
    TAKES_BALLOT, /* bool → u64 */
    TAKES_ANY     /* T, u32 → T */
} value_rule;

static value_rule rule_of(uint8_t collective) {
    const vy_collective_row *row = &vy_collectives[collective];
    if (collective == VYRE_COLLECTIVE_BALLOT)
        return TAKES_BALLOT;
    return row->combines ? TAKES_NUMBER : row->operands == 2 ? TAKES_ANY : TAKES_BOOL;
}

static int may_combine(uint8_t op) {
    return memchr(vy_combine_ops, op, sizeof vy_combine_ops) != NULL;
}

static void collective_name(const vy_stmt *s, char text[VY_KEYWORD_CAPACITY]) {
    if (!vy_collectives[s->op].combines || may_combine(s->combine))
        vy_keyword_collective((vyre_collective)s->op, (vyre_op)s->combine, s->width != 0, text);
    else
        vy_fix_format(text, VY_KEYWORD_CAPACITY, "%s_%s", s->width ? "subgroup" : "workgroup",
                      vyre_collective_name((vyre_collective)s->op));
}

static void check_width(body_verifier *body, const vy_stmt *s, const char *name) {
    int is_power = s->width >= 2 && s->width <= 64 && (s->width & (s->width - 1)) == 0;
    if (s->width && !is_power)
        vy_verifier_error(body->verifier, VY_V081, stmt_position(body), NULL, "invalid subgroup width of `%s`: %u",
                          name, s->width);
    else if (!vy_collectives[s->op].over[s->width != 0])
        vy_verifier_error(body->verifier, VY_V082, stmt_position(body), NULL, "unknown collective `%s`", name);
}

/* Hardware shuffles move 32 bits. */
static void check_native(body_verifier *body, const vy_stmt *s, const char *name) {
    uint8_t type = expr_type(body, s->a);
    require_level_legal(body, stmt_position(body), "write `subgroup_shuffle<W>(v, lane)`", VY_FIX("`%s`", name));
    if (vyre_type_bits((vyre_type)type) != 32)
        vy_verifier_error(body->verifier, VY_V080, stmt_position(body), NULL, "`%s` does not support values of type %s",
                          name, type_name(type));
}

static void check_collective(body_verifier *body, const vy_stmt *s) {
    char name[VY_KEYWORD_CAPACITY];
    collective_name(s, name);
    value_rule rule = rule_of(s->op);
    uint8_t type = expr_type(body, s->a);
    check_width(body, s, name);
    if (vy_collectives[s->op].level == VYRE_LEVEL_LEGAL)
        check_native(body, s, name);
    if (rule == TAKES_NUMBER &&
        (!may_combine(s->combine) || !vyre_op_accepts((vyre_op)s->combine, (vyre_type)type, (vyre_type)type)))
        vy_verifier_error(body->verifier, VY_V080, stmt_position(body), NULL, "`%s` cannot combine values of type %s%s",
                          name, type_name(type), may_combine(s->combine) ? "" : " with this op");
    else if ((rule == TAKES_BOOL || rule == TAKES_BALLOT) && type != VYRE_TYPE_BOOL)
        vy_verifier_error(body->verifier, VY_V083, stmt_position(body), NULL,
                          "expected bool for the value of `%s`, found %s", name, type_name(type));
    else if (rule == TAKES_ANY && expr_type(body, s->b) != VYRE_TYPE_U32)
        type_mismatch(body, VY_V084, expr_position(body, s->b), "the lane of a collective", expr_type(body, s->b),
                      VYRE_TYPE_U32);
    check_result_type(body, s, 0, rule == TAKES_BALLOT ? VYRE_TYPE_U64 : type);
}

/* ---- calls ---- */

static const char *function_name(const body_verifier *body, uint32_t function) {
    return vy_verifier_name(body->verifier, body->program->functions.items[function].name);
}

static void check_memory_argument(body_verifier *body, const vy_stmt *s, const vy_memory *given,
                                  const vy_memory *wanted) {
    const char *name = vy_verifier_name(body->verifier, given->name);
    int is_table = given->space == VY_SPACE_CONSTANT && wanted->space == VY_SPACE_BUFFER; /* read like a buffer */
    if (given->space != wanted->space && !is_table)
        vy_verifier_error(body->verifier, VY_V093, stmt_position(body), NULL, "`%s` is a %s, but `%s` of `%s` is a %s",
                          name, vy_space_name(given->space), vy_verifier_name(body->verifier, wanted->name),
                          function_name(body, s->callee), vy_space_name(wanted->space));
    else if (given->type != wanted->type)
        vy_verifier_error(body->verifier, VY_V093, stmt_position(body), NULL,
                          "`%s` holds %s, but `%s` of `%s` holds %s", name, type_name(given->type),
                          vy_verifier_name(body->verifier, wanted->name), function_name(body, s->callee),
                          type_name(wanted->type));
    else if ((vy_access_loads(wanted->access) && !vy_access_loads(given->access)) ||
             (vy_access_stores(wanted->access) && !vy_access_stores(given->access)))
        vy_verifier_error(body->verifier, VY_V093, stmt_position(body), NULL,
                          "`%s` has access `%s`, but `%s` of `%s` needs `%s`", name, vy_access_name(given->access),
                          vy_verifier_name(body->verifier, wanted->name), function_name(body, s->callee),
                          vy_access_name(wanted->access));
}

static void check_argument(body_verifier *body, const vy_stmt *s, uint32_t i, const vy_param *param) {
    const vyre_program *p = body->program;
    const vy_arg *arg = &p->args.items[s->args + i];
    if (arg->is_memory != param->is_memory) {
        vy_verifier_error(body->verifier, VY_V092, stmt_position(body), NULL,
                          "argument %u of `%s` is a %s, but the parameter is a %s", i + 1,
                          function_name(body, s->callee), arg->is_memory ? "memory" : "value",
                          param->is_memory ? "memory" : "value");
    } else if (arg->is_memory) {
        check_memory_argument(body, s, &p->memories.items[arg->index], &p->memories.items[param->index]);
    } else {
        uint8_t wanted = p->variables.items[param->index].type;
        if (expr_type(body, arg->index) != wanted)
            type_mismatch(
                body, VY_V092, expr_position(body, arg->index),
                vy_fix_format((char[256]){0}, 256, "argument %u of `%s`", i + 1, function_name(body, s->callee)),
                expr_type(body, arg->index), wanted);
    }
}

static void check_local_call(body_verifier *body, const vy_stmt *s) {
    const vyre_program *p = body->program;
    const vy_function *f = &p->functions.items[s->callee];
    if (s->arg_count != f->param_count)
        vy_verifier_error(body->verifier, VY_V091, stmt_position(body), NULL, "`%s` requires %u argument%s (%u given)",
                          function_name(body, s->callee), f->param_count, f->param_count == 1 ? "" : "s", s->arg_count);
    for (uint32_t i = 0; i < s->arg_count && i < f->param_count; i++)
        check_argument(body, s, i, &p->params.items[f->first_param + i]);
    if (s->result_count == 0)
        return;
    if (s->result_count != f->result_count) {
        vy_verifier_error(body->verifier, VY_V097, stmt_position(body), NULL,
                          "`%s` returns %u result%s, but %u variables are bound", function_name(body, s->callee),
                          f->result_count, f->result_count == 1 ? "" : "s", s->result_count);
        return;
    }
    for (uint32_t i = 0; i < s->result_count; i++)
        check_result_type(body, s, i, p->results.items[f->first_result + i].type);
}

static void check_op_call(body_verifier *body, const vy_stmt *s) {
    const char *name = vy_verifier_name(body->verifier, s->name);
    size_t length = strlen(name);
    if (length > VY_LIMIT_NAME)
        vy_verifier_error(body->verifier, VY_V030, stmt_position(body), NULL, "op id too long (%zu bytes, limit %d)",
                          length, VY_LIMIT_NAME);
    else if (!vy_text_is_op_call(name))
        vy_verifier_error(body->verifier, VY_V090, stmt_position(body), NULL, "`%s` is not an op id", name);
    else if (s->arg_count > VY_LIMIT_PARAMS)
        vy_verifier_error(body->verifier, VY_V091, stmt_position(body), NULL,
                          "too many arguments of `%s` (%u, limit %d)", name, s->arg_count, VY_LIMIT_PARAMS);
}

static void check_call(body_verifier *body, const vy_stmt *s) {
    if (s->callee != VY_NONE)
        check_local_call(body, s);
    else
        check_op_call(body, s);
}

/* ---- scopes ---- */

typedef struct block {
    uint32_t stmt, end;
    uint32_t loops; /* number of open loops, including this block */
} block;

typedef struct walk {
    body_verifier body;
    block open[VY_LIMIT_NESTING + 1]; /* open[0] is the body of the function */
    uint32_t depth;
} walk;

/* ---- names ---- */

/* A declaration is 2 * (index + 1), plus 1 for a memory. */
static uint32_t declaration_key(uint32_t index, int is_memory) {
    return 2 * (index + 1) + (uint32_t)is_memory;
}

static int declaration_is_visible(const body_verifier *b, uint32_t declaration) {
    uint32_t index = declaration / 2 - 1;
    if (declaration == 0)
        return 0;
    if (declaration % 2)
        return index >= b->function->first_memory;
    return index >= b->function->first_variable && b->stmt < b->visible_until[index];
}

static vy_position declaration_position(const body_verifier *b, uint32_t declaration) {
    uint32_t index = declaration / 2 - 1;
    return declaration % 2 ? b->program->memories.items[index].position : b->program->variables.items[index].position;
}

static void declare(body_verifier *b, vy_symbol name, vy_position at, uint32_t declaration) {
    uint32_t *slot = &b->last_declarations[name];
    const char *text = vy_verifier_name(b->verifier, name);
    size_t length = *slot ? 0 : strlen(text); /* a name that was declared before has been checked */
    if (length > VY_LIMIT_NAME) {
        vy_verifier_error(b->verifier, VY_V030, at, NULL, "name too long (%zu bytes, limit %d)", length, VY_LIMIT_NAME);
        return;
    }
    if (!*slot && !vy_text_is_name(text, length)) {
        vy_verifier_error(b->verifier, VY_V010, at, NULL, "invalid name `%s`", text);
        return;
    }
    if (declaration_is_visible(b, *slot)) {
        vy_position earlier = declaration_position(b, *slot);
        if (earlier.line)
            vy_verifier_error(b->verifier, VY_V011, at, NULL, "duplicate name `%s` (first declared in line %u)", text,
                              earlier.line);
        else
            vy_verifier_error(b->verifier, VY_V011, at, NULL, "duplicate name `%s`", text);
    }
    *slot = declaration;
}

static void declare_variable(body_verifier *b, uint32_t variable, uint32_t until) {
    const vy_variable *v = &b->program->variables.items[variable];
    declare(b, v->name, v->position.line ? v->position : stmt_position(b), declaration_key(variable, 0));
    b->visible_until[variable] = until;
    b->next_variable = variable + 1;
}

/* ---- statements that only compute ---- */

static void check_value(body_verifier *b, const vy_stmt *s) {
    const vy_variable *v = &b->program->variables.items[s->variable];
    if (expr_type(b, s->a) != v->type)
        type_mismatch(b, VY_V060, expr_position(b, s->a), "the value", expr_type(b, s->a), v->type);
}

static void check_assign(body_verifier *b, const vy_stmt *s) {
    const vy_variable *v = &b->program->variables.items[s->variable];
    const char *name = vy_verifier_name(b->verifier, v->name);
    if (!is_visible(b, s->variable))
        vy_verifier_error(b->verifier, VY_V052, stmt_position(b), NULL, "`%s` is assigned %s", name,
                          s->variable < b->next_variable ? "outside the block that declares it"
                                                         : "before it is declared");
    else if (!v->is_mutable)
        vy_verifier_error(b->verifier, VY_V061, stmt_position(b), VY_FIX("declare it with `var %s = ...`", name),
                          "assignment to `%s`, which is immutable", name);
    check_value(b, s);
}

static void check_condition(body_verifier *b, const vy_stmt *s) {
    if (expr_type(b, s->a) != VYRE_TYPE_BOOL)
        type_mismatch(b, VY_V063, expr_position(b, s->a), "the condition", expr_type(b, s->a), VYRE_TYPE_BOOL);
}

static void check_for(body_verifier *b, const vy_stmt *s) {
    uint8_t wanted = b->program->variables.items[s->variable].type;
    if (!(vyre_type_class((vyre_type)wanted) & VYRE_CLASS_INTEGER))
        vy_verifier_error(b->verifier, VY_V064, stmt_position(b), NULL,
                          "expected an integer type for the loop variable `%s`, found %s",
                          vy_verifier_name(b->verifier, b->program->variables.items[s->variable].name),
                          vyre_type_name((vyre_type)wanted));
    const uint32_t operands[3] = {s->a, s->b, s->c};
    static const char *const names[3] = {"the start of the range", "the end of the range", "the step"};
    for (int i = 0; i < 3; i++)
        if (operands[i] != VY_NONE && expr_type(b, operands[i]) != wanted)
            type_mismatch(b, VY_V064, expr_position(b, operands[i]), names[i], expr_type(b, operands[i]), wanted);
}

static void check_trap(body_verifier *b, const vy_stmt *s) {
    if (expr_type(b, s->a) != VYRE_TYPE_U32)
        type_mismatch(b, VY_V069, expr_position(b, s->a), "the trap code", expr_type(b, s->a), VYRE_TYPE_U32);
}

static void check_report(body_verifier *b, const vy_stmt *s) {
    require_level_legal(b, stmt_position(b), "write `trap` with that code", "`report`");
    check_trap(b, s);
}

static void check_print(body_verifier *b, const vy_stmt *s) {
    const char *format = vy_verifier_name(b->verifier, s->name);
    size_t length = strlen(format);
    if (length > VY_LIMIT_STRING) {
        vy_verifier_error(b->verifier, VY_V031, stmt_position(b), NULL, "print format too long (%zu bytes, limit %d)",
                          length, VY_LIMIT_STRING);
        return;
    }
    if (vy_utf8_valid(format, length) != length)
        vy_verifier_error(b->verifier, VY_V077, stmt_position(b), NULL, "invalid UTF-8 in a print format (at byte %zu)",
                          vy_utf8_valid(format, length));
    uint32_t places = 0;
    for (const char *at = format; (at = strstr(at, "{}")) != NULL; at += 2)
        places++;
    if (places != s->arg_count)
        vy_verifier_error(b->verifier, VY_V070, stmt_position(b), NULL, "the format has %u {}, but %u values are given",
                          places, s->arg_count);
}

static void check_return(body_verifier *b, const vy_stmt *s) {
    const vyre_program *p = b->program;
    const vy_function *f = b->function;
    if (s->arg_count != f->result_count) {
        vy_verifier_error(b->verifier, VY_V066, stmt_position(b), NULL, "%u value%s returned, but %u %s declared",
                          s->arg_count, s->arg_count == 1 ? " is" : "s are", f->result_count,
                          f->result_count == 1 ? "is" : "are");
        return;
    }
    for (uint32_t i = 0; i < s->arg_count; i++) {
        uint32_t value = p->args.items[s->args + i].index;
        uint8_t wanted = p->results.items[f->first_result + i].type;
        if (expr_type(b, value) != wanted)
            type_mismatch(b, VY_V066, expr_position(b, value), "the returned value", expr_type(b, value), wanted);
    }
}

static void check_region(body_verifier *b, const vy_stmt *s) {
    const char *name = vy_verifier_name(b->verifier, s->name);
    size_t length = strlen(name);
    if (length > VY_LIMIT_NAME)
        vy_verifier_error(b->verifier, VY_V030, stmt_position(b), NULL,
                          "name of a region too long (%zu bytes, limit %d)", length, VY_LIMIT_NAME);
    else if (!vy_text_is_identifier(name, length) && !vy_text_is_op_id(name, length))
        vy_verifier_error(b->verifier, VY_V010, stmt_position(b), NULL, "invalid name of a region: `%s`", name);
}

static void (*const checks[VY_STMT_KIND_COUNT])(body_verifier *, const vy_stmt *) = {
    [VY_STMT_LET] = check_value,
    [VY_STMT_VAR] = check_value,
    [VY_STMT_ASSIGN] = check_assign,
    [VY_STMT_STORE] = check_store,
    [VY_STMT_ATOMIC] = check_atomic,
    [VY_STMT_COLLECTIVE] = check_collective,
    [VY_STMT_CALL] = check_call,
    [VY_STMT_TRAP] = check_trap,
    [VY_STMT_PRINT] = check_print,
    [VY_STMT_IF] = check_condition,
    [VY_STMT_FOR] = check_for,
    [VY_STMT_WHILE] = check_condition,
    [VY_STMT_RETURN] = check_return,
    [VY_STMT_REGION] = check_region,
    [VY_STMT_LOAD_WIDE] = check_load_wide,
    [VY_STMT_STORE_WIDE] = check_store_wide,
    [VY_STMT_RECORD_TRAP] = check_report,
    [VY_STMT_POLL] = check_poll,
};

/* ---- control ---- */

/* Whether a loop can end: only `while true` without a break cannot. */
static int loop_ends(const vyre_program *p, uint32_t loop) {
    const vy_stmt *s = &p->stmts.items[loop];
    const vy_expr *condition = s->kind == VY_STMT_WHILE ? &p->exprs.items[s->a] : NULL;
    if (!condition || condition->kind != VY_EXPR_LITERAL || condition->bits != 1)
        return 1;
    for (uint32_t i = loop + 1; i < s->end;) {
        const vy_stmt *inner = &p->stmts.items[i];
        if (inner->kind == VY_STMT_BREAK)
            return 1;
        i = vy_stmt_is_loop(inner->kind) ? inner->end : i + 1;
    }
    return 0;
}

/* Whether control can reach the end of the block [first, end). The recursion is bounded by VY_LIMIT_NESTING. */
static int falls_through(const vyre_program *p, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i = p->stmts.items[i].end) {
        const vy_stmt *s = &p->stmts.items[i];
        int passes = 1;
        switch (s->kind) {
        case VY_STMT_BREAK:
        case VY_STMT_CONTINUE:
        case VY_STMT_RETURN:
        case VY_STMT_TRAP:
            passes = 0;
            break;
        case VY_STMT_IF:
            passes = s->middle == s->end || falls_through(p, i + 1, s->middle) || falls_through(p, s->middle, s->end);
            break;
        case VY_STMT_REGION:
            passes = falls_through(p, i + 1, s->end);
            break;
        case VY_STMT_FOR:
        case VY_STMT_WHILE:
            passes = loop_ends(p, i);
            break;
        default:
            break;
        }
        if (!passes)
            return 0;
    }
    return 1;
}

static void check_jump(walk *w, const vy_stmt *s, uint32_t block_end) {
    body_verifier *b = &w->body;
    static const char *const names[] = {
        [VY_STMT_BREAK] = "break", [VY_STMT_CONTINUE] = "continue", [VY_STMT_RETURN] = "return"};
    if (!vy_stmt_is_jump(s->kind))
        return;
    if (s->kind != VY_STMT_RETURN && w->open[w->depth].loops == 0)
        vy_verifier_error(b->verifier, VY_V065, stmt_position(b), NULL, "`%s` outside a loop", names[s->kind]);
    if (b->stmt + 1 < block_end)
        vy_verifier_error(b->verifier, VY_V068, vy_stmt_position(b->program, b->stmt + 1), NULL,
                          "unreachable statement after `%s`", names[s->kind]);
}

/* ---- the walk ---- */

static void check_statement(walk *w, uint32_t index) {
    body_verifier *b = &w->body;
    const vy_stmt *s = &b->program->stmts.items[index];
    while (w->depth && w->open[w->depth].end == index)
        w->depth--;
    uint32_t block_end = vy_block_end(b->program, b->function, w->open[w->depth].stmt, index);
    b->stmt = index;
    uint32_t end = vy_stmt_exprs_end(b->program, s, b->next_expr);
    for (; b->next_expr < end; b->next_expr++)
        check_expression(b, b->next_expr);
    if (checks[s->kind])
        checks[s->kind](b, s);
    check_jump(w, s, block_end);
    for (uint32_t i = 0; i < s->result_count; i++)
        declare_variable(b, s->variable + i, s->kind == VY_STMT_FOR ? s->end : block_end);
    if (vy_stmt_is_structured(s->kind)) {
        uint32_t loops = w->open[w->depth].loops + (uint32_t)vy_stmt_is_loop(s->kind);
        w->open[++w->depth] = (block){index, s->end, loops};
    }
}

static void check_function(walk *w, const vy_function *f) {
    body_verifier *b = &w->body;
    const vyre_program *p = b->program;
    int is_entry = vy_is_entry(p, f);
    uint32_t params = is_entry ? p->param_count : 0;
    for (uint32_t i = 0; i < f->param_count; i++)
        params += !p->params.items[f->first_param + i].is_memory;
    b->function = f;
    b->stmt = f->first_stmt;
    for (uint32_t i = f->first_memory; i < f->first_memory + f->memory_count; i++)
        declare(b, p->memories.items[i].name, p->memories.items[i].position, declaration_key(i, 1));
    b->next_variable = f->first_variable;
    for (uint32_t i = f->first_variable; i < f->first_variable + params; i++)
        declare_variable(b, i, UINT32_MAX);
    w->depth = 0;
    w->open[0] = (block){VY_NONE, f->end_stmt, 0};
    for (uint32_t i = f->first_stmt; i < f->end_stmt; i++)
        check_statement(w, i);
    if (f->result_count && falls_through(p, f->first_stmt, f->end_stmt))
        vy_verifier_error(b->verifier, VY_V067, f->position, NULL,
                          "missing return at the end of `%s`, which has results",
                          vy_verifier_name(b->verifier, f->name));
}

void vy_verify_bodies(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    walk w = {.body = {.verifier = verifier, .program = p}};
    w.body.visible_until = vy_verifier_scratch(verifier, p->variables.count, sizeof *w.body.visible_until);
    w.body.last_declarations = vy_verifier_scratch(verifier, p->names.size, sizeof *w.body.last_declarations);
    verifier->first_expr = vy_verifier_scratch(verifier, p->functions.count, sizeof *verifier->first_expr);
    if (verifier->out_of_memory)
        return;
    for (uint32_t i = 0; i < p->functions.count; i++) {
        verifier->first_expr[i] = w.body.next_expr;
        check_function(&w, &p->functions.items[i]);
    }
}
