/* Lowering of subgroup and workgroup votes, broadcasts and shuffles (collectives.h), and of moving a value between
 * lanes of the hardware. */
#include "lower/collectives.h"

/* ---- lanes of the hardware ---- */

uint32_t vy_collective_lane(vy_collective_site *meeting) {
    vy_collective_lowering *m = meeting->m;
    return m->count <= m->block ? meeting->index
                                : vy_collective_let(m, "lane",
                                                    vy_collective_u32(m, VYRE_OP_AND, meeting->index,
                                                                      vy_collective_number(m, m->block - 1)));
}

/* 32 bits. */
static uint32_t native_shuffle(vy_collective_lowering *m, uint32_t value, uint32_t lane) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_COLLECTIVE);
    vyre_type type = vy_legalizer_type(&m->rw, value);
    vy_irb *draft = &m->rw.copy.draft;
    vy_symbol name = vy_legalizer_name(&m->rw, "moved");
    stmt.op = VYRE_COLLECTIVE_NATIVE_SHUFFLE;
    stmt.width = (uint8_t)m->block;
    stmt.result_count = 1;
    stmt.a = vy_legalizer_append(&m->rw, value);
    stmt.b = vy_legalizer_append(&m->rw, lane);
    if (draft->failed)
        return VY_NONE;
    uint32_t made = vy_irb_stmt(draft, &stmt, NULL, 0, &name, &type);
    return made == VY_NONE ? VY_NONE : vy_legalizer_variable(&m->rw, vy_stmt_at(draft->program, made)->variable);
}

static uint32_t cast(vy_collective_lowering *m, vyre_type type, uint32_t tree) {
    return vy_collective_op(m, VYRE_OP_CAST, type, tree, VY_NONE, VY_NONE);
}

static uint32_t bitcast(vy_collective_lowering *m, vyre_type type, uint32_t tree) {
    return vy_collective_op(m, VYRE_OP_BITCAST, type, tree, VY_NONE, VY_NONE);
}

/* 64 bits, as two halves. */
static uint32_t shuffle_wide(vy_collective_lowering *m, vyre_type type, uint32_t value, uint32_t lane) {
    uint32_t shift = vy_legalizer_literal(&m->rw, VYRE_TYPE_U64, 32);
    uint32_t from = vy_collective_let(m, "from", lane);
    uint32_t bits = type == VYRE_TYPE_U64   ? value
                    : type == VYRE_TYPE_I64 ? cast(m, VYRE_TYPE_U64, value)
                                            : bitcast(m, VYRE_TYPE_U64, value);
    bits = vy_collective_let(m, "bits", bits);
    uint32_t low = native_shuffle(m, cast(m, VYRE_TYPE_U32, bits), vy_legalizer_reuse(&m->rw, from));
    uint32_t high = vy_collective_op(m, VYRE_OP_SHR, VYRE_TYPE_U64, bits, shift, VY_NONE);
    high = native_shuffle(m, cast(m, VYRE_TYPE_U32, high), vy_legalizer_reuse(&m->rw, from));
    high = vy_collective_op(m, VYRE_OP_SHL, VYRE_TYPE_U64, cast(m, VYRE_TYPE_U64, high), shift, VY_NONE);
    bits = vy_collective_op(m, VYRE_OP_OR, VYRE_TYPE_U64, high, cast(m, VYRE_TYPE_U64, low), VY_NONE);
    return type == VYRE_TYPE_U64 ? bits : type == VYRE_TYPE_I64 ? cast(m, type, bits) : bitcast(m, type, bits);
}

/* Narrow values are moved in 32 bits of the same value; the casts are exact. */
static vyre_type moved_type(vyre_type type) {
    switch (vyre_type_class(type)) {
    case VYRE_CLASS_FLOAT:
        return VYRE_TYPE_F32;
    case VYRE_CLASS_SIGNED:
        return VYRE_TYPE_I32;
    default:
        return VYRE_TYPE_U32;
    }
}

