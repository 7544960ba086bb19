/* The k-th allocation fails: acquiring, selecting, dispatching in every form and resident memory fail cleanly. */
#include "driver/fake.h"
#include "support/fault.h"

#include "vyre/telemetry.h"

static vyre_status acquire(void *user) {
    vyre_backend *backend;
    (void)user;
    vyre_status status = vyre_acquire("reference", &backend, NULL);
    vyre_backend_release(backend);
    return status;
}

static vyre_status choose(void *user) {
    vyre_policy policy = {.only = "reference"};
    vyre_selection *report;
    vyre_backend *backend;
    vyre_bytes text = VYRE_BYTES_INIT;
    (void)user;
    vyre_status status = vyre_select(&policy, &backend, &report, NULL);
    if (status == VYRE_OK)
        status = vyre_selection_render(report, 1, &text, NULL);
    vyre_bytes_free(&text);
    vyre_selection_free(report);
    vyre_backend_release(backend);
    return status;
}

typedef struct dispatch_case {
    fake_case c;
    int form;
    vyre_dispatch_config config;
} dispatch_case;

static vyre_status dispatch(void *user) {
    dispatch_case *d = user;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_backend *backend;
    vyre_status status = vyre_acquire("reference", &backend, NULL);
    for (int i = 0; i < 2 && status == VYRE_OK; i++)
        status = fake_run(d->form, backend, d->c.program, &d->c.arguments, &d->config, &outputs, NULL, NULL);
    if (status == VYRE_OK)
        fake_case_check(&d->c, &outputs);
    vyre_outputs_free(&outputs);
    vyre_backend_release(backend);
    return status;
}

static vyre_status resident(void *user) {
    dispatch_case *d = user;
    vyre_resident x, out;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_backend *backend;
    uint32_t word = 1;
    vyre_status status = vyre_acquire("reference", &backend, NULL);
    if (status == VYRE_OK)
        status = vyre_resident_allocate(backend, sizeof d->c.x, d->c.x, &x, NULL);
    if (status == VYRE_OK)
        status = vyre_resident_allocate(backend, sizeof d->c.x, NULL, &out, NULL);
    if (status == VYRE_OK) {
        vyre_transfer transfer = {out, 0, 4, &word};
        vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = x},
                                     {.kind = VYRE_RESOURCE_RESIDENT, .resident = out}};
        status = vyre_resident_upload_batch(backend, &transfer, 1, NULL);
        if (status == VYRE_OK)
            status = vyre_backend_dispatch_resident(backend, d->c.program, bindings, 2, &d->c.arguments, &d->config,
                                                    NULL, NULL, NULL);
    }
    if (status == VYRE_OK)
        status = vyre_resident_download(backend, x, &bytes, NULL);
    vyre_bytes_free(&bytes);
    vyre_backend_release(backend);
    return status;
}

static vyre_status prometheus(void *user) {
    vyre_bytes text = VYRE_BYTES_INIT;
    (void)user;
    vyre_status status = vyre_counters_prometheus(&text, NULL);
    vyre_bytes_free(&text);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    size_t count;
    vyre_plugins_load_all(NULL, NULL);
    vyre_backends(&count); /* frozen lists stay for ever: they are made before blocks are counted */
    vyre_backend *backend;
    vyre_policy policy = {.only = "reference"};
    assert_int_equal(vyre_select(&policy, &backend, NULL, NULL), VYRE_OK);
    vyre_backend_release(backend);
    vy_fault_install();
    VY_FAULT_LOOP(acquire, NULL);
    VY_FAULT_LOOP(choose, NULL);
    VY_FAULT_LOOP(prometheus, NULL);
    dispatch_case d = {.form = 0};
    fake_case_open(&d.c);
    for (d.form = 0; d.form < FAKE_FORMS; d.form++) {
        d.config.timeout_ns = 0;
        VY_FAULT_LOOP(dispatch, &d);
        d.config.timeout_ns = 600000000000u;
        VY_FAULT_LOOP(dispatch, &d);
    }
    d.config.timeout_ns = 0;
    VY_FAULT_LOOP(resident, &d);
    d.config.timeout_ns = 600000000000u;
    VY_FAULT_LOOP(resident, &d);
    fake_case_close(&d.c);
    vy_fault_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
