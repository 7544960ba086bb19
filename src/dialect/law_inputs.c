/* The operands that an equation is tried on.
 *
 * All of them, where they have at most VY_LAW_EXHAUSTIVE_BITS together. Else two sets: every combination of the first few edge values, and rows of
 * edge values and random ones. Edge values come in order of how often they break something: the corners of the type, then what the law and
 * the bodies themselves name, each with its neighbours, then the rest of the list. The same equation always gets the same operands. */
#include "dialect/law_internal.h"

#include "ir/eval.h"
#include "ir/model.h"

/* Values of one type, each once. */
typedef struct edges {
    vyre_type type;
    VY_VECTOR(uint64_t) values;
    int failed;
} edges;

/* ---- moving within a type ---- */

/* The next value in the order of the type; the last one, and NaN, stay. Of floats the patterns with a sign go down. */
static uint64_t successor(vyre_type type, uint64_t bits) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    uint64_t sign = (layout->mask >> 1) + 1;
    if (layout->classes == VYRE_CLASS_FLOAT) {
        if (bits == layout->nan || bits == layout->infinity)
            return bits;
        return bits == sign ? 0 : bits & sign ? bits - 1 : bits + 1;
    }
    uint64_t last = layout->classes == VYRE_CLASS_SIGNED ? sign - 1 : layout->mask;
    return bits == last ? bits : (bits + 1) & layout->mask;
}

static void add(edges *e, uint64_t bits) {
    bits = vy_value_canonicalize(e->type, bits);
    for (uint32_t i = 0; i < e->values.count; i++)
        if (e->values.items[i] == bits)
            return;
    uint64_t *slot = VY_PUSH(&e->values);
    if (slot)
        *slot = bits;
    else
        e->failed = 1;
}

/* A value and the patterns beside it, which are its neighbours for floats too. */
static void add_around(edges *e, uint64_t bits) {
    add(e, bits);
    add(e, bits + 1);
    add(e, bits - 1);
}

/* ---- integers ---- */

static void add_integer_corners(edges *e) {
    const uint64_t all = vy_type_layouts[e->type].mask, sign = (all >> 1) + 1;
    const uint64_t corners[] = {0, 1, all, sign, sign - 1, 2, all - 1, sign + 1, sign - 2, 3};
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++)
        add(e, corners[i]);
}

static void add_integer_rest(edges *e) {
    static const uint64_t patterns[] = {0x5555555555555555,
                                        0xaaaaaaaaaaaaaaaa,
                                        0x0f0f0f0f0f0f0f0f,
                                        0x00ff00ff00ff00ff,
                                        0x0123456789abcdef,
                                        0xfedcba9876543210,
                                        5,
                                        7,
                                        10,
                                        100,
                                        1000,
                                        0x9e3779b97f4a7c15};
    unsigned bits = vy_type_layouts[e->type].bits;
    for (unsigned step = bits / 2; step; step /= 2) /* halves first, then quarters, … */
        for (unsigned k = step; k < bits; k += step)
            add_around(e, UINT64_C(1) << k);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        add(e, patterns[i]);
    for (unsigned k = 1; k < bits; k++)
        add(e, ~(UINT64_C(1) << k));
}

/* ---- floats ---- */

/* 2^exponent times 1.fraction, fraction being the top bits. */
static uint64_t make_float(vyre_type type, int exponent, uint64_t fraction, int is_negative) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    unsigned fraction_bits = (unsigned)__builtin_ctzll(layout->infinity);
    uint64_t largest = layout->infinity >> fraction_bits, bias = largest >> 1, field = bias + (uint64_t)exponent;
    if (field == 0 || field >= largest)
        return layout->infinity | (is_negative ? (layout->mask >> 1) + 1 : 0);
    return field << fraction_bits | fraction >> (64 - fraction_bits) | (is_negative ? (layout->mask >> 1) + 1 : 0);
}

static void add_both_signs(edges *e, uint64_t bits) {
    add(e, bits);
    add(e, bits | ((vy_type_layouts[e->type].mask >> 1) + 1));
}

static void add_float_corners(edges *e) {
    const vy_type_layout *layout = &vy_type_layouts[e->type];
    const uint64_t least_normal = UINT64_C(1) << __builtin_ctzll(layout->infinity);
    const uint64_t corners[] = {
        0, make_float(e->type, 0, 0, 0), layout->infinity, 1, layout->infinity - 1, least_normal, least_normal - 1};
    add(e, layout->nan);
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++)
        add_both_signs(e, corners[i]);
}

