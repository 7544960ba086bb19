/* Running batches (batch.h). */
#include "backends/cpu/batch.h"

#include "backends/cpu/dispatch.h"
#include "driver/dispatch.h"

/* Items below it are not worth several threads each, in picoseconds. */
#define SMALL (UINT64_C(20) * 1000000)

typedef struct batch {
    vy_cpu_job job;
    vy_cpu *cpu;
    vy_cpu_executable *code;
    const vyre_launch *launches;
    const vyre_span *const *inputs;
    vyre_outputs *outputs;
    unsigned helpers;      /* of an item */
    _Atomic size_t failed; /* the first item that failed; their number if none did */
    pthread_mutex_t lock;  /* guards the rest */
    vyre_status status;
    vyre_trap trap;
    vyre_error *error;
} batch;

static void run_item(batch *b, size_t index) {
    vyre_trap trap = {0, 0};
    vyre_error error;
    if (index > atomic_load_explicit(&b->failed, memory_order_relaxed))
        return; /* behind one that failed: nobody will ask */
    vy_cpu_call call = vy_cpu_call_of(b->cpu, b->code, &b->launches[index],
                                      (vy_cpu_arguments){.inputs = b->inputs[index], .outputs = &b->outputs[index]});
    call.helpers = b->helpers;
    call.trap = &trap;
    vyre_status status = vy_cpu_call_run(&call, &error);
    if (status == VYRE_OK)
        return;
    pthread_mutex_lock(&b->lock);
    if (index < atomic_load_explicit(&b->failed, memory_order_relaxed)) {
        atomic_store_explicit(&b->failed, index, memory_order_relaxed);
        b->status = status;
        b->trap = trap;
        *b->error = error;
    }
    pthread_mutex_unlock(&b->lock);
}

static void run_worker(vy_cpu_job *job, vy_cpu_share_cursor *part) {
    uint64_t first, end;
    while (vy_cpu_job_next_range(job, part, &first, &end))
        for (uint64_t i = first; i < end; i++)
            run_item((batch *)job, (size_t)i);
}

/* All items together, in picoseconds on one thread. */
static uint64_t estimate(const batch *b, size_t count) {
    uint64_t each = vy_cpu_cost_get(&b->code->cost), all = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *groups = b->launches[i].groups;
        uint64_t item;
        if (__builtin_mul_overflow(each, (uint64_t)groups[0] * groups[1] * groups[2], &item) ||
            __builtin_add_overflow(all, item, &all))
            return UINT64_MAX;
    }
    return all;
}

vyre_status vy_cpu_batch(vy_cpu *cpu, vy_cpu_executable *code, const vyre_launch *launches,
                         const vyre_span *const *inputs, size_t count, vyre_outputs *outputs, size_t *failed,
                         vyre_error *error) {
    batch b = {.job = {.body = run_worker, .end = count},
               .cpu = cpu,
               .code = code,
               .launches = launches,
               .inputs = inputs,
               .outputs = outputs,
               .failed = count,
               .status = VYRE_OK,
               .error = error};
    uint64_t all = estimate(&b, count);
    int is_spread = count >= (size_t)cpu->threads * 2 || all / (count ? count : 1) < SMALL;
    vy_cpu_pool_plan_helpers(cpu->pool, &b.job, all, is_spread ? cpu->threads - 1 : 0, vy_clock_now());
    b.helpers = is_spread ? 0 : cpu->threads - 1;
    b.job.chunk = b.job.helpers ? count / ((uint64_t)(b.job.helpers + 1) * 8) : count;
    b.job.keep = 0;
    if (!b.job.chunk)
        b.job.chunk = 1;
    pthread_mutex_init(&b.lock, NULL);
    vy_cpu_pool_run(cpu->pool, &b.job);
    pthread_mutex_destroy(&b.lock);
    *failed = atomic_load(&b.failed);
    if (b.status == VYRE_TRAPPED && launches[*failed].trap)
        *launches[*failed].trap = b.trap;
    return b.status;
}
