/* What every test file includes: cmocka with the headers it needs, and where things are. */
#ifndef VY_SUPPORT_TEST_H
#define VY_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vyre/program.h"

/* Ends the running test as skipped, loudly: the total of a run counts lines that start with SKIP. */
#define VY_SKIP(...)                                                                                                   \
    do {                                                                                                               \
        printf("SKIP " __VA_ARGS__);                                                                                   \
        printf("\n");                                                                                                  \
        fflush(stdout);                                                                                                \
        skip();                                                                                                        \
    } while (0)

/* The repository, the test vectors and the command under test. Environment variables of the macros' names
 * (VYRE_SOURCE_DIR, VYRE_VECTORS, VYRE_COMMAND) win over what the build was configured with, so that tests run away
 * from their tree. */
const char *vy_test_source_dir(void);
const char *vy_test_vectors(void); /* may not exist: skip then */
const char *vy_test_command(void);
/* "<repository>/<path>" in a static buffer of the thread. */
const char *vy_test_path(const char *path);

/* How much of a random campaign to run: 1 in `make test`, more in `make campaign` (environment variable
 * VYRE_EFFORT). */
unsigned vy_test_effort(void);

/* The stress of a random program: environment variable VYRE_CAMPAIGN_STRESS, a number, if it is set. */
unsigned vy_test_stress(unsigned otherwise);

/* The first program of a text, retained; a text that does not parse fails the test. */
vyre_program *vy_test_parse(const char *text);

/* 1 in a build with a sanitizer, which is several times slower: random campaigns are shorter there. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VY_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VY_SANITIZED 1
#endif
#endif
#ifndef VY_SANITIZED
#define VY_SANITIZED 0
#endif

/* Random numbers with a seed (VYRE_SEED, else a fixed one), splitmix64: the same everywhere. */
typedef struct vy_random {
    uint64_t state;
} vy_random;
vy_random vy_random_start(uint64_t stream);
uint64_t vy_random_next(vy_random *random);
/* 0 … bound-1; bound > 0. */
uint64_t vy_random_below(vy_random *random, uint64_t bound);

#endif
