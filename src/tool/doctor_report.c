/* The doctor's report for people and as JSON. */
#include "tool/doctor.h"

#include "tool/json.h"
#include "vyre/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/utsname.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown compiler"
#endif
#if defined(__OPTIMIZE__)
#define OPTIMISED "optimised"
#else
#define OPTIMISED "not optimised"
#endif

const char *doctor_state_name(doctor_state state) {
    static const char *const names[DOCTOR_STATE_COUNT] = {
#define X(ID, name, doc) name,
        DOCTOR_STATE_LIST(X)
#undef X
    };
    return names[state];
}

static void machine_text(char text[200]) {
    struct utsname machine;
    if (uname(&machine) == 0)
        snprintf(text, 200, "%.60s %.60s %.60s", machine.sysname, machine.release, machine.machine);
    else
        snprintf(text, 200, "unknown");
}

/* ---- text ---- */

/* A name and what belongs to it, lines of which begin under it. */
#define ROW "  %-14s %s\n"
#define UNDER "  %-14s "

static void add_fix(vy_string *out, const char *fix) {
    if (*fix)
        vy_string_format(out, UNDER "Fix: %s\n", "", fix);
}

static void text_library(vy_string *out) {
    char machine[200];
    machine_text(machine);
    vy_string_add(out, "library\n");
    vy_string_format(out, "  %-14s %s, backend contract %u\n", "version", vyre_version(), (unsigned)VYRE_BACKEND_ABI);
    vy_string_format(out, "  %-14s %s, %s\n", "build", COMPILER, OPTIMISED);
    vy_string_format(out, ROW, "machine", machine);
}

static void text_plugins(const doctor *d, vy_string *out) {
    vy_string_add(out, "plug-ins\n");
    vy_string_format(out, "  %-14s %s%s\n", "folder", d->folder, d->has_folder ? "" : " (not there)");
    for (uint32_t i = 0; i < d->plugins.count; i++) {
        const doctor_plugin *p = &d->plugins.items[i];
        vy_string_format(out, "  %-14s %s", doctor_state_name(p->state), p->path);
        vy_string_add(out, p->is_installed ? "\n" : " (VYRE_PLUGINS)\n");
        if (*p->output) {
            vy_string_format(out, UNDER "it printed ", "");
            vy_string_json(out, p->output);
            vy_string_char(out, '\n');
        }
    }
    if (!d->plugins.count)
        vy_string_add(out, "  none\n");
}

static void text_backends(const doctor *d, vy_string *out) {
    vy_string_add(out, "backends, in order of precedence\n");
    for (uint32_t i = 0; i < d->backends.count; i++) {
        const doctor_backend *b = &d->backends.items[i];
        vy_string_format(out, "  %-14s %s, %s", b->id, b->verdict, b->device_class);
        if (b->devices)
            vy_string_format(out, ", %" PRIu32 " device%s", b->devices, b->devices == 1 ? "" : "s");
        if (*b->probe)
            vy_string_format(out, ", its probe says %s", b->probe);
        if (b->rank != UINT32_MAX)
            vy_string_format(out, ", rank %" PRIu32, b->rank);
        if (strcmp(b->owner, "libvyre") != 0)
            vy_string_format(out, ", from %s", b->owner);
        vy_string_char(out, '\n');
        if (*b->reason)
            vy_string_format(out, UNDER "%s\n", "", b->reason);
        add_fix(out, b->fix);
    }
    vy_string_format(out, ROW, "chosen:", *d->chosen ? d->chosen : "none");
}

static void text_drivers(const doctor *d, vy_string *out) {
    vy_string_add(out, "drivers\n");
    for (uint32_t i = 0; i < d->libraries.count; i++) {
        const doctor_library *l = &d->libraries.items[i];
        vy_string_format(out, "  %-14s %s", l->name,
                         *l->path                   ? l->path
                         : l->is_broken || !*l->fix ? l->message
                                                    : "not there");
        vy_string_format(out, " (%s)\n", l->what);
        add_fix(out, l->fix);
    }
    for (uint32_t i = 0; i < d->devices.count; i++)
        vy_string_format(out, ROW, d->devices.items[i].is_usable ? "device" : "no access", d->devices.items[i].path);
}

