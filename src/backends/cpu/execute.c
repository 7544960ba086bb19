/* Execution of one dispatch on the thread pool, and privatisation of buffers that are only updated (execute.h).
 * Invariant: results do not depend on the number of threads or the division into ranges. */
#include "backends/cpu/execute.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "driver/dispatch.h"
#include "vyre/op.h"

#include <inttypes.h>

/* ---- privatised buffers ---- If a program only updates a buffer by commutative atomics (kernel_abi.h), every
 * participating thread may update a private copy. It merges the copy into the buffer when it finishes, with atomic
 * operations, because other dispatches may use the same buffer. Until then no other thread sees its updates, and the
 * program cannot observe that. */

/* Fits the first two cache levels together with other data. */
enum { LARGEST = 64 * 1024 };

static uint64_t bytes_of(const vy_cpu_execution *run, const vy_cpu_private_buffer *p) {
    return (uint64_t)run->buffers[p->buffer].count * vyre_type_size((vyre_type)p->type);
}

static uint64_t table_bytes(const vy_cpu_execution *run) {
    return vy_cpu_align(run->code->facts->buffer_count * sizeof(vy_cpu_buffer));
}

/* Initialising and merging an element cost about as much as an atomic update, so each thread must make at least as
 * many updates. */
static int is_profitable(const vy_cpu_execution *run, const vy_cpu_private_buffer *p) {
    const vy_cpu_executable *code = run->code;
    uint64_t all; /* invocations, which are fewer than 2^64 */
    if (p->buffer >= code->facts->buffer_count ||
        code->facts->buffers[p->buffer].element_bytes != vyre_type_size((vyre_type)p->type))
        return 0;
    uint32_t count = run->buffers[p->buffer].count;
    if (!count || bytes_of(run, p) > LARGEST)
        return 0;
    all = run->group_count * code->object.header.invocations;
    return all / (run->job.helpers + 1) >= count;
}

/* The memory that a thread needs for private copies; 0 if they do not pay: large buffers, or few invocations. */
static uint64_t privatize_bytes(const vy_cpu_execution *run) {
    const vy_cpu_header *header = &run->code->object.header;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < header->private_count; i++)
        if (is_profitable(run, &header->privates[i]))
            bytes += vy_cpu_align(bytes_of(run, &header->privates[i]));
    return bytes ? table_bytes(run) + bytes : 0;
}

/* ---- one buffer ---- */

/* Merge operations: X(op, expression of the old and the new value). */
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

/* ---- all buffers of a frame ---- */

