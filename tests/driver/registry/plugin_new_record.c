/* The descriptor fits, its record is made for a contract of the future. */
#include "fake.h"

static const vyre_backend_registration record = {
    .struct_size = sizeof record, .abi = 999, .id = "fake-new-record", .create = fake_create};
static const vyre_backend_registration *const records[] = {&record};
FAKE_DESCRIPTOR(sizeof(vyre_module_descriptor), VYRE_BACKEND_ABI, "new record", records, 1);
