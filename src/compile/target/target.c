/* The targets of the library: one row of the target description (target.h) each. */
#include "compile/target/target.h"

#include "base/cpu_features.h"

#include <string.h>

#define EXACT(NAME) (UINT64_C(1) << VYRE_NUMERIC_##NAME)
#define EXACT_RANGE(FIRST, LAST) ((EXACT(LAST) << 1) - EXACT(FIRST))

/* The limits of loops over private arrays in `unroll_late` are large, because registers are the only fast private
 * memory of a GPU. */
static const vy_target_desc cpu = {.native_collectives = 1,
                                   .errata = VY_LLVM_ERRATUM_HALF_RANGE,
                                   .optimise = 2,
                                   .unroll = {.trips = 16,
                                              .cost = 96,
                                              .private_trips = 16,
                                              .private_cost = 96,
                                              .counter_trips = 16,
                                              .counter_cost = 288, /* the steps of a workgroup become vector code */
                                              .room = 20000}};

/* Exact: what the ISA guarantees, to be confirmed by a probe on the device. 8- and 16-bit integers are not worth their
 * instructions; division edges and amounts beyond the width are not those of the language; f16 has no native division
 * and square root. */
static const vy_target_desc ptx = {.exact = EXACT(INT64) | EXACT_RANGE(F32_ADD, F64_CONVERT) | EXACT(F16_ADD) |
                                            EXACT(F16_MUL) | EXACT(F16_FMA) | EXACT(F16_CONVERT),
                                   .subgroup_width = 32,
                                   .access_bytes = 16,
                                   .errata = VY_PTX_ERRATA,
                                   .optimise = 2,
                                   .coarsen = VY_COARSEN_IF_FASTER,
                                   .unroll_arrays = 1,
                                   .unroll = VY_UNROLL_LIMITS_DEFAULT,
                                   .unroll_late = {.trips = 16,
                                                   .cost = 96,
                                                   .private_trips = 64,
                                                   .private_cost = 8192,
                                                   .counter_trips = 16,
                                                   .counter_cost = 1024,
                                                   .room = 20000},
                                   .unroll_late_nodes = 6000,
                                   .predication = {.ops = 12, .accesses = 4, .ops_of_trip = 24}};

static const vy_target_desc c = {.exact = EXACT_RANGE(INT8, F64_CONVERT), .ends_at_grid_barriers = 1};

void vy_target_profile(const vy_target_desc *target, vyre_device_profile *profile) {
    profile->supports_f64 = (target->exact & EXACT_RANGE(F64_ADD, F64_CONVERT)) != 0;
    profile->max_native_int_width = target->exact & EXACT(INT64) ? 64 : 32;
    profile->has_subgroup_shuffle = target->subgroup_width != 0;
    profile->ideal_vector_pack_bits = 8 * target->access_bytes;
    profile->supports_int64_atomics = profile->supports_trap_propagation = 1;
    profile->has_mul_high = profile->has_shared_memory = 1;
}

vy_target_desc vy_cpu_target(uint64_t features, int cancellable) {
    vy_target_desc target = cpu;
    target.exact = vy_cpu_numerics(features);
    target.registers = features & (VY_CPU_FEATURE_AVX512F | VY_CPU_FEATURE_AARCH64) ? 32 : 16;
    target.register_lanes = vy_cpu_width(features);
    if (features & VY_CPU_FEATURE_X86_64)
        target.errata |= VY_LLVM_ERRATUM_HALF_MINIMUM;
    if (features & VY_CPU_FEATURE_AVX512F)
        target.errata |= VY_LLVM_ERRATUM_MASK_SUMS | VY_LLVM_ERRATUM_MASKED_LOGIC;
    else if (features & VY_CPU_FEATURE_AVX)
        target.errata |= VY_LLVM_ERRATUM_MASKED_LOADS;
    target.cancellable = cancellable != 0;
    return target;
}

/* Whether an architecture computes f64 at half or a third of the rate of f32; any other at 1/32 or 1/64 (CUDA C++
 * Programming Guide, throughput of native arithmetic instructions). */
static int has_fast_f64(uint32_t architecture) {
    static const uint8_t fast[] = {60, 70, 72, 80, 90, 100};
    return architecture == 0 || memchr(fast, (int)architecture, sizeof fast) != NULL;
}

vy_target_desc vy_ptx_target(uint32_t architecture, int cancellable) {
    vy_target_desc target = ptx;
    if (architecture >= 80)
        target.exact |= EXACT(BF16_FMA) | EXACT(BF16_CONVERT);
    target.math = has_fast_f64(architecture) ? VY_MATH_WITH_TABLES : VY_MATH_WITHOUT_F64;
    target.ends_at_grid_barriers = architecture >= VY_PTX_GRID_BARRIERS;
    target.cancellable = cancellable != 0;
    return target;
}

vy_target_desc vy_c_target(int cancellable) {
    vy_target_desc target = c;
    target.cancellable = cancellable != 0;
    return target;
}
