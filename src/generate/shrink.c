/* The shrinker: smaller and smaller cases that still fail (vyre/generate.h).
 *
 * Passes go from coarse to fine, each trying edits of the current case until none helps, and all again until a round changes nothing or
 * the tries are used up. A candidate is offered only if it is valid and can be dispatched. Every accepted candidate has fewer
 * or simpler parts, except after inlining, which happens at most once; so there is an end even without the bound on tries. */
#include "generate/shrink_edit.h"
#include "ir/eval.h"
#include "ir/irbuilder.h"
#include "ir/walk.h"

typedef struct shrinker {
    vyre_case *current;
    vy_resolved_dispatch launch; /* of current */
    vy_shrink_edits edits;       /* of current */
    vyre_still_fails *fails;
    void *user;
    unsigned tries;
    vyre_status status; /* not OK: memory is out, stop */
    vyre_error *error;
    int progress; /* something was accepted in this round */
} shrinker;

/* ---- trying ---- */

static int stopped(const shrinker *s) {
    return s->status != VYRE_OK || s->tries == 0;
}

static void clear_edits(shrinker *s) {
    if (s->status != VYRE_OK)
        return;
    vy_shrink_edits_free(&s->edits);
    s->status = vy_shrink_edits_init(&s->edits, s->current->program, &s->launch, s->error);
}

/* Takes over `candidate`, and keeps it if it still fails. */
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

/* Offers the current case with the edits that are set, then clears them. Returns whether it was accepted. */
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

/* From the end, as what comes late is used by less; halves, quarters, … single statements. */
static void delete_statements(shrinker *s) {
    for (uint32_t size = (s->current->program->stmts.count + 1) / 2; size > 0 && !stopped(s); size /= 2)
        for (uint32_t end = s->current->program->stmts.count; end > 0 && !stopped(s);) {
            uint32_t first = end > size ? end - size : 0;
            delete_range(s, first, end);
            try_edits(s);
            end = first;
        }
}

/* Bodies in place of what ownership them; branches away. */
static void unwrap_statements(shrinker *s) {
    static const uint8_t edits[] = {VY_SHRINK_BODY, VY_SHRINK_ELSE_BODY, VY_SHRINK_NO_ELSE};
    for (uint32_t i = s->current->program->stmts.count; i-- > 0 && !stopped(s);) {
        for (unsigned e = 0; e < sizeof edits && i < s->current->program->stmts.count; e++) {
            const vy_stmt *stmt = &s->current->program->stmts.items[i];
            if (!vy_stmt_is_structured(stmt->kind) || (edits[e] != VY_SHRINK_BODY && stmt->middle == stmt->end))
                break;
            /* Names that were in blocks of their own may meet now. */
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

/* Several at once: every expression of a range that is not a literal becomes 0. Trees overlap; the outermost edit wins. */
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

/* The nearest expressions of the same type below take its place. */
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

/* Roots come last in their trees, so going down meets the largest first. */
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

/* One thing of a kind at a time, the last first: its uses become literals or go. A count or grid that used it becomes a number. */
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
    /* An accepted candidate moves what comes behind it, never what comes before: backwards, indices stay true. */
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

/* A number that may become smaller, in the edits as they are now. */
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

/* The least, a half, one less: whatever is accepted, from the start. */
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

/* Halves, quarters, … elements of an input become zero. `bytes` has room for the input. */
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

/* ---- the whole ---- */

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
    /* The data of the launch must be the copy's: the original is not ours to keep. */
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
