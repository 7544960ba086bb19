/* The backend contract: what a backend author implements, and nothing else.
 *
 * A backend is one constant vtable and one constructor, announced by a constant record (VYRE_REGISTER_BACKEND). Only `id`, and `dispatch` or
 * `compile`, are required; every other entry may be NULL and then behaves as its comment says under "default". The library never calls a backend except
 * through its boundary, which has already validated the program, resolved sizes and geometry, checked bindings and limits; a backend need
 * not check them again. What a backend returns is checked too: wrong counts, wrong sizes and unknown handles are contained.
 *
 * This header, with those it includes, is all a plug-in needs: it calls back through the `vyre_host` it is given and links against nothing.
 *
 * ABI: tables and other structs that start with `struct_size` grow at their end only; a shorter one means the missing entries are absent. The
 * others stay as they are (docs/abi.md). Until the first release the contract may still change.
 *
 * Threads: every entry may be called from any thread, several at once, unless its comment says otherwise. The library holds no lock
 * during a call. Errors: every failing entry fills `error` (never NULL here), with a fix. */
#ifndef VYRE_BACKEND_H
#define VYRE_BACKEND_H

#include "vyre/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this contract. A backend records the one it was built with; the library accepts 1 … its own. */
#define VYRE_BACKEND_ABI 1u

/* ---- what travels ---- */

/* Outputs of one dispatch, one vyre_bytes per output buffer in declaration order, in storage the caller owns and reuses:
 * capacity of slots is kept. Start from VYRE_OUTPUTS_INIT, end with vyre_outputs_free (vyre/driver.h). */
typedef struct vyre_outputs {
    vyre_bytes *items;
    size_t count;
    size_t capacity; /* slots there are; those beyond count keep their memory for later */
} vyre_outputs;
#define VYRE_OUTPUTS_INIT                                                                                              \
    { NULL, 0, 0 }

/* A handle of a resident buffer. It names its owner (a backend instance) and its generation, so that a stale or foreign handle is an
 * error, never an alias. {0, 0} is no handle. */
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

/* Times of a dispatch in nanoseconds. What a backend cannot measure is absent, which is not 0. */
enum { VYRE_TIMED_DEVICE = 1, VYRE_TIMED_ENQUEUE = 2, VYRE_TIMED_WAIT = 4 };
typedef struct vyre_timing {
    uint64_t wall_ns;
    uint32_t present; /* VYRE_TIMED_* */
    uint64_t device_ns, enqueue_ns, wait_ns;
} vyre_timing;

/* One dispatch as a backend sees it: complete and checked. Valid for the call; an entry that works on later keeps copies
 * and retains the program through the host. */
typedef struct vyre_launch {
    uint32_t struct_size;
    vyre_program *program;
    const vyre_scalar *params; /* as many as the program has, of its types */
    size_t param_count;
    const uint64_t *elements; /* element count of every buffer, in declaration order */
    size_t buffer_count;
    /* Workgroups; none is 0 (an empty grid never reaches a backend), unless grid_buffer says where they are. */
    uint32_t groups[3];
    uint64_t deadline_ns;   /* CLOCK_MONOTONIC; 0 = none */
    const uint32_t *cancel; /* becomes non-zero (atomically) when the caller cancels; NULL = cannot be cancelled */
    const char *label;      /* "" if none */
    vyre_trap *trap;        /* to fill when the status is VYRE_TRAPPED */
    /* Only where the capability `indirect_dispatch` is 1: the grid lies on the device. Of the buffers grid_buffer - 1 is bound to a resident range that has at
     * least grid_offset + 3 elements, u32; three from grid_offset on are the workgroups in x, y and z as they are when the launch's turn comes, whatever it writes there itself.
     * Any of them may be 0: then nothing runs. A grid over the limits of the language runs nothing, and is VYRE_LIMIT. 0: the grid is `groups`. */
    uint32_t grid_buffer, grid_offset;
} vyre_launch;

/* Facts of a device, for the planner of any frontend. A flag is 1 only if the code that the backend runs uses the feature. A number is 0 unless the
 * backend measured it, the driver or the operating system reports it, or it is a limit of the backend itself: typical values and guesses are not
 * facts. */
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

