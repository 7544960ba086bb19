/* Running a dispatch (run.h). */
#include "backends/cpu/run.h"

#include "backends/cpu/private.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "driver/boundary.h"

#include <inttypes.h>

/* How long a range is to take, in picoseconds. Threads do not end at the same time, but about one range apart; and somebody who cancels waits for one to end if the code
 * does not ask by itself. To take one costs some tens of nanoseconds, but several times as much where workgroups are light and memory is the limit: nothing
 * overtakes an atomic, so that all that is on its way arrives first. There, too, the last of a share is left to its thread: what its caches hold takes others longer,
 * and it longer again the next time. Heavy workgroups may take much longer than the mean. */
#define GROUP_LIGHT (UINT64_C(250) * 1000)
#define RANGE_LEAST (UINT64_C(1) * 1000000)
#define RANGE_LEAST_LIGHT (UINT64_C(4) * 1000000)
#define RANGE_MOST (UINT64_C(50) * 1000000)
#define KEEP_LIGHT (UINT64_C(8) * 1000000)
enum { RANGES_PER_THREAD = 8 };

void vy_cpu_run_describe(vy_cpu_run *run, vy_cpu *cpu, vy_cpu_code *code, const vyre_launch *launch) {
    run->cpu = cpu;
    run->code = code;
    memcpy(run->groups, launch->groups, sizeof run->groups);
    run->cancel = launch->cancel;
    run->deadline_ns = launch->deadline_ns;
    run->helpers_most = cpu->threads - 1;
}

/* ---- a thread's part ---- */

static int is_stopping(const vy_cpu_run *run) {
    return atomic_load_explicit(run->stop, memory_order_relaxed) ||
           (run->cancel && __atomic_load_n(run->cancel, __ATOMIC_RELAXED));
}

static void merge(vy_cpu_run *run, const vy_cpu_frame *frame, int was_stopped) {
    if (was_stopped)
        atomic_store_explicit(&run->was_stopped, 1, memory_order_relaxed);
    if (frame->trap_invocation == UINT64_MAX)
        return;
    pthread_mutex_lock(&run->cpu->trap_lock);
    if (frame->trap_invocation < run->trap.invocation)
        run->trap = (vyre_trap){frame->trap_invocation, frame->trap_code};
    pthread_mutex_unlock(&run->cpu->trap_lock);
}

/* Stores past the caches may overtake those that tell others of them. */
static void order_stores(void) {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Another thread may have loaded the code where other code was: on AArch64 who runs it has to drop what it fetched before. */
static void see_code(void) {
#if defined(__aarch64__)
    __asm__ volatile("isb" : : : "memory");
#endif
}

static void run_ranges(vy_cpu_run *run, vy_cpu_part *part, vy_cpu_frame *frame) {
    vy_fenv caller;
    uint64_t first, end;
    int was_stopped = 0;
    vy_fenv_enter(&caller);
    see_code();
    while (!was_stopped && vy_cpu_job_take(&run->job, part, &first, &end)) {
        was_stopped = is_stopping(run);
        if (!was_stopped)
            run->code->object.entry(frame, first, end);
        was_stopped |= frame->stopped != 0;
    }
    vy_fenv_leave(&caller);
    if (run->streams)
        order_stores();
    merge(run, frame, was_stopped);
}

/* A thread without memory leaves its ranges to the others; if nobody has any, they stay. */
static void take_part(vy_cpu_job *job, vy_cpu_part *part) {
    static const uint32_t never = 0;
    vy_cpu_run *run = (vy_cpu_run *)job;
    const vy_cpu_header *header = &run->code->object.header;
    uint64_t workgroup = vy_cpu_align(header->workgroup_bytes), own = vy_cpu_private_bytes(run);
    uint64_t needed = workgroup + vy_cpu_align(header->spill_bytes), size = needed + own;
    uint64_t start = job->helpers ? vy_clock_now() : 0;
    vy_cpu_block *block = size ? vy_cpu_scratch_take(&run->cpu->scratch, part->home, size) : NULL;
    if (!block && own) { /* buffers of its own are a thing one can do without */
        own = 0;
        block = needed ? vy_cpu_scratch_take(&run->cpu->scratch, part->home, needed) : NULL;
    }
    vy_cpu_frame frame = {.buffers = run->buffers,
                          .params = run->params,
                          .workgroup = block ? vy_cpu_block_bytes(block) : NULL,
                          .cancel = run->cancel ? run->cancel : &never,
                          .stop = (const uint32_t *)run->stop,
                          .trap_invocation = UINT64_MAX,
                          .groups = {run->groups[0], run->groups[1], run->groups[2]},
                          .streams = run->streams};
    if (needed && !block) {
        atomic_store_explicit(&run->is_out_of_memory, 1, memory_order_relaxed);
        return;
    }
    if (block)
        frame.spill = frame.workgroup + workgroup;
    if (own)
        vy_cpu_private_start(run, frame.workgroup + needed, &frame);
    run_ranges(run, part, &frame);
    vy_cpu_private_end(run, &frame);
    if (block)
        vy_cpu_scratch_give(&run->cpu->scratch, part->home, block);
    if (job->helpers)
        atomic_fetch_add_explicit(&job->shares[part->home].note, vy_clock_now() - start, memory_order_relaxed);
}

/* ---- the whole ---- */

/* How many threads, and how many workgroups at a time. */
static void plan(vy_cpu_run *run, uint64_t now_ns) {
    vy_cpu_job *job = &run->job;
    uint64_t groups = job->end;
    uint64_t each = atomic_load_explicit(&run->code->group_picoseconds, memory_order_relaxed), all;
    if (!each)
        each = 1;
    if (__builtin_mul_overflow(each, groups, &all))
        all = UINT64_MAX;
    vy_cpu_pool_staff(run->cpu->pool, job, all,
                      groups - 1 < run->helpers_most ? (unsigned)(groups - 1) : run->helpers_most, now_ns);
    uint64_t share = (groups - 1) / (job->helpers + 1) + 1, chunk = job->helpers ? share / RANGES_PER_THREAD : groups;
    uint64_t least = (each < GROUP_LIGHT ? RANGE_LEAST_LIGHT : RANGE_LEAST) / each;
    if (job->helpers && chunk < least)
        chunk = least < share ? least : share;
    if (chunk > RANGE_MOST / each && (job->helpers || run->cancel || run->deadline_ns))
        chunk = RANGE_MOST / each;
    job->chunk = chunk ? chunk : 1;
    job->keep = each < GROUP_LIGHT ? KEEP_LIGHT / each : 0;
}

/* Whether what is written would only drive out of the caches what is read: there is more of both than they hold. Which stores go past them is the code's
 * business. */
static uint32_t streams(const vy_cpu_run *run) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < run->code->buffer_count; i++)
        bytes += (uint64_t)run->buffers[i].count * run->code->buffers[i].element;
    return bytes > run->cpu->stream_bytes;
}

