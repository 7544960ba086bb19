/* NumPy's .npy files (format 1.0, 2.0 and 3.0): https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#ifndef TOOL_NPY_H
#define TOOL_NPY_H

#include "tool/tool.h"
#include "vyre/type.h"

/* Reads the elements of a file, in C order. The element type must be exactly `type`; bf16, which NumPy does not have, is read from and
 * written as 16-bit unsigned integers. */
vyre_status tool_npy_read(const char *path, vyre_type type, vyre_bytes *out, vyre_error *error);

/* Writes elements with that shape; the product of the dimensions is the number of elements. "-" is standard output. */
vyre_status tool_npy_write(const char *path, vyre_type type, const uint64_t *shape, size_t dimensions, const void *data,
                           size_t size, vyre_error *error);

#endif
