/* Dispatches in flight: natively and on threads of the library, waited for, cancelled, freed, outliving their
 * backend. */
#include "driver/fake_async.h"
#include "support/fault.h"
#include "vyre/telemetry.h"

static const uint64_t FOR_EVER = UINT64_MAX;

typedef struct world {
    fake *f;
    vyre_backend *backend;
    _Atomic int destroyed;
    fake_case c;
    vyre_outputs outputs;
    vyre_error error;
} world;

/* native: the fake's own asynchronous entries; otherwise the library's threads. */
static void open_world(world *w, int native) {
    memset(w, 0, sizeof *w);
    w->f = later_new();
    if (!native)
        w->f->table.dispatch_async = NULL, w->f->table.dispatch_borrowed_async = NULL;
    w->f->is_shared = !native;
    w->backend = fake_open(w->f);
    fake_case_open(&w->c);
}

/* A thread of the library may hold the last reference for a moment. */
static void await_destruction(_Atomic int *destroyed) {
    for (int i = 0; i < 5000 && !atomic_load(destroyed); i++)
        usleep(1000);
    assert_int_equal(atomic_load(destroyed), 1);
}

static void close_world(world *w) {
    w->f->destroyed = &w->destroyed;
    vyre_outputs_free(&w->outputs);
    fake_case_close(&w->c);
    vyre_backend_release(w->backend);
    await_destruction(&w->destroyed);
    assert_int_equal(atomic_load(&later.alive), 0);
}

static vyre_pending *begin(world *w, const vyre_dispatch_config *config) {
    vyre_pending *p = NULL;
    if (vyre_backend_dispatch_async(w->backend, w->c.program, &w->c.arguments, config, &p, &w->error) != VYRE_OK)
        fail_msg("%s", w->error.message);
    return p;
}

static void a_dispatch_gives_what_a_synchronous_one_gives(void **state) {
    (void)state;
    for (int native = 0; native < 2; native++) {
        world w;
        open_world(&w, native);
        vyre_pending *p = begin(&w, NULL);
        w.c.arguments.params = NULL; /* borrowed memory is not needed any more */
        memset(w.c.inputs, 0, sizeof w.c.inputs);
        assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
        fake_case_check(&w.c, &w.outputs);
        assert_true(vyre_pending_is_ready(p));
        assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_INVALID_ARGUMENT);
        assert_non_null(strstr(w.error.message, "collected before"));
        vyre_pending_free(p);
        assert_int_equal(atomic_load(&later.started), native);
        close_world(&w);
    }
}

static void the_owned_form_reaches_the_owned_entry(void **state) {
    (void)state;
    world w;
    open_world(&w, 1);
    vyre_pending *p = NULL;
    vyre_bytes owned = {w.c.x, sizeof w.c.x, sizeof w.c.x};
    assert_int_equal(
        vyre_backend_dispatch_owned_async(w.backend, w.c.program, &owned, 1, &w.c.arguments, NULL, &p, &w.error),
        VYRE_OK);
    assert_int_equal(atomic_load(&later.started_owned), 1);
    assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
    fake_case_check(&w.c, &w.outputs);
    vyre_pending_free(p);
    close_world(&w);
}

static void each_native_entry_stands_for_the_other(void **state) {
    (void)state;
    for (int keep_owned = 0; keep_owned < 2; keep_owned++)
        for (int ask_owned = 0; ask_owned < 2; ask_owned++) {
            world w;
            memset(&w, 0, sizeof w);
            w.f = later_new();
            *(keep_owned ? (void **)&w.f->table.dispatch_borrowed_async : (void **)&w.f->table.dispatch_async) = NULL;
            w.backend = fake_open(w.f);
            fake_case_open(&w.c);
            vyre_pending *p = NULL;
            vyre_bytes owned = {w.c.x, sizeof w.c.x, sizeof w.c.x};
            vyre_status status =
                ask_owned ? vyre_backend_dispatch_owned_async(w.backend, w.c.program, &owned, 1, &w.c.arguments, NULL,
                                                              &p, &w.error)
                          : vyre_backend_dispatch_async(w.backend, w.c.program, &w.c.arguments, NULL, &p, &w.error);
            assert_int_equal(status, VYRE_OK);
            assert_int_equal(atomic_load(&later.started), 1);
            assert_int_equal(atomic_load(&later.started_owned), keep_owned);
            assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
            fake_case_check(&w.c, &w.outputs);
            vyre_pending_free(p);
            close_world(&w);
        }
}

