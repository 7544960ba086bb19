/* Loops over private arrays are written trip by trip, their arrays become variables, and nothing else changes: case by
 * case, random texts, and random programs. */
#include "ir/build/builder_internal.h"
#include "lower/traps_runner.h"

#include "ir/irbuilder.h"
#include "opt/unroll_arrays.h"
#include "support/fault.h"
#include "vyre/wire.h"

#include <stdarg.h>

enum { INVOCATIONS = 4, ELEMENTS = 64 };

static const vyre_arguments *usual(void) {
    static uint32_t values[2][ELEMENTS];
    static vyre_span spans[2];
    static vyre_arguments arguments;
    for (uint32_t b = 0; b < 2; b++) {
        for (uint32_t i = 0; i < ELEMENTS; i++)
            values[b][i] = i * 2654435761u + b * 977u;
        spans[b] = (vyre_span){values[b], sizeof values[b]};
    }
    arguments = (vyre_arguments){.inputs = spans, .input_count = 2};
    return &arguments;
}

/* x is read, y is read and written, 16 elements of it from `o` on by each invocation; w and v are arrays. */
static vyre_program *program_of(const char *body) {
    static char text[1 << 16];
    int length = snprintf(text, sizeof text,
                          "program p {\n  level legal\n  buffer x : u32 read count %d\n"
                          "  buffer y : u32 read_write count %d\n  workgroup %d\n  grid 1\n"
                          "  array w : u32 [16] private\n  array v : u32 [100] private\n\n"
                          "  let i = local_index\n  let o = i * 16\n%s}\n",
                          ELEMENTS, ELEMENTS, INVOCATIONS, body);
    assert_true(length > 0 && (size_t)length < sizeof text);
    return vy_test_parse(text);
}

static vyre_program *written(const vyre_program *program) {
    vyre_program *made = NULL;
    vyre_error error = {0};
    if (vy_unroll_arrays(program, &made, &error) != VYRE_OK || vy_program_verify(made, &error) != VYRE_OK) {
        print_program(program);
        fail_msg("%s", error.message);
    }
    return made;
}

/* Writes out, compares what both compute, and gives what was made. */
static vyre_program *compared(const char *body) {
    static outcome want, got;
    const vy_lowered_env none = {0};
    vyre_program *program = program_of(body), *made = written(program);
    outcome_of(program, usual(), (vyre_oracle_options){.budget = STEPS}, &none, &want);
    outcome_of(made, usual(), (vyre_oracle_options){.budget = STEPS}, &none, &got);
    const char *difference = want.status == VYRE_OK ? outcome_differs(&want, &got) : want.message;
    if (difference) {
        print_program(program);
        print_program(made);
        fail_msg("%s", difference);
    }
    outcome_free(&want);
    outcome_free(&got);
    vyre_program_release(program);
    return made;
}

typedef struct counts {
    unsigned statements, loops, ifs, arrays, loads, lets, vars;
} counts;

static counts counts_of(const vyre_program *program) {
    counts c = {.statements = program->stmts.count, .arrays = program->memories.count - program->buffer_count};
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        uint8_t kind = program->stmts.items[i].kind;
        c.loops += (unsigned)vy_stmt_is_loop(kind);
        c.ifs += kind == VY_STMT_IF;
        c.lets += kind == VY_STMT_LET;
        c.vars += kind == VY_STMT_VAR;
    }
    for (uint32_t i = 0; i < program->exprs.count; i++)
        c.loads += program->exprs.items[i].kind == VY_EXPR_LOAD;
    return c;
}

static counts counted(const char *body) {
    vyre_program *made = compared(body);
    counts c = counts_of(made);
    vyre_program_release(made);
    return c;
}

/* ---- case by case ---- */

static void arrays_of_written_loops_become_variables(void **state) {
    (void)state;
    counts c = counted("  for t in 0u32 .. 16 { w![t] = x![o + t] * 3 }\n"
                       "  for t in 4u32 .. 64 step 4 { w![t & 15] = w![t / 4] + w![15 - t / 4] }\n"
                       "  for t in 0u32 .. 16 { y![o + t] = w![t] }\n");
    assert_int_equal(c.arrays, 0);
    assert_int_equal(c.loops, 0);
    assert_int_equal(c.loads, 16);
    assert_int_equal(c.vars, 16); /* nobody uses v */
}

