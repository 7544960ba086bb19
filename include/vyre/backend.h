/* The backend contract: the tables, records and services for authors of backends. A backend is one constant vtable and
 * one constructor, announced by a constant record (VYRE_REGISTER_BACKEND). This header, with those it includes, is all
 * that a plug-in needs: it calls the library through the vyre_host passed to its constructor and links against nothing.
 *
 * Required:    `id`, and `dispatch` or `compile`. Every other entry may be NULL and then behaves as its comment states
 *              under "Default".
 * Guarantees:  before calling an entry the library has validated the program, resolved sizes and geometry, and checked
 *              bindings and limits; a backend need not check them again.
 * Checks:      the library checks the results of a backend. Wrong counts, wrong sizes and unknown handles become
 *              VYRE_CORRUPT.
 * ABI:         tables and other structs that start with `struct_size` grow at their end only; in a shorter struct the
 *              missing entries are absent. The layout of other structs is fixed (docs/abi.md). Until the first release
 *              the contract may change.
 * Threads:     every entry may be called from any thread, concurrently, unless stated. The library holds no lock during
 *              a call.
 * Errors:      every failing entry fills `error`, which is never NULL here, with a fix. */
#ifndef VYRE_BACKEND_H
#define VYRE_BACKEND_H

#include "vyre/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this contract. A backend records the version it was built with; the library accepts 1 … its own. */
#define VYRE_BACKEND_ABI 1u

/* ---- arguments and results ---- */

/* Outputs of a dispatch: one vyre_bytes per output buffer, in declaration order, in storage owned by the caller. Reuse
 * keeps the capacity of the slots.
 *
 * Constructor:  VYRE_OUTPUTS_INIT
 * Destructor:   vyre_outputs_free (vyre/driver.h) */
typedef struct vyre_outputs {
    vyre_bytes *items;
    size_t count;
    size_t capacity; /* number of slots; slots beyond count keep their memory */
} vyre_outputs;
#define VYRE_OUTPUTS_INIT                                                                                              \
    { NULL, 0, 0 }

/* A handle of a resident buffer. It contains its owner (a backend instance) and a generation, so that a stale or
 * foreign handle is an error, never an alias. {0, 0} is not a handle. */
typedef struct vyre_resident {
    uint64_t owner;
    uint64_t id; /* index and generation */
} vyre_resident;

/* A resource: host bytes, or a range of a resident buffer. */
typedef enum vyre_resource_kind { VYRE_RESOURCE_HOST, VYRE_RESOURCE_RESIDENT } vyre_resource_kind;
typedef struct vyre_resource {
    vyre_resource_kind kind;
    vyre_span host;         /* HOST: borrowed for the call */
    vyre_resident resident; /* RESIDENT */
    uint64_t offset;        /* RESIDENT: bytes, a multiple of the element size */
    uint64_t size;          /* RESIDENT: bytes, 0 = to the end */
} vyre_resource;

/* Times of a dispatch in nanoseconds. `present` has a bit for each time that the backend measured; the others are
 * undefined. */
enum { VYRE_TIMED_DEVICE = 1, VYRE_TIMED_ENQUEUE = 2, VYRE_TIMED_WAIT = 4 };
typedef struct vyre_timing {
    uint64_t wall_ns;
    uint32_t present; /* VYRE_TIMED_* */
    uint64_t device_ns, enqueue_ns, wait_ns;
} vyre_timing;

/* One dispatch, resolved and checked. Valid for the call; an asynchronous entry copies what it needs later and retains
 * the program through the host. */
typedef struct vyre_launch {
    uint32_t struct_size;
    vyre_program *program;
    const vyre_scalar *params; /* one per param of the program, of its type */
    size_t param_count;
    const uint64_t *elements; /* element count of every buffer, in declaration order */
    size_t buffer_count;
    /* Workgroups per dimension; none is 0 (an empty grid never reaches a backend), unless grid_buffer is set. */
    uint32_t groups[3];
    uint64_t deadline_ns;   /* CLOCK_MONOTONIC; 0 = none */
    const uint32_t *cancel; /* set to non-zero (atomically) to cancel; NULL: not cancellable */
    const char *label;      /* "" if none */
    vyre_trap *trap;        /* to be set for VYRE_TRAPPED */
    /* Only with capability `indirect_dispatch`: the grid is in device memory. Buffer grid_buffer - 1 is bound to a
     * resident range with at least grid_offset + 3 u32 elements; the three from grid_offset are the workgroups in x, y
     * and z, read when the launch starts, regardless of what the launch itself writes there. If one of them is 0
     * nothing runs. A grid that exceeds the limits of the language runs nothing and is VYRE_LIMIT. grid_buffer 0: the
     * grid is `groups`. */
    uint32_t grid_buffer, grid_offset;
} vyre_launch;

/* Properties of a device, for planning by frontends. A flag is 1 only if the code that the backend runs uses the
 * feature. A number is 0 unless it was measured, reported by the driver or the operating system, or is a limit of the
 * backend: no typical values or guesses. Exceptions: the library presets max_native_int_width to 32, and the workgroup
 * limits to those of the capabilities. */