/* Sets up the private copies of a frame in `memory`, which has privatize_bytes bytes at VY_CPU_ALIGNMENT. */
static void privatize_start(const vy_cpu_execution *run, uint8_t *memory, vy_cpu_frame *frame) {
    const vy_cpu_header *header = &run->code->object.header;
    vy_cpu_buffer *table = (vy_cpu_buffer *)memory;
    memcpy(table, run->buffers, run->code->facts->buffer_count * sizeof *table);
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

/* Merges the private copies into the buffers of the dispatch. */
static void privatize_merge(const vy_cpu_execution *run, const vy_cpu_frame *frame) {
    const vy_cpu_header *header = &run->code->object.header;
    for (uint32_t i = 0; i < header->private_count; i++) {
        const vy_cpu_private_buffer *p = &header->privates[i];
        const vy_cpu_buffer *shared = &run->buffers[p->buffer], *own = &frame->buffers[p->buffer];
        if (frame->private_set & 1u << i)
            elements[p->type].add(shared->data, own->data, own->count, (vyre_atomic)p->op, identity_of(p));
    }
}

/* ---- execution ---- */

/* Constants of range sizes, in picoseconds. Threads finish about one range apart, and cancellation waits for the end
 * of a range if the code does not poll. Taking a range costs some tens of nanoseconds, but several times as much
 * with light workgroups in a memory-bound program, because an atomic waits for all outstanding stores. With light
 * workgroups the end of a share is left to the thread that began it: its caches hold the data, and stealing would
 * evict them. Heavy workgroups may take much longer than the mean. */
#define GROUP_LIGHT (UINT64_C(250) * 1000)
#define RANGE_MIN (UINT64_C(1) * 1000000)
#define RANGE_MIN_LIGHT (UINT64_C(4) * 1000000)
#define RANGE_MAX (UINT64_C(50) * 1000000)
#define KEEP_LIGHT (UINT64_C(8) * 1000000)
enum { RANGES_PER_THREAD = 8, REPLAN_FRACTION = 32 };

void vy_cpu_execution_init(vy_cpu_execution *run, vy_cpu *cpu, vy_cpu_executable *code, const vyre_launch *launch) {
    run->cpu = cpu;
    run->code = code;
    run->program = launch->program;
    memcpy(run->groups, launch->groups, sizeof run->groups);
    run->cancel = launch->cancel;
    run->deadline_ns = launch->deadline_ns;
    run->max_helpers = cpu->threads - 1;
}

/* ---- thread count and range size ---- */

/* The most threads besides the caller's that could get work: one per unit. */
static unsigned max_helpers(const vy_cpu_execution *run) {
    const vy_cpu_header *header = &run->code->object.header;
    uint64_t parts = header->parts > header->narrow_parts ? header->parts : header->narrow_parts;
    uint64_t most = run->group_count * parts - 1;
    return most < run->max_helpers ? (unsigned)most : run->max_helpers;
}

/* Switches the job to parts of workgroups as units. Returns the first unit. */
static uint64_t count_parts(vy_cpu_execution *run, uint64_t first, uint32_t parts, int is_narrow) {
    run->is_parted = 1;
    run->is_narrow = is_narrow;
    run->job.end *= parts;
    return first * parts;
}

/* Uses the code with fewer lanes if the other code has too few parts for all threads, and each narrow part gets a
 * thread: two narrow parts in sequence cost more than one part with all lanes. */
static uint64_t count_narrow(vy_cpu_execution *run, uint64_t first) {
    const vy_cpu_header *header = &run->code->object.header;
    vy_cpu_job *job = &run->job;
    uint64_t groups = job->end - first, threads = (uint64_t)job->helpers + 1;
    if (!header->narrow_parts || groups * header->parts >= threads)
        return first;
    if (groups * header->narrow_parts <= threads)
        return count_parts(run, first, header->narrow_parts, 1);
    job->helpers = (unsigned)(groups * header->parts) - 1;
    if (job->sleepers > job->helpers)
        job->sleepers = job->helpers;
    return first;
}

/* Selects the range size from workgroup `first` on: workgroups, or parts of them if there are too few for all
 * threads to finish at about the same time. Returns the first unit. each: the time of a workgroup, or of a part if
 * the job counts parts. */
static uint64_t choose_chunk(vy_cpu_execution *run, uint64_t first, uint64_t each) {
    vy_cpu_job *job = &run->job;
    uint32_t parts = run->code->object.header.parts;
    uint64_t before = job->end;
    if (!run->is_parted)
        first = count_narrow(run, first);
    uint64_t ranges = (uint64_t)(job->helpers + 1) * RANGES_PER_THREAD;
    if (!run->is_parted && parts > 1 && (job->helpers || run->replans) && job->end - first < ranges)
        first = count_parts(run, first, parts, 0);
    if (job->end != before)
        each /= job->end / before;
    if (!each)
        each = 1;
    int is_light = !run->is_parted && each < GROUP_LIGHT;
    uint64_t left = job->end - first, share = (left - 1) / (job->helpers + 1) + 1;
    uint64_t chunk = job->helpers ? share / RANGES_PER_THREAD : left;
    uint64_t least = (is_light ? RANGE_MIN_LIGHT : RANGE_MIN) / each;
    if (job->helpers && chunk < least)
        chunk = least < share ? least : share;
    if (chunk > RANGE_MAX / each && (job->helpers || run->cancel || run->deadline_ns))
        chunk = RANGE_MAX / each;
    if (run->replans && chunk > left / REPLAN_FRACTION)
        chunk = left / REPLAN_FRACTION;
    job->chunk = chunk ? chunk : 1;
    job->keep = is_light ? KEEP_LIGHT / each : 0;
    return first;
}

/* If the trip count is unknown, a caller that starts alone checks the clock after the first range. */
static void plan(vy_cpu_execution *run) {
    vy_cpu_job *job = &run->job;
    uint64_t each = vy_cpu_cost_get(&run->code->cost);
    unsigned most = max_helpers(run);
    if (__builtin_mul_overflow(each, run->group_count, &run->expected))
        run->expected = UINT64_MAX;
    vy_cpu_pool_plan_helpers(run->cpu->pool, job, run->expected, most, run->start_ns);
    run->replans = !job->helpers && most && run->code->cost.varies;
    run->is_parted = run->is_narrow = 0;
    job->end = run->group_count;
    choose_chunk(run, 0, each);
}

/* After the first range, up to `first`: recruits helpers if it took much longer than expected. */
static void replan(vy_cpu_execution *run, uint64_t first) {
    vy_cpu_job *job = &run->job;
    uint64_t now = vy_clock_now(), took = now - run->start_ns, each, left;
    run->replans = 0;
    if (__builtin_mul_overflow(took, UINT64_C(1000), &took))
        took = UINT64_MAX;
    each = took / first;
    if (__builtin_mul_overflow(each, job->end - first, &left))
        left = UINT64_MAX;
    if (left / 2 > run->expected)
        vy_cpu_pool_plan_helpers(run->cpu->pool, job, left, max_helpers(run), now);
    first = choose_chunk(run, first, each);
    if (job->helpers)
        vy_cpu_pool_request_helpers(run->cpu->pool, job, first);
}

/* ---- execution on one thread ---- */

static int is_stopping(const vy_cpu_execution *run) {
    return atomic_load_explicit(run->stop, memory_order_relaxed) ||
           (run->cancel && __atomic_load_n(run->cancel, __ATOMIC_RELAXED));
}

static void merge(vy_cpu_execution *run, const vy_cpu_frame *frame, int was_stopped) {
    if (was_stopped)
        atomic_store_explicit(&run->was_stopped, 1, memory_order_relaxed);
    if (frame->trap_invocation == UINT64_MAX)
        return;
    pthread_mutex_lock(&run->cpu->trap_lock);
    if (frame->trap_invocation < run->trap.invocation) {
        run->trap = (vyre_trap){frame->trap_invocation, frame->trap_code};
        run->trap_site = frame->trap_site;
    }
    pthread_mutex_unlock(&run->cpu->trap_lock);
}

/* Non-temporal stores may be reordered after the stores that publish them. */
static void order_stores(void) {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Another thread may have loaded this code at an address that held other code: on AArch64 the executing thread must
 * discard prefetched instructions. */
static void sync_instruction_stream(void) {
#if defined(__aarch64__)
    __asm__ volatile("isb" : : : "memory");
#endif
}

/* stack: NULL if the thread's own stack suffices. */
static void run_ranges(vy_cpu_execution *run, vy_cpu_share_cursor *part, vy_cpu_frame *frame,
                       const vy_cpu_stack *stack) {
    vy_fenv caller;
    uint64_t first, end;
    int was_stopped = 0, replans = !run->job.helpers && run->replans; /* only the owner, if it is alone */
    vy_fenv_enter(&caller);
    sync_instruction_stream();
    while (!was_stopped && vy_cpu_job_next_range(&run->job, part, &first, &end)) {
        was_stopped = is_stopping(run);
        uint64_t parts = run->is_parted ? 1 : run->code->object.header.parts;
        frame->is_narrow = (uint32_t)run->is_narrow;
        if (!was_stopped && stack)
            vy_cpu_stack_call(stack, run->code->object.entry, frame, first * parts, end * parts);
        else if (!was_stopped)
            run->code->object.entry(frame, first * parts, end * parts);
        was_stopped |= frame->stopped != 0;
        if (replans && !was_stopped && end < run->job.end)
            replan(run, end);
        replans = 0;
    }
    vy_fenv_leave(&caller);
    if (run->streams)
        order_stores();
    merge(run, frame, was_stopped);
}

/* A thread that cannot allocate memory leaves its ranges to the others; if no thread can, they remain. */
static void run_worker(vy_cpu_job *job, vy_cpu_share_cursor *part) {
    static const uint32_t never = 0;
    vy_cpu_execution *run = (vy_cpu_execution *)job;
    const vy_cpu_header *header = &run->code->object.header;
    uint64_t workgroup = vy_cpu_align(header->workgroup_bytes), own = privatize_bytes(run);
    uint64_t needed = workgroup + vy_cpu_align(header->spill_bytes), size = needed + own;
    uint64_t start = job->helpers ? vy_clock_now() : run->start_ns;
    int has_stack = vy_cpu_stack_is_needed(header->stack_bytes);
    vy_cpu_frame_block *block = NULL;
    if (size || has_stack)
        block = vy_cpu_frame_pool_acquire(&run->cpu->frame_pool, part->home, size, header->stack_bytes);
    if (!block && own) { /* private copies are optional */
        own = 0;
        if (needed || has_stack)
            block = vy_cpu_frame_pool_acquire(&run->cpu->frame_pool, part->home, needed, header->stack_bytes);
    }
    vy_cpu_frame frame = {.buffers = run->buffers,
                          .params = run->params,
                          .workgroup = block ? vy_cpu_frame_block_bytes(block) : NULL,
                          .cancel = run->cancel ? run->cancel : &never,
                          .stop = (const uint32_t *)run->stop,
                          .trap_invocation = UINT64_MAX,
                          .groups = {run->groups[0], run->groups[1], run->groups[2]},
                          .streams = run->streams};
    if ((needed || has_stack) && !block) {
        atomic_store_explicit(&run->is_out_of_memory, 1, memory_order_relaxed);
        return;
    }
    if (block)
        frame.spill = frame.workgroup + workgroup;
    if (own)
        privatize_start(run, frame.workgroup + needed, &frame);
    run_ranges(run, part, &frame, has_stack ? vy_cpu_frame_block_stack(block) : NULL);
    privatize_merge(run, &frame);
    if (block)
        vy_cpu_frame_pool_release(&run->cpu->frame_pool, part->home, block);
    if (job->helpers)
        atomic_fetch_add_explicit(&job->shares[part->home].note, vy_clock_now() - start, memory_order_relaxed);
}

/* ---- the dispatch ---- */

/* Whether written data would only evict data that is read, because the caches cannot hold both. The code decides
 * which stores are then non-temporal. */
static uint32_t streams(const vy_cpu_execution *run) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < run->code->facts->buffer_count; i++)
        bytes += (uint64_t)run->buffers[i].count * run->code->facts->buffers[i].element_bytes;
    return bytes > run->cpu->stream_bytes;
}

