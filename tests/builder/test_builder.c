/* The builder makes the programs that text makes, and reports mistakes instead of making them. */
#include "ir/irbuilder.h"
#include "ir/op_tables.h"
#include "support/test.h"
#include "vyre/vyre.h"
#include "wire/compare.h"

static vyre_program *finish(vyre_builder *b) {
    vyre_program *program;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_builder_finish(b, NULL, &program, &error) != VYRE_OK)
        fail_msg("%s\nFix: %s", error.message, error.fix);
    return program;
}

/* Finishes and expects exactly one finding, of this code, with this text in its message. */
static void expect_finding(vyre_builder *b, const char *code, const char *text) {
    vyre_program *program = (vyre_program *)1;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_diagnostics *diagnostics = vyre_diagnostics_new();
    assert_int_equal(vyre_builder_finish(b, diagnostics, &program, &error), VYRE_INVALID_PROGRAM);
    assert_null(program);
    assert_true(error.fix[0] != 0);
    const vyre_diagnostic *finding = vyre_diagnostics_get(diagnostics, 0);
    if (vyre_diagnostics_count(diagnostics) != 1 || strcmp(finding->code, code) != 0 || !strstr(finding->message, text))
        fail_msg("expected %s …%s…, found %zu: %s %s", code, text, vyre_diagnostics_count(diagnostics), finding->code,
                 finding->message);
    assert_true(finding->fix[0] != 0);
    vyre_diagnostics_free(diagnostics);
}

/* ---- the example of the header ---- */

static vyre_program *header_example(void) {
    vyre_program *program;
    vyre_error error;
    vyre_diagnostics *diagnostics = NULL;
    vyre_status status;

    vyre_builder *b = vyre_builder_new("saxpy");
    vyre_value a = vyre_param(b, "a", VYRE_TYPE_F32);
    vyre_memory x = vyre_buffer(b, "x", VYRE_TYPE_F32, VYRE_ACCESS_READ);
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_F32, VYRE_ACCESS_READ_WRITE);
    vyre_builder_workgroup(b, 256, 1, 1);
    vyre_builder_grid_over(b, y);
    vyre_value i = vyre_let(b, "i", vyre_global_id(b, 0));
    vyre_builder_begin_if(b, vyre_lt(b, i, vyre_len(b, y)));
    vyre_builder_store(b, y, i, vyre_fma(b, a, vyre_load(b, x, i), vyre_load(b, y, i)));
    vyre_builder_end(b);
    status = vyre_builder_finish(b, diagnostics, &program, &error);

    assert_int_equal(status, VYRE_OK);
    return program;
}

static vyre_module *parse(const char *text) {
    vyre_module *module;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s\nFix: %s\n%s", error.message, error.fix, text);
    return module;
}

static void the_example_of_the_header_is_its_text_twin(void **state) {
    (void)state;
    vyre_program *program = header_example();
    vyre_module *module = parse("program saxpy {\n"
                                "  param  a : f32\n"
                                "  buffer x : f32 read\n"
                                "  buffer y : f32 read_write\n"
                                "  workgroup 256\n"
                                "  grid over y\n"
                                "  let i = global_id.x\n"
                                "  if i < len(y) { y[i] = fma(a, x[i], y[i]) }\n"
                                "}\n");
    assert_same_program(program, vyre_module_program(module, 0));
    vyre_bytes ours = VYRE_BYTES_INIT, theirs = VYRE_BYTES_INIT;
    assert_int_equal(vyre_text_print(program, &ours, NULL), VYRE_OK);
    assert_int_equal(vyre_text_print(vyre_module_program(module, 0), &theirs, NULL), VYRE_OK);
    assert_int_equal(ours.size, theirs.size);
    assert_memory_equal(ours.data, theirs.data, ours.size);
    vyre_bytes_free(&ours);
    vyre_bytes_free(&theirs);
    vyre_module_free(module);
    vyre_program_release(program);
}

static void the_example_of_the_header_is_there_word_for_word(void **state) {
    (void)state;
    FILE *header = fopen(vy_test_path("include/vyre/builder.h"), "r");
    assert_non_null(header);
    char line[512];
    unsigned found = 0;
    static const char *const lines[] = {
        "vyre_builder *b = vyre_builder_new(\"saxpy\");",
        "vyre_value a = vyre_param(b, \"a\", VYRE_TYPE_F32);",
        "vyre_memory x = vyre_buffer(b, \"x\", VYRE_TYPE_F32, VYRE_ACCESS_READ);",
        "vyre_memory y = vyre_buffer(b, \"y\", VYRE_TYPE_F32, VYRE_ACCESS_READ_WRITE);",
        "vyre_builder_workgroup(b, 256, 1, 1);",
        "vyre_builder_grid_over(b, y);",
        "vyre_value i = vyre_let(b, \"i\", vyre_global_id(b, 0));",
        "vyre_builder_begin_if(b, vyre_lt(b, i, vyre_len(b, y)));",
        "vyre_builder_store(b, y, i, vyre_fma(b, a, vyre_load(b, x, i), vyre_load(b, y, i)));",
        "vyre_builder_end(b);",
        "status = vyre_builder_finish(b, diagnostics, &program, &error);",
    };
    enum { LINES = sizeof lines / sizeof *lines };
    while (found < LINES && fgets(line, sizeof line, header))
        found += strstr(line, lines[found]) != NULL;
    fclose(header);
    assert_int_equal(found, LINES);
}

