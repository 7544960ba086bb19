/* Declaration verifier: names of programs and functions, counts, memories, geometry, size expressions, and warnings
 * about unused declarations. Names of variables and memories depend on scopes, which statements.c checks. */
#include "ir/identifiers.h"
#include "ir/validate/verifier.h"

/* ---- names ---- */

static void check_program_name(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    const vy_function *entry = vy_program_entry(p);
    const char *name = vy_verifier_name(verifier, p->name);
    if (entry && strlen(name) > VY_LIMIT_NAME)
        vy_verifier_error(verifier, VY_V030, entry->position, NULL,
                          "name of the program too long (%zu bytes, limit %d)", strlen(name), VY_LIMIT_NAME);
    else if (entry && !vy_text_is_name(name, strlen(name)))
        vy_verifier_error(verifier, VY_V010, entry->position, NULL, "invalid name of the program: `%.*s`",
                          VY_LIMIT_NAME, name);
}

static void check_function_names(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    uint32_t count = (uint32_t)vyre_program_function_count(p);
    if (count == 0)
        return;
    uint8_t *taken = vy_verifier_scratch(verifier, p->names.size, sizeof *taken);
    for (uint32_t i = 0; taken && i < count; i++) {
        const vy_function *f = &p->functions.items[i];
        const char *name = vy_verifier_name(verifier, f->name);
        size_t length = strlen(name);
        if (length > VY_LIMIT_NAME)
            vy_verifier_error(verifier, VY_V030, f->position, NULL, "name of a function too long (%zu bytes, limit %d)",
                              length, VY_LIMIT_NAME);
        else if (!vy_text_is_function_name(name, length))
            vy_verifier_error(verifier, VY_V010, f->position, NULL, "invalid name of a function: `%s`", name);
        else if (p->level == VYRE_LEVEL_LEGAL && vy_intrinsic_find(name, length, NULL) != VY_INTRINSIC_NONE)
            vy_verifier_error(verifier, VY_V010, f->position, VY_FIX("rename `%s`", name),
                              "`%s` is an intrinsic at level legal", name);
        else if (taken[f->name]++)
            vy_verifier_error(verifier, VY_V011, f->position, VY_FIX("rename one of the functions named `%s`", name),
                              "duplicate function `%s`", name);
    }
}

static void check_results(vy_verifier *verifier, const vy_function *f) {
    const vyre_program *p = verifier->program;
    if (f->result_count > VY_LIMIT_RESULTS) {
        vy_verifier_error(verifier, VY_V038, f->position, NULL, "too many results of `%s` (%u, limit %d)",
                          vy_verifier_name(verifier, f->name), f->result_count, VY_LIMIT_RESULTS);
        return;
    }
    for (uint32_t i = 0; i < f->result_count; i++) {
        vy_symbol id = p->results.items[f->first_result + i].name;
        const char *name = vy_verifier_name(verifier, id);
        if (*name == 0 && f->result_count == 1)
            continue;
        if (!vy_text_is_name(name, strlen(name)))
            vy_verifier_error(verifier, VY_V010, f->position, NULL, "invalid name of result %u of `%s`: `%.*s`", i + 1,
                              vy_verifier_name(verifier, f->name), VY_LIMIT_NAME, name);
        for (uint32_t j = 0; j < i; j++)
            if (p->results.items[f->first_result + j].name == id)
                vy_verifier_error(verifier, VY_V011, f->position, VY_FIX("rename one of the results named `%s`", name),
                                  "`%s` has two results named `%s`", vy_verifier_name(verifier, f->name), name);
    }
}

/* ---- memories ---- */

static void check_element(vy_verifier *verifier, const vy_memory *m) {
    if (m->type == VYRE_TYPE_BOOL)
        vy_verifier_error(verifier, VY_V013, m->position, NULL, "`%s` has elements of type bool",
                          vy_verifier_name(verifier, m->name));
}

