/* Semantic versions: validation and precedence. Numbers are compared as texts: they have no leading zeros, so the
 * longer one is larger. */
#include "dialect/semver.h"

#include <string.h>

typedef struct cursor {
    const char *at, *end;
} cursor;

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

/* Consumes the longest run of characters of a class. */
static cursor consume(cursor *c, int (*belongs)(char)) {
    cursor run = {c->at, c->at};
    while (run.end < c->end && belongs(*run.end))
        run.end++;
    c->at = run.end;
    return run;
}

static int accept(cursor *c, char expected) {
    int is_there = c->at < c->end && *c->at == expected;
    c->at += is_there;
    return is_there;
}

static size_t size_of(cursor c) {
    return (size_t)(c.end - c.at);
}

static int is_number(cursor c) {
    return consume(&c, is_digit).end == c.end;
}

static int has_leading_zero(cursor c) {
    return size_of(c) > 1 && *c.at == '0';
}

static int consume_number(cursor *c) {
    cursor number = consume(c, is_digit);
    return size_of(number) > 0 && !has_leading_zero(number);
}

/* Consumes identifiers separated by dots. Numeric identifiers of a pre-release have no leading zeros. */
static int consume_identifiers(cursor *c, int is_build) {
    do {
        cursor word = consume(c, is_word);
        if (size_of(word) == 0 || (!is_build && is_number(word) && has_leading_zero(word)))
            return 0;
    } while (accept(c, '.'));
    return 1;
}

int vy_semver_is_valid(const char *text, size_t size) {
    cursor c = {text, text + size};
    if (!consume_number(&c) || !accept(&c, '.') || !consume_number(&c) || !accept(&c, '.') || !consume_number(&c))
        return 0;
    if (accept(&c, '-') && !consume_identifiers(&c, 0))
        return 0;
    if (accept(&c, '+') && !consume_identifiers(&c, 1))
        return 0;
    return c.at == c.end;
}

static int compare_sizes(size_t a, size_t b) {
    return a < b ? -1 : a > b;
}

static int compare_numbers(cursor a, cursor b) {
    int order = compare_sizes(size_of(a), size_of(b));
    return order ? order : memcmp(a.at, b.at, size_of(a));
}

static int compare_words(cursor a, cursor b) {
    int a_is_number = is_number(a), b_is_number = is_number(b);
    if (a_is_number && b_is_number)
        return compare_numbers(a, b);
    if (a_is_number != b_is_number)
        return a_is_number ? -1 : 1;
    size_t common = size_of(a) < size_of(b) ? size_of(a) : size_of(b);
    int order = memcmp(a.at, b.at, common);
    return order ? order : compare_sizes(size_of(a), size_of(b));
}

int vy_semver_compare(const char *a, size_t a_size, const char *b, size_t b_size) {
    cursor x = {a, a + a_size}, y = {b, b + b_size};
    for (int i = 0; i < 3; i++) {
        int order = compare_numbers(consume(&x, is_digit), consume(&y, is_digit));
        if (order)
            return order;
        accept(&x, '.');
        accept(&y, '.');
    }
    int x_is_early = accept(&x, '-'), y_is_early = accept(&y, '-');
    if (!x_is_early || !y_is_early)
        return y_is_early - x_is_early;
    for (;;) {
        int order = compare_words(consume(&x, is_word), consume(&y, is_word));
        if (order)
            return order;
        int x_goes_on = accept(&x, '.'), y_goes_on = accept(&y, '.');
        if (!x_goes_on || !y_goes_on)
            return x_goes_on - y_goes_on;
    }
}
