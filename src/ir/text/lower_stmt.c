/* Lowering of statements. The recursion over blocks is bounded by VY_LIMIT_NESTING, which the parser enforces. */
#include "ir/text/lower.h"

static void set_position(vy_lowering *l, const vy_ast_stmt *s) {
    l->draft.position = s->at;
}

static void declare(vy_lowering *l, const vy_ast_stmt *s, const vy_ast_declarator *declared, uint8_t type,
                    uint32_t variable) {
    vy_binding binding = {.name = declared->name,
                          .kind = VY_BINDING_VARIABLE,
                          .type = type,
                          .is_mutable = s->kind == VY_AST_STMT_VAR,
                          .is_let = s->kind == VY_AST_STMT_LET && !s->grouped,
                          .index = variable,
                          .at = declared->at};
    vy_lower_declare(l, &binding);
}

/* ---- let and var ---- */

/* Checks the declared type of a name, if it has one. */
static int check_declared(vy_lowering *l, const vy_ast_declarator *declared, uint8_t type) {
    if (declared->type == VYRE_TYPE_COUNT || declared->type == type || declared->type == VY_TYPE_BAD ||
        type == VY_TYPE_BAD)
        return 1;
    vy_lower_error(l, VY_T035, declared->at,
                   VY_DIAG_SINK_FIX(l->report, "write `: %s`, or convert the value afterwards", vyre_type_name(type)),
                   "`%s` is declared as %s, but the value is %s", vy_lower_text(l, declared->name),
                   vyre_type_name(declared->type), vyre_type_name(type));
    return 0;
}

/* Names and types of the results of a call; VY_TYPE_BAD where the type is unknown. */
typedef struct bound_results {
    uint32_t count;
    vy_symbol names[VY_LIMIT_RESULTS];
    vyre_type types[VY_LIMIT_RESULTS];
} bound_results;

static void report_count(vy_lowering *l, const vy_ast_stmt *s, const vy_effect_signature *signature) {
    const char *name = s->a->kind == VY_AST_ATOMIC ? vyre_atomic_name(s->a->op) : vy_lower_text(l, s->a->name);
    if (signature->count == 0)
        vy_lower_error(l, VY_T041, s->a->at, "call it as a separate statement", "`%s` returns no value", name);
    else
        vy_lower_error(l, VY_T042, s->at,
                       VY_DIAG_SINK_FIX(l->report, "write %u name%s", signature->count,
                                        signature->count == 1 ? "" : "s in parentheses"),
                       "`%s` returns %u value%s, but %u name%s given", name, signature->count,
                       signature->count == 1 ? "" : "s", s->count, s->count == 1 ? " is" : "s are");
}

static int bind_results(vy_lowering *l, const vy_ast_stmt *s, const vy_effect_signature *signature,
                        bound_results *out) {
    int is_good = 1;
    out->count = s->count;
    if (signature->is_known && signature->count != s->count && signature->count != VY_RESULTS_BOUND) {
        report_count(l, s, signature);
        return 0;
    }
    if (signature->count == VY_RESULTS_BOUND && s->count < 2) {
        vy_lower_error(l, VY_T042, s->at, "write 2, 4, 8 or 16 names in parentheses",
                       "`%s` returns several values, but 1 name is given", vy_lower_text(l, s->a->name));
        return 0;
    }
    uint32_t i = 0;
    for (const vy_ast_declarator *declared = s->names; declared; declared = declared->next, i++) {
        uint8_t type = !signature->is_known                   ? declared->type
                       : signature->count == VY_RESULTS_BOUND ? signature->types[0]
                                                              : signature->types[i];
        if (type == VYRE_TYPE_COUNT) {
            const char *op = vy_lower_text(l, s->a->name);
            if (l->op_signature)
                vy_lower_unknown_op(l, s->a);
            else
                vy_lower_error(
                    l, VY_T040, declared->at,
                    VY_DIAG_SINK_FIX(l->report, "write its type: `%.60s : f32`", vy_lower_text(l, declared->name)),
                    "unknown type of `%s`: `%s` is an op of a dialect", vy_lower_text(l, declared->name), op);
            is_good = 0;
            type = VY_TYPE_BAD;
        }
        is_good &= check_declared(l, declared, type) && type != VY_TYPE_BAD;
        out->types[i] = type;
        out->names[i] = vy_lower_name(l, declared->name);
    }
    return is_good;
}