typedef struct vyre_device_profile {
    uint32_t struct_size;
    const char *backend; /* id */
    const char *device;  /* name of the device, "" if unknown */
    const char *driver;  /* driver and version, "" if unknown */
    uint8_t supports_subgroup_ops, supports_indirect_dispatch, supports_specialization_constants;
    uint8_t supports_f16, supports_bf16, supports_f64, supports_int64_atomics;
    uint8_t supports_trap_propagation, supports_tensor_cores;
    uint8_t has_mul_high, has_dual_issue_fp32_int32, has_subgroup_shuffle, has_shared_memory;
    uint32_t max_native_int_width;
    uint32_t max_workgroup_size[3];
    uint32_t max_invocations_per_workgroup;
    uint32_t max_workgroups_per_dimension;
    uint32_t max_shared_memory_bytes;
    uint64_t max_storage_buffer_binding_size;
    uint32_t subgroup_size;
    uint32_t compute_units;
    uint32_t regs_per_thread_max;
    uint32_t l1_cache_bytes, l2_cache_bytes;
    uint32_t mem_bw_gbps;
    uint32_t ideal_unroll_depth, ideal_vector_pack_bits;
    uint32_t ideal_workgroup_tile[3];
    uint32_t shared_memory_bank_count, shared_memory_bank_width_bytes;
} vyre_device_profile;

/* Capabilities, with conservative defaults. X(ID, name, default, doc) */
#define VYRE_CAPABILITY_LIST(X)                                                                                        \
    X(SUBGROUP_OPS, "subgroup_ops", 0, "subgroup collectives run without a way through workgroup memory")              \
    X(F16, "f16", 0, "f16 arithmetic is emitted as instructions of the device")                                        \
    X(BF16, "bf16", 0, "bf16 arithmetic is emitted as instructions of the device")                                     \
    X(TENSOR_CORES, "tensor_cores", 0, "matrix engines are used")                                                      \
    X(ASYNC_COMPUTE, "async_compute", 0, "copies and compute overlap")                                                 \
    X(INDIRECT_DISPATCH, "indirect_dispatch", 0, "a grid in a resident buffer is read by the device, of any size")     \
    X(SPECULATION, "speculation", 0, "speculative dispatch")                                                           \
    X(PERSISTENT_THREADS, "persistent_thread_dispatch", 0, "a kernel can stay and poll a queue")                       \
    X(GRID_SYNC, "grid_sync", 0, "a grid barrier runs inside one launch; without it such programs run as several")     \
    X(DISTRIBUTED, "distributed", 0, "one program spreads over several devices")                                       \
    X(MAX_WORKGROUP_SIZE_X, "max_workgroup_size.x", 1, "")                                                             \
    X(MAX_WORKGROUP_SIZE_Y, "max_workgroup_size.y", 1, "")                                                             \
    X(MAX_WORKGROUP_SIZE_Z, "max_workgroup_size.z", 1, "")                                                             \
    X(MAX_WORKGROUPS, "max_compute_workgroups_per_dimension", 1, "a larger grid runs as several launches")             \
    X(MAX_INVOCATIONS, "max_compute_invocations_per_workgroup", 0, "0 = the product of the sizes, clamped to 32 bits") \
    X(SUBGROUP_SIZE, "subgroup_size", 0, "lanes of a native subgroup; 0 = unknown, and whenever subgroup_ops is 0")    \
    X(MAX_STORAGE_BYTES, "max_storage_buffer_bytes", 0, "0 = not reported, which is not unlimited")                    \
    X(CANCEL, "cancel", 0, "a kernel ends at its deadline or when cancelled: 1 promptly, 2 part by part")
typedef enum vyre_capability {
#define X(ID, name, fallback, doc) VYRE_CAPABILITY_##ID,
    VYRE_CAPABILITY_LIST(X)
#undef X
        VYRE_CAPABILITY_COUNT
} vyre_capability;

/* Operations that a device computes exactly as the language defines (docs/bits.md). A bit is set if the API guarantees
 * it and a probe on the device agrees, or if a large probe passed on this device and driver; one failed case clears it.
 * Operations without a set bit are emulated. X(ID, name, doc) */
