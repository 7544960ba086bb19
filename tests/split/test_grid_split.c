/* The grid split: the launches of a split deliver what the program delivers. One program for each thing that lives
 * across a grid barrier, and each place a grid barrier can stand in. */
#include "split/split_runner.h"

/* A case being checked; start from zeros, `text` set. */
typedef struct claim {
    const char *text;
    vyre_scalar params[4];
    size_t param_count;
    uint32_t launches;  /* expected; 0 = any */
    int reads_back;     /* expected */
    int is_unordered;   /* races or the like make the checkers complain */
    vyre_status status; /* expected of both */
    uint32_t words[96]; /* input of every buffer that takes one: its first bytes */
    size_t input_bytes;
} claim;

static vyre_module *parse(const char *text) {
    vyre_module *module;
    vyre_error error;
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s (%s)\n%s", error.message, error.where, text);
    return module;
}

static void check_launches(const claim *c, const vyre_program *program, const vy_split *split,
                           const runner_result *result) {
    if (c->reads_back != (split->decision != VY_NONE)) {
        runner_show_all(program, split);
        fail_msg("the host %s", c->reads_back ? "reads nothing back" : "reads decisions back");
    }
    if (c->launches && c->launches != result->launches) {
        runner_show_all(program, split);
        fail_msg("%u launches, not %u", result->launches, c->launches);
    }
}

static void check_claim(const claim *c) {
    static runner_result direct, launched;
    vyre_module *module = parse(c->text);
    vyre_program *program = vyre_module_program(module, 0);
    vyre_span inputs[16];
    vyre_error error;
    vy_split *split;
    for (int i = 0; i < 16; i++)
        inputs[i] = (vyre_span){c->words, c->input_bytes ? c->input_bytes : sizeof c->words};
    vyre_arguments arguments = {.params = c->params,
                                .param_count = c->param_count,
                                .inputs = inputs,
                                .input_count = vyre_program_input_count(program)};
    if (vy_grid_split(program, &split, &error) != VYRE_OK)
        fail_msg("%s: %s\n%s", vyre_status_name(error.code), error.message, c->text);
    for (int checks = 0; checks < (c->is_unordered ? 1 : 2); checks++) {
        vyre_oracle_options options = {.checks = checks ? VYRE_CHECK_RACES : 0};
        runner_direct(program, &arguments, options, &direct);
        runner_split(program, split, &arguments, options, &launched);
        const char *difference = runner_compare(program, &direct, &launched);
        if (difference || direct.status != c->status) {
            runner_show_all(program, split);
            fail_msg("%s", difference ? difference : direct.error.message);
        }
        check_launches(c, program, split, &launched);
        runner_free(&direct);
        runner_free(&launched);
    }
    vy_split_free(split);
    vyre_module_free(module);
}

static claim with_words(const char *text, uint32_t launches) {
    claim c = {.text = text, .launches = launches};
    for (uint32_t i = 0; i < 96; i++)
        c.words[i] = i * 2654435761u + 12345u;
    return c;
}

static void expect(const char *text, uint32_t launches) {
    claim c = with_words(text, launches);
    check_claim(&c);
}

static void expect_n(const char *text, uint32_t n, uint32_t launches) {
    claim c = with_words(text, launches);
    c.params[0] = vyre_scalar_u32(n);
    c.param_count = 1;
    check_claim(&c);
}

/* The first lines of most programs: 96 elements, in workgroups of odd sizes too, so that the last one reaches past the
 * end. */
#define HEAD(size)                                                                                                     \
    "program p {\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n workgroup " size                    \
    "\n grid over x\n let i = global_id.x\n let n = len(x)\n"
#define HEAD_T(size)                                                                                                   \
    "program p {\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n workgroup " size                    \
    "\n grid over x\n array t : u32 [16] workgroup\n let i = global_id.x\n let n = len(x)\n"
#define HEAD_N(size)                                                                                                   \
    "program p {\n param k : u32\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n workgroup " size    \
    "\n grid over x\n let i = global_id.x\n let n = len(x)\n"

/* ---- what lives on ---- */

static void a_scalar_lives_on(void **state) {
    (void)state;
    expect(HEAD("32") "let v = x[i] * 3\n x[i] = v\n grid_barrier\n y[i] = v + x[n - 1 - i]\n }", 2);
    expect(HEAD("3") "let v = x[i] * 3\n x[i] = v\n grid_barrier\n y[i] = v + x[n - 1 - i]\n }", 2);
    expect(HEAD("33") "let v = x[i] * 3\n x[i] = v\n grid_barrier\n y[i] = v + x[n - 1 - i]\n }", 2);
}

static void a_load_is_not_evaluated_again(void **state) {
    (void)state;
    expect(HEAD("8") "let v = x[n - 1 - i]\n grid_barrier\n x[i] = 7\n grid_barrier\n y[i] = v\n }", 3);
}

static void every_type_lives_on(void **state) {
    (void)state;
    expect(
        HEAD("33") "let w = x[i]\n let a = i8(w)\n let b = u8(w >> 3)\n let c = i16(w)\n let d = u16(w >> 5)\n let e = "
                   "i32(w)\n let f = w\n"
                   "let g = i64(w) * -77777777777i64\n let h = u64(w) * 99999999999u64\n let o = bitcast<f16>(u16(w))\n"
                   "let q = bitcast<bf16>(u16(w >> 7))\n let r = bitcast<f32>(w * 3)\n let s = bitcast<f64>(u64(w) << "
                   "31)\n let t = w % 3 == 0\n"
                   "grid_barrier\n"
                   "var z = u64(u8(a)) ^ u64(b) << 3 ^ u64(u16(c)) << 5 ^ u64(d) << 7 ^ u64(u32(e)) << 9 ^ u64(f) << "
                   "11 ^ u64(g) ^ h\n"
                   "z = z ^ u64(bitcast<u16>(o)) << 13 ^ u64(bitcast<u16>(q)) << 17 ^ u64(bitcast<u32>(r)) << 19 ^ "
                   "bitcast<u64>(s)\n"
                   "y[i] = u32(z) ^ u32(z >> 32) ^ (t ? 5 : 9)\n }",
        2);
}