static void text_machine(const doctor *d, vy_string *out) {
    vy_string_add(out, "cache\n");
    vy_string_format(out, "  %-14s %s (%s)\n", "folder", *d->cache_folder ? d->cache_folder : "none", d->cache_state);
    vy_string_format(out, "  %-14s %" PRIu64 " (%" PRIu64 " bytes)\n", "entries", d->cache_entries, d->cache_bytes);
    vy_string_add(out, "limits\n");
    for (uint32_t i = 0; i < d->limits.count; i++) {
        const doctor_limit *l = &d->limits.items[i];
        if (l->value == UINT64_MAX)
            vy_string_format(out, ROW, l->title, "unlimited");
        else
            vy_string_format(out, "  %-14s %" PRIu64 "%s\n", l->title, l->value, l->unit);
    }
    vy_string_add(out, "environment\n");
    for (uint32_t i = 0; i < d->variables.count; i++) {
        vy_string_format(out, "  %s=", d->variables.items[i].name);
        vy_string_json(out, d->variables.items[i].value);
        vy_string_char(out, '\n');
    }
    if (!d->variables.count)
        vy_string_format(out, ROW, "none", "no VYRE_ variable is set");
}

static void text_findings(const doctor *d, int is_problem, vy_string *out) {
    for (uint32_t i = 0; i < d->findings.count; i++) {
        const doctor_finding *f = &d->findings.items[i];
        if (f->is_problem != is_problem)
            continue;
        vy_string_format(out, "%s: %s\n", is_problem ? "problem" : "warning", f->message);
        if (*f->fix)
            vy_string_format(out, "  Fix: %s\n", f->fix);
    }
}

void doctor_report_text(const doctor *d, vy_string *out) {
    size_t problems = doctor_problem_count(d), warnings = d->findings.count - problems;
    text_library(out);
    text_plugins(d, out);
    text_backends(d, out);
    text_drivers(d, out);
    text_machine(d, out);
    vy_string_char(out, '\n');
    text_findings(d, 0, out);
    text_findings(d, 1, out);
    if (problems)
        vy_string_format(out, "verdict: broken (%zu problem%s, %zu warning%s)\n", problems, problems == 1 ? "" : "s",
                         warnings, warnings == 1 ? "" : "s");
    else
        vy_string_format(out, "verdict: fine (%zu warning%s)\n", warnings, warnings == 1 ? "" : "s");
}

/* ---- JSON ---- */

static void json_plugins(const doctor *d, vy_string *out) {
    tool_json_open(out, "plugins", '[');
    for (uint32_t i = 0; i < d->plugins.count; i++) {
        const doctor_plugin *p = &d->plugins.items[i];
        tool_json_open(out, "", '{');
        tool_json_text(out, "path", p->path);
        tool_json_text(out, "from", p->is_installed ? "folder" : "VYRE_PLUGINS");
        tool_json_text(out, "state", doctor_state_name(p->state));
        tool_json_code(out, "signal", p->signal);
        tool_json_code(out, "exit", p->exit_code);
        tool_json_optional(out, "status", p->status);
        tool_json_optional(out, "stage", p->stage);
        tool_json_text(out, "message", p->message);
        tool_json_text(out, "fix", p->fix);
        tool_json_text(out, "output", p->output);
        vy_string_char(out, '}');
    }
    vy_string_char(out, ']');
}

