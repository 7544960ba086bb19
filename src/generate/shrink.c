/* Test-case reducer (shrinker), and the rewriting copy that makes its candidates. Recursion follows the blocks and
 * expressions of a valid program, so the limits of the language bound it. */
#include "generate/shrink.h"

#include "ir/build/builder_internal.h"
#include "ir/eval.h"
#include "ir/irbuilder.h"
#include "ir/walk.h"

#include <stdio.h>

/* ---- edits ---- */

vyre_status vy_shrink_edits_init(vy_shrink_edits *edits, const vyre_program *program,
                                 const vy_resolved_dispatch *launch, vyre_error *error) {
    *edits = (vy_shrink_edits){0};
    size_t exprs = program->exprs.count, buffers = program->buffer_count;
    size_t flags = (size_t)program->stmts.count + exprs + program->functions.count + program->variables.count +
                   program->memories.count + program->results.count;
    edits->block_size = exprs * (sizeof *edits->bits + sizeof *edits->exprs) + buffers * sizeof *edits->counts + flags;
    if (!(edits->block = vy_allocate_zero(edits->block_size))) {
        edits->block_size = 0;
        return vy_fail_memory(error, "the edits of a case");
    }
    /* Widest first, so that everything is aligned. */
    edits->bits = (uint64_t *)edits->block;
    edits->exprs = (uint32_t *)(edits->bits + exprs);
    edits->counts = edits->exprs + exprs;
    edits->stmts = (uint8_t *)(edits->counts + buffers);
    edits->is_literal = edits->stmts + program->stmts.count;
    edits->functions = edits->is_literal + exprs;
    edits->variables = edits->functions + program->functions.count;
    edits->memories = edits->variables + program->variables.count;
    edits->results = edits->memories + program->memories.count;
    memset(edits->exprs, 0xff, exprs * sizeof *edits->exprs);
    for (size_t i = 0; i < buffers; i++)
        edits->counts[i] = (uint32_t)launch->buffers[i].count;
    memcpy(edits->workgroup, program->workgroup, sizeof edits->workgroup);
    memcpy(edits->groups, launch->groups, sizeof edits->groups);
    return VYRE_OK;
}

void vy_shrink_edits_free(vy_shrink_edits *edits) {
    vy_release(edits->block, edits->block_size);
    *edits = (vy_shrink_edits){0};
}

/* ---- the copy ---- */

typedef struct rewrite {
    const vyre_program *program;
    const vy_resolved_dispatch *launch;
    const vy_shrink_edits *edits;
    vy_irb draft;
    uint32_t *variables, *memories, *functions; /* old index → new index; VY_NONE: dropped */
    const vy_function *function;                /* being copied */
    uint32_t name_count;
} rewrite;

static vy_symbol copy_name(rewrite *r, vy_symbol name) {
    const char *text = vy_symbol_name(r->program, name);
    return vy_irb_intern(&r->draft, text, strlen(text));
}

/* The name of a variable ('v') or memory ('m'). */
static vy_symbol local_name(rewrite *r, vy_symbol name, char prefix) {
    char text[16];
    if (!r->edits->rename)
        return copy_name(r, name);
    int length = snprintf(text, sizeof text, "%c%u", prefix, (unsigned)r->name_count++);
    return vy_irb_intern(&r->draft, text, (size_t)length);
}

static int is_entry(const rewrite *r) {
    return vy_is_entry(r->program, r->function);
}

/* ---- expressions ---- */

static uint32_t missing_variable(rewrite *r, const vy_expr *expr) {
    uint32_t param = expr->a - r->function->first_variable;
    int is_param = is_entry(r) && param < r->program->param_count;
    return vy_irb_literal(&r->draft, (vyre_type)expr->type, is_param ? r->launch->params[param] : 0);
}

static uint32_t missing_length(rewrite *r, const vy_expr *expr) {
    uint32_t buffer = expr->a - r->function->first_memory;
    int is_buffer = is_entry(r) && buffer < r->program->buffer_count;
    return vy_irb_literal(&r->draft, VYRE_TYPE_U32, is_buffer ? r->launch->buffers[buffer].count : 0);
}

