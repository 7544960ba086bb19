/* Fake backend whose binaries are slow to produce: serializers and compilers wait at a gate. */
#ifndef VY_TESTS_DRIVER_SLOW_BINARIES_H
#define VY_TESTS_DRIVER_SLOW_BINARIES_H

#include "driver/pipeline_forms.h"

#include "base/thread.h"
#include "vyre/cache.h"

static char folder[] = "/tmp/vyre-stores-XXXXXX";

/* Makers of binaries and compilers wait here. */
static struct {
    pthread_t owner; /* never waits for a binary */
    _Atomic int holds_binaries, holds_compiles, holds_dispatches, feeds;
    _Atomic unsigned by_owner, by_others, compiling, dispatching, begun, fed;
} gate;

static vyre_status make_binary(void *self, vyre_bytes *out, vyre_error *error) {
    int is_owner = pthread_equal(pthread_self(), gate.owner);
    unsigned fed = atomic_load(&gate.fed);
    atomic_fetch_add(&gate.begun, 1);
    while (atomic_load(&gate.feeds) && atomic_load(&gate.fed) == fed)
        usleep(1000);
    while (!is_owner && atomic_load(&gate.holds_binaries))
        usleep(1000);
    atomic_fetch_add(is_owner ? &gate.by_owner : &gate.by_others, 1);
    return fake_pipeline_serialize_later(self, out, error);
}

static vyre_status compile_held(void *self, vyre_program *program, const vyre_compile_options *options,
                                vyre_native_pipeline *out, vyre_error *error) {
    if (strcmp(vyre_program_name(program), "held") == 0) {
        atomic_fetch_add(&gate.compiling, 1);
        while (atomic_load(&gate.holds_compiles))
            usleep(1000);
    }
    return fake_compile(self, program, options, out, error);
}

static inline fake *slow_fake(void) {
    fake *f = fake_new();
    f->table.compile = compile_held;
    f->pipeline_table.serialize = NULL;
    f->pipeline_table.serialize_later = make_binary;
    f->is_shared = 1;
    return f;
}

static inline uint64_t stores(void) {
    vyre_cache_stats now;
    vyre_cache_get_stats(&now);
    return now.stores;
}

static inline vyre_status try_numbered(vyre_backend *backend, const char *name, unsigned number) {
    char text[200];
    vyre_module *module;
    vyre_pipeline *pipeline = NULL;
    snprintf(text, sizeof text, "program %s {\n buffer x : u32 read_write\n grid 1\n x[0] = x[0] + %u }", name, number);
    vyre_status status = vyre_compile(backend, fake_parse(text, &module), NULL, &pipeline, NULL);
    vyre_pipeline_release(pipeline);
    vyre_module_free(module);
    return status;
}

static inline void compile_numbered(vyre_backend *backend, unsigned number) {
    assert_int_equal(try_numbered(backend, "n", number), VYRE_OK);
}

static inline int set_up(void **state) {
    (void)state;
    memset(&gate, 0, sizeof gate);
    gate.owner = pthread_self();
    vyre_cache_set_folder(folder, NULL);
    vyre_cache_set_memory_limit(0);
    vyre_cache_forbid_compile(0);
    return (int)vyre_cache_clear(NULL, NULL, NULL, NULL);
}

#endif
