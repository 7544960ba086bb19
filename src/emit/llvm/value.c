/* Expressions and variables, as scalars or vectors of lanes. Invariant: a uniform value is a scalar, a divergent one
 * a vector. */
#include "emit/llvm/emitter.h"
#include "emit/llvm/kernel_abi.h"
#include "ir/eval.h"

#include <string.h>

/* ---- uniformity ---- */

int vy_llvm_is_divergent(const vy_emitter *e, uint32_t expr) {
    return expr != VY_NONE && e->group_size > 1 && vy_expr_uniformity(e->uniform, expr) == VY_UNIFORMITY_DIVERGENT;
}

int vy_llvm_is_polled(const vy_emitter *e, uint32_t stmt) {
    const vy_stmt *s = vy_stmt_at(e->program, stmt), *before = s - 1;
    if (s->kind != VY_STMT_IF || stmt == e->body->first_stmt || before->kind != VY_STMT_POLL)
        return 0;
    const vy_expr *x = vy_expr_at(e->program, s->a);
    return x->kind == VY_EXPR_VARIABLE && x->a == before->variable;
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
int vy_llvm_is_whole(const vy_emitter *e, uint32_t expr) {
    if (expr == VY_NONE || vy_expr_uniformity(e->uniform, expr) != VY_UNIFORMITY_DIVERGENT)
        return 1;
    const vy_expr *x = vy_expr_at(e->program, expr);
    if (x->kind == VY_EXPR_VARIABLE)
        return e->slots[x->a].is_whole || e->slots[x->a].storage == VY_STORAGE_REMAT;
    if (x->kind == VY_EXPR_LOAD)
        return !e->mask && vy_llvm_is_whole(e, x->b) && vy_llvm_is_whole(e, x->c);
    return x->kind != VY_EXPR_OP ||
           (vy_llvm_is_whole(e, x->a) && vy_llvm_is_whole(e, x->b) && vy_llvm_is_whole(e, x->c));
}

/* ---- variables ---- */

static vyre_type type_of(const vy_emitter *e, uint32_t variable) {
    return (vyre_type)vy_variable_at(e->program, variable)->type;
}

/* The spill slot: one vector per gang. For a slot on the stack LLVM can prove that it is dead afterwards, and
 * promotes it to registers if the gangs are unrolled. */
static LLVMValueRef spilled_at(vy_emitter *e, uint32_t variable) {
    vy_value_slot *slot = &e->slots[variable];
    uint64_t bytes = e->width * vy_llvm_size(type_of(e, variable));
    LLVMValueRef gang = LLVMBuildZExt(e->builder, e->gang, vy_llvm_int(e, 64), "");
    LLVMValueRef offset = LLVMBuildMul(e->builder, gang, vy_llvm_number(e, 64, bytes), "");
    if (slot->is_on_stack)
        return vy_llvm_offset_pointer(e, slot->stack, offset);
    LLVMValueRef start = vy_llvm_number(e, 64, e->slots[variable].offset);
    return vy_llvm_offset_pointer(e, e->spill, LLVMBuildAdd(e->builder, offset, start, ""));
}

/* LLVM would assume that a large vector is aligned to its size, which the frame's memory is not. */
static unsigned spill_alignment(const vy_emitter *e, uint32_t variable) {
    uint64_t bytes = e->width * vy_llvm_size(type_of(e, variable));
    return bytes < VY_CPU_ALIGNMENT ? (unsigned)bytes : VY_CPU_ALIGNMENT;
}

static void make_stack(vy_emitter *e, uint32_t variable) {
    uint64_t bytes = (uint64_t)e->gangs * e->width * vy_llvm_size(type_of(e, variable));
    e->slots[variable].stack = vy_llvm_alloca(e, LLVMArrayType2(vy_llvm_int(e, 8), bytes), "kept");
    LLVMSetAlignment(e->slots[variable].stack, VY_CPU_ALIGNMENT);
}

/* Loads a spilled variable. The gang's code uses a copy that LLVM keeps in registers. Bools are bytes in memory. */
static void bring(vy_emitter *e, uint32_t variable) {
    vy_value_slot *slot = &e->slots[variable];
    uint32_t *here = VY_PUSH(&e->here);
    int is_bool = type_of(e, variable) == VYRE_TYPE_BOOL;
    if (!here) {
        e->status = VYRE_NO_MEMORY;
        return;
    }
    if (slot->is_on_stack && !slot->stack)
        make_stack(e, variable);
    LLVMBasicBlockRef now = LLVMGetInsertBlock(e->builder);
    LLVMPositionBuilderBefore(e->builder, LLVMGetBasicBlockTerminator(e->gang_start));
    *here = variable;
    slot->is_here = 1;
    slot->memory = spilled_at(e, variable);
    LLVMTypeRef type = is_bool ? vy_llvm_int(e, 8) : vy_llvm_type(e, type_of(e, variable));
    LLVMValueRef value = LLVMBuildLoad2(e->builder, vy_llvm_lanes(e, type), slot->memory, "");
    LLVMSetAlignment(value, spill_alignment(e, variable));
    if (slot->is_on_stack) /* lanes that were never written are undefined: freeze makes them arbitrary but fixed */
        value = LLVMBuildFreeze(e->builder, value, "");
    if (is_bool)
        value = LLVMBuildICmp(e->builder, LLVMIntNE, value, LLVMConstNull(LLVMTypeOf(value)), "");
    LLVMBuildStore(e->builder, value, slot->place);
    vy_llvm_position_at(e, now);
}

void vy_llvm_writeback(vy_emitter *e) {
    for (size_t i = 0; i < e->here.count; i++) {
        uint32_t variable = e->here.items[i];
        vy_value_slot *slot = &e->slots[variable];
        if (slot->is_changed) {
            LLVMTypeRef lanes = vy_llvm_lanes(e, vy_llvm_type(e, type_of(e, variable)));
            LLVMValueRef value = LLVMBuildLoad2(e->builder, lanes, slot->place, "");
            if (type_of(e, variable) == VYRE_TYPE_BOOL)
                value = LLVMBuildZExt(e->builder, value, vy_llvm_lanes(e, vy_llvm_int(e, 8)), "");
            LLVMSetAlignment(LLVMBuildStore(e->builder, value, slot->memory), spill_alignment(e, variable));
        }
        slot->is_here = slot->is_changed = 0;
    }
    e->here.count = 0;
}

static LLVMTypeRef place_type(vy_emitter *e, uint32_t variable) {
    LLVMTypeRef type = vy_llvm_type(e, type_of(e, variable));
    return e->slots[variable].storage == VY_STORAGE_SCALAR ? type : vy_llvm_lanes(e, type);
}

static LLVMValueRef place_of(vy_emitter *e, uint32_t variable) {
    vy_value_slot *slot = &e->slots[variable];
    if (!slot->place)
        slot->place = vy_llvm_alloca(e, place_type(e, variable),
                                     vy_symbol_name(e->program, vy_variable_at(e->program, variable)->name));
    if (slot->storage == VY_STORAGE_SPILL && !slot->is_here)
        bring(e, variable);
    return slot->place;
}

LLVMValueRef vy_llvm_variable(vy_emitter *e, uint32_t variable) {
    uint32_t param = variable - e->body->first_variable;
    if (param < e->program->param_count)
        return e->params[param];
    if (e->slots[variable].storage == VY_STORAGE_REMAT)
        return vy_llvm_expr(e, e->slots[variable].made_of);
    return LLVMBuildLoad2(e->builder, place_type(e, variable), place_of(e, variable), "");
}

static void put(vy_emitter *e, uint32_t variable, LLVMValueRef value) {
    LLVMBuildStore(e->builder, value, place_of(e, variable));
    e->slots[variable].is_changed = 1;
}

void vy_llvm_declare(vy_emitter *e, uint32_t variable, LLVMValueRef value) {
    e->slots[variable].depth = e->depth;
    put(e, variable, e->slots[variable].storage == VY_STORAGE_SCALAR ? value : vy_llvm_splat(e, value));
}

void vy_llvm_assign(vy_emitter *e, uint32_t variable, LLVMValueRef value) {
    const vy_value_slot *slot = &e->slots[variable];
    if (slot->storage == VY_STORAGE_SCALAR) {
        put(e, variable, value);
        return;
    }
    value = vy_llvm_splat(e, value);
    if (e->mask && slot->depth != e->depth)
        value = LLVMBuildSelect(e->builder, e->mask, value, vy_llvm_variable(e, variable), "");
    put(e, variable, value);
}

/* Masks are compared per lane, not assembled from rows: processors have no instruction for that. */
static int is_by_rows(const vy_emitter *e, uint32_t expr) {
    const vy_expr *x = vy_expr_at(e->program, expr);
    return e->by_rows && (x->kind == VY_EXPR_OP || x->kind == VY_EXPR_BUILTIN) && x->type != VYRE_TYPE_BOOL &&
           vy_llvm_has_rows(e, expr) && vy_expr_uniformity(e->uniform, expr) == VY_UNIFORMITY_DIVERGENT;
}

/* A `let` is immutable, so its row scalars stay valid. */
void vy_llvm_define(vy_emitter *e, const vy_stmt *s) {
    vy_value_slot *slot = &e->slots[s->variable];
    uint64_t stride = 0;
    if (slot->storage == VY_STORAGE_REMAT)
        return;
    int has_rows = e->row && slot->storage == VY_STORAGE_LANES && vy_variable_stride(e->uniform, s->variable, &stride);
    int may_have = !has_rows && s->kind == VY_STMT_LET && slot->storage == VY_STORAGE_LANES &&
                   type_of(e, s->variable) == VYRE_TYPE_U32 && vy_llvm_guarded_stride(e, s->a, &stride);
    LLVMValueRef rows[VY_LLVM_ROWS] = {NULL}, holds = NULL, stride_guard = NULL;
    for (uint32_t k = 0; (has_rows || may_have) && k < e->row_count; k++)
        rows[k] = has_rows ? vy_llvm_row_base(e, s->a, k) : vy_llvm_guarded_row_base(e, s->a, k, &stride_guard);
    if (s->kind == VY_STMT_LET && slot->storage == VY_STORAGE_LANES && type_of(e, s->variable) == VYRE_TYPE_BOOL)
        holds = vy_llvm_all_true(e, s->a);
    vy_llvm_declare(e, s->variable,
                    has_rows && is_by_rows(e, s->a) ? vy_llvm_lanes_of(e, rows, stride) : vy_llvm_expr(e, s->a));
    slot->is_whole = (uint8_t)vy_llvm_is_whole(e, s->a);
    memcpy(slot->rows, rows, sizeof rows);
    slot->stride_guard = stride_guard;
    slot->guarded_stride = stride;
    slot->holds = holds;
    vy_llvm_note_lane_affine(e, s);
}

/* ---- expressions ---- */

static LLVMValueRef literal(vy_emitter *e, const vy_expr *x) {
    LLVMTypeRef type = vy_llvm_type(e, (vyre_type)x->type);
    if (vyre_type_class((vyre_type)x->type) != VYRE_CLASS_FLOAT || vyre_type_bits((vyre_type)x->type) == 16)
        return LLVMConstInt(type, x->bits, 0);
    return LLVMConstBitCast(vy_llvm_number(e, vyre_type_bits((vyre_type)x->type), x->bits), type);
}

static LLVMValueRef group_id(vy_emitter *e, unsigned axis) {
    return LLVMBuildLoad2(e->builder, vy_llvm_int(e, 32), e->group_id[axis], "");
}

static LLVMValueRef builtin(vy_emitter *e, const vy_expr *x) {
    LLVMValueRef size = vy_llvm_number(e, 32, e->program->workgroup[x->axis]);
    switch ((vyre_builtin)x->op) {
    case VYRE_BUILTIN_GLOBAL_ID: {
        LLVMValueRef first = LLVMBuildMul(e->builder, group_id(e, x->axis), size, "");
        if (e->program->workgroup[x->axis] == 1)
            return vy_llvm_splat(e, first);
        return LLVMBuildAdd(e->builder, vy_llvm_splat(e, first), e->local_id[x->axis], "");
    }
    case VYRE_BUILTIN_LOCAL_ID:
        return e->local_id[x->axis];
    case VYRE_BUILTIN_GROUP_ID:
        return group_id(e, x->axis);
    case VYRE_BUILTIN_WORKGROUP_SIZE:
        return size;
    case VYRE_BUILTIN_GROUP_COUNT:
        return e->groups[x->axis];
    case VYRE_BUILTIN_GLOBAL_SIZE:
        return LLVMBuildMul(e->builder, e->groups[x->axis], size, "");
    default:
        return e->local_index;
    }
}

static LLVMValueRef length(vy_emitter *e, const vy_expr *x) {
    const vy_memory *m = vy_memory_at(e->program, x->a);
    uint32_t buffer = x->a - e->body->first_memory;
    if (m->space != VY_SPACE_BUFFER)
        return vy_llvm_number(e, 32, x->kind == VY_EXPR_LEN ? m->elements : 0);
    return x->kind == VY_EXPR_LEN ? e->count[buffer] : e->misalignment[buffer];
}

/* If one operand is a vector, the others become vectors: LLVM mixes them only in a select, whose condition may be a
 * scalar. */
static LLVMValueRef plain_op(vy_emitter *e, const vy_expr *x) {
    unsigned arity = vyre_op_get((vyre_op)x->op)->arity;
    const uint32_t *from = VY_EXPR_OPERANDS(x);
    LLVMValueRef values[3] = {NULL, NULL, NULL};
    int is_select = x->op == VYRE_OP_SELECT, has_lanes = 0;
    for (unsigned i = 0; i < arity; i++) {
        values[i] = vy_llvm_expr(e, from[i]);
        has_lanes |= vy_llvm_is_lanes(values[i]);
    }
    vyre_type type = vy_operand_type(e->program, x);
    if (arity == 2 && vy_llvm_divides_by_one((vyre_op)x->op, type, values[0], values[1]))
        has_lanes = 0;
    for (unsigned i = is_select && !vy_llvm_is_lanes(values[0]); i < arity && has_lanes; i++)
        values[i] = vy_llvm_splat(e, values[i]);
    return vy_llvm_op(e, x, type, values[0], values[1], values[2]);
}

/* Legalisation tests for NaN with integers, (bits & 0x7fffffff) > 0x7f800000; this uses a float comparison instead.
 * NULL: not such a test. */
static LLVMValueRef is_nan(vy_emitter *e, const vy_expr *x) {
    const vy_expr *exprs = e->program->exprs.items, *size = &exprs[x->a];
    vyre_type type = (vyre_type)size->type, as = type == VYRE_TYPE_U32 ? VYRE_TYPE_F32 : VYRE_TYPE_F64;
    uint64_t infinity = as == VYRE_TYPE_F32 ? UINT64_C(0x7f800000) : UINT64_C(0x7ff0000000000000);
    uint64_t all = as == VYRE_TYPE_F32 ? UINT64_C(0x7fffffff) : UINT64_C(0x7fffffffffffffff);
    if ((type != VYRE_TYPE_U32 && type != VYRE_TYPE_U64) || exprs[x->b].kind != VY_EXPR_LITERAL ||
        exprs[x->b].bits != infinity || size->kind != VY_EXPR_OP || size->op != VYRE_OP_AND ||
        exprs[size->b].kind != VY_EXPR_LITERAL || exprs[size->b].bits != all)
        return NULL;
    LLVMValueRef bits = vy_llvm_expr(e, size->a);
    LLVMTypeRef one = vy_llvm_type(e, as);
    LLVMValueRef value = LLVMBuildBitCast(e->builder, bits, vy_llvm_is_lanes(bits) ? vy_llvm_lanes(e, one) : one, "");
    return LLVMBuildFCmp(e->builder, LLVMRealUNO, value, value, "");
}

/* Ops that are matched together with their operands. */
static LLVMValueRef op(vy_emitter *e, const vy_expr *x) {
    LLVMValueRef whole = x->op == VYRE_OP_SELECT ? vy_llvm_load_or_zero(e, x)
                         : x->op == VYRE_OP_OR   ? vy_llvm_combine_loads(e, x, plain_op)
                         : x->op == VYRE_OP_GT   ? is_nan(e, x)
                                                 : NULL;
    return whole ? whole : plain_op(e, x);
}

/* A value with a stride, computed once per row. */
static LLVMValueRef lanes_by_rows(vy_emitter *e, uint32_t expr) {
    LLVMValueRef rows[VY_LLVM_ROWS];
    uint64_t stride;
    (void)vy_stride_of(e->uniform, expr, &stride);
    for (uint32_t k = 0; k < e->row_count; k++)
        rows[k] = vy_llvm_row_base(e, expr, k);
    return vy_llvm_lanes_of(e, rows, stride);
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
LLVMValueRef vy_llvm_expr(vy_emitter *e, uint32_t expr) {
    const vy_expr *x = vy_expr_at(e->program, expr);
    if (is_by_rows(e, expr))
        return lanes_by_rows(e, expr);
    switch ((vy_expr_kind)x->kind) {
    case VY_EXPR_LITERAL:
        return literal(e, x);
    case VY_EXPR_VARIABLE:
        return vy_llvm_variable(e, x->a);
    case VY_EXPR_LOAD:
        return vy_llvm_load(e, expr);
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
        return length(e, x);
    case VY_EXPR_BUILTIN:
        return builtin(e, x);
    default:
        return op(e, x);
    }
}

LLVMValueRef vy_llvm_expr_lanes(vy_emitter *e, uint32_t expr) {
    return vy_llvm_splat(e, vy_llvm_expr(e, expr));
}

LLVMValueRef vy_llvm_condition(vy_emitter *e, uint32_t expr) {
    return vy_llvm_lane(e, vy_llvm_expr(e, expr), 0);
}
