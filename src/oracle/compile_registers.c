/* Liveness analysis and register allocation of the bytecode compiler; emission of instructions.
 *
 * Liveness: one pass before emission, without recursion. It also finds the expressions with loads and counts the nodes
 * of statements. Statements are in pre-order, and the expressions of a statement are a contiguous range in post-order
 * (ir/model.h). A variable is dead after the last statement that uses it, or after the outermost loop that contains
 * such a use but not its declaration, since the next trip may use it again. */
#include "oracle/compile.h"

typedef struct walk {
    vy_oracle_compiler *c;
    uint32_t expr;                        /* the next expression that does not belong to an earlier statement */
    uint32_t loops[VY_LIMIT_NESTING + 2]; /* open loops, outermost first */
    uint32_t depth;
} walk;

/* The last expression of a statement, or VY_NONE. Its trees are in the order a, b, c, args. */
static uint32_t last_root(const vyre_program *program, const vy_stmt *stmt) {
    for (uint32_t i = stmt->arg_count; i-- > 0;)
        if (!program->args.items[stmt->args + i].is_memory)
            return program->args.items[stmt->args + i].index;
    return stmt->c != VY_NONE ? stmt->c : stmt->b != VY_NONE ? stmt->b : stmt->a;
}

static void use(walk *w, uint32_t s, uint32_t variable) {
    vy_oracle_compiler *c = w->c;
    vy_live_interval *life = &c->lives[c->lives[variable - c->entry->first_variable].root];
    if (life->stmt == VY_NONE)
        return; /* a param */
    for (uint32_t i = 0; i < w->depth; i++) {
        if (w->loops[i] > life->stmt) {
            s = w->loops[i];
            break;
        }
    }
    life->last = s;
}

/* `let x = y` with an immutable y, a literal, a len or an id: x needs no separate register. */
static void find_alias(walk *w, const vy_stmt *stmt, vy_live_interval *life) {
    vy_oracle_compiler *c = w->c;
    const vy_expr *value = &c->program->exprs.items[stmt->a];
    if (stmt->kind != VY_STMT_LET)
        return;
    if (value->kind == VY_EXPR_VARIABLE && !c->program->variables.items[value->a].is_mutable)
        life->root = c->lives[value->a - c->entry->first_variable].root;
    else
        life->is_borrowed = value->kind == VY_EXPR_LITERAL || value->kind == VY_EXPR_LEN ||
                            value->kind == VY_EXPR_BUILTIN || value->kind == VY_EXPR_ALIGN_OFFSET;
}

static void walk_expressions(walk *w, uint32_t s) {
    vy_oracle_compiler *c = w->c;
    const vy_stmt *stmt = &c->program->stmts.items[s];
    uint32_t last = last_root(c->program, stmt), first = w->expr;
    if (last == VY_NONE)
        return;
    for (uint32_t e = first; e <= last; e++) {
        const vy_expr *expr = &c->program->exprs.items[e];
        uint8_t *has_load = &c->has_load[e - c->first_expr];
        if (expr->kind == VY_EXPR_VARIABLE) {
            use(w, s, expr->a);
        } else if (expr->kind == VY_EXPR_LOAD) {
            *has_load = 1;
        } else if (expr->kind == VY_EXPR_OP) {
            const uint32_t operands[3] = {expr->a, expr->b, expr->c};
            for (int i = 0; i < 3 && operands[i] != VY_NONE; i++)
                *has_load |= c->has_load[operands[i] - c->first_expr];
        }
    }
    c->node_counts[s - c->entry->first_stmt] = last + 1 - first;
    w->expr = last + 1;
}

static void walk_statement(walk *w, uint32_t s) {
    vy_oracle_compiler *c = w->c;
    const vy_stmt *stmt = &c->program->stmts.items[s];
    int is_while = stmt->kind == VY_STMT_WHILE, is_for = stmt->kind == VY_STMT_FOR;
    while (w->depth && c->program->stmts.items[w->loops[w->depth - 1]].end <= s)
        w->depth--;
    /* The condition of a while is part of its trips; the bounds of a for are not. */
    if (is_while)
        w->loops[w->depth++] = s;
    walk_expressions(w, s);
    if (is_for)
        w->loops[w->depth++] = s;
    if (stmt->kind == VY_STMT_ASSIGN)
        use(w, s, stmt->variable);
    else if (stmt->variable != VY_NONE)
        for (uint32_t i = 0; i < stmt->result_count; i++) {
            uint32_t v = stmt->variable - c->entry->first_variable + i;
            c->lives[v] = (vy_live_interval){.root = v, .next = VY_NONE, .stmt = s, .last = s};
            if (stmt->kind == VY_STMT_LET)
                find_alias(w, stmt, &c->lives[v]);
        }
}