/* Capabilities: one query, conservative defaults. X(ID, name, default, doc) */
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
    X(CANCEL, "cancel", 0, "a running kernel ends at its deadline or when cancelled")
typedef enum vyre_capability {
#define X(ID, name, fallback, doc) VYRE_CAPABILITY_##ID,
    VYRE_CAPABILITY_LIST(X)
#undef X
        VYRE_CAPABILITY_COUNT
} vyre_capability;

/* What a device computes natively exactly as the rules of the bits ask (docs/bits.md). A bit is set if the API promises it and a probe on the device
 * agrees, or if a large probe passed on this device and driver; one failed case withdraws it. What is not set is legalised. X(ID, name, doc) */
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
typedef struct vyre_numerics_profile {
    uint32_t struct_size;
    uint64_t exact; /* bit 1 << VYRE_NUMERIC_…; the library reports 0 where `cases` is 0 */
    uint64_t cases; /* operands the probe tried for each operation; 0 = nothing was measured, and nothing is claimed */
} vyre_numerics_profile;

/* ---- what a backend may call: the host ---- */

/* Services of the library, given to every constructor; constant, valid for ever, any thread. A plug-in calls these and links against nothing. */
typedef struct vyre_host {
    uint32_t struct_size;
    uint32_t abi;
    void *(*allocate)(size_t size);
    void *(*resize)(void *memory, size_t old_size, size_t new_size);
    void (*release)(void *memory, size_t size);
    /* Fills error and returns code: the way to fail. fix NULL = the code's default fix. */
    vyre_status (*fail)(vyre_error *error, vyre_status code, const char *fix, const char *message);
    vyre_status (*bytes_resize)(vyre_bytes *bytes, size_t size, vyre_error *error);
    vyre_program *(*program_retain)(vyre_program *program);
    void (*program_release)(vyre_program *program);
    const char *(*program_name)(const vyre_program *program);
    void (*program_fingerprint)(const vyre_program *program, vyre_digest *out);
    size_t (*program_buffer_count)(const vyre_program *program);
    int (*program_buffer)(const vyre_program *program, size_t index, vyre_buffer_info *out);
    void (*program_workgroup)(const vyre_program *program, uint32_t size[3]);
    /* The program as bytes (vyre/wire.h), for backends with a compiler of their own. */
    vyre_status (*program_encode)(const vyre_program *program, unsigned options, vyre_bytes *out, vyre_error *error);
    /* Runs the launch on the oracle: what an example, a test or a fallback for one op may use. inputs and outputs as in `dispatch`. It ends at
     * launch->deadline_ns (VYRE_TIMEOUT) and when launch->cancel becomes non-zero (VYRE_CANCELLED). */
    vyre_status (*reference_dispatch)(const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                      vyre_outputs *outputs, vyre_error *error);
    /* One line for the log sink of the process; level 0 error … 3 debug. */
    void (*log)(int level, const char *backend, const char *message);
} vyre_host;

/* ---- pending work ---- */

/* A dispatch in flight, made by dispatch_async. One thread at a time, but for `cancel`, which may come during a `wait`. launch->trap and
 * launch->cancel stay valid until it is destroyed. */
typedef struct vyre_pending_vtable {
    uint32_t struct_size;
    /* Required. 1 when `wait` will not block. */
    int (*is_ready)(void *self);
    /* Required. Blocks until done or until deadline_ns (CLOCK_MONOTONIC, 0 = for ever). Fills outputs on success.
     * VYRE_NOT_READY  not done by deadline_ns: it may be called again; never returned if deadline_ns is 0
     * VYRE_TIMEOUT    done: the launch's own deadline passed */
    vyre_status (*wait)(void *self, uint64_t deadline_ns, vyre_outputs *outputs, vyre_error *error);
    /* Default: work cannot be stopped; the boundary lets it end and drops its results. */
    void (*cancel)(void *self);
    /* Required. Called once, after the work has ended or was abandoned; waits for what cannot be abandoned. */
    void (*destroy)(void *self);
    /* Calls done(user) once, from any thread, when is_ready becomes 1; now, if it is 1 already. Called at most once, and `wait` may be
     * called meanwhile; done is not called any more once `destroy` has returned. Default: a thread of the library blocks in `wait`. */
    void (*notify)(void *self, void (*done)(void *user), void *user);
} vyre_pending_vtable;
typedef struct vyre_native_pending {
    const vyre_pending_vtable *vtable;
    void *self;
} vyre_native_pending;

