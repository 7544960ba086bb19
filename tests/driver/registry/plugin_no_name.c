/* A module without a name. */
#include "fake.h"

VYRE_REGISTER_BACKEND(nameless, .id = "fake-nameless", .create = fake_create);
VYRE_PLUGIN(NULL);
