/* Lowering of effects: atomics, collectives, calls and intrinsics, as statements or hoisted out of an expression. */
#include "base/string.h"
#include "ir/model.h"
#include "ir/op_tables.h"
#include "ir/porting_hint.h"
#include "ir/text/lower.h"

#include <stdio.h>

static int set_result_type(vy_effect_signature *out, uint8_t type) {
    out->count = 1;
    out->is_known = 1;
    out->types[0] = type;
    return type != VY_TYPE_BAD;
}

/* ---- atomics ---- */

static int check_atomic(vy_lowering *l, vy_ast_node *node, vy_effect_signature *out) {
    uint8_t element = vy_lower_type(l, node->a, VY_TYPE_UNTYPED);
    int is_good = element != VY_TYPE_BAD && vy_lower_unconditional(l, node->a);
    if (node->b)
        is_good &= vy_lower_expect(l, node->b, element, "an operand of", vyre_atomic_name(node->op));
    if (node->c)
        is_good &= vy_lower_expect(l, node->c, element, "an operand of", vyre_atomic_name(node->op));
    const vy_binding *memory = vy_lower_find(l, node->a->name);
    node->axis = memory && memory->space == VY_SPACE_BUFFER ? VYRE_SCOPE_DEVICE : VYRE_SCOPE_WORKGROUP;
    set_result_type(out, element);
    out->count = vy_atomics[node->op].gives;
    return is_good;
}

/* ---- collectives ---- */

static int check_width(vy_lowering *l, vy_ast_node *node) {
    uint64_t width = 0;
    node->axis = 0;
    if (!node->scope)
        return 1;
    if (!node->width || !vy_lower_constant(l, node->width, 64, "the subgroup width", &width))
        return 0;
    if (width < 2 || (width & (width - 1))) {
        vy_lower_error(l, VY_T045, node->width->at, "write 2, 4, 8, 16, 32 or 64",
                       "invalid subgroup width %u (expected a power of two from 2 to 64)", (unsigned)width);
        return 0;
    }
    node->axis = (uint8_t)width;
    return 1;
}

static int check_collective(vy_lowering *l, vy_ast_node *node, uint8_t hint, vy_effect_signature *out) {
    int is_good = check_width(l, node);
    uint8_t type = VYRE_TYPE_BOOL;
    const char *name = vy_lower_text(l, node->name);
    int is_test =
        node->op == VYRE_COLLECTIVE_ANY || node->op == VYRE_COLLECTIVE_ALL || node->op == VYRE_COLLECTIVE_BALLOT;
    if (is_test)
        is_good &= vy_lower_expect(l, node->a, VYRE_TYPE_BOOL, "the value of", name);
    else
        type = vy_lower_require_typed(l, node->a, hint);
    if (node->b)
        is_good &= vy_lower_expect(l, node->b, VYRE_TYPE_U32, "the second argument of", name);
    if (vy_collectives[node->op].combines && type < VYRE_TYPE_COUNT && !vyre_op_accepts(node->combine, type, type)) {
        vy_lower_error(l, VY_T034, node->at, "convert the operand: `u32(…)`", "`%s` does not support %s", name,
                       vyre_type_name(type));
        is_good = 0;
    }
    return set_result_type(out, node->op == VYRE_COLLECTIVE_BALLOT ? VYRE_TYPE_U64 : type) && is_good;
}

/* ---- calls ---- */

static const char *const space_names[VY_SPACE_COUNT] = {"buffer", "workgroup", "private", "constant array"};