static void a_nan_lives_on(void **state) {
    (void)state;
    expect(HEAD("8") "let z = f32(x[i]) * 0.0\n let v = z / z\n let w = f64(v)\n let u = f16(v)\n grid_barrier\n"
                     "y[i] = bitcast<u32>(v) ^ u32(bitcast<u64>(w) >> 32) ^ u32(bitcast<u16>(u))\n }",
           2);
}

static void a_mutable_variable_lives_on_with_its_last_value(void **state) {
    (void)state;
    expect(HEAD("3") "var v = 1u32\n v = v + x[i]\n grid_barrier\n if i % 2 == 0 { v = v * 5 }\n grid_barrier\n v = v "
                     "+ 1\n grid_barrier\n y[i] = v\n }",
           4);
}

static void a_variable_that_only_passes_through_lives_on(void **state) {
    (void)state;
    expect(HEAD("5") "let v = x[i]\n grid_barrier\n x[i] = 1\n grid_barrier\n let w = x[n - 1 - i]\n grid_barrier\n "
                     "y[i] = v + w\n }",
           4);
}

static void private_arrays_live_on(void **state) {
    (void)state;
    expect("program p {\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n workgroup 33\n grid over x\n"
           "array a : u32 [5] private\n array b : f64 [3] private\n array c : u8 [4] private\n array d : u16 [2] "
           "private\n let i = global_id.x\n"
           "for j in 0u32 .. 5u32 { a[j] = x[i] + j * i }\n b[i % 3] = f64(i) * 1.5\n c[i % 4] = u8(i)\n x[i] = 3\n"
           "grid_barrier\n a[1] = a[0] + x[95 - i % 96]\n d[1] = u16(a[2])\n grid_barrier\n"
           "var s = u32(b[0] + b[1] + b[2]) + u32(c[0]) + u32(c[3]) + u32(d[0]) + u32(d[1])\n for j in 0u32 .. 5u32 { "
           "s = s * 31 + a[j] }\n y[i] = s\n }",
           3);
}

static void workgroup_arrays_live_on(void **state) {
    (void)state;
    static const char *const sizes[] = {"1", "3", "8", "33", "96"};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        char text[1024];
        snprintf(
            text, sizeof text,
            "program p {\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n workgroup %s\n grid over x\n"
            "array t : u32 [50] workgroup\n array f : f16 [7] workgroup\n let i = global_id.x\n let l = local_index\n"
            "if l < 50 { t[l] = x[i] }\n if l < 7 { f[l] = f16(l) }\n grid_barrier\n let s = t[0] + t[(l + 1) %% 50]\n"
            "let g = f[0] + f[l %% 7]\n barrier\n if l < 50 { t[l] = s }\n grid_barrier\n y[i] = t[(l + 2) %% 50] + "
            "u32(g) * 1000\n }",
            sizes[k]);
        expect(text, 3);
    }
}

static void arrays_not_written_yet_are_zero(void **state) {
    (void)state;
    expect("program p {\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n workgroup 16\n grid over x\n"
           "array t : u32 [16] workgroup\n array a : u32 [2] private\n let i = global_id.x\n grid_barrier\n y[i] = "
           "t[local_index] + a[1]\n barrier\n"
           "t[local_index] = i\n a[1] = i\n grid_barrier\n y[i] = y_of(t[15 - local_index], a[1]) \n }\n"
           "fn y_of(a: u32, b: u32) -> u32 { return a * 100 + b }",
           3);
}

static void a_conditional_write_of_an_array_is_kept_whole(void **state) {
    (void)state;
    for (uint32_t k = 0; k < 2; k++)
        expect_n("program p {\n param k : u32\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n "
                 "workgroup 16\n grid over x\n"
                 "array t : u32 [16] workgroup\n let i = global_id.x\n"
                 "if k == 0 { grid_barrier\n t[local_index] = i } else { grid_barrier\n x[i] = 9 }\n grid_barrier\n "
                 "y[i] = t[15 - local_index]\n }",
                 k, 3);
}

#define TWO_ARRAYS                                                                                                     \
    "program p {\n param k : u32\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n workgroup 16\n "    \
    "grid over x\n"                                                                                                    \
    "array t : u32 [16] workgroup\n array a : u32 [2] private\n let i = global_id.x\n let l = local_index\n var s = "  \
    "0u32\n"

static void arrays_live_on_from_trip_to_trip(void **state) {
    (void)state;
    /* written behind the barrier, read behind the loop */
    expect_n(TWO_ARRAYS
             "for r in 0u32 .. k { grid_barrier\n if r == 0 { t[l] = i\n a[1] = i } }\n y[i] = t[l] * 3 + a[1]\n }",
             3, 4);
    /* written before the loop, read before the barrier */
    expect_n(TWO_ARRAYS
             "t[l] = i\n a[1] = i\n for r in 0u32 .. k { s = s * 5 + t[l] * 3 + a[1]\n grid_barrier }\n y[i] = s\n }",
             3, 4);
    /* written behind the barrier, read before it */
    expect_n(TWO_ARRAYS "for r in 0u32 .. k { s = s * 5 + t[l] * 3 + a[1]\n grid_barrier\n t[l] = i + r\n a[1] = i * r "
                        "}\n y[i] = s\n }",
             4, 5);
}

