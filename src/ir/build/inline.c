/* Inlining: replaces every call of a function of the program by the function's body.
 *
 *   let r = f(v, t)        →     var r = 0
 *                                region "f" {
 *                                  let a = v                              one per scalar argument, in order
 *                                  for i in 0 .. 8 { s[i] = 0 }           one per private array of f
 *                                  …                                      the body, with t for its memory parameter
 *                                }
 *
 * A return becomes assignments to the results. If a return is not at the end of the body, the body is in a
 * `while true { … break }` loop, and the return also breaks out of that. Inside a loop of the body, it sets a flag of
 * that loop and breaks, and after the loop `if flag { break }` follows, which first sets the flag of the enclosing
 * loop. Private arrays of functions become arrays of the program that all calls of the function share, so each call
 * clears them. Names are kept where they are free, else they get a suffix: `a_2`.
 *
 * Invariants: the result is valid whenever the program is. src/ir/validate/calls.c counts the nodes that are created
 * here, and src/ir/validate/divergence_graph.h derives the same control flow for both. A name is visible (`visible`,
 * `declared`) from its declaration to the end of its block, and no declaration uses a visible name. Symbols of the
 * draft are valid only while draft.failed is not set. */
#include "ir/build/builder_internal.h"

#include "base/status.h"
#include "ir/irbuilder.h"

#include <stdio.h>

typedef struct inliner {
    const vyre_program *from;
    vy_irb draft;
    uint32_t *map_variable,
        /* from indices of `from` to those of the draft; each call changes the entries of its function */
        *map_memory;
    uint8_t *needed;               /* functions that the current root calls, directly or not */
    VY_VECTOR(vy_arg) args;        /* of the statement being copied */
    VY_VECTOR(uint8_t) visible;    /* by name of the draft */
    VY_VECTOR(vy_symbol) declared; /* visible names of the current function, innermost last */
    int over_limit;
    int skip_verify; /* of the draft */
} inliner;

/* A body being copied. */
typedef struct inline_frame {
    const vy_function *function;
    int is_call;      /* 0: the root, whose returns stay */
    int in_loop;      /* the body is in a `while true` loop that returns must leave */
    uint32_t results; /* first variable of the results; VY_NONE if the call ignores them */
    uint32_t flag;    /* flag of the innermost loop of the body around the current statement, if returns leave it */
    uint32_t loops;   /* loops of the body around the current statement */
    vy_position call; /* position of added statements */
} inline_frame;

/* ---- names ---- */

static vy_symbol intern_name(inliner *in, vy_symbol name) {
    const char *text = vy_symbol_name(in->from, name);
    return vy_irb_intern(&in->draft, text, strlen(text));
}

static int is_visible(const inliner *in, vy_symbol name) {
    return name < in->visible.count && in->visible.items[name];
}

static void declare_name(inliner *in, vy_symbol name) {
    uint32_t visible = in->visible.count;
    if (!in->draft.failed && name >= visible && VY_RESERVE(&in->visible, name + 1 - visible)) {
        in->visible.count = name + 1;
        memset(in->visible.items + visible, 0, in->visible.count - visible);
    }
    in->draft.failed |= name >= in->visible.count;
    if (in->draft.failed)
        return; /* `visible` has an entry for every declared name */
    vy_symbol *slot = VY_PUSH(&in->declared);
    in->draft.failed |= !slot;
    if (!slot)
        return;
    in->visible.items[name] = 1;
    *slot = name;
}

static void end_scope(inliner *in, uint32_t mark) {
    while (in->declared.count > mark)
        in->visible.items[in->declared.items[--in->declared.count]] = 0;
}

