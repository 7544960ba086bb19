/* Spelling suggestions by edit distance. */
#ifndef VY_BASE_SUGGEST_H
#define VY_BASE_SUGGEST_H

#include <stddef.h>

/* Finds the candidate with the smallest edit distance to `given` that is small enough for a typo. Candidates are
 * offered one by one. */
typedef struct vy_suggestion {
    const char *given;
    size_t given_length;
    char best[64];
    unsigned distance;
} vy_suggestion;
void vy_suggestion_start(vy_suggestion *suggestion, const char *given, size_t length);
void vy_suggestion_offer(vy_suggestion *suggestion, const char *candidate);
const char *vy_suggestion_get(const vy_suggestion *suggestion); /* NULL if no candidate is close enough */

#endif
