/* The table in memory (cache_memory.h): entries in one array, chained by bucket, and linked in the order of use. */
#include "driver/cache_memory.h"

static vy_memory_entry *at(vy_memory *memory, uint32_t place) {
    return &memory->entries.items[place - 1];
}

/* A key is a digest: any of its bytes are as good as a hash. */
static uint32_t *bucket_of(vy_memory *memory, const vy_cache_key *key) {
    uint32_t hash;
    memcpy(&hash, key->digest.bytes, sizeof hash);
    return &memory->buckets[hash & (memory->bucket_count - 1)];
}

static void unlink_use(vy_memory *memory, uint32_t place) {
    vy_memory_entry *entry = at(memory, place);
    *(entry->newer ? &at(memory, entry->newer)->older : &memory->newest) = entry->older;
    *(entry->older ? &at(memory, entry->older)->newer : &memory->oldest) = entry->newer;
}

static void link_newest(vy_memory *memory, uint32_t place) {
    vy_memory_entry *entry = at(memory, place);
    entry->newer = 0;
    entry->older = memory->newest;
    *(memory->newest ? &at(memory, memory->newest)->newer : &memory->oldest) = place;
    memory->newest = place;
}

void *vy_memory_find(vy_memory *memory, const vy_cache_key *key) {
    uint32_t place = memory->bucket_count ? *bucket_of(memory, key) : 0;
    while (place && memcmp(&at(memory, place)->key, key, sizeof *key) != 0)
        place = at(memory, place)->in_bucket;
    if (!place)
        return NULL;
    unlink_use(memory, place);
    link_newest(memory, place);
    return at(memory, place)->value;
}

/* As many buckets as entries. If there is no memory for more, chains are longer. */
static void grow_buckets(vy_memory *memory) {
    uint32_t count = memory->bucket_count ? 2 * memory->bucket_count : 16;
    uint32_t *buckets = count ? vy_allocate_zero(count * sizeof *buckets) : NULL;
    if (!buckets)
        return;
    vy_release(memory->buckets, memory->bucket_count * sizeof *buckets);
    memory->buckets = buckets;
    memory->bucket_count = count;
    for (uint32_t place = memory->newest; place; place = at(memory, place)->older) {
        uint32_t *bucket = bucket_of(memory, &at(memory, place)->key);
        at(memory, place)->in_bucket = *bucket;
        *bucket = place;
    }
}

int vy_memory_add(vy_memory *memory, const vy_cache_key *key, void *value) {
    uint32_t place = memory->free;
    if (memory->count >= memory->bucket_count)
        grow_buckets(memory);
    if (!memory->bucket_count)
        return 0;
    if (place)
        memory->free = at(memory, place)->in_bucket;
    else if (VY_PUSH(&memory->entries))
        place = memory->entries.count;
    else
        return 0;
    uint32_t *bucket = bucket_of(memory, key);
    *at(memory, place) = (vy_memory_entry){.key = *key, .value = value, .in_bucket = *bucket};
    *bucket = place;
    link_newest(memory, place);
    memory->count++;
    return 1;
}

void *vy_memory_evict(vy_memory *memory, uint32_t limit) {
    uint32_t place = memory->oldest;
    if (memory->count <= limit)
        return NULL;
    vy_memory_entry *entry = at(memory, place);
    uint32_t *link = bucket_of(memory, &entry->key);
    while (*link != place)
        link = &at(memory, *link)->in_bucket;
    *link = entry->in_bucket;
    unlink_use(memory, place);
    entry->in_bucket = memory->free;
    memory->free = place;
    memory->count--;
    return entry->value;
}

void vy_memory_free(vy_memory *memory) {
    vy_release(memory->buckets, memory->bucket_count * sizeof *memory->buckets);
    VY_VECTOR_FREE(&memory->entries);
    *memory = (vy_memory){.count = 0};
}
