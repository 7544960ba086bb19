/* Runs the suite: every kernel at every size in every version there is, results compared, times side by side.
 *
 * usage: suite [--backend ID] [--quick | --check] [--only KERNEL] [--peers LIST] [--out FOLDER]
 *
 *   --backend ID   which backend is ours (cpu; with --check, reference if there is no cpu)
 *   --quick        small and medium sizes, fewer samples
 *   --check        tiny sizes, nothing measured: only whether the versions agree
 *   --only KERNEL  one kernel
 *   --peers LIST   of c, opencl, vulkan, with commas between (all)
 *   --out FOLDER   where suite.json and suite.html go (the current folder)
 *
 * The exit status is 1 if results differ. A version that is not there is left out, loudly. */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static const runner *const runners[VERSION_COUNT] = {&suite_ours, &suite_plain, &suite_opencl, &suite_vulkan};
static const char *const size_names[SIZES] = {"tiny", "small", "medium", "large"};

typedef struct options {
    const char *backend, *only, *out, *peers;
    int quick, check;
} options;

/* ---- comparing ---- */

static int same_floats(const float *a, const float *b, size_t count, double bound) {
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= bound * fmax(1, fabs((double)b[i]))))
            return 0;
    return 1;
}

static double part_different(const uint8_t *a, const uint8_t *b, size_t size) {
    size_t different = 0;
    for (size_t i = 0; i < size; i++)
        different += a[i] != b[i];
    return (double)different / (double)size;
}

static int agree(const work *w, version v, const void *got, const void *wanted, size_t size) {
    double bound = w->kernel->bounds[v];
    if (!got || !wanted)
        return 0;
    if (bound == 0 || w->kernel->comparison == COMPARE_BITS)
        return memcmp(got, wanted, size) == 0;
    if (w->kernel->comparison == COMPARE_F32)
        return same_floats(got, wanted, size / 4, bound);
    return part_different(got, wanted, size) <= bound;
}

/* Against plain C, which ran from the same contents. */
static int check(const work *w, void *const *jobs, version v, char *problem) {
    runners[v]->reset(jobs[v]);
    if (!runners[v]->run(jobs[v])) {
        snprintf(problem, REASON, "the run failed");
        return 0;
    }
    for (size_t i = 0; v != VERSION_C && jobs[VERSION_C] && i < w->array_count; i++) {
        role role = w->arrays[i].role;
        if (role != ROLE_OUTPUT && role != ROLE_BOTH)
            continue;
        if (!agree(w, v, runners[v]->array(jobs[v], i), suite_plain.array(jobs[VERSION_C], i), w->arrays[i].size)) {
            snprintf(problem, REASON, "array %zu is not what plain C computes", i);
            return 0;
        }
    }
    return 1;
}

/* ---- measuring ---- */

typedef struct course {
    double times[SAMPLES], once, best;
    int count, iterations, rounds;
} course;

/* The mean of several runs, < 0 on failure. It ends early when others keep the processor; the best run is kept apart. */
static double sample(const runner *runner, void *job, int iterations, int restores, double *best) {
    if (restores)
        runner->reset(job);
    double start = suite_now(), before = start;
    int done = 0;
    while (done < iterations && before - start < 0.05) {
        if (!runner->run(job))
            return -1;
        double now = suite_now();
        if (now - before < *best)
            *best = now - before;
        before = now;
        done++;
    }
    return (before - start) / done;
}

/* How often: a sample is long enough for the clock and to fill caches, and all samples together take about the budget, but there are three of them.
 * Where a run takes a second, the one made here is enough. */
static void plan(const runner *runner, void *job, const options *o, int restores, course *c) {
    double length = o->quick ? 0.002 : 0.01, budget = o->quick ? 0.05 : 0.35;
    c->best = INFINITY;
    c->once = sample(runner, job, 1, restores, &c->best);
    if (c->once < length * 3 && !restores) { /* the first may have had to wake threads */
        sample(runner, job, 4, 0, &c->best);
        c->once = c->best;
    }
    c->iterations = restores || c->once <= 0 || c->once > length ? 1 : (int)(length / c->once) + 1;
    double each = c->once * c->iterations;
    c->rounds = each * 3 > budget ? 3 : each * SAMPLES > budget ? (int)(budget / each) : SAMPLES;
    if (each > 1) {
        c->times[c->count++] = each;
        c->rounds = 0;
    }
}

/* Versions take turns, so that what else the machine does meets all of them. A pause in between lets the threads of the one before go to sleep; a short run
 * that does not count wakes those of the next. */
