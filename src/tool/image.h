/* Pictures of 8-bit samples: PNG, and the plain netpbm formats. */
#ifndef TOOL_IMAGE_H
#define TOOL_IMAGE_H

#include "tool/tool.h"

/* Writes width × height pixels of 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA) samples, rows from the top. The path's ending decides:
 * .png, .pgm (1 sample) or .ppm (3). The data is not compressed: no library is needed, and any viewer opens it. */
vyre_status tool_image_write(const char *path, uint32_t width, uint32_t height, unsigned channels, const void *samples,
                             vyre_error *error);
/* Whether the path ends like a picture. */
int tool_image_is(const char *path);
/* Whether a picture of that ending can have that many samples a pixel. */
int tool_image_supports(const char *path, unsigned channels);

#endif
