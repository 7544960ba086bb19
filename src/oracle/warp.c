/* Bytecode interpreter: runs one warp up to its next synchronisation; loads, stores, atomics and print of its lanes.
 *
 * Memory: an index is compared as a mathematical integer. Indices are sign-extended, so a negative one is larger than
 * any count. An inactive lane has an index out of bounds. Out of bounds, a load yields 0, a store has no effect, and an
 * atomic yields 0 and has no effect. Each element type has a separate loop; the type is dispatched once per
 * instruction. */
#include "base/number_text.h"
#include "base/string.h"
#include "oracle/lowered_env.h"
#include "oracle/machine.h"
#include "oracle/shadow_memory.h"

#include <inttypes.h>

#define NOWHERE UINT64_MAX

/* Converts indices to mathematical integers: negative ones become too large. Returns `index` or `scratch`. */
static const uint64_t *memory_indices(vyre_type type, const uint64_t *index, const uint64_t *mask, uint32_t lanes,
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

/* CLEAN makes the value canonical; the patterns of infinity and NaN are those of vy_type_layouts. */
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

/* The op that an atomic combines with; VYRE_OP_COUNT: it replaces the value. */
static const vyre_op combines[VYRE_ATOMIC_COUNT] = {
    [VYRE_ATOMIC_LOAD] = VYRE_OP_COUNT,     [VYRE_ATOMIC_STORE] = VYRE_OP_COUNT,
    [VYRE_ATOMIC_ADD] = VYRE_OP_ADD,        [VYRE_ATOMIC_AND] = VYRE_OP_AND,
    [VYRE_ATOMIC_OR] = VYRE_OP_OR,          [VYRE_ATOMIC_XOR] = VYRE_OP_XOR,
    [VYRE_ATOMIC_MIN] = VYRE_OP_MIN,        [VYRE_ATOMIC_MAX] = VYRE_OP_MAX,
    [VYRE_ATOMIC_EXCHANGE] = VYRE_OP_COUNT, [VYRE_ATOMIC_COMPARE_EXCHANGE] = VYRE_OP_COUNT,
};

/* The new value of the element. */
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

/* Relaxed host atomics suffice: a program that could observe an order runs on one thread. Elements of buffers are
 * aligned. */
static uint64_t load_shared(const uint8_t *element, unsigned size) {
    return size == 4 ? __atomic_load_n((const uint32_t *)element, __ATOMIC_RELAXED)
                     : __atomic_load_n((const uint64_t *)element, __ATOMIC_RELAXED);
}

/* Replaces the element if it still equals *seen; otherwise sets *seen to its value. */
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

/* result receives the old values, 0 out of bounds. is_shared: other threads may access the memory. */
static void memory_atomic(vyre_atomic op, vyre_type type, vy_lane_memory memory, const uint64_t *index,
                          const uint64_t *b, const uint64_t *c, uint64_t *result, uint32_t lanes, int is_shared) {
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

/* ---- print: the format with each {} replaced by a value, one text per invocation ---- */

/* Fraction bits of the float types; the other bits except the sign are the exponent. */
static const uint8_t fraction_bits[VYRE_TYPE_COUNT] = {
    [VYRE_TYPE_F16] = 10, [VYRE_TYPE_BF16] = 7, [VYRE_TYPE_F32] = 23, [VYRE_TYPE_F64] = 52};

static void add_float(vy_string *text, vyre_type type, uint64_t bits) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    uint64_t magnitude = bits & layout->mask >> 1;
    if (magnitude != bits)
        vy_string_char(text, '-');
    if (magnitude >= layout->infinity) {
        vy_string_add(text, magnitude == layout->infinity ? "inf" : "nan");
        return;
    }
    char number[64];
    vy_number_from_bits(magnitude, layout->bits - 1u - fraction_bits[type], fraction_bits[type], number);
    vy_string_add(text, number);
}

static void add_value(vy_string *text, vyre_type type, uint64_t bits) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    switch (layout->classes) {
    case VYRE_CLASS_BOOL:
        vy_string_add(text, bits ? "true" : "false");
        break;
    case VYRE_CLASS_SIGNED:
        vy_string_format(text, "%" PRId64, (int64_t)(bits << (64 - layout->bits)) >> (64 - layout->bits));
        break;
    case VYRE_CLASS_UNSIGNED:
        vy_string_format(text, "%" PRIu64, bits);
        break;
    default:
        add_float(text, type, bits);
        break;
    }
}

