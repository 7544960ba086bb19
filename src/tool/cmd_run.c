/* vyre run: runs a program and prints or stores its outputs. */
#include "base/file.h"
#include "base/thread.h"
#include "driver/dispatch.h"
#include "driver/multi_launch.h"
#include "ir/dispatch_resolve.h"
#include "ir/op_tables.h"
#include "oracle/run.h"
#include "tool/bindings.h"
#include "tool/load.h"
#include "tool/outputs.h"
#include "tool/terminal.h"
#include "tool/tool.h"
#include "vyre/oracle.h"
#include "vyre/pipeline.h"
#include "vyre/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_ROWS = 8, MAX_REPEATS = 1000000, MAX_THREADS = 4096 };

typedef struct run_options {
    const char *program, *grid, *elements, *check, *backend;
    tool_list defines, outs, shapes, counts;
    uint64_t seed, threads, budget, memory, repeat, limit;
    uint64_t timeout; /* nanoseconds */
    int time, json, hex, quiet, verbose;
} run_options;

static const tool_option options_table[] = {
    TOOL_OPTION_PROGRAM(run_options),
    TOOL_OPTION_DEFINE(run_options),
    {"out", 'o', "NAME=FILE", TOOL_LIST, offsetof(run_options, outs),
     "write an output to FILE instead of printing it: .npy, .png, .ppm or .pgm; .bin, .raw or no suffix for raw "
     "bytes. May be repeated"},
    {"shape", 0, "NAME=N,N", TOOL_LIST, offsetof(run_options, shapes),
     "shape of that file: rows, columns, samples per pixel"},
    {"grid", 0, "X,Y,Z", TOOL_TEXT, offsetof(run_options, grid),
     "number of workgroups; overrides the grid of the program"},
    {"elements", 0, "X,Y,Z", TOOL_TEXT, offsetof(run_options, elements),
     "number of invocations, rounded up to whole workgroups"},
    {"count", 0, "NAME=N", TOOL_LIST, offsetof(run_options, counts),
     "element count of a write buffer for which the program has none"},
    {"check", 0, "WHAT", TOOL_TEXT, offsetof(run_options, check),
     "check the run: races, bounds, unwritten, divergence or all, separated by commas; runs on `reference`"},
    {"seed", 0, "N", TOOL_NUMBER, offsetof(run_options, seed),
     "perturb the schedule with this seed; runs on `reference`"},
    {"threads", 0, "N", TOOL_NUMBER, offsetof(run_options, threads),
     "number of worker threads of `cpu` or `reference` (0 = all cores)"},
    {"budget", 0, "N", TOOL_NUMBER, offsetof(run_options, budget),
     "stop after N statements (0 = never); runs on `reference`"},
    {"memory", 0, "BYTES", TOOL_SIZE, offsetof(run_options, memory),
     "limit of the memory that `reference` allocates in addition to the inputs; suffix K, M or G (4G)"},
    {"backend", 0, "NAME", TOOL_TEXT, offsetof(run_options, backend),
     "run on NAME or NAME#DEVICE (a GPU if one is usable, otherwise `cpu`)"},
    {"timeout", 0, "SECONDS", TOOL_SECONDS, offsetof(run_options, timeout),
     "time limit of the compile and the first run together, and of each further run"},
    {"repeat", 0, "N", TOOL_AMOUNT, offsetof(run_options, repeat), "run N times from the same inputs (1)"},
    {"time", 0, NULL, TOOL_FLAG, offsetof(run_options, time), "print the shortest and the median time"},
    {"json", 0, NULL, TOOL_FLAG, offsetof(run_options, json), "print one JSON object"},
    {"hex", 0, NULL, TOOL_FLAG, offsetof(run_options, hex), "add a hex dump; with --json, print values as bits"},
    {"limit", 0, "ROWS", TOOL_NUMBER, offsetof(run_options, limit), "print at most ROWS rows of a buffer (8; 0 = all)"},
    {"quiet", 'q', NULL, TOOL_FLAG, offsetof(run_options, quiet), "print no notes"},
    {"verbose", 'v', NULL, TOOL_FLAG, offsetof(run_options, verbose), "print the selection of the backend"},
    TOOL_OPTION_END,
};

