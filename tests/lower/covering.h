/* A covering array of the switches of a numerics profile: few profiles in which every two switches meet in all four
 * ways. What legalisation does for a missing bit often depends on a second one, and hardly ever on a third. */
#ifndef VY_TESTS_LOWER_COVERING_H
#define VY_TESTS_LOWER_COVERING_H

#include "lower/runner.h"

enum { COVERING_MOST = 64 };

typedef struct covering {
    profile rows[COVERING_MOST];
    char names[COVERING_MOST][40];
    unsigned count;
    uint8_t met[VYRE_NUMERIC_COUNT][VYRE_NUMERIC_COUNT]; /* [i][j], i < j: bit 2 * value of i + value of j */
} covering;

static inline unsigned pair_of(uint64_t exact, unsigned i, unsigned j) {
    return 1u << (2 * (exact >> i & 1) + (exact >> j & 1));
}

static inline unsigned new_pairs(const covering *c, uint64_t exact) {
    unsigned n = 0;
    for (unsigned i = 0; i < VYRE_NUMERIC_COUNT; i++)
        for (unsigned j = i + 1; j < VYRE_NUMERIC_COUNT; j++)
            n += !(c->met[i][j] & pair_of(exact, i, j));
    return n;
}

static inline void covering_add(covering *c, uint64_t exact) {
    assert_true(c->count < COVERING_MOST);
    snprintf(c->names[c->count], sizeof c->names[0], "covering %u: %" PRIx64, c->count, exact);
    c->rows[c->count] = (profile){c->names[c->count], exact};
    c->count++;
    for (unsigned i = 0; i < VYRE_NUMERIC_COUNT; i++)
        for (unsigned j = i + 1; j < VYRE_NUMERIC_COUNT; j++)
            c->met[i][j] |= (uint8_t)pair_of(exact, i, j);
}

/* A candidate: the switches in any order, each set to what makes more new pairs with those before it. */
static inline uint64_t candidate(const covering *c, vy_random *random) {
    unsigned order[VYRE_NUMERIC_COUNT];
    uint64_t exact = 0;
    for (unsigned i = 0; i < VYRE_NUMERIC_COUNT; i++) {
        unsigned at = (unsigned)vy_random_below(random, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (unsigned k = 0; k < VYRE_NUMERIC_COUNT; k++) {
        unsigned gain[2] = {0, 0}, i = order[k];
        for (unsigned value = 0; value < 2; value++)
            for (unsigned l = 0; l < k; l++) {
                uint64_t with = exact | (uint64_t)value << i;
                unsigned low = i < order[l] ? i : order[l], high = i < order[l] ? order[l] : i;
                gain[value] += !(c->met[low][high] & pair_of(with, low, high));
            }
        uint64_t one = gain[0] == gain[1] ? vy_random_below(random, 2) : gain[1] > gain[0];
        exact |= one << i;
    }
    return exact;
}

/* The best of some candidates, again and again: the same rows in every run. A row without 64-bit integers, which
 * refuses much, comes once more with them. */
static inline const covering *covering_rows(void) {
    static covering c;
    vy_random random = vy_random_start(31);
    if (c.count)
        return &c;
    for (;;) {
        uint64_t best = 0;
        unsigned most = 0;
        for (int i = 0; i < 100; i++) {
            uint64_t exact = candidate(&c, &random);
            unsigned n = new_pairs(&c, exact);
            if (n > most) {
                most = n;
                best = exact;
            }
        }
        if (!most)
            break;
        covering_add(&c, best);
    }
    for (unsigned i = 0, n = c.count; i < n; i++)
        if (!(c.rows[i].exact & BIT(INT64)))
            covering_add(&c, c.rows[i].exact | BIT(INT64));
    return &c;
}

#endif
