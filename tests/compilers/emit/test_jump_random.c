/* Random programs of jumps and meetings: whatever the validator lets through is compiled, and gives the oracle's bits.
 * Nothing is refused. Half of them can be stopped; those are run once more so that they stop themselves, by a store,
 * wherever that is: what is not stopped gives the oracle's bits, and all come to an end.
 *
 * VYRE_EFFORT makes it longer, VYRE_FIRST=seed starts elsewhere. */
#include "compilers/emit/run.h"

#include "generate/generate.h"

#include <stdarg.h>

enum { PROGRAMS = 40, PROCESSORS = 10, ELEMENTS = 150, ROOM = 16384, DEPTH = 4 };

typedef struct writer {
    vy_random random;
    char text[ROOM];
    size_t at;
    unsigned names, left; /* statements */
} writer;

static uint32_t below(writer *w, uint32_t n) {
    return (uint32_t)vy_random_below(&w->random, n);
}

static void say(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(writer *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    w->at += (size_t)vsnprintf(w->text + w->at, ROOM - w->at, format, args);
    va_end(args);
    assert_true(w->at < ROOM);
}

static void say_condition(writer *w, int varies) {
    static const char *const same[] = {"u & 1 == 0", "n > 3", "u > 9", "n == 4 && u < 40", "u % 3 == 1"};
    static const char *const varied[] = {"x[i] & 1 == 1", "v & 3 == 2", "(v ^ l) & 1 == 0",
                                         "l % 3 == 1",    "w > 20",     "i == 7"};
    say(w, "%s", varies ? varied[below(w, 6)] : same[below(w, 5)]);
}

/* Where a statement stands. */
typedef struct place {
    int varies;   /* some are here, others are not */
    int in_loop;  /* of many trips, or of one */
    int one_trip; /* … of one */
    unsigned depth;
} place;

static void block(writer *w, place p);

static void jump(writer *w, place p) {
    unsigned which = below(w, p.in_loop ? 5 : 1);
    int varies = p.varies || below(w, 3) != 0;
    say(w, "if ");
    say_condition(w, varies);
    say(w, " {\n");
    if (below(w, 2))
        say(w, "v = v + %u\n", below(w, 50));
    say(w, "%s\n}\n", !p.in_loop || which == 0 ? "return" : p.one_trip || which == 1 ? "break" : "continue");
}

/* A collective and what becomes of its result. The second half give all the same. */
typedef struct kind_of_meeting {
    const char *value, *use; /* c is the result */
} kind_of_meeting;

static const kind_of_meeting meetings[] = {
    {"subgroup_shuffle_xor<4>(v, 1)", "v = v * 5 + c"},
    {"workgroup_scan_inclusive_add(v & 3)", "v = v + c"},
    {"workgroup_scan_exclusive_max(f32(v & 63))", "v = v ^ u32(c)"},
    {"subgroup_any<8>(v & 7 == 1)", "if c { w = w + 3 }"},
    {"workgroup_reduce_add(v & 7)", "w = w ^ c"},
    {"workgroup_reduce_add(f16(v & 3))", "u = u + u32(c)"}, /* written out */
    {"workgroup_any(v & 15 == 3)", "if c { u = u + 1 }"},
    {"workgroup_all(v < 900)", "if c { u = u ^ 1 }"},
    {"workgroup_broadcast(v & 31, 0)", "u = u + c"},
};
enum { MEETINGS = sizeof meetings / sizeof *meetings };

static void meeting(writer *w) {
    unsigned name = w->names++, which = below(w, MEETINGS + 4);
    if (which >= MEETINGS) {
        say(w, "s[l] = v\nbarrier\nv = v + s[(l + %u) %% 64]\nbarrier\n", below(w, 9));
        return;
    }
    say(w, "let c%u = %s\n", name, meetings[which].value);
    for (const char *at = meetings[which].use; *at; at++) {
        say(w, "%c", *at);
        if (*at == 'c')
            say(w, "%u", name);
    }
    say(w, "\n");
}

/* Loops by numbers that are known are short, and nobody asks in them whether to stop; in the others they do. */
static void loop(writer *w, place p) {
    unsigned name = w->names++, how = below(w, 7);
    place inside = {p.varies, 1, how == 3, p.depth + 1};
    if (how == 0) {
        say(w, "for k%u in 0u32..%u {\n", name, 1 + below(w, 4));
    } else if (how == 1) {
        say(w, "var t%u = 0u32\nwhile t%u < %u {\nt%u = t%u + 1\n", name, name, 1 + below(w, 4), name, name);
    } else if (how == 2) {
        inside.varies = 1;
        say(w, "for k%u in 0u32..(x[i] & 3) {\n", name);
    } else if (how == 3) {
        say(w, "while n > %u {\n", below(w, 6));
    } else if (how == 4) {
        say(w, "for k%u in 0u32..(u & 3) {\n", name);
    } else if (how == 5) {
        say(w, "var t%u = n\nwhile t%u > 1 && u < 5000 {\nt%u = t%u - 1\n", name, name, name, name);
    } else {
        inside.varies = 1;
        say(w, "var t%u = v & 3\nwhile t%u > 0 {\nt%u = t%u - 1\n", name, name, name, name);
    }
    if ((how == 4 || how == 5) && !p.varies && below(w, 2))
        say(w, "u = u + %u\n", below(w, 5));
    block(w, inside);
    say(w, how == 3 ? below(w, 6) ? "break\n}\n" : "y[i] = v\nreturn\n}\n" : "}\n");
}

static void trap(writer *w, place p) {
    if (p.varies || below(w, 3))
        say(w, "if v == %u { trap %u }\n", below(w, 200), below(w, 9));
    else
        say(w, "if u == %u { trap %u }\n", below(w, 40), below(w, 9));
}

static void branch(writer *w, place p) {
    place inside = p;
    inside.varies |= below(w, 2) == 0;
    inside.depth++;
    say(w, "if ");
    say_condition(w, inside.varies);
    say(w, " {\n");
    block(w, inside);
    if (below(w, 3) == 0) {
        say(w, "} else {\n");
        block(w, inside);
    }
    say(w, "}\n");
}

/* Recursion is bounded by DEPTH. */
static void block(writer *w, place p) {
    for (unsigned count = 1 + below(w, 5); count && w->left; count--) {
        unsigned how = below(w, 16);
        w->left--;
        if (how < 4)
            say(w, how & 1 ? "v = v * 3 + %u\n" : "w = w + (v ^ %u)\n", below(w, 9));
        else if (how < 5 && !p.varies)
            say(w, "u = u * 2 + %u\n", below(w, 3));
        else if (how < 8 && !p.varies)
            meeting(w);
        else if (how < 11)
            jump(w, p);
        else if (how < 12 && below(w, 3) == 0)
            trap(w, p);
        else if (how < 12)
            say(w, "y[i] = y[i] + v\n");
        else if (how < 14 && p.depth < DEPTH)
            loop(w, p);
        else if (p.depth < DEPTH)
            branch(w, p);
        else
            say(w, "v = v ^ w\n");
    }
}

static vyre_program *make(uint64_t seed) {
    static const char *const shapes[] = {"33", "8", "5, 3", "64", "3", "4, 4", "32, 2", "1"};
    static writer w;
    vyre_module *module = NULL;
    w = (writer){.random = vy_random_start(seed), .left = 24};
    say(&w,
        "program jumps {\nparam n : u32\nbuffer x : u32 read\nbuffer y : u32 read_write\nworkgroup %s\ngrid 2\n"
        "array s : u32 [64] workgroup\nlet l = local_index\nlet i = group_id.x * workgroup_size.x * workgroup_size.y + "
        "l\n"
        "var u = n\nvar v = x[i]\nvar w = l\n",
        shapes[below(&w, 8)]);
    block(&w, (place){0, 0, 0, 0});
    block(&w, (place){0, 0, 0, 0});
    say(&w, "y[i] = v + w * 7 + u * 1000\n}\n");
    if (vyre_text_parse(w.text, w.at, NULL, NULL, &module, NULL) != VYRE_OK)
        return NULL; /* the rules say no */
    vyre_program *program = vyre_program_retain(vyre_module_program(module, 0));
    vyre_module_free(module);
    return program;
}

static int still_differs(void *user, const vyre_case *candidate) {
    char why[512];
    return judge(vyre_case_program(candidate), vyre_case_arguments(candidate), user, why, sizeof why) == DIFFERENT;
}

static int try_seed(uint64_t seed) {
    static uint32_t x[ELEMENTS], y[ELEMENTS];
    const vyre_scalar param = {VYRE_TYPE_U32, 4};
    const vyre_span inputs[2] = {{x, sizeof x}, {y, sizeof y}};
    const vyre_arguments arguments = {.params = &param, .param_count = 1, .inputs = inputs, .input_count = 2};
    manner m = {processor_at((unsigned)(seed % PROCESSORS)), seed / 3 % 2 == 0, seed / 7 % 2 == 0};
    char why[512];
    for (uint32_t i = 0; i < ELEMENTS; i++)
        x[i] = (uint32_t)(i * 2654435761u + seed * 40503) >> 13 & 15;
    if (!processor_is_here(m.processor))
        m.processor = processor_at(0);
    run_stop_at = (uint32_t)(seed % 60);
    vyre_program *program = make(seed);
    if (!program)
        return 0;
    verdict v = judge(program, &arguments, &m, why, sizeof why);
    if (v == DIFFERENT) {
        vyre_case *found = NULL, *small = NULL;
        if (vyre_case_new(program, &arguments, &found, NULL) == VYRE_OK &&
            vyre_shrink(found, still_differs, &m, 500, &small, NULL) == VYRE_OK)
            code_show(vyre_case_program(small));
        printf("seed %llu, %s, %soptimised, %scancellable\n", (unsigned long long)seed, m.processor->name,
               m.optimised ? "" : "not ", m.cancellable ? "" : "not ");
        fflush(stdout);
        fail_msg("%s", why);
    }
    vyre_program_release(program);
    return v == SAME;
}

static void jumps_and_meetings_are_those_of_the_oracle(void **state) {
    (void)state;
    const char *first = getenv("VYRE_FIRST");
    uint64_t seed = first && *first ? strtoull(first, NULL, 10) : 1, tried = 0;
    unsigned judged = 0, count = (VY_SANITIZED ? PROGRAMS / 5 : PROGRAMS) * vy_test_effort();
    for (; judged < count && tried < 100 * (uint64_t)count; tried++)
        judged += (unsigned)try_seed(seed + tried);
    printf("%u programs that the rules allow, of %llu\n", judged, (unsigned long long)tried);
    assert_int_equal(judged, count);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(jumps_and_meetings_are_those_of_the_oracle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
