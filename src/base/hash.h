/* Hashes: XXH3 for tables in memory and checksums, BLAKE2b for identity. */
#ifndef VY_BASE_HASH_H
#define VY_BASE_HASH_H

#include "vyre/base.h"

/* XXH3. For tables in memory only: never stored, never used as an identity. */
uint64_t vy_hash(const void *data, size_t size);

/* XXH3-128 in its canonical form, which may be stored: detects accidental changes at thirty times the speed of a
 * digest. It is not a protection against an attacker, which can compute it, too. */
void vy_checksum(const void *data, size_t size, uint8_t out[16]);

/* BLAKE2b-256 of the bytes. */
void vy_digest(const void *data, size_t size, vyre_digest *out);

#endif
