/* Number literals: from the spelling of a token to the bits of a type, and back. */
#ifndef VY_IR_NUMBER_H
#define VY_IR_NUMBER_H

#include "base/string.h"
#include "ir/diagnostic_codes.h"
#include "vyre/type.h"

enum { VY_NUMBER_LIMIT = 1024 /* bytes of a number; the longest exact f64 needs under 800 */ };

/* A number as written. Its type is the suffix, or VYRE_TYPE_COUNT until the context determines one. */
typedef struct vy_number {
    uint64_t value;   /* of an integer spelling */
    const char *text; /* the digits, without suffix; borrowed from the source */
    uint16_t length;
    uint8_t type;      /* suffix, or VYRE_TYPE_COUNT */
    uint8_t is_float;  /* has a fraction or exponent: not an integer */
    uint8_t too_large; /* an integer above 2^64-1 */
} vy_number;

/* Parses the spelling; reports an error and returns 0 if it is malformed. */
int vy_number_read(vy_diag_sink *report, const char *text, vy_position at, vy_number *out);

/* The bits of the number, negated if `negative`, in a number type; reports an error and returns 0 if it does not
 * fit. */
int vy_number_bits(vy_diag_sink *report, const vy_number *number, int negative, vyre_type type, vy_position at,
                   uint64_t *bits);

/* Appends a literal that parses to the same type and bits. With `suffix` 0 the type is omitted where the spelling
 * allows it. */
void vy_number_print(vy_string *out, vyre_type type, uint64_t bits, int suffix);

#endif
