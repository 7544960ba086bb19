/* Parsers for the library itself: without default dialects, and without validation. */
#ifndef VY_IR_TEXT_MODULE_H
#define VY_IR_TEXT_MODULE_H

#include "vyre/text.h"

/* As vyre_text_parse, which calls it; without options->op_signature no op of a dialect is known. For the registry, which
 * parses bodies while it makes the first snapshot. */
vyre_status vy_text_parse_without_dialects(const char *text, size_t size, const vyre_parse_options *options,
                                           vyre_diagnostics *diagnostics, vyre_module **out, vyre_error *error);

/* The same, of text that is valid for certain and from which another program is made at once: the validator does not
 * look at it, and it gets no fingerprint (skip_verify, ir/irbuilder.h). */
vyre_status vy_text_parse_unverified(const char *text, size_t size, const char *file, vyre_module **out,
                                     vyre_error *error);

#endif
