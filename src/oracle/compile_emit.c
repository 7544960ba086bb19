/* Emission of instructions, and the registers they use.
 *
 * Registers come from one free list per type, because a register may only ever hold values of one type. */
#include "oracle/compile.h"

/* More distinct literals than this are filled in where they are used: a shared register costs a row of lanes for the whole run. */
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

/* The chain runs through the target fields. */
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

/* The shared register of a literal, or VY_NONE when there are too many. Registers have no type here: they are never written. */
uint32_t vy_register_literal(vy_oracle_compiler *c, uint64_t bits) {
    if (c->failed)
        return VY_SHARED; /* the table may name registers that were never made */
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
    /* Never from a free list: the register is filled before the first instruction runs. */
    *id = (vy_id_register){builtin, axis, c->oracle->registers++};
    return *r = id->r;
}
