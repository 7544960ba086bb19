/* Dialects from link-time records: of this program, of modules made by hand, of a plug-in. */
#include "dialect/fixture.h"
#include "driver/registry/child.h"
#include "support/fault.h"
#include "vyre/registry.h"

/* ---- this program's own ---- */

static const vyre_op_operand in[] = {{"x", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
static const vyre_op_operand out[] = {{"", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
VYRE_REGISTER_OP(thrice, .id = "linked.thrice", .inputs = in, .outputs = out, .input_count = 1, .output_count = 1,
                 .source = "fn thrice(x: u32) -> u32 { return 3 * x }\n");
VYRE_REGISTER_EXTERN_DIALECT(test, .name = "vyre-libs-driver-registry-test", .version = "0.4.1-test",
                             .url = "https://example.invalid/vyre-libs-driver-registry-test");
VYRE_REGISTER_EXTERN_OP(dummy, .dialect = "vyre-libs-driver-registry-test",
                        .id = "vyre-libs-driver-registry-test::dummy");
VYRE_MODULE("this test");

static void extern_ops_are_ingested(void **state) {
    (void)state;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_module_register(&vyre_this_module, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    const vyre_op_definition *op = fixture_find(guard, "vyre-libs-driver-registry-test::dummy");
    assert_non_null(op);
    assert_string_equal(op->dialect, "vyre-libs-driver-registry-test");
    assert_string_equal(op->version, "0.4.1-test");
    assert_string_equal(op->owner, "this test");
    assert_int_equal(op->category, VYRE_CATEGORY_EXTENSION);
    assert_null(op->body);
    assert_non_null(vyre_dialects_lowering(guard, op->number, VYRE_TARGET_REFERENCE));
    op = fixture_find(guard, "linked.thrice");
    assert_non_null(op->body);
    assert_string_equal(vyre_dialects_dialect(guard, "linked", 6)->owner, "this test");
    vyre_dialects_release(&guard);
}

static void registering_again_installs_nothing(void **state) {
    (void)state;
    vyre_dialects_guard before = vyre_dialects_acquire();
    assert_int_equal(vyre_module_register(&vyre_this_module, NULL), VYRE_OK);
    vyre_dialects_guard after = vyre_dialects_acquire();
    assert_ptr_equal(before.snapshot, after.snapshot);
    vyre_dialects_release(&before);
    vyre_dialects_release(&after);
}

/* ---- modules made by hand ---- */

typedef struct hand_made {
    vyre_module_descriptor module;
    vyre_backend_registration backend;
    vyre_op_definition op;
    vyre_extern_dialect dialect;
    vyre_extern_op extern_op;
    const vyre_backend_registration *backends[1];
    const vyre_op_definition *ops[1];
    const vyre_extern_dialect *dialects[2];
    const vyre_extern_op *extern_ops[1];
} hand_made;

static vyre_status create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *instance, vyre_error *error) {
    (void)ordinal, (void)instance;
    return (host->fail)(error, VYRE_UNSUPPORTED, NULL, "not for use");
}

/* A backend, an op `hand.op`, and a dialect `hand_extern` with an op. */
static void make(hand_made *made, const char *name) {
    memset(made, 0, sizeof *made);
    made->backend = (vyre_backend_registration){
        .struct_size = sizeof made->backend, .abi = VYRE_BACKEND_ABI, .id = "hand-backend", .create = create};
    made->op =
        (vyre_op_definition){.struct_size = sizeof made->op, .category = VYRE_CATEGORY_EXTENSION, .id = "hand.op"};
    made->dialect = (vyre_extern_dialect){sizeof made->dialect, "hand_extern", "1.0.0", NULL};
    made->extern_op = (vyre_extern_op){sizeof made->extern_op, "hand_extern", "hand_extern.op", NULL};
    made->backends[0] = &made->backend;
    made->ops[0] = &made->op;
    made->dialects[0] = made->dialects[1] = &made->dialect;
    made->extern_ops[0] = &made->extern_op;
    made->module = (vyre_module_descriptor){.struct_size = sizeof made->module,
                                            .abi = VYRE_BACKEND_ABI,
                                            .name = name,
                                            .backends = made->backends,
                                            .backends_end = made->backends + 1,
                                            .ops = made->ops,
                                            .ops_end = made->ops + 1,
                                            .extern_dialects = made->dialects,
                                            .extern_dialects_end = made->dialects + 1,
                                            .extern_ops = made->extern_ops,
                                            .extern_ops_end = made->extern_ops + 1};
}

static void refused(const hand_made *made, vyre_status expected, const char *word, int line) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_dialects_guard before = vyre_dialects_acquire();
    vyre_status status = vyre_module_register(&made->module, &error);
    vyre_dialects_guard after = vyre_dialects_acquire();
    if (status != expected || !strstr(error.message, word) || !error.fix[0])
        fail_msg("line %d: %s: %s", line, vyre_status_name(status), error.message);
    assert_ptr_equal(before.snapshot, after.snapshot);
    assert_null(vyre_backend_find("hand-backend"));
    vyre_dialects_release(&before);
    vyre_dialects_release(&after);
}

/* Nothing of these is published, neither ops nor the backend. */
static void what_is_wrong_in_a_module_is_named_and_nothing_is_published(void **state) {
    (void)state;
    static hand_made made;
#define REFUSED(change, expected, word)                                                                                \
    do {                                                                                                               \
        make(&made, "by hand");                                                                                        \
        change;                                                                                                        \
        refused(&made, expected, word, __LINE__);                                                                      \
    } while (0)
    REFUSED((made.extern_op.dialect = "nobody", made.extern_op.id = "nobody.op"), VYRE_NOT_FOUND,
            "`nobody.op` of `by hand` is in a dialect that is not registered (`nobody`)");
    REFUSED(made.extern_op.dialect = NULL, VYRE_NOT_FOUND, "that is not registered");
    REFUSED(made.extern_op.id = "hand_extern", VYRE_INVALID_ARGUMENT, "an invalid id");
    REFUSED(made.extern_op.id = "other.op", VYRE_INVALID_ARGUMENT, "not in its dialect");
    REFUSED(made.extern_op.id = NULL, VYRE_INVALID_ARGUMENT, "an invalid id");
    REFUSED(made.dialect.name = "linked", VYRE_CONFLICT, "is provided by `this test`, so `by hand` cannot");
    REFUSED(made.op.id = "linked.more", VYRE_CONFLICT, "is provided by `this test`, so `by hand` cannot");
    REFUSED((made.extern_op.dialect = "linked", made.extern_op.id = "linked.thrice"), VYRE_DUPLICATE,
            "`linked.thrice` is registered twice (by `this test` and by `by hand`)");
    REFUSED(made.dialect.name = NULL, VYRE_INVALID_ARGUMENT, "invalid name");
    REFUSED(made.dialect.version = "new", VYRE_INVALID_ARGUMENT, "version");
    REFUSED(made.module.extern_dialects_end = made.dialects + 2, VYRE_DUPLICATE, "registered twice");
    REFUSED(made.op.category = VYRE_CATEGORY_COMPOSITE, VYRE_INVALID_ARGUMENT, "has no body");
    REFUSED(made.op.source = "fn op(", VYRE_INVALID_PROGRAM, "");
    REFUSED(made.op.struct_size = 8, VYRE_ABI_MISMATCH, "too short");
    REFUSED(made.dialect.struct_size = 8, VYRE_ABI_MISMATCH, "too short");
    REFUSED(made.extern_op.struct_size = 8, VYRE_ABI_MISMATCH, "too short");
    REFUSED(made.ops[0] = NULL, VYRE_INVALID_ARGUMENT, "NULL record");
    REFUSED(made.module.ops_end = NULL, VYRE_INVALID_ARGUMENT, "invalid bounds");
#undef REFUSED
}

static void a_backend_that_is_refused_takes_its_dialects_along(void **state) {
    (void)state;
    static hand_made made;
    make(&made, "by hand");
    made.backend.id = "reference"; /* libvyre's */
    refused(&made, VYRE_DUPLICATE, "`reference`", __LINE__);
}

static void a_descriptor_made_before_there_were_dialects_has_none(void **state) {
    (void)state;
    static hand_made made;
    make(&made, "early");
    made.backend.id = "early-backend";
    made.module.struct_size = offsetof(vyre_module_descriptor, ops);
    assert_int_equal(vyre_module_register(&made.module, NULL), VYRE_OK);
    assert_non_null(vyre_backend_find("early-backend"));
    vyre_dialects_guard guard = vyre_dialects_acquire();
    assert_null(fixture_find(guard, "hand.op"));
    vyre_dialects_release(&guard);
}

static void an_extern_op_joins_a_dialect_of_another_module(void **state) {
    (void)state;
    static hand_made made;
    make(&made, "guest");
    made.backend.id = "guest-backend";
    made.module.ops = made.module.ops_end = NULL;
    made.module.extern_dialects = made.module.extern_dialects_end = NULL;
    made.extern_op.dialect = "linked", made.extern_op.id = "linked.guest";
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_module_register(&made.module, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    assert_string_equal(fixture_find(guard, "linked.guest")->owner, "guest");
    assert_string_equal(vyre_dialects_dialect(guard, "linked", 6)->owner, "this test");
    vyre_dialects_release(&guard);
}

/* ---- a plug-in ---- */

static int find_plugin(char path[1024], const char *name) {
    const char *folder = getenv("VYRE_BINARY_DIR");
    snprintf(path, 1024, "%s/plugins/%s.so", folder ? folder : VYRE_BINARY_DIR, name);
    return access(path, R_OK) == 0;
}

static void a_plugin_brings_its_dialects(void **state) {
    (void)state;
    char path[1024];
    if (!find_plugin(path, "dialect"))
        VY_SKIP("a_plugin_brings_its_dialects: no plug-in at %s", path);
    vyre_error error = VYRE_ERROR_INIT;
    for (int again = 0; again < 2; again++)
        if (vyre_plugin_load(path, &error) != VYRE_OK)
            fail_msg("%s", error.message);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    assert_string_equal(fixture_find(guard, "plugged.twice")->owner, path);
    assert_non_null(fixture_find(guard, "plugged.twice")->body);
    assert_string_equal(fixture_find(guard, "foreign.dummy")->doc, "Nothing yet.");
    assert_string_equal(vyre_dialects_dialect(guard, "foreign", 7)->doc, "https://example.invalid/foreign");
    vyre_target target;
    assert_int_equal(vyre_target_parse("photonic:v2", 11, &target, NULL), VYRE_OK);
    const vyre_lowering *code = vyre_dialects_lowering(guard, fixture_find(guard, "plugged.doubled")->number, target);
    assert_non_null(code);
    assert_memory_equal(code->data, "dbl", 3);
    vyre_dialects_release(&guard);
}

static void a_plugin_with_code_that_is_no_ptx_is_refused(void **state) {
    (void)state;
    char path[1024];
    if (!find_plugin(path, "lowering"))
        VY_SKIP("a_plugin_with_code_that_is_no_ptx_is_refused: no plug-in at %s", path);
    vyre_error error = VYRE_ERROR_INIT;
    vyre_dialects_guard before = vyre_dialects_acquire();
    assert_int_equal(vyre_plugin_load(path, &error), VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "the code of `lowered.twice` for `ptx` has an instruction"));
    assert_non_null(strstr(error.message, "(at `THIS`)"));
    assert_non_null(strstr(error.fix, "use instructions"));
    vyre_dialects_guard after = vyre_dialects_acquire();
    assert_ptr_equal(before.snapshot, after.snapshot);
    vyre_dialects_release(&before);
    vyre_dialects_release(&after);
}

/* ---- memory, in children that nobody has touched ---- */

static void register_without_the_kth(size_t k) {
    static hand_made made;
    make(&made, "by hand");
    vy_fault_install();
    CHILD_CLAIM(fixture_id("hand.op") && fixture_id("hand_extern.op"));
    vyre_dialects_guard guard = vyre_dialects_acquire(); /* makes the first snapshot */
    CHILD_CLAIM(vyre_dialects_count(guard) > 0);         /* loads all of it */
    vyre_dialects_release(&guard);
    vy_fault_start(k);
    vyre_status status = vyre_module_register(&made.module, NULL);
    int met = vy_fault_stop();
    guard = vyre_dialects_acquire();
    CHILD_CLAIM(status == (met ? VYRE_NO_MEMORY : VYRE_OK));
    CHILD_CLAIM((fixture_find(guard, "hand.op") != NULL) == !met);
    CHILD_CLAIM((fixture_find(guard, "hand_extern.op") != NULL) == !met);
    CHILD_CLAIM((vyre_backend_find("hand-backend") != NULL) == !met);
    vyre_dialects_release(&guard);
    CHILD_CLAIM(vyre_module_register(&made.module, NULL) == VYRE_OK);
    guard = vyre_dialects_acquire();
    CHILD_CLAIM(fixture_find(guard, "hand_extern.op") && vyre_backend_find("hand-backend"));
    CHILD_CLAIM(vyre_dialects_verify(guard, NULL) == VYRE_OK);
    CHILD_CLAIM(vy_fault_mismatches() == 0);
    _exit(met ? 0 : 3);
}

static void any_allocation_may_fail_while_a_module_joins(void **state) {
    (void)state;
    size_t k = 1;
    for (int code = 0; code == 0; k++) {
        fflush(stdout);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            register_without_the_kth(k);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        code = WEXITSTATUS(status);
        assert_true(code == 0 || code == 3);
    }
    assert_true(k > 8);
}

static int knows_nothing(void *user, const char *id, size_t length, vyre_op_signature *out) {
    (void)user, (void)id, (void)length, (void)out;
    return 0;
}

static void first_without_memory(size_t k) {
    vy_fault_install();
    vyre_error error = VYRE_ERROR_INIT;
    vyre_dialects_guard guard;
    vy_fault_start_all(k);
    CHILD_CLAIM(vyre_dialects_global(&guard, &error) == VYRE_NO_MEMORY && !guard.snapshot && error.fix[0]);
    guard = vyre_dialects_acquire();
    CHILD_CLAIM(!guard.snapshot && vyre_dialects_count(guard) == 0);
    vyre_dialects_release(&guard);
    vy_fault_stop();
    CHILD_CLAIM(vyre_dialects_global(&guard, NULL) == VYRE_OK && vyre_dialects_generation(guard) == 1);
    vyre_dialects_release(&guard);
}

static void without_memory_the_first_guard_is_empty_and_the_next_tries_again(void **state) {
    (void)state;
    static const size_t faults[] = {1, 2};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        run_in_child(first_without_memory, faults[i]);
}

static void load_without_memory(size_t k) {
    static const char text[] = "program p {\n buffer u : u32 read_write\n workgroup 1\n u[0] = bits.parity(u[0])\n}\n";
    vy_fault_install();
    vyre_dialects_guard guard = vyre_dialects_acquire();
    vyre_module *module = NULL;
    vyre_error error;
    vy_fault_start_all(k);
    CHILD_CLAIM(!vyre_dialects_find(guard, "bits.parity_u32", 15) && vyre_dialects_count(guard) == 0);
    CHILD_CLAIM(!vyre_dialects_at(guard, 0) && vyre_dialects_verify(guard, NULL) == VYRE_NO_MEMORY);
    CHILD_CLAIM(vyre_text_parse(text, sizeof text - 1, NULL, NULL, &module, &error) == VYRE_NO_MEMORY && error.fix[0]);
    vy_fault_stop();
    CHILD_CLAIM(vyre_text_parse(text, sizeof text - 1, NULL, NULL, &module, &error) == VYRE_OK);
    CHILD_CLAIM(vyre_dialects_find(guard, "bits.parity_u32", 15) && vyre_op_find_id("math.exp_f32", 12) == 0);
    vyre_module_free(module);
    CHILD_CLAIM(vyre_dialects_count(guard) > 0 && vyre_dialects_verify(guard, NULL) == VYRE_OK);
    vyre_dialects_release(&guard);
    CHILD_CLAIM(vy_fault_mismatches() == 0);
}

static void without_memory_no_dialect_is_loaded_and_the_next_lookup_tries_again(void **state) {
    (void)state;
    static const size_t faults[] = {1, 2, 3, 5, 10, 40, 100, 400};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        run_in_child(load_without_memory, faults[i]);
}

/* An unlinked program is resolved by a process that has loaded nothing, with each allocation failing. */
static void link_without_memory(size_t k) {
    static const char text[] = "program p {\n buffer u : u32 read_write\n workgroup 1\n"
                               " let a : u32 = bits.parity_u32(u[0])\n u[0] = a\n}\n";
    vyre_dialects_guard guard = vyre_dialects_acquire();
    vyre_module *module = NULL;
    vyre_program *linked = NULL;
    vyre_parse_options options = {.op_signature = knows_nothing};
    CHILD_CLAIM(vyre_text_parse(text, sizeof text - 1, &options, NULL, &module, NULL) == VYRE_OK);
    vy_fault_install();
    vy_fault_start_all(k);
    vyre_status status = vyre_program_resolve(vyre_module_program(module, 0), guard, NULL, &linked, NULL);
    CHILD_CLAIM(vy_fault_stop() && status == VYRE_NO_MEMORY && !linked);
    CHILD_CLAIM(vyre_program_resolve(vyre_module_program(module, 0), guard, NULL, &linked, NULL) == VYRE_OK);
    CHILD_CLAIM(vyre_program_function_count(linked) == 1);
}

static void without_memory_no_program_is_linked(void **state) {
    (void)state;
    static const size_t faults[] = {1, 2, 3, 5, 10, 40, 100};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        run_in_child(link_without_memory, faults[i]);
}

/* Whichever way an op is found, it is the same. */
static void load_in_parts(size_t unused) {
    (void)unused;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    const vyre_op_definition *parity = vyre_dialects_find(guard, "bits.parity_u32", 15);
    CHILD_CLAIM(parity && parity->body && vyre_dialects_lookup(guard, parity->number) == parity);
    CHILD_CLAIM(!vyre_dialects_find(guard, "bits.none_u32", 13) && !vyre_dialects_find(guard, "nobody.x", 8));
    CHILD_CLAIM(!vyre_dialects_find(guard, "x", 1000000) && !vyre_dialects_find(guard, NULL, 3));
    CHILD_CLAIM(!vyre_dialects_find(guard, "bits", 4) && !vyre_dialects_find(guard, "bit.parity_u32", 14));
    CHILD_CLAIM(vyre_op_find_id("int.isqrt_u32", 13) == 0 && vyre_op_find_id("math.exp_f32", 12) == 0);
    vyre_op_id isqrt;
    CHILD_CLAIM(vyre_op_intern("int.isqrt_u32", 13, &isqrt, NULL) == VYRE_OK);
    CHILD_CLAIM(vyre_dialects_lookup(guard, isqrt) && vyre_op_find_id("math.exp_f32", 12) == 0);
    size_t same = 0;
    for (size_t i = 0; i < vyre_dialects_count(guard); i++)
        same += vyre_dialects_at(guard, i) == parity;
    CHILD_CLAIM(same == 1 && vyre_op_find_id("math.exp_f32", 12) != 0);
    CHILD_CLAIM(vyre_dialects_find(guard, "bits.parity_u32", 15) == parity);
    CHILD_CLAIM(vyre_dialects_generation(guard) == 1 && vyre_dialects_verify(guard, NULL) == VYRE_OK);
    vyre_dialects_release(&guard);
}

static void a_lookup_loads_one_dialect_and_an_iteration_all(void **state) {
    (void)state;
    run_in_child(load_in_parts, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* First: their children need a registry nobody has touched. */
        cmocka_unit_test(without_memory_the_first_guard_is_empty_and_the_next_tries_again),
        cmocka_unit_test(without_memory_no_dialect_is_loaded_and_the_next_lookup_tries_again),
        cmocka_unit_test(without_memory_no_program_is_linked),
        cmocka_unit_test(a_lookup_loads_one_dialect_and_an_iteration_all),
        cmocka_unit_test(any_allocation_may_fail_while_a_module_joins),
        cmocka_unit_test(extern_ops_are_ingested),
        cmocka_unit_test(registering_again_installs_nothing),
        cmocka_unit_test(what_is_wrong_in_a_module_is_named_and_nothing_is_published),
        cmocka_unit_test(a_backend_that_is_refused_takes_its_dialects_along),
        cmocka_unit_test(a_descriptor_made_before_there_were_dialects_has_none),
        cmocka_unit_test(an_extern_op_joins_a_dialect_of_another_module),
        cmocka_unit_test(a_plugin_brings_its_dialects),
        cmocka_unit_test(a_plugin_with_code_that_is_no_ptx_is_refused),
    };
    return cmocka_run_group_tests_name("dialects of modules", tests, NULL, NULL);
}
