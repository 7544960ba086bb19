#include "base/string.h"
#include "support/test.h"

static void expect_digest(const char *text, const char *hexadecimal) {
    vyre_digest digest;
    char found[65];
    vy_digest(text, strlen(text), &digest);
    vyre_digest_format(&digest, found);
    assert_string_equal(found, hexadecimal);
}

/* Values of `b2sum -l 256`. */
static void the_digest_is_blake2b_256(void **state) {
    (void)state;
    expect_digest("", "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    expect_digest("abc", "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

static void nothing_at_all_has_a_digest(void **state) {
    (void)state;
    vyre_digest a, b;
    vy_digest(NULL, 0, &a);
    vy_digest("x", 0, &b);
    assert_memory_equal(&a, &b, sizeof a);
}

static void the_table_hash_depends_on_bytes_and_length(void **state) {
    (void)state;
    assert_true(vy_hash("abc", 3) == vy_hash("abcd", 3));
    assert_true(vy_hash("abc", 3) != vy_hash("abd", 3));
    assert_true(vy_hash("\0\0", 1) != vy_hash("\0\0", 2));
    assert_true(vy_hash(NULL, 0) == vy_hash("", 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_digest_is_blake2b_256),
        cmocka_unit_test(nothing_at_all_has_a_digest),
        cmocka_unit_test(the_table_hash_depends_on_bytes_and_length),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
