/* A reader of JSON for tests: strings, objects and arrays, which is all that the expected files of toml-test hold.
 * Nodes live in an arena. */
#ifndef VY_DIALECT_JSON_H
#define VY_DIALECT_JSON_H

#include "base/memory.h"
#include "support/test.h"

typedef enum json_kind { JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_kind;

typedef struct json {
    json_kind kind;
    char *key; /* in an object */
    size_t key_size;
    char *text; /* of a string */
    size_t size;
    struct json *first, *next;
    size_t count;
} json;

typedef struct json_reader {
    vy_arena *arena;
    const char *at;
} json_reader;

static inline void json_skip(json_reader *r) {
    r->at += strspn(r->at, " \t\r\n");
}

static inline void json_expect(json_reader *r, char c) {
    json_skip(r);
    if (*r->at != c)
        fail_msg("JSON: `%c` expected at `%.20s`", c, r->at);
    r->at++;
}

static inline unsigned json_unit(json_reader *r) {
    char digits[5] = {0};
    memcpy(digits, r->at, 4);
    r->at += 4;
    return (unsigned)strtoul(digits, NULL, 16);
}

static inline size_t json_encode(unsigned point, char *out) {
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 63));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xe0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 63));
        out[2] = (char)(0x80 | (point & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 63));
    out[2] = (char)(0x80 | (point >> 6 & 63));
    out[3] = (char)(0x80 | (point & 63));
    return 4;
}

static inline char *json_string(json_reader *r, size_t *size) {
    static const char names[] = "btnfr\"\\/", meanings[] = "\b\t\n\f\r\"\\/";
    json_expect(r, '"');
    char *out = vy_arena_allocate(r->arena, strlen(r->at) + 1);
    assert_non_null(out);
    *size = 0;
    while (*r->at && *r->at != '"') {
        if (*r->at != '\\') {
            out[(*size)++] = *r->at++;
            continue;
        }
        char name = r->at[1];
        r->at += 2;
        if (name == 'u') {
            unsigned point = json_unit(r);
            if (point >= 0xd800 && point < 0xdc00 && r->at[0] == '\\' && r->at[1] == 'u') {
                r->at += 2;
                point = 0x10000 + ((point - 0xd800) << 10) + (json_unit(r) - 0xdc00);
            }
            *size += json_encode(point, out + *size);
        } else {
            const char *found = name ? strchr(names, name) : NULL;
            assert_non_null(found);
            out[(*size)++] = meanings[found - names];
        }
    }
    json_expect(r, '"');
    return out;
}

static inline json *json_value(json_reader *r) {
    json *node = vy_arena_allocate(r->arena, sizeof *node);
    assert_non_null(node);
    json_skip(r);
    if (*r->at == '"') {
        node->kind = JSON_STRING;
        node->text = json_string(r, &node->size);
        return node;
    }
    char close = *r->at == '{' ? '}' : ']';
    node->kind = *r->at == '{' ? JSON_OBJECT : JSON_ARRAY;
    json_expect(r, *r->at == '{' ? '{' : '[');
    json **slot = &node->first;
    for (json_skip(r); *r->at != close; json_skip(r)) {
        if (node->count)
            json_expect(r, ',');
        size_t key_size = 0;
        char *key = NULL;
        if (node->kind == JSON_OBJECT) {
            key = json_string(r, &key_size);
            json_expect(r, ':');
        }
        *slot = json_value(r);
        (*slot)->key = key;
        (*slot)->key_size = key_size;
        slot = &(*slot)->next;
        node->count++;
    }
    r->at++;
    return node;
}

/* A member with a plain name, or NULL. */
static inline const json *json_member(const json *object, const char *key) {
    for (const json *member = object->first; member; member = member->next)
        if (member->key_size == strlen(key) && memcmp(member->key, key, member->key_size) == 0)
            return member;
    return NULL;
}

#endif
