/* Lane constants: values whose lanes differ by constants.
 *
 * Such a value of 32 bits is base + factor * times + offset, with two scalars, and two constants for each lane. Ids
 * are such values, and so are sums of them and scalars with one product: a position in a plane. In a gang that is
 * unrolled, whose number is constant, divisions of ids by constants (`local_index % 18`) are such values too,
 * although they have no stride. They are used twice:
 * - a comparison with a scalar holds in all lanes if it holds in one lane, the one with the largest constant;
 * - an index consists of contiguous pieces, and each is one vector access with a constant mask.
 * A `for` whose variable is constant in all its iterations is unrolled. */
#include "emit/llvm/emitter.h"
#include "ir/eval.h"

#include <stddef.h>
#include <string.h>

#define B e->builder

enum { DEPTH = 12, TRIPS = 4, PART = 16, PIECES = 3 /* pieces per part; a gather costs less than more of them */ };

/* ---- constants ---- */

static int is_number(const vy_lane_affine *k) {
    return !k->base && !k->factor;
}

/* Whether all lanes are equal. */
static int is_scalar(const vy_emitter *e, const vy_lane_affine *k) {
    if (k->factor)
        return 0;
    for (uint32_t i = 1; i < e->width; i++)
        if (k->offset[i] != k->offset[0])
            return 0;
    return 1;
}

/* Adds a scalar; an LLVM constant is added to the offsets. */
static void add_scalar(vy_emitter *e, vy_lane_affine *k, LLVMValueRef value) {
    if (LLVMIsAConstantInt(value)) {
        for (uint32_t i = 0; i < e->width; i++)
            k->offset[i] += (uint32_t)LLVMConstIntGetZExtValue(value);
        return;
    }
    k->base = k->base ? LLVMBuildAdd(B, k->base, value, "") : value;
}

static LLVMValueRef sum(vy_emitter *e, LLVMValueRef a, uint32_t b) {
    return a ? LLVMBuildAdd(B, a, vy_llvm_number(e, 32, b), "") : vy_llvm_number(e, 32, b);
}

/* ---- ids ---- */

/* Whether the gang has several rows, all of them whole rows of one plane of the workgroup. */
static int has_plain_rows(const vy_emitter *e) {
    const uint32_t *size = e->program->workgroup;
    return size[0] == e->row && size[1] % e->row_count == 0;
}

static int know_id(vy_emitter *e, unsigned axis, vy_lane_affine *out) {
    const uint32_t *size = e->program->workgroup;
    const uint32_t before = axis == 0 ? 1 : axis == 1 ? size[0] : size[0] * size[1];
    if (LLVMIsAConstantInt(e->gang)) {
        uint32_t first = (uint32_t)LLVMConstIntGetZExtValue(e->gang) * e->width;
        for (uint32_t i = 0; i < e->width; i++)
            out->offset[i] = (first + i) / before % size[axis];
        return 1;
    }
    if (!has_plain_rows(e))
        return 0;
    for (uint32_t i = 0; i < e->width && size[axis] > 1; i++)
        out->offset[i] = axis == 0 ? i % e->row : axis == 1 ? i / e->row : 0;
    add_scalar(e, out, e->row_id[axis][0]);
    return 1;
}

static int know_builtin(vy_emitter *e, const vy_expr *x, vy_lane_affine *out) {
    if (x->op == VYRE_BUILTIN_LOCAL_INDEX) {
        for (uint32_t i = 0; i < e->width; i++)
            out->offset[i] = i;
        add_scalar(e, out, LLVMBuildMul(B, e->gang, vy_llvm_number(e, 32, e->width), ""));
        return 1;
    }
    if ((x->op != VYRE_BUILTIN_LOCAL_ID && x->op != VYRE_BUILTIN_GLOBAL_ID) || !know_id(e, x->axis, out))
        return 0;
    if (x->op == VYRE_BUILTIN_GLOBAL_ID) {
        LLVMValueRef group = LLVMBuildLoad2(B, vy_llvm_int(e, 32), e->group_id[x->axis], "");
        add_scalar(e, out, LLVMBuildMul(B, group, vy_llvm_number(e, 32, e->program->workgroup[x->axis]), ""));
    }
    return 1;
}