static vy_symbol unique_name(inliner *in, const char *text, const vy_intern_pool *avoid) {
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

static vy_symbol variable_name(inliner *in, uint32_t variable) {
    return unique_name(in, vy_symbol_name(in->from, in->from->variables.items[variable].name), NULL);
}

/* ---- small statements ---- */

static uint32_t copy_expr(inliner *in, uint32_t root) {
    return vy_irb_clone_expr(&in->draft, in->from, root, in->map_variable, in->map_memory);
}

static uint32_t literal(inliner *in, vyre_type type, uint64_t bits) {
    return vy_irb_literal(&in->draft, type, bits);
}

static int is_over_limit(inliner *in) {
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

/* The number of returns at the end of a path through the block. Recursion is bounded by VY_LIMIT_NESTING. */
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

static void emit_return(inliner *in, const inline_frame *f, uint32_t index) {
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

/* Declares a flag before a loop of the body that a return may leave. Each loop has a separate flag: with a shared one,
 * a divergent return in one loop would make the code after another loop appear divergent, because the uniformity of
 * variables is flow-insensitive. */
static void emit_flag(inliner *in, inline_frame *f) {
    vy_symbol name = unique_name(in, "returned", NULL);
    in->draft.position = f->call;
    declare_name(in, name);
    f->flag = vy_irb_var(&in->draft, name, VYRE_TYPE_BOOL, literal(in, VYRE_TYPE_BOOL, 0));
}

/* After that loop: leaves the next loop around it if the flag is set. */
static void emit_return_check(inliner *in, const inline_frame *f, uint32_t flag) {
    in->draft.position = f->call;
    vy_irb_if(&in->draft, vy_irb_variable(&in->draft, flag));
    if (f->loops)
        vy_irb_assign(&in->draft, f->flag, literal(in, VYRE_TYPE_BOOL, 1));
    vy_irb_simple(&in->draft, VY_STMT_BREAK);
    vy_irb_end_block(&in->draft);
}

/* ---- statements ---- */

/* Copies a statement and maps its references. Structured statements are left open. */
static void emit_copy(inliner *in, uint32_t index) {
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
    copy.name = intern_name(in, s->name);
    for (uint32_t i = 0; i < s->result_count; i++) {
        names[i] = variable_name(in, s->variable + i);
        types[i] = (vyre_type)p->variables.items[s->variable + i].type;
        if (s->kind != VY_STMT_FOR)
            declare_name(in, names[i]); /* the body declares the loop variable */
    }
    in->draft.position = vy_stmt_position(p, index);
    if (in->draft.failed)
        return;
    uint32_t made = vy_irb_stmt(&in->draft, &copy, in->args.items, in->args.count, names, types);
    for (uint32_t i = 0; i < s->result_count && made != VY_NONE; i++)
        in->map_variable[s->variable + i] = in->draft.program->stmts.items[made].variable + i;
}

/* Recursion is bounded by VY_LIMIT_NESTING and VY_LIMIT_CALL_DEPTH. */
static void inline_block(inliner *in, inline_frame *frame, uint32_t first, uint32_t end);

static void emit_structured(inliner *in, inline_frame *f, uint32_t index) {
    const vy_stmt *s = &in->from->stmts.items[index];
    int is_loop = vy_stmt_is_loop(s->kind);
    int has_returns = is_loop && f->in_loop && count_returns(in->from, index, s->end);
    uint32_t outer = f->flag;
    if (has_returns)
        emit_flag(in, f);
    emit_copy(in, index);
    uint32_t mark = in->declared.count;
    if (s->kind == VY_STMT_FOR && !in->draft.failed)
        declare_name(in, in->draft.program->variables.items[in->map_variable[s->variable]].name);
    f->loops += (uint32_t)is_loop;
    inline_block(in, f, index + 1, s->middle);
    end_scope(in, mark);
    if (s->middle != s->end) {
        vy_irb_else(&in->draft);
        inline_block(in, f, s->middle, s->end);
        end_scope(in, mark);
    }
    f->loops -= (uint32_t)is_loop;
    vy_irb_end_block(&in->draft);
    uint32_t flag = f->flag;
    f->flag = outer;
    if (has_returns)
        emit_return_check(in, f, flag);
}

/* ---- calls ---- */

static uint32_t declare_results(inliner *in, const vy_stmt *s) {
    uint32_t first = VY_NONE;
    for (uint32_t i = 0; i < s->result_count; i++) {
        vyre_type type = (vyre_type)in->from->variables.items[s->variable + i].type;
        vy_symbol name = variable_name(in, s->variable + i);
        declare_name(in, name);
        uint32_t variable = vy_irb_var(&in->draft, name, type, literal(in, type, 0));
        in->map_variable[s->variable + i] = variable;
        first = i == 0 ? variable : first;
    }
    return first;
}

static void bind_arguments(inliner *in, const vy_stmt *s, const vy_function *callee, vy_position at) {
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
        declare_name(in, name);
        in->map_variable[param->index] =
            vy_irb_let(&in->draft, name, (vyre_type)p->variables.items[param->index].type, value);
    }
}

static uint32_t memory_param_count(const vyre_program *p, const vy_function *f) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->param_count; i++)
        count += p->params.items[f->first_param + i].is_memory;
    return count;
}