/* Adds every variable that owns a register to the list of the statement after which it is free. */
static void chain_expired(vy_oracle_compiler *c) {
    memset(c->expires, 0xff, (c->entry->end_stmt - c->entry->first_stmt) * sizeof *c->expires);
    for (uint32_t v = c->program->param_count; v < c->entry->variable_count; v++) {
        vy_live_interval *life = &c->lives[v];
        if (life->root != v)
            continue;
        /* A loop variable is live during its whole loop, independent of its uses. */
        if (c->program->stmts.items[life->stmt].kind == VY_STMT_FOR)
            life->last = life->stmt;
        uint32_t *head = &c->expires[life->last - c->entry->first_stmt];
        life->next = *head;
        *head = v;
    }
}

int vy_oracle_compiler_liveness(vy_oracle_compiler *c) {
    const vyre_program *program = c->program;
    walk w = {.c = c};
    /* Inlined functions may still exist; their expressions precede those of the entry. */
    for (uint32_t s = 0; s < c->entry->first_stmt; s++) {
        uint32_t last = last_root(program, &program->stmts.items[s]);
        if (last != VY_NONE)
            w.expr = last + 1;
    }
    c->first_expr = w.expr;
    size_t variables = c->entry->variable_count, statements = c->entry->end_stmt - c->entry->first_stmt;
    size_t expressions = program->exprs.count - w.expr;
    /* One extra byte, so that an empty program has a block, too: the parts are found by arithmetic on its address. */
    c->block_size = variables * sizeof(vy_live_interval) + statements * 2 * sizeof(uint32_t) + expressions + 1;
    c->block = vy_allocate_zero(c->block_size);
    if (!c->block)
        return 0;
    c->lives = c->block;
    c->expires = (uint32_t *)(c->lives + variables);
    c->node_counts = c->expires + statements;
    c->has_load = (uint8_t *)(c->node_counts + statements);
    for (uint32_t v = 0; v < program->param_count; v++)
        c->lives[v] = (vy_live_interval){.root = v, .next = VY_NONE, .stmt = VY_NONE, .last = VY_NONE};
    for (uint32_t s = c->entry->first_stmt; s < c->entry->end_stmt; s++)
        walk_statement(&w, s);
    chain_expired(c);
    return 1;
}

void vy_oracle_compiler_free(vy_oracle_compiler *c) {
    vy_release(c->block, c->block_size);
    for (int type = 0; type < VYRE_TYPE_COUNT; type++)
        VY_VECTOR_FREE(&c->free[type]);
}

/* Emission and registers. There is one free list per type, because a register may hold values of one type only. */

/* Further distinct literals are filled where they are used, since a shared register occupies a row of lanes for the
 * whole run. */
#define MAX_SHARED_LITERALS 192

/* ---- emission ---- */

vy_instruction *vy_emit(vy_oracle_compiler *c, vy_opcode code) {
    vy_instruction *instruction = VY_PUSH(&c->oracle->code);
    if (!instruction) {
        c->failed = 1;
        c->sink = (vy_instruction){0};
        return &c->sink;
    }
    instruction->code = (uint8_t)code;
    instruction->site = c->stmt;
    return instruction;
}

uint32_t vy_emit_here(const vy_oracle_compiler *c) {
    return c->oracle->code.count;
}

/* The chain is linked through the target fields. */
vy_instruction *vy_emit_jump(vy_oracle_compiler *c, vy_opcode code, uint32_t slot, uint32_t *chain) {
    vy_instruction *instruction = vy_emit(c, code);
    instruction->slot = slot;
    instruction->target = *chain;
    if (!c->failed)
        *chain = vy_emit_here(c) - 1;
    return instruction;
}

void vy_emit_patch(vy_oracle_compiler *c, uint32_t chain) {
    for (uint32_t next; !c->failed && chain != VY_NONE; chain = next) {
        next = c->oracle->code.items[chain].target;
        c->oracle->code.items[chain].target = vy_emit_here(c);
    }
}