static void add_float_rest(edges *e) {
    unsigned fraction_bits = (unsigned)__builtin_ctzll(vy_type_layouts[e->type].infinity);
    static const uint64_t fractions[] = {0, UINT64_C(1) << 63, 0x5555555555555555, 0xffffffffffffffff};
    for (int exponent = 0; exponent < 4; exponent++)
        for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++)
            for (int sign = 0; sign < 2; sign++) {
                add(e, make_float(e->type, exponent, fractions[i], sign));
                add(e, make_float(e->type, -exponent, fractions[i], sign));
            }
    add(e, make_float(e->type, 0, 0, 0) + 1);
    for (int at = -1; at < 3; at++) /* where whole numbers end */
        for (int sign = 0; sign < 2; sign++)
            add_around(e, make_float(e->type, (int)fraction_bits + at, 0, sign));
    for (unsigned k = 4; k <= 64; k += 4)
        for (int sign = 0; sign < 2; sign++) {
            add(e, make_float(e->type, (int)k, 0, sign));
            add(e, make_float(e->type, -(int)k, 0, sign));
        }
}

/* ---- the list of a type ---- */

/* A number of another type is taken for the same number, or for the bits of a float: bodies convert. */
static int is_convertible(vyre_type a, vyre_type b) {
    unsigned floats = (vyre_type_class(a) | vyre_type_class(b)) & VYRE_CLASS_FLOAT;
    return b != VYRE_TYPE_BOOL && (!floats || vyre_type_bits(a) == vyre_type_bits(b));
}

/* The numbers a law or a body names are where it changes its mind. */
static void add_named(edges *e, const vy_law_instance *q, const vyre_program *program) {
    enum { LITERALS = 64 };
    for (uint32_t i = 0; i < q->law->argument_count; i++)
        if (vyre_law_arguments(q->law->kind)[i] == 'v' && q->law->arguments[i].value.type == e->type)
            add_around(e, q->law->arguments[i].value.bits);
    for (int is_other = 0; is_other < 2; is_other++) {
        uint32_t before = e->values.count;
        for (uint32_t i = 0; i < program->exprs.count && e->values.count < before + LITERALS; i++) {
            const vy_expr *x = &program->exprs.items[i];
            if (x->kind == VY_EXPR_LITERAL && (x->type != e->type) == is_other &&
                is_convertible(e->type, (vyre_type)x->type))
                add_around(e, x->bits);
        }
    }
}

static vyre_status list_edges(edges *e, const vy_law_instance *q, const vyre_program *program, vyre_error *error) {
    unsigned class = vyre_type_class(e->type);
    if (class == VYRE_CLASS_FLOAT)
        add_float_corners(e);
    else
        add_integer_corners(e);
    add_named(e, q, program);
    if (class == VYRE_CLASS_FLOAT)
        add_float_rest(e);
    else if (class != VYRE_CLASS_BOOL)
        add_integer_rest(e);
    return e->failed ? vy_fail_memory(error, "checking a law") : VYRE_OK;
}

/* ---- random rows ---- */

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Any pattern; or one of moderate size, since most patterns are very large or very small. */
static uint64_t random_value(vyre_type type, uint64_t *state) {
    uint64_t bits = next_random(state), choice = next_random(state);
    if (choice % 2 == 0)
        return vy_value_canonicalize(type, bits);
    if (vyre_type_class(type) == VYRE_CLASS_FLOAT)
        return make_float(type, (int)(choice / 2 % 9) - 4, bits, (int)(choice / 32 % 2));
    bits = vy_type_layouts[type].mask & bits;
    bits >>= choice / 2 % vy_type_layouts[type].bits;
    return vy_value_canonicalize(type, choice / 1024 % 2 ? bits : 0 - bits);
}

/* Operand k of a row: an edge value, a random one, or one near the operand before it. */
static uint64_t row_value(const edges *e, const uint64_t *before, int is_ordered, uint64_t *state) {
    uint64_t choice = next_random(state);
    if (before && is_ordered && choice % 2)
        return successor(e->type, *before);
    uint64_t edge = e->values.items[next_random(state) % e->values.count];
    if (before && choice / 2 % 8 == 0) /* equal, opposite, or an edge away */
        return vy_value_canonicalize(e->type, choice / 16 % 3 == 0   ? *before
                                              : choice / 16 % 3 == 1 ? 0 - *before
                                                                     : edge - *before);
    if (choice / 2 % 8 < 3)
        return edge;
    return random_value(e->type, state);
}

/* ---- sets ---- */

void vy_law_tuples_free(vy_law_tuples *tuples) {
    for (uint32_t k = 0; k < tuples->column_count; k++)
        vy_release(tuples->columns[k].values, vy_array_size(tuples->columns[k].count, sizeof(uint64_t)));
    tuples->column_count = 0;
}

