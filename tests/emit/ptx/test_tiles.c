/* Tiled entries: launched over a part of a grid, they compute its ids from the first workgroup of the part. */
#include "emit/ptx/code.h"

#define BUFFERS " buffer x : u32 read\n buffer y : u32 read_write\n workgroup 4, 4, 2\n grid 2, 2, 1\n"

static const char three_axes[] =
    "program axes {\n param a : u8\n param d : f64\n" BUFFERS
    " let i = global_id.x + 8 * (global_id.y + 8 * global_id.z)\n"
    " let s = group_id.z + group_count.z + global_size.x + group_count.y + u32(a) + u32(d)\n"
    " if i < len(y) { y[i] = x[i] + s }\n}\n";
static const char one_axis[] = "program one {\n" BUFFERS " let i = global_id.x\n y[i] = x[i]\n}\n";
static const char counts[] = "program counts {\n" BUFFERS " y[local_index] = group_count.z\n}\n";
static const char traps[] = "program traps {\n" BUFFERS " let i = global_id.x\n if x[i] == 7 { trap i }\n}\n";
static const char no_axis[] = "program none {\n" BUFFERS " atomic_add(y[local_index], x[0])\n}\n";

static void make(const char *text, vy_ptx_options options, vy_ptx_code *code) {
    const vy_target_desc target = vy_ptx_target(PTX_ARCHITECTURE, 0);
    vyre_program *program = vy_test_parse(text), *legal = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    options.architecture = PTX_ARCHITECTURE;
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

static void expect(const char *text, const char *part, int is_there) {
    if ((strstr(text, part) != NULL) != is_there)
        fail_msg("`%s` is%s there\n%s", part, is_there ? " not" : "", text);
}

static void a_tiled_entry_is_given_its_part_of_the_grid(void **state) {
    (void)state;
    vy_ptx_code code;
    make(three_axes, (vy_ptx_options){.tiled_axes = 7}, &code);
    const char *text = code.text.data;
    assert_int_equal(code.tiled_axes, 7);
    assert_int_equal(code.param_count, 2 * 2 + 2 + 6 + 1);
    expect(text,
           "\t.param .u32 first_x,\n\t.param .u32 groups_x,\n\t.param .u32 first_y,\n\t.param .u32 groups_y,\n"
           "\t.param .u32 first_z,\n\t.param .u32 groups_z,\n\t.param .u64 .ptr .global .align 8 control\n",
           1);
    static const char *const loads[] = {"[first_x]",  "[first_y]",  "[first_z]",
                                        "[groups_x]", "[groups_y]", "[groups_z]"};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        expect(text, loads[i], 1);
    expect(text, "%nctaid", 0);
    vy_ptx_free(&code);
}

static void axes_on_which_nothing_depends_are_left_out(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint8_t wanted, made;
    } rows[] = {{three_axes, 6, 6}, {three_axes, 0, 0}, {one_axis, 7, 1}, {one_axis, 6, 0},
                {counts, 7, 4},     {traps, 6, 6},      {traps, 7, 7},    {no_axis, 7, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vy_ptx_code code, other;
        make(rows[i].text, (vy_ptx_options){.tiled_axes = rows[i].wanted}, &code);
        if (code.tiled_axes != rows[i].made)
            fail_msg("row %zu: %u\n%s", i, code.tiled_axes, (const char *)code.text.data);
        if (!rows[i].made) {
            make(rows[i].text, (vy_ptx_options){0}, &other);
            assert_string_equal(code.text.data, other.text.data);
            vy_ptx_free(&other);
        }
        vy_ptx_free(&code);
    }
}

/* Rows have room for the values, so that they are packed as for the other entry; a table covers the grid of each. */
static void rows_have_the_layout_of_tiled_entries(void **state) {
    (void)state;
    vy_ptx_code code;
    make(three_axes, (vy_ptx_options){.tiled_axes = 7, .batched = 1}, &code);
    assert_int_equal(code.tiled_axes, 7);
    assert_int_equal(code.row_bytes, 80); /* 2 addresses, 2 counts, u32, f64 at 32, 6 u32 at 40, control at 64 */
    expect(code.text.data, "first_", 0);
    expect(code.text.data, "%nctaid.x", 1);
    vy_ptx_free(&code);
    make(one_axis, (vy_ptx_options){.tiled_axes = 7, .indirect = 1}, &code);
    assert_int_equal(code.tiled_axes, 0);
    expect(code.text.data, "first_", 0);
    vy_ptx_free(&code);
}

static void ptxas_compiles_tiled_entries(void **state) {
    (void)state;
    static const char *const texts[] = {three_axes, one_axis, counts, traps, no_axis};
    const char *ptxas = ptxas_path();
    if (!ptxas)
        VY_SKIP("ptxas_compiles_tiled_entries: there is no ptxas");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (uint8_t axes = 1; axes < 8; axes++) {
            vy_ptx_code code;
            make(texts[i], (vy_ptx_options){.tiled_axes = axes, .batched = axes == 5}, &code);
            ptxas_accepts(ptxas, code.text.data, "a tiled entry");
            vy_ptx_free(&code);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tiled_entry_is_given_its_part_of_the_grid),
        cmocka_unit_test(axes_on_which_nothing_depends_are_left_out),
        cmocka_unit_test(rows_have_the_layout_of_tiled_entries),
        cmocka_unit_test(ptxas_compiles_tiled_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
