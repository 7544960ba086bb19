/* A second opinion: the language written down as directly as possible, one invocation at a time, to hold the oracle
 * against. No lanes, no masks, no registers: a tree walk over the program, with a coroutine for each invocation of a
 * workgroup so that barriers can be waited for. Slow and simple; runs programs without grid barriers. */
#ifndef VY_TESTS_ORACLE_MODEL_H
#define VY_TESTS_ORACLE_MODEL_H

#include "support/test.h"

#include "ir/dispatch_resolve.h"
#include "ir/eval.h"

#include <ucontext.h>

enum { MODEL_STACK = 256 * 1024 };

typedef enum model_flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_TRAP } model_flow;

typedef struct model model;
typedef struct model_invocation model_invocation;

/* Sees every access before it is made; the index is a mathematical integer. stmt: of an atomic or a store; NULL: a
 * load. */
typedef void model_observer(void *user, const model_invocation *v, uint32_t memory, __int128 index,
                            const vy_stmt *stmt);

struct model_invocation {
    model *m;
    uint32_t local[3], index; /* in the workgroup */
    uint64_t *variables;
    uint8_t **privates; /* by memory */
    ucontext_t context;
    char *stack;
    uint32_t waits_at; /* statement, or VY_NONE */
    int is_done;
    uint64_t value, operand, result; /* of a collective */
};

struct model {
    const vyre_program *program;
    const vy_function *entry;
    vy_resolved_dispatch launch;
    uint8_t **memories; /* buffers and workgroup arrays, by memory of the entry */
    uint32_t group[3];
    uint64_t group_index;
    int group_trapped, trapped;
    vyre_trap trap;
    model_invocation *invocations;
    ucontext_t scheduler;
    uint32_t epoch; /* barriers that the workgroup has passed */
    model_observer *observer;
    void *user;
};

/* ---- memory ---- */

static inline uint64_t model_count(const model *m, uint32_t memory) {
    uint32_t k = memory - m->entry->first_memory;
    return k < m->program->buffer_count ? m->launch.buffers[k].count : m->program->memories.items[memory].elements;
}

static inline __int128 model_integer(vyre_type type, uint64_t bits) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    int negative = layout->classes == VYRE_CLASS_SIGNED && bits >> (layout->bits - 1);
    return negative ? (__int128)bits - ((__int128)1 << layout->bits) : (__int128)bits;
}

/* The element, or NULL out of bounds. */
static inline uint8_t *model_element(model_invocation *v, uint32_t memory, vyre_type type, uint64_t index,
                                     const vy_stmt *stmt) {
    const vy_memory *declared = &v->m->program->memories.items[memory];
    const vy_type_layout *layout = &vy_type_layouts[type];
    if (v->m->observer)
        v->m->observer(v->m->user, v, memory, model_integer(type, index), stmt);
    if (layout->classes == VYRE_CLASS_SIGNED && index >> (layout->bits - 1))
        return NULL;
    if (index >= model_count(v->m, memory))
        return NULL;
    uint32_t k = memory - v->m->entry->first_memory;
    uint8_t *base = declared->space == VY_SPACE_PRIVATE ? v->privates[k] : v->m->memories[k];
    return base + index * vyre_type_size((vyre_type)declared->type);
}

/* ---- expressions ---- */

static inline uint64_t model_builtin(const model_invocation *v, const vy_expr *e) {
    const model *m = v->m;
    uint32_t size = m->program->workgroup[e->axis], groups = m->launch.groups[e->axis];
    switch ((vyre_builtin)e->op) {
    case VYRE_BUILTIN_GLOBAL_ID:
        return m->group[e->axis] * size + v->local[e->axis];
    case VYRE_BUILTIN_LOCAL_ID:
        return v->local[e->axis];
    case VYRE_BUILTIN_GROUP_ID:
        return m->group[e->axis];
    case VYRE_BUILTIN_WORKGROUP_SIZE:
        return size;
    case VYRE_BUILTIN_GROUP_COUNT:
        return groups;
    case VYRE_BUILTIN_GLOBAL_SIZE:
        return groups * size;
    default:
        return v->index;
    }
}

