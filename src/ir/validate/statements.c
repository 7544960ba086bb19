/* Bodies: scopes, control, and the statements that only compute. One walk over the statements of each function, in order.
 *
 * A name may be declared again once the block that declared it has ended, never while it is visible: nothing is shadowed. So at any time
 * a name has at most one declaration, and a table from names to their last declaration is all the scope there is. */
#include "ir/validate/statements.h"

#include "base/string.h"
#include "ir/identifiers.h"

typedef struct block {
    uint32_t stmt, end;
    uint32_t loops; /* loops open with this block, itself included */
} block;

typedef struct walk {
    vy_body_verifier body;            /* first: what the other files see */
    block open[VY_LIMIT_NESTING + 1]; /* open[0] is the body of the function */
    uint32_t depth;
} walk;

/* ---- names ---- */

/* A declaration is 2 * (index + 1), plus 1 for a memory. */
static uint32_t declaration_key(uint32_t index, int is_memory) {
    return 2 * (index + 1) + (uint32_t)is_memory;
}

static int declaration_is_visible(const vy_body_verifier *b, uint32_t declaration) {
    uint32_t index = declaration / 2 - 1;
    if (declaration == 0)
        return 0;
    if (declaration % 2)
        return index >= b->function->first_memory;
    return index >= b->function->first_variable && b->stmt < b->visible_until[index];
}

static vy_position declaration_position(const vy_body_verifier *b, uint32_t declaration) {
    uint32_t index = declaration / 2 - 1;
    return declaration % 2 ? b->program->memories.items[index].position : b->program->variables.items[index].position;
}

static void declare(vy_body_verifier *b, vy_symbol name, vy_position at, uint32_t declaration) {
    uint32_t *slot = &b->last_declarations[name];
    const char *text = vy_verifier_name(b->verifier, name);
    size_t length = *slot ? 0 : strlen(text); /* what has been declared before has been looked at */
    if (length > VY_LIMIT_NAME) {
        vy_verifier_error(b->verifier, VY_V030, at, NULL, "a name is longer (%zu bytes) than the limit (%d)", length,
                          VY_LIMIT_NAME);
        return;
    }
    if (!*slot && !vy_text_is_name(text, length)) {
        vy_verifier_error(b->verifier, VY_V010, at, NULL, "nothing can be called `%s`", text);
        return;
    }
    if (declaration_is_visible(b, *slot)) {
        vy_position earlier = declaration_position(b, *slot);
        if (earlier.line)
            vy_verifier_error(b->verifier, VY_V011, at, NULL, "`%s` is declared already, in line %u", text,
                              earlier.line);
        else
            vy_verifier_error(b->verifier, VY_V011, at, NULL, "`%s` is declared already", text);
    }
    *slot = declaration;
}

static void declare_variable(vy_body_verifier *b, uint32_t variable, uint32_t until) {
    const vy_variable *v = &b->program->variables.items[variable];
    declare(b, v->name, v->position.line ? v->position : vy_body_position(b), declaration_key(variable, 0));
    b->visible_until[variable] = until;
    b->next_variable = variable + 1;
}

/* ---- statements that only compute ---- */

static void check_value(vy_body_verifier *b, const vy_stmt *s) {
    const vy_variable *v = &b->program->variables.items[s->variable];
    if (vy_body_expr_type(b, s->a) != v->type)
        vy_body_type_mismatch(b, VY_V060, vy_body_expr_position(b, s->a), "the value", vy_body_expr_type(b, s->a),
                              v->type);
}

static void check_assign(vy_body_verifier *b, const vy_stmt *s) {
    const vy_variable *v = &b->program->variables.items[s->variable];
    const char *name = vy_verifier_name(b->verifier, v->name);
    if (!vy_body_is_visible(b, s->variable))
        vy_verifier_error(b->verifier, VY_V052, vy_body_position(b), NULL, "`%s` is assigned %s", name,
                          s->variable < b->next_variable ? "outside the block that declares it"
                                                         : "before it is declared");
    else if (!v->is_mutable)
        vy_verifier_error(b->verifier, VY_V061, vy_body_position(b), VY_FIX("declare it with `var %s = ...`", name),
                          "`%s` is assigned, but it is immutable", name);
    check_value(b, s);
}

