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

/* Barriers in loops that all invocations execute together: the kernel has barriers, and no branch decides about one. */
static const char *const uniform[] = {
    "while z == 5 { barrier }",
    "while z == 5 { barrier\n sink[0] = 1 }",
    "n = 0\n while n < z { n = n + 1\n barrier\n x = x + n }",
    "for k in 0u32 .. z { x = x + k\n barrier\n if i > k { x = x * 5 } }",
    "n = 1\n while n < 9 { part[i] = u32(x)\n barrier\n if i >= n { x = x + 1 }\n barrier\n n = n * 2 }",
    "for k in 0u32 .. 4 { for m in 0u32 .. i { x = x + m }\n part[i] = k\n barrier\n x = x ^ part[7 - i]\n barrier }",
};

static const char *const around[] = {
    "%s",
    "for trip in 0u32 .. 3 { %s }",
    "for trip in 0u32 .. z { if i == 2 { x = x + 9 }\n %s }",
    "let rounds = z + 2\n for trip in 1u32 .. rounds step 2 { %s\n x = x + trip }",
};

static void barriers_in_uniform_loops_are_kept(void **state) {
    (void)state;
    static launched l;
    static uint32_t y[16], sink[8];
    char body[512], text[1024], name[64];
    const vyre_scalar params[] = {vyre_scalar_bits(VYRE_TYPE_U32, 3)};
    const vyre_span inputs[] = {{y, sizeof y}, {sink, sizeof sink}};
    const vyre_arguments arguments = {.params = params, .param_count = 1, .inputs = inputs, .input_count = 2};
    l = (launched){.limit = 12, .constant_bytes = 256};
    launched_open(&l);
    for (uint32_t i = 0; i < 16; i++)
        y[i] = i * i;
    for (size_t i = 0; i < COUNT(uniform) * COUNT(around); i++) {
        snprintf(body, sizeof body, around[i / COUNT(uniform)], uniform[i % COUNT(uniform)]);
        snprintf(text, sizeof text,
                 "program uniform {\n param z : u32\n buffer y : u32 read_write\n buffer sink : u32 read_write\n"
                 " workgroup 8\n grid 2\n array part : u32 [8] workgroup\n let i = local_index\n var n = 0u32\n"
                 " var x = y[global_id.x]\n %s\n x = x * 3 + n\n y[global_id.x] = x\n}\n",
                 body);
        snprintf(name, sizeof name, "loop %zu in %zu", i % COUNT(uniform), i / COUNT(uniform));
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        assert_true(launched_add(&l, name, program, &arguments));
        if (l.joined.programs.count)
            assert_int_equal(l.joined.programs.items[l.joined.programs.count - 1].code.block[0], 8);
        vyre_program_release(program);
    }
    launched_run(&l);
    assert_int_equal(l.judged, COUNT(uniform) * COUNT(around));
    launched_close(&l);
}

/* With this number of loops, PoCL would compile barriers for minutes. */
static void many_loops_with_barriers_have_none_for_pocl(void **state) {
    (void)state;
    static launched l;
    static uint32_t y[16];
    const vyre_scalar params[] = {vyre_scalar_bits(VYRE_TYPE_U32, 2)};
    const vyre_span inputs[] = {{y, sizeof y}};
    const vyre_arguments arguments = {.params = params, .param_count = 1, .inputs = inputs, .input_count = 1};
    char text[2048];
    l = (launched){.constant_bytes = 256};
    launched_open(&l);
    int length = snprintf(text, sizeof text,
                          "program loops {\n param z : u32\n buffer y : u32 read_write\n workgroup 8\n grid 2\n"
                          " array part : u32 [8] workgroup\n let i = local_index\n var x = y[global_id.x] + i\n");
    for (int k = 0; k < 12; k++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           " for k in 0u32 .. z + %d { part[i] = x + k\n barrier\n x = x * 7 + part[7 - i]\n"
                           " barrier }\n",
                           k);
    snprintf(text + length, sizeof text - (size_t)length, " y[global_id.x] = x\n}\n");
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    assert_true(launched_add(&l, "loops", program, &arguments));
    if (l.joined.target.errata & VY_OPENCL_ERRATUM_POCL)
        assert_int_equal(l.joined.programs.items[0].code.block[0], 1);
    launched_run(&l);
    assert_int_equal(l.judged, 1);
    vyre_program_release(program);
    launched_close(&l);
}

