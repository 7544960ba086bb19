/* Source text: a named copy of a text that diagnostics point into.
 *
 * Reference counted and immutable, so any thread may hold and read one; whoever made or retained it releases it. */
#ifndef VY_BASE_SOURCE_H
#define VY_BASE_SOURCE_H

#include "base/memory.h"

/* A place in a source. line and column count from 1 and columns count bytes; length is the width in bytes. All zero: no
 * place. */
typedef struct vy_position {
    uint32_t line, column, length;
} vy_position;

typedef struct vy_source vy_source;

/* Copies name and text (any bytes, NULs too; at most 2^32 - 2 of them). NULL when memory is out or the text is larger
 * than that. */
vy_source *vy_source_new(const char *name, const char *text, size_t size);
/* Returns its argument. NULL is ignored by both. */
vy_source *vy_source_retain(vy_source *source);
void vy_source_release(vy_source *source);

/* "" for a NULL source. The text is NUL-terminated, whatever it contains. */
const char *vy_source_name(const vy_source *source);
const char *vy_source_text(const vy_source *source, size_t *size);

/* The text of a line without its end ("\n" or "\r\n"), not NUL-terminated; NULL with length 0 if there is no such line.
 * Constant time: a line that ends the text without a newline counts, an empty one after the last newline does not. */
const char *vy_source_line(const vy_source *source, uint32_t line, size_t *length);
/* The line and column of a byte offset (the end of the text for one beyond it), in O(log lines). */
vy_position vy_source_position(const vy_source *source, size_t offset, size_t length);

#endif
