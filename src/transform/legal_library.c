/* Reading and searching the library (legal_library.h). */
#include "transform/legal_library.h"

#include "base/status.h"

#include <stdio.h>

enum { UNKNOWN = VY_NONE - 1 };

vy_legal_uses vy_legal_uses_of(const vyre_program *p) {
    vy_legal_uses uses = {0, 0};
    for (uint32_t i = 0; i < p->memories.count; i++)
        uses.types |= 1u << p->memories.items[i].type;
    for (uint32_t i = 0; i < p->variables.count; i++)
        uses.types |= 1u << p->variables.items[i].type;
    for (uint32_t i = 0; i < p->exprs.count; i++) {
        uses.types |= 1u << p->exprs.items[i].type;
        if (p->exprs.items[i].kind == VY_EXPR_OP)
            uses.ops |= UINT64_C(1) << p->exprs.items[i].op;
    }
    return uses;
}

static int is_needed(const vy_legal_text *text, vy_legal_uses uses, uint64_t exact) {
    return (text->types & uses.types) && (!text->ops || (text->ops & uses.ops)) &&
           (!text->lacks || (text->lacks & ~exact)) && (text->has & exact) == text->has && !(text->without & exact);
}

/* A text with several rows is needed where any of them says so, and read once. */
static int is_read_before(const vy_legal_text *texts, const vy_legal_text *text, vy_legal_uses uses, uint64_t exact) {
    for (; texts < text; texts++)
        if (texts->text == text->text && is_needed(texts, uses, exact))
            return 1;
    return 0;
}

vyre_status vy_legal_library_read(vy_legal_library *library, const vy_legal_text *texts, vy_legal_uses uses,
                                  uint64_t exact, vyre_error *error) {
    vy_string all = {0};
    vyre_status status;
    memset(library, 0, sizeof *library);
    for (int op = 0; op < VYRE_OP_COUNT; op++)
        for (int type = 0; type < VYRE_TYPE_COUNT; type++)
            library->ops[op][type] = UNKNOWN;
    for (int to = 0; to < VYRE_TYPE_COUNT; to++)
        for (int from = 0; from < VYRE_TYPE_COUNT; from++)
            library->casts[0][to][from] = library->casts[1][to][from] = UNKNOWN;
    for (const vy_legal_text *text = texts; text->text; text++)
        if (is_needed(text, uses, exact) && !is_read_before(texts, text, uses, exact)) {
            if (!all.length)
                vy_string_add(&all, "level legal\n");
            vy_string_add(&all, text->text);
        }
    vyre_parse_options options = {.file = "<legal>"};
    if (!all.length && !all.failed)
        return VYRE_OK; /* nothing is needed */
    if (all.failed)
        status = vy_fail_memory(error, "the text of the legal library");
    else
        status = vyre_text_parse(all.text, all.length, &options, NULL, &library->module, error);
    if (status == VYRE_OK)
        library->program = vyre_module_library(library->module);
    vy_string_free(&all);
    return status;
}

void vy_legal_library_free(vy_legal_library *library) {
    vyre_module_free(library->module);
    library->module = NULL;
}

uint32_t vy_legal_find(const vy_legal_library *library, const char *name) {
    const vyre_program *p = library->program;
    for (uint32_t i = 0; p && i < p->functions.count; i++)
        if (strcmp(vy_name_text(p, p->functions.items[i].name), name) == 0)
            return i;
    return VY_NONE;
}

uint32_t vy_legal_replacement(vy_legal_library *library, vyre_op op, vyre_type result, vyre_type operand) {
    int is_cast = op == VYRE_OP_CAST || op == VYRE_OP_BITCAST;
    uint32_t *slot = is_cast ? &library->casts[op == VYRE_OP_BITCAST][result][operand] : &library->ops[op][operand];
    if (*slot == UNKNOWN) {
        char name[64];
        int length = snprintf(name, sizeof name, "%s_", vyre_op_get(op)->name);
        if (is_cast)
            length += snprintf(name + length, sizeof name - (size_t)length, "%s_", vyre_type_name(result));
        snprintf(name + length, sizeof name - (size_t)length, "%s", vyre_type_name(operand));
        *slot = vy_legal_find(library, name);
    }
    return *slot;
}