/* LLVM turns a loop with at most one iteration into a branch. */
static void barriers_in_loops_without_iterations_are_kept(void **state) {
    (void)state;
    static launched l;
    static const char text[] =
        "fn place(keep: bool) -> (index: u32, count: u32) {\n let sum = workgroup_scan_inclusive_add(0u32)\n"
        " let all = workgroup_broadcast(0u32, 0)\n return sum - u32(keep), all\n}\n"
        "fn keep_u32(t: workgroup [u32], flags: workgroup [u32], n: u32) {\n let count = min(n, len(flags))\n"
        " var kept = 0u32\n for base in 0 .. count step 64 {\n let keep = local_index < count\n"
        " let (index, more) = place(keep)\n if keep { t[kept + index] = 0 }\n kept = more\n }\n barrier\n}\n"
        "program p {\n buffer fill0 : u32 read_write count 65\n workgroup 64\n grid 2\n"
        " array in0 : u32 [64] workgroup\n array in1 : u32 [64] workgroup\n in0[local_index] = global_id.x\n"
        " keep_u32(in0, in1, group_id.x)\n fill0[global_id.x] = in0[0]\n}\n";
    static uint32_t fill[65];
    static const vyre_span input = {fill, sizeof fill};
    const vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    l = (launched){.constant_bytes = 256};
    launched_open(&l);
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    assert_true(launched_add(&l, "one iteration", program, &arguments));
    launched_run(&l);
    assert_int_equal(l.judged, 1);
    vyre_program_release(program);
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

/* With polls: in kernels with barriers, PoCL lost the stores in a branch that all other invocations take after the
 * return. */
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

/* Traps and a return around barriers: PoCL loses them in kernels with barriers (sequential.c). */
static void branches_about_barriers_are_right(void **state) {
    (void)state;
    static launched l;
    static const char *const texts[] = {
        "program p {\n workgroup 3\n grid 1\n if group_id.x == 1 { trap 0 }\n if local_index == 0 { trap 0 }\n"
        " var n = 0u32\n while n < 1 { n = 1 }\n barrier\n}\n",
        "program p {\n buffer x : u8 read_write\n buffer y : u8 read_write\n workgroup 4\n grid 1\n"
        " array s : u8 [8] workgroup\n let i = global_id.x\n if i == 3 { return }\n x[i] = s[0]\n y[i] = 0\n}\n"};
    static uint8_t bytes[] = {9, 9, 9, 9};
    const vyre_span inputs[] = {{bytes, sizeof bytes}, {bytes, sizeof bytes}};
    l = (launched){.constant_bytes = 256};
    launched_open(&l);
    for (size_t i = 0; i < 2 * COUNT(texts); i++) {
        const vyre_arguments arguments = {.inputs = inputs, .input_count = i / 2 * 2};
        vyre_program *program = conform_parse(texts[i / 2], NULL, 0, NULL);
        l.joined.cancellable = i % 2;
        assert_true(launched_add(&l, i % 2 ? "polls" : "does not poll", program, &arguments));
        launched_run(&l);
        vyre_program_release(program);
    }
    assert_int_equal(l.judged, 2 * COUNT(texts));
    assert_int_equal(l.trapped, 2);
    launched_close(&l);
}

/* Private arrays that are live across a barrier, of all invocations of a workgroup: in local memory, and too large for
 * it. */
static void states_of_invocations_fit_somewhere(void **state) {
    (void)state;
    static launched l;
    static uint32_t x[1024];
    static const unsigned sizes[] = {8, 240, 512}; /* 32 KiB, almost 1 MiB, 2 MiB */
    static const vyre_span input = {x, sizeof x};
    const vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    char text[512];
    l = (launched){.constant_bytes = 256};
    launched_open(&l);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const unsigned elements = sizes[i];
        snprintf(text, sizeof text,
                 "program p {\n buffer x : u32 read_write\n workgroup 8, 2, 64\n grid 1\n"
                 " array own : u32 [%u] private\n let i = local_index\n own[i %% %u] = i * 3 + local_id.z\n"
                 " if group_count.x == 1 { barrier }\n x[i] = own[(i + x[i]) %% %u] + global_id.y\n}\n",
                 elements, elements, elements);
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        assert_true(launched_add(&l, "private arrays", program, &arguments));
        vyre_program_release(program);
    }
    launched_run(&l);
    assert_int_equal(l.judged, COUNT(sizes));
    launched_close(&l);
}

