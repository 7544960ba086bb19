/* Running the oracle: creates oracles, and runs dispatches (vyre/oracle.h). */
#include "oracle/run.h"

#include "base/status.h"
#include "base/thread.h"
#include "oracle/adversarial_device.h"
#include "oracle/compile.h"
#include "oracle/lowered_env.h"
#include "oracle/machine.h"
#include "oracle/shadow_memory.h"

#include <inttypes.h>

static vyre_status refuse_op_calls(const vyre_program *program, vyre_error *error) {
    const vy_function *entry = vy_program_entry(program);
    for (uint32_t s = entry->first_stmt; s < entry->end_stmt; s++) {
        const vy_stmt *stmt = &program->stmts.items[s];
        if (stmt->kind != VY_STMT_CALL)
            continue;
        vy_position at = vy_stmt_position(program, s);
        vy_fail(error, VYRE_NOT_FOUND,
                "resolve the program first (vyre_program_resolve), or define the function in the file",
                "the program calls op `%s`, which is not resolved", vy_symbol_name(program, stmt->name));
        if (error && at.line)
            vy_fail_where(error, "%s:%u:%u", vy_source_name(program->source), at.line, at.column);
        return VYRE_NOT_FOUND;
    }
    return VYRE_OK;
}

static vyre_status make(vyre_program *program, const uint64_t *exact, vyre_oracle **out, vyre_error *error) {
    *out = NULL;
    if (!vy_program_entry(program))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "pass a `program`, not a file of functions",
                       "a library has no entry to run");
    vyre_oracle *oracle = vy_allocate_zero(sizeof *oracle);
    if (!oracle)
        return vy_fail_memory(error, "an oracle");
    oracle->is_device = exact != NULL;
    oracle->exact = exact ? *exact : 0;
    vyre_status status = VYRE_OK;
    if (program->facts & VY_PROGRAM_HAS_CALL)
        status = vyre_program_inline(program, &oracle->program, error);
    else
        oracle->program = vyre_program_retain(program);
    if (status == VYRE_OK)
        status = refuse_op_calls(oracle->program, error);
    if (status == VYRE_OK)
        status = vy_oracle_compile(oracle, error);
    if (status != VYRE_OK) {
        vyre_oracle_free(oracle);
        return status;
    }
    *out = oracle;
    return VYRE_OK;
}

vyre_status vyre_oracle_new(vyre_program *program, vyre_oracle **out, vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, program);
    return make(program, NULL, out, error);
}

vyre_status vy_oracle_new_on(vyre_program *program, uint64_t exact, vyre_oracle **out, vyre_error *error) {
    return make(program, &exact, out, error);
}

void vyre_oracle_free(vyre_oracle *oracle) {
    if (!oracle)
        return;
    vyre_program_release(oracle->program);
    VY_VECTOR_FREE(&oracle->code);
    VY_VECTOR_FREE(&oracle->shared);
    VY_VECTOR_FREE(&oracle->ids);
    VY_VECTOR_FREE(&oracle->memories);
    VY_VECTOR_FREE(&oracle->lists);
    vy_release(oracle, sizeof *oracle);
}

/* One run: resolves the dispatch, allocates one block of memory, runs the grid, delivers the outputs.
 *
 * The calling thread starts alone. It starts more threads if workgroups are left after TRIAL_STEPS. Threads claim
 * workgroups with a shared counter; the result does not depend on the assignment. */

enum {
    TRIAL_STEPS =
        100000, /* executed statements, about half a millisecond; for less work a thread is not worth its cost */
    MAX_THREADS = 256,
};
#define DEFAULT_MEMORY ((uint64_t)4 << 30)

/* ---- memory ---- */

/* Layout of the block of a run. */
typedef struct plan {
    uint64_t size;
    uint64_t pointers, worker, groups, group_blocks, check, group_checks, buffers; /* offsets */
    uint64_t group_count;
} plan;

/* Sizes that overflow 64 bits saturate, and exceed every limit. */
static uint64_t plan_add(plan *p, uint64_t count, uint64_t size) {
    uint64_t at = p->size, bytes, end;
    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(at, bytes, &end) || end > UINT64_MAX - 63)
        end = UINT64_MAX - 63;
    p->size = (end + 63) & ~(uint64_t)63;
    return at;
}

static int is_written(const vy_run *run, uint32_t buffer) {
    return run->launch->buffers[buffer].output != VY_NONE;
}

