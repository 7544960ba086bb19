/* The rows of op_tables.h, and the public names taken from them. */
#include "ir/op_tables.h"

const vy_collective_row vy_collectives[VYRE_COLLECTIVE_COUNT] = {
#define X(ID, name, operands, combines, workgroup, subgroup, level, doc)                                               \
    {name, operands, combines, {workgroup, subgroup}, VYRE_LEVEL_##level, doc},
    VYRE_COLLECTIVE_LIST(X)
#undef X
};

const uint8_t vy_combine_ops[VY_COMBINE_COUNT] = {
#define X(ID) VYRE_OP_##ID,
    VYRE_COMBINE_LIST(X)
#undef X
};

const vy_atomic_row vy_atomics[VYRE_ATOMIC_COUNT] = {
#define X(ID, name, operands, value, doc) {name, operands, value, doc},
    VYRE_ATOMIC_LIST(X)
#undef X
};

const vy_builtin_row vy_builtins[VYRE_BUILTIN_COUNT] = {
#define X(ID, name, axes, uniform, doc) {name, axes, uniform, doc},
    VYRE_BUILTIN_LIST(X)
#undef X
};

const vy_access_row vy_accesses[VYRE_ACCESS_COUNT] = {
#define X(ID, name, load, store, input, output) {name, load, store, input, output},
    VYRE_ACCESS_LIST(X)
#undef X
};

const char *vyre_builtin_name(vyre_builtin builtin) {
    return (unsigned)builtin < VYRE_BUILTIN_COUNT ? vy_builtins[builtin].name : "?";
}

const char *vyre_atomic_name(vyre_atomic atomic) {
    return (unsigned)atomic < VYRE_ATOMIC_COUNT ? vy_atomics[atomic].name : "?";
}

const char *vyre_order_name(vyre_order order) {
#define X(ID, name) name,
    static const char *const names[VYRE_ORDER_COUNT] = {VYRE_ORDER_LIST(X)};
#undef X
    return (unsigned)order < VYRE_ORDER_COUNT ? names[order] : "?";
}

const char *vyre_collective_name(vyre_collective collective) {
    return (unsigned)collective < VYRE_COLLECTIVE_COUNT ? vy_collectives[collective].name : "?";
}
