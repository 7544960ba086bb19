/* Programs are resolved, inlined and run while their ops are replaced: each is made of one snapshot. For
 * ThreadSanitizer too. */
#include "support/test.h"

#include "vyre/manifest.h"
#include "vyre/oracle.h"

#include <pthread.h>
#include <stdatomic.h>

enum { READERS = 3, INSTALLS = 150 };
static atomic_int is_over;
static atomic_uint runs;
static _Thread_local char said[256];

/* Two ops that fit together, s.times and s.factor; every third manifest has a mistake. */
static int install(unsigned factor) {
    char text[1024];
    vyre_error error;
    int is_bad = factor % 3 == 0;
    int size =
        snprintf(text, sizeof text,
                 "dialect = 's'\nversion = '1.0.0'\n"
                 "[[op]]\nid = 'times'\nsignature = 'fn times(x: u32) -> u32'\n"
                 "body = '''\nfn times(x: u32) -> u32 { let f : u32 = s.factor()\n return x * %uu32 + f - f }\n'''\n"
                 "[[op]]\nid = 'factor'\nsignature = 'fn factor() -> u32'\n"
                 "body = 'fn factor() -> u32 { return %u }'\n%s",
                 factor, factor, is_bad ? "[[op]]\nid = 'half'\n" : "");
    return (vyre_dialects_load_text("the test", text, (size_t)size, NULL, &error) == VYRE_OK) != is_bad;
}

static vyre_status make_flat(vyre_program **out, vyre_error *error) {
    static const char text[] =
        "program p {\n buffer y : u32 read_write\n workgroup 4\n grid over y\n let i = global_id.x\n"
        " y[i] = s.times(y[i]) - s.factor() * y[i]\n}\n";
    vyre_module *module = NULL;
    vyre_program *resolved = NULL;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    vyre_parse_options options = {.op_signature = vyre_dialects_op_signature, .op_signature_user = &guard};
    vyre_status status = vyre_text_parse(text, sizeof text - 1, &options, NULL, &module, error);
    if (status == VYRE_OK)
        status = vyre_program_resolve(vyre_module_program(module, 0), guard, NULL, &resolved, error);
    vyre_dialects_release(&guard);
    vyre_module_free(module);
    if (status == VYRE_OK)
        status = vyre_program_inline(resolved, out, error);
    vyre_program_release(resolved);
    return status;
}

/* Zeros, unless times is of one snapshot and factor of another. */
static int is_whole(void) {
    uint32_t in[4] = {1, 2, 3, 4}, sum = 1;
    vyre_span input = {in, sizeof in};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_oracle *oracle = NULL;
    vyre_oracle_report report;
    vyre_oracle_options options = {.threads = 1};
    vyre_program *flat = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    if (make_flat(&flat, &error) == VYRE_OK && vyre_oracle_new(flat, &oracle, &error) == VYRE_OK &&
        vyre_oracle_run(oracle, &arguments, &options, &out, &report, NULL, &error) == VYRE_OK) {
        const uint32_t *y = out.data;
        sum = y[0] | y[1] | y[2] | y[3];
    }
    snprintf(said, sizeof said, "%.200s", error.message);
    vyre_bytes_free(&out);
    vyre_oracle_free(oracle);
    vyre_program_release(flat);
    return sum == 0;
}

static void *read_all_the_time(void *bad) {
    while (!atomic_load(&is_over)) {
        if (!is_whole())
            snprintf(bad, sizeof said, "torn: %.200s", said);
        atomic_fetch_add(&runs, 1);
    }
    return NULL;
}

static void a_program_is_made_of_one_snapshot(void **state) {
    (void)state;
    pthread_t readers[READERS];
    char bad[READERS][sizeof said] = {{0}};
    assert_true(install(1));
    for (unsigned i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all_the_time, bad[i]), 0);
    int good = 1;
    for (unsigned i = 2; i < INSTALLS || atomic_load(&runs) < INSTALLS; i++)
        good &= install(i);
    atomic_store(&is_over, 1);
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
        assert_string_equal(bad[i], "");
    }
    assert_true(good);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_program_is_made_of_one_snapshot)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
