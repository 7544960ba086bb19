/* Attributes: compile-time parameters in the call of an op, `sound.gain<shift = 3>(x)`.
 *
 * A program stores a call's op id and attributes as one name in canonical form: attributes ordered by name, one blank
 * around `=` and after commas, each value with one spelling. So equal calls are equal programs, and printing copies the
 * name. The dialect defines the meaning of the attributes. */
#ifndef VY_IR_ATTRIBUTES_H
#define VY_IR_ATTRIBUTES_H

#include "ir/limits.h"
#include "ir/number.h"

enum { VY_ATTRIBUTES_LIMIT = 16, VY_ATTRIBUTE_CAPACITY = 48 /* bytes of a value, with its NUL */ };

/* A value: true, false, or a number; an integer without a suffix has no type. */
typedef struct vy_attribute {
    const char *name;
    size_t name_length;
    char value[VY_ATTRIBUTE_CAPACITY]; /* canonical */
} vy_attribute;

/* The canonical spelling of a value; number NULL means true or false, by `bits`. Reports an error and returns 0 for a
 * float without a type, which has none. */
int vy_attribute_spell(vy_diag_sink *report, const vy_number *number, int negative, uint64_t bits, vy_position at,
                       char value[VY_ATTRIBUTE_CAPACITY]);
/* The value in a type; 0 if it does not fit. */
int vy_attribute_bits(const char *value, vyre_type type, uint64_t *bits);

/* The length of the op id in a call's name, without the attributes. */
size_t vy_call_id_length(const char *name);
/* The attributes of a call's name, at most VY_ATTRIBUTES_LIMIT; SIZE_MAX if the name is not canonical. Names point into
 * `name`. */
size_t vy_call_attributes(const char *name, vy_attribute *out);
/* The name of a call or function in the text form: an op id that is not bare is in quotes, followed by its attributes.
 * Uses `storage` only then. */
enum { VY_CALL_SPELLING_CAPACITY = VY_LIMIT_NAME + 3 };
const char *vy_call_spelling(const char *name, char storage[VY_CALL_SPELLING_CAPACITY]);
/* Whether this is an op id, with or without attributes, in canonical form. */
int vy_text_is_op_call(const char *name);

#endif
