/* The decoder: header, strings and declarations (format.h has the layout; decode_body.c reads statements, debug.c the debug section).
 *
 * Order of trust: magic, version, length and digest are checked before anything is allocated, and a digest that fits says only that
 * the bytes are as they were written, not who wrote them, so everything after is checked too. Counts are checked against the bytes left before
 * anything is made for them. The program goes through the draft and the validator as any other; its fingerprint is computed from its own
 * encoding, and one that differs from the digest in the bytes means that they were not the canonical form. */
#include "ir/wire/decode.h"

#include "base/hash.h"
#include "ir/wire/format.h"
#include "ir/wire/wire.h"

/* ---- pieces ---- */

void vy_decode_push(vy_decoder *d, uint32_t index) {
    uint32_t *item = index == VY_NONE ? NULL : VY_PUSH(&d->stack);
    if (item)
        *item = index;
    else
        vy_wire_reader_no_memory(&d->reader);
}

vyre_type vy_decode_type(vy_decoder *d) {
    return (vyre_type)vy_wire_reader_choice(&d->reader, VYRE_TYPE_COUNT, "the type");
}

static vy_symbol decode_new_string(vy_decoder *d, size_t at, size_t length, const char *what) {
    const char *text = (const char *)vy_wire_reader_bytes(&d->reader, length, what);
    if (!text)
        return 0;
    if (memchr(text, 0, length)) {
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W009, at, "%s has a zero byte in it", what);
        return 0;
    }
    uint32_t before = d->draft.program->names.size;
    vy_symbol name = vy_irb_intern(&d->draft, text, length);
    if (d->draft.failed)
        vy_wire_reader_no_memory(&d->reader);
    else if (name < before)
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W009, at, "%s is spelled out though it occurred before",
                              what);
    vy_symbol *string = VY_PUSH(&d->strings);
    if (string)
        *string = name;
    else
        vy_wire_reader_no_memory(&d->reader);
    return name;
}

vy_symbol vy_decode_string(vy_decoder *d, const char *what) {
    size_t at = d->reader.at;
    uint64_t n = vy_wire_reader_number(&d->reader, UINT64_MAX, what);
    if (n == 0)
        return 0;
    if (n % 2 == 0)
        return decode_new_string(d, at, n / 2 > SIZE_MAX ? SIZE_MAX : (size_t)(n / 2), what);
    if (n / 2 >= d->strings.count) {
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W009, at, "%s is string %llu (%u occurred before)", what,
                              (unsigned long long)(n / 2), d->strings.count);
        return 0;
    }
    return d->strings.items[n / 2];
}

/* ---- declarations ---- */

static int decoding(vy_decoder *d) {
    if (d->draft.failed)
        vy_wire_reader_no_memory(&d->reader);
    return d->reader.status == VYRE_OK;
}

/* Notes where the function's variables and memories begin: references are relative to that. */
static void begin(vy_decoder *d) {
    d->first_variable = d->draft.program->variables.count;
    d->first_memory = d->draft.program->memories.count;
}

static void decode_arrays(vy_decoder *d) {
    uint32_t count = vy_wire_reader_count(&d->reader, VY_LIMIT_ARRAYS, "the number of arrays");
    for (uint32_t i = 0; i < count && decoding(d); i++) {
        vy_symbol name = vy_decode_string(d, "the name of an array");
        vy_space space = (vy_space)vy_wire_reader_choice(&d->reader, VY_SPACE_COUNT, "the space");
        vyre_type type = vy_decode_type(d);
        uint32_t elements = (uint32_t)vy_wire_reader_number(&d->reader, UINT32_MAX, "the length of an array");
        vy_irb_array(&d->draft, name, space, type, elements);
    }
    d->memory_count = d->draft.program->memories.count - d->first_memory;
}

