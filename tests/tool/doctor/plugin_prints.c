/* Works, but prints a banner that is not text and exceeds the capacity of a pipe. */
#include "../../driver/registry/fake.h"

#include <stdio.h>

__attribute__((constructor)) static void start(void) {
    fputs("\033[31mfake\t\"driver\"\xff\x01 ready\n", stdout);
    for (int i = 0; i < 200000; i++)
        putchar('x');
}
VYRE_REGISTER_BACKEND(prints, .id = "fake-prints", .create = fake_create);
VYRE_PLUGIN("prints");
