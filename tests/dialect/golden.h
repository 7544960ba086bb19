/* Golden files: FOLDER/NAME.toml beside FOLDER/NAME.expected, which holds what is said about it. VYRE_UPDATE=1 writes
 * the expected files anew; look at the difference before it is kept. */
#ifndef VY_DIALECT_GOLDEN_H
#define VY_DIALECT_GOLDEN_H

#include "base/file.h"
#include "base/string.h"
#include "support/test.h"

#include <dirent.h>

/* Says what there is to say about a case. file is its name without the folder, path the whole. */
typedef void golden_describe(const char *file, const char *path, const vyre_bytes *text, vy_string *out);

typedef struct golden_run {
    unsigned cases, wrong;
    vy_string all; /* everything that was said, one case after the other */
} golden_run;

static inline void golden_case(golden_run *run, const char *folder, const char *file, golden_describe *describe) {
    char path[1024], expected_path[1024];
    vyre_bytes text = VYRE_BYTES_INIT, expected = VYRE_BYTES_INIT;
    vy_string given = {0};
    snprintf(path, sizeof path, "%s/%s", folder, file);
    snprintf(expected_path, sizeof expected_path, "%.*s.expected", (int)strlen(path) - 5, path);
    assert_int_equal(vy_file_read(path, SIZE_MAX, &text, NULL), VYRE_OK);
    describe(file, path, &text, &given);
    vy_string_add(&given, "");
    assert_false(given.failed);
    if (getenv("VYRE_UPDATE"))
        assert_int_equal(vy_file_write(expected_path, given.text, given.length, NULL), VYRE_OK);
    vy_file_read(expected_path, SIZE_MAX, &expected, NULL);
    if (expected.size != given.length || (given.length && memcmp(expected.data, given.text, given.length) != 0)) {
        print_message("%s\n--- given ---\n%s--- expected ---\n%.*s", file, given.text ? given.text : "",
                      (int)expected.size, expected.data ? (const char *)expected.data : "");
        run->wrong++;
    }
    run->cases++;
    vy_string_append(&run->all, given.text, given.length);
    vyre_bytes_free(&text);
    vyre_bytes_free(&expected);
    vy_string_free(&given);
}

/* Runs every case of a folder of the repository and fails the test if one differs. */
static inline void golden_folder(golden_run *run, const char *folder, golden_describe *describe) {
    char path[512];
    struct dirent **names;
    snprintf(path, sizeof path, "%s", vy_test_path(folder));
    int count = scandir(path, &names, NULL, alphasort);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        size_t size = strlen(names[i]->d_name);
        if (size > 5 && strcmp(names[i]->d_name + size - 5, ".toml") == 0)
            golden_case(run, path, names[i]->d_name, describe);
        free(names[i]);
    }
    free(names);
    assert_true(run->cases > 0);
    assert_int_equal(run->wrong, 0);
}

/* Fails unless every code from `first` to `last` was said by some case. */
static inline void golden_expect_codes(const golden_run *run, unsigned first, unsigned last) {
    for (unsigned i = first; i <= last; i++) {
        char code[8];
        snprintf(code, sizeof code, "D%03u", i);
        if (!run->all.text || !strstr(run->all.text, code))
            fail_msg("no case shows %s", code);
    }
}

#endif
