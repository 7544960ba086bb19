/* Functions, programs and the library of a file. */
#include "ir/build/finish.h"
#include "ir/text/lower.h"

#include <stdlib.h>

/* ---- declarations ---- */

static void declare_as(vy_lowering *l, const vy_ast_decl *decl, vy_binding_kind kind) {
    vy_binding binding = {.name = decl->name,
                          .kind = (uint8_t)kind,
                          .type = decl->type,
                          .space = decl->space,
                          .index = decl->index,
                          .at = decl->at};
    vy_lower_declare(l, &binding);
}

static void declare_memory_or_param(vy_lowering *l, const vy_ast_decl *decl) {
    declare_as(l, decl, decl->is_memory ? VY_BINDING_MEMORY : VY_BINDING_VARIABLE);
}

static void declare_broken(vy_lowering *l, const vy_ast_function *func) {
    for (const vy_ast_decl *decl = func->broken.first; decl; decl = decl->next)
        if (!vy_lower_find(l, decl->name))
            declare_as(l, decl, VY_BINDING_BROKEN);
}

static void add_param(vy_lowering *l, vy_ast_decl *decl) {
    decl->index = VY_NONE;
    if (l->live) {
        vy_symbol name = vy_lower_name(l, decl->name);
        l->draft.position = decl->at;
        decl->index = decl->is_memory
                          ? vy_irb_memory_param(&l->draft, name, decl->space, decl->type, decl->access, VY_NONE)
                          : vy_irb_scalar_param(&l->draft, name, decl->type);
    }
    declare_memory_or_param(l, decl);
}

static void add_arrays(vy_lowering *l, vy_ast_function *func) {
    for (vy_ast_decl *decl = func->arrays.first; decl; decl = decl->next) {
        uint64_t elements = 0;
        decl->index = VY_NONE;
        vy_lower_constant(l, decl->size, UINT32_MAX, "the length of an array", &elements);
        if (l->live) {
            vy_symbol name = vy_lower_name(l, decl->name);
            l->draft.position = decl->at;
            decl->index = vy_irb_array(&l->draft, name, decl->space, decl->type, (uint32_t)elements);
        }
        declare_memory_or_param(l, decl);
    }
}

/* ---- functions ---- */

static void lower_function(vy_lowering *l, vy_ast_function *func) {
    l->func = func;
    l->next_temporary = 0;
    l->draft.position = func->at;
    if (l->live)
        vy_irb_begin_function(&l->draft, vy_lower_name(l, func->name));
    for (vy_ast_decl *decl = func->params.first; decl; decl = decl->next)
        add_param(l, decl);
    declare_broken(l, func);
    for (const vy_ast_declarator *result = func->results; result && l->live; result = result->next)
        vy_irb_result(&l->draft, vy_lower_name(l, result->name), result->type);
    add_arrays(l, func);
    vy_lower_statements(l, func->body);
    vy_lower_leave_scope(l, 0);
    if (l->live)
        vy_irb_end_function(&l->draft);
}

/* ---- finishing ---- */

static int start(vy_lowering *l, const char *name) {
    vyre_error error;
    if (vy_irb_start(&l->draft, name, &error) != VYRE_OK) {
        l->report->out_of_memory = 1;
        return 0;
    }
    l->draft.keep_positions = 1;
    l->draft.skip_verify = l->skip_verify;
    l->live = 1;
    return 1;
}

/* Validates what was built, and takes over what the validator finds. */
static void finish(vy_lowering *l, size_t known, vy_source *source, vyre_program **out) {
    if (!l->live || l->report->out_of_memory) {
        vy_irb_discard(&l->draft);
        return;
    }
    vyre_error error = VYRE_ERROR_INIT;
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_status status = vy_irb_finish(&l->draft, source, found, out, &error);
    error.code = status;
    vy_diag_sink_merge(l->report, found, known, &error);
    vyre_diagnostics_free(found);
}

void vy_lower_library(vy_lowering *l, vyre_level level, size_t known, vy_source *source, vyre_program **out) {
    uint32_t index = 0;
    if (!l->parser->file.functions || !start(l, ""))
        return;
    l->draft.program->kind = VYRE_PROGRAM_LIBRARY;
    l->draft.program->level = (uint8_t)level;
    for (vy_ast_function *func = l->parser->file.functions; func; func = func->next)
        func->index = index++;
    int live = 1;
    for (vy_ast_function *func = l->parser->file.functions; func; func = func->next) {
        /* One function with errors spoils the library, but the others are still looked at. */
        size_t errors = l->report->errors;
        l->live = live && !func->is_bad;
        lower_function(l, func);
        func->is_bad |= l->report->errors != errors;
        live &= l->live;
    }
    l->live = live;
    finish(l, known, source, out);
}

/* ---- programs ---- */

