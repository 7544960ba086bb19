/* State of the manifest reader, shared by manifest.c and manifest_op.c.
 *
 * Each function reports its errors and continues; only out_of_memory of the report stops the reader. A manifest is
 * returned only if no error was reported. */
#ifndef VY_DIALECT_MANIFEST_READER_H
#define VY_DIALECT_MANIFEST_READER_H

#include "base/string.h"
#include "dialect/manifest.h"
#include "dialect/toml.h"
#include "ir/diagnostic_codes.h"
#include "ir/model.h"

/* A file with bodies, read once. */
typedef struct vy_manifest_body {
    const char *name;
    vy_source *source;     /* NULL if it could not be read */
    vyre_program *library; /* NULL if it has no functions */
    int is_bad;            /* it cannot be read or has errors, which were reported */
} vy_manifest_body;

typedef struct vy_manifest_reader {
    vy_manifest *manifest;
    vy_toml *document;
    vy_arena *arena;           /* lives as long as the manifest */
    const vy_toml_value *file; /* default `file` for ops without one; may be NULL */
    vy_manifest_read_file *read;
    void *user;
    VY_VECTOR(vy_manifest_body) bodies;
    vy_diag_sink report;
} vy_manifest_reader;

/* An op that is being read. */
typedef struct vy_manifest_work {
    vy_manifest_reader *reader;
    const vy_toml_value *table;
    vy_manifest_op *op;
    int has_signature; /* inputs and outputs are set */
    int has_attributes;
} vy_manifest_work;

/* ---- manifest.c: keys and names ---- */

/* A key of a table: the allowed kinds of its value as a bit set, and whether it is required. */
typedef struct vy_manifest_key {
    const char *name;
    unsigned kinds, required;
} vy_manifest_key;
#define VY_MANIFEST_STRING (1u << VY_TOML_STRING)
#define VY_MANIFEST_ARRAY (1u << VY_TOML_ARRAY)
#define VY_MANIFEST_TABLE (1u << VY_TOML_TABLE)
#define VY_MANIFEST_VALUE (1u << VY_TOML_STRING | 1u << VY_TOML_INTEGER | 1u << VY_TOML_FLOAT | 1u << VY_TOML_BOOLEAN)

/* Reports unknown keys, values of the wrong kind and missing keys. `what` names the table: "an op". */
void vy_manifest_check_keys(vy_manifest_reader *reader, const vy_toml_value *table, const char *what,
                            const vy_manifest_key *keys, size_t count);
/* Returns the value of a key if it exists and has an allowed kind, else NULL. */
const vy_toml_value *vy_manifest_get(const vy_toml_value *table, const char *key, unsigned kinds);
const char *vy_manifest_text(const vy_toml_value *table, const char *key);
/* Checks that a value has one of the kinds, and reports it if not. A string with a NUL is not accepted as a string,
 * since names and texts end there. */
int vy_manifest_expect(vy_manifest_reader *reader, const vy_toml_value *value, const char *what, unsigned kinds);
/* Checks a count against a limit, and reports it if it is exceeded. */
int vy_manifest_fits(vy_manifest_work *work, const vy_toml_value *at, uint32_t count, const char *what, uint32_t limit);
void *vy_manifest_new(vy_manifest_reader *reader, size_t count, size_t size); /* zeroed; NULL if memory is exhausted */

/* ---- attributes and values (manifest.c); signatures, bodies, laws and lowerings (manifest_op.c) ---- */

void vy_manifest_read_signature(vy_manifest_work *work);
/* "x: u32", "t: workgroup [u32]", "b: buffer [u32] read". */
void vy_manifest_operand_text(const vyre_op_operand *operand, char *buffer, size_t size);
/* Reads a value of a type: a TOML value, or a literal of the language in a string. Returns 0 and reports it if it is
 * not one. */
int vy_manifest_value(vy_manifest_reader *reader, const vy_toml_value *value, vyre_type type, uint64_t *bits,
                      const char **text);
void vy_manifest_read_laws(vy_manifest_work *work);
void vy_manifest_read_lowerings(vy_manifest_work *work);
void vy_manifest_read_body(vy_manifest_work *work);

#endif
