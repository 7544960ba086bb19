/* Bodies (inline_body.h): statements, returns, calls. inline.c says what becomes of a call. */
#include "ir/build/inline_body.h"

#include <stdio.h>

/* ---- names ---- */

vy_symbol vy_inline_intern(vy_inliner *in, vy_symbol name) {
    const char *text = vy_symbol_name(in->from, name);
    return vy_irb_intern(&in->draft, text, strlen(text));
}

static int is_visible(const vy_inliner *in, vy_symbol name) {
    return name < in->visible.count && in->visible.items[name];
}

void vy_inline_declare(vy_inliner *in, vy_symbol name) {
    uint32_t visible = in->visible.count;
    if (!in->draft.failed && name >= visible && VY_RESERVE(&in->visible, name + 1 - visible)) {
        in->visible.count = name + 1;
        memset(in->visible.items + visible, 0, in->visible.count - visible);
    }
    in->draft.failed |= name >= in->visible.count;
    if (in->draft.failed)
        return; /* every declared name has its place in visible */
    vy_symbol *slot = VY_PUSH(&in->declared);
    in->draft.failed |= !slot;
    if (!slot)
        return;
    in->visible.items[name] = 1;
    *slot = name;
}

void vy_inline_end_scope(vy_inliner *in, uint32_t mark) {
    while (in->declared.count > mark)
        in->visible.items[in->declared.items[--in->declared.count]] = 0;
}

vy_symbol vy_inline_unique_name(vy_inliner *in, const char *text, const vy_intern_pool *avoid) {
    char candidate[VY_LIMIT_NAME + 1];
    const char *wanted = text;
    for (uint32_t n = 2; !in->draft.failed; n++) {
        size_t size = strnlen(wanted, VY_LIMIT_NAME);
        vy_symbol name = vy_irb_intern(&in->draft, wanted, size);
        if (!is_visible(in, name) && !(avoid && vy_intern_pool_find(avoid, wanted, size) != VY_SYMBOL_INVALID))
            return name;
        char suffix[16];
        int length = snprintf(suffix, sizeof suffix, "_%u", n);
        snprintf(candidate, sizeof candidate, "%.*s%s", VY_LIMIT_NAME - length, text, suffix);
        wanted = candidate;
    }
    return 0;
}

static vy_symbol variable_name(vy_inliner *in, uint32_t variable) {
    return vy_inline_unique_name(in, vy_symbol_name(in->from, in->from->variables.items[variable].name), NULL);
}

/* ---- small statements ---- */

static uint32_t copy_expr(vy_inliner *in, uint32_t root) {
    return vy_irb_clone_expr(&in->draft, in->from, root, in->map_variable, in->map_memory);
}

static uint32_t literal(vy_inliner *in, vyre_type type, uint64_t bits) {
    return vy_irb_literal(&in->draft, type, bits);
}

int vy_inline_is_over_limit(vy_inliner *in) {
    const vyre_program *made = in->draft.program;
    in->over_limit |= made->stmts.count > VY_LIMIT_STATEMENTS || made->exprs.count > VY_LIMIT_EXPRESSIONS;
    return in->over_limit || in->draft.failed;
}

/* ---- returns ---- */

static int count_returns(const vyre_program *p, uint32_t first, uint32_t end) {
    int count = 0;
    for (uint32_t i = first; i < end; i++)
        count += p->stmts.items[i].kind == VY_STMT_RETURN;
    return count;
}

/* Returns that are the last thing to happen in the block. Recursion is bounded by VY_LIMIT_NESTING. */
static int count_last_returns(const vyre_program *p, uint32_t first, uint32_t end) {
    uint32_t last = VY_NONE;
    for (uint32_t i = first; i < end; i = p->stmts.items[i].end)
        last = i;
    if (last == VY_NONE)
        return 0;
    const vy_stmt *s = &p->stmts.items[last];
    if (s->kind == VY_STMT_IF)
        return count_last_returns(p, last + 1, s->middle) + count_last_returns(p, s->middle, s->end);
    if (s->kind == VY_STMT_REGION)
        return count_last_returns(p, last + 1, s->end);
    return s->kind == VY_STMT_RETURN;
}

static void emit_return(vy_inliner *in, const vy_inline_frame *f, uint32_t index) {
    const vy_stmt *s = &in->from->stmts.items[index];
    vy_position at = vy_stmt_position(in->from, index);
    for (uint32_t i = 0; i < s->arg_count && f->results != VY_NONE; i++) {
        uint32_t value = copy_expr(in, in->from->args.items[s->args + i].index);
        in->draft.position = at;
        vy_irb_assign(&in->draft, f->results + i, value);
    }
    if (!f->in_loop)
        return;
    in->draft.position = at;
    if (f->loops)
        vy_irb_assign(&in->draft, f->flag, literal(in, VYRE_TYPE_BOOL, 1));
    vy_irb_simple(&in->draft, VY_STMT_BREAK);
}

/* Before a loop of the body that a return may leave. Each has a flag of its own: with one for several, a divergent return in one loop would
 * make what follows another look divergent, because uniformity of variables does not follow the flow. */