static inline uint64_t model_value(model_invocation *v, uint32_t root) {
    const vyre_program *p = v->m->program;
    const vy_expr *e = &p->exprs.items[root];
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_LITERAL:
        return e->bits;
    case VY_EXPR_VARIABLE:
        return v->variables[e->a - v->m->entry->first_variable];
    case VY_EXPR_LEN:
        return model_count(v->m, e->a);
    case VY_EXPR_BUILTIN:
        return model_builtin(v, e);
    case VY_EXPR_LOAD: {
        const uint8_t *element =
            model_element(v, e->a, (vyre_type)p->exprs.items[e->b].type, model_value(v, e->b), NULL);
        return element ? vy_value_load((vyre_type)e->type, element) : 0;
    }
    default: {
        unsigned arity = vyre_op_get((vyre_op)e->op)->arity;
        /* Of the arms the one that is taken: what the other loads is no access. */
        if (e->op == VYRE_OP_SELECT)
            return model_value(v, model_value(v, e->a) ? e->b : e->c);
        if (e->op == VYRE_OP_LAND || e->op == VYRE_OP_LOR)
            return model_value(v, e->a) == (e->op == VYRE_OP_LOR) ? e->op == VYRE_OP_LOR : model_value(v, e->b);
        uint64_t a = model_value(v, e->a), b = arity > 1 ? model_value(v, e->b) : 0,
                 c = arity > 2 ? model_value(v, e->c) : 0;
        return vyre_op_evaluate((vyre_op)e->op, (vyre_type)e->type, (vyre_type)p->exprs.items[e->a].type, a, b, c);
    }
    }
}

/* ---- statements ---- */

static inline model_flow model_block(model_invocation *v, uint32_t first, uint32_t end);

static inline void model_declare(model_invocation *v, const vy_stmt *s, uint64_t value) {
    if (s->variable != VY_NONE)
        v->variables[s->variable - v->m->entry->first_variable] = value;
}

static inline uint64_t model_atomic(model_invocation *v, const vy_stmt *s) {
    static const vyre_op ops[VYRE_ATOMIC_COUNT] = {
        [VYRE_ATOMIC_ADD] = VYRE_OP_ADD, [VYRE_ATOMIC_AND] = VYRE_OP_AND, [VYRE_ATOMIC_OR] = VYRE_OP_OR,
        [VYRE_ATOMIC_XOR] = VYRE_OP_XOR, [VYRE_ATOMIC_MIN] = VYRE_OP_MIN, [VYRE_ATOMIC_MAX] = VYRE_OP_MAX};
    vyre_type type = (vyre_type)v->m->program->memories.items[s->memory].type;
    uint64_t index = model_value(v, s->a), b = s->b == VY_NONE ? 0 : model_value(v, s->b),
             c = s->c == VY_NONE ? 0 : model_value(v, s->c);
    uint8_t *element = model_element(v, s->memory, (vyre_type)v->m->program->exprs.items[s->a].type, index, s);
    if (!element)
        return 0;
    uint64_t old = vy_value_load(type, element), next = old;
    if (ops[s->op])
        next = vyre_op_evaluate(ops[s->op], type, type, old, b, 0);
    else if (s->op == VYRE_ATOMIC_STORE || s->op == VYRE_ATOMIC_EXCHANGE)
        next = b;
    else if (s->op == VYRE_ATOMIC_COMPARE_EXCHANGE && old == b)
        next = c;
    vy_value_store(type, element, next);
    return old;
}

/* Waits for the workgroup. Whoever does not come back was in a workgroup that ended. */
static inline void model_wait(model_invocation *v, uint32_t s) {
    v->waits_at = s;
    swapcontext(&v->context, &v->m->scheduler);
}

