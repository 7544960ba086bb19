/* An NVIDIA device through its driver, which is opened at run time: loads a text, launches it, and says what came out.
 *
 * All memory of a launch is one image: the control block, then the buffers, each between guards and as far behind a
 * multiple of 16 bytes as is asked for. The image goes to the device, comes back, and the guards must be as they
 * were. */
#ifndef VY_TESTS_EMIT_PTX_DEVICE_H
#define VY_TESTS_EMIT_PTX_DEVICE_H

#include "emit/ptx/code.h"

#include "ir/dispatch_resolve.h"
#include "vyre/oracle.h"

#include <dlfcn.h>

enum { DEVICE_IMAGE = 64 << 20, DEVICE_GUARD = 256, DEVICE_OUTPUTS = 64, DEVICE_STEPS = 3000000, DEVICE_LOG = 8192 };

/* X(result, name in libcuda, our name, parameters) */
#define DEVICE_CALLS(X)                                                                                                \
    X(int, "cuInit", init, (unsigned flags))                                                                           \
    X(int, "cuDeviceGet", get, (int *device, int ordinal))                                                             \
    X(int, "cuDeviceGetName", get_name, (char *name, int size, int device))                                            \
    X(int, "cuDeviceGetAttribute", get_attribute, (int *value, int attribute, int device))                             \
    X(int, "cuDevicePrimaryCtxRetain", retain, (void **context, int device))                                           \
    X(int, "cuCtxSetCurrent", set_current, (void *context))                                                            \
    X(int, "cuCtxSynchronize", synchronize, (void))                                                                    \
    X(int, "cuGetErrorName", error_name, (int error, const char **name))                                               \
    X(int, "cuModuleLoadDataEx", load,                                                                                 \
      (void **module, const void *image, unsigned count, int *options, void **values))                                 \
    X(int, "cuModuleUnload", unload, (void *module))                                                                   \
    X(int, "cuModuleGetFunction", get_function, (void **function, void *module, const char *name))                     \
    X(int, "cuFuncSetAttribute", set_attribute, (void *function, int attribute, int value))                            \
    X(int, "cuMemAlloc_v2", allocate, (uint64_t * address, size_t size))                                               \
    X(int, "cuMemcpyHtoD_v2", to_device, (uint64_t to, const void *from, size_t size))                                 \
    X(int, "cuMemcpyDtoH_v2", from_device, (void *to, uint64_t from, size_t size))                                     \
    X(int, "cuLaunchKernel", launch,                                                                                   \
      (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,  \
       void *stream, void **params, void **extra))

typedef struct device {
#define X(result, symbol, name, parameters) result(*name) parameters;
    DEVICE_CALLS(X)
#undef X
    uint32_t architecture;
    int shared_bytes;
    uint64_t memory; /* of the image */
    uint8_t *image;
    int is_lost;
    char name[128], log[DEVICE_LOG];
} device;

static inline const char *device_error(device *d, int code) {
    const char *name = "?";
    d->error_name(code, &name);
    return name;
}

/* Opens the first device. 0 and why not, if there is none. */
static inline int device_open(device *d, const char **why) {
    enum { MAJOR = 75, MINOR = 76, SHARED_BYTES = 97 };
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int ordinal = 0, major = 0, minor = 0;
    *why = "there is no libcuda.so.1";
    if (!library)
        return 0;
#define X(result, symbol, name, parameters)                                                                            \
    *(void **)&d->name = dlsym(library, symbol);                                                                       \
    if (!*(void **)&d->name)                                                                                           \
        return *why = "libcuda.so.1 has no " symbol, 0;
    DEVICE_CALLS(X)
#undef X
    *why = "the driver finds no device";
    if (d->init(0) || d->get(&ordinal, 0) || d->retain(&context, ordinal) || d->set_current(context))
        return 0;
    d->get_name(d->name, sizeof d->name, ordinal);
    d->get_attribute(&major, MAJOR, ordinal);
    d->get_attribute(&minor, MINOR, ordinal);
    d->get_attribute(&d->shared_bytes, SHARED_BYTES, ordinal);
    d->architecture = (uint32_t)(major * 10 + minor);
    d->image = malloc(DEVICE_IMAGE);
    *why = "the device has no memory";
    return d->image && d->allocate(&d->memory, DEVICE_IMAGE) == 0;
}

/* ---- outcomes ---- */

typedef struct outcome {
    vyre_status status;
    vyre_trap trap;
    int stopped;
    vyre_bytes outputs[DEVICE_OUTPUTS];
    char message[520]; /* why there is none */
} outcome;

static inline void outcome_free(outcome *out) {
    for (int i = 0; i < DEVICE_OUTPUTS; i++)
        vyre_bytes_free(&out->outputs[i]);
}

