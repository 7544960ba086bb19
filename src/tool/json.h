/* JSON as commands write it: members of objects and elements of arrays, with commas where they belong. What was written so far ends with `{` or `[`, or with a value;
 * of an empty string nothing was. A name "" stands for none: an element. Brackets are closed by hand. */
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include "base/string.h"
#include "vyre/diagnostic.h"

/* The name alone; the value follows by hand. */
void tool_json_name(vy_string *out, const char *name);
void tool_json_text(vy_string *out, const char *name, const char *text);     /* "" for NULL */
void tool_json_optional(vy_string *out, const char *name, const char *text); /* null for NULL and "" */
void tool_json_number(vy_string *out, const char *name, uint64_t value);
void tool_json_code(vy_string *out, const char *name, int value); /* null for less than 0 */
void tool_json_flag(vy_string *out, const char *name, int value);
void tool_json_open(vy_string *out, const char *name, char bracket); /* or a quote */
/* The member `diagnostics`, a line a finding, or all on one for who is read line by line. */
void tool_json_findings(vy_string *out, const vyre_diagnostics *list, int on_one_line);

#endif