/* ---- backend ---- */

/* Zero-initialise; release with backend_choice_free. */
typedef struct backend_choice {
    const char *id;
    const char *cause;     /* the option or statement that selected the reference; otherwise NULL */
    vyre_backend *backend; /* NULL: the reference interpreter */
    vyre_pipeline *pipeline;
} backend_choice;

typedef struct backend_request {
    const char *name;            /* --backend; NULL: VYRE_BACKEND */
    const char *needs_reference; /* the option or statement that only the reference supports; NULL if none */
    int limits_memory; /* --memory is present; only the reference supports it, but it does not select the reference */
    unsigned threads;  /* of the backend `cpu`; 0: its default */
    int quiet;         /* no notes, no progress line */
    int verbose;       /* print the selection report */
    uint64_t deadline_ns; /* of the compile (CLOCK_MONOTONIC), which also makes the program cancellable; 0: none */
} backend_request;

static const char reference[] = "reference";

/* Whether the backend is registered; if so, its driver or device is missing. */
static int is_registered(const char *name) {
    char id[64];
    size_t length = strcspn(name, "#");

    snprintf(id, sizeof id, "%.*s", length < sizeof id ? (int)length : 0, name);
    return vyre_backend_find(id) != NULL;
}

/* Prints each backend that failed to start, with its fix: a setting is probably wrong. */
static void note_failed(const vyre_selection *report) {
    vyre_candidate candidate;

    for (size_t i = 0; vyre_selection_get(report, i, &candidate); i++)
        if (candidate.verdict == VYRE_VERDICT_FAILED)
            tool_write(stderr, "note: backend %s does not start: %s\nFix: %s\n", candidate.id, candidate.reason,
                       candidate.fix);
}

/* Adds to the fix of the selection, which does not choose the reference, the option that does. */
static int fail_none(vyre_error *error) {
    char fix[sizeof error->fix];

    snprintf(fix, sizeof fix, "%.200s. Or add `--backend reference`, the interpreter", error->fix);
    memcpy(error->fix, fix, sizeof fix);
    (void)tool_error(error);
    return TOOL_SYSTEM;
}

/* -v: prints every backend in the order of selection, with its verdict and reason. */
static void show_report(const vyre_selection *report) {
    vyre_bytes text = VYRE_BYTES_INIT;

    if (report && vyre_selection_render(report, 0, &text, NULL) == VYRE_OK)
        tool_write_lines(stderr, text.data, text.size);
    vyre_bytes_free(&text);
}

static int select_default(const backend_request *request, vyre_program *program, vyre_backend **out) {
    vyre_policy policy = VYRE_POLICY_DEFAULT;
    vyre_selection *report = NULL;
    vyre_error error;
    int code = TOOL_OK;

    policy.program = program;
    vyre_status status = vyre_select(&policy, out, &report, &error);
    if (request->verbose)
        show_report(report);
    if (status == VYRE_OK) {
        if (!request->verbose)
            note_failed(report);
    } else if (status == VYRE_NOT_FOUND) {
        code = fail_none(&error);
    } else {
        (void)tool_error(&error);
        code = tool_exit_of_run(status);
    }
    vyre_selection_free(report);
    return code;
}

static int acquire_named(const char *name, vyre_backend **out) {
    vyre_error error;
    vyre_status status = vyre_acquire(name, out, &error);

    if (status == VYRE_OK)
        return TOOL_OK;
    (void)tool_error(&error);
    return status == VYRE_NOT_FOUND && !is_registered(name) ? TOOL_USAGE : tool_exit_of_run(status);
}