static void arrays_of_literals_become_literals(void **state) {
    (void)state;
    counts c = counted("  for t in 0u32 .. 16 { w![t] = 0 }\n  w![0] = 7\n  w![3] = 9\n  w![0] = 8\n"
                       "  for t in 0u32 .. 4 { y![o + t] = x![o + t] + w![t] }\n");
    assert_int_equal(c.arrays, 0);
    assert_int_equal(c.vars, 0);
    c = counted("  w![0] = 7\n  let a = w![0]\n  w![0] = 8\n  y![o] = a + w![0]\n"); /* both are read */
    assert_int_equal(c.arrays, 0);
    assert_int_equal(c.vars, 16);
}

static void what_a_trip_decides_is_decided(void **state) {
    (void)state;
    counts c = counted("  for t in 0u32 .. 16 { w![t] = 0 }\n  for t in 0u32 .. 16 {\n    let far = t >= 8\n"
                       "    if far { w![t] = w![t - 8] + 1 } else { w![t] = x![o + t] }\n"
                       "    if t == 20 { y![o] = 1 }\n"
                       "    w![t] = t < 3 ? x![o] : far && x![o] > 5 ? 4 : w![t]\n"
                       "    w![t] = w![t] + w![t & 7 if t < 12]\n"
                       "    y![o + t] = w![t] + (t > 3 || x![o + 1] == 3 ? 1 : 2) + (x![o] == 0 && t > 9 ? 5 : 6)\n"
                       "    for k in 0u32 .. t / 8 { y![o] = y![o] + k }\n  }\n");
    assert_int_equal(c.arrays, 0);
    assert_int_equal(c.loops, 0);
    assert_int_equal(c.ifs, 0);
}

static void zeros_that_arrays_start_with_are_not_written(void **state) {
    (void)state;
    counts c = counted("  for t in 0u32 .. 100 { v![t] = 0 }\n  for t in 0u32 .. 16 { w![t] = 0 }\n"
                       "  w![1] = x![o]\n  v![99] = x![o + 1]\n  y![o] = w![1] + w![2] + v![99] + v![5]\n");
    assert_int_equal(c.arrays, 0);
    assert_int_equal(c.loops, 0);
    c = counted(
        "  w![1] = x![o]\n  for t in 0u32 .. 16 { w![t] = 0 }\n  y![o] = w![1]\n"); /* these are not the first */
    assert_int_equal(c.loops, 1);
    c = counted("  for t in 0u32 .. 16 { w![t] = 0 }\n  for t in 0u32 .. 9 { w![t] = 0 }\n  w![1] = x![o]\n"
                "  y![o] = w![1] + w![0]\n");
    assert_int_equal(c.loops, 0);
    assert_int_equal(c.arrays, 0);
}

static void what_zeros_end_at_may_be_loaded(void **state) {
    (void)state;
    counts c = counted("  v![0] = 100\n  v![4] = 3\n  let k = x![o] & 0 | 4\n  for t in 0u32 .. v![k] { w![t] = 0 }\n"
                       "  w![x![o] & 15] = 7\n  y![o] = w![2] + v![4]\n");
    assert_int_equal(c.arrays, 2);
}

static void other_indices_keep_the_array(void **state) {
    static const char *const bodies[] = {
        "  for t in 0u32 .. 16 { w![t] = t }\n  y![o] = w![x![o] & 15]\n",
        "  for t in 0u32 .. 16 { w![t] = t }\n  w![i] = 3\n  for t in 0u32 .. 16 { y![o + t] = w![t] }\n",
        "  w![0] = 1\n  for t in 0u32 .. x![o] & 15 { w![t] = 2 }\n  y![o] = w![0]\n",
        "  var k = 0u32\n  while k < 16 { w![k] = k + i\n k = k + 1 }\n  y![o] = w![5]\n",
        "  w![0] = 0\n  for t in 0u32 .. 100 { w![t & 15] = t }\n  y![o] = w![3]\n", /* many trips */
        "  w![0] = 1\n  y![o] = w![0 if x![o] > 9]\n"};
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        vyre_program *made = compared(bodies[i]);
        if (counts_of(made).arrays == 0) {
            print_program(made);
            fail_msg("case %zu", i);
        }
        vyre_program_release(made);
    }
}

