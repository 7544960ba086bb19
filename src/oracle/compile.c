/* Bytecode compiler: translates statements and expressions of a program into bytecode (compile.h). compile_registers.c
 * allocates the registers. */
#include "oracle/compile.h"
#include "base/status.h"
#include "ir/op_tables.h"
#include "oracle/adversarial_device.h"

static uint32_t emit_declare(vy_oracle_compiler *c, uint32_t variable);
static void emit_end_run(vy_oracle_compiler *c);
/* Emits an expression and returns its register: `into`, unless that is VY_NONE. If masked, only active lanes of `into`
 * are written. The caller frees the register with value_free. */
static uint32_t emit_expr(vy_oracle_compiler *c, uint32_t e, uint32_t into, int masked);

/* Whether the register was allocated for this expression. */
static int value_is_temporary(const vy_expr *expr, uint32_t r) {
    return expr->kind == VY_EXPR_OP || expr->kind == VY_EXPR_LOAD ||
           (expr->kind == VY_EXPR_LITERAL && !(r & VY_SHARED));
}

/* Frees the register of an expression, unless it is shared or belongs to a variable. */
static void value_free(vy_oracle_compiler *c, uint32_t e, uint32_t r) {
    const vy_expr *expr = &c->program->exprs.items[e];
    if (value_is_temporary(expr, r))
        vy_register_free(c, expr->type, r);
}

/* Emits an expression into any register. */
static uint32_t emit_value(vy_oracle_compiler *c, uint32_t e) {
    return emit_expr(c, e, VY_NONE, 0);
}

/* Records that the device lacks an op or type that the program needs. */
static void refuse_op(vy_oracle_compiler *c, const char *what, vyre_type type) {
    c->refused = what;
    c->refused_type = type;
}

/* A device loads raw bits, also a NaN that is not canonical. */
static uint8_t loaded_type(vy_oracle_compiler *c, vyre_type type) {
    static const uint8_t raw[VYRE_TYPE_COUNT] = {[VYRE_TYPE_F16] = VYRE_TYPE_U16,
                                                 [VYRE_TYPE_BF16] = VYRE_TYPE_U16,
                                                 [VYRE_TYPE_F32] = VYRE_TYPE_U32,
                                                 [VYRE_TYPE_F64] = VYRE_TYPE_U64};
    if (!c->oracle->is_device)
        return (uint8_t)type;
    if (!vy_device_has(c->oracle->exact, type))
        refuse_op(c, "a load", type);
    return raw[type] ? raw[type] : (uint8_t)type;
}

static vy_kernel *kernel_of(vy_oracle_compiler *c, vyre_op op, vyre_type result, vyre_type operand) {
    if (!c->oracle->is_device)
        return vy_op_is_approximate(op) ? vy_approximate_kernel(op, operand) : vy_eval_kernel(op, result, operand);
    vy_kernel *kernel = vy_device_kernel(c->oracle->exact, op, result, operand);
    if (!kernel)
        refuse_op(c, vyre_op_get(op)->name, vyre_type_bits(result) == 64 ? result : operand);
    return kernel;
}

/* Emitted before an unguarded access: checks that `elements` elements are in bounds. */
static vy_instruction *emit_inside(vy_oracle_compiler *c, uint32_t memory, uint32_t index, uint32_t elements) {
    vy_instruction *inside = vy_emit(c, VY_OPCODE_INSIDE);
    inside->a = index;
    inside->b = memory - c->entry->first_memory;
    inside->r = elements;
    return inside;
}

static void emit_load_at(vy_oracle_compiler *c, uint32_t e, uint32_t index, uint32_t r) {
    const vy_expr *expr = &c->program->exprs.items[e];
    if (expr->op == VY_BOUNDS_UNCHECKED) {
        vy_instruction *inside = emit_inside(c, expr->a, index, 1);
        inside->site = e;
        inside->site_is_expression = 1;
    }
    vy_instruction *load = vy_emit(c, VY_OPCODE_LOAD);
    load->type = loaded_type(c, (vyre_type)expr->type);
    load->index_type = c->program->exprs.items[expr->b].type;
    load->site = e;
    load->site_is_expression = 1;
    load->r = r;
    load->a = index;
    load->b = expr->a - c->entry->first_memory;
    c->oracle->memories.items[load->b].accesses |= 1u << VY_ACCESS_READ;
}

