/* The layout of the wire form, as tables that the encoder and the decoder share; docs/wire.md describes it.
 *
 *   offset 0   magic "\0vyr"
 *          4   major version, minor version
 *          6   length: bytes of header, body and digest (u32, little-endian)
 *         10   kind, level, numerics
 *         13   body
 *              digest of everything before it (BLAKE2b-256): the fingerprint
 *              debug section, optional, outside the digest
 *
 * Numbers are LEB128 in their shortest form. Trees are postfix: an operator follows its operands, and a statement
 * follows its expressions and consumes all of them, so neither side recurses and no operand count is stored. Derivable
 * data (types of variables and operators, indices of declarations, ends of blocks) is not stored, so it cannot be
 * inconsistent.
 *
 * Tags are permanent: a row may be added, never changed or removed. Adding one requires a new minor version, which the
 * encoder writes only for programs that need it, so that no fingerprint changes. */
#ifndef VY_IR_WIRE_FORMAT_H
#define VY_IR_WIRE_FORMAT_H

#include "ir/diagnostic_codes.h"
#include "ir/irbuilder.h"
#include "ir/model.h"

#define VY_WIRE_MAGIC ((const uint8_t[4]){0, 'v', 'y', 'r'})
enum {
    VY_WIRE_MAJOR = 1,
    VY_WIRE_MINOR = 2,       /* the highest, of programs with constant arrays */
    VY_WIRE_MINOR_LEGAL = 1, /* of others at level legal; other source programs are 1.0 */
    VY_WIRE_AT_VERSION = 4,
    VY_WIRE_AT_LENGTH = 6,
    VY_WIRE_AT_KIND = 10,
    VY_WIRE_HEADER = 13,
    VY_WIRE_DIGEST = 32
};

/* ---- strings: one number n. n even: a string of n/2 bytes follows, which did not occur before (0 is ""). n odd: the
 * string that
 * was number n/2, from 0, in order of first occurrence. ---- */

/* ---- bodies: a sequence of these tags, closed by END ---- */
enum {
    VY_WIRE_END = 0x00,  /* of the innermost block, or of the body */
    VY_WIRE_ELSE = 0x01, /* at least one statement follows */
    VY_WIRE_VARIABLE = 0x20,
    VY_WIRE_LOAD = 0x21,
    VY_WIRE_LEN = 0x22,
    VY_WIRE_BUILTIN = 0x23,
    VY_WIRE_LOAD_UNGUARDED = 0x24,
    VY_WIRE_LOAD_IF = 0x25, /* unchecked: index, condition */
    VY_WIRE_ALIGN_OFFSET = 0x26,
    VY_WIRE_LITERAL = 0x40, /* + type; then its bytes, little-endian */
    VY_WIRE_LITERAL_END = 0x60,
    VY_WIRE_OP = 0x80 /* + tag of the op (vy_op_tags); cast and bitcast: then the type */
};

/* Fields of a statement, written after its tag in the order of the row.
 *   n  name of the one variable it declares
 *   r  name of the result, or a 0 byte; a 1 byte precedes a name
 *   v  variable            m  memory
 *   a  atomic              o  order             s  scope
 *   k  collective, then the tag of the op it combines with if it combines, then the width
 *   c  callee + 1; or 0, then the op id
 *   g  arguments: count, then for each 0 (the next expression) or memory + 1
 *   t  results: count, then for each its name and type
 *   x  text: a print format, the name of a region
 *   u  bounds check, in programs at level legal only
 *   w  results of the memory's type: count, then their names
 *
 * X(KIND, tag, min_exprs expressions, max_exprs expressions, fields) */
#define VY_WIRE_STMT_LIST(X)                                                                                           \
    X(LET, 0x02, 1, 1, "n")                                                                                            \
    X(VAR, 0x03, 1, 1, "n")                                                                                            \
    X(ASSIGN, 0x04, 1, 1, "v")                                                                                         \
    X(STORE, 0x05, 2, 2, "mu")                                                                                         \
    X(ATOMIC, 0x06, 1, 3, "mosaru")                                                                                    \
    X(COLLECTIVE, 0x07, 1, 2, "kn")                                                                                    \
    X(CALL, 0x08, 0, VY_WIRE_MANY, "cgt")                                                                              \
    X(BARRIER, 0x09, 0, 0, "s")                                                                                        \
    X(TRAP, 0x0a, 1, 1, "")                                                                                            \
    X(PRINT, 0x0b, 0, VY_WIRE_MANY, "x")                                                                               \
    X(IF, 0x0c, 1, 1, "")                                                                                              \
    X(FOR, 0x0d, 2, 3, "n")                                                                                            \
    X(WHILE, 0x0e, 1, 1, "")                                                                                           \
    X(BREAK, 0x0f, 0, 0, "")                                                                                           \
    X(CONTINUE, 0x10, 0, 0, "")                                                                                        \
    X(RETURN, 0x11, 0, VY_WIRE_MANY, "")                                                                               \
    X(REGION, 0x12, 0, 0, "x")                                                                                         \
    X(LOAD_WIDE, 0x13, 1, 1, "mw")                                                                                     \
    X(STORE_WIDE, 0x14, 3, VY_WIRE_MANY, "m")                                                                          \
    X(RECORD_TRAP, 0x15, 1, 1, "")                                                                                     \
    X(POLL, 0x16, 0, 0, "n")
#define VY_WIRE_MANY UINT32_MAX

