/* Dead code: what no effect depends on is left out.
 *
 * Needed are, to begin with, the statements that rules->is_kept names and stores to buffers. What is needed needs the variables in its
 * expressions, so every statement that gives them a value; the arrays it loads from, so every store to them; the blocks around it;
 * and, if it is a loop, the jumps that leave it or start its next trip. Nothing else stays. That is blind to order; what is written and then
 * overwritten before anybody reads it (dead_store.h) gives no value and goes. Of a `var` whose first value is such, a zero is left.
 *
 * A `for` ends by itself, so one without effect may go; a `while` may run for ever, so it stays. Where no invocation can trap, a
 * collective is a meeting without consequence and goes if its result is not used: it orders no memory (docs/bits.md). */
#include "base/status.h"
#include "ir/walk.h"
#include "opt/dce_compact.h"
#include "opt/dead_store.h"
#include "opt/rewriter.h"

typedef struct marking {
    const vyre_program *program;
    const vy_opt_policy *rules;
    /* By statement: */
    uint32_t *parent; /* the block around it, or VY_NONE */
    uint32_t *exprs;  /* its first expression; of the end of the program, too */
    uint32_t
        *next; /* the next that gives a value to the same variable, writes the same memory or jumps in the same loop */
    uint32_t *jumps;         /* of loops: the first jump */
    uint32_t *queue;         /* needed, not looked at yet */
    uint32_t *writers;       /* by variable: the first statement that gives it a value */
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
    *head = VY_NONE; /* once is enough */
}

static void link(marking *m, uint32_t *head, uint32_t stmt) {
    m->next[stmt] = *head;
    *head = stmt;
}

/* A statement stands in one chain at most: an assignment in that of its variable, a store in that of its memory, a jump in that of its loop. Those
 * that declare several variables are in the chain of the first, which stands for all. */
static void link_stmt(marking *m, uint32_t index, const vy_stmt *s, uint32_t loop) {
    if (m->is_overwritten[index] && s->kind != VY_STMT_VAR)
        return;
    if (s->kind == VY_STMT_STORE)
        link(m, &m->stores[s->memory], index);
    else if (s->kind == VY_STMT_BREAK || s->kind == VY_STMT_CONTINUE)
        link(m, &m->jumps[loop], index);
    else if (s->variable != VY_NONE)
        link(m, &m->writers[s->variable], index);
}

static int is_root(const marking *m, uint32_t index, const vy_stmt *s) {
    const vyre_program *p = m->program;
    if (s->kind == VY_STMT_STORE) /* of library functions memory parameters, too, which are arrays of somebody else */
        return !m->is_overwritten[index] &&
               (p->memories.items[s->memory].space == VY_SPACE_BUFFER || !p->memories.items[s->memory].elements);
    if (s->kind == VY_STMT_COLLECTIVE)
        return m->rules->is_kept[s->kind] && (p->facts & (VY_PROGRAM_HAS_TRAP | VY_PROGRAM_HAS_OP_CALL)) != 0;
    if (s->kind == VY_STMT_WHILE && vy_loop_runs_once(p, index))
        return 0;
    return m->rules->is_kept[s->kind];
}

static void mark_function(marking *m, const vy_function *f) {
    const vyre_program *p = m->program;
    uint32_t open[VY_LIMIT_NESTING], loops[VY_LIMIT_NESTING], depth = 0;
    for (uint32_t i = f->first_stmt; i < f->end_stmt; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        while (depth && p->stmts.items[open[depth - 1]].end == i)
            depth--;
        m->parent[i] = depth ? open[depth - 1] : VY_NONE;
        link_stmt(m, i, s, depth ? loops[depth - 1] : VY_NONE);
        m->jumps[i] = VY_NONE;
        if (vy_stmt_is_structured(s->kind) && s->end > i + 1) {
            loops[depth] = vy_stmt_is_loop(s->kind) ? i : depth ? loops[depth - 1] : VY_NONE;
            open[depth++] = i;
        }
        if (is_root(m, i, s))
            need(m, i);
    }
}

static void follow_expr(marking *m, const vy_expr *e) {
    if (e->kind == VY_EXPR_VARIABLE) {
        need_chain(m, &m->writers[e->a]);
    } else if (e->kind == VY_EXPR_LOAD) {
        need_chain(m, &m->stores[e->a]);
        m->unused[e->a] = 0;
    } else if (e->kind == VY_EXPR_LEN) {
        m->unused[e->a] = 0;
    }
}

