/* Golden files of emitters: the programs FOLDER/NAME.vyre beside what each becomes. UPDATE_GOLDEN=1 writes them anew;
 * look at the difference before it is committed. */
#ifndef VY_TESTS_EMIT_GOLDEN_H
#define VY_TESTS_EMIT_GOLDEN_H

#include "support/test.h"

#include "base/file.h"
#include "vyre/emit.h"
#include "vyre/text.h"

#include <glob.h>

static inline char *golden_read(const char *path) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    if (vy_file_read(path, SIZE_MAX, &bytes, NULL) != VYRE_OK)
        return NULL;
    char *text = calloc(bytes.size + 1, 1);
    assert_non_null(text);
    memcpy(text, bytes.data, bytes.size);
    vyre_bytes_free(&bytes);
    return text;
}

static inline vyre_program *golden_parse(const char *path) {
    char *text = golden_read(path);
    vyre_module *module = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_parse_options options = {.file = strrchr(path, '/') + 1};
    assert_non_null(text);
    if (vyre_text_parse(text, strlen(text), &options, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s: %s (%s)", path, error.message, error.where);
    vyre_program *program = vyre_program_retain(vyre_module_program(module, 0));
    vyre_module_free(module);
    free(text);
    return program;
}

/* Every program of a folder; at least `least`. */
static inline void golden_each(const char *folder, size_t least,
                               void (*body)(const char *path, vyre_program *program)) {
    glob_t found;
    char pattern[256];
    snprintf(pattern, sizeof pattern, "%s/*.vyre", folder);
    assert_int_equal(glob(vy_test_path(pattern), 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= least);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        vyre_program *program = golden_parse(found.gl_pathv[i]);
        body(found.gl_pathv[i], program);
        vyre_program_release(program);
    }
    globfree(&found);
}

static inline void golden_compare_text(const char *file, const vyre_bytes *made) {
    if (getenv("UPDATE_GOLDEN"))
        assert_int_equal(vy_file_write(file, made->data, made->size, NULL), VYRE_OK);
    char *expected = golden_read(file);
    assert_non_null(expected);
    if (strlen(expected) != made->size || memcmp(expected, made->data, made->size) != 0)
        fail_msg("%s differs from what is emitted:\n%.*s", file, (int)made->size, (const char *)made->data);
    free(expected);
}

static inline void golden_compare(const char *file, vyre_program *program, const char *target,
                                  const vyre_emit_options *options) {
    vyre_bytes made = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_emit(program, target, options, &made, &error) != VYRE_OK)
        fail_msg("%s: %s", file, error.message);
    golden_compare_text(file, &made);
    vyre_bytes_free(&made);
}

#endif
