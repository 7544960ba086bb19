/* Choosing where a program runs (place.h). */
#include "tool/place.h"

#include "base/setting.h"
#include "vyre/registry.h"

#include <stdio.h>

static const char oracle[] = "reference";

/* What was asked for: `name`, or the environment's; NULL: nothing was. */
static const char *asked_for(const char *name) {
    return !name ? vy_setting("VYRE_BACKEND") : *name ? name : NULL;
}

/* Whether there is such a backend, and if there is, it is its driver or its device that is not there. */
static int is_registered(const char *asked) {
    char id[64];
    size_t length = strcspn(asked, "#");

    snprintf(id, sizeof id, "%.*s", length < sizeof id ? (int)length : 0, asked);
    return vyre_backend_find(id) != NULL;
}

/* What is there but did not start is somebody's mistake, a wrong variable say, and not what he expects. */
static void tell_failed(const vyre_selection *report) {
    vyre_candidate candidate;

    for (size_t i = 0; vyre_selection_get(report, i, &candidate); i++)
        if (candidate.verdict == VYRE_VERDICT_FAILED)
            fprintf(stderr, "note: backend %s does not start: %s\nFix: %s\n", candidate.id, candidate.reason,
                    candidate.fix);
}

/* NOT_FOUND without anybody having named a backend: there is always the oracle. */
static int choose(const char *name, vyre_backend **out) {
    vyre_policy policy = VYRE_POLICY_DEFAULT;
    const char *asked = asked_for(name);
    vyre_selection *report = NULL;
    vyre_error error;
    vyre_status status = name ? vyre_acquire(name, out, &error) : vyre_select(&policy, out, &report, &error);

    if (report && !asked)
        tell_failed(report);
    vyre_selection_free(report);
    if (status == VYRE_OK || (status == VYRE_NOT_FOUND && !asked))
        return TOOL_OK;
    (void)tool_error(&error);
    return status == VYRE_NOT_FOUND && !is_registered(asked) ? TOOL_USAGE : tool_exit_of_run(status);
}

int tool_place_find(const char *name, int only_oracle, vyre_program *program, uint64_t deadline_ns, tool_place *out) {
    const vyre_compile_options options = {
        .struct_size = sizeof options, .cancellable = deadline_ns != 0, .deadline_ns = deadline_ns};
    vyre_error error;
    int code = TOOL_OK;

    memset(out, 0, sizeof *out);
    out->id = oracle;
    if (!only_oracle && !(name && strcmp(name, oracle) == 0))
        code = choose(name, &out->backend);
    if (code != TOOL_OK || !out->backend)
        return code;
    if (strcmp(vyre_backend_id(out->backend), oracle) == 0) { /* named by the environment */
        tool_place_free(out);
        out->id = oracle;
        return TOOL_OK;
    }
    out->id = vyre_backend_id(out->backend);
    if (vyre_compile(out->backend, program, &options, &out->pipeline, &error) == VYRE_OK)
        return TOOL_OK;
    if (error.code == VYRE_UNSUPPORTED &&
        !asked_for(name)) { /* a part of it is not installed, say: the oracle has all */
        fprintf(stderr, "note: %s; the reference runs it instead\nFix: %s\n", error.message, error.fix);
        tool_place_free(out);
        out->id = oracle;
        return TOOL_OK;
    }
    (void)tool_error(&error);
    tool_place_free(out);
    return tool_exit_of_run(error.code);
}

void tool_place_free(tool_place *place) {
    vyre_pipeline_release(place->pipeline);
    vyre_backend_release(place->backend);
    memset(place, 0, sizeof *place);
}
