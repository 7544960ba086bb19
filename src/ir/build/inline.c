/* Inlining: every call of a function of the program is replaced by the function's body.
 *
 *   let r = f(v, t)        →     var r = 0
 *                                region "f" {
 *                                  let a = v                              one for each scalar argument, evaluated once, in order
 *                                  for i in 0 .. 8 { s[i] = 0 }           one for each private array of f
 *                                  …                                      the body; t stands for its memory parameter
 *                                }
 *
 * A return becomes assignments to the results. Where it is not the last thing that happens, the body stands in `while true { … break }`, and
 * the return also breaks out of that; from inside a loop of the body it sets a flag of that loop and breaks, and after the loop `if flag { break }`
 * follows, which sets the flag of the next loop around first.
 * Private arrays of functions become arrays of the program, shared by all calls of the function, which is why each call clears
 * them. Names are kept where they are free, else they get a suffix: `a_2`.
 *
 * What must stay true: the result is valid whenever the program is. src/ir/validate/calls.c counts what is made here, and
 * src/ir/validate/divergence_graph.h sees the same control in both. */
#include "ir/build/inline.h"
#include "base/status.h"
#include "ir/build/finish.h"
#include "ir/build/inline_body.h"

#include <stdio.h>

/* ---- declarations ---- */

static void declare_scalar(vy_inliner *in, uint32_t variable) {
    const vy_variable *v = &in->from->variables.items[variable];
    vy_symbol name = vy_inline_intern(in, v->name);
    in->draft.position = v->position;
    in->map_variable[variable] = vy_irb_scalar_param(&in->draft, name, (vyre_type)v->type);
    vy_inline_declare(in, name);
}

static void declare_memory(vy_inliner *in, uint32_t memory) {
    const vy_memory *m = &in->from->memories.items[memory];
    vy_symbol name = vy_inline_intern(in, m->name);
    in->draft.position = m->position;
    in->map_memory[memory] =
        vy_irb_memory_param(&in->draft, name, (vy_space)m->space, (vyre_type)m->type, (vyre_access)m->access, m->size);
    vy_inline_declare(in, name);
}

static void declare_array(vy_inliner *in, uint32_t memory, vy_symbol name) {
    const vy_memory *m = &in->from->memories.items[memory];
    in->draft.position = m->position;
    in->map_memory[memory] = vy_irb_array(&in->draft, name, (vy_space)m->space, (vyre_type)m->type, m->elements);
    vy_inline_declare(in, name);
}

/* Marks what the statements of a function call. Recursion is bounded by VY_LIMIT_CALL_DEPTH. */
static void mark_needed(vy_inliner *in, const vy_function *f) {
    for (uint32_t i = f->first_stmt; i < f->end_stmt; i++) {
        const vy_stmt *s = &in->from->stmts.items[i];
        if (s->kind != VY_STMT_CALL || s->callee == VY_NONE || in->needed[s->callee])
            continue;
        in->needed[s->callee] = 1;
        mark_needed(in, &in->from->functions.items[s->callee]);
    }
}

/* The arrays of the root keep their names; those of the functions it calls are called after both, and differ from every name of the program. */
static void declare_arrays(vy_inliner *in, const vy_function *root, uint32_t first) {
    const vyre_program *p = in->from;
    for (uint32_t i = first; i < root->memory_count; i++)
        declare_array(in, root->first_memory + i, vy_inline_intern(in, p->memories.items[root->first_memory + i].name));
    memset(in->needed, 0, p->functions.count);
    mark_needed(in, root);
    for (uint32_t k = 0; k < p->functions.count; k++) {
        const vy_function *f = &p->functions.items[k];
        for (uint32_t i = vy_inline_memory_params(p, f); in->needed[k] && i < f->memory_count; i++) {
            char text[2 * VY_LIMIT_NAME + 2];
            snprintf(text, sizeof text, "%s_%s", vy_symbol_name(p, f->name),
                     vy_symbol_name(p, p->memories.items[f->first_memory + i].name));
            for (char *at = text + strcspn(text, ".:-"); *at; at += strcspn(at, ".:-"))
                *at = '_'; /* a function that stands for an op */
            declare_array(in, f->first_memory + i, vy_inline_unique_name(in, text, &p->names));
        }
    }
}

static void copy_entry(vy_inliner *in, const vy_function *entry) {
    const vyre_program *p = in->from;
    in->draft.position = entry->position;
    vy_irb_clone_entry(&in->draft, p);
    for (uint32_t i = 0; i < p->param_count; i++)
        declare_scalar(in, entry->first_variable + i);
    for (uint32_t i = 0; i < p->buffer_count; i++)
        declare_memory(in, entry->first_memory + i);
    declare_arrays(in, entry, p->buffer_count);
}

