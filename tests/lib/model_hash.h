/* The dialect `hash`: libsodium, zlib and xxHash where they have the function, else its published definition. */
#ifndef VY_TESTS_MODEL_HASH_H
#define VY_TESTS_MODEL_HASH_H

#include "lib/map.h"

#include <sodium.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zlib.h>

/* Writes the digest as the words the op gives, little-endian. */
typedef void hash_model(const uint8_t *data, size_t size, uint64_t seed0, uint64_t seed1, void *digest);

typedef struct hash_function {
    const char *name;
    const char *call; /* of `data`, `at`, `size`, and the params seed0 and seed1; results are stored to digests[i] */
    const char *type; /* of a word of the digest */
    size_t words;
    hash_model *model;
} hash_function;

static void hash_fnv1a_u32(const uint8_t *data, size_t size, uint64_t seed0, uint64_t seed1, void *digest) {
    uint32_t h = 2166136261u;
    (void)seed0, (void)seed1;
    for (size_t i = 0; i < size; i++) {
        h ^= data[i];
        h *= 16777619u;
    }
    memcpy(digest, &h, sizeof h);
}

static void hash_fnv1a_u64(const uint8_t *data, size_t size, uint64_t seed0, uint64_t seed1, void *digest) {
    uint64_t h = 14695981039346656037u;
    (void)seed0, (void)seed1;
    for (size_t i = 0; i < size; i++) {
        h ^= data[i];
        h *= 1099511628211u;
    }
    memcpy(digest, &h, sizeof h);
}

static void hash_xxhash_u32(const uint8_t *data, size_t size, uint64_t seed0, uint64_t seed1, void *digest) {
    uint32_t h = XXH32(data, size, (uint32_t)seed0);
    (void)seed1;
    memcpy(digest, &h, sizeof h);
}

static void hash_xxhash_u64(const uint8_t *data, size_t size, uint64_t seed0, uint64_t seed1, void *digest) {
    uint64_t h = XXH64(data, size, seed0);
    (void)seed1;
    memcpy(digest, &h, sizeof h);
}

static uint32_t hash_rotate(uint32_t x, int by) {
    return (x << by) | (x >> (32 - by));
}

/* From the published description of MurmurHash3_x86_32: body, tail, finalisation. */
static void hash_murmur3(const uint8_t *data, size_t size, uint64_t seed0, uint64_t seed1, void *digest) {
    uint32_t h = (uint32_t)seed0, k;
    size_t blocks = size / 4;
    (void)seed1;
    for (size_t i = 0; i < blocks; i++) {
        memcpy(&k, data + 4 * i, 4);
        h ^= hash_rotate(k * 0xcc9e2d51, 15) * 0x1b873593;
        h = hash_rotate(h, 13);
        h = h * 5 + 0xe6546b64;
    }
    k = 0;
    switch (size & 3) {
    case 3:
        k ^= (uint32_t)data[4 * blocks + 2] << 16; /* fall through */
    case 2:
        k ^= (uint32_t)data[4 * blocks + 1] << 8; /* fall through */
    case 1:
        k ^= data[4 * blocks];
        h ^= hash_rotate(k * 0xcc9e2d51, 15) * 0x1b873593;
    }
    h ^= (uint32_t)size;
    h ^= h >> 16;
    h *= 0x85ebca6b;
    h ^= h >> 13;
    h *= 0xc2b2ae35;
    h ^= h >> 16;
    memcpy(digest, &h, sizeof h);
}

static void hash_crc32(const uint8_t *data, size_t size, uint64_t seed0, uint64_t seed1, void *digest) {
    uint32_t crc = (uint32_t)crc32(seed0 & UINT32_MAX, data, (uInt)size);
    (void)seed1;
    if (size == 0)
        crc = (uint32_t)seed0; /* zlib takes NULL to mean: the initial value */
    memcpy(digest, &crc, sizeof crc);
}

/* By a table of the remainders of all bytes, with the generator 1EDC6F41 as it is written, highest power first; data
 * and result are reflected on the way in and out. */
static uint32_t hash_reflect(uint32_t x, int bits) {
    uint32_t r = 0;
    for (int i = 0; i < bits; i++)
        r |= (x >> i & 1) << (bits - 1 - i);
    return r;
}

static void hash_crc32c(const uint8_t *data, size_t size, uint64_t seed0, uint64_t seed1, void *digest) {
    static uint32_t table[256], mirror[256];
    uint32_t crc = hash_reflect(~(uint32_t)seed0, 32);
    (void)seed1;
    for (uint32_t i = 0; table[255] == 0 && i < 256; i++) {
        table[i] = i << 24;
        mirror[i] = hash_reflect(i, 8);
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] & 0x80000000 ? table[i] << 1 ^ 0x1edc6f41 : table[i] << 1;
    }
    for (size_t i = 0; i < size; i++)
        crc = crc << 8 ^ table[crc >> 24 ^ mirror[data[i]]];
    crc = ~hash_reflect(crc, 32);
    memcpy(digest, &crc, sizeof crc);
}

static void hash_siphash(const uint8_t *data, size_t size, uint64_t seed0, uint64_t seed1, void *digest) {
    uint64_t key[2] = {seed0, seed1};
    crypto_shorthash(digest, data, size, (const unsigned char *)key);
}

