/* Atomics as LLVM instructions, or as plain accesses where one thread owns the memory.
 *
 * Invariant: memory that only one thread accesses needs no atomic instructions. That is an array of the workgroup,
 * or a privatised buffer, of which every thread has a private copy during a dispatch (kernel_abi.h). There,
 * contiguous lanes are one vector access, and other lanes are accessed sequentially. All other memory is accessed
 * lane by lane with atomic instructions. */
#include "base/cpu_features.h"
#include "emit/llvm/emitter.h"
#include "ir/eval.h"

#include <llvm-c/Target.h>

#define B e->builder

/* ---- the plan ---- */

static const LLVMAtomicRMWBinOp binary[VYRE_ATOMIC_COUNT][2] = {
    [VYRE_ATOMIC_ADD] = {LLVMAtomicRMWBinOpAdd, LLVMAtomicRMWBinOpAdd},
    [VYRE_ATOMIC_AND] = {LLVMAtomicRMWBinOpAnd, LLVMAtomicRMWBinOpAnd},
    [VYRE_ATOMIC_OR] = {LLVMAtomicRMWBinOpOr, LLVMAtomicRMWBinOpOr},
    [VYRE_ATOMIC_XOR] = {LLVMAtomicRMWBinOpXor, LLVMAtomicRMWBinOpXor},
    [VYRE_ATOMIC_MIN] = {LLVMAtomicRMWBinOpUMin, LLVMAtomicRMWBinOpMin},
    [VYRE_ATOMIC_MAX] = {LLVMAtomicRMWBinOpUMax, LLVMAtomicRMWBinOpMax},
    [VYRE_ATOMIC_EXCHANGE] = {LLVMAtomicRMWBinOpXchg, LLVMAtomicRMWBinOpXchg},
};
static const LLVMAtomicOrdering orders[VYRE_ORDER_COUNT] = {
    [VYRE_ORDER_RELAXED] = LLVMAtomicOrderingMonotonic,
    [VYRE_ORDER_ACQUIRE] = LLVMAtomicOrderingAcquire,
    [VYRE_ORDER_RELEASE] = LLVMAtomicOrderingRelease,
    [VYRE_ORDER_ACQ_REL] = LLVMAtomicOrderingAcquireRelease,
};

static const vyre_op combining[VYRE_ATOMIC_COUNT] = {
    [VYRE_ATOMIC_ADD] = VYRE_OP_ADD, [VYRE_ATOMIC_AND] = VYRE_OP_AND, [VYRE_ATOMIC_OR] = VYRE_OP_OR,
    [VYRE_ATOMIC_XOR] = VYRE_OP_XOR, [VYRE_ATOMIC_MIN] = VYRE_OP_MIN, [VYRE_ATOMIC_MAX] = VYRE_OP_MAX};

static int is_combining(const vy_emitter *e, const vy_stmt *s) {
    return !s->result_count && s->op >= VYRE_ATOMIC_ADD && s->op <= VYRE_ATOMIC_MAX &&
           vyre_type_class((vyre_type)vy_memory_at(e->program, s->memory)->type) != VYRE_CLASS_FLOAT;
}

/* Uses of a buffer: none so far, one kind of atomic, or anything else. */
enum { UNTOUCHED = 0, OTHERWISE = 255 };

static void touch(uint8_t *uses, uint8_t how) {
    *uses = *uses == UNTOUCHED || *uses == how ? how : OTHERWISE;
}

/* The use of each buffer: 1 + the atomic, if it is the only use. Reading the length does not count. */
static void find_uses(const vy_emitter *e, uint8_t *uses) {
    const vyre_program *p = e->program;
    uint32_t first = e->body->first_memory;
    for (uint32_t i = 0; i < p->exprs.count; i++) {
        const vy_expr *x = vy_expr_at(p, i);
        if ((x->kind == VY_EXPR_LOAD || x->kind == VY_EXPR_ALIGN_OFFSET) && x->a - first < p->buffer_count)
            touch(&uses[x->a - first], OTHERWISE);
    }
    for (uint32_t i = e->body->first_stmt; i < e->body->end_stmt; i++) {
        const vy_stmt *s = vy_stmt_at(p, i);
        if ((s->kind == VY_STMT_STORE || s->kind == VY_STMT_ATOMIC) && s->memory - first < p->buffer_count)
            touch(&uses[s->memory - first],
                  s->kind == VY_STMT_ATOMIC && is_combining(e, s) ? (uint8_t)(1 + s->op) : OTHERWISE);
    }
}