/* ---- ops ---- */

static int know_sum(vy_emitter *e, const vy_lane_affine *a, const vy_lane_affine *b, int is_less, vy_lane_affine *out) {
    if (b->factor && (is_less || (a->factor && a->factor != b->factor)))
        return 0;
    *out = *a;
    out->factor = a->factor ? a->factor : b->factor;
    for (uint32_t i = 0; i < e->width; i++) {
        out->offset[i] += is_less ? 0 - b->offset[i] : b->offset[i];
        out->times[i] += b->times[i];
    }
    if (b->base)
        add_scalar(e, out, is_less ? LLVMBuildNeg(B, b->base, "") : b->base);
    return 1;
}

/* `by` is a scalar. */
static int know_product(vy_emitter *e, const vy_lane_affine *a, const vy_lane_affine *by, vy_lane_affine *out) {
    *out = *a;
    if (is_number(by)) {
        for (uint32_t i = 0; i < e->width; i++) {
            out->offset[i] *= by->offset[0];
            out->times[i] *= by->offset[0];
        }
        if (out->base)
            out->base = LLVMBuildMul(B, out->base, vy_llvm_number(e, 32, by->offset[0]), "");
        return 1;
    }
    if (a->factor)
        return 0;
    out->factor = sum(e, by->base, by->offset[0]);
    if (out->base)
        out->base = LLVMBuildMul(B, out->base, out->factor, "");
    memcpy(out->times, a->offset, sizeof out->times);
    memset(out->offset, 0, sizeof out->offset);
    return 1;
}

static void know_numbers(const vy_emitter *e, const vy_expr *x, const vy_lane_affine *a, const vy_lane_affine *b,
                         vy_lane_affine *out) {
    for (uint32_t i = 0; i < e->width; i++)
        out->offset[i] =
            (uint32_t)vyre_op_evaluate((vyre_op)x->op, VYRE_TYPE_U32, VYRE_TYPE_U32, a->offset[i], b->offset[i], 0);
}

static int know(vy_emitter *e, uint32_t expr, vy_lane_affine *out, unsigned depth);

/* For two 32-bit operands with lane constants. */
static int know_op(vy_emitter *e, const vy_expr *x, vy_lane_affine *out, unsigned depth) {
    vy_lane_affine a, b;
    if (vyre_op_get((vyre_op)x->op)->arity != 2 || !know(e, x->a, &a, depth - 1) || !know(e, x->b, &b, depth - 1))
        return 0;
    if (is_number(&a) && is_number(&b)) {
        know_numbers(e, x, &a, &b, out);
        return 1;
    }
    if (x->op == VYRE_OP_ADD || x->op == VYRE_OP_SUB)
        return know_sum(e, &a, &b, x->op == VYRE_OP_SUB, out);
    if (x->op == VYRE_OP_MUL && (is_scalar(e, &a) || is_scalar(e, &b)))
        return is_scalar(e, &b) ? know_product(e, &a, &b, out) : know_product(e, &b, &a, out);
    if (x->op == VYRE_OP_SHL && is_number(&b) && is_scalar(e, &b) && b.offset[0] < 32) {
        for (uint32_t i = 0; i < e->width; i++)
            b.offset[i] = UINT32_C(1) << b.offset[i];
        return know_product(e, &a, &b, out);
    }
    return 0;
}

