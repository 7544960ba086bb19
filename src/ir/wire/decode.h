/* Wire decoder: untrusted bytes to a program in an IR builder. */
#ifndef VY_IR_WIRE_DECODE_H
#define VY_IR_WIRE_DECODE_H

#include "ir/diagnostic_codes.h"
#include "ir/irbuilder.h"

/* A bounded reader of untrusted bytes. The first error is reported (as a diagnostic and as `error`) and stored in
 * `status`. From then on every read returns 0 and does not advance, so the loops of the decoder end. */
typedef struct vy_wire_reader {
    const uint8_t *data;
    size_t at, end;
    vyre_status status;
    vyre_diagnostics *diagnostics;
    vyre_error *error;
} vy_wire_reader;

typedef struct vy_decoder {
    vy_wire_reader reader;
    vy_irb draft;
    uint32_t function_count;      /* without the entry */
    VY_VECTOR(vy_symbol) strings; /* in order of first occurrence */
    VY_VECTOR(uint32_t) stack;    /* expressions that no statement has consumed yet; size nodes while a size is read */
    VY_VECTOR(vy_arg) args;       /* of the statement being read */
    uint32_t first_variable, first_memory, memory_count; /* of the function being read */
    size_t length;                                       /* of the program in the data, with its digest */
} vy_decoder;

/* Reads the data of decoder->reader, which the caller has set, into decoder->draft, which the caller then finishes.
 * *source (NULL if the data has none) is a reference that the caller releases. After a failure only the decoder has to
 * be freed. */
vyre_status vy_decode_to_builder(vy_decoder *decoder, vy_source **source);
/* Fails, as the reader does, if the fingerprint of the finished program differs from the digest in the data: the bytes
 * were not the canonical form. */
vyre_status vy_decode_check_digest(vy_decoder *decoder, const vyre_program *program);
void vy_decoder_free(vy_decoder *decoder);

/* For fuzzing and tests: writes a correct magic, version, length and digest, treating all the bytes as one program
 * without a debug section, so that only the body is tested. Returns 0 without a change if the bytes cannot hold a
 * header and a digest. */
int vy_wire_fix_header(uint8_t *bytes, size_t size);

#endif
