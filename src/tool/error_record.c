/* The record of what went wrong. */
#include "tool/error_record.h"

#include "tool/json.h"

#include <stdio.h>

static struct {
    vyre_status status;
    vy_string message, where, fix, findings; /* findings: the inside of a JSON array */
    int answered;
} record;

void tool_error_record_fix(const char *fix) {
    if (record.fix.length == 0)
        vy_string_add(&record.fix, fix);
}

void tool_error_record_add(vyre_status status, const char *message, const char *where, const char *fix) {
    if (record.status == VYRE_OK)
        record.status = status;
    if (record.message.length > 0)
        vy_string_add(&record.message, "; ");
    vy_string_add(&record.message, message);
    if (record.where.length == 0)
        vy_string_add(&record.where, where);
    if (fix)
        tool_error_record_fix(fix);
}

void tool_error_record_note(const vyre_error *error) {
    tool_error_record_add(error->code, error->message, error->where, error->fix);
}

void tool_error_record_findings(const vyre_diagnostics *list) {
    vyre_bytes text = VYRE_BYTES_INIT;
    const char *start, *end;

    if (vyre_diagnostics_count(list) > 0 && vyre_diagnostics_render_json(list, &text, NULL) == VYRE_OK) {
        start = (const char *)text.data + 1; /* past '[' */
        end = (const char *)text.data + text.size;
        while (end[-1] != ']')
            end--;
        if (record.findings.length > 0)
            vy_string_char(&record.findings, ',');
        vy_string_append(&record.findings, start, (size_t)(end - 1 - start));
    }
    vyre_bytes_free(&text);
}

void tool_error_record_json_printed(void) {
    record.answered = 1;
}

void tool_error_record_json(vy_string *out) {
    if (record.status == VYRE_OK)
        return;
    tool_json_text(out, "status", vyre_status_name(record.status));
    tool_json_text(out, "message", record.message.text);
    if (record.where.length > 0)
        tool_json_text(out, "where", record.where.text);
    tool_json_text(out, "fix", record.fix.text);
}

void tool_error_record_print(void) {
    vy_string out = {0};

    if (record.status != VYRE_OK && !record.answered) {
        vy_string_char(&out, '{');
        tool_error_record_json(&out);
        vy_string_format(&out, ",\"diagnostics\":[%s]}\n", record.findings.text ? record.findings.text : "");
        if (!out.failed)
            fwrite(out.text, 1, out.length, stdout);
    }
    vy_string_free(&out);
}

void tool_error_record_clear(void) {
    vy_string_free(&record.message);
    vy_string_free(&record.where);
    vy_string_free(&record.fix);
    vy_string_free(&record.findings);
    record.status = VYRE_OK;
    record.answered = 0;
}
