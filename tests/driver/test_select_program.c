/* Selection by program, and probes that selection does not need, that hang, or that answer nonsense. */
#include "driver/fake.h"

#include "driver/registry.h"
#include "ir/op_tables.h"
#include "vyre/telemetry.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- backends ---- */

static const char *const adds[] = {"add", "load", "store", "global_id", NULL, "warp_teleport"};
static unsigned constructed[3], probed_last, released;
static vyre_backend_vtable reference_table, narrow_table;

static const char *const *list_adds(size_t *count) {
    *count = sizeof adds / sizeof *adds;
    return adds;
}

static const char *const *instance_adds(void *self, size_t *count) {
    (void)self;
    return list_adds(count);
}

static const char *const *instance_nothing(void *self, size_t *count) {
    (void)self;
    *count = 0;
    return adds;
}

static vyre_status create_registered(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out,
                                     vyre_error *error) {
    constructed[0]++;
    return vy_reference_create(host, ordinal, out, error);
}

static void count_release(void *self) {
    released++;
    reference_table.destroy(self);
}

/* Workgroups are flat. */
static uint64_t flat_capability(void *self, vyre_capability capability) {
    return capability == VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z ? 1 : reference_table.capability(self, capability);
}

/* A backend whose registration lists nothing, and whose instance lists little. */
static vyre_status create_narrow(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out,
                                 vyre_error *error) {
    constructed[1]++;
    vyre_status status = vy_reference_create(host, ordinal, out, error);
    if (status == VYRE_OK) {
        reference_table = *out->vtable;
        narrow_table = reference_table;
        narrow_table.supported_ops = instance_adds;
        narrow_table.capability = flat_capability;
        narrow_table.destroy = count_release;
        out->vtable = &narrow_table;
    }
    return status;
}

static vyre_status create_empty(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out,
                                vyre_error *error) {
    vyre_status status = create_narrow(host, ordinal, out, error);
    narrow_table.supported_ops = instance_nothing;
    return status;
}

/* A backend whose instance lists the ops of a test. */
static struct {
    const char *const *ops;
    size_t count;
    int is_left_out, has_subgroups;
} given;

static const char *const *instance_given(void *self, size_t *count) {
    (void)self;
    *count = given.count;
    return given.ops;
}

static uint64_t given_capability(void *self, vyre_capability capability) {
    return capability == VYRE_CAPABILITY_SUBGROUP_OPS ? (uint64_t)given.has_subgroups
                                                      : reference_table.capability(self, capability);
}

static vyre_status create_listing(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out,
                                  vyre_error *error) {
    vyre_status status = create_narrow(host, ordinal, out, error);
    narrow_table.supported_ops = given.is_left_out ? NULL : instance_given;
    narrow_table.capability = given_capability;
    return status;
}

static void probe_gpu(const vyre_host *host, vyre_probe *out) {
    (void)host;
    out->device_class = VYRE_DEVICE_GPU;
}

static void probe_last(const vyre_host *host, vyre_probe *out) {
    probe_gpu(host, out);
    probed_last++;
}

static void probe_nonsense(const vyre_host *host, vyre_probe *out) {
    (void)host;
    memset(out, 'r', sizeof *out);
}

static void probe_hangs(const vyre_host *host, vyre_probe *out) {
    (void)host, (void)out;
    for (;;)
        pause();
}

