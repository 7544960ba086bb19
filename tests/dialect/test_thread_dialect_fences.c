/* The same claims as on a kernel without membarrier, where readers use full barriers. */
#define WITH_FENCES 1
#include "dialect/test_thread_dialect.c"
