/* Environment variables (env.h). */
#include "base/env.h"

#include "base/status.h"
#include "base/string.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *vy_env_get(const char *variable) {
    const char *text = secure_getenv(variable);
    return text && *text ? text : NULL;
}

int vy_env_flag(const char *variable, int fallback) {
    const char *text = vy_env_get(variable);
    return text ? strcmp(text, "0") != 0 : fallback;
}

vyre_status vy_env_number(const char *variable, uint32_t min, uint32_t max, uint32_t fallback, uint32_t *out,
                          vyre_error *error) {
    const char *text = vy_env_get(variable);
    uint64_t value = fallback;
    if (text && (vy_parse_digits(text, strlen(text), 10, max, &value) <= 0 || value < min))
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("set %s to a number from %" PRIu32 " to %" PRIu32 ", or unset it", variable, min, max),
                       "%s is not a number from %" PRIu32 " to %" PRIu32 " (`%.40s`)", variable, min, max, text);
    *out = (uint32_t)value;
    return VYRE_OK;
}
