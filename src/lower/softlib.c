/* Softlib (soft-float and soft-integer code): finds the functions that are called in the library texts, and parses
 * them. */
#include "lower/softlib.h"

#include "base/status.h"
#include "base/string.h"
#include "ir/text/lower.h"
#include "lower/legalizer.h"

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

/* Softlib of the 64-bit integer phase: replaces ops on i64 and u64 on targets without 64-bit integers. A value is two
 * u32, the low half first.
 *
 * Written for the target and not rewritten again: shift amounts are below 32, and no divisor is zero. The bits that a
 * shift by k (0 to 31) moves from one half to the other are `x >> 1 >> (k ^ 31)`: none if k is 0. */
/* clang-format off */
#define PAIR "(al: u32, ah: u32) -> (l: u32, h: u32)"
#define PAIRS "(al: u32, ah: u32, bl: u32, bh: u32) -> (l: u32, h: u32)"
#define TEST "(al: u32, ah: u32, bl: u32, bh: u32) -> bool"

/* ---- ops that do not know signs ---- */

#define PLAIN(T) \
    "fn add_" T PAIRS " { let l = al + bl; return l, ah + bh + u32(l < al) }\n" \
    "fn sub_" T PAIRS " { return al - bl, ah - bh - u32(al < bl) }\n" \
    "fn neg_" T PAIR " { return -al, ~ah + u32(al == 0) }\n" \
    "fn mul_" T PAIRS " { return al * bl, mul_high(al, bl) + al * bh + ah * bl }\n" \
    "fn and_" T PAIRS " { return al & bl, ah & bh }\n" \
    "fn or_" T PAIRS " { return al | bl, ah | bh }\n" \
    "fn xor_" T PAIRS " { return al ^ bl, ah ^ bh }\n" \
    "fn not_" T PAIR " { return ~al, ~ah }\n" \
    "fn select_" T "(c: bool, al: u32, ah: u32, bl: u32, bh: u32) -> (l: u32, h: u32) { return c ? al : bl, c ? " \
    "ah : bh }\n" \
    "fn eq_" T TEST " { return al == bl && ah == bh }\n" \
    "fn ne_" T TEST " { return al != bl || ah != bh }\n" \
    "fn gt_" T TEST " { return lt_" T "(bl, bh, al, ah) }\n" \
    "fn le_" T TEST " { let g = lt_" T "(bl, bh, al, ah); return !g }\n" \
    "fn ge_" T TEST " { let g = lt_" T "(al, ah, bl, bh); return !g }\n" \
    "fn min_" T PAIRS " { let c = lt_" T "(al, ah, bl, bh); return c ? al : bl, c ? ah : bh }\n" \
    "fn max_" T PAIRS " { let c = lt_" T "(al, ah, bl, bh); return c ? bl : al, c ? bh : ah }\n" \
    "fn popcount_" T PAIR " { return popcount(al) + popcount(ah), 0 }\n" \
    "fn clz_" T PAIR " { return ah == 0 ? 32 + clz(al) : clz(ah), 0 }\n" \
    "fn ctz_" T PAIR " { return al == 0 ? 32 + ctz(ah) : ctz(al), 0 }\n" \
    "fn reverse_bits_" T PAIR " { return reverse_bits(ah), reverse_bits(al) }\n" \
    "fn reverse_bytes_" T PAIR " { return reverse_bytes(ah), reverse_bytes(al) }\n" \
    "fn shl_" T PAIRS " {\n" \
    "  let k = bl & 31\n" \
    "  let far = (bl & 32) != 0\n" \
    "  let up = al << k\n" \
    "  return far ? 0 : up, far ? up : ah << k | al >> 1 >> (k ^ 31)\n" \
    "}\n" \
    "fn rotl_" T PAIRS " {\n" \
    "  let k = bl & 31\n" \
    "  let far = (bl & 32) != 0\n" \
    "  let x = far ? ah : al\n" \
    "  let y = far ? al : ah\n" \
    "  return x << k | y >> 1 >> (k ^ 31), y << k | x >> 1 >> (k ^ 31)\n" \
    "}\n" \
    "fn rotr_" T PAIRS " {\n" \
    "  let k = bl & 31\n" \
    "  let far = (bl & 32) != 0\n" \
    "  let x = far ? ah : al\n" \
    "  let y = far ? al : ah\n" \
    "  return x >> k | y << 1 << (k ^ 31), y >> k | x << 1 << (k ^ 31)\n" \
    "}\n"

