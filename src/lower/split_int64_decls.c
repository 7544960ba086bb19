/* The declarations of a program whose 64-bit integers are pairs (split_int64.h), and the sizes that depend on them: what was the length of a buffer of u64 is half
 * the length of its words, and a count of such a buffer is twice itself. */
#include "lower/split_int64.h"

#include "base/status.h"

#include <stdio.h>

static uint32_t literal(vy_irb *draft, uint64_t value) {
    return vy_irb_size(draft, VY_SIZE_LITERAL, VY_NONE, VY_NONE, value);
}

/* `size` times, or divided by, a constant. */
static uint32_t scaled(vy_irb *draft, vy_size_kind kind, uint32_t size, uint64_t by) {
    return vy_irb_size(draft, kind, size, literal(draft, by), 0);
}

/* low + 2^32 * high. A negative number is no size, and says so: 0x7fffffff - high is none then. */
static uint32_t param_size(vy_irb *draft, uint32_t low, vyre_type type) {
    uint32_t sum = vy_irb_size(draft, VY_SIZE_PARAM, low, VY_NONE, 0), high;
    if (type == VYRE_TYPE_U64) {
        high = vy_irb_size(draft, VY_SIZE_PARAM, low + 1, VY_NONE, 0);
    } else {
        uint32_t most = literal(draft, INT32_MAX), least = literal(draft, INT32_MAX);
        uint32_t param = vy_irb_size(draft, VY_SIZE_PARAM, low + 1, VY_NONE, 0);
        high = vy_irb_size(draft, VY_SIZE_SUB, most, vy_irb_size(draft, VY_SIZE_SUB, least, param, 0), 0);
    }
    return vy_irb_size(draft, VY_SIZE_ADD, sum, scaled(draft, VY_SIZE_MUL, high, UINT64_C(1) << 32), 0);
}

static uint32_t length(vy_legalizer *rw, uint32_t memory) {
    uint32_t size = vy_irb_size(&rw->copy.draft, VY_SIZE_LEN, memory - rw->copy.entry->first_memory, VY_NONE, 0);
    return vy_is_pair((vyre_type)rw->from->memories.items[memory].type) ? scaled(&rw->copy.draft, VY_SIZE_DIV, size, 2)
                                                                        : size;
}

/* Recursion is bounded by what the validator allows a size. Buffers keep their places; params, declared before, have moved. */
static uint32_t copy_size(vy_legalizer *rw, uint32_t root) {
    vy_irb *draft = &rw->copy.draft;
    if (root == VY_NONE)
        return VY_NONE;
    vy_size size = rw->from->sizes.items[root];
    if (size.kind == VY_SIZE_LITERAL)
        return literal(draft, size.value);
    if (size.kind == VY_SIZE_LEN)
        return length(rw, size.a);
    if (size.kind == VY_SIZE_PARAM) {
        vyre_type type = (vyre_type)rw->from->variables.items[size.a].type;
        uint32_t param = rw->copy.variables[size.a];
        return vy_is_pair(type) ? param_size(draft, param, type) : vy_irb_size(draft, VY_SIZE_PARAM, param, VY_NONE, 0);
    }
    uint32_t a = copy_size(rw, size.a), b = copy_size(rw, size.b);
    return vy_irb_size(draft, (vy_size_kind)size.kind, a, b, size.value);
}

void vy_split_int64_names(vy_legalizer *rw, uint32_t variable, vy_symbol names[2]) {
    static const char *const halves[2] = {"low", "high"};
    const char *text = vy_symbol_name(rw->from, rw->from->variables.items[variable].name);
    for (int k = 0; k < 2; k++) {
        char name[VY_LIMIT_NAME + 1];
        snprintf(name, sizeof name, "%.*s_%s", VY_LIMIT_NAME - 16, text, halves[k]);
        names[k] = vy_cloner_new_name(&rw->copy, name);
    }
}

static void params(vy_legalizer *rw) {
    vy_irb *draft = &rw->copy.draft;
    uint32_t first = rw->copy.entry->first_variable, count = rw->from->param_count, made = count;
    for (uint32_t i = first; i < first + count; i++)
        made += (uint32_t)vy_is_pair((vyre_type)rw->from->variables.items[i].type);
    if (made > VY_LIMIT_PARAMS) {
        rw->status =
            vy_fail(rw->error, VYRE_LIMIT, "choose a device with 64-bit integers, or pass some of them in a buffer",
                    "the program has %u params where 64-bit ones are two (%d are allowed)", made, VY_LIMIT_PARAMS);
        return;
    }
    for (uint32_t i = first; i < first + count; i++) {
        const vy_variable *v = &rw->from->variables.items[i];
        draft->position = v->position;
        if (vy_is_pair((vyre_type)v->type)) {
            vy_symbol names[2];
            vy_split_int64_names(rw, i, names);
            rw->copy.variables[i] = vy_irb_scalar_param(draft, names[0], VYRE_TYPE_U32);
            vy_irb_scalar_param(draft, names[1], VYRE_TYPE_U32);
        } else {
            vy_symbol name = vy_cloner_name(&rw->copy, vy_symbol_name(rw->from, v->name));
            rw->copy.variables[i] = vy_irb_scalar_param(draft, name, (vyre_type)v->type);
        }
    }
}

static void memory(vy_legalizer *rw, uint32_t index) {
    const vy_memory *m = &rw->from->memories.items[index];
    vy_irb *draft = &rw->copy.draft;
    int is_pair = vy_is_pair((vyre_type)m->type);
    vyre_type type = is_pair ? VYRE_TYPE_U32 : (vyre_type)m->type;
    vy_symbol name = vy_cloner_name(&rw->copy, vy_symbol_name(rw->from, m->name));
    draft->position = m->position;
    if (m->space == VY_SPACE_BUFFER) {
        uint32_t size = copy_size(rw, m->size);
        if (is_pair && m->size != VY_NONE)
            size = scaled(draft, VY_SIZE_MUL, size, 2);
        rw->copy.memories[index] =
            vy_irb_memory_param(draft, name, VY_SPACE_BUFFER, type, (vyre_access)m->access, size);
    } else {
        rw->copy.memories[index] = vy_irb_array(draft, name, (vy_space)m->space, type, m->elements << is_pair);
    }
}

static void grid(vy_legalizer *rw) {
    vy_grid grid = rw->from->grid;
    if (grid.kind == VYRE_GRID_OVER && vy_is_pair((vyre_type)rw->from->memories.items[grid.memory].type)) {
        grid.kind = VYRE_GRID_ELEMENTS;
        grid.sizes[0] = length(rw, grid.memory);
        grid.memory = VY_NONE;
    } else {
        if (grid.memory != VY_NONE)
            grid.memory -= rw->copy.entry->first_memory;
        for (int i = 0; i < 3; i++)
            grid.sizes[i] = copy_size(rw, grid.sizes[i]);
    }
    rw->copy.draft.program->grid = grid;
}

void vy_split_int64_declare(vy_legalizer *rw) {
    params(rw);
    if (rw->status != VYRE_OK)
        return;
    for (uint32_t i = 0; i < rw->copy.entry->memory_count; i++)
        memory(rw, rw->copy.entry->first_memory + i);
    grid(rw);
}
