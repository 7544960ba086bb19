/* Holds the device until all work is queued in its streams, so that only the device is measured. */
#include "driver.h"

#include "../suite/ours.h"
#include "vyre/interop.h"

/* Loops until the device's clock has advanced by so many nanoseconds. */
static const char text[] = ".version 6.0\n"
                           ".target sm_60\n"
                           ".address_size 64\n"
                           ".visible .entry hold(\n"
                           "\t.param .u64 length\n"
                           ")\n"
                           "{\n"
                           "\t.reg .b64 %d<3>;\n"
                           "\t.reg .pred %p;\n"
                           "\tld.param.u64 %d0, [length];\n"
                           "\tmov.u64 %d1, %globaltimer;\n"
                           "\tadd.u64 %d1, %d1, %d0;\n"
                           "again:\n"
                           "\tmov.u64 %d2, %globaltimer;\n"
                           "\tsetp.lt.u64 %p, %d2, %d1;\n"
                           "\t@%p bra again;\n"
                           "\tret;\n"
                           "}\n";

static double patience = 1; /* grows if the host is slower than assumed */
static double begun, length;

static void *find_hold(cu_driver *cu) {
    static void *function;
    static int asked;
    void *module;
    if (!asked && (cu->module_load(&module, text) || cu->module_function(&function, module, "hold")))
        function = NULL;
    asked = 1;
    return function;
}

/* The host queues a launch of a graph in well under a microsecond. */
int suite_hold(vyre_backend *backend, size_t launches) {
    char reason[REASON];
    cu_driver *cu = cu_open(reason, sizeof reason);
    void *function = cu ? find_hold(cu) : NULL;
    length = patience * (100e-6 + 1e-6 * (double)launches);
    uint64_t nanoseconds = (uint64_t)(length * 1e9);
    begun = suite_now();
    return function &&
           cu->launch(function, 1, 1, 1, 1, 1, 1, 0, cu->stream, (void *[]){&nanoseconds, NULL}, NULL) == 0 &&
           (!backend || vyre_stream_join(backend, cu->stream, NULL) == VYRE_OK);
}

int suite_was_held(double handed_over) {
    enum { MOST = 64 };
    if (handed_over - begun < length)
        return 1;
    if (patience < MOST)
        patience *= 1.5;
    return 0;
}