void vy_llvm_plan_atomics(vy_emitter *e) {
    const vyre_program *p = e->program;
    uint8_t uses[VY_LIMIT_BUFFERS] = {0};
    int any = 0;
    for (uint32_t i = e->body->first_stmt; i < e->body->end_stmt; i++)
        any |= vy_stmt_at(p, i)->kind == VY_STMT_ATOMIC;
    if (!any)
        return;
    e->lanes_offset = vy_llvm_alloc_spill(e, 3 * 8 * (uint64_t)e->width);
    find_uses(e, uses);
    for (uint32_t i = 0; i < p->buffer_count && e->sizes.private_count < VY_CPU_PRIVATE_BUFFERS; i++)
        if (uses[i] != UNTOUCHED && uses[i] != OTHERWISE)
            e->sizes.privates[e->sizes.private_count++] =
                (vy_cpu_private_buffer){.buffer = (uint8_t)i,
                                        .op = (uint8_t)(uses[i] - 1),
                                        .type = (uint8_t)vy_memory_at(p, e->body->first_memory + i)->type};
}

/* ---- one lane ---- */

typedef struct atomic {
    const vy_stmt *s;
    vyre_type type;
    int is_own;               /* no other thread accesses the memory */
    LLVMValueRef index, b, c; /* scalars or lanes; b and c may be NULL */
} atomic;

/* The bits of a float as a signed integer with the same order: -0 is less than 0. */
static LLVMValueRef order_of(vy_emitter *e, LLVMValueRef value, unsigned bits) {
    LLVMTypeRef word = vy_llvm_int(e, bits), type = vy_llvm_is_lanes(value) ? vy_llvm_lanes(e, word) : word;
    LLVMValueRef last = vy_llvm_number(e, bits, bits - 1), one = vy_llvm_number(e, bits, 1);
    if (type != word) {
        last = vy_llvm_splat(e, last);
        one = vy_llvm_splat(e, one);
    }
    LLVMValueRef as_is = LLVMBuildBitCast(B, value, type, "");
    return LLVMBuildXor(B, as_is, LLVMBuildLShr(B, LLVMBuildAShr(B, as_is, last, ""), one, ""), "");
}

static LLVMValueRef is_nan(vy_emitter *e, LLVMValueRef value) {
    return LLVMBuildFCmp(B, LLVMRealUNO, value, value, "");
}

/* The canonical NaN replaces every NaN. */
static LLVMValueRef canonical(vy_emitter *e, vyre_type type, LLVMValueRef value) {
    LLVMValueRef bits = vy_llvm_number(e, vyre_type_bits(type), vy_type_layouts[type].nan);
    LLVMValueRef nan = LLVMConstBitCast(bits, vy_llvm_type(e, type));
    return LLVMBuildSelect(B, is_nan(e, value), vy_llvm_is_lanes(value) ? vy_llvm_splat(e, nan) : nan, value, "");
}

/* Min and max as legalisation expands the op: a number is preferred to NaN. */
static LLVMValueRef combine_floats(vy_emitter *e, const atomic *a, LLVMValueRef old, LLVMValueRef b) {
    unsigned bits = vyre_type_bits(a->type);
    LLVMValueRef value;
    if (a->s->op == VYRE_ATOMIC_ADD) {
        value = LLVMBuildFAdd(B, old, b, "");
    } else {
        LLVMIntPredicate first = a->s->op == VYRE_ATOMIC_MIN ? LLVMIntSLT : LLVMIntSGT;
        LLVMValueRef is_old = LLVMBuildICmp(B, first, order_of(e, old, bits), order_of(e, b, bits), "");
        value = LLVMBuildSelect(B, is_old, old, b, "");
        value = LLVMBuildSelect(B, is_nan(e, old), b, value, "");
        value = LLVMBuildSelect(B, is_nan(e, b), old, value, "");
    }
    return canonical(e, a->type, value);
}

/* The value that replaces the old one, or NULL for a load. In thread-private memory a sequence of accesses is
 * atomic. Scalars, or lanes with pairwise different elements. */
