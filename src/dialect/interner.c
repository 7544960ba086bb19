/* Interner: a concurrent string table with lock-free lookup (interner.h). */
#include "dialect/interner.h"

#include "base/memory.h"
#include "base/string.h"
#include "dialect/registry.h"
#include "ir/identifiers.h"
#include "ir/model.h"
#include "vyre/dialect.h"

#define FIRST_SLOTS 256u

/* Open addressing, at most half full, so a search always ends at an empty slot. */
typedef struct vy_interner_table {
    struct vy_interner_table *previous; /* the smaller predecessor, which readers may still use */
    uint32_t slot_count;
    vy_interned_slot slots[];
} vy_interner_table;

vy_interner vy_op_ids = VY_INTERNER_INIT("op ids");
vy_interner vy_extension_targets = VY_INTERNER_INIT("extension targets");

/* ---- lookup ---- */

static int is_text(const vy_interned *entry, uint64_t hash, const char *text, size_t length) {
    return entry->hash == hash && entry->length == length && memcmp(entry->text, text, length) == 0;
}

/* Returns the slot of the text, or the empty slot where it belongs. */
static vy_interned_slot *find_slot(vy_interner_table *table, uint64_t hash, const char *text, size_t length) {
    uint32_t mask = table->slot_count - 1, slot = (uint32_t)hash & mask;
    for (;; slot = (slot + 1) & mask) {
        const vy_interned *entry = atomic_load_explicit(&table->slots[slot], memory_order_acquire);
        if (!entry || is_text(entry, hash, text, length))
            return &table->slots[slot];
    }
}

static uint32_t find(vy_interner *interner, uint64_t hash, const char *text, size_t length) {
    vy_interner_table *table = atomic_load_explicit(&interner->table, memory_order_acquire);
    if (!table)
        return 0;
    const vy_interned *entry = atomic_load_explicit(find_slot(table, hash, text, length), memory_order_acquire);
    return entry ? entry->number : 0;
}

uint32_t vy_interner_find(vy_interner *interner, const char *text, size_t length) {
    return find(interner, vy_hash(text, length), text, length);
}

/* Segment k holds numbers [FIRST·(2^k − 1), FIRST·(2^(k+1) − 1), counted from 0. */
static vy_interned_slot *number_slot(vy_interner *interner, uint32_t index, unsigned *segment, uint32_t *size) {
    uint32_t first = 0;
    *size = VY_INTERNER_FIRST;
    for (*segment = 0; index - first >= *size; *size *= 2, ++*segment)
        first += *size;
    vy_interned_slot *slots = atomic_load_explicit(&interner->segments[*segment], memory_order_acquire);
    return slots ? &slots[index - first] : NULL;
}

const char *vy_interner_text(vy_interner *interner, uint32_t number) {
    unsigned segment;
    uint32_t size;
    if (number == 0 || number > atomic_load_explicit(&interner->count, memory_order_acquire))
        return NULL;
    vy_interned_slot *slot = number_slot(interner, number - 1, &segment, &size);
    const vy_interned *entry = slot ? atomic_load_explicit(slot, memory_order_acquire) : NULL;
    return entry ? entry->text : NULL;
}

/* ---- insertion, under the lock `adding` ---- */

static int reserve_number(vy_interner *interner, uint32_t index) {
    unsigned segment;
    uint32_t size;
    if (number_slot(interner, index, &segment, &size))
        return 1;
    vy_interned_slot *slots = vy_allocate_zero(size * sizeof *slots);
    if (slots)
        atomic_store_explicit(&interner->segments[segment], slots, memory_order_release);
    return slots != NULL;
}

static int reserve_slot(vy_interner *interner, uint32_t count) {
    vy_interner_table *old = atomic_load(&interner->table);
    if (old && count < old->slot_count / 2)
        return 1;
    uint32_t slot_count = old ? old->slot_count * 2 : FIRST_SLOTS;
    vy_interner_table *table = vy_allocate_zero(sizeof *table + slot_count * sizeof(vy_interned_slot));
    if (!table)
        return 0;
    table->previous = old;
    table->slot_count = slot_count;
    for (uint32_t i = 0; old && i < old->slot_count; i++) {
        const vy_interned *entry = atomic_load(&old->slots[i]);
        if (entry)
            atomic_store(find_slot(table, entry->hash, entry->text, entry->length), entry);
    }
    atomic_store_explicit(&interner->table, table, memory_order_release);
    return 1;
}

static vy_interned *make_entry(uint64_t hash, const char *text, size_t length, uint32_t number) {
    vy_interned *entry = vy_allocate(sizeof *entry + length + 1);
    if (!entry)
        return NULL;
    entry->number = number;
    entry->length = (uint32_t)length;
    entry->hash = hash;
    memcpy(entry->text, text, length);
    entry->text[length] = 0;
    return entry;
}

static vyre_status add(vy_interner *interner, uint64_t hash, const char *text, size_t length, uint32_t *out,
                       vyre_error *error) {
    uint32_t count = atomic_load(&interner->count), size;
    unsigned segment;
    if (count >= VY_INTERNER_LIMIT)
        return vy_fail(error, VYRE_LIMIT, VY_FIX("use fewer names; a name once used stays for the life of the process"),
                       "the process has too many %s (%u of at most %u)", interner->what, count, VY_INTERNER_LIMIT);
    vy_interned *entry = NULL;
    if (reserve_number(interner, count) && reserve_slot(interner, count))
        entry = make_entry(hash, text, length, count + 1);
    if (!entry)
        return vy_fail_memory(error, interner->what);
    atomic_store_explicit(number_slot(interner, count, &segment, &size), entry, memory_order_release);
    atomic_store_explicit(&interner->count, count + 1, memory_order_release);
    vy_interner_table *table = atomic_load(&interner->table);
    atomic_store_explicit(find_slot(table, hash, text, length), entry, memory_order_release);
    *out = count + 1;
    return VYRE_OK;
}

vyre_status vy_interner_add(vy_interner *interner, const char *text, size_t length, uint32_t *out, vyre_error *error) {
    vyre_status status = VYRE_OK;
    uint64_t hash = vy_hash(text, length);
    *out = find(interner, hash, text, length);
    if (*out)
        return VYRE_OK;
    vy_dialects_atfork_install();
    (void)pthread_mutex_lock(&interner->adding);
    *out = find(interner, hash, text, length);
    if (!*out)
        status = add(interner, hash, text, length, out, error);
    (void)pthread_mutex_unlock(&interner->adding);
    return status;
}

/* ---- op ids ---- */

vyre_status vyre_op_intern(const char *text, size_t length, vyre_op_id *out, vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = 0;
    VY_REQUIRE(error, text);
    if (!vy_text_is_op_id(text, length))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX(VY_OP_ID_FIX, VY_LIMIT_NAME), "`%.*s` is not an op id",
                       (int)(length < 160 ? length : 160), text);
    return vy_interner_add(&vy_op_ids, text, length, out, error);
}

vyre_op_id vyre_op_find_id(const char *text, size_t length) {
    return text && length <= VY_LIMIT_NAME ? vy_interner_find(&vy_op_ids, text, length) : 0;
}

const char *vyre_op_text(vyre_op_id id) {
    return vy_interner_text(&vy_op_ids, id);
}