static const char plain[] =
    "fn lt_u64" TEST " { return ah < bh || (ah == bh && al < bl) }\n"
    "fn lt_i64" TEST " { return i32(ah) < i32(bh) || (ah == bh && al < bl) }\n"
    PLAIN("u64")
    PLAIN("i64");

/* ---- ops that do ---- */

/* abs: m is all ones for a negative number, s is 1. */
static const char signs[] =
    "fn abs_u64" PAIR " { return al, ah }\n"
    "fn abs_i64" PAIR " {\n"
    "  let s = ah >> 31\n"
    "  let m = -s\n"
    "  let l = (al ^ m) + s\n"
    "  return l, (ah ^ m) + u32(l < s)\n"
    "}\n"
    "fn shr_u64" PAIRS " {\n"
    "  let k = bl & 31\n"
    "  let far = (bl & 32) != 0\n"
    "  let down = ah >> k\n"
    "  return far ? down : al >> k | ah << 1 << (k ^ 31), far ? 0 : down\n"
    "}\n"
    "fn shr_i64" PAIRS " {\n"
    "  let k = bl & 31\n"
    "  let far = (bl & 32) != 0\n"
    "  let down = u32(i32(ah) >> i32(k))\n"
    "  return far ? down : al >> k | ah << 1 << (k ^ 31), far ? u32(i32(ah) >> 31) : down\n"
    "}\n"
    /* The two middle products are added to what the lowest carries over, then to the highest. */
    "fn mul_high_u64" PAIRS " {\n"
    "  let x = al * bh\n"
    "  let y = ah * bl\n"
    "  let xh = mul_high(al, bh)\n"
    "  let yh = mul_high(ah, bl)\n"
    "  let m = mul_high(al, bl) + x\n"
    "  let n = m + y\n"
    "  let c = u32(m < x) + u32(n < y)\n"
    "  let p = ah * bh + xh\n"
    "  let q = p + yh\n"
    "  let l = q + c\n"
    "  return l, mul_high(ah, bh) + u32(p < xh) + u32(q < yh) + u32(l < c)\n"
    "}\n"
    "fn mul_high_i64" PAIRS " {\n"
    "  let (pl, ph) = mul_high_u64(al, ah, bl, bh)\n"
    "  let a = u32(i32(ah) >> 31)\n"
    "  let b = u32(i32(bh) >> 31)\n"
    "  let (ql, qh) = sub_u64(pl, ph, bl & a, bh & a)\n"
    "  let (l, h) = sub_u64(ql, qh, al & b, ah & b)\n"
    "  return l, h\n"
    "}\n";

/* ---- division ----
 *
 * As Hacker's Delight has it (Warren, 2nd ed., 9-4 and 9-5): `digit` divides a number of three 16-bit digits, the upper
 * two u, by one of two whose highest bit is set, where u < v; its guess is at most 2 too large. `long` divides 64 bits
 * by 32 where the quotient has 32. A divisor of more than 32 bits is cut to its upper 32; the quotient that gives is
 * right or 1 too large, so it is taken 1 smaller and corrected up. */