static void an_array_that_is_only_written_keeps_its_other_elements(void **state) {
    (void)state;
    expect_n(TWO_ARRAYS "t[l] = i\n a[0] = i\n grid_barrier\n if l == 3 { t[3] = 7 }\n a[1] = 9\n grid_barrier\n y[i] "
                        "= t[l] * 100 + a[0] * 10 + a[1]\n }",
             0, 3);
}

static void elements_that_others_wrote_are_kept(void **state) {
    (void)state;
    expect_n(TWO_ARRAYS
             "let g = workgroup_reduce_add(x[i])\n t[(l + 5) % 16] = i\n grid_barrier\n if g % 2 == 0 { barrier }\n s "
             "= t[l] + g\n barrier\n t[(l + 7) % 16] = s\n grid_barrier\n y[i] = t[15 - l]\n }",
             0, 3);
    expect_n(TWO_ARRAYS "t[(l + 5) % 16] = i\n grid_barrier\n s = t[l]\n barrier\n t[(l + 7) % 16] = s\n "
                        "grid_barrier\n y[i] = t[15 - l]\n }",
             0, 3);
}

static void atomic_results_live_on(void **state) {
    (void)state;
    expect(HEAD("4") "if i == 0 { x[0] = 0 }\n grid_barrier\n let old = atomic_add(x[0], i)\n grid_barrier\n y[i] = "
                     "old + x[0]\n }",
           3);
}

static void collectives_stand_next_to_barriers(void **state) {
    (void)state;
    expect(HEAD("33") "let v = x[i]\n let s = workgroup_reduce_add(v)\n grid_barrier\n let t = "
                      "workgroup_scan_inclusive_add(v + s)\n"
                      "let f = subgroup_shuffle_xor<8>(t, 3)\n grid_barrier\n let u = workgroup_broadcast(f, 2)\n y[i] "
                      "= s + t * 3 + u\n }",
           3);
}

static void prints_come_in_the_same_order(void **state) {
    (void)state;
    expect(HEAD("8") "if i < 9 { print \"before {}\", i }\n grid_barrier\n if i < 9 { print \"after {}\", x[i] }\n }",
           2);
}

/* ---- uniform values stay uniform ---- */

static void uniform_variables_may_guard_barriers_later(void **state) {
    (void)state;
    expect(HEAD_T("16") "let g = group_id.x % 2\n var m = n / 2\n grid_barrier\n"
                        "if g == 0 { t[local_index] = x[i]\n barrier\n x[i] = t[15 - local_index] }\n m = m + 1\n "
                        "grid_barrier\n"
                        "for j in 0u32 .. m % 5 { let s = workgroup_reduce_add(x[i])\n barrier\n if i < n { x[i] = s + "
                        "j } }\n y[i] = x[i]\n }",
           3);
}

static void reductions_stay_uniform(void **state) {
    (void)state;
    expect(HEAD("8") "let s = workgroup_reduce_max(x[i])\n let any = workgroup_any(x[i] % 5 == 0)\n grid_barrier\n"
                     "if s > 7 && any { let r = workgroup_reduce_add(s)\n y[i] = r }\n }",
           2);
}

static void uniform_private_arrays_may_guard_barriers_later(void **state) {
    (void)state;
    expect("program p {\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n workgroup 16\n grid over x\n "
           "array p : u32 [3] private\n"
           "let i = global_id.x\n p[1] = len(x) + group_id.x\n grid_barrier\n if p[1] % 2 == 0 { let r = "
           "workgroup_reduce_add(x[i])\n y[i] = r }\n }",
           2);
}

/* ---- where barriers stand ---- */

static void the_grid_may_have_three_dimensions(void **state) {
    (void)state;
    expect("program p {\n buffer x : u32 read_write\n buffer y : u32 write count 96\n workgroup 3, 2\n grid 4, 2, 2\n "
           "array t : u32 [6] workgroup\n"
           "let i = global_id.x + 12 * (global_id.y + 4 * global_id.z)\n let v = x[i]\n let g = group_id.x * 100 + "
           "group_id.y * 10 + group_id.z\n"
           "t[local_index] = v + 1\n grid_barrier\n y[i] = v + t[5 - local_index] + g + x[95 - i]\n }",
           2);
}

static void a_barrier_may_stand_in_a_region(void **state) {
    (void)state;
    expect("fn phase(x: buffer [u32] read_write, i: u32, f: u32) -> u32 {\n let v = x[i] * f\n grid_barrier\n x[i] = v "
           "+ i\n grid_barrier\n return v + x[95 - i] }\n" HEAD(
               "32") "let a = phase(x, i, 3)\n let b = phase(x, i, a)\n y[i] = a + b\n }",
           5);
}

static void a_function_with_early_returns_may_hold_a_barrier(void **state) {
    (void)state;
    for (uint32_t k = 0; k < 4; k++)
        expect_n("fn f(x: buffer [u32] read_write, i: u32, k: u32) -> u32 {\n if k == 0 { return 1 }\n x[i] = x[i] + "
                 "1\n grid_barrier\n"
                 "if k == 1 { return x[95 - i] }\n let s = workgroup_reduce_add(i)\n if i % 2 == 0 { return s }\n "
                 "return x[i] }\n" HEAD_N("32") "let a = f(x, i, k)\n let r = workgroup_reduce_add(a)\n grid_barrier\n "
                                                "y[i] = a + r + x[95 - i]\n }",
                 k, k == 0 ? 2 : 3);
}

