/* What the driver of this machine makes of PTX: for machines that have an NVIDIA device, and no toolkit. */
#ifndef VY_TOOL_PTX_JIT_H
#define VY_TOOL_PTX_JIT_H

#include "emit/ptx/ptx.h"

typedef struct tool_ptx_jit_kernel {
    char device[128]; /* its name */
    int architecture; /* 90 is sm_90 */
    int registers, local_bytes;
} tool_ptx_jit_kernel;

/* Has the text compiled for the first device; 0 if there is no driver, no device, or it refuses the text. Makes the device's context, and gives it back. */
int tool_ptx_jit_compile(const vy_ptx_code *code, tool_ptx_jit_kernel *out);

#endif
