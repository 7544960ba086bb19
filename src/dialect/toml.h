/* TOML 1.0: parses a document into an immutable tree.
 *
 * Supports the complete language without extensions. Choices where the specification leaves freedom: CRLF in a
 * multi-line string becomes LF, fractions of a second are truncated after nine digits, a float beyond the largest
 * double is infinite, second 60 is allowed. Any bytes are accepted as input. Time and memory are linear in the size.
 *
 * A tree is immutable and may be read from any thread. All keys and texts live as long as the document. */
#ifndef VY_DIALECT_TOML_H
#define VY_DIALECT_TOML_H

#include "base/diagnostics.h"
#include "vyre/diagnostic.h"

enum {
    VY_TOML_LIMIT_BYTES = 16 << 20, /* of a document */
    VY_TOML_LIMIT_DEPTH = 128,      /* nesting of tables and arrays: bounds every recursion over a tree */
};

/* X(ID, name in messages) */
#define VY_TOML_KIND_LIST(X)                                                                                           \
    X(STRING, "a string")                                                                                              \
    X(INTEGER, "an integer")                                                                                           \
    X(FLOAT, "a float")                                                                                                \
    X(BOOLEAN, "a boolean")                                                                                            \
    X(OFFSET_DATE_TIME, "a date-time")                                                                                 \
    X(LOCAL_DATE_TIME, "a local date-time")                                                                            \
    X(LOCAL_DATE, "a local date")                                                                                      \
    X(LOCAL_TIME, "a local time")                                                                                      \
    X(ARRAY, "an array")                                                                                               \
    X(TABLE, "a table")
typedef enum vy_toml_kind {
#define X(ID, name) VY_TOML_##ID,
    VY_TOML_KIND_LIST(X)
#undef X
        VY_TOML_KIND_COUNT
} vy_toml_kind;

/* Fields a kind does not have are 0. */
typedef struct vy_toml_time {
    uint16_t year;
    uint8_t month, day, hour, minute, second;
    int16_t offset; /* minutes east of UTC */
    uint32_t nanosecond;
} vy_toml_time;

/* Origin of a table or array: determines which additions are allowed while the document is parsed. */
typedef enum vy_toml_form {
    VY_TOML_PLAIN,    /* not a container; an array written as `[…]` */
    VY_TOML_INLINE,   /* a table written as `{…}` */
    VY_TOML_IMPLICIT, /* a table that a header mentions only as the parent of another */
    VY_TOML_HEADER,   /* a table with its own header, an array of such tables, the root */
    VY_TOML_DOTTED,   /* a table made by a dotted key */
} vy_toml_form;

typedef struct vy_toml_value vy_toml_value;
typedef struct vy_toml_entry vy_toml_entry;

typedef struct vy_toml_string {
    const char *text; /* UTF-8, NUL-terminated; may contain NULs */
    size_t size;
    uint32_t from;  /* offset in the source of the first byte between the quotes */
    uint8_t quotes; /* for vy_toml_locate */
    /* After vy_toml_substitute: the text before, and the length of what replaced each T. */
    const char *original; /* otherwise NULL */
    size_t original_size, word;
} vy_toml_string;

typedef struct vy_toml_array {
    vy_toml_value *first, *last;
    uint32_t count;
} vy_toml_array;

typedef struct vy_toml_table {
    vy_toml_entry *first, *last; /* in the order of the document */
    vy_toml_entry **slots;       /* open addressing, for large tables only */
    uint32_t count, slot_count;
} vy_toml_table;

struct vy_toml_value {
    uint8_t kind, form, depth;
    vy_position at;
    vy_toml_value *next; /* in an array */
    union {
        vy_toml_string string;
        int64_t integer;
        double number;
        int boolean;
        vy_toml_time time;
        vy_toml_array array;
        vy_toml_table table;
    };
};

struct vy_toml_entry {
    const char *key; /* UTF-8, NUL-terminated; may contain NULs */
    size_t length;
    uint64_t hash;
    vy_position at; /* of the key */
    vy_toml_value value;
    vy_toml_entry *next;
};

typedef struct vy_toml vy_toml;

/* Parses a document. Errors are in `list` (may be NULL), several in one run, and summarised in `error`.
 *
 * VYRE_INVALID_PROGRAM  the text is not TOML 1.0, or nests deeper than the limit
 * VYRE_LIMIT            the text is larger than VY_TOML_LIMIT_BYTES
 * VYRE_NO_MEMORY */
vyre_status vy_toml_parse(const char *file, const char *text, size_t size, vyre_diagnostics *list, vy_toml **out,
                          vyre_error *error);
void vy_toml_free(vy_toml *document); /* NULL is ignored */

const vy_toml_value *vy_toml_root(const vy_toml *document);
vy_source *vy_toml_source(const vy_toml *document); /* borrowed */

/* Returns the entry of a key, or NULL. Expected constant time. `table` must be a table. */
vy_toml_entry *vy_toml_find(const vy_toml_value *table, const char *key, size_t length);
/* Returns the position in the document of byte `offset` of the text of a string; escapes are taken into account. Linear
 * in the offset. */
vy_position vy_toml_locate(const vy_toml *document, const vy_toml_value *string, size_t offset, size_t length);
const char *vy_toml_kind_name(vy_toml_kind kind); /* "a string" */

/* Replaces the word T in the strings of a value and of all that it contains; a T next to a letter or digit is part
 * of another word. `value` is a copy of a value of a document; what it contains is copied to the arena. Keys stay.
 * Returns 0 if memory is exhausted. */
int vy_toml_substitute(vy_arena *arena, vy_toml_value *value, const char *word);

#endif
