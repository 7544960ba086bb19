/* Layout verifier: establishes that every index is in range, every tag is known, every expression is a tree, and the
 * arrays are laid out as model.h specifies. All later code relies on this and does not check again.
 *
 * The input is untrusted. No index is followed before it has been checked, and no function recurses. The part stops at
 * its first finding, because data that follows a broken structure has no meaning. Programs from the text form and the
 * builder never fail here. */
#include "ir/op_tables.h"
#include "ir/validate/verifier.h"

/* Reports a finding; the value is 0, for use in a return statement. */
#define LAYOUT_ERROR(verifier, code, ...)                                                                              \
    (vy_verifier_error((verifier), VY_##code, (vy_position){0, 0, 0}, NULL, __VA_ARGS__), 0)

/* The number of memory parameters of a function. */
static uint32_t memory_param_count(const vyre_program *program, const vy_function *function) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < function->param_count; i++)
        count += program->params.items[function->first_param + i].is_memory;
    return count;
}

/* ---- names ---- */

/* Whether a name is the offset of a string in the pool. */
static int name_fits(const vy_verifier *verifier, vy_symbol name) {
    const vy_intern_pool *names = &verifier->program->names;
    return name == 0 || (name < names->size && names->pool[name - 1] == 0);
}

static int check_names(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    if (p->names.size && p->names.pool[p->names.size - 1] != 0)
        return LAYOUT_ERROR(verifier, V002, "the name pool does not end with a NUL");
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
                : LAYOUT_ERROR(verifier, V002, "a name is not an offset in the name pool (%u bytes)", p->names.size);
}

/* ---- the header ---- */

static int check_header(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    if (p->kind > VYRE_PROGRAM_LIBRARY)
        return LAYOUT_ERROR(verifier, V001, "unknown kind of program (%u)", p->kind);
    if (p->level > VYRE_LEVEL_LEGAL)
        return LAYOUT_ERROR(verifier, V001, "unknown level of the program (%u)", p->level);
    if (p->numerics > VYRE_NUMERICS_RELAXED)
        return LAYOUT_ERROR(verifier, V001, "unknown numerics of the program (%u)", p->numerics);
    if (p->grid.kind >= VYRE_GRID_KIND_COUNT)
        return LAYOUT_ERROR(verifier, V001, "unknown kind of grid (%u)", p->grid.kind);
    if (p->kind == VYRE_PROGRAM_ENTRY && p->functions.count == 0)
        return LAYOUT_ERROR(verifier, V003, "the program has no entry");
    if (p->stmt_positions.count != 0 || p->expr_positions.count != 0)
        if (p->stmt_positions.count != p->stmts.count ||
            (p->expr_positions.count != 0 && p->expr_positions.count != p->exprs.count))
            return LAYOUT_ERROR(verifier, V003, "incomplete positions: %u of %u statements and %u of %u expressions",
                                p->stmt_positions.count, p->stmts.count, p->expr_positions.count, p->exprs.count);
    return 1;
}

/* These limits bound the time and memory of all later parts. */
static int check_totals(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    if (p->functions.count > VY_LIMIT_FUNCTIONS + (p->kind == VYRE_PROGRAM_ENTRY))
        return LAYOUT_ERROR(verifier, V039, "too many functions (%u, limit %d)", p->functions.count,
                            VY_LIMIT_FUNCTIONS);
    if (p->stmts.count > VY_LIMIT_STATEMENTS)
        return LAYOUT_ERROR(verifier, V040, "too many statements (%u, limit %d)", p->stmts.count, VY_LIMIT_STATEMENTS);
    if (p->exprs.count > VY_LIMIT_EXPRESSIONS)
        return LAYOUT_ERROR(verifier, V041, "too many expression nodes (%u, limit %d)", p->exprs.count,
                            VY_LIMIT_EXPRESSIONS);
    return 1;
}

