/* More than 2^31 elements on backend `cpu`: what depends on the index is right at both ends and beyond the sign bit.
 * The oracle computes a sample of whole workgroups, by the same formula over a small grid: what it would copy for the
 * grid itself is too much. */
#include "backends/conform.h"

#include <unistd.h>

#define COUNT ((UINT64_C(1) << 31) + 17)
enum { GROUP = 256, SAMPLE = 16 * GROUP };

#define FORMULA "u8(i * 2654435761 >> 13) ^ u8(i)"

static uint64_t free_memory(void) {
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu", &kilobytes) == 1)
            break;
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

static void need_memory(void) {
    if (VY_SANITIZED)
        VY_SKIP("the sanitizers' shadows need too much memory");
    if (free_memory() < UINT64_C(6) << 30)
        VY_SKIP("less than 6 GiB of memory are free (%llu MiB)", (unsigned long long)(free_memory() >> 20));
}

/* Workgroups to look at: the first, the last, which is not full, those around 2^31, and any. */
static void choose(uint32_t *indices) {
    const uint64_t groups = (COUNT + GROUP - 1) / GROUP, middle = (UINT64_C(1) << 31) / GROUP;
    const uint64_t ends[] = {0, 1, groups - 1, groups - 2, middle - 1, middle, middle / 2, 2};
    vy_random random = vy_random_start(5);
    for (uint32_t i = 0; i < SAMPLE; i++) {
        uint32_t k = i / GROUP;
        uint64_t group = k < 8 ? ends[k] : i % GROUP ? indices[i - 1] / GROUP : vy_random_below(&random, groups - 1);
        uint64_t index = group * GROUP + i % GROUP;
        indices[i] = (uint32_t)(index < COUNT ? index : COUNT - 1);
    }
}

/* The formula at the sample's indices, by the oracle. */
static void expect(conform *c, const uint32_t *indices) {
    static const char text[] =
        "program sample {\n buffer at : u32 read\n buffer y : u8 write count len(at)\n workgroup 64\n grid over at\n"
        " let i = at[global_id.x]\n if global_id.x < len(y) { y[global_id.x] = " FORMULA " }\n}\n";
    vyre_span input = {indices, SAMPLE * 4};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    assert_int_equal(conform_expect(c, program, &arguments), 1);
    vyre_program_release(program);
}

static void elements_beyond_two_to_the_31_are_written_and_copied(void **state) {
    (void)state;
    static const char made[] =
        "program made {\n buffer y : u8 read_write\n workgroup 256\n grid over y\n let i = global_id.x\n"
        " if i < len(y) { y[i] = " FORMULA " }\n}\n";
    static const char copied[] =
        "program copied {\n buffer x : u8 read\n buffer y : u8 read_write\n workgroup 256\n grid over y\n"
        " let i = global_id.x\n if i < len(y) { y[i] = x[len(x) - 1 - i] }\n}\n";
    static conform c;
    static uint32_t indices[SAMPLE];
    vyre_resident x, y;
    need_memory();
    conform_open(&c, "cpu");
    choose(indices);
    expect(&c, indices);
    const uint8_t *want = c.expected.outputs[0].data;
    assert_int_equal(vyre_resident_allocate(c.backend, COUNT, NULL, &x, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(c.backend, COUNT, NULL, &y, NULL), VYRE_OK);
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = x},
                                 {.kind = VYRE_RESOURCE_RESIDENT, .resident = y}};
    vyre_program *make = conform_parse(made, NULL, 0, NULL), *copy = conform_parse(copied, NULL, 0, NULL);
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_backend_dispatch_resident(c.backend, make, bindings, 1, NULL, NULL, NULL, NULL, &error) != VYRE_OK ||
        vyre_backend_dispatch_resident(c.backend, copy, bindings, 2, NULL, NULL, NULL, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    for (uint32_t i = 0; i < SAMPLE; i++) {
        uint8_t byte = 0, reversed = 0;
        assert_int_equal(vyre_resident_download_at(c.backend, x, indices[i], &byte, 1, NULL), VYRE_OK);
        assert_int_equal(vyre_resident_download_at(c.backend, y, COUNT - 1 - indices[i], &reversed, 1, NULL), VYRE_OK);
        if (byte != want[i] || reversed != want[i])
            fail_msg("element %u is %u, and %u in the copy, instead of %u", indices[i], byte, reversed, want[i]);
    }
    assert_int_equal(vyre_resident_free(c.backend, x, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_free(c.backend, y, NULL), VYRE_OK);
    vyre_program_release(make);
    vyre_program_release(copy);
    conform_close(&c);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(elements_beyond_two_to_the_31_are_written_and_copied)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