static void clear_arrays(inliner *in, const vy_function *callee) {
    for (uint32_t i = memory_param_count(in->from, callee); i < callee->memory_count; i++) {
        const vy_memory *m = &in->from->memories.items[callee->first_memory + i];
        if (m->space == VY_SPACE_CONSTANT)
            continue;
        uint32_t from = literal(in, VYRE_TYPE_U32, 0), to = literal(in, VYRE_TYPE_U32, m->elements);
        uint32_t at = vy_irb_for(&in->draft, unique_name(in, "i", NULL), VYRE_TYPE_U32, from, to, VY_NONE);
        uint32_t index = vy_irb_variable(&in->draft, at);
        vy_irb_store(&in->draft, in->map_memory[callee->first_memory + i], index, literal(in, (vyre_type)m->type, 0));
        vy_irb_end_block(&in->draft);
    }
}

static void emit_body(inliner *in, inline_frame *f) {
    const vyre_program *p = in->from;
    const vy_function *callee = f->function;
    int returns = count_returns(p, callee->first_stmt, callee->end_stmt);
    f->in_loop = returns != count_last_returns(p, callee->first_stmt, callee->end_stmt);
    if (!f->in_loop) {
        inline_block(in, f, callee->first_stmt, callee->end_stmt);
        return;
    }
    vy_irb_while(&in->draft, literal(in, VYRE_TYPE_BOOL, 1));
    uint32_t mark = in->declared.count;
    inline_block(in, f, callee->first_stmt, callee->end_stmt);
    end_scope(in, mark);
    /* A return directly at the end was replaced by a break. */
    int ends_in_break = 0;
    for (uint32_t i = callee->first_stmt; i < callee->end_stmt; i = p->stmts.items[i].end)
        ends_in_break = p->stmts.items[i].kind == VY_STMT_RETURN;
    in->draft.position = f->call;
    if (!ends_in_break)
        vy_irb_simple(&in->draft, VY_STMT_BREAK);
    vy_irb_end_block(&in->draft);
}

static void emit_call(inliner *in, uint32_t index) {
    const vyre_program *p = in->from;
    const vy_stmt *s = &p->stmts.items[index];
    const vy_function *callee = &p->functions.items[s->callee];
    vy_position at = vy_stmt_position(p, index);
    inline_frame f = {.function = callee, .is_call = 1, .flag = VY_NONE, .call = at};
    in->draft.position = at;
    f.results = declare_results(in, s);
    vy_stmt region = vy_irb_blank_stmt(VY_STMT_REGION);
    region.name = intern_name(in, callee->name);
    vy_irb_stmt(&in->draft, &region, NULL, 0, NULL, NULL);
    uint32_t mark = in->declared.count;
    bind_arguments(in, s, callee, at);
    in->draft.position = at;
    clear_arrays(in, callee);
    emit_body(in, &f);
    end_scope(in, mark);
    vy_irb_end_block(&in->draft);
}

/* Whether a statement can be copied unchanged: it declares no variables, uses no names and has no arguments. */
static int is_plain(const inline_frame *f, const vy_stmt *s) {
    return !vy_stmt_is_structured(s->kind) && s->kind != VY_STMT_CALL && !(s->kind == VY_STMT_RETURN && f->is_call) &&
           !s->result_count && !s->name && !s->arg_count;
}

/* The end of the run of such statements that starts at `first`. */
static uint32_t plain_end(const inliner *in, const inline_frame *f, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = in->from->stmts.items;
    uint32_t i = first;
    while (i < end && is_plain(f, &stmts[i]))
        i++;
    return i;
}

