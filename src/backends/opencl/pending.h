/* Asynchronous dispatches, and the thread that enforces their deadlines and notifies their owners. */
#ifndef VY_BACKENDS_OPENCL_PENDING_H
#define VY_BACKENDS_OPENCL_PENDING_H

#include "backends/opencl/executable.h"

/* Starts an asynchronous dispatch. The inputs have been copied when the function returns. */
vyre_status vy_ocl_pending_start(vy_ocl_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                 vyre_native_pending *out, vyre_error *error);

void vy_ocl_watch_start(vy_ocl *ocl);
/* No dispatch may be pending. */
void vy_ocl_watch_end(vy_ocl *ocl);

#endif
