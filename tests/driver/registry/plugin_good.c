/* Nothing is wrong with this one. */
#include "fake.h"

VYRE_REGISTER_BACKEND(good, .id = "fake-good", .create = fake_create);
VYRE_REGISTER_PRECEDENCE(good, .id = "fake-good", .rank = 70);
VYRE_REGISTER_CAPABILITY(good, .id = "fake-good", .dispatches = 1);
VYRE_PLUGIN("good");
