/* Examples that hash, against published vectors. */
#include "examples/example.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A set of messages as the examples take them. */
typedef struct messages {
    uint8_t *data;
    uint32_t offsets[64];
    size_t count, size;
} messages;

static void add(messages *m, const void *data, size_t size) {
    m->data = realloc(m->data, m->size + size + 1);
    assert_non_null(m->data);
    if (size)
        memcpy(m->data + m->size, data, size);
    m->size += size;
    m->offsets[++m->count] = (uint32_t)m->size;
}

static void run(example *e, const messages *m, const vyre_scalar *seed) {
    vyre_span inputs[] = {{m->data, m->size}, {m->offsets, (m->count + 1) * sizeof *m->offsets}};
    example_run(e, seed, seed ? 1 : 0, inputs, 2);
}

static void expect_digest(const example *e, size_t message, const char *hex) {
    const uint8_t *digest = (const uint8_t *)e->outputs[0].data + 32 * message;
    char text[65];

    for (int i = 0; i < 32; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, hex);
}

/* FIPS 180-4 examples and NIST's SHA test vectors for hashing byte-oriented messages. */
static void sha256_gives_the_nist_digests(void **state) {
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static const char long_one[] = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklm"
                                   "nopqrlmnopqrsmnopqrstnopqrstu";
    messages m = {0};
    example e;

    (void)state;
    add(&m, "", 0);
    add(&m, "abc", 3);
    add(&m, two_blocks, sizeof two_blocks - 1);
    add(&m, long_one, sizeof long_one - 1);
    add(&m, "\xd3", 1);
    add(&m, "\xbd", 1);
    add(&m, "\xc9\x8c\x8e\x55", 4);
    example_open(&e, "sha256.vyre", NULL, NULL, NULL);
    e.checks = VYRE_CHECK_ALL;
    run(&e, &m, NULL);
    expect_digest(&e, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_digest(&e, 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_digest(&e, 2, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect_digest(&e, 3, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    expect_digest(&e, 4, "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1");
    expect_digest(&e, 5, "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
    expect_digest(&e, 6, "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504");
    example_close(&e);
    free(m.data);
}

static void sha256_pads_at_every_length(void **state) {
    /* SHA-256 of 55, 56, 63, 64 and 119 letters a: the lengths around which padding needs another block. */
    static const struct {
        size_t size;
        const char *digest;
    } rows[] = {
        {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
    };
    char letters[128];
    messages m = {0};
    example e;

    (void)state;
    memset(letters, 'a', sizeof letters);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add(&m, letters, rows[i].size);
    example_open(&e, "sha256.vyre", NULL, "LANES", "4");
    run(&e, &m, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_digest(&e, i, rows[i].digest);
    example_close(&e);
    free(m.data);
}

/* FNV reference implementation, test_fnv.c: 64-bit FNV-1a. */
static void fnv1a_gives_the_published_values(void **state) {
    static const struct {
        const char *text;
        uint64_t hash;
    } rows[] = {
        {"", 0xcbf29ce484222325},      {"a", 0xaf63dc4c8601ec8c},      {"b", 0xaf63df4c8601f1a5},
        {"fo", 0x08985907b541d342},    {"foo", 0xdcb27518fed9d577},    {"foob", 0xdd120e790c2512af},
        {"fooba", 0xcac165afa2fef40a}, {"foobar", 0x85944171f73967e8},
    };
    uint64_t expected[sizeof rows / sizeof *rows];
    messages m = {0};
    example e;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        add(&m, rows[i].text, strlen(rows[i].text));
        expected[i] = rows[i].hash;
    }
    example_open(&e, "hash.vyre", "fnv1a", NULL, NULL);
    run(&e, &m, NULL);
    example_expect(&e, 0, expected, sizeof expected);
    example_close(&e);
    free(m.data);
}

/* The reference implementation's own sanity buffer (xxHash, tests/sanity_test.c), at lengths that reach every branch.
 * */
static const size_t sizes[] = {0, 1, 3, 4, 5, 7, 8, 11, 12, 14, 15, 16, 17, 31, 32, 33, 36, 47, 63, 64, 65, 101, 222};

static void make_sanity_messages(messages *m) {
    uint8_t buffer[256];
    uint64_t generator = 2654435761u;

    for (size_t i = 0; i < sizeof buffer; i++) {
        buffer[i] = (uint8_t)(generator >> 56);
        generator *= 11400714785074694797u;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        add(m, buffer, sizes[i]);
}

static void xxh32_agrees_with_the_reference(void **state) {
    static const uint32_t seeds[] = {0, 2654435761u};
    uint32_t expected[sizeof sizes / sizeof *sizes];
    messages m = {0};
    example e;

    (void)state;
    make_sanity_messages(&m);
    /* From the published list of the sanity test. */
    assert_int_equal(XXH32(m.data, 0, 0), 0x02cc5d05);
    assert_int_equal(XXH32(m.data + m.offsets[1], 1, 0), 0xcf65b03e);
    example_open(&e, "hash.vyre", "xxh32", NULL, NULL);
    for (size_t s = 0; s < 2; s++) {
        vyre_scalar seed = vyre_scalar_u32(seeds[s]);
        for (size_t i = 0; i < m.count; i++)
            expected[i] = XXH32(m.data + m.offsets[i], sizes[i], seeds[s]);
        run(&e, &m, &seed);
        example_expect(&e, 0, expected, sizeof expected);
    }
    example_close(&e);
    free(m.data);
}

static void xxh64_agrees_with_the_reference(void **state) {
    static const uint64_t seeds[] = {0, 2654435761u};
    uint64_t expected[sizeof sizes / sizeof *sizes];
    messages m = {0};
    example e;

    (void)state;
    make_sanity_messages(&m);
    assert_true(XXH64(m.data, 0, 0) == 0xef46db3751d8e999);
    assert_true(XXH64(m.data + m.offsets[1], 1, 0) == 0xe934a84adb052768);
    example_open(&e, "hash.vyre", "xxh64", NULL, NULL);
    for (size_t s = 0; s < 2; s++) {
        vyre_scalar seed = vyre_scalar_u64(seeds[s]);
        for (size_t i = 0; i < m.count; i++)
            expected[i] = XXH64(m.data + m.offsets[i], sizes[i], seeds[s]);
        run(&e, &m, &seed);
        example_expect(&e, 0, expected, sizeof expected);
    }
    example_close(&e);
    free(m.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_gives_the_nist_digests),    cmocka_unit_test(sha256_pads_at_every_length),
        cmocka_unit_test(fnv1a_gives_the_published_values), cmocka_unit_test(xxh32_agrees_with_the_reference),
        cmocka_unit_test(xxh64_agrees_with_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