static LLVMValueRef new_value(vy_emitter *e, const atomic *a, LLVMValueRef old, LLVMValueRef b, LLVMValueRef c) {
    switch ((vyre_atomic)a->s->op) {
    case VYRE_ATOMIC_LOAD:
        return NULL;
    case VYRE_ATOMIC_STORE:
    case VYRE_ATOMIC_EXCHANGE:
        return b;
    case VYRE_ATOMIC_COMPARE_EXCHANGE:
        return LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntEQ, old, b, ""), c, old, "");
    default:
        return vyre_type_class(a->type) == VYRE_CLASS_FLOAT ? combine_floats(e, a, old, b)
                                                            : vy_llvm_combine(e, combining[a->s->op], a->type, old, b);
    }
}

static LLVMValueRef one_own(vy_emitter *e, const atomic *a, LLVMValueRef at, LLVMValueRef b, LLVMValueRef c) {
    unsigned alignment = (unsigned)vy_llvm_size(a->type);
    LLVMValueRef old = NULL;
    if (a->s->op != VYRE_ATOMIC_STORE) {
        old = LLVMBuildLoad2(B, vy_llvm_type(e, a->type), at, "");
        LLVMSetAlignment(old, alignment);
    }
    LLVMValueRef new = new_value(e, a, old, b, c);
    if (new)
        LLVMSetAlignment(LLVMBuildStore(B, new, at), alignment);
    return old;
}

/* The memory order of a failed compare-exchange. */
static LLVMAtomicOrdering order_of_failure(LLVMAtomicOrdering order) {
    return order == LLVMAtomicOrderingAcquireRelease || order == LLVMAtomicOrderingAcquire
               ? LLVMAtomicOrderingAcquire
               : LLVMAtomicOrderingMonotonic;
}

/* Floats: a compare-exchange loop that retries until no other thread has intervened. */
static LLVMValueRef swap_floats(vy_emitter *e, const atomic *a, LLVMValueRef at, LLVMValueRef b) {
    LLVMTypeRef word = vy_llvm_int(e, vyre_type_bits(a->type)), type = vy_llvm_type(e, a->type);
    LLVMAtomicOrdering order = orders[a->s->order];
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), loop = vy_llvm_block(e, "swap"),
                      end = vy_llvm_block(e, "swapped");
    LLVMValueRef start = LLVMBuildLoad2(B, word, at, "");
    LLVMSetAlignment(start, (unsigned)vy_llvm_size(a->type));
    LLVMSetOrdering(start, LLVMAtomicOrderingMonotonic);
    vy_llvm_continue_at(e, loop);
    LLVMValueRef bits = LLVMBuildPhi(B, word, "");
    LLVMValueRef old = LLVMBuildBitCast(B, bits, type, "");
    LLVMValueRef new = LLVMBuildBitCast(B, combine_floats(e, a, old, b), word, "");
    LLVMValueRef both = LLVMBuildAtomicCmpXchg(B, at, bits, new, order, order_of_failure(order), 0);
    LLVMValueRef found = LLVMBuildExtractValue(B, both, 0, "");
    LLVMAddIncoming(bits, (LLVMValueRef[]){start, found}, (LLVMBasicBlockRef[]){before, loop}, 2);
    LLVMBuildCondBr(B, LLVMBuildExtractValue(B, both, 1, ""), end, loop);
    vy_llvm_position_at(e, end);
    return old;
}

/* The atomic of one lane; returns the old value. */
static LLVMValueRef one_atomic(vy_emitter *e, const atomic *a, LLVMValueRef at, LLVMValueRef b, LLVMValueRef c) {
    const vy_stmt *s = a->s;
    LLVMAtomicOrdering order = orders[s->order];
    if (a->is_own)
        return one_own(e, a, at, b, c);
    if (s->op == VYRE_ATOMIC_LOAD) {
        LLVMValueRef load = LLVMBuildLoad2(B, vy_llvm_type(e, a->type), at, "");
        LLVMSetAlignment(load, (unsigned)vy_llvm_size(a->type));
        LLVMSetOrdering(load, order);
        return load;
    }
    if (s->op == VYRE_ATOMIC_STORE) {
        LLVMValueRef store = LLVMBuildStore(B, b, at);
        LLVMSetAlignment(store, (unsigned)vy_llvm_size(a->type));
        LLVMSetOrdering(store, order);
        return NULL;
    }
    if (s->op == VYRE_ATOMIC_COMPARE_EXCHANGE) {
        LLVMValueRef both = LLVMBuildAtomicCmpXchg(B, at, b, c, order, order_of_failure(order), 0);
        return LLVMBuildExtractValue(B, both, 0, "");
    }
    unsigned class = vyre_type_class(a->type);
    if (class == VYRE_CLASS_FLOAT && s->op != VYRE_ATOMIC_EXCHANGE)
        return swap_floats(e, a, at, b);
    return LLVMBuildAtomicRMW(B, binary[s->op][class == VYRE_CLASS_SIGNED], at, b, order, 0);
}

