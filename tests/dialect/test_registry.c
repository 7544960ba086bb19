/* The dialect registry by one thread: what a snapshot holds, how builders change it, what is refused, and what guards
 * keep. */
#include "dialect/fixture.h"
#include "dialect/registry.h"
#include "support/fault.h"
#include "vyre/text.h"

static int empty_registry(void **state) {
    (void)state;
    return vyre_dialects_update(fixture_nothing, NULL, NULL) == VYRE_OK ? 0 : -1;
}

static vyre_dialect_builder *new_builder(void) {
    vyre_dialect_builder *builder;
    assert_int_equal(vyre_dialect_builder_new(&builder, NULL), VYRE_OK);
    return builder;
}

static void install_only(fixture_dialect *dialect) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = vyre_dialects_update(fixture_only, dialect, &error);
    if (status != VYRE_OK)
        fail_msg("%s", error.message);
}

/* ---- one op in full ---- */

static const vyre_op_operand two_words[] = {{"a", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ},
                                            {"b", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
static const vyre_op_operand one_word[] = {{"r", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
static const vyre_attribute shift[] = {{.name = "shift", .type = VYRE_TYPE_U32, .has_default = 1, .value = 3}};
static const vyre_law_argument zero[] = {{"0", {VYRE_TYPE_U32, 0}}};
static const vyre_law laws[] = {{VYRE_LAW_COMMUTATIVE, 0, NULL}, {VYRE_LAW_IDENTITY, 1, zero}};
static void lower(void) {}
static const vyre_lowering lowerings[] = {{.target = "my-ptx", .data = "add.u32", .size = 7},
                                          {.target = "photonic", .function = lower}};

static vyre_op_definition full_op(void) {
    return (vyre_op_definition){.struct_size = sizeof(vyre_op_definition),
                                .category = VYRE_CATEGORY_INTRINSIC,
                                .id = "full.plus",
                                .version = "2.1.0-rc.1",
                                .doc = "Adds.",
                                .inputs = two_words,
                                .input_count = 2,
                                .outputs = one_word,
                                .output_count = 1,
                                .attributes = shift,
                                .attribute_count = 1,
                                .laws = laws,
                                .law_count = 2,
                                .lowerings = lowerings,
                                .lowering_count = 2,
                                .source = "fn plus(a: u32, b: u32, shift: u32) -> u32 { return a + b }\n"};
}

static const vyre_dialect full_dialect = {
    .struct_size = sizeof full_dialect, .name = "full", .version = "3.0.0", .doc = "All of it.", .owner = "full.toml"};

static vyre_status add_full(vyre_dialect_builder *builder, void *user, vyre_error *error) {
    const vyre_op_definition *op = user;
    vyre_dialect_builder_clear(builder);
    return vyre_dialect_builder_add(builder, &full_dialect, &op, 1, error);
}

static void a_definition_comes_back_as_it_was_given(void **state) {
    (void)state;
    vyre_op_definition given = full_op();
    assert_int_equal(vyre_dialects_update(add_full, &given, NULL), VYRE_OK);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    const vyre_op_definition *op = vyre_dialects_lookup(guard, fixture_id("full.plus"));
    assert_non_null(op);
    assert_string_equal(op->id, "full.plus");
    assert_string_equal(op->dialect, "full");
    assert_string_equal(op->version, "2.1.0-rc.1");
    assert_string_equal(op->doc, "Adds.");
    assert_string_equal(op->owner, "full.toml");
    assert_string_equal(op->function, "plus");
    assert_int_equal(op->number, fixture_id("full.plus"));
    assert_int_equal(op->category, VYRE_CATEGORY_INTRINSIC);
    assert_int_equal(op->input_count, 2);
    assert_ptr_not_equal(op->inputs, two_words);
    assert_string_equal(op->inputs[1].name, "b");
    assert_int_equal(op->outputs[0].type, VYRE_TYPE_U32);
    assert_int_equal(op->attributes[0].value, 3);
    assert_int_equal(op->laws[1].kind, VYRE_LAW_IDENTITY);
    assert_string_equal(op->laws[1].arguments[0].text, "0");
    assert_int_equal(vyre_program_function_count(op->body), 1);
    assert_null(op->source);
    const vyre_dialect *dialect = vyre_dialects_dialect(guard, "full", 4);
    assert_string_equal(dialect->doc, "All of it.");
    assert_string_equal(dialect->version, "3.0.0");
    assert_null(vyre_dialects_dialect(guard, "ful", 3));
    assert_null(vyre_dialects_dialect(guard, "fuller", 6));
    assert_int_equal(vyre_dialects_verify(guard, NULL), VYRE_OK);
    vyre_dialects_release(&guard);
}

static void code_is_found_by_op_and_target_and_the_reference_always(void **state) {
    (void)state;
    vyre_op_definition given = full_op();
    vyre_target photonic, other, mine;
    assert_int_equal(vyre_target_parse("photonic", 8, &photonic, NULL), VYRE_OK);
    assert_int_equal(vyre_target_parse("my-ptx", 6, &mine, NULL), VYRE_OK);
    assert_int_equal(vyre_target_parse("other", 5, &other, NULL), VYRE_OK);
    assert_int_equal(vyre_dialects_update(add_full, &given, NULL), VYRE_OK);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    vyre_op_id id = fixture_id("full.plus");
    const vyre_lowering *text = vyre_dialects_lowering(guard, id, mine);
    assert_non_null(text);
    assert_string_equal(text->target, "my-ptx");
    assert_int_equal(text->size, 7);
    assert_memory_equal(text->data, "add.u32", 7);
    assert_null(vyre_dialects_lowering(guard, id, VYRE_TARGET_PTX));
    assert_true(vyre_dialects_lowering(guard, id, photonic)->function == lower);
    assert_null(vyre_dialects_lowering(guard, id, VYRE_TARGET_SPIRV));
    assert_null(vyre_dialects_lowering(guard, id, other));
    const vyre_lowering *reference = vyre_dialects_lowering(guard, id, VYRE_TARGET_REFERENCE);
    assert_ptr_equal(reference->body, vyre_dialects_lookup(guard, id)->body);
    assert_null(vyre_dialects_lowering(guard, fixture_id("full.missing"), VYRE_TARGET_REFERENCE));
    vyre_dialects_release(&guard);
}

/* The emitters of these targets compile the body: code for them would have no effect. And in upper case an id of c or
 * ptx is not that target. */
static void code_for_a_target_that_reads_none_is_refused(void **state) {
    (void)state;
    static const char *const ids[] = {"spv", "spirv",   "primary_text", "primary_binary", "native_module", "PTX",
                                      "C",   "llvm-ir", "LLVM-IR",      "SpirV",          "Secondary_Text"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        vyre_op_definition op = full_op();
        vyre_lowering lowering = {.target = ids[i], .data = "THIS IS NOT PTX", .size = 15};
        op.lowerings = &lowering;
        op.lowering_count = 1;
        vyre_error error = VYRE_ERROR_INIT;
        char part[64];
        assert_int_equal(vyre_dialects_update(add_full, &op, &error), VYRE_UNSUPPORTED);
        snprintf(part, sizeof part, "the built-in target `%s`", ids[i]);
        assert_non_null(strstr(error.message, "`full.plus`"));
        assert_non_null(strstr(error.message, part));
        /* The fix works: the id that it ends with is accepted. */
        char *id = strrchr(error.fix, '`');
        assert_non_null(id);
        *id = 0;
        lowering.target = strrchr(error.fix, '`') + 1;
        assert_int_equal(vyre_dialects_update(add_full, &op, &error), VYRE_OK);
    }
}

/* The last part of the id is no name of a function, so the op says which one it is. */
static void an_op_with_a_hyphen_names_its_function(void **state) {
    (void)state;
    vyre_op_definition op = full_op();
    vyre_error error = VYRE_ERROR_INIT;
    op.id = "full::plus-one";
    assert_int_equal(vyre_dialects_update(add_full, &op, &error), VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "`plus-one`"));
    assert_non_null(strstr(error.fix, "set .function"));
    op.function = "plus";
    assert_int_equal(vyre_dialects_update(add_full, &op, &error), VYRE_OK);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    assert_string_equal(fixture_find(guard, "full::plus-one")->dialect, "full");
    vyre_dialects_release(&guard);
}

static void a_definition_from_an_older_header_is_taken(void **state) {
    (void)state;
    vyre_op_definition given = full_op();
    given.struct_size = offsetof(vyre_op_definition, owner);
    assert_int_equal(vyre_dialects_update(add_full, &given, NULL), VYRE_OK);
    given.struct_size = offsetof(vyre_op_definition, function);
    assert_int_equal(vyre_dialects_update(add_full, &given, NULL), VYRE_ABI_MISMATCH);
}

/* ---- what is refused ---- */

static void refuse(const vyre_op_definition *op, vyre_status expected, const char *word, int line) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_dialects_guard before = vyre_dialects_acquire();
    vyre_status status = vyre_dialects_update(add_full, (void *)(uintptr_t)op, &error);
    vyre_dialects_guard after = vyre_dialects_acquire();
    if (status != expected || !strstr(error.message, word) || !error.fix[0])
        fail_msg("line %d: %s: %s", line, vyre_status_name(status), error.message);
    assert_ptr_equal(before.snapshot, after.snapshot);
    vyre_dialects_release(&before);
    vyre_dialects_release(&after);
}

static void definitions_that_are_none_are_refused(void **state) {
    (void)state;
    const vyre_op_operand bad_type[] = {{"a", VYRE_OPERAND_VALUE, VYRE_TYPE_COUNT, VYRE_ACCESS_READ}};
    const vyre_op_operand bad_kind[] = {{"a", VYRE_OPERAND_KIND_COUNT, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
    const vyre_op_operand bad_name[] = {{"a b", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
    const vyre_op_operand same_name[] = {two_words[0], two_words[0]};
    const vyre_op_operand bool_memory[] = {{"a", VYRE_OPERAND_BUFFER, VYRE_TYPE_BOOL, VYRE_ACCESS_READ}};
    const vyre_op_operand memory_out[] = {{"a", VYRE_OPERAND_BUFFER, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
    const vyre_attribute taken[] = {{.name = "a", .type = VYRE_TYPE_U32, .has_default = 1, .value = 3}};
    const vyre_attribute wide[] = {{.name = "s", .type = VYRE_TYPE_U8, .has_default = 1, .value = 256}};
    const uint64_t one[] = {1}, large[] = {256};
    const vyre_attribute empty_range[] = {{.name = "s", .type = VYRE_TYPE_U8, .has_range = 1, .least = 2, .most = 1}};
    const vyre_attribute wide_range[] = {{.name = "s", .type = VYRE_TYPE_U8, .has_range = 1, .most = 256}};
    const vyre_attribute truth_range[] = {{.name = "s", .type = VYRE_TYPE_BOOL, .has_range = 1, .most = 1}};
    const vyre_attribute no_values[] = {{.name = "s", .type = VYRE_TYPE_U8, .value_count = 1}};
    const vyre_attribute wide_value[] = {{.name = "s", .type = VYRE_TYPE_U8, .values = large, .value_count = 1}};
    const vyre_attribute other_default[] = {
        {.name = "s", .type = VYRE_TYPE_U8, .has_default = 1, .value = 2, .values = one, .value_count = 1}};
    const vyre_law no_arguments[] = {{VYRE_LAW_IDENTITY, 0, NULL}}, unknown[] = {{VYRE_LAW_COUNT, 0, NULL}};
    const vyre_law of_one[] = {{VYRE_LAW_INVOLUTION, 0, NULL}};
    const vyre_law_argument not_an_op[] = {{"negate", {VYRE_TYPE_BOOL, 0}}};
    const vyre_law over_nothing[] = {{VYRE_LAW_DISTRIBUTIVE_OVER, 1, not_an_op}};
    const vyre_lowering twice[] = {lowerings[0], {.target = "my-ptx", .data = "x", .size = 1}};
    const vyre_lowering nothing[] = {{.target = "photonic"}}, no_target[] = {{.target = "a b", .data = "x", .size = 1}};
    const vyre_lowering reference[] = {{.target = "reference_backend", .data = "x", .size = 1}};
#define REFUSED(change, expected, word)                                                                                \
    do {                                                                                                               \
        vyre_op_definition op = full_op();                                                                             \
        change;                                                                                                        \
        refuse(&op, expected, word, __LINE__);                                                                         \
    } while (0)
    REFUSED(op.id = NULL, VYRE_INVALID_ARGUMENT, "an invalid id");
    REFUSED(op.id = "plus", VYRE_INVALID_ARGUMENT, "an invalid id");
    REFUSED(op.id = "other.plus", VYRE_INVALID_ARGUMENT, "not in its dialect");
    REFUSED(op.dialect = "other", VYRE_INVALID_ARGUMENT, "not in its dialect");
    REFUSED((op.id = "other.plus", op.dialect = "other"), VYRE_INVALID_ARGUMENT, "belongs to dialect");
    REFUSED(op.category = VYRE_CATEGORY_COUNT, VYRE_INVALID_ARGUMENT, "category");
    REFUSED(op.version = "1.2", VYRE_INVALID_ARGUMENT, "version");
    REFUSED(op.version = "01.2.3", VYRE_INVALID_ARGUMENT, "version");
    REFUSED(op.version = "1.2.3-", VYRE_INVALID_ARGUMENT, "version");
    REFUSED(op.version = "1.2.3-01", VYRE_INVALID_ARGUMENT, "version");
    REFUSED(op.version = "1.2.3-a..b", VYRE_INVALID_ARGUMENT, "version");
    REFUSED(op.version = "1.2.3+a+b", VYRE_INVALID_ARGUMENT, "version");
    REFUSED(op.version = "1.2.3 4", VYRE_INVALID_ARGUMENT, "version");
    REFUSED(op.inputs = NULL, VYRE_INVALID_ARGUMENT, "no array");
    REFUSED(op.input_count = 300, VYRE_LIMIT, "too many inputs");
    REFUSED((op.inputs = bad_type, op.input_count = 1), VYRE_INVALID_ARGUMENT, "unknown type");
    REFUSED((op.inputs = bad_kind, op.input_count = 1), VYRE_INVALID_ARGUMENT, "kind of operand");
    REFUSED((op.inputs = bad_name, op.input_count = 1), VYRE_INVALID_ARGUMENT, "invalid name");
    REFUSED((op.inputs = bool_memory, op.input_count = 1), VYRE_INVALID_ARGUMENT, "memory operand of bool");
    REFUSED(op.inputs = same_name, VYRE_INVALID_ARGUMENT, "two inputs with the same name");
    REFUSED(op.outputs = memory_out, VYRE_INVALID_ARGUMENT, "not a value");
    REFUSED(op.outputs = bad_name, VYRE_INVALID_ARGUMENT, "output with an invalid name");
    REFUSED(op.attributes = taken, VYRE_INVALID_ARGUMENT, "with the same name");
    REFUSED(op.attributes = wide, VYRE_INVALID_ARGUMENT, "default");
    REFUSED(op.attributes = empty_range, VYRE_INVALID_ARGUMENT, "range");
    REFUSED(op.attributes = wide_range, VYRE_INVALID_ARGUMENT, "range");
    REFUSED(op.attributes = truth_range, VYRE_INVALID_ARGUMENT, "range");
    REFUSED(op.attributes = no_values, VYRE_INVALID_ARGUMENT, "no array");
    REFUSED(op.attributes = wide_value, VYRE_INVALID_ARGUMENT, "not of type u8");
    REFUSED(op.attributes = other_default, VYRE_INVALID_ARGUMENT, "do not allow");
    REFUSED((op.laws = no_arguments, op.law_count = 1), VYRE_INVALID_ARGUMENT, "wrong number of arguments");
    REFUSED((op.laws = unknown, op.law_count = 1), VYRE_INVALID_ARGUMENT, "unknown law");
    REFUSED((op.laws = of_one, op.law_count = 1), VYRE_INVALID_ARGUMENT, "`involution` with 2 inputs");
    REFUSED((op.laws = over_nothing, op.law_count = 1), VYRE_INVALID_ARGUMENT, "invalid op id");
    REFUSED(op.lowerings = twice, VYRE_INVALID_ARGUMENT, "one target twice");
    REFUSED((op.lowerings = nothing, op.lowering_count = 1), VYRE_INVALID_ARGUMENT, "no code");
    REFUSED((op.lowerings = no_target, op.lowering_count = 1), VYRE_INVALID_ARGUMENT, "not a target id");
    REFUSED((op.lowerings = reference, op.lowering_count = 1), VYRE_INVALID_ARGUMENT, "the reference");
    REFUSED(op.source = NULL, VYRE_INVALID_ARGUMENT, "has no body");
    REFUSED(op.source = "fn plus(", VYRE_INVALID_PROGRAM, "");
    REFUSED(op.source = "fn minus(a: u32, b: u32) -> u32 { return a }\n", VYRE_INVALID_ARGUMENT,
            "without its function");
    REFUSED(op.source = "const A = 1u32\n", VYRE_INVALID_ARGUMENT, "no functions");
    REFUSED(op.source = "fn plus(a: u32) -> u32 { return a }\n", VYRE_INVALID_ARGUMENT, "with 1 parameters");
    REFUSED(op.source = "fn plus(a: u32, b: f32) -> u32 { return a }\n", VYRE_INVALID_ARGUMENT, "parameter 2");
    REFUSED(op.source = "fn plus(a: u32, b: u32) -> f32 { return f32(a) }\n", VYRE_INVALID_ARGUMENT, "result 1");
    REFUSED(op.source = "fn plus(a: u32, b: u32, c: i32) -> u32 { return a }\n", VYRE_INVALID_ARGUMENT, "parameter 3");
    REFUSED(op.source = "fn plus(a: u32, b: u32) -> (r: u32, s: u32) { return a, b }\n", VYRE_INVALID_ARGUMENT,
            "2 results");
}

static void memory_operands_must_fit_the_body(void **state) {
    (void)state;
    vyre_op_operand in[] = {{"x", VYRE_OPERAND_BUFFER, VYRE_TYPE_F32, VYRE_ACCESS_READ},
                            {"t", VYRE_OPERAND_WORKGROUP, VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE}};
    vyre_op_definition op = {.struct_size = sizeof op,
                             .id = "full.look",
                             .inputs = in,
                             .input_count = 2,
                             .outputs = one_word,
                             .output_count = 1,
                             .source =
                                 "fn look(x: buffer [f32] read, t: workgroup [u32]) -> u32 { return t[0] + len(x) }\n"};
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_dialects_update(add_full, &op, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    in[1].kind = VYRE_OPERAND_PRIVATE;
    assert_int_equal(vyre_dialects_update(add_full, &op, NULL), VYRE_INVALID_ARGUMENT);
    in[1].kind = VYRE_OPERAND_WORKGROUP;
    in[0].access = VYRE_ACCESS_READ_WRITE;
    assert_int_equal(vyre_dialects_update(add_full, &op, NULL), VYRE_INVALID_ARGUMENT);
}

static void a_duplicate_names_both_owners(void **state) {
    (void)state;
    fixture_dialect dialect;
    vyre_error error = VYRE_ERROR_INIT;
    fixture_make(&dialect, "test", "one.toml", "op", 2);
    dialect.definitions[1].id = "test.op0";
    vyre_dialect_builder *builder = new_builder();
    assert_int_equal(vyre_dialect_builder_add(builder, &dialect.dialect, dialect.list, 2, &error), VYRE_DUPLICATE);
    assert_non_null(strstr(error.message, "`test.op0`"));
    assert_non_null(strstr(error.message, "`one.toml`"));
    assert_string_equal(error.subject, "test.op0");
    assert_string_equal(error.first, "one.toml");
    assert_string_equal(error.second, "one.toml");
    vyre_dialect_builder_free(builder);

    vyre_op_definition first = {.struct_size = sizeof first, .id = "a.b", .owner = "first.toml"};
    vyre_op_definition second = {.struct_size = sizeof second, .id = "a.b", .dialect = "a"}, third = first;
    third.id = "a.c";
    const vyre_op_definition *both[] = {&first, &third, &second};
    assert_int_equal(vyre_dialects_validate_no_duplicates(both, 2, NULL), VYRE_OK);
    assert_int_equal(vyre_dialects_validate_no_duplicates(both, 0, NULL), VYRE_OK);
    assert_int_equal(vyre_dialects_validate_no_duplicates(both, 3, &error), VYRE_DUPLICATE);
    assert_non_null(strstr(error.message, "by `first.toml` and by `a`"));
    assert_string_equal(error.subject, "a.b");
    assert_string_equal(error.first, "first.toml");
    assert_string_equal(error.second, "a");
    /* Another error has no parts left over from this one. */
    assert_int_equal(vyre_dialects_validate_no_duplicates(NULL, 1, &error), VYRE_INVALID_ARGUMENT);
    assert_string_equal(error.subject, "");
    assert_string_equal(error.first, "");
    assert_string_equal(error.second, "");
}

static void two_providers_of_a_dialect_are_a_conflict(void **state) {
    (void)state;
    fixture_dialect ours, theirs;
    vyre_error error = VYRE_ERROR_INIT;
    fixture_make(&ours, "test", "ours.toml", "op", 2);
    fixture_make(&theirs, "test", "theirs.toml", "other", 2);
    install_only(&ours);
    vyre_dialects_guard before = vyre_dialects_acquire();
    vyre_dialect_builder *builder = new_builder();
    assert_int_equal(vyre_dialect_builder_add(builder, &theirs.dialect, theirs.list, 2, &error), VYRE_CONFLICT);
    assert_non_null(strstr(error.message, "ours.toml"));
    assert_non_null(strstr(error.message, "theirs.toml"));
    assert_string_equal(error.subject, "test");
    assert_string_equal(error.first, "ours.toml");
    assert_string_equal(error.second, "theirs.toml");
    assert_int_equal(vyre_dialect_builder_replace(builder, &theirs.dialect, theirs.list, 2, NULL), VYRE_CONFLICT);
    assert_int_equal(vyre_dialect_builder_remove(builder, "test", "theirs.toml", &error), VYRE_CONFLICT);
    assert_int_equal(vyre_dialect_builder_remove(builder, "nothing", NULL, NULL), VYRE_NOT_FOUND);
    assert_int_equal(vyre_dialect_builder_remove(builder, NULL, NULL, NULL), VYRE_INVALID_ARGUMENT);
    /* The same provider twice is a duplicate. */
    assert_int_equal(vyre_dialect_builder_add(builder, &ours.dialect, ours.list, 2, NULL), VYRE_DUPLICATE);
    vyre_dialect_builder_free(builder);
    vyre_dialects_guard after = vyre_dialects_acquire();
    assert_ptr_equal(before.snapshot, after.snapshot);
    vyre_dialects_release(&before);
    vyre_dialects_release(&after);
}

static void dialects_that_are_none_are_refused(void **state) {
    (void)state;
    vyre_dialect_builder *builder = new_builder();
    vyre_dialect dialect = {.struct_size = sizeof dialect, .name = "good", .owner = "me"};
    const vyre_op_definition *nothing = NULL;
    assert_int_equal(vyre_dialect_builder_add(builder, &dialect, NULL, 0, NULL), VYRE_OK);
    assert_int_equal(vyre_dialect_builder_replace(builder, &dialect, &nothing, 1, NULL), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_dialect_builder_replace(builder, &dialect, NULL, 1, NULL), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_dialect_builder_add(builder, NULL, NULL, 0, NULL), VYRE_INVALID_ARGUMENT);
    dialect.name = "not good";
    assert_int_equal(vyre_dialect_builder_add(builder, &dialect, NULL, 0, NULL), VYRE_INVALID_ARGUMENT);
    dialect.name = "dotted.name";
    assert_int_equal(vyre_dialect_builder_add(builder, &dialect, NULL, 0, NULL), VYRE_OK);
    dialect.name = "other", dialect.owner = NULL;
    assert_int_equal(vyre_dialect_builder_add(builder, &dialect, NULL, 0, NULL), VYRE_INVALID_ARGUMENT);
    dialect.owner = "me", dialect.version = "one";
    assert_int_equal(vyre_dialect_builder_add(builder, &dialect, NULL, 0, NULL), VYRE_INVALID_ARGUMENT);
    dialect.version = NULL, dialect.struct_size = 8;
    assert_int_equal(vyre_dialect_builder_add(builder, &dialect, NULL, 0, NULL), VYRE_ABI_MISMATCH);
    assert_int_equal(vyre_dialects_install(builder, NULL), VYRE_OK);
    vyre_dialect_builder_free(builder);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    assert_int_equal(vyre_dialects_dialect_count(guard), 2);
    assert_string_equal(vyre_dialects_dialect_at(guard, 0)->name, "dotted.name");
    assert_string_equal(vyre_dialects_dialect_at(guard, 1)->version, "0.0.0");
    assert_null(vyre_dialects_dialect_at(guard, 2));
    vyre_dialects_release(&guard);
    assert_int_equal(vyre_dialects_install(NULL, NULL), VYRE_INVALID_ARGUMENT);
}

/* ---- snapshots ---- */

static void ops_are_listed_in_order_of_id(void **state) {
    (void)state;
    fixture_dialect dialect;
    fixture_make(&dialect, "test", "me", "op", 12);
    install_only(&dialect);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    assert_int_equal(vyre_dialects_count(guard), 12);
    for (size_t i = 1; i < 12; i++)
        assert_true(strcmp(vyre_dialects_at(guard, i - 1)->id, vyre_dialects_at(guard, i)->id) < 0);
    assert_null(vyre_dialects_at(guard, 12));
    for (size_t i = 0; i < 12; i++)
        assert_string_equal(fixture_find(guard, dialect.ids[i])->id, dialect.ids[i]);
    assert_null(fixture_find(guard, "test.op12"));
    assert_null(vyre_dialects_lookup(guard, 0));
    assert_null(vyre_dialects_lookup(guard, UINT32_MAX));
    vyre_dialects_release(&guard);
}

/* Numbers that do not follow one another, so that some meet in the index. */
static void ops_with_scattered_numbers_are_all_found_and_no_others(void **state) {
    (void)state;
    enum { NAMES = 4000, OPS = 700 };
    static char names[NAMES][32];
    static vyre_op_definition definitions[OPS];
    static const vyre_op_definition *list[OPS];
    static unsigned char chosen[NAMES];
    vy_random random = vy_random_start(2);
    memset(chosen, 0, sizeof chosen);
    for (int i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], "scatter.name%d", i);
        assert_int_not_equal(fixture_id(names[i]), 0);
    }
    for (int i = 0; i < OPS; i++) {
        size_t which;
        do
            which = vy_random_below(&random, NAMES);
        while (chosen[which]);
        chosen[which] = 1;
        definitions[i] = (vyre_op_definition){
            .struct_size = sizeof definitions[i], .category = VYRE_CATEGORY_EXTENSION, .id = names[which]};
        list[i] = &definitions[i];
    }
    const vyre_dialect dialect = {.struct_size = sizeof dialect, .name = "scatter", .owner = "me"};
    vyre_dialect_builder *builder = new_builder();
    assert_int_equal(vyre_dialect_builder_add(builder, &dialect, list, OPS, NULL), VYRE_OK);
    assert_int_equal(vyre_dialects_install(builder, NULL), VYRE_OK);
    vyre_dialect_builder_free(builder);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    for (int i = 0; i < NAMES; i++) {
        const vyre_op_definition *op = fixture_find(guard, names[i]);
        assert_int_equal(op != NULL, chosen[i]);
        if (op)
            assert_string_equal(op->id, names[i]);
    }
    vyre_dialects_release(&guard);
}

static void an_old_guard_keeps_the_old_snapshot_and_new_ones_see_the_new(void **state) {
    (void)state;
    fixture_dialect before, after;
    fixture_make(&before, "before", "me", "op", 1);
    fixture_make(&after, "after", "me", "op", 1);
    install_only(&before);
    vyre_dialects_guard old = vyre_dialects_acquire();
    const char *kept = fixture_find(old, "before.op0")->id;
    install_only(&after);
    vyre_dialects_guard new = vyre_dialects_acquire();
    assert_non_null(fixture_find(old, "before.op0"));
    assert_null(fixture_find(old, "after.op0"));
    assert_string_equal(kept, "before.op0");
    assert_non_null(fixture_find(new, "after.op0"));
    assert_null(fixture_find(new, "before.op0"));
    assert_int_equal(vyre_dialects_generation(new), vyre_dialects_generation(old) + 1);
    assert_int_not_equal(vyre_dialects_checksum(new), vyre_dialects_checksum(old));
    assert_int_equal(vyre_dialects_verify(old, NULL), VYRE_OK);
    vyre_dialects_release(&old);
    vyre_dialects_release(&new);
}

static void one_dialect_is_replaced_and_the_others_are_shared(void **state) {
    (void)state;
    fixture_dialect kept, changed, version_two;
    fixture_make(&kept, "kept", "kept.toml", "op", 3);
    fixture_make(&changed, "changed", "changed.toml", "op", 3);
    fixture_make(&version_two, "changed", "changed.toml", "new", 2);
    install_only(&kept);
    vyre_dialect_builder *builder = new_builder();
    assert_int_equal(vyre_dialect_builder_add(builder, &changed.dialect, changed.list, 3, NULL), VYRE_OK);
    assert_int_equal(vyre_dialects_install(builder, NULL), VYRE_OK);
    vyre_dialects_guard old = vyre_dialects_acquire();
    assert_int_equal(vyre_dialect_builder_replace(builder, &version_two.dialect, version_two.list, 2, NULL), VYRE_OK);
    assert_int_equal(vyre_dialects_install(builder, NULL), VYRE_OK); /* the builder stands on what it installed */
    vyre_dialects_guard new = vyre_dialects_acquire();
    assert_int_equal(vyre_dialects_count(new), 5);
    assert_null(fixture_find(new, "changed.op1"));
    assert_non_null(fixture_find(new, "changed.new1"));
    assert_ptr_equal(fixture_find(new, "kept.op1"), fixture_find(old, "kept.op1"));
    assert_int_equal(vyre_dialect_builder_remove(builder, "changed", "changed.toml", NULL), VYRE_OK);
    assert_int_equal(vyre_dialects_install(builder, NULL), VYRE_OK);
    vyre_dialect_builder_free(builder);
    vyre_dialects_release(&new);
    new = vyre_dialects_acquire();
    assert_int_equal(vyre_dialects_count(new), 3);
    assert_int_equal(vyre_dialects_dialect_count(new), 1);
    assert_int_equal(vyre_dialects_verify(new, NULL), VYRE_OK);
    vyre_dialects_release(&old);
    vyre_dialects_release(&new);
}

static void a_builder_that_was_overtaken_installs_nothing(void **state) {
    (void)state;
    fixture_dialect mine, theirs;
    vyre_error error = VYRE_ERROR_INIT;
    fixture_make(&mine, "mine", "me", "op", 1);
    fixture_make(&theirs, "theirs", "them", "op", 1);
    vyre_dialect_builder *slow = new_builder();
    assert_int_equal(vyre_dialect_builder_add(slow, &mine.dialect, mine.list, 1, NULL), VYRE_OK);
    install_only(&theirs);
    assert_int_equal(vyre_dialects_install(slow, &error), VYRE_CONFLICT);
    assert_non_null(strstr(error.fix, "new builder"));
    vyre_dialect_builder_free(slow);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    assert_non_null(fixture_find(guard, "theirs.op0"));
    assert_null(fixture_find(guard, "mine.op0"));
    vyre_dialects_release(&guard);
}

typedef struct overtaken {
    fixture_dialect mine, theirs;
    int runs;
} overtaken;

static vyre_status be_overtaken_once(vyre_dialect_builder *builder, void *user, vyre_error *error) {
    overtaken *both = user;
    if (both->runs++ == 0)
        install_only(&both->theirs);
    return vyre_dialect_builder_add(builder, &both->mine.dialect, both->mine.list, 1, error);
}

static void an_update_begins_again_when_it_was_overtaken(void **state) {
    (void)state;
    static overtaken both;
    fixture_make(&both.mine, "mine", "me", "op", 1);
    fixture_make(&both.theirs, "theirs", "them", "op", 1);
    both.runs = 0;
    assert_int_equal(vyre_dialects_update(be_overtaken_once, &both, NULL), VYRE_OK);
    assert_int_equal(both.runs, 2);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    assert_non_null(fixture_find(guard, "theirs.op0"));
    assert_non_null(fixture_find(guard, "mine.op0"));
    vyre_dialects_release(&guard);
}

static void writing_into_a_snapshot_is_seen(void **state) {
    (void)state;
    fixture_dialect dialect;
    fixture_make(&dialect, "test", "me", "op", 3);
    install_only(&dialect);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    char *doc = (char *)(uintptr_t)fixture_find(guard, "test.op1")->version;
    assert_int_equal(vyre_dialects_verify(guard, NULL), VYRE_OK);
    doc[0] = '9';
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_dialects_verify(guard, &error), VYRE_CORRUPT);
    doc[0] = '1';
    assert_int_equal(vyre_dialects_verify(guard, NULL), VYRE_OK);
    vyre_dialects_release(&guard);
}

/* ---- guards and memory ---- */

static void an_empty_guard_has_nothing(void **state) {
    (void)state;
    vyre_dialects_guard guard = {NULL, NULL};
    assert_int_equal(vyre_dialects_count(guard), 0);
    assert_null(vyre_dialects_at(guard, 0));
    assert_null(vyre_dialects_lookup(guard, 1));
    assert_null(vyre_dialects_dialect(guard, "x", 1));
    assert_null(vyre_dialects_lowering(guard, 1, VYRE_TARGET_REFERENCE));
    assert_int_equal(vyre_dialects_generation(guard), 0);
    assert_int_equal(vyre_dialects_checksum(guard), 0);
    assert_int_equal(vyre_dialects_verify(guard, NULL), VYRE_OK);
    vyre_dialects_guard other = vyre_dialects_retain(guard);
    assert_null(other.snapshot);
    vyre_dialects_release(&guard);
    vyre_dialects_release(NULL);
}

static void guards_allocate_nothing(void **state) {
    (void)state;
    enum { GUARDS = 5000 };
    static vyre_dialects_guard guards[GUARDS];
    vy_fault_start_all(1);
    for (int i = 0; i < GUARDS; i++)
        guards[i] = i % 3 ? vyre_dialects_acquire() : vyre_dialects_retain(guards[i ? i - 1 : 0]);
    for (int i = 0; i < GUARDS; i++)
        vyre_dialects_release(&guards[(i * 7) % GUARDS]);
    assert_int_equal(vy_fault_stop(), 0);
}

/* Each of many guards on a snapshot of its own keeps that one and no other. */
static void each_guard_keeps_its_own_snapshot_and_no_other(void **state) {
    (void)state;
    enum { GUARDS = 40 };
    vyre_dialects_guard guards[GUARDS];
    static fixture_dialect dialect;
    fixture_make(&dialect, "test", "me", "op", FIXTURE_OPS);
    install_only(&dialect);
    install_only(&dialect);
    size_t one = vy_fault_live_bytes();
    for (int i = 0; i < GUARDS; i++) {
        guards[i] = i % 2 ? vyre_dialects_acquire() : (vyre_dialects_guard){NULL, NULL};
        if (i % 2 == 0) {
            vyre_dialects_guard guard = vyre_dialects_acquire();
            guards[i] = vyre_dialects_retain(guard);
            vyre_dialects_release(&guard);
        }
        install_only(&dialect); /* all ops anew, so nothing is shared */
    }
    size_t all = vy_fault_live_bytes(), each = (all - one) / GUARDS;
    assert_int_equal(vy_hazard_unreclaimed_count(&vy_dialects), GUARDS);
    assert_true(each > 1000);
    /* In the middle first: what is freed does not depend on order. */
    for (int i = 0; i < GUARDS; i++) {
        vyre_dialects_guard *guard = &guards[(i * 17 + 5) % GUARDS];
        assert_non_null(fixture_find(*guard, "test.op31"));
        assert_int_equal(vyre_dialects_verify(*guard, NULL), VYRE_OK);
        vyre_dialects_release(guard);
        assert_int_equal(vy_hazard_unreclaimed_count(&vy_dialects), (size_t)(GUARDS - 1 - i));
        assert_int_equal(vy_fault_live_bytes(), one + each * (size_t)(GUARDS - 1 - i));
    }
}

static void memory_stays_flat_over_many_installs(void **state) {
    (void)state;
    const int installs = VY_SANITIZED ? 10000 : 100000;
    fixture_dialect dialect;
    fixture_make(&dialect, "test", "me", "op", 4);
    install_only(&dialect);
    vyre_dialects_guard held = vyre_dialects_acquire(); /* one long guard keeps one snapshot */
    vyre_dialect_builder *builder = new_builder();
    size_t bytes = 0;
    for (int i = 0; i < installs; i++) {
        if (i % 100 == 0)
            assert_int_equal(vyre_dialect_builder_replace(builder, &dialect.dialect, dialect.list, 4, NULL), VYRE_OK);
        assert_int_equal(vyre_dialects_install(builder, NULL), VYRE_OK);
        if (i == 200)
            bytes = vy_fault_live_bytes();
        if (i > 200 && i % 100 == 0)
            assert_int_equal(vy_fault_live_bytes(), bytes);
    }
    assert_int_equal(vy_hazard_unreclaimed_count(&vy_dialects), 1);
    vyre_dialect_builder_free(builder);
    vyre_dialects_release(&held);
    assert_int_equal(vy_hazard_unreclaimed_count(&vy_dialects), 0);
}

/* user: the body, or NULL to have the source parsed. */
static vyre_status make_change_install(void *user) {
    vyre_op_definition op = full_op();
    const vyre_op_definition *list[] = {&op};
    vyre_dialect_builder *builder;
    op.body = user;
    op.source = user ? NULL : op.source;
    vyre_dialects_guard before = vyre_dialects_acquire();
    vyre_status status = vyre_dialect_builder_new(&builder, NULL);
    if (status == VYRE_OK)
        status = vyre_dialect_builder_replace(builder, &full_dialect, list, 1, NULL);
    if (status == VYRE_OK)
        status = vyre_dialects_install(builder, NULL);
    vyre_dialect_builder_free(builder);
    vyre_dialects_guard after = vyre_dialects_acquire();
    if (status != VYRE_OK)
        assert_ptr_equal(before.snapshot, after.snapshot);
    vyre_dialects_release(&before);
    vyre_dialects_release(&after);
    return status;
}

/* As vy_fault_loop, which wants a library without live objects; the registry always has one. Gives the number of faults
 * that were met. */
static size_t fail_each(vyre_program *body, void (*start)(size_t), int may_survive) {
    for (size_t k = 1;; k++) {
        size_t blocks = vy_fault_live_blocks();
        start(k);
        vyre_status status = make_change_install(body);
        int met = vy_fault_stop();
        assert_true(status == (met ? VYRE_NO_MEMORY : VYRE_OK) || (may_survive && status == VYRE_OK));
        assert_int_equal(vy_fault_live_blocks(), blocks); /* one op for another */
        if (!met)
            return k - 1;
    }
}

static void any_allocation_may_fail_and_then_nothing_is_published(void **state) {
    (void)state;
    assert_int_equal(make_change_install(NULL), VYRE_OK); /* names are interned for good */
    vyre_dialects_guard guard = vyre_dialects_acquire();
    vyre_program *body = vyre_program_retain(fixture_find(guard, "full.plus")->body);
    vyre_dialects_release(&guard);
    size_t faults = fail_each(body, vy_fault_start, 0);
    assert_true(faults > 5);
    assert_int_equal(fail_each(body, vy_fault_start_all, 0), faults);
    vyre_program_release(body);
    assert_true(fail_each(NULL, vy_fault_start, 1) > faults); /* the parser can do without some */
    assert_true(fail_each(NULL, vy_fault_start_all, 1) > faults);
    assert_int_equal(vy_fault_mismatches(), 0);
    assert_int_equal(vy_hazard_unreclaimed_count(&vy_dialects), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_definition_comes_back_as_it_was_given, empty_registry),
        cmocka_unit_test_setup(code_is_found_by_op_and_target_and_the_reference_always, empty_registry),
        cmocka_unit_test_setup(code_for_a_target_that_reads_none_is_refused, empty_registry),
        cmocka_unit_test_setup(an_op_with_a_hyphen_names_its_function, empty_registry),
        cmocka_unit_test_setup(a_definition_from_an_older_header_is_taken, empty_registry),
        cmocka_unit_test_setup(definitions_that_are_none_are_refused, empty_registry),
        cmocka_unit_test_setup(memory_operands_must_fit_the_body, empty_registry),
        cmocka_unit_test_setup(a_duplicate_names_both_owners, empty_registry),
        cmocka_unit_test_setup(two_providers_of_a_dialect_are_a_conflict, empty_registry),
        cmocka_unit_test_setup(dialects_that_are_none_are_refused, empty_registry),
        cmocka_unit_test_setup(ops_are_listed_in_order_of_id, empty_registry),
        cmocka_unit_test_setup(ops_with_scattered_numbers_are_all_found_and_no_others, empty_registry),
        cmocka_unit_test_setup(an_old_guard_keeps_the_old_snapshot_and_new_ones_see_the_new, empty_registry),
        cmocka_unit_test_setup(one_dialect_is_replaced_and_the_others_are_shared, empty_registry),
        cmocka_unit_test_setup(a_builder_that_was_overtaken_installs_nothing, empty_registry),
        cmocka_unit_test_setup(an_update_begins_again_when_it_was_overtaken, empty_registry),
        cmocka_unit_test_setup(writing_into_a_snapshot_is_seen, empty_registry),
        cmocka_unit_test_setup(an_empty_guard_has_nothing, empty_registry),
        cmocka_unit_test_setup(guards_allocate_nothing, empty_registry),
        cmocka_unit_test_setup(each_guard_keeps_its_own_snapshot_and_no_other, empty_registry),
        cmocka_unit_test_setup(memory_stays_flat_over_many_installs, empty_registry),
        cmocka_unit_test_setup(any_allocation_may_fail_and_then_nothing_is_published, empty_registry),
    };
    vy_fault_install(); /* for good: there is always a current snapshot */
    return cmocka_run_group_tests_name("dialect registry", tests, NULL, NULL);
}
