/* Eviction, temporary files of killed writers, iteration and clearing. */
#include "driver/cache.h"

enum { SIZE = 1000, ENTRY = SIZE + VY_CACHE_ENTRY_MIN + 10 };

static uint64_t bytes_in_folder(void) {
    uint64_t total = 0;
    vy_cache_listing listing;
    int folder = open(cache_folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(vy_cache_listing_make(folder, -1, &listing, NULL), VYRE_OK);
    total = listing.total;
    vy_cache_listing_free(&listing);
    close(folder);
    return total;
}

/* ---- the bound ---- */

static void folder_stays_below_its_bound(void **state) {
    (void)state;
    vyre_cache_set_disk_limit(20 * ENTRY);
    for (unsigned i = 0; i < 200; i++) {
        cache_store(i, SIZE);
        assert_true(bytes_in_folder() <= 20 * ENTRY);
        assert_int_equal(cache_load(i, SIZE), 1);
    }
    assert_true(bytes_in_folder() >= 16 * ENTRY);
    assert_true(cache_stats().disk_evictions >= 180);
}

/* So large that not every store looks: the bound is passed by little. */
static void looking_by_chance_keeps_the_bound(void **state) {
    (void)state;
    const uint64_t limit = 640 * ENTRY;
    uint64_t most = 0;
    vyre_cache_set_disk_limit(limit);
    for (unsigned i = 0; i < 2000; i++) {
        cache_store(i, SIZE);
        if (i % 50 == 0) {
            uint64_t now = bytes_in_folder();
            most = now > most ? now : most;
        }
    }
    assert_true(most >= limit - limit / 8);
    assert_true(most <= limit + limit / 8);
}

static void longest_unused_goes_first(void **state) {
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        cache_store(i, SIZE);
        cache_set_age(cache_path(i), 100000 - 1000 * i);
    }
    assert_int_equal(cache_load(0, SIZE), 1); /* used just now */
    vyre_cache_set_disk_limit(8 * ENTRY);
    cache_store(10, SIZE); /* down to seven */
    static const int stays[] = {1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
    for (unsigned i = 0; i < 11; i++)
        assert_int_equal(access(cache_path(i), F_OK) == 0, stays[i]);
}

static void hit_counts_as_use_but_rarely_writes(void **state) {
    (void)state;
    struct stat facts;
    cache_store(1, SIZE);
    cache_set_age(cache_path(1), 500);
    assert_int_equal(cache_load(1, SIZE), 1);
    assert_int_equal(stat(cache_path(1), &facts), 0);
    assert_true(time(NULL) - facts.st_mtime >= 500);
    cache_set_age(cache_path(1), 700);
    assert_int_equal(cache_load(1, SIZE), 1);
    assert_int_equal(stat(cache_path(1), &facts), 0);
    assert_true(time(NULL) - facts.st_mtime < 100);
}

static void entry_over_the_bound_is_not_stored(void **state) {
    (void)state;
    cache_store(1, SIZE);
    vyre_cache_set_disk_limit(ENTRY);
    cache_store(2, SIZE + 1);
    assert_int_equal(cache_load(2, SIZE + 1), 0);
    assert_int_equal(cache_load(1, SIZE), 1);
    vyre_cache_set_disk_limit(0);
    cache_store(3, 0);
    assert_int_equal(cache_load(3, 0), 0);
    assert_int_equal(cache_load(1, SIZE), 1);
}

static void storing_the_same_again_removes_nothing_else(void **state) {
    (void)state;
    vyre_cache_set_disk_limit(4 * ENTRY);
    for (unsigned i = 0; i < 3; i++)
        cache_store(i, SIZE);
    for (unsigned i = 0; i < 50; i++)
        cache_store(2, SIZE);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(cache_load(i, SIZE), 1);
}

static void strange_files_are_left_alone(void **state) {
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s/notes.txt", cache_folder);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(ftruncate(file, 100 * ENTRY), 0);
    close(file);
    vyre_cache_set_disk_limit(2 * ENTRY);
    for (unsigned i = 0; i < 10; i++)
        cache_store(i, SIZE);
    assert_int_equal(cache_load(9, SIZE), 1);
    assert_int_equal(vyre_cache_clear(NULL, NULL, NULL, NULL), VYRE_OK);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(cache_count_names(""), 1);
}

static void make_temporary(const char *name, int64_t age) {
    char path[512];
    snprintf(path, sizeof path, "%s/" VY_CACHE_TEMPORARY_PREFIX "%s", cache_folder, name);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    cache_set_age(path, age);
}

static void old_temporary_files_are_removed(void **state) {
    (void)state;
    make_temporary("1-0", 10);
    make_temporary("2-0", VY_CACHE_TEMPORARY_AGE + 5);
    make_temporary("3-0", 1000000);
    make_temporary("4-0", -1000000);       /* from the future */
    vyre_cache_set_disk_limit(64 * ENTRY); /* every store looks */
    cache_store(1, SIZE);
    assert_int_equal(cache_count_names(VY_CACHE_TEMPORARY_PREFIX), 1);
    assert_int_equal(cache_count_names(VY_CACHE_TEMPORARY_PREFIX "1-0"), 1);
    assert_int_equal(vyre_cache_clear(NULL, NULL, NULL, NULL), VYRE_OK);
    assert_int_equal(cache_count_names(""), 0);
}

/* ---- walking ---- */

typedef struct seen {
    unsigned count, valid, stop_after;
    char keys[16][65];
    char problem[64], pipeline[256];
    uint64_t bytes, created;
} seen;

static int see(void *user, const vyre_cache_entry *entry) {
    seen *seen = user;
    snprintf(seen->keys[seen->count++], 65, "%s", entry->key);
    seen->valid += entry->valid != 0;
    seen->bytes += entry->size;
    seen->created = entry->created;
    assert_int_equal(entry->valid, entry->problem == NULL);
    snprintf(seen->pipeline, sizeof seen->pipeline, "%s", entry->pipeline);
    if (entry->problem)
        snprintf(seen->problem, sizeof seen->problem, "%s", entry->problem);
    return seen->stop_after && seen->count == seen->stop_after;
}

static void damage(unsigned number, off_t offset) {
    int file = open(cache_path(number), O_RDWR);
    uint8_t byte;
    assert_int_equal(pread(file, &byte, 1, offset), 1);
    byte ^= 1;
    assert_int_equal(pwrite(file, &byte, 1, offset), 1);
    close(file);
}

static void walk_visits_all_last_used_first(void **state) {
    (void)state;
    seen seen = {0};
    for (unsigned i = 0; i < 5; i++) {
        cache_store(i, SIZE);
        cache_set_age(cache_path(i), 100 * i);
    }
    assert_int_equal(vyre_cache_walk(VYRE_CACHE_READ_ALL, see, &seen, NULL), VYRE_OK);
    assert_int_equal(seen.count, 5);
    assert_int_equal(seen.valid, 5);
    assert_int_equal(seen.bytes, 5 * ENTRY);
    assert_string_equal(seen.pipeline, "test:label");
    assert_true(seen.created + 100 > (uint64_t)time(NULL));
    for (unsigned i = 0; i < 5; i++)
        assert_non_null(strstr(cache_path(i), seen.keys[i]));
}

static void walk_stops_when_told(void **state) {
    (void)state;
    seen seen = {.stop_after = 2};
    for (unsigned i = 0; i < 5; i++)
        cache_store(i, SIZE);
    assert_int_equal(vyre_cache_walk(VYRE_CACHE_READ_HEADERS, see, &seen, NULL), VYRE_OK);
    assert_int_equal(seen.count, 2);
}

static void heads_show_what_a_glance_shows(void **state) {
    (void)state;
    seen glance = {0}, look = {0};
    cache_store(1, SIZE);
    damage(1, ENTRY - 40); /* in the payload */
    assert_int_equal(vyre_cache_walk(VYRE_CACHE_READ_HEADERS, see, &glance, NULL), VYRE_OK);
    assert_int_equal(glance.valid, 1);
    assert_int_equal(vyre_cache_walk(VYRE_CACHE_READ_ALL, see, &look, NULL), VYRE_OK);
    assert_int_equal(look.valid, 0);
    assert_string_equal(look.problem, "damaged");
    assert_string_equal(look.pipeline, "test:label");
    damage(1, 0);
    assert_int_equal(vyre_cache_walk(VYRE_CACHE_READ_HEADERS, see, &glance, NULL), VYRE_OK);
    assert_int_equal(glance.valid, 1);
    assert_string_equal(glance.problem, "not a cache entry");
    assert_string_equal(glance.pipeline, "");
    assert_int_equal(access(cache_path(1), F_OK), 0); /* a walk removes nothing */
}

static void walk_of_no_folder_is_empty(void **state) {
    (void)state;
    seen seen = {0};
    assert_int_equal(vyre_cache_set_folder("", NULL), VYRE_OK);
    assert_int_equal(vyre_cache_walk(VYRE_CACHE_READ_ALL, see, &seen, NULL), VYRE_OK);
    assert_int_equal(vyre_cache_set_folder("/proc/vyre/none", NULL), VYRE_OK);
    assert_int_equal(vyre_cache_walk(VYRE_CACHE_READ_ALL, see, &seen, NULL), VYRE_OK);
    assert_int_equal(seen.count, 0);
    assert_int_equal(vyre_cache_walk(VYRE_CACHE_READ_ALL, NULL, NULL, NULL), VYRE_INVALID_ARGUMENT);
}

static int clear_while_walking(void *user, const vyre_cache_entry *entry) {
    (void)entry;
    ++*(unsigned *)user;
    return vyre_cache_clear(NULL, NULL, NULL, NULL) != VYRE_OK;
}

static void visitor_may_clear(void **state) {
    (void)state;
    unsigned visits = 0;
    for (unsigned i = 0; i < 3; i++)
        cache_store(i, SIZE);
    assert_int_equal(vyre_cache_walk(VYRE_CACHE_READ_ALL, clear_while_walking, &visits, NULL), VYRE_OK);
    assert_int_equal(visits, 1); /* the others are gone when their turn comes */
}

/* ---- clearing ---- */

static void store_as(unsigned number, const char *label) {
    vy_cache_key key = cache_key(number);
    vy_disk_cache_store(&key, label, (vyre_span){"x", 1});
}

static void clear_takes_what_the_filter_means(void **state) {
    (void)state;
    uint64_t removed, bytes;
    const vyre_cache_filter cuda = {.backend = "cuda"}, invalid = {.only_invalid = 1},
                            both = {.only_invalid = 1, .backend = "cpu"};
    store_as(1, "cuda:aa");
    store_as(2, "cuda:bb");
    store_as(3, "cuda-more:aa");
    store_as(4, "cpu:aa");
    store_as(5, "cpu:bb");
    store_as(6, "cpu:cc");
    damage(5, VY_CACHE_ENTRY_HEAD + 6); /* the payload: the label can be read */
    damage(6, 0);                       /* the magic: it cannot */
    assert_int_equal(vyre_cache_clear(&cuda, &removed, &bytes, NULL), VYRE_OK);
    assert_int_equal(removed, 2);
    assert_int_equal(bytes, 2 * (VY_CACHE_ENTRY_MIN + 8));
    assert_int_equal(cache_count_names(""), 4);
    assert_int_equal(vyre_cache_clear(&both, &removed, &bytes, NULL), VYRE_OK);
    assert_int_equal(removed, 1);
    assert_int_equal(access(cache_path(4), F_OK), 0);
    assert_int_equal(vyre_cache_clear(&invalid, &removed, &bytes, NULL), VYRE_OK);
    assert_int_equal(removed, 1);
    assert_int_equal(vyre_cache_clear(NULL, &removed, &bytes, NULL), VYRE_OK);
    assert_int_equal(removed, 2);
    assert_int_equal(cache_count_names(""), 0);
    assert_int_equal(vyre_cache_clear(NULL, &removed, &bytes, NULL), VYRE_OK);
    assert_int_equal(removed, 0);
    assert_int_equal(bytes, 0);
}

static void what_cannot_be_removed_is_an_error(void **state) {
    (void)state;
    vyre_error error;
    uint64_t removed;
    cache_store(1, SIZE);
    assert_int_equal(mkdir(cache_path(2), 0700), 0);
    assert_int_equal(vyre_cache_clear(NULL, &removed, NULL, &error), VYRE_IO);
    assert_int_equal(removed, 1);
    assert_int_equal(cache_load(1, SIZE), 0);
}

int main(void) {
#define TEST(claim) cmocka_unit_test_setup_teardown(claim, cache_setup, cache_teardown)
    const struct CMUnitTest tests[] = {
        TEST(folder_stays_below_its_bound),
        TEST(looking_by_chance_keeps_the_bound),
        TEST(longest_unused_goes_first),
        TEST(hit_counts_as_use_but_rarely_writes),
        TEST(entry_over_the_bound_is_not_stored),
        TEST(storing_the_same_again_removes_nothing_else),
        TEST(strange_files_are_left_alone),
        TEST(old_temporary_files_are_removed),
        TEST(walk_visits_all_last_used_first),
        TEST(walk_stops_when_told),
        TEST(heads_show_what_a_glance_shows),
        TEST(walk_of_no_folder_is_empty),
        TEST(visitor_may_clear),
        TEST(clear_takes_what_the_filter_means),
        TEST(what_cannot_be_removed_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
