/* Reading a module's descriptor, which other people's compilers made: nothing in it is believed before it was looked at, and what
 * was not there when the module was built is not read.
 *
 * A stream is a row of the table below; code is the same for all three. */
#include "base/status.h"
#include "dialect/registry.h"
#include "driver/registry.h"

#include <stdint.h>
#include <string.h>

/* More records than any module has; a larger count means that the bounds are garbage. */
#define RECORDS_LIMIT 1024u
#define ID_LIMIT 63u

#define END_OF(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

static const struct {
    const char *name;
    size_t begin, end; /* of the bounds in the descriptor */
    size_t least;      /* smallest struct_size: through the last entry the contract's first version requires */
    size_t id;
} streams[VY_STREAM_COUNT] = {
    [VY_STREAM_BACKEND] = {"backend", offsetof(vyre_module_descriptor, backends),
                           offsetof(vyre_module_descriptor, backends_end), END_OF(vyre_backend_registration, create),
                           offsetof(vyre_backend_registration, id)},
    [VY_STREAM_PRECEDENCE] = {"precedence", offsetof(vyre_module_descriptor, precedences),
                              offsetof(vyre_module_descriptor, precedences_end),
                              END_OF(vyre_precedence_registration, rank), offsetof(vyre_precedence_registration, id)},
    [VY_STREAM_CAPABILITY] = {"capability", offsetof(vyre_module_descriptor, capabilities),
                              offsetof(vyre_module_descriptor, capabilities_end),
                              END_OF(vyre_capability_registration, dispatches),
                              offsetof(vyre_capability_registration, id)},
};

const char *vy_stream_name(vy_stream stream) {
    return streams[stream].name;
}

/* Pointers are copied as bytes: the three streams have three types. */
static const void *pointer_at(const void *memory, size_t offset) {
    const void *pointer;
    memcpy(&pointer, (const char *)memory + offset, sizeof pointer);
    return pointer;
}

static size_t bytes_between(const void *begin, const void *end) {
    return (uintptr_t)end >= (uintptr_t)begin ? (uintptr_t)end - (uintptr_t)begin : SIZE_MAX;
}

size_t vy_module_count(const vyre_module_descriptor *module, vy_stream stream) {
    return bytes_between(pointer_at(module, streams[stream].begin), pointer_at(module, streams[stream].end)) /
           sizeof(void *);
}

const void *vy_module_record(const vyre_module_descriptor *module, vy_stream stream, size_t index) {
    return pointer_at(pointer_at(module, streams[stream].begin), index * sizeof(void *));
}

const char *vy_record_id(const void *record, vy_stream stream) {
    return pointer_at(record, streams[stream].id);
}

static vyre_status check_abi(uint32_t abi, const char *what, const char *owner, vyre_error *error) {
    if (abi == 0)
        return vy_fail(error, VYRE_ABI_MISMATCH, NULL, "%s of `%s` is too old: it names no version of the contract (0)",
                       what, owner);
    if (abi > VYRE_BACKEND_ABI)
        return vy_fail(
            error, VYRE_ABI_MISMATCH,
            VY_FIX("install a libvyre that speaks version %u, or rebuild `%s` against these headers", abi, owner),
            "%s of `%s` is too new: it is made for version %u of the contract (this library speaks 1 to %u)", what,
            owner, abi, VYRE_BACKEND_ABI);
    return VYRE_OK;
}

/* Lower-case letters, digits, '_', '-', '.': neither '#', which addresses devices, nor anything a shell or a list would trip over. */
static int id_is_valid(const char *id, size_t *length) {
    size_t n = 0;
    for (; id[n] && n <= ID_LIMIT; n++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_-.", id[n]))
            return 0;
    *length = n;
    return n >= 1 && n <= ID_LIMIT;
}

static vyre_status check_id(const char *id, vy_stream stream, const char *owner, vyre_error *error) {
    const char *name = streams[stream].name;
    size_t length = 0;
    if (!id)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("set .id in the record"),
                       "a %s record of `%s` has no id (NULL)", name, owner);
    if (!id_is_valid(id, &length))
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("use 1 to %u lower-case letters, digits, `_`, `-` and `.`", ID_LIMIT),
                       "a %s record of `%s` has an id that is not one (`%.64s`)", name, owner, id);
    return VYRE_OK;
}

static vyre_status check_backend(const vyre_backend_registration *record, const char *owner, vyre_error *error) {
    char what[96];
    (void)vy_fix_format(what, sizeof what, "backend `%s`", record->id);
    vyre_status status = check_abi(record->abi, what, owner, error);
    if (status == VYRE_OK && !record->create)
        status = vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("set .create in the record"),
                         "backend `%s` of `%s` has no constructor (NULL)", record->id, owner);
    return status;
}

static vyre_status check_record(const void *record, vy_stream stream, const char *owner, vyre_error *error) {
    const char *name = streams[stream].name;
    if (!record)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("make records with the VYRE_REGISTER_* macros"),
                       "`%s` has a %s record that is missing (NULL)", owner, name);
    uint32_t size;
    memcpy(&size, record, sizeof size);
    if (size < streams[stream].least)
        return vy_fail(error, VYRE_ABI_MISMATCH, NULL, "a %s record of `%s` is too short (%u bytes of at least %zu)",
                       name, owner, size, streams[stream].least);
    vyre_status status = check_id(vy_record_id(record, stream), stream, owner, error);
    if (status == VYRE_OK && stream == VY_STREAM_BACKEND)
        status = check_backend(record, owner, error);
    return status;
}

static vyre_status check_stream(const vyre_module_descriptor *module, vy_stream stream, const char *owner,
                                vyre_error *error) {
    const void *begin = pointer_at(module, streams[stream].begin), *end = pointer_at(module, streams[stream].end);
    size_t bytes = bytes_between(begin, end);
    if (!begin != !end || bytes == SIZE_MAX || bytes % sizeof(void *) != 0)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("make the descriptor with VYRE_MODULE or VYRE_PLUGIN"),
                       "the bounds of the %s stream of `%s` do not fit each other (%p to %p)", streams[stream].name,
                       owner, begin, end);
    size_t count = bytes / sizeof(void *);
    if (count > RECORDS_LIMIT)
        return vy_fail(error, VYRE_LIMIT, VY_FIX("split the module, or make its descriptor with the macros"),
                       "`%s` has too many %s records (%zu of at most %u)", owner, streams[stream].name, count,
                       RECORDS_LIMIT);
    for (size_t i = 0; i < count; i++) {
        vyre_status status = check_record(vy_module_record(module, stream, i), stream, owner, error);
        if (status != VYRE_OK)
            return status;
    }
    return VYRE_OK;
}

vyre_status vy_module_check(const vyre_module_descriptor *module, const char *owner, vyre_error *error) {
    const size_t least = END_OF(vyre_module_descriptor, capabilities_end);
    if (module->struct_size < least)
        return vy_fail(error, VYRE_ABI_MISMATCH, NULL, "the descriptor of `%s` is too short (%u bytes of at least %zu)",
                       owner, module->struct_size, least);
    if (!module->name || !*module->name)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("name the module: VYRE_MODULE(\"mine\")"),
                       "the descriptor of `%s` has no name", owner);
    vyre_status status = check_abi(module->abi, "the descriptor", owner, error);
    for (vy_stream stream = 0; stream < VY_STREAM_COUNT && status == VYRE_OK; stream++)
        status = check_stream(module, stream, owner, error);
    vy_dialect_streams dialects; /* what they hold is checked when they join */
    return status == VYRE_OK ? vy_dialect_streams_read(module, owner, &dialects, error) : status;
}
