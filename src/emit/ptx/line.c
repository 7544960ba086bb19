/* Lines of code, each put together where it stands in the text (base/text.h): a program has thousands of them. */
#include "emit/ptx/emitter.h"

char *vy_ptx_line_if(vy_ptx *e, vy_ptx_value guard) {
    char *at = vy_ptx_line(e);
    if (guard.is_literal)
        return at;
    *at = '@';
    at = vy_ptx_put(at + 1, guard);
    *at = ' ';
    return at + 1;
}

/* "name.suffix " */
static char *put_name(char *at, const char *name, const char *suffix) {
    at = vy_put_text(at, name);
    *at = '.';
    at = vy_put_text(at + 1, suffix);
    *at = ' ';
    return at + 1;
}

void vy_ptx_instruct(vy_ptx *e, const char *name, const char *suffix, const vy_ptx_value *operands, unsigned count) {
    char *at = put_name(vy_ptx_line(e), name, suffix);
    for (unsigned i = 0; i < count; i++) {
        if (i) {
            *at++ = ',';
            *at++ = ' ';
        }
        at = vy_ptx_put(at, operands[i]);
    }
    vy_ptx_end_line(e, at);
}

void vy_ptx_write(vy_ptx *e, const char *format, ...) {
    va_list args;
    vy_string_room(e->out, VY_PTX_LINE);
    vy_string_char(e->out, '\t');
    va_start(args, format);
    vy_string_format_list(e->out, format, args);
    va_end(args);
    vy_string_append(e->out, ";\n", 2);
}

/* ---- labels ---- */

uint32_t vy_ptx_label(vy_ptx *e) {
    return e->labels++;
}

static char *put_label(char *at, uint32_t label) {
    return vy_put_decimal(vy_put_text(at, "$L"), label);
}

void vy_ptx_place(vy_ptx *e, uint32_t label) {
    char *at = vy_string_room(e->out, sizeof e->lost);
    if (at)
        vy_string_wrote(e->out, vy_put_text(put_label(at, label), ":\n"));
    e->shifted = VY_NONE;
    e->places++;
}

void vy_ptx_jump(vy_ptx *e, uint32_t label) {
    vy_ptx_end_line(e, put_label(vy_put_text(vy_ptx_line(e), "bra "), label));
}

void vy_ptx_jump_if(vy_ptx *e, vy_ptx_value condition, int wanted, uint32_t label) {
    condition = vy_ptx_in_register(e, condition);
    char *at = vy_put_text(vy_ptx_line(e), wanted ? "@" : "@!");
    at = vy_put_text(vy_ptx_put(at, condition), " bra ");
    vy_ptx_end_line(e, put_label(at, label));
}

/* ---- positions ---- */

void vy_ptx_locate(vy_ptx *e, uint32_t stmt) {
    vy_position position = vy_stmt_position(e->program, stmt);
    if (!position.line || position.line == e->line)
        return;
    e->line = position.line;
    char *at = vy_string_room(e->out, sizeof e->lost);
    if (!at)
        return;
    at = vy_put_decimal(vy_put_text(at, "\t.loc 1 "), position.line);
    *at = ' ';
    at = vy_put_decimal(at + 1, position.column);
    *at = '\n';
    vy_string_wrote(e->out, at + 1);
}