static int check_memory_argument(vy_lowering *l, vy_ast_node *argument, const vy_ast_decl *param) {
    const vy_binding *memory = NULL;
    const char *name = vy_lower_text(l, param->name);
    if (argument->kind == VY_AST_NAME)
        memory = vy_lower_find(l, argument->name);
    if (argument->kind == VY_AST_NAME && !memory)
        memory = vy_lower_table(l, argument->name);
    if (argument->kind == VY_AST_NAME && !memory && !vy_lower_global(l, argument->name)) {
        vy_lower_unknown(l, argument->name, argument->at);
        return 0;
    }
    if (memory && (memory->kind == VY_BINDING_BROKEN || memory->type == VY_TYPE_BAD)) {
        l->live = 0; /* reported at the declaration */
        return 0;
    }
    if (!memory || memory->kind != VY_BINDING_MEMORY) {
        if (argument->kind != VY_AST_BAD)
            vy_lower_error(l, VY_T038, argument->at, "pass the name of a buffer or array",
                           "expected a memory (%s [%s]) for parameter `%s`", space_names[param->space],
                           param->type < VYRE_TYPE_COUNT ? vyre_type_name(param->type) : "?", name);
        return 0;
    }
    int is_table = memory->space == VY_SPACE_CONSTANT && param->space == VY_SPACE_BUFFER; /* read like a buffer */
    if ((memory->space != param->space && !is_table) ||
        (memory->type != param->type && memory->type != VY_TYPE_BAD && param->type != VY_TYPE_BAD)) {
        vy_lower_error(l, VY_T038, argument->at, NULL, "expected %s [%s] for parameter `%s`, but `%s` is %s [%s]",
                       space_names[param->space], vyre_type_name(param->type), name, vy_lower_text(l, argument->name),
                       space_names[memory->space], vyre_type_name(memory->type));
        return 0;
    }
    argument->type = memory->type;
    argument->variable = memory->index;
    argument->axis = 1; /* a memory */
    return 1;
}

static int check_arguments(vy_lowering *l, vy_ast_node *node, const vy_ast_function *function) {
    int is_good = 1;
    const vy_ast_decl *param = function->params.first;
    for (vy_ast_node *argument = node->a; argument; argument = argument->next, param = param->next) {
        argument->axis = argument->kind == VY_AST_BUILTIN ? argument->axis : 0;
        is_good &= param->is_memory
                       ? check_memory_argument(l, argument, param)
                       : vy_lower_expect(l, argument, param->type, "parameter", vy_lower_text(l, param->name));
    }
    return is_good;
}

/* Reports an unknown function: a typo, an op that has a symbol, or an op id whose dialect is not loaded. Not
 * inlined, because its caller recurses. */
static __attribute__((noinline)) void report_unknown(vy_lowering *l, const vy_ast_node *node) {
    const char *name = vy_lower_text(l, node->name), *best = NULL;
    vyre_op op = vyre_op_find(name, strlen(name));
    if (op != VYRE_OP_COUNT) {
        const vyre_op_info *row = vyre_op_get(op);
        const char *fix = op == VYRE_OP_CAST     ? "write `u32(x)`, `f32(x)`, …"
                          : op == VYRE_OP_SELECT ? "write `c ? a : b`"
                          : op == VYRE_OP_NOT    ? "write `!x` for a bool, `~x` for the bits of an integer"
                          : op == VYRE_OP_AND    ? "write `a && b` for bools, `a & b` for the bits of integers"
                          : op == VYRE_OP_OR     ? "write `a || b` for bools, `a | b` for the bits of integers"
                          : row->arity == 1      ? VY_DIAG_SINK_FIX(l->report, "write `%sx`", row->symbol)
                                                 : VY_DIAG_SINK_FIX(l->report, "write `a %s b`", row->symbol);
        vy_lower_error(l, VY_T053, node->at, fix, "`%s` cannot be called by name", name);
        return;
    }
    vy_suggestion suggestion;
    char word[VY_KEYWORD_CAPACITY];
    char synonym[VY_KEYWORD_CAPACITY];
    vy_suggestion_start(&suggestion, name, strlen(name));
    const char *fix = NULL;
    const char *type = vy_porting_hint_type(name, strlen(name));
    if (type) {
        fix = VY_DIAG_SINK_FIX(l->report, "write `%s(…)` to convert", type);
    } else if (vy_keyword_synonym(name, strlen(name), synonym)) {
        best = synonym;
    } else if (l->report->errors < 100) {
        unsigned offered = 0;
        for (const vy_ast_function *f = l->parser->file.functions; f && offered < 2000; f = f->next, offered++)
            vy_suggestion_offer(&suggestion, vy_lower_text(l, f->name));
        if (!vy_suggestion_get(&suggestion))
            fix = vy_lower_foreign_name(l, name, word) ? VY_DIAG_SINK_FIX(l->report, "write `%s(…)`", word)
                                                       : vy_porting_hint_function(name, strlen(name));
        if (!fix && !vy_suggestion_get(&suggestion))
            fix = vy_porting_hint_statement(name, strlen(name));
        for (unsigned cls = VY_IDENTIFIER_OP; cls < VY_IDENTIFIER_CLASS_COUNT; cls++)
            for (unsigned i = 0;
                 cls != VY_IDENTIFIER_KEYWORD && cls != VY_IDENTIFIER_BUILTIN && vy_keyword_at(cls, i, word); i++)
                vy_suggestion_offer(&suggestion, word);
        vy_lower_offer_ops(l, &suggestion, 1);
        best = vy_suggestion_get(&suggestion);
    }
    if (best && !fix)
        fix = VY_DIAG_SINK_FIX(l->report, "did you mean `%s`?", best);
    vy_lower_error(l, VY_T026, node->at, fix, "unknown function `%s`", name);
}

