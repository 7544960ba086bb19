/* An op that changes under a running loop.
 *
 *   hotswap FOLDER [DISPATCHES]
 *
 * The folder holds a manifest with an op `tone.map` (examples/hotswap/ops). The loop dispatches a program that calls
 * it, two dispatches in flight. When the manifest is edited, the next dispatch uses the new op; what is in flight ends
 * with the old one, since a program holds the snapshot it was resolved against. A manifest with a mistake, or none at
 * all, changes nothing.
 *
 * Each dispatch prints one line: its number, the generation of its dialects, and its outputs (only the first, if all
 * are the same multiple). */
#include <vyre/vyre.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES = 4096, IN_FLIGHT = 2, PAUSE_MS = 2 };

static const char text[] = "program loop {\n"
                           "  buffer x : u32 read_write\n"
                           "  workgroup 64\n"
                           "  grid over x\n"
                           "  let i = global_id.x\n"
                           "  if i < len(x) {\n"
                           "    let y : u32 = tone.map(x[i])\n"
                           "    x[i] = y\n"
                           "  }\n"
                           "}\n";

/* The program with the op of one snapshot. */
typedef struct tuned {
    vyre_program *program;
    uint64_t generation;
} tuned;

typedef struct flight {
    vyre_pending *pending;
    uint64_t number, generation;
} flight;

static void say(const vyre_error *error) {
    char line[1200];
    vyre_error_format(error, line, sizeof line);
    fputs(line, stderr);
}

/* Called on the watcher's thread. */
static void report(void *user, const vyre_dialects_event *event) {
    (void)user;
    if (event->error)
        say(event->error);
}

/* Takes the newest ops if there are newer ones; keeps what it has if they do not fit the program. */
static void tune(vyre_program *program, tuned *now) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    uint64_t generation = vyre_dialects_generation(guard);
    vyre_program *resolved = NULL;
    vyre_error error;
    if (generation != now->generation) {
        if (vyre_program_resolve(program, guard, NULL, &resolved, &error) == VYRE_OK) {
            vyre_program_release(now->program);
            now->program = resolved;
        } else {
            say(&error);
        }
        now->generation = generation;
    }
    vyre_dialects_release(&guard);
}

static vyre_status start(vyre_backend *backend, const tuned *now, uint64_t number, flight *out, vyre_error *error) {
    static uint32_t samples[SAMPLES];
    for (uint32_t i = 0; i < SAMPLES; i++)
        samples[i] = i + 1;
    vyre_span input = {samples, sizeof samples};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    *out = (flight){.number = number, .generation = vyre_dialects_generation(vyre_program_dialects(now->program))};
    return vyre_backend_dispatch_async(backend, now->program, &arguments, NULL, &out->pending, error);
}

static vyre_status finish(flight *flight, vyre_error *error) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_status status = vyre_pending_wait(flight->pending, UINT64_MAX, &outputs, NULL, error);
    if (status == VYRE_OK) {
        const uint32_t *y = outputs.items[0].data;
        int is_whole = 1;
        for (uint32_t i = 0; i < SAMPLES; i++)
            is_whole &= y[i] == y[0] * (i + 1);
        printf("%llu: generation %llu, %s %u\n", (unsigned long long)flight->number,
               (unsigned long long)flight->generation, is_whole ? "times" : "first", y[0]);
        fflush(stdout);
    }
    vyre_outputs_free(&outputs);
    vyre_pending_free(flight->pending);
    flight->pending = NULL;
    return status;
}

static vyre_status loop(vyre_program *program, uint64_t dispatches, vyre_error *error) {
    tuned now = {NULL, 0};
    flight flights[IN_FLIGHT] = {{NULL, 0, 0}};
    vyre_backend *backend;
    vyre_status status = vyre_acquire("reference", &backend, error);
    for (uint64_t i = 0; i < dispatches + IN_FLIGHT && status == VYRE_OK; i++) {
        flight *slot = &flights[i % IN_FLIGHT];
        if (slot->pending)
            status = finish(slot, error);
        if (status != VYRE_OK || i >= dispatches)
            continue;
        tune(program, &now);
        if (now.program)
            status = start(backend, &now, i, slot, error);
        nanosleep(&(struct timespec){0, PAUSE_MS * 1000000}, NULL);
    }
    for (int i = 0; i < IN_FLIGHT; i++)
        vyre_pending_free(flights[i].pending);
    vyre_program_release(now.program);
    vyre_backend_release(backend);
    return status;
}

int main(int argc, char **argv) {
    const char *folder = argc > 1 ? argv[1] : "examples/hotswap/ops";
    uint64_t dispatches = argc > 2 ? strtoull(argv[2], NULL, 10) : 5000;
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    vyre_dialects_watcher *watcher = NULL;
    vyre_module *module = NULL;
    vyre_error error;
    options.folders = &folder;
    options.folder_count = 1;
    options.report = report;
    vyre_status status = vyre_dialects_watch(&options, &watcher, &error);
    if (status == VYRE_OK)
        status = vyre_text_parse(text, sizeof text - 1, NULL, NULL, &module, &error);
    if (status == VYRE_OK)
        status = loop(vyre_module_program(module, 0), dispatches, &error);
    if (status != VYRE_OK)
        say(&error);
    vyre_module_free(module);
    vyre_dialects_watcher_stop(watcher);
    return status != VYRE_OK;
}
