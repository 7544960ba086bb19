/* Names, statements and control flow of dialects of C (c_family.h).
 *
 * Params, buffers, variables and arrays keep their names where the language allows it. Barriers, atomics and how an
 * invocation ends differ between dialects, which write these statements. */
#include "emit/c_family/c_family.h"

#include "analysis/trip_count.h"
#include "base/diagnostics.h"
#include "base/status.h"
#include "ir/eval.h"

#include <stdio.h>

/* ---- names ---- */

void vy_c_refuse(vy_c *c, const char *what) {
    if (c->status == VYRE_OK)
        c->status = vy_fail(c->error, VYRE_UNSUPPORTED, "emit the program of level source that this one was made from",
                            "%s for `%s` cannot be written: it has %s", c->dialect->language,
                            vyre_program_name(c->program), what);
}

void vy_c_refuse_memory(vy_c *c) {
    if (c->status == VYRE_OK)
        c->status = vy_fail_memory(c->error, "emitting C");
}

void vy_c_source_name(vy_c *c) {
    for (const char *at = c->program->source ? vy_source_name(c->program->source) : "a program in memory"; *at; at++) {
        vy_string_char(c->out, *at);
        if ((at[0] == '*' && at[1] == '/') || (at[0] == '/' && at[1] == '*'))
            vy_string_char(c->out, ' ');
    }
}

/* Macros are in capitals (except M_PIf and the like); identifiers that begin with an underscore are reserved. */
static int is_for_macros(const char *text) {
    return text[0] == '_' || strncmp(text, "M_", 2) == 0 ||
           (text[1] && !text[strcspn(text, "abcdefghijklmnopqrstuvwxyz")]);
}

/* Whether there is a name: the first `length` bytes and, from 2 on, the number. */
static int is_taken(const vy_c *c, vy_string *name, size_t length, unsigned number) {
    name->length = length;
    if (number > 1)
        vy_string_format(name, "_%u", number);
    return !name->failed && vy_intern_pool_find(&c->names, name->text, name->length) != VY_SYMBOL_INVALID;
}

/* Inlined ops have thousands of variables of one name, so the number is found by bisection: `taken` is, `number` is
 * not. */
vy_symbol vy_c_unique(vy_c *c, const char *given) {
    vy_string name = {0};
    vy_string_format(&name, "%s%s%s", given[0] == '_' ? "v" : "", given, is_for_macros(given) ? "_" : "");
    size_t length = name.length;
    unsigned taken = 0, number = 1;
    for (; is_taken(c, &name, length, number); number *= 2)
        taken = number;
    while (number - taken > 1) {
        unsigned middle = taken + (number - taken) / 2;
        *(is_taken(c, &name, length, middle) ? &taken : &number) = middle;
    }
    (void)is_taken(c, &name, length, number); /* spells it */
    vy_symbol made = name.failed ? VY_SYMBOL_INVALID : vy_intern_pool_add(&c->names, name.text, name.length);
    vy_string_free(&name);
    if (made == VY_SYMBOL_INVALID)
        vy_c_refuse_memory(c);
    return made == VY_SYMBOL_INVALID ? 0 : made;
}

void vy_c_open(vy_c *c, const vyre_program *program, const vy_c_dialect *dialect, vyre_error *error) {
    memset(c, 0, sizeof *c);
    c->program = program;
    c->entry = vy_program_entry(program);
    c->dialect = dialect;
    c->error = error;
    c->branch = VY_NONE;
    c->variables = vy_arena_allocate(&c->arena, (program->variables.count + 1) * sizeof *c->variables);
    c->memories = vy_arena_allocate(&c->arena, (program->memories.count + 1) * sizeof *c->memories);
    c->lengths = vy_arena_allocate(&c->arena, (program->memories.count + 1) * sizeof *c->lengths);
    c->is_measured = vy_arena_allocate(&c->arena, program->memories.count + 1);
    c->is_kept = vy_arena_allocate(&c->arena, program->variables.count + 1);
    c->is_kept_array = vy_arena_allocate(&c->arena, program->memories.count + 1);
    c->uses = (vy_def_use){.program = program, .arena = &c->arena};
    if (!vy_def_use_need(&c->uses, VY_DEF_USE_DECLARATIONS) || !c->variables || !c->memories || !c->lengths ||
        !c->is_measured || !c->is_kept || !c->is_kept_array)
        vy_c_refuse_memory(c);
    for (size_t i = 0; dialect->reserved[i] && c->status == VYRE_OK; i++)
        if (vy_intern_pool_add(&c->names, dialect->reserved[i], strlen(dialect->reserved[i])) == VY_SYMBOL_INVALID)
            vy_c_refuse_memory(c);
}