static void follow(marking *m, uint32_t index) {
    const vyre_program *p = m->program;
    const vy_stmt *s = &p->stmts.items[index];
    uint32_t end = m->is_overwritten[index] ? m->exprs[index] : m->exprs[index + 1];
    for (uint32_t i = m->exprs[index]; i < end; i++)
        follow_expr(m, &p->exprs.items[i]);
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
    need(m, m->parent[index]);
}

static int prepare(marking *m) {
    const vyre_program *p = m->program;
    size_t stmts = p->stmts.count, variables = p->variables.count + 1u, memories = p->memories.count + 1u;
    m->size = vy_array_size(stmts * 5 + 1 + variables + memories + (2 * stmts + memories) / 4 + 1, sizeof *m->block);
    m->block = vy_allocate(m->size);
    if (!m->block)
        return 0;
    m->parent = m->block;
    m->exprs = m->parent + stmts;
    m->next = m->exprs + stmts + 1;
    m->jumps = m->next + stmts;
    m->queue = m->jumps + stmts;
    m->writers = m->queue + stmts;
    m->stores = m->writers + variables;
    m->unused = (uint8_t *)(m->stores + memories);
    m->is_overwritten = m->unused + memories;
    m->needed = m->is_overwritten + stmts;
    memset(m->writers, 0xff, (variables + memories) * sizeof *m->writers); /* and stores */
    memset(m->unused, 1, memories);
    memset(m->is_overwritten, 0, 2 * stmts); /* and needed */
    m->exprs[0] = 0;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        m->exprs[i + 1] = vy_stmt_exprs_end(p, &p->stmts.items[i], m->exprs[i]);
    return 1;
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

/* The first value of a `var` that is overwritten. */
static uint32_t put_zero(vy_rewrite *rw, uint32_t expr) {
    const marking *m = rw->user;
    const vy_expr *e = &rw->from->exprs.items[expr];
    if (!m->is_overwritten[m->writing] || e->kind == VY_EXPR_LITERAL)
        return VY_NONE;
    rw->changes++;
    return vy_thread_pool_literal(rw, (vyre_type)e->type, 0);
}

/* Whether a statement goes, or a zero takes the place of a value that is none. Of what is overwritten only a `var` is needed. */
static int changes_stmt(const marking *m, uint32_t stmt) {
    const vyre_program *p = m->program;
    return !m->needed[stmt] ||
           (m->is_overwritten[stmt] && p->exprs.items[p->stmts.items[stmt].a].kind != VY_EXPR_LITERAL);
}

static int is_changed(vy_rewrite *rw, uint32_t stmt, uint32_t first, uint32_t end) {
    (void)first, (void)end;
    return changes_stmt(rw->user, stmt);
}

/* Whether anything goes. */
static int leaves_out(const marking *m) {
    const vyre_program *p = m->program;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (changes_stmt(m, i))
            return 1;
    for (uint32_t i = 0; i < p->memories.count; i++)
        if (m->unused[i] && p->memories.items[i].space != VY_SPACE_BUFFER)
            return 1;
    return 0;
}

static vyre_status edit(const marking *m, vyre_program **out, uint64_t *changes, vyre_error *error) {
    const vy_dce_plan dead = {m->needed, m->is_overwritten, m->unused, m->exprs};
    vyre_status status = vy_dce_compact((vyre_program *)m->program, &dead, changes, error);
    if (status == VYRE_OK)
        *out = vyre_program_retain((vyre_program *)m->program);
    return status;
}

vyre_status vy_pass_dead(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out, uint64_t *changes,
                         vyre_error *error) {
    static const vy_rewriter hooks = {.stmt = leave_out,
                                      .tree = put_zero,
                                      .tree_kinds = VY_ALL_BUT_LITERALS,
                                      .keeps_blocks = 1,
                                      .changes_stmt_hook = is_changed};
    marking m = {.program = from, .rules = rules};
    *out = NULL;
    *changes = 0;
    if (!prepare(&m))
        return vy_fail_memory(error, "a pass");
    vyre_status status = vy_dead_stores_find(from, rules, m.exprs, m.is_overwritten, error);
    if (status == VYRE_OK) {
        mark(&m);
        if (!leaves_out(&m))
            *out = vyre_program_retain((vyre_program *)from);
        else if (vy_dce_may_compact(from))
            status = edit(&m, out, changes, error);
        else
            status = vy_rewrite_run(from, &hooks, &m, m.unused, out, changes, error);
    }
    vy_release(m.block, m.size);
    return status;
}
