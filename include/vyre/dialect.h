/* Dialects: ops that are not part of the language, and the registry that holds them. An op has an id of the form
 * dialect.name or dialect::name, a signature, a body (a function of the language), laws, and optional code for targets.
 * Ops come from modules (VYRE_REGISTER_OP and related macros below), from manifests (vyre/manifest.h), and
 * from dialect builders.
 *
 * Snapshots:  the registry is a sequence of snapshots. Each is immutable, complete and validated before it is published
 *             with one atomic store. A reader acquires a guard, which keeps one snapshot alive.
 * Threads:    any thread, concurrently, unless stated. Readers and writers never wait for each other.
 *
 * docs/dialects.md describes dialects and manifests. */
#ifndef VYRE_DIALECT_H
#define VYRE_DIALECT_H

#include "vyre/backend.h"
#include "vyre/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ids ---- */

/* An op id as a small number, constant for the life of the process. 0 is not an id. */
typedef uint32_t vyre_op_id;

/* Returns the number of an op id such as "bits.parity_u32" or "my-dialect::op-name". A known id is found without a lock
 * or an allocation; a new id is added and never removed.
 *
 * text, length  Two or more parts joined by `.` or `::`, at most 128 bytes. A part is a letter or `_`, then letters,
 *               digits, `_` and `-`; the first part is not a keyword of the language. Programs write an id of
 *               identifiers and dots directly, any other in quotes.
 *
 * VYRE_INVALID_ARGUMENT  not an op id
 * VYRE_LIMIT             more than 2^20 ids
 * VYRE_NO_MEMORY         out of host memory */
VYRE_API vyre_status vyre_op_intern(const char *text, size_t length, vyre_op_id *out, vyre_error *error);
/* Returns the number of a known op id; 0 if the id was never added. The ids of a dialect of the standard library are
 * added when an op of it is first looked up by name. Acquires no lock, allocates nothing. */
VYRE_API vyre_op_id vyre_op_find_id(const char *text, size_t length);
/* The text of an id, valid forever; NULL for an unknown number. Acquires no lock. */
VYRE_API const char *vyre_op_text(vyre_op_id id);

/* ---- targets ---- */

/* Targets. X(ID, id, alias or "", file extension, name for `vyre emit` or NULL, doc line). Output uses the id; input
 * accepts id and alias. */
#define VYRE_TARGET_LIST(X)                                                                                            \
    X(PTX, "secondary_text", "ptx", "ptx", "ptx", "PTX, the assembly of NVIDIA's virtual machine")                     \
    X(SPIRV, "spv", "spirv", "spv", NULL, "SPIR-V modules; no emitter makes them")                                     \
    X(PRIMARY_TEXT, "primary_text", "", "cl", NULL, "portable source text; no emitter makes it")                       \
    X(PRIMARY_BINARY, "primary_binary", "", "bin", NULL, "a portable binary; no emitter makes one")                    \
    X(NATIVE_MODULE, "native_module", "", "ll", "llvm-ir", "a module for the host's processor, as LLVM IR")            \
    X(REFERENCE, "reference_backend", "", "vyre", NULL, "the body itself, run by the oracle: always available")        \
    X(C, "c", "", "c", "c", "C17 source text that needs no library")

/* A target of the list, or an extension: a number above VYRE_TARGET_COUNT from vyre_target_parse. */
typedef uint32_t vyre_target;
enum {
#define X(ID, id, alias, extension, emit, doc) VYRE_TARGET_##ID,
    VYRE_TARGET_LIST(X)
#undef X
        VYRE_TARGET_COUNT
};

/* Reads a target id. An id that is not in the list becomes an extension. The same text yields the same target for the
 * life of the process.
 *
 * text, length  1 … 63 letters, digits, '_', '-', '.' and ':'.
 * out           On failure VYRE_TARGET_COUNT.
 *
 * VYRE_INVALID_ARGUMENT  not a target id
 * VYRE_LIMIT             more than 2^20 extensions
 * VYRE_NO_MEMORY         out of host memory */
VYRE_API vyre_status vyre_target_parse(const char *text, size_t length, vyre_target *out, vyre_error *error);
/* The text of a target, valid forever; NULL for an unknown number. */
VYRE_API const char *vyre_target_text(vyre_target target);
/* The file extension of a target, without the dot; for an extension target its id; NULL for an unknown number. */
VYRE_API const char *vyre_target_extension(vyre_target target);

