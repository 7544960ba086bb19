/* Closing up (dce_compact.h): first where everything goes, which may fail, then it goes there. */
#include "opt/dce_compact.h"

#include "base/status.h"
#include "ir/irbuilder.h"
#include "ir/validate/validate.h"

typedef struct closing {
    vyre_program *program;
    const vy_dce_plan *dead;
    uint32_t *stmts;     /* by statement, and for the end: where it goes, or what follows it */
    uint32_t *variables; /* by variable: likewise */
    uint32_t *memories;  /* by memory: likewise */
    vy_symbol *names;    /* by name: in `kept`; 0: not there */
    vy_intern_pool kept;
    uint64_t changes;
    int failed;
} closing;

static int goes_memory(const closing *c, uint32_t memory) {
    return memory >= c->program->buffer_count && c->dead->unused[memory];
}

static void keep_name(closing *c, vy_symbol name) {
    if (name == 0 || c->names[name])
        return;
    const char *text = vy_symbol_name(c->program, name);
    c->names[name] = vy_intern_pool_add(&c->kept, text, strlen(text));
    c->failed |= c->names[name] == VY_SYMBOL_INVALID;
}

/* ---- where everything goes ---- */

static void place_declarations(closing *c) {
    const vyre_program *p = c->program;
    uint32_t memories = 0;
    c->failed |= vy_intern_pool_add(&c->kept, "", 0) != 0;
    keep_name(c, p->name);
    for (uint32_t i = 0; i < p->param_count; i++) {
        keep_name(c, p->variables.items[i].name);
        c->variables[i] = i;
    }
    for (uint32_t i = 0; i < p->memories.count; i++) {
        c->memories[i] = memories;
        c->changes += (uint64_t)goes_memory(c, i);
        if (goes_memory(c, i))
            continue;
        keep_name(c, p->memories.items[i].name);
        memories++;
    }
    c->memories[p->memories.count] = memories;
}

static void place_stmts(closing *c) {
    const vyre_program *p = c->program;
    uint32_t stmts = 0, variables = p->param_count, gone = 0; /* gone: the end of the block that goes */
    for (uint32_t i = 0; i < p->stmts.count && !c->failed; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        c->stmts[i] = stmts;
        if (!c->dead->needed[i]) {
            c->changes += i >= gone;
            gone = i >= gone ? s->end : gone;
            continue;
        }
        stmts++;
        keep_name(c, s->name);
        for (uint32_t k = 0; k < s->result_count; k++) {
            keep_name(c, p->variables.items[s->variable + k].name);
            c->variables[s->variable + k] = variables++;
        }
    }
    c->stmts[p->stmts.count] = stmts;
    c->variables[p->variables.count] = variables;
}

/* ---- going there ---- */

static void move_declarations(closing *c) {
    vyre_program *p = c->program;
    p->name = c->names[p->name];
    p->functions.items[0].name = p->name;
    for (uint32_t i = 0; i < p->param_count; i++)
        p->variables.items[i].name = c->names[p->variables.items[i].name];
    for (uint32_t i = 0; i < p->memories.count; i++) {
        if (goes_memory(c, i))
            continue;
        vy_memory memory = p->memories.items[i];
        memory.name = c->names[memory.name];
        p->memories.items[c->memories[i]] = memory;
    }
}

/* The expressions [first, end) to `to`, with what they refer to. Returns one past them. */
static uint32_t move_exprs(const closing *c, uint32_t first, uint32_t end, uint32_t to) {
    vyre_program *p = c->program;
    uint32_t by = first - to;
    vy_expr *exprs = p->exprs.items;
    for (uint32_t i = first; i < end; i++) {
        vy_expr e = exprs[i];
        if (e.kind == VY_EXPR_VARIABLE) {
            e.a = c->variables[e.a];
        } else if (e.kind == VY_EXPR_OP || e.kind == VY_EXPR_LOAD) {
            e.a = e.kind == VY_EXPR_OP ? e.a - by : c->memories[e.a];
            e.b -= e.b == VY_NONE ? 0 : by;
            e.c -= e.c == VY_NONE ? 0 : by;
        } else if (e.kind == VY_EXPR_LEN || e.kind == VY_EXPR_ALIGN_OFFSET) {
            e.a = c->memories[e.a];
        }
        exprs[i - by] = e;
    }
    if (p->expr_positions.count)
        memmove(p->expr_positions.items + to, p->expr_positions.items + first,
                (end - first) * sizeof *p->expr_positions.items);
    return to + (end - first);
}

/* Whether a zero takes the place of the first value of a `var`. */
static int becomes_zero(const closing *c, uint32_t stmt) {
    const vyre_program *p = c->program;
    return c->dead->is_overwritten[stmt] && p->exprs.items[p->stmts.items[stmt].a].kind != VY_EXPR_LITERAL;
}

