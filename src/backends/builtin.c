/* Built-in backends: the records of libvyre's own backends, and the descriptor of its module.
 *
 * All records are in this file, because a linker drops members of an archive that nothing references: the registry
 * references the descriptor, and the records reference the constructors. The sections of the records have a prefix of
 * their own. So a program linked with the archive keeps its own records apart from these, as one linked with the
 * shared library does. */
#define VYRE_STREAM_PREFIX vyre_builtin_stream
#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "backends/opencl/opencl.h"
#include "backends/reference/reference.h"
#include "driver/registry.h"

/* NVIDIA devices. Their driver is opened by the first probe or constructor. */
VYRE_REGISTER_BACKEND(cuda, .id = "cuda", .create = vy_cuda_create, .supported_ops = vy_ops_without_grid_barrier,
                      .probe = vy_cuda_probe);
VYRE_REGISTER_PRECEDENCE(cuda, .id = "cuda", .rank = 100);
VYRE_REGISTER_CAPABILITY(cuda, .id = "cuda", .dispatches = 1);
/* Devices of any vendor, through the OpenCL loader. A device of NVIDIA's is faster through its own driver. */
VYRE_REGISTER_BACKEND(opencl, .id = "opencl", .create = vy_ocl_create, .supported_ops = vy_ops_without_grid_barrier,
                      .probe = vy_ocl_probe);
VYRE_REGISTER_PRECEDENCE(opencl, .id = "opencl", .rank = 300);
VYRE_REGISTER_CAPABILITY(opencl, .id = "opencl", .dispatches = 1);
/* The processor. Its rank is after every GPU, hardware or software. */
VYRE_REGISTER_BACKEND(cpu, .id = "cpu", .create = vy_cpu_create, .supported_ops = vy_ops_without_grid_barrier,
                      .probe = vy_cpu_probe);
VYRE_REGISTER_PRECEDENCE(cpu, .id = "cpu", .rank = 900);
VYRE_REGISTER_CAPABILITY(cpu, .id = "cpu", .dispatches = 1);
/* The oracle, under two names; last of all, and never chosen unless it is named. */
VYRE_REGISTER_BACKEND(reference, .id = "reference", .create = vy_reference_create, .supported_ops = vy_all_ops,
                      .probe = vy_reference_probe);
VYRE_REGISTER_PRECEDENCE(reference, .id = "reference", .rank = 1000);
VYRE_REGISTER_CAPABILITY(reference, .id = "reference", .dispatches = 1);
VYRE_REGISTER_BACKEND(cpu_ref, .id = "cpu-ref", .create = vy_reference_create_cpu_ref, .supported_ops = vy_all_ops,
                      .probe = vy_reference_probe);
VYRE_REGISTER_PRECEDENCE(cpu_ref, .id = "cpu-ref", .rank = 1001);
VYRE_REGISTER_CAPABILITY(cpu_ref, .id = "cpu-ref", .dispatches = 1);

VYRE_MODULE_AS(vy_builtin_module, "libvyre");
