/* What legalisation makes (emit_legal.h), and which guards it leaves. */
#include "tool/emit_legal.h"

#include "base/status.h"
#include "tool/load.h"
#include "transform/legal_fill.h"
#include "transform/legal_guard.h"
#include "vyre/text.h"
#include "vyre/transform.h"

#include <inttypes.h>

/* ---- profiles ---- */

static const char *const names[VYRE_NUMERIC_COUNT] = {
#define X(ID, name, doc) name,
    VYRE_NUMERIC_LIST(X)
#undef X
};

static int find_numeric(const tool_command *self, const char *word, size_t length, uint64_t *bit) {
    vy_suggestion suggestion;
    vy_suggestion_start(&suggestion, word, length);
    for (unsigned i = 0; i < VYRE_NUMERIC_COUNT; i++) {
        vy_suggestion_offer(&suggestion, names[i]);
        *bit = UINT64_C(1) << i;
        if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0)
            return TOOL_OK;
    }
    const char *near = vy_suggestion_get(&suggestion);
    return tool_usage(
        self, near ? VY_FIX("did you mean `%s`?", near) : "give all, none, or names such as int64 and f32.subnormal",
        "no numerics are called `%.*s`", (int)length, word);
}

int tool_profile_parse(const tool_command *self, const char *text, uint64_t *exact) {
    const uint64_t all = (UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1;
    *exact = *text == '-' ? all : 0;
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, ",");
        int is_missing = *word == '-';
        uint64_t bits = all;
        if (length == 4 && memcmp(word, "none", 4) == 0)
            bits = 0;
        else if (!(length == 3 && memcmp(word, "all", 3) == 0)) {
            int code = find_numeric(self, word + is_missing, length - (size_t)is_missing, &bits);
            if (code != TOOL_OK)
                return code;
        }
        *exact = is_missing ? *exact & ~bits : *exact | bits;
        word += length + (word[length] == ',');
    }
    return TOOL_OK;
}

/* ---- guards ---- */

static void add_guards(vy_string *out, const vyre_program *program, const vy_legal_guards *guards) {
    static const char *const kinds[VY_STMT_KIND_COUNT] = {
        [VY_STMT_LOAD] = "load of", [VY_STMT_STORE] = "store to", [VY_STMT_ATOMIC] = "atomic on"};
    vy_string_format(out,
                     "// %" PRIu32 " accesses: %" PRIu32 " proven inside, %" PRIu32 " outside, %" PRIu32 " tested\n",
                     guards->accesses, guards->proven, guards->outside, guards->guarded);
    for (uint32_t i = 0; i < guards->left.count; i++) {
        const vy_guard_left *left = &guards->left.items[i];
        char why[320];
        vy_guard_left_text(program, left, why, sizeof why);
        vy_string_format(out, "//   line %" PRIu32 ", %s `%s`: %s\n", left->position.line, kinds[left->kind],
                         vy_name_text(program, program->memories.items[left->memory].name), why);
    }
}

/* The phase alone, on the program as legalisation begins with it. */
static vyre_status find_guards(vyre_program *program, vy_string *out, vyre_error *error) {
    vy_legal_guards guards = {0};
    vyre_program *filled = NULL, *guarded = NULL;
    vyre_status status = vy_legal_fill(program, &filled, error);
    if (status == VYRE_OK)
        status = vy_legal_guard(filled, &vy_guard_rules_sound, &guards, &guarded, error);
    if (status == VYRE_OK)
        add_guards(out, filled, &guards);
    vy_legal_guards_free(&guards);
    vyre_program_release(guarded);
    vyre_program_release(filled);
    return status;
}

/* ---- the text ---- */

/* The one thing that not legalisation but its callers see to: a backend launches such a program in stages (driver/stages.h). */
static vyre_status check_stages(const vyre_program *program, const vy_legal_target *target, vyre_error *error) {
    if (!(program->facts & VY_FACT_GRID_BARRIER) || (!(program->facts & VY_FACT_TRAP) && !target->cancellable))
        return VYRE_OK;
    return vy_fail(error, VYRE_UNSUPPORTED,
                   "give `--stage 1`, then 2, …: the launches that a backend makes of it instead",
                   "an invocation of `%s` may end before a grid barrier, where the other workgroups would wait for it",
                   vyre_program_name(program));
}

static vyre_status write_text(vyre_program *program, const vy_legal_target *target, vy_string *out, vyre_error *error) {
    const vyre_optimize_options options = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vyre_program *optimised = NULL, *legal = NULL;
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_status status = vyre_program_optimize(program, &options, &optimised, NULL, error);
    if (status == VYRE_OK)
        status = check_stages(optimised, target, error);
    if (status == VYRE_OK)
        status = vy_legalise(optimised, target, &legal, error);
    if (status == VYRE_OK)
        status = find_guards(optimised, out, error);
    if (status == VYRE_OK)
        status = vyre_text_print(legal, &text, error);
    if (status == VYRE_OK)
        vy_string_format(out, "%.*s", (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
    vyre_program_release(legal);
    vyre_program_release(optimised);
    return status;
}

int tool_emit_legal(vyre_program *program, const vy_legal_target *target, const char *output) {
    vy_string out = {0};
    vyre_error error;
    vyre_status status = write_text(program, target, &out, &error);
    if (status == VYRE_OK && out.failed)
        status = vy_fail_memory(&error, "the text of a program");
    int code = status == VYRE_OK ? tool_file_write(output ? output : "-", out.text, out.length) : tool_error(&error);
    vy_string_free(&out);
    return code;
}
