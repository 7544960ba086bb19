/* What the backends of GPU APIs have in common: the forms of dispatch, and what is in flight during them.
 *
 *   gpu.h         the objects, whose first member is one of the structs below, and the calls that a backend implements
 *   library.c     the driver's library, loaded at run time, and the meanings of its results
 *   numerics.c    results of probes, kept in the process and on disk; the probe of the numerics
 *   resident.c    the list of resident buffers, and their transfers
 *   launch.c      slots, control blocks, waiting, and grids in slices
 *   submission.c  one dispatch: bind, upload, launch, wait, read back
 *   sequence.c    sequences and batches on one queue
 *   pending.c     asynchronous dispatches, and the thread that watches them
 *   pipeline.c    executables, and the function table of pipelines
 *   device.c      start and end, entries of the backend's table, errors that are the same for every API
 *
 * A backend embeds vy_gpu in its device, vy_gpu_slot in its slots, and so on, and converts the pointers that its calls
 * receive. Calls between `enter` and `leave` may use the driver. No lock is held during a call, except where a comment
 * states it. */
#ifndef VY_BACKENDS_GPU_GPU_H
#define VY_BACKENDS_GPU_GPU_H

#include "analysis/launch_facts.h"
#include "base/memory.h"
#include "emit/launch_abi.h"
#include "split/grid_tile.h"
#include "vyre/backend.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct vy_gpu vy_gpu;

/* ---- kernels and executables ---- */

typedef struct vy_gpu_kernel {
    uint8_t reports, polls; /* it records traps; it polls for its end */
    uint8_t writes_control; /* the host reads its control block */
    uint8_t is_per_slice;   /* it numbers the invocations of its slice, not of the whole grid */
} vy_gpu_kernel;

/* A program that is loaded on the device. Reference counted; constant otherwise. */
typedef struct vy_gpu_executable {
    _Atomic uint32_t references;
    uint32_t buffer_count;
    vy_launch_facts *facts;
    vy_gpu *gpu;
    vyre_program *program; /* retained */
    uint64_t code_bytes;
    int is_waited_for; /* its dispatches wait between launches, so none is asynchronous */
    char name[VY_LIMIT_NAME + 1];
} vy_gpu_executable;

/* Initialises an executable that is zero otherwise, with one reference. */
void vy_gpu_executable_start(vy_gpu_executable *code, vy_gpu *gpu, vyre_program *program);
/* Frees what the struct refers to. */
void vy_gpu_executable_end(vy_gpu_executable *code);
vy_gpu_executable *vy_gpu_executable_retain(vy_gpu_executable *code);
/* Unloads it with the last reference. NULL is ignored. */
void vy_gpu_executable_release(vy_gpu_executable *code);

/* ---- slots ----
 *
 * A slot has the resources of one dispatch in flight: an in-order queue, memory for host bytes, a control block. */

typedef struct vy_gpu_slot {
    struct vy_gpu_slot *next;
    vy_gpu *gpu;
    vy_launch_control *taken; /* the host's copy of the control block, current after a fetch and a wait */
    int is_control_clean;     /* the device's control block is as before a launch without a deadline */
} vy_gpu_slot;

/* Where the buffers of a launch are. */
typedef struct vy_gpu_buffers {
    uint64_t addresses[VY_LIMIT_BUFFERS]; /* absolute, or the offset in the memory object */
    void *memories[VY_LIMIT_BUFFERS];     /* memory objects, if the API has them. NULL: the buffer is empty */
} vy_gpu_buffers;

/* ---- submissions ----
 *
 * Host bytes are copied to the slot's arena in this order: inputs; buffers that are read and written; buffers that are
 * only written and start as zero; buffers that are written whole. If they are small, one copy uploads all inputs, and
 * one copy reads back all outputs. The layout ends with the direct buffers, which stay in the staging memory. */

