/* OpenCL C, on the device that libvyre uses if that is one of backend `opencl`, otherwise on PoCL. The ICD loader is
 * opened at run time; without its headers at build time this version is left out.
 *
 * On a processor buffers use host memory (CL_MEM_USE_HOST_PTR), which PoCL uses in place: nothing is copied. On a GPU
 * they are in its memory. */
#include "ours.h"

#include <stdio.h>

#ifdef SUITE_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(X)                                                                                                   \
    X(clGetPlatformIDs)                                                                                                \
    X(clGetPlatformInfo)                                                                                               \
    X(clGetDeviceIDs)                                                                                                  \
    X(clGetDeviceInfo)                                                                                                 \
    X(clCreateContext)                                                                                                 \
    X(clReleaseContext)                                                                                                \
    X(clCreateCommandQueue)                                                                                            \
    X(clGetEventProfilingInfo)                                                                                         \
    X(clReleaseEvent)                                                                                                  \
    X(clReleaseCommandQueue)                                                                                           \
    X(clCreateProgramWithSource)                                                                                       \
    X(clBuildProgram)                                                                                                  \
    X(clGetProgramBuildInfo)                                                                                           \
    X(clReleaseProgram)                                                                                                \
    X(clCreateKernel)                                                                                                  \
    X(clReleaseKernel)                                                                                                 \
    X(clSetKernelArg)                                                                                                  \
    X(clCreateBuffer)                                                                                                  \
    X(clReleaseMemObject)                                                                                              \
    X(clEnqueueNDRangeKernel)                                                                                          \
    X(clEnqueueMapBuffer)                                                                                              \
    X(clEnqueueUnmapMemObject)                                                                                         \
    X(clFinish)

static struct {
    void *library;
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
    cl_device_id device;
    int is_gpu;
    cl_context context;
    cl_command_queue queue, timed;
    cl_program program;
} cl;

typedef struct job {
    const work *work;
    void *memory[ARRAYS];
    cl_mem buffers[ARRAYS];
    cl_kernel *kernels; /* one per step: arguments stay set */
} job;

static int load(char *reason) {
    cl.library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cl.library) {
        snprintf(reason, REASON, "libOpenCL.so.1 is not there. Fix: make bench-peers");
        return 0;
    }
#define X(name)                                                                                                        \
    {                                                                                                                  \
        void *entry = dlsym(cl.library, #name);                                                                        \
        if (!entry) {                                                                                                  \
            snprintf(reason, REASON, "libOpenCL.so.1 has no %s", #name);                                               \
            return 0;                                                                                                  \
        }                                                                                                              \
        memcpy(&cl.name, &entry, sizeof entry);                                                                        \
    }
    FUNCTIONS(X)
#undef X
    return 1;
}

/* The name of the device of backend `opencl`, if libvyre uses it: another device would be another comparison. */
static const char *wanted_device(const char *backend) {
    vyre_device_profile profile = {.struct_size = sizeof profile};
    if (strncmp(backend, "opencl", 6) != 0 || !suite_ours_backend())
        return NULL;
    vyre_backend_profile(suite_ours_backend(), &profile);
    return profile.device;
}

static int is_wanted(cl_platform_id platform, const char *wanted, char *device, size_t size) {
    char name[128];
    cl.clGetDeviceInfo(cl.device, CL_DEVICE_NAME, size, device, NULL);
    return wanted ? strcmp(device, wanted) == 0
                  : cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL) == CL_SUCCESS &&
                        strstr(name, "Portable Computing Language");
}

static int find_device(const char *wanted, char *about, char *reason) {
    cl_platform_id platforms[8];
    cl_uint count = 0;
    cl_device_type type = 0;
    char version[128], device[128];
    if (cl.clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS)
        count = 0;
    for (cl_uint i = 0; i < count && i < 8; i++) {
        if (cl.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &cl.device, NULL) != CL_SUCCESS ||
            !is_wanted(platforms[i], wanted, device, sizeof device))
            continue;
        cl.clGetPlatformInfo(platforms[i], CL_PLATFORM_VERSION, sizeof version, version, NULL);
        cl.clGetDeviceInfo(cl.device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
        cl.is_gpu = (type & CL_DEVICE_TYPE_CPU) == 0;
        snprintf(about, REASON, "%s, %s", version, device);
        return 1;
    }
    snprintf(reason, REASON, "no platform of %s among %u. Fix: make bench-peers", wanted ? wanted : "PoCL", count);
    return 0;
}

