/* Error reporting of the command, the error record, the exit code of each status, and the JSON writer. */
#include "tool/tool.h"

#include "tool/terminal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

/* ---- error record ---- */

static struct {
    vyre_status status;
    vy_string message, where, fix, findings; /* findings: the elements of a JSON array */
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

/* ---- errors ---- */

int tool_exit_of(vyre_status status) {
    static const unsigned char exits[] = {
        [VYRE_OK] = TOOL_OK,
        [VYRE_INVALID_ARGUMENT] = TOOL_USAGE,
        [VYRE_INVALID_PROGRAM] = TOOL_FAILED,
        [VYRE_NO_MEMORY] = TOOL_SYSTEM,
        [VYRE_NO_DEVICE_MEMORY] = TOOL_SYSTEM,
        [VYRE_DEVICE_LOST] = TOOL_SYSTEM,
        [VYRE_TIMEOUT] = TOOL_SYSTEM,
        [VYRE_CANCELLED] = TOOL_SYSTEM,
        [VYRE_UNSUPPORTED] = TOOL_SYSTEM,
        [VYRE_TRAPPED] = TOOL_TRAPPED,
        [VYRE_CORRUPT] = TOOL_FAILED,
        [VYRE_DUPLICATE] = TOOL_FAILED,
        [VYRE_CONFLICT] = TOOL_FAILED,
        [VYRE_NOT_FOUND] = TOOL_FAILED,
        [VYRE_ABI_MISMATCH] = TOOL_SYSTEM,
        [VYRE_LIMIT] = TOOL_SYSTEM,
        [VYRE_IO] = TOOL_SYSTEM,
        [VYRE_CHECK_FAILED] = TOOL_FAILED,
        [VYRE_BUDGET] = TOOL_SYSTEM,
        [VYRE_NOT_READY] = TOOL_SYSTEM,
    };
    return (size_t)status < sizeof exits ? exits[status] : TOOL_SYSTEM;
}

int tool_exit_of_run(vyre_status status) {
    return status == VYRE_NOT_FOUND || status == VYRE_CORRUPT ? TOOL_SYSTEM : tool_exit_of(status);
}

int tool_error_at(const vyre_error *error, const vyre_diagnostic *finding) {
    char text[sizeof *error + 64];
    vy_string excerpt = {0};

    vyre_error_format(error, text, sizeof text);
    const char *fix = strstr(text, "\nFix: ");
    size_t length = fix ? (size_t)(fix + 1 - text) : strlen(text);
    if (finding)
        vy_render_excerpt(&excerpt, finding, tool_render_style(stderr));
    fflush(stdout); /* keep the order of the two streams */
    tool_write(stderr, "vyre: %.*s", (int)length, text);
    if (excerpt.text && !excerpt.failed)
        fputs(excerpt.text, stderr);
    tool_write(stderr, "%s", text + length);
    vy_string_free(&excerpt);
    tool_error_record_note(error);
    return tool_exit_of(error->code);
}

int tool_error(const vyre_error *error) {
    return tool_error_at(error, NULL);
}

static void problem(const tool_command *command, const char *format, va_list arguments) {
    char message[1024];

    vsnprintf(message, sizeof message, format, arguments);
    fflush(stdout);
    tool_write(stderr, "vyre %s: %s\n", command->name, message);
    tool_error_record_add(VYRE_INVALID_ARGUMENT, message, "", NULL);
}

int tool_problem(const tool_command *command, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    problem(command, format, arguments);
    va_end(arguments);
    return TOOL_USAGE;
}

void tool_fix(const char *fix) {
    tool_write(stderr, "Fix: %s\n", fix);
    tool_error_record_fix(fix);
}

int tool_usage(const tool_command *command, const char *fix, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    problem(command, format, arguments);
    va_end(arguments);
    tool_fix(fix ? fix : VY_FIX("see `vyre help %s`", command->name));
    return TOOL_USAGE;
}

void tool_diagnostics(const vyre_diagnostics *list) {
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_error error;

    if (vyre_diagnostics_count(list) == 0)
        return;
    fflush(stdout);
    if (vy_diagnostics_render_styled(list, tool_render_style(stderr), &text, &error) == VYRE_OK)
        fwrite(text.data, 1, text.size, stderr);
    else
        tool_error(&error);
    tool_error_record_findings(list);
    vyre_bytes_free(&text);
}

void tool_note_plugin(void *user, const char *path, vyre_status status, const vyre_error *error) {
    (void)user, (void)status;
    if (error)
        tool_write(stderr, "note: plug-in %s is not loaded: %s\nFix: %s\n", path, error->message, error->fix);
}

int tool_ends_with(const char *path, const char *ending) {
    size_t length = strlen(path), ending_length = strlen(ending);
    return length > ending_length && strcasecmp(path + length - ending_length, ending) == 0;
}

static int print(vy_string *string, int is_coloured) {
    int code = TOOL_OK;

    if (string->failed) {
        vyre_error error;
        vy_fail_memory(&error, "formatting the output");
        code = tool_error(&error);
    } else if (string->length > 0) {
        if (is_coloured)
            tool_write_lines(stdout, string->text, string->length);
        else
            fwrite(string->text, 1, string->length, stdout);
        tool_error_record_json_printed();
    }
    vy_string_free(string);
    return code;
}

int tool_print(vy_string *string) {
    return print(string, 0);
}

int tool_print_lines(vy_string *string) {
    return print(string, 1);
}

/* JSON writer (tool.h). */
void tool_json_name(vy_string *out, const char *name) {
    char last = out->length ? out->text[out->length - 1] : '{';
    if (last != '{' && last != '[')
        vy_string_char(out, ',');
    if (*name)
        vy_string_format(out, "\"%s\":", name);
}

void tool_json_text(vy_string *out, const char *name, const char *text) {
    tool_json_name(out, name);
    vy_string_json(out, text ? text : "");
}

void tool_json_optional(vy_string *out, const char *name, const char *text) {
    tool_json_name(out, name);
    if (text && *text)
        vy_string_json(out, text);
    else
        vy_string_add(out, "null");
}

void tool_json_number(vy_string *out, const char *name, uint64_t value) {
    tool_json_name(out, name);
    vy_string_format(out, "%" PRIu64, value);
}

void tool_json_code(vy_string *out, const char *name, int value) {
    tool_json_name(out, name);
    if (value < 0)
        vy_string_add(out, "null");
    else
        vy_string_format(out, "%d", value);
}

void tool_json_flag(vy_string *out, const char *name, int value) {
    tool_json_name(out, name);
    vy_string_add(out, value ? "true" : "false");
}

void tool_json_open(vy_string *out, const char *name, char bracket) {
    tool_json_name(out, name);
    vy_string_char(out, bracket);
}

void tool_json_findings(vy_string *out, const vyre_diagnostics *list, int on_one_line) {
    vyre_bytes text = VYRE_BYTES_INIT;

    tool_json_name(out, "diagnostics");
    if (vyre_diagnostics_render_json(list, &text, NULL) != VYRE_OK)
        out->failed = 1;
    for (size_t i = 0; i < text.size; i++) { /* newlines in strings are escaped, so each one here is layout */
        char c = ((const char *)text.data)[i];
        if (c != '\n' || (!on_one_line && i + 1 < text.size))
            vy_string_char(out, c);
    }
    vyre_bytes_free(&text);
}
