/* The hostile corpus: texts that try to exhaust, hang or crash whatever parses, compiles or runs them.
 *
 * Each case is a text and what a host may see of it: a result, an error, or either of the two. Large texts are
 * generated here rather than stored. A program of the corpus has at most one input, a buffer of CORPUS_ELEMENTS u32.
 * Adding a case takes one function and one row of `corpus`. */
#ifndef VY_HOSTILE_CORPUS_H
#define VY_HOSTILE_CORPUS_H

#include "support/test.h"

enum { CORPUS_ELEMENTS = 256 };

typedef struct corpus_text {
    char *data;
    size_t size, room;
} corpus_text;

static void corpus_put(corpus_text *t, const char *data, size_t size) {
    if (t->room - t->size < size + 1) {
        t->room = 2 * t->room + size + 65536;
        t->data = realloc(t->data, t->room);
        assert_non_null(t->data);
    }
    memcpy(t->data + t->size, data, size);
    t->size += size;
}

__attribute__((format(printf, 2, 3))) static void corpus_add(corpus_text *t, const char *format, ...) {
    char line[1024];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    assert_in_range(length, 0, sizeof line - 1);
    corpus_put(t, line, (size_t)length);
}

static void corpus_repeat(corpus_text *t, unsigned count, const char *piece) {
    for (unsigned i = 0; i < count; i++)
        corpus_put(t, piece, strlen(piece));
}

/* Invocations read elements of others in x only, and write their own of y: a race would make the result undefined. */
static void corpus_head(corpus_text *t) {
    corpus_add(t, "program p {\nbuffer x : u32 read\nbuffer y : u32 read_write\nworkgroup 64\ngrid over y\n");
}

static void corpus_start(corpus_text *t) {
    corpus_head(t);
    corpus_add(t, "let i = global_id.x\nvar s = y[i]\n");
}

static void corpus_end(corpus_text *t) {
    corpus_add(t, "y[i] = s\n}\n");
}

/* ---- huge frames ---- */

/* `count` values of eight bytes that are all live at the same point: a frame of count * 8 * lanes bytes. */
static void live_values(corpus_text *t, unsigned count) {
    corpus_start(t);
    for (unsigned k = 0; k < count; k++)
        corpus_add(t, "let v%u = f64(x[i + %u]) * 1.5\n", k, k);
    for (unsigned k = count; k-- > 0;)
        corpus_add(t, "s = s ^ u32(v%u)\n", k);
    corpus_end(t);
}
static void live_values_500(corpus_text *t) {
    live_values(t, 500);
}
static void live_values_3000(corpus_text *t) {
    live_values(t, 3000);
}

static void live_across_barriers(corpus_text *t) {
    corpus_head(t);
    corpus_add(t, "array w : u32 [64] workgroup\nlet i = global_id.x\nvar s = y[i]\n");
    for (unsigned k = 0; k < 400; k++)
        corpus_add(t, "let v%u = x[i + %u] * s\nw[local_index] = v%u\nbarrier\ns = s + w[63 - local_index]\nbarrier\n",
                   k, k, k);
    for (unsigned k = 400; k-- > 0;)
        corpus_add(t, "s = s ^ v%u\n", k);
    corpus_end(t);
}

static void private_arrays_at_the_limit(corpus_text *t) {
    corpus_add(t, "program p {\nbuffer y : u32 read_write\nworkgroup 1024\ngrid over y\n"
                  "array a : u32 [8192] private\narray b : u64 [4096] private\nlet i = global_id.x\nvar s = y[i]\n"
                  "for k in 0u32 .. 64 { a[s * k] = s + k; b[s + k] = u64(a[k * 7]); s = s * 5 + u32(b[k]) }\n");
    corpus_end(t);
}

static void workgroup_arrays_at_the_limit(corpus_text *t) {
    corpus_add(t, "program p {\nbuffer y : u32 read_write\nworkgroup 256\ngrid over y\n"
                  "array a : u64 [131072] workgroup\nlet i = global_id.x\nvar s = y[i]\n"
                  "a[local_index * 512] = u64(s)\nbarrier\ns = s + u32(a[(255 - local_index) * 512])\n");
    corpus_end(t);
}

/* ---- deep nesting ---- */

