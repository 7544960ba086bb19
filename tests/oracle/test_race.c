/* Planted races and their race-free twins: the checker finds the one and is silent about the other, whatever the
 * schedule. */
#include "oracle/trial.h"

typedef struct pair {
    const char *what;
    const char *code;
    const char *racy;
    const char *clean;
} pair;

/* Every program runs with a read_write buffer `a` of 64 u32 elements and 2 workgroups of 8. */
#define HEAD                                                                                                           \
    "program p {\n buffer a : u32 read_write\n workgroup 8\n grid 2\n array w : u32 [64] workgroup\n let i = "         \
    "global_id.x\n let l = local_id.x\n"

static const pair pairs[] = {
    {"write and read of a neighbour in a workgroup", "R001", HEAD "w[l] = i\n a[i] = w[(l + 1) % 8] }",
     HEAD "w[l] = i\n barrier\n a[i] = w[(l + 1) % 8] }"},
    {"read of a neighbour, then write", "R001",
     HEAD "w[l] = i\n barrier\n let v = w[(l + 1) % 8]\n w[l] = v\n barrier\n a[i] = w[l] }",
     HEAD "w[l] = i\n barrier\n let v = w[(l + 1) % 8]\n barrier\n w[l] = v\n barrier\n a[i] = w[l] }"},
    {"all write one element", "R001", HEAD "w[l / 8] = l\n barrier\n a[i] = w[0] }",
     HEAD "if l == 3 { w[0] = l }\n barrier\n a[i] = w[0] }"},
    {"workgroups write one element of a buffer", "R002", HEAD "if l == 0 { a[5] = i } }",
     HEAD "if i == 0 { a[5] = i } }"},
    {"a barrier does not reach the other workgroup", "R002", HEAD "a[i] = l\n barrier\n a[i + 32] = a[15 - i] }",
     HEAD "a[i] = l\n grid_barrier\n a[i + 32] = a[15 - i] }"},
    {"a plain read beside an atomic", "R001", HEAD "atomic_add(w[l / 8], l)\n a[i] = w[0] }",
     HEAD "atomic_add(w[0], l)\n barrier\n a[i] = w[0] }"},
    {"a plain write beside an atomic", "R001",
     HEAD "if l == 2 { w[0] = 0 }\n atomic_add(w[l / 8], l)\n barrier\n a[i] = w[0] }",
     HEAD "if l == 2 { w[0] = 0 }\n barrier\n atomic_add(w[0], l)\n barrier\n a[i] = w[0] }"},
    {"an update without an atomic", "R002", HEAD "if l == 0 { a[3] = a[3] + 1 } }",
     HEAD "if l == 0 { atomic_add(a[3], 1) } }"},
    {"an atomic of workgroup scope in two workgroups", "R002", HEAD "atomic_add<workgroup>(a[3], 1) }",
     HEAD "atomic_add<device>(a[3], 1) }"},
    {"a collective is no barrier", "R001", HEAD "w[l] = i\n let s = workgroup_reduce_add(l)\n a[i] = w[7 - l] + s }",
     HEAD "w[l] = i\n let s = workgroup_reduce_add(l)\n barrier\n a[i] = w[7 - l] + s }"},
    {"the barrier at the end of a loop is missing", "R001",
     HEAD "for k in 0u32 .. 3u32 {\n w[l] = k\n barrier\n a[i] = a[i] + w[7 - l]\n } }",
     HEAD "for k in 0u32 .. 3u32 {\n w[l] = k\n barrier\n a[i] = a[i] + w[7 - l]\n barrier\n } }"},
    {"a read in the arm that is taken", "R001", HEAD "w[l] = i\n a[i] = l < 7 ? w[l + 1] : 0 }",
     HEAD "w[l] = i\n a[i] = l < 0 ? w[l + 1] : w[l] }"},
    {"a flag without release and acquire", "R002",
     HEAD "if i == 0 { a[20] = 7\n atomic_store<device>(a[21], 1) }\n if i == 8 { let f = atomic_load<device>(a[21])\n "
          "if f == 1 { a[22] = a[20] } } }",
     HEAD "if i == 0 { a[20] = 7\n atomic_store<release, device>(a[21], 1) }\n if i == 8 { let f = "
          "atomic_load<acquire, device>(a[21])\n if f == "
          "1 { a[22] = a[20] } } }"},
    {"a flag whose release is of workgroup scope", "R002",
     HEAD "if i == 0 { a[20] = 7\n atomic_exchange<release, workgroup>(a[21], 1) }\n if i == 8 { let f = "
          "atomic_load<acquire, device>(a[21])\n if "
          "f == 1 { a[22] = a[20] } } }",
     HEAD "if i == 0 { a[20] = 7\n atomic_exchange<release, device>(a[21], 1) }\n if i == 8 { let f = "
          "atomic_load<acquire, device>(a[21])\n if f == "
          "1 { a[22] = a[20] } } }"},
    {"the last of several readers writes", "R001",
     HEAD "if l == 3 || l == 5 {\n let v = w[0]\n if l == 5 { w[0] = v + 1 } } }",
     HEAD "if l == 3 || l == 5 { let v = w[0] }\n barrier\n if l == 5 { w[0] = 1 } }"},
    {"the last of several readers in two workgroups writes", "R002",
     HEAD "if l == 0 {\n let v = a[5]\n if i == 8 { a[5] = v + 1 } } }",
     HEAD "if l == 0 { let v = a[5] }\n grid_barrier\n if i == 8 { a[5] = 1 } }"},
    {"an exchange that fails releases nothing", "R002",
     HEAD "if i == 0 { a[20] = 7\n atomic_compare_exchange<acq_rel, device>(a[21], 5, 1) }\n"
          "if i == 8 { let f = atomic_load<acquire, device>(a[21])\n if f == 0 { a[22] = a[20] } } }",
     HEAD "if i == 0 { a[20] = 7\n atomic_compare_exchange<acq_rel, device>(a[21], 0, 1) }\n"
          "if i == 8 { let f = atomic_load<acquire, device>(a[21])\n if f == 1 { a[22] = a[20] } } }"},
    {"of several readers one does not release", "R001",
     HEAD "if l < 6 { let v = w[0]\n if l > 0 { atomic_add<release>(w[1], 1) } }\n"
          "if l == 7 { let n = atomic_load<acquire>(w[1])\n if n == 5 { w[0] = 1 } } }",
     HEAD "if l < 6 { let v = w[0]\n atomic_add<release>(w[1], 1) }\n"
          "if l == 7 { let n = atomic_load<acquire>(w[1])\n if n == 6 { w[0] = 1 } } }"},
    {"of several atomics one does not release", "R002",
     HEAD "if i < 12 { atomic_add<relaxed, device>(a[0], 1)\n if i != 3 { atomic_add<acq_rel, device>(a[1], 1) } }\n"
          "if i == 15 { let n = atomic_load<acquire, device>(a[1])\n if n == 11 { a[2] = a[0] } } }",
     HEAD "if i < 12 { atomic_add<relaxed, device>(a[0], 1)\n atomic_add<acq_rel, device>(a[1], 1) }\n"
          "if i == 15 { let n = atomic_load<acquire, device>(a[1])\n if n == 12 { a[2] = a[0] } } }"},
    {"the release covers only what came before it", "R001",
     HEAD "if l == 0 { atomic_store<release>(w[1], 1)\n w[2] = 7 }\n if l == 5 { let f = atomic_load<acquire>(w[1])\n "
          "if f == 1 { a[i] = w[2] } } }",
     HEAD "if l == 0 { w[2] = 7\n atomic_store<release>(w[1], 1) }\n if l == 5 { let f = atomic_load<acquire>(w[1])\n "
          "if f == 1 { a[i] = w[2] } } }"},
};

