/* The registry: lookups of missing ids, immutable lists, the order of precedence, modules that join, modules that are
 * refused. */
#include "driver/registry/child.h"
#include "support/fault.h"
#include "vyre/registry.h"

static vyre_status create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    (void)ordinal, (void)out;
    return (host->fail)(error, VYRE_UNSUPPORTED, NULL, "not for use");
}

/* The records of this program: what an application writes. */
VYRE_REGISTER_BACKEND(alpha, .id = "test-alpha", .create = create);
VYRE_REGISTER_BACKEND(beta, .id = "test-beta", .create = create);
VYRE_REGISTER_BACKEND(gamma, .id = "test-gamma", .create = create);
VYRE_REGISTER_PRECEDENCE(beta, .id = "test-beta", .rank = 3);
VYRE_REGISTER_PRECEDENCE(gamma, .id = "test-gamma", .rank = 3);
VYRE_REGISTER_PRECEDENCE(absent, .id = "test-absent", .rank = 9);
VYRE_REGISTER_CAPABILITY(alpha, .id = "test-alpha", .dispatches = 1);
VYRE_REGISTER_CAPABILITY(beta, .id = "test-beta", .dispatches = 0);
VYRE_MODULE("the test");

/* Hand-made modules, one backend each unless a test states otherwise. */
typedef struct hand_made {
    vyre_module_descriptor module;
    vyre_backend_registration record;
    const vyre_backend_registration *records[1];
} hand_made;

static void make(hand_made *made, const char *name, const char *id) {
    made->record = (vyre_backend_registration){
        .struct_size = sizeof made->record, .abi = VYRE_BACKEND_ABI, .id = id, .create = create};
    made->records[0] = &made->record;
    made->module = (vyre_module_descriptor){.struct_size = sizeof made->module,
                                            .abi = VYRE_BACKEND_ABI,
                                            .name = name,
                                            .backends = made->records,
                                            .backends_end = made->records + 1};
}

static void assert_refused(const vyre_module_descriptor *module, vyre_status expected, const char *word) {
    vyre_error error = VYRE_ERROR_INIT;
    size_t before, after;
    const void *list = vyre_backends(&before);
    assert_int_equal(vyre_module_register(module, &error), expected);
    assert_int_equal(error.code, expected);
    if (!strstr(error.message, word))
        fail_msg("`%s` does not say `%s`", error.message, word);
    assert_true(strlen(error.fix) > 0);
    assert_ptr_equal(vyre_backends(&after), list);
    assert_int_equal(after, before);
    assert_int_equal(vyre_module_register(module, NULL), expected);
}

/* ---- the seeds' claims ---- */

static void missing_backend_queries_answer_absent(void **state) {
    (void)state;
    static const char *const missing[] = {"__vyre_missing_backend__", "", "no such thing", NULL};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        assert_int_equal(vyre_backend_dispatches(missing[i]), 0);
        assert_true(vyre_backend_precedence(missing[i]) == UINT32_MAX);
        assert_null(vyre_backend_find(missing[i]));
        assert_null(vyre_backend_owner(missing[i]));
    }
}

static void the_frozen_list_is_the_same_on_every_call_and_allocates_nothing(void **state) {
    (void)state;
    size_t count, again, sorted;
    const vyre_backend_registration *const *list = vyre_backends(&count);
    const vyre_backend_registration *const *by_precedence = vyre_backends_by_precedence(&sorted);
    assert_non_null(list);
    assert_int_equal(count, sorted);
    vy_fault_install();
    for (int i = 0; i < 100; i++) {
        assert_ptr_equal(vyre_backends(&again), list);
        assert_int_equal(again, count);
        assert_ptr_equal(vyre_backends_by_precedence(NULL), by_precedence);
        vyre_backend_find("test-alpha");
        vyre_backend_precedence("test-alpha");
    }
    assert_int_equal(vy_fault_allocations(), 0);
    vy_fault_remove();
}

