/* Softlib reader (softlib.h): finds functions in the library texts, and parses those that are called. */
#include "lower/softlib.h"

#include "base/status.h"
#include "base/string.h"
#include "ir/text/module.h"

/* Units that are read with no more than what is wanted: who still asks is given everything. */
enum { UNKNOWN = 0xfefefefe, SMALL_UNITS = 2 };

vy_legal_uses vy_legal_uses_of(const vyre_program *p) {
    vy_legal_uses uses = {0, 0};
    for (uint32_t i = 0; i < p->memories.count; i++)
        uses.types |= 1u << p->memories.items[i].type;
    for (uint32_t i = 0; i < p->variables.count; i++)
        uses.types |= 1u << p->variables.items[i].type;
    for (uint32_t i = 0; i < p->exprs.count; i++) {
        uses.types |= 1u << p->exprs.items[i].type;
        if (p->exprs.items[i].kind == VY_EXPR_OP)
            uses.ops |= UINT64_C(1) << p->exprs.items[i].op;
    }
    return uses;
}

static int is_needed(const vy_softlib_text *text, vy_legal_uses uses, uint64_t exact) {
    return (text->types & uses.types) && (!text->ops || (text->ops & uses.ops)) &&
           (!text->lacks || (text->lacks & ~exact)) && (text->has & exact) == text->has && !(text->without & exact);
}

/* A text with several rows is needed where any of them says so, and read once. */
static int is_read_before(const vy_softlib_text *texts, const vy_softlib_text *text, vy_legal_uses uses,
                          uint64_t exact) {
    for (; texts < text; texts++)
        if (texts->text == text->text && is_needed(texts, uses, exact))
            return 1;
    return 0;
}

/* One more, so that it is never 0. */
static size_t bound_size(const vyre_program *program) {
    return vy_array_size(program ? program->variables.count + 1u : 0, sizeof(uint32_t));
}

/* ---- finding ---- */

static int is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Every function begins in a line of its own. */
static int list_functions(vy_softlib *library, const char *text) {
    static const char start[] = "fn ";
    for (const char *next; text; text = next) {
        text += sizeof start - 1;
        next = strstr(text, "\nfn ");
        next = next ? next + 1 : NULL;
        vy_softlib_function *function = VY_PUSH(&library->functions);
        if (!function)
            return 0;
        *function = (vy_softlib_function){
            .text = text, .length = (uint32_t)(next ? (size_t)(next - text) : strlen(text)), .unit = VY_NONE};
        while (is_of_name(text[function->name_length]))
            function->name_length++;
    }
    return 1;
}

vyre_status vy_softlib_open(vy_softlib *library, const vy_softlib_text *texts, vy_legal_uses uses, uint64_t exact,
                            vyre_error *error) {
    library->functions.items = NULL;
    library->functions.count = library->functions.capacity = 0;
    library->units.items = NULL;
    library->units.count = library->units.capacity = 0;
    library->uses = uses;
    _Static_assert(UNKNOWN == 0xfefefefe, "all bytes are alike");
    memset(library->ops, UNKNOWN & 0xff, sizeof library->ops);
    memset(library->casts, UNKNOWN & 0xff, sizeof library->casts);
    for (const vy_softlib_text *text = texts; text->text; text++)
        if (is_needed(text, uses, exact) && !is_read_before(texts, text, uses, exact) &&
            !list_functions(library, text->text))
            return vy_fail_memory(error, "the legal library");
    return VYRE_OK;
}

void vy_softlib_free(vy_softlib *library) {
    for (uint32_t i = 0; i < library->units.count; i++) {
        vy_softlib_unit *unit = &library->units.items[i];
        vy_release(unit->bound, bound_size(unit->program));
        vyre_module_free(unit->module);
    }
    VY_VECTOR_FREE(&library->units);
    VY_VECTOR_FREE(&library->functions);
}

static uint32_t find(const vy_softlib *library, const char *name, size_t length) {
    for (uint32_t i = 0; i < library->functions.count; i++) {
        const vy_softlib_function *function = &library->functions.items[i];
        if (function->name_length == length && memcmp(function->text, name, length) == 0)
            return i;
    }
    return VY_NONE;
}

uint32_t vy_softlib_find(vy_softlib *library, const char *name) {
    uint32_t function = find(library, name, strlen(name));
    if (function != VY_NONE)
        library->functions.items[function].is_wanted = 1;
    return function;
}

