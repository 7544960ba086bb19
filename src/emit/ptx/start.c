/* What is known at the start of the entry: ids, addresses, counts, params. Each is computed there when it is first asked for, so that it is there wherever it is used. */
#include "emit/ptx/emitter.h"

#include <inttypes.h>

typedef vy_ptx_value compute(vy_ptx *e, uint32_t a, uint32_t b);

static vy_ptx_value known(vy_ptx *e, vy_ptx_known *slot, compute *how, uint32_t a, uint32_t b) {
    if (!slot->is_known) {
        vy_string *before = e->out;
        e->out = &e->start;
        slot->value = how(e, a, b);
        slot->is_known = 1;
        e->out = before;
    }
    return slot->value;
}

/* ---- ids ---- */

static vy_ptx_value special(vy_ptx *e, const char *name, unsigned axis) {
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U32);
    vy_ptx_write(e, "mov.u32 %s, %%%s.%c", vy_ptx_name(e, d), name, "xyz"[axis]);
    return d;
}

static vy_ptx_value calculated(vy_ptx *e, const char *how, vy_ptx_value a, uint32_t b) {
    const char *from = vy_ptx_register(e, a);
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U32);
    vy_ptx_write(e, "%s.u32 %s, %s, %" PRIu32, how, vy_ptx_name(e, d), from, b);
    return d;
}

/* a * b + c */
static vy_ptx_value sum(vy_ptx *e, vy_ptx_value a, uint32_t b, vy_ptx_value c) {
    const char *from = vy_ptx_register(e, a);
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U32);
    vy_ptx_write(e, "mad.lo.u32 %s, %s, %" PRIu32 ", %s", vy_ptx_name(e, d), from, b, vy_ptx_name(e, c));
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

static vy_ptx_value builtin(vy_ptx *e, uint32_t which, uint32_t axis) {
    uint32_t size = e->program->workgroup[axis];
    switch ((vyre_builtin)which) {
    case VYRE_BUILTIN_GLOBAL_ID:
        return global_id(e, axis);
    case VYRE_BUILTIN_LOCAL_ID:
        return local_id(e, axis);
    case VYRE_BUILTIN_GROUP_ID:
        return special(e, "ctaid", axis);
    case VYRE_BUILTIN_WORKGROUP_SIZE:
        return vy_ptx_literal(VYRE_TYPE_U32, size);
    case VYRE_BUILTIN_GROUP_COUNT:
        return special(e, "nctaid", axis);
    case VYRE_BUILTIN_GLOBAL_SIZE:
        return calculated(e, "mul.lo", vy_ptx_builtin(e, VYRE_BUILTIN_GROUP_COUNT, axis), size);
    default:
        return local_index(e);
    }
}

vy_ptx_value vy_ptx_builtin(vy_ptx *e, vyre_builtin which, unsigned axis) {
    return known(e, &e->builtins[which][axis], builtin, which, axis);
}

/* ---- what the entry is given ---- */

/* A pointer of ours is one into the global space. */
static vy_ptx_value to_global(vy_ptx *e, vy_ptx_value given) {
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U64);
    vy_ptx_write(e, "cvta.to.global.u64 %s, %s", vy_ptx_name(e, d), vy_ptx_name(e, given));
    return d;
}

static vy_ptx_value address(vy_ptx *e, uint32_t buffer, uint32_t unused) {
    vy_ptx_value given = vy_ptx_new(e, VYRE_TYPE_U64);
    (void)unused;
    vy_ptx_write(e, "ld.param.u64 %s, [buffer_%" PRIu32 "]", vy_ptx_name(e, given), buffer);
    return to_global(e, given);
}

static vy_ptx_value count(vy_ptx *e, uint32_t buffer, uint32_t unused) {
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U32);
    (void)unused;
    vy_ptx_write(e, "ld.param.u32 %s, [count_%" PRIu32 "]", vy_ptx_name(e, d), buffer);
    return d;
}

static vy_ptx_value misalignment(vy_ptx *e, uint32_t buffer, uint32_t bytes) {
    vy_ptx_value low = vy_ptx_cast(e, VYRE_TYPE_U32, vy_ptx_buffer(e, buffer)), behind = vy_ptx_new(e, VYRE_TYPE_U32);
    vy_ptx_write(e, "and.b32 %s, %s, 15", vy_ptx_name(e, behind), vy_ptx_name(e, low));
    return bytes == 1 ? behind : calculated(e, "shr", behind, (uint32_t)__builtin_ctz(bytes));
}

/* Bits beyond a param's type do not matter. */
static vy_ptx_value param(vy_ptx *e, uint32_t index, uint32_t type) {
    int is_wide = vyre_type_bits((vyre_type)type) == 64;
    vy_ptx_value d = vy_ptx_new(e, is_wide ? VYRE_TYPE_U64 : VYRE_TYPE_U32);
    vy_ptx_write(e, "ld.param.%s %s, [param_%" PRIu32 "]", is_wide ? "u64" : "u32", vy_ptx_name(e, d), index);
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
    vy_ptx_value given = vy_ptx_new(e, VYRE_TYPE_U64);
    (void)a, (void)b;
    vy_ptx_write(e, "ld.param.u64 %s, [control]", vy_ptx_name(e, given));
    return to_global(e, given);
}

static vy_ptx_value arrays(vy_ptx *e, uint32_t space, uint32_t unused) {
    int is_shared = space == VY_SPACE_WORKGROUP;
    vy_ptx_value d = vy_ptx_new(e, is_shared ? VYRE_TYPE_U32 : VYRE_TYPE_U64);
    (void)unused;
    vy_ptx_write(e, "mov.%s %s, %s", is_shared ? "u32" : "u64", vy_ptx_name(e, d),
                 is_shared ? "workgroup_arrays" : "private_arrays");
    return d;
}

vy_ptx_value vy_ptx_buffer(vy_ptx *e, uint32_t buffer) {
    return known(e, &e->address[buffer], address, buffer, 0);
}

vy_ptx_value vy_ptx_count(vy_ptx *e, uint32_t buffer) {
    return known(e, &e->count[buffer], count, buffer, 0);
}

vy_ptx_value vy_ptx_misalignment(vy_ptx *e, uint32_t buffer) {
    const vy_memory *m = &e->program->memories.items[e->body->first_memory + buffer];
    return known(e, &e->misalignment[buffer], misalignment, buffer, vyre_type_bits((vyre_type)m->type) / 8);
}

vy_ptx_value vy_ptx_param(vy_ptx *e, uint32_t index) {
    uint8_t type = e->program->variables.items[e->body->first_variable + index].type;
    return known(e, &e->params[index], param, index, type);
}

vy_ptx_value vy_ptx_control_address(vy_ptx *e) {
    return known(e, &e->control, control, 0, 0);
}

vy_ptx_value vy_ptx_arrays(vy_ptx *e, vy_space space) {
    return known(e, space == VY_SPACE_WORKGROUP ? &e->shared : &e->local, arrays, space, 0);
}