static const char division[] =
    "fn digit(u: u32, next: u32, v: u32) -> (q: u32, r: u32) {\n"
    "  let d = v >> 16\n"
    "  let low = v & 0xffff\n"
    "  let q = u / d\n"
    "  let r = u - q * d\n"
    "  let over = u32(q > 0xffff || q * low > (r << 16 | next))\n"
    "  let p = q - over\n"
    "  let s = r + d * over\n"
    "  let again = u32(s < 0x10000 && (p > 0xffff || p * low > (s << 16 | next)))\n"
    "  let g = p - again\n"
    "  return g, (u << 16 | next) - g * v\n"
    "}\n"
    "fn long(h: u32, l: u32, v: u32) -> (q: u32, r: u32) {\n"
    "  let n = clz(v)\n"
    "  let w = v << n\n"
    "  let m = l << n\n"
    "  let (a, s) = digit(h << n | l >> 1 >> (n ^ 31), m >> 16, w)\n"
    "  let (b, r) = digit(s, m & 0xffff, w)\n"
    "  return a << 16 | b, r >> n\n"
    "}\n"
    "fn divide(al: u32, ah: u32, bl: u32, bh: u32) -> (l: u32, h: u32, rl: u32, rh: u32) {\n"
    "  var l = 0xffffffffu32\n"
    "  var h = 0xffffffffu32\n"
    "  var rl = al\n"
    "  var rh = ah\n"
    "  if bh != 0 {\n"
    "    let n = clz(bh)\n"
    "    let (g, none) = long(ah >> 1, al >> 1 | ah << 31, bh << n | bl >> 1 >> (n ^ 31))\n"
    "    let f = g >> (n ^ 31)\n"
    "    let q = f - u32(f != 0)\n"
    "    let (pl, ph) = mul_u64(q, 0, bl, bh)\n"
    "    let (sl, sh) = sub_u64(al, ah, pl, ph)\n"
    "    let more = ge_u64(sl, sh, bl, bh)\n"
    "    let (tl, th) = sub_u64(sl, sh, more ? bl : 0, more ? bh : 0)\n"
    "    l = q + u32(more)\n"
    "    h = 0\n"
    "    rl = tl\n"
    "    rh = th\n"
    "  } else if bl != 0 {\n"
    "    h = ah / bl\n"
    "    let top = ah - h * bl\n"
    "    rh = 0\n"
    "    if top == 0 {\n"
    "      l = al / bl\n"
    "      rl = al - l * bl\n"
    "    } else {\n"
    "      let (q, r) = long(top, al, bl)\n"
    "      l = q\n"
    "      rl = r\n"
    "    }\n"
    "  }\n"
    "  return l, h, rl, rh\n"
    "}\n"
    "fn div_u64" PAIRS " { let (l, h, rl, rh) = divide(al, ah, bl, bh); return l, h }\n"
    "fn rem_u64" PAIRS " { let (ql, qh, l, h) = divide(al, ah, bl, bh); return l, h }\n"
    /* Of magnitudes; x / 0 is -1 whatever the sign of x. */
    "fn div_i64" PAIRS " {\n"
    "  let (xl, xh) = abs_i64(al, ah)\n"
    "  let (yl, yh) = abs_i64(bl, bh)\n"
    "  let (ql, qh, rl, rh) = divide(xl, xh, yl, yh)\n"
    "  let (nl, nh) = neg_i64(ql, qh)\n"
    "  let flip = (ah ^ bh) >= 0x80000000 && (bl | bh) != 0\n"
    "  return flip ? nl : ql, flip ? nh : qh\n"
    "}\n"
    "fn rem_i64" PAIRS " {\n"
    "  let (xl, xh) = abs_i64(al, ah)\n"
    "  let (yl, yh) = abs_i64(bl, bh)\n"
    "  let (ql, qh, rl, rh) = divide(xl, xh, yl, yh)\n"
    "  let (nl, nh) = neg_i64(rl, rh)\n"
    "  let flip = ah >= 0x80000000\n"
    "  return flip ? nl : rl, flip ? nh : rh\n"
    "}\n";

/* ---- loops and ballots ---- */

/* What lies between the start of a loop and its end in the direction of its step, 0 if that makes no trip; and the
 * length of a step. Each trip takes one off. */
