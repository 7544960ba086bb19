/* The benchmark suite: the kernels of examples/ in several versions, side by side.
 *
 * A kernel at a size is a `work`: arrays with their initial contents, and steps (dispatches) over them. A `runner` is
 * one version: libvyre (`ours`), plain C, OpenCL, Vulkan, CUDA C. All of them get the same arrays and must produce the
 * same results; times are from inputs in memory to outputs in memory. */
#ifndef SUITE_H
#define SUITE_H

#include <stddef.h>
#include <stdint.h>

enum { ARRAYS = 8, BINDINGS = 6, WORDS = 6, SIZES = 4, SAMPLES = 15, REASON = 512 };

/* ---- work ---- */

typedef enum role {
    ROLE_INPUT,  /* never written */
    ROLE_OUTPUT, /* initially zero */
    ROLE_BOTH,
    ROLE_SCRATCH /* initially zero, and not compared */
} role;
typedef struct array {
    role role;
    size_t size; /* bytes */
    void *first; /* initial contents; NULL: zeros. Owned by the work. */
} array;

typedef struct binding {
    uint32_t array;
    uint32_t offset; /* bytes. Only libvyre binds a range; the other interfaces pass this offset in their parameters. */
    uint64_t size;   /* bytes; 0: to the end */
} binding;

/* One dispatch. `words` are the arguments of a kernel other than buffers: first the params of the program in examples/,
 * then the lengths, which only the peers need. */
typedef struct step {
    const char *program; /* in the file of the kernel */
    const char *peer;    /* name of the OpenCL kernel and of the shader */
    binding bindings[BINDINGS];
    uint32_t binding_count;
    uint32_t words[WORDS];
    uint32_t word_count;
    uint32_t groups[3], local[3];
} step;

struct kernel;
typedef struct work {
    const struct kernel *kernel;
    size_t n;
    array arrays[ARRAYS];
    size_t array_count;
    step *steps;
    size_t step_count;
    char defines[2][2][24]; /* -D of our program: name, value */
    size_t define_count;
    double bytes; /* the minimum that must be read and written */
    int failed;   /* out of memory while it was made */
} work;

/* ---- versions ---- */

typedef enum version {
    VERSION_OURS,
    VERSION_C,
    VERSION_OPENCL,
    VERSION_VULKAN,
    VERSION_CUDA_SAME, /* CUDA C in the shape of our programs: the OpenCL kernels, compiled by nvcc */
    VERSION_CUDA,      /* hand-tuned CUDA C */
    VERSION_OURS_HAND, /* hand-tuned programs of libvyre */
    VERSION_COUNT
} version;

/* Comparison of results with those of plain C; between libvyre and CUDA C always bit for bit. */
typedef enum comparison {
    COMPARE_BITS,
    COMPARE_F32,   /* |difference| <= bound * max(1, |value|) */
    COMPARE_PIXELS /* at most this part of the bytes differs */
} comparison;

typedef struct kernel {
    const char *name;
    const char *file;           /* of our program, in the repository */
    size_t sizes[SIZES];        /* tiny (for checking only), small, medium, large; 0: none */
    size_t device_sizes[SIZES]; /* the same on a device with dedicated memory */
    int (*make)(work *w);
    void (*plain)(const work *w, void *const *arrays);
    comparison comparison;
    double bounds[VERSION_COUNT]; /* 0: bit for bit */
    int restores;                 /* results and times depend on the initial contents, so each run restores them */
} kernel;

extern const kernel suite_kernels[];
extern const size_t suite_kernel_count;
extern const kernel suite_triad; /* c = a + s * b on f64: libvyre and plain C only, for the bandwidth */

/* Returns 0 if out of memory. */
int suite_work_make(const kernel *kernel, size_t n, work *w);
void suite_work_free(work *w);

typedef struct runner {
    const char *id, *title;
    /* Whether it is available, otherwise the reason. `about` receives the version. */
    int (*open)(const char *option, char *about, char *reason);
    /* Compiles, allocates, fills in the initial contents. NULL and a reason on failure. */
    void *(*prepare)(const work *w, char *reason);
    void (*reset)(void *job); /* restores the initial contents of written arrays */
    int (*run)(void *job);    /* blocks until done; 0 on failure */
    const void *(*array)(void *job, size_t index);
    void (*discard)(void *job);
    void (*close)(void);
    double (*run_on_clock)(void *job); /* a run by the device's clock, in seconds; < 0: unknown. NULL: never */
    /* The mean of so many consecutive runs, each of which sees the writes of the earlier ones; all are in the device's
     * queue before the first begins. */
    double (*run_in_line)(void *job, int repeats);
} runner;

extern const runner suite_ours, suite_plain, suite_opencl, suite_vulkan, suite_cuda_same, suite_cuda, suite_ours_hand;

/* A comparison: the time of `theirs` over that of `mine`, above 1 if `mine` is faster. */
typedef struct pairing {
    version theirs, mine;
} pairing;
enum { PAIRINGS = 6 };
extern const pairing suite_pairings[PAIRINGS];

/* ---- measuring ---- */

double suite_now(void); /* seconds, monotonic */

/* Returns when no thread of the process computes, or after a while: spinning threads use processors that the next
 * version needs. Those of OpenMP spin for 10 to 20 ms. */
void suite_settle(void);

typedef struct statistic {
    double median, min,
        spread;  /* seconds; of samples, but min of single runs; spread: (third quartile - first) / median */
    int samples; /* 0: not measured */
} statistic;
statistic suite_statistic(double *times, int count);

