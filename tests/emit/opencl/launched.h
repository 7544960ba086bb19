/* Emitted OpenCL C on a real device, without the backend: cases are collected, the programs of a batch are built as one
 * text, and each case is compared with the oracle, status, trap and bytes.
 *
 *   launched l = {.joined.cancellable = 0};
 *   launched_open(&l);                                       skips the test loudly where there is no device
 *   launched_add(&l, "what it is", program, &arguments);     any number of times; 0 if the oracle does not say
 *   launched_run(&l);                                        what differs is shown and fails the test
 *
 * The device is number VYRE_OPENCL_DEVICE (0) of all platforms, GPUs first. It is believed what the driver says of it:
 * the probe of the backend is tested elsewhere. */
#ifndef VY_TESTS_EMIT_OPENCL_LAUNCHED_H
#define VY_TESTS_EMIT_OPENCL_LAUNCHED_H

#include "backends/conform.h"
#include "emit/opencl/joined.h"

#include "backends/opencl/dynamic_symbols.h"
#include "ir/dispatch_resolve.h"

enum { LAUNCHED_MARGIN = 16 }; /* elements before and after each buffer, which must not change */

typedef struct launched_case {
    vyre_case *given;
    char name[64];
    unsigned program;
    conform_result expected;
} launched_case;

typedef struct launched {
    size_t limit;     /* cases of a batch; 0: no bound */
    uint64_t removed; /* bits of numerics that the device is said not to have */
    uint32_t constant_bytes, access_bytes;
    vy_ocl_dynamic_symbols api;
    vy_cl_device device;
    vy_cl_context context;
    vy_cl_queue queue;
    joined joined;
    char options[128]; /* without a standard */
    conform oracle;
    VY_VECTOR(launched_case) cases;
    int has_intel_subgroups;
    int keeps_going; /* a difference does not end the test: it is counted */
    unsigned refused, failures;
    uint64_t judged, trapped;
} launched;

static inline void launched_check(int32_t result, const char *what) {
    if (result != VY_CL_OK)
        fail_msg("%s: OpenCL result %d", what, (int)result);
}

/* ---- the device ---- */

static inline uint64_t launched_number(const launched *l, uint32_t what) {
    uint64_t value = 0;
    return l->api.device_info(l->device, what, sizeof value, &value, NULL) == VY_CL_OK ? value : 0;
}

static inline int launched_find(launched *l, uint32_t number) {
    static const uint64_t types[] = {VY_CL_TYPE_GPU, VY_CL_TYPE_ALL & ~VY_CL_TYPE_GPU};
    vy_cl_platform platforms[16];
    vy_cl_device devices[16];
    uint32_t platform_count = 0, count = 0;
    if (l->api.platform_ids(16, platforms, &platform_count) != VY_CL_OK)
        return 0;
    for (uint32_t i = 0; i < 2 * platform_count && i < 32; i++) {
        if (l->api.device_ids(platforms[i % platform_count], types[i / platform_count], 16, devices, &count) !=
            VY_CL_OK)
            continue;
        if (number < count) {
            l->device = devices[number];
            return 1;
        }
        number -= count;
    }
    return 0;
}

static inline void launched_describe(launched *l) {
    char extensions[8192] = "", version[128] = "", name[128] = "";
    l->api.device_info(l->device, VY_CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL);
    l->api.device_info(l->device, VY_CL_DEVICE_VERSION, sizeof version, version, NULL);
    l->api.device_info(l->device, VY_CL_DEVICE_NAME, sizeof name, name, NULL);
    const uint64_t floats = launched_number(l, VY_CL_DEVICE_SINGLE_CONFIG);
    const int divides = (floats & VY_CL_FP_EXACT_DIVIDE_SQRT) != 0, major = version[7] - '0';
    const uint64_t atomics = major >= 3 ? launched_number(l, VY_CL_DEVICE_ATOMIC_MEMORY) : 0;
    const int orders = (atomics & VY_CL_ATOMIC_ORDER_ACQ_REL) && (atomics & VY_CL_ATOMIC_SCOPE_DEVICE);
    uint64_t exact = vy_opencl_assumed(strstr(extensions, "cl_khr_fp64") != NULL);
    if (divides)
        exact |= UINT64_C(1) << VYRE_NUMERIC_F32_DIV | UINT64_C(1) << VYRE_NUMERIC_F32_SQRT;
    if (floats & VY_CL_FP_SUBNORMAL)
        exact |= UINT64_C(1) << VYRE_NUMERIC_F32_SUBNORMAL;
    snprintf(l->options, sizeof l->options, divides ? "-cl-fp32-correctly-rounded-divide-sqrt" : "");
    l->joined.target =
        (vy_opencl_device){.exact = exact & ~l->removed,
                           .constant_bytes = l->constant_bytes,
                           .local_bytes = launched_number(l, VY_CL_DEVICE_LOCAL_BYTES),
                           .stack_bytes = 4 << 20,
                           .access_bytes = l->access_bytes,
                           .has_int64_atomics = strstr(extensions, "cl_khr_int64_extended_atomics") != NULL,
                           .has_ordered_atomics = major == 2 || orders,
                           .has_aligned_buffers = 1,
                           .version = (uint32_t)major * 100};
    l->has_intel_subgroups =
        strstr(extensions, "cl_intel_subgroups") && strstr(extensions, "cl_intel_required_subgroup_size");
    if (strstr(version, "PoCL"))
        l->joined.target.errata = VY_OPENCL_ERRATUM_POCL;
    else if (strstr(version, "CUDA")) /* NVIDIA's version is "OpenCL 3.0 CUDA" */
        l->joined.target.errata = VY_OPENCL_ERRATUM_NVIDIA;
    else if (l->has_intel_subgroups) /* the CPU runtime is the only device of Intel that is tried */
        l->joined.target.errata = VY_OPENCL_ERRATUM_INTEL;
    printf("device %s, %s, options %s\n", name, version, l->options);
}