static void a_program_with_everything_is_its_text_twin(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("tour");
    vyre_value n = vyre_param(b, "n", VYRE_TYPE_U32);
    vyre_memory x = vyre_buffer(b, "x", VYRE_TYPE_U8, VYRE_ACCESS_READ);
    vyre_memory hist = vyre_buffer(b, "hist", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    vyre_memory out = vyre_buffer(b, "out", VYRE_TYPE_F32, VYRE_ACCESS_WRITE);
    vyre_builder_count(b, hist, vyre_size_literal(b, 256));
    vyre_builder_count(b, out, vyre_size_mul(b, vyre_size_len(b, x), vyre_size_param(b, n)));
    vyre_builder_workgroup(b, 64, 1, 1);
    vyre_builder_grid_groups(b, vyre_size_div_ceil(b, vyre_size_len(b, x), vyre_size_literal(b, 64)), vyre_no_size(),
                             vyre_no_size());
    vyre_memory tile = vyre_array(b, "tile", VYRE_SPACE_WORKGROUP, VYRE_TYPE_U32, 64);

    vyre_function pick = vyre_builder_begin_function(b, "pick");
    vyre_memory t = vyre_memory_param(b, "t", VYRE_SPACE_WORKGROUP, VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    vyre_value at = vyre_param(b, "at", VYRE_TYPE_U32);
    vyre_builder_result(b, "value", VYRE_TYPE_U32);
    vyre_builder_result(b, "found", VYRE_TYPE_BOOL);
    vyre_value picked[2] = {vyre_load(b, t, at), vyre_lt(b, at, vyre_len(b, t))};
    vyre_builder_return(b, picked, 2);
    vyre_builder_end_function(b);

    vyre_value i = vyre_let(b, "i", vyre_global_id(b, 0));
    vyre_value v = vyre_var(b, "v", vyre_cast(b, VYRE_TYPE_U32, vyre_load(b, x, i)));
    vyre_builder_begin_while(b, vyre_ne(b, v, vyre_u32(b, 0)));
    vyre_builder_assign(b, v, vyre_and(b, v, vyre_sub(b, v, vyre_u32(b, 1))));
    vyre_builder_begin_if(b, vyre_eq(b, v, vyre_u32(b, 3)));
    vyre_builder_break(b);
    vyre_builder_else(b);
    vyre_builder_continue(b);
    vyre_builder_end(b);
    vyre_builder_end(b);
    vyre_builder_atomic(b, NULL, VYRE_ATOMIC_ADD, hist, v, vyre_u32(b, 1), vyre_no_value(), VYRE_ORDER_RELAXED,
                        VYRE_SCOPE_DEVICE);
    vyre_builder_store(b, tile, vyre_local_index(b), v);
    vyre_builder_barrier(b, VYRE_SCOPE_WORKGROUP);
    vyre_value total = vyre_builder_collective(b, "total", VYRE_COLLECTIVE_REDUCE, VYRE_OP_ADD, 0,
                                               vyre_cast(b, VYRE_TYPE_F32, v), vyre_no_value());
    vyre_operand arguments[2] = {vyre_operand_memory(tile), vyre_operand_value(vyre_rem(b, i, vyre_u32(b, 7)))};
    const char *names[2] = {"value", "found"};
    vyre_value results[2];
    vyre_builder_call(b, pick, arguments, 2, names, results);
    vyre_value k = vyre_builder_begin_for(b, "k", vyre_u32(b, 0), n, vyre_u32(b, 2));
    vyre_builder_begin_if(b, vyre_land(b, results[1], vyre_gt(b, k, results[0])));
    vyre_builder_trap(b, vyre_u32(b, 7));
    vyre_builder_end(b);
    vyre_builder_end(b);
    vyre_value shown[2] = {i, total};
    vyre_builder_print(b, "i = {} total = {}", shown, 2);
    vyre_builder_store(b, out, i, vyre_choose(b, results[1], vyre_neg(b, total), vyre_f32(b, -0.5f)));
    vyre_program *program = finish(b);

    vyre_module *module =
        parse("fn pick(t: workgroup [u32], at: u32) -> (value: u32, found: bool) { return t[at], at < len(t) }\n"
              "program tour {\n"
              "  param n : u32\n"
              "  buffer x : u8 read\n"
              "  buffer hist : u32 read_write count 256\n"
              "  buffer out : f32 write count len(x) * n\n"
              "  workgroup 64\n"
              "  grid div_ceil(len(x), 64)\n"
              "  array tile : u32 [64] workgroup\n"
              "  let i = global_id.x\n"
              "  var v = u32(x[i])\n"
              "  while v != 0 {\n"
              "    v = v & (v - 1)\n"
              "    if v == 3 { break } else { continue }\n"
              "  }\n"
              "  atomic_add(hist[v], 1)\n"
              "  tile[local_index] = v\n"
              "  barrier\n"
              "  let total = workgroup_reduce_add(f32(v))\n"
              "  let (value, found) = pick(tile, i % 7)\n"
              "  for k in 0u32 .. n step 2 {\n"
              "    if found && k > value { trap 7 }\n"
              "  }\n"
              "  print \"i = {} total = {}\", i, total\n"
              "  out[i] = found ? -total : -0.5\n"
              "}\n");
    assert_same_program(program, vyre_module_program(module, 0));
    vyre_module_free(module);
    vyre_program_release(program);
}

/* ---- what may be done ---- */

static void leaves_may_be_used_any_number_of_times(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("p");
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_U32, VYRE_ACCESS_WRITE);
    vyre_value id = vyre_global_id(b, 0), one = vyre_u32(b, 1), n = vyre_len(b, y);
    vyre_value i = vyre_let(b, "i", id);
    vyre_let(b, "j", vyre_add(b, vyre_mul(b, i, i), vyre_add(b, vyre_add(b, id, one), vyre_add(b, n, n))));
    vyre_builder_store(b, y, id, one);
    vyre_program_release(finish(b));
}

static void values_nobody_uses_are_left_out(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("p");
    vyre_add(b, vyre_u32(b, 1), vyre_u32(b, 2));
    vyre_program *program = finish(b);
    vyre_program_stats stats;
    vyre_program_get_stats(program, &stats);
    assert_int_equal(stats.expressions, 0);
    vyre_program_release(program);
}

static void an_empty_else_is_no_else(void **state) {
    (void)state;
    vyre_program *programs[2];
    for (int i = 0; i < 2; i++) {
        vyre_builder *b = vyre_builder_new("p");
        vyre_builder_begin_if(b, vyre_bool(b, 1));
        if (i)
            vyre_builder_else(b);
        vyre_builder_end(b);
        programs[i] = finish(b);
    }
    assert_same_program(programs[0], programs[1]);
    vyre_program_release(programs[0]);
    vyre_program_release(programs[1]);
}

static void the_last_call_of_a_header_function_counts(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("p");
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_U32, VYRE_ACCESS_READ);
    vyre_builder_grid_over(b, y);
    vyre_builder_numerics(b, VYRE_NUMERICS_RELAXED);
    vyre_builder_workgroup(b, 9, 9, 9);
    vyre_builder_barrier(b, VYRE_SCOPE_WORKGROUP);
    vyre_builder_numerics(b, VYRE_NUMERICS_STRICT);
    vyre_builder_workgroup(b, 2, 1, 1);
    vyre_builder_grid_elements(b, vyre_size_literal(b, 5), vyre_no_size(), vyre_no_size());
    vyre_program *program = finish(b);
    assert_int_equal(vyre_program_grid(program), VYRE_GRID_ELEMENTS);
    assert_int_equal(vyre_program_numerics(program), VYRE_NUMERICS_STRICT);
    assert_int_equal(program->workgroup[0], 2);
    vyre_program_release(program);
}