/* ---- compiled pipelines ---- */

/* A pipeline: one program compiled once. Every entry is bit-identical to the backend's dispatch of the same program. Bindings of the
 * persistent family: one resource per buffer, in declaration order. */
typedef struct vyre_pipeline_vtable {
    uint32_t struct_size;
    /* Required. */
    vyre_status (*dispatch)(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error);
    /* Default: copies the inputs and calls dispatch. */
    vyre_status (*dispatch_borrowed)(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                     vyre_outputs *outputs, vyre_error *error);
    /* Default: wall time around dispatch_borrowed. */
    vyre_status (*dispatch_borrowed_timed)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                           size_t input_count, vyre_outputs *outputs, vyre_timing *timing,
                                           vyre_error *error);
    /* Default: dispatch_borrowed into fresh storage, then moved or copied into the caller's slots. */
    vyre_status (*dispatch_borrowed_into)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                          size_t input_count, vyre_outputs *outputs, vyre_error *error);
    /* count independent dispatches; launches[i] with inputs[i] (input_count each) into outputs[i]. Default: one after the other. The first
     * failure ends the batch; *failed arrives as count and names that item, if the backend knows it. */
    vyre_status (*dispatch_batched_into)(void *self, const vyre_launch *launches, const vyre_span *const *inputs,
                                         size_t input_count, size_t count, vyre_outputs *outputs, size_t *failed,
                                         vyre_error *error);
    /* Host bytes and resident buffers mixed; outputs bound to host are read back, those bound to resident stay there.
     * Default: UNSUPPORTED "persistent handle dispatch". */
    vyre_status (*dispatch_persistent_into)(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                            size_t binding_count, vyre_outputs *outputs, vyre_timing *timing,
                                            vyre_error *error);
    /* As if one after the other: items may name the same resident buffers. *failed as for dispatch_batched_into. Default: one after the
     * other through dispatch_persistent_into. */
    vyre_status (*dispatch_persistent_batched_into)(void *self, const vyre_launch *launches,
                                                    const vyre_resource *const *bindings, size_t binding_count,
                                                    size_t count, vyre_outputs *outputs, size_t *failed,
                                                    vyre_error *error);
    /* Rows of exactly four resources. Default: dispatch_persistent_batched_into. */
    vyre_status (*dispatch_persistent_rows_into)(void *self, const vyre_launch *launches,
                                                 const vyre_resource (*rows)[4], size_t count, vyre_outputs *outputs,
                                                 size_t *failed, vyre_error *error);
    /* Default: the synchronous entry, on a thread of the library. */
    vyre_status (*dispatch_async)(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                  vyre_native_pending *out, vyre_error *error);
    /* The driver's final binary for the disk cache, from the thread that compiled. Default: `serialize_later`. */
    vyre_status (*serialize)(void *self, vyre_bytes *out, vyre_error *error);
    /* Required. Called once, before the backend's `shutdown` and `try_recover`, also when the device is lost. If a call on it was abandoned, when
     * that call has come back. */
    void (*destroy)(void *self);
    /* The same of a binary that takes long to make: called at most once, on a thread of the library, when nothing has been compiled for a
     * while or the backend is about to be shut down; on the thread that compiled, if too many wait, or one that waits for it, if there is no other. Calls on the pipeline may
     * run meanwhile. When the process ends none is begun, and the one under way waited for. Default: nothing is stored. */
    vyre_status (*serialize_later)(void *self, vyre_bytes *out, vyre_error *error);
} vyre_pipeline_vtable;
typedef struct vyre_native_pipeline {
    const vyre_pipeline_vtable *vtable; /* NULL: the backend has no native compile; the library wraps `dispatch` */
    void *self;
} vyre_native_pipeline;

