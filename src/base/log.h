/* The log sink of the process (vyre_log_set_sink of vyre/telemetry.h). */
#ifndef VY_BASE_LOG_H
#define VY_BASE_LOG_H

#include "vyre/telemetry.h"

/* Whether a sink is set: without one, the caller need not format a line. */
int vy_log_is_on(void);
/* Passes one line to the sink, if one is set. */
void vy_log(int level, const char *source, const char *message);

#endif