/* Recursion is bounded by DEPTH. */
static int know(vy_emitter *e, uint32_t expr, vy_lane_affine *out, unsigned depth) {
    const vy_expr *x = vy_expr_at(e->program, expr);
    memset(out, 0, sizeof *out);
    if (x->type != VYRE_TYPE_U32 || !depth)
        return 0;
    if (vy_expr_uniformity(e->uniform, expr) != VY_UNIFORMITY_DIVERGENT) {
        if (x->kind == VY_EXPR_LOAD)
            return 0;
        add_scalar(e, out, vy_llvm_expr(e, expr));
        return 1;
    }
    if (x->kind == VY_EXPR_BUILTIN)
        return know_builtin(e, x, out);
    if (x->kind == VY_EXPR_OP)
        return know_op(e, x, out, depth);
    if (x->kind != VY_EXPR_VARIABLE)
        return 0;
    if (e->slots[x->a].storage == VY_STORAGE_REMAT)
        return know(e, e->slots[x->a].made_of, out, depth - 1);
    if (!e->slots[x->a].known)
        return 0;
    *out = *e->slots[x->a].known;
    return 1;
}

/* If a gang is one row, strides provide the same information. */
static int is_worth_it(const vy_emitter *e) {
    return e->gang && e->group_size > 1 && (e->row_count > 1 || LLVMIsAConstantInt(e->gang));
}

/* The lane constants of an expression; 0 if there are none. */
static int lane_affine_of(vy_emitter *e, uint32_t expr, vy_lane_affine *out) {
    return is_worth_it(e) && know(e, expr, out, DEPTH);
}

static void remember(vy_emitter *e, uint32_t variable, const vy_lane_affine *k) {
    vy_value_slot *slot = &e->slots[variable];
    if (!slot->known_room)
        slot->known_room = vy_arena_allocate(e->arena, sizeof *k);
    slot->known = slot->known_room;
    if (slot->known)
        *slot->known = *k;
    else
        e->status = VYRE_NO_MEMORY;
}

void vy_llvm_note_lane_affine(vy_emitter *e, const vy_stmt *s) {
    vy_value_slot *slot = &e->slots[s->variable];
    vy_lane_affine k;
    slot->known = NULL;
    if (s->kind == VY_STMT_LET && slot->storage == VY_STORAGE_LANES &&
        vy_expr_at(e->program, s->a)->type == VYRE_TYPE_U32 && lane_affine_of(e, s->a, &k))
        remember(e, s->variable, &k);
}

/* ---- active lanes ---- */

/* Whether the mask is a constant; *is_set is then its value. */
static int know_mask(const vy_emitter *e, LLVMValueRef mask, uint8_t *is_set) {
    memset(is_set, 1, e->width);
    if (!mask)
        return 1;
    if (!LLVMIsConstant(mask))
        return 0;
    for (uint32_t i = 0; i < e->width; i++) {
        LLVMValueRef lane = LLVMGetAggregateElement(mask, i);
        if (!lane || !LLVMIsAConstantInt(lane))
            return 0;
        is_set[i] = LLVMConstIntGetZExtValue(lane) != 0;
    }
    return 1;
}

int vy_llvm_mask_is_constant(const vy_emitter *e) {
    uint8_t is_set[VY_LLVM_LANES];
    return know_mask(e, e->mask, is_set);
}

/* ---- comparisons ---- */

/* The minimum and maximum of some numbers as signed integers; returns 0 unless they are less than 2^31 apart. */
static int find_range(const vy_emitter *e, const uint32_t *numbers, const uint8_t *is_set, int64_t *low,
                      int64_t *high) {
    *low = INT64_MAX;
    *high = INT64_MIN;
    for (uint32_t i = 0; i < e->width; i++)
        if (is_set[i]) {
            int64_t n = (int32_t)numbers[i];
            *low = n < *low ? n : *low;
            *high = n > *high ? n : *high;
        }
    return *low <= *high && *high - *low < INT64_C(1) << 31;
}

