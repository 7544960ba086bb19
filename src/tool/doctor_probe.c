/* Asking children: what they answer, and what it means if they do not come back as they should. */
#include "tool/doctor.h"

#include "driver/plugin.h"
#include "tool/subprocess.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- answers ---- */

enum { MAX_FIELDS = 10 };

typedef struct answer {
    tool_subprocess child;
    const char *stage; /* what came next when it ended */
    int is_done;
} answer;

/* The fields of the line at *at, kept in the arena; missing ones are "". Returns 0 at the end. A last line without its end was cut. */
static int next_line(doctor *d, const char **at, const char *fields[MAX_FIELDS]) {
    const char *end = *at ? strchr(*at, '\n') : NULL;
    if (!end)
        return 0;
    for (int i = 0; i < MAX_FIELDS; i++) {
        size_t length = strcspn(*at, "\t\n");
        fields[i] = doctor_copy_text(d, *at, length);
        *at += length + ((*at)[length] == '\t');
    }
    *at = end + 1;
    return 1;
}

static void run_worker(doctor *d, const char *task, const char *argument, const char *plugins, answer *out) {
    const char *words[] = {"doctor", DOCTOR_WORKER, task, argument, NULL};
    const char *fields[MAX_FIELDS], *at;
    *out = (answer){.stage = "it is started"};
    tool_subprocess_run(words, plugins, d->timeout_ns, &out->child);
    if (out->child.end == TOOL_SUBPROCESS_NOT_STARTED && !d->cannot_start) {
        const char *reason = strerrordesc_np(out->child.code);
        d->cannot_start = 1;
        doctor_problem(
            d,
            doctor_format(d, "child processes cannot be started (%s): nothing is tried", reason ? reason : "unknown"),
            "raise the limits on processes, memory and open files, and have /proc mounted");
    }
    if (out->child.answer.failed || out->child.output.failed)
        d->is_out_of_memory = 1;
    for (at = out->child.answer.text; next_line(d, &at, fields);) {
        out->is_done = strcmp(fields[0], "done") == 0;
        if (strcmp(fields[0], "stage") == 0)
            out->stage = fields[1];
    }
}

