/* LLVM sessions: contexts, target machines, and the three ways in which LLVM reports failures (llvm_session.h).
 * Invariant: sessions of several threads share only the cached target machine. */
#include "compilers/llvm/llvm_session.h"

#include "base/status.h"
#include "base/string.h"

#include <llvm-c/Core.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- target machine ---- Triple, features, attributes. The compiler generates code for the architecture it runs
 * on, and uses only the requested features of the processor: an object from the cache runs on every machine that has
 * them. */

#if defined(__x86_64__)
#define ARCHITECTURE VY_CPU_FEATURE_X86_64
#define TRIPLE "x86_64-unknown-linux-gnu"
#define PROCESSOR "x86-64"
#elif defined(__aarch64__)
#define ARCHITECTURE VY_CPU_FEATURE_AARCH64
#define TRIPLE "aarch64-unknown-linux-gnu"
#define PROCESSOR "generic"
#else
#error "no code is made for this architecture. Fix: configure with -DVYRE_COMPILER=OFF"
#endif

/* "+sse4.1,+avx": features that are not listed are not used. */
static vyre_status name_features(uint64_t features, vy_string *out, vyre_error *error) {
    for (unsigned bit = 0; bit < 64; bit++) {
        const char *name = features >> bit & 1 ? vy_cpu_feature_name(bit) : "";
        if (!name)
            return vy_fail(error, VYRE_UNSUPPORTED, "use a compiler of the library's version",
                           "the compiler does not know the processor's feature %u", bit);
        if (name[0])
            vy_string_format(out, "%s+%s", out->length ? "," : "", name);
    }
    return out->failed ? vy_fail_memory(error, "the features of a processor") : VYRE_OK;
}

/* ---- the cached target machine ---- */

/* Creating a target machine costs as much as optimising a small program, and a machine can compile any number of
 * programs sequentially. So the machine of the last job is cached here. No thread waits for the cache: if it is
 * locked, the thread creates a new machine, or destroys its own. */
static struct {
    atomic_flag is_taken;
    LLVMTargetMachineRef machine; /* NULL: none */
    uint64_t features;
    int is_large;
} kept = {.is_taken = ATOMIC_FLAG_INIT};

static LLVMTargetMachineRef take_cached(const vy_llvm_session *session) {
    LLVMTargetMachineRef machine = NULL;
    if (atomic_flag_test_and_set_explicit(&kept.is_taken, memory_order_acquire))
        return NULL;
    if (kept.features == session->request->features && kept.is_large == session->is_large) {
        machine = kept.machine;
        kept.machine = NULL;
    }
    atomic_flag_clear_explicit(&kept.is_taken, memory_order_release);
    return machine;
}

/* Caches the machine of a successful job, for the next one with the same requirements. */
static void machine_keep(vy_llvm_session *session) {
    LLVMTargetMachineRef other = session->machine;
    if (!atomic_flag_test_and_set_explicit(&kept.is_taken, memory_order_acquire)) {
        other = kept.machine;
        kept.machine = session->machine;
        kept.features = session->request->features;
        kept.is_large = session->is_large;
        atomic_flag_clear_explicit(&kept.is_taken, memory_order_release);
    }
    if (other)
        LLVMDisposeTargetMachine(other);
    session->machine = NULL;
}

static vyre_status make_machine(vy_llvm_session *session, const char *features) {
    LLVMTargetRef target = NULL;
    char *words = NULL;
    int failed = LLVMGetTargetFromTriple(TRIPLE, &target, &words);
    vyre_status status = vy_llvm_check(session, !failed, "know the target " TRIPLE, words);
    if (words)
        LLVMDisposeMessage(words);
    if (status != VYRE_OK)
        return status;
    session->machine = LLVMCreateTargetMachine(target, TRIPLE, PROCESSOR, features ? features : "",
                                               session->is_large ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault,
                                               LLVMRelocPIC, LLVMCodeModelSmall);
    return vy_llvm_check(session, session->machine != NULL, "make code for the target " TRIPLE, NULL);
}