/* Large, and set only for existing buffers, so it is not cleared. */
typedef struct vy_gpu_submission {
    vy_gpu *gpu;
    vy_gpu_executable *code; /* borrowed */
    vy_gpu_slot *slot;
    vy_gpu_kernel *kernel; /* the one that runs */
    vyre_trap *trap;
    const uint32_t *cancel;
    uint64_t deadline_ns;
    vyre_timing *timing; /* NULL: not measured */
    void *readback;      /* of the backend, for an asynchronous dispatch that reads its outputs back early; or NULL */
    uint64_t start_ns, submitted_ns;
    uint64_t read_start, clear_start, clear_end;  /* in the arena: outputs; outputs that start as zero */
    uint64_t copied_end, zero_start, arena_bytes; /* after it: direct buffers; cleared direct buffers; the size */
    uint8_t *staging;                             /* arena_bytes of host memory, if is_small */
    uint8_t is_small;                             /* all bytes pass through the staging memory at once */
    uint8_t is_finished;                          /* the slot has no pending work */
    uint8_t was_signalled;                        /* another thread has signalled the kernel to end */
    vy_gpu_buffers buffers;
    const void *sources[VY_LIMIT_BUFFERS]; /* host bytes of inputs */
    uint64_t offsets[VY_LIMIT_BUFFERS];    /* in the arena; VY_GPU_ELSEWHERE: not in the arena */
    uint64_t sizes[VY_LIMIT_BUFFERS];      /* bytes */
} vy_gpu_submission;
#define VY_GPU_ELSEWHERE UINT64_MAX

/* ---- what a backend implements ---- */

typedef struct vy_gpu_sequence vy_gpu_sequence;
typedef struct vy_gpu_pending vy_gpu_pending;

