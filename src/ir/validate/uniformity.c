/* Uniformity verifier: either all invocations of a workgroup reach a barrier or collective, or none does; for the grid
 * barrier, all invocations of the grid.
 *
 * For each function, callees first: build its divergence graph, propagate sets of sources along the edges to a fixed
 * point, and check the synchronisation points. The set of a node states whether it varies in the workgroup, in the
 * grid, with control at the call, or with argument i. At a synchronisation point the first two are errors; the others
 * are requirements on the callers. These requirements and the sets of the results form the summary of the function, so
 * each function is analysed once.
 *
 * The analysis is sound: it never accepts a program that can diverge, and may reject one whose uniformity it cannot
 * prove. A program that it accepts is also accepted after inlining. */
#include "ir/validate/divergence_graph.h"

#include "ir/identifiers.h"

#include <stdio.h>

typedef struct solver {
    vy_divergence_graph flow;
    uint32_t words;
    uint64_t *sets; /* `words` words per node */
    size_t sets_size;
    uint32_t *queue; /* worklist, as a stack */
    size_t queue_size;
} solver;

static uint64_t *set_of(const solver *s, uint32_t node) {
    return s->sets + (size_t)node * s->words;
}

/* ---- solving ---- */

static int prepare(solver *s) {
    uint32_t count = s->flow.nodes.count;
    size_t sets = vy_array_size(count, s->words * sizeof *s->sets), queue = vy_array_size(count, sizeof *s->queue);
    if (sets > s->sets_size) {
        vy_release(s->sets, s->sets_size);
        s->sets = vy_allocate(sets);
        s->sets_size = s->sets ? sets : 0;
    }
    if (queue > s->queue_size) {
        vy_release(s->queue, s->queue_size);
        s->queue = vy_allocate(queue);
        s->queue_size = s->queue ? queue : 0;
    }
    if (!s->sets || !s->queue) {
        s->flow.verifier->out_of_memory = 1;
        return 0;
    }
    memset(s->sets, 0, sets);
    return 1;
}

/* Adds the set of `from` to that of `to`, and records the source of the two bits that can cause errors. Returns
 * whether the set changed. */
static int propagate(solver *s, uint32_t from, uint32_t to) {
    const uint64_t *source = set_of(s, from);
    uint64_t *target = set_of(s, to), changed = 0;
    for (uint32_t level = 0; level < 2; level++)
        if (vy_divergence_set_has(source, level) && !vy_divergence_set_has(target, level))
            s->flow.nodes.items[to].cause[level] = from;
    for (uint32_t w = 0; w < s->words; w++) {
        changed |= source[w] & ~target[w];
        target[w] |= source[w];
    }
    return changed != 0;
}

static void solve(solver *s) {
    vy_divergence_node *nodes = s->flow.nodes.items;
    uint32_t queued = 0;
    for (uint32_t i = 0; i < s->flow.nodes.count; i++) {
        uint64_t *set = set_of(s, i);
        set[0] = nodes[i].seed;
        if (nodes[i].has_param)
            set[(VY_VARIES_PARAM + nodes[i].param) / 64] |= UINT64_C(1) << (VY_VARIES_PARAM + nodes[i].param) % 64;
        nodes[i].queued = nodes[i].seed || nodes[i].has_param;
        if (nodes[i].queued)
            s->queue[queued++] = i;
    }
    while (queued) {
        uint32_t from = s->queue[--queued];
        nodes[from].queued = 0;
        for (uint32_t edge = nodes[from].edges; edge; edge = s->flow.edges.items[edge - 1].next) {
            uint32_t to = s->flow.edges.items[edge - 1].to;
            if (propagate(s, from, to) && !nodes[to].queued) {
                nodes[to].queued = 1;
                s->queue[queued++] = to;
            }
        }
    }
}

/* ---- messages ---- */

/* " (line 12)", or an empty string if the line is unknown. */
static const char *line_text(vy_position at, char text[32]) {
    text[0] = 0;
    if (at.line)
        snprintf(text, 32, " (line %u)", at.line);
    return text;
}

