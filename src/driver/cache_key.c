/* Keys. What has a fixed size stands as it is, what has none by its digest, each at its place: whatever the lengths, no two lists of parts
 * give the same bytes, and nothing need be allocated. */
#include "driver/cache_key.h"

#include "base/hash.h"
#include "driver/cache_entry.h"
#include "vyre_build.h"

#include <string.h>

/* What a deadline allows to be made is what is made without one. */
_Static_assert(sizeof(vyre_compile_options) == 2 * sizeof(uint32_t) + sizeof(uint64_t),
               "give the new compile option a field in `encoded`, or two variants share a key; then change this size");

/* What is digested. Bytes only, so that there is no padding. */
typedef struct encoded {
    char format[32];
    vyre_digest version, build, program, backend, identity;
    uint8_t cancellable;
} encoded;
_Static_assert(sizeof(encoded) == 32 + 5 * sizeof(vyre_digest) + 1, "nothing but the fields is digested");

void vy_cache_key_make_for(const vy_cache_parts *parts, const char *version, const char *build, vy_cache_key *out) {
    encoded encoded = {.format = "vyre pipeline cache " VY_CACHE_ENTRY_FORMAT_TEXT,
                       .program = parts->program,
                       .cancellable = parts->options && parts->options->cancellable};
    vy_digest(version, strlen(version), &encoded.version);
    vy_digest(build, strlen(build), &encoded.build);
    vy_digest(parts->backend, strlen(parts->backend), &encoded.backend);
    vy_digest(parts->identity.data, parts->identity.size, &encoded.identity);
    vy_digest(&encoded, sizeof encoded, &out->digest);
}

void vy_cache_key_make(const vy_cache_parts *parts, vy_cache_key *out) {
    vy_cache_key_make_for(parts, vyre_version(), vy_cache_build(), out);
}

const char *vy_cache_build(void) {
    return VYRE_BUILD;
}
