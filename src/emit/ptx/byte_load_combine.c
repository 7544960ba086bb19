/* Byte load combining: the loads `data[at]`, `data[at + 1]` and so on in the body of a loop, each with a bounds check,
 * become loads of words under one check.
 *
 * If neighbouring invocations load from distant addresses, every load costs time for each of them. Words are loaded at
 * aligned addresses, so there is one more of them, and two are funnel-shifted into one.
 *
 * The check is at <= len(data) - 20, with len(data) >= 20: so at + 19 does not wrap, and all loaded bytes are in
 * bounds, except for up to three bytes before `at`, which are in bounds if the buffer starts at a word boundary.
 *
 * If the check fails, the original body is executed. The results are the same, because no invocation writes the buffer
 * in the dispatch. */
#include "emit/ptx/emitter.h"

#include "analysis/affine_index.h"
#include "ir/walk.h"

#include <inttypes.h>

enum { LEAST = 4, REACH = 60, MOST_STATEMENTS = 96 };

/* The body of a loop. */
typedef struct body {
    const vyre_program *program;
    const vy_def_use *uses;
    uint32_t first, end;
    vy_ptx_byte_loads *near;
} body;

/* The value of a variable at the start of the body, plus an offset. */
typedef struct sum {
    uint32_t root, offset;
} sum;

static const vy_expr *expr_at(const body *b, uint32_t expr) {
    return &b->program->exprs.items[expr];
}

static const vy_stmt *stmt_at(const body *b, uint32_t stmt) {
    return &b->program->stmts.items[stmt];
}

/* The statement of the body that declares a variable; VY_NONE. */
static uint32_t declaration_of(const body *b, uint32_t variable) {
    uint32_t at = b->uses->declarations[variable];
    return at != VY_NONE && at >= b->first ? at : VY_NONE;
}

/* Decomposes an expression of statement `at` into a sum; returns 0 if it is not one. Each step leads to an earlier
 * statement or to an operand. */
static int sum_of(const body *b, uint32_t expr, uint32_t at, sum *out) {
    vy_affine_index index = {expr, 0};
    for (;;) {
        const vy_expr *x = expr_at(b, index.base);
        uint32_t before = index.offset;
        if (x->type != VYRE_TYPE_U32 || before >= REACH)
            return 0;
        if (vy_affine_index_peel(b->program, &index)) {
            if (index.offset - before >= REACH)
                return 0;
            continue;
        }
        if (x->kind != VY_EXPR_VARIABLE)
            return 0;
        uint32_t declared = declaration_of(b, x->a);
        if (declared == VY_NONE) {
            *out = (sum){x->a, index.offset};
            return vy_next_definition(b->uses, x->a, b->first) >= at;
        }
        if (declared >= at || stmt_at(b, declared)->kind != VY_STMT_LET)
            return 0;
        index.base = stmt_at(b, declared)->a;
        at = declared;
    }
}

/* Whether a condition of statement `at` states that the sum is below the length of the memory. */
static int is_bounds_check_of(const body *b, uint32_t condition, uint32_t at, uint32_t memory, const sum *index) {
    const vy_expr *x = expr_at(b, condition);
    sum tested;
    if (x->kind == VY_EXPR_VARIABLE) {
        uint32_t declared = declaration_of(b, x->a);
        if (declared == VY_NONE || declared >= at || stmt_at(b, declared)->kind != VY_STMT_LET)
            return 0;
        x = expr_at(b, stmt_at(b, declared)->a);
        at = declared;
    }
    if (x->kind != VY_EXPR_OP || x->op != VYRE_OP_LT)
        return 0;
    const vy_expr *length = expr_at(b, x->b);
    return length->kind == VY_EXPR_LEN && length->a == memory && sum_of(b, x->a, at, &tested) &&
           tested.root == index->root && tested.offset == index->offset;
}

