/* The kernel prologue: ids, addresses, counts and params at the start of the entry. Invariant: each is computed
 * there when it is first used, so its register is defined at every use. */
#include "emit/ptx/emitter.h"

#include <inttypes.h>

typedef vy_ptx_value compute(vy_ptx *e, uint32_t a, uint32_t b);

static vy_ptx_value known(vy_ptx *e, vy_ptx_cached *slot, compute *how, uint32_t a, uint32_t b) {
    if (!slot->is_cached) {
        vy_string *before = vy_ptx_set_output(e, &e->start);
        slot->value = how(e, a, b);
        slot->is_cached = 1;
        vy_ptx_set_output(e, before);
    }
    return slot->value;
}

/* ---- ids ---- */

static vy_ptx_value special(vy_ptx *e, const char *name, unsigned axis) {
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U32);
    char *at = vy_write_text(vy_ptx_put(vy_write_text(vy_ptx_line(e), "mov.u32 "), d), ", %");
    at = vy_write_text(vy_write_text(at, name), ".");
    *at = "xyz"[axis];
    vy_ptx_end_line(e, at + 1);
    return d;
}

static vy_ptx_value calculated(vy_ptx *e, const char *how, vy_ptx_value a, uint32_t b) {
    a = vy_ptx_in_register(e, a);
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U32);
    VY_PTX_INSTRUCT(e, how, "u32", d, a, vy_ptx_literal(VYRE_TYPE_U32, b));
    return d;
}

/* a * b + c */
static vy_ptx_value sum(vy_ptx *e, vy_ptx_value a, uint32_t b, vy_ptx_value c) {
    a = vy_ptx_in_register(e, a);
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U32);
    VY_PTX_INSTRUCT(e, "mad.lo", "u32", d, a, vy_ptx_literal(VYRE_TYPE_U32, b), c);
    return d;
}

static vy_ptx_value local_id(vy_ptx *e, unsigned axis) {
    const uint32_t *size = e->program->workgroup;
    if (size[axis] == 1)
        return vy_ptx_literal(VYRE_TYPE_U32, 0);
    if (!e->is_flat)
        return special(e, "tid", axis);
    vy_ptx_value rest = vy_ptx_builtin(e, VYRE_BUILTIN_LOCAL_INDEX, 0);
    if (axis > 0)
        rest = calculated(e, "div", rest, axis == 1 ? size[0] : size[0] * size[1]);
    return axis < 2 ? calculated(e, "rem", rest, size[axis]) : rest;
}

static vy_ptx_value local_index(vy_ptx *e) {
    const uint32_t *size = e->program->workgroup;
    if (e->is_flat)
        return special(e, "tid", 0);
    vy_ptx_value index = vy_ptx_builtin(e, VYRE_BUILTIN_LOCAL_ID, 2);
    for (unsigned axis = 2; axis-- > 0;) {
        vy_ptx_value id = vy_ptx_builtin(e, VYRE_BUILTIN_LOCAL_ID, axis);
        if (index.is_literal)
            index = id;
        else
            index = sum(e, index, size[axis], id);
    }
    return index;
}

static vy_ptx_value global_id(vy_ptx *e, unsigned axis) {
    vy_ptx_value group = vy_ptx_builtin(e, VYRE_BUILTIN_GROUP_ID, axis);
    if (e->program->workgroup[axis] == 1)
        return group;
    return sum(e, group, e->program->workgroup[axis], vy_ptx_builtin(e, VYRE_BUILTIN_LOCAL_ID, axis));
}

/* A batched launch covers the whole grid of each row. */
static int is_tiled(const vy_ptx *e, unsigned axis) {
    return !e->batched && e->tiled_axes >> axis & 1;
}

static vy_ptx_value tile_param(vy_ptx *e, const char *name, unsigned axis, unsigned which);

static vy_ptx_value group_id(vy_ptx *e, unsigned axis) {
    if (e->is_indirect)
        return e->group_id[axis];
    if (e->batched && axis == 2)
        return vy_ptx_literal(VYRE_TYPE_U32, 0);
    vy_ptx_value own = special(e, "ctaid", axis);
    if (!is_tiled(e, axis))
        return own;
    vy_ptx_value first = tile_param(e, "first", axis, 0), d = vy_ptx_new(e, VYRE_TYPE_U32);
    VY_PTX_INSTRUCT(e, "add", "u32", d, own, first);
    return d;
}

static vy_ptx_value group_count(vy_ptx *e, unsigned axis) {
    if (e->is_indirect)
        return e->group_count[axis];
    if (e->batched && axis == 2)
        return vy_ptx_literal(VYRE_TYPE_U32, 1);
    return is_tiled(e, axis) ? tile_param(e, "groups", axis, 1) : special(e, "nctaid", axis);
}

