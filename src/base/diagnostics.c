/* The list of findings. Strings live in an arena; equal file names and source lines are kept once. */
#include "base/diagnostics.h"

#include <stdarg.h>
#include <stdio.h>

#define ERRORS_KEPT 100u
#define FINDINGS_KEPT 1000u /* warnings and notes too */

struct vyre_diagnostics {
    vy_arena arena;
    VY_VECTOR(vyre_diagnostic) findings;
    size_t errors; /* all of them */
    size_t errors_kept;
    size_t over;             /* errors and warnings beyond what is kept */
    size_t lost;             /* for lack of memory */
    int skip_notes;          /* the finding that notes would belong to was not kept */
    vyre_diagnostic ends[2]; /* what says that some are missing */
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

/* An earlier finding on the same line of the same file, whose copies of name and line this one shares. */
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

/* Counts the finding and says whether there is room for it. */
static int count_and_check_capacity(vyre_diagnostics *list, vyre_severity severity) {
    if (severity == VYRE_SEVERITY_NOTE)
        return !list->skip_notes && list->findings.count < FINDINGS_KEPT;
    if (severity == VYRE_SEVERITY_ERROR)
        list->errors++;
    int fits = list->findings.count < FINDINGS_KEPT;
    if (severity == VYRE_SEVERITY_ERROR)
        fits = list->errors_kept < ERRORS_KEPT; /* warnings never push out an error: the vector grows for these */
    list->skip_notes = !fits;
    list->over += !fits;
    return fits;
}

/* The closing notes, in storage of the list itself, because memory may be what is missing. */
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
    fix = fix && *fix ? fix : "correct the program at this place";
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