/* The time in which threads are woken is not counted, but starting costs each thread something. So short shares must
 * not increase the cost of a workgroup: that would recruit more threads, with even shorter shares. */
#define SHARE_MIN_NS UINT64_C(10000)
static void update_cost(vy_cpu_execution *run) {
    uint64_t seen, busy = run->job.helpers ? 0 : run->nanoseconds;
    for (unsigned i = 0; run->job.helpers && i < run->job.share_count; i++)
        busy += atomic_load_explicit(&run->job.shares[i].note, memory_order_relaxed);
    if (run->was_stopped || run->is_out_of_memory || __builtin_mul_overflow(busy, UINT64_C(1000), &seen))
        return;
    vy_cpu_cost_update(&run->code->cost, seen / run->group_count,
                       !run->job.helpers || busy / (run->job.helpers + 1) >= SHARE_MIN_NS);
}

static vyre_status check_result(const vy_cpu_execution *run, vyre_trap *trap, vyre_error *error) {
    const char *name = run->code->name;
    if (run->was_stopped && atomic_load(run->stop) == VY_CPU_STOP_DEADLINE &&
        !(run->cancel && __atomic_load_n(run->cancel, __ATOMIC_RELAXED)))
        return vy_fail(error, VYRE_TIMEOUT, NULL, "`%s` was still running at its deadline, and was stopped", name);
    if (run->was_stopped)
        return vy_fail(error, VYRE_CANCELLED, NULL, "`%s` was cancelled while it ran", name);
    if (run->is_out_of_memory && !vy_cpu_job_is_exhausted(&run->job))
        return vy_fail(error, VYRE_NO_MEMORY, "free host memory, or use smaller workgroups and arrays",
                       "out of memory for a workgroup of `%s` (%" PRIu64 " bytes, and %" PRIu64 " of stack)", name,
                       run->code->object.header.workgroup_bytes + run->code->object.header.spill_bytes,
                       run->code->object.header.stack_bytes);
    if (run->trap.invocation == UINT64_MAX)
        return VYRE_OK;
    if (trap)
        *trap = run->trap;
    return vy_fail_trapped(run->program, run->trap_site - 1, &run->trap, error);
}

