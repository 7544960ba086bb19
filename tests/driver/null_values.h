/* Valid arguments for calls of every public function, as tests/driver/null_values.def names them.
 *
 * Each is made again for every call, in writable memory, so that a call may consume it and a test may spoil it. Nothing
 * is freed: the calls are made in child processes. */
#ifndef VY_TESTS_DRIVER_NULL_VALUES_H
#define VY_TESTS_DRIVER_NULL_VALUES_H

#include "driver/plugin.h"
#include "support/test.h"
#include "vyre/vyre.h"

#include <unistd.h>

static const char *backend_id = "reference";
static char temporary_folder[64];
static vyre_error the_error;

/* A claim about the test itself. */
static inline void need(int claim, const char *what) {
    if (claim)
        return;
    printf("cannot make a valid %s: %s\n", what, the_error.message);
    fflush(stdout);
    _exit(2);
}
#define NEED(status, what) need((status) == VYRE_OK, what)

static inline const char *temporary(const char *name) {
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", temporary_folder, name);
    return path;
}

/* ---- programs ---- */

/* Four buffers, one of each access; three inputs, two outputs, one count to name, one param. */
static const char source[] = "program four {\n"
                             "  param k : u32\n"
                             "  buffer a : u32 read\n"
                             "  buffer b : u32 uniform\n"
                             "  buffer x : u32 read_write\n"
                             "  buffer y : u32 write\n"
                             "  workgroup 1\n"
                             "  grid 1\n"
                             "  x[0] = a[0] + b[0] * k\n"
                             "  y[0] = a[1]\n"
                             "}\n";
static const char library_source[] = "fn twice(x: u32) -> u32 { return x + x }\n";

static inline vyre_module *module(void) {
    vyre_module *out = NULL;
    NEED(vyre_text_parse(source, sizeof source - 1, NULL, NULL, &out, &the_error), "module");
    return out;
}

static inline vyre_module *library_module(void) {
    vyre_module *out = NULL;
    NEED(vyre_text_parse(library_source, sizeof library_source - 1, NULL, NULL, &out, &the_error), "module");
    return out;
}

static inline vyre_program *program(void) {
    return vyre_program_retain(vyre_module_program(module(), 0));
}

static inline vyre_program *library(void) {
    return vyre_program_retain(vyre_module_library(library_module()));
}

static inline vyre_bytes wire(void) {
    vyre_bytes out = VYRE_BYTES_INIT;
    NEED(vyre_wire_encode(program(), 0, &out, &the_error), "wire form");
    return out;
}

static inline vyre_parse_options *parse_options(void) {
    static vyre_parse_options options;
    static vyre_dialects_guard guard;
    guard = vyre_dialects_acquire();
    options =
        (vyre_parse_options){.file = "test", .op_signature = vyre_dialects_op_signature, .op_signature_user = &guard};
    return &options;
}

static inline void observe(void *user, const vyre_pass_run *run, const vyre_program *after) {
    (void)user, (void)run, (void)after;
}

static inline vyre_optimize_options *optimize_options(void) {
    static const vyre_pass passes[] = {VYRE_PASS_CONST_FOLD};
    static vyre_optimize_options options;
    options = (vyre_optimize_options){.passes = passes, .pass_count = 1, .observer = observe};
    return &options;
}

static inline vyre_diagnostics *diagnostics(void) {
    return vyre_diagnostics_new();
}

static inline vyre_diagnostics *diagnostics_of_one(void) {
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_module *out = NULL;
    vyre_text_parse("?", 1, NULL, list, &out, NULL);
    return list;
}

/* ---- dispatch ---- */

static uint32_t words[4] = {1, 2, 3, 4}, more_words[2][4];
static int64_t shape[1] = {4};

static inline vyre_span *spans(void) {
    static vyre_span spans[3];
    spans[0] = (vyre_span){words, sizeof words};
    spans[1] = (vyre_span){more_words[0], sizeof words};
    spans[2] = (vyre_span){more_words[1], sizeof words};
    return spans;
}