vyre_status vy_llvm_machine_make(vy_llvm_session *session) {
    vy_string features = {0};
    if (!(session->request->features & ARCHITECTURE))
        return vy_fail(session->error, VYRE_UNSUPPORTED, "compile on a machine of the architecture the code is for",
                       "the compiler makes code for " TRIPLE " alone");
    if (session->machine)
        LLVMDisposeTargetMachine(session->machine);
    session->machine = take_cached(session);
    vyre_status status =
        session->machine ? VYRE_OK : name_features(session->request->features, &features, session->error);
    if (status == VYRE_OK && !session->machine)
        status = make_machine(session, features.text);
    vy_string_free(&features);
    if (status != VYRE_OK)
        return status;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(session->machine);
    LLVMSetModuleDataLayout(session->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(session->module, TRIPLE);
    return VYRE_OK;
}

/* ---- attributes ---- */

/* Vector registers of the width of the lanes, if available: by default LLVM would split 512-bit operations. */
static const char *vector_bits(const vy_llvm_session *session) {
    uint64_t features = session->request->features;
    if (features & VY_CPU_FEATURE_AVX512F && session->width >= 16)
        return "512";
    return features & VY_CPU_FEATURE_AVX && session->width >= 8 ? "256" : "128";
}

static void mark(LLVMContextRef context, LLVMValueRef function, const char *name, const char *value) {
    LLVMAddAttributeAtIndex(
        function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(context, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

void vy_llvm_machine_mark(vy_llvm_session *session) {
    unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", strlen("nounwind"));
    LLVMValueRef function = LLVMGetFirstFunction(session->module);
    for (; function; function = LLVMGetNextFunction(function)) {
        if (LLVMIsDeclaration(function))
            continue;
        LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(session->context, nounwind, 0));
        mark(session->context, function, "no-builtins", "");
        mark(session->context, function, "frame-pointer", "none");
        mark(session->context, function, "prefer-vector-width", vector_bits(session));
        /* reports the size of every frame (llvm_session.c) */
        mark(session->context, function, "warn-stack-size", "0");
        mark(session->context, function, "probe-stack", "inline-asm"); /* a large frame is probed page by page */
    }
}

/* ---- sessions ---- */

#define REPORT_FIX "report this with the program, and choose another backend until then"

static _Thread_local vy_llvm_session *current; /* the session that receives fatal errors of this thread */
static _Thread_local unsigned checks, failing_check;
static _Thread_local vy_llvm_failure failure; /* of the last job of this thread */

/* ---- failures ---- */

static void record_message(vy_llvm_session *session, const char *words) {
    if (!session->message[0])
        (void)snprintf(session->message, sizeof session->message, "%s", words && words[0] ? words : "no message");
}

/* Called instead of exiting the process. */
static void escape(const char *reason) {
    if (!current)
        return;
    record_message(current, reason);
    longjmp(current->escape, 1);
}

/* The attribute warn-stack-size makes the prologue inserter report every frame: "stack frame size (640) exceeds
 * limit (0) in function 'saxpy'". LLVM's C interface provides no other access to the sizes. */
static void note_frame(vy_llvm_session *session, const char *words) {
    static const char before[] = "stack frame size (";
    const char *size = words ? strstr(words, before) : NULL;
    if (size)
        session->stack_bytes += strtoull(size + sizeof before - 1, NULL, 10);
}

static void note_diagnostic(LLVMDiagnosticInfoRef diagnostic, void *user) {
    LLVMDiagnosticSeverity severity = LLVMGetDiagInfoSeverity(diagnostic);
    if (severity != LLVMDSError && severity != LLVMDSWarning)
        return;
    char *words = LLVMGetDiagInfoDescription(diagnostic);
    if (severity == LLVMDSError)
        record_message(user, words);
    else
        note_frame(user, words);
    LLVMDisposeMessage(words);
}

vyre_status vy_llvm_check(vy_llvm_session *session, int worked, const char *what, const char *words) {
    if (++checks == failing_check) {
        worked = 0;
        words = "as a test requested";
    }
    if (!worked)
        record_message(session, words);
    if (!session->message[0])
        return VYRE_OK;
    failure = VY_LLVM_FAILED;
    return vy_fail(session->error, VYRE_UNSUPPORTED, REPORT_FIX, "LLVM does not %s: %s", what, session->message);
}

unsigned vy_llvm_fail_check(unsigned k) {
    unsigned before = checks;
    checks = 0;
    failing_check = k;
    return before;
}

vy_llvm_failure vy_llvm_latest_failure(void) {
    return failure;
}

void vy_llvm_blame_width(void) {
    failure = VY_LLVM_TOO_WIDE;
}

/* ---- a job ---- */

/* For a loop with many accesses LLVM compares each with all others; these options limit that. This copy of LLVM is
 * private to the plug-in (cmake/VyreCompiler.cmake), and so are its options. */
static const char *const settings[] = {"vyre", "-licm-mssa-max-acc-promotion=80", "-licm-mssa-optimization-cap=16"};

static void start_llvm(void) {
    LLVMInstallFatalErrorHandler(escape);
    LLVMParseCommandLineOptions((int)(sizeof settings / sizeof *settings), settings, "");
    (void)LLVMInitializeNativeTarget();
    (void)LLVMInitializeNativeAsmPrinter();
}

static void dispose_session(vy_llvm_session *session) {
    if (session->made)
        LLVMDisposeMemoryBuffer(session->made);
    if (session->machine)
        LLVMDisposeTargetMachine(session->machine);
    if (session->module)
        LLVMDisposeModule(session->module);
    if (session->context)
        LLVMContextDispose(session->context);
}

static vyre_status do_work(vy_llvm_session *session, vy_llvm_work *work, void *user) {
    session->context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(session->context, note_diagnostic, session);
    session->module = LLVMModuleCreateWithNameInContext(session->request->name, session->context);
    vyre_status status = work(session, user);
    if (status == VYRE_OK && session->machine)
        machine_keep(session);
    dispose_session(session);
    return status;
}

void vy_llvm_initialise(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, start_llvm);
}

vyre_status vy_llvm_session_run(vy_llvm_session *session, vy_llvm_work *work, void *user) {
    vyre_status status;
    vy_llvm_initialise();
    failure = VY_LLVM_FINE;
    current = session;
    /* No local variable of this frame changes between setjmp and longjmp; only
     * *session does. */
    if (setjmp(session->escape)) {
        failure = VY_LLVM_FAILED;
        status = vy_fail(session->error, VYRE_UNSUPPORTED, REPORT_FIX, "LLVM failed: %s", session->message);
    } else {
        status = do_work(session, work, user);
    }
    current = NULL;
    return status;
}
