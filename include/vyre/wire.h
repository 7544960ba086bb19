/* The wire form: exactly one byte string per program. Layout and the compatibility promise: docs/wire.md. */
#ifndef VYRE_WIRE_H
#define VYRE_WIRE_H

#include "vyre/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Encoding options, or-ed. */
enum { VYRE_WIRE_DEBUG = 1 /* append source name, text and positions, outside the digest */ };

VYRE_API vyre_status vyre_wire_encode(const vyre_program *program, unsigned options, vyre_bytes *out, vyre_error *error);

/* Decodes and validates. Survives any bytes: memory is bounded by a small multiple of `size`, depth by the limits of the language. Refuses
 * every encoding but the canonical one.
 *
 * VYRE_CORRUPT          not a wire form, truncated, wrong digest or not canonical
 * VYRE_UNSUPPORTED      made by a newer version
 * VYRE_INVALID_PROGRAM  well-formed, but breaks a rule of the language; see diagnostics */
VYRE_API vyre_status vyre_wire_decode(const void *data, size_t size, vyre_diagnostics *diagnostics, vyre_program **out,
                                      vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