static const char loops[] =
    "fn trips_u64(al: u32, ah: u32, bl: u32, bh: u32, cl: u32, ch: u32) -> (l: u32, h: u32, sl: u32, sh: u32) {\n"
    "  let (dl, dh) = sub_u64(bl, bh, al, ah)\n"
    "  let some = lt_u64(al, ah, bl, bh)\n"
    "  let goes = some && (cl | ch) != 0\n"
    "  return goes ? dl : 0, goes ? dh : 0, cl, ch\n"
    "}\n"
    "fn trips_i64(al: u32, ah: u32, bl: u32, bh: u32, cl: u32, ch: u32) -> (l: u32, h: u32, sl: u32, sh: u32) {\n"
    "  let down = ch >= 0x80000000\n"
    "  let (xl, xh) = select_i64(down, bl, bh, al, ah)\n"
    "  let (yl, yh) = select_i64(down, al, ah, bl, bh)\n"
    "  let (dl, dh) = sub_i64(yl, yh, xl, xh)\n"
    "  let some = lt_i64(xl, xh, yl, yh)\n"
    "  let (sl, sh) = abs_i64(cl, ch)\n"
    "  let goes = some && (cl | ch) != 0\n"
    "  return goes ? dl : 0, goes ? dh : 0, sl, sh\n"
    "}\n"
    "fn shorten" PAIRS " {\n"
    "  let more = lt_u64(bl, bh, al, ah)\n"
    "  let (l, h) = sub_u64(al, ah, bl, bh)\n"
    "  return more ? l : 0, more ? h : 0\n"
    "}\n";

static const char ballots[] =
    "fn ballot_low(v: bool, lane: u32) -> u32 { return v && lane < 32 ? 1 << (lane & 31) : 0 }\n"
    "fn ballot_high(v: bool, lane: u32) -> u32 { return v && lane >= 32 ? 1 << (lane & 31) : 0 }\n";
/* clang-format on */

#define WIDE (VY_TYPE(I64) | VY_TYPE(U64))

const vy_softlib_text vy_softlib_int64_texts[] = {
    {plain, WIDE, 0, 0, 0, 0}, {signs, WIDE, 0, 0, 0, 0},   {division, WIDE, VY_OP(DIV) | VY_OP(REM), 0, 0, 0},
    {loops, WIDE, 0, 0, 0, 0}, {ballots, WIDE, 0, 0, 0, 0}, {NULL, 0, 0, 0, 0, 0},
};

/* Softlib of the first numeric phase: replaces ops on 8- and 16-bit types. Integers are held as i32 or u32, floats as
 * f32. */
#define VY_FORMAT 32
#include "lower/softlib_format.inc"

/* clang-format off */

/* WIDTH bits; UP = 32 - WIDTH; LAST = WIDTH - 1; MASK the bits; LOW and HIGH the range. */
#define SIGNED(T, WIDTH, UP, LAST, MASK, LOW, HIGH) \
    "fn clamp_" T "(a: i32) -> i32 { return min(max(a, " LOW "), " HIGH ") }\n" \
    "fn neg_" T "(a: i32) -> i32 { return (-a) << " UP " >> " UP " }\n" \
    "fn abs_" T "(a: i32) -> i32 { return (abs(a)) << " UP " >> " UP " }\n" \
    "fn add_" T "(a: i32, b: i32) -> i32 { return (a + b) << " UP " >> " UP " }\n" \
    "fn sub_" T "(a: i32, b: i32) -> i32 { return (a - b) << " UP " >> " UP " }\n" \
    "fn mul_" T "(a: i32, b: i32) -> i32 { return (a * b) << " UP " >> " UP " }\n" \
    "fn div_" T "(a: i32, b: i32) -> i32 { return (a / b) << " UP " >> " UP " }\n" \
    "fn shl_" T "(a: i32, b: i32) -> i32 { return (a << (b & " LAST ")) << " UP " >> " UP " }\n" \
    "fn shr_" T "(a: i32, b: i32) -> i32 { return a >> (b & " LAST ") }\n" \
    "fn popcount_" T "(a: i32) -> i32 { return popcount(a & " MASK ") }\n" \
    "fn clz_" T "(a: i32) -> i32 { return clz(a & " MASK ") - " UP " }\n" \
    "fn ctz_" T "(a: i32) -> i32 { return ctz(a | (" MASK " + 1)) }\n" \
    "fn reverse_bits_" T "(a: i32) -> i32 { return reverse_bits(a) >> " UP " }\n" \
    "fn reverse_bytes_" T "(a: i32) -> i32 { return reverse_bytes(a) >> " UP " }\n" \
    "fn mul_high_" T "(a: i32, b: i32) -> i32 { return a * b >> " WIDTH " }\n" \
    "fn rotl_" T "(a: i32, b: i32) -> i32 { let u = a & " MASK "; let s = b & " LAST "; return ((u << s) | (u " \
    ">> (" WIDTH " - s & " LAST "))) << " UP " >> " UP " }\n" \
    "fn rotr_" T "(a: i32, b: i32) -> i32 { let u = a & " MASK "; let s = b & " LAST "; return ((u >> s) | (u " \
    "<< (" WIDTH " - s & " LAST "))) << " UP " >> " UP " }\n"

