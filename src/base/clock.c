/* Deadlines of threads (clock.h). */
#include "base/clock.h"

#include "base/status.h"

static _Thread_local vy_deadline_scope own; /* zeros: no deadline */

vy_deadline_scope vy_deadline_begin(uint64_t deadline_ns) {
    vy_deadline_scope before = own;
    if (deadline_ns && (!before.deadline_ns || deadline_ns < before.deadline_ns))
        own = (vy_deadline_scope){deadline_ns, before.deadline_ns ? before.begun_ns : vy_clock_now()};
    return before;
}

void vy_deadline_end(vy_deadline_scope before) {
    own = before;
}

uint64_t vy_deadline(void) {
    return own.deadline_ns;
}

vyre_status vy_deadline_check(const char *program, const char *step, vyre_error *error) {
    if (!own.deadline_ns)
        return VYRE_OK;
    uint64_t now = vy_clock_now();
    if (now < own.deadline_ns)
        return VYRE_OK;
    return vy_fail(error, VYRE_TIMEOUT,
                   "raise the timeout, or compile the program before with a longer one (vyre_compile)",
                   "`%s` was not compiled at its deadline: it was before step `%s`, %.3f s after the compile had begun",
                   program, step, (double)(now - own.begun_ns) / 1e9);
}