static uint32_t to_number(const char *text) {
    unsigned long value = strtoul(text, NULL, 10);
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* How the child ended, as a sentence about `it`, or NULL if all is well. Fills state, signal and exit code of `plugin`. */
static const char *describe_end(doctor *d, const answer *a, doctor_plugin *plugin) {
    char text[80];
    if (!a->is_done || a->child.end != TOOL_SUBPROCESS_EXITED || a->child.code != 0)
        plugin->stage = a->stage;
    switch (a->child.end) {
    case TOOL_SUBPROCESS_SIGNALLED:
        plugin->state = DOCTOR_CRASHED;
        plugin->signal = a->child.code;
        return doctor_format(d, "ends the process with %s while %s", tool_signal_name(a->child.code, text), a->stage);
    case TOOL_SUBPROCESS_TIMED_OUT:
        plugin->state = DOCTOR_HUNG;
        return doctor_format(d, "does not come back within %g s while %s", (double)d->timeout_ns * 1e-9, a->stage);
    case TOOL_SUBPROCESS_STUCK:
        plugin->state = DOCTOR_HUNG;
        return doctor_format(d, "does not come back within %g s while %s, and cannot be killed: it waits in the kernel",
                             (double)d->timeout_ns * 1e-9, a->stage);
    case TOOL_SUBPROCESS_NOT_STARTED:
        plugin->state = DOCTOR_UNKNOWN;
        return "is not tried: the child process cannot be started";
    case TOOL_SUBPROCESS_EXITED:
        break;
    }
    if (a->is_done && a->child.code == 0)
        return NULL;
    plugin->state = DOCTOR_EXITED;
    plugin->exit_code = a->child.code;
    return doctor_format(d, "ends the process with exit code %d while %s", a->child.code, a->stage);
}

/* That no child can be started is told once, not of each. */
static void report_end(doctor *d, const answer *a, const char *message, const char *fix) {
    if (a->child.end != TOOL_SUBPROCESS_NOT_STARTED)
        doctor_problem(d, message, fix);
}

/* ---- backends ---- */

static doctor_backend *find_backend(doctor *d, const char *id) {
    for (uint32_t i = 0; i < d->backends.count; i++)
        if (strcmp(d->backends.items[i].id, id) == 0)
            return &d->backends.items[i];
    doctor_backend *backend = VY_PUSH(&d->backends);
    if (backend)
        *backend = (doctor_backend){id, "", "unknown", "", "unknown", "", "", UINT32_MAX, 0};
    else
        d->is_out_of_memory = 1;
    return backend;
}

/* `backend` and `candidate` lines differ in their fourth field. The verdict comes last and knows best; a probe's words stay where it has none. */
static void note_backend(doctor *d, const char *fields[MAX_FIELDS]) {
    int is_verdict = strcmp(fields[0], "candidate") == 0;
    if (!is_verdict && strcmp(fields[0], "backend") != 0)
        return;
    doctor_backend *b = find_backend(d, fields[1]);
    if (!b || (*b->owner && strcmp(b->owner, fields[2]) != 0)) /* an id that is taken is the first one's */
        return;
    b->owner = fields[2];
    b->rank = to_number(fields[3]);
    if (is_verdict)
        b->verdict = fields[4];
    else
        b->probe = fields[4];
    if (strcmp(fields[5], "unknown") != 0)
        b->device_class = fields[5];
    if (to_number(fields[6]))
        b->devices = to_number(fields[6]);
    if (*fields[7])
        b->reason = fields[7];
    if (*fields[7] || *fields[8])
        b->fix = fields[8];
}

/* In order of precedence, as the library has them. */
static int compare_backends(const void *a, const void *b) {
    const doctor_backend *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return strcmp(left->id, right->id);
}

/* ---- plug-ins ---- */

static const char *remedy(doctor *d, const doctor_plugin *plugin, const char *repair) {
    if (plugin->is_installed)
        return doctor_format(d, "%s; until then move it out of %s", repair, d->folder);
    return doctor_format(d, "%s; until then take it out of VYRE_PLUGINS", repair);
}

static void note_refused(doctor *d, const char *fields[MAX_FIELDS], doctor_plugin *plugin) {
    plugin->state = DOCTOR_REFUSED;
    plugin->status = fields[2];
    plugin->message = fields[3];
    plugin->fix = fields[4];
    doctor_problem(d, doctor_format(d, "plug-in %s is refused: %s", plugin->path, plugin->message), plugin->fix);
}

static void probe_plugin(doctor *d, doctor_plugin *plugin) {
    answer a;
    const char *fields[MAX_FIELDS], *at;
    run_worker(d, "plugin", plugin->path, NULL, &a);
    plugin->output = doctor_copy_text(d, a.child.output.length ? a.child.output.text : "", a.child.output.length);
    const char *end = describe_end(d, &a, plugin);
    for (at = a.child.answer.text; next_line(d, &at, fields);) {
        if (!end && strcmp(fields[0], "refused") == 0)
            note_refused(d, fields, plugin);
        else
            note_backend(d, fields);
    }
    if (end) {
        plugin->message = end;
        plugin->fix = remedy(d, plugin,
                             plugin->state == DOCTOR_HUNG
                                 ? "have it repaired, or give it more time with --timeout if it is only slow"
                                 : "have it repaired or rebuilt");
        if (plugin->state == DOCTOR_UNKNOWN)
            plugin->fix = "have child processes started first";
        report_end(d, &a, doctor_format(d, "plug-in %s %s", plugin->path, end), plugin->fix);
    } else if (plugin->state == DOCTOR_OK && a.child.output.length) {
        plugin->state = DOCTOR_NOISY;
        plugin->message = "prints to standard output or error, where it mixes with what programs print";
        plugin->fix = remedy(d, plugin, "have it use the log of its host");
        doctor_problem(d, doctor_format(d, "plug-in %s %s", plugin->path, plugin->message), plugin->fix);
    }
    tool_subprocess_free(&a.child);
}

typedef struct finder {
    doctor *d;
    int is_installed;
} finder;

/* A path named twice is one plug-in. */
static void note_path(void *user, const char *path, vyre_status status, const vyre_error *error) {
    finder *f = user;
    doctor *d = f->d;
    if (status != VYRE_OK) {
        doctor_problem(d, doctor_copy_text(d, error->message, strlen(error->message)),
                       doctor_copy_text(d, error->fix, strlen(error->fix)));
        return;
    }
    for (uint32_t i = 0; i < d->plugins.count; i++)
        if (strcmp(d->plugins.items[i].path, path) == 0)
            return;
    doctor_plugin *plugin = VY_PUSH(&d->plugins);
    if (!plugin)
        d->is_out_of_memory = 1;
    else
        *plugin = (doctor_plugin){.path = doctor_copy_text(d, path, strlen(path)),
                                  .is_installed = f->is_installed,
                                  .signal = -1,
                                  .exit_code = -1,
                                  .status = "",
                                  .stage = "",
                                  .message = "",
                                  .fix = "",
                                  .output = ""};
}

void doctor_probe_plugins(doctor *d) {
    finder installed = {d, 1}, named = {d, 0};
    d->folder = vy_plugin_folder();
    d->has_folder = access(d->folder, F_OK) == 0;
    vy_plugins_find(d->folder, NULL, note_path, &installed);
    vy_plugins_find(NULL, secure_getenv("VYRE_PLUGINS"), note_path, &named);
    for (uint32_t i = 0; i < d->plugins.count; i++)
        probe_plugin(d, &d->plugins.items[i]);
}

/* ---- the choice ---- */

/* VYRE_PLUGINS without those that would end the child: NULL if none is left. */
static char *healthy_list(const doctor *d, vy_string *list) {
    for (uint32_t i = 0; i < d->plugins.count; i++) {
        const doctor_plugin *plugin = &d->plugins.items[i];
        if (plugin->is_installed || (plugin->state != DOCTOR_OK && plugin->state != DOCTOR_NOISY))
            continue;
        if (list->length)
            vy_string_char(list, ':');
        vy_string_add(list, plugin->path);
    }
    return list->text;
}

/* One that loads alone may be refused beside the others: two of one id. */
static void note_refused_together(doctor *d, const char *fields[MAX_FIELDS]) {
    for (uint32_t i = 0; i < d->plugins.count; i++)
        if (strcmp(d->plugins.items[i].path, fields[1]) == 0 && d->plugins.items[i].state == DOCTOR_OK)
            note_refused(d, fields, &d->plugins.items[i]);
}

static void read_choice(doctor *d, const answer *a) {
    const char *fields[MAX_FIELDS], *at;
    const char *wish = secure_getenv("VYRE_BACKEND");
    for (at = a->child.answer.text; next_line(d, &at, fields);) {
        note_backend(d, fields);
        if (strcmp(fields[0], "refused") == 0)
            note_refused_together(d, fields);
        if (strcmp(fields[0], "chosen") == 0)
            d->chosen = fields[1];
        if (strcmp(fields[0], "nothing") == 0 && wish && *wish)
            doctor_problem(d, doctor_format(d, "VYRE_BACKEND is `%.80s`: %s", wish, fields[1]), fields[2]);
        else if (strcmp(fields[0], "nothing") == 0)
            doctor_warning(
                d, "no backend is chosen unless one is named",
                "install a GPU driver and a backend for it, or name the reference, which runs every program slowly: "
                "VYRE_BACKEND=reference");
    }
    for (uint32_t i = 0; i < d->backends.count; i++) {
        const doctor_backend *b = &d->backends.items[i];
        if (strcmp(b->verdict, "failed") == 0)
            doctor_problem(d, doctor_format(d, "backend %s does not start: %s", b->id, b->reason), b->fix);
        else if (strcmp(b->verdict, "chosen") == 0 && *b->reason)
            doctor_warning(d, doctor_format(d, "backend %s is chosen, but %s", b->id, b->reason), b->fix);
    }
}

void doctor_probe_backends(doctor *d) {
    answer a;
    const char *fields[MAX_FIELDS], *at;
    doctor_plugin end = {0};
    vy_string list = {0};
    run_worker(d, "builtin", NULL, NULL, &a);
    const char *words = describe_end(d, &a, &end);
    for (at = a.child.answer.text; next_line(d, &at, fields);)
        note_backend(d, fields);
    if (words)
        report_end(d, &a, doctor_format(d, "a backend of the library itself %s", words),
                   "update the driver of the backend that is named");
    tool_subprocess_free(&a.child);

    d->chosen = "";
    run_worker(d, "choose", NULL, healthy_list(d, &list), &a);
    d->is_out_of_memory |= list.failed;
    words = describe_end(d, &a, &end);
    read_choice(d, &a);
    if (words)
        report_end(d, &a, doctor_format(d, "choosing a backend %s", words),
                   "do first what is said of plug-ins and drivers");
    for (uint32_t i = 0; !words && i < d->backends.count; i++)
        if (strcmp(d->backends.items[i].verdict, "unknown") == 0)
            d->backends.items[i].verdict = "not_loaded"; /* with its plug-in */
    tool_subprocess_free(&a.child);
    vy_string_free(&list);
    if (d->backends.count)
        qsort(d->backends.items, d->backends.count, sizeof *d->backends.items, compare_backends);
}

/* ---- driver libraries ---- */

/* X(file, what it is for, what to install): the libraries that backends of this version load. */
#define LIBRARY_LIST(X)                                                                                                \
    X("libcuda.so.1", "CUDA", "for an NVIDIA GPU, install its driver (nvidia-driver, or libcuda1 in a container)")

/* A library nobody installed is no mistake; one that is there and does not load is. */
static void probe_library(doctor *d, const char *name, const char *what, const char *fix) {
    answer a;
    const char *fields[MAX_FIELDS], *at;
    doctor_plugin end = {0};
    doctor_library *library = VY_PUSH(&d->libraries);
    if (!library) {
        d->is_out_of_memory = 1;
        return;
    }
    *library = (doctor_library){name, what, "", "", "", 0};
    run_worker(d, "library", name, NULL, &a);
    for (at = a.child.answer.text; next_line(d, &at, fields);)
        if (strcmp(fields[0], "library") == 0) {
            library->path = fields[1];
            library->message = fields[2];
        }
    const char *words = describe_end(d, &a, &end);
    if (words) {
        library->message = words;
        library->path = "";
        library->is_broken = a.child.end != TOOL_SUBPROCESS_NOT_STARTED;
    } else if (!*library->path) {
        library->is_broken = strstr(library->message, "No such file") == NULL;
    }
    if (!*library->path && a.child.end != TOOL_SUBPROCESS_NOT_STARTED)
        library->fix = library->is_broken ? "install the driver again" : fix;
    if (library->is_broken)
        doctor_problem(d, doctor_format(d, "%s does not load: %s", name, library->message), library->fix);
    tool_subprocess_free(&a.child);
}

void doctor_probe_libraries(doctor *d) {
#define X(file, what, fix) probe_library(d, file, what, fix);
    LIBRARY_LIST(X)
#undef X
}