static void a_function_may_return_from_a_loop_with_a_barrier(void **state) {
    (void)state;
    for (uint32_t k = 0; k < 5; k++)
        expect_n("fn f(x: buffer [u32] read_write, i: u32, k: u32) -> u32 {\n for r in 0u32 .. k { x[i] = x[i] + r\n "
                 "grid_barrier\n if r == 2 { return x[95 - i] } }\n return 7 }\n" HEAD_N(
                     "32") "let a = f(x, i, k)\n let b = workgroup_reduce_add(a)\n grid_barrier\n y[i] = a + b + x[95 "
                           "- i]\n }",
                 k, 2 + (k < 3 ? k : 3));
}

static void a_barrier_may_stand_in_a_uniform_if(void **state) {
    (void)state;
    for (uint32_t k = 0; k < 3; k++)
        expect_n(HEAD_N("8") "var v = x[i]\n if k == 0 { x[i] = v * 2\n grid_barrier\n v = v + x[95 - i] } else { if k "
                             "== 1 { v = 7 } else { grid_barrier\n v = v + 1 } }\n"
                             "let w = v\n grid_barrier\n y[i] = w + v\n }",
                 k, k == 1 ? 2 : 3);
}

static void a_barrier_may_stand_in_a_for(void **state) {
    (void)state;
    for (uint32_t k = 0; k < 4; k++)
        expect_n(HEAD_N("33") "var sum = 0u32\n for r in 0u32 .. k { x[i] = x[i] + i + r\n grid_barrier\n sum = sum * "
                              "3 + x[n - 1 - i]\n grid_barrier }\n y[i] = sum\n }",
                 k, 2 * k + 1);
}

static void a_for_counts_as_it_would(void **state) {
    (void)state;
    static const struct {
        const char *range;
        uint32_t trips;
    } rows[] = {{"250u8 .. 255u8 step 4u8", 2},
                {"127i8 .. -128i8 step -128i8", 2},
                {"-128i8 .. 127i8 step 100i8", 3},
                {"0u8 .. 255u8 step 200u8", 2},
                {"5i32 .. -4i32 step -3i32", 3},
                {"5u32 .. 9u32 step 0u32", 0},
                {"3u64 .. 3u64", 0},
                {"18446744073709551613u64 .. 18446744073709551615u64", 2}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 "%sfor r in %s { x[i] = x[i] * 5 + u32(r)\n grid_barrier }\n y[i] = x[n - 1 - i]\n }", HEAD("32"),
                 rows[k].range);
        expect(text, rows[k].trips + 1);
    }
}

static void bounds_are_evaluated_once(void **state) {
    (void)state;
    expect_n(HEAD_N("32") "var e = k\n var s = 1u32\n for r in 0u32 .. e step s { e = 100\n s = 7\n x[i] = x[i] + r\n "
                          "grid_barrier }\n y[i] = x[n - 1 - i] + e\n }",
             3, 4);
    expect_n(
        HEAD_N(
            "32") "var e = k\n for r in 0u32 .. e step e - 2 { e = 9\n x[i] = x[i] + r\n grid_barrier }\n for r in "
                  "0u32 .. e step e / 3 { e = 4\n x[i] = x[i] * 3 + r\n grid_barrier }\n y[i] = x[n - 1 - i] + e\n }",
        4, 2 + 3 + 1);
    claim c = with_words("program p {\n buffer b : u32 read\n buffer x : u32 read_write\n buffer y : u32 write count "
                         "len(x)\n workgroup 32\n grid over x\n let i = global_id.x\n"
                         "for r in 0u32 .. b[0] % 3 + 2 { x[i] = x[i] + r\n grid_barrier }\n y[i] = x[95 - i]\n }",
                         0);
    c.reads_back = 1;
    check_claim(&c);
}

static void a_barrier_may_stand_in_a_while(void **state) {
    (void)state;
    expect_n(HEAD_N("8") "var m = k\n var s = x[i]\n while m > 1 { let half = m / 2\n x[i] = s + half\n grid_barrier\n "
                         "s = s + x[95 - i]\n m = m - half\n grid_barrier }\n y[i] = s + m\n }",
             13, 9);
}

static void loops_may_nest(void **state) {
    (void)state;
    expect_n(HEAD_N("8") "var s = x[i]\n for a in 0u32 .. k { let c = s + a\n for b in a .. k { let d = c ^ b\n x[i] = "
                         "s + d\n grid_barrier\n"
                         "s = s + x[95 - i]\n if b % 2 == 0 { s = s + d\n grid_barrier\n s = s + d } else { "
                         "grid_barrier }\n s = s * 3 + c }\n x[i] = s\n"
                         "grid_barrier\n s = s + x[95 - i] + c\n grid_barrier }\n y[i] = s\n }",
             4, 0);
}

static void jumps_of_loops_are_followed(void **state) {
    (void)state;
    for (uint32_t k = 0; k < 8; k++)
        expect_n(HEAD_N("8") "var s = x[i]\n var t = 0u32\n for a in 0u32 .. 6u32 {\n t = t + 1\n if a == k { continue "
                             "}\n x[i] = s\n grid_barrier\n s = s + x[95 - i]\n"
                             "if t + a == 9 { break }\n if a == 2 && k > 6 { return }\n grid_barrier\n if a == k + 1 { "
                             "s = s + 1\n continue }\n s = s * 7 }\n y[i] = s\n }",
                 k, 0);
}