static void lists_already_returned_never_change(void **state) {
    (void)state;
    size_t before, sorted_before, after;
    const vyre_backend_registration *const *old = vyre_backends(&before);
    const vyre_backend_registration *const *old_sorted = vyre_backends_by_precedence(&sorted_before);
    const vyre_backend_registration *copy[64], *sorted_copy[64];
    assert_true(before <= 64);
    memcpy(copy, old, before * sizeof *copy);
    memcpy(sorted_copy, old_sorted, before * sizeof *copy);
    static hand_made made;
    make(&made, "snapshot", "test-0-snapshot");
    assert_int_equal(vyre_module_register(&made.module, NULL), VYRE_OK);
    assert_ptr_not_equal(vyre_backends(&after), old);
    assert_int_equal(after, before + 1);
    assert_memory_equal(copy, old, before * sizeof *copy);
    assert_memory_equal(sorted_copy, old_sorted, before * sizeof *copy);
    assert_ptr_equal(vyre_backends(NULL)[before], &made.record);
}

/* ---- an application's records ---- */

static void an_applications_records_are_seen(void **state) {
    (void)state;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_this_module.backends_end - vyre_this_module.backends, 3);
    assert_int_equal(vyre_module_register(&vyre_this_module, &error), VYRE_OK);
    assert_non_null(vyre_backend_find("test-alpha"));
    assert_ptr_equal(vyre_backend_find("test-alpha")->create, create);
    assert_string_equal(vyre_backend_owner("test-beta"), "the test");
    assert_int_equal(vyre_backend_dispatches("test-alpha"), 1);
    assert_int_equal(vyre_backend_dispatches("test-beta"), 0);
    assert_int_equal(vyre_backend_dispatches("test-gamma"), 0);
    assert_int_equal(vyre_backend_precedence("test-beta"), 3);
    assert_true(vyre_backend_precedence("test-alpha") == UINT32_MAX);
}

static void a_rank_without_a_backend_is_an_answer_too(void **state) {
    (void)state;
    assert_int_equal(vyre_backend_precedence("test-absent"), 9);
    assert_null(vyre_backend_find("test-absent"));
    assert_null(vyre_backend_owner("test-absent"));
}

static void the_list_is_sorted_by_rank_then_id(void **state) {
    (void)state;
    size_t count;
    const vyre_backend_registration *const *list = vyre_backends_by_precedence(&count);
    assert_true(count >= 3);
    for (size_t i = 1; i < count; i++) {
        uint32_t left = vyre_backend_precedence(list[i - 1]->id), right = vyre_backend_precedence(list[i]->id);
        assert_true(left < right || (left == right && strcmp(list[i - 1]->id, list[i]->id) < 0));
    }
    size_t beta = count, gamma = count, alpha = count;
    for (size_t i = 0; i < count; i++) {
        beta = strcmp(list[i]->id, "test-beta") == 0 ? i : beta;
        gamma = strcmp(list[i]->id, "test-gamma") == 0 ? i : gamma;
        alpha = strcmp(list[i]->id, "test-alpha") == 0 ? i : alpha;
    }
    assert_true(beta < gamma && gamma < alpha && alpha < count);
}

static void registering_again_is_fine_and_publishes_nothing(void **state) {
    (void)state;
    const void *list = vyre_backends(NULL);
    vy_fault_install();
    assert_int_equal(vyre_module_register(&vyre_this_module, NULL), VYRE_OK);
    assert_int_equal(vy_fault_allocations(), 0);
    vy_fault_remove();
    assert_ptr_equal(vyre_backends(NULL), list);
}

static void a_module_may_rank_another_modules_backend(void **state) {
    (void)state;
    static const vyre_precedence_registration rank = {sizeof rank, "test-alpha", 1};
    static const vyre_precedence_registration *const ranks[] = {&rank};
    static const vyre_module_descriptor module = {.struct_size = sizeof module,
                                                  .abi = VYRE_BACKEND_ABI,
                                                  .name = "ranks",
                                                  .precedences = ranks,
                                                  .precedences_end = ranks + 1};
    assert_int_equal(vyre_module_register(&module, NULL), VYRE_OK);
    assert_int_equal(vyre_backend_precedence("test-alpha"), 1);
    assert_string_equal(vyre_backend_owner("test-alpha"), "the test");
    assert_string_equal(vyre_backends_by_precedence(NULL)[0]->id, "test-alpha");
}

/* ---- refusals ---- */

