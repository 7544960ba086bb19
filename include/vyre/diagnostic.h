/* Diagnostics: numbered findings with a place and a fix.
 *
 * The parser, the validator, the decoder and the oracle's checkers add to a list the caller owns, so that one run shows
 * every mistake. Every code is a row of a src/ir/codes_*.def, has a section in docs/errors.md and answers to
 * `vyre explain CODE`. */
#ifndef VYRE_DIAGNOSTIC_H
#define VYRE_DIAGNOSTIC_H

#include "vyre/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vyre_severity { VYRE_SEVERITY_ERROR, VYRE_SEVERITY_WARNING, VYRE_SEVERITY_NOTE } vyre_severity;

/* One finding. The strings belong to the list. line and column count from 1; column counts bytes of UTF-8 text, length
 * is the width of the caret in bytes; line 0 means no place is known. */
typedef struct vyre_diagnostic {
    const char *code; /* "V012" */
    vyre_severity severity;
    const char *message;
    const char *fix; /* never empty */
    const char *file;
    uint32_t line, column, length;
    const char *source_line; /* the text of that line without its end, or NULL */
} vyre_diagnostic;

/* A list of findings in the order in which they were found. One thread at a time. When memory runs out, findings that
 * could not be kept are counted and the list says so; adding never fails. */
typedef struct vyre_diagnostics vyre_diagnostics;

/* NULL if memory is out, which every function that takes a list accepts. */
VYRE_API vyre_diagnostics *vyre_diagnostics_new(void);
VYRE_API void vyre_diagnostics_free(vyre_diagnostics *list);
VYRE_API void vyre_diagnostics_clear(vyre_diagnostics *list);
/* Number of findings kept (the list keeps the first 100 errors and counts the rest), of all errors, and one finding. If
 * some were not kept, closing notes that say so count as findings too. */
VYRE_API size_t vyre_diagnostics_count(const vyre_diagnostics *list);
VYRE_API size_t vyre_diagnostics_errors(const vyre_diagnostics *list);
VYRE_API const vyre_diagnostic *vyre_diagnostics_get(const vyre_diagnostics *list, size_t index);

/* Renders the list (NULL means an empty one) for people (file:line:column, the line, a caret, "Fix: …") or as a JSON
 * array. `out` is replaced; VYRE_NO_MEMORY. Of a long line people see the part around the caret; in JSON the source_line
 * of a line over 4096 bytes is null. */
VYRE_API vyre_status vyre_diagnostics_render(const vyre_diagnostics *list, vyre_bytes *out, vyre_error *error);
VYRE_API vyre_status vyre_diagnostics_render_json(const vyre_diagnostics *list, vyre_bytes *out, vyre_error *error);

/* The explanation of a code ("V012") or a status name ("LIMIT"): title, paragraphs and fix, as Markdown. Returns 0 if there is
 * none. Constant data, any thread. */
typedef struct vyre_explanation {
    const char *code, *title, *text, *fix;
} vyre_explanation;
VYRE_API int vyre_explain(const char *code, vyre_explanation *out);
/* The index-th code, for listing; returns 0 past the end. */
VYRE_API int vyre_explain_at(size_t index, vyre_explanation *out);

#ifdef __cplusplus
}
#endif
#endif
