/* Bits (legal_fill_bits.h). */
#include "transform/legal_fill_bits.h"

void vy_fill_set_word(vy_fill_proof *f, vy_fill_changes *log, uint64_t *word, uint64_t bits) {
    if ((*word | bits) == *word)
        return;
    vy_fill_change *entry = VY_PUSH(log);
    if (!entry) {
        f->failed = 1;
        return;
    }
    *entry = (vy_fill_change){word, *word};
    *word |= bits;
}

void vy_fill_meet(vy_fill_proof *f) {
    for (uint32_t m = f->p->buffer_count; m < f->p->memories.count; m++) {
        vy_fill_array *a = &f->arrays[m];
        for (uint32_t i = 0; a->seen && a->seen != a->written && i < vy_fill_words(f->p, m); i++)
            vy_fill_set_word(f, &f->together, &a->seen[i], a->written[i]);
    }
}

void vy_fill_undo_to(vy_fill_changes *log, uint32_t mark) {
    while (log->count > mark) {
        const vy_fill_change *entry = &log->items[--log->count];
        *entry->word = entry->old;
    }
}

int vy_fill_is_seen(vy_fill_proof *f, uint32_t memory, uint32_t low, uint32_t high) {
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

int vy_fill_is_full(const vy_fill_proof *f, uint32_t memory, const uint64_t *bits) {
    uint32_t elements = f->p->memories.items[memory].elements;
    for (uint32_t i = 0; i < elements / 64; i++)
        if (bits[i] != UINT64_MAX)
            return 0;
    return bits[elements / 64] == (UINT64_C(1) << elements % 64) - 1;
}

int vy_fill_is_settled(const vy_fill_proof *f) {
    for (uint32_t m = f->p->buffer_count; m < f->p->memories.count; m++)
        if (!f->needs[m] && (!f->arrays[m].seen || !vy_fill_is_full(f, m, f->arrays[m].seen)))
            return 0;
    return 1;
}