static inline void launched_open(launched *l) {
    char *number = getenv("VYRE_OPENCL_DEVICE");
    vyre_error error = VYRE_ERROR_INIT;
    int32_t result = 0;
    if (vy_ocl_dynamic_symbols_open(vy_ocl_dynamic_symbols_file(), &l->api, &error) != VYRE_OK)
        VY_SKIP("OpenCL: %s", error.message);
    if (!launched_find(l, number ? (uint32_t)strtoul(number, NULL, 10) : 0))
        VY_SKIP("OpenCL: no device%s", "");
    launched_describe(l);
    l->context = l->api.context_create(NULL, 1, &l->device, NULL, NULL, &result);
    launched_check(result, "context");
    l->queue = l->api.queue_create(l->context, l->device, 0, &result);
    launched_check(result, "queue");
}

static inline void launched_close(launched *l) {
    launched_check(l->api.queue_release(l->queue), "release");
    launched_check(l->api.context_release(l->context), "release");
    conform_close(&l->oracle);
}

/* ---- building ---- */

static inline vy_cl_program launched_build(launched *l) {
    int32_t result = 0;
    const char *text = l->joined.text.text;
    char options[256];
    assert_false(l->joined.text.failed);
    snprintf(options, sizeof options, "%s %s", joined_standard(&l->joined), l->options);
    vy_cl_program program = l->api.program_from_text(l->context, 1, &text, &l->joined.text.length, &result);
    launched_check(result, "program");
    result = l->api.program_build(program, 1, &l->device, options, NULL, NULL);
    if (result != VY_CL_OK) {
        static char log[1 << 16];
        l->api.program_build_info(program, l->device, VY_CL_BUILD_LOG, sizeof log - 1, log, NULL);
        mkdir("campaign-failures", 0777);
        FILE *file = fopen("campaign-failures/emitted.cl", "w");
        if (file) {
            fwrite(text, 1, l->joined.text.length, file);
            fclose(file);
        }
        fail_msg("campaign-failures/emitted.cl does not build (%d):\n%.6000s", (int)result, log);
    }
    return program;
}

/* ---- running ---- */

