/* The wire form: exactly one byte string per program. Layout and the compatibility promise: docs/wire.md. */
#ifndef VYRE_WIRE_H
#define VYRE_WIRE_H

#include "vyre/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Encoding options, or-ed. */
enum { VYRE_WIRE_DEBUG = 1 /* append source name, text and positions, outside the digest */ };

/* Writes the wire form into out, replacing what it held. Borrows the program; any thread, does not block.
 *
 * VYRE_INVALID_ARGUMENT  an option that does not exist
 * VYRE_LIMIT             with its debug section the wire form would be over 256 MiB
 * VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_wire_encode(const vyre_program *program, unsigned options, vyre_bytes *out,
                                      vyre_error *error);

/* Decodes and validates. Survives any bytes: memory is bounded by a small multiple of `size`, depth by the limits of the language. Refuses
 * every encoding but the canonical one. The bytes are borrowed; any thread, does not block. What is wrong is in `diagnostics` (optional) and in
 * error, with the byte where it was found. With a debug section, the program has its source and findings point into it.
 *
 * VYRE_CORRUPT          not a wire form, truncated, wrong digest or not canonical
 * VYRE_UNSUPPORTED      made by a newer version
 * VYRE_INVALID_PROGRAM  well-formed, but breaks a rule of the language; see diagnostics
 * VYRE_LIMIT            more than 256 MiB
 * VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_wire_decode(const void *data, size_t size, vyre_diagnostics *diagnostics, vyre_program **out,
                                      vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
