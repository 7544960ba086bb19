/* Acquiring by name and selecting with reasons. The backends registered here are the reference under other names, with
 * probes that return what a test sets. */
#include "driver/fake.h"

#include "vyre/telemetry.h"

static unsigned created[8];
static int busy = 1, broken = 1;

enum { NEVER, BUSY, BROKEN, SOFTWARE, NATIVE, EMITTER, GOOD, LATER };

static vyre_status create(int which, const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out,
                          vyre_error *error) {
    created[which]++;
    if (which == BROKEN && broken)
        return (host->fail)(error, VYRE_NO_DEVICE_MEMORY, "close other programs", "the device has no memory left");
    return vy_reference_create(host, ordinal, out, error);
}
#define CREATOR(which)                                                                                                 \
    static vyre_status create_##which(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out,             \
                                      vyre_error *error) {                                                             \
        return create(which, host, ordinal, out, error);                                                               \
    }
CREATOR(NEVER)
CREATOR(BUSY)
CREATOR(BROKEN)
CREATOR(SOFTWARE)
CREATOR(NATIVE)
CREATOR(EMITTER)
CREATOR(GOOD)
CREATOR(LATER)

static void probe_gpu(const vyre_host *host, vyre_probe *out) {
    (void)host;
    out->device_class = VYRE_DEVICE_GPU;
    out->device_count = 2;
}

static void probe_never(const vyre_host *host, vyre_probe *out) {
    probe_gpu(host, out);
    out->answer = VYRE_PROBE_NEVER;
    snprintf(out->reason, sizeof out->reason, "no driver is installed");
    snprintf(out->fix, sizeof out->fix, "install libnever");
}

static void probe_busy(const vyre_host *host, vyre_probe *out) {
    probe_gpu(host, out);
    out->answer = busy ? VYRE_PROBE_NOT_NOW : VYRE_PROBE_FOR_NOW;
    snprintf(out->reason, sizeof out->reason, "others keep it busy");
    snprintf(out->fix, sizeof out->fix, "ask them to wait");
}

static void probe_software(const vyre_host *host, vyre_probe *out) {
    (void)host;
    out->device_class = VYRE_DEVICE_SOFTWARE;
}

static void probe_native(const vyre_host *host, vyre_probe *out) {
    (void)host;
    out->device_class = VYRE_DEVICE_CPU;
}

