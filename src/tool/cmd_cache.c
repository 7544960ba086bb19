/* vyre cache: lists, measures, verifies and clears the disk cache of compiled pipelines. */
#include "tool/args.h"
#include "tool/terminal.h"
#include "tool/tool.h"
#include "vyre/cache.h"
#include "vyre/telemetry.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>

typedef struct cache_options {
    const char *backend, *folder;
    int invalid, json;
} cache_options;

static const tool_option options_table[] = {
    {"folder", 0, "DIR", TOOL_TEXT, offsetof(cache_options, folder), "use this folder instead of the default"},
    {"backend", 0, "ID", TOOL_TEXT, offsetof(cache_options, backend), "only entries of this backend"},
    {"invalid", 0, NULL, TOOL_FLAG, offsetof(cache_options, invalid), "with clear: only damaged entries"},
    {"json", 0, NULL, TOOL_FLAG, offsetof(cache_options, json), "print one JSON object"},
    TOOL_OPTION_END,
};

/* The result of a walk through the cache. */
typedef struct cache_summary {
    const cache_options *options;
    int names_all, names_damaged; /* which entries are listed individually */
    vy_string list;
    uint64_t listed, count, bytes, damaged;
} cache_summary;

static int is_wanted(const cache_options *options, const vyre_cache_entry *entry) {
    size_t length = options->backend ? strlen(options->backend) : 0;
    return !options->backend ||
           (strncmp(entry->pipeline, options->backend, length) == 0 && entry->pipeline[length] == ':');
}

static void add_json(cache_summary *s, const vyre_cache_entry *entry) {
    tool_json_open(&s->list, "", '{');
    tool_json_text(&s->list, "key", entry->key);
    tool_json_text(&s->list, "pipeline", entry->pipeline);
    tool_json_number(&s->list, "size", entry->size);
    tool_json_number(&s->list, "created", entry->created);
    tool_json_number(&s->list, "used", entry->used);
    tool_json_flag(&s->list, "valid", entry->valid);
    if (entry->problem)
        tool_json_text(&s->list, "problem", entry->problem);
    vy_string_char(&s->list, '}');
}

static void add_line(cache_summary *s, const vyre_cache_entry *entry) {
    char when[32] = "?";
    const time_t used = (time_t)entry->used;
    struct tm parts;

    if (gmtime_r(&used, &parts))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", &parts);
    vy_string_format(&s->list, "%.16s  %10" PRIu64 "  %s  %s", entry->key, entry->size, when,
                     *entry->pipeline ? entry->pipeline : "-");
    if (entry->problem)
        vy_string_format(&s->list, "  (%s)", entry->problem);
    vy_string_char(&s->list, '\n');
}

static int visit(void *user, const vyre_cache_entry *entry) {
    cache_summary *s = user;

    if (!is_wanted(s->options, entry))
        return 0;
    s->count++;
    s->bytes += entry->size;
    s->damaged += !entry->valid;
    if (s->names_all || (s->names_damaged && !entry->valid)) {
        if (s->options->json)
            add_json(s, entry);
        else
            add_line(s, entry);
        s->listed++;
    }
    return 0;
}

static void add_folder(vy_string *out, int json) {
    char path[PATH_MAX];

    vyre_cache_folder(path, sizeof path);
    if (json) {
        vy_string_char(out, '{');
        tool_json_text(out, "folder", path);
    } else if (*path) {
        vy_string_format(out, " in %s\n", path);
    } else {
        vy_string_add(out, "; the disk cache is off\n");
    }
}

static void add_count(vy_string *out, const char *before, uint64_t count, uint64_t bytes) {
    vy_string_format(out, "%s%" PRIu64 " %s, %" PRIu64 " bytes", before, count, count == 1 ? "entry" : "entries",
                     bytes);
}

static int show_json(cache_summary *s, int has_list) {
    vy_string out = {0};

    add_folder(&out, 1);
    vy_string_format(&out, ",\"count\":%" PRIu64 ",\"bytes\":%" PRIu64, s->count, s->bytes);
    if (s->names_damaged)
        vy_string_format(&out, ",\"damaged\":%" PRIu64, s->damaged);
    if (has_list)
        vy_string_format(&out, ",\"entries\":[%s]", s->list.text ? s->list.text : "");
    tool_error_record_json(&out);
    vy_string_add(&out, "}\n");
    out.failed |= s->list.failed;
    return tool_print(&out);
}

static int show_text(cache_summary *s) {
    vy_string out = {0};

    vy_string_append(&out, s->list.text ? s->list.text : "", s->list.length);
    add_count(&out, "", s->count, s->bytes);
    if (s->names_damaged)
        vy_string_format(&out, ", %" PRIu64 " damaged", s->damaged);
    add_folder(&out, 0);
    out.failed |= s->list.failed;
    return tool_print(&out);
}

