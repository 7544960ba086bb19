/* Nothing is wrong with this one either: a GPU that is busy. */
#include "../../driver/registry/fake.h"

#include <string.h>

static void probe(const vyre_host *host, vyre_probe *out) {
    (void)host;
    out->answer = VYRE_PROBE_NOT_NOW;
    out->device_class = VYRE_DEVICE_GPU;
    out->device_count = 2;
    strcpy(out->reason, "the fake\tdevice is busy\n");
    strcpy(out->fix, "end the other process");
}
VYRE_REGISTER_BACKEND(not_now, .id = "fake-not-now", .create = fake_create, .probe = probe);
VYRE_REGISTER_PRECEDENCE(not_now, .id = "fake-not-now", .rank = 5);
VYRE_REGISTER_CAPABILITY(not_now, .id = "fake-not-now", .dispatches = 1);
VYRE_PLUGIN("not now");
