/* Diagnostics, and the source text they point into. vyre/diagnostic.h declares the public list. */
#ifndef VY_BASE_DIAGNOSTICS_H
#define VY_BASE_DIAGNOSTICS_H

#include "base/memory.h"
#include "base/status.h"
#include "base/string.h"
#include "vyre/diagnostic.h"
#include "vyre/telemetry.h"

/* ---- source text ---- */

/* A range in a source. Lines and columns count from 1, columns in bytes; length is in bytes. All zero: no position. */
typedef struct vy_position {
    uint32_t line, column, length;
} vy_position;

/* A named copy of a text with a table of its lines. Reference-counted and immutable, so any thread may read it. */
typedef struct vy_source vy_source;

/* Copies name and text (any bytes, also NULs; at most 2^32 - 2). NULL if the text is larger or memory runs out. */
vy_source *vy_source_new(const char *name, const char *text, size_t size);
/* Returns its argument. Both functions ignore NULL. */
vy_source *vy_source_retain(vy_source *source);
void vy_source_release(vy_source *source);

/* "" for a NULL source. The text is NUL-terminated, and may contain NULs. */
const char *vy_source_name(const vy_source *source);
const char *vy_source_text(const vy_source *source, size_t *size);

/* The text of a line without its end ("\n" or "\r\n"), not NUL-terminated; NULL with length 0 if the line does not
 * exist. Constant time. A last line without a newline counts; the empty text after a last newline does not. */
const char *vy_source_line(const vy_source *source, uint32_t line, size_t *length);
/* The line and column of a byte offset, clamped to the end of the text, in O(log lines). */
vy_position vy_source_position(const vy_source *source, size_t offset, size_t length);

/* ---- list of diagnostics ---- */

/* Adds one diagnostic. Never fails: without memory, or beyond the limits of the list, the diagnostic is only counted.
 * list and source may be NULL. Every string is copied, and so is the source line at `at`. fix NULL or "" becomes a
 * general one.
 *
 *   vy_diagnostic_add(list, source, "V012", VYRE_SEVERITY_ERROR, at, VY_FIX("declare `%s` first", name),
 *                     "`%s` is not declared", name); */
void vy_diagnostic_add(vyre_diagnostics *list, const vy_source *source, const char *code, vyre_severity severity,
                       vy_position at, const char *fix, const char *format, ...) VY_PRINTF(7, 8);

/* Fills `error` from the first error of the list: message, fix, "file:line:column" and the number of further errors.
 * Returns `status`. Without an error in the list (list NULL, or out of memory), the message is `otherwise`. */
vyre_status vy_diagnostics_fail(const vyre_diagnostics *list, vyre_status status, const char *otherwise,
                                vyre_error *error);

/* Escape sequences before and after the highlighted parts of a rendered diagnostic. */
typedef struct vy_render_style {
    const char *location;    /* file:line:column: */
    const char *severity[3]; /* `error T033:` and the caret, by vyre_severity */
    const char *fix;         /* `Fix:` */
    const char *end;         /* after each of them */
} vy_render_style;

/* Appends the source line of a diagnostic, if it has one, and a caret under the column. style NULL: plain. */
void vy_render_excerpt(vy_string *out, const vyre_diagnostic *finding, const vy_render_style *style);
/* vyre_diagnostics_render with a style; NULL: plain. */
vyre_status vy_diagnostics_render_styled(const vyre_diagnostics *list, const vy_render_style *style, vyre_bytes *out,
                                         vyre_error *error);

/* The log sink of the process (vyre_log_set_sink of vyre/telemetry.h). */
/* Whether a sink is set: without one, the caller need not format a line. */
int vy_log_is_on(void);
/* Passes one line to the sink, if one is set. */
void vy_log(int level, const char *source, const char *message);

#endif