/* A column of a product: the strides are those of a number with as many digits as columns. */
static uint64_t *new_column(vy_law_tuples *set, uint64_t count, uint64_t stride) {
    vy_law_column *column = &set->columns[set->column_count];
    *column = (vy_law_column){vy_allocate(vy_array_size(count, sizeof(uint64_t))), (uint32_t)count, (uint32_t)stride};
    if (column->values)
        set->column_count++;
    return column->values;
}

static int exhaustive_tuples(const vy_law_instance *q, vy_law_tuples *set) {
    set->count = 1;
    for (uint32_t k = 0; k < q->operand_count; k++) {
        uint64_t size = UINT64_C(1) << vyre_type_bits(q->operands[k].type);
        uint64_t *values = new_column(set, size, set->count);
        for (uint64_t i = 0; values && i < size; i++)
            values[i] = i;
        if (!values)
            return 0;
        set->count *= size;
    }
    return 1;
}

/* How many values of each operand, so that there are not more combinations than VY_LAW_PRODUCT. */
static uint64_t product_side(uint32_t operands) {
    uint64_t side = 1;
    for (;; side++) {
        uint64_t product = 1;
        for (uint32_t k = 0; k < operands && product <= VY_LAW_PRODUCT; k++)
            product *= side + 1;
        if (product > VY_LAW_PRODUCT || side == VY_LAW_PRODUCT)
            return side;
    }
}

static int combinations(const vy_law_instance *q, const edges *lists, vy_law_tuples *set) {
    uint64_t side = product_side(q->operand_count);
    set->count = 1;
    for (uint32_t k = 0; k < q->operand_count; k++) {
        uint64_t size = lists[k].values.count < side ? lists[k].values.count : side;
        uint64_t *values = new_column(set, size, set->count);
        if (!values)
            return 0;
        memcpy(values, lists[k].values.items, size * sizeof *values);
        set->count *= size;
    }
    return 1;
}

static int rows(const vy_law_instance *q, const edges *lists, vy_law_tuples *set) {
    const int is_ordered = q->equation->premise == VY_LAW_ORDERED;
    /* Order is a matter of neighbours, and of 16 bits all can be had. */
    const int all_pairs = is_ordered && vyre_type_bits(q->operands[0].type) == 16;
    uint64_t state = 0x7679726c617773; /* any seed will do, always the same */
    set->count = all_pairs ? 1u << 16 : VY_LAW_RANDOM;
    for (uint32_t k = 0; k < q->operand_count; k++)
        if (!new_column(set, set->count, 1))
            return 0;
    for (uint64_t i = 0; i < set->count; i++)
        for (uint32_t k = 0; k < q->operand_count; k++) {
            const int is_same = k && q->operands[k].type == q->operands[k - 1].type;
            const uint64_t *before = is_same ? &set->columns[k - 1].values[i] : NULL;
            set->columns[k].values[i] = !all_pairs ? row_value(&lists[k], before, is_ordered, &state)
                                        : k == 0   ? vy_value_canonicalize(q->operands[0].type, i)
                                                   : successor(q->operands[0].type, *before);
        }
    return 1;
}

vyre_status vy_law_choose_inputs(const vy_law_instance *q, const vyre_program *program, vy_law_tuples sets[VY_LAW_SETS],
                                 uint32_t *set_count, vyre_error *error) {
    edges lists[VY_LAW_LIMIT_OPERANDS] = {0};
    unsigned bits = 0;
    int complete = 1;
    vyre_status status = VYRE_OK;
    for (uint32_t k = 0; k < q->operand_count; k++)
        bits += vyre_type_bits(q->operands[k].type);
    sets[0].column_count = sets[1].column_count = 0;
    *set_count = bits <= VY_LAW_EXHAUSTIVE_BITS ? 1 : 2;
    if (*set_count == 1) {
        complete = exhaustive_tuples(q, &sets[0]);
    } else {
        for (uint32_t k = 0; k < q->operand_count && status == VYRE_OK; k++) {
            lists[k].type = q->operands[k].type;
            status = list_edges(&lists[k], q, program, error);
        }
        if (status == VYRE_OK)
            complete = combinations(q, lists, &sets[0]) && rows(q, lists, &sets[1]);
        for (uint32_t k = 0; k < q->operand_count; k++)
            VY_VECTOR_FREE(&lists[k].values);
    }
    if (status == VYRE_OK && !complete)
        status = vy_fail_memory(error, "checking a law");
    for (uint32_t s = 0; s < 2 && status != VYRE_OK; s++)
        vy_law_tuples_free(&sets[s]);
    return status;
}
