/* A table of digests, of fixed size, for the whole process. An entry that is read while another thread writes it is a mixture of two digests, which
 * equals no third one any more often than two digests equal each other; so there is no lock, and nothing to take care of at fork. When a bucket is full,
 * its entries go in turn: what is forgotten is checked again. */
#include "dialect/law_internal.h"

#include <stdatomic.h>

enum { WORDS = 4, WAYS = 4, BUCKETS = 1024 };

typedef struct bucket {
    _Atomic uint64_t digests[WAYS][WORDS];
    atomic_uint turn;
} bucket;
static bucket buckets[BUCKETS];

static bucket *find(const vyre_digest *digest, uint64_t words[WORDS]) {
    memcpy(words, digest->bytes, sizeof digest->bytes);
    return &buckets[words[0] % BUCKETS];
}

int vy_law_cache_contains(const vyre_digest *digest) {
    uint64_t words[WORDS];
    bucket *in = find(digest, words);
    int found = 0;
    for (int way = 0; way < WAYS; way++) {
        int equal = 1;
        for (int i = 0; i < WORDS; i++)
            equal &= atomic_load_explicit(&in->digests[way][i], memory_order_relaxed) == words[i];
        found |= equal;
    }
    return found;
}

void vy_law_cache_insert(const vyre_digest *digest) {
    uint64_t words[WORDS];
    bucket *in = find(digest, words);
    unsigned way = atomic_fetch_add_explicit(&in->turn, 1, memory_order_relaxed) % WAYS;
    for (int i = 0; i < WORDS; i++)
        atomic_store_explicit(&in->digests[way][i], words[i], memory_order_relaxed);
}

void vy_law_cache_clear(void) {
    for (int b = 0; b < BUCKETS; b++)
        for (int way = 0; way < WAYS; way++)
            for (int i = 0; i < WORDS; i++)
                atomic_store_explicit(&buckets[b].digests[way][i], 0, memory_order_relaxed);
}
