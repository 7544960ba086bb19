/* Program saxpy of saxpy.vyre, made by `vyre bind` 0.1.0. Do not edit: make it again.
 *
 * Fingerprint 01bb961b55188a7c4e5777c1780e98c0631b38c5f01c987bc9af1d496a75bfbc.
 *
 * saxpy_open decodes and compiles, once; saxpy_run may then be called from any thread, any number of times.
 * Names that C, C++ or vyre use already have `my_` in front; where two would be the same, one ends in `_`. */
#ifndef VYRE_BIND_saxpy_H
#define VYRE_BIND_saxpy_H

#include "vyre/oracle.h"
#include "vyre/wire.h"

#include <stdio.h>
#include <string.h>

static const uint8_t saxpy_wire[103] = {
    0x00, 0x76, 0x79, 0x72, 0x01, 0x00, 0x67, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x73, 0x61,
    0x78, 0x70, 0x79, 0x00, 0x01, 0x02, 0x02, 0x61, 0x0b, 0x02, 0x78, 0x0b, 0x00, 0x00, 0x02, 0x79,
    0x0b, 0x02, 0x00, 0x80, 0x02, 0x01, 0x01, 0x01, 0x01, 0x00, 0x23, 0x00, 0x00, 0x02, 0x02, 0x69,
    0x20, 0x01, 0x22, 0x01, 0xa7, 0x0c, 0x20, 0x01, 0x20, 0x00, 0x20, 0x01, 0x21, 0x00, 0x20, 0x01,
    0x21, 0x01, 0xac, 0x05, 0x01, 0x00, 0x00, 0x01, 0xbb, 0x96, 0x1b, 0x55, 0x18, 0x8a, 0x7c, 0x4e,
    0x57, 0x77, 0xc1, 0x78, 0x0e, 0x98, 0xc0, 0x63, 0x1b, 0x38, 0xc5, 0xf0, 0x1c, 0x98, 0x7b, 0xc9,
    0xaf, 0x1d, 0x49, 0x6a, 0x75, 0xbf, 0xbc,
};

/* What a run takes and gives. Start from zeros: saxpy_arguments a = {0} (C++: {}). */
typedef struct saxpy_arguments {
    float a; /* param, f32 */
    const float *x; /* f32, read */
    size_t x_count; /* elements */
    float *y; /* f32, read, then written in place */
    size_t y_count; /* elements */
    vyre_geometry geometry; /* zeros: as the program says */
} saxpy_arguments;

typedef struct saxpy_kernel {
    vyre_program *program;
    vyre_oracle *oracle;
} saxpy_kernel;

static inline void saxpy_close(saxpy_kernel *self) {
    vyre_oracle_free(self->oracle);
    vyre_program_release(self->program);
    self->oracle = NULL;
    self->program = NULL;
}

static inline vyre_status saxpy_open(saxpy_kernel *self, vyre_error *error) {
    vyre_status status;

    self->oracle = NULL;
    status = vyre_wire_decode(saxpy_wire, sizeof saxpy_wire, NULL, &self->program, error);
    if (status == VYRE_OK)
        status = vyre_oracle_new(self->program, &self->oracle, error);
    if (status != VYRE_OK)
        saxpy_close(self);
    return status;
}

static inline vyre_status saxpy_too_small(const char *buffer, size_t made, size_t room, vyre_error *error) {
    if (error) {
        error->code = VYRE_INVALID_ARGUMENT;
        snprintf(error->message, sizeof error->message, "`%s` has %zu elements, and there is room for %zu", buffer, made,
                 room);
        snprintf(error->fix, sizeof error->fix, "make room for %zu elements", made);
        snprintf(error->where, sizeof error->where, "saxpy");
    }
    return VYRE_INVALID_ARGUMENT;
}

/* Runs once; blocks until done. options and report may be NULL. On failure no buffer is changed, and error, if given, says why. */
static inline vyre_status saxpy_run(const saxpy_kernel *self, saxpy_arguments *a, const vyre_oracle_options *options,
                                vyre_oracle_report *report, vyre_error *error) {
    static const vyre_oracle_options defaults = {0, 0, 0, 0, 0, NULL, NULL};
    vyre_oracle_report ignored;
    vyre_arguments given;
    vyre_status status;
    vyre_bytes outputs[1];
    vyre_scalar params[1];
    vyre_span inputs[2];

    params[0] = vyre_scalar_f32(a->a);
    inputs[0].data = a->x;
    inputs[0].size = a->x_count * sizeof *a->x;
    inputs[1].data = a->y;
    inputs[1].size = a->y_count * sizeof *a->y;
    memset(&given, 0, sizeof given);
    given.params = params;
    given.param_count = 1;
    given.inputs = inputs;
    given.input_count = 2;
    given.geometry = a->geometry;
    memset(outputs, 0, sizeof outputs);
    status = vyre_oracle_run(self->oracle, &given, options ? options : &defaults, outputs, report ? report : &ignored, NULL,
                             error);
    if (status == VYRE_OK && outputs[0].size > a->y_count * sizeof *a->y)
        status = saxpy_too_small("y", outputs[0].size / sizeof *a->y, a->y_count, error);
    if (status == VYRE_OK) {
        if (outputs[0].size > 0)
            memcpy(a->y, outputs[0].data, outputs[0].size);
        a->y_count = outputs[0].size / sizeof *a->y;
    }
    vyre_bytes_free(&outputs[0]);
    return status;
}

#endif