/* A library has no entry, so all fields of the entry must be empty. */
static int check_library_header(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    if (p->name != 0 || p->param_count || p->buffer_count || p->sizes.count || p->grid.kind != VYRE_GRID_DISPATCH ||
        p->workgroup[0] != 1 || p->workgroup[1] != 1 || p->workgroup[2] != 1 || p->numerics != VYRE_NUMERICS_STRICT)
        return LAYOUT_ERROR(
            verifier, V021,
            "a library declares a name, params, buffers, a geometry or numerics, which only a program can have");
    return 1;
}

/* ---- functions: contiguous ranges in order that cover every array ---- */

typedef struct totals {
    uint32_t params, results, variables, memories, stmts;
} totals;

/* Whether [first, first + count) begins at the end of the previous range and is within the array; advances the end. */
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
            return LAYOUT_ERROR(verifier, V003, "parameter %u of a function is not the next variable or memory", i);
        if (param->is_memory)
            memory++;
        else
            variable++;
    }
    if (variable - f->first_variable > f->variable_count || memory - f->first_memory > f->memory_count)
        return LAYOUT_ERROR(verifier, V003, "the parameters of a function are outside its variables and memories");
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
            return LAYOUT_ERROR(verifier, V003, "the ranges of function %u do not follow those of the one before", i);
        if (!check_params(verifier, f))
            return 0;
    }
    if (next.params != p->params.count || next.results != p->results.count || next.variables != p->variables.count ||
        next.memories != p->memories.count || next.stmts != p->stmts.count)
        return LAYOUT_ERROR(verifier, V003, "a param, result, variable, memory or statement belongs to no function");
    const vy_function *entry = vy_program_entry(p);
    if (!entry)
        return check_library_header(verifier);
    if (entry->param_count || entry->result_count || entry->name != p->name || p->param_count > entry->variable_count ||
        p->buffer_count > entry->memory_count)
        return LAYOUT_ERROR(verifier, V003,
                            "the entry has parameters, results or another name, or fewer variables or memories than "
                            "the program declares");
    return 1;
}

/* ---- declarations ---- */

/* Tables are made by vy_irb_table alone, so their bytes are there and proper. */
static int array_fits(const vyre_program *p, const vy_memory *m) {
    if (m->space != VY_SPACE_CONSTANT)
        return m->access == VYRE_ACCESS_READ_WRITE && m->space != VY_SPACE_BUFFER && m->table == 0;
    return m->access == VYRE_ACCESS_READ && m->table < p->tables.count &&
           p->tables.items[m->table].size == (uint64_t)m->elements * vyre_type_size((vyre_type)m->type);
}