static void loops_with_jumps_stay(void **state) {
    (void)state;
    counts c =
        counted("  for t in 0u32 .. 16 { w![t] = x![o + t] & 1\n    if w![t] == 1 { break }\n    y![o + t] = 5 }\n");
    assert_int_equal(c.loops, 1);
    assert_int_equal(c.arrays, 2 - 1);
    c = counted("  for t in 0u32 .. 16 { w![t] = x![o + t]\n    y![o + t] = w![t]\n    return }\n");
    assert_int_equal(c.loops, 0);
    assert_int_equal(c.arrays, 0);
}

/* What the inliner writes for `f(e, g)`. */
static void names_of_arguments_and_results_go(void **state) {
    (void)state;
    counts c = counted("  var e = x![o]\n  for t in 0u32 .. 16 {\n    var r = 0u32\n"
                       "    region \"f\" {\n      let a = e\n      let b = a\n      r = rotr(b, 7) + a\n    }\n"
                       "    e = e + r\n    w![t] = e\n  }\n  y![o] = w![15]\n");
    assert_int_equal(c.lets, 2 + 16); /* i, o, and what e becomes: results are used once */
    assert_int_equal(c.vars, 1 + 16);
}

static void a_name_keeps_what_changes_behind_it(void **state) {
    static const char *const bodies[] = {
        "  var e = x![o]\n  let a = e\n  e = 5\n  w![0] = a\n  y![o] = w![0] + e\n",
        "  var e = x![o]\n  let a = e\n  let b = a\n  e = 5\n  w![0] = b\n  y![o] = w![0] + e\n",
        "  var e = x![o]\n  let a = e\n  for t in 0u32 .. 4 { w![t] = a\n    e = e + 1 }\n  y![o] = w![3] + e\n",
        "  w![0] = 1\n  var e = x![o]\n  let a = e\n  for t in 0u32 .. 100 { y![o + (t & 3)] = a\n    e = e + 1 }\n",
        "  var e = x![o]\n  for t in 0u32 .. 4 { let a = e + t\n    e = e * 3\n    w![t] = a }\n  y![o] = w![3] + e\n",
        ("  var e = x![o]\n  let a = e\n  var k = 0u32\n  while k < a & 3 { e = e + 1\n  k = k + 1 }\n  w![0] = e + k\n"
         "  y![o] = w![0]\n"),
        "  w![1] = 1\n  var e = x![o]\n  let a = e\n  if a > 3 { e = 2\n    w![1] = a }\n  y![o] = w![1] + e\n",
        "  var r = 1u32\n  w![0] = r\n  r = x![o]\n  y![o] = w![0] + r\n", /* used before */
        "  var r = 1u32\n  if x![o] > 7 { r = 2 }\n  w![0] = r\n  y![o] = w![0]\n",
        "  var r = 1u32\n  for t in 0u32 .. 3 { w![t] = t * t\n    y![o + t] = r\n    r = t + w![t] }\n"};
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        vyre_program_release(compared(bodies[i]));
}

static void what_would_be_too_large_stays(void **state) {
    static char body[1 << 15];
    size_t used = (size_t)snprintf(body, sizeof body, "  for t in 0u32 .. 16 { w![t] = t }\n  for t in 0u32 .. 64 {\n");
    (void)state;
    for (int i = 0; i < 64; i++)
        used += (size_t)snprintf(body + used, sizeof body - used, "    w![t & 15] = w![(t + %d) & 15] * %du32 + t\n", i,
                                 i + 2);
    snprintf(body + used, sizeof body - used, "  }\n  y![o] = w![0]\n");
    assert_int_equal(counted(body).loops, 1);
}

