/* File formats of buffers: images of 8-bit samples (PNG, binary netpbm) and NumPy .npy files. */
#ifndef TOOL_FILE_FORMATS_H
#define TOOL_FILE_FORMATS_H

#include "tool/tool.h"
#include "vyre/type.h"

/* ---- images ---- */

/* Writes width × height pixels of 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA) samples, top row first. The suffix of
 * the path selects the format: .png, .pgm (1 sample) or .ppm (3 samples). The data is not compressed, so no library is
 * needed. */
vyre_status tool_image_write(const char *path, uint32_t width, uint32_t height, unsigned channels, const void *samples,
                             vyre_error *error);
/* Whether the suffix of the path is that of an image. */
int tool_image_is(const char *path);
/* Whether an image with that suffix can have that many samples per pixel. */
int tool_image_supports(const char *path, unsigned channels);

/* ---- .npy files, format 1.0, 2.0 and 3.0 ----
 *
 * https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */

/* Reads the elements of a file in C order. The element type must equal `type`. NumPy has no bf16: it is read and
 * written as 16-bit unsigned integers. */
vyre_status tool_npy_read(const char *path, vyre_type type, vyre_bytes *out, vyre_error *error);

/* Writes elements with that shape, the product of whose dimensions is the element count. "-" is standard output. */
vyre_status tool_npy_write(const char *path, vyre_type type, const uint64_t *shape, size_t dimensions, const void *data,
                           size_t size, vyre_error *error);

#endif
