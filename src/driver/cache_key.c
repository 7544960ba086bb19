/* Keys. Every part is digested on its own and the digests stand side by side, each at its place: whatever the lengths, no two lists of
 * parts give the same bytes, and nothing need be allocated. */
#include "driver/cache_key.h"

#include "base/hash.h"
#include "driver/cache_entry.h"
#include "vyre_build.h"

#include <string.h>

/* A new option needs a field here, or two variants share a key. */
typedef struct encoded_options {
    uint8_t cancellable;
} encoded_options;
_Static_assert(sizeof(vyre_compile_options) == 2 * sizeof(uint32_t),
               "encode the new compile option in encoded_options, then change this size");

/* X(name, address, size): the parts in their order. */
#define PART_LIST(X)                                                                                                   \
    X(format, format, sizeof format)                                                                                   \
    X(version, version, strlen(version))                                                                               \
    X(build, build, strlen(build))                                                                                     \
    X(program, parts->program.bytes, sizeof parts->program.bytes)                                                      \
    X(backend, parts->backend, strlen(parts->backend))                                                                 \
    X(identity, parts->identity.data, parts->identity.size)                                                            \
    X(options, &options, sizeof options)

void vy_cache_key_make_for(const vy_cache_parts *parts, const char *version, const char *build, vy_cache_key *out) {
    static const char format[] = "vyre pipeline cache, format " VY_ENTRY_FORMAT_TEXT;
    const encoded_options options = {.cancellable = parts->options && parts->options->cancellable};
    struct {
#define X(name, address, size) vyre_digest name;
        PART_LIST(X)
#undef X
    } encoded;
#define X(name, address, size) vy_digest(address, size, &encoded.name);
    PART_LIST(X)
#undef X
    vy_digest(&encoded, sizeof encoded, &out->digest);
}

void vy_cache_key_make(const vy_cache_parts *parts, vy_cache_key *out) {
    vy_cache_key_make_for(parts, vyre_version(), vy_cache_build(), out);
}

const char *vy_cache_build(void) {
    return VYRE_BUILD;
}
