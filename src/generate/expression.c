/* Random expressions: any row of the op table over literals, variables, loads and ids. */
#include "base/intern.h"
#include "generate/generator.h"
#include "generate/interesting_values.h"
#include "ir/eval.h"
#include "ir/op_tables.h"

vy_symbol vy_gen_name(vy_gen *g, char prefix) {
    return vy_irb_intern_numbered(&g->draft, prefix, g->name_count++);
}

/* ---- types ---- */

/* Stress on integers or floats makes eight of ten draws of that class, if the allowed types have any. */
static vyre_type draw_type(vy_gen *g, const uint8_t *types, unsigned count) {
    unsigned wanted = 0;
    if (g->stress & VYRE_STRESS_INTEGERS)
        wanted |= VYRE_CLASS_INTEGER;
    if (g->stress & VYRE_STRESS_FLOATS)
        wanted |= VYRE_CLASS_FLOAT;
    vyre_type type = (vyre_type)types[vy_gen_below(g, count)];
    for (int i = 0; i < 6 && wanted && !(vy_type_layouts[type].classes & wanted); i++)
        type = (vyre_type)types[vy_gen_below(g, count)];
    return type;
}

vyre_type vy_gen_type(vy_gen *g) {
    return draw_type(g, g->types, g->type_count);
}

vyre_type vy_gen_data_type(vy_gen *g) {
    return draw_type(g, g->data_types, g->data_type_count);
}

/* An allowed type of the classes: the first from a random place on; VYRE_TYPE_COUNT if there is none. */
static vyre_type type_of_class(vy_gen *g, unsigned classes, unsigned bits) {
    uint32_t start = vy_gen_below(g, g->type_count);
    for (uint32_t i = 0; i < g->type_count; i++) {
        vyre_type type = (vyre_type)g->types[(start + i) % g->type_count];
        if ((vy_type_layouts[type].classes & classes) && (!bits || vy_type_layouts[type].bits == bits))
            return type;
    }
    return VYRE_TYPE_COUNT;
}

vyre_type vy_gen_integer_type(vy_gen *g) {
    vyre_type type = type_of_class(g, VYRE_CLASS_INTEGER, 0);
    return type == VYRE_TYPE_COUNT || vy_gen_chance(g, 1, 4) ? VYRE_TYPE_U32 : type;
}

/* ---- leaves ---- */

void vy_gen_declare(vy_gen *g, uint32_t variable, vyre_type type, int is_assignable, int is_uniform) {
    vy_gen_variable *made = VY_PUSH(&g->variables);
    if (made)
        *made = (vy_gen_variable){variable, (uint8_t)type, (uint8_t)is_assignable, (uint8_t)is_uniform};
    else
        g->draft.failed = 1;
}

const vy_gen_variable *vy_gen_find_variable(vy_gen *g, vyre_type type, int assignable) {
    uint32_t count = g->variables.count;
    if (count == 0)
        return NULL;
    /* New variables are preferred: half of the draws start in the newest eight. */
    uint32_t start = vy_gen_chance(g, 1, 2) && count > 8 ? count - 1 - vy_gen_below(g, 8) : vy_gen_below(g, count);
    for (uint32_t i = 0; i < count && i < 64; i++) {
        const vy_gen_variable *candidate = &g->variables.items[start >= i ? start - i : start + count - i];
        if (candidate->type == type && (!assignable || candidate->is_assignable) &&
            (!g->only_uniform || candidate->is_uniform))
            return candidate;
    }
    return NULL;
}

uint32_t vy_gen_literal(vy_gen *g, vyre_type type) {
    return vy_irb_literal(&g->draft, type, vy_interesting_value(&g->rng, type));
}

static uint32_t builtin(vy_gen *g) {
    vyre_builtin which;
    do
        which = (vyre_builtin)vy_gen_below(g, VYRE_BUILTIN_COUNT);
    while (g->only_uniform && !vy_builtins[which].is_uniform);
    return vy_irb_builtin(&g->draft, which, vy_builtins[which].has_axes ? vy_gen_below(g, 3) : 0);
}

/* A variable of whatever type, brought to this one: what is computed stays connected. VY_NONE if there is none. */
static uint32_t converted_variable(vy_gen *g, vyre_type type) {
    for (int i = 0; i < 4 && g->variables.count; i++) {
        const vy_gen_variable *found = &g->variables.items[vy_gen_below(g, g->variables.count)];
        if (g->only_uniform && !found->is_uniform)
            continue;
        uint32_t value = vy_irb_variable(&g->draft, found->variable);
        if (type == found->type)
            return value;
        if (type != VYRE_TYPE_BOOL)
            return vy_irb_op(&g->draft, VYRE_OP_CAST, type, value, VY_NONE, VY_NONE);
        uint32_t other = vy_gen_literal(g, (vyre_type)found->type);
        return vy_irb_op(&g->draft, VYRE_OP_NE, VYRE_TYPE_BOOL, value, other, VY_NONE);
    }
    return VY_NONE;
}

