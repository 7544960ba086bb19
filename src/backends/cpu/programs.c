/* Code of programs that are dispatched without a pipeline (cpu.h): a few places, the one used longest ago makes room. */
#include "backends/cpu/compile.h"
#include "base/status.h"
#include "driver/cache_disk.h"

/* With the lock held, as the next two. */
static vy_cpu_program *find(vy_cpu *cpu, const vyre_program *program, int cancellable) {
    for (int i = 0; i < VY_CPU_PROGRAMS; i++) {
        vy_cpu_program *place = &cpu->programs[i];
        if (place->program && place->cancellable == cancellable && vyre_program_equal(place->program, program))
            return place;
    }
    return NULL;
}

static vy_cpu_program *oldest(vy_cpu *cpu) {
    vy_cpu_program *best = &cpu->programs[0];
    for (int i = 1; i < VY_CPU_PROGRAMS; i++)
        if (best->program && (!cpu->programs[i].program || cpu->programs[i].last_use < best->last_use))
            best = &cpu->programs[i];
    return best;
}

static vy_cpu_code *use(vy_cpu *cpu, vy_cpu_program *place) {
    place->last_use = ++cpu->clock;
    return vy_cpu_code_retain(place->code);
}

vyre_status vy_cpu_program_code(vy_cpu *cpu, vyre_program *program, int cancellable, vy_cpu_code **out,
                                vyre_error *error) {
    vy_cpu_code *made;
    pthread_mutex_lock(&cpu->lock);
    vy_cpu_program *place = find(cpu, program, cancellable != 0);
    *out = place ? use(cpu, place) : NULL;
    pthread_mutex_unlock(&cpu->lock);
    if (*out)
        return VYRE_OK;
    if (vy_compile_forbidden())
        return vy_fail(error, VYRE_UNSUPPORTED, "compile a pipeline once with compiling allowed, or allow it",
                       "compiling is forbidden, and `%s` was not compiled before", vyre_program_name(program));
    vyre_status status = vy_cpu_compile(cpu, program, cancellable, &made, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&cpu->lock);
    place = oldest(cpu);
    vy_cpu_program old = *place;
    *place = (vy_cpu_program){vyre_program_retain(program), cancellable != 0, made, 0};
    *out = use(cpu, place);
    pthread_mutex_unlock(&cpu->lock);
    vy_cpu_code_release(old.code);
    vyre_program_release(old.program);
    return VYRE_OK;
}

void vy_cpu_programs_forget(vy_cpu *cpu) {
    for (int i = 0; i < VY_CPU_PROGRAMS; i++) {
        pthread_mutex_lock(&cpu->lock);
        vy_cpu_program old = cpu->programs[i];
        cpu->programs[i] = (vy_cpu_program){.program = NULL};
        pthread_mutex_unlock(&cpu->lock);
        vy_cpu_code_release(old.code);
        vyre_program_release(old.program);
    }
}
