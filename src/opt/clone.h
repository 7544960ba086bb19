/* Cloner: copies the entry of a program into a draft, statement by statement. The grid split, grid tiling, thread
 * coarsening and most phases of legalisation use it.
 *
 * A name is kept where it is free and gets a suffix where it is not (`i_2`), because a copy may contain a block twice,
 * or outside the block it was in. A failed allocation is recorded in the draft; vy_cloner_finish reports it. */
#ifndef VY_OPT_CLONE_H
#define VY_OPT_CLONE_H

#include "base/intern.h"
#include "base/string.h"
#include "ir/irbuilder.h"
#include "ir/model.h"

/* The accesses of a copy to a variable or memory of the original. */
enum { VY_USE_READ = 1, VY_USE_WRITE = 2 };

typedef struct vy_cloner {
    const vyre_program *from;
    const vy_function *entry; /* of from */
    vy_irb draft;
    uint32_t *variables, *memories;       /* from indices of `from` to those of the draft; VY_NONE: not copied */
    uint8_t *variable_uses, *memory_uses; /* VY_USE_*; NULL: not recorded */
    uint8_t *is_fresh;                    /* by variable: declared by a copied statement; NULL: not recorded */
    int keeps_names;                      /* the draft gets all names of `from` (set before vy_cloner_start) */
    int has_sync;                         /* a workgroup barrier or a collective was copied */
    VY_VECTOR(vy_arg) args;               /* of the statement being copied */
    VY_VECTOR(uint8_t) visible;           /* by name of the draft */
    VY_VECTOR(vy_symbol) declared;        /* visible names, innermost last */
} vy_cloner;

/* Starts a program of that name with the kind, level, numerics and workgroup size of `from`, and its entry. Zero the
 * cloner before, and set the maps (as large as the arrays of `from`) and the arrays for records. Ends with
 * vy_cloner_finish or vy_cloner_discard. */
vyre_status vy_cloner_start(vy_cloner *copy, const vyre_program *from, const char *name, vyre_error *error);
vyre_status vy_cloner_finish(vy_cloner *copy, vyre_program **out, vyre_error *error);
void vy_cloner_discard(vy_cloner *copy);

/* Copy the declarations of the entry. Call them in this order; other declarations may be added between them. */
void vy_cloner_params(vy_cloner *copy);
void vy_cloner_buffers(vy_cloner *copy, int writes_become_read_write);
void vy_cloner_arrays(vy_cloner *copy);
void vy_cloner_grid(vy_cloner *copy);

/* Scopes: vy_cloner_close removes the declarations since vy_cloner_open, with the result of that call. */
uint32_t vy_cloner_open(const vy_cloner *copy);
void vy_cloner_close(vy_cloner *copy, uint32_t mark);
/* A name for a new declaration: the text, or the text with a suffix. It is free here and, if `from` does not have it,
 * in the whole program. */
vy_symbol vy_cloner_name(vy_cloner *copy, const char *text);
vy_symbol vy_cloner_new_name(vy_cloner *copy, const char *text);

uint32_t vy_cloner_expr(vy_cloner *copy, uint32_t root);
/* Copies a statement without its body: structured ones stay open. Not for `for`. An assignment to a variable that was
 * not copied is omitted. */
void vy_cloner_stmt(vy_cloner *copy, uint32_t stmt);
/* Copies the `for` at stmt with these operands (of the draft); it stays open. Its variable belongs to the body: open a
 * scope before. */
void vy_cloner_for(vy_cloner *copy, uint32_t stmt, uint32_t from, uint32_t to, uint32_t step);
/* Copies a statement with its body. Recursion is bounded by VY_LIMIT_NESTING. */
void vy_cloner_tree(vy_cloner *copy, uint32_t stmt);

/* ---- numbered names ---- */

/* Writes at most `most` bytes of the text, or as many as fit, and _number. Returns the length; the name is not
 * NUL-terminated. */
static inline size_t vy_name_suffixed(char name[VY_LIMIT_NAME + 1], const char *text, size_t most, uint32_t number) {
    char suffix[12] = "_"; /* at most ten digits */
    size_t more = (size_t)(vy_write_decimal(suffix + 1, number) - suffix);
    size_t kept = strnlen(text, most < VY_LIMIT_NAME - more ? most : VY_LIMIT_NAME - more);
    memcpy(name, text, kept);
    memcpy(name + kept, suffix, more);
    return kept + more;
}

#endif
