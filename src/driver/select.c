/* Backend selection: acquiring by name, probing with a time limit, choosing by policy, and the report of the reasons
 * (registry.h).
 *
 * Reasons are recorded while the choice is made, so the report states what happened.
 *
 * A probe and its caller share a record; the later of the two frees it. Abandoned records are in a list until their
 * probe returns, so a probe that hangs costs one thread and one timeout, however often a backend is selected. */
#include "driver/registry.h"

#include "base/diagnostics.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/string.h"
#include "base/thread.h"
#include "dialect/load.h"
#include "driver/atfork.h"
#include "driver/dispatch.h"
#include "driver/plugin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct vyre_selection {
    vy_arena texts;
    VY_VECTOR(vyre_candidate) candidates;
};

/* ---- probes with a time limit ---- */

typedef struct probing {
    const vyre_backend_registration *registration;
    vyre_probe probe;
    int is_done, is_abandoned;
    struct probing *next; /* in `abandoned_probes` */
} probing;

static pthread_mutex_t probe_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t probe_done;
static probing *abandoned_probes;

static void call_probe(const vyre_backend_registration *registration, vyre_probe *out) {
    void (*probe)(const vyre_host *, vyre_probe *) = VY_STRUCT_GET(registration, vyre_backend_registration, probe);
    *out = (vyre_probe){.struct_size = sizeof *out, .answer = VYRE_PROBE_YES};
    if (probe)
        probe(&vy_host_services, out);
    out->reason[sizeof out->reason - 1] = out->fix[sizeof out->fix - 1] = '\0';
}

static void *run_probe(void *user) {
    probing *p = user;
    (void)vy_cancellation_disable();
    call_probe(p->registration, &p->probe);
    pthread_mutex_lock(&probe_lock);
    p->is_done = 1;
    int is_abandoned = p->is_abandoned;
    for (probing **link = &abandoned_probes; is_abandoned && *link; link = &(*link)->next)
        if (*link == p) {
            *link = p->next;
            break;
        }
    pthread_cond_broadcast(&probe_done);
    pthread_mutex_unlock(&probe_lock);
    if (is_abandoned)
        vy_release(p, sizeof *p);
    return NULL;
}

static void start_condition(void) {
    vy_cond_init_monotonic(&probe_done);
}

static int is_abandoned_probe(const vyre_backend_registration *registration) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int found = 0;
    pthread_once(&once, start_condition);
    (void)vy_atfork_install();
    pthread_mutex_lock(&probe_lock);
    for (const probing *p = abandoned_probes; p; p = p->next)
        found |= p->registration == registration;
    pthread_mutex_unlock(&probe_lock);
    return found;
}

/* Waits for the result or the deadline. After the deadline the probe's thread owns the record. */
static vy_probe_outcome wait_for_probe(probing *p, uint64_t deadline, vyre_probe *out) {
    const struct timespec until = vy_clock_timespec(deadline);
    pthread_mutex_lock(&probe_lock);
    while (!p->is_done && pthread_cond_timedwait(&probe_done, &probe_lock, &until) == 0) {
    }
    if (p->is_done) {
        *out = p->probe;
        pthread_mutex_unlock(&probe_lock);
        vy_release(p, sizeof *p);
        return VY_PROBE_DONE;
    }
    p->is_abandoned = 1;
    p->next = abandoned_probes;
    abandoned_probes = p;
    pthread_mutex_unlock(&probe_lock);
    return VY_PROBE_TIMED_OUT;
}

void vy_probe_before_fork(void) {
    pthread_mutex_lock(&probe_lock);
}

/* In a child the threads of abandoned probes do not exist, and their records are leaked. The condition variable counts
 * waiting threads of the parent, and a broadcast would wait for them: the child initialises a new one. */
void vy_probe_after_fork(int is_child) {
    if (is_child) {
        abandoned_probes = NULL;
        vy_cond_init_monotonic(&probe_done);
    }
    pthread_mutex_unlock(&probe_lock);
}