uint32_t vy_collective_shuffle(vy_collective_lowering *m, vyre_type type, uint32_t value, uint32_t lane) {
    vyre_type moved = moved_type(type);
    if (m->block == 1)
        return value;
    if (value == VY_NONE || lane == VY_NONE)
        return VY_NONE;
    if (vyre_type_bits(type) == 64)
        return shuffle_wide(m, type, value, lane);
    if (type == moved)
        return native_shuffle(m, vy_legalizer_reuse(&m->rw, value), lane);
    uint32_t result = native_shuffle(m, cast(m, moved, value), lane);
    return type == VYRE_TYPE_BOOL ? vy_collective_unpack(m, type, result) : cast(m, type, result);
}

/* ---- broadcasts and shuffles ---- */

/* The lane that a value comes from, and whether it exists. */
typedef struct source {
    uint32_t lane;   /* among the participants */
    uint32_t exists; /* a leaf; VY_NONE: always */
} source;

/* The number of participants, and the index of this invocation among them. */
static void find_place(vy_collective_site *meeting, uint32_t *place, uint32_t *members) {
    vy_collective_lowering *m = meeting->m;
    uint32_t width = meeting->width;
    *place = meeting->index;
    *members = vy_collective_number(m, width);
    if (width == m->count)
        return;
    *place = vy_collective_let(m, "place",
                               vy_collective_u32(m, VYRE_OP_AND, meeting->index, vy_collective_number(m, width - 1)));
    if (m->count % width == 0)
        return;
    uint32_t start = vy_collective_u32(m, VYRE_OP_SUB, meeting->index, *place);
    uint32_t left = vy_collective_u32(m, VYRE_OP_SUB, vy_collective_number(m, m->count), start);
    *members = vy_collective_let(m, "members", vy_collective_u32(m, VYRE_OP_MIN, *members, left));
}

/* Whether the second operand is a number that is a lane of every complete group, or a distance to a lane that always
 * exists. */
static int always_exists(const vy_collective_site *meeting) {
    const vy_collective_lowering *m = meeting->m;
    uint32_t width = meeting->width;
    uint64_t asked;
    if (!vy_legalizer_is_literal(&m->rw, meeting->operand, &asked) || asked >= width || m->count % width != 0)
        return 0;
    switch (meeting->kind) {
    case VYRE_COLLECTIVE_BROADCAST:
    case VYRE_COLLECTIVE_SHUFFLE:
        return 1;
    case VYRE_COLLECTIVE_SHUFFLE_XOR:
        return (width & (width - 1)) == 0;
    default:
        return 0;
    }
}

/* Does not wrap: operands are compared before they are added. */
static source source_of(vy_collective_site *meeting, uint32_t place, uint32_t members) {
    vy_collective_lowering *m = meeting->m;
    uint32_t asked = meeting->operand;
    source from = {VY_NONE, VY_NONE};
    switch (meeting->kind) {
    case VYRE_COLLECTIVE_SHUFFLE_XOR:
        asked = vy_collective_let(m, "other", vy_collective_u32(m, VYRE_OP_XOR, place, asked));
        break;
    case VYRE_COLLECTIVE_SHUFFLE_UP:
        from.lane = vy_collective_u32(m, VYRE_OP_SUB, place, asked);
        from.exists = vy_collective_test(m, VYRE_OP_LE, asked, place);
        break;
    case VYRE_COLLECTIVE_SHUFFLE_DOWN:
        from.lane = vy_collective_u32(m, VYRE_OP_ADD, place, asked);
        from.exists = vy_collective_test(m, VYRE_OP_LT, asked, vy_collective_u32(m, VYRE_OP_SUB, members, place));
        break;
    default:
        break;
    }
    if (from.exists == VY_NONE) {
        from.lane = asked;
        from.exists = vy_collective_test(m, VYRE_OP_LT, asked, members);
    }
    from.exists = always_exists(meeting) ? VY_NONE : vy_collective_let(m, "exists", from.exists);
    return from;
}

