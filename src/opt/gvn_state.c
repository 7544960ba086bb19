/* State (gvn_state.h). */
#include "opt/gvn_state.h"

#include "opt/gvn_table.h"

void vy_values_forget_variable(vy_numbering *n, uint32_t variable) {
    vy_values_set(n, VY_PLACE_VARIABLE, variable, vy_values_fresh(n, n->program->variables.items[variable].type));
}

void vy_values_leave(vy_numbering *n, uint32_t mark) {
    for (uint32_t i = n->log.count; i > mark; i--) {
        const vy_value_undo *entry = &n->log.items[i - 1];
        *vy_values_place(n, entry->place, entry->index) = entry->old;
    }
}

void vy_values_undo_to(vy_numbering *n, uint32_t mark) {
    vy_values_leave(n, mark);
    n->log.count = mark;
}

/* What is forgotten once has a number of its own. What was declared in the blocks has none. */
static void forget_entry(vy_numbering *n, const vy_value_undo *entry, uint32_t first_value, uint32_t first_state) {
    if (entry->place == VY_PLACE_VARIABLE && n->of_variable[entry->index] < first_value)
        vy_values_forget_variable(n, entry->index);
    else if (entry->place == VY_PLACE_MEMORY && n->of_memory[entry->index] < first_state)
        vy_values_forget_memory(n, entry->index);
    else if (entry->place == VY_PLACE_SHARED && n->shared < first_state)
        vy_values_forget_shared(n);
}

void vy_values_forget(vy_numbering *n, uint32_t mark) {
    uint32_t end = n->log.count, first_value = n->values.count, first_state = n->next_state;
    for (uint32_t i = mark; i < end && !n->failed; i++) {
        const vy_value_undo entry = n->log.items[i]; /* the log may move */
        forget_entry(n, &entry, first_value, first_state);
    }
    memmove(n->log.items + mark, n->log.items + end, (n->log.count - end) * sizeof *n->log.items);
    n->log.count -= end - mark;
}

void vy_values_end_scope(vy_numbering *n, uint32_t mark) {
    const vy_value_undo *entries = n->log.items;
    for (uint32_t i = mark, end = n->log.count; i < end; i++)
        if (entries[i].place == VY_PLACE_HOLDER || entries[i].place == VY_PLACE_LEADER)
            *vy_values_place(n, entries[i].place, entries[i].index) = entries[i].old;
    n->log.count = n->undoes ? n->log.count : mark;
}