static void hash_sha256(const uint8_t *data, size_t size, uint64_t seed0, uint64_t seed1, void *digest) {
    uint8_t bytes[32], *out = digest;
    (void)seed0, (void)seed1;
    crypto_hash_sha256(bytes, data, size);
    for (size_t i = 0; i < 32; i++) /* the words are big-endian */
        out[i] = bytes[i ^ 3];
}

static void hash_blake2b(const uint8_t *data, size_t size, uint64_t seed0, uint64_t seed1, void *digest) {
    (void)seed0, (void)seed1;
    crypto_generichash_blake2b(digest, 64, data, size, NULL, 0);
}

static const hash_function hash_functions[] = {
    {"fnv1a_u32", "digests[i] = fnv1a_u32(data, at, size)", "u32", 1, hash_fnv1a_u32},
    {"fnv1a_u64", "digests[i] = fnv1a_u64(data, at, size)", "u64", 1, hash_fnv1a_u64},
    {"xxhash_u32", "digests[i] = xxhash_u32(data, at, size, u32(seed0))", "u32", 1, hash_xxhash_u32},
    {"xxhash_u64", "digests[i] = xxhash_u64(data, at, size, seed0)", "u64", 1, hash_xxhash_u64},
    {"murmur3_u32", "digests[i] = murmur3_u32(data, at, size, u32(seed0))", "u32", 1, hash_murmur3},
    {"crc32", "digests[i] = crc32(data, at, size, u32(seed0))", "u32", 1, hash_crc32},
    {"crc32c", "digests[i] = crc32c(data, at, size, u32(seed0))", "u32", 1, hash_crc32c},
    {"siphash_u64", "digests[i] = siphash_u64(data, at, size, seed0, seed1)", "u64", 1, hash_siphash},
    {"sha256", "sha256(data, at, size, words)\n for k in 0u32 .. 8 { digests[8 * i + k] = words[k] }", "u32", 8,
     hash_sha256},
    {"blake2b", "blake2b(data, at, size, words)\n for k in 0u32 .. 8 { digests[8 * i + k] = words[k] }", "u64", 8,
     hash_blake2b},
};

static inline const hash_function *hash_find(const char *name) {
    for (size_t i = 0; i < MAP_COUNT(hash_functions); i++)
        if (strcmp(hash_functions[i].name, name) == 0)
            return &hash_functions[i];
    return NULL;
}

static inline void hash_open(library *l, const hash_function *f) {
    char text[2048];

    snprintf(text, sizeof text,
             "program ranges {\n"
             "  param seed0 : u64\n"
             "  param seed1 : u64\n"
             "  buffer data : u8 read\n"
             "  buffer offsets : u32 read\n"
             "  buffer digests : %s write count (len(offsets) - 1) * %zu\n"
             "  workgroup 64\n"
             "  grid elements len(offsets) - 1\n"
             "  array words : %s [8] private\n"
             "  let i = global_id.x\n"
             "  if i + 1 < len(offsets) {\n"
             "    let at = offsets[i]\n"
             "    let size = offsets[i + 1] - at\n"
             "    %s\n"
             "  }\n"
             "}\n",
             f->type, f->words, f->type, f->call);
    library_open(l, "hash", text);
    l->seeds = 0; /* invocations share nothing */
}

/* Hashes the ranges between `count` + 1 offsets and compares with the model. */
static inline void hash_ranges(const hash_function *f, library *l, const uint8_t *data, const uint32_t *offsets,
                               size_t count, uint64_t seed0, uint64_t seed1) {
    vyre_scalar params[] = {vyre_scalar_u64(seed0), vyre_scalar_u64(seed1)};
    vyre_span inputs[] = {{data, offsets[count]}, {offsets, (count + 1) * sizeof *offsets}};
    size_t size = f->words * (f->type[1] == '6' ? 8 : 4);
    uint8_t digest[64];

    library_run(l, params, 2, inputs, 2);
    assert_int_equal(l->outputs[0].size, count * size);
    for (size_t i = 0; i < count; i++) {
        f->model(data + offsets[i], offsets[i + 1] - offsets[i], seed0, seed1, digest);
        if (memcmp((const char *)l->outputs[0].data + i * size, digest, size) != 0)
            fail_msg("%s of %u bytes (seeds %llx, %llx) differs from the model", f->name, offsets[i + 1] - offsets[i],
                     (unsigned long long)seed0, (unsigned long long)seed1);
    }
}

/* The finalisers as MurmurHash3 publishes them. */
static void hash_mix_u32(const uint64_t *in, uint64_t *out) {
    uint32_t h = (uint32_t)in[0];
    h ^= h >> 16;
    h *= 0x85ebca6b;
    h ^= h >> 13;
    h *= 0xc2b2ae35;
    h ^= h >> 16;
    out[0] = h;
}

static void hash_mix_u64(const uint64_t *in, uint64_t *out) {
    uint64_t k = in[0];
    k ^= k >> 33;
    k *= 0xff51afd7ed558ccd;
    k ^= k >> 33;
    k *= 0xc4ceb9fe1a85ec53;
    k ^= k >> 33;
    out[0] = k;
}

static const map_function hash_scalars[] = {
    {"mix_u32", "u32 -> u32", hash_mix_u32},
    {"mix_u64", "u64 -> u64", hash_mix_u64},
};

#endif
