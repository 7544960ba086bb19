/* What the validator accepts never diverges at a barrier: random programs full of barriers, jumps and functions, run by
 * the oracle. And what it accepts, it accepts once inlined. */
#include "validate/text_fixture.h"

#include "vyre/oracle.h"

#include <stdarg.h>

typedef struct writer {
    char text[32768];
    size_t length;
    vy_random random;
    int budget;   /* statements left */
    int loops;    /* around the current statement */
    int counters; /* loop variables named so far */
    int in_function;
} writer;

static void emit(writer *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    w->length += (size_t)vsnprintf(w->text + w->length, sizeof w->text - w->length, format, arguments);
    va_end(arguments);
    assert_true(w->length < sizeof w->text);
}

static unsigned dice(writer *w, unsigned sides) {
    return (unsigned)vy_random_below(&w->random, sides);
}

/* Mostly uniform values, so that many programs are accepted. */
static void emit_value(writer *w, int depth) {
    switch (dice(w, depth ? 14 : 10)) {
    case 0:
        emit(w, "l");
        break;
    case 1:
        emit(w, "group_id.x");
        break;
    case 2:
    case 3:
        emit(w, "n");
        break;
    case 4:
        emit(w, "%uu32", dice(w, 5));
        break;
    case 5:
    case 6:
    case 7:
        emit(w, "v%u", dice(w, 4));
        break;
    case 8:
    case 9:
        emit(w, w->in_function ? "a" : "n");
        break;
    case 10:
        emit(w, "s["), emit_value(w, depth - 1), emit(w, "]");
        break;
    case 11:
        emit(w, "x["), emit_value(w, depth - 1), emit(w, "]");
        break;
    default:
        emit(w, "("), emit_value(w, depth - 1), emit(w, dice(w, 2) ? " + " : " & "), emit_value(w, depth - 1),
            emit(w, ")");
        break;
    }
}

static void emit_condition(writer *w) {
    emit_value(w, 2);
    emit(w, dice(w, 2) ? " %% 3 == " : " %% 4 > ");
    emit(w, "%u", dice(w, 3));
}

static void emit_block(writer *w, int depth);

static void emit_jump(writer *w) {
    if (w->loops && dice(w, 3))
        emit(w, dice(w, 2) ? "break" : "continue");
    else
        emit(w, w->in_function ? "return v0" : "return");
}

static void emit_loop(writer *w, int depth) {
    int counter = w->counters++;
    switch (dice(w, 3)) {
    case 0:
        emit(w, "for k%d in 0u32 .. (", counter), emit_value(w, 1), emit(w, ") & 3 {\n");
        break;
    case 1:
        emit(w, "for k%d in 0u32 .. 2 {\n", counter);
        break;
    default:
        emit(w, "for k%d in 0u32 .. 3 { if ", counter), emit_condition(w), emit(w, " { break }\n");
        break;
    }
    w->loops++;
    emit_block(w, depth - 1);
    if (dice(w, 4) == 0)
        emit(w, "break\n");
    w->loops--;
    emit(w, "}\n");
}

static void emit_statement(writer *w, int depth) {
    w->budget--;
    switch (dice(w, depth > 0 ? 15 : 8)) {
    case 0:
    case 1:
        emit(w, "v%u = ", dice(w, 4)), emit_value(w, 2), emit(w, "\n");
        break;
    case 2:
        emit(w, "s["), emit_value(w, 1), emit(w, "] = "), emit_value(w, 1), emit(w, "\n");
        break;
    case 3:
        emit(w, "v%u = workgroup_reduce_add(", dice(w, 4)), emit_value(w, 1), emit(w, ")\n");
        break;
    case 4:
        emit(w, "v%u = subgroup_reduce_max<4>(", dice(w, 4)), emit_value(w, 1), emit(w, ")\n");
        break;
    case 5:
        if (!w->in_function)
            emit(w, "v%u = f(b, ", dice(w, 4)), emit_value(w, 1), emit(w, ")\n");
        break;
    case 6:
        emit(w, dice(w, 3) ? "barrier\n" : "grid_barrier\n");
        break;
    case 7:
        emit(w, "barrier\n");
        break;
    case 8:
    case 9:
    case 10:
        emit(w, "if "), emit_condition(w), emit(w, " {\n"), emit_block(w, depth - 1);
        if (dice(w, 3) == 0)
            emit_jump(w), emit(w, "\n");
        if (dice(w, 2))
            emit(w, "} else {\n"), emit_block(w, depth - 1);
        emit(w, "}\n");
        break;
    case 11:
        emit(w, "if "), emit_condition(w), emit(w, " { "), emit_jump(w), emit(w, " }\n");
        break;
    default:
        emit_loop(w, depth);
        break;
    }
}

