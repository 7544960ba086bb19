/* The dialect `pack` against the definitions of its formats. */
#include "lib/model_pack.h"

static void every_function_gives_what_its_definition_says(void **state) {
    (void)state;
    map_check("pack", pack_functions, MAP_COUNT(pack_functions));
}

/* What was unpacked packs to the same word, for every 16-bit pattern but the NaNs, which have one pattern afterwards,
 * and the second spelling of -1. */
static void packing_gives_every_pattern_back(void **state) {
    static const char *const names[] = {"f16x2", "bf16x2", "unorm16x2", "snorm16x2"};
    enum { PATTERNS = 65536 };
    static uint32_t words[PATTERNS], expected[PATTERNS];

    (void)state;
    for (size_t n = 0; n < 4; n++) {
        char text[512];
        library l;
        for (uint32_t i = 0; i < PATTERNS; i++) {
            uint32_t kept = i;
            if (n == 0 && (i & 0x7fff) > 0x7c00)
                kept = 0x7e00;
            if (n == 1 && (i & 0x7fff) > 0x7f80)
                kept = 0x7fc0;
            if (n == 3 && i == 0x8000)
                kept = 0x8001;
            words[i] = i | i << 16;
            expected[i] = kept | kept << 16;
        }
        snprintf(text, sizeof text,
                 "program again {\n  buffer words : u32 read_write\n  workgroup 128\n  grid over words\n"
                 "  let (x, y) = unpack_%s(words[global_id.x])\n  words[global_id.x] = %s(x, y)\n}\n",
                 names[n], names[n]);
        library_open(&l, "pack", text);
        l.seeds = 0;
        library_run(&l, NULL, 0, &LIBRARY_SPAN(words), 1);
        library_expect(&l, 0, expected, sizeof expected);
        library_close(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_gives_what_its_definition_says),
        cmocka_unit_test(packing_gives_every_pattern_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
