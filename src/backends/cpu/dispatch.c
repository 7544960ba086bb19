/* Dispatches and pipelines: binding of buffers, batches, asynchronous dispatches, and the function table of a
 * pipeline. Invariant: an input that an output would overwrite is copied first. */
#include "backends/cpu/dispatch.h"

#include "backends/cpu/compile.h"
#include "backends/cpu/cpu.h"
#include "backends/cpu/execute.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "driver/dispatch.h"

#include <inttypes.h>

typedef struct cpu_copy cpu_copy;

/* Large, and only the entries of existing buffers and params are set, so it is not cleared. */
typedef struct cpu_bindings {
    cpu_copy *copies;
    vy_cpu_buffer buffers[VY_LIMIT_BUFFERS];
    uint64_t params[VY_LIMIT_PARAMS];
} cpu_bindings;

/* ---- binding ---- Inputs are bound first: an input in the memory of an output's slot is copied before the slot is
 * filled or grown. The exception is the input of a read_write buffer at the start of its own slot, which is used
 * directly. */

struct cpu_copy {
    cpu_copy *next;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

/* Address of empty buffers, which are not accessed. */
static alignas(VY_CPU_ALIGNMENT) const uint8_t nowhere[VY_CPU_ALIGNMENT];

typedef struct binder {
    vy_cpu *cpu;
    const vy_launch_facts *facts;
    const vyre_launch *launch;
    const vy_cpu_arguments *bytes;
    cpu_bindings *bound;
    vyre_error *error;
} binder;

static int is_output(const binder *b, size_t index) {
    return vy_launch_is_output(b->facts, (uint32_t)index);
}

static int is_input(const binder *b, size_t index) {
    return vy_launch_is_input(b->facts, (uint32_t)index);
}

static int is_resident(const binder *b, size_t index) {
    return b->bytes->bindings && b->bytes->bindings[index].kind == VYRE_RESOURCE_RESIDENT;
}

static size_t bytes_of(const binder *b, size_t index) {
    return (size_t)(b->launch->elements[index] * b->facts->buffers[index].element_bytes);
}

static void set(const binder *b, size_t index, const void *data) {
    uint32_t element = b->facts->buffers[index].element_bytes;
    const void *place = b->launch->elements[index] ? data : nowhere;
    b->bound->buffers[index] = (vy_cpu_buffer){.data = (uint8_t *)(uintptr_t)place,
                                               .count = (uint32_t)b->launch->elements[index],
                                               .misalignment = (uint32_t)((uintptr_t)place % 16 / element)};
}

static vyre_status start(const binder *b) {
    b->bound->copies = NULL;
    for (size_t i = 0; i < b->launch->param_count; i++)
        b->bound->params[i] = b->launch->params[i].bits;
    for (size_t i = 0; i < b->facts->buffer_count; i++)
        if (b->launch->elements[i] > VY_CPU_ELEMENTS_MAX)
            return vy_fail(b->error, VYRE_LIMIT, "bind smaller ranges, or split the work into several dispatches",
                           "buffer %zu has %" PRIu64 " elements, over the limit of backend `cpu` (%" PRIu32 ")", i,
                           b->launch->elements[i], VY_CPU_ELEMENTS_MAX);
    return VYRE_OK;
}

/* ---- inputs ---- */

static void *copy(const binder *b, const void *data, size_t size) {
    cpu_copy *made = size < PTRDIFF_MAX / 2 ? vy_allocate(sizeof *made + size) : NULL;
    if (!made)
        return NULL;
    made->next = b->bound->copies;
    made->size = size;
    b->bound->copies = made;
    vy_cpu_pool_copy_or_clear(b->cpu->pool, made->bytes, data, size);
    return made->bytes;
}

/* Whether the bytes overlap the memory of a slot, except at the start of their own slot if that is large enough. */
static int overlaps_output(const binder *b, const void *data, size_t size, size_t own) {
    uintptr_t first = (uintptr_t)data;
    const vyre_outputs *outputs = b->bytes->outputs;
    for (size_t i = 0; outputs && i < outputs->count; i++) {
        const vyre_bytes *slot = &outputs->items[i];
        uintptr_t start = (uintptr_t)slot->data;
        if (!slot->capacity || first >= start + slot->capacity || first + size <= start)
            continue;
        if (i != own || first != start || slot->capacity < size)
            return 1;
    }
    return 0;
}

static vyre_status bind_input(const binder *b, size_t index, vyre_span input, size_t own) {
    size_t size = bytes_of(b, index);
    const void *place = input.data;
    int is_misaligned = own == SIZE_MAX && (uintptr_t)place % b->facts->buffers[index].element_bytes;
    if (size && (is_misaligned || overlaps_output(b, place, size, own)))
        place = copy(b, place, size);
    if (size && !place)
        return vy_fail_memory(b->error, "copying an input");
    set(b, index, place);
    return VYRE_OK;
}

/* ---- outputs ---- */

/* Reserves memory without clearing it. The old contents are not needed: the input is elsewhere, or the capacity
 * suffices. */
static vyre_status reserve_output(const binder *b, vyre_bytes *slot, size_t size) {
    if (slot->capacity < size) {
        void *data = size < PTRDIFF_MAX ? vy_allocate(size) : NULL;
        if (!data)
            return vy_fail(b->error, VYRE_NO_MEMORY, NULL, "no host memory for a buffer (%zu bytes)", size);
        vy_cpu_memory_advise(data, size);
        vy_release(slot->data, slot->capacity);
        slot->data = data;
        slot->capacity = size;
    }
    slot->size = size;
    return VYRE_OK;
}

/* A buffer that the dispatch writes completely need not be cleared. */
static int is_fully_written(const binder *b, size_t index) {
    return vy_full_write_holds(&vy_launch_full_writes(b->facts)[index], (uint32_t)index, b->launch->elements,
                               b->launch->params, b->launch->groups);
}

static vyre_status bind_output(const binder *b, size_t index, vyre_bytes *slot) {
    size_t size = bytes_of(b, index);
    const void *from = is_input(b, index) ? b->bound->buffers[index].data : NULL;
    vyre_status status = reserve_output(b, slot, size);
    if (status != VYRE_OK)
        return status;
    if (size && from != slot->data && (from || !is_fully_written(b, index)))
        vy_cpu_pool_copy_or_clear(b->cpu->pool, slot->data, from, size);
    set(b, index, slot->data);
    return VYRE_OK;
}

/* ---- both ---- */

static vyre_status bind_inputs(const binder *b) {
    const vy_cpu_arguments *from = b->bytes;
    vyre_status status = VYRE_OK;
    size_t input = 0, output = 0;
    for (size_t i = 0; i < b->facts->buffer_count && status == VYRE_OK; i++) {
        size_t own = is_output(b, i) ? output++ : SIZE_MAX;
        if (is_resident(b, i))
            set(b, i, vy_cpu_resident_bytes(from->bindings[i].resident.id) + from->bindings[i].offset);
        else if (is_input(b, i))
            status = bind_input(b, i, from->bindings ? from->bindings[i].host : from->inputs[input++], own);
    }
    return status;
}

static vyre_status bind_outputs(const binder *b) {
    vyre_outputs *outputs = b->bytes->outputs;
    vyre_status status = VYRE_OK;
    size_t output = 0;
    for (size_t i = 0; i < b->facts->buffer_count && status == VYRE_OK; i++) {
        size_t own = is_output(b, i) ? output++ : SIZE_MAX;
        if (own == SIZE_MAX || is_resident(b, i))
            continue;
        status = outputs ? bind_output(b, i, &outputs->items[own])
                         : vy_fail(b->error, VYRE_INVALID_ARGUMENT, "bind written buffers to resident buffers",
                                   "buffer %zu is written, and bound to host bytes that are not read back", i);
    }
    return status;
}

/* Binds the arguments; unbind_buffers must follow in any case.
 *
 * VYRE_LIMIT             a buffer has more than VY_CPU_ELEMENTS_MAX elements
 * VYRE_INVALID_ARGUMENT  an output is bound to host bytes, and outputs is NULL
 * VYRE_NO_MEMORY */
static vyre_status bind_buffers(vy_cpu *cpu, const vy_cpu_executable *code, const vyre_launch *launch,
                                const vy_cpu_arguments *bytes, cpu_bindings *bound, vyre_error *error) {
    binder b = {cpu, code->facts, launch, bytes, bound, error};
    vyre_status status = start(&b);
    if (status == VYRE_OK)
        status = bind_inputs(&b);
    return status == VYRE_OK ? bind_outputs(&b) : status;
}

static void unbind_buffers(cpu_bindings *bound) {
    cpu_copy *next;
    for (cpu_copy *made = bound->copies; made; made = next) {
        next = made->next;
        vy_release(made, sizeof *made + made->size);
    }
    bound->copies = NULL;
}

/* ---- dispatches ---- */

vy_cpu_call vy_cpu_call_of(vy_cpu *cpu, vy_cpu_executable *code, const vyre_launch *launch, vy_cpu_arguments bytes) {
    return (vy_cpu_call){
        .cpu = cpu, .code = code, .launch = launch, .bytes = bytes, .helpers = cpu->threads - 1, .trap = launch->trap};
}

static vyre_status run(const vy_cpu_call *call, const cpu_bindings *bound, vyre_error *error) {
    _Atomic uint32_t stop = 0;
    vy_cpu_execution run;
    vy_cpu_execution_init(&run, call->cpu, call->code, call->launch);
    run.buffers = bound->buffers;
    run.params = bound->params;
    run.stop = call->stop ? call->stop : &stop;
    run.max_helpers = call->helpers;
    vyre_status status = vy_cpu_execution_run(&run, call->trap, error);
    if (call->timing) {
        call->timing->device_ns = run.nanoseconds;
        call->timing->present |= VYRE_TIMED_DEVICE;
    }
    return status;
}

vyre_status vy_cpu_call_run(const vy_cpu_call *call, vyre_error *error) {
    uint64_t start = call->timing ? vy_clock_now() : 0;
    cpu_bindings bound;
    vyre_status status = bind_buffers(call->cpu, call->code, call->launch, &call->bytes, &bound, error);
    if (status == VYRE_OK)
        status = run(call, &bound, error);
    unbind_buffers(&bound);
    if (call->timing)
        call->timing->wall_ns = vy_clock_now() - start;
    return status;
}

/* ---- batches ---- */

/* Below this estimate, in picoseconds, an item uses one thread. */
#define SMALL (UINT64_C(20) * 1000000)

typedef struct batch {
    vy_cpu_job job;
    vy_cpu *cpu;
    vy_cpu_executable *code;
    const vyre_launch *launches;
    const vyre_span *const *inputs;
    vyre_outputs *outputs;
    unsigned helpers;      /* per item */
    _Atomic size_t failed; /* index of the first failed item; the number of items if none failed */
    pthread_mutex_t lock;  /* guards the fields below */
    vyre_status status;
    vyre_trap trap;
    vyre_error *error;
} batch;

static void run_item(batch *b, size_t index) {
    vyre_trap trap = {0, 0};
    vyre_error error;
    if (index > atomic_load_explicit(&b->failed, memory_order_relaxed))
        return; /* a later item than a failed one; its result is not needed */
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

/* The estimated time of all items on one thread, in picoseconds. */
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

/* ---- asynchronous dispatches ---- A pending dispatch has two owners: the caller, which waits for the result, and
 * the task. The last one frees it. The task does not use it after `notify` has returned, so a callback may destroy
 * it. */

typedef struct pending {
    vy_cpu_task task;
    vy_cpu *cpu;
    vy_cpu_executable *code;
    vyre_launch launch; /* params and elements are copies after this struct */
    vyre_span *inputs;  /* also copies after this struct */
    _Atomic uint32_t stop;
    size_t size; /* size of the block that starts with this struct */
    /* Results: written by the task, read after is_done. */
    vyre_status status;
    vyre_error error;
    vyre_outputs outputs;
    _Atomic int is_done;
    pthread_mutex_t lock; /* guards all fields below */
    pthread_cond_t changed;
    unsigned owners;
    void (*done)(void *user);
    void *user;
    int is_notifying;
    pthread_t notifier;
} pending;

/* Requires the lock, and releases it. */
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

/* Requires the lock, which is released during the call. */
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

static void run_task(vy_cpu_task *task) {
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

/* A caller that waits without a deadline runs the task itself if it is still queued. */
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

/* A queued task ends here: it detects the cancellation before it starts. */
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

/* A callback that runs on another thread is waited for; one on this thread is the caller. */
static void destroy(void *self) {
    pending *p = self;
    pthread_mutex_lock(&p->lock);
    while (!is_ready(p) || (p->is_notifying && !pthread_equal(p->notifier, pthread_self())))
        pthread_cond_wait(&p->changed, &p->lock);
    disown(p);
}

static const vyre_pending_vtable pending_table = {
    .struct_size = sizeof(vyre_pending_vtable),
    .is_ready = is_ready,
    .wait = wait,
    .cancel = cancel,
    .destroy = destroy,
    .notify = notify,
};

/* ---- starting ---- */

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
    pending measured = {.outputs = {.count = code->facts->output_count}};
    vy_bump bump = {NULL, 0};
    lay_out(&measured, &bump, launch, inputs, input_count);
    size_t size = bump.used;
    bump = (vy_bump){vy_allocate(size), 0};
    if (!bump.block)
        return vy_fail_memory(error, "starting a dispatch");
    pending *p = (pending *)bump.block;
    *p = (pending){.task = {.run = run_task},
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
    *out = (vyre_native_pending){&pending_table, p};
    if (!vy_cpu_pool_submit(cpu->pool, &p->task))
        run_task(&p->task);
    return VYRE_OK;
}

/* Pipelines of the `cpu` backend: the function table for all forms of dispatch of an executable (dispatch.h). */
typedef struct pipeline {
    vy_cpu *cpu;
    vy_cpu_executable *code;
} pipeline;

static vyre_status call(void *self, const vyre_launch *launch, vy_cpu_arguments bytes, vyre_timing *timing,
                        vyre_error *error) {
    pipeline *p = self;
    vy_cpu_call made = vy_cpu_call_of(p->cpu, p->code, launch, bytes);
    made.timing = timing;
    return vy_cpu_call_run(&made, error);
}

/* ---- host bytes ---- */

static vyre_status dispatch_timed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                  vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    (void)input_count;
    return call(self, launch, (vy_cpu_arguments){.inputs = inputs, .outputs = outputs}, timing, error);
}

static vyre_status dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                     vyre_outputs *outputs, vyre_error *error) {
    return dispatch_timed(self, launch, inputs, input_count, outputs, NULL, error);
}

static vyre_status dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error) {
    vyre_span spans[VY_LIMIT_BUFFERS];
    for (size_t i = 0; i < input_count; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return dispatch_borrowed(self, launch, spans, input_count, outputs, error);
}

static vyre_status dispatch_async(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                  vyre_native_pending *out, vyre_error *error) {
    pipeline *p = self;
    return vy_cpu_pending_start(p->cpu, p->code, launch, inputs, input_count, out, error);
}

static vyre_status dispatch_batch(void *self, const vyre_launch *launches, const vyre_span *const *inputs,
                                  size_t input_count, size_t count, vyre_outputs *outputs, size_t *failed,
                                  vyre_error *error) {
    (void)input_count;
    pipeline *p = self;
    return vy_cpu_batch(p->cpu, p->code, launches, inputs, count, outputs, failed, error);
}

/* ---- resources ---- */

static vyre_status dispatch_persistent(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                       size_t binding_count, vyre_outputs *outputs, vyre_timing *timing,
                                       vyre_error *error) {
    (void)binding_count;
    return call(self, launch, (vy_cpu_arguments){.bindings = bindings, .outputs = outputs}, timing, error);
}

/* Sequentially, because items may use the same buffers. */
static vyre_status dispatch_persistent_batch(void *self, const vyre_launch *launches,
                                             const vyre_resource *const *bindings, size_t binding_count, size_t count,
                                             vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        *failed = i;
        status = dispatch_persistent(self, &launches[i], bindings[i], binding_count, &outputs[i], NULL, error);
    }
    return status;
}