vyre_status vy_cpu_execution_run(vy_cpu_execution *run, vyre_trap *trap, vyre_error *error) {
    vy_cpu_deadline deadline = {.when_ns = run->deadline_ns, .word = run->stop, .value = VY_CPU_STOP_DEADLINE};
    vyre_status status = VYRE_OK;
    run->job.body = run_worker;
    run->group_count = (uint64_t)run->groups[0] * run->groups[1] * run->groups[2];
    run->trap = (vyre_trap){UINT64_MAX, 0};
    atomic_init(&run->was_stopped, 0);
    atomic_init(&run->is_out_of_memory, 0);
    run->nanoseconds = 0;
    run->streams = streams(run);
    if (run->deadline_ns)
        status = vy_cpu_deadline_arm(&run->cpu->timer, &deadline, error);
    if (status != VYRE_OK)
        return status;
    uint32_t nothing = 0;
    run->start_ns = vy_clock_now();
    if (run->deadline_ns && run->start_ns >= run->deadline_ns) /* the deadline has already passed */
        atomic_compare_exchange_strong(run->stop, &nothing, VY_CPU_STOP_DEADLINE);
    plan(run);
    vy_cpu_pool_run(run->cpu->pool, &run->job);
    run->nanoseconds = vy_clock_now() - run->start_ns;
    if (run->deadline_ns)
        vy_cpu_deadline_disarm(&run->cpu->timer, &deadline);
    update_cost(run);
    return check_result(run, trap, error);
}
