/* Random programs on a device by the hundred thousand: digests of the oracle's results are computed before, on any
 * machine, and compared on the one with the device.
 *
 *   emit.ptx.campaign digest FILE FIRST COUNT   the digests of a range of seeds
 *   emit.ptx.campaign device FILE               that range on the first device of the driver
 *   emit.ptx.campaign                           a few, as a test
 *
 * Seeds from 2^40 on (1099511627776) are of programs of expressions alone (conform_trees.h).
 *
 *   VYRE_CAMPAIGN_WORKERS  processes (the cores): the driver's compiler scales over processes, not threads
 *   VYRE_CAMPAIGN_SECONDS  after so many no more batches are started (no bound)
 *   VYRE_CAMPAIGN_FOLDER   where failing cases go (campaign-failures)
 *   VYRE_CAMPAIGN_JSON     a file for the figures
 *
 * Programs of a batch are one module. A process that dies over one (the driver's compiler may, docs/internals/ptx.md)
 * is followed by another that takes its programs one by one; the one that kills it is counted, named and kept. */
#include "emit/ptx/batch.h"

enum { CAMPAIGN_WORKERS = 64, BATCH_SECONDS = 120, PROGRAM_SECONDS = 30, LOST = 3 };

/* Shared with the parent. */
typedef struct campaign_worker {
    uint64_t begin, end; /* seeds under way, from the first one, of the batch that was taken */
    uint64_t seed;       /* one by one: the one that is tried */
    int one_by_one;
    batch_counts counts; /* of what is over */
} campaign_worker;

typedef struct campaign {
    digest_file file;
    const char *folder;
    unsigned workers;
    uint64_t stop_ns; /* 0: never */
    struct {
        uint64_t next; /* seed offset: taken by whoever comes first */
        char device[160], why[200];
        campaign_worker workers[CAMPAIGN_WORKERS];
    } * shared;
    pid_t processes[CAMPAIGN_WORKERS];
} campaign;

/* ---- sums ---- */

#define COUNTS(X)                                                                                                      \
    X(done)                                                                                                            \
    X(judged)                                                                                                          \
    X(trapped)                                                                                                         \
    X(refused)                                                                                                         \
    X(grid_barriers)                                                                                                   \
    X(mismatches) X(lost) X(crashes) X(modules) X(statements) X(text_bytes) X(prepare_ns) X(load_ns) X(run_ns)

static void add_counts(batch_counts *to, const batch_counts *from) {
#define X(name) to->name += from->name;
    COUNTS(X)
#undef X
}

static void write_figures(FILE *to, const campaign *m, const batch_counts *sum, double seconds) {
    fprintf(to, "{\"campaign\": \"ptx\", \"device\": \"%s\", \"first_seed\": %" PRIu64 ", \"seeds\": %" PRIu64,
            m->shared->device, m->file.header->first, m->file.header->count);
#define X(name) fprintf(to, ", \"%s\": %" PRIu64, #name, sum->name);
    COUNTS(X)
#undef X
    fprintf(to, ", \"workers\": %u, \"seconds\": %.2f}\n", m->workers, seconds);
}

/* ---- workers ---- */

static int takes_more(const campaign *m) {
    return m->stop_ns == 0 || conform_clock() < m->stop_ns;
}

/* The next batch of seeds, or 0. */
static int take_seeds(campaign *m, campaign_worker *w, uint64_t size) {
    uint64_t count = m->file.header->count;
    if (!takes_more(m))
        return 0;
    w->begin = __atomic_fetch_add(&m->shared->next, size, __ATOMIC_RELAXED);
    w->end = w->begin + size < count ? w->begin + size : count;
    return w->begin < count;
}

/* As many seeds from w->begin on as fit into a batch; w->begin is behind them when they are over. */
static batch_end run_some(campaign *m, campaign_worker *w, device *d, uint64_t most) {
    static batch b;
    batch_counts counts = {0};
    uint64_t start = conform_clock(), seed = w->begin;
    b = (batch){.device = d, .folder = m->folder, .counts = &counts};
    for (; seed < w->end && seed - w->begin < most && b.at < BATCH_IMAGE; seed++)
        batch_add(&b, m->file.header->first + seed, m->file.digests[seed]);
    counts.prepare_ns += conform_clock() - start;
    batch_end end = batch_run(&b);
    batch_free(&b);
    if (end == BATCH_DONE || most == 1) {
        add_counts(&w->counts, &counts);
        w->begin = seed;
    }
    return end;
}