static void json_backends(const doctor *d, vy_string *out) {
    tool_json_open(out, "backends", '[');
    for (uint32_t i = 0; i < d->backends.count; i++) {
        const doctor_backend *b = &d->backends.items[i];
        tool_json_open(out, "", '{');
        tool_json_text(out, "id", b->id);
        tool_json_text(out, "owner", b->owner);
        tool_json_text(out, "verdict", b->verdict);
        tool_json_optional(out, "probe", b->probe);
        tool_json_text(out, "class", b->device_class);
        tool_json_number(out, "rank", b->rank);
        tool_json_number(out, "devices", b->devices);
        tool_json_text(out, "reason", b->reason);
        tool_json_text(out, "fix", b->fix);
        vy_string_char(out, '}');
    }
    vy_string_char(out, ']');
    tool_json_optional(out, "chosen", d->chosen);
}

static void json_drivers(const doctor *d, vy_string *out) {
    tool_json_open(out, "libraries", '[');
    for (uint32_t i = 0; i < d->libraries.count; i++) {
        const doctor_library *l = &d->libraries.items[i];
        tool_json_open(out, "", '{');
        tool_json_text(out, "name", l->name);
        tool_json_text(out, "for", l->what);
        tool_json_optional(out, "path", l->path);
        tool_json_flag(out, "broken", l->is_broken);
        tool_json_text(out, "message", l->message);
        tool_json_text(out, "fix", l->fix);
        vy_string_char(out, '}');
    }
    vy_string_char(out, ']');
    tool_json_open(out, "devices", '[');
    for (uint32_t i = 0; i < d->devices.count; i++) {
        tool_json_open(out, "", '{');
        tool_json_text(out, "path", d->devices.items[i].path);
        tool_json_flag(out, "usable", d->devices.items[i].is_usable);
        tool_json_text(out, "fix", d->devices.items[i].fix);
        vy_string_char(out, '}');
    }
    vy_string_char(out, ']');
}

static void json_machine(const doctor *d, vy_string *out) {
    tool_json_open(out, "cache", '{');
    tool_json_optional(out, "folder", d->cache_folder);
    tool_json_text(out, "state", d->cache_state);
    tool_json_number(out, "entries", d->cache_entries);
    tool_json_number(out, "bytes", d->cache_bytes);
    vy_string_char(out, '}');
    tool_json_open(out, "limits", '{');
    for (uint32_t i = 0; i < d->limits.count; i++) {
        if (d->limits.items[i].value == UINT64_MAX)
            tool_json_optional(out, d->limits.items[i].name, "");
        else
            tool_json_number(out, d->limits.items[i].name, d->limits.items[i].value);
    }
    vy_string_char(out, '}');
    tool_json_open(out, "environment", '{');
    for (uint32_t i = 0; i < d->variables.count; i++) {
        tool_json_text(out, "", d->variables.items[i].name);
        vy_string_char(out, ':');
        vy_string_json(out, d->variables.items[i].value);
    }
    vy_string_char(out, '}');
}

void doctor_report_json(const doctor *d, vy_string *out) {
    char machine[200];
    machine_text(machine);
    vy_string_char(out, '{');
    tool_json_text(out, "verdict", doctor_problem_count(d) ? "broken" : "fine");
    tool_json_text(out, "version", vyre_version());
    tool_json_number(out, "contract", VYRE_BACKEND_ABI);
    tool_json_text(out, "build", COMPILER ", " OPTIMISED);
    tool_json_text(out, "machine", machine);
    tool_json_text(out, "plugin_folder", d->folder);
    json_plugins(d, out);
    json_backends(d, out);
    json_drivers(d, out);
    json_machine(d, out);
    tool_json_open(out, "findings", '[');
    for (uint32_t i = 0; i < d->findings.count; i++) {
        tool_json_open(out, "", '{');
        tool_json_text(out, "level", d->findings.items[i].is_problem ? "problem" : "warning");
        tool_json_text(out, "message", d->findings.items[i].message);
        tool_json_text(out, "fix", d->findings.items[i].fix);
        vy_string_char(out, '}');
    }
    vy_string_add(out, "]}\n");
}
