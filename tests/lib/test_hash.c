/* The dialect `hash` against published vectors and against other libraries. */
#include "lib/model_hash.h"

static void finalisers_are_those_of_murmur3(void **state) {
    (void)state;
    map_check("hash", hash_scalars, MAP_COUNT(hash_scalars));
}

/* Ranges of every length around the block sizes, each starting where the last one ended, so at every alignment. */
static void every_length_gives_what_the_model_gives(void **state) {
    static const uint32_t more[] = {255, 256, 257, 1023, 1025};
    enum { SHORT = 140, COUNT = SHORT + 5 };
    static uint8_t data[SHORT * SHORT / 2 + 4000];
    uint32_t offsets[COUNT + 1] = {0};
    vy_random random = vy_random_start(3);
    library l;

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        offsets[i + 1] = offsets[i] + (i < SHORT ? (uint32_t)i : more[i - SHORT]);
    assert_true(offsets[COUNT] <= sizeof data);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)vy_random_next(&random);
    for (size_t i = 0; i < MAP_COUNT(hash_functions); i++) {
        hash_open(&l, &hash_functions[i]);
        hash_ranges(&hash_functions[i], &l, data, offsets, COUNT, 0, 0);
        hash_ranges(&hash_functions[i], &l, data, offsets, COUNT, vy_random_next(&random), vy_random_next(&random));
        hash_ranges(&hash_functions[i], &l, data, offsets, COUNT, UINT64_MAX, UINT64_MAX);
        hash_ranges(&hash_functions[i], &l, data, offsets, 0, 0, 0);
        library_close(&l);
    }
}

typedef struct vector {
    const char *function, *text;
    uint64_t seed0, seed1, digest;
} vector;

/* Where they stand: draft-eastlake-fnv; the xxHash specification's own program; SMHasher's verification as listed by
 * its users; "check" of the CRC catalogue; appendix A of the SipHash paper and its reference vectors. */
static const vector vectors[] = {
    {"fnv1a_u32", "", 0, 0, 0x811c9dc5},
    {"fnv1a_u32", "a", 0, 0, 0xe40c292c},
    {"fnv1a_u32", "foobar", 0, 0, 0xbf9cf968},
    {"fnv1a_u64", "", 0, 0, 0xcbf29ce484222325},
    {"fnv1a_u64", "a", 0, 0, 0xaf63dc4c8601ec8c},
    {"fnv1a_u64", "foobar", 0, 0, 0x85944171f73967e8},
    {"xxhash_u32", "", 0, 0, 0x02cc5d05},
    {"xxhash_u64", "", 0, 0, 0xef46db3751d8e999},
    {"murmur3_u32", "", 0, 0, 0},
    {"murmur3_u32", "", 1, 0, 0x514e28b7},
    {"murmur3_u32", "", 0xffffffff, 0, 0x81f16f39},
    {"murmur3_u32", "\xff\xff\xff\xff", 0, 0, 0x76293b50},
    {"murmur3_u32", "!Ce\x87", 0, 0, 0xf55b516b},
    {"murmur3_u32", "!Ce\x87", 0x5082edee, 0, 0x2362f9de},
    {"murmur3_u32", "!Ce", 0, 0, 0x7e4a8634},
    {"murmur3_u32", "!C", 0, 0, 0xa0f7b07a},
    {"murmur3_u32", "!", 0, 0, 0x72661cf4},
    {"murmur3_u32", "aaaa", 0x9747b28c, 0, 0x5a97808a},
    {"murmur3_u32", "Hello, world!", 0x9747b28c, 0, 0x24884cba},
    {"crc32", "123456789", 0, 0, 0xcbf43926},
    {"crc32c", "123456789", 0, 0, 0xe3069283},
    {"siphash_u64", "", 0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x726fdb47dd0e0e31},
};

static void digest_of(const char *function, const void *text, size_t size, uint64_t seed0, uint64_t seed1,
                      void *digest) {
    const uint32_t offsets[] = {0, (uint32_t)size};
    vyre_scalar params[] = {vyre_scalar_u64(seed0), vyre_scalar_u64(seed1)};
    vyre_span inputs[] = {{text, size}, LIBRARY_SPAN(offsets)};
    library l;

    hash_open(&l, hash_find(function));
    library_run(&l, params, 2, inputs, 2);
    memcpy(digest, l.outputs[0].data, l.outputs[0].size);
    library_close(&l);
}

static void published_vectors_hold(void **state) {
    (void)state;
    for (size_t i = 0; i < MAP_COUNT(vectors); i++) {
        uint64_t digest = 0;
        digest_of(vectors[i].function, vectors[i].text, strlen(vectors[i].text), vectors[i].seed0, vectors[i].seed1,
                  &digest);
        if (digest != vectors[i].digest)
            fail_msg("%s(\"%s\") is %llx, published is %llx", vectors[i].function, vectors[i].text,
                     (unsigned long long)digest, (unsigned long long)vectors[i].digest);
    }
}

