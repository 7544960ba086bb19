/* The build of a module, which is a part of the keys of backends in plug-ins. */
#include "driver/cache.h"
#include "driver/pipeline_forms.h"

#include <dlfcn.h>

static vyre_digest build_of(const void *code) {
    vyre_digest build;
    vy_module_build_id(code, &build);
    return build;
}

static int same(vyre_digest a, vyre_digest b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static void every_address_of_a_module_names_it(void **state) {
    (void)state;
    static int variable;
    static const int constant = 3;
    const void *own = (const void *)(uintptr_t)every_address_of_a_module_names_it;
    assert_true(same(build_of(own), build_of(&variable)));
    assert_true(same(build_of(own), build_of(&constant)));
    assert_false(same(build_of(own), build_of(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"))));
}

static void address_of_no_module_is_zeros(void **state) {
    (void)state;
    static const vyre_digest zeros;
    void *memory = calloc(1, 10);
    int local = 0;
    assert_true(same(build_of(memory), zeros));
    assert_true(same(build_of(&local), zeros));
    assert_true(same(build_of(NULL), zeros));
    assert_false(same(build_of((const void *)(uintptr_t)build_of), zeros));
    free(memory);
}

static vyre_digest build_of_file(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail_msg("%s", dlerror());
    vyre_digest build = build_of(dlsym(handle, "emit"));
    dlclose(handle);
    return build;
}

/* Two equal builds in different places, one with other code, one with another constant. */
static void build_follows_the_contents(const char *flag) {
    static const char *const sources[] = {"return x + table[x & 1];", "return x + table[x & 1];",
                                          "return x - table[x & 1];", "return x + table[x & 1]; /* */"};
    static const char *const constants[] = {"1, 2", "1, 2", "1, 2", "1, 3"};
    char line[1024];
    vyre_digest builds[4];
    for (int i = 0; i < 4; i++) {
        snprintf(line, sizeof line,
                 "mkdir -p %s/%d && cd %s/%d && printf '%%s' 'static const int table[] = {%s}; int emit(int x); "
                 "int emit(int x) { %s }' > m.c && cc -shared -fPIC %s m.c -o m.so",
                 cache_folder, i, cache_folder, i, constants[i], sources[i], flag);
        assert_int_equal(system(line), 0);
        snprintf(line, sizeof line, "%s/%d/m.so", cache_folder, i);
        builds[i] = build_of_file(line);
    }
    assert_true(same(builds[0], builds[1]));
    for (int i = 1; i < 4; i++)
        for (int j = i + 1; j < 4; j++)
            assert_false(same(builds[i], builds[j]));
}

static void build_id_follows_the_contents(void **state) {
    (void)state;
    if (system("command -v cc >/dev/null") != 0)
        VY_SKIP("cc is missing");
    build_follows_the_contents("-Wl,--build-id=sha1");
}

static void without_build_id_too(void **state) {
    (void)state;
    if (system("command -v cc >/dev/null") != 0)
        VY_SKIP("cc is missing");
    build_follows_the_contents("-Wl,--build-id=none");
}

/* The fake is in this executable; the library's own backends do not count as such. */
static void key_of_a_backend_outside_the_library_has_its_module(void **state) {
    (void)state;
    static const char identity[] = "fake device";
    vyre_numerics_profile numerics = {.struct_size = sizeof numerics};
    uint8_t with_build[sizeof identity - 1 + sizeof numerics.exact + sizeof(vyre_digest)];
    vyre_digest build = build_of((const void *)(uintptr_t)fake_new);
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vy_cache_key key;
    rig r;
    rig_open(&r);
    vyre_pipeline_release(rig_compile(&r));
    memcpy(with_build, identity, sizeof identity - 1);
    vyre_backend_numerics(r.backend, &numerics);
    memcpy(with_build + sizeof identity - 1, &numerics.exact, sizeof numerics.exact);
    memcpy(with_build + sizeof identity - 1 + sizeof numerics.exact, &build, sizeof build);
    vy_cache_parts parts = {.backend = "fake", .identity = {with_build, sizeof with_build}};
    vyre_program_fingerprint(r.c.program, &parts.program);
    vy_cache_key_make(&parts, &key);
    assert_int_equal(vy_disk_cache_load(&key, &bytes), VYRE_OK);
    parts.identity.size = sizeof identity - 1 + sizeof numerics.exact;
    vy_cache_key_make(&parts, &key);
    assert_int_equal(vy_disk_cache_load(&key, &bytes), VYRE_NOT_FOUND);
    vyre_bytes_free(&bytes);
    rig_close(&r);
}

int main(void) {
#define TEST(claim) cmocka_unit_test_setup_teardown(claim, cache_setup, cache_teardown)
    const struct CMUnitTest tests[] = {TEST(every_address_of_a_module_names_it), TEST(address_of_no_module_is_zeros),
                                       TEST(build_id_follows_the_contents), TEST(without_build_id_too),
                                       TEST(key_of_a_backend_outside_the_library_has_its_module)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