static inline void launched_differ(launched *l, const launched_case *given, const char *format, ...) VY_PRINTF(3, 4);
static inline void launched_differ(launched *l, const launched_case *given, const char *format, ...) {
    const char *folder = getenv("VYRE_CAMPAIGN_FOLDER");
    char what[256], base[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    folder = folder && *folder ? folder : "campaign-failures";
    snprintf(base, sizeof base, "%s/emit-opencl-%s", folder, given->name);
    for (char *at = base + strlen(folder) + 1; *at; at++)
        *at = *at == ' ' || *at == '/' ? '-' : *at;
    mkdir(folder, 0777);
    write_case(given->given, base);
    printf("FAIL %s: %s\n", given->name, what);
    l->failures++;
    if (l->keeps_going)
        return;
    conform_show(vyre_case_program(given->given));
    fail_msg("%s: emitted OpenCL C and the oracle differ: %s", given->name, what);
}

/* The bytes of a buffer with its margins. */
static inline size_t launched_bytes(const vyre_buffer_info *buffer, const vy_resolved_buffer *given) {
    return given->bytes + 2 * LAUNCHED_MARGIN * vyre_type_size(buffer->type);
}

static inline void launched_values(const joined_program *p, const vy_resolved_dispatch *launch, uint8_t *values) {
    const vy_launch_values *layout = &p->code.values;
    for (uint32_t i = 0; i < layout->buffers; i++) {
        const uint64_t offset = LAUNCHED_MARGIN;
        const uint32_t count = (uint32_t)launch->buffers[i].count;
        memcpy(values + 8 * i, &offset, 8);
        memcpy(values + layout->counts + 4 * i, &count, 4);
    }
    for (uint32_t i = 0; i < layout->params; i++)
        memcpy(values + layout->param_at[i], &launch->params[i], layout->is_wide[i] ? 8 : 4);
}

/* What a launch has on the device. */
typedef struct launched_memory {
    vy_cl_kernel kernel;
    vy_cl_memory memories[VY_LIMIT_BUFFERS + 2];
    uint8_t *bytes[VY_LIMIT_BUFFERS]; /* of buffers, with their margins */
    uint32_t buffers, count;
} launched_memory;

static inline void launched_bind(launched *l, launched_memory *m, uint32_t argument, size_t size, const void *data) {
    int32_t result = 0;
    vy_cl_memory *made = &m->memories[m->count++];
    *made = l->api.memory_create(l->context, VY_CL_MEMORY_READ_WRITE, size, NULL, &result);
    launched_check(result, "buffer");
    launched_check(l->api.enqueue_write(l->queue, *made, 1, 0, size, data, 0, NULL, NULL), "write");
    launched_check(l->api.set_argument(m->kernel, argument, sizeof *made, made), "argument");
}

static inline void launched_bind_all(launched *l, launched_memory *m, const joined_program *p,
                                     const vy_resolved_dispatch *launch, const vy_launch_control *control) {
    static uint8_t values[16 * (VY_LIMIT_BUFFERS + VY_LIMIT_PARAMS)];
    const vy_opencl_code *code = &p->code;
    vyre_buffer_info buffer;
    for (; vyre_program_buffer(p->program, m->buffers, &buffer); m->buffers++) {
        const vy_resolved_buffer *from = &launch->buffers[m->buffers];
        const size_t size = launched_bytes(&buffer, from), margin = LAUNCHED_MARGIN * vyre_type_size(buffer.type);
        uint8_t *bytes = m->bytes[m->buffers] = malloc(size);
        assert_non_null(bytes);
        memset(bytes, CONFORM_MARK, size);
        memset(bytes + margin, 0, from->bytes);
        if (from->data)
            memcpy(bytes + margin, from->data, from->bytes);
        launched_bind(l, m, m->buffers, size, bytes);
    }
    if (code->tables_argument != VY_NONE)
        launched_bind(l, m, code->tables_argument, code->tables.size, code->tables.data);
    if (code->control_argument != VY_NONE)
        launched_bind(l, m, code->control_argument, sizeof *control, control);
    launched_values(p, launch, values);
    if (code->values_argument != VY_NONE)
        launched_check(l->api.set_argument(m->kernel, code->values_argument, code->values.bytes, values), "values");
    assert_int_equal(m->count + (code->values_argument != VY_NONE), code->arguments);
}

/* Whether the control block is as expected. */
static inline int launched_ends_alike(launched *l, const launched_case *given, const vy_launch_control *control) {
    const vyre_trap *trap = &given->expected.trap;
    const int traps = given->expected.status == VYRE_TRAPPED;
    if (control->stopped || control->lock)
        launched_differ(l, given, "stopped %u, lock %u", control->stopped, control->lock);
    else if (control->trap_invocation != (traps ? trap->invocation : UINT64_MAX) ||
             (traps && control->trap_code != trap->code))
        launched_differ(l, given, "trap of %llu with %u; expected is %llu with %u",
                        (unsigned long long)control->trap_invocation, control->trap_code,
                        (unsigned long long)(traps ? trap->invocation : UINT64_MAX), traps ? trap->code : 0);
    else
        return 1;
    return 0;
}

/* Whether a buffer, with its margins, is as expected; `want` NULL: it does not matter. */
static inline int launched_has(launched *l, const launched_case *given, unsigned number, const uint8_t *bytes,
                               size_t margin, size_t size, const uint8_t *want) {
    for (size_t k = 0; k < margin; k++)
        if (bytes[k] != CONFORM_MARK || bytes[margin + size + k] != CONFORM_MARK) {
            launched_differ(l, given, "it writes outside of buffer %u", number);
            return 0;
        }
    for (size_t k = 0; want && k < size; k++)
        if (want[k] != bytes[margin + k]) {
            launched_differ(l, given, "byte %zu of buffer %u is %02x instead of %02x", k, number, bytes[margin + k],
                            want[k]);
            return 0;
        }
    return 1;
}

static inline void launched_judge(launched *l, vy_cl_program built, const launched_case *given) {
    static vy_resolved_dispatch launch;
    static launched_memory m;
    const joined_program *p = &l->joined.programs.items[given->program];
    vy_launch_control control = {.trap_invocation = UINT64_MAX, .deadline = UINT64_MAX};
    vyre_buffer_info buffer;
    size_t global[3], local[3], output = 0;
    char entry[32];
    int32_t result = 0;
    const vyre_arguments *arguments = vyre_case_arguments(given->given);
    assert_int_equal(vy_resolve_dispatch(vyre_case_program(given->given), arguments, &launch, NULL), VYRE_OK);
    m = (launched_memory){.kernel = NULL};
    snprintf(entry, sizeof entry, "p%u_kernel", given->program);
    m.kernel = l->api.kernel_create(built, entry, &result);
    launched_check(result, entry);
    launched_bind_all(l, &m, p, &launch, &control);
    for (int d = 0; d < 3; d++) {
        local[d] = p->code.block[d];
        global[d] = local[d] * launch.groups[d];
    }
    if (launch.group_count)
        launched_check(l->api.enqueue_kernel(l->queue, m.kernel, 3, NULL, global, local, 0, NULL, NULL), "launch");
    if (p->code.control_argument != VY_NONE)
        launched_check(
            l->api.enqueue_read(l->queue, m.memories[m.count - 1], 1, 0, sizeof control, &control, 0, NULL, NULL),
            "read");
    int is_alike = launched_ends_alike(l, given, &control);
    for (uint32_t i = 0; vyre_program_buffer(p->program, i, &buffer); i++) {
        const vy_resolved_buffer *from = &launch.buffers[i];
        const size_t size = launched_bytes(&buffer, from), margin = LAUNCHED_MARGIN * vyre_type_size(buffer.type);
        const int is_seen = from->output != VY_NONE && given->expected.status == VYRE_OK;
        launched_check(l->api.enqueue_read(l->queue, m.memories[i], 1, 0, size, m.bytes[i], 0, NULL, NULL), "read");
        if (is_alike)
            is_alike = launched_has(l, given, i, m.bytes[i], margin, from->bytes,
                                    is_seen ? given->expected.outputs[output].data : NULL);
        output += (size_t)is_seen;
        free(m.bytes[i]);
    }
    for (uint32_t i = 0; i < m.count; i++)
        launched_check(l->api.memory_release(m.memories[i]), "release");
    launched_check(l->api.kernel_release(m.kernel), "release");
}

static inline void launched_run(launched *l) {
    if (l->cases.count) {
        vy_cl_program built = launched_build(l);
        for (size_t i = 0; i < l->cases.count; i++)
            launched_judge(l, built, &l->cases.items[i]);
        launched_check(l->api.program_release(built), "release");
    }
    for (size_t i = 0; i < l->cases.count; i++) {
        vyre_case_free(l->cases.items[i].given);
        for (size_t k = 0; k < CONFORM_BUFFERS; k++)
            vyre_bytes_free(&l->cases.items[i].expected.outputs[k]);
    }
    for (size_t k = 0; k < CONFORM_BUFFERS; k++)
        vyre_bytes_free(&l->oracle.expected.outputs[k]);
    VY_VECTOR_FREE(&l->cases);
    joined_clear(&l->joined);
}

/* 1 if the oracle says what the case gives; it is judged by the next launched_run, at the latest when the batch is
 * full. */
static inline int launched_add(launched *l, const char *name, vyre_program *program, const vyre_arguments *arguments) {
    if (!conform_expect(&l->oracle, program, arguments))
        return 0;
    if (program->facts & VY_PROGRAM_HAS_GRID_BARRIER)
        return 0; /* the backend launches its stages */
    unsigned number = joined_add(&l->joined, program);
    l->refused += number == UINT32_MAX;
    if (number == UINT32_MAX)
        return 1;
    l->judged++;
    l->trapped += l->oracle.expected.status == VYRE_TRAPPED;
    launched_case *made = VY_PUSH(&l->cases);
    assert_non_null(made);
    made->program = number;
    made->expected = l->oracle.expected;
    memset(&l->oracle.expected, 0, sizeof l->oracle.expected); /* moved */
    snprintf(made->name, sizeof made->name, "%s", name);
    assert_int_equal(vyre_case_new(program, arguments, &made->given, NULL), VYRE_OK);
    if (l->limit && l->cases.count >= l->limit)
        launched_run(l);
    return 1;
}

#endif