static void a_divergent_continue_may_follow_the_barrier(void **state) {
    (void)state;
    expect_n(TWO_ARRAYS "for r in 0u32 .. k { s = s + t[l]\n if r == 1 { continue }\n barrier\n t[(l + 1) % 16] = s + "
                        "i\n grid_barrier\n if l % 3 == r % 3 { continue }\n s = s * 3 }\n y[i] = s\n }",
             4, 4);
    /* … and the rest of an inner block the start of another */
    expect_n(TWO_ARRAYS "for r in 0u32 .. k { if r != 1 { grid_barrier\n if r == 2 { s = s + 1\n continue }\n "
                        "barrier\n t[l] = i + r }\n if l % 3 == r % 3 { continue }\n s = s * 3 + t[l] }\n y[i] = s\n }",
             4, 4);
}

static void a_uniform_return_ends_the_dispatch(void **state) {
    (void)state;
    for (uint32_t k = 0; k < 3; k++)
        expect_n(HEAD_N("8") "y[i] = 1\n if k == 0 { return }\n grid_barrier\n y[i] = 2\n if k == 1 { return }\n "
                             "grid_barrier\n y[i] = x[95 - i]\n }",
                 k, k + 1);
}

static void what_follows_the_last_barrier_may_diverge(void **state) {
    (void)state;
    expect(HEAD("8") "let v = x[i]\n grid_barrier\n if i % 3 == 0 { return }\n while x[i] > 1000 { x[i] = x[i] / 2\n "
                     "if x[i] % 7 == 0 { break } }\n y[i] = v\n }",
           2);
}

static void trips_may_be_computed_by_a_loop(void **state) {
    (void)state;
    expect_n(HEAD_N("8") "var m = k\n var levels = 0u32\n while m > 1 { m = m / 2\n if m == 5 { continue }\n levels = "
                         "levels + 1 }\n"
                         "for l in 0u32 .. levels { x[i] = x[i] + l\n grid_barrier\n x[95 - i] = x[95 - i] * 3\n "
                         "grid_barrier }\n y[i] = x[i]\n }",
             100, 13);
}

static void sizes_and_lengths_are_known_to_the_host(void **state) {
    (void)state;
    expect("program p {\n buffer x : u32 read_write\n workgroup 4, 2\n grid 3, 4\n array t : u32 [5] private\n let i = "
           "global_id.x + 12 * global_id.y\n"
           "for r in 0u32 .. group_count.x + workgroup_size.y + global_size.y + len(x) / 50 + len(t) { x[i] = x[i] + "
           "r\n grid_barrier\n let v = x[95 - i]\n grid_barrier\n x[i] = v }\n }",
           2 * (3 + 2 + 8 + 1 + 5) + 1);
}

static void values_from_read_buffers_are_read_back(void **state) {
    (void)state;
    for (uint32_t k = 0; k < 4; k++) {
        claim c = with_words("program p {\n buffer b : u32 read\n buffer x : u32 read_write\n buffer y : u32 write "
                             "count len(x)\n workgroup 8\n grid over x\n let i = global_id.x\n"
                             "var s = x[i]\n var m = b[0]\n if b[0] == 3 { return }\n while m > 0 { x[i] = s\n "
                             "grid_barrier\n s = s + x[95 - i] + m\n m = m - 1\n grid_barrier }\n"
                             "if b[0] == 1 { grid_barrier }\n y[i] = s\n }",
                             k == 3 ? 1 : 2 * k + 1 + (k == 1));
        c.words[0] = k;
        c.reads_back = 1;
        check_claim(&c);
    }
}

static void relaxed_floats_are_left_to_the_device(void **state) {
    (void)state;
    static const char *const modes[] = {"strict", "relaxed"};
    for (int k = 0; k < 2; k++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "program p {\n numerics %s\n param q : f32\n buffer x : u32 read_write\n buffer y : u32 write count "
                 "len(x)\n workgroup 8\n grid over x\n let i = global_id.x\n"
                 "var f = q\n let g = f32(i) * q + 0.1\n while f < 20.0 { x[i] = x[i] + u32(g)\n f = f * 1.7 + 0.3\n "
                 "grid_barrier }\n"
                 "for r in 0u32 .. u32(q * 1.1) { x[i] = x[i] * 3 + r\n grid_barrier }\n y[i] = x[95 - i]\n }",
                 modes[k]);
        claim c = with_words(text, 0);
        c.params[0] = vyre_scalar_f32(3.1f);
        c.param_count = 1;
        c.reads_back = k;
        check_claim(&c);
        vyre_module *module = parse(text);
        vy_split *split;
        assert_int_equal(vy_grid_split(vyre_module_program(module, 0), &split, NULL), VYRE_OK);
        assert_int_equal(split->buffers[0].per_invocation, k); /* g */
        vy_split_free(split);
        vyre_module_free(module);
    }
}

static void an_empty_grid_launches_nothing(void **state) {
    (void)state;
    claim c = with_words("program p {\n param k : u32\n buffer b : u32 read\n buffer x : u32 read_write\n workgroup "
                         "8\n grid k\n if b[0] > 0 { grid_barrier\n x[global_id.x] = 1 }\n }",
                         0);
    c.param_count = 1;
    c.params[0] = vyre_scalar_u32(0);
    c.reads_back = 1;
    check_claim(&c);
}

static void an_indirect_grid_is_read_once(void **state) {
    (void)state;
    claim c = with_words("program p {\n buffer g : u32 read_write\n workgroup 8\n grid indirect g[0]\n let i = "
                         "global_id.x\n grid_barrier\n if i == 0 { g[0] = 70 }\n grid_barrier\n"
                         "g[i + 3] = group_count.x + g[0]\n }",
                         3);
    c.words[0] = 9;
    c.words[1] = c.words[2] = 1;
    check_claim(&c);
}

