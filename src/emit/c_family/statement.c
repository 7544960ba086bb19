/* Statements and control flow of dialects of C. Barriers, atomics and how an invocation ends differ between them. */
#include "emit/c_family/c_family.h"

#include "base/status.h"
#include "ir/eval.h"

#include <stdio.h>

/* ---- lines ---- */

void vy_c_line(vy_c *c, uint32_t stmt, const char *format, ...) {
    va_list arguments;
    for (unsigned i = 0; i < c->indentation; i++)
        vy_string_add(c->out, "    ");
    va_start(arguments, format);
    vy_c_write(c, format, arguments);
    va_end(arguments);
    vy_position position = vy_stmt_position(c->program, stmt);
    if (position.line && position.line != c->line)
        vy_string_format(c->out, " // %u", position.line);
    c->line = position.line ? position.line : c->line;
    vy_string_char(c->out, '\n');
}

/* ---- simple statements ---- */

static void assign(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    if (s->kind == VY_STMT_ASSIGN && vy_c_is_variable(c, s->a, s->variable))
        return; /* compilers warn of x = x */
    vy_c_line(c, stmt,
              s->kind == VY_STMT_ASSIGN ? "%v = %e;"
              : s->kind == VY_STMT_LET  ? "%l%e;"
                                        : "%d%e;",
              s->variable, s->a);
}

void vy_c_check_access(vy_c *c, const vy_stmt *s) {
    if (s->bounds_check != VY_BOUNDS_UNCHECKED)
        vy_c_refuse(c, "an access with a bounds check");
}

static void store(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    vy_c_check_access(c, s);
    vy_c_line(c, stmt, "%m = %e;", s->memory, s->a, s->b);
}

static void jump(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    vy_c_line(c, stmt, s->kind == VY_STMT_BREAK ? "break;" : "continue;");
}

void vy_c_add_field(vy_c *c, vy_symbol name, uint8_t type) {
    vy_c_field *field = VY_PUSH(&c->fields);
    if (field)
        *field = (vy_c_field){name, type};
    else
        vy_c_refuse_memory(c);
}

/* ---- structured statements ---- */

static int is_marked(const vy_c *c, uint32_t stmt, unsigned mark) {
    return c->marks && (c->marks[stmt] & mark);
}

void vy_c_body(vy_c *c, uint32_t first, uint32_t end) {
    c->indentation++;
    vy_c_block(c, first, end);
    if (first < end && is_marked(c, first, VY_C_MARK_TAIL))
        vy_c_line(c, VY_NONE, c->dialect->separator);
    c->indentation--;
}

/* A chain of `else if` is written in a loop, not recursively. */
static void if_else(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    vy_c_line(c, stmt, "if (%e) {", s->a);
    vy_c_body(c, stmt + 1, s->middle);
    while (s->middle < s->end) {
        const vy_stmt *other = vy_c_stmt(c, s->middle);
        if (other->kind != VY_STMT_IF || other->end != s->end || is_marked(c, s->middle, VY_C_MARK_BEFORE)) {
            vy_c_line(c, VY_NONE, "} else {");
            vy_c_body(c, s->middle, s->end);
            break;
        }
        vy_c_line(c, s->middle, "} else if (%e) {", other->a);
        vy_c_body(c, s->middle + 1, other->middle);
        s = other;
    }
    vy_c_line(c, VY_NONE, "}");
}

/* The loop variable's next value, or `end` after the last one; whether there is a value. By whether the type is
 * signed. */
static const char *const next_value[] = {
    "return ($P)end - ($P)i > ($P)step ? ($T)(i + step) : end;",
    "if (step > 0)\n    return ($P)end - ($P)i > ($P)step ? ($T)(i + step) : end;\n"
    "return ($P)i - ($P)end > 0u - ($P)step ? ($T)(i + step) : end;"};
static const char *const has_value[] = {"return step > 0 && i < end;",
                                        "return step > 0 ? i < end : step < 0 && i > end;"};

