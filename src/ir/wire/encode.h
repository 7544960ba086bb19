/* Wire encoder (vyre/wire.h): program to bytes, and the program fingerprint. */
#ifndef VY_IR_WIRE_ENCODE_H
#define VY_IR_WIRE_ENCODE_H

#include "ir/model.h"

/* Computes program->fingerprint of a validated program: the digest of its canonical wire form. Fails with NO_MEMORY, or
 * with LIMIT if the wire form would exceed VY_LIMIT_WIRE_BYTES. Small programs allocate nothing. */
vyre_status vy_fingerprint(vyre_program *program, vyre_error *error);

/* A growing byte writer. After a failure the bytes are incomplete and `status` has the reason, so the encoder checks
 * once. */
typedef struct vy_wire_writer {
    uint8_t *data;
    size_t size, capacity;
    int borrowed; /* the data is the caller's (a stack buffer): copied, not resized or released, when it is too small */
    vyre_status status;
} vy_wire_writer;

/* Makes room for n more bytes; the limit is VY_LIMIT_WIRE_BYTES. Returns 0 on failure. */
int vy_wire_writer_grow(vy_wire_writer *writer, size_t n);
/* Converts the writer's status to an error. */
vyre_status vy_wire_writer_fail(const vy_wire_writer *writer, vyre_error *error);

#endif
