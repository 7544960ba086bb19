/* Lowering of constant arrays: evaluation of their elements, and their memories in functions.
 *
 * A constant array of the file is a memory of each function that reads it, made where it is named first. A function
 * that only uses its length has none: the length is a literal. */
#include "ir/eval.h"
#include "ir/text/lower.h"

#include <inttypes.h>

/* The type of the elements: the declared one, or that of the first element. */
static uint8_t element_type(vy_lowering *l, vy_ast_const *table) {
    const char *name = vy_lower_text(l, table->name);
    uint8_t type = table->type;
    if (type == VYRE_TYPE_COUNT)
        type = vy_lower_require_typed(l, table->value, VY_TYPE_UNTYPED);
    if (type == VYRE_TYPE_BOOL) {
        vy_lower_error(l, VY_V013, table->at, NULL, "`%s` has elements of type bool", name);
        return VY_TYPE_BAD;
    }
    return type;
}

static int check_count(vy_lowering *l, const vy_ast_const *table) {
    const char *name = vy_lower_text(l, table->name);
    uint64_t declared = table->count;
    if (table->size && !vy_lower_constant(l, table->size, UINT32_MAX, "the number of elements", &declared))
        return 0;
    if (table->count == 0) {
        vy_lower_error(l, VY_V014, table->at, VY_FIX("write the elements of `%s`, or remove it", name),
                       "constant array `%s` without elements", name);
        return 0;
    }
    if (declared != table->count) {
        vy_lower_error(l, VY_T056, table->at,
                       VY_FIX("write `[%" PRIu32 "]`, or `[]` to count the elements", table->count),
                       "constant array `%s` has %" PRIu32 " element%s, but %" PRIu64 " are declared", name,
                       table->count, table->count == 1 ? "" : "s", declared);
        return 0;
    }
    return 1;
}

void vy_lower_table_evaluate(vy_lowering *l, vy_ast_const *table) {
    const char *name = vy_lower_text(l, table->name);
    vy_effect_ban ban = l->effect_ban;
    if (table->is_known)
        return;
    table->is_known = 1;
    if (table->is_broken) { /* reported by the parser */
        table->type = VY_TYPE_BAD;
        return;
    }
    l->effect_ban = VY_EFFECT_BAN_CONST;
    int is_good = check_count(l, table);
    uint8_t type = table->value ? element_type(l, table) : VY_TYPE_BAD;
    uint64_t unit = type < VYRE_TYPE_COUNT ? vyre_type_size(type) : 1, size = table->count * unit;
    if (is_good && size > VY_LIMIT_CONSTANT_BYTES) {
        vy_lower_error(l, VY_V047, table->at, NULL, "constant array `%s` too large (%" PRIu64 " bytes, limit %d)", name,
                       size, VY_LIMIT_CONSTANT_BYTES);
        is_good = 0;
    }
    uint8_t *bytes = is_good ? vy_parse_new(l->parser, (size_t)size) : NULL;
    uint32_t at = 0;
    for (vy_ast_node *element = table->value; element && type != VY_TYPE_BAD; element = element->next, at++) {
        if (!vy_lower_expect(l, element, type, "an element of", name))
            is_good = 0;
        else if (bytes && is_good)
            vy_value_store((vyre_type)type, bytes + at * unit, vy_lower_fold(element));
    }
    l->effect_ban = ban;
    table->bytes = is_good ? bytes : NULL;
    table->type = table->bytes ? type : VY_TYPE_BAD;
}

uint32_t vy_lower_table_memory(vy_lowering *l, const vy_ast_const *table) {
    if (!table->bytes)
        l->live = 0; /* reported when it was evaluated */
    if (!l->live)
        return VY_NONE;
    vy_symbol name = vy_lower_name(l, table->name);
    vy_position position = l->draft.position;
    l->draft.position = table->at;
    uint32_t contents = vy_irb_table(&l->draft, (vyre_type)table->type, table->count, table->bytes);
    uint32_t memory = vy_irb_constant(&l->draft, name, (vyre_type)table->type, table->count, contents);
    l->draft.position = position;
    return memory;
}

const vy_ast_const *vy_lower_find_table(vy_lowering *l, uint32_t name) {
    const vy_global *global = vy_lower_find(l, name) ? NULL : vy_lower_global(l, name);
    return global && global->constant && global->constant->is_array ? global->constant : NULL;
}

const vy_binding *vy_lower_table(vy_lowering *l, uint32_t name) {
    const vy_ast_const *table = vy_lower_find_table(l, name);
    vy_global *global = table ? vy_lower_global(l, name) : NULL;
    if (!table)
        return NULL;
    if (global->lowered_in != l->functions) {
        global->lowered_in = l->functions;
        global->memory = (vy_binding){.name = name,
                                      .kind = table->bytes ? VY_BINDING_MEMORY : VY_BINDING_BROKEN,
                                      .type = table->type,
                                      .space = VY_SPACE_CONSTANT,
                                      .index = vy_lower_table_memory(l, table),
                                      .at = table->at};
    }
    return &global->memory;
}

int vy_lower_table_length(vy_lowering *l, uint32_t name, uint64_t *length) {
    const vy_ast_const *table = vy_lower_find_table(l, name);
    if (!table || !table->bytes)
        return 0;
    *length = table->count;
    return 1;
}

uint8_t vy_lower_table_element(vy_lowering *l, vy_ast_node *node, const vy_ast_const *table) {
    uint8_t type = node->a->type;
    if (!table->is_known) {
        vy_lower_error(l, VY_T048, node->at, NULL, "const `%s` used before its declaration in line %u",
                       vy_lower_text(l, table->name), table->at.line);
        return VY_TYPE_BAD;
    }
    if (!table->bytes)
        return VY_TYPE_BAD;
    uint64_t index = vy_lower_fold(node->a), mask = vy_type_layouts[type].mask;
    int is_negative = vyre_type_class(type) == VYRE_CLASS_SIGNED && (index & (mask ^ mask >> 1));
    node->is_literal = 1;
    node->bits = is_negative || index >= table->count
                     ? 0
                     : vy_value_load((vyre_type)table->type, table->bytes + index * vyre_type_size(table->type));
    return table->type;
}
