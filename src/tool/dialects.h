/* Dialects for people: what `vyre dialects` prints of ops. */
#ifndef TOOL_DIALECTS_H
#define TOOL_DIALECTS_H

#include "tool/tool.h"
#include "vyre/dialect.h"

/* Loads the folders of VYRE_DIALECT_PATH, once. What is wrong with a manifest is printed, and the others are loaded. */
int tool_dialects_load(void);

/* "fn swap(x: u32) -> u32" */
void tool_op_signature(vy_string *out, const vyre_op_definition *op);
/* All there is to know of an op. */
void tool_op_text(vy_string *out, const vyre_op_definition *op);
void tool_op_json(vy_string *out, const vyre_op_definition *op);

#endif
