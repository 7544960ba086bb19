/* Made for a contract of the future. */
#include "fake.h"

static const vyre_backend_registration record = {
    .struct_size = sizeof record, .abi = VYRE_BACKEND_ABI, .id = "fake-new", .create = fake_create};
static const vyre_backend_registration *const records[] = {&record};
FAKE_DESCRIPTOR(sizeof(vyre_module_descriptor), 999, "new", records, 1);
