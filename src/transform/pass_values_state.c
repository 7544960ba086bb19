/* State (pass_values_state.h). */
#include "transform/pass_values_state.h"

#include "transform/pass_values_number.h"

void vy_values_forget_variable(vy_numbering *n, uint32_t variable) {
    vy_values_set(n, VY_PLACE_VARIABLE, variable, vy_values_fresh(n, n->program->variables.items[variable].type));
}

void vy_values_undo_to(vy_numbering *n, uint32_t mark) {
    while (n->log.count > mark) {
        const vy_value_undo *entry = &n->log.items[--n->log.count];
        *vy_values_place(n, entry->place, entry->index) = entry->old;
    }
}

void vy_values_leave(vy_numbering *n, uint32_t mark, vy_value_undos *touched) {
    for (uint32_t i = mark; i < n->log.count && !n->failed; i++) {
        const vy_value_undo *entry = &n->log.items[i];
        if (entry->place == VY_PLACE_HOLDER || entry->place == VY_PLACE_LEADER ||
            (entry->place == VY_PLACE_VARIABLE && entry->old == VY_NONE)) /* it is declared in the block */
            continue;
        if (VY_RESERVE(touched, 1))
            touched->items[touched->count++] = *entry;
        else
            n->failed = 1;
    }
    vy_values_undo_to(n, mark);
}

void vy_values_forget(vy_numbering *n, vy_value_undos *touched) {
    for (uint32_t i = 0; i < touched->count && !n->failed; i++) {
        const vy_value_undo *entry = &touched->items[i];
        if (entry->place == VY_PLACE_VARIABLE && n->of_variable[entry->index] != VY_NONE)
            vy_values_forget_variable(n, entry->index);
        else if (entry->place == VY_PLACE_MEMORY)
            vy_values_forget_memory(n, entry->index);
        else if (entry->place == VY_PLACE_SHARED)
            vy_values_forget_shared(n);
    }
    VY_VECTOR_FREE(touched);
}

void vy_values_end_scope(vy_numbering *n, uint32_t mark) {
    const vy_value_undo *entries = n->log.items;
    for (uint32_t i = mark, end = n->log.count; i < end; i++)
        if (entries[i].place == VY_PLACE_HOLDER || entries[i].place == VY_PLACE_LEADER)
            *vy_values_place(n, entries[i].place, entries[i].index) = entries[i].old;
    n->log.count = n->undoes ? n->log.count : mark;
}
