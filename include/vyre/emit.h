/* Emission of code: the code that the library generates from a program, as text or bytes. `vyre emit` prints it.
 * Emitted code is for reading, tests and tools: a backend compiles programs itself (vyre/pipeline.h) and does not
 * accept emitted code.
 *
 *     vyre_bytes code = VYRE_BYTES_INIT;
 *     status = vyre_emit(program, "ptx", NULL, &code, &error); */
#ifndef VYRE_EMIT_H
#define VYRE_EMIT_H

#include "vyre/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kind of code that vyre_emit produces. Constant data, valid forever. */
typedef struct vyre_emit_target {
    const char *name;      /* "llvm-ir" */
    const char *extension; /* of files that hold it, without the dot: "ll" */
    const char *doc;       /* one line */
    int is_text;           /* 0: binary */
} vyre_emit_target;

/* The targets, in the order of `vyre emit --list`. count may be NULL. Never fails; any thread; allocates nothing. */
VYRE_API const vyre_emit_target *const *vyre_emit_targets(size_t *count);

/* Options of vyre_emit. Set struct_size, or start from VYRE_EMIT_OPTIONS_INIT. A field that is 0 or NULL has its
 * default; a field that the target does not use must have its default. Fields are named like the options of `vyre
 * emit`. */
typedef struct vyre_emit_options {
    uint32_t struct_size;
    uint32_t stage;   /* only launch N, from 1, of a program split at grid barriers. 0: all */
    int cancellable;  /* 1: with the polling code of a dispatch with a deadline */
    uint32_t width;   /* llvm-ir, asm: lanes: 4, 8, 16, 32 or 64. 0: as many as fit the program */
    const char *cpu;  /* llvm-ir, asm: "host" (the default), "x86-64", "x86-64-v2", "x86-64-v3" or "x86-64-v4" */
    const char *arch; /* ptx, cubin, sass: "sm_60" or later; the default is "sm_90" */
    int uncoarsened;  /* ptx, cubin, sass: 1: one invocation per thread */
    int indirect;     /* ptx, cubin, sass: 1: for a grid that is in device memory */
    /* opencl, legal: the operations that the device computes exactly: "all" (the default), "none", or names of
     * VYRE_NUMERIC_LIST, separated by commas. A name with a leading minus is removed: "-f32.fma" is all except
     * f32.fma. */
    const char *exact;
    uint32_t subgroup; /* opencl, legal: the width of the device's shuffles: 2, 4, 8, 16, 32 or 64. 0: no shuffles */
    uint32_t access;   /* opencl, legal: bytes of the widest memory access: 4, 8 or 16. 0: one element */
    /* Emit the code that this backend generates, of a plug-in too: assembly on cpu, PTX on cuda, OpenCL C on opencl.
     * The target is NULL, and only `stage` and `cancellable` apply. */
    vyre_backend *backend;
} vyre_emit_options;
#define VYRE_EMIT_OPTIONS_INIT                                                                                         \
    { sizeof(vyre_emit_options), 0, 0, 0, NULL, NULL, 0, 0, NULL, 0, 0, NULL }

/* Emits code of a program for a target. The program is optimised and legalised as for a dispatch, for targets c
 * and opencl only legalised; a program of level legal is emitted unchanged. Calls of ops of dialects are resolved as by
 * vyre_compile.
 *
 * program  Borrowed for the call.
 * target   A name of vyre_emit_targets; NULL if the options name a backend.
 * options  NULL: VYRE_EMIT_OPTIONS_INIT.
 * out      Initialised (VYRE_BYTES_INIT, or bytes to replace). Receives the code, without a final NUL; free with
 *          vyre_bytes_free. Unchanged on failure.
 *
 * Threads:   any thread, concurrently.
 * Blocking:  blocks while the code is generated: milliseconds for ptx and legal.
 * Tools:     llvm-ir and asm start the compiler of backend `cpu` (VYRE_COMPILER). cubin and sass run NVIDIA's ptxas,
 *            sass also nvdisasm or cuobjdump: from CUDA_HOME/bin if CUDA_HOME is set, otherwise from PATH and
 *            /usr/local/cuda/bin. A process with raised privileges ignores these variables. Files are created in a
 *            folder below TMPDIR (/tmp), which is removed.
 *
 * VYRE_INVALID_ARGUMENT  unknown target (the message lists the targets); an option is out of its range, or the target
 *                        does not use it; the program is a library, or has no such stage
 * VYRE_UNSUPPORTED       the target cannot express the program, a tool was not found, or the backend emits no code; the
 *                        message names it
 * VYRE_NOT_FOUND         no dialect provides an op; VYRE_COMPILER names a file that cannot be opened; or ptxas produced
 *                        no file
 * VYRE_IO                a file could not be written or read, or a process could not be started
 * VYRE_LIMIT, VYRE_CORRUPT, VYRE_NO_MEMORY  as for vyre_compile */
VYRE_API vyre_status vyre_emit(vyre_program *program, const char *target, const vyre_emit_options *options,
                               vyre_bytes *out, vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
