/* vyre backends: what is registered, what its probe says, what would be chosen and why not the others. */
#include "tool/args.h"
#include "tool/commands.h"
#include "tool/json.h"
#include "vyre/driver.h"

typedef struct backends_options {
    const char *backend;
    int software, json;
} backends_options;

static const tool_option options_table[] = {
    {"backend", 0, "NAME", TOOL_TEXT, offsetof(backends_options, backend),
     "consider only this one, as NAME or NAME#DEVICE"},
    {"software", 0, NULL, TOOL_FLAG, offsetof(backends_options, software), "allow GPU APIs that run on the CPU"},
    {"json", 0, NULL, TOOL_FLAG, offsetof(backends_options, json), "one JSON object on standard output"},
    TOOL_OPTION_END,
};

/* Plug-ins that could not be loaded: they are why a backend is not in the list. */
typedef struct broken {
    int json;
    vy_string text;
} broken;

static void on_plugin(void *user, const char *path, vyre_status status, const vyre_error *error) {
    broken *b = user;

    if (!error)
        return;
    if (!b->json) {
        vy_string_format(&b->text, "plug-in %s: %s: %s\n             Fix: %s\n", path, vyre_status_name(status),
                         error->message, error->fix);
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
        vy_string_format(&out, id ? "chosen: %s\n" : "chosen: none; name one with --backend\n", id);
    vyre_bytes_free(&list);
    return json ? tool_print(&out) : tool_print_lines(&out);
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const backends_options *options = given;
    vyre_policy policy = VYRE_POLICY_DEFAULT;
    vyre_selection *report = NULL;
    vyre_backend *chosen = NULL;
    broken plugins = {.json = options->json};
    vyre_error error;
    int code;

    if (args->words.count)
        return tool_usage(self, "say --backend NAME to ask about one", "`%.100s` is not expected",
                          args->words.items[0]);
    policy.allow_software = options->software;
    policy.only = options->backend;
    policy.probe_all = 1;
    vyre_plugins_load_all(on_plugin, &plugins);
    /* That nothing is usable is an answer here, as long as there is a list to show. */
    vyre_status status = vyre_select(&policy, &chosen, &report, &error);
    if (status == VYRE_OK || (report && vyre_selection_count(report) > 0)) {
        code = show(report, chosen, &plugins, options->json);
    } else {
        code = tool_error(&error);
        if (status == VYRE_NOT_FOUND) /* the name, not the program, is wrong */
            code = TOOL_USAGE;
    }
    vy_string_free(&plugins.text);
    vyre_selection_free(report);
    vyre_backend_release(chosen);
    return code;
}

const tool_command tool_cmd_backends = {
    .name = "backends",
    .summary = "list the backends, which one would be chosen, and why not the others",
    .usage = "[OPTIONS]",
    .details = "Chosen is the first in order of precedence that is a GPU or the native CPU and that starts; the "
               "reference only if it is\n"
               "named. VYRE_BACKEND=NAME names one for every command.\n",
    .examples = "  vyre backends\n"
                "  vyre backends --backend reference\n"
                "  vyre backends --json\n",
    .options = options_table,
    .options_size = sizeof(backends_options),
    .run = run_command,
};
