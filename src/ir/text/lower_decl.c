/* Lowering of names, constants, sizes, functions and programs.
 *
 * A name is resolved with one table lookup per use. Constants are evaluated in file order with vyre_op_evaluate, after
 * the -D options have replaced their values. Sizes (counts, grids, array lengths, workgroup sizes) are mathematical
 * integers without a type, so any integer literal or const is accepted. */
#include "base/string.h"
#include "ir/build/builder_internal.h"
#include "ir/eval.h"
#include "ir/porting_hint.h"
#include "ir/text/lower.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int vy_lower_start(vy_lowering *l, vy_parser *parser) {
    memset(l, 0, sizeof *l);
    l->parser = parser;
    l->functions = 1; /* more than lowered_in of any global */
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
        vy_lower_error(l, VY_T024, binding->at, VY_FIX("rename `%s`", text),
                       "duplicate name `%s` (first declared in line %u)", text,
                       vy_lower_find(l, binding->name)->at.line);
        return;
    }
    if (global && global->constant) {
        vy_lower_error(l, VY_T024, binding->at, VY_FIX("rename `%s`", text),
                       "duplicate name `%s` (a const, declared in line %u)", text, global->constant->at.line);
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

/* Bounds on the cost of suggestions: errors that have one, and names that are compared. */
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
                   "unknown name `%s`", text);
}

const vy_binding *vy_lower_memory(vy_lowering *l, uint32_t name, vy_position at) {
    const vy_binding *binding = vy_lower_find(l, name);
    const char *text = vy_lower_text(l, name);
    if (!binding)
        binding = vy_lower_table(l, name);
    if (binding && binding->kind == VY_BINDING_MEMORY)
        return binding;
    const vy_global *global = vy_lower_global(l, name);
    if (binding && (binding->kind == VY_BINDING_BROKEN || binding->type == VY_TYPE_BAD))
        l->live = 0; /* reported at the declaration */
    else if (binding || (global && global->constant))
        vy_lower_error(l, VY_T028, at, VY_FIX("use `%s` without an index, or name a buffer or array", text),
                       "`%s` is a value, not a buffer or array", text);
    else
        vy_lower_unknown(l, name, at);
    return NULL;
}

/* ---- constants ---- */

/* Recursion is bounded by the parser. */
uint64_t vy_lower_fold(const vy_ast_node *node) {
    if (node->is_literal)
        return node->bits;
    switch (node->kind) {
    case VY_AST_CAST:
        return node->axis ? vy_lower_fold(node->a)
                          : vyre_op_evaluate(VYRE_OP_CAST, node->type, node->a->type, vy_lower_fold(node->a), 0, 0);
    case VY_AST_BITCAST:
        return vyre_op_evaluate(VYRE_OP_BITCAST, node->type, node->a->type, vy_lower_fold(node->a), 0, 0);
    case VY_AST_OP: {
        /* vyre_op_evaluate expects the type T of the operands; for a select that is the type of the arms. */
        uint8_t operand = node->op == VYRE_OP_SELECT ? node->b->type : node->a->type;
        return vyre_op_evaluate(node->op, node->type, operand, vy_lower_fold(node->a),
                                node->b ? vy_lower_fold(node->b) : 0, node->c ? vy_lower_fold(node->c) : 0);
    }
    default:
        return 0;
    }
}

/* ---- -D ---- */

/* Parses the value of a define, which must be one literal. Returns NULL after an error, which is in *scratch. */
static vy_ast_node *parse_define(vy_lowering *l, const char *text, vy_diag_sink *scratch) {
    vy_parser parser;
    size_t size = strlen(text);
    if (size > VY_NUMBER_LIMIT)
        return NULL;
    vy_parser_run(&parser, "", 0, l->parser->arena, scratch);
    vy_parser_free(&parser);
    vy_lexer_start(&parser.lexer, text, (uint32_t)size, scratch);
    vy_parse_advance(&parser);
    vy_ast_node *node = parser.token.kind == VY_TOKEN_END ? NULL : vy_parse_expression(&parser);
    int is_literal =
        node && (node->kind == VY_AST_NUMBER || node->kind == VY_AST_BITS) && parser.token.kind == VY_TOKEN_END;
    vy_parser_free(&parser);
    l->report->out_of_memory |= scratch->out_of_memory;
    return is_literal && vy_diag_sink_is_clean(scratch) ? node : NULL;
}

