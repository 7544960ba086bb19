/* Few workgroups on more threads than there are of them: their parts have the oracle's bits, whoever runs them. */
#include "backends/conform.h"

enum { COUNT = 1200 };

/* Every invocation does enough that the first guess is worth threads. */
static const char text_of[] =
    "program parts {\n buffer x : u32 read\n buffer y : u32 write count len(x)\n buffer z : u32 read_write\n"
    " workgroup %s\n grid %s\n"
    " let i = global_id.x + global_size.x * (global_id.y + global_size.y * global_id.z)\n"
    " if i >= len(y) { return }\n var s = x[i]\n"
    " for k in 0u32 .. 400 {\n  s = s * 1664525 + k\n  %s\n }\n"
    " if local_index %% 5 == 3 { return }\n atomic_add(z[s & 7], local_index + 1)\n y[i] = s\n}\n";

static void run(conform *c, const char *const *row, const char *leave) {
    static uint32_t x[COUNT], z[8];
    char text[2048];
    vyre_span inputs[2] = {{x, sizeof x}, {z, sizeof z}};
    vyre_arguments arguments = {.inputs = inputs, .input_count = 2};
    for (uint32_t i = 0; i < COUNT; i++)
        x[i] = i * 2654435761u;
    snprintf(text, sizeof text, text_of, row[0], row[1], leave);
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    conform_check(c, row[0], program, &arguments, CONFORM_PIPELINE);
    conform_check(c, row[0], program, &arguments, CONFORM_STOPPABLE);
    conform_check(c, row[0], program, &arguments, CONFORM_DIRECT);
    conform_check(c, row[0], program, &arguments, CONFORM_DIRECT); /* with what was measured */
    vyre_program_release(program);
}

static void parts_of_few_workgroups_have_the_oracles_bits(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"1", "5"},          {"3", "2"},       {"33", "2"},  {"64", "3"},
                                          {"1000", "1"},       {"16, 8", "1"},   {"32", "1"},  {"128", "4"},
                                          {"3, 5, 7", "1, 2"}, {"4, 4, 4", "2"}, {"256", "1"}, {"1024", "1"}};
    static const char *const leaves[] = {"", "if s & 255 == 9 { break }", "if s & 1023 == 77 { trap k }"};
    static conform c;
    setenv("VYRE_CPU_THREADS", "8", 1);
    conform_open(&c, "cpu");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        run(&c, rows[i], leaves[i % 3]);
    unsetenv("VYRE_CPU_THREADS");
    assert_true(c.trapped > 0);
    conform_close(&c);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_few_workgroups_have_the_oracles_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
