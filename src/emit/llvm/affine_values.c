/* Affine values: a value with a known stride is held as one scalar per row of lanes; speculative strides are checked
 * at run time. Invariant: a row's scalar is correct if any lane of the row executes. */
#include "emit/llvm/emitter.h"

#include <stddef.h>

/* ---- affine values ---- The invocations of a row of the workgroup are consecutive, and a gang is one row or a few:
 * `row_count` times `row` lanes. A value with a stride (analysis/uniformity.h) is held as one scalar for each row,
 * the value of the row's first lane; lane values are computed from it where they are needed. So index arithmetic is
 * scalar, and comparing two scalars decides whether a comparison holds in all lanes.
 *
 * A row's scalar is correct if any lane of the row executes. If none does, its value is arbitrary, so code that
 * accesses memory must check that first. */

uint32_t vy_llvm_row_of(const uint32_t *size, uint32_t width) {
    uint32_t row = size[0] & (0 - size[0]);
    if (row > width || (size[1] == 1 && size[2] == 1))
        row = width;
    return row * VY_LLVM_ROWS >= width ? row : 0;
}

/* ---- lanes of rows ---- */

static LLVMValueRef splat_row(vy_emitter *e, LLVMValueRef value) {
    LLVMValueRef none = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(value), e->row));
    LLVMValueRef first = LLVMBuildInsertElement(e->builder, none, value, vy_llvm_number(e, 32, 0), "");
    return LLVMBuildShuffleVector(e->builder, first, none, LLVMConstNull(LLVMVectorType(vy_llvm_int(e, 32), e->row)),
                                  "");
}

LLVMValueRef vy_llvm_row_lanes(vy_emitter *e, LLVMValueRef lanes, uint32_t k) {
    return vy_llvm_slice(e, lanes, k * e->row, e->row);
}

LLVMValueRef vy_llvm_lanes_of(vy_emitter *e, const LLVMValueRef *rows, uint64_t stride) {
    LLVMValueRef parts[VY_LLVM_ROWS], steps[VY_LLVM_LANES];
    for (uint32_t i = 0; i < e->row && stride; i++)
        steps[i] = LLVMConstInt(LLVMTypeOf(rows[0]), stride * i, 0);
    for (uint32_t k = 0; k < e->row_count; k++) {
        parts[k] = splat_row(e, rows[k]);
        if (stride)
            parts[k] = LLVMBuildAdd(e->builder, parts[k], LLVMConstVector(steps, e->row), "");
    }
    return vy_llvm_join(e, parts, e->row, e->width);
}

LLVMValueRef vy_llvm_row_executes(vy_emitter *e, uint32_t k) {
    if (!e->mask || e->row_count == 1)
        return NULL;
    LLVMTypeRef bits = vy_llvm_int(e, e->row);
    LLVMValueRef mask = LLVMBuildBitCast(e->builder, vy_llvm_row_lanes(e, e->mask, k), bits, "");
    return LLVMBuildICmp(e->builder, LLVMIntNE, mask, LLVMConstNull(bits), "");
}

/* ---- ids ---- */

static LLVMValueRef remainder_of(vy_emitter *e, LLVMValueRef value, uint32_t by) {
    LLVMValueRef divisor = vy_llvm_number(e, 32, by);
    return LLVMBuildURem(e->builder, value, vy_llvm_is_lanes(value) ? vy_llvm_splat(e, divisor) : divisor, "");
}

static LLVMValueRef quotient_of(vy_emitter *e, LLVMValueRef value, uint32_t by) {
    LLVMValueRef divisor = vy_llvm_number(e, 32, by);
    return LLVMBuildUDiv(e->builder, value, vy_llvm_is_lanes(value) ? vy_llvm_splat(e, divisor) : divisor, "");
}

/* For one invocation, or for lanes. */
static void split_index(vy_emitter *e, LLVMValueRef index, LLVMValueRef *ids) {
    const uint32_t *size = e->program->workgroup;
    for (int axis = 0; axis < 3; axis++) {
        int is_last = axis == 2 || (size[axis + 1] == 1 && (axis || size[2] == 1));
        ids[axis] = size[axis] == 1 ? LLVMConstNull(LLVMTypeOf(index))
                    : is_last       ? index
                                    : remainder_of(e, index, size[axis]);
        if (size[axis] > 1)
            index = quotient_of(e, index, size[axis]);
    }
}

