/* The OpenCL API, loaded at run time (libOpenCL.so.1) as a table of functions, and the mapping of its results to
 * statuses.
 *
 * The library is not linked against the loader and needs no Khronos header: the declarations below are equivalent
 * (OpenCL 1.2, which every later version includes). The backend makes every OpenCL call through this table, so that a
 * test can intercept it (vy_ocl_dynamic_symbols_wrap). */
#ifndef VY_BACKENDS_OPENCL_DYNAMIC_SYMBOLS_H
#define VY_BACKENDS_OPENCL_DYNAMIC_SYMBOLS_H

#include "vyre/base.h"

/* Results: 0 is success; dynamic_symbols.c maps all others. */
enum {
    VY_CL_OK = 0,
    VY_CL_DEVICE_NOT_FOUND = -1,
    VY_CL_ALLOCATION_FAILED = -4,
    VY_CL_OUT_OF_RESOURCES = -5,
    VY_CL_OUT_OF_HOST_MEMORY = -6,
    VY_CL_BUILD_FAILED = -11,
    VY_CL_INVALID_VALUE = -30,
    VY_CL_INVALID_QUEUE = -36,
    VY_CL_INVALID_BINARY = -42,
    VY_CL_NO_PLATFORM = -1001
};

typedef struct vy_cl_platform *vy_cl_platform;
typedef struct vy_cl_device *vy_cl_device;
typedef struct vy_cl_context *vy_cl_context;
typedef struct vy_cl_queue *vy_cl_queue;
typedef struct vy_cl_memory *vy_cl_memory;
typedef struct vy_cl_program *vy_cl_program;
typedef struct vy_cl_kernel *vy_cl_kernel;
typedef struct vy_cl_event *vy_cl_event;

/* Queries, options and flags, with the values of the specification and of the named extensions. */
enum { VY_CL_PLATFORM_VERSION = 0x0901, VY_CL_PLATFORM_NAME = 0x0902 };
enum {
    VY_CL_DEVICE_TYPE = 0x1000,
    VY_CL_DEVICE_VENDOR_ID = 0x1001,
    VY_CL_DEVICE_COMPUTE_UNITS = 0x1002,
    VY_CL_DEVICE_MAX_GROUP = 0x1004,
    VY_CL_DEVICE_MAX_GROUP_SIZES = 0x1005,
    VY_CL_DEVICE_ADDRESS_BITS = 0x100d,
    VY_CL_DEVICE_MAX_ALLOCATION = 0x1010,
    VY_CL_DEVICE_SINGLE_CONFIG = 0x101b,
    VY_CL_DEVICE_CACHE_BYTES = 0x101e,
    VY_CL_DEVICE_MEMORY_BYTES = 0x101f,
    VY_CL_DEVICE_CONSTANT_BYTES = 0x1020,
    VY_CL_DEVICE_LOCAL_BYTES = 0x1023,
    VY_CL_DEVICE_LITTLE_ENDIAN = 0x1026,
    VY_CL_DEVICE_AVAILABLE = 0x1027,
    VY_CL_DEVICE_COMPILER = 0x1028,
    VY_CL_DEVICE_NAME = 0x102b,
    VY_CL_DRIVER_VERSION = 0x102d,
    VY_CL_DEVICE_PROFILE = 0x102e,
    VY_CL_DEVICE_VERSION = 0x102f,
    VY_CL_DEVICE_EXTENSIONS = 0x1030,
    VY_CL_DEVICE_UNIFIED_MEMORY = 0x1035,
    VY_CL_DEVICE_C_VERSION = 0x103d,
    VY_CL_DEVICE_ATOMIC_MEMORY = 0x1063, /* OpenCL 3.0 */
    VY_CL_DEVICE_C_VERSIONS = 0x1066,    /* OpenCL 3.0 */
    VY_CL_DEVICE_UUID = 0x106a,          /* cl_khr_device_uuid */
    VY_CL_DEVICE_NV_PCI_BUS = 0x4008,    /* cl_nv_device_attribute_query */
    VY_CL_DEVICE_NV_PCI_SLOT = 0x4009,
    VY_CL_DEVICE_NV_PCI_DOMAIN = 0x400a,
    VY_CL_DEVICE_PCI_BUS = 0x410f /* cl_khr_pci_bus_info */
};
enum { VY_CL_TYPE_CPU = 2, VY_CL_TYPE_GPU = 4, VY_CL_TYPE_ACCELERATOR = 8 };
#define VY_CL_TYPE_ALL UINT64_C(0xffffffff)
enum { VY_CL_FP_SUBNORMAL = 1, VY_CL_FP_NEAREST = 4, VY_CL_FP_FMA = 32, VY_CL_FP_EXACT_DIVIDE_SQRT = 128 };
enum { VY_CL_ATOMIC_ORDER_ACQ_REL = 2, VY_CL_ATOMIC_SCOPE_DEVICE = 32 };
enum { VY_CL_CONTEXT_PLATFORM = 0x1084 };
enum { VY_CL_QUEUE_PROFILING = 2 };
enum { VY_CL_MEMORY_READ_WRITE = 1, VY_CL_MEMORY_READ_ONLY = 4, VY_CL_MEMORY_USE_HOST = 8 };
enum { VY_CL_MEMORY_ALLOCATE_HOST = 16 };
enum { VY_CL_MAP_READ_WRITE = 3 };
enum { VY_CL_PROGRAM_BINARY_SIZES = 0x1165, VY_CL_PROGRAM_BINARIES = 0x1166 };
enum { VY_CL_BUILD_LOG = 0x1183 };
enum { VY_CL_KERNEL_MAX_GROUP = 0x11b0, VY_CL_KERNEL_COMPILE_GROUP = 0x11b1 };
enum { VY_CL_EVENT_STATUS = 0x11d3, VY_CL_COMPLETE = 0 };
enum { VY_CL_PROFILE_START = 0x1282, VY_CL_PROFILE_END = 0x1283 };

