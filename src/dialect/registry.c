/* Dialect registry: the current snapshot, published through hazard pointers; log lines, targets, and fork handlers.
 *
 * Invariants:
 *  - A snapshot is complete and validated before it is published, and its base is the current snapshot at that moment.
 *    So no concurrent installation is lost.
 *  - Publishing is a compare-and-swap on a pointer that the builder has pinned. Neither readers nor writers hold a
 *    lock, except to load dialects of the standard library into the first snapshot (deferred.c). */
#include "dialect/registry.h"

#include "base/diagnostics.h"
#include "base/status.h"
#include "base/thread.h"
#include "dialect/interner.h"
#include "dialect/load.h"
#include "dialect/opdef.h"
#include "vyre/dialect.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { WARNING = 1, INFO = 2 };

static const char source[] = "dialects";

static void log_added(const vyre_dialect *dialect, uint64_t generation) {
    vy_log(INFO, source,
           VY_FIX("added `%.100s` %.32s of `%.80s` (generation %" PRIu64 ")", dialect->name, dialect->version,
                  dialect->owner, generation));
}

static void log_removed(const vyre_dialect *dialect, uint64_t generation) {
    vy_log(INFO, source,
           VY_FIX("removed `%.100s` %.32s of `%.80s` (generation %" PRIu64 ")", dialect->name, dialect->version,
                  dialect->owner, generation));
}

static void log_replaced(const vyre_dialect *before, const vyre_dialect *after, uint64_t generation) {
    vy_log(INFO, source,
           VY_FIX("replaced `%.80s` %.32s by %.32s of `%.64s` (generation %" PRIu64 ")", after->name, before->version,
                  after->version, after->owner, generation));
}

/* Logs ops that were added to or removed from unchanged dialects: extern ops of modules. */
static void log_ops(const vyre_snapshot *before, const vyre_snapshot *after) {
    vy_log(INFO, source,
           VY_FIX("the number of ops changed from %" PRIu32 " to %" PRIu32 " (generation %" PRIu64 ")",
                  before->op_count, after->op_count, after->generation));
}

/* Both lists are sorted by name and share the dialects that did not change. */
static void log_changes(const vyre_snapshot *before, const vyre_snapshot *after) {
    uint32_t a = 0, b = 0, lines = 0;
    while (a < before->dialect_count || b < after->dialect_count) {
        const vy_dialect *old = a < before->dialect_count ? before->dialects[a] : NULL;
        const vy_dialect *new = b < after->dialect_count ? after->dialects[b] : NULL;
        int order = !old ? 1 : !new ? -1 : strcmp(old->dialect.name, new->dialect.name);
        lines += old != new;
        if (order < 0)
            log_removed(&old->dialect, after->generation);
        else if (order > 0)
            log_added(&new->dialect, after->generation);
        else if (old != new)
            log_replaced(&old->dialect, &new->dialect, after->generation);
        a += order <= 0;
        b += order >= 0;
    }
    if (!lines)
        log_ops(before, after);
}

void vy_dialects_log_swap(vy_dialects_swap *swap) {
    const vyre_snapshot *before = swap->before.snapshot ? vy_snapshot_loaded(swap->before.snapshot) : NULL;
    if (before && swap->after.snapshot && vy_log_is_on()) /* a builder has loaded all dialects */
        log_changes(before, swap->after.snapshot);
    vyre_dialects_release(&swap->before);
    vyre_dialects_release(&swap->after);
}

vyre_status vy_dialects_log_conflict(vyre_status status, const vyre_error *error) {
    if (status == VYRE_CONFLICT || status == VYRE_DUPLICATE)
        vy_log(WARNING, source, error->message);
    return status;
}

void vy_dialects_log_refusal(vyre_status status, const vyre_error *error) {
    char line[sizeof error->message + 16];
    if (status == VYRE_OK)
        return;
    snprintf(line, sizeof line, "not loaded: %s", error->message);
    vy_log(WARNING, source, line);
}

/* ---- targets: the built-in table, and extensions, which are interned and numbered after it ---- */

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
                       "`%.*s` is not a target id", (int)(length < 64 ? length : 64), text);
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

/* Compares ASCII letters without regard to case, in every locale. */
static int equals_without_case(const char *a, const char *b) {
    for (; *a && *b; a++, b++) {
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a, y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;
        if (x != y)
            return 0;
    }
    return *a == *b;
}

