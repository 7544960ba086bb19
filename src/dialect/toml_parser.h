/* State of the TOML parser, shared by toml.c and toml_scalar.c.
 *
 * A parser function returns 0 if it cannot continue in this line: it has reported an error, or memory is exhausted. An
 * error after which the end of the value is certain (a number too large, an unknown escape) is reported, and the
 * function returns 1; the document is rejected at the end. */
#ifndef VY_DIALECT_TOML_PARSER_H
#define VY_DIALECT_TOML_PARSER_H

#include "base/number_text.h"
#include "base/string.h"
#include "dialect/toml.h"
#include "ir/diagnostic_codes.h"

struct vy_toml {
    vy_arena arena;
    vy_source *source;
    vy_toml_value root;
};

/* One part of a dotted key. */
typedef struct vy_toml_part {
    const char *key;
    size_t length;
    vy_position at;
} vy_toml_part;

typedef struct vy_toml_parser {
    vy_toml *document;
    const char *text, *at, *end;
    vy_toml_value *section; /* the table that keys belong to */
    uint32_t open_arrays;   /* open at the current position, in this line */
    vy_string scratch;
    VY_VECTOR(vy_toml_part) path; /* of the key just read */
    vy_diag_sink report;
} vy_toml_parser;

/* Returns the character `ahead` of the current position, or -1 past the end. */
static inline int vy_toml_peek(const vy_toml_parser *p, size_t ahead) {
    return (size_t)(p->end - p->at) > ahead ? (unsigned char)p->at[ahead] : -1;
}

static inline int vy_toml_is_digit(int c) {
    return c >= '0' && c <= '9';
}

/* Control characters, which TOML allows only as escapes. Tab is not one of them. */
static inline int vy_toml_is_control(int c) {
    return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7f;
}

/* Bytes of the line end at `at`: 2, 1, or 0 if none. */
static inline size_t vy_toml_newline(const char *at, const char *end) {
    if (at < end && *at == '\n')
        return 1;
    return end - at > 1 && at[0] == '\r' && at[1] == '\n' ? 2 : 0;
}

static inline vy_position vy_toml_position(const vy_toml_parser *p, const char *from, const char *to) {
    return vy_source_position(p->document->source, (size_t)(from - p->text), (size_t)(to - from));
}

static inline int vy_toml_no_memory(vy_toml_parser *p) {
    p->report.out_of_memory = 1;
    return 0;
}

/* Parses the string at the current position, including the opening quote. */
int vy_toml_read_string(vy_toml_parser *p, vy_toml_string *out);
/* Parses the boolean, number or date at the current position. */
int vy_toml_read_scalar(vy_toml_parser *p, vy_toml_value *out);

#endif