/* `let` of a single effect: the names are bound directly to its results. */
static void lower_let_effect(vy_lowering *l, const vy_ast_stmt *s) {
    vy_effect_signature signature;
    bound_results results = {0};
    uint32_t variable = VY_NONE;
    uint8_t hint = s->names && s->names->type < VYRE_TYPE_COUNT ? s->names->type : VY_TYPE_UNTYPED;
    if (s->count > VY_LIMIT_RESULTS) {
        vy_lower_error(l, VY_T042, s->at, NULL, "too many names (%u, limit %d)", s->count, VY_LIMIT_RESULTS);
        return;
    }
    int is_good = vy_lower_effect(l, s->a, hint, &signature) && bind_results(l, s, &signature, &results);
    if (is_good)
        variable = vy_lower_effect_append(l, s->a, results.count, results.names, results.types);
    else
        l->live = 0;
    uint32_t i = 0;
    for (const vy_ast_declarator *declared = s->names; declared; declared = declared->next, i++)
        declare(l, s, declared, is_good ? (uint8_t)results.types[i] : VY_TYPE_BAD, variable + i);
}

/* `var x : T = dialect.op(t)`: the declared type is the result type of the op, so the call can be hoisted. */
static uint8_t hoist_op_call(vy_lowering *l, const vy_ast_stmt *s) {
    vy_effect_signature signature;
    vyre_type type = s->names->type;
    s->a->type = VY_TYPE_BAD;
    s->a->is_literal = 0;
    if (!vy_lower_effect(l, s->a, VY_TYPE_UNTYPED, &signature))
        return VY_TYPE_BAD;
    vy_symbol name = vy_lower_temporary(l);
    s->a->variable = vy_lower_effect_append(l, s->a, 1, &name, &type);
    return s->a->type = s->names->type;
}

static void lower_let(vy_lowering *l, const vy_ast_stmt *s) {
    const vy_ast_declarator *declared = s->names;
    int is_var = s->kind == VY_AST_STMT_VAR;
    if (s->a)
        vy_lower_resolve_callee(l, s->a);
    if (s->a && vy_ast_node_is_effect(s->a) && !is_var) {
        lower_let_effect(l, s);
        return;
    }
    if (s->grouped && (!s->a || s->a->kind == VY_AST_BAD)) { /* the parser has reported it */
        l->live = 0;
        for (; declared; declared = declared->next)
            declare(l, s, declared, VY_TYPE_BAD, VY_NONE);
        return;
    }
    if (s->grouped) {
        vy_lower_error(l, VY_T042, s->at, "write one `let` for each name", "`let (…)` requires a call");
        return;
    }
    uint8_t type = declared->type;
    if (is_var && s->a && s->a->kind == VY_AST_OP_CALL && type < VYRE_TYPE_COUNT && !vy_lower_is_known_op(l, s->a)) {
        type = hoist_op_call(l, s);
    } else if (type < VYRE_TYPE_COUNT) {
        /* The name keeps its declared type even if the value is wrong, so that its uses are checked against that
         * type. */
        vy_lower_expect(l, s->a, type, NULL, vy_lower_text(l, declared->name));
    } else {
        type = vy_lower_initializer(l, s->a, is_var ? "var" : "let", declared->name);
    }
    uint32_t variable = VY_NONE;
    if (l->live) {
        uint32_t value = vy_lower_append(l, s->a);
        vy_symbol name = vy_lower_name(l, declared->name);
        l->draft.position = declared->at;
        variable = is_var ? vy_irb_var(&l->draft, name, type, value) : vy_irb_let(&l->draft, name, type, value);
    }
    declare(l, s, declared, type == VYRE_TYPE_COUNT ? VY_TYPE_BAD : type, variable);
}

/* ---- assignments ---- */

static void report_immutable(vy_lowering *l, const vy_ast_node *target, const vy_binding *binding) {
    const char *name = vy_lower_text(l, target->name);
    if (binding && binding->kind == VY_BINDING_MEMORY)
        vy_lower_error(l, VY_T028, target->at, VY_DIAG_SINK_FIX(l->report, "write `%s[i] = …`", name),
                       "assignment to `%s`, a buffer or array, instead of an element", name);
    else if (binding)
        vy_lower_error(l, VY_T043, target->at,
                       binding->is_let
                           ? VY_DIAG_SINK_FIX(l->report, "declare it with `var %s` in line %u", name, binding->at.line)
                           : "copy it into a `var` first",
                       "assignment to `%s`, which is immutable", name);
    else if (vy_lower_find_table(l, target->name))
        vy_lower_error(l, VY_T043, target->at, "copy its elements to a private array, and store there",
                       "assignment to `%s`, which is a constant array", name);
    else
        vy_lower_error(l, VY_T043, target->at, "copy the const into a `var`", "assignment to `%s`, which is a const",
                       name);
}

