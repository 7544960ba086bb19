/* What went wrong, kept beside what was printed, so that --json can say it on standard output too.
 *
 * There is one record for the process: a process runs one subcommand. Everything that tool_error, tool_usage and tool_diagnostics print is
 * noted by them; commands rarely need more than these three. */
#ifndef TOOL_ERROR_RECORD_H
#define TOOL_ERROR_RECORD_H

#include "base/string.h"
#include "vyre/diagnostic.h"

/* Notes an error without printing it. The first status stays; further messages are added to the first. */
void tool_error_record_note(const vyre_error *error);
/* The same in parts; fix NULL leaves it open, for tool_error_record_fix. */
void tool_error_record_add(vyre_status status, const char *message, const char *where, const char *fix);
void tool_error_record_fix(const char *fix);
/* Notes findings, in JSON, as vyre_diagnostics_render_json makes them. */
void tool_error_record_findings(const vyre_diagnostics *list);
/* Notes that the command has put JSON on standard output, so that nothing is to be added there. */
void tool_error_record_json_printed(void);

/* Adds "status":…,"message":…,"fix":… of what was noted, with "where" if it is known; nothing if nothing was. */
void tool_error_record_json(vy_string *out);
/* Prints {"status":…,"message":…,"fix":…,"diagnostics":[…]} to standard output unless the command has answered there. */
void tool_error_record_print(void);
/* Back to nothing noted. */
void tool_error_record_clear(void);

#endif
