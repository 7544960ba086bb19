#include "base/thread.h"
#include "support/fault.h"
#include "support/test.h"

#include <errno.h>
#include <fenv.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct shared {
    atomic_uint next, seen[64], calls;
    pthread_t caller;
    int zero_on_caller;
} shared;

static void count_items(void *user, unsigned worker) {
    shared *work = user;
    atomic_fetch_add(&work->calls, 1);
    if (worker == 0)
        work->zero_on_caller = pthread_equal(pthread_self(), work->caller);
    for (unsigned item; (item = atomic_fetch_add(&work->next, 1)) < 64;)
        atomic_fetch_add(&work->seen[item], 1);
}

static void expect_all_done(unsigned workers) {
    shared work = {.caller = pthread_self()};
    vy_parallel(workers, count_items, &work);
    for (int i = 0; i < 64; i++)
        assert_int_equal(atomic_load(&work.seen[i]), 1);
    assert_true(work.zero_on_caller);
    assert_in_range(atomic_load(&work.calls), 1, workers ? workers : 1);
}

static void all_work_is_done_by_any_number_of_workers(void **state) {
    (void)state;
    static const unsigned counts[] = {0, 1, 2, 3, 8, 40};
    for (int i = 0; i < 6; i++)
        expect_all_done(counts[i]);
}

static void without_memory_the_caller_does_all_of_it(void **state) {
    (void)state;
    vy_fault_install();
    vy_fault_start_all(1);
    expect_all_done(8);
    assert_true(vy_fault_stop());
    assert_int_equal(vy_fault_live_blocks(), 0);
    vy_fault_remove();
}

static void note_worker(void *user, unsigned worker) {
    atomic_fetch_add(&((atomic_uint *)user)[worker], 1);
}

static void every_worker_has_its_own_number(void **state) {
    (void)state;
    atomic_uint seen[5] = {0};
    vy_parallel(4, note_worker, seen);
    for (int i = 0; i < 4; i++)
        assert_int_equal(atomic_load(&seen[i]), 1);
    assert_int_equal(atomic_load(&seen[4]), 0);
}

static void note_signals(void *user, unsigned worker) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    ((int *)user)[worker] = sigismember(&mask, SIGTERM);
}

static void workers_leave_signals_to_the_application(void **state) {
    (void)state;
    int blocked[3] = {-1, -1, -1};
    vy_parallel(3, note_signals, blocked);
    assert_int_equal(blocked[0], 0);
    assert_int_equal(blocked[1], 1);
    assert_int_equal(blocked[2], 1);
}

static void times_are_split_as_conditions_take_them(void **state) {
    (void)state;
    static const struct {
        uint64_t ns;
        long long seconds;
        long rest;
    } cases[] = {{0, 0, 0}, {999999999, 0, 999999999}, {1000000000, 1, 0}, {UINT64_MAX, 18446744073, 709551615}};
    for (int i = 0; i < 4; i++) {
        struct timespec time = vy_clock_timespec(cases[i].ns);
        assert_int_equal(time.tv_sec, cases[i].seconds);
        assert_int_equal(time.tv_nsec, cases[i].rest);
    }
}

typedef struct bell {
    pthread_mutex_t lock;
    pthread_cond_t rung;
    int is_rung;
} bell;