/* Options of a compile. All but deadline_ns are part of the cache key. */
typedef struct vyre_compile_options {
    uint32_t struct_size;
    int cancellable; /* the kernel polls its deadline and cancel word */
    /* When the compile has to be done (CLOCK_MONOTONIC; 0 = none). A backend that cannot stop its compiler may be late. */
    uint64_t deadline_ns;
} vyre_compile_options;

/* One step of a sequence as a backend sees it. */
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

/* Counters of a pipeline cache: requests that it answered and that it did not; pipelines that there are now, and the bytes of their code. */
typedef struct vyre_cache_snapshot {
    uint64_t hits, misses, entries, bytes;
} vyre_cache_snapshot;

/* One contiguous transfer of a batch. */
typedef struct vyre_transfer {
    vyre_resident resident;
    uint64_t offset, size;
    void *host; /* read from for uploads */
} vyre_transfer;

/* Where memory lies. Devices are numbered as DLPack does. */
enum {
    VYRE_LOCATION_OWN = 0, /* the backend's own memory, whatever that is */
    VYRE_LOCATION_HOST = 1,
    VYRE_LOCATION_CUDA = 2,
    VYRE_LOCATION_CUDA_HOST = 3, /* of the host, pinned */
    VYRE_LOCATION_CUDA_MANAGED = 13
};
typedef struct vyre_memory_location {
    int32_t device;   /* VYRE_LOCATION_… */
    int32_t ordinal;  /* of the device among its kind; 0 for the host */
    uint64_t address; /* as the device knows it */
} vyre_memory_location;

/* ---- the backend ---- */

