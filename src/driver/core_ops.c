/* The names of supported ops: what a backend runs when it lists none. They come from the op tables.
 *
 * One array serves every default, as a window: the grid barrier, then the core set, then the subgroup collectives. The core set is what needs no
 * capability. */
#include "driver/registry.h"

#include "vyre/op.h"

/* Collectives a workgroup has, under their written names. */
#define OVER_WORKGROUP_1(name) ("workgroup_" name),
#define OVER_WORKGROUP_0(name)
/* Rows of level legal are internal to the library. */
#define IN_SOURCE(name) name,
#define IN_LEGAL(name)
#define OVER_SUBGROUP_SOURCE(name) ("subgroup_" name),
#define OVER_SUBGROUP_LEGAL(name)

static const char *const ops[] = {"grid_barrier",
#define X(ID, name, symbol, precedence, arity, cls, rule, level, edge, doc) IN_##level(name)
                                  VYRE_OP_LIST(X)
#undef X
#define X(ID, name, axes, uniform, doc) name,
                                      VYRE_BUILTIN_LIST(X)
#undef X
#define X(ID, name, operands, value, doc) name,
                                          VYRE_ATOMIC_LIST(X)
#undef X
#define X(ID, name, operands, combines, workgroup, subgroup, level, doc) OVER_WORKGROUP_##workgroup(name)
                                              VYRE_COLLECTIVE_LIST(X)
#undef X
                                                  "load",
                                  "store", "barrier",
#define X(ID, name, operands, combines, workgroup, subgroup, level, doc) OVER_SUBGROUP_##level(name)
                                  VYRE_COLLECTIVE_LIST(X)
#undef X
};
enum {
    OPS = sizeof ops / sizeof *ops,
    SUBGROUP_OPS = 0
#define ONE_SOURCE +1
#define ONE_LEGAL
#define X(ID, name, operands, combines, workgroup, subgroup, level, doc) ONE_##level
    VYRE_COLLECTIVE_LIST(X)
#undef X
};

const char *const *vy_default_ops(int has_grid_barrier, int has_subgroups, size_t *count) {
    *count = (size_t)(OPS - (has_grid_barrier ? 0 : 1) - (has_subgroups ? 0 : SUBGROUP_OPS));
    return ops + (has_grid_barrier ? 0 : 1);
}

const char *const *vy_all_ops(size_t *count) {
    return vy_default_ops(1, 1, count);
}

const char *const *vy_ops_without_grid_barrier(size_t *count) {
    return vy_default_ops(0, 1, count);
}

const char *const *vyre_core_supported_ops(size_t *count) {
    size_t own;
    return vy_default_ops(0, 0, count ? count : &own);
}
