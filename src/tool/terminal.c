/* Terminal output (terminal.h). Colours are SGR sequences (ECMA-48), which terminals support or ignore. */
#include "tool/terminal.h"

#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RED "\033[1;31m"
#define GREEN "\033[1;32m"
#define YELLOW "\033[1;33m"
#define CYAN "\033[1;36m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

static tool_color choice;

int tool_color_set(const char *when) {
    static const char *const words[] = {"auto", "always", "never"};

    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], when) == 0) {
            choice = (tool_color)i;
            return 1;
        }
    return 0;
}

int tool_can_erase(FILE *stream) {
    const char *term = getenv("TERM");

    return isatty(fileno(stream)) && term && *term && strcmp(term, "dumb") != 0;
}

/* NO_COLOR: https://no-color.org. An empty value is ignored. */
int tool_has_color(FILE *stream) {
    const char *refused = getenv("NO_COLOR");

    if (choice != TOOL_COLOR_AUTO)
        return choice == TOOL_COLOR_ALWAYS;
    return !(refused && *refused) && tool_can_erase(stream);
}

const vy_render_style *tool_render_style(FILE *stream) {
    static const vy_render_style style = {BOLD, {RED, YELLOW, CYAN}, GREEN, PLAIN};

    return tool_has_color(stream) ? &style : NULL;
}

/* ---- lines ---- */

static const struct {
    const char *word, *color;
} openings[] = {
    {"Fix:", GREEN},          {"note:", CYAN},          {"warning:", YELLOW}, {"problem:", RED},
    {"verdict: broken", RED}, {"verdict: fine", GREEN}, {"chosen:", GREEN},
};

/* The length of `vyre:` or `vyre run:` at the start of an error; 0 if the line starts otherwise. */
static size_t command_length(const char *line, size_t length) {
    size_t end = 4;

    if (length < 5 || memcmp(line, "vyre", 4) != 0)
        return 0;
    if (line[end] == ' ')
        for (end++; end < length && line[end] >= 'a' && line[end] <= 'z'; end++)
            ;
    return end < length && line[end] == ':' ? end + 1 : 0;
}

/* The length of the opening to colour, after the indentation, and its colour. */
static size_t find_opening(const char *line, size_t length, int is_indented, const char **color) {
    size_t end = 0;

    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++) {
        end = strlen(openings[i].word);
        *color = openings[i].color;
        if (length >= end && memcmp(line, openings[i].word, end) == 0)
            return end;
    }
    if (is_indented)
        return 0;
    *color = RED;
    end = command_length(line, length);
    if (end)
        return end;
    *color = BOLD;
    while (end < length && line[end] != ' ' && line[end] != ':')
        end++;
    return end;
}

static void write_line(FILE *stream, const char *line, size_t length) {
    size_t indent = 0, opening;
    const char *color;

    while (indent < length && line[indent] == ' ')
        indent++;
    opening = find_opening(line + indent, length - indent, indent > 0, &color);
    if (opening)
        fprintf(stream, "%*s%s%.*s%s", (int)indent, "", color, (int)opening, line + indent, PLAIN);
    else
        indent = 0;
    fwrite(line + indent + opening, 1, length - indent - opening, stream);
}

void tool_write_lines(FILE *stream, const char *text, size_t length) {
    if (!tool_has_color(stream)) {
        fwrite(text, 1, length, stream);
        return;
    }
    while (length > 0) {
        const char *end = memchr(text, '\n', length);
        size_t size = end ? (size_t)(end - text) : length;
        write_line(stream, text, size);
        if (end)
            fputc('\n', stream);
        size += end != NULL;
        text += size;
        length -= size;
    }
}

void tool_write(FILE *stream, const char *format, ...) {
    vy_string text = {0};
    va_list arguments, again;

    va_start(arguments, format);
    va_copy(again, arguments);
    vy_string_format_list(&text, format, arguments);
    if (text.failed) /* out of memory, possibly while an out-of-memory error is reported */
        vfprintf(stream, format, again);
    else if (text.length)
        tool_write_lines(stream, text.text, text.length);
    va_end(again);
    va_end(arguments);
    vy_string_free(&text);
}

/* ---- progress ---- */

/* The progress thread: redraws the line four times a second. */
static void *show_progress(void *user) {
    tool_progress *progress = user;
    uint64_t start = vy_clock_now(), wake = start + 1000000000u;
    int shown = 0;

    pthread_mutex_lock(&progress->mutex);
    while (!progress->stop) {
        struct timespec until = vy_clock_timespec(wake);
        if (pthread_cond_timedwait(&progress->changed, &progress->mutex, &until) == 0)
            continue;
        wake += 250000000;
        unsigned long long seconds = (wake - start) / 1000000000u;
        shown = 1;
        if (progress->total)
            fprintf(stderr, "\r%s: %llu of %llu, %llu s ", progress->what, atomic_load(&progress->done),
                    progress->total, seconds);
        else
            fprintf(stderr, "\r%s: %llu s ", progress->what, seconds);
        fflush(stderr);
    }
    pthread_mutex_unlock(&progress->mutex);
    if (shown)
        fprintf(stderr, "\r\033[K");
    return NULL;
}

void tool_progress_start(tool_progress *progress, const char *what, unsigned long long total) {
    progress->what = what;
    progress->total = total;
    progress->running = progress->stop = 0;
    atomic_init(&progress->done, 0);
    if (!tool_can_erase(stderr))
        return;
    pthread_mutex_init(&progress->mutex, NULL);
    vy_cond_init_monotonic(&progress->changed);
    progress->running = vy_thread_start(&progress->thread, show_progress, progress);
}

void tool_progress_step(tool_progress *progress, unsigned long long done) {
    atomic_store(&progress->done, done);
}

void tool_progress_stop(tool_progress *progress) {
    if (!progress->running)
        return;
    pthread_mutex_lock(&progress->mutex);
    progress->stop = 1;
    pthread_cond_signal(&progress->changed);
    pthread_mutex_unlock(&progress->mutex);
    pthread_join(progress->thread, NULL);
    pthread_cond_destroy(&progress->changed);
    pthread_mutex_destroy(&progress->mutex);
    progress->running = 0;
}