static void inline_block(inliner *in, inline_frame *f, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !is_over_limit(in); i = in->from->stmts.items[i].end) {
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

/* ---- declarations of the program ---- */

static void declare_scalar(inliner *in, uint32_t variable) {
    const vy_variable *v = &in->from->variables.items[variable];
    vy_symbol name = intern_name(in, v->name);
    in->draft.position = v->position;
    in->map_variable[variable] = vy_irb_scalar_param(&in->draft, name, (vyre_type)v->type);
    declare_name(in, name);
}

static void declare_memory(inliner *in, uint32_t memory) {
    const vy_memory *m = &in->from->memories.items[memory];
    vy_symbol name = intern_name(in, m->name);
    in->draft.position = m->position;
    in->map_memory[memory] =
        vy_irb_memory_param(&in->draft, name, (vy_space)m->space, (vyre_type)m->type, (vyre_access)m->access, m->size);
    declare_name(in, name);
}

static void declare_array(inliner *in, uint32_t memory, vy_symbol name) {
    const vy_memory *m = &in->from->memories.items[memory];
    in->draft.position = m->position;
    in->map_memory[memory] = vy_irb_clone_array(&in->draft, in->from, memory, name);
    declare_name(in, name);
}

/* Maps a constant array to one of the current function with the same type and contents. Returns 0 if there is none. */
static int share_constant(inliner *in, uint32_t memory) {
    const vy_memory *m = &in->from->memories.items[memory];
    if (m->space != VY_SPACE_CONSTANT)
        return 0;
    const vyre_program *made = in->draft.program;
    if (in->draft.failed)
        return 0;
    uint32_t table = vy_irb_table(&in->draft, (vyre_type)m->type, m->elements, vy_constant_bytes(in->from, m));
    for (uint32_t i = made->functions.items[made->functions.count - 1].first_memory; i < made->memories.count; i++) {
        const vy_memory *other = &made->memories.items[i];
        if (other->space == VY_SPACE_CONSTANT && other->table == table && other->type == m->type) {
            in->map_memory[memory] = i;
            return 1;
        }
    }
    return 0;
}

/* Marks the functions that a function calls. Recursion is bounded by VY_LIMIT_CALL_DEPTH. */
static void mark_needed(inliner *in, const vy_function *f) {
    for (uint32_t i = f->first_stmt; i < f->end_stmt; i++) {
        const vy_stmt *s = &in->from->stmts.items[i];
        if (s->kind != VY_STMT_CALL || s->callee == VY_NONE || in->needed[s->callee])
            continue;
        in->needed[s->callee] = 1;
        mark_needed(in, &in->from->functions.items[s->callee]);
    }
}

/* The arrays of the root keep their names. An array of a called function is named after the function and the array,
 * with a name that is unique in the program, unless it is constant and equal to one that exists. */
static void declare_arrays(inliner *in, const vy_function *root, uint32_t first) {
    const vyre_program *p = in->from;
    for (uint32_t i = first; i < root->memory_count; i++)
        declare_array(in, root->first_memory + i, intern_name(in, p->memories.items[root->first_memory + i].name));
    memset(in->needed, 0, p->functions.count);
    mark_needed(in, root);
    for (uint32_t k = 0; k < p->functions.count; k++) {
        const vy_function *f = &p->functions.items[k];
        for (uint32_t i = memory_param_count(p, f); in->needed[k] && i < f->memory_count; i++) {
            char text[2 * VY_LIMIT_NAME + 2];
            if (share_constant(in, f->first_memory + i))
                continue;
            snprintf(text, sizeof text, "%s_%s", vy_symbol_name(p, f->name),
                     vy_symbol_name(p, p->memories.items[f->first_memory + i].name));
            for (char *at = text + strcspn(text, ".:-"); *at; at += strcspn(at, ".:-"))
                *at = '_'; /* a function that implements an op */
            declare_array(in, f->first_memory + i, unique_name(in, text, &p->names));
        }
    }
}

static void copy_entry(inliner *in, const vy_function *entry) {
    const vyre_program *p = in->from;
    in->draft.position = entry->position;
    vy_irb_clone_entry(&in->draft, p);
    for (uint32_t i = 0; i < p->param_count; i++)
        declare_scalar(in, entry->first_variable + i);
    for (uint32_t i = 0; i < p->buffer_count; i++)
        declare_memory(in, entry->first_memory + i);
    declare_arrays(in, entry, p->buffer_count);
}

static void copy_signature(inliner *in, const vy_function *f) {
    const vyre_program *p = in->from;
    in->draft.position = f->position;
    vy_irb_begin_function(&in->draft, intern_name(in, f->name));
    for (uint32_t i = 0; i < f->param_count; i++) {
        const vy_param *param = &p->params.items[f->first_param + i];
        if (param->is_memory)
            declare_memory(in, param->index);
        else
            declare_scalar(in, param->index);
    }
    for (uint32_t i = 0; i < f->result_count; i++) {
        const vy_result *result = &p->results.items[f->first_result + i];
        vy_irb_result(&in->draft, intern_name(in, result->name), (vyre_type)result->type);
    }
    declare_arrays(in, f, memory_param_count(p, f));
}

/* Copies the entry, or each function of a library, with its calls inlined. */
static void copy_roots(inliner *in) {
    const vyre_program *p = in->from;
    int has_entry = vy_program_has_entry(p);
    for (uint32_t i = has_entry ? p->functions.count - 1 : 0; i < p->functions.count && !is_over_limit(in); i++) {
        const vy_function *root = &p->functions.items[i];
        inline_frame f = {.function = root, .results = VY_NONE, .flag = VY_NONE};
        if (has_entry)
            copy_entry(in, root);
        else
            copy_signature(in, root);
        inline_block(in, &f, root->first_stmt, root->end_stmt);
        vy_irb_end_function(&in->draft);
        end_scope(in, 0);
    }
}

static vyre_status start(inliner *in, vyre_error *error) {
    const vyre_program *p = in->from;
    vyre_status status = vy_irb_start(&in->draft, vy_symbol_name(p, p->name), error);
    if (status != VYRE_OK)
        return status;
    in->map_variable = vy_allocate(vy_array_size(p->variables.count + 1u, sizeof *in->map_variable));
    in->map_memory = vy_allocate(vy_array_size(p->memories.count + 1u, sizeof *in->map_memory));
    in->needed = vy_allocate(p->functions.count);
    if (!in->map_variable || !in->map_memory || !in->needed)
        return vy_fail_memory(error, "the inlined program");
    vyre_program *made = in->draft.program;
    made->keepalive = vy_keepalive_retain(p->keepalive);
    made->kind = p->kind;
    made->level = p->level;
    made->numerics = p->numerics;
    in->draft.keep_positions = p->stmt_positions.count != 0;
    in->draft.skip_verify = in->skip_verify;
    vy_irb_reserve(&in->draft, p);
    return VYRE_OK;
}

static vyre_status finish(inliner *in, vyre_program **out, vyre_error *error) {
    const char *fix = "inline a smaller library, or call in loops instead of many times";
    if (in->over_limit && !in->draft.failed)
        return vy_fail(error, VYRE_LIMIT, fix,
                       "the inlined program has more statements or expressions than the limit (%d, %d)",
                       VY_LIMIT_STATEMENTS, VY_LIMIT_EXPRESSIONS);
    vyre_status status = vy_irb_finish(&in->draft, in->from->source, NULL, out, error);
    if (status != VYRE_INVALID_PROGRAM || vy_program_entry(in->from))
        return status;
    /* The functions of a library are valid one by one; only the inlined code can exceed a limit. */
    return vy_fail(error, VYRE_LIMIT, fix,
                   "a function has more arrays than the limits (%d, %d bytes) once its calls are inlined",
                   VY_LIMIT_ARRAYS, VY_LIMIT_PRIVATE_BYTES);
}

static vyre_status inline_calls(const vyre_program *program, int skip_verify, vyre_program **out, vyre_error *error) {
    *out = NULL;
    if (!(program->facts & VY_PROGRAM_HAS_CALL)) {
        *out = vyre_program_retain((vyre_program *)program);
        return VYRE_OK;
    }
    inliner in = {.from = program, .skip_verify = skip_verify && vy_program_has_entry(program)};
    vyre_status status = start(&in, error);
    if (status == VYRE_OK) {
        copy_roots(&in);
        status = finish(&in, out, error);
    }
    vy_irb_discard(&in.draft);
    vy_release(in.map_variable, vy_array_size(program->variables.count + 1u, sizeof *in.map_variable));
    vy_release(in.map_memory, vy_array_size(program->memories.count + 1u, sizeof *in.map_memory));
    vy_release(in.needed, program->functions.count);
    VY_VECTOR_FREE(&in.args);
    VY_VECTOR_FREE(&in.visible);
    VY_VECTOR_FREE(&in.declared);
    return status;
}

vyre_status vyre_program_inline(const vyre_program *program, vyre_program **out, vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, program);
    return inline_calls(program, 0, out, error);
}

vyre_status vy_program_inline_unverified(const vyre_program *program, vyre_program **out, vyre_error *error) {
    return inline_calls(program, 1, out, error);
}