static int build(char *reason) {
    cl_int error;
    size_t size;
    char *text = suite_read_file(suite_source_path("bench/suite/kernels.cl"), &size);
    if (!text) {
        snprintf(reason, REASON, "%.400s cannot be read", suite_source_path("bench/suite/kernels.cl"));
        return 0;
    }
    cl.context = cl.clCreateContext(NULL, 1, &cl.device, NULL, NULL, &error);
    if (error == CL_SUCCESS)
        cl.queue = cl.clCreateCommandQueue(cl.context, cl.device, 0, &error);
    if (error == CL_SUCCESS)
        cl.timed = cl.clCreateCommandQueue(cl.context, cl.device, CL_QUEUE_PROFILING_ENABLE, &error);
    if (error == CL_SUCCESS)
        cl.program = cl.clCreateProgramWithSource(cl.context, 1, (const char *[]){text}, &size, &error);
    if (error == CL_SUCCESS) {
        error = cl.clBuildProgram(cl.program, 1, &cl.device, "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt",
                                  NULL, NULL);
        if (error != CL_SUCCESS) {
            char log[REASON - 64] = "";
            cl.clGetProgramBuildInfo(cl.program, cl.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
            snprintf(reason, REASON, "kernels.cl does not build: %s", log);
        }
    } else {
        snprintf(reason, REASON, "no context (error %d)", error);
    }
    free(text);
    return error == CL_SUCCESS;
}

static void close_opencl(void) {
    if (cl.program)
        cl.clReleaseProgram(cl.program);
    if (cl.queue)
        cl.clReleaseCommandQueue(cl.queue);
    if (cl.timed)
        cl.clReleaseCommandQueue(cl.timed);
    if (cl.context)
        cl.clReleaseContext(cl.context);
    /* The library stays open: PoCL must not be closed while its threads end. */
}

static int open_opencl(const char *option, char *about, char *reason) {
    if (!load(reason) || !find_device(wanted_device(option), about, reason))
        return 0;
    if (build(reason))
        return 1;
    close_opencl();
    return 0;
}

static void discard(void *self) {
    job *j = self;
    for (size_t i = 0; j->kernels && i < j->work->step_count; i++)
        if (j->kernels[i])
            cl.clReleaseKernel(j->kernels[i]);
    for (size_t i = 0; i < ARRAYS; i++) {
        if (j->buffers[i])
            cl.clReleaseMemObject(j->buffers[i]);
        free(j->memory[i]);
    }
    free(j->kernels);
    free(j);
}

static int add_step(job *j, size_t index) {
    const step *s = &j->work->steps[index];
    cl_int error;
    cl_uint argument = 0;
    j->kernels[index] = cl.clCreateKernel(cl.program, s->peer, &error);
    for (uint32_t i = 0; i < s->binding_count && error == CL_SUCCESS; i++)
        error = cl.clSetKernelArg(j->kernels[index], argument++, sizeof(cl_mem), &j->buffers[s->bindings[i].array]);
    for (uint32_t i = 0; i < s->word_count && error == CL_SUCCESS; i++)
        error = cl.clSetKernelArg(j->kernels[index], argument++, sizeof s->words[i], &s->words[i]);
    return error;
}

static void *prepare(const work *w, char *reason) {
    cl_int error = CL_SUCCESS;
    job *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->work = w;
    j->kernels = calloc(w->step_count, sizeof *j->kernels);
    if (!j->kernels)
        error = CL_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < w->array_count && error == CL_SUCCESS; i++) {
        j->memory[i] = aligned_alloc(4096, (w->arrays[i].size + 4096) / 4096 * 4096);
        if (!j->memory[i]) {
            error = CL_OUT_OF_HOST_MEMORY;
            break;
        }
        if (w->arrays[i].first)
            memcpy(j->memory[i], w->arrays[i].first, w->arrays[i].size);
        else
            memset(j->memory[i], 0, w->arrays[i].size);
        j->buffers[i] =
            cl.clCreateBuffer(cl.context, CL_MEM_READ_WRITE | (cl.is_gpu ? CL_MEM_COPY_HOST_PTR : CL_MEM_USE_HOST_PTR),
                              w->arrays[i].size, j->memory[i], &error);
    }
    for (size_t i = 0; i < w->step_count && error == CL_SUCCESS; i++)
        error = add_step(j, i);
    if (error == CL_SUCCESS)
        return j;
    snprintf(reason, REASON, "OpenCL error %d", error);
    discard(j);
    return NULL;
}

