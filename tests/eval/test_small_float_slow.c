/* f16 and bf16: every unary row and every conversion from them on all 65536 patterns, and every conversion to them from
 * all values of the narrow types and from samples of the wide ones, against MPFR. */
#include "eval/float_model.h"

static uint64_t checked;

static void check_cast(vyre_type to, vyre_type from, uint64_t bits) {
    check_bits(VYRE_OP_CAST, to, from, bits, 0, 0, cast_model(to, from, bits));
    checked++;
}

static void every_unary_row_is_right_on_every_pattern(void **state) {
    (void)state;
    for (const format *f = formats; f < formats + 2; f++)
        for (unsigned op = 0; op < VYRE_OP_COUNT; op++) {
            const int same = vyre_op_accepts((vyre_op)op, f->type, f->type);

            if (vyre_op_get((vyre_op)op)->arity != 1 || op == VYRE_OP_CAST || op == VYRE_OP_BITCAST ||
                (!same && !vyre_op_accepts((vyre_op)op, f->type, VYRE_TYPE_BOOL)))
                continue;
            for (uint64_t a = 0; a < 65536; a++, checked++)
                check_bits((vyre_op)op, same ? f->type : VYRE_TYPE_BOOL, f->type, a, 0, 0,
                           float_model((vyre_op)op, f, a, 0, 0));
        }
}

static void every_conversion_from_them_is_right_on_every_pattern(void **state) {
    (void)state;
    for (const format *f = formats; f < formats + 2; f++)
        for (unsigned to = VYRE_TYPE_I8; to < VYRE_TYPE_COUNT; to++)
            for (uint64_t a = 0; a < 65536; a++)
                check_cast((vyre_type)to, f->type, a);
}

static void every_bitcast_to_them_keeps_the_bits_but_for_nan(void **state) {
    static const vyre_type types[] = {VYRE_TYPE_I16, VYRE_TYPE_U16, VYRE_TYPE_F16, VYRE_TYPE_BF16};
    (void)state;

    for (size_t from = 0; from < 4; from++)
        for (size_t to = 0; to < 4; to++)
            for (uint64_t a = 0; a < 65536; a++, checked++) {
                const format *source = format_of(types[from]), *target = format_of(types[to]);
                const uint64_t seen = source && format_is_nan(source, a) ? source->nan : a;

                check_bits(VYRE_OP_BITCAST, types[to], types[from], a, 0, 0,
                           target && format_is_nan(target, seen) ? target->nan : seen);
            }
}

static void every_conversion_from_a_narrow_integer_is_right(void **state) {
    (void)state;
    for (const format *f = formats; f < formats + 4; f++)
        for (uint64_t a = 0; a < 65536; a++) {
            check_cast(f->type, VYRE_TYPE_I16, a);
            check_cast(f->type, VYRE_TYPE_U16, a);
            check_cast(f->type, VYRE_TYPE_I8, a & 0xff);
            check_cast(f->type, VYRE_TYPE_U8, a & 0xff);
        }
}

/* An integer half way between two values of the format, or next to that, so that the last of its bits decides. */
static uint64_t integer_near_tie(vy_random *random, const format *f, unsigned width) {
    const unsigned length = f->fraction + 2 < width ? f->fraction + 2 : width;
    const uint64_t tie = vy_random_next(random) >> (64 - length) | UINT64_C(1) << (length - 1) | 1;
    const uint64_t bits = (tie << vy_random_below(random, width - length + 1)) + vy_random_below(random, 3) - 1;

    return (vy_random_next(random) & 1 ? bits : 0 - bits) & UINT64_MAX >> (64 - width);
}

static void conversions_from_wide_integers_are_right_on_samples(void **state) {
    static const vyre_type types[] = {VYRE_TYPE_I32, VYRE_TYPE_U32, VYRE_TYPE_I64, VYRE_TYPE_U64};
    vy_random random = vy_random_start(10);
    (void)state;

    for (size_t from = 0; from < 4; from++)
        for (const format *f = formats; f < formats + 4; f++)
            for (unsigned i = 0; i < 100000 * vy_test_effort(); i++) {
                const unsigned width = vyre_type_bits(types[from]);

                check_cast(f->type, types[from], random_integer(&random, width));
                check_cast(f->type, types[from], integer_near_tie(&random, f, width));
            }
}

/* A value of the wide format that is half way between two of the narrow one (also of its first subnormals), or next to
 * that. */
static uint64_t near_tie(vy_random *random, const format *wide_format, const format *narrow) {
    const unsigned lost = wide_format->fraction - narrow->fraction;
    const unsigned spread = (unsigned)narrow->bias + narrow->fraction + 3;
    const uint64_t bits = random_near(random, wide_format, wide_format->bias, spread);
    const uint64_t half = UINT64_C(1) << (lost - 1 + vy_random_below(random, 3));

    return ((bits & ~(2 * half - 1)) | half) + vy_random_below(random, 3) - 1;
}

static void conversions_between_floats_are_right_on_samples(void **state) {
    vy_random random = vy_random_start(11);
    (void)state;

    for (const format *from = formats + 2; from < formats + 4; from++)
        for (unsigned to = VYRE_TYPE_I8; to < VYRE_TYPE_COUNT; to++)
            for (unsigned i = 0; i < 100000 * vy_test_effort(); i++) {
                const format *target = format_of((vyre_type)to);
                const int ties = target && target->fraction < from->fraction && i & 1;

                check_cast((vyre_type)to, from->type,
                           ties ? near_tie(&random, from, target) : random_pattern(&random, from));
            }
    printf("%" PRIu64 " evaluations checked\n", checked);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_unary_row_is_right_on_every_pattern),
        cmocka_unit_test(every_conversion_from_them_is_right_on_every_pattern),
        cmocka_unit_test(every_bitcast_to_them_keeps_the_bits_but_for_nan),
        cmocka_unit_test(every_conversion_from_a_narrow_integer_is_right),
        cmocka_unit_test(conversions_from_wide_integers_are_right_on_samples),
        cmocka_unit_test(conversions_between_floats_are_right_on_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
