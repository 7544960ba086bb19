/* Construction of the divergence graph in one pass over the statements of a function, by the rules in
 * divergence_graph.h. */
#include "ir/validate/divergence_graph.h"

#include "ir/op_tables.h"

#define IN_GROUP (1u << VY_VARIES_IN_GROUP | 1u << VY_VARIES_IN_GRID)
#define IN_GRID (1u << VY_VARIES_IN_GRID)

typedef struct block {
    uint32_t stmt, end;
    uint32_t control;     /* control inside the block */
    uint32_t around;      /* control around the block */
    uint32_t jumps;       /* pending jumps at its start */
    uint32_t outer_jumps; /* loops: pending jumps of the enclosing loop */
    uint32_t returns;     /* pending returns at its start */
    /* Pending jumps and returns at the end of the first branch of an `if`; they do not affect the second. */
    uint32_t then_jumps, then_returns;
    uint8_t is_loop, one_trip;
} block;

typedef struct builder {
    vy_divergence_graph *flow;
    const vyre_program *program;
    const vy_function *function;
    uint32_t control; /* at the current statement */
    uint32_t
        jumps; /* control at the continues so far of the innermost loop (single-trip loops: also breaks), or VY_NONE */
    uint32_t returns; /* control at the returns so far, or VY_NONE */
    block open[VY_LIMIT_NESTING];
    uint32_t depth;
} builder;

/* ---- nodes and edges; after a failed allocation, further calls have no effect ---- */

static uint32_t add_node(builder *b, vy_divergence_kind kind, uint32_t origin, uint32_t seed) {
    vy_divergence_node *node = VY_PUSH(&b->flow->nodes);
    if (!node) {
        b->flow->verifier->out_of_memory = 1;
        return 0; /* out of memory: a valid node, or never read */
    }
    node->kind = (uint8_t)kind;
    node->origin = origin;
    node->seed = (uint8_t)seed;
    node->cause[0] = node->cause[1] = VY_NONE;
    return b->flow->nodes.count - 1;
}

static void add_edge(builder *b, uint32_t from, uint32_t to) {
    vy_divergence_graph *flow = b->flow;
    if (from == to || from == VY_NONE || flow->verifier->out_of_memory)
        return;
    vy_divergence_edge *edge = VY_PUSH(&flow->edges);
    if (!edge) {
        flow->verifier->out_of_memory = 1;
        return;
    }
    edge->to = to;
    edge->next = flow->nodes.items[from].edges;
    flow->nodes.items[from].edges = flow->edges.count;
}

static uint32_t variable_node(const builder *b, uint32_t variable) {
    return variable - b->function->first_variable;
}

static uint32_t memory_node(const builder *b, uint32_t memory) {
    return b->function->variable_count + memory - b->function->first_memory;
}

/* Control that depends on both; VY_NONE: on neither. */
static uint32_t join(builder *b, uint32_t one, uint32_t other) {
    if (one == VY_NONE || one == other)
        return other;
    if (other == VY_NONE)
        return one;
    uint32_t both = add_node(b, VY_DIVERGENCE_CONTROL, VY_NONE, 0);
    add_edge(b, one, both);
    add_edge(b, other, both);
    return both;
}

/* ---- expressions: all leaves of the next tree, up to its root, flow into `to` ---- */

uint32_t vy_builtin_varies(const vy_expr *e) {
    return e->op == VYRE_BUILTIN_GROUP_ID ? IN_GRID : vy_builtins[e->op].is_uniform ? 0 : IN_GROUP;
}

static void add_leaf_edges(builder *b, uint32_t index, uint32_t to) {
    const vy_expr *e = &b->program->exprs.items[index];
    if (e->kind == VY_EXPR_VARIABLE)
        add_edge(b, variable_node(b, e->a), to);
    else if (e->kind == VY_EXPR_LOAD)
        add_edge(b, memory_node(b, e->a), to);
    else if (e->kind == VY_EXPR_BUILTIN) {
        uint32_t seed = vy_builtin_varies(e);
        if (seed)
            add_edge(b, add_node(b, VY_DIVERGENCE_SOURCE, index, seed), to);
    }
}

/* If `to` is VY_NONE, the tree is skipped; if `root` is VY_NONE, it is empty. */
static void add_tree_edges(builder *b, uint32_t root, uint32_t to) {
    uint32_t *next = &b->flow->next_expr;
    if (root == VY_NONE)
        return;
    for (; to != VY_NONE && *next <= root; ++*next)
        add_leaf_edges(b, *next, to);
    *next = root + 1;
}

/* ---- synchronisation points ---- */

