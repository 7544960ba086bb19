/* Random calls of the public interface, in random order, on several concurrent threads, on backends that fail, hang and
 * lose their devices (wild.h) and on the reference. Whatever the order, results are correct or are errors with a fix,
 * the library keeps its side of the contract, and in the end everything is freed. The seed is VYRE_SEED. */
#include "driver/wild.h"

#include "base/thread.h"

enum { THREADS = 4, STEPS = 60, SLOTS = 3, PIPELINES = 6, RESIDENTS = 12, PENDINGS = 6, WORDS = 8 };

static const char text[] =
    "program plain {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n"
    " if i < len(x) { x[i] = x[i] + 1 } }\n"
    "program staged {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n"
    " let before = x[i]\n grid_barrier\n if i < len(x) { x[i] = before + 1 } }\n"
    "program rows {\n buffer a : u32 read\n buffer b : u32 read\n buffer x : u32 read_write\n buffer y : u32 write "
    "count "
    "len(x)\n workgroup 4\n grid over x\n let i = global_id.x\n if i < len(x) { x[i] = x[i] + 1\n y[i] = a[i] + b[i] } "
    "}\n"
    "program trapping {\n buffer x : u32 read_write\n grid 1\n x[0] = 1\n trap 7 }\n";
enum { PLAIN, STAGED, ROWS, TRAPPING, PROGRAMS };

/* What threads share. A slot's backend is used with a reference of one's own. */
static struct shared {
    pthread_mutex_t lock;
    vyre_module *module;
    vyre_program *programs[PROGRAMS];
    vyre_backend *backends[SLOTS];
    vyre_pipeline *pipelines[PIPELINES];
    vyre_resident residents[RESIDENTS];
    _Atomic(const char *) wrong;
    _Atomic uint64_t calls, successes;
} shared;

/* What one thread has. */
typedef struct actor {
    vy_random random;
    vyre_pending *pendings[PENDINGS];
    uint32_t expected[PENDINGS];
    int is_attached[PENDINGS];
    vyre_completions *queue;
    vyre_outputs outputs;
} actor;

static uint64_t below(actor *a, uint64_t bound) {
    return vy_random_below(&a->random, bound);
}

static void wrong(const char *what) {
    const char *none = NULL;
    atomic_compare_exchange_strong(&shared.wrong, &none, what);
}

/* Every call ends here: success, or an error that is whole. */
static int went_well(vyre_status status, const vyre_error *error) {
    atomic_fetch_add(&shared.calls, 1);
    if (status == VYRE_OK) {
        atomic_fetch_add(&shared.successes, 1);
        return 1;
    }
    if (status == VYRE_CORRUPT)
        wrong(strdup(error->message));
    if (error->code != status || !error->message[0] || !error->fix[0])
        wrong("an error is not whole");
    return 0;
}

/* ---- things to use ---- */

static const char *backend_name(size_t slot) {
    return slot + 1 == SLOTS ? "reference" : "wild";
}

static vyre_backend *take_backend_below(actor *a, size_t slots) {
    size_t slot = below(a, slots);
    pthread_mutex_lock(&shared.lock);
    vyre_backend *backend = vyre_backend_retain(shared.backends[slot]);
    pthread_mutex_unlock(&shared.lock);
    return backend;
}

static vyre_backend *take_backend(actor *a) {
    return take_backend_below(a, SLOTS);
}

/* Two concurrent dispatches that write one buffer are the caller's mistake: only the wild device tolerates it. */
static vyre_backend *take_wild(actor *a) {
    return take_backend_below(a, SLOTS - 1);
}

static vyre_pipeline *take_pipeline(actor *a) {
    size_t slot = below(a, PIPELINES);
    pthread_mutex_lock(&shared.lock);
    vyre_pipeline *pipeline = vyre_pipeline_retain(shared.pipelines[slot]);
    pthread_mutex_unlock(&shared.lock);
    return pipeline;
}