/* The smallest value of the lanes, and the largest one if no lane wraps, as i64. */
static int find_ends(vy_emitter *e, const vy_lane_affine *k, LLVMValueRef *least, LLVMValueRef *most) {
    uint8_t is_set[VY_LLVM_LANES];
    int64_t low, high, times_low, times_high;
    LLVMTypeRef i64 = vy_llvm_int(e, 64);
    if (!know_mask(e, e->mask, is_set))
        memset(is_set, 1, sizeof is_set);
    if (!find_range(e, k->offset, is_set, &low, &high) || !find_range(e, k->times, is_set, &times_low, &times_high))
        return 0;
    LLVMValueRef first = sum(e, k->base, (uint32_t)low);
    if (k->factor && times_low)
        first = LLVMBuildAdd(B, first, LLVMBuildMul(B, k->factor, vy_llvm_number(e, 32, (uint32_t)times_low), ""), "");
    *least = LLVMBuildZExt(B, first, i64, "");
    *most = LLVMBuildAdd(B, *least, vy_llvm_number(e, 64, (uint64_t)(high - low)), "");
    if (k->factor && times_high > times_low) {
        LLVMValueRef factor = LLVMBuildZExt(B, k->factor, i64, "");
        factor = LLVMBuildMul(B, factor, vy_llvm_number(e, 64, (uint64_t)(times_high - times_low)), "");
        *most = LLVMBuildAdd(B, *most, factor, "");
    }
    return 1;
}

static vyre_op turned(vyre_op op) {
    return op == VYRE_OP_LT ? VYRE_OP_GT : op == VYRE_OP_LE ? VYRE_OP_GE : op == VYRE_OP_GT ? VYRE_OP_LT : VYRE_OP_LE;
}

LLVMValueRef vy_llvm_constants_all_true(vy_emitter *e, const vy_expr *x) {
    vyre_op op = (vyre_op)x->op;
    vy_lane_affine a, b;
    LLVMValueRef least, most;
    if (x->kind != VY_EXPR_OP || op < VYRE_OP_LT || op > VYRE_OP_GE || !lane_affine_of(e, x->a, &a) ||
        !lane_affine_of(e, x->b, &b))
        return NULL;
    int is_turned = !is_scalar(e, &b);
    if (is_turned)
        op = turned(op);
    if ((is_turned && !is_scalar(e, &a)) || !find_ends(e, is_turned ? &b : &a, &least, &most))
        return NULL;
    const vy_lane_affine *one = is_turned ? &a : &b;
    LLVMValueRef limit = LLVMBuildZExt(B, sum(e, one->base, one->offset[0]), vy_llvm_int(e, 64), "");
    if (op == VYRE_OP_LT || op == VYRE_OP_LE)
        return LLVMBuildICmp(B, op == VYRE_OP_LT ? LLVMIntULT : LLVMIntULE, most, limit, "");
    LLVMValueRef above = LLVMBuildICmp(B, op == VYRE_OP_GT ? LLVMIntUGT : LLVMIntUGE, least, limit, "");
    return LLVMBuildAnd(B, above, LLVMBuildICmp(B, LLVMIntULE, most, vy_llvm_number(e, 64, UINT32_MAX), ""), "");
}

/* ---- pieces ---- */

typedef struct piece {
    uint32_t first, end; /* lanes */
} piece;

/* The next piece from a lane on: active lanes of a part, or possibly active ones, with contiguous elements. */
static piece piece_at(const vy_lane_affine *k, const uint8_t *is_set, uint32_t first, uint32_t end) {
    piece p = {first, first};
    while (p.first < end && !is_set[p.first])
        p.first++;
    for (p.end = p.first; p.end < end && is_set[p.end] && k->times[p.end] == k->times[p.first] &&
                          k->offset[p.end] == k->offset[p.first] + (p.end - p.first);)
        p.end++;
    return p;
}

static uint32_t part_lanes(const vy_emitter *e) {
    return e->width < PART ? e->width : PART;
}

static uint32_t count_pieces(const vy_emitter *e, const vy_lane_affine *k, const uint8_t *is_set) {
    uint32_t count = 0, lanes = part_lanes(e);
    for (uint32_t part = 0; part < e->width; part += lanes)
        for (piece p = {part, part}; (p = piece_at(k, is_set, p.end, part + lanes)).first < part + lanes;)
            count++;
    return count;
}

