/* The four kinds of strings.
 *
 * step() alone knows how bytes of the source become bytes of the text; reading a string and finding a place in it both walk with
 * it, so they cannot disagree. */
#include "dialect/toml_parser.h"

enum { LITERAL = 1, LINES = 2 }; /* bits of vy_toml_string.quotes; a basic string on one line has neither */

static int hexadecimal(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The UTF-8 form of a code point; 0 if it is none (a surrogate, or too large). */
static size_t encode(uint32_t point, char out[4]) {
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return 0;
    size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3f));
    out[0] = (char)(leads[size] | point);
    return size;
}

/* A backslash at the end of a line: it, the line end and all space up to the next character. 0 if it is not that. */
static size_t line_joint(const char *at, const char *end) {
    const char *next = at + 1;
    while (next < end && (*next == ' ' || *next == '\t'))
        next++;
    if (!vy_toml_newline(next, end))
        return 0;
    for (size_t size = 1; size;) {
        size = vy_toml_newline(next, end);
        if (!size && next < end && (*next == ' ' || *next == '\t'))
            size = 1;
        next += size;
    }
    return (size_t)(next - at);
}

/* An escape: its size, or 0 if there is none such. */
static size_t escape(const char *at, const char *end, char out[4], size_t *made) {
    static const char names[] = "btnfr\"\\", meanings[] = "\b\t\n\f\r\"\\";
    if (end - at < 2 || at[1] == 0)
        return 0;
    const char *name = strchr(names, at[1]);
    if (name) {
        out[0] = meanings[name - names];
        *made = 1;
        return 2;
    }
    size_t digits = at[1] == 'u' ? 4 : at[1] == 'U' ? 8 : 0;
    if (digits == 0 || (size_t)(end - at) < 2 + digits)
        return 0;
    uint32_t point = 0;
    for (size_t i = 0; i < digits; i++) {
        int digit = hexadecimal(at[2 + i]);
        if (digit < 0)
            return 0;
        point = point << 4 | (uint32_t)digit;
    }
    *made = encode(point, out);
    return *made ? 2 + digits : 0;
}

/* One step: bytes taken from the source (0: they may not stand here), and bytes made of them. */
static size_t step(const char *at, const char *end, unsigned quotes, char out[4], size_t *made) {
    *made = 0;
    if (*at == '\\' && !(quotes & LITERAL)) {
        size_t joint = quotes & LINES ? line_joint(at, end) : 0;
        return joint ? joint : escape(at, end, out, made);
    }
    size_t newline = vy_toml_newline(at, end);
    if (newline ? !(quotes & LINES) : vy_toml_is_control((unsigned char)*at))
        return 0;
    out[0] = newline ? '\n' : *at;
    *made = 1;
    return newline ? newline : 1;
}

static void report_step(vy_toml_parser *p) {
    if (*p->at != '\\') {
        vy_diag_sink_error(&p->report, VY_D003, vy_toml_position(p, p->at, p->at + 1),
                           VY_FIX("write `\\u%04X` in a string with double quotes", (unsigned char)*p->at),
                           "a control character (0x%02x) stands in a string", (unsigned char)*p->at);
        return;
    }
    int kind = vy_toml_peek(p, 1);
    size_t size = 1 + (kind >= 0), most = kind == 'u' ? 6 : kind == 'U' ? 10 : size;
    while (size < most && vy_toml_peek(p, size) >= 0 && hexadecimal(p->at[size]) >= 0)
        size++;
    const char *fix = NULL;
    if (size == most && size > 2)
        fix = "name a Unicode character: at most 10FFFF, and not D800 to DFFF";
    else if (most > size)
        fix = "give `\\u` four hexadecimal digits and `\\U` eight";
    else if (kind == 'x')
        fix = "write `\\u00` and the two digits";
    vy_diag_sink_error(&p->report, VY_D008, vy_toml_position(p, p->at, p->at + size), fix, "`%.*s` is no escape",
                       kind >= 0 && (vy_toml_is_control(kind) || kind >= 0x80) ? 1 : (int)size, p->at);
}

/* Whether the string ends here, and how many quotes before the end belong to its text: a multi-line string may end in up to two quotes of
 * its own kind. */
static int closes(const vy_toml_parser *p, char quote, unsigned quotes, size_t *own) {
    *own = 0;
    if (!(quotes & LINES))
        return vy_toml_peek(p, 0) == quote;
    size_t run = 0;
    while (run < 5 && vy_toml_peek(p, run) == quote)
        run++;
    *own = run < 3 ? 0 : run - 3;
    return run >= 3;
}

static int fail_open(vy_toml_parser *p, const char *start, unsigned quotes) {
    size_t width = quotes & LINES ? 3 : 1;
    const char *marks = quotes & LITERAL ? "'''" : "\"\"\"";
    vy_diag_sink_error(&p->report, VY_D007, vy_toml_position(p, start, start + width),
                       VY_FIX("add `%.*s` where the string ends%s", (int)width, marks,
                              quotes & LINES ? "" : ", or open it with three quotes if it has several lines"),
                       "a string is not closed before the end of the %s", quotes & LINES ? "file" : "line");
    return 0;
}

int vy_toml_read_string(vy_toml_parser *p, vy_toml_string *out) {
    const char *start = p->at;
    char quote = *p->at, bytes[4];
    unsigned quotes = quote == '\'' ? LITERAL : 0;
    if (vy_toml_peek(p, 1) == quote && vy_toml_peek(p, 2) == quote)
        quotes |= LINES;
    p->at += quotes & LINES ? 3 : 1;
    if (quotes & LINES)
        p->at += vy_toml_newline(p->at, p->end);
    *out = (vy_toml_string){.from = (uint32_t)(p->at - p->text), .quotes = (uint8_t)quotes};
    p->scratch.length = 0;
    size_t own, made;
    while (!closes(p, quote, quotes, &own)) {
        if (p->at == p->end || (!(quotes & LINES) && vy_toml_newline(p->at, p->end)))
            return fail_open(p, start, quotes);
        size_t size = step(p->at, p->end, quotes, bytes, &made);
        if (size == 0)
            report_step(p);
        vy_string_append(&p->scratch, bytes, made);
        /* What was refused is read over, and with a backslash what it escapes, so that `\` before a quote ends nothing. */
        p->at += size ? size : *p->at == '\\' && p->end - p->at > 1 && p->at[1] != '\n' && p->at[1] != '\r' ? 2 : 1;
    }
    vy_string_append(&p->scratch, p->at, own);
    p->at += own + (quotes & LINES ? 3 : 1);
    out->size = p->scratch.length;
    out->text =
        p->scratch.failed ? NULL : vy_arena_copy(&p->document->arena, out->size ? p->scratch.text : "", out->size);
    return out->text ? 1 : vy_toml_no_memory(p);
}

vy_position vy_toml_locate(const vy_toml *document, const vy_toml_value *string, size_t offset, size_t length) {
    size_t size, made = 0, done = 0;
    const char *text = vy_source_text(document->source, &size);
    const char *at = text + string->string.from;
    char bytes[4];
    /* The step that makes byte `offset` is not taken; steps before it that make nothing are. */
    for (size_t taken; at < text + size && done <= offset; at += taken, done += made) {
        taken = step(at, text + size, string->string.quotes, bytes, &made);
        if (taken == 0 || done + made > offset || done >= string->string.size)
            break;
    }
    return vy_source_position(document->source, (size_t)(at - text), length);
}