/* Entries marked optional may be NULL. All from slot_acquire on are called between `enter` and `leave`. */
typedef struct vy_gpu_calls {
    /* Makes the device usable on this thread, until `leave`. VYRE_DEVICE_LOST: also if it was lost before. */
    vyre_status (*enter)(vy_gpu *gpu, int *was_pushed, vyre_error *error);
    /* The same for releasing resources: on a lost device too. */
    void (*enter_for_release)(vy_gpu *gpu, int *was_pushed);
    void (*leave)(vy_gpu *gpu, int was_pushed);
    /* Optional: ranges for profilers. */
    void (*range_begin)(vy_gpu *gpu, const char *label, const char *name);
    void (*range_end)(vy_gpu *gpu);

    /* Called with the last reference, outside. */
    void (*executable_destroy)(vy_gpu_executable *code);
    vyre_status (*compile)(vy_gpu *gpu, vyre_program *program, int cancellable, vy_gpu_executable **out,
                           vyre_error *error);
    vyre_status (*load)(vy_gpu *gpu, vyre_program *program, int cancellable, vyre_span object, vy_gpu_executable **out,
                        vyre_error *error);
    /* The bytes for the disk cache. has_slow_serialize: they are made later, on another thread. */
    vyre_status (*serialize)(vy_gpu_executable *code, vyre_bytes *out, vyre_error *error);
    int has_slow_serialize;
    /* A synchronous dispatch: vy_gpu_submission_run, or a faster way. */
    vyre_status (*run)(vy_gpu_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                       const vyre_resource *bindings, vyre_outputs *outputs, vyre_timing *timing, vyre_error *error);

    vyre_status (*slot_acquire)(vy_gpu *gpu, int is_timed, vy_gpu_slot **out, vyre_error *error);
    /* is_broken: a call for the slot failed, and work may be pending. */
    void (*slot_release)(vy_gpu_slot *slot, int is_broken);
    /* Waits for all work of the slot. */
    vyre_status (*finish)(vy_gpu_slot *slot, vyre_error *error);
    /* Whether the work of the slot is done; does not block. */
    vyre_status (*query)(vy_gpu_slot *slot, int *is_done, vyre_error *error);
    /* Requests the running kernel of the slot to end. The upload of a control block overwrites an earlier request, so
     * it is repeated. signal_wait: waits until no request is on its way. */
    vyre_status (*signal_stop)(vy_gpu_slot *slot, vyre_error *error);
    void (*signal_wait)(vy_gpu_slot *slot);

    /* Where a resident buffer is. */
    void (*resident_locate)(const vyre_resource *resource, uint64_t *address, void **memory);
    /* Copies between resident buffers and host bytes, and waits. */
    vyre_status (*transfer)(vy_gpu *gpu, const vyre_transfer *transfers, size_t count, int is_upload,
                            vyre_error *error);

    /* Whether a launch runs in slices; then step (unless NULL) receives the size of a slice. */
    int (*needs_slices)(const vy_gpu_executable *code, const vyre_launch *launch, uint32_t step[3]);
    /* The kernel of the launch. */
    vyre_status (*choose_kernel)(vy_gpu_executable *code, const vyre_launch *launch, int is_sliced, vy_gpu_kernel **out,
                                 vyre_error *error);
    /* Prepares the control block of the slot for the launch, if the kernel has one. */
    vyre_status (*control_prepare)(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, const vyre_launch *launch,
                                   vyre_error *error);
    /* Enqueues the kernel. tile: the part of the grid, or NULL. ticket: from 1 on, unique since the last `prepare`. */
    vyre_status (*launch)(vy_gpu_slot *slot, vy_gpu_executable *code, vy_gpu_kernel *kernel, const vyre_launch *launch,
                          const vy_grid_tiles *tile, const vy_gpu_buffers *buffers, uint32_t ticket, vyre_error *error);
    /* Enqueues a copy of the control block to `taken`. */
    vyre_status (*control_fetch)(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, vyre_error *error);
    /* Optional: marks the start and the end of what is timed, in stream order. */
    vyre_status (*time_mark)(vy_gpu_slot *slot, int is_end, vyre_error *error);
    vyre_status (*time_read)(vy_gpu_slot *slot, uint64_t *nanoseconds, vyre_error *error);

    /* Optional: binds buffers to host bytes without a copy. Before the layout: sets offsets to VY_GPU_ELSEWHERE. */
    vyre_status (*bind_direct)(vy_gpu_submission *f, const vyre_launch *launch, vyre_outputs *outputs,
                               vyre_error *error);
    /* Optional: selects the direct buffers of the layout. */
    void (*select_direct)(const vy_gpu_submission *f, const vyre_launch *launch, const uint8_t *is_cleared,
                          uint8_t *is_direct);
    /* Reserves the arena, and the staging memory if the dispatch is small, and sets the places of the buffers. */
    vyre_status (*allocate)(vy_gpu_submission *f, vyre_error *error);
    /* Enqueues a copy of bytes [0, size) of the staging memory to the arena; of [from, from + size) back. */
    vyre_status (*staging_in)(vy_gpu_submission *f, uint64_t size, vyre_error *error);
    vyre_status (*staging_out)(vy_gpu_submission *f, uint64_t from, uint64_t size, vyre_error *error);
    vyre_status (*clear)(vy_gpu_submission *f, uint64_t from, uint64_t size, vyre_error *error);
    /* Copies the inputs of a large dispatch; afterwards the caller's bytes are not used any more. */
    vyre_status (*upload_large)(vy_gpu_submission *f, vyre_error *error);
    /* Copies the outputs of a large dispatch, which have memory of the right size, and waits. With a readback: delivers
     * what it has read, in memory of its own. */
    vyre_status (*download_large)(vy_gpu_submission *f, vyre_outputs *outputs, vyre_error *error);
    /* Optional: runs a whole dispatch in pieces. *was_run: whether it did. */
    vyre_status (*run_pieces)(vy_gpu_submission *f, const vyre_launch *launch, vyre_outputs *outputs, int *was_run,
                              vyre_error *error);
    /* Optional: hands enqueued work to the device before the host does something else. */
    vyre_status (*flush)(vy_gpu_slot *slot, vyre_error *error);

    /* Optional: enqueues `count` items of the sequence, from `from` on, in fewer calls. *was_added: whether it did. */
    vyre_status (*add_many)(vy_gpu_sequence *t, size_t from, size_t count, int *was_added, vyre_error *error);
    /* Optional: releases what add_many has in use, after a wait. */
    void (*release_held)(vy_gpu *gpu, void *held);
    /* Copies from resident buffers in the order of the slot's work, and waits. */
    vyre_status (*download)(vy_gpu_slot *slot, const vyre_transfer *transfers, size_t count, vyre_error *error);

    /* Observes the end of a submitted dispatch until unwatch: is_done tells it or, if that is NULL, any thread calls
     * vy_gpu_pending_done once. */
    vyre_status (*watch)(vy_gpu_pending *p, vyre_error *error);
    void (*unwatch)(vy_gpu_pending *p);
    int (*is_done)(vy_gpu_slot *slot);
} vy_gpu_calls;

