/* State (gvn_state.h). */
#include "opt/gvn_state.h"

#include "opt/gvn_table.h"

void vy_gvn_forget_variable(vy_gvn *n, uint32_t variable) {
    vy_gvn_set(n, VY_GVN_SLOT_VARIABLE, variable, vy_gvn_fresh(n, n->program->variables.items[variable].type));
}

void vy_gvn_leave(vy_gvn *n, uint32_t mark) {
    for (uint32_t i = n->log.count; i > mark; i--) {
        const vy_gvn_undo *entry = &n->log.items[i - 1];
        *vy_gvn_slot_at(n, entry->place, entry->index) = entry->old;
    }
}

void vy_gvn_undo_to(vy_gvn *n, uint32_t mark) {
    vy_gvn_leave(n, mark);
    n->log.count = mark;
}

/* What is forgotten once has a number of its own. What was declared in the blocks has none. */
static void forget_entry(vy_gvn *n, const vy_gvn_undo *entry, uint32_t first_value, uint32_t first_state) {
    if (entry->place == VY_GVN_SLOT_VARIABLE && n->of_variable[entry->index] < first_value)
        vy_gvn_forget_variable(n, entry->index);
    else if (entry->place == VY_GVN_SLOT_MEMORY && n->of_memory[entry->index] < first_state)
        vy_gvn_forget_memory(n, entry->index);
    else if (entry->place == VY_GVN_SLOT_SHARED && n->shared < first_state)
        vy_gvn_forget_shared(n);
}

void vy_gvn_forget(vy_gvn *n, uint32_t mark) {
    uint32_t end = n->log.count, first_value = n->values.count, first_state = n->next_state;
    for (uint32_t i = mark; i < end && !n->failed; i++) {
        const vy_gvn_undo entry = n->log.items[i]; /* the log may move */
        forget_entry(n, &entry, first_value, first_state);
    }
    memmove(n->log.items + mark, n->log.items + end, (n->log.count - end) * sizeof *n->log.items);
    n->log.count -= end - mark;
}

void vy_gvn_end_scope(vy_gvn *n, uint32_t mark) {
    const vy_gvn_undo *entries = n->log.items;
    for (uint32_t i = mark, end = n->log.count; i < end; i++)
        if (entries[i].place == VY_GVN_SLOT_HOLDER || entries[i].place == VY_GVN_SLOT_LEADER)
            *vy_gvn_slot_at(n, entries[i].place, entries[i].index) = entries[i].old;
    n->log.count = n->undoes ? n->log.count : mark;
}