static void measure(const work *w, void *const *jobs, const options *o, row *row) {
    course courses[VERSION_COUNT] = {0};
    struct timespec pause = {0, 3000000};
    int restores = w->kernel->restores;
    for (int v = 0; v < VERSION_COUNT; v++)
        if (jobs[v])
            plan(runners[v], jobs[v], o, restores, &courses[v]);
    for (int round = 0; round < SAMPLES; round++)
        for (int v = 0; v < VERSION_COUNT; v++) {
            course *c = &courses[v];
            if (round >= c->rounds)
                continue;
            nanosleep(&pause, NULL);
            if (c->once < 0.02)
                sample(runners[v], jobs[v], 1, restores, &c->best);
            double seconds = sample(runners[v], jobs[v], c->iterations, restores, &c->best);
            if (seconds > 0)
                c->times[c->count++] = seconds;
        }
    for (int v = 0; v < VERSION_COUNT; v++) {
        row->times[v] = suite_statistic(courses[v].times, courses[v].count);
        if (courses[v].count)
            row->times[v].min = courses[v].best;
    }
}

static void print_row(const row *row, int good, int check_only) {
    printf("%-11s %-7s %10zu", row->kernel->name, row->size, row->n);
    for (int v = 0; v < VERSION_COUNT; v++)
        if (row->problems[v][0])
            printf("  %s: %s", runners[v]->title, row->problems[v]);
        else if (row->times[v].samples)
            printf("  %s %.1f us (%.1f)", runners[v]->title, row->times[v].median * 1e6, row->times[v].min * 1e6);
    if (check_only)
        printf(good ? "  checked" : "  FAILED");
    else if (row->times[VERSION_OURS].samples)
        for (int v = VERSION_C; v < VERSION_COUNT; v++)
            if (row->times[v].samples)
                printf("  x%.2f (%.2f)", row->times[v].median / row->times[VERSION_OURS].median,
                       row->times[v].min / row->times[VERSION_OURS].min);
    printf("\n");
    fflush(stdout);
}

/* 0 if versions disagree. */
static int run_row(const kernel *kernel, int size, const options *o, const int *available, report *r) {
    void *jobs[VERSION_COUNT] = {0};
    int good = 1;
    work w;
    row *row = &r->rows[r->row_count];
    *row = (struct row){.kernel = kernel, .n = kernel->sizes[size], .size = size_names[size]};
    if (r->row_count == ROWS || !suite_work_make(kernel, kernel->sizes[size], &w)) {
        printf("SKIP %s %s: no memory\n", kernel->name, size_names[size]);
        return 1;
    }
    r->row_count++;
    row->bytes = w.bytes;
    /* Plain C first: the others are compared with it. */
    static const version order[] = {VERSION_C, VERSION_OURS, VERSION_OPENCL, VERSION_VULKAN};
    for (int i = 0; i < VERSION_COUNT; i++) {
        version v = order[i];
        jobs[v] = available[v] ? runners[v]->prepare(&w, row->problems[v]) : NULL;
        if (!jobs[v] && row->problems[v][0])
            printf("SKIP %s of %s: %s\n", runners[v]->title, kernel->name, row->problems[v]);
        if (!jobs[v] || check(&w, jobs, v, row->problems[v]))
            continue;
        good = 0;
        runners[v]->discard(jobs[v]);
        jobs[v] = NULL;
    }
    if (!o->check)
        measure(&w, jobs, o, row);
    print_row(row, good, o->check);
    for (int v = 0; v < VERSION_COUNT; v++)
        if (jobs[v])
            runners[v]->discard(jobs[v]);
    suite_work_free(&w);
    return good;
}

/* ---- what it ran on ---- */

static void describe_machine(report *r) {
    char line[256];
    struct utsname name;
    time_t now = time(NULL);
    struct tm utc;
    strftime(r->date, sizeof r->date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    if (uname(&name) == 0)
        snprintf(r->host, sizeof r->host, "%.40s %.60s %.20s", name.sysname, name.release, name.machine);
    if (getloadavg(&r->load, 1) != 1)
        r->load = 0;
    r->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    r->last_cache = cache > 0 ? (uint64_t)cache : 0;
    FILE *info = fopen("/proc/cpuinfo", "r");
    while (info && fgets(line, sizeof line, info))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            line[strcspn(line, "\n")] = 0;
            snprintf(r->cpu, sizeof r->cpu, "%.120s", strchr(line, ':') + 2);
            break;
        }
    if (info)
        fclose(info);
    snprintf(r->commit, sizeof r->commit, "%s", VYRE_SUITE_COMMIT);
}

