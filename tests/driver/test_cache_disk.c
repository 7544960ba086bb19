/* Disk cache: stored payloads are loaded, a damaged entry is a miss and is replaced, and the folder stays within its
 * limit. */
#include "driver/cache.h"

#include "support/fault.h"

#include <sys/socket.h>
#include <sys/un.h>

/* ---- stored payloads are loaded ---- */

static void stored_bytes_come_back(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 31, 32, 33, 4096, 1 << 20};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(cache_load(i, sizes[i]), 0);
        cache_store(i, sizes[i]);
        assert_int_equal(cache_load(i, sizes[i]), 1);
    }
    assert_int_equal(cache_count_names(VY_CACHE_TEMPORARY_PREFIX), 0);
}

static void storing_again_replaces(void **state) {
    (void)state;
    vy_cache_key key = cache_key(1);
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vy_disk_cache_store(&key, "test:a", (vyre_span){"first", 5});
    vy_disk_cache_store(&key, "test:a", (vyre_span){"second", 6});
    assert_int_equal(vy_disk_cache_load(&key, &bytes), VYRE_OK);
    assert_int_equal(bytes.size, 6);
    assert_memory_equal(bytes.data, "second", 6);
    assert_int_equal(cache_count_names(""), 1);
    vyre_bytes_free(&bytes);
}

static void room_of_the_caller_is_used_again(void **state) {
    (void)state;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vy_cache_key large = cache_key(1), small = cache_key(2), none = cache_key(3);
    cache_store(1, 5000);
    cache_store(2, 10);
    assert_int_equal(vy_disk_cache_load(&large, &bytes), VYRE_OK);
    void *before = bytes.data;
    assert_int_equal(vy_disk_cache_load(&small, &bytes), VYRE_OK);
    assert_ptr_equal(bytes.data, before);
    assert_int_equal(bytes.size, 10);
    assert_int_equal(vy_disk_cache_load(&none, &bytes), VYRE_NOT_FOUND);
    assert_int_equal(bytes.size, 0);
    vyre_bytes_free(&bytes);
}

static void files_and_folder_are_for_their_owner_alone(void **state) {
    (void)state;
    char nested[512];
    struct stat facts;
    mode_t before = umask(0);
    snprintf(nested, sizeof nested, "%s/a/b/c//", cache_folder);
    assert_int_equal(vyre_cache_set_folder(nested, NULL), VYRE_OK);
    cache_store(1, 10);
    umask(before);
    assert_int_equal(cache_load(1, 10), 1);
    for (int depth = 0; depth < 3; depth++) {
        *strrchr(nested, '/') = 0;
        while (nested[strlen(nested) - 1] == '/')
            nested[strlen(nested) - 1] = 0;
        assert_int_equal(stat(nested, &facts), 0);
        assert_int_equal(facts.st_mode & 0777, 0700);
    }
    snprintf(nested, sizeof nested, "%s/a/b/c/%s", cache_folder, strrchr(cache_path(1), '/') + 1);
    assert_int_equal(stat(nested, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
}

/* ---- damage is a miss, and heals ---- */

static vyre_bytes slurp(const char *path) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    struct stat facts;
    int file = open(path, O_RDONLY);
    assert_true(file >= 0);
    assert_int_equal(fstat(file, &facts), 0);
    assert_int_equal(vyre_bytes_resize(&bytes, (size_t)facts.st_size, NULL), VYRE_OK);
    assert_int_equal(read(file, bytes.data, bytes.size), bytes.size);
    close(file);
    return bytes;
}

static void spill(const char *path, const void *data, size_t size) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, data, size), size);
    close(file);
}

/* The entry 1 of 8 bytes is in the folder, somehow wrong. */
static void expect_miss_and_healing(void) {
    uint64_t before = cache_stats().rejected;
    assert_int_equal(cache_load(1, 8), 0);
    assert_int_equal(cache_stats().rejected, before + 1);
    assert_int_equal(cache_count_names(""), 0);
    assert_int_equal(cache_load(1, 8), 0);
    assert_int_equal(cache_stats().rejected, before + 1);
    cache_store(1, 8);
    assert_int_equal(cache_load(1, 8), 1);
}

