/* JSON writer (json.h). */
#include "tool/json.h"

#include <inttypes.h>

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
