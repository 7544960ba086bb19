/* Guards that live as long as programs (pin.h). */
#include "dialect/program_snapshot.h"

#include "base/status.h"
#include "ir/model.h"

typedef struct snapshot_keepalive {
    vy_keepalive base;
    vyre_dialects_guard guard;
} snapshot_keepalive;

static void release(vy_keepalive *base) {
    snapshot_keepalive *pin = (snapshot_keepalive *)base;
    vyre_dialects_release(&pin->guard);
    vy_release(pin, sizeof *pin);
}

vyre_status vy_program_pin_snapshot(vyre_program *program, vyre_dialects_guard guard, vyre_error *error) {
    snapshot_keepalive *pin = vy_allocate_zero(sizeof *pin);
    if (!pin)
        return vy_fail_memory(error, "keeping the dialects of a program");
    atomic_init(&pin->base.references, 1);
    pin->base.release = release;
    pin->guard = vyre_dialects_retain(guard);
    program->keepalive = &pin->base;
    return VYRE_OK;
}

vyre_dialects_guard vyre_program_dialects(const vyre_program *program) {
    return program && program->keepalive ? ((const snapshot_keepalive *)program->keepalive)->guard
                                         : (vyre_dialects_guard){NULL, NULL};
}
