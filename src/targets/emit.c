/* vyre_emit: options, the table of targets, the targets legal, llvm-ir, asm, c and opencl, and the code of a backend
 * (vyre/emit.h). */
#include "targets/ptx.h"

#include "backends/cpu/compile.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/string.h"
#include "base/thread.h"
#include "dialect/load.h"
#include "dialect/lowering_code.h"
#include "driver/backend.h"
#include "driver/pipeline.h"
#include "emit/c/c.h"
#include "emit/opencl/opencl.h"
#include "ir/model.h"
#include "lower/bounds_checks.h"
#include "lower/legalize.h"
#include "split/grid_split.h"
#include "targets/lowering_check.h"
#include "vyre/backend.h"
#include "vyre/text.h"
#include "vyre/transform.h"
#include "vyre/wire.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- target legal ----
 *
 * The program that legalisation makes for the device that the options describe. Comments before it list the accesses
 * that kept a bounds check, and why. */

/* ---- the device ---- */

static const char *const names[VYRE_NUMERIC_COUNT] = {
#define X(ID, name, doc) name,
    VYRE_NUMERIC_LIST(X)
#undef X
};

static vyre_status find_numeric(const char *word, size_t length, uint64_t *bit, vyre_error *error) {
    vy_suggestion suggestion;
    vy_suggestion_start(&suggestion, word, length);
    for (unsigned i = 0; i < VYRE_NUMERIC_COUNT; i++) {
        vy_suggestion_offer(&suggestion, names[i]);
        *bit = UINT64_C(1) << i;
        if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0)
            return VYRE_OK;
    }
    const char *near = vy_suggestion_get(&suggestion);
    return vy_fail(error, VYRE_INVALID_ARGUMENT,
                   near ? VY_FIX("did you mean `%s`?", near)
                        : "use all, none, or names such as int64 and f32.subnormal",
                   "`exact` names unknown numerics: `%.*s`", (int)(length < 40 ? length : 40), word);
}

static vyre_status read_exact(const char *text, uint64_t *exact, vyre_error *error) {
    const uint64_t all = (UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1;
    *exact = *text == '-' ? all : 0;
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, ",");
        int is_missing = *word == '-';
        uint64_t bits = all;
        if (length == 4 && memcmp(word, "none", 4) == 0)
            bits = 0;
        else if (!(length == 3 && memcmp(word, "all", 3) == 0)) {
            vyre_status status = find_numeric(word + is_missing, length - (size_t)is_missing, &bits, error);
            if (status != VYRE_OK)
                return status;
        }
        *exact = is_missing ? *exact & ~bits : *exact | bits;
        word += length + (word[length] == ',');
    }
    return VYRE_OK;
}

static vyre_status read_target(const vyre_emit_options *options, vy_target_desc *out, vyre_error *error) {
    const uint32_t subgroup = options->subgroup, access = options->access;
    if (subgroup > 64 || (subgroup & (subgroup - 1)) || subgroup == 1)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "use 2, 4, 8, 16, 32 or 64",
                       "the width of a subgroup is %" PRIu32 ", not a power of two from 2 to 64", subgroup);
    if (access != 0 && access != 4 && access != 8 && access != 16)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "use 4, 8 or 16",
                       "the widest access is %" PRIu32 " bytes, not 4, 8 or 16", access);
    *out = (vy_target_desc){.cancellable = (uint8_t)(options->cancellable != 0)};
    out->subgroup_width = subgroup;
    out->access_bytes = access;
    return read_exact(options->exact, &out->exact, error);
}

/* ---- guards ---- */

static void add_guards(vy_string *out, const vyre_program *program, const vy_bounds_check_report *guards) {
    static const char *const kinds[VY_STMT_KIND_COUNT] = {
        [VY_STMT_LOAD_WIDE] = "load of", [VY_STMT_STORE] = "store to", [VY_STMT_ATOMIC] = "atomic on"};
    vy_string_format(out,
                     "// %" PRIu32 " accesses: %" PRIu32 " proven inside, %" PRIu32 " outside, %" PRIu32 " tested\n",
                     guards->accesses, guards->proven, guards->outside, guards->guarded);
    for (uint32_t i = 0; i < guards->left.count; i++) {
        const vy_residual_check *left = &guards->left.items[i];
        char why[320];
        vy_residual_check_text(program, left, why, sizeof why);
        vy_string_format(out, "//   line %" PRIu32 ", %s `%s`: %s\n", left->position.line, kinds[left->kind],
                         vy_symbol_name(program, program->memories.items[left->memory].name), why);
    }
}