/* The last statements of a program: k has nothing to do with x, q is an element of it, n is 64. */
static const char *const choices[] = {
    "let w = q & 33554432 | k & 4261412863\n y[i] = i + 7 < len(y) ? w : k",
    "y[i] = i + 7 < len(y) ? q & 33554432 | k & 4261412863 : k",
    "let w = k ^ ((k ^ q) & 255)\n y[i] = i + 7 < len(y) ? w : k",
    "y[i] = i + 7 < len(y) ? k ^ ((k ^ q) & 255) : k",
    "let w = k & 4261412863 | q & 33554432\n y[i] = i + 7 < len(y) ? w : k",
    "y[i] = i + 7 < len(y) ? k & 4261412863 | q & 33554432 : k",
    /* choices that LLVM makes of branches */
    "var w = q\n if w > 99999 { let r = w & 4261412863 | k & 33554432\n w = r }\n y[i] = w",
    "var w = q\n if w > 99999 { w = k & 4261412863 | w & 33554432 } else { w = k }\n y[i] = w",
    "var w = k\n if q > 99999 { w = q & 33554432 | w & 4261412863\n if q & 1 == 0 { w = w ^ (q | 99) } }\n y[i] = w",
};

/* LLVM 15 of PoCL makes one instruction with a mask of the choice and the operations, with a wrong truth table. */
static void choices_of_bitwise_operations_are_those_of_the_oracle(void **state) {
    (void)state;
    static launched l;
    static uint32_t x[73];
    const vyre_scalar params[] = {vyre_scalar_bits(VYRE_TYPE_U32, 64)};
    const vyre_span input = {x, sizeof x};
    const uint64_t count = 64;
    const vyre_arguments arguments = {
        .params = params, .param_count = 1, .inputs = &input, .input_count = 1, .counts = &count, .count_count = 1};
    char text[768];
    l = (launched){.constant_bytes = 256};
    launched_open(&l);
    for (uint32_t i = 0; i < COUNT(x); i++)
        x[i] = i * UINT32_C(0x9e3779b9);
    for (size_t i = 0; i < COUNT(choices); i++) {
        snprintf(text, sizeof text,
                 "program choices {\n param n : u32\n buffer x : u32 read count 73\n buffer z : i32 write\n"
                 " buffer y : u32 write count n\n workgroup 64\n grid elements 23\n let i = global_id.x\n"
                 " let k = i * 1001791013\n barrier\n let q = x[local_index]\n z[0] = -1\n %s\n}\n",
                 choices[i]);
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        assert_true(launched_add(&l, choices[i], program, &arguments));
        vyre_program_release(program);
    }
    launched_run(&l);
    assert_int_equal(l.judged, COUNT(choices));
    launched_close(&l);
}

/* The same, where LLVM can determine each zero that is derived from the range of an id or of a size. */
static void choices_are_hidden_by_a_number_of_unknown_range(void **state) {
    (void)state;
    static launched l;
    static const char text[] =
        "program choices {\n param n : u32\n param m : u64\n buffer x : u64 read_write count 0\n"
        " buffer y : i32 write\n buffer u : u64 uniform count 0\n buffer z : i32 read count 17\n workgroup 17\n"
        " grid 1\n array s : u64 [144] workgroup\n let i = local_index\n let v = i32(i * 387395809)\n"
        " let c = subgroup_ballot<16>(0 != u[0])\n x[i] = rotl(m % c, 1) ^ s[0]\n"
        " y[i] = n != 0 && m != 0 ? v : v ^ (v ^ z[i]) & 1\n}\n";
    static const uint32_t z[17] = {1};
    const vyre_scalar params[] = {vyre_scalar_bits(VYRE_TYPE_U32, 0), vyre_scalar_bits(VYRE_TYPE_U64, 0)};
    const vyre_span inputs[] = {{NULL, 0}, {NULL, 0}, {z, sizeof z}};
    const uint64_t count = 1;
    const vyre_arguments arguments = {
        .params = params, .param_count = 2, .inputs = inputs, .input_count = 3, .counts = &count, .count_count = 1};
    l = (launched){.constant_bytes = 256};
    launched_open(&l);
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    assert_true(launched_add(&l, "choices", program, &arguments));
    launched_run(&l);
    assert_int_equal(l.judged, 1);
    vyre_program_release(program);
    launched_close(&l);
}

