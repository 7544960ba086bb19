/* Collectives over the workgroup and over subgroups: reductions, scans and broadcasts, in the frame's memory or by
 * shuffles. Invariant: floats are combined in the canonical order (docs/bits.md). */
#include "emit/llvm/emitter.h"

#include "ir/op_tables.h"

typedef struct collective_site {
    const vy_stmt *s;
    vyre_type type;      /* of the operand */
    LLVMTypeRef element; /* its type in memory */
    uint64_t size;
    uint32_t width;             /* subgroup width; for the whole workgroup its size */
    uint64_t operands, results; /* offsets into the frame's memory */
} collective_site;

static int collective_in_register(vy_emitter *e, const collective_site *m);

/* ---- in memory ---- The operands of all invocations are stored contiguously in the frame's memory, in the order of
 * their local index; then every gang loads the elements that it needs. One loop combines them in the canonical
 * order: the values so far are blocks of powers of two, as in a binary counter, and their combination, from the
 * shortest block to the longest, is the prefix. Integer combinations do not depend on the order, and use a faster
 * algorithm. */

#define B e->builder

/* ---- addresses ---- */

static LLVMValueRef spill_at(vy_emitter *e, uint64_t offset, LLVMValueRef index, uint64_t size) {
    LLVMTypeRef i64 = vy_llvm_int(e, 64);
    LLVMValueRef wide = LLVMBuildZExt(B, index, vy_llvm_is_lanes(index) ? vy_llvm_lanes(e, i64) : i64, "");
    LLVMValueRef by = vy_llvm_number(e, 64, size), from = vy_llvm_number(e, 64, offset);
    if (vy_llvm_is_lanes(index)) {
        by = vy_llvm_splat(e, by);
        from = vy_llvm_splat(e, from);
    }
    return vy_llvm_offset_pointer(e, e->spill, LLVMBuildAdd(B, LLVMBuildMul(B, wide, by, ""), from, ""));
}

/* Bools are bytes in memory. */
static LLVMValueRef to_memory(vy_emitter *e, const collective_site *m, LLVMValueRef value) {
    LLVMTypeRef type = vy_llvm_is_lanes(value) ? vy_llvm_lanes(e, m->element) : m->element;
    return m->type == VYRE_TYPE_BOOL ? LLVMBuildZExt(B, value, type, "") : value;
}

static LLVMValueRef from_memory(vy_emitter *e, const collective_site *m, LLVMValueRef value) {
    (void)e;
    return m->type == VYRE_TYPE_BOOL ? LLVMBuildICmp(B, LLVMIntNE, value, LLVMConstNull(LLVMTypeOf(value)), "") : value;
}

static LLVMValueRef first_of_chunk(vy_emitter *e) {
    return LLVMBuildMul(B, e->gang, vy_llvm_number(e, 32, e->width), "");
}

static void lay_down(vy_emitter *e, const void *user) {
    const collective_site *m = user;
    LLVMValueRef value = to_memory(e, m, vy_llvm_expr_lanes(e, m->s->a));
    LLVMSetAlignment(LLVMBuildStore(B, value, spill_at(e, m->operands, first_of_chunk(e), m->size)), 1);
}

static LLVMValueRef element_at(vy_emitter *e, const collective_site *m, uint64_t place, LLVMValueRef index) {
    LLVMValueRef load = LLVMBuildLoad2(B, m->element, spill_at(e, place, index, m->size), "");
    LLVMSetAlignment(load, (unsigned)m->size);
    return load;
}

/* Gathers lanes from any indices; zero where `valid` is false. */
static LLVMValueRef take(vy_emitter *e, const collective_site *m, uint64_t place, LLVMValueRef index,
                         LLVMValueRef valid) {
    LLVMTypeRef lanes = vy_llvm_lanes(e, m->element);
    LLVMValueRef at = spill_at(e, place, index, m->size);
    LLVMTypeRef types[2] = {lanes, LLVMTypeOf(at)};
    LLVMValueRef args[4] = {at, vy_llvm_number(e, 32, m->size), valid, LLVMConstNull(lanes)};
    return vy_llvm_intrinsic(e, "llvm.masked.gather", types, 2, args, 4);
}

/* ---- loops over single invocations ---- */

typedef struct counter {
    LLVMBasicBlockRef head, exit;
    LLVMValueRef index;
} counter;

static counter count_from(vy_emitter *e, LLVMValueRef from) {
    counter c = {vy_llvm_block(e, "each"), vy_llvm_block(e, "each_end"), NULL};
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B);
    vy_llvm_continue_at(e, c.head);
    c.index = LLVMBuildPhi(B, vy_llvm_int(e, 32), "at");
    LLVMAddIncoming(c.index, &from, &before, 1);
    return c;
}

static void count_to(vy_emitter *e, counter *c, LLVMValueRef next, LLVMValueRef goes_on) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(B);
    LLVMAddIncoming(c->index, &next, &here, 1);
    LLVMBuildCondBr(B, goes_on, c->head, c->exit);
    vy_llvm_position_at(e, c->exit);
}

