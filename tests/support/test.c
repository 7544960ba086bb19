#include "support/test.h"

#include "vyre/text.h"

#include <dirent.h>
#include <time.h>

/* Threads of calls that were abandoned or cancelled end when they do, which may be while the process exits; the leak
 * checker then looks into a thread that is going away. */
static int thread_count(void) {
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count;
}

/* ThreadSanitizer starts one of its own beside the first, which does not end. */
#if defined(__SANITIZE_THREAD__)
enum { THREADS_LEFT = 2 };
#elif defined(__has_feature)
enum { THREADS_LEFT = 1 + __has_feature(thread_sanitizer) };
#else
enum { THREADS_LEFT = 1 };
#endif

static void await_threads(void) {
    for (int i = 0; i < 2000 && thread_count() > THREADS_LEFT; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

__attribute__((constructor)) static void await_threads_at_exit(void) {
    atexit(await_threads);
}

static const char *environment_or(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

const char *vy_test_source_dir(void) {
    return environment_or("VYRE_SOURCE_DIR", VYRE_SOURCE_DIR);
}

const char *vy_test_vectors(void) {
    return environment_or("VYRE_VECTORS", VYRE_VECTORS_DEFAULT);
}

const char *vy_test_command(void) {
    return environment_or("VYRE_COMMAND", VYRE_COMMAND);
}

const char *vy_test_path(const char *path) {
    static _Thread_local char buffer[4096];
    snprintf(buffer, sizeof buffer, "%s/%s", vy_test_source_dir(), path);
    return buffer;
}

unsigned vy_test_effort(void) {
    long effort = strtol(environment_or("VYRE_EFFORT", "1"), NULL, 10);
    return effort < 1 ? 1 : effort > 100000 ? 100000 : (unsigned)effort;
}

unsigned vy_test_stress(unsigned otherwise) {
    const char *stress = environment_or("VYRE_CAMPAIGN_STRESS", "");
    return *stress ? (unsigned)strtoul(stress, NULL, 0) : otherwise;
}

vyre_program *vy_test_parse(const char *text) {
    vyre_module *module;
    vyre_error error;
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s (%s)\n%s", error.message, error.where, text);
    vyre_program *program = vyre_program_retain(vyre_module_program(module, 0));
    vyre_module_free(module);
    return program;
}

vy_random vy_random_start(uint64_t stream) {
    uint64_t seed = strtoull(environment_or("VYRE_SEED", "1"), NULL, 0);
    vy_random random = {seed * UINT64_C(0xd1342543de82ef95) + stream};
    vy_random_next(&random);
    return random;
}

uint64_t vy_random_next(vy_random *random) {
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t vy_random_below(vy_random *random, uint64_t bound) {
    return vy_random_next(random) % bound;
}

/* ---- leaks of others ---- */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_LEAK_CHECK 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_LEAK_CHECK 1
#endif

#ifdef HAS_LEAK_CHECK
/* Called by LeakSanitizer. PoCL keeps its devices, and the compiler in it, to the end of the process. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libpocl.so\nleak:libOpenCL.so\nleak:libclang-cpp.so\nleak:libLLVM-15.so\n";
}
#endif
