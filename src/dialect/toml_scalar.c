/* TOML scalars: strings, dates and times, booleans and numbers.
 *
 * step() alone defines how bytes of the source become bytes of a string. Parsing a string and locating a byte in it
 * both use it, so they always agree. */
#include "base/string.h"
#include "dialect/toml_parser.h"

enum { LITERAL = 1, LINES = 2 }; /* bits of vy_toml_string.quotes; a basic string on one line has neither */

static int hexadecimal(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Encodes a code point as UTF-8; returns 0 for a surrogate or a value that is too large. */
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

/* Size of a line continuation: a backslash at the end of a line, the line end and all whitespace up to the next
 * character. 0 if there is none. */
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

/* Decodes an escape. Returns its size, or 0 if it is unknown. */
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

/* Decodes one step: returns the bytes consumed (0: not allowed here) and the bytes produced. */
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
                           "control character (0x%02x) in a string", (unsigned char)*p->at);
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
        fix = "write four hexadecimal digits after `\\u` and eight after `\\U`";
    else if (kind == 'x')
        fix = "write `\\u00` and the two digits";
    vy_diag_sink_error(&p->report, VY_D008, vy_toml_position(p, p->at, p->at + size), fix, "`%.*s` is not an escape",
                       kind >= 0 && (vy_toml_is_control(kind) || kind >= 0x80) ? 1 : (int)size, p->at);
}

/* Whether the string ends here, and how many quotes before the end belong to its text: a multi-line string may end in
 * up to two quotes of its kind. */
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
        /* Skips the refused bytes, and an escaped character, so that `\` before a quote does not end the string. */
        p->at += size ? size : *p->at == '\\' && p->end - p->at > 1 && p->at[1] != '\n' && p->at[1] != '\r' ? 2 : 1;
    }
    vy_string_append(&p->scratch, p->at, own);
    p->at += own + (quotes & LINES ? 3 : 1);
    out->size = p->scratch.length;
    out->text =
        p->scratch.failed ? NULL : vy_arena_copy(&p->document->arena, out->size ? p->scratch.text : "", out->size);
    return out->text ? 1 : vy_toml_no_memory(p);
}