#define VYRE_NUMERIC_LIST(X)                                                                                           \
    X(INT8, "int8", "8-bit integer arithmetic")                                                                        \
    X(INT16, "int16", "16-bit integer arithmetic")                                                                     \
    X(INT64, "int64", "64-bit integer arithmetic")                                                                     \
    X(INT_DIV, "int.div", "integer division and remainder, by zero and of MIN by -1 too")                              \
    X(SHIFT, "int.shift", "shift and rotate amounts modulo the width")                                                 \
    X(F32_ADD, "f32.add", "f32 addition and subtraction of normal numbers")                                            \
    X(F32_MUL, "f32.mul", "f32 multiplication of normal numbers")                                                      \
    X(F32_DIV, "f32.div", "f32 division, correctly rounded")                                                           \
    X(F32_SQRT, "f32.sqrt", "f32 square root, correctly rounded")                                                      \
    X(F32_FMA, "f32.fma", "f32 fma with one rounding")                                                                 \
    X(F32_SUBNORMAL, "f32.subnormal", "all of the above with subnormal operands and results")                          \
    X(F32_MIN_MAX, "f32.min_max", "f32 minimumNumber and maximumNumber, -0 below +0")                                  \
    X(F32_ROUND, "f32.round", "f32 floor, ceil, trunc and round to even")                                              \
    X(F32_CONVERT, "f32.convert", "f32 to and from 32-bit integers: nearest-even, saturating, NaN to 0")               \
    X(F64_ADD, "f64.add", "f64 addition and subtraction of normal numbers")                                            \
    X(F64_MUL, "f64.mul", "f64 multiplication of normal numbers")                                                      \
    X(F64_DIV, "f64.div", "f64 division, correctly rounded")                                                           \
    X(F64_SQRT, "f64.sqrt", "f64 square root, correctly rounded")                                                      \
    X(F64_FMA, "f64.fma", "f64 fma with one rounding")                                                                 \
    X(F64_SUBNORMAL, "f64.subnormal", "all of the above with subnormal operands and results")                          \
    X(F64_MIN_MAX, "f64.min_max", "f64 minimumNumber and maximumNumber, -0 below +0")                                  \
    X(F64_ROUND, "f64.round", "f64 floor, ceil, trunc and round to even")                                              \
    X(F64_CONVERT, "f64.convert", "f64 to and from f32 and integers: nearest-even, saturating, NaN to 0")              \
    X(F16_ADD, "f16.add", "f16 addition and subtraction")                                                              \
    X(F16_MUL, "f16.mul", "f16 multiplication")                                                                        \
    X(F16_DIV, "f16.div", "f16 division, correctly rounded")                                                           \
    X(F16_SQRT, "f16.sqrt", "f16 square root, correctly rounded")                                                      \
    X(F16_FMA, "f16.fma", "f16 fma with one rounding")                                                                 \
    X(F16_CONVERT, "f16.convert", "f16 to and from f32, nearest-even")                                                 \
    X(BF16_FMA, "bf16.fma", "bf16 fma with one rounding")                                                              \
    X(BF16_CONVERT, "bf16.convert", "bf16 to and from f32, nearest-even")
typedef enum vyre_numeric {
#define X(ID, name, doc) VYRE_NUMERIC_##ID,
    VYRE_NUMERIC_LIST(X)
#undef X
        VYRE_NUMERIC_COUNT /* at most 64: they are bits */
} vyre_numeric;
/* The exact operations of a device. */
typedef struct vyre_numerics_profile {
    uint32_t struct_size;
    uint64_t exact; /* bits 1 << VYRE_NUMERIC_…; the library reports 0 if `cases` is 0 */
    uint64_t cases; /* operands tested per operation; 0: not measured */
} vyre_numerics_profile;

/* ---- the host: services of the library for backends ---- */

/* Services of the library, passed to every constructor. Constant, valid forever, callable from any thread. A plug-in
 * calls these and links against nothing. */
typedef struct vyre_host {
    uint32_t struct_size;
    uint32_t abi;
    void *(*allocate)(size_t size);
    void *(*resize)(void *memory, size_t old_size, size_t new_size);
    void (*release)(void *memory, size_t size);
    /* Fills error and returns code. fix NULL: the default fix of the code. */
    vyre_status (*fail)(vyre_error *error, vyre_status code, const char *fix, const char *message);
    vyre_status (*bytes_resize)(vyre_bytes *bytes, size_t size, vyre_error *error);
    vyre_program *(*program_retain)(vyre_program *program);
    void (*program_release)(vyre_program *program);
    const char *(*program_name)(const vyre_program *program);
    void (*program_fingerprint)(const vyre_program *program, vyre_digest *out);
    size_t (*program_buffer_count)(const vyre_program *program);
    int (*program_buffer)(const vyre_program *program, size_t index, vyre_buffer_info *out);
    void (*program_workgroup)(const vyre_program *program, uint32_t size[3]);
    /* The program in wire form (vyre/wire.h), for backends with their own compiler. */
    vyre_status (*program_encode)(const vyre_program *program, unsigned options, vyre_bytes *out, vyre_error *error);

    /* Runs the launch on the reference interpreter, for examples, tests and fallbacks. inputs and outputs as for
     * `dispatch`. Ends at launch->deadline_ns (VYRE_TIMEOUT) and when launch->cancel becomes non-zero
     * (VYRE_CANCELLED). */
    vyre_status (*reference_dispatch)(const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                      vyre_outputs *outputs, vyre_error *error);
    /* Sends one line to the log sink of the process; level 0 error … 3 debug. */
    void (*log)(int level, const char *backend, const char *message);
} vyre_host;

/* ---- pending work ---- */

/* A dispatch in flight, created by dispatch_async. launch->trap and launch->cancel stay valid until `destroy`.
 *
 * Threads:  one thread at a time, except that `cancel` may be called during `wait`. */