/* The name of a target for `vyre emit`; NULL if no emitter produces it. And the reverse: VYRE_TARGET_COUNT if no target
 * has this name. */
VYRE_API const char *vyre_target_emit_name(vyre_target target);
VYRE_API vyre_target vyre_target_from_emit_name(const char *name);

/* ---- op definitions ---- */

/* Categories of ops. X(ID, name, doc line) */
#define VYRE_CATEGORY_LIST(X)                                                                                          \
    X(COMPOSITE, "composite", "written in the language: its body is all there is to know")                             \
    X(INTRINSIC, "intrinsic", "has a body, and may have code for targets")                                             \
    X(EXTENSION, "extension", "brought by somebody else; may have no body, and then no program that calls it runs")
typedef enum vyre_op_category {
#define X(ID, name, doc) VYRE_CATEGORY_##ID,
    VYRE_CATEGORY_LIST(X)
#undef X
        VYRE_CATEGORY_COUNT
} vyre_op_category;
/* The name of a category. */
VYRE_API const char *vyre_op_category_name(vyre_op_category category); /* "?" outside the list */
/* VYRE_CATEGORY_COUNT for an unknown name. */
VYRE_API vyre_op_category vyre_op_category_find(const char *name, size_t length);

/* Laws that an op may claim. X(ID, name, inputs the op must have or 0 for any, arguments, doc line). Arguments: one
 * letter each, v for a value of the op's type, o for an op id. */
#define VYRE_LAW_LIST(X)                                                                                               \
    X(COMMUTATIVE, "commutative", 2, "", "f(a, b) = f(b, a)")                                                          \
    X(ASSOCIATIVE, "associative", 2, "", "f(f(a, b), c) = f(a, f(b, c))")                                              \
    X(IDENTITY, "identity", 2, "v", "f(a, e) = a = f(e, a)")                                                           \
    X(LEFT_IDENTITY, "left_identity", 2, "v", "f(e, a) = a")                                                           \
    X(RIGHT_IDENTITY, "right_identity", 2, "v", "f(a, e) = a")                                                         \
    X(ABSORBING, "absorbing", 2, "v", "f(a, z) = z = f(z, a)")                                                         \
    X(LEFT_ABSORBING, "left_absorbing", 2, "v", "f(z, a) = z")                                                         \
    X(RIGHT_ABSORBING, "right_absorbing", 2, "v", "f(a, z) = z")                                                       \
    X(IDEMPOTENT, "idempotent", 0, "", "f(a, a) = a; with one input f(f(a)) = f(a)")                                   \
    X(INVOLUTION, "involution", 1, "", "f(f(a)) = a")                                                                  \
    X(INVERSE_OF, "inverse_of", 1, "o", "f(g(a)) = a")                                                                 \
    X(SELF_INVERSE, "self_inverse", 2, "v", "f(a, a) = e")                                                             \
    X(DISTRIBUTIVE_OVER, "distributive_over", 2, "o", "f(a, g(b, c)) = g(f(a, b), f(a, c)), and from the right")       \
    X(ABSORPTION, "absorption", 2, "o", "f(a, g(a, b)) = a")                                                           \
    X(DE_MORGAN, "de_morgan", 2, "oo", "n(f(a, b)) = g(n(a), n(b)), with n the first and g the second op")             \
    X(MONOTONE, "monotone", 1, "", "a <= b gives f(a) <= f(b)")                                                        \
    X(ANTITONE, "antitone", 1, "", "a <= b gives f(a) >= f(b)")                                                        \
    X(BOUNDED, "bounded", 0, "vv", "low <= f(...) <= high")                                                            \
    X(ZERO_PRODUCT, "zero_product", 2, "", "f(a, b) = 0 only if a = 0 or b = 0")
typedef enum vyre_law_kind {
#define X(ID, name, inputs, arguments, doc) VYRE_LAW_##ID,
    VYRE_LAW_LIST(X)
#undef X
        VYRE_LAW_COUNT
} vyre_law_kind;
/* Properties of a law, as in the list. Finding a law by name. */
VYRE_API const char *vyre_law_name(vyre_law_kind law); /* "?" outside the list */
VYRE_API const char *vyre_law_doc(vyre_law_kind law);
VYRE_API const char *vyre_law_arguments(vyre_law_kind law);            /* the letters; "" outside the list */
VYRE_API unsigned vyre_law_inputs(vyre_law_kind law);                  /* 0 = any number */
VYRE_API vyre_law_kind vyre_law_find(const char *name, size_t length); /* VYRE_LAW_COUNT for an unknown name */

