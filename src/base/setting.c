/* Variables of the environment (setting.h). */
#include "base/setting.h"

#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *vy_setting(const char *variable) {
    const char *text = secure_getenv(variable);
    return text && *text ? text : NULL;
}

int vy_setting_switch(const char *variable, int otherwise) {
    const char *text = vy_setting(variable);
    return text ? strcmp(text, "0") != 0 : otherwise;
}

vyre_status vy_setting_number(const char *variable, uint32_t least, uint32_t most, uint32_t otherwise, uint32_t *out,
                              vyre_error *error) {
    const char *text = vy_setting(variable);
    uint64_t value = otherwise;
    if (text && (vy_digits_read(text, strlen(text), 10, most, &value) <= 0 || value < least))
        return vy_fail(
            error, VYRE_INVALID_ARGUMENT,
            VY_FIX("give %s a number from %" PRIu32 " to %" PRIu32 ", or leave it out", variable, least, most),
            "%s is not a number from %" PRIu32 " to %" PRIu32 " (`%.40s`)", variable, least, most, text);
    *out = (uint32_t)value;
    return VYRE_OK;
}