/* Resolves the target of an assignment. Returns its type, or VY_TYPE_BAD after an error. */
static uint8_t lower_target(vy_lowering *l, vy_ast_node *target) {
    if (target->kind != VY_AST_NAME)
        return vy_lower_type(l, target, VY_TYPE_UNTYPED); /* an element */
    const vy_binding *binding = vy_lower_find(l, target->name);
    const vy_global *global = vy_lower_global(l, target->name);
    if (!binding && !(global && global->constant)) {
        vy_lower_unknown(l, target->name, target->at);
        return VY_TYPE_BAD;
    }
    if (binding && binding->kind == VY_BINDING_BROKEN)
        return VY_TYPE_BAD;
    if (!binding || binding->kind == VY_BINDING_MEMORY || !binding->is_mutable) {
        report_immutable(l, target, binding);
        return VY_TYPE_BAD;
    }
    target->is_literal = 0;
    target->variable = binding->index;
    return target->type = binding->type;
}

/* Checks that the op of `op=` supports the type, as in `x = x op e`. */
static int check_assign_op(vy_lowering *l, const vy_ast_stmt *s, uint8_t type) {
    const vyre_op_info *row = vyre_op_get(s->op);
    if (type >= VYRE_TYPE_COUNT || vyre_op_accepts(s->op, type, type))
        return 1;
    vy_lower_error(l, VY_T034, s->target->at,
                   s->op == VYRE_OP_REM ? "write `x = remainder(x, y)` for the IEEE remainder" : NULL,
                   "`%s=` does not support %s", row->symbol, vyre_type_name(type));
    return 0;
}

static void lower_assign(vy_lowering *l, const vy_ast_stmt *s) {
    int is_element = s->target->kind == VY_AST_INDEX;
    uint8_t type = lower_target(l, s->target);
    int is_good = s->op == VYRE_OP_COUNT || check_assign_op(l, s, type);
    if (type == VY_TYPE_BAD)
        is_good = (vy_lower_type(l, s->a, VY_TYPE_UNTYPED), 0);
    else
        is_good &=
            vy_lower_expect(l, s->a, type, is_element ? "an element of" : NULL, vy_lower_text(l, s->target->name));
    if (is_element)
        is_good &= vy_lower_unconditional(l, s->target);
    if (!is_good || !l->live)
        return;
    uint32_t index = is_element ? vy_lower_append(l, s->target->a) : VY_NONE, value;
    if (s->op == VYRE_OP_COUNT) {
        value = vy_lower_append(l, s->a);
    } else {
        uint32_t old = vy_lower_append(l, s->target), operand = vy_lower_append(l, s->a);
        set_position(l, s);
        value = vy_irb_op(&l->draft, s->op, type, old, operand, VY_NONE);
    }
    set_position(l, s);
    if (is_element) {
        vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_STORE);
        stmt.memory = s->target->variable;
        stmt.bounds_check = s->target->op;
        stmt.a = index;
        stmt.b = value;
        vy_irb_stmt(&l->draft, &stmt, NULL, 0, NULL, NULL);
    } else {
        vy_irb_assign(&l->draft, s->target->variable, value);
    }
}

/* ---- calls, print, trap, return ---- */

static void lower_call(vy_lowering *l, const vy_ast_stmt *s) {
    vy_effect_signature signature;
    if (s->a->kind == VY_AST_NAME && !vy_lower_find(l, s->a->name) && !vy_lower_global(l, s->a->name)) {
        vy_lower_error(l, VY_T025, s->a->at,
                       "remove it; a statement is a declaration, an assignment, a call, or starts with a keyword",
                       "unknown name `%s`", vy_lower_text(l, s->a->name));
        return;
    }
    vy_lower_resolve_callee(l, s->a);
    if (!vy_ast_node_is_effect(s->a)) { /* a pure intrinsic, or a reported error */
        if (vy_lower_type(l, s->a, VY_TYPE_UNTYPED) != VY_TYPE_BAD)
            vy_lower_error(l, VY_T021, s->a->at, NULL, "unused value");
        return;
    }
    if (s->a->kind == VY_AST_LOAD_WIDE || s->a->kind == VY_AST_POLL) {
        vy_lower_error(l, VY_T044, s->a->at, NULL, "unused result of `%s`", vy_lower_text(l, s->a->name));
        return;
    }
    if (s->a->kind == VY_AST_COLLECTIVE) {
        char name[VY_KEYWORD_CAPACITY];
        vy_keyword_collective(s->a->op, s->a->combine, s->a->scope, name);
        vy_lower_error(l, VY_T044, s->a->at, VY_DIAG_SINK_FIX(l->report, "write `let x = %s…`", name),
                       "unused result of `%s`", name);
        return;
    }
    if (vy_lower_effect(l, s->a, VY_TYPE_UNTYPED, &signature))
        vy_lower_effect_append(l, s->a, 0, NULL, NULL);
    else
        l->live = 0;
}

