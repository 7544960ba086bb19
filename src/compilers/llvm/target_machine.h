/* The processor that code is made for, in LLVM's terms. */
#ifndef VY_COMPILERS_LLVM_TARGET_MACHINE_H
#define VY_COMPILERS_LLVM_TARGET_MACHINE_H

#include "compilers/llvm/llvm_session.h"

/* Makes job->machine, instead of one it may have, for the request's features and the job's size, and tells the module of it.
 *
 * VYRE_UNSUPPORTED  the features are those of another architecture than this compiler is for */
vyre_status vy_llvm_machine_make(vy_llvm_session *session);
/* Takes the machine of a job that went well, for one that wants the same. */
void vy_llvm_machine_keep(vy_llvm_session *session);
/* Attributes of every function in the module: how wide vectors are best, that nothing throws, and that there is no C library to call. */
void vy_llvm_machine_mark(vy_llvm_session *session);

#endif