/* Compiles the program, with a progress line. */
static vyre_status compile_program(const backend_request *request, vyre_program *program,
                                   const vyre_compile_options *options, backend_choice *choice, vyre_error *error) {
    tool_progress progress = {0};

    if (!request->quiet)
        tool_progress_start(&progress, "compiling", 0);
    vyre_status status = vyre_compile(choice->backend, program, options, &choice->pipeline, error);
    tool_progress_stop(&progress);
    return status;
}

static void backend_choice_free(backend_choice *choice) {
    vyre_pipeline_release(choice->pipeline);
    vyre_backend_release(choice->backend);
    memset(choice, 0, sizeof *choice);
}

static int acquire_and_compile(const tool_command *command, const char *named, const backend_request *request,
                               vyre_program *program, backend_choice *out) {
    const vyre_compile_options options = {
        .struct_size = sizeof options, .cancellable = request->deadline_ns != 0, .deadline_ns = request->deadline_ns};
    char threads[16];
    vyre_error error;

    if (request->limits_memory)
        return tool_usage(command, "remove --memory, or add `--backend reference`, the interpreter",
                          "--memory requires `--backend reference`");
    if (request->threads) { /* safe: no other thread runs yet */
        snprintf(threads, sizeof threads, "%u", request->threads);
        setenv("VYRE_CPU_THREADS", threads, 1);
    }
    if (!request->quiet)
        vyre_plugins_load_all(tool_note_plugin, NULL); /* its backends cannot be selected */
    int code = named ? acquire_named(named, &out->backend) : select_default(request, program, &out->backend);
    if (code != TOOL_OK)
        return code;
    out->id = vyre_backend_id(out->backend);
    if (request->threads && strcmp(out->id, "cpu") != 0)
        return tool_usage(command, "remove --threads, or select one of these with `--backend`",
                          "--threads applies to the backends `cpu` and `reference`, not to `%s`", out->id);
    if (compile_program(request, program, &options, out, &error) == VYRE_OK)
        return TOOL_OK;
    (void)tool_error(&error);
    return tool_exit_of_run(error.code);
}

/* Selects a backend and compiles the program on it. A named backend is used, or the error states why it cannot be.
 * Without a name, needs_reference selects the reference, with a note; otherwise VYRE_POLICY_DEFAULT selects, never the
 * reference. Prints the error. */
static int choose_backend(const tool_command *command, const backend_request *request, vyre_program *program,
                          backend_choice *out) {
    const char *needs = request->needs_reference;
    const char *named = request->name && *request->name ? request->name : vy_env_get("VYRE_BACKEND");

    *out = (backend_choice){.id = reference};
    if (named && request->verbose)
        tool_write(stderr, "note: backend `%.60s` is selected by %s\n", named,
                   named == request->name ? "--backend" : "VYRE_BACKEND");
    if (named && strcmp(named, reference) == 0)
        return TOOL_OK;
    if (needs && named)
        return tool_usage(command, VY_FIX("remove `%s`, or use `--backend reference`, the interpreter", needs),
                          "`%s` needs the backend `reference`, but `%.60s` is selected%s", needs, named,
                          named == request->name ? "" : " by VYRE_BACKEND");
    if (needs) {
        out->cause = needs;
        if (!request->quiet)
            tool_write(stderr, "note: %s runs on the reference interpreter, because of `%s`\n",
                       vyre_program_name(program), needs);
        return TOOL_OK;
    }
    int code = acquire_and_compile(command, named, request, program, out);
    if (code != TOOL_OK)
        backend_choice_free(out);
    return code;
}

/* ---- state of a run ---- */

/* Output of print statements: collected with --json, otherwise printed immediately. */
typedef struct prints {
    int collect;
    vy_string json;
} prints;

typedef struct timing {
    double shortest, median;
} timing;

typedef struct run {
    const tool_command *command;
    run_options *options;
    vyre_program *program;
    vyre_oracle *oracle;
    backend_choice place;
    uint64_t deadline_ns; /* of the compile and the first run; 0: none */
    tool_bindings bindings;
    vyre_bytes *outputs;
    size_t output_count;
    vyre_oracle_report report;
    vyre_diagnostics *findings;
    vyre_error error;
    vyre_status status;
    prints prints;
    timing timing;
} run;

