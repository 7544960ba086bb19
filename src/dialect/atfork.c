#include "dialect/atfork.h"

#include "dialect/interner.h"
#include "dialect/registry.h"

#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before(void) {
    vy_modules_lock();
    vy_dialects_lock_first();
    (void)pthread_mutex_lock(&vy_op_ids.adding);
    (void)pthread_mutex_lock(&vy_extension_targets.adding);
    vy_hazard_domain_before_fork(&vy_dialects);
}

static void unlock(void) {
    (void)pthread_mutex_unlock(&vy_extension_targets.adding);
    (void)pthread_mutex_unlock(&vy_op_ids.adding);
    vy_dialects_unlock_first();
    vy_modules_unlock();
}

static void after_in_parent(void) {
    unlock();
    vy_hazard_domain_after_fork(&vy_dialects);
}

static void after_in_child(void) {
    vy_hazard_records_after_fork_in_child();
    after_in_parent();
}

/* Without memory for the handlers a child of a process with other threads might find a lock taken; nothing else depends on them. */
static void add_handlers(void) {
    (void)pthread_atfork(before, after_in_parent, after_in_child);
}

void vy_dialects_atfork_install(void) {
    (void)pthread_once(&once, add_handlers);
}