static int check_memories(vy_verifier *verifier, const vy_function *f) {
    const vyre_program *p = verifier->program;
    int is_entry = vy_is_entry(p, f);
    uint32_t given = is_entry ? p->buffer_count : memory_param_count(p, f);
    for (uint32_t i = 0; i < f->memory_count; i++) {
        const vy_memory *m = &p->memories.items[f->first_memory + i];
        if (m->space >= VY_SPACE_COUNT || m->type >= VYRE_TYPE_COUNT || m->access >= VYRE_ACCESS_COUNT)
            return LAYOUT_ERROR(verifier, V001, "unknown space (%u), type (%u) or access (%u) of a memory", m->space,
                                m->type, m->access);
        if (m->size != VY_NONE && (!is_entry || i >= given || m->size >= p->sizes.count))
            return LAYOUT_ERROR(verifier, V002,
                                "the count of a memory (size %u) is not one of the sizes of the program (%u)", m->size,
                                p->sizes.count);
        if (i < given ? m->elements != 0 || m->table != 0 : !array_fits(p, m))
            return LAYOUT_ERROR(verifier, V009, "a memory has a field that its kind does not have");
        if (is_entry && i < given && m->space != VY_SPACE_BUFFER)
            return LAYOUT_ERROR(verifier, V009, "a buffer of the program is in another memory space");
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
            return LAYOUT_ERROR(verifier, V001, "unknown type (%u) of a variable", p->variables.items[i].type);
    for (uint32_t i = 0; i < p->results.count; i++)
        if (p->results.items[i].type >= VYRE_TYPE_COUNT)
            return LAYOUT_ERROR(verifier, V001, "unknown type (%u) of a result", p->results.items[i].type);
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
        return LAYOUT_ERROR(verifier, V001, "unknown kind (%u) of a size expression", size->kind);
    if (size->kind == VY_SIZE_PARAM &&
        (size->a < entry->first_variable || size->a - entry->first_variable >= p->param_count))
        return LAYOUT_ERROR(verifier, V002, "a size expression refers to a variable (%u) that is not a param", size->a);
    if (size->kind == VY_SIZE_LEN &&
        (size->a < entry->first_memory || size->a - entry->first_memory >= p->buffer_count))
        return LAYOUT_ERROR(verifier, V002, "a size expression refers to a memory (%u) that is not a buffer", size->a);
    if (is_size_leaf(size->kind))
        return 1;
    if (size->a >= index || size->b >= index || size->a == size->b || uses[size->a]++ || uses[size->b]++)
        return LAYOUT_ERROR(verifier, V005, "an operand of size expression %u does not precede it, or is used twice",
                            index);
    uint16_t deepest = depths[size->a] > depths[size->b] ? depths[size->a] : depths[size->b];
    depths[index] = (uint16_t)(deepest + 1);
    if (depths[index] > VY_LIMIT_EXPRESSION_DEPTH)
        return LAYOUT_ERROR(verifier, V032, "size expression too deep (limit %d)", VY_LIMIT_EXPRESSION_DEPTH);
    return 1;
}

static int check_grid(vy_verifier *verifier, uint8_t *uses) {
    const vyre_program *p = verifier->program;
    const vy_grid *grid = &p->grid;
    const vy_function *entry = vy_program_entry(p);
    int has_memory = grid->kind == VYRE_GRID_OVER || grid->kind == VYRE_GRID_INDIRECT;
    int has_sizes = grid->kind == VYRE_GRID_GROUPS || grid->kind == VYRE_GRID_ELEMENTS;
    if (has_memory && (grid->memory < entry->first_memory || grid->memory - entry->first_memory >= entry->memory_count))
        return LAYOUT_ERROR(verifier, V002, "the grid refers to a memory (%u) that the program does not have",
                            grid->memory);
    if ((!has_memory && grid->memory != VY_NONE) || (grid->kind != VYRE_GRID_INDIRECT && grid->offset != 0) ||
        (has_sizes && grid->sizes[0] == VY_NONE) || (grid->sizes[1] == VY_NONE && grid->sizes[2] != VY_NONE))
        return LAYOUT_ERROR(verifier, V009,
                            "the grid has a field that its kind does not have, or lacks a required one");
    for (int i = 0; i < 3; i++) {
        uint32_t root = grid->sizes[i];
        if (root == VY_NONE)
            continue;
        if (!has_sizes)
            return LAYOUT_ERROR(verifier, V009,
                                "the grid has a field that its kind does not have, or lacks a required one");
        if (root >= p->sizes.count || uses[root]++)
            return LAYOUT_ERROR(verifier, V005, "dimension %d of the grid is not a size expression, or shares one", i);
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
            return LAYOUT_ERROR(verifier, V005, "two counts share size expression %u", root);
    }
    if (!check_grid(verifier, uses))
        return 0;
    for (uint32_t i = 0; i < p->sizes.count; i++)
        if (!uses[i])
            return LAYOUT_ERROR(verifier, V005, "size expression %u is not used", i);
    return 1;
}

/* ---- code ---- */

typedef struct layout {
    vy_verifier *verifier;
    const vyre_program *program;
    const vy_function *function; /* the function being checked */
    int is_entry;
    uint32_t next_expr, next_arg, next_variable; /* first expression, argument and variable of the next statement */
    uint32_t *tree_start;                        /* by expression: the first expression of its tree */
    uint16_t *tree_depth;
    struct {
        uint32_t stmt, end;
    } open[VY_LIMIT_NESTING];
    uint32_t depth;
} layout;

/* ---- expressions ---- */

static int has_variable(const layout *l, uint32_t variable) {
    return variable >= l->function->first_variable &&
           variable - l->function->first_variable < l->function->variable_count;
}

static int has_memory(const layout *l, uint32_t memory) {
    return memory >= l->function->first_memory && memory - l->function->first_memory < l->function->memory_count;
}

/* The tree below a node. */
typedef struct tree {
    uint32_t start;
    uint16_t depth;
} tree;

/* In postfix order the last operand directly precedes its operator, and each other operand directly precedes the
 * tree of the next one. So operands are consumed from the last to the first. */
static int consume_operand(layout *l, tree *t, uint32_t index, uint32_t operand) {
    if (t->start <= l->next_expr || operand != t->start - 1)
        return LAYOUT_ERROR(l->verifier, V005, "an operand of expression %u does not directly precede it", index);
    t->start = l->tree_start[operand];
    if (l->tree_depth[operand] >= t->depth)
        t->depth = (uint16_t)(l->tree_depth[operand] + 1);
    return 1;
}

static int check_absent(layout *l, uint32_t a, uint32_t b, uint32_t c) {
    return (a & b & c) == VY_NONE
               ? 1
               : LAYOUT_ERROR(l->verifier, V009, "an expression has more operands than its kind allows");
}

static int check_op(layout *l, tree *t, uint32_t index, const vy_expr *e) {
    const vyre_op_info *info = vyre_op_get((vyre_op)e->op);
    if (!info)
        return LAYOUT_ERROR(l->verifier, V001, "unknown op %u", e->op);
    return (info->arity < 3 || consume_operand(l, t, index, e->c)) &&
           (info->arity < 2 || consume_operand(l, t, index, e->b)) && consume_operand(l, t, index, e->a) &&
           check_absent(l, VY_NONE, info->arity < 2 ? e->b : VY_NONE, info->arity < 3 ? e->c : VY_NONE);
}

/* Only an unchecked load can have a condition. */
static int check_load(layout *l, tree *t, uint32_t index, const vy_expr *e) {
    if (e->op >= VY_BOUNDS_CHECK_COUNT)
        return LAYOUT_ERROR(l->verifier, V001, "unknown bounds check %u", e->op);
    return (e->op == VY_BOUNDS_CHECKED ? check_absent(l, VY_NONE, VY_NONE, e->c)
                                       : e->c == VY_NONE || consume_operand(l, t, index, e->c)) &&
           consume_operand(l, t, index, e->b);
}

static int check_node(layout *l, tree *t, uint32_t index, const vy_expr *e) {
    switch (e->kind) {
    case VY_EXPR_LITERAL:
        return check_absent(l, e->a, e->b, e->c);
    case VY_EXPR_BUILTIN:
        if (e->op >= VYRE_BUILTIN_COUNT)
            return LAYOUT_ERROR(l->verifier, V001, "unknown builtin %u", e->op);
        return check_absent(l, e->a, e->b, e->c);
    case VY_EXPR_VARIABLE:
        if (!has_variable(l, e->a))
            return LAYOUT_ERROR(l->verifier, V002, "an expression refers to a variable (%u) of another function", e->a);
        return check_absent(l, VY_NONE, e->b, e->c);
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
    case VY_EXPR_LOAD:
        if (!has_memory(l, e->a))
            return LAYOUT_ERROR(l->verifier, V002, "an expression refers to a memory (%u) of another function", e->a);
        if (e->kind != VY_EXPR_LOAD)
            return check_absent(l, VY_NONE, e->b, e->c);
        return check_load(l, t, index, e);
    case VY_EXPR_OP:
        return check_op(l, t, index, e);
    default:
        return LAYOUT_ERROR(l->verifier, V001, "unknown kind (%u) of an expression", e->kind);
    }
}

static int check_expr(layout *l, uint32_t index) {
    const vy_expr *e = &l->program->exprs.items[index];
    tree t = {index, 0};
    if (e->type >= VYRE_TYPE_COUNT)
        return LAYOUT_ERROR(l->verifier, V001, "unknown type (%u) of an expression", e->type);
    if (!check_node(l, &t, index, e))
        return 0;
    if (t.depth > VY_LIMIT_EXPRESSION_DEPTH) {
        vy_verifier_error(l->verifier, VY_V032, vy_expr_position(l->program, index), NULL,
                          "expression too deep (limit %d operators)", VY_LIMIT_EXPRESSION_DEPTH);
        return 0;
    }
    l->tree_start[index] = t.start;
    l->tree_depth[index] = t.depth;
    return 1;
}

/* Checks that the tree of the next operand consists of exactly the expressions from next_expr to its root. */
static int check_tree(layout *l, uint32_t root) {
    if (root < l->next_expr || root >= l->program->exprs.count)
        return LAYOUT_ERROR(l->verifier, V005,
                            "an operand (expression %u) does not follow the one before (expression %u)", root,
                            l->next_expr);
    for (uint32_t i = l->next_expr; i <= root; i++)
        if (!check_expr(l, i))
            return 0;
    if (l->tree_start[root] != l->next_expr)
        return LAYOUT_ERROR(l->verifier, V005, "expression %u belongs to no statement", l->next_expr);
    l->next_expr = root + 1;
    return 1;
}

/* ---- statements ---- */

/* Fields of each kind of statement. The operand counts of atomics and collectives come from separate tables. */
typedef struct shape {
    uint8_t fewest_operands, most_operands;
    uint8_t fewest_results, most_results;
    uint8_t has_memory, has_args;
} shape;

static const shape shapes[VY_STMT_KIND_COUNT] = {
    [VY_STMT_LET] = {1, 1, 1, 1, 0, 0},
    [VY_STMT_VAR] = {1, 1, 1, 1, 0, 0},
    [VY_STMT_ASSIGN] = {1, 1, 0, 0, 0, 0},
    [VY_STMT_STORE] = {2, 2, 0, 0, 1, 0},
    [VY_STMT_ATOMIC] = {1, 3, 0, 1, 1, 0},
    [VY_STMT_COLLECTIVE] = {1, 2, 1, 1, 0, 0},
    [VY_STMT_CALL] = {0, 0, 0, VY_LIMIT_RESULTS, 0, 1},
    [VY_STMT_BARRIER] = {0, 0, 0, 0, 0, 0},
    [VY_STMT_TRAP] = {1, 1, 0, 0, 0, 0},
    [VY_STMT_PRINT] = {0, 0, 0, 0, 0, 1},
    [VY_STMT_IF] = {1, 1, 0, 0, 0, 0},
    [VY_STMT_FOR] = {2, 3, 1, 1, 0, 0},
    [VY_STMT_WHILE] = {1, 1, 0, 0, 0, 0},
    [VY_STMT_BREAK] = {0, 0, 0, 0, 0, 0},
    [VY_STMT_CONTINUE] = {0, 0, 0, 0, 0, 0},
    [VY_STMT_RETURN] = {0, 0, 0, 0, 0, 1},
    [VY_STMT_REGION] = {0, 0, 0, 0, 0, 0},
    [VY_STMT_LOAD_WIDE] = {1, 1, 2, VY_LIMIT_WIDE, 1, 0},
    [VY_STMT_STORE_WIDE] = {1, 1, 0, 0, 1, 1},
    [VY_STMT_RECORD_TRAP] = {1, 1, 0, 0, 0, 0},
    [VY_STMT_POLL] = {0, 0, 1, 1, 0, 0},
};

static int check_tags(layout *l, uint32_t index, const vy_stmt *s) {
    if (s->kind >= VY_STMT_KIND_COUNT)
        return LAYOUT_ERROR(l->verifier, V001, "unknown kind (%u) of statement %u", s->kind, index);
    if (s->kind == VY_STMT_ATOMIC && (s->op >= VYRE_ATOMIC_COUNT || s->order >= VYRE_ORDER_COUNT))
        return LAYOUT_ERROR(l->verifier, V001, "unknown atomic %u or order %u", s->op, s->order);
    if ((s->kind == VY_STMT_ATOMIC || s->kind == VY_STMT_BARRIER) && s->scope >= VYRE_SCOPE_COUNT)
        return LAYOUT_ERROR(l->verifier, V001, "unknown scope %u", s->scope);
    if (s->bounds_check &&
        (s->bounds_check >= VY_BOUNDS_CHECK_COUNT || (s->kind != VY_STMT_STORE && s->kind != VY_STMT_ATOMIC)))
        return LAYOUT_ERROR(l->verifier, V001, "unknown bounds check %u of statement %u", s->bounds_check, index);
    if (s->kind == VY_STMT_COLLECTIVE && s->op >= VYRE_COLLECTIVE_COUNT)
        return LAYOUT_ERROR(l->verifier, V001, "unknown collective %u", s->op);
    return 1;
}

static int check_operands(layout *l, uint32_t index, const vy_stmt *s) {
    shape row = shapes[s->kind];
    if (s->kind == VY_STMT_ATOMIC)
        row.fewest_operands = row.most_operands = (uint8_t)(1 + vy_atomics[s->op].operands);
    else if (s->kind == VY_STMT_COLLECTIVE)
        row.fewest_operands = row.most_operands = vy_collectives[s->op].operands;
    const uint32_t operands[3] = {s->a, s->b, s->c};
    for (int i = 0; i < 3; i++) {
        if (operands[i] == VY_NONE ? i < row.fewest_operands : i >= row.most_operands)
            return LAYOUT_ERROR(l->verifier, V009, "operand %d of statement %u is missing or unexpected", i, index);
        if (operands[i] != VY_NONE && !check_tree(l, operands[i]))
            return 0;
    }
    return 1;
}

static int check_args(layout *l, uint32_t index, const vy_stmt *s) {
    const vyre_program *p = l->program;
    if (s->arg_count == 0)
        return 1;
    if (!shapes[s->kind].has_args)
        return LAYOUT_ERROR(l->verifier, V009, "statement %u has arguments, which its kind does not allow", index);
    if (s->args != l->next_arg || s->arg_count > p->args.count - l->next_arg)
        return LAYOUT_ERROR(l->verifier, V007, "the arguments of statement %u do not follow those of the one before",
                            index);
    l->next_arg += s->arg_count;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        const vy_arg *arg = &p->args.items[s->args + i];
        if (arg->is_memory > (s->kind == VY_STMT_CALL))
            return LAYOUT_ERROR(l->verifier, V007, "argument %u of statement %u has the wrong kind", i, index);
        if (arg->is_memory && !has_memory(l, arg->index))
            return LAYOUT_ERROR(l->verifier, V002, "argument %u of statement %u is a memory (%u) of another function",
                                i, index, arg->index);
        if (!arg->is_memory && !check_tree(l, arg->index))
            return 0;
    }
    return 1;
}

