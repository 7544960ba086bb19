/* Cache key of a compiled pipeline: a digest of everything that determines the binary, and of nothing else.
 *
 * A missing component causes a wrong hit, the worst failure of a cache. A static assertion on the size of the compile
 * options stops the build when an option is added. */
#ifndef VY_DRIVER_CACHE_KEY_H
#define VY_DRIVER_CACHE_KEY_H

#include "vyre/backend.h"

/* Equal keys mean equal binaries. The key is also the name of the entry on disk and the key of the table in memory. */
typedef struct vy_cache_key {
    vyre_digest digest;
} vy_cache_key;

/* The components of a key. All borrowed. */
typedef struct vy_cache_parts {
    /* Fingerprint of the program as compiled, with functions and ops inlined. The fingerprint of a caller does not
     * cover the bodies of the ops it calls. */
    vyre_digest program;
    const char *backend; /* id */
    /* The result of the backend's cache_identity (device, driver, target, numerics profile), and the build id of its
     * module if that is not the library. */
    vyre_span identity;
    const vyre_compile_options *options; /* NULL: all zero */
} vy_cache_parts;

/* Cannot fail, allocates nothing. Adds the version and the build of this library. */
void vy_cache_key_make(const vy_cache_parts *parts, vy_cache_key *out);
/* The same for a library of another version or build: for tests. */
void vy_cache_key_make_for(const vy_cache_parts *parts, const char *version, const char *build, vy_cache_key *out);

/* A digest of the library's sources, as text: it differs if any emitter differs. The same sources yield the same text
 * on every machine. */
const char *vy_cache_build(void);

/* A digest that identifies the build of the executable or shared library that contains an address, independent of its
 * path; zeros if none contains it. Part of the identity of backends in other modules. Costs microseconds, or
 * milliseconds if the module has no build id. */
void vy_module_build_id(const void *code, vyre_digest *out);

#endif
