/* Ends the process when it finds something missing, as libraries should not. */
#include "../../driver/registry/fake.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void start(void) {
    fputs("no licence\n", stderr);
    exit(3);
}
VYRE_REGISTER_BACKEND(exits, .id = "fake-exits", .create = fake_create);
VYRE_PLUGIN("exits");
