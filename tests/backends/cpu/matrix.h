/* The conformance matrix of backend `cpu`: every ISA level that the host can execute, with every number of lanes.
 *
 * Code for a level runs on every higher one, so that a host also tests the levels below its own. A level that
 * VYRE_CPU_ISA names when the test starts counts as the host's: `VYRE_CPU_ISA=x86-64-v3 make test` tests what a machine
 * without AVX-512 tests. Architectures without levels have one row. */
#ifndef VY_TESTS_CPU_MATRIX_H
#define VY_TESTS_CPU_MATRIX_H

#include "backends/conform.h"

#include "base/cpu_features.h"

#include <stdlib.h>

/* MATRIX_SPLIT: programs with more registers to a vector take long to compile. They are left to random programs, which
 * are short there, and to VYRE_EFFORT. */
enum { MATRIX_SPLIT = 4 };
enum { MATRIX_LEVELS = VY_CPU_LEVEL_COUNT, MATRIX_WIDTHS = 6, MATRIX_CELLS = MATRIX_LEVELS * MATRIX_WIDTHS };

typedef struct matrix_cell {
    const char *level; /* NULL on an architecture without levels */
    uint32_t width;    /* 0: what fits the program */
    uint32_t split;    /* registers that a vector of 32-bit lanes takes; for width 0 the most it may take */
    char settings[128];
} matrix_cell;

typedef struct matrix {
    matrix_cell cells[MATRIX_CELLS]; /* by level from the lowest, then by width */
    size_t count, levels;
} matrix;

/* Once, before the environment is changed: it reads VYRE_CPU_ISA. A program that does not compile with the lanes of its
 * cell fails from here on, instead of being compiled with fewer. */
static inline void matrix_start(matrix *m) {
    static const uint32_t widths[MATRIX_WIDTHS] = {4, 8, 16, 32, 64, 0};
    const char *setting = getenv("VYRE_CPU_ISA");
    vyre_error error = VYRE_ERROR_INIT;
    uint64_t host;
    if (vy_cpu_isa_restrict(setting && *setting ? setting : NULL, vy_cpu_features(), &host, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    setenv("VYRE_COMPILER_FALLBACK", "0", 1);
    *m = (matrix){0};
    for (unsigned level = 0; level < MATRIX_LEVELS; level++) {
        uint64_t features = vy_cpu_level_features(level);
        const char *name = vy_cpu_level_name(level);
        if (features & ~host) {
            if (level > 0)
                break;
            features = host;
            name = NULL;
        }
        for (size_t i = 0; i < MATRIX_WIDTHS; i++) {
            matrix_cell *cell = &m->cells[m->count++];
            uint32_t fits = vy_cpu_width(features);
            *cell = (matrix_cell){.level = name, .width = widths[i], .split = 4};
            if (widths[i])
                cell->split = widths[i] > fits ? widths[i] / fits : 1;
            snprintf(cell->settings, sizeof cell->settings, "%s%s%sVYRE_CPU_WIDTH=%u", name ? "VYRE_CPU_ISA=" : "",
                     name ? name : "", name ? " " : "", widths[i]);
        }
        m->levels++;
        if (!name)
            break;
    }
}

/* Acquires the backend as a machine of the cell has it, and restores the environment. Skips the test where there is
 * no backend. */
static inline void matrix_open(conform *c, const matrix_cell *cell) {
    char width[16], *before = getenv("VYRE_CPU_ISA"), level[32] = "";
    snprintf(level, sizeof level, "%s", before ? before : "");
    snprintf(width, sizeof width, "%u", cell->width);
    if (cell->level)
        setenv("VYRE_CPU_ISA", cell->level, 1);
    setenv("VYRE_CPU_WIDTH", width, 1);
    conform_open(c, "cpu");
    unsetenv("VYRE_CPU_WIDTH");
    setenv("VYRE_CPU_ISA", level, 1); /* empty is as not set */
}

/* Tests a part of a list on each cell below the host's own level, whose cells are tested in full: `part` takes row
 * `first` and every step-th from there. With VYRE_EFFORT each cell takes all rows. With sanitizers, which neither LLVM
 * nor the code it makes has inside, every third cell is left out. */
typedef void matrix_part(conform *c, size_t first, size_t step);
static inline void matrix_lower_levels(matrix_part *part, size_t step) {
    static conform c;
    static matrix m;
    matrix_start(&m);
    for (size_t i = 0; i + MATRIX_WIDTHS < m.count; i++) {
        if (vy_test_effort() == 1 && (m.cells[i].split > MATRIX_SPLIT || (VY_SANITIZED && i % 3 == 0)))
            continue;
        matrix_open(&c, &m.cells[i]);
        if (vy_test_effort() > 1)
            part(&c, 0, 1);
        else
            part(&c, i % step, step);
        conform_close(&c);
    }
}

/* The names of all levels, for VYRE_CPU_ISA; returns how many there are. */
static inline size_t matrix_levels(const char *names[MATRIX_LEVELS]) {
    static matrix m;
    matrix_start(&m);
    for (size_t i = 0; i < m.levels; i++)
        names[i] = m.cells[i * MATRIX_WIDTHS].level ? m.cells[i * MATRIX_WIDTHS].level : "host";
    return m.levels;
}

#endif
