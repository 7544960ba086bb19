/* Control flow of blocks: what is said of the body of the first loop of small programs. */
#include "support/test.h"

#include "analysis/control_flow.h"

typedef struct answer {
    int falls_through, has_jump;
} answer;

static answer body_of_loop(const char *body) {
    char text[512];
    snprintf(text, sizeof text,
             "program p {\n param c : bool\n buffer x : u32 read_write\n workgroup 1\n while c {\n%s\n}\n}\n", body);
    vyre_program *p = vy_test_parse(text);
    answer a = {0, 0};
    for (uint32_t i = p->stmts.count; i-- > 0;)
        if (p->stmts.items[i].kind == VY_STMT_WHILE) {
            a.falls_through = vy_block_falls_through(p, i + 1, p->stmts.items[i].end);
            a.has_jump = vy_block_has_loop_jump(p, i + 1, p->stmts.items[i].end);
        }
    vyre_program_release(p);
    return a;
}

#define FALLS_THROUGH(body, expected) assert_int_equal(body_of_loop(body).falls_through, expected)
#define HAS_JUMP(body, expected) assert_int_equal(body_of_loop(body).has_jump, expected)

static void a_block_that_ends_in_a_jump_or_trap_does_not_fall_through(void **state) {
    (void)state;
    FALLS_THROUGH("", 1);
    FALLS_THROUGH("x[0] = 1", 1);
    FALLS_THROUGH("if c { break }", 1);
    FALLS_THROUGH("x[0] = 1\nbreak", 0);
    FALLS_THROUGH("x[0] = 1\ncontinue", 0);
    FALLS_THROUGH("return", 0);
    FALLS_THROUGH("trap 1", 0);
}

static void jumps_of_inner_loops_are_their_own(void **state) {
    (void)state;
    HAS_JUMP("x[0] = 1", 0);
    HAS_JUMP("if c { break }", 1);
    HAS_JUMP("if c { x[0] = 1 } else { continue }", 1);
    HAS_JUMP("return", 0);
    HAS_JUMP("for i in 0u32 .. 4 { if c { break } }", 0);
    HAS_JUMP("for i in 0u32 .. 4 { if c { break } }\nif c { continue }", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_that_ends_in_a_jump_or_trap_does_not_fall_through),
        cmocka_unit_test(jumps_of_inner_loops_are_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
