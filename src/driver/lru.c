/* The table in memory (lru.h): entries in one array, chained by bucket, and linked in the order of use. */
#include "driver/lru.h"

static vy_lru_entry *entry_at(vy_lru *lru, uint32_t slot) {
    return &lru->entries.items[slot - 1];
}

/* A key is a digest: any of its bytes are as good as a hash. */
static uint32_t *bucket_of(vy_lru *lru, const vy_cache_key *key) {
    uint32_t hash;
    memcpy(&hash, key->digest.bytes, sizeof hash);
    return &lru->buckets[hash & (lru->bucket_count - 1)];
}

static void unlink_use(vy_lru *lru, uint32_t slot) {
    vy_lru_entry *entry = entry_at(lru, slot);
    *(entry->newer ? &entry_at(lru, entry->newer)->older : &lru->newest) = entry->older;
    *(entry->older ? &entry_at(lru, entry->older)->newer : &lru->oldest) = entry->newer;
}

static void link_newest(vy_lru *lru, uint32_t slot) {
    vy_lru_entry *entry = entry_at(lru, slot);
    entry->newer = 0;
    entry->older = lru->newest;
    *(lru->newest ? &entry_at(lru, lru->newest)->newer : &lru->oldest) = slot;
    lru->newest = slot;
}

void *vy_lru_find(vy_lru *lru, const vy_cache_key *key) {
    uint32_t slot = lru->bucket_count ? *bucket_of(lru, key) : 0;
    while (slot && memcmp(&entry_at(lru, slot)->key, key, sizeof *key) != 0)
        slot = entry_at(lru, slot)->next_in_bucket;
    if (!slot)
        return NULL;
    unlink_use(lru, slot);
    link_newest(lru, slot);
    return entry_at(lru, slot)->value;
}

/* As many buckets as entries. If there is no memory for more, chains are longer. */
static void grow_buckets(vy_lru *lru) {
    uint32_t count = lru->bucket_count ? 2 * lru->bucket_count : 16;
    uint32_t *buckets = count ? vy_allocate_zero(count * sizeof *buckets) : NULL;
    if (!buckets)
        return;
    vy_release(lru->buckets, lru->bucket_count * sizeof *buckets);
    lru->buckets = buckets;
    lru->bucket_count = count;
    for (uint32_t slot = lru->newest; slot; slot = entry_at(lru, slot)->older) {
        uint32_t *bucket = bucket_of(lru, &entry_at(lru, slot)->key);
        entry_at(lru, slot)->next_in_bucket = *bucket;
        *bucket = slot;
    }
}

int vy_lru_add(vy_lru *lru, const vy_cache_key *key, void *value) {
    uint32_t slot = lru->free;
    if (lru->count >= lru->bucket_count)
        grow_buckets(lru);
    if (!lru->bucket_count)
        return 0;
    if (slot)
        lru->free = entry_at(lru, slot)->next_in_bucket;
    else if (VY_PUSH(&lru->entries))
        slot = lru->entries.count;
    else
        return 0;
    uint32_t *bucket = bucket_of(lru, key);
    *entry_at(lru, slot) = (vy_lru_entry){.key = *key, .value = value, .next_in_bucket = *bucket};
    *bucket = slot;
    link_newest(lru, slot);
    lru->count++;
    return 1;
}

void *vy_lru_evict(vy_lru *lru, uint32_t limit) {
    uint32_t slot = lru->oldest;
    if (lru->count <= limit)
        return NULL;
    vy_lru_entry *entry = entry_at(lru, slot);
    uint32_t *link = bucket_of(lru, &entry->key);
    while (*link != slot)
        link = &entry_at(lru, *link)->next_in_bucket;
    *link = entry->next_in_bucket;
    unlink_use(lru, slot);
    entry->next_in_bucket = lru->free;
    lru->free = slot;
    lru->count--;
    return entry->value;
}

void vy_lru_free(vy_lru *lru) {
    vy_release(lru->buckets, lru->bucket_count * sizeof *lru->buckets);
    VY_VECTOR_FREE(&lru->entries);
    *lru = (vy_lru){.count = 0};
}