static void add_reachable(vy_lowering *l, const vy_ast_callee *calls) {
    for (; calls; calls = calls->next) {
        const vy_global *global = vy_lower_global(l, calls->name);
        if (!global || !global->function || global->function->reached_by == l->stamp)
            continue;
        global->function->reached_by = l->stamp;
        vy_ast_function **slot = VY_PUSH(&l->reached);
        if (!slot) {
            l->report->out_of_memory = 1;
            return;
        }
        *slot = global->function;
    }
}

static int by_ordinal(const void *a, const void *b) {
    uint32_t x = (*(vy_ast_function *const *)a)->ordinal, y = (*(vy_ast_function *const *)b)->ordinal;
    return x < y ? -1 : x > y;
}

/* The functions a program calls, directly or not, in the order of the file. */
static void find_reachable(vy_lowering *l, const vy_ast_function *program) {
    l->stamp++;
    l->reached.count = 0;
    add_reachable(l, program->calls);
    for (uint32_t i = 0; i < l->reached.count; i++)
        add_reachable(l, l->reached.items[i]->calls);
    if (l->reached.count)
        qsort(l->reached.items, l->reached.count, sizeof *l->reached.items, by_ordinal);
    for (uint32_t i = 0; i < l->reached.count; i++)
        l->reached.items[i]->index = i;
}

/* Params and buffers are declared before any count is read, because a count may use the length of a later buffer. */
static void add_bindings(vy_lowering *l, vy_ast_function *program) {
    uint32_t first_memory = l->draft.program->memories.count, ordinal = 0;
    for (vy_ast_decl *decl = program->params.first; decl; decl = decl->next)
        add_param(l, decl);
    for (vy_ast_decl *decl = program->buffers.first; decl; decl = decl->next) {
        decl->index = first_memory + ordinal++;
        declare_memory_or_param(l, decl);
    }
    for (vy_ast_decl *decl = program->buffers.first; decl; decl = decl->next) {
        uint32_t size = decl->size ? vy_lower_size(l, decl->size) : VY_NONE;
        vy_symbol name = vy_lower_name(l, decl->name);
        l->draft.position = decl->at;
        if (l->live)
            vy_irb_memory_param(&l->draft, name, VY_SPACE_BUFFER, decl->type, decl->access, size);
    }
}

static void set_workgroup(vy_lowering *l, const vy_ast_function *program) {
    for (uint32_t i = 0; i < program->workgroup_count; i++) {
        uint64_t size = 1;
        vy_lower_constant(l, program->workgroup[i], UINT32_MAX, "a workgroup size", &size);
        if (l->live)
            l->draft.program->workgroup[i] = (uint32_t)size;
    }
}

static void set_grid(vy_lowering *l, const vy_ast_function *program) {
    vy_grid grid = {program->grid_kind, VY_NONE, 0, {VY_NONE, VY_NONE, VY_NONE}};
    if (program->grid_kind == VYRE_GRID_OVER || program->grid_kind == VYRE_GRID_INDIRECT) {
        const vy_binding *memory =
            program->grid_name ? vy_lower_memory(l, program->grid_name, program->grid_name_at) : NULL;
        grid.memory = memory ? memory->index : VY_NONE;
    }
    if (program->grid_kind == VYRE_GRID_INDIRECT && program->grid_count) {
        uint64_t offset = 0;
        vy_lower_constant(l, program->grid[0], UINT32_MAX, "the offset of an indirect grid", &offset);
        grid.offset = (uint32_t)offset;
    }
    if (program->grid_kind == VYRE_GRID_GROUPS || program->grid_kind == VYRE_GRID_ELEMENTS)
        for (uint32_t i = 0; i < program->grid_count; i++)
            grid.sizes[i] = vy_lower_size(l, program->grid[i]);
    if (l->live)
        l->draft.program->grid = grid;
}

static void lower_entry(vy_lowering *l, vy_ast_function *program) {
    l->func = program;
    l->next_temporary = 0;
    l->draft.position = program->at;
    if (l->live)
        vy_irb_begin_entry(&l->draft);
    add_bindings(l, program);
    declare_broken(l, program);
    set_workgroup(l, program);
    add_arrays(l, program);
    set_grid(l, program);
    vy_lower_statements(l, program->body);
    vy_lower_leave_scope(l, 0);
    if (l->live)
        vy_irb_end_function(&l->draft);
}

void vy_lower_program(vy_lowering *l, vy_ast_function *program, size_t known, vy_source *source, vyre_program **out) {
    if (!start(l, vy_lower_text(l, program->name)))
        return;
    l->draft.program->numerics = program->numerics;
    l->draft.program->level = program->level;
    l->live = !program->is_bad;
    find_reachable(l, program);
    for (uint32_t i = 0; i < l->reached.count; i++)
        l->live &= !l->reached.items[i]->is_bad;
    /* Functions with errors have been reported with the library; the program's own statements are still looked at. */
    for (uint32_t i = 0; i < l->reached.count && l->live; i++)
        lower_function(l, l->reached.items[i]);
    lower_entry(l, program);
    finish(l, known, source, out);
}
