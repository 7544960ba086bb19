/* What the driver of this machine makes of PTX: for machines that have an NVIDIA device, and no toolkit. */
#ifndef VY_TOOL_DRIVER_PTX_H
#define VY_TOOL_DRIVER_PTX_H

#include "emit/ptx/ptx.h"

typedef struct tool_driver_kernel {
    char device[128]; /* its name */
    int architecture; /* 90 is sm_90 */
    int registers, local_bytes;
} tool_driver_kernel;

/* Has the text compiled for the first device; 0 if there is no driver, no device, or it refuses the text. Makes the device's context, and gives it back. */
int tool_driver_compile(const vy_ptx_code *code, tool_driver_kernel *out);

#endif
