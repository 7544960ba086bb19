/* String interning pool (intern.h): the strings with their NULs in one array, and an open-addressing hash table of
 * offsets. The table is at most half full, so every probe sequence ends at an empty slot. */
#include "base/intern.h"
#include "base/string.h"

#define EMPTY UINT32_MAX
#define FIRST_SLOTS 16u

/* The slot of the text, or the empty one where it belongs. */
static vy_intern_slot *find_slot(const vy_intern_pool *names, const char *text, size_t length, uint32_t hash) {
    uint32_t mask = names->slot_count - 1, slot = hash & mask;
    for (; names->slots[slot].name != EMPTY; slot = (slot + 1) & mask) {
        uint32_t at = names->slots[slot].name;
        if (names->slots[slot].hash == hash && names->size - at > length &&
            memcmp(names->pool + at, text, length) == 0 && names->pool[at + length] == 0)
            break;
    }
    return &names->slots[slot];
}

static int rehash(vy_intern_pool *names, uint32_t count) {
    vy_intern_slot *slots = vy_allocate(vy_array_size(count, sizeof *slots));
    if (!slots)
        return 0;
    memset(slots, 0xff, count * sizeof *slots);
    for (uint32_t i = 0; i < names->slot_count; i++) {
        if (names->slots[i].name == EMPTY)
            continue;
        uint32_t slot = names->slots[i].hash & (count - 1);
        while (slots[slot].name != EMPTY)
            slot = (slot + 1) & (count - 1);
        slots[slot] = names->slots[i];
    }
    vy_release(names->slots, names->slot_count * sizeof *slots);
    names->slots = slots;
    names->slot_count = count;
    return 1;
}

static int grow_slots(vy_intern_pool *names) {
    if (names->slot_count && names->used < names->slot_count / 2)
        return 1;
    if (names->slot_count > UINT32_MAX / 4)
        return 0;
    return rehash(names, names->slot_count ? names->slot_count * 2 : FIRST_SLOTS);
}

int vy_intern_pool_reserve(vy_intern_pool *names, const vy_intern_pool *like) {
    return (like->slot_count <= names->slot_count || rehash(names, like->slot_count)) &&
           vy_grow((void **)&names->pool, &names->capacity, names->size, like->size, 1);
}

int vy_intern_pool_reserve_more(vy_intern_pool *names, uint32_t count, uint32_t length) {
    uint32_t slots = names->slot_count ? names->slot_count : FIRST_SLOTS;
    while (slots / 2 < names->used + count && slots <= UINT32_MAX / 4)
        slots *= 2;
    return (slots == names->slot_count || rehash(names, slots)) &&
           vy_grow((void **)&names->pool, &names->capacity, names->size, count * (length + 1), 1);
}

/* The end of the pool, with room for a text of that length; NULL if out of memory. Offset 0 is "", which is never in
 * the table. */
static char *reserve_text(vy_intern_pool *names, size_t length) {
    uint32_t first = names->size == 0 ? 1 : 0;
    if (length > UINT32_MAX - 2 - first - names->size)
        return NULL;
    uint32_t more = (uint32_t)length + 1 + first;
    if (names->capacity - names->size < more && !vy_grow((void **)&names->pool, &names->capacity, names->size, more, 1))
        return NULL;
    if (first)
        names->pool[names->size++] = 0;
    return names->pool + names->size;
}

/* Makes the text at the end of the pool a symbol and stores it in the slot. */
static vy_symbol insert_symbol(vy_intern_pool *names, vy_intern_slot *slot, uint32_t hash, size_t length) {
    vy_symbol name = names->size;
    names->pool[name + length] = 0;
    names->size += (uint32_t)length + 1;
    names->used++;
    *slot = (vy_intern_slot){name, hash};
    return name;
}

vy_symbol vy_intern_pool_add(vy_intern_pool *names, const char *text, size_t length) {
    length = length ? strnlen(text, length) : 0;
    if (length == 0) {
        if (names->size == 0) {
            if (!vy_grow((void **)&names->pool, &names->capacity, 0, 1, 1))
                return VY_SYMBOL_INVALID;
            names->pool[names->size++] = 0;
        }
        return 0;
    }
    if (!grow_slots(names))
        return VY_SYMBOL_INVALID;
    uint32_t hash = (uint32_t)vy_hash(text, length);
    vy_intern_slot *slot = find_slot(names, text, length, hash);
    if (slot->name != EMPTY)
        return slot->name;
    char *end = reserve_text(names, length);
    if (!end)
        return VY_SYMBOL_INVALID;
    memcpy(end, text, length);
    return insert_symbol(names, slot, hash, length);
}

/* Formats the text at the end of the pool, where it stays if it is new. */
vy_symbol vy_intern_pool_add_numbered(vy_intern_pool *names, char letter, uint32_t number) {
    enum { MAX_LENGTH = 11 }; /* ten digits */
    int has_room = names->size && names->capacity - names->size > MAX_LENGTH && names->used < names->slot_count / 2;
    char *text = has_room ? names->pool + names->size : grow_slots(names) ? reserve_text(names, MAX_LENGTH) : NULL;
    if (!text)
        return VY_SYMBOL_INVALID;
    *text = letter;
    size_t length = (size_t)(vy_write_decimal(text + 1, number) - text);
    uint32_t hash = (uint32_t)vy_hash(text, length);
    vy_intern_slot *slot = find_slot(names, text, length, hash);
    return slot->name != EMPTY ? slot->name : insert_symbol(names, slot, hash, length);
}

vy_symbol vy_intern_pool_find(const vy_intern_pool *names, const char *text, size_t length) {
    length = length ? strnlen(text, length) : 0;
    if (length == 0)
        return names->size ? 0 : VY_SYMBOL_INVALID;
    if (!names->slot_count)
        return VY_SYMBOL_INVALID;
    /* EMPTY is VY_SYMBOL_INVALID. */
    return find_slot(names, text, length, (uint32_t)vy_hash(text, length))->name;
}

int vy_intern_pool_copy(vy_intern_pool *to, const vy_intern_pool *from) {
    *to = (vy_intern_pool){.pool = vy_allocate(from->size),
                           .size = from->size,
                           .capacity = from->size,
                           .slots = vy_allocate(from->slot_count * sizeof *to->slots),
                           .slot_count = from->slot_count,
                           .used = from->used};
    if ((from->size && !to->pool) || (from->slot_count && !to->slots)) {
        vy_intern_pool_free(to);
        return 0;
    }
    memcpy(to->pool, from->pool, from->size);
    memcpy(to->slots, from->slots, from->slot_count * sizeof *to->slots);
    return 1;
}

void vy_intern_pool_free(vy_intern_pool *names) {
    vy_release(names->pool, names->capacity);
    vy_release(names->slots, names->slot_count * sizeof *names->slots);
    *names = (vy_intern_pool){0};
}
