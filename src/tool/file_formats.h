/* File formats of buffers: images of 8-bit samples (PNG, and the plain netpbm formats), and NumPy's .npy files. */
#ifndef TOOL_FILE_FORMATS_H
#define TOOL_FILE_FORMATS_H

#include "tool/tool.h"
#include "vyre/type.h"

/* ---- images ---- */

/* Writes width × height pixels of 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA) samples, rows from the top. The path's ending decides:
 * .png, .pgm (1 sample) or .ppm (3). The data is not compressed: no library is needed, and any viewer opens it. */
vyre_status tool_image_write(const char *path, uint32_t width, uint32_t height, unsigned channels, const void *samples,
                             vyre_error *error);
/* Whether the path ends like a picture. */
int tool_image_is(const char *path);
/* Whether a picture of that ending can have that many samples a pixel. */
int tool_image_supports(const char *path, unsigned channels);

/* ---- .npy files (format 1.0, 2.0 and 3.0): https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html ---- */

/* Reads the elements of a file, in C order. The element type must be exactly `type`; bf16, which NumPy does not have, is read from and
 * written as 16-bit unsigned integers. */
vyre_status tool_npy_read(const char *path, vyre_type type, vyre_bytes *out, vyre_error *error);

/* Writes elements with that shape; the product of the dimensions is the number of elements. "-" is standard output. */
vyre_status tool_npy_write(const char *path, vyre_type type, const uint64_t *shape, size_t dimensions, const void *data,
                           size_t size, vyre_error *error);

#endif
