/* Its initialiser fails. */
#include "fake.h"

static vyre_status refuse(const vyre_host *host, vyre_error *error) {
    return host->fail(error, VYRE_UNSUPPORTED, "buy the hardware", "the fake hardware is not there");
}
VYRE_REGISTER_BACKEND(refused, .id = "fake-refused", .create = fake_create);
VYRE_PLUGIN_WITH("init fails", refuse);
