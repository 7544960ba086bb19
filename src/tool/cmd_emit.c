/* vyre emit: what a program becomes on its way to the device. */
#include "backends/cpu/compile.h"
#include "base/setting.h"
#include "tool/commands.h"
#include "tool/emit_legal.h"
#include "tool/emit_ptx.h"
#include "tool/load.h"
#include "transform/grid_split.h"
#include "vyre/wire.h"

#include <inttypes.h>

typedef struct emit_options {
    const char *target, *cpu, *architecture, *exact, *output, *program;
    tool_list defines;
    uint64_t width, subgroup, access, stage;
    int cancellable, unwidened, indirect, list;
} emit_options;

static const tool_option options_table[] = {
    {"target", 't', "NAME", TOOL_TEXT, offsetof(emit_options, target),
     "llvm-ir (the default), asm, ptx, cubin, sass or legal"},
    {"cpu", 0, "NAME", TOOL_TEXT, offsetof(emit_options, cpu), "host (the default), x86-64, or x86-64-v2, -v3, -v4"},
    {"width", 'w', "N", TOOL_AMOUNT, offsetof(emit_options, width),
     "lanes: 4, 8, 16, 32 or 64 (what fits the program)"},
    {"arch", 0, "sm_N", TOOL_TEXT, offsetof(emit_options, architecture),
     "of an NVIDIA device, for ptx, cubin, sass (sm_90)"},
    {"exact", 0, "NAMES", TOOL_TEXT, offsetof(emit_options, exact),
     "for legal: what the device computes exactly (all)"},
    {"subgroup", 0, "N", TOOL_AMOUNT, offsetof(emit_options, subgroup), "for legal: the width of its shuffles (none)"},
    {"access", 0, "BYTES", TOOL_AMOUNT, offsetof(emit_options, access), "for legal: its widest access (one element)"},
    {"cancellable", 0, NULL, TOOL_FLAG, offsetof(emit_options, cancellable), "with polls, as for a deadline"},
    {"unwidened", 0, NULL, TOOL_FLAG, offsetof(emit_options, unwidened),
     "for ptx, cubin, sass: one invocation a thread"},
    {"indirect", 0, NULL, TOOL_FLAG, offsetof(emit_options, indirect),
     "for ptx, cubin, sass: for a grid that lies in device memory"},
    {"stage", 0, "N", TOOL_AMOUNT, offsetof(emit_options, stage),
     "only launch N of those that grid barriers cut the program into (all)"},
    {"list", 0, NULL, TOOL_FLAG, offsetof(emit_options, list), "list the targets"},
    TOOL_OPTION_OUTPUT(emit_options),
    TOOL_OPTION_PROGRAM(emit_options),
    TOOL_OPTION_DEFINE(emit_options),
    TOOL_OPTION_END,
};

static const emit_options defaults = {.target = "llvm-ir", .cpu = "host", .architecture = "sm_90", .exact = "all"};

/* ---- targets ---- */

/* The compiler's texts, and those that are made without it. */
enum { TARGET_PTX = VY_COMPILER_TEXT_COUNT, TARGET_CUBIN, TARGET_SASS, TARGET_LEGAL, TARGET_COUNT };

static const struct {
    const char *name, *doc;
} texts[TARGET_COUNT] = {
#define X(ID, name) [VY_COMPILER_TEXT_##ID] = {name, ID##_DOC},
#define LLVM_IR_DOC "the module after its passes, as LLVM prints it"
#define ASM_DOC "the assembly that it becomes, with the lines of the source"
    VY_COMPILER_TEXT_LIST(X)
#undef X
        [TARGET_PTX] = {"ptx", "what NVIDIA's driver compiles"},
    [TARGET_CUBIN] = {"cubin", "what ptxas makes of that, if it is there: bytes"},
    [TARGET_SASS] = {"sass", "the instructions in it, if nvdisasm or cuobjdump is there"},
    [TARGET_LEGAL] = {"legal", "the program that all of them are made from, and the tests it keeps"},
};

static int list_targets(void) {
    vy_string out = {0};
    for (unsigned i = 0; i < TARGET_COUNT; i++)
        vy_string_format(&out, "%-10s %s\n", texts[i].name, texts[i].doc);
    return tool_print(&out);
}

/* Names of texts; of the registry's targets those that are one of them. */
static int find_target(const tool_command *self, const char *name, unsigned *out) {
    vy_suggestion suggestion;
    vyre_target target = vyre_target_from_emit_name(name);
    vy_suggestion_start(&suggestion, name, strlen(name));
    for (unsigned i = 0; i < TARGET_COUNT; i++) {
        vy_suggestion_offer(&suggestion, texts[i].name);
        *out = i;
        if (strcmp(name, texts[i].name) == 0)
            return TOOL_OK;
    }
    *out = VY_COMPILER_TEXT_LLVM_IR;
    if (target == VYRE_TARGET_NATIVE_MODULE)
        return TOOL_OK;
    if (target != VYRE_TARGET_COUNT)
        return tool_usage(self, "`vyre emit --list` names those that are made", "no emitter makes `%s` yet", name);
    const char *near = vy_suggestion_get(&suggestion);
    return tool_usage(self, near ? VY_FIX("did you mean `%s`?", near) : "`vyre emit --list` names the targets",
                      "there is no target `%s`", name);
}