static int report_damage(const cache_summary *s) {
    vyre_error error;

    vy_fail(&error, VYRE_CORRUPT,
            "remove damaged entries with `vyre cache clear --invalid`; they are recompiled when needed",
            "%" PRIu64 " of %" PRIu64 " entries %s damaged", s->damaged, s->count, s->damaged == 1 ? "is" : "are");
    return tool_error(&error);
}

/* Implements list, size and verify, which differ in the read depth and in the entries that they list. */
static int inspect(const cache_options *options, vyre_cache_read_depth depth, int names_all, int names_damaged) {
    cache_summary s = {.options = options, .names_all = names_all, .names_damaged = names_damaged};
    vyre_error error;
    int code = TOOL_OK, shown;

    if (vyre_cache_walk(depth, visit, &s, &error) != VYRE_OK) {
        vy_string_free(&s.list);
        return tool_error(&error);
    }
    /* Text is printed before the error that summarises it; in JSON the error is part of the object. */
    shown = options->json ? TOOL_OK : show_text(&s);
    if (shown == TOOL_OK && names_damaged && s.damaged)
        code = report_damage(&s);
    if (options->json)
        shown = show_json(&s, names_all || names_damaged);
    vy_string_free(&s.list);
    return shown != TOOL_OK ? shown : code;
}

static int run_list(const void *options) {
    return inspect(options, VYRE_CACHE_READ_HEADERS, 1, 0);
}
static int run_size(const void *options) {
    return inspect(options, VYRE_CACHE_READ_HEADERS, 0, 0);
}
static int run_verify(const void *options) {
    return inspect(options, VYRE_CACHE_READ_ALL, 0, 1);
}

static int run_clear(const void *given) {
    const cache_options *options = given;
    const vyre_cache_filter filter = {.only_invalid = options->invalid, .backend = options->backend};
    const int all = !options->invalid && !options->backend;
    uint64_t removed, bytes;
    vy_string out = {0};
    vyre_error error;

    if (vyre_cache_clear(all ? NULL : &filter, &removed, &bytes, &error) != VYRE_OK)
        return tool_error(&error);
    if (options->json) {
        add_folder(&out, 1);
        vy_string_format(&out, ",\"removed\":%" PRIu64 ",\"bytes\":%" PRIu64 "}\n", removed, bytes);
    } else {
        add_count(&out, "removed ", removed, bytes);
        add_folder(&out, 0);
    }
    return tool_print(&out);
}

static const tool_action actions[] = {
    {"list", run_list}, {"size", run_size}, {"verify", run_verify}, {"clear", run_clear}, {NULL, NULL}};

/* A folder that the user names must exist. */
static int set_folder(const char *path) {
    struct stat facts;
    vyre_error error;

    if (!path)
        return TOOL_OK;
    if (stat(path, &facts) != 0) {
        vy_fail(&error, VYRE_IO, "check the spelling of the path", "folder `%s` does not exist", path);
        return tool_error(&error);
    }
    return vyre_cache_set_folder(path, &error) == VYRE_OK ? TOOL_OK : tool_error(&error);
}

/* Prints log messages, such as the reason why the cache has no folder. */
static void print_line(void *user, int level, const char *source, const char *message) {
    (void)user, (void)level;
    tool_write(stderr, "vyre: %s: %s\n", source, message);
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const cache_options *options = given;
    const char *word = args->words.count ? args->words.items[0] : "list";

    if (args->words.count > 1)
        return tool_usage(self, "use one of list, size, verify and clear", "unexpected argument `%.100s`",
                          args->words.items[1]);
    if (options->invalid && strcmp(word, "clear") != 0)
        return tool_usage(self, "use `vyre cache clear --invalid`, or `vyre cache verify` to list damaged entries",
                          "--invalid is an option of clear, not of %.100s", word);
    const tool_action *action = tool_action_find(self, actions, word);
    if (!action)
        return TOOL_USAGE;
    int code = set_folder(options->folder);
    vyre_log_set_sink(print_line, NULL);
    return code == TOOL_OK ? action->run(options) : code;
}

const tool_command tool_cmd_cache = {
    .name = "cache",
    .summary = "list, measure, verify or clear the disk cache of compiled pipelines",
    .usage = "[list|size|verify|clear] [OPTIONS]",
    .details =
        "list    prints every entry, most recently used first: key, bytes, time of last use (UTC), pipeline\n"
        "size    prints the number of entries and bytes\n"
        "verify  reads every byte, lists damaged entries, and exits with 1 if there are any\n"
        "clear   removes all entries, or those selected by --backend and --invalid\n"
        "\n"
        "The folder is $VYRE_CACHE_DIR, else $XDG_CACHE_HOME/vyre, else $HOME/.cache/vyre. Clearing is safe while "
        "programs are running.\n",
    .examples = "  vyre cache\n"
                "  vyre cache verify || vyre cache clear --invalid\n"
                "  vyre cache clear --backend cuda\n",
    .options = options_table,
    .options_size = sizeof(cache_options),
    .run = run_command,
};
