/* An LLVM session: a context of its own for one compile, its target machine, and LLVM's failures as errors.
 *
 * LLVM reports failures in three ways: calls that fail, diagnostics, and fatal errors, after which it ends the
 * process. A session handles all three. After a fatal error the state of LLVM's objects is unknown, so they are
 * leaked; the process continues.
 *
 * A session belongs to one thread. Sessions of several threads share nothing. */
#ifndef VY_COMPILERS_LLVM_LLVM_SESSION_H
#define VY_COMPILERS_LLVM_LLVM_SESSION_H

#include "backends/cpu/compiler.h"
#include "emit/llvm/kernel.h"

#include <llvm-c/TargetMachine.h>
#include <setjmp.h>

typedef struct vy_llvm_session {
    const vy_jit_request *request;
    const vyre_program *program;
    uint32_t width, narrow; /* lanes, and those of the second code */
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    int is_large; /* code is made quickly */
    int is_huge;  /* and variables stay in memory */
    vy_llvm_sizes sizes;
    uint64_t stack_bytes;     /* frames of all functions, as LLVM reports them while it generates code */
    LLVMMemoryBufferRef made; /* an object or text; NULL before */
    char message[256];        /* the first error LLVM reported; "" if there is none */
    jmp_buf escape;
    vyre_error *error;
} vy_llvm_session;

/* Starts LLVM if nobody has, makes the context, does `work`, and takes everything down again. The job has its request,
 * program, width and error. Blocks nobody.
 *
 * VYRE_UNSUPPORTED  LLVM failed; the error has its words
 * and what `work` returns */
typedef vyre_status vy_llvm_work(vy_llvm_session *session, void *user);
vyre_status vy_llvm_session_run(vy_llvm_session *session, vy_llvm_work *work, void *user);

/* Starts LLVM if it has not started: the first job need not. Any thread. */
void vy_llvm_initialise(void);
/* Why the latest job of this thread failed, as far as fewer lanes may help: LLVM failed, or what it made is too
 * large. */
typedef enum vy_llvm_failure { VY_LLVM_FINE, VY_LLVM_FAILED, VY_LLVM_TOO_WIDE } vy_llvm_failure;
vy_llvm_failure vy_llvm_latest_failure(void);
/* Makes it VY_LLVM_TOO_WIDE. */
void vy_llvm_blame_width(void);

/* Ends a call of LLVM: VYRE_OK if it has worked and reported no error. `what` completes "LLVM does not …"; words are
 * the call's own, or NULL. */
vyre_status vy_llvm_check(vy_llvm_session *session, int worked, const char *what, const char *words);

/* For tests: the k-th check of this thread from now on fails, counted from 1; 0 fails none. Returns how many there
 * were since the last call. */
unsigned vy_llvm_fail_check(unsigned k);

/* ---- target machine ----
 *
 * The processor that code is made for, in LLVM's terms. */

/* Makes job->machine, instead of one it may have, for the request's features and the job's size, and tells the module
 * of it.
 *
 * VYRE_UNSUPPORTED  the features are those of another architecture than this compiler is for */
vyre_status vy_llvm_machine_make(vy_llvm_session *session);
/* Attributes of every function in the module: how wide vectors are best, that nothing throws, and that there is no C
 * library to call. */
void vy_llvm_machine_mark(vy_llvm_session *session);

#endif