/* ---- processors ---- */

static int find_cpu(const tool_command *self, const char *name, uint64_t *features) {
    vyre_error error;
    return vy_cpu_isa_find(name, features, &error) == VYRE_OK ? TOOL_OK
                                                              : tool_usage(self, error.fix, "%s", error.message);
}

/* ---- NVIDIA's devices ---- */

static int show_ptx(const tool_command *self, const emit_options *options, vyre_program *program, uint32_t architecture,
                    unsigned target) {
    const tool_ptx_options how = {.architecture = architecture,
                                  .cancellable = options->cancellable,
                                  .keeps_grid = options->unwidened,
                                  .indirect = options->indirect,
                                  .output = options->output};
    return tool_emit_ptx(self, program, &how, (tool_ptx_form)(target - TARGET_PTX));
}

/* ---- before any of them ---- */

static int show_legal(const tool_command *self, const emit_options *options, vyre_program *program) {
    vy_legal_target target = {.cancellable = (uint8_t)options->cancellable};
    if (options->subgroup > 64 || (options->subgroup & (options->subgroup - 1)) || options->subgroup == 1)
        return tool_usage(self, "give 2, 4, 8, 16, 32 or 64", "there are no subgroups of %" PRIu64, options->subgroup);
    if (options->access != 0 && options->access != 4 && options->access != 8 && options->access != 16)
        return tool_usage(self, "give 4, 8 or 16", "no access is %" PRIu64 " bytes wide", options->access);
    if (vyre_program_level(program) == VYRE_LEVEL_LEGAL)
        return tool_program_print(program, options->output);
    target.subgroup_width = (uint32_t)options->subgroup;
    target.access_bytes = (uint32_t)options->access;
    int code = tool_profile_parse(self, options->exact, &target.exact);
    return code == TOOL_OK ? tool_emit_legal(program, &target, options->output) : code;
}

/* ---- the compiler's texts ---- */

/* A program of level legal is taken as it is. */
static vyre_status lower(const vy_cpu *cpu, vyre_program *program, int cancellable, vyre_bytes *wire,
                         vyre_error *error) {
    if (vyre_program_level(program) == VYRE_LEVEL_LEGAL)
        return vyre_wire_encode(program, VYRE_WIRE_DEBUG, wire, error);
    return vy_cpu_lower(cpu, program, cancellable, VYRE_WIRE_DEBUG, wire, error);
}

static vyre_status emit(const vy_cpu *cpu, vyre_program *program, const emit_options *options, vy_compiler_text text,
                        vyre_bytes *out, vyre_error *error) {
    const vy_compiler *compiler = NULL;
    vyre_bytes wire = VYRE_BYTES_INIT;
    vyre_status status = vy_cpu_compiler_open(vy_setting("VYRE_COMPILER"), &compiler, error);
    if (status == VYRE_OK)
        status = lower(cpu, program, options->cancellable, &wire, error);
    if (status == VYRE_OK) {
        const vy_compiler_request request = {.struct_size = sizeof request,
                                             .width = cpu->width,
                                             .features = cpu->features,
                                             .wire = {wire.data, wire.size},
                                             .name = vyre_program_name(program),
                                             .lines = 1,
                                             .keeps_width = cpu->width || cpu->keeps_width,
                                             .memory_mib = cpu->compiler_mib,
                                             .seconds = cpu->compiler_seconds};
        status = compiler->emit_text(compiler, &request, text, out, error);
    }
    vyre_bytes_free(&wire);
    vy_cpu_compiler_close(compiler);
    return status;
}

/* The boundary launches a program with grid barriers in stages, one after the other: so they are shown. */
static vyre_status emit_stages(const vy_cpu *cpu, vyre_program *program, const emit_options *options,
                               vy_compiler_text text, vyre_bytes *out, vyre_error *error) {
    const char *comment = text == VY_COMPILER_TEXT_ASM ? "#" : ";";
    vy_string all = {0};
    vy_split *split = NULL;
    vyre_status status = vy_grid_split(program, &split, error);
    for (uint32_t i = 0; status == VYRE_OK && i < split->segment_count; i++) {
        vy_string_format(&all, "%s%s stage %" PRIu32 " of %" PRIu32 ", a launch between grid barriers: %s\n",
                         i ? "\n" : "", comment, i + 1, split->segment_count, vyre_program_name(split->segments[i]));
        status = emit(cpu, split->segments[i], options, text, out, error);
        if (status == VYRE_OK)
            vy_string_append(&all, (const char *)out->data, out->size);
    }
    vy_split_free(split);
    if (status == VYRE_OK)
        status = vy_string_take(&all, out, error);
    vy_string_free(&all);
    return status;
}