/* Types the arguments of a function whose head has errors, to report errors inside them. */
static void type_arguments(vy_lowering *l, const vy_ast_node *node) {
    for (vy_ast_node *argument = node->a; argument; argument = argument->next) {
        const vy_binding *binding = argument->kind == VY_AST_NAME ? vy_lower_find(l, argument->name) : NULL;
        if (!binding || binding->kind != VY_BINDING_MEMORY)
            vy_lower_type(l, argument, VY_TYPE_UNTYPED);
    }
    l->live = 0;
}

static int check_call(vy_lowering *l, vy_ast_node *node, vy_effect_signature *out) {
    const vy_global *global = vy_lower_global(l, node->name);
    const vy_ast_function *function = global ? global->function : NULL;
    out->is_known = 1;
    if (!function) {
        report_unknown(l, node);
        return 0;
    }
    if (function->is_broken) {
        type_arguments(l, node);
        return 0;
    }
    if (node->count != function->params.count) {
        unsigned taken = function->params.count;
        vy_lower_error(l, VY_T037, node->at,
                       VY_DIAG_SINK_FIX(l->report, "pass %u argument%s", taken, taken == 1 ? "" : "s"),
                       "`%s` requires %u argument%s (%u given)", vy_lower_text(l, node->name), taken,
                       taken == 1 ? "" : "s", node->count);
        return 0;
    }
    for (const vy_ast_declarator *result = function->results; result && out->count < VY_LIMIT_RESULTS;
         result = result->next)
        out->types[out->count++] = result->type;
    node->variable = function->index;
    return check_arguments(l, node, function);
}

int vy_lower_is_known_op(vy_lowering *l, vy_ast_node *node) {
    vyre_op_signature known;
    return vy_lower_overloads(l, node) || vy_lower_op_signature(l, node, VYRE_TYPE_COUNT, &known);
}

/* Checks an argument of an op: the name of a memory is passed as a memory; a value gets the type that the op
 * requires, or must have a type if the op requires none. */
static int check_op_argument(vy_lowering *l, vy_ast_node *argument, uint8_t asked, const char *op) {
    const vy_binding *binding = argument->kind == VY_AST_NAME ? vy_lower_find(l, argument->name) : NULL;
    argument->axis = argument->kind == VY_AST_BUILTIN ? argument->axis : 0;
    if (binding && binding->kind == VY_BINDING_MEMORY) {
        argument->axis = 1;
        argument->variable = binding->index;
        argument->type = binding->type;
        return 1;
    }
    return asked < VYRE_TYPE_COUNT ? vy_lower_expect(l, argument, asked, "an argument of", op)
                                   : vy_lower_require_typed(l, argument, VY_TYPE_UNTYPED) != VY_TYPE_BAD;
}

/* Stores the results of an op in *out, and the required type of each argument in its node. Not inlined, because its
 * caller recurses and a signature is large. */
static __attribute__((noinline)) int query_op_signature(vy_lowering *l, const vy_ast_node *node,
                                                        vy_effect_signature *out) {
    vyre_op_signature op;
    uint32_t index = 0;
    out->is_known = vy_lower_op_signature(l, node, VYRE_TYPE_COUNT, &op);
    if (out->is_known && node->count != op.input_count) {
        vy_lower_error(
            l, VY_T037, node->at,
            VY_DIAG_SINK_FIX(l->report, "pass %u argument%s", op.input_count, op.input_count == 1 ? "" : "s"),
            "`%s` requires %u argument%s (%u given)", vy_lower_text(l, node->name), op.input_count,
            op.input_count == 1 ? "" : "s", node->count);
        return 0;
    }
    for (vy_ast_node *argument = node->a; argument; argument = argument->next, index++)
        argument->type = out->is_known ? (uint8_t)op.inputs[index] : VYRE_TYPE_COUNT;
    for (; out->is_known && out->count < op.output_count; out->count++)
        out->types[out->count] = (uint8_t)op.outputs[out->count];
    return 1;
}

