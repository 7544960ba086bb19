/* Random programs on a backend and on the oracle, by processes: a crash or a program that does not end is one more
 * finding, and is shrunk like any other.
 *
 *   VYRE_CAMPAIGN_COUNT    programs (120 times VYRE_EFFORT)
 *   VYRE_CAMPAIGN_SEED     first seed (VYRE_SEED, else 1); one in 16, and all from 1099511627776 on, are programs of
 *                          expressions alone (conform_trees.h)
 *   VYRE_CAMPAIGN_WORKERS  processes (the cores)
 *   VYRE_CAMPAIGN_SECONDS  after so many no more programs are started (no bound)
 *   VYRE_CAMPAIGN_PATIENCE after so many a program is one that does not end (60; more in an emulator)
 *   VYRE_CAMPAIGN_LENGTH   statements asked for, at most (no bound): short programs are quick to compile, and there
 *                          can be more of them
 *   VYRE_CAMPAIGN_STRESS   VYRE_STRESS_… of every program, as a number: 1024 choices, 2048 math (by the seed, in a
 *                          third of them)
 *   VYRE_CAMPAIGN_VARIANT  only variants whose settings contain this text, such as VYRE_CPU_ISA=x86-64-v3 (all)
 *   VYRE_CAMPAIGN_FOLDER   where failing cases go (campaign-failures in the working directory), each to be run with
 *                          `vyre run BASE.vyre @BASE.args`
 *   VYRE_CAMPAIGN_JSON     a file for the figures
 *
 * A variant is a setting of the environment the backend is acquired with. A block of consecutive seeds, as many as the
 * sum of all weights, meets each variant as often as its weight says, from another place in each block. So the variant
 * of a seed does not depend on where a campaign starts. */
#ifndef VY_TESTS_CONFORM_CAMPAIGN_H
#define VY_TESTS_CONFORM_CAMPAIGN_H

#include "backends/conform_trees.h"

#include "base/thread.h"
#include "campaign/case_file.h"
#include "lower/put_traps.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONFORM_WORKERS = 64, CONFORM_FAILURES = 4 /* of a worker: then it stops */, CONFORM_VARIANTS = 32 };

/* Pairs of variable and value, "NAME=VALUE NAME=VALUE". */
typedef struct conform_variant {
    const char *settings;
    unsigned length; /* statements asked for, at most; 0: no bound */
    unsigned weight; /* 0: 1 */
} conform_variant;

typedef struct conform_share {
    uint64_t programs, failures, backend_ns; /* failures: with crashes */
} conform_share;

/* In memory shared with the parent. */
typedef struct conform_worker {
    uint64_t next; /* index of the case under way */
    uint64_t done, judged, trapped, refused, failures, crashes, statements;
    uint64_t backend_ns, oracle_ns;
    conform_share shares[CONFORM_VARIANTS];
} conform_worker;

typedef struct conform_campaign {
    const char *id;
    const conform_variant *variants;
    size_t variant_count;
    uint64_t count, seed;
    unsigned workers;
    uint64_t stop_ns; /* 0: never */
    const char *folder;
    conform_worker *shared;
    pid_t processes[CONFORM_WORKERS];
} conform_campaign;

