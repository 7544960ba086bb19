/* Findings as text for people and as JSON.
 *
 * Source text is shown safely: tabs become spaces, control characters and invalid UTF-8 become U+FFFD, so that the
 * caret lines up and no program text reaches the terminal as a command. Of a long line the part around the caret is
 * shown, and only that part is decoded, however long the line is. */
#include "base/diagnostics.h"
#include "base/string.h"
#include "base/utf8.h"

#define TAB 4u
#define SHOWN_BEFORE 60u /* columns to the left of the caret in a line that is cut */
#define SHOWN 110u
/* Bytes of a line that are looked at, before the caret and in all: enough for the columns above in any script. */
#define DECODED_BEFORE 512u
#define DECODED 2048u
#define JSON_LINE 4096u /* bytes of a line that JSON still repeats for each finding */

static const vy_render_style plain = {"", {"", "", ""}, "", ""};

static const char *severity_name(vyre_severity severity) {
    static const char *const names[] = {"error", "warning", "note"};
    return (unsigned)severity < 3 ? names[severity] : "error";
}

static const char *severity_style(vyre_severity severity, const vy_render_style *style) {
    return style->severity[(unsigned)severity < 3 ? severity : VYRE_SEVERITY_ERROR];
}

/* One character as it is shown: its bytes in the text and its columns on the screen. */
typedef struct glyph {
    size_t bytes;
    unsigned columns;
    const char *shown; /* replaces the bytes unless NULL */
} glyph;

static glyph glyph_at(const char *text, size_t size, unsigned column) {
    uint32_t point = 0;
    size_t bytes = vy_utf8_decode(text, size, &point);
    if (bytes && point == '\t')
        return (glyph){1, TAB - column % TAB, "    "};
    if (bytes == 0 || point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x202a && point <= 0x202e) ||
        (point >= 0x2066 && point <= 0x2069)) /* the last two reorder what is shown */
        return (glyph){bytes ? bytes : 1, 1, "\xef\xbf\xbd"};
    return (glyph){bytes, vy_utf8_columns(point), NULL};
}

static void repeat(vy_string *out, char c, unsigned count) {
    while (count--)
        vy_string_char(out, c);
}

/* Where the caret stands on the screen: columns before it, and its width. */
typedef struct extent {
    unsigned start, width;
} extent;

static extent measure(const char *line, size_t size, size_t from, size_t to) {
    extent caret = {0, 0};
    unsigned column = 0;
    for (size_t at = 0; at < size && at < to;) {
        glyph next = glyph_at(line + at, size - at, column);
        if (at < from)
            caret.start += next.columns;
        else
            caret.width += next.columns;
        column += next.columns;
        at += next.bytes;
    }
    return caret;
}

/* Appends the columns [first, last) of the line; a character that is only partly inside is shown as spaces. */
static void append_window(vy_string *out, const char *line, size_t size, unsigned first, unsigned last) {
    unsigned column = 0;
    for (size_t at = 0; at < size && column < last;) {
        glyph next = glyph_at(line + at, size - at, column);
        unsigned end = column + next.columns;
        if (column >= first && end <= last) {
            if (next.shown && *next.shown == ' ')
                repeat(out, ' ', next.columns);
            else if (next.shown)
                vy_string_add(out, next.shown);
            else
                vy_string_append(out, line + at, next.bytes);
        } else if (end > first) {
            repeat(out, ' ', (end < last ? end : last) - (column > first ? column : first));
        }
        column = end;
        at += next.bytes;
    }
}

/* The start of the character that byte `at` belongs to. */
static size_t character_start(const char *line, size_t at) {
    for (int i = 0; i < 3 && at && ((unsigned char)line[at] & 0xc0) == 0x80; i++)
        at--;
    return at;
}

