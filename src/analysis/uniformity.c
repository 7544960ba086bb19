/* Uniformity and stride analysis (uniformity.h). Invariant: a value is reported as uniform only if it is uniform in
 * every run.
 *
 * The divergence graph of the validator is built for each function, and divergence is propagated along its edges.
 * Its nodes are variables, memories and control; an expression is as uniform as the least uniform of its leaves.
 * Strides follow in one forward walk: ids have stride 1 along x, sums and products with literals keep a stride, an
 * immutable variable has the stride of its value, and a loop variable that of its start. */
#include "analysis/uniformity.h"

#include "analysis/def_use.h"
#include "base/status.h"
#include "ir/eval.h"
#include "ir/validate/divergence_graph.h"
#include "ir/walk.h"

enum { IN_GROUP = 1 << VY_VARIES_IN_GROUP, IN_GRID = 1 << VY_VARIES_IN_GRID, VARIES = IN_GROUP | IN_GRID };

/* A stride; an unknown one differs from every number. */
typedef struct step {
    uint64_t by;
    int is_known;
} step;

struct vy_uniform {
    const vyre_program *program;
    uint64_t *strides;       /* by expression */
    uint64_t *steps;         /* by variable: the stride of its value */
    uint32_t *control_nodes; /* by statement of the function being analysed */
    /* The VARIES bits: */
    uint8_t *exprs, *variables, *memories, *stmts;
    uint8_t *has_stride; /* by expression */
    uint8_t *has_step;   /* by variable */
    size_t size;         /* of the block, which starts at strides */
};

/* ---- divergence of variables, memories and control ---- */

/* The arguments of a function may differ between invocations, and so may the control flow at its calls. */
static uint8_t seed_of(const vy_divergence_node *node) {
    return node->has_param || node->seed >> VY_VARIES_CONTROL ? VARIES : node->seed & VARIES;
}

/* An unresolved op may return any result. */
static void seed_calls(vy_divergence_graph *flow) {
    const vyre_program *p = flow->program;
    const vy_function *f = flow->function;
    for (uint32_t i = f->first_stmt; i < f->end_stmt; i++) {
        const vy_stmt *s = vy_stmt_at(p, i);
        if (vy_lowered_op_of(p, s))
            continue; /* a function of its arguments */
        for (uint32_t v = 0; s->kind == VY_STMT_CALL && v < s->result_count; v++)
            flow->nodes.items[s->variable + v - f->first_variable].seed |= VARIES;
        for (uint32_t a = 0; s->kind == VY_STMT_CALL && a < s->arg_count; a++) {
            const vy_arg *arg = &p->args.items[s->args + a];
            if (arg->is_memory)
                flow->nodes.items[f->variable_count + arg->index - f->first_memory].seed |= VARIES;
        }
    }
}

/* Propagates the seeds to all dependent nodes. stack has capacity for every node. */
static void spread(vy_divergence_graph *flow, uint32_t *stack) {
    vy_divergence_node *nodes = flow->nodes.items;
    uint32_t count = 0;
    for (uint32_t i = 0; i < flow->nodes.count; i++) {
        nodes[i].seed = seed_of(&nodes[i]);
        nodes[i].queued = nodes[i].seed != 0;
        if (nodes[i].queued)
            stack[count++] = i;
    }
    while (count) {
        uint32_t from = stack[--count];
        nodes[from].queued = 0;
        for (uint32_t edge = nodes[from].edges; edge; edge = flow->edges.items[edge - 1].next) {
            vy_divergence_node *to = &nodes[flow->edges.items[edge - 1].to];
            if ((nodes[from].seed | to->seed) == to->seed)
                continue;
            to->seed |= nodes[from].seed;
            if (!to->queued)
                stack[count++] = flow->edges.items[edge - 1].to;
            to->queued = 1;
        }
    }
}

/* The first nodes are the variables, then the memories (ir/validate/divergence_graph.h). */
static void keep(vy_uniform *u, const vy_divergence_graph *flow) {
    const vy_function *f = flow->function;
    const vy_divergence_node *nodes = flow->nodes.items;
    for (uint32_t i = 0; i < f->variable_count; i++)
        u->variables[f->first_variable + i] = nodes[i].seed;
    for (uint32_t i = 0; i < f->memory_count; i++)
        u->memories[f->first_memory + i] = nodes[f->variable_count + i].seed;
    for (uint32_t i = f->first_stmt; i < f->end_stmt; i++)
        u->stmts[i] = nodes[u->control_nodes[i]].seed;
}