/* ---- the device ---- */

/* A resident buffer. All are in a list, so that none is leaked when the device is lost. */
typedef struct vy_gpu_block {
    struct vy_gpu_block *previous, *next;
    uint64_t size;
    int is_gone; /* its memory was released when the device was lost */
} vy_gpu_block;

typedef struct vy_gpu_watch {
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    vy_gpu_pending *first;
    pthread_t thread;
    int is_running, is_ending;
} vy_gpu_watch;

struct vy_gpu {
    const vy_gpu_calls *calls;
    const char *id;                         /* "cuda" */
    _Atomic int loss;                       /* the driver's result that reported the loss of the device; 0: none */
    uint8_t can_signal;                     /* the host can end running kernels that poll */
    uint8_t has_deadline;                   /* kernels that poll end at their deadline, without a signal */
    uint8_t has_host_arena;                 /* arenas are host memory, so every dispatch is small */
    uint8_t has_probe;                      /* the numerics are probed */
    const char *identity;                   /* of device and driver, for cache keys */
    _Atomic uint64_t pipelines, code_bytes; /* number of pipelines; total size of their code */
    _Atomic uint64_t exact;                 /* operations that the device computes exactly */
    uint64_t promised;                      /* those that the driver claims to compute exactly */
    _Atomic int is_probed;                  /* the probe has confirmed `exact` */
    pthread_mutex_t probing;                /* held while the numerics are probed */
    vy_gpu_watch watch;
    vy_gpu_slot *_Atomic last_used; /* the slot released last, or NULL; most dispatches use it, without the lock */
    pthread_mutex_t lock;           /* guards the fields below, and lists of the backend */
    vy_gpu_slot *idle;
    unsigned idle_count;
    vy_gpu_block *blocks;
};

/* For a device that is zero otherwise. */
void vy_gpu_start(vy_gpu *gpu, const char *id, const vy_gpu_calls *calls);
/* Ends the watching thread, before the device ends. No dispatch may be pending. */
void vy_gpu_watch_end(vy_gpu *gpu);
/* Destroys the locks. */
void vy_gpu_end(vy_gpu *gpu);

static inline void vy_gpu_range_begin(vy_gpu *gpu, const char *label, const char *name) {
    if (gpu->calls->range_begin)
        gpu->calls->range_begin(gpu, label, name);
}
static inline void vy_gpu_range_end(vy_gpu *gpu) {
    if (gpu->calls->range_end)
        gpu->calls->range_end(gpu);
}

/* Entries of the backend's table. */
const char *vy_gpu_id(void *self);
const char *vy_gpu_version(void *self);
int vy_gpu_device_lost(void *self);
int vy_gpu_cache_snapshot(void *self, vyre_cache_snapshot *out);

/* Drivers work only in the process that started them, not in a child that it forks afterwards. starter: that process,
 * or 0: none yet. driver: as the error names it. */
