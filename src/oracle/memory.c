/* Loads, stores and atomics of a warp's lanes.
 *
 * An index is compared as a mathematical integer: indices arrive here sign-extended, so that a negative one is larger than any count. An
 * inactive lane arrives with an index out of bounds. Out of bounds a load gives 0, a store does nothing, an atomic gives 0 and does nothing.
 * Each element type has its own loop; the type is looked up once per instruction. */
#include "oracle/machine.h"

#define NOWHERE UINT64_MAX

const uint64_t *vy_memory_indices(vyre_type type, const uint64_t *index, const uint64_t *mask, uint32_t lanes,
                                  uint64_t *scratch) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    unsigned shift = layout->classes == VYRE_CLASS_SIGNED ? 64u - layout->bits : 0;
    if (shift)
        for (uint32_t i = 0; i < lanes; i++)
            scratch[i] = (uint64_t)((int64_t)(index[i] << shift) >> shift);
    if (!mask)
        return shift ? scratch : index;
    const uint64_t *from = shift ? scratch : index;
    for (uint32_t i = 0; i < lanes; i++)
        scratch[i] = from[i] | ~mask[i];
    return scratch;
}

/* ---- loads ---- */

typedef void load_loop(vy_lane_memory memory, const uint64_t *index, uint64_t *result, uint32_t lanes);

/* CLEAN turns the bits into the proper value; the infinity and NaN patterns are those of vy_type_layouts. */
#define LOAD_LOOP(name, T, CLEAN)                                                                                      \
    static void name(vy_lane_memory memory, const uint64_t *index, uint64_t *result, uint32_t lanes) {                 \
        for (uint32_t i = 0; i < lanes; i++) {                                                                         \
            uint64_t at = index[i];                                                                                    \
            T bits = 0;                                                                                                \
            if (at < memory.count)                                                                                     \
                memcpy(&bits, memory.base + i * memory.lane_stride + at * sizeof(T), sizeof(T));                       \
            result[i] = CLEAN;                                                                                         \
        }                                                                                                              \
    }
#define PLAIN bits
#define CANONICAL(MAGNITUDE, INFINITY_, NAN_) ((bits & (MAGNITUDE)) > (INFINITY_) ? (NAN_) : bits)

LOAD_LOOP(load_8, uint8_t, PLAIN)
LOAD_LOOP(load_16, uint16_t, PLAIN)
LOAD_LOOP(load_32, uint32_t, PLAIN)
LOAD_LOOP(load_64, uint64_t, PLAIN)
LOAD_LOOP(load_f16, uint16_t, CANONICAL(0x7fff, 0x7c00, 0x7e00))
LOAD_LOOP(load_bf16, uint16_t, CANONICAL(0x7fff, 0x7f80, 0x7fc0))
LOAD_LOOP(load_f32, uint32_t, CANONICAL(0x7fffffff, 0x7f800000, 0x7fc00000))
LOAD_LOOP(load_f64, uint64_t, CANONICAL(0x7fffffffffffffff, 0x7ff0000000000000, 0x7ff8000000000000))

static load_loop *const load_loops[VYRE_TYPE_COUNT] = {
    [VYRE_TYPE_I8] = load_8,    [VYRE_TYPE_U8] = load_8,      [VYRE_TYPE_I16] = load_16,  [VYRE_TYPE_U16] = load_16,
    [VYRE_TYPE_I32] = load_32,  [VYRE_TYPE_U32] = load_32,    [VYRE_TYPE_I64] = load_64,  [VYRE_TYPE_U64] = load_64,
    [VYRE_TYPE_F16] = load_f16, [VYRE_TYPE_BF16] = load_bf16, [VYRE_TYPE_F32] = load_f32, [VYRE_TYPE_F64] = load_f64,
};

void vy_memory_load(vyre_type type, vy_lane_memory memory, const uint64_t *index, uint64_t *result, uint32_t lanes) {
    load_loops[type](memory, index, result, lanes);
}

/* ---- stores: lane by lane in ascending order ---- */

#define STORE_LOOP(name, T)                                                                                            \
    static void name(vy_lane_memory memory, const uint64_t *index, const uint64_t *value, uint32_t lanes) {            \
        for (uint32_t i = 0; i < lanes; i++) {                                                                         \
            T bits = (T)value[i];                                                                                      \
            if (index[i] < memory.count)                                                                               \
                memcpy(memory.base + i * memory.lane_stride + index[i] * sizeof(T), &bits, sizeof(T));                 \
        }                                                                                                              \
    }
STORE_LOOP(store_8, uint8_t)
STORE_LOOP(store_16, uint16_t)
STORE_LOOP(store_32, uint32_t)
STORE_LOOP(store_64, uint64_t)

