/* Lowering of subgroup and workgroup reductions (XOR butterfly of shuffles) and scans (prefix scan in log2 levels), for
 * targets without native ones (PTX), in the canonical order (collectives.h).
 *
 * P(0, i + 1) = T ⊕ P(h, i + 1), where h is the highest one bit of i and T the perfect tree over the h values before.
 * This holds for every i, also for those that end a perfect tree. Level by level, for bit = 1, 2, 4, …, every lane i
 * with that bit set therefore combines, on the left, the value of the last lane of the preceding half: lane (i & ~(2
 * bit - 1)) | (bit - 1). After the levels below w each lane holds the combination from the start of its aligned group
 * of w lanes up to itself. That is the inclusive scan. The exclusive scan is the value of the preceding lane, and a
 * reduction is the value of the last lane. Nothing depends on where a subgroup starts, since widths are powers of two,
 * nor on where the workgroup ends.
 *
 * The lanes that are read end groups of `bit` lanes. So the levels below `block` run in registers, by native shuffles.
 * For the other levels one array element per block suffices, or one lane of every block if the blocks are complete. In
 * an array, the readers of a level have the bit clear where its writers have it set: one barrier per level. The last
 * level writes nothing; it is evaluated for the lane whose result is needed. */
#include "lower/collectives.h"

typedef struct combiner {
    vy_collective_site *meeting;
    vy_collective_lowering *m;
    vyre_type type;
    uint32_t array;
    uint32_t lane;   /* in the block; a leaf, like all that follow */
    uint32_t block;  /* which one */
    uint32_t blocks; /* a count: of the workgroup */
    uint32_t height; /* likewise: of the participants */
    uint32_t sum;    /* the value of this invocation, a variable */
} combiner;

static uint32_t combine(combiner *c, uint32_t a, uint32_t b) {
    return vy_collective_op(c->m, c->meeting->combine, c->type, a, b, VY_NONE);
}

static uint32_t identity(combiner *c) {
    return vy_legalizer_literal(&c->m->rw, c->type, vyre_combine_identity(c->meeting->combine, c->type));
}

/* The last participant of the half before that of participant `place` (a leaf); `members` is the number of
 * participants. */
static uint32_t half_before(vy_collective_lowering *m, uint32_t place, uint32_t bit, uint32_t members) {
    uint32_t end = vy_collective_number(m, bit - 1);
    if (2 * bit >= members)
        return end;
    return vy_collective_u32(m, VYRE_OP_OR,
                             vy_collective_u32(m, VYRE_OP_AND, place, vy_collective_number(m, ~(2 * bit - 1))), end);
}