typedef struct vyre_pending_vtable {
    uint32_t struct_size;
    /* Required. Returns 1 if `wait` will not block. */
    int (*is_ready)(void *self);

    /* Required. Blocks until the dispatch is done or until deadline_ns (CLOCK_MONOTONIC, 0 = without limit). Fills
     * outputs on success.
     *
     * VYRE_NOT_READY  not done at deadline_ns: may be called again; never returned if deadline_ns is 0
     * VYRE_TIMEOUT    done: the deadline of the launch passed */
    vyre_status (*wait)(void *self, uint64_t deadline_ns, vyre_outputs *outputs, vyre_error *error);
    /* Requests the dispatch to end. Default: it cannot be stopped; the library lets it end and drops its results. */
    void (*cancel)(void *self);
    /* Required. Called once, after the work has ended or was abandoned; waits for work that cannot be abandoned. */
    void (*destroy)(void *self);

    /* Calls done(user) once, from any thread, when is_ready becomes 1; immediately if it is 1 already. Called at most
     * once; `wait` may be called meanwhile. done must not be called after `destroy` has returned. Default: a thread of
     * the library blocks in `wait`. */
    void (*notify)(void *self, void (*done)(void *user), void *user);
} vyre_pending_vtable;
typedef struct vyre_native_pending {
    const vyre_pending_vtable *vtable;
    void *self;
} vyre_native_pending;

/* ---- compiled pipelines ---- */

/* A compiled program. Every entry is bit-identical to the backend's dispatch of the same program. Bindings of the
 * persistent entries: one resource per buffer, in declaration order. */
typedef struct vyre_pipeline_vtable {
    uint32_t struct_size;
    /* Required. As `dispatch` of the backend. */
    vyre_status (*dispatch)(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error);
    /* The same with borrowed inputs. Default: copies the inputs and calls dispatch. */
    vyre_status (*dispatch_borrowed)(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                     vyre_outputs *outputs, vyre_error *error);
    /* The same with times. Default: wall time around dispatch_borrowed. */
    vyre_status (*dispatch_borrowed_timed)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                           size_t input_count, vyre_outputs *outputs, vyre_timing *timing,
                                           vyre_error *error);

    /* The same, writing directly into the caller's slots. Default: dispatch_borrowed into new storage, then moved or
     * copied into the slots. */
    vyre_status (*dispatch_borrowed_into)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                          size_t input_count, vyre_outputs *outputs, vyre_error *error);

    /* count independent dispatches; launches[i] with inputs[i] (input_count each) into outputs[i]. The first failure
     * ends the batch. *failed is count on entry; the backend sets it to the index of the failed item if it can
     * determine it. Default: sequentially. */
    vyre_status (*dispatch_batched_into)(void *self, const vyre_launch *launches, const vyre_span *const *inputs,
                                         size_t input_count, size_t count, vyre_outputs *outputs, size_t *failed,
                                         vyre_error *error);

    /* Host bytes and resident buffers mixed. Outputs bound to host bytes are read back; those bound to resident buffers
     * stay there. Default: UNSUPPORTED "persistent handle dispatch", unless the backend has `dispatch_resident` and,
     * for host bytes, resident memory. */
    vyre_status (*dispatch_persistent_into)(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                            size_t binding_count, vyre_outputs *outputs, vyre_timing *timing,
                                            vyre_error *error);

    /* count dispatches, as if sequentially: items may use the same resident buffers. *failed as for
     * dispatch_batched_into. Default: sequentially, through dispatch_persistent_into. */
    vyre_status (*dispatch_persistent_batched_into)(void *self, const vyre_launch *launches,
                                                    const vyre_resource *const *bindings, size_t binding_count,
                                                    size_t count, vyre_outputs *outputs, size_t *failed,
                                                    vyre_error *error);
    /* The same with rows of exactly four resources. Default: dispatch_persistent_batched_into. */
    vyre_status (*dispatch_persistent_rows_into)(void *self, const vyre_launch *launches,
                                                 const vyre_resource (*rows)[4], size_t count, vyre_outputs *outputs,
                                                 size_t *failed, vyre_error *error);

    /* Starts a dispatch; inputs are borrowed for the call only. Default: the synchronous entry, on a thread of the
     * library. */
    vyre_status (*dispatch_async)(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                  vyre_native_pending *out, vyre_error *error);
    /* Returns the final binary for the disk cache. Called on the thread that compiled. Default: `serialize_later`. */
    vyre_status (*serialize)(void *self, vyre_bytes *out, vyre_error *error);

    /* Required. Called once, before the backend's `shutdown` and `try_recover`, also if the device is lost. If a call
     * on the pipeline was abandoned: when that call has returned. */
    void (*destroy)(void *self);

    /* Like `serialize`, for a binary that is expensive to produce. Called at most once: on a thread of the library,
     * when nothing has been compiled for a while or before the backend is shut down; on the compiling thread, if too
     * many binaries are pending; on a waiting thread, if no other is available. Other calls on the pipeline may run
     * meanwhile. At the end of the process no call is started, and a running one is waited for. Default: nothing is
     * stored. */
    vyre_status (*serialize_later)(void *self, vyre_bytes *out, vyre_error *error);
} vyre_pipeline_vtable;
/* A pipeline as created by `compile` or `load`. */
typedef struct vyre_native_pipeline {
    const vyre_pipeline_vtable *vtable; /* NULL: not compiled; the library wraps `dispatch` */
    void *self;
} vyre_native_pipeline;

/* Options of a compile. All except deadline_ns are part of the cache key. */
typedef struct vyre_compile_options {
    uint32_t struct_size;
    int cancellable; /* 1: the kernel polls its deadline and cancel word */
    /* Deadline of the compile (CLOCK_MONOTONIC; 0 = none). A backend that cannot stop its compiler may exceed it. */
    uint64_t deadline_ns;
} vyre_compile_options;