/* ---- combining ---- */

/* The blocks of the values so far: block k holds 2^k values if bit k of their number is set. */
enum { BLOCKS = 11 };

static LLVMValueRef block_at(vy_emitter *e, LLVMTypeRef type, LLVMValueRef blocks, LLVMValueRef k) {
    LLVMValueRef at[2] = {vy_llvm_number(e, 32, 0), k};
    return LLVMBuildGEP2(B, LLVMArrayType2(type, BLOCKS), blocks, at, 2, "");
}

/* Adds a value to the blocks: while a block of equal length exists, both are merged into one of twice the length.
 * `count` values were added before. */
static void add_value(vy_emitter *e, const collective_site *m, LLVMTypeRef type, LLVMValueRef blocks,
                      LLVMValueRef count, LLVMValueRef value) {
    LLVMValueRef carried = vy_llvm_alloca(e, type, "carried");
    LLVMBuildStore(B, value, carried);
    LLVMBasicBlockRef body = vy_llvm_block(e, "merge");
    counter c = count_from(e, vy_llvm_number(e, 32, 0));
    LLVMValueRef bit = LLVMBuildAnd(B, LLVMBuildLShr(B, count, c.index, ""), vy_llvm_number(e, 32, 1), "");
    LLVMBasicBlockRef merged = vy_llvm_block(e, "merged");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, bit, vy_llvm_number(e, 32, 0), ""), body, merged);
    vy_llvm_position_at(e, merged);
    LLVMBuildStore(B, LLVMBuildLoad2(B, type, carried, ""), block_at(e, type, blocks, c.index));
    LLVMBuildBr(B, c.exit);
    vy_llvm_position_at(e, body);
    LLVMValueRef left = LLVMBuildLoad2(B, type, block_at(e, type, blocks, c.index), "");
    LLVMValueRef both = vy_llvm_combine(e, (vyre_op)m->s->combine, m->type, left, LLVMBuildLoad2(B, type, carried, ""));
    LLVMBuildStore(B, both, carried);
    count_to(e, &c, LLVMBuildAdd(B, c.index, vy_llvm_number(e, 32, 1), ""), vy_llvm_number(e, 1, 1));
}

/* Combines all blocks of `count` values, the shortest on the right. count is not 0. */
static LLVMValueRef all_values(vy_emitter *e, const collective_site *m, LLVMTypeRef type, LLVMValueRef blocks,
                               LLVMValueRef count) {
    LLVMTypeRef i32 = vy_llvm_int(e, 32);
    LLVMValueRef result = vy_llvm_alloca(e, type, "prefix"), left = vy_llvm_alloca(e, i32, "left"),
                 one = vy_llvm_number(e, 32, 1);
    LLVMValueRef lowest =
        vy_llvm_intrinsic(e, "llvm.cttz", &i32, 1, (LLVMValueRef[]){count, vy_llvm_number(e, 1, 1)}, 2);
    LLVMBuildStore(B, LLVMBuildLoad2(B, type, block_at(e, type, blocks, lowest), ""), result);
    LLVMBuildStore(B, LLVMBuildAnd(B, count, LLVMBuildSub(B, count, one, ""), ""), left);
    LLVMBasicBlockRef head = vy_llvm_block(e, "fold"), body = vy_llvm_block(e, "fold_one"),
                      end = vy_llvm_block(e, "folded");
    vy_llvm_continue_at(e, head);
    LLVMValueRef bits = LLVMBuildLoad2(B, i32, left, "");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, bits, vy_llvm_number(e, 32, 0), ""), body, end);
    vy_llvm_position_at(e, body);
    LLVMValueRef k = vy_llvm_intrinsic(e, "llvm.cttz", &i32, 1, (LLVMValueRef[]){bits, vy_llvm_number(e, 1, 1)}, 2);
    LLVMValueRef longer = LLVMBuildLoad2(B, type, block_at(e, type, blocks, k), "");
    LLVMBuildStore(B, vy_llvm_combine(e, (vyre_op)m->s->combine, m->type, longer, LLVMBuildLoad2(B, type, result, "")),
                   result);
    LLVMBuildStore(B, LLVMBuildAnd(B, bits, LLVMBuildSub(B, bits, one, ""), ""), left);
    LLVMBuildBr(B, head);
    vy_llvm_position_at(e, end);
    return LLVMBuildLoad2(B, type, result, "");
}

