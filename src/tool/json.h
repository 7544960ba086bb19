/* JSON writer for --json: members of objects and elements of arrays, with commas inserted where needed.
 *
 * The text so far is empty or ends with `{`, `[` or a value. A name "" writes an array element. The caller closes
 * brackets. */
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include "base/string.h"
#include "vyre/diagnostic.h"

/* The name only; the caller appends the value. */
void tool_json_name(vy_string *out, const char *name);
void tool_json_text(vy_string *out, const char *name, const char *text);     /* "" for NULL */
void tool_json_optional(vy_string *out, const char *name, const char *text); /* null for NULL and "" */
void tool_json_number(vy_string *out, const char *name, uint64_t value);
void tool_json_code(vy_string *out, const char *name, int value); /* null if negative */
void tool_json_flag(vy_string *out, const char *name, int value);
void tool_json_open(vy_string *out, const char *name, char bracket); /* bracket may be a quote */
/* The member `diagnostics`, with one line per diagnostic, or all on one line for line-based readers. */
void tool_json_findings(vy_string *out, const vyre_diagnostics *list, int on_one_line);

#endif
