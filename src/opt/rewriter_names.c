/* Names of what is rewritten (rewriter_names.h). */
#include "opt/rewriter_names.h"

#include "opt/unique_name.h"

vy_symbol vy_rewrite_enter_name(vy_rewrite *rw, vy_symbol name) {
    const char *text = vy_symbol_name(rw->from, name);
    return rw->names[name] = vy_irb_intern(&rw->draft, text, strlen(text));
}

/* Makes room for a name of the draft in the table of those that are visible, and for more than that: most names are new. */
static int grow_places(vy_rewrite *rw, vy_symbol name) {
    uint32_t visible = rw->visible.count;
    if (rw->draft.failed || (name >= visible && !VY_RESERVE(&rw->visible, name + 1 - visible))) {
        rw->draft.failed = 1;
        return 0;
    }
    rw->visible.count = rw->visible.capacity;
    memset(rw->visible.items + visible, 0, rw->visible.count - visible);
    return 1;
}

static inline int has_place(vy_rewrite *rw, vy_symbol name) {
    return (!rw->draft.failed && name < rw->visible.count) || grow_places(rw, name);
}

void vy_rewrite_show_name(vy_rewrite *rw, vy_symbol name) {
    vy_symbol *slot = has_place(rw, name) ? VY_PUSH(&rw->declared) : NULL;
    if (!slot) {
        rw->draft.failed = 1;
        return;
    }
    rw->visible.items[name] = 1;
    *slot = name;
}

/* The suffix last tried is remembered, so that a thousand copies do not try each other's. */
vy_symbol vy_rewrite_suffix_name(vy_rewrite *rw, vy_symbol wanted) {
    const char *text = vy_symbol_name(rw->from, wanted);
    vy_symbol name = vy_rewrite_copy_name(rw, wanted);
    while (has_place(rw, name) && rw->visible.items[name]) {
        char candidate[VY_LIMIT_NAME + 1];
        size_t length = vy_name_suffixed(candidate, text, VY_LIMIT_NAME, ++rw->suffixes[wanted] + 1);
        name = vy_irb_intern(&rw->draft, candidate, length);
    }
    return name;
}

/* Whether the source has the name t and that number. A draft that has all of its names is asked when that is entered. */
static int is_of_source(const vy_rewrite *rw, uint32_t number) {
    char candidate[12] = "t"; /* ten digits at most */
    if (rw->hooks->keeps_names)
        return 0;
    size_t length = (size_t)(vy_write_decimal(candidate + 1, number) - candidate);
    return vy_intern_pool_find(&rw->from->names, candidate, length) != VY_SYMBOL_INVALID;
}

vy_symbol vy_rewrite_new_name(vy_rewrite *rw) {
    while (!rw->draft.failed) {
        uint32_t size = rw->draft.program->names.size;
        if (is_of_source(rw, ++rw->made))
            continue;
        vy_symbol name = vy_irb_intern_numbered(&rw->draft, 't', rw->made);
        if (name >= size || (name && !rw->hooks->keeps_names))
            return name;
    }
    return 0;
}

vy_symbol vy_rewrite_declare(vy_rewrite *rw, uint32_t variable) {
    vy_symbol name = vy_rewrite_free_name(rw, rw->from->variables.items[variable].name);
    vy_rewrite_show_copied(rw, name);
    return name;
}

uint32_t vy_rewrite_open(const vy_rewrite *rw) {
    return rw->declared.count;
}

void vy_rewrite_close(vy_rewrite *rw, uint32_t mark) {
    while (rw->declared.count > mark)
        rw->visible.items[rw->declared.items[--rw->declared.count]] = 0;
}