static void a_program_without_grid_barrier_is_one_segment(void **state) {
    (void)state;
    expect(HEAD("8") "let s = workgroup_reduce_add(x[i])\n y[i] = s\n }", 1);
    expect("program p {\n grid 1\n }", 1);
}

static void barriers_may_be_first_last_and_in_a_row(void **state) {
    (void)state;
    expect(HEAD("8") "grid_barrier\n grid_barrier\n y[i] = x[i]\n grid_barrier\n }", 4);
}

static void names_that_repeat_are_kept_apart(void **state) {
    (void)state;
    expect_n(HEAD_N("8") "for r in 0u32 .. k { if k > 1 { let v = x[i]\n grid_barrier\n let w = v + x[95 - i]\n "
                         "grid_barrier\n x[i] = w }\n let v = x[i]\n let w = v\n grid_barrier\n x[i] = v + w }\n"
                         "let kept32 = x[i]\n let group = kept32\n let resumes = group\n grid_barrier\n y[i] = kept32 "
                         "+ group + resumes\n }",
             3, 11);
}

static void a_branch_that_would_race_if_taken_is_split(void **state) {
    (void)state;
    /* Valid, because the validator refuses certain races only. */
    expect_n(HEAD_N("8") "if k == 0 { return }\n grid_barrier\n if k == 1 { grid_barrier\n y[0] = 1 }\n }", 2, 2);
    expect_n(HEAD_N("8") "if k == 0 { return }\n grid_barrier\n y[0] = 1\n }", 0, 1);
}

/* ---- traps ---- */

static void a_trap_ends_the_dispatch(void **state) {
    (void)state;
    claim c =
        with_words(HEAD("8") "let v = x[i]\n if i == 17 || i == 20 { trap 40 + i }\n grid_barrier\n y[i] = v\n }", 1);
    c.status = VYRE_TRAPPED;
    check_claim(&c);
    c = with_words(HEAD("8") "let v = x[i]\n grid_barrier\n if i > 60 { trap v }\n let s = workgroup_reduce_add(v)\n "
                             "grid_barrier\n y[i] = s\n }",
                   2);
    c.status = VYRE_TRAPPED;
    check_claim(&c);
}

static void a_trap_behind_the_barrier_does_not_hide_the_one_before(void **state) {
    (void)state;
    /* Invocation 40 traps in the first segment, smaller ones would in the second. */
    claim c = with_words(
        HEAD("8") "let v = x[i]\n if i == 40 { trap 1 }\n grid_barrier\n if i < 8 { trap 2 }\n y[i] = v\n }", 1);
    c.status = VYRE_TRAPPED;
    check_claim(&c);
    c = with_words(HEAD("8") "for k in 0u32 .. 4u32 {\n if i + 20 * k >= 50 { trap 100 * k + i }\n grid_barrier\n }\n "
                             "y[i] = x[i]\n }",
                   1);
    c.status = VYRE_TRAPPED;
    check_claim(&c);
}

/* ---- refusals ---- */

static void a_library_is_refused(void **state) {
    (void)state;
    vyre_module *module = parse("fn f(a: u32) -> u32 { return a }");
    vy_split *split;
    vyre_error error;
    assert_int_equal(vy_grid_split(vyre_module_library(module), &split, &error), VYRE_INVALID_ARGUMENT);
    assert_null(split);
    assert_string_not_equal(error.fix, "");
    vyre_module_free(module);
}

static vyre_status split_status(const char *text, vyre_error *error) {
    vyre_module *module = parse(text);
    vy_split *split;
    vyre_status status = vy_grid_split(vyre_module_program(module, 0), &split, error);
    vy_split_free(split);
    vyre_module_free(module);
    return status;
}

static void too_many_buffers_are_refused(void **state) {
    (void)state;
    static char text[32768];
    for (int count = 250; count <= 255; count++) {
        size_t used = (size_t)sprintf(text, "program p {\n");
        for (int i = 0; i < count; i++)
            used += (size_t)sprintf(text + used, "buffer b%d : u32 read_write\n", i);
        sprintf(text + used, "workgroup 4\n grid over b0\n let a = b0[global_id.x]\n let b = u64(a)\n let c = u8(a)\n "
                             "let d = u16(a)\n let e = b1[0]\n"
                             "grid_barrier\n b0[global_id.x] = a + u32(b) + u32(c) + u32(d)\n }");
        vyre_error error;
        vyre_status status = split_status(text, &error);
        assert_int_equal(status, count <= 251 ? VYRE_OK : VYRE_LIMIT);
        if (status != VYRE_OK)
            assert_string_equal(error.fix, "declare at most 251 buffers");
    }
}

static void too_many_grid_barriers_are_refused(void **state) {
    (void)state;
    static char text[32768];
    for (int count = 1024; count <= 1025; count++) {
        size_t used = (size_t)sprintf(text, "program p {\n grid 1\n");
        for (int i = 0; i < count; i++)
            used += (size_t)sprintf(text + used, "grid_barrier\n");
        sprintf(text + used, "}");
        vyre_error error;
        assert_int_equal(split_status(text, &error), count == 1024 ? VYRE_OK : VYRE_LIMIT);
    }
}