static void decode_param(vy_decoder *d) {
    uint8_t is_memory = vy_wire_reader_choice(&d->reader, 2, "the kind of a parameter");
    vy_symbol name = vy_decode_string(d, "the name of a parameter");
    vyre_type type = vy_decode_type(d);
    if (is_memory == VY_WIRE_PARAM_SCALAR) {
        vy_irb_scalar_param(&d->draft, name, type);
        return;
    }
    vy_space space = (vy_space)vy_wire_reader_choice(&d->reader, VY_SPACE_COUNT, "the space");
    vyre_access access = (vyre_access)vy_wire_reader_choice(&d->reader, VYRE_ACCESS_COUNT, "the access");
    vy_irb_memory_param(&d->draft, name, space, type, access, VY_NONE);
}

static void decode_function(vy_decoder *d) {
    begin(d);
    vy_irb_begin_function(&d->draft, vy_decode_string(d, "the name of a function"));
    uint32_t count = vy_wire_reader_count(&d->reader, VY_LIMIT_PARAMS, "the number of parameters");
    for (uint32_t i = 0; i < count && decoding(d); i++)
        decode_param(d);
    count = vy_wire_reader_count(&d->reader, VY_LIMIT_RESULTS, "the number of results");
    for (uint32_t i = 0; i < count && decoding(d); i++) {
        vy_symbol name = vy_decode_string(d, "the name of a result");
        vy_irb_result(&d->draft, name, vy_decode_type(d));
    }
    decode_arrays(d);
    if (decoding(d))
        vy_decode_body(d);
    vy_irb_end_function(&d->draft);
}

/* Kind of size node by tag, plus 1. */
static const uint8_t size_kinds[] = {
#define X(KIND, tag, operands) [tag] = VY_SIZE_##KIND + 1,
    VY_WIRE_SIZE_LIST(X)
#undef X
};

static void decode_size_node(vy_decoder *d, uint8_t tag, uint32_t params, uint32_t buffers) {
    size_t at = d->reader.at - 1;
    if (tag >= sizeof size_kinds || !size_kinds[tag]) {
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W007, at, "the tag of a size (0x%02x) is not known", tag);
        return;
    }
    vy_size_kind kind = (vy_size_kind)(size_kinds[tag] - 1);
    uint32_t operands = vy_wire_sizes[kind].operands, a = VY_NONE, b = VY_NONE;
    uint64_t value = 0;
    if (d->stack.count < operands) {
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W011, at,
                              "an operator of a size finds %u operands (%u expected)", d->stack.count, operands);
        return;
    }
    if (kind == VY_SIZE_LITERAL)
        value = vy_wire_reader_number(&d->reader, UINT64_MAX, "a size");
    else if (kind == VY_SIZE_PARAM)
        a = d->first_variable + vy_wire_reader_index(&d->reader, params, "the param of a size");
    else if (kind == VY_SIZE_LEN)
        a = d->first_memory + vy_wire_reader_index(&d->reader, buffers, "the buffer of a size");
    else {
        b = d->stack.items[--d->stack.count];
        a = d->stack.items[--d->stack.count];
    }
    vy_decode_push(d, vy_irb_size(&d->draft, kind, a, b, value));
}

static uint32_t decode_size(vy_decoder *d, uint32_t params, uint32_t buffers) {
    d->stack.count = 0;
    for (;;) {
        const uint8_t *tag = vy_wire_reader_bytes(&d->reader, 1, "a size");
        if (!tag)
            return VY_NONE;
        if (*tag == VY_WIRE_END)
            break;
        decode_size_node(d, *tag, params, buffers);
    }
    uint32_t count = d->stack.count;
    if (count > 1)
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W011, d->reader.at - 1,
                              "a size leaves %u values (1 or none expected)", count);
    d->stack.count = 0;
    return count == 1 ? d->stack.items[0] : VY_NONE;
}

static void decode_grid(vy_decoder *d, uint32_t params, uint32_t buffers) {
    vy_grid *grid = &d->draft.program->grid;
    grid->kind = vy_wire_reader_choice(&d->reader, VYRE_GRID_KIND_COUNT, "the kind of the grid");
    if (grid->kind == VYRE_GRID_OVER || grid->kind == VYRE_GRID_INDIRECT)
        grid->memory = d->first_memory + vy_wire_reader_index(&d->reader, buffers, "the buffer of the grid");
    if (grid->kind == VYRE_GRID_INDIRECT)
        grid->offset = (uint32_t)vy_wire_reader_number(&d->reader, UINT32_MAX, "the offset of the grid");
    if (grid->kind == VYRE_GRID_GROUPS || grid->kind == VYRE_GRID_ELEMENTS)
        for (int i = 0; i < 3; i++)
            grid->sizes[i] = decode_size(d, params, buffers);
}

