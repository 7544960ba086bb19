/* Source text: one block of memory holds the table of line starts, the name and the text. */
#include "base/source.h"

#include <stdatomic.h>

struct vy_source {
    atomic_uint references;
    uint32_t line_count;
    size_t block_size, size;
    char *name, *text;
    uint32_t starts[]; /* of each line, and the end of the text */
};

static uint32_t count_lines(const char *text, size_t size) {
    uint32_t lines = 0;
    const char *end = text + size;
    for (const char *at = text; at < end; lines++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return lines;
}

static void fill_starts(vy_source *source) {
    const char *end = source->text + source->size, *at = source->text;
    for (uint32_t line = 0; line < source->line_count; line++) {
        source->starts[line] = (uint32_t)(at - source->text);
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    source->starts[source->line_count] = (uint32_t)source->size;
}

vy_source *vy_source_new(const char *name, const char *text, size_t size) {
    if (size > UINT32_MAX - 1)
        return NULL;
    name = name ? name : "";
    uint32_t lines = size ? count_lines(text, size) : 0;
    size_t name_size = strlen(name) + 1, starts = ((size_t)lines + 1) * sizeof(uint32_t);
    size_t block_size = sizeof(vy_source) + starts + name_size + size + 1;
    vy_source *source = vy_allocate(block_size);
    if (!source)
        return NULL;
    *source = (vy_source){.references = 1, .line_count = lines, .block_size = block_size, .size = size};
    source->name = (char *)source->starts + starts;
    source->text = source->name + name_size;
    memcpy(source->name, name, name_size);
    if (size)
        memcpy(source->text, text, size);
    source->text[size] = 0;
    fill_starts(source);
    return source;
}

vy_source *vy_source_retain(vy_source *source) {
    if (source)
        atomic_fetch_add_explicit(&source->references, 1, memory_order_relaxed);
    return source;
}

void vy_source_release(vy_source *source) {
    if (source && atomic_fetch_sub_explicit(&source->references, 1, memory_order_acq_rel) == 1)
        vy_release(source, source->block_size);
}

const char *vy_source_name(const vy_source *source) {
    return source ? source->name : "";
}

const char *vy_source_text(const vy_source *source, size_t *size) {
    *size = source ? source->size : 0;
    return source ? source->text : "";
}

const char *vy_source_line(const vy_source *source, uint32_t line, size_t *length) {
    *length = 0;
    if (!source || line == 0 || line > source->line_count)
        return NULL;
    const char *start = source->text + source->starts[line - 1], *end = source->text + source->starts[line];
    if (end > start && end[-1] == '\n') {
        end--;
        if (end > start && end[-1] == '\r')
            end--;
    }
    *length = (size_t)(end - start);
    return start;
}

vy_position vy_source_position(const vy_source *source, size_t offset, size_t length) {
    vy_position position = {1, 1, length > UINT32_MAX ? UINT32_MAX : (uint32_t)length};
    if (!source || source->line_count == 0)
        return position;
    if (offset > source->size)
        offset = source->size;
    uint32_t low = 0, high = source->line_count; /* starts[low] <= offset; the answer is below high */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (source->starts[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    /* The end of a text that ends a line is the start of a line that has no text yet. */
    if (offset == source->size && offset > 0 && source->text[offset - 1] == '\n') {
        position.line = source->line_count + 1;
        return position;
    }
    position.line = low + 1;
    position.column = (uint32_t)(offset - source->starts[low]) + 1;
    return position;
}
