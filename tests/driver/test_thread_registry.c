/* Readers list and look up while others register modules and load plug-ins: every list a reader holds is complete and
 * sorted, and nothing that was seen is ever lost. For ThreadSanitizer. */
#include "support/test.h"
#include "vyre/registry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { WRITERS = 2, READERS = 3, MODULES = 24 };

static vyre_status create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    (void)ordinal, (void)out;
    return (host->fail)(error, VYRE_UNSUPPORTED, NULL, "not for use");
}

/* One backend with rank and capability each. */
typedef struct module {
    vyre_module_descriptor descriptor;
    vyre_backend_registration backend;
    vyre_precedence_registration precedence;
    vyre_capability_registration capability;
    const vyre_backend_registration *backends[1];
    const vyre_precedence_registration *precedences[1];
    const vyre_capability_registration *capabilities[1];
    char id[32];
} module;
static module modules[WRITERS][MODULES];

static void make(module *module, unsigned writer, unsigned index) {
    snprintf(module->id, sizeof module->id, "thread-%u-%02u", writer, index);
    module->backend = (vyre_backend_registration){
        .struct_size = sizeof module->backend, .abi = VYRE_BACKEND_ABI, .id = module->id, .create = create};
    module->precedence = (vyre_precedence_registration){sizeof module->precedence, module->id, (index * 7) % 5};
    module->capability = (vyre_capability_registration){sizeof module->capability, module->id, 1};
    module->backends[0] = &module->backend;
    module->precedences[0] = &module->precedence;
    module->capabilities[0] = &module->capability;
    module->descriptor = (vyre_module_descriptor){.struct_size = sizeof module->descriptor,
                                                  .abi = VYRE_BACKEND_ABI,
                                                  .name = "threads",
                                                  .backends = module->backends,
                                                  .backends_end = module->backends + 1,
                                                  .precedences = module->precedences,
                                                  .precedences_end = module->precedences + 1,
                                                  .capabilities = module->capabilities,
                                                  .capabilities_end = module->capabilities + 1};
}

static atomic_uint failures, writers_left;
static void claim(int holds) {
    if (!holds)
        atomic_fetch_add(&failures, 1);
}

static const char *plugin_path(const char *name, char path[1024]) {
    const char *folder = getenv("VYRE_BINARY_DIR");
    snprintf(path, 1024, "%s/plugins/%s.so", folder ? folder : VYRE_BINARY_DIR, name);
    return path;
}

/* All writers load the same plug-ins; each has separate modules, and also tries those of the others. */
static void *write_modules(void *argument) {
    unsigned writer = (unsigned)(uintptr_t)argument;
    char path[1024];
    for (unsigned i = 0; i < MODULES; i++) {
        claim(vyre_module_register(&modules[writer][i].descriptor, NULL) == VYRE_OK);
        claim(vyre_backend_find(modules[writer][i].id) == &modules[writer][i].backend);
        claim(vyre_module_register(&modules[(writer + 1) % WRITERS][i].descriptor, NULL) == VYRE_OK);
        const char *name = plugin_path(i % 2 ? "good" : "second", path);
        if (access(name, R_OK) == 0)
            claim(vyre_plugin_load(name, NULL) == VYRE_OK);
        claim(vyre_plugin_load(plugin_path("too_new", path), NULL) != VYRE_OK);
    }
    atomic_fetch_sub(&writers_left, 1);
    return NULL;
}

static void *read_lists(void *argument) {
    (void)argument;
    size_t last = 0;
    for (int more = 1; more;) {
        more = atomic_load(&writers_left) != 0;
        size_t count, sorted_count;
        const vyre_backend_registration *const *list = vyre_backends(&count);
        claim(count >= last);
        last = count;
        for (size_t i = 0; i < count; i++) {
            claim(vyre_backend_find(list[i]->id) == list[i]);
            claim(vyre_backend_owner(list[i]->id) != NULL);
        }
        /* Ranks come with the backends here, so any list is sorted by the ranks of any later one. */
        list = vyre_backends_by_precedence(&sorted_count);
        claim(sorted_count >= count);
        for (size_t i = 1; i < sorted_count; i++) {
            uint32_t left = vyre_backend_precedence(list[i - 1]->id), right = vyre_backend_precedence(list[i]->id);
            claim(left < right || (left == right && strcmp(list[i - 1]->id, list[i]->id) < 0));
        }
    }
    return NULL;
}

static void readers_see_complete_lists_while_modules_join(void **state) {
    (void)state;
    pthread_t threads[WRITERS + READERS];
    for (unsigned writer = 0; writer < WRITERS; writer++)
        for (unsigned i = 0; i < MODULES; i++)
            make(&modules[writer][i], writer, i);
    atomic_store(&writers_left, WRITERS);
    for (unsigned i = 0; i < WRITERS + READERS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, i < WRITERS ? write_modules : read_lists, (void *)(uintptr_t)i), 0);
    for (unsigned i = 0; i < WRITERS + READERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&failures), 0);
    for (unsigned writer = 0; writer < WRITERS; writer++)
        for (unsigned i = 0; i < MODULES; i++)
            assert_int_equal(vyre_backend_dispatches(modules[writer][i].id), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(readers_see_complete_lists_while_modules_join)};
    return cmocka_run_group_tests_name("registry threads", tests, NULL, NULL);
}