/* The phase alone, on the program as legalisation begins with it. */
static vyre_status find_guards(vyre_program *program, vy_string *out, vyre_error *error) {
    vy_bounds_check_report guards = {0};
    vyre_program *filled = NULL, *guarded = NULL;
    vyre_status status = vy_legalize_zero_init(program, &filled, error);
    if (status == VYRE_OK)
        status = vy_legalize_bounds_checks(filled, &vy_bounds_check_default, &guards, &guarded, error);
    if (status == VYRE_OK)
        add_guards(out, filled, &guards);
    vy_bounds_check_report_free(&guards);
    vyre_program_release(guarded);
    vyre_program_release(filled);
    return status;
}

/* ---- the text ---- */

static const char fix_stages[] =
    "emit its stages separately, the launches that a backend makes of it: set `stage` to 1, then 2, …";

/* The one thing that not legalisation but its callers see to: a backend launches such a program in stages
 * (driver/multi_launch.h). */
static vyre_status check_stages(const vyre_program *program, const vy_target_desc *target, vyre_error *error) {
    if (!(program->facts & VY_PROGRAM_HAS_GRID_BARRIER) ||
        (!(program->facts & VY_PROGRAM_HAS_TRAP) && !target->cancellable))
        return VYRE_OK;
    return vy_fail(error, VYRE_UNSUPPORTED, fix_stages,
                   "an invocation of `%s` may end before a grid barrier, where the other workgroups would wait for it",
                   vyre_program_name(program));
}

static vyre_status write_text(vyre_program *program, const vy_target_desc *target, vy_string *out, vyre_error *error) {
    const vyre_optimize_options options = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vyre_program *optimised = NULL, *legal = NULL;
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_status status = vyre_program_optimize(program, &options, &optimised, NULL, error);
    if (status == VYRE_OK)
        status = check_stages(optimised, target, error);
    if (status == VYRE_OK)
        status = vy_legalize(optimised, target, &legal, error);
    if (status == VYRE_OK)
        status = find_guards(optimised, out, error);
    if (status == VYRE_OK)
        status = vyre_text_print(legal, &text, error);
    if (status == VYRE_OK)
        vy_string_append(out, (const char *)text.data, text.size);
    vyre_bytes_free(&text);
    vyre_program_release(legal);
    vyre_program_release(optimised);
    return status;
}

static vyre_status emit_legal(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out,
                              vyre_error *error) {
    vy_target_desc target;
    vy_string text = {0};
    vyre_status status = read_target(options, &target, error);
    if (status == VYRE_OK && vyre_program_level(program) == VYRE_LEVEL_LEGAL)
        return vyre_text_print(program, out, error);
    if (status == VYRE_OK)
        status = write_text(program, &target, &text, error);
    if (status == VYRE_OK)
        status = vy_string_to_bytes(&text, out, error);
    vy_string_free(&text);
    return status;
}

/* ---- targets llvm-ir and asm ----
 *
 * The texts of the compiler of backend `cpu`. */

static vyre_status emit_launch(const vy_cpu *cpu, vyre_program *program, int cancellable, vy_jit_text text,
                               vyre_bytes *out, vyre_error *error) {
    const vy_jit_plugin *compiler = NULL;
    vyre_status status = vy_cpu_compiler_open(vy_env_get("VYRE_COMPILER"), &compiler, error);
    if (status == VYRE_OK)
        status = vy_cpu_emit_text(cpu, compiler, program, cancellable, text, out, error);
    vy_cpu_compiler_close(compiler);
    return status;
}

/* The driver launches a program with grid barriers in stages: so they are emitted. */
static vyre_status emit_stages(const vy_cpu *cpu, vyre_program *program, int cancellable, vy_jit_text text,
                               vyre_bytes *out, vyre_error *error) {
    const char *comment = text == VY_JIT_TEXT_ASM ? "#" : ";";
    vy_string all = {0};
    vy_split *split = NULL;
    vyre_status status = vy_grid_split(program, &split, error);
    for (uint32_t i = 0; status == VYRE_OK && i < split->segment_count; i++) {
        vy_string_format(&all, "%s%s stage %" PRIu32 " of %" PRIu32 ", a launch between grid barriers: %s\n",
                         i ? "\n" : "", comment, i + 1, split->segment_count, vyre_program_name(split->segments[i]));
        status = emit_launch(cpu, split->segments[i], cancellable, text, out, error);
        if (status == VYRE_OK)
            vy_string_append(&all, (const char *)out->data, out->size);
    }
    vy_split_free(split);
    if (status == VYRE_OK)
        status = vy_string_to_bytes(&all, out, error);
    vy_string_free(&all);
    return status;
}

