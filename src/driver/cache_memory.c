/* The table in memory (cache_memory.h): entries in one array, chained by bucket, and linked in the order of use. */
#include "driver/cache_memory.h"

static vy_recent_entry *at(vy_recent *recent, uint32_t place) {
    return &recent->entries.items[place - 1];
}

/* A key is a digest: any of its bytes are as good as a hash. */
static uint32_t *bucket_of(vy_recent *recent, const vy_cache_key *key) {
    uint32_t hash;
    memcpy(&hash, key->digest.bytes, sizeof hash);
    return &recent->buckets[hash & (recent->bucket_count - 1)];
}

static void unlink_use(vy_recent *recent, uint32_t place) {
    vy_recent_entry *entry = at(recent, place);
    *(entry->newer ? &at(recent, entry->newer)->older : &recent->newest) = entry->older;
    *(entry->older ? &at(recent, entry->older)->newer : &recent->oldest) = entry->newer;
}

static void link_newest(vy_recent *recent, uint32_t place) {
    vy_recent_entry *entry = at(recent, place);
    entry->newer = 0;
    entry->older = recent->newest;
    *(recent->newest ? &at(recent, recent->newest)->newer : &recent->oldest) = place;
    recent->newest = place;
}

void *vy_recent_find(vy_recent *recent, const vy_cache_key *key) {
    uint32_t place = recent->bucket_count ? *bucket_of(recent, key) : 0;
    while (place && memcmp(&at(recent, place)->key, key, sizeof *key) != 0)
        place = at(recent, place)->in_bucket;
    if (!place)
        return NULL;
    unlink_use(recent, place);
    link_newest(recent, place);
    return at(recent, place)->value;
}

/* As many buckets as entries. If there is no memory for more, chains are longer. */
static void grow_buckets(vy_recent *recent) {
    uint32_t count = recent->bucket_count ? 2 * recent->bucket_count : 16;
    uint32_t *buckets = count ? vy_allocate_zero(count * sizeof *buckets) : NULL;
    if (!buckets)
        return;
    vy_release(recent->buckets, recent->bucket_count * sizeof *buckets);
    recent->buckets = buckets;
    recent->bucket_count = count;
    for (uint32_t place = recent->newest; place; place = at(recent, place)->older) {
        uint32_t *bucket = bucket_of(recent, &at(recent, place)->key);
        at(recent, place)->in_bucket = *bucket;
        *bucket = place;
    }
}

int vy_recent_add(vy_recent *recent, const vy_cache_key *key, void *value) {
    uint32_t place = recent->free;
    if (recent->count >= recent->bucket_count)
        grow_buckets(recent);
    if (!recent->bucket_count)
        return 0;
    if (place)
        recent->free = at(recent, place)->in_bucket;
    else if (VY_PUSH(&recent->entries))
        place = recent->entries.count;
    else
        return 0;
    uint32_t *bucket = bucket_of(recent, key);
    *at(recent, place) = (vy_recent_entry){.key = *key, .value = value, .in_bucket = *bucket};
    *bucket = place;
    link_newest(recent, place);
    recent->count++;
    return 1;
}

void *vy_recent_evict(vy_recent *recent, uint32_t limit) {
    uint32_t place = recent->oldest;
    if (recent->count <= limit)
        return NULL;
    vy_recent_entry *entry = at(recent, place);
    uint32_t *link = bucket_of(recent, &entry->key);
    while (*link != place)
        link = &at(recent, *link)->in_bucket;
    *link = entry->in_bucket;
    unlink_use(recent, place);
    entry->in_bucket = recent->free;
    recent->free = place;
    recent->count--;
    return entry->value;
}

void vy_recent_free(vy_recent *recent) {
    vy_release(recent->buckets, recent->bucket_count * sizeof *recent->buckets);
    VY_VECTOR_FREE(&recent->entries);
    *recent = (vy_recent){.count = 0};
}
