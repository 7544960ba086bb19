/* Bytes to program: what the parts of the decoder share. */
#ifndef VY_IR_WIRE_DECODE_H
#define VY_IR_WIRE_DECODE_H

#include "ir/irbuilder.h"
#include "ir/wire/reader.h"

typedef struct vy_decoder {
    vy_wire_reader reader;
    vy_irb draft;
    uint32_t function_count;      /* without the entry */
    VY_VECTOR(vy_symbol) strings; /* in order of first occurrence */
    VY_VECTOR(uint32_t) stack;    /* expressions no statement has taken yet; size nodes while a size is read */
    VY_VECTOR(vy_arg) args;       /* of the statement being read */
    uint32_t first_variable, first_memory, memory_count; /* of the function being read */
    size_t length;                                       /* of the program in the data, with its digest */
} vy_decoder;

vy_symbol vy_decode_string(vy_decoder *decoder, const char *what);
vyre_type vy_decode_type(vy_decoder *decoder);
/* Pushes on the stack what a draft function returned; VY_NONE means that memory is out. */
void vy_decode_push(vy_decoder *decoder, uint32_t index);
/* Reads the statements of the function being read, up to and with the END that closes it. */
void vy_decode_body(vy_decoder *decoder);
/* Reads the debug section, from the program's digest at `digest_at` to the end of the data, into the draft. Gives the source, which the
 * caller releases. */
vy_source *vy_decode_debug(vy_decoder *decoder, size_t digest_at);

/* Reads the data of decoder->reader, which the caller has set, into decoder->draft, which the caller then finishes. *source (NULL if the data has
 * none) is the caller's reference. If it fails there is nothing to finish or to release but the decoder. */
vyre_status vy_decode_to_builder(vy_decoder *decoder, vy_source **source);
/* Fails, as the reader does, if the fingerprint of the finished program is not the digest in the data: the bytes were not the canonical form. */
vyre_status vy_decode_check_digest(vy_decoder *decoder, const vyre_program *program);
void vy_decoder_free(vy_decoder *decoder);

#endif