static int follow(vy_uniform *u, vy_divergence_graph *flow, uint32_t function) {
    vy_divergence_graph_build(flow, function);
    if (flow->verifier->out_of_memory)
        return 0;
    size_t size = vy_array_size(flow->nodes.count, sizeof(uint32_t));
    uint32_t *stack = vy_allocate(size);
    if (!stack)
        return 0;
    seed_calls(flow);
    spread(flow, stack);
    keep(u, flow);
    vy_release(stack, size);
    return 1;
}

static int follow_all(vy_uniform *u, const vy_def_use *uses, int poll_is_uniform) {
    const vyre_program *p = u->program;
    size_t size = vy_array_size(p->functions.count + 1u, sizeof(uint32_t));
    uint32_t *first_expr = vy_allocate(size);
    if (!first_expr)
        return 0;
    vy_verifier verifier = {.program = (vyre_program *)p, .first_expr = first_expr};
    vy_divergence_graph flow = {
        .verifier = &verifier, .program = p, .control = u->control_nodes, .poll_is_uniform = poll_is_uniform};
    int ok = 1;
    for (uint32_t i = 0; i < p->functions.count && ok; i++) {
        first_expr[i] = uses->first_expr[p->functions.items[i].first_stmt];
        ok = follow(u, &flow, i);
    }
    VY_VECTOR_FREE(&flow.nodes);
    VY_VECTOR_FREE(&flow.edges);
    VY_VECTOR_FREE(&flow.sync_points);
    vy_release(first_expr, size);
    return ok;
}

/* ---- expressions ---- */

static uint8_t operand_varies(const vy_uniform *u, uint32_t expr) {
    return expr == VY_NONE ? 0 : u->exprs[expr];
}

static uint8_t varies(const vy_uniform *u, const vy_expr *e) {
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_VARIABLE:
        return u->variables[e->a];
    case VY_EXPR_LOAD:
        return u->memories[e->a] | operand_varies(u, e->b) | operand_varies(u, e->c);
    case VY_EXPR_BUILTIN:
        return (uint8_t)vy_builtin_varies(e);
    case VY_EXPR_OP:
        return operand_varies(u, e->a) | operand_varies(u, e->b) | operand_varies(u, e->c);
    case VY_EXPR_LITERAL:
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
    case VY_EXPR_KIND_COUNT:
        break;
    }
    return 0;
}

/* ---- strides ---- */

static const step unknown = {0, 0}, none = {0, 1};

static step step_at(const vy_uniform *u, uint32_t expr) {
    return expr == VY_NONE ? none : (step){u->strides[expr], u->has_stride[expr]};
}

static int is_none(step s) {
    return s.is_known && s.by == 0;
}

static int is_integer(uint8_t type) {
    return (vy_type_layouts[type].classes & VYRE_CLASS_INTEGER) != 0;
}

static step step_of_builtin(const vy_expr *e) {
    int counts = e->op == VYRE_BUILTIN_LOCAL_INDEX ||
                 ((e->op == VYRE_BUILTIN_LOCAL_ID || e->op == VYRE_BUILTIN_GLOBAL_ID) && e->axis == 0);
    int is_along_y_or_z = (e->op == VYRE_BUILTIN_LOCAL_ID || e->op == VYRE_BUILTIN_GLOBAL_ID) && e->axis != 0;
    return counts ? (step){1, 1} : is_along_y_or_z ? none : unknown;
}

/* Strides are computed modulo 2^64, which is exact modulo every smaller power of two. Operands with stride 0 yield a
 * result with stride 0. */
