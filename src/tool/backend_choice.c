/* Selecting where a program runs (backend_choice.h). */
#include "tool/backend_choice.h"

#include "base/env.h"
#include "tool/progress.h"
#include "tool/terminal.h"
#include "vyre/registry.h"

#include <stdio.h>
#include <stdlib.h>

static const char reference[] = "reference";

/* Whether there is such a backend; if there is, its driver or its device is missing. */
static int is_registered(const char *name) {
    char id[64];
    size_t length = strcspn(name, "#");

    snprintf(id, sizeof id, "%.*s", length < sizeof id ? (int)length : 0, name);
    return vyre_backend_find(id) != NULL;
}

/* A plug-in that is not loaded may be the reason why another backend runs the program. */
static void note_plugin(void *user, const char *path, vyre_status status, const vyre_error *error) {
    (void)user, (void)status;
    if (error)
        tool_write(stderr, "note: plug-in %s is not loaded: %s\nFix: %s\n", path, error->message, error->fix);
}

/* Prints each backend that failed to start with its fix: probably the fault of a setting. */
static void note_failed(const vyre_selection *report) {
    vyre_candidate candidate;

    for (size_t i = 0; vyre_selection_get(report, i, &candidate); i++)
        if (candidate.verdict == VYRE_VERDICT_FAILED)
            tool_write(stderr, "note: backend %s does not start: %s\nFix: %s\n", candidate.id, candidate.reason,
                       candidate.fix);
}

/* The fix of the last backend that the policy allows, which is `cpu` unless a plug-in has a higher rank: it needs no device. */
static int fail_none(const vyre_selection *report, vyre_error *error) {
    vyre_candidate candidate;
    const char *fix = "", *id = "";

    for (size_t i = 0; vyre_selection_get(report, i, &candidate); i++)
        if (candidate.verdict != VYRE_VERDICT_REFUSED_BY_POLICY && candidate.fix[0]) {
            fix = candidate.fix;
            id = candidate.id;
        }
    if (*fix)
        snprintf(error->fix, sizeof error->fix, "for backend %s: %.160s. Or add `--backend reference`, the interpreter",
                 id, fix);
    (void)tool_error(error);
    return TOOL_SYSTEM;
}

/* -v: every backend in the order in which they were considered, its verdict and the reason. */
static void show_report(const vyre_selection *report) {
    vyre_bytes text = VYRE_BYTES_INIT;

    if (report && vyre_selection_render(report, 0, &text, NULL) == VYRE_OK)
        tool_write_lines(stderr, text.data, text.size);
    vyre_bytes_free(&text);
}

static int select_default(const tool_backend_request *request, vyre_program *program, vyre_backend **out) {
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
        code = fail_none(report, &error);
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

/* With a line about the time that it takes. */
static vyre_status compile(const tool_backend_request *request, vyre_program *program,
                           const vyre_compile_options *options, tool_backend_choice *backend_choice,
                           vyre_error *error) {
    tool_progress progress = {0};

    if (!request->quiet)
        tool_progress_start(&progress, "compiling", 0);
    vyre_status status = vyre_compile(backend_choice->backend, program, options, &backend_choice->pipeline, error);
    tool_progress_stop(&progress);
    return status;
}

static int find(const tool_command *command, const char *named, const tool_backend_request *request,
                vyre_program *program, tool_backend_choice *out) {
    const vyre_compile_options options = {
        .struct_size = sizeof options, .cancellable = request->deadline_ns != 0, .deadline_ns = request->deadline_ns};
    char threads[16];
    vyre_error error;

    if (request->limits_memory)
        return tool_usage(command, "leave --memory out, or write `--backend reference`, the interpreter",
                          "--memory is a limit of the backend `reference`, which is not named");
    if (request->threads) { /* no other thread runs yet that could read the environment */
        snprintf(threads, sizeof threads, "%u", request->threads);
        setenv("VYRE_CPU_THREADS", threads, 1);
    }
    if (!request->quiet)
        vyre_plugins_load_all(note_plugin, NULL);
    int code = named ? acquire_named(named, &out->backend) : select_default(request, program, &out->backend);
    if (code != TOOL_OK)
        return code;
    out->id = vyre_backend_id(out->backend);
    if (request->threads && strcmp(out->id, "cpu") != 0)
        return tool_usage(command, "leave --threads out, or choose one of these with `--backend`",
                          "--threads is for the backends `cpu` and `reference`, not for `%s`", out->id);
    if (compile(request, program, &options, out, &error) == VYRE_OK)
        return TOOL_OK;
    (void)tool_error(&error);
    return tool_exit_of_run(error.code);
}

int tool_backend_choose(const tool_command *command, const tool_backend_request *request, vyre_program *program,
                        tool_backend_choice *out) {
    const char *needs = request->needs_reference;
    const char *named = request->name && *request->name ? request->name : vy_env_get("VYRE_BACKEND");

    *out = (tool_backend_choice){.id = reference};
    if (named && request->verbose)
        tool_write(stderr, "note: backend `%.60s` is named by %s; no other is considered\n", named,
                   named == request->name ? "--backend" : "VYRE_BACKEND");
    if (named && strcmp(named, reference) == 0)
        return TOOL_OK;
    if (needs && named)
        return tool_usage(command, VY_FIX("leave `%s` out, or write `--backend reference`, the interpreter", needs),
                          "`%s` needs the backend `reference`, and `%.60s` is named%s", needs, named,
                          named == request->name ? "" : " by VYRE_BACKEND");
    if (needs) {
        out->cause = needs;
        if (!request->quiet)
            tool_write(stderr, "note: the backend `reference`, an interpreter, runs %s: `%s` needs it\n",
                       vyre_program_name(program), needs);
        return TOOL_OK;
    }
    int code = find(command, named, request, program, out);
    if (code != TOOL_OK)
        tool_backend_choice_free(out);
    return code;
}

void tool_backend_choice_free(tool_backend_choice *backend_choice) {
    vyre_pipeline_release(backend_choice->pipeline);
    vyre_backend_release(backend_choice->backend);
    memset(backend_choice, 0, sizeof *backend_choice);
}