vy_probe_outcome vy_probe_run(const vyre_backend_registration *registration, uint64_t limit_ns, vyre_probe *out) {
    pthread_t thread;
    if (is_abandoned_probe(registration))
        return VY_PROBE_STILL_RUNNING;
    if (!VY_STRUCT_GET(registration, vyre_backend_registration, probe)) {
        call_probe(registration, out);
        return VY_PROBE_DONE;
    }
    probing *p = vy_allocate_zero(sizeof *p);
    if (!p)
        return VY_PROBE_NO_MEMORY;
    p->registration = registration;
    uint64_t deadline = vy_clock_now() + limit_ns;
    if (!vy_thread_start(&thread, run_probe, p)) {
        vy_release(p, sizeof *p);
        call_probe(registration, out);
        return VY_PROBE_DONE;
    }
    pthread_detach(thread);
    return wait_for_probe(p, deadline, out);
}

/* Installed plug-ins and those of the environment are loaded before the first selection. */
static void load_plugins(void) {
    vyre_plugins_load_all(NULL, NULL);
}

static void load_plugins_once(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_plugins);
}

/* ---- acquiring by name ---- */

typedef struct device_name {
    char id[VY_BACKEND_ID];
    uint32_t ordinal;
} device_name;

static vyre_status read_name(const char *text, device_name *name, vyre_error *error) {
    size_t length = strcspn(text, "#");
    uint64_t ordinal = 0;
    const char *digit = text + length + (text[length] == '#');
    if (text[length] == '#' && !*digit)
        ordinal = UINT64_MAX;
    for (; *digit && ordinal <= UINT32_MAX; digit++)
        ordinal = *digit >= '0' && *digit <= '9' ? ordinal * 10 + (uint64_t)(*digit - '0') : UINT64_MAX;
    if (ordinal > UINT32_MAX)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "use a device number, as in `cuda#1`",
                       "the device number in `%.80s` is not an integer from 0 to 4294967295", text);
    snprintf(name->id, sizeof name->id, "%.*s", length < sizeof name->id ? (int)length : 0, text);
    name->ordinal = (uint32_t)ordinal;
    return VYRE_OK;
}

static vyre_status not_registered(const char *id, vyre_error *error) {
    char list[256] = "";
    size_t count, used = 0;
    const vyre_backend_registration *const *all = vyre_backends_by_precedence(&count);
    vy_suggestion suggestion;
    vy_suggestion_start(&suggestion, id, strcspn(id, "#"));
    for (size_t i = 0; i < count; i++) {
        vy_suggestion_offer(&suggestion, all[i]->id);
        int added = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", all[i]->id);
        used = added > 0 && used + (size_t)added < sizeof list ? used + (size_t)added : sizeof list - 1;
    }
    const char *near = vy_suggestion_get(&suggestion);
    int is_gpu = strcmp(id, "gpu") == 0 && vyre_backend_find("cuda");
    return vy_fail(error, VYRE_NOT_FOUND,
                   near     ? VY_FIX("did you mean `%s`?", near)
                   : is_gpu ? "leave the name out to use any GPU, or use `cuda` or `opencl`"
                            : "use one of these, or install the plug-in that registers it; `vyre doctor` reports "
                              "plug-ins that do not load",
                   "backend `%.80s` is not registered (registered: %s)", id, count ? list : "none");
}

vyre_status vyre_acquire(const char *id, vyre_backend **out, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, id);
    const vy_registry *registry;
    device_name name;
    vyre_status status = read_name(id, &name, error);
    if (status == VYRE_OK)
        status = vy_registry_get(&registry, error);
    if (status != VYRE_OK)
        return status;
    const vyre_backend_registration *registration = vyre_backend_find(name.id);
    if (!registration) {
        load_plugins_once();
        registration = vyre_backend_find(name.id);
    }
    return registration ? vy_backend_construct(registration, name.ordinal, out, error) : not_registered(id, error);
}

/* ---- selecting by policy ---- */

typedef struct choice {
    vyre_policy policy;
    const char *asked; /* requested name; NULL: any */
    device_name only;
    vyre_selection *selection;
    vyre_backend *chosen;
    vyre_program *resolved;     /* of policy.program */
    vyre_device_class excluded; /* of the first usable candidate that only the policy excludes; UNKNOWN: none */
    int is_out_of_memory;
} choice;