void vy_render_excerpt(vy_string *out, const vyre_diagnostic *finding, const vy_render_style *style) {
    if (!finding->source_line)
        return;
    style = style ? style : &plain;
    const char *line = finding->source_line;
    size_t from = finding->column ? finding->column - 1 : 0, size = strnlen(line, from + DECODED + 1);
    size_t skipped = from > size ? size : from, left_out = 0;
    skipped = skipped > DECODED_BEFORE ? character_start(line, skipped - DECODED_BEFORE) : 0;
    line += skipped;
    size -= skipped;
    from -= skipped;
    if (size > DECODED) {
        left_out = size - character_start(line, DECODED);
        size -= left_out;
    }
    size_t to = from + (finding->length ? finding->length : 1);
    extent caret = measure(line, size, from < size ? from : size, to);
    unsigned total = measure(line, size, size, size).start;
    unsigned first = 0, last = total;
    if (total > SHOWN) {
        first = caret.start > SHOWN_BEFORE ? caret.start - SHOWN_BEFORE : 0;
        last = first + SHOWN < total ? first + SHOWN : total;
    }
    unsigned width = caret.width ? caret.width : 1;
    if (caret.start + width > last && caret.start < last)
        width = last - caret.start;
    int is_cut = first || skipped;
    vy_string_format(out, "%5u | %s", finding->line, is_cut ? "..." : "");
    append_window(out, line, size, first, last);
    vy_string_format(out, "%s\n      | ", last < total || left_out ? "..." : "");
    repeat(out, ' ', caret.start - first + (is_cut ? 3 : 0));
    vy_string_add(out, severity_style(finding->severity, style));
    vy_string_char(out, '^');
    repeat(out, '~', width - 1);
    vy_string_format(out, "%s\n", style->end);
}

/* A message or fix, which may quote the program. */
static void append_safe(vy_string *out, const char *text) {
    for (size_t size = strlen(text), at = 0; at < size;) {
        glyph next = glyph_at(text + at, size - at, 0);
        if (next.shown && text[at] != '\n' && text[at] != '\t')
            vy_string_add(out, next.shown);
        else
            vy_string_append(out, text + at, next.bytes);
        at += next.bytes;
    }
}

static void append_finding(vy_string *out, const vyre_diagnostic *finding, const vy_render_style *style) {
    int has_location = *finding->file || finding->line;
    if (has_location)
        vy_string_add(out, style->location);
    if (*finding->file)
        vy_string_format(out, "%s:", finding->file);
    if (finding->line)
        vy_string_format(out, "%u:%u:", finding->line, finding->column);
    if (has_location)
        vy_string_format(out, "%s ", style->end);
    vy_string_format(out, "%s%s%s%s:%s ", severity_style(finding->severity, style), severity_name(finding->severity),
                     *finding->code ? " " : "", finding->code, style->end);
    append_safe(out, finding->message);
    vy_string_char(out, '\n');
    vy_render_excerpt(out, finding, style);
    vy_string_format(out, "%sFix:%s ", style->fix, style->end);
    append_safe(out, finding->fix);
    vy_string_char(out, '\n');
}

vyre_status vy_diagnostics_render_styled(const vyre_diagnostics *list, const vy_render_style *style, vyre_bytes *out,
                                         vyre_error *error) {
    vy_string text = {0};
    size_t count = vyre_diagnostics_count(list);
    for (size_t i = 0; i < count; i++) {
        if (i)
            vy_string_char(&text, '\n');
        append_finding(&text, vyre_diagnostics_get(list, i), style ? style : &plain);
    }
    return vy_string_to_bytes(&text, out, error);
}

vyre_status vyre_diagnostics_render(const vyre_diagnostics *list, vyre_bytes *out, vyre_error *error) {
    VY_REQUIRE(error, out);
    return vy_diagnostics_render_styled(list, NULL, out, error);
}

static void append_json(vy_string *out, const vyre_diagnostic *finding) {
    const char *line = finding->source_line;
    if (line && strnlen(line, JSON_LINE + 1) > JSON_LINE)
        line = NULL;
    const struct {
        const char *name, *text;
    } members[] = {
        {"{\"code\": ", finding->code},        {", \"severity\": ", severity_name(finding->severity)},
        {", \"message\": ", finding->message}, {", \"fix\": ", finding->fix},
        {", \"file\": ", finding->file},       {", \"source_line\": ", line},
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        vy_string_add(out, members[i].name);
        if (members[i].text)
            vy_string_json(out, members[i].text);
        else
            vy_string_add(out, "null");
    }
    vy_string_format(out, ", \"line\": %u, \"column\": %u, \"length\": %u}", finding->line, finding->column,
                     finding->length);
}

vyre_status vyre_diagnostics_render_json(const vyre_diagnostics *list, vyre_bytes *out, vyre_error *error) {
    VY_REQUIRE(error, out);
    vy_string text = {0};
    size_t count = vyre_diagnostics_count(list);
    vy_string_char(&text, '[');
    for (size_t i = 0; i < count; i++) {
        vy_string_add(&text, i ? ",\n  " : "\n  ");
        append_json(&text, vyre_diagnostics_get(list, i));
    }
    vy_string_add(&text, count ? "\n]\n" : "]\n");
    return vy_string_to_bytes(&text, out, error);
}
