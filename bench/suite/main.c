/* Runs the suite: every kernel at every size in every available version, compares the results, and measures the times.
 *
 * usage: suite [--backend ID] [--device | --timeline | --math] [--quick | --check] [--only LIST] [--peers LIST]
 * [--anchors COMMAND] [--out FOLDER]
 *
 *   --backend ID   backend of libvyre (cpu, or cuda with --device; with --check, reference if cpu is not available)
 *   --device       sizes for a device with dedicated memory; also its clock, and the cost of libvyre above its driver
 *   --timeline     only times of copies and kernels on the device, for dispatches on large host buffers
 *   --math         only the speed of math functions on a device against CUDA's; LIST has functions, and math.json is
 *                  written
 *   --quick        small and medium sizes, fewer samples
 *   --check        tiny sizes, without measurements: only compares the versions
 *   --only LIST    these kernels, separated by commas; `extras`: all other measurements
 *   --peers LIST   of c, opencl, vulkan, cuda, cuda-same, ours-hand, separated by commas (default: the first three;
 *                  with --device the others)
 *   --anchors COMMAND  runs at the end; its output is stored
 *   --out FOLDER   folder of suite.json and suite.html (the current folder)
 *
 * The exit status is 1 if results differ. A version that is not available is left out with a message. */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

const runner *const suite_runners[VERSION_COUNT] = {&suite_ours,      &suite_plain, &suite_opencl,   &suite_vulkan,
                                                    &suite_cuda_same, &suite_cuda,  &suite_ours_hand};
const pairing suite_pairings[PAIRINGS] = {{VERSION_C, VERSION_OURS},      {VERSION_OPENCL, VERSION_OURS},
                                          {VERSION_VULKAN, VERSION_OURS}, {VERSION_CUDA_SAME, VERSION_OURS},
                                          {VERSION_CUDA, VERSION_OURS},   {VERSION_CUDA, VERSION_OURS_HAND}};
static const char *const size_names[SIZES] = {"tiny", "small", "medium", "large"};

