/* Threads: one oracle run by many at once, and runs that use several themselves. Meant for the thread sanitizer too. */
#include "oracle/trial.h"

#include "base/thread.h"

static const char *const program =
    "program p {\n buffer x : u32 read\n buffer h : u32 read_write count 64\n buffer y : u32 write count len(x)\n "
    "workgroup 32\n grid over x\n array w : u32 [32] workgroup\n"
    "let i = global_id.x\n let l = local_id.x\n w[l] = x[i] * 3\n barrier\n var s = 0u32\n for k in 0u32 .. 32u32 { s "
    "= s + w[(l + k) % 32] * k }\n"
    "atomic_add(h[s % 64], 1)\n atomic_max(h[63 - s % 7], i)\n if i % 1000 == 999 { print \"{}\", s }\n y[i] = s }";

enum { N = 20000, RUNS = 6 };
static uint32_t x[N], h[64];

typedef struct shared {
    const vyre_oracle *oracle;
    vyre_arguments arguments;
    const vyre_bytes *want;
    atomic_int failures;
} shared;

static void count_print(void *user, uint64_t invocation, const char *text) {
    (void)invocation, (void)text;
    ++*(int *)user; /* one call at a time, as the header says: the sanitizer would see it otherwise */
}

static void run_some(void *user, unsigned worker) {
    shared *s = user;
    vyre_bytes outputs[2] = {VYRE_BYTES_INIT, VYRE_BYTES_INIT};
    int prints = 0;
    vyre_oracle_options options = {.threads = worker % 2 ? 3 : 1, .print = count_print, .print_user = &prints};
    vyre_status status = vyre_oracle_run(s->oracle, &s->arguments, &options, outputs, NULL, NULL, NULL);
    if (status != VYRE_OK || prints != N / 1000)
        atomic_fetch_add(&s->failures, 1);
    for (int o = 0; status == VYRE_OK && o < 2; o++)
        if (outputs[o].size != s->want[o].size || memcmp(outputs[o].data, s->want[o].data, outputs[o].size) != 0)
            atomic_fetch_add(&s->failures, 1);
    vyre_bytes_free(&outputs[0]);
    vyre_bytes_free(&outputs[1]);
}

static void one_oracle_may_run_on_many_threads_at_once(void **state) {
    (void)state;
    for (uint32_t i = 0; i < N; i++)
        x[i] = i * 2654435761u;
    trial t;
    trial_open(&t, program);
    trial_input(&t, x, sizeof x);
    trial_input(&t, h, sizeof h);
    t.options.threads = 1;
    trial_expect(&t, VYRE_OK);
    shared s = {.oracle = t.oracle, .arguments = t.arguments, .want = t.outputs};
    vy_parallel(RUNS, run_some, &s);
    assert_int_equal(atomic_load(&s.failures), 0);
    trial_close(&t);
}

static void a_trap_on_many_threads_is_the_smallest(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n workgroup 8\n grid 20000\n var s = 0u32\n for k in 0u32 .. 20u32 { s = s + k }\n if "
                   "global_id.x % 1000 == 777 { trap global_id.x } }");
    for (unsigned threads = 2; threads <= 8; threads *= 2) {
        t.options.threads = threads;
        trial_expect(&t, VYRE_TRAPPED);
        assert_int_equal(t.report.trap.invocation, 777);
        assert_int_equal(t.report.trap.code, 777);
    }
    trial_close(&t);
}

static void a_budget_stops_every_thread(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n workgroup 8\n grid 20000\n if global_id.x > 30000 { while true { } }\n var s = "
                   "0u32\n for k in 0u32 .. 50u32 { s = s + k } }");
    t.options = (vyre_oracle_options){.threads = 4, .budget = 10000000};
    trial_expect(&t, VYRE_BUDGET);
    trial_close(&t);
}

static void phases_of_a_grid_run_on_many_threads(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n buffer a : u32 read_write\n workgroup 16\n grid over a\n let i = global_id.x\n for k "
                   "in 0u32 .. 4u32 {\n"
                   "let v = a[len(a) - 1 - i]\n grid_barrier\n a[i] = a[i] + v\n grid_barrier\n } }");
    trial_input(&t, x, 4096 * 4);
    t.options.threads = 4;
    trial_expect(&t, VYRE_OK);
    for (uint32_t i = 0; i < 4096; i++)
        assert_int_equal(trial_u32(&t, 0)[i], (x[i] + x[4095 - i]) * 8);
    trial_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_oracle_may_run_on_many_threads_at_once),
        cmocka_unit_test(a_trap_on_many_threads_is_the_smallest),
        cmocka_unit_test(a_budget_stops_every_thread),
        cmocka_unit_test(phases_of_a_grid_run_on_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
