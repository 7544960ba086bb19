/* Statements with an effect beyond variables: stores, atomics, collectives, calls. */
#include "ir/attributes.h"
#include "ir/identifiers.h"
#include "ir/op_tables.h"
#include "ir/validate/statements.h"

#include <string.h>

static const char *type_name(uint8_t type) {
    return vyre_type_name((vyre_type)type);
}

static const char *memory_name(const vy_body_verifier *body, uint32_t memory) {
    return vy_verifier_name(body->verifier, body->program->memories.items[memory].name);
}

static void check_result_type(vy_body_verifier *body, const vy_stmt *s, uint32_t result, uint8_t wanted) {
    const vy_variable *v = &body->program->variables.items[s->variable + result];
    if (v->type != wanted)
        vy_verifier_error(body->verifier, VY_V060, vy_body_position(body), NULL,
                          "`%s` is of type %s, but the statement gives %s", vy_verifier_name(body->verifier, v->name),
                          type_name(v->type), type_name(wanted));
}

/* ---- stores ---- */

void vy_verify_store(vy_body_verifier *body, const vy_stmt *s) {
    const vy_memory *m = &body->program->memories.items[s->memory];
    if (!vy_access_stores(m->access))
        vy_verifier_error(body->verifier, VY_V055, vy_body_position(body), NULL,
                          "`%s` is stored to, but its access is `%s`", memory_name(body, s->memory),
                          vy_access_name(m->access));
    vy_verify_index(body, vy_body_position(body), s->memory, s->a, s->bounds_check);
    if (vy_body_expr_type(body, s->b) != m->type)
        vy_body_type_mismatch(body, VY_V062, vy_body_expr_position(body, s->b), "the stored value",
                              vy_body_expr_type(body, s->b), m->type);
}

/* ---- wide accesses ---- */

/* Whether `count` elements of a memory can be accessed at once: a power of two of them, in at most 16 bytes. */
static void check_wide(vy_body_verifier *body, const vy_stmt *s, uint32_t count) {
    const vy_memory *m = &body->program->memories.items[s->memory];
    if (body->program->level != VYRE_LEVEL_LEGAL) {
        vy_verify_level(body, vy_body_position(body), "access the elements one by one: the library widens what it can",
                        "a wide access");
        return;
    }
    vy_verify_index(body, vy_body_position(body), s->memory, s->a, VY_BOUNDS_UNCHECKED);
    if (count < 2 || (count & (count - 1)) != 0 || count * vyre_type_bits((vyre_type)m->type) > 8 * VY_LIMIT_WIDE)
        vy_verifier_error(body->verifier, VY_V024, vy_body_position(body), NULL,
                          "%u elements of type %s are accessed at once", count, type_name(m->type));
}

void vy_verify_load_wide(vy_body_verifier *body, const vy_stmt *s) {
    const vy_memory *m = &body->program->memories.items[s->memory];
    if (!vy_access_loads(m->access))
        vy_verifier_error(body->verifier, VY_V054, vy_body_position(body), NULL,
                          "`%s` is loaded, but its access is `%s`", memory_name(body, s->memory),
                          vy_access_name(m->access));
    check_wide(body, s, s->result_count);
    for (uint32_t i = 0; i < s->result_count; i++)
        check_result_type(body, s, i, m->type);
}

void vy_verify_store_wide(vy_body_verifier *body, const vy_stmt *s) {
    const vy_memory *m = &body->program->memories.items[s->memory];
    if (!vy_access_stores(m->access))
        vy_verifier_error(body->verifier, VY_V055, vy_body_position(body), NULL,
                          "`%s` is stored to, but its access is `%s`", memory_name(body, s->memory),
                          vy_access_name(m->access));
    check_wide(body, s, s->arg_count);
    for (uint32_t i = 0; i < s->arg_count; i++) {
        uint32_t value = body->program->args.items[s->args + i].index;
        if (vy_body_expr_type(body, value) != m->type)
            vy_body_type_mismatch(body, VY_V062, vy_body_expr_position(body, value), "the stored value",
                                  vy_body_expr_type(body, value), m->type);
    }
}

void vy_verify_poll(vy_body_verifier *body, const vy_stmt *s) {
    vy_verify_level(body, vy_body_position(body), "leave it out: deadlines and cancelling ask nothing of a program",
                    "`poll`");
    check_result_type(body, s, 0, VYRE_TYPE_BOOL);
}

/* ---- atomics ---- */

/* Which atomics exist for floats, and which orders an atomic may have. */
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