static uint32_t copy_expr(rewrite *r, uint32_t root) {
    if (root == VY_NONE)
        return VY_NONE;
    vy_expr expr = r->program->exprs.items[root];
    if (r->edits->is_literal[root])
        return vy_irb_literal(&r->draft, (vyre_type)expr.type, r->edits->bits[root]);
    if (r->edits->exprs[root] != VY_NONE)
        return copy_expr(r, r->edits->exprs[root]);
    switch (expr.kind) {
    case VY_EXPR_VARIABLE:
        if (r->variables[expr.a] == VY_NONE)
            return missing_variable(r, &expr);
        expr.a = r->variables[expr.a];
        break;
    case VY_EXPR_LEN:
        if (r->memories[expr.a] == VY_NONE)
            return missing_length(r, &expr);
        expr.a = r->memories[expr.a];
        break;
    case VY_EXPR_LOAD:
        if (r->memories[expr.a] == VY_NONE)
            return vy_irb_literal(&r->draft, (vyre_type)expr.type, 0);
        expr.a = r->memories[expr.a];
        expr.b = copy_expr(r, expr.b);
        break;
    case VY_EXPR_OP:
        expr.a = copy_expr(r, expr.a);
        expr.b = copy_expr(r, expr.b);
        expr.c = copy_expr(r, expr.c);
        break;
    default:
        break;
    }
    return vy_irb_expr(&r->draft, &expr);
}

/* ---- statements ---- */

/* Whether the operands of the statement still exist. */
static int can_keep(const rewrite *r, const vy_stmt *stmt) {
    if (stmt->kind == VY_STMT_ASSIGN && r->variables[stmt->variable] == VY_NONE)
        return 0;
    if (stmt->memory != VY_NONE && r->memories[stmt->memory] == VY_NONE)
        return 0;
    if (stmt->kind != VY_STMT_CALL || stmt->callee == VY_NONE)
        return 1;
    if (r->functions[stmt->callee] == VY_NONE)
        return 0;
    uint32_t first = r->program->functions.items[stmt->callee].first_param;
    for (uint32_t i = 0; i < stmt->arg_count; i++) {
        const vy_arg *arg = &r->program->args.items[stmt->args + i];
        if (arg->is_memory && !r->edits->memories[r->program->params.items[first + i].index] &&
            r->memories[arg->index] == VY_NONE)
            return 0;
    }
    return 1;
}

/* Whether argument i is dropped because its parameter or result is. */
static int drops_arg(const rewrite *r, const vy_stmt *stmt, uint32_t i) {
    if (stmt->kind == VY_STMT_RETURN)
        return r->edits->results[r->function->first_result + i];
    if (stmt->kind != VY_STMT_CALL || stmt->callee == VY_NONE)
        return 0;
    const vy_param *param = &r->program->params.items[r->program->functions.items[stmt->callee].first_param + i];
    return param->is_memory ? r->edits->memories[param->index] : r->edits->variables[param->index];
}

static int drops_result(const rewrite *r, const vy_stmt *stmt, uint32_t i) {
    return stmt->kind == VY_STMT_CALL && stmt->callee != VY_NONE &&
           r->edits->results[r->program->functions.items[stmt->callee].first_result + i];
}

static void copy_statement(rewrite *r, uint32_t index) {
    const vy_stmt *from = &r->program->stmts.items[index];
    vy_stmt stmt = *from;
    vy_arg args[VY_LIMIT_PARAMS];
    vy_symbol names[VY_LIMIT_RESULTS];
    vyre_type types[VY_LIMIT_RESULTS];
    uint32_t arg_count = 0, kept[VY_LIMIT_RESULTS];
    stmt.a = copy_expr(r, from->a);
    stmt.b = copy_expr(r, from->b);
    stmt.c = copy_expr(r, from->c);
    for (uint32_t i = 0; i < from->arg_count && arg_count < VY_LIMIT_PARAMS; i++) {
        const vy_arg *arg = &r->program->args.items[from->args + i];
        if (!drops_arg(r, from, i))
            args[arg_count++] =
                arg->is_memory ? (vy_arg){1, r->memories[arg->index]} : (vy_arg){0, copy_expr(r, arg->index)};
    }
    stmt.result_count = 0;
    for (uint32_t i = 0; i < from->result_count; i++) {
        if (drops_result(r, from, i))
            continue;
        const vy_variable *variable = &r->program->variables.items[from->variable + i];
        names[stmt.result_count] = local_name(r, variable->name, 'v');
        types[stmt.result_count] = (vyre_type)variable->type;
        kept[stmt.result_count++] = from->variable + i;
    }
    if (stmt.memory != VY_NONE)
        stmt.memory = r->memories[stmt.memory];
    if (stmt.callee != VY_NONE)
        stmt.callee = r->functions[stmt.callee];
    stmt.variable = from->kind == VY_STMT_ASSIGN ? r->variables[from->variable] : VY_NONE;
    stmt.name = from->name ? copy_name(r, from->name) : 0;
    uint32_t made = vy_irb_stmt(&r->draft, &stmt, args, arg_count, names, types);
    for (uint32_t i = 0; made != VY_NONE && i < stmt.result_count; i++)
        r->variables[kept[i]] = r->draft.program->stmts.items[made].variable + i;
}

