/* The rules that passes go by (pass_manager.h), and the identities as rows. */
#include "opt/pass_manager.h"

#include "ir/op_tables.h"

const vy_identity vy_identities[VY_IDENTITY_COUNT] = {
#define X(OP, CLASSES, A, B, BECOMES) {VYRE_OP_##OP, VYRE_CLASS_##CLASSES, VY_IS_##A, VY_IS_##B, VY_BECOMES_##BECOMES},
    VY_IDENTITY_LIST(X)
#undef X
};

/* A collective orders no memory between invocations (docs/bits.md), but design keeps loads on their side of every meeting. */
#define SOUND                                                                                                          \
    .changes =                                                                                                         \
        {                                                                                                              \
            [VY_STMT_ASSIGN] = VY_CHANGES_VARIABLE,                                                                    \
            [VY_STMT_STORE] = VY_CHANGES_MEMORY,                                                                       \
            [VY_STMT_ATOMIC] = VY_CHANGES_MEMORY | VY_CHANGES_ACQUIRE,                                                 \
            [VY_STMT_COLLECTIVE] = VY_CHANGES_SHARED,                                                                  \
            [VY_STMT_CALL] = VY_CHANGES_MEMORY | VY_CHANGES_SHARED,                                                    \
            [VY_STMT_BARRIER] = VY_CHANGES_SHARED,                                                                     \
    },                                                                                                                 \
    .is_kept =                                                                                                         \
        {                                                                                                              \
            [VY_STMT_ATOMIC] = 1, [VY_STMT_COLLECTIVE] = 1, [VY_STMT_CALL] = 1,  [VY_STMT_BARRIER] = 1,                \
            [VY_STMT_TRAP] = 1,   [VY_STMT_PRINT] = 1,      [VY_STMT_WHILE] = 1, [VY_STMT_RETURN] = 1,                 \
    },                                                                                                                 \
    .forget_at_loops = 1, .forget_at_joins = 1, .check_bounds = 1, .check_wrap = 1, .reads_count = 1,                  \
    .jumps_count = 1, .guards_count = 1, .index_counts = 1,                                                            \
    .ranges = {.last_value_counts = 1, .else_is_opposite = 1, .length_is_outside = 1}, .last_trip_counts = 1,          \
    .trips_are_exact = 1, .identities = vy_identities, .identity_count = VY_IDENTITY_COUNT

const vy_opt_policy vy_opt_default = {
    SOUND, .unroll = {.trips = 16, .cost = 96, .private_trips = 16, .private_cost = 96, .room = UINT32_MAX}};

const vy_opt_policy vy_opt_unroll_aggressive = {SOUND, .unroll = {.trips = 16,
                                                                  .cost = 96,
                                                                  .private_trips = 64,
                                                                  .private_cost = 8192,
                                                                  .counter_trips = 16,
                                                                  .counter_cost = 1024,
                                                                  .room = 20000}};

const vy_opt_policy vy_opt_defer_array_loops = {SOUND, .unroll = {.trips = 16,
                                                                  .cost = 96,
                                                                  .private_trips = 16,
                                                                  .private_cost = 96,
                                                                  .counter_trips = 16,
                                                                  .counter_cost = 1024,
                                                                  .room = 20000}};

const vy_opt_policy vy_opt_spmd_cpu = {SOUND, .unroll = {.trips = 16,
                                                         .cost = 96,
                                                         .private_trips = 16,
                                                         .private_cost = 96,
                                                         .counter_trips = 16,
                                                         .counter_cost = 288,
                                                         .room = 20000}};

#undef SOUND

int vy_op_commutes(vyre_op op) {
    static const uint8_t commutes[VYRE_OP_COUNT] = {
        [VYRE_OP_ADD] = 1, [VYRE_OP_MUL] = 1, [VYRE_OP_MUL_HIGH] = 1, [VYRE_OP_AND] = 1,
        [VYRE_OP_OR] = 1,  [VYRE_OP_XOR] = 1, [VYRE_OP_LAND] = 1,     [VYRE_OP_LOR] = 1,
        [VYRE_OP_MIN] = 1, [VYRE_OP_MAX] = 1, [VYRE_OP_EQ] = 1,       [VYRE_OP_NE] = 1,
    };
    return commutes[op];
}

int vy_memory_is_shared(const vyre_program *program, uint32_t memory) {
    const vy_memory *m = &program->memories.items[memory];
    if (m->space == VY_SPACE_PRIVATE)
        return 0;
    return m->space == VY_SPACE_WORKGROUP || !vy_program_has_entry(program) || vy_accesses[m->access].stores;
}

int vy_operand_bits(vy_operand_is is, vyre_type type, uint64_t *bits) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    int is_float = layout->classes == VYRE_CLASS_FLOAT;
    /* Of floats, the exponent of 1 is the bias: half of the largest, which is infinity's. */
    uint64_t one = is_float ? layout->infinity & layout->infinity >> 1 : 1, sign = layout->mask ^ layout->mask >> 1;
    switch (is) {
    case VY_IS_ANY:
    case VY_IS_SAME:
        return 0;
    case VY_IS_ZERO:
        *bits = 0;
        return 1;
    case VY_IS_MINUS_ZERO:
        *bits = is_float ? sign : 0;
        return is_float;
    case VY_IS_ONE:
        *bits = one;
        return 1;
    case VY_IS_MINUS_ONE:
        *bits = is_float ? one | sign : layout->mask;
        return type != VYRE_TYPE_BOOL;
    case VY_IS_NAN:
        *bits = layout->nan;
        return is_float;
    }
    return 0;
}

/* Shifts count modulo the width, so two of them that are together too long leave nothing, or the sign. */
static vy_chain chain_shifts(vyre_op op, vyre_type type, uint64_t c, uint64_t d, uint64_t *bits) {
    uint64_t width = vy_type_layouts[type].bits, sum = c % width + d % width;
    int is_signed_right = op == VYRE_OP_SHR && vy_type_layouts[type].classes == VYRE_CLASS_SIGNED;
    *bits = sum < width ? sum : is_signed_right ? width - 1 : 0;
    return sum < width || is_signed_right ? VY_CHAIN_OP : VY_CHAIN_LITERAL;
}

vy_chain vy_chain_of(vyre_op op, vyre_type type, uint64_t c, uint64_t d, uint64_t *bits) {
    if (!(vy_type_layouts[type].classes & VYRE_CLASS_INTEGER))
        return VY_CHAIN_NONE;
    switch (op) {
    case VYRE_OP_SHL:
    case VYRE_OP_SHR:
        return chain_shifts(op, type, c, d, bits);
    case VYRE_OP_SUB: /* (x - c) - d = x - (c + d) */
        *bits = vyre_op_evaluate(VYRE_OP_ADD, type, type, c, d, 0);
        return VY_CHAIN_OP;
    case VYRE_OP_ADD:
    case VYRE_OP_MUL:
    case VYRE_OP_AND:
    case VYRE_OP_OR:
    case VYRE_OP_XOR:
    case VYRE_OP_MIN:
    case VYRE_OP_MAX:
        *bits = vyre_op_evaluate(op, type, type, c, d, 0);
        return VY_CHAIN_OP;
    default:
        return VY_CHAIN_NONE;
    }
}
