/* An example of a backend plug-in: copy this folder and replace what runs the program.
 *
 * `echo` hands every dispatch to the library's own interpreter through the host, so it gives the right bits and is
 * slow. It includes one header and links against nothing. What it leaves out of its table has a default, which
 * vyre/backend.h tells entry by entry.
 *
 *   make                                          # echo.so
 *   VYRE_PLUGINS=$PWD/echo.so my-program          # any program that uses libvyre now knows the backend `echo` */
#include <vyre/backend.h>

/* One instance: what a real backend keeps of its device. */
typedef struct echo {
    const vyre_host *host;
} echo;

static const char *echo_id(void *self) {
    (void)self;
    return "echo";
}

static const char *echo_version(void *self) {
    (void)self;
    return "1.0";
}

/* Takes its inputs where they are; nothing is copied. */
static vyre_status echo_dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                          size_t input_count, vyre_outputs *outputs, vyre_error *error) {
    echo *echo = self;
    return echo->host->reference_dispatch(launch, inputs, input_count, outputs, error);
}

/* The one entry every backend must have. The memory of the spans comes from the host, and may not. */
static vyre_status echo_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                                 vyre_outputs *outputs, vyre_error *error) {
    echo *echo = self;
    const size_t size = (input_count + 1) * sizeof(vyre_span);
    vyre_span *spans = echo->host->allocate(size);
    if (!spans)
        return echo->host->fail(error, VYRE_NO_MEMORY, NULL, "no host memory for the inputs of a dispatch");
    for (size_t i = 0; i < input_count; i++) {
        spans[i].data = inputs[i].data;
        spans[i].size = inputs[i].size;
    }
    vyre_status status = echo_dispatch_borrowed(self, launch, spans, input_count, outputs, error);
    echo->host->release(spans, size);
    return status;
}

/* A limit that is left out is the smallest there can be, so say what you can do. */
static uint64_t echo_capability(void *self, vyre_capability capability) {
    (void)self;
    switch (capability) {
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X:
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y:
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z:
    case VYRE_CAPABILITY_MAX_INVOCATIONS:
        return 1024;
    case VYRE_CAPABILITY_MAX_WORKGROUPS:
        return UINT32_MAX;
    case VYRE_CAPABILITY_SUBGROUP_OPS:
        return 1;
    case VYRE_CAPABILITY_SUBGROUP_SIZE: /* the interpreter runs a subgroup of any width up to that as one */
        return 64;
    default:
        return 0;
    }
}

static void echo_destroy(void *self) {
    echo *echo = self;
    echo->host->release(echo, sizeof *echo);
}

static const vyre_backend_vtable echo_table = {
    .struct_size = sizeof echo_table,
    .abi = VYRE_BACKEND_ABI,
    .id = echo_id,
    .dispatch = echo_dispatch,
    .version = echo_version,
    .dispatch_borrowed = echo_dispatch_borrowed,
    .capability = echo_capability,
    .destroy = echo_destroy,
};

/* Device 0 is the only one there is. */
static vyre_status echo_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    if (ordinal != 0)
        return host->fail(error, VYRE_NOT_FOUND, "address `echo`, or `echo#0`", "there is one device (0)");
    echo *echo = host->allocate(sizeof *echo);
    if (!echo)
        return host->fail(error, VYRE_NO_MEMORY, NULL, "no host memory for the backend `echo`");
    echo->host = host;
    out->vtable = &echo_table;
    out->self = echo;
    return VYRE_OK;
}

/* Says whether a constructor would succeed, without starting anything. */
static void echo_probe(const vyre_host *host, vyre_probe *out) {
    (void)host;
    out->answer = VYRE_PROBE_YES;
    out->device_class = VYRE_DEVICE_CPU;
    out->device_count = 1;
}

VYRE_REGISTER_BACKEND(echo, .id = "echo", .create = echo_create, .probe = echo_probe);
VYRE_REGISTER_PRECEDENCE(echo, .id = "echo", .rank = 900);
VYRE_REGISTER_CAPABILITY(echo, .id = "echo", .dispatches = 1);
VYRE_PLUGIN("echo");
