/* Statements with an effect to bytecode: on memory, on the workgroup, on the outside. */
#include "oracle/adversarial_device.h"
#include "oracle/compile.h"

#include "ir/op_tables.h"

void vy_emit_store(vy_oracle_compiler *c, const vy_stmt *stmt) {
    uint32_t index = vy_emit_value(c, stmt->a), value = vy_emit_value(c, stmt->b);
    if (stmt->bounds_check == VY_BOUNDS_UNCHECKED)
        vy_emit_inside(c, stmt->memory, index, 1);
    vy_instruction *store = vy_emit(c, VY_OPCODE_STORE);
    store->type = c->program->memories.items[stmt->memory].type;
    store->index_type = c->program->exprs.items[stmt->a].type;
    store->a = index;
    store->b = value;
    store->c = stmt->memory - c->entry->first_memory;
    c->oracle->memories.items[store->c].accesses |= 1u << VY_ACCESS_WRITE;
    vy_value_free(c, stmt->a, index);
    vy_value_free(c, stmt->b, value);
}

void vy_emit_atomic(vy_oracle_compiler *c, const vy_stmt *stmt) {
    const uint32_t roots[3] = {stmt->a, stmt->b, stmt->c};
    uint32_t r[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++)
        if (roots[i] != VY_NONE)
            r[i] = vy_emit_value(c, roots[i]);
    if (stmt->bounds_check == VY_BOUNDS_UNCHECKED)
        vy_emit_inside(c, stmt->memory, r[0], 1);
    for (int i = 0; i < 3; i++)
        if (roots[i] != VY_NONE)
            vy_value_free(c, roots[i], r[i]);
    uint32_t result = stmt->result_count ? vy_emit_declare(c, stmt->variable) : VY_NONE;
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

/* Collectives combine with the evaluator's kernels: on a device only what is exact there. */
static void check_combine(vy_oracle_compiler *c, const vy_stmt *stmt) {
    const vyre_type type = (vyre_type)c->program->exprs.items[stmt->a].type;
    const vyre_op op = (vyre_op)stmt->combine;
    if (!c->oracle->is_device || !vy_collectives[stmt->op].combines)
        return;
    if (!vy_device_kernel(c->oracle->exact, op, type, type) || !vy_device_is_exact(c->oracle->exact, op, type))
        vy_oracle_compiler_refuse(c, "a reduction or scan", type);
}

void vy_emit_collective(vy_oracle_compiler *c, const vy_stmt *stmt) {
    check_combine(c, stmt);
    uint32_t a = vy_emit_value(c, stmt->a), b = stmt->b == VY_NONE ? 0 : vy_emit_value(c, stmt->b);
    vy_value_free(c, stmt->a, a);
    if (stmt->b != VY_NONE)
        vy_value_free(c, stmt->b, b);
    uint32_t result = stmt->result_count ? vy_emit_declare(c, stmt->variable) : VY_NONE;
    vy_instruction *collective = vy_emit(c, VY_OPCODE_COLLECTIVE);
    collective->type = c->program->exprs.items[stmt->a].type;
    collective->r = result;
    collective->a = a;
    collective->b = b;
    c->oracle->has_sync = 1;
    vy_emit_end_run(c);
}

void vy_emit_barrier(vy_oracle_compiler *c, const vy_stmt *stmt) {
    vy_emit(c, VY_OPCODE_BARRIER);
    c->oracle->has_sync = 1;
    c->oracle->grid_barrier |= stmt->scope == VYRE_SCOPE_DEVICE;
    vy_emit_end_run(c);
}

static void list_register(vy_oracle_compiler *c, uint32_t r) {
    uint32_t *item = VY_PUSH(&c->oracle->lists);
    if (item)
        *item = r;
    else
        c->failed = 1;
}

/* The values of a statement's arguments, as a list of registers. Returns its start. */
static uint32_t emit_args(vy_oracle_compiler *c, const vy_stmt *stmt) {
    uint32_t first = c->oracle->lists.count;
    for (uint32_t i = 0; i < stmt->arg_count; i++)
        list_register(c, vy_emit_value(c, c->program->args.items[stmt->args + i].index));
    return first;
}

static void free_args(vy_oracle_compiler *c, const vy_stmt *stmt, uint32_t first) {
    for (uint32_t i = 0; !c->failed && i < stmt->arg_count; i++)
        vy_value_free(c, c->program->args.items[stmt->args + i].index, c->oracle->lists.items[first + i]);
}

void vy_emit_print(vy_oracle_compiler *c, const vy_stmt *stmt) {
    uint32_t first = emit_args(c, stmt);
    vy_emit(c, VY_OPCODE_PRINT)->a = first;
    free_args(c, stmt, first);
}

/* ---- statements of level legal ---- */

static void emit_wide(vy_oracle_compiler *c, const vy_stmt *stmt, vy_opcode code, uint32_t index, uint32_t list,
                      uint32_t elements) {
    vy_emit_inside(c, stmt->memory, index, elements);
    uint32_t memory = stmt->memory - c->entry->first_memory;
    uint8_t type = c->program->memories.items[stmt->memory].type;
    vy_instruction *wide = vy_emit(c, code);
    wide->type = code == VY_OPCODE_LOAD_WIDE ? vy_loaded_type(c, (vyre_type)type) : type;
    wide->index_type = VYRE_TYPE_U32;
    wide->r = list;
    wide->a = index;
    wide->b = memory;
    wide->c = elements;
    c->oracle->memories.items[memory].accesses |=
        (uint8_t)(1u << (code == VY_OPCODE_LOAD_WIDE ? VY_ACCESS_READ : VY_ACCESS_WRITE));
}

void vy_emit_load_wide(vy_oracle_compiler *c, const vy_stmt *stmt) {
    uint32_t index = vy_emit_value(c, stmt->a), first = c->oracle->lists.count;
    for (uint32_t i = 0; i < stmt->result_count; i++)
        list_register(c, vy_emit_declare(c, stmt->variable + i));
    emit_wide(c, stmt, VY_OPCODE_LOAD_WIDE, index, first, stmt->result_count);
    /* Only now: the first results are there while the index is still needed. */
    vy_value_free(c, stmt->a, index);
}

void vy_emit_store_wide(vy_oracle_compiler *c, const vy_stmt *stmt) {
    uint32_t index = vy_emit_value(c, stmt->a), first = emit_args(c, stmt);
    emit_wide(c, stmt, VY_OPCODE_STORE_WIDE, index, first, stmt->arg_count);
    vy_value_free(c, stmt->a, index);
    free_args(c, stmt, first);
}

void vy_emit_report(vy_oracle_compiler *c, const vy_stmt *stmt) {
    uint32_t code = vy_emit_value(c, stmt->a);
    vy_emit(c, VY_OPCODE_REPORT)->a = code;
    vy_value_free(c, stmt->a, code);
}

void vy_emit_poll(vy_oracle_compiler *c, const vy_stmt *stmt) {
    /* Never from a free list: the register counts from the start of the invocation on. */
    if (c->oracle->polls == VY_NONE)
        c->oracle->polls = c->oracle->registers++;
    uint32_t result = vy_emit_declare(c, stmt->variable);
    vy_instruction *poll = vy_emit(c, VY_OPCODE_POLL);
    poll->r = result;
    poll->a = c->oracle->polls;
}