void vy_llvm_find_ids(vy_emitter *e) {
    LLVMValueRef first = LLVMBuildMul(e->builder, e->gang, vy_llvm_number(e, 32, e->width), "");
    e->local_index = LLVMBuildAdd(e->builder, vy_llvm_splat(e, first), vy_llvm_iota(e, 32), "local_index");
    for (uint32_t k = 0; k < e->row_count; k++) {
        LLVMValueRef ids[3];
        e->row_index[k] = LLVMBuildAdd(e->builder, first, vy_llvm_number(e, 32, k * e->row), "");
        split_index(e, e->row_index[k], ids);
        for (int axis = 0; axis < 3; axis++)
            e->row_id[axis][k] = ids[axis];
    }
    if (!e->row)
        split_index(e, e->local_index, e->local_id);
    for (int axis = 0; axis < 3 && e->row; axis++)
        e->local_id[axis] = vy_llvm_lanes_of(e, e->row_id[axis], axis == 0 && e->program->workgroup[0] > 1);
    e->mask = NULL;
    if (e->group_size % e->width)
        e->mask = LLVMBuildICmp(e->builder, LLVMIntULT, e->local_index,
                                vy_llvm_splat(e, vy_llvm_number(e, 32, e->group_size)), "mask");
}

static LLVMValueRef builtin_of_row(vy_emitter *e, const vy_expr *x, uint32_t k) {
    if (x->op == VYRE_BUILTIN_LOCAL_INDEX)
        return e->row_index[k];
    if (x->op == VYRE_BUILTIN_LOCAL_ID)
        return e->row_id[x->axis][k];
    LLVMValueRef group = LLVMBuildLoad2(e->builder, vy_llvm_int(e, 32), e->group_id[x->axis], "");
    LLVMValueRef first = LLVMBuildMul(e->builder, group, vy_llvm_number(e, 32, e->program->workgroup[x->axis]), "");
    return LLVMBuildAdd(e->builder, first, e->row_id[x->axis][k], "");
}

/* ---- values ---- */

int vy_llvm_has_rows(const vy_emitter *e, uint32_t expr) {
    uint64_t stride;
    return e->row && vy_stride_of(e->uniform, expr, &stride);
}

LLVMValueRef vy_llvm_row_of_lanes(vy_emitter *e, uint32_t expr, LLVMValueRef value, uint32_t k) {
    LLVMTypeRef i32 = vy_llvm_int(e, 32), bits = vy_llvm_int(e, e->row);
    LLVMValueRef lane = vy_llvm_number(e, 32, k * e->row);
    uint64_t stride = 0;
    if (!vy_llvm_is_lanes(value))
        return value;
    if (!e->mask || vy_llvm_is_whole(e, expr))
        return LLVMBuildExtractElement(e->builder, value, lane, "");
    LLVMValueRef args[2] = {LLVMBuildBitCast(e->builder, vy_llvm_row_lanes(e, e->mask, k), bits, ""),
                            vy_llvm_number(e, 1, 0)};
    LLVMValueRef ahead = vy_llvm_intrinsic(e, "llvm.cttz", &bits, 1, args, 2);
    ahead = e->row < 32 ? LLVMBuildZExt(e->builder, ahead, i32, "") : LLVMBuildTrunc(e->builder, ahead, i32, "");
    ahead = LLVMBuildAnd(e->builder, ahead, vy_llvm_number(e, 32, e->row - 1), ""); /* arbitrary if none executes */
    value = LLVMBuildExtractElement(e->builder, value, LLVMBuildAdd(e->builder, lane, ahead, ""), "");
    if (!vy_stride_of(e->uniform, expr, &stride) || !stride)
        return value;
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMValueRef by = LLVMBuildIntCast2(e->builder, ahead, type, 0, "");
    return LLVMBuildSub(e->builder, value, LLVMBuildMul(e->builder, by, LLVMConstInt(type, stride, 0), ""), "");
}

