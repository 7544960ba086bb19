/* Names: what is visible, by one table lookup per use. */
#include "ir/porting_hint.h"
#include "ir/text/lower.h"

#include <stdarg.h>
#include <stdio.h>

int vy_lower_start(vy_lowering *l, vy_parser *parser) {
    memset(l, 0, sizeof *l);
    l->parser = parser;
    l->report = parser->report;
    l->table_size = vy_array_size((size_t)parser->lexer.names.size + 1, sizeof *l->bound);
    l->bound = vy_allocate_zero(l->table_size);
    l->global = vy_allocate_zero(l->table_size);
    if (!l->bound || !l->global)
        l->report->out_of_memory = 1;
    return !l->report->out_of_memory;
}

void vy_lower_free(vy_lowering *l) {
    if (l->bound)
        vy_release(l->bound, l->table_size);
    if (l->global)
        vy_release(l->global, l->table_size);
    VY_VECTOR_FREE(&l->scope);
    VY_VECTOR_FREE(&l->globals);
    VY_VECTOR_FREE(&l->args);
    VY_VECTOR_FREE(&l->reached);
}

void vy_lower_error(vy_lowering *l, vy_diag_code code, vy_position at, const char *fix, const char *format, ...) {
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    vy_diag_sink_error(l->report, code, at, fix, "%s", message);
    l->live = 0;
}

vy_symbol vy_lower_name(vy_lowering *l, uint32_t name) {
    const char *text = vy_lower_text(l, name);
    return l->live ? vy_irb_intern(&l->draft, text, strlen(text)) : 0;
}

vy_symbol vy_lower_temporary(vy_lowering *l) {
    char text[16];
    int length;
    do
        length = snprintf(text, sizeof text, "t%u", l->next_temporary++);
    while (vy_intern_pool_find(&l->parser->lexer.names, text, (size_t)length) != VY_SYMBOL_INVALID);
    return l->live ? vy_irb_intern(&l->draft, text, (size_t)length) : 0;
}

/* ---- the file ---- */

vy_global *vy_lower_global(vy_lowering *l, uint32_t name) {
    uint32_t index = l->global[name];
    return index ? &l->globals.items[index - 1] : NULL;
}

vy_global *vy_lower_make_global(vy_lowering *l, uint32_t name) {
    if (l->global[name])
        return vy_lower_global(l, name);
    vy_global *global = VY_PUSH(&l->globals);
    if (!global)
        l->report->out_of_memory = 1;
    else
        l->global[name] = l->globals.count;
    return global;
}

/* ---- scopes ---- */

const vy_binding *vy_lower_find(const vy_lowering *l, uint32_t name) {
    uint32_t index = l->bound[name];
    return index ? &l->scope.items[index - 1] : NULL;
}

void vy_lower_declare(vy_lowering *l, const vy_binding *binding) {
    const vy_global *global = vy_lower_global(l, binding->name);
    const char *text = vy_lower_text(l, binding->name);
    if (l->bound[binding->name]) {
        vy_lower_error(l, VY_T024, binding->at, VY_FIX("choose another name than `%s`", text),
                       "`%s` is already declared in line %u", text, vy_lower_find(l, binding->name)->at.line);
        return;
    }
    if (global && global->constant) {
        vy_lower_error(l, VY_T024, binding->at, VY_FIX("choose another name than `%s`", text),
                       "`%s` is already a const, declared in line %u", text, global->constant->at.line);
        return;
    }
    vy_binding *made = VY_PUSH(&l->scope);
    if (!made) {
        l->report->out_of_memory = 1;
        l->live = 0;
        return;
    }
    *made = *binding;
    l->bound[binding->name] = l->scope.count;
}

void vy_lower_leave_scope(vy_lowering *l, uint32_t mark) {
    while (l->scope.count > mark)
        l->bound[l->scope.items[--l->scope.count].name] = 0;
}

/* ---- unknown names ---- */

/* Suggestions are for readers: beyond the errors a list keeps, and beyond the nearest names, they only cost time. */
enum { SUGGEST_ERRORS = 100, SUGGEST_NAMES = 2000 };

static void offer_visible(vy_lowering *l, vy_suggestion *suggestion) {
    uint32_t offered = 0;
    for (uint32_t i = l->scope.count; i-- > 0 && offered < SUGGEST_NAMES; offered++)
        vy_suggestion_offer(suggestion, vy_lower_text(l, l->scope.items[i].name));
    offered = 0;
    for (const vy_ast_const *c = l->parser->file.consts; c && offered < SUGGEST_NAMES; c = c->next, offered++)
        vy_suggestion_offer(suggestion, vy_lower_text(l, c->name));
    char word[VY_KEYWORD_CAPACITY];
    for (unsigned i = 0; vy_keyword_at(VY_IDENTIFIER_BUILTIN, i, word); i++)
        vy_suggestion_offer(suggestion, word);
}

void vy_lower_unknown(vy_lowering *l, uint32_t name, vy_position at) {
    const char *text = vy_lower_text(l, name), *best = NULL;
    const vy_global *global = vy_lower_global(l, name);
    vy_suggestion suggestion;
    if (global && global->function) {
        vy_lower_error(l, VY_T028, at, VY_FIX("call it: `%s(…)`", text), "`%s` is a function, not a value", text);
        return;
    }
    vy_suggestion_start(&suggestion, text, strlen(text));
    if (l->report->errors < SUGGEST_ERRORS) {
        offer_visible(l, &suggestion);
        best = vy_suggestion_get(&suggestion);
    }
    vy_lower_error(l, VY_T025, at,
                   best ? VY_FIX("did you mean `%s`?", best) : vy_porting_hint_value(text, strlen(text)),
                   "`%s` is not declared", text);
}

const vy_binding *vy_lower_memory(vy_lowering *l, uint32_t name, vy_position at) {
    const vy_binding *binding = vy_lower_find(l, name);
    const char *text = vy_lower_text(l, name);
    if (binding && binding->kind == VY_BINDING_MEMORY)
        return binding;
    const vy_global *global = vy_lower_global(l, name);
    if (binding && (binding->kind == VY_BINDING_BROKEN || binding->type == VY_TYPE_BAD))
        l->live = 0; /* it was said where it is declared */
    else if (binding || (global && global->constant))
        vy_lower_error(l, VY_T028, at, VY_FIX("use `%s` without an index, or name a buffer or array", text),
                       "`%s` is a value, not a buffer or array", text);
    else
        vy_lower_unknown(l, name, at);
    return NULL;
}