static plan make_plan(const vy_run *run) {
    const vyre_program *program = run->program;
    plan p = {0};
    p.group_count = run->options->seed          ? vy_schedule_fuzz_window(run)
                    : run->oracle->grid_barrier ? run->launch->group_count
                                                : 1;
    /* Groups that persist between phases are counted in 32 bits. */
    if (p.group_count > UINT32_MAX)
        p.size = UINT64_MAX - 63;
    p.pointers = plan_add(&p, program->buffer_count, sizeof(uint8_t *));
    p.worker = plan_add(&p, 1, run->layout.worker_bytes);
    p.groups = plan_add(&p, p.group_count, sizeof(vy_group));
    p.group_blocks = plan_add(&p, p.group_count, run->layout.group_bytes);
    if (run->options->checks) {
        p.check = plan_add(&p, 1, vy_shadow_bytes(run));
        p.group_checks = plan_add(&p, p.group_count, vy_shadow_group_bytes(run));
    }
    p.buffers = p.size;
    for (uint32_t i = 0; i < program->buffer_count; i++)
        if (is_written(run, i))
            plan_add(&p, 1, run->launch->buffers[i].bytes);
    return p;
}

static uint64_t memory_limit(const vy_run *run) {
    return run->options->max_memory ? run->options->max_memory : DEFAULT_MEMORY;
}

static vyre_status refuse_memory(const vy_run *run, const plan *p, vyre_error *error) {
    uint64_t buffers = p->size - p->buffers, groups = p->check ? p->check - p->groups : p->buffers - p->groups;
    return vy_fail(error, VYRE_LIMIT,
                   "raise max_memory (`vyre run --memory`), or run with fewer elements, workgroups or checks",
                   "the run needs %" PRIu64 " bytes, over the limit (%" PRIu64 "): buffers %" PRIu64
                   ", state of %" PRIu64 " workgroup%s %" PRIu64 ", checkers %" PRIu64,
                   p->size, memory_limit(run), buffers, p->group_count, p->group_count == 1 ? "" : "s", groups,
                   p->check ? p->buffers - p->check : 0);
}

/* Read-only buffers are not copied. The others are copies, since outputs must stay unchanged if the run fails. */
static void place_buffers(vy_run *run, uint8_t *block, const plan *p) {
    uint8_t *next = block + p->buffers;
    run->buffers = (uint8_t **)(block + p->pointers);
    for (uint32_t i = 0; i < run->program->buffer_count; i++) {
        const vy_resolved_buffer *buffer = &run->launch->buffers[i];
        if (!is_written(run, i)) {
            run->buffers[i] = (uint8_t *)buffer->data; /* never written: no statement may */
            continue;
        }
        run->buffers[i] = next;
        if (buffer->data)
            memcpy(next, buffer->data, buffer->bytes);
        next += (buffer->bytes + 63) & ~(uint64_t)63;
    }
}

static void place_groups(vy_run *run, uint8_t *block, const plan *p, vy_group *groups) {
    for (uint64_t g = 0; g < p->group_count; g++) {
        vy_group_place(&groups[g], run, block + p->group_blocks + g * run->layout.group_bytes);
        if (run->check)
            groups[g].check = vy_shadow_group_place(run, block + p->group_checks + g * run->check->group_bytes);
    }
}

/* ---- workers ---- */

typedef struct crew {
    vy_run *run;
    vy_worker *workers;
    vy_group *groups;   /* all groups of the grid, if it has a grid barrier; else NULL */
    int is_first_phase; /* … and the groups have not started yet */
    uint64_t trial;     /* steps after which a worker claims no more work */
} crew;

static int run_unit(const crew *c, vy_worker *worker, uint64_t unit) {
    if (!c->groups && !c->run->oracle->has_sync)
        return vy_unit_run(worker, unit);
    vy_group *group = c->groups ? &c->groups[unit] : worker->group;
    if (!c->groups || c->is_first_phase)
        vy_group_start(worker, group, unit);
    return vy_group_run(worker, group);
}

static void work(void *user, unsigned index) {
    const crew *c = user;
    vy_run *run = c->run;
    vy_worker *worker = &c->workers[index];
    vy_fenv saved;
    vy_fenv_enter(&saved);
    while (worker->steps < c->trial && vy_run_goes_on(run)) {
        uint64_t unit = atomic_fetch_add_explicit(&run->next, run->chunk, memory_order_relaxed);
        if (unit >= run->units)
            break;
        uint64_t end = run->units - unit < run->chunk ? run->units : unit + run->chunk;
        while (unit < end && run_unit(c, worker, unit))
            unit++;
        if (unit < end)
            break;
    }
    vy_fenv_leave(&saved);
}