/* A divisor that cannot trap: in a row without executing lanes the divisor is arbitrary and could be zero. */
static LLVMValueRef safe_divisor(vy_emitter *e, LLVMValueRef divisor, uint32_t k) {
    LLVMValueRef executes = LLVMIsConstant(divisor) ? NULL : vy_llvm_row_executes(e, k);
    return executes ? LLVMBuildSelect(e->builder, executes, divisor, LLVMConstInt(LLVMTypeOf(divisor), 1, 0), "")
                    : divisor;
}

/* The operands of a value with a stride have strides too. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
LLVMValueRef vy_llvm_row_base(vy_emitter *e, uint32_t expr, uint32_t k) {
    const vy_expr *x = vy_expr_at(e->program, expr);
    const vy_value_slot *slot = x->kind == VY_EXPR_VARIABLE ? &e->slots[x->a] : NULL;
    if (vy_expr_uniformity(e->uniform, expr) != VY_UNIFORMITY_DIVERGENT)
        return vy_llvm_expr(e, expr);
    if (slot && slot->storage == VY_STORAGE_REMAT)
        return vy_llvm_row_base(e, slot->made_of, k);
    if (slot && slot->rows[k] && !slot->stride_guard)
        return slot->rows_are_places
                   ? LLVMBuildLoad2(e->builder, vy_llvm_type(e, (vyre_type)x->type), slot->rows[k], "")
                   : slot->rows[k];
    if (x->kind == VY_EXPR_BUILTIN)
        return builtin_of_row(e, x, k);
    if (x->kind == VY_EXPR_LOAD)
        return vy_llvm_load_row(e, expr, k);
    if (x->kind != VY_EXPR_OP)
        return vy_llvm_row_of_lanes(e, expr, vy_llvm_expr(e, expr), k);
    unsigned arity = vyre_op_get((vyre_op)x->op)->arity;
    const uint32_t *from = VY_EXPR_OPERANDS(x);
    LLVMValueRef values[3] = {NULL, NULL, NULL};
    for (unsigned i = 0; i < arity; i++)
        values[i] = vy_llvm_row_base(e, from[i], k);
    vyre_type type = vy_operand_type(e->program, x);
    if ((x->op == VYRE_OP_DIV || x->op == VYRE_OP_REM) && vyre_type_class(type) != VYRE_CLASS_FLOAT)
        values[1] = safe_divisor(e, values[1], k);
    return vy_llvm_op(e, x, type, values[0], values[1], values[2]);
}

/* ---- conditions that hold in all lanes ---- */

/* The row's scalar, of at most 32 bits, extended to i64, so that adding lane numbers cannot overflow. */
static LLVMValueRef wide_row(vy_emitter *e, uint32_t expr, uint32_t k, int is_signed, LLVMValueRef *stride_guard) {
    LLVMTypeRef i64 = vy_llvm_int(e, 64);
    LLVMValueRef row = vy_llvm_guarded_row_base(e, expr, k, stride_guard);
    return is_signed ? LLVMBuildSExt(e->builder, row, i64, "") : LLVMBuildZExt(e->builder, row, i64, "");
}

/* A comparison of a value with stride 1 and a uniform one: its extreme lane decides for the row. If values wrap
 * within the row, the result is false: some lane has the largest value, and the deciding lane is beyond it. */
