/* Layout: the arrays of a program may hold anything; after this part every index is in range, every tag is known, every tree
 * is a tree, and everything lies where model.h says. The rest of the library relies on it and does not look again.
 *
 * Nothing here follows an index before it has checked it, and nothing recurses. The first finding ends the part: what follows a
 * broken structure has no meaning. Programs from the text form and the builder never fail here. */
#include "ir/validate/layout.h"

/* ---- names ---- */

/* A name is the start of a text in the pool. */
static int name_fits(const vy_verifier *verifier, vy_symbol name) {
    const vy_intern_pool *names = &verifier->program->names;
    return name == 0 || (name < names->size && names->pool[name - 1] == 0);
}

static int check_names(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    if (p->names.size && p->names.pool[p->names.size - 1] != 0)
        return VY_LAYOUT_ERROR(verifier, V002, "the pool of names does not end in a NUL");
    int fits = name_fits(verifier, p->name);
    for (uint32_t i = 0; fits && i < p->functions.count; i++)
        fits = name_fits(verifier, p->functions.items[i].name);
    for (uint32_t i = 0; fits && i < p->results.count; i++)
        fits = name_fits(verifier, p->results.items[i].name);
    for (uint32_t i = 0; fits && i < p->variables.count; i++)
        fits = name_fits(verifier, p->variables.items[i].name);
    for (uint32_t i = 0; fits && i < p->memories.count; i++)
        fits = name_fits(verifier, p->memories.items[i].name);
    for (uint32_t i = 0; fits && i < p->stmts.count; i++)
        fits = name_fits(verifier, p->stmts.items[i].name);
    return fits ? 1
                : VY_LAYOUT_ERROR(verifier, V002, "a name is no place in the pool of names (%u bytes)", p->names.size);
}

/* ---- the header ---- */

static int check_header(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    if (p->kind > VYRE_PROGRAM_LIBRARY)
        return VY_LAYOUT_ERROR(verifier, V001, "the kind of the program (%u) is unknown", p->kind);
    if (p->level > VYRE_LEVEL_LEGAL)
        return VY_LAYOUT_ERROR(verifier, V001, "the level of the program (%u) is unknown", p->level);
    if (p->numerics > VYRE_NUMERICS_RELAXED)
        return VY_LAYOUT_ERROR(verifier, V001, "the numerics of the program (%u) are unknown", p->numerics);
    if (p->grid.kind >= VYRE_GRID_KIND_COUNT)
        return VY_LAYOUT_ERROR(verifier, V001, "the kind of the grid (%u) is unknown", p->grid.kind);
    if (p->kind == VYRE_PROGRAM_ENTRY && p->functions.count == 0)
        return VY_LAYOUT_ERROR(verifier, V003, "the program has no entry");
    if (p->stmt_positions.count != 0 || p->expr_positions.count != 0)
        if (p->stmt_positions.count != p->stmts.count ||
            (p->expr_positions.count != 0 && p->expr_positions.count != p->exprs.count))
            return VY_LAYOUT_ERROR(verifier, V003,
                                   "positions are given for %u of %u statements and %u of %u expressions",
                                   p->stmt_positions.count, p->stmts.count, p->expr_positions.count, p->exprs.count);
    return 1;
}

/* These bound the time and memory of everything that follows. */
static int check_totals(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    if (p->functions.count > VY_LIMIT_FUNCTIONS + (p->kind == VYRE_PROGRAM_ENTRY))
        return VY_LAYOUT_ERROR(verifier, V039, "the program has more functions (%u) than the limit (%d)",
                               p->functions.count, VY_LIMIT_FUNCTIONS);
    if (p->stmts.count > VY_LIMIT_STATEMENTS)
        return VY_LAYOUT_ERROR(verifier, V040, "the program has more statements (%u) than the limit (%d)",
                               p->stmts.count, VY_LIMIT_STATEMENTS);
    if (p->exprs.count > VY_LIMIT_EXPRESSIONS)
        return VY_LAYOUT_ERROR(verifier, V041, "the program has more expression nodes (%u) than the limit (%d)",
                               p->exprs.count, VY_LIMIT_EXPRESSIONS);
    return 1;
}

/* A library has no entry, so it has nothing that belongs to one. */
static int check_library_header(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    if (p->name != 0 || p->param_count || p->buffer_count || p->sizes.count || p->grid.kind != VYRE_GRID_DISPATCH ||
        p->workgroup[0] != 1 || p->workgroup[1] != 1 || p->workgroup[2] != 1 || p->numerics != VYRE_NUMERICS_STRICT)
        return VY_LAYOUT_ERROR(
            verifier, V021,
            "a library declares a name, params, buffers, a geometry or numerics, which only a program has");
    return 1;
}

/* ---- functions: contiguous ranges in order, which use up every array ---- */

typedef struct totals {
    uint32_t params, results, variables, memories, stmts;
} totals;

