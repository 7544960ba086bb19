/* Native asynchronous dispatch (pending.h).
 *
 * A pending has two owners, who wants the result and the task; the last one frees it. The task is done with it when `notify` has returned, so a callback may
 * even destroy it. */
#include "backends/cpu/pending.h"

#include "backends/cpu/dispatch.h"
#include "backends/cpu/execute.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "driver/dispatch.h"

typedef struct pending {
    vy_cpu_task task;
    vy_cpu *cpu;
    vy_cpu_executable *code;
    vyre_launch launch; /* params and elements are copies behind this struct */
    vyre_span *inputs;  /* likewise */
    _Atomic uint32_t stop;
    size_t size; /* of the block this is the start of */
    /* Results: written by the task, read when it is done. */
    vyre_status status;
    vyre_error error;
    vyre_outputs outputs;
    _Atomic int is_done;
    pthread_mutex_t lock; /* guards all that follows */
    pthread_cond_t changed;
    unsigned owners;
    void (*done)(void *user);
    void *user;
    int is_notifying;
    pthread_t notifier;
} pending;

/* Takes the lock, which the caller holds, with it. */
static void disown(pending *p) {
    unsigned left = --p->owners;
    pthread_mutex_unlock(&p->lock);
    if (left)
        return;
    for (size_t i = 0; i < p->outputs.count; i++)
        vyre_bytes_free(&p->outputs.items[i]);
    vy_cpu_executable_release(p->code);
    vyre_program_release(p->launch.program);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    vy_release(p, p->size);
}

/* ---- the task ---- */

/* With the lock held, which is open during the call. */
static void notify_now(pending *p) {
    void (*done)(void *) = p->done;
    if (!done)
        return;
    p->done = NULL;
    p->is_notifying = 1;
    p->notifier = pthread_self();
    pthread_mutex_unlock(&p->lock);
    done(p->user);
    pthread_mutex_lock(&p->lock);
    p->is_notifying = 0;
    pthread_cond_broadcast(&p->changed);
}

static void run(vy_cpu_task *task) {
    pending *p = (pending *)task;
    vy_cpu_call call =
        vy_cpu_call_of(p->cpu, p->code, &p->launch, (vy_cpu_arguments){.inputs = p->inputs, .outputs = &p->outputs});
    call.stop = &p->stop;
    p->status = vy_cpu_call_run(&call, &p->error);
    pthread_mutex_lock(&p->lock);
    atomic_store_explicit(&p->is_done, 1, memory_order_release);
    pthread_cond_broadcast(&p->changed);
    notify_now(p);
    disown(p);
}

/* ---- the handle ---- */

static int is_ready(void *self) {
    return atomic_load_explicit(&((pending *)self)->is_done, memory_order_acquire);
}