static void run_one_by_one(campaign *m, campaign_worker *w, device *d) {
    while (w->begin < w->end) {
        alarm(PROGRAM_SECONDS);
        w->seed = w->begin;
        if (run_some(m, w, d, 1) == BATCH_LOST) {
            fflush(stdout);
            _exit(LOST); /* the one is counted, the rest goes on in another process */
        }
    }
    w->one_by_one = 0;
}

static void run_batches(campaign *m, campaign_worker *w, device *d) {
    while (w->begin < w->end || take_seeds(m, w, BATCH_PROGRAMS)) {
        alarm(BATCH_SECONDS);
        batch_end end = run_some(m, w, d, BATCH_PROGRAMS);
        if (end == BATCH_LOST)
            _exit(LOST);
        if (end == BATCH_REFUSED)
            run_one_by_one(m, w, d);
    }
}

/* Twice the image of a test: a batch is full when half of that is, and the last program may be as large as any. */
static int open_device(campaign *m, device *d) {
    const char *why = "the device has no memory";
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    if (device_open(d, &why)) {
        free(d->image);
        d->image = malloc(2 * (size_t)DEVICE_IMAGE);
        why = "there is no memory for an image";
        if (d->image && d->allocate(&d->memory, 2 * (size_t)DEVICE_IMAGE) == 0) {
            snprintf(m->shared->device, sizeof m->shared->device, "%.120s, sm_%" PRIu32, d->name, d->architecture);
            return 1;
        }
    }
    snprintf(m->shared->why, sizeof m->shared->why, "%s", why);
    return 0;
}

static void work(campaign *m, campaign_worker *w) {
    static device d;
    if (!open_device(m, &d))
        _exit(2);
    if (w->one_by_one)
        run_one_by_one(m, w, &d);
    run_batches(m, w, &d);
    alarm(0);
}

static int start_worker(campaign *m, unsigned index, void (*body)(campaign *, campaign_worker *)) {
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        conform_be_mortal();
        body(m, &m->shared->workers[index]);
        fflush(stdout);
        _exit(0);
    }
    m->processes[index] = process;
    return process > 0;
}

/* ---- what ends a worker ---- */

static void keep_killer(const campaign *m, campaign_worker *w, int status) {
    batch_job job = {.seed = m->file.header->first + w->seed};
    batch b = {.folder = m->folder};
    char why[80];
    snprintf(why, sizeof why, "the process died (%s %d)", WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    job.made = digest_generate(job.seed);
    batch_keep(&b, &job, why);
    vyre_case_free(job.made);
    w->counts.crashes++;
    w->counts.done++;
    w->begin = w->seed + 1;
}

/* Whether the worker goes on, in a process of its own. */
static int goes_on(const campaign *m, campaign_worker *w, int status) {
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2))
        return 0;
    int is_lost = WIFEXITED(status) && WEXITSTATUS(status) == LOST;
    if (!w->one_by_one)
        printf("a batch from seed %" PRIu64 " on ended its process (%s): one by one\n",
               m->file.header->first + w->begin, is_lost ? "the device is lost" : "it died");
    else if (!is_lost)
        keep_killer(m, w, status);
    w->one_by_one = 1;
    return 1;
}

static void supervise(campaign *m, void (*body)(campaign *, campaign_worker *)) {
    unsigned alive = 0;
    int status;
    for (unsigned i = 0; i < m->workers; i++)
        alive += (unsigned)start_worker(m, i, body);
    while (alive) {
        pid_t ended = waitpid(-1, &status, 0);
        if (ended < 0)
            break;
        for (unsigned i = 0; i < m->workers; i++)
            if (m->processes[i] == ended) {
                alive--;
                m->processes[i] = 0;
                if (goes_on(m, &m->shared->workers[i], status))
                    alive += (unsigned)start_worker(m, i, body);
                break;
            }
    }
}

