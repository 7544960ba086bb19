/* Environment variables VYRE_…. An empty variable counts as unset. A setuid or otherwise privileged process ignores all
 * of them (secure_getenv). Any thread, if no thread changes the environment meanwhile. */
#ifndef VY_BASE_ENV_H
#define VY_BASE_ENV_H

#include "vyre/base.h"

/* NULL if unset; else not empty. */
const char *vy_env_get(const char *variable);

/* 0 for `0`, 1 for any other value, `fallback` if unset. */
int vy_env_flag(const char *variable, int fallback);

/* A decimal number without sign and spaces, or `fallback` if unset.
 *
 * VYRE_INVALID_ARGUMENT  not a number, or outside [min, max]: *out is unset */
vyre_status vy_env_number(const char *variable, uint32_t min, uint32_t max, uint32_t fallback, uint32_t *out,
                          vyre_error *error);

#endif