/* An argument in source form ("0", "sets.complement") and, for a value, its bits. */
typedef struct vyre_law_argument {
    const char *text;
    vyre_scalar value; /* only where the law's letter is v */
} vyre_law_argument;
/* A law that an op claims. */
typedef struct vyre_law {
    vyre_law_kind kind;
    uint32_t argument_count;
    const vyre_law_argument *arguments;
} vyre_law;

/* Kinds of operands: a value, or memory. Outputs are values. */
typedef enum vyre_op_operand_kind {
    VYRE_OPERAND_VALUE,
    VYRE_OPERAND_BUFFER,    /* with an access */
    VYRE_OPERAND_WORKGROUP, /* a workgroup array */
    VYRE_OPERAND_PRIVATE,
    VYRE_OPERAND_KIND_COUNT
} vyre_op_operand_kind;
/* An input or output of an op. */
typedef struct vyre_op_operand {
    const char *name; /* "" for an output without a name */
    vyre_op_operand_kind kind;
    vyre_type type;
    vyre_access access; /* of a buffer */
} vyre_op_operand;

/* A compile-time parameter. Calls may pass any value of its type; with has_range only `least` … `most`, with
 * value_count only `values`. An attribute does not have both. */
typedef struct vyre_attribute {
    const char *name;
    vyre_type type;
    int has_default; /* 0: calls must pass the attribute */
    uint64_t value;  /* bits of the default */
    int has_range;
    uint64_t least, most;   /* bits of the bounds, inclusive */
    const uint64_t *values; /* bits of the allowed values */
    uint32_t value_count;   /* 0: any */
} vyre_attribute;

/* Code for one target, which replaces the body there.
 *
 * c, ptx         Text in a restricted language (docs/dialects.md), which the emitter of the target writes into its
 *                output. It has no effect but its results. Before it is used it is tried like a law: with `ulp` 0 it
 *                must return the bits of the body; otherwise it is used only by programs with `numerics relaxed`.
 * an extension   Bytes (text or binary), or a function that the plug-in defines. The target is the id of a plug-in that
 *                reads the code with vyre_dialects_lowering.
 * others         Rejected with VYRE_UNSUPPORTED, since no emitter reads such code. */
typedef struct vyre_lowering {
    const char *target; /* in the syntax of vyre_target_parse */
    const void *data;
    size_t size;
    void (*function)(void);
    vyre_program *body; /* result of vyre_dialects_lowering for the reference; NULL in a definition */
    uint32_t ulp;       /* largest difference from the body's result, in units of the last place; at most 2^20 */
} vyre_lowering;

/* The definition of an op: input of registration, and result of lookups. Fields that are NULL or 0 are absent. The
 * function `function` of the body has the inputs, then optionally the attributes, as parameters and returns the
 * outputs.
 *
 * Ownership:  on registration everything is copied and `body` is retained. In a result everything is valid as long as
 *             the guard is held. */
typedef struct vyre_op_definition {
    uint32_t struct_size;
    vyre_op_category category;
    const char *id;      /* "bits.parity_u32" */
    const char *dialect; /* the id up to a `.` or `::`; NULL = up to the last one */
    const char *version; /* "1.2.0"; NULL = the dialect's */
    const char *doc;
    const vyre_op_operand *inputs;
    const vyre_op_operand *outputs;
    const vyre_attribute *attributes;
    const vyre_law *laws;
    const vyre_lowering *lowerings;
    uint32_t input_count, output_count, attribute_count, law_count, lowering_count;
    vyre_program *body;   /* see `function` */
    const char *source;   /* instead of body: the text of a file with the function; NULL in a result */
    const char *function; /* name in body or source; NULL = the last part of the id */
    /* Filled in by the registry. */
    const char *owner; /* the provider: a module's name, a plug-in's path, a manifest's file */
    vyre_op_id number; /* its interned id */
    uint64_t checksum; /* of all fields above */
} vyre_op_definition;

/* A dialect: the prefix of its op ids, and one provider. */
typedef struct vyre_dialect {
    uint32_t struct_size;
    const char *name;    /* "bits"; the parts of an op id, one or more */
    const char *version; /* "1.2.0"; NULL = "0.0.0" */
    const char *doc;
    const char *owner; /* required: the provider */
} vyre_dialect;

