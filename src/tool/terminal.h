/* Terminal output: colours and the progress line.
 *
 * Output to a pipe or file, and JSON, is coloured only with `--color=always`. */
#ifndef TOOL_TERMINAL_H
#define TOOL_TERMINAL_H

#include "base/diagnostics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

typedef enum tool_color {
    TOOL_COLOR_AUTO, /* on a terminal, unless NO_COLOR is set or TERM is `dumb` */
    TOOL_COLOR_ALWAYS,
    TOOL_COLOR_NEVER
} tool_color;

/* Applies --color: `auto`, `always` or `never`; returns 0 for any other word. Process-wide. */
int tool_color_set(const char *when);
/* Whether to colour output to the stream. */
int tool_has_color(FILE *stream);
/* Whether a line on the stream can be erased: a terminal whose TERM is not `dumb`. */
int tool_can_erase(FILE *stream);

/* The style for vy_diagnostics_render_styled; NULL for plain text. */
const vy_render_style *tool_render_style(FILE *stream);

/* Writes lines. With colour, an opening word (`Fix:`, `note:`, `vyre run:`) has its colour, and the first word of any
 * other line that is not indented is bold. */
void tool_write_lines(FILE *stream, const char *text, size_t length);
/* The same for formatted text. */
void tool_write(FILE *stream, const char *format, ...) VY_PRINTF(2, 3);

/* A progress line on standard error with the elapsed time. It appears after one second, and only on a terminal. */
typedef struct tool_progress {
    const char *what;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    atomic_ullong done; /* shown next to the time if total is not 0 */
    unsigned long long total;
    int running, stop;
} tool_progress;

/* Starts the clock. `what` is borrowed until stop. Does nothing if standard error is not a terminal. */
void tool_progress_start(tool_progress *progress, const char *what, unsigned long long total);
void tool_progress_step(tool_progress *progress, unsigned long long done);
/* Stops the clock and erases the line. */
void tool_progress_stop(tool_progress *progress);

#endif