static inline void outcome_of_oracle(vyre_program *program, const vyre_arguments *arguments, unsigned checks,
                                     outcome *out) {
    vyre_oracle_options options = {.threads = 1, .budget = DEVICE_STEPS, .checks = checks};
    vyre_oracle_report report = {0};
    vyre_oracle *oracle = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    memset(out, 0, sizeof *out);
    out->status = vyre_oracle_new(program, &oracle, &error);
    if (out->status == VYRE_OK)
        out->status = vyre_oracle_run(oracle, arguments, &options, out->outputs, &report, NULL, &error);
    snprintf(out->message, sizeof out->message, "%s", error.message);
    out->trap = report.trap;
    vyre_oracle_free(oracle);
}

/* ---- the image ---- */

typedef struct image {
    size_t size;
    size_t offsets[VY_LIMIT_BUFFERS];
} image;

/* A misalignment: none at all. */
static const uint32_t DEVICE_ALIGNED = UINT32_MAX;

/* Puts everything in its place; 0 if it does not fit. */
static inline int image_fill(device *d, const vyre_program *program, const vy_resolved_dispatch *launch,
                             uint32_t misalignment, const vy_launch_control *control, image *image) {
    size_t at = DEVICE_GUARD;
    memcpy(d->image, control, sizeof *control);
    memset(d->image + sizeof *control, 0xa5, at - sizeof *control);
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const vy_resolved_buffer *buffer = &launch->buffers[i];
        unsigned size = vyre_type_size((vyre_type)program->memories.items[i].type);
        size_t behind = misalignment == DEVICE_ALIGNED ? 0 : (misalignment + i) * size % 16;
        size_t end = at + DEVICE_GUARD + behind + buffer->bytes;
        size_t next = (end + DEVICE_GUARD + 15) / 16 * 16;
        if (next > DEVICE_IMAGE)
            return 0;
        memset(d->image + at, 0xa5, next - at);
        image->offsets[i] = at + DEVICE_GUARD + behind;
        if (buffer->data)
            memcpy(d->image + image->offsets[i], buffer->data, buffer->bytes);
        else
            memset(d->image + image->offsets[i], 0, buffer->bytes);
        at = next;
    }
    image->size = at;
    return 1;
}

/* Whether nobody wrote between the buffers. */
static inline int image_is_sound(const device *d, const vyre_program *program, const vy_resolved_dispatch *launch,
                                 const image *image) {
    size_t at = sizeof(vy_launch_control);
    for (uint32_t i = 0; i <= program->buffer_count; i++) {
        size_t end = i < program->buffer_count ? image->offsets[i] : image->size;
        for (; at < end; at++)
            if (d->image[at] != 0xa5)
                return 0;
        at = i < program->buffer_count ? end + launch->buffers[i].bytes : end;
    }
    return 1;
}

/* ---- a launch ---- */

static inline void *device_load(device *d, const vy_ptx_code *code, void **function, outcome *out) {
    enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6, DYNAMIC_BYTES = 8 };
    int options[2] = {ERROR_LOG, ERROR_LOG_BYTES}, error;
    void *values[2] = {d->log, (void *)(uintptr_t)DEVICE_LOG}, *module = NULL;
    d->log[0] = 0;
    error = d->load(&module, code->text.data, 2, options, values);
    if (!error)
        error = d->get_function(function, module, code->entry);
    if (!error && code->dynamic_bytes)
        error = d->set_attribute(*function, DYNAMIC_BYTES, (int)code->dynamic_bytes);
    if (!error)
        return module;
    out->status = VYRE_UNSUPPORTED;
    snprintf(out->message, sizeof out->message, "%s: %.300s", device_error(d, error), d->log);
    return NULL;
}

/* Starts it: what it is given is copied before this returns. */
static inline int device_start(device *d, const vyre_program *program, const vy_resolved_dispatch *launch,
                               const image *image, const vy_ptx_code *code, void *function) {
    static uint64_t addresses[VY_LIMIT_BUFFERS + 1];
    static uint32_t counts[VY_LIMIT_BUFFERS];
    static void *params[2 * VY_LIMIT_BUFFERS + VY_LIMIT_PARAMS + 1];
    uint32_t n = 0, buffers = program->buffer_count;
    for (uint32_t i = 0; i < buffers; i++) {
        addresses[i] = d->memory + image->offsets[i];
        params[n++] = &addresses[i];
    }
    for (uint32_t i = 0; i < buffers; i++) {
        counts[i] = (uint32_t)launch->buffers[i].count;
        params[n++] = &counts[i];
    }
    for (uint32_t i = 0; i < program->param_count; i++)
        params[n++] = (void *)(uintptr_t)&launch->params[i]; /* little-endian: a u32 is its lower half */
    addresses[buffers] = d->memory;
    params[n++] = &addresses[buffers];
    assert_int_equal(n, code->param_count);
    return d->launch(function, launch->groups[0], launch->groups[1], launch->groups[2], code->block[0], code->block[1],
                     code->block[2], code->dynamic_bytes, NULL, params, NULL);
}

