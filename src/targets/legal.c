/* Target legal: the program that legalisation makes for a device which the options describe, below comments that list
 * the accesses that kept a test, and why. */
#include "base/status.h"
#include "base/string.h"
#include "base/suggest.h"
#include "ir/model.h"
#include "lower/bounds_checks.h"
#include "lower/legalize.h"
#include "lower/zero_init.h"
#include "targets/targets.h"
#include "vyre/backend.h"
#include "vyre/text.h"
#include "vyre/transform.h"

#include <inttypes.h>

/* ---- the device ---- */

static const char *const names[VYRE_NUMERIC_COUNT] = {
#define X(ID, name, doc) name,
    VYRE_NUMERIC_LIST(X)
#undef X
};

static vyre_status find_numeric(const char *word, size_t length, uint64_t *bit, vyre_error *error) {
    vy_suggestion suggestion;
    vy_suggestion_start(&suggestion, word, length);
    for (unsigned i = 0; i < VYRE_NUMERIC_COUNT; i++) {
        vy_suggestion_offer(&suggestion, names[i]);
        *bit = UINT64_C(1) << i;
        if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0)
            return VYRE_OK;
    }
    const char *near = vy_suggestion_get(&suggestion);
    return vy_fail(error, VYRE_INVALID_ARGUMENT,
                   near ? VY_FIX("did you mean `%s`?", near)
                        : "use all, none, or names such as int64 and f32.subnormal",
                   "`exact` names unknown numerics: `%.*s`", (int)(length < 40 ? length : 40), word);
}

static vyre_status read_exact(const char *text, uint64_t *exact, vyre_error *error) {
    const uint64_t all = (UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1;
    *exact = *text == '-' ? all : 0;
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, ",");
        int is_missing = *word == '-';
        uint64_t bits = all;
        if (length == 4 && memcmp(word, "none", 4) == 0)
            bits = 0;
        else if (!(length == 3 && memcmp(word, "all", 3) == 0)) {
            vyre_status status = find_numeric(word + is_missing, length - (size_t)is_missing, &bits, error);
            if (status != VYRE_OK)
                return status;
        }
        *exact = is_missing ? *exact & ~bits : *exact | bits;
        word += length + (word[length] == ',');
    }
    return VYRE_OK;
}

static vyre_status read_target(const vyre_emit_options *options, vy_target_desc *out, vyre_error *error) {
    const uint32_t subgroup = options->subgroup, access = options->access;
    if (subgroup > 64 || (subgroup & (subgroup - 1)) || subgroup == 1)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "use 2, 4, 8, 16, 32 or 64",
                       "the width of a subgroup is %" PRIu32 ", not a power of two from 2 to 64", subgroup);
    if (access != 0 && access != 4 && access != 8 && access != 16)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "use 4, 8 or 16",
                       "the widest access is %" PRIu32 " bytes, not 4, 8 or 16", access);
    *out = (vy_target_desc){.cancellable = (uint8_t)(options->cancellable != 0)};
    out->subgroup_width = subgroup;
    out->access_bytes = access;
    return read_exact(options->exact, &out->exact, error);
}

/* ---- guards ---- */

static void add_guards(vy_string *out, const vyre_program *program, const vy_bounds_check_report *guards) {
    static const char *const kinds[VY_STMT_KIND_COUNT] = {
        [VY_STMT_LOAD_WIDE] = "load of", [VY_STMT_STORE] = "store to", [VY_STMT_ATOMIC] = "atomic on"};
    vy_string_format(out,
                     "// %" PRIu32 " accesses: %" PRIu32 " proven inside, %" PRIu32 " outside, %" PRIu32 " tested\n",
                     guards->accesses, guards->proven, guards->outside, guards->guarded);
    for (uint32_t i = 0; i < guards->left.count; i++) {
        const vy_residual_check *left = &guards->left.items[i];
        char why[320];
        vy_residual_check_text(program, left, why, sizeof why);
        vy_string_format(out, "//   line %" PRIu32 ", %s `%s`: %s\n", left->position.line, kinds[left->kind],
                         vy_symbol_name(program, program->memories.items[left->memory].name), why);
    }
}

/* The phase alone, on the program as legalisation begins with it. */
static vyre_status find_guards(vyre_program *program, vy_string *out, vyre_error *error) {
    vy_bounds_check_report guards = {0};
    vyre_program *filled = NULL, *guarded = NULL;
    vyre_status status = vy_legalize_zero_init(program, &filled, error);
    if (status == VYRE_OK)
        status = vy_legalize_bounds_checks(filled, &vy_bounds_check_default, &guards, &guarded, error);
    if (status == VYRE_OK)
        add_guards(out, filled, &guards);
    vy_bounds_check_report_free(&guards);
    vyre_program_release(guarded);
    vyre_program_release(filled);
    return status;
}

/* ---- the text ---- */

/* The one thing that not legalisation but its callers see to: a backend launches such a program in stages
 * (driver/multi_launch.h). */
static vyre_status check_stages(const vyre_program *program, const vy_target_desc *target, vyre_error *error) {
    if (!(program->facts & VY_PROGRAM_HAS_GRID_BARRIER) ||
        (!(program->facts & VY_PROGRAM_HAS_TRAP) && !target->cancellable))
        return VYRE_OK;
    return vy_fail(error, VYRE_UNSUPPORTED,
                   "emit its stages separately, the launches that a backend makes of it: set `stage` to 1, then 2, …",
                   "an invocation of `%s` may end before a grid barrier, where the other workgroups would wait for it",
                   vyre_program_name(program));
}

static vyre_status write_text(vyre_program *program, const vy_target_desc *target, vy_string *out, vyre_error *error) {
    const vyre_optimize_options options = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vyre_program *optimised = NULL, *legal = NULL;
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_status status = vyre_program_optimize(program, &options, &optimised, NULL, error);
    if (status == VYRE_OK)
        status = check_stages(optimised, target, error);
    if (status == VYRE_OK)
        status = vy_legalize(optimised, target, &legal, error);
    if (status == VYRE_OK)
        status = find_guards(optimised, out, error);
    if (status == VYRE_OK)
        status = vyre_text_print(legal, &text, error);
    if (status == VYRE_OK)
        vy_string_append(out, (const char *)text.data, text.size);
    vyre_bytes_free(&text);
    vyre_program_release(legal);
    vyre_program_release(optimised);
    return status;
}

vyre_status vy_target_legal(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out,
                            vyre_error *error) {
    vy_target_desc target;
    vy_string text = {0};
    vyre_status status = read_target(options, &target, error);
    if (status == VYRE_OK && vyre_program_level(program) == VYRE_LEVEL_LEGAL)
        return vyre_text_print(program, out, error);
    if (status == VYRE_OK)
        status = write_text(program, &target, &text, error);
    if (status == VYRE_OK)
        status = vy_string_to_bytes(&text, out, error);
    vy_string_free(&text);
    return status;
}