/* Each has few trips for each of the one around it. */
static void loops_in_loops_are_not_too_large_together(void **state) {
    static char body[1 << 12];
    size_t used =
        (size_t)snprintf(body, sizeof body, "  var e = 0u32\n  for t in 0u32 .. 4 {\n    w![t] = x![o + t]\n");
    (void)state;
    for (int i = 0; i < 3; i++)
        used += (size_t)snprintf(body + used, sizeof body - used,
                                 "    for a in 0u32 .. t * 5 { for b in 0u32 .. t * 5 { for c in 0u32 .. t * 5 {\n"
                                 "      e = e * 3 + c\n    } } }\n");
    snprintf(body + used, sizeof body - used, "  }\n  y![o] = e + w![3]\n");
    counts c = counted(body);
    assert_int_equal(c.arrays, 0);
    assert_true(c.statements < 8000);
}

static void a_program_without_arrays_stays_as_it_is(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse("program p {\n  level legal\n  buffer y : u32 read_write\n  workgroup 1\n"
                                          "  grid 1\n  for t in 0u32 .. 4 { if t < len(y) { y![t] = t } }\n}\n");
    vyre_program *made = written(program);
    uint64_t nodes = 1;
    assert_ptr_equal(made, program);
    assert_int_equal(vy_unroll_arrays_size(program, &nodes, NULL), VYRE_OK);
    assert_int_equal(nodes, 0);
    vyre_program_release(made);
    vyre_program_release(program);
}

/* Also the one whose name is the first variable of all. */
static void every_load_is_written_once(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse("program p {\n  level legal\n  buffer x : u32 read count 8\n  workgroup 1\n"
                                          "  grid 1\n  array v : u32 [8] private\n"
                                          "  for t in 0u32 .. 2 { v![x![t] & 7] = 3 }\n}\n");
    vyre_program *made = written(program);
    assert_int_equal(counts_of(made).loads, 2);
    vyre_program_release(made);
    vyre_program_release(program);
}

/* Otherwise those that do not take the arm would load what others write. */
static void a_load_in_an_arm_gets_no_name(void **state) {
    (void)state;
    static const struct {
        const char *body;
        unsigned lets; /* of nothing but a load */
    } rows[] = {
        {"  for k in 0u32 .. 2 { w![k] = i > 2 ? y![o + 3] : 7 }\n  y![o] = w![0] + w![1]\n", 0},
        {"  for k in 0u32 .. 2 { w![k] = i > 2 && y![o + 3] == 1 ? 3 : 7 }\n  y![o] = w![0] + w![1]\n", 0},
        {"  for k in 0u32 .. 2 { w![k] = y![o + 3] > 2 ? i : 7 }\n  y![o] = w![0] + w![1]\n", 2},
        {"  for k in 0u32 .. 2 { w![k] = i > 2 ? x![o + 3] : 7 }\n  y![o] = w![0] + w![1]\n", 2},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        vyre_program *made = compared(rows[k].body);
        unsigned lets = 0;
        for (uint32_t i = 0; i < made->stmts.count; i++) {
            const vy_stmt *s = &made->stmts.items[i];
            lets += s->kind == VY_STMT_LET && made->exprs.items[s->a].kind == VY_EXPR_LOAD;
        }
        if (lets != rows[k].lets) {
            print_program(made);
            fail_msg("row %zu: %u loads have a name, not %u", k, lets, rows[k].lets);
        }
        vyre_program_release(made);
    }
}

static void the_size_is_that_of_all_trips(void **state) {
    uint64_t small, large;
    (void)state;
    vyre_program *two = program_of("  for t in 0u32 .. 2 { w![t] = x![o + t] * 3 }\n  y![o] = w![1]\n");
    vyre_program *all = program_of("  for t in 0u32 .. 16 { w![t] = x![o + t] * 3 }\n  y![o] = w![1]\n");
    assert_int_equal(vy_unroll_arrays_size(two, &small, NULL), VYRE_OK);
    assert_int_equal(vy_unroll_arrays_size(all, &large, NULL), VYRE_OK);
    assert_int_equal((large - small) % 14, 0);
    assert_true(large > small);
    vyre_program_release(two);
    vyre_program_release(all);
}