static void floats_are_rounded_once_to_their_type(void **state) {
    (void)state;
    static const struct {
        vyre_type type;
        uint64_t bits;
    } expected[] = {{VYRE_TYPE_F16, 0x2e66},
                    {VYRE_TYPE_BF16, 0x3dcd},
                    {VYRE_TYPE_F32, 0x3dcccccd},
                    {VYRE_TYPE_F64, 0x3fb999999999999a}};
    vyre_builder *b = vyre_builder_new("p");
    vyre_let(b, "h", vyre_f16(b, 0.1));
    vyre_let(b, "g", vyre_bf16(b, 0.1));
    vyre_let(b, "f", vyre_f32(b, 0.1f));
    vyre_let(b, "d", vyre_f64(b, 0.1));
    vyre_program *program = finish(b);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(program->exprs.items[i].type, expected[i].type);
        assert_true(program->exprs.items[i].bits == expected[i].bits);
    }
    vyre_program_release(program);
}

static void every_op_but_the_conversions_has_a_function_of_its_name(void **state) {
    (void)state;
    unsigned count = 0;
#define X(name, ID) count++;
    VYRE_UNARY_LIST(X)
    VYRE_BINARY_LIST(X)
    VYRE_TERNARY_LIST(X)
#undef X
    assert_int_equal(count + 2, VY_SOURCE_OPS);
#define X(NAME, ID) assert_string_equal(vyre_op_get(VYRE_OP_##ID)->name, #NAME);
    VYRE_UNARY_LIST(X) VYRE_BINARY_LIST(X)
#undef X
}

/* ---- what may not ---- */

