/* Bits: which elements of arrays are written, and which of these everybody sees. Internal to legal_fill_*.c.
 *
 * What must stay true: every bit that comes is logged, in `privately` or `together` by the array's space, so that whoever leaves a block can take it back; only a meeting
 * makes `seen` of what the workgroup has `written`. */
#ifndef VY_LOWER_DEFINITE_INIT_BITSET_H
#define VY_LOWER_DEFINITE_INIT_BITSET_H

#include "lower/definite_init.h"
#include "opt/pass_manager.h"

static inline int vy_definite_init_is_private(const vy_definite_init *f, uint32_t memory) {
    return f->p->memories.items[memory].space == VY_SPACE_PRIVATE;
}

static inline uint32_t vy_definite_init_words(const vyre_program *p, uint32_t memory) {
    return p->memories.items[memory].elements / 64 + 1;
}

/* More bits of a word. May fail: f->failed. */
void vy_definite_init_set_word(vy_definite_init *f, vy_definite_init_changes *log, uint64_t *word, uint64_t bits);

/* An element is written, if it is one. */
static inline void vy_definite_init_set_bit(vy_definite_init *f, uint32_t memory, vy_wide element) {
    uint64_t *bits = f->arrays[memory].written;
    if (element >= 0 && element < f->p->memories.items[memory].elements)
        vy_definite_init_set_word(f, vy_definite_init_is_private(f, memory) ? &f->privately : &f->together,
                                  &bits[(uint64_t)element / 64], UINT64_C(1) << (uint64_t)element % 64);
}

/* Everybody is here: what was written is seen. May fail: f->failed. */
void vy_definite_init_barrier(vy_definite_init *f);
/* The bits that came since the log was so long go. */
void vy_definite_init_undo_to(vy_definite_init_changes *log, uint32_t mark);

/* Whether all elements from low to high are seen. */
int vy_definite_init_is_seen(vy_definite_init *f, uint32_t memory, uint32_t low, uint32_t high);
/* Whether all bits of an array are set. */
int vy_definite_init_is_full(const vy_definite_init *f, uint32_t memory, const uint64_t *bits);
/* Whether it is known of every array that it needs to be filled, or that whatever is read of it from here on is written. */
int vy_definite_init_is_decided(const vy_definite_init *f);

#endif
