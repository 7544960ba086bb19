/* Terminals: whether a stream is one that shows colour, and the colours of what the command prints.
 *
 * Colour is for people only: text in a pipe or file, and JSON anywhere, never has it unless `--color=always` demands it. */
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

/* --color: `auto`, `always` or `never`. Returns 0 for any other word. For the rest of the process. */
int tool_color_set(const char *when);
/* Whether to colour what is written to the stream. */
int tool_has_color(FILE *stream);
/* Whether a line can be written to the stream and erased again: a terminal whose TERM is not `dumb`. */
int tool_can_erase(FILE *stream);

/* For vy_diagnostics_render_styled; NULL: plain. */
const vy_render_style *tool_render_style(FILE *stream);

/* Writes lines. With colour, words that open a line (`Fix:`, `note:`, `vyre run:`) have theirs, and the first word of any other line
 * that is not indented is bold. */
void tool_write_lines(FILE *stream, const char *text, size_t length);
/* The same for a few, formatted. */
void tool_write(FILE *stream, const char *format, ...) VY_PRINTF(2, 3);

/* A line on standard error that says how long something has been going on. It appears only after a second and only on a terminal. */
typedef struct tool_progress {
    const char *what;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    atomic_ullong done; /* shown beside the time if total is not 0 */
    unsigned long long total;
    int running, stop;
} tool_progress;

/* Starts the clock; `what` is borrowed until stop. Does nothing where nobody would see it. */
void tool_progress_start(tool_progress *progress, const char *what, unsigned long long total);
void tool_progress_step(tool_progress *progress, unsigned long long done);
/* Stops and wipes the line. */
void tool_progress_stop(tool_progress *progress);

#endif
