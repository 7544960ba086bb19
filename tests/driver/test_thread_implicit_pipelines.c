/* The table of implicit pipelines: lookup, eviction and reference counts, with one thread and with many. */
#include "driver/pipeline.h"
#include "support/test.h"

#include <stdatomic.h>

/* A value that counts its references; it is freed at 0. */
typedef struct code {
    atomic_int references;
    int number;
} code;

static atomic_int alive;

static code *code_new(int number) {
    code *made = malloc(sizeof *made);
    atomic_init(&made->references, 1);
    made->number = number;
    atomic_fetch_add(&alive, 1);
    return made;
}

static void *retain(void *of) {
    atomic_fetch_add(&((code *)of)->references, 1);
    return of;
}

static void release(void *of) {
    if (atomic_fetch_sub(&((code *)of)->references, 1) != 1)
        return;
    atomic_fetch_sub(&alive, 1);
    free(of);
}

typedef struct room {
    pthread_mutex_t lock;
    vy_implicit_pipelines programs;
} room;

static void open_room(room *r) {
    pthread_mutex_init(&r->lock, NULL);
    r->programs = (vy_implicit_pipelines){.lock = &r->lock, .retain = retain, .release = release};
}

/* Nothing may be left but what callers hold. */
static void close_room(room *r, int held) {
    vy_implicit_pipelines_clear(&r->programs);
    assert_int_equal(atomic_load(&alive), held);
    pthread_mutex_destroy(&r->lock);
}

/* Programs that differ by a number. */
static vyre_program *program_of(int number) {
    char text[160];
    snprintf(text, sizeof text,
             "program p {\n  buffer a : u32 read_write\n  workgroup 1\n  grid over a\n  a[0] = %d\n}\n", number);
    return vy_test_parse(text);
}

/* The number of the code that is found; -1: none is. */
static int found(room *r, int program) {
    vyre_program *p = program_of(program);
    code *c = vy_implicit_pipelines_find(&r->programs, p);
    int number = c ? c->number : -1;
    if (c)
        release(c);
    vyre_program_release(p);
    return number;
}

static code *keep(room *r, int program, int number) {
    vyre_program *p = program_of(program);
    code *c = vy_implicit_pipelines_insert(&r->programs, p, code_new(number));
    vyre_program_release(p);
    return c;
}

static void equal_programs_have_one_code(void **state) {
    (void)state;
    room r;
    open_room(&r);
    assert_int_equal(found(&r, 1), -1);
    release(keep(&r, 1, 10));
    release(keep(&r, 2, 20));
    assert_int_equal(found(&r, 1), 10);
    assert_int_equal(found(&r, 2), 20);
    assert_int_equal(found(&r, 3), -1);
    close_room(&r, 0);
}

static void who_was_slower_gets_what_the_other_has_kept(void **state) {
    (void)state;
    room r;
    open_room(&r);
    code *first = keep(&r, 1, 10), *second = keep(&r, 1, 11);
    assert_ptr_equal(first, second);
    assert_int_equal(atomic_load(&alive), 1);
    release(first);
    release(second);
    close_room(&r, 0);
}

static void the_one_used_longest_ago_makes_room_and_lives_while_it_is_used(void **state) {
    (void)state;
    room r;
    open_room(&r);
    for (int i = 0; i < VY_IMPLICIT_PIPELINES_MAX; i++)
        release(keep(&r, i, i));
    assert_int_equal(found(&r, 0), 0); /* now 1 is the oldest */
    vyre_program *one = program_of(1);
    code *held = vy_implicit_pipelines_find(&r.programs, one);
    vyre_program_release(one);
    for (int i = 0; i < VY_IMPLICIT_PIPELINES_MAX; i++) /* all others are used after it */
        if (i != 1)
            assert_int_equal(found(&r, i), i);
    release(keep(&r, 100, 100));
    assert_int_equal(found(&r, 1), -1);
    assert_int_equal(found(&r, 0), 0);
    assert_int_equal(found(&r, 100), 100);
    assert_int_equal(held->number, 1);
    vy_implicit_pipelines_clear(&r.programs);
    assert_int_equal(found(&r, 100), -1);
    close_room(&r, 1);
    release(held);
    assert_int_equal(atomic_load(&alive), 0);
}

/* ---- many threads ---- */

enum { THREADS = 4, ROUNDS = 300, PROGRAMS = VY_IMPLICIT_PIPELINES_MAX + 8 };

typedef struct crowd {
    room r;
    vyre_program *programs[PROGRAMS];
    atomic_int wrong;
} crowd;

static void *use_programs(void *of) {
    crowd *all = of;
    for (int i = 0; i < ROUNDS; i++) {
        int number = (i * 7) % PROGRAMS;
        code *c = vy_implicit_pipelines_find(&all->r.programs, all->programs[number]);
        if (!c)
            c = vy_implicit_pipelines_insert(&all->r.programs, all->programs[number], code_new(number));
        atomic_fetch_add(&all->wrong, c->number != number);
        release(c);
        if (i % 100 == 99)
            vy_implicit_pipelines_clear(&all->r.programs);
    }
    return NULL;
}

static void threads_that_find_keep_and_forget_get_the_code_of_their_program(void **state) {
    (void)state;
    crowd all = {.wrong = 0};
    pthread_t threads[THREADS];
    open_room(&all.r);
    for (int i = 0; i < PROGRAMS; i++)
        all.programs[i] = program_of(i);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_programs, &all), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&all.wrong), 0);
    close_room(&all.r, 0);
    for (int i = 0; i < PROGRAMS; i++)
        vyre_program_release(all.programs[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_programs_have_one_code),
        cmocka_unit_test(who_was_slower_gets_what_the_other_has_kept),
        cmocka_unit_test(the_one_used_longest_ago_makes_room_and_lives_while_it_is_used),
        cmocka_unit_test(threads_that_find_keep_and_forget_get_the_code_of_their_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