/* There are more invocations than lanes of a vector. The products wrap around, or must be rounded. */
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

/* Intel's runtime: after the barrier, an invocation had the value of another one; the smallest integer had the wrong
 * sign. */
static void negations_are_those_of_the_oracle(void **state) {
    (void)state;
    static launched l;
    static const struct {
        const char *type, *value;
    } forms[] = {{"f32", "-x[i]"},       {"f32", "x[i] * -1.0"},     {"f32", "-0.0 - x[i]"},
                 {"f64", "-abs(x[i])"},  {"f64", "x[i] / -1.0"},     {"f32", "fma(-x[i], 3.0, 1.0)"},
                 {"i16", "-x[i] >> 15"}, {"i32", "x[i] * -1 >> 31"}, {"i64", "-x[i] >> 63"},
                 {"i8", "-x[i] / 127"},  {"i16", "x[0] >> x[i]"}};
    static const uint64_t x[] = {0x3ff8000080008080, 0x8000000000000000, 0x3f80000040000000, 0xc0000000c0a00000};
    const vyre_span input = {x, sizeof x};
    char text[512];
    l = (launched){.constant_bytes = 256};
    launched_open(&l);
    for (size_t i = 0; i < COUNT(forms); i++) {
        const char *type = forms[i].type;
        snprintf(text, sizeof text,
                 "program negates {\n buffer x : %s read_write\n workgroup 4\n grid 1\n array s : %s [4] workgroup\n"
                 " let i = local_index\n let a = %s\n s[i] = a\n barrier\n var r = a\n"
                 " if (i & 1) != 0 { r = s[i & 2] + r }\n x[i] = r\n}\n",
                 type, type, forms[i].value);
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        const vyre_arguments arguments = {.inputs = &input, .input_count = 1};
        assert_true(launched_add(&l, forms[i].value, program, &arguments));
        vyre_program_release(program);
    }
    launched_run(&l);
    assert_int_equal(l.judged, COUNT(forms));
    launched_close(&l);
}

/* Intel's runtime lost the exponent of a constant to which an `or` with an unknown zero was applied. */
static void negated_literals_become_shorter_floats(void **state) {
    (void)state;
    static launched l;
    static const char text[] =
        "program negates {\n buffer y : f16 write count 1\n workgroup 1\n grid 1\n y[0] = -(1.0)\n}\n";
    const vyre_arguments arguments = {.params = NULL};
    l = (launched){.constant_bytes = 256};
    launched_open(&l);
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    for (l.joined.is_plain = 0; l.joined.is_plain < 2; l.joined.is_plain++) {
        assert_true(launched_add(&l, "literal", program, &arguments));
        launched_run(&l);
    }
    assert_int_equal(l.judged, 2);
    vyre_program_release(program);
    launched_close(&l);
}

/* Intel's runtime sign-extends a linear function of an index, or converts it to a float, by adding the step to the
 * value of another invocation, as if it did not wrap. There are more invocations than lanes of a vector. */
static void widened_indices_wrap_like_the_oracles(void **state) {
    (void)state;
    static launched l;
    static const char *const types[] = {"i64", "i32", "f32", "f16", "f64"};
    static const char *const values[] = {"i16(i << 12)",
                                         "i32(i * 0x10000000)",
                                         "i16(x[0]) * i16(i * 1000)",
                                         "mul_high(i32(i << 28), 1073741823)",
                                         "mul_high(i16(i << 12), i16(i << 12))",
                                         "i16(i << 12) / i16(i + 3)",
                                         "i16(i << 12) % i16(i + 3)",
                                         "i16(i << 12) >> i16(i & 15)",
                                         "bitcast<i16>(u16(i << 12))",
                                         "u16(i << 12)",
                                         "i64(i) << 60",
                                         "i << 28"};
    static const uint32_t x[] = {4};
    const vyre_span input = {x, sizeof x};
    const uint64_t count = 64;
    const vyre_arguments arguments = {.inputs = &input, .input_count = 1, .counts = &count, .count_count = 1};
    char text[512];
    l = (launched){.constant_bytes = 256};
    launched_open(&l);
    for (size_t i = 0; i < COUNT(types) * COUNT(values); i++) {
        const char *type = types[i % COUNT(types)], *value = values[i / COUNT(types)];
        snprintf(text, sizeof text,
                 "program widens {\n buffer x : u32 read\n buffer y : %s write\n workgroup 32\n grid 2\n"
                 " let i = global_id.x\n let v = %s\n y[i] = %s(v)\n}\n",
                 type, value, type);
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        assert_true(launched_add(&l, value, program, &arguments));
        vyre_program_release(program);
    }
    launched_run(&l);
    assert_int_equal(l.judged, COUNT(types) * COUNT(values));
    launched_close(&l);
}

