/* Hashes: a fast one for tables in memory, a cryptographic one for identity. */
#ifndef VY_BASE_HASH_H
#define VY_BASE_HASH_H

#include "vyre/base.h"

/* XXH3. For tables in memory only: never stored, never an identity. */
uint64_t vy_hash(const void *data, size_t size);

/* XXH3-128 in its canonical form, which may be stored: shows that bytes are those that were written, at thirty times
 * the speed of a digest. Against accidents only: whoever may change the bytes can make a checksum too. */
void vy_checksum(const void *data, size_t size, uint8_t out[16]);

/* BLAKE2b-256 of the bytes. */
void vy_digest(const void *data, size_t size, vyre_digest *out);

#endif