/* X(name, symbol, parameters, arguments): functions that return a result. `arguments` lists the parameter names, for
 * wrappers in tests. */
#define VY_OCL_CALL_LIST(X)                                                                                            \
    X(enqueue_kernel, "clEnqueueNDRangeKernel",                                                                        \
      (vy_cl_queue queue, vy_cl_kernel kernel, uint32_t dimensions, const size_t *offset, const size_t *global,        \
       const size_t *local, uint32_t wait_count, const vy_cl_event *wait, vy_cl_event *event),                         \
      (queue, kernel, dimensions, offset, global, local, wait_count, wait, event))                                     \
    X(set_argument, "clSetKernelArg", (vy_cl_kernel kernel, uint32_t index, size_t size, const void *value),           \
      (kernel, index, size, value))                                                                                    \
    X(finish, "clFinish", (vy_cl_queue queue), (queue))                                                                \
    X(flush, "clFlush", (vy_cl_queue queue), (queue))                                                                  \
    X(enqueue_read, "clEnqueueReadBuffer",                                                                             \
      (vy_cl_queue queue, vy_cl_memory memory, uint32_t is_blocking, size_t offset, size_t size, void *to,             \
       uint32_t wait_count, const vy_cl_event *wait, vy_cl_event *event),                                              \
      (queue, memory, is_blocking, offset, size, to, wait_count, wait, event))                                         \
    X(enqueue_write, "clEnqueueWriteBuffer",                                                                           \
      (vy_cl_queue queue, vy_cl_memory memory, uint32_t is_blocking, size_t offset, size_t size, const void *from,     \
       uint32_t wait_count, const vy_cl_event *wait, vy_cl_event *event),                                              \
      (queue, memory, is_blocking, offset, size, from, wait_count, wait, event))                                       \
    X(enqueue_fill, "clEnqueueFillBuffer",                                                                             \
      (vy_cl_queue queue, vy_cl_memory memory, const void *pattern, size_t pattern_size, size_t offset, size_t size,   \
       uint32_t wait_count, const vy_cl_event *wait, vy_cl_event *event),                                              \
      (queue, memory, pattern, pattern_size, offset, size, wait_count, wait, event))                                   \
    X(enqueue_marker, "clEnqueueMarkerWithWaitList",                                                                   \
      (vy_cl_queue queue, uint32_t wait_count, const vy_cl_event *wait, vy_cl_event *event),                           \
      (queue, wait_count, wait, event))                                                                                \
    X(enqueue_unmap, "clEnqueueUnmapMemObject",                                                                        \
      (vy_cl_queue queue, vy_cl_memory memory, void *mapped, uint32_t wait_count, const vy_cl_event *wait,             \
       vy_cl_event *event),                                                                                            \
      (queue, memory, mapped, wait_count, wait, event))                                                                \
    X(event_info, "clGetEventInfo", (vy_cl_event event, uint32_t what, size_t room, void *value, size_t *size),        \
      (event, what, room, value, size))                                                                                \
    X(event_profile, "clGetEventProfilingInfo",                                                                        \
      (vy_cl_event event, uint32_t what, size_t room, void *value, size_t *size), (event, what, room, value, size))    \
    X(event_callback, "clSetEventCallback",                                                                            \
      (vy_cl_event event, int32_t state, void (*done)(vy_cl_event event, int32_t state, void *user), void *user),      \
      (event, state, done, user))                                                                                      \
    X(event_release, "clReleaseEvent", (vy_cl_event event), (event))                                                   \
    X(platform_ids, "clGetPlatformIDs", (uint32_t room, vy_cl_platform * platforms, uint32_t * count),                 \
      (room, platforms, count))                                                                                        \
    X(platform_info, "clGetPlatformInfo",                                                                              \
      (vy_cl_platform platform, uint32_t what, size_t room, void *value, size_t *size),                                \
      (platform, what, room, value, size))                                                                             \
    X(device_ids, "clGetDeviceIDs",                                                                                    \
      (vy_cl_platform platform, uint64_t type, uint32_t room, vy_cl_device * devices, uint32_t * count),               \
      (platform, type, room, devices, count))                                                                          \
    X(device_info, "clGetDeviceInfo", (vy_cl_device device, uint32_t what, size_t room, void *value, size_t *size),    \
      (device, what, room, value, size))                                                                               \
    X(context_release, "clReleaseContext", (vy_cl_context context), (context))                                         \
    X(queue_release, "clReleaseCommandQueue", (vy_cl_queue queue), (queue))                                            \
    X(memory_release, "clReleaseMemObject", (vy_cl_memory memory), (memory))                                           \
    X(program_build, "clBuildProgram",                                                                                 \
      (vy_cl_program program, uint32_t count, const vy_cl_device *devices, const char *options,                        \
       void (*done)(vy_cl_program program, void *user), void *user),                                                   \
      (program, count, devices, options, done, user))                                                                  \
    X(program_info, "clGetProgramInfo",                                                                                \
      (vy_cl_program program, uint32_t what, size_t room, void *value, size_t *size),                                  \
      (program, what, room, value, size))                                                                              \
    X(program_build_info, "clGetProgramBuildInfo",                                                                     \
      (vy_cl_program program, vy_cl_device device, uint32_t what, size_t room, void *value, size_t *size),             \
      (program, device, what, room, value, size))                                                                      \
    X(program_release, "clReleaseProgram", (vy_cl_program program), (program))                                         \
    X(kernel_group_info, "clGetKernelWorkGroupInfo",                                                                   \
      (vy_cl_kernel kernel, vy_cl_device device, uint32_t what, size_t room, void *value, size_t *size),               \
      (kernel, device, what, room, value, size))                                                                       \
    X(kernel_release, "clReleaseKernel", (vy_cl_kernel kernel), (kernel))

