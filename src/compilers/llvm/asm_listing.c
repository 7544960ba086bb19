/* A filter of lines (asm_listing.h). LLVM's printer writes one directive, label or instruction a line. */
#include "compilers/llvm/asm_listing.h"

#include "base/status.h"
#include "base/string.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#if defined(__aarch64__)
#define COMMENT "//"
#else
#define COMMENT "#"
#endif

typedef struct lister {
    const vy_source *source;
    uint32_t line; /* shown last */
    int skips;     /* in a section for debuggers */
    vy_string out;
} lister;

static int starts(const char *text, size_t size, const char *with) {
    size_t length = strlen(with);
    return size >= length && memcmp(text, with, length) == 0;
}

/* "\t.loc\t1 12 3 …": the source's line, without its indentation. Line 0 is nobody's: the code of several lines, or of none. */
static void show_place(lister *l, const char *text, size_t size) {
    char words[64];
    unsigned file;
    uint32_t line;
    size_t length;
    snprintf(words, sizeof words, "%.*s", (int)(size < sizeof words ? size : sizeof words - 1), text);
    if (sscanf(words, " .loc %u %" SCNu32, &file, &line) != 2 || !line || line == l->line)
        return;
    const char *source = vy_source_line(l->source, line, &length);
    l->line = line;
    while (length && (*source == ' ' || *source == '\t')) {
        source++;
        length--;
    }
    vy_string_format(&l->out, COMMENT " %s:%" PRIu32 "%s%.*s\n", vy_source_name(l->source), line, length ? "  " : "",
                     (int)length, source ? source : "");
}

/* Directives that only speak to debuggers, and labels that only those mention. */
static int is_for_debuggers(const char *text, size_t size) {
    static const char *const starts_of[] = {"\t.file\t", "\t.cfi_", ".Ltmp"};
    for (size_t i = 0; i < sizeof starts_of / sizeof *starts_of; i++)
        if (starts(text, size, starts_of[i]))
            return 1;
    return 0;
}

static void append_line(lister *l, const char *text, size_t size) {
    if (starts(text, size, "\t.section\t"))
        l->skips = starts(text, size, "\t.section\t.debug_");
    else if (starts(text, size, "\t.text"))
        l->skips = 0;
    if (l->skips || is_for_debuggers(text, size))
        return;
    if (starts(text, size, "\t.loc\t"))
        show_place(l, text, size);
    else
        vy_string_format(&l->out, "%.*s\n", (int)size, text);
}

vyre_status vy_llvm_listing(const char *text, size_t size, const vy_source *source, vyre_bytes *out,
                            vyre_error *error) {
    lister l = {.source = source};
    for (const char *end = text + size; text < end;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline ? newline : end) - text);
        append_line(&l, text, length);
        text += length + 1;
    }
    vyre_status status =
        l.out.failed ? vy_fail_memory(error, "an assembly listing") : vyre_bytes_resize(out, l.out.length, error);
    if (status == VYRE_OK && l.out.length)
        memcpy(out->data, l.out.text, l.out.length);
    vy_string_free(&l.out);
    return status;
}
