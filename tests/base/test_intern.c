#include "base/intern.h"
#include "base/string.h"
#include "support/fault.h"
#include "support/test.h"

static vy_symbol add(vy_intern_pool *names, const char *text) {
    return vy_intern_pool_add(names, text, strlen(text));
}

static void equal_texts_have_equal_names(void **state) {
    (void)state;
    vy_intern_pool names = {0};
    vy_symbol a = add(&names, "alpha"), b = add(&names, "beta"), prefix = add(&names, "alph");
    assert_int_equal(add(&names, "alpha"), a);
    assert_int_equal(vy_intern_pool_add(&names, "alphabet", 5), a);
    assert_true(a != b && a != prefix && b != prefix);
    assert_string_equal(names.pool + a, "alpha");
    assert_string_equal(names.pool + prefix, "alph");
    assert_int_equal(vy_intern_pool_find(&names, "beta", 4), b);
    assert_int_equal(vy_intern_pool_find(&names, "bet", 3), VY_SYMBOL_INVALID);
    assert_int_equal(vy_intern_pool_find(&names, "pha", 3), VY_SYMBOL_INVALID); /* a tail is no name */
    vy_intern_pool_free(&names);
}

static void the_empty_text_is_name_zero(void **state) {
    (void)state;
    vy_intern_pool names = {0};
    assert_int_equal(vy_intern_pool_find(&names, "", 0), VY_SYMBOL_INVALID);
    assert_int_equal(vy_intern_pool_find(&names, "x", 1), VY_SYMBOL_INVALID);
    assert_int_equal(vy_intern_pool_add(&names, NULL, 0), 0);
    assert_string_equal(names.pool, "");
    assert_int_equal(vy_intern_pool_find(&names, "", 0), 0);
    assert_true(add(&names, "x") > 0);
    assert_int_equal(add(&names, ""), 0);
    vy_intern_pool_free(&names);
    add(&names, "y");
    assert_string_equal(names.pool, "");
    vy_intern_pool_free(&names);
}

static void a_text_ends_at_its_nul(void **state) {
    (void)state;
    vy_intern_pool names = {0};
    assert_int_equal(vy_intern_pool_add(&names, "a\0b", 3), vy_intern_pool_add(&names, "a", 1));
    assert_int_equal(vy_intern_pool_add(&names, "\0b", 2), 0);
    vy_intern_pool_free(&names);
}

static void a_letter_and_a_number_are_the_name_of_that_text(void **state) {
    (void)state;
    vy_intern_pool names = {0};
    vy_symbol first = vy_intern_pool_add_numbered(&names, 'v', 7), seen = add(&names, "v12");
    assert_string_equal(names.pool, "");
    assert_string_equal(names.pool + first, "v7");
    assert_int_equal(add(&names, "v7"), first);
    assert_int_equal(vy_intern_pool_add_numbered(&names, 'v', 12), seen);
    vy_symbol longest = vy_intern_pool_add_numbered(&names, 'w', UINT32_MAX), behind = add(&names, "behind");
    assert_string_equal(names.pool + longest, "w4294967295");
    assert_string_equal(names.pool + behind, "behind");
    vy_intern_pool_free(&names);
}

static void many_names_stay_distinct(void **state) {
    (void)state;
    enum { COUNT = 50000 };
    vy_intern_pool names = {0};
    vy_symbol *given = malloc(COUNT * sizeof *given);
    char text[32];
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "n%d", i * 7919);
        given[i] = add(&names, text);
    }
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "n%d", i * 7919);
        assert_int_equal(vy_intern_pool_find(&names, text, strlen(text)), given[i]);
        assert_string_equal(names.pool + given[i], text);
    }
    assert_int_equal(names.used, COUNT);
    free(given);
    vy_intern_pool_free(&names);
}

static void names_that_there_is_room_for_move_nothing(void **state) {
    (void)state;
    enum { COUNT = 700 };
    vy_intern_pool names = {0};
    char text[8];
    vy_symbol first = add(&names, "first");
    assert_true(vy_intern_pool_reserve_more(&names, COUNT, 4));
    const char *pool = names.pool;
    const vy_intern_slot *slots = names.slots;
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "v%d", i);
        add(&names, text);
    }
    assert_ptr_equal(names.pool, pool);
    assert_ptr_equal(names.slots, slots);
    assert_int_equal(names.used, COUNT + 1);
    assert_int_equal(vy_intern_pool_find(&names, "first", 5), first);
    vy_intern_pool_free(&names);
}