static void define_value(vy_lowering *l, vy_ast_const *constant) {
    const char *name = vy_lower_text(l, constant->name), *type = vyre_type_name(constant->type);
    vy_position nowhere = {0, 0, 0};
    vy_diag_sink scratch = {0};
    vy_ast_node *node = parse_define(l, constant->define, &scratch);
    if (l->report->out_of_memory)
        return;
    if (!node) {
        vy_lower_error(l, VY_T050, nowhere, VY_FIX("write -D %.60s=VALUE with a literal of type %s", name, type),
                       "-D %s=%.60s: the value is not a literal", name, constant->define);
        return;
    }
    uint8_t given = node->kind == VY_AST_BITS ? node->type_name : node->number->type;
    uint64_t bits = node->kind == VY_AST_BITS ? node->value : 0;
    int fits = given == VYRE_TYPE_COUNT ? constant->type != VYRE_TYPE_BOOL : given == constant->type;
    if (fits && node->kind == VY_AST_NUMBER)
        fits = vy_number_bits(&scratch, node->number, node->negative, constant->type, nowhere, &bits);
    if (fits)
        constant->bits = bits;
    else if (scratch.errors)
        vy_lower_error(l, VY_T050, nowhere, scratch.first.fix, "-D %s=%.60s: %s", name, constant->define,
                       scratch.first.message + sizeof "T000"); /* without the code prefix */
    else
        vy_lower_error(l, VY_T050, nowhere, VY_FIX("write -D %.60s=VALUE with a literal of type %s", name, type),
                       "-D %s=%.60s: expected %s, found %s", name, constant->define, type,
                       given < VYRE_TYPE_COUNT ? vyre_type_name(given) : "a number");
}

static void attach_defines(vy_lowering *l, const vyre_define *defines, size_t count) {
    vy_position nowhere = {0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        const char *given = defines[i].name ? defines[i].name : "";
        vy_symbol name = vy_intern_pool_find(&l->parser->lexer.names, given, strlen(given));
        vy_global *global = name == VY_SYMBOL_INVALID ? NULL : vy_lower_global(l, name);
        if (global && global->constant) {
            global->constant->define = defines[i].value ? defines[i].value : "";
            continue;
        }
        vy_suggestion suggestion;
        vy_suggestion_start(&suggestion, given, strlen(given));
        for (const vy_ast_const *c = l->parser->file.consts; c; c = c->next)
            vy_suggestion_offer(&suggestion, vy_lower_text(l, c->name));
        const char *best = vy_suggestion_get(&suggestion);
        vy_lower_error(l, VY_T049, nowhere,
                       best                     ? VY_FIX("did you mean `-D %s=…`?", best)
                       : l->parser->file.consts ? NULL
                                                : "leave -D out: the file declares no const",
                       "-D %.100s: unknown const", given);
    }
}

/* ---- the consts of the file ---- */

static void evaluate(vy_lowering *l, vy_ast_const *constant) {
    uint8_t type = constant->type;
    if (constant->is_array) {
        vy_lower_table_evaluate(l, constant);
        if (constant->define)
            vy_lower_error(
                l, VY_T050, (vy_position){0, 0, 0},
                VY_FIX("leave -D %.60s out, and edit the elements in the file", vy_lower_text(l, constant->name)),
                "-D %s=%.60s: `%s` is a constant array", vy_lower_text(l, constant->name), constant->define,
                vy_lower_text(l, constant->name));
        return;
    }
    if (type < VYRE_TYPE_COUNT)
        type =
            vy_lower_expect(l, constant->value, type, "const", vy_lower_text(l, constant->name)) ? type : VY_TYPE_BAD;
    else if (type != VY_TYPE_BAD)
        type = vy_lower_initializer(l, constant->value, "const", constant->name);
    constant->type = type;
    constant->is_known = 1;
    if (type == VY_TYPE_BAD)
        return;
    constant->bits = vy_lower_fold(constant->value);
    if (constant->define)
        define_value(l, constant);
}