static inline uint64_t conform_setting(const char *name, uint64_t otherwise) {
    const char *value = getenv(name);
    return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

static inline unsigned conform_patience(void) {
    return (unsigned)conform_setting("VYRE_CAMPAIGN_PATIENCE", 60);
}

static inline uint64_t conform_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Most programs are small, since compiling takes the time; some have large grids, for the threads; some are long. By
 * the seed, and the length that is allowed (0: any). A third feels one kind of stress, a sixth one of the two that
 * show defects of vectorised code most often. */
static inline vyre_generate_options conform_options(uint64_t seed, unsigned length) {
    vyre_generate_options options = {.seed = seed, .statements = 8 + (unsigned)(seed % 5) * 5, .invocations = 64};
    if (seed % 3 == 0)
        options.stress = 1u << (seed / 3 % VYRE_STRESS_COUNT);
    else if (seed % 6 == 1)
        options.stress = seed / 6 % 2 ? VYRE_STRESS_EDGES : VYRE_STRESS_CONVERSIONS;
    if (seed % 16 == 0)
        options.invocations = 700;
    if (seed % 64 == 5)
        options.statements = 100;
    if (seed % 64 == 9)
        options.invocations = 4096;
    options.stress = vy_test_stress(options.stress);
    unsigned allowed = (unsigned)conform_setting("VYRE_CAMPAIGN_LENGTH", 0);
    if (allowed && (!length || length > allowed))
        length = allowed;
    if (length && options.statements > length) {
        options.statements = length;
        options.depth = length < 4 ? 2 : 3;
    }
    return options;
}

/* The case of options; every fourth has traps in random places, where nobody but the oracle says what is left of it. */
static inline vyre_case *conform_generate_by(const vyre_generate_options *options) {
    uint64_t seed = options->seed;
    vyre_case *made, *trapping = NULL;
    vyre_program *flat;
    assert_int_equal(vyre_generate(options, &made, NULL), VYRE_OK);
    if (seed % 4 != 3 || vyre_program_inline(vyre_case_program(made), &flat, NULL) != VYRE_OK)
        return made;
    vy_random random = {seed};
    vyre_program *program = with_traps(flat, &random, 3 + (unsigned)(seed % 9));
    if (program && !vyre_program_schedule_dependent(program))
        assert_int_equal(vyre_case_new(program, vyre_case_arguments(made), &trapping, NULL), VYRE_OK);
    vyre_program_release(program);
    vyre_program_release(flat);
    if (!trapping)
        return made;
    vyre_case_free(made);
    return trapping;
}

static inline vyre_case *conform_generate(uint64_t seed, unsigned length) {
    vyre_generate_options options = conform_options(seed, length);
    if (trees_are_of(seed) || seed % 16 == 14)
        return trees_generate(seed, length && length < TREES ? length : TREES);
    return conform_generate_by(&options);
}

static inline size_t conform_variant_of(const conform_campaign *m, uint64_t seed) {
    uint64_t sum = 0, at;
    for (size_t i = 0; i < m->variant_count; i++)
        sum += m->variants[i].weight ? m->variants[i].weight : 1;
    at = (seed + (seed / sum * UINT64_C(0x9e3779b97f4a7c15) >> 40)) % sum;
    for (size_t i = 0;; i++) {
        uint64_t weight = m->variants[i].weight ? m->variants[i].weight : 1;
        if (at < weight)
            return i;
        at -= weight;
    }
}

static inline vyre_case *conform_case_of(const conform_campaign *m, uint64_t seed) {
    return conform_generate(seed, m->variants[conform_variant_of(m, seed)].length);
}

static inline conform_form conform_form_of(uint64_t seed) {
    return (conform_form)((seed * UINT64_C(0xd1342543de82ef95) >> 40) % CONFORM_FORM_COUNT);
}

static inline void conform_set(const char *settings) {
    char text[256], *rest = text, *pair;
    snprintf(text, sizeof text, "%s", settings);
    while ((pair = strtok_r(rest, " ", &rest))) {
        char *equals = strchr(pair, '=');
        assert_non_null(equals);
        *equals = 0;
        setenv(pair, equals + 1, 1);
    }
}

static inline void conform_open_variant(const conform_campaign *m, conform *c, size_t variant) {
    char reason[1024];
    conform_set(m->variants[variant].settings);
    if (!conform_try_open(c, m->id, reason, sizeof reason))
        fail_msg("%s", reason);
}

/* ---- what fails ---- */

static inline void conform_keep(const conform_campaign *m, const vyre_case *small, uint64_t seed, const char *why) {
    char base[1024];
    mkdir(m->folder, 0777);
    snprintf(base, sizeof base, "%s/%s-%" PRIu64, m->folder, m->id, seed);
    const char *settings = m->variants[conform_variant_of(m, seed)].settings;
    printf("seed %" PRIu64 ", %s, %s: %s\n", seed, settings, conform_form_names[conform_form_of(seed)], why);
    show_case(small);
    write_case(small, base);
    conform_show_command(m->id, settings, base);
    fflush(stdout);
}

static inline void conform_failed(const conform_campaign *m, conform *c, const vyre_case *given, uint64_t seed) {
    conform_form form = conform_form_of(seed);
    printf("FAIL seed %" PRIu64 ", %s, %s: %s\n", seed, m->variants[conform_variant_of(m, seed)].settings,
           conform_form_names[form], c->message);
    fflush(stdout);
    alarm(2 * conform_patience());
    vyre_case *small = conform_shrink(c, vyre_case_program(given), vyre_case_arguments(given), form, 300);
    if (small) {
        c->checks = 1;
        conform_agree(c, vyre_case_program(small), vyre_case_arguments(small), form);
        c->checks = 0;
    }
    conform_keep(m, small ? small : given, seed, c->message);
    vyre_case_free(small);
}

/* ---- workers ---- */

/* A program that a backend has no code for, and says so, is counted: no bits are wrong. */
static inline int conform_refuses(const conform *c) {
    return c->status == VYRE_UNSUPPORTED && !strstr(c->message, "malformed");
}

static inline int conform_one(const conform_campaign *m, conform_worker *w, conform *c, uint64_t seed) {
    vyre_program_stats stats;
    conform_share *share = &w->shares[conform_variant_of(m, seed)];
    vyre_case *made = conform_case_of(m, seed);
    vyre_program *program = vyre_case_program(made);
    const vyre_arguments *arguments = vyre_case_arguments(made);
    uint64_t start = conform_clock(), middle;
    c->checks = seed % 4 == 3; /* traps may part who meets */
    int fine = 1, says = conform_expect(c, program, arguments);
    c->checks = 0;
    middle = conform_clock();
    if (says)
        fine = conform_given(c, program, arguments, conform_form_of(seed));
    w->oracle_ns += middle - start;
    middle = conform_clock() - middle;
    w->backend_ns += middle;
    share->backend_ns += middle;
    share->programs++;
    w->judged += (unsigned)says;
    w->trapped += says && c->expected.status == VYRE_TRAPPED;
    vyre_program_get_stats(program, &stats);
    w->statements += stats.statements;
    if (!fine && conform_refuses(c)) {
        printf("REFUSED seed %" PRIu64 ", %s, %s: %s\n", seed, m->variants[conform_variant_of(m, seed)].settings,
               conform_form_names[conform_form_of(seed)], c->message);
        w->refused++;
        fine = 1;
    } else if (!fine) {
        conform_failed(m, c, made, seed);
        share->failures++;
    }
    vyre_case_free(made);
    return fine;
}

static inline int conform_takes_more(const conform_campaign *m) {
    return m->stop_ns == 0 || conform_clock() < m->stop_ns;
}

/* Backends are acquired when a seed first needs them: a campaign of few programs meets few variants. */
static inline void conform_work(const conform_campaign *m, conform_worker *w) {
    static conform c[CONFORM_VARIANTS];
    for (; w->next < m->count && w->failures < CONFORM_FAILURES && conform_takes_more(m); w->next += m->workers) {
        uint64_t seed = m->seed + w->next;
        size_t variant = conform_variant_of(m, seed);
        alarm(conform_patience());
        if (!c[variant].backend)
            conform_open_variant(m, &c[variant], variant);
        w->failures += !conform_one(m, w, &c[variant], seed);
        w->done++;
    }
    alarm(0);
    for (size_t i = 0; i < m->variant_count; i++)
        if (c[i].backend)
            conform_close(&c[i]);
}

/* In a process of its own: what kills it shall be seen, which the handlers of the test would hide. */
static inline void conform_be_mortal(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
}

static inline int conform_start(conform_campaign *m, unsigned index) {
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        conform_be_mortal();
        conform_work(m, &m->shared[index]);
        fflush(stdout);
        _exit(0);
    }
    m->processes[index] = process;
    return process > 0;
}