static vy_ptx_value builtin(vy_ptx *e, uint32_t which, uint32_t axis) {
    uint32_t size = e->program->workgroup[axis];
    switch ((vyre_builtin)which) {
    case VYRE_BUILTIN_GLOBAL_ID:
        return global_id(e, axis);
    case VYRE_BUILTIN_LOCAL_ID:
        return local_id(e, axis);
    case VYRE_BUILTIN_GROUP_ID:
        return group_id(e, axis);
    case VYRE_BUILTIN_WORKGROUP_SIZE:
        return vy_ptx_literal(VYRE_TYPE_U32, size);
    case VYRE_BUILTIN_GROUP_COUNT:
        return group_count(e, axis);
    case VYRE_BUILTIN_GLOBAL_SIZE:
        return calculated(e, "mul.lo", vy_ptx_builtin(e, VYRE_BUILTIN_GROUP_COUNT, axis), size);
    default:
        return local_index(e);
    }
}

vy_ptx_value vy_ptx_builtin(vy_ptx *e, vyre_builtin which, unsigned axis) {
    return known(e, &e->builtins[which][axis], builtin, which, axis);
}

/* ---- arguments ---- */

/* The offset of a scalar among the arguments, as PTX lays params out: each at a multiple of its size. For the index
 * after the last: the end of the scalars. */
static uint32_t param_offset(const vy_ptx *e, uint32_t param) {
    uint32_t at = 12 * e->program->buffer_count;
    for (uint32_t i = 0;; i++) {
        int is_wide = i < e->program->param_count &&
                      vyre_type_bits((vyre_type)vy_variable_at(e->program, e->body->first_variable + i)->type) == 64;
        at = is_wide ? (at + 7) / 8 * 8 : at;
        if (i == param)
            return at;
        at += is_wide ? 8 : 4;
    }
}

/* Of the two values of a tiled axis; for axis 3: the end of all arguments. */
static uint32_t tile_offset(const vy_ptx *e, unsigned axis) {
    unsigned before = e->tiled_axes & ((1u << axis) - 1);
    return param_offset(e, e->program->param_count) + 8 * (uint32_t)__builtin_popcount(before);
}

static uint32_t control_offset(const vy_ptx *e) {
    return (tile_offset(e, 3) + 7) / 8 * 8;
}

uint32_t vy_ptx_batch_item_bytes(const vy_ptx *e) {
    return (control_offset(e) + 8 + 15) / 16 * 16;
}

/* Our pointers are global addresses. */
static vy_ptx_value to_global(vy_ptx *e, vy_ptx_value given) {
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U64);
    vy_ptx_end_with(e, vy_write_text(vy_ptx_line(e), "cvta.to.global.u64"), (vy_ptx_value[]){d, given}, 2);
    return d;
}

/* The address of this block's row. */
static vy_ptx_value row(vy_ptx *e, uint32_t a, uint32_t b) {
    vy_ptx_value given = vy_ptx_new(e, VYRE_TYPE_U64);
    (void)a, (void)b;
    vy_ptx_write(e, "ld.param.u64 %s, [rows]", vy_ptx_name(e, given));
    vy_ptx_value table = to_global(e, given), index = special(e, "ctaid", 2), d = vy_ptx_new(e, VYRE_TYPE_U64);
    vy_ptx_write(e, "mad.wide.u32 %s, %s, %" PRIu32 ", %s", vy_ptx_name(e, d), vy_ptx_name(e, index),
                 vy_ptx_batch_item_bytes(e), vy_ptx_name(e, table));
    return d;
}

/* An argument: a param, or its position in the row. */
static vy_ptx_value load_param(vy_ptx *e, vyre_type type, const char *name, uint32_t offset) {
    const char *size = type == VYRE_TYPE_U64 ? "u64" : "u32";
    vy_ptx_value from = e->batched ? known(e, &e->row, row, 0, 0) : vy_ptx_literal(VYRE_TYPE_U32, 0);
    vy_ptx_value d = vy_ptx_new(e, type);
    if (e->batched) {
        vy_ptx_write(e, "ld.global.nc.%s %s, [%s+%" PRIu32 "]", size, vy_ptx_name(e, d), vy_ptx_name(e, from), offset);
        return d;
    }
    char *at = vy_write_packed(vy_write_text(vy_ptx_line(e), "ld.param."), vy_ptx_letters(size));
    at = vy_write_text(vy_ptx_put(vy_write_text(at, " "), d), ", [");
    vy_ptx_end_line(e, vy_write_text(vy_write_text(at, name), "]"));
    return d;
}

static vy_ptx_value take_at(vy_ptx *e, vyre_type type, const char *name, uint32_t index, uint32_t offset) {
    char text[VY_PTX_NAME];
    *vy_write_decimal(vy_write_text(vy_write_text(text, name), "_"), index) = 0;
    return load_param(e, type, text, offset);
}

/* The first workgroup of the launch, or the workgroups of the grid. */
static vy_ptx_value tile_param(vy_ptx *e, const char *name, unsigned axis, unsigned which) {
    char text[VY_PTX_NAME];
    char *at = vy_write_text(vy_write_text(text, name), "_");
    at[0] = "xyz"[axis], at[1] = 0;
    return load_param(e, VYRE_TYPE_U32, text, tile_offset(e, axis) + 4 * which);
}

