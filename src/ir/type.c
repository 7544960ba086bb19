/* Scalar types: the columns of VYRE_TYPE_LIST, and typed scalars. */
#include "vyre/type.h"

#include "ir/eval.h"

/* +infinity has all exponent bits and no other; the canonical NaN adds the top fraction bit, which is therefore half of the
 * lowest exponent bit: nan & (nan << 1), cut to the width, keeps just the exponent. */
#define INFINITY_OF(cls, nan) ((cls) == VYRE_CLASS_FLOAT ? (uint64_t)(nan) & (uint64_t)(nan) << 1 : UINT64_MAX)

const vy_type_layout vy_type_layouts[VYRE_TYPE_COUNT] = {
#define X(ID, name, bits, cls, nan) {UINT64_MAX >> (64 - (bits)), INFINITY_OF(cls, nan), nan, bits, (bits) / 8, cls},
    VYRE_TYPE_LIST(X)
#undef X
};

static const char *const names[VYRE_TYPE_COUNT] = {
#define X(ID, name, bits, cls, nan) name,
    VYRE_TYPE_LIST(X)
#undef X
};

enum {
    LONGEST = 0
#define X(ID, name, bits, cls, nan) | (sizeof name - 1)
    VYRE_TYPE_LIST(X)
#undef X
}; /* no name is longer */

static int is_valid_type(vyre_type type) {
    return (unsigned)type < VYRE_TYPE_COUNT;
}

const char *vyre_type_name(vyre_type type) {
    return is_valid_type(type) ? names[type] : "?";
}

unsigned vyre_type_bits(vyre_type type) {
    return is_valid_type(type) ? vy_type_layouts[type].bits : 0;
}

unsigned vyre_type_size(vyre_type type) {
    return is_valid_type(type) ? vy_type_layouts[type].size : 0;
}

unsigned vyre_type_class(vyre_type type) {
    return is_valid_type(type) ? vy_type_layouts[type].classes : 0;
}

vyre_type vyre_type_find(const char *name, size_t length) {
    unsigned type = 0;

    if (!name || length == 0 || length > LONGEST)
        return VYRE_TYPE_COUNT;
    while (type < VYRE_TYPE_COUNT &&
           (names[type][0] != name[0] || strlen(names[type]) != length || memcmp(names[type], name, length) != 0))
        type++;
    return (vyre_type)type;
}

vyre_scalar vyre_scalar_bits(vyre_type type, uint64_t bits) {
    return (vyre_scalar){type, is_valid_type(type) ? vy_value_canonicalize(type, bits) : 0};
}

vyre_scalar vyre_scalar_bool(int value) {
    return (vyre_scalar){VYRE_TYPE_BOOL, value != 0};
}

vyre_scalar vyre_scalar_i32(int32_t value) {
    return (vyre_scalar){VYRE_TYPE_I32, (uint32_t)value};
}

vyre_scalar vyre_scalar_u32(uint32_t value) {
    return (vyre_scalar){VYRE_TYPE_U32, value};
}

vyre_scalar vyre_scalar_i64(int64_t value) {
    return (vyre_scalar){VYRE_TYPE_I64, (uint64_t)value};
}

vyre_scalar vyre_scalar_u64(uint64_t value) {
    return (vyre_scalar){VYRE_TYPE_U64, value};
}

vyre_scalar vyre_scalar_f32(float value) {
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return vyre_scalar_bits(VYRE_TYPE_F32, bits);
}

vyre_scalar vyre_scalar_f64(double value) {
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return vyre_scalar_bits(VYRE_TYPE_F64, bits);
}
