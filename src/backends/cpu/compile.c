/* Compiling: lowering of programs, the client of the compile servers, and the search for the compiler (compile.h). */
#include "backends/cpu/compile.h"

#include "backends/cpu/code_object.h"
#include "backends/cpu/compile_server.h"
#include "base/diagnostics.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/trusted_path.h"
#include "compile/pipeline.h"
#include "driver/plugin.h"
#include "ir/build/builder_internal.h"
#include "vyre/wire.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

static vyre_status acquire_compiler(vy_cpu *cpu, const vy_jit_plugin **out, vyre_error *error);

/* ---- lowering and compiling ---- */

/* Identifies the `trap` that ended a dispatch. The transforms preserve the position of a statement, so in a copy of
 * the program the length of each trap's position is set to 1 + its index, and the emitter stores that number with
 * the report (vy_cpu_frame). The number depends on the statements alone, as does the cache key: programs that differ
 * only in their source share code, and each maps the number to its own position. Lines and columns are unchanged,
 * also those of expressions: debuggers and the texts of `vyre emit` show them. */
static vyre_status number_traps(const vyre_program *program, unsigned options, vyre_program **out, vyre_error *error) {
    vyre_bytes wire = VYRE_BYTES_INIT;
    vyre_program *copy = NULL;
    vyre_status status = vyre_wire_encode(program, options, &wire, error);
    if (status == VYRE_OK)
        status = vy_wire_decode_trusted(wire.data, wire.size, &copy, error);
    vyre_bytes_free(&wire);
    if (status == VYRE_OK && !copy->stmt_positions.count) {
        if (VY_RESERVE(&copy->stmt_positions, copy->stmts.count)) {
            copy->stmt_positions.count = copy->stmts.count;
            memset(copy->stmt_positions.items, 0, copy->stmts.count * sizeof *copy->stmt_positions.items);
        } else {
            status = vy_fail_memory(error, "compiling a pipeline");
        }
    }
    if (status != VYRE_OK) {
        vyre_program_release(copy);
        return status;
    }
    for (uint32_t i = 0; i < copy->expr_positions.count; i++)
        copy->expr_positions.items[i].length = 0;
    for (uint32_t i = 0; i < copy->stmts.count; i++)
        copy->stmt_positions.items[i].length = copy->stmts.items[i].kind == VY_STMT_TRAP ? i + 1 : 0;
    *out = copy;
    return VYRE_OK;
}

vyre_status vy_cpu_lower(const vy_cpu *cpu, vyre_program *program, int cancellable, unsigned options, vyre_bytes *wire,
                         vyre_error *error) {
    vy_target_desc target = cpu->target;
    vyre_program *numbered = NULL;
    vy_compiled compiled;
    vyre_status status = VYRE_OK;
    target.cancellable = cancellable != 0;
    if (program->facts & VY_PROGRAM_HAS_TRAP) {
        status = number_traps(program, options, &numbered, error);
        options |= VYRE_WIRE_DEBUG;
    }
    if (status == VYRE_OK) {
        status = vy_compile_pipeline(numbered ? numbered : program, &target, NULL, &compiled, error);
        vyre_program_release(numbered);
    }
    if (status != VYRE_OK)
        return status;
    status = vyre_wire_encode(compiled.program, options, wire, error);
    vyre_program_release(compiled.program);
    return status;
}

static vy_jit_request request_of(const vy_cpu *cpu, const vyre_program *program, const vyre_bytes *wire, int lines) {
    return (vy_jit_request){.struct_size = sizeof(vy_jit_request),
                            .width = cpu->width,
                            .features = cpu->features,
                            .wire = {wire->data, wire->size},
                            .name = vyre_program_name(program),
                            .lines = (uint32_t)lines,
                            .keeps_width = (uint32_t)cpu->keeps_width,
                            .deadline_ns = vy_deadline(),
                            .memory_mib = cpu->compiler_mib,
                            .seconds = cpu->compiler_seconds};
}

static vyre_status make_object(vy_cpu *cpu, vyre_program *program, int cancellable, vyre_bytes *object,
                               vyre_error *error) {
    const vy_jit_plugin *compiler;
    vyre_bytes wire = VYRE_BYTES_INIT;
    const int lines = vy_jit_debug_is_enabled();
    vyre_status status = acquire_compiler(cpu, &compiler, error);
    if (status == VYRE_OK)
        status = vy_cpu_lower(cpu, program, cancellable, lines ? VYRE_WIRE_DEBUG : 0, &wire, error);
    if (status == VYRE_OK) {
        const vy_jit_request request = request_of(cpu, program, &wire, lines);
        status = compiler->compile(compiler, &request, object, error);
    }
    vyre_bytes_free(&wire);
    return status;
}

vyre_status vy_cpu_compile(vy_cpu *cpu, vyre_program *program, int cancellable, uint64_t deadline_ns,
                           vy_cpu_executable **out, vyre_error *error) {
    vyre_bytes object = VYRE_BYTES_INIT;
    *out = NULL;
    vy_deadline_scope before = vy_deadline_begin(deadline_ns);
    vyre_status status = make_object(cpu, program, cancellable, &object, error);
    vy_deadline_end(before);
    if (status == VYRE_OK)
        status = vy_cpu_executable_new(program, (vyre_span){object.data, object.size}, cpu->features, out, error);
    vyre_bytes_free(&object);
    return status;
}

