/* A plug-in with two backends that run `add` and not `mul`. `adds` lists its ops in its registration, so that selection
 * reads them without constructing it; `adds-late` lists them in its table only. Both run every program they receive, on
 * the host's interpreter: an op that they do not list reaches them only if the library passes it on. */
#include <vyre/backend.h>

static const char *const ops[] = {"add", "load", "store", "global_id"};

typedef struct adds {
    const vyre_host *host;
    const char *id;
} adds;

static const char *const *list(size_t *count) {
    *count = sizeof ops / sizeof *ops;
    return ops;
}

static const char *const *list_of_instance(void *self, size_t *count) {
    (void)self;
    return list(count);
}

static const char *id(void *self) {
    return ((adds *)self)->id;
}

static vyre_status dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                     vyre_outputs *outputs, vyre_error *error) {
    return ((adds *)self)->host->reference_dispatch(launch, inputs, input_count, outputs, error);
}

/* Required; not called, since dispatch_borrowed is there. */
static vyre_status dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error) {
    (void)launch, (void)inputs, (void)input_count, (void)outputs;
    return ((adds *)self)->host->fail(error, VYRE_UNSUPPORTED, NULL, "inputs are borrowed");
}

static uint64_t capability(void *self, vyre_capability capability) {
    (void)self;
    return capability >= VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X && capability <= VYRE_CAPABILITY_MAX_INVOCATIONS ? 64 : 0;
}

static void destroy(void *self) {
    adds *adds = self;
    adds->host->release(adds, sizeof *adds);
}

static const vyre_backend_vtable table = {
    .struct_size = sizeof table,
    .abi = VYRE_BACKEND_ABI,
    .id = id,
    .dispatch = dispatch,
    .supported_ops = list_of_instance,
    .dispatch_borrowed = dispatch_borrowed,
    .capability = capability,
    .destroy = destroy,
};

static vyre_status create(const char *name, const vyre_host *host, vyre_backend_instance *out, vyre_error *error) {
    adds *made = host->allocate(sizeof *made);
    if (!made)
        return host->fail(error, VYRE_NO_MEMORY, NULL, "no host memory for a backend");
    made->host = host;
    made->id = name;
    out->vtable = &table;
    out->self = made;
    return VYRE_OK;
}

static vyre_status create_adds(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    (void)ordinal;
    return create("adds", host, out, error);
}

static vyre_status create_late(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    (void)ordinal;
    return create("adds-late", host, out, error);
}

static void probe(const vyre_host *host, vyre_probe *out) {
    (void)host;
    out->answer = VYRE_PROBE_YES;
    out->device_class = VYRE_DEVICE_GPU;
    out->device_count = 1;
}

VYRE_REGISTER_BACKEND(adds, .id = "adds", .create = create_adds, .supported_ops = list, .probe = probe);
VYRE_REGISTER_PRECEDENCE(adds, .id = "adds", .rank = 1);
VYRE_REGISTER_CAPABILITY(adds, .id = "adds", .dispatches = 1);
VYRE_REGISTER_BACKEND(late, .id = "adds-late", .create = create_late, .probe = probe);
VYRE_REGISTER_PRECEDENCE(late, .id = "adds-late", .rank = 2);
VYRE_REGISTER_CAPABILITY(late, .id = "adds-late", .dispatches = 1);
VYRE_PLUGIN("adds");