static vyre_resident some_resident(actor *a) {
    pthread_mutex_lock(&shared.lock);
    vyre_resident resident = shared.residents[below(a, RESIDENTS)];
    pthread_mutex_unlock(&shared.lock);
    if (below(a, 16) == 0)
        resident.id += below(a, 3) << (below(a, 2) * 32); /* of another buffer, or invalid */
    return resident;
}

/* Host bytes for a program: x, or a, b and x. */
typedef struct given {
    uint32_t words[WORDS];
    vyre_span inputs[3];
    vyre_arguments arguments;
    vyre_dispatch_config config;
    uint32_t first;
} given;

static void give(actor *a, given *g, int is_rows) {
    memset(g, 0, sizeof *g);
    g->first = (uint32_t)below(a, 1000);
    for (uint32_t i = 0; i < WORDS; i++)
        g->words[i] = g->first + i;
    for (int i = 0; i < 3; i++)
        g->inputs[i] = (vyre_span){g->words, sizeof g->words};
    g->arguments.inputs = g->inputs;
    g->arguments.input_count = is_rows ? 3 : 1;
    if (below(a, 20) == 0)
        g->arguments.input_count = below(a, 5); /* mostly wrong */
    if (below(a, 20) == 0)
        g->arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {(uint32_t)below(a, 2) * 2, 1, 1}};
    if (below(a, 10) == 0)
        g->config.timeout_ns = atomic_load(&wild.hang_us) ? 1 + below(a, 4000000) : 60000000000u;
    if (below(a, 30) == 0)
        g->config.max_output_bytes = 1 + below(a, 40);
    g->config.label = below(a, 2) ? "random" : NULL;
}

/* An empty grid changes nothing. */
static void check_outputs(const given *g, const vyre_outputs *outputs) {
    uint32_t value;
    memcpy(&value, outputs->items[0].data, sizeof value);
    if (outputs->items[0].size != sizeof g->words || (value != g->first + 1 && value != g->first))
        wrong("a dispatch gives other bytes");
}

static vyre_program *some_program(actor *a, given *g) {
    size_t which = below(a, PROGRAMS);
    give(a, g, which == ROWS);
    return shared.programs[which];
}

/* ---- calls ---- */

static void dispatch(actor *a) {
    vyre_backend *backend = take_backend(a);
    vyre_error error = VYRE_ERROR_INIT;
    vyre_timing timing;
    vyre_trap trap;
    given g;
    vyre_program *program = some_program(a, &g);
    vyre_status status;
    switch (below(a, 4)) {
    case 0:
        status =
            vyre_backend_dispatch_timed(backend, program, &g.arguments, &g.config, &a->outputs, &timing, &trap, &error);
        break;
    case 1:
        status = vyre_backend_dispatch_into(backend, program, &g.arguments, &g.config, &a->outputs, &trap, &error);
        break;
    case 2: {
        vyre_bytes owned[3] = {{g.words, sizeof g.words, sizeof g.words},
                               {g.words, sizeof g.words, sizeof g.words},
                               {g.words, sizeof g.words, sizeof g.words}};
        size_t count = g.arguments.input_count < 3 ? g.arguments.input_count : 3;
        status = vyre_backend_dispatch_owned(backend, program, owned, count, &g.arguments, &g.config, &a->outputs, NULL,
                                             &error);
        break;
    }
    default:
        status = vyre_backend_dispatch(backend, program, &g.arguments, &g.config, &a->outputs, NULL, &error);
    }
    if (went_well(status, &error))
        check_outputs(&g, &a->outputs);
    vyre_backend_release(backend);
}

static void dispatch_compiled(actor *a) {
    vyre_pipeline *pipeline = take_pipeline(a);
    vyre_error error = VYRE_ERROR_INIT;
    given g;
    if (!pipeline)
        return;
    give(a, &g, vyre_pipeline_program(pipeline) == shared.programs[ROWS]);
    if (went_well(vyre_pipeline_dispatch_into(pipeline, &g.arguments, &g.config, &a->outputs, NULL, &error), &error))
        check_outputs(&g, &a->outputs);
    vyre_pipeline_release(pipeline);
}