static vyre_status add_some(void *user) {
    int is_numbered = *(const int *)user;
    vy_intern_pool names = {0};
    vyre_status status = VYRE_OK;
    char text[16];
    for (int i = 0; i < 100 && status == VYRE_OK; i++) {
        snprintf(text, sizeof text, "v%d", i);
        vy_symbol name = is_numbered ? vy_intern_pool_add_numbered(&names, 'v', (uint32_t)i) : add(&names, text);
        if (name == VY_SYMBOL_INVALID) {
            status = VYRE_NO_MEMORY;
            /* What was there before is still found. */
            for (int j = 0; j < i; j++) {
                snprintf(text, sizeof text, "v%d", j);
                assert_true(vy_intern_pool_find(&names, text, strlen(text)) != VY_SYMBOL_INVALID);
            }
        }
    }
    vy_intern_pool_free(&names);
    return status;
}

static void a_failed_addition_leaves_the_table_whole(void **state) {
    (void)state;
    for (int is_numbered = 0; is_numbered < 2; is_numbered++)
        assert_true(VY_FAULT_LOOP(add_some, &is_numbered) > 4);
}

static const char *nearest(const char *given, const char *const *candidates) {
    static vy_suggestion suggestion;
    vy_suggestion_start(&suggestion, given, strlen(given));
    for (; *candidates; candidates++)
        vy_suggestion_offer(&suggestion, *candidates);
    return vy_suggestion_get(&suggestion);
}

static void a_typo_finds_its_word(void **state) {
    (void)state;
    static const char *const words[] = {"workgroup", "global_id", "local_id", "min", "max",
                                        "f32",       "u32",       "while",    NULL};
    assert_string_equal(nearest("workgoup", words), "workgroup");
    assert_string_equal(nearest("wrokgroup", words), "workgroup");
    assert_string_equal(nearest("globalid", words), "global_id");
    assert_string_equal(nearest("F32", words), "f32");
    assert_string_equal(nearest("WORKGROUP", words), "workgroup");
    assert_string_equal(nearest("whlie", words), "while");
    assert_string_equal(nearest("mxa", words), "max");
}

static void what_is_not_near_is_not_suggested(void **state) {
    (void)state;
    static const char *const words[] = {"workgroup", "min", "x", "", NULL};
    assert_null(nearest("saxpy", words));
    assert_null(nearest("y", words));
    assert_null(nearest("", words));
    assert_null(nearest("workshop", words));
    char endless[500];
    memset(endless, 'w', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    assert_null(nearest(endless, words));
    const char *const long_words[] = {endless, NULL};
    assert_null(nearest("www", long_words));
}

/* A suggestion is a fix: words that mean something else are not typos. */
static void a_short_word_with_another_letter_is_another_word(void **state) {
    (void)state;
    static const char *const words[] = {"min", "max", "cpu", "atomic_and", "atomic_add", "atomic_min", "x_1", NULL};
    assert_null(nearest("sin", words));
    assert_null(nearest("mix", words));
    assert_null(nearest("gpu", words));
    assert_null(nearest("atomic_inc", words));
    assert_null(nearest("atomic_sub", words));
    assert_null(nearest("x_2", words));
    assert_string_equal(nearest("mi", words), "min");
    assert_string_equal(nearest("fmin", words), "min");
    assert_string_equal(nearest("atmic_add", words), "atomic_add");
    assert_string_equal(nearest("atomc_mni", words), "atomic_min");
}

static void the_nearest_wins_and_the_first_of_equals(void **state) {
    (void)state;
    static const char *const words[] = {"colours", "colour", "Color", "color", NULL};
    assert_string_equal(nearest("color", words), "color");
    assert_string_equal(nearest("colors", words), "colours");
    assert_string_equal(nearest("COLOR", words), "Color");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_have_equal_names),
        cmocka_unit_test(the_empty_text_is_name_zero),
        cmocka_unit_test(a_text_ends_at_its_nul),
        cmocka_unit_test(a_letter_and_a_number_are_the_name_of_that_text),
        cmocka_unit_test(many_names_stay_distinct),
        cmocka_unit_test(names_that_there_is_room_for_move_nothing),
        cmocka_unit_test(a_failed_addition_leaves_the_table_whole),
        cmocka_unit_test(a_typo_finds_its_word),
        cmocka_unit_test(what_is_not_near_is_not_suggested),
        cmocka_unit_test(a_short_word_with_another_letter_is_another_word),
        cmocka_unit_test(the_nearest_wins_and_the_first_of_equals),
    };
    return cmocka_run_group_tests_name("intern", tests, NULL, NULL);
}