/* Stores the prefix that ends with invocation i in slot i of the results. */
static void combine_floats(vy_emitter *e, const collective_site *m) {
    LLVMTypeRef type = m->element;
    LLVMValueRef blocks = vy_llvm_alloca(e, LLVMArrayType2(type, BLOCKS), "blocks");
    int only_last = m->s->op == VYRE_COLLECTIVE_REDUCE && m->width >= e->group_size;
    counter c = count_from(e, vy_llvm_number(e, 32, 0));
    LLVMValueRef next = LLVMBuildAdd(B, c.index, vy_llvm_number(e, 32, 1), "");
    LLVMValueRef before = LLVMBuildURem(B, c.index, vy_llvm_number(e, 32, m->width), "");
    add_value(e, m, type, blocks, before, element_at(e, m, m->operands, c.index));
    LLVMValueRef goes_on = LLVMBuildICmp(B, LLVMIntULT, next, vy_llvm_number(e, 32, e->group_size), "");
    if (!only_last) {
        LLVMValueRef count = LLVMBuildAdd(B, before, vy_llvm_number(e, 32, 1), "");
        LLVMBuildStore(B, all_values(e, m, type, blocks, count), spill_at(e, m->results, c.index, m->size));
    }
    count_to(e, &c, next, goes_on);
    if (only_last)
        LLVMBuildStore(B, all_values(e, m, type, blocks, vy_llvm_number(e, 32, e->group_size)),
                       spill_at(e, m->results, vy_llvm_number(e, 32, e->group_size - 1), m->size));
}

/* Integers: one running value. */
static void combine_integers(vy_emitter *e, const collective_site *m) {
    LLVMTypeRef type = m->element;
    LLVMValueRef sum = vy_llvm_alloca(e, type, "sum");
    LLVMValueRef identity = LLVMConstInt(type, vyre_combine_identity((vyre_op)m->s->combine, m->type), 0);
    counter c = count_from(e, vy_llvm_number(e, 32, 0));
    LLVMValueRef next = LLVMBuildAdd(B, c.index, vy_llvm_number(e, 32, 1), "");
    LLVMValueRef before = LLVMBuildURem(B, c.index, vy_llvm_number(e, 32, m->width), "");
    LLVMValueRef starts = LLVMBuildICmp(B, LLVMIntEQ, before, vy_llvm_number(e, 32, 0), "");
    LLVMValueRef old = LLVMBuildSelect(B, starts, identity, LLVMBuildLoad2(B, type, sum, ""), "");
    LLVMValueRef all = vy_llvm_combine(e, (vyre_op)m->s->combine, m->type, old, element_at(e, m, m->operands, c.index));
    LLVMBuildStore(B, all, sum);
    LLVMBuildStore(B, all, spill_at(e, m->results, c.index, m->size));
    count_to(e, &c, next, LLVMBuildICmp(B, LLVMIntULT, next, vy_llvm_number(e, 32, e->group_size), ""));
}

/* ---- reductions over the workgroup, by lanes ---- */

/* The neutral operand: for floats not the identity of the language, but the value that preserves the sign of a zero. */
static LLVMValueRef neutral(vy_emitter *e, const collective_site *m) {
    LLVMValueRef one = vyre_type_class(m->type) != VYRE_CLASS_FLOAT
                           ? LLVMConstInt(m->element, vyre_combine_identity((vyre_op)m->s->combine, m->type), 0)
                           : LLVMConstReal(m->element, m->s->combine == VYRE_OP_MUL ? 1.0 : -0.0);
    return vy_llvm_splat(e, one);
}

/* The operand, with the neutral value in inactive lanes. */
static LLVMValueRef operand_or_neutral(vy_emitter *e, const collective_site *m) {
    LLVMValueRef value = vy_llvm_expr_lanes(e, m->s->a);
    return e->mask ? LLVMBuildSelect(B, e->mask, value, neutral(e, m), "") : value;
}

/* Every second element of two concatenated vectors, which may be the same one, from `first` on. */
static LLVMValueRef every_second(vy_emitter *e, LLVMValueRef low, LLVMValueRef high, uint32_t count, uint32_t first) {
    LLVMValueRef places[VY_LLVM_LANES];
    for (uint32_t i = 0; i < count; i++)
        places[i] = vy_llvm_number(e, 32, first + 2 * i);
    return LLVMBuildShuffleVector(B, low, high, LLVMConstVector(places, count), "");
}

static LLVMValueRef neighbours(vy_emitter *e, const collective_site *m, LLVMValueRef low, LLVMValueRef high,
                               uint32_t count) {
    return vy_llvm_combine(e, (vyre_op)m->s->combine, m->type, every_second(e, low, high, count, 0),
                           every_second(e, low, high, count, 1));
}

/* Reduces the lanes of one vector, adjacent lanes first. */
static LLVMValueRef within(vy_emitter *e, const collective_site *m, LLVMValueRef lanes) {
    for (uint32_t count = e->width / 2; count; count /= 2)
        lanes = neighbours(e, m, lanes, LLVMGetPoison(LLVMTypeOf(lanes)), count);
    return vy_llvm_lane(e, lanes, 0);
}

static LLVMValueRef lanes_at(vy_emitter *e, const collective_site *m, LLVMValueRef index) {
    LLVMTypeRef lanes = vy_llvm_lanes(e, m->element);
    LLVMValueRef load = LLVMBuildLoad2(B, lanes, spill_at(e, m->operands, index, m->size), "");
    LLVMSetAlignment(load, (unsigned)m->size);
    return load;
}

