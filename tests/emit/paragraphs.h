/* Several emitted texts as one: identifiers that begin with the name of a program get a number instead, and what all
 * texts have alike is there once. */
#ifndef VY_TESTS_EMIT_PARAGRAPHS_H
#define VY_TESTS_EMIT_PARAGRAPHS_H

#include "support/test.h"

#include "base/intern.h"
#include "base/string.h"

/* The paragraphs that are there. */
typedef struct paragraphs {
    vy_intern_pool known;
} paragraphs;

static inline void paragraphs_free(paragraphs *p) {
    vy_intern_pool_free(&p->known);
}

static inline char *paragraphs_find(char *text, const char *words) {
    char *found = strstr(text, words);
    if (!found)
        fail_msg("no `%s` in\n%s", words, text);
    return found;
}

/* Puts a part of the text, with PREFIX_ instead of NAME_ in every identifier. */
static inline void paragraphs_rename(vy_string *out, const char *from, const char *end, const char *name,
                                     unsigned number) {
    size_t length = strlen(name);
    for (const char *at = from; at < end; at++) {
        int starts = at == from || !(at[-1] == '_' || (at[-1] >= '0' && at[-1] <= '9') ||
                                     ((at[-1] | 32) >= 'a' && (at[-1] | 32) <= 'z'));
        if (starts && strncmp(at, name, length) == 0 && at[length] == '_') {
            vy_string_format(out, "p%u", number);
            at += length - 1;
        } else {
            vy_string_char(out, *at);
        }
    }
}

/* Adds the paragraphs that are not there yet. */
static inline void paragraphs_share(paragraphs *p, vy_string *out, char *from, const char *end) {
    while (from < end) {
        char *next = strstr(from, "\n\n");
        size_t length = next && next < end ? (size_t)(next + 2 - from) : (size_t)(end - from);
        uint32_t before = p->known.used;
        vy_intern_pool_add(&p->known, from, length);
        if (p->known.used != before)
            vy_string_append(out, from, length);
        from += length;
    }
}

#endif