static void *ring(void *user) {
    bell *b = user;
    pthread_mutex_lock(&b->lock);
    b->is_rung = 1;
    pthread_cond_signal(&b->rung);
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* An hour from now by our clock is long ago by the time of day. */
static void a_condition_waits_by_our_clock(void **state) {
    (void)state;
    bell b = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t ringer;
    int result = 0;
    vy_cond_init_monotonic(&b.rung);
    pthread_mutex_lock(&b.lock);
    struct timespec past = vy_clock_timespec(vy_clock_now()),
                    later = vy_clock_timespec(vy_clock_now() + 3600000000000u);
    assert_int_equal(pthread_cond_timedwait(&b.rung, &b.lock, &past), ETIMEDOUT);
    assert_true(vy_thread_start(&ringer, ring, &b));
    while (!b.is_rung && result == 0)
        result = pthread_cond_timedwait(&b.rung, &b.lock, &later);
    pthread_mutex_unlock(&b.lock);
    pthread_join(ringer, NULL);
    pthread_cond_destroy(&b.rung);
    assert_int_equal(result, 0);
}

static void cores_follow_the_affinity_mask(void **state) {
    (void)state;
    unsigned before = vy_cpu_count();
    assert_true(before >= 1);
    cpu_set_t old, one;
    assert_int_equal(sched_getaffinity(0, sizeof old, &old), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &old)) {
            CPU_SET(i, &one);
            break;
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    unsigned now = vy_cpu_count();
    sched_setaffinity(0, sizeof old, &old);
    assert_int_equal(now, 1);
    assert_int_equal(vy_cpu_count(), before);
}

/* A folder that looks like /sys/fs/cgroup. */
static char root[64];

static void write_file(const char *path, const char *text) {
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(full, 0777);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static unsigned cores_of(const char *membership) {
    write_file("self", membership);
    char self[128];
    snprintf(self, sizeof self, "%s/self", root);
    return vy_cgroup_cpu_count(self, root);
}

static void quotas_of_control_groups_count(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/vyre-cgroup-XXXXXX");
    assert_non_null(mkdtemp(root));
    write_file("a/b/cpu.max", "max 100000\n");
    write_file("a/cpu.max", "250000 100000\n");
    write_file("c/cpu.max", "50000 100000\n");
    write_file("c/d/cpu.max", "400000 100000\n");
    assert_int_equal(cores_of("0::/a/b\n"), 3); /* 2.5 rounds up; the parent counts */
    assert_int_equal(cores_of("0::/c\n"), 1);
    assert_int_equal(cores_of("0::/c/d\n"), 1);
    assert_int_equal(cores_of("0::/\n"), UINT32_MAX);
    assert_int_equal(cores_of("0::/nowhere\n"), UINT32_MAX);
    write_file("cpu,cpuacct/job/cpu.cfs_quota_us", "200000\n");
    write_file("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    write_file("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    write_file("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    assert_int_equal(cores_of("5:memory:/job\n4:cpu,cpuacct:/job\n0::/\n"), 2);
    assert_int_equal(cores_of("4:cpu,cpuacct:/\n"), UINT32_MAX);
    assert_int_equal(cores_of("4:cpuset:/job\n"), UINT32_MAX);
    assert_int_equal(cores_of("rubbish\n::\n"), UINT32_MAX);
    write_file("cpu.max", "100000 100000\n"); /* inside a container the group is the root */
    assert_int_equal(cores_of("0::/\n"), 1);
    write_file("cpu.max", "100000 0\n");
    assert_int_equal(cores_of("0::/\n"), UINT32_MAX);
    assert_int_equal(vy_cgroup_cpu_count("/nonexistent", root), UINT32_MAX);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    assert_int_equal(system(command), 0);
}

/* Arithmetic the compiler cannot do beforehand. */
static volatile float tiny = 1e-38f, quarter = 0.25f, one = 1.0f, ulp_third = 1.0f / 3 / 8388608;

static void the_environment_is_ours_inside_and_the_callers_after(void **state) {
    (void)state;
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
#if defined(__x86_64__)
    unsigned odd = __builtin_ia32_stmxcsr() | 0x8040; /* flush to zero, denormals are zero */
    __builtin_ia32_ldmxcsr(odd);
    assert_true(tiny * quarter == 0);
    feclearexcept(FE_ALL_EXCEPT);
#elif defined(__aarch64__)
    uint64_t odd, found;
    __asm__ volatile("mrs %0, fpcr" : "=r"(odd));
    odd |= 0x03000000; /* flush to zero, one NaN for all */
    __asm__ volatile("msr fpcr, %0" : : "r"(odd));
    assert_true(tiny * quarter == 0);
    feclearexcept(FE_ALL_EXCEPT);
#endif
    vy_fenv saved;
    vy_fenv_enter(&saved);
    int mode = fegetround();
    float subnormal = tiny * quarter, sum = one + ulp_third;
    vy_fenv_leave(&saved);
    int after = fegetround(), flags = fetestexcept(FE_INEXACT | FE_UNDERFLOW);
#if defined(__x86_64__)
    unsigned found = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80);
    assert_int_equal(found & 0x8040, 0x8040);
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(found));
    __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(0)));
    assert_int_equal(found, odd);
#endif
    fesetround(FE_TONEAREST);
    assert_int_equal(mode, FE_TONEAREST);
    assert_true(subnormal > 0);
    assert_true(sum == 1.0f);
    assert_int_equal(after, FE_UPWARD);
    assert_int_equal(flags, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_work_is_done_by_any_number_of_workers),
        cmocka_unit_test(without_memory_the_caller_does_all_of_it),
        cmocka_unit_test(every_worker_has_its_own_number),
        cmocka_unit_test(workers_leave_signals_to_the_application),
        cmocka_unit_test(times_are_split_as_conditions_take_them),
        cmocka_unit_test(a_condition_waits_by_our_clock),
        cmocka_unit_test(cores_follow_the_affinity_mask),
        cmocka_unit_test(quotas_of_control_groups_count),
        cmocka_unit_test(the_environment_is_ours_inside_and_the_callers_after),
    };
    return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