static void too_deep_a_nesting_is_refused(void **state) {
    (void)state;
    static char text[32768];
    vyre_status last = VYRE_OK;
    for (int depth = 10; depth <= 126; depth += 4) {
        size_t used = (size_t)sprintf(text, "program p {\n param k : u32\n buffer x : u32 read_write\n workgroup 4\n "
                                            "grid over x\n let i = global_id.x\n var s = 0u32\n");
        for (int i = 0; i < depth; i++)
            used += (size_t)sprintf(text + used, "while s < k {\n");
        used += (size_t)sprintf(text + used, "s = s + 1\n grid_barrier\n x[i] = s\n");
        for (int i = 0; i <= depth; i++)
            used += (size_t)sprintf(text + used, "}\n");
        vyre_error error;
        last = split_status(text, &error);
        assert_true(last == VYRE_OK || last == VYRE_LIMIT);
    }
    assert_int_equal(last, VYRE_LIMIT);
}

static void a_hidden_buffer_over_the_limit_is_refused(void **state) {
    (void)state;
    static vy_resolved_dispatch launch;
    uint64_t elements[VY_SPLIT_BUFFERS];
    vyre_error error;
    vy_split *split;
    vyre_module *module = parse("program p {\n buffer x : u32 read_write\n workgroup 64\n let a = x[global_id.x]\n let "
                                "b = x[global_id.x + 1]\n grid_barrier\n x[global_id.x] = a + b\n }");
    assert_int_equal(vy_grid_split(vyre_module_program(module, 0), &split, &error), VYRE_OK);
    vyre_span input = {NULL, 0};
    vyre_arguments arguments = {
        .inputs = &input, .input_count = 1, .geometry = {VYRE_GEOMETRY_GROUPS, {(1u << 25) - 1, 1, 1}}};
    assert_int_equal(vy_resolve_dispatch(vyre_module_program(module, 0), &arguments, &launch, &error), VYRE_OK);
    assert_int_equal(vy_split_elements(split, &launch, elements, &error), VYRE_OK);
    assert_int_equal(elements[0], 2 * 64 * ((UINT64_C(1) << 25) - 1));
    arguments.geometry.size[0]++;
    assert_int_equal(vy_resolve_dispatch(vyre_module_program(module, 0), &arguments, &launch, &error), VYRE_OK);
    assert_int_equal(vy_split_elements(split, &launch, elements, &error), VYRE_LIMIT);
    arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {1u << 25, 1u << 30, 1}};
    assert_int_equal(vy_resolve_dispatch(vyre_module_program(module, 0), &arguments, &launch, &error), VYRE_OK);
    assert_int_equal(vy_split_elements(split, &launch, elements, &error), VYRE_LIMIT);
    vy_split_free(split);
    vyre_module_free(module);
}

/* The status of the second step of a program whose first launch is its first segment. */
static vyre_status second_step(const char *text, uint32_t k, vy_split_step *step, vyre_error *error) {
    claim c = with_words(text, 0);
    vyre_module *module = parse(c.text);
    vyre_program *program = vyre_module_program(module, 0);
    static vy_resolved_dispatch launch;
    vy_split_cursor *cursor;
    vy_split *split;
    vyre_scalar param = vyre_scalar_u32(k);
    vyre_span input = {c.words, sizeof c.words};
    vyre_arguments arguments = {.params = &param, .param_count = 1, .inputs = &input, .input_count = 1};
    assert_int_equal(vy_grid_split(program, &split, error), VYRE_OK);
    assert_int_equal(vy_resolve_dispatch(program, &arguments, &launch, error), VYRE_OK);
    assert_int_equal(vy_split_start(split, &launch, &cursor, error), VYRE_OK);
    assert_int_equal(vy_split_next(cursor, 0, step, error), VYRE_OK);
    assert_int_equal(step->segment, 0);
    vyre_status status = vy_split_next(cursor, 0, step, error);
    vy_split_free_cursor(cursor);
    vy_split_free(split);
    vyre_module_free(module);
    return status;
}

static void a_host_that_never_finds_the_next_launch_says_so(void **state) {
    (void)state;
    vy_split_step step;
    vyre_error error;
    const char *decides =
        HEAD_N("8") "var m = k\n while m != 0 { m = m + 2 }\n if m == 0 { grid_barrier }\n y[i] = 1\n }";
    assert_int_equal(second_step(decides, 2, &step, &error), VYRE_LIMIT);
    assert_string_not_equal(error.fix, "");
    assert_int_equal(second_step(decides, 0xfff00000u, &step, &error), VYRE_OK);
    assert_int_equal(step.segment, 1);
    /* A loop that decides nothing is none of the host's business. */
    const char *computes =
        HEAD_N("8") "var m = k\n while m != 0 { m = m + 2 }\n x[i] = m\n grid_barrier\n y[i] = x[95 - i]\n }";
    assert_int_equal(second_step(computes, 1, &step, &error), VYRE_OK);
    assert_int_equal(step.segment, 1);
}

static void a_decision_that_names_no_segment_is_refused(void **state) {
    (void)state;
    static vy_resolved_dispatch launch;
    vyre_module *module =
        parse("program p {\n buffer b : u32 read\n workgroup 8\n grid 1\n if b[0] == 1 { grid_barrier } }");
    vyre_span input = {"\1\0\0", 4};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vy_split_cursor *cursor;
    vy_split_step step;
    vy_split *split;
    vyre_error error;
    assert_int_equal(vy_grid_split(vyre_module_program(module, 0), &split, &error), VYRE_OK);
    assert_int_equal(vy_resolve_dispatch(vyre_module_program(module, 0), &arguments, &launch, &error), VYRE_OK);
    assert_int_equal(vy_split_start(split, &launch, &cursor, &error), VYRE_OK);
    assert_int_equal(vy_split_next(cursor, 77, &step, &error), VYRE_OK);
    assert_int_equal(vy_split_next(cursor, 2, &step, &error), VYRE_INVALID_ARGUMENT);
    assert_string_not_equal(error.fix, "");
    vy_split_free_cursor(cursor);
    vy_split_free(split);
    vyre_module_free(module);
}

