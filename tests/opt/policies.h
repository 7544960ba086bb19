/* The policies of the optimiser as the compile pipeline makes them of the targets' limits of unrolling. */
#ifndef VY_TESTS_OPT_POLICIES_H
#define VY_TESTS_OPT_POLICIES_H

#include "opt/pass_manager.h"

typedef enum opt_policy { POLICY_DEFAULT, POLICY_CPU, POLICY_LATE, POLICY_LATE_LARGE, POLICIES } opt_policy;
static const char *const opt_policy_names[POLICIES] = {"default", "cpu", "late", "late, large"};

static inline const vy_opt_policy *opt_policy_of(opt_policy which) {
    static vy_opt_policy made[POLICIES];
    const vy_target_desc cpu = vy_cpu_target(0, 0), ptx = vy_ptx_target(90, 0);
    vy_opt_policy *policy = &made[which];
    *policy = which == POLICY_DEFAULT ? vy_opt_default
                                      : vy_opt_policy_for(which == POLICY_CPU ? &cpu.unroll : &ptx.unroll_late);
    if (which == POLICY_LATE_LARGE) {
        policy->unroll.private_trips = policy->unroll.trips;
        policy->unroll.private_cost = policy->unroll.cost;
    }
    return policy;
}

#endif
