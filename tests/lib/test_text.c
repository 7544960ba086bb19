/* The dialect `text` against the C library and the definitions of the encodings. */
#include "lib/model_text.h"

static void every_function_gives_what_its_definition_says(void **state) {
    (void)state;
    map_check("text", text_functions, MAP_COUNT(text_functions));
}

/* Groups that the random values of the table hardly ever hit: encoded ones, and those with one digit replaced by every
 * byte. */
static void base64_takes_exactly_what_it_writes(void **state) {
    enum { GROUPS = 300, N = GROUPS * (1 + 256) };
    uint64_t *rows = calloc(N, sizeof *rows);
    vy_random random = vy_random_start(9);
    size_t count = 0;

    (void)state;
    assert_non_null(rows);
    for (size_t g = 0; g < GROUPS; g++) {
        uint64_t in[2] = {vy_random_next(&random) & 0xffffff, 1 + g % 3}, digits = 0;
        unsigned place = (unsigned)vy_random_below(&random, 4) * 8;
        text_base64_encode(in, &digits);
        rows[count++] = digits;
        for (uint64_t byte = 0; byte < 256; byte++)
            rows[count++] = (digits & ~(UINT64_C(255) << place)) | byte << place;
    }
    for (size_t i = 0; i < MAP_COUNT(text_functions); i++)
        if (strcmp(text_functions[i].name, "base64_decode") == 0) {
            map_shape shape;
            library l;
            map_open(&l, "text", "", &text_functions[i], &shape);
            map_rows(&text_functions[i], &shape, &l, &rows, count);
            library_close(&l);
        }
    free(rows);
}

/* RFC 4648, section 10. */
static void base64_gives_the_vectors_of_the_rfc(void **state) {
    static const struct {
        const char *text, *digits;
    } vectors[] = {{"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"b", "Yg=="}, {"ba", "YmE="}, {"bar", "YmFy"}};

    (void)state;
    for (size_t i = 0; i < MAP_COUNT(vectors); i++) {
        uint64_t in[2] = {0, strlen(vectors[i].text)}, out = 0;
        memcpy(in, vectors[i].text, in[1]);
        text_base64_encode(in, &out); /* the table holds the op to the model */
        assert_memory_equal(&out, vectors[i].digits, 4);
    }
}

/* Words of hexadecimal digits, which random values hardly ever are. */
static void hex_gives_every_word_back(void **state) {
    enum { N = 1000 };
    uint64_t *rows = calloc(N, sizeof *rows);
    vy_random random = vy_random_start(4);

    (void)state;
    assert_non_null(rows);
    for (size_t i = 0; i < N; i++) {
        char digits[9];
        snprintf(digits, sizeof digits, i % 2 ? "%08x" : "%08X", (uint32_t)vy_random_next(&random));
        if (i % 5 == 0)
            digits[vy_random_below(&random, 8)] = (char)vy_random_next(&random);
        memcpy(&rows[i], digits, 8);
    }
    for (size_t i = 0; i < MAP_COUNT(text_functions); i++)
        if (strcmp(text_functions[i].name, "hex_decode_u32") == 0) {
            map_shape shape;
            library l;
            map_open(&l, "text", "", &text_functions[i], &shape);
            map_rows(&text_functions[i], &shape, &l, &rows, N);
            library_close(&l);
        }
    free(rows);
}

static void ranges_of_every_size_are_judged_as_the_model_does(void **state) {
    enum { COUNT = 400 };
    static uint8_t data[COUNT * 64 + 8192];
    uint32_t offsets[COUNT + 1] = {0};
    vy_random random = vy_random_start(5);
    size_t valid = 0;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        size_t room = i < LIBRARY_SIZES ? library_sizes[i] : (size_t)vy_random_below(&random, 40);
        size_t size = text_make(data + offsets[i], room, i % 2, &random);
        offsets[i + 1] = offsets[i] + (uint32_t)size;
        valid += (size_t)text_valid(data + offsets[i], size);
    }
    assert_in_range(valid, COUNT / 4, COUNT * 7 / 8);
    text_ranges(data, offsets, COUNT, 1);
    text_decode_everywhere(data, offsets[COUNT] < 4000 ? offsets[COUNT] : 4000, 1);
    text_decode_everywhere(data, 0, 1);
}

/* All strings of two bytes, and of three and four bytes all that turn at an edge of table 3-7. */
static void every_start_of_a_character_is_judged_as_the_model_does(void **state) {
    static const uint8_t leads[] = {0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1,
                                    0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
    static const uint8_t nexts[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    enum { TWO = 65536, FOUR = 20 * 10 * 10 * 10 };
    uint8_t *data = malloc(2 * TWO + (3 + 4) * FOUR), *at = data;
    uint32_t *offsets = calloc(TWO + 2 * FOUR + 1, sizeof *offsets);
    size_t count = 0;

    (void)state;
    assert_true(data && offsets);
    for (uint32_t i = 0; i < TWO; i++) {
        *at++ = (uint8_t)i;
        *at++ = (uint8_t)(i >> 8);
        offsets[++count] = (uint32_t)(at - data);
    }
    for (size_t i = 0; i < FOUR; i++)
        for (size_t size = 3; size <= 4; size++) {
            at[0] = leads[i / 1000];
            at[1] = nexts[i / 100 % 10];
            at[2] = nexts[i / 10 % 10];
            if (size == 4)
                at[3] = nexts[i % 10];
            at += size;
            offsets[++count] = (uint32_t)(at - data);
        }
    text_ranges(data, offsets, count, 0);
    text_decode_everywhere(data, (size_t)(at - data), 0);
    free(data);
    free(offsets);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_gives_what_its_definition_says),
        cmocka_unit_test(base64_takes_exactly_what_it_writes),
        cmocka_unit_test(base64_gives_the_vectors_of_the_rfc),
        cmocka_unit_test(hex_gives_every_word_back),
        cmocka_unit_test(ranges_of_every_size_are_judged_as_the_model_does),
        cmocka_unit_test(every_start_of_a_character_is_judged_as_the_model_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