typedef struct vyre_backend_vtable {
    uint32_t struct_size;
    uint32_t abi; /* VYRE_BACKEND_ABI of the build */

    /* Required. Stable, unique in the process, lower case ("cuda"). */
    const char *(*id)(void *self);
    /* Required, unless there is `compile`. NULL: every program is compiled, and a dispatch without a pipeline runs through one that the library
     * keeps; `compile` must then make a pipeline of every program, and the dispatch entries below are not called. Inputs are the read, uniform
     * and read_write buffers in declaration order. outputs has one slot per write and
     * read_write buffer, in declaration order, with size 0: resize each through the host and fill it; change nothing else. Blocks until
     * done. */
    vyre_status (*dispatch)(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error);

    /* Default: "unspecified". */
    const char *(*version)(void *self);
    /* Names of the language's constructs the backend runs without further lowering ("add", "load", "global_id"): `vyre explain FILE` prints those of a
     * program, vyre_core_supported_ops all. A program that uses another is refused. Default: the core set. */
    const char *const *(*supported_ops)(void *self, size_t *count);

    /* Default: as for pipelines above. */
    vyre_status (*dispatch_borrowed)(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                     vyre_outputs *outputs, vyre_error *error);
    vyre_status (*dispatch_borrowed_timed)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                           size_t input_count, vyre_outputs *outputs, vyre_timing *timing,
                                           vyre_error *error);
    vyre_status (*dispatch_borrowed_into)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                          size_t input_count, vyre_outputs *outputs, vyre_error *error);
    /* Inputs are borrowed for the call only. Default of the owned form: the borrowed one; of the borrowed form: the owned one with copies;
     * of both: the synchronous entry, on a thread of the library. */
    vyre_status (*dispatch_async)(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                                  vyre_native_pending *out, vyre_error *error);
    vyre_status (*dispatch_borrowed_async)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                           size_t input_count, vyre_native_pending *out, vyre_error *error);

    /* Resident memory; sizes were checked by the boundary, which also owns handles, generations and in-use counts: a backend sees its own
     * `native` value. Default of all: UNSUPPORTED, naming the feature and the backend. */
    vyre_status (*resident_allocate)(void *self, uint64_t size, uint64_t *native, vyre_error *error); /* zeroed */
    vyre_status (*resident_free)(void *self, uint64_t native, vyre_error *error);
    vyre_status (*resident_upload)(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                   vyre_error *error);
    vyre_status (*resident_download)(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                     vyre_error *error);
    /* Default: one after the other. In transfers, resident.id is the native value. */
    vyre_status (*resident_upload_batch)(void *self, const vyre_transfer *transfers, size_t count, vyre_error *error);
    vyre_status (*resident_download_batch)(void *self, const vyre_transfer *transfers, size_t count, vyre_error *error);
    /* One resource per buffer in declaration order, all resident (resident.id = native). Default: UNSUPPORTED. timing may be NULL. */
    vyre_status (*dispatch_resident)(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                     size_t binding_count, vyre_timing *timing, vyre_error *error);

    /* Default: out->vtable stays NULL. */
    vyre_status (*compile)(void *self, vyre_program *program, const vyre_compile_options *options,
                           vyre_native_pipeline *out, vyre_error *error);
    /* From what `serialize` or `serialize_later` gave, verified by the cache. A refusal is a miss. Default: compile is called. */
    vyre_status (*load)(void *self, vyre_program *program, const vyre_compile_options *options, vyre_span binary,
                        vyre_native_pipeline *out, vyre_error *error);
    /* What, beside program, options and library build, decides the binary: device and driver identity, target. Default: id and version. */
    vyre_status (*cache_identity)(void *self, vyre_bytes *out, vyre_error *error);
    /* Returns 0 unless real counters exist. Of a backend without `dispatch` the library fills hits and misses: they are its own cache's. Default: 0. */
    int (*cache_snapshot)(void *self, vyre_cache_snapshot *out);
    /* Steps run in order, each seeing the memory of those before; one submit, one wait, then the readbacks, whose resident.id is the native
     * value. A step that fails or traps is the last; *failed arrives as step_count and names it, if the backend knows it. timing may be NULL.
     * Default: one by one. */
    vyre_status (*sequence)(void *self, const vyre_native_step *steps, size_t step_count,
                            const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing, size_t *failed,
                            vyre_error *error);

    /* Default: the defaults of VYRE_CAPABILITY_LIST. */
    uint64_t (*capability)(void *self, vyre_capability capability);
    /* profile arrives filled with defaults derived from the capabilities. Default: stays so. */
    void (*device_profile)(void *self, vyre_device_profile *profile);

    /* Called once before the first dispatch of a new program. Default: nothing. */
    vyre_status (*prepare)(void *self, vyre_program *program, vyre_error *error);
    /* Default: nothing is queued. */
    vyre_status (*flush)(void *self, vyre_error *error);
    /* Called once, when the last reference is gone and nothing is in flight, or when the user asks. Default: nothing. */
    vyre_status (*shutdown)(void *self, vyre_error *error);
    /* Default: 0. */
    int (*device_lost)(void *self);
    /* Called when nothing is in flight but calls that were abandoned. If it succeeds, resident buffers handed out before are gone: they are not named
     * again, nor freed. If it fails they are still freed, by resident_free. Default: UNSUPPORTED "device recovery". */
    vyre_status (*try_recover)(void *self, vyre_error *error);
    /* Called once, after shutdown. Default: self needs no freeing. */
    void (*destroy)(void *self);
    /* What the device computes exactly; profile arrives with nothing set. Asked when the backend is acquired and after recovery, and part of every
     * pipeline's key. Default: stays so, nothing is trusted. */
    void (*numerics)(void *self, vyre_numerics_profile *profile);

    /* Memory that somebody else owns, as a resident buffer: dispatches work on it in place, resident_free lets go of it and leaves it alone. size is not 0.
     * What the device cannot reach is VYRE_INVALID_ARGUMENT. Default: UNSUPPORTED "wrapping of foreign memory". */
    vyre_status (*resident_wrap)(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                                 vyre_error *error);
    /* Where a resident buffer lies, for others to work on it. place arrives zeroed. Default: UNSUPPORTED "export of resident buffers". */
    vyre_status (*resident_location)(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error);
    /* Everything that starts from now on starts, on the device, behind what is in the stream now. Does not wait. Default: UNSUPPORTED
     * "ordering with a foreign stream". */
    vyre_status (*stream_join)(void *self, void *stream, vyre_error *error);

    /* Of a program with grid barriers, where the capability GRID_SYNC is 0: the most workgroups that a dispatch may have for its barriers to run inside one launch of
     * `pipeline`, which is self of a native pipeline of the program; 0: none. pipeline NULL: it is not compiled yet; no less than any pipeline of it will say. What has more
     * workgroups runs as several launches, and so does what the pipeline then refuses with VYRE_LIMIT before anything ran. Asked at each such dispatch. Default: 0. */
    uint64_t (*grid_sync_limit)(void *self, const vyre_program *program, void *pipeline);
} vyre_backend_vtable;