static void put_zero(closing *c, const vy_stmt *s, uint32_t to) {
    vyre_program *p = c->program;
    p->exprs.items[to] = vy_literal_expr((vyre_type)p->exprs.items[s->a].type, 0);
    if (p->expr_positions.count)
        p->expr_positions.items[to] = p->expr_positions.items[s->a];
    c->changes++;
}

static void move_variables(const closing *c, uint32_t stmt, vy_stmt *s) {
    vyre_program *p = c->program;
    uint32_t to = s->variable == VY_NONE ? VY_NONE : c->variables[s->variable];
    for (uint32_t k = 0; k < s->result_count; k++) {
        vy_variable variable = p->variables.items[s->variable + k];
        variable.name = c->names[variable.name];
        variable.position = vy_stmt_position(p, stmt);
        p->variables.items[to + k] = variable;
    }
    s->variable = to;
}

/* A statement whose expressions go down by `by` and whose arguments go to `args`, but for its place. */
static void move_stmt(const closing *c, uint32_t stmt, uint32_t by, uint32_t args) {
    vyre_program *p = c->program;
    vy_stmt *s = &p->stmts.items[stmt];
    s->a -= s->a == VY_NONE ? 0 : by;
    s->b -= s->b == VY_NONE ? 0 : by;
    s->c -= s->c == VY_NONE ? 0 : by;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        vy_arg arg = p->args.items[s->args + i];
        arg.index = arg.is_memory ? c->memories[arg.index] : arg.index - by;
        p->args.items[args + i] = arg;
    }
    s->args = args;
    move_variables(c, stmt, s);
    s->memory = s->memory == VY_NONE ? VY_NONE : c->memories[s->memory];
    s->name = c->names[s->name];
    s->end = c->stmts[s->end];
    s->middle = c->stmts[s->middle];
}

/* The trees of statements that stay next to each other go together, from `first` on. */
static void move_stmts(closing *c) {
    vyre_program *p = c->program;
    const uint32_t *tree = c->dead->exprs;
    uint32_t first = 0, exprs = 0, args = 0;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        vy_stmt *s = &p->stmts.items[i];
        int is_needed = c->dead->needed[i], is_zero = is_needed && becomes_zero(c, i);
        if (!is_needed || is_zero) {
            exprs = move_exprs(c, first, tree[i], exprs);
            first = tree[i + 1];
        }
        if (!is_needed)
            continue;
        if (is_zero)
            put_zero(c, s, exprs);
        move_stmt(c, i, is_zero ? s->a - exprs : first - exprs, args);
        exprs += (uint32_t)is_zero;
        args += s->arg_count;
        p->stmts.items[c->stmts[i]] = *s;
        if (p->stmt_positions.count)
            p->stmt_positions.items[c->stmts[i]] = p->stmt_positions.items[i];
    }
    p->exprs.count = move_exprs(c, first, tree[p->stmts.count], exprs);
    p->args.count = args;
}

static void move_all(closing *c) {
    vyre_program *p = c->program;
    vy_function *entry = &p->functions.items[0];
    move_declarations(c);
    move_stmts(c);
    p->memories.count = entry->memory_count = c->memories[p->memories.count];
    p->variables.count = entry->variable_count = c->variables[p->variables.count];
    p->stmts.count = entry->end_stmt = c->stmts[p->stmts.count];
    if (p->stmt_positions.count)
        p->stmt_positions.count = p->stmts.count;
    if (p->expr_positions.count)
        p->expr_positions.count = p->exprs.count;
    vy_intern_pool_free(&p->names);
    p->names = c->kept;
}

vyre_status vy_dce_compact(vyre_program *p, const vy_dce_plan *dead, uint64_t *changes, vyre_error *error) {
    closing c = {.program = p, .dead = dead};
    size_t stmts = p->stmts.count + 1u, variables = p->variables.count + 1u, memories = p->memories.count + 1u;
    size_t size = vy_array_size(stmts + variables + memories + p->names.size + 1u, sizeof *c.stmts);
    c.stmts = vy_allocate_zero(size);
    if (!c.stmts)
        return vy_fail_memory(error, "a pass");
    c.variables = c.stmts + stmts;
    c.memories = c.variables + variables;
    c.names = c.memories + memories;
    c.failed = !vy_intern_pool_reserve(&c.kept, &p->names);
    if (!c.failed)
        place_declarations(&c);
    if (!c.failed)
        place_stmts(&c);
    if (c.failed)
        vy_intern_pool_free(&c.kept);
    else
        move_all(&c);
    vy_release(c.stmts, size);
    *changes = c.changes;
    return c.failed ? vy_fail_memory(error, "a pass") : vy_derive_program_flags(p, error);
}