/* ---- lanes ---- */

/* All lanes access one element and the old value is unused: the lanes are reduced first. Integers only, since their
 * result does not depend on the order. */
static void combined_atomic(vy_emitter *e, const atomic *a) {
    static const char *const names[VYRE_ATOMIC_COUNT][2] = {
        [VYRE_ATOMIC_ADD] = {"llvm.vector.reduce.add", "llvm.vector.reduce.add"},
        [VYRE_ATOMIC_AND] = {"llvm.vector.reduce.and", "llvm.vector.reduce.and"},
        [VYRE_ATOMIC_OR] = {"llvm.vector.reduce.or", "llvm.vector.reduce.or"},
        [VYRE_ATOMIC_XOR] = {"llvm.vector.reduce.xor", "llvm.vector.reduce.xor"},
        [VYRE_ATOMIC_MIN] = {"llvm.vector.reduce.umin", "llvm.vector.reduce.smin"},
        [VYRE_ATOMIC_MAX] = {"llvm.vector.reduce.umax", "llvm.vector.reduce.smax"}};
    LLVMValueRef value = vy_llvm_splat(e, a->b);
    uint64_t identity = vyre_combine_identity(combining[a->s->op], a->type);
    LLVMTypeRef lanes = LLVMTypeOf(value);
    if (e->mask)
        value = LLVMBuildSelect(B, e->mask, value,
                                vy_llvm_splat(e, vy_llvm_number(e, vyre_type_bits(a->type), identity)), "");
    value = vy_llvm_intrinsic(e, names[a->s->op][vyre_type_class(a->type) == VYRE_CLASS_SIGNED], &lanes, 1, &value, 1);
    one_atomic(e, a, vy_llvm_address(e, a->s->memory, a->index), value, NULL);
}

/* Contiguous lanes: all elements differ. */
static void row_atomic(vy_emitter *e, const atomic *a) {
    LLVMValueRef old = NULL;
    if (a->s->op != VYRE_ATOMIC_STORE)
        old = vy_llvm_load_contiguous(e, a->s->memory, a->s->a);
    LLVMValueRef new = new_value(e, a, old, a->b ? vy_llvm_splat(e, a->b) : NULL, a->c ? vy_llvm_splat(e, a->c) : NULL);
    if (new)
        vy_llvm_store_contiguous(e, a->s->memory, new, a->s->a);
    if (a->s->result_count)
        vy_llvm_declare(e, a->s->variable, old);
}

/* An empty asm statement that is opaque to LLVM, which would otherwise extract every lane from the vector
 * separately. */
