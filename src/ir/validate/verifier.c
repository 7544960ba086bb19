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