/* One step of a sequence. */
typedef struct vyre_native_step {
    void *pipeline; /* self of a native pipeline of this backend */
    vyre_launch launch;
    const vyre_resource *bindings;
    size_t binding_count;
} vyre_native_step;
/* A range to read back after the last step. */
typedef struct vyre_readback {
    vyre_resident resident;
    uint64_t offset, size;
    void *host;
} vyre_readback;

/* Counters of a pipeline cache: hits, misses, and the current number of pipelines and bytes of their code. */
typedef struct vyre_cache_snapshot {
    uint64_t hits, misses, entries, bytes;
} vyre_cache_snapshot;

/* One contiguous transfer of a batch. */
typedef struct vyre_transfer {
    vyre_resident resident;
    uint64_t offset, size;
    void *host; /* read from for uploads */
} vyre_transfer;

/* Kinds of memory, numbered as in DLPack. */
enum {
    VYRE_LOCATION_OWN = 0, /* memory of the backend's device */
    VYRE_LOCATION_HOST = 1,
    VYRE_LOCATION_CUDA = 2,
    VYRE_LOCATION_CUDA_HOST = 3, /* pinned host memory */
    VYRE_LOCATION_CUDA_MANAGED = 13
};
/* The location of memory. */
typedef struct vyre_memory_location {
    int32_t device;   /* VYRE_LOCATION_… */
    int32_t ordinal;  /* number of the device; 0 for the host */
    uint64_t address; /* in the address space of the device */
} vyre_memory_location;

/* ---- the backend ---- */