static inline vyre_arguments *arguments(void) {
    static vyre_arguments arguments;
    static vyre_scalar params[1];
    static uint64_t counts[1] = {4};
    params[0] = vyre_scalar_u32(3);
    arguments = (vyre_arguments){
        .params = params, .param_count = 1, .inputs = spans(), .input_count = 3, .counts = counts, .count_count = 1};
    return &arguments;
}

static inline vyre_bytes *owned_inputs(void) {
    static vyre_bytes inputs[3];
    memset(inputs, 0, sizeof inputs);
    for (int i = 0; i < 3; i++)
        NEED(vyre_bytes_resize(&inputs[i], sizeof words, &the_error), "input");
    return inputs;
}

static inline vyre_bytes *bytes(void) {
    static vyre_bytes bytes;
    bytes = (vyre_bytes){vy_host_services.allocate(sizeof words), 0, sizeof words};
    return &bytes;
}

static inline vyre_bytes *two_bytes(void) {
    static vyre_bytes bytes[2];
    memset(bytes, 0, sizeof bytes);
    return bytes;
}

static inline vyre_outputs *outputs(void) {
    static vyre_outputs outputs;
    outputs = (vyre_outputs){vy_host_services.allocate(2 * sizeof(vyre_bytes)), 0, 2};
    memset(outputs.items, 0, 2 * sizeof(vyre_bytes));
    return &outputs;
}

static inline vyre_outputs *two_outputs(void) {
    static vyre_outputs outputs;
    outputs = (vyre_outputs){two_bytes(), 2, 2};
    return &outputs;
}

static inline vyre_dispatch_config *config(void) {
    static vyre_dispatch_config config;
    config = (vyre_dispatch_config){.label = "test"};
    return &config;
}

static inline vyre_policy *policy(void) {
    static vyre_policy policy;
    policy = (vyre_policy){.only = backend_id};
    return &policy;
}

static inline vyre_emit_options *emit_options(void) {
    static vyre_emit_options options;
    options = (vyre_emit_options)VYRE_EMIT_OPTIONS_INIT;
    options.arch = "sm_80";
    return &options;
}

static inline vyre_compile_options *compile_options(void) {
    static vyre_compile_options options;
    options = (vyre_compile_options){.struct_size = sizeof options};
    return &options;
}

static vyre_backend *the_backend;
static inline vyre_backend *backend(void) {
    if (!the_backend)
        NEED(vyre_acquire(backend_id, &the_backend, &the_error), "backend");
    return vyre_backend_retain(the_backend);
}

static inline vyre_pipeline *pipeline(void) {
    vyre_pipeline *out = NULL;
    NEED(vyre_compile(backend(), program(), NULL, &out, &the_error), "pipeline");
    return out;
}

static inline vyre_kernel *kernel(void) {
    vyre_bytes bytes = wire();
    vyre_kernel *out = NULL;
    NEED(vyre_kernel_open_on(backend(), bytes.data, bytes.size, &out, &the_error), "kernel");
    return out;
}

static inline vyre_scalar *scalars(void) {
    static vyre_scalar one;
    one = vyre_scalar_u32(3);
    return &one;
}

static inline vyre_geometry *geometry(void) {
    static vyre_geometry as_the_program_says;
    return &as_the_program_says;
}

static inline vyre_kernel_buffer *kernel_buffers(void) {
    static vyre_kernel_buffer buffers[4];
    static uint32_t made[4];
    buffers[0] = (vyre_kernel_buffer){.data = words, .count = 4};
    buffers[1] = (vyre_kernel_buffer){.data = more_words[0], .count = 4};
    buffers[2] = (vyre_kernel_buffer){.data = more_words[1], .count = 4};
    buffers[3] = (vyre_kernel_buffer){.data = made, .count = 4};
    return buffers;
}

static inline vyre_pending *pending(void) {
    vyre_pending *out = NULL;
    NEED(vyre_backend_dispatch_async(backend(), program(), arguments(), NULL, &out, &the_error), "pending dispatch");
    return out;
}

static inline vyre_completions *queue(void) {
    vyre_completions *out = NULL;
    NEED(vyre_completions_new(&out, &the_error), "queue");
    return out;
}