/* A load with a condition runs under a mask: inactive lanes receive zero. If no lane is active, it is skipped. */
static uint32_t emit_predicated_load(vy_oracle_compiler *c, uint32_t e, uint32_t into) {
    const vy_expr *expr = &c->program->exprs.items[e];
    uint32_t index = emit_value(c, expr->b), condition = emit_value(c, expr->c);
    /* Allocated before the operands are freed, because it is written while they are still live. */
    uint32_t r = into != VY_NONE ? into : vy_register_new(c, expr->type), slot = vy_output_slots_new(c, 1),
             chain = VY_NONE;
    vy_instruction *fill = vy_emit(c, VY_OPCODE_FILL);
    fill->r = r;
    fill->value = 0;
    vy_emit_jump(c, VY_OPCODE_IF, slot, &chain)->a = condition;
    emit_load_at(c, e, index, r);
    vy_emit_patch(c, chain);
    chain = VY_NONE;
    vy_emit_jump(c, VY_OPCODE_ENDIF, slot, &chain);
    vy_emit_patch(c, chain);
    c->slots--;
    value_free(c, expr->b, index);
    value_free(c, expr->c, condition);
    return r;
}

static uint32_t emit_load(vy_oracle_compiler *c, uint32_t e, uint32_t into) {
    const vy_expr *expr = &c->program->exprs.items[e];
    if (expr->c != VY_NONE)
        return emit_predicated_load(c, e, into);
    uint32_t index = emit_value(c, expr->b);
    value_free(c, expr->b, index);
    uint32_t r = into != VY_NONE ? into : vy_register_new(c, expr->type);
    emit_load_at(c, e, index, r);
    return r;
}

/* Both arms are pure, so they are computed for every lane. A load in an arm that the lane does not select is not
 * executed by the program, and the checkers must not see it (`i < len(x) ? x[i] : 0`). So arms with loads run under a
 * mask. */
static uint32_t emit_arm(vy_oracle_compiler *c, uint32_t e, uint32_t condition, int when) {
    if (!c->has_load[e - c->first_expr])
        return emit_value(c, e);
    uint32_t slot = vy_output_slots_new(c, 1), chain = VY_NONE;
    vy_emit_jump(c, VY_OPCODE_IF, slot, &chain)->a = condition;
    if (!when) {
        vy_emit_patch(c, chain);
        chain = VY_NONE;
        vy_emit_jump(c, VY_OPCODE_ELSE, slot, &chain);
    }
    uint32_t r = emit_value(c, e);
    vy_emit_patch(c, chain);
    chain = VY_NONE;
    vy_emit_jump(c, VY_OPCODE_ENDIF, slot, &chain);
    vy_emit_patch(c, chain);
    c->slots--;
    return r;
}

static uint32_t emit_op(vy_oracle_compiler *c, uint32_t e, uint32_t into, int masked) {
    const vy_expr *expr = &c->program->exprs.items[e];
    const uint32_t operands[3] = {expr->a, expr->b, expr->c};
    unsigned arity = vyre_op_get((vyre_op)expr->op)->arity;
    uint32_t r[3] = {0, 0, 0};
    for (unsigned i = 0; i < arity && i < 3; i++) {
        if (i > 0 && vy_op_has_arms(expr->op))
            r[i] = emit_arm(c, operands[i], r[0], expr->op == VYRE_OP_SELECT ? i == 1 : expr->op == VYRE_OP_LAND);
        else
            r[i] = emit_value(c, operands[i]);
    }
    for (unsigned i = 0; i < arity && i < 3; i++)
        value_free(c, operands[i], r[i]);
    uint32_t result = into != VY_NONE ? into : vy_register_new(c, expr->type);
    if (vy_op_is_approximate((vyre_op)expr->op))
        r[2] = vy_register_garbage(c);
    vy_instruction *op = vy_emit(c, masked ? VY_OPCODE_OP_MASKED : VY_OPCODE_OP);
    op->r = result;
    op->a = r[0];
    op->b = r[1];
    op->c = r[2];
    /* For select the operand type is that of the arms. */
    uint32_t typed = expr->op == VYRE_OP_SELECT ? expr->b : expr->a;
    op->kernel = kernel_of(c, (vyre_op)expr->op, (vyre_type)expr->type, (vyre_type)c->program->exprs.items[typed].type);
    c->failed |= !op->kernel && !c->refused;
    return result;
}