static void everything_reaches_the_native_entry_unchanged(void **state) {
    (void)state;
    world w;
    open_world(&w, 1);
    vyre_pending *p = begin(&w, &(vyre_dispatch_config){.label = "seven"});
    assert_ptr_equal(later.seen.program, w.c.program);
    assert_int_equal(later.seen.param_count, 1);
    assert_int_equal(later.seen.buffer_count, 2);
    assert_int_equal(later.seen.groups[0], 3);
    assert_int_equal(later.seen.groups[1], 1);
    assert_int_equal(later.seen.groups[2], 1);
    assert_string_equal(later.seen_label, "seven");
    assert_non_null(later.seen.cancel);
    assert_int_equal(w.f->calls[FAKE_prepare], 1);
    vyre_pending_free(p);
    close_world(&w);
}

static void what_can_be_refused_is_refused_at_the_start(void **state) {
    (void)state;
    for (int native = 0; native < 2; native++) {
        world w;
        open_world(&w, native);
        vyre_pending *p = (vyre_pending *)&w;
        w.c.arguments.input_count = 0;
        assert_int_equal(vyre_backend_dispatch_async(w.backend, w.c.program, &w.c.arguments, NULL, &p, &w.error),
                         VYRE_INVALID_ARGUMENT);
        assert_null(p);
        assert_true(w.error.fix[0]);
        close_world(&w);
    }
}

static void a_failed_start_is_the_calls_error(void **state) {
    (void)state;
    world w;
    open_world(&w, 1);
    vyre_pending *p;
    atomic_store(&later.fail_start, VYRE_NO_DEVICE_MEMORY);
    assert_int_equal(vyre_backend_dispatch_async(w.backend, w.c.program, &w.c.arguments, NULL, &p, &w.error),
                     VYRE_NO_DEVICE_MEMORY);
    assert_string_equal(w.error.message, "cannot start");
    close_world(&w);
}

static void a_failure_while_running_comes_from_wait(void **state) {
    (void)state;
    world w;
    open_world(&w, 1);
    atomic_store(&later.fail_wait, VYRE_NO_DEVICE_MEMORY);
    vyre_pending *p = begin(&w, NULL);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_NO_DEVICE_MEMORY);
        assert_string_equal(w.error.message, "failed while running");
        assert_true(w.error.fix[0]);
    }
    assert_int_equal(w.outputs.count, 0);
    vyre_pending_free(p);
    close_world(&w);
}

static void a_trap_comes_with_its_place(void **state) {
    (void)state;
    world w;
    open_world(&w, 1);
    vyre_trap trap = {0, 0};
    atomic_store(&later.trap, 1);
    vyre_pending *p = begin(&w, NULL);
    assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, &trap, &w.error), VYRE_TRAPPED);
    assert_int_equal(trap.invocation, 3);
    assert_int_equal(trap.code, 7);
    vyre_pending_free(p);
    close_world(&w);
}

static void wrong_answers_are_contained(void **state) {
    (void)state;
    world w;
    open_world(&w, 1);
    atomic_store(&later.short_output, 1);
    vyre_pending *p = begin(&w, NULL);
    assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_CORRUPT);
    vyre_pending_free(p);
    atomic_store(&later.short_output, 0);
    atomic_store(&later.lie_about_deadlines, 1);
    atomic_store(&later.hold, 1);
    p = begin(&w, NULL);
    assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_CORRUPT);
    vyre_pending_free(p);
    later_table.struct_size = 8;
    atomic_store(&later.hold, 0);
    assert_int_equal(vyre_backend_dispatch_async(w.backend, w.c.program, &w.c.arguments, NULL, &p, &w.error),
                     VYRE_CORRUPT);
    later_destroy(later.last); /* a handle without a way back is lost to the library, as it must be */
    close_world(&w);
}

static void waiting_stops_at_its_timeout_and_can_go_on(void **state) {
    (void)state;
    for (int native = 0; native < 2; native++) {
        world w;
        open_world(&w, native);
        atomic_store(&later.hold, 1);
        w.f->hang_ms = native ? 0 : 60;
        vyre_pending *p = begin(&w, NULL);
        assert_false(vyre_pending_is_ready(p));
        assert_int_equal(vyre_pending_wait(p, 0, &w.outputs, NULL, &w.error), VYRE_NOT_READY);
        assert_int_equal(vyre_pending_wait(p, 1000000, &w.outputs, NULL, &w.error), VYRE_NOT_READY);
        assert_non_null(strstr(w.error.message, "has not finished yet"));
        atomic_store(&later.hold, 0);
        assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
        fake_case_check(&w.c, &w.outputs);
        vyre_pending_free(p);
        close_world(&w);
    }
}

