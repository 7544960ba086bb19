/* vyre backends and vyre info: the registered backends, and the properties of their devices. */
#include "driver/backend.h"
#include "tool/args.h"
#include "tool/terminal.h"
#include "tool/tool.h"
#include "vyre/driver.h"
#include "vyre/registry.h"

#include <inttypes.h>

/* ---- vyre backends: every backend with its verdict, and the one that would be selected ---- */

typedef struct backends_options {
    const char *backend;
    int software, json;
} backends_options;

static const tool_option backends_table[] = {
    {"backend", 0, "NAME", TOOL_TEXT, offsetof(backends_options, backend),
     "consider only this backend: NAME or NAME#DEVICE"},
    {"software", 0, NULL, TOOL_FLAG, offsetof(backends_options, software),
     "also allow GPU APIs implemented on the CPU"},
    {"json", 0, NULL, TOOL_FLAG, offsetof(backends_options, json), "print one JSON object"},
    TOOL_OPTION_END,
};

/* Plug-ins that could not be loaded, the reason why their backends are not listed. */
typedef struct broken {
    int json;
    vy_string text;  /* part of the list */
    vy_string notes; /* for a failure, which shows no list */
} broken;

static void on_plugin(void *user, const char *path, vyre_status status, const vyre_error *error) {
    broken *b = user;

    if (!error)
        return;
    vy_string_format(&b->notes, "note: plug-in %s is not loaded: %s\nFix: %s\n", path, error->message, error->fix);
    if (!b->json) {
        vy_string_format(&b->text, "plug-in %s is not loaded: %s\n             Fix: %s\n", path, error->message,
                         error->fix);
        return;
    }
    tool_json_open(&b->text, "", '{');
    tool_json_text(&b->text, "path", path);
    tool_json_text(&b->text, "status", vyre_status_name(status));
    tool_json_text(&b->text, "message", error->message);
    tool_json_text(&b->text, "fix", error->fix);
    vy_string_char(&b->text, '}');
}

static int show(const vyre_selection *report, const vyre_backend *chosen, broken *plugins, int json) {
    const char *id = chosen ? vyre_backend_id(chosen) : NULL;
    vyre_bytes list = VYRE_BYTES_INIT;
    vyre_error error;
    vy_string out = {0};

    if (vyre_selection_render(report, json, &list, &error) != VYRE_OK)
        return tool_error(&error);
    if (json) {
        vy_string_char(&out, '{');
        tool_json_optional(&out, "chosen", id);
        tool_json_name(&out, "backends");
    }
    while (json && list.size > 0 && ((char *)list.data)[list.size - 1] == '\n')
        list.size--;
    vy_string_append(&out, list.data, list.size);
    if (json)
        vy_string_format(&out, ",\"broken_plugins\":[%s]}\n", plugins->text.text ? plugins->text.text : "");
    else if (plugins->text.length)
        vy_string_append(&out, plugins->text.text, plugins->text.length);
    out.failed |= plugins->text.failed;
    if (!json)
        vy_string_format(&out, id ? "chosen: %s\n" : "chosen: none; select one with --backend\n", id);
    vyre_bytes_free(&list);
    return json ? tool_print(&out) : tool_print_lines(&out);
}

static int run_backends(const tool_command *self, void *given, const tool_args *args) {
    const backends_options *options = given;
    vyre_policy policy = VYRE_POLICY_DEFAULT;
    vyre_selection *report = NULL;
    vyre_backend *chosen = NULL;
    broken plugins = {.json = options->json};
    vyre_error error;
    int code;

    if (args->words.count)
        return tool_usage(self, "use --backend NAME to examine one", "unexpected argument `%.100s`",
                          args->words.items[0]);
    policy.allow_software = options->software;
    policy.only = options->backend;
    policy.probe_all = 1;
    vyre_plugins_load_all(on_plugin, &plugins);
    /* If no backend is usable, the list is still printed. */
    vyre_status status = vyre_select(&policy, &chosen, &report, &error);
    if (status == VYRE_OK || (report && vyre_selection_count(report) > 0)) {
        code = show(report, chosen, &plugins, options->json);
    } else {
        if (plugins.notes.length)
            tool_write_lines(stderr, plugins.notes.text, plugins.notes.length);
        code = tool_error(&error);
        if (status == VYRE_NOT_FOUND) /* the name is wrong, not the program */
            code = TOOL_USAGE;
    }
    vy_string_free(&plugins.text);
    vy_string_free(&plugins.notes);
    vyre_selection_free(report);
    vyre_backend_release(chosen);
    return code;
}