static void put_lanes(vy_emitter *e, const collective_site *m, LLVMValueRef index, LLVMValueRef value) {
    LLVMSetAlignment(LLVMBuildStore(B, value, spill_at(e, m->operands, index, m->size)), (unsigned)m->size);
}

static void lay_down_or_neutral(vy_emitter *e, const void *user) {
    put_lanes(e, user, first_of_chunk(e), operand_or_neutral(e, user));
}

/* Writes the vectors from element `from` on: each combines adjacent elements of two vectors, or is neutral padding. */
static void each_vector(vy_emitter *e, const collective_site *m, uint32_t from, uint32_t end, int is_pad) {
    counter c = count_from(e, vy_llvm_number(e, 32, from));
    LLVMValueRef by = vy_llvm_number(e, 32, e->width), value = neutral(e, m);
    if (!is_pad) {
        LLVMValueRef twice = LLVMBuildShl(B, c.index, vy_llvm_number(e, 32, 1), "");
        LLVMValueRef low = lanes_at(e, m, twice), high = lanes_at(e, m, LLVMBuildAdd(B, twice, by, ""));
        value = neighbours(e, m, low, high, e->width);
    }
    put_lanes(e, m, c.index, value);
    LLVMValueRef next = LLVMBuildAdd(B, c.index, by, "");
    count_to(e, &c, next, LLVMBuildICmp(B, LLVMIntULT, next, vy_llvm_number(e, 32, end), ""));
}

/* The canonical order is a balanced tree over adjacent elements; a workgroup size that is not a power of two is
 * padded with neutral values. */
static LLVMValueRef reduce_floats(vy_emitter *e, const collective_site *m) {
    uint32_t size = e->width, padded = e->gangs * e->width;
    while (size < e->group_size)
        size *= 2;
    vy_llvm_gangs(e, lay_down_or_neutral, m);
    if (padded < size)
        each_vector(e, m, padded, size, 1);
    for (size /= 2; size >= e->width; size /= 2)
        each_vector(e, m, 0, size, 0);
    return within(e, m, lanes_at(e, m, vy_llvm_number(e, 32, 0)));
}

/* ---- few gangs: reduction in registers ---- */

enum { FEW = 16 };

/* The operands of the gangs, by gang. If the gangs are unrolled, LLVM promotes the array to registers. */
typedef struct handful {
    const collective_site *m;
    LLVMValueRef place; /* an alloca: vectors, by gang */
} handful;

static LLVMValueRef vector_of(vy_emitter *e, const handful *h, LLVMValueRef gang) {
    LLVMTypeRef lanes = vy_llvm_lanes(e, h->m->element);
    LLVMValueRef at[2] = {vy_llvm_number(e, 32, 0), gang};
    return LLVMBuildGEP2(B, LLVMArrayType2(lanes, e->gangs), h->place, at, 2, "");
}

static void give_vector(vy_emitter *e, const void *user) {
    const handful *h = user;
    LLVMBuildStore(B, operand_or_neutral(e, h->m), vector_of(e, h, e->gang));
}

static LLVMValueRef reduce_few(vy_emitter *e, const collective_site *m) {
    LLVMTypeRef lanes = vy_llvm_lanes(e, m->element);
    handful h = {m, vy_llvm_alloca(e, LLVMArrayType2(lanes, e->gangs), "given")};
    LLVMValueRef vectors[FEW];
    uint32_t count = 1;
    vy_llvm_gangs(e, give_vector, &h);
    while (count < e->gangs)
        count *= 2;
    for (uint32_t i = 0; i < count; i++)
        vectors[i] =
            i < e->gangs ? LLVMBuildLoad2(B, lanes, vector_of(e, &h, vy_llvm_number(e, 32, i)), "") : neutral(e, m);
    for (count /= 2; count; count /= 2)
        for (uint32_t i = 0; i < count; i++)
            vectors[i] = neighbours(e, m, vectors[2 * i], vectors[2 * i + 1], e->width);
    return within(e, m, vectors[0]);
}

/* ---- integers ---- */

typedef struct running {
    const collective_site *m;
    LLVMValueRef place;
} running;

static void run_on(vy_emitter *e, const void *user) {
    const running *r = user;
    LLVMValueRef value = operand_or_neutral(e, r->m), old = LLVMBuildLoad2(B, LLVMTypeOf(value), r->place, "");
    LLVMBuildStore(B, vy_llvm_combine(e, (vyre_op)r->m->s->combine, r->m->type, old, value), r->place);
}

static LLVMValueRef reduce_integers(vy_emitter *e, const collective_site *m) {
    LLVMTypeRef lanes = vy_llvm_lanes(e, m->element);
    running r = {m, vy_llvm_alloca(e, lanes, "running")};
    LLVMBuildStore(B, neutral(e, m), r.place);
    vy_llvm_gangs(e, run_on, &r);
    return within(e, m, LLVMBuildLoad2(B, lanes, r.place, ""));
}