vyre_status vy_gpu_check_process(const _Atomic long *starter, const char *driver, vyre_error *error);
/* VYRE_NOT_FOUND: no device has this number. */
vyre_status vy_gpu_check_ordinal(const char *id, uint32_t ordinal, uint32_t count, vyre_error *error);
/* The answer of a backend that cannot be used. */
void vy_gpu_probe_never(vyre_probe *out, const vyre_error *error);
/* The error of a recovery that failed. */
vyre_status vy_gpu_fail_recovery(vyre_status status, const vyre_error *why, vyre_error *error);

/* VYRE_LIMIT: the workgroup arrays of the program exceed the device's limit. */
vyre_status vy_gpu_check_local(const vyre_program *program, uint64_t bytes, uint64_t limit, vyre_error *error);
/* Checks the start of an object: its magic, and its format, which follows.
 *
 * VYRE_CORRUPT, VYRE_UNSUPPORTED */
vyre_status vy_gpu_object_check(vyre_span object, size_t header_bytes, const char magic[8], uint32_t format,
                                vyre_error *error);

/* ---- resident buffers ---- */

void vy_gpu_block_link(vy_gpu *gpu, vy_gpu_block *block);
void vy_gpu_block_unlink(vy_gpu *gpu, vy_gpu_block *block);

/* Entries of the backend's table. */
vyre_status vy_gpu_resident_upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                   vyre_error *error);
vyre_status vy_gpu_resident_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                     vyre_error *error);
vyre_status vy_gpu_resident_upload_batch(void *self, const vyre_transfer *transfers, size_t count, vyre_error *error);
vyre_status vy_gpu_resident_download_batch(void *self, const vyre_transfer *transfers, size_t count, vyre_error *error);

/* ---- probes ---- */

/* Loads and stores the result of a probe, at most 16 bytes, in the process and on disk. what: names the probe and all
 * that the result depends on, except the device. */
int vy_gpu_probe_load(const vy_gpu *gpu, const char *what, void *value, size_t size);
void vy_gpu_probe_store(const vy_gpu *gpu, const char *what, const char *label, const void *value, size_t size);
/* For tests: discards the results that this process has. */
void vy_gpu_probe_forget(void);

/* Runs the probe of the numerics, unless its result is known. Called before anything is compiled. */
vyre_status vy_gpu_numerics_confirm(vy_gpu *gpu, vyre_error *error);
/* Entry of the backend's table: reads the known result and runs nothing. */
void vy_gpu_numerics(void *self, vyre_numerics_profile *profile);

/* ---- launches: inside, like all that follows ---- */

/* A released slot, or NULL. */
vy_gpu_slot *vy_gpu_slot_pop(vy_gpu *gpu);
/* Keeps a slot for later dispatches. 0: enough are kept. */
int vy_gpu_slot_push(vy_gpu_slot *slot, unsigned most);

/* A control block without a deadline. */
extern const vy_launch_control vy_gpu_control_clean;

static inline int vy_gpu_is_set(const uint32_t *cancel) {
    return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED);
}

/* A request to stop is repeated at this interval. */
#define VY_GPU_SIGNAL_RETRY_NS UINT64_C(1000000)
/* A thread that polls does so for SPIN_NS without pauses, then with pauses of PAUSE_NS. */
#define VY_GPU_SPIN_NS UINT64_C(100000)
enum { VY_GPU_PAUSE_NS = 20000 };
/* since: when the thread began to poll. */
void vy_gpu_pause(uint64_t since);

/* Waits for the work of the slot. Signals the kernel to end if the cancel word is set or the deadline has passed.
 * kernel: the last that was launched, or NULL. */
vyre_status vy_gpu_wait(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, uint64_t deadline_ns, const uint32_t *cancel,
                        vyre_error *error);
/* Abandons the work of the slot: signals the kernel to end, if it polls, and waits. */
void vy_gpu_abort(vy_gpu_slot *slot, const vy_gpu_kernel *kernel);

/* The result of a completed launch, from `taken`.
 *
 * VYRE_TRAPPED  *trap (if not NULL) has the smallest invocation
 * VYRE_TIMEOUT, VYRE_CANCELLED  the outputs are incomplete
 * VYRE_LIMIT    the grid of an indirect dispatch exceeds the limits: `refused` of `taken` is its ticket, and `code` is
 *               the executable of that launch */