void vy_memory_store(vyre_type type, vy_lane_memory memory, const uint64_t *index, const uint64_t *value,
                     uint32_t lanes) {
    switch (vy_type_layouts[type].size) {
    case 1:
        store_8(memory, index, value, lanes);
        return;
    case 2:
        store_16(memory, index, value, lanes);
        return;
    case 4:
        store_32(memory, index, value, lanes);
        return;
    default:
        store_64(memory, index, value, lanes);
    }
}

/* ---- atomics ---- */

/* The op of the table that an atomic combines with; VYRE_OP_COUNT: it replaces. */
static const vyre_op combines[VYRE_ATOMIC_COUNT] = {
    [VYRE_ATOMIC_LOAD] = VYRE_OP_COUNT,     [VYRE_ATOMIC_STORE] = VYRE_OP_COUNT,
    [VYRE_ATOMIC_ADD] = VYRE_OP_ADD,        [VYRE_ATOMIC_AND] = VYRE_OP_AND,
    [VYRE_ATOMIC_OR] = VYRE_OP_OR,          [VYRE_ATOMIC_XOR] = VYRE_OP_XOR,
    [VYRE_ATOMIC_MIN] = VYRE_OP_MIN,        [VYRE_ATOMIC_MAX] = VYRE_OP_MAX,
    [VYRE_ATOMIC_EXCHANGE] = VYRE_OP_COUNT, [VYRE_ATOMIC_COMPARE_EXCHANGE] = VYRE_OP_COUNT,
};

/* The element after the atomic, given the element before. */
static uint64_t combined(vyre_atomic op, vy_kernel *kernel, uint64_t old, uint64_t b, uint64_t c) {
    uint64_t result = old;
    if (kernel)
        kernel(&result, &old, &b, NULL, 1);
    else if (op == VYRE_ATOMIC_STORE || op == VYRE_ATOMIC_EXCHANGE)
        result = b;
    else if (op == VYRE_ATOMIC_COMPARE_EXCHANGE && old == b)
        result = c;
    return result;
}

/* Relaxed host atomics suffice: a program that could see an order runs on one thread. Elements of our buffers are aligned. */
static uint64_t load_shared(const uint8_t *element, unsigned size) {
    return size == 4 ? __atomic_load_n((const uint32_t *)element, __ATOMIC_RELAXED)
                     : __atomic_load_n((const uint64_t *)element, __ATOMIC_RELAXED);
}

/* Replaces the element if it still holds *seen; otherwise *seen is what it holds. */
static int replace_shared(uint8_t *element, unsigned size, uint64_t *seen, uint64_t next) {
    if (size == 8)
        return __atomic_compare_exchange_n((uint64_t *)element, seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    uint32_t narrow = (uint32_t)*seen;
    int done = __atomic_compare_exchange_n((uint32_t *)element, &narrow, (uint32_t)next, 0, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED);
    *seen = narrow;
    return done;
}

static uint64_t atomic_shared(vyre_atomic op, vy_kernel *kernel, vyre_type type, uint8_t *element, uint64_t b,
                              uint64_t c) {
    unsigned size = vy_type_layouts[type].size;
    if (op == VYRE_ATOMIC_ADD && vy_type_layouts[type].classes != VYRE_CLASS_FLOAT)
        return size == 4 ? __atomic_fetch_add((uint32_t *)element, (uint32_t)b, __ATOMIC_RELAXED)
                         : __atomic_fetch_add((uint64_t *)element, b, __ATOMIC_RELAXED);
    uint64_t seen = load_shared(element, size), old, next;
    do {
        old = vy_value_canonicalize(type, seen);
        next = combined(op, kernel, old, b, c);
    } while (next != seen && !replace_shared(element, size, &seen, next));
    return old;
}

static uint64_t atomic_alone(vyre_atomic op, vy_kernel *kernel, vyre_type type, uint8_t *element, uint64_t b,
                             uint64_t c) {
    uint64_t old = vy_value_load(type, element);
    vy_value_store(type, element, combined(op, kernel, old, b, c));
    return old;
}

void vy_memory_atomic(vyre_atomic op, vyre_type type, vy_lane_memory memory, const uint64_t *index, const uint64_t *b,
                      const uint64_t *c, uint64_t *result, uint32_t lanes, int is_shared) {
    size_t size = vy_type_layouts[type].size;
    vy_kernel *kernel = combines[op] == VYRE_OP_COUNT ? NULL : vy_eval_kernel(combines[op], type, type);
    for (uint32_t i = 0; i < lanes; i++) {
        result[i] = 0;
        if (index[i] >= memory.count)
            continue;
        uint8_t *element = memory.base + i * memory.lane_stride + index[i] * size;
        result[i] = is_shared ? atomic_shared(op, kernel, type, element, b[i], c[i])
                              : atomic_alone(op, kernel, type, element, b[i], c[i]);
    }
}
