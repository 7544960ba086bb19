/* Guards that live as long as programs (pin.h). */
#include "dialect/pin.h"

#include "base/status.h"
#include "ir/model.h"

typedef struct dialect_pin {
    vy_keepalive base;
    vyre_dialects_guard guard;
} dialect_pin;

static void release(vy_keepalive *base) {
    dialect_pin *pin = (dialect_pin *)base;
    vyre_dialects_release(&pin->guard);
    vy_release(pin, sizeof *pin);
}

vyre_status vy_pin_dialects(vyre_program *program, vyre_dialects_guard guard, vyre_error *error) {
    dialect_pin *pin = vy_allocate_zero(sizeof *pin);
    if (!pin)
        return vy_fail_memory(error, "keeping the dialects of a program");
    atomic_init(&pin->base.references, 1);
    pin->base.release = release;
    pin->guard = vyre_dialects_hold(guard);
    program->keepalive = &pin->base;
    return VYRE_OK;
}

vyre_dialects_guard vyre_program_dialects(const vyre_program *program) {
    return program && program->keepalive ? ((const dialect_pin *)program->keepalive)->guard
                                         : (vyre_dialects_guard){NULL, NULL};
}