/* The end or step of a `for` is evaluated once, into a separate variable. */
static const char *bound_name(vy_c *c, const vy_stmt *s, const char *suffix) {
    vy_symbol name = vy_c_unique(c, VY_FIX("%s%s", vy_c_text(c, c->variables[s->variable]), suffix));
    const char *text = VY_FIX("%s%s", c->is_kept[s->variable] ? "self->" : "", vy_c_text(c, name));
    const char *made = vy_arena_copy(&c->arena, text, strlen(text));
    if (c->is_kept[s->variable])
        vy_c_add_field(c, name, vy_c_variable_type(c, s->variable));
    if (!made)
        vy_c_refuse_memory(c);
    return made ? made : "";
}

static void for_loop(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    const uint8_t type = vy_c_variable_type(c, s->variable),
                  is_signed = vy_type_layouts[type].classes == VYRE_CLASS_SIGNED;
    const vy_expr *by = s->c == VY_NONE ? NULL : vy_c_expr_at(c, s->c);
    const uint32_t v = s->variable;
    if (by && (by->kind != VY_EXPR_LITERAL || by->bits != 1)) {
        const char *params = "$T i, $T end, $T step", *end = bound_name(c, s, "_end"),
                   *step = bound_name(c, s, "_step");
        const vy_c_name next = vy_c_define(c, "next", params, next_value[is_signed], type, type);
        const vy_c_name goes_on = vy_c_define(c, "goes_on", params, has_value[is_signed], type, VYRE_TYPE_BOOL);
        vy_c_line(c, stmt, "for (%d%e, %s = %e, %s = %e; %s(%v, %s, %s); %v = %s(%v, %s, %s)) {", v, s->a, end, s->b,
                  step, s->c, goes_on.text, v, end, step, v, next.text, v, end, step);
    } else if (vy_c_expr_at(c, s->b)->kind == VY_EXPR_LITERAL) {
        vy_c_line(c, stmt, "for (%d%e; %v < %e; %v++) {", v, s->a, v, s->b, v);
    } else {
        const char *end = bound_name(c, s, "_end");
        vy_c_line(c, stmt, "for (%d%e, %s = %e; %v < %s; %v++) {", v, s->a, end, s->b, v, end, v);
    }
    vy_c_body(c, stmt + 1, s->end);
    vy_c_line(c, VY_NONE, "}");
}

static void nested(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    if (s->kind == VY_STMT_WHILE)
        vy_c_line(c, stmt, "while (%e) {", s->a);
    else
        vy_c_line(c, stmt, "{ /* %s */", vy_symbol_name(c->program, s->name));
    vy_c_body(c, stmt + 1, s->end);
    vy_c_line(c, VY_NONE, "}");
}

static vy_c_writer *const writers[VY_STMT_KIND_COUNT] = {
    [VY_STMT_LET] = assign, [VY_STMT_VAR] = assign,    [VY_STMT_ASSIGN] = assign, [VY_STMT_STORE] = store,
    [VY_STMT_IF] = if_else, [VY_STMT_FOR] = for_loop,  [VY_STMT_WHILE] = nested,  [VY_STMT_REGION] = nested,
    [VY_STMT_BREAK] = jump, [VY_STMT_CONTINUE] = jump,
};

/* Recursion is bounded by VY_LIMIT_NESTING. */
void vy_c_block(vy_c *c, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && c->status == VYRE_OK; i = vy_c_stmt(c, i)->end) {
        const vy_stmt *s = vy_c_stmt(c, i);
        vy_c_writer *writer = c->dialect->writers[s->kind] ? c->dialect->writers[s->kind] : writers[s->kind];
        if (is_marked(c, i, VY_C_MARK_BEFORE))
            vy_c_line(c, VY_NONE, c->dialect->separator);
        if (writer)
            writer(c, i, s);
        else
            vy_c_refuse(c, s->kind == VY_STMT_COLLECTIVE ? "a collective" : "wide accesses, calls, traps or prints");
    }
}