static void add_lane(vy_string *text, vy_worker *worker, vy_warp *warp, const vy_instruction *in, uint32_t lane) {
    const vyre_program *program = worker->run->program;
    const vy_stmt *stmt = &program->stmts.items[in->site];
    const char *format = vy_symbol_name(program, stmt->name), *hole;
    uint32_t arg = 0;
    for (; (hole = strstr(format, "{}")) && arg < stmt->arg_count; format = hole + 2, arg++) {
        uint32_t r = worker->run->oracle->lists.items[in->a + arg];
        const vy_expr *value = &program->exprs.items[program->args.items[stmt->args + arg].index];
        vy_string_append(text, format, (size_t)(hole - format));
        add_value(text, (vyre_type)value->type, vy_register(worker, warp, r)[lane]);
    }
    vy_string_add(text, format);
}

static void print_lanes(vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    vy_run *run = worker->run;
    worker->prints += warp->mask.count;
    if (!run->options->print)
        return;
    vy_string text = {0};
    pthread_mutex_lock(&run->lock);
    for (uint32_t i = 0; i < warp->lanes; i++) {
        if (!warp->mask.words[i])
            continue;
        text.length = 0;
        add_lane(&text, worker, warp, in, i);
        if (text.failed) {
            atomic_store(&run->stop, VYRE_NO_MEMORY);
            break;
        }
        run->options->print(run->options->print_user, vy_lane_invocation(warp, i), text.text ? text.text : "");
    }
    pthread_mutex_unlock(&run->lock);
    vy_string_free(&text);
}

/* ---- interpreter (compile.h describes the instructions) ---- */

/* ---- sets of lanes ---- */

static void swap_lanes(vy_lanes *a, vy_lanes *b) {
    vy_lanes t = *a;
    *a = *b;
    *b = t;
}

/* Moves the lanes of `from` to `to`; the sets must be disjoint. */
static void join_lanes(vy_lanes *to, vy_lanes *from, uint32_t n) {
    if (from->count == 0)
        return;
    if (to->count == 0) {
        swap_lanes(to, from);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        to->words[i] |= from->words[i];
    to->count += from->count;
    from->count = 0;
}

/* Moves the active lanes whose condition (0 or 1) is 0 into `out`, which may hold others. */
static void split_lanes(vy_lanes *mask, vy_lanes *out, const uint64_t *condition, uint32_t n) {
    uint64_t stay = 0;
    for (uint32_t i = 0; i < n; i++)
        stay += mask->words[i] & condition[i];
    if (stay == mask->count)
        return;
    if (stay == 0) {
        join_lanes(out, mask, n);
        return;
    }
    if (out->count == 0)
        memset(out->words, 0, n * sizeof *out->words);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t keep = 0 - condition[i];
        out->words[i] |= mask->words[i] & ~keep;
        mask->words[i] &= keep;
    }
    out->count += mask->count - (uint32_t)stay;
    mask->count = (uint32_t)stay;
}

static void blend(uint64_t *r, const uint64_t *value, const uint64_t *mask, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        r[i] ^= (r[i] ^ value[i]) & mask[i];
}

/* ---- for loops ---- */

static int64_t as_signed(const vy_type_layout *layout, uint64_t bits) {
    return (int64_t)(bits << (64 - layout->bits)) >> (64 - layout->bits);
}

/* Trip count of the mathematical sequence from, from + step, … before `to`. Distances between values of 64 bits fit a
 * uint64_t. */
static uint64_t count_trips(const vy_type_layout *layout, uint64_t from, uint64_t to, uint64_t step) {
    int down = 0, ahead;
    uint64_t distance, stride = step;
    if (layout->classes == VYRE_CLASS_SIGNED) {
        int64_t a = as_signed(layout, from), b = as_signed(layout, to), c = as_signed(layout, step);
        down = c < 0;
        stride = down ? 0 - (uint64_t)c : (uint64_t)c;
        ahead = down ? a > b : a < b;
        distance = down ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    } else {
        ahead = from < to;
        distance = to - from;
    }
    if (!ahead || stride == 0)
        return 0;
    return stride == 1 ? distance : (distance - 1) / stride + 1;
}

static void start_for(const vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    const vy_type_layout *layout = &vy_type_layouts[in->type];
    const uint64_t *from = vy_register(worker, warp, in->a), *to = vy_register(worker, warp, in->b);
    int has_step = in->c != VY_NONE;
    const uint64_t *step = vy_register(worker, warp, has_step ? in->c : in->a);
    uint64_t *variable = vy_register(worker, warp, in->r), *trips = vy_register(worker, warp, (uint32_t)in->value);
    for (uint32_t i = 0; i < warp->lanes; i++)
        trips[i] = count_trips(layout, from[i], to[i], has_step ? step[i] : 1);
    memcpy(variable, from, warp->lanes * sizeof *from);
}