/* ---- link-time records ----
 *
 *       VYRE_REGISTER_OP(twice, .id = "mine.twice", .inputs = in, .input_count = 1, .outputs = out, .output_count = 1,
 *                        .source = "fn twice(x: u32) -> u32 { return x + x }");
 *       VYRE_REGISTER_EXTERN_DIALECT(theirs, .name = "theirs", .version = "0.4.1", .url = "https://…");
 *       VYRE_REGISTER_EXTERN_OP(theirs_sum, .dialect = "theirs", .id = "theirs.sum");
 *
 * Records are found through the module's descriptor, like records of backends (vyre/backend.h). VYRE_REGISTER_OP makes
 * the module the provider of the op's dialect. An extern op joins a dialect registered by any provider. */
typedef struct vyre_extern_dialect {
    uint32_t struct_size;
    const char *name;
    const char *version;
    const char *url; /* its documentation */
} vyre_extern_dialect;
typedef struct vyre_extern_op {
    uint32_t struct_size;
    const char *dialect;
    const char *id;
    const char *doc;
} vyre_extern_op;

#define VYRE_REGISTER_OP(name, ...)                                                                                    \
    VYRE_STREAM_RECORD(vyre_op_definition, VYRE_STREAM(ops), vyre_op_record_##name, __VA_ARGS__)
#define VYRE_REGISTER_EXTERN_DIALECT(name, ...)                                                                        \
    VYRE_STREAM_RECORD(vyre_extern_dialect, VYRE_STREAM(extern_dialects), vyre_extern_dialect_record_##name,           \
                       __VA_ARGS__)
#define VYRE_REGISTER_EXTERN_OP(name, ...)                                                                             \
    VYRE_STREAM_RECORD(vyre_extern_op, VYRE_STREAM(extern_ops), vyre_extern_op_record_##name, __VA_ARGS__)

/* ---- guards: reading ---- */

/* Keeps one snapshot alive. Plain data: it may be copied, and is released exactly once, on any thread. The number of
 * guards and the time they are held are not limited.
 *
 * Constructors:  vyre_dialects_acquire, vyre_dialects_global, vyre_dialects_retain
 * Destructor:    vyre_dialects_release
 * Blocking:      acquiring allocates nothing, acquires no lock and never waits, except for the first call of a process.
 *                Not async-signal-safe. */
typedef struct vyre_dialects_guard {
    const struct vyre_snapshot *snapshot; /* NULL: empty */
    void *slot;                           /* private */
} vyre_dialects_guard;

/* Acquires the newest snapshot. The first call of a process builds it, while calls on other threads wait. If that fails
 * (out of memory), the guard is empty and the next call tries again. */
VYRE_API vyre_dialects_guard vyre_dialects_acquire(void);
/* Like vyre_dialects_acquire, but a failure is returned and no guard is acquired. */
VYRE_API vyre_status vyre_dialects_global(vyre_dialects_guard *out, vyre_error *error);

/* Returns a second guard on the snapshot of the first, which remains valid. Suited to long holding: it is a reference
 * count in the snapshot and does not occupy one of the thread's few fast slots. */
VYRE_API vyre_dialects_guard vyre_dialects_retain(vyre_dialects_guard guard);

/* Releases a guard and empties it; an empty guard and NULL are ignored. The last guard of a replaced snapshot frees the
 * snapshot. */
VYRE_API void vyre_dialects_release(vyre_dialects_guard *guard);

/* Readers of one snapshot. Results are valid as long as the guard is held; NULL or 0 for an unknown op and for an empty
 * guard. The first lookup of an op of a dialect of the standard library in a process loads that dialect; iteration
 * loads all dialects. Loading acquires a lock and lasts milliseconds. If it runs out of memory, NULL or 0. */
VYRE_API const vyre_op_definition *vyre_dialects_lookup(vyre_dialects_guard guard, vyre_op_id id);
VYRE_API const vyre_op_definition *vyre_dialects_find(vyre_dialects_guard guard, const char *text, size_t length);
/* Iteration: ops in order of their ids, dialects in order of their names. */
VYRE_API size_t vyre_dialects_count(vyre_dialects_guard guard);
VYRE_API const vyre_op_definition *vyre_dialects_at(vyre_dialects_guard guard, size_t index);
VYRE_API size_t vyre_dialects_dialect_count(vyre_dialects_guard guard);
VYRE_API const vyre_dialect *vyre_dialects_dialect_at(vyre_dialects_guard guard, size_t index);
VYRE_API const vyre_dialect *vyre_dialects_dialect(vyre_dialects_guard guard, const char *name, size_t length);

/* The code of an op for a target; NULL if it has none. VYRE_TARGET_REFERENCE exists for every op: its `body` is the
 * op's, NULL only if the op has no body. */
VYRE_API const vyre_lowering *vyre_dialects_lowering(vyre_dialects_guard guard, vyre_op_id id, vyre_target target);
/* The number of installs: 1 for the first snapshot, 0 for an empty guard. */
VYRE_API uint64_t vyre_dialects_generation(vyre_dialects_guard guard);
/* The checksum of the contents, computed when the snapshot was built. */
VYRE_API uint64_t vyre_dialects_checksum(vyre_dialects_guard guard);

/* Recomputes the checksum. VYRE_OK for an empty guard.
 *
 * VYRE_CORRUPT  the snapshot was modified in memory */
VYRE_API vyre_status vyre_dialects_verify(vyre_dialects_guard guard, vyre_error *error);

/* Tests the laws of an op with the reference interpreter: for all operands if they have at most 24 bits together,
 * otherwise for edge values and random ones. Loading a manifest runs this test; for ops registered in another way the
 * caller may run it. Laws found to hold are remembered.
 *
 * Blocking:  runs on all cores, possibly for seconds.
 *
 * VYRE_INVALID_PROGRAM  a law does not hold: the message has the operands and both sides; or it cannot be tested: the
 *                       message states the reason
 * VYRE_NOT_FOUND        the op, or an op named by a law, is unknown
 * VYRE_NO_MEMORY        out of host memory */
VYRE_API vyre_status vyre_dialects_check_laws(vyre_dialects_guard guard, vyre_op_id id, vyre_error *error);

/* Checks the code of an op for c and ptx with the tools that the host has. Code for c is compiled with the C compiler
 * and compared with the body, for the inputs with which laws are tested; code for ptx is assembled by ptxas. Without
 * the tool, only what registration checks is known. `vyre dialects check` and vyre_emit make the same check.
 *
 * Blocking:  runs child processes, possibly for seconds.
 *
 * VYRE_INVALID_PROGRAM  a tool rejects the code, or the code returns other results than the body: the message has the
 *                       inputs; or the body is not a function of its inputs alone
 * VYRE_NOT_FOUND        the op is unknown
 * VYRE_IO               a tool could not be run
 * VYRE_NO_MEMORY        out of host memory */
VYRE_API vyre_status vyre_dialects_check_lowerings(vyre_dialects_guard guard, vyre_op_id id, vyre_error *error);

/* ---- builders: changing ---- */

/* The next snapshot, under construction. It starts as a copy of the newest one. A failed call leaves it unchanged.
 *
 * Constructor:  vyre_dialect_builder_new
 * Destructor:   vyre_dialect_builder_free, also after an install
 * Methods:      vyre_dialect_builder_add, vyre_dialect_builder_replace, vyre_dialect_builder_remove,
 *               vyre_dialect_builder_clear, vyre_dialects_install
 * Threads:      one thread at a time. */
typedef struct vyre_dialect_builder vyre_dialect_builder;

/* Create and free a builder. NULL is ignored when freeing. vyre_dialect_builder_new returns any status of
 * vyre_dialects_global. */
VYRE_API vyre_status vyre_dialect_builder_new(vyre_dialect_builder **out, vyre_error *error);
VYRE_API void vyre_dialect_builder_free(vyre_dialect_builder *builder);

/* Adds a dialect with its ops, all provided by the dialect's owner. All or nothing.
 *
 * VYRE_CONFLICT          another owner provides this dialect; the error names both
 * VYRE_DUPLICATE         an op exists or is passed twice, or the same owner provides the dialect already (use
 *                        vyre_dialect_builder_replace); the error names both owners
 * VYRE_INVALID_ARGUMENT  an invalid id, name, type, law, attribute or lowering; a body that does not match the
 *                        signature
 * VYRE_UNSUPPORTED       a lowering for a target of VYRE_TARGET_LIST other than c and ptx
 * VYRE_INVALID_PROGRAM   the source has errors
 * VYRE_ABI_MISMATCH      a struct is shorter than in the first version of this header
 * VYRE_LIMIT             too many ops or dialects
 * VYRE_NO_MEMORY         out of host memory */
VYRE_API vyre_status vyre_dialect_builder_add(vyre_dialect_builder *builder, const vyre_dialect *dialect,
                                              const vyre_op_definition *const *ops, size_t op_count, vyre_error *error);

/* Like vyre_dialect_builder_add, and removes everything that the same owner provided under this name before, if
 * anything. Ops that other owners added to the dialect remain. */
VYRE_API vyre_status vyre_dialect_builder_replace(vyre_dialect_builder *builder, const vyre_dialect *dialect,
                                                  const vyre_op_definition *const *ops, size_t op_count,
                                                  vyre_error *error);

/* Removes a dialect and all its ops.
 *
 * owner  NULL: any owner.
 *
 * VYRE_NOT_FOUND  unknown dialect
 * VYRE_CONFLICT   a provider other than `owner` provides it */
VYRE_API vyre_status vyre_dialect_builder_remove(vyre_dialect_builder *builder, const char *name, const char *owner,
                                                 vyre_error *error);
/* Removes all dialects and ops. */
VYRE_API void vyre_dialect_builder_clear(vyre_dialect_builder *builder);

/* Builds the snapshot, validates it as a whole and publishes it. Guards acquired afterwards see it; earlier guards keep
 * their snapshot. The builder is then based on the new snapshot and may be used further. Never waits for readers.
 *
 * VYRE_CONFLICT   another snapshot was installed since the builder was created, and nothing is published; start again,
 *                 or use vyre_dialects_update
 * VYRE_NO_MEMORY  nothing is published
 * other           the snapshot as a whole is not valid; nothing is published */
VYRE_API vyre_status vyre_dialects_install(vyre_dialect_builder *builder, vyre_error *error);

/* Applies a change to the newest snapshot and installs the result; starts again if another thread installed a snapshot
 * meanwhile. `change` may therefore run several times. A status other than VYRE_OK from it ends the update and is
 * returned. */
typedef vyre_status vyre_dialects_change(vyre_dialect_builder *builder, void *user, vyre_error *error);
VYRE_API vyre_status vyre_dialects_update(vyre_dialects_change *change, void *user, vyre_error *error);

/* Checks that op ids are distinct.
 *
 * VYRE_DUPLICATE         two ops have the same id; the error names the id and both owners (the dialect if the owner is
 *                        not set)
 * VYRE_INVALID_ARGUMENT  two definitions are NULL
 * VYRE_LIMIT             too many ops
 * VYRE_NO_MEMORY         out of host memory */
VYRE_API vyre_status vyre_dialects_validate_no_duplicates(const vyre_op_definition *const *ops, size_t count,
                                                          vyre_error *error);

/* ---- programs that call ops ---- */

/* Links a program: replaces its calls of ops by calls of functions, made from the bodies in the guard's snapshot,
 * including ops that bodies call. Attributes become arguments. Inlining the result (vyre_program_inline) leaves regions
 * named after the ops. A program that calls no op is returned unchanged, with a new reference. A linked program keeps
 * the snapshot alive and needs no registry.
 *
 * diagnostics  Optional; receives findings about the linked program.
 *
 * VYRE_NOT_FOUND        no dialect provides an op; the error names the nearest
 * VYRE_UNSUPPORTED      an op has no body
 * VYRE_INVALID_PROGRAM  arguments, results or attributes do not match the op; recursion; the linked program is not
 *                       valid
 * VYRE_LIMIT            the linked program exceeds a limit of the language
 * VYRE_NO_MEMORY        out of host memory */
VYRE_API vyre_status vyre_program_resolve(vyre_program *program, vyre_dialects_guard guard,
                                          vyre_diagnostics *diagnostics, vyre_program **out, vyre_error *error);

/* The snapshot that a program was linked with: valid as long as the program, not to be released. Empty for other
 * programs. */
VYRE_API vyre_dialects_guard vyre_program_dialects(const vyre_program *program);
/* A vyre_op_signature_fn (vyre/text.h) for the ops of a snapshot; `guard` points to a vyre_dialects_guard. */
VYRE_API int vyre_dialects_op_signature(void *guard, const char *id, size_t length, vyre_op_signature *out);

#ifdef __cplusplus
}
#endif
#endif