static inline model_flow model_for(model_invocation *v, const vy_stmt *s, uint32_t at) {
    vyre_type type = (vyre_type)v->m->program->exprs.items[s->a].type;
    __int128 k = model_integer(type, model_value(v, s->a)), to = model_integer(type, model_value(v, s->b));
    __int128 step = s->c == VY_NONE ? 1 : model_integer(type, model_value(v, s->c));
    for (; step != 0 && (step > 0 ? k < to : k > to); k += step) {
        model_declare(v, s, (uint64_t)k & vy_type_layouts[type].mask);
        model_flow flow = model_block(v, at + 1, s->end);
        if (flow == FLOW_BREAK)
            break;
        if (flow > FLOW_CONTINUE)
            return flow;
    }
    return FLOW_NEXT;
}

static inline model_flow model_while(model_invocation *v, const vy_stmt *s, uint32_t at) {
    while (model_value(v, s->a)) {
        model_flow flow = model_block(v, at + 1, s->end);
        if (flow == FLOW_BREAK)
            break;
        if (flow > FLOW_CONTINUE)
            return flow;
    }
    return FLOW_NEXT;
}

static inline void model_trap(model_invocation *v, uint64_t code) {
    model *m = v->m;
    uint64_t id = m->group_index * m->launch.group_size + v->index;
    if (!m->trapped || id < m->trap.invocation)
        m->trap = (vyre_trap){id, (uint32_t)code};
    m->trapped = m->group_trapped = 1;
}

static inline model_flow model_statement(model_invocation *v, uint32_t at) {
    const vyre_program *p = v->m->program;
    const vy_stmt *s = &p->stmts.items[at];
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
    case VY_STMT_ASSIGN:
        model_declare(v, s, model_value(v, s->a));
        return FLOW_NEXT;
    case VY_STMT_STORE: {
        uint64_t index = model_value(v, s->a), value = model_value(v, s->b);
        uint8_t *element = model_element(v, s->memory, (vyre_type)p->exprs.items[s->a].type, index, s);
        if (element)
            vy_value_store((vyre_type)p->memories.items[s->memory].type, element, value);
        return FLOW_NEXT;
    }
    case VY_STMT_ATOMIC:
        model_declare(v, s, model_atomic(v, s));
        return FLOW_NEXT;
    case VY_STMT_COLLECTIVE:
        v->value = model_value(v, s->a);
        v->operand = s->b == VY_NONE ? 0 : model_value(v, s->b);
        model_wait(v, at);
        model_declare(v, s, v->result);
        return FLOW_NEXT;
    case VY_STMT_BARRIER:
        model_wait(v, at);
        return FLOW_NEXT;
    case VY_STMT_TRAP:
        model_trap(v, model_value(v, s->a));
        return FLOW_TRAP;
    case VY_STMT_IF:
        return model_value(v, s->a) ? model_block(v, at + 1, s->middle) : model_block(v, s->middle, s->end);
    case VY_STMT_FOR:
        return model_for(v, s, at);
    case VY_STMT_WHILE:
        return model_while(v, s, at);
    case VY_STMT_BREAK:
        return FLOW_BREAK;
    case VY_STMT_CONTINUE:
        return FLOW_CONTINUE;
    case VY_STMT_RETURN:
        return FLOW_RETURN;
    case VY_STMT_REGION:
        return model_block(v, at + 1, s->end);
    default:
        return FLOW_NEXT;
    }
}

static inline model_flow model_block(model_invocation *v, uint32_t first, uint32_t end) {
    for (uint32_t s = first; s < end; s = v->m->program->stmts.items[s].end) {
        model_flow flow = model_statement(v, s);
        if (flow != FLOW_NEXT)
            return flow;
    }
    return FLOW_NEXT;
}

/* ---- collectives ---- */

static inline uint64_t model_tree(const model *m, vyre_op op, vyre_type type, uint32_t a, uint32_t b) {
    uint32_t h = 1;
    if (b == a + 1)
        return m->invocations[a].value;
    while (2 * h < b - a)
        h *= 2;
    return vyre_op_evaluate(op, type, type, model_tree(m, op, type, a, a + h), model_tree(m, op, type, a + h, b), 0);
}