/* What disturbs a measurement makes it longer: down at once, up by an eighth. Time in which threads were being woken does not count; but to begin costs each of them
 * something, so that short parts do not show that a workgroup takes longer: more threads would be asked, whose parts are shorter still. */
#define PART_LEAST_NS UINT64_C(10000)
static void learn(vy_cpu_run *run) {
    _Atomic uint64_t *known = &run->code->group_picoseconds;
    uint64_t seen, before = atomic_load_explicit(known, memory_order_relaxed);
    uint64_t busy = run->job.helpers ? 0 : run->nanoseconds;
    for (unsigned i = 0; run->job.helpers && i < run->job.share_count; i++)
        busy += atomic_load_explicit(&run->job.shares[i].note, memory_order_relaxed);
    if (run->was_stopped || run->is_out_of_memory || __builtin_mul_overflow(busy, UINT64_C(1000), &seen))
        return;
    seen = seen / run->job.end;
    if (seen > before && run->job.helpers && busy / (run->job.helpers + 1) < PART_LEAST_NS)
        return;
    if (seen > before)
        seen = seen - before < before / 8 + 1 ? seen : before + before / 8 + 1;
    atomic_store_explicit(known, seen, memory_order_relaxed);
}

static vyre_status judge(const vy_cpu_run *run, vyre_trap *trap, vyre_error *error) {
    const char *name = run->code->name;
    if (run->was_stopped && atomic_load(run->stop) == VY_CPU_STOP_DEADLINE &&
        !(run->cancel && __atomic_load_n(run->cancel, __ATOMIC_RELAXED)))
        return vy_fail(error, VYRE_TIMEOUT, NULL, "`%s` was still running at its deadline, and was stopped", name);
    if (run->was_stopped)
        return vy_fail(error, VYRE_CANCELLED, NULL, "`%s` was cancelled while it ran", name);
    if (run->is_out_of_memory && !vy_cpu_job_is_taken(&run->job))
        return vy_fail(error, VYRE_NO_MEMORY, "free host memory, or use smaller workgroups and arrays",
                       "there is no memory for a workgroup of `%s` (%" PRIu64 " bytes)", name,
                       run->code->object.header.workgroup_bytes + run->code->object.header.spill_bytes);
    if (run->trap.invocation == UINT64_MAX)
        return VYRE_OK;
    if (trap)
        *trap = run->trap;
    return vy_fail(error, VYRE_TRAPPED, NULL, "invocation %" PRIu64 " trapped with code %" PRIu32, run->trap.invocation,
                   run->trap.code);
}

vyre_status vy_cpu_run_now(vy_cpu_run *run, vyre_trap *trap, vyre_error *error) {
    vy_cpu_alarm alarm = {.when_ns = run->deadline_ns, .word = run->stop, .value = VY_CPU_STOP_DEADLINE};
    vyre_status status = VYRE_OK;
    run->job.body = take_part;
    run->job.end = (uint64_t)run->groups[0] * run->groups[1] * run->groups[2];
    run->trap = (vyre_trap){UINT64_MAX, 0};
    atomic_init(&run->was_stopped, 0);
    atomic_init(&run->is_out_of_memory, 0);
    run->nanoseconds = 0;
    run->streams = streams(run);
    if (run->deadline_ns)
        status = vy_cpu_alarm_set(&run->cpu->alarms, &alarm, error);
    if (status != VYRE_OK)
        return status;
    uint64_t start = vy_clock_now();
    uint32_t nothing = 0;
    if (run->deadline_ns && start >= run->deadline_ns) /* none need begin */
        atomic_compare_exchange_strong(run->stop, &nothing, VY_CPU_STOP_DEADLINE);
    plan(run, start);
    vy_cpu_pool_run(run->cpu->pool, &run->job);
    run->nanoseconds = vy_clock_now() - start;
    if (run->deadline_ns)
        vy_cpu_alarm_clear(&run->cpu->alarms, &alarm);
    learn(run);
    return judge(run, trap, error);
}
