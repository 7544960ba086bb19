/* Porting hints: fixes for types, builtins, functions and keywords of other languages. */
#ifndef VY_IR_PORTING_HINT_H
#define VY_IR_PORTING_HINT_H

#include <stddef.h>

/* Our type for a type of other languages, as in `int`; NULL if it is not one. */
const char *vy_porting_hint_type(const char *text, size_t length);

/* Our builtin for one of other languages, as `local_id` for `threadIdx`; NULL if it is not one. */
const char *vy_porting_hint_builtin(const char *text, size_t length);

/* Our type for the suffix of a number in other languages, as in `1.5f`; NULL if it is not one. */
const char *vy_porting_hint_suffix(const char *text, size_t length);

/* The fix for a name of a value in other languages, as in `NAN`; NULL if it is not one. */
const char *vy_porting_hint_value(const char *text, size_t length);

/* The fix for a word that starts a statement or declaration in other languages; NULL if it is not one. */
const char *vy_porting_hint_statement(const char *text, size_t length);

/* The fix for a function of other languages: the expression to write instead, or that it has to be defined; NULL if it
 * is not one. */
const char *vy_porting_hint_function(const char *text, size_t length);

/* The name in the dialect `math` of a function of other languages, as `log` for `ln`; NULL if it is not one. */
const char *vy_porting_hint_math(const char *text, size_t length);

/* The fix for a function of the dialect `math` that is called with integers; NULL if they have to be converted. */
const char *vy_porting_hint_integer(const char *text, size_t length);

/* The name of the way to load a folder of dialects, for fixes: by default the function of vyre/manifest.h. The command
 * sets its environment variable, before it starts threads. `name` is not copied. */
const char *vy_dialect_loader_name(void);
void vy_dialect_loader_name_set(const char *name);

#endif
