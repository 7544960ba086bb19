/* vyre_emit: the table of targets, and what all of them share: options, ops, stages. */
#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "dialect/link.h"
#include "ir/model.h"
#include "split/grid_split.h"
#include "targets/targets.h"

#include <inttypes.h>
#include <stdio.h>

/* The options that not every target uses, one bit each. */
enum { CPU = 1, WIDTH = 2, ARCH = 4, UNWIDENED = 8, INDIRECT = 16, EXACT = 32, SUBGROUP = 64, ACCESS = 128 };

static const struct target {
    vyre_emit_target shown;
    const char *alias; /* another name that is accepted, or "" */
    unsigned options;
    vy_target_emit *emit;
} targets[] = {
    {{"llvm-ir", "ll", "LLVM IR after LLVM's optimisation passes", 1}, "llvm", CPU | WIDTH, vy_target_llvm_ir},
    {{"asm", "s", "assembly of that module, with source lines", 1}, "", CPU | WIDTH, vy_target_asm},
    {{"ptx", "ptx", "PTX, the input of NVIDIA's driver", 1}, "", ARCH | UNWIDENED | INDIRECT, vy_target_ptx},
    {{"cubin", "cubin", "machine code in a binary file; requires ptxas", 0},
     "",
     ARCH | UNWIDENED | INDIRECT,
     vy_target_cubin},
    {{"sass", "sass", "disassembly of the cubin; requires nvdisasm or cuobjdump", 1},
     "",
     ARCH | UNWIDENED | INDIRECT,
     vy_target_sass},
    {{"legal", "vyre", "the lowered program before code generation, with its remaining bounds checks", 1},
     "",
     EXACT | SUBGROUP | ACCESS,
     vy_target_legal},
};
enum { TARGETS = sizeof targets / sizeof *targets };

const vyre_emit_target *const *vyre_emit_targets(size_t *count) {
    static const vyre_emit_target *const shown[] = {&targets[0].shown, &targets[1].shown, &targets[2].shown,
                                                    &targets[3].shown, &targets[4].shown, &targets[5].shown};
    _Static_assert(sizeof shown / sizeof *shown == TARGETS, "every target is listed");
    if (count)
        *count = TARGETS;
    return shown;
}

/* The names of the targets that use the options, "a, b or c". */
static const char *list_targets(unsigned options, char *list, size_t size) {
    size_t used = 0, left = 0;
    list[0] = '\0';
    for (size_t i = 0; i < TARGETS; i++)
        left += (targets[i].options & options) == options;
    for (size_t i = 0; i < TARGETS && left; i++)
        if ((targets[i].options & options) == options) {
            const char *between = --left > 1 ? ", " : left == 1 ? " or " : "";
            int length = snprintf(list + used, size - used, "%s%s", targets[i].shown.name, between);
            used = length > 0 && (size_t)length < size - used ? used + (size_t)length : used;
        }
    return list;
}

static vyre_status find_target(const char *name, const struct target **out, vyre_error *error) {
    char list[128];
    vy_suggestion suggestion;
    vy_suggestion_start(&suggestion, name, strlen(name));
    for (size_t i = 0; i < TARGETS; i++) {
        *out = &targets[i];
        if (strcmp(name, targets[i].shown.name) == 0 || (*targets[i].alias && strcmp(name, targets[i].alias) == 0))
            return VYRE_OK;
        vy_suggestion_offer(&suggestion, targets[i].shown.name);
    }
    const char *near = vy_suggestion_get(&suggestion);
    return vy_fail(error, VYRE_INVALID_ARGUMENT,
                   near ? VY_FIX("did you mean `%s`?", near)
                        : VY_FIX("use target %s", list_targets(0, list, sizeof list)),
                   "unknown target `%.40s`", name);
}

/* ---- options ---- */