static void a_cancelled_dispatch_is_ready_at_once_and_delivers_nothing(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) { /* threads, native, native without `cancel` */
        world w;
        vyre_counters before, after;
        open_world(&w, kind > 0);
        atomic_store(&later.hold, 1);
        if (kind == 2)
            later_table.cancel = NULL;
        w.f->hang_ms = kind ? 0 : 30;
        vyre_counters_get(&before);
        vyre_pending *p = begin(&w, NULL);
        vyre_pending_cancel(p);
        assert_true(vyre_pending_is_ready(p));
        for (int again = 0; again < 2; again++)
            assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_CANCELLED);
        vyre_pending_cancel(p);
        vyre_counters_get(&after);
        assert_int_equal(after.cancellations - before.cancellations, 1);
        assert_int_equal(after.async_dispatches - before.async_dispatches, 1);
        assert_int_equal(w.outputs.count, 0);
        assert_int_equal(atomic_load(&later.cancelled), kind == 1);
        vyre_pending_free(p);
        atomic_store(&later.hold, 0);
        close_world(&w);
        vyre_counters_get(&after);
        assert_int_equal(after.pending, before.pending);
    }
}

static void a_handle_can_be_freed_at_any_time(void **state) {
    (void)state;
    for (int native = 0; native < 2; native++)
        for (int when = 0; when < 3; when++) { /* immediately, when done, never waited for */
            world w;
            open_world(&w, native);
            atomic_store(&later.hold, native && when == 0);
            vyre_pending *p = begin(&w, NULL);
            while (when == 1 && !vyre_pending_is_ready(p))
                usleep(100);
            vyre_pending_free(p);
            atomic_store(&later.hold, 0);
            close_world(&w);
        }
    vyre_pending_free(NULL);
}

static void a_handle_keeps_its_backend_and_program(void **state) {
    (void)state;
    for (int native = 0; native < 2; native++) {
        world w;
        _Atomic int destroyed = 0;
        open_world(&w, native);
        w.f->destroyed = &destroyed;
        atomic_store(&later.hold, native);
        w.f->hang_ms = native ? 0 : 20;
        vyre_pending *p = begin(&w, NULL);
        vyre_backend_release(w.backend);
        fake_case_close(&w.c);
        assert_int_equal(atomic_load(&destroyed), 0);
        atomic_store(&later.hold, 0);
        assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
        fake_case_check(&w.c, &w.outputs);
        vyre_pending_free(p);
        vyre_outputs_free(&w.outputs);
        await_destruction(&destroyed);
    }
}

static void shutdown_finishes_what_is_in_flight(void **state) {
    (void)state;
    for (int native = 0; native < 2; native++) {
        world w;
        vyre_pending *p[8], *late;
        open_world(&w, native);
        w.f->hang_ms = native ? 0 : 5;
        for (int i = 0; i < 8; i++)
            p[i] = begin(&w, NULL);
        assert_int_equal(vyre_backend_shutdown(w.backend, &w.error), VYRE_OK);
        for (int i = 0; i < 8; i++) {
            assert_true(vyre_pending_is_ready(p[i]));
            assert_int_equal(vyre_pending_wait(p[i], 0, &w.outputs, NULL, &w.error), VYRE_OK);
            fake_case_check(&w.c, &w.outputs);
            vyre_pending_free(p[i]);
        }
        assert_int_equal(vyre_backend_dispatch_async(w.backend, w.c.program, &w.c.arguments, NULL, &late, &w.error),
                         VYRE_DEVICE_LOST);
        close_world(&w);
    }
}

static void flush_waits_for_what_was_started(void **state) {
    (void)state;
    for (int native = 0; native < 2; native++) {
        world w;
        open_world(&w, native);
        w.f->hang_ms = native ? 0 : 10;
        vyre_pending *p = begin(&w, NULL);
        assert_int_equal(vyre_backend_flush(w.backend, &w.error), VYRE_OK);
        assert_true(vyre_pending_is_ready(p));
        assert_int_equal(vyre_pending_wait(p, 0, &w.outputs, NULL, &w.error), VYRE_OK);
        vyre_pending_free(p);
        close_world(&w);
    }
}

