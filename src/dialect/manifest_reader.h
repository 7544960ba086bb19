/* What the parts of the manifest reader share.
 *
 * Every part reports what it finds and goes on; only out_of_memory of the report stops the whole. A manifest is handed out only if nothing was
 * reported. */
#ifndef VY_DIALECT_MANIFEST_READER_H
#define VY_DIALECT_MANIFEST_READER_H

#include "base/string.h"
#include "base/suggest.h"
#include "dialect/manifest.h"
#include "dialect/toml.h"
#include "ir/diagnostic_codes.h"
#include "ir/model.h"

/* A file with bodies, read once. */
typedef struct vy_manifest_body {
    const char *name;
    vy_source *source;     /* NULL if it could not be read */
    vyre_program *library; /* NULL if it has no functions */
    int is_bad;            /* it cannot be read or has errors, reported already */
} vy_manifest_body;

typedef struct vy_manifest_reader {
    vy_manifest *manifest;
    vy_toml *document;
    vy_arena *arena;           /* lives as long as the manifest */
    const vy_toml_value *file; /* of all ops that name none; NULL */
    vy_manifest_read_file *read;
    void *user;
    VY_VECTOR(vy_manifest_body) bodies;
    vy_diag_sink report;
} vy_manifest_reader;

/* One op on its way. */
typedef struct vy_manifest_work {
    vy_manifest_reader *reader;
    const vy_toml_value *table;
    vy_manifest_op *op;
    int has_signature; /* inputs and outputs are known */
    int has_attributes;
} vy_manifest_work;

/* ---- manifest.c: keys and names ---- */

/* A key a table may have: the kinds of its value as bits, and whether it must be there. */
typedef struct vy_manifest_key {
    const char *name;
    unsigned kinds, required;
} vy_manifest_key;
#define VY_MANIFEST_STRING (1u << VY_TOML_STRING)
#define VY_MANIFEST_ARRAY (1u << VY_TOML_ARRAY)
#define VY_MANIFEST_TABLE (1u << VY_TOML_TABLE)
#define VY_MANIFEST_VALUE (1u << VY_TOML_STRING | 1u << VY_TOML_INTEGER | 1u << VY_TOML_FLOAT | 1u << VY_TOML_BOOLEAN)

/* Reports unknown keys, values of the wrong kind and keys that are missing. `what` names the table: "an op". */
void vy_manifest_check_keys(vy_manifest_reader *reader, const vy_toml_value *table, const char *what,
                            const vy_manifest_key *keys, size_t count);
/* The value of a key if vy_manifest_check_keys found nothing wrong with it; else NULL. */
const vy_toml_value *vy_manifest_get(const vy_toml_value *table, const char *key, unsigned kinds);
const char *vy_manifest_text(const vy_toml_value *table, const char *key);
/* Whether a value is of one of the kinds; reported if not. A string with a NUL in it is none: names and texts end there. */
int vy_manifest_expect(vy_manifest_reader *reader, const vy_toml_value *value, const char *what, unsigned kinds);
/* Whether there are not more of something than the limit; reported if so. */
int vy_manifest_fits(vy_manifest_work *work, const vy_toml_value *at, uint32_t count, const char *what, uint32_t limit);
void *vy_manifest_new(vy_manifest_reader *reader, size_t count, size_t size); /* zeroed; NULL when memory is out */

/* ---- manifest_signature.c, manifest_value.c, manifest_law.c, manifest_body.c ---- */

void vy_manifest_read_signature(vy_manifest_work *work);
/* "x: u32", "t: workgroup [u32]", "b: buffer [u32] read". */
void vy_manifest_operand_text(const vyre_op_operand *operand, char *buffer, size_t size);
/* A value of a type: TOML's own, or a literal of the language in a string. Reported if it is none; 0 then. */
int vy_manifest_value(vy_manifest_reader *reader, const vy_toml_value *value, vyre_type type, uint64_t *bits,
                      const char **text);
void vy_manifest_read_attributes(vy_manifest_work *work);
void vy_manifest_read_laws(vy_manifest_work *work);
void vy_manifest_read_lowerings(vy_manifest_work *work);
void vy_manifest_read_body(vy_manifest_work *work);
/* Takes over what was found in the text of a string, at the places where it was written. `error` is what the call that found it returned. */
void vy_manifest_import_diagnostics(vy_manifest_reader *reader, const vy_toml_value *string,
                                    const vyre_diagnostics *found, const vyre_error *error);

#endif
