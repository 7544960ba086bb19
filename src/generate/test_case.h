/* A case owns a program and the arguments of one dispatch of it. Immutable once made. */
#ifndef VY_GENERATE_TEST_CASE_H
#define VY_GENERATE_TEST_CASE_H

#include "ir/model.h"
#include "vyre/generate.h"

struct vyre_case {
    vyre_program *program;
    vyre_arguments arguments; /* points into `block` */
    void *block;              /* params, spans, counts and bytes, in one piece */
    size_t block_size;
};

#endif
