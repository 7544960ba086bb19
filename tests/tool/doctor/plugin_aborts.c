/* Aborts while the loader runs its initialisers. */
#include "../../driver/registry/fake.h"

#include <stdlib.h>

__attribute__((constructor)) static void start(void) {
    abort();
}
VYRE_REGISTER_BACKEND(aborts, .id = "fake-aborts", .create = fake_create);
VYRE_PLUGIN("aborts");
