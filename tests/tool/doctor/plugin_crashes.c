/* Is ended by a signal in its own initialiser, which the registry calls. */
#include "../../driver/registry/fake.h"

#include <signal.h>

static vyre_status start(const vyre_host *host, vyre_error *error) {
    (void)host, (void)error;
    signal(SIGSEGV, SIG_DFL); /* a sanitizer would make an exit of it */
    raise(SIGSEGV);
    return VYRE_OK;
}
VYRE_REGISTER_BACKEND(crashes, .id = "fake-crashes", .create = fake_create);
VYRE_PLUGIN_WITH("crashes", start);