static int check_results(layout *l, uint32_t index, const vy_stmt *s) {
    const shape *row = &shapes[s->kind];
    if (s->result_count < row->fewest_results || s->result_count > row->most_results)
        return LAYOUT_ERROR(l->verifier, V009, "statement %u declares more or fewer variables (%u) than its kind does",
                            index, s->result_count);
    if (s->kind == VY_STMT_ASSIGN)
        return has_variable(l, s->variable)
                   ? 1
                   : LAYOUT_ERROR(l->verifier, V002, "statement %u assigns to a variable (%u) of another function",
                                  index, s->variable);
    if (s->result_count == 0)
        return s->variable == VY_NONE
                   ? 1
                   : LAYOUT_ERROR(l->verifier, V009, "statement %u has a variable that it does not declare", index);
    uint32_t end = l->function->first_variable + l->function->variable_count;
    if (s->variable != l->next_variable || s->result_count > end - l->next_variable)
        return LAYOUT_ERROR(l->verifier, V006, "statement %u does not declare the next variable (%u)", index,
                            l->next_variable);
    for (uint32_t i = 0; i < s->result_count; i++)
        if (l->program->variables.items[s->variable + i].is_mutable != (s->kind == VY_STMT_VAR))
            return LAYOUT_ERROR(l->verifier, V006, "the mutability of variable %u contradicts its declaration",
                                s->variable + i);
    l->next_variable += s->result_count;
    return 1;
}

