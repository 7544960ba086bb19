/* Programs of which a compiler makes wrong code, on a device: status, trap and bytes are the oracle's.
 *
 * The loops of `endless` do not end if they are entered, and no invocation enters one. */
#include "emit/opencl/launched.h"

/* Type of x, body. */
static const char program_text[] = "program endless {\n param z : u32\n buffer y : %s read_write\n"
                                   " buffer sink : u32 read_write\n workgroup 8\n grid 2\n let i = local_index\n"
                                   " var gone = false\n var n = 0u32\n var x = y[global_id.x]\n %s\n"
                                   " y[global_id.x] = x * 3\n}\n";

static const char *const types[] = {"u32", "i64"};

static const char *const endless[] = {
    "if i == 3 { trap 5 }\n while i == 3 { sink[0] = 1 }",
    "if i == 3 { trap 6 }\n while i == 3 { }",
    "if i == 3 { x = 7\n gone = true }\n while !gone && i == 3 { sink[0] = 1 }",
    "if i == 3 { x = 7\n gone = true }\n while true { if gone || i != 3 { break }\n sink[0] = 1 }",
    "if i == 3 { x = 7\n gone = true }\n if i == 3 { while true { if gone { break }\n n = n * 5 + 1 } }",
    "x = x + 1\n while z == 5 + i { sink[0] = 1 }",
    "while z == 5 + i { while z == 6 + i { sink[0] = 1 }\n sink[1] = 1 }\n x = x + 1",
};

static const char *const outer[] = {
    "for trip in 0u32 .. 3 { %s }",
    "for trip in 0u32 .. i { %s }",
    "while n < 3 { n = n + 1\n %s }",
    "while true { %s\n n = n + 1\n if n >= 3 { break } }",
    "if i > 2 { %s } else { sink[2] = 0 }",
    "for round in 0u32 .. 2 { for trip in 0u32 .. i { %s }\n barrier\n x = x + 1 }",
};

