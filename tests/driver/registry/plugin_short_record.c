/* A record without room for its constructor. */
#include "fake.h"

static const vyre_backend_registration record = {
    .struct_size = offsetof(vyre_backend_registration, create), .abi = VYRE_BACKEND_ABI, .id = "fake-short-record"};
static const vyre_backend_registration *const records[] = {&record};
FAKE_DESCRIPTOR(sizeof(vyre_module_descriptor), VYRE_BACKEND_ABI, "short record", records, 1);