const tool_command tool_cmd_backends = {
    .name = "backends",
    .summary = "list the backends, the one that would be selected, and why not the others",
    .usage = "[OPTIONS]",
    .details = "Selects the first backend, in order of rank, that is a GPU or the native CPU and starts. The reference "
               "interpreter\n"
               "is selected only by name. VYRE_BACKEND=NAME selects a backend for every command.\n",
    .examples = "  vyre backends\n"
                "  vyre backends --backend reference\n"
                "  vyre backends --json\n",
    .options = backends_table,
    .options_size = sizeof(backends_options),
    .run = run_backends,
};

/* ---- vyre info: capabilities, limits, device profile and numerics of backends, each value with its source ---- */

typedef struct info_options {
    int json;
} info_options;

static const tool_option info_table[] = {
    {"json", 0, NULL, TOOL_FLAG, offsetof(info_options, json), "print one JSON object"},
    TOOL_OPTION_END,
};

/* ---- sources ---- */

/* X(ID, name, doc) */
#define SOURCE_LIST(X)                                                                                                 \
    X(UNKNOWN, "unknown", "neither measured nor reported")                                                             \
    X(DEFAULT, "default", "conservative default of the library, because the backend does not report it")               \
    X(STATED, "stated", "stated by the plug-in, which does not name a source")                                         \
    X(LIMIT, "limit", "a limit of the language or of the backend")                                                     \
    X(CODE, "code", "whether the code of the backend uses it")                                                         \
    X(REPORTED, "reported", "reported by the driver, the operating system or the processor")                           \
    X(MEASURED, "measured", "measured by a probe on the device")
typedef enum source {
#define X(ID, name, doc) SOURCE_##ID,
    SOURCE_LIST(X)
#undef X
        SOURCE_COUNT
} source;

static const char *const source_names[SOURCE_COUNT] = {
#define X(ID, name, doc) name,
    SOURCE_LIST(X)
#undef X
};

/* The built-in backends, DRIVER for those that call a driver; all others are plug-ins. */
typedef enum family { REFERENCE, CPU, DRIVER, FAMILIES, PLUGIN = FAMILIES } family;

static family family_of(const vyre_backend *backend) {
    if (!backend->is_built_in)
        return PLUGIN;
    int has_driver = strcmp(backend->id, "cuda") == 0 || strcmp(backend->id, "opencl") == 0;
    return strcmp(backend->id, "cpu") == 0 ? CPU : has_driver ? DRIVER : REFERENCE;
}

static source source_of(family family, const uint8_t built_in[FAMILIES], int has_entry, int is_known) {
    if (!has_entry)
        return SOURCE_DEFAULT;
    if (!is_known)
        return SOURCE_UNKNOWN;
    return family == PLUGIN ? SOURCE_STATED : (source)built_in[family];
}

/* ---- capabilities ---- */