void vy_lower_consts(vy_lowering *l, const vyre_define *defines, size_t count) {
    attach_defines(l, defines, count);
    l->effect_ban = VY_EFFECT_BAN_CONST;
    for (vy_ast_const *constant = l->parser->file.consts; constant; constant = constant->next)
        evaluate(l, constant);
    l->effect_ban = VY_EFFECT_BAN_NONE;
}

/* ---- sizes ---- */

/* One walk for both kinds of sizes: a size that the host computes at dispatch becomes nodes of the draft, a constant
 * size becomes a value. */
typedef struct size_walk {
    vy_lowering *l;
    int is_constant;
    const char *what;
} size_walk;

static int refuse(size_walk *w, const vy_ast_node *node, const char *why) {
    if (node->kind != VY_AST_BAD)
        vy_lower_error(w->l, VY_T051, node->at, NULL, "%s %s", w->what, why);
    w->l->live = 0;
    return 0;
}

static int out_of_range(size_walk *w, const vy_ast_node *node, const char *why) {
    vy_lower_error(w->l, VY_T052, node->at, NULL, "%s %s", w->what, why);
    return 0;
}

static const struct {
    uint8_t op, kind;
} size_ops[] = {
    {VYRE_OP_ADD, VY_SIZE_ADD}, {VYRE_OP_SUB, VY_SIZE_SUB}, {VYRE_OP_MUL, VY_SIZE_MUL}, {VYRE_OP_DIV, VY_SIZE_DIV},
    {VYRE_OP_REM, VY_SIZE_REM}, {VYRE_OP_MIN, VY_SIZE_MIN}, {VYRE_OP_MAX, VY_SIZE_MAX},
};

/* The kind of an inner node and its operands; VY_SIZE_KIND_COUNT if it is not an inner node. */
static vy_size_kind inner_kind(const size_walk *w, const vy_ast_node *node, const vy_ast_node *operands[2]) {
    operands[0] = node->a;
    operands[1] = node->b;
    for (unsigned i = 0; node->kind == VY_AST_OP && i < sizeof size_ops / sizeof *size_ops; i++)
        if (size_ops[i].op == node->op)
            return size_ops[i].kind;
    if (node->kind != VY_AST_CALL || node->count != 2 || strcmp(vy_lower_text(w->l, node->name), "div_ceil") != 0)
        return VY_SIZE_KIND_COUNT;
    operands[1] = node->a->next;
    return VY_SIZE_DIV_CEIL;
}

static int combine(size_walk *w, const vy_ast_node *node, vy_size_kind kind, uint64_t a, uint64_t b, uint64_t *value) {
    switch (kind) {
    case VY_SIZE_ADD:
        return !__builtin_add_overflow(a, b, value) || out_of_range(w, node, "is above 2^64-1");
    case VY_SIZE_SUB:
        return !__builtin_sub_overflow(a, b, value) || out_of_range(w, node, "is negative");
    case VY_SIZE_MUL:
        return !__builtin_mul_overflow(a, b, value) || out_of_range(w, node, "is above 2^64-1");
    case VY_SIZE_MIN:
        *value = a < b ? a : b;
        return 1;
    case VY_SIZE_MAX:
        *value = a > b ? a : b;
        return 1;
    default:
        break;
    }
    if (b == 0)
        return out_of_range(w, node, "contains a division by zero");
    *value = kind == VY_SIZE_REM ? a % b : a / b + (kind == VY_SIZE_DIV_CEIL && a % b != 0);
    return 1;
}