/* Merges the results of a worker into those of the first. */
static void merge(vy_worker *into, const vy_worker *from) {
    into->steps += from->steps;
    into->evaluations += from->evaluations;
    into->prints += from->prints;
    into->is_over |= from->is_over;
    if (from->trapped && (!into->trapped || from->trap.invocation < into->trap.invocation)) {
        into->trapped = 1;
        into->trap = from->trap;
        into->trap_stmt = from->trap_stmt;
    }
}

static unsigned thread_count(const vy_run *run) {
    if (run->options->threads == 1 || run->options->checks || run->options->seed || run->oracle->serial)
        return 1;
    unsigned threads = run->options->threads ? run->options->threads : vy_cpu_count();
    return threads > MAX_THREADS ? MAX_THREADS : threads;
}

/* The number of workers for which there is work and memory; each needs `bytes`. */
static unsigned choose_workers(const vy_run *run, unsigned threads, uint64_t left, uint64_t bytes) {
    uint64_t fit = (memory_limit(run) - run->memory) / bytes + 1;
    uint64_t workers = threads < left ? threads : left;
    workers = workers < fit ? workers : fit;
    return workers ? (unsigned)workers : 1;
}

/* Runs the remaining work with up to `threads` workers, or with fewer if memory is exhausted. */
static void run_crew(crew *c, unsigned threads) {
    vy_run *run = c->run;
    vy_worker *first = c->workers;
    uint64_t next = atomic_load(&run->next), left = next < run->units ? run->units - next : 0;
    uint64_t state = sizeof(vy_group) + (c->groups ? 0 : run->layout.group_bytes),
             each = sizeof(vy_worker) + run->layout.worker_bytes + state;
    unsigned workers = choose_workers(run, threads, left, each);
    size_t size = workers * (size_t)each;
    uint8_t *block = workers > 1 ? vy_allocate_zero(size) : NULL;
    c->trial = UINT64_MAX;
    run->chunk = left / (workers * 16ull) + 1 < 64 ? left / (workers * 16ull) + 1 : 64;
    if (!block) {
        work(c, 0);
        return;
    }
    c->workers = (vy_worker *)block;
    c->workers[0] = *first;
    vy_group *groups = (vy_group *)(c->workers + workers);
    uint8_t *part = (uint8_t *)(groups + workers);
    for (unsigned i = 1; i < workers; i++) {
        vy_worker_place(&c->workers[i], run, part);
        part += run->layout.worker_bytes;
        if (c->groups)
            continue;
        c->workers[i].group = &groups[i];
        vy_group_place(&groups[i], run, part);
        part += run->layout.group_bytes;
    }
    run->is_shared = 1;
    vy_parallel(workers, work, c);
    run->is_shared = 0;
    *first = c->workers[0];
    for (unsigned i = 1; i < workers; i++)
        merge(first, &c->workers[i]);
    c->workers = first;
    vy_release(block, size);
}

/* ---- strategies ---- */

static void run_plain(vy_run *run, vy_worker *worker) {
    crew c = {.run = run, .workers = worker, .trial = TRIAL_STEPS};
    run->units = (run->launch->group_count + run->layout.fused - 1) / run->layout.fused;
    run->chunk = 1;
    work(&c, 0);
    if (atomic_load(&run->next) < run->units && atomic_load(&run->stop) == 0)
        run_crew(&c, thread_count(run));
}

/* Runs all workgroups up to the grid barrier, then to the next one; every group keeps its state. */
static void run_phases(vy_run *run, vy_worker *worker, vy_group *groups) {
    crew c = {.run = run, .workers = worker, .groups = groups, .is_first_phase = 1};
    int is_small = run->launch->invocations * (uint64_t)run->oracle->code.count < TRIAL_STEPS;
    unsigned threads = is_small ? 1 : thread_count(run);
    run->units = run->launch->group_count;
    do {
        run->chunk = 1;
        atomic_store(&run->next, 0);
        run_crew(&c, threads);
        c.is_first_phase = 0;
    } while (atomic_load(&run->stop) == 0 && vy_grid_barrier_release(run, groups, (uint32_t)run->units));
}