static void check_array(vy_verifier *verifier, const vy_memory *m, int is_entry) {
    const char *name = vy_verifier_name(verifier, m->name);
    check_element(verifier, m);
    if (m->elements == 0)
        vy_verifier_error(verifier, VY_V014, m->position, NULL, "array `%s` without elements", name);
    if (!is_entry && m->space == VY_SPACE_WORKGROUP)
        vy_verifier_error(verifier, VY_V015, m->position,
                          VY_FIX("declare `%s` in the program and pass it as a parameter `%s: workgroup [%s]`", name,
                                 name, vyre_type_name((vyre_type)m->type)),
                          "workgroup array `%s` in a function", name);
}

/* An array parameter has the access read_write. */
static void check_parameter(vy_verifier *verifier, const vy_memory *m) {
    check_element(verifier, m);
    if (m->space == VY_SPACE_CONSTANT)
        vy_verifier_error(verifier, VY_V015, m->position,
                          VY_FIX("declare the parameter `%s: buffer [%s] read`, which also takes constant arrays",
                                 vy_verifier_name(verifier, m->name), vyre_type_name((vyre_type)m->type)),
                          "parameter `%s` is a constant array", vy_verifier_name(verifier, m->name));
    else if (m->space != VY_SPACE_BUFFER && m->access != VYRE_ACCESS_READ_WRITE)
        vy_verifier_error(verifier, VY_V015, m->position, "remove the access of the array parameter",
                          "parameter `%s`, a %s, has access `%s` (expected read_write)",
                          vy_verifier_name(verifier, m->name), vy_space_name(m->space), vy_access_name(m->access));
}

static uint64_t array_bytes(const vy_memory *m) {
    return (uint64_t)m->elements * vyre_type_size((vyre_type)m->type);
}

static void check_function_memories(vy_verifier *verifier, const vy_function *f) {
    const vyre_program *p = verifier->program;
    int is_entry = vy_is_entry(p, f);
    uint32_t given = is_entry ? p->buffer_count : 0;
    for (uint32_t i = 0; !is_entry && i < f->param_count; i++)
        given += p->params.items[f->first_param + i].is_memory;
    if (f->memory_count - given > VY_LIMIT_ARRAYS) {
        vy_verifier_error(verifier, VY_V037, f->position, NULL, "too many arrays in `%s` (%u, limit %d)",
                          vy_verifier_name(verifier, f->name), f->memory_count - given, VY_LIMIT_ARRAYS);
        return;
    }
    uint64_t bytes[VY_SPACE_COUNT] = {0};
    for (uint32_t i = 0; i < f->memory_count; i++) {
        const vy_memory *m = &p->memories.items[f->first_memory + i];
        if (i >= given)
            check_array(verifier, m, is_entry);
        else if (is_entry)
            check_element(verifier, m);
        else
            check_parameter(verifier, m);
        bytes[m->space] += array_bytes(m);
    }
    if (bytes[VY_SPACE_WORKGROUP] > VY_LIMIT_WORKGROUP_BYTES)
        vy_verifier_error(verifier, VY_V042, f->position, NULL, "workgroup arrays too large (%llu bytes, limit %d)",
                          (unsigned long long)bytes[VY_SPACE_WORKGROUP], VY_LIMIT_WORKGROUP_BYTES);
    if (bytes[VY_SPACE_PRIVATE] > VY_LIMIT_PRIVATE_BYTES)
        vy_verifier_error(verifier, VY_V043, f->position, NULL,
                          "private arrays of an invocation too large (%llu bytes, limit %d)",
                          (unsigned long long)bytes[VY_SPACE_PRIVATE], VY_LIMIT_PRIVATE_BYTES);
}