static void loss_ends_everything_and_recovery_waits_for_it(void **state) {
    (void)state;
    for (int native = 0; native < 2; native++) {
        world w;
        vyre_pending *p[4];
        open_world(&w, native);
        if (native)
            atomic_store(&later.fail_wait, VYRE_DEVICE_LOST);
        else
            w.f->fail_entry = FAKE_dispatch_borrowed, w.f->fail_at = 1, w.f->fail_with = VYRE_DEVICE_LOST;
        w.f->hang_ms = native ? 0 : 10;
        for (int i = 0; i < 4; i++)
            p[i] = begin(&w, NULL);
        vyre_status status = vyre_pending_wait(p[0], FOR_EVER, &w.outputs, NULL, &w.error);
        int lost = status == VYRE_DEVICE_LOST;
        for (int i = 1; i < 4; i++)
            lost += vyre_pending_wait(p[i], FOR_EVER, &w.outputs, NULL, &w.error) == VYRE_DEVICE_LOST;
        assert_true(native ? lost == 4 : lost >= 1);
        assert_true(vyre_backend_device_lost(w.backend));
        assert_int_equal(vyre_backend_try_recover(w.backend, &w.error), VYRE_OK);
        atomic_store(&later.fail_wait, 0);
        vyre_pending *again = begin(&w, NULL);
        assert_int_equal(vyre_pending_wait(again, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
        vyre_pending_free(again);
        for (int i = 0; i < 4; i++)
            vyre_pending_free(p[i]);
        close_world(&w);
    }
}

static void a_deadline_ends_a_dispatch_nobody_can_stop(void **state) {
    (void)state;
    world w;
    open_world(&w, 1); /* native, but it cannot cancel: the road of the library's threads */
    w.f->is_shared = 1;
    w.f->hang_ms = 300;
    vyre_pending *p = begin(&w, &(vyre_dispatch_config){.timeout_ns = 20000000});
    assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_TIMEOUT);
    assert_true(vyre_pending_is_ready(p));
    assert_int_equal(atomic_load(&later.started), 0);
    assert_true(vyre_backend_device_lost(w.backend));
    vyre_pending_free(p);
    close_world(&w);
}

static void a_backend_that_keeps_deadlines_gets_them(void **state) {
    (void)state;
    world w;
    memset(&w, 0, sizeof w);
    w.f = later_new();
    w.f->can_cancel = 1;
    w.backend = fake_open(w.f);
    w.backend->is_built_in = 1; /* of a plug-in it is not believed (driver.thread_deadline) */
    fake_case_open(&w.c);
    atomic_store(&later.hold, 1);
    atomic_store(&later.keeps_deadlines, 1);
    vyre_pending *p = begin(&w, &(vyre_dispatch_config){.timeout_ns = 5000000});
    assert_true(later.seen.deadline_ns != 0);
    assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_TIMEOUT);
    assert_true(vyre_pending_is_ready(p));
    assert_string_equal(w.error.message, "past its deadline");
    assert_false(vyre_backend_device_lost(w.backend));
    vyre_pending_free(p);
    close_world(&w);
}

static void an_empty_grid_reaches_no_backend(void **state) {
    (void)state;
    world w;
    open_world(&w, 1);
    w.c.arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {0, 1, 1}};
    vyre_pending *p = begin(&w, NULL);
    assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
    assert_int_equal(w.outputs.count, 2);
    assert_memory_equal(w.outputs.items[0].data, w.c.x, sizeof w.c.x);
    assert_int_equal(atomic_load(&later.started), 0);
    vyre_pending_free(p);
    close_world(&w);
}

static void what_runs_in_stages_takes_the_synchronous_road(void **state) {
    (void)state;
    world w;
    vyre_module *module;
    memset(&w, 0, sizeof w);
    w.f = later_new();
    w.f->no_grid_sync = 1;
    w.backend = fake_open(w.f);
    fake_case_open(&w.c);
    vyre_program *program =
        fake_parse("program p {\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n workgroup 4\n"
                   "grid over x\n let i = global_id.x\n x[i] = x[i] + 1\n grid_barrier\n y[i] = x[len(x) - 1 - i] }",
                   &module);
    w.c.arguments.params = NULL, w.c.arguments.param_count = 0;
    vyre_pending *p = NULL;
    assert_int_equal(vyre_backend_dispatch_async(w.backend, program, &w.c.arguments, NULL, &p, &w.error), VYRE_OK);
    assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
    assert_int_equal(atomic_load(&later.started), 0);
    for (uint32_t i = 0; i < FAKE_N; i++)
        assert_int_equal(((uint32_t *)w.outputs.items[1].data)[i], w.c.x[FAKE_N - 1 - i] + 1);
    vyre_pending_free(p);
    vyre_module_free(module);
    close_world(&w);
}