static const char *keep(choice *c, const char *text) {
    const char *kept = *text ? vy_arena_copy(&c->selection->texts, text, strlen(text)) : "";
    if (!kept)
        c->is_out_of_memory = 1;
    return kept ? kept : "";
}

static void refuse(choice *c, vyre_candidate *candidate, vyre_verdict verdict, const char *reason, const char *fix) {
    candidate->verdict = verdict;
    candidate->reason = keep(c, reason);
    candidate->fix = keep(c, fix);
}

static int is_reference(const char *id) {
    return strcmp(id, "reference") == 0 || strcmp(id, "cpu-ref") == 0;
}

/* Returns 1 if the policy allows its device class. A named backend may be of any class. */
static int is_allowed(choice *c, vyre_candidate *candidate) {
    if (c->asked)
        return 1;
    if (candidate->device_class == VYRE_DEVICE_REFERENCE)
        refuse(c, candidate, VYRE_VERDICT_REFUSED_BY_POLICY, "the reference interpreter is selected only by name",
               VY_FIX("name it: VYRE_BACKEND=%s", candidate->id));
    else if (candidate->device_class == VYRE_DEVICE_CPU && !c->policy.allow_cpu)
        refuse(c, candidate, VYRE_VERDICT_REFUSED_BY_POLICY, "it runs on the CPU, and the policy allows GPUs only",
               VY_FIX("allow the CPU in the policy, or name it: VYRE_BACKEND=%s", candidate->id));
    else if (candidate->device_class == VYRE_DEVICE_SOFTWARE && !c->policy.allow_software)
        refuse(c, candidate, VYRE_VERDICT_REFUSED_BY_POLICY,
               "its device is software on the CPU, and the policy allows GPUs only",
               VY_FIX("allow software devices in the policy, or name it: VYRE_BACKEND=%s", candidate->id));
    else
        return 1;
    return 0;
}

/* Returns 0, with the verdict, if the list of ops in its registration lacks one that the program uses. */
static int is_listed(choice *c, const vyre_backend_registration *registration, vyre_candidate *candidate) {
    const char *const *(*list)(size_t *) = VY_STRUCT_GET(registration, vyre_backend_registration, supported_ops);
    size_t count = 0;
    const char *const *ops = c->policy.program && list ? list(&count) : NULL;
    if (!ops)
        return 1;
    vy_op_set offered = vy_op_set_of_names(ops, count), needed = vy_program_ops(c->policy.program);
    vy_op_set_add(&offered, VY_OP_SET_GRID_BARRIER); /* without it, the program runs as several launches */
    const char *missing = vy_op_set_missing(&needed, &offered);
    if (missing)
        refuse(c, candidate, VYRE_VERDICT_UNSUPPORTED,
               VY_FIX("it does not run `%s`, which program `%s` uses", missing, vyre_program_name(c->policy.program)),
               VY_FIX("write the program without `%s`, or choose another backend", missing));
    return !missing;
}

/* Returns 1 if the probe returned a valid answer. */
static int is_probed(choice *c, const vyre_backend_registration *registration, vyre_candidate *candidate,
                     vyre_probe *probe) {
    switch (vy_probe_run(registration, VY_PROBE_LIMIT_NS, probe)) {
    case VY_PROBE_TIMED_OUT:
        refuse(c, candidate, VYRE_VERDICT_PROBE_ABANDONED, "its probe did not return within 2 s",
               "check its driver with `vyre doctor`, or remove the plug-in");
        return 0;
    case VY_PROBE_STILL_RUNNING:
        refuse(c, candidate, VYRE_VERDICT_PROBE_ABANDONED, "its probe was called before and has not returned",
               "check its driver with `vyre doctor`, or remove the plug-in");
        return 0;
    case VY_PROBE_NO_MEMORY:
        c->is_out_of_memory = 1;
        return 0;
    case VY_PROBE_DONE:
        break;
    }
    if (is_reference(registration->id))
        probe->device_class = VYRE_DEVICE_REFERENCE;
    if ((unsigned)probe->answer <= VYRE_PROBE_NEVER && (unsigned)probe->device_class <= VYRE_DEVICE_REFERENCE) {
        candidate->device_class = probe->device_class;
        candidate->device_count = probe->device_count;
        return 1;
    }
    refuse(c, candidate, VYRE_VERDICT_FAILED,
           VY_FIX("its probe returned an invalid answer (%d) or device class (%d)", probe->answer, probe->device_class),
           "report this to the author of the backend");
    return 0;
}