static void check_functions(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    for (uint32_t i = 0; i < p->functions.count; i++) {
        const vy_function *f = &p->functions.items[i];
        if (f->param_count > VY_LIMIT_PARAMS)
            vy_verifier_error(verifier, VY_V035, f->position, NULL, "too many parameters of `%s` (%u, limit %d)",
                              vy_verifier_name(verifier, f->name), f->param_count, VY_LIMIT_PARAMS);
        check_results(verifier, f);
        check_function_memories(verifier, f);
    }
    const vy_function *last = p->functions.count ? &p->functions.items[p->functions.count - 1] : NULL;
    if (last && (p->tables.count > VY_LIMIT_TABLES || p->table_bytes.count > VY_LIMIT_CONSTANT_BYTES))
        vy_verifier_error(verifier, VY_V047, last->position, NULL,
                          "constant arrays too large (%u bytes, limit %d; %u different ones, limit %d)",
                          p->table_bytes.count, VY_LIMIT_CONSTANT_BYTES, p->tables.count, VY_LIMIT_TABLES);
}

/* ---- geometry ---- */

static void check_workgroup(vy_verifier *verifier, const vy_function *entry) {
    const uint32_t *size = verifier->program->workgroup;
    uint64_t invocations = 1;
    for (int i = 0; i < 3; i++) {
        if (size[i] == 0) {
            vy_verifier_error(verifier, VY_V016, entry->position, NULL, "dimension %c of the workgroup is 0", "xyz"[i]);
            return;
        }
        invocations = size[i] > VY_LIMIT_WORKGROUP ? UINT32_MAX : invocations * size[i];
    }
    if (invocations > VY_LIMIT_WORKGROUP)
        vy_verifier_error(verifier, VY_V045, entry->position, NULL,
                          "workgroup (%u, %u, %u) too large (limit %d invocations)", size[0], size[1], size[2],
                          VY_LIMIT_WORKGROUP);
}

static void check_grid(vy_verifier *verifier, const vy_function *entry) {
    const vyre_program *p = verifier->program;
    const vy_grid *grid = &p->grid;
    if (grid->kind != VYRE_GRID_OVER && grid->kind != VYRE_GRID_INDIRECT)
        return;
    const vy_memory *m = &p->memories.items[grid->memory];
    const char *name = vy_verifier_name(verifier, m->name);
    if (m->space != VY_SPACE_BUFFER)
        vy_verifier_error(verifier, VY_V017, entry->position, NULL, "expected a buffer for the grid, but `%s` is a %s",
                          name, vy_space_name(m->space));
    else if (grid->kind == VYRE_GRID_OVER && (p->workgroup[1] != 1 || p->workgroup[2] != 1))
        vy_verifier_error(verifier, VY_V018, entry->position, NULL,
                          "`grid over %s` has one dimension, but the workgroup is (%u, %u, %u)", name, p->workgroup[0],
                          p->workgroup[1], p->workgroup[2]);
    else if (grid->kind == VYRE_GRID_INDIRECT && (m->type != VYRE_TYPE_U32 || !vy_access_loads(m->access)))
        vy_verifier_error(verifier, VY_V019, entry->position, NULL,
                          "expected a readable buffer of u32 for the indirect grid, but `%s` is a %s buffer of %s",
                          name, vy_access_name(m->access), vyre_type_name((vyre_type)m->type));
}

/* ---- size expressions ---- */

/* The buffer whose count contains each node of a size expression (VY_NONE: the grid). Operands precede their
 * operator, so one backward pass propagates the owner to the operands. */
static uint32_t *find_owners(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    uint32_t *owners = vy_verifier_scratch(verifier, p->sizes.count, sizeof *owners);
    if (!owners)
        return NULL;
    for (uint32_t i = 0; i < p->sizes.count; i++)
        owners[i] = VY_NONE;
    for (uint32_t i = 0; i < p->memories.count; i++)
        if (p->memories.items[i].size != VY_NONE)
            owners[p->memories.items[i].size] = i;
    for (uint32_t i = p->sizes.count; i-- > 0;) {
        const vy_size *size = &p->sizes.items[i];
        if (size->kind > VY_SIZE_LEN)
            owners[size->a] = owners[size->b] = owners[i];
    }
    return owners;
}

