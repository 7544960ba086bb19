/* Program to bytecode (bytecode.h): one walk over the statements, after analyse.c has found how long each variable lives.
 *
 * Registers come from one free list per type, because a register may only ever hold values of one type. */
#include "oracle/compile.h"
#include "oracle/device.h"

#include "base/status.h"
#include "ir/rows.h"

/* More distinct literals than this are filled in where they are used: a shared register costs a row of lanes for the whole run. */
#define MAX_SHARED_LITERALS 192

/* ---- emission ---- */

static vy_instruction *emit(vy_compiler *c, vy_instruction_code code) {
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

static uint32_t here(const vy_compiler *c) {
    return c->oracle->code.count;
}

/* Instructions that wait for the same target are chained through their target fields until it is known. */
static vy_instruction *emit_jump(vy_compiler *c, vy_instruction_code code, uint32_t slot, uint32_t *chain) {
    vy_instruction *instruction = emit(c, code);
    instruction->slot = slot;
    instruction->target = *chain;
    if (!c->failed)
        *chain = here(c) - 1;
    return instruction;
}

static void patch(vy_compiler *c, uint32_t chain) {
    for (uint32_t next; !c->failed && chain != VY_NONE; chain = next) {
        next = c->oracle->code.items[chain].target;
        c->oracle->code.items[chain].target = here(c);
    }
}

/* Statements of a straight run are counted by one instruction at its start; whatever may change the mask ends the run. */
static void count_step(vy_compiler *c, uint32_t statements, uint32_t nodes) {
    if (c->step == VY_NONE) {
        emit(c, VY_CODE_STEP);
        if (c->failed)
            return;
        c->step = here(c) - 1;
    }
    c->oracle->code.items[c->step].r += statements;
    c->oracle->code.items[c->step].a += nodes;
}

static void end_run(vy_compiler *c) {
    c->step = VY_NONE;
}

/* ---- registers ---- */

static uint32_t new_register(vy_compiler *c, uint8_t type) {
    if (c->free[type].count)
        return c->free[type].items[--c->free[type].count];
    return c->oracle->registers++;
}

static void free_register(vy_compiler *c, uint8_t type, uint32_t r) {
    uint32_t *item = VY_PUSH(&c->free[type]);
    if (item)
        *item = r;
    else
        c->failed = 1;
}

static uint32_t new_slots(vy_compiler *c, uint32_t count) {
    uint32_t first = c->slots;
    c->slots += count;
    if (c->slots > c->oracle->slots)
        c->oracle->slots = c->slots;
    return first;
}

/* Registers of variables whose last use lies in the statement (or loop) that just ended. */
static void free_expired(vy_compiler *c, uint32_t stmt) {
    for (uint32_t v = c->expires[stmt - c->entry->first_stmt]; v != VY_NONE; v = c->lives[v].next) {
        const vy_variable *variable = &c->program->variables.items[c->entry->first_variable + v];
        if (!(c->lives[v].r & VY_SHARED) && !c->lives[v].is_borrowed)
            free_register(c, variable->type, c->lives[v].r);
    }
}

static uint32_t shared_register(vy_compiler *c, const vy_shared_value *value) {
    vy_shared_value *item = VY_PUSH(&c->oracle->shared);
    if (!item) {
        c->failed = 1;
        return VY_SHARED;
    }
    *item = *value;
    return (c->oracle->shared.count - 1) | VY_SHARED;
}

/* The shared register of a literal, or VY_NONE when there are too many. Registers have no type here: they are never written. */
static uint32_t literal_register(vy_compiler *c, uint64_t bits) {
    if (c->failed)
        return VY_SHARED; /* the table may name registers that were never made */
    uint32_t slot = (uint32_t)((bits * 0x9e3779b97f4a7c15u) >> 56);
    for (; c->literals[slot] != VY_NONE; slot = (slot + 1) % VY_LITERAL_SLOTS)
        if (c->oracle->shared.items[c->literals[slot] & ~VY_SHARED].bits == bits)
            return c->literals[slot];
    if (c->literal_count >= MAX_SHARED_LITERALS)
        return VY_NONE;
    c->literal_count++;
    return c->literals[slot] = shared_register(c, &(vy_shared_value){.kind = VY_SHARED_LITERAL, .bits = bits});
}

static uint32_t variable_register(const vy_compiler *c, uint32_t variable) {
    return c->lives[c->lives[variable - c->entry->first_variable].root].r;
}

static uint32_t len_register(vy_compiler *c, uint32_t memory) {
    uint32_t index = memory - c->entry->first_memory;
    if (index >= c->program->buffer_count)
        return literal_register(c, c->oracle->memories.items[index].elements);
    if (c->lens[index] == VY_NONE)
        c->lens[index] = shared_register(c, &(vy_shared_value){.kind = VY_SHARED_LEN, .index = index});
    return c->lens[index];
}

static uint32_t misalignment_register(vy_compiler *c, uint32_t memory) {
    uint32_t index = memory - c->entry->first_memory;
    if (index >= c->program->buffer_count)
        return literal_register(c, 0);
    uint32_t *r = &c->misalignments[index];
    if (*r == VY_NONE)
        *r = shared_register(c, &(vy_shared_value){.kind = VY_SHARED_MISALIGNMENT, .index = index});
    return *r;
}

static uint32_t garbage_register(vy_compiler *c) {
    if (c->garbage == VY_NONE)
        c->garbage = shared_register(c, &(vy_shared_value){.kind = VY_SHARED_GARBAGE});
    return c->garbage;
}

static int builtin_is_shared(uint8_t builtin) {
    return builtin == VYRE_BUILTIN_WORKGROUP_SIZE || builtin == VYRE_BUILTIN_GROUP_COUNT ||
           builtin == VYRE_BUILTIN_GLOBAL_SIZE;
}

static uint32_t builtin_register(vy_compiler *c, uint8_t builtin, uint8_t axis) {
    uint32_t *r = &c->builtins[builtin][axis];
    if (*r != VY_NONE)
        return *r;
    if (builtin_is_shared(builtin))
        return *r = shared_register(c, &(vy_shared_value){.kind = VY_SHARED_BUILTIN, .axis = axis, .index = builtin});
    vy_id_register *id = VY_PUSH(&c->oracle->ids);
    if (!id) {
        c->failed = 1;
        return 0;
    }
    /* Never from a free list: the register is filled before the first instruction runs. */
    *id = (vy_id_register){builtin, axis, c->oracle->registers++};
    return *r = id->r;
}

/* ---- expressions ---- */

/* Whether the register of an expression was taken for it alone. */
static int is_temporary(const vy_expr *expr, uint32_t r) {
    return expr->kind == VY_EXPR_OP || expr->kind == VY_EXPR_LOAD ||
           (expr->kind == VY_EXPR_LITERAL && !(r & VY_SHARED));
}

static void free_operand(vy_compiler *c, uint32_t e, uint32_t r) {
    const vy_expr *expr = &c->program->exprs.items[e];
    if (is_temporary(expr, r))
        free_register(c, expr->type, r);
}

static uint32_t emit_expr(vy_compiler *c, uint32_t e, uint32_t into, int masked);

static uint32_t emit_value(vy_compiler *c, uint32_t e) {
    return emit_expr(c, e, VY_NONE, 0);
}

static void refuse(vy_compiler *c, const char *what, vyre_type type) {
    c->refused = what;
    c->refused_type = type;
}

/* How the lanes of a load are read: a device takes what it finds, also a NaN that is not the canonical one. */
static uint8_t loaded_type(vy_compiler *c, vyre_type type) {
    static const uint8_t raw[VYRE_TYPE_COUNT] = {[VYRE_TYPE_F16] = VYRE_TYPE_U16,
                                                 [VYRE_TYPE_BF16] = VYRE_TYPE_U16,
                                                 [VYRE_TYPE_F32] = VYRE_TYPE_U32,
                                                 [VYRE_TYPE_F64] = VYRE_TYPE_U64};
    if (!c->oracle->is_device)
        return (uint8_t)type;
    if (vyre_type_bits(type) == 64 && !(c->oracle->exact >> VYRE_NUMERIC_INT64 & 1))
        refuse(c, "a load", type);
    return raw[type] ? raw[type] : (uint8_t)type;
}

static vy_kernel *kernel_of(vy_compiler *c, vyre_op op, vyre_type result, vyre_type operand) {
    if (!c->oracle->is_device)
        return vy_op_is_approximate(op) ? vy_approximate_kernel(op, operand) : vy_eval_kernel(op, result, operand);
    vy_kernel *kernel = vy_device_kernel(c->oracle->exact, op, result, operand);
    if (!kernel)
        refuse(c, vyre_op_get(op)->name, vyre_type_bits(result) == 64 ? result : operand);
    return kernel;
}

/* Before an access without a guard: `elements` of them are inside. */
static vy_instruction *emit_inside(vy_compiler *c, uint32_t memory, uint32_t index, uint32_t elements) {
    vy_instruction *inside = emit(c, VY_CODE_INSIDE);
    inside->a = index;
    inside->b = memory - c->entry->first_memory;
    inside->r = elements;
    return inside;
}

static void emit_load_at(vy_compiler *c, uint32_t e, uint32_t index, uint32_t r) {
    const vy_expr *expr = &c->program->exprs.items[e];
    if (expr->op == VY_UNGUARDED) {
        vy_instruction *inside = emit_inside(c, expr->a, index, 1);
        inside->site = e;
        inside->site_is_expression = 1;
    }
    vy_instruction *load = emit(c, VY_CODE_LOAD);
    load->type = loaded_type(c, (vyre_type)expr->type);
    load->index_type = c->program->exprs.items[expr->b].type;
    load->site = e;
    load->site_is_expression = 1;
    load->r = r;
    load->a = index;
    load->b = expr->a - c->entry->first_memory;
    c->oracle->memories.items[load->b].accesses |= 1u << VY_ACCESS_READ;
}

/* A load with a condition runs under a mask: it gives zero to the lanes that are not active. Where no lane is, it is jumped over. */
static uint32_t emit_predicated_load(vy_compiler *c, uint32_t e, uint32_t into) {
    const vy_expr *expr = &c->program->exprs.items[e];
    uint32_t index = emit_value(c, expr->b), condition = emit_value(c, expr->c);
    /* Taken before the operands are given back: it is filled while they are still needed. */
    uint32_t r = into != VY_NONE ? into : new_register(c, expr->type), slot = new_slots(c, 1), chain = VY_NONE;
    vy_instruction *fill = emit(c, VY_CODE_FILL);
    fill->r = r;
    fill->value = 0;
    emit_jump(c, VY_CODE_IF, slot, &chain)->a = condition;
    emit_load_at(c, e, index, r);
    patch(c, chain);
    chain = VY_NONE;
    emit_jump(c, VY_CODE_ENDIF, slot, &chain);
    patch(c, chain);
    c->slots--;
    free_operand(c, expr->b, index);
    free_operand(c, expr->c, condition);
    return r;
}

static uint32_t emit_load(vy_compiler *c, uint32_t e, uint32_t into) {
    const vy_expr *expr = &c->program->exprs.items[e];
    if (expr->c != VY_NONE)
        return emit_predicated_load(c, e, into);
    uint32_t index = emit_value(c, expr->b);
    free_operand(c, expr->b, index);
    uint32_t r = into != VY_NONE ? into : new_register(c, expr->type);
    emit_load_at(c, e, index, r);
    return r;
}

/* Both arms are pure, so they are computed for every lane; but a load in an arm that the lane does not take is not meant by the program, and the
 * checkers must not see it (`i < len(x) ? x[i] : 0`). So arms with loads run under a mask. */
static uint32_t emit_arm(vy_compiler *c, uint32_t e, uint32_t condition, int when) {
    if (!c->has_load[e - c->first_expr])
        return emit_value(c, e);
    uint32_t slot = new_slots(c, 1), chain = VY_NONE;
    emit_jump(c, VY_CODE_IF, slot, &chain)->a = condition;
    if (!when) {
        patch(c, chain);
        chain = VY_NONE;
        emit_jump(c, VY_CODE_ELSE, slot, &chain);
    }
    uint32_t r = emit_value(c, e);
    patch(c, chain);
    chain = VY_NONE;
    emit_jump(c, VY_CODE_ENDIF, slot, &chain);
    patch(c, chain);
    c->slots--;
    return r;
}

static uint32_t emit_op(vy_compiler *c, uint32_t e, uint32_t into, int masked) {
    const vy_expr *expr = &c->program->exprs.items[e];
    const uint32_t operands[3] = {expr->a, expr->b, expr->c};
    unsigned arity = vyre_op_get((vyre_op)expr->op)->arity;
    uint32_t r[3] = {0, 0, 0};
    for (unsigned i = 0; i < arity; i++) {
        int is_arm = expr->op == VYRE_OP_SELECT || expr->op == VYRE_OP_LAND || expr->op == VYRE_OP_LOR;
        if (i > 0 && is_arm)
            r[i] = emit_arm(c, operands[i], r[0], expr->op == VYRE_OP_SELECT ? i == 1 : expr->op == VYRE_OP_LAND);
        else
            r[i] = emit_value(c, operands[i]);
    }
    for (unsigned i = 0; i < arity; i++)
        free_operand(c, operands[i], r[i]);
    uint32_t result = into != VY_NONE ? into : new_register(c, expr->type);
    uint32_t garbage = vy_op_is_approximate((vyre_op)expr->op) ? garbage_register(c) : VY_NONE;
    vy_instruction *op = emit(c, masked ? VY_CODE_OP_MASKED : VY_CODE_OP);
    op->r = result;
    op->a = r[0];
    op->b = r[1];
    op->c = vy_op_is_approximate((vyre_op)expr->op) ? garbage : r[2];
    /* For select the operand type is that of the arms. */
    uint32_t typed = expr->op == VYRE_OP_SELECT ? expr->b : expr->a;
    op->kernel = kernel_of(c, (vyre_op)expr->op, (vyre_type)expr->type, (vyre_type)c->program->exprs.items[typed].type);
    c->failed |= !op->kernel && !c->refused;
    return result;
}

/* Emits an expression and returns the register that holds it. `into` asks for that register (VY_NONE: any); masked then writes active
 * lanes only. The caller frees the register with free_operand. */
static uint32_t emit_expr(vy_compiler *c, uint32_t e, uint32_t into, int masked) {
    const vy_expr *expr = &c->program->exprs.items[e];
    uint32_t r = VY_NONE;
    switch ((vy_expr_kind)expr->kind) {
    case VY_EXPR_LITERAL:
        r = literal_register(c, expr->bits);
        break;
    case VY_EXPR_VARIABLE:
        r = variable_register(c, expr->a);
        break;
    case VY_EXPR_LEN:
        r = len_register(c, expr->a);
        break;
    case VY_EXPR_MISALIGNMENT:
        r = misalignment_register(c, expr->a);
        break;
    case VY_EXPR_BUILTIN:
        r = builtin_register(c, expr->op, expr->axis);
        break;
    case VY_EXPR_LOAD:
        if (!masked)
            return emit_load(c, e, into);
        r = emit_load(c, e, VY_NONE);
        break;
    default:
        return emit_op(c, e, into, masked);
    }
    if (r == VY_NONE) {
        r = masked || into == VY_NONE ? new_register(c, expr->type) : into;
        vy_instruction *fill = emit(c, VY_CODE_FILL);
        fill->r = r;
        fill->value = expr->kind == VY_EXPR_LITERAL ? expr->bits
                      : expr->kind == VY_EXPR_MISALIGNMENT
                          ? 0
                          : c->oracle->memories.items[expr->a - c->entry->first_memory].elements;
    }
    if (into == VY_NONE || r == into)
        return r;
    vy_instruction *move = emit(c, masked ? VY_CODE_MOVE_MASKED : VY_CODE_MOVE);
    move->r = into;
    move->a = r;
    free_operand(c, e, r);
    return into;
}

/* ---- statements ---- */

static void emit_block(vy_compiler *c, uint32_t first, uint32_t end, uint32_t *join);

/* Gives the variables that a statement declares their registers. */
static uint32_t declare(vy_compiler *c, uint32_t variable) {
    vy_life *life = &c->lives[variable - c->entry->first_variable];
    return life->r = new_register(c, c->program->variables.items[variable].type);
}

static void emit_let(vy_compiler *c, const vy_stmt *stmt) {
    vy_life *life = &c->lives[stmt->variable - c->entry->first_variable];
    const vy_expr *value = &c->program->exprs.items[stmt->a];
    if (life->root != stmt->variable - c->entry->first_variable)
        return; /* another name for a value that does not change */
    if (life->is_borrowed) {
        uint32_t r = emit_value(c, stmt->a);
        if (!is_temporary(value, r)) {
            life->r = r;
            return;
        }
        /* A literal that found no shared register. */
        life->is_borrowed = 0;
        life->r = r;
        return;
    }
    emit_expr(c, stmt->a, declare(c, stmt->variable), 0);
}

static void emit_store(vy_compiler *c, const vy_stmt *stmt) {
    uint32_t index = emit_value(c, stmt->a), value = emit_value(c, stmt->b);
    if (stmt->guard == VY_UNGUARDED)
        emit_inside(c, stmt->memory, index, 1);
    vy_instruction *store = emit(c, VY_CODE_STORE);
    store->type = c->program->memories.items[stmt->memory].type;
    store->index_type = c->program->exprs.items[stmt->a].type;
    store->a = index;
    store->b = value;
    store->c = stmt->memory - c->entry->first_memory;
    c->oracle->memories.items[store->c].accesses |= 1u << VY_ACCESS_WRITE;
    free_operand(c, stmt->a, index);
    free_operand(c, stmt->b, value);
}

static void emit_atomic(vy_compiler *c, const vy_stmt *stmt) {
    const uint32_t roots[3] = {stmt->a, stmt->b, stmt->c};
    uint32_t r[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++)
        if (roots[i] != VY_NONE)
            r[i] = emit_value(c, roots[i]);
    if (stmt->guard == VY_UNGUARDED)
        emit_inside(c, stmt->memory, r[0], 1);
    for (int i = 0; i < 3; i++)
        if (roots[i] != VY_NONE)
            free_operand(c, roots[i], r[i]);
    uint32_t result = stmt->result_count ? declare(c, stmt->variable) : VY_NONE;
    vy_instruction *atomic = emit(c, VY_CODE_ATOMIC);
    atomic->type = c->program->memories.items[stmt->memory].type;
    atomic->index_type = c->program->exprs.items[stmt->a].type;
    atomic->r = result;
    atomic->a = r[0];
    atomic->b = r[1];
    atomic->c = r[2];
    atomic->value = stmt->memory - c->entry->first_memory;
    vy_oracle_memory *memory = &c->oracle->memories.items[atomic->value];
    memory->accesses |= (uint8_t)(1u << vy_atomic_access(stmt, (vy_space)memory->space));
    c->oracle->orders |= stmt->order != VYRE_ORDER_RELAXED;
}

/* Collectives combine with the evaluator's kernels: on a device only what is exact there. */
static void check_combine(vy_compiler *c, const vy_stmt *stmt) {
    const vyre_type type = (vyre_type)c->program->exprs.items[stmt->a].type;
    const vyre_op op = (vyre_op)stmt->combine;
    if (!c->oracle->is_device || !vy_collectives[stmt->op].combines)
        return;
    if (!vy_device_kernel(c->oracle->exact, op, type, type) || !vy_device_is_exact(c->oracle->exact, op, type))
        refuse(c, "a reduction or scan", type);
}

static void emit_collective(vy_compiler *c, const vy_stmt *stmt) {
    check_combine(c, stmt);
    uint32_t a = emit_value(c, stmt->a), b = stmt->b == VY_NONE ? 0 : emit_value(c, stmt->b);
    free_operand(c, stmt->a, a);
    if (stmt->b != VY_NONE)
        free_operand(c, stmt->b, b);
    uint32_t result = stmt->result_count ? declare(c, stmt->variable) : VY_NONE;
    vy_instruction *collective = emit(c, VY_CODE_COLLECTIVE);
    collective->type = c->program->exprs.items[stmt->a].type;
    collective->r = result;
    collective->a = a;
    collective->b = b;
    c->oracle->meets = 1;
    end_run(c);
}

static void list_register(vy_compiler *c, uint32_t r) {
    uint32_t *item = VY_PUSH(&c->oracle->lists);
    if (item)
        *item = r;
    else
        c->failed = 1;
}

/* The values of a statement's arguments, as a list of registers. Returns its start. */
static uint32_t emit_args(vy_compiler *c, const vy_stmt *stmt) {
    uint32_t first = c->oracle->lists.count;
    for (uint32_t i = 0; i < stmt->arg_count; i++)
        list_register(c, emit_value(c, c->program->args.items[stmt->args + i].index));
    return first;
}

static void free_args(vy_compiler *c, const vy_stmt *stmt, uint32_t first) {
    for (uint32_t i = 0; !c->failed && i < stmt->arg_count; i++)
        free_operand(c, c->program->args.items[stmt->args + i].index, c->oracle->lists.items[first + i]);
}

static void emit_print(vy_compiler *c, const vy_stmt *stmt) {
    uint32_t first = emit_args(c, stmt);
    emit(c, VY_CODE_PRINT)->a = first;
    free_args(c, stmt, first);
}

/* ---- statements of level legal ---- */

static void emit_wide(vy_compiler *c, const vy_stmt *stmt, vy_instruction_code code, uint32_t index, uint32_t list,
                      uint32_t elements) {
    emit_inside(c, stmt->memory, index, elements);
    uint32_t memory = stmt->memory - c->entry->first_memory;
    uint8_t type = c->program->memories.items[stmt->memory].type;
    vy_instruction *wide = emit(c, code);
    wide->type = code == VY_CODE_LOAD_WIDE ? loaded_type(c, (vyre_type)type) : type;
    wide->index_type = VYRE_TYPE_U32;
    wide->r = list;
    wide->a = index;
    wide->b = memory;
    wide->c = elements;
    c->oracle->memories.items[memory].accesses |=
        (uint8_t)(1u << (code == VY_CODE_LOAD_WIDE ? VY_ACCESS_READ : VY_ACCESS_WRITE));
}

static void emit_load_wide(vy_compiler *c, const vy_stmt *stmt) {
    uint32_t index = emit_value(c, stmt->a), first = c->oracle->lists.count;
    for (uint32_t i = 0; i < stmt->result_count; i++)
        list_register(c, declare(c, stmt->variable + i));
    emit_wide(c, stmt, VY_CODE_LOAD_WIDE, index, first, stmt->result_count);
    /* Only now: the first results are there while the index is still needed. */
    free_operand(c, stmt->a, index);
}

static void emit_store_wide(vy_compiler *c, const vy_stmt *stmt) {
    uint32_t index = emit_value(c, stmt->a), first = emit_args(c, stmt);
    emit_wide(c, stmt, VY_CODE_STORE_WIDE, index, first, stmt->arg_count);
    free_operand(c, stmt->a, index);
    free_args(c, stmt, first);
}

static void emit_report(vy_compiler *c, const vy_stmt *stmt) {
    uint32_t code = emit_value(c, stmt->a);
    emit(c, VY_CODE_REPORT)->a = code;
    free_operand(c, stmt->a, code);
}

static void emit_poll(vy_compiler *c, const vy_stmt *stmt) {
    /* Never from a free list: the register counts from the start of the invocation on. */
    if (c->oracle->polls == VY_NONE)
        c->oracle->polls = c->oracle->registers++;
    uint32_t result = declare(c, stmt->variable);
    vy_instruction *poll = emit(c, VY_CODE_POLL);
    poll->r = result;
    poll->a = c->oracle->polls;
}

/* ---- control ---- */

static void emit_if(vy_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    uint32_t condition = emit_value(c, stmt->a), slot = new_slots(c, 1), chain = VY_NONE;
    emit_jump(c, VY_CODE_IF, slot, &chain)->a = condition;
    free_operand(c, stmt->a, condition);
    free_expired(c, s);
    end_run(c);
    emit_block(c, s + 1, stmt->middle, &chain);
    patch(c, chain);
    end_run(c);
    if (stmt->middle != stmt->end) {
        chain = VY_NONE;
        emit_jump(c, VY_CODE_ELSE, slot, &chain);
        emit_block(c, stmt->middle, stmt->end, &chain);
        patch(c, chain);
        end_run(c);
    }
    emit_jump(c, VY_CODE_ENDIF, slot, join);
    c->slots--;
}

/* The body of a loop, the way back to `head`, and the exit, which `leave` waits for. `next` is the last instruction of the body. */
static void emit_loop(vy_compiler *c, uint32_t s, uint32_t slot, uint32_t head, uint32_t leave, vy_instruction next,
                      uint32_t *join) {
    uint32_t outer = c->loop_slot, chain = VY_NONE;
    c->loop_slot = slot;
    end_run(c);
    emit_block(c, s + 1, c->program->stmts.items[s].end, &chain);
    patch(c, chain);
    end_run(c);
    next.target = head;
    next.slot = slot;
    next.site = s;
    *emit(c, VY_CODE_NEXT) = next;
    patch(c, leave);
    emit_jump(c, VY_CODE_EXIT, slot, join);
    c->loop_slot = outer;
    c->slots -= 2;
    free_expired(c, s);
}

static void emit_while(vy_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    uint32_t slot = new_slots(c, 2), leave = VY_NONE;
    emit(c, VY_CODE_LOOP)->slot = slot;
    end_run(c);
    uint32_t head = here(c);
    count_step(c, 1, c->nodes);
    uint32_t condition = emit_value(c, stmt->a);
    emit_jump(c, VY_CODE_WHILE, slot, &leave)->a = condition;
    free_operand(c, stmt->a, condition);
    emit_loop(c, s, slot, head, leave, (vy_instruction){.code = VY_CODE_NEXT}, join);
}

/* The step must keep its value while the body may assign to what it was computed from. */
static uint32_t emit_step(vy_compiler *c, const vy_stmt *stmt, int *owned) {
    const vy_expr *step = &c->program->exprs.items[stmt->c];
    uint32_t r = emit_value(c, stmt->c);
    *owned = is_temporary(step, r);
    if (*owned || (r & VY_SHARED))
        return r;
    *owned = 1;
    vy_instruction *move = emit(c, VY_CODE_MOVE);
    move->r = new_register(c, step->type);
    move->a = r;
    return move->r;
}

static void emit_for(vy_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    uint8_t type = c->program->exprs.items[stmt->a].type;
    int owned = 0;
    uint32_t from = emit_value(c, stmt->a), to = emit_value(c, stmt->b);
    uint32_t step = stmt->c == VY_NONE ? VY_NONE : emit_step(c, stmt, &owned);
    uint32_t variable = declare(c, stmt->variable), trips = new_register(c, VYRE_TYPE_U64);
    vy_instruction *init = emit(c, VY_CODE_FOR);
    init->type = type;
    init->r = variable;
    init->a = from;
    init->b = to;
    init->c = step;
    init->value = trips;
    free_operand(c, stmt->a, from);
    free_operand(c, stmt->b, to);
    uint32_t slot = new_slots(c, 2), leave = VY_NONE;
    emit(c, VY_CODE_LOOP)->slot = slot;
    end_run(c);
    uint32_t head = here(c);
    count_step(c, 1, 0);
    emit_jump(c, VY_CODE_FOR_TEST, slot, &leave)->a = trips;
    emit_loop(c, s, slot, head, leave,
              (vy_instruction){.code = VY_CODE_FOR_NEXT, .type = type, .r = variable, .a = trips, .c = step}, join);
    free_register(c, VYRE_TYPE_U64, trips);
    if (owned)
        free_register(c, type, step);
}

static void emit_barrier(vy_compiler *c, const vy_stmt *stmt) {
    emit(c, VY_CODE_BARRIER);
    c->oracle->meets = 1;
    c->oracle->grid_barrier |= stmt->scope == VYRE_SCOPE_DEVICE;
    end_run(c);
}

static void emit_trap(vy_compiler *c, const vy_stmt *stmt, uint32_t *join) {
    uint32_t code = emit_value(c, stmt->a);
    emit_jump(c, VY_CODE_TRAP, 0, join)->a = code;
    free_operand(c, stmt->a, code);
    end_run(c);
}

static void emit_stmt(vy_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    c->stmt = s;
    c->nodes = c->node_counts[s - c->entry->first_stmt];
    if (stmt->kind != VY_STMT_WHILE && stmt->kind != VY_STMT_REGION)
        count_step(c, 1, c->nodes);
    switch ((vy_stmt_kind)stmt->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
        emit_let(c, stmt);
        break;
    case VY_STMT_ASSIGN:
        emit_expr(c, stmt->a, variable_register(c, stmt->variable), 1);
        break;
    case VY_STMT_STORE:
        emit_store(c, stmt);
        break;
    case VY_STMT_ATOMIC:
        emit_atomic(c, stmt);
        break;
    case VY_STMT_COLLECTIVE:
        emit_collective(c, stmt);
        break;
    case VY_STMT_BARRIER:
        emit_barrier(c, stmt);
        break;
    case VY_STMT_TRAP:
        emit_trap(c, stmt, join);
        break;
    case VY_STMT_PRINT:
        emit_print(c, stmt);
        break;
    case VY_STMT_LOAD:
        emit_load_wide(c, stmt);
        break;
    case VY_STMT_STORE_WIDE:
        emit_store_wide(c, stmt);
        break;
    case VY_STMT_REPORT:
        emit_report(c, stmt);
        break;
    case VY_STMT_POLL:
        emit_poll(c, stmt);
        break;
    case VY_STMT_IF:
        emit_if(c, s, join);
        return;
    case VY_STMT_FOR:
        emit_for(c, s, join);
        return;
    case VY_STMT_WHILE:
        emit_while(c, s, join);
        return;
    case VY_STMT_BREAK:
    case VY_STMT_CONTINUE:
        emit_jump(c, stmt->kind == VY_STMT_BREAK ? VY_CODE_BREAK : VY_CODE_CONTINUE, c->loop_slot, join);
        end_run(c);
        break;
    case VY_STMT_RETURN:
        emit_jump(c, VY_CODE_RETURN, 0, join);
        end_run(c);
        break;
    default: /* region: a scope and nothing else; calls are gone */
        emit_block(c, s + 1, stmt->end, join);
        break;
    }
    free_expired(c, s);
}

/* `join` collects the instructions that wait for the end of the construct around the block. */
static void emit_block(vy_compiler *c, uint32_t first, uint32_t end, uint32_t *join) {
    for (uint32_t s = first; s < end && !c->failed; s = c->program->stmts.items[s].end)
        emit_stmt(c, s, join);
}

/* ---- declarations ---- */

static void lay_out_memories(vy_compiler *c) {
    vyre_oracle *oracle = c->oracle;
    for (uint32_t i = 0; i < c->entry->memory_count; i++) {
        const vy_memory *memory = &c->program->memories.items[c->entry->first_memory + i];
        vy_oracle_memory *item = VY_PUSH(&oracle->memories);
        if (!item) {
            c->failed = 1;
            return;
        }
        *item = (vy_oracle_memory){.space = memory->space, .type = memory->type, .elements = memory->elements};
        if (memory->space == VY_SPACE_BUFFER)
            continue;
        uint32_t *total = memory->space == VY_SPACE_WORKGROUP ? &oracle->workgroup_bytes : &oracle->private_bytes;
        item->offset = *total;
        *total += (memory->elements * vy_type_layouts[memory->type].size + 7u) & ~7u;
    }
}

static void declare_params(vy_compiler *c) {
    for (uint32_t i = 0; i < c->program->param_count; i++)
        c->lives[i].r = shared_register(c, &(vy_shared_value){.kind = VY_SHARED_PARAM, .index = i});
}

static void compiler_start(vy_compiler *c, vyre_oracle *oracle) {
    memset(c, 0, sizeof *c);
    c->oracle = oracle;
    c->program = oracle->program;
    c->entry = vy_program_entry(oracle->program);
    c->step = VY_NONE;
    memset(c->literals, 0xff, sizeof c->literals);
    memset(c->lens, 0xff, sizeof c->lens);
    memset(c->misalignments, 0xff, sizeof c->misalignments);
    c->garbage = VY_NONE;
    memset(c->builtins, 0xff, sizeof c->builtins);
}

vyre_status vy_oracle_compile(vyre_oracle *oracle, vyre_error *error) {
    vy_compiler compiler, *c = &compiler;
    compiler_start(c, oracle);
    oracle->is_legal = oracle->program->level == VYRE_LEVEL_LEGAL;
    oracle->polls = VY_NONE;
    if (vy_compiler_analyse(c)) {
        lay_out_memories(c);
        declare_params(c);
        uint32_t join = VY_NONE;
        emit_block(c, c->entry->first_stmt, c->entry->end_stmt, &join);
        patch(c, join);
        emit(c, VY_CODE_END);
    } else {
        c->failed = 1;
    }
    const vyre_program *program = oracle->program;
    oracle->serial = (program->facts & VY_FACT_SCHEDULE_DEPENDENT) ||
                     (program->numerics == VYRE_NUMERICS_RELAXED && (program->facts & VY_FACT_ATOMIC));
    int failed = c->failed;
    const char *refused = c->refused;
    vyre_type type = c->refused_type;
    vy_compiler_free(c);
    if (refused && !failed)
        return vy_fail(error, VYRE_UNSUPPORTED, "legalise the program for this device (vy_legalise)",
                       "the device has no %s of %s", refused, vyre_type_name(type));
    return failed ? vy_fail_memory(error, "the oracle's form of a program") : VYRE_OK;
}