static void a_value_used_twice_says_let(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("p");
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_F32, VYRE_ACCESS_READ_WRITE);
    vyre_value v = vyre_load(b, y, vyre_u32(b, 0));
    vyre_let(b, "w", vyre_mul(b, v, v));
    vyre_error error = VYRE_ERROR_INIT;
    vyre_program *program;
    assert_int_equal(vyre_builder_finish(b, NULL, &program, &error), VYRE_INVALID_PROGRAM);
    assert_non_null(strstr(error.message, "B002"));
    assert_non_null(strstr(error.message, "load"));
    assert_non_null(strstr(error.fix, "vyre_let"));
}

static void handles_of_another_builder_and_missing_ones_are_refused(void **state) {
    (void)state;
    vyre_builder *a = vyre_builder_new("a"), *b = vyre_builder_new("b");
    vyre_value one = vyre_u32(a, 1);
    vyre_let(b, "v", one);
    expect_finding(b, "B001", "the value of let (statement 1) belongs to another builder");

    b = vyre_builder_new("b");
    vyre_let(b, "v", vyre_no_value());
    expect_finding(b, "B001", "is missing");

    b = vyre_builder_new("b");
    vyre_len(b, vyre_buffer(a, "x", VYRE_TYPE_U32, VYRE_ACCESS_READ));
    expect_finding(b, "B001", "belongs to another builder");

    b = vyre_builder_new("b");
    vyre_builder_grid_elements(b, vyre_no_size(), vyre_no_size(), vyre_no_size());
    expect_finding(b, "B001", "size of the grid");

    b = vyre_builder_new("b");
    vyre_builder_call(b, (vyre_function){a, 0}, NULL, 0, NULL, NULL);
    expect_finding(b, "B001", "function of call");

    b = vyre_builder_new("b");
    vyre_let(b, "v", (vyre_value){b, 12345});
    expect_finding(b, "B001", "value of let");
    vyre_builder_free(a);
}

static void wrong_types_are_named(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("b");
    vyre_let(b, "v", vyre_add(b, vyre_u32(b, 1), vyre_f32(b, 1)));
    expect_finding(b, "B003", "`add` (statement 0) does not accept (u32, f32)");

    b = vyre_builder_new("b");
    vyre_let(b, "v", vyre_choose(b, vyre_u32(b, 1), vyre_f32(b, 1), vyre_f32(b, 1)));
    expect_finding(b, "B003", "(u32, f32, f32)");

    b = vyre_builder_new("b");
    vyre_let(b, "v", vyre_bitcast(b, VYRE_TYPE_F64, vyre_u32(b, 1)));
    expect_finding(b, "B003", "u32 into f64");

    b = vyre_builder_new("b");
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_U8, VYRE_ACCESS_WRITE);
    vyre_builder_store(b, y, vyre_u32(b, 0), vyre_u32(b, 0));
    expect_finding(b, "B003", "(literal, u32), is not of type u8");

    b = vyre_builder_new("b");
    vyre_builder_begin_if(b, vyre_u32(b, 1));
    vyre_builder_end(b);
    expect_finding(b, "B003", "condition");

    b = vyre_builder_new("b");
    vyre_builder_begin_for(b, "i", vyre_u32(b, 0), vyre_u64(b, 5), vyre_no_value());
    vyre_builder_end(b);
    expect_finding(b, "B003", "end of for");

    b = vyre_builder_new("b");
    vyre_memory x = vyre_buffer(b, "x", VYRE_TYPE_U8, VYRE_ACCESS_READ);
    vyre_let(b, "v", vyre_load(b, x, vyre_f32(b, 0)));
    expect_finding(b, "B003", "not an integer");

    b = vyre_builder_new("b");
    vyre_builder_trap(b, vyre_i32(b, 0));
    expect_finding(b, "B003", "code of trap");

    b = vyre_builder_new("b");
    vyre_value v = vyre_var(b, "v", vyre_i32(b, 0));
    vyre_builder_assign(b, v, vyre_u32(b, 0));
    expect_finding(b, "B003", "value of assign");
}

static void declarations_after_a_statement_are_refused(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        vyre_builder *b = vyre_builder_new("b");
        vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_U8, VYRE_ACCESS_WRITE);
        vyre_let(b, "v", vyre_u32(b, 0));
        if (i == 0)
            vyre_let(b, "w", vyre_param(b, "late", VYRE_TYPE_U32));
        else if (i == 1)
            vyre_let(b, "w", vyre_len(b, vyre_array(b, "late", VYRE_SPACE_PRIVATE, VYRE_TYPE_U32, 4)));
        else if (i == 2)
            vyre_builder_begin_function(b, "late");
        else
            vyre_builder_count(b, y, vyre_size_literal(b, 3));
        expect_finding(b, "B004", i == 3 ? "`y`" : "`late`");
    }
}