static int is_jump(uint8_t kind) {
    return kind == VY_STMT_BREAK || kind == VY_STMT_CONTINUE || kind == VY_STMT_RETURN;
}

/* Copies the statements from `first` to `end`. Statements after a jump are dropped, since they are not allowed. Returns
 * whether a jump ended the block. */
static int copy_block(rewrite *r, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i = r->program->stmts.items[i].end) {
        const vy_stmt *stmt = &r->program->stmts.items[i];
        vy_shrink_stmt_edit edit = (vy_shrink_stmt_edit)r->edits->stmts[i];
        if (edit == VY_SHRINK_DELETE || !can_keep(r, stmt))
            continue;
        if (edit == VY_SHRINK_BODY || edit == VY_SHRINK_ELSE_BODY) {
            if (edit == VY_SHRINK_BODY ? copy_block(r, i + 1, stmt->middle) : copy_block(r, stmt->middle, stmt->end))
                return 1;
            continue;
        }
        copy_statement(r, i);
        if (vy_stmt_is_structured(stmt->kind)) {
            copy_block(r, i + 1, stmt->middle);
            if (stmt->middle != stmt->end && edit != VY_SHRINK_NO_ELSE) {
                vy_irb_else(&r->draft);
                copy_block(r, stmt->middle, stmt->end);
            }
            vy_irb_end_block(&r->draft);
        } else if (is_jump(stmt->kind)) {
            return 1;
        }
    }
    return 0;
}

/* ---- declarations ---- */

static uint32_t literal_size(rewrite *r, uint64_t value) {
    return vy_irb_size(&r->draft, VY_SIZE_LITERAL, VY_NONE, VY_NONE, value);
}

/* Params and buffers are declared before, and all of them exist unless sizes are frozen. */
static uint32_t copy_size(rewrite *r, uint32_t root) {
    if (root == VY_NONE)
        return VY_NONE;
    vy_size size = r->program->sizes.items[root];
    if (size.kind == VY_SIZE_PARAM) {
        size.a = r->variables[size.a];
    } else if (size.kind == VY_SIZE_LEN) {
        /* May refer to a later buffer: all buffers are copied, so its index is known. */
        size.a = r->draft.program->functions.items[r->draft.program->functions.count - 1].first_memory +
                 (size.a - r->function->first_memory);
    } else if (size.kind != VY_SIZE_LITERAL) {
        size.a = copy_size(r, size.a);
        size.b = copy_size(r, size.b);
    }
    return vy_irb_size(&r->draft, (vy_size_kind)size.kind, size.a, size.b, size.value);
}

static void copy_memory_param(rewrite *r, uint32_t index) {
    const vy_memory *memory = &r->program->memories.items[index];
    uint32_t size = VY_NONE;
    if (r->edits->memories[index])
        return;
    if (memory->size != VY_NONE)
        size = r->edits->freeze ? literal_size(r, r->edits->counts[index - r->function->first_memory])
                                : copy_size(r, memory->size);
    r->memories[index] = vy_irb_memory_param(&r->draft, local_name(r, memory->name, 'm'), (vy_space)memory->space,
                                             (vyre_type)memory->type, (vyre_access)memory->access, size);
}

static void copy_scalar_param(rewrite *r, uint32_t index) {
    const vy_variable *variable = &r->program->variables.items[index];
    if (!r->edits->variables[index])
        r->variables[index] =
            vy_irb_scalar_param(&r->draft, local_name(r, variable->name, 'v'), (vyre_type)variable->type);
}

static void copy_arrays(rewrite *r, uint32_t first) {
    for (uint32_t i = first; i < r->function->first_memory + r->function->memory_count; i++) {
        const vy_memory *memory = &r->program->memories.items[i];
        if (!r->edits->memories[i])
            r->memories[i] = vy_irb_clone_array(&r->draft, r->program, i, local_name(r, memory->name, 'm'));
    }
}