static uint32_t power_of_two_from(uint32_t n) {
    uint32_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

static uint32_t log2_of(uint32_t power) {
    uint32_t log2 = 0;
    while (power >> log2 > 1)
        log2++;
    return log2;
}

/* sum = left ⊕ sum if the condition holds. */
static void take_left(combiner *c, uint32_t condition, uint32_t left) {
    vy_collective_if(c->m, condition);
    vy_collective_assign(c->m, c->sum, combine(c, left, c->sum));
    vy_collective_end(c->m);
}

/* ---- in registers ---- */

/* An inclusive scan of groups of `width` lanes. A lane that needs no other value reads from an existing lane, itself
 * or a lower one. */
static void scan_lanes(combiner *c, uint32_t width) {
    vy_collective_lowering *m = c->m;
    int is_short = m->count % m->block != 0;
    for (uint32_t bit = 1; bit < width; bit *= 2) {
        uint32_t from = half_before(m, c->lane, bit, m->block);
        if (is_short)
            from = vy_collective_u32(m, VYRE_OP_MIN, from, c->lane);
        uint32_t left = vy_collective_let(m, "left", vy_collective_shuffle(m, c->type, c->sum, from));
        take_left(c, vy_collective_has(m, c->lane, bit), left);
    }
}

/* A reduction in groups of `width` lanes, after which each lane has the result: the two halves exchange their sums.
 * The combining ops commute, to the bit. `last` is the last existing lane in this lane's group (VY_NONE: the groups
 * are complete); it replaces lanes of a half that do not exist. */
static void reduce_lanes(combiner *c, uint32_t width, uint32_t last) {
    vy_collective_lowering *m = c->m;
    for (uint32_t bit = 1; bit < width; bit *= 2) {
        uint32_t other =
            vy_collective_let(m, "other", vy_collective_u32(m, VYRE_OP_XOR, c->lane, vy_collective_number(m, bit)));
        uint32_t from = last == VY_NONE ? other : vy_collective_u32(m, VYRE_OP_MIN, other, last);
        uint32_t half = vy_collective_let(m, "half", vy_collective_shuffle(m, c->type, c->sum, from));
        if (last == VY_NONE) {
            vy_collective_assign(m, c->sum, combine(c, c->sum, half));
            continue;
        }
        uint32_t start =
            bit == 1 ? other : vy_collective_u32(m, VYRE_OP_AND, other, vy_collective_number(m, ~(bit - 1)));
        vy_collective_if(m, vy_collective_test(m, VYRE_OP_LE, start, last));
        vy_collective_assign(m, c->sum, combine(c, c->sum, half));
        vy_collective_end(m);
    }
}

/* The last existing lane in a group of `width` lanes of a block, or VY_NONE if all exist. */
static uint32_t last_lane(combiner *c, uint32_t width) {
    vy_collective_lowering *m = c->m;
    if (m->count % width == 0)
        return VY_NONE;
    uint32_t group_end = vy_collective_u32(m, VYRE_OP_OR, c->lane, vy_collective_number(m, width - 1));
    uint32_t start = vy_collective_u32(m, VYRE_OP_SUB, c->meeting->index, c->lane);
    uint32_t existing = vy_collective_u32(m, VYRE_OP_SUB, vy_collective_number(m, m->count - 1), start);
    return vy_collective_let(m, "last", vy_collective_u32(m, VYRE_OP_MIN, group_end, existing));
}

/* The sum of the preceding lane; the first lane reads its own. */
static uint32_t lane_before(combiner *c) {
    vy_collective_lowering *m = c->m;
    uint32_t lane = vy_collective_u32(m, VYRE_OP_MAX, c->lane, vy_collective_number(m, 1));
    lane = vy_collective_u32(m, VYRE_OP_SUB, lane, vy_collective_number(m, 1));
    return vy_collective_let(m, "before", vy_collective_shuffle(m, c->type, c->sum, lane));
}

/* The index of this invocation among the participants. */
static uint32_t place_in_group(combiner *c) {
    uint32_t width = c->meeting->width;
    return width == c->m->count
               ? c->meeting->index
               : vy_collective_u32(c->m, VYRE_OP_AND, c->meeting->index, vy_collective_number(c->m, width - 1));
}

/* The identity for the first participant, else `tree`. */
static uint32_t or_identity(combiner *c, uint32_t tree) {
    uint32_t is_first = vy_collective_test(c->m, VYRE_OP_EQ, place_in_group(c), vy_collective_number(c->m, 0));
    return vy_collective_op(c->m, VYRE_OP_SELECT, c->type, is_first, identity(c), tree);
}

/* All participants are in one block. */
static uint32_t combine_in_block(combiner *c) {
    uint32_t width = power_of_two_from(c->meeting->width);
    if (width == 1)
        return c->meeting->kind == VYRE_COLLECTIVE_SCAN_EXCLUSIVE ? identity(c) : c->sum;
    if (c->meeting->kind == VYRE_COLLECTIVE_REDUCE) {
        reduce_lanes(c, width, last_lane(c, width));
        return c->sum;
    }
    scan_lanes(c, width);
    return c->meeting->kind == VYRE_COLLECTIVE_SCAN_EXCLUSIVE ? or_identity(c, lane_before(c)) : c->sum;
}

/* ---- across blocks ---- */

static uint32_t element(combiner *c, uint32_t index) {
    return vy_collective_load(c->m, c->array, c->type, index);
}

/* The last lane of each block stores its sum. */
static void publish(combiner *c) {
    vy_collective_lowering *m = c->m;
    if (m->block == 1) {
        vy_collective_store(m, c->array, c->block, c->sum);
        return;
    }
    uint32_t ends = vy_collective_test(m, VYRE_OP_EQ, c->lane, vy_collective_number(m, m->block - 1));
    if (m->count % m->block != 0)
        ends = vy_collective_op(
            m, VYRE_OP_LOR, VYRE_TYPE_BOOL, ends,
            vy_collective_test(m, VYRE_OP_EQ, c->meeting->index, vy_collective_number(m, m->count - 1)), VY_NONE);
    vy_collective_if(m, ends);
    vy_collective_store(m, c->array, c->block, c->sum);
    vy_collective_end(m);
}

/* All levels but the last; afterwards the array has the sums of the blocks. */
static uint32_t array_levels(combiner *c) {
    vy_collective_lowering *m = c->m;
    uint32_t bit;
    c->array = vy_collective_open(m, c->array);
    publish(c);
    vy_collective_barrier(m);
    for (bit = 1; 2 * bit < c->height; bit *= 2) {
        vy_collective_if(m, vy_collective_has(m, c->block, bit));
        uint32_t left = vy_collective_let(m, "left", element(c, half_before(m, c->block, bit, c->blocks)));
        vy_collective_assign(m, c->sum, combine(c, left, c->sum));
        publish(c);
        vy_collective_end(m);
        vy_collective_barrier(m);
    }
    return bit;
}

/* The last level, for the lane whose block is `asked` (a leaf) and whose sum was `sum`. */
static void last_level(combiner *c, uint32_t asked, uint32_t bit, int has_bit) {
    uint32_t left = element(c, half_before(c->m, asked, bit, c->blocks));
    if (has_bit)
        vy_collective_assign(c->m, c->sum, combine(c, left, c->sum));
    else
        take_left(c, vy_collective_has(c->m, asked, bit), left);
}

static void reduce_last(combiner *c, uint32_t bit) {
    vy_collective_lowering *m = c->m;
    uint32_t last = vy_collective_number(m, c->blocks - 1);
    int is_whole = c->height == c->blocks || m->count % c->meeting->width == 0;
    if (c->height != c->blocks) {
        uint32_t group_end = vy_collective_u32(m, VYRE_OP_OR, c->block, vy_collective_number(m, c->height - 1));
        last = vy_collective_let(m, "last", is_whole ? group_end : vy_collective_u32(m, VYRE_OP_MIN, group_end, last));
    }
    vy_collective_assign(m, c->sum, element(c, last));
    last_level(c, last, bit, is_whole);
}

/* The preceding lane is in this block, or, for the first lane, in the block before. */
static void exclusive_last(combiner *c, uint32_t bit) {
    vy_collective_lowering *m = c->m;
    uint32_t one = vy_collective_number(m, 1), before = m->block == 1 ? VY_NONE : lane_before(c);
    uint32_t is_first = vy_collective_test(m, VYRE_OP_EQ, c->lane, vy_collective_number(m, 0));
    if (m->block != 1)
        is_first = vy_collective_let(m, "first", is_first);
    vy_collective_assign(m, c->sum, identity(c));
    vy_collective_if(m, vy_collective_test(m, VYRE_OP_NE, place_in_group(c), vy_collective_number(m, 0)));
    uint32_t asked = vy_collective_u32(m, VYRE_OP_SUB, c->block, one);
    if (m->block != 1)
        asked = vy_collective_op(m, VYRE_OP_SELECT, VYRE_TYPE_U32, is_first, asked, c->block);
    asked = vy_collective_let(m, "asked", asked);
    uint32_t held = element(c, asked);
    if (m->block != 1)
        held = vy_collective_op(m, VYRE_OP_SELECT, c->type, is_first, held, before);
    vy_collective_assign(m, c->sum, held);
    last_level(c, asked, bit, 0);
    vy_collective_end(m);
}

static void combine_through_array(combiner *c) {
    uint32_t bit = array_levels(c);
    if (c->meeting->kind == VYRE_COLLECTIVE_REDUCE)
        reduce_last(c, bit);
    else if (c->meeting->kind == VYRE_COLLECTIVE_SCAN_INCLUSIVE)
        last_level(c, c->block, bit, 0);
    else
        exclusive_last(c, bit);
    vy_collective_close(c->m, c->array);
}

/* ---- across blocks, in registers: one lane per block ---- */

/* The lanes of a block form groups with one lane per block. Surplus lanes do the same as the last lane of their
 * group. */
static void reduce_blocks(combiner *c) {
    vy_collective_lowering *m = c->m;
    uint32_t group = power_of_two_from(c->blocks), last = VY_NONE, place = c->lane;
    if (group != c->blocks) {
        last = vy_collective_number(m, c->blocks - 1);
        if (group < m->block) {
            uint32_t start = vy_collective_u32(m, VYRE_OP_AND, c->lane, vy_collective_number(m, ~(group - 1)));
            last = vy_collective_let(m, "last", vy_collective_u32(m, VYRE_OP_OR, start, last));
        }
        place = c->lane = vy_collective_let(m, "member", vy_collective_u32(m, VYRE_OP_MIN, c->lane, last));
    }
    if (group < m->block)
        place = vy_collective_u32(m, VYRE_OP_AND, place, vy_collective_number(m, group - 1));
    vy_collective_assign(m, c->sum, element(c, place));
    reduce_lanes(c, group, last);
}

/* Lane j reads the sum of block j, and extends it to the largest perfect tree that ends there. Every lane then folds
 * the trees before its block into its sum. */
static void scan_blocks(combiner *c, uint32_t asked) {
    vy_collective_lowering *m = c->m;
    uint32_t mine = vy_collective_u32(m, VYRE_OP_MIN, c->lane, vy_collective_number(m, c->blocks - 1));
    uint32_t tree = vy_collective_var(m, "tree", element(c, mine));
    for (uint32_t bit = 1; bit < c->blocks; bit *= 2) {
        uint32_t from = half_before(m, asked, bit, c->blocks);
        uint32_t left = vy_collective_let(m, "left", vy_collective_shuffle(m, c->type, tree, from));
        take_left(c, vy_collective_has(m, asked, bit), left);
        if (2 * bit >= c->blocks)
            continue;
        from = vy_collective_u32(m, VYRE_OP_MAX, c->lane, vy_collective_number(m, bit));
        from = vy_collective_u32(m, VYRE_OP_SUB, from, vy_collective_number(m, bit));
        uint32_t half = vy_collective_let(m, "half", vy_collective_shuffle(m, c->type, tree, from));
        uint32_t place = vy_collective_u32(m, VYRE_OP_AND, c->lane, vy_collective_number(m, 2 * bit - 1));
        vy_collective_if(m, vy_collective_test(m, VYRE_OP_EQ, place, vy_collective_number(m, 2 * bit - 1)));
        vy_collective_assign(m, tree, combine(c, half, tree));
        vy_collective_end(m);
    }
}

/* As in exclusive_last; the very first lane reads an existing element. */
static uint32_t exclusive_blocks(combiner *c) {
    vy_collective_lowering *m = c->m;
    uint32_t before = lane_before(c), one = vy_collective_number(m, 1);
    uint32_t is_first =
        vy_collective_let(m, "first", vy_collective_test(m, VYRE_OP_EQ, c->lane, vy_collective_number(m, 0)));
    uint32_t asked = vy_collective_u32(m, VYRE_OP_SUB, vy_collective_u32(m, VYRE_OP_MAX, c->block, one), one);
    asked =
        vy_collective_let(m, "asked", vy_collective_op(m, VYRE_OP_SELECT, VYRE_TYPE_U32, is_first, asked, c->block));
    vy_collective_assign(m, c->sum, vy_collective_op(m, VYRE_OP_SELECT, c->type, is_first, element(c, asked), before));
    scan_blocks(c, asked);
    return or_identity(c, c->sum);
}

static uint32_t combine_blocks(combiner *c) {
    uint32_t result = c->sum;
    c->array = vy_collective_open(c->m, c->array);
    publish(c);
    vy_collective_barrier(c->m);
    if (c->meeting->kind == VYRE_COLLECTIVE_REDUCE)
        reduce_blocks(c);
    else if (c->meeting->kind == VYRE_COLLECTIVE_SCAN_INCLUSIVE)
        scan_blocks(c, c->block);
    else
        result = exclusive_blocks(c);
    vy_collective_close(c->m, c->array);
    return result;
}

/* ---- entry point ---- */

uint32_t vy_collective_combine(vy_collective_site *meeting) {
    vy_collective_lowering *m = meeting->m;
    combiner c = {.meeting = meeting,
                  .m = m,
                  .type = meeting->type,
                  .array = (uint32_t)meeting->type,
                  .blocks = (m->count + m->block - 1) / m->block,
                  .height = (meeting->width + m->block - 1) / m->block};
    c.sum = vy_collective_var(m, "sum", meeting->value);
    c.lane = m->block == 1 ? vy_collective_number(m, 0) : vy_collective_lane(meeting);
    if (vy_collective_in_block(m, meeting->width))
        return combine_in_block(&c);
    c.block = meeting->index;
    if (m->block > 1)
        c.block = vy_collective_let(
            m, "block", vy_collective_u32(m, VYRE_OP_SHR, meeting->index, vy_collective_number(m, log2_of(m->block))));
    if (m->block > 1 && meeting->kind == VYRE_COLLECTIVE_REDUCE)
        reduce_lanes(&c, m->block, last_lane(&c, m->block));
    else if (m->block > 1)
        scan_lanes(&c, m->block);
    if (vy_collective_fits_lanes(m, meeting->width))
        return combine_blocks(&c);
    combine_through_array(&c);
    return c.sum;
}