static int number_value(size_walk *w, const vy_ast_node *node, uint64_t *value) {
    const vy_number *number = node->number;
    int is_integer = number->type == VYRE_TYPE_COUNT || (vyre_type_class(number->type) & VYRE_CLASS_INTEGER);
    if (number->is_float || !is_integer)
        return refuse(w, node, "must be an integer");
    if (node->negative && number->value)
        return out_of_range(w, node, "is negative");
    if (number->too_large)
        return out_of_range(w, node, "is above 2^64-1");
    *value = number->value;
    uint64_t bits;
    if (number->type == VYRE_TYPE_COUNT)
        return 1;
    if (vy_number_bits(w->l->report, number, node->negative, number->type, node->at, &bits))
        return 1;
    w->l->live = 0;
    return 0;
}

static int const_value(size_walk *w, const vy_ast_node *node, const vy_ast_const *constant, uint64_t *value) {
    unsigned cls = constant->is_known ? vyre_type_class(constant->type) : 0;
    if (cls == 0) { /* a const with errors */
        w->l->live = 0;
        return 0;
    }
    if (!(cls & VYRE_CLASS_INTEGER))
        return refuse(w, node, "must be an integer");
    uint64_t mask = vy_type_layouts[constant->type].mask;
    if (cls == VYRE_CLASS_SIGNED && (constant->bits & (mask ^ mask >> 1)))
        return out_of_range(w, node, "is negative");
    *value = constant->bits;
    return 1;
}

/* Stores the value of a literal or const in *value, or the index of a param or memory in *index. Returns the kind,
 * or VY_SIZE_KIND_COUNT after an error. */
static vy_size_kind leaf(size_walk *w, const vy_ast_node *node, uint64_t *value, uint32_t *index) {
    const vy_binding *binding = NULL;
    const vy_global *global = NULL;
    switch (node->kind) {
    case VY_AST_NUMBER:
        return number_value(w, node, value) ? VY_SIZE_LITERAL : VY_SIZE_KIND_COUNT;
    case VY_AST_NAME:
        global = vy_lower_global(w->l, node->name);
        binding = vy_lower_find(w->l, node->name);
        if (vy_lower_find_table(w->l, node->name)) {
            refuse(w, node, "cannot use a buffer or array as a value; write `len(…)` for its length");
            return VY_SIZE_KIND_COUNT;
        }
        if (global && global->constant)
            return const_value(w, node, global->constant, value) ? VY_SIZE_LITERAL : VY_SIZE_KIND_COUNT;
        if (!binding)
            vy_lower_unknown(w->l, node->name, node->at);
        else if (binding->kind == VY_BINDING_BROKEN)
            w->l->live = 0;
        else if (binding->kind == VY_BINDING_MEMORY)
            refuse(w, node, "cannot use a buffer or array as a value; write `len(…)` for its length");
        else if (w->is_constant)
            refuse(w, node, "must be constant, but a param is not known before dispatch");
        else {
            *index = binding->index;
            return VY_SIZE_PARAM;
        }
        return VY_SIZE_KIND_COUNT;
    case VY_AST_LEN:
        if (vy_lower_table_length(w->l, node->name, value))
            return VY_SIZE_LITERAL;
        binding = vy_lower_memory(w->l, node->name, node->at);
        if (!binding)
            return VY_SIZE_KIND_COUNT;
        *index = binding->index;
        if (w->is_constant)
            refuse(w, node, "must be constant, but a length is not known before dispatch");
        else if (binding->space != VY_SPACE_BUFFER)
            refuse(w, node, "can use lengths of buffers only");
        else
            return VY_SIZE_LEN;
        return VY_SIZE_KIND_COUNT;
    default:
        refuse(w, node, "contains an invalid operation");
        return VY_SIZE_KIND_COUNT;
    }
}

/* Returns 0 after an error; else *value (constant walks) or *index (a node of the draft). Recursion is bounded by the
 * parser. */