static void blocks_must_match(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("b");
    vyre_builder_end(b);
    expect_finding(b, "B005", "closes nothing");

    b = vyre_builder_new("b");
    vyre_builder_else(b);
    expect_finding(b, "B005", "no block is open");

    b = vyre_builder_new("b");
    vyre_builder_begin_if(b, vyre_bool(b, 1));
    vyre_builder_else(b);
    vyre_builder_else(b);
    vyre_builder_end(b);
    expect_finding(b, "B005", "has an else");

    b = vyre_builder_new("b");
    vyre_builder_begin_while(b, vyre_bool(b, 1));
    vyre_builder_else(b);
    vyre_builder_end(b);
    expect_finding(b, "B005", "is another");

    b = vyre_builder_new("b");
    vyre_builder_begin_region(b, "r.s");
    expect_finding(b, "B005", "statement 1 opens is not closed");

    b = vyre_builder_new_library();
    vyre_builder_begin_function(b, "f");
    vyre_builder_begin_while(b, vyre_bool(b, 1));
    vyre_builder_end_function(b);
    expect_finding(b, "B005", "not closed");
}

static void only_a_var_can_be_assigned(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("b");
    vyre_value v = vyre_let(b, "v", vyre_u32(b, 1));
    vyre_builder_assign(b, v, vyre_u32(b, 2));
    expect_finding(b, "B006", "`v` (u32)");

    b = vyre_builder_new("b");
    vyre_builder_assign(b, vyre_u32(b, 1), vyre_u32(b, 2));
    expect_finding(b, "B006", "literal");

    b = vyre_builder_new("b");
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_U8, VYRE_ACCESS_WRITE);
    vyre_builder_count(b, y, vyre_size_param(b, vyre_u32(b, 1)));
    expect_finding(b, "B006", "not a param");
}

static void arguments_outside_their_lists_are_refused(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("b");
    vyre_let(b, "v", vyre_literal(b, (vyre_type)99, 0));
    expect_finding(b, "B007", "99");

    b = vyre_builder_new("b");
    vyre_let(b, "v", vyre_global_id(b, 3));
    expect_finding(b, "B007", "axis (3)");

    b = vyre_builder_new("b");
    vyre_let(b, "v", vyre_op1(b, (vyre_op)1000, vyre_u32(b, 0)));
    expect_finding(b, "B007", "op (1000)");

    b = vyre_builder_new("b");
    vyre_let(b, NULL, vyre_u32(b, 0));
    expect_finding(b, "B007", "NULL");

    expect_finding(vyre_builder_new(NULL), "B007", "NULL");

    b = vyre_builder_new("b");
    vyre_buffer(b, "y", (vyre_type)300, VYRE_ACCESS_WRITE);
    expect_finding(b, "B007", "type");

    b = vyre_builder_new("b");
    vyre_builder_barrier(b, (vyre_scope)2);
    expect_finding(b, "B007", "scope");

    b = vyre_builder_new("b");
    vyre_builder_print(b, NULL, NULL, 0);
    expect_finding(b, "B007", "format");

    b = vyre_builder_new("b");
    vyre_builder_numerics(b, (vyre_numerics)7);
    expect_finding(b, "B007", "numerics");
}

static void numbers_of_operands_must_fit(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("b");
    vyre_let(b, "v", vyre_op1(b, VYRE_OP_ADD, vyre_u32(b, 0)));
    expect_finding(b, "B008", "`add` (statement 0) is given 1 operands (2 expected)");

    b = vyre_builder_new("b");
    vyre_let(b, "v", vyre_op1(b, VYRE_OP_CAST, vyre_u32(b, 0)));
    expect_finding(b, "B008", "and a type");

    b = vyre_builder_new("b");
    vyre_value one = vyre_u32(b, 1);
    vyre_builder_return(b, &one, 1);
    expect_finding(b, "B008", "return (statement 1) has 1 values (0 expected)");

    b = vyre_builder_new("b");
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    vyre_builder_atomic(b, "v", VYRE_ATOMIC_LOAD, y, vyre_u32(b, 0), vyre_u32(b, 0), vyre_no_value(),
                        VYRE_ORDER_RELAXED, VYRE_SCOPE_DEVICE);
    expect_finding(b, "B008", "atomic_load");

    b = vyre_builder_new("b");
    vyre_function f = vyre_builder_begin_function(b, "f");
    vyre_param(b, "x", VYRE_TYPE_U32);
    vyre_builder_end_function(b);
    vyre_builder_call(b, f, NULL, 0, NULL, NULL);
    expect_finding(b, "B008", "passes `f` 0 arguments (1 expected)");

    b = vyre_builder_new("b");
    vyre_builder_call_op(b, "a.b", NULL, 3, NULL, NULL, 0, NULL);
    expect_finding(b, "B008", "3 arguments");

    b = vyre_builder_new("b");
    vyre_builder_call_op(b, "a.b", NULL, 0, NULL, NULL, 2, NULL);
    expect_finding(b, "B008", "2 results");

    b = vyre_builder_new("b");
    vyre_builder_print(b, "{}", NULL, 1);
    expect_finding(b, "B008", "1 values");
}

