/* Random programs whose functions are taken out and become ops: resolved, they are what they were before. */
#include "base/string.h"
#include "support/test.h"

#include "generate/generate.h"
#include "vyre/manifest.h"
#include "vyre/oracle.h"

enum { CASES = 200, OUTPUTS = 64 };

/* ---- functions become ops ---- */

/* Where the text of the program itself begins, behind its functions. */
static const char *find_program(const char *text) {
    const char *found = strncmp(text, "program ", 8) == 0 ? text : strstr(text, "\nprogram ");
    assert_non_null(found);
    return found;
}

/* Functions of ops that the program calls are defined last: without them, the calls are resolved again. */
static const char *find_functions_end(const char *text, const char *program) {
    const char *found = strncmp(text, "fn math.", 8) == 0 ? text : strstr(text, "\nfn math.");
    return !found ? program : found == text ? text : found + 1;
}

/* A manifest with one op for each function; its body has the functions before it, which it may call. Returns their
 * number. */
static unsigned make_manifest(vy_string *out, const char *text, const char *end) {
    unsigned count = 0;
    vy_string_add(out, "dialect = 'r'\nversion = '1.0.0'\n");
    for (const char *at = text; at < end; count++) {
        const char *next = strstr(at + 1, "\nfn "), *brace = strchr(at, '{');
        next = next && next < end ? next + 1 : end;
        vy_string_format(out, "[[op]]\nid = '%.*s'\nsignature = '%.*s'\nbody = '''\n", (int)strcspn(at + 3, "("),
                         at + 3, (int)(brace - at), at);
        vy_string_append(out, text, (size_t)(next - text));
        vy_string_add(out, "\n'''\n");
        at = next;
    }
    return count;
}

static int is_letter(char c) {
    return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
}

/* g7(…) becomes r.g7(…): the generator calls nothing else so. Returns the number of calls. */
static unsigned call_ops(vy_string *out, const char *program) {
    unsigned calls = 0;
    for (const char *at = program; *at; at++) {
        size_t digits = *at == 'g' && (at == program || !is_letter(at[-1])) ? strspn(at + 1, "0123456789") : 0;
        if (digits && at[1 + digits] == '(') {
            vy_string_add(out, "r.");
            calls++;
        }
        vy_string_char(out, *at);
    }
    return calls;
}

/* ---- one case ---- */

typedef struct outcome {
    vyre_status status;
    vyre_bytes outputs[OUTPUTS];
    vyre_oracle_report report;
} outcome;

static void run(vyre_program *program, const vyre_arguments *arguments, outcome *out) {
    vyre_oracle *oracle;
    vyre_error error;
    vyre_oracle_options options = {.threads = 1};
    memset(out, 0, sizeof *out);
    assert_true(vyre_program_output_count(program) <= OUTPUTS);
    assert_int_equal(vyre_oracle_new(program, &oracle, &error), VYRE_OK);
    out->status = vyre_oracle_run(oracle, arguments, &options, out->outputs, &out->report, NULL, &error);
    vyre_oracle_free(oracle);
}

static int are_equal(const outcome *a, const outcome *b, size_t outputs) {
    int equal = a->status == b->status && a->report.steps == b->report.steps;
    for (size_t i = 0; i < outputs && a->status == VYRE_OK; i++)
        equal &= a->outputs[i].size == b->outputs[i].size &&
                 (!a->outputs[i].size || memcmp(a->outputs[i].data, b->outputs[i].data, a->outputs[i].size) == 0);
    return equal;
}

static void drop(outcome *o) {
    for (size_t i = 0; i < OUTPUTS; i++)
        vyre_bytes_free(&o->outputs[i]);
}

/* The program with ops, resolved. */
static vyre_program *resolve(uint64_t seed, const vy_string *text) {
    vyre_module *module = NULL;
    vyre_program *resolved = NULL;
    vyre_error error;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    vyre_parse_options options = {.op_signature = vyre_dialects_op_signature, .op_signature_user = &guard};
    if (vyre_text_parse(text->text, text->length, &options, NULL, &module, &error) != VYRE_OK ||
        vyre_program_resolve(vyre_module_program(module, 0), guard, NULL, &resolved, &error) != VYRE_OK)
        fail_msg("seed %llu: %s (%s)\n%s", (unsigned long long)seed, error.message, error.where, text->text);
    vyre_module_free(module);
    vyre_dialects_release(&guard);
    return resolved;
}

/* Printing a resolved program and reading it back gives the same, without any dialect. */
static void check_text(uint64_t seed, const vyre_program *resolved) {
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_module *module;
    vyre_error error;
    assert_int_equal(vyre_text_print(resolved, &text, &error), VYRE_OK);
    if (vyre_text_parse(text.data, text.size, NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    assert_true(vyre_program_equal(resolved, vyre_module_program(module, 0)));
    vyre_module_free(module);
    vyre_bytes_free(&text);
}

static unsigned compare(uint64_t seed, const vyre_case *one, const char *text) {
    static outcome plain, with_ops;
    vyre_error error;
    vy_string manifest = {0}, program = {0};
    const char *split = find_program(text);
    unsigned ops = make_manifest(&manifest, text, find_functions_end(text, split)), calls = call_ops(&program, split);
    assert_false(manifest.failed || program.failed);
    if (vyre_dialects_load_text("the test", manifest.text, manifest.length, NULL, &error) != VYRE_OK)
        fail_msg("seed %llu: %s (%s)\n%s", (unsigned long long)seed, error.message, error.where, manifest.text);
    vyre_program *resolved = resolve(seed, &program);
    run(vyre_case_program(one), vyre_case_arguments(one), &plain);
    run(resolved, vyre_case_arguments(one), &with_ops);
    if (!are_equal(&plain, &with_ops, vyre_program_output_count(resolved)))
        fail_msg("seed %llu differs\n%s\n%s", (unsigned long long)seed, manifest.text, program.text);
    check_text(seed, resolved);
    drop(&plain);
    drop(&with_ops);
    vyre_program_release(resolved);
    vy_string_free(&manifest);
    vy_string_free(&program);
    return ops ? calls : 0;
}

static void functions_that_become_ops_compute_the_same(void **state) {
    (void)state;
    unsigned calls = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        static const unsigned stresses[] = {0, VYRE_STRESS_MEMORY, VYRE_STRESS_CONTROL, VYRE_STRESS_COLLECTIVES,
                                            VYRE_STRESS_ATOMICS | VYRE_STRESS_GEOMETRY};
        vyre_generate_options options = {.seed = seed,
                                         .stress = stresses[seed % 5] ? stresses[seed % 5] | VYRE_STRESS_FUNCTIONS : 0,
                                         .invocations = 64};
        vyre_case *one;
        vyre_bytes text = VYRE_BYTES_INIT;
        vyre_error error;
        assert_int_equal(vyre_generate(&options, &one, &error), VYRE_OK);
        assert_int_equal(vyre_text_print(vyre_case_program(one), &text, &error), VYRE_OK);
        assert_int_equal(vyre_bytes_resize(&text, text.size + 1, &error), VYRE_OK);
        ((char *)text.data)[text.size - 1] = 0;
        calls += compare(seed, one, text.data);
        vyre_bytes_free(&text);
        vyre_case_free(one);
    }
    assert_true(calls > CASES); /* or the generator names functions otherwise */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_that_become_ops_compute_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