static inline int device_launch(device *d, const vyre_program *program, const vy_resolved_dispatch *launch,
                                const image *image, const vy_ptx_code *code, void *function) {
    int error = d->to_device(d->memory, d->image, image->size);
    if (!error)
        error = device_start(d, program, launch, image, code, function);
    if (!error)
        error = d->synchronize();
    return error ? error : d->from_device(d->image, d->memory, image->size);
}

static inline void take_outcome(device *d, const vyre_program *program, const vy_resolved_dispatch *launch,
                                const image *image, outcome *out) {
    vy_launch_control control;
    memcpy(&control, d->image, sizeof control);
    out->status = control.trap_invocation != UINT64_MAX ? VYRE_TRAPPED : VYRE_OK;
    out->trap = (vyre_trap){control.trap_invocation, control.trap_code};
    out->stopped = (int)control.stopped;
    if (control.lock != 0 || !image_is_sound(d, program, launch, image)) {
        out->status = VYRE_CORRUPT;
        snprintf(out->message, sizeof out->message, "%s", control.lock ? "the lock is held" : "a guard is overwritten");
    }
    for (uint32_t i = 0; i < program->buffer_count && out->status == VYRE_OK; i++) {
        uint32_t output = launch->buffers[i].output;
        if (output == VY_NONE || output >= DEVICE_OUTPUTS)
            continue;
        assert_int_equal(vyre_bytes_resize(&out->outputs[output], launch->buffers[i].bytes, NULL), VYRE_OK);
        if (launch->buffers[i].bytes)
            memcpy(out->outputs[output].data, d->image + image->offsets[i], launch->buffers[i].bytes);
    }
}

/* Runs a legal program. An error of the device ends what this process can do with it. */
static inline void outcome_of_device(device *d, const vyre_program *legal, const vyre_arguments *arguments,
                                     uint32_t misalignment, const vy_launch_control *control, outcome *out) {
    static vy_resolved_dispatch launch;
    vyre_error error = VYRE_ERROR_INIT;
    vy_ptx_code code;
    image image = {0};
    void *function = NULL, *module;
    memset(out, 0, sizeof *out);
    out->status = vy_ptx_emit(legal, &(vy_ptx_options){.architecture = d->architecture}, &code, &error);
    if (out->status == VYRE_OK)
        out->status = vy_resolve_dispatch(legal, arguments, &launch, &error);
    if (out->status != VYRE_OK) {
        snprintf(out->message, sizeof out->message, "%s", error.message);
        vy_ptx_free(&code);
        return;
    }
    module = device_load(d, &code, &function, out);
    if (module && !image_fill(d, legal, &launch, misalignment, control, &image))
        out->status = VYRE_LIMIT;
    else if (module) {
        int failed = launch.group_count ? device_launch(d, legal, &launch, &image, &code, function) : 0;
        if (failed) {
            d->is_lost = 1;
            out->status = VYRE_DEVICE_LOST;
            snprintf(out->message, sizeof out->message, "%s", device_error(d, failed));
        } else {
            take_outcome(d, legal, &launch, &image, out);
        }
    }
    if (module && !d->is_lost)
        d->unload(module);
    vy_ptx_free(&code);
}

static inline const vy_launch_control *fresh_control(void) {
    static const vy_launch_control control = {.trap_invocation = UINT64_MAX, .deadline = UINT64_MAX};
    return &control;
}

/* What differs, or NULL. */
static inline const char *outcome_differs(const outcome *want, const outcome *got) {
    static char text[640];
    if (want->status != got->status) {
        snprintf(text, sizeof text, "status %s, must be %s: %s", vyre_status_name(got->status),
                 vyre_status_name(want->status), got->message);
        return text;
    }
    if (want->status == VYRE_TRAPPED) {
        if (want->trap.invocation == got->trap.invocation && want->trap.code == got->trap.code)
            return NULL;
        snprintf(text, sizeof text, "trap %u of %llu, must be %u of %llu", got->trap.code,
                 (unsigned long long)got->trap.invocation, want->trap.code, (unsigned long long)want->trap.invocation);
        return text;
    }
    for (int i = 0; i < DEVICE_OUTPUTS; i++) {
        const uint8_t *a = want->outputs[i].data, *b = got->outputs[i].data;
        if (want->outputs[i].size != got->outputs[i].size)
            return "sizes differ";
        for (size_t k = 0; k < want->outputs[i].size; k++)
            if (a[k] != b[k]) {
                snprintf(text, sizeof text, "output %d differs at byte %zu: %02x, must be %02x", i, k, b[k], a[k]);
                return text;
            }
    }
    return NULL;
}

#endif
