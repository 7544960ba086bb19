/* The numerics profile: queried, stored, masked, shown, and part of every key. */
#include "driver/fake.h"
#include "vyre/cache.h"
#include "vyre/pipeline.h"

static uint64_t told, tried = 1 << 24;

static void numerics(void *self, vyre_numerics_profile *profile) {
    (void)self;
    assert_int_equal(profile->struct_size, sizeof *profile);
    assert_int_equal(profile->exact, 0);
    profile->exact = told;
    profile->cases = tried;
}

static vyre_backend *open_telling(uint64_t exact) {
    fake *f = fake_new();
    told = exact;
    f->table.numerics = numerics;
    return fake_open(f);
}

static void nothing_is_trusted_unless_the_backend_says_so(void **state) {
    (void)state;
    vyre_backend *backend = fake_open(fake_new());
    vyre_numerics_profile profile = {.struct_size = sizeof profile, .exact = 7, .cases = 7};
    vyre_backend_numerics(backend, &profile);
    assert_int_equal(profile.exact, 0);
    assert_int_equal(profile.cases, 0);
    vyre_backend_release(backend);
}

static void what_the_backend_measured_is_passed_on(void **state) {
    (void)state;
    vyre_backend *backend = open_telling(1 << VYRE_NUMERIC_F32_FMA | 1 << VYRE_NUMERIC_INT64);
    vyre_numerics_profile profile = {.struct_size = sizeof profile};
    vyre_backend_numerics(backend, &profile);
    assert_int_equal(profile.exact, 1 << VYRE_NUMERIC_F32_FMA | 1 << VYRE_NUMERIC_INT64);
    assert_int_equal(profile.cases, 1 << 24);
    vyre_backend_release(backend);
}

static void bits_that_do_not_exist_are_dropped(void **state) {
    (void)state;
    vyre_backend *backend = open_telling(UINT64_MAX);
    vyre_numerics_profile profile = {.struct_size = sizeof profile};
    vyre_backend_numerics(backend, &profile);
    assert_int_equal(profile.exact, (UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1);
    vyre_backend_release(backend);
}

static void an_older_caller_gets_what_it_has_room_for(void **state) {
    (void)state;
    vyre_backend *backend = open_telling(3);
    vyre_numerics_profile profile = {.struct_size = offsetof(vyre_numerics_profile, cases), .cases = 99};
    vyre_backend_numerics(backend, &profile);
    assert_int_equal(profile.exact, 3);
    assert_int_equal(profile.cases, 99);
    vyre_backend_release(backend);
}

static void without_a_measured_case_nothing_is_claimed(void **state) {
    (void)state;
    static const char *const ids[] = {"reference", "cpu"};
    vyre_numerics_profile profile = {.struct_size = sizeof profile};
    tried = 0;
    vyre_backend *backend = open_telling(3);
    vyre_backend_numerics(backend, &profile);
    assert_int_equal(profile.exact, 0);
    assert_int_equal(profile.cases, 0);
    vyre_backend_release(backend);
    tried = 1 << 24;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (vyre_acquire(ids[i], &backend, NULL) != VYRE_OK)
            continue; /* no native code for this machine */
        vyre_backend_numerics(backend, &profile);
        assert_int_equal(profile.exact, 0);
        assert_int_equal(profile.cases, 0);
        vyre_backend_release(backend);
    }
}

static void names_are_distinct(void **state) {
    (void)state;
    for (int i = 0; i < VYRE_NUMERIC_COUNT; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(vyre_numeric_name((vyre_numeric)i), vyre_numeric_name((vyre_numeric)k));
    assert_string_equal(vyre_numeric_name(VYRE_NUMERIC_COUNT), "unknown");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_trusted_unless_the_backend_says_so),
        cmocka_unit_test(what_the_backend_measured_is_passed_on),
        cmocka_unit_test(bits_that_do_not_exist_are_dropped),
        cmocka_unit_test(an_older_caller_gets_what_it_has_room_for),
        cmocka_unit_test(without_a_measured_case_nothing_is_claimed),
        cmocka_unit_test(names_are_distinct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