vyre_status vy_gpu_decode(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, const vy_gpu_executable *code,
                          int was_cancelled, vyre_trap *trap, vyre_error *error);
/* Prepares the control block, enqueues the kernel, and fetches the control block. */
vyre_status vy_gpu_launch(vy_gpu_slot *slot, vy_gpu_executable *code, vy_gpu_kernel *kernel, const vyre_launch *launch,
                          const vy_grid_tiles *tile, const vy_gpu_buffers *buffers, vyre_error *error);
/* Runs a launch in slices and waits for each; `taken` receives the combined result. Before each slice the cancel word
 * and the deadline are checked. */
vyre_status vy_gpu_launch_slices(vy_gpu_slot *slot, vy_gpu_executable *code, vy_gpu_kernel *kernel,
                                 const vyre_launch *launch, const vy_gpu_buffers *buffers, vyre_error *error);

/* ---- one dispatch ----
 *
 *   start   acquires a slot
 *   bind    sets the place of every buffer
 *   submit  does all that needs the caller's bytes; the device works when it returns
 *   finish  waits, decodes the result, delivers the outputs
 *   end     releases the slot, whatever happened */

enum { VY_GPU_ALIGNMENT = 256 }; /* of the buffers in an arena */
/* Dispatches with at most this many bytes in the arena pass through staging memory. */
enum { VY_GPU_SMALL = 1 << 20 };

static inline uint64_t vy_gpu_align_size(uint64_t size) {
    return (size + VY_GPU_ALIGNMENT - 1) / VY_GPU_ALIGNMENT * VY_GPU_ALIGNMENT;
}
static inline int vy_gpu_is_copied_in(const vy_gpu_submission *f, uint32_t i) {
    return f->offsets[i] != VY_GPU_ELSEWHERE && f->sizes[i] && vy_launch_is_input(f->code->facts, i);
}
/* Whether a buffer must be zero before the launch. */
int vy_gpu_is_cleared(const vy_gpu_executable *code, const vyre_launch *launch, uint32_t buffer);
/* Whether host bytes overlap the memory of an output. */
int vy_gpu_overlaps(const void *data, uint64_t size, const vyre_bytes *output);
/* Memory for an output, not cleared. */
vyre_status vy_gpu_output_reserve(vyre_bytes *output, uint64_t size, vyre_error *error);

vyre_status vy_gpu_submission_start(vy_gpu_submission *f, vy_gpu_executable *code, const vyre_launch *launch,
                                    vyre_timing *timing, vyre_error *error);
/* inputs: host bytes; bindings: one resource per buffer. outputs: of the dispatch, if buffers may be bound to them;
 * NULL: the caller may free its bytes after `submit`. */
vyre_status vy_gpu_submission_bind(vy_gpu_submission *f, const vyre_launch *launch, const vyre_span *inputs,
                                   const vyre_resource *bindings, vyre_outputs *outputs, vyre_error *error);
vyre_status vy_gpu_submission_submit(vy_gpu_submission *f, const vyre_launch *launch, vyre_error *error);
/* outputs may be NULL if all written buffers are resident. Entries for resident outputs stay empty. */
vyre_status vy_gpu_submission_finish(vy_gpu_submission *f, vyre_outputs *outputs, vyre_error *error);
void vy_gpu_submission_end(vy_gpu_submission *f);
/* All steps. Exactly one of inputs and bindings is not NULL, unless the program has no buffers. */
vyre_status vy_gpu_submission_run(vy_gpu_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                  const vyre_resource *bindings, vyre_outputs *outputs, vyre_timing *timing,
                                  vyre_error *error);

/* ---- sequences and batches ----
 *
 * Several launches on one queue, with one wait for all that cannot trap. A step that traps is the last: its trap must
 * be seen before the next step starts. So each step that may trap is waited for, and the others are not. */

