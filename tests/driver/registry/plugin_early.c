/* Built with the first header there was: nothing after `create` and `capabilities_end`. It works. */
#include "fake.h"

static const vyre_backend_registration record = {.struct_size = offsetof(vyre_backend_registration, supported_ops),
                                                 .abi = 1,
                                                 .id = "fake-early",
                                                 .create = fake_create};
static const vyre_backend_registration *const records[] = {&record};
FAKE_DESCRIPTOR(offsetof(vyre_module_descriptor, init), 1, "early", records, 1);
