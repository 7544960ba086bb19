/* Loads and answers; ends the process with a signal when the process ends anyway. */
#include "../../driver/registry/fake.h"

#include <stdlib.h>

__attribute__((destructor)) static void end(void) {
    abort();
}
VYRE_REGISTER_BACKEND(ends_badly, .id = "fake-ends-badly", .create = fake_create);
VYRE_PLUGIN("ends badly");
