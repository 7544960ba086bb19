/* The CUDA driver API, loaded at run time (libcuda.so.1) as a table of functions, and the mapping of its results to
 * statuses. */
#ifndef VY_BACKENDS_CUDA_DYNAMIC_SYMBOLS_H
#define VY_BACKENDS_CUDA_DYNAMIC_SYMBOLS_H

#include "vyre/base.h"

/* The part of the driver's interface that the backend uses: libcuda.so.1, opened at run time, as a table of functions.
 *
 * The library is not linked, and no header of the toolkit is needed: the declarations below restate those of the CUDA
 * Driver API, for the symbol versions named here. Every call of the backend goes through the table of its instance, so
 * that a test can intercept it (vy_cuda_dynamic_symbols_wrap). */

/* Results: 0 is success; the table in dynamic_symbols.c lists the others. */
enum {
    VY_CU_OK = 0,
    VY_CU_INVALID_VALUE = 1,
    VY_CU_OUT_OF_MEMORY = 2,
    VY_CU_NOT_READY = 600,
    VY_CU_TOO_LARGE = 720 /* not launched: the blocks of the cooperative launch cannot all run concurrently */
};

/* Handles are pointers to the driver's objects, except devices and addresses, which are integers. */
typedef struct vy_cu_context *vy_cu_context;
typedef struct vy_cu_module *vy_cu_module;
typedef struct vy_cu_function *vy_cu_function;
typedef struct vy_cu_stream *vy_cu_stream;
typedef struct vy_cu_event *vy_cu_event;
typedef struct vy_cu_pool *vy_cu_pool;
typedef struct vy_cu_link *vy_cu_link;
typedef struct vy_cu_graph *vy_cu_graph;
typedef struct vy_cu_graph_exec *vy_cu_graph_exec;
typedef struct vy_cu_graph_node *vy_cu_graph_node;
typedef uint64_t vy_cu_address;

/* Attributes of devices and functions, options and flags, with the values in the driver's documentation. */
enum {
    VY_CU_DEVICE_MAX_THREADS = 1,
    VY_CU_DEVICE_MAX_BLOCK_X = 2, /* y and z follow */
    VY_CU_DEVICE_MAX_GRID_X = 5,  /* y and z follow */
    VY_CU_DEVICE_WARP = 10,
    VY_CU_DEVICE_MULTIPROCESSORS = 16,
    VY_CU_DEVICE_MAPS_HOST_MEMORY = 19,
    VY_CU_DEVICE_COMPUTE_MODE = 20,
    VY_CU_DEVICE_MEMORY_CLOCK_KHZ = 36,
    VY_CU_DEVICE_MEMORY_BUS_BITS = 37,
    VY_CU_DEVICE_L2_BYTES = 38,
    VY_CU_DEVICE_THREADS_PER_MULTIPROCESSOR = 39,
    VY_CU_DEVICE_COPY_ENGINES = 40,
    VY_CU_DEVICE_UNIFIED_ADDRESSING = 41,
    VY_CU_DEVICE_MAJOR = 75,
    VY_CU_DEVICE_MINOR = 76,
    VY_CU_DEVICE_SHARED_PER_MULTIPROCESSOR = 81,
    VY_CU_DEVICE_COOPERATIVE = 95,
    VY_CU_DEVICE_SHARED_BYTES = 97, /* per block, opt-in */
    VY_CU_DEVICE_MEMORY_POOLS = 115
};
enum { VY_CU_COMPUTE_MODE_PROHIBITED = 2 };
enum { VY_CU_FUNCTION_LOCAL_BYTES = 3, VY_CU_FUNCTION_REGISTERS = 4, VY_CU_FUNCTION_DYNAMIC_SHARED_BYTES = 8 };
enum { VY_CU_JIT_ERROR_LOG = 5, VY_CU_JIT_ERROR_LOG_BYTES = 6, VY_CU_JIT_LINE_INFO = 13 };
enum { VY_CU_INPUT_PTX = 1 };
enum { VY_CU_STREAM_NON_BLOCKING = 1 };
enum { VY_CU_EVENT_DEFAULT = 0, VY_CU_EVENT_NO_TIMING = 2 };
enum { VY_CU_HOST_PORTABLE = 1 };
enum { VY_CU_POOL_RELEASE_THRESHOLD = 4, VY_CU_POOL_RESERVED = 5, VY_CU_POOL_USED = 7 };
enum { VY_CU_POINTER_KIND = 2, VY_CU_POINTER_ORDINAL = 9 };
enum { VY_CU_KIND_HOST = 1, VY_CU_KIND_DEVICE = 2 };
/* Keys of a launch's `extra` array: the params as one block of bytes. */
#define VY_CU_PARAMS_END ((void *)0)
#define VY_CU_PARAMS_BYTES ((void *)1)
#define VY_CU_PARAMS_SIZE ((void *)2)

