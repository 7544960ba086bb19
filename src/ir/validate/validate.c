/* Verifier driver: reports findings, derives the program flags, and runs the parts in the order that verifier.h
 * states. */
#include "ir/validate/validate.h"
#include "ir/op_tables.h"
#include "ir/validate/verifier.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- findings and scratch memory ---- */

/* Findings with a message. A list keeps fewer than this; the rest is only counted. */
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
    static const char *const names[VY_SPACE_COUNT] = {"buffer", "workgroup array", "private array", "constant array"};
    return space < VY_SPACE_COUNT ? names[space] : "?";
}

/* ---- program flags ---- */

uint32_t vy_stmt_flags(const vy_stmt *stmt) {
    switch (stmt->kind) {
    case VY_STMT_BARRIER:
        return stmt->scope == VYRE_SCOPE_DEVICE ? VY_PROGRAM_HAS_GRID_BARRIER : VY_PROGRAM_HAS_BARRIER;
    case VY_STMT_COLLECTIVE:
        return VY_PROGRAM_HAS_BARRIER;
    case VY_STMT_ATOMIC:
        return VY_PROGRAM_HAS_ATOMIC;
    case VY_STMT_TRAP:
    case VY_STMT_RECORD_TRAP:
        return VY_PROGRAM_HAS_TRAP;
    case VY_STMT_PRINT:
        return VY_PROGRAM_HAS_PRINT;
    case VY_STMT_CALL:
        return stmt->callee == VY_NONE ? VY_PROGRAM_HAS_OP_CALL : VY_PROGRAM_HAS_CALL;
    default:
        return 0;
    }
}

/* Whether an atomic by itself makes the result depend on the schedule: its result is used, the last writer
 * determines the final value, or the order of roundings does. */
static int shows_schedule(const vyre_program *p, const vy_stmt *s) {
    return s->result_count || s->op == VYRE_ATOMIC_STORE || s->op == VYRE_ATOMIC_EXCHANGE ||
           s->op == VYRE_ATOMIC_COMPARE_EXCHANGE ||
           vyre_type_class((vyre_type)p->memories.items[s->memory].type) == VYRE_CLASS_FLOAT;
}

/* Adds the kinds of atomics that a function applies to each memory; callees have been added before. Returns whether
 * the result depends on the schedule. */
static int add_kinds(const vyre_program *p, const vy_function *f, uint16_t *kinds) {
    int shows = 0;
    for (uint32_t i = f->first_stmt; i < f->end_stmt; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        if (s->kind == VY_STMT_ATOMIC) {
            kinds[s->memory] |= (uint16_t)(1u << s->op);
            shows |= shows_schedule(p, s);
        } else if (s->kind == VY_STMT_CALL && s->callee != VY_NONE) {
            const vy_function *callee = &p->functions.items[s->callee];
            for (uint32_t k = 0; k < s->arg_count; k++)
                if (p->args.items[s->args + k].is_memory)
                    kinds[p->args.items[s->args + k].index] |= kinds[p->params.items[callee->first_param + k].index];
        }
    }
    for (uint32_t i = f->first_memory; i < f->first_memory + f->memory_count; i++)
        shows |= (kinds[i] & (kinds[i] - 1)) != 0; /* more than one kind */
    return shows;
}

static int depends_on_schedule(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    uint16_t *kinds = vy_verifier_scratch(verifier, p->memories.count, sizeof *kinds);
    int shows = 0;
    for (uint32_t i = 0; kinds && i < p->functions.count; i++)
        shows |= add_kinds(p, &p->functions.items[verifier->order ? verifier->order[i] : i], kinds);
    return shows;
}

static void derive_flags(vy_verifier *verifier) {
    vyre_program *p = verifier->program;
    uint32_t facts = 0;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        facts |= vy_stmt_flags(&p->stmts.items[i]);
    if ((facts & VY_PROGRAM_HAS_ATOMIC) && depends_on_schedule(verifier))
        facts |= VY_PROGRAM_IS_SCHEDULE_DEPENDENT;
    p->facts = facts;
}

/* ---- the parts in order ---- */

static void run_parts(vy_verifier *verifier) {
    vy_verify_layout(verifier);
    if (!vy_verifier_is_clean(verifier))
        return;
    /* These two parts are independent, so one run reports the findings of both. */
    vy_verify_declarations(verifier);
    if (!verifier->out_of_memory)
        vy_verify_bodies(verifier);
    /* The remaining parts require a program without errors. */
    void (*const parts[])(vy_verifier *) = {vy_verify_calls, derive_flags, vy_verify_uniformity, vy_verify_races,
                                            vy_verify_unused};
    /* At level legal, uniformity and races are not checked: legalisation passes values through memory, which the
     * rules treat as divergent. The reference interpreter checks them at run time. */
    size_t count = verifier->program->level == VYRE_LEVEL_LEGAL ? 2 : sizeof parts / sizeof *parts;
    for (size_t i = 0; i < count && vy_verifier_is_clean(verifier); i++)
        parts[i](verifier);
}

vyre_status vy_derive_program_flags(vyre_program *program, vyre_error *error) {
    vy_verifier verifier = {.program = program, .error = error};
    derive_flags(&verifier);
    vy_arena_free(&verifier.scratch);
    return verifier.out_of_memory ? vy_fail_memory(error, "deriving the flags of a program") : VYRE_OK;
}

/* Returns the status of a finished run. */
static vyre_status conclude(vy_verifier *verifier) {
    vyre_error *error = verifier->error;
    vy_arena_free(&verifier->scratch);
    if (verifier->errors == 0)
        return verifier->out_of_memory ? vy_fail_memory(error, "validating a program") : VYRE_OK;
    if (error && verifier->errors > 1) {
        size_t length = strlen(error->message);
        snprintf(error->message + length, sizeof error->message - length, " (and %zu more error%s)",
                 verifier->errors - 1, verifier->errors == 2 ? "" : "s");
    }
    return VYRE_INVALID_PROGRAM;
}

vyre_status vy_validate_declarations(vyre_program *program, vyre_error *error) {
    vy_verifier verifier = {.program = program, .error = error};
    vy_verify_declarations(&verifier);
    return conclude(&verifier);
}

vyre_status vy_validate(vyre_program *program, vyre_diagnostics *diagnostics, vyre_error *error) {
    vy_verifier verifier = {.program = program, .diagnostics = diagnostics, .error = error};
    program->facts = 0;
    run_parts(&verifier);
    return conclude(&verifier);
}
