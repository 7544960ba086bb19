/* Whatever allocation fails, parse, print and format say so and leave nothing behind. */
#include "support/fault.h"
#include "text/text_support.h"

#include "vyre/dialect.h"

static const char text[] = "const N = 4u32\n"
                           "fn f(a: u32, t: workgroup [u32]) -> (r: u32, ok: bool) {\n"
                           "  array s : u32 [N] private\n"
                           "  s[a] = t[a]\n"
                           "  return s[0], true\n"
                           "}\n"
                           "fn g(a: u32) -> u32 { return a + N }\n"
                           "program p {\n"
                           "  param n : u32\n"
                           "  buffer x : u32 read\n"
                           "  buffer y : u32 read_write count n * len(x) + 1\n"
                           "  workgroup 8\n"
                           "  grid div_ceil(n, 8)\n"
                           "  array t : u32 [8] workgroup\n"
                           "\n"
                           "  let (r, ok) = f(local_index, t)\n"
                           "  var v = g(g(r)) * 3 // hoisted\n"
                           "  for i in 0 .. n step 2 { if ok && v > 7 { v -= x[i] } else { v = ~v } }\n"
                           "  let sum = workgroup_reduce_add(v)\n"
                           "  atomic_add(y[sum], 1)\n"
                           "  let e : f32 = math.exp(1.5f32)\n"
                           "  print \"{} {}\\n\", sum, e\n"
                           "}\n"
                           "program q { workgroup 1 }\n";

static const char legal[] = "const N = 4u32\n"
                            "level legal\n"
                            "fn f(x: buffer [f32] read_write) { store_wide(x, 0, 1.0, approx_sqrt(x![1])) }\n"
                            "program p {\n"
                            "  level legal\n"
                            "  buffer x : f32 read_write\n"
                            "  let (a, b, c, d) = load_wide(x, misalignment(x))\n"
                            "  x![1] = approx_div(a, x![N if poll()])\n"
                            "  f(x)\n"
                            "  report N\n"
                            "}\n";

static vyre_status parse(void *user) {
    const char *given = user;
    vyre_define define = {"N", "5"};
    vyre_parse_options options = {.file = "given.vyre", .defines = &define, .define_count = 1};
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_module *module;
    vyre_error error;
    vyre_status status = vyre_text_parse(given, strlen(given), &options, found, &module, &error);
    assert_true((status == VYRE_OK) == (module != NULL));
    if (status != VYRE_OK)
        assert_true(*error.message && *error.fix);
    vyre_module_free(module);
    vyre_diagnostics_free(found);
    return status;
}

/* The list of findings may be what fails; the parse itself then goes on without one. */
static void a_right_text(void **state) {
    (void)state;
    assert_true(VY_FAULT_LOOP_LENIENT(parse, (void *)text) > 20);
    assert_true(VY_FAULT_LOOP_LENIENT(parse, (void *)legal) > 20);
}

static vyre_status parse_wrong(void *user) {
    vyre_status status = parse(user);
    /* A fault must never turn a wrong text into a right one. */
    assert_int_not_equal(status, VYRE_OK);
    return status == VYRE_INVALID_PROGRAM ? VYRE_OK : status;
}

static void a_wrong_text(void **state) {
    (void)state;
    static const char wrong[] =
        "const N = 4u32\nprogram p { workgroup N; let a = b + \"x\"; let c = 1 + 2\n let d = 1u32 * 1.0f32\n"
        "for i in 0u32 .. 4 { break }\n break }\nfn f( -> u32 { }\n";
    VY_FAULT_LOOP_LENIENT(parse_wrong, (void *)wrong);
}

static vyre_status print(void *user) {
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_status status = vyre_text_print(user, &out, NULL);
    vyre_bytes_free(&out);
    return status;
}

static void printing(void **state) {
    (void)state;
    vyre_module *module;
    vyre_error error;
    assert_int_equal(vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error), VYRE_OK);
    VY_FAULT_LOOP(print, vyre_module_program(module, 0));
    VY_FAULT_LOOP(print, vyre_module_library(module));
    vyre_module_free(module);
}

static vyre_status format(void *user) {
    (void)user;
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_status status = vyre_text_format(text, strlen(text), NULL, NULL, &out, NULL);
    vyre_bytes_free(&out);
    return status;
}

static void formatting(void **state) {
    (void)state;
    VY_FAULT_LOOP(format, NULL);
}

static int install(void **state) {
    (void)state;
    vyre_dialects_guard guard = vyre_dialects_acquire(); /* loaded once for the process: the text calls an op */
    assert_true(vyre_dialects_count(guard) > 0);
    vyre_dialects_release(&guard);
    vy_fault_install();
    return 0;
}

static int remove_faults(void **state) {
    (void)state;
    vy_fault_remove();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_text),
        cmocka_unit_test(a_wrong_text),
        cmocka_unit_test(printing),
        cmocka_unit_test(formatting),
    };
    return cmocka_run_group_tests(tests, install, remove_faults);
}