static void copy_signature(vy_inliner *in, const vy_function *f) {
    const vyre_program *p = in->from;
    in->draft.position = f->position;
    vy_irb_begin_function(&in->draft, vy_inline_intern(in, f->name));
    for (uint32_t i = 0; i < f->param_count; i++) {
        const vy_param *param = &p->params.items[f->first_param + i];
        if (param->is_memory)
            declare_memory(in, param->index);
        else
            declare_scalar(in, param->index);
    }
    for (uint32_t i = 0; i < f->result_count; i++) {
        const vy_result *result = &p->results.items[f->first_result + i];
        vy_irb_result(&in->draft, vy_inline_intern(in, result->name), (vyre_type)result->type);
    }
    declare_arrays(in, f, vy_inline_memory_params(p, f));
}

/* The entry, or each function of a library, with its calls replaced. */
static void copy_roots(vy_inliner *in) {
    const vyre_program *p = in->from;
    int has_entry = vy_program_has_entry(p);
    for (uint32_t i = has_entry ? p->functions.count - 1 : 0; i < p->functions.count && !vy_inline_is_over_limit(in);
         i++) {
        const vy_function *root = &p->functions.items[i];
        vy_inline_frame f = {.function = root, .results = VY_NONE, .flag = VY_NONE};
        if (has_entry)
            copy_entry(in, root);
        else
            copy_signature(in, root);
        vy_inline_block(in, &f, root->first_stmt, root->end_stmt);
        vy_irb_end_function(&in->draft);
        vy_inline_end_scope(in, 0);
    }
}

static vyre_status start(vy_inliner *in, vyre_error *error) {
    const vyre_program *p = in->from;
    vyre_status status = vy_irb_start(&in->draft, vy_symbol_name(p, p->name), error);
    if (status != VYRE_OK)
        return status;
    in->map_variable = vy_allocate(vy_array_size(p->variables.count + 1u, sizeof *in->map_variable));
    in->map_memory = vy_allocate(vy_array_size(p->memories.count + 1u, sizeof *in->map_memory));
    in->needed = vy_allocate(p->functions.count);
    if (!in->map_variable || !in->map_memory || !in->needed)
        return vy_fail_memory(error, "the inlined program");
    vyre_program *made = in->draft.program;
    made->keepalive = vy_keepalive_retain(p->keepalive);
    made->kind = p->kind;
    made->level = p->level;
    made->numerics = p->numerics;
    in->draft.keep_positions = p->stmt_positions.count != 0;
    in->draft.skip_verify = in->skip_verify;
    vy_irb_reserve(&in->draft, p);
    return VYRE_OK;
}

static vyre_status finish(vy_inliner *in, vyre_program **out, vyre_error *error) {
    const char *fix = "inline a smaller library, or call in loops instead of many times";
    if (in->over_limit && !in->draft.failed)
        return vy_fail(error, VYRE_LIMIT, fix,
                       "the inlined program has more statements or expressions than the limit (%d, %d)",
                       VY_LIMIT_STATEMENTS, VY_LIMIT_EXPRESSIONS);
    vyre_status status = vy_irb_finish(&in->draft, in->from->source, NULL, out, error);
    if (status != VYRE_INVALID_PROGRAM || vy_program_entry(in->from))
        return status;
    /* The functions of a library are valid one by one; only what calls add up to can be too much. */
    return vy_fail(error, VYRE_LIMIT, fix,
                   "a function has more arrays than the limits (%d, %d bytes) once its calls are inlined",
                   VY_LIMIT_ARRAYS, VY_LIMIT_PRIVATE_BYTES);
}

static vyre_status inline_calls(const vyre_program *program, int skip_verify, vyre_program **out, vyre_error *error) {
    *out = NULL;
    if (!(program->facts & VY_PROGRAM_HAS_CALL)) {
        *out = vyre_program_retain((vyre_program *)program);
        return VYRE_OK;
    }
    vy_inliner in = {.from = program, .skip_verify = skip_verify && vy_program_has_entry(program)};
    vyre_status status = start(&in, error);
    if (status == VYRE_OK) {
        copy_roots(&in);
        status = finish(&in, out, error);
    }
    vy_irb_discard(&in.draft);
    vy_release(in.map_variable, vy_array_size(program->variables.count + 1u, sizeof *in.map_variable));
    vy_release(in.map_memory, vy_array_size(program->memories.count + 1u, sizeof *in.map_memory));
    vy_release(in.needed, program->functions.count);
    VY_VECTOR_FREE(&in.args);
    VY_VECTOR_FREE(&in.visible);
    VY_VECTOR_FREE(&in.declared);
    return status;
}

vyre_status vyre_program_inline(const vyre_program *program, vyre_program **out, vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, program);
    return inline_calls(program, 0, out, error);
}

vyre_status vy_program_inline_unverified(const vyre_program *program, vyre_program **out, vyre_error *error) {
    return inline_calls(program, 1, out, error);
}
