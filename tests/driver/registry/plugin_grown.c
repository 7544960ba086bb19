/* Built with a later header of the same version: its structs are longer. It works. */
#include "fake.h"

static const struct {
    vyre_backend_registration known;
    void *unknown[4];
} record = {{.struct_size = sizeof record, .abi = VYRE_BACKEND_ABI, .id = "fake-grown", .create = fake_create}, {0}};
static const vyre_backend_registration *const records[] = {&record.known};
FAKE_DESCRIPTOR(sizeof(vyre_module_descriptor) + 64, VYRE_BACKEND_ABI, "grown", records, 1);
