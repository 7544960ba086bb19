/* Records in a file of their own: no symbol here is named by anyone, and the linker keeps them all the same. */
#include "fake.h"

VYRE_REGISTER_BACKEND(there, .id = "app-there", .create = fake_create);
VYRE_REGISTER_PRECEDENCE(there, .id = "app-there", .rank = 6);
VYRE_REGISTER_CAPABILITY(there, .id = "app-there", .dispatches = 1);