static void copy_function(rewrite *r, uint32_t index) {
    const vyre_program *program = r->program;
    const vy_function *function = r->function = &program->functions.items[index];
    uint32_t memory = function->first_memory;
    r->functions[index] = vy_irb_begin_function(&r->draft, copy_name(r, function->name));
    for (uint32_t i = 0; i < function->param_count; i++) {
        const vy_param *param = &program->params.items[function->first_param + i];
        if (param->is_memory) {
            copy_memory_param(r, param->index);
            memory++;
        } else {
            copy_scalar_param(r, param->index);
        }
    }
    for (uint32_t i = function->first_result; i < function->first_result + function->result_count; i++)
        if (!r->edits->results[i])
            vy_irb_result(&r->draft, copy_name(r, program->results.items[i].name),
                          (vyre_type)program->results.items[i].type);
    copy_arrays(r, memory);
    copy_block(r, function->first_stmt, function->end_stmt);
    vy_irb_end_function(&r->draft);
}

static void copy_grid(rewrite *r) {
    const vy_grid *from = &r->program->grid;
    vy_grid *grid = &r->draft.program->grid;
    if (r->edits->freeze) {
        grid->kind = VYRE_GRID_GROUPS;
        int axes = r->edits->groups[2] != 1 ? 3 : r->edits->groups[1] != 1 ? 2 : 1;
        for (int i = 0; i < axes; i++)
            grid->sizes[i] = literal_size(r, r->edits->groups[i]);
        return;
    }
    grid->kind = from->kind;
    grid->offset = from->offset;
    grid->memory = from->memory == VY_NONE ? VY_NONE : r->memories[from->memory];
    for (int i = 0; i < 3; i++)
        grid->sizes[i] = copy_size(r, from->sizes[i]);
}

static void copy_entry(rewrite *r, const vy_function *entry) {
    const vyre_program *program = r->program;
    r->function = entry;
    vy_irb_begin_entry(&r->draft);
    for (uint32_t i = 0; i < program->param_count; i++)
        copy_scalar_param(r, entry->first_variable + i);
    for (uint32_t i = 0; i < program->buffer_count; i++)
        copy_memory_param(r, entry->first_memory + i);
    copy_grid(r);
    copy_arrays(r, entry->first_memory + program->buffer_count);
    copy_block(r, entry->first_stmt, entry->end_stmt);
    vy_irb_end_function(&r->draft);
}

/* Callees may follow their callers, so all new function indices are assigned first. */
static void number_functions(rewrite *r) {
    uint32_t next = 0, count = (uint32_t)vyre_program_function_count(r->program);
    for (uint32_t i = 0; i < count; i++)
        if (!r->edits->functions[i])
            r->functions[i] = next++;
}

static vyre_status copy_program(rewrite *r, vyre_program **out, vyre_error *error) {
    const vy_function *entry = vy_program_entry(r->program);
    if (!entry)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "rewrite a program that can be dispatched",
                       "a library has no entry");
    vyre_status status = vy_irb_start(&r->draft, vyre_program_name(r->program), error);
    if (status != VYRE_OK)
        return status;
    r->draft.program->numerics = r->program->numerics;
    memcpy(r->draft.program->workgroup, r->edits->workgroup, sizeof r->edits->workgroup);
    number_functions(r);
    for (uint32_t i = 0; i < vyre_program_function_count(r->program); i++)
        if (!r->edits->functions[i])
            copy_function(r, i);
    copy_entry(r, entry);
    return vy_irb_finish(&r->draft, NULL, NULL, out, error);
}

/* ---- arguments ---- */

static int drops_buffer(const vyre_program *program, const vy_shrink_edits *edits, uint32_t i) {
    return edits->memories[vy_program_entry(program)->first_memory + i];
}

static vyre_status copy_case(const vyre_case *from, const vy_resolved_dispatch *launch, const vy_shrink_edits *edits,
                             vyre_program *program, vyre_case **out, vyre_error *error) {
    const vyre_program *old = from->program;
    const vy_function *entry = vy_program_entry(old);
    vyre_scalar params[VY_LIMIT_PARAMS];
    vyre_span inputs[VY_LIMIT_BUFFERS];
    uint64_t counts[VY_LIMIT_BUFFERS];
    vyre_arguments arguments = {.params = params, .inputs = inputs, .counts = counts};
    if (!edits->freeze)
        arguments.geometry = from->arguments.geometry;
    for (uint32_t i = 0; i < old->param_count; i++)
        if (!edits->variables[entry->first_variable + i])
            params[arguments.param_count++] = from->arguments.params[i];
    for (uint32_t i = 0; i < old->buffer_count; i++) {
        const vy_memory *memory = &old->memories.items[entry->first_memory + i];
        const vy_resolved_buffer *buffer = &launch->buffers[i];
        if (drops_buffer(old, edits, i))
            continue;
        if (buffer->input != VY_NONE)
            inputs[arguments.input_count++] =
                (vyre_span){buffer->data, (size_t)edits->counts[i] * vyre_type_size((vyre_type)memory->type)};
        else if (memory->size == VY_NONE)
            counts[arguments.count_count++] = edits->counts[i];
    }
    return vyre_case_new(program, &arguments, out, error);
}

