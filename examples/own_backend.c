/* An application that registers its own backend: it runs programs that only add, and selection reports why it does not
 * get others.
 *
 * This one computes through the library's interpreter; a real one would hand the program, in its wire form, to a device
 * (vyre/backend.h).
 *
 *   cc own_backend.c $(pkg-config --cflags --libs vyre) && ./a.out */
#include <vyre/vyre.h>

#include <stdio.h>
#include <string.h>

static const vyre_host *host;

static const char *adder_id(void *self) {
    (void)self;
    return "adder";
}

static vyre_status adder_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                                  vyre_outputs *outputs, vyre_error *error) {
    vyre_span spans[255]; /* a program has no more buffers */
    (void)self;
    for (size_t i = 0; i < input_count; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return host->reference_dispatch(launch, spans, input_count, outputs, error);
}

static uint64_t adder_capability(void *self, vyre_capability capability) {
    (void)self;
    return capability >= VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X && capability <= VYRE_CAPABILITY_MAX_INVOCATIONS ? 1024
                                                                                                               : 0;
}

static const char *const adder_ops[] = {"add", "load", "store", "global_id"};

static const char *const *adder_list(size_t *count) {
    *count = sizeof adder_ops / sizeof *adder_ops;
    return adder_ops;
}

static const char *const *adder_supported_ops(void *self, size_t *count) {
    (void)self;
    return adder_list(count);
}

static const vyre_backend_vtable adder_table = {.struct_size = sizeof adder_table,
                                                .abi = VYRE_BACKEND_ABI,
                                                .id = adder_id,
                                                .dispatch = adder_dispatch,
                                                .supported_ops = adder_supported_ops,
                                                .capability = adder_capability};

static vyre_status adder_create(const vyre_host *given, uint32_t ordinal, vyre_backend_instance *out,
                                vyre_error *error) {
    if (ordinal != 0)
        return given->fail(error, VYRE_NOT_FOUND, "use `adder`", "backend `adder` has one device");
    host = given;
    out->vtable = &adder_table;
    return VYRE_OK;
}

VYRE_REGISTER_BACKEND(adder, .id = "adder", .create = adder_create, .supported_ops = adder_list);
VYRE_REGISTER_PRECEDENCE(adder, .id = "adder", .rank = 10);
VYRE_REGISTER_CAPABILITY(adder, .id = "adder", .dispatches = 1);
VYRE_MODULE("own_backend");

/* Selects a backend for the program and prints what the report states about ours. */
static vyre_status show(const char *text, vyre_error *error) {
    vyre_policy policy = VYRE_POLICY_DEFAULT;
    vyre_module *module = NULL;
    vyre_backend *backend = NULL;
    vyre_selection *report = NULL;
    vyre_candidate candidate;
    vyre_status status = vyre_text_parse(text, strlen(text), NULL, NULL, &module, error);
    if (status == VYRE_OK) {
        policy.program = vyre_module_program(module, 0);
        status = vyre_select(&policy, &backend, &report, error);
    }
    for (size_t i = 0; vyre_selection_get(report, i, &candidate); i++)
        if (strcmp(candidate.id, "adder") == 0)
            printf("%s: %s%s%s\n", candidate.id, vyre_verdict_name(candidate.verdict), *candidate.reason ? ", " : "",
                   candidate.reason);
    vyre_selection_free(report);
    vyre_backend_release(backend);
    vyre_module_free(module);
    return status;
}

int main(void) {
    vyre_error error;
    char message[1200];
    vyre_status status = vyre_module_register(&vyre_this_module, &error);
    if (status == VYRE_OK)
        status = show("program sums {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n"
                      " x[global_id.x] = x[global_id.x] + 1\n}\n",
                      &error);
    if (status == VYRE_OK)
        status = show("program products {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n"
                      " x[global_id.x] = x[global_id.x] * 3\n}\n",
                      &error);
    if (status != VYRE_OK) {
        vyre_error_format(&error, message, sizeof message);
        fputs(message, stderr);
    }
    return status != VYRE_OK;
}