static vyre_status dispatch_rows(void *self, const vyre_launch *launches, const vyre_resource (*rows)[4], size_t count,
                                 vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        *failed = i;
        status = dispatch_persistent(self, &launches[i], rows[i], 4, &outputs[i], NULL, error);
    }
    return status;
}

static vyre_status run_steps(const vyre_native_step *steps, size_t count, vyre_timing *timing, size_t *failed,
                             vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        vyre_timing step = {.wall_ns = 0};
        *failed = i;
        status = call(steps[i].pipeline, &steps[i].launch, (vy_cpu_arguments){.bindings = steps[i].bindings},
                      timing ? &step : NULL, error);
        if (timing)
            timing->device_ns += step.device_ns;
    }
    return status;
}

vyre_status vy_cpu_pipeline_sequence(void *self, const vyre_native_step *steps, size_t step_count,
                                     const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing,
                                     size_t *failed, vyre_error *error) {
    vy_cpu *cpu = self;
    uint64_t start = timing ? vy_clock_now() : 0;
    vyre_status status = run_steps(steps, step_count, timing, failed, error);
    if (status != VYRE_OK)
        return status;
    *failed = step_count;
    for (size_t i = 0; i < readback_count; i++)
        vy_cpu_pool_copy_or_clear(cpu->pool, readbacks[i].host,
                                  vy_cpu_resident_bytes(readbacks[i].resident.id) + readbacks[i].offset,
                                  (size_t)readbacks[i].size);
    if (timing) {
        timing->present |= VYRE_TIMED_DEVICE;
        timing->wall_ns = vy_clock_now() - start;
    }
    return VYRE_OK;
}