int vy_llvm_has_pieces(vy_emitter *e, uint32_t memory, uint32_t index, LLVMValueRef mask, vy_lane_affine *k) {
    uint8_t is_set[VY_LLVM_LANES];
    if (vy_llvm_element_size(e, memory) < 4 || !lane_affine_of(e, index, k))
        return 0;
    if (!know_mask(e, mask, is_set))
        memset(is_set, 1, sizeof is_set);
    return count_pieces(e, k, is_set) <= PIECES * (e->width / part_lanes(e));
}

/* The address for lane `from` of the piece's part. If the mask is not constant, the first lane of the piece may be
 * inactive with an index below zero. So an index close to 2^32 counts as negative, as it does for rows. */
static LLVMValueRef piece_address(vy_emitter *e, uint32_t memory, const vy_lane_affine *k, piece p, uint32_t from,
                                  int is_known) {
    uint32_t ahead = is_known ? 0 : PART;
    LLVMTypeRef i64 = vy_llvm_int(e, 64);
    uint64_t size = vy_llvm_element_size(e, memory);
    LLVMValueRef first = sum(e, k->base, k->offset[p.first] + ahead);
    if (k->factor)
        first = LLVMBuildAdd(B, first, LLVMBuildMul(B, k->factor, vy_llvm_number(e, 32, k->times[p.first]), ""), "");
    first = LLVMBuildZExt(B, first, i64, "");
    first = LLVMBuildSub(B, first, vy_llvm_number(e, 64, (uint64_t)ahead + p.first - from), "");
    return vy_llvm_offset_pointer(e, vy_llvm_base(e, memory), LLVMBuildMul(B, first, vy_llvm_number(e, 64, size), ""));
}

/* The active lanes among lanes [p) of the part that starts at `from`. */
static LLVMValueRef piece_mask(vy_emitter *e, piece p, uint32_t from, LLVMValueRef mask) {
    LLVMValueRef lanes[PART], own;
    for (uint32_t i = 0; i < part_lanes(e); i++)
        lanes[i] = vy_llvm_number(e, 1, from + i >= p.first && from + i < p.end);
    own = LLVMConstVector(lanes, part_lanes(e));
    return mask ? LLVMBuildAnd(B, own, mask, "") : own;
}

LLVMValueRef vy_llvm_load_pieces(vy_emitter *e, uint32_t memory, const vy_lane_affine *k, LLVMValueRef mask) {
    vyre_type type = (vyre_type)vy_memory_at(e->program, memory)->type;
    LLVMTypeRef lanes = LLVMVectorType(vy_llvm_type(e, type), part_lanes(e));
    LLVMTypeRef types[2] = {lanes, vy_llvm_pointer(e)};
    LLVMValueRef parts[VY_LLVM_LANES / 4], alignment = vy_llvm_number(e, 32, vy_llvm_size(type));
    uint8_t is_set[VY_LLVM_LANES];
    int is_known = know_mask(e, mask, is_set);
    if (!is_known)
        memset(is_set, 1, sizeof is_set);
    for (uint32_t part = 0, i = 0, end = part_lanes(e); part < e->width; part = end, end += part_lanes(e), i++) {
        LLVMValueRef some = mask && !is_known ? vy_llvm_slice(e, mask, part, part_lanes(e)) : NULL;
        parts[i] = LLVMConstNull(lanes);
        for (piece p = {part, part}; (p = piece_at(k, is_set, p.end, end)).first < end;) {
            LLVMValueRef args[4] = {piece_address(e, memory, k, p, part, is_known), alignment,
                                    piece_mask(e, p, part, some), parts[i]};
            parts[i] = vy_llvm_intrinsic(e, "llvm.masked.load", types, 2, args, 4);
        }
    }
    return vy_llvm_join(e, parts, part_lanes(e), e->width);
}

/* ---- loops ---- */

/* Whether the body is straight-line code within one region: no loops, jumps, atomics or polls. */
static int is_plain(const vy_emitter *e, uint32_t loop) {
    const vy_stmt *stmts = e->program->stmts.items;
    for (uint32_t i = loop + 1; i < stmts[loop].end; i++)
        if (vy_stmt_is_loop(stmts[i].kind) || vy_stmt_is_jump(stmts[i].kind) || stmts[i].kind == VY_STMT_ATOMIC ||
            stmts[i].kind == VY_STMT_POLL)
            return 0;
    return 1;
}