static inline vyre_completions *queue_of_one(void) {
    vyre_completions *out = queue();
    NEED(vyre_completions_attach(out, pending(), 1, &the_error), "queue");
    return out;
}

static inline vyre_selection *selection(void) {
    vyre_selection *report = NULL;
    vyre_backend *out = NULL;
    NEED(vyre_select(policy(), &out, &report, &the_error), "selection");
    return report;
}

static inline vyre_resident resident(void) {
    vyre_resident out = {0, 0};
    NEED(vyre_resident_allocate(backend(), sizeof words, NULL, &out, &the_error), "resident buffer");
    return out;
}

static inline vyre_resident exported(void) {
    vyre_resident out = resident();
    vyre_memory_location location;
    NEED(vyre_resident_export(backend(), out, &location, &the_error), "export");
    return out;
}

static vyre_resource two_resources[2];
static inline vyre_resource *bindings(void) {
    static vyre_resource bindings[4];
    for (int i = 0; i < 4; i++)
        bindings[i] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = resident()};
    return bindings;
}

static inline const vyre_resource **binding_rows(void) {
    static const vyre_resource *rows[1];
    rows[0] = bindings();
    return rows;
}

static inline const vyre_resource (*binding_table(void))[4] {
    return (const vyre_resource(*)[4])bindings();
}

static inline vyre_transfer *transfer(void) {
    static vyre_transfer transfer;
    transfer = (vyre_transfer){.resident = resident(), .size = sizeof words, .host = words};
    return &transfer;
}

static inline vyre_readback *readback(void) {
    static vyre_readback readback;
    readback = (vyre_readback){.resident = resident(), .size = sizeof words, .host = words};
    return &readback;
}

static inline vyre_step *step(void) {
    static vyre_step step;
    step = (vyre_step){.pipeline = pipeline(), .bindings = bindings(), .binding_count = 4, .arguments = arguments()};
    return &step;
}

static inline vyre_numerics_profile *numerics_profile(void) {
    static vyre_numerics_profile profile;
    profile = (vyre_numerics_profile){.struct_size = sizeof profile};
    return &profile;
}

static inline vyre_device_profile *device_profile(void) {
    static vyre_device_profile profile;
    profile = (vyre_device_profile){.struct_size = sizeof profile};
    return &profile;
}

static inline vyre_foreign *foreign(void) {
    static vyre_foreign foreign;
    foreign =
        (vyre_foreign){.struct_size = sizeof foreign, .location = {.address = (uintptr_t)words}, .size = sizeof words};
    return &foreign;
}

static unsigned deleted; /* tensors that were given and ended */
static inline void delete_managed(vyre_dl_managed *self) {
    (void)self, deleted++;
}
static inline void delete_versioned(vyre_dl_versioned *self) {
    (void)self, deleted++;
}

static inline vyre_dl_tensor tensor(void) {
    return (vyre_dl_tensor){.data = words,
                            .device_type = VYRE_LOCATION_HOST,
                            .ndim = 1,
                            .code = VYRE_DL_UINT,
                            .bits = 32,
                            .lanes = 1,
                            .shape = shape};
}

static inline vyre_dl_managed *managed_tensor(void) {
    static vyre_dl_managed managed;
    managed = (vyre_dl_managed){.tensor = tensor(), .deleter = delete_managed};
    return &managed;
}

static inline vyre_dl_versioned *versioned_tensor(void) {
    static vyre_dl_versioned versioned;
    versioned = (vyre_dl_versioned){.major = 1, .tensor = tensor(), .deleter = delete_versioned};
    return &versioned;
}

static inline vyre_launch *launch(void) {
    static vyre_launch launch;
    static vyre_scalar params[1];
    static uint64_t elements[4] = {4, 4, 4, 4};
    static vyre_trap trap;
    params[0] = vyre_scalar_u32(3);
    launch = (vyre_launch){.struct_size = sizeof launch,
                           .program = program(),
                           .params = params,
                           .param_count = 1,
                           .elements = elements,
                           .buffer_count = 4,
                           .groups = {1, 1, 1},
                           .label = "",
                           .trap = &trap};
    return &launch;
}

