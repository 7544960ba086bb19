/* Adding to a list of findings (vyre/diagnostic.h says what a list is). */
#ifndef VY_BASE_DIAGNOSTICS_H
#define VY_BASE_DIAGNOSTICS_H

#include "base/source.h"
#include "base/status.h"
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

#endif
