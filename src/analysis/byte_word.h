/* Words made of bytes: u32(d[i]) | u32(d[i + 1]) << 8 | …, in either byte order and any order of operands.
 *
 * The loads may have conditions. If all four bytes may be loaded, their indices do not wrap, and one access to a word
 * at the first may replace them, if the target has accesses without alignment. Nothing is stored, so nothing can become
 * invalid. */
#ifndef VY_ANALYSIS_BYTE_WORD_H
#define VY_ANALYSIS_BYTE_WORD_H

#include "ir/model.h"

enum { VY_WORD_BYTES = 4 };

typedef struct vy_byte_word {
    uint32_t memory;
    uint32_t loads[VY_WORD_BYTES]; /* expressions, by index */
    int is_big_endian;
} vy_byte_word;

/* Whether an expression is such a word. `let_of` returns the value of a variable as an expression with the same value
 * here, or VY_NONE. */
int vy_byte_word_of(const vyre_program *program, const vy_expr *expr,
                    uint32_t (*let_of)(const void *user, uint32_t variable), const void *user, vy_byte_word *out);

#endif