static inline uint64_t model_collective(const model *m, const vy_stmt *s, uint32_t i) {
    uint32_t n = m->launch.group_size, first = s->width ? i / s->width * s->width : 0;
    uint32_t end = s->width && first + s->width < n ? first + s->width : n;
    vyre_type type = (vyre_type)m->program->exprs.items[s->a].type;
    int64_t from = m->invocations[i].operand, lane = i - first;
    uint64_t any = 0, all = 1, ballot = 0;
    for (uint32_t l = first; l < end; l++) {
        any |= m->invocations[l].value;
        all &= m->invocations[l].value;
        ballot |= m->invocations[l].value << (l - first) % 64;
    }
    switch ((vyre_collective)s->op) {
    case VYRE_COLLECTIVE_REDUCE:
        return model_tree(m, (vyre_op)s->combine, type, first, end);
    case VYRE_COLLECTIVE_SCAN_INCLUSIVE:
        return model_tree(m, (vyre_op)s->combine, type, first, i + 1);
    case VYRE_COLLECTIVE_SCAN_EXCLUSIVE:
        return i == first ? vyre_combine_identity((vyre_op)s->combine, type)
                          : model_tree(m, (vyre_op)s->combine, type, first, i);
    case VYRE_COLLECTIVE_ANY:
        return any;
    case VYRE_COLLECTIVE_ALL:
        return all;
    case VYRE_COLLECTIVE_BALLOT:
        return ballot;
    case VYRE_COLLECTIVE_SHUFFLE_XOR:
        from = lane ^ from;
        break;
    case VYRE_COLLECTIVE_SHUFFLE_UP:
        from = lane - from;
        break;
    case VYRE_COLLECTIVE_SHUFFLE_DOWN:
        from = lane + from;
        break;
    default:
        break;
    }
    return from >= 0 && from < (int64_t)(end - first) ? m->invocations[first + from].value : 0;
}

/* ---- workgroups ---- */

static inline void model_main(unsigned high, unsigned low) {
    model_invocation *v = (model_invocation *)((uintptr_t)high << 32 | low);
    model_block(v, v->m->entry->first_stmt, v->m->entry->end_stmt);
    v->is_done = 1;
    v->waits_at = VY_NONE;
    swapcontext(&v->context, &v->m->scheduler);
}

static inline void model_start(model *m, uint32_t i) {
    model_invocation *v = &m->invocations[i];
    const uint32_t *size = m->program->workgroup;
    v->local[0] = i % size[0];
    v->local[1] = i / size[0] % size[1];
    v->local[2] = i / size[0] / size[1];
    v->is_done = 0;
    v->waits_at = VY_NONE;
    for (uint32_t k = 0; k < m->entry->memory_count; k++) {
        const vy_memory *memory = &m->program->memories.items[m->entry->first_memory + k];
        if (memory->space == VY_SPACE_PRIVATE)
            memset(v->privates[k], 0, memory->elements * (size_t)vyre_type_size((vyre_type)memory->type));
    }
    for (uint32_t k = 0; k < m->program->param_count; k++)
        v->variables[k] = m->launch.params[k];
    getcontext(&v->context);
    v->context.uc_stack.ss_sp = v->stack;
    v->context.uc_stack.ss_size = MODEL_STACK;
    v->context.uc_link = NULL;
    makecontext(&v->context, (void (*)(void))model_main, 2, (unsigned)((uintptr_t)v >> 32), (unsigned)(uintptr_t)v);
}

static inline void model_group(model *m) {
    uint32_t n = m->launch.group_size, at = 0;
    m->group_trapped = 0;
    m->epoch = 0;
    for (uint32_t k = 0; k < m->entry->memory_count; k++) {
        const vy_memory *memory = &m->program->memories.items[m->entry->first_memory + k];
        if (memory->space == VY_SPACE_WORKGROUP)
            memset(m->memories[k], 0, memory->elements * (size_t)vyre_type_size((vyre_type)memory->type));
    }
    for (uint32_t i = 0; i < n; i++)
        model_start(m, i);
    do {
        for (uint32_t i = 0; i < n; i++)
            if (!m->invocations[i].is_done)
                swapcontext(&m->scheduler, &m->invocations[i].context);
        at = m->invocations[0].waits_at;
        if (m->group_trapped || at == VY_NONE)
            return;
        const vy_stmt *s = &m->program->stmts.items[at];
        m->epoch += s->kind == VY_STMT_BARRIER;
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(m->invocations[i].waits_at, at);
            if (s->kind == VY_STMT_COLLECTIVE)
                m->invocations[i].result = model_collective(m, s, i);
        }
    } while (1);
}

