/* Settings: the VYRE_… variables of the environment, read the same way wherever they are read. One that is empty is as one that is not there, and a process with
 * more rights than who started it has none (secure_getenv). Any thread, as long as nobody changes the environment meanwhile. */
#ifndef VY_BASE_SETTING_H
#define VY_BASE_SETTING_H

#include "vyre/base.h"

/* NULL if it is not there; else not empty. */
const char *vy_setting(const char *variable);

/* 0 for `0`, 1 for anything else, `otherwise` if it is not there. */
int vy_setting_switch(const char *variable, int otherwise);

/* A number in decimal digits and nothing else, or `otherwise` if it is not there.
 *
 * VYRE_INVALID_ARGUMENT  it is none, or outside [least, most]: *out is unset */
vyre_status vy_setting_number(const char *variable, uint32_t least, uint32_t most, uint32_t otherwise, uint32_t *out,
                              vyre_error *error);

#endif
