/* The table of host services: functions of the library that plug-ins call. */
#include "driver/host_services.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "oracle/run.h"
#include "vyre/wire.h"

static vyre_status fail(vyre_error *error, vyre_status code, const char *fix, const char *message) {
    return vy_fail(error, code, fix, "%s", message && *message ? message : vyre_status_doc(code));
}

/* The counts that a dispatch specifies: those of `write` buffers whose count the program leaves open. All other counts
 * follow from the inputs and the program, as in the original dispatch. */
static size_t open_counts(const vyre_launch *launch, uint64_t counts[VY_LIMIT_BUFFERS]) {
    vyre_buffer_info buffer;
    size_t count = 0;
    for (size_t i = 0; i < launch->buffer_count && vyre_program_buffer(launch->program, i, &buffer); i++)
        if (buffer.access == VYRE_ACCESS_WRITE && !buffer.has_count)
            counts[count++] = launch->elements[i];
    return count;
}

vyre_status vy_host_run_oracle(const vyre_oracle *oracle, const vyre_launch *launch, const vyre_span *inputs,
                               size_t input_count, const void *const *before, vyre_bytes *outputs, vyre_error *error) {
    uint64_t counts[VY_LIMIT_BUFFERS];
    int is_indirect = launch->struct_size >= sizeof *launch && launch->grid_buffer;
    vyre_arguments arguments = {.params = launch->params,
                                .param_count = launch->param_count,
                                .inputs = inputs,
                                .input_count = input_count,
                                .counts = counts,
                                .count_count = open_counts(launch, counts),
                                .geometry = {is_indirect ? VYRE_GEOMETRY_PROGRAM : VYRE_GEOMETRY_GROUPS,
                                             {launch->groups[0], launch->groups[1], launch->groups[2]}}};
    vyre_oracle_report report;
    vy_resolved_dispatch resolved;
    vyre_status status = vy_resolve_dispatch(launch->program, &arguments, &resolved, error);
    if (status != VYRE_OK)
        return status;
    for (size_t i = 0; before && i < launch->buffer_count; i++)
        if (resolved.buffers[i].input == VY_NONE && resolved.buffers[i].bytes)
            resolved.buffers[i].data = before[i];
    status = vy_oracle_launch(oracle, &resolved, NULL, (vy_run_end){launch->deadline_ns, launch->cancel}, outputs,
                              &report, NULL, error);
    if (status == VYRE_TRAPPED && launch->trap)
        *launch->trap = report.trap;
    return status;
}

static vyre_status reference_dispatch(const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                      vyre_outputs *outputs, vyre_error *error) {
    VY_REQUIRE(error, launch);
    VY_REQUIRE(error, launch->program);
    VY_REQUIRE_ARRAY(error, launch->params, launch->param_count);
    VY_REQUIRE_ARRAY(error, launch->elements, launch->buffer_count);
    VY_REQUIRE_ARRAY(error, inputs, input_count);
    VY_REQUIRE(error, outputs);
    VY_REQUIRE_ARRAY(error, outputs->items, vyre_program_output_count(launch->program));
    vyre_oracle *oracle;
    vyre_status status = vyre_oracle_new(launch->program, &oracle, error);
    if (status != VYRE_OK)
        return status;
    status = vy_host_run_oracle(oracle, launch, inputs, input_count, NULL, outputs->items, error);
    vyre_oracle_free(oracle);
    return status;
}

const vyre_host vy_host_services = {
    .struct_size = sizeof(vyre_host),
    .abi = VYRE_BACKEND_ABI,
    .allocate = vy_allocate,
    .resize = vy_resize,
    .release = vy_release,
    .fail = fail,
    .bytes_resize = vyre_bytes_resize,
    .program_retain = vyre_program_retain,
    .program_release = vyre_program_release,
    .program_name = vyre_program_name,
    .program_fingerprint = vyre_program_fingerprint,
    .program_buffer_count = vyre_program_buffer_count,
    .program_buffer = vyre_program_buffer,
    .program_workgroup = vyre_program_workgroup,
    .program_encode = vyre_wire_encode,
    .reference_dispatch = reference_dispatch,
    .log = vy_log,
};