static void run_grid(vy_run *run, vy_worker *worker, vy_group *groups, uint64_t group_count) {
    const vy_function *entry = vy_program_entry(run->program);
    if (run->launch->group_count == 0 || entry->first_stmt == entry->end_stmt)
        return;
    /* A workgroup costs time even if it executes nothing, so a grid with more workgroups than the budget exceeds it. */
    if (run->options->budget && run->launch->group_count > run->options->budget) {
        atomic_store(&run->stop, VYRE_BUDGET);
        return;
    }
    vy_fenv saved;
    vy_fenv_enter(&saved);
    if (run->options->seed)
        vy_schedule_fuzz_run(worker, groups, (uint32_t)group_count);
    else if (run->oracle->grid_barrier)
        run_phases(run, worker, groups);
    else
        run_plain(run, worker);
    vy_fenv_leave(&saved);
}

/* ---- results ---- */

/* Allocates every output first, so that either all are replaced or none. */
static vyre_status deliver(const vy_run *run, vyre_bytes *outputs, vyre_error *error) {
    for (uint32_t i = 0; i < run->program->buffer_count; i++) {
        const vy_resolved_buffer *buffer = &run->launch->buffers[i];
        if (buffer->output == VY_NONE || outputs[buffer->output].capacity >= buffer->bytes)
            continue;
        vyre_bytes *output = &outputs[buffer->output];
        size_t before = output->size;
        vyre_status status = vyre_bytes_resize(output, buffer->bytes, error);
        if (status != VYRE_OK)
            return status;
        output->size = before;
    }
    for (uint32_t i = 0; i < run->program->buffer_count; i++) {
        const vy_resolved_buffer *buffer = &run->launch->buffers[i];
        if (buffer->output == VY_NONE)
            continue;
        outputs[buffer->output].size = buffer->bytes;
        if (buffer->bytes)
            memcpy(outputs[buffer->output].data, run->buffers[i], buffer->bytes);
    }
    return VYRE_OK;
}

static vyre_status finish(vy_run *run, const vy_worker *worker, vyre_bytes *outputs, vyre_error *error) {
    const vyre_oracle_options *options = run->options;
    vyre_status stop = (vyre_status)atomic_load(&run->stop);
    /* First, since a violation may be the reason why a run does not end. */
    vy_violation_deliver(run);
    if (stop == VYRE_LIMIT)
        return vy_fail(error, VYRE_LIMIT, "raise max_memory, or run with fewer workgroups, or without the race checker",
                       "the records of the race checker for accesses, acquires and releases exceed the %" PRIu64
                       " bytes that the rest of the run (%" PRIu64 ") leaves of the limit (%" PRIu64 ")",
                       memory_limit(run) - run->memory, run->memory, memory_limit(run));
    if (stop == VYRE_TIMEOUT)
        return vy_fail(error, VYRE_TIMEOUT, NULL, "`%s` was still running at its deadline, and was stopped",
                       vyre_program_name(run->program));
    if (stop == VYRE_CANCELLED)
        return vy_fail(error, VYRE_CANCELLED, NULL, "`%s` was cancelled while it ran", vyre_program_name(run->program));
    if (stop == VYRE_NO_MEMORY)
        return vy_fail_memory(error, "prints or the race checker");
    if (stop == VYRE_BUDGET || (options->budget && worker->steps > options->budget))
        return vy_fail(error, VYRE_BUDGET, NULL, "the run executes over %" PRIu64 " statements, its step budget",
                       options->budget);
    int found = run->violation_count || (run->check && run->check->finding_count);
    /* A legal program continues after a report or the deadline, so later findings are errors of the program. */
    if (worker->is_over && !found)
        return vy_fail(error, VYRE_TIMEOUT, NULL, "a poll ended the dispatch");
    if (worker->trapped && !(found && run->oracle->is_legal))
        return vy_fail_trapped(run->program, worker->trap_stmt, &worker->trap, error);
    vyre_status status = worker->is_over || worker->trapped ? VYRE_OK : deliver(run, outputs, error);
    if (status == VYRE_OK && found)
        status = vy_diagnostics_fail(run->diagnostics, VYRE_CHECK_FAILED,
                                     "the checkers of the oracle found a program error", error);
    return status;
}

static void fill_report(const vy_run *run, const vy_worker *worker, vyre_oracle_report *report) {
    report->trap = worker->trap;
    report->steps = worker->steps;
    report->evaluations = worker->evaluations;
    report->prints = worker->prints;
    report->invocations = run->launch->invocations;
    memcpy(report->groups, run->launch->groups, sizeof report->groups);
}

/* ---- the run ---- */

