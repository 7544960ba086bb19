/* Memory accesses in PTX: loads, stores, atomics, and elements of words. Invariant: indices are in bounds, by proof
 * or by the condition of the access. */
#include "emit/ptx/emitter.h"

#include "ir/eval.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- elements of words ----
 *
 * Elements that were extracted from a word and are combined into a word again are recognised by the origin that is
 * recorded with each value. */

vy_ptx_subword vy_ptx_subword_of(const vy_ptx *e, vy_ptx_value value) {
    return value.part ? e->parts.items[value.part - 1] : (vy_ptx_subword){0};
}

uint32_t vy_ptx_new_subword(vy_ptx *e, vy_ptx_subword part) {
    vy_ptx_subword *slot = VY_PUSH(&e->parts);
    if (!slot) {
        e->status = VYRE_NO_MEMORY;
        return 0;
    }
    *slot = part;
    return e->parts.count;
}

/* Whether both are the same element of a word each. */
static int same_subword(vy_ptx_subword a, vy_ptx_subword b) {
    return a.bytes && a.bytes == b.bytes && a.element == b.element && a.op == VYRE_OP_COUNT && b.op == VYRE_OP_COUNT;
}

/* The mask of a byte that is shifted to its position in the word. The first byte is in position. */
static uint8_t places_of(vy_ptx_subword p, uint64_t shift) {
    int is_byte = p.bytes == 1 && p.is_all && p.op == VYRE_OP_COUNT;
    return p.places && !shift ? p.places : is_byte && p.element * 8u == shift ? (uint8_t)(1u << p.element) : 0;
}

static vy_ptx_value shifted(vy_ptx *e, vy_ptx_subword part, uint64_t amount, vy_ptx_value made) {
    uint8_t places = amount ? places_of(part, amount) : 0;
    if (places)
        made.part = vy_ptx_new_subword(e, (vy_ptx_subword){.places = places, .words = {part.words[0], 0}});
    return made;
}

/* All bytes of a word, combined again, are the word. */
vy_ptx_value vy_ptx_track_subword(vy_ptx *e, const vy_expr *x, const vy_ptx_value *args, vy_ptx_value made) {
    const vy_ptx_subword a = vy_ptx_subword_of(e, args[0]), b = vy_ptx_subword_of(e, args[1]);
    uint8_t first = places_of(a, 0), second = places_of(b, 0);
    if (x->op == VYRE_OP_SHL && args[1].is_literal)
        return shifted(e, a, args[1].bits, made);
    if (x->op != VYRE_OP_XOR && x->op != VYRE_OP_AND && x->op != VYRE_OP_OR)
        return made;
    if (x->type == VYRE_TYPE_U32 && x->op == VYRE_OP_OR && first && second && !(first & second) &&
        a.words[0] == b.words[0]) {
        if ((first | second) == 15)
            return vy_ptx_named(VYRE_TYPE_U32, a.words[0]);
        made.part = vy_ptx_new_subword(e, (vy_ptx_subword){.places = first | second, .words = {a.words[0], 0}});
    } else if (same_subword(a, b)) {
        made.part = vy_ptx_new_subword(
            e,
            (vy_ptx_subword){.bytes = a.bytes, .element = a.element, .op = x->op, .words = {a.words[0], b.words[0]}});
    }
    return made;
}

/* ---- loads and stores ----
 *
 * Indices are proven in bounds: an address is the start plus index * size, computed in 64 bits (32 in shared memory,
 * whose addresses have 32).
 *
 * Buffers that no invocation writes in a dispatch are read through the read-only cache. Narrow elements that are
 * accessed together are loaded as words, and prmt extracts them: its selectors 0 to 3 denote bytes of the first
 * operand, 4 to 7 bytes of the second; adding 8 replicates the sign of that byte eight times. */

static const vy_memory *memory_of(const vy_ptx *e, uint32_t memory) {
    return vy_memory_at(e->program, memory);
}

static uint32_t size_of(vyre_type type) {
    return vy_type_layouts[type].size;
}

/* global, shared, local; constant arrays have no atomics */
static const char *state_space(const vy_ptx *e, uint32_t memory) {
    static const char *const names[VY_SPACE_COUNT] = {"global", "shared", "local", "global"};
    return names[memory_of(e, memory)->space];
}

