/* Buffers of a thread's own (privatize.h). */
#include "backends/cpu/privatize.h"

#include "base/memory.h"
#include "vyre/op.h"

/* What fits the first two levels of caches beside other things. */
enum { LARGEST = 64 * 1024 };

static uint64_t bytes_of(const vy_cpu_execution *run, const vy_cpu_private_buffer *p) {
    return (uint64_t)run->buffers[p->buffer].count * vyre_type_size((vyre_type)p->type);
}

static uint64_t table_bytes(const vy_cpu_execution *run) {
    return vy_cpu_align(run->code->buffer_count * sizeof(vy_cpu_buffer));
}

/* To fill and to add an element costs about what an atomic does, so there have to be as many for each thread. */
static int is_profitable(const vy_cpu_execution *run, const vy_cpu_private_buffer *p) {
    const vy_cpu_executable *code = run->code;
    uint64_t all; /* invocations, which are fewer than 2^64 */
    if (p->buffer >= code->buffer_count || code->buffers[p->buffer].element != vyre_type_size((vyre_type)p->type))
        return 0;
    uint32_t count = run->buffers[p->buffer].count;
    if (!count || bytes_of(run, p) > LARGEST)
        return 0;
    all = run->group_count * code->object.header.invocations;
    return all / (run->job.helpers + 1) >= count;
}

uint64_t vy_cpu_privatize_bytes(const vy_cpu_execution *run) {
    const vy_cpu_header *header = &run->code->object.header;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < header->private_count; i++)
        if (is_profitable(run, &header->privates[i]))
            bytes += vy_cpu_align(bytes_of(run, &header->privates[i]));
    return bytes ? table_bytes(run) + bytes : 0;
}

/* ---- one buffer ---- */

/* Ways to combine: X(op, expression of the old value and the new one). */
#define COMBINE_LIST(X)                                                                                                \
    X(AND, old &value)                                                                                                 \
    X(OR, old | value)                                                                                                 \
    X(XOR, old ^ value)                                                                                                \
    X(MIN, value < old ? value : old)                                                                                  \
    X(MAX, value > old ? value : old)

#define DEFINE_ELEMENT(NAME, T)                                                                                        \
    static void fill_##NAME(void *to, uint32_t count, uint64_t identity) {                                             \
        T *own = to;                                                                                                   \
        for (uint32_t i = 0; i < count; i++)                                                                           \
            own[i] = (T)identity;                                                                                      \
    }                                                                                                                  \
    static T combine_##NAME(vyre_atomic op, T old, T value) {                                                          \
        switch (op) {                                                                                                  \
            COMBINE_LIST(CASE)                                                                                         \
        default:                                                                                                       \
            return old;                                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    static void add_##NAME(void *to, const void *from, uint32_t count, vyre_atomic op, uint64_t identity) {            \
        T *shared = to;                                                                                                \
        const T *own = from;                                                                                           \
        for (uint32_t i = 0; i < count; i++) {                                                                         \
            if (own[i] == (T)identity)                                                                                 \
                continue;                                                                                              \
            if (op == VYRE_ATOMIC_ADD) {                                                                               \
                __atomic_fetch_add(&shared[i], own[i], __ATOMIC_RELAXED);                                              \
                continue;                                                                                              \
            }                                                                                                          \
            T old = __atomic_load_n(&shared[i], __ATOMIC_RELAXED), new;                                                \
            do                                                                                                         \
                new = combine_##NAME(op, old, own[i]);                                                                 \
            while (new != old &&                                                                                       \
                   !__atomic_compare_exchange_n(&shared[i], &old, new, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));        \
        }                                                                                                              \
    }
#define CASE(op, expression)                                                                                           \
    case VYRE_ATOMIC_##op:                                                                                             \
        return expression;

DEFINE_ELEMENT(u32, uint32_t)
DEFINE_ELEMENT(i32, int32_t)
DEFINE_ELEMENT(u64, uint64_t)
DEFINE_ELEMENT(i64, int64_t)

typedef struct element {
    void (*fill)(void *to, uint32_t count, uint64_t identity);
    void (*add)(void *to, const void *from, uint32_t count, vyre_atomic op, uint64_t identity);
} element;

static const element elements[VYRE_TYPE_COUNT] = {[VYRE_TYPE_U32] = {fill_u32, add_u32},
                                                  [VYRE_TYPE_I32] = {fill_i32, add_i32},
                                                  [VYRE_TYPE_U64] = {fill_u64, add_u64},
                                                  [VYRE_TYPE_I64] = {fill_i64, add_i64}};

static uint64_t identity_of(const vy_cpu_private_buffer *p) {
    static const vyre_op ops[VYRE_ATOMIC_COUNT] = {
        [VYRE_ATOMIC_ADD] = VYRE_OP_ADD, [VYRE_ATOMIC_AND] = VYRE_OP_AND, [VYRE_ATOMIC_OR] = VYRE_OP_OR,
        [VYRE_ATOMIC_XOR] = VYRE_OP_XOR, [VYRE_ATOMIC_MIN] = VYRE_OP_MIN, [VYRE_ATOMIC_MAX] = VYRE_OP_MAX};
    return vyre_combine_identity(ops[p->op], (vyre_type)p->type);
}

/* ---- all of a frame ---- */

void vy_cpu_privatize_start(const vy_cpu_execution *run, uint8_t *memory, vy_cpu_frame *frame) {
    const vy_cpu_header *header = &run->code->object.header;
    vy_cpu_buffer *table = (vy_cpu_buffer *)memory;
    memcpy(table, run->buffers, run->code->buffer_count * sizeof *table);
    frame->buffers = table;
    memory += table_bytes(run);
    for (uint32_t i = 0; i < header->private_count; i++) {
        const vy_cpu_private_buffer *p = &header->privates[i];
        if (!is_profitable(run, p))
            continue;
        table[p->buffer].data = memory;
        elements[p->type].fill(memory, table[p->buffer].count, identity_of(p));
        memory += vy_cpu_align(bytes_of(run, p));
        frame->private_set |= 1u << i;
    }
}

void vy_cpu_privatize_merge(const vy_cpu_execution *run, const vy_cpu_frame *frame) {
    const vy_cpu_header *header = &run->code->object.header;
    for (uint32_t i = 0; i < header->private_count; i++) {
        const vy_cpu_private_buffer *p = &header->privates[i];
        const vy_cpu_buffer *shared = &run->buffers[p->buffer], *own = &frame->buffers[p->buffer];
        if (frame->private_set & 1u << i)
            elements[p->type].add(shared->data, own->data, own->count, (vyre_atomic)p->op, identity_of(p));
    }
}
