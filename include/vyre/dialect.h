/* Dialects: ops that are not part of the language, and the registry that holds them.
 *
 * An op has an id of the form dialect.name or dialect::name, a signature, a body (a function of the language), laws, and code for some targets. The registry is a
 * sequence of snapshots: each immutable, complete and checked before it is installed with one atomic store. A reader takes a guard, which
 * keeps one snapshot alive for as long as the guard is held, and nothing else; installing never waits for a reader, nor a reader for a
 * writer. docs/dialects.md says how.
 *
 * Ops come from modules (VYRE_REGISTER_OP and its relatives below), from manifests, and from builders. */
#ifndef VYRE_DIALECT_H
#define VYRE_DIALECT_H

#include "vyre/backend.h"
#include "vyre/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ids ---- */

/* An op id as a small number, the same for the life of the process; 0 is no id. */
typedef uint32_t vyre_op_id;

/* The number of an op id such as "bits.parity_u32" or "my-dialect::op-name": two or more parts joined by `.` or `::`, at most 128 bytes. A part is a
 * letter or `_`, then letters, digits, `_` and `-`; the first part is not a keyword of the language. Programs call an id of identifiers and dots as it
 * is, any other in quotes. Any thread. Finding a known name takes no lock and allocates nothing; a new one is added and stays for ever.
 *
 * VYRE_INVALID_ARGUMENT  not an op id
 * VYRE_LIMIT             more than 2^20 names
 * VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_op_intern(const char *text, size_t length, vyre_op_id *out, vyre_error *error);
/* The same for known names only; 0 if nobody has asked for this one. Takes no lock, allocates nothing. */
VYRE_API vyre_op_id vyre_op_find_id(const char *text, size_t length);
/* The text of an id, valid for ever; NULL if there is no such id. Takes no lock. */
VYRE_API const char *vyre_op_text(vyre_op_id id);

/* ---- targets ---- */

/* X(ID, id, alias or "", file extension, name `vyre emit` accepts or NULL, doc line). The id is written; id and alias are read. */
#define VYRE_TARGET_LIST(X)                                                                                            \
    X(PTX, "secondary_text", "ptx", "ptx", "ptx", "PTX, the assembly of NVIDIA's virtual machine")                     \
    X(SPIRV, "spv", "spirv", "spv", NULL, "SPIR-V modules; no emitter makes them")                                     \
    X(PRIMARY_TEXT, "primary_text", "", "cl", NULL, "portable source text, OpenCL C; no emitter makes it")             \
    X(PRIMARY_BINARY, "primary_binary", "", "bin", NULL, "a portable binary; no emitter makes one")                    \
    X(NATIVE_MODULE, "native_module", "", "ll", "llvm-ir", "a module for the host's processor, as LLVM IR")            \
    X(REFERENCE, "reference_backend", "", "vyre", NULL, "the body itself, run by the oracle: always available")

/* One of the list, or a target only its owner knows (above VYRE_TARGET_COUNT, as vyre_target_parse gives them). */
typedef uint32_t vyre_target;
enum {
#define X(ID, id, alias, extension, emit, doc) VYRE_TARGET_##ID,
    VYRE_TARGET_LIST(X)
#undef X
        VYRE_TARGET_COUNT
};

/* Reads a target id. One that is not in the list is kept as it is, as an extension: 1 … 63 letters, digits, '_', '-', '.' and ':'. The same text
 * gives the same target for the life of the process. On failure *out is VYRE_TARGET_COUNT. Any thread.
 *
 * VYRE_INVALID_ARGUMENT  not an id
 * VYRE_LIMIT             more than 2^20 extensions
 * VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_target_parse(const char *text, size_t length, vyre_target *out, vyre_error *error);
/* What vyre_target_parse reads back; NULL for a number that is no target. Valid for ever. */
VYRE_API const char *vyre_target_text(vyre_target target);
/* How files of the target end, without the dot: its id for an extension; NULL as above. */
VYRE_API const char *vyre_target_extension(vyre_target target);
/* The name `vyre emit` takes; NULL if no emitter makes it. And back: VYRE_TARGET_COUNT if no target has this name. */
VYRE_API const char *vyre_target_emit_name(vyre_target target);
VYRE_API vyre_target vyre_target_from_emit_name(const char *name);

/* ---- op definitions ---- */

/* X(ID, name, doc line) */
#define VYRE_CATEGORY_LIST(X)                                                                                          \
    X(COMPOSITE, "composite", "written in the language: its body is all there is to know")                             \
    X(INTRINSIC, "intrinsic", "has a body, and may have code for the targets of plug-ins")                             \
    X(EXTENSION, "extension", "brought by somebody else; may have no body, and then no program that calls it runs")
