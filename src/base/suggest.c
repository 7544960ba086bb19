/* Spelling suggestions: the optimal string alignment distance (insert, delete, replace, swap neighbours), letters
 * compared without their case. */
#include "base/text.h"

#define LONGEST (sizeof((vy_suggestion *)0)->best - 1)

static char fold(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* How many mistakes a word of this length may hold and still be recognised: none in one letter, since every letter
 * would be near. */
static unsigned tolerance(size_t length) {
    return length < 2 ? 0 : length < 6 ? 1 : length < 9 ? 2 : 3;
}

static unsigned smallest(unsigned a, unsigned b, unsigned c) {
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    unsigned rows[3][LONGEST + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (unsigned j = 0; j <= b_length; j++)
        above[j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            char x = fold(a[i - 1]), y = fold(b[j - 1]);
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == fold(b[j - 2]) && fold(a[i - 2]) == y && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_length];
}

void vy_suggestion_start(vy_suggestion *suggestion, const char *given, size_t length) {
    *suggestion = (vy_suggestion){.given = given, .given_length = length, .distance = UINT32_MAX};
}

void vy_suggestion_offer(vy_suggestion *suggestion, const char *candidate) {
    size_t length = strlen(candidate), given = suggestion->given_length;
    unsigned limit = tolerance(given);
    if (length == 0 || length > LONGEST || given == 0 || given > LONGEST)
        return;
    if (length > given + limit || given > length + limit)
        return;
    unsigned distance = edit_distance(suggestion->given, given, candidate, length);
    if (distance > limit || distance >= length)
        return;
    /* Doubled, so that case alone counts as half a mistake. */
    int same = length == given && memcmp(suggestion->given, candidate, length) == 0;
    distance = 2 * distance + (same ? 0 : 1);
    if (distance >= suggestion->distance)
        return;
    suggestion->distance = distance;
    memcpy(suggestion->best, candidate, length + 1);
}

const char *vy_suggestion_get(const vy_suggestion *suggestion) {
    return suggestion->best[0] ? suggestion->best : NULL;
}