static int check_references(layout *l, uint32_t index, const vy_stmt *s) {
    if (shapes[s->kind].has_memory ? !has_memory(l, s->memory) : s->memory != VY_NONE)
        return LAYOUT_ERROR(l->verifier, V002, "statement %u refers to an invalid memory (%u)", index, s->memory);
    if (s->callee == VY_NONE)
        return 1;
    if (s->kind != VY_STMT_CALL)
        return LAYOUT_ERROR(l->verifier, V009, "statement %u has a callee, but is not a call", index);
    if (s->callee >= vyre_program_function_count(l->program))
        return LAYOUT_ERROR(l->verifier, V002, "statement %u calls a function (%u) that the program does not have",
                            index, s->callee);
    return 1;
}

/* Closes blocks that end before this statement, and checks the end of its block. */
static int check_block(layout *l, uint32_t index, const vy_stmt *s) {
    while (l->depth && l->open[l->depth - 1].end == index)
        l->depth--;
    uint32_t end = vy_block_end(l->program, l->function, l->depth ? l->open[l->depth - 1].stmt : VY_NONE, index);
    if (!vy_stmt_is_structured(s->kind))
        return s->end == index + 1 && s->middle == s->end
                   ? 1
                   : LAYOUT_ERROR(l->verifier, V004,
                                  "statement %u has no body, but does not end where the next statement begins", index);
    if (s->end <= index || s->end > end || s->middle <= index || s->middle > s->end ||
        (s->kind != VY_STMT_IF && s->middle != s->end))
        return LAYOUT_ERROR(l->verifier, V004, "the block of statement %u extends beyond the enclosing block", index);
    if (l->depth == VY_LIMIT_NESTING) {
        vy_verifier_error(l->verifier, VY_V033, vy_stmt_position(l->program, index), NULL,
                          "blocks nested too deeply (limit %d)", VY_LIMIT_NESTING);
        return 0;
    }
    l->open[l->depth].stmt = index;
    l->open[l->depth++].end = s->end;
    return 1;
}