static uint32_t zeros[64];

/* A perturbed schedule may let the reader of a flag come first, and then nothing is read: only the natural one must
 * find those. */
static int depends_on_schedule(const trial *t) {
    return vyre_program_schedule_dependent(t->program);
}

static void expect_race(const pair *p, uint64_t seed) {
    trial t;
    trial_open(&t, p->racy);
    trial_input(&t, zeros, sizeof zeros);
    t.options = (vyre_oracle_options){.checks = VYRE_CHECK_RACES, .seed = seed};
    trial_run(&t);
    const vyre_diagnostic *first = vyre_diagnostics_get(t.findings, 0);
    if (t.status != VYRE_CHECK_FAILED && !(seed && depends_on_schedule(&t)))
        fail_msg("%s: seed %llu gives %s", p->what, (unsigned long long)seed, vyre_status_name(t.status));
    if (t.status == VYRE_CHECK_FAILED && (!first || strcmp(first->code, p->code) != 0 || first->line == 0))
        fail_msg("%s: seed %llu finds %s", p->what, (unsigned long long)seed, first ? first->message : "nothing");
    trial_close(&t);
}

static void expect_silence(const pair *p, uint64_t seed) {
    trial t;
    trial_open(&t, p->clean);
    trial_input(&t, zeros, sizeof zeros);
    t.options = (vyre_oracle_options){.checks = VYRE_CHECK_ALL & ~VYRE_CHECK_UNWRITTEN, .seed = seed};
    if (trial_run(&t) != VYRE_OK) {
        trial_show(t.findings);
        fail_msg("%s: the twin with seed %llu gives %s: %s", p->what, (unsigned long long)seed,
                 vyre_status_name(t.status), t.error.message);
    }
    trial_close(&t);
}