#define UNSIGNED(T, WIDTH, UP, LAST, MASK) \
    "fn clamp_" T "(a: u32) -> u32 { return min(a, " MASK ") }\n" \
    "fn neg_" T "(a: u32) -> u32 { return (-a) & " MASK " }\n" \
    "fn not_" T "(a: u32) -> u32 { return (~a) & " MASK " }\n" \
    "fn add_" T "(a: u32, b: u32) -> u32 { return (a + b) & " MASK " }\n" \
    "fn sub_" T "(a: u32, b: u32) -> u32 { return (a - b) & " MASK " }\n" \
    "fn mul_" T "(a: u32, b: u32) -> u32 { return (a * b) & " MASK " }\n" \
    "fn div_" T "(a: u32, b: u32) -> u32 { return (a / b) & " MASK " }\n" \
    "fn shl_" T "(a: u32, b: u32) -> u32 { return (a << (b & " LAST ")) & " MASK " }\n" \
    "fn shr_" T "(a: u32, b: u32) -> u32 { return a >> (b & " LAST ") }\n" \
    "fn popcount_" T "(a: u32) -> u32 { return popcount(a & " MASK ") }\n" \
    "fn clz_" T "(a: u32) -> u32 { return clz(a & " MASK ") - " UP " }\n" \
    "fn ctz_" T "(a: u32) -> u32 { return ctz(a | (" MASK " + 1)) }\n" \
    "fn reverse_bits_" T "(a: u32) -> u32 { return reverse_bits(a) >> " UP " }\n" \
    "fn reverse_bytes_" T "(a: u32) -> u32 { return reverse_bytes(a) >> " UP " }\n" \
    "fn mul_high_" T "(a: u32, b: u32) -> u32 { return a * b >> " WIDTH " }\n" \
    "fn rotl_" T "(a: u32, b: u32) -> u32 { let u = a & " MASK "; let s = b & " LAST "; return ((u << s) | (u " \
    ">> (" WIDTH " - s & " LAST "))) & " MASK " }\n" \
    "fn rotr_" T "(a: u32, b: u32) -> u32 { let u = a & " MASK "; let s = b & " LAST "; return ((u >> s) | (u " \
    "<< (" WIDTH " - s & " LAST "))) & " MASK " }\n"

static const char i8_ops[] = SIGNED("i8", "8", "24", "7", "0xff", "-128", "127");
static const char i16_ops[] = SIGNED("i16", "16", "16", "15", "0xffff", "-32768", "32767");
static const char u8_ops[] = UNSIGNED("u8", "8", "24", "7", "0xff");
static const char u16_ops[] = UNSIGNED("u16", "16", "16", "15", "0xffff");

/* 2^-24 is the unit of f16 subnormals, and of f32 numbers in [0.5, 1): adding 0.5 rounds to it. */
static const char f16_by_bits[] =
    "fn round_to_f16(x: f32) -> f32 {\n"
    "  let b = bitcast<u32>(x)\n"
    "  let m = b & 0x7fffffff\n"
    "  let normal = (m + 0xfff + (m >> 13 & 1)) & 0xffffe000\n"
    "  let small = bitcast<u32>(bitcast<f32>(m) + 0.5 - 0.5)\n"
    "  let r = m < 0x38800000 ? small : normal >= 0x47800000 ? 0x7f800000 : normal\n"
    "  return bitcast<f32>(m > 0x7f800000 ? 0x7fc00000 : r | (b & 0x80000000))\n"
    "}\n"
    "fn pack_f16(x: f32) -> u32 {\n"
    "  let b = bitcast<u32>(x)\n"
    "  let m = b & 0x7fffffff\n"
    "  let small = u32(bitcast<f32>(m) * 16777216.0)\n"
    "  let r = m < 0x38800000 ? small : m >= 0x47800000 ? 0x7c00 : (m - 0x38000000) >> 13\n"
    "  return m > 0x7f800000 ? 0x7e00 : r | (b >> 16 & 0x8000)\n"
    "}\n"
    "fn unpack_f16(h: u32) -> f32 {\n"
    "  let m = h & 0x7fff\n"
    "  let small = bitcast<u32>(f32(m) * 0x1p-24)\n"
    "  let r = m < 0x400 ? small : (m << 13) + (m >= 0x7c00 ? 0x70000000 : 0x38000000)\n"
    "  return bitcast<f32>(r | (h & 0x8000) << 16)\n"
    "}\n";