static const char *or_else(const char *text, const char *otherwise) {
    return *text ? text : otherwise;
}

static void construct(choice *c, const vyre_backend_registration *registration, vyre_candidate *candidate,
                      const vyre_probe *probe) {
    vyre_error error;
    vyre_status status = vy_backend_construct(registration, c->only.ordinal, &c->chosen, &error);
    if (status == VYRE_NO_MEMORY)
        c->is_out_of_memory = 1;
    if (status != VYRE_OK)
        refuse(c, candidate, VYRE_VERDICT_FAILED, error.message, error.fix);
    else if (c->policy.program && vy_dispatch_check_program(c->chosen, c->policy.program, &error) != VYRE_OK) {
        refuse(c, candidate, VYRE_VERDICT_UNSUPPORTED, error.message, error.fix);
        vyre_backend_release(c->chosen);
        c->chosen = NULL;
    } else if (probe->answer == VYRE_PROBE_FOR_NOW)
        refuse(c, candidate, VYRE_VERDICT_CHOSEN, probe->reason, probe->fix);
    else
        refuse(c, candidate, VYRE_VERDICT_CHOSEN, "", "");
}

/* Determines the verdict on one candidate. Nothing is constructed after one was chosen, and a backend is not probed if
 * its answer cannot change the choice. */
static void consider(choice *c, const vyre_backend_registration *registration, vyre_candidate *candidate) {
    const char *owner = vyre_backend_owner(registration->id);
    const int is_other = c->asked && strcmp(c->only.id, registration->id) != 0;
    vyre_probe probe;
    *candidate = (vyre_candidate){.id = registration->id,
                                  .owner = owner ? keep(c, owner) : "",
                                  .rank = vyre_backend_precedence(registration->id),
                                  .reason = "",
                                  .fix = ""};
    if (!vyre_backend_dispatches(registration->id)) {
        refuse(c, candidate, VYRE_VERDICT_NO_DISPATCH, "it emits code and does not run it", "use it with `emit`");
        return;
    }
    if ((is_other || c->chosen) && !c->policy.probe_all) {
        refuse(c, candidate, VYRE_VERDICT_NOT_PROBED,
               is_other ? VY_FIX("only `%s` was requested", c->only.id)
                        : VY_FIX("`%s` was chosen before", c->chosen->id),
               is_other ? "request this backend, or omit VYRE_BACKEND and `only`" : "");
        return;
    }
    if (!is_listed(c, registration, candidate) || !is_probed(c, registration, candidate, &probe))
        return;
    if (is_other)
        refuse(c, candidate, VYRE_VERDICT_REFUSED_BY_POLICY, VY_FIX("only `%s` was requested", c->only.id),
               "request this backend, or omit VYRE_BACKEND and `only`");
    else if (!is_allowed(c, candidate)) {
        if (!c->excluded && (probe.answer == VYRE_PROBE_YES || probe.answer == VYRE_PROBE_FOR_NOW))
            c->excluded = candidate->device_class;
    } else if (probe.answer == VYRE_PROBE_NEVER)
        refuse(c, candidate, VYRE_VERDICT_PROBE_NEVER, or_else(probe.reason, "it has no device in this process"),
               or_else(probe.fix, "install its driver"));
    else if (probe.answer == VYRE_PROBE_NOT_NOW)
        refuse(c, candidate, VYRE_VERDICT_PROBE_NOT_NOW, or_else(probe.reason, "its device is busy"),
               or_else(probe.fix, "try again later"));
    else if (c->chosen)
        refuse(c, candidate, VYRE_VERDICT_NOT_NEEDED, VY_FIX("`%s` was chosen before", c->chosen->id), "");
    else
        construct(c, registration, candidate, &probe);
}

static void log_failure(const vyre_candidate *candidate) {
    if (candidate->verdict == VYRE_VERDICT_FAILED || candidate->verdict == VYRE_VERDICT_PROBE_ABANDONED)
        vy_log(1, candidate->id, VY_FIX("not selected: %s", candidate->reason));
}

