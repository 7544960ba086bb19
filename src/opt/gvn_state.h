/* State: what is known at the current statement of variables, of memories and of who has a value; and how it was before. Internal to pass_values*.c.
 *
 * What must stay true: whatever is set in a block that not everybody passes is logged, and taken back where that ends; what the block changed is unknown then, not as
 * it was. Holders and leaders go with their block, always. */
#ifndef VY_OPT_GVN_STATE_H
#define VY_OPT_GVN_STATE_H

#include "opt/pass_gvn.h"

/* ---- inline, since every declaration and most trees set something ---- */

static inline uint32_t *vy_gvn_slot_at(vy_gvn *n, vy_gvn_slot place, uint32_t index) {
    switch (place) {
    case VY_GVN_SLOT_VARIABLE:
        return &n->of_variable[index];
    case VY_GVN_SLOT_MEMORY:
        return &n->of_memory[index];
    case VY_GVN_SLOT_SHARED:
        return &n->shared;
    case VY_GVN_SLOT_HOLDER:
        return &n->values.items[index].holder;
    case VY_GVN_SLOT_LEADER:
        break;
    }
    return &n->values.items[index].leader;
}

static inline void vy_gvn_set(vy_gvn *n, vy_gvn_slot place, uint32_t index, uint32_t to) {
    if (n->failed)
        return;
    uint32_t *at = vy_gvn_slot_at(n, place, index);
    if (n->undoes) {
        if (!VY_RESERVE(&n->log, 1)) {
            n->failed = 1;
            return;
        }
        n->log.items[n->log.count++] = (vy_gvn_undo){place, index, *at};
    }
    *at = to;
}

static inline void vy_gvn_forget_memory(vy_gvn *n, uint32_t memory) {
    vy_gvn_set(n, VY_GVN_SLOT_MEMORY, memory, n->next_state++);
}

static inline void vy_gvn_forget_shared(vy_gvn *n) {
    vy_gvn_set(n, VY_GVN_SLOT_SHARED, 0, n->next_state++);
}

/* ---- blocks; `mark` is how long the log was where one began ---- */

void vy_gvn_forget_variable(vy_gvn *n, uint32_t variable);
/* Back to how it was; what the block changed stays in the log, for vy_gvn_forget. */
void vy_gvn_leave(vy_gvn *n, uint32_t mark);
/* The same, and it goes from the log. */
void vy_gvn_undo_to(vy_gvn *n, uint32_t mark);
/* Behind blocks that were left: nothing is known any more of what they changed, and they go from the log. */
void vy_gvn_forget(vy_gvn *n, uint32_t mark);
/* At the end of a block that everybody passes: what it changed stays, what it declares is out of scope. */
void vy_gvn_end_scope(vy_gvn *n, uint32_t mark);

#endif