static uint32_t or_zero(vy_collective_site *meeting, uint32_t exists, uint32_t tree) {
    vy_collective_lowering *m = meeting->m;
    if (exists == VY_NONE)
        return tree;
    return vy_collective_op(m, VYRE_OP_SELECT, meeting->type, exists, tree,
                            vy_legalizer_literal(&m->rw, meeting->type, 0));
}

/* One invocation of the workgroup stores its value for all. */
static uint32_t broadcast_through_array(vy_collective_site *meeting) {
    vy_collective_lowering *m = meeting->m;
    vyre_type type = meeting->type;
    uint32_t array = type == VYRE_TYPE_BOOL ? VYRE_TYPE_U32 : type, zero = vy_collective_number(m, 0);
    array = vy_collective_open(m, array);
    vy_collective_if(m, vy_collective_test(m, VYRE_OP_EQ, meeting->index, meeting->operand));
    vy_collective_store(m, array, zero, vy_collective_pack(m, meeting->value));
    vy_collective_end(m);
    vy_collective_barrier(m);
    uint32_t element = vy_collective_unpack(m, type, vy_collective_load(m, array, type, zero));
    vy_collective_close(m, array);
    if (always_exists(meeting))
        return element;
    /* An element that was not stored is not read. */
    uint32_t sent = vy_collective_var(m, "sent", vy_legalizer_literal(&m->rw, type, 0));
    vy_collective_if(m, vy_collective_test(m, VYRE_OP_LT, meeting->operand, vy_collective_number(m, meeting->width)));
    vy_collective_assign(m, sent, element);
    vy_collective_end(m);
    return sent;
}

uint32_t vy_collective_move(vy_collective_site *meeting) {
    vy_collective_lowering *m = meeting->m;
    vyre_type type = meeting->type;
    int in_block = vy_collective_in_block(m, meeting->width);
    uint32_t place, members, array = type == VYRE_TYPE_BOOL ? VYRE_TYPE_U32 : type;
    if (meeting->kind == VYRE_COLLECTIVE_BROADCAST && meeting->width == m->count && !in_block)
        return broadcast_through_array(meeting);
    find_place(meeting, &place, &members);
    source from = source_of(meeting, place, members);
    /* A lane that does not exist is replaced by this one. */
    uint32_t lane = from.lane;
    if (from.exists != VY_NONE)
        lane =
            vy_collective_let(m, "from", vy_collective_op(m, VYRE_OP_SELECT, VYRE_TYPE_U32, from.exists, lane, place));
    uint32_t start = in_block ? vy_collective_lane(meeting) : meeting->index;
    if (meeting->width != m->count)
        lane = vy_collective_u32(m, VYRE_OP_ADD, vy_collective_u32(m, VYRE_OP_SUB, start, place), lane);
    if (in_block)
        return or_zero(meeting, from.exists,
                       vy_collective_let(m, "sent", vy_collective_shuffle(m, type, meeting->value, lane)));
    array = vy_collective_open(m, array);
    vy_collective_store(m, array, meeting->index, vy_collective_pack(m, meeting->value));
    vy_collective_barrier(m);
    uint32_t sent =
        vy_collective_let(m, "sent", vy_collective_unpack(m, type, vy_collective_load(m, array, type, lane)));
    vy_collective_close(m, array);
    return or_zero(meeting, from.exists, sent);
}

/* ---- votes ---- */

/* Of `width` participants: the bit of an index among the first or second 32, if it votes. */
static uint32_t vote_bit(vy_collective_lowering *m, uint32_t place, uint32_t votes, int is_high) {
    uint32_t bit = vy_collective_u32(m, VYRE_OP_SHL, vy_collective_number(m, 1),
                                     vy_collective_u32(m, VYRE_OP_AND, place, vy_collective_number(m, 31)));
    uint32_t is_there = vy_collective_test(m, is_high ? VYRE_OP_GE : VYRE_OP_LT, place, vy_collective_number(m, 32));
    uint32_t is_set = vy_collective_op(m, VYRE_OP_LAND, VYRE_TYPE_BOOL, votes, is_there, VY_NONE);
    return vy_collective_op(m, VYRE_OP_SELECT, VYRE_TYPE_U32, is_set, bit, vy_collective_number(m, 0));
}

