/* Program to bytes. */
#ifndef VY_IR_WIRE_ENCODE_H
#define VY_IR_WIRE_ENCODE_H

#include "ir/model.h"
#include "ir/wire/writer.h"

/* Writes header and body of a valid program, the digest left out; the length in the header counts it. Failures are in the writer. */
void vy_wire_write(vy_wire_writer *writer, const vyre_program *program);

/* Appends the debug section; the writer holds the program with its digest. */
void vy_wire_write_debug(vy_wire_writer *writer, const vyre_program *program);

/* Turns the writer's status into an error. */
vyre_status vy_wire_writer_fail(const vy_wire_writer *writer, vyre_error *error);

#endif
