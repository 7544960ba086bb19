/* The long message of FIPS 180-4: one million letters a. */
#include "examples/example.h"

static void sha256_of_a_million_letters(void **state) {
    static const uint8_t expected[32] = {0xcd, 0xc7, 0x6e, 0x5c, 0x99, 0x14, 0xfb, 0x92, 0x81, 0xa1, 0xc7,
                                         0xe2, 0x84, 0xd7, 0x3e, 0x67, 0xf1, 0x80, 0x9a, 0x48, 0xa4, 0x97,
                                         0x20, 0x0e, 0x04, 0x6d, 0x39, 0xcc, 0xc7, 0x11, 0x2c, 0xd0};
    static uint8_t letters[1000000];
    const uint32_t offsets[] = {0, sizeof letters};
    vyre_span inputs[] = {EXAMPLE_SPAN(letters), EXAMPLE_SPAN(offsets)};
    vyre_arguments arguments = {.inputs = inputs, .input_count = 2};
    example e;

    (void)state;
    memset(letters, 'a', sizeof letters);
    example_open(&e, "sha256.vyre", NULL, "LANES", "1");
    example_run_once(&e, &arguments, 0, 0, e.outputs);
    example_expect(&e, 0, expected, sizeof expected);
    example_close(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sha256_of_a_million_letters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