static int check_op_call(vy_lowering *l, vy_ast_node *node, uint8_t hint, vy_effect_signature *out) {
    unsigned overloads = vy_lower_overloads(l, node);
    int is_good = 1;
    node->type_name = VYRE_TYPE_COUNT;
    if (overloads)
        return vy_lower_overloaded_call(l, node, overloads, hint, out);
    if (!query_op_signature(l, node, out))
        return 0;
    for (vy_ast_node *argument = node->a; argument; argument = argument->next)
        is_good &= check_op_argument(l, argument, argument->type, vy_lower_text(l, node->name));
    return is_good;
}

/* ---- intrinsics of level legal ---- */

/* Intrinsics that are written like calls: approximate ops, `misalignment`, wide accesses, `report`, `poll`. Their
 * words are plain names, so the parser creates calls. Whether a call is an intrinsic can be decided only after all
 * functions of the file have been read. The verifier checks the level. */

static void lower_arguments(vy_lowering *l, const vy_ast_node *first) {
    l->args.count = 0;
    for (const vy_ast_node *argument = first; argument; argument = argument->next) {
        int is_memory = argument->kind == VY_AST_NAME && argument->axis;
        uint32_t index = is_memory ? argument->variable : vy_lower_append(l, argument);
        vy_arg *arg = VY_PUSH(&l->args);
        if (!arg) {
            l->report->out_of_memory = 1;
            l->live = 0;
            return;
        }
        *arg = (vy_arg){(uint32_t)is_memory, index};
    }
}

static void wrong_count(vy_lowering *l, const vy_ast_node *node, const char *taken) {
    vy_lower_error(l, VY_T037, node->at, VY_DIAG_SINK_FIX(l->report, "pass %s", taken), "`%s` requires %s (%u given)",
                   vy_lower_text(l, node->name), taken, node->count);
}

static int check_intrinsic_count(vy_lowering *l, vy_ast_node *node, uint32_t min_count, uint32_t max_count,
                                 const char *taken) {
    if (node->count >= min_count && node->count <= max_count)
        return 1;
    wrong_count(l, node, taken);
    node->kind = VY_AST_BAD;
    return 0;
}

/* Turns the arguments into the operands of an op. */
static void resolve_op(vy_lowering *l, vy_ast_node *node, vyre_op op) {
    static const char *const taken[] = {"no arguments", "1 argument", "2 arguments", "3 arguments"};
    unsigned arity = vyre_op_get(op)->arity;
    if (!check_intrinsic_count(l, node, arity, arity, taken[arity]))
        return;
    vy_ast_node *operands[3] = {NULL, NULL, NULL}, *next = node->a;
    for (unsigned i = 0; i < arity && next; i++) {
        operands[i] = next;
        next = next->next;
        operands[i]->next = NULL;
    }
    node->kind = VY_AST_OP;
    node->op = (uint8_t)op;
    node->a = operands[0];
    node->b = operands[1];
    node->c = operands[2];
}

/* Checks that the first argument is the name of a memory. */
static void check_named(vy_lowering *l, vy_ast_node *node) {
    if (node->kind == VY_AST_BAD || !node->a || node->a->kind == VY_AST_NAME)
        return;
    if (node->a->kind != VY_AST_BAD)
        vy_lower_error(l, VY_T038, node->a->at, "pass the name of a buffer or array",
                       "expected a buffer or array as the first argument of `%s`", vy_lower_text(l, node->name));
    node->kind = VY_AST_BAD;
}

