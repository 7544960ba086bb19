/* Interner: assigns each distinct text a small number that stays valid for the life of the process.
 *
 * Lookup is lock-free. A table is immutable except for slots, each of which changes once from empty to full. When a
 * table is full, a larger one replaces it; the old one is kept, because readers may still use it. The old tables
 * together are smaller than the newest one. Nothing is freed. */
#ifndef VY_DIALECT_INTERNER_H
#define VY_DIALECT_INTERNER_H

#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    VY_INTERNER_LIMIT = 1 << 20, /* texts */
    VY_INTERNER_FIRST =
        64, /* texts in the first segment; each later segment holds as many as all earlier ones together */
    VY_INTERNER_SEGMENTS = 15
};

typedef struct vy_interned {
    uint32_t number; /* from 1 */
    uint32_t length;
    uint64_t hash;
    char text[]; /* NUL-terminated */
} vy_interned;

typedef _Atomic(const vy_interned *) vy_interned_slot;
struct vy_interner_table;

typedef struct vy_interner {
    const char *what; /* for messages: "op ids" */
    pthread_mutex_t adding;
    _Atomic(struct vy_interner_table *) table;
    _Atomic(vy_interned_slot *) segments[VY_INTERNER_SEGMENTS]; /* by number */
    atomic_uint count;
} vy_interner;
#define VY_INTERNER_INIT(what_text)                                                                                    \
    { .what = (what_text), .adding = PTHREAD_MUTEX_INITIALIZER }

/* Returns the number of a text, or 0 if it is not interned. */
uint32_t vy_interner_find(vy_interner *interner, const char *text, size_t length);
/* Returns the number of a text and interns it if necessary. On NO_MEMORY and LIMIT nothing is added. */
vyre_status vy_interner_add(vy_interner *interner, const char *text, size_t length, uint32_t *out, vyre_error *error);
/* Returns the text of a number, or NULL if the number is unused. The text is never freed. */
const char *vy_interner_text(vy_interner *interner, uint32_t number);

/* The interners of op ids and of extension targets. */
extern vy_interner vy_op_ids;
extern vy_interner vy_extension_targets;

#endif
