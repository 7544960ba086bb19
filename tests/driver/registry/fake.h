/* Fake plug-ins, each broken in at most one way; tests/driver/test_registry_plugins.c checks the diagnosis of each.
 * Only the public header is used, and nothing is linked. */
#ifndef VY_TEST_FAKE_H
#define VY_TEST_FAKE_H

#include "vyre/backend.h"

/* A constructor for backends that are registered and never started. */
static inline vyre_status fake_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out,
                                      vyre_error *error) {
    (void)ordinal;
    (void)out;
    return host->fail(error, VYRE_UNSUPPORTED, NULL, "a fake backend does not start");
}

/* A hand-made descriptor, for plug-ins with wrong values in it: no precedences, no capabilities. */
#define FAKE_DESCRIPTOR(size, version, module_name, records, count)                                                    \
    extern __attribute__((visibility("default"))) const vyre_module_descriptor vyre_module_entry;                      \
    const vyre_module_descriptor vyre_module_entry = {.struct_size = (size),                                           \
                                                      .abi = (version),                                                \
                                                      .name = (module_name),                                           \
                                                      .backends = (records),                                           \
                                                      .backends_end = (records) + (count)}

#endif
