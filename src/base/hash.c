/* Hashes (hash.h). BLAKE2b of libsodium works without sodium_init; until that is called, the portable code runs. */
#include "base/hash.h"

#include <sodium.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t vy_hash(const void *data, size_t size) {
    return XXH3_64bits(data, size);
}

void vy_checksum(const void *data, size_t size, uint8_t out[16]) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
    memcpy(out, canonical.digest, sizeof canonical.digest);
}

void vy_digest(const void *data, size_t size, vyre_digest *out) {
    crypto_generichash(out->bytes, sizeof out->bytes, data, size, NULL, 0);
}

void vyre_digest_format(const vyre_digest *digest, char text[65]) {
    static const char digits[] = "0123456789abcdef";
    if (text && !digest)
        text[0] = 0;
    if (!text || !digest)
        return;
    for (size_t i = 0; i < sizeof digest->bytes; i++) {
        text[2 * i] = digits[digest->bytes[i] >> 4];
        text[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    text[64] = 0;
}
