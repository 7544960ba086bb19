/* Entries by rows: what an entry is given lies in a table, one row for each block in z, where its params would lie. */
#include "compile/pipeline.h"
#include "emit/ptx/code.h"

static const char three_axes[] =
    "program axes {\n param a : u8\n param w : u64\n param f : f16\n param b : bool\n param d : f64\n"
    " buffer x : u32 read\n buffer y : u32 read_write\n buffer z : u8 read_write\n workgroup 4, 4, 2\n grid 2, 2, 1\n"
    " let i = global_id.x + 8 * (global_id.y + 8 * global_id.z)\n"
    " var s = group_id.z + group_count.z + global_size.z + u32(a) + u32(w)\n"
    " if b { s = s + u32(f) + u32(d) }\n if i < len(y) { y[i] = x[i] + s }\n if i < len(z) { z[i] = u8(s) }\n}\n";

static void make(const char *text, int batched, vy_ptx_code *code) {
    vy_target_desc target = vy_ptx_target(PTX_ARCHITECTURE, 0);
    const vy_ptx_options options = {.architecture = PTX_ARCHITECTURE, .batched = (uint8_t)batched};
    vyre_program *program = vy_test_parse(text), *legal = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = vy_legalize(program, &target, &legal, &error);
    if (status == VYRE_OK)
        status = vy_ptx_emit(legal, &options, code, &error);
    if (status != VYRE_OK)
        fail_msg("%s", error.message);
    const char *wrong = ptx_wrong(code->text.data);
    if (wrong)
        fail_msg("%s\n%s", wrong, (const char *)code->text.data);
    vyre_program_release(legal);
    vyre_program_release(program);
}

static void a_row_lies_as_params_do(void **state) {
    (void)state;
    vy_ptx_code code;
    make(three_axes, 1, &code);
    const char *text = code.text.data;
    assert_int_equal(code.param_count, 1);
    assert_int_equal(code.row_bytes, 80); /* 3 addresses, 3 counts, u32, u64 at 40, 2 u32, f64 at 56, control at 64 */
    static const char *const places[] = {"+0]", "+8]", "+16]", "+28]", "+32]", "+36]", "+40]", "+48]", "+52]", "+56]"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (!strstr(text, places[i]))
            fail_msg("nothing is loaded from %s\n%s", places[i], text);
    assert_non_null(strstr(text, "mad.wide.u32"));
    assert_null(strstr(text, "nctaid.z"));
    vy_ptx_free(&code);
    make(three_axes, 0, &code);
    assert_int_equal(code.row_bytes, 0);
    assert_int_equal(code.param_count, 2 * 3 + 5 + 1);
    vy_ptx_free(&code);
}

static void ptxas_compiles_entries_by_rows(void **state) {
    (void)state;
    const char *ptxas = ptxas_path();
    vy_ptx_code code;
    if (!ptxas)
        VY_SKIP("ptxas_compiles_entries_by_rows: there is no ptxas");
    make(three_axes, 1, &code);
    ptxas_accepts(ptxas, code.text.data, "an entry by rows");
    vy_ptx_free(&code);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_lies_as_params_do),
        cmocka_unit_test(ptxas_compiles_entries_by_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
