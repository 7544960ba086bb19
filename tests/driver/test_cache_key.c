/* Keys: every part counts, nothing else does, and no two lists of parts run into one another. */
#include "driver/cache.h"

typedef struct variant {
    vy_cache_parts parts;
    const char *version, *build;
} variant;

static variant plain(void) {
    static const vyre_compile_options options = {.struct_size = sizeof options, .deadline_ns = 1}; /* no part of it */
    variant v = {.parts = {.backend = "cuda", .identity = {"sm_90 driver 1", 14}, .options = &options},
                 .version = "0.1.0",
                 .build = "abc"};
    memset(v.parts.program.bytes, 7, sizeof v.parts.program.bytes);
    return v;
}

static vy_cache_key key_of(const variant *v) {
    vy_cache_key key;
    vy_cache_key_make_for(&v->parts, v->version, v->build, &key);
    return key;
}

static int same(const variant *a, const variant *b) {
    vy_cache_key left = key_of(a), right = key_of(b);
    return memcmp(&left, &right, sizeof left) == 0;
}

static void equal_parts_give_equal_keys(void **state) {
    (void)state;
    char backend[] = "cuda", identity[] = "sm_90 driver 1";
    variant a = plain(), b = plain();
    b.parts.backend = backend;
    b.parts.identity.data = identity;
    assert_true(same(&a, &b));
    b.parts.options = NULL;
    assert_true(same(&a, &b));
}

static void every_part_changes_the_key(void **state) {
    (void)state;
    static const vyre_compile_options cancellable = {.struct_size = sizeof cancellable, .cancellable = 1};
    variant a = plain(), all[7];
    for (int i = 0; i < 7; i++)
        all[i] = plain();
    all[0].parts.backend = "vulkan";
    all[1].parts.identity = (vyre_span){"sm_90 driver 2", 14};
    all[2].parts.options = &cancellable;
    all[3].version = "0.1.1";
    all[4].build = "abd";
    all[5].parts.program.bytes[31] ^= 1;
    all[6].parts.identity = (vyre_span){NULL, 0};
    for (int i = 0; i < 7; i++) {
        assert_false(same(&a, &all[i]));
        for (int j = 0; j < i; j++)
            assert_false(same(&all[i], &all[j]));
    }
}

static void every_bit_of_the_program_changes_the_key(void **state) {
    (void)state;
    variant a = plain();
    for (int bit = 0; bit < 256; bit++) {
        variant b = plain();
        b.parts.program.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(same(&a, &b));
    }
}

static void bytes_that_move_between_neighbours_change_the_key(void **state) {
    (void)state;
    static const struct {
        const char *version, *build, *backend, *identity;
    } rows[] = {{"a", "bc", "d", "ef"}, {"ab", "c", "d", "ef"}, {"abc", "", "d", "ef"}, {"a", "bcd", "", "ef"},
                {"a", "bc", "de", "f"}, {"a", "bc", "def", ""}, {"a", "bc", "", "def"}, {"", "abc", "d", "ef"}};
    enum { ROWS = sizeof rows / sizeof *rows };
    variant all[ROWS];
    for (int i = 0; i < ROWS; i++) {
        all[i] = plain();
        all[i].version = rows[i].version;
        all[i].build = rows[i].build;
        all[i].parts.backend = rows[i].backend;
        all[i].parts.identity = (vyre_span){rows[i].identity, strlen(rows[i].identity)};
        for (int j = 0; j < i; j++)
            assert_false(same(&all[i], &all[j]));
    }
}

static void values_that_change_places_change_the_key(void **state) {
    (void)state;
    variant a = plain(), b = plain();
    a.version = b.build = "one";
    a.build = b.version = "two";
    assert_false(same(&a, &b));
    a = plain(), b = plain();
    a.parts.backend = "one";
    a.parts.identity = (vyre_span){"two", 3};
    b.parts.backend = "two";
    b.parts.identity = (vyre_span){"one", 3};
    assert_false(same(&a, &b));
}

static void identity_may_hold_zeros(void **state) {
    (void)state;
    variant a = plain(), b = plain();
    a.parts.identity = (vyre_span){"x\0y", 3};
    b.parts.identity = (vyre_span){"x\0z", 3};
    assert_false(same(&a, &b));
    b.parts.identity.size = 2;
    assert_false(same(&a, &b));
}

static void key_is_of_this_version_and_build(void **state) {
    (void)state;
    variant a = plain();
    vy_cache_key own;
    vy_cache_key_make(&a.parts, &own);
    a.version = vyre_version();
    a.build = vy_cache_build();
    vy_cache_key same_key = key_of(&a);
    assert_memory_equal(&own, &same_key, sizeof own);
    assert_int_equal(strlen(vy_cache_build()), 64);
    assert_int_equal(strspn(vy_cache_build(), "0123456789abcdef"), 64);
}

/* The build identity depends on the sources: a scratch tree of two files represents them. */
static void build_identity_follows_contents_and_names_alone(void **state) {
    (void)state;
    if (access(vy_test_path("cmake/VyreBuild.cmake"), R_OK) != 0)
        VY_SKIP("cmake/VyreBuild.cmake is not here");
    char folder[] = "/tmp/vyre-build-XXXXXX", line[2048];
    if (system("command -v cmake >/dev/null") != 0)
        VY_SKIP("cmake is missing");
    assert_non_null(mkdtemp(folder));
    snprintf(line, sizeof line,
             "cd %s && run() { cmake -DROOT=$PWD/$1 -DLIST=$PWD/list -DHEADER=$PWD/$2 -P '%s' 2>&1; } && "
             "mkdir a b && printf 'x.c;y.h' > list && echo 1 > a/x.c && echo 2 > a/y.h && cp a/* b && "
             "run a one && run b two && cmp one two && "
             "echo 3 > b/y.h && run b two && ! cmp -s one two && "
             "echo 2 > b/x.c && echo 1 > b/y.h && run b two && ! cmp -s one two",
             folder, vy_test_path("cmake/VyreBuild.cmake"));
    assert_int_equal(system(line), 0);
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    assert_int_equal(system(line), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_parts_give_equal_keys),
        cmocka_unit_test(every_part_changes_the_key),
        cmocka_unit_test(every_bit_of_the_program_changes_the_key),
        cmocka_unit_test(bytes_that_move_between_neighbours_change_the_key),
        cmocka_unit_test(values_that_change_places_change_the_key),
        cmocka_unit_test(identity_may_hold_zeros),
        cmocka_unit_test(key_is_of_this_version_and_build),
        cmocka_unit_test(build_identity_follows_contents_and_names_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
