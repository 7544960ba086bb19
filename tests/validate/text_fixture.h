/* Claims about programs written as text: accepted, or refused with a code. */
#ifndef VY_TESTS_VALIDATE_TEXT_FIXTURE_H
#define VY_TESTS_VALIDATE_TEXT_FIXTURE_H

#include "ir/model.h"
#include "support/test.h"
#include "vyre/text.h"

typedef struct parse_result {
    vyre_module *module;
    vyre_diagnostics *list;
    vyre_status status;
    vyre_error error;
} parse_result;

static inline parse_result parse_text(const char *text) {
    parse_result v = {.list = vyre_diagnostics_new()};
    v.status = vyre_text_parse(text, strlen(text), NULL, v.list, &v.module, &v.error);
    return v;
}

static inline void parse_result_free(parse_result *v) {
    vyre_diagnostics_free(v->list);
    vyre_module_free(v->module);
}

static inline void print_findings(const parse_result *v) {
    vyre_bytes out = VYRE_BYTES_INIT;
    if (vyre_diagnostics_render(v->list, &out, NULL) == VYRE_OK)
        printf("%.*s\n", (int)out.size, (const char *)out.data);
    vyre_bytes_free(&out);
}

static inline void accepted(const char *text) {
    parse_result v = parse_text(text);
    if (v.status != VYRE_OK) {
        print_findings(&v);
        fail_msg("refused: %s\n%s", v.error.message, text);
    }
    parse_result_free(&v);
}

/* The first finding has that code and line (0 = any) and says that. */
static inline void refused_at(const char *code, uint32_t line, const char *says, const char *text) {
    parse_result v = parse_text(text);
    const vyre_diagnostic *first = vyre_diagnostics_get(v.list, 0);
    if (v.status != VYRE_INVALID_PROGRAM || !first || strcmp(first->code, code) != 0 || (line && first->line != line) ||
        !strstr(first->message, says)) {
        print_findings(&v);
        fail_msg("%s, not refused with %s in line %u saying \"%s\":\n%s", vyre_status_name(v.status), code, line, says,
                 text);
    }
    parse_result_free(&v);
}

static inline void refused(const char *code, const char *text) {
    refused_at(code, 0, "", text);
}

/* What most programs here begin with: lines 1 to 8, workgroups of 64. */
#define HEAD                                                                                                           \
    "program p {\n"                                                                                                    \
    "  param n : u32\n"                                                                                                \
    "  buffer x : u32 read\n"                                                                                          \
    "  buffer y : u32 read_write\n"                                                                                    \
    "  workgroup 64\n"                                                                                                 \
    "  array t : u32 [64] workgroup\n"                                                                                 \
    "  array s : u32 [8] private\n"                                                                                    \
    "  let l = local_id.x\n"

#endif
