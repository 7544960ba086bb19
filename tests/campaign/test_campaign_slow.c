/* The campaign: random programs against everything the library promises, on all cores.
 *
 *   VYRE_CAMPAIGN_COUNT    programs (4000 times VYRE_EFFORT)
 *   VYRE_CAMPAIGN_SEED     first seed (1)
 *   VYRE_CAMPAIGN_WORKERS  processes (the cores)
 *   VYRE_CAMPAIGN_FOLDER   where failing cases go (campaign-failures in the working directory)
 *
 * Workers are processes, so that a crash is one more finding: the parent names the seed and starts the next. A failure
 * shows the seed, the stage and the program, shrinks the case and writes it to the folder, to be run with `vyre run
 * BASE.vyre @BASE.args`. */
#include "support/test.h"

#include "base/thread.h"
#include "campaign/case_file.h"
#include "campaign/coverage.h"
#include "campaign/judge.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORKERS = 64, MAX_FAILURES = 8 /* of a worker: then it stops */ };

/* What a worker tells, in memory shared with the parent. */
typedef struct worker {
    uint64_t next; /* index of the case under way */
    uint64_t done, failures, crashes;
    uint64_t programs, statements, expressions, steps, trapped, functions, barriers, collectives, atomics,
        grid_barriers;
    uint64_t nanoseconds[STAGE_COUNT];
    coverage coverage;
} worker;

typedef struct campaign {
    uint64_t count, seed;
    unsigned workers;
    const char *folder;
    worker *shared;
    pid_t processes[MAX_WORKERS]; /* the parent's alone */
} campaign;

static uint64_t setting(const char *name, uint64_t otherwise) {
    const char *value = getenv(name);
    return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

/* Every third case has one kind of stress, sizes vary, a few are large: long programs, and grids that
 * the oracle gives to several threads. Fixed by the seed alone. */
static vyre_generate_options options_of(uint64_t seed) {
    vyre_generate_options options = {.seed = seed, .statements = 12 + (unsigned)(seed % 5) * 6, .invocations = 48};
    if (seed % 3 == 0)
        options.stress = 1u << (seed / 3 % VYRE_STRESS_COUNT);
    if (seed % 16 == 0)
        options.invocations = 300;
    if (seed % 64 == 0)
        options.statements = 120;
    if (seed % 128 == 1)
        options.invocations = 4096;
    if (seed % 128 == 2) {
        options.statements = 400;
        options.invocations = 16;
        options.stress = VYRE_STRESS_FUNCTIONS | VYRE_STRESS_CONTROL | VYRE_STRESS_COLLECTIVES;
    }
    options.stress = vy_test_stress(options.stress);
    return options;
}

/* ---- a failing case ---- */

typedef struct suspect {
    judge *judge;
    judge_stage stage;
} suspect;

static int fails_alike(void *user, const vyre_case *candidate) {
    suspect *s = user;
    return judge_case(s->judge, candidate) == s->stage;
}

static void report_failure(const campaign *c, judge *j, const vyre_case *given, judge_stage stage, uint64_t seed) {
    printf("FAIL seed %" PRIu64 ", stage %s: %s\n", seed, judge_names[stage], j->message);
    show_case(given);
    suspect s = {j, stage};
    vyre_case *small;
    if (vyre_shrink(given, fails_alike, &s, 1500, &small, NULL) == VYRE_OK) {
        char base[1024];
        mkdir(c->folder, 0777);
        snprintf(base, sizeof base, "%s/case-%" PRIu64, c->folder, seed);
        judge_case(j, small);
        printf("shrunk, in %s.vyre and .args; stage %s: %s\n", base, judge_names[stage], j->message);
        show_case(small);
        write_case(small, base);
        vyre_case_free(small);
    }
    fflush(stdout);
}

/* ---- workers ---- */

static void count_program(worker *w, const vyre_program *program) {
    vyre_program_stats stats;
    vyre_program_get_stats(program, &stats);
    w->programs++;
    w->statements += stats.statements;
    w->expressions += stats.expressions;
    w->functions += stats.functions != 0;
    w->atomics += (program->facts & VY_PROGRAM_HAS_ATOMIC) != 0;
    w->grid_barriers += (program->facts & VY_PROGRAM_HAS_GRID_BARRIER) != 0;
    int barrier = 0, collective = 0;
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        barrier |= program->stmts.items[i].kind == VY_STMT_BARRIER;
        collective |= program->stmts.items[i].kind == VY_STMT_COLLECTIVE;
    }
    w->barriers += (uint64_t)barrier;
    w->collectives += (uint64_t)collective;
    coverage_add(&w->coverage, program);
}