static void dispatch_batch(actor *a) {
    vyre_pipeline *pipeline = take_pipeline(a);
    vyre_outputs outputs[3] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
    vyre_arguments arguments[3];
    vyre_error error = VYRE_ERROR_INIT;
    size_t failed = 99, count = below(a, 4);
    given g[3];
    if (!pipeline)
        return;
    for (int i = 0; i < 3; i++) {
        give(a, &g[i], vyre_pipeline_program(pipeline) == shared.programs[ROWS]);
        arguments[i] = g[i].arguments;
    }
    vyre_status status =
        vyre_pipeline_dispatch_batch(pipeline, arguments, count, &g[0].config, outputs, &failed, NULL, &error);
    if (!went_well(status, &error) && failed > count)
        wrong("a batch names an item that is none");
    for (size_t i = 0; i < count && status == VYRE_OK; i++)
        check_outputs(&g[i], &outputs[i]);
    for (int i = 0; i < 3; i++)
        vyre_outputs_free(&outputs[i]);
    vyre_pipeline_release(pipeline);
}

static vyre_resource some_resource(actor *a, const given *g) {
    return below(a, 3) ? (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = some_resident(a)}
                       : (vyre_resource){.kind = VYRE_RESOURCE_HOST, .host = {g->words, sizeof g->words}};
}

static void dispatch_bound(actor *a) {
    vyre_pipeline *pipeline = take_pipeline(a);
    vyre_backend *backend = take_wild(a);
    vyre_resource bindings[4], outputs[2];
    vyre_error error = VYRE_ERROR_INIT;
    size_t failed;
    given g;
    give(a, &g, 1);
    for (int i = 0; i < 4; i++)
        bindings[i] = some_resource(a, &g);
    size_t count = pipeline && vyre_pipeline_program(pipeline) == shared.programs[ROWS] ? 4 : 1;
    const vyre_resource *items[2] = {bindings, bindings};
    vyre_outputs many[2] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
    vyre_step step = {pipeline, bindings, count, NULL};
    uint32_t word;
    vyre_readback readback = {some_resident(a), 0, sizeof word, &word};
    switch (pipeline ? below(a, 6) : 0) {
    case 1:
        went_well(vyre_pipeline_dispatch_persistent(pipeline, bindings, count, NULL, &g.config, &a->outputs, NULL, NULL,
                                                    &error),
                  &error);
        break;
    case 2:
        went_well(vyre_pipeline_dispatch_resident_outputs(pipeline, bindings, count, NULL, &g.config, outputs,
                                                          count == 4 ? 2 : 1, NULL, &error),
                  &error);
        break;
    case 3:
        went_well(vyre_pipeline_dispatch_persistent_batch(pipeline, items, count, 2, NULL, &g.config, many, &failed,
                                                          NULL, &error),
                  &error);
        break;
    case 4:
        went_well(vyre_pipeline_dispatch_rows(pipeline, (const vyre_resource(*)[4])bindings, 1, NULL, &g.config, many,
                                              &failed, NULL, &error),
                  &error);
        break;
    case 5:
        went_well(vyre_sequence_run(backend, &step, 1, &readback, below(a, 2), &g.config, NULL, &failed, NULL, &error),
                  &error);
        break;
    default:
        went_well(vyre_backend_dispatch_resident(backend, shared.programs[PLAIN], bindings, 1, NULL, &g.config, NULL,
                                                 NULL, &error),
                  &error);
    }
    vyre_outputs_free(&many[0]);
    vyre_outputs_free(&many[1]);
    vyre_backend_release(backend);
    vyre_pipeline_release(pipeline);
}