static int walk(size_walk *w, const vy_ast_node *node, uint64_t *value, uint32_t *index) {
    const vy_ast_node *operands[2];
    *value = 0;
    *index = VY_NONE;
    if (!node) {
        w->l->live = 0;
        return 0;
    }
    vy_size_kind kind = inner_kind(w, node, operands);
    if (kind == VY_SIZE_KIND_COUNT) {
        uint32_t of = 0;
        kind = leaf(w, node, value, &of);
        if (kind == VY_SIZE_KIND_COUNT)
            return 0;
        if (!w->is_constant && w->l->live)
            *index = vy_irb_size(&w->l->draft, kind, of, 0, *value);
        return 1;
    }
    uint64_t a, b;
    uint32_t x, y;
    int is_good = walk(w, operands[0], &a, &x);
    is_good &= walk(w, operands[1], &b, &y);
    if (!is_good)
        return 0;
    if (w->is_constant)
        return combine(w, node, kind, a, b, value);
    if (w->l->live)
        *index = vy_irb_size(&w->l->draft, kind, x, y, 0);
    return 1;
}

static uint32_t lower_size(vy_lowering *l, const vy_ast_node *node) {
    size_walk w = {l, 0, "a size"};
    uint64_t value;
    uint32_t index;
    return walk(&w, node, &value, &index) ? index : VY_NONE;
}

int vy_lower_constant(vy_lowering *l, const vy_ast_node *node, uint64_t limit, const char *what, uint64_t *value) {
    size_walk w = {l, 1, what};
    uint32_t index;
    if (!walk(&w, node, value, &index))
        return 0;
    if (*value <= limit)
        return 1;
    vy_lower_error(l, VY_T052, node->at, VY_FIX("use at most %" PRIu64, limit),
                   "%s (%" PRIu64 ") exceeds the limit (%" PRIu64 ")", what, *value, limit);
    return 0;
}

/* ---- params, buffers, arrays ---- */

static void declare_as(vy_lowering *l, const vy_ast_decl *decl, vy_binding_kind kind) {
    vy_binding binding = {.name = decl->name,
                          .kind = (uint8_t)kind,
                          .type = decl->type,
                          .space = decl->space,
                          .index = decl->index,
                          .at = decl->at};
    vy_lower_declare(l, &binding);
}

static void declare_memory_or_param(vy_lowering *l, const vy_ast_decl *decl) {
    declare_as(l, decl, decl->is_memory ? VY_BINDING_MEMORY : VY_BINDING_VARIABLE);
}

static void declare_broken(vy_lowering *l, const vy_ast_function *func) {
    for (const vy_ast_decl *decl = func->broken.first; decl; decl = decl->next)
        if (!vy_lower_find(l, decl->name))
            declare_as(l, decl, VY_BINDING_BROKEN);
}

static void add_param(vy_lowering *l, vy_ast_decl *decl) {
    decl->index = VY_NONE;
    if (l->live) {
        vy_symbol name = vy_lower_name(l, decl->name);
        l->draft.position = decl->at;
        decl->index = decl->is_memory
                          ? vy_irb_memory_param(&l->draft, name, decl->space, decl->type, decl->access, VY_NONE)
                          : vy_irb_scalar_param(&l->draft, name, decl->type);
    }
    declare_memory_or_param(l, decl);
}

static void add_arrays(vy_lowering *l, vy_ast_function *func) {
    for (vy_ast_decl *decl = func->arrays.first; decl; decl = decl->next) {
        uint64_t elements = 0;
        decl->index = VY_NONE;
        if (decl->constant) {
            vy_lower_table_evaluate(l, decl->constant);
            decl->type = decl->constant->type;
            decl->index = vy_lower_table_memory(l, decl->constant);
            declare_as(l, decl, decl->constant->bytes ? VY_BINDING_MEMORY : VY_BINDING_BROKEN);
            continue;
        }
        vy_lower_constant(l, decl->size, UINT32_MAX, "the length of an array", &elements);
        if (l->live) {
            vy_symbol name = vy_lower_name(l, decl->name);
            l->draft.position = decl->at;
            decl->index = vy_irb_array(&l->draft, name, decl->space, decl->type, (uint32_t)elements);
        }
        declare_memory_or_param(l, decl);
    }
}

