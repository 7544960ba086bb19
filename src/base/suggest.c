/* Spelling suggestions: the optimal string alignment distance (insert, delete, replace, transpose), case-insensitive.
 *
 * A suggestion becomes a fix, so a different word must not be close: `sin` is not a typo of `min`, `gpu` not of `cpu`,
 * `atomic_inc` not of `atomic_and`. Hence a replacement costs two in words of up to three letters, and words with the
 * same number of parts between underscores are compared part by part, each with the tolerance for its length. */
#include "base/suggest.h"

#include <stdint.h>
#include <string.h>

#define LONGEST (sizeof((vy_suggestion *)0)->best - 1)

static char fold(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The largest distance at which a word of this length counts as a typo: 0 for one letter, since every letter would be
 * close. */
static unsigned tolerance(size_t length) {
    return length < 2 ? 0 : length < 6 ? 1 : length < 9 ? 2 : 3;
}

static unsigned smallest(unsigned a, unsigned b, unsigned c) {
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Optimal string alignment distance; `replace` is the cost of a replacement. */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length, unsigned replace) {
    unsigned rows[3][LONGEST + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (unsigned j = 0; j <= b_length; j++)
        above[j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            char x = fold(a[i - 1]), y = fold(b[j - 1]);
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y ? replace : 0));
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

/* The distance of two words, regardless of their parts; UINT32_MAX if it exceeds the tolerance. */
static unsigned word_distance(const char *given, size_t given_length, const char *word, size_t length) {
    unsigned limit = tolerance(given_length);
    if (length == 0 || given_length == 0 || length > given_length + limit || given_length > length + limit)
        return length == given_length ? 0 : UINT32_MAX;
    unsigned distance = edit_distance(given, given_length, word, length, given_length < 4 ? 2 : 1);
    return distance <= limit && distance < length ? distance : UINT32_MAX;
}

static size_t part_count(const char *word, size_t length) {
    size_t count = 1;
    for (size_t i = 0; i < length; i++)
        count += word[i] == '_';
    return count;
}

static size_t part_length(const char *part, size_t length) {
    const char *end = memchr(part, '_', length);
    return end ? (size_t)(end - part) : length;
}

/* The sum of the distances of the parts of two words with equally many parts. */
static unsigned part_distance(const char *given, size_t given_length, const char *word, size_t length) {
    unsigned sum = 0;
    for (size_t left = part_count(given, given_length); left > 0; left--) {
        size_t a = part_length(given, given_length), b = part_length(word, length);
        unsigned distance = word_distance(given, a, word, b);
        if (distance == UINT32_MAX)
            return distance;
        sum += distance;
        given += a + (left > 1);
        given_length -= a + (left > 1);
        word += b + (left > 1);
        length -= b + (left > 1);
    }
    return sum;
}

void vy_suggestion_start(vy_suggestion *suggestion, const char *given, size_t length) {
    *suggestion = (vy_suggestion){.given = given, .given_length = length, .distance = UINT32_MAX};
}

void vy_suggestion_offer(vy_suggestion *suggestion, const char *candidate) {
    size_t length = strlen(candidate), given = suggestion->given_length;
    if (length == 0 || length > LONGEST || given == 0 || given > LONGEST)
        return;
    unsigned distance = part_count(suggestion->given, given) == part_count(candidate, length)
                            ? part_distance(suggestion->given, given, candidate, length)
                            : word_distance(suggestion->given, given, candidate, length);
    if (distance == UINT32_MAX)
        return;
    /* Doubled, so that a difference in case alone counts as half an edit. */
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
