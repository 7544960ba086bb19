/* Buffers for people: tables of values, hex dumps, summaries; and the same as JSON. */
#ifndef TOOL_PRINT_BUFFER_H
#define TOOL_PRINT_BUFFER_H

#include "tool/tool.h"
#include "vyre/type.h"

typedef struct tool_buffer_view {
    const char *name;
    vyre_type type;
    const void *data;
    size_t size;
} tool_buffer_view;

/* Adds a heading and rows of values, each row with the index of its first element. More rows than `limit` (0 = no limit) are cut in the
 * middle, and then smallest and largest value and the digest of all bytes are added. */
void tool_print_buffer_values(vy_string *out, const tool_buffer_view *buffer, uint64_t limit);
/* Adds the bytes, 16 a row, cut likewise. */
void tool_print_buffer_hex(vy_string *out, const tool_buffer_view *buffer, uint64_t limit);
/* Adds {"name":…,"type":…,"count":…,"digest":…,"values":[…]}; with hex, values are strings of their bits. */
void tool_print_buffer_json(vy_string *out, const tool_buffer_view *buffer, int hex);

#endif