static void siphash_of_fifteen_bytes_is_that_of_the_paper(void **state) {
    const uint8_t text[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    uint64_t digest;

    (void)state;
    digest_of("siphash_u64", text, sizeof text, 0x0706050403020100, 0x0f0e0d0c0b0a0908, &digest);
    assert_int_equal(digest, 0xa129ca6149be45e5);
}

static void sha256_of_abc_is_that_of_the_standard(void **state) {
    const uint32_t expected[] = {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
                                 0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad};
    uint32_t digest[8];

    (void)state;
    digest_of("sha256", "abc", 3, 0, 0, digest);
    assert_memory_equal(digest, expected, sizeof digest);
}

static void blake2b_of_abc_is_that_of_the_rfc(void **state) {
    const uint8_t expected[] = {0xba, 0x80, 0xa5, 0x3f, 0x98, 0x1c, 0x4d, 0x0d, 0x6a, 0x27, 0x97, 0xb6, 0x9f,
                                0x12, 0xf6, 0xe9, 0x4c, 0x21, 0x2f, 0x14, 0x68, 0x5a, 0xc4, 0xb7, 0x4b, 0x12,
                                0xbb, 0x6f, 0xdb, 0xff, 0xa2, 0xd1, 0x7d, 0x87, 0xc5, 0x39, 0x2a, 0xab, 0x79,
                                0x2d, 0xc2, 0x52, 0xd5, 0xde, 0x45, 0x33, 0xcc, 0x95, 0x18, 0xd3, 0x8a, 0xa8,
                                0xdb, 0xf1, 0x92, 0x5a, 0xb9, 0x23, 0x86, 0xed, 0xd4, 0x00, 0x99, 0x23};
    uint8_t digest[64];

    (void)state;
    digest_of("blake2b", "abc", 3, 0, 0, digest);
    assert_memory_equal(digest, expected, sizeof digest);
}

/* A CRC of two halves, the second going on from the first, is the CRC of the whole. */
static void a_crc_goes_on_where_it_stopped(void **state) {
    static const char *const names[] = {"crc32", "crc32c"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uint32_t first, both, whole;
        digest_of(names[i], "1234", 4, 0, 0, &first);
        digest_of(names[i], "56789", 5, first, 0, &both);
        digest_of(names[i], "123456789", 9, 0, 0, &whole);
        assert_int_equal(both, whole);
    }
}

/* From any state, not only from those that messages reach. */
static void sha256_block_compresses_any_state(void **state) {
    static const char text[] = "program block {\n"
                               "  buffer state : u32 read_write\n"
                               "  buffer message : u32 read\n"
                               "  workgroup 32\n"
                               "  grid elements len(state) / 8\n"
                               "  array s : u32 [8] private\n"
                               "  array w : u32 [16] private\n"
                               "  let i = global_id.x\n"
                               "  if i < len(state) / 8 {\n"
                               "    for k in 0u32 .. 8 { s[k] = state[8 * i + k] }\n"
                               "    for k in 0u32 .. 16 { w[k] = message[16 * i + k] }\n"
                               "    sha256_block(s, w)\n"
                               "    for k in 0u32 .. 8 { state[8 * i + k] = s[k] }\n"
                               "  }\n"
                               "}\n";
    enum { N = 257 };
    static uint32_t states[8 * N], blocks[16 * N], expected[8 * N];
    vy_random random = vy_random_start(8);
    library l;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        crypto_hash_sha256_state model;
        uint8_t bytes[64];
        crypto_hash_sha256_init(&model);
        for (size_t k = 0; k < 8; k++)
            model.state[k] = states[8 * i + k] = (uint32_t)vy_random_next(&random);
        for (size_t k = 0; k < 64; k++)
            bytes[k] = (uint8_t)vy_random_next(&random);
        for (size_t k = 0; k < 16; k++)
            blocks[16 * i + k] = (uint32_t)bytes[4 * k] << 24 | (uint32_t)bytes[4 * k + 1] << 16 |
                                 (uint32_t)bytes[4 * k + 2] << 8 | bytes[4 * k + 3];
        crypto_hash_sha256_update(&model, bytes, 64);
        memcpy(expected + 8 * i, model.state, 32);
    }
    library_open(&l, "hash", text);
    library_run(&l, NULL, 0, (vyre_span[]){LIBRARY_SPAN(states), LIBRARY_SPAN(blocks)}, 2);
    library_expect(&l, 0, expected, sizeof expected);
    library_close(&l);
}

static void bytes_past_the_end_count_as_zero(void **state) {
    const uint32_t offsets[] = {0, 9};
    const uint8_t data[] = {1, 2, 3, 4, 5}, padded[9] = {1, 2, 3, 4, 5};
    vyre_scalar params[] = {vyre_scalar_u64(0), vyre_scalar_u64(0)};
    vyre_span inputs[] = {LIBRARY_SPAN(data), LIBRARY_SPAN(offsets)};

    (void)state;
    for (size_t i = 0; i < MAP_COUNT(hash_functions); i++) {
        uint8_t digest[64];
        library l;
        hash_open(&l, &hash_functions[i]);
        l.checks = 0;
        library_run(&l, params, 2, inputs, 2);
        hash_functions[i].model(padded, 9, 0, 0, digest);
        library_expect(&l, 0, digest, l.outputs[0].size);
        library_close(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finalisers_are_those_of_murmur3),
        cmocka_unit_test(every_length_gives_what_the_model_gives),
        cmocka_unit_test(published_vectors_hold),
        cmocka_unit_test(siphash_of_fifteen_bytes_is_that_of_the_paper),
        cmocka_unit_test(sha256_of_abc_is_that_of_the_standard),
        cmocka_unit_test(blake2b_of_abc_is_that_of_the_rfc),
        cmocka_unit_test(a_crc_goes_on_where_it_stopped),
        cmocka_unit_test(sha256_block_compresses_any_state),
        cmocka_unit_test(bytes_past_the_end_count_as_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