static inline vyre_oracle *oracle(void) {
    vyre_oracle *out = NULL;
    NEED(vyre_oracle_new(program(), &out, &the_error), "oracle");
    return out;
}

static inline void print_sink(void *user, uint64_t invocation, const char *text) {
    (void)user, (void)invocation, (void)text;
}

static inline vyre_oracle_options *oracle_options(void) {
    static vyre_oracle_options options;
    options = (vyre_oracle_options){.threads = 1, .checks = VYRE_CHECK_ALL, .print = print_sink};
    return &options;
}

/* ---- base ---- */

static inline vyre_digest *digest(void) {
    static vyre_digest digest;
    digest = (vyre_digest){{1, 2, 3}};
    return &digest;
}

static inline void *block(void) {
    return vy_host_services.allocate(16);
}

static inline void *allocate_block(void *user, size_t size) {
    (void)user;
    return malloc(size);
}
static inline void *resize_block(void *user, void *memory, size_t old_size, size_t new_size) {
    (void)user, (void)old_size;
    return realloc(memory, new_size);
}
static inline void release_block(void *user, void *memory, size_t size) {
    (void)user, (void)size;
    free(memory);
}

static inline vyre_allocator *allocator(void) {
    static vyre_allocator allocator;
    allocator = (vyre_allocator){NULL, allocate_block, resize_block, release_block};
    return &allocator;
}

static inline const char *trace_path(void) {
    NEED(vyre_trace_stop(&the_error), "trace");
    return temporary("trace.json");
}

static inline int visit(void *user, const vyre_cache_entry *entry) {
    (void)user, (void)entry;
    return 0;
}

static inline vyre_cache_filter *filter(void) {
    static vyre_cache_filter filter;
    filter = (vyre_cache_filter){.backend = "none"};
    return &filter;
}

static inline void sink(void *user, int level, const char *from, const char *message) {
    (void)user, (void)level, (void)from, (void)message;
}

static inline void plugin_report(void *user, const char *path, vyre_status status, const vyre_error *error) {
    (void)user, (void)path, (void)status, (void)error;
}

VYRE_MODULE("null test");
static inline vyre_module_descriptor *descriptor(void) {
    static vyre_module_descriptor descriptors[32]; /* a module stays for the life of the process */
    static unsigned next;
    vyre_module_descriptor *descriptor = &descriptors[next++ % 32];
    *descriptor = vyre_this_module;
    return descriptor;
}

/* ---- dialects ---- */

static const char manifest_text[] = "dialect = \"nulls\"\n"
                                    "version = \"1.0.0\"\n"
                                    "[[op]]\n"
                                    "id = \"twice\"\n"
                                    "signature = \"fn twice(x: u32) -> u32\"\n"
                                    "body = \"fn twice(x: u32) -> u32 { return x + x }\"\n";

static inline vyre_dialects_guard guard(void) {
    return vyre_dialects_acquire();
}

static inline vyre_dialects_guard *guard_address(void) {
    static vyre_dialects_guard guard;
    guard = vyre_dialects_acquire();
    return &guard;
}

static inline vyre_op_id op_with_laws(void) {
    vyre_op_id id = 0;
    NEED(vyre_op_intern("bits.low_mask_u32", 17, &id, &the_error), "op id");
    return id;
}

static inline vyre_dialect_builder *dialect_builder(void) {
    vyre_dialect_builder *out = NULL;
    NEED(vyre_dialect_builder_new(&out, &the_error), "dialect builder");
    return out;
}

static inline vyre_dialect *dialect(void) {
    static vyre_dialect dialect;
    dialect = (vyre_dialect){sizeof dialect, "tests", "1.0.0", "for tests", "test"};
    return &dialect;
}