/* Reports cyclic counts, with Kahn's algorithm over lists threaded through the size nodes. A buffer is resolved if
 * its count uses lengths of resolved buffers only; unresolved buffers are in a cycle or depend on one. There is one
 * edge per `len`. */
static void check_cycles(vy_verifier *verifier, const uint32_t *owners, const vy_function *entry) {
    const vyre_program *p = verifier->program;
    uint32_t n = p->buffer_count, first = entry->first_memory, resolved = 0;
    uint32_t *needs = vy_verifier_scratch(verifier, n, sizeof *needs);         /* unresolved `len`s in the count */
    uint32_t *needed_by = vy_verifier_scratch(verifier, n, sizeof *needed_by); /* 1 + first `len` of this buffer */
    uint32_t *next = vy_verifier_scratch(verifier, p->sizes.count, sizeof *next);
    uint32_t *queue = vy_verifier_scratch(verifier, n, sizeof *queue);
    if (!needs || !needed_by || !next || !queue)
        return;
    for (uint32_t i = 0; i < p->sizes.count; i++) {
        if (p->sizes.items[i].kind != VY_SIZE_LEN || owners[i] == VY_NONE)
            continue;
        needs[owners[i] - first]++;
        next[i] = needed_by[p->sizes.items[i].a - first];
        needed_by[p->sizes.items[i].a - first] = i + 1;
    }
    for (uint32_t i = 0; i < n; i++)
        if (needs[i] == 0)
            queue[resolved++] = i;
    for (uint32_t at = 0; at < resolved; at++)
        for (uint32_t use = needed_by[queue[at]]; use; use = next[use - 1])
            if (--needs[owners[use - 1] - first] == 0)
                queue[resolved++] = owners[use - 1] - first;
    for (uint32_t i = 0; resolved < n && i < n; i++)
        if (needs[i])
            vy_verifier_error(verifier, VY_V023, p->memories.items[first + i].position, NULL, "cyclic count of `%s`",
                              vy_verifier_name(verifier, p->memories.items[first + i].name));
}

static void check_sizes(vy_verifier *verifier, const vy_function *entry) {
    const vyre_program *p = verifier->program;
    if (p->sizes.count == 0)
        return;
    const uint32_t *owners = find_owners(verifier);
    if (!owners)
        return;
    for (uint32_t i = 0; i < p->sizes.count; i++) {
        const vy_size *size = &p->sizes.items[i];
        vy_position at = owners[i] == VY_NONE ? entry->position : p->memories.items[owners[i]].position;
        if (size->kind != VY_SIZE_PARAM)
            continue;
        const vy_variable *v = &p->variables.items[size->a];
        if (!(vyre_type_class((vyre_type)v->type) & VYRE_CLASS_INTEGER))
            vy_verifier_error(verifier, VY_V022, at, NULL,
                              "expected an integer param in a count or grid, but `%s` is %s",
                              vy_verifier_name(verifier, v->name), vyre_type_name((vyre_type)v->type));
    }
    for (uint32_t i = 0; i < p->buffer_count; i++) {
        const vy_memory *m = &p->memories.items[entry->first_memory + i];
        if (m->size != VY_NONE && p->sizes.items[m->size].kind == VY_SIZE_LITERAL &&
            p->sizes.items[m->size].value > UINT32_MAX)
            vy_verifier_error(
                verifier, VY_V046, m->position, NULL, "the count of `%s` (%llu) exceeds the limit (%u elements)",
                vy_verifier_name(verifier, m->name), (unsigned long long)p->sizes.items[m->size].value, UINT32_MAX);
    }
    check_cycles(verifier, owners, entry);
}

/* ---- the part ---- */

void vy_verify_declarations(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    const vy_function *entry = vy_program_entry(p);
    check_program_name(verifier);
    check_function_names(verifier);
    check_functions(verifier);
    if (!entry)
        return;
    if (p->param_count > VY_LIMIT_PARAMS)
        vy_verifier_error(verifier, VY_V035, entry->position, NULL, "too many params (%u, limit %d)", p->param_count,
                          VY_LIMIT_PARAMS);
    if (p->buffer_count > VY_LIMIT_BUFFERS)
        vy_verifier_error(verifier, VY_V036, entry->position, NULL, "too many buffers (%u, limit %d)", p->buffer_count,
                          VY_LIMIT_BUFFERS);
    check_workgroup(verifier, entry);
    check_grid(verifier, entry);
    check_sizes(verifier, entry);
}