static __attribute__((noinline)) void resolve_intrinsic(vy_lowering *l, vy_ast_node *node) {
    static const struct {
        uint8_t kind, min_count, max_count, is_named;
        const char *taken;
    } rows[VY_INTRINSIC_COUNT] = {
        [VY_INTRINSIC_ALIGN_OFFSET] = {VY_AST_ALIGN_OFFSET, 1, 1, 1, "1 argument"},
        [VY_INTRINSIC_LOAD_WIDE] = {VY_AST_LOAD_WIDE, 2, 2, 1, "2 arguments: the memory and an index"},
        [VY_INTRINSIC_STORE_WIDE] = {VY_AST_STORE_WIDE, 4, 2 + VY_LIMIT_WIDE, 1,
                                     "the memory, an index and 2 to 16 values"},
        [VY_INTRINSIC_RECORD_TRAP] = {VY_AST_RECORD_TRAP, 1, 1, 0, "1 argument"},
        [VY_INTRINSIC_POLL] = {VY_AST_POLL, 0, 0, 0, "no arguments"},
    };
    const char *name = vy_lower_text(l, node->name);
    vyre_op op = VYRE_OP_COUNT;
    vy_intrinsic word = vy_intrinsic_find(name, strlen(name), &op);
    if (word == VY_INTRINSIC_NONE || l->effect_ban == VY_EFFECT_BAN_CONST) /* a const has no level */
        return;
    if (word == VY_INTRINSIC_OP) {
        resolve_op(l, node, op);
        return;
    }
    if (!check_intrinsic_count(l, node, rows[word].min_count, rows[word].max_count, rows[word].taken))
        return;
    node->kind = rows[word].kind;
    if (rows[word].is_named)
        check_named(l, node);
}

int vy_lower_unconditional(vy_lowering *l, const vy_ast_node *index) {
    if (index->kind != VY_AST_INDEX || !index->b)
        return 1;
    vy_lower_error(l, VY_T021, index->b->at, "put the statement into an `if`", "only a load can have a condition");
    return 0;
}

/* ---- intrinsic statements ---- */

/* Checks the memory and the index of a wide access. Returns the type of its elements, or VY_TYPE_BAD. */
static uint8_t check_location(vy_lowering *l, vy_ast_node *node) {
    const vy_binding *memory = vy_lower_memory(l, node->a->name, node->a->at);
    int is_good = vy_lower_expect(l, node->a->next, VYRE_TYPE_U32, "the index of", vy_lower_text(l, node->name));
    node->variable = memory ? memory->index : VY_NONE;
    return memory && is_good ? memory->type : VY_TYPE_BAD;
}

static int check_values(vy_lowering *l, const vy_ast_node *node, uint8_t type) {
    int is_good = type != VY_TYPE_BAD;
    for (vy_ast_node *value = node->a->next->next; value; value = value->next)
        is_good &= vy_lower_expect(l, value, type, "an element of", vy_lower_text(l, node->a->name));
    return is_good;
}

static __attribute__((noinline)) int check_intrinsic(vy_lowering *l, vy_ast_node *node, vy_effect_signature *out) {
    out->is_known = 1;
    switch (node->kind) {
    case VY_AST_LOAD_WIDE:
        out->count = VY_RESULTS_BOUND;
        out->types[0] = check_location(l, node);
        return out->types[0] != VY_TYPE_BAD;
    case VY_AST_STORE_WIDE:
        return check_values(l, node, check_location(l, node));
    case VY_AST_RECORD_TRAP:
        return vy_lower_expect(l, node->a, VYRE_TYPE_U32, "the code of a report", NULL);
    case VY_AST_POLL:
        out->count = 1;
        out->types[0] = VYRE_TYPE_BOOL;
        return 1;
    default: /* reported already */
        l->live = 0;
        return 0;
    }
}

static __attribute__((noinline)) vy_stmt intrinsic_stmt(vy_lowering *l, const vy_ast_node *node) {
    vy_stmt stmt = vy_irb_blank_stmt(node->kind == VY_AST_LOAD_WIDE     ? VY_STMT_LOAD_WIDE
                                     : node->kind == VY_AST_STORE_WIDE  ? VY_STMT_STORE_WIDE
                                     : node->kind == VY_AST_RECORD_TRAP ? VY_STMT_RECORD_TRAP
                                                                        : VY_STMT_POLL);
    if (node->kind == VY_AST_RECORD_TRAP)
        stmt.a = vy_lower_append(l, node->a);
    if (node->kind != VY_AST_LOAD_WIDE && node->kind != VY_AST_STORE_WIDE)
        return stmt;
    stmt.memory = node->variable;
    stmt.a = vy_lower_append(l, node->a->next);
    lower_arguments(l, node->a->next->next);
    return stmt;
}

/* ---- effects ---- */

