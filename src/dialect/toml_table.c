/* Tables: a list in the order of the document, and a hash over it once it is long. */
#include "base/hash.h"
#include "dialect/toml_parser.h"

#define LISTED 8u /* entries up to which looking through the list is as fast */

static uint32_t slot_of(const vy_toml_table *table, uint64_t hash, const char *key, size_t length) {
    uint32_t mask = table->slot_count - 1, slot = (uint32_t)hash & mask;
    for (; table->slots[slot]; slot = (slot + 1) & mask) {
        const vy_toml_entry *entry = table->slots[slot];
        if (entry->hash == hash && entry->length == length && memcmp(entry->key, key, length) == 0)
            break;
    }
    return slot;
}

vy_toml_entry *vy_toml_find(const vy_toml_value *value, const char *key, size_t length) {
    const vy_toml_table *table = &value->table;
    uint64_t hash = vy_hash(key, length);
    if (table->slot_count)
        return table->slots[slot_of(table, hash, key, length)];
    vy_toml_entry *entry = table->first;
    while (entry && (entry->hash != hash || entry->length != length || memcmp(entry->key, key, length) != 0))
        entry = entry->next;
    return entry;
}

/* Keeps the slots at most half full. The old ones stay in the arena: together they are smaller than the new. */
static int make_slots(vy_toml_parser *p, vy_toml_table *table) {
    if (table->count < LISTED || table->count < table->slot_count / 2)
        return 1;
    uint32_t count = table->slot_count ? table->slot_count * 2 : LISTED * 4;
    vy_toml_entry **slots = vy_arena_allocate(&p->document->arena, vy_array_size(count, sizeof *slots));
    if (!slots)
        return vy_toml_no_memory(p);
    table->slots = slots;
    table->slot_count = count;
    for (vy_toml_entry *entry = table->first; entry; entry = entry->next)
        slots[slot_of(table, entry->hash, entry->key, entry->length)] = entry;
    return 1;
}

vy_toml_entry *vy_toml_add(vy_toml_parser *p, vy_toml_value *value, const vy_toml_part *part) {
    vy_toml_table *table = &value->table;
    vy_toml_entry *entry = vy_arena_allocate(&p->document->arena, sizeof *entry);
    if (!entry || !make_slots(p, table)) {
        vy_toml_no_memory(p);
        return NULL;
    }
    entry->key = part->key;
    entry->length = part->length;
    entry->hash = vy_hash(part->key, part->length);
    entry->at = part->at;
    if (table->slot_count)
        table->slots[slot_of(table, entry->hash, entry->key, entry->length)] = entry;
    if (table->last)
        table->last->next = entry;
    else
        table->first = entry;
    table->last = entry;
    table->count++;
    return entry;
}