typedef struct vyre_backend_instance {
    const vyre_backend_vtable *vtable;
    void *self;
} vyre_backend_instance;

/* ---- registration ---- */

/* The answer of a probe: whether a constructor would succeed. */
typedef enum vyre_probe_answer {
    VYRE_PROBE_YES,
    VYRE_PROBE_FOR_NOW, /* yes, but another process or a limit may take it away */
    VYRE_PROBE_NOT_NOW, /* busy or short of memory: ask again */
    VYRE_PROBE_NEVER    /* no such hardware or driver in this process */
} vyre_probe_answer;
typedef enum vyre_device_class {
    VYRE_DEVICE_UNKNOWN,
    VYRE_DEVICE_GPU,
    VYRE_DEVICE_SOFTWARE,
    VYRE_DEVICE_CPU,
    VYRE_DEVICE_REFERENCE
} vyre_device_class;
typedef struct vyre_probe {
    uint32_t struct_size;
    vyre_probe_answer answer;
    vyre_device_class device_class;
    uint32_t device_count;
    char reason[256]; /* why not */
    char fix[256];    /* what to install or do */
} vyre_probe;

typedef struct vyre_backend_registration {
    uint32_t struct_size;
    uint32_t abi;
    const char *id;
    /* Makes an instance for device `ordinal` ("cuda#1"). */
    vyre_status (*create)(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error);
    /* The same list as the table's, for selection, which does not construct the backend. NULL = the core set. */
    const char *const *(*supported_ops)(size_t *count);
    /* Creates no context and touches no device memory. NULL = unknown: the constructor decides. */
    void (*probe)(const vyre_host *host, vyre_probe *out);
} vyre_backend_registration;
typedef struct vyre_precedence_registration {
    uint32_t struct_size;
    const char *id;
    uint32_t rank; /* lower wins */
} vyre_precedence_registration;
typedef struct vyre_capability_registration {
    uint32_t struct_size;
    const char *id;
    int dispatches; /* 0: emits code only */
} vyre_capability_registration;

/* One record each, at file scope; `name` is a C identifier unique in the file. No code runs, nothing is allocated:
 *
 *   VYRE_REGISTER_BACKEND(mine, .id = "mine", .create = create);
 *   VYRE_REGISTER_PRECEDENCE(mine, .id = "mine", .rank = 50);
 *   VYRE_REGISTER_CAPABILITY(mine, .id = "mine", .dispatches = 1);
 *   VYRE_MODULE("mine");      // once per module, in any of its files; VYRE_PLUGIN("mine") in a plug-in
 *
 * C++ from C++11 on accepts them, too; there the fields are named in the order of the struct.
 *
 * Ids are 1 … 63 lower-case letters, digits, '_', '-' and '.'. */
#define VYRE_REGISTER_BACKEND(name, ...)                                                                               \
    VYRE_STREAM_RECORD(vyre_backend_registration, VYRE_STREAM(backends), vyre_backend_record_##name,                   \
                       .abi = VYRE_BACKEND_ABI, __VA_ARGS__)
#define VYRE_REGISTER_PRECEDENCE(name, ...)                                                                            \
    VYRE_STREAM_RECORD(vyre_precedence_registration, VYRE_STREAM(precedences), vyre_precedence_record_##name,          \
                       __VA_ARGS__)
