/* The debug section: source and positions, outside the digest of the program (format.h has the layout).
 *
 * Positions are runs of (line, column, length); lines as zigzag differences to the one before, since they mostly rise by little. The
 * section has one form, too: flags say what is there, and a part with nothing to say is left out. */
#include "base/hash.h"
#include "ir/wire/decode.h"
#include "ir/wire/encode.h"
#include "ir/wire/format.h"

/* ---- writing ---- */

static int known(vy_position position) {
    return position.line || position.column || position.length;
}

static int has_declarations(const vyre_program *program) {
    for (uint32_t i = 0; i < program->functions.count; i++)
        if (known(program->functions.items[i].position))
            return 1;
    for (uint32_t i = 0; i < program->variables.count; i++)
        if (known(program->variables.items[i].position))
            return 1;
    for (uint32_t i = 0; i < program->memories.count; i++)
        if (known(program->memories.items[i].position))
            return 1;
    return 0;
}

static void write_position(vy_wire_writer *writer, vy_position position, uint32_t *line) {
    int64_t step = (int64_t)position.line - (int64_t)*line;
    vy_wire_writer_number(writer, step < 0 ? 2 * (uint64_t)-step - 1 : 2 * (uint64_t)step);
    vy_wire_writer_number(writer, position.column);
    vy_wire_writer_number(writer, position.length);
    *line = position.line;
}

static void write_text(vy_wire_writer *writer, const char *text, size_t size) {
    vy_wire_writer_number(writer, size);
    vy_wire_writer_bytes(writer, text, size);
}

void vy_wire_write_debug(vy_wire_writer *writer, const vyre_program *program) {
    size_t start = writer->size;
    uint32_t line = 0;
    unsigned flags = 0;
    flags |= program->source ? VY_WIRE_DEBUG_SOURCE : 0;
    flags |= has_declarations(program) ? VY_WIRE_DEBUG_DECLARATIONS : 0;
    flags |= program->stmt_positions.count ? VY_WIRE_DEBUG_CODE : 0;
    vy_wire_writer_fixed(writer, 0, 4); /* the length, known at the end */
    vy_wire_writer_byte(writer, (uint8_t)flags);
    if (flags & VY_WIRE_DEBUG_SOURCE) {
        size_t size;
        const char *text = vy_source_text(program->source, &size), *name = vy_source_name(program->source);
        write_text(writer, name, strlen(name));
        write_text(writer, text, size);
    }
    if (flags & VY_WIRE_DEBUG_DECLARATIONS) {
        for (uint32_t i = 0; i < program->functions.count; i++)
            write_position(writer, program->functions.items[i].position, &line);
        for (uint32_t i = 0; i < program->variables.count; i++)
            write_position(writer, program->variables.items[i].position, &line);
        for (uint32_t i = 0; i < program->memories.count; i++)
            write_position(writer, program->memories.items[i].position, &line);
    }
    if (flags & VY_WIRE_DEBUG_CODE) {
        for (uint32_t i = 0; i < program->stmts.count; i++)
            write_position(writer, vy_stmt_position(program, i), &line);
        for (uint32_t i = 0; i < program->exprs.count; i++)
            write_position(writer, vy_expr_position(program, i), &line);
    }
    vy_wire_writer_patch(writer, start, writer->size - start - 4, 4);
    vyre_digest check;
    if (writer->status == VYRE_OK) {
        size_t from = start - VY_WIRE_DIGEST;
        vy_digest(writer->data + from, writer->size - from, &check);
        vy_wire_writer_bytes(writer, check.bytes, sizeof check.bytes);
    }
}

/* ---- reading ---- */

static vy_position read_position(vy_wire_reader *reader, uint32_t *line) {
    vy_position position = {0, 0, 0};
    size_t at = reader->at;
    uint64_t step = vy_wire_reader_number(reader, 2 * (uint64_t)UINT32_MAX, "the line of a position");
    int64_t next = (int64_t)*line + (step % 2 ? -(int64_t)(step / 2) - 1 : (int64_t)(step / 2));
    if (next < 0 || next > UINT32_MAX)
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W014, at, "the line of a position (%lld) is not a line",
                              (long long)next);
    position.line = *line = (uint32_t)next;
    position.column = (uint32_t)vy_wire_reader_number(reader, UINT32_MAX, "the column of a position");
    position.length = (uint32_t)vy_wire_reader_number(reader, UINT32_MAX, "the length of a position");
    return position;
}