static void nested(corpus_text *t, const char *open, unsigned depth) {
    corpus_start(t);
    for (unsigned k = 0; k < depth; k++)
        corpus_add(t, open, k); // NOLINT: a literal of this file
    corpus_add(t, "s = s + 1\n");
    corpus_repeat(t, depth, "}\n");
    corpus_end(t);
}
static void nested_ifs(corpus_text *t) {
    nested(t, "if s > %uu32 {\n", 126);
}
static void nested_loops(corpus_text *t) {
    nested(t, "for k%u in 0u32 .. (s & 1) {\n", 126);
}
static void nested_whiles(corpus_text *t) {
    nested(t, "while s < %uu32 {\n", 126);
}
static void nested_over_the_limit(corpus_text *t) {
    nested(t, "if s > %uu32 {\n", 1000000);
}

static void else_ifs(corpus_text *t, unsigned count) {
    corpus_start(t);
    for (unsigned k = 0; k < count; k++)
        corpus_add(t, "%sif s == %uu32 { s = %uu32 }", k ? " else " : "", k, k * 3);
    corpus_add(t, "\n");
    corpus_end(t);
}
static void else_ifs_at_the_limit(corpus_text *t) {
    else_ifs(t, 120);
}
static void else_ifs_over_the_limit(corpus_text *t) {
    else_ifs(t, 200000);
}

static void wrapped(corpus_text *t, const char *before, const char *after, unsigned depth) {
    corpus_start(t);
    corpus_add(t, "s = ");
    corpus_repeat(t, depth, before);
    corpus_add(t, "s");
    corpus_repeat(t, depth, after);
    corpus_add(t, "\n");
    corpus_end(t);
}
static void parentheses(corpus_text *t) {
    wrapped(t, "(", " + 1)", 500);
}
static void parentheses_over_the_limit(corpus_text *t) {
    wrapped(t, "(", ")", 1000000);
}
static void unaries(corpus_text *t) {
    wrapped(t, "~", "", 500);
}
static void unaries_over_the_limit(corpus_text *t) {
    wrapped(t, "~", "", 1000000);
}
static void loads_in_indices(corpus_text *t) {
    wrapped(t, "x[", "]", 500);
}
static void selects(corpus_text *t) {
    wrapped(t, "(s > 3 ? 1 + s : ", ")", 250);
}
static void conversions(corpus_text *t) {
    wrapped(t, "u32(f64(", "))", 250);
}
static void calls_of_builtins(corpus_text *t) {
    wrapped(t, "min(s, ", ")", 500);
}

static void calls_in_calls(corpus_text *t) {
    corpus_add(t, "fn g0(a: u32) -> u32 { return a * 3 + 1 }\n");
    for (unsigned k = 1; k < 62; k++)
        corpus_add(t, "fn g%u(a: u32) -> u32 { if a > %u { return g%u(a + 1) }\n return a }\n", k, k, k - 1);
    corpus_start(t);
    corpus_add(t, "s = g61(s)\n");
    corpus_end(t);
}

/* ---- compile bombs ---- */

static void many_loops(corpus_text *t) {
    corpus_start(t);
    for (unsigned k = 0; k < 4000; k++)
        corpus_add(t, "for k%u in 0u32 .. (s & 3) { s = s * 3 + k%u }\n", k, k);
    corpus_end(t);
}

static void straight_line(corpus_text *t, unsigned count) {
    corpus_start(t);
    for (unsigned k = 0; k < count; k++)
        corpus_add(t, "s = s * %uu32 + x[(s >> %u) & 63]\n", 2 * k + 3, k % 24);
    corpus_end(t);
}
static void straight_line_16000(corpus_text *t) {
    straight_line(t, 16000);
}
static void straight_line_over_the_limit(corpus_text *t) {
    straight_line(t, 300000);
}

static void doubling_calls(corpus_text *t, unsigned levels) {
    corpus_add(t, "fn g0(a: u32) -> u32 { return a * 3 + 1 }\n");
    for (unsigned k = 1; k <= levels; k++)
        corpus_add(t, "fn g%u(a: u32) -> u32 { return g%u(a) + g%u(a + 1) }\n", k, k - 1, k - 1);
    corpus_start(t);
    corpus_add(t, "s = g%u(s)\n", levels);
    corpus_end(t);
}
static void doubling_calls_4096(corpus_text *t) {
    doubling_calls(t, 12);
}
static void doubling_calls_over_the_limit(corpus_text *t) {
    doubling_calls(t, 60);
}

static void nested_constant_loops(corpus_text *t) {
    corpus_start(t);
    for (unsigned k = 0; k < 10; k++)
        corpus_add(t, "for k%u in 0u32 .. 4 {\n", k);
    corpus_add(t, "s = s * 3 + k0 + k9\n");
    corpus_repeat(t, 10, "}\n");
    corpus_end(t);
}

