/* What tests of foreign memory share: a backend, a program, and a check that memory was given back once. */
#ifndef VY_TESTS_DRIVER_FOREIGN_H
#define VY_TESTS_DRIVER_FOREIGN_H

#include "backends/cpu/compile.h"
#include "support/test.h"

#include "vyre/dlpack.h"
#include "vyre/interop.h"
#include "vyre/text.h"

#include <stdalign.h>
#include <stdio.h>

enum { N = 1000 };

/* y = 2 x + y */
static const char saxpy_text[] = "program saxpy {\n"
                                 "  buffer x : f32 read\n"
                                 "  buffer y : f32 read_write\n"
                                 "  workgroup 64\n"
                                 "  grid over y\n"
                                 "  let i = global_id.x\n"
                                 "  if i < len(y) {\n"
                                 "    y[i] = fma(2.0, x[i], y[i])\n"
                                 "  }\n"
                                 "}\n";

typedef struct rig {
    vyre_backend *backend;
    vyre_module *module;
    vyre_program *program;
    alignas(64) float x[N + 8], y[N + 8];
    int released;
    vyre_error error;
} rig;

static inline void rig_release(void *user) {
    ++*(int *)user;
}

static inline void rig_fill(rig *r) {
    for (int i = 0; i < N + 8; i++)
        r->x[i] = (float)i, r->y[i] = (float)(3 * i);
}

/* 0: the backend cannot run programs here. */
static inline int rig_open(rig *r, const char *id) {
    memset(r, 0, sizeof *r);
    if (strcmp(id, "cpu") == 0 && vy_cpu_compiler_check(NULL) != VYRE_OK) {
        printf("SKIP backend cpu: there is no compiler in this build\n");
        return 0;
    }
    assert_int_equal(vyre_acquire(id, &r->backend, &r->error), VYRE_OK);
    if (vyre_text_parse(saxpy_text, sizeof saxpy_text - 1, NULL, NULL, &r->module, &r->error) != VYRE_OK)
        fail_msg("%s", r->error.message);
    r->program = vyre_module_program(r->module, 0);
    rig_fill(r);
    return 1;
}

static inline void rig_close(rig *r) {
    vyre_module_free(r->module);
    vyre_backend_release(r->backend);
}

static inline vyre_resident rig_wrap(rig *r, void *memory, uint64_t size, int is_read_only) {
    vyre_resident handle;
    vyre_foreign foreign = {.struct_size = sizeof foreign,
                            .is_read_only = is_read_only,
                            .location = {VYRE_LOCATION_HOST, 0, (uintptr_t)memory},
                            .size = size,
                            .release = rig_release,
                            .user = &r->released};
    if (vyre_resident_wrap(r->backend, &foreign, &handle, &r->error) != VYRE_OK)
        fail_msg("%s", r->error.message);
    return handle;
}

static inline vyre_status rig_run(rig *r, vyre_resident x, vyre_resident y) {
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = x},
                                 {.kind = VYRE_RESOURCE_RESIDENT, .resident = y}};
    return vyre_backend_dispatch_resident(r->backend, r->program, bindings, 2, NULL, NULL, NULL, NULL, &r->error);
}

#endif
