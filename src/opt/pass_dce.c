/* Dead code and dead store elimination: removes every statement that no effect depends on.
 *
 * The roots are the statements that rules->is_kept lists, and stores to buffers. A needed statement needs the variables
 * in its expressions, so every statement that assigns them; the arrays it loads from, so every store to them; the
 * blocks around it; and, if it is a loop, the jumps that leave it or start its next iteration. Nothing else is kept.
 * This ignores order, except that a dead store (pass_manager.h) assigns nothing and is removed. If the first value of a
 * `var` is dead, it becomes zero.
 *
 * A `for` terminates, so one without effect is removed; a `while` may not terminate, so it is kept. If no invocation
 * can trap, a collective whose result is unused is removed: it orders no memory (docs/bits.md). */
#include "base/status.h"
#include "ir/irbuilder.h"
#include "ir/model.h"
#include "ir/validate/validate.h"
#include "ir/walk.h"
#include "opt/pass_manager.h"
#include "opt/rewriter.h"

/* ---- in-place compaction of a program with one owner (vyre_program.is_unique) ---- First the new index of
 * everything is computed, which may fail; then everything is moved. The result equals the program that the rewriter
 * would make, with its names, positions and change count (tests/opt/test_rewriter_inplace.c). */

typedef struct dce_plan {
    const uint8_t *needed;         /* by statement; in a block that is not needed, no statement is */
    const uint8_t *is_overwritten; /* by statement: the initial value of a needed `var` is dead */
    const uint8_t *unused;         /* by memory: removed, if it is an array */
    const uint32_t *exprs;         /* by statement: its first expression; one more entry for the end of the program */
} dce_plan;

/* Whether the program can be compacted: the entry is its only function. */
static inline int dce_may_compact(const vyre_program *program) {
    return program->is_unique && program->functions.count == 1 && vy_program_has_entry(program);
}

