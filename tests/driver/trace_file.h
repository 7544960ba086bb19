/* Reads a trace file back, strictly: RFC 8259, an array of objects, each an event with the fields its kind has to
 * have. */
#ifndef VY_TESTS_DRIVER_TRACE_FILE_H
#define VY_TESTS_DRIVER_TRACE_FILE_H

#include "support/test.h"

#include "base/file.h"
#include "base/string.h"

#include <ctype.h>

enum { TRACE_EVENTS = 20000, TRACE_DEPTH = 8 };

typedef struct trace_event {
    char name[24], kind; /* "ph" */
    double start, took;  /* microseconds */
    int process, thread;
    char args[2400]; /* as in the file */
} trace_event;

typedef struct trace_reader {
    const char *at, *end;
    const char *wrong; /* what the first mistake is, or NULL */
    trace_event *events;
    size_t count;
} trace_reader;

static inline int trace_fail(trace_reader *r, const char *wrong) {
    if (!r->wrong)
        r->wrong = wrong;
    return 0;
}

static inline void trace_blank(trace_reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static inline int trace_take(trace_reader *r, char c) {
    trace_blank(r);
    if (r->at == r->end || *r->at != c)
        return 0;
    r->at++;
    return 1;
}

static inline int trace_string(trace_reader *r) {
    if (!trace_take(r, '"'))
        return trace_fail(r, "a string is missing");
    while (r->at < r->end && *r->at != '"') {
        unsigned char c = (unsigned char)*r->at++;
        if (c < 0x20)
            return trace_fail(r, "a control character in a string");
        if (c != '\\')
            continue;
        if (r->at == r->end || !strchr("\"\\/bfnrtu", *r->at))
            return trace_fail(r, "an unknown escape");
        if (*r->at++ == 'u')
            for (int i = 0; i < 4; i++)
                if (r->at == r->end || !isxdigit((unsigned char)*r->at++))
                    return trace_fail(r, "a broken \\u");
    }
    return r->at++ < r->end ? 1 : trace_fail(r, "a string does not end");
}

static inline int trace_digits(trace_reader *r) {
    const char *start = r->at;
    while (r->at < r->end && isdigit((unsigned char)*r->at))
        r->at++;
    return r->at > start ? 1 : trace_fail(r, "digits are missing");
}

static inline int trace_number(trace_reader *r) {
    (void)trace_take(r, '-');
    if (r->at + 1 < r->end && *r->at == '0' && isdigit((unsigned char)r->at[1]))
        return trace_fail(r, "a leading zero");
    if (!trace_digits(r))
        return 0;
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        return trace_digits(r);
    }
    return 1; /* exponents and words are JSON, and not what a trace has */
}

static inline int trace_value(trace_reader *r, int depth);

/* Members are given to `event` if it is not NULL. */
static inline int trace_object(trace_reader *r, int depth, trace_event *event) {
    char key[24];
    int is_first = 1;
    while (!trace_take(r, '}')) {
        if (!is_first && !trace_take(r, ','))
            return trace_fail(r, "a comma is missing in an object");
        is_first = 0;
        trace_blank(r);
        const char *name = r->at;
        if (!trace_string(r))
            return 0;
        snprintf(key, sizeof key, "%.*s", (int)(r->at - name - 2), name + 1);
        if (!trace_take(r, ':'))
            return trace_fail(r, "a colon is missing");
        trace_blank(r);
        const char *value = r->at;
        if (!trace_value(r, depth + 1))
            return 0;
        int length = (int)(r->at - value);
        if (!event)
            continue;
        if (strcmp(key, "name") == 0)
            snprintf(event->name, sizeof event->name, "%.*s", length - 2, value + 1);
        else if (strcmp(key, "ph") == 0)
            event->kind = value[1];
        else if (strcmp(key, "ts") == 0)
            event->start = strtod(value, NULL);
        else if (strcmp(key, "dur") == 0)
            event->took = strtod(value, NULL);
        else if (strcmp(key, "pid") == 0)
            event->process = atoi(value);
        else if (strcmp(key, "tid") == 0)
            event->thread = atoi(value);
        else if (strcmp(key, "args") == 0)
            snprintf(event->args, sizeof event->args, "%.*s", length, value);
        else if (strcmp(key, "cat") != 0)
            return trace_fail(r, "an unknown field");
    }
    return 1;
}

static inline int trace_value(trace_reader *r, int depth) {
    trace_blank(r);
    if (depth > TRACE_DEPTH || r->at == r->end)
        return trace_fail(r, "too deep, or too short");
    if (*r->at == '"')
        return trace_string(r);
    return trace_take(r, '{') ? trace_object(r, depth, NULL) : trace_number(r);
}

static inline int trace_array(trace_reader *r) {
    if (!trace_take(r, '['))
        return trace_fail(r, "the array does not begin");
    while (!trace_take(r, ']')) {
        trace_event event = {.start = -1, .took = -1, .thread = -1, .process = -1};
        if (r->count && !trace_take(r, ','))
            return trace_fail(r, "a comma is missing between events");
        if (!trace_take(r, '{') || !trace_object(r, 1, &event))
            return trace_fail(r, "an event is no object");
        if (event.thread < 0 || event.process < 0 || !event.name[0] || !event.args[0])
            return trace_fail(r, "an event lacks a field");
        if (event.kind == 'X' ? event.start < 0 || event.took < 0 : event.kind != 'M' || event.start >= 0)
            return trace_fail(r, "an event lacks its times, or has ones it should not have");
        if (r->count == TRACE_EVENTS)
            return trace_fail(r, "too many events for the test");
        r->events[r->count++] = event;
    }
    trace_blank(r);
    return r->at == r->end ? 1 : trace_fail(r, "something behind the array");
}

/* NULL and the events, which the caller frees, or a description of the error in the file. */
static inline const char *trace_read(const char *path, trace_event **events, size_t *count) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    *events = NULL, *count = 0;
    if (vy_file_read(path, (size_t)1 << 28, &bytes, NULL) != VYRE_OK)
        return "the file cannot be read";
    trace_reader r = {.at = bytes.data, .end = (const char *)bytes.data + bytes.size};
    r.events = malloc(TRACE_EVENTS * sizeof *r.events);
    if (bytes.size && vy_utf8_valid(bytes.data, bytes.size) != bytes.size)
        r.wrong = "the file is not UTF-8";
    if (!r.wrong)
        trace_array(&r);
    vyre_bytes_free(&bytes);
    if (r.wrong) {
        free(r.events);
        return r.wrong;
    }
    *events = r.events, *count = r.count;
    return NULL;
}

/* Two spans of a thread are apart, or one is within the other. Times have a nanosecond's grain and are exact in a
 * double up to 104 days. */
static inline int trace_nests(const trace_event *events, size_t count) {
    const double grain = 0.0011;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            const trace_event *a = &events[i], *b = &events[j];
            if (a->kind != 'X' || b->kind != 'X' || a->thread != b->thread)
                continue;
            double a_end = a->start + a->took, b_end = b->start + b->took;
            int apart = a_end <= b->start + grain || b_end <= a->start + grain;
            int within = (a->start >= b->start - grain && a_end <= b_end + grain) ||
                         (b->start >= a->start - grain && b_end <= a_end + grain);
            if (!apart && !within)
                return 0;
        }
    return 1;
}

static inline size_t trace_count(const trace_event *events, size_t count, const char *name) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += strcmp(events[i].name, name) == 0;
    return found;
}

#endif