/* ---- what it costs ---- */

static vy_split *split_of(vyre_module *module) {
    vy_split *split;
    vyre_error error;
    if (vy_grid_split(vyre_module_program(module, 0), &split, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return split;
}

static void slots_are_shared_and_nothing_dead_is_kept(void **state) {
    (void)state;
    vyre_module *module =
        parse(HEAD("8") "let a = x[i]\n let dead = x[i] * 3\n grid_barrier\n x[i] = a\n let b = x[i]\n grid_barrier\n "
                        "x[i] = b + 1\n let c = x[i]\n grid_barrier\n y[i] = c\n }");
    vy_split *split = split_of(module);
    assert_int_equal(split->buffer_count, 1);
    assert_int_equal(split->buffers[0].type, VYRE_TYPE_U32);
    assert_int_equal(split->buffers[0].per_invocation, 1); /* one of a, b, c; i and n are computed again */
    assert_int_equal(split->buffers[0].per_group, 0);
    vy_split_free(split);
    vyre_module_free(module);
}

static void what_the_host_knows_is_a_param(void **state) {
    (void)state;
    vyre_module *module = parse(HEAD_N("8") "for r in 0u32 .. k { x[i] = r\n grid_barrier\n y[i] = r }\n }");
    vy_split *split = split_of(module);
    assert_int_equal(split->param_count, 1);
    assert_int_equal(split->buffer_count, 0);
    assert_int_equal(split->decision, VY_NONE);
    vy_split_free(split);
    vyre_module_free(module);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scalar_lives_on),
        cmocka_unit_test(a_load_is_not_evaluated_again),
        cmocka_unit_test(every_type_lives_on),
        cmocka_unit_test(a_nan_lives_on),
        cmocka_unit_test(a_mutable_variable_lives_on_with_its_last_value),
        cmocka_unit_test(a_variable_that_only_passes_through_lives_on),
        cmocka_unit_test(private_arrays_live_on),
        cmocka_unit_test(workgroup_arrays_live_on),
        cmocka_unit_test(arrays_not_written_yet_are_zero),
        cmocka_unit_test(a_conditional_write_of_an_array_is_kept_whole),
        cmocka_unit_test(arrays_live_on_from_trip_to_trip),
        cmocka_unit_test(an_array_that_is_only_written_keeps_its_other_elements),
        cmocka_unit_test(elements_that_others_wrote_are_kept),
        cmocka_unit_test(atomic_results_live_on),
        cmocka_unit_test(collectives_stand_next_to_barriers),
        cmocka_unit_test(prints_come_in_the_same_order),
        cmocka_unit_test(uniform_variables_may_guard_barriers_later),
        cmocka_unit_test(reductions_stay_uniform),
        cmocka_unit_test(uniform_private_arrays_may_guard_barriers_later),
        cmocka_unit_test(the_grid_may_have_three_dimensions),
        cmocka_unit_test(a_barrier_may_stand_in_a_region),
        cmocka_unit_test(a_function_with_early_returns_may_hold_a_barrier),
        cmocka_unit_test(a_function_may_return_from_a_loop_with_a_barrier),
        cmocka_unit_test(a_barrier_may_stand_in_a_uniform_if),
        cmocka_unit_test(a_barrier_may_stand_in_a_for),
        cmocka_unit_test(a_for_counts_as_it_would),
        cmocka_unit_test(bounds_are_evaluated_once),
        cmocka_unit_test(a_barrier_may_stand_in_a_while),
        cmocka_unit_test(loops_may_nest),
        cmocka_unit_test(jumps_of_loops_are_followed),
        cmocka_unit_test(a_divergent_continue_may_follow_the_barrier),
        cmocka_unit_test(a_uniform_return_ends_the_dispatch),
        cmocka_unit_test(what_follows_the_last_barrier_may_diverge),
        cmocka_unit_test(trips_may_be_computed_by_a_loop),
        cmocka_unit_test(sizes_and_lengths_are_known_to_the_host),
        cmocka_unit_test(values_from_read_buffers_are_read_back),
        cmocka_unit_test(relaxed_floats_are_left_to_the_device),
        cmocka_unit_test(an_empty_grid_launches_nothing),
        cmocka_unit_test(an_indirect_grid_is_read_once),
        cmocka_unit_test(a_program_without_grid_barrier_is_one_segment),
        cmocka_unit_test(barriers_may_be_first_last_and_in_a_row),
        cmocka_unit_test(names_that_repeat_are_kept_apart),
        cmocka_unit_test(a_branch_that_would_race_if_taken_is_split),
        cmocka_unit_test(a_trap_ends_the_dispatch),
        cmocka_unit_test(a_trap_behind_the_barrier_does_not_hide_the_one_before),
        cmocka_unit_test(a_library_is_refused),
        cmocka_unit_test(too_many_buffers_are_refused),
        cmocka_unit_test(too_many_grid_barriers_are_refused),
        cmocka_unit_test(too_deep_a_nesting_is_refused),
        cmocka_unit_test(a_hidden_buffer_over_the_limit_is_refused),
        cmocka_unit_test(a_host_that_never_finds_the_next_launch_says_so),
        cmocka_unit_test(a_decision_that_names_no_segment_is_refused),
        cmocka_unit_test(slots_are_shared_and_nothing_dead_is_kept),
        cmocka_unit_test(what_the_host_knows_is_a_param),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
