/* NVTX ranges: finding a profiler's library, and the injection protocol of NVTX 3 (nvtx.h). */
#include "backends/cuda/nvtx.h"

#include "base/diagnostics.h"
#include "base/trusted_path.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- NVTX 3: the tables that a profiler fills ----
 *
 * A profiler names its library in NVTX_INJECTION64_PATH. A program that has ranges opens the library and calls its
 * InitializeInjectionNvtx2 with a function that returns tables. The profiler stores its callbacks through them.
 *
 * The numbers are those of version 3 of the interface: numbers of tables, modules and functions never change, and new
 * ones are appended. All modules have their full length, because a profiler may fill all of them without checking which
 * functions are called. Functions that it leaves empty are not called.
 *
 * The state is static, because no function of the protocol has an argument for it. */

enum { VERSION = 3 };
enum { TABLE_CALLBACKS = 1, TABLE_VERSION = 3 };

/* X(number, name, number of functions) */
#define MODULE_LIST(X)                                                                                                 \
    X(1, CORE, 15)                                                                                                     \
    X(2, CUDA, 8)                                                                                                      \
    X(3, OPENCL, 14)                                                                                                   \
    X(4, CUDART, 6)                                                                                                    \
    X(5, CORE2, 15)                                                                                                    \
    X(6, SYNC, 6)

enum {
#define X(number, name, count) name = number,
    MODULE_LIST(X)
#undef X
        MODULE_COUNT,
    FUNCTION_MOST = 15
};

static const unsigned counts[MODULE_COUNT] = {
#define X(number, name, count) [name] = (count),
    MODULE_LIST(X)
#undef X
};

/* Numbers of the functions that are called here. */
enum { CORE_PUSH = 9, CORE_POP = 11 };
enum { CORE2_PUSH = 4, CORE2_POP = 5, CORE2_DOMAIN = 12 };

typedef void function(void); /* a generic function type; cast to the actual type for a call */

/* Indexed by module and function number, from 1. The profiler receives their addresses, between two NULLs. */
static function *functions[MODULE_COUNT][FUNCTION_MOST + 1];
static function **addresses[MODULE_COUNT][FUNCTION_MOST + 2];

/* ---- what the profiler calls ---- */

static int get_module(uint32_t module, function ****table, unsigned *size) {
    if (module == 0 || module >= MODULE_COUNT)
        return 0;
    if (table)
        *table = addresses[module];
    if (size)
        *size = counts[module] + 1; /* includes the NULL at index 0 */
    return 1;
}

static void set_version(uint32_t version) {
    (void)version;
}

static const void *get_export_table(uint32_t table) {
    static const struct {
        size_t size;
        int (*get_module)(uint32_t module, function ****table, unsigned *size);
    } callbacks = {sizeof callbacks, get_module};
    static const struct {
        size_t size;
        uint32_t version, reserved;
        void (*set_version)(uint32_t version);
    } version = {sizeof version, VERSION, 0, set_version};
    return table == TABLE_CALLBACKS ? &callbacks : table == TABLE_VERSION ? (const void *)&version : NULL;
}

/* Attributes of a range in a domain. */
typedef struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_kind;
    uint32_t color;
    int32_t payload_kind, reserved;
    uint64_t payload;
    int32_t message_kind;
    const char *message;
} attributes;
static_assert(sizeof(void *) != 8 || sizeof(attributes) == 48, "the layout is NVTX's");
enum { MESSAGE_ASCII = 1 };

/* ---- ranges ---- */

/* The destinations of a thread's open ranges, two bits each, the innermost in the lowest bits: a range that began
 * before the profiler stored its functions is not ended in the profiler. Ranges nest two deep at most: a dispatch in a
 * sequence. */
enum { NOWHERE, PLAIN, IN_DOMAIN, WHERE_BITS = 2, WHERE_MASK = 3 };
static _Thread_local uint64_t begun;

/* Created when the library is opened. NULL, the unnamed default domain, if the profiler does not support domains at
 * that time. */
static void *domain;

/* Read again for each range, because a profiler may store its functions after the initialisation. CUPTI does so when it
 * has no subscriber yet. */
static function *stored(unsigned module, unsigned number) {
    return __atomic_load_n(&functions[module][number], __ATOMIC_ACQUIRE);
}