/* ---- distributing results ---- */

static LLVMValueRef lanes_number(vy_emitter *e, uint32_t value) {
    return vy_llvm_splat(e, vy_llvm_number(e, 32, value));
}

static LLVMValueRef below(vy_emitter *e, LLVMValueRef index, uint32_t end) {
    return LLVMBuildICmp(B, LLVMIntULT, index, lanes_number(e, end), "");
}

/* The first invocation of a lane's subgroup. */
static LLVMValueRef start_of(vy_emitter *e, const collective_site *m) {
    return LLVMBuildSub(B, e->local_index, LLVMBuildURem(B, e->local_index, lanes_number(e, m->width), ""), "");
}

static void give_combined(vy_emitter *e, const void *user) {
    const collective_site *m = user;
    LLVMValueRef index = e->local_index, start = start_of(e, m), value;
    LLVMValueRef exists = below(e, index, e->group_size);
    if (m->s->op == VYRE_COLLECTIVE_REDUCE) {
        index = LLVMBuildAdd(B, start, lanes_number(e, m->width - 1), "");
        index = LLVMBuildSelect(B, below(e, index, e->group_size), index, lanes_number(e, e->group_size - 1), "");
        value = take(e, m, m->results, index, exists);
    } else if (m->s->op == VYRE_COLLECTIVE_SCAN_INCLUSIVE) {
        value = take(e, m, m->results, index, exists);
    } else {
        LLVMValueRef is_first = LLVMBuildICmp(B, LLVMIntEQ, index, start, "");
        LLVMValueRef valid = LLVMBuildAnd(B, exists, LLVMBuildNot(B, is_first, ""), "");
        uint64_t bits = vyre_combine_identity((vyre_op)m->s->combine, m->type);
        LLVMValueRef identity =
            LLVMConstBitCast(LLVMConstInt(vy_llvm_int(e, vyre_type_bits(m->type)), bits, 0), m->element);
        value = take(e, m, m->results, LLVMBuildSub(B, index, lanes_number(e, 1), ""), valid);
        value = LLVMBuildSelect(B, is_first, vy_llvm_splat(e, identity), value, "");
    }
    vy_llvm_declare(e, m->s->variable, value);
}

static void combine(vy_emitter *e, const collective_site *m) {
    int is_float = vyre_type_class(m->type) == VYRE_CLASS_FLOAT;
    if (e->slots[m->s->variable].storage == VY_STORAGE_SCALAR) { /* a reduction over the workgroup */
        vy_llvm_declare(e, m->s->variable,
                        !is_float         ? reduce_integers(e, m)
                        : e->gangs <= FEW ? reduce_few(e, m)
                                          : reduce_floats(e, m));
        return;
    }
    vy_llvm_gangs(e, lay_down, m);
    if (is_float)
        combine_floats(e, m);
    else
        combine_integers(e, m);
    vy_llvm_gangs(e, give_combined, m);
}

/* ---- votes ---- */

/* Collects the votes of each subgroup as i64, stored at the index of its first invocation. */
static void count_votes(vy_emitter *e, const collective_site *m) {
    LLVMTypeRef i64 = vy_llvm_int(e, 64);
    LLVMValueRef votes = vy_llvm_alloca(e, i64, "votes");
    counter c = count_from(e, vy_llvm_number(e, 32, 0));
    LLVMValueRef next = LLVMBuildAdd(B, c.index, vy_llvm_number(e, 32, 1), "");
    LLVMValueRef lane = LLVMBuildURem(B, c.index, vy_llvm_number(e, 32, m->width), "");
    LLVMValueRef starts = LLVMBuildICmp(B, LLVMIntEQ, lane, vy_llvm_number(e, 32, 0), "");
    LLVMValueRef old = LLVMBuildSelect(B, starts, vy_llvm_number(e, 64, 0), LLVMBuildLoad2(B, i64, votes, ""), "");
    LLVMValueRef vote = LLVMBuildZExt(B, element_at(e, m, m->operands, c.index), i64, "");
    LLVMValueRef all = LLVMBuildOr(B, old, LLVMBuildShl(B, vote, LLVMBuildZExt(B, lane, i64, ""), ""), "");
    LLVMBuildStore(B, all, votes);
    LLVMBuildStore(B, all, spill_at(e, m->results, LLVMBuildSub(B, c.index, lane, ""), 8));
    count_to(e, &c, next, LLVMBuildICmp(B, LLVMIntULT, next, vy_llvm_number(e, 32, e->group_size), ""));
}