vyre_status vy_cpu_emit_text(const vy_cpu *cpu, const vy_jit_plugin *compiler, vyre_program *program, int cancellable,
                             vy_jit_text text, vyre_bytes *out, vyre_error *error) {
    vyre_bytes wire = VYRE_BYTES_INIT;
    vyre_status status = vyre_program_level(program) == VYRE_LEVEL_LEGAL
                             ? vyre_wire_encode(program, VYRE_WIRE_DEBUG, &wire, error)
                             : vy_cpu_lower(cpu, program, cancellable, VYRE_WIRE_DEBUG, &wire, error);
    if (status == VYRE_OK) {
        vy_jit_request request = request_of(cpu, program, &wire, 1);
        request.keeps_width |= cpu->width != 0;
        status = compiler->emit_text(compiler, &request, text, out, error);
    }
    vyre_bytes_free(&wire);
    return status;
}

vyre_status vy_cpu_emit(void *self, vyre_program *program, const vyre_compile_options *options, vyre_bytes *out,
                        vyre_error *error) {
    const vy_jit_plugin *compiler;
    vyre_status status = acquire_compiler(self, &compiler, error);
    return status == VYRE_OK
               ? vy_cpu_emit_text(self, compiler, program, options->cancellable, VY_JIT_TEXT_ASM, out, error)
               : status;
}

/* ---- client of the compile servers ---- If LLVM crashes, or exceeds its limits of memory or CPU time, the request
 * is sent again with half the lanes, down to VY_CPU_WIDTH_MIN: most of LLVM's failures are in code for wide vectors.
 * An attempt that is not the last gets half of the time until the deadline. The results of a program do not depend
 * on the width, so the caches keep the object of the last attempt. The width is stored too, for compiles that no
 * cache answers. */

/* Without a deadline, a server that neither replies nor uses CPU time is killed after this multiple of the CPU time
 * limit. Other processes may use the processors meanwhile. */
enum { WALL_FACTOR = 10 };

typedef struct client {
    vy_jit_plugin compiler;
    vy_compile_pool *pool;
} client;