/* The entries of a backend. */
typedef struct vyre_backend_vtable {
    uint32_t struct_size;
    uint32_t abi; /* VYRE_BACKEND_ABI of the build */

    /* Required. Stable, unique in the process, lower case ("cuda"). */
    const char *(*id)(void *self);

    /* Required, unless `compile` is set. NULL: every program is compiled; a dispatch without a pipeline uses one that
     * the library keeps. `compile` must then support every program, and the other dispatch entries are not called.
     *
     * inputs   The read, uniform and read_write buffers, in declaration order.
     * outputs  One slot per write and read_write buffer, in declaration order, with size 0: resize each through the
     *          host and fill it; change nothing else.
     *
     * Blocking:  blocks until the dispatch is done. */
    vyre_status (*dispatch)(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error);

    /* The version, for reports and cache keys. Default: "unspecified". */
    const char *(*version)(void *self);

    /* Names of the language constructs that the backend supports without further lowering ("add", "load", "global_id").
     * `vyre explain FILE` prints those of a program. A program with another construct is rejected; exception: grid
     * barriers, without which the program runs as several launches. Default: the core set (vyre_core_supported_ops),
     * plus subgroup collectives with capability `subgroup_ops` and the grid barrier with `grid_sync`. */
    const char *const *(*supported_ops)(void *self, size_t *count);

    /* As the entries of the same name of pipelines, with the same defaults. */
    vyre_status (*dispatch_borrowed)(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                     vyre_outputs *outputs, vyre_error *error);
    vyre_status (*dispatch_borrowed_timed)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                           size_t input_count, vyre_outputs *outputs, vyre_timing *timing,
                                           vyre_error *error);
    vyre_status (*dispatch_borrowed_into)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                          size_t input_count, vyre_outputs *outputs, vyre_error *error);

    /* Start a dispatch. Inputs are borrowed for the call only. Default of the owned form: the borrowed one; of the
     * borrowed form: the owned one with copies; of both: the synchronous entry, on a thread of the library. */
    vyre_status (*dispatch_async)(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                                  vyre_native_pending *out, vyre_error *error);
    vyre_status (*dispatch_borrowed_async)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                           size_t input_count, vyre_native_pending *out, vyre_error *error);

    /* Resident memory. The library checks sizes and manages handles, generations and use counts; a backend sees its own
     * `native` value. Default of all: UNSUPPORTED, with the names of the feature and the backend. */
    vyre_status (*resident_allocate)(void *self, uint64_t size, uint64_t *native, vyre_error *error); /* zeroed */
    vyre_status (*resident_free)(void *self, uint64_t native, vyre_error *error);
    vyre_status (*resident_upload)(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                   vyre_error *error);
    vyre_status (*resident_download)(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                     vyre_error *error);
    /* Several transfers; resident.id is the native value. Default: sequentially. */
    vyre_status (*resident_upload_batch)(void *self, const vyre_transfer *transfers, size_t count, vyre_error *error);
    vyre_status (*resident_download_batch)(void *self, const vyre_transfer *transfers, size_t count, vyre_error *error);

    /* Dispatch on resident buffers: one resource per buffer, in declaration order (resident.id is the native value).
     * timing may be NULL. Default: UNSUPPORTED. */
    vyre_status (*dispatch_resident)(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                     size_t binding_count, vyre_timing *timing, vyre_error *error);

    /* Compiles a program. Default: not compiled; out->vtable stays NULL. */
    vyre_status (*compile)(void *self, vyre_program *program, const vyre_compile_options *options,
                           vyre_native_pipeline *out, vyre_error *error);

    /* Creates a pipeline from a binary of `serialize` or `serialize_later`, which the cache has verified. A failure is
     * a cache miss. Default: `compile` is called. */
    vyre_status (*load)(void *self, vyre_program *program, const vyre_compile_options *options, vyre_span binary,
                        vyre_native_pipeline *out, vyre_error *error);

    /* The cache identity: everything except program, options and library build that determines the binary, such as
     * device, driver and target. Default: id and version. */
    vyre_status (*cache_identity)(void *self, vyre_bytes *out, vyre_error *error);

    /* Reads the counters of the backend's pipeline cache. Returns 0 if it has none. For a backend without `dispatch`
     * the library fills hits and misses from its own cache. Default: 0. */
    int (*cache_snapshot)(void *self, vyre_cache_snapshot *out);

    /* Runs steps in order, each seeing the writes of the steps before, with one submission and one wait; then reads
     * ranges back (resident.id is the native value). A step that fails or traps is the last. *failed is step_count on
     * entry; the backend sets it to the index of the failed step if it can determine it. timing may be NULL. Default:
     * step by step. */
    vyre_status (*sequence)(void *self, const vyre_native_step *steps, size_t step_count,
                            const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing, size_t *failed,
                            vyre_error *error);

    /* Returns a capability. Called when the backend is acquired and after recovery. Default: the defaults of
     * VYRE_CAPABILITY_LIST. */
    uint64_t (*capability)(void *self, vyre_capability capability);

    /* Fills the properties of the device. On entry profile has defaults derived from the capabilities. Default:
     * unchanged. */
    void (*device_profile)(void *self, vyre_device_profile *profile);

    /* Called before the first dispatch of a program. May be called again for the same program: the library remembers
     * 256. Default: no effect. */
    vyre_status (*prepare)(void *self, vyre_program *program, vyre_error *error);
    /* Waits for submitted work. Default: no effect. */
    vyre_status (*flush)(void *self, vyre_error *error);

    /* Releases the device. Called once, when no call is in flight: with the last release, or when the user requests it.
     * Default: no effect. */
    vyre_status (*shutdown)(void *self, vyre_error *error);
    /* Returns 1 if the device is lost. Default: 0. */
    int (*device_lost)(void *self);

    /* Recovers a lost device. Called when no call is in flight except abandoned ones. On success resident buffers
     * allocated before no longer exist: their native values are neither used nor freed. On failure they are still freed
     * with resident_free. Default: UNSUPPORTED "device recovery". */
    vyre_status (*try_recover)(void *self, vyre_error *error);
    /* Frees self. Called once, after shutdown. Default: no effect. */
    void (*destroy)(void *self);

    /* Fills the exact operations of the device; on entry no bit is set. Called when the backend is acquired and after
     * recovery; part of the key of every pipeline. Default: unchanged, all operations are emulated. */
    void (*numerics)(void *self, vyre_numerics_profile *profile);

    /* Wraps memory owned by others as a resident buffer. Dispatches work on it in place; resident_free ends the buffer
     * without freeing the memory. size is not 0. Memory that the device cannot access is VYRE_INVALID_ARGUMENT.
     * Default: UNSUPPORTED "wrapping of foreign memory". */
    vyre_status (*resident_wrap)(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                                 vyre_error *error);

    /* Returns the location of a resident buffer; on entry it is zeroed. Default: UNSUPPORTED "export of resident
     * buffers". */
    vyre_status (*resident_location)(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error);

    /* Orders all work started after this call, on the device, after the work that is in the stream now. Does not wait.
     * Default: UNSUPPORTED "ordering with a foreign stream". */
    vyre_status (*stream_join)(void *self, void *stream, vyre_error *error);

    /* For a program with grid barriers, if capability `grid_sync` is 0: the maximum number of workgroups for which its
     * barriers can run inside one launch of `pipeline` (self of a native pipeline of the program); 0: none. pipeline
     * NULL: not compiled yet; the result must be an upper bound for all its pipelines. A larger dispatch runs as
     * several launches, and so does one that the pipeline rejects with VYRE_LIMIT before anything ran. Called at each
     * such dispatch. Default: 0. */
    uint64_t (*grid_sync_limit)(void *self, const vyre_program *program, void *pipeline);

    /* The target (c, ptx) whose code of dialects the compiler of the backend writes into its output, as the emitter of
     * that target does (vyre_emit). A program for `compile` then still calls the ops whose code is used: the library
     * compared it with the body on this backend before. Default: NULL, and every op is compiled from its body. */
    const char *(*code_target)(void *self);

    /* Emits the code that `compile` generates of the program with these options: as text if it has a text form, else
     * its bytes. For readers (vyre_emit_options.backend): it is never executed. Default: UNSUPPORTED "emission of
     * code". */
    vyre_status (*emit)(void *self, vyre_program *program, const vyre_compile_options *options, vyre_bytes *out,
                        vyre_error *error);
} vyre_backend_vtable;

/* The result of a constructor. */
typedef struct vyre_backend_instance {
    const vyre_backend_vtable *vtable;
    void *self;
} vyre_backend_instance;

/* ---- registration ---- */

