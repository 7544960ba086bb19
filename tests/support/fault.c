#include "support/fault.h"
#include "support/test.h"

#include <stdatomic.h>

/* Before each block: its size, and a mark that is cleared on release, so that a second release is seen. */
typedef struct header {
    size_t size, mark;
} header;
#define MARK ((size_t)0x5a5aa5a5c3c33c3c)
_Static_assert(sizeof(header) % _Alignof(max_align_t) == 0, "what follows the header is aligned");

static atomic_size_t live_blocks, live_bytes, peak_bytes, allocations, mismatches;
/* counter counts down to the failing allocation; keep_failing makes all later ones fail too. */
static atomic_long countdown;
static atomic_int armed, keep_failing, delivered;

static int fails(void) {
    atomic_fetch_add(&allocations, 1);
    if (!atomic_load(&armed))
        return 0;
    long left = atomic_fetch_sub(&countdown, 1);
    int failing = left == 1 || (left < 1 && atomic_load(&keep_failing));
    if (failing)
        atomic_store(&delivered, 1);
    return failing;
}

static void account(size_t added) {
    size_t now = atomic_fetch_add(&live_bytes, added) + added;
    size_t peak = atomic_load(&peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, now)) {
    }
}

static void *fault_allocate(void *user, size_t size) {
    (void)user;
    if (fails())
        return NULL;
    header *block = malloc(sizeof *block + size);
    if (!block)
        return NULL;
    *block = (header){size, MARK};
    memset(block + 1, 0xa5, size); /* nobody may rely on zeros */
    atomic_fetch_add(&live_blocks, 1);
    account(size);
    return block + 1;
}

static header *header_of(void *memory, size_t size) {
    header *block = (header *)memory - 1;
    if (block->mark != MARK || block->size != size)
        atomic_fetch_add(&mismatches, 1);
    return block;
}

static void fault_release(void *user, void *memory, size_t size) {
    (void)user;
    header *block = header_of(memory, size);
    atomic_fetch_sub(&live_bytes, block->size);
    atomic_fetch_sub(&live_blocks, 1);
    block->mark = 0;
    memset(memory, 0xdd, block->size); /* who still looks finds nothing he could take for his own */
    __asm__ volatile("" : : "r"(memory) : "memory");
    free(block);
}

/* Always moves, so that a pointer kept from before is found out. Shrinking may fail as growing may. */
static void *fault_resize(void *user, void *memory, size_t old_size, size_t new_size) {
    void *moved = fault_allocate(user, new_size);
    if (!moved)
        return NULL;
    size_t held = header_of(memory, old_size)->size;
    memcpy(moved, memory, held < new_size ? held : new_size);
    fault_release(user, memory, held);
    return moved;
}

void vy_fault_install(void) {
    static const vyre_allocator allocator = {NULL, fault_allocate, fault_resize, fault_release};
    atomic_store(&live_blocks, 0);
    atomic_store(&live_bytes, 0);
    atomic_store(&peak_bytes, 0);
    atomic_store(&allocations, 0);
    atomic_store(&mismatches, 0);
    atomic_store(&armed, 0);
    vyre_allocator_set(&allocator);
}

void vy_fault_remove(void) {
    atomic_store(&armed, 0);
    vyre_allocator_set(NULL);
}

static void arm(size_t k, int keep) {
    atomic_store(&delivered, 0);
    atomic_store(&keep_failing, keep);
    atomic_store(&countdown, (long)k);
    atomic_store(&armed, k > 0);
}

void vy_fault_start(size_t k) {
    arm(k, 0);
}

void vy_fault_start_all(size_t k) {
    arm(k, 1);
}

int vy_fault_stop(void) {
    atomic_store(&armed, 0);
    return atomic_exchange(&delivered, 0);
}

size_t vy_fault_live_blocks(void) {
    return atomic_load(&live_blocks);
}

size_t vy_fault_live_bytes(void) {
    return atomic_load(&live_bytes);
}

size_t vy_fault_peak_bytes(void) {
    return atomic_load(&peak_bytes);
}

size_t vy_fault_allocations(void) {
    return atomic_load(&allocations);
}

size_t vy_fault_mismatches(void) {
    return atomic_load(&mismatches);
}

typedef struct attempt {
    vyre_status status;
    int faulted;
} attempt;

/* One run; fails the test if it leaks, misstates a size or answers what it must not. */
static attempt try_once(vyre_status (*body)(void *user), void *user, size_t k, int keep, int may_survive) {
    size_t blocks = vy_fault_live_blocks(), wrong = vy_fault_mismatches();
    arm(k, keep);
    attempt result;
    result.status = body(user);
    result.faulted = vy_fault_stop();
    if (vy_fault_live_blocks() != blocks)
        fail_msg("%zd blocks leaked when allocation %zu%s failed (status %s)",
                 (ssize_t)(vy_fault_live_blocks() - blocks), k, keep ? " and all later ones" : "",
                 vyre_status_name(result.status));
    if (vy_fault_mismatches() != wrong)
        fail_msg("a block was released with another size than its own, or twice, when allocation %zu failed", k);
    int fine = result.faulted ? result.status == VYRE_NO_MEMORY || (may_survive && result.status == VYRE_OK)
                              : result.status == VYRE_OK;
    if (!fine)
        fail_msg("status %s when allocation %zu%s failed%s", vyre_status_name(result.status), k,
                 keep ? " and all later ones" : "", result.faulted ? "" : " (it was never reached)");
    return result;
}

size_t vy_fault_loop(vyre_status (*body)(void *user), void *user, int may_survive) {
    vy_fault_install();
    size_t count = 0;
    while (try_once(body, user, count + 1, 0, may_survive).faulted)
        count++;
    for (size_t k = 1; k <= count; k++)
        try_once(body, user, k, 1, may_survive);
    vy_fault_remove();
    return count;
}