#define VYRE_REGISTER_CAPABILITY(name, ...)                                                                            \
    VYRE_STREAM_RECORD(vyre_capability_registration, VYRE_STREAM(capabilities), vyre_capability_record_##name,         \
                       __VA_ARGS__)

/* Sections of one name from all objects of an executable or shared library become one. A static library that wants a descriptor of its own,
 * whatever it is linked into, defines another prefix before including this header; libvyre does. No function may have the name of a section: an
 * assembler takes the one for the other. */
#ifndef VYRE_STREAM_PREFIX
#define VYRE_STREAM_PREFIX vyre_stream
#endif
#define VYRE_STREAM_JOIN(a, b) a##_##b
#define VYRE_STREAM_EXPAND(a, b) VYRE_STREAM_JOIN(a, b)
#define VYRE_STREAM(name) VYRE_STREAM_EXPAND(VYRE_STREAM_PREFIX, name)
#define VYRE_STREAM_TEXT(section_name) #section_name
#define VYRE_STREAM_NAME(section_name) VYRE_STREAM_TEXT(section_name)

/* A record, and a pointer to it in the stream's section. The section holds pointers, so that records may grow. `retain` keeps it under
 * --gc-sections, `used` under LTO. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define VYRE_STREAM_ATTRIBUTES(section_name) __attribute__((section(section_name), used, retain))
#endif
#endif
#ifndef VYRE_STREAM_ATTRIBUTES
#define VYRE_STREAM_ATTRIBUTES(section_name) __attribute__((section(section_name), used))
#endif
/* C++ from C++11 on: designators before C++20 are an extension of the compilers, and a field that is left out is no mistake. */
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

/* The bounds of a module's streams: what the library reads. Defined once per module (executable, shared library, plug-in). An
 * application hands it over with vyre_module_register(&vyre_this_module) (vyre/registry.h); a plug-in exports it; libvyre finds its own. */
typedef struct vyre_module_descriptor {
    uint32_t struct_size;
    uint32_t abi;
    const char *name;
    const vyre_backend_registration *const *backends, *const *backends_end;
    const vyre_precedence_registration *const *precedences, *const *precedences_end;
    const vyre_capability_registration *const *capabilities, *const *capabilities_end;
    /* Called before the records are added; a failure adds none of them. A module without records is initialised too, each time it is loaded. It may be
     * called again, also by several threads at once that load the same file. NULL = nothing to do. */
    vyre_status (*init)(const vyre_host *host, vyre_error *error);
    const vyre_op_definition *const *ops, *const *ops_end;
    const vyre_extern_dialect *const *extern_dialects, *const *extern_dialects_end;
    const vyre_extern_op *const *extern_ops, *const *extern_ops_end;
} vyre_module_descriptor;
#define VYRE_MODULE_SYMBOL "vyre_module_entry"

/* Section bounds come from the linker; weak, so that a module without a record of a stream still links. */
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

/* For an executable or library: a constant `vyre_this_module` of this file, to hand over. */
#define VYRE_MODULE(module_name)                                                                                       \
    VYRE_MODULE_BOUNDS;                                                                                                \
    static const vyre_module_descriptor vyre_this_module = VYRE_MODULE_VALUE(module_name, NULL)
/* The same under a name of your choice, visible to other files. */
#define VYRE_MODULE_AS(symbol, module_name)                                                                            \
    VYRE_MODULE_BOUNDS;                                                                                                \
    extern const vyre_module_descriptor symbol;                                                                        \
    const vyre_module_descriptor symbol = VYRE_MODULE_VALUE(module_name, NULL)
/* For a plug-in: exported under the name the loader looks up; with an initialiser (see `init`), or without one. */
#define VYRE_PLUGIN(module_name) VYRE_PLUGIN_WITH(module_name, NULL)
#define VYRE_PLUGIN_WITH(module_name, module_init)                                                                     \
    VYRE_MODULE_BOUNDS;                                                                                                \
    extern __attribute__((visibility("default"))) const vyre_module_descriptor vyre_module_entry;                      \
    const vyre_module_descriptor vyre_module_entry = VYRE_MODULE_VALUE(module_name, module_init)

#ifdef __cplusplus
}
#endif
#endif
