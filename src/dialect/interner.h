/* The interner: texts that get a small number, the same for the life of the process.
 *
 * Finding takes no lock: tables are immutable but for slots that go from empty to full once, and a larger table replaces a smaller one that stays where
 * it is, since somebody may be reading it. All tables together take at most twice the last one. Nothing is ever freed: names are few. */
#ifndef VY_DIALECT_INTERNER_H
#define VY_DIALECT_INTERNER_H

#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    VY_INTERNER_LIMIT = 1 << 20, /* texts */
    VY_INTERNER_FIRST = 64,      /* texts in the first segment; each later one has as many as all before */
    VY_INTERNER_SEGMENTS = 15
};

typedef struct vy_interned {
    uint32_t number; /* from 1 */
    uint32_t length;
    uint64_t hash;
    char text[]; /* and a NUL */
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

/* The number of a text; 0 if it is not there. */
uint32_t vy_interner_find(vy_interner *interner, const char *text, size_t length);
/* The same, and it is added if need be. NO_MEMORY and LIMIT add nothing. */
vyre_status vy_interner_add(vy_interner *interner, const char *text, size_t length, uint32_t *out, vyre_error *error);
/* The text of a number, for ever; NULL if there is none. */
const char *vy_interner_text(vy_interner *interner, uint32_t number);

/* The interners of op ids and of extension targets. */
extern vy_interner vy_op_ids;
extern vy_interner vy_extension_targets;

#endif
