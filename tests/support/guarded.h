/* Guard pages: memory that ends, or begins, at a page without access. An access outside the memory ends the process. */
#ifndef VY_TESTS_GUARDED_H
#define VY_TESTS_GUARDED_H

#include "support/test.h"

#include <sys/mman.h>

enum { GUARD = 4096 };

typedef struct guarded {
    uint8_t *map, *data;
    size_t size;
} guarded;

static inline guarded guarded_make(uint64_t bytes, int at_end) {
    guarded g = {.size = (bytes + GUARD - 1) / GUARD * GUARD + 2 * GUARD};
    g.map = mmap(NULL, g.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.map != MAP_FAILED);
    memset(g.map, 0xa5, g.size);
    g.data = at_end ? g.map + g.size - GUARD - bytes : g.map + GUARD;
    assert_int_equal(mprotect(g.map, GUARD, PROT_NONE), 0);
    assert_int_equal(mprotect(g.map + g.size - GUARD, GUARD, PROT_NONE), 0);
    return g;
}

static inline void guarded_free(guarded *g) {
    munmap(g->map, g->size);
}

#endif
