/* The core set: what a backend runs when it does not say otherwise. The names come from the op tables. Subgroup collectives and the
 * grid barrier are not in it: they need a capability. */
#include "vyre/op.h"
#include "vyre/registry.h"

/* Collectives a workgroup has, under their written names. */
#define OVER_WORKGROUP_1(name) ("workgroup_" name),
#define OVER_WORKGROUP_0(name)
/* Rows of level legal are the library's own. */
#define IN_SOURCE(name) name,
#define IN_LEGAL(name)

static const char *const core_ops[] = {
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
    "store",
    "barrier",
};

const char *const *vyre_core_supported_ops(size_t *count) {
    if (count)
        *count = sizeof core_ops / sizeof *core_ops;
    return core_ops;
}
