/* A profiler's side of NVTX, written from the interface alone: notes for each thread what it was told. VYRE_TEST_NVTX
 * says what is odd about it. It also has the two functions of libnvToolsExt. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

typedef void function(void);
typedef const void *give_table(uint32_t table);
typedef struct callbacks {
    size_t size;
    int (*module)(uint32_t module, function ****table, unsigned *size);
} callbacks;
typedef struct version {
    size_t size;
    uint32_t version, reserved;
    void (*set)(uint32_t version);
} version;

EXPORTED int InitializeInjectionNvtx2(give_table *give);
EXPORTED int nvtxRangePushA(const char *name);
EXPORTED int nvtxRangePop(void);
EXPORTED const char *nvtx_tool_seen(void);
EXPORTED int nvtx_tool_starts(void);
EXPORTED void nvtx_tool_attach(int has_domains);
EXPORTED void nvtx_tool_detach(void);

static _Thread_local char seen[4096];
static _Thread_local int depth;
static atomic_int starts;
static char domain_name[16];
static function ***core, ***core2;

/* ---- what the test asks ---- */

const char *nvtx_tool_seen(void) {
    return seen;
}

int nvtx_tool_starts(void) {
    return atomic_load(&starts);
}

/* ---- what is called ---- */

static void note(const char *what, const char *name) {
    size_t used = strlen(seen);
    snprintf(seen + used, sizeof seen - used, "%s%s%s", what, name, depth > 0 ? "\n" : "!\n");
}

static int push(const char *name) {
    depth++;
    note("push ", name);
    return depth - 1;
}

static int pop(void) {
    note("pop", "");
    return --depth;
}

static void *make_domain(const char *name) {
    snprintf(domain_name, sizeof domain_name, "%s", name);
    return domain_name;
}

static int push_in(void *domain, const void *range) {
    struct {
        uint16_t version, size;
        uint32_t words[5];
        uint64_t payload;
        int32_t message_kind;
        const char *message;
    } r;
    char name[128];
    memcpy(&r, range, sizeof r);
    int is_plain = r.version == 3 && r.size == 48 && r.message_kind == 1 && r.payload == 0;
    for (int i = 0; i < 5; i++)
        is_plain &= r.words[i] == 0;
    snprintf(name, sizeof name, "%s@%s", !is_plain ? "damaged" : domain ? (const char *)domain : "", r.message);
    return push(name);
}

static int pop_in(void *domain) {
    if (domain && domain != domain_name)
        note("pop of another domain", "");
    return pop();
}

int nvtxRangePushA(const char *name) {
    depth++;
    note("old push ", name);
    return 0;
}

int nvtxRangePop(void) {
    note("old pop", "");
    depth--;
    return 0;
}

/* ---- starting ---- */

void nvtx_tool_attach(int has_domains) {
    *core[9] = (function *)push;
    *core[11] = (function *)pop;
    if (has_domains) {
        *core2[4] = (function *)push_in;
        *core2[5] = (function *)pop_in;
        *core2[12] = (function *)make_domain;
    }
}

void nvtx_tool_detach(void) {
    *core[9] = *core[11] = *core2[4] = *core2[5] = NULL;
}

/* The length of every module, from 1 on, the NULL in front counted; what there is none of is refused. */
static int are_tables_right(give_table *give, const callbacks *c) {
    static const unsigned sizes[] = {0, 16, 9, 15, 7, 16, 7};
    const version *v = give(3);
    int right = v && v->size == sizeof *v && v->version == 3 && !give(0) && !give(2) && !give(4);
    right = right && !c->module(0, NULL, NULL) && !c->module(7, NULL, NULL) && !c->module(UINT32_MAX, NULL, NULL);
    for (uint32_t m = 1; m < 7 && right; m++) {
        function ***table;
        unsigned size;
        right = c->module(m, &table, &size) && size == sizes[m] && !table[0] && !table[size];
        for (unsigned i = 1; i < size && right; i++)
            right = table[i] != NULL;
    }
    if (right)
        v->set(3);
    return right;
}

int InitializeInjectionNvtx2(give_table *give) {
    const char *given = getenv("VYRE_TEST_NVTX"), *odd = given ? given : "";
    const callbacks *c = give(1);
    unsigned size;
    atomic_fetch_add(&starts, 1);
    if (!c || c->size < sizeof *c || !c->module(1, &core, &size) || !c->module(5, &core2, &size))
        return 0;
    if (strcmp(odd, "asks") == 0 && !are_tables_right(give, c))
        return 0;
    if (strcmp(odd, "half") == 0)
        *core[9] = (function *)push;
    else if (strcmp(odd, "later") != 0)
        nvtx_tool_attach(strcmp(odd, "plain") != 0);
    return strcmp(odd, "refuses") != 0;
}