static void on_print(void *user, uint64_t invocation, const char *text) {
    prints *p = user;

    if (!p->collect) {
        size_t length = strlen(text);
        printf("[%" PRIu64 "] %s%s", invocation, text, length > 0 && text[length - 1] == '\n' ? "" : "\n");
        return;
    }
    tool_json_open(&p->json, "", '{');
    tool_json_number(&p->json, "invocation", invocation);
    tool_json_text(&p->json, "text", text);
    vy_string_char(&p->json, '}');
}

/* ---- options ---- */

static int read_checks(const tool_command *command, const char *text, unsigned *checks) {
    static const struct {
        const char *name;
        unsigned bit;
    } names[] = {{"races", VYRE_CHECK_RACES},
                 {"bounds", VYRE_CHECK_BOUNDS},
                 {"unwritten", VYRE_CHECK_UNWRITTEN},
                 {"divergence", VYRE_CHECK_DIVERGENCE},
                 {"all", VYRE_CHECK_ALL}};

    while (text && *text) {
        size_t length = strcspn(text, ","), i = 0;
        for (; i < sizeof names / sizeof *names; i++)
            if (strlen(names[i].name) == length && memcmp(names[i].name, text, length) == 0)
                break;
        if (i == sizeof names / sizeof *names)
            return tool_usage(command, "use races, bounds, unwritten, divergence or all, separated by commas",
                              "unknown check `%.*s`", (int)length, text);
        *checks |= names[i].bit;
        text += length + (text[length] == ',');
    }
    return TOOL_OK;
}

/* The option or statement that only the reference supports; NULL if none. */
static const char *needs_reference(const run *r) {
    const run_options *options = r->options;
    return options->check                               ? "--check"
           : options->seed                              ? "--seed"
           : options->budget                            ? "--budget"
           : (r->program->facts & VY_PROGRAM_HAS_PRINT) ? "print"
                                                        : NULL;
}

/* ---- running ---- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first run has the time that the compile left. 1 ns expires before the run starts. */
static uint64_t timeout_of_run(run *r) {
    uint64_t timeout = r->options->timeout, now = timeout ? vy_clock_now() : 0;
    if (timeout && r->deadline_ns)
        timeout = r->deadline_ns > now ? r->deadline_ns - now : 1;
    r->deadline_ns = 0;
    return timeout;
}

/* Runs the interpreter directly, since a dispatch has no checks, seed, budget or prints. The deadline is that of a
 * dispatch. */
static vyre_status run_reference(run *r, const vyre_oracle_options *options, uint64_t timeout) {
    const vy_run_end end = {.deadline_ns = timeout ? vy_clock_now() + timeout : 0};
    vy_resolved_dispatch launch;
    vyre_status status = vy_resolve_dispatch(r->program, &r->bindings.arguments, &launch, &r->error);

    if (status == VYRE_OK)
        status = vy_dispatch_check_expired(r->program, end.deadline_ns, NULL, &r->error);
    if (status == VYRE_OK)
        status = vy_oracle_launch(r->oracle, &launch, options, end, r->outputs, &r->report, r->findings, &r->error);
    return status;
}

static vyre_status run_once(run *r, const vyre_oracle_options *options) {
    vyre_outputs outputs = {r->outputs, r->output_count,
                            r->output_count + 1}; /* enough slots: the array is not reallocated */

    uint64_t timeout = timeout_of_run(r);
    if (!r->place.pipeline)
        return run_reference(r, options, timeout);
    vyre_dispatch_config config = {.timeout_ns = timeout};
    return vyre_pipeline_dispatch_into(r->place.pipeline, &r->bindings.arguments, &config, &outputs, &r->report.trap,
                                       &r->error);
}

