/* The NVIDIA driver for the peers: opened at run time, separate from the use by libvyre. */
#ifndef BENCH_CUDA_DRIVER_H
#define BENCH_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t cu_address;
typedef struct cu_kernel_node_params { /* the driver's layout */
    void *function;
    unsigned grid[3], block[3], shared_bytes;
    void **params, **extra;
    void *kernel, *context;
} cu_kernel_node_params;

/* Params of a launch as one block of bytes. */
#define CU_PARAMS_END ((void *)0)
#define CU_PARAMS_BYTES ((void *)1)
#define CU_PARAMS_SIZE ((void *)2)

/* X(name here, symbol, parameters) */
#define CU_CALLS(X)                                                                                                    \
    X(init, "cuInit", (unsigned flags))                                                                                \
    X(driver_version, "cuDriverGetVersion", (int *version))                                                            \
    X(device_get, "cuDeviceGet", (int *device, int ordinal))                                                           \
    X(device_name, "cuDeviceGetName", (char *name, int size, int device))                                              \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                               \
    X(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                                        \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                                                   \
    X(context_set, "cuCtxSetCurrent", (void *context))                                                                 \
    X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                                                \
    X(stream_wait_event, "cuStreamWaitEvent", (void *stream, void *event, unsigned flags))                             \
    X(stream_synchronize, "cuStreamSynchronize", (void *stream))                                                       \
    X(event_create, "cuEventCreate", (void **event, unsigned flags))                                                   \
    X(event_record, "cuEventRecord", (void *event, void *stream))                                                      \
    X(event_synchronize, "cuEventSynchronize", (void *event))                                                          \
    X(event_elapsed, "cuEventElapsedTime", (float *milliseconds, void *start, void *end))                              \
    X(module_load, "cuModuleLoadData", (void **module, const void *image))                                             \
    X(module_unload, "cuModuleUnload", (void *module))                                                                 \
    X(module_function, "cuModuleGetFunction", (void **function, void *module, const char *name))                       \
    X(memory_allocate, "cuMemAlloc_v2", (cu_address * address, size_t size))                                           \
    X(memory_free, "cuMemFree_v2", (cu_address address))                                                               \
    X(host_allocate, "cuMemHostAlloc", (void **memory, size_t size, unsigned flags))                                   \
    X(host_free, "cuMemFreeHost", (void *memory))                                                                      \
    X(copy_to_device, "cuMemcpyHtoDAsync_v2", (cu_address to, const void *from, size_t size, void *stream))            \
    X(copy_to_host, "cuMemcpyDtoHAsync_v2", (void *to, cu_address from, size_t size, void *stream))                    \
    X(fill, "cuMemsetD8Async", (cu_address to, unsigned char byte, size_t size, void *stream))                         \
    X(launch, "cuLaunchKernel",                                                                                        \
      (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,  \
       void *stream, void **params, void **extra))                                                                     \
    X(capture_begin, "cuStreamBeginCapture_v2", (void *stream, int mode))                                              \
    X(capture_end, "cuStreamEndCapture", (void *stream, void **graph))                                                 \
    X(graph_nodes, "cuGraphGetNodes", (void *graph, void **nodes, size_t *count))                                      \
    X(graph_instantiate, "cuGraphInstantiateWithFlags", (void **executable, void *graph, unsigned long long flags))    \
    X(graph_set_kernel, "cuGraphExecKernelNodeSetParams_v2",                                                           \
      (void *executable, void *node, const cu_kernel_node_params *params))                                             \
    X(graph_launch, "cuGraphLaunch", (void *executable, void *stream))                                                 \
    X(graph_free, "cuGraphDestroy", (void *graph))                                                                     \
    X(graph_executable_free, "cuGraphExecDestroy", (void *executable))                                                 \
    X(link_create, "cuLinkCreate_v2", (unsigned count, int *options, void **values, void **link))                      \
    X(link_add, "cuLinkAddData_v2",                                                                                    \
      (void *link, int type, void *data, size_t size, const char *name, unsigned count, int *options, void **values))  \
    X(link_complete, "cuLinkComplete", (void *link, void **cubin, size_t *size))                                       \
    X(link_destroy, "cuLinkDestroy", (void *link))

typedef struct cu_driver {
#define X(name, symbol, parameters) int(*name) parameters;
    CU_CALLS(X)
#undef X
    int device, multiprocessors, architecture;
    void *context, *stream, *start, *end; /* the start and the end of the measured interval */
    char about[256];
} cu_driver;

/* Opens the first device, once; NULL and a reason if there is none. It is never closed: libvyre uses the same primary
 * context. */
cu_driver *cu_open(char *reason, size_t room);

/* A module in the folder of the program; NULL with a reason. */
void *cu_load_built(cu_driver *cu, const char *file, char *reason, size_t room);

#endif