static void check_condition(vy_body_verifier *b, const vy_stmt *s) {
    if (vy_body_expr_type(b, s->a) != VYRE_TYPE_BOOL)
        vy_body_type_mismatch(b, VY_V063, vy_body_expr_position(b, s->a), "the condition", vy_body_expr_type(b, s->a),
                              VYRE_TYPE_BOOL);
}

static void check_for(vy_body_verifier *b, const vy_stmt *s) {
    uint8_t wanted = b->program->variables.items[s->variable].type;
    if (!(vyre_type_class((vyre_type)wanted) & VYRE_CLASS_INTEGER))
        vy_verifier_error(b->verifier, VY_V064, vy_body_position(b), NULL,
                          "the loop variable `%s` is of type %s, which is no integer",
                          vy_verifier_name(b->verifier, b->program->variables.items[s->variable].name),
                          vyre_type_name((vyre_type)wanted));
    const uint32_t operands[3] = {s->a, s->b, s->c};
    static const char *const names[3] = {"the start of the range", "the end of the range", "the step"};
    for (int i = 0; i < 3; i++)
        if (operands[i] != VY_NONE && vy_body_expr_type(b, operands[i]) != wanted)
            vy_body_type_mismatch(b, VY_V064, vy_body_expr_position(b, operands[i]), names[i],
                                  vy_body_expr_type(b, operands[i]), wanted);
}

static void check_trap(vy_body_verifier *b, const vy_stmt *s) {
    if (vy_body_expr_type(b, s->a) != VYRE_TYPE_U32)
        vy_body_type_mismatch(b, VY_V069, vy_body_expr_position(b, s->a), "the code of a trap",
                              vy_body_expr_type(b, s->a), VYRE_TYPE_U32);
}

static void check_report(vy_body_verifier *b, const vy_stmt *s) {
    vy_verify_level(b, vy_body_position(b), "write `trap` with that code", "`report`");
    check_trap(b, s);
}

static void check_print(vy_body_verifier *b, const vy_stmt *s) {
    const char *format = vy_verifier_name(b->verifier, s->name);
    size_t length = strlen(format);
    if (length > VY_LIMIT_STRING) {
        vy_verifier_error(b->verifier, VY_V031, vy_body_position(b), NULL,
                          "a print format is longer (%zu bytes) than the limit (%d)", length, VY_LIMIT_STRING);
        return;
    }
    if (vy_utf8_valid(format, length) != length)
        vy_verifier_error(b->verifier, VY_V077, vy_body_position(b), NULL,
                          "a print format is no valid UTF-8 from byte %zu on", vy_utf8_valid(format, length));
    uint32_t places = 0;
    for (const char *at = format; (at = strstr(at, "{}")) != NULL; at += 2)
        places++;
    if (places != s->arg_count)
        vy_verifier_error(b->verifier, VY_V070, vy_body_position(b), NULL,
                          "the format has %u places {}, but %u values are given", places, s->arg_count);
}

static void check_return(vy_body_verifier *b, const vy_stmt *s) {
    const vyre_program *p = b->program;
    const vy_function *f = b->function;
    if (s->arg_count != f->result_count) {
        vy_verifier_error(b->verifier, VY_V066, vy_body_position(b), NULL, "%u value%s returned, but %u %s declared",
                          s->arg_count, s->arg_count == 1 ? " is" : "s are", f->result_count,
                          f->result_count == 1 ? "is" : "are");
        return;
    }
    for (uint32_t i = 0; i < s->arg_count; i++) {
        uint32_t value = p->args.items[s->args + i].index;
        uint8_t wanted = p->results.items[f->first_result + i].type;
        if (vy_body_expr_type(b, value) != wanted)
            vy_body_type_mismatch(b, VY_V066, vy_body_expr_position(b, value), "the returned value",
                                  vy_body_expr_type(b, value), wanted);
    }
}

