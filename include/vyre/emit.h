/* Emission: the code that a program becomes on its way to a device, as text or as bytes. What `vyre emit` prints.
 *
 * Emitted code is for reading, for tests and for tools. A backend compiles programs itself (vyre/pipeline.h); it does
 * not accept emitted code. */
#ifndef VYRE_EMIT_H
#define VYRE_EMIT_H

#include "vyre/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kind of code that vyre_emit makes. The library's, valid for ever. */
typedef struct vyre_emit_target {
    const char *name;      /* "llvm-ir" */
    const char *extension; /* of files that hold it, without the dot: "ll" */
    const char *doc;       /* one line */
    int is_text;           /* 0: bytes that are not a text */
} vyre_emit_target;

/* The targets, in the order of `vyre emit --list`. count may be NULL. Never fails; any thread; allocates nothing. */
VYRE_API const vyre_emit_target *const *vyre_emit_targets(size_t *count);

/* How to emit. Set struct_size, or start from VYRE_EMIT_OPTIONS_INIT; a field that is 0 or NULL has its default. A
 * field that the target does not use must have its default. Fields are named as the options of `vyre emit`. */
typedef struct vyre_emit_options {
    uint32_t struct_size;
    uint32_t stage;   /* only launch N of those that grid barriers cut the program into, from 1 on. 0: all */
    int cancellable;  /* 1: with the polls that a dispatch with a deadline has */
    uint32_t width;   /* llvm-ir, asm: lanes: 4, 8, 16, 32 or 64. 0: as many as fit the program */
    const char *cpu;  /* llvm-ir, asm: "host" (the default), "x86-64", "x86-64-v2", "x86-64-v3" or "x86-64-v4" */
    const char *arch; /* ptx, cubin, sass: "sm_60" or later; the default is "sm_90" */
    int unwidened;    /* ptx, cubin, sass: 1: one invocation a thread */
    int indirect;     /* ptx, cubin, sass: 1: for a grid that is in device memory */
    /* legal: what the device computes exactly: "all" (the default), "none", or names of VYRE_NUMERIC_LIST, separated by
     * commas; a name with a minus in front is removed: "-f32.fma" is all but that. */
    const char *exact;
    uint32_t subgroup; /* legal: the width of the device's shuffles: 2, 4, 8, 16, 32 or 64. 0: it has none */
    uint32_t access;   /* legal: bytes of the device's widest access: 4, 8 or 16. 0: one element */
} vyre_emit_options;
#define VYRE_EMIT_OPTIONS_INIT                                                                                         \
    { sizeof(vyre_emit_options), 0, 0, 0, NULL, NULL, 0, 0, NULL, 0, 0 }

/* Emits a program for a target. The program is optimised and legalised as for a dispatch; one of level legal is emitted
 * unchanged. Calls of ops of dialects are resolved as vyre_compile does.
 *
 * program  borrowed for the call
 * target   a name of vyre_emit_targets
 * options  NULL: VYRE_EMIT_OPTIONS_INIT
 * out      initialised (VYRE_BYTES_INIT, or bytes to replace); receives the code, without a final NUL; free with
 *          vyre_bytes_free. Unchanged on failure
 *
 * Threads:  any thread. Blocks while the code is made: milliseconds for ptx and legal.
 * Programs: llvm-ir and asm start the compiler of backend `cpu` (VYRE_COMPILER). cubin and sass run NVIDIA's ptxas,
 *           sass also nvdisasm or cuobjdump: from CUDA_HOME/bin if CUDA_HOME is set, otherwise along PATH and in
 *           /usr/local/cuda/bin. A process with more rights than its user ignores these variables. Files are made in a
 *           folder below TMPDIR (/tmp), which is removed.
 *
 * VYRE_INVALID_ARGUMENT  unknown target (the error lists them); an option has a value out of its range, or the target
 *                        does not use it; the program is a library, or has no such stage
 * VYRE_UNSUPPORTED       the target cannot express the program; or a program that makes the code was not found: the
 *                        message names it
 * VYRE_NOT_FOUND         no dialect provides an op; VYRE_COMPILER names a file that cannot be opened; or ptxas made no
 *                        file
 * VYRE_IO                a file could not be written or read, or a process not be started
 * VYRE_LIMIT, VYRE_CORRUPT, VYRE_NO_MEMORY, as vyre_compile */
VYRE_API vyre_status vyre_emit(vyre_program *program, const char *target, const vyre_emit_options *options,
                               vyre_bytes *out, vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