static int is_alphanumeric(char c) {
    return vy_toml_is_digit((unsigned char)c) || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* Whether the word T is at `at`, between `start` and `end`. */
static int is_placeholder(const char *start, const char *at, const char *end) {
    return *at == 'T' && (at == start || !is_alphanumeric(at[-1])) && (at + 1 == end || !is_alphanumeric(at[1]));
}

static int substitute_text(vy_arena *arena, vy_toml_string *string, const char *word) {
    const char *start = string->text, *end = start + string->size;
    vy_string made = {0};
    for (const char *at = start; at < end; at++)
        if (is_placeholder(start, at, end))
            vy_string_add(&made, word);
        else
            vy_string_char(&made, *at);
    string->original = start;
    string->original_size = string->size;
    string->word = strlen(word);
    string->text = made.failed ? NULL : vy_arena_copy(arena, made.length ? made.text : "", made.length);
    string->size = made.length;
    vy_string_free(&made);
    return string->text != NULL;
}

int vy_toml_substitute(vy_arena *arena, vy_toml_value *value, const char *word) {
    if (value->kind == VY_TOML_STRING)
        return substitute_text(arena, &value->string, word);
    if (value->kind == VY_TOML_ARRAY)
        for (vy_toml_value **link = &value->array.first; *link; link = &(*link)->next) {
            vy_toml_value *copy = vy_arena_allocate(arena, sizeof *copy);
            if (!copy)
                return 0;
            *copy = **link;
            *link = value->array.last = copy;
            if (!vy_toml_substitute(arena, copy, word))
                return 0;
        }
    if (value->kind == VY_TOML_TABLE) {
        value->table.slot_count = 0; /* the slots lead to the originals */
        for (vy_toml_entry **link = &value->table.first; *link; link = &(*link)->next) {
            vy_toml_entry *copy = vy_arena_allocate(arena, sizeof *copy);
            if (!copy)
                return 0;
            *copy = **link;
            *link = value->table.last = copy;
            if (!vy_toml_substitute(arena, &copy->value, word))
                return 0;
        }
    }
    return 1;
}

/* The offset before the substitution; within a replaced T that of the T. */
static size_t original_offset(const vy_toml_string *string, size_t offset) {
    const char *start = string->original, *end = start + string->original_size, *at = start;
    for (size_t made = 0; at < end; at++) {
        made += is_placeholder(start, at, end) ? string->word : 1;
        if (made > offset)
            break;
    }
    return (size_t)(at - start);
}

vy_position vy_toml_locate(const vy_toml *document, const vy_toml_value *string, size_t offset, size_t length) {
    const vy_toml_string *own = &string->string;
    size_t size, made = 0, done = 0, limit = own->original ? own->original_size : own->size;
    offset = own->original ? original_offset(own, offset) : offset;
    const char *text = vy_source_text(document->source, &size);
    const char *at = text + own->from;
    char bytes[4];
    /* Does not execute the step that produces byte `offset`; executes preceding steps that produce nothing. */
    for (size_t taken; at < text + size && done <= offset; at += taken, done += made) {
        taken = step(at, text + size, own->quotes, bytes, &made);
        if (taken == 0 || done + made > offset || done >= limit)
            break;
    }
    return vy_source_position(document->source, (size_t)(at - text), length);
}

/* ---- dates and times (RFC 3339 and its parts): fields at fixed positions, then their ranges ---- */

typedef struct cursor {
    const char *at, *end;
} cursor;

/* Exactly `count` digits. */
static int read_field(cursor *c, unsigned count, unsigned *out) {
    if (c->end - c->at < (ptrdiff_t)count)
        return 0;
    *out = 0;
    for (unsigned i = 0; i < count; i++, c->at++) {
        if (!vy_toml_is_digit((unsigned char)*c->at))
            return 0;
        *out = *out * 10 + (unsigned)(*c->at - '0');
    }
    return 1;
}

static int skip(cursor *c, char expected) {
    int is_there = c->at < c->end && *c->at == expected;
    c->at += is_there;
    return is_there;
}

static int read_date(cursor *c, unsigned fields[3]) {
    return read_field(c, 4, &fields[0]) && skip(c, '-') && read_field(c, 2, &fields[1]) && skip(c, '-') &&
           read_field(c, 2, &fields[2]);
}

/* Digits beyond nanoseconds are cut, not rounded. */
static int read_fraction(cursor *c, unsigned *nanosecond) {
    unsigned scale = 100000000;
    const char *start = c->at;
    for (; c->at < c->end && vy_toml_is_digit((unsigned char)*c->at); c->at++, scale /= 10)
        *nanosecond += (unsigned)(*c->at - '0') * scale;
    return c->at > start;
}

static int read_clock(cursor *c, unsigned fields[4]) {
    if (!read_field(c, 2, &fields[0]) || !skip(c, ':') || !read_field(c, 2, &fields[1]) || !skip(c, ':') ||
        !read_field(c, 2, &fields[2]))
        return 0;
    return skip(c, '.') ? read_fraction(c, &fields[3]) : 1;
}

/* Z or ±HH:MM; fields are hours, minutes and whether it is west. */
static int read_offset(cursor *c, unsigned fields[3]) {
    if (skip(c, 'Z') || skip(c, 'z'))
        return 1;
    fields[2] = skip(c, '-');
    return (fields[2] || skip(c, '+')) && read_field(c, 2, &fields[0]) && skip(c, ':') && read_field(c, 2, &fields[1]);
}

static unsigned days_in(unsigned year, unsigned month) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 && leap ? 29 : days[month - 1];
}

typedef struct range {
    const char *name;
    unsigned value, least, most;
} range;

static int report_range(vy_toml_parser *p, const char *text, const char *end, const range *ranges, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (ranges[i].value < ranges[i].least || ranges[i].value > ranges[i].most) {
            vy_diag_sink_error(&p->report, VY_D011, vy_toml_position(p, text, end),
                               VY_FIX("the %s goes from %u to %u", ranges[i].name, ranges[i].least, ranges[i].most),
                               "the %s (%u) is outside its range (%u to %u)", ranges[i].name, ranges[i].value,
                               ranges[i].least, ranges[i].most);
            return 1;
        }
    return 0;
}

/* Whether the text starts like a date or time. */
static int starts_time(const char *text, size_t size) {
    size_t digits = 0;
    while (digits < 5 && digits < size && vy_toml_is_digit((unsigned char)text[digits]))
        digits++;
    return digits < size && ((digits == 2 && text[digits] == ':') || (digits >= 4 && text[digits] == '-'));
}