int vy_target_resembles_builtin(const char *text) {
    for (vyre_target i = 0; i < VYRE_TARGET_COUNT; i++)
        if (equals_without_case(targets[i].id, text) || equals_without_case(targets[i].alias, text) ||
            (targets[i].emit_name && equals_without_case(targets[i].emit_name, text)))
            return 1;
    return 0;
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

/* ---- pthread_atfork handlers: no thread holds a lock or reclaims a snapshot while the process is copied ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before(void) {
    vy_modules_lock();
    vy_dialects_first_lock();
    (void)pthread_mutex_lock(&vy_op_ids.adding);
    (void)pthread_mutex_lock(&vy_extension_targets.adding);
    vy_hazard_domain_before_fork(&vy_dialects);
}

static void unlock(void) {
    (void)pthread_mutex_unlock(&vy_extension_targets.adding);
    (void)pthread_mutex_unlock(&vy_op_ids.adding);
    vy_dialects_first_unlock();
    vy_modules_unlock();
}

static void after_in_parent(void) {
    unlock();
    vy_hazard_domain_after_fork(&vy_dialects);
}

static void after_in_child(void) {
    vy_hazard_records_after_fork_in_child();
    after_in_parent();
}

/* If pthread_atfork is out of memory, a child of a multi-threaded process may inherit a held lock. Nothing else depends
 * on the handlers. */
static void add_handlers(void) {
    (void)pthread_atfork(before, after_in_parent, after_in_child);
}

void vy_dialects_atfork_install(void) {
    (void)pthread_once(&once, add_handlers);
}

/* ---- the current snapshot ---- */

static void destroy(vy_hazard_object *object) {
    vy_snapshot_free((vyre_snapshot *)object);
}

vy_hazard_domain vy_dialects = {.destroy = destroy};

static vyre_dialects_guard to_guard(vy_hazard_guard pin) {
    return (vyre_dialects_guard){(const vyre_snapshot *)pin.object, (void *)pin.how};
}

static vy_hazard_guard to_pin(vyre_dialects_guard guard) {
    /* Only the reference count of a snapshot ever changes. */
    return (vy_hazard_guard){(vy_hazard_object *)(uintptr_t)guard.snapshot, (uintptr_t)guard.slot};
}

/* ---- the first snapshot ---- */

/* Builds the first snapshot. If libvyre has link-time records, they are in it with the complete standard library. */
static vyre_status build_first(vyre_snapshot **out, vyre_error *error) {
    vyre_dialect_builder builder = {0};
    const char *name;
    vyre_span bytes;
    int added = 0;
    *out = NULL;
    vyre_status status = vy_dialect_streams_add(&vy_builtin_dialects, VY_STANDARD_LIBRARY_OWNER, &vy_builtin_dialects,
                                                &builder, &added, error);
    if (status == VYRE_OK && !added)
        return vy_deferred_snapshot_new(out, error);
    for (size_t i = 0; status == VYRE_OK && vy_standard_library_file(i, &name, &bytes); i++)
        status = vy_standard_library_add(&builder, i, error);
    if (status == VYRE_OK)
        status = vy_snapshot_build(builder.ops.items, builder.ops.count, builder.dialects.items, builder.dialects.count,
                                   1, 0, out, error);
    vyre_dialect_builder_clear(&builder);
    VY_VECTOR_FREE(&builder.ops);
    VY_VECTOR_FREE(&builder.dialects);
    return status;
}

/* Concurrent threads wait instead of parsing the library again. */
static pthread_mutex_t first_mutex = PTHREAD_MUTEX_INITIALIZER;

void vy_dialects_first_lock(void) {
    (void)pthread_mutex_lock(&first_mutex);
}

void vy_dialects_first_unlock(void) {
    (void)pthread_mutex_unlock(&first_mutex);
}

/* Returns VYRE_OK if there is a current snapshot, built by this thread or another. */
static vyre_status make_first(vyre_error *error) {
    vyre_snapshot *first = NULL;
    vyre_status status = VYRE_OK;
    vy_dialects_atfork_install();
    vy_dialects_first_lock();
    if (!atomic_load(&vy_dialects.current))
        status = build_first(&first, error);
    if (first)
        (void)vy_hazard_publish(&vy_dialects, NULL, &first->pinned); /* the mutex excludes other first snapshots */
    vy_dialects_first_unlock();
    return status;
}

/* ---- guards ---- */

vyre_status vyre_dialects_global(vyre_dialects_guard *out, vyre_error *error) {
    VY_REQUIRE(error, out);
    vyre_status status = VYRE_OK;
    *out = to_guard(vy_hazard_pin(&vy_dialects));
    if (!out->snapshot) {
        status = make_first(error);
        *out = to_guard(vy_hazard_pin(&vy_dialects));
    }
    return out->snapshot ? VYRE_OK : status;
}

static __attribute__((noinline)) vyre_dialects_guard acquire_first(void) {
    vyre_dialects_guard guard;
    (void)vyre_dialects_global(&guard, NULL); /* on NO_MEMORY the guard is empty */
    return guard;
}

vyre_dialects_guard vyre_dialects_acquire(void) {
    vy_hazard_guard pin = vy_hazard_pin(&vy_dialects);
    return __builtin_expect(pin.object != NULL, 1) ? to_guard(pin) : acquire_first();
}

vyre_dialects_guard vy_dialects_peek(void) {
    return to_guard(vy_hazard_pin(&vy_dialects));
}

vyre_dialects_guard vyre_dialects_retain(vyre_dialects_guard guard) {
    return to_guard(vy_hazard_guard_retain(to_pin(guard)));
}

void vyre_dialects_release(vyre_dialects_guard *guard) {
    if (!guard || !guard->slot)
        return;
    vy_hazard_guard pin = to_pin(*guard);
    guard->snapshot = NULL;
    vy_hazard_release(&vy_dialects, pin);
}

/* ---- queries ---- */

/* The snapshot with all ops; NULL for an empty guard, or if memory is exhausted. */
static const vyre_snapshot *complete(vyre_dialects_guard guard) {
    const vyre_snapshot *snapshot = NULL;
    if (guard.snapshot)
        (void)vy_snapshot_complete(guard.snapshot, &snapshot, NULL);
    return snapshot;
}

static __attribute__((noinline)) const vyre_op_definition *find_deferred(vyre_dialects_guard guard, const char *text,
                                                                         size_t length) {
    const vyre_op_definition *op;
    (void)vy_snapshot_find(guard.snapshot, text, length, &op, NULL);
    return op;
}

const vyre_op_definition *vyre_dialects_lookup(vyre_dialects_guard guard, vyre_op_id id) {
    if (!guard.snapshot)
        return NULL;
    if (__builtin_expect(!guard.snapshot->deferred, 1))
        return vy_snapshot_lookup(guard.snapshot, id);
    const char *text = vyre_op_text(id);
    return text ? find_deferred(guard, text, strlen(text)) : NULL;
}

const vyre_op_definition *vyre_dialects_find(vyre_dialects_guard guard, const char *text, size_t length) {
    return guard.snapshot ? find_deferred(guard, text, length) : NULL;
}

size_t vyre_dialects_count(vyre_dialects_guard guard) {
    const vyre_snapshot *snapshot = complete(guard);
    return snapshot ? snapshot->op_count : 0;
}

const vyre_op_definition *vyre_dialects_at(vyre_dialects_guard guard, size_t index) {
    const vyre_snapshot *snapshot = complete(guard);
    return snapshot && index < snapshot->op_count ? &snapshot->ops[index]->definition : NULL;
}

size_t vyre_dialects_dialect_count(vyre_dialects_guard guard) {
    const vyre_snapshot *snapshot = complete(guard);
    return snapshot ? snapshot->dialect_count : 0;
}

const vyre_dialect *vyre_dialects_dialect_at(vyre_dialects_guard guard, size_t index) {
    const vyre_snapshot *snapshot = complete(guard);
    return snapshot && index < snapshot->dialect_count ? &snapshot->dialects[index]->dialect : NULL;
}

const vyre_dialect *vyre_dialects_dialect(vyre_dialects_guard guard, const char *name, size_t length) {
    const vyre_snapshot *snapshot = complete(guard);
    const vy_dialect *found = snapshot && name ? vy_snapshot_dialect(snapshot, name, length) : NULL;
    return found ? &found->dialect : NULL;
}

const vyre_lowering *vyre_dialects_lowering(vyre_dialects_guard guard, vyre_op_id id, vyre_target target) {
    const vyre_op_definition *op = vyre_dialects_lookup(guard, id);
    return op ? vy_op_lowering(vy_op_of(op), target) : NULL;
}

uint64_t vyre_dialects_generation(vyre_dialects_guard guard) {
    return guard.snapshot ? guard.snapshot->generation : 0;
}

uint64_t vyre_dialects_checksum(vyre_dialects_guard guard) {
    const vyre_snapshot *snapshot = complete(guard);
    return snapshot ? snapshot->checksum : 0;
}

vyre_status vyre_dialects_verify(vyre_dialects_guard guard, vyre_error *error) {
    const vyre_snapshot *snapshot;
    vyre_status status = guard.snapshot ? vy_snapshot_complete(guard.snapshot, &snapshot, error) : VYRE_OK;
    if (status != VYRE_OK || !guard.snapshot)
        return status;
    uint64_t now = vy_snapshot_checksum(snapshot);
    if (now == snapshot->checksum)
        return VYRE_OK;
    return vy_fail(error, VYRE_CORRUPT, VY_FIX("find the code that writes through a const pointer of the registry"),
                   "the snapshot of generation %llu was written to (checksum %016llx instead of %016llx)",
                   (unsigned long long)snapshot->generation, (unsigned long long)now,
                   (unsigned long long)snapshot->checksum);
}

/* ---- updates ---- */

vyre_status vy_dialects_install(vyre_dialect_builder *builder, int *lost_race, vy_dialects_swap *swap,
                                vyre_error *error) {
    *lost_race = 0;
    const vyre_snapshot *base = builder->base.snapshot;
    vyre_snapshot *next;
    vyre_status status = vy_snapshot_build(builder->ops.items, builder->ops.count, builder->dialects.items,
                                           builder->dialects.count, base->generation + 1, 1, &next, error);
    if (status != VYRE_OK)
        return status;
    if (!vy_hazard_publish(&vy_dialects, to_pin(builder->base).object, &next->pinned)) {
        vy_snapshot_free(next);
        *lost_race = 1;
        return vy_fail(error, VYRE_CONFLICT, VY_FIX("begin again with a new builder"),
                       "another snapshot was installed since the builder was created (at generation %llu)",
                       (unsigned long long)base->generation);
    }
    swap->before = builder->base;
    builder->base = (vyre_dialects_guard){next, (void *)VY_HAZARD_COUNTED}; /* the one pin it was built with */
    swap->after = vyre_dialects_retain(builder->base);
    return VYRE_OK;
}

vyre_status vyre_dialects_install(vyre_dialect_builder *builder, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    int lost_race;
    vy_dialects_swap swap = {0};
    vyre_error own;
    VY_REQUIRE(error, builder);
    error = error ? error : &own;
    vyre_status status = vy_dialects_install(builder, &lost_race, &swap, error);
    vy_dialects_log_swap(&swap);
    return vy_dialects_log_conflict(status, error);
}

vyre_status vyre_dialects_update(vyre_dialects_change *change, void *user, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, change);
    int lost_race;
    vy_dialects_swap swap = {0};
    vyre_status status;
    do {
        vyre_dialect_builder *builder;
        lost_race = 0;
        status = vyre_dialect_builder_new(&builder, error);
        if (status == VYRE_OK)
            status = change(builder, user, error);
        if (status == VYRE_OK)
            status = vy_dialects_install(builder, &lost_race, &swap, error);
        vyre_dialect_builder_free(builder);
    } while (lost_race);
    vy_dialects_log_swap(&swap);
    return status;
}

