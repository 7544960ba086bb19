/* The tables of format.h. A kind without a row does not compile: each table is as long as its enum, and the assertions
 * count the rows. */
#include "ir/wire/format.h"

const vy_wire_stmt vy_wire_stmts[VY_STMT_KIND_COUNT] = {
#define X(KIND, tag, min_exprs, max_exprs, fields) [VY_STMT_##KIND] = {tag, min_exprs, max_exprs, fields, #KIND},
    VY_WIRE_STMT_LIST(X)
#undef X
};

const vy_wire_size vy_wire_sizes[VY_SIZE_KIND_COUNT] = {
#define X(KIND, tag, operands) [VY_SIZE_##KIND] = {tag, operands},
    VY_WIRE_SIZE_LIST(X)
#undef X
};

#define X(KIND, ...) +1
_Static_assert(0 VY_WIRE_STMT_LIST(X) == VY_STMT_KIND_COUNT, "a statement kind has no tag");
_Static_assert(0 VY_WIRE_SIZE_LIST(X) == VY_SIZE_KIND_COUNT, "a size kind has no tag");
#undef X
_Static_assert(VY_WIRE_LITERAL + VYRE_TYPE_COUNT <= VY_WIRE_LITERAL_END, "types outgrow their tags");
_Static_assert(VY_WIRE_OP + VYRE_OP_COUNT <= 0x100, "ops outgrow their tags");

static int is_known(vy_position position) {
    return position.line || position.column || position.length;
}

int vy_wire_has_declaration_positions(const vyre_program *program) {
    for (uint32_t i = 0; i < program->functions.count; i++)
        if (is_known(program->functions.items[i].position))
            return 1;
    for (uint32_t i = 0; i < program->variables.count; i++)
        if (is_known(program->variables.items[i].position))
            return 1;
    for (uint32_t i = 0; i < program->memories.count; i++)
        if (is_known(program->memories.items[i].position))
            return 1;
    return 0;
}