static uint32_t reduce_words(const vy_collective_site *meeting, vyre_op op, uint32_t word) {
    vy_collective_site words = *meeting;
    words.kind = VYRE_COLLECTIVE_REDUCE;
    words.combine = op;
    words.type = VYRE_TYPE_U32;
    words.value = vy_collective_let(meeting->m, "word", word);
    return vy_collective_let(meeting->m, "votes", vy_collective_combine(&words));
}

/* Two words as one. */
static uint32_t join(vy_collective_lowering *m, uint32_t low, uint32_t high) {
    uint32_t wide = cast(m, VYRE_TYPE_U64, low);
    if (high == VY_NONE)
        return wide;
    high = vy_collective_op(m, VYRE_OP_SHL, VYRE_TYPE_U64, cast(m, VYRE_TYPE_U64, high),
                            vy_legalizer_literal(&m->rw, VYRE_TYPE_U64, 32), VY_NONE);
    return vy_collective_op(m, VYRE_OP_OR, VYRE_TYPE_U64, high, wide, VY_NONE);
}

static uint32_t ballot_in_block(vy_collective_site *meeting) {
    vy_collective_lowering *m = meeting->m;
    uint32_t place, members, high = VY_NONE;
    find_place(meeting, &place, &members);
    uint32_t low = reduce_words(meeting, VYRE_OP_OR, vote_bit(m, place, meeting->value, 0));
    if (meeting->width > 32)
        high = reduce_words(meeting, VYRE_OP_OR, vote_bit(m, place, meeting->value, 1));
    return join(m, low, high);
}

static void atomic_or(vy_collective_lowering *m, uint32_t array, uint32_t index, uint32_t value) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_ATOMIC);
    stmt.op = VYRE_ATOMIC_OR;
    stmt.order = VYRE_ORDER_RELAXED;
    stmt.scope = VYRE_SCOPE_WORKGROUP;
    stmt.bounds_check = VY_BOUNDS_UNCHECKED;
    stmt.memory = m->arrays[array];
    stmt.a = vy_legalizer_append(&m->rw, index);
    stmt.b = vy_legalizer_append(&m->rw, value);
    vy_irb_stmt(&m->rw.copy.draft, &stmt, NULL, 0, NULL, NULL);
}

/* Whether a single vote for all suffices. */
static int is_one_vote(const vy_collective_lowering *m, vyre_collective kind, uint32_t width) {
    return width == m->count && kind != VYRE_COLLECTIVE_BALLOT;
}

uint32_t vy_collective_vote_words(const vy_collective_lowering *m, vyre_collective kind, uint32_t width) {
    if (is_one_vote(m, kind, width))
        return 1;
    return width > 32 ? (m->count + 63) / 64 * 2 : (m->count + 31) / 32;
}

/* Sets the bit of each invocation that votes: bit i of the array, or one bit for all. */
static void cast_votes(vy_collective_site *meeting, uint32_t array, uint32_t votes, int is_one) {
    vy_collective_lowering *m = meeting->m;
    uint32_t words = vy_collective_vote_words(m, meeting->kind, meeting->width);
    vy_collective_if(m, vy_collective_test(m, VYRE_OP_LT, meeting->index, vy_collective_number(m, words)));
    vy_collective_store(m, array, meeting->index, vy_collective_number(m, 0));
    vy_collective_end(m);
    vy_collective_barrier(m);
    vy_collective_if(m, votes);
    if (is_one)
        atomic_or(m, array, vy_collective_number(m, 0), vy_collective_number(m, 1));
    else
        atomic_or(m, array, vy_collective_u32(m, VYRE_OP_SHR, meeting->index, vy_collective_number(m, 5)),
                  vy_collective_u32(m, VYRE_OP_SHL, vy_collective_number(m, 1),
                                    vy_collective_u32(m, VYRE_OP_AND, meeting->index, vy_collective_number(m, 31))));
    vy_collective_end(m);
    vy_collective_barrier(m);
}