/* The first load with a bounds check determines the memory and the variable. */
static void scan_load(const body *b, uint32_t expr, uint32_t at) {
    const vy_expr *x = expr_at(b, expr);
    vy_ptx_byte_loads *near = b->near;
    sum index;
    const vy_memory *m = &b->program->memories.items[x->a];
    int is_constant = m->access == VYRE_ACCESS_READ || m->access == VYRE_ACCESS_UNIFORM;
    if (x->op != VY_BOUNDS_UNCHECKED || x->c == VY_NONE || m->space != VY_SPACE_BUFFER || !is_constant ||
        x->type != VYRE_TYPE_U8 || near->count == VY_PTX_BYTE_LOADS || !sum_of(b, x->b, at, &index) ||
        index.offset >= REACH)
        return;
    if (near->count && (near->variable != index.root || near->memory != x->a))
        return;
    if (!is_bounds_check_of(b, x->c, at, x->a, &index))
        return;
    near->variable = index.root;
    near->memory = x->a;
    near->reach = near->reach > index.offset + 1 ? near->reach : index.offset + 1;
    near->loads[near->count] = expr;
    near->offsets[near->count++] = index.offset;
}

static void scan_expr(const body *b, uint32_t expr, uint32_t at) {
    VY_EACH_EXPR (b->program, i, expr)
        if (expr_at(b, i)->kind == VY_EXPR_LOAD)
            scan_load(b, i, at);
}

static int is_plain(uint8_t kind) {
    return kind == VY_STMT_LET || kind == VY_STMT_VAR || kind == VY_STMT_ASSIGN || kind == VY_STMT_STORE ||
           kind == VY_STMT_IF || kind == VY_STMT_REGION || kind == VY_STMT_BREAK || kind == VY_STMT_CONTINUE;
}

int vy_ptx_find_byte_loads(vy_ptx *e, uint32_t first, uint32_t end, vy_ptx_byte_loads *near) {
    body b = {e->program, &e->uses, first, end, near};
    near->count = near->reach = 0;
    if (end - first > MOST_STATEMENTS || !vy_ptx_need_uses(e, VY_DEF_USE_DECLARATIONS | VY_DEF_USE_DEFINITIONS))
        return 0;
    for (uint32_t i = first; i < end; i++) {
        const vy_stmt *s = stmt_at(&b, i);
        if (!is_plain(s->kind))
            return 0;
        for (int k = 0; k < 3; k++)
            scan_expr(&b, VY_STMT_OPERANDS(s)[k], i);
    }
    return near->count >= LEAST;
}

/* The number of words: those of the range, and one into which the last may extend. */
static uint32_t word_count(const vy_ptx_byte_loads *near) {
    return (near->reach + 3) / 4 + 1;
}

void vy_ptx_byte_loads_limit(vy_ptx *e, vy_ptx_byte_loads *near) {
    uint32_t buffer = near->memory - e->body->first_memory, bytes = 4 * word_count(near);
    vy_ptx_value count = vy_ptx_count(e, buffer), low = vy_ptx_cast(e, VYRE_TYPE_U32, vy_ptx_buffer(e, buffer));
    vy_ptx_value behind = vy_ptx_new(e, VYRE_TYPE_U32), starts = vy_ptx_new(e, VYRE_TYPE_BOOL);
    vy_ptx_value is_long = vy_ptx_new(e, VYRE_TYPE_BOOL);
    near->limit = vy_ptx_new(e, VYRE_TYPE_U32);
    vy_ptx_write(e, "sub.u32 %s, %s, %" PRIu32, vy_ptx_name(e, near->limit), vy_ptx_name(e, count), bytes);
    vy_ptx_write(e, "setp.ge.u32 %s, %s, %" PRIu32, vy_ptx_name(e, is_long), vy_ptx_name(e, count), bytes);
    vy_ptx_write(e, "and.b32 %s, %s, 3", vy_ptx_name(e, behind), vy_ptx_name(e, low));
    vy_ptx_write(e, "setp.eq.u32 %s, %s, 0", vy_ptx_name(e, starts), vy_ptx_name(e, behind));
    near->is_usual = vy_ptx_both(e, is_long, starts);
}

