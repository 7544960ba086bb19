/* Settings: the VYRE_… variables of the environment, read the same way wherever they are read. One that is empty is as
 * one that is not there, and a process with more rights than who started it has none (secure_getenv). Any thread, as
 * long as nobody changes the environment meanwhile. */
#ifndef VY_BASE_ENV_H
#define VY_BASE_ENV_H

#include "vyre/base.h"

/* NULL if it is not there; else not empty. */
const char *vy_env_get(const char *variable);

/* 0 for `0`, 1 for anything else, `fallback` if it is not there. */
int vy_env_flag(const char *variable, int fallback);

/* A number in decimal digits and nothing else, or `fallback` if it is not there.
 *
 * VYRE_INVALID_ARGUMENT  it is none, or outside [min, max]: *out is unset */
vyre_status vy_env_number(const char *variable, uint32_t min, uint32_t max, uint32_t fallback, uint32_t *out,
                          vyre_error *error);

#endif
