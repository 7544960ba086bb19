/* vyre doctor: is everything here that should be, does it work, and what to do about what does not. */
#include "tool/args.h"
#include "tool/commands.h"
#include "tool/doctor.h"
#include "tool/subprocess.h"

#include <fcntl.h>
#include <stdarg.h>

typedef struct doctor_options {
    uint64_t timeout;
    int json;
} doctor_options;

static const doctor_options defaults = {.timeout = 10 * TOOL_SECOND_NS};

static const tool_option options_table[] = {
    {"timeout", 0, "SECONDS", TOOL_SECONDS, offsetof(doctor_options, timeout),
     "how long a plug-in or driver may take (10)"},
    {"json", 0, NULL, TOOL_FLAG, offsetof(doctor_options, json), "one JSON object on standard output"},
    TOOL_OPTION_END,
};

/* ---- the report ---- */

const char *doctor_copy_text(doctor *d, const char *text, size_t length) {
    const char *kept = length ? vy_arena_copy(&d->texts, text, length) : "";
    if (!kept)
        d->is_out_of_memory = 1;
    return kept ? kept : "";
}

const char *doctor_format(doctor *d, const char *format, ...) {
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return doctor_copy_text(d, text, strlen(text));
}

static void add_finding(doctor *d, int is_problem, const char *message, const char *fix) {
    doctor_finding *finding = VY_PUSH(&d->findings);
    if (finding)
        *finding = (doctor_finding){is_problem, message, fix};
    else
        d->is_out_of_memory = 1;
}

void doctor_problem(doctor *d, const char *message, const char *fix) {
    add_finding(d, 1, message, fix);
}

void doctor_warning(doctor *d, const char *message, const char *fix) {
    add_finding(d, 0, message, fix);
}

size_t doctor_problem_count(const doctor *d) {
    size_t count = 0;
    for (uint32_t i = 0; i < d->findings.count; i++)
        count += d->findings.items[i].is_problem != 0;
    return count;
}

void doctor_free(doctor *d) {
    VY_VECTOR_FREE(&d->plugins);
    VY_VECTOR_FREE(&d->backends);
    VY_VECTOR_FREE(&d->libraries);
    VY_VECTOR_FREE(&d->devices);
    VY_VECTOR_FREE(&d->limits);
    VY_VECTOR_FREE(&d->variables);
    VY_VECTOR_FREE(&d->findings);
    vy_arena_free(&d->texts);
}

/* ---- the command ---- */

static int examine(const doctor_options *options) {
    doctor d = {.timeout_ns = options->timeout};
    vy_string out = {0};
    int code;

    doctor_probe_plugins(&d);
    doctor_probe_backends(&d);
    doctor_probe_libraries(&d);
    doctor_check_devices(&d);
    doctor_check_limits(&d);
    doctor_check_environment(&d);
    doctor_check_cache(&d);
    if (d.is_out_of_memory) {
        vyre_error error;
        vy_fail_memory(&error, "examining this machine");
        code = tool_error(&error);
    } else {
        (options->json ? doctor_report_json : doctor_report_text)(&d, &out);
        code = options->json ? tool_print(&out) : tool_print_lines(&out);
        if (code == TOOL_OK && doctor_problem_count(&d))
            code = TOOL_FAILED;
    }
    doctor_free(&d);
    return code;
}

/* The form the command has for itself: the parent waits for an answer on a descriptor of its own. */
static int is_worker(const tool_args *args) {
    return args->words.count >= 2 && strcmp(args->words.items[0], DOCTOR_WORKER) == 0 &&
           fcntl(TOOL_SUBPROCESS_RESULT_FD, F_GETFD) >= 0 &&
           doctor_worker_run(args->words.items[1], args->words.count > 2 ? args->words.items[2] : NULL);
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    if (is_worker(args))
        return TOOL_OK;
    if (args->words.count)
        return tool_usage(self, "`vyre doctor` looks at everything; leave the word out", "`%.100s` is not expected",
                          args->words.items[0]);
    return examine(given);
}

const tool_command tool_cmd_doctor = {
    .name = "doctor",
    .summary = "examine plug-ins, backends, drivers, the cache and limits, and say what to do",
    .usage = "[OPTIONS]",
    .details =
        "Plug-ins, probes and driver libraries are loaded in child processes with a time limit, so that one that\n"
        "crashes, hangs, exits or prints is named and ends nothing else. Exits with 1 if there is a problem;\n"
        "warnings change nothing.\n",
    .examples = "  vyre doctor\n"
                "  VYRE_PLUGINS=$PWD/mine.so vyre doctor --timeout 30\n"
                "  vyre doctor --json\n",
    .options = options_table,
    .options_size = sizeof(doctor_options),
    .defaults = &defaults,
    .run = run_command,
};
