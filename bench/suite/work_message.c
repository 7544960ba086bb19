/* Work of kernels that read one message, record or query per invocation. */
#include "peer_c/peer.h"
#include "work.h"

enum { LONGEST = 256, STATES = 64, SEED = 42 };

/* Arrays 0 and 1: bytes, and the start of each of the n messages (up to 255 bytes). The bytes end with a word of zeros,
 * so that reads of whole words are in bounds. */
static int messages(work *w, uint64_t seed) {
    uint32_t *offsets;
    size_t total = 0;
    uint64_t state = seed;
    for (size_t i = 0; i < w->n; i++)
        total += work_random(&state) % LONGEST;
    work_random_bytes(work_array(w, ROLE_INPUT, total / 4 * 4 + 8), total, seed + 1);
    offsets = work_array(w, ROLE_INPUT, (w->n + 1) * 4);
    state = seed;
    for (size_t i = 0; offsets && i < w->n; i++)
        offsets[i + 1] = offsets[i] + work_random(&state) % LONGEST;
    w->bytes = (double)total + 4 * (double)w->n;
    return offsets != NULL;
}

static int hash(work *w, uint64_t seed, const char *name, size_t size, const uint32_t *word) {
    if (!messages(w, seed))
        return 0;
    work_array(w, ROLE_OUTPUT, w->n * size);
    step *s = work_step(w, name, name, (int[]){0, 1, 2, -1}, w->n, 64);
    if (word)
        work_word(s, *word);
    work_word(s, (uint32_t)w->n);
    w->bytes += (double)size * (double)w->n;
    return work_done(w);
}

int make_fnv1a(work *w) {
    return hash(w, 20, "fnv1a", 8, NULL);
}

void plain_fnv1a(const work *w, void *const *arrays) {
    peer_fnv1a(w->n, arrays[0], arrays[1], arrays[2]);
}

int make_xxh32(work *w) {
    return hash(w, 22, "xxh32", 4, &(uint32_t){SEED});
}

void plain_xxh32(const work *w, void *const *arrays) {
    peer_xxh32(w->n, SEED, arrays[0], arrays[1], arrays[2]);
}

int make_sha256(work *w) {
    return hash(w, 24, "sha256", 32, NULL);
}

void plain_sha256(const work *w, void *const *arrays) {
    peer_sha256(w->n, arrays[0], arrays[1], arrays[2]);
}

/* A random automaton of 64 states; the last accepts, and one step in 4096 leads to it. */
int make_dfa(work *w) {
    uint64_t seed = 26;
    if (!messages(w, 27))
        return 0;
    uint16_t *table = work_array(w, ROLE_INPUT, STATES * 256 * sizeof *table);
    for (size_t i = 0; table && i < (size_t)STATES * 256; i++)
        table[i] = (uint16_t)(work_random(&seed) % 4096 == 0 ? STATES - 1 : work_random(&seed) % (STATES - 1));
    uint32_t *rules = work_array(w, ROLE_INPUT, STATES * sizeof *rules);
    if (rules)
        rules[STATES - 1] = 7;
    work_array(w, ROLE_OUTPUT, w->n * 4);
    work_array(w, ROLE_OUTPUT, w->n * 4);
    step *s = work_step(w, "dfa", "dfa", (int[]){0, 1, 2, 3, 4, 5, -1}, w->n, 64);
    work_word(s, (uint32_t)w->n);
    w->bytes += 8 * (double)w->n;
    return work_done(w);
}

void plain_dfa(const work *w, void *const *arrays) {
    peer_dfa(w->n, arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], arrays[5]);
}

/* n keys, and as many queries, but no more than 2^18. */
static size_t queries(const work *w) {
    return w->n < 1 << 18 ? w->n : 1 << 18;
}

int make_search(work *w) {
    uint64_t seed = 30;
    int64_t *keys = work_array(w, ROLE_INPUT, w->n * 8), key = -1000;
    for (size_t i = 0; keys && i < w->n; i++)
        keys[i] = key += work_random(&seed) % 64;
    int64_t *wanted = work_array(w, ROLE_INPUT, queries(w) * 8);
    for (size_t i = 0; wanted && i < queries(w); i++)
        wanted[i] = (int64_t)(work_random(&seed) % (uint32_t)(key + 2000)) - 1000;
    work_array(w, ROLE_OUTPUT, queries(w) * 4);
    step *s = work_step(w, "search", "search", (int[]){0, 1, 2, -1}, queries(w), 64);
    work_word(s, (uint32_t)w->n);
    work_word(s, (uint32_t)queries(w));
    w->bytes = 8 * (double)w->n + 12 * (double)queries(w);
    return work_done(w);
}

void plain_search(const work *w, void *const *arrays) {
    peer_search(w->n, queries(w), arrays[0], arrays[1], arrays[2]);
}
