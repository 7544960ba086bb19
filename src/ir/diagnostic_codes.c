/* Diagnostic codes: the joined table, explanations of codes and statuses, and the diagnostic sink. */
#include "ir/diagnostic_codes.h"

#include "vyre/diagnostic.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const vyre_explanation codes[] = {
#define X(CODE, title, text, fix) {#CODE, title, text, fix},
#include "ir/diagnostic_codes_builder.def"
#include "ir/diagnostic_codes_dialect.def"
#include "ir/diagnostic_codes_oracle.def"
#include "ir/diagnostic_codes_text.def"
#include "ir/diagnostic_codes_validate.def"
#include "ir/diagnostic_codes_wire.def"
#undef X
/* A status explains itself with its doc line. */
#define X(ID, code, fix, doc) {#ID, doc, doc, fix},
    VYRE_STATUS_LIST(X)
#undef X
};

const char *vy_diag_code_name(vy_diag_code code) {
    return code < VY_DIAG_CODE_COUNT ? codes[code].code : "?";
}

const char *vy_diag_code_fix(vy_diag_code code) {
    return code < VY_DIAG_CODE_COUNT ? codes[code].fix : "";
}

int vyre_explain_at(size_t index, vyre_explanation *out) {
    if (!out || index >= sizeof codes / sizeof *codes)
        return 0;
    *out = codes[index];
    return 1;
}

int vyre_explain(const char *code, vyre_explanation *out) {
    for (size_t i = 0; code && vyre_explain_at(i, out); i++)
        if (strcmp(out->code, code) == 0)
            return 1;
    return 0;
}

/* ---- sink ---- */

static void keep_first(vy_diag_sink *report, const char *code, const char *message, const char *fix, vy_position at) {
    vy_fail(&report->first, VYRE_INVALID_PROGRAM, fix, "%s %s", code, message);
    vy_fail_parts_at(&report->first, code, vy_source_name(report->source), at.line, at.column);
    if (at.line)
        vy_fail_where(&report->first, "%s:%u:%u", vy_source_name(report->source), at.line, at.column);
    else
        vy_fail_where(&report->first, "%s", vy_source_name(report->source));
}

void vy_diag_sink_error(vy_diag_sink *report, vy_diag_code code, vy_position at, const char *fix, const char *format,
                        ...) {
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    fix = fix && *fix ? fix : vy_diag_code_fix(code);

    if (report->errors++ == 0)
        keep_first(report, vy_diag_code_name(code), message, fix, at);
    vy_diagnostic_add(report->list, report->source, vy_diag_code_name(code), VYRE_SEVERITY_ERROR, at, fix, "%s",
                      message);
}

static int same_finding(const vyre_diagnostic *a, const vyre_diagnostic *b) {
    return a->line == b->line && a->column == b->column && strcmp(a->code, b->code) == 0 &&
           strcmp(a->message, b->message) == 0;
}

static int is_known(const vyre_diagnostics *list, size_t from, const vyre_diagnostic *finding) {
    for (size_t i = from; i < vyre_diagnostics_count(list); i++)
        if (same_finding(vyre_diagnostics_get(list, i), finding))
            return 1;
    return 0;
}

void vy_diag_sink_merge(vy_diag_sink *report, const vyre_diagnostics *found, size_t from, const vyre_error *error) {
    if (error->code == VYRE_NO_MEMORY) {
        report->out_of_memory = 1;
        return;
    }
    size_t over = vyre_diagnostics_errors(found); /* errors that the list counted but did not store */
    for (size_t i = 0; i < vyre_diagnostics_count(found); i++) {
        const vyre_diagnostic *finding = vyre_diagnostics_get(found, i);
        over -= finding->severity == VYRE_SEVERITY_ERROR;
        if (!*finding->code || is_known(report->list, from, finding))
            continue;
        vy_position at = {finding->line, finding->column, finding->length};
        vy_diagnostic_add(report->list, report->source, finding->code, finding->severity, at, finding->fix, "%s",
                          finding->message);
        if (finding->severity == VYRE_SEVERITY_ERROR && report->errors++ == 0)
            keep_first(report, finding->code, finding->message, finding->fix, at);
    }
    report->errors += over;
    /* An error counts even if no list could store its diagnostic. */
    if (error->code != VYRE_OK && report->first.code == VYRE_OK) {
        report->errors += report->errors == 0;
        report->first = *error;
    }
}

vyre_status vy_diag_sink_status(const vy_diag_sink *report, vyre_error *error) {
    if (report->out_of_memory)
        return vy_fail_memory(error, "reading the text");
    if (report->errors == 0)
        return VYRE_OK;
    if (error) {
        *error = report->first;
        error->code = VYRE_INVALID_PROGRAM;
        size_t used = strlen(error->message);
        if (report->errors > 1)
            snprintf(error->message + used, sizeof error->message - used, " (and %zu more error%s)", report->errors - 1,
                     report->errors == 2 ? "" : "s");
    }
    return VYRE_INVALID_PROGRAM;
}
