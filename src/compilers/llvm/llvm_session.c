/* Contexts, and the three ways in which LLVM fails. */
#include "compilers/llvm/llvm_session.h"

#include "base/status.h"
#include "compilers/llvm/target_machine.h"

#include <llvm-c/Core.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_FIX "report this with the program, and choose another backend until then"

static _Thread_local vy_llvm_session *current; /* whom a fatal error of this thread belongs to */
static _Thread_local unsigned checks, failing_check;
static _Thread_local vy_llvm_failure failure; /* of the latest job of this thread */

/* ---- failures ---- */

static void record_message(vy_llvm_session *session, const char *words) {
    if (!session->message[0])
        (void)snprintf(session->message, sizeof session->message, "%s",
                       words && words[0] ? words : "without saying why");
}

/* Called in the place of an exit of the process. */
static void escape(const char *reason) {
    if (!current)
        return;
    record_message(current, reason);
    longjmp(current->escape, 1);
}

/* The attribute warn-stack-size makes the prologue inserter report every frame: "stack frame size (640) exceeds limit
 * (0) in function 'saxpy'". LLVM's C interface has no other way to the sizes. */
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
        words = "as a test asked for";
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

/* Where a loop has many accesses LLVM compares each with all others: it stops sooner. This LLVM is ours alone (cmake/VyreCompiler.cmake), and so are its
 * settings. */
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
        vy_llvm_machine_keep(session);
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
    /* Nothing of this frame is changed between here and a jump back but what `job` points to. */
    if (setjmp(session->escape)) {
        failure = VY_LLVM_FAILED;
        status = vy_fail(session->error, VYRE_UNSUPPORTED, REPORT_FIX, "LLVM gives up: %s", session->message);
    } else {
        status = do_work(session, work, user);
    }
    current = NULL;
    return status;
}