static void give_votes(vy_emitter *e, const void *user) {
    const collective_site *m = user;
    collective_site words = {.element = vy_llvm_int(e, 64), .size = 8, .type = VYRE_TYPE_U64};
    LLVMValueRef start = start_of(e, m), i64_zero = LLVMConstNull(vy_llvm_lanes(e, words.element));
    LLVMValueRef votes = take(e, &words, m->results, start, below(e, e->local_index, e->group_size)), value = votes;
    if (m->s->op == VYRE_COLLECTIVE_ANY)
        value = LLVMBuildICmp(B, LLVMIntNE, votes, i64_zero, "");
    else if (m->s->op == VYRE_COLLECTIVE_ALL) {
        /* The number of votes equals the number of existing lanes. */
        LLVMValueRef left = LLVMBuildSub(B, lanes_number(e, e->group_size), start, "");
        LLVMValueRef lanes = LLVMBuildSelect(B, below(e, left, m->width), left, lanes_number(e, m->width), "");
        LLVMTypeRef type = LLVMTypeOf(votes);
        LLVMValueRef given = vy_llvm_intrinsic(e, "llvm.ctpop", &type, 1, &votes, 1);
        value = LLVMBuildICmp(B, LLVMIntEQ, LLVMBuildTrunc(B, given, LLVMTypeOf(lanes), ""), lanes, "");
    }
    vy_llvm_declare(e, m->s->variable, value);
}

typedef struct vote {
    const vy_stmt *s;
    LLVMValueRef result;
} vote;

static void vote_chunk(vy_emitter *e, const void *user) {
    const vote *v = user;
    LLVMValueRef value = vy_llvm_expr_lanes(e, v->s->a), one, old = LLVMBuildLoad2(B, vy_llvm_int(e, 1), v->result, "");
    if (v->s->op == VYRE_COLLECTIVE_ANY) {
        one = LLVMBuildOr(B, old, vy_llvm_any(e, vy_llvm_both(e, e->mask, value)), "");
    } else {
        if (e->mask)
            value = LLVMBuildOr(B, value, LLVMBuildNot(B, e->mask, ""), "");
        one = LLVMBuildAnd(B, old, vy_llvm_all(e, value), "");
    }
    LLVMBuildStore(B, one, v->result);
}

static void vote_all(vy_emitter *e, const vy_stmt *s) {
    vote v = {s, vy_llvm_alloca(e, vy_llvm_int(e, 1), "vote")};
    LLVMBuildStore(B, vy_llvm_number(e, 1, s->op == VYRE_COLLECTIVE_ALL), v.result);
    vy_llvm_gangs(e, vote_chunk, &v);
    vy_llvm_declare(e, s->variable, LLVMBuildLoad2(B, vy_llvm_int(e, 1), v.result, ""));
}

/* ---- shuffles through memory ---- */

static void move(vy_emitter *e, const void *user) {
    const collective_site *m = user;
    LLVMValueRef start = start_of(e, m), lane = LLVMBuildSub(B, e->local_index, start, "");
    LLVMValueRef given = vy_llvm_expr_lanes(e, m->s->b), from = given, valid = NULL;
    if (m->s->op == VYRE_COLLECTIVE_SHUFFLE_XOR)
        from = LLVMBuildXor(B, lane, given, "");
    else if (m->s->op == VYRE_COLLECTIVE_SHUFFLE_UP) {
        valid = below(e, given, m->width);
        from = LLVMBuildSub(B, lane, given, ""); /* a negative difference wraps to a value beyond the width */
    } else if (m->s->op == VYRE_COLLECTIVE_SHUFFLE_DOWN) {
        valid = below(e, given, m->width);
        from = LLVMBuildAdd(B, lane, given, "");
    }
    LLVMValueRef index = LLVMBuildAdd(B, start, from, "");
    LLVMValueRef inside = LLVMBuildAnd(B, below(e, from, m->width), below(e, index, e->group_size), "");
    inside = vy_llvm_both(e, inside, valid);
    inside = vy_llvm_both(e, inside, e->mask);
    vy_llvm_declare(e, m->s->variable, from_memory(e, m, take(e, m, m->operands, index, inside)));
}

static void broadcast_all(vy_emitter *e, const collective_site *m) {
    LLVMValueRef lane = vy_llvm_uniform_across_group(e, m->s->b), place = vy_llvm_alloca(e, m->element, "broadcast");
    LLVMBasicBlockRef yes = vy_llvm_block(e, "there"), end = vy_llvm_block(e, "broadcast_end");
    vy_llvm_gangs(e, lay_down, m);
    LLVMBuildStore(B, LLVMConstNull(m->element), place);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntULT, lane, vy_llvm_number(e, 32, e->group_size), ""), yes, end);
    vy_llvm_position_at(e, yes);
    LLVMBuildStore(B, element_at(e, m, m->operands, lane), place);
    vy_llvm_continue_at(e, end);
    vy_llvm_declare(e, m->s->variable, from_memory(e, m, LLVMBuildLoad2(B, m->element, place, "")));
}

/* ---- any collective ---- */

