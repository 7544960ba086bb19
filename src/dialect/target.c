/* Targets: the table, and extensions kept under numbers above it. */
#include "dialect/interner.h"
#include "vyre/dialect.h"

#include <string.h>

enum { TEXT_LIMIT = 63 };

static const struct {
    const char *id, *alias, *extension, *emit_name;
} targets[VYRE_TARGET_COUNT] = {
#define X(ID, id, alias, extension, emit, doc) {id, alias, extension, emit},
    VYRE_TARGET_LIST(X)
#undef X
};

static int is_target_text(const char *text, size_t length) {
    if (length < 1 || length > TEXT_LIMIT)
        return 0;
    for (size_t i = 0; i < length; i++)
        if (!text[i] || !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:", text[i]))
            return 0;
    return 1;
}

static int equals(const char *word, const char *text, size_t length) {
    return strlen(word) == length && memcmp(word, text, length) == 0;
}

vyre_status vyre_target_parse(const char *text, size_t length, vyre_target *out, vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = VYRE_TARGET_COUNT;
    VY_REQUIRE(error, text);
    if (!is_target_text(text, length))
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("use 1 to %d letters, digits, `_`, `-`, `.` and `:`", TEXT_LIMIT),
                       "`%.*s` is no target id", (int)(length < 64 ? length : 64), text);
    for (vyre_target i = 0; i < VYRE_TARGET_COUNT; i++)
        if (equals(targets[i].id, text, length) || equals(targets[i].alias, text, length)) {
            *out = i;
            return VYRE_OK;
        }
    uint32_t number;
    vyre_status status = vy_interner_add(&vy_extension_targets, text, length, &number, error);
    if (status == VYRE_OK)
        *out = VYRE_TARGET_COUNT + number;
    return status;
}

static const char *extension_text(vyre_target target) {
    return target > VYRE_TARGET_COUNT ? vy_interner_text(&vy_extension_targets, target - VYRE_TARGET_COUNT) : NULL;
}

const char *vyre_target_text(vyre_target target) {
    return target < VYRE_TARGET_COUNT ? targets[target].id : extension_text(target);
}

const char *vyre_target_extension(vyre_target target) {
    return target < VYRE_TARGET_COUNT ? targets[target].extension : extension_text(target);
}

const char *vyre_target_emit_name(vyre_target target) {
    return target < VYRE_TARGET_COUNT ? targets[target].emit_name : NULL;
}

vyre_target vyre_target_from_emit_name(const char *name) {
    for (vyre_target i = 0; name && i < VYRE_TARGET_COUNT; i++)
        if (targets[i].emit_name && strcmp(targets[i].emit_name, name) == 0)
            return i;
    return VYRE_TARGET_COUNT;
}