typedef struct options {
    const char *backend, *only, *out, *peers, *anchors;
    int quick, check, device, timeline, math;
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

/* The version that others are compared with: `ours` for `ours-hand`, if it is available. */
static const version references[] = {VERSION_C, VERSION_CUDA, VERSION_CUDA_SAME};

static version reference_of(void *const *jobs, version v) {
    if (v == VERSION_OURS_HAND && jobs[VERSION_OURS])
        return VERSION_OURS;
    for (size_t i = 0; i < sizeof references / sizeof *references; i++)
        if (jobs[references[i]])
            return references[i];
    return VERSION_COUNT;
}

/* Bounds are for plain C. A bound for one of the others is due to its order of additions. */
static double bound_of(const kernel *kernel, version v, version reference) {
    if (v == VERSION_OURS_HAND)
        return reference == VERSION_OURS ? 0 : bound_of(kernel, VERSION_OURS, reference);
    if (reference == VERSION_CUDA && v == VERSION_OURS)
        return 0;
    return kernel->bounds[v] > kernel->bounds[reference] ? kernel->bounds[v] : kernel->bounds[reference];
}

static int agree(const work *w, double bound, const void *got, const void *wanted, size_t size) {
    if (!got || !wanted)
        return 0;
    if (bound == 0 || w->kernel->comparison == COMPARE_BITS)
        return memcmp(got, wanted, size) == 0;
    if (w->kernel->comparison == COMPARE_F32)
        return same_floats(got, wanted, size / 4, bound);
    return part_different(got, wanted, size) <= bound;
}

/* Compares with the reference, which ran from the same contents. */
static int check(const work *w, void *const *jobs, version v, char *problem) {
    version reference = reference_of(jobs, v);
    suite_runners[v]->reset(jobs[v]);
    if (!suite_runners[v]->run(jobs[v])) {
        snprintf(problem, REASON, "the run failed");
        return 0;
    }
    for (size_t i = 0; v != reference && reference != VERSION_COUNT && i < w->array_count; i++) {
        role role = w->arrays[i].role;
        if (role != ROLE_OUTPUT && role != ROLE_BOTH)
            continue;
        if (!agree(w, bound_of(w->kernel, v, reference), suite_runners[v]->array(jobs[v], i),
                   suite_runners[reference]->array(jobs[reference], i), w->arrays[i].size)) {
            snprintf(problem, REASON, "array %zu is not what %s computes", i, suite_runners[reference]->title);
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

/* The mean of several runs, < 0 on failure. It ends early if other processes use the processor; the best run is stored
 * separately. */
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

/* Chooses the number of runs. A sample is long enough for the clock and to fill caches; all samples together need about
 * the budget, but there are at least three. If a run needs a second, the one made here suffices. */
static void plan(const runner *runner, void *job, const options *o, int restores, course *c) {
    double length = o->quick ? 0.002 : 0.01, budget = o->quick ? 0.05 : 0.35;
    c->best = INFINITY;
    c->once = sample(runner, job, 1, restores, &c->best);
    if (c->once < length * 3 && !restores) { /* the first may have included waking threads */
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

void suite_settle(void) {
    struct timespec pause = {0, 2000000}, before, after;
    for (int i = 0; i < 50; i++) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
        if ((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec < pause.tv_nsec / 4)
            return;
    }
}

/* Versions alternate, so that other load affects all of them. In between, the threads of the previous version go to
 * sleep; a short warm-up run wakes those of the next. */
static void measure(const work *w, void *const *jobs, const options *o, row *row) {
    course courses[VERSION_COUNT] = {0};
    int restores = w->kernel->restores;
    for (int v = 0; v < VERSION_COUNT; v++)
        if (jobs[v]) {
            suite_settle();
            plan(suite_runners[v], jobs[v], o, restores, &courses[v]);
        }
    for (int round = 0; round < SAMPLES; round++)
        for (int v = 0; v < VERSION_COUNT; v++) {
            course *c = &courses[v];
            if (round >= c->rounds)
                continue;
            suite_settle();
            if (c->once < 0.02)
                sample(suite_runners[v], jobs[v], 1, restores, &c->best);
            double seconds = sample(suite_runners[v], jobs[v], c->iterations, restores, &c->best);
            if (seconds > 0)
                c->times[c->count++] = seconds;
        }
    for (int v = 0; v < VERSION_COUNT; v++) {
        row->times[v] = suite_statistic(courses[v].times, courses[v].count);
        if (courses[v].count)
            row->times[v].min = courses[v].best;
    }
}

/* By the device's clock, one run at a time, alternating. */
static void measure_on_clock(const work *w, void *const *jobs, const options *o, row *row) {
    double times[VERSION_COUNT][SAMPLES];
    int counts[VERSION_COUNT] = {0}, rounds = o->quick ? 5 : SAMPLES;
    for (int round = -1; round < rounds; round++) /* the first is a warm-up */
        for (int v = 0; v < VERSION_COUNT; v++) {
            const runner *runner = suite_runners[v];
            if (!jobs[v] || !runner->run_on_clock)
                continue;
            if (w->kernel->restores)
                runner->reset(jobs[v]);
            double seconds = runner->run_on_clock(jobs[v]);
            if (round >= 0 && seconds > 0)
                times[v][counts[v]++] = seconds;
        }
    for (int v = 0; v < VERSION_COUNT; v++)
        row->device[v] = suite_statistic(times[v], counts[v]);
}

static void print_repeated(const row *row) {
    if (row->repeated[VERSION_OURS].samples)
        printf("  in line by %d:", row->repeats);
    for (int v = 0; v < VERSION_COUNT; v++)
        if (row->repeated[v].samples)
            printf("%s %s %.3f us", v ? "," : "", suite_runners[v]->title, row->repeated[v].median * 1e6);
    for (int k = 0; k < PAIRINGS; k++) {
        const quartiles *q = &row->ratios[k];
        if (q->median > 0)
            printf("; %s / %s x%.3f (%.3f to %.3f)", suite_runners[suite_pairings[k].theirs]->title,
                   suite_runners[suite_pairings[k].mine]->title, q->median, q->low, q->high);
    }
}

static void print_row(const row *row, int good, int check_only) {
    printf("%-11s %-7s %10zu", row->kernel->name, row->size, row->n);
    for (int v = 0; v < VERSION_COUNT; v++)
        if (row->problems[v][0])
            printf("  %s: %s", suite_runners[v]->title, row->problems[v]);
        else if (row->times[v].samples)
            printf("  %s %.1f us (%.1f)", suite_runners[v]->title, row->times[v].median * 1e6, row->times[v].min * 1e6);
    if (check_only)
        printf(good ? "  checked" : "  FAILED");
    for (int k = 0; k < PAIRINGS; k++) {
        const pairing *c = &suite_pairings[k];
        if (suite_ratio(row, c, FIGURE_MEDIAN) > 0)
            printf("  %sx%.2f (%.2f)", c->mine == VERSION_OURS ? "" : "by hand ", suite_ratio(row, c, FIGURE_MEDIAN),
                   suite_ratio(row, c, FIGURE_BEST));
    }
    for (int v = 0; v < VERSION_COUNT; v++)
        if (row->device[v].samples)
            printf("%s %s %.2f us", v ? "," : "  device:", suite_runners[v]->title, row->device[v].median * 1e6);
    print_repeated(row);
    printf("\n");
    fflush(stdout);
}

static const size_t *sizes_of(const kernel *kernel, const options *o) {
    return o->device ? kernel->device_sizes : kernel->sizes;
}

/* 0 if versions disagree. */
static int run_row(const kernel *kernel, int size, const options *o, const int *available, report *r) {
    void *jobs[VERSION_COUNT] = {0};
    int good = 1;
    work w;
    row *row = &r->rows[r->row_count];
    size_t n = sizes_of(kernel, o)[size];
    *row = (struct row){.kernel = kernel, .n = n, .size = size_names[size]};
    if (r->row_count == ROWS || !suite_work_make(kernel, n, &w)) {
        printf("SKIP %s %s: no memory\n", kernel->name, size_names[size]);
        return 1;
    }
    r->row_count++;
    row->bytes = w.bytes;
    /* The version that others are compared with runs first. */
    static const version order[VERSION_COUNT] = {VERSION_C,         VERSION_CUDA,   VERSION_CUDA_SAME, VERSION_OURS,
                                                 VERSION_OURS_HAND, VERSION_OPENCL, VERSION_VULKAN};
    for (int i = 0; i < VERSION_COUNT; i++) {
        version v = order[i];
        jobs[v] = available[v] ? suite_runners[v]->prepare(&w, row->problems[v]) : NULL;
        if (!jobs[v] && row->problems[v][0]) {
            printf("SKIP %s of %s: %s\n", suite_runners[v]->title, kernel->name, row->problems[v]);
            good &= !o->check || (v != VERSION_OURS && v != VERSION_OURS_HAND); /* tiny sizes fit */
        }
        if (!jobs[v] || check(&w, jobs, v, row->problems[v]))
            continue;
        good = 0;
        suite_runners[v]->discard(jobs[v]);
        jobs[v] = NULL;
    }
    if (!o->check)
        measure(&w, jobs, o, row);
    if (!o->check && o->device)
        measure_on_clock(&w, jobs, o, row);
    if (!o->check && o->device)
        suite_measure_repeated(&w, jobs, o->quick, row);
    print_row(row, good, o->check);
    for (int v = 0; v < VERSION_COUNT; v++)
        if (jobs[v])
            suite_runners[v]->discard(jobs[v]);
    suite_work_free(&w);
    return good;
}

/* ---- the machine ---- */

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
        const char **value = strcmp(argv[i], "--backend") == 0   ? &o->backend
                             : strcmp(argv[i], "--only") == 0    ? &o->only
                             : strcmp(argv[i], "--out") == 0     ? &o->out
                             : strcmp(argv[i], "--peers") == 0   ? &o->peers
                             : strcmp(argv[i], "--anchors") == 0 ? &o->anchors
                                                                 : NULL;
        if (value && i + 1 < argc)
            *value = argv[++i];
        else if (strcmp(argv[i], "--quick") == 0)
            o->quick = 1;
        else if (strcmp(argv[i], "--check") == 0)
            o->check = 1;
        else if (strcmp(argv[i], "--device") == 0)
            o->device = 1;
        else if (strcmp(argv[i], "--timeline") == 0)
            o->device = o->timeline = 1;
        else if (strcmp(argv[i], "--math") == 0)
            o->device = o->math = 1;
        else
            return 0;
    }
    return 1;
}

static int is_asked_for(const char *list, const char *id) {
    size_t length = strlen(id);
    for (const char *at = list; (at = strstr(at, id)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ','))
            return 1;
    return 0;
}

/* An unknown name would measure nothing, and pass every comparison. */
static int is_known(const char *list) {
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ","), k = 0;
        while (k < suite_kernel_count &&
               (strlen(suite_kernels[k].name) != length || strncmp(at, suite_kernels[k].name, length) != 0))
            k++;
        if (k == suite_kernel_count && (length != 6 || strncmp(at, "extras", 6) != 0)) {
            fprintf(stderr, "suite: there is no kernel `%.*s`; there are", (int)length, at);
            for (k = 0; k < suite_kernel_count; k++)
                fprintf(stderr, " %s,", suite_kernels[k].name);
            fprintf(stderr, " and extras\n");
            return 0;
        }
        at += length + (at[length] == ',');
    }
    return 1;
}

/* Consecutive runs of libvyre would begin before the previous one has ended, and those of the peers would not: that
 * would compare graphs, not kernels. The batches of the extras, which were measured before, show this gain. libvyre is
 * opened again without early starts. */
static void begin_late(const options *o, report *r, int *available) {
    const runner *ours = suite_runners[VERSION_OURS];
    if (!o->device || o->check || !available[VERSION_OURS])
        return;
    setenv("VYRE_CUDA_EARLY", "0", 1);
    ours->close();
    available[VERSION_OURS] =
        ours->open(o->backend ? o->backend : "cuda", r->versions[VERSION_OURS], r->missing[VERSION_OURS]);
    if (!available[VERSION_OURS]) {
        printf("SKIP ours: %s\n", r->missing[VERSION_OURS]);
        available[VERSION_OURS_HAND] = 0; /* it uses the backend of `ours` */
    }
}

static void open_versions(const options *o, report *r, int *available) {
    for (int v = 0; v < VERSION_COUNT; v++) {
        available[v] = 0;
        if (v != VERSION_OURS && !is_asked_for(o->peers, suite_runners[v]->id)) {
            snprintf(r->missing[v], REASON, "not asked for");
            continue;
        }
        const char *backend = o->backend ? o->backend : o->device ? "cuda" : "cpu";
        available[v] = suite_runners[v]->open(backend, r->versions[v], r->missing[v]);
        if (v == VERSION_OURS && !available[v] && o->check && !o->backend) {
            printf("%s; reference instead\n", r->missing[v]);
            available[v] = suite_runners[v]->open("reference", r->versions[v], r->missing[v]);
        }
        if (available[v]) {
            r->missing[v][0] = 0;
            printf("%-9s %s\n", suite_runners[v]->title, r->versions[v]);
        } else {
            printf("SKIP %s: %s\n", suite_runners[v]->title, r->missing[v]);
        }
    }
}

static void print_summary(const report *r) {
    for (size_t i = 0; i < r->extra_count; i++) {
        const extra *e = &r->extras[i];
        int is_time = strcmp(e->unit, "s") == 0;
        char against[256];
        suite_say_against(e, "us", against, sizeof against);
        printf("%s, %s: %.3f %s%s%s\n", e->group, e->name, is_time ? e->value.median * 1e6 : e->value.median,
               is_time ? "us" : e->unit, against[0] ? "; " : "", against);
    }
    for (int k = 0; k < PAIRINGS; k++) {
        const pairing *c = &suite_pairings[k];
        const char *mine = suite_runners[c->mine]->title, *theirs = suite_runners[c->theirs]->title;
        size_t count;
        double mean = suite_geometric_mean(r, c, NULL, FIGURE_MEDIAN, &count);
        double best = suite_geometric_mean(r, c, NULL, FIGURE_BEST, &count);
        if (count)
            printf("geometric mean over %zu rows: %s is %.2f times as fast as %s by best times, %.2f by medians\n",
                   count, mine, best, theirs, mean);
        mean = suite_geometric_mean(r, c, NULL, FIGURE_DEVICE, &count);
        if (count)
            printf("geometric mean over %zu rows by the device's clock: %s is %.3f times as fast as %s\n", count, mine,
                   mean, theirs);
        mean = suite_geometric_mean(r, c, NULL, FIGURE_REPEATED, &count);
        if (count)
            printf("geometric mean over %zu rows by the device's clock, in line: %s is %.3f times as fast as %s\n",
                   count, mine, mean, theirs);
    }
}

static void warn_if_busy(const report *r) {
    if (suite_is_busy(r))
        printf(
            "NOTE others use this machine (load %.1f on %d cores): medians are theirs as much as ours, and a parallel "
            "loop waits for its slowest thread. Look at the best times, or run it on an idle machine.\n",
            r->load, r->cores);
}

/* The output of another program on the same machine. */
static void run_anchors(const char *command, report *r) {
    FILE *from = popen(command, "r");
    size_t length = from ? fread(r->anchors, 1, ANCHORS - 1, from) : 0;
    r->anchors[length] = 0;
    if (!from || pclose(from) != 0)
        printf("SKIP anchors: `%s` failed\n", command);
    printf("%s", r->anchors);
}

static int write_results(const report *r, const options *o) {
    char path[4096];
    mkdir(o->out, 0777);
    snprintf(path, sizeof path, "%s/suite.json", o->out);
    int good = suite_write_json(r, path);
    printf("%s%s\n", path, good ? "" : " cannot be written");
    snprintf(path, sizeof path, "%s/suite.html", o->out);
    int page = suite_write_html(r, path);
    printf("%s%s\n", path, page ? "" : " cannot be written");
    return good && page;
}

/* The measurements other than kernels. */
static void run_extras(const options *o, report *r, const int *available) {
    if (o->timeline && available[VERSION_OURS])
        suite_timeline(r, o->quick);
    if (o->only && !is_asked_for(o->only, "extras"))
        return;
    if (o->device)
        suite_device_extras(r, available, o->quick);
    else
        suite_extras(r, available, o->quick);
}

static int run_kernels(const options *o, report *r, const int *available) {
    int good = 1, versions = 0;
    for (int v = 0; v < VERSION_COUNT; v++)
        versions += available[v];
    for (size_t k = 0; versions && k < suite_kernel_count; k++)
        for (int size = o->check ? 0 : 1; size < (o->check ? 1 : o->quick ? 3 : SIZES); size++)
            if (sizes_of(&suite_kernels[k], o)[size] && (!o->only || is_asked_for(o->only, suite_kernels[k].name)))
                good &= run_row(&suite_kernels[k], size, o, available, r);
    return good;
}

static int run_math(const options *o, const int *available) {
    int measured = available[VERSION_OURS] ? suite_math(o->only, o->out, o->quick) : 0;
    if (available[VERSION_OURS])
        suite_runners[VERSION_OURS]->close();
    printf("%d kernels were measured\n", measured);
    return measured == 0;
}

int main(int argc, char **argv) {
    static report r;
    options o = {.out = "."};
    int available[VERSION_COUNT];
    double start = suite_now();
    if (!parse_options(argc, argv, &o)) {
        fprintf(stderr,
                "usage: suite [--backend ID] [--device | --timeline | --math] [--quick | --check] [--only LIST] "
                "[--peers LIST] [--anchors COMMAND] [--out FOLDER]\n");
        return 2;
    }
    if (o.only && !o.math && !is_known(o.only))
        return 2;
    if (!o.peers)
        o.peers = o.device ? "cuda,cuda-same,ours-hand" : "c,opencl,vulkan";
    if (o.device) /* programs that a driver compiled earlier must not count as compiles */
        setenv("CUDA_CACHE_DISABLE", "1", 1);
    if (o.timeline) {
        o.only = "timeline";
        o.peers = "";
        suite_timeline_prepare();
    }
    if (o.math)
        o.peers = "";
    describe_machine(&r);
    if (o.device)
        suite_device_open();
    open_versions(&o, &r, available);
    if (o.math)
        return run_math(&o, available);
    if (!o.check)
        run_extras(&o, &r, available);
    begin_late(&o, &r, available);
    int good = run_kernels(&o, &r, available);
    if (!o.check) {
        if (o.anchors)
            run_anchors(o.anchors, &r);
        r.seconds = suite_now() - start;
        print_summary(&r);
        warn_if_busy(&r);
        good &= write_results(&r, &o);
    }
    for (int v = 0; v < VERSION_COUNT; v++)
        if (available[v])
            suite_runners[v]->close();
    printf("%s in %.1f s\n", good ? "all versions agree" : "FAILED: see above", suite_now() - start);
    return !good;
}