static uint32_t scalar_params(const layout *l) {
    if (l->is_entry)
        return l->program->param_count;
    return l->function->param_count - memory_param_count(l->program, l->function);
}

static int check_function(layout *l, const vy_function *f) {
    l->function = f;
    l->is_entry = vy_is_entry(l->program, f);
    l->depth = 0;
    uint32_t params = scalar_params(l);
    l->next_variable = f->first_variable + params;
    for (uint32_t i = 0; i < params; i++)
        if (l->program->variables.items[f->first_variable + i].is_mutable)
            return LAYOUT_ERROR(l->verifier, V006, "a parameter is mutable");
    for (uint32_t i = f->first_stmt; i < f->end_stmt; i++) {
        const vy_stmt *s = &l->program->stmts.items[i];
        if (!check_tags(l, i, s) || !check_block(l, i, s) || !check_operands(l, i, s) || !check_args(l, i, s) ||
            !check_results(l, i, s) || !check_references(l, i, s))
            return 0;
    }
    if (l->next_variable != f->first_variable + f->variable_count)
        return LAYOUT_ERROR(l->verifier, V006, "variable %u is not declared by any statement", l->next_variable);
    return 1;
}

/* Checks that every expression and argument belongs to a statement. */
static int check_rest(layout *l) {
    if (l->next_expr != l->program->exprs.count)
        return LAYOUT_ERROR(l->verifier, V005, "expression %u belongs to no statement", l->next_expr);
    if (l->next_arg != l->program->args.count)
        return LAYOUT_ERROR(l->verifier, V007, "argument %u belongs to no statement", l->next_arg);
    return 1;
}

static void check_code(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    layout l = {.verifier = verifier, .program = p};
    l.tree_start = vy_verifier_scratch(verifier, p->exprs.count, sizeof *l.tree_start);
    l.tree_depth = vy_verifier_scratch(verifier, p->exprs.count, sizeof *l.tree_depth);
    if (!l.tree_start || !l.tree_depth)
        return;
    for (uint32_t i = 0; i < p->functions.count; i++)
        if (!check_function(&l, &p->functions.items[i]))
            return;
    check_rest(&l);
}

void vy_verify_layout(vy_verifier *verifier) {
    if (check_header(verifier) && check_totals(verifier) && check_names(verifier) && check_ranges(verifier) &&
        check_types(verifier) && check_sizes(verifier))
        check_code(verifier);
}
