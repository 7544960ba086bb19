/* A writer of bytes that grows. After a failure what is written is incomplete and `status` says why, so that the encoder
 * checks once. */
#ifndef VY_IR_WIRE_WRITER_H
#define VY_IR_WIRE_WRITER_H

#include "base/memory.h"
#include "ir/limits.h"

typedef struct vy_writer {
    uint8_t *data;
    size_t size, capacity;
    int borrowed; /* the data is the caller's (a stack buffer): copied, not resized or released, when it is too small */
    vyre_status status;
} vy_writer;

/* Makes room for n more bytes; grows to at most VY_LIMIT_WIRE_BYTES. Returns 0 on failure. */
int vy_writer_grow(vy_writer *writer, size_t n);
void vy_writer_free(vy_writer *writer);

static inline int vy_writer_room(vy_writer *writer, size_t n) {
    return writer->capacity - writer->size >= n || vy_writer_grow(writer, n);
}

static inline void vy_writer_byte(vy_writer *writer, uint8_t value) {
    if (vy_writer_room(writer, 1))
        writer->data[writer->size++] = value;
}

static inline void vy_writer_number(vy_writer *writer, uint64_t value) {
    if (!vy_writer_room(writer, 10))
        return;
    while (value >= 0x80) {
        writer->data[writer->size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    writer->data[writer->size++] = (uint8_t)value;
}

/* The low `n` bytes, little-endian. */
static inline void vy_writer_fixed(vy_writer *writer, uint64_t value, unsigned n) {
    if (!vy_writer_room(writer, n))
        return;
    for (unsigned i = 0; i < n; i++)
        writer->data[writer->size++] = (uint8_t)(value >> 8 * i);
}

static inline void vy_writer_bytes(vy_writer *writer, const void *bytes, size_t n) {
    if (n == 0 || !vy_writer_room(writer, n))
        return;
    memcpy(writer->data + writer->size, bytes, n);
    writer->size += n;
}

/* Overwrites n bytes at an offset already written. */
static inline void vy_writer_patch(vy_writer *writer, size_t at, uint64_t value, unsigned n) {
    if (writer->status == VYRE_OK)
        for (unsigned i = 0; i < n; i++)
            writer->data[at + i] = (uint8_t)(value >> 8 * i);
}

#endif
