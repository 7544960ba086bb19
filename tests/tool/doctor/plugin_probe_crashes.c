/* Loads; its probe ends the process. */
#include "../../driver/registry/fake.h"

#include <signal.h>

static void probe(const vyre_host *host, vyre_probe *out) {
    (void)host, (void)out;
    signal(SIGBUS, SIG_DFL);
    raise(SIGBUS);
}
VYRE_REGISTER_BACKEND(probe_crashes, .id = "fake-probe-crashes", .create = fake_create, .probe = probe);
VYRE_REGISTER_CAPABILITY(probe_crashes, .id = "fake-probe-crashes", .dispatches = 1);
VYRE_PLUGIN("probe crashes");
