/* Programs: immutable, validated, reference counted, shareable between threads. Every program that a caller holds has
 * passed the validator. The fingerprint of a program is the digest of its canonical wire form: two programs are equal
 * exactly if their fingerprints are equal; source positions do not count.
 *
 * Threads:   any thread, concurrently.
 * Blocking:  no function blocks. */
#ifndef VYRE_PROGRAM_H
#define VYRE_PROGRAM_H

#include "vyre/diagnostic.h"
#include "vyre/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A program, or a library of functions.
 *
 * Constructors:  vyre_module_program and vyre_module_library after vyre_text_parse (vyre/text.h), vyre_builder_finish
 *                (vyre/builder.h), vyre_wire_decode (vyre/wire.h), vyre_program_inline, vyre_program_resolve
 *                (vyre/dialect.h), vyre_program_optimize (vyre/transform.h)
 * Destructor:    vyre_program_release
 * Methods:       vyre_program_… */
typedef struct vyre_program vyre_program;

/* Kinds of programs. */
typedef enum vyre_program_kind {
    VYRE_PROGRAM_ENTRY,  /* can be dispatched */
    VYRE_PROGRAM_LIBRARY /* functions only */
} vyre_program_kind;

/* Numerics of a program. Strict is the default and guarantees bit-identical results; relaxed is an explicit choice in
 * the program. */
typedef enum vyre_numerics { VYRE_NUMERICS_STRICT, VYRE_NUMERICS_RELAXED } vyre_numerics;

/* Accesses of buffers. X(ID, name, loadable, storable, input, output) */
#define VYRE_ACCESS_LIST(X)                                                                                            \
    X(READ, "read", 1, 0, 1, 0)                                                                                        \
    X(WRITE, "write", 0, 1, 0, 1)                                                                                      \
    X(READ_WRITE, "read_write", 1, 1, 1, 1)                                                                            \
    X(UNIFORM, "uniform", 1, 0, 1, 0)
typedef enum vyre_access {
#define X(ID, name, load, store, input, output) VYRE_ACCESS_##ID,
    VYRE_ACCESS_LIST(X)
#undef X
        VYRE_ACCESS_COUNT
} vyre_access;

/* The source of the grid of a dispatch that does not specify one. */
typedef enum vyre_grid_kind {
    VYRE_GRID_DISPATCH, /* the dispatch must specify it */
    VYRE_GRID_OVER,     /* at least one invocation per element of a buffer, in whole groups */
    VYRE_GRID_GROUPS,   /* size expressions: workgroups per dimension */
    VYRE_GRID_ELEMENTS, /* size expressions: invocations per dimension, rounded up to whole groups */
    VYRE_GRID_INDIRECT, /* three u32 elements of a buffer: workgroups per dimension */
    VYRE_GRID_KIND_COUNT
} vyre_grid_kind;

/* Add and drop a reference. vyre_program_retain returns its argument; vyre_program_release ignores NULL, and the last
 * release frees the program. */
VYRE_API vyre_program *vyre_program_retain(vyre_program *program);
VYRE_API void vyre_program_release(vyre_program *program);

/* The name; borrowed, valid as long as the program. "" for a library. */
VYRE_API const char *vyre_program_name(const vyre_program *program);
/* Properties of a program. */
VYRE_API vyre_program_kind vyre_program_get_kind(const vyre_program *program);
VYRE_API vyre_level vyre_program_level(const vyre_program *program);
VYRE_API vyre_numerics vyre_program_numerics(const vyre_program *program);
VYRE_API void vyre_program_fingerprint(const vyre_program *program, vyre_digest *out);
/* 1 if the programs are equal; 0 if one of them is NULL. */
VYRE_API int vyre_program_equal(const vyre_program *a, const vyre_program *b);
/* The workgroup size, and the source of the grid. */
VYRE_API void vyre_program_workgroup(const vyre_program *program, uint32_t size[3]);
VYRE_API vyre_grid_kind vyre_program_grid(const vyre_program *program);

/* 1 if results may depend on the schedule: valid, but not covered by the guarantee of bit-identical results
 * (docs/bits.md). */
VYRE_API int vyre_program_schedule_dependent(const vyre_program *program);

/* A param, in declaration order. Strings are borrowed from the program. */
typedef struct vyre_param_info {
    const char *name;
    vyre_type type;
} vyre_param_info;
/* A buffer, in declaration order. Strings are borrowed from the program. */
typedef struct vyre_buffer_info {
    const char *name;
    vyre_type type;
    vyre_access access;
    int has_count; /* 1: the program fixes the element count */
    int is_static; /* 1: … to the constant `count` */
    uint64_t count;
} vyre_buffer_info;
/* The params and buffers of a program. Return 0 for an index past the end. */
VYRE_API size_t vyre_program_param_count(const vyre_program *program);
VYRE_API int vyre_program_param(const vyre_program *program, size_t index, vyre_param_info *out);
VYRE_API size_t vyre_program_buffer_count(const vyre_program *program);
VYRE_API int vyre_program_buffer(const vyre_program *program, size_t index, vyre_buffer_info *out);

/* The functions of a program, without the entry, for listing. NULL past the end. */
VYRE_API size_t vyre_program_function_count(const vyre_program *program);
VYRE_API const char *vyre_program_function_name(const vyre_program *program, size_t index);

/* Sizes of a program, for reports: numbers of functions, statements, expression nodes and variables. */
typedef struct vyre_program_stats {
    uint32_t functions, statements, expressions, variables;
} vyre_program_stats;
VYRE_API void vyre_program_get_stats(const vyre_program *program, vyre_program_stats *out);

/* Inlines a program: replaces every call of a local function by the function's body, each copy in a region that names
 * the function. Names stay distinct; calls of ops by id remain. The result is a new program with its own fingerprint.
 *
 * VYRE_LIMIT      the result exceeds a limit of the language
 * VYRE_NO_MEMORY  out of host memory */
VYRE_API vyre_status vyre_program_inline(const vyre_program *program, vyre_program **out, vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
