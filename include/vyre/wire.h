/* The wire form of programs: a canonical binary encoding, exactly one byte string per program. Use it to store programs
 * or to send them to other processes. docs/wire.md specifies the layout and the compatibility promise.
 *
 *     status = vyre_wire_encode(program, 0, &bytes, &error);
 *     status = vyre_wire_decode(bytes.data, bytes.size, NULL, &copy, &error);
 *
 * Threads:   any thread, concurrently.
 * Blocking:  no function blocks. */
#ifndef VYRE_WIRE_H
#define VYRE_WIRE_H

#include "vyre/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Encoding options, or-ed. */
enum { VYRE_WIRE_DEBUG = 1 /* append source name, text and positions, which the digest does not cover */ };

/* Encodes a program. `out` is replaced.
 *
 * options  VYRE_WIRE_…, or-ed; 0 for none.
 *
 * VYRE_INVALID_ARGUMENT  an unknown option
 * VYRE_LIMIT             with its debug section the wire form would exceed 256 MiB
 * VYRE_NO_MEMORY         out of host memory */
VYRE_API vyre_status vyre_wire_encode(const vyre_program *program, unsigned options, vyre_bytes *out,
                                      vyre_error *error);

/* Decodes and validates a program. Safe for any bytes: memory is bounded by a small multiple of `size`, depth by the
 * limits of the language. Only the canonical encoding is accepted. With a debug section, the program has its source,
 * and findings refer to it.
 *
 * data         Borrowed for the call.
 * diagnostics  Optional; receives all findings. error has the byte offset of the first.
 * out          A program with one reference; release with vyre_program_release.
 *
 * VYRE_CORRUPT          not a wire form, truncated, wrong digest or not canonical
 * VYRE_UNSUPPORTED      encoded by a newer version
 * VYRE_INVALID_PROGRAM  well-formed, but violates a rule of the language; see diagnostics
 * VYRE_LIMIT            more than 256 MiB
 * VYRE_NO_MEMORY        out of host memory */
VYRE_API vyre_status vyre_wire_decode(const void *data, size_t size, vyre_diagnostics *diagnostics, vyre_program **out,
                                      vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
