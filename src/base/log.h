/* The log sink of the process (vyre_log_set_sink of vyre/telemetry.h). */
#ifndef VY_BASE_LOG_H
#define VY_BASE_LOG_H

#include "vyre/telemetry.h"

/* Whether there is a sink: without one, a line need not be made. */
int vy_log_is_on(void);
/* One line for the sink of the process, if there is one. */
void vy_log(int level, const char *source, const char *message);

#endif