/* ---- duplicates among definitions ---- */

static const char *registrant(const vyre_op_definition *op) {
    if (op->struct_size >= offsetof(vyre_op_definition, owner) + sizeof op->owner && op->owner)
        return op->owner;
    return op->dialect && *op->dialect ? op->dialect : "<unknown dialect>";
}

vyre_status vyre_dialects_validate_no_duplicates(const vyre_op_definition *const *ops, size_t count,
                                                 vyre_error *error) {
    VY_REQUIRE_ARRAY(error, ops, count);
    if (count > VY_DIALECT_LIMIT_OPS)
        return vy_fail(error, VYRE_LIMIT, NULL, "there are too many ops (%zu of at most %d)", count,
                       VY_DIALECT_LIMIT_OPS);
    const size_t slot_count = 4 * count + 1; /* at most a quarter full */
    uint32_t *slots = vy_allocate_zero(slot_count * sizeof *slots);
    if (!slots)
        return vy_fail_memory(error, "the search for duplicates");
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        const char *id = ops[i] && ops[i]->id ? ops[i]->id : "";
        size_t slot = (size_t)(vy_checksum_mix(0, id, strlen(id)) % slot_count);
        for (; slots[slot] && status == VYRE_OK; slot = (slot + 1) % slot_count) {
            const vyre_op_definition *first = ops[slots[slot] - 1];
            if (strcmp(first && first->id ? first->id : "", id) == 0)
                status = ops[i] && first ? vy_fail_duplicate(id, registrant(first), registrant(ops[i]), error)
                                         : vy_fail(error, VYRE_INVALID_ARGUMENT, NULL, "an op definition is NULL");
        }
        slots[slot] = (uint32_t)i + 1;
    }
    vy_release(slots, slot_count * sizeof *slots);
    return status;
}
