/* Programs: immutable, validated, reference counted, shareable between threads.
 *
 * A program comes from text (vyre/text.h), from the builder (vyre/builder.h) or from its wire form (vyre/wire.h). Every program a caller
 * holds has passed the validator. Its fingerprint is the digest of its canonical wire form: two programs are equal exactly if
 * their fingerprints are; source positions do not count.
 *
 * Constructors: vyre_text_parse, vyre_builder_finish, vyre_wire_decode. Destructor: vyre_program_release. Any thread. */
#ifndef VYRE_PROGRAM_H
#define VYRE_PROGRAM_H

#include "vyre/diagnostic.h"
#include "vyre/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vyre_program vyre_program;

typedef enum vyre_program_kind {
    VYRE_PROGRAM_ENTRY,  /* can be dispatched */
    VYRE_PROGRAM_LIBRARY /* functions only */
} vyre_program_kind;

/* Strict is the default and carries the same-bits promise; relaxed is a visible choice in the program. */
typedef enum vyre_numerics { VYRE_NUMERICS_STRICT, VYRE_NUMERICS_RELAXED } vyre_numerics;

/* X(ID, name, loadable, storable, input, output) */
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

/* Where the grid of a dispatch comes from when the dispatch names none. */
typedef enum vyre_grid_kind {
    VYRE_GRID_DISPATCH, /* the dispatch must name it */
    VYRE_GRID_OVER,     /* at least one invocation per element of a buffer, in whole groups */
    VYRE_GRID_GROUPS,   /* size expressions: workgroups per dimension */
    VYRE_GRID_ELEMENTS, /* size expressions: invocations per dimension, rounded up to whole groups */
    VYRE_GRID_INDIRECT, /* three u32 elements of a buffer: workgroups per dimension */
    VYRE_GRID_KIND_COUNT
} vyre_grid_kind;

VYRE_API vyre_program *vyre_program_retain(vyre_program *program);
VYRE_API void vyre_program_release(vyre_program *program);

/* Borrowed, valid while the program lives. "" for a library. */
VYRE_API const char *vyre_program_name(const vyre_program *program);
VYRE_API vyre_program_kind vyre_program_get_kind(const vyre_program *program);
VYRE_API vyre_level vyre_program_level(const vyre_program *program);
VYRE_API vyre_numerics vyre_program_numerics(const vyre_program *program);
VYRE_API void vyre_program_fingerprint(const vyre_program *program, vyre_digest *out);
/* 0 if one of them is NULL. */
VYRE_API int vyre_program_equal(const vyre_program *a, const vyre_program *b);
VYRE_API void vyre_program_workgroup(const vyre_program *program, uint32_t size[3]);
VYRE_API vyre_grid_kind vyre_program_grid(const vyre_program *program);

/* True if results may depend on the schedule: valid, but outside the same-bits promise (docs/bits.md). */
VYRE_API int vyre_program_schedule_dependent(const vyre_program *program);

/* Params and buffers in declaration order; index past the end returns 0. Strings are borrowed from the program. */
typedef struct vyre_param_info {
    const char *name;
    vyre_type type;
} vyre_param_info;
typedef struct vyre_buffer_info {
    const char *name;
    vyre_type type;
    vyre_access access;
    int has_count; /* the program fixes the element count */
    int is_static; /* … to the constant `count` */
    uint64_t count;
} vyre_buffer_info;
VYRE_API size_t vyre_program_param_count(const vyre_program *program);
VYRE_API int vyre_program_param(const vyre_program *program, size_t index, vyre_param_info *out);
VYRE_API size_t vyre_program_buffer_count(const vyre_program *program);
VYRE_API int vyre_program_buffer(const vyre_program *program, size_t index, vyre_buffer_info *out);

/* Functions of the program (not counting the entry), for listing. */
VYRE_API size_t vyre_program_function_count(const vyre_program *program);
VYRE_API const char *vyre_program_function_name(const vyre_program *program, size_t index);

/* Sizes of the program, for reports: statements, expression nodes, variables. */
typedef struct vyre_program_stats {
    uint32_t functions, statements, expressions, variables;
} vyre_program_stats;
VYRE_API void vyre_program_get_stats(const vyre_program *program, vyre_program_stats *out);

/* A program with every call of a local function replaced by the function's body, each copy in a region that names the function. Names stay
 * distinct. Op ids are left as they are. The result is a program of its own, with a fingerprint of its own.
 * VYRE_LIMIT if the result would be too large. */
VYRE_API vyre_status vyre_program_inline(const vyre_program *program, vyre_program **out, vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