typedef struct vy_gpu_item {
    vy_gpu_executable *code;
    const vyre_launch *launch;
    const vyre_resource *bindings;
} vy_gpu_item;

/* Launches in order: items of a batch, or steps. */
typedef struct vy_gpu_launch_list {
    vy_gpu_executable *code; /* of all launches, or NULL: steps */
    const vyre_launch *launches;
    const vyre_resource *const *each; /* the bindings of each launch, or NULL, and */
    const vyre_resource (*four)[4];
    const vyre_native_step *steps;
    size_t count;
} vy_gpu_launch_list;
vy_gpu_item vy_gpu_launch_list_at(const vy_gpu_launch_list *list, size_t index);

enum { VY_GPU_MANY = 4096 }; /* items that are offered to add_many in one call, at most */

struct vy_gpu_sequence {
    vy_gpu *gpu;
    vy_gpu_slot *slot;
    const vy_gpu_launch_list *list;
    size_t *failed;                        /* index of the launch being enqueued; on failure, of the one that failed */
    const vy_gpu_executable *undecoded;    /* the last one whose control block has not been decoded, or NULL */
    const vy_gpu_kernel *undecoded_kernel; /* the kernel of `undecoded` */
    const vyre_launch *first;              /* its deadline and cancel word apply to all */
    void *held;                            /* of the backend: what add_many has in use */
};

/* Runs a list; outputs: one per item, or NULL. */
vyre_status vy_gpu_list_run(vy_gpu *gpu, const vy_gpu_launch_list *list, vyre_outputs *outputs, size_t *failed,
                            vyre_error *error);
/* Runs items from host bytes, two in flight: while the host waits for one, the next one is enqueued. */
vyre_status vy_gpu_batch_run(vy_gpu_executable *code, const vyre_launch *launches, const vyre_span *const *inputs,
                             size_t count, vyre_outputs *outputs, size_t *failed, vyre_error *error);
/* Entry of the backend's table. Outside. */
vyre_status vy_gpu_sequence_run(void *self, const vyre_native_step *steps, size_t step_count,
                                const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing,
                                size_t *failed, vyre_error *error);

/* ---- asynchronous dispatches ----
 *
 * `wait` decodes the result and delivers the outputs. A thread calls the owners of dispatches that are done, and
 * signals kernels to end that do not see their deadline; it is started with the first dispatch that needs it. */

struct vy_gpu_pending {
    vy_gpu_pending *next; /* in the list of the watching thread */
    vy_gpu *gpu;
    vy_gpu_executable *code;
    void *event; /* of the backend */
    /* Guarded by the lock of the watch. */
    uint8_t is_called;   /* vy_gpu_pending_done was called */
    uint8_t is_over;     /* no further requests to stop are sent */
    uint8_t is_watched;  /* in the list */
    uint8_t is_notified; /* `done` is being called */
    uint8_t is_ended;    /* the submission has ended */
    uint8_t was_signalled, was_cancelled;
    uint64_t signalled_ns;
    void (*done)(void *user);
    void *user;
    /* Used only by the thread that waits. */
    int is_decoded;
    vyre_status status;
    vyre_error error;
    vy_gpu_submission submission;
};

/* Starts a dispatch. When it returns, the inputs are copied and the device works. */
vyre_status vy_gpu_pending_start(vy_gpu_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                 vyre_native_pending *out, vyre_error *error);
/* The device has completed the dispatch. In any thread. */
void vy_gpu_pending_done(vy_gpu_pending *p);

/* ---- pipelines: outside ---- */

/* The state of a native pipeline: the target of `self`. */
typedef struct vy_gpu_pipeline {
    vy_gpu *gpu;
    vy_gpu_executable *code;
} vy_gpu_pipeline;

/* Entries of the backend's table. */
vyre_status vy_gpu_pipeline_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                    vyre_native_pipeline *out, vyre_error *error);
vyre_status vy_gpu_pipeline_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                 vyre_span binary, vyre_native_pipeline *out, vyre_error *error);

#endif
