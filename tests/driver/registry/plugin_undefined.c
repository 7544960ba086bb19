/* Needs an undefined function: the dynamic loader refuses it. */
#include "fake.h"

vyre_status fake_function_nobody_has(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out,
                                     vyre_error *error);
VYRE_REGISTER_BACKEND(undefined, .id = "fake-undefined", .create = fake_function_nobody_has);
VYRE_PLUGIN("undefined");
