/* TOML parser: documents, tables, keys and arrays. toml_scalar.c has strings, numbers and dates.
 *
 * The form of a table (vy_toml_form) determines which additions are allowed:
 *  - A header may pass through implicit, header and dotted tables and through the last table of an array of tables. It
 *    may define a table that is absent or implicit.
 *  - A dotted key may pass through dotted and implicit tables, which become dotted.
 *  - Inline tables and arrays written as values are closed for both.
 * So every table is defined exactly once. */
#include "base/string.h"
#include "dialect/toml_parser.h"

#define LISTED 8u /* entries up to which a linear search is as fast as the hash table */

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

/* Keeps the slots at most half full. The old slots stay in the arena; together they are smaller than the new ones. */
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

/* Adds an entry. The key must not be in the table. NULL if memory is exhausted. */
static vy_toml_entry *add_entry(vy_toml_parser *p, vy_toml_value *value, const vy_toml_part *part) {
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

/* ---- parser ---- */

static int parse_value(vy_toml_parser *p, vy_toml_value *out);

const char *vy_toml_kind_name(vy_toml_kind kind) {
    static const char *const names[] = {
#define X(ID, name) name,
        VY_TOML_KIND_LIST(X)
#undef X
    };
    return kind < VY_TOML_KIND_COUNT ? names[kind] : "?";
}

/* ---- space, comments and line ends ---- */

static void skip_space(vy_toml_parser *p) {
    while (vy_toml_peek(p, 0) == ' ' || vy_toml_peek(p, 0) == '\t')
        p->at++;
}

/* Skips a comment up to the end of its line. */
static void skip_comment(vy_toml_parser *p) {
    if (vy_toml_peek(p, 0) != '#')
        return;
    for (; p->at < p->end && !vy_toml_newline(p->at, p->end); p->at++)
        if (vy_toml_is_control((unsigned char)*p->at))
            vy_diag_sink_error(&p->report, VY_D003, vy_toml_position(p, p->at, p->at + 1), NULL,
                               "control character (0x%02x) in a comment", (unsigned char)*p->at);
}

/* Skips whitespace, comments and line ends, as between the values of an array. */
static void skip_lines(vy_toml_parser *p) {
    for (size_t size = 1; size;) {
        skip_space(p);
        skip_comment(p);
        size = vy_toml_newline(p->at, p->end);
        p->at += size;
    }
}

/* Bytes of the current character, for the caret of a diagnostic. */
static size_t character(const vy_toml_parser *p) {
    size_t size = p->at < p->end;
    while (size && (vy_toml_peek(p, size) & 0xc0) == 0x80 && vy_toml_peek(p, size) >= 0)
        size++;
    return size;
}

/* "`x`", "the end of the line" or "the end of the file"; the buffer holds 16 bytes. */
static const char *shown(const vy_toml_parser *p, char *buffer) {
    if (p->at == p->end)
        return "the end of the file";
    if (vy_toml_newline(p->at, p->end))
        return "the end of the line";
    if (vy_toml_is_control((unsigned char)*p->at))
        return vy_fix_format(buffer, 16, "byte 0x%02x", (unsigned char)*p->at);
    return vy_fix_format(buffer, 16, "`%.*s`", (int)character(p), p->at);
}

static int fail_here(vy_toml_parser *p, vy_diag_code code, const char *fix, const char *expected) {
    char buffer[16];
    vy_diag_sink_error(&p->report, code, vy_toml_position(p, p->at, p->at + character(p)), fix, "%s instead of %s",
                       shown(p, buffer), expected);
    return 0;
}

/* ---- keys ---- */

static int is_bare(int c) {
    return vy_toml_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

static int parse_part(vy_toml_parser *p) {
    const char *start = p->at;
    int first = vy_toml_peek(p, 0);
    vy_toml_part part = {0};
    if (first == '"' || first == '\'') {
        if (vy_toml_peek(p, 1) == first && vy_toml_peek(p, 2) == first)
            return fail_here(p, VY_D004, "write the key on one line, with one quote on each side",
                             "a key, which three quotes do not open");
        vy_toml_string string;
        if (!vy_toml_read_string(p, &string))
            return 0;
        part.key = string.text;
        part.length = string.size;
    } else {
        while (is_bare(vy_toml_peek(p, 0)))
            p->at++;
        part.length = (size_t)(p->at - start);
        if (part.length == 0)
            return fail_here(p, VY_D004, NULL, "a key");
        part.key = vy_arena_copy(&p->document->arena, start, part.length);
        if (!part.key)
            return vy_toml_no_memory(p);
    }
    part.at = vy_toml_position(p, start, p->at);
    vy_toml_part *slot = VY_PUSH(&p->path);
    if (!slot)
        return vy_toml_no_memory(p);
    *slot = part;
    return 1;
}

/* Parses a dotted key into p->path, and skips the whitespace after it. */
static int parse_path(vy_toml_parser *p) {
    p->path.count = 0;
    for (;;) {
        if (!parse_part(p))
            return 0;
        skip_space(p);
        if (vy_toml_peek(p, 0) != '.')
            return 1;
        p->at++;
        skip_space(p);
    }
}

/* ---- adding to tables ---- */

static int quoted(const vy_toml_part *part) {
    return part->length > 64 ? 64 : (int)part->length;
}

static int fail_duplicate_key(vy_toml_parser *p, const vy_toml_part *part, const vy_toml_entry *before) {
    vy_diag_sink_error(&p->report, VY_D015, part->at, NULL, "`%.*s` is already defined in line %u", quoted(part),
                       part->key, before->at.line);
    return 0;
}

static int fail_closed(vy_toml_parser *p, const vy_toml_part *part, const vy_toml_entry *before) {
    const vy_toml_value *value = &before->value;
    const char *what = vy_toml_kind_name(value->kind);
    if (value->kind == VY_TOML_TABLE)
        what = value->form == VY_TOML_INLINE ? "an inline table" : "a table with its own header";
    else if (value->kind == VY_TOML_ARRAY)
        what = value->form == VY_TOML_HEADER ? "an array of tables" : "an array written as a value";
    int is_container = value->kind == VY_TOML_TABLE || value->kind == VY_TOML_ARRAY;
    vy_diag_sink_error(&p->report, VY_D016, part->at,
                       is_container ? VY_FIX("write everything about `%.*s` in line %u, where it is defined",
                                             quoted(part), part->key, before->at.line)
                                    : "choose another name, or remove the value",
                       "`%.*s` is %s (line %u) and cannot be extended here", quoted(part), part->key, what,
                       before->at.line);
    return 0;
}

/* Sets the nesting depth of a value inside `parent`; reports it if the limit is exceeded. */
static int nest(vy_toml_parser *p, const vy_toml_value *parent, vy_toml_value *child, vy_position at) {
    if (parent->depth >= VY_TOML_LIMIT_DEPTH) {
        vy_diag_sink_error(&p->report, VY_D002, at, NULL, "tables and arrays are nested deeper than the limit (%d)",
                           VY_TOML_LIMIT_DEPTH);
        return 0;
    }
    child->depth = (uint8_t)(parent->depth + 1);
    child->at = at;
    return 1;
}

static vy_toml_value *add_container(vy_toml_parser *p, vy_toml_value *table, const vy_toml_part *part,
                                    vy_toml_kind kind, vy_toml_form form) {
    vy_toml_value value = {.kind = (uint8_t)kind, .form = (uint8_t)form};
    vy_toml_entry *entry = nest(p, table, &value, part->at) ? add_entry(p, table, part) : NULL;
    if (!entry)
        return NULL;
    entry->value = value;
    return &entry->value;
}

/* Returns the table that a part of a key (not the last) denotes; creates it if it is absent. */
static vy_toml_value *descend(vy_toml_parser *p, vy_toml_value *table, const vy_toml_part *part, vy_toml_form made) {
    vy_toml_entry *entry = vy_toml_find(table, part->key, part->length);
    if (!entry)
        return add_container(p, table, part, VY_TOML_TABLE, made);
    vy_toml_value *value = &entry->value;
    int by_header = made == VY_TOML_IMPLICIT;
    if (by_header && value->kind == VY_TOML_ARRAY && value->form == VY_TOML_HEADER)
        return value->array.last;
    int is_open =
        by_header ? value->form != VY_TOML_INLINE : value->form == VY_TOML_DOTTED || value->form == VY_TOML_IMPLICIT;
    if (value->kind == VY_TOML_TABLE && is_open) {
        if (!by_header)
            value->form = VY_TOML_DOTTED;
        return value;
    }
    fail_closed(p, part, entry);
    return NULL;
}

/* Descends through all parts except the last. */
static vy_toml_value *descend_path(vy_toml_parser *p, vy_toml_value *table, vy_toml_form made) {
    for (uint32_t i = 0; table && i + 1 < p->path.count; i++)
        table = descend(p, table, &p->path.items[i], made);
    return table;
}

/* ---- values ---- */

static vy_toml_value *append(vy_toml_parser *p, vy_toml_value *array) {
    vy_toml_value *item = vy_arena_allocate(&p->document->arena, sizeof *item);
    if (!item) {
        vy_toml_no_memory(p);
        return NULL;
    }
    if (array->array.last)
        array->array.last->next = item;
    else
        array->array.first = item;
    array->array.last = item;
    array->array.count++;
    item->depth = array->depth;
    return item;
}

static int parse_array(vy_toml_parser *p, vy_toml_value *out) {
    const char *start = p->at++;
    for (p->open_arrays++;;) {
        skip_lines(p);
        if (vy_toml_peek(p, 0) == ']')
            break;
        if (p->at == p->end) {
            vy_diag_sink_error(&p->report, VY_D013, vy_toml_position(p, start, start + 1), NULL,
                               "an array is not closed before the end of the file");
            return 0;
        }
        vy_toml_value *item = append(p, out);
        if (!item || !parse_value(p, item))
            return 0;
        skip_lines(p);
        if (vy_toml_peek(p, 0) == ',')
            p->at++;
        else if (vy_toml_peek(p, 0) != ']')
            return fail_here(p, VY_D013, "separate values with `,` and close the array with `]`",
                             "`,` or `]` after a value of an array");
    }
    p->at++;
    p->open_arrays--;
    return 1;
}

/* Parses one `key = value` into a table. If the key is not allowed, it is reported and its value is still parsed. */
static int parse_pair(vy_toml_parser *p, vy_toml_value *table) {
    if (!parse_path(p))
        return 0;
    vy_toml_value refused = {.kind = VY_TOML_TABLE, .depth = table->depth}, *value = NULL;
    vy_toml_part last = p->path.items[p->path.count - 1];
    vy_toml_value *inner = descend_path(p, table, VY_TOML_DOTTED);
    vy_toml_entry *before = inner ? vy_toml_find(inner, last.key, last.length) : NULL;
    if (before)
        fail_duplicate_key(p, &last, before);
    if (vy_toml_peek(p, 0) != '=')
        return fail_here(p, VY_D005, "write `key = value`", "`=` after a key");
    p->at++;
    skip_space(p);
    if (inner && !before) {
        vy_toml_entry *entry = add_entry(p, inner, &last);
        value = entry ? &entry->value : NULL;
        if (value)
            value->depth = inner->depth;
    } else if (!p->report.out_of_memory) {
        value = &refused;
    }
    return value && parse_value(p, value);
}

static int parse_inline_table(vy_toml_parser *p, vy_toml_value *out) {
    p->at++;
    skip_space(p);
    if (vy_toml_peek(p, 0) == '}') {
        p->at++;
        return 1;
    }
    for (;;) {
        if (!parse_pair(p, out))
            return 0;
        skip_space(p);
        int next = vy_toml_peek(p, 0);
        if (next != ',' && next != '}')
            return fail_here(p, VY_D014, NULL, "`,` or `}` in an inline table");
        p->at++;
        if (next == '}')
            return 1;
        skip_space(p);
        if (vy_toml_peek(p, 0) == '}')
            return fail_here(p, VY_D014, "remove the `,` before it", "a key after the last `,` of an inline table");
        if (vy_toml_peek(p, 0) == '#' || vy_toml_newline(p->at, p->end))
            return fail_here(p, VY_D014, NULL, "a key on the same line of an inline table");
    }
}

/* out->depth is the depth of the container. */
static int parse_value(vy_toml_parser *p, vy_toml_value *out) {
    const char *start = p->at;
    int first = vy_toml_peek(p, 0), done;
    vy_toml_value parent = {.depth = out->depth};
    if (first == '[' || first == '{') {
        if (!nest(p, &parent, out, vy_toml_position(p, start, start + 1)))
            return 0;
        out->kind = first == '[' ? VY_TOML_ARRAY : VY_TOML_TABLE;
        done = first == '[' ? parse_array(p, out) : parse_inline_table(p, out);
        out->form = first == '[' ? VY_TOML_PLAIN : VY_TOML_INLINE;
    } else if (first == '"' || first == '\'') {
        out->kind = VY_TOML_STRING;
        done = vy_toml_read_string(p, &out->string);
    } else {
        done = vy_toml_read_scalar(p, out);
    }
    out->at = vy_toml_position(p, start, p->at);
    return done;
}

/* ---- headers ---- */

/* Opens the table of a well-formed header; NULL if it is not allowed. */
static vy_toml_value *open_table(vy_toml_parser *p, vy_toml_value *parent, const vy_toml_part *part) {
    vy_toml_entry *entry = vy_toml_find(parent, part->key, part->length);
    if (!entry)
        return add_container(p, parent, part, VY_TOML_TABLE, VY_TOML_HEADER);
    if (entry->value.kind == VY_TOML_TABLE && entry->value.form == VY_TOML_IMPLICIT) {
        entry->value.form = VY_TOML_HEADER;
        entry->at = part->at;
        return &entry->value;
    }
    fail_duplicate_key(p, part, entry);
    return NULL;
}

static vy_toml_value *open_array(vy_toml_parser *p, vy_toml_value *parent, const vy_toml_part *part) {
    vy_toml_entry *entry = vy_toml_find(parent, part->key, part->length);
    vy_toml_value *array = entry ? &entry->value : NULL;
    if (array && (array->kind != VY_TOML_ARRAY || array->form != VY_TOML_HEADER)) {
        fail_duplicate_key(p, part, entry);
        return NULL;
    }
    if (!array)
        array = add_container(p, parent, part, VY_TOML_ARRAY, VY_TOML_HEADER);
    vy_toml_value *item = array ? append(p, array) : NULL;
    if (!item)
        return NULL;
    item->kind = VY_TOML_TABLE;
    item->form = VY_TOML_HEADER;
    return nest(p, array, item, part->at) ? item : NULL;
}

/* Opens a table for the keys after a refused header, so that they are still checked. */
static int open_detached_table(vy_toml_parser *p) {
    p->section = vy_arena_allocate(&p->document->arena, sizeof *p->section);
    if (!p->section)
        return vy_toml_no_memory(p);
    p->section->kind = VY_TOML_TABLE;
    return 1;
}

static int parse_header(vy_toml_parser *p) {
    const char *start = p->at;
    size_t brackets = vy_toml_peek(p, 1) == '[' ? 2 : 1;
    p->at += brackets;
    if (!open_detached_table(p))
        return 0;
    skip_space(p);
    if (!parse_path(p))
        return 0;
    for (size_t i = 0; i < brackets; i++)
        if (vy_toml_peek(p, i) != ']')
            return fail_here(p, VY_D017, NULL, brackets == 2 ? "`]]` after the name" : "`]` after the name");
    p->at += brackets;
    const vy_toml_part *last = &p->path.items[p->path.count - 1];
    vy_toml_value *parent = descend_path(p, &p->document->root, VY_TOML_IMPLICIT), *table = NULL;
    if (parent)
        table = brackets == 2 ? open_array(p, parent, last) : open_table(p, parent, last);
    if (table) {
        table->at = vy_toml_position(p, start, p->at);
        p->section = table;
    }
    return !p->report.out_of_memory;
}

/* ---- the document ---- */

static int parse_line(vy_toml_parser *p) {
    p->open_arrays = 0;
    skip_space(p);
    int first = vy_toml_peek(p, 0);
    if (first >= 0 && first != '#' && !vy_toml_newline(p->at, p->end)) {
        if (first == '[' ? !parse_header(p) : !parse_pair(p, p->section))
            return 0;
        skip_space(p);
    }
    skip_comment(p);
    size_t newline = vy_toml_newline(p->at, p->end);
    if (newline == 0 && p->at < p->end)
        return fail_here(p, *p->at == '\r' ? VY_D003 : VY_D006, NULL, "the end of the line");
    p->at += newline;
    return 1;
}

/* Whether a line looks like a header, or like a key with its `=`. */
static int starts_something(const char *at, const char *end) {
    if (at < end && *at == '[')
        return 1;
    const char *start = at;
    while (at < end && (is_bare((unsigned char)*at) || *at == '.' || *at == '"' || *at == '\'' || *at == ' '))
        at++;
    return at > start && *start != ' ' && at < end && *at == '=';
}

/* Recovery after an error: skips to the next line; inside an array, to a line that looks like a header or a key. */
static void recover(vy_toml_parser *p) {
    do {
        const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
        p->at = newline ? newline + 1 : p->end;
    } while (p->at < p->end && p->open_arrays && !starts_something(p->at, p->end));
}

static void parse_document(vy_toml_parser *p) {
    size_t size = (size_t)(p->end - p->text), valid = vy_utf8_valid(p->text, size);
    if (valid < size) {
        vy_diag_sink_error(&p->report, VY_D001, vy_source_position(p->document->source, valid, 1), NULL,
                           "the text is not UTF-8 (byte 0x%02x at offset %zu)", (unsigned char)p->text[valid], valid);
        return;
    }
    if (size >= 3 && memcmp(p->text, "\xef\xbb\xbf", 3) == 0)
        p->at += 3;
    while (p->at < p->end && !p->report.out_of_memory)
        if (!parse_line(p) && !p->report.out_of_memory)
            recover(p);
}

vyre_status vy_toml_parse(const char *file, const char *text, size_t size, vyre_diagnostics *list, vy_toml **out,
                          vyre_error *error) {
    *out = NULL;
    if (size > VY_TOML_LIMIT_BYTES) {
        vy_fail(error, VYRE_LIMIT, "split the file", "the text has %zu bytes (limit %d)", size, VY_TOML_LIMIT_BYTES);
        return error ? vy_fail_where(error, "%s", file) : VYRE_LIMIT;
    }
    vy_toml *document = vy_allocate_zero(sizeof *document);
    if (document)
        document->source = vy_source_new(file, size ? text : "", size);
    if (!document || !document->source) {
        vy_toml_free(document);
        return vy_fail_memory(error, "reading the text");
    }
    document->root = (vy_toml_value){.kind = VY_TOML_TABLE, .form = VY_TOML_HEADER, .at = {1, 1, 0}};
    const char *copy = vy_source_text(document->source, &size);
    vy_toml_parser p = {.document = document,
                        .text = copy,
                        .at = copy,
                        .end = copy + size,
                        .section = &document->root,
                        .report = {.source = document->source, .list = list}};
    parse_document(&p);
    VY_VECTOR_FREE(&p.path);
    vy_string_free(&p.scratch);
    vyre_status status = vy_diag_sink_status(&p.report, error);
    if (status == VYRE_OK)
        *out = document;
    else
        vy_toml_free(document);
    return status;
}

void vy_toml_free(vy_toml *document) {
    if (!document)
        return;
    vy_arena_free(&document->arena);
    vy_source_release(document->source);
    vy_release(document, sizeof *document);
}

const vy_toml_value *vy_toml_root(const vy_toml *document) {
    return &document->root;
}

vy_source *vy_toml_source(const vy_toml *document) {
    return document->source;
}