/* The error for a backend that was named: its own reason and fix. */
static vyre_status named_unusable(const choice *c, vyre_error *error) {
    for (uint32_t i = 0; i < c->selection->candidates.count; i++) {
        const vyre_candidate *candidate = &c->selection->candidates.items[i];
        if (strcmp(candidate->id, c->only.id) == 0)
            return vy_fail(error, VYRE_NOT_FOUND, or_else(candidate->fix, "name another backend"),
                           "backend `%.80s` is not usable: %s", c->asked, candidate->reason);
    }
    return not_registered(c->asked, error);
}

/* Writes the fix of the last candidate that the policy allows: the native CPU backend, which needs no device, comes
 * after the GPUs. A usable backend that only the policy excludes precedes it. */
static const char *fix_of_allowed(const choice *c, char fix[256]) {
    const vyre_candidate *last = NULL;
    const char *allow = c->excluded == VYRE_DEVICE_CPU ? "allow the CPU in the policy, as VYRE_POLICY_DEFAULT does"
                        : c->excluded == VYRE_DEVICE_SOFTWARE ? "allow software devices in the policy"
                                                              : NULL;
    for (uint32_t i = 0; i < c->selection->candidates.count; i++) {
        const vyre_candidate *candidate = &c->selection->candidates.items[i];
        if (*candidate->fix && candidate->verdict != VYRE_VERDICT_REFUSED_BY_POLICY &&
            candidate->verdict != VYRE_VERDICT_NO_DISPATCH)
            last = candidate;
    }
    if (!last)
        return allow ? allow : "name the interpreter, VYRE_BACKEND=reference, or install a plug-in with a backend";
    snprintf(fix, 256, "%s%sfor backend %s: %s", allow ? allow : "", allow ? "; or " : "", last->id, last->fix);
    return fix;
}

/* Lists the refused backends with their reasons, as many as fit. The report has all of them. */
static vyre_status nothing_usable(const choice *c, vyre_error *error) {
    enum { ROOM_FOR_REST = 32 };
    char list[384] = "", fix[256];
    size_t used = 0;
    uint32_t count = c->selection->candidates.count, i = 0;
    if (c->asked)
        return named_unusable(c, error);
    for (; i < count; i++) {
        const vyre_candidate *candidate = &c->selection->candidates.items[i];
        int added =
            snprintf(list + used, sizeof list - used, "%s%s: %s", i ? "; " : "", candidate->id, candidate->reason);
        if (added < 0 || used + (size_t)added + ROOM_FOR_REST >= sizeof list)
            break;
        used += (size_t)added;
    }
    if (i < count)
        snprintf(list + used, sizeof list - used, "%s%" PRIu32 "%s", i ? "; and " : "", count - i,
                 i ? " more" : " backends");
    return vy_fail(error, VYRE_NOT_FOUND, fix_of_allowed(c, fix), "no backend is usable (%s)",
                   *list ? list : "none is registered");
}

static vyre_status choose(choice *c, vyre_error *error) {
    size_t count;
    const vyre_backend_registration *const *sorted = vyre_backends_by_precedence(&count);
    if (c->asked && !vyre_backend_find(c->only.id))
        return not_registered(c->asked, error);
    for (size_t i = 0; i < count && !c->is_out_of_memory; i++) {
        vyre_candidate *candidate = VY_PUSH(&c->selection->candidates);
        if (!candidate)
            c->is_out_of_memory = 1;
        else
            consider(c, sorted[i], candidate);
        if (candidate)
            log_failure(candidate);
    }
    if (c->is_out_of_memory)
        return vy_fail_memory(error, "choosing a backend");
    return c->chosen ? VYRE_OK : nothing_usable(c, error);
}

static vyre_status start(const vyre_policy *policy, choice *c, vyre_error *error) {
    const vy_registry *registry;
    if (policy)
        c->policy = *policy;
    const char *only = c->policy.only ? c->policy.only : secure_getenv("VYRE_BACKEND");
    c->asked = only && *only ? only : NULL;
    vyre_status status = c->asked ? read_name(c->asked, &c->only, error) : VYRE_OK;
    load_plugins_once();
    if (status == VYRE_OK)
        status = vy_registry_get(&registry, error);
    if (status == VYRE_OK && policy && policy->program) {
        status = vy_program_resolve_newest(policy->program, &c->resolved, error);
        c->policy.program = c->resolved;
    }
    return status;
}