/* Lanes outside the loop are stepped, too; their values are unused. */
static void step_for(const vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    uint64_t mask = vy_type_layouts[in->type].mask;
    uint64_t *variable = vy_register(worker, warp, in->r), *trips = vy_register(worker, warp, in->a);
    if (in->c == VY_NONE) {
        for (uint32_t i = 0; i < warp->lanes; i++)
            variable[i] = (variable[i] + 1) & mask;
    } else {
        const uint64_t *step = vy_register(worker, warp, in->c);
        for (uint32_t i = 0; i < warp->lanes; i++)
            variable[i] = (variable[i] + step[i]) & mask;
    }
    for (uint32_t i = 0; i < warp->lanes; i++)
        trips[i] -= 1;
}

static void test_for(const vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    const uint64_t *trips = vy_register(worker, warp, in->a);
    uint64_t *condition = worker->scratch;
    for (uint32_t i = 0; i < warp->lanes; i++)
        condition[i] = trips[i] != 0;
    split_lanes(&warp->mask, &warp->slots[in->slot], condition, warp->lanes);
}

/* ---- memory ---- */

vy_lane_memory vy_warp_memory(const vy_worker *worker, const vy_warp *warp, uint32_t index) {
    const vy_run *run = worker->run;
    const vy_oracle_memory *memory = &run->oracle->memories.items[index];
    if (memory->space == VY_SPACE_BUFFER)
        return (vy_lane_memory){run->buffers[index], run->launch->buffers[index].count, 0};
    if (memory->space == VY_SPACE_WORKGROUP)
        return (vy_lane_memory){warp->group->memory + memory->offset, memory->elements, 0};
    if (memory->space == VY_SPACE_CONSTANT) /* never stored to */
        return (vy_lane_memory){(uint8_t *)(uintptr_t)memory->table, memory->elements, 0};
    return (vy_lane_memory){warp->private_memory + memory->offset, memory->elements, run->oracle->private_bytes};
}

/* The indices of the active lanes; those of the others are out of bounds, so that their elements are not accessed. */
static const uint64_t *indices_of(const vy_worker *worker, const vy_warp *warp, const vy_instruction *in) {
    const uint64_t *mask = warp->mask.count == warp->lanes ? NULL : warp->mask.words;
    return memory_indices((vyre_type)in->index_type, vy_register(worker, warp, in->a), mask, warp->lanes,
                          worker->scratch);
}

static void run_load(vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    const uint64_t *index = indices_of(worker, warp, in);
    if (worker->run->check)
        vy_shadow_access(worker, warp, in, in->b, index, VY_ACCESS_READ, NULL);
    vy_memory_load((vyre_type)in->type, vy_warp_memory(worker, warp, in->b), index, vy_register(worker, warp, in->r),
                   warp->lanes);
}

static void run_store(vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    const uint64_t *index = indices_of(worker, warp, in);
    if (worker->run->check)
        vy_shadow_access(worker, warp, in, in->c, index, VY_ACCESS_WRITE, NULL);
    vy_memory_store((vyre_type)in->type, vy_warp_memory(worker, warp, in->c), index, vy_register(worker, warp, in->b),
                    warp->lanes);
}

static void run_atomic(vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    const vy_run *run = worker->run;
    const uint64_t *index = indices_of(worker, warp, in);
    const vy_stmt *stmt = &run->program->stmts.items[in->site];
    uint32_t memory = (uint32_t)in->value;
    uint64_t *old = worker->scratch + run->layout.stride;
    int is_shared = run->is_shared && run->oracle->memories.items[memory].space == VY_SPACE_BUFFER;
    memory_atomic((vyre_atomic)stmt->op, (vyre_type)in->type, vy_warp_memory(worker, warp, memory), index,
                  vy_register(worker, warp, in->b), vy_register(worker, warp, in->c), old, warp->lanes, is_shared);
    if (run->check)
        vy_shadow_access(worker, warp, in, memory, index,
                         vy_atomic_access(stmt, (vy_space)run->oracle->memories.items[memory].space), old);
    if (in->r != VY_NONE)
        memcpy(vy_register(worker, warp, in->r), old, warp->lanes * sizeof *old);
}

/* ---- traps ---- */

/* The lowest invocation counts; for that one, its first trap. */
static void run_report(vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    const uint64_t *code = vy_register(worker, warp, in->a);
    for (uint32_t i = 0; i < warp->lanes; i++) {
        if (!warp->mask.words[i])
            continue;
        uint64_t invocation = vy_lane_invocation(warp, i);
        if (!worker->trapped || invocation < worker->trap.invocation) {
            worker->trap = (vyre_trap){invocation, (uint32_t)code[i]};
            worker->trap_stmt = in->site;
        }
        worker->trapped = 1;
        warp->group->is_ending = 1;
    }
}

