/* Launch facts: those of every example as text (golden/launch_facts.txt, which UPDATE_GOLDEN=1 rewrites), and that only
 * undamaged facts of the same program are loaded. */
#include "backends/conform_examples.h"

#include "analysis/launch_facts.h"
#include "base/string.h"
#include "support/fault.h"
#include "vyre/transform.h"

#define GOLDEN "tests/analysis/golden/launch_facts.txt"

static vy_launch_facts *facts_of(vyre_program *program) {
    const vyre_optimize_options options = {.level = 1};
    vyre_program *plain;
    vy_launch_facts *facts;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_program_optimize(program, &options, &plain, NULL, &error), VYRE_OK);
    assert_int_equal(vy_launch_facts_make(program, plain, &facts, &error), VYRE_OK);
    vyre_program_release(plain);
    return facts;
}

/* ---- the examples ---- */

static void print_facts(vy_string *out, vyre_program *program) {
    vy_launch_facts *facts = facts_of(program);
    vyre_buffer_info info;
    vy_string_format(out, "%s:%s %s%llu nodes\n", vyre_program_name(program), facts->is_divisible ? " divisible," : "",
                     facts->varies ? "about " : "", (unsigned long long)facts->nodes);
    for (uint32_t i = 0; vyre_program_buffer(program, i, &info); i++) {
        const vy_launch_facts_buffer *b = &facts->buffers[i];
        vy_string_format(out, "  %s: %u bytes, %s%s", info.name, b->element_bytes,
                         vy_launch_is_input(facts, i) ? "in" : "", vy_launch_is_output(facts, i) ? "out" : "");
        if (b->is_elementwise)
            vy_string_add(out, ", elementwise");
        if (b->host_requests)
            vy_string_format(out, ", zero-copy at %u requests", b->host_requests);
        if (vy_launch_full_writes(facts)[i].is_covered)
            vy_string_format(out, ", written whole if %u bounds hold", vy_launch_full_writes(facts)[i].bound_count);
        vy_string_add(out, "\n");
    }
    vy_launch_facts_free(facts);
}

static void facts_of_examples_are_as_recorded(void **state) {
    (void)state;
    vy_string out = {0};
    vyre_bytes text = VYRE_BYTES_INIT, expected = VYRE_BYTES_INIT;
    for (size_t i = 0; i < sizeof conform_examples / sizeof *conform_examples; i++) {
        vyre_program *program = conform_example_load(&conform_examples[i]);
        print_facts(&out, program);
        vyre_program_release(program);
    }
    assert_int_equal(vy_string_to_bytes(&out, &text, NULL), VYRE_OK);
    if (getenv("UPDATE_GOLDEN"))
        assert_int_equal(vy_file_write(vy_test_path(GOLDEN), text.data, text.size, NULL), VYRE_OK);
    assert_int_equal(vy_file_read(vy_test_path(GOLDEN), SIZE_MAX, &expected, NULL), VYRE_OK);
    if (text.size != expected.size || memcmp(text.data, expected.data, text.size) != 0)
        fail_msg("the facts have changed:\n%.*s", (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
    vyre_bytes_free(&expected);
}

/* ---- stored facts ---- */

#define OVER_Y(type, body)                                                                                             \
    "program p {\n param n : u32\n buffer x : u32 read\n buffer y : " type " write\n workgroup 64\n grid over y\n"     \
    " let i = global_id.x\n" body "}\n"
static const char source[] = OVER_Y("u32", " if i < n && i < len(x) { y[i] = x[i] }\n");

static vyre_status load(vyre_program *program, const void *data, size_t size, vy_launch_facts **out) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = vy_launch_facts_load((vyre_span){data, size}, program, out, &error);
    assert_true(status == VYRE_OK ? *out != NULL : *out == NULL && (error.fix[0] || status == VYRE_NO_MEMORY));
    return status;
}

static void loaded_facts_are_equal(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse(source);
    vy_launch_facts *facts = facts_of(program), *again = facts_of(program), *loaded;
    assert_int_equal(facts->is_divisible, 1);
    assert_int_equal(vy_launch_full_writes(facts)[1].is_covered, 1);
    assert_memory_equal(facts, again, facts->bytes); /* no byte is left to chance */
    for (int is_longer = 0; is_longer < 2; is_longer++) {
        uint8_t *bytes = calloc(1, facts->bytes + 40u);
        memcpy(bytes, facts, facts->bytes);
        assert_int_equal(load(program, bytes, facts->bytes + 40u * (unsigned)is_longer, &loaded), VYRE_OK);
        assert_memory_equal(facts, loaded, facts->bytes);
        vy_launch_facts_free(loaded);
        free(bytes);
    }
    vy_launch_facts_free(facts);
    vy_launch_facts_free(again);
    vyre_program_release(program);
}

static void facts_without_a_plain_program_know_no_access(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse(source);
    vy_launch_facts *facts;
    assert_int_equal(vy_launch_facts_make(program, NULL, &facts, NULL), VYRE_OK);
    assert_int_equal(facts->is_divisible, 0);
    assert_int_equal(vy_launch_full_writes(facts)[1].is_covered, 1);
    for (int i = 0; i < 2; i++)
        assert_true(!facts->buffers[i].is_elementwise && !facts->buffers[i].host_requests);
    vy_launch_facts_free(facts);
    vyre_program_release(program);
}

static void facts_of_another_program_are_refused(void **state) {
    (void)state;
    static const char *const others[] = {
        OVER_Y("u64", " y[i] = 1\n"),                                          /* another element */
        "program p {\n buffer x : u32 read\n workgroup 64\n grid over x\n}\n", /* fewer buffers */
        "program p {\n buffer x : u32 read\n buffer y : u32 read_write\n workgroup 64\n grid over y\n}\n",
        "program p {\n param n : u32\n buffer x : u32 read\n buffer y : u32 write\n workgroup 32\n grid over y\n}\n",
        "program p {\n buffer x : u32 read\n buffer y : u32 write\n workgroup 64\n grid over y\n}\n", /* no param */
    };
    vyre_program *program = vy_test_parse(source);
    vy_launch_facts *facts = facts_of(program), *loaded;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        vyre_program *other = vy_test_parse(others[i]);
        if (load(other, facts, facts->bytes, &loaded) != VYRE_CORRUPT)
            fail_msg("%s", others[i]);
        vyre_program_release(other);
    }
    vy_launch_facts_free(facts);
    vyre_program_release(program);
}