/* A buffer that no invocation writes in a dispatch. For other memory ptxas may know the stored values. */
static int is_constant(const vy_ptx *e, uint32_t memory) {
    const vy_memory *m = memory_of(e, memory);
    return m->space == VY_SPACE_BUFFER && (m->access == VYRE_ACCESS_READ || m->access == VYRE_ACCESS_UNIFORM);
}

static int is_array(const vy_memory *m) {
    return m->space != VY_SPACE_BUFFER;
}

/* The type of an element in memory, as a packed word (base/string.h). */
static uint64_t element_of(vyre_type type) {
    static const char names[VYRE_TYPE_COUNT][8] = {
        [VYRE_TYPE_I8] = "s8",   [VYRE_TYPE_U8] = "u8",    [VYRE_TYPE_I16] = "s16", [VYRE_TYPE_U16] = "u16",
        [VYRE_TYPE_F16] = "b16", [VYRE_TYPE_BF16] = "b16", [VYRE_TYPE_I32] = "b32", [VYRE_TYPE_U32] = "b32",
        [VYRE_TYPE_F32] = "b32", [VYRE_TYPE_I64] = "b64",  [VYRE_TYPE_U64] = "b64", [VYRE_TYPE_F64] = "b64"};
    uint64_t word;
    memcpy(&word, names[type], sizeof word);
    return word;
}

/* ---- addresses ---- */

/* A register and an offset. */
typedef struct place {
    vy_ptx_value base;
    uint64_t offset;
} place;

static char *put_place(char *at, place p) {
    at = vy_ptx_put(vy_write_text(at, "["), p.base);
    if (p.offset)
        at = vy_write_decimal(vy_write_text(at, "+"), p.offset);
    return vy_write_text(at, "]");
}

static place place_of(vy_ptx *e, uint32_t memory, uint32_t index) {
    const vy_memory *m = memory_of(e, memory);
    uint32_t size = size_of((vyre_type)m->type);
    int is_shared = m->space == VY_SPACE_WORKGROUP;
    uint32_t own = memory - e->body->first_memory;
    vy_ptx_value base = m->space == VY_SPACE_CONSTANT ? vy_ptx_tables(e, e->in_bank[own])
                        : is_array(m)                 ? vy_ptx_arrays(e, (vy_space)m->space)
                                                      : vy_ptx_buffer(e, own);
    uint64_t offset = is_array(m) ? e->array_offsets[own] : 0;
    vy_ptx_value i = vy_ptx_expr(e, index);
    if (i.is_literal && offset + i.bits * size <= INT32_MAX) {
        offset += i.bits * size;
    } else {
        i = vy_ptx_in_register(e, i);
        vy_ptx_value sum = vy_ptx_new(e, is_shared ? VYRE_TYPE_U32 : VYRE_TYPE_U64);
        vy_ptx_instruct(e, is_shared ? vy_pack_text("mad.lo") : vy_pack_text("mad.wide"), "u32",
                        (const vy_ptx_value[]){sum, i, vy_ptx_literal(VYRE_TYPE_U32, size), base}, 4);
        base = sum;
    }
    return (place){base, offset};
}

static vy_ptx_address address_at(vy_ptx *e, uint32_t memory, uint32_t index) {
    vy_ptx_address made;
    *put_place(made.text, place_of(e, memory, index)) = 0;
    return made;
}

/* ---- one element ---- */

/* "ld.global.": 16 bytes, copied by one store. */
typedef struct start {
    char text[15];
    uint8_t length;
} start;
#define START(text)                                                                                                    \
    { text, sizeof(text) - 1 }

/* "ld.global.b32 ": for one element, or for units. */
static char *put_access(char *at, const start *name, uint64_t element) {
    memcpy(at, name, sizeof *name);
    return vy_write_text(vy_write_packed(at + name->length, element), " ");
}

/* Read-only buffers and tables have a separate cache. */
static char *put_load(const vy_ptx *e, char *at, uint32_t memory, uint64_t element) {
    static const start names[VY_SPACE_COUNT] = {START("ld.global."), START("ld.shared."), START("ld.local."),
                                                START("ld.global.nc.")};
    static const start constant = START("ld.global.nc."), bank = START("ld.const.");
    if (memory_of(e, memory)->space == VY_SPACE_CONSTANT && e->in_bank[memory - e->body->first_memory])
        return put_access(at, &bank, element);
    return put_access(at, is_constant(e, memory) ? &constant : &names[memory_of(e, memory)->space], element);
}