/* Properties of a new memory pool. */
typedef struct vy_cu_pool_properties {
    int allocation_type; /* 1: ordinary memory */
    int handle_types;    /* 0: nothing is exported */
    int location_type;   /* 1: a device */
    int location;        /* the device's number */
    void *security;
    size_t max_size; /* 0: the driver's choice */
    unsigned char reserved[56];
} vy_cu_pool_properties;

/* A kernel in a graph. */
typedef struct vy_cu_kernel_node {
    vy_cu_function function;
    unsigned grid[3], block[3], shared_bytes;
    void **params, **extra;
    void *kernel, *context; /* not needed if `function` is set */
} vy_cu_kernel_node;

/* The dependency of one node on another. All 0: it begins when the other has ended. */
typedef struct vy_cu_edge {
    unsigned char from_port, to_port, type, reserved[5];
} vy_cu_edge;
enum { VY_CU_PORT_PROGRAMMATIC = 1, VY_CU_EDGE_PROGRAMMATIC = 1 };

/* X(NEED, name, symbol, parameters, arguments). `arguments` lists the parameter names, for wrappers that forward a
 * call. NEED is REQUIRED, or OPTIONAL: then the entry is NULL if the driver lacks the function. The functions that
 * every dispatch calls come first, so that they are adjacent in memory. */