/* ---- what kills the process ---- */

typedef struct conform_killer {
    const conform_campaign *m;
    uint64_t seed;
} conform_killer;

/* Whether a process that runs it dies or finds it wrong: a read outside a buffer crashes in one case and gives wrong
 * bits in the next. */
static inline int conform_kills(void *user, const vyre_case *candidate) {
    const conform_killer *k = user;
    int status;
    if (vyre_program_schedule_dependent(vyre_case_program(candidate)))
        return 0;
    pid_t process = fork();
    if (process == 0) {
        static conform c;
        conform_be_mortal();
        alarm(5);
        if (!freopen("/dev/null", "w", stdout))
            _exit(0);
        conform_open_variant(k->m, &c, conform_variant_of(k->m, k->seed));
        c.checks = 1;
        int agrees =
            conform_agree(&c, vyre_case_program(candidate), vyre_case_arguments(candidate), conform_form_of(k->seed));
        _exit(!agrees);
    }
    return process > 0 && waitpid(process, &status, 0) == process && status != 0;
}

static inline void conform_crashed(const conform_campaign *m, uint64_t seed, int status) {
    conform_killer k = {m, seed};
    vyre_case *made = conform_case_of(m, seed), *small = NULL;
    char why[64];
    snprintf(why, sizeof why, "the process died (%s %d)", WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    printf("FAIL seed %" PRIu64 ": %s\n", seed, why);
    fflush(stdout);
    if (conform_kills(&k, made) && vyre_shrink(made, conform_kills, &k, 150, &small, NULL) == VYRE_OK)
        conform_keep(m, small, seed, why);
    else
        conform_keep(m, made, seed, why);
    vyre_case_free(small);
    vyre_case_free(made);
}

/* Waits for all; one that died is started again behind the case that killed it. */
static inline void conform_supervise(conform_campaign *m) {
    unsigned alive = 0;
    for (unsigned i = 0; i < m->workers; i++) {
        m->shared[i].next = i;
        alive += (unsigned)conform_start(m, i);
    }
    while (alive) {
        int status;
        pid_t ended = waitpid(-1, &status, 0);
        if (ended < 0)
            break;
        for (unsigned i = 0; i < m->workers; i++) {
            conform_worker *w = &m->shared[i];
            if (m->processes[i] != ended)
                continue;
            alive--;
            m->processes[i] = 0;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                continue;
            conform_crashed(m, m->seed + w->next, status);
            w->crashes++;
            w->shares[conform_variant_of(m, m->seed + w->next)].failures++;
            w->next += m->workers;
            if (w->crashes < CONFORM_FAILURES && w->next < m->count)
                alive += (unsigned)conform_start(m, i);
        }
    }
}

/* ---- all of it ---- */

/* A driver that does not survive a fork is not started in this process: define CONFORM_APART as 1 before this
 * header. */
#ifndef CONFORM_APART
#define CONFORM_APART 0
#endif
static inline int conform_is_there(const char *id) {
    char reason[1024] = "";
    int status = 1;
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        static conform probe;
        int is_there = conform_try_open(&probe, id, reason, sizeof reason);
        printf("%s%s", reason, is_there ? "" : "\n");
        if (is_there)
            conform_close(&probe);
        fflush(stdout);
        _exit(!is_there);
    }
    assert_true(process > 0 && waitpid(process, &status, 0) == process);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static inline conform_worker conform_sum(const conform_campaign *m) {
    conform_worker sum = {0};
    for (unsigned i = 0; i < m->workers; i++) {
        const conform_worker *w = &m->shared[i];
        sum.done += w->done;
        sum.judged += w->judged;
        sum.trapped += w->trapped;
        sum.refused += w->refused;
        sum.failures += w->failures;
        sum.crashes += w->crashes;
        sum.statements += w->statements;
        sum.backend_ns += w->backend_ns;
        sum.oracle_ns += w->oracle_ns;
        for (size_t k = 0; k < m->variant_count; k++) {
            sum.shares[k].programs += w->shares[k].programs;
            sum.shares[k].failures += w->shares[k].failures;
            sum.shares[k].backend_ns += w->shares[k].backend_ns;
        }
    }
    return sum;
}

static inline void conform_write_json(FILE *file, const conform_campaign *m, const conform_worker *sum,
                                      double seconds) {
    fprintf(file,
            "{\"backend\": \"%s\", \"first_seed\": %" PRIu64 ", \"programs\": %" PRIu64 ", \"judged\": %" PRIu64
            ", \"trapped\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"statements\": %" PRIu64 ", \"failures\": %" PRIu64
            ", \"crashes\": %" PRIu64
            ", \"workers\": %u, \"seconds\": %.2f, \"backend_ms\": %.3f, \"oracle_ms\": %.3f, \"variants\": [",
            m->id, m->seed, sum->done, sum->judged, sum->trapped, sum->refused, sum->statements, sum->failures,
            sum->crashes, m->workers, seconds, (double)sum->backend_ns / 1e6 / (double)(sum->done ? sum->done : 1),
            (double)sum->oracle_ns / 1e6 / (double)(sum->done ? sum->done : 1));
    for (size_t i = 0; i < m->variant_count; i++) {
        const conform_share *share = &sum->shares[i];
        fprintf(file,
                "%s\n  {\"settings\": \"%s\", \"programs\": %" PRIu64 ", \"failures\": %" PRIu64
                ", \"backend_ms\": %.3f}",
                i ? "," : "", m->variants[i].settings, share->programs, share->failures,
                (double)share->backend_ns / 1e6 / (double)(share->programs ? share->programs : 1));
    }
    fprintf(file, "]}\n");
}

/* Those whose settings contain VYRE_CAMPAIGN_VARIANT. */
static inline size_t conform_choose(const conform_variant *given, size_t count, conform_variant *chosen) {
    const char *wanted = getenv("VYRE_CAMPAIGN_VARIANT");
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (!wanted || strstr(given[i].settings, wanted)) {
            assert_true(found < CONFORM_VARIANTS);
            chosen[found++] = given[i];
        }
    if (!found)
        fail_msg("no variant has `%s` in its settings, such as `%s`", wanted, given[0].settings);
    return found;
}

/* Runs it, shows one line and one of JSON; fails the test if anything failed. Returns how many programs of a thousand
 * were refused, rounded up. */
static inline uint64_t conform_campaign_run(const char *id, const conform_variant *variants, size_t variant_count) {
    conform_variant chosen[CONFORM_VARIANTS];
    conform_campaign m = {
        .id = id,
        .variants = chosen,
        .variant_count = conform_choose(variants, variant_count, chosen),
        .count = conform_setting("VYRE_CAMPAIGN_COUNT", (VY_SANITIZED ? 20 : 120) * (uint64_t)vy_test_effort()),
        .seed = conform_setting("VYRE_CAMPAIGN_SEED", conform_setting("VYRE_SEED", 1)),
        .workers = (unsigned)conform_setting("VYRE_CAMPAIGN_WORKERS", vy_cpu_count())};
    const char *folder = getenv("VYRE_CAMPAIGN_FOLDER"), *json = getenv("VYRE_CAMPAIGN_JSON");
    conform probe;
    m.folder = folder && *folder ? folder : "campaign-failures";
    m.workers = m.workers < 1 ? 1 : m.workers > CONFORM_WORKERS ? CONFORM_WORKERS : m.workers;
    if (!CONFORM_APART) {
        conform_open(&probe,
                     id); /* skips where there is none; and a compiler that is opened stays so in the processes */
        conform_close(&probe);
    } else if (!conform_is_there(id)) {
        VY_SKIP("backend %s: it is not there, or does not compile", id);
    }
    m.shared =
        mmap(NULL, CONFORM_WORKERS * sizeof *m.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(m.shared != MAP_FAILED);
    uint64_t start = conform_clock(), bound = conform_setting("VYRE_CAMPAIGN_SECONDS", 0);
    m.stop_ns = bound ? start + bound * 1000000000 : 0;
    conform_supervise(&m);
    double seconds = (double)(conform_clock() - start) / 1e9;
    conform_worker sum = conform_sum(&m);
    munmap(m.shared, CONFORM_WORKERS * sizeof *m.shared);
    printf("%" PRIu64 " random programs on %s in %.1f s (%.0f/s): %" PRIu64 " judged, %" PRIu64 " trapped, %" PRIu64
           " refused, %" PRIu64 " failures, %" PRIu64 " crashes\n",
           sum.done, id, seconds, (double)sum.done / seconds, sum.judged, sum.trapped, sum.refused, sum.failures,
           sum.crashes);
    conform_write_json(stdout, &m, &sum, seconds);
    FILE *file = json && *json ? fopen(json, "w") : NULL;
    if (file) {
        conform_write_json(file, &m, &sum, seconds);
        fclose(file);
    }
    assert_int_equal(sum.failures + sum.crashes, 0);
    if (!bound)
        assert_int_equal(sum.done, m.count);
    assert_true(sum.judged * 10 >= sum.done * 9);
    return sum.done ? (sum.refused * 1000 + sum.done - 1) / sum.done : 0;
}

#endif