static void compile(actor *a) {
    vyre_backend *backend = take_backend(a);
    vyre_compile_options options = {.struct_size = sizeof options, .cancellable = (int)below(a, 2)};
    vyre_error error = VYRE_ERROR_INIT;
    vyre_pipeline *pipeline = NULL;
    went_well(
        vyre_compile(backend, shared.programs[below(a, PROGRAMS)], below(a, 2) ? &options : NULL, &pipeline, &error),
        &error);
    size_t slot = below(a, PIPELINES);
    pthread_mutex_lock(&shared.lock);
    vyre_pipeline *old = shared.pipelines[slot];
    shared.pipelines[slot] = pipeline;
    pthread_mutex_unlock(&shared.lock);
    vyre_pipeline_release(old);
    vyre_backend_release(backend);
}

static void use_residents(actor *a) {
    static const uint32_t source[WORDS] = {1, 2, 3};
    vyre_backend *backend = take_wild(a);
    vyre_error error = VYRE_ERROR_INIT;
    vyre_resident resident = some_resident(a);
    vyre_bytes bytes = VYRE_BYTES_INIT;
    uint32_t words[WORDS] = {0};
    vyre_transfer transfers[2] = {{resident, 0, sizeof words, words}, {some_resident(a), below(a, 40), 4, words}};
    uint64_t size;
    switch (below(a, 8)) {
    case 0:
    case 1: {
        vyre_resident fresh;
        if (went_well(vyre_resident_allocate(backend, sizeof words, below(a, 2) ? source : NULL, &fresh, &error),
                      &error)) {
            size_t slot = below(a, RESIDENTS);
            pthread_mutex_lock(&shared.lock);
            shared.residents[slot] = fresh; /* the replaced one is freed with the backend */
            pthread_mutex_unlock(&shared.lock);
        }
        break;
    }
    case 2:
        went_well(vyre_resident_free(backend, resident, &error), &error);
        break;
    case 3:
        went_well(vyre_resident_upload(backend, resident, words, below(a, 8) ? sizeof words : 4, &error), &error);
        break;
    case 4:
        went_well(vyre_resident_download(backend, resident, &bytes, &error), &error);
        break;
    case 5:
        went_well(vyre_resident_upload_batch(backend, transfers, below(a, 3), &error), &error);
        break;
    case 6:
        went_well(vyre_resident_download_batch(backend, transfers, 1, &error), &error);
        break;
    default:
        went_well(vyre_resident_size(backend, resident, &size, &error), &error);
    }
    vyre_bytes_free(&bytes);
    vyre_backend_release(backend);
}

/* ---- in flight ---- */

static void drop_pending(actor *a, size_t at) {
    vyre_pending_free(a->pendings[at]);
    a->pendings[at] = NULL;
    a->is_attached[at] = 0;
}

static void start(actor *a) {
    vyre_backend *backend = take_backend(a);
    vyre_pipeline *pipeline = below(a, 2) ? take_pipeline(a) : NULL;
    vyre_error error = VYRE_ERROR_INIT;
    size_t at = below(a, PENDINGS);
    given g;
    drop_pending(a, at);
    vyre_program *program = some_program(a, &g);
    if (pipeline)
        give(a, &g, vyre_pipeline_program(pipeline) == shared.programs[ROWS]);
    a->expected[at] = g.first;
    went_well(pipeline
                  ? vyre_pipeline_dispatch_async(pipeline, &g.arguments, &g.config, &a->pendings[at], &error)
                  : vyre_backend_dispatch_async(backend, program, &g.arguments, &g.config, &a->pendings[at], &error),
              &error);
    vyre_pipeline_release(pipeline);
    vyre_backend_release(backend);
}