#define SAME(s)                                                                                                        \
    { SOURCE_##s, SOURCE_##s, SOURCE_##s }
static const uint8_t capability_sources[VYRE_CAPABILITY_COUNT][FAMILIES] = {
    [VYRE_CAPABILITY_SUBGROUP_OPS] = SAME(CODE),
    [VYRE_CAPABILITY_F16] = SAME(CODE),
    [VYRE_CAPABILITY_BF16] = SAME(CODE),
    [VYRE_CAPABILITY_TENSOR_CORES] = SAME(CODE),
    [VYRE_CAPABILITY_ASYNC_COMPUTE] = {SOURCE_CODE, SOURCE_CODE, SOURCE_REPORTED},
    [VYRE_CAPABILITY_INDIRECT_DISPATCH] = SAME(CODE),
    [VYRE_CAPABILITY_SPECULATION] = SAME(CODE),
    [VYRE_CAPABILITY_PERSISTENT_THREADS] = SAME(CODE),
    [VYRE_CAPABILITY_GRID_SYNC] = SAME(CODE),
    [VYRE_CAPABILITY_DISTRIBUTED] = SAME(CODE),
    [VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X] = {SOURCE_LIMIT, SOURCE_LIMIT, SOURCE_REPORTED},
    [VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y] = {SOURCE_LIMIT, SOURCE_LIMIT, SOURCE_REPORTED},
    [VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z] = {SOURCE_LIMIT, SOURCE_LIMIT, SOURCE_REPORTED},
    [VYRE_CAPABILITY_MAX_WORKGROUPS] = {SOURCE_LIMIT, SOURCE_LIMIT, SOURCE_REPORTED},
    [VYRE_CAPABILITY_MAX_INVOCATIONS] = {SOURCE_LIMIT, SOURCE_LIMIT, SOURCE_REPORTED},
    [VYRE_CAPABILITY_SUBGROUP_SIZE] = {SOURCE_LIMIT, SOURCE_REPORTED, SOURCE_REPORTED},
    [VYRE_CAPABILITY_MAX_STORAGE_BYTES] = {SOURCE_LIMIT, SOURCE_LIMIT, SOURCE_REPORTED},
    [VYRE_CAPABILITY_CANCEL] = SAME(CODE),
};

static const char *const capability_names[VYRE_CAPABILITY_COUNT] = {
#define X(ID, name, fallback, doc) name,
    VYRE_CAPABILITY_LIST(X)
#undef X
};

static int is_limit(unsigned capability) {
    return capability >= VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X && capability <= VYRE_CAPABILITY_MAX_STORAGE_BYTES;
}

/* ---- the profile ---- */

/* The fields that do not repeat a capability. X(field, reference, cpu, driver) */
#define PROFILE_LIST(X)                                                                                                \
    X(supports_specialization_constants, CODE, CODE, CODE)                                                             \
    X(supports_f64, CODE, CODE, CODE)                                                                                  \
    X(supports_int64_atomics, CODE, CODE, CODE)                                                                        \
    X(supports_trap_propagation, CODE, CODE, CODE)                                                                     \
    X(has_mul_high, CODE, CODE, CODE)                                                                                  \
    X(has_dual_issue_fp32_int32, CODE, CODE, CODE)                                                                     \
    X(has_subgroup_shuffle, CODE, CODE, CODE)                                                                          \
    X(has_shared_memory, CODE, CODE, CODE)                                                                             \
    X(max_native_int_width, CODE, CODE, CODE)                                                                          \
    X(max_shared_memory_bytes, LIMIT, LIMIT, REPORTED)                                                                 \
    X(compute_units, UNKNOWN, REPORTED, REPORTED)                                                                      \
    X(regs_per_thread_max, UNKNOWN, UNKNOWN, UNKNOWN)                                                                  \
    X(l1_cache_bytes, UNKNOWN, REPORTED, UNKNOWN)                                                                      \
    X(l2_cache_bytes, UNKNOWN, REPORTED, REPORTED)                                                                     \
    X(mem_bw_gbps, UNKNOWN, UNKNOWN, REPORTED)                                                                         \
    X(ideal_unroll_depth, UNKNOWN, UNKNOWN, UNKNOWN)                                                                   \
    X(ideal_vector_pack_bits, UNKNOWN, REPORTED, CODE)                                                                 \
    X(ideal_workgroup_tile[0], UNKNOWN, UNKNOWN, UNKNOWN)                                                              \
    X(ideal_workgroup_tile[1], UNKNOWN, UNKNOWN, UNKNOWN)                                                              \
    X(ideal_workgroup_tile[2], UNKNOWN, UNKNOWN, UNKNOWN)                                                              \
    X(shared_memory_bank_count, UNKNOWN, UNKNOWN, UNKNOWN)                                                             \
    X(shared_memory_bank_width_bytes, UNKNOWN, UNKNOWN, UNKNOWN)

static const struct {
    const char *name;
    uint8_t sources[FAMILIES];
} profile_rows[] = {
#define X(field, reference, cpu, cuda) {#field, {SOURCE_##reference, SOURCE_##cpu, SOURCE_##cuda}},
    PROFILE_LIST(X)
#undef X
};
enum { PROFILE_ROWS = sizeof profile_rows / sizeof *profile_rows };

static void read_profile(const vyre_device_profile *profile, uint64_t values[PROFILE_ROWS]) {
    size_t i = 0;
#define X(field, reference, cpu, cuda) values[i++] = profile->field;
    PROFILE_LIST(X)
#undef X
}

/* A flag of 0 is known: the code does not use the feature. */
static int is_flag(size_t row) {
    return strncmp(profile_rows[row].name, "supports_", 9) == 0 || strncmp(profile_rows[row].name, "has_", 4) == 0;
}

/* ---- writing ---- */

/* One backend, as text or as a JSON object. */
typedef struct page {
    vy_string *out;
    int json;
} page;

static void section(page *p, const char *name) {
    if (p->json)
        tool_json_open(p->out, name, '{');
    else
        vy_string_format(p->out, "  %s\n", name);
}

static void end_section(page *p) {
    if (p->json)
        vy_string_char(p->out, '}');
}

static void add_number(page *p, const char *name, uint64_t value, source source) {
    if (!p->json) {
        vy_string_format(p->out, "    %-38s %-20" PRIu64 " %s\n", name, value, source_names[source]);
        return;
    }
    tool_json_open(p->out, name, '{');
    tool_json_number(p->out, "value", value);
    tool_json_text(p->out, "source", source_names[source]);
    vy_string_char(p->out, '}');
}

static void add_text(page *p, const char *name, const char *text) {
    if (p->json)
        tool_json_text(p->out, name, text);
    else
        vy_string_format(p->out, "  %-10s %s\n", name, *text ? text : "unknown");
}

static void add_capabilities(page *p, const vyre_backend *backend, int limits) {
    section(p, limits ? "limits" : "capabilities");
    for (unsigned i = 0; i < VYRE_CAPABILITY_COUNT; i++) {
        uint64_t value = vyre_backend_capability(backend, (vyre_capability)i);
        if (is_limit(i) == limits)
            add_number(p, capability_names[i], value,
                       source_of(family_of(backend), capability_sources[i], backend->calls.capability != NULL,
                                 value || !limits));
    }
    end_section(p);
}

static void add_profile(page *p, const vyre_backend *backend, const vyre_device_profile *profile) {
    uint64_t values[PROFILE_ROWS];
    read_profile(profile, values);
    section(p, "profile");
    for (size_t i = 0; i < PROFILE_ROWS; i++)
        add_number(p, profile_rows[i].name, values[i],
                   source_of(family_of(backend), profile_rows[i].sources, backend->calls.device_profile != NULL,
                             values[i] || is_flag(i)));
    end_section(p);
}

static void add_numerics(page *p, const vyre_backend *backend) {
    vyre_numerics_profile numerics = {.struct_size = sizeof numerics};
    vyre_backend_numerics(backend, &numerics);
    section(p, "numerics");
    add_number(p, "cases", numerics.cases, numerics.cases ? SOURCE_MEASURED : SOURCE_UNKNOWN);
    if (p->json)
        tool_json_open(p->out, "exact", '[');
    for (unsigned i = 0; i < VYRE_NUMERIC_COUNT; i++) {
        if (!(numerics.exact >> i & 1))
            continue;
        if (p->json)
            tool_json_text(p->out, "", vyre_numeric_name((vyre_numeric)i));
        else
            vy_string_format(p->out, "    exact: %s\n", vyre_numeric_name((vyre_numeric)i));
    }
    if (p->json)
        vy_string_char(p->out, ']');
    end_section(p);
}

static void add_backend(page *p, vyre_backend *backend) {
    vyre_device_profile profile = {.struct_size = sizeof profile};
    const char *owner = vyre_backend_owner(vyre_backend_id(backend));
    size_t ops;
    vyre_backend_profile(backend, &profile);
    (void)vyre_backend_supported_ops(backend, &ops);
    if (p->json) {
        tool_json_open(p->out, "", '{');
        tool_json_text(p->out, "id", vyre_backend_id(backend));
    } else {
        vy_string_format(p->out, "%s\n", vyre_backend_id(backend));
    }
    add_text(p, "version", vyre_backend_version(backend));
    add_text(p, "owner", owner ? owner : "");
    add_text(p, "device", profile.device);
    add_text(p, "driver", profile.driver);
    if (p->json)
        tool_json_number(p->out, "ops", ops);
    else
        vy_string_format(p->out, "  %-10s %zu\n", "ops", ops);
    add_capabilities(p, backend, 0);
    add_capabilities(p, backend, 1);
    add_profile(p, backend, &profile);
    add_numerics(p, backend);
    if (p->json)
        vy_string_char(p->out, '}');
}

/* When all backends are listed, one that does not start is part of the result. */
static void add_failure(page *p, const char *id, const vyre_error *error) {
    if (!p->json) {
        vy_string_format(p->out, "%s\n  does not start: %s\n  Fix: %s\n", id, error->message, error->fix);
        return;
    }
    tool_json_open(p->out, "", '{');
    tool_json_text(p->out, "id", id);
    tool_json_text(p->out, "status", vyre_status_name(error->code));
    tool_json_text(p->out, "message", error->message);
    tool_json_text(p->out, "fix", error->fix);
    vy_string_char(p->out, '}');
}

static void add_sources(page *p) {
    static const char *const docs[SOURCE_COUNT] = {
#define X(ID, name, doc) doc,
        SOURCE_LIST(X)
#undef X
    };
    if (p->json)
        return;
    vy_string_add(p->out, "sources\n");
    for (int i = 0; i < SOURCE_COUNT; i++)
        vy_string_format(p->out, "  %-10s %s\n", source_names[i], docs[i]);
}

/* ---- the command ---- */

static int show_one(page *p, const char *name) {
    vyre_backend *backend;
    vyre_error error;
    vyre_status status = vyre_acquire(name, &backend, &error);
    if (status != VYRE_OK) {
        char id[64];
        (void)tool_error(&error);
        snprintf(id, sizeof id, "%.*s", (int)strcspn(name, "#"), name);
        return status == VYRE_NOT_FOUND && !vyre_backend_find(id) ? TOOL_USAGE : tool_exit_of_run(status);
    }
    add_backend(p, backend);
    vyre_backend_release(backend);
    return TOOL_OK;
}

static void show_all(page *p) {
    size_t count;
    const vyre_backend_registration *const *list = vyre_backends_by_precedence(&count);
    for (size_t i = 0; i < count; i++) {
        vyre_backend *backend;
        vyre_error error;
        if (!vyre_backend_dispatches(list[i]->id))
            continue;
        if (!p->json && i)
            vy_string_char(p->out, '\n');
        if (vyre_acquire(list[i]->id, &backend, &error) == VYRE_OK)
            add_backend(p, backend);
        else
            add_failure(p, list[i]->id, &error);
        vyre_backend_release(backend);
    }
}

static int run_info(const tool_command *self, void *given, const tool_args *args) {
    const info_options *options = given;
    vy_string out = {0};
    page p = {.out = &out, .json = options->json};
    int code = TOOL_OK;
    if (args->words.count > 1)
        return tool_usage(self, "name one backend, or none for all", "%u backends are named", args->words.count);
    if (p.json)
        vy_string_add(&out, "{\"backends\":[");
    vyre_plugins_load_all(tool_note_plugin, NULL);
    if (args->words.count)
        code = show_one(&p, args->words.items[0]);
    else
        show_all(&p);
    if (code != TOOL_OK) {
        vy_string_free(&out);
        return code;
    }
    if (!p.json)
        vy_string_char(&out, '\n');
    add_sources(&p);
    if (p.json)
        vy_string_add(&out, "]}\n");
    return tool_print(&out);
}

const tool_command tool_cmd_info = {
    .name = "info",
    .summary = "print capabilities, limits, device profile and numerics of backends",
    .usage = "[BACKEND] [OPTIONS]",
    .details = "BACKEND is NAME or NAME#DEVICE; if omitted, every backend is printed. Each value has its source: "
               "measured,\n"
               "reported by a driver, derived from the code of the backend, or a default.\n",
    .examples = "  vyre info cpu\n"
                "  vyre info cuda#1 --json\n"
                "  vyre info\n",
    .options = info_table,
    .options_size = sizeof(info_options),
    .run = run_info,
};