static void add_sync_point(builder *b, uint32_t node, uint32_t stmt, uint32_t where, int level, int is_lane) {
    vy_sync_point *sync_point = VY_PUSH(&b->flow->sync_points);
    if (sync_point)
        *sync_point = (vy_sync_point){node, stmt, where, (uint8_t)level, (uint8_t)is_lane};
    else
        b->flow->verifier->out_of_memory = 1;
}

static void seed(builder *b, uint32_t node, uint32_t bits) {
    if (node < b->flow->nodes.count)
        b->flow->nodes.items[node].seed |= (uint8_t)bits;
}

static int is_uniform_collective(const vy_stmt *s) {
    return s->width == 0 && (s->op == VYRE_COLLECTIVE_REDUCE || s->op == VYRE_COLLECTIVE_ANY ||
                             s->op == VYRE_COLLECTIVE_ALL || s->op == VYRE_COLLECTIVE_BROADCAST);
}

static void add_collective_edges(builder *b, uint32_t index, const vy_stmt *s) {
    add_sync_point(b, b->control, index, index, VY_VARIES_IN_GROUP, 0);
    add_tree_edges(b, s->a, VY_NONE);
    if (s->op == VYRE_COLLECTIVE_BROADCAST) {
        uint32_t lane = add_node(b, VY_DIVERGENCE_VALUE, index, 0);
        add_tree_edges(b, s->b, lane);
        add_sync_point(b, lane, index, index, VY_VARIES_IN_GROUP, 1);
    }
    add_tree_edges(b, s->b, VY_NONE);
    seed(b, variable_node(b, s->variable), is_uniform_collective(s) ? IN_GRID : IN_GROUP);
}

/* ---- calls: the summary of the callee, with its sources replaced by the arguments ---- */

/* An unresolved op is treated as a pure function of its arguments; the program is verified again after linking. */
static void add_op_call_edges(builder *b, uint32_t index, const vy_stmt *s) {
    uint32_t value = add_node(b, VY_DIVERGENCE_VALUE, index, 0);
    for (uint32_t i = 0; i < s->arg_count; i++) {
        const vy_arg *arg = &b->program->args.items[s->args + i];
        if (arg->is_memory)
            add_edge(b, memory_node(b, arg->index), value);
        else
            add_tree_edges(b, arg->index, value);
    }
    for (uint32_t i = 0; i < s->result_count; i++)
        add_edge(b, value, variable_node(b, s->variable + i));
}

static void add_source_edges(builder *b, uint32_t index, const vy_stmt *s, const vy_divergence_summary *callee,
                             uint32_t bit, uint32_t node) {
    for (uint32_t i = 0; i < s->result_count; i++)
        if (vy_divergence_set_has(callee->results + (size_t)i * callee->words, bit))
            add_edge(b, node, variable_node(b, s->variable + i));
    for (int level = 0; level < 2; level++)
        if (vy_divergence_set_has(callee->needs[level], bit))
            add_sync_point(b, node, index, callee->where[level], level,
                           callee->is_lane[level] && bit >= VY_VARIES_PARAM);
}

/* The values that a callee stores to a private array argument are not tracked. */
static void add_memory_arg_edges(builder *b, const vy_stmt *s, uint32_t i, uint32_t memory) {
    const vy_callee_summary *callee = &b->flow->verifier->callees[s->callee];
    if (b->program->memories.items[memory].space == VY_SPACE_PRIVATE && (callee->written[i / 64] >> i % 64 & 1))
        seed(b, memory_node(b, memory), IN_GROUP);
}

static void add_local_call_edges(builder *b, uint32_t index, const vy_stmt *s) {
    const vy_divergence_summary *callee = &b->flow->summaries[s->callee];
    add_source_edges(b, index, s, callee, VY_VARIES_CONTROL, b->control);
    for (uint32_t i = 0; i < s->arg_count; i++) {
        const vy_arg *arg = &b->program->args.items[s->args + i];
        uint32_t node = arg->is_memory ? memory_node(b, arg->index) : add_node(b, VY_DIVERGENCE_VALUE, index, 0);
        if (arg->is_memory)
            add_memory_arg_edges(b, s, i, arg->index);
        else
            add_tree_edges(b, arg->index, node);
        add_source_edges(b, index, s, callee, VY_VARIES_PARAM + i, node);
    }
    for (uint32_t i = 0; i < s->result_count; i++)
        seed(b, variable_node(b, s->variable + i), (uint32_t)callee->results[(size_t)i * callee->words] & IN_GROUP);
}

/* ---- control ---- */