/* Whether [first, first + count) begins where the last range ended and lies in the array; moves the end. */
static int is_next_range(uint32_t *next, uint32_t first, uint32_t count, uint32_t total) {
    if (first != *next || count > total - *next)
        return 0;
    *next += count;
    return 1;
}

static int check_params(vy_verifier *verifier, const vy_function *f) {
    uint32_t variable = f->first_variable, memory = f->first_memory;
    for (uint32_t i = 0; i < f->param_count; i++) {
        const vy_param *param = &verifier->program->params.items[f->first_param + i];
        if (param->is_memory > 1 || param->index != (param->is_memory ? memory : variable))
            return VY_LAYOUT_ERROR(verifier, V003,
                                   "parameter %u of a function does not refer to the next variable or memory", i);
        if (param->is_memory)
            memory++;
        else
            variable++;
    }
    if (variable - f->first_variable > f->variable_count || memory - f->first_memory > f->memory_count)
        return VY_LAYOUT_ERROR(verifier, V003, "the parameters of a function are outside its variables and memories");
    return 1;
}

static int check_ranges(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    totals next = {0};
    for (uint32_t i = 0; i < p->functions.count; i++) {
        const vy_function *f = &p->functions.items[i];
        if (f->end_stmt < f->first_stmt ||
            !is_next_range(&next.params, f->first_param, f->param_count, p->params.count) ||
            !is_next_range(&next.results, f->first_result, f->result_count, p->results.count) ||
            !is_next_range(&next.variables, f->first_variable, f->variable_count, p->variables.count) ||
            !is_next_range(&next.memories, f->first_memory, f->memory_count, p->memories.count) ||
            !is_next_range(&next.stmts, f->first_stmt, f->end_stmt - f->first_stmt, p->stmts.count))
            return VY_LAYOUT_ERROR(verifier, V003, "the ranges of function %u do not follow those of the one before",
                                   i);
        if (!check_params(verifier, f))
            return 0;
    }
    if (next.params != p->params.count || next.results != p->results.count || next.variables != p->variables.count ||
        next.memories != p->memories.count || next.stmts != p->stmts.count)
        return VY_LAYOUT_ERROR(verifier, V003, "something in the program belongs to no function");
    const vy_function *entry = vy_program_entry(p);
    if (!entry)
        return check_library_header(verifier);
    if (entry->param_count || entry->result_count || entry->name != p->name || p->param_count > entry->variable_count ||
        p->buffer_count > entry->memory_count)
        return VY_LAYOUT_ERROR(verifier, V003, "the entry does not have the shape of an entry");
    return 1;
}

/* ---- declarations ---- */

static int check_memories(vy_verifier *verifier, const vy_function *f) {
    const vyre_program *p = verifier->program;
    int is_entry = vy_is_entry(p, f);
    uint32_t given = is_entry ? p->buffer_count : vy_memory_param_count(p, f);
    for (uint32_t i = 0; i < f->memory_count; i++) {
        const vy_memory *m = &p->memories.items[f->first_memory + i];
        if (m->space >= VY_SPACE_COUNT || m->type >= VYRE_TYPE_COUNT || m->access >= VYRE_ACCESS_COUNT)
            return VY_LAYOUT_ERROR(verifier, V001, "the space (%u), type (%u) or access (%u) of a memory is unknown",
                                   m->space, m->type, m->access);
        if (m->size != VY_NONE && (!is_entry || i >= given || m->size >= p->sizes.count))
            return VY_LAYOUT_ERROR(verifier, V002,
                                   "the count of a memory (size %u) is not one of the program's sizes (%u)", m->size,
                                   p->sizes.count);
        if (i < given ? m->elements != 0 : m->access != VYRE_ACCESS_READ_WRITE || m->space == VY_SPACE_BUFFER)
            return VY_LAYOUT_ERROR(verifier, V009, "a memory carries what only another kind of memory has");
        if (is_entry && i < given && m->space != VY_SPACE_BUFFER)
            return VY_LAYOUT_ERROR(verifier, V009, "one of the program's buffers is no buffer");
    }
    return 1;
}

static int check_types(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    for (uint32_t i = 0; i < p->functions.count; i++)
        if (!check_memories(verifier, &p->functions.items[i]))
            return 0;
    for (uint32_t i = 0; i < p->variables.count; i++)
        if (p->variables.items[i].type >= VYRE_TYPE_COUNT || p->variables.items[i].is_mutable > 1)
            return VY_LAYOUT_ERROR(verifier, V001, "the type (%u) of a variable is unknown",
                                   p->variables.items[i].type);
    for (uint32_t i = 0; i < p->results.count; i++)
        if (p->results.items[i].type >= VYRE_TYPE_COUNT)
            return VY_LAYOUT_ERROR(verifier, V001, "the type (%u) of a result is unknown", p->results.items[i].type);
    return 1;
}

/* ---- size expressions: trees, each node used once ---- */