/* Runs --repeat times and stops at the first failure. Only the first run prints. */
static int run_all(run *r, const vyre_oracle_options *given) {
    uint64_t repeat = r->options->repeat;
    vyre_oracle_options options = *given;
    double *times = vy_allocate(vy_array_size((size_t)repeat, sizeof *times));
    tool_progress progress = {0};
    uint64_t done = 0;
    int prints =
        !r->options->json && (r->program->facts & VY_PROGRAM_HAS_PRINT); /* prints would mix with the progress line */

    if (!times) {
        vy_fail_memory(&r->error, "timing the runs");
        return tool_error(&r->error);
    }
    if (!r->options->quiet && !prints)
        tool_progress_start(&progress, "running", repeat > 1 ? repeat : 0);
    while (done < repeat) {
        uint64_t start = vy_clock_now();
        r->status = run_once(r, &options);
        times[done++] = (double)(vy_clock_now() - start) * 1e-9;
        tool_progress_step(&progress, done);
        options.print = NULL;
        if (r->status != VYRE_OK)
            break;
    }
    tool_progress_stop(&progress);
    qsort(times, (size_t)done, sizeof *times, compare_doubles);
    r->timing.shortest = times[0];
    r->timing.median = done % 2 ? times[done / 2] : (times[done / 2 - 1] + times[done / 2]) / 2;
    vy_release(times, (size_t)repeat * sizeof *times);
    return TOOL_OK;
}

/* ---- reports ---- */

static int delivered(const run *r) {
    return r->status == VYRE_OK || r->status == VYRE_CHECK_FAILED;
}

static void format_time(double seconds, char *text, size_t size) {
    if (seconds < 1e-3)
        snprintf(text, size, "%.1f us", seconds * 1e6);
    else if (seconds < 1)
        snprintf(text, size, "%.2f ms", seconds * 1e3);
    else
        snprintf(text, size, "%.3f s", seconds);
}

/* "30 x 40" for 30 x 40 x 1. */
static void add_extent(vy_string *out, const uint32_t size[3]) {
    vy_string_format(out, "%u", size[0]);
    if (size[1] != 1 || size[2] != 1)
        vy_string_format(out, " x %u", size[1]);
    if (size[2] != 1)
        vy_string_format(out, " x %u", size[2]);
}

/* How the backend ran grid barriers, and why; NULL if the program has none. */
static const char *barriers(const run *r) {
    vy_resolved_dispatch launch;
    vy_grid_sync_reason reason = VY_GRID_SYNC_NONE;
    if (r->place.pipeline && vy_resolve_dispatch(r->program, &r->bindings.arguments, &launch, NULL) == VYRE_OK)
        reason = vy_pipeline_grid_sync(r->place.pipeline, &launch);
    return reason == VY_GRID_SYNC_NONE ? NULL : vy_grid_sync_sentence(reason);
}

static void note(const run *r) {
    const uint32_t *groups = r->report.groups;
    vy_string text = {0};
    uint32_t size[3];

    if (r->options->quiet || !delivered(r))
        return;
    const char *how = barriers(r);
    vyre_program_workgroup(r->program, size);
    vy_string_format(&text, "note: %s ran on %s: ", vyre_program_name(r->program), r->place.id);
    add_extent(&text, groups);
    vy_string_add(&text, groups[0] == 1 && groups[1] == 1 && groups[2] == 1 ? " workgroup of " : " workgroups of ");
    add_extent(&text, size);
    if (r->oracle)
        vy_string_format(&text, ", %" PRIu64 " statements", r->report.steps);
    else if (how)
        vy_string_format(&text, "; grid barriers %s", how);
    vy_string_char(&text, '\n');
    fflush(stdout);
    if (!text.failed)
        tool_write_lines(stderr, text.text, text.length);
    vy_string_free(&text);
}