static void run_trap(vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    run_report(worker, warp, in);
    warp->trapped += warp->mask.count;
    warp->mask.count = 0;
    warp->group->trapped = 1;
}

/* ---- the loop ---- */

/* Between effects, a warp with a quantum may have to yield. It has not executed the instruction then. */
static int is_due(vy_warp *warp) {
    return warp->quantum && --warp->quantum == 0;
}

#define R(field) vy_register(worker, warp, in->field)

vy_stop vy_warp_run(vy_worker *worker, vy_warp *warp) {
    const vy_instruction *code = worker->run->oracle->code.items;
    const uint32_t n = warp->lanes;
    vy_lanes *mask = &warp->mask, *slots = warp->slots;
    uint32_t pc = warp->pc;
    vy_stop stop;
    for (;;) {
        const vy_instruction *in = &code[pc++];
        switch ((vy_opcode)in->code) {
        case VY_OPCODE_OP:
            in->kernel(R(r), R(a), R(b), R(c), n);
            continue;
        case VY_OPCODE_OP_MASKED:
            if (mask->count == n) {
                in->kernel(R(r), R(a), R(b), R(c), n);
            } else {
                in->kernel(worker->scratch, R(a), R(b), R(c), n);
                blend(R(r), worker->scratch, mask->words, n);
            }
            continue;
        case VY_OPCODE_MOVE:
            memcpy(R(r), R(a), n * sizeof(uint64_t));
            continue;
        case VY_OPCODE_MOVE_MASKED:
            blend(R(r), R(a), mask->words, n);
            continue;
        case VY_OPCODE_FILL: {
            uint64_t *r = R(r);
            for (uint32_t i = 0; i < n; i++)
                r[i] = in->value;
            continue;
        }
        case VY_OPCODE_LOAD:
            run_load(worker, warp, in);
            continue;
        case VY_OPCODE_STORE:
            if (is_due(warp))
                break;
            run_store(worker, warp, in);
            continue;
        case VY_OPCODE_ATOMIC:
            if (is_due(warp))
                break;
            run_atomic(worker, warp, in);
            continue;
        case VY_OPCODE_STEP:
            worker->steps += (uint64_t)in->r * mask->count;
            worker->evaluations += (uint64_t)in->a * mask->count;
            if (worker->steps < worker->checkpoint || vy_worker_report(worker))
                continue;
            stop = VY_STOP_ABORT;
            goto stopped;
        case VY_OPCODE_IF:
            slots[in->slot].count = 0;
            split_lanes(mask, &slots[in->slot], R(a), n);
            if (mask->count == 0)
                pc = in->target;
            continue;
        case VY_OPCODE_ELSE:
            swap_lanes(mask, &slots[in->slot]);
            if (mask->count == 0)
                pc = in->target;
            continue;
        case VY_OPCODE_ENDIF:
        case VY_OPCODE_EXIT:
            join_lanes(mask, &slots[in->slot], n);
            if (mask->count == 0)
                pc = in->target;
            continue;
        case VY_OPCODE_LOOP:
            slots[in->slot].count = slots[in->slot + 1].count = 0;
            continue;
        case VY_OPCODE_WHILE:
            split_lanes(mask, &slots[in->slot], R(a), n);
            if (mask->count == 0)
                pc = in->target;
            continue;
        case VY_OPCODE_NEXT:
        case VY_OPCODE_FOR_NEXT:
            if (is_due(warp))
                break;
            join_lanes(mask, &slots[in->slot + 1], n);
            if (mask->count == 0)
                continue;
            if (in->code == VY_OPCODE_FOR_NEXT)
                step_for(worker, warp, in);
            pc = in->target;
            continue;
        case VY_OPCODE_FOR:
            start_for(worker, warp, in);
            continue;
        case VY_OPCODE_FOR_TEST:
            test_for(worker, warp, in);
            if (mask->count == 0)
                pc = in->target;
            continue;
        case VY_OPCODE_BREAK:
            join_lanes(&slots[in->slot], mask, n);
            pc = in->target;
            continue;
        case VY_OPCODE_CONTINUE:
            join_lanes(&slots[in->slot + 1], mask, n);
            pc = in->target;
            continue;
        case VY_OPCODE_RETURN:
            mask->count = 0;
            pc = in->target;
            continue;
        case VY_OPCODE_TRAP:
            run_trap(worker, warp, in);
            pc = in->target;
            continue;
        case VY_OPCODE_PRINT:
            print_lanes(worker, warp, in);
            continue;
        case VY_OPCODE_INSIDE:
            vy_inside_run(worker, warp, in);
            continue;
        case VY_OPCODE_LOAD_WIDE:
            vy_load_wide_run(worker, warp, in);
            continue;
        case VY_OPCODE_STORE_WIDE:
            if (is_due(warp))
                break;
            vy_store_wide_run(worker, warp, in);
            continue;
        case VY_OPCODE_REPORT:
            run_report(worker, warp, in);
            continue;
        case VY_OPCODE_POLL:
            vy_poll_run(worker, warp, in);
            continue;
        case VY_OPCODE_BARRIER:
        case VY_OPCODE_COLLECTIVE:
            pc--;
            stop = VY_STOP_SYNC;
            goto stopped;
        default:
            pc--;
            stop = VY_STOP_END;
            goto stopped;
        }
        pc--;
        stop = VY_STOP_YIELD;
    stopped:
        warp->pc = pc;
        warp->stop = (uint8_t)stop;
        return stop;
    }
}