/* Appends a statement whose operands are the list `first`. */
static void emit_with_arguments(vy_lowering *l, const vy_ast_stmt *s, vy_stmt_kind kind, vy_symbol name) {
    vy_stmt stmt = vy_irb_blank_stmt(kind);
    stmt.name = name;
    l->args.count = 0;
    for (const vy_ast_node *value = s->a; value && l->live; value = value->next) {
        uint32_t index = vy_lower_append(l, value);
        vy_arg *arg = VY_PUSH(&l->args);
        if (!arg) {
            l->report->out_of_memory = 1;
            l->live = 0;
        } else {
            *arg = (vy_arg){0, index};
        }
    }
    set_position(l, s);
    if (l->live)
        vy_irb_stmt(&l->draft, &stmt, l->args.items, l->args.count, NULL, NULL);
}

static void lower_print(vy_lowering *l, const vy_ast_stmt *s) {
    for (vy_ast_node *value = s->a; value; value = value->next)
        vy_lower_require_typed(l, value, VY_TYPE_UNTYPED);
    if (!s->text)
        l->live = 0;
    if (l->live)
        emit_with_arguments(l, s, VY_STMT_PRINT, vy_irb_intern(&l->draft, s->text, s->length));
}

static void lower_return(vy_lowering *l, const vy_ast_stmt *s) {
    uint32_t needed = l->func->result_count;
    if (l->func->is_broken) { /* the results are unknown */
        for (vy_ast_node *value = s->a; value; value = value->next)
            vy_lower_type(l, value, VY_TYPE_UNTYPED);
        return;
    }
    if (s->count != needed) {
        uint8_t type = !needed && s->count == 1 && !l->func->is_program ? vy_lower_predict(l, s->a) : VY_TYPE_UNTYPED;
        vy_lower_error(l, VY_T046, s->at,
                       needed ? VY_DIAG_SINK_FIX(l->report, "return %u value%s", needed, needed == 1 ? "" : "s")
                       : type < VYRE_TYPE_COUNT
                           ? VY_DIAG_SINK_FIX(l->report, "state the type of the result: `-> %s`", vyre_type_name(type))
                           : "write `return` alone",
                       "%s `%s` must return %u value%s (%u given)", l->func->is_program ? "program" : "function",
                       vy_lower_text(l, l->func->name), needed, needed == 1 ? "" : "s", s->count);
        return;
    }
    const vy_ast_declarator *result = l->func->results;
    for (vy_ast_node *value = s->a; value; value = value->next, result = result->next)
        vy_lower_expect(l, value, result->type, "the result", NULL);
    if (l->live)
        emit_with_arguments(l, s, VY_STMT_RETURN, 0);
}

static void lower_trap(vy_lowering *l, const vy_ast_stmt *s) {
    vy_lower_expect(l, s->a, VYRE_TYPE_U32, "the trap code", NULL);
    if (!l->live)
        return;
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_TRAP);
    stmt.a = vy_lower_append(l, s->a);
    set_position(l, s);
    vy_irb_stmt(&l->draft, &stmt, NULL, 0, NULL, NULL);
}

static void lower_barrier(vy_lowering *l, const vy_ast_stmt *s) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_BARRIER);
    stmt.scope = s->kind == VY_AST_STMT_GRID_BARRIER ? VYRE_SCOPE_DEVICE : VYRE_SCOPE_WORKGROUP;
    set_position(l, s);
    if (l->live)
        vy_irb_stmt(&l->draft, &stmt, NULL, 0, NULL, NULL);
}

/* ---- blocks ---- */

static void lower_block(vy_lowering *l, const vy_ast_stmt *first) {
    uint32_t mark = l->scope.count;
    vy_lower_statements(l, first);
    vy_lower_leave_scope(l, mark);
}

static void close_block(vy_lowering *l) {
    if (l->live)
        vy_irb_end_block(&l->draft);
}