/* A space may replace the T between date and time. */
static const char *extend_over_space(vy_toml_parser *p, const char *text, size_t size) {
    cursor c = {p->at, p->end};
    unsigned hour;
    if (size != 10 || !skip(&c, ' ') || !read_field(&c, 2, &hour) || !skip(&c, ':'))
        return text + size;
    for (p->at = c.at; p->at < p->end; p->at++)
        if (!vy_toml_is_digit((unsigned char)*p->at) && (*p->at == 0 || !strchr("+-.:Zz", *p->at)))
            break;
    return p->at;
}

static int read_time(vy_toml_parser *p, const char *text, size_t size, vy_toml_value *out) {
    unsigned date[3] = {0, 1, 1}, clock[4] = {0}, offset[3] = {0};
    int has_date = text[2] != ':', has_clock = !has_date, has_offset = 0;
    cursor c = {text, extend_over_space(p, text, size)};
    int fits = !has_date || read_date(&c, date);
    if (fits && has_date && c.at < c.end)
        fits = has_clock = skip(&c, 'T') || skip(&c, 't') || skip(&c, ' ');
    if (fits && has_clock)
        fits = read_clock(&c, clock);
    if (fits && has_date && has_clock && c.at < c.end)
        fits = has_offset = read_offset(&c, offset);
    if (!fits || c.at != c.end) {
        vy_diag_sink_error(&p->report, VY_D011, vy_toml_position(p, text, c.end), NULL, "`%.*s` is not a date or time",
                           c.end - text > 64 ? 64 : (int)(c.end - text), text);
        return 1;
    }
    const range ranges[] = {{"month", date[1], 1, 12},
                            {"day", date[2], 1, date[1] >= 1 && date[1] <= 12 ? days_in(date[0], date[1]) : 31},
                            {"hour", clock[0], 0, 23},
                            {"minute", clock[1], 0, 59},
                            {"second", clock[2], 0, 60}, /* 60 is a leap second */
                            {"hour of the offset", offset[0], 0, 23},
                            {"minute of the offset", offset[1], 0, 59}};
    if (report_range(p, text, c.end, ranges, sizeof ranges / sizeof *ranges))
        return 1;
    int minutes = (int)(offset[0] * 60 + offset[1]);
    out->kind = !has_date    ? VY_TOML_LOCAL_TIME
                : has_offset ? VY_TOML_OFFSET_DATE_TIME
                : has_clock  ? VY_TOML_LOCAL_DATE_TIME
                             : VY_TOML_LOCAL_DATE;
    out->time = (vy_toml_time){.hour = (uint8_t)clock[0],
                               .minute = (uint8_t)clock[1],
                               .second = (uint8_t)clock[2],
                               .nanosecond = clock[3],
                               .offset = (int16_t)(offset[2] ? -minutes : minutes)};
    if (has_date) {
        out->time.year = (uint16_t)date[0];
        out->time.month = (uint8_t)date[1];
        out->time.day = (uint8_t)date[2];
    }
    return 1;
}

/* Booleans and numbers. A scalar is the longest run of characters that occur in booleans, numbers and dates, so that an
 * error shows the complete word. */

static int is_scalar(int c) {
    return vy_toml_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '+' ||
           c == '-' || c == '.' || c == ':';
}

static int is_word(const char *text, size_t size, const char *word) {
    return size == strlen(word) && memcmp(text, word, size) == 0;
}

static int digit_of(int c, unsigned base) {
    int value = vy_toml_is_digit(c)    ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 99;
    return value < (int)base ? value : -1;
}

/* Returns the size of a run of digits with single underscores between them; 0 if it does not start with a digit. */
static size_t span_digits(const char *at, const char *end, unsigned base) {
    const char *start = at;
    while (at < end && digit_of(*at, base) >= 0) {
        at++;
        if (end - at > 1 && *at == '_' && digit_of(at[1], base) >= 0)
            at++;
    }
    return (size_t)(at - start);
}

static int fail_number(vy_toml_parser *p, vy_diag_code code, const char *text, size_t size, const char *fix,
                       const char *what) {
    vy_diag_sink_error(&p->report, code, vy_toml_position(p, text, text + size), fix, "`%.*s` %s",
                       size > 64 ? 64 : (int)size, text, what);
    return 1;
}

/* Converts digits that were checked; only overflow is possible. The range of negative numbers is larger by one. */
static int read_digits(vy_toml_parser *p, const char *text, size_t size, const char *digits, unsigned base,
                       vy_toml_value *out) {
    int negative = *text == '-';
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + (uint64_t)negative;
    for (const char *at = digits; at < text + size; at++) {
        if (*at == '_')
            continue;
        uint64_t digit = (uint64_t)digit_of(*at, base);
        if (value > (limit - digit) / base)
            return fail_number(p, VY_D010, text, size, NULL, "does not fit a 64-bit integer");
        value = value * base + digit;
    }
    out->kind = VY_TOML_INTEGER;
    out->integer = negative ? (int64_t)(0 - value) : (int64_t)value;
    return 1;
}

