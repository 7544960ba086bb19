/* Shared by the two halves of the layout part. */
#ifndef VY_IR_VALIDATE_LAYOUT_H
#define VY_IR_VALIDATE_LAYOUT_H

#include "ir/validate/verifier.h"

/* Fails the part with one finding; the value is 0, so that a verifier can return it. */
#define VY_LAYOUT_ERROR(verifier, code, ...)                                                                           \
    (vy_verifier_error((verifier), VY_##code, (vy_position){0, 0, 0}, NULL, __VA_ARGS__), 0)

/* How many of a function's parameters are memories. */
static inline uint32_t vy_memory_param_count(const vyre_program *program, const vy_function *function) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < function->param_count; i++)
        count += program->params.items[function->first_param + i].is_memory;
    return count;
}

/* layout_code.c: statements and expressions, once the ranges of functions are known to be right. */
void vy_verify_layout_code(vy_verifier *verifier);

#endif
