/* Client of the compile servers, with fewer lanes where LLVM fails (compile_client.h).
 *
 * If LLVM crashes, or needs more memory or processor time than its limits, the request is sent again with half the lanes, down to
 * VY_CPU_WIDTH_MIN: most of LLVM's failures are in code for wide vectors. An attempt that is not the last gets half of the time
 * that is left until the deadline. What the program computes does not depend on the width, so the object that is made in the end
 * is what the caches keep. The width is remembered too, for compiles that no cache answers. */
#include "backends/cpu/compile_client.h"

#include "backends/cpu/compile_server.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>

/* A server that neither replies nor uses processor time is killed after so many times the limit on processor time, if there is no
 * deadline. Others may use the processors meanwhile. */
enum { WALL_FACTOR = 10 };

typedef struct client {
    vy_jit_plugin compiler;
    vy_compile_pool *pool;
} client;

/* One call: a request, and what became of the latest attempt. */
typedef struct call {
    const client *client;
    const vy_jit_request *request;
    vy_compile_request message;
    vyre_bytes *out;
    uint64_t start_ns, attempt_ns; /* when the call and the attempt began */
    vy_compile_outcome outcome;
} call;

static const char *const step_names[VY_JIT_STEP_COUNT] = {
#define X(ID, name) name,
    VY_JIT_STEP_LIST(X)
#undef X
};

/* ---- errors ---- */

static vyre_status fail_late(const call *c, vyre_error *error) {
    const char *fix = "raise the timeout, or compile the program before with a longer one (vyre_compile)";
    double seconds = (double)(vy_clock_now() - c->start_ns) / 1e9;
    if (!c->outcome.has_begun)
        return vy_fail(error, VYRE_TIMEOUT, fix,
                       "`%s` was not compiled at its deadline: no compiler had begun with it after %.3f s",
                       c->request->name, seconds);
    return vy_fail(error, VYRE_TIMEOUT, fix,
                   "`%s` was not compiled at its deadline: LLVM was at step `%s` with %" PRIu32
                   " lanes, %.3f s after the compile had begun",
                   c->request->name, step_names[c->outcome.step], c->outcome.width, seconds);
}

#define OTHER_WAYS "split the program, or run it with `--backend reference`"

/* The cause of a failure and its fix; the lanes are those of the last attempt. */
static vyre_status fail_attempt(const call *c, vyre_error *error) {
    const vy_compile_outcome *o = &c->outcome;
    const char *name = c->request->name, *step = step_names[o->step];
    switch (o->end) {
    case VY_COMPILE_END_MEMORY:
        return vy_fail(error, VYRE_LIMIT,
                       o->detail < c->message.memory_mib
                           ? "raise the limit of the process on address space (`ulimit -v`), " OTHER_WAYS
                           : "raise VYRE_COMPILER_MEMORY (MiB), " OTHER_WAYS,
                       "LLVM is out of memory for `%s` with %" PRIu32 " lanes, at step `%s` (the limit is %" PRIu32
                       " MiB)",
                       name, o->width, step, o->detail);
    case VY_COMPILE_END_TIME:
        return vy_fail(error, VYRE_LIMIT, "raise VYRE_COMPILER_SECONDS, " OTHER_WAYS,
                       "LLVM takes too long for `%s` with %" PRIu32 " lanes, at step `%s` (the limit is %" PRIu32
                       " s of processor time)",
                       name, o->width, step, c->message.cpu_ms / 1000);
    case VY_COMPILE_END_LATE:
        return vy_fail(error, VYRE_LIMIT, "report this with the program, " OTHER_WAYS,
                       "the compiler does not answer for `%s` with %" PRIu32
                       " lanes, at step `%s` (it was given %.0f s)",
                       name, o->width, step, (double)(vy_clock_now() - c->attempt_ns) / 1e9);
    default:
        return vy_fail(error, VYRE_UNSUPPORTED, "report this with the program, " OTHER_WAYS,
                       "the compiler crashed for `%s` with %" PRIu32 " lanes, at step `%s` (%s %" PRIu32 ")", name,
                       o->width, step, o->detail ? "signal" : "no signal:", o->detail);
    }
}

/* ---- attempts ---- */

