/* Bounded reads (reader.h). Every read checks what is left before it looks. */
#include "ir/wire/reader.h"

#include <stdarg.h>
#include <stdio.h>

void vy_wire_reader_reject(vy_wire_reader *reader, vyre_status status, vy_diag_code code, size_t at, const char *format,
                           ...) {
    if (reader->status != VYRE_OK)
        return;
    reader->status = status;
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    vy_diagnostic_add(reader->diagnostics, NULL, vy_diag_code_name(code), VYRE_SEVERITY_ERROR, (vy_position){0, 0, 0},
                      vy_diag_code_fix(code), "%s (byte %zu)", message, at);
    vy_fail(reader->error, status, vy_diag_code_fix(code), "%s %s (byte %zu)", vy_diag_code_name(code), message, at);
    if (reader->error)
        vy_fail_where(reader->error, "byte %zu", at);
}

void vy_wire_reader_no_memory(vy_wire_reader *reader) {
    if (reader->status == VYRE_OK)
        reader->status = vy_fail_memory(reader->error, "a program being decoded");
}

const uint8_t *vy_wire_reader_bytes(vy_wire_reader *reader, size_t n, const char *what) {
    if (reader->status != VYRE_OK)
        return NULL;
    if (n > reader->end - reader->at) {
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W003, reader->at,
                              "%s needs more bytes (%zu) than are left (%zu)", what, n, reader->end - reader->at);
        return NULL;
    }
    const uint8_t *bytes = reader->data + reader->at;
    reader->at += n;
    return bytes;
}

uint64_t vy_wire_reader_fixed(vy_wire_reader *reader, unsigned n, const char *what) {
    const uint8_t *bytes = vy_wire_reader_bytes(reader, n, what);
    uint64_t value = 0;
    for (unsigned i = 0; bytes && i < n; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

uint8_t vy_wire_reader_choice(vy_wire_reader *reader, unsigned count, const char *what) {
    size_t at = reader->at;
    const uint8_t *byte = vy_wire_reader_bytes(reader, 1, what);
    if (!byte)
        return 0;
    if (*byte < count)
        return *byte;
    vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W007, at, "%s (%u) is not below the number known (%u)", what, *byte,
                          count);
    return 0;
}

/* Ten groups of seven bits hold 64 bits and the tenth holds one; a last group of zero means a shorter form exists. */
uint64_t vy_wire_reader_number(vy_wire_reader *reader, uint64_t limit, const char *what) {
    size_t at = reader->at;
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint8_t *byte = vy_wire_reader_bytes(reader, 1, what);
        if (!byte)
            return 0;
        if (shift == 63 && *byte > 1) {
            vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W006, at, "%s does not fit 64 bits", what);
            return 0;
        }
        value |= (uint64_t)(*byte & 0x7f) << shift;
        if (*byte < 0x80) {
            if (*byte == 0 && shift > 0)
                vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W006, at,
                                      "%s (%llu) is not written in its shortest form", what, (unsigned long long)value);
            break;
        }
    }
    if (value > limit)
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W006, at, "%s (%llu) is over its limit (%llu)", what,
                              (unsigned long long)value, (unsigned long long)limit);
    return reader->status == VYRE_OK ? value : 0;
}

uint32_t vy_wire_reader_count(vy_wire_reader *reader, uint32_t limit, const char *what) {
    size_t at = reader->at;
    uint32_t count = (uint32_t)vy_wire_reader_number(reader, limit, what);
    if (count > reader->end - reader->at)
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W003, at,
                              "%s (%u) is more than the bytes that are left can hold (%zu)", what, count,
                              reader->end - reader->at);
    return reader->status == VYRE_OK ? count : 0;
}

uint32_t vy_wire_reader_index(vy_wire_reader *reader, uint32_t count, const char *what) {
    size_t at = reader->at;
    uint64_t index = vy_wire_reader_number(reader, UINT64_MAX, what);
    if (reader->status == VYRE_OK && index >= count)
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W010, at, "%s (%llu) is not among those declared so far (%u)",
                              what, (unsigned long long)index, count);
    return reader->status == VYRE_OK ? (uint32_t)index : 0;
}
