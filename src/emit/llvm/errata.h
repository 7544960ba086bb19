/* Workarounds for LLVM errata: defects of LLVM's optimiser and code generator, and how the emitted code avoids each.
 *
 * One row for each defect. `name` is the file name of the reproducer, tests/compilers/errata/NAME.ll: IR that LLVM of
 * the given versions compiles to wrong code, or does not compile. The test compilers.errata compiles it without the
 * avoidance and reports a row that the linked LLVM no longer needs; NAME.vyre is a program that the emitter must
 * compile to the right bits. docs/internals/cpu.md ("LLVM errata") describes the rows.
 *
 * A row is removed when every LLVM that the build accepts compiles its reproducer correctly. */
#ifndef VY_EMIT_LLVM_ERRATA_H
#define VY_EMIT_LLVM_ERRATA_H

#include <llvm-c/Core.h>

#include <stdint.h>

/* X(name, seen in versions, avoidance) */
#define VY_LLVM_ERRATA(X)                                                                                              \
    X("masked-load-constant", "19.1 to 22.1",                                                                          \
      "AVX, AVX2: the mask of a masked load is hidden from the code generator (vy_llvm_errata_rewrite)")               \
    X("masked-load-size", "19.1", "as masked-load-constant")                                                           \
    X("mask-sum-loop", "19.1",                                                                                         \
      "AVX-512: a choice between y + 1 and y instead of a sum with a mask (vy_llvm_errata_rewrite)")                   \
    X("half-range", "19.1",                                                                                            \
      "floats made of integers are hidden from the optimiser in a program that converts to f16 (op.c)")

/* Rewrites the instructions of an optimised module that LLVM would compile to wrong code for a processor with these
 * features (VY_CPU_FEATURE_…). No pass of the optimiser may run afterwards: it could undo the rewriting. */
void vy_llvm_errata_rewrite(LLVMModuleRef module, uint64_t features);

#endif
