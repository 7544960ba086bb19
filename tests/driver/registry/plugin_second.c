/* Two backends, the second without rank and capability. */
#include "fake.h"

VYRE_REGISTER_BACKEND(one, .id = "fake-one", .create = fake_create);
VYRE_REGISTER_BACKEND(two, .id = "fake-two", .create = fake_create);
VYRE_REGISTER_PRECEDENCE(one, .id = "fake-one", .rank = 60);
VYRE_PLUGIN("second");
