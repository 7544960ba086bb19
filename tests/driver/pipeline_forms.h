/* What the tests of pipelines share: a fake with a case, and the forms from host bytes by number. */
#ifndef VY_TESTS_DRIVER_PIPELINE_FORMS_H
#define VY_TESTS_DRIVER_PIPELINE_FORMS_H

#include "driver/fake.h"
#include "vyre/pipeline.h"

typedef struct rig {
    fake *f;
    vyre_backend *backend;
    fake_case c;
} rig;

static inline void rig_open_with(rig *r, fake *f) {
    r->f = f;
    r->backend = fake_open(f);
    fake_case_open(&r->c);
}

static inline void rig_open(rig *r) {
    rig_open_with(r, fake_new());
}

static inline void rig_close(rig *r) {
    fake_case_close(&r->c);
    vyre_backend_release(r->backend);
}

static inline vyre_pipeline *rig_compile(rig *r) {
    vyre_pipeline *pipeline = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_compile(r->backend, r->c.program, NULL, &pipeline, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return pipeline;
}

/* The numbers of fake_run. */
static inline vyre_status pipeline_run(int form, vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                       const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap,
                                       vyre_error *error) {
    vyre_bytes owned[64];
    vyre_timing timing;
    if (form == 0)
        return vyre_pipeline_dispatch(pipeline, arguments, config, outputs, trap, error);
    if (form == 1)
        return vyre_pipeline_dispatch_timed(pipeline, arguments, config, outputs, &timing, trap, error);
    if (form == 2)
        return vyre_pipeline_dispatch_into(pipeline, arguments, config, outputs, trap, error);
    for (size_t i = 0; i < arguments->input_count && i < 64; i++)
        owned[i] =
            (vyre_bytes){(void *)arguments->inputs[i].data, arguments->inputs[i].size, arguments->inputs[i].size};
    return vyre_pipeline_dispatch_owned(pipeline, owned, arguments->input_count, arguments, config, outputs, trap,
                                        error);
}

#endif