/* One call: a request, and the outcome of its last attempt. */
typedef struct call {
    const client *client;
    const vy_jit_request *request;
    vy_compile_request message;
    vyre_bytes *out;
    uint64_t start_ns, attempt_ns; /* start of the call and of the attempt */
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
                       "LLVM exceeds its time for `%s` with %" PRIu32 " lanes, at step `%s` (the limit is %" PRIu32
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

/* The end of an attempt. The last attempt may use all of the remaining time. */
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

/* The lanes of the next attempt; 0: none. If a server failed before it had chosen a width, the next attempt uses
 * that of a register. The last attempt always uses the fewest lanes, with all of the remaining time. */
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

/* Opens a compiler whose servers run the executable at `path`, which was checked. Starts no process. End it with
 * compile_client_close.
 *
 * VYRE_NO_MEMORY */
static vyre_status compile_client_open(const char *path, const vy_jit_plugin **out, vyre_error *error) {
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

/* Requires that no call is in progress. The last client of an executable ends its servers. */
static void compile_client_close(const vy_jit_plugin *compiler) {
    client *made = (client *)compiler;
    if (!made)
        return;
    vy_compile_pool_close(made->pool);
    vy_release(made, sizeof *made);
}

/* ---- opening the compiler ---- The compiler is searched at VYRE_COMPILER if that is set, else in the build tree
 * (programs of the build tree only) and in the installation folder. A set-user-id process searches the last one
 * only. The file must pass the checks of base/trusted_path.h, because it is executed. */

#ifndef VYRE_LIBEXEC_FOLDER
#error "define VYRE_LIBEXEC_FOLDER: the folder of installed executables that are not for users"
#endif

#ifdef VYRE_COMPILER_IN_PROCESS
enum { IS_IN_PROCESS = 1 };
#define COMPILER_FILE "vyre-compiler-llvm.so"
#define BUILD_FOLDER "plugins/"
#else
enum { IS_IN_PROCESS = 0 };
#define COMPILER_FILE "vyre-compiler-llvm"
#define BUILD_FOLDER "libexec/"
#endif

enum { MEMORY_LEAST_MIB = 512, MEMORY_MOST_MIB = 1 << 20, SECONDS_MOST = 3600 };

/* ---- plug-ins ---- */

static vyre_status refuse(const char *path, const char *what, vyre_error *error) {
    return vy_fail(error, VYRE_ABI_MISMATCH, "install the compiler plug-in that was built with this library",
                   "the compiler `%s` %s", path, what);
}

/* The plug-in is never unloaded: LLVM leaves handlers installed. */
static vyre_status open_plugin(const char *path, const vy_jit_plugin **out, vyre_error *error) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return vy_fail(error, VYRE_UNSUPPORTED,
                       "install what it needs (`ldd` lists it), or run with `--backend reference`",
                       "the dynamic loader refuses the compiler `%s` (%s)", path, dlerror());
    vy_jit_plugin_get *get = (vy_jit_plugin_get *)(uintptr_t)dlsym(handle, VY_JIT_PLUGIN_SYMBOL);
    if (!get)
        return refuse(path, "does not export `" VY_JIT_PLUGIN_SYMBOL "`", error);
    const vy_jit_plugin *compiler = get(&vy_host_services);
    if (!compiler)
        return refuse(path, "does not work in this process", error);
    if (compiler->struct_size < sizeof *compiler || compiler->abi != VY_JIT_PLUGIN_ABI || !compiler->compile ||
        !compiler->emit_text)
        return refuse(path, "speaks another version of the interface", error);
    *out = compiler;
    return VYRE_OK;
}

/* ---- search ---- */

static const char *installed_folder(void) {
    return IS_IN_PROCESS ? vy_plugin_folder() : VYRE_LIBEXEC_FOLDER "/";
}

static int find(char path[PATH_MAX]) {
    if (vy_build_tree_find && !getauxval(AT_SECURE) && vy_build_tree_find(BUILD_FOLDER COMPILER_FILE, path))
        return 1;
    return snprintf(path, PATH_MAX, "%s%s", installed_folder(), COMPILER_FILE) < PATH_MAX && access(path, F_OK) == 0;
}

static vyre_status check_file(const char *path, vyre_error *error) {
    if (IS_IN_PROCESS)
        return vy_plugin_check_file(path, error);
    vyre_status status = vy_trusted_path_check(path, "compiler", error);
    if (status == VYRE_NOT_FOUND && error) /* only an explicit path can be missing */
        snprintf(error->fix, sizeof error->fix, "correct the path in VYRE_COMPILER, or unset it");
    if (status == VYRE_OK && access(path, X_OK) != 0)
        status = vy_fail(error, VYRE_CORRUPT,
                         "name the executable `" COMPILER_FILE "` in VYRE_COMPILER, or make it executable",
                         "the compiler `%s` is not an executable file", path);
    return status;
}

/* The explicit path, or the one that was found; `found` has room for PATH_MAX bytes. */
static vyre_status locate(const char *path, char *found, const char **out, vyre_error *error) {
    *out = path ? path : found;
    if (path && path[0] != '/')
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "set VYRE_COMPILER to an absolute path, as `realpath` prints it",
                       "the path of a compiler is not absolute (`%s`)", path);
    if (path || find(found))
        return check_file(*out, error);
    return vy_fail(error, VYRE_UNSUPPORTED,
                   VY_FIX("install it (build target `vyre-compiler-llvm`, file %s%s), name it in VYRE_COMPILER, or run "
                          "with `--backend reference`",
                          installed_folder(), COMPILER_FILE),
                   "the compiler of backend `cpu` (" COMPILER_FILE ") is not installed");
}

vyre_status vy_cpu_compiler_check(vyre_error *error) {
    char found[PATH_MAX];
    const char *path;
    return locate(vy_env_get("VYRE_COMPILER"), found, &path, error);
}

/* ---- open and close ---- */

vyre_status vy_cpu_compiler_open(const char *path, const vy_jit_plugin **out, vyre_error *error) {
    char found[PATH_MAX];
    *out = NULL;
    vyre_status status = locate(path, found, &path, error);
    if (status != VYRE_OK)
        return status;
    return IS_IN_PROCESS ? open_plugin(path, out, error) : compile_client_open(path, out, error);
}

void vy_cpu_compiler_close(const vy_jit_plugin *compiler) {
    if (!IS_IN_PROCESS)
        compile_client_close(compiler);
}

/* The backend's compiler, opened by the first call; vy_cpu_compiler_close() ends it. */
static vyre_status acquire_compiler(vy_cpu *cpu, const vy_jit_plugin **out, vyre_error *error) {
    const vy_jit_plugin *surplus = NULL;
    pthread_mutex_lock(&cpu->lock);
    *out = cpu->compiler;
    pthread_mutex_unlock(&cpu->lock);
    if (*out)
        return VYRE_OK;
    vyre_status status = vy_cpu_compiler_open(vy_env_get("VYRE_COMPILER"), out, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&cpu->lock);
    if (cpu->compiler)
        surplus = *out;
    else
        cpu->compiler = *out;
    *out = cpu->compiler;
    pthread_mutex_unlock(&cpu->lock);
    vy_cpu_compiler_close(surplus);
    return VYRE_OK;
}

vyre_status vy_cpu_compiler_limits(vy_cpu *cpu, vyre_error *error) {
    vyre_status status = vy_env_number("VYRE_COMPILER_MEMORY", MEMORY_LEAST_MIB, MEMORY_MOST_MIB, VY_JIT_MEMORY_MIB,
                                       &cpu->compiler_mib, error);
    if (status == VYRE_OK)
        status = vy_env_number("VYRE_COMPILER_SECONDS", 1, SECONDS_MOST, VY_JIT_SECONDS, &cpu->compiler_seconds, error);
    cpu->keeps_width = !vy_env_flag("VYRE_COMPILER_FALLBACK", 1);
    return status;
}
