/* What is said to be written whole is: claims about programs in all the forms people write, and random programs whose
 * every store is a 7, so that the oracle's zeros are what was not stored to. */
#include "oracle/trial.h"

#include "analysis/full_write.h"
#include "ir/dispatch_resolve.h"

/* Whether the first `write` buffer is covered by a dispatch with these arguments. */
static int is_covered(const vyre_program *program, const vyre_arguments *arguments) {
    vy_full_write covers[VY_LIMIT_BUFFERS];
    vy_resolved_dispatch launch;
    uint64_t counts[VY_LIMIT_BUFFERS];
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vy_full_write_find(program, covers, &error), VYRE_OK);
    if (vy_resolve_dispatch(program, arguments, &launch, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_buffer_info info;
    uint32_t which = VY_NONE;
    for (uint32_t i = 0; vyre_program_buffer(program, i, &info); i++) {
        counts[i] = launch.buffers[i].count;
        if (info.access == VYRE_ACCESS_WRITE && which == VY_NONE)
            which = i;
        else
            assert_false(info.access != VYRE_ACCESS_WRITE && covers[i].is_covered);
    }
    return vy_full_write_holds(&covers[which], which, counts, arguments->params, launch.groups);
}

/* ---- claims ---- */

enum { ELEMENTS = 24 };

/* A program over 24 elements of `a`, which are also what `b` has, and a param n. */
static int covers(const char *body, uint32_t n, uint32_t x, uint32_t y) {
    char text[2000];
    uint32_t a[ELEMENTS] = {0};
    trial t;
    vyre_scalar scalar = vyre_scalar_u32(n);
    snprintf(text, sizeof text,
             "fn leave(v : u32) -> u32 { if v > 3 { return 1 } return 7 }\n"
             "program p {\n param n : u32\n buffer a : u32 read\n buffer b : u32 write count len(a)\n"
             " buffer c : u32 write count 5\n workgroup 4, 2\n%s\n}",
             body);
    trial_open(&t, text);
    trial_input(&t, a, sizeof a);
    trial_groups(&t, x, y, 1);
    t.arguments.params = &scalar;
    t.arguments.param_count = 1;
    int result = is_covered(t.program, &t.arguments);
    if (result) {
        trial_expect(&t, VYRE_OK);
        for (int i = 0; i < ELEMENTS; i++)
            assert_int_equal(trial_u32(&t, 0)[i], 7);
    }
    trial_close(&t);
    return result;
}

static void a_store_at_the_own_id_covers(void **state) {
    (void)state;
    assert_true(covers("b[global_id.x] = 7", 0, 6, 1));
    assert_true(covers("let i = global_id.x\n let j = i\n b[j] = 7", 0, 6, 1));
    assert_true(covers("let i = u64(global_id.x)\n b[i] = 7", 0, 6, 1));
    assert_true(covers("c[global_id.x] = 1\n b[global_id.x] = 7\n c[global_id.x] = 2", 0, 9, 3));
}

static void conditions_that_hold_inside_do_not_matter(void **state) {
    (void)state;
    assert_true(covers("let i = global_id.x\n if i < len(b) { b[i] = 7 }", 0, 6, 1));
    assert_true(covers("let i = global_id.x\n if i < len(a) { b[i] = 7 }", 0, 6, 1));
    assert_true(covers("let i = global_id.x\n if len(a) > i { b[i] = 7 }", 0, 6, 1));
    assert_true(covers("let i = global_id.x\n if i >= len(b) { return }\n b[i] = 7", 0, 6, 1));
    assert_true(covers("let i = global_id.x\n if !(i < len(b)) { return }\n b[i] = 7", 0, 6, 1));
    assert_true(covers("let i = global_id.x\n if i >= len(b) { c[0] = 1 } else { b[i] = 7 }", 0, 6, 1));
    assert_true(covers("let i = global_id.x\n let inside = i < n && i < len(b)\n if inside { b[i] = 7 }", 24, 6, 1));
    assert_true(covers("let i = global_id.x\n if i < min(n, len(b)) { b[i] = 7 }", 25, 6, 1));
    assert_true(covers("let i = global_id.x\n if i >= n || i >= 24 { return }\n b[i] = 7", 24, 6, 1));
    assert_true(covers("if global_id.y == 0 { c[0] = 1 }\n if global_id.y < 1 { b[global_id.x] = 7 }", 0, 6, 1));
}

static void what_runs_before_does_not_matter_unless_it_returns(void **state) {
    (void)state;
    assert_true(covers("let i = global_id.x\n for k in 0u32 .. a[i] { if k > 2 { break } }\n b[i] = 7", 0, 6, 1));
    assert_true(covers("let i = global_id.x\n if a[i] == 5 { trap 1 }\n b[i] = leave(i)\n b[i] = 7", 0, 6, 1));
    assert_true(covers("let i = global_id.x\n if a[i] == 5 { b[i] = 7 } else { b[i] = 7 }", 0, 6, 1));
    assert_true(covers("let i = global_id.x\n if a[i] == 5 { b[i] = 7\n return }\n b[i] = 7", 0, 6, 1));
    assert_false(covers("let i = global_id.x\n if a[i] == 5 { return }\n b[i] = 7", 0, 6, 1));
    assert_false(covers("let i = global_id.x\n for k in 0u32 .. 3 { if a[k] == 5 { return } }\n b[i] = 7", 0, 6, 1));
    assert_false(covers("let i = global_id.x\n if i < len(b) { return }\n b[i] = 7", 0, 6, 1));
}

static void other_stores_do_not_cover(void **state) {
    (void)state;
    assert_false(covers("b[global_id.x + 1] = 7", 0, 6, 1));
    assert_false(covers("b[global_id.y] = 7", 0, 6, 1));
    assert_false(covers("b[local_id.x] = 7", 0, 6, 1));
    assert_false(covers("b[0] = 7", 0, 6, 1));
    assert_false(covers("c[global_id.x] = 7", 0, 6, 1));
    assert_false(covers("b[u32(u8(global_id.x))] = 7", 0, 6, 1));
    assert_false(covers("var i = global_id.x\n i = i + 1\n b[i] = 7", 0, 6, 1));
    assert_false(covers("let i = global_id.x\n if a[i] == 5 { b[i] = 7 }", 0, 6, 1));
    assert_false(covers("let i = global_id.x\n if a[i] == 5 || i < 3 { b[i] = 7 }", 0, 6, 1));
    assert_false(covers("let i = global_id.x\n if a[i] == 5 && i < 30 { b[i] = 7 }", 0, 6, 1));
    assert_false(covers("let i = global_id.x\n if i <= len(b) { b[i] = 7 }", 0, 6, 1));
    assert_false(covers("let i = global_id.x\n if i > 0 { b[i] = 7 }", 0, 6, 1));
    assert_false(covers("for i in 0u32 .. 3 { b[global_id.x] = 7 }", 0, 6, 1));
}

static void bounds_are_those_of_the_dispatch(void **state) {
    (void)state;
    assert_false(covers("b[global_id.x] = 7", 0, 5, 9));
    assert_false(covers("let i = global_id.x\n if i < n { b[i] = 7 }", 23, 6, 1));
    assert_false(covers("let i = global_id.x\n if i < 23 { b[i] = 7 }", 0, 6, 1));
    assert_false(covers("let i = global_id.x\n if i >= len(c) { return }\n b[i] = 7", 0, 6, 1));
    assert_false(covers("let i = global_id.x\n if i < min(len(b), n) { b[i] = 7 }", 3, 6, 1));
    assert_false(covers("if global_id.y < n { b[global_id.x] = 7 }", 0, 6, 1));
}

static void rows_cover(void **state) {
    (void)state;
    const char *rows = "let x = global_id.x\n let y = global_id.y\n if x < n && y < 6 { b[y * n + x] = 7 }";
    assert_true(covers(rows, 4, 1, 3));
    assert_true(covers(rows, 5, 2, 3)); /* the last row is not whole */
    assert_false(covers(rows, 3, 1, 4));
    assert_false(covers(rows, 4, 1, 2));
    assert_false(covers(rows, 5, 1, 3));
    assert_false(covers(rows, 0, 6, 6));
    assert_true(covers("b[global_id.x + 8 * global_id.y] = 7", 0, 2, 2));
    assert_false(covers("b[global_id.x + 9 * global_id.y] = 7", 0, 2, 2));
    assert_true(covers("if global_id.x >= n { return }\n b[global_id.x + n * global_id.y] = 7", 30, 8, 1));
    assert_false(covers("if global_id.x >= 3 { return }\n b[global_id.x + n * global_id.y] = 7", 4, 8, 8));
    assert_false(covers("b[global_id.y + n * global_id.x] = 7", 4, 8, 8));
    assert_false(covers("if a[0] == 1 { b[global_id.x] = 7 } else { b[global_id.x + n * global_id.y] = 7 }", 4, 8, 8));
}

/* ---- random programs ---- */

typedef struct text {
    char bytes[6000];
    size_t used;
} text;

static void add(text *t, const char *piece) {
    size_t length = strlen(piece);
    assert_true(t->used + length < sizeof t->bytes);
    memcpy(t->bytes + t->used, piece, length + 1);
    t->used += length;
}

static const char *pick(vy_random *random, const char *const *pieces, size_t count) {
    return pieces[vy_random_below(random, count)];
}
#define PICK(random, ...)                                                                                              \
    pick(random, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void add_condition(text *t, vy_random *random, int depth) {
    if (depth && vy_random_below(random, 3) == 0) {
        add(t, "(");
        add_condition(t, random, depth - 1);
        add(t, PICK(random, " && ", " || "));
        add_condition(t, random, depth - 1);
        add(t, ")");
        return;
    }
    if (vy_random_below(random, 5) == 0)
        add(t, "!");
    add(t, "(");
    add(t, PICK(random, "x", "y", "global_id.x", "i", "x", "u64(x)"));
    int is_wide = t->bytes[t->used - 1] == ')';
    add(t, PICK(random, " < ", " >= ", " < ", " >= ", " <= ", " > ", " != "));
    add(t, is_wide ? "u64(" : "");
    add(t, PICK(random, "len(b)", "len(a)", "n", "m", "24", "min(n, len(a))", "7", "len(b)", "1000"));
    add(t, is_wide ? ")" : "");
    add(t, ")");
}

static void add_store(text *t, vy_random *random) {
    add(t, "b[");
    add(t,
        PICK(random, "x", "i", "global_id.x", "y * n + x", "x + m * y", "x", "i", "x * n + y", "y", "x + 1", "i64(x)"));
    add(t, "] = 7\n");
}

static void add_block(text *t, vy_random *random, int depth) {
    uint64_t count = 1 + vy_random_below(random, 3);
    for (uint64_t i = 0; i < count; i++) {
        switch (depth ? vy_random_below(random, 8) : vy_random_below(random, 3)) {
        case 0:
        case 1:
            add_store(t, random);
            break;
        case 2:
            add(t, PICK(random, "c[x] = n\n", "b[x] = 7\n", "if x == 1000000 { trap 3 }\n"));
            break;
        case 3:
            add(t, depth == 3 ? "for k3 in 0u32 .. " : depth == 2 ? "for k2 in 0u32 .. " : "for k1 in 0u32 .. ");
            add(t, PICK(random, "2", "n", "0"));
            add(t, " {\n");
            add_block(t, random, depth - 1);
            add(t, "}\n");
            break;
        case 4:
            add(t, "if ");
            add_condition(t, random, 1);
            add(t, " { return }\n");
            break;
        default:
            add(t, "if ");
            add_condition(t, random, 2);
            add(t, " {\n");
            add_block(t, random, depth - 1);
            if (vy_random_below(random, 2)) {
                add(t, "} else {\n");
                add_block(t, random, depth - 1);
            }
            add(t, "}\n");
            break;
        }
    }
}

static void make_program(text *t, vy_random *random) {
    t->used = 0;
    add(t, "program p {\n param n : u32\n param m : u32\n buffer a : u32 read\n buffer b : u32 write count ");
    add(t, PICK(random, "len(a)", "n * m", "24", "len(a) + 1"));
    add(t, "\n buffer c : u32 write count 5\n workgroup 4, 2\n let x = global_id.x\n let y = "
           "global_id.y\n let i = x\n");
    add_block(t, random, 3);
    add(t, "}");
}

/* Returns 1 if it is said to be covered. */
static int check_random(vy_random *random) {
    text made;
    trial t;
    uint32_t a[32] = {0};
    make_program(&made, random);
    trial_open(&t, made.bytes);
    vyre_scalar params[2] = {vyre_scalar_u32((uint32_t)vy_random_below(random, 12)),
                             vyre_scalar_u32((uint32_t)vy_random_below(random, 12))};
    trial_input(&t, a, 4 * (size_t)vy_random_below(random, 30));
    trial_groups(&t, 1 + (uint32_t)vy_random_below(random, 8), 1 + (uint32_t)vy_random_below(random, 8), 1);
    t.arguments.params = params;
    t.arguments.param_count = 2;
    int result = is_covered(t.program, &t.arguments);
    if (result) {
        trial_expect(&t, VYRE_OK);
        for (size_t i = 0; i < t.outputs[0].size / 4; i++)
            if (trial_u32(&t, 0)[i] != 7)
                fail_msg("element %zu of b is not stored to (n %u, m %u, groups %u %u):\n%s", i,
                         (unsigned)params[0].bits, (unsigned)params[1].bits, t.arguments.geometry.size[0],
                         t.arguments.geometry.size[1], made.bytes);
        result = t.outputs[0].size != 0;
    }
    trial_close(&t);
    return result;
}

static void random_programs_write_what_they_are_said_to(void **state) {
    (void)state;
    vy_random random = vy_random_start(606);
    unsigned count = (VY_SANITIZED ? 2000u : 10000u) * vy_test_effort(), covered = 0;
    for (unsigned i = 0; i < count; i++)
        covered += (unsigned)check_random(&random);
    printf("%u of %u programs are covered\n", covered, count);
    assert_true(covered > count / 50);
}

/* ---- limits ---- */

static void deep_conditions_are_given_up(void **state) {
    (void)state;
    static char body[200000];
    size_t used = (size_t)sprintf(body, "let c0 = global_id.x < len(b)\n");
    for (int i = 1; i < 300; i++)
        used += (size_t)sprintf(body + used, "let c%d = c%d && c%d\n", i, i - 1, i - 1);
    sprintf(body + used, "if c299 { b[global_id.x] = 7 }");
    char *text = malloc(sizeof body + 500);
    sprintf(text, "program p {\n buffer b : u32 write count 24\n workgroup 4\n grid over b\n%s\n}", body);
    trial t;
    trial_open(&t, text);
    assert_false(is_covered(t.program, &t.arguments));
    trial_close(&t);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_at_the_own_id_covers),
        cmocka_unit_test(conditions_that_hold_inside_do_not_matter),
        cmocka_unit_test(what_runs_before_does_not_matter_unless_it_returns),
        cmocka_unit_test(other_stores_do_not_cover),
        cmocka_unit_test(bounds_are_those_of_the_dispatch),
        cmocka_unit_test(rows_cover),
        cmocka_unit_test(random_programs_write_what_they_are_said_to),
        cmocka_unit_test(deep_conditions_are_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
