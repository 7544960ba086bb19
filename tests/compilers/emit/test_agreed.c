/* Jumps before others meet are taken by all: the source shows it, what legalisation makes of it need not. Polls in
 * loops and traps that have become returns make variables differ in the eyes of rules that know no order. Every
 * program here is compiled in all four manners, and none is refused. */
#include "compilers/emit/run.h"

enum { LENGTH = 130, PROCESSORS = 10 };

typedef struct sample {
    const char *name, *body;
} sample;

/* n is 4; x holds 0 … 15. */
static const char head[] = "program agreed {\nparam n : u32\nbuffer x : u32 read\nbuffer y : u32 read_write\nworkgroup "
                           "%s\ngrid 2\narray s : u32 [64] workgroup\nlet l = local_index\n"
                           "let i = group_id.x * 64 + l\n%s}\n";

#define COUNT "var u = n\nfor k in 0u32..n { u = u + k }\n" /* 10 */
#define MEET "s[l] = w\nbarrier\nw = w + s[l ^ 1]\nbarrier\n"
/* Some return, behind all meetings; whatever is assigned then differs. */
#define PART "if w & 15 == 9 { trap w }\nfor k in 0u32..n { u = u + k }\ny[i] = u + w\n"

static const sample samples[] = {
    {"all return by what a loop counted", COUNT "if u == 3 { return }\nvar w = x[i]\n" MEET "y[i] = w + u\n"},
    {"all return, and do", COUNT "y[i] = 5\nif u == 10 { return }\nvar w = x[i]\n" MEET "y[i] = w + u\n"},
    {"all return by what a while found", "var u = n\nwhile u < 50 { u = u * 2 + 1 }\nif u == 79 {\nif n == 5 { return "
                                         "}\ny[i] = u\n}\nvar w = x[i]\n" MEET "y[i] = w + u\n"},
    {"all return in a region",
     COUNT "region \"r\" {\nif u == 3 { return }\ny[i] = u }\nvar w = x[i]\n" MEET "y[i] = w + u\n"},
    {"all return in a loop before a meeting",
     COUNT "var w = x[i]\nfor k in 0u32..n {\nif u + k == 15 { return }\nif (k ^ l) & 1 == 1 { continue }\nw = w * 3 + "
           "k }\n" MEET "y[i] = w + u\n"},
    {"all leave and wait in a loop of meetings",
     COUNT "var w = x[i]\nfor k in 0u32..9 {\ns[l] = w\nbarrier\nif u + k == 14 { break }\nw = w + s[l ^ 1]\nif u + k "
           "== 12 { continue }\nbarrier }\ny[i] = w\n"},
    {"a loop counts in a loop of meetings",
     "var u = n\nvar w = x[i]\nwhile u < 90 {\ns[l] = w\nfor k in 0u32..n { u = u + k + 1 }\nbarrier\nif u > 70 { "
     "break "
     "}\nw = w + s[l ^ 1]\nif u & 3 == 1 { continue }\nbarrier }\ny[i] = w + u\n"},
    {"loops in loops that count",
     "var u = n\nvar w = x[i]\nwhile u < 60 {\nvar t = 0u32\nwhile t < n {\nt = t + 1\nfor k in 0u32..t { u = u + k "
     "}\nif u & 7 == 5 { break }\n}\nif t == 3 { continue }\nu = u + t\n" MEET "if u == 47 { return }\n}\ny[i] = w + "
     "u\n"},
    {"a vote, and a loop by it",
     "var u = n\nvar w = x[i]\nwhile u < 40 {\nlet some = workgroup_any(w & 7 == 3)\nif some { u = u + 10 } else { u = "
     "u + 3 }\nfor k in u..50 { w = w + k\nif k == 20 + u { break } }\nif u == 30 { return }\n}\n" MEET "y[i] = w\n"},
    {"a loop that some leave stands between", COUNT
     "var w = x[i]\nwhile w < 40 {\nw = w * 2 + 1\nif w & 12 == 12 { break }\n}\nif u == 10 {\nu = u + 1\nif n == "
     "9 { return }\n}\n" MEET "y[i] = w + u\n"},
    {"some trap in a loop, and all behind it",
     "var u = n\nvar w = x[i]\nwhile u < 50 {\nu = u * 2 + 1\nif w + u == 9 + group_id.x { trap 4 }\n}\nif u == 80 { "
     "trap 5 }\n" MEET "if u == 81 { return }\ns[l] = u\nbarrier\ny[i] = s[l ^ 1] + w\n"},
    {"all meet and wait", "var u = n\nvar w = x[i]\nfor k in 0u32..6 {\nif u + k == 6 {\nbarrier\nw = w + 9\ncontinue "
                          "}\n" MEET "}\n" PART},
    {"all meet and leave", "var u = n\nvar w = x[i]\nfor k in 0u32..6 {\nif u + k == 6 {\nbarrier\nw = w + 9\nif w == "
                           "11 { w = 7 }\nbreak } else { w = w + 1 }\n" MEET "}\n" PART},
    {"all meet and return",
     "var u = n\nvar w = x[i]\nfor k in 0u32..6 {\nif u + k == 8 {\nbarrier\ny[i] = w\nreturn }\n" MEET "}\n" PART},
    {"all wait behind the last meeting of a trip", "var u = n\nvar w = x[i]\nfor k in 0u32..6 {\n" MEET
                                                   "if u + k == 6 {\nw = w + 1\nif u == 4 { continue }\n}\nw = w "
                                                   "* 3\n}\n" PART},
    {"all leave in a loop of one trip",
     "var u = n\nvar w = x[i]\nwhile u < 9 {\n" MEET "if u == 4 {\nw = w + 1\nbreak }\n" MEET "break }\n" PART},
};

static int judge_sample(const sample *s, const char *shape, const manner *m) {
    static uint32_t x[LENGTH], y[LENGTH];
    const vyre_scalar param = {VYRE_TYPE_U32, 4};
    const vyre_span inputs[2] = {{x, sizeof x}, {y, sizeof y}};
    const vyre_arguments arguments = {.params = &param, .param_count = 1, .inputs = inputs, .input_count = 2};
    char text[2048], why[512];
    for (uint32_t i = 0; i < LENGTH; i++)
        x[i] = i * 2654435761u >> 13 & 15;
    snprintf(text, sizeof text, head, shape, s->body);
    vyre_program *program = vy_test_parse(text);
    verdict v = judge(program, &arguments, m, why, sizeof why);
    if (v != SAME)
        fail_msg("%s, workgroup %s, %s, %soptimised, %scancellable: %s", s->name, shape, m->processor->name,
                 m->optimised ? "" : "not ", m->cancellable ? "" : "not ", why);
    vyre_program_release(program);
    return 1;
}

static void what_all_take_before_a_meeting_is_never_refused(void **state) {
    static const char *const shapes[] = {"33", "8, 4", "5", "64"};
    unsigned judged = 0, turn = 0;
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        for (unsigned k = 0; k < 4; k++, turn++)
            for (unsigned p = 0; p < PROCESSORS; p++) {
                manner m = {processor_at(p), k & 1, k >> 1};
                if (vy_test_effort() == 1 && (p != turn % PROCESSORS || (VY_SANITIZED && (k ^ i) & 1)))
                    continue;
                if (!processor_is_here(m.processor))
                    m.processor = processor_at(0);
                judged += (unsigned)judge_sample(&samples[i], shapes[(turn + turn / 4) % 4], &m);
            }
    printf("%u programs\n", judged);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_all_take_before_a_meeting_is_never_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