static LLVMValueRef as_is(vy_emitter *e, LLVMValueRef word) {
    LLVMTypeRef type = LLVMTypeOf(word), function = LLVMFunctionType(type, &type, 1, 0);
    LLVMValueRef nothing = LLVMGetInlineAsm(function, "", 0, "=r,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0);
    return LLVMBuildCall2(B, function, nothing, &word, 1, "");
}

/* An upper bound of the bits of an index, if a preceding `let` widened it from an unsigned type of less than 32
 * bits: 8, 16, or 64 for unknown. */
enum { NEAR = 32 };

static unsigned bits_of(const vy_emitter *e, const vy_stmt *s) {
    const vyre_program *p = e->program;
    const vy_expr *x = vy_expr_at(p, s->a);
    const vy_stmt *first = vy_stmt_at(p, e->body->first_stmt);
    for (unsigned i = 0; s > first && i < NEAR && x->kind == VY_EXPR_VARIABLE; i++)
        if ((--s)->kind == VY_STMT_LET && s->variable == x->a)
            x = vy_expr_at(p, s->a);
    if (x->kind != VY_EXPR_OP || x->op != VYRE_OP_CAST)
        return 64;
    vyre_type from = (vyre_type)vy_expr_at(p, x->a)->type;
    return vyre_type_class(from) == VYRE_CLASS_UNSIGNED && vyre_type_bits(from) < 32 ? vyre_type_bits(from) : 64;
}

/* Splits a vector into lanes through 64-bit words: extracting a word is one instruction, and so is extracting a lane
 * of it. Loading lanes from memory would be as short, but those loads wait for the stores of earlier lanes. A scalar
 * is used for all lanes. Only the low `matter` bits of a lane are needed. */
static void take_apart(vy_emitter *e, LLVMValueRef value, unsigned matter, LLVMValueRef *lanes) {
    if (!value || !vy_llvm_is_lanes(value)) {
        for (unsigned i = 0; i < e->width; i++)
            lanes[i] = value;
        return;
    }
    LLVMTypeRef lane = LLVMGetElementType(LLVMTypeOf(value)), word = vy_llvm_int(e, 64);
    unsigned bits = (unsigned)LLVMSizeOfTypeInBits(LLVMGetModuleDataLayout(e->module), lane);
    int is_narrow = matter < bits && matter * e->width >= 64;
    if (is_narrow) {
        bits = matter;
        value = LLVMBuildTrunc(B, value, vy_llvm_lanes(e, vy_llvm_int(e, bits)), "");
    }
    unsigned count = 64 / bits;
    LLVMValueRef words = LLVMBuildBitCast(B, value, LLVMVectorType(word, e->width / count), ""), now = NULL;
    for (unsigned i = 0; i < e->width; i++) {
        if (i % count == 0)
            now = as_is(e, LLVMBuildExtractElement(B, words, vy_llvm_number(e, 32, i / count), ""));
        LLVMValueRef part = LLVMBuildLShr(B, now, vy_llvm_number(e, 64, i % count * bits), "");
        part = LLVMBuildTrunc(B, part, vy_llvm_int(e, bits), "");
        lanes[i] = is_narrow ? LLVMBuildZExt(B, part, lane, "") : LLVMBuildBitCast(B, part, lane, "");
    }
}

/* All lanes in sequence, unrolled. */
static void every_lane(vy_emitter *e, const atomic *a) {
    LLVMValueRef olds = LLVMGetPoison(vy_llvm_lanes(e, vy_llvm_type(e, a->type))), lanes[3][VY_CPU_WIDTH_MAX];
    take_apart(e, a->index, bits_of(e, a->s), lanes[0]);
    take_apart(e, a->b, 64, lanes[1]);
    take_apart(e, a->c, 64, lanes[2]);
    for (unsigned i = 0; i < e->width; i++) {
        LLVMValueRef at = vy_llvm_address(e, a->s->memory, lanes[0][i]);
        LLVMValueRef old = one_atomic(e, a, at, lanes[1][i], lanes[2][i]);
        if (a->s->result_count && old)
            olds = LLVMBuildInsertElement(B, olds, old, vy_llvm_number(e, 32, i), "");
    }
    if (a->s->result_count)
        vy_llvm_declare(e, a->s->variable, olds);
}

/* Stores a vector so that its lanes can be loaded one by one. A scalar is not stored. */
static LLVMValueRef lay_down(vy_emitter *e, LLVMValueRef value, unsigned which) {
    LLVMValueRef at =
        vy_llvm_offset_pointer(e, e->spill, vy_llvm_number(e, 64, e->lanes_offset + 8 * (uint64_t)e->width * which));
    if (value && vy_llvm_is_lanes(value))
        LLVMSetAlignment(LLVMBuildStore(B, value, at), 8);
    return at;
}

/* Volatile, so that LLVM does not forward the stored vector. */
static LLVMValueRef lane_of(vy_emitter *e, LLVMValueRef value, LLVMValueRef at, LLVMValueRef lane) {
    if (!value || !vy_llvm_is_lanes(value))
        return value;
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(value));
    LLVMValueRef load = LLVMBuildLoad2(B, type, LLVMBuildGEP2(B, type, at, &lane, 1, ""), "");
    LLVMSetVolatile(load, 1);
    return load;
}