static uint32_t emit_expr(vy_oracle_compiler *c, uint32_t e, uint32_t into, int masked) {
    const vy_expr *expr = &c->program->exprs.items[e];
    uint32_t r = VY_NONE;
    switch ((vy_expr_kind)expr->kind) {
    case VY_EXPR_LITERAL:
        r = vy_register_literal(c, expr->bits);
        break;
    case VY_EXPR_VARIABLE:
        r = vy_register_variable(c, expr->a);
        break;
    case VY_EXPR_LEN:
        r = vy_register_len(c, expr->a);
        break;
    case VY_EXPR_ALIGN_OFFSET:
        r = vy_register_misalignment(c, expr->a);
        break;
    case VY_EXPR_BUILTIN:
        r = vy_register_builtin(c, expr->op, expr->axis);
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
        r = masked || into == VY_NONE ? vy_register_new(c, expr->type) : into;
        vy_instruction *fill = vy_emit(c, VY_OPCODE_FILL);
        fill->r = r;
        fill->value = expr->kind == VY_EXPR_LITERAL ? expr->bits
                      : expr->kind == VY_EXPR_ALIGN_OFFSET
                          ? 0
                          : c->oracle->memories.items[expr->a - c->entry->first_memory].elements;
    }
    if (into == VY_NONE || r == into)
        return r;
    vy_instruction *move = vy_emit(c, masked ? VY_OPCODE_MOVE_MASKED : VY_OPCODE_MOVE);
    move->r = into;
    move->a = r;
    value_free(c, e, r);
    return into;
}

/* ---- statements with side effects: memory, synchronisation, print ---- */

static void emit_store(vy_oracle_compiler *c, const vy_stmt *stmt) {
    uint32_t index = emit_value(c, stmt->a), value = emit_value(c, stmt->b);
    if (stmt->bounds_check == VY_BOUNDS_UNCHECKED)
        emit_inside(c, stmt->memory, index, 1);
    vy_instruction *store = vy_emit(c, VY_OPCODE_STORE);
    store->type = c->program->memories.items[stmt->memory].type;
    store->index_type = c->program->exprs.items[stmt->a].type;
    store->a = index;
    store->b = value;
    store->c = stmt->memory - c->entry->first_memory;
    c->oracle->memories.items[store->c].accesses |= 1u << VY_ACCESS_WRITE;
    value_free(c, stmt->a, index);
    value_free(c, stmt->b, value);
}