static int wait_until(pending *p, uint64_t deadline_ns) {
    struct timespec until = vy_clock_timespec(deadline_ns);
    pthread_mutex_lock(&p->lock);
    while (!is_ready(p) && (!deadline_ns || vy_clock_now() < deadline_ns)) {
        if (deadline_ns)
            pthread_cond_timedwait(&p->changed, &p->lock, &until);
        else
            pthread_cond_wait(&p->changed, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return is_ready(p);
}

/* Who waits for ever may as well do it, if nobody has begun. */
static vyre_status wait(void *self, uint64_t deadline_ns, vyre_outputs *outputs, vyre_error *error) {
    pending *p = self;
    if (!deadline_ns && !is_ready(p))
        vy_cpu_pool_run_queued(p->cpu->pool, &p->task);
    if (!is_ready(p) && !wait_until(p, deadline_ns))
        return vy_fail(error, VYRE_NOT_READY, NULL, "`%s` is still running", p->code->name);
    if (p->status != VYRE_OK) {
        *error = p->error;
        return p->status;
    }
    for (size_t i = 0; i < p->outputs.count; i++) {
        vyre_bytes theirs = outputs->items[i];
        outputs->items[i] = p->outputs.items[i];
        p->outputs.items[i] = theirs;
    }
    return VYRE_OK;
}

/* What nobody has begun ends here: it sees at once that it need not begin. */
static void cancel(void *self) {
    pending *p = self;
    uint32_t nothing = 0;
    atomic_compare_exchange_strong(&p->stop, &nothing, VY_CPU_STOP_CANCEL);
    vy_cpu_pool_run_queued(p->cpu->pool, &p->task);
}

static void notify(void *self, void (*done)(void *user), void *user) {
    pending *p = self;
    pthread_mutex_lock(&p->lock);
    p->done = done;
    p->user = user;
    p->owners++;
    if (is_ready(p))
        notify_now(p);
    disown(p);
}

/* A callback on another thread ends first; one on this thread is what destroys. */
static void destroy(void *self) {
    pending *p = self;
    pthread_mutex_lock(&p->lock);
    while (!is_ready(p) || (p->is_notifying && !pthread_equal(p->notifier, pthread_self())))
        pthread_cond_wait(&p->changed, &p->lock);
    disown(p);
}

static const vyre_pending_vtable table = {
    .struct_size = sizeof(vyre_pending_vtable),
    .is_ready = is_ready,
    .wait = wait,
    .cancel = cancel,
    .destroy = destroy,
    .notify = notify,
};

/* ---- starting ---- */

static size_t count_outputs(const vy_cpu_executable *code) {
    size_t count = 0;
    for (uint32_t i = 0; i < code->buffer_count; i++)
        count += code->buffers[i].access == VYRE_ACCESS_WRITE || code->buffers[i].access == VYRE_ACCESS_READ_WRITE;
    return count;
}

static void lay_out(pending *p, vy_bump *bump, const vyre_launch *launch, const vyre_span *inputs, size_t count) {
    vy_bump_copy(bump, NULL, sizeof *p);
    p->launch.params = vy_bump_copy(bump, launch->params, launch->param_count * sizeof *launch->params);
    p->launch.elements = vy_bump_copy(bump, launch->elements, launch->buffer_count * sizeof *launch->elements);
    p->inputs = vy_bump_copy(bump, NULL, count * sizeof *inputs);
    p->outputs.items = vy_bump_copy(bump, NULL, p->outputs.count * sizeof *p->outputs.items);
    for (size_t i = 0; i < count; i++) {
        void *data = vy_bump_copy(bump, inputs[i].data, inputs[i].size);
        if (p->inputs)
            p->inputs[i] = (vyre_span){data, inputs[i].size};
    }
}

vyre_status vy_cpu_pending_start(vy_cpu *cpu, vy_cpu_executable *code, const vyre_launch *launch,
                                 const vyre_span *inputs, size_t input_count, vyre_native_pending *out,
                                 vyre_error *error) {
    pending measured = {.outputs = {.count = count_outputs(code)}};
    vy_bump bump = {NULL, 0};
    lay_out(&measured, &bump, launch, inputs, input_count);
    size_t size = bump.used;
    bump = (vy_bump){vy_allocate(size), 0};
    if (!bump.block)
        return vy_fail_memory(error, "starting a dispatch");
    pending *p = (pending *)bump.block;
    *p = (pending){.task = {.run = run},
                   .cpu = cpu,
                   .code = vy_cpu_executable_retain(code),
                   .launch = *launch,
                   .size = size,
                   .outputs = {.count = measured.outputs.count, .capacity = measured.outputs.count},
                   .owners = 2};
    vyre_program_retain(launch->program);
    lay_out(p, &bump, launch, inputs, input_count);
    for (size_t i = 0; i < p->outputs.count; i++)
        p->outputs.items[i] = (vyre_bytes)VYRE_BYTES_INIT;
    pthread_mutex_init(&p->lock, NULL);
    vy_cond_init_monotonic(&p->changed);
    *out = (vyre_native_pending){&table, p};
    if (!vy_cpu_pool_submit(cpu->pool, &p->task))
        run(&p->task);
    return VYRE_OK;
}