/* The lanes of the mask, lowest first. */
static void each_lane(vy_emitter *e, const atomic *a) {
    LLVMValueRef all = LLVMConstAllOnes(vy_llvm_lanes(e, vy_llvm_int(e, 1)));
    LLVMValueRef start = vy_llvm_bits(e, e->mask ? e->mask : all);
    LLVMTypeRef word = LLVMTypeOf(start), lanes = vy_llvm_lanes(e, vy_llvm_type(e, a->type));
    LLVMValueRef left = vy_llvm_alloca(e, word, "left"), result = NULL;
    LLVMValueRef index = lay_down(e, a->index, 0), b = lay_down(e, a->b, 1), c = lay_down(e, a->c, 2);
    LLVMBuildStore(B, start, left);
    if (a->s->result_count) {
        result = vy_llvm_alloca(e, lanes, "old");
        LLVMBuildStore(B, LLVMConstNull(lanes), result);
    }
    LLVMBasicBlockRef loop = vy_llvm_block(e, "lane"), end = vy_llvm_block(e, "lanes_end");
    vy_llvm_branch_to(e, loop); /* at least one lane executes */
    vy_llvm_position_at(e, loop);
    LLVMValueRef bits = LLVMBuildLoad2(B, word, left, "");
    LLVMValueRef lane = vy_llvm_intrinsic(e, "llvm.cttz", &word, 1, (LLVMValueRef[]){bits, vy_llvm_number(e, 1, 1)}, 2);
    LLVMValueRef at = vy_llvm_address(e, a->s->memory, lane_of(e, a->index, index, lane));
    LLVMValueRef old = one_atomic(e, a, at, lane_of(e, a->b, b, lane), lane_of(e, a->c, c, lane));
    if (result && old) {
        LLVMValueRef olds = LLVMBuildLoad2(B, lanes, result, "");
        LLVMBuildStore(B, LLVMBuildInsertElement(B, olds, old, lane, ""), result);
    }
    LLVMValueRef rest = LLVMBuildAnd(B, bits, LLVMBuildSub(B, bits, LLVMConstInt(word, 1, 0), ""), "");
    LLVMBuildStore(B, rest, left);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, rest, LLVMConstNull(word), ""), loop, end);
    vy_llvm_position_at(e, end);
    if (result)
        vy_llvm_declare(e, a->s->variable, LLVMBuildLoad2(B, lanes, result, ""));
}

/* ---- all lanes ---- */

static void write_atomic(vy_emitter *e, const atomic *a) {
    if (is_combining(e, a->s) && !vy_llvm_is_lanes(a->index)) {
        combined_atomic(e, a);
        return;
    }
    if (a->is_own && vy_llvm_is_contiguous(e, a->s->memory, a->s->a)) {
        row_atomic(e, a);
        return;
    }
    if (e->mask || vyre_type_class(a->type) == VYRE_CLASS_FLOAT) /* the loop keeps these longer sequences from being
                                                                  * repeated per lane */
        each_lane(e, a);
    else
        every_lane(e, a);
}

/* The bit of a buffer that may be privatised; 32 if it may not be. */
static uint32_t private_bit(const vy_emitter *e, uint32_t memory) {
    for (uint32_t i = 0; i < e->sizes.private_count; i++)
        if (e->sizes.privates[i].buffer == memory - e->body->first_memory)
            return i;
    return 32;
}

void vy_llvm_atomic(vy_emitter *e, uint32_t stmt) {
    const vy_stmt *s = vy_stmt_at(e->program, stmt);
    const vy_memory *m = vy_memory_at(e->program, s->memory);
    if (s->bounds_check != VY_BOUNDS_UNCHECKED) {
        vy_llvm_refuse(e, "a guarded atomic");
        return;
    }
    atomic a = {.s = s,
                .type = (vyre_type)m->type,
                .is_own = m->space != VY_SPACE_BUFFER,
                .index = vy_llvm_expr(e, s->a),
                .b = s->b == VY_NONE ? NULL : vy_llvm_expr(e, s->b),
                .c = s->c == VY_NONE ? NULL : vy_llvm_expr(e, s->c)};
    if (vyre_type_class(a.type) == VYRE_CLASS_FLOAT && (s->op == VYRE_ATOMIC_STORE || s->op == VYRE_ATOMIC_EXCHANGE))
        a.b = canonical(e, a.type, a.b);
    uint32_t bit = a.is_own ? 32 : private_bit(e, s->memory);
    if (bit == 32) {
        write_atomic(e, &a);
        return;
    }
    LLVMBasicBlockRef own = vy_llvm_block(e, "own"), shared = vy_llvm_block(e, "shared"),
                      end = vy_llvm_block(e, "added");
    LLVMValueRef set = LLVMBuildAnd(B, e->private_set, vy_llvm_number(e, 32, 1u << bit), "");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, set, vy_llvm_number(e, 32, 0), ""), own, shared);
    vy_llvm_position_at(e, shared);
    write_atomic(e, &a);
    vy_llvm_branch_to(e, end);
    a.is_own = 1;
    vy_llvm_position_at(e, own);
    write_atomic(e, &a);
    vy_llvm_continue_at(e, end);
}