static void everything_has_its_place(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new_library();
    vyre_builder_barrier(b, VYRE_SCOPE_WORKGROUP);
    expect_finding(b, "B009", "outside a function");

    b = vyre_builder_new_library();
    vyre_buffer(b, "x", VYRE_TYPE_U32, VYRE_ACCESS_READ);
    expect_finding(b, "B009", "`x`");

    b = vyre_builder_new("b");
    vyre_builder_result(b, "r", VYRE_TYPE_U32);
    expect_finding(b, "B009", "`r`");

    b = vyre_builder_new("b");
    vyre_memory_param(b, "m", VYRE_SPACE_WORKGROUP, VYRE_TYPE_U32, VYRE_ACCESS_READ);
    expect_finding(b, "B009", "`m`");

    b = vyre_builder_new("b");
    vyre_builder_end_function(b);
    expect_finding(b, "B009", "none is open");

    b = vyre_builder_new_library();
    vyre_builder_begin_function(b, "f");
    vyre_builder_begin_function(b, "g");
    vyre_builder_end_function(b);
    expect_finding(b, "B009", "`g` begins inside function `f`");

    b = vyre_builder_new("b");
    vyre_builder_begin_function(b, "f");
    expect_finding(b, "B009", "`f` is not ended");
}

static void expressions_have_a_limited_depth(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("b");
    vyre_value v = vyre_u32(b, 1);
    for (int i = 0; i < 100000; i++)
        v = vyre_not(b, v);
    vyre_let(b, "v", v);
    expect_finding(b, "B010", "512");

    b = vyre_builder_new("b");
    vyre_size s = vyre_size_literal(b, 1);
    for (int i = 0; i < 100000; i++)
        s = vyre_size_add(b, s, vyre_size_literal(b, 1));
    vyre_builder_grid_elements(b, s, vyre_no_size(), vyre_no_size());
    expect_finding(b, "B010", "512");
}

static void a_function_sees_only_its_own(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("b");
    vyre_value n = vyre_param(b, "n", VYRE_TYPE_U32);
    vyre_function f = vyre_builder_begin_function(b, "f");
    vyre_let(b, "m", n);
    vyre_builder_end_function(b);
    vyre_builder_call(b, f, NULL, 0, NULL, NULL);
    expect_finding(b, "B011", "`n` (u32), belongs to another function");

    b = vyre_builder_new("b");
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_U32, VYRE_ACCESS_WRITE);
    f = vyre_builder_begin_function(b, "f");
    vyre_builder_store(b, y, vyre_u32(b, 0), vyre_u32(b, 0));
    vyre_builder_end_function(b);
    vyre_builder_call(b, f, NULL, 0, NULL, NULL);
    expect_finding(b, "B011", "`y`");
}

static void rows_of_level_legal_are_refused(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("b");
    vyre_let(b, "q", vyre_op2(b, VYRE_OP_APPROX_DIV, vyre_f32(b, 1), vyre_f32(b, 2)));
    expect_finding(b, "B012", "`approx_div`");

    b = vyre_builder_new("b");
    vyre_let(b, "r", vyre_op1(b, VYRE_OP_APPROX_SQRT, vyre_f64(b, 1)));
    expect_finding(b, "B012", "`approx_sqrt`");

    b = vyre_builder_new("b");
    vyre_builder_collective(b, "s", VYRE_COLLECTIVE_NATIVE_SHUFFLE, VYRE_OP_ADD, 32, vyre_u32(b, 1), vyre_u32(b, 0));
    expect_finding(b, "B012", "`native_shuffle`");
}

static void all_mistakes_come_in_one_report_and_cause_no_others(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("b");
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_U32, VYRE_ACCESS_WRITE);
    vyre_value bad = vyre_add(b, vyre_u32(b, 1), vyre_f32(b, 1)); /* 1 */
    vyre_value v = vyre_let(b, "v", vyre_mul(b, bad, bad));
    vyre_builder_begin_if(b, vyre_lt(b, v, v));
    vyre_builder_store(b, y, v, vyre_f32(b, 0)); /* 2 */
    vyre_value w = vyre_builder_begin_for(b, "w", v, v, v);
    vyre_builder_assign(b, w, bad);
    vyre_builder_end(b);
    vyre_builder_else(b);
    vyre_builder_trap(b, vyre_cast(b, VYRE_TYPE_U32, bad));
    vyre_builder_end(b);
    vyre_builder_end(b); /* 3 */
    vyre_diagnostics *diagnostics = vyre_diagnostics_new();
    vyre_error error = VYRE_ERROR_INIT;
    vyre_program *program;
    assert_int_equal(vyre_builder_finish(b, diagnostics, &program, &error), VYRE_INVALID_PROGRAM);
    assert_int_equal(vyre_diagnostics_errors(diagnostics), 3);
    vyre_diagnostics_free(diagnostics);
}

