/* Programs of saxpy.vyre as C functions, made by `vyre bind`. Do not edit: run it again.
 *
 * NAME_open decodes the program, selects a backend and compiles, once. NAME_run may then be called from any thread, any
 * number of times. vyre/kernel.h documents both. Names that C, C++ or vyre reserve begin with `my_`; where two
 * would be equal, one ends in `_`. */
#ifndef VYRE_BIND_saxpy_H
#define VYRE_BIND_saxpy_H

#include "vyre/kernel.h"

/* Program saxpy. Fingerprint 01bb961b55188a7c4e5777c1780e98c0631b38c5f01c987bc9af1d496a75bfbc. */
static const unsigned char saxpy_wire[103] = {
    0x00, 0x76, 0x79, 0x72, 0x01, 0x00, 0x67, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x73, 0x61,
    0x78, 0x70, 0x79, 0x00, 0x01, 0x02, 0x02, 0x61, 0x0b, 0x02, 0x78, 0x0b, 0x00, 0x00, 0x02, 0x79,
    0x0b, 0x02, 0x00, 0x80, 0x02, 0x01, 0x01, 0x01, 0x01, 0x00, 0x23, 0x00, 0x00, 0x02, 0x02, 0x69,
    0x20, 0x01, 0x22, 0x01, 0xa7, 0x0c, 0x20, 0x01, 0x20, 0x00, 0x20, 0x01, 0x21, 0x00, 0x20, 0x01,
    0x21, 0x01, 0xac, 0x05, 0x01, 0x00, 0x00, 0x01, 0xbb, 0x96, 0x1b, 0x55, 0x18, 0x8a, 0x7c, 0x4e,
    0x57, 0x77, 0xc1, 0x78, 0x0e, 0x98, 0xc0, 0x63, 0x1b, 0x38, 0xc5, 0xf0, 0x1c, 0x98, 0x7b, 0xc9,
    0xaf, 0x1d, 0x49, 0x6a, 0x75, 0xbf, 0xbc,
};

/* Arguments of a run. Start from zeros: saxpy_arguments a = {0} (C++: {}). A resident buffer, if it is set, takes
 * the place of the pointer. */
typedef struct saxpy_arguments {
    float a; /* param, f32 */
    const float *x; /* f32, read */
    size_t x_count; /* elements */
    vyre_resident x_resident; /* optional: a buffer of saxpy_backend() */
    float *y; /* f32, read, then written in place */
    size_t y_count; /* elements */
    vyre_resident y_resident; /* optional: a buffer of saxpy_backend() */
    vyre_geometry geometry; /* zeros: as the program says */
} saxpy_arguments;

typedef struct saxpy_kernel {
    vyre_kernel *kernel;
} saxpy_kernel;

/* policy NULL: a GPU if one is usable, else the native CPU backend. */
static inline vyre_status saxpy_open(saxpy_kernel *self, const vyre_policy *policy, vyre_error *error) {
    return vyre_kernel_open(saxpy_wire, sizeof saxpy_wire, policy, &self->kernel, error);
}

/* On a backend that the caller has: kernels on one backend can share resident buffers. */
static inline vyre_status saxpy_open_on(saxpy_kernel *self, vyre_backend *backend, vyre_error *error) {
    return vyre_kernel_open_on(backend, saxpy_wire, sizeof saxpy_wire, &self->kernel, error);
}

static inline void saxpy_close(saxpy_kernel *self) {
    vyre_kernel_close(self->kernel);
    self->kernel = NULL;
}

/* The backend that runs it; borrowed. */
static inline vyre_backend *saxpy_backend(const saxpy_kernel *self) {
    return vyre_kernel_backend(self->kernel);
}

static inline const char *saxpy_backend_id(const saxpy_kernel *self) {
    return vyre_kernel_backend_id(self->kernel);
}

/* Runs once; blocks until done. config and trap may be NULL. After a failure the memory of buffers that the program
 * writes holds anything. */
static inline vyre_status saxpy_run(const saxpy_kernel *self, saxpy_arguments *a, const vyre_dispatch_config *config,
    vyre_trap *trap, vyre_error *error) {
    vyre_status status;
    vyre_scalar params[1];
    vyre_kernel_buffer buffers[2];

    params[0] = vyre_scalar_f32(a->a);
    buffers[0].data = (void *)a->x;
    buffers[0].count = a->x_count;
    buffers[0].resident = a->x_resident;
    buffers[0].offset = 0;
    buffers[1].data = (void *)a->y;
    buffers[1].count = a->y_count;
    buffers[1].resident = a->y_resident;
    buffers[1].offset = 0;
    status = vyre_kernel_run(self->kernel, params, 1, buffers, 2, &a->geometry, config, trap, error);
    return status;
}

#endif
