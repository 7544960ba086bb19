/* The k-th allocation fails: compiling and every form of a pipeline fail cleanly. */
#include "driver/pipeline_forms.h"
#include "support/fault.h"

#include "vyre/cache.h"

typedef struct fault_case {
    fake_case c;
    int form;      /* FAKE_FORMS and on: batch, persistent, outputs that stay, persistent batch, sequence */
    int is_bare;   /* without native entries */
    int is_staged; /* the backend has no grid barriers, the program one */
    vyre_dispatch_config config;
} fault_case;

static vyre_status bound(fault_case *d, vyre_pipeline *pipeline, vyre_backend *backend, vyre_outputs *outputs) {
    vyre_resident x, out;
    vyre_arguments arguments = d->c.arguments;
    vyre_status status = vyre_resident_allocate(backend, sizeof d->c.x, d->c.x, &x, NULL);
    if (status == VYRE_OK)
        status = vyre_resident_allocate(backend, sizeof d->c.x, NULL, &out, NULL);
    if (status != VYRE_OK)
        return status;
    vyre_resource all[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = x},
                            {.kind = VYRE_RESOURCE_RESIDENT, .resident = out}};
    vyre_resource mixed[2] = {{.kind = VYRE_RESOURCE_HOST, .host = {d->c.x, sizeof d->c.x}}, all[1]}, stay[2];
    const vyre_resource *items[1] = {mixed};
    vyre_step step = {pipeline, all, 2, &arguments};
    uint32_t word;
    vyre_readback readback = {out, 4, 4, &word};
    switch (d->form - FAKE_FORMS) {
    case 1:
        return vyre_pipeline_dispatch_persistent(pipeline, mixed, 2, &arguments, &d->config, outputs, NULL, NULL, NULL);
    case 2:
        return vyre_pipeline_dispatch_resident_outputs(pipeline, all, 2, &arguments, &d->config, stay, 2, NULL, NULL);
    case 3:
        return vyre_pipeline_dispatch_persistent_batch(pipeline, items, 2, 1, &arguments, &d->config, outputs, NULL,
                                                       NULL, NULL);
    default:
        return vyre_sequence_run(backend, &step, 1, &readback, 1, &d->config, NULL, NULL, NULL, NULL);
    }
}

static vyre_status body(void *user) {
    fault_case *d = user;
    fake *f = fake_new_or_null();
    vyre_pipeline *pipeline = NULL;
    vyre_backend *backend = NULL;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    if (!f)
        return VYRE_NO_MEMORY;
    if (d->is_bare) {
        f->table.sequence = NULL;
        f->pipeline_table = (vyre_pipeline_vtable){.struct_size = sizeof f->pipeline_table,
                                                   .dispatch = fake_pipeline_dispatch,
                                                   .destroy = fake_pipeline_destroy};
    }
    f->no_grid_sync = (uint64_t)d->is_staged;
    vyre_backend_instance instance = {&f->table, f};
    vyre_status status = vy_backend_wrap(&instance, &backend, NULL);
    if (status == VYRE_OK)
        status = vyre_compile(backend, d->c.program, NULL, &pipeline, NULL);
    for (int i = 0; i < 2 && status == VYRE_OK; i++) {
        if (d->form < FAKE_FORMS)
            status = pipeline_run(d->form, pipeline, &d->c.arguments, &d->config, &outputs, NULL, NULL);
        else if (d->form == FAKE_FORMS)
            status = vyre_pipeline_dispatch_batch(pipeline, &d->c.arguments, 1, &d->config, &outputs, NULL, NULL, NULL);
        else
            status = bound(d, pipeline, backend, &outputs);
    }
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    vyre_backend_release(backend);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char staged[] = "program s {\n param k : u32\n buffer x : u32 read_write\n"
                                 "buffer out : u32 write count len(x)\n workgroup 4\n grid over x\n"
                                 "let i = global_id.x\n grid_barrier\n if i < len(x) { out[i] = x[i] * k } }";
    fault_case d = {.form = 0};
    fake_case_open(&d.c);
    vyre_module *module;
    vyre_program *plain = d.c.program, *split = fake_parse(staged, &module);
    for (d.is_staged = 0; d.is_staged < 2; d.is_staged++)
        for (d.form = 0; d.form < FAKE_FORMS + 5; d.form++)
            for (d.is_bare = 0; d.is_bare < 2; d.is_bare++)
                for (int timed = 0; timed < (d.is_staged ? 1 : 2); timed++) {
                    d.c.program = d.is_staged ? split : plain;
                    d.config.timeout_ns = timed ? 600000000000u : 0;
                    /* Caches are best effort: without memory for an entry, a pipeline is not kept. */
                    VY_FAULT_LOOP_LENIENT(body, &d);
                }
    d.c.program = plain;
    vyre_module_free(module);
    fake_case_close(&d.c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    vyre_cache_set_folder("", NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