typedef struct closing {
    vyre_program *program;
    const dce_plan *dead;
    uint32_t *stmts;     /* by statement, and for the end: new index; of a removed one, the index of what follows */
    uint32_t *variables; /* by variable: likewise */
    uint32_t *memories;  /* by memory: likewise */
    vy_symbol *names;    /* by name: index in `kept`; 0: none yet */
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

/* ---- new indices ---- */

static void place_declarations(closing *c) {
    const vyre_program *p = c->program;
    uint32_t memories = 0;
    c->failed |= vy_intern_pool_add(&c->kept, "", 0) != 0;
    keep_name(c, p->name);
    for (uint32_t i = 0; i < p->param_count; i++) {
        keep_name(c, vy_variable_at(p, i)->name);
        c->variables[i] = i;
    }
    for (uint32_t i = 0; i < p->memories.count; i++) {
        c->memories[i] = memories;
        c->changes += (uint64_t)goes_memory(c, i);
        if (goes_memory(c, i))
            continue;
        keep_name(c, vy_memory_at(p, i)->name);
        memories++;
    }
    c->memories[p->memories.count] = memories;
}

static void place_stmts(closing *c) {
    const vyre_program *p = c->program;
    uint32_t stmts = 0, variables = p->param_count, gone = 0; /* gone: end of the last removed block */
    for (uint32_t i = 0; i < p->stmts.count && !c->failed; i++) {
        const vy_stmt *s = vy_stmt_at(p, i);
        c->stmts[i] = stmts;
        if (!c->dead->needed[i]) {
            c->changes += i >= gone;
            gone = i >= gone ? s->end : gone;
            continue;
        }
        stmts++;
        keep_name(c, s->name);
        for (uint32_t k = 0; k < s->result_count; k++) {
            keep_name(c, vy_variable_at(p, s->variable + k)->name);
            c->variables[s->variable + k] = variables++;
        }
    }
    c->stmts[p->stmts.count] = stmts;
    c->variables[p->variables.count] = variables;
}

/* ---- moving ---- */

static void move_declarations(closing *c) {
    vyre_program *p = c->program;
    p->name = c->names[p->name];
    p->functions.items[0].name = p->name;
    for (uint32_t i = 0; i < p->param_count; i++)
        p->variables.items[i].name = c->names[vy_variable_at(p, i)->name];
    for (uint32_t i = 0; i < p->memories.count; i++) {
        if (goes_memory(c, i))
            continue;
        vy_memory memory = p->memories.items[i];
        memory.name = c->names[memory.name];
        p->memories.items[c->memories[i]] = memory;
    }
}

/* Moves the expressions [first, end) to `to` and translates their references. Returns one past them. */
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

/* Whether a zero replaces the initial value of a `var`. */
static int becomes_zero(const closing *c, uint32_t stmt) {
    const vyre_program *p = c->program;
    return c->dead->is_overwritten[stmt] && vy_expr_at(p, vy_stmt_at(p, stmt)->a)->kind != VY_EXPR_LITERAL;
}

static void zero_init_value(closing *c, const vy_stmt *s, uint32_t to) {
    vyre_program *p = c->program;
    p->exprs.items[to] = vy_literal_expr((vyre_type)vy_expr_at(p, s->a)->type, 0);
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

/* Translates the operands of a statement whose expressions move down by `by` and whose arguments move to `args`. The
 * caller moves the statement itself. */
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

/* The trees of adjacent kept statements move together, from `first` on. */
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
            zero_init_value(c, s, exprs);
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

/* Counts the removed parts. VYRE_NO_MEMORY: the program is unusable. */
static vyre_status dce_compact(vyre_program *p, const dce_plan *dead, uint64_t *changes, vyre_error *error) {
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

/* ---- the pass ---- */

typedef struct marking {
    const vyre_program *program;
    const vy_opt_policy *rules;
    vy_def_use uses;
    /* By statement: */
    uint32_t
        *next; /* the next statement in the same chain: writers of a variable, stores to a memory, or jumps of a loop */
    uint32_t *jumps;         /* by loop: the first jump */
    uint32_t *queue;         /* worklist of needed statements */
    uint32_t *writers;       /* by variable: the first statement that writes it */
    uint32_t *stores;        /* by memory: the first store */
    uint8_t *unused;         /* by memory: 1 */
    uint8_t *is_overwritten; /* by statement */
    uint8_t *needed;         /* by statement: 1 */
    uint32_t queued;
    uint32_t writing; /* the statement whose trees are being written */
    uint32_t *block;
    size_t size;
} marking;

static void need(marking *m, uint32_t stmt) {
    if (stmt == VY_NONE || m->needed[stmt])
        return;
    m->needed[stmt] = 1;
    m->queue[m->queued++] = stmt;
}

static void need_chain(marking *m, uint32_t *head) {
    for (uint32_t i = *head; i != VY_NONE; i = m->next[i])
        need(m, i);
    *head = VY_NONE; /* so that the chain is followed only once */
}

static void link(marking *m, uint32_t *head, uint32_t stmt) {
    m->next[stmt] = *head;
    *head = stmt;
}

/* A statement is in at most one chain: an assignment in that of its variable, a store in that of its memory, a jump
 * in that of its loop. A statement that declares several variables is in the chain of the first one, which
 * represents all. */
static void link_stmt(marking *m, uint32_t index, const vy_stmt *s) {
    if (m->is_overwritten[index] && s->kind != VY_STMT_VAR)
        return;
    if (s->kind == VY_STMT_STORE)
        link(m, &m->stores[s->memory], index);
    else if (s->kind == VY_STMT_BREAK || s->kind == VY_STMT_CONTINUE)
        link(m, &m->jumps[vy_loop_around(&m->uses, index)], index);
    else if (s->variable != VY_NONE)
        link(m, &m->writers[s->variable], index);
}

static int is_root(const marking *m, uint32_t index, const vy_stmt *s) {
    const vyre_program *p = m->program;
    if (s->kind == VY_STMT_STORE) /* a memory parameter of a library function is an array of the caller */
        return !m->is_overwritten[index] &&
               (vy_memory_at(p, s->memory)->space == VY_SPACE_BUFFER || !vy_memory_at(p, s->memory)->elements);
    if (s->kind == VY_STMT_COLLECTIVE)
        return m->rules->is_kept[s->kind] && (p->facts & (VY_PROGRAM_HAS_TRAP | VY_PROGRAM_HAS_OP_CALL)) != 0;
    if (s->kind == VY_STMT_WHILE && vy_loop_runs_once(p, index))
        return 0;
    if (s->kind == VY_STMT_CALL && vy_lowered_op_of(p, s))
        return 0;
    return m->rules->is_kept[s->kind];
}

static void mark_function(marking *m, const vy_function *f) {
    const vyre_program *p = m->program;
    for (uint32_t i = f->first_stmt; i < f->end_stmt; i++) {
        const vy_stmt *s = vy_stmt_at(p, i);
        link_stmt(m, i, s);
        m->jumps[i] = VY_NONE;
        if (is_root(m, i, s))
            need(m, i);
    }
}

static void follow_expr(marking *m, const vy_expr *e) {
    if (e->kind == VY_EXPR_VARIABLE) {
        need_chain(m, &m->writers[e->a]);
        need(m, m->uses.declarations[e->a]); /* which may declare several variables, and is in the chain of the first */
    } else if (e->kind == VY_EXPR_LOAD) {
        need_chain(m, &m->stores[e->a]);
        m->unused[e->a] = 0;
    } else if (e->kind == VY_EXPR_LEN) {
        m->unused[e->a] = 0;
    }
}

static void follow(marking *m, uint32_t index) {
    const vyre_program *p = m->program;
    const vy_stmt *s = vy_stmt_at(p, index);
    uint32_t end = m->is_overwritten[index] ? m->uses.first_expr[index] : m->uses.first_expr[index + 1];
    for (uint32_t i = m->uses.first_expr[index]; i < end; i++)
        follow_expr(m, vy_expr_at(p, i));
    for (uint32_t i = 0; i < s->arg_count; i++) {
        const vy_arg *arg = &p->args.items[s->args + i];
        if (arg->is_memory) {
            need_chain(m, &m->stores[arg->index]);
            m->unused[arg->index] = 0;
        }
    }
    if (s->memory != VY_NONE)
        m->unused[s->memory] = 0;
    if (s->kind == VY_STMT_ATOMIC)
        need_chain(m, &m->stores[s->memory]);
    if (s->kind == VY_STMT_ASSIGN)
        need_chain(m, &m->writers[s->variable]);
    if (vy_stmt_is_loop(s->kind))
        need_chain(m, &m->jumps[index]);
    need(m, m->uses.parents[index]);
}

static int prepare(marking *m) {
    const vyre_program *p = m->program;
    size_t stmts = p->stmts.count, variables = p->variables.count + 1u, memories = p->memories.count + 1u;
    m->size = vy_array_size(stmts * 3 + variables + memories + (2 * stmts + memories) / 4 + 1, sizeof *m->block);
    m->block = vy_allocate(m->size);
    if (!m->block)
        return 0;
    m->next = m->block;
    m->jumps = m->next + stmts;
    m->queue = m->jumps + stmts;
    m->writers = m->queue + stmts;
    m->stores = m->writers + variables;
    m->unused = (uint8_t *)(m->stores + memories);
    m->is_overwritten = m->unused + memories;
    m->needed = m->is_overwritten + stmts;
    memset(m->writers, 0xff, (variables + memories) * sizeof *m->writers); /* also stores */
    memset(m->unused, 1, memories);
    memset(m->is_overwritten, 0, 2 * stmts); /* also needed */
    return vy_def_use_need(&m->uses,
                           VY_DEF_USE_EXPRS | VY_DEF_USE_PARENTS | VY_DEF_USE_DECLARATIONS | VY_DEF_USE_ASSIGNED);
}

static void mark(marking *m) {
    for (uint32_t i = 0; i < m->program->functions.count; i++)
        mark_function(m, &m->program->functions.items[i]);
    while (m->queued)
        follow(m, m->queue[--m->queued]);
}

static int leave_out(vy_rewrite *rw, uint32_t stmt) {
    marking *m = rw->user;
    m->writing = stmt;
    rw->changes += !m->needed[stmt];
    return !m->needed[stmt];
}

/* Replaces the dead initial value of a `var` by zero. */
static uint32_t replace_overwritten(vy_rewrite *rw, uint32_t expr) {
    const marking *m = rw->user;
    const vy_expr *e = vy_expr_at(rw->from, expr);
    if (!m->is_overwritten[m->writing] || e->kind == VY_EXPR_LITERAL)
        return VY_NONE;
    rw->changes++;
    return vy_rewrite_make_literal(rw, (vyre_type)e->type, 0);
}

/* Whether a statement is removed or its dead initial value becomes zero. Among dead stores only a `var` can be
 * needed. */
static int changes_stmt(const marking *m, uint32_t stmt) {
    const vyre_program *p = m->program;
    return !m->needed[stmt] ||
           (m->is_overwritten[stmt] && vy_expr_at(p, vy_stmt_at(p, stmt)->a)->kind != VY_EXPR_LITERAL);
}

static int is_changed(vy_rewrite *rw, uint32_t stmt, uint32_t first, uint32_t end) {
    (void)first, (void)end;
    return changes_stmt(rw->user, stmt);
}

/* Whether the pass changes anything. */
static int leaves_out(const marking *m) {
    const vyre_program *p = m->program;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (changes_stmt(m, i))
            return 1;
    for (uint32_t i = 0; i < p->memories.count; i++)
        if (m->unused[i] && vy_memory_at(p, i)->space != VY_SPACE_BUFFER)
            return 1;
    return 0;
}

static vyre_status edit(const marking *m, vyre_program **out, uint64_t *changes, vyre_error *error) {
    const dce_plan dead = {m->needed, m->is_overwritten, m->unused, m->uses.first_expr};
    vyre_status status = dce_compact((vyre_program *)m->program, &dead, changes, error);
    if (status == VYRE_OK)
        vy_program_unchanged(m->program, out);
    return status;
}

vyre_status vy_pass_dce(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out, uint64_t *changes,
                        vyre_error *error) {
    static const vy_rewriter hooks = {.stmt = leave_out,
                                      .tree = replace_overwritten,
                                      .tree_kinds = VY_ALL_BUT_LITERALS,
                                      .keeps_blocks = 1,
                                      .changes_stmt_hook = is_changed};
    vy_arena arena = {0};
    marking m = {.program = from, .rules = rules, .uses = {.program = from, .arena = &arena}};
    *out = NULL;
    *changes = 0;
    vyre_status status =
        prepare(&m) ? vy_dead_stores_find(&m.uses, rules, m.is_overwritten, error) : vy_fail_memory(error, "a pass");
    if (status == VYRE_OK) {
        mark(&m);
        if (!leaves_out(&m))
            vy_program_unchanged(from, out);
        else if (dce_may_compact(from))
            status = edit(&m, out, changes, error);
        else
            status = vy_rewrite_run(from, &hooks, &m, m.unused, out, changes, error);
    }
    vy_arena_free(&arena);
    vy_release(m.block, m.size);
    return status;
}