vyre_status vy_shrink_apply(const vyre_case *from, const vy_resolved_dispatch *launch, const vy_shrink_edits *edits,
                            vyre_case **out, vyre_error *error) {
    const vyre_program *program = from->program;
    size_t count = (size_t)program->variables.count + program->memories.count + program->functions.count;
    uint32_t *maps = vy_allocate(vy_array_size(count, sizeof *maps));
    *out = NULL;
    if (!maps)
        return vy_fail_memory(error, "a smaller case");
    memset(maps, 0xff, count * sizeof *maps);
    rewrite r = {.program = program,
                 .launch = launch,
                 .edits = edits,
                 .variables = maps,
                 .memories = maps + program->variables.count,
                 .functions = maps + program->variables.count + program->memories.count};
    vyre_program *made = NULL;
    vyre_status status = copy_program(&r, &made, error);
    vy_release(maps, count * sizeof *maps);
    if (status != VYRE_OK)
        return status;
    status = copy_case(from, launch, edits, made, out, error);
    vyre_program_release(made);
    return status;
}

/* Reduction by passes from coarse to fine.
 *
 * Each pass tries edits of the current case until none is accepted. All passes are repeated until a round changes
 * nothing or the tries are exhausted. A candidate is offered only if it is valid and can be dispatched. Every accepted
 * candidate has fewer or simpler parts, except after inlining, which happens at most once; so the reduction terminates
 * even without the limit on tries. */

typedef struct shrinker {
    vyre_case *current;
    vy_resolved_dispatch launch; /* of current */
    vy_shrink_edits edits;       /* of current */
    vyre_still_fails *fails;
    void *user;
    unsigned tries;
    vyre_status status; /* not OK: memory is exhausted, stop */
    vyre_error *error;
    int progress; /* a candidate was accepted in this round */
} shrinker;

/* ---- candidates ---- */

static int stopped(const shrinker *s) {
    return s->status != VYRE_OK || s->tries == 0;
}

static void clear_edits(shrinker *s) {
    if (s->status != VYRE_OK)
        return;
    vy_shrink_edits_free(&s->edits);
    s->status = vy_shrink_edits_init(&s->edits, s->current->program, &s->launch, s->error);
}

/* Consumes `candidate`, and makes it the current case if it still fails. */
static int offer(shrinker *s, vyre_case *candidate) {
    vy_resolved_dispatch launch;
    s->tries--;
    if (vy_resolve_dispatch(candidate->program, &candidate->arguments, &launch, NULL) != VYRE_OK ||
        !s->fails(s->user, candidate)) {
        vyre_case_free(candidate);
        return 0;
    }
    vyre_case_free(s->current);
    s->current = candidate;
    s->launch = launch;
    s->progress = 1;
    return 1;
}

/* Offers the current case with the pending edits, then clears them. Returns whether it was accepted. */
static int try_edits(shrinker *s) {
    vyre_case *candidate;
    if (stopped(s))
        return 0;
    vyre_status status = vy_shrink_apply(s->current, &s->launch, &s->edits, &candidate, s->error);
    if (status == VYRE_NO_MEMORY)
        s->status = status;
    int accepted = status == VYRE_OK && offer(s, candidate);
    clear_edits(s);
    return accepted;
}

/* ---- statements ---- */

static void delete_range(shrinker *s, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++)
        s->edits.stmts[i] = s->current->program->stmts.items[i].end <= end ? VY_SHRINK_DELETE : VY_SHRINK_KEEP;
}

/* From the end, since late statements have fewer uses; halves, quarters, … single statements. */
static void delete_statements(shrinker *s) {
    for (uint32_t size = (s->current->program->stmts.count + 1) / 2; size > 0 && !stopped(s); size /= 2)
        for (uint32_t end = s->current->program->stmts.count; end > 0 && !stopped(s);) {
            uint32_t first = end > size ? end - size : 0;
            delete_range(s, first, end);
            try_edits(s);
            end = first;
        }
}

