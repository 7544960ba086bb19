/* Lines of code, each put together where it stands in the text (base/string.h): a program has thousands of them. */
#include "emit/ptx/emitter.h"

/* ---- where they go ---- */

static void begin(vy_ptx *e) {
    char *at = vy_string_reserve(e->out, VY_PTX_ROOM);
    e->at = at ? at : e->lost;
    e->last = at ? e->out->text + e->out->capacity - VY_PTX_ROOM : e->lost;
}

void vy_ptx_flush(vy_ptx *e) {
    if (e->out && !e->out->failed)
        vy_string_commit(e->out, e->at);
}

vy_string *vy_ptx_set_output(vy_ptx *e, vy_string *out) {
    vy_string *before = e->out;
    vy_ptx_flush(e);
    e->out = out;
    begin(e);
    return before;
}

char *vy_ptx_more_room(vy_ptx *e) {
    vy_ptx_set_output(e, e->out);
    return e->at;
}

/* ---- lines ---- */

char *vy_ptx_line_predicated(vy_ptx *e, vy_ptx_value guard) {
    char *at = vy_ptx_line(e);
    if (guard.is_literal)
        return at;
    *at = '@';
    at = vy_ptx_put(at + 1, guard);
    *at = ' ';
    return at + 1;
}

void vy_ptx_end_with(vy_ptx *e, char *at, const vy_ptx_value *operands, unsigned count) {
    at = vy_ptx_put(vy_write_text(at, " "), operands[0]);
    for (unsigned i = 1; i < count; i++)
        at = vy_ptx_put(vy_write_text(at, ", "), operands[i]);
    vy_ptx_end_line(e, at);
}

void vy_ptx_instruct(vy_ptx *e, uint64_t name, const char *suffix, const vy_ptx_value *operands, unsigned count) {
    char *at = vy_write_text(vy_write_packed(vy_ptx_line(e), name), ".");
    vy_ptx_end_with(e, vy_write_packed(at, vy_ptx_letters(suffix)), operands, count);
}

void vy_ptx_write(vy_ptx *e, const char *format, ...) {
    char *at = vy_ptx_line(e), *end;
    va_list args;
    va_start(args, format);
    end = vy_write_format(at, at + VY_PTX_LINE, format, args);
    va_end(args);
    if (end)
        vy_ptx_end_line(e, end);
    else
        vy_ptx_refuse(e, "a line that is too long");
}

/* ---- labels ---- */

uint32_t vy_ptx_label(vy_ptx *e) {
    return e->labels++;
}

static char *put_label(char *at, uint32_t label) {
    return vy_write_decimal(vy_write_text(at, "$L"), label);
}

void vy_ptx_bind_label(vy_ptx *e, uint32_t label) {
    e->at = vy_write_text(put_label(vy_ptx_room(e), label), ":\n");
    e->shifted = VY_NONE;
    e->places++;
}

void vy_ptx_jump(vy_ptx *e, uint32_t label) {
    vy_ptx_end_line(e, put_label(vy_write_text(vy_ptx_line(e), "bra "), label));
}

void vy_ptx_jump_if(vy_ptx *e, vy_ptx_value condition, int wanted, uint32_t label) {
    condition = vy_ptx_in_register(e, condition);
    char *at = vy_write_text(vy_ptx_line(e), wanted ? "@" : "@!");
    at = vy_write_text(vy_ptx_put(at, condition), " bra ");
    vy_ptx_end_line(e, put_label(at, label));
}

/* ---- positions ---- */

static void locate(vy_ptx *e, const vy_position *position) {
    e->line = position->line;
    char *at = vy_write_decimal(vy_write_text(vy_ptx_room(e), "\t.loc 1 "), position->line);
    e->at = vy_write_text(vy_write_decimal(vy_write_text(at, " "), position->column), "\n");
}

void vy_ptx_locate(vy_ptx *e, uint32_t stmt) {
    if (stmt >= e->program->stmt_positions.count)
        return;
    const vy_position *position = &e->program->stmt_positions.items[stmt];
    if (position->line && position->line != e->line)
        locate(e, position);
}