#define BACKEND(name, order, make, list, probe_of)                                                                     \
    VYRE_REGISTER_BACKEND(name, .id = #name, .create = make, .supported_ops = list, .probe = probe_of);                \
    VYRE_REGISTER_PRECEDENCE(name, .id = #name, .rank = order);                                                        \
    VYRE_REGISTER_CAPABILITY(name, .id = #name, .dispatches = 1)
BACKEND(registered, 1, create_registered, list_adds, probe_gpu);
BACKEND(narrow, 2, create_narrow, NULL, probe_gpu);
BACKEND(empty, 3, create_empty, NULL, probe_gpu);
BACKEND(nonsense, 4, vy_reference_create, NULL, probe_nonsense);
BACKEND(wide, 5, vy_reference_create, NULL, probe_gpu);
BACKEND(listing, 1500, create_listing, NULL, probe_gpu);
BACKEND(last, 2000, vy_reference_create, NULL, probe_last);
VYRE_MODULE_AS(test_module, "tests");

static const vyre_backend_registration hanging = {
    .struct_size = sizeof hanging, .abi = VYRE_BACKEND_ABI, .id = "hanging", .probe = probe_hangs};

static int setup(void **state) {
    (void)state;
    unsetenv("VYRE_BACKEND");
    unsetenv("VYRE_PLUGINS");
    memset(constructed, 0, sizeof constructed);
    probed_last = released = 0;
    return vyre_module_register(&test_module, NULL);
}

static vyre_candidate candidate(const vyre_selection *selection, const char *id) {
    vyre_candidate c;
    for (size_t i = 0; vyre_selection_get(selection, i, &c); i++)
        if (strcmp(c.id, id) == 0)
            return c;
    fail_msg("no candidate `%s`", id);
    return c;
}

static vyre_program *adding(void) {
    return vy_test_parse("program adding {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n"
                         " let i = global_id.x\n x[i] = x[i] + i\n}\n");
}

static vyre_program *multiplying(void) {
    return vy_test_parse("program multiplying {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n"
                         " let i = global_id.x\n x[i] = x[i] * i\n}\n");
}

/* ---- selection by program ---- */

static void a_backend_that_does_not_list_an_op_of_the_program_is_not_chosen(void **state) {
    (void)state;
    vyre_program *program = multiplying();
    vyre_policy policy = {.program = program};
    vyre_backend *backend;
    vyre_selection *report;
    vyre_error error;
    assert_int_equal(vyre_select(&policy, &backend, &report, &error), VYRE_OK);
    assert_string_equal(vyre_backend_id(backend), "wide");
    /* The registration's list rules it out before it is constructed, the instance's list afterwards. */
    assert_int_equal(candidate(report, "registered").verdict, VYRE_VERDICT_UNSUPPORTED);
    assert_int_equal(constructed[0], 0);
    assert_int_equal(candidate(report, "narrow").verdict, VYRE_VERDICT_UNSUPPORTED);
    assert_int_equal(candidate(report, "empty").verdict, VYRE_VERDICT_UNSUPPORTED);
    assert_int_equal(constructed[1], 2);
    assert_int_equal(released, 2);
    assert_non_null(strstr(candidate(report, "registered").reason, "`mul`"));
    assert_non_null(strstr(candidate(report, "registered").reason, "`multiplying`"));
    assert_non_null(strstr(candidate(report, "narrow").reason, "`mul`"));
    assert_true(candidate(report, "narrow").fix[0]);
    vyre_selection_free(report);
    vyre_backend_release(backend);
    vyre_program_release(program);
}

static void a_backend_that_lists_every_op_of_the_program_is_chosen(void **state) {
    (void)state;
    vyre_program *program = adding();
    vyre_policy policy = {.program = program};
    vyre_backend *backend;
    assert_int_equal(vyre_select(&policy, &backend, NULL, NULL), VYRE_OK);
    assert_string_equal(vyre_backend_id(backend), "registered");
    vyre_backend_release(backend);
    vyre_program_release(program);
}

static void limits_of_the_device_rule_a_backend_out(void **state) {
    (void)state;
    vyre_program *program =
        vy_test_parse("program p {\n buffer x : u32 read_write\n workgroup 2, 2, 2\n x[0] = 1\n}\n");
    vyre_policy policy = {.only = "narrow", .program = program};
    vyre_backend *backend;
    vyre_selection *report;
    vyre_error error;
    assert_int_equal(vyre_select(&policy, &backend, &report, &error), VYRE_NOT_FOUND);
    assert_int_equal(candidate(report, "narrow").verdict, VYRE_VERDICT_UNSUPPORTED);
    assert_non_null(strstr(candidate(report, "narrow").reason, "workgroup size in z (2)"));
    vyre_selection_free(report);
    vyre_program_release(program);
}

/* ---- compiling and dispatching ---- */

static void an_op_that_the_instance_does_not_list_is_refused(void **state) {
    (void)state;
    vyre_program *program = multiplying();
    uint32_t data[4] = {1, 2, 3, 4};
    vyre_span input = {data, sizeof data};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_pipeline *pipeline = NULL;
    vyre_backend *backend;
    vyre_error error;
    assert_int_equal(vyre_acquire("narrow", &backend, &error), VYRE_OK);
    assert_int_equal(vyre_compile(backend, program, NULL, &pipeline, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "backend `narrow` does not run `mul`, which program `multiplying` uses"));
    assert_true(error.fix[0]);
    assert_int_equal(vyre_backend_dispatch(backend, program, &arguments, NULL, &outputs, NULL, &error),
                     VYRE_UNSUPPORTED);
    vyre_program_release(program);
    program = adding();
    assert_int_equal(vyre_backend_dispatch(backend, program, &arguments, NULL, &outputs, NULL, &error), VYRE_OK);
    vyre_outputs_free(&outputs);
    vyre_program_release(program);
    vyre_backend_release(backend);
}

/* The list counts as returned: unknown names and NULL entries are skipped, an empty list runs nothing, and only a NULL
 * list is replaced by the default. */
static void the_list_of_an_instance_is_read_as_it_is(void **state) {
    (void)state;
    size_t core_count;
    const char *const *core = vyre_core_supported_ops(&core_count);
    static const char *const few[] = {"add", "load", "store", "len"}, *const unknown[] = {"warp_teleport", "mul",
                                                                                          "add",           "load",
                                                                                          "store",         "global_id"};
    static const char *const with_null[] = {"add", NULL, "mul", "load", "store", "global_id"};
    vyre_program *arithmetic =
        vy_test_parse("program p {\n buffer x : u32 read\n buffer y : u32 write count len(x)\n workgroup 4\n"
                      " grid over x\n let i = global_id.x\n y[i] = x[i] * 3 + 1\n}\n");
    vyre_program *subgroups =
        vy_test_parse("program q {\n buffer y : u32 read_write\n workgroup 32\n grid over y\n let i = global_id.x\n"
                      " let s = subgroup_reduce_add<32>(y[i])\n y[i] = s\n}\n");
    const struct {
        const char *const *ops;
        size_t count;
        int is_left_out, has_subgroups;
        vyre_program *program;
        const char *missing;
    } rows[] = {
        {core, core_count, 0, 0, arithmetic, NULL},
        {few, 0, 0, 0, arithmetic, "add"},
        {NULL, 5, 0, 0, arithmetic, NULL},
        {few, 4, 0, 0, arithmetic, "mul"},
        {unknown, 6, 0, 0, arithmetic, NULL},
        {with_null, 6, 0, 0, arithmetic, NULL},
        {core, core_count, 0, 1, subgroups, "subgroup_reduce"},
        {NULL, 0, 1, 0, subgroups, "subgroup_reduce"},
        {NULL, 0, 1, 1, subgroups, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t data[32] = {0};
        vyre_span input = {data, sizeof data};
        vyre_arguments arguments = {.inputs = &input, .input_count = 1};
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_pipeline *pipeline = NULL;
        vyre_backend *backend;
        vyre_error error = VYRE_ERROR_INIT;
        given.ops = rows[i].ops;
        given.count = rows[i].count;
        given.is_left_out = rows[i].is_left_out;
        given.has_subgroups = rows[i].has_subgroups;
        assert_int_equal(vyre_acquire("listing", &backend, &error), VYRE_OK);
        vyre_status expected = rows[i].missing ? VYRE_UNSUPPORTED : VYRE_OK;
        vyre_status dispatched =
            vyre_backend_dispatch(backend, rows[i].program, &arguments, NULL, &outputs, NULL, &error);
        vyre_status compiled = vyre_compile(backend, rows[i].program, NULL, &pipeline, &error);
        char wanted[64];
        snprintf(wanted, sizeof wanted, "does not run `%s`", rows[i].missing ? rows[i].missing : "");
        if (dispatched != expected || compiled != expected || (expected != VYRE_OK && !strstr(error.message, wanted)))
            fail_msg("row %zu: %s, %s: %s", i, vyre_status_name(dispatched), vyre_status_name(compiled), error.message);
        vyre_pipeline_release(pipeline);
        vyre_outputs_free(&outputs);
        vyre_backend_release(backend);
    }
    vyre_program_release(arithmetic);
    vyre_program_release(subgroups);
}

/* What a backend that lists nothing runs depends on its capabilities. */
static void subgroup_ops_need_the_capability(void **state) {
    (void)state;
    vyre_program *program =
        vy_test_parse("program p {\n buffer y : u32 read_write\n workgroup 32\n grid over y\n let i = global_id.x\n"
                      " let s = subgroup_reduce_add<32>(y[i])\n y[i] = s\n}\n");
    for (int has = 0; has < 2; has++) {
        size_t count;
        const char *const *names = vy_default_ops(0, has, &count);
        vy_op_set offered = vy_op_set_of_names(names, count), needed = vy_program_ops(program);
        const char *missing = vy_op_set_missing(&needed, &offered);
        if (has)
            assert_null(missing);
        else
            assert_string_equal(missing, "subgroup_reduce");
    }
    vyre_program_release(program);
}

static void built_in_backends_list_what_their_capabilities_say(void **state) {
    static const char *const ids[] = {"reference", "cpu-ref", "cpu"};
    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        vyre_backend *backend;
        size_t count, registered;
        if (vyre_acquire(ids[i], &backend, NULL) != VYRE_OK)
            continue; /* no native code for this machine */
        const char *const *ops = vyre_backend_supported_ops(backend, &count);
        vy_op_set own = vy_op_set_of_names(ops, count);
        ops = vyre_backend_find(ids[i])->supported_ops(&registered);
        vy_op_set listed = vy_op_set_of_names(ops, registered);
        assert_memory_equal(&own, &listed, sizeof own);
        assert_int_equal(own.words[VY_OP_SET_GRID_BARRIER / 64] >> VY_OP_SET_GRID_BARRIER % 64 & 1,
                         vyre_backend_capability(backend, VYRE_CAPABILITY_GRID_SYNC) != 0);
        assert_int_equal(own.words[VY_OP_SET_SUBGROUP / 64] >> VY_OP_SET_SUBGROUP % 64 & 1,
                         vyre_backend_capability(backend, VYRE_CAPABILITY_SUBGROUP_OPS) != 0);
        vyre_backend_release(backend);
    }
}

/* ---- probes ---- */

static void backends_that_cannot_change_the_choice_are_not_probed(void **state) {
    (void)state;
    vyre_policy policy = {.only = "wide"};
    vyre_backend *backend;
    vyre_selection *report;
    assert_int_equal(vyre_select(&policy, &backend, &report, NULL), VYRE_OK);
    assert_int_equal(candidate(report, "last").verdict, VYRE_VERDICT_NOT_PROBED);
    assert_int_equal(candidate(report, "nonsense").verdict, VYRE_VERDICT_NOT_PROBED);
    vyre_selection_free(report);
    vyre_backend_release(backend);
    assert_int_equal(vyre_select(NULL, &backend, &report, NULL), VYRE_OK);
    assert_string_equal(vyre_backend_id(backend), "registered");
    assert_int_equal(candidate(report, "last").verdict, VYRE_VERDICT_NOT_PROBED);
    assert_int_equal(candidate(report, "last").device_class, VYRE_DEVICE_UNKNOWN);
    assert_int_equal(probed_last, 0);
    vyre_selection_free(report);
    vyre_backend_release(backend);
    policy = (vyre_policy){.probe_all = 1};
    assert_int_equal(vyre_select(&policy, &backend, &report, NULL), VYRE_OK);
    assert_int_equal(candidate(report, "last").verdict, VYRE_VERDICT_NOT_NEEDED);
    assert_int_equal(candidate(report, "last").device_class, VYRE_DEVICE_GPU);
    assert_int_equal(probed_last, 1);
    vyre_selection_free(report);
    vyre_backend_release(backend);
}

static unsigned logged;
static void count_line(void *user, int level, const char *source, const char *message) {
    (void)user, (void)level;
    if (strcmp(source, "nonsense") == 0 && strstr(message, "answer"))
        logged++;
}

static void an_answer_that_does_not_exist_is_refused_and_logged(void **state) {
    (void)state;
    vyre_program *program = multiplying();
    vyre_policy policy = {.program = program};
    vyre_backend *backend;
    vyre_selection *report;
    logged = 0;
    vyre_log_set_sink(count_line, NULL);
    assert_int_equal(vyre_select(&policy, &backend, &report, NULL), VYRE_OK);
    vyre_log_set_sink(NULL, NULL);
    assert_int_equal(candidate(report, "nonsense").verdict, VYRE_VERDICT_FAILED);
    assert_int_equal(logged, 1);
    vyre_selection_free(report);
    vyre_backend_release(backend);
    vyre_program_release(program);
}

/* In a child: its thread never ends. */
static void a_probe_that_hangs_is_abandoned(void **state) {
    (void)state;
    int ended;
    pid_t pid = fork();
    if (pid == 0) {
        vyre_probe probe;
        alarm(60);
        if (vy_probe_run(&hanging, 20000000, &probe) != VY_PROBE_TIMED_OUT ||
            vy_probe_run(&hanging, UINT64_C(1) << 62, &probe) != VY_PROBE_STILL_RUNNING)
            _exit(1);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_int_equal(ended, 0);
}

static void a_named_backend_that_lacks_an_op_is_the_only_one_reported(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse("program p {\n buffer x : u32 read_write\n workgroup 1\n x[0] = 1\n}\n");
    vyre_policy policy = {.only = "empty", .program = program};
    vyre_backend *backend;
    vyre_error error;
    assert_int_equal(vyre_select(&policy, &backend, NULL, &error), VYRE_NOT_FOUND);
    assert_memory_equal(error.message, "backend `empty` is not usable: ", 31);
    assert_non_null(strstr(error.message, "does not run `"));
    assert_null(strstr(error.message, "was requested"));
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_backend_that_does_not_list_an_op_of_the_program_is_not_chosen, setup),
        cmocka_unit_test_setup(a_backend_that_lists_every_op_of_the_program_is_chosen, setup),
        cmocka_unit_test_setup(limits_of_the_device_rule_a_backend_out, setup),
        cmocka_unit_test_setup(an_op_that_the_instance_does_not_list_is_refused, setup),
        cmocka_unit_test_setup(the_list_of_an_instance_is_read_as_it_is, setup),
        cmocka_unit_test_setup(subgroup_ops_need_the_capability, setup),
        cmocka_unit_test_setup(built_in_backends_list_what_their_capabilities_say, setup),
        cmocka_unit_test_setup(backends_that_cannot_change_the_choice_are_not_probed, setup),
        cmocka_unit_test_setup(an_answer_that_does_not_exist_is_refused_and_logged, setup),
        cmocka_unit_test_setup(a_probe_that_hangs_is_abandoned, setup),
        cmocka_unit_test_setup(a_named_backend_that_lacks_an_op_is_the_only_one_reported, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