#define BACKEND(name, text, order, which, probe_of, runs)                                                              \
    VYRE_REGISTER_BACKEND(name, .id = text, .create = create_##which, .probe = probe_of);                              \
    VYRE_REGISTER_PRECEDENCE(name, .id = text, .rank = order);                                                         \
    VYRE_REGISTER_CAPABILITY(name, .id = text, .dispatches = runs)
BACKEND(never, "never", 1, NEVER, probe_never, 1);
BACKEND(busy, "busy", 2, BUSY, probe_busy, 1);
BACKEND(broken, "broken", 3, BROKEN, probe_gpu, 1);
BACKEND(software, "software", 4, SOFTWARE, probe_software, 1);
BACKEND(native, "native", 5, NATIVE, probe_native, 1);
BACKEND(emitter, "emitter", 6, EMITTER, probe_gpu, 0);
BACKEND(good, "good", 7, GOOD, NULL, 1);
BACKEND(later, "later", 8, LATER, probe_gpu, 1);
VYRE_MODULE_AS(test_module, "tests");

static int setup(void **state) {
    (void)state;
    unsetenv("VYRE_BACKEND");
    unsetenv("VYRE_PLUGINS");
    busy = broken = 1;
    memset(created, 0, sizeof created);
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

static void the_first_that_passes_is_chosen_and_losers_are_not_constructed(void **state) {
    (void)state;
    vyre_backend *backend;
    vyre_selection *report;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_select(NULL, &backend, &report, &error), VYRE_OK);
    static const struct {
        const char *id;
        vyre_verdict verdict;
        unsigned created;
        const char *reason;
    } rows[] = {{"never", VYRE_VERDICT_PROBE_NEVER, 0, "no driver is installed"},
                {"busy", VYRE_VERDICT_PROBE_NOT_NOW, 0, "busy"},
                {"broken", VYRE_VERDICT_FAILED, 1, "the device has no memory left"},
                {"software", VYRE_VERDICT_REFUSED_BY_POLICY, 0, "software"},
                {"native", VYRE_VERDICT_REFUSED_BY_POLICY, 0, "CPU"},
                {"emitter", VYRE_VERDICT_NO_DISPATCH, 0, "emits"},
                {"good", VYRE_VERDICT_CHOSEN, 1, ""},
                {"later", VYRE_VERDICT_NOT_PROBED, 0, "was chosen before"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vyre_candidate c = candidate(report, rows[i].id);
        assert_int_equal(c.verdict, rows[i].verdict);
        assert_int_equal(created[i], rows[i].created);
        assert_non_null(strstr(c.reason, rows[i].reason));
        assert_string_equal(c.owner, "tests");
        if (c.verdict != VYRE_VERDICT_CHOSEN && c.verdict != VYRE_VERDICT_NOT_PROBED)
            assert_true(c.fix[0]);
    }
    assert_int_equal(candidate(report, "reference").verdict, VYRE_VERDICT_NOT_PROBED);
    assert_int_equal(candidate(report, "cpu-ref").verdict, VYRE_VERDICT_NOT_PROBED);
    vyre_candidate first;
    assert_true(vyre_selection_get(report, 0, &first));
    assert_string_equal(first.id, "never"); /* in order of precedence */
    assert_int_equal(first.device_count, 2);
    vyre_selection_free(report);
    vyre_backend_release(backend);
}

static void a_probe_is_asked_again(void **state) {
    (void)state;
    vyre_backend *backend;
    vyre_selection *report;
    busy = 0;
    assert_int_equal(vyre_select(NULL, &backend, &report, NULL), VYRE_OK);
    assert_int_equal(candidate(report, "busy").verdict, VYRE_VERDICT_CHOSEN);
    assert_string_equal(candidate(report, "busy").reason, "others keep it busy");
    assert_string_equal(candidate(report, "busy").fix, "ask them to wait");
    vyre_selection_free(report);
    vyre_backend_release(backend);
}

static void software_and_cpu_are_chosen_when_allowed(void **state) {
    (void)state;
    vyre_backend *backend;
    vyre_selection *report;
    vyre_policy policy = {.allow_software = 1};
    assert_int_equal(vyre_select(&policy, &backend, &report, NULL), VYRE_OK);
    assert_int_equal(candidate(report, "software").verdict, VYRE_VERDICT_CHOSEN);
    vyre_selection_free(report);
    vyre_backend_release(backend);
    policy = (vyre_policy){.allow_cpu = 1};
    assert_int_equal(vyre_select(&policy, &backend, &report, NULL), VYRE_OK);
    assert_int_equal(candidate(report, "native").verdict, VYRE_VERDICT_CHOSEN);
    vyre_selection_free(report);
    vyre_backend_release(backend);
}

static void who_is_named_is_chosen_whatever_it_runs_on(void **state) {
    (void)state;
    vyre_backend *backend;
    vyre_selection *report;
    vyre_policy policy = {.only = "reference"};
    assert_int_equal(vyre_select(&policy, &backend, &report, NULL), VYRE_OK);
    assert_string_equal(vyre_backend_id(backend), "reference");
    assert_int_equal(candidate(report, "good").verdict, VYRE_VERDICT_NOT_PROBED);
    assert_int_equal(created[GOOD], 0);
    vyre_selection_free(report);
    vyre_backend_release(backend);
    setenv("VYRE_BACKEND", "cpu-ref", 1);
    assert_int_equal(vyre_select(NULL, &backend, NULL, NULL), VYRE_OK);
    assert_string_equal(vyre_backend_id(backend), "cpu-ref");
    vyre_backend_release(backend);
    policy.only = "reference"; /* the policy overrides VYRE_BACKEND */
    assert_int_equal(vyre_select(&policy, &backend, NULL, NULL), VYRE_OK);
    assert_string_equal(vyre_backend_id(backend), "reference");
    vyre_backend_release(backend);
}

static void nothing_usable_says_what_was_refused(void **state) {
    (void)state;
    vyre_backend *backend;
    vyre_selection *report;
    vyre_error error;
    vyre_policy policy = {.only = "broken"};
    assert_int_equal(vyre_select(&policy, &backend, &report, &error), VYRE_NOT_FOUND);
    assert_null(backend);
    assert_non_null(report);
    assert_string_equal(error.message, "backend `broken` is not usable: the device has no memory left");
    assert_string_equal(error.fix, "close other programs");
    assert_int_equal(candidate(report, "broken").verdict, VYRE_VERDICT_FAILED);
    assert_string_equal(candidate(report, "broken").fix, "close other programs");
    vyre_selection_free(report);
    policy.only = "refrence";
    assert_int_equal(vyre_select(&policy, &backend, NULL, &error), VYRE_NOT_FOUND);
    assert_string_equal(error.fix, "did you mean `reference`?");
}

/* A named backend that fails returns its own reason and fix, and no other backend is listed. */
static void a_named_backend_returns_its_own_fix(void **state) {
    static const struct {
        const char *name, *message, *fix;
    } rows[] = {
        {"never", "backend `never` is not usable: no driver is installed", "install libnever"},
        {"busy", "backend `busy` is not usable: others keep it busy", "ask them to wait"},
        {"broken", "backend `broken` is not usable: the device has no memory left", "close other programs"},
        {"emitter", "backend `emitter` is not usable: it emits code and does not run it", "use it with `emit`"},
        {"reference#7", "backend `reference#7` is not usable: there is one device of `reference`", "reference"},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) { /* by the policy, then by the environment */
        const int is_policy = i < sizeof rows / sizeof *rows;
        const size_t row = i % (sizeof rows / sizeof *rows);
        vyre_policy policy = VYRE_POLICY_DEFAULT;
        vyre_backend *backend;
        vyre_error error;
        policy.only = is_policy ? rows[row].name : NULL;
        setenv("VYRE_BACKEND", is_policy ? "good" : rows[row].name, 1);
        assert_int_equal(vyre_select(&policy, &backend, NULL, &error), VYRE_NOT_FOUND);
        assert_memory_equal(error.message, rows[row].message, strlen(rows[row].message));
        assert_non_null(strstr(error.fix, rows[row].fix));
        assert_null(strstr(error.message, "was requested"));
    }
    unsetenv("VYRE_BACKEND");
}

/* A name that cannot be one is not the same as none: nothing else is chosen instead. */
static unsigned failures;
static void count_failures(void *user, int level, const char *source, const char *message) {
    (void)user;
    failures += level == 1 && strcmp(source, "broken") == 0 && strstr(message, "the device has no memory left");
}

static void a_candidate_that_fails_is_logged(void **state) {
    (void)state;
    vyre_backend *backend;
    vyre_policy policy = {.only = "broken"};
    failures = 0;
    vyre_log_set_sink(count_failures, NULL);
    assert_int_equal(vyre_select(&policy, &backend, NULL, NULL), VYRE_NOT_FOUND);
    vyre_log_set_sink(NULL, NULL);
    assert_int_equal(failures, 1);
}

static void who_asks_for_a_name_that_is_none_gets_nothing(void **state) {
    static const char *const names[] = {"#0", "#1",
                                        "an-id-that-is-longer-than-an-id-may-be-so-that-no-backend-can-have-it"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        vyre_backend *backend;
        vyre_error error;
        setenv("VYRE_BACKEND", names[i], 1);
        assert_int_equal(vyre_select(NULL, &backend, NULL, &error), VYRE_NOT_FOUND);
        assert_null(backend);
        assert_non_null(strstr(error.message, names[i]));
    }
    unsetenv("VYRE_BACKEND");
}

static void a_missing_id_names_what_there_is(void **state) {
    (void)state;
    vyre_backend *backend = (vyre_backend *)state;
    vyre_error error;
    assert_int_equal(vyre_acquire("__vyre_missing_backend__", &backend, &error), VYRE_NOT_FOUND);
    assert_null(backend);
    assert_non_null(strstr(error.message, "is not registered (registered: "));
    assert_non_null(strstr(error.message, "reference"));
    assert_true(error.fix[0]);
    assert_int_equal(vyre_acquire("goood#1", &backend, &error), VYRE_NOT_FOUND);
    assert_string_equal(error.fix, "did you mean `good`?");
    assert_int_equal(vyre_acquire(NULL, &backend, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_acquire("", &backend, &error), VYRE_NOT_FOUND);
}

static void a_device_is_named_by_number(void **state) {
    (void)state;
    vyre_backend *backend;
    vyre_error error;
    static const char *const wrong[] = {"reference#",   "reference#x",          "reference#-1",
                                        "reference#1x", "reference#4294967296", "reference#99999999999999999999999"};
    assert_int_equal(vyre_acquire("reference#0", &backend, &error), VYRE_OK);
    vyre_backend_release(backend);
    assert_int_equal(vyre_acquire("reference#1", &backend, &error), VYRE_NOT_FOUND);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(vyre_acquire(wrong[i], &backend, &error), VYRE_INVALID_ARGUMENT);
}

static void a_failed_constructor_is_named(void **state) {
    (void)state;
    vyre_backend *backend;
    vyre_error error;
    assert_int_equal(vyre_acquire("broken", &backend, &error), VYRE_NO_DEVICE_MEMORY);
    assert_string_equal(error.where, "backend broken");
    broken = 0;
    assert_int_equal(vyre_acquire("broken", &backend, &error), VYRE_OK);
    vyre_backend_release(backend);
}

static void a_report_is_shown_as_text_and_json(void **state) {
    (void)state;
    vyre_backend *backend;
    vyre_selection *report;
    vyre_bytes text = VYRE_BYTES_INIT;
    assert_int_equal(vyre_select(NULL, &backend, &report, NULL), VYRE_OK);
    assert_int_equal(vyre_selection_render(report, 0, &text, NULL), VYRE_OK);
    assert_non_null(strstr(
        text.data, "never        never        gpu  no driver is installed\n             Fix: install libnever\n"));
    assert_non_null(strstr(text.data, "good         chosen"));
    assert_int_equal(vyre_selection_render(report, 1, &text, NULL), VYRE_OK);
    assert_non_null(strstr(
        text.data,
        "{\"id\":\"never\",\"owner\":\"tests\",\"verdict\":\"never\",\"class\":\"gpu\",\"reason\":\"no driver is "
        "installed\",\"fix\":\"install libnever\",\"rank\":1,\"devices\":2}"));
    assert_int_equal(((char *)text.data)[0], '[');
    assert_int_equal(((char *)text.data)[text.size - 1], ']');
    vyre_bytes_free(&text);
    vyre_selection_free(report);
    vyre_backend_release(backend);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_first_that_passes_is_chosen_and_losers_are_not_constructed, setup),
        cmocka_unit_test_setup(a_probe_is_asked_again, setup),
        cmocka_unit_test_setup(software_and_cpu_are_chosen_when_allowed, setup),
        cmocka_unit_test_setup(who_is_named_is_chosen_whatever_it_runs_on, setup),
        cmocka_unit_test_setup(nothing_usable_says_what_was_refused, setup),
        cmocka_unit_test_setup(a_named_backend_returns_its_own_fix, setup),
        cmocka_unit_test_setup(a_candidate_that_fails_is_logged, setup),
        cmocka_unit_test_setup(who_asks_for_a_name_that_is_none_gets_nothing, setup),
        cmocka_unit_test_setup(a_missing_id_names_what_there_is, setup),
        cmocka_unit_test_setup(a_device_is_named_by_number, setup),
        cmocka_unit_test_setup(a_failed_constructor_is_named, setup),
        cmocka_unit_test_setup(a_report_is_shown_as_text_and_json, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