typedef enum vyre_op_category {
#define X(ID, name, doc) VYRE_CATEGORY_##ID,
    VYRE_CATEGORY_LIST(X)
#undef X
        VYRE_CATEGORY_COUNT
} vyre_op_category;
VYRE_API const char *vyre_op_category_name(vyre_op_category category); /* "?" outside the list */
/* VYRE_CATEGORY_COUNT if there is none of that name. */
VYRE_API vyre_op_category vyre_op_category_find(const char *name, size_t length);

/* Laws an op may claim. X(ID, name, inputs the op must have or 0 for any, arguments, doc line); one letter for each argument: v a value of the
 * op's type, o an op id. */
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
VYRE_API const char *vyre_law_name(vyre_law_kind law); /* "?" outside the list */
VYRE_API const char *vyre_law_doc(vyre_law_kind law);
VYRE_API const char *vyre_law_arguments(vyre_law_kind law);            /* the letters; "" outside the list */
VYRE_API unsigned vyre_law_inputs(vyre_law_kind law);                  /* 0 = any number */
VYRE_API vyre_law_kind vyre_law_find(const char *name, size_t length); /* VYRE_LAW_COUNT if there is none */

/* An argument as written ("0", "sets.complement") and, for a value, its bits. */
typedef struct vyre_law_argument {
    const char *text;
    vyre_scalar value; /* only where the law's letter is v */
} vyre_law_argument;
typedef struct vyre_law {
    vyre_law_kind kind;
    uint32_t argument_count;
    const vyre_law_argument *arguments;
} vyre_law;

/* What an op takes: a value, or memory. Outputs are values. */
typedef enum vyre_op_operand_kind {
    VYRE_OPERAND_VALUE,
    VYRE_OPERAND_BUFFER,    /* with an access */
    VYRE_OPERAND_WORKGROUP, /* an array of the workgroup */
    VYRE_OPERAND_PRIVATE,
    VYRE_OPERAND_KIND_COUNT
} vyre_op_operand_kind;
typedef struct vyre_op_operand {
    const char *name; /* "" for an output that has none */
    vyre_op_operand_kind kind;
    vyre_type type;
    vyre_access access; /* of a buffer */
} vyre_op_operand;

/* A compile-time parameter. Calls may give it any value of its type, but for what range or values say; not both. */
typedef struct vyre_attribute {
    const char *name;
    vyre_type type;
    int has_default; /* without one a call must name it */
    uint64_t value;  /* bits of the default */
    int has_range;
    uint64_t least, most;   /* bits of the ends of the range, both allowed */
    const uint64_t *values; /* bits of those that are allowed */
    uint32_t value_count;   /* 0: any */
} vyre_attribute;

/* Code for one target: bytes (text or binary), or a function its owner understands. The target is an extension: the id of a plug-in that reads
 * the code with vyre_dialects_lowering. A lowering for a target of VYRE_TARGET_LIST is refused with VYRE_UNSUPPORTED, since no emitter reads it. */
typedef struct vyre_lowering {
    const char *target; /* as vyre_target_parse reads it */
    const void *data;
    size_t size;
    void (*function)(void);
    vyre_program *body; /* what vyre_dialects_lowering gives for the reference; NULL in a definition */
} vyre_lowering;

/* One op: what registers it, and what the registry gives back. Given, everything is copied and `body` retained; given back, everything lives
 * as long as the guard. Fields that are NULL or 0 are absent. */
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
    vyre_program
        *body; /* its function `function` takes the inputs (then, optionally, the attributes) and gives the outputs */
    const char *source;   /* instead of body: the text of a file that has the function; given back as NULL */
    const char *function; /* NULL = the last part of the id */
    /* Filled in by the registry. */
    const char *owner; /* who brought it: a module's name, a plug-in's path, a manifest's file */
    vyre_op_id number; /* its interned id */
    uint64_t checksum; /* of all of the above */
} vyre_op_definition;

/* A dialect: a name its ops begin with, and one provider. */
typedef struct vyre_dialect {
    uint32_t struct_size;
    const char *name;    /* "bits"; the parts of an op id, one or more */
    const char *version; /* "1.2.0"; NULL = "0.0.0" */
    const char *doc;
    const char *owner; /* required: who provides it */
} vyre_dialect;