static void repeated(corpus_text *t, const char *head, const char *line, unsigned count) {
    corpus_head(t);
    corpus_add(t, "%slet i = global_id.x\nvar s = y[i]\nvar d = f64(s)\nvar h = f16(s & 7)\nvar w = u64(s)\n", head);
    corpus_repeat(t, count, line);
    corpus_add(t, "s = s + u32(d) + u32(h) + u32(w)\n");
    corpus_end(t);
}
/* On a workgroup array, which is read after a barrier: the result does not depend on the schedule. */
static void many_atomics(corpus_text *t) {
    corpus_head(t);
    corpus_add(t, "array a : u32 [64] workgroup\nlet i = global_id.x\nvar s = y[i]\n");
    corpus_repeat(t, 2000, "atomic_add(a[s & 63], 1)\n");
    corpus_add(t, "barrier\ns = s + a[local_index & 63]\n");
    corpus_end(t);
}
static void many_barriers(corpus_text *t) {
    repeated(t, "array a : u32 [64] workgroup\n", "a[local_index] = s\nbarrier\ns = s + a[63 - local_index]\nbarrier\n",
             1000);
}
static void many_grid_barriers(corpus_text *t) {
    repeated(t, "", "y[i] = s\ngrid_barrier\ns = s + y[i ^ 64]\ngrid_barrier\n", 100);
}
static void many_divisions(corpus_text *t) {
    repeated(t, "", "w = (w * 3 + u64(s)) / (w | 5)\n", 3000);
}
static void many_remainders(corpus_text *t) {
    repeated(t, "", "d = remainder(d * 3.0, d + 1.5)\nh = sqrt(h * h + f16(s & 3))\n", 500);
}
static void many_collectives(corpus_text *t) {
    repeated(t, "", "s = s + workgroup_reduce_add(s) + subgroup_scan_inclusive_max<64>(s)\n", 300);
}

static void many_functions(corpus_text *t) {
    for (unsigned k = 0; k < 5000; k++)
        corpus_add(t, "fn g%u(a: u32) -> u32 { return a + %uu32 }\n", k, k);
    corpus_start(t);
    for (unsigned k = 0; k < 5000; k++)
        corpus_add(t, "s = g%u(s)\n", k);
    corpus_end(t);
}

static void many_consts(corpus_text *t) {
    corpus_add(t, "const C0 = 1u32\n");
    for (unsigned k = 1; k < 20000; k++)
        corpus_add(t, "const C%u = C%u * 3 + C%u\n", k, k - 1, k / 2);
    corpus_start(t);
    corpus_add(t, "s = s + C19999\n");
    corpus_end(t);
}

/* LLVM 19 does not return for this one at 64 lanes of AVX-512. */
static void loop_that_llvm_does_not_finish(corpus_text *t) {
    corpus_add(t, "program p {\nbuffer x : i32 read\nworkgroup 2\ngrid 1\nlet i = local_index\nvar v = 0u32\n"
                  "while v < 2 && 0 < x[i] { v = v + 1 }\n}\n");
}

/* ---- endless kernels ---- */

static void endless(corpus_text *t) {
    corpus_start(t);
    corpus_add(t, "s = s | 1\nwhile s != 0 { s = s * 1664525 | 1 }\n");
    corpus_end(t);
}
static void endless_and_empty(corpus_text *t) {
    corpus_start(t);
    corpus_add(t, "while true { }\n");
    corpus_end(t);
}
static void endless_by_one(corpus_text *t) {
    corpus_start(t);
    corpus_add(t, "while i == 77 { s = s + 1 }\n");
    corpus_end(t);
}
static void endless_with_a_barrier(corpus_text *t) {
    corpus_start(t);
    corpus_add(t, "while len(y) > 0 { y[i] = s\nbarrier\n s = s + 1 }\n");
    corpus_end(t);
}
static void endless_with_a_grid_barrier(corpus_text *t) {
    corpus_start(t);
    corpus_add(t, "while len(y) > 0 { y[i] = s\ngrid_barrier\n s = s + 1 }\n");
    corpus_end(t);
}
static void endless_with_a_collective(corpus_text *t) {
    corpus_start(t);
    corpus_add(t, "while len(y) > 0 { let r = workgroup_reduce_add(s)\n s = s + r }\n");
    corpus_end(t);
}
static void endless_wait(corpus_text *t) {
    corpus_start(t);
    corpus_add(t, "var f = 0u32\nwhile f != 12345 { f = atomic_load(y[0]) & 0xff\n }\n");
    corpus_end(t);
}
static void loops_of_ages(corpus_text *t) {
    corpus_start(t);
    corpus_add(t, "for a in 0u64 .. 18446744073709551615 { for b in 0u64 .. 18446744073709551615 { s = s * 3 + u32(b) "
                  "} }\n");
    corpus_end(t);
}
static void endless_calls(corpus_text *t) {
    corpus_add(t, "fn f(a: u32) -> u32 { var b = a\n while b != 7 { b = b + 8 }\n return b }\n");
    corpus_start(t);
    corpus_add(t, "s = f(s * 8)\n");
    corpus_end(t);
}

