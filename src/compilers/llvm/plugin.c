/* Entry point of the compiler plug-in: one exported function, which returns the compiler's table.
 *
 * The plug-in has its own copy of the parts of libvyre that it needs. Invariant: their memory comes from the host,
 * so that memory that crosses the interface can be freed on either side, and the process has one memory account. */
#include "backends/cpu/compiler.h"
#include "base/memory.h"
#include "compilers/llvm/compile.h"

#include <llvm/Config/llvm-config.h>
#include <pthread.h>
#include <stdatomic.h>

static _Atomic(const vyre_host *) host;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *allocate(void *user, size_t size) {
    (void)user;
    return atomic_load_explicit(&host, memory_order_relaxed)->allocate(size);
}

static void *resize(void *user, void *memory, size_t old_size, size_t new_size) {
    (void)user;
    return atomic_load_explicit(&host, memory_order_relaxed)->resize(memory, old_size, new_size);
}

static void release(void *user, void *memory, size_t size) {
    (void)user;
    atomic_load_explicit(&host, memory_order_relaxed)->release(memory, size);
}

static void install_allocator(void) {
    vyre_allocator_set(&(vyre_allocator){NULL, allocate, resize, release});
}

static vyre_status compile(const vy_jit_plugin *self, const vy_jit_request *request, vyre_bytes *out,
                           vyre_error *error) {
    (void)self;
    return vy_llvm_compile(request, out, error);
}

static vyre_status emit_text(const vy_jit_plugin *self, const vy_jit_request *request, vy_jit_text text,
                             vyre_bytes *out, vyre_error *error) {
    (void)self;
    return vy_llvm_emit_text(request, text, out, error);
}

static const vy_jit_plugin compiler = {
    .struct_size = sizeof compiler,
    .abi = VY_JIT_PLUGIN_ABI,
    .version = "LLVM " LLVM_VERSION_STRING,
    .compile = compile,
    .emit_text = emit_text,
};

/* The exported function, whose name is VY_JIT_PLUGIN_SYMBOL. */
VYRE_API vy_jit_plugin_get vyre_compiler_get;

const vy_jit_plugin *vyre_compiler_get(const vyre_host *given) {
    if (!given || given->abi != VYRE_BACKEND_ABI || given->struct_size < sizeof *given)
        return NULL;
    /* The first host is kept. If the host is this copy of the library, as in a program that links both, its
     * allocator is already in use. */
    const vyre_host *none = NULL;
    if (given->allocate != vy_allocate) {
        (void)atomic_compare_exchange_strong(&host, &none, given);
        (void)pthread_once(&once, install_allocator);
    }
    return &compiler;
}