static int parse_options(int argc, char **argv, options *o) {
    for (int i = 1; i < argc; i++) {
        const char **value = strcmp(argv[i], "--backend") == 0 ? &o->backend
                             : strcmp(argv[i], "--only") == 0  ? &o->only
                             : strcmp(argv[i], "--out") == 0   ? &o->out
                             : strcmp(argv[i], "--peers") == 0 ? &o->peers
                                                               : NULL;
        if (value && i + 1 < argc)
            *value = argv[++i];
        else if (strcmp(argv[i], "--quick") == 0)
            o->quick = 1;
        else if (strcmp(argv[i], "--check") == 0)
            o->check = 1;
        else
            return 0;
    }
    return 1;
}

static void open_versions(const options *o, report *r, int *available) {
    for (int v = 0; v < VERSION_COUNT; v++) {
        available[v] = 0;
        if (v != VERSION_OURS && !strstr(o->peers, runners[v]->id)) {
            snprintf(r->missing[v], REASON, "not asked for");
            continue;
        }
        const char *backend = o->backend ? o->backend : "cpu";
        available[v] = runners[v]->open(backend, r->versions[v], r->missing[v]);
        if (v == VERSION_OURS && !available[v] && o->check && !o->backend) {
            printf("%s; reference instead\n", r->missing[v]);
            available[v] = runners[v]->open("reference", r->versions[v], r->missing[v]);
        }
        if (available[v]) {
            r->missing[v][0] = 0;
            printf("%-9s %s\n", runners[v]->title, r->versions[v]);
        } else {
            printf("SKIP %s: %s\n", runners[v]->title, r->missing[v]);
        }
    }
}

static void print_summary(const report *r) {
    for (size_t i = 0; i < r->extra_count; i++) {
        const extra *e = &r->extras[i];
        int rate = e->unit[0] == 'G';
        printf("%s, %s: %.2f %s\n", e->group, e->name, rate ? e->value.median : e->value.median * 1e6,
               rate ? e->unit : "us");
    }
    for (int v = VERSION_C; v < VERSION_COUNT; v++) {
        size_t count;
        double mean = suite_geometric_mean(r, (version)v, NULL, FIGURE_MEDIAN, &count);
        double best = suite_geometric_mean(r, (version)v, NULL, FIGURE_BEST, &count);
        if (count)
            printf("geometric mean over %zu rows: ours is %.2f times as fast as %s by best times, %.2f by medians\n",
                   count, best, runners[v]->title, mean);
    }
}

static void warn_if_busy(const report *r) {
    if (r->load > 0.5)
        printf(
            "NOTE others use this machine (load %.1f on %d cores): medians are theirs as much as ours, and a parallel "
            "loop waits for its slowest thread. Look at the best times, or run it on an idle machine.\n",
            r->load, r->cores);
}

static int write_results(const report *r, const options *o) {
    char path[4096];
    snprintf(path, sizeof path, "%s/suite.json", o->out);
    int good = suite_write_json(r, path);
    printf("%s%s\n", path, good ? "" : " cannot be written");
    snprintf(path, sizeof path, "%s/suite.html", o->out);
    int page = suite_write_html(r, path);
    printf("%s%s\n", path, page ? "" : " cannot be written");
    return good && page;
}

int main(int argc, char **argv) {
    static report r;
    options o = {.out = ".", .peers = "c,opencl,vulkan"};
    int available[VERSION_COUNT], good = 1;
    double start = suite_now();
    if (!parse_options(argc, argv, &o)) {
        fprintf(stderr, "usage: suite [--backend ID] [--quick | --check] [--only KERNEL] [--peers LIST] [--out "
                        "FOLDER]\n");
        return 2;
    }
    describe_machine(&r);
    open_versions(&o, &r, available);
    for (size_t k = 0; k < suite_kernel_count; k++)
        for (int size = o.check ? 0 : 1; size < (o.check ? 1 : o.quick ? 3 : SIZES); size++)
            if (suite_kernels[k].sizes[size] && (!o.only || strcmp(o.only, suite_kernels[k].name) == 0))
                good &= run_row(&suite_kernels[k], size, &o, available, &r);
    if (!o.check) {
        if (!o.only)
            suite_extras(&r, available, o.quick);
        r.seconds = suite_now() - start;
        print_summary(&r);
        warn_if_busy(&r);
        good &= write_results(&r, &o);
    }
    for (int v = 0; v < VERSION_COUNT; v++)
        if (available[v])
            runners[v]->close();
    printf("%s in %.1f s\n", good ? "all versions agree" : "FAILED: see above", suite_now() - start);
    return !good;
}