/* Of paired samples of versions that alternated, one of each. */
typedef struct quartiles {
    double low, median, high;
} quartiles;
quartiles suite_quartiles(double *values, int count);

typedef struct row {
    const kernel *kernel;
    size_t n;
    const char *size; /* "small", … */
    double bytes;
    statistic times[VERSION_COUNT];
    statistic device[VERSION_COUNT];   /* by the device's clock, single runs */
    statistic repeated[VERSION_COUNT]; /* by the device's clock, one of `repeats` consecutive runs */
    int repeats;
    quartiles ratios[PAIRINGS];           /* theirs over mine, of neighbouring samples of `repeated`; median 0: none */
    char problems[VERSION_COUNT][REASON]; /* the reason for a missing time; "" without a message */
} row;

typedef struct extra {
    const char *group, *name, *unit; /* unit "s", "GB/s" or "" */
    statistic value;
    const char *against; /* NULL, or the name of the other measurement, compared sample by sample: */
    quartiles adds;      /* this less that */
    quartiles ratio;     /* this over that */
} extra;
enum { EXTRAS = 192, ROWS = 80, SPANS = 1024, ANCHORS = 1 << 14 };

/* An interval of a picture. */
typedef struct span {
    const char *picture, *lane, *name;
    double start, end; /* seconds from the picture's start */
} span;

typedef struct report {
    char versions[VERSION_COUNT][REASON], missing[VERSION_COUNT][REASON];
    char cpu[128], date[32], commit[64], host[128];
    int cores;
    double load;         /* processes that wanted to run in the minute before */
    uint64_t last_cache; /* bytes; 0: unknown */
    row rows[ROWS];
    size_t row_count;
    extra extras[EXTRAS];
    size_t extra_count;
    span spans[SPANS];
    size_t span_count;
    char anchors[ANCHORS]; /* what another program printed */
    double seconds;
} report;

/* Whether other processes used the machine: half a process on a small one, a tenth of the cores on a large one. */
int suite_is_busy(const report *r);

/* The speed-up of mine over theirs, as a geometric mean over rows that have both; size NULL: all sizes. 0 without such
 * rows. By medians; by the best times, which are more reliable under other load; or by the device's clock: of single
 * runs, or of neighbouring repeated runs. */
typedef enum figure { FIGURE_MEDIAN, FIGURE_BEST, FIGURE_DEVICE, FIGURE_REPEATED } figure;
double suite_geometric_mean(const report *r, const pairing *c, const char *size, figure figure, size_t *count);

/* The statistic of a figure. */
const statistic *suite_statistic_of(const row *row, version v, figure figure);
/* The value of the figure in a row; 0 if it is missing. */
double suite_figure(const row *row, version v, figure figure);
/* Theirs over mine in a row; 0 if one of them is missing. */
double suite_ratio(const row *row, const pairing *c, figure figure);
void suite_extra(report *r, const char *group, const char *name, const char *unit, double *values, int count);
/* The same, with the alternating measurement of another variant, sample for sample. */
void suite_extra_against(report *r, const char *group, const char *name, const char *unit, double *values, int count,
                         const char *against, const double *others);
/* Writes the comparison of an extra: "adds 0.12 us (0.10 to 0.15), x1.013 of ..."; "" without one. */
void suite_say_against(const extra *e, const char *micro, char *to, size_t room);
void suite_span(report *r, const char *picture, const char *lane, const char *name, double start, double end);

/* Fills in `repeated` and `ratios`; single runs were measured before. */
void suite_measure_repeated(const work *w, void *const *jobs, int is_quick, row *row);

/* The versions, with their names in files and on pages. */
extern const runner *const suite_runners[VERSION_COUNT];

/* Empty dispatches, compiling cold and from disk, bandwidth. `available` has the versions that are open. */
void suite_extras(report *r, const int *available, int quick);
void suite_bandwidth(report *r, const int *available, int quick);
/* Opens the bare driver before libvyre: the driver waits fastest for the first stream of a context, so that libvyre
 * does not get that stream. */
void suite_device_open(void);
/* The same for a device: the cost that libvyre adds to the bare driver, transfers, compiling. */
void suite_device_extras(report *r, const int *available, int quick);
/* Times of copies and kernels of libvyre on a device: `prepare` before it is opened. */
void suite_timeline_prepare(void);
void suite_timeline(report *r, int quick);
/* The speed of math functions (bench/cuda/math.c), of those in the list, or of all (NULL); math.json goes into the
 * folder. Returns how many kernels were measured. */
int suite_math(const char *only, const char *folder, int quick);

/* Return 0 if the file cannot be written. */
int suite_write_json(const report *r, const char *path);
int suite_write_html(const report *r, const char *path);

/* ---- files ---- */

/* A whole file, terminated; NULL if it cannot be read. Free it. */
char *suite_read_file(const char *path, size_t *size);
/* The repository (VYRE_SOURCE_DIR in the environment has precedence), and the files next to the program. */
const char *suite_source_path(const char *path);
const char *suite_built_path(const char *path);

/* Figures of libvyre that need more than a runner. Each returns seconds, < 0 on failure. */
double suite_ours_empty(int dispatches);
double suite_ours_compile(const char *file, int from_disk); /* of the first program of a file */
double suite_ours_first_compile(void);                      /* of an empty program, when the version was opened */
double suite_opencl_empty(int dispatches);
double suite_vulkan_empty(int dispatches);

#endif