static char *put_store(const vy_ptx *e, char *at, uint32_t memory, uint64_t element) {
    static const start names[VY_SPACE_CONSTANT] = {START("st.global."), START("st.shared."), START("st.local.")};
    return put_access(at, &names[memory_of(e, memory)->space], element);
}

static vy_ptx_value load_from(vy_ptx *e, const vy_expr *x, place at, vy_ptx_value condition) {
    vyre_type type = (vyre_type)x->type;
    vy_ptx_value d = vy_ptx_new(e, type);
    vy_ptx_value guard = vy_ptx_predicate(e, vy_ptx_both(e, e->guard, condition));
    if (!guard.is_literal)
        VY_PTX_INSTRUCT(e, "mov", vy_ptx_bits(type), d, vy_ptx_literal(VYRE_TYPE_U32, 0));
    char *text = put_load(e, vy_ptx_line_predicated(e, guard), x->a, element_of(type));
    text = vy_write_text(vy_ptx_put(text, d), ", ");
    vy_ptx_end_line(e, put_place(text, at));
    d.is_opaque = is_constant(e, x->a);
    d.maybe_negated = memory_of(e, x->a)->space == VY_SPACE_PRIVATE; /* because ptxas may keep it in registers */
    return d;
}

vy_ptx_value vy_ptx_load(vy_ptx *e, uint32_t expr) {
    const vy_expr *x = vy_expr_at(e->program, expr);
    vyre_type type = (vyre_type)x->type;
    if (x->op != VY_BOUNDS_UNCHECKED) {
        vy_ptx_refuse(e, "a guarded load");
        return vy_ptx_literal(type, 0);
    }
    if (expr == e->ahead)
        return e->given;
    for (uint32_t i = 0; e->near && i < e->near->count; i++)
        if (e->near->loads[i] == expr)
            return vy_ptx_combined_byte(e, e->near->offsets[i]);
    return vy_ptx_load_if(e, expr, x->c == VY_NONE ? vy_ptx_literal(VYRE_TYPE_BOOL, 1) : vy_ptx_expr(e, x->c));
}

vy_ptx_value vy_ptx_load_if(vy_ptx *e, uint32_t expr, vy_ptx_value condition) {
    const vy_expr *x = vy_expr_at(e->program, expr);
    return load_from(e, x, place_of(e, x->a, x->b), condition);
}

void vy_ptx_store(vy_ptx *e, const vy_stmt *s) {
    vyre_type type = (vyre_type)memory_of(e, s->memory)->type;
    if (s->bounds_check != VY_BOUNDS_UNCHECKED) {
        vy_ptx_refuse(e, "a guarded store");
        return;
    }
    place at = place_of(e, s->memory, s->a);
    vy_ptx_value value = vy_ptx_in_register(e, vy_ptx_expr(e, s->b));
    char *text = put_store(e, vy_ptx_line_predicated(e, vy_ptx_predicate(e, e->guard)), s->memory, element_of(type));
    text = vy_write_text(put_place(text, at), ", ");
    vy_ptx_end_line(e, vy_ptx_put(text, value));
}

/* ---- several elements ----
 *
 * They are accessed as units: elements of 32 or 64 bits, or words of 32 bits (or one of 16) with narrow elements. */

typedef struct units {
    uint32_t count;
    uint64_t name;  /* "v4.b32", as a packed word (base/string.h) */
    vyre_type type; /* of the register of each unit */
    vy_ptx_value values[VY_LIMIT_WIDE];
} units;

static units units_of(vyre_type type, uint32_t n) {
    uint32_t size = size_of(type), bytes = n * size;
    if (size == 8)
        return (units){.count = n, .name = vy_pack_text("v2.b64"), .type = type};
    if (bytes == 2)
        return (units){.count = 1, .name = vy_pack_text("u16"), .type = VYRE_TYPE_U32};
    return (units){.count = bytes / 4,
                   .name = bytes == 4   ? vy_pack_text("b32")
                           : bytes == 8 ? vy_pack_text("v2.b32")
                                        : vy_pack_text("v4.b32"),
                   .type = size == 4 ? type : VYRE_TYPE_U32};
}