static const char f16_by_conversion[] =
    "fn round_to_f16(x: f32) -> f32 { return f32(f16(x)) }\n"
    "fn canonical_f16(h: u32) -> u32 { return (h & 0x7fff) > 0x7c00 ? 0x7e00 : h }\n"
    "fn pack_f16(x: f32) -> u32 { return canonical_f16(u32(bitcast<u16>(f16(x)))) }\n"
    "fn unpack_f16(h: u32) -> f32 { return f32(bitcast<f16>(u16(h))) }\n";

/* A bf16 is the upper half of an f32. */
static const char bf16_pack[] =
    "fn pack_bf16(x: f32) -> u32 {\n"
    "  let b = bitcast<u32>(x)\n"
    "  return (b & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : b >> 16\n"
    "}\n"
    "fn unpack_bf16(h: u32) -> f32 { return bitcast<f32>(h << 16) }\n"
    "fn canonical_bf16(h: u32) -> u32 { return (h & 0x7fff) > 0x7f80 ? 0x7fc0 : h }\n";
static const char bf16_by_bits[] =
    "fn round_to_bf16(x: f32) -> f32 {\n"
    "  let b = bitcast<u32>(x)\n"
    "  let r = (b + 0x7fff + (b >> 16 & 1)) & 0xffff0000\n"
    "  return bitcast<f32>((b & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : r)\n"
    "}\n";
static const char bf16_by_conversion[] = "fn round_to_bf16(x: f32) -> f32 { return f32(bf16(x)) }\n";

/* Arithmetic in f32, rounded to the format. */
#define FLOAT(T) \
    "fn add_" T "(a: f32, b: f32) -> f32 { return round_to_" T "(a + b) }\n" \
    "fn sub_" T "(a: f32, b: f32) -> f32 { return round_to_" T "(a - b) }\n" \
    "fn mul_" T "(a: f32, b: f32) -> f32 { return round_to_" T "(a * b) }\n" \
    "fn div_" T "(a: f32, b: f32) -> f32 { return round_to_" T "(a / b) }\n" \
    "fn sqrt_" T "(a: f32) -> f32 { return round_to_" T "(sqrt(a)) }\n"

static const char f16_ops[] = FLOAT("f16");
static const char f16_fma_native[] =
    "fn fma_f16(a: f32, b: f32, c: f32) -> f32 { return f32(fma(f16(a), f16(b), f16(c))) }\n";
/* The product of two f16 is exact in f32. The sum's error e is exact too (Knuth's two-sum), so the sum can be rounded
 * to odd, which loses nothing that matters to a second rounding at least two bits above. */
static const char f16_fma_by_f32[] =
    "fn fma_f16(a: f32, b: f32, c: f32) -> f32 {\n"
    "  let p = a * b\n"
    "  let s = p + c\n"
    "  let t = s - p\n"
    "  let e = (p - (s - t)) + (c - t)\n"
    "  let x = bitcast<u32>(s)\n"
    "  let up = (e > 0) == (s > 0)\n"
    "  let inexact = (e < 0 || e > 0) && (x & 1) == 0\n"
    "  return round_to_f16(bitcast<f32>(inexact ? (up ? x + 1 : x - 1) : x))\n"
    "}\n";
static const char bf16_ops[] =
    FLOAT("bf16")
    /* 24 significant bits, the last one sticky. */
    "fn odd_u32(a: u32) -> f32 {\n"
    "  return f32(a < 0x1000000 ? a : (a & 0xffffff00) | u32((a & 0xff) != 0) << 8)\n"
    "}\n"
    "fn odd_i32(a: i32) -> f32 {\n"
    "  let f = odd_u32(u32(abs(a)))\n"
    "  return a < 0 ? -f : f\n"
    "}\n";
