/* Bits (definite_init_bitset.h). */
#include "lower/definite_init_bitset.h"

void vy_definite_init_set_word(vy_definite_init *f, vy_definite_init_changes *log, uint64_t *word, uint64_t bits) {
    if ((*word | bits) == *word)
        return;
    vy_definite_init_change *entry = VY_PUSH(log);
    if (!entry) {
        f->failed = 1;
        return;
    }
    *entry = (vy_definite_init_change){word, *word};
    *word |= bits;
}

void vy_definite_init_barrier(vy_definite_init *f) {
    for (uint32_t m = f->p->buffer_count; m < f->p->memories.count; m++) {
        vy_definite_init_array *a = &f->arrays[m];
        for (uint32_t i = 0; a->seen && a->seen != a->written && i < vy_definite_init_words(f->p, m); i++)
            vy_definite_init_set_word(f, &f->together, &a->seen[i], a->written[i]);
    }
}

void vy_definite_init_undo_to(vy_definite_init_changes *log, uint32_t mark) {
    while (log->count > mark) {
        const vy_definite_init_change *entry = &log->items[--log->count];
        *entry->word = entry->old;
    }
}

int vy_definite_init_is_seen(vy_definite_init *f, uint32_t memory, uint32_t low, uint32_t high) {
    const uint64_t *bits = f->arrays[memory].seen;
    f->steps += (high - low) / 64;
    for (uint32_t i = low; i <= high; i++) {
        if (i % 64 == 0 && high - i >= 63 && bits[i / 64] == UINT64_MAX)
            i += 63;
        else if (!(bits[i / 64] >> i % 64 & 1))
            return 0;
    }
    return 1;
}

int vy_definite_init_is_full(const vy_definite_init *f, uint32_t memory, const uint64_t *bits) {
    uint32_t elements = f->p->memories.items[memory].elements;
    for (uint32_t i = 0; i < elements / 64; i++)
        if (bits[i] != UINT64_MAX)
            return 0;
    return bits[elements / 64] == (UINT64_C(1) << elements % 64) - 1;
}

int vy_definite_init_is_decided(const vy_definite_init *f) {
    for (uint32_t m = f->p->buffer_count; m < f->p->memories.count; m++)
        if (!f->needs[m] && (!f->arrays[m].seen || !vy_definite_init_is_full(f, m, f->arrays[m].seen)))
            return 0;
    return 1;
}