/* "{%r1, %r2}", or the register alone. */
static char *put_units(char *at, const units *u) {
    if (u->count == 1)
        return vy_ptx_put(at, u->values[0]);
    for (uint32_t i = 0; i < u->count; i++)
        at = vy_ptx_put(vy_write_text(at, i ? ", " : "{"), u->values[i]);
    *at = '}';
    return at + 1;
}

/* The selectors that extract element k of a word and extend it. */
static unsigned selectors(vyre_type type, uint32_t k) {
    int is_signed = vyre_type_class(type) == VYRE_CLASS_SIGNED;
    unsigned bytes = size_of(type), last = k * bytes + bytes - 1, fill = is_signed ? 8 + last : 4, all = 0;
    for (unsigned i = 4; i-- > 0;)
        all = all << 4 | (i < bytes ? k * bytes + i : fill);
    return all;
}

void vy_ptx_permute(vy_ptx *e, vy_ptx_value guard, vy_ptx_value d, vy_ptx_value low, vy_ptx_value high,
                    unsigned selectors) {
    char *at = vy_write_text(vy_ptx_line_predicated(e, guard), "prmt.b32 ");
    at = vy_write_text(vy_ptx_put(at, d), ", ");
    at = vy_write_text(vy_ptx_put(at, low), ", ");
    at = vy_write_text(vy_ptx_put(at, high), ", 0x");
    vy_ptx_end_line(e, vy_write_hex(at, selectors, 4));
}

/* Extracts the elements of a word. */
static void take_apart(vy_ptx *e, vyre_type type, vy_ptx_value word, uint32_t n, vy_ptx_value *out) {
    const vy_ptx_value always = vy_ptx_literal(VYRE_TYPE_BOOL, 1), zero = vy_ptx_literal(VYRE_TYPE_U32, 0);
    for (uint32_t k = 0; k < n; k++)
        out[k] = vy_ptx_new(e, type);
    if (vy_ptx_class_of(type) == VY_PTX_B16) {
        vy_ptx_write(e, "mov.b32 {%s, %s}, %s", vy_ptx_name(e, out[0]), vy_ptx_name(e, out[1]), vy_ptx_name(e, word));
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        vy_ptx_permute(e, always, out[k], word, zero, selectors(type, k));
        out[k].part = vy_ptx_new_subword(e, (vy_ptx_subword){.bytes = (uint8_t)size_of(type),
                                                             .element = (uint8_t)k,
                                                             .op = VYRE_OP_COUNT,
                                                             .is_all = vyre_type_class(type) == VYRE_CLASS_UNSIGNED,
                                                             .words = {word.name, 0}});
    }
}

/* Whether the elements are those of one word, in order. */
static int are_whole(const vy_ptx *e, const vy_ptx_value *from, uint32_t n) {
    vy_ptx_subword first = vy_ptx_subword_of(e, from[0]);
    for (uint32_t k = 0; k < n; k++) {
        vy_ptx_subword p = vy_ptx_subword_of(e, from[k]);
        if (p.bytes * n != 4 || p.element != k || p.op != first.op || p.words[0] != first.words[0] ||
            p.words[1] != first.words[1])
            return 0;
    }
    return 1;
}

/* That word. The instructions that extracted and combined its parts are then unused, and ptxas removes them. */
static vy_ptx_value whole(vy_ptx *e, vy_ptx_subword p) {
    static const char *const names[VYRE_OP_COUNT] = {[VYRE_OP_XOR] = "xor", [VYRE_OP_AND] = "and", [VYRE_OP_OR] = "or"};
    vy_ptx_value a = vy_ptx_named(VYRE_TYPE_U32, p.words[0]), b = vy_ptx_named(VYRE_TYPE_U32, p.words[1]);
    if (p.op == VYRE_OP_COUNT)
        return a;
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U32);
    VY_PTX_INSTRUCT(e, names[p.op], "b32", d, a, b);
    return d;
}

static vy_ptx_value joined(vy_ptx *e, vy_ptx_value low, vy_ptx_value high, unsigned how) {
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U32);
    vy_ptx_permute(e, vy_ptx_literal(VYRE_TYPE_BOOL, 1), d, low, high, how);
    return d;
}