static void decode_entry(vy_decoder *d) {
    begin(d);
    vy_irb_begin_entry(&d->draft);
    uint32_t params = vy_wire_reader_count(&d->reader, VY_LIMIT_PARAMS, "the number of params");
    uint32_t buffers = vy_wire_reader_count(&d->reader, VY_LIMIT_BUFFERS, "the number of buffers");
    for (uint32_t i = 0; i < params && decoding(d); i++) {
        vy_symbol name = vy_decode_string(d, "the name of a param");
        vy_irb_scalar_param(&d->draft, name, vy_decode_type(d));
    }
    for (uint32_t i = 0; i < buffers && decoding(d); i++) {
        vy_symbol name = vy_decode_string(d, "the name of a buffer");
        vyre_type type = vy_decode_type(d);
        vyre_access access = (vyre_access)vy_wire_reader_choice(&d->reader, VYRE_ACCESS_COUNT, "the access");
        uint32_t size = decode_size(d, params, buffers);
        vy_irb_memory_param(&d->draft, name, VY_SPACE_BUFFER, type, access, size);
    }
    for (int i = 0; i < 3; i++)
        d->draft.program->workgroup[i] = (uint32_t)vy_wire_reader_number(&d->reader, UINT32_MAX, "the workgroup size");
    decode_grid(d, params, buffers);
    decode_arrays(d);
    if (decoding(d))
        vy_decode_body(d);
    vy_irb_end_function(&d->draft);
}

/* ---- the whole ---- */

/* Magic, version, length and digest. Gives the length of the program, without the debug section. */
static size_t decode_frame(vy_wire_reader *reader) {
    const uint8_t *data = reader->data;
    if (reader->end > VY_LIMIT_WIRE_BYTES) {
        vy_wire_reader_reject(reader, VYRE_LIMIT, VY_W013, 0, "the wire form (%zu bytes) is over the limit (%d)",
                              reader->end, VY_LIMIT_WIRE_BYTES);
        return 0;
    }
    size_t magic = reader->end < 4 ? reader->end : 4;
    if (magic == 0 || memcmp(data, VY_WIRE_MAGIC, magic) != 0) {
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W001, 0, "the bytes do not start as a wire form does");
        return 0;
    }
    if (reader->end >= VY_WIRE_AT_LENGTH && (data[4] != VY_WIRE_MAJOR || data[5] > VY_WIRE_MINOR)) {
        vy_wire_reader_reject(reader, VYRE_UNSUPPORTED, VY_W002, VY_WIRE_AT_VERSION,
                              "the wire form is version %u.%u (this library reads %d.0 to %d.%d)", data[4], data[5],
                              VY_WIRE_MAJOR, VY_WIRE_MAJOR, VY_WIRE_MINOR);
        return 0;
    }
    if (reader->end < VY_WIRE_HEADER + VY_WIRE_DIGEST) {
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W003, reader->end,
                              "the bytes (%zu) are fewer than the shortest wire form (%d)", reader->end,
                              VY_WIRE_HEADER + VY_WIRE_DIGEST);
        return 0;
    }
    reader->at = VY_WIRE_AT_LENGTH;
    size_t length = (size_t)vy_wire_reader_fixed(reader, 4, "the length");
    if (length < VY_WIRE_HEADER + VY_WIRE_DIGEST || length > reader->end) {
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W003, VY_WIRE_AT_LENGTH,
                              "the length (%zu) does not fit the bytes given (%zu)", length, reader->end);
        return 0;
    }
    vyre_digest digest;
    vy_digest(data, length - VY_WIRE_DIGEST, &digest);
    if (memcmp(digest.bytes, data + length - VY_WIRE_DIGEST, VY_WIRE_DIGEST) != 0)
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W004, length - VY_WIRE_DIGEST,
                              "the digest is not that of the bytes before it");
    return length;
}