static uint32_t word(vy_collective_lowering *m, uint32_t array, uint32_t index) {
    return vy_collective_let(m, "word", vy_collective_load(m, array, VYRE_TYPE_U32, index));
}

/* The votes of a subgroup of at most 32 lanes, in the low bits of a word. */
static uint32_t narrow_votes(vy_collective_site *meeting, uint32_t array) {
    vy_collective_lowering *m = meeting->m;
    uint32_t width = meeting->width;
    if (width == m->count)
        return word(m, array, vy_collective_number(m, 0));
    uint32_t votes = word(m, array, vy_collective_u32(m, VYRE_OP_SHR, meeting->index, vy_collective_number(m, 5)));
    if (width == 32)
        return votes;
    uint32_t start = vy_collective_u32(m, VYRE_OP_AND, meeting->index, vy_collective_number(m, 31 & ~(width - 1)));
    votes = vy_collective_u32(m, VYRE_OP_SHR, votes, start);
    return vy_collective_let(m, "votes",
                             vy_collective_u32(m, VYRE_OP_AND, votes, vy_collective_number(m, (1u << width) - 1)));
}

static uint32_t vote_through_array(vy_collective_site *meeting) {
    vy_collective_lowering *m = meeting->m;
    int is_one = is_one_vote(m, meeting->kind, meeting->width), is_wide = !is_one && meeting->width > 32;
    int is_all = meeting->kind == VYRE_COLLECTIVE_ALL;
    uint32_t low, high = VY_NONE, votes = meeting->value, zero = vy_collective_number(m, 0);
    uint32_t array = vy_collective_open(m, VY_COLLECTIVE_LOWER_VOTES);
    if (is_all) /* no invocation votes against */
        votes = vy_collective_op(m, VYRE_OP_LNOT, VYRE_TYPE_BOOL, votes, VY_NONE, VY_NONE);
    cast_votes(meeting, array, votes, is_one);
    if (is_wide) {
        uint32_t pair = vy_collective_u32(m, VYRE_OP_SHR, meeting->index, vy_collective_number(m, 6));
        pair = vy_collective_let(m, "pair", vy_collective_u32(m, VYRE_OP_SHL, pair, vy_collective_number(m, 1)));
        low = word(m, array, pair);
        high = word(m, array, vy_collective_u32(m, VYRE_OP_OR, pair, vy_collective_number(m, 1)));
    } else {
        low = is_one ? word(m, array, zero) : narrow_votes(meeting, array);
    }
    vy_collective_close(m, array);
    if (meeting->kind == VYRE_COLLECTIVE_BALLOT)
        return join(m, low, high);
    if (is_wide)
        low = vy_collective_u32(m, VYRE_OP_OR, low, high);
    return vy_collective_test(m, is_all ? VYRE_OP_EQ : VYRE_OP_NE, low, zero);
}

uint32_t vy_collective_vote(vy_collective_site *meeting) {
    vy_collective_lowering *m = meeting->m;
    int in_block = vy_collective_in_block(m, meeting->width);
    if (meeting->kind == VYRE_COLLECTIVE_BALLOT)
        return in_block ? ballot_in_block(meeting) : vote_through_array(meeting);
    if (!in_block && !vy_collective_fits_lanes(m, meeting->width))
        return vote_through_array(meeting);
    vyre_op op = meeting->kind == VYRE_COLLECTIVE_ANY ? VYRE_OP_OR : VYRE_OP_AND;
    uint32_t votes = reduce_words(meeting, op, cast(m, VYRE_TYPE_U32, meeting->value));
    return vy_collective_test(m, VYRE_OP_NE, votes, vy_collective_number(m, 0));
}