/* Returns the base of 0x, 0o and 0b, which allow no sign and no capital letter; 0 for other texts. */
static unsigned prefix_base(const char *text, size_t size) {
    if (size < 3 || text[0] != '0')
        return 0;
    return text[1] == 'x' ? 16 : text[1] == 'o' ? 8 : text[1] == 'b' ? 2 : 0;
}

static int is_integer(const char *at, const char *end) {
    return end > at && (*at != '0' || end - at == 1) && at + span_digits(at, end, 10) == end;
}

/* An integer part without leading zeros, then a fraction, an exponent, or both. */
static int is_float(const char *at, const char *end) {
    size_t whole = span_digits(at, end, 10);
    if (whole == 0 || (whole > 1 && *at == '0'))
        return 0;
    at += whole;
    if (at < end && *at == '.') {
        size_t fraction = span_digits(++at, end, 10);
        if (fraction == 0)
            return 0;
        at += fraction;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        size_t exponent = span_digits(at, end, 10);
        if (exponent == 0)
            return 0;
        at += exponent;
    }
    return at == end;
}

static double from_bits(uint64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static int read_float(vy_toml_parser *p, const char *digits, const char *end, int negative, vy_toml_value *out) {
    uint64_t bits = UINT64_C(0x7ff) << 52;
    if (*digits == 'n') {
        bits |= UINT64_C(1) << 51;
    } else if (*digits != 'i') {
        p->scratch.length = 0;
        for (; digits < end; digits++)
            if (*digits != '_')
                vy_string_char(&p->scratch, *digits);
        if (p->scratch.failed)
            return vy_toml_no_memory(p);
        vy_number_to_bits(p->scratch.text, p->scratch.length, 11, 52, &bits);
    }
    out->kind = VY_TOML_FLOAT;
    out->number = from_bits(bits | (uint64_t)negative << 63);
    return 1;
}

/* A suggestion for a word that is not a value. */
static const char *word_fix(const char *text, size_t size, char *buffer, size_t room) {
    static const char *const words[] = {"true", "false", "inf", "nan"};
    vy_suggestion near;
    vy_suggestion_start(&near, text, size);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        vy_suggestion_offer(&near, words[i]);
    const char *best = vy_suggestion_get(&near);
    if (best)
        return vy_fix_format(buffer, room, "write `%s`, in small letters", best);
    return vy_fix_format(buffer, room, "put quotes around it: \"%.*s\"", size > 64 ? 64 : (int)size, text);
}

static int fail_scalar(vy_toml_parser *p, const char *text, size_t size) {
    char fix[128];
    const char *digits = text + (*text == '+' || *text == '-');
    if (digits < text + size && (vy_toml_is_digit(*digits) || *digits == '.'))
        return fail_number(p, VY_D009, text, size, NULL, "is not a number");
    return fail_number(p, VY_D012, text, size, word_fix(text, size, fix, sizeof fix), "is not a value");
}

int vy_toml_read_scalar(vy_toml_parser *p, vy_toml_value *out) {
    const char *text = p->at;
    while (is_scalar(vy_toml_peek(p, 0)))
        p->at++;
    size_t size = (size_t)(p->at - text);
    if (starts_time(text, (size_t)(p->end - text)))
        return read_time(p, text, size, out);
    if (size == 0) {
        vy_diag_sink_error(&p->report, VY_D005, vy_toml_position(p, text, text + (text < p->end)), NULL,
                           "a value is missing");
        return 0;
    }
    const char *end = p->at, *digits = text + (*text == '+' || *text == '-');
    size_t left = (size_t)(end - digits);
    unsigned base = prefix_base(text, size);
    if (is_word(text, size, "true") || is_word(text, size, "false")) {
        out->kind = VY_TOML_BOOLEAN;
        out->boolean = *text == 't';
        return 1;
    }
    if (base && span_digits(text + 2, end, base) == size - 2)
        return read_digits(p, text, size, text + 2, base, out);
    if (is_integer(digits, end))
        return read_digits(p, text, size, digits, 10, out);
    if (is_word(digits, left, "inf") || is_word(digits, left, "nan") || is_float(digits, end))
        return read_float(p, digits, end, *text == '-', out);
    return fail_scalar(p, text, size);
}