void vy_c_close(vy_c *c) {
    vy_string_free(&c->functions);
    VY_VECTOR_FREE(&c->fields);
    vy_intern_pool_free(&c->names);
    vy_intern_pool_free(&c->defined);
    vy_arena_free(&c->arena);
}

const char *vy_c_keep(vy_c *c, const char *text) {
    const char *kept = vy_arena_copy(&c->arena, text, strlen(text));
    if (!kept)
        vy_c_refuse_memory(c);
    return kept ? kept : "";
}

/* Params and buffers first, since callers use their names. */
void vy_c_name_all(vy_c *c) {
    const vyre_program *p = c->program;
    const vy_function *f = c->entry;
    for (uint32_t i = 0; i < p->param_count && c->status == VYRE_OK; i++)
        c->variables[f->first_variable + i] =
            vy_c_unique(c, vy_symbol_name(p, p->variables.items[f->first_variable + i].name));
    for (uint32_t i = f->first_memory; i < f->first_memory + f->memory_count && c->status == VYRE_OK; i++) {
        const char *name = vy_symbol_name(p, p->memories.items[i].name);
        int is_table = p->memories.items[i].space == VY_SPACE_CONSTANT; /* outside of functions */
        c->memories[i] = vy_c_unique(c, is_table ? VY_FIX("%.100s_table_%s", vyre_program_name(p), name) : name);
        if (p->memories.items[i].space == VY_SPACE_BUFFER)
            c->lengths[i] = vy_c_unique(c, VY_FIX("%s_length", name));
    }
    for (uint32_t i = p->param_count; i < f->variable_count && c->status == VYRE_OK; i++)
        c->variables[f->first_variable + i] =
            vy_c_unique(c, vy_symbol_name(p, p->variables.items[f->first_variable + i].name));
}

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

/* A new identifier, which stays valid. */
static const char *new_name(vy_c *c, const char *given) {
    return vy_c_keep(c, vy_c_text(c, vy_c_unique(c, given)));
}

static void assign(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    if (s->kind == VY_STMT_ASSIGN && vy_c_is_variable(c, s->a, s->variable))
        return;                                  /* compilers warn of x = x */
    if (s->kind == VY_STMT_ASSIGN && c->guard) { /* in the select, NVVM would branch around its loads */
        const char *value = new_name(c, "value");
        vy_c_line(c, stmt, "const %s %s = %e;", vy_c_type(c, vy_c_variable_type(c, s->variable)), value, s->a);
        vy_c_line(c, stmt, "%v = %s ? %s : %v;", s->variable, c->guard, value, s->variable);
        return;
    }
    if (s->kind == VY_STMT_ASSIGN && c->choice_zero && c->branch != VY_NONE &&
        c->uses.declarations[s->variable] < c->branch && vy_c_is_bitwise(c, s->a)) {
        vy_c_line(c, stmt, "%v = %p + (%s)%s;", s->variable, s->a, (unsigned)VY_C_ADD,
                  vy_c_type(c, vy_c_variable_type(c, s->variable)), c->choice_zero);
        return;
    }
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
    c->indentation--;
}

/* Writes statements that have an effect if the current guard and a condition hold: a bool variable, or its negation. */
static void guarded(vy_c *c, uint32_t stmt, const char *condition, uint32_t first, uint32_t end) {
    const char *before = c->guard;
    c->guard = condition;
    if (before || condition[0] == '!') {
        c->guard = new_name(c, "takes");
        vy_c_line(c, stmt, "const bool %s = %s%s%s;", c->guard, before ? before : "", before ? " & " : "", condition);
    }
    vy_c_block(c, first, end);
    c->guard = before;
}

/* If-conversion: the statements of both branches execute; assignments and loads have an effect only in the branch that
 * is taken. The loads of several branches then overlap. */
static void flat_if(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    const char *condition = new_name(c, "condition");
    vy_c_line(c, stmt, "const bool %s = %e;", condition, s->a);
    guarded(c, stmt, condition, stmt + 1, s->middle);
    if (s->middle < s->end)
        guarded(c, s->middle, VY_FIX("!%s", condition), s->middle, s->end);
}

/* Writes a line that begins a block. A condition that leaves a loop gets an exclusive or with the dialect's zero, so
 * that the compiler does not split it into several exits. */
static void decide(vy_c *c, uint32_t stmt, const char *word, uint32_t condition, int leaves) {
    const char *zero = c->dialect->unknown_zero, *type = vy_c_type(c, VYRE_TYPE_U32);
    if (leaves && zero && vy_c_expr_at(c, condition)->kind != VY_EXPR_LITERAL)
        vy_c_line(c, stmt, "%s ((%s)(%e) ^ (%s)%s) {", word, type, condition, type, zero);
    else
        vy_c_line(c, stmt, "%s (%e) {", word, condition);
}