/* ---- creation and destruction ---- */

static vyre_status serialize(void *self, vyre_bytes *out, vyre_error *error) {
    return vy_cpu_executable_save(((pipeline *)self)->code, out, error);
}

static void destroy_pipeline(void *self) {
    pipeline *p = self;
    atomic_fetch_sub_explicit(&p->cpu->pipelines, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&p->cpu->code_bytes, p->code->object.map_size, memory_order_relaxed);
    vy_cpu_executable_release(p->code);
    vy_release(p, sizeof *p);
}

static const vyre_pipeline_vtable table = {
    .struct_size = sizeof(vyre_pipeline_vtable),
    .dispatch = dispatch,
    .dispatch_borrowed = dispatch_borrowed,
    .dispatch_borrowed_timed = dispatch_timed,
    .dispatch_borrowed_into = dispatch_borrowed, /* it writes into the caller's storage */
    .dispatch_batched_into = dispatch_batch,
    .dispatch_persistent_into = dispatch_persistent,
    .dispatch_persistent_batched_into = dispatch_persistent_batch,
    .dispatch_persistent_rows_into = dispatch_rows,
    .dispatch_async = dispatch_async,
    .serialize = serialize,
    .destroy = destroy_pipeline,
};

/* Owns the code, also on failure. */
static vyre_status make(vy_cpu *cpu, vy_cpu_executable *code, vyre_native_pipeline *out, vyre_error *error) {
    pipeline *p = vy_allocate(sizeof *p);
    if (!p) {
        vy_cpu_executable_release(code);
        return vy_fail_memory(error, "compiling a pipeline");
    }
    *p = (pipeline){cpu, code};
    atomic_fetch_add_explicit(&cpu->pipelines, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&cpu->code_bytes, code->object.map_size, memory_order_relaxed);
    *out = (vyre_native_pipeline){&table, p};
    return VYRE_OK;
}

vyre_status vy_cpu_pipeline_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                    vyre_native_pipeline *out, vyre_error *error) {
    vy_cpu_executable *code;
    vyre_status status = vy_cpu_compile(self, program, options->cancellable, options->deadline_ns, &code, error);
    return status == VYRE_OK ? make(self, code, out, error) : status;
}

vyre_status vy_cpu_pipeline_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                 vyre_span binary, vyre_native_pipeline *out, vyre_error *error) {
    (void)options;
    vy_cpu *cpu = self;
    vy_cpu_executable *code;
    vyre_status status = vy_cpu_executable_load(program, binary, cpu->features, &code, error);
    return status == VYRE_OK ? make(cpu, code, out, error) : status;
}