/* Combines n elements into a word: two bytes or halves first, then two pairs of bytes. */
static vy_ptx_value put_together(vy_ptx *e, vyre_type type, const vy_ptx_value *from, uint32_t n) {
    enum { BYTES = 0x0040, HALVES = 0x5410 };
    if (vy_ptx_class_of(type) == VY_PTX_B16) {
        vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U32);
        vy_ptx_write(e, "mov.b32 %s, {%s, %s}", vy_ptx_name(e, d), vy_ptx_name(e, from[0]), vy_ptx_name(e, from[1]));
        return d;
    }
    if (size_of(type) == 2)
        return joined(e, from[0], from[1], HALVES);
    vy_ptx_value low = joined(e, from[0], from[1], BYTES);
    return n == 2 ? low : joined(e, low, joined(e, from[2], from[3], BYTES), HALVES);
}

/* The elements of an access one by one, from one address: all are in bounds, so no offset wraps. */
static void load_each(vy_ptx *e, const vy_stmt *s, vyre_type type, vy_ptx_value *out) {
    place at = place_of(e, s->memory, s->a);
    for (uint32_t k = 0; k < s->result_count; k++, at.offset += size_of(type)) {
        out[k] = vy_ptx_new(e, type);
        char *text = put_load(e, vy_ptx_line(e), s->memory, element_of(type));
        text = vy_write_text(vy_ptx_put(text, out[k]), ", ");
        vy_ptx_end_line(e, put_place(text, at));
    }
}

static void store_each(vy_ptx *e, const vy_stmt *s, vyre_type type) {
    place at = place_of(e, s->memory, s->a);
    for (uint32_t k = 0; k < s->arg_count; k++, at.offset += size_of(type)) {
        vy_ptx_value from = vy_ptx_in_register(e, vy_ptx_expr(e, e->program->args.items[s->args + k].index));
        char *text = put_store(e, vy_ptx_line(e), s->memory, element_of(type));
        text = vy_write_text(put_place(text, at), ", ");
        vy_ptx_end_line(e, vy_ptx_put(text, from));
    }
}

static void load_together(vy_ptx *e, const vy_stmt *s, vyre_type type, vy_ptx_value *out) {
    units u = units_of(type, s->result_count);
    uint32_t each = s->result_count / u.count;
    place at = place_of(e, s->memory, s->a);
    for (uint32_t i = 0; i < u.count; i++)
        u.values[i] = vy_ptx_new(e, u.type);
    char *text = put_load(e, vy_ptx_line(e), s->memory, u.name);
    text = vy_write_text(put_units(text, &u), ", ");
    vy_ptx_end_line(e, put_place(text, at));
    for (uint32_t i = 0; i < u.count; i++) {
        if (each == 1)
            out[i] = u.values[i];
        else
            take_apart(e, type, u.values[i], each, out + i * each);
    }
}

void vy_ptx_load_wide(vy_ptx *e, const vy_stmt *s) {
    vyre_type type = (vyre_type)memory_of(e, s->memory)->type;
    vy_ptx_value out[VY_LIMIT_WIDE];
    if (e->one_by_one)
        load_each(e, s, type, out);
    else
        load_together(e, s, type, out);
    for (uint32_t i = 0; i < s->result_count; i++) {
        out[i].is_opaque = is_constant(e, s->memory);
        vy_ptx_declare(e, s->variable + i, out[i]);
    }
}

void vy_ptx_store_wide(vy_ptx *e, const vy_stmt *s) {
    vyre_type type = (vyre_type)memory_of(e, s->memory)->type;
    if (e->one_by_one) {
        store_each(e, s, type);
        return;
    }
    units u = units_of(type, s->arg_count);
    uint32_t each = s->arg_count / u.count;
    vy_ptx_value from[VY_LIMIT_WIDE];
    place at = place_of(e, s->memory, s->a);
    for (uint32_t i = 0; i < s->arg_count; i++)
        from[i] = vy_ptx_in_register(e, vy_ptx_expr(e, e->program->args.items[s->args + i].index));
    for (uint32_t i = 0; i < u.count; i++)
        u.values[i] = each == 1                             ? from[i]
                      : are_whole(e, from + i * each, each) ? whole(e, vy_ptx_subword_of(e, from[i * each]))
                                                            : put_together(e, type, from + i * each, each);
    char *text = put_store(e, vy_ptx_line(e), s->memory, u.name);
    text = vy_write_text(put_place(text, at), ", ");
    vy_ptx_end_line(e, put_units(text, &u));
}