static vyre_status run_in_block(vy_run *run, const plan *p, uint8_t *block, vyre_bytes *outputs,
                                vyre_oracle_report *report, vyre_error *error) {
    vy_worker worker;
    vy_group *groups = (vy_group *)(block + p->groups);
    if (run->options->checks)
        run->check = vy_shadow_place(run, block + p->check, memory_limit(run) - run->memory);
    place_buffers(run, block, p);
    vy_worker_place(&worker, run, block + p->worker);
    place_groups(run, block, p, groups);
    worker.group = groups;
    run_grid(run, &worker, groups, p->group_count);
    if (report)
        fill_report(run, &worker, report);
    vyre_status status = finish(run, &worker, outputs, error);
    for (uint64_t g = 0; run->check && g < p->group_count; g++)
        vy_shadow_group_free(run, groups[g].check);
    if (run->check)
        vy_shadow_free(run);
    return status;
}

static vyre_status launch_under(const vyre_oracle *oracle, const vy_resolved_dispatch *launch,
                                const vyre_oracle_options *options, const vy_lowered_env *conditions, vy_run_end end,
                                vyre_bytes *outputs, vyre_oracle_report *report, vyre_diagnostics *diagnostics,
                                vyre_error *error) {
    static const vyre_oracle_options defaults = {0};
    vy_run run = {.oracle = oracle,
                  .program = oracle->program,
                  .launch = launch,
                  .options = options ? options : &defaults,
                  .conditions = *conditions,
                  .end = end};
    if (report)
        memset(report, 0, sizeof *report);
    vy_layout_choose(oracle, launch, run.options, &run.layout);
    plan p = make_plan(&run);
    if (p.size > memory_limit(&run))
        return refuse_memory(&run, &p, error);
    uint8_t *block = vy_allocate_zero((size_t)p.size);
    if (!block)
        return vy_fail_memory(error, "the buffers and registers of a run");
    run.memory = p.size;
    /* If the caller has no list, uses a temporary one, so that the error can quote the first finding. */
    vyre_diagnostics *own =
        diagnostics || !(run.options->checks || oracle->has_sync || oracle->is_legal) ? NULL : vyre_diagnostics_new();
    run.diagnostics = diagnostics ? diagnostics : own;
    pthread_mutex_init(&run.lock, NULL);
    vyre_status status = run_in_block(&run, &p, block, outputs, report, error);
    pthread_mutex_destroy(&run.lock);
    vyre_diagnostics_free(own);
    vy_release(block, (size_t)p.size);
    return status;
}

/* Schedule fuzzing also varies the garbage. */
static vy_lowered_env usual_conditions(const vyre_oracle_options *options) {
    uint64_t seed = options ? options->seed : 0;
    return (vy_lowered_env){.garbage = seed, .misalignment = seed};
}

vyre_status vy_oracle_launch(const vyre_oracle *oracle, const vy_resolved_dispatch *launch,
                             const vyre_oracle_options *options, vy_run_end end, vyre_bytes *outputs,
                             vyre_oracle_report *report, vyre_diagnostics *diagnostics, vyre_error *error) {
    const vy_lowered_env conditions = usual_conditions(options);
    return launch_under(oracle, launch, options, &conditions, end, outputs, report, diagnostics, error);
}

vyre_status vy_oracle_run_under(const vyre_oracle *oracle, const vyre_arguments *arguments,
                                const vyre_oracle_options *options, const vy_lowered_env *conditions,
                                vyre_bytes *outputs, vyre_oracle_report *report, vyre_diagnostics *diagnostics,
                                vyre_error *error) {
    vy_resolved_dispatch launch;
    if (report)
        memset(report, 0, sizeof *report);
    vyre_status status = vy_resolve_dispatch(oracle->program, arguments, &launch, error);
    if (status != VYRE_OK)
        return status;
    return launch_under(oracle, &launch, options, conditions, (vy_run_end){0, NULL}, outputs, report, diagnostics,
                        error);
}

vyre_status vyre_oracle_run(const vyre_oracle *oracle, const vyre_arguments *arguments,
                            const vyre_oracle_options *options, vyre_bytes *outputs, vyre_oracle_report *report,
                            vyre_diagnostics *diagnostics, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    static const vyre_arguments nothing;
    VY_REQUIRE(error, oracle);
    VY_REQUIRE_ARRAY(error, outputs, vyre_program_output_count(oracle->program));
    const vy_lowered_env conditions = usual_conditions(options);
    return vy_oracle_run_under(oracle, arguments ? arguments : &nothing, options, &conditions, outputs, report,
                               diagnostics, error);
}