vyre_status vyre_select(const vyre_policy *policy, vyre_backend **out, vyre_selection **report, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (report)
        *report = NULL;
    VY_REQUIRE(error, out);
    *out = NULL;
    choice c = {.selection = vy_allocate_zero(sizeof(vyre_selection))};
    if (!c.selection)
        return vy_fail_memory(error, "choosing a backend");
    vyre_status status = start(policy, &c, error);
    if (status == VYRE_OK)
        status = choose(&c, error);
    if (status == VYRE_OK)
        *out = c.chosen;
    else
        vyre_backend_release(c.chosen);
    vyre_program_release(c.resolved);
    if (report && status != VYRE_NO_MEMORY)
        *report = c.selection;
    else
        vyre_selection_free(c.selection);
    return status;
}

/* ---- reports ---- */

const char *vyre_verdict_name(vyre_verdict verdict) {
    static const char *const names[] = {
#define X(ID, name, doc) name,
        VYRE_VERDICT_LIST(X)
#undef X
    };
    return (unsigned)verdict < VYRE_VERDICT_COUNT ? names[verdict] : "unknown";
}

const char *vyre_device_class_name(vyre_device_class device_class) {
    static const char *const names[] = {
        [VYRE_DEVICE_UNKNOWN] = "unknown",     [VYRE_DEVICE_GPU] = "gpu",
        [VYRE_DEVICE_SOFTWARE] = "software",   [VYRE_DEVICE_CPU] = "cpu",
        [VYRE_DEVICE_REFERENCE] = "reference",
    };
    return (unsigned)device_class < sizeof names / sizeof *names ? names[device_class] : "unknown";
}

void vyre_selection_free(vyre_selection *selection) {
    if (!selection)
        return;
    VY_VECTOR_FREE(&selection->candidates);
    vy_arena_free(&selection->texts);
    vy_release(selection, sizeof *selection);
}

size_t vyre_selection_count(const vyre_selection *selection) {
    return selection ? selection->candidates.count : 0;
}

int vyre_selection_get(const vyre_selection *selection, size_t index, vyre_candidate *out) {
    if (!out || index >= vyre_selection_count(selection))
        return 0;
    *out = selection->candidates.items[index];
    return 1;
}

static void add_text(vy_string *out, const vyre_candidate *c) {
    vy_string_format(out, "%-12s %-12s %s", c->id, vyre_verdict_name(c->verdict),
                     vyre_device_class_name(c->device_class));
    if (*c->reason)
        vy_string_format(out, "  %s", c->reason);
    vy_string_char(out, '\n');
    if (*c->fix)
        vy_string_format(out, "%-12s Fix: %s\n", "", c->fix);
}

static void add_json(vy_string *out, const vyre_candidate *c) {
    const char *const fields[][2] = {{"id", c->id},
                                     {"owner", c->owner},
                                     {"verdict", vyre_verdict_name(c->verdict)},
                                     {"class", vyre_device_class_name(c->device_class)},
                                     {"reason", c->reason},
                                     {"fix", c->fix}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        vy_string_format(out, "%c\"%s\":", i ? ',' : '{', fields[i][0]);
        vy_string_json(out, fields[i][1]);
    }
    vy_string_format(out, ",\"rank\":%" PRIu32 ",\"devices\":%" PRIu32 "}", c->rank, c->device_count);
}

vyre_status vyre_selection_render(const vyre_selection *selection, int json, vyre_bytes *out, vyre_error *error) {
    VY_REQUIRE(error, selection);
    VY_REQUIRE(error, out);
    vy_string text = {0};
    if (json)
        vy_string_char(&text, '[');
    for (uint32_t i = 0; i < selection->candidates.count; i++) {
        if (!json) {
            add_text(&text, &selection->candidates.items[i]);
            continue;
        }
        vy_string_add(&text, i ? ",\n " : "");
        add_json(&text, &selection->candidates.items[i]);
    }
    if (json)
        vy_string_char(&text, ']');
    return vy_string_to_bytes(&text, out, error);
}