static int show_text(run *r) {
    vy_string out = {0};
    vyre_buffer_info buffer;
    size_t output = 0;

    for (size_t i = 0; delivered(r) && vyre_program_buffer(r->program, i, &buffer); i++) {
        tool_buffer_view show;
        if (!vy_accesses[buffer.access].is_output)
            continue;
        show = (tool_buffer_view){buffer.name, buffer.type, r->outputs[output].data, r->outputs[output].size};
        output++;
        if (tool_outputs_file(&r->options->outs, buffer.name))
            continue;
        tool_print_buffer_values(&out, &show, r->options->limit);
        if (r->options->hex)
            tool_print_buffer_hex(&out, &show, r->options->limit);
    }
    if (r->options->time) {
        char shortest[32], median[32];
        format_time(r->timing.shortest, shortest, sizeof shortest);
        format_time(r->timing.median, median, sizeof median);
        vy_string_format(&out, "time: shortest %s, median %s of %" PRIu64 " run%s\n", shortest, median,
                         r->options->repeat, r->options->repeat > 1 ? "s" : "");
    }
    return tool_print(&out);
}

static void add_json_error(vy_string *out, const run *r) {
    if (r->status == VYRE_TRAPPED)
        vy_string_format(out, ",\"trap\":{\"invocation\":%" PRIu64 ",\"code\":%u}", r->report.trap.invocation,
                         r->report.trap.code);
    if (r->status != VYRE_OK) {
        tool_json_text(out, "message", r->error.message);
        if (r->status == VYRE_TRAPPED && *r->error.where)
            tool_json_text(out, "where", r->error.where);
        tool_json_text(out, "fix", r->error.fix);
    }
}

static int show_json(run *r) {
    vy_string out = {0};
    vyre_buffer_info buffer;
    vyre_digest fingerprint;
    char digest[65];
    size_t output = 0;

    vyre_program_fingerprint(r->program, &fingerprint);
    vyre_digest_format(&fingerprint, digest);
    vy_string_char(&out, '{');
    tool_json_text(&out, "program", vyre_program_name(r->program));
    tool_json_text(&out, "fingerprint", digest);
    tool_json_text(&out, "backend", r->place.id);
    if (r->place.cause)
        tool_json_text(&out, "backend_cause", r->place.cause);
    tool_json_text(&out, "status", vyre_status_name(r->status));
    add_json_error(&out, r);
    vy_string_format(&out,
                     ",\"groups\":[%u,%u,%u],\"invocations\":%" PRIu64 ",\"steps\":%" PRIu64 ",\"evaluations\":%" PRIu64
                     ",\"seconds\":{\"shortest\":%.9f,\"median\":%.9f}",
                     r->report.groups[0], r->report.groups[1], r->report.groups[2], r->report.invocations,
                     r->report.steps, r->report.evaluations, r->timing.shortest, r->timing.median);
    const char *how = delivered(r) ? barriers(r) : NULL;
    if (how)
        tool_json_text(&out, "grid_barriers", how);
    tool_json_findings(&out, r->findings, 0);
    vy_string_format(&out, ",\"prints\":[%s],\"outputs\":[", r->prints.json.text ? r->prints.json.text : "");
    for (size_t i = 0; delivered(r) && vyre_program_buffer(r->program, i, &buffer); i++) {
        if (!vy_accesses[buffer.access].is_output)
            continue;
        tool_print_buffer_json(
            &out, &(tool_buffer_view){buffer.name, buffer.type, r->outputs[output].data, r->outputs[output].size},
            r->options->hex);
        output++;
    }
    vy_string_add(&out, "]}\n");
    return tool_print(&out);
}

static int write_outputs(run *r) {
    return delivered(r) ? tool_outputs_write(r->program, &r->options->outs, &r->options->shapes, r->outputs) : TOOL_OK;
}

/* Writes the files before the JSON object, so that it can report a failed write. */
static int report_json(run *r) {
    int code = write_outputs(r);

    if (code == TOOL_OK)
        code = show_json(r);
    note(r);
    return r->status != VYRE_OK ? tool_exit_of_run(r->status) : code;
}