#define VY_CUDA_SYMBOL_LIST(X)                                                                                         \
    X(REQUIRED, init, "cuInit", (unsigned flags), (flags))                                                             \
    X(REQUIRED, context_current, "cuCtxGetCurrent", (vy_cu_context * context), (context))                              \
    X(REQUIRED, launch, "cuLaunchKernel",                                                                              \
      (vy_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
       unsigned block_z, unsigned shared_bytes, vy_cu_stream stream, void **params, void **extra),                     \
      (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, params, extra))              \
    X(REQUIRED, stream_synchronize, "cuStreamSynchronize", (vy_cu_stream stream), (stream))                            \
    X(REQUIRED, driver_version, "cuDriverGetVersion", (int *version), (version))                                       \
    X(REQUIRED, error_name, "cuGetErrorName", (int result, const char **name), (result, name))                         \
    X(REQUIRED, error_string, "cuGetErrorString", (int result, const char **text), (result, text))                     \
    X(REQUIRED, device_count, "cuDeviceGetCount", (int *count), (count))                                               \
    X(REQUIRED, device_get, "cuDeviceGet", (int *device, int ordinal), (device, ordinal))                              \
    X(REQUIRED, device_name, "cuDeviceGetName", (char *name, int size, int device), (name, size, device))              \
    X(REQUIRED, device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device),                     \
      (value, attribute, device))                                                                                      \
    X(REQUIRED, device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, int device), (bytes, device))                   \
    X(REQUIRED, context_retain, "cuDevicePrimaryCtxRetain", (vy_cu_context * context, int device), (context, device))  \
    X(REQUIRED, context_release, "cuDevicePrimaryCtxRelease_v2", (int device), (device))                               \
    X(REQUIRED, context_set, "cuCtxSetCurrent", (vy_cu_context context), (context))                                    \
    X(REQUIRED, context_push, "cuCtxPushCurrent_v2", (vy_cu_context context), (context))                               \
    X(REQUIRED, context_pop, "cuCtxPopCurrent_v2", (vy_cu_context * context), (context))                               \
    X(REQUIRED, context_synchronize, "cuCtxSynchronize", (void), ())                                                   \
    X(REQUIRED, stream_create, "cuStreamCreate", (vy_cu_stream * stream, unsigned flags), (stream, flags))             \
    X(REQUIRED, stream_destroy, "cuStreamDestroy_v2", (vy_cu_stream stream), (stream))                                 \
    X(REQUIRED, stream_query, "cuStreamQuery", (vy_cu_stream stream), (stream))                                        \
    X(REQUIRED, stream_wait_event, "cuStreamWaitEvent", (vy_cu_stream stream, vy_cu_event event, unsigned flags),      \
      (stream, event, flags))                                                                                          \
    X(REQUIRED, event_create, "cuEventCreate", (vy_cu_event * event, unsigned flags), (event, flags))                  \
    X(REQUIRED, event_destroy, "cuEventDestroy_v2", (vy_cu_event event), (event))                                      \
    X(REQUIRED, event_record, "cuEventRecord", (vy_cu_event event, vy_cu_stream stream), (event, stream))              \
    X(REQUIRED, event_query, "cuEventQuery", (vy_cu_event event), (event))                                             \
    X(REQUIRED, event_synchronize, "cuEventSynchronize", (vy_cu_event event), (event))                                 \
    X(REQUIRED, event_elapsed, "cuEventElapsedTime", (float *milliseconds, vy_cu_event start, vy_cu_event end),        \
      (milliseconds, start, end))                                                                                      \
    X(REQUIRED, memory_info, "cuMemGetInfo_v2", (size_t * free_bytes, size_t * total_bytes),                           \
      (free_bytes, total_bytes))                                                                                       \
    X(REQUIRED, memory_allocate, "cuMemAlloc_v2", (vy_cu_address * address, size_t size), (address, size))             \
    X(REQUIRED, memory_free, "cuMemFree_v2", (vy_cu_address address), (address))                                       \
    X(REQUIRED, pointer_attribute, "cuPointerGetAttribute", (void *value, int attribute, vy_cu_address address),       \
      (value, attribute, address))                                                                                     \
    X(REQUIRED, host_allocate, "cuMemHostAlloc", (void **memory, size_t size, unsigned flags), (memory, size, flags))  \
    X(REQUIRED, host_free, "cuMemFreeHost", (void *memory), (memory))                                                  \
    X(REQUIRED, copy_to_device, "cuMemcpyHtoDAsync_v2",                                                                \
      (vy_cu_address to, const void *from, size_t size, vy_cu_stream stream), (to, from, size, stream))                \
    X(REQUIRED, copy_to_host, "cuMemcpyDtoHAsync_v2",                                                                  \
      (void *to, vy_cu_address from, size_t size, vy_cu_stream stream), (to, from, size, stream))                      \
    X(OPTIONAL, copy_on_device, "cuMemcpyDtoDAsync_v2",                                                                \
      (vy_cu_address to, vy_cu_address from, size_t size, vy_cu_stream stream), (to, from, size, stream))              \
    X(REQUIRED, fill, "cuMemsetD8Async", (vy_cu_address to, unsigned char byte, size_t size, vy_cu_stream stream),     \
      (to, byte, size, stream))                                                                                        \
    X(REQUIRED, module_load, "cuModuleLoadDataEx",                                                                     \
      (vy_cu_module * module, const void *image, unsigned count, int *options, void **values),                         \
      (module, image, count, options, values))                                                                         \
    X(REQUIRED, module_unload, "cuModuleUnload", (vy_cu_module module), (module))                                      \
    X(REQUIRED, module_function, "cuModuleGetFunction",                                                                \
      (vy_cu_function * function, vy_cu_module module, const char *name), (function, module, name))                    \
    X(REQUIRED, function_attribute, "cuFuncGetAttribute", (int *value, int attribute, vy_cu_function function),        \
      (value, attribute, function))                                                                                    \
    X(REQUIRED, function_set, "cuFuncSetAttribute", (vy_cu_function function, int attribute, int value),               \
      (function, attribute, value))                                                                                    \
    X(OPTIONAL, launch_cooperative, "cuLaunchCooperativeKernel",                                                       \
      (vy_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
       unsigned block_z, unsigned shared_bytes, vy_cu_stream stream, void **params),                                   \
      (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, params))                     \
    X(OPTIONAL, occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                              \
      (int *blocks, vy_cu_function function, int threads, size_t shared_bytes),                                        \
      (blocks, function, threads, shared_bytes))                                                                       \
    X(OPTIONAL, stream_context, "cuStreamGetCtx", (vy_cu_stream stream, vy_cu_context * context), (stream, context))   \
    X(OPTIONAL, stream_capturing, "cuStreamIsCapturing", (vy_cu_stream stream, int *status), (stream, status))         \
    X(OPTIONAL, pool_create, "cuMemPoolCreate", (vy_cu_pool * pool, const vy_cu_pool_properties *properties),          \
      (pool, properties))                                                                                              \
    X(OPTIONAL, pool_destroy, "cuMemPoolDestroy", (vy_cu_pool pool), (pool))                                           \
    X(OPTIONAL, pool_set, "cuMemPoolSetAttribute", (vy_cu_pool pool, int attribute, void *value),                      \
      (pool, attribute, value))                                                                                        \
    X(OPTIONAL, pool_get, "cuMemPoolGetAttribute", (vy_cu_pool pool, int attribute, void *value),                      \
      (pool, attribute, value))                                                                                        \
    X(OPTIONAL, pool_trim, "cuMemPoolTrimTo", (vy_cu_pool pool, size_t keep), (pool, keep))                            \
    X(OPTIONAL, pool_allocate, "cuMemAllocFromPoolAsync",                                                              \
      (vy_cu_address * address, size_t size, vy_cu_pool pool, vy_cu_stream stream), (address, size, pool, stream))     \
    X(OPTIONAL, pool_free, "cuMemFreeAsync", (vy_cu_address address, vy_cu_stream stream), (address, stream))          \
    X(OPTIONAL, link_create, "cuLinkCreate_v2", (unsigned count, int *options, void **values, vy_cu_link *link),       \
      (count, options, values, link))                                                                                  \
    X(OPTIONAL, link_add, "cuLinkAddData_v2",                                                                          \
      (vy_cu_link link, int type, void *data, size_t size, const char *name, unsigned count, int *options,             \
       void **values),                                                                                                 \
      (link, type, data, size, name, count, options, values))                                                          \
    X(OPTIONAL, link_complete, "cuLinkComplete", (vy_cu_link link, void **cubin, size_t *size), (link, cubin, size))   \
    X(OPTIONAL, link_destroy, "cuLinkDestroy", (vy_cu_link link), (link))                                              \
    X(OPTIONAL, graph_create, "cuGraphCreate", (vy_cu_graph * graph, unsigned flags), (graph, flags))                  \
    X(OPTIONAL, graph_destroy, "cuGraphDestroy", (vy_cu_graph graph), (graph))                                         \
    X(OPTIONAL, graph_add, "cuGraphAddKernelNode_v2",                                                                  \
      (vy_cu_graph_node * node, vy_cu_graph graph, const vy_cu_graph_node *before, size_t before_count,                \
       const vy_cu_kernel_node *kernel),                                                                               \
      (node, graph, before, before_count, kernel))                                                                     \
    X(OPTIONAL, graph_link, "cuGraphAddDependencies_v2",                                                               \
      (vy_cu_graph graph, const vy_cu_graph_node *from, const vy_cu_graph_node *to, const vy_cu_edge *edges,           \
       size_t count),                                                                                                  \
      (graph, from, to, edges, count))                                                                                 \
    X(OPTIONAL, graph_instantiate, "cuGraphInstantiateWithFlags",                                                      \
      (vy_cu_graph_exec * exec, vy_cu_graph graph, unsigned long long flags), (exec, graph, flags))                    \
    X(OPTIONAL, graph_set, "cuGraphExecKernelNodeSetParams_v2",                                                        \
      (vy_cu_graph_exec exec, vy_cu_graph_node node, const vy_cu_kernel_node *kernel), (exec, node, kernel))           \
    X(OPTIONAL, graph_launch, "cuGraphLaunch", (vy_cu_graph_exec exec, vy_cu_stream stream), (exec, stream))           \
    X(OPTIONAL, graph_end, "cuGraphExecDestroy", (vy_cu_graph_exec exec), (exec))