static void describe_variable(const solver *s, uint32_t node, char *text, size_t size) {
    const vyre_program *p = s->flow.program;
    const vy_stmt *stmt = &p->stmts.items[s->flow.nodes.items[node].origin];
    const char *name = vy_symbol_name(p, p->variables.items[s->flow.function->first_variable + node].name);
    char line[32], word[VY_KEYWORD_CAPACITY], named[VY_LIMIT_NAME + 8] = "";
    line_text(vy_stmt_position(p, s->flow.nodes.items[node].origin), line);
    if (!*line) /* with a line, the name is omitted: the parser generates names for hoisted results */
        snprintf(named, sizeof named, "`%s`, ", name);
    if (stmt->kind == VY_STMT_COLLECTIVE)
        vy_keyword_collective((vyre_collective)stmt->op, (vyre_op)stmt->combine, stmt->width != 0, word);
    if (stmt->kind == VY_STMT_CALL)
        snprintf(text, size, "%sa result of `%s`%s", named, vy_symbol_name(p, p->functions.items[stmt->callee].name),
                 line);
    else
        snprintf(text, size, "%sthe value of `%s`%s", named,
                 stmt->kind == VY_STMT_ATOMIC ? vyre_atomic_name((vyre_atomic)stmt->op) : word, line);
}

/* Describes the source of divergence. */
static void describe_root(const solver *s, uint32_t node, char *text, size_t size) {
    const vyre_program *p = s->flow.program;
    const vy_divergence_node *n = &s->flow.nodes.items[node];
    char line[32];
    if (n->kind == VY_DIVERGENCE_SOURCE)
        snprintf(text, size, "`%s`%s", vyre_builtin_name((vyre_builtin)p->exprs.items[n->origin].op),
                 line_text(vy_expr_position(p, n->origin), line));
    else if (n->kind == VY_DIVERGENCE_MEMORY)
        snprintf(text, size, "a load from `%s`, which invocations write",
                 vy_symbol_name(p, p->memories.items[n->origin].name));
    else
        describe_variable(s, node, text, size);
}

static const char *statement_word(uint8_t kind) {
    return kind == VY_STMT_IF ? "if" : kind == VY_STMT_FOR ? "for" : "while";
}

/* "the `if` in line 12 depends on `global_id` (line 10)" */
static void describe_cause(const solver *s, uint32_t node, uint32_t level, char *text, size_t size) {
    const vyre_program *p = s->flow.program;
    uint32_t opener = VY_NONE;
    while (s->flow.nodes.items[node].cause[level] != VY_NONE) {
        const vy_divergence_node *n = &s->flow.nodes.items[node];
        uint32_t before = n->cause[level];
        if (opener == VY_NONE && n->kind == VY_DIVERGENCE_CONTROL &&
            s->flow.nodes.items[before].kind != VY_DIVERGENCE_CONTROL)
            opener = n->origin;
        node = before;
    }
    char root[320], line[32] = "";
    describe_root(s, node, root, sizeof root);
    if (opener == VY_NONE) {
        snprintf(text, size, "it depends on %s", root);
        return;
    }
    vy_position at = vy_stmt_position(p, opener);
    if (at.line)
        snprintf(line, sizeof line, " in line %u", at.line);
    snprintf(text, size, "the `%s`%s depends on %s", statement_word(p->stmts.items[opener].kind), line, root);
}

static void describe_sync_point(const vyre_program *p, uint32_t stmt, char text[VY_KEYWORD_CAPACITY]) {
    const vy_stmt *s = &p->stmts.items[stmt];
    if (s->kind == VY_STMT_COLLECTIVE)
        vy_keyword_collective((vyre_collective)s->op, (vyre_op)s->combine, s->width != 0, text);
    else
        snprintf(text, VY_KEYWORD_CAPACITY, "%s", s->scope == VYRE_SCOPE_DEVICE ? "grid_barrier" : "barrier");
}

