/* Diagnostics: numbered findings with a source location and a fix. The parser, the validator, the decoder and the
 * checkers of the reference interpreter add them to a list owned by the caller, so that one run reports every mistake.
 * Every code has a section in docs/errors.md, which `vyre explain CODE` prints. */
#ifndef VYRE_DIAGNOSTIC_H
#define VYRE_DIAGNOSTIC_H

#include "vyre/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The severity of a finding. */
typedef enum vyre_severity { VYRE_SEVERITY_ERROR, VYRE_SEVERITY_WARNING, VYRE_SEVERITY_NOTE } vyre_severity;

/* One finding. The list owns the strings.
 *
 * line, column  From 1; line 0: the location is unknown. column counts bytes of UTF-8 text.
 * length        The width of the caret, in bytes. */
typedef struct vyre_diagnostic {
    const char *code; /* "V012" */
    vyre_severity severity;
    const char *message;
    const char *fix; /* never empty */
    const char *file;
    uint32_t line, column, length;
    const char *source_line; /* the text of that line without its end, or NULL */
} vyre_diagnostic;

/* A list of findings, in the order in which they were found. It keeps the first 100 errors and 1,000 findings in all,
 * and counts the rest. Adding never fails: a finding that does not fit in memory is counted.
 *
 * Constructor:  vyre_diagnostics_new
 * Destructor:   vyre_diagnostics_free
 * Methods:      vyre_diagnostics_count, vyre_diagnostics_errors, vyre_diagnostics_get, vyre_diagnostics_clear,
 *               vyre_diagnostics_render, vyre_diagnostics_render_json
 * Threads:      one thread at a time. */
typedef struct vyre_diagnostics vyre_diagnostics;

/* Creates an empty list. Returns NULL if out of memory; every function accepts a NULL list. */
VYRE_API vyre_diagnostics *vyre_diagnostics_new(void);
/* Free a list (NULL is ignored); remove all findings. */
VYRE_API void vyre_diagnostics_free(vyre_diagnostics *list);
VYRE_API void vyre_diagnostics_clear(vyre_diagnostics *list);

/* The number of findings kept, the number of all errors, and one finding (NULL past the end). If findings were dropped,
 * the list ends with notes that state their number; these count as findings. */
VYRE_API size_t vyre_diagnostics_count(const vyre_diagnostics *list);
VYRE_API size_t vyre_diagnostics_errors(const vyre_diagnostics *list);
VYRE_API const vyre_diagnostic *vyre_diagnostics_get(const vyre_diagnostics *list, size_t index);

/* Renders a list as text (file:line:column, the line, a caret, "Fix: …") or as a JSON array.
 *
 * list  NULL: an empty list.
 * out   Replaced. Text shows the part of a long line around the caret; in JSON, the source_line of a line of more than
 *       4,096 bytes is null.
 *
 * VYRE_NO_MEMORY  out of host memory */
VYRE_API vyre_status vyre_diagnostics_render(const vyre_diagnostics *list, vyre_bytes *out, vyre_error *error);
VYRE_API vyre_status vyre_diagnostics_render_json(const vyre_diagnostics *list, vyre_bytes *out, vyre_error *error);

/* The explanation of a code ("V012") or a status name ("LIMIT"): title, paragraphs and fix, as Markdown. Constant data,
 * valid forever; any thread. */
typedef struct vyre_explanation {
    const char *code, *title, *text, *fix;
} vyre_explanation;
/* Finds the explanation of a code. Returns 0 if the code is unknown; `out` is unspecified then. */
VYRE_API int vyre_explain(const char *code, vyre_explanation *out);
/* Returns the index-th explanation, for listing; 0 past the end. */
VYRE_API int vyre_explain_at(size_t index, vyre_explanation *out);

#ifdef __cplusplus
}
#endif
#endif
