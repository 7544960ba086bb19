/* The key of a compiled pipeline: a digest of everything that decides the binary, and of nothing else.
 *
 * A component that is forgotten here becomes a wrong hit, the worst a cache can do. The compile options are pinned by their
 * size: who adds one is stopped by the compiler. */
#ifndef VY_DRIVER_CACHE_KEY_H
#define VY_DRIVER_CACHE_KEY_H

#include "vyre/backend.h"

/* Equal keys: the same binary. Also the name of the entry on disk, and good for a table in memory. */
typedef struct vy_cache_key {
    vyre_digest digest;
} vy_cache_key;

/* What a key is made of. All borrowed. */
typedef struct vy_cache_parts {
    /* Of the program as it is compiled, functions and ops inlined: what a call of an op means is no part of the caller's own fingerprint. */
    vyre_digest program;
    const char *backend; /* id */
    /* What the backend's cache_identity says: device, driver, target, numerics profile; and the build of its module if that is not ours. */
    vyre_span identity;
    const vyre_compile_options *options; /* NULL = all zero */
} vy_cache_parts;

/* Cannot fail, allocates nothing. The version and the build of this library are added here. */
void vy_cache_key_make(const vy_cache_parts *parts, vy_cache_key *out);
/* The same for a library of another version or build: for tests. */
void vy_cache_key_make_for(const vy_cache_parts *parts, const char *version, const char *build, vy_cache_key *out);

/* A digest of the library's sources, as text: another emitter, another build. The same sources give the same text on every machine. */
const char *vy_cache_build(void);

/* A digest that names the build of the executable or shared library that an address lies in, wherever its file is; zeros if it lies in none. For
 * backends that are not the library's own: a part of their identity. Takes microseconds, or milliseconds where a linker wrote no build id. */
void vy_module_build_id(const void *code, vyre_digest *out);

#endif