static void a_made_up_handle_is_a_mistake(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("p");
    vyre_let(b, "x", (vyre_value){b, UINT32_MAX});
    expect_finding(b, "B001", "the value of let (statement 1) was not created by this builder");
    b = vyre_builder_new("p");
    vyre_let(b, "x", (vyre_value){b, 7});
    expect_finding(b, "B001", "was not created by this builder");
    b = vyre_builder_new("p");
    vyre_builder_store(b, (vyre_memory){b, UINT32_MAX}, vyre_u32(b, 0), vyre_u32(b, 0));
    expect_finding(b, "B001", "the memory of store (statement 1) was not created by this builder");
    b = vyre_builder_new("p");
    vyre_builder_grid_groups(b, (vyre_size){b, UINT32_MAX}, vyre_no_size(), vyre_no_size());
    expect_finding(b, "B001", "the size of the grid was not created by this builder");
    b = vyre_builder_new("p");
    vyre_builder_call(b, (vyre_function){b, UINT32_MAX}, NULL, 0, NULL, NULL);
    expect_finding(b, "B001", "the function of call (statement 1) was not created by this builder");
}

static void a_program_over_a_limit_is_invalid(void **state) {
    (void)state;
    char name[VY_LIMIT_NAME + 2] = "";
    memset(name, 'n', sizeof name - 1);
    expect_finding(vyre_builder_new(name), "V030", "too long (129 bytes, limit 128)");
    vyre_builder *b = vyre_builder_new("p");
    for (int i = 0; i <= VY_LIMIT_BUFFERS; i++) {
        snprintf(name, sizeof name, "b%d", i);
        vyre_buffer(b, name, VYRE_TYPE_U32, VYRE_ACCESS_READ);
    }
    expect_finding(b, "V036", "too many buffers");
    b = vyre_builder_new("p");
    vyre_builder_workgroup(b, 1u << 20, 1, 1);
    expect_finding(b, "V045", "workgroup");
    b = vyre_builder_new("p");
    for (int i = 0; i < VY_LIMIT_NESTING + 1; i++)
        vyre_builder_begin_if(b, vyre_bool(b, 1));
    for (int i = 0; i < VY_LIMIT_NESTING + 1; i++)
        vyre_builder_end(b);
    expect_finding(b, "V033", "blocks nested too deeply (limit 128)");
}

static void a_breach_of_the_language_is_the_validators_finding(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("b");
    vyre_builder_break(b);
    expect_finding(b, "V065", "break");
}

static void a_null_builder_is_accepted_everywhere(void **state) {
    (void)state;
    vyre_builder *b = NULL;
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_U32, VYRE_ACCESS_WRITE);
    vyre_value v = vyre_var(b, "v", vyre_add(b, vyre_param(b, "p", VYRE_TYPE_U32), vyre_u32(b, 1)));
    vyre_builder_numerics(b, VYRE_NUMERICS_STRICT);
    vyre_builder_workgroup(b, 1, 1, 1);
    vyre_builder_grid_over(b, y);
    vyre_builder_grid_indirect(b, y, 0);
    vyre_builder_grid_groups(b, vyre_size_literal(b, 1), vyre_size_len(b, y), vyre_size_param(b, v));
    vyre_builder_grid_elements(b, vyre_size_add(b, vyre_no_size(), vyre_no_size()), vyre_no_size(), vyre_no_size());
    vyre_builder_count(b, y, vyre_no_size());
    vyre_array(b, "a", VYRE_SPACE_PRIVATE, VYRE_TYPE_U32, 1);
    vyre_function f = vyre_builder_begin_function(b, "f");
    vyre_memory_param(b, "m", VYRE_SPACE_BUFFER, VYRE_TYPE_U32, VYRE_ACCESS_READ);
    vyre_builder_result(b, "r", VYRE_TYPE_U32);
    vyre_builder_end_function(b);
    vyre_builder_assign(b, v, vyre_f16(b, 1));
    vyre_builder_store(b, y, vyre_len(b, y), vyre_load(b, y, vyre_cast(b, VYRE_TYPE_U32, vyre_bf16(b, 1))));
    vyre_builder_atomic(b, NULL, VYRE_ATOMIC_ADD, y, v, v, v, VYRE_ORDER_RELAXED, VYRE_SCOPE_DEVICE);
    vyre_builder_collective(b, "c", VYRE_COLLECTIVE_ANY, VYRE_OP_ADD, 0, vyre_bitcast(b, VYRE_TYPE_U32, v), v);
    vyre_builder_call(b, f, NULL, 0, NULL, NULL);
    vyre_builder_call_op(b, "a.b", NULL, 0, NULL, NULL, 0, NULL);
    vyre_builder_barrier(b, VYRE_SCOPE_WORKGROUP);
    vyre_builder_trap(b, vyre_global_id(b, 0));
    vyre_builder_print(b, "", NULL, 0);
    vyre_builder_begin_if(b, vyre_choose(b, v, v, v));
    vyre_builder_else(b);
    vyre_builder_begin_while(b, v);
    vyre_builder_begin_for(b, "i", v, v, v);
    vyre_builder_begin_region(b, "r");
    vyre_builder_break(b);
    vyre_builder_continue(b);
    vyre_builder_return(b, NULL, 0);
    vyre_builder_end(b);
    vyre_builder_free(b);
    vyre_program *program;
    assert_int_equal(vyre_builder_finish(b, NULL, &program, NULL), VYRE_NO_MEMORY);
    assert_null(program);
}