/* ---- starting a warp ---- */

typedef struct place {
    uint32_t local[3], group[3];
} place;

static place place_of(const vy_run *run, const vy_group *group, uint32_t position) {
    const uint32_t *size = run->program->workgroup, *groups = run->launch->groups;
    uint32_t local = position % run->launch->group_size;
    uint64_t index = group->index + position / run->launch->group_size;
    return (place){{local % size[0], local / size[0] % size[1], local / size[0] / size[1]},
                   {(uint32_t)(index % groups[0]), (uint32_t)(index / groups[0] % groups[1]),
                    (uint32_t)(index / groups[0] / groups[1])}};
}

/* The next position in linear order, without divisions. */
static void advance(const vy_run *run, place *at) {
    const uint32_t *size = run->program->workgroup, *groups = run->launch->groups;
    for (int d = 0; d < 3; d++) {
        if (++at->local[d] < size[d])
            return;
        at->local[d] = 0;
    }
    for (int d = 0; d < 3; d++) {
        if (++at->group[d] < groups[d])
            return;
        at->group[d] = 0;
    }
}

static uint64_t id_value(const vy_run *run, const vy_id_register *id, const place *at, uint32_t position) {
    switch ((vyre_builtin)id->builtin) {
    case VYRE_BUILTIN_GLOBAL_ID:
        return at->group[id->axis] * run->program->workgroup[id->axis] + at->local[id->axis];
    case VYRE_BUILTIN_LOCAL_ID:
        return at->local[id->axis];
    case VYRE_BUILTIN_GROUP_ID:
        return at->group[id->axis];
    default:
        return position % run->launch->group_size;
    }
}

static void fill_ids(vy_worker *worker, vy_warp *warp) {
    const vy_run *run = worker->run;
    for (uint32_t k = 0; k < run->oracle->ids.count; k++) {
        const vy_id_register *id = &run->oracle->ids.items[k];
        uint64_t *r = vy_register(worker, warp, id->r);
        place at = place_of(run, warp->group, warp->positions[0]);
        for (uint32_t i = 0; i < warp->lanes; i++) {
            if (i > 0 && warp->positions[i] == warp->positions[i - 1] + 1)
                advance(run, &at);
            else if (i > 0)
                at = place_of(run, warp->group, warp->positions[i]);
            r[i] = id_value(run, id, &at, warp->positions[i]);
        }
    }
}

static void start_legal(vy_worker *worker, vy_warp *warp) {
    const vyre_oracle *oracle = worker->run->oracle;
    /* Invocations are numbered from the other end than workgroups, so that their garbage differs. */
    for (uint32_t i = 0; oracle->private_bytes && i < warp->lanes; i++)
        vy_garbage_fill(worker->run, warp->private_memory + (size_t)i * oracle->private_bytes, oracle->private_bytes,
                        ~vy_lane_invocation(warp, i));
    if (oracle->polls != VY_NONE)
        memset(vy_register(worker, warp, oracle->polls), 0, warp->lanes * sizeof(uint64_t));
}

void vy_warp_start(vy_worker *worker, vy_warp *warp) {
    warp->pc = 0;
    warp->trapped = 0;
    warp->stop = VY_STOP_RUNNABLE;
    memset(warp->mask.words, 0xff, warp->lanes * sizeof *warp->mask.words);
    warp->mask.count = warp->lanes;
    if (worker->run->oracle->is_legal)
        start_legal(worker, warp);
    else
        memset(warp->private_memory, 0, (size_t)worker->run->oracle->private_bytes * warp->lanes);
    fill_ids(worker, warp);
}