/* ---- unused declarations ---- */

/* Only declarations with a position are reported, that is, declarations from text: programs built through the API
 * often come from generators, which leave unused declarations. The following are not reported: names that begin with
 * `_`, loop variables, parameters of functions, buffers that the dispatch returns, and the results of a statement if
 * one of them is used. */

enum { READ = 1, WRITTEN = 2, EFFECT = 4 };

typedef struct uses {
    unsigned char *variables, *memories; /* READ, WRITTEN; EFFECT: a result of a call or atomic */
} uses;

static void use_expressions(const vyre_program *program, const uses *u) {
    for (uint32_t i = 0; i < program->exprs.count; i++) {
        const vy_expr *expr = &program->exprs.items[i];
        if (expr->kind == VY_EXPR_VARIABLE)
            u->variables[expr->a] |= READ;
        else if (expr->kind == VY_EXPR_LOAD || expr->kind == VY_EXPR_LEN || expr->kind == VY_EXPR_ALIGN_OFFSET)
            u->memories[expr->a] |= READ;
    }
}

static void use_sizes(const vyre_program *program, const uses *u) {
    for (uint32_t i = 0; i < program->sizes.count; i++) {
        const vy_size *size = &program->sizes.items[i];
        if (size->kind == VY_SIZE_PARAM)
            u->variables[size->a] |= READ;
        else if (size->kind == VY_SIZE_LEN)
            u->memories[size->a] |= READ;
    }
    if (program->grid.kind == VYRE_GRID_OVER || program->grid.kind == VYRE_GRID_INDIRECT)
        u->memories[program->grid.memory] |= READ;
}

/* If one result of a statement is read, all its results count as read. */
static void use_results(const vy_stmt *stmt, const uses *u) {
    unsigned char any = stmt->kind == VY_STMT_FOR ? READ : 0;
    for (uint32_t i = 0; i < stmt->result_count; i++)
        any |= u->variables[stmt->variable + i];
    if (stmt->kind == VY_STMT_ATOMIC || stmt->kind == VY_STMT_CALL)
        any |= EFFECT;
    for (uint32_t i = 0; i < stmt->result_count; i++)
        u->variables[stmt->variable + i] |= any;
}

/* Whether the initial value of a variable declared at `at` contains a call or atomic. Its result is a variable of a
 * position after `at`. The recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static int has_effect(const vyre_program *program, const uses *u, uint32_t index, vy_position at) {
    if (index == VY_NONE)
        return 0;
    const vy_expr *expr = &program->exprs.items[index];
    if (expr->kind == VY_EXPR_VARIABLE) {
        vy_position result = program->variables.items[expr->a].position;
        return (u->variables[expr->a] & EFFECT) &&
               (result.line > at.line || (result.line == at.line && result.column > at.column));
    }
    return expr->kind == VY_EXPR_OP && (has_effect(program, u, expr->a, at) || has_effect(program, u, expr->b, at) ||
                                        has_effect(program, u, expr->c, at));
}

static void use_statements(const vyre_program *program, const uses *u) {
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        const vy_stmt *stmt = &program->stmts.items[i];
        if (stmt->kind == VY_STMT_ASSIGN)
            u->variables[stmt->variable] |= WRITTEN;
        else if (stmt->result_count)
            use_results(stmt, u);
        if ((stmt->kind == VY_STMT_LET || stmt->kind == VY_STMT_VAR) &&
            has_effect(program, u, stmt->a, program->variables.items[stmt->variable].position))
            u->variables[stmt->variable] |= EFFECT;
        if (stmt->memory != VY_NONE)
            u->memories[stmt->memory] |= stmt->result_count ? READ : WRITTEN;
        for (uint32_t k = 0; k < stmt->arg_count; k++) {
            const vy_arg *arg = &program->args.items[stmt->args + k];
            if (arg->is_memory)
                u->memories[arg->index] |= READ;
        }
    }
}

static int is_reported(const vy_verifier *verifier, vy_symbol name, vy_position at) {
    const char *text = vy_verifier_name(verifier, name);
    return at.line != 0 && *text && *text != '_';
}

/* The fix of V106: the declaration may have a type or several names, so it is not spelled. NULL: the default. */
static const char *unused_variable_fix(unsigned use) {
    if ((use & EFFECT) && (use & WRITTEN))
        return "read it, or begin its name with `_`";
    if (use & EFFECT)
        return "use it, keep only the call after the `=`, or begin its name with `_`";
    return use & WRITTEN ? "read it, remove it and its assignments, or begin its name with `_`" : NULL;
}