static int one_case(const campaign *c, worker *w, judge *j, uint64_t seed) {
    vyre_generate_options options = options_of(seed);
    vyre_error error;
    vyre_case *made;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &j->started);
    vyre_status status = vyre_generate(&options, &made, &error);
    judge_clock(j, STAGE_GENERATE);
    if (status != VYRE_OK) {
        printf("FAIL seed %" PRIu64 ", stage generate: %s: %s (%s)\n", seed, vyre_status_name(status), error.message,
               error.where);
        return 0;
    }
    judge_stage stage = judge_case(j, made);
    if (stage != STAGE_COUNT)
        report_failure(c, j, made, stage, seed);
    count_program(w, vyre_case_program(made));
    vyre_case_free(made);
    return stage == STAGE_COUNT;
}

static void work(const campaign *c, worker *w) {
    static judge j;
    for (; w->next < c->count && w->failures < MAX_FAILURES; w->next += c->workers) {
        w->failures += !one_case(c, w, &j, c->seed + w->next);
        w->done++;
        if (w->done % 64 == 0 || w->next + c->workers >= c->count) {
            memcpy(w->nanoseconds, j.nanoseconds, sizeof j.nanoseconds);
            w->steps = j.steps;
            w->trapped = j.trapped;
        }
    }
    judge_free(&j);
}

/* Returns whether there is such a process now. */
static int start_worker(campaign *c, unsigned index) {
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        work(c, &c->shared[index]);
        fflush(stdout);
        _exit(0);
    }
    c->processes[index] = process;
    return process > 0;
}

static void show_progress(const campaign *c, uint64_t started) {
    uint64_t done = 0, failures = 0;
    for (unsigned i = 0; i < c->workers; i++) {
        done += c->shared[i].done;
        failures += c->shared[i].failures + c->shared[i].crashes;
    }
    double seconds = (double)((uint64_t)time(NULL) - started);
    fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " programs, %.0f/s, %" PRIu64 " failures ", done, c->count,
            seconds > 0 ? (double)done / seconds : 0.0, failures);
}