static step step_of_op(const vy_uniform *u, const vy_expr *e) {
    const vy_expr *exprs = u->program->exprs.items;
    step a = step_at(u, e->a), b = step_at(u, e->b), c = step_at(u, e->c);
    if (is_none(a) && is_none(b) && is_none(c))
        return none;
    if (!is_integer(e->type) || !b.is_known || !c.is_known || (!a.is_known))
        return unknown;
    const vy_expr *right = e->b == VY_NONE ? NULL : &exprs[e->b];
    int bits = vy_type_layouts[e->type].bits, from = vy_type_layouts[exprs[e->a].type].bits;
    switch ((vyre_op)e->op) {
    case VYRE_OP_ADD:
        return (step){a.by + b.by, 1};
    case VYRE_OP_SUB:
        return (step){a.by - b.by, 1};
    case VYRE_OP_NEG:
    case VYRE_OP_NOT: /* -1 - x */
        return (step){0 - a.by, 1};
    case VYRE_OP_MUL:
        if (right->kind == VY_EXPR_LITERAL)
            return (step){a.by * right->bits, 1};
        return exprs[e->a].kind == VY_EXPR_LITERAL ? (step){b.by * exprs[e->a].bits, 1} : unknown;
    case VYRE_OP_SHL:
        return right->kind == VY_EXPR_LITERAL ? (step){a.by << right->bits % (unsigned)bits, 1} : unknown;
    case VYRE_OP_SELECT: /* all invocations of a row select the same arm */
        return is_none(a) && b.by == c.by ? b : unknown;
    case VYRE_OP_CAST:
    case VYRE_OP_BITCAST:
        return is_integer(exprs[e->a].type) && bits <= from ? a : unknown;
    default:
        return unknown;
    }
}

static step step_of(const vy_uniform *u, uint32_t index) {
    const vy_expr *e = vy_expr_at(u->program, index);
    if (!(u->exprs[index] & IN_GROUP))
        return none;
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_VARIABLE:
        return (step){u->steps[e->a], u->has_step[e->a]};
    case VY_EXPR_LOAD:
        return !(u->memories[e->a] & IN_GROUP) && is_none(step_at(u, e->b)) && is_none(step_at(u, e->c)) ? none
                                                                                                         : unknown;
    case VY_EXPR_BUILTIN:
        return step_of_builtin(e);
    case VY_EXPR_OP:
        return step_of_op(u, e);
    default:
        return unknown;
    }
}

/* A loop variable is its start plus the step per completed iteration, and invocations in the same iteration have
 * completed the same number. */
static void set_loop_stride(vy_uniform *u, const vy_def_use *uses, const vy_stmt *s) {
    step given = unknown;
    if (s->kind == VY_STMT_LET || (s->kind == VY_STMT_VAR && !uses->is_assigned[s->variable]))
        given = step_at(u, s->a);
    else if (s->kind == VY_STMT_FOR && is_none(step_at(u, s->c)))
        given = step_at(u, s->a);
    if (s->result_count == 1) {
        u->steps[s->variable] = given.by;
        u->has_step[s->variable] = (uint8_t)given.is_known;
    }
}

static void walk(vy_uniform *u, const vy_def_use *uses) {
    const vyre_program *p = u->program;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        for (uint32_t expr = uses->first_expr[i]; expr < uses->first_expr[i + 1]; expr++) {
            u->exprs[expr] = varies(u, vy_expr_at(p, expr));
            step found = step_of(u, expr);
            u->strides[expr] = found.by & vy_type_layouts[vy_expr_at(p, expr)->type].mask;
            u->has_stride[expr] = (uint8_t)found.is_known;
        }
        set_loop_stride(u, uses, vy_stmt_at(p, i));
    }
}

/* ---- the analysis ---- */

static int prepare(vy_uniform *u) {
    const vyre_program *p = u->program;
    size_t exprs = p->exprs.count, variables = p->variables.count, memories = p->memories.count, stmts = p->stmts.count;
    u->size = vy_array_size((exprs + variables) * 8 + stmts * 4 + exprs * 2 + variables * 2 + memories + stmts + 1, 1);
    u->strides = vy_allocate_zero(u->size);
    if (!u->strides)
        return 0;
    u->steps = u->strides + exprs;
    u->control_nodes = (uint32_t *)(u->steps + variables);
    u->exprs = (uint8_t *)(u->control_nodes + stmts);
    u->has_stride = u->exprs + exprs;
    u->variables = u->has_stride + exprs;
    u->has_step = u->variables + variables;
    u->memories = u->has_step + variables;
    u->stmts = u->memories + memories;
    return 1;
}