/* A chain of `else if` is written in a loop, not recursively. */
static void if_else(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    if (c->guard || is_marked(c, stmt, VY_C_MARK_FLAT)) {
        flat_if(c, stmt, s);
        return;
    }
    const uint32_t around = c->branch;
    decide(c, stmt, "if", s->a, stmt + 1 < s->middle && vy_stmt_is_jump(vy_c_stmt(c, stmt + 1)->kind));
    c->branch = stmt;
    vy_c_body(c, stmt + 1, s->middle);
    while (s->middle < s->end) {
        const vy_stmt *other = vy_c_stmt(c, s->middle);
        if (other->kind != VY_STMT_IF || other->end != s->end || is_marked(c, s->middle, VY_C_MARK_FLAT)) {
            vy_c_line(c, VY_NONE, "} else {");
            vy_c_body(c, s->middle, s->end);
            break;
        }
        vy_c_line(c, s->middle, "} else if (%e) {", other->a);
        vy_c_body(c, s->middle + 1, other->middle);
        s = other;
    }
    c->branch = around;
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
    if (c->is_kept[s->variable])
        vy_c_add_field(c, name, vy_c_variable_type(c, s->variable));
    return vy_c_keep(c, text);
}

/* Whether end and step are literals, the value after the last iteration is one of the type, and so is the distance to
 * the end: ptxas, which compiles OpenCL C of NVIDIA, counts the iterations as if nothing wrapped (E13 in
 * docs/internals/ptx.md). */
static int is_plain(const vy_c *c, const vy_stmt *s) {
    const vy_expr *from = vy_c_expr_at(c, s->a), *to = vy_c_expr_at(c, s->b), *by = vy_c_expr_at(c, s->c);
    const vy_interval whole = vy_interval_whole(from->type);
    if (to->kind != VY_EXPR_LITERAL || by->kind != VY_EXPR_LITERAL)
        return 0;
    const int is_literal = from->kind == VY_EXPR_LITERAL;
    const vy_trips t = vy_trips_from(from->type, from->bits, to->bits, by->bits);
    const vy_wide low = is_literal ? t.next : whole.low, high = is_literal ? t.next : whole.high,
                  most = whole.high >> 5;
    if (t.step > 0)
        return t.step <= most && t.end + t.step - 1 <= whole.high && t.end - low <= whole.high;
    return t.step < 0 && -t.step <= most && t.end + t.step + 1 >= whole.low && high - t.end <= whole.high;
}

/* Writes the body of a loop or region, and the closing brace. */
static void finish(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    const uint32_t branch = c->branch;
    c->indentation++;
    c->branch = vy_stmt_is_loop(s->kind) ? VY_NONE : branch;
    vy_c_block(c, stmt + 1, s->end);
    c->branch = branch;
    if (is_marked(c, stmt, VY_C_MARK_TAIL))
        vy_c_line(c, VY_NONE, c->dialect->separator);
    c->indentation--;
    vy_c_line(c, VY_NONE, "}");
}

static void for_loop(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    const uint8_t type = vy_c_variable_type(c, s->variable),
                  is_signed = vy_type_layouts[type].classes == VYRE_CLASS_SIGNED;
    const vy_expr *by = s->c == VY_NONE ? NULL : vy_c_expr_at(c, s->c);
    const uint32_t v = s->variable;
    const int has_step = by && (by->kind != VY_EXPR_LITERAL || by->bits != 1);
    if (has_step && is_plain(c, s)) {
        const int goes_back = vy_integer_of(type, by->bits) < 0;
        vy_c_line(c, stmt, goes_back ? "for (%d%e; %v > %e; %v += %e) {" : "for (%d%e; %v < %e; %v += %e) {", v, s->a,
                  v, s->b, v, s->c);
    } else if (has_step) {
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
    finish(c, stmt, s);
}

static void nested(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    if (s->kind == VY_STMT_WHILE)
        decide(c, stmt, "while", s->a, 1);
    else
        vy_c_line(c, stmt, "{ /* %s */", vy_symbol_name(c->program, s->name));
    finish(c, stmt, s);
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
        if (is_marked(c, i, VY_C_MARK_ROLLED))
            vy_c_line(c, VY_NONE, "#pragma unroll 1");
        if (writer)
            writer(c, i, s);
        else
            vy_c_refuse(c, s->kind == VY_STMT_COLLECTIVE ? "a collective" : "wide accesses, calls, traps or prints");
    }
}