void vy_llvm_collective(vy_emitter *e, uint32_t stmt) {
    const vy_stmt *s = vy_stmt_at(e->program, stmt);
    vyre_type type = (vyre_type)vy_expr_at(e->program, s->a)->type;
    uint64_t padded = (uint64_t)e->gangs * e->width;
    collective_site m = {.s = s,
                         .type = type,
                         .element = type == VYRE_TYPE_BOOL ? vy_llvm_int(e, 8) : vy_llvm_type(e, type),
                         .size = vy_llvm_size(type),
                         .width = s->width ? s->width : e->group_size,
                         .operands = e->collective_offset,
                         .results = e->collective_offset + padded * 8};
    int is_vote = s->op == VYRE_COLLECTIVE_ANY || s->op == VYRE_COLLECTIVE_ALL || s->op == VYRE_COLLECTIVE_BALLOT;
    if (collective_in_register(e, &m))
        return;
    if (vy_collectives[s->op].combines)
        combine(e, &m);
    else if (is_vote && !s->width)
        vote_all(e, s);
    else if (is_vote) {
        vy_llvm_gangs(e, lay_down, &m);
        count_votes(e, &m);
        vy_llvm_gangs(e, give_votes, &m);
    } else if (s->op == VYRE_COLLECTIVE_BROADCAST && !s->width)
        broadcast_all(e, &m);
    else {
        vy_llvm_gangs(e, lay_down, &m);
        vy_llvm_gangs(e, move, &m);
    }
}

/* ---- workgroups of one invocation ---- */

/* Lane 0 is the only invocation, so its value is the only operand. */
void vy_llvm_collective_alone(vy_emitter *e, uint32_t stmt) {
    const vy_stmt *s = vy_stmt_at(e->program, stmt);
    vyre_type type = (vyre_type)vy_expr_at(e->program, s->a)->type;
    LLVMValueRef value = vy_llvm_lane(e, vy_llvm_expr(e, s->a), 0);
    LLVMTypeRef element = LLVMTypeOf(value);
    if (s->op == VYRE_COLLECTIVE_SCAN_EXCLUSIVE) {
        uint64_t bits = vyre_combine_identity((vyre_op)s->combine, type);
        value = LLVMConstBitCast(LLVMConstInt(vy_llvm_int(e, vyre_type_bits(type)), bits, 0), element);
    } else if (s->op == VYRE_COLLECTIVE_BALLOT) {
        value = LLVMBuildZExt(B, value, vy_llvm_int(e, 64), "");
    } else if (s->b != VY_NONE) { /* a shuffle from lane 0 or by 0 returns the own value; any other has no source */
        LLVMValueRef lane = vy_llvm_lane(e, vy_llvm_expr(e, s->b), 0);
        LLVMValueRef own = LLVMBuildICmp(B, LLVMIntEQ, lane, LLVMConstNull(LLVMTypeOf(lane)), "");
        value = LLVMBuildSelect(B, own, value, LLVMConstNull(element), "");
    }
    vy_llvm_declare(e, s->variable, value);
}

/* ---- in registers ---- Subgroups within one gang are combined by shuffles. Prefixes of integers are computed
 * within each gang, which starts with the total of the preceding gangs. */

/* ---- shuffles ---- */

/* Selects lanes by number; numbers from `width` on select lanes of `other`. */
static LLVMValueRef pick(vy_emitter *e, LLVMValueRef value, LLVMValueRef other, const uint32_t *from) {
    LLVMValueRef places[VY_LLVM_LANES];
    for (uint32_t i = 0; i < e->width; i++)
        places[i] = vy_llvm_number(e, 32, from[i]);
    return LLVMBuildShuffleVector(B, value, other, LLVMConstVector(places, e->width), "");
}

static LLVMValueRef both(vy_emitter *e, const collective_site *m, LLVMValueRef a, LLVMValueRef b) {
    return vy_llvm_combine(e, (vyre_op)m->s->combine, m->type, a, b);
}

/* ---- reductions ---- */

/* Adjacent lanes first, the lower one as left operand, until every lane has the total. */
static void reduce_lanes(vy_emitter *e, const void *user) {
    const collective_site *m = user;
    LLVMValueRef value = operand_or_neutral(e, m);
    for (uint32_t step = 1; step < m->width; step *= 2) {
        uint32_t low[VY_LLVM_LANES], high[VY_LLVM_LANES];
        for (uint32_t i = 0; i < e->width; i++) {
            low[i] = i & ~step;
            high[i] = i | step;
        }
        LLVMValueRef none = LLVMGetPoison(LLVMTypeOf(value));
        value = both(e, m, pick(e, value, none, low), pick(e, value, none, high));
    }
    vy_llvm_declare(e, m->s->variable, value);
}

/* ---- prefixes ---- */

typedef struct prefix {
    const collective_site *m;
    LLVMValueRef before; /* an alloca: the total of the preceding gangs; NULL if each subgroup is within a gang */
} prefix;