typedef struct vy_cuda_dynamic_symbols {
#define X(NEED, name, symbol, parameters, arguments) int(*name) parameters;
    VY_CUDA_SYMBOL_LIST(X)
#undef X
} vy_cuda_dynamic_symbols;

/* The file to open: VYRE_CUDA_LIBRARY, or libcuda.so.1. */
const char *vy_cuda_dynamic_symbols_file(void);

/* Opens the driver's library and fills the table. The library is never closed, because the driver runs its own threads.
 *
 * VYRE_NOT_FOUND    it is not installed
 * VYRE_UNSUPPORTED  it lacks a required symbol: it is too old, or not the CUDA driver */
vyre_status vy_cuda_dynamic_symbols_open(const char *file, vy_cuda_dynamic_symbols *out, vyre_error *error);

/* For tests: `wrap` may replace entries of every table filled from now on, to intercept driver calls. NULL removes it.
 * To be called only while no backend exists. */
void vy_cuda_dynamic_symbols_wrap(void (*wrap)(vy_cuda_dynamic_symbols *api));

/* ---- results of the driver as statuses ---- */

/* Maps a result to a status. */
vyre_status vy_cuda_status(int result);
/* Whether the result means that the context is lost, so that every later call fails in the same way. */
int vy_cuda_is_loss(int result);

/* Fills the error for a failed call: the failed operation, the driver's name and description of the result, and the
 * fix. api: used to look up the name and the description. */
vyre_status vy_cuda_fail_result(const vy_cuda_dynamic_symbols *api, int result, const char *doing, vyre_error *error);

#endif
