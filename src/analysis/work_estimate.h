/* Work estimate: roughly how many nodes of a program a workgroup evaluates, for backends that decide from it how many
 * threads a dispatch uses.
 *
 * Every change of the program's statements or of the workgroup size invalidates it. It affects no result. */
#ifndef VY_ANALYSIS_WORK_ESTIMATE_H
#define VY_ANALYSIS_WORK_ESTIMATE_H

#include "ir/model.h"

typedef struct vy_work_estimate {
    uint64_t nodes; /* of a workgroup, at least 1 */
    /* 1: the iterations of some loop depend on data or arguments, so the nodes are a guess */
    uint8_t varies;
} vy_work_estimate;

vy_work_estimate vy_work_estimate_of(const vyre_program *program);

#endif
