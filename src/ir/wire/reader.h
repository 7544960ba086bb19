/* A reader of bytes from strangers. The first thing that is wrong is reported (a finding, and the error) and kept in `status`; after that every
 * read gives 0 and moves nothing, so that the decoder's loops end. `what` names the thing for the message. */
#ifndef VY_IR_WIRE_READER_H
#define VY_IR_WIRE_READER_H

#include "base/diagnostics.h"
#include "ir/diagnostic_codes.h"

typedef struct vy_wire_reader {
    const uint8_t *data;
    size_t at, end;
    vyre_status status;
    vyre_diagnostics *diagnostics;
    vyre_error *error;
} vy_wire_reader;

/* Reports a finding at a byte, unless there was one before. The fix is that of the code's row. */
void vy_wire_reader_reject(vy_wire_reader *reader, vyre_status status, vy_diag_code code, size_t at, const char *format,
                           ...) VY_PRINTF(5, 6);
/* Notes that memory is out. */
void vy_wire_reader_no_memory(vy_wire_reader *reader);

/* The next n bytes, or NULL. */
const uint8_t *vy_wire_reader_bytes(vy_wire_reader *reader, size_t n, const char *what);
/* n bytes, little-endian; n at most 8. */
uint64_t vy_wire_reader_fixed(vy_wire_reader *reader, unsigned n, const char *what);
/* A byte below `count`. */
uint8_t vy_wire_reader_choice(vy_wire_reader *reader, unsigned count, const char *what);
/* A LEB128 number in its shortest form, at most `limit`. */
uint64_t vy_wire_reader_number(vy_wire_reader *reader, uint64_t limit, const char *what);
/* A number of things that each take at least one byte: at most as many as bytes are left, and at most `limit`. */
uint32_t vy_wire_reader_count(vy_wire_reader *reader, uint32_t limit, const char *what);
/* An index below `count`, of something declared before. */
uint32_t vy_wire_reader_index(vy_wire_reader *reader, uint32_t count, const char *what);

#endif