static const char bf16_fma_native[] =
    "fn fma_bf16(a: f32, b: f32, c: f32) -> f32 {\n"
    "  let x = pack_bf16(a)\n"
    "  let y = pack_bf16(b)\n"
    "  let z = pack_bf16(c)\n"
    "  return unpack_bf16(u32(bitcast<u16>(fma(bitcast<bf16>(u16(x)), bitcast<bf16>(u16(y)), "
    "bitcast<bf16>(u16(z))))))\n"
    "}\n";
static const char bf16_fma_by_bits[] =
    VY_SOFTLIB_TEXT_SOFT
    VY_SOFTLIB_TEXT_ODD
    VY_SOFTLIB_TEXT_FMA
    VY_SOFTLIB_TEXT_FMA_BY("fma_odd", "finish_odd")
    "fn fma_bf16(a: f32, b: f32, c: f32) -> f32 { return round_to_bf16(fma_odd_f32(a, b, c)) }\n";

static const char from_64_bits[] =
    "fn odd_u64(a: u64) -> f32 {\n"
    "  let s = 40 - min(clz(a), 40)\n"
    "  let t = a >> s\n"
    "  return f32(u32(t) | u32(t << s != a)) * bitcast<f32>((u32(s) + 127) << 23)\n"
    "}\n"
    "fn odd_i64(a: i64) -> f32 {\n"
    "  let f = odd_u64(u64(abs(a)))\n"
    "  return a < 0 ? -f : f\n"
    "}\n"
    "fn odd_f64(a: f64) -> f32 {\n"
    "  let f = f32(a)\n"
    "  let b = bitcast<u32>(f)\n"
    "  let d = f64(f)\n"
    "  let inexact = (d < a || d > a) && (b & 1) == 0\n"
    "  return bitcast<f32>(inexact ? (abs(a) > abs(d) ? b + 1 : b - 1) : b)\n"
    "}\n";
/* clang-format on */

#define F16_FMA (VY_NUMERIC(F16_FMA) | VY_NUMERIC(F16_CONVERT))
/* A conversion of bf16 meets f32's subnormals. */
#define BF16_CONVERT (VY_NUMERIC(BF16_CONVERT) | VY_NUMERIC(F32_SUBNORMAL))

const vy_softlib_text vy_softlib_narrow_texts[] = {
    {i8_ops, VY_TYPE(I8), 0, 0, 0, 0},
    {u8_ops, VY_TYPE(U8), 0, 0, 0, 0},
    {i16_ops, VY_TYPE(I16), 0, 0, 0, 0},
    {u16_ops, VY_TYPE(U16), 0, 0, 0, 0},
    {f16_by_bits, VY_TYPE(F16), 0, VY_NUMERIC(F16_CONVERT), 0, 0},
    {f16_by_conversion, VY_TYPE(F16), 0, 0, VY_NUMERIC(F16_CONVERT), 0},
    {f16_ops, VY_TYPE(F16), 0, 0, 0, 0},
    {f16_fma_native, VY_TYPE(F16), VY_OP(FMA), 0, F16_FMA, 0},
    {f16_fma_by_f32, VY_TYPE(F16), VY_OP(FMA), F16_FMA, 0, 0},
    {bf16_pack, VY_TYPE(BF16), 0, 0, 0, 0},
    {bf16_by_bits, VY_TYPE(BF16), 0, BF16_CONVERT, 0, 0},
    {bf16_by_conversion, VY_TYPE(BF16), 0, 0, BF16_CONVERT, 0},
    {bf16_ops, VY_TYPE(BF16), 0, 0, 0, 0},
    {bf16_fma_native, VY_TYPE(BF16), VY_OP(FMA), 0, VY_NUMERIC(BF16_FMA), 0},
    {bf16_fma_by_bits, VY_TYPE(BF16), VY_OP(FMA), VY_NUMERIC(BF16_FMA), 0, 0},
    {from_64_bits, VY_TYPE(F16) | VY_TYPE(BF16), VY_OP(CAST), 0, 0, 0},
    {NULL, 0, 0, 0, 0, 0},
};