/* ---- all of it ---- */

static void start_campaign(campaign *m) {
    uint64_t seconds = conform_setting("VYRE_CAMPAIGN_SECONDS", 0);
    const char *folder = getenv("VYRE_CAMPAIGN_FOLDER");
    m->folder = folder && *folder ? folder : "campaign-failures";
    m->workers = (unsigned)conform_setting("VYRE_CAMPAIGN_WORKERS", vy_cpu_count());
    m->workers = m->workers < 1 ? 1 : m->workers > CAMPAIGN_WORKERS ? CAMPAIGN_WORKERS : m->workers;
    m->stop_ns = seconds ? conform_clock() + seconds * 1000000000 : 0;
    m->shared = mmap(NULL, sizeof *m->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(m->shared != MAP_FAILED);
}

static void digest_some(campaign *m, campaign_worker *w) {
    while (take_seeds(m, w, 16))
        for (; w->begin < w->end; w->begin++)
            m->file.digests[w->begin] = digest_by_oracle(m->file.header->first + w->begin);
}

/* 0 if it was done. A process of the oracle that dies is a bug of ours: the file stays without its seal. */
static int make_digests(const char *path, uint64_t first, uint64_t count) {
    campaign m = {0};
    uint64_t start = conform_clock(), judged = 0, failed = 0;
    if (count == 0 || !digest_create(path, first, count, &m.file))
        return 1;
    start_campaign(&m);
    for (unsigned i = 0; i < m.workers; i++)
        failed += !start_worker(&m, i, digest_some);
    for (unsigned i = 0; i < m.workers; i++) {
        int status = 0;
        if (waitpid(m.processes[i], &status, 0) != m.processes[i] || status != 0) {
            printf("a process ended at seed %" PRIu64 " (%d)\n", first + m.shared->workers[i].begin, status);
            failed++;
        }
    }
    for (uint64_t i = 0; i < count; i++)
        judged += m.file.digests[i] != 0;
    if (!failed && takes_more(&m))
        digest_seal(&m.file);
    else
        failed++;
    printf("%" PRIu64 " digests in %.1f s, %" PRIu64 " of programs to judge by\n", count,
           (double)(conform_clock() - start) / 1e9, judged);
    munmap(m.shared, sizeof *m.shared);
    digest_close(&m.file);
    return failed != 0;
}

typedef enum device_end { DEVICE_AGREES, DEVICE_DIFFERS, DEVICE_MISSING, DEVICE_NO_FILE } device_end;

static device_end run_on_device(const char *path, batch_counts *sum, char *why, size_t room) {
    campaign m = {0};
    const char *json = getenv("VYRE_CAMPAIGN_JSON");
    *sum = (batch_counts){0};
    if (!digest_open(path, &m.file))
        return DEVICE_NO_FILE;
    start_campaign(&m);
    uint64_t start = conform_clock();
    supervise(&m, work);
    double seconds = (double)(conform_clock() - start) / 1e9;
    for (unsigned i = 0; i < m.workers; i++)
        add_counts(sum, &m.shared->workers[i].counts);
    int missing = m.shared->why[0] && sum->done == 0;
    int is_left = takes_more(&m) && sum->done < m.file.header->count;
    snprintf(why, room, "%s", m.shared->why);
    if (!missing && is_left)
        printf("FAIL %" PRIu64 " of %" PRIu64 " programs: a process did not go on (%s)\n", sum->done,
               m.file.header->count, why);
    if (!missing) {
        printf("%s: %" PRIu64 " programs in %.1f s (%.0f/s), %" PRIu64 " judged, %" PRIu64 " mismatches, %" PRIu64
               " lost, %" PRIu64 " crashes of the driver\n",
               m.shared->device, sum->done, seconds, (double)sum->done / seconds, sum->judged, sum->mismatches,
               sum->lost, sum->crashes);
        write_figures(stdout, &m, sum, seconds);
        FILE *file = json && *json ? fopen(json, "w") : NULL;
        if (file) {
            write_figures(file, &m, sum, seconds);
            fclose(file);
        }
    }
    munmap(m.shared, sizeof *m.shared);
    digest_close(&m.file);
    return missing ? DEVICE_MISSING : sum->mismatches || sum->lost || is_left ? DEVICE_DIFFERS : DEVICE_AGREES;
}

/* ---- as a test ---- */

static char *scratch_path(void) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/vyre-digests-%ld", (long)getpid());
    return path;
}