static vy_ptx_value address(vy_ptx *e, uint32_t buffer, uint32_t unused) {
    (void)unused;
    return to_global(e, take_at(e, VYRE_TYPE_U64, "buffer", buffer, 8 * buffer));
}

static vy_ptx_value count(vy_ptx *e, uint32_t buffer, uint32_t unused) {
    (void)unused;
    return take_at(e, VYRE_TYPE_U32, "count", buffer, 8 * e->program->buffer_count + 4 * buffer);
}

static vy_ptx_value misalignment(vy_ptx *e, uint32_t buffer, uint32_t bytes) {
    vy_ptx_value low = vy_ptx_cast(e, VYRE_TYPE_U32, vy_ptx_buffer(e, buffer)), behind = vy_ptx_new(e, VYRE_TYPE_U32);
    VY_PTX_INSTRUCT(e, "and", "b32", behind, low, vy_ptx_literal(VYRE_TYPE_U32, 15));
    return bytes == 1 ? behind : calculated(e, "shr", behind, (uint32_t)__builtin_ctz(bytes));
}

/* Excess bits of a param are ignored. */
static vy_ptx_value param(vy_ptx *e, uint32_t index, uint32_t type) {
    int is_wide = vyre_type_bits((vyre_type)type) == 64;
    vy_ptx_value d = take_at(e, is_wide ? VYRE_TYPE_U64 : VYRE_TYPE_U32, "param", index, param_offset(e, index));
    if (type == VYRE_TYPE_BOOL) {
        vy_ptx_value p = vy_ptx_new(e, VYRE_TYPE_BOOL);
        vy_ptx_write(e, "setp.ne.u32 %s, %s, 0", vy_ptx_name(e, p), vy_ptx_name(e, d));
        return p;
    }
    if (vyre_type_class((vyre_type)type) != VYRE_CLASS_FLOAT)
        return vy_ptx_cast(e, (vyre_type)type, d);
    if (vyre_type_bits((vyre_type)type) == 16)
        d = vy_ptx_cast(e, VYRE_TYPE_U16, d);
    return vy_ptx_bitcast(e, (vyre_type)type, d);
}

static vy_ptx_value control(vy_ptx *e, uint32_t a, uint32_t b) {
    (void)a, (void)b;
    return to_global(e, load_param(e, VYRE_TYPE_U64, "control", control_offset(e)));
}

/* Zero, unknown to ptxas: no address uses the upper two bits. */
static vy_ptx_value zero(vy_ptx *e, uint32_t a, uint32_t b) {
    vy_ptx_value address = vy_ptx_control_address(e), d = vy_ptx_new(e, VYRE_TYPE_U64);
    (void)a, (void)b;
    vy_ptx_write(e, "shr.u64 %s, %s, 62", vy_ptx_name(e, d), vy_ptx_name(e, address));
    return d;
}

static vy_ptx_value arrays(vy_ptx *e, uint32_t space, uint32_t unused) {
    int is_shared = space == VY_SPACE_WORKGROUP;
    vy_ptx_value d = vy_ptx_new(e, is_shared ? VYRE_TYPE_U32 : VYRE_TYPE_U64);
    (void)unused;
    vy_ptx_write(e, "mov.%s %s, %s", is_shared ? "u32" : "u64", vy_ptx_name(e, d),
                 is_shared ? "workgroup_arrays" : "private_arrays");
    return d;
}

static vy_ptx_value tables(vy_ptx *e, uint32_t in_bank, uint32_t unused) {
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U64);
    (void)unused;
    vy_ptx_write(e, "mov.u64 %s, %s", vy_ptx_name(e, d), in_bank ? "uniform_tables" : "tables");
    return d;
}

vy_ptx_value vy_ptx_buffer(vy_ptx *e, uint32_t buffer) {
    return known(e, &e->address[buffer], address, buffer, 0);
}

vy_ptx_value vy_ptx_count(vy_ptx *e, uint32_t buffer) {
    return known(e, &e->count[buffer], count, buffer, 0);
}

vy_ptx_value vy_ptx_misalignment(vy_ptx *e, uint32_t buffer) {
    const vy_memory *m = vy_memory_at(e->program, e->body->first_memory + buffer);
    return known(e, &e->misalignment[buffer], misalignment, buffer, vyre_type_bits((vyre_type)m->type) / 8);
}

vy_ptx_value vy_ptx_param(vy_ptx *e, uint32_t index) {
    uint8_t type = vy_variable_at(e->program, e->body->first_variable + index)->type;
    return known(e, &e->params[index], param, index, type);
}

vy_ptx_value vy_ptx_zero(vy_ptx *e) {
    return known(e, &e->zero, zero, 0, 0);
}

vy_ptx_value vy_ptx_control_address(vy_ptx *e) {
    return known(e, &e->control, control, 0, 0);
}

vy_ptx_value vy_ptx_arrays(vy_ptx *e, vy_space space) {
    return known(e, space == VY_SPACE_WORKGROUP ? &e->shared : &e->local, arrays, space, 0);
}

vy_ptx_value vy_ptx_tables(vy_ptx *e, int in_bank) {
    return known(e, &e->tables[in_bank], tables, (uint32_t)in_bank, 0);
}