static void an_id_taken_twice_names_both_owners(void **state) {
    (void)state;
    static hand_made made;
    make(&made, "the thief", "test-alpha");
    assert_refused(&made.module, VYRE_DUPLICATE, "`the test`");
    assert_refused(&made.module, VYRE_DUPLICATE, "`the thief`");
    assert_string_equal(vyre_backend_owner("test-alpha"), "the test");
    vyre_error error;
    assert_int_equal(vyre_module_register(&made.module, &error), VYRE_DUPLICATE);
    assert_string_equal(error.subject, "test-alpha");
    assert_string_equal(error.first, "the test");
    assert_string_equal(error.second, "the thief");
}

/* ---- modules without records ---- */

static unsigned initialised;

static vyre_status count_init(const vyre_host *host, vyre_error *error) {
    (void)host, (void)error;
    initialised++;
    return VYRE_OK;
}

static vyre_status refuse_init(const vyre_host *host, vyre_error *error) {
    return (host->fail)(error, VYRE_CONFLICT, "do not", "init says no");
}

static void a_module_without_records_is_initialised(void **state) {
    (void)state;
    vyre_error error;
    vyre_module_descriptor module = {
        .struct_size = sizeof module, .abi = VYRE_BACKEND_ABI, .name = "no records", .init = count_init};
    assert_int_equal(vyre_module_register(&module, &error), VYRE_OK);
    assert_int_equal(initialised, 1);
    module.init = refuse_init;
    assert_int_equal(vyre_module_register(&module, &error), VYRE_CONFLICT);
    assert_non_null(strstr(error.message, "init says no"));
    assert_string_equal(error.fix, "do not");
    /* One with records is initialised until they are added. */
    static hand_made made;
    make(&made, "with a record", "test-initialised");
    made.module.init = count_init;
    for (int i = 0; i < 3; i++)
        assert_int_equal(vyre_module_register(&made.module, &error), VYRE_OK);
    assert_int_equal(initialised, 2);
}

static void a_second_rank_or_capability_is_a_duplicate_too(void **state) {
    (void)state;
    static const vyre_precedence_registration rank = {sizeof rank, "test-beta", 1};
    static const vyre_precedence_registration *const ranks[] = {&rank};
    static const vyre_capability_registration able = {sizeof able, "test-beta", 1};
    static const vyre_capability_registration *const ables[] = {&able};
    vyre_module_descriptor module = {.struct_size = sizeof module, .abi = VYRE_BACKEND_ABI, .name = "again"};
    module.precedences = ranks, module.precedences_end = ranks + 1;
    assert_refused(&module, VYRE_DUPLICATE, "precedence `test-beta`");
    module.precedences = module.precedences_end = NULL;
    module.capabilities = ables, module.capabilities_end = ables + 1;
    assert_refused(&module, VYRE_DUPLICATE, "capability `test-beta`");
    assert_int_equal(vyre_backend_dispatches("test-beta"), 0);
}

static void a_module_with_one_duplicate_adds_nothing(void **state) {
    (void)state;
    static const vyre_backend_registration fresh = {
        .struct_size = sizeof fresh, .abi = VYRE_BACKEND_ABI, .id = "test-fresh", .create = create};
    static const vyre_backend_registration same = {
        .struct_size = sizeof same, .abi = VYRE_BACKEND_ABI, .id = "test-fresh", .create = create};
    static const vyre_backend_registration *const records[] = {&fresh, &same};
    static const vyre_module_descriptor module = {.struct_size = sizeof module,
                                                  .abi = VYRE_BACKEND_ABI,
                                                  .name = "twice",
                                                  .backends = records,
                                                  .backends_end = records + 2};
    assert_refused(&module, VYRE_DUPLICATE, "test-fresh");
    assert_null(vyre_backend_find("test-fresh"));
}

static hand_made made;
/* An address that many bytes from where the records start, which the compiler cannot see through. */
static const vyre_backend_registration *const *outside(intptr_t bytes) {
    volatile uintptr_t address = (uintptr_t)made.records;
    return (const vyre_backend_registration *const *)(address + (uintptr_t)bytes);
}