static void digests_do_not_depend_on_who_computes_them(void **state) {
    (void)state;
    enum { COUNT = 40 };
    digest_file file = {0};
    assert_int_equal(make_digests(scratch_path(), 1, COUNT), 0);
    assert_true(digest_open(scratch_path(), &file));
    for (uint64_t i = 0; i < COUNT; i += 7)
        assert_int_equal(file.digests[i], digest_by_oracle(1 + i));
    digest_close(&file);
    remove(scratch_path());
}

static void a_file_that_is_not_complete_is_refused(void **state) {
    (void)state;
    digest_file file = {0};
    assert_true(digest_create(scratch_path(), 1, 3, &file));
    digest_close(&file);
    assert_false(digest_open(scratch_path(), &file));
    remove(scratch_path());
}

static void the_texts_of_a_batch_are_one_module(void **state) {
    (void)state;
    static device none = {.architecture = PTX_ARCHITECTURE};
    const char *ptxas = ptxas_path();
    batch_counts counts = {0};
    batch b = {.device = &none, .counts = &counts};
    vy_string text = {0};
    none.image = malloc(2 * (size_t)DEVICE_IMAGE);
    assert_non_null(none.image);
    for (uint64_t seed = 1; seed <= 24; seed++)
        batch_add(&b, seed, 1);
    assert_true(counts.judged >= 12);
    assert_int_equal(counts.refused, 0);
    batch_join(&b, &text);
    assert_false(text.failed);
    batch_free(&b);
    free(none.image);
    if (!ptxas) {
        vy_string_free(&text);
        VY_SKIP("the_texts_of_a_batch_are_one_module: there is no ptxas");
    }
    ptxas_accepts(ptxas, text.text, "a batch");
    vy_string_free(&text);
}

static void give_the_same_bits(const char *test, uint64_t first, uint64_t count) {
    batch_counts sum;
    char why[200];
    assert_int_equal(make_digests(scratch_path(), first, count), 0);
    device_end end = run_on_device(scratch_path(), &sum, why, sizeof why);
    remove(scratch_path());
    if (end == DEVICE_MISSING)
        VY_SKIP("%s: %s", test, why);
    assert_int_equal(end, DEVICE_AGREES);
    assert_int_equal(sum.done, count);
}

static void random_programs_in_batches_give_the_same_bits(void **state) {
    (void)state;
    give_the_same_bits(__func__, 1, 64 * vy_test_effort());
}

static void random_expressions_in_batches_give_the_same_bits(void **state) {
    (void)state;
    give_the_same_bits(__func__, TREES_FIRST, 32 * vy_test_effort());
}

static int run_command(int argc, char **argv) {
    batch_counts sum;
    char why[200];
    if (argc == 5 && strcmp(argv[1], "digest") == 0)
        return make_digests(argv[2], strtoull(argv[3], NULL, 0), strtoull(argv[4], NULL, 0));
    if (argc == 3 && strcmp(argv[1], "device") == 0) {
        device_end end = run_on_device(argv[2], &sum, why, sizeof why);
        if (end == DEVICE_MISSING)
            printf("SKIP %s\n", why);
        return end == DEVICE_DIFFERS || end == DEVICE_NO_FILE;
    }
    fprintf(stderr, "usage: %s [digest FILE FIRST COUNT | device FILE]\n", argv[0]);
    return 2;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_do_not_depend_on_who_computes_them),
        cmocka_unit_test(a_file_that_is_not_complete_is_refused),
        cmocka_unit_test(the_texts_of_a_batch_are_one_module),
        cmocka_unit_test(random_programs_in_batches_give_the_same_bits),
        cmocka_unit_test(random_expressions_in_batches_give_the_same_bits),
    };
    return argc > 1 ? run_command(argc, argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