static inline vyre_op_definition *op_definition(void) {
    static vyre_op_definition op;
    static vyre_op_operand input, output;
    static vyre_attribute attribute;
    static vyre_lowering lowering;
    static vyre_law law;
    input = (vyre_op_operand){.name = "x", .type = VYRE_TYPE_U32};
    output = (vyre_op_operand){.name = "", .type = VYRE_TYPE_U32};
    attribute = (vyre_attribute){.name = "n", .type = VYRE_TYPE_U32, .has_default = 1, .value = 1};
    lowering = (vyre_lowering){.target = "tests-device", .data = "mov", .size = 3};
    law = (vyre_law){.kind = VYRE_LAW_MONOTONE};
    op = (vyre_op_definition){.struct_size = sizeof op,
                              .id = "tests.same",
                              .dialect = "tests",
                              .version = "1.0.0",
                              .doc = "for tests",
                              .inputs = &input,
                              .input_count = 1,
                              .outputs = &output,
                              .output_count = 1,
                              .attributes = &attribute,
                              .attribute_count = 1,
                              .laws = &law,
                              .law_count = 1,
                              .lowerings = &lowering,
                              .lowering_count = 1,
                              .source = "fn same(x: u32, n: u32) -> u32 { return x }",
                              .function = "same"};
    return &op;
}

static inline const vyre_op_definition **op_definitions(void) {
    static const vyre_op_definition *ops[1];
    ops[0] = op_definition();
    return ops;
}

static inline vyre_status no_change(vyre_dialect_builder *builder, void *user, vyre_error *error) {
    (void)builder, (void)user, (void)error;
    return VYRE_OK;
}

static inline const char *loaded_owner(void) {
    NEED(vyre_dialects_load_text("test", manifest_text, sizeof manifest_text - 1, NULL, &the_error), "manifest");
    return "test";
}

static inline const char *manifest_folder(void) {
    return temporary("manifests");
}

static inline const char *manifest(void) {
    return temporary("manifests/nulls.toml");
}

static inline vyre_dialects_watch_options *watch_options(void) {
    static vyre_dialects_watch_options options;
    static const char *folders[1];
    folders[0] = manifest_folder();
    options = (vyre_dialects_watch_options)VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    options.folders = folders, options.folder_count = 1, options.is_manual = 1;
    return &options;
}

static inline vyre_dialects_watcher *watcher(void) {
    vyre_dialects_watcher *out = NULL;
    NEED(vyre_dialects_watch(watch_options(), &out, &the_error), "watcher");
    return out;
}

/* ---- the builder: made once for each call, with what it holds ---- */

static struct {
    vyre_builder *builder; /* to be finished after the call; NULL if the call has none */
    vyre_memory memory;
    vyre_value value;
    vyre_size size;
} built;
static const char *names[1] = {"r"};
static const vyre_type types[1] = {VYRE_TYPE_U32};

static inline vyre_builder *builder(void) {
    if (built.builder)
        return built.builder;
    vyre_builder *b = built.builder = vyre_builder_new("test");
    built.memory = vyre_buffer(b, "m", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    built.value = vyre_param(b, "p", VYRE_TYPE_U32);
    built.size = vyre_size_len(b, built.memory);
    return b;
}

static inline vyre_builder *builder_in_function(void) {
    vyre_builder *b = builder();
    vyre_builder_begin_function(b, "g");
    vyre_builder_result(b, "", VYRE_TYPE_U32);
    return b;
}

static inline vyre_memory built_memory(void) {
    return builder(), built.memory;
}
static inline vyre_value built_value(void) {
    return builder(), built.value;
}
static inline vyre_value *built_values(void) {
    static vyre_value values[1];
    values[0] = built_value();
    return values;
}
static inline vyre_size built_size(void) {
    return builder(), built.size;
}
static inline vyre_function built_function(void) {
    vyre_builder *b = builder();
    vyre_function function = vyre_builder_begin_function(b, "f");
    vyre_value parameter = vyre_param(b, "q", VYRE_TYPE_U32);
    vyre_builder_result(b, "", VYRE_TYPE_U32);
    vyre_builder_return(b, &parameter, 1);
    vyre_builder_end_function(b);
    return function;
}
static inline vyre_operand *built_operands(void) {
    static vyre_operand operands[1];
    operands[0] = vyre_operand_value(built_value());
    return operands;
}

#endif
