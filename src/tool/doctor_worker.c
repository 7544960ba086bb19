/* What a child of the doctor does: the things that may end a process. Every step is announced before it is taken, so that the parent knows
 * where the child ended. */
#include "tool/doctor.h"

#include "base/trusted_path.h"
#include "driver/host_services.h"
#include "driver/registry.h"
#include "tool/subprocess.h"
#include "vyre/driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* ---- lines ---- */

/* One line, written at once: what was written stays written if the next step ends the process. Fields hold no tabs, line ends or other control
 * characters, whatever the text they come from. */
static void write_record(size_t count, const char *const *fields) {
    vy_string line = {0};
    for (size_t i = 0; i < count; i++) {
        if (i)
            vy_string_char(&line, '\t');
        for (const char *at = fields[i]; *at; at++)
            vy_string_char(&line, (unsigned char)*at < 0x20 || *at == 0x7f ? ' ' : *at);
    }
    vy_string_char(&line, '\n');
    for (size_t done = 0; !line.failed && done < line.length;) {
        ssize_t n = write(TOOL_SUBPROCESS_RESULT_FD, line.text + done, line.length - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    vy_string_free(&line);
}
#define WRITE_RECORD(...)                                                                                              \
    write_record(sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *), (const char *[]){__VA_ARGS__})

static const char *number(uint32_t value, char text[16]) {
    snprintf(text, 16, "%u", value);
    return text;
}

/* ---- probes ---- */

static const char *answer_name(vyre_probe_answer answer) {
    static const char *const names[] = {[VYRE_PROBE_YES] = "yes",
                                        [VYRE_PROBE_FOR_NOW] = "for_now",
                                        [VYRE_PROBE_NOT_NOW] = "not_now",
                                        [VYRE_PROBE_NEVER] = "never"};
    return (unsigned)answer < sizeof names / sizeof *names ? names[answer] : "unknown";
}

static void run_probe(const vyre_backend_registration *backend, const char *owner) {
    vyre_probe probe = {.struct_size = sizeof probe};
    void (*ask)(const vyre_host *, vyre_probe *) = VY_STRUCT_GET(backend, vyre_backend_registration, probe);
    char rank[16], devices[16], stage[128];
    if (ask) {
        snprintf(stage, sizeof stage, "the probe of backend `%s` is asked", backend->id);
        WRITE_RECORD("stage", stage);
        ask(&vy_host_services, &probe);
        probe.reason[sizeof probe.reason - 1] = probe.fix[sizeof probe.fix - 1] = 0;
    }
    WRITE_RECORD("backend", backend->id, owner, number(vyre_backend_precedence(backend->id), rank),
                 ask && vyre_backend_dispatches(backend->id) ? answer_name(probe.answer) : "",
                 vyre_device_class_name(probe.device_class), number(probe.device_count, devices), probe.reason,
                 probe.fix);
}

static void run_probes_of(const char *owner) {
    size_t count;
    const vyre_backend_registration *const *list = vyre_backends_by_precedence(&count);
    for (size_t i = 0; i < count; i++) {
        const char *by = vyre_backend_owner(list[i]->id);
        if (by && strcmp(by, owner) == 0)
            run_probe(list[i], owner);
    }
}

/* ---- tasks ---- */

static void task_plugin(const char *path) {
    vyre_error error = VYRE_ERROR_INIT;
    WRITE_RECORD("stage", "it is loaded");
    vyre_status status = vyre_plugin_load(path, &error);
    if (status == VYRE_OK)
        run_probes_of(path);
    else
        WRITE_RECORD("refused", path, vyre_status_name(status), error.message, error.fix);
}

static void task_builtin(const char *unused) {
    (void)unused;
    run_probes_of("libvyre");
}

static void report_refused(void *unused, const char *path, vyre_status status, const vyre_error *error) {
    (void)unused;
    if (error)
        WRITE_RECORD("refused", path, vyre_status_name(status), error->message, error->fix);
}

static void task_choose(const char *unused) {
    vyre_policy policy = VYRE_POLICY_DEFAULT;
    policy.probe_all = 1; /* as `vyre backends` */
    vyre_selection *report = NULL;
    vyre_backend *chosen = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_candidate c;
    char rank[16], devices[16];
    (void)unused;
    WRITE_RECORD("stage", "all plug-ins are loaded together");
    vyre_plugins_load_all(report_refused, NULL);
    WRITE_RECORD("stage", "a backend is chosen and started");
    vyre_status status = vyre_select(&policy, &chosen, &report, &error);
    for (size_t i = 0; report && vyre_selection_get(report, i, &c); i++)
        WRITE_RECORD("candidate", c.id, c.owner, number(c.rank, rank), vyre_verdict_name(c.verdict),
                     vyre_device_class_name(c.device_class), number(c.device_count, devices), c.reason, c.fix);
    if (status == VYRE_OK)
        WRITE_RECORD("chosen", vyre_backend_id(chosen));
    else
        WRITE_RECORD("nothing", error.message, error.fix);
    WRITE_RECORD("stage", "the chosen backend is released");
    vyre_selection_free(report);
    vyre_backend_release(chosen);
}

static void task_library(const char *name) {
    vyre_error error;
    WRITE_RECORD("stage", "it is opened");
    if (vy_trusted_library_check(name, "library", &error) != VYRE_OK) {
        WRITE_RECORD("library", "", error.message);
        return;
    }
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    struct link_map *map = NULL;
    if (!handle)
        WRITE_RECORD("library", "", dlerror());
    else if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
        WRITE_RECORD("library", map->l_name, "");
    else
        WRITE_RECORD("library", name, "");
}

int doctor_worker_run(const char *task, const char *argument) {
    static const struct {
        const char *name;
        int has_argument;
        void (*run)(const char *);
    } tasks[] = {
#define X(name, argument, doc) {#name, argument, task_##name},
        DOCTOR_TASK_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        if (strcmp(tasks[i].name, task) != 0 || tasks[i].has_argument != (argument != NULL))
            continue;
        tasks[i].run(argument);
        WRITE_RECORD("stage", "the process ends");
        WRITE_RECORD("done");
        return 1;
    }
    return 0;
}
