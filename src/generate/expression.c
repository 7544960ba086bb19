/* Random expressions: any row of the op table over literals, variables, loads and ids; and idioms. */
#include "base/intern.h"
#include "generate/generator.h"
#include "generate/interesting_values.h"
#include "ir/eval.h"
#include "ir/op_tables.h"

static uint32_t gen_narrowed(vy_gen *g, vyre_type type, unsigned depth);

vy_symbol vy_gen_name(vy_gen *g, char prefix) {
    return vy_irb_intern_numbered(&g->draft, prefix, g->name_count++);
}

/* ---- types ---- */

/* Stress on integers or floats directs eight of ten draws to that class, if the allowed types include any. */
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

/* An allowed type of the classes: the first one from a random index on; VYRE_TYPE_COUNT if there is none. */
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

/* A variable of any type, converted to this one, so that computed values stay connected. VY_NONE if there is none. */
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

/* The operand type for which a row has the result `type`; VYRE_TYPE_COUNT if there is none. */
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
    /* Every type has select, so a draw soon succeeds; the bound protects against changes of the table. */
    for (int i = 0; i < 64; i++) {
        vyre_op op = (vyre_op)vy_source_ops[vy_gen_below(g, VY_SOURCE_OPS)];
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
    uint32_t narrowed = depth > 1 && vy_gen_draws_idiom(g, VY_GEN_CONVERSIONS) ? gen_narrowed(g, type, depth) : VY_NONE;
    if (narrowed != VY_NONE)
        return narrowed;
    uint32_t choice = depth > 1 && vy_gen_draws_idiom(g, VY_GEN_CHOICES) ? vy_gen_choice(g, type) : VY_NONE;
    return choice != VY_NONE ? choice : operation(g, type, depth);
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

/* Idioms: code patterns that compilers optimise with special rules and that independent draws rarely produce.
 *
 * Few known bits: an integer of which most bits are known to be zero (masked, shifted, converted from a narrow type, an
 * id times a constant), converted, narrowed and widened again. Compilers remove conversions that they consider exact.
 *
 * Lane conditions: conditions that are constant for part of the lanes of a vector, independent of the data: an id
 * compared with a number, or with the length of a buffer. An access under one has a partly constant mask, so parts of a
 * vector are known to be inactive.
 *
 * Edges: numbers close to multiples of vector widths and to the size of the workgroup, for these conditions, for
 * element counts and for index offsets.
 *
 * Choices: c ? x : f(x), where f consists of bitwise operations (and, or, xor, not, a sign copied or removed), usually
 * a selection of bits of x and y by a constant mask. A vector unit executes both as one masked instruction. y is its
 * operand in memory if y is a contiguous load without a mask: the index is proven in bounds, and the workgroup consists
 * of full vectors (planned in generate.c).
 *
 * Each expression contains at most one draw, as in generate.c. */

static uint32_t cast(vy_gen *g, vyre_type type, uint32_t value) {
    int is_same = value != VY_NONE && g->draft.program->exprs.items[value].type == type;
    return is_same ? value : vy_irb_op(&g->draft, VYRE_OP_CAST, type, value, VY_NONE, VY_NONE);
}

int vy_gen_draws_idiom(vy_gen *g, unsigned feature) {
    return g->features & feature ? vy_gen_chance(g, 1, 2) : vy_gen_chance(g, 1, 24);
}

/* ---- edges ---- */

uint32_t vy_gen_edge(vy_gen *g, uint32_t most) {
    uint32_t around = vy_gen_below(g, 3), kind = vy_gen_below(g, 8), edge;
    if (kind < 2)
        edge = vy_gen_below(g, 9);
    else if (kind < 3)
        edge = g->size + around - 1;
    else if (kind < 4)
        edge = vy_gen_below(g, most + 1);
    else {
        uint32_t width = 4u << vy_gen_below(g, 5);
        edge = width * (1 + vy_gen_below(g, most / width < 4 ? most / width + 1 : 4)) + around - 1;
    }
    return edge <= most ? edge : most;
}

/* ---- few known bits ---- */

/* Any type of the classes with at most so many bits that the options allow; VYRE_TYPE_COUNT if there is none. */
static vyre_type draw_allowed(vy_gen *g, unsigned classes, unsigned bits) {
    uint8_t types[VYRE_TYPE_COUNT];
    uint32_t count = 0;
    for (int type = 0; type < VYRE_TYPE_COUNT; type++)
        if ((g->allowed >> type & 1) && (vy_type_layouts[type].classes & classes) && vy_type_layouts[type].bits <= bits)
            types[count++] = (uint8_t)type;
    uint32_t draw = vy_gen_below(g, count);
    return count ? (vyre_type)types[draw] : VYRE_TYPE_COUNT;
}

/* A value that a compiler cannot determine: a load, a variable, or an id. */
static uint32_t unknown(vy_gen *g, vyre_type type) {
    uint32_t load = vy_gen_chance(g, 1, 2) ? vy_gen_load(g, type, 0) : VY_NONE;
    if (load != VY_NONE)
        return load;
    const vy_gen_variable *variable = vy_gen_chance(g, 3, 4) ? vy_gen_find_variable(g, type, 0) : NULL;
    if (variable)
        return vy_irb_variable(&g->draft, variable->variable);
    if (g->only_uniform)
        return vy_gen_leaf(g, type, 0);
    return cast(g, type, vy_gen_local_id(g, 3));
}

/* At most `count` bits of the value may be set, from bit `at` on. */
static uint32_t field(vy_gen *g, vyre_type type, unsigned count, unsigned at) {
    uint64_t mask = (UINT64_C(1) << count) - 1;
    vyre_type narrow = draw_allowed(g, VYRE_CLASS_INTEGER | VYRE_CLASS_BOOL, 16);
    uint32_t draw = vy_gen_below(g, 6), value;
    if (draw == 0)
        return vy_gen_with_literal(g, VYRE_OP_AND, type, unknown(g, type), mask << at);
    if (draw == 1) {
        uint64_t factor = 1 + 2 * (uint64_t)vy_gen_below(g, 4);
        value = vy_gen_with_literal(g, VYRE_OP_AND, type, unknown(g, type), mask);
        return vy_gen_with_literal(g, VYRE_OP_MUL, type, value, factor << at);
    }
    if (draw == 2)
        value = vy_gen_with_literal(g, VYRE_OP_SHR, type, unknown(g, type), vy_type_layouts[type].bits - count);
    else if (draw == 3 && narrow != VYRE_TYPE_COUNT)
        value = cast(g, type, narrow == VYRE_TYPE_BOOL ? vy_gen_expr(g, narrow, 1) : unknown(g, narrow));
    else if (draw == 4 && !g->only_uniform)
        value = cast(g, type, vy_gen_local_id(g, 3));
    else
        value = vy_gen_with_literal(g, VYRE_OP_AND, type, unknown(g, type), mask);
    return at ? vy_gen_with_literal(g, VYRE_OP_SHL, type, value, at) : value;
}

/* Adds a small operation to a value with few known bits. */
static uint32_t adjusted(vy_gen *g, vyre_type type, uint32_t value) {
    static const uint8_t float_ops[] = {VYRE_OP_ADD, VYRE_OP_MUL, VYRE_OP_SUB, VYRE_OP_MAX};
    static const uint8_t integer_ops[] = {VYRE_OP_ADD, VYRE_OP_OR, VYRE_OP_XOR, VYRE_OP_SHL};
    static const double factors[] = {0.5, 2, 1, -1, 0.25, 4096};
    uint32_t draw = vy_gen_below(g, 4), number = vy_gen_below(g, 6);
    if (!(vy_type_layouts[type].classes & VYRE_CLASS_FLOAT))
        return vy_gen_with_literal(g, (vyre_op)integer_ops[draw], type, value, number);
    uint64_t bits;
    memcpy(&bits, &factors[number], sizeof bits);
    bits = vyre_op_evaluate(VYRE_OP_CAST, type, VYRE_TYPE_F64, bits, 0, 0);
    return vy_gen_with_literal(g, (vyre_op)float_ops[draw], type, value, bits);
}

/* The first conversion is usually to a 16-bit float, and the highest bit of the field is near 2^16, the end of the
 * range of f16. */
static uint32_t gen_narrowed(vy_gen *g, vyre_type type, unsigned depth) {
    vyre_type from = draw_allowed(g, VYRE_CLASS_INTEGER, 64);
    if (from == VYRE_TYPE_COUNT || !(vy_type_layouts[type].classes & VYRE_CLASS_NUMBER))
        return VY_NONE;
    if ((g->allowed >> VYRE_TYPE_U32 & 1) && vy_gen_chance(g, 1, 2))
        from = VYRE_TYPE_U32;
    unsigned bits = vy_type_layouts[from].bits, count = 1 + vy_gen_below(g, bits < 13 ? bits - 1 : 12);
    unsigned at = vy_gen_below(g, bits - count), near = 15 + vy_gen_below(g, 6);
    if (bits > 16 && vy_gen_chance(g, 1, 2))
        at = near - count;
    uint32_t value = field(g, from, count, at);
    for (unsigned step = vy_gen_below(g, depth < 3 ? depth : 3) + 1; step > 0; step--) {
        unsigned classes = vy_gen_chance(g, 2, 3) ? VYRE_CLASS_FLOAT : VYRE_CLASS_NUMBER;
        vyre_type narrow = draw_allowed(g, classes, vy_gen_chance(g, 3, 4) ? 16 : 32);
        if (narrow == VYRE_TYPE_COUNT)
            continue;
        value = cast(g, narrow, value);
        if (vy_gen_chance(g, 1, 2))
            value = adjusted(g, narrow, value);
    }
    return cast(g, type, value);
}

/* ---- choices between a value and a bitwise operation of it ---- */

/* The second operand of an idiom: a load where one is possible. */
static uint32_t loaded(vy_gen *g, vyre_type type) {
    uint32_t whole = vy_gen_chance(g, 3, 4) ? vy_gen_choice_load(g, type) : VY_NONE;
    if (whole != VY_NONE)
        return whole;
    uint32_t load = vy_gen_chance(g, 3, 4) ? vy_gen_load(g, type, 0) : VY_NONE;
    return load != VY_NONE ? load : unknown(g, type);
}

/* One to three bitwise operations of an integer variable x with an unknown value and a constant mask. */
static uint32_t bitwise(vy_gen *g, vyre_type type, uint32_t x) {
    static const uint8_t ops[] = {VYRE_OP_AND, VYRE_OP_OR, VYRE_OP_XOR};
    uint64_t all = vy_type_layouts[type].mask, mask = vy_interesting_value(&g->rng, type) & all;
    uint32_t draw = vy_gen_below(g, 8), value, other;
    vyre_op op = (vyre_op)ops[vy_gen_below(g, 3)];
    if (vy_gen_chance(g, 1, 2))
        mask = all >> 1; /* all but the sign */
    if (draw < 2) {      /* (y & mask) | (x & ~mask) */
        value = vy_gen_with_literal(g, VYRE_OP_AND, type, loaded(g, type), mask);
        other = vy_irb_variable(&g->draft, x);
        other = vy_gen_with_literal(g, VYRE_OP_AND, type, other, ~mask & all);
        return vy_irb_op(&g->draft, VYRE_OP_OR, type, value, other, VY_NONE);
    }
    value = vy_irb_variable(&g->draft, x);
    if (draw == 2) { /* (x & mask) | (y & ~mask) */
        value = vy_gen_with_literal(g, VYRE_OP_AND, type, value, mask);
        other = vy_gen_with_literal(g, VYRE_OP_AND, type, loaded(g, type), ~mask & all);
        return vy_irb_op(&g->draft, VYRE_OP_OR, type, value, other, VY_NONE);
    }
    if (draw < 5) { /* x ^ ((x ^ y) & mask) */
        other = vy_irb_variable(&g->draft, x);
        other = vy_irb_op(&g->draft, VYRE_OP_XOR, type, other, loaded(g, type), VY_NONE);
        other = vy_gen_with_literal(g, VYRE_OP_AND, type, other, mask);
        return vy_irb_op(&g->draft, VYRE_OP_XOR, type, value, other, VY_NONE);
    }
    if (draw == 5)
        return vy_gen_with_literal(g, op, type, value, mask);
    value = vy_irb_op(&g->draft, op, type, value, loaded(g, type), VY_NONE);
    return draw == 6 ? vy_gen_with_literal(g, VYRE_OP_XOR, type, value, all) : value;
}

/* Operations of a float variable x that change bits without rounding. */
static uint32_t sign_operation(vy_gen *g, vyre_type type, uint32_t x) {
    uint32_t draw = vy_gen_below(g, 6), value = draw < 3 ? loaded(g, type) : vy_irb_variable(&g->draft, x);
    if (draw < 4) {
        uint32_t sign = draw < 3 ? vy_irb_variable(&g->draft, x) : loaded(g, type);
        return vy_irb_op(&g->draft, VYRE_OP_COPYSIGN, type, value, sign, VY_NONE);
    }
    value = vy_irb_op(&g->draft, VYRE_OP_ABS, type, value, VY_NONE, VY_NONE);
    return draw == 4 ? vy_irb_op(&g->draft, VYRE_OP_NEG, type, value, VY_NONE, VY_NONE) : value;
}

static uint32_t changed_bits(vy_gen *g, vyre_type type, uint32_t x) {
    return vy_type_layouts[type].classes & VYRE_CLASS_FLOAT ? sign_operation(g, type, x) : bitwise(g, type, x);
}

/* A variable that differs between lanes is preferred. */
uint32_t vy_gen_choice(vy_gen *g, vyre_type type) {
    int is_number = (vy_type_layouts[type].classes & VYRE_CLASS_NUMBER) != 0;
    const vy_gen_variable *variable = is_number ? vy_gen_find_variable(g, type, 0) : NULL;
    for (int i = 0; i < 4 && variable && variable->is_uniform && !g->only_uniform; i++)
        variable = vy_gen_find_variable(g, type, 0);
    if (!variable)
        return VY_NONE;
    uint32_t x = variable->variable;
    int is_lanes = !g->only_uniform && vy_gen_chance(g, 1, 2), is_first = vy_gen_chance(g, 1, 2);
    uint32_t test = is_lanes ? vy_gen_lane_condition(g) : vy_gen_expr(g, VYRE_TYPE_BOOL, 1);
    uint32_t left = is_first ? changed_bits(g, type, x) : vy_irb_variable(&g->draft, x);
    uint32_t right = is_first ? vy_irb_variable(&g->draft, x) : changed_bits(g, type, x);
    return vy_irb_op(&g->draft, VYRE_OP_SELECT, type, test, left, right);
}

/* ---- lane conditions ---- */

uint32_t vy_gen_local_id(vy_gen *g, uint32_t axis) {
    return axis == 3 ? vy_irb_builtin(&g->draft, VYRE_BUILTIN_LOCAL_INDEX, 0)
                     : vy_irb_builtin(&g->draft, VYRE_BUILTIN_LOCAL_ID, axis);
}

uint32_t vy_gen_lane_index(vy_gen *g) {
    uint32_t draw = vy_gen_below(g, 5);
    if (draw < 3)
        return vy_gen_local_id(g, 3);
    return draw == 3 || g->function ? vy_irb_builtin(&g->draft, VYRE_BUILTIN_GLOBAL_ID, 0)
                                    : vy_irb_variable(&g->draft, g->linear);
}

uint32_t vy_gen_lane_condition(vy_gen *g) {
    static const uint8_t comparisons[] = {VYRE_OP_LT, VYRE_OP_LT, VYRE_OP_LT, VYRE_OP_GE, VYRE_OP_LE,
                                          VYRE_OP_GT, VYRE_OP_EQ, VYRE_OP_EQ, VYRE_OP_NE};
    uint32_t axis = vy_gen_below(g, 6), draw = vy_gen_below(g, 8);
    int is_axis = axis < 3 && g->workgroup[axis] > 1;
    uint32_t id = is_axis ? vy_gen_local_id(g, axis) : vy_gen_lane_index(g);
    uint32_t edge = vy_gen_edge(g, is_axis ? g->workgroup[axis] : g->size), other;
    vyre_op compare = (vyre_op)comparisons[vy_gen_below(g, sizeof comparisons)];
    if (draw == 0) { /* (id & k) == 0 */
        id = vy_gen_with_literal(g, VYRE_OP_AND, VYRE_TYPE_U32, id, UINT64_C(1) << vy_gen_below(g, 6));
        compare = compare == VYRE_OP_LT ? VYRE_OP_EQ : VYRE_OP_NE;
        edge = 0;
    } else if (draw == 1) {
        uint32_t period = 2 + vy_gen_below(g, 15);
        id = vy_gen_with_literal(g, VYRE_OP_REM, VYRE_TYPE_U32, id, period);
        edge = vy_gen_below(g, period);
    } else if (draw == 2 && g->memory_count) { /* id + k < len(x) */
        id = vy_gen_with_literal(g, VYRE_OP_ADD, VYRE_TYPE_U32, id, edge);
        other = vy_irb_len(&g->draft, g->memories[vy_gen_below(g, g->memory_count)].memory);
        return vy_irb_op(&g->draft, VYRE_OP_LT, VYRE_TYPE_BOOL, id, other, VY_NONE);
    }
    other = vy_irb_literal(&g->draft, VYRE_TYPE_U32, edge);
    return vy_irb_op(&g->draft, compare, VYRE_TYPE_BOOL, id, other, VY_NONE);
}

uint32_t vy_gen_edge_index(vy_gen *g, unsigned m) {
    uint32_t count = g->memories[m].count, draw = vy_gen_below(g, 8), edge = vy_gen_edge(g, count + 2), id;
    if (draw == 0) { /* from the end, in reverse */
        uint32_t end = vy_irb_len(&g->draft, g->memories[m].memory);
        id = vy_gen_lane_index(g);
        return vy_irb_op(&g->draft, VYRE_OP_SUB, VYRE_TYPE_U32, end, id, VY_NONE);
    }
    id = vy_gen_lane_index(g);
    if (draw == 1)
        id = vy_gen_with_literal(g, VYRE_OP_MUL, VYRE_TYPE_U32, id, 2 + vy_gen_below(g, 3));
    if (draw == 2) /* so that the last lanes are past the end */
        edge = count > edge ? count - edge : 0;
    if (draw == 3)
        return vy_gen_with_literal(g, VYRE_OP_SUB, VYRE_TYPE_U32, id, edge);
    return vy_gen_chance(g, 1, 2) ? id : vy_gen_with_literal(g, VYRE_OP_ADD, VYRE_TYPE_U32, id, edge);
}
