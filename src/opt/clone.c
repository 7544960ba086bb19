/* Cloner (clone.h). Invariant: expressions are appended directly before the statement that uses them, in the order a,
 * b, c, args. */
#include "opt/clone.h"

#include "ir/build/builder_internal.h"
#include "ir/walk.h"

/* ---- names ---- */

static vy_symbol same_name(vy_cloner *copy, vy_symbol name) {
    const char *text = vy_symbol_name(copy->from, name);
    return vy_irb_intern(&copy->draft, text, strlen(text));
}

static int is_visible(const vy_cloner *copy, vy_symbol name) {
    return name < copy->visible.count && copy->visible.items[name];
}

static void declare(vy_cloner *copy, vy_symbol name) {
    uint32_t missing = name < copy->visible.count ? 0 : name + 1 - copy->visible.count;
    copy->draft.failed |= missing && !VY_RESERVE(&copy->visible, missing);
    if (missing && !copy->draft.failed) {
        memset(copy->visible.items + copy->visible.count, 0, missing);
        copy->visible.count += missing;
    }
    vy_symbol *slot = VY_PUSH(&copy->declared);
    copy->draft.failed |= !slot;
    if (copy->draft.failed)
        return;
    copy->visible.items[name] = 1;
    *slot = name;
}

/* The text, or the text with the first suffix that makes it a free name, which is declared. avoid (optional) lists
 * further names in use. */
static vy_symbol free_name(vy_cloner *copy, const char *text, const vy_intern_pool *avoid) {
    char candidate[VY_LIMIT_NAME + 1];
    const char *wanted = text;
    size_t size = strnlen(text, VY_LIMIT_NAME);
    for (uint32_t n = 2; !copy->draft.failed; n++) {
        vy_symbol name = vy_irb_intern(&copy->draft, wanted, size);
        if (!is_visible(copy, name) && !(avoid && vy_intern_pool_find(avoid, wanted, size) != VY_SYMBOL_INVALID)) {
            declare(copy, name);
            return name;
        }
        size = vy_name_suffixed(candidate, text, VY_LIMIT_NAME, n);
        wanted = candidate;
    }
    return 0;
}

vy_symbol vy_cloner_name(vy_cloner *copy, const char *text) {
    return free_name(copy, text, NULL);
}

vy_symbol vy_cloner_new_name(vy_cloner *copy, const char *text) {
    return free_name(copy, text, &copy->from->names);
}

static vy_symbol variable_name(vy_cloner *copy, uint32_t variable) {
    return vy_cloner_name(copy, vy_symbol_name(copy->from, vy_variable_at(copy->from, variable)->name));
}

uint32_t vy_cloner_open(const vy_cloner *copy) {
    return copy->declared.count;
}

void vy_cloner_close(vy_cloner *copy, uint32_t mark) {
    while (copy->declared.count > mark)
        copy->visible.items[copy->declared.items[--copy->declared.count]] = 0;
}

/* ---- start and end ---- */

vyre_status vy_cloner_start(vy_cloner *copy, const vyre_program *from, const char *name, vyre_error *error) {
    copy->from = from;
    copy->entry = vy_program_entry(from);
    vyre_status status = vy_irb_start(&copy->draft, name, error);
    if (status != VYRE_OK)
        return status;
    if (copy->keeps_names)
        vy_irb_clone_symbols(&copy->draft, from);
    vyre_program *made = copy->draft.program;
    made->keepalive = vy_keepalive_retain(from->keepalive);
    made->level = from->level;
    made->numerics = from->numerics;
    memcpy(made->workgroup, from->workgroup, sizeof made->workgroup);
    copy->draft.keep_positions = from->stmt_positions.count != 0;
    copy->draft.fail_at_limit = 1;
    vy_irb_reserve(&copy->draft, from);
    copy->draft.position = copy->entry->position;
    vy_irb_begin_entry(&copy->draft);
    return VYRE_OK;
}

vyre_status vy_cloner_finish(vy_cloner *copy, vyre_program **out, vyre_error *error) {
    vy_irb_end_function(&copy->draft);
    return vy_irb_finish(&copy->draft, copy->from->source, NULL, out, error);
}

