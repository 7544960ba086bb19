/* Semantic versions (semver.org 2.0.0): MAJOR.MINOR.PATCH, then -PRERELEASE, then +BUILD. Texts and numbers may have
 * any size; nothing is allocated. */
#ifndef VY_DIALECT_SEMVER_H
#define VY_DIALECT_SEMVER_H

#include <stddef.h>

/* Whether the complete text is a version. */
int vy_semver_is_valid(const char *text, size_t size);
/* Compares the precedence of two valid versions: negative, 0 or positive. Build metadata is ignored. */
int vy_semver_compare(const char *a, size_t a_size, const char *b, size_t b_size);

#endif