/* Prints the error of the run, with the source line if it is the location of a `trap`. */
static void show_error(const run *r) {
    const vyre_program *program = r->program;
    vyre_diagnostics *place = r->status == VYRE_TRAPPED ? vyre_diagnostics_new() : NULL;
    char where[sizeof r->error.where];

    for (uint32_t i = 0; place && i < program->stmts.count && !vyre_diagnostics_count(place); i++) {
        vy_position at = vy_stmt_position(program, i);
        if (program->stmts.items[i].kind != VY_STMT_TRAP && program->stmts.items[i].kind != VY_STMT_RECORD_TRAP)
            continue;
        snprintf(where, sizeof where, "%s:%u:%u", vy_source_name(program->source), at.line, at.column);
        if (at.line && strcmp(where, r->error.where) == 0)
            vy_diagnostic_add(place, program->source, "", VYRE_SEVERITY_ERROR, at, NULL, "%s", r->error.message);
    }
    tool_error_at(&r->error, vyre_diagnostics_count(place) ? vyre_diagnostics_get(place, 0) : NULL);
    vyre_diagnostics_free(place);
}

/* Prints findings before the outputs, which are delivered also if a check failed. */
static int report_text(run *r) {
    int shown;

    if (r->status != VYRE_OK) {
        tool_diagnostics(r->findings);
        if (vyre_diagnostics_errors(r->findings) == 0) /* otherwise it repeats the first finding */
            show_error(r);
    }
    shown = show_text(r);
    note(r);
    if (shown == TOOL_OK)
        shown = write_outputs(r);
    return r->status != VYRE_OK ? tool_exit_of_run(r->status) : shown;
}

/* ---- the command ---- */

/* Fills in the grid, which the oracle reports itself. */
static int describe_grid(run *r) {
    vy_resolved_dispatch launch;

    if (vy_resolve_dispatch(r->program, &r->bindings.arguments, &launch, &r->error) != VYRE_OK)
        return tool_error(&r->error);
    memcpy(r->report.groups, launch.groups, sizeof r->report.groups);
    r->report.invocations = launch.invocations;
    return TOOL_OK;
}

static int prepare(run *r, const char *file, const tool_args *args) {
    tool_request request = {args->words.items + 1, args->words.count - 1, &r->options->counts, r->options->grid,
                            r->options->elements,  r->options->program,   &r->options->defines};
    int code = tool_outputs_check(r->command, r->program, &r->options->outs, &r->options->shapes);

    if (code == TOOL_OK)
        code = tool_bindings_make(r->command, r->program, file, &request, &r->bindings);
    if (code == TOOL_OK)
        code = tool_outputs_compare(r->command, r->program, &r->options->shapes, &r->bindings.arguments);
    if (code == TOOL_OK)
        code = tool_outputs_check_write(&r->options->outs);
    if (code != TOOL_OK)
        return code;
    r->findings = vyre_diagnostics_new();
    r->output_count = vyre_program_output_count(r->program);
    r->outputs = vy_allocate_zero(vy_array_size(r->output_count + 1, sizeof *r->outputs));
    if (!r->outputs) {
        vy_fail_memory(&r->error, "allocating the outputs");
        return tool_error(&r->error);
    }
    if (r->options->timeout)
        r->deadline_ns = vy_clock_now() + r->options->timeout;
    const backend_request place = {.name = r->options->backend,
                                   .needs_reference = needs_reference(r),
                                   .limits_memory = r->options->memory != 0,
                                   .threads = (unsigned)r->options->threads,
                                   .quiet = r->options->quiet,
                                   .verbose = r->options->verbose,
                                   .deadline_ns = r->deadline_ns};
    code = choose_backend(r->command, &place, r->program, &r->place);
    if (code != TOOL_OK)
        return code;
    if (r->place.backend)
        return describe_grid(r);
    return vyre_oracle_new(r->program, &r->oracle, &r->error) == VYRE_OK ? TOOL_OK : tool_error(&r->error);
}