/* Replaces statements by their bodies, and removes branches. */
static void unwrap_statements(shrinker *s) {
    static const uint8_t edits[] = {VY_SHRINK_BODY, VY_SHRINK_ELSE_BODY, VY_SHRINK_NO_ELSE};
    for (uint32_t i = s->current->program->stmts.count; i-- > 0 && !stopped(s);) {
        for (unsigned e = 0; e < sizeof edits && i < s->current->program->stmts.count; e++) {
            const vy_stmt *stmt = &s->current->program->stmts.items[i];
            if (!vy_stmt_is_structured(stmt->kind) || (edits[e] != VY_SHRINK_BODY && stmt->middle == stmt->end))
                break;
            /* After unwrapping, names of separate blocks may collide. */
            for (int rename = 0; rename < 2; rename++) {
                s->edits.stmts[i] = edits[e];
                s->edits.rename = (uint8_t)rename;
                if (try_edits(s) || stopped(s))
                    break;
            }
        }
    }
}

/* ---- expressions ---- */

static uint64_t one(uint8_t type) {
    return type == VYRE_TYPE_BOOL ? 1 : vyre_op_evaluate(VYRE_OP_CAST, (vyre_type)type, VYRE_TYPE_U8, 1, 0, 0);
}

static int is_plain(const vy_expr *expr) {
    return expr->kind == VY_EXPR_LITERAL && (expr->bits == 0 || expr->bits == one(expr->type));
}

/* Replaces all non-literal expressions of a range by 0, several in one candidate. Trees overlap; the outermost edit
 * wins. */
static void zero_expressions(shrinker *s) {
    for (uint32_t size = (s->current->program->exprs.count + 1) / 2; size > 3 && !stopped(s); size /= 2)
        for (uint32_t end = s->current->program->exprs.count; end > 0 && !stopped(s);) {
            uint32_t first = end > size ? end - size : 0, edited = 0;
            for (uint32_t i = first; i < end; i++)
                if (s->current->program->exprs.items[i].kind != VY_EXPR_LITERAL)
                    edited += s->edits.is_literal[i] = 1;
            if (edited)
                try_edits(s);
            end = first < s->current->program->exprs.count ? first : s->current->program->exprs.count;
        }
}

static int try_literal(shrinker *s, uint32_t i, uint64_t bits) {
    if (i >= s->current->program->exprs.count)
        return 0;
    const vy_expr *expr = &s->current->program->exprs.items[i];
    if (expr->kind == VY_EXPR_LITERAL && expr->bits == bits)
        return 0;
    s->edits.is_literal[i] = 1;
    s->edits.bits[i] = bits;
    return try_edits(s);
}

/* Tries to replace an expression by its nearest descendants of the same type. */
static int try_operands(shrinker *s, uint32_t i) {
    const vyre_program *program = s->current->program;
    uint32_t first = vy_expr_first(program, i);
    uint8_t type = program->exprs.items[i].type;
    unsigned tried = 0;
    for (uint32_t j = i; j-- > first && tried < 4 && !stopped(s);) {
        if (program->exprs.items[j].type != type || program->exprs.items[j].kind == VY_EXPR_LITERAL)
            continue;
        tried++;
        s->edits.exprs[i] = j;
        if (try_edits(s))
            return 1;
    }
    return 0;
}

/* Roots follow their operands, so the descending order starts with the largest trees. */
static void simplify_expressions(shrinker *s) {
    for (uint32_t i = s->current->program->exprs.count; i-- > 0 && !stopped(s);) {
        if (i >= s->current->program->exprs.count)
            continue;
        const vy_expr expr = s->current->program->exprs.items[i];
        if (is_plain(&expr))
            continue;
        if (try_literal(s, i, 0))
            continue;
        if (expr.kind == VY_EXPR_LITERAL) {
            int is_integer = (vy_type_layouts[expr.type].classes & VYRE_CLASS_INTEGER) != 0;
            if (!try_literal(s, i, one(expr.type)) && is_integer)
                try_literal(s, i, expr.bits >> 1);
        } else if (expr.kind == VY_EXPR_OP || expr.kind == VY_EXPR_LOAD) {
            try_operands(s, i);
        }
    }
}

/* ---- functions and declarations ---- */

static void drop_functions(shrinker *s) {
    for (uint32_t i = (uint32_t)vyre_program_function_count(s->current->program); i-- > 0 && !stopped(s);) {
        s->edits.functions[i] = 1;
        try_edits(s);
    }
}

