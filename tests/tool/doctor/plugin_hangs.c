/* Never returns from its initialiser, and ignores SIGTERM. */
#include "../../driver/registry/fake.h"

#include <signal.h>
#include <unistd.h>

static vyre_status start(const vyre_host *host, vyre_error *error) {
    (void)host, (void)error;
    signal(SIGTERM, SIG_IGN);
    while (pause() == -1)
        continue;
    return VYRE_OK;
}
VYRE_REGISTER_BACKEND(hangs, .id = "fake-hangs", .create = fake_create);
VYRE_PLUGIN_WITH("hangs", start);