static void lower_if(vy_lowering *l, const vy_ast_stmt *s) {
    vy_lower_expect(l, s->a, VYRE_TYPE_BOOL, "the condition of", "if");
    uint32_t condition = vy_lower_append(l, s->a);
    set_position(l, s);
    if (l->live)
        vy_irb_if(&l->draft, condition);
    lower_block(l, s->body);
    if (s->other) {
        if (l->live)
            vy_irb_else(&l->draft);
        lower_block(l, s->other);
    }
    close_block(l);
}

static void lower_while(vy_lowering *l, const vy_ast_stmt *s) {
    l->effect_ban = VY_EFFECT_BAN_WHILE;
    vy_lower_expect(l, s->a, VYRE_TYPE_BOOL, "the condition of", "while");
    l->effect_ban = VY_EFFECT_BAN_NONE;
    uint32_t condition = vy_lower_append(l, s->a);
    set_position(l, s);
    if (l->live)
        vy_irb_while(&l->draft, condition);
    lower_block(l, s->body);
    close_block(l);
}

static void lower_for(vy_lowering *l, const vy_ast_stmt *s) {
    vy_ast_node *const bounds[3] = {s->a, s->b, s->c};
    uint8_t type = vy_lower_unify(l, bounds, VY_TYPE_UNTYPED, VYRE_CLASS_INTEGER, s->at, "for");
    if (type == VY_TYPE_UNTYPED) {
        vy_lower_untyped_range(l, bounds);
        type = VY_TYPE_BAD;
    }
    if (type < VYRE_TYPE_COUNT && !(vyre_type_class(type) & VYRE_CLASS_INTEGER)) {
        vy_lower_error(l, VY_T035, s->at, vy_lower_integer_fix(l, bounds),
                       "expected integers for the range of `for`, found %s", vyre_type_name(type));
        type = VY_TYPE_BAD;
    }
    uint32_t mark = l->scope.count, variable = VY_NONE;
    if (l->live) {
        uint32_t from = vy_lower_append(l, s->a), to = vy_lower_append(l, s->b), step = vy_lower_append(l, s->c);
        vy_symbol name = vy_lower_name(l, s->names->name);
        set_position(l, s);
        variable = vy_irb_for(&l->draft, name, type, from, to, step);
    }
    declare(l, s, s->names, type, variable);
    vy_lower_statements(l, s->body);
    vy_lower_leave_scope(l, mark);
    close_block(l);
}

static void lower_region(vy_lowering *l, const vy_ast_stmt *s) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_REGION);
    set_position(l, s);
    if (!s->text)
        l->live = 0;
    if (l->live) {
        stmt.name = vy_irb_intern(&l->draft, s->text, s->length);
        vy_irb_stmt(&l->draft, &stmt, NULL, 0, NULL, NULL);
    }
    lower_block(l, s->body);
    close_block(l);
}

static void lower_jump(vy_lowering *l, const vy_ast_stmt *s) {
    set_position(l, s);
    if (l->live)
        vy_irb_simple(&l->draft, s->kind == VY_AST_STMT_BREAK ? VY_STMT_BREAK : VY_STMT_CONTINUE);
}

/* ---- any statement ---- */

typedef void lower_one(vy_lowering *l, const vy_ast_stmt *s);
static lower_one *const lowerings[] = {
    [VY_AST_STMT_LET] = lower_let,         [VY_AST_STMT_VAR] = lower_let,
    [VY_AST_STMT_ASSIGN] = lower_assign,   [VY_AST_STMT_CALL] = lower_call,
    [VY_AST_STMT_BARRIER] = lower_barrier, [VY_AST_STMT_GRID_BARRIER] = lower_barrier,
    [VY_AST_STMT_TRAP] = lower_trap,       [VY_AST_STMT_PRINT] = lower_print,
    [VY_AST_STMT_IF] = lower_if,           [VY_AST_STMT_FOR] = lower_for,
    [VY_AST_STMT_WHILE] = lower_while,     [VY_AST_STMT_BREAK] = lower_jump,
    [VY_AST_STMT_CONTINUE] = lower_jump,   [VY_AST_STMT_RETURN] = lower_return,
    [VY_AST_STMT_REGION] = lower_region,
};

void vy_lower_statements(vy_lowering *l, const vy_ast_stmt *first) {
    for (const vy_ast_stmt *s = first; s && !l->report->out_of_memory; s = s->next) {
        lowerings[s->kind](l, s);
        l->report->out_of_memory |= l->draft.failed;
    }
}
