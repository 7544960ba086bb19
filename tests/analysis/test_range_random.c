/* What ranges claim of counts that hang together, of builtins, sums and lets: random conditions around random indices,
 * in programs of tiny buffers. Every access that is proven is made unguarded and run where going outside is an error.
 * */
#include "lower/bounds_checks_campaign.h"

/* ---- programs ---- */

static const char *const lengths[] = {"len(x)", "len(less)", "len(more)", "len(three)", "len(four)", "len(plate)",
                                      "w",      "h",         "k",         "5",          "9"};
static const char *const memories[] = {"x", "less", "more", "three", "four", "plate", "known", "a"};
static const char *const subjects[] = {"global_id.x", "global_id.y", "i", "j", "k", "g", "v", "local_index"};

#define PICK(list) list[vy_random_below(random, sizeof list / sizeof *list)]

/* Conditions and indices are mostly about the same few things. */
static const char *focus[3];

static const char *pick_subject(vy_random *random) {
    return vy_random_below(random, 4) ? PICK(focus) : PICK(subjects);
}

static void add_index(vy_string *out, vy_random *random) {
    const char *s = pick_subject(random), *t = pick_subject(random), *n = PICK(lengths);
    unsigned c = (unsigned)vy_random_below(random, 5);
    switch (vy_random_below(random, 10)) {
    case 0:
        vy_string_format(out, "%s", s);
        break;
    case 1:
        vy_string_format(out, "%s + %u", s, c);
        break;
    case 2:
        vy_string_format(out, "%s * %u + %u", s, c, (unsigned)vy_random_below(random, 5));
        break;
    case 3:
        vy_string_format(out, "(%s << %u) + %u", s, (unsigned)vy_random_below(random, 3), c);
        break;
    case 4:
        vy_string_format(out, "%s * %s + %s", s, vy_random_below(random, 2) ? "w" : "h", t);
        break;
    case 5:
        vy_string_format(out, "%s + %s * %s", t, n, s);
        break;
    case 6:
        vy_string_format(out, "%s - %u", s, c);
        break;
    case 7:
        vy_string_format(out, "%s / %u", s, c);
        break;
    case 8:
        vy_string_format(out, "min(%s, %s) + (%s & %u)", s, t, s, c);
        break;
    default:
        vy_string_format(out, "%s %% %s", s, n);
    }
}

static void add_condition(vy_string *out, vy_random *random, unsigned depth) {
    static const char *const compares[] = {"<", "<", "<", "<=", ">", ">=", "=="};
    if (depth && vy_random_below(random, 2)) {
        vy_string_add(out, vy_random_below(random, 5) ? "(" : "!(");
        add_condition(out, random, depth - 1);
        vy_string_add(out, vy_random_below(random, 4) ? ") && (" : ") || (");
        add_condition(out, random, depth - 1);
        vy_string_add(out, ")");
    } else if (vy_random_below(random, 4)) {
        const char *s = pick_subject(random), *compare = PICK(compares), *n = PICK(lengths);
        unsigned c = (unsigned)vy_random_below(random, 3);
        vy_string_format(out, c ? "%s + %u %s %s" : "%s + %u * 0 %s %s", s, c, compare, n);
    } else {
        const char *s = pick_subject(random), *n = PICK(lengths);
        vy_string_format(out, "%s - %s >= %u", n, s, (unsigned)vy_random_below(random, 5));
    }
}

static void add_access(vy_string *out, vy_random *random) {
    vy_string_format(out, "sum = sum * 3 + %s[", PICK(memories));
    add_index(out, random);
    vy_string_add(out, "]\n");
}

static void add_statement(vy_string *out, vy_random *random, unsigned depth, unsigned *lets) {
    const char *const steps[] = {"v = v / 2", "v = v >> 1", "v = v & k", "v = v * 2", "v = v + 1", "v = k"};
    unsigned what = (unsigned)vy_random_below(random, depth ? 9 : 3);
    switch (what) {
    case 3:
    case 4:
        vy_string_add(out, "if ");
        add_condition(out, random, 2);
        vy_string_add(out, " {\n");
        add_statement(out, random, depth - 1, lets);
        add_access(out, random);
        vy_string_add(out, "} else {\n");
        add_access(out, random);
        vy_string_add(out, "}\n");
        break;
    case 5:
        vy_string_format(out, "let c%u = ", ++*lets);
        add_condition(out, random, 2);
        vy_string_format(out, "\nif c%u {\n", *lets);
        add_access(out, random);
        add_statement(out, random, depth - 1, lets);
        add_access(out, random);
        vy_string_add(out, "}\n");
        break;
    case 6:
        vy_string_format(out, "for r%u in 0u32 .. 3 {\nif v == 0 { break }\n", ++*lets);
        add_access(out, random);
        add_statement(out, random, depth - 1, lets);
        vy_string_format(out, "%s\n", PICK(steps));
        add_access(out, random);
        vy_string_add(out, "}\n");
        break;
    case 7:
        vy_string_format(out, "for q%u in 0u32 .. min(%s, 9) {\n", ++*lets, PICK(lengths));
        vy_string_format(out, "sum = sum * 5 + %s[q%u + %u]\n", PICK(memories), *lets,
                         (unsigned)vy_random_below(random, 3));
        add_access(out, random);
        vy_string_add(out, "}\n");
        break;
    case 8:
        vy_string_format(out, "let n%u = ", ++*lets);
        add_index(out, random);
        vy_string_format(out, "\nif n%u + %u < %s {\n", *lets, (unsigned)vy_random_below(random, 2), PICK(lengths));
        vy_string_format(out, "sum = sum * 7 + %s[n%u]\n", PICK(memories), *lets);
        add_access(out, random);
        vy_string_add(out, "}\n");
        break;
    default:
        if (what == 0) {
            vy_string_add(out, "if ");
            add_condition(out, random, 1);
            vy_string_add(out, " {\n");
            add_access(out, random);
            vy_string_add(out, "}\n");
        } else {
            add_access(out, random);
        }
    }
}