static void emit_block(writer *w, int depth) {
    for (unsigned n = 1 + dice(w, 3); n > 0 && w->budget > 0; n--)
        emit_statement(w, depth);
}

static void emit_program(writer *w) {
    w->in_function = 1;
    w->budget = 6 + (int)dice(w, 8);
    emit(w, "fn f(x: buffer [u32] read, a: u32) -> u32 {\narray s : u32 [4] private\nlet l = local_id.x\nlet n = a\n");
    emit(w, "var v0 = a\nvar v1 = 0u32\nvar v2 = 1u32\nvar v3 = a\n");
    emit_block(w, 3);
    emit(w, "return v1\n}\n");
    w->in_function = 0;
    w->budget = 14;
    emit(w, "program p {\nparam n : u32\nbuffer b : u32 read count 4\nbuffer out : u32 write count 24\nworkgroup "
            "8\narray s : u32 [4] private\n");
    emit(w, "let l = local_id.x\nvar v0 = 0u32\nvar v1 = n\nvar v2 = 1u32\nvar v3 = 2u32\n");
    size_t body = w->length;
    while (w->budget > 0)
        emit_block(w, 3);
    /* The buffer is called x in the function and b here. */
    for (char *at = w->text + body; (at = strstr(at, "x[")) != NULL; at++)
        *at = 'b';
    emit(w, "v0 = f(b, n)\nout[global_id.x] = v0 + v1 + v2 + v3\n}\n");
}

static void run(const char *text, vyre_program *program, uint32_t n) {
    static const uint32_t input[4] = {3, 1, 2, 0};
    vyre_scalar param = vyre_scalar_u32(n);
    vyre_span span = {input, sizeof input};
    vyre_arguments arguments = {.params = &param,
                                .param_count = 1,
                                .inputs = &span,
                                .input_count = 1,
                                .geometry = {VYRE_GEOMETRY_GROUPS, {3, 1, 1}}};
    vyre_oracle_options options = {
        .threads = 1, .checks = VYRE_CHECK_RACES | VYRE_CHECK_DIVERGENCE, .budget = 10000000};
    vyre_oracle *oracle = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_bytes out = VYRE_BYTES_INIT;
    assert_int_equal(vyre_oracle_new(program, &oracle, &error), VYRE_OK);
    if (vyre_oracle_run(oracle, &arguments, &options, &out, NULL, NULL, &error) != VYRE_OK)
        fail_msg("accepted, but n = %u gives %s (%s)\n%s", n, error.message, error.where, text);
    vyre_bytes_free(&out);
    vyre_oracle_free(oracle);
}

static void accepted_programs_never_diverge(void **state) {
    (void)state;
    unsigned accepted_count = 0, refused_count = 0, rounds = 3000 * vy_test_effort();
    for (unsigned i = 0; i < rounds; i++) {
        writer w = {.random = vy_random_start(i + 1)};
        emit_program(&w);
        vyre_diagnostics *list = vyre_diagnostics_new();
        vyre_module *module = NULL;
        vyre_error error;
        vyre_status status = vyre_text_parse(w.text, w.length, NULL, list, &module, &error);
        if (status == VYRE_OK) {
            accepted_count++;
            vyre_program *program = vyre_module_find(module, "p"), *made = NULL;
            if (vyre_program_inline(program, &made, &error) != VYRE_OK)
                fail_msg("accepted, but not once inlined: %s\n%s", error.message, w.text);
            vyre_program_release(made);
            for (uint32_t n = 0; n < 3; n++)
                run(w.text, program, n);
        } else {
            refused_count++;
            /* The writer makes no other mistakes, so that nothing hides what is tested. */
            if (strncmp(error.message, "V100", 4) != 0 && strncmp(error.message, "V068", 4) != 0)
                fail_msg("%s (%s)\n%s", error.message, error.where, w.text);
        }
        vyre_diagnostics_free(list);
        vyre_module_free(module);
    }
    printf("%u accepted, %u refused\n", accepted_count, refused_count);
    assert_true(accepted_count > rounds / 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted_programs_never_diverge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