/* The result of a probe: whether a constructor would succeed. */
typedef enum vyre_probe_answer {
    VYRE_PROBE_YES,
    VYRE_PROBE_FOR_NOW, /* yes, but another process or a limit may prevent it */
    VYRE_PROBE_NOT_NOW, /* busy or short of memory: try again */
    VYRE_PROBE_NEVER    /* no such hardware or driver */
} vyre_probe_answer;
/* Classes of devices, for policies (vyre/driver.h). */
typedef enum vyre_device_class {
    VYRE_DEVICE_UNKNOWN,
    VYRE_DEVICE_GPU,
    VYRE_DEVICE_SOFTWARE,
    VYRE_DEVICE_CPU,
    VYRE_DEVICE_REFERENCE
} vyre_device_class;
/* The report of a probe. */
typedef struct vyre_probe {
    uint32_t struct_size;
    vyre_probe_answer answer;
    vyre_device_class device_class;
    uint32_t device_count;
    char reason[256]; /* why not */
    char fix[256];    /* the action that would help */
} vyre_probe;

/* A record that registers a backend. */
typedef struct vyre_backend_registration {
    uint32_t struct_size;
    uint32_t abi;
    const char *id;
    /* Creates an instance for device `ordinal` ("cuda#1"). */
    vyre_status (*create)(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error);

    /* The same list as that of the vtable, for selection, which uses it before it constructs the backend. NULL: the ops
     * are checked after construction. */
    const char *const *(*supported_ops)(size_t *count);

    /* Reports whether `create` would succeed. Must neither create a context nor use device memory. NULL = unknown: the
     * constructor decides. */
    void (*probe)(const vyre_host *host, vyre_probe *out);
} vyre_backend_registration;
/* A record that sets the rank of a backend for selection. */
typedef struct vyre_precedence_registration {
    uint32_t struct_size;
    const char *id;
    uint32_t rank; /* lower wins */
} vyre_precedence_registration;
/* A record that declares whether a backend can dispatch. */
typedef struct vyre_capability_registration {
    uint32_t struct_size;
    const char *id;
    int dispatches; /* 0: emits code only */
} vyre_capability_registration;

/* Registration macros: one record each, at file scope. `name` is a C identifier, unique in the file. No code runs and
 * nothing is allocated:
 *
 *       VYRE_REGISTER_BACKEND(mine, .id = "mine", .create = create);
 *       VYRE_REGISTER_PRECEDENCE(mine, .id = "mine", .rank = 50);
 *       VYRE_REGISTER_CAPABILITY(mine, .id = "mine", .dispatches = 1);
 *       VYRE_MODULE("mine");      // once per module, in any of its files; VYRE_PLUGIN("mine") in a plug-in
 *
 * C++:  accepted from C++11; fields are written in the order of the struct.
 * Ids:  1 … 63 lower-case letters, digits, '_', '-' and '.'. */
#define VYRE_REGISTER_BACKEND(name, ...)                                                                               \
    VYRE_STREAM_RECORD(vyre_backend_registration, VYRE_STREAM(backends), vyre_backend_record_##name,                   \
                       .abi = VYRE_BACKEND_ABI, __VA_ARGS__)
#define VYRE_REGISTER_PRECEDENCE(name, ...)                                                                            \
    VYRE_STREAM_RECORD(vyre_precedence_registration, VYRE_STREAM(precedences), vyre_precedence_record_##name,          \
                       __VA_ARGS__)
#define VYRE_REGISTER_CAPABILITY(name, ...)                                                                            \
    VYRE_STREAM_RECORD(vyre_capability_registration, VYRE_STREAM(capabilities), vyre_capability_record_##name,         \
                       __VA_ARGS__)

/* Sections with the same name from all objects of an executable or shared library are merged. A static library that
 * needs a separate descriptor, in whatever it is linked into, defines another prefix before including this header, as
 * libvyre does. No function may have the name of a section: an assembler confuses the two. */
#ifndef VYRE_STREAM_PREFIX
#define VYRE_STREAM_PREFIX vyre_stream
#endif
#define VYRE_STREAM_JOIN(a, b) a##_##b
#define VYRE_STREAM_EXPAND(a, b) VYRE_STREAM_JOIN(a, b)
#define VYRE_STREAM(name) VYRE_STREAM_EXPAND(VYRE_STREAM_PREFIX, name)
#define VYRE_STREAM_TEXT(section_name) #section_name
#define VYRE_STREAM_NAME(section_name) VYRE_STREAM_TEXT(section_name)

/* A record, and a pointer to it in the stream's section. The section holds pointers, so that records may grow. `retain`
 * keeps it with --gc-sections, `used` with LTO. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define VYRE_STREAM_ATTRIBUTES(section_name) __attribute__((section(section_name), used, retain))
#endif
#endif
#ifndef VYRE_STREAM_ATTRIBUTES
#define VYRE_STREAM_ATTRIBUTES(section_name) __attribute__((section(section_name), used))
#endif
/* C++11 to C++17: designators are a compiler extension, and omitted fields are not an error. */
#ifdef __cplusplus
#define VYRE_RECORD_BEGIN                                                                                              \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"") __extension__
#define VYRE_RECORD_END _Pragma("GCC diagnostic pop")
#else
#define VYRE_RECORD_BEGIN
#define VYRE_RECORD_END
#endif
#define VYRE_STREAM_RECORD(type, stream, record, ...)                                                                  \
    VYRE_RECORD_BEGIN static const type record = {.struct_size = sizeof(type), __VA_ARGS__};                           \
    VYRE_RECORD_END static const type *const record##_entry VYRE_STREAM_ATTRIBUTES(VYRE_STREAM_NAME(stream)) = &record