static vyre_status check_used(const struct target *target, const vyre_emit_options *o, vyre_error *error) {
    const struct {
        unsigned option;
        int is_set;
        const char *name;
    } given[] = {{CPU, o->cpu != NULL, "cpu"},
                 {WIDTH, o->width != 0, "width"},
                 {ARCH, o->arch != NULL, "arch"},
                 {UNWIDENED, o->unwidened != 0, "unwidened"},
                 {INDIRECT, o->indirect != 0, "indirect"},
                 {EXACT, o->exact != NULL, "exact"},
                 {SUBGROUP, o->subgroup != 0, "subgroup"},
                 {ACCESS, o->access != 0, "access"}};
    char list[128];
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].is_set && !(target->options & given[i].option))
            return vy_fail(error, VYRE_INVALID_ARGUMENT,
                           VY_FIX("leave `%s` out, or use target %s", given[i].name,
                                  list_targets(given[i].option, list, sizeof list)),
                           "target `%s` does not use option `%s`", target->shown.name, given[i].name);
    return VYRE_OK;
}

/* The options with their defaults, of a caller whose struct may be shorter or longer. */
static vyre_status read_options(const struct target *target, const vyre_emit_options *given, vyre_emit_options *out,
                                vyre_error *error) {
    *out = (vyre_emit_options)VYRE_EMIT_OPTIONS_INIT;
    if (given) {
        const size_t least = offsetof(vyre_emit_options, access) + sizeof given->access;
        if (given->struct_size < least)
            return vy_fail(error, VYRE_INVALID_ARGUMENT, "set struct_size to sizeof(vyre_emit_options)",
                           "the options of vyre_emit state a size of %" PRIu32 " bytes, at least %zu are expected",
                           given->struct_size, least);
        *out = *given;
    }
    vyre_status status = check_used(target, out, error);
    if (!out->cpu)
        out->cpu = "host";
    if (!out->arch)
        out->arch = "sm_90";
    if (!out->exact)
        out->exact = "all";
    return status;
}

/* ---- stages ---- */

/* Puts the stage in the place of the program, which is released. */
static vyre_status take_stage(uint32_t stage, vyre_program **program, vyre_error *error) {
    const char *name = vyre_program_name(*program);
    vy_split *split = NULL;
    if (vyre_program_level(*program) == VYRE_LEVEL_LEGAL)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "leave `stage` out, or emit the program of level source that it was made from",
                       "`%s` is at level legal, which is cut before and not after", name);
    vyre_status status = vy_grid_split(*program, &split, error);
    if (status != VYRE_OK)
        return status;
    uint32_t count = split->segment_count;
    if (stage > count) {
        status = vy_fail(error, VYRE_INVALID_ARGUMENT,
                         count == 1 ? "leave `stage` out" : VY_FIX("use a stage from 1 to %" PRIu32, count),
                         "`%s` has no stage %" PRIu32 " (%" PRIu32 ")", name, stage, count);
    } else {
        vyre_program *segment = vyre_program_retain(split->segments[stage - 1]);
        vyre_program_release(*program);
        *program = segment;
    }
    vy_split_free(split);
    return status;
}

vyre_status vyre_emit(vyre_program *program, const char *target, const vyre_emit_options *options, vyre_bytes *out,
                      vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, program);
    VY_REQUIRE(error, target);
    VY_REQUIRE(error, out);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    const struct target *found;
    vyre_emit_options complete;
    vyre_program *resolved = NULL;
    vyre_bytes made = VYRE_BYTES_INIT;
    vyre_status status = find_target(target, &found, e);
    if (status == VYRE_OK)
        status = read_options(found, options, &complete, e);
    if (status == VYRE_OK && !vy_program_has_entry(program))
        status = vy_fail(e, VYRE_INVALID_ARGUMENT, "pass a `program`, not a file of functions",
                         "a library has nothing to emit");
    if (status == VYRE_OK)
        status = vy_program_resolve_newest(program, &resolved, e);
    if (status == VYRE_OK && complete.stage)
        status = take_stage(complete.stage, &resolved, e);
    if (status == VYRE_OK)
        status = found->emit(resolved, &complete, &made, e);
    vyre_program_release(resolved);
    if (status == VYRE_OK) {
        vyre_bytes_free(out);
        *out = made;
    } else {
        vyre_bytes_free(&made);
    }
    return status;
}