static void open_block(builder *b, uint32_t index, const vy_stmt *s) {
    block *k = &b->open[b->depth++];
    *k = (block){.stmt = index, .end = s->end, .around = b->control, .outer_jumps = b->jumps, .returns = b->returns};
    k->is_loop = vy_stmt_is_loop(s->kind);
    if (k->is_loop) {
        k->one_trip = (uint8_t)vy_loop_runs_once(b->program, index);
        b->jumps = VY_NONE;
    }
    k->jumps = k->then_jumps = b->jumps;
    k->then_returns = b->returns;
    if (s->kind == VY_STMT_REGION) {
        k->control = b->control;
        return;
    }
    k->control = add_node(b, VY_DIVERGENCE_CONTROL, index, 0);
    add_edge(b, b->control, k->control);
    uint32_t first = b->flow->next_expr;
    add_tree_edges(b, s->a, k->control);
    add_tree_edges(b, s->b, k->control);
    add_tree_edges(b, s->c, k->control);
    if (s->kind == VY_STMT_FOR)
        for (uint32_t i = first; i < b->flow->next_expr; i++)
            add_leaf_edges(b, i, variable_node(b, s->variable));
    b->control = k->control;
}

/* Jumps in the first branch do not affect control in the second. */
static void start_else(builder *b) {
    block *k = &b->open[b->depth - 1];
    k->then_jumps = b->jumps;
    k->then_returns = b->returns;
    b->jumps = k->jumps;
    b->returns = k->returns;
    b->control = k->control;
}

/* Joins the pending jumps of both branches; `before` were pending before the `if`. */
static uint32_t merge(builder *b, uint32_t before, uint32_t one, uint32_t other) {
    return one == before ? other : other == before ? one : join(b, one, other);
}

static void close_block(builder *b) {
    block *k = &b->open[--b->depth];
    b->jumps = merge(b, k->jumps, k->then_jumps, b->jumps);
    b->returns = merge(b, k->returns, k->then_returns, b->returns);
    int has_jumps = b->jumps != k->jumps, has_returns = b->returns != k->returns;
    if (b->program->stmts.items[k->stmt].kind == VY_STMT_REGION)
        return; /* control flow is linear */
    b->control = k->around;
    if (k->is_loop) {
        b->jumps = k->outer_jumps;
        if (has_returns && !k->one_trip)
            add_edge(b, b->returns, k->control);
    } else if (has_jumps)
        b->control = join(b, b->control, b->jumps);
    if (has_returns)
        b->control = join(b, b->control, b->returns);
}

static void add_jump_edges(builder *b, const vy_stmt *s) {
    uint32_t depth = b->depth;
    while (depth && !b->open[depth - 1].is_loop)
        depth--;
    if (depth == 0)
        return;
    block *loop = &b->open[depth - 1];
    if (s->kind == VY_STMT_CONTINUE || loop->one_trip)
        b->jumps = join(b, b->jumps, b->control);
    else
        add_edge(b, b->control, loop->control);
}

static void add_return_edges(builder *b, const vy_stmt *s) {
    for (uint32_t i = 0; i < s->arg_count; i++) {
        uint32_t result = b->flow->results + i;
        add_tree_edges(b, b->program->args.items[s->args + i].index, result);
        add_edge(b, b->control, result);
    }
    b->returns = join(b, b->returns, b->control);
}

/* ---- statements ---- */

/* Only private arrays depend on stores; the divergence of other memory was set when its node was created. */
static void add_store_edges(builder *b, const vy_stmt *s) {
    int is_private = b->program->memories.items[s->memory].space == VY_SPACE_PRIVATE;
    uint32_t to = is_private ? memory_node(b, s->memory) : VY_NONE;
    add_tree_edges(b, s->a, to);
    add_tree_edges(b, s->b, to);
    if (is_private)
        add_edge(b, b->control, to);
}

static void skip_exprs(builder *b, const vy_stmt *s) {
    b->flow->next_expr = vy_stmt_exprs_end(b->program, s, b->flow->next_expr);
}