/* Runs a program; outputs are fresh. Returns OK or TRAPPED (then *trap says where and there are no outputs). */
static inline vyre_status model_run_observed(vyre_program *program, const vyre_arguments *arguments,
                                             vyre_bytes *outputs, vyre_trap *trap, model_observer *observer,
                                             void *user) {
    model m = {.observer = observer, .user = user};
    vyre_program *inlined;
    vyre_error error;
    if (vyre_program_inline(program, &inlined, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    m.program = inlined;
    m.entry = vy_program_entry(inlined);
    if (vy_resolve_dispatch(inlined, arguments, &m.launch, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    uint32_t memories = m.entry->memory_count, n = m.launch.group_size;
    m.memories = calloc(memories + 1, sizeof *m.memories);
    for (uint32_t k = 0; k < memories; k++) {
        const vy_memory *memory = &inlined->memories.items[m.entry->first_memory + k];
        size_t bytes = model_count(&m, m.entry->first_memory + k) * vyre_type_size((vyre_type)memory->type);
        m.memories[k] = calloc(1, bytes + 1);
        if (memory->space == VY_SPACE_BUFFER && m.launch.buffers[k].data)
            memcpy(m.memories[k], m.launch.buffers[k].data, bytes);
        if (memory->space == VY_SPACE_CONSTANT)
            memcpy(m.memories[k], vy_constant_bytes(inlined, memory), bytes);
    }
    m.invocations = calloc(n, sizeof *m.invocations);
    for (uint32_t i = 0; i < n; i++) {
        m.invocations[i] = (model_invocation){.m = &m, .index = i, .stack = malloc(MODEL_STACK)};
        m.invocations[i].variables = calloc(m.entry->variable_count + 1, sizeof(uint64_t));
        m.invocations[i].privates = calloc(memories + 1, sizeof(uint8_t *));
        for (uint32_t k = 0; k < memories; k++) {
            const vy_memory *memory = &inlined->memories.items[m.entry->first_memory + k];
            if (memory->space == VY_SPACE_PRIVATE)
                m.invocations[i].privates[k] =
                    malloc(memory->elements * (size_t)vyre_type_size((vyre_type)memory->type));
        }
    }
    for (m.group_index = 0; m.group_index < m.launch.group_count; m.group_index++) {
        m.group[0] = (uint32_t)(m.group_index % m.launch.groups[0]);
        m.group[1] = (uint32_t)(m.group_index / m.launch.groups[0] % m.launch.groups[1]);
        m.group[2] = (uint32_t)(m.group_index / m.launch.groups[0] / m.launch.groups[1]);
        model_group(&m);
    }
    *trap = m.trap;
    for (uint32_t k = 0; k < memories; k++) {
        if (!m.trapped && k < inlined->buffer_count && m.launch.buffers[k].output != VY_NONE) {
            vyre_bytes *output = &outputs[m.launch.buffers[k].output];
            assert_int_equal(vyre_bytes_resize(output, m.launch.buffers[k].bytes, NULL), VYRE_OK);
            memcpy(output->data ? output->data : "", m.memories[k], output->size);
        }
        free(m.memories[k]);
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < memories; k++)
            free(m.invocations[i].privates[k]);
        free(m.invocations[i].privates);
        free(m.invocations[i].variables);
        free(m.invocations[i].stack);
    }
    free(m.invocations);
    free(m.memories);
    vyre_program_release(inlined);
    return m.trapped ? VYRE_TRAPPED : VYRE_OK;
}

static inline vyre_status model_run(vyre_program *program, const vyre_arguments *arguments, vyre_bytes *outputs,
                                    vyre_trap *trap) {
    return model_run_observed(program, arguments, outputs, trap, NULL, NULL);
}

#endif