static const char *const after[] = {"barrier", "if z == 3 { barrier }", "for round in 0u32 .. 2 { barrier }"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void loops_that_are_endless_if_entered_keep_what_is_around_them(void **state) {
    (void)state;
    static launched l;
    static uint64_t y[16], sink[8];
    char body[512], text[1024], name[64];
    const vyre_scalar params[] = {vyre_scalar_bits(VYRE_TYPE_U32, 3)};
    l = (launched){.limit = 20, .constant_bytes = 256};
    launched_open(&l);
    for (size_t i = 0; i < 16; i++)
        y[i] = i * i;
    for (size_t i = 0; i < COUNT(endless) * COUNT(outer); i++) {
        const size_t inner = i % COUNT(endless), type = i % COUNT(types);
        const vyre_span inputs[] = {{y, type ? sizeof y : sizeof y / 2}, {sink, sizeof sink / 2}};
        const vyre_arguments arguments = {.params = params, .param_count = 1, .inputs = inputs, .input_count = 2};
        int size = snprintf(body, sizeof body, outer[i / COUNT(endless)], endless[inner]);
        snprintf(body + size, sizeof body - (size_t)size, "\n %s", after[i % COUNT(after)]);
        snprintf(text, sizeof text, program_text, types[type], body);
        snprintf(name, sizeof name, "loop %zu in %zu", inner, i / COUNT(endless));
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        assert_true(launched_add(&l, name, program, &arguments));
        vyre_program_release(program);
    }
    launched_run(&l);
    assert_int_equal(l.judged, COUNT(endless) * COUNT(outer));
    assert_int_equal(l.refused, 0);
    launched_close(&l);
}

/* Returns that all invocations take, with barriers after them, and one that some take, after the last barrier. */
static const char *const returns[] = {
    "program p {\n buffer y : f32 read count 0\n workgroup 2, 2\n grid 1\n if group_id.x == 1 { trap 0 }\n"
    " let x = global_id.x\n if local_index == 2 { trap 0 }\n"
    " if 0.0 >= y[0] { if x == 1 { trap 0 }\n return }\n barrier\n}\n",
    "program p {\n buffer y : f32 read count 0\n workgroup 1, 2\n grid 1\n barrier\n if local_index > 0 { trap 0 "
    "}\n}\n",
    "program p {\n buffer y : f32 read count 0\n workgroup 2, 2\n grid 1\n if 1.0 <= y[0] { return }\n barrier\n"
    " if local_index > 1 { trap 1 }\n if 0.0 >= y[0] { if local_index == 1 { trap 2 }\n return }\n barrier\n}\n",
    "program p {\n buffer y : f32 read count 0\n workgroup 1, 2, 2\n grid 1\n"
    " region \"g\" { barrier\n if local_index == 1 { trap 0 } }\n}\n",
};

static void returns_around_barriers_keep_what_is_before_them(void **state) {
    (void)state;
    static launched l;
    static const vyre_span input = {NULL, 0};
    const vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    l = (launched){.constant_bytes = 256};
    launched_open(&l);
    for (size_t i = 0; i < 2 * COUNT(returns); i++) {
        vyre_program *program = conform_parse(returns[i / 2], NULL, 0, NULL);
        l.joined.cancellable = i % 2;
        assert_true(launched_add(&l, i % 2 ? "polls" : "does not poll", program, &arguments));
        launched_run(&l);
        vyre_program_release(program);
    }
    assert_int_equal(l.trapped, 2 * COUNT(returns));
    launched_close(&l);
}

/* With polls: PoCL lost the stores in a branch for all invocations after the return (opt/version_checks.h). */
static void stores_after_a_return_of_some_invocations_are_kept(void **state) {
    (void)state;
    static launched l;
    static const char text[] =
        "program p {\n buffer y : u8 read_write\n workgroup 4\n grid 1\n array s : u8 [8] workgroup\n"
        " const k : i64 [7] = [2202640113254328694, 70368744177665, -7371169364185309703, 0, 1099511627776,\n"
        " 576460752303423487, 2049]\n let x = global_id.x\n if k[local_index] == 0 { return }\n y[x] = s[0]\n}\n";
    static uint8_t y[] = {127, 127, 127, 127};
    const vyre_span input = {y, sizeof y};
    const vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    l = (launched){.constant_bytes = 256, .joined.cancellable = 1};
    launched_open(&l);
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    assert_true(launched_add(&l, "polls", program, &arguments));
    launched_run(&l);
    assert_int_equal(l.judged, 1);
    vyre_program_release(program);
    launched_close(&l);
}

/* More invocations than a vector has lanes; the products wrap around, or need to be rounded. */
static void products_of_indices_become_floats_like_the_oracles(void **state) {
    (void)state;
    static launched l;
    static const char *const of[] = {"f32", "f64"}, *const factors[] = {"12311124", "117900562", "506221552"};
    const uint64_t count = 32;
    const vyre_arguments arguments = {.counts = &count, .count_count = 1};
    char text[512];
    l = (launched){.constant_bytes = 256};
    launched_open(&l);
    for (size_t i = 0; i < COUNT(of) * COUNT(factors); i++) {
        const char *type = of[i % COUNT(of)];
        snprintf(text, sizeof text,
                 "program products {\n buffer y : %s write\n workgroup 32\n grid 1\n let i = global_id.x\n"
                 " let x = %s(i * %s)\n y[i] = i < 2 ? 0.0 : x\n}\n",
                 type, type, factors[i / COUNT(of)]);
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        assert_true(launched_add(&l, type, program, &arguments));
        vyre_program_release(program);
    }
    launched_run(&l);
    launched_close(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_indices_become_floats_like_the_oracles),
        cmocka_unit_test(returns_around_barriers_keep_what_is_before_them),
        cmocka_unit_test(stores_after_a_return_of_some_invocations_are_kept),
        cmocka_unit_test(loops_that_are_endless_if_entered_keep_what_is_around_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