static uint64_t add_ns(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* When an attempt ends. The last one has all that is left. */
static uint64_t end_of_attempt(const call *c, int is_last) {
    uint64_t now = vy_clock_now(), deadline = c->request->deadline_ns;
    uint64_t end = add_ns(now, (uint64_t)c->message.cpu_ms * WALL_FACTOR * 1000000u);
    if (deadline && deadline <= now)
        return now;
    uint64_t share = !deadline ? UINT64_MAX : is_last ? deadline - now : (deadline - now) / 2;
    return add_ns(now, share) < end ? add_ns(now, share) : end;
}

static int is_past_deadline(const call *c) {
    return c->request->deadline_ns && vy_clock_now() >= c->request->deadline_ns;
}

/* The lanes of the next attempt; 0: there is none. A server that failed before it chose the lanes is asked for those of a register. The last attempt always asks for
 * the fewest lanes: it has all the time that is left. */
static uint32_t narrow(const call *c) {
    uint32_t width = c->outcome.width ? c->outcome.width : c->message.width;
    uint32_t next = width ? width / 2 : vy_cpu_width(c->request->features);
    if (next < VY_CPU_WIDTH_MIN && c->message.width != VY_CPU_WIDTH_MIN)
        next = VY_CPU_WIDTH_MIN;
    return c->request->keeps_width || next < VY_CPU_WIDTH_MIN ? 0 : next;
}

static void log_narrowed(uint32_t width, const vyre_error *why) {
    char text[sizeof why->message + 64];
    snprintf(text, sizeof text, "%s; it is compiled with %" PRIu32 " lanes instead", why->message, width);
    vy_log(1, "cpu", text);
}

static vyre_status attempt(call *c, vyre_error *error) {
    const vy_jit_request *r = c->request;
    int is_last = c->message.width == VY_CPU_WIDTH_MIN || r->keeps_width;
    c->attempt_ns = vy_clock_now();
    vyre_status status = vy_compile_pool_request(c->client->pool, &c->message, r->name, r->wire,
                                                 end_of_attempt(c, is_last), c->out, r->times, &c->outcome, error);
    if (status != VYRE_OK || c->outcome.end == VY_COMPILE_END_DONE)
        return status;
    return is_past_deadline(c) ? fail_late(c, error) : fail_attempt(c, error);
}

/* Whether fewer lanes may help. */
static int may_narrow(const call *c, vyre_status status) {
    return status != VYRE_OK && status != VYRE_TIMEOUT && c->outcome.end != VY_COMPILE_END_DONE;
}

static vyre_status run(call *c, vyre_error *error) {
    const vyre_span wire = c->request->wire;
    const vy_compile_request asked = c->message;
    uint32_t known = c->request->keeps_width ? 0 : vy_compile_pool_lookup_width(c->client->pool, &asked, wire), next;
    if (known)
        c->message.width = known;
    vyre_status status = attempt(c, error);
    int has_narrowed = 0;
    while (may_narrow(c, status) && (next = narrow(c))) {
        log_narrowed(next, error);
        c->message.width = next;
        has_narrowed = 1;
        status = attempt(c, error);
    }
    if (status == VYRE_OK && has_narrowed)
        vy_compile_pool_record_width(c->client->pool, &asked, wire, c->message.width);
    return status;
}

static vyre_status make(const vy_jit_plugin *self, const vy_jit_request *request, uint32_t product, vyre_bytes *out,
                        vyre_error *error) {
    call c = {.client = (const client *)self,
              .request = request,
              .message = {.product = product,
                          .features = request->features,
                          .width = request->width,
                          .lines = request->lines,
                          .memory_mib = request->memory_mib ? request->memory_mib : VY_JIT_MEMORY_MIB,
                          .cpu_ms = 1000 * (request->seconds ? request->seconds : VY_JIT_SECONDS),
                          .idle_ms = VY_COMPILE_IDLE_MS},
              .out = out,
              .start_ns = vy_clock_now()};
    out->size = 0;
    return is_past_deadline(&c) ? fail_late(&c, error) : run(&c, error);
}

static vyre_status compile(const vy_jit_plugin *self, const vy_jit_request *request, vyre_bytes *out,
                           vyre_error *error) {
    return make(self, request, 0, out, error);
}

static vyre_status emit_text(const vy_jit_plugin *self, const vy_jit_request *request, vy_jit_text text,
                             vyre_bytes *out, vyre_error *error) {
    return make(self, request, 1 + (uint32_t)text, out, error);
}

/* ---- open and close ---- */

vyre_status vy_compile_client_open(const char *path, const vy_jit_plugin **out, vyre_error *error) {
    client *made = vy_allocate_zero(sizeof *made);
    *out = NULL;
    if (!made)
        return vy_fail_memory(error, "opening the compiler");
    vyre_status status = vy_compile_pool_open(path, &made->pool, error);
    if (status != VYRE_OK) {
        vy_release(made, sizeof *made);
        return status;
    }
    made->compiler = (vy_jit_plugin){.struct_size = sizeof made->compiler,
                                     .abi = VY_JIT_PLUGIN_ABI,
                                     .version = "",
                                     .compile = compile,
                                     .emit_text = emit_text};
    *out = &made->compiler;
    return VYRE_OK;
}

void vy_compile_client_close(const vy_jit_plugin *compiler) {
    client *made = (client *)compiler;
    if (!made)
        return;
    vy_compile_pool_close(made->pool);
    vy_release(made, sizeof *made);
}