static void inline_functions(shrinker *s) {
    vyre_program *inlined;
    vyre_case *candidate;
    if (stopped(s) || vyre_program_function_count(s->current->program) == 0)
        return;
    vyre_status status = vyre_program_inline(s->current->program, &inlined, s->error);
    if (status == VYRE_OK) {
        status = vyre_case_new(inlined, &s->current->arguments, &candidate, s->error);
        vyre_program_release(inlined);
    }
    if (status == VYRE_OK)
        offer(s, candidate);
    else if (status == VYRE_NO_MEMORY)
        s->status = status;
    clear_edits(s);
}

/* One declaration of a kind per candidate, the last first: its uses become literals or are dropped. A count or grid
 * that used it becomes a number. */
typedef uint8_t *edit_array(vy_shrink_edits *edits);

static uint8_t *variable_edits(vy_shrink_edits *edits) {
    return edits->variables;
}
static uint8_t *memory_edits(vy_shrink_edits *edits) {
    return edits->memories;
}
static uint8_t *result_edits(vy_shrink_edits *edits) {
    return edits->results;
}

static void drop_each(shrinker *s, edit_array *array, uint32_t first, uint32_t count, int freeze) {
    for (uint32_t i = first + count; i-- > first && !stopped(s);) {
        array(&s->edits)[i] = 1;
        s->edits.freeze = (uint8_t)freeze;
        try_edits(s);
    }
}

static void drop_declarations(shrinker *s) {
    /* An accepted candidate moves only later declarations, so descending indices stay valid. */
    const vyre_program *program = s->current->program;
    const vy_function *entry = vy_program_entry(program);
    drop_each(s, memory_edits, entry->first_memory, entry->memory_count, 1);
    program = s->current->program;
    entry = vy_program_entry(program);
    drop_each(s, variable_edits, entry->first_variable, program->param_count, 1);
    for (uint32_t f = (uint32_t)vyre_program_function_count(s->current->program); f-- > 0;) {
        const vy_function *function = &s->current->program->functions.items[f];
        drop_each(s, result_edits, function->first_result, function->result_count, 0);
        function = &s->current->program->functions.items[f];
        drop_each(s, memory_edits, function->first_memory, function->memory_count, 0);
        function = &s->current->program->functions.items[f];
        uint32_t scalars = 0;
        for (uint32_t i = 0; i < function->param_count; i++)
            scalars += !s->current->program->params.items[function->first_param + i].is_memory;
        drop_each(s, variable_edits, function->first_variable, scalars, 0);
    }
}

/* ---- geometry and data ---- */

/* A number of the pending edits that may be reduced. */
typedef uint32_t *edit_number(vy_shrink_edits *edits, uint32_t index);

static uint32_t *group_edit(vy_shrink_edits *edits, uint32_t index) {
    return &edits->groups[index];
}
static uint32_t *workgroup_edit(vy_shrink_edits *edits, uint32_t index) {
    return &edits->workgroup[index];
}
static uint32_t *count_edit(vy_shrink_edits *edits, uint32_t index) {
    return &edits->counts[index];
}

/* Tries the minimum, a half, one less; repeats after each accepted candidate. */
static void lower(shrinker *s, edit_number *number, uint32_t index, uint32_t least) {
    while (!stopped(s) && *number(&s->edits, index) > least) {
        uint32_t now = *number(&s->edits, index);
        const uint32_t candidates[] = {least, now / 2, now - 1};
        int accepted = 0;
        for (int i = 0; i < 3 && !accepted && !stopped(s); i++) {
            if (candidates[i] < least || (i > 0 && candidates[i] == candidates[i - 1]))
                continue;
            *number(&s->edits, index) = candidates[i];
            s->edits.freeze = 1;
            accepted = try_edits(s);
        }
        if (!accepted)
            return;
    }
}

static void shrink_geometry(shrinker *s) {
    if (s->current->arguments.geometry.kind != VYRE_GEOMETRY_PROGRAM ||
        s->current->program->grid.kind != VYRE_GRID_GROUPS) {
        s->edits.freeze = 1;
        try_edits(s);
    }
    for (uint32_t axis = 0; axis < 3; axis++) {
        lower(s, group_edit, axis, 1);
        lower(s, workgroup_edit, axis, 1);
    }
    for (uint32_t i = s->current->program->buffer_count; i-- > 0;)
        lower(s, count_edit, i, 0);
}

/* A candidate with the same program and other arguments. */
static int try_arguments(shrinker *s, const vyre_arguments *arguments) {
    vyre_case *candidate;
    if (stopped(s))
        return 0;
    vyre_status status = vyre_case_new(s->current->program, arguments, &candidate, s->error);
    if (status != VYRE_OK) {
        s->status = status;
        return 0;
    }
    return offer(s, candidate);
}

