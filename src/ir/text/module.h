/* Internal parser entry points: without default dialects, and without verification. */
#ifndef VY_IR_TEXT_MODULE_H
#define VY_IR_TEXT_MODULE_H

#include "vyre/text.h"

/* Like vyre_text_parse, which calls it, but ops of dialects are unknown unless options->op_signature is set. The
 * registry uses it to parse bodies while it builds the first snapshot. */
vyre_status vy_text_parse_without_dialects(const char *text, size_t size, const vyre_parse_options *options,
                                           vyre_diagnostics *diagnostics, vyre_module **out, vyre_error *error);

/* The same for text that is known to be valid and from which another program is built immediately: it is not
 * verified and gets no fingerprint (skip_verify, ir/irbuilder.h). */
vyre_status vy_text_parse_unverified(const char *text, size_t size, const char *file, vyre_module **out,
                                     vyre_error *error);

#endif
