/* Calls of ops: typed by the op_signature, resolved into functions, inlined with their provenance, pinned to their
 * snapshot. */
#include "support/fault.h"
#include "support/test.h"

#include "ir/model.h"
#include "vyre/manifest.h"
#include "vyre/oracle.h"
#include "vyre/wire.h"

static const vyre_op_operand u32_in[] = {{"x", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ},
                                         {"y", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
static const vyre_op_operand u32_out[] = {{"", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ},
                                          {"", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
static const vyre_op_operand array_in[] = {{"t", VYRE_OPERAND_WORKGROUP, VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE}};
static const vyre_attribute attributes[] = {{.name = "times", .type = VYRE_TYPE_U32, .has_default = 1, .value = 3},
                                            {.name = "negate", .type = VYRE_TYPE_BOOL}};
static const uint64_t odd[] = {1, 3};
static const vyre_attribute limited[] = {
    {.name = "by", .type = VYRE_TYPE_I32, .has_default = 1, .has_range = 1, .least = (uint32_t)-2, .most = 4},
    {.name = "way", .type = VYRE_TYPE_U32, .values = odd, .value_count = 2}};

/* An op of dialect `t` with `inputs` u32 inputs and one output. */
static vyre_op_definition simple(const char *id, uint32_t inputs, const char *source) {
    return (vyre_op_definition){.struct_size = sizeof(vyre_op_definition),
                                .id = id,
                                .dialect = "t",
                                .inputs = u32_in,
                                .input_count = inputs,
                                .outputs = u32_out,
                                .output_count = 1,
                                .source = source};
}

static vyre_status install(const vyre_op_definition *ops, size_t count, vyre_error *error) {
    const vyre_op_definition *pointers[16];
    vyre_dialect dialect = {.struct_size = sizeof dialect, .name = "t", .version = "1.0.0", .owner = "the test"};
    vyre_dialect_builder *builder;
    for (size_t i = 0; i < count; i++)
        pointers[i] = &ops[i];
    vyre_status status = vyre_dialect_builder_new(&builder, error);
    if (status != VYRE_OK)
        return status;
    status = vyre_dialect_builder_replace(builder, &dialect, pointers, count, error);
    if (status == VYRE_OK)
        status = vyre_dialects_install(builder, error);
    vyre_dialect_builder_free(builder);
    return status;
}

static void install_all(void) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_op_definition ops[] = {
        simple("t.twice", 1, "fn twice(x: u32) -> u32 { return x + x }"),
        simple("t.four", 1,
               "fn half(x: u32) -> u32 { return t.twice(x) }\nfn four(x: u32) -> u32 { return half(x) + half(x) }"),
        simple("t.clash", 1, "fn half(x: u32) -> u32 { return x / 2 }\nfn clash(x: u32) -> u32 { return half(x) }"),
        simple("t.repeat", 1,
               "fn repeat(x: u32, times: u32, negate: bool) -> u32 {\n array s : u32 [4] private\n"
               "for i in 0u32 .. times { s[0] = s[0] + x }\n return negate ? -s[0] : s[0] }"),
        simple("t.both", 2, "fn both(x: u32, y: u32) -> (a: u32, b: u32) { return y, x }"),
        simple("t.first", 1, "fn first(t: workgroup [u32]) -> u32 { return t[0] }"),
        simple("t.bodiless", 1, NULL),
        simple("t.limited", 1,
               "fn limited(x: u32, by: i32, way: u32) -> u32 { return x * 100 + u32(by + 2) * 10 + way }"),
        simple("t.deaf", 1, "fn deaf(x: u32) -> u32 { return x + 1 }"),
        simple("t.early", 1,
               "fn early(x: u32) -> u32 { for i in 0u32 .. 9 { if i == x { return i * 10 } }\n return 1 }"),
    };
    /* A body's own calls are typed by hand: bodies are parsed before there is a registry to ask. */
    ops[1].source = "fn half(x: u32) -> u32 { let r : u32 = t.twice(x)\n return r }\n"
                    "fn four(x: u32) -> u32 { return half(x) + half(x) }";
    ops[3].attributes = attributes, ops[3].attribute_count = 2;
    ops[4].output_count = 2;
    ops[5].inputs = array_in;
    ops[6].category = VYRE_CATEGORY_EXTENSION;
    ops[7].attributes = limited, ops[7].attribute_count = 2;
    ops[8].attributes = limited, ops[8].attribute_count = 2;
    if (install(ops, sizeof ops / sizeof *ops, &error) != VYRE_OK)
        fail_msg("%s", error.message);
}

typedef struct parsed {
    vyre_dialects_guard guard;
    vyre_module *module;
    vyre_program *program; /* borrowed from the module */
} parsed;

static vyre_status parse(parsed *p, const char *body, vyre_error *error) {
    char text[2048]; /* counts and grid refer to declarations, which move when functions come in front of them */
    int length = snprintf(
        text, sizeof text,
        "program p {\n buffer x : u32 write count len(y)\n buffer y : u32 read_write\n workgroup 4\n grid over y\n"
        "array t : u32 [4] workgroup\n let i = global_id.x\n %s\n}",
        body);
    memset(p, 0, sizeof *p);
    p->guard = vyre_dialects_acquire();
    vyre_parse_options options = {
        .file = "p.vyre", .op_signature = vyre_dialects_op_signature, .op_signature_user = &p->guard};
    vyre_status status = vyre_text_parse(text, (size_t)length, &options, NULL, &p->module, error);
    p->program = status == VYRE_OK ? vyre_module_program(p->module, 0) : NULL;
    return status;
}

static void drop(parsed *p) {
    vyre_module_free(p->module);
    vyre_dialects_release(&p->guard);
}

static vyre_program *resolve(const char *body) {
    parsed p;
    vyre_program *resolved = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    if (parse(&p, body, &error) != VYRE_OK)
        fail_msg("%s: %s", error.where, error.message);
    if (vyre_program_resolve(p.program, p.guard, NULL, &resolved, &error) != VYRE_OK)
        fail_msg("%s: %s", error.where, error.message);
    drop(&p);
    return resolved;
}

/* y[0..3] after running on 0, 1, 2, 3. */
static void run(vyre_program *program, uint32_t y[4]) {
    uint32_t in[4] = {0, 1, 2, 3};
    vyre_span input = {in, sizeof in};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_bytes out[2] = {VYRE_BYTES_INIT, VYRE_BYTES_INIT};
    size_t last = vyre_program_output_count(program) - 1;
    vyre_oracle *oracle;
    vyre_oracle_report report;
    vyre_oracle_options options = {.threads = 1};
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_oracle_new(program, &oracle, &error) != VYRE_OK ||
        vyre_oracle_run(oracle, &arguments, &options, out, &report, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    memcpy(y, out[last].data, sizeof in);
    vyre_bytes_free(&out[0]);
    vyre_bytes_free(&out[1]);
    vyre_oracle_free(oracle);
}

static void check(const char *body, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    uint32_t y[4], expected[4] = {a, b, c, d};
    vyre_program *program = resolve(body);
    assert_false(program->facts & VY_PROGRAM_HAS_OP_CALL);
    run(program, y);
    assert_memory_equal(y, expected, sizeof y);
    vyre_program_release(program);
}

static int set_up(void **state) {
    (void)state;
    install_all();
    return 0;
}

static void refused(const char *body, vyre_status status, const char *said, const char *fix) {
    parsed p;
    vyre_program *resolved = (vyre_program *)&p;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status parsing = parse(&p, body, &error);
    if (parsing == VYRE_OK) {
        assert_int_equal(vyre_program_resolve(p.program, p.guard, NULL, &resolved, &error), status);
        assert_null(resolved);
    } else {
        assert_int_equal(parsing, status);
    }
    if (!strstr(error.message, said) || !strstr(error.fix, fix) || !strstr(error.where, "p.vyre:8:"))
        fail_msg("%s\n%s\n%s", error.message, error.fix, error.where);
    drop(&p);
}

static void ops_compute_what_their_bodies_say(void **state) {
    (void)state;
    check("y[i] = t.twice(y[i]) + 1", 1, 3, 5, 7);
    check("y[i] = t.four(y[i]) + t.clash(y[i])", 0, 4, 9, 13);
    check("let (a, b) = t.both(y[i], 7)\n y[i] = a * 10 + b", 70, 71, 72, 73);
    check("t[local_id.x] = y[i] + 5\n barrier\n y[i] = t.first(t)", 5, 5, 5, 5);
    check("y[i] = t.early(y[i])", 0, 10, 20, 30);
    check("var s : u32 = t.twice(y[i])\n s += t.twice(s)\n y[i] = s", 0, 6, 12, 18);
}

static void attributes_are_arguments_with_defaults(void **state) {
    (void)state;
    check("y[i] = t.repeat<negate = false>(y[i])", 0, 3, 6, 9);
    check("y[i] = t.repeat<negate = true, times = 2>(y[i])", 0, -2u, -4u, -6u);
    check("y[i] = t.repeat<negate = false, times = 5u32>(y[i]) + t.repeat<negate = false, times = 1>(y[i])", 0, 6, 12,
          18);
}

static void a_body_may_take_no_attributes(void **state) {
    (void)state;
    check("y[i] = t.deaf<way = 1>(y[i]) + t.deaf<by = 4, way = 3>(y[i])", 2, 4, 6, 8);
}

static void attributes_are_in_their_range_or_among_their_values(void **state) {
    (void)state;
    check("y[i] = t.limited<by = -2, way = 1>(y[i])", 1, 101, 201, 301);
    check("y[i] = t.limited<by = 4, way = 3>(y[i])", 63, 163, 263, 363);
    refused("let a : u32 = t.limited<by = -3, way = 1>(y[i])", VYRE_INVALID_PROGRAM, "`by` of `t.limited` may not",
            "vyre dialects show t.limited");
    refused("let a : u32 = t.limited<by = 5, way = 1>(y[i])", VYRE_INVALID_PROGRAM, "may not be `5`", "");
    refused("let a : u32 = t.limited<by = 0, way = 2>(y[i])", VYRE_INVALID_PROGRAM, "may not be `2`", "");
    refused("let a : u32 = t.deaf<by = 5, way = 1>(y[i])", VYRE_INVALID_PROGRAM, "may not be `5`", "");
}

static const char *print(vyre_program *program, vyre_bytes *out) {
    vyre_error error;
    assert_int_equal(vyre_text_print(program, out, &error), VYRE_OK);
    return out->data;
}

static void names_say_where_code_came_from(void **state) {
    (void)state;
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_program *inlined, *again, *program = resolve("y[i] = t.four(y[i]) + t.clash(y[i])");
    vyre_error error;
    print(program, &text);
    assert_non_null(strstr(text.data, "fn t.four(x: u32) -> u32"));
    assert_non_null(strstr(text.data, "fn t.four.half(x: u32) -> u32"));
    assert_non_null(strstr(text.data, "fn t.clash.half(x: u32) -> u32"));
    assert_non_null(strstr(text.data, "fn t.twice(x: u32) -> u32"));
    /* The text is a whole: it needs no dialect to be read. */
    vyre_module *module;
    assert_int_equal(vyre_text_parse(text.data, text.size, NULL, NULL, &module, &error), VYRE_OK);
    again = vyre_module_program(module, 0);
    assert_true(vyre_program_equal(program, again));
    assert_int_equal(vyre_program_inline(program, &inlined, &error), VYRE_OK);
    print(inlined, &text);
    assert_non_null(strstr(text.data, "region \"t.four\""));
    assert_non_null(strstr(text.data, "region \"t.four.half\""));
    assert_non_null(strstr(text.data, "region \"t.twice\""));
    vyre_bytes_free(&text);
    vyre_module_free(module);
    vyre_program_release(inlined);
    vyre_program_release(program);
}

/* Of an op and what its body calls: cut to the limit, also where the cut is at a dot, and still apart. */
static void names_that_are_too_long_are_cut(void **state) {
    (void)state;
    for (int length = VY_LIMIT_NAME - 8; length <= VY_LIMIT_NAME; length++) {
        char id[VY_LIMIT_NAME + 1], body[512];
        snprintf(id, sizeof id, "t.%0*d", length - 2, 0);
        id[2] = 'o';
        vyre_op_definition op =
            simple(id, 1,
                   "fn half_a(x: u32) -> u32 { return x + 1 }\nfn half_b(x: u32) -> u32 { return x + 20 }\n"
                   "fn all(x: u32) -> u32 { return half_a(x) * 100 + half_b(x) }");
        op.function = "all";
        assert_int_equal(install(&op, 1, NULL), VYRE_OK);
        snprintf(body, sizeof body, "y[i] = %s(y[i])", id);
        check(body, 120, 221, 322, 423);
    }
    install_all();
}

static void a_function_of_the_file_comes_before_the_op(void **state) {
    (void)state;
    static const char text[] = "fn t.twice(x: u32) -> u32 { return x * 100 }\n"
                               "program p {\n buffer y : u32 read_write\n workgroup 4\n grid over y\n"
                               "let i = global_id.x\n y[i] = t.twice(y[i]) }";
    vyre_module *module;
    vyre_error error;
    uint32_t y[4], expected[4] = {0, 100, 200, 300};
    assert_int_equal(vyre_text_parse(text, sizeof text - 1, NULL, NULL, &module, &error), VYRE_OK);
    run(vyre_module_program(module, 0), y);
    assert_memory_equal(y, expected, sizeof y);
    vyre_module_free(module);
}

static void what_does_not_fit_is_refused_where_it_stands(void **state) {
    (void)state;
    refused("let a : u32 = t.twise(y[i])", VYRE_NOT_FOUND, "no dialect provides", "did you mean `t.twice`?");
    refused("let a : u32 = zzz.far(y[i])", VYRE_NOT_FOUND, "zzz.far", "vyre_dialects_load_folder");
    refused("let a : u32 = t.bodiless(y[i])", VYRE_UNSUPPORTED, "has no body", "");
    refused("let a : u32 = t.twice(y[i], 1u32)", VYRE_INVALID_PROGRAM, "requires 1 argument", "");
    refused("let a : u32 = t.repeat<negate = 4>(y[i])", VYRE_INVALID_PROGRAM, "has type bool (`4` given)", "bool");
    refused("let a : u32 = t.repeat<times = 4>(y[i])", VYRE_INVALID_PROGRAM, "needs its attribute `negate`",
            "negate = ");
    refused("let a : u32 = t.repeat<negate = true, times = -1>(y[i])", VYRE_INVALID_PROGRAM, "u32", "");
    refused("let a : u32 = t.repeat<negate = true, much = 1>(y[i])", VYRE_INVALID_PROGRAM, "no attribute `much`", "");
    refused("let a : u32 = t.first(y)", VYRE_INVALID_PROGRAM, "does not fit", "array of the workgroup");
    refused("let a : u32 = t.twice(y)", VYRE_INVALID_PROGRAM, "does not fit", "a value");
}

static int knows_nothing(void *user, const char *id, size_t length, vyre_op_signature *out) {
    (void)user, (void)id, (void)length, (void)out;
    return 0;
}

/* Where the parser knows no op, types are as written, and only resolving can find out. */
static void types_written_by_hand_are_checked_when_resolving(void **state) {
    (void)state;
    static const char *const bodies[] = {"let a : i32 = t.twice(1u32)", "let a : u32 = t.twice(1i32)",
                                         "let (a : u32, b : u32) = t.twice(1u32)"};
    for (unsigned i = 0; i < 3; i++) {
        char text[256];
        vyre_module *module;
        vyre_error error;
        vyre_program *resolved;
        vyre_dialects_guard guard = vyre_dialects_acquire();
        int length = snprintf(text, sizeof text, "program p {\n workgroup 1\n %s\n}", bodies[i]);
        vyre_parse_options options = {.op_signature = knows_nothing};
        assert_int_equal(vyre_text_parse(text, (size_t)length, &options, NULL, &module, &error), VYRE_OK);
        assert_int_equal(vyre_program_resolve(vyre_module_program(module, 0), guard, NULL, &resolved, &error),
                         VYRE_INVALID_PROGRAM);
        assert_non_null(strstr(error.where, ":3:"));
        vyre_module_free(module);
        vyre_dialects_release(&guard);
    }
}

static void recursion_through_ops_is_refused(void **state) {
    (void)state;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_op_definition ops[] = {
        simple("t.a", 1, "fn a(x: u32) -> u32 { let r : u32 = t.b(x)\n return r }"),
        simple("t.b", 1, "fn b(x: u32) -> u32 { let r : u32 = t.a(x)\n return r }"),
    };
    parsed p;
    vyre_program *resolved;
    vyre_diagnostics *findings = vyre_diagnostics_new();
    assert_int_equal(install(ops, 2, &error), VYRE_OK);
    assert_int_equal(parse(&p, "y[i] = t.a(y[i])", &error), VYRE_OK);
    assert_int_equal(vyre_program_resolve(p.program, p.guard, findings, &resolved, &error), VYRE_INVALID_PROGRAM);
    assert_true(vyre_diagnostics_errors(findings) > 0);
    assert_non_null(strstr(error.message, "t.a"));
    vyre_diagnostics_free(findings);
    drop(&p);
    install_all();
}

static void a_program_keeps_the_snapshot_it_was_resolved_against(void **state) {
    (void)state;
    vyre_error error;
    uint32_t y[4], twice[4] = {0, 2, 4, 6}, thrice[4] = {0, 3, 6, 9};
    vyre_program *inlined, *old = resolve("y[i] = t.twice(y[i])");
    uint64_t generation = vyre_dialects_generation(vyre_program_dialects(old));
    vyre_op_definition changed = simple("t.twice", 1, "fn twice(x: u32) -> u32 { return x * 3 }");
    assert_true(generation > 0);
    assert_int_equal(install(&changed, 1, &error), VYRE_OK);
    vyre_program *new = resolve("y[i] = t.twice(y[i])");
    run(old, y);
    assert_memory_equal(y, twice, sizeof y);
    run(new, y);
    assert_memory_equal(y, thrice, sizeof y);
    assert_false(vyre_program_equal(old, new));
    assert_int_equal(vyre_dialects_generation(vyre_program_dialects(old)), generation);
    assert_true(vyre_dialects_generation(vyre_program_dialects(new)) > generation);
    assert_int_equal(vyre_dialects_verify(vyre_program_dialects(old), &error), VYRE_OK);
    assert_int_equal(vyre_program_inline(old, &inlined, &error), VYRE_OK);
    vyre_program_release(old);
    assert_int_equal(vyre_dialects_generation(vyre_program_dialects(inlined)), generation);
    assert_non_null(vyre_dialects_find(vyre_program_dialects(inlined), "t.four", 6)); /* gone from the newest */
    vyre_program_release(inlined);
    vyre_program_release(new);
    install_all();
}

static void a_program_without_ops_is_given_back(void **state) {
    (void)state;
    parsed p;
    vyre_error error;
    vyre_program *resolved;
    assert_int_equal(parse(&p, "y[i] = 1", &error), VYRE_OK);
    assert_int_equal(vyre_program_resolve(p.program, p.guard, NULL, &resolved, &error), VYRE_OK);
    assert_ptr_equal(resolved, p.program);
    assert_null(vyre_program_dialects(resolved).snapshot);
    vyre_program_release(resolved);
    drop(&p);
}

static vyre_status resolve_and_inline(void *user) {
    parsed p;
    vyre_error error;
    vyre_program *resolved = NULL, *inlined = NULL;
    (void)user;
    vyre_status status = parse(&p, "y[i] = t.four(y[i]) + t.repeat<negate = true>(y[i])", &error);
    if (status == VYRE_OK)
        status = vyre_program_resolve(p.program, p.guard, NULL, &resolved, &error);
    if (status == VYRE_OK)
        status = vyre_program_inline(resolved, &inlined, &error);
    vyre_program_release(inlined);
    vyre_program_release(resolved);
    drop(&p);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    VY_FAULT_LOOP_LENIENT(resolve_and_inline, NULL);
}

/* Ids with `::` and `-` are called in quotes, and the text and wire forms keep them. */
static void an_op_with_a_quoted_id_is_called(void **state) {
    (void)state;
    static const char manifest[] =
        "dialect = \"my-dialect\"\nversion = \"1.0.0\"\n"
        "[[op]]\nid = \"my-dialect::op-name\"\nfunction = \"scaled\"\nsignature = \"fn scaled(x: u32) -> u32\"\n"
        "attributes = [{ name = \"by\", type = \"u32\", default = 2 }]\n"
        "body = '''\nfn scaled(x: u32, by: u32) -> u32 { return through(x) * by }\n"
        "fn through(x: u32) -> u32 {\n array t : u32 [2] private\n t[0] = x\n return t[0]\n}\n'''\n"
        "[[op]]\nid = \"via-it\"\nfunction = \"via\"\nsignature = \"fn via(x: u32) -> u32\"\n"
        "body = '''\nfn via(x: u32) -> u32 {\n let y : u32 = \"my-dialect::op-name\"<by = 5>(x)\n return y\n}\n'''\n"
        "[[op]]\nid = \"touch\"\nsignature = \"fn touch(b: buffer [u32] read_write)\"\n"
        "body = 'fn touch(b: buffer [u32] read_write) { b[0] = 7 }'\n";
    static const char text[] = "program p {\n  buffer y : u32 read_write\n  workgroup 1\n  grid 1\n\n"
                               "  let a : u32 = \"my-dialect::op-name\"<by = 3>(y[3])\n"
                               "  let b : u32 = \"my-dialect.via-it\"(a)\n"
                               "  let t0 : u32 = \"my-dialect::op-name\"(1u32)\n"
                               "  y[1] = b + t0\n"
                               "  \"my-dialect.touch\"(y)\n}\n";
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_dialects_load_text("quoted", manifest, strlen(manifest), NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    assert_string_equal(vyre_dialects_find(guard, "my-dialect::op-name", 19)->dialect, "my-dialect");
    assert_string_equal(vyre_dialects_find(guard, "my-dialect.via-it", 17)->dialect, "my-dialect");
    vyre_program *program = vy_test_parse(text), *decoded = NULL, *resolved = NULL;
    vyre_bytes printed = VYRE_BYTES_INIT, wire = VYRE_BYTES_INIT;
    assert_int_equal(vyre_text_print(program, &printed, &error), VYRE_OK);
    assert_string_equal(printed.data, text);
    assert_int_equal(vyre_wire_encode(program, 0, &wire, &error), VYRE_OK);
    assert_int_equal(vyre_wire_decode(wire.data, wire.size, NULL, &decoded, &error), VYRE_OK);
    assert_int_equal(vyre_text_print(decoded, &printed, &error), VYRE_OK);
    assert_string_equal(printed.data, text);
    if (vyre_program_resolve(decoded, guard, NULL, &resolved, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    /* The functions that stand for the ops come back, too. */
    assert_int_equal(vyre_text_print(resolved, &printed, &error), VYRE_OK);
    assert_non_null(strstr(printed.data, "fn \"my-dialect::op-name\"("));
    vyre_program *again = vy_test_parse(printed.data);
    vyre_digest one, other;
    vyre_program_fingerprint(resolved, &one);
    vyre_program_fingerprint(again, &other);
    assert_memory_equal(&one, &other, sizeof one);
    uint32_t y[4];
    run(resolved, y);
    assert_int_equal(y[0], 7);
    assert_int_equal(y[1], 3 * 3 * 5 + 2);
    vyre_bytes_free(&printed);
    vyre_bytes_free(&wire);
    vyre_program_release(again);
    vyre_program_release(resolved);
    vyre_program_release(decoded);
    vyre_program_release(program);
    vyre_dialects_release(&guard);
    assert_int_equal(vyre_dialects_unload("quoted", &error), VYRE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_compute_what_their_bodies_say),
        cmocka_unit_test(attributes_are_arguments_with_defaults),
        cmocka_unit_test(a_body_may_take_no_attributes),
        cmocka_unit_test(attributes_are_in_their_range_or_among_their_values),
        cmocka_unit_test(names_say_where_code_came_from),
        cmocka_unit_test(names_that_are_too_long_are_cut),
        cmocka_unit_test(a_function_of_the_file_comes_before_the_op),
        cmocka_unit_test(what_does_not_fit_is_refused_where_it_stands),
        cmocka_unit_test(types_written_by_hand_are_checked_when_resolving),
        cmocka_unit_test(recursion_through_ops_is_refused),
        cmocka_unit_test(a_program_keeps_the_snapshot_it_was_resolved_against),
        cmocka_unit_test(a_program_without_ops_is_given_back),
        cmocka_unit_test(an_op_with_a_quoted_id_is_called),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