static void simplify_params(shrinker *s) {
    vyre_scalar params[VY_LIMIT_PARAMS];
    for (size_t i = 0; i < s->current->arguments.param_count; i++)
        for (uint64_t bits = 0; bits < 2; bits++) {
            vyre_arguments arguments = s->current->arguments;
            memcpy(params, arguments.params, arguments.param_count * sizeof *params);
            if (params[i].bits <= bits)
                break;
            params[i].bits = bits;
            arguments.params = params;
            if (try_arguments(s, &arguments) || stopped(s))
                break;
        }
}

static int is_zero(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return 0;
    return 1;
}

/* Zeroes halves, quarters, … single elements of an input. `bytes` has the size of the input. */
static void zero_input(shrinker *s, size_t input, unsigned char *bytes, unsigned element) {
    vyre_span spans[VY_LIMIT_BUFFERS];
    size_t total = s->current->arguments.inputs[input].size;
    for (size_t size = total; size >= element && !stopped(s); size = size / 2 / element * element)
        for (size_t at = 0; at < total && !stopped(s); at += size) {
            vyre_arguments arguments = s->current->arguments;
            size_t length = total - at < size ? total - at : size;
            const unsigned char *now = arguments.inputs[input].data;
            if (is_zero(now + at, length))
                continue;
            memcpy(bytes, now, total);
            memset(bytes + at, 0, length);
            memcpy(spans, arguments.inputs, arguments.input_count * sizeof *spans);
            spans[input].data = bytes;
            arguments.inputs = spans;
            try_arguments(s, &arguments);
        }
}

static void zero_inputs(shrinker *s) {
    for (uint32_t i = 0; i < s->current->program->buffer_count && !stopped(s); i++) {
        const vy_memory *memory =
            &s->current->program->memories.items[vy_program_entry(s->current->program)->first_memory + i];
        uint32_t input = s->launch.buffers[i].input;
        size_t size = (size_t)s->launch.buffers[i].bytes;
        unsigned element = vyre_type_size((vyre_type)memory->type);
        if (input == VY_NONE || size == 0 || element == 0)
            continue;
        unsigned char *bytes = vy_allocate(size);
        if (!bytes) {
            s->status = vy_fail_memory(s->error, "a smaller input");
            return;
        }
        zero_input(s, input, bytes, element);
        vy_release(bytes, size);
    }
}

/* ---- driver ---- */

static void shorten_names(shrinker *s) {
    int progress = s->progress;
    s->edits.rename = 1;
    try_edits(s);
    s->progress = progress;
}

static void shrink(shrinker *s) {
    static void (*const passes[])(shrinker *) = {
        delete_statements, drop_functions,  unwrap_statements, zero_expressions, simplify_expressions,
        drop_declarations, shrink_geometry, simplify_params,   zero_inputs,
    };
    int inlined = 0;
    do {
        s->progress = 0;
        for (unsigned i = 0; i < sizeof passes / sizeof *passes && !stopped(s); i++)
            passes[i](s);
        if (!s->progress && !inlined) {
            inlined = 1;
            inline_functions(s);
        }
    } while (s->progress && !stopped(s));
    if (!stopped(s))
        shorten_names(s);
}

vyre_status vyre_shrink(const vyre_case *start, vyre_still_fails *fails, void *user, unsigned max_tries,
                        vyre_case **out, vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, start);
    VY_REQUIRE(error, fails);
    vyre_error ignored;
    shrinker s = {
        .fails = fails, .user = user, .tries = max_tries ? max_tries : 2000, .error = error ? error : &ignored};
    if (!vy_program_entry(start->program))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "shrink a program that can be dispatched",
                       "a library has no entry to run");
    vyre_status status = vy_resolve_dispatch(start->program, &start->arguments, &s.launch, error);
    if (status == VYRE_OK)
        status = vyre_case_new(start->program, &start->arguments, &s.current, error);
    if (status != VYRE_OK)
        return status;
    /* The data of the resolved dispatch must point into the copy, since the original is borrowed. */
    s.status = vy_resolve_dispatch(s.current->program, &s.current->arguments, &s.launch, s.error);
    clear_edits(&s);
    shrink(&s);
    vy_shrink_edits_free(&s.edits);
    if (s.status != VYRE_OK) {
        vyre_case_free(s.current);
        return s.status;
    }
    *out = s.current;
    return VYRE_OK;
}