/* ---- atomics ----
 *
 * Relaxed read-modify-write atomics need no qualifier: the ISA assumes .relaxed.gpu, which every architecture has.
 * Other orders, and atomic loads and stores, require sm_70. */

typedef struct row {
    const char *name;
    uint8_t is_bits; /* .b32, not .u32 */
} row;

static const row rows[VYRE_ATOMIC_COUNT] = {
    [VYRE_ATOMIC_ADD] = {"add", 0},       [VYRE_ATOMIC_AND] = {"and", 1},
    [VYRE_ATOMIC_OR] = {"or", 1},         [VYRE_ATOMIC_XOR] = {"xor", 1},
    [VYRE_ATOMIC_MIN] = {"min", 0},       [VYRE_ATOMIC_MAX] = {"max", 0},
    [VYRE_ATOMIC_EXCHANGE] = {"exch", 1}, [VYRE_ATOMIC_COMPARE_EXCHANGE] = {"cas", 1},
};

/* ".acq_rel.gpu.global" */
static void qualify(vy_ptx *e, const vy_stmt *s, int always, char *text, size_t size) {
    const char *scope = s->scope == VYRE_SCOPE_WORKGROUP ? "cta" : "gpu", *space = state_space(e, s->memory);
    if (!always && s->order == VYRE_ORDER_RELAXED) {
        snprintf(text, size, ".%s", space);
        return;
    }
    vy_ptx_need(e, 60, 70);
    snprintf(text, size, ".%s.%s.%s", vyre_order_name((vyre_order)s->order), scope, space);
}

/* Two's complement addition is the same for both signs, and PTX has no add.s64. */
static const char *type_of(const row *r, vyre_type type) {
    if (r->is_bits)
        return vy_ptx_bits(type);
    if (r == &rows[VYRE_ATOMIC_ADD] && type == VYRE_TYPE_I64)
        return "u64";
    return vy_ptx_type(type);
}

/* A load whose value is unused. Its memory order matters; ptxas keeps only half of the load itself
 * (E14, docs/internals/ptx.md). */
static void load_nothing(vy_ptx *e, const vy_stmt *s, vyre_type type) {
    if (s->result_count)
        vy_ptx_declare(e, s->variable, vy_ptx_literal(type, 0));
    if (s->order == VYRE_ORDER_RELAXED)
        return;
    vy_ptx_need(e, 60, 70);
    vy_ptx_write(e, "fence.acq_rel.%s", s->scope == VYRE_SCOPE_WORKGROUP ? "cta" : "gpu");
}

/* Whether the only read of a variable, if any, assigns it to a variable that is not read, as legalisation does with
 * results of guarded statements. */
static int is_dead_copy(vy_ptx *e, uint32_t variable) {
    if (!vy_ptx_need_uses(e, VY_DEF_USE_READS))
        return 0;
    const vy_stmt *s = vy_stmt_at(e->program, e->uses.last_read[variable]);
    return !e->uses.reads[variable] || (e->uses.reads[variable] == 1 && s->kind == VY_STMT_ASSIGN &&
                                        e->exprs[s->a].kind == VY_EXPR_VARIABLE && !e->uses.reads[s->variable]);
}

static void load_or_store(vy_ptx *e, const vy_stmt *s, vyre_type type) {
    char how[48];
    if (s->op == VYRE_ATOMIC_LOAD && (!s->result_count || is_dead_copy(e, s->variable))) {
        load_nothing(e, s, type);
        return;
    }
    vy_ptx_address at = address_at(e, s->memory, s->a);
    qualify(e, s, 1, how, sizeof how);
    if (s->op == VYRE_ATOMIC_STORE) {
        vy_ptx_value value = vy_ptx_in_register(e, vy_ptx_expr(e, s->b));
        vy_ptx_write(e, "st%s.%s %s, %s", how, vy_ptx_bits(type), at.text, vy_ptx_name(e, value));
        return;
    }
    vy_ptx_value d = vy_ptx_new(e, type);
    vy_ptx_write(e, "ld%s.%s %s, %s", how, vy_ptx_bits(type), vy_ptx_name(e, d), at.text);
    vy_ptx_declare(e, s->variable, d);
}