/* Records of dialects (vyre/dialect.h). */
typedef struct vyre_op_definition vyre_op_definition;
typedef struct vyre_extern_dialect vyre_extern_dialect;
typedef struct vyre_extern_op vyre_extern_op;

/* The descriptor of a module: the bounds of its record streams. Defined once per module (executable, shared library,
 * plug-in). An application passes it to vyre_module_register (vyre/registry.h); a plug-in exports it. */
typedef struct vyre_module_descriptor {
    uint32_t struct_size;
    uint32_t abi;
    const char *name;
    const vyre_backend_registration *const *backends, *const *backends_end;
    const vyre_precedence_registration *const *precedences, *const *precedences_end;
    const vyre_capability_registration *const *capabilities, *const *capabilities_end;

    /* Called before the records are added; if it fails none is added. Also called for a module without records, each
     * time it is loaded. May be called again, also concurrently by threads that load the same file. NULL = no
     * initialiser. */
    vyre_status (*init)(const vyre_host *host, vyre_error *error);
    const vyre_op_definition *const *ops, *const *ops_end;
    const vyre_extern_dialect *const *extern_dialects, *const *extern_dialects_end;
    const vyre_extern_op *const *extern_ops, *const *extern_ops_end;
} vyre_module_descriptor;
#define VYRE_MODULE_SYMBOL "vyre_module_entry"

/* Section bounds are defined by the linker; weak, so that a module without records of a stream links. */
#define VYRE_STREAM_START(stream) VYRE_STREAM_EXPAND(__start, stream)
#define VYRE_STREAM_STOP(stream) VYRE_STREAM_EXPAND(__stop, stream)
#define VYRE_STREAM_BOUNDS(type, stream)                                                                               \
    extern const type *const VYRE_STREAM_START(stream)[] __attribute__((weak, visibility("hidden")));                  \
    extern const type *const VYRE_STREAM_STOP(stream)[] __attribute__((weak, visibility("hidden")))
#define VYRE_MODULE_BOUNDS                                                                                             \
    VYRE_STREAM_BOUNDS(vyre_backend_registration, VYRE_STREAM(backends));                                              \
    VYRE_STREAM_BOUNDS(vyre_precedence_registration, VYRE_STREAM(precedences));                                        \
    VYRE_STREAM_BOUNDS(vyre_capability_registration, VYRE_STREAM(capabilities));                                       \
    VYRE_STREAM_BOUNDS(vyre_op_definition, VYRE_STREAM(ops));                                                          \
    VYRE_STREAM_BOUNDS(vyre_extern_dialect, VYRE_STREAM(extern_dialects));                                             \
    VYRE_STREAM_BOUNDS(vyre_extern_op, VYRE_STREAM(extern_ops))
#define VYRE_MODULE_STREAM(name) VYRE_STREAM_START(VYRE_STREAM(name)), VYRE_STREAM_STOP(VYRE_STREAM(name))
#define VYRE_MODULE_VALUE(module_name, module_init)                                                                    \
    {                                                                                                                  \
        sizeof(vyre_module_descriptor), VYRE_BACKEND_ABI, module_name, VYRE_MODULE_STREAM(backends),                   \
            VYRE_MODULE_STREAM(precedences), VYRE_MODULE_STREAM(capabilities), module_init, VYRE_MODULE_STREAM(ops),   \
            VYRE_MODULE_STREAM(extern_dialects), VYRE_MODULE_STREAM(extern_ops)                                        \
    }

/* For an executable or library: defines a constant `vyre_this_module` in this file. */
#define VYRE_MODULE(module_name)                                                                                       \
    VYRE_MODULE_BOUNDS;                                                                                                \
    static const vyre_module_descriptor vyre_this_module = VYRE_MODULE_VALUE(module_name, NULL)
/* The same with a chosen name, visible to other files. */
#define VYRE_MODULE_AS(symbol, module_name)                                                                            \
    VYRE_MODULE_BOUNDS;                                                                                                \
    extern const vyre_module_descriptor symbol;                                                                        \
    const vyre_module_descriptor symbol = VYRE_MODULE_VALUE(module_name, NULL)
/* For a plug-in: exports the descriptor under the name that the loader searches; with an initialiser (see `init`), or
 * without. */
#define VYRE_PLUGIN(module_name) VYRE_PLUGIN_WITH(module_name, NULL)
#define VYRE_PLUGIN_WITH(module_name, module_init)                                                                     \
    VYRE_MODULE_BOUNDS;                                                                                                \
    extern __attribute__((visibility("default"))) const vyre_module_descriptor vyre_module_entry;                      \
    const vyre_module_descriptor vyre_module_entry = VYRE_MODULE_VALUE(module_name, module_init)

#ifdef __cplusplus
}
#endif
#endif