void vy_lower_resolve_callee(vy_lowering *l, vy_ast_node *node) {
    if (node->kind != VY_AST_OP_CALL && node->kind != VY_AST_CALL)
        return;
    const vy_global *global = vy_lower_global(l, node->name);
    if (global && global->function)
        node->kind = VY_AST_CALL;
    else if (node->kind == VY_AST_CALL)
        resolve_intrinsic(l, node);
    if (node->kind == VY_AST_CALL && !(global && global->function) && vy_lower_overloads(l, node))
        node->kind = VY_AST_OP_CALL;
}

int vy_lower_effect(vy_lowering *l, vy_ast_node *node, uint8_t hint, vy_effect_signature *out) {
    memset(out, 0, sizeof *out);
    vy_lower_resolve_callee(l, node);
    switch (node->kind) {
    case VY_AST_ATOMIC:
        return check_atomic(l, node, out);
    case VY_AST_COLLECTIVE:
        return check_collective(l, node, hint, out);
    case VY_AST_CALL:
        return check_call(l, node, out);
    case VY_AST_OP_CALL:
        return check_op_call(l, node, hint, out);
    default:
        return check_intrinsic(l, node, out);
    }
}

static vy_stmt atomic_stmt(vy_lowering *l, const vy_ast_node *node) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_ATOMIC);
    stmt.op = node->op;
    stmt.memory = node->a->variable;
    stmt.bounds_check = node->a->op;
    stmt.order = node->order == VYRE_ORDER_COUNT ? VYRE_ORDER_RELAXED : node->order;
    stmt.scope = node->scope == VYRE_SCOPE_COUNT ? node->axis : node->scope;
    stmt.a = vy_lower_append(l, node->a->a);
    stmt.b = node->b ? vy_lower_append(l, node->b) : VY_NONE;
    stmt.c = node->c ? vy_lower_append(l, node->c) : VY_NONE;
    return stmt;
}

static vy_stmt collective_stmt(vy_lowering *l, const vy_ast_node *node) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_COLLECTIVE);
    stmt.op = node->op;
    stmt.combine = vy_collectives[node->op].combines ? node->combine : 0;
    stmt.width = node->axis;
    stmt.a = vy_lower_append(l, node->a);
    stmt.b = node->b ? vy_lower_append(l, node->b) : VY_NONE;
    return stmt;
}

static vy_symbol op_symbol(vy_lowering *l, const vy_ast_node *node) {
    char storage[VY_LIMIT_NAME + 1];
    const char *id = vy_lower_call_id(l, node, storage);
    return l->live ? vy_irb_intern(&l->draft, id, strlen(id)) : 0;
}

static vy_stmt call_stmt(vy_lowering *l, const vy_ast_node *node) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_CALL);
    if (node->kind == VY_AST_CALL)
        stmt.callee = node->variable;
    else
        stmt.name = op_symbol(l, node);
    lower_arguments(l, node->a);
    return stmt;
}

uint32_t vy_lower_effect_append(vy_lowering *l, const vy_ast_node *node, uint32_t count, const vy_symbol *names,
                                const vyre_type *types) {
    if (!l->live)
        return VY_NONE;
    l->args.count = 0;
    vy_stmt stmt = node->kind == VY_AST_ATOMIC       ? atomic_stmt(l, node)
                   : node->kind == VY_AST_COLLECTIVE ? collective_stmt(l, node)
                   : node->kind <= VY_AST_OP_CALL    ? call_stmt(l, node)
                                                     : intrinsic_stmt(l, node);
    if (!l->live)
        return VY_NONE;
    stmt.result_count = (uint8_t)count;
    l->draft.position = node->at;
    uint32_t index = vy_irb_stmt(&l->draft, &stmt, l->args.items, l->args.count, names, types);
    return index == VY_NONE ? VY_NONE : l->draft.program->stmts.items[index].variable;
}

/* ---- hoisting ---- */

static const char *const effect_ban_names[] = {
    [VY_EFFECT_BAN_WHILE] = "in the condition of `while`",
    [VY_EFFECT_BAN_ARM] = "in an arm of `? :`",
    [VY_EFFECT_BAN_LOGIC] = "in the right operand of `&&` or `||`",
};

static void report_effect_ban(vy_lowering *l, const vy_ast_node *node) {
    if (l->effect_ban == VY_EFFECT_BAN_CONST)
        vy_lower_error(l, VY_T047, node->at, NULL, "call, atomic or collective in a constant expression");
    else
        vy_lower_error(
            l, VY_T039, node->at,
            l->effect_ban == VY_EFFECT_BAN_WHILE ? "write `while true`, bind it with `let` inside and `break`" : NULL,
            "call, atomic or collective %s", effect_ban_names[l->effect_ban]);
}

