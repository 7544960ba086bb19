/* A plug-in that brings a dialect, an op with a body, one with code for a target of its own, and an op in a dialect of
 * somebody else. */
#include "vyre/dialect.h"

static const vyre_op_operand in[] = {{"x", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
static const vyre_op_operand out[] = {{"", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};

VYRE_REGISTER_OP(twice, .id = "plugged.twice", .inputs = in, .outputs = out, .input_count = 1, .output_count = 1,
                 .source = "fn twice(x: u32) -> u32 { return x + x }\n");
static const vyre_lowering code[] = {{.target = "photonic:v2", .data = "dbl", .size = 3}};
VYRE_REGISTER_OP(doubled, .id = "plugged.doubled", .category = VYRE_CATEGORY_INTRINSIC, .inputs = in, .outputs = out,
                 .lowerings = code, .input_count = 1, .output_count = 1, .lowering_count = 1,
                 .source = "fn doubled(x: u32) -> u32 { return x + x }\n");
VYRE_REGISTER_EXTERN_DIALECT(foreign, .name = "foreign", .version = "0.4.1", .url = "https://example.invalid/foreign");
VYRE_REGISTER_EXTERN_OP(dummy, .dialect = "foreign", .id = "foreign.dummy", .doc = "Nothing yet.");
VYRE_PLUGIN("dialect");