/* A dispatch that was ready before returns its result without waiting. */
static void collect(actor *a, size_t at, uint64_t timeout_ns) {
    vyre_error error = VYRE_ERROR_INIT;
    uint32_t value;
    vyre_trap trap;
    int was_ready = vyre_pending_is_ready(a->pendings[at]);
    vyre_status status = vyre_pending_wait(a->pendings[at], timeout_ns, &a->outputs, &trap, &error);
    if (went_well(status, &error)) {
        memcpy(&value, a->outputs.items[0].data, sizeof value);
        if (value != a->expected[at] && value != a->expected[at] + 1)
            wrong("a dispatch in flight gives other bytes");
    }
    if (was_ready && status == VYRE_NOT_READY)
        wrong("a handle that was ready is not done");
}

static void use_pendings(actor *a) {
    vyre_error error = VYRE_ERROR_INIT;
    size_t at = below(a, PENDINGS);
    vyre_pending *done;
    uint64_t tag;
    switch (below(a, 6)) {
    case 0:
        if (a->pendings[at])
            collect(a, at, below(a, 2) ? below(a, 500000) : UINT64_MAX);
        break;
    case 1:
        if (a->pendings[at])
            vyre_pending_cancel(a->pendings[at]);
        break;
    case 2:
        drop_pending(a, at);
        break;
    case 3:
        if (a->pendings[at]) {
            vyre_status status = vyre_completions_attach(a->queue, a->pendings[at], at, &error);
            if ((status == VYRE_CONFLICT) != a->is_attached[at])
                wrong("attaching does not know what is attached");
            a->is_attached[at] = 1;
        }
        break;
    case 4:
        if (vyre_completions_next(a->queue, below(a, 500000), &done, &tag, &error) == VYRE_OK) {
            if (tag >= PENDINGS || a->pendings[tag] != done || !a->is_attached[tag])
                wrong("a queue gives another handle");
            a->is_attached[tag] = 0;
            collect(a, tag, 0);
        }
        break;
    default:
        if (below(a, 4) == 0) {
            vyre_completions_free(a->queue);
            memset(a->is_attached, 0, sizeof a->is_attached);
            if (vyre_completions_new(&a->queue, &error) != VYRE_OK)
                wrong("there is no queue");
        }
    }
}

/* ---- life ---- */

static void live(actor *a) {
    size_t slot = below(a, SLOTS);
    vyre_backend *backend = take_backend(a), *fresh = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vyre_cache_snapshot snapshot;
    switch (below(a, 8)) {
    case 0:
        if (below(a, 4) == 0)
            went_well(vyre_backend_shutdown(backend, &error), &error);
        break;
    case 1:
        went_well(vyre_backend_flush(backend, &error), &error);
        break;
    case 2:
        vyre_backend_device_lost(backend);
        vyre_backend_profile(backend, &profile);
        vyre_backend_cache_snapshot(backend, &snapshot);
        break;
    case 3:
        vyre_cache_set_memory_limit((uint32_t)below(a, 4));
        break;
    case 4:
        if (went_well(vyre_acquire(backend_name(slot), &fresh, &error), &error)) {
            pthread_mutex_lock(&shared.lock);
            vyre_backend *old = shared.backends[slot];
            shared.backends[slot] = fresh;
            pthread_mutex_unlock(&shared.lock);
            vyre_backend_release(old); /* with everything in flight */
        }
        break;
    default:
        went_well(vyre_backend_try_recover(backend, &error), &error);
    }
    vyre_backend_release(backend);
}

static void act(void *user, unsigned worker) {
    static void (*const acts[])(actor *) = {dispatch, dispatch_compiled, dispatch_batch, dispatch_bound, dispatch_bound,
                                            compile,  use_residents,     use_residents,  use_residents,  start,
                                            start,    use_pendings,      use_pendings,   use_pendings,   live};
    actor a = {.random = vy_random_start(*(uint64_t *)user * THREADS + worker), .outputs = VYRE_OUTPUTS_INIT};
    vyre_error error;
    if (vyre_completions_new(&a.queue, &error) != VYRE_OK)
        return;
    for (int i = 0; i < STEPS; i++)
        acts[below(&a, sizeof acts / sizeof *acts)](&a);
    if (below(&a, 2)) { /* the queue or the handles first */
        vyre_completions_free(a.queue);
        a.queue = NULL;
    }
    for (size_t i = 0; i < PENDINGS; i++)
        vyre_pending_free(a.pendings[i]);
    vyre_completions_free(a.queue);
    vyre_outputs_free(&a.outputs);
}