void vy_cloner_discard(vy_cloner *copy) {
    vy_irb_discard(&copy->draft);
    VY_VECTOR_FREE(&copy->args);
    VY_VECTOR_FREE(&copy->visible);
    VY_VECTOR_FREE(&copy->declared);
}

/* ---- declarations ---- */

void vy_cloner_params(vy_cloner *copy) {
    for (uint32_t i = copy->entry->first_variable; i < copy->entry->first_variable + copy->from->param_count; i++) {
        const vy_variable *v = vy_variable_at(copy->from, i);
        vy_symbol name = variable_name(copy, i);
        copy->draft.position = v->position;
        copy->variables[i] = vy_irb_scalar_param(&copy->draft, name, (vyre_type)v->type);
    }
}

/* A size may refer to a param or a buffer, also to a later one; both keep their indices. */
static uint32_t copy_size(vy_cloner *copy, uint32_t root) {
    if (root == VY_NONE)
        return VY_NONE;
    vy_size size = copy->from->sizes.items[root];
    if (size.kind == VY_SIZE_PARAM) {
        size.a -= copy->entry->first_variable;
    } else if (size.kind == VY_SIZE_LEN) {
        size.a -= copy->entry->first_memory;
    } else if (size.kind != VY_SIZE_LITERAL) {
        size.a = copy_size(copy, size.a);
        size.b = copy_size(copy, size.b);
    }
    return vy_irb_size(&copy->draft, (vy_size_kind)size.kind, size.a, size.b, size.value);
}

void vy_cloner_buffers(vy_cloner *copy, int writes_become_read_write) {
    for (uint32_t i = copy->entry->first_memory; i < copy->entry->first_memory + copy->from->buffer_count; i++) {
        const vy_memory *m = vy_memory_at(copy->from, i);
        uint8_t access =
            m->access == VYRE_ACCESS_WRITE && writes_become_read_write ? VYRE_ACCESS_READ_WRITE : m->access;
        vy_symbol name = vy_cloner_name(copy, vy_symbol_name(copy->from, m->name));
        copy->draft.position = m->position;
        copy->memories[i] = vy_irb_memory_param(&copy->draft, name, VY_SPACE_BUFFER, (vyre_type)m->type,
                                                (vyre_access)access, copy_size(copy, m->size));
    }
}

void vy_cloner_arrays(vy_cloner *copy) {
    for (uint32_t i = copy->from->buffer_count; i < copy->entry->memory_count; i++) {
        uint32_t memory = copy->entry->first_memory + i;
        const vy_memory *m = vy_memory_at(copy->from, memory);
        vy_symbol name = vy_cloner_name(copy, vy_symbol_name(copy->from, m->name));
        copy->draft.position = m->position;
        copy->memories[memory] = vy_irb_clone_array(&copy->draft, copy->from, memory, name);
    }
}

void vy_cloner_grid(vy_cloner *copy) {
    vy_grid grid = copy->from->grid;
    if (grid.memory != VY_NONE)
        grid.memory -= copy->entry->first_memory;
    for (int i = 0; i < 3; i++)
        grid.sizes[i] = copy_size(copy, grid.sizes[i]);
    copy->draft.program->grid = grid;
}

/* ---- expressions ---- */

static void note(uint8_t *uses, uint32_t index, uint8_t use) {
    if (uses && index != VY_NONE)
        uses[index] |= use;
}

static void note_expr(vy_cloner *copy, uint32_t root) {
    if (!copy->variable_uses)
        return;
    VY_EACH_EXPR (copy->from, i, root) {
        const vy_expr *e = vy_expr_at(copy->from, i);
        if (e->kind == VY_EXPR_VARIABLE)
            note(copy->variable_uses, e->a, VY_USE_READ);
        else if (e->kind == VY_EXPR_LOAD)
            note(copy->memory_uses, e->a, VY_USE_READ);
    }
}

uint32_t vy_cloner_expr(vy_cloner *copy, uint32_t root) {
    note_expr(copy, root);
    return vy_irb_clone_expr(&copy->draft, copy->from, root, copy->variables, copy->memories);
}

/* ---- statements ---- */

static void copy_args(vy_cloner *copy, const vy_stmt *s) {
    copy->args.count = 0;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        vy_arg arg = copy->from->args.items[s->args + i], *slot = VY_PUSH(&copy->args);
        if (arg.is_memory) {
            note(copy->memory_uses, arg.index, VY_USE_READ | VY_USE_WRITE);
            arg.index = copy->memories[arg.index];
        } else {
            arg.index = vy_cloner_expr(copy, arg.index);
        }
        if (slot)
            *slot = arg;
        else
            copy->draft.failed = 1;
    }
}