/* ---- functions ---- */

static void lower_function(vy_lowering *l, vy_ast_function *func) {
    l->func = func;
    l->next_temporary = 0;
    l->functions++;
    l->draft.position = func->at;
    if (l->live)
        vy_irb_begin_function(&l->draft, vy_lower_name(l, func->name));
    for (vy_ast_decl *decl = func->params.first; decl; decl = decl->next)
        add_param(l, decl);
    declare_broken(l, func);
    for (const vy_ast_declarator *result = func->results; result && l->live; result = result->next)
        vy_irb_result(&l->draft, vy_lower_name(l, result->name), result->type);
    add_arrays(l, func);
    vy_lower_statements(l, func->body);
    vy_lower_leave_scope(l, 0);
    if (l->live)
        vy_irb_end_function(&l->draft);
}

/* ---- finishing ---- */

static int start(vy_lowering *l, const char *name) {
    vyre_error error;
    if (vy_irb_start(&l->draft, name, &error) != VYRE_OK) {
        l->report->out_of_memory = 1;
        return 0;
    }
    l->draft.keep_positions = 1;
    l->draft.skip_verify = l->skip_verify;
    l->live = 1;
    return 1;
}

/* Validates the draft and adds the findings of the verifier to the report. */
static void finish(vy_lowering *l, size_t known, vy_source *source, vyre_program **out) {
    if (!l->live || l->report->out_of_memory) {
        vy_irb_discard(&l->draft);
        return;
    }
    vyre_error error = VYRE_ERROR_INIT;
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_status status = vy_irb_finish(&l->draft, source, found, out, &error);
    error.code = status;
    vy_diag_sink_merge(l->report, found, known, &error);
    vyre_diagnostics_free(found);
}

void vy_lower_library(vy_lowering *l, vyre_level level, size_t known, vy_source *source, vyre_program **out) {
    uint32_t index = 0;
    if (!l->parser->file.functions || !start(l, ""))
        return;
    l->draft.program->kind = VYRE_PROGRAM_LIBRARY;
    l->draft.program->level = (uint8_t)level;
    for (vy_ast_function *func = l->parser->file.functions; func; func = func->next)
        func->index = index++;
    int live = 1;
    for (vy_ast_function *func = l->parser->file.functions; func; func = func->next) {
        /* A function with errors makes the library invalid, but the other functions are still checked. */
        size_t errors = l->report->errors;
        l->live = live && !func->is_bad;
        lower_function(l, func);
        func->is_bad |= l->report->errors != errors;
        live &= l->live;
    }
    l->live = live;
    finish(l, known, source, out);
}

/* ---- programs ---- */

static void add_reachable(vy_lowering *l, const vy_ast_callee *calls) {
    for (; calls; calls = calls->next) {
        const vy_global *global = vy_lower_global(l, calls->name);
        if (!global || !global->function || global->function->reached_by == l->stamp)
            continue;
        global->function->reached_by = l->stamp;
        vy_ast_function **slot = VY_PUSH(&l->reached);
        if (!slot) {
            l->report->out_of_memory = 1;
            return;
        }
        *slot = global->function;
    }
}

static int by_ordinal(const void *a, const void *b) {
    uint32_t x = (*(vy_ast_function *const *)a)->ordinal, y = (*(vy_ast_function *const *)b)->ordinal;
    return x < y ? -1 : x > y;
}

/* The functions that a program calls, directly or indirectly, in file order. */
static void find_reachable(vy_lowering *l, const vy_ast_function *program) {
    l->stamp++;
    l->reached.count = 0;
    add_reachable(l, program->calls);
    for (uint32_t i = 0; i < l->reached.count; i++)
        add_reachable(l, l->reached.items[i]->calls);
    if (l->reached.count)
        qsort(l->reached.items, l->reached.count, sizeof *l->reached.items, by_ordinal);
    for (uint32_t i = 0; i < l->reached.count; i++)
        l->reached.items[i]->index = i;
}