static vyre_status make(const vyre_program *program, int poll_is_uniform, vy_uniform **out, vyre_error *error) {
    *out = NULL;
    if (program->facts & VY_PROGRAM_HAS_CALL)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "inline the program first (vyre_program_inline)",
                       "the uniformity analysis does not accept a program that calls its own functions");
    vy_uniform *u = vy_allocate_zero(sizeof *u);
    if (!u)
        return vy_fail_memory(error, "uniformity");
    u->program = program;
    vy_arena arena = {0};
    vy_def_use uses = {.program = program, .arena = &arena};
    if (prepare(u) && vy_def_use_need(&uses, VY_DEF_USE_EXPRS | VY_DEF_USE_ASSIGNED) &&
        follow_all(u, &uses, poll_is_uniform)) {
        walk(u, &uses);
        *out = u;
    } else {
        vy_uniform_free(u);
    }
    vy_arena_free(&arena);
    return *out ? VYRE_OK : vy_fail_memory(error, "uniformity");
}

vyre_status vy_uniform_make(const vyre_program *program, vy_uniform **out, vyre_error *error) {
    return make(program, 0, out, error);
}

vyre_status vy_uniform_make_with_uniform_polls(const vyre_program *program, vy_uniform **out, vyre_error *error) {
    return make(program, 1, out, error);
}

void vy_uniform_free(vy_uniform *u) {
    if (!u)
        return;
    vy_release(u->strides, u->size);
    vy_release(u, sizeof *u);
}

/* ---- queries ---- */

static vy_uniformity uniformity_of(uint8_t varies) {
    return varies & IN_GROUP  ? VY_UNIFORMITY_DIVERGENT
           : varies & IN_GRID ? VY_UNIFORMITY_WORKGROUP
                              : VY_UNIFORMITY_GRID;
}

vy_uniformity vy_expr_uniformity(const vy_uniform *u, uint32_t expr) {
    return uniformity_of(u->exprs[expr]);
}

vy_uniformity vy_variable_uniformity(const vy_uniform *u, uint32_t variable) {
    return uniformity_of(u->variables[variable]);
}

vy_uniformity vy_memory_uniformity(const vy_uniform *u, uint32_t memory) {
    return uniformity_of(u->memories[memory]);
}

vy_uniformity vy_control_uniformity(const vy_uniform *u, uint32_t stmt) {
    return uniformity_of(u->stmts[stmt]);
}

int vy_stride_of(const vy_uniform *u, uint32_t expr, uint64_t *stride) {
    *stride = u->strides[expr];
    return u->has_stride[expr];
}

int vy_variable_stride(const vy_uniform *u, uint32_t variable, uint64_t *stride) {
    *stride = u->steps[variable] & vy_type_layouts[u->program->variables.items[variable].type].mask;
    return u->has_step[variable];
}

/* ---- constant arrays ---- */

static void mark_table(const vyre_program *p, uint32_t memory, uint8_t *is_divergent) {
    const vy_memory *m = vy_memory_at(p, memory);
    if (m->space == VY_SPACE_CONSTANT)
        is_divergent[m->table] = 1;
}

vyre_status vy_divergent_tables(const vyre_program *program, uint8_t *is_divergent, vyre_error *error) {
    vy_uniform *uniform;
    vyre_status status = vy_uniform_make(program, &uniform, error);
    if (status != VYRE_OK)
        return status;
    for (uint32_t i = 0; i < program->exprs.count; i++) {
        const vy_expr *x = vy_expr_at(program, i);
        if (x->kind == VY_EXPR_LOAD && vy_expr_uniformity(uniform, x->b) == VY_UNIFORMITY_DIVERGENT)
            mark_table(program, x->a, is_divergent);
    }
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        const vy_stmt *s = vy_stmt_at(program, i);
        if (s->kind == VY_STMT_LOAD_WIDE && vy_expr_uniformity(uniform, s->a) == VY_UNIFORMITY_DIVERGENT)
            mark_table(program, s->memory, is_divergent);
    }
    vy_uniform_free(uniform);
    return VYRE_OK;
}
