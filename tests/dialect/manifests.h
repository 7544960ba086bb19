/* Tests of manifests in files: a folder of their own for each test, and questions to the registry. */
#ifndef VY_TEST_DIALECT_MANIFESTS_H
#define VY_TEST_DIALECT_MANIFESTS_H

#include "base/file.h"
#include "support/test.h"
#include "vyre/manifest.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- folders ---- */

static inline int manifests_setup(void **state) {
    char pattern[] = "/tmp/vyre-manifests-XXXXXX";
    *state = mkdtemp(pattern) ? strdup(pattern) : NULL;
    return *state ? 0 : -1;
}

static inline int manifests_remove(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)about, (void)kind, (void)where;
    return remove(path);
}

static inline int manifests_teardown(void **state) {
    nftw(*state, manifests_remove, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}
#define MANIFESTS_TEST(test) cmocka_unit_test_setup_teardown(test, manifests_setup, manifests_teardown)

static inline void manifests_folder(const char *folder, const char *name) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* In place: empty first, then whole. */
static inline void manifests_write(const char *folder, const char *name, const char *text) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
}

/* Another file under the same name. */
static inline void manifests_swap(const char *folder, const char *name, const char *text) {
    char path[600], beside[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(beside, sizeof beside, "%s/.new", folder);
    manifests_write(folder, ".new", text);
    assert_int_equal(rename(beside, path), 0);
}

static inline void manifests_unlink(const char *folder, const char *name) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(unlink(path), 0);
}

static inline void manifests_unload(const char *folder, const char *name) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(vyre_dialects_unload(path, NULL), VYRE_OK);
}

/* ---- the registry ---- */

static inline int manifests_has(const char *id) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    int has = vyre_dialects_find(guard, id, strlen(id)) != NULL;
    vyre_dialects_release(&guard);
    return has;
}

/* NULL if there is no such dialect. Valid until the next call. */
static inline const char *manifests_version(const char *dialect) {
    static char version[64];
    vyre_dialects_guard guard = vyre_dialects_acquire();
    const vyre_dialect *found = vyre_dialects_dialect(guard, dialect, strlen(dialect));
    if (found)
        snprintf(version, sizeof version, "%s", found->version);
    vyre_dialects_release(&guard);
    return found ? version : NULL;
}

static inline uint64_t manifests_generation(void) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    uint64_t generation = vyre_dialects_generation(guard);
    vyre_dialects_release(&guard);
    return generation;
}

static inline vyre_status manifests_clear(vyre_dialect_builder *builder, void *user, vyre_error *error) {
    (void)user, (void)error;
    vyre_dialect_builder_clear(builder);
    return VYRE_OK;
}

/* An empty registry. */
static inline vyre_status manifests_reset(void) {
    return vyre_dialects_update(manifests_clear, NULL, NULL);
}

#endif