static void report_variable(vy_verifier *verifier, uint32_t index, int is_param, unsigned use) {
    const vy_variable *variable = &verifier->program->variables.items[index];
    const char *name = vy_verifier_name(verifier, variable->name);
    if ((use & READ) || !is_reported(verifier, variable->name, variable->position))
        return;
    if (is_param)
        vy_verifier_warning(verifier, VY_V105, variable->position, NULL, "unused param `%s`", name);
    else
        vy_verifier_warning(verifier, VY_V106, variable->position, unused_variable_fix(use),
                            use & WRITTEN ? "variable `%s` is assigned, but never read" : "unused variable `%s`", name);
}

static void report_memory(vy_verifier *verifier, uint32_t index, unsigned use) {
    const vy_memory *memory = &verifier->program->memories.items[index];
    const char *name = vy_verifier_name(verifier, memory->name);
    if ((use & READ) || !is_reported(verifier, memory->name, memory->position))
        return;
    if (memory->space != VY_SPACE_BUFFER)
        vy_verifier_warning(verifier, VY_V107, memory->position,
                            use & WRITTEN ? "read it, remove it and its stores, or begin its name with `_`" : NULL,
                            use & WRITTEN ? "array `%s` is stored to, but never read" : "unused array `%s`", name);
    else if (!vy_access_stores(memory->access))
        vy_verifier_warning(verifier, VY_V105, memory->position, NULL, "unused buffer `%s`", name);
}

/* The parameters of a function precede its other variables and memories. They are not reported, because callers or
 * the signature of an op determine them. */
static void report_function(vy_verifier *verifier, const vy_function *function, const uses *u) {
    const vyre_program *program = verifier->program;
    int is_entry = vy_is_entry(program, function);
    uint32_t scalars = 0, memories = 0;
    for (uint32_t i = 0; !is_entry && i < function->param_count; i++) {
        int is_memory = program->params.items[function->first_param + i].is_memory != 0;
        memories += (uint32_t)is_memory;
        scalars += (uint32_t)!is_memory;
    }
    for (uint32_t i = scalars; i < function->variable_count; i++)
        report_variable(verifier, function->first_variable + i, is_entry && i < program->param_count,
                        u->variables[function->first_variable + i]);
    for (uint32_t i = memories; i < function->memory_count; i++)
        report_memory(verifier, function->first_memory + i, u->memories[function->first_memory + i]);
}

void vy_verify_unused(vy_verifier *verifier) {
    const vyre_program *program = verifier->program;
    if (!verifier->diagnostics || program->level != VYRE_LEVEL_SOURCE)
        return;
    uses u = {vy_verifier_scratch(verifier, program->variables.count + 1, 1),
              vy_verifier_scratch(verifier, program->memories.count + 1, 1)};
    if (verifier->out_of_memory)
        return;
    use_expressions(program, &u);
    use_sizes(program, &u);
    use_statements(program, &u);
    for (uint32_t i = 0; i < program->functions.count; i++)
        report_function(verifier, &program->functions.items[i], &u);
}