static int enqueue(cl_command_queue queue, cl_kernel kernel, const step *s, cl_event *event) {
    size_t global[3], local[3];
    for (int i = 0; i < 3; i++) {
        local[i] = s->local[i];
        global[i] = local[i] * s->groups[i];
    }
    return cl.clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0, NULL, event) == CL_SUCCESS;
}

static int run(void *self) {
    job *j = self;
    for (size_t i = 0; i < j->work->step_count; i++)
        if (!enqueue(cl.queue, j->kernels[i], &j->work->steps[i], NULL))
            return 0;
    return cl.clFinish(cl.queue) == CL_SUCCESS;
}

/* By the device's clock, from the start of the first kernel to the end of the last. */
static double run_in_line(void *self, int repeats) {
    job *j = self;
    cl_event first = NULL, last = NULL;
    cl_ulong start = 0, end = 0;
    const size_t steps = j->work->step_count, count = steps * (size_t)repeats;
    int good = count > 0;
    for (size_t i = 0; i < count && good; i++)
        good = enqueue(cl.timed, j->kernels[i % steps], &j->work->steps[i % steps],
                       i == 0           ? &first
                       : i + 1 == count ? &last
                                        : NULL);
    good =
        good && cl.clFinish(cl.timed) == CL_SUCCESS &&
        cl.clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) == CL_SUCCESS &&
        cl.clGetEventProfilingInfo(last ? last : first, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) == CL_SUCCESS;
    if (first)
        cl.clReleaseEvent(first);
    if (last)
        cl.clReleaseEvent(last);
    return good ? (double)(end - start) * 1e-9 / repeats : -1;
}

static double run_on_clock(void *self) {
    return run_in_line(self, 1);
}

/* Maps for reading or writing, which synchronises host memory; the pointer is that of the host. */
static void *map(job *j, size_t index, cl_map_flags flags) {
    cl_int error;
    void *at = cl.clEnqueueMapBuffer(cl.queue, j->buffers[index], CL_TRUE, flags, 0, j->work->arrays[index].size, 0,
                                     NULL, NULL, &error);
    return error == CL_SUCCESS ? at : NULL;
}

static void unmap(job *j, size_t index, void *at) {
    cl.clEnqueueUnmapMemObject(cl.queue, j->buffers[index], at, 0, NULL, NULL);
    cl.clFinish(cl.queue);
}

static void reset(void *self) {
    job *j = self;
    for (size_t i = 0; i < j->work->array_count; i++) {
        void *at = j->work->arrays[i].role == ROLE_BOTH ? map(j, i, CL_MAP_WRITE) : NULL;
        if (at) {
            memcpy(at, j->work->arrays[i].first, j->work->arrays[i].size);
            unmap(j, i, at);
        }
    }
}

static const void *array_of(void *self, size_t index) {
    job *j = self;
    void *at = map(j, index, CL_MAP_READ);
    if (!at)
        return NULL;
    if (at != j->memory[index])
        memcpy(j->memory[index], at, j->work->arrays[index].size);
    unmap(j, index, at);
    return j->memory[index];
}

double suite_opencl_empty(int dispatches) {
    cl_int error;
    step s = {.groups = {1, 1, 1}, .local = {1, 1, 1}};
    cl_kernel kernel = cl.clCreateKernel(cl.program, "empty", &error);
    if (error != CL_SUCCESS)
        return -1;
    int good = enqueue(cl.queue, kernel, &s, NULL) && cl.clFinish(cl.queue) == CL_SUCCESS;
    double start = suite_now();
    for (int i = 0; i < dispatches && good; i++)
        good = enqueue(cl.queue, kernel, &s, NULL) && cl.clFinish(cl.queue) == CL_SUCCESS;
    double seconds = (suite_now() - start) / dispatches;
    cl.clReleaseKernel(kernel);
    return good ? seconds : -1;
}

const runner suite_opencl = {"opencl", "OpenCL C", open_opencl,  prepare,      reset,      run,
                             array_of, discard,    close_opencl, run_on_clock, run_in_line};

#else

static int open_opencl(const char *option, char *about, char *reason) {
    (void)option, (void)about;
    snprintf(reason, REASON, "built without CL/cl.h. Fix: make bench-peers, then build again");
    return 0;
}

double suite_opencl_empty(int dispatches) {
    (void)dispatches;
    return -1;
}

const runner suite_opencl = {.id = "opencl", .title = "OpenCL C", .open = open_opencl};

#endif
