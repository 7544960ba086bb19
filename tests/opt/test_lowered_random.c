/* Random programs with calls of ops that have code for a target: linked for that target, such a call remains a call in
 * every pass and in legalisation, which treat it as a pure function. Linked with the bodies afterwards, the program
 * computes what it did before. */
#include "base/string.h"
#include "support/test.h"

#include "compile/pipeline.h"
#include "dialect/load.h"
#include "generate/generate.h"
#include "lower/legalizer.h"
#include "vyre/manifest.h"
#include "vyre/oracle.h"
#include "vyre/transform.h"

enum { CASES = 300, OUTPUTS = 64 };

/* ---- calls ---- */

/* For each type, `same_T` returns its argument, and `both_T` returns it twice. Types of 32 and 64 bits and bool have
 * code, which the test does not run. */
static void load_ops(void) {
    vy_string out = {0};
    vyre_error error;
    vy_string_add(&out, "dialect = 't'\nversion = '1.0.0'\n");
    for (vyre_type type = 0; type < VYRE_TYPE_COUNT; type++) {
        const char *name = vyre_type_name(type), *move = type == VYRE_TYPE_BOOL ? "pred" : "b32";
        vy_string_format(&out,
                         "[[op]]\nid = 'same_%s'\ncategory = 'intrinsic'\nsignature = 'fn same_%s(x: %s) -> %s'\n"
                         "body = 'fn same_%s(x: %s) -> %s { return x }'\n",
                         name, name, name, name, name, name, name);
        if (type == VYRE_TYPE_BOOL || vyre_type_bits(type) >= 32)
            vy_string_format(&out, "lowering = { ptx = 'mov.%s {result}, {x};' }\n", move);
        vy_string_format(&out,
                         "[[op]]\nid = 'both_%s'\ncategory = 'intrinsic'\n"
                         "signature = 'fn both_%s(x: %s) -> (a: %s, b: %s)'\n"
                         "body = 'fn both_%s(x: %s) -> (a: %s, b: %s) { return x, x }'\n",
                         name, name, name, name, name, name, name, name, name);
        if (type == VYRE_TYPE_BOOL || vyre_type_bits(type) >= 32)
            vy_string_format(&out, "lowering = { ptx = 'mov.%s {a}, {x}; mov.%s {b}, {x};' }\n", move, move);
    }
    assert_false(out.failed);
    if (vyre_dialects_load_text("the test", out.text, out.length, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vy_string_free(&out);
}

/* Whether the value is an expression without a call that has an effect: one of these words. */
static int is_plain(const char *value, size_t length) {
    static const char *const words[] = {"atomic",    "clusive", "reduce", "scan", "shuffle", "broadcast", "ballot",
                                        "any",       "all",     "elect",  "vote", "math.",   "lane",      "count_",
                                        "subgroup_", "g0(",     "g1(",    "g2(",  "g3(",     "g4("};
    char text[512];
    if (length >= sizeof text)
        return 0;
    memcpy(text, value, length);
    text[length] = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i]))
            return 0;
    return 1;
}

/* Of `let v = value` and `var v = value`, some values become arguments: `let v = t.same(value)`. */
static unsigned add_calls(vy_string *out, const char *text, uint64_t seed) {
    unsigned calls = 0;
    uint64_t state = seed;
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n"), blank = strspn(line, " ");
        const char *equal = strstr(line, " = ");
        const int is_let = strncmp(line + blank, "let ", 4) == 0, is_var = strncmp(line + blank, "var ", 4) == 0;
        state = state * 6364136223846793005u + 1442695040888963407u;
        if ((is_let || is_var) && equal && equal < line + length && line[blank + 4] != '(' &&
            !memchr(line, ':', (size_t)(equal - line)) && state >> 62 != 0 &&
            is_plain(equal + 3, length - (size_t)(equal + 3 - line))) {
            const int is_both = is_let && state >> 61 & 1;
            vy_string_append(out, line, blank + 4);
            const int size = (int)(equal - line) - (int)blank - 4;
            if (is_both)
                vy_string_format(out, "(_unused%u, %.*s) = t.both(", calls, size, line + blank + 4);
            else
                vy_string_format(out, "%.*s = t.same(", size, line + blank + 4);
            vy_string_append(out, equal + 3, length - (size_t)(equal + 3 - line));
            vy_string_add(out, ")");
            calls++;
        } else {
            vy_string_append(out, line, length);
        }
        line += length + (line[length] == '\n');
        vy_string_char(out, '\n');
    }
    return calls;
}

/* ---- running ---- */

typedef struct outcome {
    vyre_status status;
    vyre_bytes outputs[OUTPUTS];
} outcome;

