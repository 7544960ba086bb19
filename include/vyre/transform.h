/* The optimiser: passes that transform programs. Each pass yields a program with identical results for every input,
 * including traps, barriers, prints, NaN, −0, wrapping, bounds and memory order (docs/bits.md). The passes and their
 * order are selected by a level or a list; docs/internals/opt.md describes them.
 *
 *     vyre_optimize_options options = {.level = 2};
 *     status = vyre_program_optimize(program, &options, &optimized, NULL, &error);
 *
 * Threads:  any thread, concurrently. */
#ifndef VYRE_TRANSFORM_H
#define VYRE_TRANSFORM_H

#include "vyre/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The passes. X(ID, function, name, doc); `function` is internal. */
#define VYRE_PASS_LIST(X)                                                                                              \
    X(CONST_FOLD, const_fold, "const-fold",                                                                            \
      "constant folding: an op of literals becomes a literal, as do known lengths and sizes")                          \
    X(INSTCOMBINE, instcombine, "instcombine", "algebraic identities that hold for every value of the type")           \
    X(SIMPLIFY_CFG, simplify_cfg, "simplify-cfg",                                                                      \
      "removes branches with a known condition, loops without iterations and unreachable code")                        \
    X(GVN, gvn, "gvn", "global value numbering: common subexpressions, copies, loads of a stored value")               \
    X(RANGE, range, "range", "range analysis: comparisons, masks, remainders, minima and maxima with a known result")  \
    X(STRENGTH_REDUCE, strength_reduce, "strength-reduce",                                                             \
      "divisions by literals become multiplications, multiplications by powers of two shifts")                         \
    X(LICM, licm, "licm", "loop-invariant code motion: computes expressions that do not change in a loop before it")   \
    X(UNROLL, unroll, "unroll", "unrolls short loops with literal bounds")                                             \
    X(DCE, dce, "dce", "dead code elimination: unused variables and arrays, overwritten values, loops without effect")

typedef enum vyre_pass {
#define X(ID, function, name, doc) VYRE_PASS_##ID,
    VYRE_PASS_LIST(X)
#undef X
        VYRE_PASS_COUNT
} vyre_pass;

/* Name and description of a pass; NULL outside the list. Constant data, any thread. */
VYRE_API const char *vyre_pass_name(vyre_pass pass);
VYRE_API const char *vyre_pass_doc(vyre_pass pass);
/* The pass of that name, or VYRE_PASS_COUNT. */
VYRE_API vyre_pass vyre_pass_find(const char *name, size_t length);

/* Statistics of one run of a pass. */
typedef struct vyre_pass_run {
    vyre_pass pass;
    uint64_t changes; /* number of changes; 0: the program is the same object */
    int was_refused;  /* its result was not valid (a race exposed by the pass, a limit) and was dropped */
    uint64_t nanoseconds;
    uint32_t statements, expressions; /* of the program after it */
} vyre_pass_run;

/* Called after every run of a pass, with the resulting program (borrowed). */
typedef void vyre_pass_observer(void *user, const vyre_pass_run *run, const vyre_program *after);

enum { VYRE_OPTIMIZE_LEVEL_MAX = 2 };

/* Options of vyre_program_optimize. Zero-initialised: level 1, no observer. */
typedef struct vyre_optimize_options {
    unsigned level;          /* 1: cheap passes that always pay off; 2: all passes. 0 = 1 */
    const vyre_pass *passes; /* not NULL: these, in this order, once each; `level` is ignored */
    size_t pass_count;
    vyre_pass_observer *observer;
    void *observer_user;
} vyre_optimize_options;

/* Capacity of the report, so that later versions can add passes without changing its size. */
enum { VYRE_PASS_LIMIT = 32 };

/* Statistics by pass. */
typedef struct vyre_optimize_report {
    struct {
        uint32_t runs, refused;
        uint64_t changes, nanoseconds;
    } passes[VYRE_PASS_LIMIT]; /* by vyre_pass */
    uint32_t rounds;
    uint32_t statements_before, statements_after, expressions_before, expressions_after; /* before: inlined */
} vyre_optimize_report;

/* Optimises a program, which is not modified. Calls of local functions are inlined first; calls of ops by id remain. A
 * list of passes runs once. A level repeats its passes until they change nothing, up to a small limit.
 *
 * options  NULL: zero-initialised.
 * out      A program with one reference; the same object if nothing changed.
 * report   Optional; zeros on failure.
 *
 * Blocking:  no; time grows with the size of the program.
 *
 * VYRE_INVALID_ARGUMENT  the program is of level legal (optimise before legalising); an unknown level or pass
 * VYRE_LIMIT             the inlined program exceeds a limit of the language
 * VYRE_NO_MEMORY         out of host memory */
VYRE_API vyre_status vyre_program_optimize(const vyre_program *program, const vyre_optimize_options *options,
                                           vyre_program **out, vyre_optimize_report *report, vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