int vy_llvm_is_unrollable_loop(const vy_emitter *e, uint32_t loop) {
    const vy_stmt *s = vy_stmt_at(e->program, loop);
    const vy_expr *exprs = e->program->exprs.items;
    if (s->kind != VY_STMT_FOR || s->c == VY_NONE || vy_variable_at(e->program, s->variable)->type != VYRE_TYPE_U32)
        return 0;
    const vy_expr *from = &exprs[s->a], *to = &exprs[s->b], *step = &exprs[s->c];
    return from->kind == VY_EXPR_BUILTIN &&
           (from->op == VYRE_BUILTIN_LOCAL_INDEX || from->op == VYRE_BUILTIN_LOCAL_ID) && to->kind == VY_EXPR_LITERAL &&
           step->kind == VY_EXPR_LITERAL && step->bits && (to->bits + step->bits - 1) / step->bits <= TRIPS &&
           is_plain(e, loop);
}

/* Emits one iteration: the variable, and the mask of the lanes that execute it. */
static void write_trip(vy_emitter *e, uint32_t loop, const vy_lane_affine *now, const uint8_t *makes) {
    const vy_stmt *s = vy_stmt_at(e->program, loop);
    vy_value_slot *slot = &e->slots[s->variable];
    LLVMValueRef lanes[VY_LLVM_LANES], mask[VY_LLVM_LANES], before = e->mask;
    uint32_t depth = e->depth, count = 0;
    uint64_t stride;
    for (uint32_t i = 0; i < e->width; i++) {
        lanes[i] = vy_llvm_number(e, 32, now->offset[i]);
        mask[i] = vy_llvm_number(e, 1, makes[i]);
        count += makes[i];
    }
    vy_llvm_declare(e, s->variable, LLVMConstVector(lanes, e->width));
    remember(e, s->variable, now);
    slot->is_whole = 1;
    slot->rows_are_places = 0;
    slot->stride_guard = NULL;
    memset(slot->rows, 0, sizeof slot->rows);
    for (uint32_t k = 0; k < e->row_count && vy_variable_stride(e->uniform, s->variable, &stride); k++)
        slot->rows[k] = lanes[k * e->row];
    if (count < e->width) {
        e->mask = LLVMConstVector(mask, e->width);
        e->depth++;
    }
    vy_llvm_statements(e, loop + 1, s->end);
    e->mask = before;
    e->depth = depth;
}

/* The same loop may be emitted again as a loop, under a mask; then these facts do not hold. */
static void forget_trips(vy_value_slot *slot) {
    slot->known = NULL;
    memset(slot->rows, 0, sizeof slot->rows);
}

/* A lane makes another iteration if the remaining distance exceeds the step, as in any `for`. */
int vy_llvm_unroll_loop(vy_emitter *e, uint32_t loop) {
    const vy_stmt *s = vy_stmt_at(e->program, loop);
    vy_lane_affine now;
    uint8_t makes[VY_LLVM_LANES];
    if (e->mask || !vy_llvm_is_unrollable_loop(e, loop) || e->slots[s->variable].storage != VY_STORAGE_LANES ||
        !lane_affine_of(e, s->a, &now) || !is_number(&now))
        return 0;
    uint32_t to = (uint32_t)vy_expr_at(e->program, s->b)->bits, step = (uint32_t)vy_expr_at(e->program, s->c)->bits;
    uint32_t count = 0;
    for (uint32_t i = 0; i < e->width; i++)
        count += makes[i] = now.offset[i] < to;
    while (count && e->status == VYRE_OK) {
        write_trip(e, loop, &now, makes);
        count = 0;
        for (uint32_t i = 0; i < e->width; i++) {
            makes[i] &= to - now.offset[i] > step;
            now.offset[i] += step;
            count += makes[i];
        }
    }
    forget_trips(&e->slots[s->variable]);
    return 1;
}
