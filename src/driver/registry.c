/* Backend registry: atomic pointer to the newest immutable list; plug-in ABI version check of descriptors; op names.
 *
 * Invariants:
 *  - A list never changes after it is published and is never freed. `previous` keeps older lists reachable for leak
 *    checkers.
 *  - The first list is published by a compare-and-swap; the losing thread frees its list. Modules join one at a time,
 *    under a lock that readers do not acquire and that is not held while a plug-in's initialiser runs.
 *  - A list is one allocation. If it fails, nothing was published, and the next call tries again.
 *  - A module descriptor was compiled elsewhere: every value is checked before its use, and members that its
 *    struct_size does not cover are not read. The three streams are rows of one table, so their code is shared. */
#include "driver/registry.h"

#include "base/diagnostics.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/string.h"
#include "base/thread.h"
#include "dialect/registry.h"
#include "driver/plugin.h"
#include "vyre/op.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- module descriptors ---- */

/* More records than any module has: a larger count indicates invalid bounds. */
#define RECORDS_LIMIT 1024u
#define ID_LIMIT 63u

#define END_OF(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

static const struct {
    const char *name;
    size_t begin, end; /* of the bounds in the descriptor */
    size_t least;      /* smallest struct_size: up to the last member that the first version of the contract requires */
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

static const char *stream_name(vy_stream stream) {
    return streams[stream].name;
}

/* Pointers are copied as bytes, because the streams have different types. */
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

static const char *record_id(const void *record, vy_stream stream) {
    return pointer_at(record, streams[stream].id);
}

static vyre_status check_abi(uint32_t abi, const char *what, const char *owner, vyre_error *error) {
    if (abi == 0)
        return vy_fail(error, VYRE_ABI_MISMATCH, NULL,
                       "%s of `%s` is too old: it specifies no version of the contract (0)", what, owner);
    if (abi > VYRE_BACKEND_ABI)
        return vy_fail(
            error, VYRE_ABI_MISMATCH,
            VY_FIX("install a libvyre that supports version %u, or rebuild `%s` against these headers", abi, owner),
            "%s of `%s` is too new: it is made for version %u of the contract (this library supports 1 to %u)", what,
            owner, abi, VYRE_BACKEND_ABI);
    return VYRE_OK;
}

/* Lower-case letters, digits, '_', '-' and '.': not '#', which selects a device, nor any character that is special in a
 * shell or a list. */
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
                       "a %s record of `%s` has an invalid id (`%.64s`)", name, owner, id);
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
    vyre_status status = check_id(record_id(record, stream), stream, owner, error);
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
                       "the bounds of the %s stream of `%s` are inconsistent (%p to %p)", streams[stream].name, owner,
                       begin, end);
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

static vyre_status module_check(const vyre_module_descriptor *module, const char *owner, vyre_error *error) {
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
    vy_dialect_streams dialects; /* checked when they are installed */
    return status == VYRE_OK ? vy_dialect_streams_read(module, owner, &dialects, error) : status;
}

/* ---- the registry ---- */

#define FIRST_SLOTS 16u

/* On a separate cache line: every lookup reads it, so no frequently written variable may share the line. */
static struct { _Alignas(64) _Atomic(const vy_registry *) list; } newest;

/* The base of the first list, and the list for readers if out of memory. */
static const vyre_backend_registration *no_backends[1];
static const vy_registry empty = {.backends = no_backends, .sorted = no_backends};

/* ---- lookup ---- */

