/* Bits: which elements of arrays are written, and which of these everybody sees. Internal to legal_fill_*.c.
 *
 * What must stay true: every bit that comes is logged, in `privately` or `together` by the array's space, so that whoever leaves a block can take it back; only a meeting
 * makes `seen` of what the workgroup has `written`. */
#ifndef VY_TRANSFORM_LEGAL_FILL_BITS_H
#define VY_TRANSFORM_LEGAL_FILL_BITS_H

#include "transform/legal_fill_proof.h"
#include "transform/optimize.h"

static inline int vy_fill_is_private(const vy_fill_proof *f, uint32_t memory) {
    return f->p->memories.items[memory].space == VY_SPACE_PRIVATE;
}

static inline uint32_t vy_fill_words(const vyre_program *p, uint32_t memory) {
    return p->memories.items[memory].elements / 64 + 1;
}

/* More bits of a word. May fail: f->failed. */
void vy_fill_set_word(vy_fill_proof *f, vy_fill_changes *log, uint64_t *word, uint64_t bits);

/* An element is written, if it is one. */
static inline void vy_fill_set_bit(vy_fill_proof *f, uint32_t memory, vy_wide element) {
    uint64_t *bits = f->arrays[memory].written;
    if (element >= 0 && element < f->p->memories.items[memory].elements)
        vy_fill_set_word(f, vy_fill_is_private(f, memory) ? &f->privately : &f->together, &bits[(uint64_t)element / 64],
                         UINT64_C(1) << (uint64_t)element % 64);
}

/* Everybody is here: what was written is seen. May fail: f->failed. */
void vy_fill_meet(vy_fill_proof *f);
/* The bits that came since the log was so long go. */
void vy_fill_undo_to(vy_fill_changes *log, uint32_t mark);

/* Whether all elements from low to high are seen. */
int vy_fill_is_seen(vy_fill_proof *f, uint32_t memory, uint32_t low, uint32_t high);
/* Whether all bits of an array are set. */
int vy_fill_is_full(const vy_fill_proof *f, uint32_t memory, const uint64_t *bits);
/* Whether it is known of every array that it needs to be filled, or that whatever is read of it from here on is written. */
int vy_fill_is_settled(const vy_fill_proof *f);

#endif
