/* An LLVM session: a private context for one compilation, its target machine, and LLVM's failures as errors.
 *
 * LLVM reports failures in three ways: calls that fail, diagnostics, and fatal errors, after which it ends the
 * process. A session handles all three. After a fatal error the state of LLVM's objects is unknown, so they are
 * leaked; the process continues.
 *
 * Invariant: a session belongs to one thread, and sessions of several threads do not interfere. */
#ifndef VY_COMPILERS_LLVM_LLVM_SESSION_H
#define VY_COMPILERS_LLVM_LLVM_SESSION_H

#include "backends/cpu/compiler.h"
#include "emit/llvm/kernel.h"

#include <llvm-c/TargetMachine.h>
#include <setjmp.h>

typedef struct vy_llvm_session {
    const vy_jit_request *request;
    const vyre_program *program;
    vy_target_desc target;  /* that the request describes */
    vy_uniform *uniform;    /* of the program */
    uint32_t width, narrow; /* lanes, and lanes of the second version of the code */
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    int is_large; /* code generation favours compile time */
    int is_huge;  /* … and variables stay in memory */
    vy_llvm_sizes sizes;
    uint64_t stack_bytes;     /* total frame size of all functions, as LLVM reports them during code generation */
    LLVMMemoryBufferRef made; /* an object or text; NULL before it exists */
    char message[256];        /* the first error that LLVM reported; "" if none */
    jmp_buf escape;
    vyre_error *error;
} vy_llvm_session;

/* Initialises LLVM if necessary, creates the context, calls `work`, and destroys the objects. The caller sets the
 * session's request, program, target, uniformity, width and error. Does not block other threads.
 *
 * VYRE_UNSUPPORTED  LLVM failed; the error has its message
 * Otherwise returns the status of `work`. */
typedef vyre_status vy_llvm_work(vy_llvm_session *session, void *user);
vyre_status vy_llvm_session_run(vy_llvm_session *session, vy_llvm_work *work, void *user);

/* Initialises LLVM ahead of the first job. Any thread. */
void vy_llvm_initialise(void);
/* The cause of failure of the last job of this thread, as far as fewer lanes may help: LLVM failed, or the code is
 * too large. */
typedef enum vy_llvm_failure { VY_LLVM_FINE, VY_LLVM_FAILED, VY_LLVM_TOO_WIDE } vy_llvm_failure;
vy_llvm_failure vy_llvm_latest_failure(void);
/* Sets it to VY_LLVM_TOO_WIDE. */
void vy_llvm_blame_width(void);

/* Checks the result of a call of LLVM: VYRE_OK if it succeeded and reported no error. `what` completes "LLVM does
 * not …"; words is the call's own message, or NULL. */
vyre_status vy_llvm_check(vy_llvm_session *session, int worked, const char *what, const char *words);

/* For tests: the k-th check of this thread from now on fails, counted from 1; 0: none. Returns the number of checks
 * since the last call. */
unsigned vy_llvm_fail_check(unsigned k);

/* ---- target machine ---- The target processor, in LLVM's terms. */

/* Creates session->machine, or replaces it, for the request's features and the program's size, and sets the triple
 * and data layout of the module.
 *
 * VYRE_UNSUPPORTED  the features belong to another architecture than this compiler's */
vyre_status vy_llvm_machine_make(vy_llvm_session *session);
/* Sets the attributes of every function in the module: the preferred vector width, no exceptions, no C library. */
void vy_llvm_machine_mark(vy_llvm_session *session);

#endif