static vyre_program *random_program(vy_random *random) {
    vy_string text = {0};
    unsigned lets = 0;
    vyre_module *module;
    vyre_error error;
    vy_string_add(&text, "program p {\n param k : u32\n param w : u32\n param h : u32\n buffer x : u32 read\n"
                         " buffer less : u32 read count len(x) - 1\n buffer more : u32 read count len(x) + 2\n"
                         " buffer three : u32 read count 3 * len(x)\n buffer four : u32 read count (len(x) - 1) * 4\n"
                         " buffer plate : u32 read count w * h\n buffer known : u32 read count 2 * 4 - 3\n"
                         " buffer out : u32 write count 64\n workgroup 4, 2\n grid 2, 2\n array a : u32 [5] private\n"
                         " let o = (global_id.y * 8 + global_id.x) & 63\n let i = global_id.x\n let j = global_id.y + "
                         "k\n let g = i / 2 + local_index\n var v = k & 3\n var sum = 1u32\n"
                         " for r in 0u32 .. 5 { a[r] = r + 40 }\n");
    for (int i = 0; i < 4; i++) {
        for (int n = 0; n < 3; n++)
            focus[n] = PICK(subjects);
        add_statement(&text, random, 3, &lets);
    }
    vy_string_add(&text, " out[o] = sum\n}\n");
    assert_false(text.failed);
    if (vyre_text_parse(text.text, text.length, NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s (%s)\n%s", error.message, error.where, text.text);
    vyre_program *program = vyre_program_retain(vyre_module_program(module, 0));
    vyre_module_free(module);
    vy_string_free(&text);
    return program;
}

/* ---- running them ---- */

static void every_access_that_is_proven_is_inside(void **state) {
    (void)state;
    static const uint32_t ks[] = {0, 1, 2, 3, 7, UINT32_MAX - 3, UINT32_MAX};
    uint64_t count = (VY_SANITIZED ? 300 : 3000) * (uint64_t)vy_test_effort();
    const char *first = getenv("VYRE_SEED");
    uint64_t start = first ? strtoull(first, NULL, 0) : 0;
    static uint32_t values[256];
    guard_campaign c = {.rules = &vy_bounds_check_default, .shows = 1, .compared = {.rules = &vy_opt_default}};
    for (uint32_t i = 0; i < 256; i++)
        values[i] = i * 2654435761u >> 7;
    for (uint64_t seed = start; seed < start + count; seed++) {
        vy_random state_of_seed = vy_random_start(seed), *random = &state_of_seed;
        vyre_program *program = random_program(random);
        for (int run = 0; run < 4; run++) {
            uint32_t n = 1 + (uint32_t)vy_random_below(random, 6), w = (uint32_t)vy_random_below(random, 5),
                     h = (uint32_t)vy_random_below(random, 5);
            const uint32_t counts[] = {n, n - 1, n + 2, 3 * n, 4 * (n - 1), w * h, 5};
            vyre_scalar params[] = {{VYRE_TYPE_U32, PICK(ks)}, {VYRE_TYPE_U32, w}, {VYRE_TYPE_U32, h}};
            vyre_span inputs[7];
            for (int i = 0; i < 7; i++)
                inputs[i] = (vyre_span){values + i, counts[i] * sizeof *values};
            vyre_arguments arguments = {.params = params, .param_count = 3, .inputs = inputs, .input_count = 7};
            if (guard_spoils(&c, program, &arguments))
                fail_msg("seed %llu, n %u, w %u, h %u, k %u: %s", (unsigned long long)seed, n, w, h,
                         (unsigned)params[0].bits, c.compared.message);
        }
        vyre_program_release(program);
    }
    printf("%llu runs; %u accesses, %u proven, %u outside, %u guarded\n", (unsigned long long)c.programs,
           c.counted.accesses, c.counted.proven, c.counted.outside, c.counted.guarded);
    assert_true(c.counted.proven > count && c.counted.guarded > count && c.programs > 3 * count);
    guard_campaign_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_access_that_is_proven_is_inside)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