static void check_region(vy_body_verifier *b, const vy_stmt *s) {
    const char *name = vy_verifier_name(b->verifier, s->name);
    size_t length = strlen(name);
    if (length > VY_LIMIT_NAME)
        vy_verifier_error(b->verifier, VY_V030, vy_body_position(b), NULL,
                          "the name of a region is longer (%zu bytes) than the limit (%d)", length, VY_LIMIT_NAME);
    else if (!vy_text_is_identifier(name, length) && !vy_text_is_op_id(name, length))
        vy_verifier_error(b->verifier, VY_V010, vy_body_position(b), NULL, "a region cannot be called `%s`", name);
}

static void (*const checks[VY_STMT_KIND_COUNT])(vy_body_verifier *, const vy_stmt *) = {
    [VY_STMT_LET] = check_value,
    [VY_STMT_VAR] = check_value,
    [VY_STMT_ASSIGN] = check_assign,
    [VY_STMT_STORE] = vy_verify_store,
    [VY_STMT_ATOMIC] = vy_verify_atomic,
    [VY_STMT_COLLECTIVE] = vy_verify_collective,
    [VY_STMT_CALL] = vy_verify_call,
    [VY_STMT_TRAP] = check_trap,
    [VY_STMT_PRINT] = check_print,
    [VY_STMT_IF] = check_condition,
    [VY_STMT_FOR] = check_for,
    [VY_STMT_WHILE] = check_condition,
    [VY_STMT_RETURN] = check_return,
    [VY_STMT_REGION] = check_region,
    [VY_STMT_LOAD_WIDE] = vy_verify_load_wide,
    [VY_STMT_STORE_WIDE] = vy_verify_store_wide,
    [VY_STMT_RECORD_TRAP] = check_report,
    [VY_STMT_POLL] = vy_verify_poll,
};

/* ---- control ---- */

/* Whether a loop with this condition and body can end by itself or by a break: only `while true` without one cannot. */
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

/* Whether control can reach the end of the block [first, end). Recursion follows blocks, so VY_LIMIT_NESTING bounds it. */
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
    vy_body_verifier *b = &w->body;
    static const char *const names[] = {
        [VY_STMT_BREAK] = "break", [VY_STMT_CONTINUE] = "continue", [VY_STMT_RETURN] = "return"};
    if (s->kind != VY_STMT_BREAK && s->kind != VY_STMT_CONTINUE && s->kind != VY_STMT_RETURN)
        return;
    if (s->kind != VY_STMT_RETURN && w->open[w->depth].loops == 0)
        vy_verifier_error(b->verifier, VY_V065, vy_body_position(b), NULL, "`%s` stands outside any loop",
                          names[s->kind]);
    if (b->stmt + 1 < block_end)
        vy_verifier_error(b->verifier, VY_V068, vy_stmt_position(b->program, b->stmt + 1), NULL,
                          "a statement follows `%s` in the same block", names[s->kind]);
}

/* ---- the walk ---- */

static void check_statement(walk *w, uint32_t index) {
    vy_body_verifier *b = &w->body;
    const vy_stmt *s = &b->program->stmts.items[index];
    while (w->depth && w->open[w->depth].end == index)
        w->depth--;
    uint32_t block_end = vy_block_end(b->program, b->function, w->open[w->depth].stmt, index);
    b->stmt = index;
    uint32_t end = vy_stmt_exprs_end(b->program, s, b->next_expr);
    for (; b->next_expr < end; b->next_expr++)
        vy_verify_expression(b, b->next_expr);
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
    vy_body_verifier *b = &w->body;
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
                          "`%s` gives results, but its end can be reached without a return",
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