/* ---- link-time records ----
 *
 *   VYRE_REGISTER_OP(twice, .id = "mine.twice", .inputs = in, .input_count = 1, .outputs = out, .output_count = 1,
 *                    .source = "fn twice(x: u32) -> u32 { return x + x }");
 *   VYRE_REGISTER_EXTERN_DIALECT(theirs, .name = "theirs", .version = "0.4.1", .url = "https://…");
 *   VYRE_REGISTER_EXTERN_OP(theirs_sum, .dialect = "theirs", .id = "theirs.sum");
 *
 * They are found as backend records are (vyre/backend.h): through the module's descriptor. An op of VYRE_REGISTER_OP makes the module the provider of
 * its dialect. An extern op joins a dialect that somebody registered, whoever that is. */
typedef struct vyre_extern_dialect {
    uint32_t struct_size;
    const char *name;
    const char *version;
    const char *url; /* where to read about it */
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

/* Keeps one snapshot alive. Plain data: copy it within one owner, release it exactly once, on any thread. Taking one allocates nothing, takes no
 * lock and never waits; hold as many as you like for as long as you like. Not from signal handlers. */
typedef struct vyre_dialects_guard {
    const struct vyre_snapshot *snapshot; /* NULL: empty */
    void *slot;                           /* the library's */
} vyre_dialects_guard;

/* Pins the newest snapshot. The first call of a process makes it from libvyre's own records, and calls on other threads wait for that (milliseconds); if it
 * is impossible (no memory) the guard holds an empty one, and the next call tries again. */
VYRE_API vyre_dialects_guard vyre_dialects_acquire(void);
/* The same, but what stands in the way is an error and no guard is taken. */
VYRE_API vyre_status vyre_dialects_global(vyre_dialects_guard *out, vyre_error *error);
/* A second guard on the snapshot of the first, which stays. For holding long: it is a count in the snapshot, so it leaves the few fast slots of the
 * thread to others. */
VYRE_API vyre_dialects_guard vyre_dialects_retain(vyre_dialects_guard guard);
/* Empties the guard; an empty one is ignored. The last guard of a replaced snapshot frees it. */
VYRE_API void vyre_dialects_release(vyre_dialects_guard *guard);

/* All of these read one snapshot: what they give lives as long as the guard, and is NULL or 0 for what is not there (also for an empty guard). */
VYRE_API const vyre_op_definition *vyre_dialects_lookup(vyre_dialects_guard guard, vyre_op_id id);
VYRE_API const vyre_op_definition *vyre_dialects_find(vyre_dialects_guard guard, const char *text, size_t length);
/* Ops in order of their ids, dialects in order of their names. */
VYRE_API size_t vyre_dialects_count(vyre_dialects_guard guard);
VYRE_API const vyre_op_definition *vyre_dialects_at(vyre_dialects_guard guard, size_t index);
VYRE_API size_t vyre_dialects_dialect_count(vyre_dialects_guard guard);
VYRE_API const vyre_dialect *vyre_dialects_dialect_at(vyre_dialects_guard guard, size_t index);
VYRE_API const vyre_dialect *vyre_dialects_dialect(vyre_dialects_guard guard, const char *name, size_t length);
/* The code of an op for a target. The reference is there for every op: its `body` is the op's, NULL only if the op has none. */
VYRE_API const vyre_lowering *vyre_dialects_lowering(vyre_dialects_guard guard, vyre_op_id id, vyre_target target);
/* Counts installs: 1 for the first snapshot. 0 for an empty guard. */
VYRE_API uint64_t vyre_dialects_generation(vyre_dialects_guard guard);
/* Computed when the snapshot was made, over all it holds. */
VYRE_API uint64_t vyre_dialects_checksum(vyre_dialects_guard guard);
/* Computes it again: VYRE_CORRUPT if somebody wrote into the snapshot. */
VYRE_API vyre_status vyre_dialects_verify(vyre_dialects_guard guard, vyre_error *error);

/* Whether the laws of an op hold, as far as the oracle can see: for all operands where they have at most 24 bits together, else for edge values and
 * random ones. Manifests are asked when they are loaded; whoever brings ops in another way may ask here. What was seen to hold is remembered.
 * Runs on all cores, possibly for seconds.
 *
 * VYRE_INVALID_PROGRAM  a law does not hold: the message has the operands and both sides. Or it cannot be checked: the message says why
 * VYRE_NOT_FOUND        there is no such op, or none that a law names
 * VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_dialects_check_laws(vyre_dialects_guard guard, vyre_op_id id, vyre_error *error);

/* ---- builders: changing ---- */

/* The next snapshot in the making: starts as the newest one. One thread at a time; free with vyre_dialect_builder_free, installed or not. After a
 * failed call it is as it was before. */
typedef struct vyre_dialect_builder vyre_dialect_builder;
VYRE_API vyre_status vyre_dialect_builder_new(vyre_dialect_builder **out, vyre_error *error);
VYRE_API void vyre_dialect_builder_free(vyre_dialect_builder *builder);

/* Adds a dialect with its ops, all of the dialect's owner. All or nothing.
 *
 * VYRE_CONFLICT          another owner provides this dialect: names both
 * VYRE_DUPLICATE         an op is there already, or given twice, or the dialect is (the same owner's: replace it): names both owners
 * VYRE_INVALID_ARGUMENT  an id, name, type, law, attribute or lowering that is not one; a body that does not fit the signature
 * VYRE_UNSUPPORTED       a lowering for a built-in target
 * VYRE_INVALID_PROGRAM   the source has errors
 * VYRE_ABI_MISMATCH      a struct is shorter than the first version of this header
 * VYRE_LIMIT, VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_dialect_builder_add(vyre_dialect_builder *builder, const vyre_dialect *dialect,
                                              const vyre_op_definition *const *ops, size_t op_count, vyre_error *error);
/* The same, and what the same owner provided under this name before is gone (nothing need have been there). Ops that others brought into the dialect
 * stay. */
VYRE_API vyre_status vyre_dialect_builder_replace(vyre_dialect_builder *builder, const vyre_dialect *dialect,
                                                  const vyre_op_definition *const *ops, size_t op_count,
                                                  vyre_error *error);
/* Takes a dialect and all its ops out.
 *
 * VYRE_NOT_FOUND  there is no such dialect
 * VYRE_CONFLICT   another than `owner` provides it (owner NULL: whoever does) */
VYRE_API vyre_status vyre_dialect_builder_remove(vyre_dialect_builder *builder, const char *name, const char *owner,
                                                 vyre_error *error);
/* Takes everything out. */
VYRE_API void vyre_dialect_builder_clear(vyre_dialect_builder *builder);

/* Builds the snapshot, checks it as a whole and publishes it. New guards see it at once; older ones keep what they hold. The builder then stands on the
 * new snapshot and may go on. Never waits for readers.
 *
 * VYRE_CONFLICT   somebody installed since the builder began: nothing is published; begin again, or use vyre_dialects_update
 * VYRE_NO_MEMORY  nothing is published */
VYRE_API vyre_status vyre_dialects_install(vyre_dialect_builder *builder, vyre_error *error);

/* Applies a change to the newest snapshot and installs it, again from the start if somebody else was faster. `change` may run several times; what
 * it returns but VYRE_OK ends it. */
typedef vyre_status vyre_dialects_change(vyre_dialect_builder *builder, void *user, vyre_error *error);
VYRE_API vyre_status vyre_dialects_update(vyre_dialects_change *change, void *user, vyre_error *error);

/* Whether each op has an id of its own: VYRE_DUPLICATE names the id and both owners (the dialect where there is no owner). */
VYRE_API vyre_status vyre_dialects_validate_no_duplicates(const vyre_op_definition *const *ops, size_t count,
                                                          vyre_error *error);

/* ---- programs that call ops ---- */

/* A program whose calls of ops are calls of functions of its own, made from the bodies in the guard's snapshot (ops that bodies call among them).
 * Attributes become arguments; inlining (vyre_program_inline) leaves regions named after the ops. A program that calls no op is given
 * back as it is. The result holds the snapshot for as long as it lives, and no longer needs the registry.
 *
 * diagnostics  optional: findings about the program as a whole
 *
 * VYRE_NOT_FOUND        no dialect provides an op: names the nearest
 * VYRE_UNSUPPORTED      an op has no body
 * VYRE_INVALID_PROGRAM  arguments, results or attributes do not fit the op; recursion; what the bodies make of the program is not valid
 * VYRE_LIMIT, VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_program_resolve(vyre_program *program, vyre_dialects_guard guard,
                                          vyre_diagnostics *diagnostics, vyre_program **out, vyre_error *error);
/* The snapshot a program was resolved against: lives as long as the program, not to be released. Empty for other programs. */
VYRE_API vyre_dialects_guard vyre_program_dialects(const vyre_program *program);
/* A vyre_op_signature_fn (vyre/text.h) that knows the ops of a snapshot; user points to the guard. */
VYRE_API int vyre_dialects_op_signature(void *guard, const char *id, size_t length, vyre_op_signature *out);

#ifdef __cplusplus
}
#endif
#endif