static LLVMValueRef counting_holds(vy_emitter *e, const vy_expr *x, uint64_t a_stride, uint32_t k,
                                   LLVMValueRef *stride_guard) {
    vyre_type type = (vyre_type)vy_expr_at(e->program, x->a)->type;
    int is_signed = vyre_type_class(type) == VYRE_CLASS_SIGNED, is_below = x->op == VYRE_OP_LT || x->op == VYRE_OP_LE;
    int has_equal = x->op == VYRE_OP_LE || x->op == VYRE_OP_GE;
    LLVMValueRef ahead = vy_llvm_number(e, 64, e->row - 1);
    LLVMValueRef a = wide_row(e, x->a, k, is_signed, stride_guard), b = wide_row(e, x->b, k, is_signed, stride_guard);
    if ((a_stride == 1) == is_below) /* the last lane decides */
        return LLVMBuildICmp(e->builder,
                             is_below ? (has_equal ? LLVMIntSLE : LLVMIntSLT) : (has_equal ? LLVMIntSGE : LLVMIntSGT),
                             is_below ? LLVMBuildAdd(e->builder, a, ahead, "") : a,
                             is_below ? b : LLVMBuildAdd(e->builder, b, ahead, ""), "");
    /* The first lane decides, if the values do not wrap within the row. */
    unsigned bits = vyre_type_bits(type);
    LLVMValueRef most = vy_llvm_number(e, 64, (UINT64_C(1) << (bits - (unsigned)is_signed)) - e->row);
    LLVMValueRef goes_on = LLVMBuildICmp(e->builder, LLVMIntSLE, a_stride == 1 ? a : b, most, "");
    LLVMValueRef first = LLVMBuildICmp(
        e->builder, is_below ? (has_equal ? LLVMIntSLE : LLVMIntSLT) : (has_equal ? LLVMIntSGE : LLVMIntSGT), a, b, "");
    return LLVMBuildAnd(e->builder, first, goes_on, "");
}

/* Whether the op compares a value with stride 1 and one that is uniform in the row. */
static int is_counting(const vy_emitter *e, const vy_expr *x, uint64_t *a_stride) {
    uint64_t b_stride;
    if (x->kind != VY_EXPR_OP || x->op < VYRE_OP_LT || x->op > VYRE_OP_GE)
        return 0;
    vyre_type type = (vyre_type)vy_expr_at(e->program, x->a)->type;
    return vyre_type_class(type) != VYRE_CLASS_FLOAT && vyre_type_bits(type) <= 32 &&
           (UINT64_C(1) << (vyre_type_bits(type) - 1)) > e->row && vy_llvm_guarded_stride(e, x->a, a_stride) &&
           vy_llvm_guarded_stride(e, x->b, &b_stride) && *a_stride + b_stride == 1;
}