static void emit_flag(vy_inliner *in, vy_inline_frame *f) {
    vy_symbol name = vy_inline_unique_name(in, "returned", NULL);
    in->draft.position = f->call;
    vy_inline_declare(in, name);
    f->flag = vy_irb_var(&in->draft, name, VYRE_TYPE_BOOL, literal(in, VYRE_TYPE_BOOL, 0));
}

/* After that loop: on to the next one around it. */
static void emit_return_check(vy_inliner *in, const vy_inline_frame *f, uint32_t flag) {
    in->draft.position = f->call;
    vy_irb_if(&in->draft, vy_irb_variable(&in->draft, flag));
    if (f->loops)
        vy_irb_assign(&in->draft, f->flag, literal(in, VYRE_TYPE_BOOL, 1));
    vy_irb_simple(&in->draft, VY_STMT_BREAK);
    vy_irb_end_block(&in->draft);
}

/* ---- statements ---- */

/* A statement as it is, with everything it refers to mapped. Structured ones are left open. */
static void emit_copy(vy_inliner *in, uint32_t index) {
    const vyre_program *p = in->from;
    const vy_stmt *s = &p->stmts.items[index];
    vy_stmt copy = *s;
    vy_symbol names[VY_LIMIT_RESULTS];
    vyre_type types[VY_LIMIT_RESULTS];
    copy.a = copy_expr(in, s->a);
    copy.b = copy_expr(in, s->b);
    copy.c = copy_expr(in, s->c);
    in->args.count = 0;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        vy_arg arg = p->args.items[s->args + i], *slot = VY_PUSH(&in->args);
        arg.index = arg.is_memory ? in->map_memory[arg.index] : copy_expr(in, arg.index);
        if (slot)
            *slot = arg;
        else
            in->draft.failed = 1;
    }
    copy.memory = s->memory == VY_NONE ? VY_NONE : in->map_memory[s->memory];
    copy.variable = s->kind == VY_STMT_ASSIGN ? in->map_variable[s->variable] : VY_NONE;
    copy.name = vy_inline_intern(in, s->name);
    for (uint32_t i = 0; i < s->result_count; i++) {
        names[i] = variable_name(in, s->variable + i);
        types[i] = (vyre_type)p->variables.items[s->variable + i].type;
        if (s->kind != VY_STMT_FOR)
            vy_inline_declare(in, names[i]); /* a loop variable belongs to the body */
    }
    in->draft.position = vy_stmt_position(p, index);
    if (in->draft.failed)
        return;
    uint32_t made = vy_irb_stmt(&in->draft, &copy, in->args.items, in->args.count, names, types);
    for (uint32_t i = 0; i < s->result_count && made != VY_NONE; i++)
        in->map_variable[s->variable + i] = in->draft.program->stmts.items[made].variable + i;
}

static void emit_structured(vy_inliner *in, vy_inline_frame *f, uint32_t index) {
    const vy_stmt *s = &in->from->stmts.items[index];
    int is_loop = vy_stmt_is_loop(s->kind);
    int has_returns = is_loop && f->in_loop && count_returns(in->from, index, s->end);
    uint32_t outer = f->flag;
    if (has_returns)
        emit_flag(in, f);
    emit_copy(in, index);
    uint32_t mark = in->declared.count;
    if (s->kind == VY_STMT_FOR && !in->draft.failed)
        vy_inline_declare(in, in->draft.program->variables.items[in->map_variable[s->variable]].name);
    f->loops += (uint32_t)is_loop;
    vy_inline_block(in, f, index + 1, s->middle);
    vy_inline_end_scope(in, mark);
    if (s->middle != s->end) {
        vy_irb_else(&in->draft);
        vy_inline_block(in, f, s->middle, s->end);
        vy_inline_end_scope(in, mark);
    }
    f->loops -= (uint32_t)is_loop;
    vy_irb_end_block(&in->draft);
    uint32_t flag = f->flag;
    f->flag = outer;
    if (has_returns)
        emit_return_check(in, f, flag);
}

/* ---- calls ---- */

static uint32_t declare_results(vy_inliner *in, const vy_stmt *s) {
    uint32_t first = VY_NONE;
    for (uint32_t i = 0; i < s->result_count; i++) {
        vyre_type type = (vyre_type)in->from->variables.items[s->variable + i].type;
        vy_symbol name = variable_name(in, s->variable + i);
        vy_inline_declare(in, name);
        uint32_t variable = vy_irb_var(&in->draft, name, type, literal(in, type, 0));
        in->map_variable[s->variable + i] = variable;
        first = i == 0 ? variable : first;
    }
    return first;
}