/* The slot of the id, or the empty slot in which it belongs. */
static size_t find_slot(const vy_registry *registry, const char *id) {
    size_t mask = registry->slot_count - 1;
    size_t slot = (size_t)vy_hash(id, strlen(id)) & mask;
    while (registry->slots[slot] && strcmp(registry->entries[registry->slots[slot] - 1].id, id) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

const vy_registry_entry *vy_registry_find(const vy_registry *registry, const char *id) {
    if (!id || !registry->slot_count)
        return NULL;
    uint32_t found = registry->slots[find_slot(registry, id)];
    return found ? &registry->entries[found - 1] : NULL;
}

/* ---- building ---- */

/* One block with room for `capacity` ids and the owner's name. */
static vy_registry *allocate_list(size_t capacity, const char *owner, char **owner_copy) {
    size_t slot_count = FIRST_SLOTS, owner_size = strlen(owner) + 1;
    while (slot_count < 2 * capacity)
        slot_count *= 2;
    size_t entries = sizeof(vy_registry), backends = entries + capacity * sizeof(vy_registry_entry);
    size_t sorted = backends + capacity * sizeof(void *), ranked = sorted + capacity * sizeof(void *);
    size_t slots = ranked + capacity * sizeof(void *), text = slots + slot_count * sizeof(uint32_t);
    char *block = vy_allocate_zero(text + owner_size);
    if (!block)
        return NULL;
    vy_registry *list = (vy_registry *)block;
    list->entries = (vy_registry_entry *)(block + entries);
    list->backends = (const vyre_backend_registration **)(block + backends);
    list->sorted = (const vyre_backend_registration **)(block + sorted);
    list->ranked = (const vy_registry_entry **)(block + ranked);
    list->slots = (uint32_t *)(block + slots);
    list->slot_count = slot_count;
    list->size = text + owner_size;
    *owner_copy = memcpy(block + text, owner, owner_size);
    return list;
}

/* The list has room for all ids. */
static vy_registry_entry *find_or_add(vy_registry *list, const char *id) {
    uint32_t *slot = &list->slots[find_slot(list, id)];
    if (!*slot) {
        *slot = (uint32_t)++list->entry_count;
        list->entries[*slot - 1] = (vy_registry_entry){.id = id, .rank = UINT32_MAX};
    }
    return &list->entries[*slot - 1];
}

static void copy_list(vy_registry *list, const vy_registry *from) {
    for (size_t i = 0; i < from->entry_count; i++)
        *find_or_add(list, from->entries[i].id) = from->entries[i];
    for (size_t i = 0; i < from->backend_count; i++)
        list->backends[list->backend_count++] = from->backends[i];
}

static vyre_status add_record(vy_registry *list, const void *record, vy_stream stream, const char *owner,
                              vyre_error *error) {
    vy_registry_entry *entry = find_or_add(list, record_id(record, stream));
    if (entry->records[stream] == record)
        return VYRE_OK;
    if (entry->records[stream]) {
        vy_fail(error, VYRE_DUPLICATE, "remove one of the two, or change the id of one",
                "the %s `%s` is registered twice (by `%s` and by `%s`)", stream_name(stream), entry->id,
                entry->owners[stream], owner);
        (void)vy_fail_parts(error, entry->id, entry->owners[stream], owner);
        return VYRE_DUPLICATE;
    }
    entry->records[stream] = record;
    entry->owners[stream] = owner;
    if (stream == VY_STREAM_BACKEND)
        list->backends[list->backend_count++] = entry->backend = record;
    else if (stream == VY_STREAM_PRECEDENCE)
        entry->rank = ((const vyre_precedence_registration *)record)->rank;
    else
        entry->dispatches = ((const vyre_capability_registration *)record)->dispatches != 0;
    return VYRE_OK;
}

static int compare_precedence(const void *left, const void *right) {
    const vy_registry_entry *a = *(const vy_registry_entry *const *)left, *b = *(const vy_registry_entry *const *)right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(a->id, b->id);
}

static void sort_list(vy_registry *list) {
    for (size_t i = 0, n = 0; i < list->entry_count; i++)
        if (list->entries[i].backend)
            list->ranked[n++] = &list->entries[i];
    if (list->backend_count)
        qsort(list->ranked, list->backend_count, sizeof *list->ranked, compare_precedence);
    for (size_t i = 0; i < list->backend_count; i++)
        list->sorted[i] = list->ranked[i]->backend;
}

/* The number of records of the module that the list does not contain. */
static size_t count_new(const vy_registry *list, const vyre_module_descriptor *module) {
    size_t count = 0;
    for (vy_stream stream = 0; stream < VY_STREAM_COUNT; stream++)
        for (size_t i = 0; i < vy_module_count(module, stream); i++) {
            const void *record = vy_module_record(module, stream, i);
            const vy_registry_entry *entry = vy_registry_find(list, record_id(record, stream));
            count += !entry || entry->records[stream] != record;
        }
    return count;
}

/* The list with the module's records added; NULL on failure, with *status set. */
static vy_registry *build_list(const vy_registry *base, const vyre_module_descriptor *module, size_t added,
                               const char *owner, vyre_status *status, vyre_error *error) {
    char *owner_copy;
    vy_registry *list = allocate_list(base->entry_count + added, owner, &owner_copy);
    if (!list) {
        *status = vy_fail_memory(error, "the list of backends");
        return NULL;
    }
    copy_list(list, base);
    for (vy_stream stream = 0; stream < VY_STREAM_COUNT; stream++)
        for (size_t i = 0; i < vy_module_count(module, stream); i++) {
            *status = add_record(list, vy_module_record(module, stream, i), stream, owner_copy, error);
            if (*status != VYRE_OK) {
                vy_release(list, list->size);
                return NULL;
            }
        }
    sort_list(list);
    return list;
}

/* ---- publishing ---- */

/* Publishes `list` if `base` is still the newest. */
static int publish(const vy_registry *base, vy_registry *list) {
    const vy_registry *expected = base;
    list->previous = base;
    return atomic_compare_exchange_strong_explicit(&newest.list, &expected, list, memory_order_release,
                                                   memory_order_relaxed);
}

vyre_status vy_registry_get(const vy_registry **out, vyre_error *error) {
    for (;;) {
        *out = atomic_load_explicit(&newest.list, memory_order_acquire);
        if (*out)
            return VYRE_OK;
        const vyre_module_descriptor *module = &vy_builtin_module;
        vy_registry *list = NULL;
        vyre_status status = module_check(module, module->name, error);
        if (status == VYRE_OK)
            list = build_list(&empty, module, count_new(&empty, module), module->name, &status, error);
        if (!list) {
            *out = &empty;
            return status;
        }
        if (!publish(NULL, list))
            vy_release(list, list->size);
    }
}

/* Runs the initialiser of a plug-in. An incomplete error is completed, and a status outside the list is replaced. */
static vyre_status initialise(const vyre_module_descriptor *module, const char *owner, vyre_error *error) {
    vyre_error own = VYRE_ERROR_INIT;
    vyre_status status = VYRE_OK;
    if (VY_STRUCT_HAS(module, vyre_module_descriptor, init) && module->init)
        status = module->init(&vy_host_services, &own);
    if (status == VYRE_OK)
        return VYRE_OK;
    if (strcmp(vyre_status_name(status), "UNKNOWN") == 0)
        return vy_fail(error, VYRE_CORRUPT, VY_FIX("return a vyre_status from the initialiser"),
                       "the initialiser of `%s` failed with an unknown status (%d)", owner, (int)status);
    own.message[sizeof own.message - 1] = own.fix[sizeof own.fix - 1] = 0;
    return vy_fail(error, status, own.fix[0] ? own.fix : NULL, "the initialiser of `%s` failed (%s)", owner,
                   own.message[0] ? own.message : vyre_status_doc(status));
}

/* Publishes backends and dialects of a module together or not at all: the modules lock is held, so nothing fails after
 * the dialects are installed. No plug-in code runs here. */
static vyre_status join(const vyre_module_descriptor *module, const char *owner, vy_dialects_swap *swap,
                        vyre_error *error) {
    const vy_registry *base = atomic_load_explicit(&newest.list, memory_order_acquire);
    size_t added = count_new(base, module);
    vy_registry *list = NULL;
    vyre_status status = VYRE_OK;
    if (added)
        list = build_list(base, module, added, owner, &status, error);
    if (status == VYRE_OK)
        status = vy_dialects_add_module(module, owner, swap, error);
    if (status == VYRE_OK && list)
        (void)publish(base, list);
    else if (list)
        vy_release(list, list->size);
    return status;
}

/* Whether the module has a record of any stream. A module without records may do its work in `init`. */
static int has_records(const vyre_module_descriptor *module, const char *owner) {
    vy_dialect_streams dialects;
    for (vy_stream stream = 0; stream < VY_STREAM_COUNT; stream++)
        if (vy_module_count(module, stream))
            return 1;
    return vy_dialect_streams_read(module, owner, &dialects, NULL) == VYRE_OK &&
           (dialects.ops != dialects.ops_end || dialects.dialects != dialects.dialects_end ||
            dialects.extern_ops != dialects.extern_ops_end);
}

vyre_status vy_registry_add(const vyre_module_descriptor *module, const char *owner, vyre_error *error) {
    const vy_registry *base;
    vyre_status status = module_check(module, owner, error);
    if (status == VYRE_OK)
        status = vy_registry_get(&base, error);
    if (status != VYRE_OK)
        return status;
    int has_new = count_new(base, module) || vy_dialects_needs_module(module, owner);
    if (!has_new && has_records(module, owner)) /* it was added before */
        return VYRE_OK;
    status = initialise(module, owner, error);
    if (status != VYRE_OK)
        return status;
    vy_dialects_swap swap = {0};
    vyre_error own;
    error = error ? error : &own;
    vy_modules_lock();
    status = join(module, owner, &swap, error);
    vy_modules_unlock();
    vy_dialects_log_swap(&swap);
    if (status == VYRE_CONFLICT || status == VYRE_DUPLICATE)
        vy_log(1, "registry", error->message);
    return status;
}

/* ---- public functions ---- */

static const vy_registry *current(void) {
    const vy_registry *list;
    (void)vy_registry_get(&list, NULL); /* out of memory: the empty list */
    return list;
}

const vyre_backend_registration *const *vyre_backends(size_t *count) {
    const vy_registry *list = current();
    if (count)
        *count = list->backend_count;
    return list->backends;
}

const vyre_backend_registration *const *vyre_backends_by_precedence(size_t *count) {
    const vy_registry *list = current();
    if (count)
        *count = list->backend_count;
    return list->sorted;
}

const vyre_backend_registration *vyre_backend_find(const char *id) {
    const vy_registry_entry *entry = vy_registry_find(current(), id);
    return entry ? entry->backend : NULL;
}

int vyre_backend_dispatches(const char *id) {
    const vy_registry_entry *entry = vy_registry_find(current(), id);
    return entry ? entry->dispatches : 0;
}

uint32_t vyre_backend_precedence(const char *id) {
    const vy_registry_entry *entry = vy_registry_find(current(), id);
    return entry ? entry->rank : UINT32_MAX;
}

const char *vyre_backend_owner(const char *id) {
    const vy_registry_entry *entry = vy_registry_find(current(), id);
    return entry ? entry->owners[VY_STREAM_BACKEND] : NULL;
}

vyre_status vyre_module_register(const vyre_module_descriptor *module, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, module);
    const char *name = VY_STRUCT_GET(module, vyre_module_descriptor, name);
    return vy_registry_add(module, name && *name ? name : "the application", error);
}

/* ---- names of supported ops ---- */

/* Collectives over a workgroup, by their names in the language. */
#define OVER_WORKGROUP_1(name) ("workgroup_" name),
#define OVER_WORKGROUP_0(name)
/* Rows of level legal are internal to the library. */
#define IN_SOURCE(name) name,
#define IN_LEGAL(name)
#define OVER_SUBGROUP_SOURCE(name) ("subgroup_" name),
#define OVER_SUBGROUP_LEGAL(name)

static const char *const ops[] = {"grid_barrier",
#define X(ID, tag, name, symbol, precedence, arity, cls, rule, level, edge, doc) IN_##level(name)
                                  VYRE_OP_LIST(X)
#undef X
#define X(ID, name, axes, uniform, doc) name,
                                      VYRE_BUILTIN_LIST(X)
#undef X
#define X(ID, name, operands, value, doc) name,
                                          VYRE_ATOMIC_LIST(X)
#undef X
#define X(ID, name, operands, combines, workgroup, subgroup, level, doc) OVER_WORKGROUP_##workgroup(name)
                                              VYRE_COLLECTIVE_LIST(X)
#undef X
                                                  "load",
                                  "store", "barrier",
#define X(ID, name, operands, combines, workgroup, subgroup, level, doc) OVER_SUBGROUP_##level(name)
                                  VYRE_COLLECTIVE_LIST(X)
#undef X
};
enum {
    OPS = sizeof ops / sizeof *ops,
    SUBGROUP_OPS = 0
#define ONE_SOURCE +1
#define ONE_LEGAL
#define X(ID, name, operands, combines, workgroup, subgroup, level, doc) ONE_##level
    VYRE_COLLECTIVE_LIST(X)
#undef X
};

const char *const *vy_default_ops(int has_grid_barrier, int has_subgroups, size_t *count) {
    *count = (size_t)(OPS - (has_grid_barrier ? 0 : 1) - (has_subgroups ? 0 : SUBGROUP_OPS));
    return ops + (has_grid_barrier ? 0 : 1);
}

const char *const *vy_all_ops(size_t *count) {
    return vy_default_ops(1, 1, count);
}

const char *const *vy_ops_without_grid_barrier(size_t *count) {
    return vy_default_ops(0, 1, count);
}

const char *const *vyre_core_supported_ops(size_t *count) {
    size_t own;
    return vy_default_ops(0, 0, count ? count : &own);
}