static void check_atomic_element(vy_body_verifier *body, const vy_stmt *s, const vy_memory *m) {
    const char *name = vyre_atomic_name((vyre_atomic)s->op);
    vyre_type type = (vyre_type)m->type;
    unsigned bits = vyre_type_bits(type);
    if (vyre_type_class(type) == VYRE_CLASS_FLOAT && bits >= 32 && atomic_rules[s->op].floats) {
        /* Numerics belong to the program: a function of a library is judged in each program that calls it. */
        if (body->program->numerics == VYRE_NUMERICS_STRICT && body->program->kind == VYRE_PROGRAM_ENTRY)
            vy_verifier_error(body->verifier, VY_V073, vy_body_position(body), NULL,
                              "`%s` works on %s elements under strict numerics", name, type_name(m->type));
    } else if (!(vyre_type_class(type) & VYRE_CLASS_INTEGER) || bits < 32)
        vy_verifier_error(body->verifier, VY_V072, vy_body_position(body), NULL, "`%s` does not work on %s elements",
                          name, type_name(m->type));
}

void vy_verify_atomic(vy_body_verifier *body, const vy_stmt *s) {
    const vy_memory *m = &body->program->memories.items[s->memory];
    const char *name = vyre_atomic_name((vyre_atomic)s->op);
    vy_position at = vy_body_position(body);
    vy_verify_index(body, vy_body_position(body), s->memory, s->a, s->bounds_check);
    if (m->space == VY_SPACE_PRIVATE || m->access != VYRE_ACCESS_READ_WRITE)
        vy_verifier_error(body->verifier, VY_V071, at, NULL, "`%s` works on `%s`, which is a %s%s%s", name,
                          memory_name(body, s->memory), vy_space_name(m->space),
                          m->space == VY_SPACE_BUFFER ? " with access " : "",
                          m->space == VY_SPACE_BUFFER ? vy_access_name(m->access) : "");
    check_atomic_element(body, s, m);
    if (!(atomic_rules[s->op].orders >> s->order & 1))
        vy_verifier_error(body->verifier, VY_V074, at, NULL, "`%s` cannot have the order `%s`", name,
                          vyre_order_name((vyre_order)s->order));
    const uint32_t operands[2] = {s->b, s->c};
    for (int i = 0; i < 2; i++)
        if (operands[i] != VY_NONE && vy_body_expr_type(body, operands[i]) != m->type)
            vy_body_type_mismatch(body, VY_V075, vy_body_expr_position(body, operands[i]), "the operand of an atomic",
                                  vy_body_expr_type(body, operands[i]), m->type);
    if (s->result_count && !vy_atomics[s->op].gives)
        vy_verifier_error(body->verifier, VY_V076, at, NULL, "`%s` gives no value, but a variable takes it", name);
    else if (s->result_count)
        check_result_type(body, s, 0, m->type);
}

/* ---- collectives ---- */

/* What a collective takes and gives. */
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

static void check_width(vy_body_verifier *body, const vy_stmt *s, const char *name) {
    int is_power = s->width >= 2 && s->width <= 64 && (s->width & (s->width - 1)) == 0;
    if (s->width && !is_power)
        vy_verifier_error(body->verifier, VY_V081, vy_body_position(body), NULL, "the subgroup width of `%s` is %u",
                          name, s->width);
    else if (!vy_collectives[s->op].over[s->width != 0])
        vy_verifier_error(body->verifier, VY_V082, vy_body_position(body), NULL, "`%s` does not exist", name);
}

/* Hardware moves 32 bits. */
static void check_native(vy_body_verifier *body, const vy_stmt *s, const char *name) {
    uint8_t type = vy_body_expr_type(body, s->a);
    vy_verify_level(body, vy_body_position(body), "write `subgroup_shuffle<W>(v, lane)`", VY_FIX("`%s`", name));
    if (vyre_type_bits((vyre_type)type) != 32)
        vy_verifier_error(body->verifier, VY_V080, vy_body_position(body), NULL, "`%s` does not move values of type %s",
                          name, type_name(type));
}

void vy_verify_collective(vy_body_verifier *body, const vy_stmt *s) {
    char name[VY_KEYWORD_CAPACITY];
    collective_name(s, name);
    value_rule rule = rule_of(s->op);
    uint8_t type = vy_body_expr_type(body, s->a);
    check_width(body, s, name);
    if (vy_collectives[s->op].level == VYRE_LEVEL_LEGAL)
        check_native(body, s, name);
    if (rule == TAKES_NUMBER &&
        (!may_combine(s->combine) || !vyre_op_accepts((vyre_op)s->combine, (vyre_type)type, (vyre_type)type)))
        vy_verifier_error(body->verifier, VY_V080, vy_body_position(body), NULL,
                          "`%s` does not combine values of type %s%s", name, type_name(type),
                          may_combine(s->combine) ? "" : " with such an op");
    else if ((rule == TAKES_BOOL || rule == TAKES_BALLOT) && type != VYRE_TYPE_BOOL)
        vy_verifier_error(body->verifier, VY_V083, vy_body_position(body), NULL,
                          "`%s` takes a bool, but the value is of type %s", name, type_name(type));
    else if (rule == TAKES_ANY && vy_body_expr_type(body, s->b) != VYRE_TYPE_U32)
        vy_body_type_mismatch(body, VY_V084, vy_body_expr_position(body, s->b), "the lane of a collective",
                              vy_body_expr_type(body, s->b), VYRE_TYPE_U32);
    check_result_type(body, s, 0, rule == TAKES_BALLOT ? VYRE_TYPE_U64 : type);
}