/* Each row breaks one thing in a module that is otherwise fine. */
static void broken_descriptors_are_diagnosed(void **state) {
    (void)state;
    static char long_id[65];
    memset(long_id, 'x', 64);
#define BROKEN(change, status, word)                                                                                   \
    do {                                                                                                               \
        make(&made, "broken", "test-broken");                                                                          \
        change;                                                                                                        \
        assert_refused(&made.module, status, word);                                                                    \
    } while (0)
    BROKEN(made.module.struct_size = 0, VYRE_ABI_MISMATCH, "too short (0 bytes");
    BROKEN(made.module.struct_size = offsetof(vyre_module_descriptor, name), VYRE_ABI_MISMATCH, "the application");
    BROKEN(made.module.struct_size = offsetof(vyre_module_descriptor, capabilities_end), VYRE_ABI_MISMATCH,
           "too short");
    BROKEN(made.module.abi = 0, VYRE_ABI_MISMATCH, "too old");
    BROKEN(made.module.abi = VYRE_BACKEND_ABI + 1, VYRE_ABI_MISMATCH, "too new");
    BROKEN(made.module.name = NULL, VYRE_INVALID_ARGUMENT, "no name");
    BROKEN(made.module.name = "", VYRE_INVALID_ARGUMENT, "no name");
    BROKEN(made.module.backends = NULL, VYRE_INVALID_ARGUMENT, "bounds of the backend stream");
    BROKEN(made.module.backends_end = NULL, VYRE_INVALID_ARGUMENT, "bounds");
    BROKEN(made.module.backends_end = outside(-8), VYRE_INVALID_ARGUMENT, "bounds");
    BROKEN(made.module.backends_end = outside(3), VYRE_INVALID_ARGUMENT, "bounds");
    BROKEN(made.module.backends_end = outside(5000 * 8), VYRE_LIMIT, "5000");
    BROKEN(made.records[0] = NULL, VYRE_INVALID_ARGUMENT, "missing (NULL)");
    BROKEN(made.record.struct_size = 4, VYRE_ABI_MISMATCH, "too short (4 bytes");
    BROKEN(made.record.abi = 0, VYRE_ABI_MISMATCH, "backend `test-broken` of `broken` is too old");
    BROKEN(made.record.abi = 77, VYRE_ABI_MISMATCH, "version 77");
    BROKEN(made.record.id = NULL, VYRE_INVALID_ARGUMENT, "no id");
    BROKEN(made.record.id = "", VYRE_INVALID_ARGUMENT, "invalid id (``)");
    BROKEN(made.record.id = "Upper", VYRE_INVALID_ARGUMENT, "Upper");
    BROKEN(made.record.id = "cuda#1", VYRE_INVALID_ARGUMENT, "cuda#1");
    BROKEN(made.record.id = long_id, VYRE_INVALID_ARGUMENT, "xxx");
    BROKEN(made.record.create = NULL, VYRE_INVALID_ARGUMENT, "no constructor");
#undef BROKEN
    assert_null(vyre_backend_find("test-broken"));
    assert_refused(NULL, VYRE_INVALID_ARGUMENT, "NULL");
}

static vyre_status init_status;
static int init_calls;
static vyre_status init(const vyre_host *host, vyre_error *error) {
    init_calls++;
    assert_true(host->struct_size > 0 && host->abi == VYRE_BACKEND_ABI);
    return init_status == VYRE_TIMEOUT ? (host->fail)(error, VYRE_TIMEOUT, "wait", "the device sleeps") : init_status;
}

static void an_initialiser_that_fails_adds_nothing(void **state) {
    (void)state;
    static hand_made made;
    make(&made, "moody", "test-moody");
    made.module.init = init;
    init_status = VYRE_TIMEOUT;
    assert_refused(&made.module, VYRE_TIMEOUT, "the device sleeps");
    init_status = VYRE_IO; /* and reports nothing about it */
    assert_refused(&made.module, VYRE_IO, "operating system");
    init_status = (vyre_status)12345;
    assert_refused(&made.module, VYRE_CORRUPT, "12345");
    init_status = VYRE_OK;
    init_calls = 0;
    assert_int_equal(vyre_module_register(&made.module, NULL), VYRE_OK);
    assert_int_equal(vyre_module_register(&made.module, NULL), VYRE_OK);
    assert_int_equal(init_calls, 1);
    assert_non_null(vyre_backend_find("test-moody"));
}

/* ---- memory ---- */

