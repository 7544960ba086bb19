/* Target description: everything that the compile pipeline and the legaliser may assume about a target.
 *
 * There is one struct for all targets. target.c has a row for each target of the library; a backend adapts a copy of
 * its row to the device (what a probe did not confirm, the width of its accesses). A zero-initialised description is
 * the weakest target: 32-bit integers, one element per access, no optimisation. Of a device we rely on nothing but
 * this:
 *  - 32-bit integer ops, and 64-bit ones with INT64, but for division edges (INT_DIV) and amounts beyond the width
 *    (SHIFT);
 *  - loads, stores, selects, bitcasts and casts between integers move bits, those of NaNs and subnormals too;
 *  - native f32 operations on normal numbers with normal results are as exact as the profile states, and approximate
 *    division and square root within 2.5 ulp;
 *  - f64 operations as the profile states; without any of f64, or without 64-bit integers, no f64 is used;
 *  - nothing is contracted, reassociated or otherwise rewritten: the program is optimised before, not after. */
#ifndef VY_COMPILE_TARGET_TARGET_H
#define VY_COMPILE_TARGET_TARGET_H

#include "vyre/backend.h"

#include <stdint.h>

/* Which expressions the pass `unroll` folds itself, as the pass `const-fold` after it would: none, those that it
 * emits, or all, also where nothing is unrolled. */
typedef enum vy_unroll_folds { VY_FOLDS_NOTHING, VY_FOLDS_UNROLLED, VY_FOLDS_ALL } vy_unroll_folds;

/* Profitability limits of loop unrolling. A cost is the number of statements and expressions that a loop becomes. */
typedef struct vy_unroll_limits {
    uint32_t trips, cost; /* of a `for` */
    /* of a `for` that accesses private arrays, which need literal indices to be registers */
    uint32_t private_trips, private_cost;
    /* of a `while` whose condition depends on one variable that goes from literal to literal */
    uint32_t counter_trips, counter_cost;
    uint32_t room; /* maximum size of the program */
    vy_unroll_folds folds;
} vy_unroll_limits;

/* The limits of level 2 on a target without preferences. */
#define VY_UNROLL_LIMITS_DEFAULT                                                                                       \
    { .trips = 16, .cost = 96, .private_trips = 16, .private_cost = 96, .room = UINT32_MAX }

/* Where thread coarsening is applied (opt/coarsen.h). */
typedef enum vy_coarsen_use {
    VY_COARSEN_NEVER,
    VY_COARSEN_IF_FASTER,
    VY_COARSEN_IF_POSSIBLE /* for tests */
} vy_coarsen_use;

/* The statements that check versioning writes twice, under one test of their bounds (opt/version_checks.h). */
typedef enum vy_versions { VY_VERSIONS_NONE, VY_VERSIONS_OF_LOOPS, VY_VERSIONS_OF_ALL } vy_versions;

/* Which branches become predicated code: the most ops and accesses of both sides of an `if`, and the most ops of an
 * iteration that becomes straight-line code. All zeros: none. */
typedef struct vy_predication {
    uint32_t ops, accesses, ops_of_trip;
} vy_predication;

/* Which body of a math function is compiled, if the standard library has two. Both return the same bits. */
typedef enum vy_math_variant {
    VY_MATH_WITH_F64,
    VY_MATH_WITHOUT_F64, /* the target has no f64, or a slow one */
    VY_MATH_WITH_TABLES  /* reads of a table cost less than a few ops of f64 */
} vy_math_variant;

/* Errata of ptxas that need other code in some programs, with their numbers in docs/internals/ptx.md. The emitter never
 * writes what triggers the others. */
enum {
    VY_PTX_ERRATUM_NEGATED_EXTREMES = 1 << 0, /* E4 */
    VY_PTX_ERRATUM_NEGATIVE_ZERO = 1 << 1,    /* E5 */
    VY_PTX_ERRATUM_BOUNDS = 1 << 2,           /* E6 to E8 */
    VY_PTX_ERRATUM_ABS = 1 << 3,              /* E9 */
    VY_PTX_ERRATUM_SUMS = 1 << 4,             /* E10 */
    VY_PTX_ERRATUM_HIGH_PRODUCTS = 1 << 5,    /* E11 */
    VY_PTX_ERRATUM_FLAGS = 1 << 6,            /* E12 */
    VY_PTX_ERRATUM_TRIP_COUNTS = 1 << 7,      /* E13 */
    VY_PTX_ERRATA = (1 << 8) - 1
};