/* For `x.len()` or `x.size()` on a buffer or array, the length of its name; else 0. */
static size_t length_method(const vy_lowering *l, const char *name) {
    static const char *const words[] = {"len", "length", "size", "count", "shape"};
    size_t length = strcspn(name, ".");
    for (unsigned i = 0; name[length] && i < sizeof words / sizeof *words; i++) {
        if (strcmp(name + length + 1, words[i]) != 0)
            continue;
        for (uint32_t k = 0; k < l->scope.count; k++) {
            const char *memory = vy_lower_text(l, l->scope.items[k].name);
            if (l->scope.items[k].kind == VY_BINDING_MEMORY && strlen(memory) == length &&
                memcmp(memory, name, length) == 0)
                return length;
        }
    }
    return 0;
}

void vy_lower_unknown_op(vy_lowering *l, const vy_ast_node *node) {
    const char *name = vy_lower_text(l, node->name);
    size_t memory = length_method(l, name);
    if (memory) {
        vy_lower_error(l, VY_T040, node->at, VY_DIAG_SINK_FIX(l->report, "write `len(%.*s)`", (int)memory, name),
                       "unknown op `%s`: buffers and arrays have no members", name);
        return;
    }
    char id[VY_LIMIT_NAME + 1], storage[VY_CALL_SPELLING_CAPACITY];
    snprintf(id, sizeof id, "%.*s", (int)vy_call_id_length(name), name);
    vy_suggestion suggestion;
    vy_suggestion_start(&suggestion, id, strlen(id));
    if (l->report->errors < 100)
        vy_lower_offer_ops(l, &suggestion, 0);
    const char *best = vy_suggestion_get(&suggestion);
    char word[VY_KEYWORD_CAPACITY];
    vy_lower_error(
        l, VY_T040, node->at,
        !best && vy_lower_foreign_name(l, id, word) ? VY_DIAG_SINK_FIX(l->report, "write `%s(…)`", word)
        : best ? VY_DIAG_SINK_FIX(l->report, "did you mean `%s`?", vy_call_spelling(best, storage))
               : VY_DIAG_SINK_FIX(l->report,
                                  "check its spelling, load the dialect that provides it (%s), or define `fn %.100s`",
                                  vy_dialect_loader_name(), vy_call_spelling(id, storage)),
        "unknown op `%s`: no loaded dialect provides it, so its result type is unknown", name);
}

uint8_t vy_lower_hoist(vy_lowering *l, vy_ast_node *node, uint8_t hint) {
    vy_effect_signature signature;
    if (l->effect_ban) {
        report_effect_ban(l, node);
        return VY_TYPE_BAD;
    }
    if (!vy_lower_effect(l, node, hint, &signature))
        return VY_TYPE_BAD;
    if (!signature.is_known) {
        if (l->op_signature)
            vy_lower_unknown_op(l, node);
        else
            vy_lower_error(
                l, VY_T040, node->at,
                VY_DIAG_SINK_FIX(l->report, "bind it first: `let x : f32 = %.100s(…)`",
                                 vy_call_spelling(vy_lower_text(l, node->name), (char[VY_CALL_SPELLING_CAPACITY]){0})),
                "unknown result type of `%s`", vy_lower_text(l, node->name));
        return VY_TYPE_BAD;
    }
    if (signature.count == VY_RESULTS_BOUND) {
        vy_lower_error(l, VY_T041, node->at, "bind them with `let (a, b) = …`", "`%s` returns several values",
                       vy_lower_text(l, node->name));
        return VY_TYPE_BAD;
    }
    if (signature.count != 1) {
        const char *name = node->kind == VY_AST_ATOMIC ? vyre_atomic_name(node->op) : vy_lower_text(l, node->name);
        vy_lower_error(l, VY_T041, node->at, signature.count ? NULL : "call it as a separate statement",
                       "`%s` returns %u values, but exactly one is required here", name, signature.count);
        return VY_TYPE_BAD;
    }
    vy_symbol name = vy_lower_temporary(l);
    vyre_type type = signature.types[0];
    node->variable = vy_lower_effect_append(l, node, 1, &name, &type);
    return signature.types[0];
}
