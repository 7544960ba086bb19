/* A writer of bytes that grows. After a failure what is written is incomplete and `status` says why, so that the encoder
 * checks once. */
#ifndef VY_IR_WIRE_WRITER_H
#define VY_IR_WIRE_WRITER_H

#include "base/memory.h"
#include "ir/limits.h"

typedef struct vy_wire_writer {
    uint8_t *data;
    size_t size, capacity;
    int borrowed; /* the data is the caller's (a stack buffer): copied, not resized or released, when it is too small */
    vyre_status status;
} vy_wire_writer;

/* Makes room for n more bytes; grows to at most VY_LIMIT_WIRE_BYTES. Returns 0 on failure. */
int vy_wire_writer_grow(vy_wire_writer *writer, size_t n);
void vy_wire_writer_free(vy_wire_writer *writer);

static inline int vy_wire_writer_reserve(vy_wire_writer *writer, size_t n) {
    return writer->capacity - writer->size >= n || vy_wire_writer_grow(writer, n);
}

static inline void vy_wire_writer_byte(vy_wire_writer *writer, uint8_t value) {
    if (vy_wire_writer_reserve(writer, 1))
        writer->data[writer->size++] = value;
}

static inline void vy_wire_writer_number(vy_wire_writer *writer, uint64_t value) {
    if (!vy_wire_writer_reserve(writer, 10))
        return;
    while (value >= 0x80) {
        writer->data[writer->size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    writer->data[writer->size++] = (uint8_t)value;
}

/* The low `n` bytes, little-endian. */
static inline void vy_wire_writer_fixed(vy_wire_writer *writer, uint64_t value, unsigned n) {
    if (!vy_wire_writer_reserve(writer, n))
        return;
    for (unsigned i = 0; i < n; i++)
        writer->data[writer->size++] = (uint8_t)(value >> 8 * i);
}

static inline void vy_wire_writer_bytes(vy_wire_writer *writer, const void *bytes, size_t n) {
    if (n == 0 || !vy_wire_writer_reserve(writer, n))
        return;
    memcpy(writer->data + writer->size, bytes, n);
    writer->size += n;
}

/* Overwrites n bytes at an offset already written. */
static inline void vy_wire_writer_patch(vy_wire_writer *writer, size_t at, uint64_t value, unsigned n) {
    if (writer->status == VYRE_OK)
        for (unsigned i = 0; i < n; i++)
            writer->data[at + i] = (uint8_t)(value >> 8 * i);
}

#endif
