/* Uses the id of plugin_good.c. */
#include "fake.h"

VYRE_REGISTER_BACKEND(before, .id = "fake-before", .create = fake_create);
VYRE_REGISTER_BACKEND(good, .id = "fake-good", .create = fake_create);
VYRE_PLUGIN("duplicate");
