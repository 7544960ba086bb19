/* Runs a test that needs an unused registry in a child process. A failed claim is reported by its line number. */
#ifndef VY_TEST_CHILD_H
#define VY_TEST_CHILD_H

#include "support/test.h"

#include <sys/wait.h>
#include <unistd.h>

#define CHILD_CLAIM(claim)                                                                                             \
    do {                                                                                                               \
        if (!(claim)) {                                                                                                \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #claim);                                                         \
            fflush(stdout);                                                                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

static inline void run_in_child(void (*body)(size_t k), size_t k) {
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        body(k);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