static void append(vy_cloner *copy, uint32_t index, vy_stmt stmt) {
    const vyre_program *from = copy->from;
    const vy_stmt *s = vy_stmt_at(from, index);
    vy_symbol names[VY_LIMIT_RESULTS];
    vyre_type types[VY_LIMIT_RESULTS];
    for (uint32_t i = 0; i < s->result_count; i++) {
        names[i] = variable_name(copy, s->variable + i);
        types[i] = (vyre_type)vy_variable_at(from, s->variable + i)->type;
    }
    copy->draft.position = vy_stmt_position(from, index);
    if (copy->draft.failed)
        return;
    uint32_t made = vy_irb_stmt(&copy->draft, &stmt, copy->args.items, copy->args.count, names, types);
    for (uint32_t i = 0; i < s->result_count && made != VY_NONE; i++) {
        copy->variables[s->variable + i] = vy_stmt_at(copy->draft.program, made)->variable + i;
        if (copy->is_fresh)
            copy->is_fresh[s->variable + i] = 1;
    }
}

/* Whether an assignment is copied: not if the copy has no such variable, because then no statement of it reads the
 * value. */
static int copy_assigns(vy_cloner *copy, const vy_stmt *s) {
    note(copy->variable_uses, s->variable, VY_USE_WRITE);
    if (copy->variables[s->variable] != VY_NONE)
        return 1;
    note_expr(copy, s->a);
    return 0;
}

void vy_cloner_stmt(vy_cloner *copy, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(copy->from, index);
    vy_stmt stmt = *s;
    if (s->kind == VY_STMT_ASSIGN && !copy_assigns(copy, s))
        return;
    stmt.a = vy_cloner_expr(copy, s->a);
    stmt.b = vy_cloner_expr(copy, s->b);
    stmt.c = vy_cloner_expr(copy, s->c);
    copy_args(copy, s);
    stmt.name = same_name(copy, s->name);
    if (s->kind == VY_STMT_ASSIGN) {
        stmt.variable = copy->variables[s->variable];
    } else if (s->memory != VY_NONE) {
        note(copy->memory_uses, s->memory,
             s->kind == VY_STMT_STORE || s->kind == VY_STMT_STORE_WIDE ? VY_USE_WRITE : VY_USE_READ | VY_USE_WRITE);
        stmt.memory = copy->memories[s->memory];
    }
    copy->has_sync |= s->kind == VY_STMT_COLLECTIVE || (s->kind == VY_STMT_BARRIER && s->scope == VYRE_SCOPE_WORKGROUP);
    append(copy, index, stmt);
}

void vy_cloner_for(vy_cloner *copy, uint32_t index, uint32_t from, uint32_t to, uint32_t step) {
    vy_stmt stmt = copy->from->stmts.items[index];
    stmt.a = from;
    stmt.b = to;
    stmt.c = step;
    stmt.name = 0;
    copy->args.count = 0;
    append(copy, index, stmt);
}

static void copy_block(vy_cloner *copy, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !copy->draft.failed; i = vy_stmt_at(copy->from, i)->end)
        vy_cloner_tree(copy, i);
}

void vy_cloner_tree(vy_cloner *copy, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(copy->from, index);
    if (!vy_stmt_is_structured(s->kind)) {
        vy_cloner_stmt(copy, index);
        return;
    }
    uint32_t mark = vy_cloner_open(copy);
    if (s->kind == VY_STMT_FOR) {
        uint32_t a = vy_cloner_expr(copy, s->a), b = vy_cloner_expr(copy, s->b), c = vy_cloner_expr(copy, s->c);
        vy_cloner_for(copy, index, a, b, c);
    } else {
        vy_cloner_stmt(copy, index);
    }
    copy_block(copy, index + 1, s->middle);
    vy_cloner_close(copy, mark);
    if (s->middle != s->end) {
        vy_irb_else(&copy->draft);
        copy_block(copy, s->middle, s->end);
        vy_cloner_close(copy, mark);
    }
    vy_irb_end_block(&copy->draft);
}