static void first_call_without_memory(size_t k) {
    (void)k;
    size_t count = 7;
    vy_fault_install();
    vy_fault_start_all(1);
    CHILD_CLAIM(vyre_backends(&count) != NULL && count == 0);
    CHILD_CLAIM(vyre_backends_by_precedence(&count) != NULL && count == 0);
    CHILD_CLAIM(vyre_backend_find("test-alpha") == NULL);
    vyre_error error = VYRE_ERROR_INIT;
    CHILD_CLAIM(vyre_module_register(&vyre_this_module, &error) == VYRE_NO_MEMORY);
    CHILD_CLAIM(error.fix[0] != 0);
    CHILD_CLAIM(vy_fault_live_blocks() == 0);
    vy_fault_stop();
    CHILD_CLAIM(vyre_module_register(&vyre_this_module, &error) == VYRE_OK);
    CHILD_CLAIM(vyre_backend_find("test-alpha") != NULL);
    CHILD_CLAIM(vyre_backends(&count) != NULL && count >= 3);
}

static void without_memory_the_list_is_empty_and_the_next_call_tries_again(void **state) {
    (void)state;
    run_in_child(first_call_without_memory, 0);
}

static void kth_allocation_fails(size_t k) {
    vyre_error error = VYRE_ERROR_INIT;
    vy_fault_install();
    vy_fault_start(k);
    vyre_status status = vyre_module_register(&vyre_this_module, &error);
    int met = vy_fault_stop();
    CHILD_CLAIM(status == (met ? VYRE_NO_MEMORY : VYRE_OK));
    CHILD_CLAIM((vyre_backend_find("test-alpha") != NULL) == !met);
    CHILD_CLAIM(vyre_module_register(&vyre_this_module, &error) == VYRE_OK);
    CHILD_CLAIM(vyre_backend_find("test-alpha") != NULL);
    CHILD_CLAIM(vy_fault_mismatches() == 0);
    CHILD_CLAIM(vy_fault_live_blocks() == 2); /* libvyre's list, and the one with our records */
    CHILD_CLAIM(met == (k <= 2));
}

static void any_allocation_may_fail_and_a_second_try_succeeds(void **state) {
    (void)state;
    for (size_t k = 1; k <= 3; k++)
        run_in_child(kth_allocation_fails, k);
}

/* ---- the core set ---- */

static void the_core_set_names_each_construct_once(void **state) {
    (void)state;
    size_t count;
    const char *const *names = vyre_core_supported_ops(&count);
    assert_ptr_equal(vyre_core_supported_ops(NULL), names);
    int has_add = 0, has_reduce = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(names[i], names[j]);
        has_add |= strcmp(names[i], "add") == 0;
        has_reduce |= strcmp(names[i], "workgroup_reduce") == 0;
        assert_null(strstr(names[i], "ballot"));
    }
    assert_true(has_add && has_reduce && count > 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* Tests that need an unused registry come first: children inherit it. */
        cmocka_unit_test(without_memory_the_list_is_empty_and_the_next_call_tries_again),
        cmocka_unit_test(any_allocation_may_fail_and_a_second_try_succeeds),
        cmocka_unit_test(missing_backend_queries_answer_absent),
        cmocka_unit_test(the_frozen_list_is_the_same_on_every_call_and_allocates_nothing),
        cmocka_unit_test(lists_already_returned_never_change),
        cmocka_unit_test(an_applications_records_are_seen),
        cmocka_unit_test(a_rank_without_a_backend_is_an_answer_too),
        cmocka_unit_test(the_list_is_sorted_by_rank_then_id),
        cmocka_unit_test(registering_again_is_fine_and_publishes_nothing),
        cmocka_unit_test(an_id_taken_twice_names_both_owners),
        cmocka_unit_test(a_second_rank_or_capability_is_a_duplicate_too),
        cmocka_unit_test(a_module_with_one_duplicate_adds_nothing),
        cmocka_unit_test(broken_descriptors_are_diagnosed),
        cmocka_unit_test(an_initialiser_that_fails_adds_nothing),
        cmocka_unit_test(a_module_without_records_is_initialised),
        cmocka_unit_test(a_module_may_rank_another_modules_backend),
        cmocka_unit_test(the_core_set_names_each_construct_once),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
