/* Hashes: a fast one for tables in memory, a cryptographic one for identity. */
#ifndef VY_BASE_HASH_H
#define VY_BASE_HASH_H

#include "vyre/base.h"

/* XXH3. For tables in memory only: never stored, never an identity. */
uint64_t vy_hash(const void *data, size_t size);

/* BLAKE2b-256 of the bytes. */
void vy_digest(const void *data, size_t size, vyre_digest *out);

#endif
