/* String interning: a pool of distinct strings; equal strings have equal symbols. */
#ifndef VY_BASE_INTERN_H
#define VY_BASE_INTERN_H

#include "base/memory.h"

/* A symbol is the offset of a NUL-terminated string in its pool; 0 is "". */
typedef uint32_t vy_symbol;
#define VY_SYMBOL_INVALID UINT32_MAX
typedef struct vy_intern_slot {
    vy_symbol name; /* empty = UINT32_MAX */
    uint32_t hash;  /* of its text, so that rehashing does not read the pool */
} vy_intern_slot;
typedef struct vy_intern_pool {
    char *pool;
    uint32_t size, capacity;
    vy_intern_slot *slots; /* open addressing */
    uint32_t slot_count, used;
} vy_intern_pool;
/* A text ends at its first NUL or at `length`. The functions that add return VY_SYMBOL_INVALID when out of memory. */
vy_symbol vy_intern_pool_add(vy_intern_pool *names, const char *text,
                             size_t length); /* VY_SYMBOL_INVALID when out of memory */
vy_symbol vy_intern_pool_add_numbered(vy_intern_pool *names, char letter,
                                      uint32_t number); /* the same of a text as v123 */
vy_symbol vy_intern_pool_find(const vy_intern_pool *names, const char *text,
                              size_t length); /* VY_SYMBOL_INVALID if absent */
int vy_intern_pool_reserve(vy_intern_pool *names,
                           const vy_intern_pool *like); /* room for as many; 0 when out of memory */
int vy_intern_pool_reserve_more(vy_intern_pool *names, uint32_t count,
                                uint32_t length); /* so many more, of that length */
int vy_intern_pool_copy(vy_intern_pool *to,
                        const vy_intern_pool *from); /* to an empty pool, with the same offsets; 0 when out of memory */
void vy_intern_pool_free(vy_intern_pool *names);

#endif