static void bind_arguments(vy_inliner *in, const vy_stmt *s, const vy_function *callee, vy_position at) {
    const vyre_program *p = in->from;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        const vy_arg *arg = &p->args.items[s->args + i];
        const vy_param *param = &p->params.items[callee->first_param + i];
        if (arg->is_memory) {
            in->map_memory[param->index] = in->map_memory[arg->index];
            continue;
        }
        uint32_t value = copy_expr(in, arg->index);
        vy_symbol name = variable_name(in, param->index);
        in->draft.position = at;
        vy_inline_declare(in, name);
        in->map_variable[param->index] =
            vy_irb_let(&in->draft, name, (vyre_type)p->variables.items[param->index].type, value);
    }
}

uint32_t vy_inline_memory_params(const vyre_program *p, const vy_function *f) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->param_count; i++)
        count += p->params.items[f->first_param + i].is_memory;
    return count;
}

static void clear_arrays(vy_inliner *in, const vy_function *callee) {
    for (uint32_t i = vy_inline_memory_params(in->from, callee); i < callee->memory_count; i++) {
        const vy_memory *m = &in->from->memories.items[callee->first_memory + i];
        uint32_t from = literal(in, VYRE_TYPE_U32, 0), to = literal(in, VYRE_TYPE_U32, m->elements);
        uint32_t at = vy_irb_for(&in->draft, vy_inline_unique_name(in, "i", NULL), VYRE_TYPE_U32, from, to, VY_NONE);
        uint32_t index = vy_irb_variable(&in->draft, at);
        vy_irb_store(&in->draft, in->map_memory[callee->first_memory + i], index, literal(in, (vyre_type)m->type, 0));
        vy_irb_end_block(&in->draft);
    }
}

static void emit_body(vy_inliner *in, vy_inline_frame *f) {
    const vyre_program *p = in->from;
    const vy_function *callee = f->function;
    int returns = count_returns(p, callee->first_stmt, callee->end_stmt);
    f->in_loop = returns != count_last_returns(p, callee->first_stmt, callee->end_stmt);
    if (!f->in_loop) {
        vy_inline_block(in, f, callee->first_stmt, callee->end_stmt);
        return;
    }
    vy_irb_while(&in->draft, literal(in, VYRE_TYPE_BOOL, 1));
    uint32_t mark = in->declared.count;
    vy_inline_block(in, f, callee->first_stmt, callee->end_stmt);
    vy_inline_end_scope(in, mark);
    /* A return that stands directly at the end has left a break there. */
    int ends_in_break = 0;
    for (uint32_t i = callee->first_stmt; i < callee->end_stmt; i = p->stmts.items[i].end)
        ends_in_break = p->stmts.items[i].kind == VY_STMT_RETURN;
    in->draft.position = f->call;
    if (!ends_in_break)
        vy_irb_simple(&in->draft, VY_STMT_BREAK);
    vy_irb_end_block(&in->draft);
}

static void emit_call(vy_inliner *in, uint32_t index) {
    const vyre_program *p = in->from;
    const vy_stmt *s = &p->stmts.items[index];
    const vy_function *callee = &p->functions.items[s->callee];
    vy_position at = vy_stmt_position(p, index);
    vy_inline_frame f = {.function = callee, .is_call = 1, .flag = VY_NONE, .call = at};
    in->draft.position = at;
    f.results = declare_results(in, s);
    vy_stmt region = vy_irb_blank_stmt(VY_STMT_REGION);
    region.name = vy_inline_intern(in, callee->name);
    vy_irb_stmt(&in->draft, &region, NULL, 0, NULL, NULL);
    uint32_t mark = in->declared.count;
    bind_arguments(in, s, callee, at);
    in->draft.position = at;
    clear_arrays(in, callee);
    emit_body(in, &f);
    vy_inline_end_scope(in, mark);
    vy_irb_end_block(&in->draft);
}

/* Whether a statement stays as it is in the body, and neither declares nor names anything nor has arguments. */
static int is_plain(const vy_inline_frame *f, const vy_stmt *s) {
    return !vy_stmt_is_structured(s->kind) && s->kind != VY_STMT_CALL && !(s->kind == VY_STMT_RETURN && f->is_call) &&
           !s->result_count && !s->name && !s->arg_count;
}

/* The end of those from `first` on: most follow each other. */
static uint32_t plain_end(const vy_inliner *in, const vy_inline_frame *f, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = in->from->stmts.items;
    uint32_t i = first;
    while (i < end && is_plain(f, &stmts[i]))
        i++;
    return i;
}

void vy_inline_block(vy_inliner *in, vy_inline_frame *f, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !vy_inline_is_over_limit(in); i = in->from->stmts.items[i].end) {
        uint32_t plain = plain_end(in, f, i, end);
        if (plain > i)
            vy_irb_clone_stmts(&in->draft, in->from, i, plain, in->map_variable, in->map_memory, NULL);
        if (plain == end)
            return;
        i = plain;
        const vy_stmt *s = &in->from->stmts.items[i];
        if (s->kind == VY_STMT_CALL && s->callee != VY_NONE)
            emit_call(in, i);
        else if (s->kind == VY_STMT_RETURN && f->is_call)
            emit_return(in, f, i);
        else if (vy_stmt_is_structured(s->kind))
            emit_structured(in, f, i);
        else
            emit_copy(in, i);
    }
}