/* Loads the words from the variable's byte on. */
static void load_words(vy_ptx *e, vy_ptx_byte_loads *near, vy_ptx_value root) {
    vy_ptx_value start = vy_ptx_buffer(e, near->memory - e->body->first_memory), at = vy_ptx_new(e, VYRE_TYPE_U64);
    vy_ptx_value first = vy_ptx_new(e, VYRE_TYPE_U64), bits = vy_ptx_new(e, VYRE_TYPE_U32),
                 words[VY_PTX_BYTE_LOADS / 4 + 1];
    vy_ptx_write(e, "mad.wide.u32 %s, %s, 1, %s", vy_ptx_name(e, at), vy_ptx_register(e, root), vy_ptx_name(e, start));
    vy_ptx_write(e, "and.b64 %s, %s, -4", vy_ptx_name(e, first), vy_ptx_name(e, at));
    vy_ptx_write(e, "cvt.u32.u64 %s, %s", vy_ptx_name(e, bits), vy_ptx_name(e, at));
    vy_ptx_write(e, "shl.b32 %s, %s, 3", vy_ptx_name(e, bits), vy_ptx_name(e, bits)); /* modulo 32 */
    for (uint32_t i = 0; i < word_count(near); i++) {
        words[i] = vy_ptx_new(e, VYRE_TYPE_U32);
        vy_ptx_write(e, "ld.global.nc.b32 %s, [%s+%" PRIu32 "]", vy_ptx_name(e, words[i]), vy_ptx_name(e, first),
                     4 * i);
    }
    for (uint32_t i = 0; i + 1 < word_count(near); i++) {
        near->words[i] = vy_ptx_new(e, VYRE_TYPE_U32);
        vy_ptx_write(e, "shf.r.wrap.b32 %s, %s, %s, %s", vy_ptx_name(e, near->words[i]), vy_ptx_name(e, words[i]),
                     vy_ptx_name(e, words[i + 1]), vy_ptx_name(e, bits));
    }
}

vy_ptx_value vy_ptx_combined_byte(vy_ptx *e, uint32_t offset) {
    vy_ptx_value word = e->near->words[offset / 4], d = vy_ptx_new(e, VYRE_TYPE_U8);
    vy_ptx_value guard = vy_ptx_predicate(e, e->guard);
    if (!guard.is_literal)
        vy_ptx_write(e, "mov.b32 %s, 0", vy_ptx_name(e, d));
    vy_ptx_permute(e, guard, d, word, vy_ptx_literal(VYRE_TYPE_U32, 0), 0x4440 + offset % 4);
    if (guard.is_literal)
        d.part = vy_ptx_new_subword(e, (vy_ptx_subword){.bytes = 1,
                                                        .element = (uint8_t)(offset % 4),
                                                        .op = VYRE_OP_COUNT,
                                                        .is_all = 1,
                                                        .words = {word.name, 0}});
    return d;
}

void vy_ptx_write_combined_body(vy_ptx *e, vy_ptx_byte_loads *near, uint32_t first, uint32_t end) {
    uint32_t apart = vy_ptx_label(e), behind = vy_ptx_label(e);
    vy_ptx_value root = vy_ptx_variable(e, near->variable), inside = vy_ptx_new(e, VYRE_TYPE_BOOL);
    const char *at = vy_ptx_register(e, root);
    vy_ptx_write(e, "setp.le.u32 %s, %s, %s", vy_ptx_name(e, inside), at, vy_ptx_name(e, near->limit));
    vy_ptx_jump_if(e, vy_ptx_both(e, inside, near->is_usual), 0, apart);
    load_words(e, near, root);
    const vy_ptx_byte_loads *before = e->near;
    e->near = near;
    vy_ptx_statements(e, first, end);
    e->near = before;
    vy_ptx_write(e, "bra $L%" PRIu32, behind);
    vy_ptx_bind_label(e, apart);
    vy_ptx_statements(e, first, end);
    vy_ptx_bind_label(e, behind);
}