static void report(solver *s, const vy_sync_point *m) {
    const vyre_program *p = s->flow.program;
    char cause[420], what[VY_KEYWORD_CAPACITY], inside[VY_KEYWORD_CAPACITY + 160] = "", line[32];
    describe_cause(s, m->node, m->level, cause, sizeof cause);
    describe_sync_point(p, m->where, what);
    if (m->where != m->stmt)
        snprintf(inside, sizeof inside, "the call of `%s`, which reaches ",
                 vy_symbol_name(p, p->functions.items[p->stmts.items[m->stmt].callee].name));
    line_text(m->where != m->stmt ? vy_stmt_position(p, m->where) : (vy_position){0, 0, 0}, line);
    vy_position at = vy_stmt_position(p, m->stmt);
    if (m->is_lane)
        vy_verifier_error(s->flow.verifier, VY_V101, at, NULL, "%s`%s`%s uses a divergent lane: %s", inside, what, line,
                          cause);
    else
        vy_verifier_error(s->flow.verifier, VY_V100, at, NULL, "%s`%s`%s in divergent control flow: %s", inside, what,
                          line, cause);
}

/* ---- one function ---- */

static void check_sync_points(solver *s, vy_divergence_summary *mine) {
    for (uint32_t i = 0; i < s->flow.sync_points.count; i++) {
        const vy_sync_point *m = &s->flow.sync_points.items[i];
        const uint64_t *set = set_of(s, m->node);
        if (vy_divergence_set_has(set, m->level)) {
            report(s, m);
            continue;
        }
        for (uint32_t w = 0; w < s->words; w++) {
            uint64_t demands = w ? set[w] : set[0] & ~UINT64_C(3);
            if (demands & ~mine->needs[m->level][w] && mine->where[m->level] == VY_NONE) {
                mine->where[m->level] = m->where;
                mine->is_lane[m->level] = m->is_lane;
            }
            mine->needs[m->level][w] |= demands;
        }
    }
}

static int start_summary(solver *s, vy_divergence_summary *mine) {
    const vy_function *f = s->flow.function;
    uint64_t *sets = vy_verifier_scratch(s->flow.verifier, (size_t)(f->result_count + 2) * s->words, sizeof *sets);
    if (!sets)
        return 0;
    mine->words = s->words;
    mine->results = sets + (size_t)2 * s->words;
    for (int level = 0; level < 2; level++) {
        mine->needs[level] = sets + (size_t)level * s->words;
        mine->where[level] = VY_NONE;
    }
    return 1;
}

static void analyse(solver *s, vy_divergence_summary *summaries, uint32_t function) {
    const vy_function *f = &s->flow.program->functions.items[function];
    vy_divergence_summary *mine = &summaries[function];
    s->words = (VY_VARIES_PARAM + f->param_count + 63) / 64;
    vy_divergence_graph_build(&s->flow, function);
    if (s->flow.verifier->out_of_memory || !prepare(s) || !start_summary(s, mine))
        return;
    solve(s);
    check_sync_points(s, mine);
    if (f->result_count)
        memcpy(mine->results, set_of(s, s->flow.results), (size_t)f->result_count * s->words * sizeof *mine->results);
}

void vy_verify_uniformity(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    if (!(p->facts & (VY_PROGRAM_HAS_BARRIER | VY_PROGRAM_HAS_GRID_BARRIER)))
        return; /* no synchronisation points */
    vy_divergence_summary *summaries = vy_verifier_scratch(verifier, p->functions.count, sizeof *summaries);
    solver s = {.flow = {.verifier = verifier, .program = p, .summaries = summaries}};
    for (uint32_t i = 0; i < p->functions.count && !verifier->out_of_memory; i++)
        analyse(&s, summaries, verifier->order ? verifier->order[i] : i);
    VY_VECTOR_FREE(&s.flow.nodes);
    VY_VECTOR_FREE(&s.flow.edges);
    VY_VECTOR_FREE(&s.flow.sync_points);
    vy_release(s.sets, s.sets_size);
    vy_release(s.queue, s.queue_size);
}
