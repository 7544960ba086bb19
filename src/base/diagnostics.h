/* Adding to a list of findings (vyre/diagnostic.h says what a list is). */
#ifndef VY_BASE_DIAGNOSTICS_H
#define VY_BASE_DIAGNOSTICS_H

#include "base/source.h"
#include "base/status.h"
#include "base/string.h"
#include "vyre/diagnostic.h"

/* Adds one finding. Never fails: what memory does not hold is counted. list and source may be NULL; every string is
 * copied, and so is the line of the source at `at`. fix NULL or "" becomes a general one.
 *
 *   vy_diagnostic_add(list, source, "V012", VYRE_SEVERITY_ERROR, at, VY_FIX("declare `%s` first", name),
 *                     "`%s` is not declared", name); */
void vy_diagnostic_add(vyre_diagnostics *list, const vy_source *source, const char *code, vyre_severity severity,
                       vy_position at, const char *fix, const char *format, ...) VY_PRINTF(7, 8);

/* The first error of the list as a vyre_error, for functions that return one status beside the list: message, fix and
 * "file:line:column" are taken over, and the number of further errors is named. Returns `status`. Without any error in
 * the list (it is NULL or memory ran out), the message is `otherwise`. */
vyre_status vy_diagnostics_fail(const vyre_diagnostics *list, vyre_status status, const char *otherwise,
                                vyre_error *error);

/* What is written before and after the parts of a finding that a terminal can set off. */
typedef struct vy_render_style {
    const char *location;    /* file:line:column: */
    const char *severity[3]; /* `error T033:` and the caret, by vyre_severity */
    const char *fix;         /* `Fix:` */
    const char *end;         /* after each of them */
} vy_render_style;

/* The line of source of a finding that has one, and a caret under the place. style NULL: plain. */
void vy_render_excerpt(vy_string *out, const vyre_diagnostic *finding, const vy_render_style *style);
/* As vyre_diagnostics_render. style NULL: the same. */
vyre_status vy_diagnostics_render_styled(const vyre_diagnostics *list, const vy_render_style *style, vyre_bytes *out,
                                         vyre_error *error);

#endif