static void emit_atomic(vy_oracle_compiler *c, const vy_stmt *stmt) {
    const uint32_t roots[3] = {stmt->a, stmt->b, stmt->c};
    uint32_t r[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++)
        if (roots[i] != VY_NONE)
            r[i] = emit_value(c, roots[i]);
    if (stmt->bounds_check == VY_BOUNDS_UNCHECKED)
        emit_inside(c, stmt->memory, r[0], 1);
    for (int i = 0; i < 3; i++)
        if (roots[i] != VY_NONE)
            value_free(c, roots[i], r[i]);
    uint32_t result = stmt->result_count ? emit_declare(c, stmt->variable) : VY_NONE;
    vy_instruction *atomic = vy_emit(c, VY_OPCODE_ATOMIC);
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

/* Collectives combine with the kernels of the evaluator, so a device may use only ops that are exact there. */
static void check_combine(vy_oracle_compiler *c, const vy_stmt *stmt) {
    const vyre_type type = (vyre_type)c->program->exprs.items[stmt->a].type;
    const vyre_op op = (vyre_op)stmt->combine;
    if (!c->oracle->is_device || !vy_collectives[stmt->op].combines)
        return;
    if (!vy_device_kernel(c->oracle->exact, op, type, type) || !vy_device_is_exact(c->oracle->exact, op, type))
        refuse_op(c, "a reduction or scan", type);
}

static void emit_collective(vy_oracle_compiler *c, const vy_stmt *stmt) {
    check_combine(c, stmt);
    uint32_t a = emit_value(c, stmt->a), b = stmt->b == VY_NONE ? 0 : emit_value(c, stmt->b);
    value_free(c, stmt->a, a);
    if (stmt->b != VY_NONE)
        value_free(c, stmt->b, b);
    uint32_t result = stmt->result_count ? emit_declare(c, stmt->variable) : VY_NONE;
    vy_instruction *collective = vy_emit(c, VY_OPCODE_COLLECTIVE);
    collective->type = c->program->exprs.items[stmt->a].type;
    collective->r = result;
    collective->a = a;
    collective->b = b;
    c->oracle->has_sync = 1;
    emit_end_run(c);
}

static void emit_barrier(vy_oracle_compiler *c, const vy_stmt *stmt) {
    vy_emit(c, VY_OPCODE_BARRIER);
    c->oracle->has_sync = 1;
    c->oracle->grid_barrier |= stmt->scope == VYRE_SCOPE_DEVICE;
    emit_end_run(c);
}

static void list_register(vy_oracle_compiler *c, uint32_t r) {
    uint32_t *item = VY_PUSH(&c->oracle->lists);
    if (item)
        *item = r;
    else
        c->failed = 1;
}

/* Emits the arguments of a statement as a list of registers. Returns the start of the list. */
static uint32_t emit_args(vy_oracle_compiler *c, const vy_stmt *stmt) {
    uint32_t first = c->oracle->lists.count;
    for (uint32_t i = 0; i < stmt->arg_count; i++)
        list_register(c, emit_value(c, c->program->args.items[stmt->args + i].index));
    return first;
}

static void free_args(vy_oracle_compiler *c, const vy_stmt *stmt, uint32_t first) {
    for (uint32_t i = 0; !c->failed && i < stmt->arg_count; i++)
        value_free(c, c->program->args.items[stmt->args + i].index, c->oracle->lists.items[first + i]);
}

static void emit_print(vy_oracle_compiler *c, const vy_stmt *stmt) {
    uint32_t first = emit_args(c, stmt);
    vy_emit(c, VY_OPCODE_PRINT)->a = first;
    free_args(c, stmt, first);
}

/* ---- statements of level legal ---- */

static void emit_wide(vy_oracle_compiler *c, const vy_stmt *stmt, vy_opcode code, uint32_t index, uint32_t list,
                      uint32_t elements) {
    emit_inside(c, stmt->memory, index, elements);
    uint32_t memory = stmt->memory - c->entry->first_memory;
    uint8_t type = c->program->memories.items[stmt->memory].type;
    vy_instruction *wide = vy_emit(c, code);
    wide->type = code == VY_OPCODE_LOAD_WIDE ? loaded_type(c, (vyre_type)type) : type;
    wide->index_type = VYRE_TYPE_U32;
    wide->r = list;
    wide->a = index;
    wide->b = memory;
    wide->c = elements;
    c->oracle->memories.items[memory].accesses |=
        (uint8_t)(1u << (code == VY_OPCODE_LOAD_WIDE ? VY_ACCESS_READ : VY_ACCESS_WRITE));
}

static void emit_load_wide(vy_oracle_compiler *c, const vy_stmt *stmt) {
    uint32_t index = emit_value(c, stmt->a), first = c->oracle->lists.count;
    for (uint32_t i = 0; i < stmt->result_count; i++)
        list_register(c, emit_declare(c, stmt->variable + i));
    emit_wide(c, stmt, VY_OPCODE_LOAD_WIDE, index, first, stmt->result_count);
    /* Freed only now: the first results are written while the index is still live. */
    value_free(c, stmt->a, index);
}

static void emit_store_wide(vy_oracle_compiler *c, const vy_stmt *stmt) {
    uint32_t index = emit_value(c, stmt->a), first = emit_args(c, stmt);
    emit_wide(c, stmt, VY_OPCODE_STORE_WIDE, index, first, stmt->arg_count);
    value_free(c, stmt->a, index);
    free_args(c, stmt, first);
}

static void emit_report(vy_oracle_compiler *c, const vy_stmt *stmt) {
    uint32_t code = emit_value(c, stmt->a);
    vy_emit(c, VY_OPCODE_REPORT)->a = code;
    value_free(c, stmt->a, code);
}

static void emit_poll(vy_oracle_compiler *c, const vy_stmt *stmt) {
    /* A fresh register, not from a free list: it counts from the start of the invocation. */
    if (c->oracle->polls == VY_NONE)
        c->oracle->polls = c->oracle->registers++;
    uint32_t result = emit_declare(c, stmt->variable);
    vy_instruction *poll = vy_emit(c, VY_OPCODE_POLL);
    poll->r = result;
    poll->a = c->oracle->polls;
}

/* ---- control flow and declarations: one walk over the statements ---- */

/* One STEP instruction at the start of a straight run counts its statements. A statement that may change the mask ends
 * the run. */
static void count_step(vy_oracle_compiler *c, uint32_t statements, uint32_t nodes) {
    if (c->step == VY_NONE) {
        vy_emit(c, VY_OPCODE_STEP);
        if (c->failed)
            return;
        c->step = vy_emit_here(c) - 1;
    }
    c->oracle->code.items[c->step].r += statements;
    c->oracle->code.items[c->step].a += nodes;
}

/* Ends a straight run of statements: the mask may change. */
static void emit_end_run(vy_oracle_compiler *c) {
    c->step = VY_NONE;
}

/* Frees the registers of variables whose last use is in the statement (or loop) that just ended. */
static void free_expired(vy_oracle_compiler *c, uint32_t stmt) {
    for (uint32_t v = c->expires[stmt - c->entry->first_stmt]; v != VY_NONE; v = c->lives[v].next) {
        const vy_variable *variable = &c->program->variables.items[c->entry->first_variable + v];
        if (!(c->lives[v].r & VY_SHARED) && !c->lives[v].is_borrowed)
            vy_register_free(c, variable->type, c->lives[v].r);
    }
}

/* Allocates the register of a variable that the current statement declares. */
static uint32_t emit_declare(vy_oracle_compiler *c, uint32_t variable) {
    vy_live_interval *life = &c->lives[variable - c->entry->first_variable];
    return life->r = vy_register_new(c, c->program->variables.items[variable].type);
}

static void emit_block(vy_oracle_compiler *c, uint32_t first, uint32_t end, uint32_t *join);

static void emit_let(vy_oracle_compiler *c, const vy_stmt *stmt) {
    vy_live_interval *life = &c->lives[stmt->variable - c->entry->first_variable];
    const vy_expr *value = &c->program->exprs.items[stmt->a];
    if (life->root != stmt->variable - c->entry->first_variable)
        return; /* an alias of an immutable value */
    if (life->is_borrowed) {
        uint32_t r = emit_value(c, stmt->a);
        if (!value_is_temporary(value, r)) {
            life->r = r;
            return;
        }
        /* A literal without a shared register. */
        life->is_borrowed = 0;
        life->r = r;
        return;
    }
    emit_expr(c, stmt->a, emit_declare(c, stmt->variable), 0);
}

/* ---- control ---- */

static void emit_if(vy_oracle_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    uint32_t condition = emit_value(c, stmt->a), slot = vy_output_slots_new(c, 1), chain = VY_NONE;
    vy_emit_jump(c, VY_OPCODE_IF, slot, &chain)->a = condition;
    value_free(c, stmt->a, condition);
    free_expired(c, s);
    emit_end_run(c);
    emit_block(c, s + 1, stmt->middle, &chain);
    vy_emit_patch(c, chain);
    emit_end_run(c);
    if (stmt->middle != stmt->end) {
        chain = VY_NONE;
        vy_emit_jump(c, VY_OPCODE_ELSE, slot, &chain);
        emit_block(c, stmt->middle, stmt->end, &chain);
        vy_emit_patch(c, chain);
        emit_end_run(c);
    }
    vy_emit_jump(c, VY_OPCODE_ENDIF, slot, join);
    c->slots--;
}

/* Emits the body of a loop, the jump back to `head`, and the exit, to which the chain `leave` is patched. `next` is the
 * last instruction of the body. */
static void emit_loop(vy_oracle_compiler *c, uint32_t s, uint32_t slot, uint32_t head, uint32_t leave,
                      vy_instruction next, uint32_t *join) {
    uint32_t outer = c->loop_slot, chain = VY_NONE;
    c->loop_slot = slot;
    emit_end_run(c);
    emit_block(c, s + 1, c->program->stmts.items[s].end, &chain);
    vy_emit_patch(c, chain);
    emit_end_run(c);
    next.target = head;
    next.slot = slot;
    next.site = s;
    *vy_emit(c, VY_OPCODE_NEXT) = next;
    vy_emit_patch(c, leave);
    vy_emit_jump(c, VY_OPCODE_EXIT, slot, join);
    c->loop_slot = outer;
    c->slots -= 2;
    free_expired(c, s);
}

static void emit_while(vy_oracle_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    uint32_t slot = vy_output_slots_new(c, 2), leave = VY_NONE;
    vy_emit(c, VY_OPCODE_LOOP)->slot = slot;
    emit_end_run(c);
    uint32_t head = vy_emit_here(c);
    count_step(c, 1, c->nodes);
    uint32_t condition = emit_value(c, stmt->a);
    vy_emit_jump(c, VY_OPCODE_WHILE, slot, &leave)->a = condition;
    value_free(c, stmt->a, condition);
    emit_loop(c, s, slot, head, leave, (vy_instruction){.code = VY_OPCODE_NEXT}, join);
}

/* The step must keep its value, because the body may assign to its operands. */
static uint32_t emit_step(vy_oracle_compiler *c, const vy_stmt *stmt, int *owned) {
    const vy_expr *step = &c->program->exprs.items[stmt->c];
    uint32_t r = emit_value(c, stmt->c);
    *owned = value_is_temporary(step, r);
    if (*owned || (r & VY_SHARED))
        return r;
    *owned = 1;
    vy_instruction *move = vy_emit(c, VY_OPCODE_MOVE);
    move->r = vy_register_new(c, step->type);
    move->a = r;
    return move->r;
}

static void emit_for(vy_oracle_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    uint8_t type = c->program->exprs.items[stmt->a].type;
    int owned = 0;
    uint32_t from = emit_value(c, stmt->a), to = emit_value(c, stmt->b);
    uint32_t step = stmt->c == VY_NONE ? VY_NONE : emit_step(c, stmt, &owned);
    uint32_t variable = emit_declare(c, stmt->variable), trips = vy_register_new(c, VYRE_TYPE_U64);
    vy_instruction *init = vy_emit(c, VY_OPCODE_FOR);
    init->type = type;
    init->r = variable;
    init->a = from;
    init->b = to;
    init->c = step;
    init->value = trips;
    value_free(c, stmt->a, from);
    value_free(c, stmt->b, to);
    uint32_t slot = vy_output_slots_new(c, 2), leave = VY_NONE;
    vy_emit(c, VY_OPCODE_LOOP)->slot = slot;
    emit_end_run(c);
    uint32_t head = vy_emit_here(c);
    count_step(c, 1, 0);
    vy_emit_jump(c, VY_OPCODE_FOR_TEST, slot, &leave)->a = trips;
    emit_loop(c, s, slot, head, leave,
              (vy_instruction){.code = VY_OPCODE_FOR_NEXT, .type = type, .r = variable, .a = trips, .c = step}, join);
    vy_register_free(c, VYRE_TYPE_U64, trips);
    if (owned)
        vy_register_free(c, type, step);
}

static void emit_trap(vy_oracle_compiler *c, const vy_stmt *stmt, uint32_t *join) {
    uint32_t code = emit_value(c, stmt->a);
    vy_emit_jump(c, VY_OPCODE_TRAP, 0, join)->a = code;
    value_free(c, stmt->a, code);
    emit_end_run(c);
}

static void emit_assign(vy_oracle_compiler *c, const vy_stmt *stmt) {
    emit_expr(c, stmt->a, vy_register_variable(c, stmt->variable), 1);
}

/* Statements that are followed by the next one. */
static void (*const writers[VY_STMT_KIND_COUNT])(vy_oracle_compiler *c, const vy_stmt *stmt) = {
    [VY_STMT_LET] = emit_let,
    [VY_STMT_VAR] = emit_let,
    [VY_STMT_ASSIGN] = emit_assign,
    [VY_STMT_STORE] = emit_store,
    [VY_STMT_ATOMIC] = emit_atomic,
    [VY_STMT_COLLECTIVE] = emit_collective,
    [VY_STMT_BARRIER] = emit_barrier,
    [VY_STMT_PRINT] = emit_print,
    [VY_STMT_LOAD_WIDE] = emit_load_wide,
    [VY_STMT_STORE_WIDE] = emit_store_wide,
    [VY_STMT_RECORD_TRAP] = emit_report,
    [VY_STMT_POLL] = emit_poll,
};

/* Control-flow statements. */
static void emit_control(vy_oracle_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    switch ((vy_stmt_kind)stmt->kind) {
    case VY_STMT_IF:
        emit_if(c, s, join);
        return;
    case VY_STMT_FOR:
        emit_for(c, s, join);
        return;
    case VY_STMT_WHILE:
        emit_while(c, s, join);
        return;
    case VY_STMT_TRAP:
        emit_trap(c, stmt, join);
        break;
    case VY_STMT_BREAK:
    case VY_STMT_CONTINUE:
        vy_emit_jump(c, stmt->kind == VY_STMT_BREAK ? VY_OPCODE_BREAK : VY_OPCODE_CONTINUE, c->loop_slot, join);
        emit_end_run(c);
        break;
    case VY_STMT_RETURN:
        vy_emit_jump(c, VY_OPCODE_RETURN, 0, join);
        emit_end_run(c);
        break;
    default: /* region: a scope only; calls were inlined */
        emit_block(c, s + 1, stmt->end, join);
        break;
    }
    free_expired(c, s);
}

static void emit_stmt(vy_oracle_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    c->stmt = s;
    c->nodes = c->node_counts[s - c->entry->first_stmt];
    if (stmt->kind != VY_STMT_WHILE && stmt->kind != VY_STMT_REGION)
        count_step(c, 1, c->nodes);
    if (!writers[stmt->kind]) {
        emit_control(c, s, join);
        return;
    }
    writers[stmt->kind](c, stmt);
    free_expired(c, s);
}

/* `join` chains the jumps to the end of the enclosing construct. */
static void emit_block(vy_oracle_compiler *c, uint32_t first, uint32_t end, uint32_t *join) {
    for (uint32_t s = first; s < end && !c->failed; s = c->program->stmts.items[s].end)
        emit_stmt(c, s, join);
}

/* ---- declarations ---- */

static void lay_out_memories(vy_oracle_compiler *c) {
    vyre_oracle *oracle = c->oracle;
    for (uint32_t i = 0; i < c->entry->memory_count; i++) {
        const vy_memory *memory = &c->program->memories.items[c->entry->first_memory + i];
        vy_oracle_memory *item = VY_PUSH(&oracle->memories);
        if (!item) {
            c->failed = 1;
            return;
        }
        *item = (vy_oracle_memory){.space = memory->space, .type = memory->type, .elements = memory->elements};
        if (memory->space == VY_SPACE_CONSTANT)
            item->table = vy_constant_bytes(c->program, memory);
        if (memory->space == VY_SPACE_BUFFER || memory->space == VY_SPACE_CONSTANT)
            continue;
        uint32_t *total = memory->space == VY_SPACE_WORKGROUP ? &oracle->workgroup_bytes : &oracle->private_bytes;
        item->offset = *total;
        *total += (memory->elements * vy_type_layouts[memory->type].size + 7u) & ~7u;
    }
}

static void declare_params(vy_oracle_compiler *c) {
    for (uint32_t i = 0; i < c->program->param_count; i++)
        c->lives[i].r = vy_register_shared(c, &(vy_shared_value){.kind = VY_SHARED_PARAM, .index = i});
}

static void compiler_start(vy_oracle_compiler *c, vyre_oracle *oracle) {
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
    vy_oracle_compiler compiler, *c = &compiler;
    compiler_start(c, oracle);
    oracle->is_legal = oracle->program->level == VYRE_LEVEL_LEGAL;
    oracle->polls = VY_NONE;
    if (vy_oracle_compiler_liveness(c)) {
        lay_out_memories(c);
        declare_params(c);
        uint32_t join = VY_NONE;
        emit_block(c, c->entry->first_stmt, c->entry->end_stmt, &join);
        vy_emit_patch(c, join);
        vy_emit(c, VY_OPCODE_END);
    } else {
        c->failed = 1;
    }
    const vyre_program *program = oracle->program;
    oracle->serial = (program->facts & VY_PROGRAM_IS_SCHEDULE_DEPENDENT) ||
                     (program->numerics == VYRE_NUMERICS_RELAXED && (program->facts & VY_PROGRAM_HAS_ATOMIC));
    int failed = c->failed;
    const char *refused = c->refused;
    vyre_type type = c->refused_type;
    vy_oracle_compiler_free(c);
    if (refused && !failed)
        return vy_fail(error, VYRE_UNSUPPORTED, "legalise the program for this device (vy_legalize)",
                       "the device has no %s of %s", refused, vyre_type_name(type));
    return failed ? vy_fail_memory(error, "the oracle's form of a program") : VYRE_OK;
}
