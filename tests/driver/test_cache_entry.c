/* The file format, byte by byte: anything that differs from the written bytes is refused. */
#include "driver/cache.h"

#include "base/string.h"

enum { PAYLOAD = 40 };
static const char label[] = "cuda:0123";

typedef struct image {
    uint8_t *data;
    size_t size;
} image;

static image make(unsigned number, size_t payload) {
    image made = {.size = vy_cache_entry_size(label, payload)};
    uint8_t *bytes = malloc(payload + 1);
    vy_cache_key key = cache_key(number);
    made.data = malloc(made.size);
    cache_fill(number, bytes, payload);
    vy_cache_entry_encode(&key, label, 1700000000, (vyre_span){bytes, payload}, made.data);
    free(bytes);
    return made;
}

/* From memory of exactly that size, so that a sanitizer sees a read past its end. */
static const char *parse(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    vy_cache_entry entry;
    memcpy(copy, data, size);
    const char *problem = vy_cache_entry_parse(copy, size, &entry);
    free(copy);
    return problem;
}

static void entry_comes_back_as_written(void **state) {
    (void)state;
    for (size_t payload = 0; payload < 300; payload += 37) {
        image made = make(3, payload);
        vy_cache_entry entry;
        vy_cache_key key = cache_key(3);
        uint8_t wanted[300];
        cache_fill(3, wanted, payload);
        assert_null(vy_cache_entry_parse(made.data, made.size, &entry));
        assert_memory_equal(&entry.key, &key, sizeof key);
        assert_string_equal(entry.label, label);
        assert_int_equal(entry.created, 1700000000);
        assert_int_equal(entry.payload_size, payload);
        assert_memory_equal(made.data + entry.payload_offset, wanted, payload);
        assert_null(vy_cache_entry_parse_head(made.data, made.size < 192 ? made.size : 192, made.size, &entry));
        assert_string_equal(entry.label, label);
        free(made.data);
    }
}

/* The checksum of no bytes, as published by its authors: another version of their library computes the same. */
static void checksum_is_the_published_one(void **state) {
    (void)state;
    static const uint8_t published[16] = {0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47, 0x98, 0xd8,
                                          0x60, 0x01, 0xc3, 0x24, 0x46, 0x8d, 0x49, 0x7f};
    uint8_t checksum[16];
    vy_checksum("", 0, checksum);
    assert_memory_equal(checksum, published, sizeof checksum);
}

static void every_flipped_bit_is_noticed(void **state) {
    (void)state;
    image made = make(3, PAYLOAD);
    for (size_t bit = 0; bit < made.size * 8; bit++) {
        made.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_non_null(parse(made.data, made.size));
        made.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_null(parse(made.data, made.size));
    free(made.data);
}

static void every_length_but_its_own_is_noticed(void **state) {
    (void)state;
    image made = make(3, PAYLOAD);
    uint8_t *longer = calloc(1, made.size + 200);
    memcpy(longer, made.data, made.size);
    for (size_t size = 0; size < made.size + 200; size++)
        if (size != made.size)
            assert_non_null(parse(longer, size));
    free(longer);
    free(made.data);
}

/* With a checksum that is right, so that the checks before it are seen: lengths that wrap, labels with escapes. */
static void sealed_nonsense_is_noticed(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        uint64_t value;
        unsigned size;
    } rows[] = {
        {0, 0, 8},     {8, 2, 4},           {8, 0, 4},     {12, 0xffffffff, 4},  {12, 129, 4},
        {12, 0, 4},    {16, UINT64_MAX, 8}, {16, 0, 8},    {16, PAYLOAD + 1, 8}, {16, PAYLOAD - 1, 8},
        {64, 0x1b, 1}, {64, 0, 1},          {64, 0xff, 1}, {64, ' ', 1},         {16, (uint64_t)PAYLOAD << 32, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        image made = make(3, PAYLOAD);
        for (unsigned j = 0; j < rows[i].size; j++)
            made.data[rows[i].offset + j] = (uint8_t)(rows[i].value >> 8 * j);
        vy_checksum(made.data, made.size - VY_CACHE_ENTRY_TAIL, made.data + made.size - VY_CACHE_ENTRY_TAIL);
        assert_non_null(parse(made.data, made.size));
        free(made.data);
    }
}

static void head_alone_never_reads_past_what_it_is_given(void **state) {
    (void)state;
    image made = make(3, PAYLOAD);
    for (size_t size = 0; size <= made.size; size++) {
        uint8_t *copy = malloc(size ? size : 1);
        vy_cache_entry entry;
        memcpy(copy, made.data, size);
        const char *problem = vy_cache_entry_parse_head(copy, size, made.size, &entry);
        assert_int_equal(problem == NULL, size >= VY_CACHE_ENTRY_HEAD + sizeof label - 1);
        free(copy);
    }
    free(made.data);
}

static void sizes_that_do_not_fit_are_refused(void **state) {
    (void)state;
    char long_label[VY_CACHE_ENTRY_LABEL + 2];
    memset(long_label, 'a', sizeof long_label);
    long_label[VY_CACHE_ENTRY_LABEL + 1] = 0;
    assert_int_equal(vy_cache_entry_size(long_label, 1), 0);
    long_label[VY_CACHE_ENTRY_LABEL] = 0;
    assert_int_equal(vy_cache_entry_size(long_label, 1), VY_CACHE_ENTRY_MIN + VY_CACHE_ENTRY_LABEL + 1);
    assert_int_equal(vy_cache_entry_size("with space", 1), 0);
    assert_int_equal(vy_cache_entry_size("new\nline", 1), 0);
    assert_int_equal(vy_cache_entry_size("a", SIZE_MAX), 0);
    assert_int_equal(vy_cache_entry_size("a", (size_t)VY_CACHE_ENTRY_MAX), 0);
    assert_int_equal(vy_cache_entry_size("", (size_t)VY_CACHE_ENTRY_MAX - VY_CACHE_ENTRY_MIN), VY_CACHE_ENTRY_MAX);
}

static void names_and_keys_are_one_to_one(void **state) {
    (void)state;
    char name[VY_CACHE_ENTRY_NAME], other[VY_CACHE_ENTRY_NAME + 1];
    vy_cache_key key = cache_key(9), back;
    vy_cache_entry_name(&key, name);
    assert_true(vy_cache_entry_name_parse(name, &back));
    assert_memory_equal(&key, &back, sizeof key);
    for (size_t i = 0; i < strlen(name); i++) {
        memcpy(other, name, sizeof name);
        other[i] = i < 64 ? 'A' : other[i] == 'x' ? 'y' : 'x';
        assert_false(vy_cache_entry_name_parse(other, &back));
    }
    snprintf(other, sizeof other, "%sx", name);
    assert_false(vy_cache_entry_name_parse(other, &back));
    assert_false(vy_cache_entry_name_parse("", &back));
    assert_false(vy_cache_entry_name_parse(VY_CACHE_ENTRY_SUFFIX, &back));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entry_comes_back_as_written),
        cmocka_unit_test(checksum_is_the_published_one),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(every_length_but_its_own_is_noticed),
        cmocka_unit_test(sealed_nonsense_is_noticed),
        cmocka_unit_test(head_alone_never_reads_past_what_it_is_given),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
        cmocka_unit_test(names_and_keys_are_one_to_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