static void add_stmt_edges(builder *b, uint32_t index, const vy_stmt *s) {
    for (uint32_t i = 0; i < s->result_count && !b->flow->verifier->out_of_memory; i++)
        b->flow->nodes.items[variable_node(b, s->variable + i)].origin = index;
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_ASSIGN:
        add_edge(b, b->control, variable_node(b, s->variable)); /* fall through */
    case VY_STMT_LET:
    case VY_STMT_VAR:
        add_tree_edges(b, s->a, variable_node(b, s->variable));
        break;
    case VY_STMT_STORE:
        add_store_edges(b, s);
        break;
    case VY_STMT_ATOMIC:
        skip_exprs(b, s);
        if (s->result_count)
            seed(b, variable_node(b, s->variable), IN_GROUP);
        break;
    case VY_STMT_COLLECTIVE:
        add_collective_edges(b, index, s);
        break;
    case VY_STMT_BARRIER:
        add_sync_point(b, b->control, index, index,
                       s->scope == VYRE_SCOPE_DEVICE ? VY_VARIES_IN_GRID : VY_VARIES_IN_GROUP, 0);
        break;
    case VY_STMT_CALL:
        if (s->callee == VY_NONE)
            add_op_call_edges(b, index, s);
        else
            add_local_call_edges(b, index, s);
        break;
    case VY_STMT_IF:
    case VY_STMT_FOR:
    case VY_STMT_WHILE:
    case VY_STMT_REGION:
        open_block(b, index, s);
        break;
    case VY_STMT_BREAK:
    case VY_STMT_CONTINUE:
        add_jump_edges(b, s);
        break;
    case VY_STMT_RETURN:
        add_return_edges(b, s);
        break;
    case VY_STMT_LOAD_WIDE:
        for (uint32_t i = 0; i < s->result_count; i++)
            add_edge(b, memory_node(b, s->memory), variable_node(b, s->variable + i));
        add_tree_edges(b, s->a, variable_node(b, s->variable));
        for (uint32_t i = 1; i < s->result_count; i++)
            add_edge(b, variable_node(b, s->variable), variable_node(b, s->variable + i));
        break;
    case VY_STMT_POLL:
        seed(b, variable_node(b, s->variable), b->flow->poll_is_uniform ? IN_GRID : IN_GROUP);
        break;
    case VY_STMT_STORE_WIDE:
        add_edge(b, b->control, memory_node(b, s->memory));
        skip_exprs(b, s);
        seed(b, memory_node(b, s->memory), IN_GROUP);
        break;
    case VY_STMT_TRAP:
    case VY_STMT_PRINT:
    case VY_STMT_RECORD_TRAP:
    case VY_STMT_KIND_COUNT:
        skip_exprs(b, s);
        break;
    }
}

/* The divergence of loads from a memory. Memory that is never written is uniform. A read-only parameter is as
 * divergent as its argument. A private array of the entry depends on the stores to it. All other memory is
 * divergent, including private arrays of functions, because all inlined calls share them. */
static void add_memory(builder *b, uint32_t memory, int is_entry) {
    const vy_memory *m = &b->program->memories.items[memory];
    int is_private = m->space == VY_SPACE_PRIVATE;
    int is_constant = !vy_access_stores(m->access);
    int is_known = is_constant || (is_private && is_entry);
    add_node(b, VY_DIVERGENCE_MEMORY, memory, is_known ? 0 : IN_GROUP);
}

static void add_declarations(builder *b, int is_entry) {
    const vy_function *f = b->function;
    for (uint32_t i = 0; i < f->variable_count; i++)
        add_node(b, VY_DIVERGENCE_VARIABLE, VY_NONE, 0);
    for (uint32_t i = 0; i < f->memory_count; i++)
        add_memory(b, f->first_memory + i, is_entry);
    b->flow->results = b->flow->nodes.count;
    for (uint32_t i = 0; i < f->result_count; i++)
        add_node(b, VY_DIVERGENCE_RESULT, i, 0);
    for (uint32_t i = 0; i < f->param_count && !b->flow->verifier->out_of_memory; i++) {
        const vy_param *param = &b->program->params.items[f->first_param + i];
        vy_divergence_node *node =
            &b->flow->nodes.items[param->is_memory ? memory_node(b, param->index) : variable_node(b, param->index)];
        node->has_param = node->seed == 0;
        node->param = (uint16_t)i;
    }
}

void vy_divergence_graph_build(vy_divergence_graph *flow, uint32_t index) {
    const vyre_program *p = flow->program;
    builder b = {
        .flow = flow, .program = p, .function = &p->functions.items[index], .jumps = VY_NONE, .returns = VY_NONE};
    int is_entry = vy_is_entry(p, b.function);
    flow->function = b.function;
    flow->nodes.count = flow->edges.count = flow->sync_points.count = 0;
    flow->next_expr = flow->verifier->first_expr[index];
    add_declarations(&b, is_entry);
    b.control = add_node(&b, VY_DIVERGENCE_CONTROL, VY_NONE, is_entry ? 0 : 1u << VY_VARIES_CONTROL);
    for (uint32_t i = b.function->first_stmt; i < b.function->end_stmt; i++) {
        /* The else branch starts with the control of the `if`. */
        while (b.depth && b.open[b.depth - 1].end == i)
            close_block(&b);
        if (b.depth && p->stmts.items[b.open[b.depth - 1].stmt].middle == i)
            start_else(&b);
        if (flow->control)
            flow->control[i] = b.control;
        add_stmt_edges(&b, i, &p->stmts.items[i]);
    }
    while (b.depth)
        close_block(&b);
}