static LLVMValueRef holds_in_rows(vy_emitter *e, uint32_t expr, int counts, uint64_t a_stride) {
    LLVMValueRef all = NULL, stride_guard = NULL;
    for (uint32_t k = 0; k < e->row_count; k++)
        all = vy_llvm_both(e, all,
                           counts ? counting_holds(e, vy_expr_at(e->program, expr), a_stride, k, &stride_guard)
                                  : vy_llvm_row_base(e, expr, k));
    return vy_llvm_both(e, all, stride_guard);
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
LLVMValueRef vy_llvm_all_true(vy_emitter *e, uint32_t expr) {
    const vy_expr *x = vy_expr_at(e->program, expr);
    uint64_t stride;
    if (vy_expr_uniformity(e->uniform, expr) != VY_UNIFORMITY_DIVERGENT)
        return vy_llvm_expr(e, expr);
    if (x->kind == VY_EXPR_VARIABLE && e->slots[x->a].holds)
        return e->slots[x->a].holds;
    if (x->kind == VY_EXPR_VARIABLE && e->slots[x->a].storage == VY_STORAGE_REMAT)
        return vy_llvm_all_true(e, e->slots[x->a].made_of);
    if (x->kind == VY_EXPR_OP && x->op == VYRE_OP_LAND) {
        LLVMValueRef a = vy_llvm_all_true(e, x->a), b = a ? vy_llvm_all_true(e, x->b) : NULL;
        return b ? LLVMBuildAnd(e->builder, a, b, "") : NULL;
    }
    LLVMValueRef known = vy_llvm_constants_all_true(e, x);
    if (known || !e->row)
        return known;
    int counts = is_counting(e, x, &stride);
    if (!counts && !vy_stride_of(e->uniform, expr, &stride))
        return NULL;
    return holds_in_rows(e, expr, counts, stride);
}

/* A condition with a speculative stride is not exact where the guard fails. Recursion is bounded by
 * VY_LIMIT_EXPRESSION_DEPTH. */
int vy_llvm_all_true_is_exact(const vy_emitter *e, uint32_t expr) {
    const vy_expr *x = vy_expr_at(e->program, expr);
    uint64_t stride;
    if (vy_expr_uniformity(e->uniform, expr) != VY_UNIFORMITY_DIVERGENT)
        return 1;
    if (x->kind == VY_EXPR_VARIABLE && e->slots[x->a].made_of != VY_NONE)
        return vy_llvm_all_true_is_exact(e, e->slots[x->a].made_of);
    if (x->kind == VY_EXPR_OP && x->op == VYRE_OP_LAND)
        return vy_llvm_all_true_is_exact(e, x->a) && vy_llvm_all_true_is_exact(e, x->b);
    if (is_counting(e, x, &stride))
        return vy_stride_of(e->uniform, x->a, &stride) && vy_stride_of(e->uniform, x->b, &stride);
    return vy_stride_of(e->uniform, expr, &stride);
}

/* ---- speculative strides ----
 *
 * If x has stride 1 and [x, x + row) does not cross a multiple of d, then x % d has stride 1 and x / d is uniform
 * within the row. The same holds for sums of such values. A value with a speculative stride has a scalar for each row
 * and a run-time condition (stride_guard) under which the scalars are correct; where it fails, per-lane code runs. */

static int is_division(const vyre_program *p, const vy_expr *x) {
    return x->kind == VY_EXPR_OP && (x->op == VYRE_OP_DIV || x->op == VYRE_OP_REM) && x->type == VYRE_TYPE_U32 &&
           vy_expr_at(p, x->b)->kind != VY_EXPR_LITERAL;
}

/* The stride of an op from the strides of its operands. */
static int stride_of_op(const vy_expr *x, const uint64_t *strides, uint64_t *stride) {
    *stride = 0;
    if (!strides[0] && !strides[1] && !strides[2])
        return 1;
    if (x->type != VYRE_TYPE_U32)
        return 0;
    if (x->op == VYRE_OP_ADD)
        *stride = (uint32_t)(strides[0] + strides[1]);
    else if (x->op == VYRE_OP_SUB)
        *stride = (uint32_t)(strides[0] - strides[1]);
    else if (x->op == VYRE_OP_SELECT && !strides[0] && strides[1] == strides[2])
        *stride = strides[1];
    return *stride != 0;
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
int vy_llvm_guarded_stride(const vy_emitter *e, uint32_t expr, uint64_t *stride) {
    const vy_expr *x = vy_expr_at(e->program, expr);
    if (!e->row)
        return 0;
    if (vy_stride_of(e->uniform, expr, stride))
        return 1;
    if (x->kind == VY_EXPR_VARIABLE) {
        *stride = e->slots[x->a].guarded_stride;
        return e->slots[x->a].stride_guard != NULL;
    }
    if (x->kind != VY_EXPR_OP)
        return 0;
    const uint32_t *from = VY_EXPR_OPERANDS(x);
    uint64_t strides[3] = {0, 0, 0};
    for (unsigned i = 0; i < vyre_op_get((vyre_op)x->op)->arity; i++)
        if (!vy_llvm_guarded_stride(e, from[i], &strides[i]))
            return 0;
    if (is_division(e->program, x) && strides[0] == 1 && !strides[1]) {
        *stride = x->op == VYRE_OP_REM;
        return 1;
    }
    return stride_of_op(x, strides, stride);
}

/* Whether the row reaches neither the next multiple of the divisor nor 2^32. */
static LLVMValueRef is_within(vy_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    LLVMTypeRef i64 = vy_llvm_int(e, 64);
    LLVMValueRef rest = LLVMBuildURem(e->builder, a, b, ""), lanes = vy_llvm_number(e, 64, e->row);
    LLVMValueRef end = LLVMBuildAdd(e->builder, LLVMBuildZExt(e->builder, rest, i64, ""), lanes, "");
    LLVMValueRef within = LLVMBuildICmp(e->builder, LLVMIntULE, end, LLVMBuildZExt(e->builder, b, i64, ""), "");
    LLVMValueRef last = vy_llvm_number(e, 32, UINT32_MAX - e->row);
    return LLVMBuildAnd(e->builder, within, LLVMBuildICmp(e->builder, LLVMIntULE, a, last, ""), "");
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
LLVMValueRef vy_llvm_guarded_row_base(vy_emitter *e, uint32_t expr, uint32_t k, LLVMValueRef *stride_guard) {
    const vy_expr *x = vy_expr_at(e->program, expr);
    uint64_t stride;
    if (vy_stride_of(e->uniform, expr, &stride))
        return vy_llvm_row_base(e, expr, k);
    if (x->kind == VY_EXPR_VARIABLE) {
        *stride_guard = vy_llvm_both(e, *stride_guard, e->slots[x->a].stride_guard);
        return e->slots[x->a].rows[k];
    }
    const uint32_t *from = VY_EXPR_OPERANDS(x);
    LLVMValueRef values[3] = {NULL, NULL, NULL};
    for (unsigned i = 0; i < vyre_op_get((vyre_op)x->op)->arity; i++)
        values[i] = vy_llvm_guarded_row_base(e, from[i], k, stride_guard);
    if (is_division(e->program, x)) {
        values[1] = safe_divisor(e, values[1], k);
        *stride_guard = vy_llvm_both(e, *stride_guard, is_within(e, values[0], values[1]));
    }
    vyre_type type = vy_operand_type(e->program, x);
    return vy_llvm_op(e, x, type, values[0], values[1], values[2]);
}

/* Run-time contiguity checks: indices without a known stride are compared at run time, and accessed as vectors where
 * they are contiguous.
 *
 * Such indices are often contiguous, for example those of a butterfly, or of a tile whose size is a param. A vector
 * access costs a tenth of a gather; the check costs about as much as the vector access.
 *
 * A gang is checked in parts of one hardware vector or a few more lanes. The vector access is used only if all parts
 * are contiguous. */
#define B e->builder

enum { PART = 16 };

static uint32_t part_lanes(const vy_emitter *e) {
    return e->width < PART ? e->width : PART;
}

/* ---- which indices are checked ---- */

/* Whether a value is computed from ids and uniform values only, without loads. Recursion is bounded by
 * VY_LIMIT_EXPRESSION_DEPTH. */
static int is_computed(const vy_emitter *e, uint32_t expr) {
    if (expr == VY_NONE || vy_expr_uniformity(e->uniform, expr) != VY_UNIFORMITY_DIVERGENT)
        return 1;
    const vy_expr *x = vy_expr_at(e->program, expr);
    if (x->kind == VY_EXPR_VARIABLE)
        return e->slots[x->a].is_computed;
    if (x->kind == VY_EXPR_OP)
        return is_computed(e, x->a) && is_computed(e, x->b) && is_computed(e, x->c);
    return x->kind != VY_EXPR_LOAD;
}

void vy_llvm_plan_contiguous_checks(vy_emitter *e) {
    for (uint32_t i = e->body->first_stmt; i < e->body->end_stmt; i++) {
        const vy_stmt *s = vy_stmt_at(e->program, i);
        if (s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR)
            e->slots[s->variable].is_computed = (uint8_t)is_computed(e, s->a);
        else if (s->kind == VY_STMT_ASSIGN)
            e->slots[s->variable].is_computed &= (uint8_t)is_computed(e, s->a);
    }
}

int vy_llvm_may_be_contiguous(const vy_emitter *e, uint32_t memory, uint32_t index) {
    return vy_memory_at(e->program, memory)->space != VY_SPACE_PRIVATE && is_computed(e, index);
}

/* ---- the check ---- */

/* By lane: its number within its part, or the number of the part's first lane. */
static LLVMValueRef part_numbers(vy_emitter *e, int of_first) {
    LLVMValueRef all[VY_LLVM_LANES];
    uint32_t part = part_lanes(e);
    for (uint32_t i = 0; i < e->width; i++)
        all[i] = vy_llvm_number(e, 32, of_first ? i - i % part : i % part);
    return LLVMConstVector(all, e->width);
}

/* By lane: the index of the first lane of its part, if the part is contiguous. */
static LLVMValueRef starts_of(vy_emitter *e, LLVMValueRef index) {
    return LLVMBuildSub(B, index, part_numbers(e, 0), "");
}

/* Under a mask the first lane of a part may be inactive with an index below zero, and the computed start would wrap.
 * Such a part counts as not contiguous. */
LLVMValueRef vy_llvm_is_contiguous_dyn(vy_emitter *e, LLVMValueRef index, LLVMValueRef mask) {
    LLVMValueRef starts = starts_of(e, index);
    LLVMValueRef first = LLVMBuildShuffleVector(B, starts, LLVMGetPoison(LLVMTypeOf(starts)), part_numbers(e, 1), "");
    LLVMValueRef is = LLVMBuildICmp(B, LLVMIntEQ, starts, first, "");
    if (mask)
        is = LLVMBuildAnd(B, is, LLVMBuildICmp(B, LLVMIntULE, starts, index, ""), "");
    return vy_llvm_all(e, is);
}

/* ---- accesses ---- */

typedef struct part {
    LLVMValueRef at, mask; /* NULL: all lanes */
    LLVMValueRef lanes;    /* the lane numbers of the part */
} part;

static part part_at(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef mask, uint32_t first) {
    part p = {.at = vy_llvm_address(e, memory, vy_llvm_lane(e, index, first)),
              .lanes = vy_llvm_numbers(e, first, part_lanes(e))};
    if (mask)
        p.mask = LLVMBuildShuffleVector(B, mask, LLVMGetPoison(LLVMTypeOf(mask)), p.lanes, "");
    return p;
}

/* Inserts the lanes of a part into a longer vector. */
static LLVMValueRef put_part(vy_emitter *e, LLVMValueRef whole, LLVMValueRef value, uint32_t first) {
    LLVMValueRef places[VY_LLVM_LANES];
    uint32_t lanes = part_lanes(e);
    if (lanes == e->width)
        return value;
    for (uint32_t i = 0; i < e->width; i++)
        places[i] = vy_llvm_number(e, 32, i < lanes ? i : 0);
    LLVMValueRef wide =
        LLVMBuildShuffleVector(B, value, LLVMGetPoison(LLVMTypeOf(value)), LLVMConstVector(places, e->width), "");
    for (uint32_t i = 0; i < e->width; i++)
        places[i] = vy_llvm_number(e, 32, i >= first && i < first + lanes ? e->width + i - first : i);
    return LLVMBuildShuffleVector(B, whole, wide, LLVMConstVector(places, e->width), "");
}

LLVMValueRef vy_llvm_load_contiguous_dyn(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef mask) {
    LLVMTypeRef type = vy_llvm_type(e, (vyre_type)vy_memory_at(e->program, memory)->type);
    LLVMTypeRef lanes = LLVMVectorType(type, part_lanes(e));
    LLVMValueRef alignment = vy_llvm_number(e, 32, vy_llvm_element_size(e, memory)),
                 whole = LLVMGetPoison(vy_llvm_lanes(e, type));
    for (uint32_t first = 0; first < e->width; first += part_lanes(e)) {
        part p = part_at(e, memory, index, mask, first);
        LLVMValueRef args[4] = {p.at, alignment, p.mask, LLVMConstNull(lanes)}, value;
        if (mask) {
            value = vy_llvm_intrinsic(e, "llvm.masked.load", (LLVMTypeRef[]){lanes, vy_llvm_pointer(e)}, 2, args, 4);
        } else {
            value = LLVMBuildLoad2(B, lanes, p.at, "");
            LLVMSetAlignment(value, (unsigned)LLVMConstIntGetZExtValue(alignment));
        }
        whole = put_part(e, whole, value, first);
    }
    return whole;
}

void vy_llvm_store_contiguous_dyn(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef value,
                                  LLVMValueRef mask) {
    LLVMValueRef alignment = vy_llvm_number(e, 32, vy_llvm_element_size(e, memory));
    for (uint32_t first = 0; first < e->width; first += part_lanes(e)) {
        part p = part_at(e, memory, index, mask, first);
        LLVMValueRef own = LLVMBuildShuffleVector(B, value, LLVMGetPoison(LLVMTypeOf(value)), p.lanes, "");
        if (mask) {
            LLVMValueRef args[4] = {own, p.at, alignment, p.mask};
            vy_llvm_intrinsic(e, "llvm.masked.store", (LLVMTypeRef[]){LLVMTypeOf(own), vy_llvm_pointer(e)}, 2, args, 4);
        } else {
            LLVMSetAlignment(LLVMBuildStore(B, own, p.at), (unsigned)LLVMConstIntGetZExtValue(alignment));
        }
    }
}
