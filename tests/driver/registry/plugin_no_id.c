/* A backend without a name. */
#include "fake.h"

VYRE_REGISTER_BACKEND(nobody, .create = fake_create);
VYRE_PLUGIN("no id");