typedef struct vy_wire_stmt {
    uint8_t tag;
    uint32_t min_exprs, max_exprs;
    const char *fields;
    const char *name; /* for messages */
} vy_wire_stmt;
extern const vy_wire_stmt vy_wire_stmts[VY_STMT_KIND_COUNT];

/* ---- size expressions: postfix, closed by END; END alone means there is none ----
 * X(KIND, tag, operands) */
#define VY_WIRE_SIZE_LIST(X)                                                                                           \
    X(LITERAL, 0x01, 0)                                                                                                \
    X(PARAM, 0x02, 0)                                                                                                  \
    X(LEN, 0x03, 0)                                                                                                    \
    X(ADD, 0x04, 2)                                                                                                    \
    X(SUB, 0x05, 2)                                                                                                    \
    X(MUL, 0x06, 2)                                                                                                    \
    X(DIV, 0x07, 2)                                                                                                    \
    X(REM, 0x08, 2)                                                                                                    \
    X(MIN, 0x09, 2)                                                                                                    \
    X(MAX, 0x0a, 2)                                                                                                    \
    X(DIV_CEIL, 0x0b, 2)

typedef struct vy_wire_size {
    uint8_t tag, operands;
} vy_wire_size;
extern const vy_wire_size vy_wire_sizes[VY_SIZE_KIND_COUNT];

/* ---- parameters of functions: one of these, then name and type; a memory: then space and access ---- */
enum { VY_WIRE_PARAM_SCALAR = 0, VY_WIRE_PARAM_MEMORY = 1 };

/* ---- the debug section: length of the payload (u32, little-endian), payload, digest of everything from the program's
 * digest to the end
 * of the payload, so that a section fits one program only. Payload: these flags, then each part in this order. ---- */
enum {
    VY_WIRE_DEBUG_SOURCE = 1,       /* name and text */
    VY_WIRE_DEBUG_DECLARATIONS = 2, /* positions of functions, variables, memories; at least one is known */
    VY_WIRE_DEBUG_CODE = 4          /* positions of statements, then expressions; there is at least one statement */
};

/* ---- arrays: name, space, type, number of elements. A constant array: then 0 and its bytes, which are those of no
 * constant array before it, or the number n of the array of bytes, from 1, in order of first occurrence ---- */

/* The minor version of a program. */
uint8_t vy_wire_minor(const vyre_program *program);
/* Whether a function, variable or memory of the program has a position. */
int vy_wire_has_declaration_positions(const vyre_program *program);

static inline unsigned vy_wire_literal_bytes(vyre_type type) {
    return (vyre_type_bits(type) + 7) / 8;
}

/* Wire encoder (vyre/wire.h): program to bytes, and the program fingerprint. */
/* Computes program->fingerprint of a validated program: the digest of its canonical wire form. Fails with NO_MEMORY, or
 * with LIMIT if the wire form would exceed VY_LIMIT_WIRE_BYTES. Small programs allocate nothing. */
vyre_status vy_fingerprint(vyre_program *program, vyre_error *error);

/* A growing byte writer. After a failure the bytes are incomplete and `status` has the reason, so the encoder checks
 * once. */
typedef struct vy_wire_writer {
    uint8_t *data;
    size_t size, capacity;
    int borrowed; /* the data is the caller's (a stack buffer): copied, not resized or released, when it is too small */
    vyre_status status;
} vy_wire_writer;

/* Makes room for n more bytes; the limit is VY_LIMIT_WIRE_BYTES. Returns 0 on failure. */
int vy_wire_writer_grow(vy_wire_writer *writer, size_t n);
/* Converts the writer's status to an error. */
vyre_status vy_wire_writer_fail(const vy_wire_writer *writer, vyre_error *error);

/* Wire decoder: untrusted bytes to a program in an IR builder. */
/* A bounded reader of untrusted bytes. The first error is reported (as a diagnostic and as `error`) and stored in
 * `status`. From then on every read returns 0 and does not advance, so the loops of the decoder end. */
typedef struct vy_wire_reader {
    const uint8_t *data;
    size_t at, end;
    vyre_status status;
    vyre_diagnostics *diagnostics;
    vyre_error *error;
} vy_wire_reader;

typedef struct vy_decoder {
    vy_wire_reader reader;
    int is_trusted; /* the program is encoded by this library: its digest is not computed, nor is it verified */
    vy_irb draft;
    uint32_t function_count;      /* without the entry */
    VY_VECTOR(vy_symbol) strings; /* in order of first occurrence */
    VY_VECTOR(uint32_t) stack;    /* expressions that no statement has consumed yet; size nodes while a size is read */
    VY_VECTOR(vy_arg) args;       /* of the statement being read */
    uint32_t first_variable, first_memory, memory_count; /* of the function being read */
    size_t length;                                       /* of the program in the data, with its digest */
} vy_decoder;

/* Reads the data of decoder->reader, which the caller has set, into decoder->draft, which the caller then finishes.
 * *source (NULL if the data has none) is a reference that the caller releases. After a failure only the decoder has to
 * be freed. */
vyre_status vy_decode_to_builder(vy_decoder *decoder, vy_source **source);
/* Fails, as the reader does, if the fingerprint of the finished program differs from the digest in the data: the bytes
 * were not the canonical form. */
vyre_status vy_decode_check_digest(vy_decoder *decoder, const vyre_program *program);
void vy_decoder_free(vy_decoder *decoder);

/* For fuzzing and tests: writes a correct magic, version, length and digest, treating all the bytes as one program
 * without a debug section, so that only the body is tested. Returns 0 without a change if the bytes cannot hold a
 * header and a digest. */
int vy_wire_fix_header(uint8_t *bytes, size_t size);

#endif