/* ---- calls ---- */

static const char *function_name(const vy_body_verifier *body, uint32_t function) {
    return vy_verifier_name(body->verifier, body->program->functions.items[function].name);
}

static void check_memory_argument(vy_body_verifier *body, const vy_stmt *s, const vy_memory *given,
                                  const vy_memory *wanted) {
    const char *name = vy_verifier_name(body->verifier, given->name);
    if (given->space != wanted->space)
        vy_verifier_error(body->verifier, VY_V093, vy_body_position(body), NULL,
                          "`%s` is a %s, but `%s` of `%s` is a %s", name, vy_space_name(given->space),
                          vy_verifier_name(body->verifier, wanted->name), function_name(body, s->callee),
                          vy_space_name(wanted->space));
    else if (given->type != wanted->type)
        vy_verifier_error(body->verifier, VY_V093, vy_body_position(body), NULL,
                          "`%s` holds %s, but `%s` of `%s` holds %s", name, type_name(given->type),
                          vy_verifier_name(body->verifier, wanted->name), function_name(body, s->callee),
                          type_name(wanted->type));
    else if ((vy_access_loads(wanted->access) && !vy_access_loads(given->access)) ||
             (vy_access_stores(wanted->access) && !vy_access_stores(given->access)))
        vy_verifier_error(body->verifier, VY_V093, vy_body_position(body), NULL,
                          "`%s` has access `%s`, but `%s` of `%s` needs `%s`", name, vy_access_name(given->access),
                          vy_verifier_name(body->verifier, wanted->name), function_name(body, s->callee),
                          vy_access_name(wanted->access));
}

static void check_argument(vy_body_verifier *body, const vy_stmt *s, uint32_t i, const vy_param *param) {
    const vyre_program *p = body->program;
    const vy_arg *arg = &p->args.items[s->args + i];
    if (arg->is_memory != param->is_memory) {
        vy_verifier_error(body->verifier, VY_V092, vy_body_position(body), NULL,
                          "argument %u of `%s` is a %s, but the parameter is a %s", i + 1,
                          function_name(body, s->callee), arg->is_memory ? "memory" : "value",
                          param->is_memory ? "memory" : "value");
    } else if (arg->is_memory) {
        check_memory_argument(body, s, &p->memories.items[arg->index], &p->memories.items[param->index]);
    } else {
        uint8_t wanted = p->variables.items[param->index].type;
        if (vy_body_expr_type(body, arg->index) != wanted)
            vy_body_type_mismatch(
                body, VY_V092, vy_body_expr_position(body, arg->index),
                vy_fix_format((char[256]){0}, 256, "argument %u of `%s`", i + 1, function_name(body, s->callee)),
                vy_body_expr_type(body, arg->index), wanted);
    }
}

static void check_local_call(vy_body_verifier *body, const vy_stmt *s) {
    const vyre_program *p = body->program;
    const vy_function *f = &p->functions.items[s->callee];
    if (s->arg_count != f->param_count)
        vy_verifier_error(body->verifier, VY_V091, vy_body_position(body), NULL,
                          "`%s` takes %u argument%s, but %u are given", function_name(body, s->callee), f->param_count,
                          f->param_count == 1 ? "" : "s", s->arg_count);
    for (uint32_t i = 0; i < s->arg_count && i < f->param_count; i++)
        check_argument(body, s, i, &p->params.items[f->first_param + i]);
    if (s->result_count == 0)
        return;
    if (s->result_count != f->result_count) {
        vy_verifier_error(body->verifier, VY_V097, vy_body_position(body), NULL,
                          "`%s` gives %u result%s, but %u variables take them", function_name(body, s->callee),
                          f->result_count, f->result_count == 1 ? "" : "s", s->result_count);
        return;
    }
    for (uint32_t i = 0; i < s->result_count; i++)
        check_result_type(body, s, i, p->results.items[f->first_result + i].type);
}

static void check_op_call(vy_body_verifier *body, const vy_stmt *s) {
    const char *name = vy_verifier_name(body->verifier, s->name);
    size_t length = strlen(name);
    if (length > VY_LIMIT_NAME)
        vy_verifier_error(body->verifier, VY_V030, vy_body_position(body), NULL,
                          "an op id is longer (%zu bytes) than the limit (%d)", length, VY_LIMIT_NAME);
    else if (!vy_text_is_op_call(name))
        vy_verifier_error(body->verifier, VY_V090, vy_body_position(body), NULL, "`%s` is no op id", name);
    else if (s->arg_count > VY_LIMIT_PARAMS)
        vy_verifier_error(body->verifier, VY_V091, vy_body_position(body), NULL,
                          "`%s` gets more arguments (%u) than the limit (%d)", name, s->arg_count, VY_LIMIT_PARAMS);
}

void vy_verify_call(vy_body_verifier *body, const vy_stmt *s) {
    if (s->callee != VY_NONE)
        check_local_call(body, s);
    else
        check_op_call(body, s);
}
