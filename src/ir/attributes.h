/* Attributes: compile-time parameters in the call of an op, `sound.gain<shift = 3>(x)`.
 *
 * A program keeps a call's op id and attributes as one name in canonical form: attributes in order of their names, one
 * blank around `=` and after commas, values spelled one way. So equal calls are equal programs, and printing is
 * copying. What the attributes mean is for the dialect to say. */
#ifndef VY_IR_ATTRIBUTES_H
#define VY_IR_ATTRIBUTES_H

#include "ir/limits.h"
#include "ir/number.h"

enum { VY_ATTRIBUTES_LIMIT = 16, VY_ATTRIBUTE_CAPACITY = 48 /* bytes of a value, with its NUL */ };

/* A value: true, false, or a number; an integer without a suffix has no type yet. */
typedef struct vy_attribute {
    const char *name;
    size_t name_length;
    char value[VY_ATTRIBUTE_CAPACITY]; /* canonical */
} vy_attribute;

/* The canonical spelling of a value; number NULL means true or false, by `bits`. Reports and returns 0 if it has none:
 * a float without a type. */
int vy_attribute_spell(vy_diag_sink *report, const vy_number *number, int negative, uint64_t bits, vy_position at,
                       char value[VY_ATTRIBUTE_CAPACITY]);
/* The value in a type; 0 if it does not fit. */
int vy_attribute_bits(const char *value, vyre_type type, uint64_t *bits);

/* The length of the id in a call's name: up to the attributes. */
size_t vy_call_id_length(const char *name);
/* The attributes of a call's name, at most VY_ATTRIBUTES_LIMIT; VY_NONE-like SIZE_MAX if the name is not canonical.
 * Names point into `name`. */
size_t vy_call_attributes(const char *name, vy_attribute *out);
/* The name of a call or function as the text form writes it: an op id that is not bare is in quotes, with its
 * attributes behind them. `storage` is used where it is. */
enum { VY_CALL_SPELLING_CAPACITY = VY_LIMIT_NAME + 3 };
const char *vy_call_spelling(const char *name, char storage[VY_CALL_SPELLING_CAPACITY]);
/* Whether this is an op id, or one with attributes, in canonical form. */
int vy_text_is_op_call(const char *name);

#endif
