/* A descriptor that ends before its streams. */
#include "fake.h"

static const vyre_backend_registration record = {
    .struct_size = sizeof record, .abi = VYRE_BACKEND_ABI, .id = "fake-short", .create = fake_create};
static const vyre_backend_registration *const records[] = {&record};
FAKE_DESCRIPTOR(16, VYRE_BACKEND_ABI, "short", records, 1);
