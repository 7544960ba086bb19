/* Works, and says so where nobody wants to hear it: a banner that is not even text, and more of it than a pipe holds. */
#include "../../driver/registry/fake.h"

#include <stdio.h>

__attribute__((constructor)) static void start(void) {
    fputs("\033[31mfake\t\"driver\"\xff\x01 ready\n", stdout);
    for (int i = 0; i < 200000; i++)
        putchar('x');
}
VYRE_REGISTER_BACKEND(prints, .id = "fake-prints", .create = fake_create);
VYRE_PLUGIN("prints");