/* ---- registers ---- */

uint32_t vy_register_new(vy_oracle_compiler *c, uint8_t type) {
    if (c->free[type].count)
        return c->free[type].items[--c->free[type].count];
    return c->oracle->registers++;
}

void vy_register_free(vy_oracle_compiler *c, uint8_t type, uint32_t r) {
    uint32_t *item = VY_PUSH(&c->free[type]);
    if (item)
        *item = r;
    else
        c->failed = 1;
}

uint32_t vy_output_slots_new(vy_oracle_compiler *c, uint32_t count) {
    uint32_t first = c->slots;
    c->slots += count;
    if (c->slots > c->oracle->slots)
        c->oracle->slots = c->slots;
    return first;
}

uint32_t vy_register_shared(vy_oracle_compiler *c, const vy_shared_value *value) {
    vy_shared_value *item = VY_PUSH(&c->oracle->shared);
    if (!item) {
        c->failed = 1;
        return VY_SHARED;
    }
    *item = *value;
    return (c->oracle->shared.count - 1) | VY_SHARED;
}

/* Returns the shared register of a literal, or VY_NONE if there are too many. Shared registers have no type, since they
 * are never written. */
uint32_t vy_register_literal(vy_oracle_compiler *c, uint64_t bits) {
    if (c->failed)
        return VY_SHARED; /* the table may name registers that were never allocated */
    uint32_t slot = (uint32_t)((bits * 0x9e3779b97f4a7c15u) >> 56);
    for (; c->literals[slot] != VY_NONE; slot = (slot + 1) % VY_LITERAL_SLOTS)
        if (c->oracle->shared.items[c->literals[slot] & ~VY_SHARED].bits == bits)
            return c->literals[slot];
    if (c->literal_count >= MAX_SHARED_LITERALS)
        return VY_NONE;
    c->literal_count++;
    return c->literals[slot] = vy_register_shared(c, &(vy_shared_value){.kind = VY_SHARED_LITERAL, .bits = bits});
}

uint32_t vy_register_variable(const vy_oracle_compiler *c, uint32_t variable) {
    return c->lives[c->lives[variable - c->entry->first_variable].root].r;
}

uint32_t vy_register_len(vy_oracle_compiler *c, uint32_t memory) {
    uint32_t index = memory - c->entry->first_memory;
    if (index >= c->program->buffer_count)
        return vy_register_literal(c, c->oracle->memories.items[index].elements);
    if (c->lens[index] == VY_NONE)
        c->lens[index] = vy_register_shared(c, &(vy_shared_value){.kind = VY_SHARED_LEN, .index = index});
    return c->lens[index];
}

uint32_t vy_register_misalignment(vy_oracle_compiler *c, uint32_t memory) {
    uint32_t index = memory - c->entry->first_memory;
    if (index >= c->program->buffer_count)
        return vy_register_literal(c, 0);
    uint32_t *r = &c->misalignments[index];
    if (*r == VY_NONE)
        *r = vy_register_shared(c, &(vy_shared_value){.kind = VY_SHARED_MISALIGNMENT, .index = index});
    return *r;
}

uint32_t vy_register_garbage(vy_oracle_compiler *c) {
    if (c->garbage == VY_NONE)
        c->garbage = vy_register_shared(c, &(vy_shared_value){.kind = VY_SHARED_GARBAGE});
    return c->garbage;
}

static int builtin_is_shared(uint8_t builtin) {
    return builtin == VYRE_BUILTIN_WORKGROUP_SIZE || builtin == VYRE_BUILTIN_GROUP_COUNT ||
           builtin == VYRE_BUILTIN_GLOBAL_SIZE;
}

uint32_t vy_register_builtin(vy_oracle_compiler *c, uint8_t builtin, uint8_t axis) {
    uint32_t *r = &c->builtins[builtin][axis];
    if (*r != VY_NONE)
        return *r;
    if (builtin_is_shared(builtin))
        return *r =
                   vy_register_shared(c, &(vy_shared_value){.kind = VY_SHARED_BUILTIN, .axis = axis, .index = builtin});
    vy_id_register *id = VY_PUSH(&c->oracle->ids);
    if (!id) {
        c->failed = 1;
        return 0;
    }
    /* A fresh register, not from a free list: it is set before the first instruction runs. */
    *id = (vy_id_register){builtin, axis, c->oracle->registers++};
    return *r = id->r;
}