/* ---- random texts ---- */

enum { TEXT = 1 << 15, NAMES = 200, DEPTH = 4 };

typedef struct name {
    char kind; /* m: a variable; l: a let; t: of a loop that is written out */
    unsigned number;
} name;

typedef struct author {
    vy_random *random;
    char text[TEXT];
    size_t used;
    name names[NAMES]; /* visible */
    unsigned count, made, depth, loops, left;
    int is_wild; /* some indices are known when it runs */
} author;

static void put(author *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(author *a, const char *format, ...) {
    va_list list;
    va_start(list, format);
    a->used += (size_t)vsnprintf(a->text + a->used, sizeof a->text - a->used, format, list);
    va_end(list);
    assert_true(a->used < sizeof a->text);
}

static unsigned below(author *a, unsigned bound) {
    return (unsigned)vy_random_below(a->random, bound);
}

static void declare(author *a, char kind, unsigned number) {
    if (a->count < NAMES)
        a->names[a->count++] = (name){kind, number};
}

/* A visible name of a kind; 0 if there is none. */
static int pick(author *a, const char *kinds, name *out) {
    for (int tries = 0; tries < 8 && a->count; tries++) {
        *out = a->names[below(a, a->count)];
        if (strchr(kinds, out->kind))
            return 1;
    }
    return 0;
}

/* Mostly something that is a literal once loops are written out. */
static void put_index(author *a) {
    name n;
    if (a->is_wild && below(a, 12) == 0)
        put(a, "x![o] & 15");
    else if (pick(a, "t", &n) && below(a, 5))
        put(a, below(a, 2) ? "%c%u * %u + %u & 15" : "%c%u / 2 + %u * %u & 15", n.kind, n.number, below(a, 4),
            below(a, 9));
    else
        put(a, "%uu32", below(a, 16));
}

static void put_value(author *a, unsigned depth) {
    static const char *const ops[] = {"+", "*", "^", "-", "&"};
    static const char *const tests[] = {"<", "==", ">="};
    name n;
    switch (depth ? below(a, 9) : below(a, 3)) {
    case 0:
        put(a, "%uu32", below(a, 40));
        return;
    case 1:
    case 2:
        if (pick(a, "mlt", &n))
            put(a, "%c%u", n.kind, n.number);
        else
            put(a, "x![o]");
        return;
    case 3:
        put(a, "w![");
        put_index(a);
        put(a, "]");
        return;
    case 4:
        put(a, "(");
        put_value(a, depth - 1);
        put(a, " %s ", tests[below(a, 3)]);
        put_value(a, depth - 1);
        put(a, below(a, 2) ? " && " : " || ");
        put_value(a, depth - 1);
        put(a, " %s %u ? ", tests[below(a, 3)], below(a, 9));
        put_value(a, depth - 1);
        put(a, " : ");
        put_value(a, depth - 1);
        put(a, ")");
        return;
    case 5:
        put(a, "w![");
        put_index(a);
        put(a, " if (");
        if (a->is_wild)
            put_value(a, 0);
        else
            put_index(a);
        put(a, ")");
        put(a, " < %u]", below(a, 20));
        return;
    default:
        put(a, "(");
        put_value(a, depth - 1);
        put(a, " %s ", ops[below(a, 5)]);
        put_value(a, depth - 1);
        put(a, ")");
    }
}

static void put_block(author *a, unsigned statements);

static void put_inner(author *a) {
    unsigned mark = a->count;
    a->depth++;
    put(a, " {\n");
    put_block(a, 1 + below(a, 4));
    put(a, "}");
    a->depth--;
    a->count = mark;
}

static void put_let(author *a) {
    name n;
    unsigned number = a->made++;
    put(a, "let l%u = ", number);
    if (pick(a, "mlt", &n) && below(a, 2))
        put(a, "%c%u", n.kind, n.number);
    else
        put_value(a, 2);
    put(a, "\n");
    declare(a, 'l', number);
}

static void put_assignment(author *a) {
    name n;
    if (!pick(a, "m", &n))
        return;
    put(a, "m%u = ", n.number);
    put_value(a, 2);
    put(a, "\n");
}

static void put_for(author *a) {
    unsigned number = a->made++, mark = a->count, from = below(a, 5);
    put(a, "for t%u in %uu32 .. ", number, from);
    if (a->is_wild && below(a, 8) == 0)
        put(a, "(x![o] & 3)");
    else
        put(a, "%u", from + below(a, 6));
    if (below(a, 4) == 0)
        put(a, " step %u", 1 + below(a, 3));
    declare(a, 't', number);
    a->loops++;
    put_inner(a);
    a->loops--;
    put(a, "\n");
    a->count = mark;
}

/* As a call that was inlined. */
static void put_call(author *a) {
    unsigned number = a->made++, mark = a->count;
    char kind = below(a, 3) ? 'l' : 'm'; /* assigned once, or perhaps again */
    put(a, "var %c%u = 0u32\nregion \"f\" {\n", kind, number);
    put_let(a);
    if (below(a, 4) == 0)
        put_assignment(a);
    put(a, "%c%u = ", kind, number);
    put_value(a, 2);
    put(a, "\n}\n");
    a->count = mark;
    declare(a, kind, number);
}

static void put_stmt(author *a) {
    unsigned number;
    switch (a->depth < DEPTH ? below(a, 11) : below(a, 7)) {
    case 0:
    case 1:
        put_let(a);
        return;
    case 2:
        number = a->made++;
        put(a, "var m%u = ", number);
        put_value(a, 2);
        put(a, "\n");
        declare(a, 'm', number);
        return;
    case 3:
        put_assignment(a);
        return;
    case 4:
        put(a, "y![o + (");
        put_index(a);
        put(a, ")] = ");
        put_value(a, 2);
        put(a, "\n");
        return;
    case 5:
    case 6:
        put(a, "w![");
        put_index(a);
        put(a, "] = ");
        put_value(a, 2);
        put(a, "\n");
        return;
    case 7:
        put(a, "if ");
        put_value(a, 1);
        put(a, " < %u", below(a, 30));
        put_inner(a);
        if (below(a, 2)) {
            put(a, " else");
            put_inner(a);
        }
        put(a, "\n");
        return;
    case 8:
        put_call(a);
        return;
    default:
        put_for(a);
    }
}

/* Now and then a jump ends a block. */
static void put_block(author *a, unsigned statements) {
    for (unsigned i = 0; i < statements && a->left; i++, a->left--)
        put_stmt(a);
    if (a->depth > 1 && below(a, 30) == 0)
        put(a, a->loops && below(a, 3) ? below(a, 2) ? "break\n" : "continue\n" : "return\n");
}

static void random_texts_keep_their_bits(void **state) {
    static author a;
    const char *given = getenv("VYRE_SEED");
    uint64_t first = given ? strtoull(given, NULL, 0) : 1;
    unsigned without = 0;
    (void)state;
    for (uint64_t seed = first; seed < first + (VY_SANITIZED ? 150 : 1200) * (uint64_t)vy_test_effort(); seed++) {
        vy_random random = vy_random_start(seed);

        a = (author){.random = &random, .left = 60, .is_wild = below(&(author){.random = &random}, 2) != 0};
        put(&a, "for z in 0u32 .. 16 { w![z] = 0 }\n");
        put_block(&a, 20);
        for (unsigned i = 0; i < a.count; i++)
            put(&a, "y![o + %u] = y![o + %u] ^ %c%u\n", i % 16, i % 16, a.names[i].kind, a.names[i].number);
        put(&a, "y![o + 3] = y![o + 3] + w![5] + w![6]\n");
        vyre_program *made = compared(a.text);
        without += counts_of(made).arrays == 0;
        vyre_program_release(made);
    }
    assert_true(given || without > 20);
}

/* Where an expression came from is not known any more; that is no reason to lose the lines on the way. */
static void statements_keep_their_lines(void **state) {
    (void)state;
    vyre_program *made = compared("  for t in 0u32 .. 16 { w![t] = x![o + t] }\n"
                                  "  for t in 0u32 .. 16 { y![o + t] = w![15 - t] }\n");
    vyre_program *back = NULL;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    assert_int_equal(made->stmt_positions.count, made->stmts.count);
    assert_int_equal(made->expr_positions.count, 0);
    assert_int_equal(vy_program_finalize(made, NULL), VYRE_OK);
    assert_int_equal(vyre_wire_encode(made, VYRE_WIRE_DEBUG, &bytes, NULL), VYRE_OK);
    assert_int_equal(vyre_wire_decode(bytes.data, bytes.size, NULL, &back, NULL), VYRE_OK);
    assert_true(vyre_program_equal(made, back));
    for (uint32_t i = 0; i < made->stmts.count; i++)
        assert_int_equal(vy_stmt_position(back, i).line, vy_stmt_position(made, i).line);
    assert_int_equal(vy_stmt_position(back, back->stmts.count - 1).line, 13);
    vyre_bytes_free(&bytes);
    vyre_program_release(back);
    vyre_program_release(made);
}

/* ---- random programs ---- */

static void legal_programs_keep_their_bits(void **state) {
    static question q;
    (void)state;
    for (uint64_t seed = 1; seed <= (VY_SANITIZED ? 60 : 400) * (uint64_t)vy_test_effort(); seed++) {
        vyre_generate_options options = {.seed = seed, .statements = 10 + (unsigned)(seed % 30)};
        vyre_case *made = NULL;
        assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
        vyre_program *program = vyre_case_program(made);
        q.target = (vy_target_desc){.exact = ALL_BITS, .access_bytes = 16, .unroll_arrays = 1};
        q.options = (vyre_oracle_options){.budget = (uint64_t)MORE * STEPS};
        q.conditions = (vy_lowered_env){.garbage = seed};
        if (!(program->facts & VY_PROGRAM_HAS_GRID_BARRIER) && want_outcome(&q, program, vyre_case_arguments(made)) &&
            misbehaves(&q, program, vyre_case_arguments(made)))
            fail_small(&q, program, vyre_case_arguments(made), "written out");
        vyre_case_free(made);
    }
    outcome_free(&q.want);
}

static vyre_status writes(void *program) {
    vyre_program *made;
    vyre_status status = vy_unroll_arrays(program, &made, NULL);
    uint64_t nodes;
    vyre_program_release(made);
    return status == VYRE_OK ? vy_unroll_arrays_size(program, &nodes, NULL) : status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    vyre_program *program = program_of("  for t in 0u32 .. 16 { let a = x![o + t]\n    w![t] = a * a }\n"
                                       "  for t in 0u32 .. 16 { y![o + t] = w![15 - t] }\n");
    assert_true(VY_FAULT_LOOP(writes, program) > 5);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_written_loops_become_variables),
        cmocka_unit_test(arrays_of_literals_become_literals),
        cmocka_unit_test(what_a_trip_decides_is_decided),
        cmocka_unit_test(zeros_that_arrays_start_with_are_not_written),
        cmocka_unit_test(what_zeros_end_at_may_be_loaded),
        cmocka_unit_test(other_indices_keep_the_array),
        cmocka_unit_test(loops_with_jumps_stay),
        cmocka_unit_test(names_of_arguments_and_results_go),
        cmocka_unit_test(a_name_keeps_what_changes_behind_it),
        cmocka_unit_test(what_would_be_too_large_stays),
        cmocka_unit_test(loops_in_loops_are_not_too_large_together),
        cmocka_unit_test(a_program_without_arrays_stays_as_it_is),
        cmocka_unit_test(every_load_is_written_once),
        cmocka_unit_test(a_load_in_an_arm_gets_no_name),
        cmocka_unit_test(the_size_is_that_of_all_trips),
        cmocka_unit_test(statements_keep_their_lines),
        cmocka_unit_test(random_texts_keep_their_bits),
        cmocka_unit_test(legal_programs_keep_their_bits),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
