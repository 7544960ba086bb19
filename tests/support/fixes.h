/* Fixes of diagnostics that a C test triggers: tests/tool/fixes lists them in its cases with the option `elsewhere`. */
#ifndef VY_TEST_SUPPORT_FIXES_H
#define VY_TEST_SUPPORT_FIXES_H

#include "base/file.h"
#include "support/test.h"

/* Fails unless tests/tool/fixes/FILE.fix has this fix in a case `= CODE elsewhere …`, or no such case: then the command
 * can trigger the code, and a case applies the fix. */
static inline void fixes_expect(const char *file, const char *code, const char *fix) {
    char path[128], head[32];
    vyre_bytes bytes = VYRE_BYTES_INIT;
    int is_case = 0, is_listed = 0, has_case = 0;

    snprintf(path, sizeof path, "tests/tool/fixes/%s.fix", file);
    snprintf(head, sizeof head, "= %s elsewhere ", code);
    assert_int_equal(vy_file_read(vy_test_path(path), SIZE_MAX, &bytes, NULL), VYRE_OK);
    assert_int_equal(vyre_bytes_resize(&bytes, bytes.size + 1, NULL), VYRE_OK);
    for (const char *line = bytes.data; *line; line += strcspn(line, "\n") + (line[strcspn(line, "\n")] != 0)) {
        size_t length = strcspn(line, "\n");
        if (*line == '=')
            has_case |= is_case = strncmp(line, head, strlen(head)) == 0;
        if (is_case && strncmp(line, "fix: ", 5) == 0 && strlen(fix) == length - 5)
            is_listed |= memcmp(line + 5, fix, length - 5) == 0;
    }
    vyre_bytes_free(&bytes);
    if (has_case && !is_listed)
        fail_msg("%s: the case of %s does not list this fix\nfix: %s", path, code, fix);
}

#endif