/* Params and buffers are declared before any count is lowered, because a count can use the length of a later buffer. */
static void add_bindings(vy_lowering *l, vy_ast_function *program) {
    uint32_t first_memory = l->draft.program->memories.count, ordinal = 0;
    for (vy_ast_decl *decl = program->params.first; decl; decl = decl->next)
        add_param(l, decl);
    for (vy_ast_decl *decl = program->buffers.first; decl; decl = decl->next) {
        decl->index = first_memory + ordinal++;
        declare_memory_or_param(l, decl);
    }
    for (vy_ast_decl *decl = program->buffers.first; decl; decl = decl->next) {
        uint32_t size = decl->size ? lower_size(l, decl->size) : VY_NONE;
        vy_symbol name = vy_lower_name(l, decl->name);
        l->draft.position = decl->at;
        if (l->live)
            vy_irb_memory_param(&l->draft, name, VY_SPACE_BUFFER, decl->type, decl->access, size);
    }
}

static void set_workgroup(vy_lowering *l, const vy_ast_function *program) {
    for (uint32_t i = 0; i < program->workgroup_count; i++) {
        uint64_t size = 1;
        vy_lower_constant(l, program->workgroup[i], UINT32_MAX, "a workgroup size", &size);
        if (l->live)
            l->draft.program->workgroup[i] = (uint32_t)size;
    }
}

static void set_grid(vy_lowering *l, const vy_ast_function *program) {
    vy_grid grid = {program->grid_kind, VY_NONE, 0, {VY_NONE, VY_NONE, VY_NONE}};
    if (program->grid_kind == VYRE_GRID_OVER || program->grid_kind == VYRE_GRID_INDIRECT) {
        const vy_binding *memory =
            program->grid_name ? vy_lower_memory(l, program->grid_name, program->grid_name_at) : NULL;
        grid.memory = memory ? memory->index : VY_NONE;
    }
    if (program->grid_kind == VYRE_GRID_INDIRECT && program->grid_count) {
        uint64_t offset = 0;
        vy_lower_constant(l, program->grid[0], UINT32_MAX, "the offset of an indirect grid", &offset);
        grid.offset = (uint32_t)offset;
    }
    if (program->grid_kind == VYRE_GRID_GROUPS || program->grid_kind == VYRE_GRID_ELEMENTS)
        for (uint32_t i = 0; i < program->grid_count; i++)
            grid.sizes[i] = lower_size(l, program->grid[i]);
    if (l->live)
        l->draft.program->grid = grid;
}

static void lower_entry(vy_lowering *l, vy_ast_function *program) {
    l->func = program;
    l->next_temporary = 0;
    l->functions++;
    l->draft.position = program->at;
    if (l->live)
        vy_irb_begin_entry(&l->draft);
    add_bindings(l, program);
    declare_broken(l, program);
    set_workgroup(l, program);
    add_arrays(l, program);
    set_grid(l, program);
    vy_lower_statements(l, program->body);
    vy_lower_leave_scope(l, 0);
    if (l->live)
        vy_irb_end_function(&l->draft);
}

void vy_lower_program(vy_lowering *l, vy_ast_function *program, size_t known, vy_source *source, vyre_program **out) {
    if (!start(l, vy_lower_text(l, program->name)))
        return;
    l->draft.program->numerics = program->numerics;
    l->draft.program->level = program->level;
    l->live = !program->is_bad;
    find_reachable(l, program);
    for (uint32_t i = 0; i < l->reached.count; i++)
        l->live &= !l->reached.items[i]->is_bad;
    /* Functions with errors have been reported with the library; the statements of the program are still checked. */
    for (uint32_t i = 0; i < l->reached.count && l->live; i++)
        lower_function(l, l->reached.items[i]);
    lower_entry(l, program);
    finish(l, known, source, out);
}