static void decode_program(vy_decoder *d, size_t body_end) {
    size_t end = d->reader.end;
    vyre_program *program = d->draft.program;
    d->reader.end = body_end;
    d->reader.at = VY_WIRE_AT_KIND;
    program->kind = vy_wire_reader_choice(&d->reader, VYRE_PROGRAM_LIBRARY + 1, "the kind");
    program->level = vy_wire_reader_choice(&d->reader, VYRE_LEVEL_LEGAL + 1, "the level");
    if (d->reader.data[VY_WIRE_AT_VERSION + 1] != (program->level == VYRE_LEVEL_LEGAL ? VY_WIRE_MINOR : 0))
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W007, VY_WIRE_AT_VERSION + 1,
                              "the minor version (%u) is not that of the program's level",
                              d->reader.data[VY_WIRE_AT_VERSION + 1]);
    program->numerics = vy_wire_reader_choice(&d->reader, VYRE_NUMERICS_RELAXED + 1, "the numerics");
    program->name = vy_decode_string(d, "the name of the program");
    d->function_count = vy_wire_reader_count(&d->reader, VY_LIMIT_FUNCTIONS, "the number of functions");
    for (uint32_t i = 0; i < d->function_count && decoding(d); i++)
        decode_function(d);
    if (program->kind == VYRE_PROGRAM_ENTRY && decoding(d))
        decode_entry(d);
    if (decoding(d) && d->reader.at != body_end)
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W005, d->reader.at,
                              "%zu bytes follow the end of the program", body_end - d->reader.at);
    d->reader.end = end;
}

static vyre_status read_checked(vy_decoder *d, size_t length, vy_source **source) {
    vy_wire_reader *reader = &d->reader;
    *source = NULL;
    decode_program(d, length - VY_WIRE_DIGEST);
    reader->at = length;
    if (reader->status == VYRE_OK && length < reader->end)
        *source = vy_decode_debug(d, length - VY_WIRE_DIGEST);
    if (reader->status != VYRE_OK) {
        vy_irb_discard(&d->draft);
        vy_source_release(*source);
        *source = NULL;
    }
    return reader->status;
}

vyre_status vy_decode_to_builder(vy_decoder *d, vy_source **source) {
    *source = NULL;
    d->length = decode_frame(&d->reader);
    if (d->reader.status != VYRE_OK)
        return d->reader.status;
    vyre_status status = vy_irb_start(&d->draft, "", d->reader.error);
    return status == VYRE_OK ? read_checked(d, d->length, source) : status;
}

vyre_status vy_decode_check_digest(vy_decoder *d, const vyre_program *program) {
    size_t at = d->length - VY_WIRE_DIGEST;
    if (memcmp(program->fingerprint.bytes, d->reader.data + at, VY_WIRE_DIGEST) == 0)
        return VYRE_OK;
    vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W004, at,
                          "the digest is not that of the program the bytes decode to");
    return VYRE_CORRUPT;
}

void vy_decoder_free(vy_decoder *d) {
    VY_VECTOR_FREE(&d->strings);
    VY_VECTOR_FREE(&d->stack);
    VY_VECTOR_FREE(&d->args);
}

int vy_wire_fix_header(uint8_t *bytes, size_t size) {
    if (size < VY_WIRE_HEADER + VY_WIRE_DIGEST || size > VY_LIMIT_WIRE_BYTES)
        return 0;
    memcpy(bytes, VY_WIRE_MAGIC, 4);
    bytes[VY_WIRE_AT_VERSION] = VY_WIRE_MAJOR;
    bytes[VY_WIRE_AT_VERSION + 1] = bytes[VY_WIRE_AT_KIND + 1] == VYRE_LEVEL_LEGAL ? VY_WIRE_MINOR : 0;
    for (int i = 0; i < 4; i++)
        bytes[VY_WIRE_AT_LENGTH + i] = (uint8_t)(size >> 8 * i);
    vyre_digest digest;
    vy_digest(bytes, size - VY_WIRE_DIGEST, &digest);
    memcpy(bytes + size - VY_WIRE_DIGEST, digest.bytes, VY_WIRE_DIGEST);
    return 1;
}
