/* Numbers in text: any bytes are read or refused, and what was read is printed so that it reads back. */
#include "base/number_text.h"

#include <stdlib.h>
#include <string.h>

static const unsigned formats[][2] = {{5, 10}, {8, 7}, {8, 23}, {11, 52}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        unsigned exponent_bits = formats[i][0], fraction_bits = formats[i][1];
        uint64_t bits, again;
        char text[40];
        if (!vy_number_to_bits((const char *)data, size, exponent_bits, fraction_bits, &bits))
            continue;
        if (bits >> fraction_bits == (UINT64_C(1) << exponent_bits) - 1)
            continue; /* infinite: too large for the type */
        vy_number_from_bits(bits, exponent_bits, fraction_bits, text);
        if (!vy_number_to_bits(text, strlen(text), exponent_bits, fraction_bits, &again) || again != bits)
            abort();
    }
    return 0;
}