static void every_flipped_bit_is_a_miss(void **state) {
    (void)state;
    cache_store(1, 8);
    vyre_bytes good = slurp(cache_path(1));
    for (size_t bit = 0; bit < good.size * 8; bit++) {
        ((uint8_t *)good.data)[bit / 8] ^= (uint8_t)(1 << bit % 8);
        spill(cache_path(1), good.data, good.size);
        assert_int_equal(cache_load(1, 8), 0);
        assert_int_equal(cache_count_names(""), 0);
        ((uint8_t *)good.data)[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    spill(cache_path(1), good.data, good.size);
    assert_int_equal(cache_load(1, 8), 1);
    vyre_bytes_free(&good);
}

static void every_truncation_is_a_miss(void **state) {
    (void)state;
    cache_store(1, 8);
    vyre_bytes good = slurp(cache_path(1));
    for (size_t size = 0; size < good.size; size++) {
        spill(cache_path(1), good.data, size);
        expect_miss_and_healing();
    }
    vyre_bytes_free(&good);
}

static void appended_bytes_are_a_miss(void **state) {
    (void)state;
    cache_store(1, 8);
    vyre_bytes good = slurp(cache_path(1));
    size_t size = good.size;
    assert_int_equal(vyre_bytes_resize(&good, size + 100, NULL), VYRE_OK);
    for (size_t more = 1; more <= 100; more += 11) {
        spill(cache_path(1), good.data, size + more);
        expect_miss_and_healing();
    }
    vyre_bytes_free(&good);
}

static void zeros_of_the_right_length_are_a_miss(void **state) {
    (void)state;
    cache_store(1, 8);
    vyre_bytes good = slurp(cache_path(1)); /* what a loss of power may leave */
    memset(good.data, 0, good.size);
    spill(cache_path(1), good.data, good.size);
    expect_miss_and_healing();
    vyre_bytes_free(&good);
}

static void entry_under_another_name_is_a_miss(void **state) {
    (void)state;
    cache_store(2, 8);
    char other[512];
    snprintf(other, sizeof other, "%s", cache_path(2));
    assert_int_equal(rename(other, cache_path(1)), 0);
    expect_miss_and_healing();
}

static void file_over_the_limit_is_not_read(void **state) {
    (void)state;
    cache_store(1, 8);
    assert_int_equal(truncate(cache_path(1), (off_t)VY_CACHE_ENTRY_MAX + 1), 0); /* sparse */
    expect_miss_and_healing();
}

/* ---- files of other origin ---- */

static void symbolic_link_is_not_followed(void **state) {
    (void)state;
    char elsewhere[512];
    snprintf(elsewhere, sizeof elsewhere, "%s-elsewhere", cache_folder);
    cache_store(1, 8);
    assert_int_equal(rename(cache_path(1), elsewhere), 0);
    assert_int_equal(symlink(elsewhere, cache_path(1)), 0);
    expect_miss_and_healing();
    assert_int_equal(access(elsewhere, F_OK), 0);

    /* Storing replaces a link; its target is unchanged. */
    spill(elsewhere, "mine", 4);
    assert_int_equal(unlink(cache_path(1)), 0);
    assert_int_equal(symlink(elsewhere, cache_path(1)), 0);
    cache_store(1, 8);
    assert_int_equal(cache_load(1, 8), 1);
    vyre_bytes still = slurp(elsewhere);
    assert_int_equal(still.size, 4);
    vyre_bytes_free(&still);
    unlink(elsewhere);
}

static void pipe_does_not_block(void **state) {
    (void)state;
    assert_int_equal(mkfifo(cache_path(1), 0600), 0);
    expect_miss_and_healing();
}

static void socket_is_a_miss(void **state) {
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s/s", cache_folder);
    assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(rename(address.sun_path, cache_path(1)), 0);
    close(server);
    expect_miss_and_healing();
}

static void folder_in_the_place_of_an_entry_is_a_miss(void **state) {
    (void)state;
    assert_int_equal(mkdir(cache_path(1), 0700), 0);
    assert_int_equal(cache_load(1, 8), 0);
    cache_store(1, 8); /* a folder cannot be replaced by a file: nothing is stored, nothing fails */
    assert_int_equal(cache_load(1, 8), 0);
    assert_int_equal(cache_count_names(VY_CACHE_TEMPORARY_PREFIX), 0);
}

static void entry_that_others_may_write_is_a_miss(void **state) {
    (void)state;
    cache_store(1, 8);
    assert_int_equal(chmod(cache_path(1), 0620), 0);
    expect_miss_and_healing();
    assert_int_equal(chmod(cache_path(1), 0602), 0);
    expect_miss_and_healing();
}

static void entry_of_another_owner_is_a_miss(void **state) {
    (void)state;
    if (geteuid() != 0)
        VY_SKIP("giving a file away needs root");
    cache_store(1, 8);
    assert_int_equal(chown(cache_path(1), 65534, 65534), 0);
    expect_miss_and_healing();
}

/* ---- memory runs out ---- */

static vyre_status store_and_load(void *user) {
    (void)user;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vy_cache_key key = cache_key(1), other = cache_key(2);
    char payload[100] = "payload";
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    vyre_cache_set_disk_limit(10000); /* so small that every store looks through the folder */
    vy_disk_cache_store(&other, "test:label", (vyre_span){payload, sizeof payload});
    vy_disk_cache_store(&key, "test:label", (vyre_span){payload, sizeof payload});
    vyre_status status = vy_disk_cache_load(&key, &bytes);
    int wrong = status == VYRE_OK && (bytes.size != sizeof payload || memcmp(bytes.data, payload, bytes.size) != 0);
    vyre_bytes_free(&bytes);
    return wrong ? VYRE_CORRUPT : status == VYRE_NOT_FOUND ? VYRE_NO_MEMORY : status;
}

static int visit_nothing(void *user, const vyre_cache_entry *entry) {
    (void)user, (void)entry;
    return 0;
}

static vyre_status walk_and_clear(void *user) {
    (void)user;
    const vyre_cache_filter invalid = {.only_invalid = 1};
    vyre_error error;
    vyre_status status = vyre_cache_walk(VYRE_CACHE_READ_ALL, visit_nothing, NULL, &error);
    if (status == VYRE_OK)
        status = vyre_cache_clear(&invalid, NULL, NULL, &error);
    return status;
}

static void failing_allocations_are_misses(void **state) {
    (void)state;
    vy_fault_install();
    assert_true(VY_FAULT_LOOP_LENIENT(store_and_load, NULL) >= 4);
    assert_true(VY_FAULT_LOOP(walk_and_clear, NULL) >= 2);
    vy_fault_remove();
    assert_int_equal(cache_count_names(VY_CACHE_TEMPORARY_PREFIX), 0);
}

int main(void) {
#define TEST(claim) cmocka_unit_test_setup_teardown(claim, cache_setup, cache_teardown)
    const struct CMUnitTest tests[] = {
        TEST(stored_bytes_come_back),
        TEST(storing_again_replaces),
        TEST(room_of_the_caller_is_used_again),
        TEST(files_and_folder_are_for_their_owner_alone),
        TEST(every_flipped_bit_is_a_miss),
        TEST(every_truncation_is_a_miss),
        TEST(appended_bytes_are_a_miss),
        TEST(zeros_of_the_right_length_are_a_miss),
        TEST(entry_under_another_name_is_a_miss),
        TEST(file_over_the_limit_is_not_read),
        TEST(symbolic_link_is_not_followed),
        TEST(pipe_does_not_block),
        TEST(socket_is_a_miss),
        TEST(folder_in_the_place_of_an_entry_is_a_miss),
        TEST(entry_that_others_may_write_is_a_miss),
        TEST(entry_of_another_owner_is_a_miss),
        TEST(failing_allocations_are_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