/* ---- absurd sizes ---- */

static void grid_of_ages(corpus_text *t) {
    corpus_add(t, "program p {\nbuffer y : u32 read_write\nworkgroup 1\ngrid 4294967295, 4294967295, 4294967295\n"
                  "atomic_add(y[0], 1)\n}\n");
}
static void grid_over_the_limit(corpus_text *t) {
    corpus_add(t, "program p {\nbuffer y : u32 read_write\nworkgroup 1024\ngrid 4294967295\natomic_add(y[0], 1)\n}\n");
}
static void output_of_32_gib(corpus_text *t) {
    corpus_add(t, "program p {\nbuffer y : u32 read_write\nbuffer z : u64 write count 4294967295\nworkgroup 64\n"
                  "grid over y\nz[global_id.x] = u64(y[global_id.x])\n}\n");
}
static void outputs_of_8_tib(corpus_text *t) {
    corpus_add(t, "program p {\nbuffer y : u32 read_write\n");
    for (unsigned k = 0; k < 254; k++)
        corpus_add(t, "buffer z%u : u64 write count 4294967295\n", k);
    corpus_add(t, "workgroup 64\ngrid over y\nz7[global_id.x] = u64(y[global_id.x])\n}\n");
}
static void count_beyond_64_bits(corpus_text *t) {
    corpus_add(t, "program p {\nbuffer y : u32 read_write\n"
                  "buffer z : u32 write count len(y) * 4294967295 * 4294967295 * 4294967295\n"
                  "workgroup 64\ngrid over y\nz[global_id.x] = y[global_id.x]\n}\n");
}
static void arrays_over_the_limit(corpus_text *t) {
    corpus_add(t, "program p {\nbuffer y : u32 read_write\nworkgroup 64\narray a : u64 [18446744073709551615] private\n"
                  "array b : u64 [4294967295] workgroup\ny[0] = u32(a[1] + b[2])\n}\n");
}
static void nothing_at_all(corpus_text *t) {
    corpus_add(t, "program p {\nbuffer y : u32 read_write\nworkgroup 1\ngrid 0\ny[0] = 1\n}\n");
}

/* ---- texts ---- */

static void every_byte(corpus_text *t) {
    for (unsigned k = 0; k < 65536; k++) {
        char c = (char)(k * 7 + k / 256);
        corpus_put(t, &c, 1);
    }
}
static void open_brackets(corpus_text *t) {
    corpus_start(t);
    corpus_repeat(t, 4000000, "(");
}
static void open_blocks(corpus_text *t) {
    corpus_start(t);
    corpus_repeat(t, 1000000, "if true {\n");
}
static void zeros(corpus_text *t) {
    static const char none[4096];
    for (unsigned k = 0; k < 1024; k++)
        corpus_put(t, none, sizeof none);
}
static void bad_utf8(corpus_text *t) {
    corpus_start(t);
    corpus_repeat(t, 100000, "\xc3\x28\xf0\x9f\x92\xff\xed\xa0\x80");
}
static void long_name(corpus_text *t) {
    corpus_start(t);
    corpus_add(t, "let ");
    corpus_repeat(t, 10000000, "n");
    corpus_add(t, " = 1u32\n");
    corpus_end(t);
}
static void endless_comment(corpus_text *t) {
    corpus_start(t);
    corpus_add(t, "/*");
    corpus_repeat(t, 5000000, "* ");
}
static void long_number(corpus_text *t) {
    corpus_start(t);
    corpus_add(t, "let x = 1");
    corpus_repeat(t, 1000000, "0");
    corpus_add(t, "\n");
    corpus_end(t);
}
static void huge_exponents(corpus_text *t) {
    corpus_start(t);
    corpus_add(t, "let a = 1e999999999999999999\nlet b = 1e-999999999999999999f64\nlet c = 0x1p99999999999999999999\n");
    corpus_end(t);
}
static void many_mistakes(corpus_text *t) {
    corpus_start(t);
    for (unsigned k = 0; k < 100000; k++)
        corpus_add(t, "let a%u = nothing%u + 1.5u32 $ q\n", k, k);
    corpus_end(t);
}
/* 29 MB: the limit on statements has to stop it before memory does. */
static void statements_over_the_limit(corpus_text *t) {
    corpus_start(t);
    corpus_repeat(t, 4200000, "s = 1;\n");
    corpus_end(t);
}