static int push(const char *name) {
    function *plain = stored(CORE, CORE_PUSH), *in_domain = stored(CORE2, CORE2_PUSH);
    unsigned where = NOWHERE;
    if (in_domain && stored(CORE2, CORE2_POP))
        where = IN_DOMAIN;
    else if (plain && stored(CORE, CORE_POP))
        where = PLAIN;
    begun = begun << WHERE_BITS | where;
    if (where == IN_DOMAIN) {
        const attributes range = {
            .version = VERSION, .size = sizeof range, .message_kind = MESSAGE_ASCII, .message = name};
        return ((int (*)(void *, const attributes *))in_domain)(domain, &range);
    }
    return where == PLAIN ? ((int (*)(const char *))plain)(name) : -1;
}

static int pop(void) {
    function *plain = stored(CORE, CORE_POP), *in_domain = stored(CORE2, CORE2_POP);
    unsigned where = begun & WHERE_MASK;
    begun >>= WHERE_BITS;
    if (where == IN_DOMAIN && in_domain)
        return ((int (*)(void *))in_domain)(domain);
    return where == PLAIN && plain ? ((int (*)(void))plain)() : -1;
}

/* ---- opening ---- */

static void lay_out(void) {
    for (unsigned module = 1; module < MODULE_COUNT; module++)
        for (unsigned i = 1; i <= counts[module]; i++)
            addresses[module][i] = &functions[module][i];
}

/* Opens the profiler's library, which stays open, and lets it store its functions, now or later. Returns 1 on success:
 * each range calls the functions stored when it begins, in a domain "vyre" if the profiler supports domains. Returns 0
 * if the library cannot be used, with the reason in `problem`. At most once per process, because the profiler keeps the
 * addresses of the tables. */
static int nvtx_injection_open(const char *file, vy_cuda_nvtx *nvtx, char *problem, size_t size) {
    int (*start)(const void *(*get_export_table)(uint32_t table)) = NULL;
    vyre_error error;
    *nvtx = (vy_cuda_nvtx){NULL, NULL};
    if (vy_trusted_library_check(file, "library of NVTX_INJECTION64_PATH", &error) != VYRE_OK) {
        snprintf(problem, size, "%s", error.message);
        return 0;
    }
    /* Lazy binding, which profilers expect. The library stays loaded even if its initialisation fails, since it may
     * have started threads. */
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *why = dlerror();
        snprintf(problem, size, "the library of NVTX_INJECTION64_PATH cannot be opened: %s", why ? why : file);
        return 0;
    }
    void *symbol = dlsym(library, "InitializeInjectionNvtx2");
    dlclose(library);
    if (!symbol) {
        snprintf(problem, size, "the library of NVTX_INJECTION64_PATH has no InitializeInjectionNvtx2: %s", file);
        return 0;
    }
    memcpy(&start, &symbol, sizeof symbol);
    lay_out();
    if (!start(get_export_table)) {
        snprintf(problem, size, "the library of NVTX_INJECTION64_PATH does not want to start: %s", file);
        return 0;
    }
    function *make_domain = stored(CORE2, CORE2_DOMAIN);
    domain = make_domain ? ((void *(*)(const char *))make_domain)("vyre") : NULL;
    *nvtx = (vy_cuda_nvtx){push, pop};
    return 1;
}

/* ---- finding the library ---- */

/* Opened once: a profiler initialised twice would count every range twice. */
static pthread_once_t found_once = PTHREAD_ONCE_INIT;
static vy_cuda_nvtx found;

static void open_library(const char *file) {
    vyre_error error;
    if (vy_trusted_library_check(file, "library of VYRE_NVTX_LIBRARY", &error) != VYRE_OK) {
        vy_log(1, "cuda", error.message);
        return;
    }
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return;
    void *push = dlsym(library, "nvtxRangePushA"), *pop = dlsym(library, "nvtxRangePop");
    if (push && pop) {
        memcpy(&found.push, &push, sizeof push);
        memcpy(&found.pop, &pop, sizeof pop);
    }
    dlclose(library); /* it stays loaded (RTLD_NODELETE) */
}

static void find_library(void) {
    const char *injection = secure_getenv("NVTX_INJECTION64_PATH"), *file = secure_getenv("VYRE_NVTX_LIBRARY");
    char problem[512];
    if (!injection || !*injection)
        open_library(file && *file ? file : "libnvToolsExt.so.1");
    else if (!nvtx_injection_open(injection, &found, problem, sizeof problem))
        vy_log(1, "cuda", problem);
}

void vy_cuda_nvtx_open(vy_cuda_nvtx *nvtx) {
    pthread_once(&found_once, find_library);
    *nvtx = found;
}