/* There is room: names of ops and types are short. Returns where the NUL is. */
static char *append(char *at, const char *text) {
    size_t length = strlen(text);
    memcpy(at, text, length + 1);
    return at + length;
}

uint32_t vy_softlib_replacement(vy_softlib *library, vyre_op op, vyre_type result, vyre_type operand) {
    int is_cast = op == VYRE_OP_CAST || op == VYRE_OP_BITCAST;
    uint32_t *slot = is_cast ? &library->casts[op == VYRE_OP_BITCAST][result][operand] : &library->ops[op][operand];
    if (*slot == UNKNOWN) {
        char name[64];
        char *end = append(name, vyre_op_get(op)->name);
        if (is_cast)
            end = append(append(end, "_"), vyre_type_name(result));
        append(append(end, "_"), vyre_type_name(operand));
        *slot = vy_softlib_find(library, name);
    }
    return *slot;
}

/* ---- reading ---- */

/* Takes what a function calls: every name before a parenthesis may be one. */
static void mark_callees(vy_softlib *library, const vy_softlib_function *caller) {
    const char *text = caller->text + caller->name_length + 1, *end = caller->text + caller->length, *at;
    for (; (at = memchr(text, '(', (size_t)(end - text))); text = at + 1) {
        size_t length = 0;
        while (is_of_name(at[-1 - (ptrdiff_t)length]))
            length++;
        uint32_t called = length ? find(library, at - length, length) : VY_NONE;
        if (called != VY_NONE && !library->functions.items[called].taken)
            library->functions.items[called].taken = 1;
    }
}

/* Decides what the next unit is made of. */
static void select_wanted(vy_softlib *library) {
    int takes_all = library->units.count >= SMALL_UNITS, is_over = 0;
    for (uint32_t i = 0; i < library->functions.count; i++) {
        vy_softlib_function *function = &library->functions.items[i];
        function->taken = takes_all ? 2 : function->is_wanted && function->unit == VY_NONE;
    }
    while (!is_over) {
        is_over = 1;
        for (uint32_t i = 0; i < library->functions.count; i++) {
            vy_softlib_function *function = &library->functions.items[i];
            if (function->taken != 1)
                continue;
            is_over = 0;
            function->taken = 2;
            mark_callees(library, function);
        }
    }
}

static vyre_status read_taken(const vy_softlib *library, vy_softlib_unit *unit, vyre_error *error) {
    vy_string all = {0};
    vy_string_add(&all, "level legal\n");
    for (uint32_t i = 0; i < library->functions.count; i++) {
        const vy_softlib_function *function = &library->functions.items[i];
        if (!function->taken)
            continue;
        vy_string_add(&all, "fn ");
        vy_string_append(&all, function->text, function->length);
    }
    vyre_status status = all.failed ? vy_fail_memory(error, "the text of the legal library")
                                    : vy_text_parse_unverified(all.text, all.length, "<legal>", &unit->module, error);
    vy_string_free(&all);
    if (status != VYRE_OK)
        return status;
    unit->program = vyre_module_library(unit->module);
    unit->bound = vy_allocate(bound_size(unit->program));
    if (!unit->bound)
        return vy_fail_memory(error, "the legal library");
    memset(unit->bound, 0xff, bound_size(unit->program)); /* VY_NONE */
    return VYRE_OK;
}

static vyre_status read_unit(vy_softlib *library, vyre_error *error) {
    vy_softlib_unit *unit = VY_PUSH(&library->units);
    if (!unit)
        return vy_fail_memory(error, "the legal library");
    select_wanted(library);
    vyre_status status = read_taken(library, unit, error);
    uint32_t index = 0;
    for (uint32_t i = 0; i < library->functions.count && status == VYRE_OK; i++) {
        vy_softlib_function *function = &library->functions.items[i];
        if (!function->taken)
            continue;
        function->unit = library->units.count - 1;
        function->index = index++;
    }
    return status;
}

vyre_status vy_softlib_read(vy_softlib *library, uint32_t function, const vy_softlib_unit **unit,
                            const vy_function **out, vyre_error *error) {
    vy_softlib_function *wanted = &library->functions.items[function];
    vyre_status status = VYRE_OK;
    wanted->is_wanted = 1;
    if (wanted->unit == VY_NONE)
        status = read_unit(library, error);
    if (status != VYRE_OK)
        return status;
    *unit = &library->units.items[wanted->unit];
    *out = &(*unit)->program->functions.items[wanted->index];
    return VYRE_OK;
}