static vy_source *read_source(vy_wire_reader *reader) {
    /* A name may be of any length; it is copied with its terminating zero, so it may not have one inside. */
    size_t at = reader->at,
           name_size = (size_t)vy_wire_reader_number(reader, VY_LIMIT_WIRE_BYTES, "the length of the source's name");
    const uint8_t *name = vy_wire_reader_bytes(reader, name_size, "the name of the source");
    size_t size = (size_t)vy_wire_reader_number(reader, VY_LIMIT_WIRE_BYTES, "the length of the source");
    const uint8_t *text = vy_wire_reader_bytes(reader, size, "the source");
    if (!text)
        return NULL;
    if (memchr(name, 0, name_size)) {
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W014, at, "the name of the source has a zero byte in it");
        return NULL;
    }
    vy_arena arena = {0};
    char *copy = vy_arena_copy(&arena, (const char *)name, name_size);
    vy_source *source = copy ? vy_source_new(copy, (const char *)text, size) : NULL;
    vy_arena_free(&arena);
    if (!source)
        vy_wire_reader_no_memory(reader);
    return source;
}

static void read_declarations(vy_wire_reader *reader, vyre_program *program, uint32_t *line) {
    size_t at = reader->at;
    for (uint32_t i = 0; i < program->functions.count; i++)
        program->functions.items[i].position = read_position(reader, line);
    for (uint32_t i = 0; i < program->variables.count; i++)
        program->variables.items[i].position = read_position(reader, line);
    for (uint32_t i = 0; i < program->memories.count; i++)
        program->memories.items[i].position = read_position(reader, line);
    if (reader->status == VYRE_OK && !has_declarations(program))
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W014, at,
                              "no position of a declaration is known, so none may be listed");
}

static void read_code(vy_wire_reader *reader, vyre_program *program, uint32_t *line) {
    if (program->stmts.count == 0)
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W014, reader->at,
                              "there is no statement whose position could be listed");
    if (reader->status != VYRE_OK)
        return;
    if (!VY_RESERVE(&program->stmt_positions, program->stmts.count) ||
        !VY_RESERVE(&program->expr_positions, program->exprs.count)) {
        vy_wire_reader_no_memory(reader);
        return;
    }
    while (program->stmt_positions.count < program->stmts.count)
        program->stmt_positions.items[program->stmt_positions.count++] = read_position(reader, line);
    while (program->expr_positions.count < program->exprs.count)
        program->expr_positions.items[program->expr_positions.count++] = read_position(reader, line);
}

/* Length and check of the section; the reader is then at its payload and ends with it. */
static void read_frame(vy_wire_reader *reader, size_t digest_at) {
    size_t start = reader->at, size = (size_t)vy_wire_reader_fixed(reader, 4, "the length of the debug section");
    if (reader->status == VYRE_OK &&
        (reader->end - reader->at < VY_WIRE_DIGEST || size != reader->end - reader->at - VY_WIRE_DIGEST))
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W014, start,
                              "the length of the debug section (%zu) does not fit the bytes left (%zu)", size,
                              reader->end - reader->at);
    if (reader->status != VYRE_OK)
        return;
    reader->end -= VY_WIRE_DIGEST;
    vyre_digest check;
    vy_digest(reader->data + digest_at, reader->end - digest_at, &check);
    if (memcmp(check.bytes, reader->data + reader->end, sizeof check.bytes) != 0)
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W014, reader->end,
                              "the debug section's check is not that of its bytes and program");
}

vy_source *vy_decode_debug(vy_decoder *d, size_t digest_at) {
    vy_wire_reader *reader = &d->reader;
    vyre_program *program = d->draft.program;
    vy_source *source = NULL;
    uint32_t line = 0;
    read_frame(reader, digest_at);
    unsigned flags = vy_wire_reader_choice(reader, 8, "the parts of the debug section");
    if (flags & VY_WIRE_DEBUG_SOURCE)
        source = read_source(reader);
    if (flags & VY_WIRE_DEBUG_DECLARATIONS)
        read_declarations(reader, program, &line);
    if (flags & VY_WIRE_DEBUG_CODE)
        read_code(reader, program, &line);
    if (reader->status == VYRE_OK && reader->at != reader->end)
        vy_wire_reader_reject(reader, VYRE_CORRUPT, VY_W005, reader->at,
                              "%zu bytes follow the end of the debug section", reader->end - reader->at);
    return source;
}