/* Waits for all; one that crashed is started again behind the case that killed it. */
static void supervise(campaign *c) {
    uint64_t started = (uint64_t)time(NULL);
    unsigned alive = 0;
    for (unsigned i = 0; i < c->workers; i++) {
        c->shared[i].next = i;
        alive += (unsigned)start_worker(c, i);
    }
    int terminal = isatty(STDERR_FILENO);
    while (alive) {
        int status;
        pid_t ended = waitpid(-1, &status, terminal ? WNOHANG : 0);
        if (ended == 0) {
            show_progress(c, started);
            usleep(200000);
            continue;
        }
        if (ended < 0)
            break;
        for (unsigned i = 0; i < c->workers; i++) {
            worker *w = &c->shared[i];
            if (c->processes[i] != ended)
                continue;
            alive--;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                continue;
            printf("FAIL seed %" PRIu64 ": the process died (%s %d)\n", c->seed + w->next,
                   WIFSIGNALED(status) ? "signal" : "status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            w->crashes++;
            w->next += c->workers;
            if (w->crashes < MAX_FAILURES && w->next < c->count)
                alive += (unsigned)start_worker(c, i);
        }
    }
    if (terminal)
        fputc('\n', stderr);
}

/* ---- the end ---- */

static worker sum_workers(const campaign *c) {
    worker sum = {0};
    for (unsigned i = 0; i < c->workers; i++) {
        const worker *w = &c->shared[i];
        uint64_t *const to[] = {&sum.done,        &sum.failures, &sum.crashes,      &sum.programs,  &sum.statements,
                                &sum.expressions, &sum.steps,    &sum.trapped,      &sum.functions, &sum.barriers,
                                &sum.collectives, &sum.atomics,  &sum.grid_barriers};
        const uint64_t from[] = {w->done,        w->failures, w->crashes,      w->programs,  w->statements,
                                 w->expressions, w->steps,    w->trapped,      w->functions, w->barriers,
                                 w->collectives, w->atomics,  w->grid_barriers};
        for (size_t k = 0; k < sizeof from / sizeof *from; k++)
            *to[k] += from[k];
        for (int stage = 0; stage < STAGE_COUNT; stage++)
            sum.nanoseconds[stage] += w->nanoseconds[stage];
        coverage_join(&sum.coverage, &w->coverage);
    }
    return sum;
}

static void print_summary(const worker *sum, double seconds, const coverage_report *report) {
    double n = sum->programs ? (double)sum->programs : 1;
    double total = 0;
    printf("stage       us of processor time a program\n");
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        double mean = (double)sum->nanoseconds[stage] / 1e3 / n;
        printf("  %-10s %9.1f\n", judge_names[stage], mean);
        total += mean;
    }
    printf("  %-10s %9.1f\n", "all", total);
    printf("per program: %.1f statements, %.1f expressions, %.0f steps over all runs\n", (double)sum->statements / n,
           (double)sum->expressions / n, (double)sum->steps / n);
    printf("programs with functions %" PRIu64 ", barriers %" PRIu64 ", collectives %" PRIu64 ", atomics %" PRIu64
           ", grid barriers %" PRIu64 ", trapped %" PRIu64 "\n",
           sum->functions, sum->barriers, sum->collectives, sum->atomics, sum->grid_barriers, sum->trapped);
    printf("coverage: %u of %u cells (ops x types, casts, collectives x widths, atomics x types, statements, sizes, "
           "grids)\n",
           report->cells - report->empty, report->cells);
    printf("%" PRIu64 " programs in %.1f s (%.0f/s), %" PRIu64 " failures, %" PRIu64 " crashes\n", sum->programs,
           seconds, n / seconds, sum->failures, sum->crashes);
}

static void random_programs_keep_every_promise(void **state) {
    (void)state;
    struct timespec start, end;
    campaign c = {.count = setting("VYRE_CAMPAIGN_COUNT", 4000 * (uint64_t)vy_test_effort()),
                  .seed = setting("VYRE_CAMPAIGN_SEED", 1),
                  .workers = (unsigned)setting("VYRE_CAMPAIGN_WORKERS", vy_cpu_count())};
    const char *folder = getenv("VYRE_CAMPAIGN_FOLDER");
    c.folder = folder && *folder ? folder : "campaign-failures";
    c.workers = c.workers < 1 ? 1 : c.workers > MAX_WORKERS ? MAX_WORKERS : c.workers;
    c.shared = mmap(NULL, MAX_WORKERS * sizeof *c.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(c.shared != MAP_FAILED);
    clock_gettime(CLOCK_MONOTONIC, &start);
    supervise(&c);
    clock_gettime(CLOCK_MONOTONIC, &end);
    worker sum = sum_workers(&c);
    /* Small campaigns (a few seeds again, to look at one) cannot reach every cell. */
    coverage_report report = coverage_check(&sum.coverage, sum.programs >= 4000 ? stdout : NULL);
    print_summary(&sum, (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9, &report);
    munmap(c.shared, MAX_WORKERS * sizeof *c.shared);
    assert_int_equal(sum.failures + sum.crashes, 0);
    assert_int_equal(sum.done, c.count);
    if (sum.programs >= 4000)
        assert_int_equal(report.empty, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_keep_every_promise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
