/* What the integer rows mean, said a second time: on mathematical integers in 128 bits, or bit by bit. Slow and plain.
 * */
#ifndef VY_TEST_EVAL_INTEGER_MODEL_H
#define VY_TEST_EVAL_INTEGER_MODEL_H

#include "ir/eval.h"
#include "support/test.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

static inline int is_signed_type(vyre_type type) {
    return type == VYRE_TYPE_I8 || type == VYRE_TYPE_I16 || type == VYRE_TYPE_I32 || type == VYRE_TYPE_I64;
}

/* The integer a pattern stands for. */
static inline wide integer_value(vyre_type type, uint64_t bits) {
    const unsigned width = vyre_type_bits(type);

    return is_signed_type(type) && bits >> (width - 1) & 1 ? (wide)bits - ((wide)1 << width) : (wide)bits;
}

/* The pattern of an integer modulo 2^width. */
static inline uint64_t integer_wrap(vyre_type type, wide value) {
    return (uint64_t)((unsigned_wide)value & (((unsigned_wide)1 << vyre_type_bits(type)) - 1));
}

static inline unsigned bit(uint64_t bits, unsigned index) {
    return (unsigned)(bits >> index & 1);
}

static inline wide floor_shift(wide value, unsigned amount) {
    const wide divisor = (wide)1 << amount;

    return value / divisor - (value % divisor < 0);
}

static inline uint64_t integer_model(vyre_op op, vyre_type type, uint64_t a, uint64_t b, uint64_t c) {
    const unsigned width = vyre_type_bits(type), amount = (unsigned)(b % width);
    const wide x = integer_value(type, a), y = integer_value(type, b);
    uint64_t bits = 0;
    unsigned count = 0;

    switch (op) {
    case VYRE_OP_NEG:
        return integer_wrap(type, -x);
    case VYRE_OP_NOT:
        return integer_wrap(type, -1 - x);
    case VYRE_OP_ABS:
        return integer_wrap(type, x < 0 ? -x : x);
    case VYRE_OP_POPCOUNT:
        for (unsigned i = 0; i < width; i++)
            count += bit(a, i);
        return count;
    case VYRE_OP_CLZ:
        while (count < width && !bit(a, width - 1 - count))
            count++;
        return count;
    case VYRE_OP_CTZ:
        while (count < width && !bit(a, count))
            count++;
        return count;
    case VYRE_OP_REVERSE_BITS:
        for (unsigned i = 0; i < width; i++)
            bits |= (uint64_t)bit(a, i) << (width - 1 - i);
        return bits;
    case VYRE_OP_REVERSE_BYTES:
        for (unsigned i = 0; i < width; i += 8)
            bits |= (a >> i & 0xff) << (width - 8 - i);
        return bits;
    case VYRE_OP_ADD:
        return integer_wrap(type, x + y);
    case VYRE_OP_SUB:
        return integer_wrap(type, x - y);
    case VYRE_OP_MUL:
        return integer_wrap(type, (wide)((unsigned_wide)x * (unsigned_wide)y));
    case VYRE_OP_MUL_HIGH:
        if (type == VYRE_TYPE_U64) /* the product does not fit in 127 bits and a sign */
            return (uint64_t)((unsigned_wide)a * b >> 64);
        return integer_wrap(type, floor_shift(x * y, width));
    case VYRE_OP_DIV:
        return integer_wrap(type, y == 0 ? -1 : x / y);
    case VYRE_OP_REM:
        return integer_wrap(type, y == 0 ? x : x % y);
    case VYRE_OP_AND:
        for (unsigned i = 0; i < width; i++)
            bits |= (uint64_t)(bit(a, i) && bit(b, i)) << i;
        return bits;
    case VYRE_OP_OR:
        for (unsigned i = 0; i < width; i++)
            bits |= (uint64_t)(bit(a, i) || bit(b, i)) << i;
        return bits;
    case VYRE_OP_XOR:
        for (unsigned i = 0; i < width; i++)
            bits |= (uint64_t)(bit(a, i) != bit(b, i)) << i;
        return bits;
    case VYRE_OP_SHL:
        return integer_wrap(type, (wide)((unsigned_wide)a << amount));
    case VYRE_OP_SHR:
        return integer_wrap(type, floor_shift(x, amount));
    case VYRE_OP_ROTL:
        for (unsigned i = 0; i < width; i++)
            bits |= (uint64_t)bit(a, i) << ((i + amount) % width);
        return bits;
    case VYRE_OP_ROTR:
        for (unsigned i = 0; i < width; i++)
            bits |= (uint64_t)bit(a, (i + amount) % width) << i;
        return bits;
    case VYRE_OP_MIN:
        return integer_wrap(type, x < y ? x : y);
    case VYRE_OP_MAX:
        return integer_wrap(type, x < y ? y : x);
    case VYRE_OP_EQ:
        return x == y;
    case VYRE_OP_NE:
        return !(x == y);
    case VYRE_OP_LT:
        return x < y;
    case VYRE_OP_LE:
        return !(y < x);
    case VYRE_OP_GT:
        return y < x;
    case VYRE_OP_GE:
        return !(x < y);
    case VYRE_OP_SELECT:
        return a & 1 ? b : c;
    default:
        fail_msg("the model has no row for %s", vyre_op_get(op)->name);
        return 0;
    }
}

#endif
