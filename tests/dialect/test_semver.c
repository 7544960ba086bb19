/* Semantic versions: which texts are ones, and their order. */
#include "dialect/manifest.h"
#include "support/test.h"

static int valid(const char *text) {
    return vy_semver_is_valid(text, strlen(text));
}

static int order(const char *a, const char *b) {
    int given = vy_semver_compare(a, strlen(a), b, strlen(b));
    return given < 0 ? -1 : given > 0;
}

/* The lists of semver.org's own regular expression. */
static void versions_are_told_from_other_texts(void **state) {
    static const char *const right[] = {"0.0.4",
                                        "1.2.3",
                                        "10.20.30",
                                        "1.1.2-prerelease+meta",
                                        "1.1.2+meta",
                                        "1.1.2+meta-valid",
                                        "1.0.0-alpha",
                                        "1.0.0-beta",
                                        "1.0.0-alpha.beta",
                                        "1.0.0-alpha.beta.1",
                                        "1.0.0-alpha.1",
                                        "1.0.0-alpha0.valid",
                                        "1.0.0-alpha.0valid",
                                        "1.0.0-alpha-a.b-c-somethinglong+build.1-aef.1-its-okay",
                                        "1.0.0-rc.1+build.1",
                                        "2.0.0-rc.1+build.123",
                                        "1.2.3-beta",
                                        "10.2.3-DEV-SNAPSHOT",
                                        "1.2.3-SNAPSHOT-123",
                                        "1.0.0",
                                        "2.0.0",
                                        "1.1.7",
                                        "2.0.0+build.1848",
                                        "2.0.1-alpha.1227",
                                        "1.0.0-alpha+beta",
                                        "1.2.3----RC-SNAPSHOT.12.9.1--.12+788",
                                        "1.2.3----R-S.12.9.1--.12+meta",
                                        "1.2.3----RC-SNAPSHOT.12.9.1--.12",
                                        "1.0.0+0.build.1-rc.10000aaa-kk-0.1",
                                        "99999999999999999999999.999999999999999999.99999999999999999",
                                        "1.0.0-0A.is.legal"};
    static const char *const wrong[] = {"",
                                        "1",
                                        "1.2",
                                        "1.2.3-0123",
                                        "1.2.3-0123.0123",
                                        "1.1.2+.123",
                                        "+invalid",
                                        "-invalid",
                                        "-invalid+invalid",
                                        "-invalid.01",
                                        "alpha",
                                        "alpha.beta",
                                        "alpha.beta.1",
                                        "alpha.1",
                                        "alpha+beta",
                                        "alpha_beta",
                                        "alpha.",
                                        "alpha..",
                                        "beta",
                                        "1.0.0-alpha_beta",
                                        "-alpha.",
                                        "1.0.0-alpha..",
                                        "1.0.0-alpha..1",
                                        "1.0.0-alpha...1",
                                        "01.1.1",
                                        "1.01.1",
                                        "1.1.01",
                                        "1.2.3.DEV",
                                        "1.2-SNAPSHOT",
                                        "1.2.31.2.3----RC-SNAPSHOT.12.09.1--..12+788",
                                        "1.2-RC-SNAPSHOT",
                                        "-1.0.3-gamma+b7718",
                                        "+justmeta",
                                        "9.8.7+meta+meta",
                                        "9.8.7-whatever+meta+meta",
                                        "1.0.0-",
                                        "1.0.0+",
                                        " 1.0.0",
                                        "1.0.0 ",
                                        "v1.0.0"};
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        if (!valid(right[i]))
            fail_msg("%s is refused", right[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (valid(wrong[i]))
            fail_msg("`%s` is accepted", wrong[i]);
}

/* The two lists of the precedence section, and numbers that do not fit any integer. */
static void precedence_is_that_of_the_standard(void **state) {
    static const char *const rising[] = {"0.9.0",
                                         "1.0.0-1",
                                         "1.0.0-2",
                                         "1.0.0-11",
                                         "1.0.0-alpha",
                                         "1.0.0-alpha.1",
                                         "1.0.0-alpha.beta",
                                         "1.0.0-beta",
                                         "1.0.0-beta.2",
                                         "1.0.0-beta.11",
                                         "1.0.0-rc.1",
                                         "1.0.0",
                                         "1.0.1",
                                         "1.9.0",
                                         "1.10.0",
                                         "1.11.0",
                                         "2.0.0",
                                         "2.1.0",
                                         "2.1.1",
                                         "18446744073709551615.0.0",
                                         "18446744073709551616.0.0"};
    const size_t count = sizeof rising / sizeof *rising;
    (void)state;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (order(rising[i], rising[j]) != (i < j ? -1 : i > j))
                fail_msg("%s against %s gives %d", rising[i], rising[j], order(rising[i], rising[j]));
}

static void builds_do_not_count(void **state) {
    (void)state;
    assert_int_equal(order("1.0.0+a", "1.0.0+b"), 0);
    assert_int_equal(order("1.0.0-rc.1+a", "1.0.0-rc.1"), 0);
    assert_int_equal(order("1.0.0+zzz", "1.0.1"), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_told_from_other_texts),
        cmocka_unit_test(precedence_is_that_of_the_standard),
        cmocka_unit_test(builds_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