static int show(const emit_options *options, vyre_program *program, uint64_t features, vy_compiler_text text) {
    vy_cpu cpu = {.features = features, .exact = vy_cpu_numerics(features), .width = (uint32_t)options->width};
    int has_stages = (program->facts & VY_FACT_GRID_BARRIER) && vyre_program_level(program) != VYRE_LEVEL_LEGAL;
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error error;
    int code = vy_cpu_compiler_limits(&cpu, &error) == VYRE_OK &&
                       (has_stages ? emit_stages : emit)(&cpu, program, options, text, &out, &error) == VYRE_OK
                   ? tool_file_write(options->output ? options->output : "-", out.data, out.size)
                   : (tool_error(&error), tool_exit_of_run(error.code));
    vyre_bytes_free(&out);
    return code;
}

/* ---- one stage ---- */

/* Puts the stage that was asked for in the place of the program; *split owns it. */
static int take_stage(const tool_command *self, uint64_t stage, vyre_program **program, vy_split **split) {
    vyre_error error;
    if (stage == 0)
        return TOOL_OK;
    if (vyre_program_level(*program) == VYRE_LEVEL_LEGAL)
        return tool_usage(self, "leave --stage out, or take the program of level source that it was made from",
                          "`%s` is at level legal, which is cut before and not after", vyre_program_name(*program));
    if (vy_grid_split(*program, split, &error) != VYRE_OK)
        return tool_error(&error);
    uint32_t count = (*split)->segment_count;
    if (stage > count)
        return tool_usage(self, count == 1 ? "leave --stage out" : VY_FIX("give 1 to %" PRIu32, count),
                          "`%s` has no stage %" PRIu64 " (%" PRIu32 ")", vyre_program_name(*program), stage, count);
    *program = (*split)->segments[stage - 1];
    return TOOL_OK;
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const emit_options *options = given;
    unsigned target;
    uint32_t architecture;
    uint64_t features;
    tool_file file = {0};
    vyre_program *program;
    vy_split *split = NULL;
    if (options->list)
        return args->words.count ? tool_usage(self, NULL, "--list takes no file") : list_targets();
    if (options->width > VY_CPU_WIDTH_MAX)
        return tool_usage(self, "give 4, 8, 16, 32 or 64", "%" PRIu64 " lanes are too many", options->width);
    int code = find_target(self, options->target, &target);
    if (code == TOOL_OK)
        code = find_cpu(self, options->cpu, &features);
    if (code == TOOL_OK)
        code = tool_ptx_architecture(self, options->architecture, &architecture);
    if (code == TOOL_OK)
        code = tool_one_file(self, args);
    if (code == TOOL_OK)
        code = tool_load_resolved(self, args->words.items[0], options->program, &options->defines, &file, &program);
    if (code == TOOL_OK)
        code = take_stage(self, options->stage, &program, &split);
    if (code == TOOL_OK)
        code = target == TARGET_LEGAL ? show_legal(self, options, program)
               : target >= TARGET_PTX ? show_ptx(self, options, program, architecture, target)
                                      : show(options, program, features, (vy_compiler_text)target);
    vy_split_free(split);
    tool_file_free(&file);
    return code;
}

const tool_command tool_cmd_emit = {
    .name = "emit",
    .summary = "print the code a program becomes",
    .usage = "FILE [OPTIONS]",
    .details =
        "The program is optimised and legalised for the device. llvm-ir and asm are how backend `cpu` compiles it:\n"
        "what would run, or how it looks just before; they need the compiler. A program with grid barriers\n"
        "runs in stages there, and each is shown; --stage shows one, for any target. ptx needs nothing,\n"
        "cubin and sass need NVIDIA's tools: in CUDA_HOME/bin, along PATH, or in /usr/local/cuda/bin.\n"
        "legal shows the step before, for any device: --exact all, none, int64,f32.add,… or -f32.div,-f32.subnormal.\n",
    .examples = "  vyre emit examples/saxpy.vyre --target asm\n"
                "  vyre emit examples/matmul.vyre --target llvm-ir --cpu x86-64-v3 --width 8\n"
                "  vyre emit examples/reduce.vyre --program by_shuffle --target ptx\n"
                "  vyre emit examples/matmul.vyre --target sass --arch sm_80\n"
                "  vyre emit examples/saxpy.vyre --target legal --exact -f32.fma --access 16\n",
    .options = options_table,
    .options_size = sizeof(emit_options),
    .defaults = &defaults,
    .run = run_command,
};