/* ---- one sequence of all ---- */

static void open_all(void) {
    vyre_error error;
    for (size_t i = 0; i < SLOTS; i++)
        assert_int_equal(vyre_acquire(backend_name(i), &shared.backends[i], &error), VYRE_OK);
    memset(shared.residents, 0, sizeof shared.residents);
}

static void close_all(void) {
    for (size_t i = 0; i < PIPELINES; i++) {
        vyre_pipeline_release(shared.pipelines[i]);
        shared.pipelines[i] = NULL;
    }
    for (size_t i = 0; i < SLOTS; i++)
        vyre_backend_release(shared.backends[i]);
}

/* Abandoned or cancelled work may return at any time. */
static int is_given_back(const vyre_counters *before) {
    vyre_counters after;
    vyre_counters_get(&after);
    return !atomic_load(&wild.instances) && !atomic_load(&wild.pipelines) && !atomic_load(&wild.pendings) &&
           after.pending == before->pending && after.resident_bytes == before->resident_bytes;
}

static void run(uint64_t rounds, unsigned hang_us, uint64_t stream) {
    vyre_counters before;
    vyre_counters_get(&before);
    atomic_store(&wild.hang_us, hang_us);
    for (uint64_t round = 0; round < rounds && !atomic_load(&shared.wrong) && !atomic_load(&wild.complaint); round++) {
        uint64_t number = stream + round;
        open_all();
        vy_parallel(THREADS, act, &number);
        close_all();
        for (int i = 0; i < 20000 && !is_given_back(&before); i++)
            usleep(500);
        if (!is_given_back(&before))
            wrong("something is not given back");
        if (atomic_load(&shared.wrong) || atomic_load(&wild.complaint))
            print_message("in round %llu of stream %llu\n", (unsigned long long)round, (unsigned long long)stream);
    }
    if (atomic_load(&wild.complaint))
        fail_msg("the library breaks the contract: %s", atomic_load(&wild.complaint));
    if (atomic_load(&shared.wrong))
        fail_msg("%s", atomic_load(&shared.wrong));
    print_message("%llu calls, %llu went well\n", (unsigned long long)atomic_load(&shared.calls),
                  (unsigned long long)atomic_load(&shared.successes));
    assert_true(atomic_load(&shared.successes) > 0);
}

static uint64_t rounds(void) {
    return (VY_SANITIZED ? 25 : 100) * (uint64_t)vy_test_effort();
}

static void any_order_of_calls_is_contained(void **state) {
    (void)state;
    run(rounds(), 0, 0);
}

/* Dispatches that miss their deadlines are abandoned, and return at any time. */
static void calls_that_hang_are_contained_in_any_order(void **state) {
    (void)state;
    run(rounds(), 3000, 1000000);
}

static int open_shared(void **state) {
    vyre_error error;
    (void)state;
    setenv("VYRE_CACHE_DIR", "", 1);
    pthread_mutex_init(&shared.lock, NULL);
    wild.seed = vy_random_start(77).state;
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &shared.module, &error) != VYRE_OK ||
        vyre_module_register(&vyre_this_module, &error) != VYRE_OK) {
        print_error("%s\n", error.message);
        return -1;
    }
    for (size_t i = 0; i < PROGRAMS; i++)
        shared.programs[i] = vyre_module_program(shared.module, i);
    return 0;
}

static int close_shared(void **state) {
    (void)state;
    vyre_module_free(shared.module);
    pthread_mutex_destroy(&shared.lock);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_of_calls_is_contained),
        cmocka_unit_test(calls_that_hang_are_contained_in_any_order),
    };
    return cmocka_run_group_tests(tests, open_shared, close_shared);
}
