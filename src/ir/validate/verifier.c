/* Reporting, scratch memory and the small questions of verifier.h. */
#include "ir/validate/verifier.h"

#include "ir/op_tables.h"

#include <stdarg.h>
#include <stdio.h>

/* A list keeps fewer than this; the rest is only counted, so their words are not made. */
enum { WORDS_MADE = 2000 };

static void add(vy_verifier *verifier, vy_diag_code code, vyre_severity severity, vy_position at, const char *fix,
                const char *format, va_list arguments) {
    char message[512] = "";
    if (verifier->findings++ < WORDS_MADE)
        vsnprintf(message, sizeof message, format, arguments);
    const vy_source *source = verifier->program->source;
    fix = fix ? fix : vy_diag_code_fix(code);
    vy_diagnostic_add(verifier->diagnostics, source, vy_diag_code_name(code), severity, at, fix, "%s", message);
    if (severity != VYRE_SEVERITY_ERROR || verifier->errors++ > 0)
        return;
    vy_fail(verifier->error, VYRE_INVALID_PROGRAM, fix, "%s %s", vy_diag_code_name(code), message);
    vy_fail_parts_at(verifier->error, vy_diag_code_name(code), source ? vy_source_name(source) : "", at.line,
                     at.column);
    if (!verifier->error)
        return;
    if (at.line)
        vy_fail_where(verifier->error, "%s:%u:%u", source ? vy_source_name(source) : "line", at.line, at.column);
    else
        vy_fail_where(verifier->error, "%s", vy_verifier_name(verifier, verifier->program->name));
}

void vy_verifier_error(vy_verifier *verifier, vy_diag_code code, vy_position at, const char *fix, const char *format,
                       ...) {
    va_list arguments;
    va_start(arguments, format);
    add(verifier, code, VYRE_SEVERITY_ERROR, at, fix, format, arguments);
    va_end(arguments);
}

void vy_verifier_warning(vy_verifier *verifier, vy_diag_code code, vy_position at, const char *fix, const char *format,
                         ...) {
    va_list arguments;
    va_start(arguments, format);
    add(verifier, code, VYRE_SEVERITY_WARNING, at, fix, format, arguments);
    va_end(arguments);
}

void *vy_verifier_scratch(vy_verifier *verifier, size_t count, size_t size) {
    void *memory = vy_arena_allocate(&verifier->scratch, vy_array_size(count, size));
    if (!memory)
        verifier->out_of_memory = 1;
    return memory;
}

uint32_t vy_expr_first(const vyre_program *program, uint32_t root) {
    for (const vy_expr *exprs = program->exprs.items;;) {
        if (exprs[root].kind == VY_EXPR_OP)
            root = exprs[root].a;
        else if (exprs[root].kind == VY_EXPR_LOAD)
            root = exprs[root].b;
        else
            return root;
    }
}

/* The arms of an op are what lies between its first operand and itself. */
int vy_expr_is_in_arm(const vyre_program *program, uint32_t expr, uint32_t end) {
    for (uint32_t i = expr + 1; i < end; i++) {
        const vy_expr *e = &program->exprs.items[i];
        if (e->kind == VY_EXPR_OP && vy_op_has_arms(e->op) && e->a < expr)
            return 1;
    }
    return 0;
}

uint32_t vy_stmt_exprs_first(const vyre_program *program, const vy_stmt *stmt) {
    uint32_t root = stmt->a != VY_NONE ? stmt->a : stmt->b != VY_NONE ? stmt->b : stmt->c;
    for (uint32_t i = 0; i < stmt->arg_count && root == VY_NONE; i++) {
        const vy_arg *arg = &program->args.items[stmt->args + i];
        root = arg->is_memory ? VY_NONE : arg->index;
    }
    return root == VY_NONE ? 0 : vy_expr_first(program, root);
}

int vy_access_loads(uint8_t access) {
    return access < VYRE_ACCESS_COUNT && vy_accesses[access].loads;
}

int vy_access_stores(uint8_t access) {
    return access < VYRE_ACCESS_COUNT && vy_accesses[access].stores;
}

const char *vy_access_name(uint8_t access) {
    return access < VYRE_ACCESS_COUNT ? vy_accesses[access].name : "?";
}

const char *vy_space_name(uint8_t space) {
    static const char *const names[VY_SPACE_COUNT] = {"buffer", "workgroup array", "private array"};
    return space < VY_SPACE_COUNT ? names[space] : "?";
}

/* The value of a size made of literals; 0 if it is not, or has none. Recursion is bounded by the depth the validator allows. */
static uint64_t known_size(const vyre_program *program, uint32_t root) {
    const vy_size *size = &program->sizes.items[root];
    uint64_t a, b, value;
    if (size->kind == VY_SIZE_LITERAL)
        return size->value;
    if (size->kind != VY_SIZE_ADD && size->kind != VY_SIZE_SUB && size->kind != VY_SIZE_MUL)
        return 0;
    a = known_size(program, size->a);
    b = a ? known_size(program, size->b) : 0;
    int overflows = size->kind == VY_SIZE_ADD   ? __builtin_add_overflow(a, b, &value)
                    : size->kind == VY_SIZE_SUB ? __builtin_sub_overflow(a, b, &value)
                                                : __builtin_mul_overflow(a, b, &value);
    return b && !overflows ? value : 0;
}

uint64_t vy_memory_known_length(const vyre_program *program, uint32_t memory) {
    const vy_memory *m = &program->memories.items[memory];
    return m->size != VY_NONE ? known_size(program, m->size) : m->elements;
}