/* Errata of LLVM: the rows of VY_LLVM_ERRATA (emit/llvm/emitter.h). */
enum {
    VY_LLVM_ERRATUM_MASKED_LOADS = 1 << 0, /* masked-load-constant, masked-load-size */
    VY_LLVM_ERRATUM_MASK_SUMS = 1 << 1,    /* mask-sum-loop */
    VY_LLVM_ERRATUM_MASKED_LOGIC = 1 << 2, /* masked-ternary-logic */
    VY_LLVM_ERRATUM_HALF_MINIMUM = 1 << 3, /* half-minimum-call */
    VY_LLVM_ERRATUM_HALF_RANGE = 1 << 4    /* half-range */
};

typedef struct vy_target_desc {
    /* ---- the device ---- */
    uint64_t exact; /* bits 1 << VYRE_NUMERIC_… */
    /* width of the hardware's subgroups: consecutive invocations with a native shuffle; 0: none */
    uint32_t subgroup_width;
    uint32_t access_bytes; /* the widest access: 4, 8 or 16; 0: one element */
    /* the emitter implements collectives in the canonical order; the exact ones are not lowered */
    uint8_t native_collectives;
    uint8_t zeroes_arrays;   /* arrays are zero at the start */
    uint8_t aligned_buffers; /* every buffer starts at a multiple of 16 bytes */
    /* the emitter's grid barrier ends the grid after a report or a true poll: no workgroup waits there for an ended
     * one */
    uint8_t ends_at_grid_barriers;
    uint32_t registers;      /* vector registers of the instruction set; 0: the compiler of the target decides */
    uint32_t register_lanes; /* 32-bit words in one of them */
    uint32_t errata;         /* of the compiler of the target: VY_PTX_…, VY_LLVM_… or VY_OPENCL_ERRATUM_… */

    /* ---- the kernel ---- */
    uint8_t cancellable; /* with polls for cancellation */

    /* ---- the passes ---- */
    uint8_t math;                 /* vy_math_variant */
    uint8_t optimise;             /* level of vyre_optimize_options; 0: not optimised */
    uint8_t coarsen;              /* vy_coarsen_use, up to access_bytes; the launch needs vy_compiled.factor */
    uint8_t unroll_arrays;        /* loops over private arrays are unrolled after lowering (opt/unroll_arrays.h) */
    uint8_t version_checks;       /* vy_versions: the statements with two versions (opt/version_checks.h) */
    vy_unroll_limits unroll;      /* in the rounds of the optimiser */
    vy_unroll_limits unroll_late; /* once after the optimiser; trips 0: not */
    /* From this size on, unroll_late leaves loops over private arrays to unroll_arrays: passes over all iterations
     * cost more than they find. */
    uint32_t unroll_late_nodes;
    vy_predication predication; /* by the emitter, since the program representation has no predicated statement */
} vy_target_desc;

/* Fills the fields of a device profile that follow from what the emitter does for the target. */
void vy_target_profile(const vy_target_desc *target, vyre_device_profile *profile);

/* Backend `cpu` on a processor with these features (base/cpu_features.h). */
vy_target_desc vy_cpu_target(uint64_t features, int cancellable);

/* PTX on a device of that architecture (70 is sm_70). Collectives use shuffles of 32 consecutive invocations: CUDA
 * guarantees that these are a warp. */
vy_target_desc vy_ptx_target(uint32_t architecture, int cancellable);

/* The first architecture for which grid barriers are emitted: they need loads and stores that acquire and release. */
enum { VY_PTX_GRID_BARRIERS = 70 };

/* Plain C (emit/c/c.h). Ops that C defines, or that a function of a few lines implements, are native; f16 and bf16
 * become f32 and integers, collectives become arrays and barriers. The program is not optimised, so that the text
 * remains close to the source. */
vy_target_desc vy_c_target(int cancellable);

#endif