static void a_builder_can_be_dropped_at_any_time(void **state) {
    (void)state;
    vyre_builder *b = vyre_builder_new("b");
    vyre_builder_begin_function(b, "f");
    vyre_builder_begin_if(b, vyre_bool(b, 1));
    vyre_let(b, "v", vyre_add(b, vyre_u32(b, 1), vyre_f32(b, 1)));
    vyre_builder_free(b);
    vyre_builder_free(vyre_builder_new_library());
}

static void constant_arrays_are_their_text_twin(void **state) {
    (void)state;
    static const float values[3] = {0.5f, -1.0f, 4.0f};
    vyre_builder *b = vyre_builder_new("p");
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_F32, VYRE_ACCESS_WRITE);
    vyre_memory k = vyre_const_array(b, "K", VYRE_TYPE_F32, 3, values);
    vyre_builder_workgroup(b, 64, 1, 1);
    vyre_value i = vyre_let(b, "i", vyre_global_id(b, 0));
    vyre_builder_store(b, y, i, vyre_load(b, k, i));
    vyre_program *program = finish(b);
    vyre_module *module = parse("const K : f32 [] = [0.5, -1, 4]\nprogram p {\n buffer y : f32 write\n workgroup 64\n"
                                " let i = global_id.x\n y[i] = K[i] }");
    assert_same_program(program, vyre_module_program(module, 0));
    vyre_module_free(module);
    vyre_program_release(program);
}

static void mistakes_with_constant_arrays_are_reported(void **state) {
    (void)state;
    static const uint32_t values[2] = {1, 2};
    vyre_builder *b = vyre_builder_new("p");
    vyre_const_array(b, "k", VYRE_TYPE_U32, 2, NULL);
    expect_finding(b, "B007", "NULL");
    b = vyre_builder_new("p");
    vyre_const_array(b, "k", VYRE_TYPE_COUNT, 2, values);
    expect_finding(b, "B007", "the element type");
    b = vyre_builder_new("p");
    vyre_const_array(b, "k", VYRE_TYPE_U64, 1 << 20, values);
    expect_finding(b, "V047", "too large");
    b = vyre_builder_new("p");
    vyre_const_array(b, "k", VYRE_TYPE_U32, 0, values);
    expect_finding(b, "V014", "without elements");
    b = vyre_builder_new("p");
    vyre_builder_store(b, vyre_const_array(b, "k", VYRE_TYPE_U32, 2, values), vyre_u32(b, 0), vyre_u32(b, 0));
    expect_finding(b, "V055", "constant array");
    b = vyre_builder_new("p");
    vyre_array(b, "k", (vyre_space)VYRE_SPACE_COUNT, VYRE_TYPE_U32, 2);
    expect_finding(b, "B007", "the space");
    assert_null(vyre_const_array(NULL, "k", VYRE_TYPE_U32, 2, values).builder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_header_is_its_text_twin),
        cmocka_unit_test(the_example_of_the_header_is_there_word_for_word),
        cmocka_unit_test(a_program_with_everything_is_its_text_twin),
        cmocka_unit_test(constant_arrays_are_their_text_twin),
        cmocka_unit_test(mistakes_with_constant_arrays_are_reported),
        cmocka_unit_test(leaves_may_be_used_any_number_of_times),
        cmocka_unit_test(values_nobody_uses_are_left_out),
        cmocka_unit_test(an_empty_else_is_no_else),
        cmocka_unit_test(the_last_call_of_a_header_function_counts),
        cmocka_unit_test(floats_are_rounded_once_to_their_type),
        cmocka_unit_test(every_op_but_the_conversions_has_a_function_of_its_name),
        cmocka_unit_test(a_value_used_twice_says_let),
        cmocka_unit_test(handles_of_another_builder_and_missing_ones_are_refused),
        cmocka_unit_test(wrong_types_are_named),
        cmocka_unit_test(declarations_after_a_statement_are_refused),
        cmocka_unit_test(blocks_must_match),
        cmocka_unit_test(only_a_var_can_be_assigned),
        cmocka_unit_test(arguments_outside_their_lists_are_refused),
        cmocka_unit_test(numbers_of_operands_must_fit),
        cmocka_unit_test(everything_has_its_place),
        cmocka_unit_test(expressions_have_a_limited_depth),
        cmocka_unit_test(a_function_sees_only_its_own),
        cmocka_unit_test(rows_of_level_legal_are_refused),
        cmocka_unit_test(all_mistakes_come_in_one_report_and_cause_no_others),
        cmocka_unit_test(a_made_up_handle_is_a_mistake),
        cmocka_unit_test(a_program_over_a_limit_is_invalid),
        cmocka_unit_test(a_breach_of_the_language_is_the_validators_finding),
        cmocka_unit_test(a_null_builder_is_accepted_everywhere),
        cmocka_unit_test(a_builder_can_be_dropped_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