static int is_size_leaf(uint8_t kind) {
    return kind <= VY_SIZE_LEN;
}

static int check_size(vy_verifier *verifier, uint32_t index, uint8_t *uses, uint16_t *depths) {
    const vyre_program *p = verifier->program;
    const vy_function *entry = vy_program_entry(p);
    const vy_size *size = &p->sizes.items[index];
    if (size->kind >= VY_SIZE_KIND_COUNT)
        return VY_LAYOUT_ERROR(verifier, V001, "the kind (%u) of a size expression is unknown", size->kind);
    if (size->kind == VY_SIZE_PARAM &&
        (size->a < entry->first_variable || size->a - entry->first_variable >= p->param_count))
        return VY_LAYOUT_ERROR(verifier, V002, "a size expression refers to a variable (%u) that is no param", size->a);
    if (size->kind == VY_SIZE_LEN &&
        (size->a < entry->first_memory || size->a - entry->first_memory >= p->buffer_count))
        return VY_LAYOUT_ERROR(verifier, V002, "a size expression refers to a memory (%u) that is no buffer", size->a);
    if (is_size_leaf(size->kind))
        return 1;
    if (size->a >= index || size->b >= index || size->a == size->b || uses[size->a]++ || uses[size->b]++)
        return VY_LAYOUT_ERROR(verifier, V005, "the operands of size expression %u are not earlier ones used once",
                               index);
    uint16_t deepest = depths[size->a] > depths[size->b] ? depths[size->a] : depths[size->b];
    depths[index] = (uint16_t)(deepest + 1);
    if (depths[index] > VY_LIMIT_EXPRESSION_DEPTH)
        return VY_LAYOUT_ERROR(verifier, V032, "a size expression is deeper than the limit (%d)",
                               VY_LIMIT_EXPRESSION_DEPTH);
    return 1;
}

static int check_grid(vy_verifier *verifier, uint8_t *uses) {
    const vyre_program *p = verifier->program;
    const vy_grid *grid = &p->grid;
    const vy_function *entry = vy_program_entry(p);
    int has_memory = grid->kind == VYRE_GRID_OVER || grid->kind == VYRE_GRID_INDIRECT;
    int has_sizes = grid->kind == VYRE_GRID_GROUPS || grid->kind == VYRE_GRID_ELEMENTS;
    if (has_memory && (grid->memory < entry->first_memory || grid->memory - entry->first_memory >= entry->memory_count))
        return VY_LAYOUT_ERROR(verifier, V002, "the grid refers to a memory (%u) that the program does not have",
                               grid->memory);
    if ((!has_memory && grid->memory != VY_NONE) || (grid->kind != VYRE_GRID_INDIRECT && grid->offset != 0) ||
        (has_sizes && grid->sizes[0] == VY_NONE) || (grid->sizes[1] == VY_NONE && grid->sizes[2] != VY_NONE))
        return VY_LAYOUT_ERROR(verifier, V009, "the grid carries what its kind does not have");
    for (int i = 0; i < 3; i++) {
        uint32_t root = grid->sizes[i];
        if (root == VY_NONE)
            continue;
        if (!has_sizes)
            return VY_LAYOUT_ERROR(verifier, V009, "the grid carries what its kind does not have");
        if (root >= p->sizes.count || uses[root]++)
            return VY_LAYOUT_ERROR(verifier, V005, "dimension %d of the grid is no size expression of its own", i);
    }
    return 1;
}

static int check_sizes(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    if (p->kind == VYRE_PROGRAM_LIBRARY || (p->sizes.count == 0 && p->grid.kind == VYRE_GRID_DISPATCH))
        return p->kind == VYRE_PROGRAM_LIBRARY || check_grid(verifier, NULL);
    uint8_t *uses = vy_verifier_scratch(verifier, p->sizes.count, sizeof *uses);
    uint16_t *depths = vy_verifier_scratch(verifier, p->sizes.count, sizeof *depths);
    if (!uses || !depths)
        return 0;
    for (uint32_t i = 0; i < p->sizes.count; i++)
        if (!check_size(verifier, i, uses, depths))
            return 0;
    for (uint32_t i = 0; i < p->memories.count; i++) {
        uint32_t root = p->memories.items[i].size;
        if (root != VY_NONE && uses[root]++)
            return VY_LAYOUT_ERROR(verifier, V005, "two counts share size expression %u", root);
    }
    if (!check_grid(verifier, uses))
        return 0;
    for (uint32_t i = 0; i < p->sizes.count; i++)
        if (!uses[i])
            return VY_LAYOUT_ERROR(verifier, V005, "size expression %u is not used", i);
    return 1;
}

void vy_verify_layout(vy_verifier *verifier) {
    if (check_header(verifier) && check_totals(verifier) && check_names(verifier) && check_ranges(verifier) &&
        check_types(verifier) && check_sizes(verifier))
        vy_verify_layout_code(verifier);
}