static vyre_status emit(vyre_program *program, const vyre_emit_options *options, vy_jit_text text, vyre_bytes *out,
                        vyre_error *error) {
    const uint32_t width = options->width;
    vy_cpu cpu = {.width = width};
    if (width && (width < 4 || width > VY_CPU_WIDTH_MAX || (width & (width - 1))))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "use 4, 8, 16, 32 or 64",
                       "the number of lanes is %" PRIu32 ", not a power of two from 4 to %d", width, VY_CPU_WIDTH_MAX);
    vyre_status status = vy_cpu_isa_find(options->cpu, &cpu.features, error);
    if (status == VYRE_OK)
        status = vy_cpu_compiler_limits(&cpu, error);
    if (status != VYRE_OK)
        return status;
    cpu.target = vy_cpu_target(cpu.features, 0);
    int has_stages = (program->facts & VY_PROGRAM_HAS_GRID_BARRIER) && vyre_program_level(program) != VYRE_LEVEL_LEGAL;
    return (has_stages ? emit_stages : emit_launch)(&cpu, program, options->cancellable != 0, text, out, error);
}

static vyre_status emit_llvm_ir(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out,
                                vyre_error *error) {
    return emit(program, options, VY_JIT_TEXT_LLVM_IR, out, error);
}

static vyre_status emit_asm(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out,
                            vyre_error *error) {
    return emit(program, options, VY_JIT_TEXT_ASM, out, error);
}

/* ---- target c ---- */

static vyre_status emit_c(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out, vyre_error *error) {
    const vy_target_desc target = vy_c_target(options->cancellable);
    vy_compiled compiled;
    vyre_status status = vy_compile_pipeline(program, &target, NULL, &compiled, error);
    if (status == VYRE_OK)
        status = vy_c_emit(compiled.program, out, error);
    vyre_program_release(compiled.program);
    return status;
}

/* ---- target opencl ---- */

static vyre_status emit_opencl(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out,
                               vyre_error *error) {
    vy_target_desc described;
    vyre_status status = read_target(options, &described, error);
    const vy_opencl_device device = {.exact = described.exact,
                                     .constant_bytes = 1 << 16,
                                     .subgroup_width = described.subgroup_width,
                                     .shuffle = described.subgroup_width ? VY_OPENCL_SHUFFLE_KHR : VY_OPENCL_NO_SHUFFLE,
                                     .access_bytes = described.access_bytes,
                                     .has_int64_atomics = 1,
                                     .has_ordered_atomics = 1,
                                     .has_aligned_buffers = 1,
                                     .version = 300};
    vy_target_desc target = vy_opencl_target(&device, program, options->cancellable);
    vy_compiled compiled = {0};
    vy_opencl_code code = {.text = VYRE_BYTES_INIT};
    if (status == VYRE_OK)
        status = vy_opencl_check(program, &device, error);
    target.optimise = target.version_checks = target.unroll_arrays = 0; /* close to the source */
    if (status == VYRE_OK)
        status = vy_compile_pipeline(program, &target, NULL, &compiled, error);
    if (status == VYRE_OK)
        status = vy_opencl_emit(compiled.program, &device, &code, error);
    if (status == VYRE_OK) {
        *out = code.text;
        code.text = (vyre_bytes)VYRE_BYTES_INIT;
    }
    vy_opencl_free(&code);
    vyre_program_release(compiled.program);
    return status;
}

/* ---- the code of a backend ---- */

static vyre_status emit_of_backend(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out,
                                   vyre_error *error) {
    vyre_backend *backend = options->backend;
    if ((program->facts & VY_PROGRAM_HAS_GRID_BARRIER) && !vy_backend_limit(backend, VYRE_CAPABILITY_GRID_SYNC))
        return vy_fail(error, VYRE_UNSUPPORTED, fix_stages, "backend `%s` runs `%s` as several launches",
                       vyre_backend_id(backend), vyre_program_name(program));
    return vy_backend_emit(backend, program, options->cancellable, out, error);
}

/* ---- vyre_emit ----
 *
 * The table of targets, and the steps that all of them share: options, ops, stages. */

/* The options that not every target uses, one bit each. */
enum { CPU = 1, WIDTH = 2, ARCH = 4, UNCOARSENED = 8, INDIRECT = 16, EXACT = 32, SUBGROUP = 64, ACCESS = 128 };

static const struct target {
    vyre_emit_target shown;
    const char *alias; /* another name that is accepted, or "" */
    unsigned options;
    vy_target_emit *emit;
} targets[] = {
    {{"llvm-ir", "ll", "LLVM IR after LLVM's optimisation passes", 1}, "llvm", CPU | WIDTH, emit_llvm_ir},
    {{"asm", "s", "assembly of that module, with source lines", 1}, "", CPU | WIDTH, emit_asm},
    {{"ptx", "ptx", "PTX, the input of NVIDIA's driver", 1}, "", ARCH | UNCOARSENED | INDIRECT, vy_target_ptx},
    {{"cubin", "cubin", "machine code in a binary file; requires ptxas", 0},
     "",
     ARCH | UNCOARSENED | INDIRECT,
     vy_target_cubin},
    {{"sass", "sass", "disassembly of the cubin; requires nvdisasm or cuobjdump", 1},
     "",
     ARCH | UNCOARSENED | INDIRECT,
     vy_target_sass},
    {{"c", "c", "one C17 file that needs no library and computes the same bits", 1}, "", 0, emit_c},
    {{"opencl", "cl", "one OpenCL C kernel, with its arguments in a comment", 1},
     "",
     EXACT | SUBGROUP | ACCESS,
     emit_opencl},
    {{"legal", "vyre", "the lowered program before code generation, with its remaining bounds checks", 1},
     "",
     EXACT | SUBGROUP | ACCESS,
     emit_legal},
};
enum { TARGETS = sizeof targets / sizeof *targets };

