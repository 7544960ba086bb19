// A plug-in in C++11: every registration macro, compiled by driver.registry_plugins.
#include <vyre/dialect.h>

static const char *const ops[] = {"add", "load", "store", "global_id"};

static const char *const *list(size_t *count) {
    *count = sizeof ops / sizeof *ops;
    return ops;
}

static vyre_status create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    (void)ordinal, (void)out;
    return host->fail(error, VYRE_UNSUPPORTED, nullptr, "this backend has no device");
}

static const vyre_op_operand in[] = {{"x", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
static const vyre_op_operand result[] = {{"", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};

VYRE_REGISTER_BACKEND(cpp, .id = "cpp11", .create = create, .supported_ops = list);
VYRE_REGISTER_PRECEDENCE(cpp, .id = "cpp11", .rank = 77);
VYRE_REGISTER_CAPABILITY(cpp, .id = "cpp11", .dispatches = 1);
VYRE_REGISTER_OP(twice, .id = "cpp11.twice", .inputs = in, .outputs = result, .input_count = 1, .output_count = 1,
                 .source = "fn twice(x: u32) -> u32 { return x + x }");
VYRE_REGISTER_EXTERN_DIALECT(theirs, .name = "cpp11-extern", .version = "0.4.1", .url = "https://example.invalid/cpp");
VYRE_REGISTER_EXTERN_OP(sum, .dialect = "cpp11-extern", .id = "cpp11-extern::sum");
VYRE_PLUGIN("cpp11");