/* Intel's runtime used the counter of another invocation after a loop whose condition it split into two exits. The
 * condition compares integers, because the description of the device excludes subnormals. */
static void counters_behind_loops_are_those_of_the_invocation(void **state) {
    (void)state;
    static launched l;
    static const char *const loops[] = {"while distance < 256.0 { %s }",
                                        "while true { if distance >= 256.0 { break }\n %s }"};
    const vyre_arguments arguments = {.params = NULL};
    char loop[256], text[1024];
    l = (launched){.constant_bytes = 256, .removed = UINT64_C(1) << VYRE_NUMERIC_F32_SUBNORMAL};
    launched_open(&l);
    for (size_t i = 0; i < COUNT(loops); i++) {
        snprintf(loop, sizeof loop, loops[i],
                 "let next = fma(x, x, cx) - y * y\n y = x\n x = next\n distance = y\n n = n + 1");
        snprintf(text, sizeof text,
                 "program counts {\n buffer image : u8 write count 2\n workgroup 16\n grid 1\n let px = global_id.x\n"
                 " let cx = 1.0 + (f32(px) - 1.0) * 32.0\n var x = 0.0f32\n var y = 0.0f32\n var distance = 0.0f32\n"
                 " var n = 0u32\n %s\n var t = 0.0f32\n if distance >= 256.0 { t = f32(n) / 40.0 }\n"
                 " image[px] = u8(t * 255.0)\n}\n",
                 loop);
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        assert_true(launched_add(&l, loops[i], program, &arguments));
        vyre_program_release(program);
    }
    launched_run(&l);
    assert_int_equal(l.judged, COUNT(loops));
    launched_close(&l);
}

/* NVIDIA's compiler negated an i16 after widening it to 32 bits instead of before. */
static void negations_wrap_before_they_are_widened(void **state) {
    (void)state;
    static launched l;
    static const char text[] =
        "program p {\n buffer x : i16 read\n buffer y : i32 write count 6\n workgroup 1\n grid 1\n"
        " let a = x[0]\n let b = x[1]\n"
        " y[0] = i32(-a)\n y[1] = i32(-a / a)\n y[2] = i32(-a % b)\n y[3] = i32(0 - a)\n"
        " y[4] = i32(a * -1)\n y[5] = i32(~a + 1) + i32(a / -1)\n}\n";
    static int16_t x[] = {INT16_MIN, 5};
    const vyre_span input = {x, sizeof x};
    const vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    l = (launched){.constant_bytes = 256};
    launched_open(&l);
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    for (l.joined.is_plain = 0; l.joined.is_plain < 2; l.joined.is_plain++) {
        assert_true(launched_add(&l, "negations", program, &arguments));
        launched_run(&l);
    }
    vyre_program_release(program);
    launched_close(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(negations_are_those_of_the_oracle),
        cmocka_unit_test(widened_indices_wrap_like_the_oracles),
        cmocka_unit_test(negated_literals_become_shorter_floats),
        cmocka_unit_test(counters_behind_loops_are_those_of_the_invocation),
        cmocka_unit_test(choices_of_bitwise_operations_are_those_of_the_oracle),
        cmocka_unit_test(choices_are_hidden_by_a_number_of_unknown_range),
        cmocka_unit_test(products_of_indices_become_floats_like_the_oracles),
        cmocka_unit_test(branches_about_barriers_are_right),
        cmocka_unit_test(states_of_invocations_fit_somewhere),
        cmocka_unit_test(returns_around_barriers_keep_what_is_before_them),
        cmocka_unit_test(stores_after_a_return_of_some_invocations_are_kept),
        cmocka_unit_test(barriers_in_uniform_loops_are_kept),
        cmocka_unit_test(many_loops_with_barriers_have_none_for_pocl),
        cmocka_unit_test(barriers_in_loops_without_iterations_are_kept),
        cmocka_unit_test(loops_that_are_endless_if_entered_keep_what_is_around_them),
        cmocka_unit_test(negations_wrap_before_they_are_widened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
