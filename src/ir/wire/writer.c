/* Growth of a writer (writer.h). */
#include "ir/wire/writer.h"

int vy_wire_writer_grow(vy_wire_writer *writer, size_t n) {
    if (writer->status != VYRE_OK)
        return 0;
    if (n > VY_LIMIT_WIRE_BYTES || writer->size > VY_LIMIT_WIRE_BYTES - n) {
        writer->status = VYRE_LIMIT;
        return 0;
    }
    size_t capacity = writer->size + n + writer->capacity + 64; /* at least doubles */
    uint8_t *data = writer->borrowed ? vy_allocate(capacity) : vy_resize(writer->data, writer->capacity, capacity);
    if (!data) {
        writer->status = VYRE_NO_MEMORY;
        return 0;
    }
    if (writer->borrowed)
        memcpy(data, writer->data, writer->size);
    writer->data = data;
    writer->capacity = capacity;
    writer->borrowed = 0;
    return 1;
}

void vy_wire_writer_free(vy_wire_writer *writer) {
    if (!writer->borrowed)
        vy_release(writer->data, writer->capacity);
}
