/* Diagnostics: source texts, the list of diagnostics, its rendering as text and JSON, and the log sink. */
#include "base/diagnostics.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

/* ---- source text ----
 *
 * One block of memory holds the table of line starts, the name and the text. */

struct vy_source {
    atomic_uint references;
    uint32_t line_count;
    size_t block_size, size;
    char *name, *text;
    uint32_t starts[]; /* of each line, and the end of the text */
};

static uint32_t count_lines(const char *text, size_t size) {
    uint32_t lines = 0;
    const char *end = text + size;
    for (const char *at = text; at < end; lines++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return lines;
}

static void fill_starts(vy_source *source) {
    const char *end = source->text + source->size, *at = source->text;
    for (uint32_t line = 0; line < source->line_count; line++) {
        source->starts[line] = (uint32_t)(at - source->text);
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    source->starts[source->line_count] = (uint32_t)source->size;
}

vy_source *vy_source_new(const char *name, const char *text, size_t size) {
    if (size > UINT32_MAX - 1)
        return NULL;
    name = name ? name : "";
    uint32_t lines = size ? count_lines(text, size) : 0;
    size_t name_size = strlen(name) + 1, starts = ((size_t)lines + 1) * sizeof(uint32_t);
    size_t block_size = sizeof(vy_source) + starts + name_size + size + 1;
    vy_source *source = vy_allocate(block_size);
    if (!source)
        return NULL;
    *source = (vy_source){.references = 1, .line_count = lines, .block_size = block_size, .size = size};
    source->name = (char *)source->starts + starts;
    source->text = source->name + name_size;
    memcpy(source->name, name, name_size);
    if (size)
        memcpy(source->text, text, size);
    source->text[size] = 0;
    fill_starts(source);
    return source;
}

vy_source *vy_source_retain(vy_source *source) {
    if (source)
        atomic_fetch_add_explicit(&source->references, 1, memory_order_relaxed);
    return source;
}

void vy_source_release(vy_source *source) {
    if (source && atomic_fetch_sub_explicit(&source->references, 1, memory_order_acq_rel) == 1)
        vy_release(source, source->block_size);
}

const char *vy_source_name(const vy_source *source) {
    return source ? source->name : "";
}

const char *vy_source_text(const vy_source *source, size_t *size) {
    *size = source ? source->size : 0;
    return source ? source->text : "";
}

const char *vy_source_line(const vy_source *source, uint32_t line, size_t *length) {
    *length = 0;
    if (!source || line == 0 || line > source->line_count)
        return NULL;
    const char *start = source->text + source->starts[line - 1], *end = source->text + source->starts[line];
    if (end > start && end[-1] == '\n') {
        end--;
        if (end > start && end[-1] == '\r')
            end--;
    }
    *length = (size_t)(end - start);
    return start;
}

vy_position vy_source_position(const vy_source *source, size_t offset, size_t length) {
    vy_position position = {1, 1, length > UINT32_MAX ? UINT32_MAX : (uint32_t)length};
    if (!source || source->line_count == 0)
        return position;
    if (offset > source->size)
        offset = source->size;
    uint32_t low = 0, high = source->line_count; /* starts[low] <= offset; the result is below high */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (source->starts[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    /* After a final newline, the end of the text is the start of an empty line. */
    if (offset == source->size && offset > 0 && source->text[offset - 1] == '\n') {
        position.line = source->line_count + 1;
        return position;
    }
    position.line = low + 1;
    position.column = (uint32_t)(offset - source->starts[low]) + 1;
    return position;
}

/* ---- list of diagnostics ----
 *
 * Strings are in an arena; equal file names and source lines are stored once. */

#define ERRORS_KEPT 100u
#define FINDINGS_KEPT 1000u /* warnings and notes too */

struct vyre_diagnostics {
    vy_arena arena;
    VY_VECTOR(vyre_diagnostic) findings;
    size_t errors; /* all of them */
    size_t errors_kept;
    size_t over;             /* errors and warnings that exceed the limits */
    size_t lost;             /* out of memory */
    int skip_notes;          /* the diagnostic that the next notes belong to was not stored */
    vyre_diagnostic ends[2]; /* closing notes that count the missing diagnostics */
    char texts[2][96];
    unsigned end_count;
};

vyre_diagnostics *vyre_diagnostics_new(void) {
    return vy_allocate_zero(sizeof(vyre_diagnostics));
}

static void release_contents(vyre_diagnostics *list) {
    VY_VECTOR_FREE(&list->findings);
    vy_arena_free(&list->arena);
}

void vyre_diagnostics_free(vyre_diagnostics *list) {
    if (!list)
        return;
    release_contents(list);
    vy_release(list, sizeof *list);
}

void vyre_diagnostics_clear(vyre_diagnostics *list) {
    if (!list)
        return;
    release_contents(list);
    *list = (vyre_diagnostics){0};
}

/* An earlier diagnostic on the same line of the same file; a new one shares its copies of the name and the line. */
static const vyre_diagnostic *find_shared(const vyre_diagnostics *list, const char *file, uint32_t line) {
    for (uint32_t i = list->findings.count; i-- > 0;) {
        const vyre_diagnostic *finding = &list->findings.items[i];
        if (finding->line == line && strcmp(finding->file, file) == 0)
            return finding;
    }
    return NULL;
}

static int fill_location(vyre_diagnostics *list, vyre_diagnostic *finding, const vy_source *source, vy_position at) {
    const char *file = vy_source_name(source);
    size_t length;
    const char *text = vy_source_line(source, at.line, &length);
    finding->line = at.line;
    finding->column = at.line ? at.column : 0;
    finding->length = at.line ? at.length : 0;
    const vyre_diagnostic *shared = find_shared(list, file, at.line);
    if (shared && (!text || (shared->source_line && strlen(shared->source_line) == strnlen(text, length) &&
                             memcmp(shared->source_line, text, strnlen(text, length)) == 0))) {
        finding->file = shared->file;
        finding->source_line = text ? shared->source_line : NULL;
        return 1;
    }
    finding->file = vy_arena_copy(&list->arena, file, strlen(file));
    finding->source_line = text ? vy_arena_copy(&list->arena, text, length) : NULL;
    return finding->file && (finding->source_line || !text);
}

static char *copy_formatted(vy_arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        return vy_arena_copy(arena, format, strlen(format));
    char *text = vy_arena_allocate(arena, (size_t)length + 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

/* Counts the diagnostic and returns whether it fits. */
static int count_and_check_capacity(vyre_diagnostics *list, vyre_severity severity) {
    if (severity == VYRE_SEVERITY_NOTE)
        return !list->skip_notes && list->findings.count < FINDINGS_KEPT;
    if (severity == VYRE_SEVERITY_ERROR)
        list->errors++;
    int fits = list->findings.count < FINDINGS_KEPT;
    if (severity == VYRE_SEVERITY_ERROR)
        fits = list->errors_kept < ERRORS_KEPT; /* warnings never displace an error: the vector grows for errors */
    list->skip_notes = !fits;
    list->over += !fits;
    return fits;
}

/* Writes the closing notes into the list itself, because memory may have run out. */
static void update_ends(vyre_diagnostics *list) {
    list->end_count = 0;
    const struct {
        size_t count;
        const char *one, *many, *fix;
    } rows[] = {
        {list->over, "more finding is not shown", "more findings are not shown",
         "correct the first ones and check again"},
        {list->lost, "finding is lost because memory ran out", "findings are lost because memory ran out",
         "free host memory and check again"},
    };
    for (size_t i = 0; i < 2; i++) {
        if (rows[i].count == 0)
            continue;
        char *text = list->texts[list->end_count];
        snprintf(text, sizeof list->texts[0], "%zu %s", rows[i].count, rows[i].count == 1 ? rows[i].one : rows[i].many);
        list->ends[list->end_count++] = (vyre_diagnostic){
            .code = "", .severity = VYRE_SEVERITY_NOTE, .message = text, .fix = rows[i].fix, .file = ""};
    }
}

void vy_diagnostic_add(vyre_diagnostics *list, const vy_source *source, const char *code, vyre_severity severity,
                       vy_position at, const char *fix, const char *format, ...) {
    if (!list)
        return;
    if (!count_and_check_capacity(list, severity)) {
        update_ends(list);
        return;
    }
    vyre_diagnostic finding = {.severity = severity};
    va_list arguments;
    va_start(arguments, format);
    finding.message = copy_formatted(&list->arena, format, arguments);
    va_end(arguments);
    fix = fix && *fix ? fix : "correct the program at this position";
    code = code ? code : "";
    finding.fix = vy_arena_copy(&list->arena, fix, strlen(fix));
    finding.code = vy_arena_copy(&list->arena, code, strlen(code));
    int complete = finding.message && finding.fix && finding.code && fill_location(list, &finding, source, at);
    vyre_diagnostic *slot = complete ? VY_PUSH(&list->findings) : NULL;
    if (!slot) {
        list->lost++;
        list->skip_notes = severity != VYRE_SEVERITY_NOTE || list->skip_notes;
        update_ends(list);
        return;
    }
    *slot = finding;
    if (severity == VYRE_SEVERITY_ERROR)
        list->errors_kept++;
}

size_t vyre_diagnostics_count(const vyre_diagnostics *list) {
    return list ? list->findings.count + list->end_count : 0;
}

size_t vyre_diagnostics_errors(const vyre_diagnostics *list) {
    return list ? list->errors : 0;
}

const vyre_diagnostic *vyre_diagnostics_get(const vyre_diagnostics *list, size_t index) {
    if (!list || index >= vyre_diagnostics_count(list))
        return NULL;
    size_t kept = list->findings.count;
    return index < kept ? &list->findings.items[index] : &list->ends[index - kept];
}

vyre_status vy_diagnostics_fail(const vyre_diagnostics *list, vyre_status status, const char *otherwise,
                                vyre_error *error) {
    const vyre_diagnostic *first = NULL;
    for (size_t i = 0; list && i < list->findings.count && !first; i++) {
        if (list->findings.items[i].severity == VYRE_SEVERITY_ERROR)
            first = &list->findings.items[i];
    }
    if (!first)
        return vy_fail(error, status, NULL, "%s", otherwise);
    size_t more = list->errors - 1;
    char tail[48] = "";
    if (more)
        snprintf(tail, sizeof tail, " (and %zu more error%s)", more, more == 1 ? "" : "s");
    vy_fail(error, status, first->fix, "%s%s%s%s", first->code, *first->code ? " " : "", first->message, tail);
    vy_fail_parts_at(error, first->code, first->file, first->line, first->column);
    if (first->line)
        vy_fail_where(error, "%s:%u:%u", *first->file ? first->file : "line", first->line, first->column);
    else
        vy_fail_where(error, "%s", first->file);
    return status;
}

/* ---- rendering ----
 *
 * Source text is untrusted: tabs become spaces, control characters and invalid UTF-8 become U+FFFD, so the caret is
 * aligned and no program text reaches the terminal as a command. Of a long line only the part around the caret is
 * decoded and shown. */

#define TAB 4u
#define SHOWN_BEFORE 60u /* columns to the left of the caret in a truncated line */
#define SHOWN 110u
/* Bytes of a line that are decoded, before the caret and in total: enough for the columns above in any script. */
#define DECODED_BEFORE 512u
#define DECODED 2048u
#define JSON_LINE 4096u /* bytes; a longer source line is omitted from JSON */

static const vy_render_style plain = {"", {"", "", ""}, "", ""};

static const char *severity_name(vyre_severity severity) {
    static const char *const names[] = {"error", "warning", "note"};
    return (unsigned)severity < 3 ? names[severity] : "error";
}

static const char *severity_style(vyre_severity severity, const vy_render_style *style) {
    return style->severity[(unsigned)severity < 3 ? severity : VYRE_SEVERITY_ERROR];
}

/* One rendered character: its bytes in the text and its columns on the screen. */
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
        (point >= 0x2066 && point <= 0x2069)) /* the last two ranges reorder the text (bidi controls) */
        return (glyph){bytes ? bytes : 1, 1, "\xef\xbf\xbd"};
    return (glyph){bytes, vy_utf8_columns(point), NULL};
}

static void repeat(vy_string *out, char c, unsigned count) {
    while (count--)
        vy_string_char(out, c);
}

/* The caret on the screen: columns before it, and its width. */
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

/* Appends the columns [first, last) of the line; a character that is only partly inside becomes spaces. */
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

/* The start of the character that contains byte `at`. */
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

/* Appends a message or fix, which may quote untrusted program text. */
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

/* The log sink (diagnostics.h). */
/* Sink and user change together, so they are read under a lock; lines are rare. The sink runs outside the lock: it may
 * log or set another sink. */
static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static vyre_log_sink *sink;
static void *sink_user;
static _Atomic int has_sink; /* without a sink, vy_log does not lock */

static void before_fork(void) {
    pthread_mutex_lock(&sink_lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&sink_lock);
}

/* If the handlers cannot be registered, a child of a multithreaded process might inherit a locked mutex; nothing else
 * depends on them. */
static void watch_fork(void) {
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

void vyre_log_set_sink(vyre_log_sink *given, void *user) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_fork);
    pthread_mutex_lock(&sink_lock);
    atomic_store(&has_sink, given != NULL);
    sink = given;
    sink_user = user;
    pthread_mutex_unlock(&sink_lock);
}

int vy_log_is_on(void) {
    return atomic_load_explicit(&has_sink, memory_order_relaxed);
}

void vy_log(int level, const char *source, const char *message) {
    if (!vy_log_is_on())
        return;
    pthread_mutex_lock(&sink_lock);
    vyre_log_sink *to = sink;
    void *user = sink_user;
    pthread_mutex_unlock(&sink_lock);
    if (to)
        to(user, level, source ? source : "", message ? message : "");
}
