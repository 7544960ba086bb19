/* Semantic versions (semver.org 2.0.0): MAJOR.MINOR.PATCH, then -PRERELEASE, then +BUILD. Texts of any size; nothing is
 * allocated and no number is too large. */
#ifndef VY_DIALECT_SEMVER_H
#define VY_DIALECT_SEMVER_H

#include <stddef.h>

/* Whether the text is a version, no byte more and none less. */
int vy_semver_is_valid(const char *text, size_t size);
/* Below, at or above 0 as a comes before, with or after b in the order of precedence; builds do not count. Both are
 * valid versions. */
int vy_semver_compare(const char *a, size_t a_size, const char *b, size_t b_size);

#endif