/* What a host may see. ENDLESS is an error at the deadline, whatever the deadline is. */
typedef enum corpus_outcome { CORPUS_RESULT, CORPUS_ERROR, CORPUS_EITHER, CORPUS_ENDLESS } corpus_outcome;
typedef struct corpus_case {
    const char *name;
    void (*make)(corpus_text *t);
    corpus_outcome outcome;
    int every_width; /* compiled at each width, not only at the one that fits */
} corpus_case;

/* A case that a fast machine finishes within the deadline and a slow one does not is EITHER. */
static const corpus_case corpus[] = {
#define CASE(name, outcome, every_width)                                                                               \
    { #name, name, CORPUS_##outcome, every_width }
    CASE(live_values_500, EITHER, 1),
    CASE(live_values_3000, EITHER, 1),
    CASE(live_across_barriers, EITHER, 0),
    CASE(private_arrays_at_the_limit, EITHER, 1),
    CASE(workgroup_arrays_at_the_limit, EITHER, 0),
    CASE(nested_ifs, EITHER, 0),
    CASE(nested_loops, EITHER, 0),
    CASE(nested_whiles, EITHER, 0),
    CASE(nested_over_the_limit, ERROR, 0),
    CASE(else_ifs_at_the_limit, EITHER, 0),
    CASE(else_ifs_over_the_limit, ERROR, 0),
    CASE(parentheses, EITHER, 0),
    CASE(parentheses_over_the_limit, ERROR, 0),
    CASE(unaries, EITHER, 0),
    CASE(unaries_over_the_limit, ERROR, 0),
    CASE(loads_in_indices, EITHER, 0),
    CASE(selects, EITHER, 0),
    CASE(conversions, EITHER, 0),
    CASE(calls_of_builtins, EITHER, 0),
    CASE(calls_in_calls, EITHER, 0),
    CASE(many_loops, EITHER, 0),
    CASE(straight_line_16000, EITHER, 0),
    CASE(straight_line_over_the_limit, EITHER, 0),
    CASE(doubling_calls_4096, EITHER, 0),
    CASE(doubling_calls_over_the_limit, ERROR, 0),
    CASE(nested_constant_loops, EITHER, 0),
    CASE(many_atomics, EITHER, 0),
    CASE(many_barriers, EITHER, 0),
    CASE(many_grid_barriers, EITHER, 0),
    CASE(many_divisions, EITHER, 0),
    CASE(many_remainders, EITHER, 0),
    CASE(many_collectives, EITHER, 0),
    CASE(many_functions, EITHER, 0),
    CASE(many_consts, EITHER, 0),
    CASE(loop_that_llvm_does_not_finish, EITHER, 1),
    CASE(endless, ERROR, 0),
    CASE(endless_and_empty, ENDLESS, 0),
    CASE(endless_by_one, ENDLESS, 0),
    CASE(endless_with_a_barrier, ENDLESS, 0),
    CASE(endless_with_a_grid_barrier, ENDLESS, 0),
    CASE(endless_with_a_collective, ENDLESS, 0),
    CASE(endless_wait, ENDLESS, 0),
    CASE(loops_of_ages, ENDLESS, 0),
    CASE(endless_calls, ENDLESS, 0),
    CASE(grid_of_ages, ERROR, 0),
    CASE(grid_over_the_limit, ERROR, 0),
    CASE(output_of_32_gib, ERROR, 0),
    CASE(outputs_of_8_tib, ERROR, 0),
    CASE(count_beyond_64_bits, ERROR, 0),
    CASE(arrays_over_the_limit, ERROR, 0),
    CASE(nothing_at_all, RESULT, 0),
    CASE(every_byte, ERROR, 0),
    CASE(open_brackets, ERROR, 0),
    CASE(open_blocks, ERROR, 0),
    CASE(zeros, ERROR, 0),
    CASE(bad_utf8, ERROR, 0),
    CASE(long_name, ERROR, 0),
    CASE(endless_comment, ERROR, 0),
    CASE(long_number, ERROR, 0),
    CASE(huge_exponents, ERROR, 0),
    CASE(many_mistakes, ERROR, 0),
    CASE(statements_over_the_limit, ERROR, 0),
#undef CASE
};
enum { CORPUS_CASES = sizeof corpus / sizeof *corpus };

#endif