static void planted_races_are_found(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (uint64_t seed = 0; seed < 8; seed++)
            expect_race(&pairs[i], seed);
}

static void their_twins_are_silent(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (uint64_t seed = 0; seed < 8; seed++)
            expect_silence(&pairs[i], seed);
}

static void a_finding_names_element_invocations_and_both_lines(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n  workgroup 2, 2\n  grid 1\n  array tile : u32 [4] workgroup\n  tile[local_id.y] = "
                   "1\n  let x = tile[1 - local_id.y]\n}\n");
    t.options.checks = VYRE_CHECK_RACES;
    trial_expect(&t, VYRE_CHECK_FAILED);
    const vyre_diagnostic *write = vyre_diagnostics_get(t.findings, 0), *read = vyre_diagnostics_get(t.findings, 1);
    assert_non_null(read);
    assert_string_equal(
        write->message,
        "`tile[0]`: the write by invocation 1 (global_id 1, 0, 0) races with the write at line 5 by invocation 0 "
        "(global_id 0, 0, 0): nothing orders the two");
    assert_int_equal(write->line, 5);
    assert_int_equal(read->line, 6);
    assert_non_null(strstr(read->message, "the read by invocation 0 (global_id 0, 0, 0) races with the write at line 5 "
                                          "by invocation 3 (global_id 1, 1, 0)"));
    assert_int_equal(vyre_diagnostics_count(t.findings), 2); /* one for each pair of places */
    trial_close(&t);
}

static void a_checked_run_still_delivers(void **state) {
    (void)state;
    trial t;
    trial_open(&t, pairs[3].racy);
    trial_input(&t, zeros, sizeof zeros);
    t.options.checks = VYRE_CHECK_RACES;
    trial_expect(&t, VYRE_CHECK_FAILED);
    assert_int_equal(t.outputs[0].size, sizeof zeros);
    assert_int_equal(trial_u32(&t, 0)[5], 8);
    trial_close(&t);
}

static void the_error_quotes_the_first_finding_without_a_list(void **state) {
    (void)state;
    trial t;
    trial_open(&t, pairs[0].racy);
    trial_input(&t, zeros, sizeof zeros);
    t.options.checks = VYRE_CHECK_RACES;
    vyre_status status = vyre_oracle_run(t.oracle, &t.arguments, &t.options, t.outputs, NULL, NULL, &t.error);
    assert_int_equal(status, VYRE_CHECK_FAILED);
    assert_non_null(strstr(t.error.message, "races with"));
    trial_close(&t);
}

/* The element's message would hide the second race. */
static void a_plain_store_ends_what_a_release_began(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *racy[2];
    } cases[] = {
        {HEAD "if i == 0 { a[20] = 7\n atomic_store<release, device>(a[21], 1)\n a[21] = 1 }\n"
              "if i == 8 { let f = atomic_load<acquire, device>(a[21])\n a[22] = a[20] } }",
         {"`a[21]`", "`a[20]`"}},
        {HEAD "if i == 0 { a[20] = 7\n a[21] = 1\n atomic_store<release, device>(a[21], 1) }\n"
              "if i == 8 { let f = atomic_load<acquire, device>(a[21])\n a[22] = a[20] } }",
         {NULL, NULL}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        trial t;
        trial_open(&t, cases[c].text);
        trial_input(&t, zeros, sizeof zeros);
        t.options.checks = VYRE_CHECK_RACES;
        trial_expect(&t, cases[c].racy[0] ? VYRE_CHECK_FAILED : VYRE_OK);
        for (size_t i = 0; i < 2; i++) {
            const vyre_diagnostic *finding = vyre_diagnostics_get(t.findings, i);
            if (!finding != !cases[c].racy[i] || (finding && !strstr(finding->message, cases[c].racy[i])))
                fail_msg("case %zu: finding %zu is %s", c, i, finding ? finding->message : "missing");
        }
        trial_close(&t);
    }
}

static void an_element_that_does_not_exist_cannot_race(void **state) {
    (void)state;
    trial t;
    trial_open(&t, HEAD "a[i + 100] = l\n a[100 + l] = a[200] }");
    trial_input(&t, zeros, sizeof zeros);
    t.options.checks = VYRE_CHECK_RACES;
    trial_expect(&t, VYRE_OK);
    trial_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_races_are_found),
        cmocka_unit_test(their_twins_are_silent),
        cmocka_unit_test(a_finding_names_element_invocations_and_both_lines),
        cmocka_unit_test(a_checked_run_still_delivers),
        cmocka_unit_test(the_error_quotes_the_first_finding_without_a_list),
        cmocka_unit_test(a_plain_store_ends_what_a_release_began),
        cmocka_unit_test(an_element_that_does_not_exist_cannot_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
