/* What the parts of the TOML parser share: the state, and how each part is called.
 *
 * A function that returns int gives 0 when it cannot go on in this line: it has reported why, or memory is out. A mistake that leaves no
 * doubt where the value ends (a number too large, an unknown escape) is reported and read over: the call returns 1, and the document is
 * refused at the end. */
#ifndef VY_DIALECT_TOML_PARSER_H
#define VY_DIALECT_TOML_PARSER_H

#include "base/number_text.h"
#include "base/string.h"
#include "base/suggest.h"
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
    uint32_t open_arrays;   /* around this place, in this line */
    vy_string scratch;
    VY_VECTOR(vy_toml_part) path; /* of the key just read */
    vy_diag_sink report;
} vy_toml_parser;

/* The character `ahead` of here, or -1 beyond the end. */
static inline int vy_toml_peek(const vy_toml_parser *p, size_t ahead) {
    return (size_t)(p->end - p->at) > ahead ? (unsigned char)p->at[ahead] : -1;
}

static inline int vy_toml_is_digit(int c) {
    return c >= '0' && c <= '9';
}

/* TOML has no place for these outside escapes. Tab is none of them. */
static inline int vy_toml_is_control(int c) {
    return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7f;
}

/* Bytes of the line end at `at`: 2, 1, or 0 if there is none. */
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

/* toml_string.c: the string at the parser's place, opening quote included. */
int vy_toml_read_string(vy_toml_parser *p, vy_toml_string *out);
/* toml_number.c: the boolean, number or date at the parser's place. */
int vy_toml_read_scalar(vy_toml_parser *p, vy_toml_value *out);
/* toml_time.c: whether the text starts as a date or time does; and what it is. */
int vy_toml_starts_time(const char *text, size_t size);
int vy_toml_read_time(vy_toml_parser *p, const char *text, size_t size, vy_toml_value *out);
/* toml_table.c: a new entry; the key is not in the table. NULL when memory is out. */
vy_toml_entry *vy_toml_add(vy_toml_parser *p, vy_toml_value *table, const vy_toml_part *part);

#endif