static void run(vyre_program *program, const vyre_arguments *arguments, outcome *out) {
    vyre_oracle *oracle;
    vyre_oracle_report report;
    vyre_error error;
    vyre_oracle_options options = {.threads = 1};
    memset(out, 0, sizeof *out);
    assert_true(vyre_program_output_count(program) <= OUTPUTS);
    if (vyre_oracle_new(program, &oracle, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    out->status = vyre_oracle_run(oracle, arguments, &options, out->outputs, &report, NULL, &error);
    vyre_oracle_free(oracle);
}

static int are_equal(const outcome *a, const outcome *b, size_t outputs) {
    int equal = a->status == b->status;
    for (size_t i = 0; i < outputs && a->status == VYRE_OK; i++)
        equal &= a->outputs[i].size == b->outputs[i].size &&
                 (!a->outputs[i].size || memcmp(a->outputs[i].data, b->outputs[i].data, a->outputs[i].size) == 0);
    return equal;
}

static void drop(outcome *o) {
    for (size_t i = 0; i < OUTPUTS; i++)
        vyre_bytes_free(&o->outputs[i]);
}

/* ---- one case ---- */

static vyre_program *resolve(uint64_t seed, const char *text, size_t length) {
    vyre_module *module = NULL;
    vyre_program *resolved = NULL;
    vyre_error error;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    if (vyre_text_parse(text, length, NULL, NULL, &module, &error) != VYRE_OK ||
        vyre_program_resolve(vyre_module_program(module, 0), guard, NULL, &resolved, &error) != VYRE_OK)
        fail_msg("seed %llu: %s (%s)\n%.*s", (unsigned long long)seed, error.message, error.where, (int)length, text);
    vyre_module_free(module);
    vyre_dialects_release(&guard);
    return resolved;
}

/* The program with the bodies: a remaining call is `r.g7<code = 123>(…)`. */
static vyre_program *with_bodies(uint64_t seed, const vyre_program *lowered, unsigned *calls) {
    vyre_bytes text = VYRE_BYTES_INIT;
    vy_string plain = {0};
    assert_int_equal(vyre_text_print(lowered, &text, NULL), VYRE_OK);
    const char *at = text.data, *end = at + text.size;
    for (; at < end; at++) {
        if (end - at > 8 && memcmp(at, "<code = ", 8) == 0) {
            at = memchr(at, '>', (size_t)(end - at));
            (*calls)++;
            continue;
        }
        vy_string_char(&plain, *at);
    }
    assert_false(plain.failed);
    vyre_program *made = resolve(seed, plain.text, plain.length);
    vy_string_free(&plain);
    vyre_bytes_free(&text);
    return made;
}

static vyre_status use(void *user, vyre_dialects_guard guard, const vyre_op_definition *op,
                       const vyre_lowering *lowering, int *is_usable, vyre_error *error) {
    (void)user, (void)guard, (void)op, (void)lowering, (void)error;
    *is_usable = 1;
    return VYRE_OK;
}

static unsigned compare(uint64_t seed, const vyre_case *one, const vyre_program *lowered, const outcome *plain,
                        const char *what) {
    static outcome made;
    unsigned calls = 0;
    vyre_program *program = with_bodies(seed, lowered, &calls);
    run(program, vyre_case_arguments(one), &made);
    if (!are_equal(plain, &made, vyre_program_output_count(program))) {
        vyre_bytes text = VYRE_BYTES_INIT;
        assert_int_equal(vyre_text_print(lowered, &text, NULL), VYRE_OK);
        fail_msg("seed %llu differs, %s\n%.*s", (unsigned long long)seed, what, (int)text.size, (char *)text.data);
    }
    drop(&made);
    vyre_program_release(program);
    return calls;
}

static unsigned check(uint64_t seed, const vyre_case *one, const char *text) {
    static outcome plain;
    const vy_lowering_policy policy = {use, NULL};
    const vyre_optimize_options options = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vy_string source = {0};
    /* Narrow types and f16 are not those of the target. */
    const vy_target_desc target = {.exact =
                                       VY_NUMERIC_ALL & ~(VY_NUMERIC(INT8) | VY_NUMERIC(INT16) | VY_NUMERIC(F16_ADD)),
                                   .subgroup_width = 32,
                                   .access_bytes = 16};
    vyre_program *lowered = NULL, *optimised = NULL, *legal = NULL;
    vyre_error error;
    unsigned calls = 0;
    if (add_calls(&source, text, seed)) {
        vyre_program *resolved = resolve(seed, source.text, source.length);
        run(vyre_case_program(one), vyre_case_arguments(one), &plain);
        if (vy_program_lower_ops(resolved, VYRE_TARGET_PTX, &policy, &lowered, &error) != VYRE_OK ||
            vyre_program_optimize(lowered, &options, &optimised, NULL, &error) != VYRE_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        compare(seed, one, lowered, &plain, "linked");
        calls = compare(seed, one, optimised, &plain, "optimised");
        if (vy_legalize(optimised, &target, &legal, &error) != VYRE_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        compare(seed, one, legal, &plain, "legalised");
        vyre_program_release(legal);
        vyre_program_release(optimised);
        vyre_program_release(lowered);
        vyre_program_release(resolved);
        drop(&plain);
    }
    vy_string_free(&source);
    return calls;
}

static void passes_treat_calls_with_code_as_pure_functions(void **state) {
    (void)state;
    unsigned calls = 0;
    load_ops();
    for (uint64_t seed = 1; seed <= CASES * (uint64_t)vy_test_effort(); seed++) {
        static const unsigned stresses[] = {0, VYRE_STRESS_MEMORY, VYRE_STRESS_CONTROL, VYRE_STRESS_COLLECTIVES};
        vyre_generate_options options = {.seed = seed, .stress = stresses[seed % 4], .invocations = 64};
        vyre_case *one;
        vyre_bytes text = VYRE_BYTES_INIT;
        vyre_error error;
        assert_int_equal(vyre_generate(&options, &one, &error), VYRE_OK);
        assert_int_equal(vyre_text_print(vyre_case_program(one), &text, &error), VYRE_OK);
        assert_int_equal(vyre_bytes_resize(&text, text.size + 1, &error), VYRE_OK);
        ((char *)text.data)[text.size - 1] = 0;
        calls += check(seed, one, text.data);
        vyre_bytes_free(&text);
        vyre_case_free(one);
    }
    printf("%u calls remained\n", calls);
    assert_true(calls > CASES * 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(passes_treat_calls_with_code_as_pure_functions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