/* The place of a target if the options name a backend. */
static const struct target of_backend = {{"", "", "", 0}, "", 0, emit_of_backend};

const vyre_emit_target *const *vyre_emit_targets(size_t *count) {
    static const vyre_emit_target *const shown[] = {&targets[0].shown, &targets[1].shown, &targets[2].shown,
                                                    &targets[3].shown, &targets[4].shown, &targets[5].shown,
                                                    &targets[6].shown, &targets[7].shown};
    _Static_assert(sizeof shown / sizeof *shown == TARGETS, "every target is listed");
    if (count)
        *count = TARGETS;
    return shown;
}

/* Of a caller whose struct may be shorter. */
static int has_backend(const vyre_emit_options *options) {
    return options && options->struct_size >= offsetof(vyre_emit_options, backend) + sizeof options->backend &&
           options->backend;
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

static vyre_status find_target(const char *target, const vyre_emit_options *options, const struct target **out,
                               vyre_error *error) {
    char list[128];
    *out = &of_backend;
    if (has_backend(options))
        return !target ? VYRE_OK
                       : vy_fail(error, VYRE_INVALID_ARGUMENT, "leave one of them out",
                                 "target `%.40s` cannot be combined with a backend", target);
    VY_REQUIRE(error, target);
    vy_suggestion suggestion;
    vy_suggestion_start(&suggestion, target, strlen(target));
    for (size_t i = 0; i < TARGETS; i++) {
        *out = &targets[i];
        if (strcmp(target, targets[i].shown.name) == 0 || (*targets[i].alias && strcmp(target, targets[i].alias) == 0))
            return VYRE_OK;
        vy_suggestion_offer(&suggestion, targets[i].shown.name);
    }
    const char *near = vy_suggestion_get(&suggestion);
    return vy_fail(error, VYRE_INVALID_ARGUMENT, near ? VY_FIX("did you mean `%s`?", near) : "use one of these targets",
                   "unknown target `%.40s` (expected %s)", target, list_targets(0, list, sizeof list));
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
                 {UNCOARSENED, o->uncoarsened != 0, "uncoarsened"},
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
                           "%s does not use option `%s`",
                           target == &of_backend ? "the code of a backend" : VY_FIX("target `%s`", target->shown.name),
                           given[i].name);
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
        memcpy(out, given, given->struct_size < sizeof *out ? given->struct_size : sizeof *out);
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

/* Replaces the program, which is released, by the stage. */
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

/* Replaces the program, which is released, by one in which code of dialects replaces bodies. */
static vyre_status take_code(const struct target *target, vyre_program **program, vyre_error *error) {
    vyre_target code = vyre_target_from_emit_name(target->shown.name);
    if (target->emit == vy_target_cubin || target->emit == vy_target_sass)
        code = VYRE_TARGET_PTX;
    if (!vy_lowering_has_language(code))
        return VYRE_OK;
    vyre_program *lowered;
    vyre_status status = vy_program_lower_ops(*program, code, &vy_lowering_policy_emit, &lowered, error);
    if (status == VYRE_OK) {
        vyre_program_release(*program);
        *program = lowered;
    }
    return status;
}

vyre_status vyre_emit(vyre_program *program, const char *target, const vyre_emit_options *options, vyre_bytes *out,
                      vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, program);
    VY_REQUIRE(error, out);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    const struct target *found;
    vyre_emit_options complete;
    vyre_program *resolved = NULL;
    vyre_bytes made = VYRE_BYTES_INIT;
    vyre_status status = find_target(target, options, &found, e);
    if (status == VYRE_OK)
        status = read_options(found, options, &complete, e);
    if (status == VYRE_OK && !vy_program_has_entry(program))
        status = vy_fail(e, VYRE_INVALID_ARGUMENT, "pass a `program`, not a file of functions",
                         "a library has nothing to emit");
    if (status == VYRE_OK)
        status = complete.backend ? vy_backend_resolve(complete.backend, program, &resolved, e)
                                  : vy_program_resolve_newest(program, &resolved, e);
    if (status == VYRE_OK && !complete.backend)
        status = take_code(found, &resolved, e);
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