uint32_t vy_gen_leaf(vy_gen *g, vyre_type type, unsigned depth) {
    uint32_t draw = vy_gen_below(g, 10);
    if (type == VYRE_TYPE_U32 && draw == 9)
        return g->memory_count && vy_gen_chance(g, 1, 3)
                   ? vy_irb_len(&g->draft, g->memories[vy_gen_below(g, g->memory_count)].memory)
                   : builtin(g);
    if (draw >= 7) {
        uint32_t load = vy_gen_load(g, type, depth);
        if (load != VY_NONE)
            return load;
    }
    if (draw >= 2) {
        const vy_gen_variable *variable = vy_gen_find_variable(g, type, 0);
        if (variable)
            return vy_irb_variable(&g->draft, variable->variable);
        uint32_t converted = draw >= 4 ? converted_variable(g, type) : VY_NONE;
        if (converted != VY_NONE)
            return converted;
    }
    return vy_gen_literal(g, type);
}

uint32_t vy_gen_digest(vy_gen *g, vyre_type type) {
    uint32_t sum = vy_gen_leaf(g, type, 1);
    for (unsigned i = 2 + vy_gen_below(g, 5); i > 0; i--) {
        sum = vy_gen_with_literal(g, VYRE_OP_ROTL, type, sum, 5);
        uint32_t more = vy_gen_draws_idiom(g, VY_GEN_EDGES) ? vy_gen_guarded_load(g, &type) : VY_NONE;
        if (more == VY_NONE)
            more = vy_gen_expr(g, type, 1);
        sum = vy_irb_op(&g->draft, VYRE_OP_XOR, type, sum, more, VY_NONE);
    }
    return sum;
}

/* ---- operations ---- */

/* The operand type with which a row gives `type`; VYRE_TYPE_COUNT if it cannot. */
static vyre_type operand_type(vy_gen *g, const vyre_op_info *row, vyre_type type) {
    unsigned class = vy_type_layouts[type].classes;
    switch ((vyre_op_rule)row->rule) {
    case VYRE_RULE_SAME:
    case VYRE_RULE_SELECT:
        return class & row->classes ? type : VYRE_TYPE_COUNT;
    case VYRE_RULE_COMPARE:
    case VYRE_RULE_TEST:
        return type == VYRE_TYPE_BOOL ? type_of_class(g, row->classes, 0) : VYRE_TYPE_COUNT;
    case VYRE_RULE_CAST:
        return class & VYRE_CLASS_NUMBER ? type_of_class(g, row->classes, 0) : VYRE_TYPE_COUNT;
    case VYRE_RULE_BITCAST:
        return class & VYRE_CLASS_NUMBER
                   ? type_of_class(g, row->classes & VYRE_CLASS_NUMBER, vy_type_layouts[type].bits)
                   : VYRE_TYPE_COUNT;
    }
    return VYRE_TYPE_COUNT;
}

static uint32_t operation(vy_gen *g, vyre_type type, unsigned depth) {
    /* Every type has select, so a draw succeeds soon; the bound is for the case that the table changes. */
    for (int i = 0; i < 64; i++) {
        vyre_op op = (vyre_op)vy_gen_below(g, VY_SOURCE_OPS);
        const vyre_op_info *row = vyre_op_get(op);
        vyre_type operand = operand_type(g, row, type);
        if (operand == VYRE_TYPE_COUNT)
            continue;
        uint32_t operands[3] = {VY_NONE, VY_NONE, VY_NONE};
        for (unsigned j = 0; j < row->arity; j++) {
            int is_test = row->rule == VYRE_RULE_SELECT && j == 0;
            operands[j] = is_test && !g->only_uniform && vy_gen_draws_idiom(g, VY_GEN_EDGES)
                              ? vy_gen_lane_condition(g)
                              : vy_gen_expr(g, is_test ? VYRE_TYPE_BOOL : operand, depth - 1);
        }
        return vy_irb_op(&g->draft, op, type, operands[0], operands[1], operands[2]);
    }
    return vy_gen_leaf(g, type, depth);
}

void vy_gen_start_statement(vy_gen *g) {
    unsigned wanted = 12 * g->depth < 240 ? 12 * g->depth : 240;
    g->operations = g->draft.program->exprs.count < VY_GEN_SIZE ? wanted : 2;
}

uint32_t vy_gen_expr(vy_gen *g, vyre_type type, unsigned depth) {
    int is_leaf = depth == 0 || g->operations == 0 || vy_gen_chance(g, 1, 4);
    if (is_leaf)
        return vy_gen_leaf(g, type, g->operations ? depth : 0);
    g->operations--;
    uint32_t narrowed =
        depth > 1 && vy_gen_draws_idiom(g, VY_GEN_CONVERSIONS) ? vy_gen_narrowed(g, type, depth) : VY_NONE;
    return narrowed != VY_NONE ? narrowed : operation(g, type, depth);
}

uint32_t vy_gen_uniform_expr(vy_gen *g, vyre_type type, unsigned depth) {
    int before = g->only_uniform;
    g->only_uniform = 1;
    uint32_t expr = vy_gen_expr(g, type, depth);
    g->only_uniform = before;
    return expr;
}

uint32_t vy_gen_with_literal(vy_gen *g, vyre_op op, vyre_type type, uint32_t a, uint64_t literal) {
    uint32_t b = vy_irb_literal(&g->draft, type, literal);
    return vy_irb_op(&g->draft, op, type, a, b, VY_NONE);
}
