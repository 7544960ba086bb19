/* A plug-in that is refused: the code of its op for ptx is not PTX. */
#include "vyre/dialect.h"

static const vyre_op_operand in[] = {{"x", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
static const vyre_op_operand out[] = {{"", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
static const vyre_lowering code[] = {{.target = "ptx", .data = "THIS IS NOT PTX", .size = 15}};

VYRE_REGISTER_OP(good, .id = "lowered.good", .inputs = in, .outputs = out, .input_count = 1, .output_count = 1,
                 .source = "fn good(x: u32) -> u32 { return x }\n");
VYRE_REGISTER_OP(twice, .id = "lowered.twice", .category = VYRE_CATEGORY_INTRINSIC, .inputs = in, .outputs = out,
                 .lowerings = code, .input_count = 1, .output_count = 1, .lowering_count = 1,
                 .source = "fn twice(x: u32) -> u32 { return x + x }\n");
VYRE_PLUGIN("lowering");