/* Prefixes of integers within runs of `length` lanes. */
static LLVMValueRef prefixes(vy_emitter *e, const collective_site *m, LLVMValueRef value, LLVMValueRef identity,
                             uint32_t length) {
    for (uint32_t step = 1; step < length; step *= 2) {
        uint32_t from[VY_LLVM_LANES];
        for (uint32_t i = 0; i < e->width; i++)
            from[i] = i % length < step ? e->width : i - step;
        value = both(e, m, pick(e, value, identity, from), value);
    }
    return value;
}

/* The total before the gang's first lane. */
static LLVMValueRef before_gang(vy_emitter *e, const prefix *p, LLVMValueRef identity) {
    LLVMValueRef first = LLVMBuildMul(B, e->gang, vy_llvm_number(e, 32, e->width), "");
    LLVMValueRef rest = LLVMBuildURem(B, first, vy_llvm_number(e, 32, p->m->width), "");
    LLVMValueRef starts = LLVMBuildICmp(B, LLVMIntEQ, rest, vy_llvm_number(e, 32, 0), "");
    LLVMValueRef before = LLVMBuildLoad2(B, p->m->element, p->before, "");
    return LLVMBuildSelect(B, starts, vy_llvm_lane(e, identity, 0), before, "");
}

static void scan_lanes(vy_emitter *e, const void *user) {
    const prefix *p = user;
    const collective_site *m = p->m;
    uint64_t bits = vyre_combine_identity((vyre_op)m->s->combine, m->type);
    LLVMValueRef identity = vy_llvm_splat(e, LLVMConstInt(m->element, bits, 0)), start = identity;
    uint32_t length = p->before ? e->width : m->width, from[VY_LLVM_LANES];
    LLVMValueRef value = prefixes(e, m, operand_or_neutral(e, m), identity, length);
    if (p->before) {
        start = vy_llvm_splat(e, before_gang(e, p, identity));
        value = both(e, m, start, value);
        LLVMBuildStore(B, vy_llvm_lane(e, value, e->width - 1), p->before);
    }
    for (uint32_t i = 0; i < e->width; i++)
        from[i] = i % length ? i - 1 : e->width;
    if (m->s->op == VYRE_COLLECTIVE_SCAN_EXCLUSIVE)
        value = pick(e, value, start, from);
    vy_llvm_declare(e, m->s->variable, value);
}

/* ---- shuffles with a constant operand ---- */

/* The source lane of `lane` in its subgroup; the width if there is none. */
static uint32_t moved_from(const collective_site *m, uint32_t lane, uint32_t given) {
    uint32_t from = given;
    if (m->s->op == VYRE_COLLECTIVE_SHUFFLE_XOR)
        from = lane ^ given;
    else if (m->s->op == VYRE_COLLECTIVE_SHUFFLE_UP)
        from = given < m->width ? lane - given : m->width;
    else if (m->s->op == VYRE_COLLECTIVE_SHUFFLE_DOWN)
        from = given < m->width ? lane + given : m->width;
    return from < m->width ? from : m->width;
}

static void move_lanes(vy_emitter *e, const void *user) {
    const collective_site *m = user;
    LLVMValueRef value = vy_llvm_expr_lanes(e, m->s->a);
    uint32_t given = (uint32_t)vy_expr_at(e->program, m->s->b)->bits, from[VY_LLVM_LANES];
    for (uint32_t i = 0; i < e->width; i++) {
        uint32_t lane = moved_from(m, i % m->width, given);
        from[i] = lane < m->width ? i - i % m->width + lane : e->width + i;
    }
    vy_llvm_declare(e, m->s->variable, pick(e, value, LLVMConstNull(LLVMTypeOf(value)), from));
}

/* ---- dispatch ---- */

/* Emits the collective in registers if possible; otherwise returns 0 and has written nothing. */
static int collective_in_register(vy_emitter *e, const collective_site *m) {
    int is_float = vyre_type_class(m->type) == VYRE_CLASS_FLOAT, lies_within = m->s->width && m->width <= e->width;
    prefix p = {.m = m};
    if (e->slots[m->s->variable].storage == VY_STORAGE_SCALAR ||
        (m->type == VYRE_TYPE_BOOL && vy_collectives[m->s->op].combines))
        return 0;
    if (m->s->op == VYRE_COLLECTIVE_REDUCE && lies_within)
        vy_llvm_gangs(e, reduce_lanes, m);
    else if (vy_collectives[m->s->op].combines && m->s->op != VYRE_COLLECTIVE_REDUCE && !is_float) {
        if (!lies_within) {
            p.before = vy_llvm_alloca(e, m->element, "before");
            LLVMBuildStore(B, LLVMConstNull(m->element), p.before);
        }
        vy_llvm_gangs(e, scan_lanes, &p);
    } else if (m->s->b != VY_NONE && lies_within && e->group_size % m->width == 0 &&
               vy_expr_at(e->program, m->s->b)->kind == VY_EXPR_LITERAL) {
        vy_llvm_gangs(e, move_lanes, m);
    } else {
        return 0;
    }
    return 1;
}
