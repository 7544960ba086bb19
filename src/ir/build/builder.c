/* The life of a builder, its errors, and the header of the program (vyre/builder.h, builder_internal.h). */
#include "ir/build/builder_internal.h"
#include "ir/build/finish.h"

#include <stdarg.h>
#include <stdio.h>

_Static_assert((int)VYRE_SPACE_BUFFER == (int)VY_SPACE_BUFFER && (int)VYRE_SPACE_WORKGROUP == (int)VY_SPACE_WORKGROUP &&
                   (int)VYRE_SPACE_PRIVATE == (int)VY_SPACE_PRIVATE && (int)VYRE_SPACE_COUNT == (int)VY_SPACE_COUNT,
               "the public spaces are the model's");

/* ---- notes ---- */

void vy_builder_no_memory(vyre_builder *b) {
    b->no_memory = 1;
}

void vy_builder_error(vyre_builder *b, vy_diag_code code, const char *fix, const char *format, ...) {
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    b->errors++;
    if (!b->findings && !(b->findings = vyre_diagnostics_new()))
        vy_builder_no_memory(b);
    vy_diagnostic_add(b->findings, NULL, vy_diag_code_name(code), VYRE_SEVERITY_ERROR, (vy_position){0, 0, 0},
                      fix ? fix : vy_diag_code_fix(code), "%s", message);
}

vy_symbol vy_builder_intern(vyre_builder *b, const char *name, const char *what, int may_be_empty) {
    if (!name && !may_be_empty)
        vy_builder_error(b, VY_B007, VY_FIX("give %s a name", what), "the name of %s is NULL", what);
    return name ? vy_irb_intern(&b->draft, name, strlen(name)) : 0;
}

int vy_builder_check_enum(vyre_builder *b, unsigned value, unsigned count, const char *what) {
    if (value < count)
        return 1;
    vy_builder_error(b, VY_B007, VY_FIX("pass a value of the enum, below %u", count),
                     "%s (%u) is not in its list (%u entries)", what, value, count);
    return 0;
}

int vy_builder_check_level(vyre_builder *b, unsigned level, const char *name) {
    if (level == VYRE_LEVEL_SOURCE)
        return 1;
    vy_builder_error(b, VY_B012, NULL, "`%s` exists only at level legal", name);
    return 0;
}

/* ---- life ---- */

static vyre_builder *new_builder(const char *name, vyre_program_kind kind) {
    vyre_builder *b = vy_allocate_zero(sizeof *b);
    if (!b)
        return NULL;
    if (vy_irb_start(&b->draft, name ? name : "", NULL) != VYRE_OK) {
        vy_release(b, sizeof *b);
        return NULL;
    }
    b->draft.program->kind = (uint8_t)kind;
    b->scope = VY_SCOPE_ENTRY;
    b->grid.memory = VY_NONE;
    for (int i = 0; i < 3; i++)
        b->grid.sizes[i] = VY_NONE;
    if (!name)
        vy_builder_error(b, VY_B007, "pass the name of the program to vyre_builder_new",
                         "the name of the program is NULL");
    return b;
}

vyre_builder *vyre_builder_new(const char *name) {
    return new_builder(name, VYRE_PROGRAM_ENTRY);
}

vyre_builder *vyre_builder_new_library(void) {
    return new_builder("", VYRE_PROGRAM_LIBRARY);
}

void vyre_builder_free(vyre_builder *b) {
    if (!b)
        return;
    if (b->draft.program)
        vy_irb_discard(&b->draft);
    vyre_diagnostics_free(b->findings);
    VY_VECTOR_FREE(&b->nodes);
    VY_VECTOR_FREE(&b->variables);
    VY_VECTOR_FREE(&b->memories);
    VY_VECTOR_FREE(&b->sizes);
    VY_VECTOR_FREE(&b->params);
    VY_VECTOR_FREE(&b->results);
    VY_VECTOR_FREE(&b->functions);
    VY_VECTOR_FREE(&b->blocks);
    vy_release(b, sizeof *b);
}

static void check_unclosed(vyre_builder *b) {
    for (uint32_t i = b->blocks.count; i > 0; i--) {
        const vy_open_block *block = &b->blocks.items[i - 1];
        vy_builder_error(b, VY_B005, "call vyre_builder_end once for each block, before vyre_builder_finish",
                         "the block that statement %u opens is not closed", block->stmt);
    }
    if (b->scope != VY_SCOPE_ENTRY)
        vy_builder_error(b, VY_B009, "call vyre_builder_end_function after its last statement",
                         "function `%s` is not ended", vy_builder_symbol_name(b, b->functions.items[b->scope].name));
}

vyre_status vyre_builder_finish(vyre_builder *b, vyre_diagnostics *diagnostics, vyre_program **out, vyre_error *error) {
    if (!out)
        vyre_builder_free(b);
    VY_REQUIRE(error, out);
    *out = NULL;
    if (!b)
        return vy_fail_memory(error, "a builder");
    check_unclosed(b);
    if (b->draft.program->kind == VYRE_PROGRAM_ENTRY)
        vy_builder_flush_declarations(b);
    if (b->draft.too_deep) /* the draft left statements out: there is nothing for the validator to see */
        vy_builder_error(b, VY_V033, NULL, "blocks nest deeper than the limit (%d)", VY_LIMIT_NESTING);
    vyre_status status;
    if (b->no_memory || b->draft.failed)
        status = vy_fail_memory(error, "a program being built");
    else if (b->errors) {
        for (size_t i = 0; i < vyre_diagnostics_count(b->findings); i++) {
            const vyre_diagnostic *finding = vyre_diagnostics_get(b->findings, i);
            vy_diagnostic_add(diagnostics, NULL, finding->code, finding->severity, (vy_position){0, 0, 0}, finding->fix,
                              "%s", finding->message);
        }
        status = vy_diagnostics_fail(b->findings, VYRE_INVALID_PROGRAM,
                                     "the calls that built the program have mistakes", error);
    } else {
        if (b->draft.program->kind == VYRE_PROGRAM_ENTRY) {
            vy_builder_emit_grid(b);
            vy_irb_end_function(&b->draft);
        }
        status = vy_irb_finish(&b->draft, NULL, diagnostics, out, error);
    }
    vyre_builder_free(b);
    return status;
}

/* ---- the header ---- */

void vyre_builder_numerics(vyre_builder *b, vyre_numerics numerics) {
    if (b && vy_builder_check_enum(b, numerics, VYRE_NUMERICS_RELAXED + 1, "the numerics"))
        b->draft.program->numerics = (uint8_t)numerics;
}

void vyre_builder_workgroup(vyre_builder *b, uint32_t x, uint32_t y, uint32_t z) {
    if (!b)
        return;
    b->draft.program->workgroup[0] = x;
    b->draft.program->workgroup[1] = y;
    b->draft.program->workgroup[2] = z;
}
