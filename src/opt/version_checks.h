/* Check versioning (loop versioning): statements whose accesses have bounds checks are written twice, under one test
 * that decides about all of these checks. */
#ifndef VY_OPT_VERSION_CHECKS_H
#define VY_OPT_VERSION_CHECKS_H

#include "compile/target/target.h"
#include "vyre/program.h"

/* *out is `program`, of level legal and inlined, with versions where they pay off for a target with
 * target->version_checks; or `program` itself, retained. The result is a step (ir/irbuilder.h). Any thread.
 *
 * VYRE_LIMIT      the result is too large or too deep
 * VYRE_NO_MEMORY  out of memory */
vyre_status vy_version_checks(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                              vyre_error *error);

#endif