/* Whether the old value is unused and the instruction without a result suffices: it cannot acquire, exchange or
 * compare. */
static int is_reduction(const vy_stmt *s) {
    return !s->result_count && s->op != VYRE_ATOMIC_EXCHANGE && s->op != VYRE_ATOMIC_COMPARE_EXCHANGE &&
           (s->order == VYRE_ORDER_RELAXED || s->order == VYRE_ORDER_RELEASE);
}

static void change(vy_ptx *e, const vy_stmt *s, vyre_type type) {
    const row *r = &rows[s->op];
    char how[48];
    vy_ptx_address at = address_at(e, s->memory, s->a);
    vy_ptx_value b = vy_ptx_in_register(e, vy_ptx_expr(e, s->b));
    qualify(e, s, 0, how, sizeof how);
    if (is_reduction(s)) {
        vy_ptx_write(e, "red%s.%s.%s %s, %s", how, r->name, type_of(r, type), at.text, vy_ptx_name(e, b));
        return;
    }
    vy_ptx_value c = s->c == VY_NONE ? b : vy_ptx_in_register(e, vy_ptx_expr(e, s->c)), d = vy_ptx_new(e, type);
    vy_ptx_write(e, "atom%s.%s.%s %s, %s, %s%s%s", how, r->name, type_of(r, type), vy_ptx_name(e, d), at.text,
                 vy_ptx_name(e, b), s->c == VY_NONE ? "" : ", ", s->c == VY_NONE ? "" : vy_ptx_name(e, c));
    if (s->result_count)
        vy_ptx_declare(e, s->variable, d);
}

/* Atomic minimum or maximum of floats, which has no instruction: a compare-exchange loop. Bits are compared, so that a
 * NaN is equal to itself. */
static void keep_float(vy_ptx *e, const vy_stmt *s, vyre_type type) {
    char how[48];
    vy_ptx_address at = address_at(e, s->memory, s->a);
    vy_ptx_value b = vy_ptx_in_register(e, vy_ptx_expr(e, s->b)), old = vy_ptx_new(e, type), seen = vy_ptx_new(e, type),
                 kept = vy_ptx_new(e, type), p = vy_ptx_new(e, VYRE_TYPE_BOOL);
    uint32_t again = vy_ptx_label(e);
    const char *bits = vy_ptx_bits(type);
    qualify(e, s, 0, how, sizeof how);
    vy_ptx_write(e, "ld.volatile.%s.%s %s, %s", state_space(e, s->memory), bits, vy_ptx_name(e, old), at.text);
    vy_ptx_bind_label(e, again);
    vy_ptx_move(e, seen, old);
    vy_ptx_write(e, "%s.%s %s, %s, %s", rows[s->op].name, vy_ptx_type(type), vy_ptx_name(e, kept), vy_ptx_name(e, seen),
                 vy_ptx_name(e, b));
    vy_ptx_write(e, "atom%s.cas.%s %s, %s, %s, %s", how, bits, vy_ptx_name(e, old), at.text, vy_ptx_name(e, seen),
                 vy_ptx_name(e, kept));
    vy_ptx_write(e, "setp.ne.%s %s, %s, %s", bits, vy_ptx_name(e, p), vy_ptx_name(e, old), vy_ptx_name(e, seen));
    vy_ptx_jump_if(e, p, 1, again);
    if (s->result_count)
        vy_ptx_declare(e, s->variable, old);
}

void vy_ptx_atomic(vy_ptx *e, const vy_stmt *s) {
    vyre_type type = (vyre_type)vy_memory_at(e->program, s->memory)->type;
    int is_float = vyre_type_class(type) == VYRE_CLASS_FLOAT;
    if (s->bounds_check != VY_BOUNDS_UNCHECKED)
        vy_ptx_refuse(e, "a guarded atomic");
    else if (is_float && (s->op == VYRE_ATOMIC_MIN || s->op == VYRE_ATOMIC_MAX))
        keep_float(e, s, type);
    else if (s->op == VYRE_ATOMIC_LOAD || s->op == VYRE_ATOMIC_STORE)
        load_or_store(e, s, type);
    else
        change(e, s, type);
}
