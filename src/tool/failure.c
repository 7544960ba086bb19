/* The record of what went wrong. */
#include "tool/failure.h"

#include <stdio.h>

static struct {
    vyre_status status;
    vy_string message, where, fix, findings; /* findings: the inside of a JSON array */
    int answered;
} record;

void tool_failure_fix(const char *fix) {
    if (record.fix.length == 0)
        vy_string_add(&record.fix, fix);
}

void tool_failure_add(vyre_status status, const char *message, const char *where, const char *fix) {
    if (record.status == VYRE_OK)
        record.status = status;
    if (record.message.length > 0)
        vy_string_add(&record.message, "; ");
    vy_string_add(&record.message, message);
    if (record.where.length == 0)
        vy_string_add(&record.where, where);
    if (fix)
        tool_failure_fix(fix);
}

void tool_failure_note(const vyre_error *error) {
    tool_failure_add(error->code, error->message, error->where, error->fix);
}

void tool_failure_findings(const vyre_diagnostics *list) {
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

void tool_failure_answered(void) {
    record.answered = 1;
}

static void add_field(vy_string *out, const char *name, const vy_string *value) {
    vy_string_format(out, ",\"%s\":", name);
    vy_string_json(out, value->text ? value->text : "");
}

void tool_failure_json(vy_string *out) {
    if (record.status == VYRE_OK)
        return;
    vy_string_format(out, ",\"status\":\"%s\"", vyre_status_name(record.status));
    add_field(out, "message", &record.message);
    if (record.where.length > 0)
        add_field(out, "where", &record.where);
    add_field(out, "fix", &record.fix);
}

void tool_failure_print(void) {
    vy_string out = {0};

    tool_failure_json(&out);
    if (!record.answered && out.length > 0) {
        out.text[0] = '{'; /* for the comma */
        vy_string_format(&out, ",\"diagnostics\":[%s]}\n", record.findings.text ? record.findings.text : "");
        if (!out.failed)
            fwrite(out.text, 1, out.length, stdout);
    }
    vy_string_free(&out);
}

void tool_failure_forget(void) {
    vy_string_free(&record.message);
    vy_string_free(&record.where);
    vy_string_free(&record.fix);
    vy_string_free(&record.findings);
    record.status = VYRE_OK;
    record.answered = 0;
}