static int execute(run *r) {
    vyre_oracle_options options = {.threads = (unsigned)r->options->threads,
                                   .budget = r->options->budget,
                                   .seed = r->options->seed,
                                   .max_memory = r->options->memory};
    int code = read_checks(r->command, r->options->check, &options.checks);

    if (code != TOOL_OK)
        return code;
    r->prints.collect = r->options->json;
    options.print = on_print;
    options.print_user = &r->prints;
    /* Only one thread prints several workgroups in a fixed order. */
    if (options.threads == 0 && (r->program->facts & VY_PROGRAM_HAS_PRINT))
        options.threads = 1;
    code = run_all(r, &options);
    if (code != TOOL_OK)
        return code;
    return r->options->json ? report_json(r) : report_text(r);
}

static void run_free(run *r) {
    for (size_t i = 0; r->outputs && i < r->output_count; i++)
        vyre_bytes_free(&r->outputs[i]);
    vy_release(r->outputs, (r->output_count + 1) * sizeof *r->outputs);
    vy_string_free(&r->prints.json);
    vyre_diagnostics_free(r->findings);
    vyre_oracle_free(r->oracle);
    backend_choice_free(&r->place);
    tool_bindings_free(&r->bindings);
}

static int check_usage(const tool_command *self, const run_options *options, const tool_args *args) {
    if (args->words.count == 0)
        return tool_usage(self, "add a file, as in `vyre run saxpy.vyre a=2.0 x=1,2,3 y=4,5,6`", "no file is given");
    if (options->repeat > MAX_REPEATS)
        return tool_usage(self, VY_FIX("use at most --repeat %d", MAX_REPEATS),
                          "--repeat %" PRIu64 " exceeds its limit (%d)", options->repeat, MAX_REPEATS);
    if (options->threads > MAX_THREADS)
        return tool_usage(self, VY_FIX("use at most --threads %d", MAX_THREADS),
                          "--threads %" PRIu64 " exceeds its limit (%d)", options->threads, MAX_THREADS);
    return TOOL_OK;
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    run r = {.command = self, .options = given, .error = VYRE_ERROR_INIT};
    tool_file file = {0};
    int code = check_usage(self, r.options, args);

    if (code == TOOL_OK)
        code =
            tool_load_resolved(self, args->words.items[0], r.options->program, &r.options->defines, &file, &r.program);
    if (code == TOOL_OK)
        code = prepare(&r, args->words.items[0], args);
    if (code == TOOL_OK)
        code = execute(&r);
    run_free(&r);
    tool_file_free(&file);
    return code;
}

static const run_options defaults = {.repeat = 1, .limit = DEFAULT_ROWS};

const tool_command tool_cmd_run = {
    .name = "run",
    .summary = "run a program and print or store its outputs",
    .usage = "FILE [NAME=VALUE ...] [OPTIONS]",
    .details =
        "FILE is a .vyre text or a wire form; - is standard input. Each param and each read, uniform or read_write\n"
        "buffer needs a NAME=VALUE:\n"
        "\n"
        "  1,2,3.5  -7  0x1f  inf  nan  true     literals; an empty value is an empty buffer\n"
        "  zeros:N  ones:N  iota:N               N may be omitted if the program fixes the count\n"
        "  random:SEED:N  random:SEED:N:LO:HI    [0, 1) or [LO, HI); random bits for integers without bounds\n"
        "  text:WORDS                            the bytes of a text, for u8 and i8\n"
        "  @FILE                                 raw bytes, little-endian\n"
        "  FILE.npy                              a NumPy array of the same element type, in C order\n"
        "\n"
        "An argument @FILE without a name reads arguments from FILE, one per line. Paths in it are relative to FILE.\n",
    .examples = "  vyre run examples/saxpy.vyre a=2.0 x=1,2,3 y=10,20,30\n"
                "  vyre run examples/saxpy.vyre a=2 x=x.npy y=y.npy --out y=result.npy\n"
                "  vyre run kernel.vyre x=random:1:4096 --check all --seed 7\n"
                "  vyre run kernel.vyre x=iota:1048576 --repeat 10 --time\n",
    .options = options_table,
    .options_size = sizeof(run_options),
    .defaults = &defaults,
    .reads_argument_files = 1,
    .run = run_command,
};
