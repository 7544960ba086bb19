/* Dates and times (RFC 3339, and its parts): fields in fixed places, then their ranges. */
#include "dialect/toml_parser.h"

typedef struct cursor {
    const char *at, *end;
} cursor;

/* Exactly `count` digits. */
static int read_field(cursor *c, unsigned count, unsigned *out) {
    if (c->end - c->at < (ptrdiff_t)count)
        return 0;
    *out = 0;
    for (unsigned i = 0; i < count; i++, c->at++) {
        if (!vy_toml_is_digit((unsigned char)*c->at))
            return 0;
        *out = *out * 10 + (unsigned)(*c->at - '0');
    }
    return 1;
}

static int skip(cursor *c, char expected) {
    int is_there = c->at < c->end && *c->at == expected;
    c->at += is_there;
    return is_there;
}

static int read_date(cursor *c, unsigned fields[3]) {
    return read_field(c, 4, &fields[0]) && skip(c, '-') && read_field(c, 2, &fields[1]) && skip(c, '-') &&
           read_field(c, 2, &fields[2]);
}

/* Digits beyond nanoseconds are cut, not rounded. */
static int read_fraction(cursor *c, unsigned *nanosecond) {
    unsigned scale = 100000000;
    const char *start = c->at;
    for (; c->at < c->end && vy_toml_is_digit((unsigned char)*c->at); c->at++, scale /= 10)
        *nanosecond += (unsigned)(*c->at - '0') * scale;
    return c->at > start;
}

static int read_clock(cursor *c, unsigned fields[4]) {
    if (!read_field(c, 2, &fields[0]) || !skip(c, ':') || !read_field(c, 2, &fields[1]) || !skip(c, ':') ||
        !read_field(c, 2, &fields[2]))
        return 0;
    return skip(c, '.') ? read_fraction(c, &fields[3]) : 1;
}

/* Z or ±HH:MM; fields are hours, minutes and whether it is west. */
static int read_offset(cursor *c, unsigned fields[3]) {
    if (skip(c, 'Z') || skip(c, 'z'))
        return 1;
    fields[2] = skip(c, '-');
    return (fields[2] || skip(c, '+')) && read_field(c, 2, &fields[0]) && skip(c, ':') && read_field(c, 2, &fields[1]);
}

static unsigned days_in(unsigned year, unsigned month) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 && leap ? 29 : days[month - 1];
}

typedef struct range {
    const char *name;
    unsigned value, least, most;
} range;

static int report_range(vy_toml_parser *p, const char *text, const char *end, const range *ranges, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (ranges[i].value < ranges[i].least || ranges[i].value > ranges[i].most) {
            vy_diag_sink_error(&p->report, VY_D011, vy_toml_position(p, text, end),
                               VY_FIX("the %s goes from %u to %u", ranges[i].name, ranges[i].least, ranges[i].most),
                               "the %s (%u) is outside its range (%u to %u)", ranges[i].name, ranges[i].value,
                               ranges[i].least, ranges[i].most);
            return 1;
        }
    return 0;
}

int vy_toml_starts_time(const char *text, size_t size) {
    size_t digits = 0;
    while (digits < 5 && digits < size && vy_toml_is_digit((unsigned char)text[digits]))
        digits++;
    return digits < size && ((digits == 2 && text[digits] == ':') || (digits >= 4 && text[digits] == '-'));
}

/* A space may stand for the T between date and time. */
static const char *extend_over_space(vy_toml_parser *p, const char *text, size_t size) {
    cursor c = {p->at, p->end};
    unsigned hour;
    if (size != 10 || !skip(&c, ' ') || !read_field(&c, 2, &hour) || !skip(&c, ':'))
        return text + size;
    for (p->at = c.at; p->at < p->end; p->at++)
        if (!vy_toml_is_digit((unsigned char)*p->at) && (*p->at == 0 || !strchr("+-.:Zz", *p->at)))
            break;
    return p->at;
}

int vy_toml_read_time(vy_toml_parser *p, const char *text, size_t size, vy_toml_value *out) {
    unsigned date[3] = {0, 1, 1}, clock[4] = {0}, offset[3] = {0};
    int has_date = text[2] != ':', has_clock = !has_date, has_offset = 0;
    cursor c = {text, extend_over_space(p, text, size)};
    int fits = !has_date || read_date(&c, date);
    if (fits && has_date && c.at < c.end)
        fits = has_clock = skip(&c, 'T') || skip(&c, 't') || skip(&c, ' ');
    if (fits && has_clock)
        fits = read_clock(&c, clock);
    if (fits && has_date && has_clock && c.at < c.end)
        fits = has_offset = read_offset(&c, offset);
    if (!fits || c.at != c.end) {
        vy_diag_sink_error(&p->report, VY_D011, vy_toml_position(p, text, c.end), NULL, "`%.*s` is no date or time",
                           c.end - text > 64 ? 64 : (int)(c.end - text), text);
        return 1;
    }
    const range ranges[] = {{"month", date[1], 1, 12},
                            {"day", date[2], 1, date[1] >= 1 && date[1] <= 12 ? days_in(date[0], date[1]) : 31},
                            {"hour", clock[0], 0, 23},
                            {"minute", clock[1], 0, 59},
                            {"second", clock[2], 0, 60}, /* 60 is a leap second */
                            {"hour of the offset", offset[0], 0, 23},
                            {"minute of the offset", offset[1], 0, 59}};
    if (report_range(p, text, c.end, ranges, sizeof ranges / sizeof *ranges))
        return 1;
    int minutes = (int)(offset[0] * 60 + offset[1]);
    out->kind = !has_date    ? VY_TOML_LOCAL_TIME
                : has_offset ? VY_TOML_OFFSET_DATE_TIME
                : has_clock  ? VY_TOML_LOCAL_DATE_TIME
                             : VY_TOML_LOCAL_DATE;
    out->time = (vy_toml_time){.hour = (uint8_t)clock[0],
                               .minute = (uint8_t)clock[1],
                               .second = (uint8_t)clock[2],
                               .nanosecond = clock[3],
                               .offset = (int16_t)(offset[2] ? -minutes : minutes)};
    if (has_date) {
        out->time.year = (uint16_t)date[0];
        out->time.month = (uint8_t)date[1];
        out->time.day = (uint8_t)date[2];
    }
    return 1;
}