static void slots_are_counted_when_they_are_taken(void **state) {
    (void)state;
    for (int native = 0; native < 2; native++) {
        world w;
        vyre_counters before, after;
        open_world(&w, native);
        vyre_counters_get(&before);
        for (int i = 0; i < 3; i++) {
            vyre_pending *p = begin(&w, NULL);
            assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
            vyre_pending_free(p);
        }
        vyre_counters_get(&after);
        assert_int_equal(after.slots_appended - before.slots_appended, 2);
        assert_int_equal(after.slots_reused - before.slots_reused, 4);
        assert_int_equal(after.output_bytes - before.output_bytes, 3 * 2 * sizeof w.c.x);
        assert_int_equal(after.input_bytes - before.input_bytes, 3 * sizeof w.c.x);
        assert_int_equal(after.dispatches - before.dispatches, 3);
        close_world(&w);
    }
}

static void hundreds_are_in_flight_at_once(void **state) {
    (void)state;
    enum { MANY = 300 };
    for (int native = 0; native < 2; native++) {
        world w;
        static vyre_pending *p[MANY];
        open_world(&w, native);
        w.f->is_shared = 1;
        w.f->hang_ms = 1;
        atomic_store(&later.hold, native);
        for (int i = 0; i < MANY; i++)
            p[i] = begin(&w, NULL);
        atomic_store(&later.hold, 0);
        for (int i = MANY; i-- > 0;) {
            assert_int_equal(vyre_pending_wait(p[i], FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
            fake_case_check(&w.c, &w.outputs);
            vyre_pending_free(p[i]);
        }
        close_world(&w);
    }
}

/* One whole use, for faults: start, wait, free. */
static vyre_status use(world *w) {
    vyre_pending *p = NULL;
    vyre_status status = vyre_backend_dispatch_async(w->backend, w->c.program, &w->c.arguments, NULL, &p, &w->error);
    if (status != VYRE_OK)
        return status;
    status = vyre_pending_wait(p, FOR_EVER, &w->outputs, NULL, &w->error);
    vyre_pending_free(p);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    vy_fault_install();
    for (int native = 0; native < 2; native++) {
        int was_delivered = 1;
        for (size_t k = 1; was_delivered; k++) {
            world w;
            open_world(&w, native);
            vy_fault_start(k);
            vyre_status status = use(&w);
            was_delivered = vy_fault_stop();
            if (status != VYRE_OK)
                assert_int_equal(status, VYRE_NO_MEMORY);
            assert_true(status == VYRE_OK || was_delivered);
            assert_true(k < 200);
            close_world(&w);
            for (int i = 0; i < 5000 && vy_fault_live_blocks(); i++)
                usleep(1000);
            assert_int_equal(vy_fault_live_blocks(), 0);
        }
    }
    assert_int_equal(vy_fault_mismatches(), 0);
    vy_fault_remove();
}

/* A backend that refills what it is given gets memory that was used before, and what the caller had is used next. */
static void large_slots_change_hands(void **state) {
    (void)state;
    enum { COUNT = 1 << 18, ROUNDS = 4 };
    static const char text[] = "program one {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n"
                               " let i = global_id.x\n if i < len(x) { x[i] = x[i] + 1 }\n}\n";
    for (int native = 0; native < 2; native++) {
        world w;
        vyre_module *module;
        const void *had[ROUNDS];
        open_world(&w, native);
        vyre_program *program = fake_parse(text, &module);
        uint32_t *x = calloc(COUNT, sizeof *x);
        assert_non_null(x);
        vyre_span input = {x, COUNT * sizeof *x};
        vyre_arguments arguments = {.inputs = &input, .input_count = 1};
        for (uint32_t round = 0; round < ROUNDS; round++) {
            vyre_pending *p;
            x[COUNT - 1] = round;
            assert_int_equal(vyre_backend_dispatch_async(w.backend, program, &arguments, NULL, &p, &w.error), VYRE_OK);
            assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
            vyre_pending_free(p);
            assert_int_equal(w.outputs.items[0].size, input.size);
            assert_int_equal(((uint32_t *)w.outputs.items[0].data)[0], 1);
            assert_int_equal(((uint32_t *)w.outputs.items[0].data)[COUNT - 1], round + 1);
            had[round] = w.outputs.items[0].data;
            if (native && round >= 2)
                assert_ptr_equal(had[round], had[round - 2]);
        }
        /* Failure leaves the caller what it has. */
        if (native) {
            vyre_pending *p;
            atomic_store(&later.fail_wait, VYRE_DEVICE_LOST);
            assert_int_equal(vyre_backend_dispatch_async(w.backend, program, &arguments, NULL, &p, &w.error), VYRE_OK);
            assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_DEVICE_LOST);
            vyre_pending_free(p);
            assert_ptr_equal(w.outputs.items[0].data, had[ROUNDS - 1]);
            assert_int_equal(((uint32_t *)w.outputs.items[0].data)[COUNT - 1], ROUNDS);
        }
        free(x);
        vyre_module_free(module);
        close_world(&w);
    }
}

/* A thread that has waited for all its dispatches and drops all its references closes the backend itself: no thread of
 * the library exists when it returns. */
static void the_end_of_work_leaves_nothing_behind_it(void **state) {
    (void)state;
    for (int round = 0; round < 200; round++) {
        world w;
        vyre_completions *queue = NULL;
        int by_queue = round & 2;
        open_world(&w, round & 1);
        w.f->destroyed = &w.destroyed;
        if (by_queue)
            assert_int_equal(vyre_completions_new(&queue, &w.error), VYRE_OK);
        vyre_pending *p = begin(&w, NULL), *given = p;
        if (by_queue) {
            assert_int_equal(vyre_completions_attach(queue, p, 7, &w.error), VYRE_OK);
            assert_int_equal(vyre_completions_next(queue, FOR_EVER, &given, NULL, &w.error), VYRE_OK);
        }
        assert_ptr_equal(given, p);
        assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
        vyre_pending_free(p);
        vyre_completions_free(queue);
        vyre_backend_release(w.backend);
        assert_int_equal(atomic_load(&w.destroyed), 1);
        assert_int_equal(atomic_load(&later.alive), 0);
        vyre_outputs_free(&w.outputs);
        fake_case_close(&w.c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            any_allocation_may_fail), /* first: it changes the allocator, which threads of others may still use */
        cmocka_unit_test(a_dispatch_gives_what_a_synchronous_one_gives),
        cmocka_unit_test(the_owned_form_reaches_the_owned_entry),
        cmocka_unit_test(each_native_entry_stands_for_the_other),
        cmocka_unit_test(everything_reaches_the_native_entry_unchanged),
        cmocka_unit_test(what_can_be_refused_is_refused_at_the_start),
        cmocka_unit_test(a_failed_start_is_the_calls_error),
        cmocka_unit_test(a_failure_while_running_comes_from_wait),
        cmocka_unit_test(a_trap_comes_with_its_place),
        cmocka_unit_test(wrong_answers_are_contained),
        cmocka_unit_test(waiting_stops_at_its_timeout_and_can_go_on),
        cmocka_unit_test(a_cancelled_dispatch_is_ready_at_once_and_delivers_nothing),
        cmocka_unit_test(a_handle_can_be_freed_at_any_time),
        cmocka_unit_test(a_handle_keeps_its_backend_and_program),
        cmocka_unit_test(shutdown_finishes_what_is_in_flight),
        cmocka_unit_test(flush_waits_for_what_was_started),
        cmocka_unit_test(loss_ends_everything_and_recovery_waits_for_it),
        cmocka_unit_test(a_deadline_ends_a_dispatch_nobody_can_stop),
        cmocka_unit_test(a_backend_that_keeps_deadlines_gets_them),
        cmocka_unit_test(an_empty_grid_reaches_no_backend),
        cmocka_unit_test(what_runs_in_stages_takes_the_synchronous_road),
        cmocka_unit_test(slots_are_counted_when_they_are_taken),
        cmocka_unit_test(large_slots_change_hands),
        cmocka_unit_test(hundreds_are_in_flight_at_once),
        cmocka_unit_test(the_end_of_work_leaves_nothing_behind_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