/* X(type, name, symbol, parameters, arguments): functions that return a handle or an address, and store the result
 * through the last parameter. */
#define VY_OCL_MAKER_LIST(X)                                                                                           \
    X(vy_cl_context, context_create, "clCreateContext",                                                                \
      (const intptr_t *properties, uint32_t count, const vy_cl_device *devices,                                        \
       void (*tell)(const char *text, const void *detail, size_t size, void *user), void *user, int32_t *result),      \
      (properties, count, devices, tell, user, result))                                                                \
    X(vy_cl_queue, queue_create, "clCreateCommandQueue",                                                               \
      (vy_cl_context context, vy_cl_device device, uint64_t properties, int32_t * result),                             \
      (context, device, properties, result))                                                                           \
    X(vy_cl_memory, memory_create, "clCreateBuffer",                                                                   \
      (vy_cl_context context, uint64_t flags, size_t size, void *host, int32_t *result),                               \
      (context, flags, size, host, result))                                                                            \
    X(void *, enqueue_map, "clEnqueueMapBuffer",                                                                       \
      (vy_cl_queue queue, vy_cl_memory memory, uint32_t is_blocking, uint64_t flags, size_t offset, size_t size,       \
       uint32_t wait_count, const vy_cl_event *wait, vy_cl_event *event, int32_t *result),                             \
      (queue, memory, is_blocking, flags, offset, size, wait_count, wait, event, result))                              \
    X(vy_cl_program, program_from_text, "clCreateProgramWithSource",                                                   \
      (vy_cl_context context, uint32_t count, const char **texts, const size_t *sizes, int32_t *result),               \
      (context, count, texts, sizes, result))                                                                          \
    X(vy_cl_program, program_from_binary, "clCreateProgramWithBinary",                                                 \
      (vy_cl_context context, uint32_t count, const vy_cl_device *devices, const size_t *sizes,                        \
       const unsigned char **binaries, int32_t *states, int32_t *result),                                              \
      (context, count, devices, sizes, binaries, states, result))                                                      \
    X(vy_cl_kernel, kernel_create, "clCreateKernel", (vy_cl_program program, const char *name, int32_t *result),       \
      (program, name, result))

typedef struct vy_ocl_dynamic_symbols {
#define X(name, symbol, parameters, arguments) int32_t(*name) parameters;
    VY_OCL_CALL_LIST(X)
#undef X
#define X(type, name, symbol, parameters, arguments) type(*name) parameters;
    VY_OCL_MAKER_LIST(X)
#undef X
} vy_ocl_dynamic_symbols;

/* The value of VYRE_OPENCL_LIBRARY, or "libOpenCL.so.1" if it is not set. */
const char *vy_ocl_dynamic_symbols_file(void);
/* Opens the loader, which is never unloaded.
 *
 * VYRE_NOT_FOUND    it is not installed
 * VYRE_UNSUPPORTED  it is older than OpenCL 1.2 or not trusted, or /sys is not mounted */
vyre_status vy_ocl_dynamic_symbols_open(const char *file, vy_ocl_dynamic_symbols *out, vyre_error *error);
/* For tests: calls `wrap` with every table that is opened after this call. NULL: calls none. */
void vy_ocl_dynamic_symbols_wrap(void (*wrap)(vy_ocl_dynamic_symbols *api));

/* The status of a result, and whether the result means that the device is lost. */
vyre_status vy_ocl_status(int32_t result);
int vy_ocl_is_loss(int32_t result);
/* Sets the error of a result. */
vyre_status vy_ocl_fail_result(int32_t result, const char *doing, vyre_error *error);

#endif