static void damaged_facts_are_refused(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse(source);
    vy_launch_facts *facts = facts_of(program), *loaded, *damaged = malloc(facts->bytes);
    for (uint32_t size = 0; size < facts->bytes; size++)
        assert_int_equal(load(program, facts, size, &loaded), VYRE_CORRUPT);
#define COVER vy_launch_full_writes(damaged)[1]
#define REFUSED(field, value, expected)                                                                                \
    do {                                                                                                               \
        memcpy(damaged, facts, facts->bytes);                                                                          \
        field = value;                                                                                                 \
        if (load(program, damaged, facts->bytes, &loaded) != (expected))                                               \
            fail_msg(#field);                                                                                          \
    } while (0)
    REFUSED(damaged->format, VY_LAUNCH_FACTS_FORMAT + 1, VYRE_UNSUPPORTED);
    REFUSED(damaged->bytes, facts->bytes + 1, VYRE_CORRUPT);
    REFUSED(damaged->buffer_count, UINT32_MAX, VYRE_CORRUPT);
    REFUSED(damaged->output_count, 2, VYRE_CORRUPT);
    REFUSED(damaged->workgroup[1], 2, VYRE_CORRUPT);
    REFUSED(damaged->is_divisible, 2, VYRE_CORRUPT);
    REFUSED(damaged->varies, 2, VYRE_CORRUPT);
    REFUSED(damaged->nodes, 0, VYRE_CORRUPT);
    REFUSED(damaged->buffers[0].element_bytes, 8, VYRE_CORRUPT);
    REFUSED(damaged->buffers[0].access, VYRE_ACCESS_WRITE, VYRE_CORRUPT);
    REFUSED(damaged->buffers[0].is_elementwise, 2, VYRE_CORRUPT);
    REFUSED(damaged->buffers[1].is_elementwise, 0, VYRE_CORRUPT); /* but divisible */
    REFUSED(COVER.is_covered, 2, VYRE_CORRUPT);
    REFUSED(COVER.is_rows, 2, VYRE_CORRUPT);
    REFUSED(COVER.bound_count, VY_FULL_WRITE_BOUNDS + 1, VYRE_CORRUPT);
    REFUSED(COVER.group[0], 65, VYRE_CORRUPT);
    REFUSED(COVER.width.kind, 3, VYRE_CORRUPT);
    REFUSED(COVER.bounds[0].axis, 2, VYRE_CORRUPT);
    REFUSED(COVER.bounds[0].index, 2, VYRE_CORRUPT);
    REFUSED(COVER.bounds[1].index, 2, VYRE_CORRUPT);
#undef REFUSED
#undef COVER
    vy_random random = vy_random_start(7); /* any bytes: a result or an error */
    for (int i = 0; i < 20000; i++) {
        memcpy(damaged, facts, facts->bytes);
        ((uint8_t *)damaged)[vy_random_below(&random, facts->bytes)] = (uint8_t)vy_random_next(&random);
        if (load(program, damaged, facts->bytes, &loaded) == VYRE_OK)
            vy_launch_facts_free(loaded);
    }
    free(damaged);
    vy_launch_facts_free(facts);
    vyre_program_release(program);
}

/* ---- memory ---- */

static vyre_status make_and_load(void *program) {
    vy_launch_facts *facts, *loaded = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = vy_launch_facts_make(program, program, &facts, &error);
    if (status == VYRE_OK)
        status = load(program, facts, facts->bytes, &loaded);
    vy_launch_facts_free(loaded);
    vy_launch_facts_free(facts);
    return status;
}

static void out_of_memory_is_reported(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse(source);
    assert_true(VY_FAULT_LOOP(make_and_load, program) > 4);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_of_examples_are_as_recorded),
        cmocka_unit_test(loaded_facts_are_equal),
        cmocka_unit_test(facts_without_a_plain_program_know_no_access),
        cmocka_unit_test(facts_of_another_program_are_refused),
        cmocka_unit_test(damaged_facts_are_refused),
        cmocka_unit_test(out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
