/* Writer of PTX text: lines, registers, literals and moves. */
#include "emit/ptx/emitter.h"

/* ---- the output buffer ---- */

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

/* ---- types ---- */

const vy_ptx_type_row vy_ptx_types[VYRE_TYPE_COUNT] = {
    [VYRE_TYPE_BOOL] = {"pred", "pred", "%p", VY_PTX_PRED}, [VYRE_TYPE_I8] = {"s32", "b32", "%r", VY_PTX_B32},
    [VYRE_TYPE_U8] = {"u32", "b32", "%r", VY_PTX_B32},      [VYRE_TYPE_I16] = {"s32", "b32", "%r", VY_PTX_B32},
    [VYRE_TYPE_U16] = {"u32", "b32", "%r", VY_PTX_B32},     [VYRE_TYPE_I32] = {"s32", "b32", "%r", VY_PTX_B32},
    [VYRE_TYPE_U32] = {"u32", "b32", "%r", VY_PTX_B32},     [VYRE_TYPE_I64] = {"s64", "b64", "%d", VY_PTX_B64},
    [VYRE_TYPE_U64] = {"u64", "b64", "%d", VY_PTX_B64},     [VYRE_TYPE_F16] = {"f16", "b16", "%h", VY_PTX_B16},
    [VYRE_TYPE_BF16] = {"bf16", "b16", "%h", VY_PTX_B16},   [VYRE_TYPE_F32] = {"f32", "b32", "%r", VY_PTX_B32},
    [VYRE_TYPE_F64] = {"f64", "b64", "%d", VY_PTX_B64},
};

/* ---- registers and literals ---- */

void vy_ptx_next_ten(vy_ptx_registers *r) {
    enum { LONGEST = 1000000 }; /* %r999999 has 8 bytes */
    char text[2 * sizeof r->next] = {0};
    memcpy(text, r->start, 2);
    *vy_write_decimal(text + 2, r->ten) = 0;
    memcpy(&r->next, text, sizeof r->next);
    r->one = UINT64_C(1) << 8 * (vy_packed_length(r->next) - 1);
    if (r->ten >= LONGEST) {
        r->next = (uint64_t)r->ten << 8;
        r->one = 1 << 8;
    }
    r->left = 10;
    r->ten += 10;
}

/* The value of a signed literal of fewer than 64 bits. */
static int64_t extended(vyre_type type, uint64_t bits) {
    unsigned unused = 64u - vy_type_layouts[type].bits;
    return (int64_t)(bits << unused) >> unused;
}

static __attribute__((noinline)) char *put_literal(char *at, vy_ptx_value v) {
    vyre_type type = (vyre_type)v.type;
    int is_signed = vy_type_layouts[type].classes == VYRE_CLASS_SIGNED;
    int64_t number = is_signed ? extended(type, v.bits) : 0;
    if (type == VYRE_TYPE_BOOL)
        return vy_write_text(at, v.bits ? "-1" : "0");
    if (type == VYRE_TYPE_F32)
        return vy_write_hex_upper(vy_write_text(at, "0f"), v.bits, 8);
    if (type == VYRE_TYPE_F64)
        return vy_write_hex_upper(vy_write_text(at, "0d"), v.bits, 16);
    if (number < 0 && number != INT64_MIN)
        return vy_write_decimal(vy_write_text(at, "-"), (uint64_t)-number);
    if (v.bits < 1 << 20 || (is_signed && number >= 0))
        return vy_write_decimal(at, v.bits);
    return vy_write_hex(vy_write_text(at, "0x"), v.bits, 1);
}

/* Most literals are small, and positive in all integer types. */
char *vy_ptx_put_other(char *at, vy_ptx_value v) {
    if (v.is_literal && v.bits <= INT8_MAX && vy_type_layouts[v.type].classes & VYRE_CLASS_INTEGER)
        return vy_write_decimal(at, v.bits);
    return v.is_literal ? put_literal(at, v)
                        : vy_write_decimal(vy_write_text(at, vy_ptx_types[v.type].start), v.name >> 8);
}

const char *vy_ptx_name(vy_ptx *e, vy_ptx_value v) {
    char *text = e->names[e->next_name++ % VY_PTX_NAMES];
    *vy_ptx_put(text, v) = 0;
    return text;
}

/* Moves bits, also those of floats. */
static void move(vy_ptx *e, char *at, vy_ptx_value to, vy_ptx_value from) {
    static const uint8_t integers[VY_PTX_CLASS_COUNT] = {VYRE_TYPE_BOOL, VYRE_TYPE_U16, VYRE_TYPE_U32, VYRE_TYPE_U64};
    if (from.is_literal && vy_ptx_is_float((vyre_type)from.type))
        from.type = integers[vy_ptx_class_of((vyre_type)from.type)];
    at = vy_write_text(at, "mov.");
    at = vy_write_text(vy_write_packed(at, vy_ptx_letters(vy_ptx_bits((vyre_type)to.type))), " ");
    at = vy_write_text(vy_ptx_put(at, to), ", ");
    vy_ptx_end_line(e, vy_ptx_put(at, from));
}

void vy_ptx_move(vy_ptx *e, vy_ptx_value to, vy_ptx_value from) {
    move(e, vy_ptx_line(e), to, from);
}

void vy_ptx_move_if(vy_ptx *e, vy_ptx_value condition, vy_ptx_value to, vy_ptx_value from) {
    move(e, vy_ptx_line_predicated(e, vy_ptx_predicate(e, condition)), to, from);
}

vy_ptx_value vy_ptx_in_register(vy_ptx *e, vy_ptx_value v) {
    if (!v.is_literal)
        return v;
    vy_ptx_value made = vy_ptx_new(e, (vyre_type)v.type);
    vy_ptx_move(e, made, v);
    return made;
}

const char *vy_ptx_register(vy_ptx *e, vy_ptx_value v) {
    return vy_ptx_name(e, vy_ptx_in_register(e, v));
}
