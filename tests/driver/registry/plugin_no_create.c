/* A backend without a constructor. */
#include "fake.h"

VYRE_REGISTER_BACKEND(hollow, .id = "fake-hollow");
VYRE_PLUGIN("no create");
